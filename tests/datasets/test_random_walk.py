"""The null dataset: uniform, memoryless, nothing for a second mode to find."""

import numpy as np
import pytest

from swirl.data.mdp import MDP
from swirl.datasets import gridworld_env, labyrinth_env, random_walk
from swirl.estimators.swirl import SWIRL


@pytest.fixture(scope="module")
def maze():
    return random_walk(labyrinth_env(legal_only=True), n_sessions=100, n_steps=500)


def arrays(data):
    return np.stack(data.trajectories.states), np.stack(data.trajectories.actions)


def uneven():
    """Three rooms with three, two and one way to go."""
    return MDP.deterministic([[0, 1, 2], [2, 0, -1], [0, -1, -1]], action_names=["a", "b", "c"])


def test_actions_are_uniform_over_the_available_ones(maze):
    states, actions = arrays(maze)
    count = np.zeros((127, 4))
    np.add.at(count, (states, actions), 1)
    available = maze.env.available
    assert not count[~available].any()
    expected = available * count.sum(axis=1, keepdims=True) / available.sum(axis=1, keepdims=True)
    spread = np.sqrt(np.maximum(expected * (1 - 1 / available.sum(axis=1, keepdims=True)), 1))
    assert np.abs((count - expected) / spread).max() < 4.5


def test_actions_do_not_depend_on_the_past():
    states, actions = arrays(random_walk(uneven(), n_sessions=50, n_steps=400))
    count = np.zeros((3, 3, 3))
    np.add.at(count, (states[:, 1:], states[:, :-1], actions[:, 1:]), 1)
    for previous in range(3):
        rows = count[:, previous]
        share = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
        np.testing.assert_allclose(share[0], np.full(3, 1 / 3), atol=0.04)
        if rows[1].any():
            np.testing.assert_allclose(share[1], [0.5, 0.5, 0], atol=0.04)


def test_in_the_legal_maze_every_step_moves(maze):
    states, _ = arrays(maze)
    assert (states[:, 1:] != states[:, :-1]).all()
    maze.env.check(maze.trajectories)


def test_starts_are_uniform():
    starts = arrays(random_walk(gridworld_env(), n_sessions=5_000, n_steps=1))[0][:, 0]
    np.testing.assert_allclose(np.bincount(starts, minlength=25), 200, atol=60)


def test_a_slippery_environment_slips():
    env = gridworld_env(slip=0.5)
    data = random_walk(env, n_sessions=10, n_steps=200)
    env.check(data.trajectories)
    states, actions = arrays(data)
    meant = gridworld_env().successors.next[states[:, :-1], actions[:, :-1], 0]
    assert 0.2 < (states[:, 1:] != meant).mean() < 0.5


def test_names_seed_and_truth(maze):
    assert maze.trajectories.state_names == maze.env.state_names
    assert maze.trajectories.action_names == maze.env.action_names
    assert maze.truth is None
    assert maze.trajectories.modes is None
    a, b, c = (random_walk(uneven(), 3, 20, random_state=seed).trajectories for seed in (0, 0, 1))
    assert a.fingerprint() == b.fingerprint() != c.fingerprint()


@pytest.mark.slow
def test_one_mode_holds_it_exactly():
    """The docstring's claim: r(s) = −α log(number of available actions) makes the walk; its score follows."""
    env = uneven()
    data = random_walk(env, n_sessions=20, n_steps=100).trajectories
    ways = env.available.sum(axis=1)
    model = SWIRL.from_parameters(
        env,
        history=1,
        rewards=-2.0 * np.log(ways)[None],
        temperature=2.0,
        mode_transitions=np.ones((1, 1)),
        initial_modes=np.ones(1),
    )
    np.testing.assert_allclose(model.policies_[0], env.available / ways[:, None], atol=1e-9)
    assert model.score(data) == pytest.approx(-np.log(ways[np.concatenate(data.states)]).mean())


@pytest.mark.parametrize(("argument", "value"), [("n_sessions", 0), ("n_sessions", True), ("n_steps", -3)])
def test_sizes_that_make_no_walk_are_told(argument, value):
    with pytest.raises(
        ValueError, match=f"walk cannot be simulated: 1 fault.\n  1. {argument}={value}: expected a whole"
    ):
        random_walk(uneven(), **{argument: value})
