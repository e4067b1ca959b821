"""Free rewards r(h, a): the closed form, the multinomial logit with back-off, and the reward behind a policy."""

import jax
import numpy as np
import pytest
from scipy.optimize import minimize

from small_m_steps import DISCOUNT, TEMPERATURE, evaluate, in_double, step
from small_worlds import N_ACTIONS, N_MODES, lifted
from swirl.priors import Dirichlet, Gaussian
from swirl.rewards.soft_q import soft_optimal_policies, soft_values
from swirl.rewards.state_action import StateActionReward

HISTORIES = lifted()
AVAILABLE = np.asarray(HISTORIES.successors.available)
PRIORS = {"dirichlet": Dirichlet(0.5), "gaussian": Gaussian(0.5), "backoff": Gaussian(0.5, backoff=4.0)}


def component(prior):
    return StateActionReward.build(HISTORIES, prior, temperature=TEMPERATURE)


def random_counts(seed=0):
    rng = np.random.default_rng(seed)
    counts = 20.0 * rng.gamma(0.5, size=(N_MODES, *AVAILABLE.shape)) * AVAILABLE
    counts[:, rng.random(len(AVAILABLE)) < 0.2] = 0
    return counts.reshape(N_MODES, -1).T


def optimum(policies, counts, steps=8):
    logits = policies.random_parameters(np.random.default_rng(0), 1.0)
    for _ in range(steps):
        logits = in_double(step, policies, logits, counts)
    return logits


def test_dirichlet_is_smoothed_counts():
    policies, counts = component(PRIORS["dirichlet"]), random_counts()
    _, policy, _ = in_double(evaluate, policies, optimum(policies, counts, 1), counts)
    smoothed = (counts.T.reshape(N_MODES, *AVAILABLE.shape) + 0.5) * AVAILABLE
    expected = smoothed / smoothed.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(policy.T.reshape(expected.shape), expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_the_step_leads_to_the_maximum(name):
    """No small change of the logits is better, and a second optimiser finds nothing better either."""
    policies, counts = component(PRIORS[name]), random_counts()
    best = optimum(policies, counts)
    value = float(in_double(evaluate, policies, best, counts)[0])
    gradient = in_double(jax.jit(jax.grad(lambda x: evaluate(policies, x, counts)[0])), best)
    assert np.abs(gradient).max() < 1e-3
    rng = np.random.default_rng(1)
    for scale in (1e-2, 1e-1):
        moved = best + scale * rng.standard_normal(best.shape) * AVAILABLE
        assert float(in_double(evaluate, policies, moved, counts)[0]) < value


def test_backoff_against_an_explicit_sum_of_parts():
    """logits = ρ_1(s, a) + ρ_2(h, a), each with its own precision, by a general optimiser."""
    prior = PRIORS["backoff"]
    policies, counts = component(prior), random_counts()
    value, policy, _ = in_double(evaluate, policies, optimum(policies, counts), counts)
    tables = counts.T.reshape(N_MODES, *AVAILABLE.shape)
    n_states, n_histories = HISTORIES.n_states, HISTORIES.n_histories

    def loss(x, z):
        short, long = np.split(x.reshape(-1, N_ACTIONS), [n_states])
        logits = short[HISTORIES.states] + long
        shifted = np.where(AVAILABLE, logits, -np.inf)
        log_pi = logits - np.logaddexp.reduce(shifted, axis=1, keepdims=True)
        weak, strong = prior.strengths(2)
        pi = np.exp(log_pi) * AVAILABLE
        residual = (tables[z].sum(axis=1, keepdims=True) * pi - tables[z]) * AVAILABLE
        to_short = np.zeros_like(short)
        np.add.at(to_short, HISTORIES.states, residual)
        gradient = np.concatenate([to_short + weak * short, residual + strong * long])
        penalty = 0.5 * (weak * np.sum(short**2) + strong * np.sum(long**2))
        return -np.sum(tables[z] * np.where(AVAILABLE, log_pi, 0)) + penalty, gradient.ravel()

    total = 0.0
    for z in range(N_MODES):
        start = np.zeros((n_states + n_histories) * N_ACTIONS)
        total -= minimize(loss, start, args=(z,), jac=True, options={"gtol": 1e-8}).fun
    assert float(value) == pytest.approx(total, rel=1e-9)
    assert policy.min() >= 0


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_the_reward_makes_the_policy_optimal_with_values_zero(name):
    policies, counts = component(PRIORS[name]), random_counts()
    _, policy, rewards = in_double(evaluate, policies, optimum(policies, counts), counts)
    assert (np.isnan(rewards) == ~AVAILABLE).all()
    known = np.nan_to_num(rewards)
    successors = HISTORIES.successors
    planned = soft_optimal_policies(successors, known, discount=DISCOUNT, temperature=TEMPERATURE, per_action=True)
    np.testing.assert_allclose(planned, policy.T.reshape(planned.shape), atol=1e-8)
    values = in_double(
        lambda r: soft_values(successors, r, discount=DISCOUNT, temperature=TEMPERATURE, per_action=True), known
    )
    np.testing.assert_allclose(values, 0, atol=1e-8)


def test_the_policy_sees_the_whole_history():
    """design.md#what-a-policy-sees: with r(h, a) and L = 2 the policy depends on s_{t−1}."""
    policies, counts = component(PRIORS["dirichlet"]), random_counts()
    _, policy, _ = in_double(evaluate, policies, optimum(policies, counts, 1), counts)
    rows = policy.T.reshape(N_MODES, *AVAILABLE.shape)
    same_state = np.flatnonzero((HISTORIES.states == 0) & HISTORIES.full_length)
    assert len(same_state) > 1
    assert np.ptp(rows[:, same_state, 0], axis=1).min() > 1e-3


def test_an_unavailable_action_has_no_probability_and_no_say():
    policies = component(PRIORS["gaussian"])
    logits = policies.random_parameters(np.random.default_rng(0), 1.0)
    other = np.where(AVAILABLE, logits, 7.0)
    for x, y in zip(
        in_double(evaluate, policies, logits, random_counts()),
        in_double(evaluate, policies, other, random_counts()),
        strict=True,
    ):
        np.testing.assert_array_equal(x, y)
    policy = in_double(evaluate, policies, logits, random_counts())[1]
    assert (policy.T.reshape(N_MODES, *AVAILABLE.shape)[:, ~AVAILABLE] == 0).all()
