"""Places that are the cells of a grid; positions as points and pairs of places as moves, for all kinds of places."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from swirl.data.arenas import DIAGONALS, FIRST_CELL, MOVES, cell_names
from swirl.errors import Faults
from swirl.io.tracks import Track
from swirl.text import percent, some

NOWHERE = -1
STRAY = 0.001  # of the positions, at either end of x and of y: of a tracker's slips one expects no more
FILLED = 0.9  # of the range of all positions: where the rest fills less, strays have set the edges

Edges = list[tuple[int, int, int]]


def _edges_words(edges: Float[np.ndarray, "2 2"]) -> tuple[str, str]:
    """The edges (low and high of x, of y) for people, and as `--bounds` has them."""
    x0, x1, y0, y1 = (f"{value:.4g}" for value in edges.ravel().tolist())
    return f"x {x0} to {x1} and y {y0} to {y1}", f"{x0},{x1},{y0},{y1}"


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


@dataclass(frozen=True)
class Grid:
    """A rectangle in equal cells; row 0 is at the top as it is drawn on maps, column 0 at the left.

    Cells are called, and moves named, as in a grid of `swirl env grid` (`data.arenas`): r0c0 is the top left one, "up"
    is up on the map and on the screen.

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
    y_down
        True: y grows downwards, as in the pixels of a video, so row 0 has the lowest y. False: y grows upwards, so row
        0 has the highest.

    Examples
    --------
    >>> grid = Grid(x=(0, 3), y=(0, 2), shape=(2, 3))
    >>> grid.assign([[0.5, 1.5], [2.9, 0.9], [3.1, 1.0]])
    array([ 0,  5, -1])
    >>> grid.state_names[5], grid.coordinates[5]
    ('r1c2', array([2.5, 0.5]))
    >>> [(grid.action_names[a], grid.state_names[t]) for s, a, t in grid.edges() if s == 0]
    [('down', 'r1c0'), ('right', 'r0c1')]
    >>> len(grid.without([(1, 2)]).state_names)
    5
    """

    x: tuple[float | int, float | int]
    y: tuple[float | int, float | int]
    shape: tuple[int, int]
    diagonal: bool = False
    blocked: tuple[tuple[int, int], ...] = ()
    y_down: bool = False

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
    def around(
        cls, tracks: Iterable[Track], shape: tuple[int, int], diagonal: bool = False, *, y_down: bool = False
    ) -> "Grid":
        """Make the grid that just holds all positions of the tracks; stray positions widen it.

        Where all have the same x or the same y (a linear track) it is a square around them.

        >>> Grid.around([Track("a", [0.0, 1.0], [[0, 2], [4, 3]])], (2, 2)).x
        (0.0, 4.0)
        """
        positions = [track.positions[np.isfinite(track.positions).all(1)] for track in tracks]
        flat = np.concatenate(positions) if positions else np.zeros((0, 2))
        if not len(flat):
            raise ValueError("tracks hold no position: a grid around them has no bounds; give x=(low, high), y=…")
        low, high = flat.min(0), flat.max(0)
        if (low == high).all():
            at = ", ".join(f"{value:g}" for value in low.tolist())
            raise ValueError(f"every position of the tracks is ({at}): nothing moved, so there are no places")
        half = np.where(low == high, (high - low).max() / 2, 0.0)  # a linear track has a width
        (left, bottom), (right, top) = (low - half).tolist(), (high + half).tolist()
        return cls((left, right), (bottom, top), shape, diagonal, y_down=y_down)

    def edges_note(self, tracks: Iterable[Track]) -> str:
        """Say where the edges of a grid that was made around tracks lie; loudly where stray positions put them there.

        >>> walk = np.column_stack([np.tile([2.0, 4.0], 2000), np.tile([1.0, 1.0, 5.0, 5.0], 1000)])
        >>> track = Track("a", np.arange(4000.0), np.where(np.arange(4000)[:, None] == 7, 90.0, walk))
        >>> print(Grid.around([track], (2, 2)).edges_note([track]))
        BEWARE: stray positions set the edges of the grid, x 2 to 90 and y 1 to 90: 0.025 % of the positions lie \
outside of x 2 to 4 and y 1 to 5. Give the edges of the arena: --bounds x_low,x_high,y_low,y_high; without the strays \
they would be --bounds 2,4,1,5.
        """
        flat = np.concatenate([track.positions[np.isfinite(track.positions).all(1)] for track in tracks])
        ends = np.quantile(flat, [STRAY, 1 - STRAY], axis=0).T
        (own, these), (usual, typed) = (_edges_words(edges) for edges in (np.array([self.x, self.y]), ends))
        if (np.diff(ends).ravel() >= FILLED * np.ptp(flat, axis=0)).all():
            return f"The grid holds all positions, {own}. Where the arena has other edges, give them: --bounds {these}."
        out = percent(float(((flat < ends[:, 0]) | (flat > ends[:, 1])).any(1).mean()), ".2g", space=" ")
        return (
            f"BEWARE: stray positions set the edges of the grid, {own}: {out} of the positions lie outside of {usual}. "
            "Give the edges of the arena: --bounds x_low,x_high,y_low,y_high; without the strays they would be "
            f"--bounds {typed}."
        )

    def without(self, cells: Iterable[tuple[int, int]]) -> "Grid":
        """Return the grid with these cells (row, column) as walls; the states are numbered anew."""
        return replace(self, blocked=(*self.blocked, *cells))

    def standing(self, y_down: bool) -> "Grid":
        """Return the grid for a y that grows downwards, or upwards: the same places are blocked, rows are counted anew.

        >>> grid = Grid((0, 2), (0, 3), (3, 2), blocked=((0, 1),))
        >>> grid.standing(True).blocked, grid.standing(False) is grid
        (((2, 1),), True)
        """
        if y_down == self.y_down:
            return self
        turned = tuple((self.shape[0] - 1 - row, column) for row, column in self.blocked)
        return replace(self, blocked=turned, y_down=y_down)

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
        names = cell_names(FIRST_CELL, *self.shape)
        return tuple(names[row * self.shape[1] + column] for row, column in self._cells)

    @property
    def action_names(self) -> tuple[str, ...]:
        """The moves."""
        return tuple(self._moves)

    @property
    def _moves(self) -> dict[str, tuple[int, int]]:
        return MOVES | (DIAGONALS if self.diagonal else {})

    @property
    def coordinates(self) -> Float[np.ndarray, "state 2"]:
        """The cells' centres."""
        low, size = np.array([self.x[0], self.y[0]]), np.array([np.ptp(self.x), np.ptp(self.y)])
        row, column = np.array(self._cells).T
        return low + (np.stack([column, self._along_y(row)], axis=1) + 0.5) * size / np.array(self.shape)[::-1]

    def _along_y(self, row: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """The how manieth a row is by its y, or the row that is so: rows are counted from the top."""
        return row if self.y_down else self.shape[0] - 1 - row

    def assign(self, positions: Any) -> Int[np.ndarray, " n"]:
        """State of each position, −1 outside; the far border belongs to the last cell."""
        xy = points(positions)
        number = np.full(self.shape, NOWHERE, np.int64)
        for state, cell in enumerate(self._cells):
            number[cell] = state
        known = np.isfinite(xy).all(1)
        index = []
        for axis, (low, high), n in ((1, self.y, self.shape[0]), (0, self.x, self.shape[1])):
            known &= (xy[:, axis] >= low) & (xy[:, axis] <= high)
            share = np.where(known, (xy[:, axis] - low) / (high - low), 0.0)
            index.append(np.minimum((share * n).astype(np.int64), n - 1))
        return np.where(known, number[self._along_y(index[0]), index[1]], NOWHERE)

    def edges(self) -> Edges:
        """All moves between open cells; a diagonal one needs only its end to be open."""
        number = {cell: state for state, cell in enumerate(self._cells)}
        return [
            (state, action, number[row + down, column + right])
            for (row, column), state in number.items()
            for action, (down, right) in enumerate(self._moves.values())
            if (row + down, column + right) in number
        ]
