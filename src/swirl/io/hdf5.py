"""HDF5 files of strangers: what they claim to hold, where it lies, and what goes wrong, all in words.

A file of a few kB may claim arrays of terabytes, lie in pieces in other files, hold itself, or have any type where
another was expected.  Nothing is read before it was asked here.
"""

import contextlib
from collections.abc import Iterable, Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from swirl import system

DAMAGE = (OSError, RuntimeError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError, ValueError)
"""What reading a file that is not as it should be may end in."""


@contextlib.contextmanager
def explained(path: str | PathLike[str], what: str) -> Iterator[None]:
    """Turn whatever a library says of a file into one `ValueError` that names the file; ours pass, they do already.

    >>> with explained("a.h5", "cannot be read as tracks: copy it again"):
    ...     raise KeyError("unable to open object")
    Traceback (most recent call last):
    ValueError: a.h5 cannot be read as tracks: copy it again ('unable to open object')
    """
    try:
        yield
    except DAMAGE as error:
        told = " ".join(str(error).split())
        if isinstance(error, ValueError) and Path(path).name in told:
            raise
        raise ValueError(f"{fspath(path)} {what} ({told or type(error).__name__})") from error


def elsewhere(group: Any, name: str) -> bool:
    """Whether something in a group is only pointed to: a link can lead to any other file of the user.

    >>> import h5py
    >>> with h5py.File("memory.h5", "w", driver="core", backing_store=False) as file:
    ...     file["here"], file["there"] = [1], h5py.ExternalLink("other.h5", "/secret")
    ...     elsewhere(file, "here"), elsewhere(file, "there")
    (False, True)
    """
    import h5py

    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        return True
    thing = group[name]
    return isinstance(thing, h5py.Dataset) and in_other_files(thing)


def in_other_files(dataset: Any) -> bool:
    """Whether the values of a dataset lie in other files."""
    return bool(dataset.is_virtual or dataset.external)


def claim(datasets: Iterable[Any]) -> str | None:
    """Say what datasets claim to hold where together that is too much for memory (`system.claim`); else None."""
    return system.claim((dataset.shape, dataset.dtype) for dataset in datasets)
