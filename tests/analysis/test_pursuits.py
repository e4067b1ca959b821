"""Pursuits of goals on a path where every number is known by thought, and from a fitted model."""

import numpy as np
import pytest

from small_worlds import with_goals
from swirl.analysis.pursuits import find_pursuits, goal_summary, pursuits, steps_by_distance
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.rewards import Goals
from swirl.rewards.forms import Goal

LINE = MDP.deterministic([[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]])  # left and right, staying at the ends
GOALS = {1: 0, 2: 4}  # mode 1 goes to the left end, mode 2 to the right one
STATES = [
    [2, 1, 2, 1, 0, 0, 1, 0, 1, 2, 3, 4, 3, 2],
    [3, 4, 4, 3, 2],
]
MODES = [
    [0, 1, 1, 1, 1, 1, 1, 1, 0, 2, 2, 0, 0, 1],
    [2, 2, 1, 1, 0],
]
# Reached by a detour, with a step of rest; again at once; at the step after the mode; the recording stops; it started
# on the way; dropped.
BY_HAND = {
    "session": [0, 0, 0, 0, 1, 1],
    "start": [1, 6, 9, 13, 0, 2],
    "mode": [1, 1, 2, 1, 2, 1],
    "steps": [3, 1, 2, 1, 1, 2],
    "reached": [True, True, True, False, True, False],
    "distance": [1, 1, 2, 2, 1, 4],
    "stays": [2, 1, 1, 0, 2, 0],
    "next_mode": [1, 0, 0, -1, 1, 0],
    "cut_start": [False, False, False, False, True, False],
    "cut_end": [False, False, False, True, False, False],
}


def test_pursuits_by_hand():
    table = find_pursuits(MODES, STATES, LINE, GOALS).table()
    assert {name: table[name].tolist() for name in table} == BY_HAND


def test_the_summary_by_hand():
    found = find_pursuits(MODES, STATES, LINE, GOALS)
    left, right = goal_summary(found, MODES, STATES, LINE, GOALS)
    assert (left["mode"], left["pursuits"], left["reached"], left["timed"]) == (1, 4, 2, 2)
    assert left["share_of_steps"] == pytest.approx(10 / 19)
    assert left["share_reached"] == pytest.approx(2 / 3)  # of three: the end of one was not recorded
    assert left["steps_to_goal"] == [1.5, 2, 2.5]
    assert left["excess"] == [0.5, 1, 1.5]
    assert left["stays"] == [1.25, 1.5, 1.75]
    assert left["next_modes"] == {0: 1, 1: 1}
    assert (right["pursuits"], right["timed"], right["share_reached"]) == (2, 1, 1.0)  # one had begun already
    assert (right["steps_to_goal"][1], right["excess"][1]) == (2, 0)
    assert right["next_modes"] == {0: 1, 1: 1}
    # From 0 straight to 4 at steps 7 to 11, of which mode 2 has two; it has two more elsewhere.
    assert (right["precision"], right["recall"], right["f1"]) == (0.5, 2 / 5, pytest.approx(4 / 9))
    assert np.isnan(left["recall"])  # no direct run of three moves


def test_steps_by_distance_by_hand():
    by = steps_by_distance(*find_pursuits(MODES, STATES, LINE, GOALS).of(1))
    assert {name: values.tolist() for name, values in by.items()} == {
        "distance": [1], "pursuits": [2], "low": [1.5], "median": [2], "high": [2.5],
    }  # fmt: skip


def test_a_gap_ends_a_pursuit():
    found = find_pursuits(MODES, STATES, LINE, GOALS, gaps=[[4], []]).table().iloc[:2]
    assert found["start"].tolist() == [1, 4]
    assert found["cut_end"].tolist() == [True, False]
    assert found["steps"].tolist() == [3, 0]  # it was dropped before the gap; after it, it is there
    assert found["next_mode"].tolist() == [-1, 1]
    assert found["cut_start"].tolist() == [False, True]


def test_a_goal_that_cannot_be_reached_has_no_distance_and_none_pursued_no_numbers():
    one_way = MDP.deterministic([[0, 1], [1, 1]])
    found = find_pursuits([[0, 1, 1]], [[0, 1, 1]], one_way, {1: 0, 2: 1})
    assert np.isnan(found.distance).all()
    never = goal_summary(found, [[0, 1, 1]], [[0, 1, 1]], one_way, {2: 1})[0]
    assert (never["pursuits"], never["share_of_steps"], never["next_modes"]) == (0, 0.0, {})
    assert np.isnan([*never["steps_to_goal"], *never["stays"], never["share_reached"]]).all()


def test_a_region_is_reached_in_any_of_its_states():
    found = find_pursuits([[1, 1, 1, 0]], [[2, 3, 4, 4]], LINE, {1: (3, 4)})
    assert (found.steps.tolist(), found.stays.tolist(), found.distance.tolist()) == ([1], [3], [1])


def test_a_model_knows_its_goals_whatever_the_order_of_its_modes(monkeypatch):
    form = Goals((4, (0, 1)), kinds=0, moves="action")
    model = with_goals(LINE, form, {0: (0, 1), 2: (4,)}, cost=3.0, temperature=0.5)
    assert model.goals == (Goal(0, (0, 1), 3.0, 2.0), Goal(2, (4,), 3.0, 2.0))
    paths = [np.array([2, 1, 1, 1, 1, 1, 1, 1, 2, 0, 0, 2, 2, 1]), np.array([0, 0, 1, 1, 2])]
    monkeypatch.setattr(model, "predict", lambda data: paths)
    found = pursuits(model, Trajectories(STATES, n_states=5, n_actions=2))
    assert set(found.mode.tolist()) == {0, 2}
    timed = found.timed
    assert (found.steps[timed] >= found.distance[timed]).all()
    free = with_goals(LINE, Goals((4,), absorbing=False), {1: (4,)}, cost=3.0, temperature=1.0)
    assert free.goals == (Goal(1, (4,), None, None),)
    assert with_goals(LINE, "state", {1: (4,)}, cost=3.0, temperature=1.0).goals == ()


def test_there_is_no_way_across_a_transition_that_cannot_be(monkeypatch):
    model = with_goals(LINE, Goals((0,)), {1: (0,)}, cost=3.0).set_params(impossible="gap")
    monkeypatch.setattr(model, "predict", lambda data: [np.array([0, 1, 1, 1, 0])])
    found = pursuits(model, Trajectories([[3, 4, 1, 0, 0]], n_states=5, n_actions=2))  # from 4 to 1 in a step
    assert (found.start.tolist(), found.steps.tolist(), found.reached.tolist()) == ([1, 2], [1, 1], [False, True])
    assert found.timed.tolist() == [False, False]
