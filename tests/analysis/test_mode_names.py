"""Names of modes come from what they do: a hand-built session, and blindness to indices."""

from itertools import permutations

import numpy as np
import pytest

from swirl.analysis.mode_names import name_modes
from swirl.datasets import gridworld

# Mode 0 runs to the water (9) and once passes home, mode 1 runs home (0), mode 2 does neither.
MODES = [[0, 0, 0, 1, 1, 1, 2, 2, 2, 2], [0, 0, 1, 1, 2, 2, 2]]
STATES = [[1, 2, 3, 9, 2, 1, 0, 4, 5, 4], [3, 4, 9, 1, 0, 5, 4]]
GOALS = {"water": 9, "home": 0}


def test_names_and_evidence_by_hand():
    names, evidence = name_modes(MODES, STATES, GOALS)
    assert names == ("water", "home", "explore")
    assert evidence["name"].tolist() == list(names)
    assert evidence["steps"].tolist() == [5, 5, 7]
    assert evidence["arrivals_water"].tolist() == [2, 0, 0]
    assert evidence["arrivals_home"].tolist() == [0, 2, 0]
    # 15 steps that another follows: 5 in mode 0, 5 in mode 1, 5 in mode 2; 2 arrivals, so 2/3 expected of each
    assert evidence["ratio_water"].tolist() == pytest.approx([15 / 7, 3 / 7, 3 / 7])
    assert evidence["rate_home"].tolist() == pytest.approx([0, 40, 0])
    assert evidence["ends_at_water"].tolist()[0] == 1


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_names_follow_the_modes_when_they_are_renumbered(order):
    _, evidence = name_modes(MODES, STATES, GOALS)
    names, again = name_modes([np.array(order)[path] for path in MODES], STATES, GOALS)
    assert [names[new] for new in order] == ["water", "home", "explore"]
    numbers = evidence.columns[1:]
    np.testing.assert_allclose(again.loc[list(order), numbers].to_numpy(float), evidence[numbers].to_numpy(float))


def test_the_arrival_counts_for_the_mode_whose_action_led_there():
    names, _ = name_modes([[0, 0, 1, 1, 1, 1]], [[1, 2, 9, 3, 4, 5]], {"water": 9})
    assert names == ("water", "explore")


def test_an_arrival_over_a_gap_or_from_an_unlabelled_step_is_nobodys():
    modes, states = [[0, 0, 1, 1, 1]], [[1, 2, 9, 3, 4]]
    _, evidence = name_modes(modes, states, {"water": 9}, gaps=[[2]])
    assert evidence["arrivals_water"].tolist() == [0, 0]
    _, evidence = name_modes([[0, -1, 1, 1, 1]], states, {"water": 9})
    assert evidence["arrivals_water"].tolist() == [0, 0]


def test_staying_at_a_goal_is_no_arrival():
    _, evidence = name_modes([[0, 0, 1, 1, 1, 1]], [[1, 9, 9, 9, 9, 9]], {"water": 9})
    assert evidence["arrivals_water"].tolist() == [1, 0]


def test_modes_without_a_goal_explore_in_order_of_their_steps():
    modes = [[3, 1, 1, 0, 0, 0, 2, 2, 2]]
    states = [[1, 2, 3, 4, 9, 4, 3, 9, 4]]
    names, _ = name_modes(modes, states, {"water": 8}, n_modes=5)  # never reached
    assert names == ("explore", "explore 3", "explore 2", "explore 4", "explore 5")


def test_fewer_modes_than_goals():
    assert name_modes([[0, 0, 0, 0]], [[1, 9, 1, 0]], GOALS)[0] == ("explore",)  # one mode tells no difference
    modes, states, goals = [[0, 0, 0, 0, 1, 1, 1]], [[1, 2, 1, 9, 1, 2, 3]], {**GOALS, "other": 7}
    names, evidence = name_modes(modes, states, goals, min_ratio=1.0)
    assert names == ("water", "explore")
    assert 1.0 < evidence["ratio_water"][0] < 1.5
    assert name_modes(modes, states, goals)[0] == ("explore", "explore 2")  # a little more often is not enough


def test_the_true_modes_of_the_gridworld_get_their_names():
    data = gridworld(n_sessions=20, n_steps=200)
    names, evidence = name_modes(data.truth.modes, data.trajectories.states, {"water": 23, "home": 0})
    assert names == data.truth.mode_names
    assert evidence.loc[names.index("home"), "ratio_home"] > 1.3


def test_goals_must_be_given():
    with pytest.raises(TypeError, match="goals"):
        name_modes(MODES, STATES)
