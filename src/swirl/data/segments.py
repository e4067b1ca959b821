"""Segments: runs of one mode, where gaps cut them, how long they last, and when their steps end.

Everything reads lists with one array per session; sessions are never joined.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True)
class Segments:
    """Runs of one mode, in order of session and time; `stop` is the step after the last."""

    session: Int[np.ndarray, "segment"]
    start: Int[np.ndarray, "segment"]
    stop: Int[np.ndarray, "segment"]
    mode: Int[np.ndarray, "segment"]
    cut_start: Bool[np.ndarray, "segment"]
    """The segment may have begun earlier: the session, a gap or an unlabelled step comes first."""
    cut_end: Bool[np.ndarray, "segment"]

    @property
    def length(self) -> Int[np.ndarray, "segment"]:
        """Number of steps."""
        return self.stop - self.start


def find_segments(modes: Sequence[Any], gaps: Sequence[Any] | None = None) -> Segments:
    """Find the runs of one mode; steps of mode −1 (not labelled) belong to none.

    >>> found = find_segments([[0, 0, 1, 1, 1]])
    >>> found.start.tolist(), found.stop.tolist(), found.cut_end.tolist()
    ([0, 2], [2, 5], [False, True])
    """
    if len(modes) == 0:
        raise ValueError("modes holds no session: give a list with one array of modes per session")
    columns: list[list[np.ndarray]] = []
    for session, path in enumerate(split_at_gaps(modes, gaps, keep_sessions=True)):
        offset = 0
        for part in path:
            change = np.flatnonzero(np.diff(part)) + 1
            start, stop = np.append(0, change)[: len(part)], np.append(change, len(part))[: len(part)]
            # A step outside the part counts as unlabelled: what lies beyond is not known.
            beyond = np.concatenate([[-1], part, [-1]])
            run = [np.full(len(start), session), offset + start, offset + stop, part[start]]
            run += [beyond[start] < 0, beyond[stop + 1] < 0]
            labelled = part[start] >= 0
            columns.append([column[labelled] for column in run])
            offset += len(part)
    return Segments(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def dwell_times(
    modes: Sequence[Any],
    *,
    n_modes: int | None = None,
    gaps: Sequence[Any] | None = None,
    include_cut: bool = False,
) -> list[Int[np.ndarray, "_"]]:
    """Lengths of the segments of each mode; those that the recording cut are left out unless `include_cut`.

    >>> [times.tolist() for times in dwell_times([[0, 1, 1, 0, 0, 0, 1]])]
    [[3], [2]]
    """
    found = find_segments(modes, gaps)
    kept = include_cut | ~(found.cut_start | found.cut_end)
    return [found.length[kept & (found.mode == mode)] for mode in range(number_of_modes(found, n_modes))]


def split_at_gaps(values: Sequence[Any], gaps: Sequence[Any] | None, *, keep_sessions: bool = False) -> list[Any]:
    """Cut the array of each session at its gaps; a flat list of pieces, or with `keep_sessions` one list per session.

    >>> [piece.tolist() for piece in split_at_gaps([[1, 2, 3], [4]], [[2], []])]
    [[1, 2], [3], [4]]
    """
    gaps = [[]] * len(values) if gaps is None else gaps
    if len(gaps) != len(values):
        raise ValueError(f"gaps has {len(gaps)} sessions, expected {len(values)}: one list per session")
    arrays = [np.asarray(value) for value in values]
    pieces = [np.split(a, np.asarray(gap, dtype=np.int64)) for a, gap in zip(arrays, gaps, strict=True)]
    return pieces if keep_sessions else [piece for session in pieces for piece in session]


def number_of_modes(found: Segments, n_modes: int | None) -> int:
    """Number of modes: as given, where no segment is of a later one; else as many as were found."""
    seen = 1 + int(found.mode.max(initial=-1))
    if n_modes is not None and n_modes < seen:
        raise ValueError(f"n_modes={n_modes}: modes go up to {seen - 1}; give at least {seen}")
    return seen if n_modes is None else n_modes


def step_ends(times: Sequence[np.ndarray], gaps: Sequence[np.ndarray]) -> list[Float[np.ndarray, " step"]]:
    """When each step of each session ends; a bout stops when its last step does.

    A step ends when the next one starts.  Before a gap and at the end of a session that is not known: there a step is
    taken to last as long as the median step of its session (of all sessions, where it has no other; 0 s where none
    has), but not into the next segment.

    Examples
    --------
    >>> [ends] = step_ends([np.array([0.0, 0.5, 1.0, 9.0])], [np.array([3])])
    >>> ends.tolist()
    [0.5, 1.0, 1.5, 9.5]
    """
    lasted = [np.delete(np.diff(clock), gap - 1) for clock, gap in zip(times, gaps, strict=True)]
    every = np.concatenate([np.zeros(0), *lasted])
    ends = []
    for clock, gap, own in zip(times, gaps, lasted, strict=True):
        known = own if own.size else every
        usual = float(np.median(known)) if known.size else 0.0
        end = np.append(clock[1:].astype(float), np.inf)
        final = np.append(gap, len(clock)) - 1  # the last step of each segment
        end[final] = np.minimum(clock[final].astype(float) + usual, end[final])
        ends.append(end)
    return ends
