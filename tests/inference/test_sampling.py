"""Sampling: frequencies against probabilities, the same seed the same draw, never what has probability zero."""

import numpy as np
import pytest

from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.inference.sampling import draw, simulate

ENV = MDP(
    [[[0.7, 0.3, 0], [0, 0, 1]], [[0.2, 0, 0.8], [0, 1, 0]], [[0.5, 0.5, 0], [1, 0, 0]]],
    available=[[True, True], [True, True], [True, False]],
)


class Always(np.random.Generator):
    """A generator that always draws the same number."""

    def __init__(self, number):
        super().__init__(np.random.PCG64(0))
        self.number = number

    def random(self, shape):
        return np.full(shape, self.number)


def model(length=2, n_modes=2, seed=0):
    """Random policies and switching over the histories of `ENV`."""
    rng = np.random.default_rng(seed)
    histories = Histories.reachable(ENV.successors, length)
    policies = rng.dirichlet(np.ones(2), size=(n_modes, histories.n_histories))
    policies = np.where(histories.successors.available, policies, 0)
    return histories, {
        "initial_states": np.array([0.2, 0.8, 0.0]),
        "initial_modes": np.array([0.9, 0.1]),
        "mode_transitions": rng.dirichlet(np.ones(n_modes), size=(3, n_modes)),
        "policies": policies / policies.sum(axis=-1, keepdims=True),
    }


def sample(histories, parameters, n_sessions=400, n_steps=50, seed=1):
    rng = np.random.default_rng(seed)
    return simulate(histories, **parameters, n_sessions=n_sessions, n_steps=n_steps, rng=rng)


def assert_frequencies(counts, probabilities, standard_deviations=4.5):
    """Each count within a few binomial standard deviations of what its row of `probabilities` promises."""
    totals = counts.sum(axis=-1, keepdims=True)
    assert (counts[np.broadcast_to(probabilities == 0, counts.shape)] == 0).all()
    spread = np.sqrt(totals * probabilities * (1 - probabilities))
    assert (np.abs(counts - totals * probabilities) <= standard_deviations * spread + 1e-9).all()
    assert totals.max() > 100, "the test has something to count"


def test_draw_has_the_frequencies_of_each_row():
    probabilities = np.array([[0.5, 0.3, 0.2], [0.0, 0.01, 0.99]])
    drawn = draw(np.broadcast_to(probabilities, (20_000, 2, 3)), np.random.default_rng(0))
    assert drawn.shape == (20_000, 2)
    counts = np.stack([np.bincount(drawn[:, row], minlength=3) for row in range(2)])
    assert_frequencies(counts, probabilities)


def test_draw_scales_rows_that_do_not_quite_sum_to_one():
    drawn = draw(np.tile([0.2, 0.2], (10_000, 1)), np.random.default_rng(0))
    assert_frequencies(np.bincount(drawn, minlength=3)[:2], np.array([0.5, 0.5]))


@pytest.mark.parametrize("number", [0.0, 1e-300, 0.1, 0.3, 0.5, 0.75, 1 - 2.0**-53])
def test_draw_never_picks_what_has_probability_zero(number):
    rng = np.random.default_rng(0)
    rows = rng.random((2_000, 7)) * (rng.random((2_000, 7)) < 0.4)
    rows[:, 3] += 1e-3
    rows /= rows.sum(axis=1, keepdims=True)
    rows = np.concatenate([rows, [[0, 0, 0, 1.0, 0, 0, 0], [0.1, 0, 0.2, 0, 0.7, 0, 0], [0, 0.5, 0, 0.25, 0, 0.25, 0]]])
    drawn = draw(rows, Always(number))
    assert (rows[np.arange(len(rows)), drawn] > 0).all()


def test_same_generator_same_draw():
    histories, parameters = model()
    for first, second in zip(sample(histories, parameters), sample(histories, parameters), strict=True):
        np.testing.assert_array_equal(first, second)
    states, _, _ = sample(histories, parameters)
    other, _, _ = sample(histories, parameters, seed=2)
    assert (states != other).any()


@pytest.mark.parametrize("length", [1, 2, 3])
def test_frequencies_follow_the_model(length):
    histories, parameters = model(length)
    states, actions, modes = sample(histories, parameters)
    assert states.shape == actions.shape == modes.shape == (400, 50)
    assert_frequencies(np.bincount(states[:, 0], minlength=3), parameters["initial_states"])
    assert_frequencies(np.bincount(modes[:, 0], minlength=2), parameters["initial_modes"])

    switches = np.zeros((3, 2, 2))
    np.add.at(switches, (states[:, :-1], modes[:, :-1], modes[:, 1:]), 1)
    assert_frequencies(switches, parameters["mode_transitions"])

    moves = np.zeros((3, 2, 3))
    np.add.at(moves, (states[:, :-1], actions[:, :-1], states[:, 1:]), 1)
    assert_frequencies(moves[ENV.available], ENV.dense()[ENV.available])

    starts = np.zeros(states.shape, bool)
    starts[:, 0] = True
    followed = histories.follow(states.ravel(), starts.ravel()).reshape(states.shape)
    choices = np.zeros(parameters["policies"].shape)
    np.add.at(choices, (modes, followed, actions), 1)
    assert_frequencies(choices, parameters["policies"])


def test_unavailable_actions_are_never_taken():
    histories, parameters = model(length=1)
    states, actions, _ = sample(histories, parameters)
    assert ENV.available[states, actions].all()


def test_a_model_without_chance_is_followed_to_the_letter():
    ring = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
    histories = Histories.reachable(ring.successors, 2)
    policies = np.zeros((2, histories.n_histories, 2))
    policies[0, :, 1] = policies[1, :, 0] = 1.0  # mode 0 steps, mode 1 stays
    switching = np.tile(np.eye(2), (3, 1, 1))
    switching[2] = [[0, 1], [1, 0]]  # state 2 changes the mode
    states, actions, modes = simulate(
        histories,
        initial_states=np.array([0.0, 1.0, 0.0]),
        initial_modes=np.array([1.0, 0.0]),
        mode_transitions=switching,
        policies=policies,
        n_sessions=2,
        n_steps=6,
        rng=np.random.default_rng(0),
    )
    for session in range(2):
        assert states[session].tolist() == [1, 2, 0, 0, 0, 0]
        assert actions[session].tolist() == [1, 1, 0, 0, 0, 0]
        assert modes[session].tolist() == [0, 0, 1, 1, 1, 1]
