"""Labelled bouts become steps: one bout is one step, and the label of the next bout is the action.

An animal is in one state at a time.  Bouts that overlap are refused, or cut by a list of priorities.  Pauses between
bouts are passed over, or become a state of their own, or gaps.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from swirl.data.segments import DURATION
from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import MISSING
from swirl.errors import Faults
from swirl.io.columns import plain
from swirl.io.label_runs import next_labels, numbers_first, runs
from swirl.text import counted, some

CANNOT = "The bouts cannot become sessions"

PAUSES = ("ignore", "state", "gap")
"""What may be made of a pause between two bouts."""

NONE = "none"
"""The state of an animal that does nothing which has a label, where pauses are a state."""

NOTHING = ("background", "default", "_default", "none", "nothing", "other")
"""Labels of frames in which nothing of interest was seen: last in a list of priorities."""

POINT = 0.001
"""Seconds for which a point event lasts, where it is taken as a bout: two steps cannot have the same time."""

ROUNDING = 1e-6
"""Seconds by which two bouts may overlap, or lie apart, because their times were rounded."""


@dataclass(frozen=True, eq=False)
class Bouts:
    """Labelled bouts of one session, in any order.

    Parameters
    ----------
    name
        What the session is called.
    start, stop
        (bout,) in seconds; a point event stops where it starts.
    labels
        What the animal did in each bout.
    subject
        The animal.
    lines
        (bout,) the line of the file on which each begins; None where there are no lines.
    source
        The file, as error messages say it.
    rounding
        Seconds by which the times may be off: that much is neither an overlap nor a pause.
    resumed
        (stretch,) times at which the recording goes on after frames that are lost.

    Examples
    --------
    >>> Bouts("m1", np.array([0.0, 2.0]), np.array([1.5, 3.0]), ["rear", "groom"]).name
    'm1'
    """

    name: str
    start: Float[np.ndarray, " bout"]
    stop: Float[np.ndarray, " bout"]
    labels: list[str]
    subject: str | None = None
    lines: Int[np.ndarray, " bout"] | None = None
    source: str = ""
    rounding: float = ROUNDING
    resumed: Float[np.ndarray, " stretch"] = field(default_factory=lambda: np.zeros(0))

    def taken(self, chosen: Sequence[bool]) -> "Bouts":
        """Only some of the bouts.

        >>> Bouts("m1", np.array([0.0, 2.0]), np.array([1.5, 3.0]), ["rear", "groom"]).taken([False, True]).labels
        ['groom']
        """
        at = np.flatnonzero(np.asarray(chosen, bool))
        lines = None if self.lines is None else self.lines[at]
        labels = [self.labels[i] for i in at.tolist()]
        return replace(self, start=self.start[at], stop=self.stop[at], labels=labels, lines=lines)

    def told(self, i: int) -> str:
        """One bout in words.

        >>> Bouts("m1", np.array([2.0]), np.array([3.5]), ["rear"], lines=np.array([4])).told(0)
        "'rear' from 2 to 3.5 s (line 4)"
        """
        line = "" if self.lines is None else f" (line {self.lines[i]})"
        return f"{self.labels[i]!r} from {instant(self.start[i])} to {instant(self.stop[i])} s{line}"


def instant(time: Any) -> str:
    """A time in seconds as messages show it, to the millisecond.

    >>> instant(1826.9534), instant(2.0)
    ('1826.953', '2')
    """
    return f"{round(float(time), 3):.12g}"


class _Steps(NamedTuple):
    """The bouts of one session as steps, and what was done to them."""

    states: Int[np.ndarray, " step"]
    times: Float[np.ndarray, " step"]
    durations: Float[np.ndarray, " step"]
    gaps: Int[np.ndarray, " gap"]
    pauses: Float[np.ndarray, " pause"]
    n_cut: int
    n_again: int


def bout_sessions(
    sessions: Sequence[Bouts],
    *,
    priority: Sequence[str] | None = None,
    pauses: str = "ignore",
    max_pause: float | int | None = None,
    drop: Sequence[str] | None = None,
    points: bool = False,
) -> Trajectories:
    """Make one step of each bout: state = its label, action = the label of the next one.

    Bouts with the same label that touch are one step.  The time of a step is the start of its bout, and the signal
    "duration" is how long it lasted.

    Parameters
    ----------
    priority
        Labels, the most important first: where two bouts overlap, the one whose label stands further in front stays
        and the other is cut. Labels that are not listed come last. Overlaps that the list does not settle are refused.
    pauses
        "ignore": a bout is followed by the next one, however long the pause (a label may then follow itself).
        "state": a pause is a state of its own, called "none". "gap": history and modes start anew after each pause.
    max_pause
        Pauses of more seconds are gaps in any case.
    drop
        Labels to leave out; their time is a pause.
    points
        Take events without a duration as bouts of a millisecond; by default they are left out.

    Examples
    --------
    >>> bouts = Bouts("m1", np.array([0.0, 2.0, 5.0]), np.array([2.0, 3.0, 6.0]), ["rear", "groom", "groom"])
    >>> sessions = bout_sessions([bouts])
    >>> sessions.state_names, sessions.states[0], sessions.actions[0]
    (('groom', 'rear'), array([1, 0, 0]), array([ 0,  0, -1]))
    >>> bout_sessions([bouts], pauses="state").states[0]
    array([2, 0, 1, 0])
    """
    faults, notes = Faults(), []
    there = sorted({label for bouts in sessions for label in bouts.labels}, key=numbers_first)
    _check_options(priority, pauses, max_pause, drop, there, faults)
    faults.raise_if_any(CANNOT)
    kept = [bouts.taken([label not in (drop or ()) for label in bouts.labels]) for bouts in sessions]
    if drop:
        n = sum(len(old.labels) - len(new.labels) for old, new in zip(sessions, kept, strict=True))
        notes.append(f"left out {counted(n, 'bout')} of {some(list(drop), 10)}, as asked: their time is a pause")
    if points:
        kept = [replace(bouts, stop=bouts.stop + POINT * (bouts.stop == bouts.start)) for bouts in kept]
    else:
        kept = _without_points(kept, notes)
    if empty := [bouts.name for bouts in kept if not bouts.labels]:
        notes.append(f"left out {counted(len(empty), 'session')} without a bout: {some(empty)}")
    kept = [bouts for bouts in kept if bouts.labels]
    if not kept:
        told = "; ".join(notes)
        raise ValueError(
            f"{CANNOT}: no bout is left{f' ({told})' if told else ''}. Labels: {some(there, 20) or 'none'}"
        )
    if pauses != "state" and len(only := {label for bouts in kept for label in bouts.labels}) == 1:
        also = "; --points takes the point events too" if any("point event" in note for note in notes) else ""
        notes.append(
            f"BEWARE: every bout is {next(iter(only))!r}, and of one label alone nothing can be learned. Where the "
            f"time between bouts is a behaviour too: --pauses state makes it a state of its own, 'none'{also}"
        )
    rank = {label: i for i, label in enumerate(priority or ())}
    _check_overlaps(kept, rank, faults)
    faults.raise_if_any(CANNOT)
    used = {label for bouts in kept for label in bouts.labels} | ({NONE} if pauses == "state" else set())
    names = tuple(sorted(used, key=numbers_first))
    made = [_steps(bouts, names, rank, pauses, np.inf if max_pause is None else max_pause) for bouts in kept]
    if pauses == "state" and not any((steps.states == names.index(NONE)).any() for steps in made):
        return bout_sessions(sessions, priority=priority, max_pause=max_pause, drop=drop, points=points)  # none at all
    return Trajectories(
        states=[steps.states for steps in made],
        actions=[next_labels(steps.states, steps.gaps) for steps in made],
        names=[bouts.name for bouts in kept],
        subjects=[bouts.subject for bouts in kept],
        times=[steps.times for steps in made],
        gaps=[steps.gaps for steps in made],
        signals={DURATION: [steps.durations for steps in made]},
        state_names=names,
        action_names=names,
        notes=[*notes, *_notes(kept, made, pauses, max_pause)],
    )


def _check_options(
    priority: Sequence[str] | None,
    pauses: str,
    max_pause: float | int | None,
    drop: Sequence[str] | None,
    there: list[str],
    faults: Faults,
) -> None:
    """Note options that cannot be followed."""
    if pauses not in PAUSES:
        faults.add(f"pauses={pauses!r} (--pauses): expected {', '.join(PAUSES)}")
    if max_pause is not None and not max_pause >= 0:
        faults.add(f"max_pause={max_pause} (--max-pause): give seconds, 0 or more")
    for option, given in (("priority", priority or ()), ("drop", drop or ())):
        if isinstance(given, str):
            faults.add(f"{option} is the text {given!r}: give a list of labels, as in {option}=[{given!r}]")
            continue
        if unknown := [repr(label) for label in given if label not in there]:
            faults.add(f"--{option} names {some(unknown)}, which does not occur: the labels are {some(there, 20)}")
        if repeated := [repr(label) for label, n in Counter(given).items() if n > 1]:
            faults.add(f"--{option} names {some(repeated)} more than once: name each label once")


def _without_points(sessions: list[Bouts], notes: list[str]) -> list[Bouts]:
    """Leave out the events without a duration, and say how many."""
    lasting = [bouts.stop > bouts.start for bouts in sessions]
    gone = Counter(
        label
        for bouts, keep in zip(sessions, lasting, strict=True)
        for label, kept in zip(bouts.labels, keep.tolist(), strict=True)
        if not kept
    )
    if gone:
        which = some([f"{label} ({n})" for label, n in gone.most_common()])
        notes.append(
            f"left out {counted(gone.total(), 'point event')} (they have no duration): {which}; --points takes them too"
        )
    return [bouts.taken(keep.tolist()) for bouts, keep in zip(sessions, lasting, strict=True)]


# ---------------------------------------------------------------------- overlaps


def _check_overlaps(sessions: list[Bouts], rank: dict[str, int], faults: Faults) -> None:
    """Refuse overlaps that the priorities do not settle, in one message with one remedy."""
    pairs: list[tuple[Bouts, int, int]] = []
    for all_of_it in sessions:
        bouts = all_of_it.taken([label not in rank for label in all_of_it.labels])
        order = np.lexsort((bouts.stop, bouts.start))
        start, stop = bouts.start[order], bouts.stop[order]
        until = np.maximum.accumulate(stop) if len(stop) else stop
        for i in (np.flatnonzero(start[1:] < until[:-1] - bouts.rounding) + 1).tolist():
            pairs.append((bouts, int(order[int(np.argmax(stop[:i]))]), int(order[i])))
    if not pairs:
        return
    shown = []
    for bouts, a, b in pairs[:3]:
        who = "" if bouts.subject is None else f", subject {bouts.subject}"
        shown.append(f"{bouts.source or 'session'}, {bouts.name}{who}: {bouts.told(a)} and {bouts.told(b)}")
    n_sessions = len({id(bouts) for bouts, _, _ in pairs})
    more = f"; and {len(pairs) - 3:,} more" if len(pairs) > 3 else ""
    lengths: dict[str, list[float]] = {}
    for bouts, *two in pairs:
        for i in two:
            lengths.setdefault(bouts.labels[i], []).append(float(bouts.stop[i] - bouts.start[i]))
    short_first = sorted(lengths, key=lambda label: (plain(label) in NOTHING, float(np.median(lengths[label]))))
    do = f"the most important first, as in --priority {','.join([*rank, *short_first])!r} (the others are cut)"
    same = [bouts.labels[a] == bouts.labels[b] for bouts, a, b in pairs]
    if all(same):
        faults.add(
            f"{counted(len(pairs), 'overlap')} of a behaviour with itself in {counted(n_sessions, 'session')}, but an "
            f"animal is in one state at a time: {'; '.join(shown)}{more}. If there are several animals, observers or "
            "channels in one session, name the column that tells them apart (--subject, --session); if there are not, "
            f"let the later bout cut the earlier one: --priority {','.join([*rank, *short_first])!r}"
        )
        return
    twice = "" if not any(same) else (
        ". Where a behaviour overlaps itself: if there are several animals or observers in one session, name the "
        "column that tells them apart (--subject, --session)"
    )  # fmt: skip
    faults.add(
        f"{counted(len(pairs), 'overlap')} in {counted(n_sessions, 'session')}, but an animal is in one state at a "
        f"time: {'; '.join(shown)}{more}. Say which behaviour counts, {do}{twice}"
    )


def cut(
    start: Float[np.ndarray, " bout"], stop: Float[np.ndarray, " bout"], rank: Int[np.ndarray, " bout"]
) -> tuple[Int[np.ndarray, " piece"], Float[np.ndarray, " piece"], Float[np.ndarray, " piece"]]:
    """Cut bouts so that none overlap: the bout of each piece, its start and its stop, in the order of time.

    Where bouts overlap, the one of lowest rank stays; of the same rank, the one that starts later, or is shorter.

    >>> cut(np.array([0.0, 1.0]), np.array([4.0, 2.0]), np.array([1, 0]))
    (array([0, 1, 0]), array([0., 1., 2.]), array([1., 2., 4.]))
    """
    edges = np.unique(np.concatenate([start, stop]))
    first, end = np.searchsorted(edges, start), np.searchsorted(edges, stop)
    owner = np.full(max(len(edges) - 1, 0), MISSING)
    for i in np.lexsort((-stop, start, -rank)).tolist():  # the most important is painted last
        owner[first[i] : end[i]] = i
    begin, last = runs(owner, np.zeros(len(owner), bool))
    mine = owner[begin] != MISSING
    begin, last = begin[mine], last[mine]
    return owner[begin], edges[begin], edges[last + 1]


# ---------------------------------------------------------------------- steps


def _steps(bouts: Bouts, names: tuple[str, ...], rank: dict[str, int], pauses: str, max_pause: float | int) -> _Steps:
    """Put bouts in order, cut what overlaps, and make of pauses what is asked for."""
    ranks = np.array([rank.get(label, len(rank)) for label in bouts.labels])
    owner, start, stop = cut(bouts.start, bouts.stop, ranks)
    whole = stop - start > ROUNDING  # slivers come of rounding
    owner, start, stop = owner[whole], start[whole], stop[whole]
    length = np.bincount(owner, stop - start, minlength=len(ranks))
    n_pieces = np.bincount(owner, minlength=len(ranks))
    n_cut = int(((n_pieces != 1) | (length < bouts.stop - bouts.start - bouts.rounding)).sum())
    number = {name: i for i, name in enumerate(names)}
    states = np.array([number[bouts.labels[i]] for i in owner.tolist()])
    apart = np.append(0.0, start[1:] - stop[:-1])
    paused = apart > bouts.rounding
    stretch = np.searchsorted(bouts.resumed, start + ROUNDING, side="right")
    gap = (apart > max_pause) | (np.diff(stretch, prepend=stretch[:1]) > 0)
    gap |= paused & (pauses == "gap")
    passed = np.flatnonzero(paused & ~gap)
    lengths = apart[passed]
    if pauses == "state":
        begins, ends = stop[passed - 1], start[passed]
        states, gap = np.insert(states, passed, number[NONE]), np.insert(gap, passed, False)
        paused = gap
        start, stop = np.insert(start, passed, begins), np.insert(stop, passed, ends)
    first, last = runs(states, paused | gap)
    gaps, states = np.flatnonzero(gap[first]), states[first]
    n_again = int(((np.diff(states) == 0) & ~gap[first][1:]).sum())
    return _Steps(states, start[first], stop[last] - start[first], gaps, lengths, n_cut, n_again)


def _notes(kept: list[Bouts], made: list[_Steps], pauses: str, max_pause: float | int | None) -> list[str]:
    """Say what became of the bouts."""
    n_bouts, n_steps = sum(len(bouts.labels) for bouts in kept), sum(len(steps.states) for steps in made)
    n_gaps, n_cut = sum(len(steps.gaps) for steps in made), sum(steps.n_cut for steps in made)
    n_again, lengths = sum(steps.n_again for steps in made), np.concatenate([steps.pauses for steps in made])
    notes = [f"{counted(n_bouts, 'bout')} became {counted(n_steps, 'step')} in {counted(len(made), 'session')}"]
    notes += [f"cut or left out where a bout of higher priority overlaps: {counted(n_cut, 'bout')}"] * bool(n_cut)
    told = ""
    if len(lengths):
        told = f"{counted(len(lengths), 'pause')} (median {np.median(lengths):.3g} s, longest {lengths.max():.3g} s)"
    if pauses == "state" and told:
        notes.append(f"{told} became the state {NONE!r}")
    elif told:
        notes.append(
            f"{told} ignored: a bout is followed by the next one. For a state {NONE!r} in between: --pauses state; "
            "for gaps: --pauses gap, or --max-pause S for those that are longer than S seconds"
        )
    if n_again:
        notes.append(f"{counted(n_again, 'bout')} came after one of the same label: a label may follow itself here")
    if n_gaps:
        why = "pauses" if pauses == "gap" else "long pauses" if max_pause is not None else "lost frames"
        per = n_steps / (n_gaps + len(made))
        notes.append(f"{counted(n_gaps, 'gap')} ({why}): {per:.1f} steps per segment on average")
    return notes
