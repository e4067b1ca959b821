"""Comparison of models: one currency, the same steps, paired differences, and a table that reads well."""

from functools import cache
from typing import ClassVar

import numpy as np
import pytest

import swirl.analysis.comparison
from small_worlds import N_ACTIONS, N_STATES, world
from swirl.analysis.comparison import common_score_type, compare, with_reward
from swirl.analysis.comparison_result import Comparison
from swirl.analysis.fit_tasks import fits_on_tasks
from swirl.analysis.grid_search import Choice, choose
from swirl.analysis.panel import Panel
from swirl.analysis.tasks import Folder, Shared, here
from swirl.data.encoding import Encoded
from swirl.data.folds import SameAnimalsWarning
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.arhmm import ARHMM
from swirl.estimators.base import HiddenModeEstimator
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.registry import make, models
from swirl.inference.likelihood import Evidence
from swirl.inference.mode_matching import adjusted_rand_index
from swirl.rewards import Goals
from swirl.rewards.forms import Habit


class Tiny(HiddenModeEstimator):
    """Gives every step but the first `skip` of a session the same log-likelihood."""

    stored: ClassVar = {}

    def __init__(self, *, own=("density",), n_modes=1, value=-1.0, skip=0):
        self.own, self.n_modes, self.value, self.skip = own, n_modes, value, skip

    @property
    def score_types(self):
        return self.own

    def fit(self, data, y=None):
        self.initial_modes_ = np.full(self.n_modes, 1 / self.n_modes)
        self.mode_transitions_ = np.full((data.n_states, self.n_modes, self.n_modes), 1 / self.n_modes)
        return self

    def _read(self, data, of):
        states, sessions = np.concatenate(data.states), np.concatenate([[0], np.cumsum(data.lengths)])
        scored = np.ones(len(states), dtype=bool)
        for first in sessions[:-1]:
            scored[first : first + self.skip] = False
        encoded = Encoded(states, states, np.concatenate(data.actions), sessions, sessions, states)
        log_likelihoods = np.where(scored, self.value, 0.0)[:, None] * np.ones(self.n_modes)
        return encoded, Evidence(log_likelihoods, scored, np.zeros(len(states), bool))

    def sample(self, n_sessions, n_steps, random_state=0):
        raise NotImplementedError


@cache
def walk(seed=0, lengths=(40, 25, 30, 40, 35, 30), lean=3.0, subjects=None):
    """A walk that prefers action 1 the more, the larger `lean`; every action is known."""
    env, rng = world(), np.random.default_rng(seed)
    states, actions = [], []
    for length in lengths:
        s, a = [int(rng.integers(N_STATES))], []
        for _ in range(length):
            weights = env.available[s[-1]] * np.array([1.0, lean, 1.0])
            a.append(int(rng.choice(N_ACTIONS, p=weights / weights.sum())))
            s.append(int(np.argmax(env.dense()[s[-1], a[-1]])))
        states.append(s[:-1])
        actions.append(a)
    return Trajectories(states, actions, subjects=subjects, n_states=N_STATES, n_actions=N_ACTIONS)


@cache
def counted():
    """Two orders of counts and an ARHMM with two modes, compared on next states."""
    train, test = walk().split(every=3)
    return compare(["Markov-0", "Markov-1", "ARHMM"], train, test, env=world(), n_restarts=2, max_iter=15, strength=1.0)


@pytest.mark.slow
def test_what_else_the_models_say_is_there_too():
    """The panel is of the test sessions and of the models as they were compared; fits to folds say "the same twice"."""
    told = counted().panel
    assert told.names == tuple(row["model"] for row in counted().table())  # best first
    assert told.of == counted().of
    for name in told.names:
        assert told.value(name, "score") == pytest.approx(counted().scores[name])
    assert "next_goal" not in told.sums
    assert "Where is it going:" in str(counted())


@pytest.mark.slow
def test_fits_to_folds_say_whether_modes_are_the_same_twice():
    train, test = walk().split(every=3)
    few = {"n_modes": 2, "n_restarts": 1, "max_iter": 5}
    both = compare(["Markov-1", "ARHMM", "rARHMM"], train, test, env=world(), goals={"a": 0, "b": 2}, n_folds=2, **few)
    assert {"next_goal", "place_20"} <= set(both.panel.sums)
    assert both.panel.goals == {"a": (0,), "b": (2,)}
    for name in ("ARHMM", "rARHMM"):
        halves = [make(name, world(), **few).fit_to_score(train[1 - fold :: 2]).predict(test) for fold in range(2)]
        assert both.panel.value(name, "same_twice") == pytest.approx(adjusted_rand_index(*halves))
    table = str(both).split("and do modes agree with runs:")[1]
    assert max(map(len, table.splitlines())) <= 100


def test_wrong_goals_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(BackoffMarkov, "fit", lambda *_: pytest.fail("it was fitted"))
    train, test = walk().split(every=3)
    with pytest.raises(ValueError, match="state 1 is in more than one of them"):
        compare(["Markov-1"], train, test, env=world(), goals=[1, [1, 2]])


def test_an_estimated_environment_knows_nothing_of_the_test():
    short = walk(lengths=(12, 4, 5, 4) * 2)
    train, test = short.split(every=4)
    both = [MDP.estimate(train), MDP.estimate(short)]
    unseen = both[0].unseen_steps(test)
    assert unseen > 0
    assert both[1].unseen_steps(test) == 0
    with pytest.raises(ValueError, match="do not fit the environment"):  # where it is taken for the whole truth
        BackoffMarkov(both[0], order=1, impossible="error").fit(train).score(test)
    names, told = ["Markov-0", "Markov-1", "ARHMM"], {"n_restarts": 1, "max_iter": 5, "strength": 1.0, "n_folds": 2}
    one, other = (compare(names, train, test, env=env, **told) for env in both)
    np.testing.assert_array_equal(one.log_likelihoods, other.log_likelihoods)
    assert other.n_scored == test.n_steps - unseen
    assert any(f"{unseen} of {test.n_steps} steps of the test sessions" in note for note in other.remarks())
    assert {model.env.estimated.n_sessions for model in other.models.values()} == {len(train)}
    given = {name: make(name, both[1], **own) for name, own in zip(names[:2], [{"strength": 1.0}] * 2, strict=True)}
    named = compare(given, train, test, of="next_state", n_folds=2)  # models, not names
    assert named.models["Markov-1"].env is named.models["Markov-0"].env
    assert named.models["Markov-1"].env.estimated.n_sessions == len(train)
    known = compare(names[:2], train, test, env=world(), n_folds=0)  # given: all of it is scored, and nothing is said
    assert known.n_scored == test.n_steps
    assert not any("estimated" in note for note in known.remarks())


def test_on_folds_an_environment_is_estimated_from_the_sessions_that_are_fitted():
    short, fitted = walk(lengths=(9, 4, 5, 4) * 2), []
    env = MDP.estimate(short)
    found = choose(
        BackoffMarkov(env, strength=1.0), short, {"order": [0, 1]}, n_folds=2, on_fit=lambda _, m: fitted.append(m)
    )
    assert [model.env.estimated.n_sessions for model in fitted] == [4] * 4
    halves = [np.arange(0, 8, 2), np.arange(1, 8, 2)]
    alone = [MDP.estimate(short[held]) for held in halves]
    unseen = sum(alone[1 - i].unseen_steps(short[held]) for i, held in enumerate(halves))
    lost = sum(int(alone[1 - i].unseen_actions(short[held]).sum()) for i, held in enumerate(halves))
    assert unseen >= lost > 0
    assert found.steps.sum() == short.n_observed_actions - lost
    assert env.estimated.n_sessions == 8  # the model's own stays as it was


def synthetic(log_likelihoods, steps, subjects=None, n_modes=None, **more):
    """A comparison with given numbers."""
    names = tuple("abcdefg"[: len(log_likelihoods)])
    sizes = n_modes or [1] * len(names)
    models = {name: Tiny(own=("action",), n_modes=size).fit(walk()) for name, size in zip(names, sizes, strict=True)}
    steps = np.asarray(steps)
    return Comparison(
        "action", int(steps.sum()), names, models, np.asarray(log_likelihoods, dtype=float), steps,
        tuple(subjects or [None] * len(steps)), np.arange(len(names)) + 0.5, {}, **more,
    )  # fmt: skip


# What compares with what


def test_the_currency_is_the_first_that_all_share():
    shared, named = world(), MDP.deterministic(np.tile(np.arange(3), (3, 1)))
    assert common_score_type({"a": make("S-1", shared), "b": make("Markov", shared)}) == "action"
    assert common_score_type({"a": make("S-1", shared), "b": make("ARHMM", shared)}) == "next_state"
    assert common_score_type({"a": make("S-1", named), "b": make("ARHMM", named)}) == "action"  # the same number
    assert common_score_type({"a": make("S-1", named), "b": make("ARHMM", named)}, "next_state") == "next_state"
    assert common_score_type({"a": Tiny(), "b": Tiny()}) == "density"


def test_what_is_not_of_the_same_kind_is_refused():
    train, test = walk().split(every=3)
    candidates = {"SWIRL": make("S-1", world()), "linear": Tiny()}
    for of in (None, "action", "density"):
        with pytest.raises(ValueError, match="scores of different things do not compare") as told:
            compare(candidates, train, test, of=of)
        assert "SWIRL: action, next_state; linear: density" in str(told.value)
    with pytest.raises(ValueError, match="of='action': the models do not all have such a score"):
        compare(["Markov-1", "ARHMM"], train, test, env=world(), of="action")


def test_other_steps_are_refused():
    train, test = walk().split(every=3)
    candidates = {"all": Tiny(), "lagged": Tiny(skip=2)}
    with pytest.raises(ValueError, match="lagged scores 38 steps of test session 0, all 40") as told:
        compare(candidates, train, test)
    assert "compare models that score the same steps" in str(told.value)
    fair = compare({"a": Tiny(skip=2, value=-2.0), "b": Tiny(skip=2)}, train, test)
    assert fair.scores == {"a": -2.0, "b": -1.0}
    assert fair.n_scored == test.n_steps - 2 * len(test)
    with pytest.raises(ValueError, match="test: nothing was observed in any session"):
        compare({"a": Tiny(skip=100)}, train, test)
    told = "skip=2 scores 188 steps, skip=0 200, so these are not scores of the same thing"
    with pytest.raises(ValueError, match=told):
        choose(Tiny(), walk(), {"skip": [0, 2]}, n_folds=2)
    with pytest.raises(ValueError, match="fold 1 of 2: nothing was observed in it"):
        choose(Tiny(), walk(), {"skip": [100]}, n_folds=2)


@pytest.mark.slow
def test_scores_are_those_of_plain_fits_each_scored_once():
    train, test = walk().split(every=3)
    result = counted()
    assert result.of == "next_state"
    assert result.names == ("Markov-0", "Markov-1", "ARHMM", "ARHMM, one mode")
    assert result.n_scored == result.steps.sum() == test.n_steps
    for name, row in zip(result.names, result.log_likelihoods, strict=True):
        counts = {"strength": 1.0, "target": "next_state"}  # a count model is fitted for what is scored
        options = {"n_restarts": 2, "max_iter": 15} if "ARHMM" in name else counts
        options |= {"n_modes": 1} if "one mode" in name else {}
        alone = make(name.removesuffix(", one mode"), world(), **options).fit(train)
        np.testing.assert_allclose(row, alone.log_likelihood(test, of="next_state"), rtol=1e-12)
        assert result.scores[name] == pytest.approx(alone.score(test, of="next_state"), rel=1e-12)
    assert result.best == max(result.scores, key=result.scores.get)
    assert [result.n_modes(name) for name in result.names] == [1, 1, 2, 1]
    assert (result.seconds > 0).all()
    assert result.chosen == {}


# Candidates


def test_models_may_be_given_and_stay_as_they_are():
    train, test = walk().split(every=3)
    given = BackoffMarkov(world(), order=1, strength=2.0).fit(test)  # fitted already, to other data
    before = given.policies_.copy()
    result = compare({"mine": given, "lower": BackoffMarkov(world(), order=0, strength=2.0)}, train, test)
    np.testing.assert_array_equal(given.policies_, before)
    assert result.models["mine"] is not given
    expected = BackoffMarkov(world(), order=1, strength=2.0).fit(train)
    np.testing.assert_array_equal(result.models["mine"].policies_, expected.policies_)
    assert result.of == "action"
    with pytest.raises(ValueError, match="n_modes: give further arguments to the models themselves"):
        compare({"mine": given}, train, test, n_modes=2)


def test_how_many_fits_are_done_is_told_and_all_are_counted():
    train, test = walk().split(every=3)
    told, plain = [], compare(["Markov-0", "Markov-1"], train, test, env=world(), n_folds=2)
    grid = {"Markov-1": {"strength": [1.0, 2.0]}}
    asked = {"env": world(), "n_folds": 2, "tune": grid}
    found = compare(["Markov-0", "Markov-1"], train, test, progress=told.append, **asked)
    assert [state.done for state in told] == list(range(9))  # 2 + 4 on folds, and 2 to all training sessions
    assert {state.total for state in told} == {8}
    assert told[0].seconds_left is None
    assert all(state.seconds_left >= 0 for state in told[1:])
    assert told[-1].seconds_left == pytest.approx(0.0)
    assert found.names == plain.names


@pytest.mark.parametrize("counted", [("Markov-0",), ("Markov-0", "Markov-1")])
def test_fits_that_turn_out_not_to_be_needed_are_taken_off_the_count(counted):
    train, test = walk().split(every=3)
    told, asked = [], {"env": world(), "n_folds": 2, "max_iter": 1, "n_restarts": 1}
    # Which kind S-1 is of is known once its setting is chosen: two modes, so a lone Markov-0 is scored on no fold.
    compare(["S-1", *counted], train, test, tune={"S-1": {"n_modes": [2]}}, progress=told.append, **asked)
    assert [state.done for state in told] == list(range(told[-1].done + 1))
    assert told[-1].done == told[-1].total
    made = 2 + 1 + len(counted) + 1 + (2 * len(counted) if len(counted) > 1 else 0)  # S-1, all of them, and its twin
    assert told[-1].total == made
    assert told[-1].seconds_left == pytest.approx(0.0)


def test_none_is_every_model_that_has_the_score(monkeypatch):
    train, test = walk().split(every=3)
    offered = {}

    def note(candidates, of):
        offered.update(candidates)
        raise InterruptedError  # before anything is fitted

    monkeypatch.setattr(swirl.analysis.comparison, "common_score_type", note)
    for of, out in ((None, set()), ("next_state", set()), ("action", {"ARHMM", "rARHMM"})):
        offered.clear()
        with pytest.raises(InterruptedError):
            compare(None, train, test, env=world(), of=of, n_modes=3)
        assert "Goals" not in offered  # nobody has said where they are
        labelled = {name for name in models() if name != "Goals" and "env" in make(name, world()).get_params()}
        assert {"MaxEnt", "S-2", "F-1", "Markov", "IQ-Learn"} <= set(offered)
        assert labelled - set(offered) == out
        assert "GaussianARHMM" not in offered
        assert common_score_type(offered, of) == (of or "next_state")
        assert [offered[name].n_modes for name in ("MaxEnt", "S-2")] == [1, 3]


def test_goals_are_compared_where_they_are_given(monkeypatch):
    train, test = walk().split(every=3)
    offered = {}

    def note(candidates, of):
        offered.update(candidates)
        raise InterruptedError

    monkeypatch.setattr(swirl.analysis.comparison, "common_score_type", note)
    with pytest.raises(InterruptedError):
        compare(["Goals", "S-2"], train, test, env=world(), places=(1, 0), n_modes=2, reward="state-action")
    assert (offered["Goals"].n_modes, offered["Goals"].reward) == (3, Goals((1, 0)))
    assert (offered["S-2"].n_modes, offered["S-2"].reward) == (2, "state-action")
    with pytest.raises(ValueError, match=r"Goals: say where the goals are, as in places=\(116, 0\)"):
        compare(["Goals", "S-2"], train, test, env=world())


@pytest.mark.slow
def test_with_one_mode_goals_are_the_habit_alone():
    train, test = walk().split(every=3)
    options = {"places": (1,), "n_restarts": 1, "max_iter": 2}
    result = compare(["Goals-1", "Markov-1"], train, test, env=world(), n_folds=0, **options)
    assert result.names == ("Goals-1", "Markov-1", "Goals-1, one mode")
    assert result.models["Goals-1, one mode"].reward == Goals(())
    assert [result.n_modes(name) for name in result.names] == [2, 1, 1]


def test_further_arguments_reach_those_that_have_them_and_do_not_fix_them():
    train, test = walk().split(every=3)
    result = compare(["Markov", "Markov-2"], train, test, env=world(), order=1, strength=3.0)
    assert [result.models[name].order_ for name in result.names] == [1, 2]  # Markov-2 is Markov-2
    assert all(set(model.strengths_) == {3.0} for model in result.models.values())


@pytest.mark.parametrize(
    ("candidates", "options", "told"),
    [
        (["Markov-1"], {"colour": 1}, "colour: none of the models has such an argument"),
        (["Markov-1"], {"order": 3}, "order: none of the models has such an argument, or its name fixes it"),
        (["Markov-1", "Tarkov"], {}, "name='Tarkov': no such model"),
        ([], {}, r"candidates=\[\]: expected a list of names"),
        ({}, {}, "candidates={}: expected a dict of name → model"),
        ({"a": 3}, {}, "candidates={'a': 3}: expected a dict of name → model"),
        ("Markov", {}, "candidates='Markov': expected a list of names"),
        ([3], {}, r"candidates=\[3\]: expected a list of names"),
        (7, {}, "candidates=7: expected a list of names"),
        (["Markov-1"], {"env": None}, "env: models given by name need the environment; pass env="),
        (["Markov-1"], {"tune": {"S-2": {}}}, "tune: S-2 is not among the models compared, Markov-1"),
    ],
)
def test_what_cannot_be_compared_is_told_in_words(candidates, options, told):
    train, test = walk().split(every=3)
    with pytest.raises(ValueError, match=told):
        compare(candidates, train, test, **{"env": world(), **options})


# Tuning


def test_tuning_sees_the_training_folds_only():
    """Training wants little smoothing, the test (all actions alike) much: the training folds decide."""
    train, test = walk(lean=10.0), walk(seed=1, lengths=(40, 40), lean=1.0)
    grid = {"strength": [0.1, 3000.0]}
    tuned = compare(
        ["Markov-1", "Markov-0"], train, test, env=world(), tune={"Markov-1": grid}, n_folds=2, strength=1.0
    )
    assert tuned.chosen == {"Markov-1": {"strength": 0.1}}
    expected = choose(make("Markov-1", world()), train, grid, n_folds=2, of="action").best
    assert choose(make("Markov-1", world()), test, grid, n_folds=2, of="action").best == {"strength": 3000.0}
    assert tuned.chosen["Markov-1"] == expected
    assert tuned.models["Markov-1"].strengths_.tolist() == [0.1, 0.1]
    assert tuned.models["Markov-0"].strengths_.tolist() == [1.0]
    alone = {s: BackoffMarkov(world(), order=1, strength=s).fit(train).score(test) for s in grid["strength"]}
    assert alone[3000.0] > alone[0.1] + 0.1  # what a look at the test would have chosen
    assert tuned.scores["Markov-1"] == pytest.approx(alone[0.1], rel=1e-12)
    rows = {row["model"]: row["chosen"] for row in tuned.table()}
    assert rows == {"Markov-1": {"strength": 0.1}, "Markov-0": {}}
    # Another test, the same choice.
    again = compare(["Markov-1"], train, walk(seed=2), env=world(), tune={"Markov-1": grid}, n_folds=2)
    assert again.chosen == tuned.chosen


def test_tuning_is_in_the_currency_of_the_comparison(monkeypatch):
    seen = []

    def note(model, data, grid, *, n_folds, of, callback, on_fit, on_end, fits):
        seen.append((of, n_folds, data))
        return choose(model, data, grid, n_folds=n_folds, of=of)

    monkeypatch.setattr(swirl.analysis.comparison, "choose", note)
    train, test = walk().split(every=3)
    grid = {"strength": [1.0, 2.0]}
    compare(["Markov-1"], train, test, env=world(), of="next_state", tune={"Markov-1": grid}, n_folds=4)
    assert seen == [("next_state", 4, train)]


# Differences


def test_difference_by_session_is_the_ratio_of_sums_and_its_interval():
    rng = np.random.default_rng(0)
    steps = rng.integers(20, 200, size=40)
    gains = 0.05 * steps + rng.normal(size=40) * np.sqrt(steps) * 0.4
    base = -1.0 * steps
    result = synthetic([base + gains, base], steps)
    mean, half = result.difference("a", "b")
    assert mean == pytest.approx(gains.sum() / steps.sum(), rel=1e-12)
    assert mean == pytest.approx(result.scores["a"] - result.scores["b"], rel=1e-9)
    back, same = result.difference("b", "a")
    assert (back, same) == (pytest.approx(-mean), pytest.approx(half))
    picks = rng.integers(40, size=(20_000, 40))
    means = gains[picks].sum(axis=1) / steps[picks].sum(axis=1)
    assert half == pytest.approx(1.959964 * means.std(), rel=0.05)
    # Equal steps: the textbook's interval of a mean.
    equal = synthetic([base + gains, base], np.full(40, 50))
    assert equal.difference("a", "b")[1] == pytest.approx(1.959964 * gains.std(ddof=1) / np.sqrt(40) / 50, rel=1e-9)


def test_difference_is_by_subject_where_there_are_several():
    rng = np.random.default_rng(1)
    steps = rng.integers(20, 100, size=24)
    subjects = [f"mouse {i % 8}" for i in range(24)]
    # What is peculiar to a mouse is in all of its sessions: sessions are not independent.
    gains = steps * (0.02 + 0.1 * rng.normal(size=8)[np.arange(24) % 8])
    result = synthetic([gains, 0 * gains], steps, subjects)
    mean, half = result.difference("a", "b")
    assert mean == pytest.approx(gains.sum() / steps.sum())
    g = [sum(x for x, who in zip(gains, subjects, strict=True) if who == f"mouse {i}") for i in range(8)]
    n = [sum(x for x, who in zip(steps, subjects, strict=True) if who == f"mouse {i}") for i in range(8)]
    residuals = [a - mean * b for a, b in zip(g, n, strict=True)]
    expected = 2.3646242516 * np.sqrt(8 / 7 * sum(r**2 for r in residuals)) / sum(n)  # Student's t of 7
    assert half == pytest.approx(expected, rel=1e-9)
    by_session = synthetic([gains, 0 * gains], steps).difference("a", "b")[1]
    assert half > 1.3 * by_session
    for unclear in ([None, *subjects[1:]], ["one mouse"] * 24):
        assert synthetic([gains, 0 * gains], steps, unclear).difference("a", "b")[1] == pytest.approx(by_session)


def test_subjects_of_the_test_sessions_reach_the_comparison():
    data = walk(subjects=("a", "a", "b", "b", "c", "c"))
    train, test = data.split(every=2)
    assert compare(["Markov-0"], train, test, env=world(), strength=1.0).subjects == ("a", "b", "c")


def test_one_session_has_no_interval():
    result = synthetic([[-10.0], [-12.0]], [10], n_modes=[2, 1])
    mean, half = result.difference("a", "b")
    assert mean == pytest.approx(0.2)
    assert np.isnan(half)
    assert result.verdict() == "Best: a. One test session does not say whether modes help: use more of them."


# Verdict and table


STEPS, NOISE, BASE = np.full(10, 100), np.tile([1.0, -1.0], 5), np.full(10, -100.0)


def verdict(gains, rival=None, **more):
    """Of a model with two modes, by its gain on itself with one; `rival`: how much better Markov is than that."""
    rows = [BASE + gains, BASE, *([] if rival is None else [BASE + rival])]
    sizes = [2, 1, 1][: len(rows)]
    return synthetic(rows, STEPS, n_modes=sizes, one_mode={"a": "b"}, **more).verdict()


IV = " (±: 95 % interval)"  # said once, at the first


def test_modes_are_ahead_only_of_both_their_one_mode_and_the_best_other_model():
    itself = "the same model with one mode"
    ahead = f"Modes are ahead: a with 2 modes is better than {itself} by 0.1000 ± 0.0075 nats per step{IV}"
    other = "c, the best other model without modes,"
    assert verdict(10 + NOISE) == f"{ahead}."
    assert verdict(10 + NOISE, rival=-5.0) == f"{ahead} and than {other} by 0.1500 ± 0.0075 nats per step."
    none = "No case for modes: a with 2 modes"
    assert verdict(10 + NOISE, rival=20.0) == (
        f"{none} is better than the same model with one mode by 0.1000 ± 0.0075 nats per step{IV}, but is worse than "
        f"{other} by 0.1000 ± 0.0075 nats per step."
    )
    assert verdict(10 + NOISE, rival=9.9) == (
        f"{none} is better than the same model with one mode by 0.1000 ± 0.0075 nats per step{IV}, but does not differ "
        f"from {other} beyond noise (+0.0010 ± 0.0075 nats per step)."
    )
    # Better than counts, but no better than itself with one mode: that is not due to modes.
    assert verdict(0.1 + NOISE, rival=-50.0) == (
        f"{none} is better than {other} by 0.5010 ± 0.0075 nats per step{IV}, but does not differ from {itself} beyond "
        "noise (+0.0010 ± 0.0075 nats per step)."
    )
    assert verdict(NOISE - 10) == f"{none} is worse than {itself} by 0.1000 ± 0.0075 nats per step{IV}."


def test_without_itself_with_one_mode_a_model_is_not_said_to_be_ahead_by_its_modes():
    alone = synthetic([BASE + 10 + NOISE, BASE], STEPS, n_modes=[2, 1])
    assert alone.verdict() == (
        f"a with 2 modes is better than b, the best model without modes, by 0.1000 ± 0.0075 nats per step{IV}. It was "
        "not compared with itself with one mode, so that this may not be due to modes."
    )
    for sizes in ([1, 1], [2, 3]):  # nothing to say about modes
        assert synthetic([BASE + 1, BASE], STEPS, n_modes=sizes).verdict() == "Best: a."


def on_folds(gains, modes, steps=10):
    """The models a, b, c, … on four training sessions; gains are per session."""
    candidates = [{"model": name, "n_modes": k} for name, k in zip("abcdefg", modes, strict=False)]
    rows = np.asarray(gains, dtype=float)
    return Choice(candidates, rows[:, :2] / steps, rows, np.full(rows.shape[1], steps), (None,) * rows.shape[1])


def test_the_models_of_the_verdict_are_picked_on_the_folds_not_on_the_test():
    """With modes the test likes b best, without it c; the folds a and d."""
    test = [BASE + 5, BASE + 30, BASE + 2, BASE + NOISE, BASE]
    modes = [2, 2, 1, 1, 1]
    noise = np.array([1.0, -1.0, 1.0, -1.0])
    folds = on_folds([2 + noise, 0 * noise, 0 * noise, 1 + noise, -5 + noise], modes)
    picked = synthetic(test, STEPS, n_modes=modes, one_mode={"a": "e"}, on_folds=folds)
    assert picked.contest() == ("a", "e", "d", False)
    assert picked.best == "b"
    assert picked.verdict().startswith("Modes are ahead: a with 2 modes is better than the same model with one mode by")
    blind = synthetic(test, STEPS, n_modes=modes, one_mode={"b": "e"})
    assert blind.contest() == ("b", "e", "c", True)
    assert blind.verdict().endswith(
        "These models were picked by the same test scores, which favours the kind with more models."
    )


def test_of_models_with_modes_the_simplest_within_one_standard_error_is_picked():
    noise = np.sqrt(3) * np.array([1.0, -1.0, 1.0, -1.0])  # standard error of the sum per session: 1
    for gain, name in ((0.99, "b"), (1.01, "a")):
        folds = on_folds([gain + noise, 0 * noise], [3, 2])
        result = synthetic([BASE, BASE], STEPS, n_modes=[3, 2], on_folds=folds)
        assert result.contest().with_modes == name
        rule = "the best" if name == "a" else "the simplest within one standard error of the best"
        assert result.picked_words() == f"{name}: of the models with several modes, {rule} on the training folds."


def test_why_a_model_was_picked_is_only_what_picked_it():
    alone = synthetic([BASE, BASE], STEPS, n_modes=[2, 1])
    assert alone.picked_words() == "a: the only model with several modes."
    no_folds = synthetic([BASE + 1, BASE], STEPS, n_modes=[3, 2])
    assert no_folds.picked_words().startswith("a: of the models with several modes, the best on the test sessions (")
    without = synthetic([BASE + 1, BASE], STEPS, on_folds=on_folds([NOISE[:4], 9 + NOISE[:4]], [1, 1]))
    assert without.picked_words() == "b: the best on the training folds."
    assert synthetic([BASE + 1, BASE], STEPS, n_modes=[3, 2], about="b").picked_words().startswith("b: chosen before")


def test_few_test_animals_are_named():
    few = synthetic([BASE + 1, BASE], STEPS, subjects=["M01", "M06"] * 5)
    assert few.remarks() == [
        "Tested on 2 animals (M01, M06): the intervals are over their sessions and say nothing about other animals."
    ]
    five = synthetic([BASE + 1, BASE], STEPS, subjects=list("abcde") * 2)
    assert five.remarks() == []
    assert synthetic([BASE + 1, BASE], STEPS).remarks() == []  # whose sessions they are is not known


@pytest.mark.parametrize(("ari", "told"), [(0.62, True), (0.799, True), (0.8, False), (0.95, False), (np.nan, False)])
def test_modes_that_are_not_the_same_twice_are_remarked_on(ari, told):
    sums = {"score": np.zeros((2, 10))}
    steps = {"score": np.ones((2, 10), int)}
    other = Panel("action", ("a", "b"), (2, 1), sums, steps, agreement={"same_twice": np.array([ari, np.nan])})
    said = synthetic([BASE + 1, BASE], STEPS, n_modes=[2, 1], panel=other).remarks()
    assert len(said) == told
    words = "a: its modes are not the same twice. Fits to the training folds segment the test sessions alike at ARI "
    assert not told or said[0].startswith(f"{words}{ari:.2f} only")


def test_one_mode_is_enough_where_the_folds_say_so():
    tuned = {"a": Choice([{"n_modes": 1}, {"n_modes": 2}], np.array([[-1.0, -1.0], [-1.0, -1.1]]))}
    one = synthetic([BASE, BASE - 1], STEPS, n_modes=[1, 1], choices=tuned)
    assert one.verdict() == "No case for modes: one mode is enough for a (training folds)."
    # Another family may have modes still.
    two = synthetic([BASE, BASE + 10 + NOISE, BASE], STEPS, n_modes=[1, 2, 1], choices=tuned, one_mode={"b": "c"})
    assert two.verdict().startswith("Modes are ahead: b with 2 modes")
    assert two.verdict().endswith("One mode is enough for a (training folds).")


def test_a_number_at_the_edge_and_a_fit_that_did_not_end_are_remarked_on():
    scores = np.array([[-3.0, -3.1], [-2.0, -2.1], [-1.0, -1.1]])
    tuned = {"a": Choice([{"n_modes": 1}, {"n_modes": 2}, {"n_modes": 3}], scores)}
    edge = synthetic([BASE + 1, BASE], STEPS, n_modes=[3, 1], choices=tuned)
    assert edge.remarks() == ["a: K = 3 is at the edge of what was tried; add larger numbers."]
    inside = synthetic([BASE + 1, BASE], STEPS, n_modes=[2, 1], choices=tuned)
    assert inside.remarks() == []
    inside.models["a"].converged_ = False
    [said] = inside.remarks()
    assert said == "a did not converge: give more iterations (max_iter) before you rely on it."
    assert said in str(inside)


def test_few_test_sessions_that_cannot_decide_are_remarked_on():
    steps, noise = [100, 100, 100], np.array([-4.0, 0.0, 4.0])  # 8 nats more per session, ± 1.7 standard errors
    few = synthetic([np.full(3, -50.0) + noise + 8, np.full(3, -50.0)], steps, n_modes=[2, 1], one_mode={"a": "b"})
    assert few.verdict().startswith("No case for modes: a with 2 modes does not differ")
    [said] = few.remarks()
    assert said.startswith("With 3 test sessions an interval is 4.3 standard errors wide to either side")
    assert said in str(few)
    sure = synthetic([np.full(3, -30.0) + noise, np.full(3, -50.0)], steps, n_modes=[2, 1], one_mode={"a": "b"})
    assert sure.verdict().startswith("Modes are ahead")
    assert sure.remarks() == []
    none = synthetic([np.full(3, -50.0) + noise + 1, np.full(3, -50.0)], steps, n_modes=[2, 1], one_mode={"a": "b"})
    assert none.remarks() == []  # within one standard error: nothing speaks for modes
    gains = np.tile(noise, 2) + 8
    many = synthetic([np.full(6, -50.0) + gains / 2, np.full(6, -50.0)], steps * 2, n_modes=[2, 1], one_mode={"a": "b"})
    assert many.remarks() == []


# What compare itself does


TINY = {"own": ("action",), "value": -1.0}


def test_every_family_is_tried_with_one_mode_and_compared_with_it():
    train, test = walk().split(every=3)
    tune = {"mine": {"n_modes": [2, 3]}}
    result = compare({"mine": Tiny(**TINY), "other": Tiny(**TINY)}, train, test, tune=tune, n_folds=2)
    assert result.choices["mine"].candidates == [{"n_modes": 1}, {"n_modes": 2}, {"n_modes": 3}]
    assert result.chosen == {"mine": {"n_modes": 1}}  # all alike: the simplest
    assert "One mode was added to the numbers of modes that are tried" in str(result)
    assert result.verdict() == "No case for modes: one mode is enough for mine (training folds)."
    asked = compare({"mine": Tiny(**TINY)}, train, test, tune={"mine": {"n_modes": [1, 2]}}, n_folds=2)
    assert "was added" not in str(asked)
    assert tune == {"mine": {"n_modes": [2, 3]}}


def test_the_twin_with_one_mode_is_that_of_the_list_where_there_is_one():
    train, test = walk().split(every=3)
    pair = {"two": Tiny(**TINY, n_modes=2), "one": Tiny(**TINY), "else": Tiny(own=("action",), value=-2.0)}
    result = compare(pair, train, test, n_folds=2)
    assert result.one_mode == {"two": "one"}
    assert result.names == ("two", "one", "else")
    assert result.contest() == ("two", "one", "else", False)
    del pair["one"]
    added = compare(pair, train, test)
    assert added.one_mode == {"two": "two, one mode"}
    assert added.on_folds is None  # one of each kind: nothing to pick
    with pytest.raises(ValueError, match="this name is kept for two with one mode"):
        compare({**pair, "two, one mode": Tiny(own=("action",), value=-3.0)}, train, test)


def test_the_twin_is_tuned_as_its_model_is():
    """Other settings are chosen anew for one mode, on the same folds."""
    train, test = walk().split(every=3)
    tune = {"mine": {"n_modes": [2], "value": [-3.0, -1.0]}}
    result = compare({"mine": Tiny(own=("action",))}, train, test, tune=tune, n_folds=2)
    assert result.chosen["mine, one mode"] == {"value": -1.0}
    both = compare({"mine": Tiny(own=("action",))}, train, test, tune={"mine": {"n_modes": [1, 2]}}, n_folds=2)
    assert both.one_mode == {}


@pytest.mark.slow
def test_several_of_a_kind_are_scored_on_folds():
    assert [own["model"] for own in counted().on_folds.candidates] == ["Markov-0", "Markov-1"]
    train, test = walk().split(every=3)
    three = {name: Tiny(own=("action",), value=v, n_modes=2) for name, v in (("x", -1.0), ("y", -2.0))}
    result = compare({**three, "z": Tiny(**TINY)}, train, test, n_folds=2)
    assert [own["model"] for own in result.on_folds.candidates] == ["x", "y"]
    assert result.contest().with_modes == "x"
    none = compare({**three, "z": Tiny(**TINY)}, train, test, n_folds=0)
    assert none.on_folds is None
    assert none.contest().on_test
    with pytest.raises(ValueError, match="n_folds=0: settings are chosen on folds"):
        compare(three, train, test, tune={"x": {"n_modes": [1, 2]}}, n_folds=0)
    with pytest.raises(ValueError, match="n_folds=1: expected 2 or more, or 0"):
        compare(three, train, test, n_folds=1)


def test_two_models_of_different_rewards_have_different_labels():
    env = world()
    assert with_reward("S-1", make("S-1", env)) == "S-1"
    assert with_reward("S-1", make("S-1", env, reward="state-action")) == "S-1 (state-action)"
    assert with_reward("S-2", make("S-2", env, reward=Habit(1))) == "S-2 (Habit)"
    assert with_reward("Markov", make("Markov", env)) == "Markov"
    result = synthetic([BASE + 1, BASE], STEPS, labels={"a": "S-1 (state-action)"})
    assert "| S-1 (state-action) | 1 |" in str(result)
    assert result.verdict() == "Best: S-1 (state-action)."
    assert result.best == "a"  # by the name that was given


def test_a_session_in_training_and_test_is_refused():
    data = walk()
    with pytest.raises(ValueError, match="train and test share 6 sessions"):
        compare(["Markov-0"], data, data, env=world())
    with pytest.raises(ValueError, match=r"train and test share 2 sessions \('2', '3'\)"):
        compare(["Markov-0"], data[:4], data[2:], env=world())


def test_animals_on_both_sides_are_warned_of_where_there_are_enough():
    options = {"env": world(), "strength": 1.0}
    lengths = (30,) * 10
    five = walk(lengths=lengths, subjects=tuple(f"m{i % 5}" for i in range(10)))
    with pytest.warns(SameAnimalsWarning, match=r"on both sides \(m0, m4, m3\)"):
        result = compare(["Markov-0"], *five.split(every=4), **options)
    assert "The same animals are on both sides" in str(result)
    apart = compare(["Markov-0"], *five.split(subjects=["m0"]), **options)
    assert "both sides" not in str(apart)
    few = walk(lengths=lengths, subjects=tuple(f"m{i % 4}" for i in range(10)))
    assert "on both sides" in str(compare(["Markov-0"], *few.split(every=3), **options))  # a line, no warning


def test_table_is_best_first_with_paired_gaps():
    steps, rng = np.full(6, 50), np.random.default_rng(3)
    result = synthetic(-50.0 + rng.normal(size=(3, 6)) - np.array([[3.0], [0.0], [9.0]]), steps, n_modes=[1, 2, 1])
    rows = result.table()
    assert [row["model"] for row in rows] == ["b", "a", "c"]
    assert result.best == "b"
    assert (rows[0]["behind_best"], rows[0]["half_width"]) == (0.0, 0.0)
    for row in rows:
        assert (row["behind_best"], row["half_width"]) == result.difference(row["model"], "b")
        assert row["score"] == result.scores[row["model"]]
        assert row["seconds"] == result.names.index(row["model"]) + 0.5
    assert [row["modes"] for row in rows] == [2, 1, 1]


def test_the_printed_table():
    rows = [[-91.0, -99.0, -80.0, -90.0], [-100.0, -110.0, -90.0, -100.0], [-160.0, -150.0, -145.0, -145.0]]
    result = synthetic(rows, [100] * 4, n_modes=[2, 1, 1], one_mode={"a": "b"})
    assert str(result).splitlines() == [
        "Modes are ahead: a with 2 modes is better than the same model with one mode by 0.1000 ± 0.0130 nats per step "
        "(±: 95 % interval) and than c, the best other model without modes, by 0.6000 ± 0.1338 nats per step.",
        "",
        "| model | modes | held-out LL (action, nats/step) | to the best (95 %) | seconds |",
        "|:--|--:|--:|--:|--:|",
        "| a | 2 | -0.9000 |  | 0.5 |",
        "| b | 1 | -1.0000 | -0.1000 ± 0.0130 | 1.5 |",
        "| c | 1 | -1.5000 | -0.6000 ± 0.1338 | 2.5 |",
        "",
        "400 steps of 4 test sessions scored, once.",
    ]
    real = str(counted())
    assert "(next state, nats/step)" in real
    assert f"{counted().n_scored} steps of 2 test sessions scored, once.\nThe sessions do not all name" in real
    assert isinstance(counted().models["ARHMM"], ARHMM)


@pytest.mark.slow
def test_fits_that_others_make_give_the_same_comparison(tmp_path):
    """Those to folds are asked for in one go, those to all sessions in another; nothing is made that nobody needs."""
    train, test = walk(lengths=(40, 25, 30, 40, 35, 30, 40, 30)).split(every=3)
    asked = {
        "env": world(), "tune": {"ARHMM": {"n_modes": [1, 2]}}, "n_folds": 2, "n_restarts": 1, "max_iter": 3,
    }  # fmt: skip
    names = ["Markov-0", "Markov-1", "ARHMM"]
    plain, waves = compare(names, train, test, **asked), []

    def engine(tasks):
        waves.append([(type(task.arguments["model"]).__name__, task.arguments["held_out"]) for task in tasks])
        return here()(tasks)

    fits = fits_on_tasks(Shared({"data": train}), Folder(tmp_path / "kept"), engine)
    found = compare(names, train, test, fits=fits, **asked)
    np.testing.assert_array_equal(found.scores, plain.scores)
    assert found.verdict() == plain.verdict()
    assert str(found.on_folds) == str(plain.on_folds)
    assert str(found.panel) == str(plain.panel)
    assert [len(wave) for wave in waves[:2]] == [2 * 2 + 2 * 2, 3]
    assert all(held_out is None for wave in waves[1:] for _, held_out in wave)
    assert len(waves) <= 3  # the last is the twin with one mode, where it is not among the models
    assert all(found.seconds > 0)
    n_waves = len(waves)
    compare(names, train, test, fits=fits, **asked)
    assert len(waves) == n_waves
