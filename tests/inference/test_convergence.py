"""The rule that ends EM: true where next to nothing remains, false where EM crawls, rests, or has not begun to slow."""

from itertools import islice

import numpy as np
import pytest

from small_worlds import recording, world
from swirl import datasets
from swirl.estimators.swirl import SWIRL
from swirl.inference import convergence, em, engines
from swirl.inference.convergence import recent_gain, remaining_gain, schedule, unfinished
from swirl.priors import Cauchy
from swirl.rewards.component import EmissionComponent


def said_converged(trace, tol=0.01):
    """The first iteration after which the rule says so, of those at which it is asked; None: never."""
    made = 0
    for stretch in schedule(False):
        made += stretch.n
        if made >= len(trace):
            return None
        part = trace[: made + 1]
        if remaining_gain(part) <= tol and recent_gain(part) <= tol:
            return made
    raise AssertionError


K = np.arange(6000.0)


@pytest.mark.parametrize("rate", [0.3, 0.9, 0.99])
def test_a_geometric_end_is_predicted_exactly(rate):
    trace = -100 * rate ** K[:400]
    for k in (20, 60, 150):
        assert remaining_gain(trace[: k + 1]) == pytest.approx(-trace[k], rel=1e-6, abs=1e-9)
    assert said_converged(-100 * rate**K) is not None


def test_what_converges_is_said_to():
    at = said_converged(-300 * 0.98**K)
    assert 300 * 0.98**at < 0.01


WORLDS = {
    "a steady rise": K * 1e-3,
    "a crawl, as 1 / iterations": -1000 / (K + 1),
    "two rates, the slow one small": -500 * 0.8**K - 2 * 0.999**K,
    "gains that grow again": -300 * 0.95**K + 1e-2 * 1.01 ** np.minimum(K, 700),
    "a plateau as on the spontaneous recordings": -60 * 0.99**K - 30 / (1 + np.exp((K - 800) / 25)),
}


@pytest.mark.parametrize("name", WORLDS)
def test_what_has_more_than_a_twentieth_of_a_nat_to_come_is_not_converged(name):
    trace = WORLDS[name]
    at = said_converged(trace)
    assert at is None or trace[-1] - trace[at] < 0.05


@pytest.mark.parametrize("name", ["a crawl, as 1 / iterations", "a steady rise"])
def test_the_old_rule_was_wrong_here(name):
    """Three gains below 1e-5 of the objective: the worlds above do tell rules apart."""
    trace = WORLDS[name] - 1e5
    small = np.diff(trace) <= 1e-5 * np.abs(trace[1:])
    at = next(k for k in range(3, len(small)) if small[k - 3 : k].all())
    assert trace[-1] - trace[at] > 0.05


def test_what_runs_out_in_a_crawl_has_four_recent_gains_to_go():
    trace = -1000 / (K[:2000] + 1)
    assert unfinished(trace) == pytest.approx(-trace[-1], rel=0.02)


def test_nothing_is_said_of_short_or_broken_traces():
    assert remaining_gain(np.zeros(5)) == np.inf
    assert remaining_gain(np.full(30, np.nan)) == np.inf
    assert remaining_gain(np.zeros(30)) == 0.0


def test_the_rule_is_asked_only_after_plain_iterations():
    tail = 0
    for stretch in islice(schedule(True), 60):
        tail = 0 if stretch.accelerated else tail + stretch.n
        assert not stretch.asks or tail >= convergence.TAIL


# ---------------------------------------------------------------------- quasi-Newton steps


def fitted(**options):
    model = SWIRL(world(), history=2, switching="independent", n_restarts=3, max_iter=2000, tol=1e-6)
    model.set_params(reward_prior=Cauchy())  # under which EM crawls
    return model.set_params(**options).fit(recording(history=2))


@pytest.mark.slow
def test_quasi_newton_steps_end_where_plain_ones_do_and_never_fall(monkeypatch):
    quick = fitted()
    monkeypatch.setattr(em, "schedule", lambda accelerated, made=0: schedule(False))
    plain = fitted()
    for a, b in zip(quick.restarts_, plain.restarts_, strict=True):
        assert np.diff(a.objective_trace).min() >= -1e-9 * abs(a.objective)
        assert a.converged
        assert b.converged
        assert a.objective == pytest.approx(b.objective, abs=1e-3)
    assert sum(r.n_iterations for r in quick.restarts_) < sum(r.n_iterations for r in plain.restarts_)


@pytest.mark.slow
def test_the_size_of_a_chunk_changes_nothing(monkeypatch):
    whole = fitted(max_iter=90, tol=1e-12)
    monkeypatch.setattr(engines, "CHUNK", 7)
    model = SWIRL(world(), history=2, switching="independent", n_restarts=3, max_iter=90, tol=1e-12)
    model.set_params(reward_prior=Cauchy())
    parts = model.fit(recording(history=2), engine="scan")
    for a, b in zip(whole.restarts_, parts.restarts_, strict=True):
        np.testing.assert_allclose(a.objective_trace, b.objective_trace, rtol=1e-7)


def rests(ledger, level, n=10):
    """Plain iterations that gain next to nothing."""
    for k in range(n):
        ledger.record(np.array([level - 1e-4 * 0.5 ** (k + 1)]), np.zeros(1))


@pytest.mark.parametrize("accelerated", [True, False])
def test_a_plateau_is_not_an_end_once_there_are_quasi_newton_steps(accelerated):
    ledger = em._Ledger.open(0.01, EmissionComponent, np.array([-1000.0]), np.zeros(1))
    rests(ledger, -999.5, n=60)
    ledger.ask(accelerated=accelerated)
    assert ledger.status == ([""] if accelerated else ["converged"])
    if accelerated:
        rests(ledger, -999.4, n=60)  # the steps in between found a way up
        ledger.ask(accelerated=True)
        assert ledger.status == [""]
        rests(ledger, -999.395, n=60)
        ledger.ask(accelerated=True)
        assert ledger.status == ["converged"]


@pytest.mark.slow
def test_what_says_converged_gains_little_by_going_on():
    grid = datasets.gridworld(n_sessions=20, n_steps=60)
    train = grid.trajectories.split(every=5)[0]
    model = SWIRL(grid.env, n_modes=2, history=2, reward_prior=Cauchy(), n_restarts=4).fit(train)
    prepared = model.em_problem(train)
    for k, restart in enumerate(model.restarts_):
        assert restart.converged
        further = model.use_restart(k).refitted(prepared, None, tol=1e-300, max_iter=500)
        assert further.restarts_[0].objective - restart.objective <= 0.05
