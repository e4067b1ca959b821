"""Goals that were not told: the screening against whole models, worlds with goals and without."""

from dataclasses import replace

import numpy as np
import pytest

from small_worlds import world
from swirl import datasets
from swirl.analysis import goal_discovery
from swirl.analysis.goal_discovery import FoundGoal, GoalSearch, discover_goals, screen
from swirl.data.trajectories import Trajectories
from swirl.estimators.swirl import SWIRL
from swirl.inference.mstep import Parameters
from swirl.precision import float64, numpy_tree
from swirl.rewards import Goals

FORM = Goals(kinds=1, moves="action")


def walks(env, n_sessions=4, n_steps=30):
    return datasets.random_walk(env, n_sessions=n_sessions, n_steps=n_steps, random_state=2).trajectories


@pytest.mark.slow
def test_screening_is_the_likelihood_of_the_whole_model_with_one_more_goal(monkeypatch):
    """Before its switching is improved, a candidate is the model with that goal, at the expected cost."""
    monkeypatch.setattr(goal_discovery, "ROUNDS", (1,))
    env, data = world("stochastic"), walks(world("stochastic"))
    model = SWIRL(env, n_modes=2, history=2, reward=replace(FORM, places=(0,)), switching="until-reached",
                  n_restarts=1, max_iter=3).fit(data)  # fmt: skip
    gains = screen(model, data, [(1,), (2, 3)])
    before = model.restarts_[0].parameters
    for gain, place in zip(gains, [(1,), (2, 3)], strict=True):
        whole = SWIRL(env, n_modes=3, history=2, reward=replace(FORM, places=(0, place)), switching="until-reached")
        problem = whole.em_problem(data)
        cost = np.concatenate([before.emissions.goals, np.full((1, 1), np.log(2.0))])
        start = Parameters(
            goal_discovery._one_more(before.log_initial), goal_discovery._extended(before),
            before.emissions._replace(goals=cost),
        )  # fmt: skip
        with float64():
            tables = numpy_tree(problem.components.tables(start))
            rows = [
                np.asarray(leaf)[None] for leaf in (tables.log_initial, tables.log_transitions, tables.log_emissions)
            ]
            likelihood = goal_discovery._evidence(problem.chains, type(tables)(*rows))[1][0]
        assert gain == pytest.approx(likelihood - model.log_likelihood(data).sum(), abs=1e-6)


@pytest.mark.slow
def test_a_random_walk_wants_nothing_and_a_walker_its_goals():
    env = datasets.gridworld_env()
    nothing = discover_goals(walks(env, 12, 100), env, form=Goals(moves="action"), history=1)
    assert nothing.places == ()
    assert nothing.refused is not None
    assert str(nothing).startswith("No goal pays")

    rng = np.random.default_rng(0)
    sessions, actions = [], []
    steps = np.asarray(env.successors.next)[:, :, 0]
    row, column = np.divmod(np.arange(25), 5)
    away = {goal: np.abs(row - goal // 5) + np.abs(column - goal % 5) for goal in (4, 20)}
    for _ in range(20):
        s, goal, states, done = 12, None, [], []
        for _ in range(100):
            goal = (4, 20)[rng.integers(2)] if goal is None and rng.random() < 0.1 else goal
            nearer = np.flatnonzero(away[goal][steps[s]] < away[goal][s]) if goal is not None else np.arange(5)
            a = int(rng.choice(nearer)) if len(nearer) else 4
            states.append(s)
            done.append(a)
            s = int(steps[s, a])
            goal = None if goal == s else goal
        sessions.append(states)
        actions.append(done)
    data = Trajectories(sessions, actions, n_states=25, n_actions=5)
    found = discover_goals(data, env, form=Goals(moves="action"), history=1, max_goals=2)
    assert {place[0] for place in found.places} == {4, 20}
    assert all(goal.gain > goal.error > 0 and goal.share > 0.05 for goal in found.goals)
    assert int(np.argmax(found.alone)) in (4, 20)


def test_what_was_found_reads_well():
    env = datasets.gridworld_env()
    model = SWIRL(env)
    found = GoalSearch(
        (FoundGoal((4,), 0.03, 0.002, 0.2),), FoundGoal((7, 8), -0.001, 0.002), np.zeros(25), ((4,), (7, 8)), model
    )
    assert str(found).splitlines() == [
        "1. (0, 4): +0.0300 ± 0.0020 nats/step held out, 20.0% of steps",
        "2. (1, 2) + (1, 3): -0.0010 ± 0.0020 nats/step held out: does not pay",
    ]
    assert found.places == ((4,),)


def test_goals_that_are_told_and_too_many_folds_are_refused():
    env = world("stochastic")
    data = walks(env)
    with pytest.raises(ValueError, match=r"form: expected rewards\.Goals without places, which are searched for"):
        discover_goals(data, env, form=Goals((1,)))
    with pytest.raises(ValueError, match=r"n_folds=9: the data have 4 sessions; give at most that number"):
        discover_goals(data, env, n_folds=9)
