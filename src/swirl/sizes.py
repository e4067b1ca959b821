"""Whether what a file claims to hold fits into memory: asked before it is read, as a small file may claim any size."""

import math
import sys
from collections.abc import Iterable
from typing import Any

from swirl import machine

SHARE = 0.25
"""Of the free memory that one thing may take: on the way it is copied, converted and sorted."""
TEXT = 64
"""Bytes that a string takes in memory at least, however it is stored."""


def room() -> int:
    """Bytes that one thing that is read may take: a share of what is free, in this machine or its container.

    >>> room() > 0
    True
    """
    return int(SHARE * min(machine.rooms().values(), default=sys.maxsize))


def too_large(n_bytes: float | int) -> str | None:
    """Say by how much something is too large, or None where there is room for it.

    >>> too_large(1) is None, too_large(10**18).split(",")[0]
    (True, 'would take 1e+03 PB of memory')
    """
    most = room()
    if n_bytes <= most:
        return None
    return f"would take {machine.amount(n_bytes)} of memory, and there is room for {machine.amount(most)}"


def claim(shapes: Iterable[tuple[Any, Any]]) -> str | None:
    """Say what arrays claim to hold, by shape and dtype, where together that is too much; None where it is not.

    >>> import numpy as np
    >>> claim([((10**6, 2 * 10**6), np.dtype(float))])
    'claims 2,000,000,000,000 values, which would take 16 TB of memory, and there is room for ...: the file is damaged,
    or needs a larger machine'
    >>> claim([((3,), np.dtype(float)), (None, np.dtype(float))])
    """
    # By hand: numpy's own product of a shape may run over, and come out as nothing.
    counts = [(math.prod(int(n) for n in shape), dtype) for shape, dtype in shapes if shape is not None]
    told = too_large(sum(n * (TEXT if dtype.kind in "OSU" else dtype.itemsize) for n, dtype in counts))
    if told is None:
        return None
    values = sum(n for n, _ in counts)
    return f"claims {values:,} values, which {told}: the file is damaged, or needs a larger machine"
