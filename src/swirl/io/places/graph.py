"""Places that are the nodes of a graph, such as a maze."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from swirl.errors import Faults, checked_names
from swirl.io.places.grid import NOWHERE, Edges, both_ways, points
from swirl.text import counted, some


class Nodes:
    """The nodes of a graph, such as the junctions and ends of a maze.

    Action "exit k" leads from a node to the k-th of its neighbours (in the order of the nodes), so that there are as
    many actions as the largest number of neighbours.

    Parameters
    ----------
    coordinates
        x, y of each node.
    edges
        Pairs of nodes (numbers or names) that are joined; both directions.
    names
        One name per node; by default "0", "1", ….
    reach
        Positions farther than this are nowhere; None: every position belongs to some node.
    corridors
        False: a position belongs to the nearest node. True: edges are straight corridors, and a position belongs to the
        nearer end of the nearest corridor (`reach` is then its distance from the corridor). Choose it for a
        maze: a place in a long corridor may lie nearer to a node behind the wall than to its own ends.

    Examples
    --------
    >>> maze = Nodes([[0, 0], [4, 0], [2, 1]], [(0, 1), (1, 2)], names=["home", "junction", "water"], reach=1.0)
    >>> maze.assign([[0.3, 0], [2, 0.6], [9, 9]])
    array([ 0,  2, -1])
    >>> maze.edges()
    [(0, 0, 1), (1, 0, 0), (1, 1, 2), (2, 0, 1)]
    >>> Nodes(maze.coordinates, [(0, 1), (1, 2)], corridors=True).assign([[1.9, 0.4]])
    array([0])
    """

    def __init__(
        self,
        coordinates: Any,
        edges: Iterable[Sequence[Any]],
        names: Sequence[str] | None = None,
        reach: float | int | None = None,
        corridors: bool = False,
    ) -> None:
        faults, cannot = Faults(), "The graph of nodes cannot be built"
        places: Any = np.asarray(coordinates, float)
        if places.ndim != 2 or places.shape[1:] != (2,) or not len(places) or not np.isfinite(places).all():
            faults.add(f"coordinates have shape {places.shape}: give finite x, y for each node, shape (node, 2)")
            faults.raise_if_any(cannot)
        named = checked_names("names", names, faults) or tuple(str(i) for i in range(len(places)))
        if len(named) != len(places):
            faults.add(f"names has {len(named)} names, but there are {len(places)} nodes: give one each")
        if reach is not None and not reach > 0:
            faults.add(f"reach={reach}: give a distance > 0, or None")
        _, where, times = np.unique(places, axis=0, return_inverse=True, return_counts=True)
        same = np.flatnonzero(times[where.ravel()] > 1)
        if len(same):
            faults.add(f"nodes {some([named[i] for i in same])} lie in the same place: move or merge them")
        pairs = both_ways(edges, named, faults)
        faults.raise_if_any(cannot)
        self.coordinates: Float[np.ndarray, "state 2"] = places
        self.state_names: tuple[str, ...] = named
        self.reach, self.corridors = reach, corridors
        self._pairs = pairs
        degree = np.bincount([s for s, _ in pairs], minlength=1).max()
        self.action_names = tuple(f"exit {k}" for k in range(max(int(degree), 1)))

    def __repr__(self) -> str:
        return f"Nodes({counted(len(self.state_names), 'node')}, {counted(len(self._pairs) // 2, 'edge')})"

    def assign(self, positions: Any) -> Int[np.ndarray, " n"]:
        """Node of each position, −1 where none is within reach."""
        xy = points(positions)
        known = np.isfinite(xy).all(1)
        place = np.full(len(xy), NOWHERE, np.int64)
        near, distance = self._along(xy[known]) if self.corridors else self._nearest(xy[known])
        place[known] = near if self.reach is None else np.where(distance <= self.reach, near, NOWHERE)
        return place

    def _nearest(self, xy: Float[np.ndarray, "n 2"]) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        from scipy.spatial import KDTree

        distance, node = KDTree(self.coordinates).query(xy)
        return np.asarray(node, np.int64), np.asarray(distance, float)

    def _along(self, xy: Float[np.ndarray, "n 2"]) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Nearer end of the nearest corridor, and the distance from that corridor."""
        near, best = np.full(len(xy), NOWHERE, np.int64), np.full(len(xy), np.inf)
        alone = [(s, s) for s in set(range(len(self.coordinates))) - {s for s, _ in self._pairs}]
        for s, t in [*((s, t) for s, t in self._pairs if s < t), *alone]:
            start, way = self.coordinates[s], self.coordinates[t] - self.coordinates[s]
            share = np.clip((xy - start) @ way / (way @ way), 0, 1) if s != t else np.zeros(len(xy))
            distance = np.hypot(*(xy - start - share[:, None] * way).T)
            nearer = distance < best
            near[nearer], best[nearer] = np.where(share <= 0.5, s, t)[nearer], distance[nearer]
        return near, best

    def edges(self) -> Edges:
        """All moves; the action counts the neighbours of the node that is left."""
        count: dict[int, int] = {}
        moves = []
        for s, t in self._pairs:
            moves.append((s, count.setdefault(s, 0), t))
            count[s] += 1
        return moves
