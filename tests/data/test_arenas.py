"""Arenas in a few words: which way is up, what walls shut, and names that count on from the first."""

import numpy as np
import pytest

from swirl import MDP
from swirl.data.arenas import cell_names, cells_of, graph, grid, linear, plus_maze, ring, t_maze, text_map
from swirl.data.geometry import lattice
from swirl.io.environment_files import read_environment, write_environment


def leads(env, state, action):
    """The name of the state that an action leads to; None where there is no such action."""
    s, a = env.state_names.index(state), env.action_names.index(action)
    return env.state_names[int(env.successors.next[s, a, 0])] if env.available[s, a] else None


def place(env, state):
    return env.coordinates[env.state_names.index(state)].tolist()


def test_the_first_row_is_at_the_top_and_y_grows_upwards():
    env = grid(6, 6)
    assert (env.n_states, env.state_names[0], env.state_names[-1]) == (36, "A1", "F6")
    assert (place(env, "A1"), place(env, "A6"), place(env, "F1")) == ([0, 5], [5, 5], [0, 0])
    assert [leads(env, "B2", move) for move in ("up", "down", "left", "right")] == ["A2", "C2", "B1", "B3"]
    assert [leads(env, "A1", move) for move in ("up", "down", "left", "right")] == [None, "B1", None, "A2"]
    cells = lattice(env)  # as maps and the report draw it: row 0 at the top
    assert cells.shape == (6, 6)
    assert (cells.row[env.state_names.index("A6")], cells.row[env.state_names.index("F1")]) == (0, 5)
    assert text_map(env).splitlines()[1].split()[1:3] == ["A1", "A2"]


def test_rows_may_count_upwards():
    env = grid(6, 6, y_down=False)
    assert (place(env, "A1"), place(env, "F1")) == ([0, 0], [0, 5])
    assert [leads(env, "B2", move) for move in ("up", "down")] == ["C2", "A2"]
    assert text_map(env).splitlines()[1].split()[1:3] == ["F1", "F2"]


@pytest.mark.parametrize(
    ("first", "some"),
    [
        ("A1", {0: "A1", 1: "A2", 12: "B1", 27 * 12: "AB1"}),
        ("A1…", {0: "A1", 11: "A12"}),
        ("a1", {12: "b1"}),
        ("A01", {0: "A01", 11: "A12"}),
        ("1A", {0: "1A", 1: "1B", 12: "2A"}),
        ("r0c0", {0: "r0c0", 13: "r1c1"}),
        ("R1C1", {0: "R1C1", 13: "R2C2"}),
        ("0_0", {13: "1_1"}),
        ("0", {0: "0", 13: "13"}),
        ("1", {0: "1", 13: "14"}),
        ("01", {0: "01", 13: "14"}),
        ("cell 1", {0: "cell 1", 13: "cell 14"}),
    ],
)
def test_labels_count_on_from_the_first(first, some):
    names = cell_names(first, 30, 12)
    assert len(set(names)) == 360
    assert {i: names[i] for i in some} == some


@pytest.mark.parametrize("first", ["", "foo", "B2", "é"])
def test_labels_that_are_none(first):
    with pytest.raises(ValueError, match=r"labels=.*what the first cell is called, such as A1"):
        cell_names(first, 2, 2)


def test_walls_shut_both_ways_and_obstacles_are_no_states():
    env = grid(3, 3, walls=[("A1", "A2"), ("B2", "C2")], blocked=["C3"])
    assert leads(env, "A1", "right") is None
    assert leads(env, "A2", "left") is None
    assert leads(env, "B2", "down") is None
    assert leads(env, "C2", "up") is None
    assert leads(env, "A1", "down") == "B1"
    assert "C3" not in env.state_names
    assert leads(env, "B3", "down") is None


def test_no_diagonal_move_squeezes_between_closed_corners():
    env = grid(2, 2, diagonal=True)
    assert leads(env, "A1", "down right") == "B2"
    one = grid(2, 2, diagonal=True, blocked=["A2"])
    assert leads(one, "A1", "down right") == "B2"  # round the corner by B1
    walled = grid(2, 2, diagonal=True, walls=[("A1", "A2"), ("B1", "B2")])
    assert "down right" not in walled.action_names
    assert leads(walled, "A1", "down") == "B1"


def test_staying_is_an_action_where_it_is_asked_for():
    assert "stay" not in grid(2, 2).action_names
    env = grid(2, 2, stay=True)
    assert all(leads(env, name, "stay") == name for name in env.state_names)


def test_faults_of_a_grid_are_told_together():
    with pytest.raises(ValueError, match=r"3 faults") as fault:
        grid(2, 2, walls=[("A1", "B2"), ("A1", "a2")], blocked=["Z9"])
    told = str(fault.value)
    assert "walls has A1-B2: these cells do not share a side" in told
    assert "there is no cell 'a2': they are A1 to B2; did you mean 'A2'?" in told
    assert "blocked: there is no cell 'Z9'" in told
    with pytest.raises(ValueError, match="cell A1: no way leads out of it; take a wall away, or block it"):
        grid(2, 2, walls=[("A1", "A2"), ("A1", "B1")], stay=True)
    with pytest.raises(ValueError, match="rows=0: expected a whole number from 1 to 1000"):
        grid(0, 2)
    with pytest.raises(ValueError, match="every cell is blocked"):
        grid(1, 2, blocked=["A1", "A2"])
    with pytest.raises(ValueError, match="one cell has no way to go"):
        grid(1, 1)


def test_tracks_rings_and_mazes():
    track = linear(4, stay=True)
    assert (leads(track, "1", "left"), leads(track, "1", "right"), leads(track, "4", "stay")) == (None, "2", "4")
    circle = ring(5)
    assert [leads(circle, "5", move) for move in ("clockwise", "back")] == ["1", "4"]
    around = np.linalg.norm(np.diff(circle.coordinates, axis=0), axis=1)
    np.testing.assert_allclose(around, 1.0)
    assert place(circle, "2")[0] > 0  # clockwise from the top: to the right
    tee = t_maze(2, 1)
    assert [leads(tee, "choice", move) for move in ("left", "right", "down")] == ["left1", "right1", "stem2"]
    assert place(tee, "stem1")[1] < place(tee, "choice")[1]
    cross = plus_maze(2)
    assert [leads(cross, "centre", move) for move in ("up", "down", "left", "right")] == [
        "north1", "south1", "west1", "east1",
    ]  # fmt: skip
    assert place(cross, "north2")[1] > place(cross, "centre")[1] > place(cross, "south2")[1]
    for make, wrong in ((linear, 1), (ring, 2), (plus_maze, 0), (t_maze, 0)):
        with pytest.raises(ValueError, match="expected a whole number, at least"):
            make(wrong)


def test_a_graph_of_places_and_ways():
    env = graph([("nest", "hall"), ("hall", "food")], {"nest": (0, 0), "hall": (1, 0), "food": (2, 1)}, stay=True)
    assert (leads(env, "hall", "food"), leads(env, "nest", "food"), leads(env, "food", "food")) == (
        "food",
        None,
        "food",
    )
    with pytest.raises(ValueError, match=r"ways lead to attic, which the table of places does not have"):
        graph([("nest", "attic")], {"nest": (0, 0)})
    with pytest.raises(ValueError, match="no way leads on from food"):
        graph([("nest", "food")], one_way=True)
    with pytest.raises(ValueError, match="two different places"):
        graph([("nest", "nest")])


@pytest.mark.parametrize(
    "env",
    [grid(3, 4, walls=[("A1", "A2")]), grid(2, 3, labels="0"), grid(2, 3, labels="1"),
     ring(6), t_maze(), linear(3)],
    ids=["grid", "from 0", "from 1", "ring", "T", "track"],
)  # fmt: skip
def test_they_come_back_from_their_files(env, tmp_path):
    write_environment(env, tmp_path / "arena.csv")
    again = read_environment(tmp_path / "arena.csv")
    assert (again.state_names or tuple(map(str, range(env.n_states)))) == env.state_names
    assert set(again.action_names) == set(env.action_names)
    order = [again.action_names.index(name) for name in env.action_names]
    np.testing.assert_array_equal(again.dense()[:, order], env.dense())
    np.testing.assert_array_equal(again.available[:, order], env.available)
    np.testing.assert_allclose(again.coordinates, env.coordinates)


def test_maps_as_text_show_walls_and_holes():
    drawn = text_map(grid(2, 3, walls=[("A1", "A2")], blocked=["B3"])).splitlines()
    assert drawn == [
        "+----+----+----+",
        "| A1 | A2   A3 |",
        "+    +    +----+",
        "| B1   B2 |",
        "+----+----+",
    ]
    assert text_map(ring(6)) is None
    assert text_map(ring(4)) is None  # its places lie as cells do, but its moves lead aside
    assert text_map(MDP.deterministic([[1, 0], [0, 1]])) is None
    assert text_map(grid(2, 30)) is None  # too wide
    assert cells_of(grid(2, 30)).max(axis=0).tolist() == [1, 29]
