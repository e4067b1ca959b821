"""Tests by simulation: the p-value counts as it says, simulations are like the data, and questions are the right ones.

How often the answer is wrong takes hundreds of data sets: studies/null.py.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from small_worlds import recording, world
from swirl import SWIRL, Trajectories, datasets, make, selection
from swirl.analysis import null_test as module
from swirl.analysis.null_test import NullTest, gain_of, null_test
from swirl.analysis.tasks import Folder

FEW = {"n_restarts": 1, "max_iter": 30}


def found(gain, simulated, question="modes", within=1.0):
    return NullTest(
        question, {"n_modes": 1}, {"n_modes": 2}, gain, np.array(simulated, float), "the model without modes", 100,
        within, 1.0,
    )  # fmt: skip


def test_p_counts_the_real_sessions_among_the_simulations():
    low = found(10.0, np.arange(19) / 10)
    assert (low.as_large, low.p_value, low.floor) == (0, 0.05, 0.05)
    assert low.verdict() == "Modes are supported (p = 0.05, the smallest that 19 simulations can give)."
    middle = found(9.0, np.arange(19))
    assert middle.as_large == 10  # as large counts
    assert middle.p_value == 11 / 20
    assert middle.verdict().startswith("Modes are not supported")
    assert found(18.0, np.arange(19)).p_value == 0.1  # equal to the largest is not above it


def test_gains_of_rounding_are_alike():
    nothing = found(4e-14, 1e-14 * np.arange(1, 4).repeat(7))
    assert nothing.p_value == 1
    assert "n_modes=2 gains 0 nats over n_modes=1 (0 per step)" in str(nothing)


def test_p_is_uniform_where_nothing_is_there():
    rng = np.random.default_rng(0)
    p = [found(*(lambda x: (x[0], x[1:]))(rng.normal(size=20))).p_value for _ in range(2000)]
    shares = [np.mean(np.array(p) <= level) for level in (0.05, 0.25, 0.5)]
    np.testing.assert_allclose(shares, [0.05, 0.25, 0.5], atol=0.03)


def test_too_few_simulations_cannot_tell():
    assert found(10.0, [1.0, 2.0]).verdict() == (
        "Too few simulations to decide: p cannot be below 0.33; 19 are the fewest."
    )


def test_modes_that_never_change_may_be_animals():
    told = found(10.0, np.zeros(19), within=0.04).verdict()
    assert "the mode changes in only 4% of the sessions" in told
    assert "animals" in told
    assert "animals" not in found(10.0, np.zeros(19)).verdict()


def test_it_prints_the_answer_first():
    lines = str(found(12.5, np.arange(19))).split("\n")
    assert lines[0].startswith("Modes are not supported")
    assert lines[2] == "n_modes=2 gains 12.5 nats over n_modes=1 (0.125 per step)."
    assert lines[3] == "19 data sets simulated by the model without modes: 0 to 18 nats; 6 as large."
    bad = replace(found(1.0, [0.0]), converged=0.75)
    assert str(bad).endswith("25% of the fits had not converged: raise max_iter.")
    assert found(1.0, [0.0]).facts()["p_value"] == 0.5


@cache
def outcome(question):
    model = SWIRL(world(), n_modes=2, history=2, reward="state-action", **FEW)
    return null_test(model, recording(), question, n_simulations=3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "simple", "rich"),
    [
        ("modes", {"n_modes": 1}, {"n_modes": 2}),
        ("switching", {"switching": "independent"}, {"switching": "state"}),
        ("history", {"history": 1}, {"history": 2}),
    ],
)
def test_each_question_has_its_pair(question, simple, rich):
    result = outcome(question)
    assert (result.simple, result.rich) == (simple, rich)
    assert len(result.simulated) == 3
    assert np.isnan(result.within) == (question != "modes")


@pytest.mark.slow
def test_the_gain_is_that_of_two_fits():
    model = SWIRL(world(), n_modes=2, history=2, reward="state-action", **FEW)
    one = SWIRL(world(), n_modes=1, history=2, reward="state-action", **FEW).fit(recording())
    settled = {**one.fitted_params}
    fits = [SWIRL(**{**settled, "n_modes": k}).fit(recording()) for k in (1, 2)]
    gain = fits[1].log_likelihood(recording()).sum() - fits[0].log_likelihood(recording()).sum()
    assert outcome("modes").gain == gain
    assert null_test(model, recording(), n_simulations=3).simulated.tolist() == outcome("modes").simulated.tolist()


def test_a_simulation_is_like_the_data():
    data = Trajectories([[0, 1, 2, 0, 1], [2, 2, 0]], [[0, -1, 0, 1, -1], [-1, -1, -1]], gaps=[[3], []], n_states=3)
    seen = []
    model = SWIRL(world(), n_modes=1, history=1, reward="state-action", **FEW).fit(recording())

    class Spy(SWIRL):
        def fit_to_score(self, drawn, **more):
            seen.append(drawn)
            return model

    spy = Spy(world(), n_modes=1, history=1)
    gain_of(model, spy, spy, data, seed=5)
    for drawn in seen:
        assert drawn.lengths.tolist() == [5, 3]
        assert [gaps.tolist() for gaps in drawn.gaps] == [[3], []]
        assert [(actions < 0).tolist() for actions in drawn.actions] == [(a < 0).tolist() for a in data.actions]


@pytest.mark.slow
def test_a_history_that_is_too_short_is_made_up_for_by_counts():
    """A walk that does not turn back, asked with a history of one state: counts of two states simulate it."""
    env = datasets.gridworld_env()
    rng = np.random.default_rng(0)
    following, states = np.asarray(env.successors.next)[:, :, 0], []
    for _ in range(12):
        path = [0, 1]
        while len(path) < 60:
            ways = [s for s in set(following[path[-1]].tolist()) if s not in (path[-1], path[-2])]
            path.append(int(rng.choice(ways)))
        states.append(path)
    model = SWIRL(env, n_modes=2, history=1, **FEW)
    result = null_test(model, Trajectories(states, n_states=25), n_simulations=2)
    assert "Markov, order" in result.simulator
    assert int(result.simulator.split("order ")[1].rstrip(")")) >= 2


@pytest.mark.slow
def test_killed_it_goes_on(tmp_path):
    model = SWIRL(world(), n_modes=2, history=2, reward="state-action", **FEW)
    folder = Folder(tmp_path / "r")
    whole = null_test(model, recording(), n_simulations=3, folder=folder)
    kept = sorted((tmp_path / "r" / "results").iterdir())
    assert len(kept) == 4
    kept[1].unlink()
    told = []
    again = null_test(model, recording(), n_simulations=3, folder=Folder(tmp_path / "r"), callback=told.append)
    assert [state.done for state in told] == [3, 4]
    assert again.simulated.tolist() == whole.simulated.tolist()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"question": "goals"}, "question='goals': expected one of modes, switching, history"),
        ({"n_simulations": 0}, "n_simulations=0: expected a whole number"),
        ({"n_simulations": True}, "n_simulations=True"),
        ({"model": make("Markov", world())}, "model is BackoffMarkov: expected one that EM fits"),
        ({"model": SWIRL(world(), n_modes=1)}, "model has n_modes=1: expected two or more"),
        ({"model": SWIRL(world(), history=1), "question": "history"}, "model has history=1: expected 2 or more"),
        ({"model": SWIRL(world(), switching="independent"), "question": "switching"}, "switching='independent'"),
        ({"model": make("GaussianARHMM", world())}, "GaussianARHMM, of signals"),
    ],
)
def test_what_cannot_be_asked_is_told(wrong, words):
    given = {"model": SWIRL(world()), "question": "modes", "n_simulations": 3, **wrong}
    with pytest.raises(ValueError, match=words):
        null_test(given["model"], recording(), given["question"], n_simulations=given["n_simulations"])


def test_it_is_part_of_selection():
    assert selection.null_test is module.null_test


def test_what_is_not_a_number_supports_nothing():
    assert found(10.0, [np.nan] * 19).p_value == 1.0
    assert found(np.nan, np.zeros(19)).p_value == 1.0


@pytest.mark.slow
def test_one_missing_action_takes_no_other_along(monkeypatch):
    """Counts of next states have no actions in a stochastic world: simulations would have had none at all."""
    env = world("stochastic")
    whole = SWIRL(env, n_modes=1, history=1, reward="state-action", **FEW).fit(recording())
    data = whole.sample(8, 40, random_state=0)
    actions = [own.copy() for own in data.actions]
    actions[0][3] = -1
    data = Trajectories(data.states, actions, n_states=5, n_actions=3)
    monkeypatch.setattr(module, "score_on_folds", lambda model, *_, **__: Scores(model))
    fitted = SWIRL(env, n_modes=1, history=1, reward="state-action", **FEW).fit(data)
    simulator, words = module._best_without_modes(fitted, SWIRL(env, n_modes=1, history=1), data)
    assert "Markov" in words
    drawn = module.simulated_like(simulator, data, 0)
    assert sum((own >= 0).sum() for own in drawn.actions) == sum((own >= 0).sum() for own in data.actions) > 0


class Scores:
    """Counts are ahead."""

    def __init__(self, model):
        self.means = [0.0 if isinstance(model, SWIRL) else 1.0]
