"""How the states of an environment lie: as cells of a grid, as places of a graph, or as names only.

Every figure and the report ask here, so that an environment looks the same wherever it is drawn.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.mdp import MDP

Kind = Literal["grid", "graph", "names"]
FILLED = 0.7  # of the rectangle around them: states that fill less of it are a maze, not a grid
OPEN = 0.7  # of the sides between neighbouring cells: where fewer can be crossed there are walls, and it is a maze
ASIDE = 0.05  # of a cell: how far from its middle a state may lie
NOISE = 1e-6  # of the whole extent: coordinates that differ by less are the same


def kind_of(env: MDP) -> Kind:
    """Say how an environment is drawn: "grid" of cells, "graph" of places, or "names" where states have no places.

    >>> kind_of(MDP.deterministic([[1, 0], [0, 1]]))
    'names'
    """
    if not has_places(env):
        return "names"
    return "graph" if lattice(env) is None else "grid"


def has_places(env: MDP) -> bool:
    """Whether it is known where every state lies.

    >>> has_places(MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]]))
    True
    """
    return env.coordinates is not None and bool(np.isfinite(env.coordinates).all())


@dataclass(frozen=True)
class Lattice:
    """Row (0 at the top) and column of each state, and how high a cell is for its width."""

    row: Int[np.ndarray, " state"]
    column: Int[np.ndarray, " state"]
    aspect: float

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.row.max()) + 1, int(self.column.max()) + 1

    @property
    def cells(self) -> Int[np.ndarray, " state"]:
        """Number of each state's cell, columns · row + column."""
        return self.row * self.shape[1] + self.column

    @property
    def is_full(self) -> bool:
        """Whether every cell of the rectangle is a state."""
        return len(self.row) == self.shape[0] * self.shape[1]


def lattice(env: MDP) -> Lattice | None:
    """Find the rows and columns of states that lie as the cells of a grid and move from cell to cell; else None.

    A grid has one state at most in a cell, few holes (`FILLED`), few walls (`OPEN`), and no move that jumps over a
    cell; its cells may be oblong.

    >>> corridor = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> lattice(corridor).shape
    (1, 2)
    """
    if env.coordinates is None or not has_places(env):
        return None
    places = env.coordinates
    noise = NOISE * float(np.ptp(places, axis=0).max())
    units = [_spacing(places[:, axis], noise) for axis in (0, 1)]
    width = units[0] or units[1] or 1.0
    height = units[1] or width
    at = (places - places.min(axis=0)) / (width, height)
    steps = np.round(at).astype(np.int64)
    if np.abs(at - steps).max() > ASIDE or len(np.unique(steps, axis=0)) < len(steps):
        return None
    rows, columns = int(steps[:, 1].max()) + 1, int(steps[:, 0].max()) + 1
    oblong = abs(height / width - 1) > ASIDE
    if oblong and max(rows, columns) < 3 and len(steps) < rows * columns:
        return None  # three places at right angles: they would be a grid whatever their distances
    moves = possible_moves(env)
    far = np.abs(steps[moves[:, 0]] - steps[moves[:, 1]])
    if len(steps) < FILLED * rows * columns or far.max(initial=0) > 1:
        return None
    crossed = np.unique(np.sort(moves[far.sum(axis=1) == 1], axis=1), axis=0)
    if len(crossed) < OPEN * _sides(steps, rows, columns):
        return None
    return Lattice(rows - 1 - steps[:, 1], steps[:, 0], height / width)


@dataclass(frozen=True)
class Edges:
    """What the rows (from the top) and the columns of a grid are called in the names of its cells, and what they are.

    `words` are "row" and "column", or "y" and "x", where the parts of the names are numbers only; else empty.
    """

    rows: list[str]
    columns: list[str]
    words: tuple[str, str]


# A cell's name in two parts: "(4, 3)", "r4c3", "1-1"; "E4"; "4E".
_TWO_PARTS = tuple(
    re.compile(rf"[(\[]?{one}[)\]]?")
    for one in (
        r"([A-Za-z]*-?\d[\d.]*)(?:[^\w.]+?|(?=[A-Za-z]))([A-Za-z]*-?\d[\d.]*)",
        r"([A-Za-z]+)\W*(\d+)",
        r"(\d+)\W*([A-Za-z]+)",
    )
)


def edges(cells: Lattice, names: Sequence[str]) -> Edges | None:
    """Read from the names of the cells what each row and each column is called; None where names are not made so.

    >>> corridor = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> edges(lattice(corridor), ["(4, 0)", "(4, 1)"])
    Edges(rows=['4'], columns=['0', '1'], words=('row', 'column'))
    >>> edges(lattice(corridor), ["home", "water"]) is None
    True
    """
    for pattern in _TWO_PARTS:
        found = [pattern.fullmatch(name.strip()) for name in names]
        parts = [match.groups() for match in found if match is not None]
        if len(parts) < len(names):
            continue
        # Of a single row or column either order would do: rows come first.
        for first, second in ((0, 1), (1, 0)):
            rows = _called([part[first] for part in parts], cells.row)
            columns = _called([part[second] for part in parts], cells.column)
            if rows is not None and columns is not None:
                numbers = all(part[0] in "-0123456789." for part in (*rows, *columns))
                words = ("row", "column") if first == 0 else ("y", "x")
                return Edges(rows, columns, words if numbers else ("", ""))
    return None


def _called(parts: list[str], at: Int[np.ndarray, " state"]) -> list[str] | None:
    """What each row (or column) is called, in order, where all its cells say the same and no other row does."""
    own: dict[int, set[str]] = {}
    for part, place in zip(parts, at.tolist(), strict=True):
        own.setdefault(place, set()).add(part)
    found = [own.get(place, set()) for place in range(int(at.max()) + 1)]
    if any(len(names) != 1 for names in found) or len(set.union(*found)) < len(found):
        return None
    return [next(iter(names)) for names in found]


def _spacing(at: Float[np.ndarray, " state"], noise: float) -> float:
    """How far rows (or columns) are apart; 0 where there is only one."""
    apart = np.diff(np.unique(at))
    apart = apart[apart > noise]
    if not apart.size:
        return 0.0
    # Where coordinates were rounded, the mean of single steps says more than the least of them.
    return float(apart[apart < 1.5 * apart.min()].mean())


def _sides(steps: Int[np.ndarray, "state 2"], rows: int, columns: int) -> int:
    """How many sides the cells share."""
    cells: Bool[np.ndarray, "row column"] = np.zeros((rows, columns), bool)
    cells[steps[:, 1], steps[:, 0]] = True
    return int((cells[1:] & cells[:-1]).sum() + (cells[:, 1:] & cells[:, :-1]).sum())


@dataclass(frozen=True)
class Layout:
    """Places [state, xy], the directed moves (state, next state) between different places, and the unit of length.

    The unit is the smallest distance between two places.
    """

    places: Float[np.ndarray, "state 2"]
    moves: Int[np.ndarray, "move 2"]
    unit: float

    @property
    def corridors(self) -> Int[np.ndarray, "corridor 2"]:
        """Pairs of neighbours, each pair once."""
        return np.unique(np.sort(self.moves, axis=1), axis=0)

    @property
    def lengths(self) -> Float[np.ndarray, " move"]:
        """Distance from one end of each move to the other."""
        start, end = self.places[self.moves].swapaxes(0, 1)
        return np.linalg.norm(end - start, axis=1)


def layout(env: MDP) -> Layout:
    """Read the places and the possible moves from an environment that has coordinates.

    Examples
    --------
    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> layout(env).moves.tolist(), layout(env).unit
    ([[0, 1], [1, 0]], 2.0)
    """
    from scipy.spatial import KDTree

    if env.coordinates is None:
        raise ValueError(
            "env: it has no coordinates, so its states have no place in a drawing; "
            "build it with coordinates=[[x, y], …], one pair per state"
        )
    places = env.coordinates
    if not has_places(env):
        bad = np.flatnonzero(~np.isfinite(places).all(axis=1))
        raise ValueError(f"env: coordinates of state {bad[0]} are {places[bad[0]].tolist()} ({bad.size} such states)")
    moves = possible_moves(env)
    moves = moves[(places[moves[:, 0]] != places[moves[:, 1]]).any(axis=1)]
    distinct = np.unique(places, axis=0)
    unit = 1.0 if len(distinct) < 2 else float(np.min(KDTree(distinct).query(distinct, k=2)[0][:, 1]))
    return Layout(places, moves, unit)


def possible_moves(env: MDP) -> Int[np.ndarray, "move 2"]:
    """The pairs (state, next state) that some available action can make, staying among them, each once and in order.

    >>> possible_moves(MDP.deterministic([[1, 0, 1], [1, 1, 1]])).tolist()
    [[0, 0], [0, 1], [1, 1]]
    """
    origin, _, following, _ = env.successors.moves()
    numbers = np.unique(origin * env.n_states + following)
    return np.stack(np.divmod(numbers, env.n_states), axis=1)
