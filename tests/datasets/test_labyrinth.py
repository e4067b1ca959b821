"""The maze of Rosenberg et al.: the authors' table, a walker's left and right, and the layout on the grid."""

import os
from pathlib import Path

import numpy as np
import pytest

from swirl.data.trajectories import Trajectories
from swirl.datasets import LABYRINTH_ACTIONS, LABYRINTH_HOME, LABYRINTH_WATER, labyrinth_env

IN_LEFT, IN_RIGHT, OUT_LEFT, OUT_RIGHT = range(4)


def stored(name):
    root = Path(os.environ.get("SWIRL_DATA_DIR") or Path(__file__).parents[3] / "shared" / "data")
    path = root / "labyrinth" / name
    if not path.exists():
        pytest.skip(f"the labyrinth's data are not at {path}: set SWIRL_DATA_DIR to the folder that holds labyrinth/")
    return np.load(path)


@pytest.fixture(scope="module")
def env():
    return labyrinth_env()


def following(env):
    return np.asarray(env.successors.next)[..., 0]


def test_it_is_the_authors_table(env):
    np.testing.assert_array_equal(env.dense(), stored("trans_probs.npy"))


def test_the_recordings_fit(env):
    recorded = stored("emissions500new.npy").astype(int)
    data = Trajectories(list(recorded[:, :, 0]), list(recorded[:, :, 1]), n_states=127, n_actions=4)
    env.check(data)
    with pytest.raises(ValueError, match=r"state 0 \(0\), action 3 \(out right\)"):  # the exits
        labyrinth_env(legal_only=True).check(data)


def test_some_rows_of_the_authors_table(env):
    rows = {
        0: [1, 2, 0, 0],
        1: [3, 4, 0, 1],
        2: [6, 5, 2, 0],
        3: [8, 7, 1, 3],
        4: [9, 10, 4, 1],
        5: [12, 11, 5, 2],
        6: [13, 14, 2, 6],
        8: [18, 17, 3, 8],
        13: [27, 28, 6, 13],
        62: [126, 125, 62, 30],
        63: [63, 63, 31, 63],
        64: [64, 64, 64, 31],
    }
    assert {node: following(env)[node].tolist() for node in rows} == rows


def test_it_is_a_binary_tree(env):
    table = following(env)
    for node in range(127):
        children = set(table[node, [IN_LEFT, IN_RIGHT]].tolist()) - {node}
        assert children == ({2 * node + 1, 2 * node + 2} if node < 63 else set())
        way_out = set(table[node, [OUT_LEFT, OUT_RIGHT]].tolist()) - {node}
        assert way_out == ({(node - 1) // 2} if node else set())
    # What goes in on one side comes out on the same.
    for go_in, go_out in ((IN_LEFT, OUT_LEFT), (IN_RIGHT, OUT_RIGHT)):
        np.testing.assert_array_equal(table[table[:63, go_in], go_out], np.arange(63))


def test_left_and_right_are_those_of_a_walker(env):
    """Walk from the coordinates alone: a quarter turn from the way one came points down the corridor."""
    places, table = env.coordinates, following(env)
    entrance = np.array([0.0, 7.0])
    for node in range(63):
        came_from = places[(node - 1) // 2] if node else entrance
        x, y = np.sign(places[node] - came_from)
        for action, turned in ((IN_LEFT, (-y, x)), (IN_RIGHT, (y, -x))):
            np.testing.assert_array_equal(np.sign(places[table[node, action]] - places[node]), turned)


def test_the_maze_fills_a_square(env):
    places = env.coordinates.astype(int)
    ends = places[63:]
    assert sorted(map(tuple, ends.tolist())) == [(x, y) for x in range(0, 15, 2) for y in range(0, 15, 2)]
    assert places[LABYRINTH_HOME].tolist() == [7, 7]
    assert places[LABYRINTH_WATER].tolist() == [14, 6]
    # Corridors, the entrance's too, are straight, and no two share a cell.
    cells = [(x, 7) for x in range(8)]
    for node in range(1, 127):
        step = places[node] - places[(node - 1) // 2]
        length = np.abs(step).sum()
        assert (step == 0).sum() == 1
        assert length == [4, 4, 2, 2, 1, 1][int(np.log2(node + 1)) - 1]
        cells += [tuple(places[node] - i * step // length) for i in range(length)]
    assert len(set(cells)) == len(cells)


def test_names(env):
    assert env.state_names == tuple(str(i) for i in range(127))
    assert env.action_names == LABYRINTH_ACTIONS == ("in left", "in right", "out left", "out right")
    assert (LABYRINTH_HOME, LABYRINTH_WATER) == (0, 116)
    assert env.available.all()


def test_legal_only_leaves_out_what_stays(env):
    legal = labyrinth_env(legal_only=True)
    stays = following(env) == np.arange(127)[:, None]
    np.testing.assert_array_equal(legal.available, ~stays)
    assert legal.available.sum() == 2 * 126  # each corridor both ways
    np.testing.assert_array_equal(following(legal), following(env))
    np.testing.assert_array_equal(legal.coordinates, env.coordinates)
