"""Habit or goal: the verdict's rule, how straight places are come to, and worlds in which each verdict is right."""

from dataclasses import replace

import numpy as np
import pytest

from small_worlds import world
from swirl import MDP, SWIRL, datasets
from swirl.analysis.behaviour import distances, straight_steps
from swirl.analysis.goal_discovery import FoundGoal, GoalSearch
from swirl.analysis.habit_or_goal import (
    DESCRIPTION,
    EVIDENCE,
    LENGTHS,
    NONE,
    WITH,
    WITHOUT,
    HabitOrGoal,
    Setting,
    _model,
    _run_checks,
    corridor,
    habit_or_goal,
)
from swirl.analysis.panel import NEXT_GOAL, SCORE, Panel
from swirl.data.trajectories import Trajectories
from swirl.estimators.markov import BackoffMarkov
from swirl.priors import Gaussian, GoalDirected
from swirl.rewards import Goals

GRID = datasets.gridworld_env()


def test_steps_that_led_straight_are_those_of_a_plain_loop():
    env = world("stochastic")
    apart = np.stack([distances(env, place) for place in range(env.n_states)], axis=1)
    rng = np.random.default_rng(0)
    path = datasets.random_walk(env, n_sessions=1, n_steps=200, random_state=3).trajectories.states[0]
    path = np.concatenate([path, rng.integers(env.n_states, size=20)])  # jumps are not straight
    expected = []
    for now, here in enumerate(path):
        n = 0
        while n < 4 and now > n and apart[path[now - n - 1], here] == n + 1:
            n += 1
        expected.append(n)
    assert straight_steps(path, apart, 4).tolist() == expected
    assert max(expected) >= 2


def judged(**gains):
    """A result whose measures gain so much in every session, give or take a little."""
    noise = np.tile([0.5, -0.5], 10)
    sums, steps = {}, {}
    for measure, gain in gains.items():
        sign = 1 if measure == SCORE else -1
        sums[measure] = np.stack([np.zeros(20), sign * (gain + noise)])
        steps[measure] = np.full((2, 20), 10)
    found = Panel("next_state", (WITHOUT, WITH), (1, 3), sums, steps)
    search = GoalSearch((FoundGoal((4,), 0.1, 0.01, 0.3),), None, np.zeros(1), ((4,),), SWIRL(GRID))
    return HabitOrGoal(search, found, {}, {}, {}, GRID, (None,))


@pytest.mark.parametrize(
    ("score", "ahead", "goal", "verdict"),
    [
        (1, 1, 0, EVIDENCE),
        (1, 1, 1, EVIDENCE),
        (1, 0, 1, DESCRIPTION),  # the next step alone is no evidence
        (0, 1, 1, DESCRIPTION),
        (1, 1, -1, DESCRIPTION),  # where it is going must not be worse
        (-1, -1, -1, DESCRIPTION),
        (0.2, 1, 0, DESCRIPTION),  # within the interval
    ],
)
def test_evidence_is_being_ahead_in_the_next_step_and_in_where_it_is_going(score, ahead, goal, verdict):
    found = judged(**{SCORE: score, "place_5": ahead, NEXT_GOAL: goal})
    assert found.verdict == verdict
    assert found.gain("place_5")[0] == pytest.approx(ahead / 10)
    assert verdict in str(found).lower()
    assert found.facts()["verdict"] == verdict


def test_evidence_from_few_sessions_is_said_to_be_so():
    found = judged(**{SCORE: 1, "place_5": 1})  # 0.1 nats per step
    assert not found.few
    learning = replace(found, still_learns=0.06)
    assert learning.verdict == EVIDENCE
    assert learning.few
    assert "but the sessions are few" in str(learning)
    assert learning.facts()["few_sessions"] is True
    assert not replace(learning, still_learns=0.04).few


def test_without_a_goal_there_is_no_sign_and_one_goal_needs_no_next():
    assert judged(**{SCORE: 1, "place_5": 1}).verdict == EVIDENCE
    search = GoalSearch((), FoundGoal((4,), -0.1, 0.01), np.zeros(1), ((4,),), SWIRL(GRID))
    nothing = HabitOrGoal(search, None, {}, {}, {}, GRID)
    assert nothing.verdict == NONE
    assert np.isnan(nothing.gain(SCORE)).all()
    assert "No goal pays" in str(nothing)
    assert nothing.model is None


def test_too_few_sessions_are_told_before_anything_is_fitted():
    walks = datasets.random_walk(GRID, n_sessions=2, n_steps=20).trajectories
    said = []
    with pytest.raises(ValueError, match="data have 2 sessions, of which a fold leaves one to fit to: two or more"):
        habit_or_goal(walks, GRID, [0], n_folds=2, runs=False, callback=said.append)
    assert said == []


def test_a_setting_says_what_its_habit_knows_whatever_else_is_given():
    prior = GoalDirected(habit=Gaussian(5.0, backoff=10.0), place=Gaussian(300.0, backoff=4.0))
    like = SWIRL(GRID, n_modes=2, history=2, reward=Goals((4,)), reward_prior=prior, switching="until-reached")
    options = {"reward_prior": prior, "history": 5, "discount": 0.8, "max_iter": 7}
    made = _model(like, True, Setting(3, 2, 7.0), options)
    assert (made.history, made.reward.place_history, made.reward.places, made.n_modes) == (3, 2, ((4,),), 2)
    assert made.reward_prior == replace(prior, place=Gaussian(7.0, backoff=4.0))
    assert (made.discount, made.max_iter, made.switching) == (0.8, 7, "until-reached")
    alone = _model(like, False, Setting(2, 0, 300.0), {})
    assert (alone.reward.places, alone.n_modes, alone.max_iter) == ((), 1, 40)
    assert isinstance(_model(like, False, None, {"impossible": "gap", "discount": 0.8}), BackoffMarkov)


def test_the_corridor_to_close_is_walked_and_can_be_walked_around():
    line = MDP.deterministic([[0, 1], [0, 2], [1, 3], [2, 3]])
    data = Trajectories([[3, 2, 1, 0, 1, 2, 3, 2, 1, 0]])
    assert corridor(data, line, [0]) is None  # a line has no way around
    way = corridor(datasets.random_walk(GRID, n_sessions=4, n_steps=50).trajectories, GRID, [24])
    assert way is not None
    away = distances(GRID, 24)
    assert away[way[1]] == away[way[0]] - 1


def walks(n_sessions=12, n_steps=100):
    return datasets.random_walk(GRID, n_sessions=n_sessions, n_steps=n_steps, random_state=1).trajectories


def commuter(n_sessions=12, n_steps=100):
    """Walks straight from corner to corner."""
    rng, sessions, actions = np.random.default_rng(0), [], []
    following = np.asarray(GRID.successors.next)[:, :, 0]
    for _ in range(n_sessions):
        s, goal, states, done = 0, 24, [], []
        while len(states) < n_steps:
            if s == goal:
                goal = int(rng.choice([g for g in (0, 4, 20, 24) if g != s]))
            nearer = np.flatnonzero(distances(GRID, goal)[following[s]] == distances(GRID, goal)[s] - 1)
            action = int(rng.choice(nearer))
            states.append(s)
            done.append(action)
            s = int(following[s, action])
        sessions.append(np.array(states))
        actions.append(np.array(done))
    return Trajectories(sessions, actions, n_states=25, n_actions=5)


@pytest.mark.slow
def test_a_model_that_made_the_data_strays_nowhere_and_a_random_walk_strays_from_a_commuter():
    flat = BackoffMarkov(GRID, order=1).fit(walks(40))
    split = [(walks(), walks())]
    same = _run_checks(walks(), GRID, split, [flat], 0)
    assert not len(same.strays)
    real = commuter()
    other = _run_checks(real, GRID, [(real, real)], [flat], 0)
    assert len(other.strays) >= 5
    assert other.simulated.shape == (39, len(other.places), len(LENGTHS))
    (rate, low, _, high), _ = other.overall
    assert rate > high > low
