"""Kinds of places and names of moves: against a plain comparison of what lies around, and on worlds known by heart."""

import numpy as np
import pytest

from swirl.data.local_shape import name_moves, place_kinds
from swirl.data.mdp import MDP
from swirl.datasets import gridworld_env, labyrinth_env


def surroundings(env, state, radius):
    """What is seen from a state, as nested tuples: the plain definition of its kind."""
    if radius == 0:
        return ()
    following = {int(s) for s in env.successors.next[state][env.successors.possible[state]]} - {state}
    return tuple(sorted(surroundings(env, other, radius - 1) for other in following))


@pytest.mark.parametrize("radius", [0, 1, 2, 3])
def test_places_are_of_one_kind_when_their_surroundings_are_alike(radius):
    for env in (gridworld_env(), labyrinth_env()):
        kinds = place_kinds(env, radius)
        seen = [surroundings(env, state, radius) for state in range(env.n_states)]
        same = kinds[:, None] == kinds
        assert (same == np.array([[a == b for b in seen] for a in seen])).all()


def test_in_the_labyrinth_three_steps_tell_how_deep_a_place_lies():
    depth = np.floor(np.log2(np.arange(127) + 1)).astype(int)
    kinds = place_kinds(labyrinth_env(), 3)
    assert len(set(zip(kinds.tolist(), depth.tolist(), strict=True))) == 7


def test_moves_by_next_are_out_and_the_two_children_whatever_the_actions_are_called():
    env = labyrinth_env(legal_only=True)
    moves = name_moves(env, place_kinds(env, 3), by="next")
    for node in (3, 4, 5, 6):  # all of one depth
        names = moves.of(np.full(3, node), np.array([(node - 1) // 2, 2 * node + 1, 2 * node + 2]))
        assert names.tolist() == moves.of(np.full(3, 3), np.array([1, 7, 8])).tolist()
        assert len(set(names.tolist())) == 3
        where = env.successors.next[node, :, 0]
        for action in np.flatnonzero(env.available[node]):
            assert moves.choices[node, action] == moves.of(np.array([node]), where[[action]])


def test_moves_by_compass_are_directions():
    env = gridworld_env()
    moves = name_moves(env, np.zeros(25, dtype=int), by="compass")
    following = env.successors.next[12, :, 0]
    way = env.coordinates[following] - env.coordinates[12]
    for state in (6, 7, 8):
        other = env.successors.next[state, :, 0]
        assert (env.coordinates[other] - env.coordinates[state] == way).all()
        assert moves.choices[state].tolist() == moves.choices[12].tolist()
    assert len(set(moves.choices[12].tolist())) == len({tuple(w) for w in way.tolist()})


def test_moves_by_action_are_the_action_that_most_likely_made_them():
    env = MDP([[[0.2, 0.8], [0.9, 0.1]], [[0.0, 1.0], [0.6, 0.4]]])
    moves = name_moves(env, np.zeros(2, dtype=int), by="action")
    assert moves.choices.tolist() == [[0, 1], [0, 1]]
    assert moves.of(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])).tolist() == [1, 0, 1, 0]


def test_a_compass_needs_coordinates_and_a_coding_its_name():
    env = MDP.deterministic([[1, 0], [0, 1]])
    with pytest.raises(ValueError, match='moves="compass": the environment has no coordinates'):
        name_moves(env, [0, 0], by="compass")
    with pytest.raises(ValueError, match="moves='turn': expected"):
        name_moves(env, [0, 0], by="turn")
    assert name_moves(env, [0, 0]).choices.tolist() == [[0, 1], [0, 1]]  # by action, where nothing else is known
