"""Places that are polygons: zones that touch along a side, or overlap, are joined by moves; others are not."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.errors import Faults
from swirl.io.places.grid import NOWHERE, Edges, both_ways, points
from swirl.text import some

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
    areas = [abs(_twice_area(outline - outline[0]).sum()) / 2 for outline in (one, other)]
    slack = float(SLACK * np.sqrt(min(areas)))
    return bool(max(_shared(one, other, slack), _shared(other, one, slack)) >= LEAST * slack)


def _shared(outline: Outline, other: Outline, slack: float) -> float:
    """Length of an outline that lies within another polygon, or no farther than the slack from it."""
    sides = np.roll(outline, -1, axis=0) - outline
    ends = np.concatenate([[0.0], np.cumsum(np.hypot(*sides.T))])
    at = (np.arange(POINTS) + 0.5) * ends[-1] / POINTS
    closed = np.concatenate([outline, outline[:1]])
    points = np.stack([np.interp(at, ends, closed[:, axis]) for axis in (0, 1)], axis=1)
    return float(np.mean(_inside(points, other) | (_distance(points, other) <= slack)) * ends[-1])


def _distance(points: Float[np.ndarray, "point 2"], outline: Outline) -> Float[np.ndarray, "point"]:
    along = np.roll(outline, -1, axis=0) - outline
    offset = points[:, None] - outline
    share = np.clip((offset * along).sum(-1) / np.maximum((along**2).sum(-1), np.finfo(float).tiny), 0, 1)
    return np.sqrt(((offset - share[..., None] * along) ** 2).sum(-1)).min(axis=1)


class Polygons:
    """Named regions of the plane; where two overlap, the first one wins.

    Parameters
    ----------
    polygons
        Name → corners (x, y) in order around the polygon, at least three.
    neighbours
        Pairs of names between which the animal can go, in both directions; None: between any two.

    Examples
    --------
    >>> arena = Polygons({"nest": [(0, 0), (1, 0), (1, 1), (0, 1)], "arena": [(0, 0), (9, 0), (9, 9), (0, 9)]})
    >>> arena.assign([[0.5, 0.5], [5, 5], [10, 5]])
    array([ 0,  1, -1])
    >>> [(arena.state_names[s], arena.action_names[a]) for s, a, _ in arena.edges()]
    [('nest', 'to arena'), ('arena', 'to nest')]
    """

    def __init__(self, polygons: Mapping[str, Any], neighbours: Iterable[Sequence[Any]] | None = None) -> None:
        faults = Faults()
        self._corners: list[Float[np.ndarray, "corner 2"]] = []
        centres = []
        for name, given in polygons.items():
            corners = _corners(str(name), given, faults)
            if corners is not None:
                self._corners.append(corners)
                centres.append(_centroid(corners))
        if not polygons:
            faults.add("there is no polygon: give at least one")
        self.state_names: tuple[str, ...] = tuple(map(str, polygons))
        self._neighbours = None if neighbours is None else both_ways(neighbours, self.state_names, faults)
        faults.raise_if_any("The polygons cannot be read")
        self.coordinates: Float[np.ndarray, "state 2"] = np.array(centres)
        self.action_names = tuple(f"to {name}" for name in self.state_names)

    def __repr__(self) -> str:
        return f"Polygons({some(self.state_names, 8)})"

    def assign(self, positions: Any) -> Int[np.ndarray, " n"]:
        """Number of the first polygon around each position, −1 outside all.

        Of two polygons that share a side, one has the points on it: none is in both or in neither.
        """
        xy = points(positions)
        place = np.full(len(xy), NOWHERE, np.int64)
        for state, corners in reversed(list(enumerate(self._corners))):
            place[_inside(xy, corners)] = state
        return place

    def overlaps(self, positions: Any) -> tuple[float, tuple[str, ...], dict[str, str]]:
        """Which share of the positions is in several polygons, in which, and polygons that lie under one before them.

        >>> nest, arena = [(0, 0), (1, 0), (1, 1), (0, 1)], [(0, 0), (9, 0), (9, 9), (0, 9)]
        >>> where = [[0.5, 0.5], [0.2, 0.1], [5, 5], [6, 6]]
        >>> Polygons({"nest": nest, "arena": arena}).overlaps(where)
        (0.5, ('nest', 'arena'), {})
        >>> Polygons({"arena": arena, "nest": nest}).overlaps(where)
        (0.5, ('arena', 'nest'), {'nest': 'arena'})
        """
        xy = points(positions)
        inside = np.stack([_inside(xy, corners) for corners in self._corners])
        several, first, under = inside.sum(axis=0) > 1, inside.argmax(axis=0), {}
        for state, own in enumerate(inside):
            if own.any() and not (first[own] == state).any():
                under[self.state_names[state]] = self.state_names[np.bincount(first[own]).argmax()]
        involved = tuple(self.state_names[state] for state in np.flatnonzero(inside[:, several].any(axis=1)))
        return float(several.mean()) if len(xy) else 0.0, involved, under

    def joined_where_they_touch(self) -> "Polygons | None":
        """The same polygons with ways between those that touch; None where some would then be out of reach.

        >>> two = {"arm": [(0, 0), (1, 0), (1, 9), (0, 9)], "end": [(0, 9), (1, 9), (1, 12), (0, 12)]}
        >>> Polygons({**two, "far end": [(0, 12), (1, 12), (1, 14), (0, 14)]}).joined_where_they_touch().edges()
        [(0, 1, 1), (1, 0, 0), (1, 2, 2), (2, 1, 1)]
        """
        pairs = touching(self._corners)
        return None if pairs is None else Polygons(dict(zip(self.state_names, self._corners, strict=True)), pairs)

    def edges(self) -> Edges:
        """Action "to B" leads from every neighbour of B (without `neighbours`: from every other polygon) to B."""
        n = len(self.state_names)
        pairs = [(s, t) for s in range(n) for t in range(n) if s != t] if self._neighbours is None else self._neighbours
        return [(s, t, t) for s, t in pairs]


def _corners(name: str, given: Any, faults: Faults) -> Float[np.ndarray, "corner 2"] | None:
    """Corners of one polygon, without the repeated last one; None after a fault."""
    try:
        corners: Any = np.asarray(given, float)
    except (TypeError, ValueError, OverflowError):
        corners = np.zeros(0)
    if corners.ndim != 2 or corners.shape[1] != 2 or not np.isfinite(corners).all():
        faults.add(f"polygon {name!r}: expected corners as a list of (x, y), finite numbers")
        return None
    if len(corners) > 1 and (corners[0] == corners[-1]).all():
        corners = corners[:-1]
    if len(corners) < 3 or _twice_area(corners).sum() == 0:
        faults.add(f"polygon {name!r} has {len(corners)} corners and no area: give at least three, not on one line")
        return None
    return corners


def _twice_area(corners: np.ndarray) -> np.ndarray:
    following = np.roll(corners, -1, axis=0)
    return corners[:, 0] * following[:, 1] - following[:, 0] * corners[:, 1]


def _centroid(corners: np.ndarray) -> np.ndarray:
    """Centre of mass of the area; moved to the first corner and back, which spares digits."""
    moved = corners - corners[0]
    weight = _twice_area(moved)
    return corners[0] + ((moved + np.roll(moved, -1, axis=0)) * weight[:, None]).sum(0) / (3 * weight.sum())


def _inside(xy: Float[np.ndarray, "n 2"], corners: Float[np.ndarray, "corner 2"]) -> Bool[np.ndarray, " n"]:
    """Whether a ray to the right of each point crosses the outline an odd number of times."""
    x, y = xy.T
    odd = np.zeros(len(xy), bool)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if y0 != y1:
            # The lower end counts and the upper one does not: a ray through a corner crosses once, not twice.
            odd ^= ((y0 <= y) != (y1 <= y)) & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
    return odd
