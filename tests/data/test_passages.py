"""Passages that are never walked, or one way only: named where a wall is missing, and where nothing is nothing said."""

import numpy as np
import pytest

from swirl.data.arenas import grid
from swirl.data.environments import fully_connected
from swirl.data.mdp import MDP
from swirl.data.passages import ADVICE, DOOR, WALL, check_passages
from swirl.data.trajectories import Trajectories
from swirl.datasets import labyrinth_env, random_walk

MISSING = [("A1", "A2"), ("B2", "B3"), ("C2", "C3"), ("C4", "D4")]


def walked(env, n_sessions=20, n_steps=150, seed=0):
    return random_walk(env, n_sessions, n_steps, seed).trajectories


def named(passages):
    return {frozenset(passage[:2]) for passage in passages}


def states_of(env, pairs):
    return {frozenset(env.state_names.index(name) for name in pair) for pair in pairs}


def biased(env, seed, n_sessions=20, n_steps=150):
    """Walks of an animal that hardly ever does one thing and likes another."""
    rng, following = np.random.default_rng(seed), np.asarray(env.successors.next)[:, :, 0]
    liked = rng.permutation([8.0, 4.0, 2.0, 0.5])
    sessions = []
    for _ in range(n_sessions):
        states = [int(rng.integers(env.n_states))]
        for _ in range(n_steps - 1):
            weight = liked * env.available[states[-1]]
            states.append(int(following[states[-1], rng.choice(4, p=weight / weight.sum())]))
        sessions.append(np.array(states))
    return Trajectories(sessions, n_states=env.n_states)


def test_walls_that_the_environment_lacks_are_named_and_no_others():
    data = walked(grid(5, 5, walls=MISSING))
    found = check_passages(data, grid(5, 5))
    assert named(found.never) == states_of(grid(5, 5), MISSING)
    assert found.one_way == ()
    steps_per_passage = data.n_steps / 36
    assert all(0.5 * steps_per_passage < passage.expected < 2 * steps_per_passage for passage in found.never)
    assert all(passage.walked == 0 for passage in found.never)
    assert check_passages(data, grid(5, 5, walls=MISSING)).remarks == ()


@pytest.mark.parametrize(
    "env", [grid(5, 5), grid(8, 8), grid(5, 5, diagonal=True, stay=True), labyrinth_env(legal_only=True)]
)
def test_nothing_is_said_where_the_environment_is_right(env):
    assert check_passages(walked(env), env).remarks == ()


@pytest.mark.parametrize("seed", range(4))
def test_an_animal_that_prefers_a_direction_makes_no_wall(seed):
    assert check_passages(biased(grid(5, 5), seed), grid(5, 5)).remarks == ()


def test_few_steps_say_nothing():
    assert check_passages(walked(grid(5, 5, walls=MISSING), 1, 60), grid(5, 5)).remarks == ()
    assert check_passages(Trajectories([[0]]), grid(5, 5)).remarks == ()


def test_a_door_that_lets_through_one_way_only():
    env = grid(5, 5)
    one, two = env.state_names.index("C3"), env.state_names.index("C4")
    following, available = np.asarray(env.successors.next)[:, :, 0], env.available.copy()
    available[two] &= following[two] != one
    data = walked(MDP.deterministic(following, available=available, state_names=env.state_names))
    found = check_passages(data, env)
    assert [passage[:2] for passage in found.one_way] == [(one, two)]
    assert found.never == ()
    assert found.says[DOOR].startswith("1 passage of the environment was walked one way only: C3 to C4 (")
    assert found.remarks[0].endswith(ADVICE[DOOR])
    known = MDP.deterministic(following, available=available, state_names=env.state_names)
    assert check_passages(data, known).remarks == ()  # the environment knows


def test_where_everything_can_follow_everything_there_are_no_walls():
    """Syllables: the three-cycles that these sessions keep to are a grammar."""
    rng = np.random.default_rng(0)
    sessions = [np.arange(300) % 3 + 3 * rng.integers(0, 4, 300).cumsum() % 12 for _ in range(10)]
    assert check_passages(Trajectories(sessions, n_states=12), fully_connected(12)).remarks == ()


def test_gaps_and_labels_that_the_environment_lacks_are_passed_over():
    env = grid(5, 5, walls=MISSING)
    data = walked(env)
    cut = [np.concatenate([states[:75], [99], states[75:]]) for states in data.states]
    spoilt = Trajectories(cut, gaps=[[76]] * len(cut))
    assert named(check_passages(spoilt, grid(5, 5)).never) == named(check_passages(data, grid(5, 5)).never)
    assert WALL in check_passages(spoilt, grid(5, 5)).says
