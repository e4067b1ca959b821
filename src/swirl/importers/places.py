"""Places: what part of the plane is which state.  A grid, polygons, or the nodes of a graph (a maze).

Each kind has `assign(positions)` (a state per position, −1 = nowhere), `state_names`, `coordinates` (where each state
is drawn), `edges()` (each possible move as state, action, next state) and `action_names`.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.faults import Faults, checked_names, counted, some
from swirl.importers.tracks import Track

NOWHERE = -1
_MOVES = {"up": (1, 0), "down": (-1, 0), "left": (0, -1), "right": (0, 1)}
_DIAGONALS = {"up left": (1, -1), "up right": (1, 1), "down left": (-1, -1), "down right": (-1, 1)}

Edges = list[tuple[int, int, int]]


@dataclass(frozen=True)
class Grid:
    """A rectangle in equal cells; row 0 has the lowest y, column 0 the lowest x.

    Moves lead to the cell above, below, to the left or right, where there is one; "up" is towards higher y (in the
    coordinates of a video, whose y points down, that is down on the screen).

    Parameters
    ----------
    x, y
        (low, high) of the rectangle; positions outside are nowhere.
    shape
        (rows, columns).
    diagonal
        True: there are diagonal moves too.
    blocked
        Cells (row, column) that are walls: they are no states.

    Examples
    --------
    >>> grid = Grid(x=(0, 3), y=(0, 2), shape=(2, 3))
    >>> grid.assign([[0.5, 0.5], [2.9, 1.1], [3.1, 1.0]])
    array([ 0,  5, -1])
    >>> grid.state_names[5], grid.coordinates[5]
    ('r1c2', array([2.5, 1.5]))
    >>> [(grid.action_names[a], grid.state_names[t]) for s, a, t in grid.edges() if s == 0]
    [('up', 'r1c0'), ('right', 'r0c1')]
    >>> len(grid.without([(1, 2)]).state_names)
    5
    """

    x: tuple[float | int, float | int]
    y: tuple[float | int, float | int]
    shape: tuple[int, int]
    diagonal: bool = False
    blocked: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        faults = Faults()
        for name in ("x", "y"):
            bounds = np.asarray(getattr(self, name), float)
            if bounds.shape != (2,) or not np.isfinite(bounds).all() or bounds[0] >= bounds[1]:
                faults.add(f"{name}={getattr(self, name)}: give (low, high) with low < high")
        rows, columns = self.shape
        if min(rows, columns) < 1:
            faults.add(f"shape={self.shape}: give (rows, columns), each at least 1")
        cells = dict.fromkeys((int(row), int(column)) for row, column in self.blocked)
        outside = [cell for cell in cells if not (0 <= cell[0] < rows and 0 <= cell[1] < columns)]
        if outside:
            faults.add(f"cells {some(outside)} are not in the grid of {rows} rows and {columns} columns")
        elif len(cells) == rows * columns:
            faults.add("every cell is blocked: leave some open")
        faults.raise_if_any("The grid cannot be built")
        object.__setattr__(self, "blocked", tuple(sorted(cells)))

    @classmethod
    def around(cls, tracks: Iterable[Track], shape: tuple[int, int], diagonal: bool = False) -> "Grid":
        """Make the grid that just holds all positions of the tracks; stray positions widen it.

        >>> Grid.around([Track("a", [0.0, 1.0], [[0, 2], [4, 3]])], (2, 2)).x
        (0.0, 4.0)
        """
        positions = [track.positions[np.isfinite(track.positions).all(1)] for track in tracks]
        flat = np.concatenate(positions) if positions else np.zeros((0, 2))
        if not len(flat):
            raise ValueError("tracks hold no position: a grid around them has no bounds; give x=(low, high), y=…")
        (left, bottom), (right, top) = flat.min(0).tolist(), flat.max(0).tolist()
        return cls((left, right), (bottom, top), shape, diagonal)

    def without(self, cells: Iterable[tuple[int, int]]) -> "Grid":
        """Return the grid with these cells (row, column) as walls; the states are numbered anew."""
        return replace(self, blocked=(*self.blocked, *cells))

    def unvisited(self, tracks: Iterable[Track]) -> list[tuple[int, int]]:
        """Cells (row, column) without a position: in a maze, its walls.

        >>> grid = Grid((0, 2), (0, 1), (1, 2))
        >>> grid.unvisited([Track("a", [0.0], [[0.5, 0.5]])])
        [(0, 1)]
        """
        seen = np.zeros(len(self.state_names) + 1, bool)  # the last entry is for nowhere
        for track in tracks:
            seen[self.assign(track.positions)] = True
        return [cell for cell, visited in zip(self._cells, seen[:-1], strict=True) if not visited]

    @property
    def _cells(self) -> list[tuple[int, int]]:
        closed = set(self.blocked)
        return [(i, j) for i in range(self.shape[0]) for j in range(self.shape[1]) if (i, j) not in closed]

    @property
    def state_names(self) -> tuple[str, ...]:
        """One name per open cell, row by row."""
        return tuple(f"r{row}c{column}" for row, column in self._cells)

    @property
    def action_names(self) -> tuple[str, ...]:
        """The moves."""
        return (*_MOVES, *(_DIAGONALS if self.diagonal else ()))

    @property
    def coordinates(self) -> Float[np.ndarray, "state 2"]:
        """The cells' centres."""
        low, size = np.array([self.x[0], self.y[0]]), np.array([np.ptp(self.x), np.ptp(self.y)])
        return low + (np.array(self._cells)[:, ::-1] + 0.5) * size / np.array(self.shape)[::-1]

    def assign(self, positions: Any) -> Int[np.ndarray, " n"]:
        """State of each position, −1 outside; the upper border belongs to the last cell."""
        xy = _points(positions)
        number = np.full(self.shape, NOWHERE, np.int64)
        for state, cell in enumerate(self._cells):
            number[cell] = state
        known = np.isfinite(xy).all(1)
        index = []
        for axis, (low, high), n in ((1, self.y, self.shape[0]), (0, self.x, self.shape[1])):
            known &= (xy[:, axis] >= low) & (xy[:, axis] <= high)
            share = np.where(known, (xy[:, axis] - low) / (high - low), 0.0)
            index.append(np.minimum((share * n).astype(np.int64), n - 1))
        return np.where(known, number[index[0], index[1]], NOWHERE)

    def edges(self) -> Edges:
        """All moves between open cells; a diagonal one needs only its end to be open."""
        moves = [*_MOVES.values(), *(_DIAGONALS.values() if self.diagonal else ())]
        number = {cell: state for state, cell in enumerate(self._cells)}
        return [
            (state, action, number[row + up, column + right])
            for (row, column), state in number.items()
            for action, (up, right) in enumerate(moves)
            if (row + up, column + right) in number
        ]


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

    def __init__(self, polygons: Mapping[str, Any], neighbours: Iterable[Sequence[str]] | None = None) -> None:
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
        self._neighbours = None if neighbours is None else _pairs(neighbours, self.state_names, faults)
        faults.raise_if_any("The polygons cannot be read")
        self.coordinates: Float[np.ndarray, "state 2"] = np.array(centres)
        self.action_names = tuple(f"to {name}" for name in self.state_names)

    def __repr__(self) -> str:
        return f"Polygons({some(self.state_names, 8)})"

    def assign(self, positions: Any) -> Int[np.ndarray, " n"]:
        """Number of the first polygon around each position, −1 outside all.

        Of two polygons that share a side, one has the points on it: none is in both or in neither.
        """
        xy = _points(positions)
        place = np.full(len(xy), NOWHERE, np.int64)
        for state, corners in reversed(list(enumerate(self._corners))):
            place[_inside(xy, corners)] = state
        return place

    def edges(self) -> Edges:
        """Action "to B" leads from every neighbour of B (without `neighbours`: from every other polygon) to B."""
        n = len(self.state_names)
        pairs = [(s, t) for s in range(n) for t in range(n) if s != t] if self._neighbours is None else self._neighbours
        return [(s, t, t) for s, t in pairs]


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
        pairs = _pairs(edges, named, faults)
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
        xy = _points(positions)
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


def _points(positions: Any) -> Float[np.ndarray, "n 2"]:
    xy = np.asarray(positions, float)
    if xy.ndim != 2 or xy.shape[1] != 2:
        raise ValueError(f"positions have shape {xy.shape}: give x, y for each, shape (n, 2)")
    return xy


def _pairs(pairs: Iterable[Sequence[Any]], names: tuple[str, ...], faults: Faults) -> list[tuple[int, int]]:
    """Both directions of every pair, as sorted numbers."""
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


def _corners(name: str, given: Any, faults: Faults) -> Float[np.ndarray, "corner 2"] | None:
    """Corners of one polygon, without the repeated last one; None after a fault."""
    try:
        corners: Any = np.asarray(given, float)
    except (TypeError, ValueError):
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


def read_polygons(path: Any, neighbours: Any = None) -> Polygons:
    """Read named polygons from JSON, {"name": [[x, y], …]}, or from a GeoJSON FeatureCollection.

    Parameters
    ----------
    path
        The JSON file; a GeoJSON feature's name is its property "name" (else its id).
    neighbours
        CSV with columns from, to: which polygons are joined. None: all.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "arena.json"
    >>> _ = file.write_text('{"nest": [[0, 0], [1, 0], [1, 1]], "arena": [[1, 0], [9, 0], [9, 9]]}')
    >>> read_polygons(file)
    Polygons(nest, arena)
    """
    path, faults = Path(path), Faults()
    cannot = f"{path} cannot be read as polygons"

    def once(items: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in items]
        for name in sorted({name for name in names if names.count(name) > 1}):
            faults.add(f"{name!r} stands there more than once: give each polygon a name of its own")
        return dict(items)

    try:
        found = json.loads(_small_text(path), object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}, line {error.lineno}, column {error.colno}: no JSON ({error.msg})") from None
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply to hold polygons") from None
    if isinstance(found, dict) and found.get("type") == "FeatureCollection":
        found = _features(found.get("features"), faults)
    elif not isinstance(found, dict):
        faults.add('expected {"name": [[x, y], …], …} or a GeoJSON FeatureCollection')
    faults.raise_if_any(cannot)
    pairs = None if neighbours is None else _edge_rows(Path(neighbours), found, faults)
    faults.raise_if_any(cannot)
    try:
        return Polygons(found, pairs)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _features(features: Any, faults: Faults) -> dict[str, Any]:
    """Outlines by name of GeoJSON's features."""
    found: dict[str, Any] = {}
    for i, feature in enumerate(features if isinstance(features, list) else []):
        part = feature if isinstance(feature, dict) else {}
        about, shape = part.get("properties") or {}, part.get("geometry") or {}
        name = str(about.get("name") or part.get("id") or i) if isinstance(about, dict) else str(i)
        rings = shape.get("coordinates") if isinstance(shape, dict) and shape.get("type") == "Polygon" else None
        if not isinstance(rings, list) or not rings:
            faults.add(f"feature {i} ({name!r}) is no Polygon: draw it as one")
        elif len(rings) > 1:
            faults.add(f"feature {i} ({name!r}) has a hole: give what is in the hole as a polygon before it instead")
        elif name in found:
            faults.add(f"{name!r} stands there more than once: give each polygon a name of its own")
        else:
            # GeoJSON allows a height as a third number.
            found[name] = [corner[:2] if isinstance(corner, list) else corner for corner in rings[0]]
    return found


def read_nodes(nodes: Any, edges: Any, *, reach: float | int | None = None, corridors: bool = False) -> Nodes:
    """Read a graph from two CSV files: nodes (columns name, x, y) and edges (columns from, to).

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "nodes.csv").write_text("name,x,y\\nhome,0,0\\nwater,5,0\\n")
    >>> _ = (folder / "edges.csv").write_text("from,to\\nhome,water\\n")
    >>> read_nodes(folder / "nodes.csv", folder / "edges.csv")
    Nodes(2 nodes, 1 edge)
    """
    path, faults = Path(nodes), Faults()
    places: dict[str, tuple[float, float]] = {}
    for line, row in _rows(path, ("name", "x", "y"), faults):
        place = (_number(row["x"]), _number(row["y"]))
        if not np.isfinite(place).all():
            faults.add(f"{path}, line {line}: x, y are {row['x']!r}, {row['y']!r}: give numbers")
            continue
        if row["name"] in places:
            faults.add(f"{path}, line {line}: the name {row['name']!r} stands there before: give each node its own")
        places[row["name"]] = place
    pairs = _edge_rows(Path(edges), places, faults) if places else []
    faults.raise_if_any(f"The graph of {path.name} and {Path(edges).name} cannot be read")
    return Nodes(list(places.values()), pairs, list(places), reach=reach, corridors=corridors)


def _number(text: str) -> float:
    """Read a number, with a decimal comma too; NaN if it is none."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return float("nan")


def _edge_rows(path: Path, names: Mapping[str, Any], faults: Faults) -> list[tuple[str, str]]:
    pairs = []
    for line, row in _rows(path, ("from", "to"), faults):
        unknown = [repr(row[end]) for end in ("from", "to") if row[end] not in names]
        if unknown:
            faults.add(f"{path}, line {line}: {some(unknown)} is none of {some(list(names), 10)}")
        elif row["from"] == row["to"]:
            faults.add(f"{path}, line {line}: joins {row['from']!r} with itself: leave it out")
        pairs.append((row["from"], row["to"]))
    return pairs


def _small_text(path: Path) -> str:
    if not path.is_file():
        raise ValueError(f"{path} does not exist, or is no file: check the path")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8: save it as UTF-8") from None


def _rows(path: Path, needed: tuple[str, ...], faults: Faults) -> list[tuple[int, dict[str, str]]]:
    """Rows of a small CSV with their line numbers, as an editor counts them."""
    text = _small_text(path)
    separator = max(",;\t", key=text.split("\n", 1)[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    header: list[str] = []
    rows = []
    try:
        lines = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except csv.Error as error:
        faults.add(f"{path}, line {reader.line_num}: no CSV ({error})")
        return []
    for line, cells in lines:
        if not any(cells):
            continue
        if not header:
            header = [cell.lower() for cell in cells]
            missing = [name for name in needed if name not in header]
            if missing:
                faults.add(f"{path}, line {line}: no column {some(missing)} among {some(header, 10)}")
                return []
        elif len(cells) != len(header):
            faults.add(f"{path}, line {line}: {len(cells)} cells, but the header has {len(header)}")
        elif not all((row := dict(zip(header, cells, strict=True)))[name] for name in needed):
            faults.add(f"{path}, line {line}: an empty cell: fill {some(needed)}")
        else:
            rows.append((line, row))
    if not header:
        faults.add(f"{path} is empty: expected the columns {some(needed)}")
    elif not rows and not len(faults):
        faults.add(f"{path} holds no rows below its header")
    return rows
