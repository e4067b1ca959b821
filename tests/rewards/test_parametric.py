"""Rewards fitted by planning: the paper's road and the exact one meet at the same optimum; parametric forms."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from small_m_steps import DISCOUNT, TEMPERATURE, component, evaluate, in_double, optimum, start, step
from small_worlds import N_ACTIONS, N_MODES, N_STATES, lifted
from swirl.priors import Gaussian
from swirl.rewards import Linear, Network, Tabular
from swirl.rewards.forms import PolicySettings

pytestmark = pytest.mark.slow  # compiles programs of its own

FORMS = {
    "linear": Linear(np.random.default_rng(0).normal(size=(N_STATES, 2))),
    "linear in histories": Linear(np.random.default_rng(0).normal(size=(lifted().n_histories, 2)), on="history"),
    "linear in actions": Linear(np.random.default_rng(0).normal(size=(N_STATES, N_ACTIONS, 2)), on="state-action"),
    "network": Network(hidden=3),
}


def planned(form, prior, kind="deterministic", length=2):
    return form.build(lifted(length, kind), prior, PolicySettings(DISCOUNT, TEMPERATURE))[0]


def history_counts(histories, seed=0):
    """Counts over all histories, and the same ones added up over what the policy can see."""
    rng = np.random.default_rng(seed)
    counts = 10.0 * rng.gamma(0.5, size=(N_MODES, histories.n_histories, N_ACTIONS))
    counts *= np.asarray(histories.successors.available)
    seen = np.zeros((N_MODES, histories.n_contexts, N_ACTIONS))
    np.add.at(seen, (slice(None), histories.contexts), counts)
    return counts.reshape(N_MODES, -1).T, seen.reshape(N_MODES, -1).T


# Exact road versus soft-Q road (issue 2)


@jax.jit
def loss_and_gradient(road, weights, counts):
    return jax.value_and_grad(lambda w: -evaluate(road, w, counts)[0])(weights)


def planned_optimum(road, shape, counts, own):
    """By the road's own M-step, or by SciPy (much less to compile); not from where the exact road began."""
    weights = {"weights": np.random.default_rng(1).normal(size=shape)}
    if own:
        for _ in range(3):
            weights = in_double(step, road, weights, counts)
        return weights

    def function(x):
        value, gradient = in_double(loss_and_gradient, road, {"weights": x.reshape(shape)}, counts)
        return float(value), gradient["weights"].ravel()

    options = {"gtol": 1e-9, "ftol": 1e-15, "maxiter": 2000}
    x = minimize(function, weights["weights"].ravel(), jac=True, method="L-BFGS-B", options=options).x
    return {"weights": x.reshape(shape)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "backoff", "own"),
    [("reward", None, True), ("linearised", 4.0, False)],
)
@pytest.mark.parametrize("kind", ["deterministic", "stochastic"])
def test_both_roads_reach_the_same_objective_and_policy(kind, of, backoff, own):
    prior, histories = Gaussian(0.5, backoff=backoff, of=of), lifted(kind=kind)
    for_planning, for_values = history_counts(histories)
    exact = component(prior, kind=kind)
    objective, policy, rewards = in_double(evaluate, exact, optimum(exact, for_values), for_values)
    road = dataclasses.replace(planned(Tabular(solver="soft-q"), prior, kind), max_steps=400, tol=1e-8)
    weights = planned_optimum(road, rewards.shape, for_planning, own)
    paper_objective, paper_policy, paper_rewards = in_double(evaluate, road, weights, for_planning)
    assert paper_objective == pytest.approx(float(objective), rel=1e-6)
    exact_policy = policy.T.reshape(N_MODES, -1, N_ACTIONS)[:, histories.contexts]
    np.testing.assert_allclose(paper_policy.T.reshape(exact_policy.shape), exact_policy, atol=1e-6)
    np.testing.assert_allclose(paper_rewards, rewards, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("of", ["reward", "linearised"])
def test_both_roads_value_any_reward_alike(of):
    """Not only at the optimum: the objective is the same function of the reward."""
    prior, histories = Gaussian(0.5, backoff=4.0, of=of), lifted()
    for_planning, for_values = history_counts(histories)
    exact = component(prior)
    objective, _, rewards = in_double(evaluate, exact, start(exact, 3), for_values)
    road = planned(Tabular(solver="soft-q"), prior)
    other = in_double(evaluate, road, {"weights": rewards}, for_planning)[0]
    assert float(other) == pytest.approx(float(objective), rel=1e-9)


# Parametric rewards


@pytest.mark.slow
def test_the_gradient_through_planning_is_that_of_finite_differences():
    form = planned(FORMS["linear in actions"], Gaussian(1.0))
    counts, _ = history_counts(lifted())
    weights = form.random_parameters(np.random.default_rng(2), 1.0)

    @jax.jit
    def objective(weights):
        log_pi = form.log_emissions(weights)
        return jnp.sum(jnp.where(counts > 0, counts * jnp.where(counts > 0, log_pi, 0.0), 0.0)) + form.log_prior(
            weights
        )

    gradient = in_double(jax.grad(objective), weights)["weights"]
    for index in np.ndindex(gradient.shape):
        moved = []
        for sign in (1, -1):
            shifted = weights["weights"].copy()
            shifted[index] += sign * 1e-5
            moved.append(float(in_double(objective, {"weights": shifted})))
        assert (moved[0] - moved[1]) / 2e-5 == pytest.approx(gradient[index], rel=1e-5)


@pytest.mark.slow
def test_linear_in_one_feature_per_history_is_the_free_reward():
    prior, histories = Gaussian(0.5, of="reward"), lifted()
    counts, _ = history_counts(histories)
    rewards = np.random.default_rng(0).normal(size=(N_MODES, histories.n_histories))
    free = planned(Tabular(solver="soft-q"), prior)
    linear = planned(Linear(np.eye(histories.n_histories), on="history"), prior)
    got = [in_double(evaluate, form, {"weights": rewards}, counts) for form in (free, linear)]
    for a, b in zip(*got, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_linear_in_states_repeats_over_earlier_states():
    form = planned(FORMS["linear"], Gaussian(1.0))
    weights = form.random_parameters(np.random.default_rng(0), 1.0)
    rewards = in_double(form.fitted, weights)
    expected = weights["weights"] @ FORMS["linear"].features.T
    np.testing.assert_allclose(rewards, expected[:, lifted().states], rtol=1e-12)


def test_network_equals_the_plain_sum_and_ignores_what_was_before_the_start():
    form, histories = planned(FORMS["network"], Gaussian(1.0)), lifted()
    weights = form.random_parameters(np.random.default_rng(0), 1.0)
    rewards = in_double(form.fitted, weights)
    for z in range(N_MODES):
        for h, history in enumerate(histories.table):
            seen = sum(weights["input"][z, lag, s] for lag, s in enumerate(history) if s >= 0) + weights["bias"][z]
            assert rewards[z, h] == pytest.approx(float(np.tanh(seen) @ weights["output"][z]), rel=1e-12)


@pytest.mark.parametrize(
    ("form", "told"),
    [
        (Linear(np.eye(4)), "features has 4 rows, but the environment has 5 states"),
        (Linear(np.zeros((5, 2, 1)), on="state-action"), "3 actions"),
        (Linear(np.eye(5), on="history"), "17 reachable histories"),
        (Network(features=np.eye(3)), "features has 3 rows, but the environment has 5 states"),
    ],
)
def test_features_of_another_environment_are_refused(form, told):
    with pytest.raises(ValueError, match=told):
        planned(form, Gaussian(1.0))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Linear(np.zeros(3)),
        lambda: Linear(np.full((3, 1), np.nan)),
        lambda: Linear(np.zeros((3, 1)), on="state-action"),
        lambda: Network(hidden=0),
        lambda: Network(features=np.zeros(3)),
        lambda: Tabular("state-action", solver="soft-q"),
    ],
)
def test_forms_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ValueError, match=r"expected|use"):
        wrong()


# Units: only r/α shapes behaviour, so the temperature times c, with the prior's strength over c², is the same model


def trace_of(form, times, n_steps=3):
    """Objectives of a start and some M-steps, one temperature per mode, times something."""
    histories = lifted()
    prior = Gaussian(0.3 / times**2, backoff=None)
    road, _ = form.build(histories, prior, PolicySettings(DISCOUNT, times * TEMPERATURE))
    counts, _ = history_counts(histories)
    weights = road.random_parameters(np.random.default_rng(3), 1.0)
    trace = []
    for _ in range(n_steps):
        trace.append(float(in_double(evaluate, road, weights, counts)[0]))
        weights = in_double(step, road, weights, counts)
    return [*trace, float(in_double(evaluate, road, weights, counts)[0])]


@pytest.mark.slow
@pytest.mark.parametrize("form", [FORMS["linear"], FORMS["network"]], ids=["linear", "network"])
def test_the_unit_of_reward_changes_nothing(form):
    one = trace_of(form, 1.0)
    np.testing.assert_allclose(trace_of(form, 0.1), one, rtol=1e-6)
    np.testing.assert_allclose(trace_of(form, 0.01), one, rtol=1e-6)
    assert one[-1] > one[0]


@pytest.mark.parametrize("form", [FORMS["linear"], FORMS["network"]], ids=["linear", "network"])
def test_starts_are_in_units_of_each_modes_temperature(form):
    road = planned(form, Gaussian(1.0))
    unit = dataclasses.replace(road, temperature=np.ones(N_MODES))
    drawn, plain = (r.random_parameters(np.random.default_rng(0), 1.0) for r in (road, unit))
    np.testing.assert_allclose(road.fitted(drawn), TEMPERATURE[:, None] * unit.fitted(plain), rtol=1e-5)
