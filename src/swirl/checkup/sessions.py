"""Sessions and segments: how many and how long, who made them, and which are copies or stand still."""

import hashlib
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np

from swirl.checkup.figures import fraction, percent
from swirl.checkup.notes import Notes
from swirl.faults import counted, some

SHORTEST_COPY = 10  # shorter sessions are alike by chance
UNEVEN = 10  # ratio of the steps of two subjects
MOSTLY = 0.8  # share of all steps, from which a fit is of one subject


def count_sessions(notes: Notes) -> dict[str, Any]:
    """Numbers and lengths of sessions, who made them, and whether some are copies or stand still.

    >>> from swirl.trajectories import Trajectories
    >>> found = count_sessions(Notes(Trajectories([[0, 1, 0], [1, 0]], subjects=["a", "a"])))
    >>> found["steps"], found["subjects"]
    (5, [{'name': 'a', 'sessions': 2, 'steps': 5}])
    """
    data, lengths = notes.data, notes.data.lengths
    if len(data) == 1:
        notes.add("note", "one-session", "There is only one session.")
    twice = [repr(name) for name, times in Counter(data.names).items() if times > 1]
    if twice:
        notes.add("warning", "names-repeated", f"Several sessions have the same name: {some(twice)}.")
    if data.n_states > 1:
        first = np.cumsum(lengths) - lengths
        still = np.minimum.reduceat(notes.flat.states, first) == np.maximum.reduceat(notes.flat.states, first)
        still = np.flatnonzero(still & (lengths > 1)).tolist()
        if still:
            says = f"{counted(len(still), 'session')} never left one state: {notes.sessions(still)}."
            notes.add("warning", "constant-sessions", says)
    _copies(notes)
    n_bins = min(20, int(np.ptp(lengths)) + 1)
    edges = np.unique(np.linspace(lengths.min(), lengths.max() + 1, n_bins + 1).round().astype(np.int64))
    histogram = [
        {"from": low, "to": high - 1, "sessions": count}
        for (low, high), count in zip(
            pairwise(edges.tolist()), np.histogram(lengths, bins=edges)[0].tolist(), strict=True
        )
    ]
    extremes = {"min": int(lengths.min()), "median": float(np.median(lengths)), "max": int(lengths.max())}
    return {
        "sessions": len(data),
        "steps": data.n_steps,
        "lengths": {**extremes, "histogram": histogram},
        "subjects": _subjects(notes),
        "groups": _tally(data.groups, lengths),
    }


def _tally(labels: tuple[Any, ...], lengths: np.ndarray) -> list[dict[str, Any]]:
    """Sessions and steps of each label that is known, most steps first."""
    sessions: Counter[Any] = Counter(label for label in labels if label is not None)
    steps: Counter[Any] = Counter()
    for label, length in zip(labels, lengths.tolist(), strict=True):
        if label is not None:
            steps[label] += length
    return [{"name": str(label), "sessions": sessions[label], "steps": n} for label, n in steps.most_common()]


def _subjects(notes: Notes) -> list[dict[str, Any]]:
    data = notes.data
    found = _tally(data.subjects, data.lengths)
    unknown = sum(subject is None for subject in data.subjects)
    if found and unknown:
        notes.add("note", "subjects-unknown", f"{unknown:,} of {counted(len(data), 'session')} have no subject.")
    if len(found) > 1:
        most, least = found[0], found[-1]
        share, ratio = fraction(most["steps"], data.n_steps), most["steps"] / least["steps"]
        if share > MOSTLY or ratio >= UNEVEN:
            of = f"{percent(share)} of the steps, {ratio:.3g} times those of {least['name']!r}"
            level = "warning" if share > MOSTLY else "note"
            notes.add(level, "subjects-uneven", f"Subject {most['name']!r} has {of}.")
    return found


def _copies(notes: Notes) -> None:
    """Find sessions with the same states, actions and gaps; with the same clock and signals they are one, twice."""
    data = notes.data
    signals = list((data.signals or {}).values())
    several = {length for length, n in Counter(data.lengths.tolist()).items() if n > 1 and length >= SHORTEST_COPY}
    alike: dict[bytes, list[int]] = {}
    for i, states in enumerate(data.states):
        if len(states) in several:
            digest = hashlib.blake2b(digest_size=16)
            # One state tells nothing: there the signals are the recording.
            further = [arrays[i] for arrays in signals] if data.n_states == 1 else []
            for array in (states, data.actions[i], data.gaps[i], *further):
                digest.update(np.ascontiguousarray(array).data)
            alike.setdefault(digest.digest(), []).append(i)
    found: dict[str, list[str]] = {"sessions-duplicated": [], "sessions-alike": []}
    for group in (group for group in alike.values() if len(group) > 1):
        clocks = [] if data.times is None else [data.times[i] - data.times[i][0] for i in group]
        same = all(np.allclose(clock, clocks[0]) for clock in clocks)
        same &= all(np.allclose(arrays[i], arrays[group[0]], equal_nan=True) for arrays in signals for i in group)
        found["sessions-duplicated" if same else "sessions-alike"].append(notes.sessions(group))
    if found["sessions-duplicated"]:
        says = f"The same recording is in {some(found['sessions-duplicated'], separator='; in ')}."
        notes.add("warning", "sessions-duplicated", says)
    if found["sessions-alike"]:
        says = "The same steps, at other times or with other signals, are in "
        notes.add("note", "sessions-alike", f"{says}{some(found['sessions-alike'], separator='; in ')}.")


def count_segments(notes: Notes) -> dict[str, Any]:
    """Numbers of gaps, of segments, and of segments too short for a move.

    >>> from swirl.trajectories import Trajectories
    >>> count_segments(Notes(Trajectories([[0, 1, 0], [1]])))
    {'gaps': 0, 'segments': 2, 'short': 1}
    """
    starts = np.append(np.flatnonzero(notes.flat.starts), notes.data.n_steps)
    short, n = starts[:-1][np.diff(starts) < 2], len(starts) - 1
    if short.size:
        says = f"{len(short):,} of {counted(n, 'segment')} have one step only: no move can be seen in them."
        level = "warning" if fraction(len(short), n) > 0.1 else "note"
        notes.add(level, "short-segments", says, notes.at(short, "state", lambda t: "a segment of one step"))
    return {"gaps": sum(map(len, notes.data.gaps)), "segments": n, "short": len(short)}
