"""Goals that were not told: the screening against whole models, worlds with goals and without."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from small_worlds import world
from swirl import datasets
from swirl.analysis.bootstrap import bootstrap
from swirl.analysis.comparison import compare
from swirl.analysis.goal_discovery import FoundGoal, GoalSearch, discover_goals
from swirl.analysis.grid_search import with_modes
from swirl.analysis.verdicts import verdict
from swirl.data.trajectories import Trajectories
from swirl.estimators import goal_search
from swirl.estimators.goal_search import screen
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.registry import load, make
from swirl.estimators.swirl import SWIRL
from swirl.inference.mstep import Parameters
from swirl.precision import float64, numpy_tree
from swirl.rewards import Goals, Tabular

FORM = Goals(kinds=1, moves="action")


def walks(env, n_sessions=4, n_steps=30):
    return datasets.random_walk(env, n_sessions=n_sessions, n_steps=n_steps, random_state=2).trajectories


def without_actions(data, share):
    """The same walks, of whose actions a share was not seen."""
    rng = np.random.default_rng(0)
    actions = [np.where(rng.random(len(path)) < share, -1, path) for path in data.actions]
    return Trajectories(data.states, actions, n_states=data.n_states, n_actions=data.n_actions)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.4, 1.0])
def test_screening_is_the_likelihood_of_the_whole_model_with_one_more_goal(monkeypatch, missing):
    """Before its switching is improved, a candidate is the model with that goal, at the expected cost.

    Actions that were not seen are latent: of such data it had read beyond the model's tables.
    """
    monkeypatch.setattr(goal_search, "ROUNDS", (1,))
    env, data = world("stochastic"), without_actions(walks(world("stochastic")), missing)
    model = SWIRL(env, n_modes=2, history=2, reward=replace(FORM, places=(0,)), switching="until-reached",
                  n_restarts=1, max_iter=3).fit(data)  # fmt: skip
    gains = screen(model, data, [(1,), (2, 3)])
    before = model.restarts_[0].parameters
    for gain, place in zip(gains, [(1,), (2, 3)], strict=True):
        whole = SWIRL(env, n_modes=3, history=2, reward=replace(FORM, places=(0, place)), switching="until-reached")
        problem = whole.em_problem(data)
        cost = np.concatenate([before.emissions.goals, np.full((1, 1), np.log(2.0))])
        start = Parameters(
            goal_search._one_more(before.log_initial), goal_search._extended(before),
            before.emissions._replace(goals=cost),
        )  # fmt: skip
        with float64():
            tables = numpy_tree(problem.components.tables(start))
            rows = [
                np.asarray(leaf)[None] for leaf in (tables.log_initial, tables.log_transitions, tables.log_emissions)
            ]
            likelihood = goal_search._evidence(problem.chains, type(tables)(*rows))[1][0]
        assert gain == pytest.approx(likelihood - model.log_likelihood(data).sum(), abs=1e-6)


@cache
def walker():
    """An animal in a grid that now and then takes it into its head to walk to one of two corners."""
    env, rng = datasets.gridworld_env(), np.random.default_rng(0)
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
    return Trajectories(sessions, actions, n_states=25, n_actions=5)


@pytest.mark.slow
def test_a_random_walk_wants_nothing_and_a_walker_its_goals():
    env = datasets.gridworld_env()
    nothing = discover_goals(walks(env, 12, 100), env, form=Goals(moves="action"), history=1)
    assert nothing.places == ()
    assert nothing.refused is not None
    assert str(nothing).startswith("No goal pays")
    found = discover_goals(walker(), env, form=Goals(moves="action"), history=1, max_goals=2)
    assert {place[0] for place in found.places} == {4, 20}
    assert all(goal.gain > goal.error > 0 and goal.share > 0.05 for goal in found.goals)
    assert int(np.argmax(found.alone)) in (4, 20)


@pytest.mark.slow
def test_a_search_makes_as_many_fits_as_it_said():
    """Of one goal, which is taken whatever it pays, and of one habit in place of several."""
    env, fits = world("stochastic"), []
    found = discover_goals(
        walks(env), env, candidates=[0], n_folds=2, strictness=-np.inf, form=Goals(moves="action"), history=1,
        on_fit=lambda: fits.append(1), max_iter=2,
    )  # fmt: skip
    assert len(found.goals) == 1
    assert len(fits) + (goal_search.MOST_HABITS - 1) * 2 == goal_search.most_fits(1, 6, 2)


@pytest.mark.slow
def test_a_model_that_is_told_no_goals_finds_them_when_it_is_fitted(tmp_path):
    env, data = datasets.gridworld_env(), walker()
    model = make("Goals", env, moves="action", n_restarts=1)
    assert (model.n_modes, model.reward.places) == ("auto", None)
    model.fit(data)
    assert sorted(model.goals_) == [(), (4,), (20,)]  # one explores
    assert [found.place for found in model.goal_search_.goals] in ([(4,), (20,)], [(20,), (4,)])
    assert (model.n_modes, model.reward.places) == ("auto", None)  # arguments stay as they were given
    assert model.fitted_params["n_modes"] == 3
    told = make("Goals", env, moves="action", n_restarts=1, goals={"east": 4, "south": 20}).fit(data)
    assert sorted(told.mode_names_) == ["explore", "to east", "to south"]
    assert model.score(data) == pytest.approx(told.score(data), abs=1e-4)
    model.save(tmp_path / "model.nc")
    read = load(tmp_path / "model.nc")
    assert read.goals_ == model.goals_
    np.testing.assert_array_equal(read.log_likelihood(data), model.log_likelihood(data))
    draws = bootstrap(model, data, n_draws=5)
    assert draws.rewards.shape == (5, 3, 25)
    for mode, states in enumerate(model.goals_):
        worth = draws.rewards[:, mode]
        assert (worth[:, list(states)] > 0).all()
        assert (np.delete(worth, states, axis=1) == 0).all()  # the reward of a goal has no gauge
    assert len(model.use_restart(0).online_filter().update(12, 0)) == 3
    assert model.transfer(datasets.gridworld_env(slip=0.1)).score(data) > model.score(data) - 0.5
    again = clone(model).set_params(n_modes=2).fit(data)  # the best one
    assert sorted(again.goals_) == [(), again.goal_search_.goals[0].place]


@pytest.mark.slow
def test_a_model_that_finds_its_goals_is_compared_and_judged():
    env, data = datasets.gridworld_env(), walker()
    train, test = data.split(every=4)
    options = {"moves": "action", "n_restarts": 1, "max_iter": 30}
    found = compare({"Goals": make("Goals-1", env, **options), "counts": BackoffMarkov(env, order=1)}, train, test)
    assert found.best == "Goals"
    assert found.one_mode is not None
    judged = verdict(found.models["Goals"], train)
    assert "could not be compared" not in " ".join(judged.reasons)


@pytest.mark.slow
def test_so_many_goals_are_found_as_are_asked_for_and_none_that_do_not_pay():
    env = datasets.gridworld_env()
    data = walks(env, 12, 100)
    options = {"moves": "action", "n_restarts": 1, "max_iter": 20, "switching": "until-reached"}
    assert make("Goals-1", env, **options).fit(data).goals_ == ((),)
    assert len(make("Goals-1", env, n_modes=2, **options).fit(data).goals_) == 2


def test_twins_of_a_model_that_finds_its_goals():
    env = datasets.gridworld_env()
    for n_modes in ("auto", 3):
        model = make("Goals", env, n_modes=n_modes)
        assert with_modes(model, 1) == {"n_modes": 1, "reward": Goals()}
        assert with_modes(model, 4) == {"n_modes": 4}
    told = make("Goals", env, goals={"east": 4})
    assert with_modes(told, 2) == {"n_modes": 2}
    assert with_modes(told, 1)["reward"] == Goals()
    assert with_modes(told, 3) is None


def test_what_was_found_counts_only_while_it_is_asked_for():
    model = make("Goals", datasets.gridworld_env())
    found = make("Goals", datasets.gridworld_env(), goals=(4, 20))
    model.goal_search_ = GoalSearch((), None, np.zeros(25), ((4,), (20,)), found)
    assert (model._n_modes, model._form.places) == (3, ((4,), (20,)))
    model.set_params(reward="state", n_modes=2)
    assert (model._n_modes, model._form) == (2, Tabular("state"))
    model.set_params(reward=Goals(None), n_modes=4)
    assert (model._n_modes, model._form) == (4, Goals(None))


def test_an_interrupted_search_is_no_search(monkeypatch):
    env = datasets.gridworld_env()

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("swirl.inference.engines.HostIterations.advance", interrupted)
    monkeypatch.setattr("swirl.inference.engines.DeviceIterations.advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make("Goals-1", env, moves="action").fit(walks(env))


def test_what_cannot_be_found_is_refused():
    env = datasets.gridworld_env()
    data = walks(env)
    with pytest.raises(
        ValueError, match='n_modes=1: goals are to be found, and one mode explores; give 2 or more, or "a'
    ):
        make("Goals", env, n_modes=1).fit(data)
    with pytest.raises(ValueError, match="temperature: expected one number where goals are to be found"):
        make("Goals", env, n_modes=3, temperature=[1.0, 1.0, 2.0]).fit(data)
    with pytest.raises(ValueError, match="n_modes='auto': expected a whole number"):
        SWIRL(env, n_modes="auto").fit(data)
    with pytest.raises(ValueError, match="places=None: goals that the fit finds have no names"):
        Goals(None, explores=False)
    with pytest.raises(ValueError, match=r"names=\('a', 'b'\): expected 1 name, one for each goal"):
        Goals((1,), names=("a", "b"))
    with pytest.raises(ValueError, match=r"goals=\{'a': 1\} and places=\(1,\): they mean the same"):
        make("Goals", env, goals={"a": 1}, places=(1,))
    with pytest.raises(ValueError, match="data have 1 session: goals are found on folds, which needs two or more"):
        make("Goals", env).fit(data[:1])
    with pytest.raises(ValueError, match="n_modes=40: there are 25 states, so at most 26 modes"):
        make("Goals", env, n_modes=40).fit(data)
    with pytest.raises(ValueError, match=r"\(0, 3\) would be an action in a state, and a goal is a place.*\[0, 3\]"):
        make("Goals", env, goals={"exit": (0, 3)})
    model = SWIRL(env, n_restarts=1, max_iter=1, history=1, reward="state-action").fit(data)
    with pytest.raises(AttributeError, match="this model has no goals"):
        model.goals_  # noqa: B018


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
