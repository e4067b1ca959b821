"""Chains of a recording larger than memory: prepared once, kept on disk, and read block by block in every pass.

Counts of blocks add up, so EM needs no more memory than two blocks: one that is worked on and the next, which another
thread reads meanwhile.
"""

import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from swirl.data.streamed import read_ahead
from swirl.inference.estep.counts import Chains


class _Place(NamedTuple):
    """Where one array is on disk."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype


class Blocks:
    """Trees of arrays in a file without a name, which is gone with the process; iterating reads them, one ahead.

    >>> blocks = Blocks()
    >>> blocks.append((np.arange(3), {"x": np.ones((2, 1))}))
    >>> [block[1]["x"].shape for block in blocks]
    [(2, 1)]
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (closed below)
        weakref.finalize(self, self._file.close)
        self._end = 0
        self._trees: list[tuple[Any, list[_Place]]] = []

    def append(self, tree: Any) -> None:
        """Write one block."""
        leaves, structure = jax.tree.flatten(tree)
        places = []
        self._file.seek(self._end)
        for leaf in leaves:
            array = np.ascontiguousarray(leaf).reshape(np.shape(leaf))
            view = array.reshape(-1).view(np.uint8).data
            while len(view):
                view = view[self._file.write(view) :]
            places.append(_Place(self._end, array.shape, array.dtype))
            self._end += array.nbytes
        self._trees.append((structure, places))

    def __len__(self) -> int:
        return len(self._trees)

    def __iter__(self) -> Iterator[Any]:
        return read_ahead(self._read(*each) for each in self._trees)

    def _read(self, structure: Any, places: list[_Place]) -> Any:
        return jax.tree.unflatten(structure, [self._array(place) for place in places])

    def _array(self, place: _Place) -> np.ndarray:
        array = np.empty(prod(place.shape), place.dtype)
        self._file.seek(place.offset)
        view = array.view(np.uint8).data
        while len(view):
            if not (n := self._file.readinto(view)):
                raise OSError("what a fit had written to its scratch folder is gone: is the disk full?")
            view = view[n:]
        return array.reshape(place.shape)


class StreamedChains:
    """`Chains` of one part after the other, all with the same symbols.

    Parameters
    ----------
    parts
        Called for each pass.
    folder
        For what is prepared.
    """

    def __init__(self, parts: Callable[[], Iterable[Chains]], folder: Path | None = None) -> None:
        self._parts, self._folder = parts, folder
        self.n_steps = self.n_observed = 0
        self.first = next(iter(parts()))
        """Of the first part, for what needs only some of the data."""

    def prepared(self, prepare: Callable[[Chains], Any]) -> Blocks:
        """Write what an engine makes of each part, counting steps on the way."""
        blocks = Blocks(self._folder)
        self.n_steps = self.n_observed = 0
        for chains in self._parts():
            self.n_steps += chains.n_steps
            self.n_observed += chains.n_observed
            blocks.append(prepare(chains))
        return blocks
