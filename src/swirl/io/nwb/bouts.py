"""Labelled intervals and events in NWB files, as bouts in the order of time, and these as steps."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from swirl.data.trajectory_checks import MISSING
from swirl.errors import Faults
from swirl.io.label_runs import next_labels, numbers_first, runs
from swirl.io.nwb.file import (
    TIME_COLUMNS,
    columns_for_labels,
    place,
    read_numbers,
    read_values,
    series_in,
    session_and_subject,
    text_of,
)
from swirl.text import counted, numbered, some

_LABELS = ("label", "behavior", "behaviour", "annotation")
_ROUNDING = 1e-6
"""Seconds by which two bouts may overlap because their times were rounded."""


class Bouts(NamedTuple):
    """Labelled intervals of one file, in the order of time."""

    where: str
    name: str
    subject: str | None
    start: Float[np.ndarray, " bout"]
    stop: Float[np.ndarray, " bout"]
    labels: list[str | None]
    catalogue: list[str]
    """All labels that there may be, in order, where an Ethogram says so."""
    observed: Float[np.ndarray, " interval"] | None
    """When each interval of observation starts."""
    rounding: float
    """Seconds by which times may be off."""
    merge: bool
    """Whether equal labels in a row are one bout; trials and events are steps of their own."""


class Steps(NamedTuple):
    """The same bouts as steps."""

    states: Int[np.ndarray, " step"]
    actions: Int[np.ndarray, " step"]
    times: Float[np.ndarray, " step"]
    durations: Float[np.ndarray, " step"]
    gaps: Int[np.ndarray, " gap"]
    notes: list[str]


# ---------------------------------------------------------------------- bouts


def read_bouts(group: Any, kind: str, label: str | None, faults: Faults) -> Bouts | None:
    """Read labelled intervals and put them in order; None after a fault."""
    before, read = len(faults), read_intervals(group, kind, label, faults)
    if read is None or len(faults) > before:
        return None
    start, stop, labels = read
    for what, wrong in (("no finite time", ~np.isfinite(start + stop)), ("a stop before its start", stop < start)):
        if wrong.any():
            faults.add(f"{place(group)}: {what} at {_rows(np.flatnonzero(wrong))}: correct or delete the row")
    if not any(x is not None for x in labels):
        faults.add(f"{place(group)} has no row with a label: there is nothing to read")
    if len(faults) > before:
        return None
    exact = "start_time" not in group or group["start_time"].dtype.itemsize > 4
    rounding = max(_ROUNDING, 0.0 if exact else 2 * float(np.spacing(np.float32(np.abs(stop).max()))))
    order = np.argsort(start, kind="stable")
    start, stop, labels = start[order], stop[order], [labels[i] for i in order]
    _check_overlap(group, start, stop, labels, order, rounding, faults)
    merge = kind in ("bouts", "epochs") or (kind == "intervals" and not group.name.endswith("/trials"))
    if (stop == start).all():
        stop, merge = _frames(start, rounding)
    elif kind in ("events", "labelled events"):
        merge = True
    catalogue = [x for x in _optional(group.get("ethogram"), "behavior") if isinstance(x, str)]
    observed = group.get("observation_intervals")
    name, subject = session_and_subject(group.file)
    return Bouts(
        where=group.name,
        name=name,
        subject=subject,
        start=start,
        stop=stop,
        labels=labels,
        catalogue=catalogue,
        observed=None if observed is None else np.sort(np.array(_optional(observed, "start_time"), float)),
        rounding=rounding,
        merge=merge,
    )


def _optional(group: Any, name: str) -> list[Any]:
    """Read a column of a linked table, if it is there."""
    values = None if group is None else read_values(group, name, Faults())
    return [] if values is None or values.ndim != 1 else values.tolist()


def read_intervals(
    group: Any, kind: str, label: str | None, faults: Faults
) -> tuple[np.ndarray, np.ndarray, list[str | None]] | None:
    """Start, stop and label of each row; None after a fault."""
    if kind == "epochs":
        return _epochs(group, faults)
    if kind == "labelled events":
        return _labelled_events(group, faults)
    name = "timestamp" if kind == "events" else "start_time"
    start = read_numbers(group, name, faults)
    column = _label_column(group, label, faults)
    if start is None or column is None:
        return None
    if kind != "events":
        stop = read_numbers(group, "stop_time", faults, len(start))
    else:
        lasted = read_numbers(group, "duration", faults, len(start)) if "duration" in group else np.zeros(len(start))
        stop = None if lasted is None else start + np.nan_to_num(lasted)
    labels = _labels(group, column, len(start), faults)
    return None if stop is None or labels is None else (start, stop, labels)


def _label_column(group: Any, label: str | None, faults: Faults) -> str | None:
    """Name of the column with the labels; None after a fault."""
    able = columns_for_labels(group)
    if label is not None and label in group and label not in TIME_COLUMNS:
        return label
    usual = [name for name in _LABELS if name in able][:1] or (able if len(able) == 1 else [])
    if label is None and usual:
        return usual[0]
    there = (
        f"its columns are {some([repr(name) for name in able], 40)}"
        if able
        else "it has no column of text or whole numbers"
    )
    if label is not None:
        faults.add(f"{place(group)} has no column label={label!r}: {there}")
    elif able:
        one = f"choose one, as in label={able[0]!r} (--label)"
        faults.add(f"{place(group)} may be labelled by several columns: {one}; {there}")
    else:
        faults.add(f"{place(group)} has no label: {there}")
    return None


def _labels(group: Any, column: str, length: int, faults: Faults) -> list[str | None] | None:
    """Read a column as text, None where it is empty."""
    values = read_values(group, column, faults)
    if values is None:
        return None
    elements = group[column].attrs.get("elements")  # a category is stored as its place in the list of all
    if elements is not None and values.dtype.kind in "iu":
        named = _optional(group.file[elements].parent, group.file[elements].name.rpartition("/")[2])
        values = np.array([str(named[i]) if i < len(named) else "" for i in values.tolist()], object)
    if f"{column}_index" in group:
        ends = read_numbers(group, f"{column}_index", faults, length)
        if ends is None:
            return None
        edges = np.append(0, ends).astype(int)
        many = np.flatnonzero(np.diff(edges) > 1)
        if many.size or edges[-1] > len(values) or (np.diff(edges) < 0).any():
            faults.add(f"{place(group, column)} has several values at {_rows(many)}: expected one per row")
            return None
        values = np.array([values[a] if b > a else "" for a, b in pairwise(edges.tolist())], object)
    if values.shape != (length,):
        faults.add(f"{place(group, column)} has shape {values.shape}: expected one label for each of {length:,} rows")
        return None
    if values.dtype.kind == "f":
        wrong = np.flatnonzero(np.isfinite(values) & (values != np.round(values)))
        if wrong.size:
            got = f"{place(group, column)} is {values[wrong[0]]} at {_rows(wrong)}"
            faults.add(f"{got}: labels are text or whole numbers; choose another column")
            return None
        return [str(int(x)) if np.isfinite(x) else None for x in values.tolist()]
    if values.dtype.kind not in "OUiub" or not all(isinstance(x, str | int) for x in values.tolist()):
        faults.add(f"{place(group, column)} holds {values.dtype}: labels are text or whole numbers")
        return None
    return [str(x).strip() or None for x in values.tolist()]


def _labelled_events(group: Any, faults: Faults) -> tuple[np.ndarray, np.ndarray, list[str | None]] | None:
    """Read events of the older extension ndx-events: numbers that count into the attribute `labels`."""
    name = "data" if "data" in group else "label_keys"
    times, keys = read_numbers(group, "timestamps", faults), read_values(group, name, faults)
    if times is None or keys is None:
        return None
    named = [text_of(x) for x in np.ravel(group[name].attrs.get("labels", []))]
    if keys.shape != times.shape or keys.dtype.kind not in "iu":
        faults.add(f"{place(group, name)} has shape {keys.shape} and type {keys.dtype}: expected a number per event")
        return None
    wrong = np.flatnonzero((keys < 0) | (keys >= len(named)))
    if wrong.size:
        faults.add(f"{place(group, name)} is {keys[wrong[0]]} at {_rows(wrong)}: it has {counted(len(named), 'label')}")
        return None
    return times, times.copy(), [named[k] for k in keys.tolist()]


def _epochs(group: Any, faults: Faults) -> tuple[np.ndarray, np.ndarray, list[str | None]] | None:
    """Read IntervalSeries: +k where k starts, −k where it stops; the name of the series is the label."""
    series = [group] if "data" in group else [group[name] for name in series_in(group)]
    starts, stops, labels = [np.zeros(0)], [np.zeros(0)], []
    before = len(faults)
    for one in series:
        times, marks = read_numbers(one, "timestamps", faults), read_numbers(one, "data", faults)
        if times is None or marks is None:
            continue
        name, kinds = one.name.rpartition("/")[2], np.unique(np.abs(marks))
        for k in kinds.tolist():
            mine = np.flatnonzero(np.abs(marks) == k)
            if (
                len(marks) != len(times)
                or len(mine) % 2
                or (np.sign(marks[mine]) != np.resize([1, -1], len(mine))).any()
            ):
                faults.add(f"{place(one)}: starts (+{k:g}) and stops (−{k:g}) do not alternate, each with its time")
                continue
            starts.append(times[mine[::2]])
            stops.append(times[mine[1::2]])
            labels += [name if len(kinds) == 1 else f"{name} {k:g}"] * (len(mine) // 2)
    return None if len(faults) > before else (np.concatenate(starts), np.concatenate(stops), labels)


def _rows(rows: np.ndarray) -> str:
    """Name rows, which NWB counts from 0."""
    return f"{numbered('row', rows.tolist())} (counted from 0)"


def _check_overlap(
    group: Any,
    start: Float[np.ndarray, " bout"],
    stop: Float[np.ndarray, " bout"],
    labels: list[str | None],
    order: Int[np.ndarray, " bout"],
    rounding: float,
    faults: Faults,
) -> None:
    """Refuse bouts that start before an earlier one has ended, or together."""
    until = np.maximum.accumulate(stop)[:-1]
    wrong = np.flatnonzero((start[1:] < until - rounding) | (start[1:] == start[:-1])) + 1
    pairs = []
    for i in wrong[:5].tolist():
        j = int(np.argmax(stop[:i]))
        first, second = sorted([int(order[i]), int(order[j])])
        a, b = (f"{labels[k]!r} from {start[k]:g} to {stop[k]:g} s" for k in (j, i))
        pairs.append(f"rows {first} and {second} ({a}, {b})")
    if pairs:
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        faults.add(
            f"{place(group)}: bouts overlap, but the animal is in one state at a time: {', '.join(pairs)}{more}; "
            "choose a table with one label at a time, or shorten these rows (counted from 0)"
        )


def _frames(start: Float[np.ndarray, " bout"], rounding: float) -> tuple[np.ndarray, bool]:
    """Stops of events without a duration, and whether they are the frames of a video: these come at a steady rate."""
    apart = np.diff(start)
    usual = float(np.median(apart)) if len(apart) else 0.0
    steady = len(apart) > 2 and float(np.mean(np.abs(apart - usual) <= 0.1 * usual + rounding)) >= 0.9
    return (np.minimum(start + usual, np.append(start[1:], np.inf)), True) if steady else (start.copy(), False)


# ---------------------------------------------------------------------- steps


def all_labels(read: list[Bouts]) -> tuple[str, ...]:
    """All labels, in the order of the catalogues, then whole numbers, then the alphabet."""
    listed = dict.fromkeys(name for bouts in read for name in bouts.catalogue)
    seen = {name for bouts in read for name in bouts.labels if name is not None}
    return (*listed, *sorted(seen - set(listed), key=numbers_first))


def make_steps(bouts: Bouts, state_names: tuple[str, ...], max_pause: float | int | None) -> Steps:
    """Make steps of bouts: merge what belongs together, and mark the gaps."""
    number = {name: i for i, name in enumerate(state_names)}
    every = np.array([MISSING if name is None else number[name] for name in bouts.labels])
    kept = np.flatnonzero(every != MISSING)
    states, start, stop = every[kept], bouts.start[kept], bouts.stop[kept]
    apart = np.append(0.0, start[1:] - stop[:-1])
    broken = np.append(False, np.diff(kept) > 1)
    if bouts.observed is not None and len(bouts.observed):
        interval = np.searchsorted(bouts.observed, start + bouts.rounding, side="right")
        broken |= np.append(False, np.diff(interval) != 0)
    limit = np.inf if max_pause is None else float(max_pause)
    if max_pause is None and bouts.merge:  # the median bout, where rows with the same label that touch are one
        first, last = runs(states, apart > bouts.rounding)
        limit = float(np.median(stop[last] - start[first]))
    long = apart > limit + bouts.rounding
    gap = broken | long
    first, last = runs(states, gap) if bouts.merge else (np.arange(len(states)),) * 2
    gaps, states = np.flatnonzero(gap[first]), states[first]
    notes = [f"{bouts.name}: {counted(len(every), 'row')} of {bouts.where} became {counted(len(states), 'step')}"]
    notes += [f"dropped {counted(len(every) - len(kept), 'row')} without a label"] * (len(kept) < len(every))
    if long.any():
        default = " (the median bout; max_pause= sets another)" if max_pause is None else ""
        notes.append(f"{counted(int(long.sum()), 'pause')} of more than {limit:.3g} s{default} made gaps")
    return Steps(states, next_labels(states, gaps), start[first], stop[last] - start[first], gaps, notes)
