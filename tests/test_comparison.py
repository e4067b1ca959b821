"""Comparison of models: one currency, the same steps, paired differences, and a table that reads well."""

from functools import cache
from typing import ClassVar

import numpy as np
import pytest

import swirl.comparing
from small_worlds import N_ACTIONS, N_STATES, world
from swirl.baselines.arhmm import ARHMM
from swirl.baselines.markov import BackoffMarkov
from swirl.comparing import common_currency, compare
from swirl.comparison import Comparison
from swirl.encoding import Encoded
from swirl.estimator import HiddenModeEstimator
from swirl.likelihood import Evidence
from swirl.mdp import MDP
from swirl.registry import make, models
from swirl.selection import choose
from swirl.trajectories import Trajectories


class Tiny(HiddenModeEstimator):
    """Gives every step but the first `skip` of a session the same log-likelihood."""

    stored: ClassVar = {}

    def __init__(self, *, own=("density",), n_modes=1, value=-1.0, skip=0):
        self.own, self.n_modes, self.value, self.skip = own, n_modes, value, skip

    @property
    def currencies(self):
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


def synthetic(log_likelihoods, steps, subjects=None, n_modes=None):
    """A comparison with given numbers."""
    names = tuple("abcdefg"[: len(log_likelihoods)])
    sizes = n_modes or [1] * len(names)
    models = {name: Tiny(own=("action",), n_modes=size).fit(walk()) for name, size in zip(names, sizes, strict=True)}
    steps = np.asarray(steps)
    return Comparison(
        "action", int(steps.sum()), names, models, np.asarray(log_likelihoods, dtype=float), steps,
        tuple(subjects or [None] * len(steps)), np.arange(len(names)) + 0.5, {},
    )  # fmt: skip


# What compares with what


def test_the_currency_is_the_first_that_all_share():
    shared, named = world(), MDP.deterministic(np.tile(np.arange(3), (3, 1)))
    assert common_currency({"a": make("S-1", shared), "b": make("Markov", shared)}) == "action"
    assert common_currency({"a": make("S-1", shared), "b": make("ARHMM", shared)}) == "next_state"
    assert common_currency({"a": make("S-1", named), "b": make("ARHMM", named)}) == "action"  # the same number
    assert common_currency({"a": make("S-1", named), "b": make("ARHMM", named)}, "next_state") == "next_state"
    assert common_currency({"a": Tiny(), "b": Tiny()}) == "density"


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


def test_scores_are_those_of_plain_fits_each_scored_once():
    train, test = walk().split(every=3)
    result = counted()
    assert result.of == "next_state"
    assert result.names == ("Markov-0", "Markov-1", "ARHMM")
    assert result.n_scored == result.steps.sum() == test.n_steps
    for name, row in zip(result.names, result.log_likelihoods, strict=True):
        counts = {"strength": 1.0, "target": "next_state"}  # a count model is fitted for what is scored
        options = {"n_restarts": 2, "max_iter": 15} if name == "ARHMM" else counts
        alone = make(name, world(), **options).fit(train)
        np.testing.assert_allclose(row, alone.log_likelihood(test, of="next_state"), rtol=1e-12)
        assert result.scores[name] == pytest.approx(alone.score(test, of="next_state"), rel=1e-12)
    assert result.best == max(result.scores, key=result.scores.get)
    assert [result.n_modes(name) for name in result.names] == [1, 1, 2]
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


def test_none_is_every_model_that_has_the_score(monkeypatch):
    train, test = walk().split(every=3)
    offered = {}

    def note(candidates, of):
        offered.update(candidates)
        raise InterruptedError  # before anything is fitted

    monkeypatch.setattr(swirl.comparing, "common_currency", note)
    for of, out in ((None, set()), ("next_state", set()), ("action", {"ARHMM", "rARHMM"})):
        offered.clear()
        with pytest.raises(InterruptedError):
            compare(None, train, test, env=world(), of=of, n_modes=3)
        labelled = {name for name in models() if "env" in make(name, world()).get_params()}
        assert {"MaxEnt", "S-2", "F-1", "Markov", "IQ-Learn"} <= set(offered)
        assert labelled - set(offered) == out
        assert "GaussianARHMM" not in offered
        assert common_currency(offered, of) == (of or "next_state")
        assert [offered[name].n_modes for name in ("MaxEnt", "S-2")] == [1, 3]


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

    def note(model, data, grid, *, n_folds, of, callback):
        seen.append((of, n_folds, data))
        return choose(model, data, grid, n_folds=n_folds, of=of)

    monkeypatch.setattr(swirl.comparing, "choose", note)
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


def test_verdict_in_its_three_cases():
    steps, noise = np.full(10, 100), np.tile([1.0, -1.0], 5)
    base = np.full(10, -100.0)
    ahead = synthetic([base + 10 + noise, base, base - 50], steps, n_modes=[2, 1, 1])
    assert ahead.verdict() == (
        "Best: a. a is ahead of b, the best model without modes, by 0.1000 ± 0.0075 nats per step."
    )
    behind = synthetic([base - 10 + noise, base, base - 50], steps, n_modes=[2, 1, 3])
    assert behind.verdict() == "A model without modes wins: b is ahead of a by 0.1000 ± 0.0075 nats per step."
    even = synthetic([base + 0.1 + noise, base], steps, n_modes=[2, 1])
    assert even.verdict() == (
        "No case for modes: a and b, the best model without modes, differ by 0.0010 ± 0.0075 nats per step, which is "
        "within noise."
    )
    for sizes in ([1, 1], [2, 3]):  # nothing to say about modes
        assert synthetic([base + 1, base], steps, n_modes=sizes).verdict() == "Best: a."


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
    result = synthetic(rows, [100] * 4, n_modes=[2, 1, 1])
    assert str(result).splitlines() == [
        "Best: a. a is ahead of b, the best model without modes, by 0.1000 ± 0.0130 nats per step.",
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
    assert real.endswith(f"{counted().n_scored} steps of 2 test sessions scored, once.")
    assert isinstance(counted().models["ARHMM"], ARHMM)
