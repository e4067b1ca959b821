"""Which polygons touch along a side, or overlap: zones drawn next to one another are joined, others are not."""

from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float

Outline = Float[np.ndarray, "_ 2"]

SLACK = 0.03  # of the side of a square as large as the smaller zone: hands do not draw to the pixel
LEAST = 3.0  # slacks of outline that two zones must share: those that meet at a corner share two
POINTS = 400  # of an outline


def touching(outlines: list[np.ndarray]) -> list[tuple[int, int]] | None:
    """Pairs of polygons that share a stretch of border or overlap; None where some would then be out of reach.

    >>> square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    >>> touching([square, square + [1.02, 0], square + [2.04, 0]])
    [(0, 1), (1, 2)]
    >>> touching([square, square + [1, 1]]) is None  # a corner is no way through
    True
    """
    pairs = [(a, b) for a, b in combinations(range(len(outlines)), 2) if _touch(outlines[a], outlines[b])]
    reached, rest = {0}, set(range(1, len(outlines)))
    while found := {x for x in rest if any(x in pair and set(pair) & reached for pair in pairs)}:
        reached, rest = reached | found, rest - found
    return None if rest else pairs


def _touch(one: Outline, other: Outline) -> bool:
    slack = float(SLACK * np.sqrt(min(_area(one), _area(other))))
    return bool(max(_shared(one, other, slack), _shared(other, one, slack)) >= LEAST * slack)


def _area(outline: Outline) -> float:
    x, y = (outline - outline[0]).T
    return float(abs(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2)


def _shared(outline: Outline, other: Outline, slack: float) -> float:
    """Length of an outline that lies within another polygon, or no farther than the slack from it."""
    sides = np.roll(outline, -1, axis=0) - outline
    ends = np.concatenate([[0.0], np.cumsum(np.hypot(*sides.T))])
    at = (np.arange(POINTS) + 0.5) * ends[-1] / POINTS
    closed = np.concatenate([outline, outline[:1]])
    points = np.stack([np.interp(at, ends, closed[:, axis]) for axis in (0, 1)], axis=1)
    return float(np.mean(_within(points, other) | (_distance(points, other) <= slack)) * ends[-1])


def _distance(points: Float[np.ndarray, "point 2"], outline: Outline) -> Float[np.ndarray, "point"]:
    along = np.roll(outline, -1, axis=0) - outline
    offset = points[:, None] - outline
    share = np.clip((offset * along).sum(-1) / np.maximum((along**2).sum(-1), np.finfo(float).tiny), 0, 1)
    return np.sqrt(((offset - share[..., None] * along) ** 2).sum(-1)).min(axis=1)


def _within(points: Float[np.ndarray, "point 2"], outline: Outline) -> Bool[np.ndarray, "point"]:
    """Whether a ray to the right of each point crosses the outline an odd number of times."""
    x, y = points[:, :1], points[:, 1:]
    (x0, y0), (x1, y1) = outline.T, np.roll(outline, -1, axis=0).T
    with np.errstate(divide="ignore", invalid="ignore"):  # level sides: no ray crosses them
        at = x0 + (y - y0) * (x1 - x0) / (y1 - y0)
    return (((y0 <= y) != (y1 <= y)) & (x < at)).sum(axis=1) % 2 == 1
