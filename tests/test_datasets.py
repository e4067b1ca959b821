"""The simulated gridworld: DESIGN §5's constants, and data that come from its truth."""

import numpy as np
import pytest

from swirl.datasets import HOME, WATER, gridworld, gridworld_env, gridworld_rewards, gridworld_switching
from swirl.model import SWIRL


@pytest.fixture(scope="module")
def data():
    return gridworld(n_sessions=40, n_steps=100)


def test_moves_stay_inside_the_grid():
    env = gridworld_env()
    assert (env.n_states, env.n_actions, env.is_deterministic) == (25, 5, True)
    assert env.action_names == ("up", "left", "down", "right", "stay")
    following = env.successors.next[..., 0]
    assert following[12].tolist() == [7, 11, 17, 13, 12]
    assert following[0].tolist() == [0, 0, 5, 1, 0]
    assert following[24].tolist() == [19, 23, 24, 24, 24]


def test_rewards_are_the_papers():
    water, home = gridworld_rewards()
    assert water[WATER, WATER - 1] == water[WATER - 1, WATER] == 1  # arriving from elsewhere, and leaving
    assert water[WATER, WATER] == 0
    assert home[HOME, HOME] == home[HOME, 1] == 1
    assert home[1, HOME] == 0
    assert np.isnan(water[0, 24])
    known = np.isfinite(water)
    assert known.sum() == 105  # 25 stays and 2 · 40 moves between neighbours
    assert set(water[known]) == set(home[known]) == {0.0, 1.0}


def test_switching_is_the_papers():
    table = gridworld_switching()
    np.testing.assert_allclose(table.sum(axis=2), 1)
    assert table[WATER, 0, 1] == 0.36
    assert table[HOME, 1, 0] == 0.15
    assert table[12, 0, 1] == 0.004
    assert table[12, 1, 0] == 0.002
    assert 0.01 <= table[WATER - 1, 0, 1] <= 0.04


def test_the_data_are_drawn_from_the_truth(data):
    truth = data.truth
    assert truth.mode_names == ("water", "home")
    assert [m.tolist() for m in truth.modes] == [m.tolist() for m in data.trajectories.modes]
    model = SWIRL.from_parameters(
        data.env,
        history=2,
        rewards=truth.rewards,
        mode_transitions=truth.mode_transitions,
        initial_modes=truth.initial_modes,
        discount=truth.discount,
        temperature=truth.temperature,
    )
    # A draw scores as the model expects of itself: another draw of the same size scores alike.
    again = gridworld(n_sessions=40, n_steps=100, random_state=1).trajectories
    assert model.score(data.trajectories) == pytest.approx(model.score(again), abs=0.05)
    starts = np.array([s[0] for s in data.trajectories.states])
    assert len(np.unique(starts)) > 12


def test_the_seed_decides():
    a, b, c = (gridworld(n_sessions=2, n_steps=30, random_state=seed).trajectories for seed in (0, 0, 1))
    assert a.fingerprint() == b.fingerprint() != c.fingerprint()
