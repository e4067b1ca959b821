"""What a result depends on, as one short text: equal data, settings and code have equal digests in every process."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from swirl._version import __version__
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import HiddenModeEstimator


def digest(value: Any) -> str:
    """SHA-256 of what a value is made of: equal settings, data and environments have equal ones, in every process.

    >>> digest({"n_modes": 2, "history": 1}) == digest({"history": 1, "n_modes": 2})
    True
    >>> digest([1, 2]) == digest([1.0, 2])
    False
    """
    found = hashlib.sha256()
    for piece in _pieces(value):
        found.update(piece + b"\x00")
    return found.hexdigest()


def _pieces(value: Any) -> Iterator[bytes]:
    """Bytes that tell a value from every other."""
    if value is None or isinstance(value, bool | int | float | str):
        yield f"{type(value).__name__}:{value!r}".encode()
    elif isinstance(value, Trajectories):
        signals = sorted(value.signals or {})
        yield f"sessions:{value.fingerprint(*signals)}:{signals}:{value.n_states}:{value.n_actions}".encode()
        yield from _pieces([None if subject is None else str(subject) for subject in value.subjects])
    elif isinstance(value, MDP):
        yield from _pieces(value.to_arrays())
    elif isinstance(value, HiddenModeEstimator):
        fitted = {name: own for name, own in vars(value).items() if name.endswith("_") and _is_array(own)}
        yield from _pieces([type(value).__name__, value.get_params(), fitted])
    elif isinstance(value, Mapping):
        yield f"mapping:{len(value)}".encode()
        for key in sorted(value, key=str):
            yield from _pieces([key, value[key]])
    elif isinstance(value, list | tuple):
        yield f"list:{len(value)}".encode()
        for item in value:
            yield from _pieces(item)
    elif is_dataclass(value) and not isinstance(value, type):
        own = {each.name: vars(value)[each.name] for each in fields(value)}
        yield from _pieces([type(value).__name__, own])
    elif callable(value):
        name = getattr(value, "__qualname__", "<none>")
        if "<" in name:  # a lambda or an inner function: what it has captured is not known
            raise TypeError(f"{value!r}: a task calls a function of a module")
        yield f"{value.__module__}.{name}".encode()
    else:
        array = np.asarray(value)
        if array.dtype == object:
            raise TypeError(f"{type(value).__name__}: a task is given plain values, arrays, data or models")
        yield f"{array.dtype.str}:{array.shape}".encode() + np.ascontiguousarray(array).tobytes()


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and np.asarray(value).dtype != object


NUMERIC = ("data", "rewards", "inference", "estimators", "analysis", "*.py")


@cache
def code_mark() -> str:
    """The version of this package; between versions, with a mark of the code that results depend on.

    >>> code_mark().startswith(__version__)
    True
    """
    if "dev" not in __version__:
        return __version__
    root, found = Path(__file__).parent.parent, hashlib.sha256()
    for name in NUMERIC:
        for path in sorted(root.glob(name) if "*" in name else (root / name).rglob("*.py")):
            found.update(path.read_bytes())
    return f"{__version__}+{found.hexdigest()[:12]}"
