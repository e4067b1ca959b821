"""The paper's own recipe for S-2, written plainly: the rival of the first benchmark.

Our own code, after the paper's description (§3.4, Appendices A.1, A.2 and B.1) and design.md#the-model; nothing of the
authors' scripts is copied.  It is meant to be correct and ordinary, not slow on purpose:

- the environment lifted on all S·S pairs (s_t, s_{t−1}) as one dense array [S·S, S·S, A];
- recordings as one-hot arrays [N, T, S], [N, T, S·S], [N, T, A];
- E-step: forward–backward in logarithms, `jax.lax.scan` over time, vmapped over recordings;
- M-step: Adam (5e-3; 0.9, 0.999) on G's policy term, its gradient taken through 100 soft-Q sweeps from V = 0:
  800 steps on the L = 1 problem, then 200 on the lifted one; L-BFGS (tolerance 1e-4) on the switching logits;
  p(z_1) in closed form;
- float32; every piece compiled, with the Adam loops inside the compiled code (a loop in Python would be slower) and
  the dense products written as matrix products: as an einsum over three axes XLA takes 15 × longer on the CPU.

Our reading where the paper is silent or wrong:

- *Two problems per M-step*: r_z(s_t, s_{t−1}) = r1_z(s_t) + r2_z(s_t, s_{t−1}).  The first 800 steps fit r1 alone,
  as the reward of an L = 1 agent; the next 200 fit r2 with r1 in place.  The policy of the model (what the E-step
  reads) is that of the sum on the lifted environment.
- α_1 has π(a_1|s_1), β has the right time index and G is climbed (design.md#the-model lists the slips).
- P(s'|s, a) is a constant of the data and left out of the likelihood, as in `swirl`.
- The first step has no s_{t−1}; it takes s_{t−1} = s_t.  For a reward without action argument the policy sees
  only s_t (design.md#what-a-policy-sees), so the choice changes nothing, and all T steps are scored, as in `swirl`.
- The switching logits are additive, A[z, z'] + b[s, z']: the same family as `switching="state"`, so that both
  programs climb the same likelihood.  (The rival has no priors: that can only raise its likelihood.)
"""

import time
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.nn import log_softmax, logsumexp

DISCOUNT = 0.95
LEARNING_RATE = 5e-3


class OneHot(NamedTuple):
    """An environment and recordings of one length, as dense arrays (P = S·S pairs, numbered s_t · S + s_{t−1})."""

    states: jax.Array  # [N, T, S]
    pairs: jax.Array  # [N, T, P]
    actions: jax.Array  # [N, T, A]
    transitions: jax.Array  # [S', S, A]: successor first, so that γPV is one matrix product
    lifted: jax.Array  # [P', P, A]


class Parameters(NamedTuple):
    """What is fitted; rewards are those of states and of pairs, switching logits A and b."""

    initial: jax.Array  # [K]
    reward: jax.Array  # [K, S]
    pair_reward: jax.Array  # [K, P]
    mode_logits: jax.Array  # [K, K]
    state_logits: jax.Array  # [S, K]


class Posterior(NamedTuple):
    """What the E-step hands to the M-step."""

    marginals: jax.Array  # [N, T, K]
    pairs: jax.Array  # [N, T − 1, K, K]
    log_likelihood: jax.Array


class Budget(NamedTuple):
    """Work in one M-step; the defaults are the paper's."""

    state_steps: int = 800
    pair_steps: int = 200
    sweeps: int = 100
    switching_steps: int = 100


@dataclass
class Trace:
    """Log-likelihood of the training data against time; entry i belongs to the parameters after i iterations."""

    start: Parameters
    parameters: Parameters
    compile_seconds: float
    seconds: list[float] = field(default_factory=list)
    log_likelihoods: list[float] = field(default_factory=list)


def one_hot(states: np.ndarray, actions: np.ndarray, transitions: np.ndarray) -> OneHot:
    """Spell recordings [N, T] and an environment [S, A, S] out as dense float32 arrays."""
    n_states, n_actions, _ = transitions.shape
    previous = np.concatenate([states[:, :1], states[:, :-1]], axis=1)
    # (s, s⁻) leads with action a to (s', s) with the probability of s' given s and a.
    lifted = np.zeros((n_states, n_states, n_actions, n_states, n_states), dtype=np.float32)
    for s in range(n_states):
        lifted[s, :, :, :, s] = transitions[s]
    n_pairs = n_states**2
    return OneHot(
        states=jax.nn.one_hot(states, n_states, dtype=jnp.float32),
        pairs=jax.nn.one_hot(states * n_states + previous, n_pairs, dtype=jnp.float32),
        actions=jax.nn.one_hot(actions, n_actions, dtype=jnp.float32),
        transitions=_successor_first(transitions),
        lifted=_successor_first(lifted.reshape(n_pairs, n_actions, n_pairs)),
    )


def _successor_first(transitions: np.ndarray) -> jax.Array:
    return jnp.asarray(np.ascontiguousarray(np.moveaxis(transitions, -1, 0)), dtype=jnp.float32)


def start(data: OneHot, n_modes: int, seed: int) -> Parameters:
    """Draw a starting point: random rewards of states, none of pairs, sticky switching."""
    n_states, n_pairs = data.states.shape[-1], data.pairs.shape[-1]
    return Parameters(
        initial=jnp.full(n_modes, 1 / n_modes, dtype=jnp.float32),
        reward=jax.random.normal(jax.random.key(seed), (n_modes, n_states), dtype=jnp.float32),
        pair_reward=jnp.zeros((n_modes, n_pairs), dtype=jnp.float32),
        mode_logits=jnp.log(0.9 * jnp.eye(n_modes, dtype=jnp.float32) + 0.1 / n_modes),
        state_logits=jnp.zeros((n_states, n_modes), dtype=jnp.float32),
    )


# ---- planning ----------------------------------------------------------------------------------------------


def soft_q(reward: jax.Array, transitions: jax.Array, sweeps: int) -> jax.Array:
    """Q[z, s, a] after `sweeps` of Q = r + γ P V, V = log Σ_a exp Q, from V = 0; temperature 1."""
    n_nodes, _, n_actions = transitions.shape
    matrix = transitions.reshape(n_nodes, -1)

    def plan(values: jax.Array) -> jax.Array:
        return reward[:, :, None] + DISCOUNT * (values @ matrix).reshape(-1, n_nodes, n_actions)

    def sweep(values: jax.Array, _: None) -> tuple[jax.Array, None]:
        return logsumexp(plan(values), axis=-1), None

    values, _ = jax.lax.scan(sweep, jnp.zeros_like(reward), None, length=sweeps - 1)
    return plan(values)


def pair_rewards(parameters: Parameters) -> jax.Array:
    """r1(s_t) + r2(s_t, s_{t−1}) as [K, P]."""
    n_states = parameters.reward.shape[-1]
    return jnp.repeat(parameters.reward, n_states, axis=-1) + parameters.pair_reward


def log_policies(parameters: Parameters, data: OneHot, sweeps: int) -> jax.Array:
    """Log π_z(a | s_t, s_{t−1}) as [K, P, A]."""
    return log_softmax(soft_q(pair_rewards(parameters), data.lifted, sweeps), axis=-1)


# ---- E-step ------------------------------------------------------------------------------------------------


def step_log_likelihoods(log_policy: jax.Array, nodes: jax.Array, actions: jax.Array) -> jax.Array:
    """Read log π_z(a_t | node_t) off one-hot data: [N, T, K]."""
    n_modes, n_nodes, n_actions = log_policy.shape
    columns = jnp.moveaxis(log_policy, 1, 0).reshape(n_nodes, -1)
    of_nodes = (nodes @ columns).reshape(*nodes.shape[:2], n_modes, n_actions)
    return jnp.sum(of_nodes * actions[:, :, None, :], axis=-1)


def log_switching(mode_logits: jax.Array, state_logits: jax.Array, states: jax.Array) -> jax.Array:
    """Log P_z(z'|z, s_t) at every step: [N, T, K, K]."""
    return log_softmax(mode_logits + jnp.einsum("nts,sy->nty", states, state_logits)[:, :, None, :], axis=-1)


def forward_backward(log_initial: jax.Array, log_moves: jax.Array, log_seen: jax.Array) -> Posterior:
    """Posterior of one recording from [K], [T − 1, K, K] and [T, K]."""

    def forward(log_alpha: jax.Array, step: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        log_move, log_like = step
        log_alpha = logsumexp(log_alpha[:, None] + log_move, axis=0) + log_like
        return log_alpha, log_alpha

    def backward(log_beta: jax.Array, step: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        log_move, log_like = step
        log_beta = logsumexp(log_move + (log_like + log_beta)[None, :], axis=1)
        return log_beta, log_beta

    first = log_initial + log_seen[0]
    _, rest = jax.lax.scan(forward, first, (log_moves, log_seen[1:]))
    log_alpha = jnp.concatenate([first[None], rest])
    last = jnp.zeros_like(first)
    _, earlier = jax.lax.scan(backward, last, (log_moves, log_seen[1:]), reverse=True)
    log_beta = jnp.concatenate([earlier, last[None]])
    log_likelihood = logsumexp(log_alpha[-1])
    joint = log_alpha[:-1, :, None] + log_moves + (log_seen[1:] + log_beta[1:])[:, None, :]
    # Normalised at each step: in float32 α and β are sums of hundreds of logarithms.
    return Posterior(
        marginals=jax.nn.softmax(log_alpha + log_beta, axis=-1),
        pairs=jnp.exp(joint - logsumexp(joint, axis=(1, 2), keepdims=True)),
        log_likelihood=log_likelihood,
    )


def expectation(parameters: Parameters, data: OneHot, sweeps: int) -> Posterior:
    """Plan, then pass messages along every recording; the log-likelihood is that of all of them."""
    log_seen = step_log_likelihoods(log_policies(parameters, data, sweeps), data.pairs, data.actions)
    log_moves = log_switching(parameters.mode_logits, parameters.state_logits, data.states[:, :-1])
    each = jax.vmap(forward_backward, in_axes=(None, 0, 0))(jnp.log(parameters.initial), log_moves, log_seen)
    return each._replace(log_likelihood=jnp.sum(each.log_likelihood))


# ---- M-step ------------------------------------------------------------------------------------------------


def adam(loss, x: jax.Array, steps: int) -> jax.Array:
    """Descend `loss` from `x` by Adam with the paper's settings."""
    optimiser = optax.adam(LEARNING_RATE, b1=0.9, b2=0.999)

    def step(carry: tuple, _: None) -> tuple[tuple, None]:
        x, state = carry
        updates, state = optimiser.update(jax.grad(loss)(x), state)
        return (optax.apply_updates(x, updates), state), None

    (x, _), _ = jax.lax.scan(step, (x, optimiser.init(x)), None, length=steps)
    return x


def lbfgs(loss, x: tuple[jax.Array, jax.Array], steps: int, tol: float = 1e-4) -> tuple[jax.Array, jax.Array]:
    """Descend `loss` from `x` by L-BFGS until the gradient is smaller than `tol`."""
    optimiser = optax.lbfgs()
    value_and_grad = optax.value_and_grad_from_state(loss)

    def unfinished(carry: tuple) -> jax.Array:
        _, state, gradient_norm = carry
        return (optax.tree.get(state, "count") < steps) & (gradient_norm > tol)

    def step(carry: tuple) -> tuple:
        x, state, _ = carry
        value, gradient = value_and_grad(x, state=state)
        updates, state = optimiser.update(gradient, state, x, value=value, grad=gradient, value_fn=loss)
        return optax.apply_updates(x, updates), state, optax.tree.norm(gradient)

    return jax.lax.while_loop(unfinished, step, (x, optimiser.init(x), jnp.asarray(jnp.inf)))[0]


def maximisation(parameters: Parameters, posterior: Posterior, data: OneHot, budget: Budget) -> Parameters:
    """Climb the three terms of G (paper Eqs. 2–5), each per recording so that tolerances do not depend on N."""
    n_recordings = data.states.shape[0]

    def policy_loss(log_policy: jax.Array, nodes: jax.Array) -> jax.Array:
        log_seen = step_log_likelihoods(log_policy, nodes, data.actions)
        return -jnp.sum(posterior.marginals * log_seen) / n_recordings

    def state_loss(reward: jax.Array) -> jax.Array:
        log_policy = log_softmax(soft_q(reward, data.transitions, budget.sweeps), axis=-1)
        return policy_loss(log_policy, data.states)

    def pair_loss(pair_reward: jax.Array) -> jax.Array:
        changed = parameters._replace(pair_reward=pair_reward)
        return policy_loss(log_policies(changed, data, budget.sweeps), data.pairs)

    def switching_loss(logits: tuple[jax.Array, jax.Array]) -> jax.Array:
        return -jnp.sum(posterior.pairs * log_switching(*logits, data.states[:, :-1])) / n_recordings

    parameters = parameters._replace(reward=adam(state_loss, parameters.reward, budget.state_steps))
    parameters = parameters._replace(pair_reward=adam(pair_loss, parameters.pair_reward, budget.pair_steps))
    mode_logits, state_logits = lbfgs(
        switching_loss, (parameters.mode_logits, parameters.state_logits), budget.switching_steps
    )
    return parameters._replace(
        initial=jnp.mean(posterior.marginals[:, 0], axis=0), mode_logits=mode_logits, state_logits=state_logits
    )


# ---- EM ----------------------------------------------------------------------------------------------------


def run(
    data: OneHot,
    n_iterations: int,
    seed: int,
    *,
    n_modes: int = 2,
    budget: Budget | None = None,
    on_iteration=lambda trace: None,
) -> Trace:
    """Fit by EM; compilation comes before the clock starts and is reported apart.

    `on_iteration` is called with the trace after each iteration: one takes minutes on two cores.
    """
    budget = budget or Budget()
    parameters = start(data, n_modes, seed)
    began = time.perf_counter()
    e_step = jax.jit(partial(expectation, sweeps=budget.sweeps)).lower(parameters, data).compile()
    shapes = jax.eval_shape(partial(expectation, sweeps=budget.sweeps), parameters, data)
    m_step = jax.jit(partial(maximisation, budget=budget)).lower(parameters, shapes, data).compile()
    trace = Trace(parameters, parameters, time.perf_counter() - began)

    began = time.perf_counter()
    posterior = jax.block_until_ready(e_step(parameters, data))
    trace.seconds.append(time.perf_counter() - began)
    trace.log_likelihoods.append(float(posterior.log_likelihood))
    for _ in range(n_iterations):
        parameters = m_step(parameters, posterior, data)
        posterior = jax.block_until_ready(e_step(parameters, data))
        trace.seconds.append(time.perf_counter() - began)
        trace.log_likelihoods.append(float(posterior.log_likelihood))
        trace.parameters = parameters
        on_iteration(trace)
    return trace
