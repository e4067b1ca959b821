"""Recordings larger than memory: sessions that are read a part at a time, and again for each pass.

A part is `Trajectories` like any other, small enough to be held.  The next one is read while one is worked on.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from jaxtyping import Int, UInt64

from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.text import counted

T = TypeVar("T")
PART = 1_000_000  # steps
SAMPLE = 200_000  # steps that stand for all where all are too many
NOTHING = object()


def read_ahead(items: Iterable[T]) -> Iterator[T]:
    """Go through `items`, the next one being made by another thread meanwhile.

    >>> list(read_ahead(range(3)))
    [0, 1, 2]
    """
    source = iter(items)
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, source, NOTHING)
        while (item := coming.result()) is not NOTHING:
            coming = thread.submit(next, source, NOTHING)
            yield item  # pyright: ignore[reportReturnType]


@dataclass(frozen=True)
class Inventory:
    """What one pass over all parts finds."""

    lengths: Int[np.ndarray, "session"]
    marks: UInt64[np.ndarray, "session"]
    """`Trajectories.session_fingerprints`."""
    n_missing: int
    """Actions that are not known."""
    sample: Trajectories


class StreamedTrajectories:
    """Sessions that are never all in memory: what `SWIRL.fit`, `ARHMM.fit` and scores take besides `Trajectories`.

    Iterating gives the parts, to be decoded one after the other.  A session must fit into memory as a whole.

    Parameters
    ----------
    parts
        Called for each pass; gives `Trajectories` one after the other, the same each time.  Labels mean the same in
        all parts: give integers, or the same `state_names` to each.
    scratch
        Folder for what a fit prepares on disk, about eight bytes a step, and removes in the end; by default the
        system's temporary folder.

    Examples
    --------
    >>> from swirl import datasets
    >>> world = datasets.gridworld(n_sessions=8, n_steps=50)
    >>> data = StreamedTrajectories(lambda: (world.trajectories[i : i + 2] for i in range(0, 8, 2)))
    >>> data
    StreamedTrajectories(8 sessions, 400 steps)
    >>> round(world.true_model().score(data), 3) == round(world.true_model().score(world.trajectories), 3)
    True
    """

    def __init__(self, parts: Any, *, scratch: Any = None) -> None:
        if not callable(parts):
            raise ValueError(
                f"parts is {type(parts).__name__}: expected a function without arguments that gives Trajectories one "
                "after the other each time it is called, such as lambda: (read(file) for file in files)"
            )
        self._parts: Callable[[], Iterable[Any]] = cast(Any, parts)
        self.scratch = None if scratch is None else Path(scratch)
        if self.scratch is not None and not self.scratch.is_dir():
            raise ValueError(f"scratch={scratch!r}: expected a folder that is there")

    @classmethod
    def from_arrays(
        cls, states: Any, actions: Any = None, *, offsets: Any = None, part: int = PART, scratch: Any = None
    ) -> "StreamedTrajectories":
        """Read from arrays that need not be in memory, such as ``np.load("states.npy", mmap_mode="r")``.

        Parameters
        ----------
        states, actions
            Whole numbers, of one shape: [session, step], or all sessions end to end with their `offsets`. A path to a
            .npy file is opened where it lies. In actions −1 is a missing one; None: none was observed.
        offsets
            [session + 1]: session i holds the steps offsets[i] … offsets[i + 1] − 1.
        part
            Steps to hold at a time, roughly.

        Examples
        --------
        >>> states = np.array([0, 1, 2, 1, 0])
        >>> [part.n_steps for part in StreamedTrajectories.from_arrays(states, offsets=[0, 3, 5], part=3)]
        [3, 2]
        """
        faults = Faults()
        columns = [_Column.of(name, given, faults) for name, given in (("states", states), ("actions", actions))]
        shape: tuple[int, ...] = () if columns[0] is None else columns[0].shape
        n_steps, edges = int(np.prod(shape)), np.asarray([] if offsets is None else offsets)
        if len(shape) == 2 and offsets is None:
            edges = np.arange(shape[0] + 1, dtype=np.int64) * shape[1]
        elif columns[0] is not None and (len(shape) != 1 or offsets is None):
            faults.add(
                f"states has shape {shape} and offsets are {'not ' if offsets is None else ''}given: "
                "expected [session, step], or one row with offsets"
            )
        elif columns[0] is not None and not _are_offsets(edges, n_steps):
            faults.add(f"offsets: expected whole numbers that rise from 0 to the {n_steps:,} steps")
        if columns[1] is not None and columns[0] is not None and columns[1].shape != shape:
            faults.add(f"actions has shape {columns[1].shape}, states {shape}: expected the same")
        _check_part(part, faults)
        faults.raise_if_any("StreamedTrajectories cannot be built")
        numbers = [0 if column is None else max(column.largest(part), 0) + 1 for column in columns]
        cuts = _cuts(edges, part)

        def parts() -> Iterator[Trajectories]:
            for first, last in pairwise(cuts):
                own = edges[first : last + 1]
                here = [
                    None if column is None else np.split(column.steps(int(own[0]), int(own[-1])), own[1:-1] - own[0])
                    for column in columns
                ]
                names = [str(i) for i in range(first, last)]
                yield Trajectories(*here, names=names, n_states=numbers[0], n_actions=numbers[1] or None)

        return cls(parts, scratch=scratch)

    @classmethod
    def from_parquet(
        cls,
        paths: Any,
        columns: Any = None,
        *,
        state_names: Any = None,
        action_names: Any = None,
        part: int = PART,
        scratch: Any = None,
    ) -> "StreamedTrajectories":
        """Read one or several Parquet tables, some whole sessions at a time; needs pyarrow.

        Parameters
        ----------
        paths
            A file, or a list of files. The rows of a session stand together, in the order of time; a file without a
            session column is one session.
        columns, state_names, action_names
            As of `Trajectories.from_parquet`. Names that are not given are collected from all files first.
        part
            Rows to hold at a time, roughly.

        Examples
        --------
        >>> import tempfile, pandas as pd
        >>> folder = tempfile.TemporaryDirectory()
        >>> for day in (1, 2):
        ...     table = pd.DataFrame({"session": [f"day {day}"] * 3, "state": ["home", "water", "home"]})
        ...     table.to_parquet(f"{folder.name}/{day}.parquet")
        >>> StreamedTrajectories.from_parquet(sorted(Path(folder.name).iterdir()))
        StreamedTrajectories(2 sessions, 6 steps)
        >>> folder.cleanup()
        """
        from swirl.io.parquet_parts import label_names, parquet_parts

        files = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
        missing = [str(file) for file in files if not file.is_file()]
        if missing or not files:
            raise ValueError(f"paths: {missing[0]} is not there" if missing else "paths is empty: give a Parquet file")
        _check_part(part, faults := Faults())
        faults.raise_if_any("StreamedTrajectories cannot be built")
        names = {"state_names": state_names, "action_names": action_names}
        if state_names is None or action_names is None:
            found = label_names(files, columns, part)
            names = {kind: found[kind] if given is None else given for kind, given in names.items()}
        return cls(lambda: parquet_parts(files, columns, names=names, rows=part), scratch=scratch)

    def __iter__(self) -> Iterator[Trajectories]:
        empty = True
        for part in read_ahead(self._parts()):
            if not isinstance(part, Trajectories):
                raise ValueError(f"parts gave {type(part).__name__}: expected swirl.Trajectories")
            empty = False
            yield part
        if empty:
            raise ValueError("parts gave nothing: expected a function that gives Trajectories each time it is called")

    @cached_property
    def inventory(self) -> Inventory:
        """Lengths and marks of all sessions, and some that stand for all: one pass over the data."""
        lengths, marks, kept, stride, seen, n_missing = [], [], [], 1, 0, 0
        for part in self:
            lengths.append(part.lengths)
            marks.append(part.session_fingerprints())
            n_missing += part.n_missing_actions
            kept += [(seen + i, part[i]) for i in range(-seen % stride, len(part), stride)]
            seen += len(part)
            while len(kept) > 2 and sum(session.n_steps for _, session in kept) > SAMPLE:
                stride *= 2
                kept = [(place, session) for place, session in kept if place % stride == 0]
        sample = Trajectories.concatenate([session for _, session in kept])
        return Inventory(np.concatenate(lengths), np.concatenate(marks), n_missing, sample)

    @property
    def n_steps(self) -> int:
        """Number of steps of all sessions together."""
        return int(self.inventory.lengths.sum())

    @property
    def n_missing_actions(self) -> int:
        """Actions that are not known, as of `Trajectories`."""
        return self.inventory.n_missing

    def sample(self) -> Trajectories:
        """Every so many-th session: some 200,000 steps that stand for all where all are too many."""
        return self.inventory.sample

    def session_fingerprints(self, *signals: str) -> UInt64[np.ndarray, "session"]:
        """As of `Trajectories`; signals play no part here."""
        del signals
        return self.inventory.marks

    def fingerprint(self, *signals: str) -> str:
        """Return the SHA-256 of the sessions' fingerprints: equal data, equal fingerprint, however cut into parts.

        It is not that of the same sessions as `Trajectories`; signals play no part here.
        """
        del signals
        return hashlib.sha256(self.inventory.marks.astype("<u8").tobytes()).hexdigest()

    def __repr__(self) -> str:
        n = len(self.inventory.lengths)
        return f"StreamedTrajectories({counted(n, 'session')}, {counted(self.n_steps, 'step')})"


@dataclass(frozen=True)
class _Column:
    """Whole numbers in memory, or in a .npy file that is opened for each part: what was read can then be forgotten."""

    source: Any
    shape: tuple[int, ...]

    @classmethod
    def of(cls, name: str, given: Any, faults: Faults) -> "_Column | None":
        """What was given, if it can be used."""
        if given is None:
            return None
        if isinstance(given, str | Path) and not Path(given).is_file():
            faults.add(f"{name}: {given} is not there")
            return None
        array = _opened(given)
        if array.dtype.kind not in "iu":
            faults.add(f"{name} holds {array.dtype}: expected whole numbers")
            return None
        return cls(given, array.shape)

    def steps(self, first: int, last: int) -> Int[np.ndarray, "step"]:
        """Some of the steps, in memory."""
        return np.array(_opened(self.source).reshape(-1)[first:last])

    def largest(self, part: int) -> int:
        """The largest number, without holding all."""
        n = int(np.prod(self.shape))
        return max(int(self.steps(i, i + part).max()) for i in range(0, n, part))


def _opened(source: Any) -> np.ndarray:
    is_file = isinstance(source, str | Path)
    return np.load(source, mmap_mode="r", allow_pickle=False) if is_file else np.asanyarray(source)


def _check_part(part: Any, faults: Faults) -> None:
    if isinstance(part, bool) or not isinstance(part, int) or part < 1:
        faults.add(f"part={part!r}: expected a whole number of steps, at least 1")


def _are_offsets(edges: np.ndarray, n_steps: int) -> bool:
    """Whether these are the first steps of sessions, and the number of steps."""
    if edges.ndim != 1 or len(edges) < 2 or edges.dtype.kind not in "iu":
        return False
    return bool(edges[0] == 0 and edges[-1] == n_steps and (np.diff(edges) > 0).all())


def _cuts(edges: Int[np.ndarray, "_"], part: int) -> list[int]:
    """Cut sessions into parts of so many steps, or one session where that is longer.

    >>> _cuts(np.array([0, 3, 5, 6, 20, 21]), 6)
    [0, 3, 4, 5]
    """
    cuts = [0]
    while cuts[-1] < len(edges) - 1:
        fitting = int(np.searchsorted(edges, edges[cuts[-1]] + part, side="right")) - 1
        cuts.append(max(fitting, cuts[-1] + 1))
    return cuts
