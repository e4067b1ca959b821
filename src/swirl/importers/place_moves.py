"""What all kinds of places share: positions as points, and pairs of places as moves."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.faults import Faults, some

NOWHERE = -1

Edges = list[tuple[int, int, int]]


def points(positions: Any) -> Float[np.ndarray, "n 2"]:
    """Positions as an array of x, y.

    >>> points([[1, 2]])
    array([[1., 2.]])
    """
    xy = np.asarray(positions, float)
    if xy.ndim != 2 or xy.shape[1] != 2:
        raise ValueError(f"positions have shape {xy.shape}: give x, y for each, shape (n, 2)")
    return xy


def both_ways(pairs: Iterable[Sequence[Any]], names: tuple[str, ...], faults: Faults) -> list[tuple[int, int]]:
    """Both directions of every pair, as sorted numbers.

    >>> both_ways([("home", "water")], ("home", "water"), Faults())
    [(0, 1), (1, 0)]
    """
    number = {**{name: i for i, name in enumerate(names)}, **{i: i for i in range(len(names))}}
    found = set()
    for pair in pairs:
        ends = [end.item() if isinstance(end, np.generic) else end for end in pair]
        unknown = [repr(end) for end in ends if end not in number]
        if unknown or len(ends) != 2:
            faults.add(
                f"the pair {tuple(ends)}: "
                + (f"{some(unknown)} is none of {some(names, 10)}" if unknown else "give two ends")
            )
            continue
        s, t = number[ends[0]], number[ends[1]]
        if s == t:
            faults.add(f"the pair {tuple(ends)} joins a place with itself: leave it out")
        found |= {(s, t), (t, s)}
    return sorted(found)
