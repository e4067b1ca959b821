"""Where the modes are not settled the page says so first, and what other solutions say; where they are, it does not."""

from copy import copy

import numpy as np
import pytest

import swirl
from small_worlds import two_factors
from swirl.analysis.decoded import decode
from swirl.estimators.fit_warnings import UNSETTLED, Halves, RestartAgreement
from swirl.report.animals import animals_section
from swirl.report.caveats import MAX_OTHERS, other_solutions, unsettled
from swirl.report.section import ReportedFit
from swirl.report.signal import signal_section


def reported(model, data, signal=None):
    case = decode(model, data, signal=signal)
    return ReportedFit(case.model, case.data, case.env, case.modes, case.mode_names, case.signal)


@pytest.fixture(scope="module")
def bits():
    """Two optima that are exactly as good; of each animal the first session, of group x, has more of one bit."""
    env, data = two_factors()
    n = len(data)
    data.subjects, data.groups = tuple(f"m{i}" for i in range(n)), tuple("xy"[i % 2] for i in range(n))
    data = swirl.Trajectories(
        data.states, data.actions, n_states=1, n_actions=4, subjects=data.subjects, groups=data.groups,
        signals={"bit": [np.asarray(a, float) for a in data.actions]},
    )  # fmt: skip
    model = swirl.SWIRL(
        env, n_modes=2, history=1, reward="state-action", switching="independent", n_restarts=6, random_state=1
    )
    return model.fit(data), data


def test_another_solution_is_decoded_in_the_numbers_of_the_fit(bits):
    model, data = bits
    fit = reported(model, data, "bit")
    first = other_solutions(fit)[0]
    near = model.restart_agreement_.others[0]
    theirs = model.use_restart(near.restart).predict(data)
    agree = np.mean(np.concatenate(first.fit.modes) == np.concatenate(fit.modes))
    assert agree >= 0.5  # matched: else the other numbers would agree at more steps
    cut = np.diff(np.concatenate(theirs)) != 0
    np.testing.assert_array_equal(np.diff(np.concatenate(first.fit.modes)) != 0, cut)  # but for the numbers, its own
    assert first.nats_behind == near.nats_behind
    assert len(other_solutions(fit)) <= MAX_OTHERS


def test_a_fit_that_is_not_trusted_begins_with_it(bits):
    model, data = bits
    fit = reported(model, data, "bit")
    assert unsettled(fit) == UNSETTLED
    animals, signal = animals_section(fit), signal_section(fit)
    assert animals.values["caveat"] == UNSETTLED
    assert any("In another solution, as good, with other modes, the difference of" in words
               for words in animals.values["test"])  # fmt: skip
    assert signal.values["caveat"] == UNSETTLED
    assert "In another solution, as good, with other modes, the means are" in signal.values["elsewhere"]


def test_a_fit_that_is_trusted_has_no_such_words(bits):
    fitted, data = bits
    model, n = copy(fitted), len(fitted.restarts_)
    model.restart_agreement_ = RestartAgreement(model.best_restart_, 2, *np.ones((1, n)), *np.zeros((2, n)))
    model.verdict_ = Halves(2, 0.98, (0.1, 0.01), None, None).verdict()
    fit = reported(model, data, "bit")
    assert unsettled(fit) == ""
    assert other_solutions(fit) == []
    animals, signal = animals_section(fit), signal_section(fit)
    assert animals.values["caveat"] == signal.values["caveat"] == signal.values["elsewhere"] == ""
    assert not any("solution" in words for words in animals.values["test"])


def test_where_steps_last_unequally_long_the_signal_says_that_each_counts_once(bits):
    model, data = bits
    rng = np.random.default_rng(0)
    for lasts, said in ((lambda n: rng.choice([1.0, 9.0], n), True), (lambda n: np.ones(n), False)):
        signals = {**data.signals, "dwell": [lasts(len(path)) for path in data.states]}
        timed = swirl.Trajectories(
            data.states, data.actions, n_states=1, n_actions=4, subjects=data.subjects, groups=data.groups,
            signals=signals,
        )  # fmt: skip
        section = signal_section(reported(model, timed, "bit"))
        assert ("Each step counts once" in section.values["weights"]) == said


def test_parameters_that_were_given_have_no_verdict():
    world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    fit = reported(world.true_model(), world.trajectories)
    assert unsettled(fit) == ""
    assert other_solutions(fit) == []
