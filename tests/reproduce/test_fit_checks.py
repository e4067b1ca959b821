"""Predictive checks survive their file, and are simulated once."""

import numpy as np

from swirl import MDP, SWIRL, Trajectories
from swirl.analysis.predictive_checks import predictive_checks
from swirl.reproduce import fit_checks
from swirl.reproduce.cache import Ledger

RING = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
PLACES = {"start": 0}


def model():
    rewards = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    return SWIRL.from_parameters(
        RING, history=1, rewards=rewards, mode_transitions=[[0.9, 0.1], [0.1, 0.9]], initial_modes=[0.5, 0.5]
    )


def recording():
    data = model().sample(3, 40, random_state=1)
    return Trajectories(data.states, data.actions, n_states=3, n_actions=2)


def test_checks_come_back_as_they_were():
    made = predictive_checks(model(), recording(), places=PLACES, n_draws=3)
    again = fit_checks.from_rows(fit_checks.to_rows(made))
    assert again.real.keys() == made.real.keys()
    for key, value in made.real.items():
        np.testing.assert_equal(again.real[key], value)
        np.testing.assert_array_equal(again.simulated[key], made.simulated[key])
        np.testing.assert_equal(again.p_value(key), made.p_value(key))
    for key, values in made.simulated_values.items():
        for one, other in zip(again.simulated_values[key], values, strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_ledger_keeps_them(tmp_path, monkeypatch):
    first = fit_checks.checked(Ledger(tmp_path), "ring", {"fit": 1}, model(), recording(), places=PLACES, n_draws=3)
    monkeypatch.setattr(fit_checks, "predictive_checks", None)
    again = fit_checks.checked(Ledger(tmp_path), "ring", {"fit": 1}, model(), recording(), places=PLACES, n_draws=3)
    assert again.table().equals(first.table())
