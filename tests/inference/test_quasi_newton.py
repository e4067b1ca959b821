"""Quasi-Newton steps: the gradient is the objective's, the direction L-BFGS's own, and nothing ever falls."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from small_worlds import recording, world
from swirl.estimators.swirl import SWIRL
from swirl.inference import em, engines
from swirl.inference import quasi_newton as qn
from swirl.inference.convergence import schedule
from swirl.inference.engines import HostIterations, tables_and_prior
from swirl.inference.estep import numba_loop
from swirl.inference.mstep import Parameters
from swirl.precision import float64, numpy_tree
from swirl.priors import Cauchy, Dirichlet, Gaussian
from swirl.rewards.forms import Goals, Habit

FORMS = {
    "heavy-tailed": {"reward_prior": Cauchy(), "history": 2},
    "linearised": {"reward_prior": Gaussian(of="linearised"), "switching": "independent"},
    "on values": {"reward_prior": Gaussian(0.1, backoff=3.0, of="value"), "history": 2, "switching": "state-table"},
    "state-action": {"reward": "state-action", "reward_prior": Dirichlet(0.5)},
    "state-action, normal": {"reward": "state-action", "reward_prior": Gaussian(0.5), "switching": "state-net"},
    "habit and goals": {"reward": Habit(1), "history": 2},
    "goals": {"reward": Goals([1, 3]), "switching": "until-reached", "n_modes": 3},
}
SLOW = tuple(name for name in FORMS if name != "on values")  # to compile
ALL = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in FORMS]


def problem(seed=0, **options):
    """Components, chains and two random restarts of a small fit, some actions of which are missing."""
    model = SWIRL(world(), **{"n_modes": 2, **options})
    _, chains, components, *_ = model.em_problem(recording(history=2))
    generators = np.random.default_rng(seed).spawn(2)
    return components, chains, numpy_tree(em.stack([components.random_parameters(rng, 1.0) for rng in generators]))


def evaluate(components, chains, parameters):
    """Counts and objective of each restart."""
    tables, log_prior = tables_and_prior(components, parameters)
    counts = numba_loop.expected_counts(numpy_tree(tables), chains)
    return counts, counts.log_likelihood + np.asarray(log_prior)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_the_counts_give_the_gradient_of_the_objective(name):
    components, chains, parameters = problem(**FORMS[name])
    with float64():
        counts, _ = evaluate(components, chains, parameters)
        slopes = jax.vmap(lambda p, n: qn.gradient(components, p, n))(parameters, counts)
        rng = np.random.default_rng(1)
        way = jax.tree.map(lambda leaf: rng.standard_normal(leaf.shape), parameters)

        def at(distance):
            moved = jax.tree.map(lambda x, d: x + distance * d, parameters, way)
            return evaluate(components, chains, numpy_tree(jax.vmap(components.normalised)(moved)))[1]

        expected = (at(1e-5) - at(-1e-5)) / 2e-5
        got = sum(
            np.sum(np.reshape(g * d, (2, -1)), axis=1)
            for g, d in zip(*map(jax.tree.leaves, (slopes, way)), strict=True)
        )
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-5)


@pytest.mark.slow
def test_missing_actions_leave_the_gradient_a_number():
    """Their symbols come in round numbers, so that some are never visited: those are -inf in every mode."""
    model = SWIRL(world(), n_modes=2, reward_prior=Gaussian(of="linearised"))
    _, chains, components, *_ = model.em_problem(recording(history=1))
    assert components.latent is not None
    assert np.isneginf(components.latent.log_reach).all(axis=1).any()
    start = numpy_tree(em.stack([components.random_parameters(np.random.default_rng(0), 1.0)]))
    with float64():
        counts, _ = evaluate(components, chains, start)
        slopes = jax.vmap(lambda p, n: qn.gradient(components, p, n))(start, counts)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slopes))
        host = HostIterations((chains,), engines._on_host)
        state = host.first(components, start)
        for _ in range(4):
            before = state.objective
            state, _ = host.advance(components, state, np.ones(1, dtype=bool), accelerated=True, most=1)
            assert np.isfinite(state.promise).all()
            assert (state.objective > before).all()


def test_the_direction_is_the_one_of_bfgs_written_out():
    """With u = B⁻¹ y and EM's step B⁻¹ g, it equals the dense update of the inverse, pair by pair."""
    rng = np.random.default_rng(0)
    n, n_pairs = 6, 4
    root = rng.standard_normal((n, n))
    inverse = root @ root.T + np.eye(n)
    steps, falls = rng.standard_normal((2, n_pairs, n))
    falls = np.where(np.sum(steps * falls, axis=1, keepdims=True) > 0, falls, -falls)
    g = rng.standard_normal(n)
    dense = inverse
    for s, y in zip(steps, falls, strict=True):
        V = np.eye(n) - np.outer(y, s) / (s @ y)
        dense = V.T @ dense @ V + np.outer(s, s) / (s @ y)
    with float64():
        empty = qn.blank(Parameters(jnp.zeros((1, n)), (), ()), jnp)

        def among(pairs):  # the oldest places are empty
            return jnp.zeros((qn.PAIRS, 1, n)).at[-n_pairs:, 0].set(pairs)

        memory = empty._replace(steps=among(steps), falls=among(falls), em_falls=among(falls @ inverse))
        got = qn.direction(memory, g[None], (inverse @ g)[None])[0]
    np.testing.assert_allclose(got, dense @ g, rtol=1e-10)


def memory_at(length=1.0, slope=2.0, failures=0):
    one = qn.blank(Parameters(np.zeros((1, 3)), (), ()), np)
    return one._replace(length=np.array([length]), slope=np.array([slope]), failures=np.array([failures]))


@pytest.mark.parametrize(
    ("after", "failures", "taken", "length", "then"),
    [
        (11.0, 0, True, 1.0, 0),  # it rose
        (10.0, 0, False, 0.5, 1),  # not enough: the parabola's top is at a half
        (2.0, 1, False, 0.1, 2),  # far too long: its top is at a tenth
        (-1e9, 0, False, 0.1, 1),  # never shortened by more than that at once
        (np.nan, 0, False, 0.1, 1),
        (-np.inf, 2, False, 0.1, 3),
        (10.0, 3, True, 1.0, 0),  # EM's own step: it need not rise by more than nothing
        (9.0, 3, False, 1.0, 0),  # rounding, near the end
    ],
)
def test_a_trial_is_taken_shortened_or_given_up(after, failures, taken, length, then):
    got, memory = qn.judge(memory_at(failures=failures), np.array([10.0]), np.array([after]))
    assert bool(got[0]) is taken
    assert memory.length[0] == pytest.approx(length)
    assert memory.failures[0] == then


def test_where_the_slope_is_not_a_number_em_takes_its_own_step_at_once():
    """Then the direction is EM's (`propose`), and need not gain what a slope promises."""
    got, memory = qn.judge(memory_at(slope=np.nan), np.array([10.0]), np.array([10.1]))
    assert got[0]
    assert memory.failures[0] == 0


@pytest.mark.slow
def test_where_three_trials_fail_em_takes_its_own_step():
    components, chains, parameters = problem(**FORMS["on values"])
    with float64():
        host = HostIterations((chains,), engines._on_host)
        everyone = np.ones(2, dtype=bool)
        state = host.first(components, parameters)
        for _ in range(3):
            state, _ = host.advance(components, state, everyone, accelerated=True, most=1)
        plain, *_ = engines.improve_restarts(components, state.parameters, state.counts, everyone)
        memory = state.memory
        assert memory is not None
        stuck = memory._replace(
            failures=np.array([qn.TRIALS] * 2), em_step=qn._flat(plain) - qn._flat(state.parameters)
        )
        trial, *_, learnt = qn.propose(components, stuck, state.parameters, state.counts, state.parameters)
        np.testing.assert_allclose(qn._flat(trial), qn._flat(plain), atol=1e-10)
    assert not np.any(learnt.steps)  # and what was learnt is forgotten


@pytest.mark.parametrize("name", ALL)
def test_the_objective_never_falls_whatever_the_form(name):
    components, chains, parameters = problem(**FORMS[name])
    with float64():
        host = HostIterations((chains,), engines._on_host)
        state = host.first(components, parameters)
        before = state.objective
        for _ in range(30):
            state, _ = host.advance(components, state, np.ones(2, dtype=bool), accelerated=True, most=1)
            assert (state.objective >= before - 1e-9 * np.abs(before)).all()
            before = state.objective
        # The counts and the log-prior are those of the parameters, whatever was tried on the way.
        np.testing.assert_allclose(evaluate(components, chains, numpy_tree(state.parameters))[1], before, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "crawls"), [("heavy-tailed", True), ("on values", False), ("state-action", False)])
def test_it_ends_where_em_does_and_sooner_where_em_crawls(name, crawls, monkeypatch):
    components, chains, start = problem(**FORMS[name])
    settings = {"n_restarts": 2, "seed": 0, "max_iter": 20_000, "tol": 1e-5, "start": start}
    quick = em.run(components, chains, **settings)
    monkeypatch.setattr(em, "schedule", lambda accelerated, made=0: schedule(False))
    plain = em.run(components, chains, **settings)
    assert all(r.converged for r in quick)
    assert (sum(r.n_iterations for r in quick) < sum(r.n_iterations for r in plain)) is crawls
    for a, b in zip(quick, plain, strict=True):
        assert a.objective == pytest.approx(b.objective, abs=0.01)
