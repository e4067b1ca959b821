"""Sketched animals: bouts last as long as was asked for, and what cannot be sketched is told."""

import numpy as np
import pytest

from swirl import datasets
from swirl.data.segments import bouts_of, find_segments
from swirl.datasets.sketch import bout_length, sketched, ways

GRID = datasets.gridworld_env()


def test_bouts_last_as_long_as_was_asked_for():
    truth = sketched(GRID, [4, 20], dwell=[15, 30], temperature=0.5)
    drawn = truth.sample(40, 1000, random_state=0)
    lasting = [bouts.mean for bouts in bouts_of(find_segments(drawn.modes), 2)]
    np.testing.assert_allclose(lasting, [15, 30], rtol=0.06)
    anywhere = sketched(GRID, [4, 20], dwell=15, ends="anywhere")
    np.testing.assert_allclose(anywhere.mode_transitions_[:, 0, 1], 1 / 15)


def test_a_bout_ends_only_at_its_goal():
    truth = sketched(GRID, [4, [20, 21]], dwell=20)
    drawn = truth.sample(10, 300, random_state=0)
    for states, modes in zip(drawn.states, drawn.modes, strict=True):
        ends = np.flatnonzero(np.diff(modes))
        assert len(ends) > 3
        assert all(state in ((4,), (20, 21))[mode] for state, mode in zip(states[ends], modes[ends], strict=True))


def test_noise_makes_it_stray():
    at_goal = []
    for temperature in (0.3, 1.0, 3.0):
        drawn = sketched(GRID, [4, 20], dwell=40, temperature=temperature, ends="anywhere").sample(5, 200)
        states, modes = np.concatenate(drawn.states), np.concatenate(drawn.modes)
        at_goal.append(np.mean(states == np.where(modes == 0, 4, 20)))
    assert at_goal[0] > at_goal[1] > at_goal[2]
    assert at_goal[0] > 0.6


def test_ways_are_those_of_simulations():
    truth = sketched(GRID, [4, 20], dwell=40, temperature=1.0)
    (mean, fewest), _ = ways(truth, [[4], [20]])
    drawn = sketched(GRID, [4, 20], dwell=5000, temperature=1.0, ends="anywhere")
    drawn.initial_states_, drawn.initial_modes_ = np.eye(25)[20], np.array([1.0, 0.0])
    first = [1 + np.argmax(states == 4) for states in drawn.sample(2000, 200, random_state=0).states]
    assert fewest == 9  # eight moves, and the step at the goal
    assert np.mean(first) == pytest.approx(mean, rel=0.05)


def test_one_mode_may_explore():
    truth = sketched(GRID, [4], dwell=20, explore=True)
    np.testing.assert_allclose(truth.policies_[1], 0.2)
    np.testing.assert_allclose(truth.mode_transitions_[:, 1, 0], 0.05)
    assert bout_length(np.full((25, 25), 0.04), np.full(25, 0.05), np.full(25, 0.04)) == pytest.approx(20)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"goals": [4]}, "got 1 goal, expected two or more"),
        ({"goals": [4, 25]}, "got 25, expected a state from 0 to 24"),
        ({"goals": [4, []]}, r"got \[\], expected a state"),
        ({"dwell": 1}, "dwell=1: expected a number of steps above 1"),
        ({"dwell": [10, 10, 10]}, "one for each of 2 modes"),
        ({"dwell": 3}, r"the way to the goal of mode 0 takes .* steps"),
        ({"temperature": 0}, "temperature=0: expected a number above 0"),
        ({"ends": "never"}, "ends='never'"),
    ],
)
def test_what_cannot_be_sketched_is_told(wrong, words):
    with pytest.raises(ValueError, match=words):
        sketched(GRID, **{"goals": [4, 20], **wrong})
