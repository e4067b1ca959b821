"""Many starts race: the best go on, by the same programs, with the same bits, and Ctrl-C leaves a fit behind."""

import numpy as np
import pytest

from small_worlds import recording, world
from swirl import SWIRL, load
from swirl.estimators.iq_learn import IQLearn
from swirl.inference import em, first_steps
from swirl.inference.first_steps import FINALISTS, RACE
from swirl.inference.mstep import Parameters
from swirl.priors import Cauchy, Gaussian

NORMAL = Gaussian(0.5, of="value")


def model(n_restarts, **options):
    options = {"history": 1, "reward_prior": NORMAL, "max_iter": 120, **options}
    return SWIRL(world(), n_restarts=n_restarts, **options)


@pytest.fixture(scope="module")
def raced():
    return model(18).fit(recording())


@pytest.fixture(scope="module")
def all_to_their_end():
    return model(18).fit(recording(), race=False)


def ranked_at(restarts, at):
    return np.argsort([-restart.objective_trace[min(at, restart.n_iterations)] for restart in restarts], kind="stable")


@pytest.mark.slow
def test_those_ahead_go_on(raced, all_to_their_end):
    """The race leaves behind whom a plain reading of all traces would."""
    starts = all_to_their_end.restarts_
    assert len(starts) == 18
    first = np.sort(ranked_at(starts, RACE[0])[:12])  # √(18 · 8)
    expected = np.sort(first[ranked_at([starts[i] for i in first], RACE[1])[:FINALISTS]])
    got = [restart.objective_trace[0] for restart in raced.restarts_]
    assert got == pytest.approx([starts[i].objective_trace[0] for i in expected], rel=1e-12)
    for restart, i in zip(raced.restarts_, expected, strict=True):
        n = min(RACE[-1], restart.n_iterations, starts[i].n_iterations) + 1
        np.testing.assert_allclose(restart.objective_trace[:n], starts[i].objective_trace[:n], rtol=1e-10)


def test_the_trace_has_every_iteration_and_never_falls(raced):
    for restart in raced.restarts_:
        assert restart.n_iterations >= RACE[-1]
        assert np.all(np.diff(restart.objective_trace) >= -1e-9 * abs(restart.objective))
        assert restart.status in ("converged", "iterations ran out")


def test_the_same_seed_gives_the_same_bits(raced):
    again = model(18).fit(recording())
    for one, other in zip(raced.restarts_, again.restarts_, strict=True):
        np.testing.assert_array_equal(one.objective_trace, other.objective_trace)


@pytest.mark.slow
def test_the_fit_says_that_there_was_a_race(raced, all_to_their_end, tmp_path):
    said = "(8 of 18 starts were ahead after 50 iterations and went on)"
    assert said in raced.fit_report_
    assert "ahead" not in all_to_their_end.fit_report_
    assert "ahead" not in model(3).fit(recording()).fit_report_
    raced.save(tmp_path / "fit.nc")
    assert said in load(tmp_path / "fit.nc").fit_report_
    assert raced.restart_agreement_.n_restarts == FINALISTS
    eight = model(8, max_iter=5).fit(recording()).set_params(n_restarts=32)  # asked for later: there was no race
    assert "ahead" not in eight.use_restart(1).fit_report_


@pytest.mark.slow
def test_a_fit_of_eight_does_not_race():
    eight, same = (model(8, max_iter=30).fit(recording(), race=race) for race in (True, False))
    for one, other in zip(eight.restarts_, same.restarts_, strict=True):
        np.testing.assert_array_equal(one.objective_trace, other.objective_trace)


@pytest.mark.parametrize("max_iter", [7, 20, 33])
def test_few_iterations_are_not_made_more(max_iter):
    short = model(10, max_iter=max_iter, tol=1e-12).fit(recording())
    assert [restart.n_iterations for restart in short.restarts_] == [max_iter] * FINALISTS


@pytest.mark.slow
def test_warm_ups_come_first():
    """Under the Cauchy prior the first objective is that after the milder steps, as without a race."""
    one, other = (
        model(9, reward_prior=Cauchy(), max_iter=3).fit(recording(), race=race, compare_restarts=False)
        for race in (True, False)
    )
    firsts = {round(float(restart.objective_trace[0]), 8) for restart in other.restarts_}
    assert {round(float(restart.objective_trace[0]), 8) for restart in one.restarts_} <= firsts


@pytest.mark.slow
def test_a_fit_goes_on_from_its_finalists(raced):
    last = [restart.objective for restart in raced.restarts_]
    on = model(18).fit(recording())
    on.set_params(max_iter=2).fit(recording(), resume=True)
    assert [restart.objective_trace[0] for restart in on.restarts_] == pytest.approx(last, rel=1e-12)


@pytest.mark.parametrize(("when", "expected"), [pytest.param(1, 0, marks=pytest.mark.slow), (70, RACE[0])])
def test_ctrl_c_in_a_race_leaves_a_fit(when, expected):
    """It stands where the last finished part of the race left it: at its starts, or after twenty iterations."""
    told = []

    def callback(progress):
        told.append(progress)
        if len(told) == when:
            raise KeyboardInterrupt

    fit = model(18).fit(recording(), callback=callback)
    assert [restart.status for restart in fit.restarts_] == ["interrupted"] * FINALISTS
    assert [restart.n_iterations for restart in fit.restarts_] == [expected] * FINALISTS
    assert np.isfinite(fit.score(recording()))
    going_on = fit.set_params(max_iter=3).fit(recording(), resume=True)
    assert going_on.restarts_[0].objective >= fit.restarts_[0].objective_trace[0]


def test_progress_tells_how_many_race():
    told = []
    model(18, max_iter=40).fit(recording(), callback=told.append, compare_restarts=False)
    assert {progress.running for progress in told if progress.iteration <= RACE[0]} == {18}
    assert {progress.running for progress in told if progress.iteration > RACE[0]} <= {12, *range(FINALISTS + 1)}


def test_a_start_that_fails_is_left_behind():
    """One whose objective is not a number never goes on, however early."""
    rows = em.Rows(np.array([[0.0, 1.0, np.nan, 3.0]]), np.zeros((1, 4)))
    parameters, kept = first_steps._ahead(Parameters(np.zeros((4, 2)), np.arange(4.0), np.zeros(4)), rows, 3)
    assert parameters.switching.tolist() == [0.0, 1.0, 3.0]
    assert kept.log_likelihoods.tolist() == [[0.0, 1.0, 3.0]]


@pytest.mark.slow
def test_an_objective_that_may_fall_is_no_judge():
    fit = IQLearn(world(), history=1, n_restarts=9, max_iter=3).fit(recording())
    assert len(fit.restarts_) == 9
