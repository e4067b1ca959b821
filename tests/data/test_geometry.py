"""Grid, graph or names: one answer for each environment, wherever it is drawn."""

import numpy as np
import pytest

from swirl.data.arenas import grid
from swirl.data.environments import fully_connected
from swirl.data.geometry import edges, has_places, kind_of, lattice, layout, possible_moves
from swirl.data.mdp import MDP
from swirl.datasets import labyrinth_env
from swirl.plots.state_maps import state_map
from swirl.report.maps import places


def grid_env(cells, *, width=1.0, height=1.0, jitter=0.0, decimals=None):
    """States at (row, column); up, down, left, right, staying at walls."""
    number = {cell: i for i, cell in enumerate(cells)}
    steps = ((-1, 0), (1, 0), (0, -1), (0, 1))
    following = [[number.get((r + dr, c + dc), i) for dr, dc in steps] for i, (r, c) in enumerate(cells)]
    at = np.array([[width * c, -height * r] for r, c in cells])
    at = at + jitter * np.random.default_rng(0).uniform(-1, 1, at.shape)
    return MDP.deterministic(following, coordinates=at if decimals is None else at.round(decimals))


def rectangle(rows, columns, holes=()):
    return [(r, c) for r in range(rows) for c in range(columns) if (r, c) not in holes]


def line_env(at, *, loop=False):
    """States along a line, each joined with the next; a loop joins the last with the first."""
    n = len(at)
    ends = [(i + 1) % n if loop or i + 1 < n else i for i in range(n)]
    return MDP.deterministic([[max(i - 1, 0), ends[i]] for i in range(n)], coordinates=at)


def circle(n):
    turn = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(turn), np.sin(turn)], axis=1)


def syllables(n, coordinates):
    """Any may follow any."""
    return MDP.deterministic(np.tile(np.arange(n), (n, 1)), coordinates=coordinates)


def walled(n_open):
    """Two rows of three cells, of whose seven sides only the first few can be crossed."""
    sides = [(0, 1), (1, 2), (0, 3), (3, 4), (4, 5), (2, 5), (1, 4)][:n_open]
    edges = sides + [(b, a) for a, b in sides]
    following = [[b for a, b in edges if a == s] for s in range(6)]
    widest = max(map(len, following))
    table = [row + [s] * (widest - len(row)) for s, row in enumerate(following)]
    return MDP.deterministic(table, coordinates=[[c, -r] for r, c in rectangle(2, 3)])


ROUND = [(r, c) for r in range(9) for c in range(9) if (r - 4) ** 2 + (c - 4) ** 2 <= 18]
JUMP = MDP.deterministic([[1, 2], [0, 2], [0, 1]], coordinates=[[0, 0], [1, 0], [2, 0]])

ENVIRONMENTS = {
    "a full grid": (grid_env(rectangle(3, 4)), "grid", (3, 4)),
    "a grid of many cells": (grid_env(rectangle(20, 20), width=0.1, height=0.1), "grid", (20, 20)),
    "a grid with a hole": (grid_env(rectangle(3, 4, [(1, 1)])), "grid", (3, 4)),
    "a round arena": (grid_env(ROUND), "grid", (9, 9)),
    "a cross of corridors": (grid_env([(r, c) for r in range(5) for c in range(5) if 2 in (r, c)]), "graph", None),
    "a grid of one cell in two": (grid_env(rectangle(2, 3, [(0, 1), (1, 0)])), "graph", None),
    "the labyrinth of 127 nodes": (labyrinth_env(), "graph", None),
    "few walls": (walled(5), "grid", (2, 3)),
    "many walls": (walled(4), "graph", None),
    "a circle of syllables": (syllables(12, circle(12)), "graph", None),
    "four syllables on a circle": (syllables(4, circle(4)), "graph", None),
    "syllables in a row": (syllables(4, [[i, 0] for i in range(4)]), "graph", None),
    "a ring track": (line_env(circle(16), loop=True), "graph", None),
    "no coordinates": (fully_connected(5), "names", None),
    "a coordinate that is not known": (line_env([[0, 0], [1, 0], [np.nan, 0]]), "names", None),
    "a corridor": (line_env([[i, 0] for i in range(7)]), "grid", (1, 7)),
    "a corridor from north to south": (line_env([[3, 0.5 * i] for i in range(7)]), "grid", (7, 1)),
    "a corridor off the level by rounding": (line_env([[i, 0.3 if i % 2 else 0.1 + 0.2] for i in range(7)]), "grid",
                                             (1, 7)),
    "a corridor across": (line_env([[i, i] for i in range(7)]), "graph", None),
    "a corridor of uneven steps": (line_env([[0, 0], [1, 0], [3, 0], [3.5, 0]]), "graph", None),
    "a corridor with a jump": (line_env([[0, 0], [1, 0], [3, 0], [4, 0]]), "graph", None),
    "steps of a third": (grid_env(rectangle(4, 4), width=1 / 3, height=1 / 3), "grid", (4, 4)),
    "steps of a third, to two digits": (grid_env(rectangle(30, 30), width=1 / 3, height=1 / 3, decimals=2), "grid",
                                        (30, 30)),
    "pixels": (grid_env(rectangle(3, 5), width=127.4, height=127.4), "grid", (3, 5)),
    "oblong cells": (grid_env(rectangle(3, 5), width=80.0, height=60.0), "grid", (3, 5)),
    "cells off their place": (grid_env(rectangle(4, 4), jitter=0.2), "graph", None),
    "a diagonal step": (MDP.deterministic([[3, 1], [2, 0], [3, 1], [0, 2]], coordinates=[[0, 0], [1, 0], [1, 1],
                                                                                         [0, 1]]), "grid", (2, 2)),
    "a teleport": (line_env([[i, 0] for i in range(7)], loop=True), "graph", None),
    "two states at one place": (line_env([[0, 0], [1, 0], [1, 0], [2, 0]]), "graph", None),
    "three states in a row": (line_env([[0, 0], [1, 0], [2, 0]]), "grid", (1, 3)),
    "three states around a corner": (grid_env([(0, 0), (0, 1), (1, 1)]), "grid", (2, 2)),
    "three states around a long corner": (grid_env([(0, 0), (0, 1), (1, 1)], width=5.0, height=3.0), "graph", None),
    "four states at the corners of a rectangle": (grid_env(rectangle(2, 2), width=5.0, height=3.0), "grid", (2, 2)),
    "three states on a circle": (syllables(3, circle(3)), "graph", None),
    "three states that jump": (JUMP, "graph", None),
    "two states": (line_env([[5, 5], [7, 5]]), "grid", (1, 2)),
    "two states across from one another": (syllables(2, circle(2)), "grid", (1, 2)),
    "one state": (MDP.deterministic([[0]], coordinates=[[3, 3]]), "grid", (1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_what_an_environment_is_drawn_as(name):
    env, kind, shape = ENVIRONMENTS[name]
    assert kind_of(env) == kind
    cells = lattice(env)
    assert (cells and cells.shape) == shape
    if cells is not None:
        assert len(np.unique(cells.cells)) == env.n_states


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_report_draws_what_the_figures_draw(name):
    env, kind, _ = ENVIRONMENTS[name]
    assert places(env)["kind"] == {"names": "table"}.get(kind, kind)
    ax = state_map(env, np.arange(float(env.n_states)), colour_bar=False)
    labels = {shape.get_label() for shape in ax.collections}
    assert ("outline" in labels, "corridors" in labels) == (kind == "grid", kind == "graph")


def test_rows_and_columns_and_the_shape_of_a_cell():
    shuffled = [(1, 1), (0, 0), (1, 2), (0, 2), (0, 1), (1, 0)]
    cells = lattice(grid_env(shuffled, width=80.0, height=60.0))
    assert list(zip(cells.row.tolist(), cells.column.tolist(), strict=True)) == shuffled
    assert cells.cells.tolist() == [4, 0, 5, 2, 1, 3]
    assert cells.aspect == 0.75
    assert cells.is_full
    assert not lattice(grid_env(rectangle(3, 4, [(1, 1)]))).is_full


def test_where_the_report_puts_oblong_cells():
    found = places(grid_env(rectangle(2, 2), width=80.0, height=60.0))
    assert found["cell"] == [1.333, 1]
    assert found["xy"] == [[0, 1], [1.333, 1], [0, 0], [1.333, 0]]
    assert places(grid_env(rectangle(2, 2), width=3.0, height=3.0))["cell"] == [1, 1]


def test_moves_that_can_happen():
    env = MDP(
        [[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]],
        available=[[True, True], [True, False], [True, False]],
    )
    assert possible_moves(env).tolist() == [[0, 0], [0, 1], [0, 2], [1, 1], [2, 0]]


def test_a_layout_needs_places():
    corridor = layout(line_env([[0, 0], [2, 0], [6, 0]]))
    assert corridor.unit == 2.0
    assert corridor.corridors.tolist() == [[0, 1], [1, 2]]
    assert corridor.lengths.tolist() == [2.0, 2.0, 4.0, 4.0]
    assert not has_places(fully_connected(3))
    with pytest.raises(ValueError, match="it has no coordinates"):
        layout(fully_connected(3))
    with pytest.raises(ValueError, match=r"coordinates of state 1 are \[nan, 0.0\] \(1 such states\)"):
        layout(line_env([[0, 0], [np.nan, 0]]))


@pytest.mark.parametrize("first", ["A1", "r0c0", "1-1", "A01", "1A"])
def test_rows_and_columns_are_read_from_the_names_of_cells(first):
    env = grid(12, 11, labels=first)
    cells = lattice(env)
    found = edges(cells, env.state_names)
    assert (len(found.rows), len(found.columns)) == cells.shape
    for name, row, column in zip(env.state_names, cells.row, cells.column, strict=True):
        assert name.replace("-", "") == found.rows[row] + found.columns[column]


def test_numbers_are_rows_first_or_x_first_as_the_places_say():
    env = grid(3, 4)
    cells = lattice(env)
    by_row = edges(cells, [f"({r}, {c})" for r, c in zip(cells.row, cells.column, strict=True)])
    assert (by_row.rows, by_row.columns, by_row.words) == (list("012"), list("0123"), ("row", "column"))
    by_x = edges(cells, [f"({x:.1f},{y:.1f})" for x, y in env.coordinates - 1])  # y grows upwards, row 0 is at the top
    assert by_x.words == ("y", "x")
    assert by_x.rows == [f"{y:.1f}" for y in sorted(set(env.coordinates[:, 1] - 1), reverse=True)]


@pytest.mark.parametrize(
    "names", [[str(s) for s in range(12)], [f"(0, {s})" for s in range(12)], [f"({s}, {s})" for s in range(12)]]
)
def test_other_names_have_no_rows_and_columns(names):
    assert edges(lattice(grid(3, 4)), names) is None
