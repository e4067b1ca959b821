"""Runs become steps: of syllables, frame by frame (the next syllable is the action), and of rows of a table.

`syllable_sessions` reads labels of frames; `merge_stays` takes sessions whose steps are ticks of a clock, and makes one
step of each stay.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.segments import DURATION, DWELL, JUMP, rows_lost, usual_steps
from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import MISSING, entry_array, float_array
from swirl.errors import Faults, renamed
from swirl.io.notes import two_clocks
from swirl.text import counted, some

_CANNOT = "The syllables cannot become sessions"

MAX_LABEL = 10**9


@dataclass(frozen=True, eq=False)
class Recording:
    """One recording, frame by frame.

    Parameters
    ----------
    name
        What the session is called.
    syllables
        (frame,) labels; negative or NaN where there is none.
    times
        (frame,) increasing; None where they are not known.
    subject, group
        The animal, and the condition it was in.
    signals
        Name → (frame,) or (frame, channel) measurements; NaN where nothing was seen.
    angles
        Like `signals`, in radians: these are averaged on the circle.
    source
        Where it was read, as error messages say it.

    Examples
    --------
    >>> Recording("m1", np.array([3, 3, 5])).name
    'm1'
    """

    name: str
    syllables: Any
    times: Any = None
    subject: Any = None
    group: Any = None
    signals: Mapping[str, Any] | None = None
    angles: Mapping[str, Any] | None = None
    source: str | None = None


class _Runs(NamedTuple):
    """The runs of one recording, without its frames; `after_jump` marks those that start after lost frames."""

    name: str
    where: str
    subject: Any
    group: Any
    timed: bool
    labels: Int[np.ndarray, " run"]
    lengths: Int[np.ndarray, " run"]
    times: Float[np.ndarray, " run"]
    after_jump: Bool[np.ndarray, " run"]
    signals: dict[str, np.ndarray]
    period: float


@renamed(least_usage="min_usage", shortest_run="min_run")
def syllable_sessions(
    recordings: Iterable[Recording],
    *,
    keep: Any = None,
    min_usage: float | int = 0.005,
    names: Any = None,
    min_run: int = 1,
) -> Trajectories:
    """Make one step of each run of equal syllables: state = syllable, action = the next syllable.

    What is dropped leaves a gap: two runs of one syllable with a dropped one between them stay two steps, in two
    segments.  Lost frames (a step in time of more than 1.5 times the median) are a gap as well.  The time of a step is
    the run's onset; its signals are means over the run, and "duration" is how long it lasted (where times are known).

    Parameters
    ----------
    recordings
        Any iterable; each is reduced to its runs as it comes, so that a generator need hold only one in memory.
    keep
        Labels that become states, whether they occur or not; `min_usage` is then not asked.
    min_usage
        Syllables with a smaller share of all runs are dropped.
    names
        Label → name of the state; the others are named by their number.
    min_run
        Runs of fewer frames are dropped (before usage is counted).

    Examples
    --------
    >>> frames = np.array([3, 3, 5, 9, 5, 5])
    >>> sessions = syllable_sessions([Recording("m1", frames)], keep=[3, 5], names={3: "rear"})
    >>> sessions.states[0], sessions.actions[0], sessions.gaps[0], sessions.state_names
    (array([0, 1, 1]), array([ 1, -1, -1]), array([2]), ('rear', '5'))
    """
    faults = Faults()
    wanted, called = _wanted(keep, faults), _called(names, faults)
    if not 0 <= min_usage < 1:
        faults.add(f"min_usage={min_usage} (--min-usage): give a share of the runs, from 0 to less than 1, e.g. 0.005")
    if min_run < 1:
        faults.add(f"min_run={min_run}: give a number of frames, 1 or more")
    runs = [found for recording in recordings if (found := _runs_of(recording, faults)) is not None]
    _check_together(runs, faults)
    faults.raise_if_any(_CANNOT)

    usable = [(r.labels >= 0) & (r.lengths >= min_run) for r in runs]
    seen = [r.labels[u] for r, u in zip(runs, usable, strict=True)]
    labels, counts = np.unique(np.concatenate([np.zeros(0, np.int64), *seen]), return_counts=True)
    kept = labels[counts >= min_usage * counts.sum()] if wanted is None else wanted
    ours = [u & np.isin(r.labels, kept) for r, u in zip(runs, usable, strict=True)]
    enough = [i for i, mine in enumerate(ours) if mine.sum() >= 2]
    if not enough:
        raise ValueError(_nothing_left(runs, labels, counts, wanted))

    chosen = [(runs[i], np.flatnonzero(ours[i])) for i in enough]
    states = [np.searchsorted(kept, r.labels[at]) for r, at in chosen]
    # Before these steps a run was dropped, or frames were lost.
    gaps = [np.flatnonzero((np.diff(at) > 1) | r.after_jump[at[1:]]) + 1 for r, at in chosen]
    widths = {name: values.shape[1:] for r in runs for name, values in r.signals.items()}
    signals = {
        name: [r.signals[name][at] if name in r.signals else np.full((len(at), *width), np.nan) for r, at in chosen]
        for name, width in widths.items()
    }
    state_names = _state_names(kept, called)
    return Trajectories(
        states=states,
        actions=[next_labels(s, g) for s, g in zip(states, gaps, strict=True)],
        names=[r.name for r, _ in chosen],
        subjects=[r.subject for r, _ in chosen],
        groups=[r.group for r, _ in chosen],
        times=[r.times[at] for r, at in chosen],
        gaps=gaps,
        signals=signals or None,
        state_names=state_names,
        action_names=state_names,
        notes=(
            *two_clocks((r.name, r.period) for r in runs if r.timed),
            *_notes_on_runs(runs, usable, min_run),
            *_notes_on_syllables(labels, counts, kept, wanted),
            *_notes_on_sessions(runs, enough, states, gaps),
        ),
    )


def _runs_of(recording: Recording, faults: Faults) -> _Runs | None:
    """Find the runs of one recording and average its signals over them; None after a fault."""
    where, before = recording.source or f"recording {recording.name!r}", len(faults)
    frames = _frames(where, recording.syllables, faults)
    n = None if frames is None else len(frames)
    times = None if recording.times is None else _times(where, recording.times, n, faults)
    flat, round_ = recording.signals or {}, recording.angles or {}
    signals = {k: float_array(f"{where}: signal {k!r}", v, n, faults, (1, 2)) for k, v in flat.items()}
    angles = {k: float_array(f"{where}: angle {k!r}", v, n, faults, (1, 2)) for k, v in round_.items()}
    if times is not None and DURATION in {**flat, **round_}:
        faults.add(f"{where} has a signal {DURATION!r}: the duration of a run is called so; rename the signal")
    if frames is None or len(faults) > before:
        return None
    clock = np.arange(len(frames), dtype=float) if times is None else times
    period = float(np.median(np.diff(clock))) if len(clock) > 1 else np.nan
    after_jump = np.diff(clock, prepend=clock[:1]) > JUMP * period
    onsets, last = runs(frames, after_jump)
    means = {name: _means(values, onsets) for name, values in signals.items()}
    for name, values in angles.items():
        means[name] = np.arctan2(_means(np.sin(values), onsets), _means(np.cos(values), onsets))
    if times is not None:
        means[DURATION] = clock[last] + period - clock[onsets]
    told = (str(recording.name), where, recording.subject, recording.group, times is not None)
    return _Runs(*told, frames[onsets], last - onsets + 1, clock[onsets], after_jump[onsets], means, period)


def _frames(where: str, value: Any, faults: Faults) -> Int[np.ndarray, " frame"] | None:
    """Read labels; −1 where there is none."""
    array = entry_array(f"{where}: syllables", value, faults)
    if array is None:
        return None
    if array.size and array.dtype.kind not in "iuf":
        faults.add(f"{where}: syllables hold {array.dtype}: give integer labels, negative or NaN where there is none")
        return None
    present = ~np.isnan(array) if array.dtype.kind == "f" else np.ones(len(array), bool)
    wrong = np.flatnonzero(present & ((array > MAX_LABEL) | (np.floor(array) < array)))
    if wrong.size:
        got = f"{where}: syllable {array[wrong[0]]} at frame {some(wrong.tolist())}"
        faults.add(f"{got}: labels are whole numbers up to {MAX_LABEL:,}")
        return None
    return np.where(present & (array >= 0), array, MISSING).astype(np.int64)


def _times(where: str, value: Any, n: int | None, faults: Faults) -> Float[np.ndarray, " frame"]:
    """Read the times of frames: finite and increasing."""
    times = float_array(f"{where}: times", value, n, faults).astype(float)
    late = np.flatnonzero(~(np.diff(times) > 0)) + 1  # NaN is late too
    if late.size or not np.isfinite(times).all():
        bad = late if late.size else np.flatnonzero(~np.isfinite(times))
        faults.add(f"{where}: times are not finite and increasing at frame {some(bad.tolist())}: correct or drop them")
    return times


def _means(values: Float[np.ndarray, "frame *channel"], onsets: Int[np.ndarray, " run"]) -> np.ndarray:
    """Mean of each run over the frames that are not NaN."""
    values = values.astype(float)
    if not len(onsets):
        return values
    seen = ~np.isnan(values)
    with np.errstate(invalid="ignore"):  # ∞ − ∞ within a run, or no frame seen: NaN is the answer
        return np.add.reduceat(np.where(seen, values, 0.0), onsets) / np.add.reduceat(seen.astype(float), onsets)


def runs(
    labels: Int[np.ndarray, " entry"], starts: Bool[np.ndarray, " entry"]
) -> tuple[Int[np.ndarray, " run"], Int[np.ndarray, " run"]]:
    """First and last entry of each run of equal labels; a run begins wherever `starts` says so, too.

    >>> runs(np.array([3, 3, 5, 5]), np.array([False, False, False, True]))
    (array([0, 2, 3]), array([1, 2, 3]))
    """
    first = np.flatnonzero(starts | (np.diff(labels, prepend=labels[:1]) != 0) | (np.arange(len(labels)) == 0))
    return first, np.append(first[1:], len(labels))[: len(first)] - 1


def next_labels(states: Int[np.ndarray, " step"], gaps: Int[np.ndarray, " gap"]) -> Int[np.ndarray, " step"]:
    """Return the next state, and −1 at the end of each segment.

    >>> next_labels(np.array([3, 5, 3]), np.array([2]))
    array([ 5, -1, -1])
    """
    actions = np.append(states[1:], MISSING)
    actions[gaps - 1] = MISSING
    return actions


def numbers_first(name: str) -> tuple[int, int, str]:
    """Order of labels: whole numbers by their size, then text.

    >>> sorted(["b", "10", "a", "9"], key=numbers_first)
    ['9', '10', 'a', 'b']
    """
    return (0, int(name), name) if re.fullmatch(r"-?[0-9]{1,18}", name) else (1, 0, name)


def merge_stays(data: Trajectories) -> Trajectories:
    """Make one step of consecutive rows of one state, where each row is a tick of a clock; never across a gap.

    The time of a step is the arrival.  The signal "dwell" is the time from arrival to leaving, in the unit of the times
    (without times: in rows); at the end of a segment the animal leaves one tick after the last row.  Other signals are
    means over the run of what is not NaN.  The action is that of the run's last row, as it led on; at the end of a
    segment, an action with which an animal only ever stayed is left out.  A step in time of more than 1.5 times the
    median is a gap, as rows were lost there, unless such steps are common (the rows are then no ticks).

    Where there is a signal "dwell" already, the rows lasted that long: to merge once more changes nothing.

    Examples
    --------
    >>> ticks = Trajectories([[0, 0, 0, 1]], times=[[0.0, 1.0, 2.0, 3.0]], signals={"dff": [[1.0, np.nan, 3.0, 5.0]]})
    >>> merged = merge_stays(ticks)
    >>> merged.states, merged.times, merged.signals
    ([array([0, 1])], [array([0., 3.])], {'dff': [array([2., 5.])], 'dwell': [array([3., 1.])]})
    >>> merged.notes[0][:31]
    '4 rows became 2 steps, as rows '
    """
    signals = dict(data.signals or {})
    lasted = signals.pop(DWELL, None)
    if lasted is not None and lasted[0].ndim > 1:
        raise ValueError(
            f"The rows cannot be merged: signal {DWELL!r} has {lasted[0].shape[1]} channels, but in merged sessions it "
            "is how long a step lasts; rename its columns"
        )
    only_stay = _only_stay(data)
    periods = usual_steps(data)
    first_rows, gaps, times, dwell, actions, modes, n_lost = [], [], [], [], [], [], 0
    means: dict[str, list[np.ndarray]] = {name: [] for name in signals}
    for i, states in enumerate(data.states):
        clock, rows_last = None if data.times is None else data.times[i], None if lasted is None else lasted[i]
        starts = np.zeros(len(states), bool)
        starts[data.gaps[i]] = True
        if clock is not None and rows_last is None:
            lost = rows_lost(clock, starts, periods[i])
            n_lost += int(lost.sum())
            starts |= lost
        first, last = runs(states, starts)
        ends = np.append(starts[first[1:]], True)
        if clock is None:
            dwell.append(np.add.reduceat(np.ones(len(states)) if rows_last is None else rows_last, first))
        else:
            row = periods[i] if rows_last is None else np.where(np.isnan(rows_last), periods[i], rows_last)[last]
            leave = np.where(ends, clock[last] + row, np.append(clock[first[1:]], np.nan))
            dwell.append((leave - clock[first]).round(9))  # 0.83, and not 0.8300000000000003
            times.append(clock[first])
        action = data.actions[i][last]
        actions.append(np.where(ends & np.isin(action, only_stay), MISSING, action))
        for name, arrays in signals.items():
            means[name].append(_means(arrays[i], first))
        if data.modes is not None:
            modes.append(data.modes[i][last])
        first_rows.append(first)
        gaps.append(np.flatnonzero(starts[first]))
    merged = Trajectories(
        states=[states[first] for states, first in zip(data.states, first_rows, strict=True)],
        actions=actions,
        names=data.names,
        subjects=data.subjects,
        groups=data.groups,
        times=times or None,
        gaps=gaps,
        signals={**means, DWELL: dwell},
        modes=modes or None,
        n_states=data.n_states,
        n_actions=data.n_actions,
        state_names=data.state_names,
        action_names=data.action_names,
        notes=(*data.notes, *_notes_on_stays(data.n_steps, sum(map(len, first_rows)), data.times is not None, n_lost)),
    )
    if data.source_lines is not None:
        merged.source_lines = [lines[first] for lines, first in zip(data.source_lines, first_rows, strict=True)]
        merged.source_noun = data.source_noun
    return merged


def _only_stay(data: Trajectories) -> Int[np.ndarray, " action"]:
    """Actions with which an animal stayed, and never left."""
    flat = data.flat()
    goes_on, stays = ~flat.starts[1:], flat.states[1:] == flat.states[:-1]
    actions = flat.actions[:-1]
    return np.setdiff1d(actions[goes_on & stays], np.append(actions[goes_on & ~stays], MISSING))


def _notes_on_stays(n_rows: int, n_steps: int, timed: bool, n_lost: int) -> list[str]:
    """Say what became of the rows."""
    unit = "in the unit of the times" if timed else "in rows"
    if n_rows == n_steps:
        notes = [f"nothing to merge: no row has the state of the row before; {DWELL} is how long a step lasts, {unit}"]
    else:
        notes = [
            f"{counted(n_rows, 'row')} became {counted(n_steps, 'step')}, as rows in which the animal stays belong to "
            f"one step; {DWELL} is how long it lasts ({unit}), and other signals are means over its rows"
        ]
    if n_lost:
        notes.append(
            f"marked {counted(n_lost, 'gap')} where rows are lost: times jump there by more than {JUMP:g} median steps"
        )
    return notes


def _wanted(keep: Any, faults: Faults) -> Int[np.ndarray, " label"] | None:
    """Read the labels to keep, in increasing order."""
    if keep is None:
        return None
    listed = list(keep) if np.iterable(keep) and not isinstance(keep, str | bytes) else None
    whole = listed and all(isinstance(x, int | np.integer) and not isinstance(x, bool) and x >= 0 for x in listed)
    if not listed or not whole:
        faults.add(f"keep={keep!r} (--keep): give whole numbers, 0 or more, as in [0, 1, 2]; typed, 0,1,2")
        return None
    return np.unique(np.array(listed, np.int64))


def _called(names: Any, faults: Faults) -> dict[int, str]:
    """Read the names of labels; a blank name is none."""
    if names is None:
        return {}
    if not isinstance(names, Mapping) or not all(isinstance(label, int | np.integer) for label in names):
        faults.add(f"names is {names!r}: give a dict, label → name, as in names={{0: 'walk', 1: 'rear'}}")
        return {}
    return {int(label): str(name).strip() for label, name in names.items() if str(name).strip()}


def _state_names(kept: Int[np.ndarray, " label"], called: dict[int, str]) -> tuple[str, ...]:
    """Name the states; syllables that share a name are told apart by their number."""
    plain = [called.get(label, str(label)) for label in kept.tolist()]
    shared = {name for name, n in Counter(plain).items() if n > 1}
    return tuple(f"{n} ({label})" if n in shared else n for n, label in zip(plain, kept.tolist(), strict=True))


def _check_together(runs: list[_Runs], faults: Faults) -> None:
    """Recordings have names of their own, all have times or none, and a signal has one width."""
    if repeated := [name for name, n in Counter(r.name for r in runs).items() if n > 1]:
        which = some(list(dict.fromkeys(r.where for r in runs if r.name in repeated)))
        faults.add(f"several recordings are called {some(repeated)} ({which}): give each a different name")
    without = [r.name for r in runs if not r.timed]
    if 0 < len(without) < len(runs):
        faults.add(f"recordings {some(without)} have no times, but others have: give times for all, or for none")
    for name in sorted({name for r in runs for name in r.signals}):
        widths = sorted({r.signals[name].shape[1:] for r in runs if name in r.signals})
        if len(widths) > 1:
            faults.add(f"signal {name!r} has different numbers of channels in different recordings: {widths}")


def _nothing_left(
    runs: list[_Runs], labels: Int[np.ndarray, " label"], counts: Int[np.ndarray, " label"], wanted: Any
) -> str:
    """Say why there is no session, and what to do."""
    if not runs:
        return f"{_CANNOT}: there is no recording; give at least one."
    used = [f"{labels[i]} ({counted(int(counts[i]), 'run')})" for i in np.argsort(-counts, kind="stable")]
    got = f"the syllables used most are {some(used)}" if used else "no frame has a syllable (all are negative or NaN)"
    do = "give a smaller min_usage (--min-usage) or min_run"
    if wanted is not None:
        do = f"those to keep are {some(wanted.tolist())}: keep some that occur"
    return f"{_CANNOT}: no recording of {len(runs)} is left with 2 steps or more; {got}; {do}."


def _notes_on_runs(runs: list[_Runs], usable: list[np.ndarray], min_run: int) -> list[str]:
    """Say what the recordings held and which runs could not be used."""
    none = sum(int((r.labels < 0).sum()) for r in runs)
    short = sum(int((~u).sum()) for u in usable) - none
    notes = [f"{counted(len(runs), 'recording')} with {counted(sum(len(r.labels) for r in runs) - none, 'run')}"]
    notes += [f"dropped {counted(none, 'run')} of frames without a syllable"] * bool(none)
    notes += [f"dropped {counted(short, 'run')} of fewer than {min_run} frames"] * bool(short)
    for name in dict.fromkeys(name for r in runs for name in r.signals):
        if lacking := [r.name for r in runs if name not in r.signals]:
            notes.append(f"signal {name!r} is NaN in {some(lacking)}: it is not recorded there")
    return notes


def _notes_on_syllables(
    labels: Int[np.ndarray, " label"], counts: Int[np.ndarray, " label"], kept: Int[np.ndarray, " state"], wanted: Any
) -> list[str]:
    """Say which syllables were dropped."""
    notes, gone, never = [], ~np.isin(labels, kept), np.setdiff1d(kept, labels)
    if gone.any():
        are = "is" if gone.sum() == 1 else "are"
        which = "used too rarely" if wanted is None else f"that {are} not among those to keep"
        share = f"{counts[gone].sum() / counts.sum():.1%} of the runs"
        notes.append(f"dropped {counted(int(gone.sum()), 'syllable')} {which} ({share}): {some(labels[gone].tolist())}")
    return [*notes, f"kept syllables that never occur: {some(never.tolist())}"] if never.size else notes


def _notes_on_sessions(
    runs: list[_Runs], enough: list[int], states: list[np.ndarray], gaps: list[np.ndarray]
) -> list[str]:
    """Say what became of the sessions."""
    notes, n_steps, n_gaps = [], sum(map(len, states)), sum(map(len, gaps))
    if few := [runs[i].name for i in sorted(set(range(len(runs))) - set(enough))]:
        notes.append(f"dropped {counted(len(few), 'session')} with fewer than 2 steps: {some(few)}")
    made = f"{counted(len(states), 'session')} with {counted(n_steps, 'step')}"
    length = n_steps / (n_gaps + len(states))
    return [*notes, f"{made} and {counted(n_gaps, 'gap')}: {length:.1f} steps per segment on average"]
