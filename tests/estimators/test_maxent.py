"""One mode is maximum-entropy inverse reinforcement learning: against a plain recursion that shares no code with src.

The oracle is the textbook's derivation for a finite horizon T (Ziebart et al. 2010, causal entropy), numpy only::

    V_T = 0;   Q_t(s,a) = r(s) + γ Σ_s' P(s'|s,a) V_{t+1}(s');   V_t(s) = α log Σ_a exp(Q_t(s,a)/α)

over the available actions; the policy at t = 0 of a long horizon is the stationary one.
"""

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from small_worlds import N_ACTIONS, N_STATES
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.registry import make
from swirl.estimators.swirl import SWIRL
from swirl.priors import Gaussian

pytestmark = pytest.mark.slow  # compiles programs of its own

KINDS = ["deterministic", "deterministic, masked", "stochastic", "stochastic, masked"]
SETTINGS = [(0.5, 1.0), (0.95, 1.0), (0.9, 0.1), (0.99, 4.0)]  # discount, temperature
NEGLIGIBLE = 1e-13  # γ^T: what lies beyond the horizon


def tables(kind):
    """P(s'|s,a) as a dense array and which actions exist, both written by hand."""
    rng, states = np.random.default_rng(0), np.arange(N_STATES)
    following = np.stack([(states + 1) % N_STATES, (2 * states + 3) % N_STATES, states], axis=1)
    transitions = np.eye(N_STATES)[following]
    if kind.startswith("stochastic"):
        other = np.eye(N_STATES)[(following + 2) % N_STATES]
        slip = rng.uniform(0.1, 0.4, size=(N_STATES, N_ACTIONS, 1))
        transitions = (1 - slip) * transitions + slip * other
    available = np.ones((N_STATES, N_ACTIONS), dtype=bool)
    if kind.endswith("masked"):
        available[1, 2] = available[3, 1] = available[3, 2] = False  # state 3 leaves no choice
    return transitions, available


def recursion(kind, rewards, discount, temperature, horizon=None):
    """log π_0(a|s) and its derivative [s, a, s'] with respect to r(s'), carried along by the chain rule."""
    transitions, available = tables(kind)
    horizon = int(np.ceil(np.log(NEGLIGIBLE) / np.log(discount))) if horizon is None else horizon
    values, slopes = np.zeros(N_STATES), np.zeros((N_STATES, N_STATES))
    for _ in range(horizon):
        q = rewards[:, None] + discount * transitions @ values
        q_slopes = np.eye(N_STATES)[:, None, :] + discount * transitions @ slopes
        scaled = np.where(available, q / temperature, -np.inf)
        highest = scaled.max(axis=1)
        values = temperature * (highest + np.log(np.exp(scaled - highest[:, None]).sum(axis=1)))
        log_policy = scaled - values[:, None] / temperature
        slopes = (np.exp(log_policy)[:, None, :] @ q_slopes)[:, 0]
    return log_policy, (q_slopes - slopes[:, None, :]) / temperature


def shared_out(kind, policy, seen):
    """Actions seen, and those not seen in proportion to what the policy says of the moves that they made."""
    counts, moves = seen
    transitions, available = tables(kind)
    ways = (policy * available)[..., None] * transitions
    reached = ways.sum(axis=1, keepdims=True)
    return counts + np.einsum("sx,sax->sa", moves, ways / np.where(reached > 0, reached, 1.0))


def objective(kind, rewards, seen, strength, discount, temperature):
    """Penalised log-likelihood of actions [state, action] and moves [state, next state], and its gradient."""
    log_policy, slopes = recursion(kind, rewards, discount, temperature)
    counts, moves = seen
    transitions, available = tables(kind)
    reached = np.einsum("sa,sax->sx", np.exp(log_policy) * available, transitions)
    value = np.sum(counts[counts > 0] * log_policy[counts > 0]) - 0.5 * strength * np.sum(rewards**2)
    value += np.sum(moves[moves > 0] * np.log(reached[moves > 0]))
    slopes = np.where(available[..., None], slopes, 0.0)
    return value, np.einsum("sa,sax->x", shared_out(kind, np.exp(log_policy), seen), slopes) - strength * rewards


def given(kind, rewards, discount, temperature):
    transitions, available = tables(kind)
    return SWIRL.from_parameters(
        MDP(transitions, available=available),
        history=1,
        rewards=rewards[None],
        mode_transitions=[[1.0]],
        initial_modes=[1.0],
        discount=discount,
        temperature=temperature,
    )


# The policy of given rewards


def test_the_recursion_is_maximum_entropy_over_paths():
    """The oracle's own oracle: without discount or chance, p(path) ∝ exp(Σ r / α), counted path by path."""
    transitions, available = tables("deterministic, masked")
    rewards, temperature, horizon = np.random.default_rng(1).normal(size=N_STATES), 0.7, 5
    log_policy, _ = recursion("deterministic, masked", rewards, 1.0, temperature, horizon)
    weights = np.zeros((N_STATES, N_ACTIONS))
    for start, actions in product(range(N_STATES), product(range(N_ACTIONS), repeat=horizon)):
        s, total, possible = start, 0.0, True
        for a in actions:
            possible &= bool(available[s, a])
            total += rewards[s]
            s = int(np.argmax(transitions[s, a]))
        weights[start, actions[0]] += possible * np.exp(total / temperature)
    np.testing.assert_allclose(np.exp(log_policy), weights / weights.sum(axis=1, keepdims=True), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_policies_of_given_rewards_are_those_of_a_long_horizon(kind):
    for seed, (discount, temperature) in enumerate(SETTINGS):
        rewards = 2.0 * np.random.default_rng(seed).normal(size=N_STATES)
        log_policy, _ = recursion(kind, rewards, discount, temperature)
        model = given(kind, rewards, discount, temperature)
        np.testing.assert_allclose(model.policies_[0], np.exp(log_policy), rtol=0, atol=1e-8)
        # The horizon is long, not the tolerance wide: soon before its end the policy is another.
        short, _ = recursion(kind, rewards, discount, temperature, horizon=2)
        assert np.abs(np.exp(short) - model.policies_[0]).max() > 1e-3


def test_a_state_action_reward_that_ignores_the_action_is_a_state_reward():
    rewards = np.random.default_rng(3).normal(size=N_STATES)
    log_policy, _ = recursion("stochastic, masked", rewards, 0.9, 0.5)
    repeated = np.repeat(rewards[:, None], N_ACTIONS, axis=1)
    model = given("stochastic, masked", repeated, 0.9, 0.5)
    np.testing.assert_allclose(model.policies_[0], np.exp(log_policy), rtol=0, atol=1e-8)


# The reward of given behaviour


@cache
def behaviour(kind):
    """Sessions of an agent that no reward r(s) explains exactly, some of its actions missing, with a gap."""
    rng = np.random.default_rng(5)
    transitions, available = tables(kind)
    habits = rng.dirichlet(np.full(N_ACTIONS, 2.0), size=N_STATES) * available
    habits /= habits.sum(axis=1, keepdims=True)
    states, actions = [], []
    for session in range(4):
        s, path, chosen = session, [], []
        for _ in range(60):
            a = rng.choice(N_ACTIONS, p=habits[s])
            path.append(s)
            chosen.append(a if rng.random() > 0.05 else -1)
            s = rng.choice(N_STATES, p=transitions[s, a])
        states.append(path)
        actions.append(chosen)
    data = Trajectories(states, actions, gaps=[[30], [], [], []], n_states=N_STATES, n_actions=N_ACTIONS)
    counts, moves = np.zeros((N_STATES, N_ACTIONS)), np.zeros((N_STATES, N_STATES))
    s, a = np.concatenate(data.states), np.concatenate(data.actions)
    np.add.at(counts, (s[a >= 0], a[a >= 0]), 1)
    for i in range(len(data)):
        for start, stop in data.segments(i):
            for t in range(start, stop - 1):
                if data.actions[i][t] < 0:
                    moves[data.states[i][t], data.states[i][t + 1]] += 1
    assert moves.sum() > 5
    return data, (counts, moves)


@cache
def fitted(kind, strength, discount, temperature):
    transitions, available = tables(kind)
    model = make(
        "MaxEnt",
        MDP(transitions, available=available),
        reward_prior=Gaussian(strength, of="reward"),
        discount=discount,
        temperature=temperature,
        n_restarts=3,
        max_iter=500,
        tol=1e-13,
    )
    return model.fit(behaviour(kind)[0])


FITS = [
    (kind, strength, discount, temperature)
    for kind in ("deterministic, masked", "stochastic")
    for strength, discount, temperature in ((0.5, 0.9, 1.0), (5.0, 0.7, 0.3))
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "strength", "discount", "temperature"), FITS)
def test_a_fit_is_the_maximum_that_lbfgs_finds_through_the_recursion(kind, strength, discount, temperature):
    counts = behaviour(kind)[1]

    def loss(rewards):
        value, gradient = objective(kind, rewards, counts, strength, discount, temperature)
        return -value, -gradient

    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000}
    starts = [np.zeros(N_STATES), np.random.default_rng(7).normal(size=N_STATES)]
    found = [minimize(loss, start, jac=True, method="L-BFGS-B", options=options) for start in starts]
    np.testing.assert_allclose(found[0].x, found[1].x, atol=1e-5)  # one maximum, whoever looks for it
    model = fitted(kind, strength, discount, temperature)
    assert model.converged_
    assert model.objective_trace_[-1] == pytest.approx(-found[0].fun, rel=1e-9)
    assert all(r.objective == pytest.approx(-found[0].fun, rel=1e-9) for r in model.restarts_)
    log_policy, _ = recursion(kind, found[0].x, discount, temperature)
    np.testing.assert_allclose(model.policies_[0], np.exp(log_policy), atol=1e-6)
    np.testing.assert_allclose(model.rewards_[0], found[0].x, atol=1e-6)
    assert np.abs(found[0].x).max() > 0.1  # there was something to find


def visit_mismatch(kind, policy, counts, discount):
    """Σ_t discounted visits to x expected after the action taken, less those after an action of the policy.

    With D(s,x) = Σ_k γ^k p(s_k = x | s_0 = s), the visits that follow from s under the policy, V has the derivative
    ∂V(s)/∂r(x) = D(s,x) and Q has 1[s=x] + γ Σ_s' P(s'|s,a) D(s',x), so that

        α ∂/∂r(x) Σ_t log π(a_t|s_t) = γ Σ_t ( E[D(s',x) | s_t, a_t] − E[D(s',x) | s_t, a ~ π] ).
    """
    counts = shared_out(kind, policy, counts)
    transitions, _ = tables(kind)
    chain = np.einsum("sa,sax->sx", policy, transitions)
    visits, reached = np.zeros_like(chain), np.eye(N_STATES)
    for _ in range(int(np.ceil(np.log(NEGLIGIBLE) / np.log(discount)))):
        visits += reached
        reached = discount * reached @ chain
    after = discount * transitions @ visits
    expected = counts.sum(axis=1, keepdims=True) * policy
    return np.einsum("sa,sax->x", counts - expected, after)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "strength", "discount", "temperature"), FITS)
def test_at_the_fit_visits_are_matched_up_to_the_pull_of_the_prior(kind, strength, discount, temperature):
    """Feature matching: the mismatch of visits is α λ r(x), state by state."""
    model, counts = fitted(kind, strength, discount, temperature), behaviour(kind)[1]
    mismatch = visit_mismatch(kind, model.policies_[0], counts, discount)
    pull = temperature * strength * model.rewards_[0]
    np.testing.assert_allclose(mismatch, pull, atol=1e-5)
    assert np.abs(pull).max() > 0.1
    # One visit more somewhere is one less elsewhere: the mismatch sums to 0, and with it the fitted reward.
    assert mismatch.sum() == pytest.approx(0.0, abs=1e-8)
    # An objective of −265 is known to 6e-14, and so the reward to some 2e-7: restarts that are equal in it to the last
    # bit have sums from 1e-15 to 6e-8.
    assert model.rewards_[0].sum() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("kind", ["deterministic, masked", "stochastic"])
def test_almost_without_a_prior_nothing_but_the_likelihood_is_at_rest(kind):
    """∂/∂r(x) Σ_t log π(a_t|s_t) = 0 for every x: by differences through the recursion, and as matched visits."""
    discount, temperature, counts = 0.9, 0.5, behaviour(kind)[1]
    model = fitted(kind, 1e-7, discount, temperature)

    def log_likelihood(rewards):
        return objective(kind, rewards, counts, 0.0, discount, temperature)[0]

    gradient = approx_fprime(model.rewards_[0], log_likelihood, 1e-6)
    np.testing.assert_allclose(gradient, 0.0, atol=2e-3)
    np.testing.assert_allclose(visit_mismatch(kind, model.policies_[0], counts, discount), 0.0, atol=1e-6)
    # Elsewhere neither vanishes, and both say the same.
    away = model.rewards_[0] + np.random.default_rng(8).normal(size=N_STATES)
    policy = np.exp(recursion(kind, away, discount, temperature)[0])
    gradient = approx_fprime(away, log_likelihood, 1e-6)
    assert np.abs(gradient).max() > 1.0
    np.testing.assert_allclose(
        visit_mismatch(kind, policy, counts, discount) / temperature, gradient, rtol=1e-4, atol=1e-3
    )
