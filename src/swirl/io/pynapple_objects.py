"""pynapple's objects: positions (`TsdFrame`) and labelled epochs (`IntervalSet`) in, states, modes and bouts out.

On the way in they are known by what they have, and pynapple is not imported.  Its times are seconds.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from swirl.data.trajectories import Trajectories
from swirl.errors import Faults, needing
from swirl.io.bouts import ROUNDING, Bouts
from swirl.io.columns import plain
from swirl.io.nwb.writing import ModeBouts, bouts_of, checked
from swirl.io.pose_tables import from_frame
from swirl.io.poses import Poses
from swirl.text import some

MICROSECOND = 1e-6
"""pynapple's intervals may not touch: it lets each stop so much before the next one starts."""
LABELS = ("label", "labels", "behavior", "behaviour", "name", "event", "type", "state")
"""Usual names of the column of labels; where several are there, the first in this order."""


# ---------------------------------------------------------------------- in


def is_frame(source: Any) -> bool:
    """Whether something is a `TsdFrame`.

    >>> is_frame([1, 2])
    False
    """
    return all(hasattr(source, name) for name in ("time_support", "columns", "t", "d"))


def is_intervals(source: Any) -> bool:
    """Whether something is an `IntervalSet`.

    >>> is_intervals([1, 2])
    False
    """
    return all(hasattr(source, name) for name in ("start", "end", "tot_length"))


def poses_of_frame(source: Any, columns: Mapping[str, str] | None = None) -> list[Poses]:
    """Poses of a `TsdFrame` whose columns are named x and y; where its time support has a gap, the recording has one.

    Other columns of numbers are signals, as in a table.
    """
    import pandas as pd

    names = [str(name) for name in source.columns]
    if names == [str(i) for i in range(len(names))]:
        raise ValueError(
            "the columns of the TsdFrame have no names: say which are x and y, as in "
            'nap.TsdFrame(t=…, d=…, columns=["x", "y"])'
        )
    times = np.asarray(source.t, float)
    frame = pd.DataFrame(np.asarray(source.d), columns=names)
    frame.insert(0, "t", times)
    begins = np.asarray(source.time_support.start, float)
    resumed = tuple(np.unique(np.searchsorted(times, begins[1:])).tolist())
    return [replace(one, resumed=resumed) for one in from_frame(frame, columns)]


def is_bouts(source: Any) -> bool:
    """Whether something is an `IntervalSet` with labels, or a dict of them (by label, by session, or by both).

    >>> is_bouts({"rear": [1, 2]}), is_bouts({})
    (False, False)
    """
    parts = list(source.values()) if isinstance(source, Mapping) else [source]
    return bool(parts) and all(is_bouts(part) if isinstance(part, Mapping) else is_intervals(part) for part in parts)


def bouts_of_intervals(source: Any, label: str | None = None) -> list[Bouts]:
    """Bouts of an `IntervalSet` with a column of labels; of {label: IntervalSet}; or of {session: either of these}.

    Parameters
    ----------
    label
        The column of labels, where it has no usual name.

    A dict whose IntervalSets all have a column of labels is one of sessions; otherwise its keys are the labels.
    """
    if not isinstance(source, Mapping):
        return [_labelled("session", source, label)]
    parts = source.values()
    if any(isinstance(part, Mapping) for part in parts) or all(_column(part, label) is not None for part in parts):
        return [
            _by_label(str(name), part) if isinstance(part, Mapping) else _labelled(str(name), part, label)
            for name, part in source.items()
        ]
    return [_by_label("session", source)]


def _column(intervals: Any, label: str | None) -> str | None:
    """Name of the column of labels; None where there is none."""
    names = [str(name) for name in getattr(intervals, "metadata_columns", ())]
    if label is not None:
        return label if label in names else None
    usual = sorted((name for name in names if plain(name) in LABELS), key=lambda name: LABELS.index(plain(name)))
    return usual[0] if usual else names[0] if len(names) == 1 else None


def _labelled(name: str, intervals: Any, label: str | None) -> Bouts:
    """One session, of an IntervalSet with a column of labels."""
    column = _column(intervals, label)
    if column is None:
        there = some([repr(str(x)) for x in getattr(intervals, "metadata_columns", ())]) or "none"
        asked = "" if label is None else f" called {label!r}"
        raise ValueError(
            f"the IntervalSet of {name!r} has no column of labels{asked} (its columns: {there}): give "
            "nap.IntervalSet(…, metadata={'label': […]}), name its column (columns={'label': …}), or give a dict, "
            "label → IntervalSet"
        )
    values = np.asarray(intervals[column], object).tolist()
    blank = [i for i, value in enumerate(values) if value is None or value != value or str(value).strip() == ""]
    if blank:
        raise ValueError(f"the IntervalSet of {name!r} has no label at {some(blank, 5)}: drop these intervals")
    labels = [str(int(x)) if isinstance(x, float) and x.is_integer() else str(x).strip() for x in values]
    return _bouts(name, intervals.start, intervals.end, labels)


def _by_label(name: str, parts: Mapping[Any, Any]) -> Bouts:
    """One session, of an IntervalSet for each label."""
    if wrong := [str(key) for key, part in parts.items() if not is_intervals(part)]:
        raise ValueError(f"{name!r}: {some(wrong)} is no IntervalSet; give a dict, label → IntervalSet")
    labels = [str(key) for key, part in parts.items() for _ in range(len(part))]
    start, stop = (np.concatenate([np.asarray(getattr(part, of), float) for part in parts.values()]) for of in _ENDS)
    return _bouts(name, start, stop, labels)


_ENDS = ("start", "end")


def _bouts(name: str, start: Any, stop: Any, labels: list[str]) -> Bouts:
    start, stop = np.asarray(start, float), np.asarray(stop, float)
    return Bouts(name, start, stop, labels, source="the IntervalSet", rounding=ROUNDING + 1.5 * MICROSECOND)


# ---------------------------------------------------------------------- out


_CANNOT = "The sessions cannot become objects of pynapple"


class Session(NamedTuple):
    """One session in pynapple's terms; None where that was not given."""

    states: Any
    """`Tsd`: the number of the state at each step."""
    modes: Any
    """`Tsd`: the number of the mode at each step where it is known."""
    bouts: Any
    """`IntervalSet`: the bouts of the modes, with the columns mode (number) and label (name)."""
    probabilities: Any
    """`TsdFrame`: the probability of each mode at each step; its columns are the names."""


def to_pynapple(
    data: Trajectories, *, modes: Any = None, probabilities: Any = None, mode_names: Any = None
) -> dict[str, Session]:
    """Sessions as pynapple's objects: name → `states`, `modes`, `bouts`, `probabilities`.

    The time support of each is when its values are known: it ends before a gap, one median step after the last step.

    Parameters
    ----------
    data
        The sessions, with `times` in seconds.
    modes, probabilities, mode_names
        As `predict`, `predict_proba` and the names that a fit gives.

    Examples
    --------
    >>> data = Trajectories([[0, 1, 0]], times=[[0.0, 0.5, 1.0]], names=["day 1"])
    >>> to_pynapple(data, modes=[[0, 0, 1]], mode_names=["home", "water"])["day 1"].bouts  # doctest: +SKIP
      index    start       end    mode  label
          0        0  0.999999       0  home
          1        1  1.5            1  water
    """
    faults = Faults()
    if data.times is None:
        faults.add(
            "data has no times, and pynapple is about times: give times=[…], seconds of each step, or a column t"
        )
    if modes is None and (probabilities is not None or mode_names is not None):
        faults.add("probabilities and mode_names are of modes: give modes too, as predict returns them")
    faults.raise_if_any(_CANNOT)
    everywhere = [np.zeros(n, int) for n in data.lengths.tolist()]
    given = everywhere if modes is None else modes
    found = checked(data, given, mode_names, probabilities, None, None, list(range(len(data))), _CANNOT)
    with needing("objects of pynapple need pynapple", "pynapple"):
        import pynapple as nap
    made = {}
    for i, name in enumerate(data.names):
        times, gaps, ends = (data.times or [])[i].astype(float), data.gaps[i], found.ends[i]
        whole = _support(nap, bouts_of(times, ends, everywhere[i], gaps))
        states = nap.Tsd(t=times, d=data.states[i], time_support=whole)
        if modes is None:
            made[name] = Session(states, None, None, None)
            continue
        path, shares = found.paths[i], found.probabilities
        of = bouts_of(times, ends, path, gaps)
        labels = {"mode": of.mode, "label": np.array([found.names[k] for k in of.mode.tolist()])}
        stop = _before_the_next(of.start, of.stop)
        known = path >= 0
        made[name] = Session(
            states,
            nap.Tsd(t=times[known], d=path[known], time_support=_support(nap, of)),
            nap.IntervalSet(of.start, stop, metadata=labels),
            None if shares is None else nap.TsdFrame(t=times, d=shares[i], columns=found.names, time_support=whole),
        )
    return made


def _before_the_next(start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """Stops of intervals, those that touch the next one a microsecond earlier."""
    return np.minimum(stop, np.append(start[1:] - MICROSECOND, np.inf))


def _support(nap: Any, of: ModeBouts) -> Any:
    """When something is known."""
    start, stop = of.observed.T
    return nap.IntervalSet(start, _before_the_next(start, stop))
