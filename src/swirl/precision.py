"""The one place where float64 is entered.

JAX computes in float32 unless told otherwise, and being told globally would change the user's own JAX
code.  `float64()` is a scope: thread-local, undone on exit.  A float64 JAX array that leaves the scope
silently becomes float32 in the next operation, so every value crosses the border as numpy: `numpy_tree`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np

FloatArray = jax.Array | np.ndarray
"""An array on either side of that border; its kind and shape stand beside it: ``Float[FloatArray, "mode"]``."""
P = ParamSpec("P")
T = TypeVar("T")


def float64() -> AbstractContextManager[Any]:
    """Return a scope in which JAX computes in double precision.

    >>> import jax.numpy as jnp
    >>> with float64():
    ...     print(jnp.zeros(1).dtype)
    float64
    """
    return jax.enable_x64(True)


def numpy_tree(tree: T) -> T:
    """Copy every JAX array of a pytree to numpy, so that it can leave the `float64` scope unharmed."""
    return jax.tree.map(np.asarray, tree)


def in_float64(function: Callable[P, T]) -> Callable[P, T]:
    """Run `function` inside `float64()` and hand its result back as numpy arrays."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        with float64():
            return numpy_tree(function(*args, **kwargs))

    return wrapper
