"""Chains of a recording larger than memory: prepared once, kept on disk, and read block by block in every pass.

Counts of blocks add up, so EM needs no more memory than two blocks: one that is worked on and the next, which another
thread reads meanwhile.
"""

import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np

from swirl.data.streamed import read_ahead
from swirl.inference.estep.counts import Chains
from swirl.inference.estep.sharding import summed_over_processes

T = TypeVar("T")

ALIGNED = 64  # bytes
BUFFERS = 3  # one block is worked on, the next is read, and one may still be on its way to a device


class _Place(NamedTuple):
    """Where one array is within its block."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype


class Blocks:
    """Trees of arrays in a file without a name, which is gone with the process; iterating reads them, one ahead.

    What was read stands in memory that is used again: a block is good until the next but one is read.

    >>> blocks = Blocks()
    >>> blocks.append((np.arange(3), {"x": np.ones((2, 1))}))
    >>> [block[1]["x"].shape for block in blocks]
    [(2, 1)]
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (closed below)
        weakref.finalize(self, self._file.close)
        self._blocks: list[tuple[Any, list[_Place]]] = []
        self._ends = [0]

    def append(self, tree: Any) -> None:
        """Write one block."""
        leaves, structure = jax.tree.flatten(tree)
        places, n = [], 0
        self._file.seek(self._ends[-1])
        for leaf in leaves:
            array = np.ascontiguousarray(leaf).reshape(np.shape(leaf))
            places.append(_Place(n, array.shape, array.dtype))
            filled = -(-array.nbytes // ALIGNED) * ALIGNED
            for view in (array.reshape(-1).view(np.uint8).data, memoryview(bytes(filled - array.nbytes))):
                while len(view):
                    view = view[self._file.write(view) :]
            n += filled
        self._blocks.append((structure, places))
        self._ends.append(self._ends[-1] + n)

    def __len__(self) -> int:
        return len(self._blocks)

    def __iter__(self) -> Iterator[Any]:
        largest = max(np.diff(self._ends), default=0)
        buffers = [np.empty(int(largest), np.uint8) for _ in range(BUFFERS)]
        return read_ahead(self._read(i, buffers[i % BUFFERS]) for i in range(len(self)))

    def _read(self, i: int, buffer: np.ndarray) -> Any:
        (structure, places), first, last = self._blocks[i], *self._ends[i : i + 2]
        self._file.seek(first)
        view = buffer[: last - first].data
        while len(view):
            if not (n := self._file.readinto(view)):
                raise OSError("what a fit had written to its scratch folder is gone: is the disk full?")
            view = view[n:]
        return jax.tree.unflatten(structure, [self._array(buffer, place) for place in places])

    @staticmethod
    def _array(buffer: np.ndarray, place: _Place) -> np.ndarray:
        n = prod(place.shape) * place.dtype.itemsize
        return buffer[place.offset : place.offset + n].view(place.dtype).reshape(place.shape)


class StreamedChains:
    """`Chains` of one part after the other, all with the same symbols.

    Where several processes run the same fit (``jax.distributed.initialize()``), each takes the parts whose turn it is.

    Parameters
    ----------
    parts
        The recording; iterated for each pass.
    make
        What makes the chains of a part.
    folder
        For what is prepared.
    """

    def __init__(self, parts: Iterable[T], make: Callable[[T], Chains], folder: Path | None = None) -> None:
        self._parts, self._make, self._folder = parts, make, folder
        self.n_steps = self.n_observed = 0
        self.first = make(next(iter(parts)))
        """Of the first part, for what needs only some of the data."""

    def prepared(self, prepare: Callable[[Chains], Any]) -> Blocks:
        """Write what an engine makes of each part that is this process's own; count the steps of all."""
        blocks, sizes = Blocks(self._folder), np.zeros(2, dtype=np.int64)
        for turn, part in enumerate(self._parts):
            if turn % jax.process_count() == jax.process_index():
                chains = self._make(part)
                sizes += (chains.n_steps, chains.n_observed)
                blocks.append(prepare(chains))
        self.n_steps, self.n_observed = map(int, summed_over_processes(sizes))
        if not self.n_observed:
            raise ValueError("data: no step of any part says anything, so there is nothing to fit")
        return blocks
