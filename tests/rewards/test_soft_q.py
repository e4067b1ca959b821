"""Soft planning against closed forms, plain loops, finite differences and unrolled gradients."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from swirl import precision
from swirl.data.successors import Successors
from swirl.rewards import soft_q

# Results as numpy: what is done to them afterwards need not be compiled.
log_policy_from_rewards = precision.in_float64(soft_q.log_policy_from_rewards)
log_policy_from_values = precision.in_float64(soft_q.log_policy_from_values)
q_values = precision.in_float64(soft_q.q_values)
rewards_from_values = precision.in_float64(soft_q.rewards_from_values)
soft_bellman = precision.in_float64(soft_q.soft_bellman)
soft_values = precision.in_float64(soft_q.soft_values)
state_action_rewards = precision.in_float64(soft_q.state_action_rewards)

GAMMA, ALPHA = 0.95, 0.7


@pytest.fixture(autouse=True)
def _double_precision():
    with precision.float64():
        yield


def random_successors(seed, nodes=7, actions=3, branches=1):
    """Random tables in which about a third of the actions are unavailable, at least one per node is not."""
    rng = np.random.default_rng(seed)
    probability = rng.dirichlet(np.ones(branches), size=(nodes, actions))
    available = rng.random((nodes, actions)) < 0.67
    available[np.arange(nodes), rng.integers(actions, size=nodes)] = True
    return Successors(rng.integers(nodes, size=(nodes, actions, branches)), probability, available)


def complete_graph(n):
    """Action = next state."""
    return Successors(np.tile(np.arange(n)[None, :, None], (n, 1, 1)), np.ones((n, n, 1)), np.ones((n, n), bool))


def loop_sweep(successors, rewards, values, discount, temperature):
    new = np.zeros(successors.n_nodes)
    for h in range(successors.n_nodes):
        total = 0.0
        for a in np.flatnonzero(successors.available[h]):
            reward = rewards[h] if rewards.ndim == 1 else rewards[h, a]
            future = successors.probability[h, a] @ values[successors.next[h, a]]
            total += np.exp((reward + discount * future) / temperature)
        new[h] = temperature * np.log(total)
    return new


@pytest.mark.slow
@pytest.mark.parametrize("branches", [1, 3])
@pytest.mark.parametrize("per_action", [False, True])
def test_sweep_equals_the_plain_loop(branches, per_action):
    successors = random_successors(0, branches=branches)
    rng = np.random.default_rng(1)
    rewards, values = rng.normal(size=(7, 3) if per_action else 7), rng.normal(size=7)
    got = soft_bellman(successors, rewards, values, discount=GAMMA, temperature=ALPHA)
    np.testing.assert_allclose(got, loop_sweep(successors, rewards, values, GAMMA, ALPHA), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["newton", "sweeps"])
def test_closed_form_of_the_complete_graph(method):
    # Every state follows every state, so V(h) = r(h) + C with C = α log Σ exp(γ r/α) / (1 − γ).
    rewards = np.random.default_rng(2).normal(size=5)
    constant = ALPHA * np.log(np.sum(np.exp(GAMMA * rewards / ALPHA))) / (1 - GAMMA)
    values = soft_values(complete_graph(5), rewards, discount=GAMMA, temperature=ALPHA, method=method, tol=1e-13)
    np.testing.assert_allclose(values, rewards + constant, rtol=1e-11)
    log_policy = log_policy_from_rewards(complete_graph(5), rewards, discount=GAMMA, temperature=ALPHA, method=method)
    chosen = np.exp(GAMMA * rewards / ALPHA)
    np.testing.assert_allclose(np.exp(log_policy), np.tile(chosen / chosen.sum(), (5, 1)), atol=1e-9)


@pytest.mark.slow
def test_a_bandit_by_thought():
    # One state, two actions: π ∝ exp(r/α) and V = α log Σ exp(r/α) / (1 − γ).
    successors = Successors(np.zeros((1, 2, 1), int), np.ones((1, 2, 1)), np.ones((1, 2), bool))
    rewards = np.array([[0.3, 1.1]])
    values = soft_values(successors, rewards, discount=GAMMA, temperature=ALPHA)
    np.testing.assert_allclose(values, ALPHA * np.log(np.sum(np.exp(rewards / ALPHA))) / (1 - GAMMA), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("branches", "per_action"), [(1, False), (3, True)])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
def test_newton_and_sweeps_agree_within_the_tolerance(branches, per_action, scale):
    successors = random_successors(3, branches=branches)
    rewards = scale * np.random.default_rng(4).normal(size=(2, 7, 3) if per_action else (2, 7))
    alpha = scale * ALPHA
    newton, sweeps = (
        soft_values(successors, rewards, discount=GAMMA, temperature=alpha, method=method)
        for method in ("newton", "sweeps")
    )
    error = np.max(np.abs(newton - sweeps), axis=-1)
    assert np.all(error <= 2e-10 * (alpha + np.max(np.abs(sweeps), axis=-1)))
    residual = np.abs(newton - soft_bellman(successors, rewards, newton, discount=GAMMA, temperature=alpha))
    assert np.max(residual) <= 1e-10 * (1 - GAMMA) * (alpha + np.max(np.abs(newton)))


@pytest.mark.slow
def test_newton_survives_a_cold_temperature_and_a_long_horizon():
    successors = random_successors(5, branches=3)
    rewards = np.random.default_rng(6).normal(size=(2, 7, 3))
    values = soft_values(successors, rewards, discount=0.999, temperature=1e-3)
    sweeps = soft_values(successors, rewards, discount=0.999, temperature=1e-3, method="sweeps")
    np.testing.assert_allclose(values, sweeps, rtol=1e-9)


def test_giving_up_is_not_a_result():
    successors = random_successors(7)
    values = soft_values(successors, np.ones(7), discount=GAMMA, temperature=1.0, max_sweeps=3, method="sweeps")
    assert np.all(np.isnan(values))


def test_single_precision_ends_too():
    with jax.enable_x64(False):
        successors = random_successors(8, branches=2)
        rewards = jnp.asarray(np.random.default_rng(9).normal(size=7), jnp.float32)
        values = soft_q.soft_values(successors, rewards, discount=GAMMA, temperature=1.0)
        assert values.dtype == jnp.float32
        assert np.all(np.isfinite(values))


@pytest.mark.slow
@pytest.mark.parametrize("branches", [1, 3])
def test_values_to_rewards_and_back(branches):
    successors = random_successors(10, branches=branches)
    values = np.random.default_rng(11).normal(size=(2, 7))
    rewards = rewards_from_values(successors, values, discount=GAMMA, temperature=ALPHA)
    again = soft_values(successors, rewards, discount=GAMMA, temperature=ALPHA)
    np.testing.assert_allclose(again, values, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("branches", [1, 3])
def test_state_action_rewards_and_back(branches):
    successors = random_successors(12, branches=branches)
    rng = np.random.default_rng(13)
    values = rng.normal(size=(2, 7))
    logits = np.where(successors.available, rng.normal(size=(2, 7, 3)), -np.inf)
    log_policy = np.asarray(jax.nn.log_softmax(logits, axis=-1))
    rewards = state_action_rewards(successors, log_policy, values, discount=GAMMA, temperature=ALPHA)
    assert np.all(np.isneginf(rewards[:, ~successors.available]))
    settings = {"discount": GAMMA, "temperature": ALPHA}
    np.testing.assert_allclose(soft_values(successors, rewards, **settings), values, atol=1e-9)
    got = log_policy_from_rewards(successors, rewards, **settings)
    np.testing.assert_allclose(np.exp(got), np.exp(log_policy), atol=1e-9)


def test_policy_is_normalised_and_unavailable_actions_never_happen():
    successors = random_successors(14, branches=2)
    values = np.random.default_rng(15).normal(size=(2, 7))
    log_policy = log_policy_from_values(successors, values, discount=GAMMA, temperature=ALPHA)
    assert np.all(np.isneginf(log_policy) == ~successors.available)
    np.testing.assert_allclose(np.exp(log_policy).sum(-1), 1.0, atol=1e-12)


def test_the_policy_of_a_state_reward_is_that_of_its_q_values():
    successors = random_successors(16, branches=3)
    rewards = np.random.default_rng(17).normal(size=(2, 7))
    settings = {"discount": GAMMA, "temperature": ALPHA}
    values = soft_values(successors, rewards, **settings)
    expected = (q_values(successors, rewards, values, discount=GAMMA) - values[..., None]) / ALPHA
    got = log_policy_from_rewards(successors, rewards, **settings)
    np.testing.assert_allclose(got[:, successors.available], expected[:, successors.available], atol=1e-8)


@pytest.mark.parametrize("per_action", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_scaling_reward_and_temperature_together_changes_nothing(per_action):
    # design.md#not-identified.
    successors = random_successors(18, branches=3)
    rewards = np.random.default_rng(19).normal(size=(2, 7, 3) if per_action else (2, 7))
    one, other = (
        log_policy_from_rewards(successors, k * rewards, discount=GAMMA, temperature=k * ALPHA) for k in (1.0, 37.0)
    )
    np.testing.assert_allclose(np.exp(one), np.exp(other), atol=1e-9)


@pytest.mark.slow
def test_each_mode_has_its_temperature_and_vmap_agrees():
    successors = random_successors(20, branches=3)
    rewards, alphas = np.random.default_rng(21).normal(size=(2, 7)), np.array([0.3, 4.0])
    together = soft_values(successors, rewards, discount=GAMMA, temperature=alphas)
    policies = log_policy_from_rewards(successors, rewards, discount=GAMMA, temperature=alphas)
    mapped = jax.vmap(lambda r, t: soft_q.soft_values(successors, r, discount=GAMMA, temperature=t))(rewards, alphas)
    np.testing.assert_allclose(together, mapped, rtol=1e-12)
    for mode in range(2):
        alone = soft_values(successors, rewards[mode], discount=GAMMA, temperature=alphas[mode])
        np.testing.assert_allclose(together[mode], alone, rtol=1e-9)
        alone = log_policy_from_rewards(successors, rewards[mode], discount=GAMMA, temperature=alphas[mode])
        np.testing.assert_allclose(np.exp(policies[mode]), np.exp(alone), atol=1e-9)


@jax.jit
@partial(jax.value_and_grad, argnums=(1, 2, 3))
def scores(successors, rewards, discount, temperature, weights):
    """A likelihood-like function through fixed point and policy, and its implicit gradient."""
    log_policy = soft_q.log_policy_from_rewards(
        successors, rewards, discount=discount, temperature=temperature, tol=1e-13, per_action=rewards.ndim == 3
    )
    return jnp.sum(weights * jnp.where(successors.available, log_policy, 0.0))


@pytest.mark.slow
@pytest.mark.parametrize(("branches", "per_action"), [(1, False), (3, True)])
def test_implicit_gradient_matches_finite_differences(branches, per_action):
    successors = random_successors(22, branches=branches)
    rng = np.random.default_rng(23)
    rewards, weights = rng.normal(size=(2, 7, 3) if per_action else (2, 7)), rng.random((2, 7, 3))
    arguments = [rewards, np.array(0.9), np.array([0.8, 1.3])]
    _, gradients = scores(successors, *arguments, weights)
    for i, gradient in enumerate(map(np.asarray, gradients)):
        direction = rng.normal(size=arguments[i].shape)
        ends = []
        for sign in (1, -1):
            moved = list(arguments)
            moved[i] = np.asarray(arguments[i] + sign * 1e-5 * direction)
            ends.append(float(scores(successors, *moved, weights)[0]))
        np.testing.assert_allclose(np.sum(gradient * direction), (ends[0] - ends[1]) / 2e-5, rtol=1e-6)


@pytest.mark.slow
def test_implicit_gradient_matches_the_unrolled_one():
    successors = random_successors(24, branches=3)
    rng = np.random.default_rng(25)
    rewards, weights = rng.normal(size=(2, 7)), rng.normal(size=(2, 7))
    settings = {"discount": 0.9, "temperature": np.array([0.5, 2.0])}

    def unrolled(rewards):
        def step(_, values):
            return soft_q.soft_bellman(successors, rewards, values, **settings)

        return jnp.sum(weights * jax.lax.fori_loop(0, 400, step, jnp.zeros_like(rewards)))

    def implicit(rewards, method):
        return jnp.sum(weights * soft_q.soft_values(successors, rewards, tol=1e-13, method=method, **settings))

    expected = jax.jit(jax.jacfwd(unrolled))(rewards)
    for method in ("newton", "sweeps"):
        got = jax.jit(jax.grad(partial(implicit, method=method)))(rewards)
        np.testing.assert_allclose(got, expected, atol=1e-9)


@pytest.mark.slow
def test_gradients_stay_finite_beside_unavailable_actions():
    successors = random_successors(26, branches=3)
    rewards = np.broadcast_to(np.where(successors.available, 1.0, -np.inf), (2, 7, 3))
    _, gradients = scores(successors, rewards, np.array(0.9), np.array([1.0, 2.0]), np.ones((2, 7, 3)))
    assert all(np.all(np.isfinite(g)) for g in gradients)

    def total(values):
        log_policy = soft_q.log_policy_from_values(successors, values, discount=0.9, temperature=1.0)
        return jnp.sum(jnp.where(successors.available, log_policy, 0.0))

    assert np.all(np.isfinite(jax.jit(jax.grad(total))(np.arange(7.0))))


def test_shapes_that_cannot_be_read_are_refused():
    with pytest.raises(ValueError, match="fits both"):
        soft_values(complete_graph(3), np.zeros((2, 3, 3)), discount=GAMMA, temperature=1.0)
    values = soft_values(complete_graph(3), np.zeros((2, 3, 3)), discount=GAMMA, temperature=1.0, per_action=True)
    assert values.shape == (2, 3)
    with pytest.raises(ValueError, match=r"got shape \(2, 4\)"):
        soft_values(complete_graph(3), np.zeros((2, 4)), discount=GAMMA, temperature=1.0)
