"""Environments that are told in a few words: a grid of cells, a linear track, a ring, a T or plus maze, a graph.

Every one has coordinates, so that maps can be drawn.  x grows to the right, and y grows **upwards**, on every map: the
row at the top has the largest y.  "up" is up on the map, too.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from swirl.data.environments import check_table_size
from swirl.data.geometry import has_places, possible_moves
from swirl.data.mdp import MDP
from swirl.errors import Faults
from swirl.text import did_you_mean, some

__all__ = ["graph", "grid", "linear", "plus_maze", "ring", "t_maze", "text_map"]

MAX_SIDE = 1000  # cells of a row or column: beyond is a slip of the pen
FIRST_CELL = "r0c0"
"""What the cell at the top left of maps is called, where nobody says otherwise: rows are counted from the top."""
MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
"""Action → how many rows down and columns to the right it leads, on the map."""
DIAGONALS = {"up left": (-1, -1), "up right": (-1, 1), "down left": (1, -1), "down right": (1, 1)}

_OF_CELL = re.compile(r"(?P<head>\D*?)(?P<row>A|a|[01])(?P<middle>\D*)(?P<column>0?[01])")
_COUNTED = re.compile(r"(?P<head>\D*)(?P<first>0?[01])")
LABELS = "A1, a1, A01, 1A, r0c0, R1C1, 0 or 1"


def cell_names(first: str, rows: int, columns: int) -> tuple[str, ...]:
    """Names of the cells, row by row, from what the first one is called: the others count on from it.

    The first letter or number counts rows, the second counts columns; where there is only one number, it counts cells.

    >>> cell_names("A1", 2, 3), cell_names("r0c0", 1, 2), cell_names("1", 2, 2)
    (('A1', 'A2', 'A3', 'B1', 'B2', 'B3'), ('r0c0', 'r0c1'), ('1', '2', '3', '4'))
    >>> cell_names("1A", 2, 2), cell_names("A01", 1, 2)
    (('1A', '1B', '2A', '2B'), ('A01', 'A02'))
    """
    told = first.strip().rstrip("….").strip()
    if found := re.fullmatch(r"(0?[01])(\D*)([Aa])", told):
        return tuple(f"{_counted(found[1], i)}{found[2]}{_lettered(found[3], j)}" for i, j in _cells(rows, columns))
    if found := _OF_CELL.fullmatch(told):
        head, row, middle, column = found["head"], found["row"], found["middle"], found["column"]
        of_row = _lettered if row.isalpha() else _counted
        if row.isalpha() or middle:
            return tuple(f"{head}{of_row(row, i)}{middle}{_counted(column, j)}" for i, j in _cells(rows, columns))
    if found := _COUNTED.fullmatch(told):
        return tuple(f"{found['head']}{_counted(found['first'], n)}" for n in range(rows * columns))
    raise ValueError(f"labels={first!r}: give what the first cell is called, such as {LABELS}; the others count on")


def _cells(rows: int, columns: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(rows) for j in range(columns)]


def _counted(first: str, n: int) -> str:
    return f"{int(first) + n:0{len(first)}d}"


def _lettered(first: str, n: int) -> str:
    """A, B, …, Z, AA, AB, …."""
    letters, n = "", n + 1
    while n:
        n, last = divmod(n - 1, 26)
        letters = chr(ord(first) + last) + letters
    return letters


def grid(
    rows: int,
    columns: int,
    *,
    labels: str = "A1",
    diagonal: bool = False,
    stay: bool = False,
    walls: Iterable[Sequence[str]] = (),
    blocked: Iterable[str] = (),
    y_down: bool = True,
) -> MDP:
    """Make an arena of cells; actions are the moves to the neighbours.

    Parameters
    ----------
    labels
        What the first cell is called (`cell_names`).
    diagonal
        There are diagonal moves too. None passes between two cells that are both closed, or behind walls.
    stay
        There is an action "stay" too: for tables with a row for each tick of a clock.
    walls
        Pairs of neighbouring cells with a wall between them.
    blocked
        Cells that are no states, such as obstacles.
    y_down
        True: the first row is at the top of maps, as in a table or on the screen. False: it is at the bottom. In both
        cases y grows upwards on the map.

    Examples
    --------
    >>> env = grid(2, 2, walls=[("A1", "B1")])
    >>> env.state_names, env.coordinates.tolist()
    (('A1', 'A2', 'B1', 'B2'), [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    >>> env.action_names, env.available.astype(int).tolist()
    (('up', 'down', 'left', 'right'), [[0, 0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 1], [1, 0, 1, 0]])
    """
    faults = Faults()
    for name, value in (("rows", rows), ("columns", columns)):
        if not 1 <= value <= MAX_SIDE:
            faults.add(f"{name}={value}: expected a whole number from 1 to {MAX_SIDE}")
    faults.raise_if_any("The grid cannot be built")
    names = cell_names(labels, rows, columns)
    place = dict(zip(names, _cells(rows, columns), strict=True))
    shut = {name for name in blocked if _known(name, names, "blocked", faults)}
    between = set()
    for pair in walls:
        ends = [end for end in pair if _known(end, names, "walls", faults)]
        if len(pair) != 2:
            faults.add(f"walls has {tuple(pair)}: give two cells with a wall between them, as ('A1', 'A2')")
        elif len(ends) == 2 and sum(abs(a - b) for a, b in zip(place[ends[0]], place[ends[1]], strict=True)) != 1:
            faults.add(f"walls has {ends[0]}-{ends[1]}: these cells do not share a side, so no wall is between them")
        elif len(ends) == 2:
            between |= {(ends[0], ends[1]), (ends[1], ends[0])}
    if len(shut) == len(names):
        faults.add("blocked: every cell is blocked; leave some open")
    faults.raise_if_any("The grid cannot be built")
    cells = {name: (i if y_down else rows - 1 - i, j) for name, (i, j) in place.items() if name not in shut}
    return _of_cells(cells, between, diagonal=diagonal, stay=stay, n_rows=rows)


def _known(name: str, names: Sequence[str], argument: str, faults: Faults) -> bool:
    if name not in names:
        near = did_you_mean(name, names, alike=1)  # the cell beside it is not what was meant
        faults.add(f"{argument}: there is no cell {name!r}: they are {names[0]} to {names[-1]}{near}")
    return name in names


def _of_cells(
    cells: Mapping[str, tuple[int, int]], walls: set[tuple[str, str]], *, diagonal: bool, stay: bool, n_rows: int
) -> MDP:
    """The environment of cells at (row from the top, column)."""
    names, at = tuple(cells), {place: name for name, place in cells.items()}
    number = {name: i for i, name in enumerate(names)}

    def step(name: str, move: tuple[int, int]) -> str | None:
        there = at.get((cells[name][0] + move[0], cells[name][1] + move[1]))
        return None if there is None or (name, there) in walls else there

    def aside(name: str, move: tuple[int, int]) -> str | None:
        """Round the corner: at least one of the two ways in straight steps must be open."""
        for first, second in (((move[0], 0), (0, move[1])), ((0, move[1]), (move[0], 0))):
            if (middle := step(name, first)) is not None and (end := step(middle, second)) is not None:
                return end
        return None

    moves = [*([("stay", (0, 0), step)] if stay else []), *((name, move, step) for name, move in MOVES.items())]
    moves += [(name, move, aside) for name, move in DIAGONALS.items()] if diagonal else []
    edges, alone = [], []
    for name in names:
        own = [(i, lead(name, move)) for i, (_, move, lead) in enumerate(moves)]
        ends = [(number[name], i, number[end]) for i, end in own if end is not None]
        edges += ends
        if not ends or (stay and len(ends) == 1 and len(names) > 1):
            alone.append(name)
    if alone and len(names) > 1:
        raise ValueError(f"cell {some(alone)}: no way leads out of it; take a wall away, or block it (--blocked)")
    if not edges:
        raise ValueError("one cell has no way to go: give several, or stay=True (--stay)")
    check_table_size(len(names), len(moves))
    places = np.array([(column, n_rows - 1 - row) for row, column in cells.values()], float)
    used = sorted({action for _, action, _ in edges})
    kept = {action: i for i, action in enumerate(used)}
    return MDP.from_edges(
        [(s, kept[a], t) for s, a, t in edges],
        n_states=len(names),
        state_names=names,
        action_names=tuple(moves[action][0] for action in used),
        coordinates=places,
    )


def linear(n: int, *, labels: str = "1", stay: bool = False) -> MDP:
    """Make a track of n places in a row, the first at the left; actions: left, right.

    >>> linear(3).state_names, linear(3).available.astype(int).tolist()
    (('1', '2', '3'), [[0, 1], [1, 1], [1, 0]])
    """
    _check_length("n", n, 2)
    return _of_cells(dict(zip(cell_names(labels, 1, n), _cells(1, n), strict=True)), set(), diagonal=False, stay=stay,
                     n_rows=1)  # fmt: skip


def ring(n: int, *, labels: str = "1", stay: bool = False) -> MDP:
    """Make a ring of n places, clockwise from the top; actions: clockwise, back.

    >>> env = ring(6)
    >>> env.coordinates[:3].round(2).tolist(), env.action_names
    ([[0.0, 1.0], [0.87, 0.5], [0.87, -0.5]], ('clockwise', 'back'))
    """
    _check_length("n", n, 3)
    angle = 2 * np.pi * np.arange(n) / n
    radius = 0.5 / np.sin(np.pi / n)  # neighbours are 1 apart
    following = [np.roll(np.arange(n), -1), np.roll(np.arange(n), 1), *([np.arange(n)] if stay else [])]
    return MDP.deterministic(
        np.stack(following, axis=1),
        state_names=cell_names(labels, 1, n),
        action_names=("clockwise", "back", *(["stay"] if stay else [])),
        coordinates=radius * np.stack([np.sin(angle), np.cos(angle)], axis=1),
    )


def t_maze(stem: int = 3, arm: int = 2, *, stay: bool = False) -> MDP:
    """Make a T maze: a stem upwards from stem1, the choice point, and an arm to each side.

    >>> t_maze(1, 1).state_names
    ('stem1', 'choice', 'left1', 'right1')
    """
    _check_length("stem", stem, 1)
    _check_length("arm", arm, 1)
    cells = {f"stem{i + 1}": (stem - i, arm) for i in range(stem)} | {"choice": (0, arm)}
    cells |= {f"left{i}": (0, arm - i) for i in range(1, arm + 1)}
    cells |= {f"right{i}": (0, arm + i) for i in range(1, arm + 1)}
    return _of_cells(cells, set(), diagonal=False, stay=stay, n_rows=stem + 1)


def plus_maze(arm: int = 2, *, stay: bool = False) -> MDP:
    """Make a plus maze: a centre, and four arms.

    >>> plus_maze(1).state_names
    ('centre', 'north1', 'east1', 'south1', 'west1')
    """
    _check_length("arm", arm, 1)
    cells, towards = {"centre": (arm, arm)}, {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
    for name, (down, right) in towards.items():
        cells |= {f"{name}{i}": (arm + i * down, arm + i * right) for i in range(1, arm + 1)}
    return _of_cells(cells, set(), diagonal=False, stay=stay, n_rows=2 * arm + 1)


def graph(ways: Iterable[Sequence[str]], places: Mapping[str, Sequence[float | int]] | None = None, *,
          one_way: bool = False, stay: bool = False) -> MDP:  # fmt: skip
    """Make an environment of places and the ways between them; an action is called after the place that it leads to.

    Parameters
    ----------
    ways
        Pairs of places that are joined, (from, to).
    places
        Name → x, y of every place, for maps; None: not known.
    one_way
        A way leads only from the first to the second.

    Examples
    --------
    >>> env = graph([("nest", "hall"), ("hall", "food")])
    >>> env.state_names, env.available.astype(int).tolist()
    (('nest', 'hall', 'food'), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    """
    pairs, faults = [tuple(map(str, pair)) for pair in ways], Faults()
    for pair in pairs:
        if len(pair) != 2 or pair[0] == pair[1]:
            faults.add(f"ways has {pair}: give two different places that are joined")
    names = tuple(places) if places is not None else tuple(dict.fromkeys(end for pair in pairs for end in pair))
    if unknown := sorted({end for pair in pairs for end in pair} - set(names)):
        faults.add(f"ways lead to {some(unknown)}, which the table of places does not have: add them there")
    both = {*pairs, *(() if one_way else ((pair[1], pair[0]) for pair in pairs if len(pair) == 2))}
    both |= {(name, name) for name in names} if stay else set()
    if not pairs:
        faults.add("ways: there is none; give pairs of places that are joined")
    elif stuck := [name for name in names if name not in {pair[0] for pair in both}]:
        faults.add(f"no way leads on from {some(stuck)}: add one, or stay=True (--stay)")
    faults.raise_if_any("The graph cannot be built")
    check_table_size(len(names), len(names))
    number = {name: i for i, name in enumerate(names)}
    edges = [(number[one], number[other], number[other]) for one, other in sorted(both, key=lambda p: number[p[0]])]
    coordinates = None if places is None else np.array([places[name] for name in names], float)
    return MDP.from_edges(
        edges, n_states=len(names), n_actions=len(names), state_names=names, action_names=names, coordinates=coordinates
    )


def _check_length(name: str, value: int, least: int) -> None:
    if not least <= value <= MAX_SIDE**2:
        raise ValueError(f"{name}={value}: expected a whole number, at least {least}")


# ---------------------------------------------------------------------- the map as text


def text_map(env: MDP, width: int = 100) -> str | None:
    """Draw the cells of an environment with their names, and lines where no move leads across; y grows upwards.

    None where states do not lie as the cells of a grid, or the map would be wider.

    >>> print(text_map(grid(2, 2, walls=[("A1", "A2")])))
    +----+----+
    | A1 | A2 |
    +    +    +
    | B1   B2 |
    +----+----+
    """
    cells = cells_of(env)
    if cells is None:
        return None
    names = env.state_names or tuple(map(str, range(env.n_states)))
    wide = max(map(len, names)) + 2
    rows, columns = cells.max(axis=0) + 1
    if columns * (wide + 1) + 1 > width:
        return None
    at = {(int(row), int(column)): s for s, (row, column) in enumerate(cells)}
    joined = {(int(s), int(t)) for s, t in possible_moves(env)}

    def closed(one: tuple[int, int], other: tuple[int, int]) -> bool:
        s, t = at.get(one), at.get(other)
        if s is None or t is None:
            return not (s is None and t is None)
        return (s, t) not in joined and (t, s) not in joined

    lines = []
    for row in range(rows + 1):
        line = "".join("+" + ("-" if closed((row - 1, c), (row, c)) else " ") * wide for c in range(columns)) + "+"
        lines.append(line)
        if row < rows:
            sides = ["|" if closed((row, c - 1), (row, c)) else " " for c in range(columns + 1)]
            words = [names[at[row, c]] if (row, c) in at else "" for c in range(columns)]
            lines.append(
                "".join(side + word.center(wide) for side, word in zip(sides, [*words, ""], strict=True)).rstrip()
            )
    # Corners without a line beside them are left out.
    grid_of = [list(line.ljust(max(map(len, lines)))) for line in lines]
    for i in range(0, len(grid_of), 2):
        for j in range(0, columns * (wide + 1) + 1, wide + 1):
            beside = [grid_of[i][k] == "-" for k in (j - 1, j + 1) if 0 <= k < len(grid_of[i])]
            beside += [grid_of[k][j] == "|" for k in (i - 1, i + 1) if 0 <= k < len(grid_of)]
            inside = all((i // 2 - a, j // (wide + 1) - b) in at for a in (0, 1) for b in (0, 1))
            grid_of[i][j] = "+" if any(beside) or inside else " "
    return "\n".join("".join(line).rstrip() for line in grid_of)


def cells_of(env: MDP) -> np.ndarray | None:
    """Row (from the top) and column of each state, where all lie on a lattice of one spacing; else None."""
    if not has_places(env) or env.coordinates is None or env.coordinates.shape[1] < 2:
        return None
    places = np.asarray(env.coordinates)[:, :2]
    apart = [np.diff(np.unique(places[:, axis])) for axis in (0, 1)]
    steps = np.concatenate(apart)
    unit = float(steps.min()) if steps.size else 1.0
    cells = (places - places.min(axis=0)) / unit
    whole = np.round(cells)
    if np.abs(cells - whole).max() > 0.05 or len(np.unique(whole, axis=0)) < len(whole) or whole.max() > MAX_SIDE:
        return None
    far = np.abs(whole[possible_moves(env)[:, 0]] - whole[possible_moves(env)[:, 1]])
    if not (far.sum(axis=1) == 1).any() or far.max() > 1:
        return None  # a move that jumps over a cell is no grid
    return np.stack([whole[:, 1].max() - whole[:, 1], whole[:, 0]], axis=1).astype(int)
