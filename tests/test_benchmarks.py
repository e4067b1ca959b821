"""The rival of the first benchmark must be correct, or beating it means nothing."""

import importlib.util
import sys
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest

from swirl import precision
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.inference import messages
from swirl.rewards.soft_q import soft_optimal_policies


def _load(name: str):
    path = Path(__file__).resolve().parents[1] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


recipe = _load("paper_recipe")
FOLLOWING = np.array([[(s - 1) % 5, s, (s + 1) % 5] for s in range(5)])  # a ring: back, stay, on
BUDGET = recipe.Budget(state_steps=20, pair_steps=10, sweeps=30, switching_steps=10)
e_step = jax.jit(partial(recipe.expectation, sweeps=BUDGET.sweeps))
log_policies = jax.jit(recipe.log_policies, static_argnums=2)


@pytest.fixture(scope="module")
def recorded():
    """States and actions [session, time] of an agent that runs one way for a while, then the other."""
    rng = np.random.default_rng(0)
    runs = np.repeat(rng.integers(2, size=(4, 3)) * 2, 10, axis=1)
    actions = np.where(rng.random(runs.shape) < 0.7, runs, rng.integers(3, size=runs.shape))
    states = np.zeros_like(actions)
    for t in range(1, actions.shape[1]):
        states[:, t] = FOLLOWING[states[:, t - 1], actions[:, t - 1]]
    return states, actions


@pytest.fixture(scope="module")
def data(recorded):
    return recipe.one_hot(*recorded, np.eye(5)[FOLLOWING])


@pytest.fixture(scope="module")
def parameters(data):
    """Parameters with nothing at zero: pair rewards and state-dependent switching included."""
    start = recipe.start(data, 2, seed=3)
    rng = np.random.default_rng(1)
    return start._replace(
        initial=np.array([0.3, 0.7], dtype=np.float32),
        pair_reward=rng.standard_normal(start.pair_reward.shape).astype(np.float32),
        state_logits=rng.standard_normal(start.state_logits.shape).astype(np.float32),
    )


@pytest.fixture(scope="module")
def fitted(data):
    """A short fit, and its parameters after each iteration."""
    visited = []
    trace = recipe.run(
        data, 2, 0, n_modes=2, budget=BUDGET, on_iteration=lambda trace: visited.append(trace.parameters)
    )
    return trace, visited


@pytest.mark.slow
def test_plans_the_soft_optimal_policy(data, parameters):
    histories = Histories.reachable(MDP.deterministic(FOLLOWING).successors, length=2)
    state, previous = histories.table.T
    pair = state * 5 + np.where(previous < 0, state, previous)
    rewards = np.asarray(recipe.pair_rewards(parameters), dtype=float)[:, pair]
    expected = soft_optimal_policies(histories.successors, rewards, discount=0.95, temperature=1.0, per_action=False)
    found = np.exp(np.asarray(log_policies(parameters, data, 400)))[:, pair]
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.slow
def test_e_step_agrees_with_our_messages(recorded, data, parameters):
    log_policy = np.asarray(log_policies(parameters, data, BUDGET.sweeps), dtype=float)
    logits = np.asarray(parameters.mode_logits, dtype=float) + np.asarray(parameters.state_logits)[:, None, :]
    table = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    states, actions = recorded
    previous = np.concatenate([states[:, :1], states[:, :-1]], axis=1)
    seen = np.moveaxis(log_policy[:, states * 5 + previous, actions], 0, -1)
    found = e_step(parameters, data)

    @jax.jit
    @partial(jax.vmap, in_axes=(None, 0, 0))
    def ours(*chain):
        arguments = (*chain, states.shape[1])
        total = messages.forward(*arguments).log_normaliser
        return total, messages.smooth(*arguments), messages.pairs(*arguments)

    with precision.float64():
        totals, marginals, pairs = precision.numpy_tree(
            ours(np.log(parameters.initial.astype(float)), table[states], seen)
        )
    np.testing.assert_allclose(found.log_likelihood, totals.sum(), rtol=1e-5)
    np.testing.assert_allclose(found.marginals, marginals, atol=1e-4)
    np.testing.assert_allclose(found.pairs, pairs[:, :-1], atol=1e-4)


@pytest.mark.slow
def test_its_log_likelihood_rises(fitted):
    trace, _ = fitted
    assert len(trace.seconds) == len(trace.log_likelihoods) == 3
    assert (np.diff(trace.log_likelihoods) > 0.1).all()
    assert (np.diff(trace.seconds) > 0).all()


@pytest.mark.slow
def test_each_term_of_the_m_step_climbs(data, fitted):
    """G's policy and switching terms, under the posterior of the old parameters, are higher at the new ones."""
    trace, visited = fitted
    posterior = e_step(trace.start, data)

    def terms(p):
        seen = recipe.step_log_likelihoods(log_policies(p, data, BUDGET.sweeps), data.pairs, data.actions)
        moves = recipe.log_switching(p.mode_logits, p.state_logits, data.states[:, :-1])
        return float((posterior.marginals * seen).sum()), float((posterior.pairs * moves).sum())

    state_only = visited[0]._replace(pair_reward=trace.start.pair_reward)
    (policy, switching), (by_states, _), (by_pairs, moved) = map(terms, (trace.start, state_only, visited[0]))
    assert policy < by_states < by_pairs
    assert switching < moved
    np.testing.assert_allclose(visited[0].initial, posterior.marginals[:, 0].mean(axis=0), rtol=1e-4)
