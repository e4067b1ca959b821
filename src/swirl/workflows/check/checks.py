"""What is looked at, by theme: clock, moves, sessions, signals, states, actions, histories.

Everything is counted over all steps at once; sessions are looped over only where they differ in kind (medians, hashes).
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.mdp import MDP
from swirl.data.passages import check_passages
from swirl.data.segments import step_durations
from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import MISSING
from swirl.text import between, counted, one_decimal, same_but_capitals, some
from swirl.workflows.check.findings import LISTED, SHOWN, Notes, fraction, percent

OFF_BEAT = 0.1  # how far a step's duration may lie from the session's median, relative to it


def check_clock(notes: Notes) -> dict[str, Any] | None:
    """The clock: its beat, steps off the beat, and jumps that no gap marks.

    >>> from swirl.data.trajectories import Trajectories
    >>> found = check_clock(Notes(Trajectories([[0, 1, 0, 1, 0]], times=[[0.0, 1.0, 2.0, 3.0, 90.0]])))
    >>> found["median_step"], found["regular"], found["jumps"]
    (1.0, False, 1)
    """
    data, flat = notes.data, notes.flat
    if data.times is None:
        return None
    here = np.flatnonzero(~flat.starts[1:])
    if not here.size:
        return {"median_step": None, "regular": False, "irregular": 0, "jumps": 0, "longest": None}
    clock = np.concatenate(data.times)
    step, session = clock[here + 1] - clock[here], flat.sessions[here]
    edges = np.searchsorted(session, np.arange(len(data) + 1))
    beat = np.array([np.median(step[a:b]) if b > a else np.nan for a, b in pairwise(edges)])
    ratio = step / beat[session]
    off = np.abs(ratio - 1) > OFF_BEAT
    steady = np.bincount(session, weights=off, minlength=len(data)) <= 0.05 * np.diff(edges)
    steady &= np.diff(edges) > 0
    # With a steady beat one lost frame shows; without one, only what is out of all proportion is a jump. A long stay or
    # bout that is known to have lasted so long is none.
    known = step_durations(data)
    lasted = np.full(len(step), np.nan)
    if known is not None and known.source != "times":
        lasted = np.concatenate(known.lasted)[here]
    beyond = np.where(np.isfinite(lasted), (step - lasted) / beat[session] + 1, ratio)
    jump = np.flatnonzero(beyond > np.where(steady[session], 1.5, 20.0))
    regular = bool(steady[np.diff(edges) > 0].all())
    if jump.size:
        longest = jump[np.argmax(step[jump])]
        where = data.where(int(session[longest]), int(flat.steps[here[longest] + 1]))
        among = counted(len(np.unique(session[jump])), "session")
        says = f"{counted(len(jump), 'jump')} in time within segments, in {among}"
        after = dict(zip((here[jump] + 1).tolist(), step[jump].tolist(), strict=True))
        places = notes.at(here[jump] + 1, "time", lambda t: f"{after[t]:.4g} after the step before")
        level = "warning" if steady[session[jump]].any() else "note"
        notes.add(level, "time-jumps", f"{says}; the longest ({step[longest]:.4g}) is before {where}.", places)
    if not regular:
        share = percent(fraction(off.sum(), len(step)))
        notes.add("note", "time-irregular", f"{share} of steps differ from the median duration by more than a tenth.")
    own = beat[steady]
    if own.size and own.max() > (1 + OFF_BEAT) * own.min():
        slow, fast = np.flatnonzero(steady)[[np.argmax(own), np.argmin(own)]].tolist()
        ticks = [f"a step takes {beat[i]:.4g} in {notes.sessions([i])}" for i in (fast, slow)]
        notes.add("warning", "time-bases-differ", f"Sessions have different clocks: {', '.join(ticks)}.")
    return {
        "median_step": float(np.median(step)),
        "regular": regular,
        "irregular": int(off.sum()),
        "jumps": len(jump),
        "longest": float(step.max()),
    }


UNLIKELY = 1e-6  # a move this rare in the environment is more often a slip of the pen
FEW = 3  # examples of what is all alike
STAYING = 0.15  # share of steps that stay, from which rows are perhaps ticks of a clock


@dataclass(frozen=True)
class Moves:
    """Distinct moves within segments; `key` and `here` (the position of its first step) are of every single one.

    Examples
    --------
    >>> from swirl.data.trajectories import Trajectories
    >>> moves = find_moves(Notes(Trajectories([[0, 1, 0, 1]])))
    >>> moves.state.tolist(), moves.following.tolist(), moves.count.tolist()
    ([0, 1], [1, 0], [2, 1])
    >>> moves.where(moves.state == 0).tolist()
    [0, 2]
    """

    key: Int[np.ndarray, " step"]
    here: Int[np.ndarray, " step"]
    values: Int[np.ndarray, " move"]
    state: Int[np.ndarray, " move"]
    action: Int[np.ndarray, " move"]
    following: Int[np.ndarray, " move"]
    count: Int[np.ndarray, " move"]
    probability: Float[np.ndarray, " move"]
    """In the environment (of the likeliest action where it is missing); −1 where that is not to be asked."""
    inferable: Bool[np.ndarray, " move"]
    """Whether just one available action makes the move."""

    def where(self, chosen: Bool[np.ndarray, " move"]) -> Int[np.ndarray, " found"]:
        """Positions of the chosen kinds of moves."""
        return self.here[np.isin(self.key, self.values[chosen])] if chosen.any() else np.zeros(0, np.int64)


def find_moves(notes: Notes) -> Moves:
    """Find the distinct moves, and what the environment says of each.

    >>> from swirl.data.trajectories import Trajectories
    >>> ring = MDP.deterministic([[1], [2], [0]])
    >>> find_moves(Notes(Trajectories([[0, 1, 2, 1]], [[0, 0, 0]]), ring)).probability.tolist()
    [1.0, 1.0, 0.0]
    """
    flat, env, n_states = notes.flat, notes.env, notes.n_states
    n_actions = notes.n_actions + 1  # the missing one comes first
    here = np.flatnonzero(~flat.starts[1:])
    key = (flat.states[here] * n_actions + flat.actions[here] + 1) * n_states + flat.states[here + 1]
    values, count = distinct(key, n_states * n_actions * n_states)
    pair, following = np.divmod(values, n_states)
    state, action = np.divmod(pair, n_actions)
    probability, inferable = np.full(len(values), -1.0), np.zeros(len(values), bool)
    if env is not None:
        s, a, to, p = support(env)
        inside = (state < env.n_states) & (following < env.n_states) & (action <= env.n_actions)
        missing = action == 0
        known = np.flatnonzero(inside & ~missing)
        known = known[env.available[state[known], action[known] - 1]]  # what is not available is a fault of its own
        probability[known] = _looked_up(values[known], (s * n_actions + a + 1) * n_states + to, p)
        ways, way = np.unique(s * n_states + to, return_inverse=True)
        best = np.zeros(len(ways))
        np.maximum.at(best, way, p)
        move, unknown = state * n_states + following, np.flatnonzero(inside & missing)
        probability[unknown] = _looked_up(move[unknown], ways, best)
        inferable = _looked_up(move, ways, np.bincount(way, minlength=len(ways)).astype(float)) == 1
    return Moves(key, here, values, state, action - 1, following, count, probability, inferable)


def distinct(keys: Int[np.ndarray, " key"], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct keys (of 0 … size − 1) in ascending order, and how often each occurs; sorts only where it must.

    >>> [array.tolist() for array in distinct(np.array([3, 1, 3]), 4)]
    [[1, 3], [1, 2]]
    """
    if size > max(1 << 20, 2 * len(keys)):
        return np.unique(keys, return_counts=True)
    counts = np.bincount(keys, minlength=1)
    values = np.flatnonzero(counts)
    return values, counts[values]


def support(env: MDP) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(state, action, next state, p) of every move that can happen, in ascending order.

    >>> [array.tolist() for array in support(MDP.deterministic([[1], [0]]))]
    [[0, 1], [0, 0], [1, 0], [1.0, 1.0]]
    """
    state, action, following, probability = env.successors.moves()
    order = np.lexsort((following, action, state))
    return state[order], action[order], following[order], probability[order]


def _looked_up(keys: np.ndarray, known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values of ascending known keys; 0 for others."""
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[place] == keys, values[place], 0.0)


def _move_words(notes: Notes) -> Callable[[int], str]:
    """How to say what was seen at t → t+1, and where the action does lead."""
    none = np.zeros(0, np.int64)
    s, a, to, _ = (none, none, none, none) if notes.env is None else support(notes.env)

    def words(t: int) -> str:
        state, action = int(notes.flat.states[t]), int(notes.flat.actions[t])
        ends = np.unique(to[(s == state) & ((a == action) | (action == MISSING))])
        by = "unknown action" if action == MISSING else f"action {notes.action(action)}"
        following = notes.state(notes.flat.states[t + 1])
        return f"state {notes.state(state)}, {by} → state {following}; it leads to {notes.states(ends)}"

    return words


def count_transitions(notes: Notes, moves: Moves) -> dict[str, Any]:
    """Moves that cannot be, that can hardly be, and that stay.

    >>> from swirl.data.trajectories import Trajectories
    >>> notes = Notes(Trajectories([[0, 1, 1, 0, 1]]))
    >>> found = count_transitions(notes, find_moves(notes))
    >>> found["moves"], found["kinds"], found["staying"], found["checked"]
    (4, 3, 0.25, False)
    """
    stays, impossible = moves.state == moves.following, moves.probability == 0
    staying = fraction(moves.count[stays].sum(), len(moves.here))
    wrong = moves.where(impossible)
    rare = moves.where((moves.probability > 0) & (moves.probability < UNLIKELY))
    at = np.unique(notes.flat.sessions[wrong]).tolist()
    if wrong.size:
        still = int(moves.count[impossible & stays].sum())
        says = f"{counted(len(wrong), 'impossible transition')} in {len(at):,} of {counted(len(notes.data), 'session')}"
        says += f", of which {still:,} stay in one state." if still else "."
        advice = "impossible-stays" if still else None
        # Where most only stay, one remedy is for all: a few examples say as much as twenty.
        shown = wrong[:FEW] if 2 * still > len(wrong) else wrong
        places = notes.at(shown, "state", _move_words(notes))
        notes.add("fault", "impossible-transitions", says, places, advice)
    if rare.size:
        says = f"{counted(len(rare), 'move')} of a probability below {UNLIKELY:g} in the environment."
        notes.add("warning", "unlikely-transitions", says, notes.at(rare, "state", _move_words(notes)))
    if staying >= STAYING and notes.data.n_states > 1 and not (impossible & stays).any():
        # Who recorded an action there means that the animal chose to stay.
        chosen = moves.count[stays & (moves.action != MISSING)].sum() >= 0.5 * moves.count[stays].sum()
        level, advice = ("note", "staying-recorded") if chosen else ("warning", None)
        notes.add(level, "staying", f"{percent(staying)} of steps stay in the same state.", advice=advice)
    _never_stays(notes, len(moves.here), int(moves.count[stays].sum()))
    _no_choice(notes, moves)
    return {
        "moves": len(moves.here),
        "kinds": len(np.unique(moves.state * notes.n_states + moves.following)),
        "staying": staying,
        "checked": notes.env is not None,
        "impossible": len(wrong),
        "impossible_in": at,
        "unlikely": len(rare),
    }


def ask_for_walls(notes: Notes) -> None:
    """Warn of passages that are never walked, or one way only, where that is no chance.

    >>> from swirl.data.trajectories import Trajectories
    >>> notes = Notes(Trajectories([[0, 1, 2, 0]]), MDP.deterministic([[1], [2], [0]]))
    >>> ask_for_walls(notes)
    >>> notes.findings
    []
    """
    if notes.env is not None:
        for name, says in check_passages(notes.data, notes.env).says.items():
            notes.add("warning", name, says)


ENOUGH = 100  # moves, from which it is no accident that none stays


def _never_stays(notes: Notes, n_moves: int, n_stays: int) -> None:
    """Warn where the environment lets the animal stay nearly everywhere, but no step does, as after a merge."""
    if notes.env is None or n_stays or n_moves < ENOUGH:
        return
    s, a, to, p = support(notes.env)
    stays = (s == to) & (p > 0.9)  # it means to stay; others may slip
    visited = np.unique(notes.flat.states[notes.flat.states < notes.env.n_states])
    if np.isin(visited, s[stays]).mean() >= 0.9:
        names = some([notes.action(label) for label in np.unique(a[stays]).tolist()])
        says = f"The environment lets the animal stay where it is (action {names}), but no step of the data does."
        notes.add("warning", "never-stays", says)


def _no_choice(notes: Notes, moves: Moves) -> None:
    """Warn where only one state can follow each, as in a T-maze whose visits to the same arm in a row were merged."""
    if len(moves.here) < ENOUGH or notes.data.n_states < 2:
        return
    pairs = moves.state * notes.n_states + moves.following
    if notes.env is not None:
        s, _, to, _ = support(notes.env)
        pairs = np.append(pairs, (s * notes.n_states + to)[np.isin(s, moves.state)])
    if np.bincount(np.unique(pairs) // notes.n_states).max() == 1:
        says = "The animal had no choice at any step: from each state only one other can follow."
        notes.add("warning", "no-choice", says)


MIN_COPY = 10  # shorter sessions are alike by chance
UNEVEN = 10  # ratio of the steps of two subjects
MOSTLY = 0.8  # share of all steps, from which a fit is of one subject


def count_sessions(notes: Notes) -> dict[str, Any]:
    """Numbers and lengths of sessions, who made them, and whether some are copies or stand still.

    >>> from swirl.data.trajectories import Trajectories
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
    for noun, labels in (("subject", data.subjects), ("group", data.groups)):
        _alike(notes, noun, [label for label in dict.fromkeys(labels) if isinstance(label, str)])
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
        "groups": _groups(data),
    }


def _tally(labels: tuple[Any, ...], lengths: np.ndarray) -> list[dict[str, Any]]:
    """Sessions and steps of each label that is known, most steps first."""
    sessions: Counter[Any] = Counter(label for label in labels if label is not None)
    steps: Counter[Any] = Counter()
    for label, length in zip(labels, lengths.tolist(), strict=True):
        if label is not None:
            steps[label] += length
    return [{"name": str(label), "sessions": sessions[label], "steps": n} for label, n in steps.most_common()]


def _groups(data: Trajectories) -> list[dict[str, Any]]:
    """Sessions, steps and animals of each group; an animal may be in several."""
    animals: dict[str, set[Any]] = {}
    for group, subject in zip(data.groups, data.subjects, strict=True):
        animals.setdefault(str(group), set()).update([] if subject is None else [subject])
    return [{**group, "subjects": len(animals[group["name"]])} for group in _tally(data.groups, data.lengths)]


def _alike(notes: Notes, noun: str, names: Sequence[str]) -> None:
    """Warn of names that are one but for capitals and spaces."""
    for alike in same_but_capitals(names):
        says = f"The {noun}s {some([repr(name) for name in alike])} differ only in capitals or spaces."
        notes.add("warning", "names-alike", says)


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
    several = {length for length, n in Counter(data.lengths.tolist()).items() if n > 1 and length >= MIN_COPY}
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

    >>> from swirl.data.trajectories import Trajectories
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


SCALES = (1e-4, 1e4)  # standard deviations that optimisers are at ease with


def check_signal(notes: Notes, name: str, arrays: list[np.ndarray]) -> dict[str, Any]:
    """What is missing, constant, infinite or out of scale in one signal, over its channels.

    >>> from swirl.data.trajectories import Trajectories
    >>> notes = Notes(Trajectories([[0, 1, 0, 1]]))
    >>> found = check_signal(notes, "speed", [np.array([1.0, 3.0, np.nan, np.inf])])
    >>> found["nan_share"], found["infinite"], found["sd"]
    (0.25, 1, [1.0, 1.0])
    """
    lengths = notes.data.lengths
    first = np.cumsum(lengths) - lengths
    whole = np.concatenate(arrays)
    columns = whole.reshape(len(whole), -1)
    blank, infinite, constant, dead, scales = 0, 0, [], set(), []
    for channel, values in enumerate(columns.T):
        seen = np.isfinite(values)
        blank += int(np.isnan(values).sum())
        infinite += int(np.isinf(values).sum())
        if not seen.any():
            continue
        low = np.minimum.reduceat(np.where(seen, values, np.inf), first)
        high = np.maximum.reduceat(np.where(seen, values, -np.inf), first)
        if low.min() == high.max():
            constant.append(channel)
        else:
            dead |= set(np.flatnonzero((low == high) & (lengths > 1)).tolist())
            scales.append(float(np.std(values[seen], dtype=float)))
    share = fraction(blank, columns.size)
    facts = {
        "channels": columns.shape[1],
        "nan_share": share,
        "infinite": infinite,
        "constant_channels": constant,
        "constant_in": sorted(dead),
        "sd": [min(scales), max(scales)] if scales else None,
    }
    label = f"Signal {name!r}"
    if infinite:
        notes.add("warning", "signal-infinite", f"{label} is infinite at {counted(infinite, 'place')}.")
    if blank:
        notes.add("warning" if share >= 0.5 else "note", "signal-missing", f"{label} is NaN at {percent(share)}.")
    if constant:
        which = "" if facts["channels"] == 1 else f" in channel {some(constant)}"
        notes.add("warning", "signal-constant", f"{label} is constant{which}.")
    if dead:
        says = f"{label} is constant in {counted(len(dead), 'session')}: {notes.sessions(sorted(dead))}."
        notes.add("warning", "signal-constant-in-sessions", says)
    if scales and (min(scales) < SCALES[0] or max(scales) > SCALES[1]):
        notes.add("note", "signal-scale", f"{label} has a standard deviation of {between(*facts['sd'])}.")
    return facts


def count_states(notes: Notes) -> dict[str, Any]:
    """How often each state was visited, and which the environment does not have.

    >>> from swirl.data.trajectories import Trajectories
    >>> found = count_states(Notes(Trajectories([[0, 2, 0]])))
    >>> found["visited"], found["never_visited_first"], found["visited_once_first"]
    (2, [1], [2])
    """
    env, flat = notes.env, notes.flat
    steps = np.bincount(flat.states, minlength=notes.n_states)
    inside = steps if env is None else steps[: env.n_states]
    outside = np.flatnonzero(steps[len(inside) :]) + len(inside)
    if outside.size:
        at = np.flatnonzero(flat.states >= len(inside))
        says = (
            f"{counted(len(outside), 'state')} of the data not in the environment, which has 0 to {len(inside) - 1}: "
            f"{notes.states(outside)}, at {counted(len(at), 'step')}."
        )
        words = notes.at(at, "state", lambda t: f"state {notes.state(flat.states[t])}")
        notes.add("fault", "states-outside", says, words)
    names = [notes.data.state_names[s] for s in np.flatnonzero(steps).tolist()] if notes.data.state_names else []
    _alike(notes, "state", names)
    never, once = np.flatnonzero(inside == 0), np.flatnonzero(inside == 1)
    if never.size:
        says = f"{len(never):,} of {counted(len(inside), 'state')} never visited: {notes.states(never)}."
        notes.add("note", "states-never-visited", says)
    if once.size:
        notes.add(
            "note", "states-visited-once", f"{counted(len(once), 'state')} visited just once: {notes.states(once)}."
        )
    top = [s for s in np.argsort(-steps, kind="stable")[:SHOWN].tolist() if steps[s]]
    shares = [fraction(steps[s], notes.data.n_steps) for s in top]
    return {
        "states": len(inside),
        "visited": int(np.count_nonzero(steps)),
        "never_visited": len(never),
        "never_visited_first": never[:LISTED].tolist(),
        "visited_once": len(once),
        "visited_once_first": once[:LISTED].tolist(),
        "outside": outside[:LISTED].tolist(),
        "top": [
            {"state": s, "name": notes.state(s), "steps": int(steps[s]), "share": share}
            for s, share in zip(top, shares, strict=True)
        ],
    }


def count_actions(notes: Notes, moves: Moves) -> dict[str, Any]:
    """Actions that were seen, that are missing, and that are not available where they were seen.

    >>> from swirl.workflows.check.checks import find_moves
    >>> from swirl.data.trajectories import Trajectories
    >>> notes = Notes(Trajectories([[0, 1, 0, 1]], [[1, -1, 1]]))
    >>> found = count_actions(notes, find_moves(notes))
    >>> found["observed"], found["missing_within_segments"], found["never_chosen_first"]
    (2, 1, [0])
    """
    flat, env = notes.flat, notes.env
    steps = np.bincount(flat.actions + 1, minlength=notes.n_actions + 1)[1:]
    observed = int(steps.sum())
    blank = moves.action == MISSING
    missing, inferable = int(moves.count[blank].sum()), int(moves.count[blank & moves.inferable].sum())
    outside = barred = np.zeros(0, np.int64)
    if env is not None:
        outside = np.flatnonzero(flat.actions >= env.n_actions)
        # A missing action is available everywhere; labels that the environment lacks are told elsewhere.
        allowed = np.ones((notes.n_states, notes.n_actions + 1), bool)
        allowed[: env.n_states, 1 : env.n_actions + 1] = env.available
        barred = np.flatnonzero(~allowed[flat.states, flat.actions + 1])
    if outside.size and env is not None:
        says = f"{counted(len(outside), 'action')} that the environment, which has 0 to {env.n_actions - 1}, lacks."
        words = notes.at(outside, "action", lambda t: f"action {notes.action(flat.actions[t])}")
        notes.add("fault", "actions-outside", says, words)
    if barred.size:
        says = f"{counted(len(barred), 'action')} observed where the environment does not have it."
        words = notes.at(
            barred, "action", lambda t: f"action {notes.action(flat.actions[t])} in state {notes.state(flat.states[t])}"
        )
        notes.add("fault", "actions-not-available", says, words)
    if missing and notes.data.n_states > 1 and not notes.misnamed:
        _missing_actions(notes, observed, missing, inferable, len(moves.here))
    # Without an environment, of actions that nobody recorded nothing is known.
    there = (notes.n_actions if observed else 0) if env is None else env.n_actions
    unused = np.flatnonzero(steps[:there] == 0) if observed else np.zeros(0, np.int64)
    if unused.size:
        names = some([notes.action(label) for label in unused.tolist()], 10)
        says = f"{len(unused):,} of {counted(there, 'action')} never chosen: {names}."
        notes.add("note", "actions-never-chosen", says)
    return {
        "actions": there,
        "observed": observed,
        "missing": notes.data.n_steps - observed,
        "missing_within_segments": missing,
        "inferable": inferable,
        "never_chosen": len(unused),
        "never_chosen_first": unused[:LISTED].tolist(),
        "outside": len(outside),
        "not_available": len(barred),
    }


def _missing_actions(notes: Notes, observed: int, missing: int, inferable: int, n_moves: int) -> None:
    """Say how many are missing, and what is made of them."""
    who = f"{percent(fraction(missing, n_moves))} of moves have no action" if observed else "No action was recorded"
    if notes.env is None and not observed:
        notes.add("note", "actions-next-states", f"{who}: the action is then the next state, as for syllables.")
    elif inferable == missing:
        notes.add("note", "actions-inferred", f"{who}; all of them follow from the states, as one action alone fits.")
    else:
        # Without an environment where actions lead is learnt from those that were seen.
        level = "warning" if notes.env is None and missing >= 0.5 * n_moves else "note"
        some_do = f"; {inferable:,} of {missing:,} follow from the states" if notes.env is not None else ""
        notes.add(level, "actions-missing", f"{who}{some_do}; at the others the next state alone counts.")


FEW_STEPS = 5  # median steps of a history, below which a reward has little to rest on
MAX_HISTORY = 3


def count_histories(notes: Notes, moves: Moves) -> list[dict[str, Any]]:
    """How many steps there are for each history of 1, 2, … states that can be reached.

    >>> from swirl.workflows.check.checks import find_moves
    >>> from swirl.data.trajectories import Trajectories
    >>> notes = Notes(Trajectories([[0, 1, 0, 1]]))
    >>> [(entry["length"], entry["reachable"], entry["median"]) for entry in count_histories(notes, find_moves(notes))]
    [(1, 2, 2.0), (2, 2, 1.5), (3, 2, 1.0)]
    """
    flat, env = notes.flat, notes.env
    n_states = max(notes.data.n_states, 0 if env is None else env.n_states)
    pairs = moves.state * n_states + moves.following
    visits = np.bincount(flat.states)[: None if env is None else env.n_states]
    if env is None:
        edges, reachable = np.unique(pairs), int(np.count_nonzero(visits))
    else:
        s, _, to, _ = support(env)
        edges, reachable = np.unique(s * n_states + to), env.n_states
    joined = ~flat.starts
    joined[moves.where(~np.isin(pairs, edges)) + 1] = False
    found = [_per_history(1, reachable, visits[visits > 0])]
    paths = np.bincount(edges % n_states, minlength=n_states)  # numbers of paths of `length` states, by the newest
    number, whole = flat.states, np.ones(len(joined), bool)
    for length in range(2, MAX_HISTORY + 1):
        longer = joined.copy()
        longer[1:] &= whole[:-1]
        whole = longer
        at = np.flatnonzero(whole)
        key = number[at - 1] * n_states + flat.states[at]
        values, counts = distinct(key, (int(number.max()) + 1) * n_states)
        found.append(_per_history(length, int(paths.sum()), counts))
        if length < MAX_HISTORY:
            number = np.zeros(len(joined), np.int64)
            number[at] = np.searchsorted(values, key)
            # A path goes on to every successor of its newest state.
            weights = paths[edges // n_states].astype(float)
            paths = np.bincount(edges % n_states, weights=weights, minlength=n_states).astype(np.int64)
    if notes.data.n_states > 1:
        _too_few(notes, found)
    return found


def _per_history(length: int, reachable: int, counts: Int[np.ndarray, " seen"]) -> dict[str, Any]:
    """Median steps of the reachable histories; those that were not seen, which may be very many, have none."""
    unseen, ordered = max(reachable - len(counts), 0), np.sort(counts)
    middle = [(reachable - 1) // 2, reachable // 2]
    median = np.mean([0 if i < unseen else ordered[i - unseen] for i in middle]) if reachable else 0.0
    return {"length": length, "reachable": reachable, "unseen": unseen, "median": float(median)}


def _too_few(notes: Notes, histories: list[dict[str, Any]]) -> None:
    states, pairs = histories[0]["median"], histories[1]["median"]
    if states < FEW_STEPS:
        notes.add("warning", "few-steps", f"Steps per state: median {one_decimal(states)}.")
    elif pairs < FEW_STEPS:
        notes.add(
            "note", "few-steps-per-history", f"Steps per reachable history of length 2: median {one_decimal(pairs)}."
        )
