"""Parameters are counted as the data see them: no gauge, nothing of states that were never visited."""

import numpy as np
import pytest

from swirl import SWIRL, datasets
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators import free_parameters
from swirl.estimators.free_parameters import information_criteria, n_free_parameters
from swirl.rewards.gauge import gauge_basis

WORLD = datasets.gridworld(n_sessions=60, n_steps=100)
LONG = WORLD.trajectories


def fitted(**settings):
    return SWIRL(WORLD.env, **{"n_restarts": 1, "max_iter": 15, **settings}).fit(LONG)


def counted(model, data=LONG):
    return n_free_parameters(model.em_problem(data), model.restarts_[0].parameters)


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["state", "state-action"])
def test_rewards_count_without_their_gauge(reward):
    """All states are visited, so what is left of the rewards is what `gauge_basis` does not move."""
    model = fitted(n_modes=1, history=1, reward=reward)
    basis = gauge_basis(WORLD.env.successors, discount=model.discount, per_action=reward == "state-action")
    n_rewards = basis.rewards.shape[0]
    assert counted(model) == n_rewards - basis.n_moves


@pytest.mark.slow
@pytest.mark.parametrize(
    ("switching", "expected"), [("independent", 2), ("state-table", 2 * 25), ("state", 2 + 24)], ids=str
)
def test_switching_counts_without_its_own(switching, expected):
    """Beside two rewards of 24 each and p(z_1); weights of states move with the constant of each mode."""
    assert counted(fitted(n_modes=2, history=1, switching=switching)) == 2 * 24 + 1 + expected


@pytest.mark.slow
def test_states_that_were_never_visited_count_nothing():
    env = MDP.deterministic([[1, 1], [2, 0], [2, 0], [3, 0]])  # nobody ever comes to state 3
    data = Trajectories([[0, 1, 2, 0, 1, 0, 1, 2, 2, 0, 1]] * 4, [[0, 0, 1, 0, 1, 0, 0, 0, 1, 0]] * 4)
    model = SWIRL(env, n_modes=1, history=1, n_restarts=1, max_iter=15).fit(data)
    assert counted(model, data) == 2  # the choice in 1 and the choice in 2; in 0 there is none


@pytest.mark.slow
def test_aic_and_bic():
    model = fitted(n_modes=2, history=1, switching="independent")
    found = information_criteria(model, LONG)
    assert found["free_parameters"] == 51
    assert found["log_likelihood"] == pytest.approx(model.log_likelihood(LONG).sum())
    assert found["aic"] == pytest.approx(2 * 51 - 2 * found["log_likelihood"])
    assert found["bic"] == pytest.approx(51 * np.log(6000) - 2 * found["log_likelihood"])


@pytest.mark.slow
def test_what_is_too_large_is_not_counted(monkeypatch):
    monkeypatch.setattr(free_parameters, "MOST_PARAMETERS", 10)
    found = information_criteria(fitted(n_modes=1, history=1), LONG)
    assert (found["free_parameters"], found["aic"], found["bic"]) == (None, None, None)
