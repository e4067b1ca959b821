"""Forward, backward, marginals, pairs and Viterbi for one chain of hidden modes; knows nothing of rewards.

The chain (design.md#the-model; paper, appendix A.2) starts from p(z_1), moves by P_z(z_{t+1} | z_t, s_t) and is seen
through the likelihood π_z(a_t | h_t) of each action::

    α_1(z) = p(z) π_z(a_1|h_1)     α_{t+1}(z') = Σ_z α_t(z) P_z(z'|z,s_t) π_z'(a_{t+1}|h_{t+1})
    β_T(z) = 1                     β_t(z) = Σ_z' P_z(z'|z,s_t) π_z'(a_{t+1}|h_{t+1}) β_{t+1}(z')

(The paper's α_1 lacks π(a_1|s_1), and its β takes the action and the switching state at the wrong time.)

The kernels `forward`, `smooth`, `pairs` and `viterbi` serve one chain; callers vmap.  They share these rules.

- Messages are logarithms, normalised at every step: exact however small the likelihoods are, in any mode.
- `log_transitions[t]` takes z_t to z_{t+1}; its last row is never used.
- A log-likelihood of 0 in every mode tells nothing: neither the action nor where it led was seen.
- Steps at and after `length` are padding: whatever stands there changes nothing, and every probability and
  increment returned for them is 0, so that sums over time need no mask.
- −inf is welcome.  Where an action is impossible given the past, the increment is −inf (and the total too);
  conditioning on it is undefined, so the mode probabilities go on as if it were missing.  Never NaN.

`filter_sessions`, `smooth_sessions` and `viterbi_sessions` take lists of chains of any lengths to numpy.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import logsumexp
from jaxtyping import Array, Bool, Float, Int

from swirl import precision
from swirl.compiling import jit

LogInitial = Float[Array, "mode"] | Float[np.ndarray, "mode"]
LogTransitions = Float[Array, "time mode mode"] | Float[np.ndarray, "time mode mode"]
LogLikelihoods = Float[Array, "time mode"] | Float[np.ndarray, "time mode"]
Length = Int[Array, ""] | Int[np.ndarray, ""] | int | np.integer

# Sessions run together until they fill this many steps: bounds memory (K×K transitions are held per step).
STEPS_PER_BATCH = 2**18
# Fewer steps than this are padded to the next larger size: running them is quicker than compiling once more.
STEPS_WORTH_COMPILING = 2**17


# Named tuples, not dataclasses: run-time shape checks would reject the other leaves that vmap puts in them.
class Forward(NamedTuple):
    """What the forward pass knows of a chain; leading axes appear under vmap."""

    log_normaliser: Float[Array, "*batch"]
    """log p(a_1:T), the sum of the increments."""
    log_increments: Float[Array, "*batch time"]
    """log p(a_t | a_1:t−1), the honest score of each step."""
    filtered: Float[Array, "*batch time mode"]
    """p(z_t | a_1:t)."""
    predicted: Float[Array, "*batch time mode"]
    """p(z_t | a_1:t−1)."""


class Viterbi(NamedTuple):
    """The most likely mode path and log p(path, a_1:T); in padding the path repeats its last mode."""

    path: Int[Array, "*batch time"]
    log_probability: Float[Array, "*batch"]


def _valid(log_likelihoods: LogLikelihoods, length: Length) -> Bool[Array, "time"]:
    return jnp.arange(log_likelihoods.shape[0]) < length


def _log_forward(
    log_initial: LogInitial, log_transitions: LogTransitions, log_likelihoods: LogLikelihoods, length: Length
) -> tuple[Float[Array, "time"], Float[Array, "time mode"], Float[Array, "time mode"]]:
    """Log increments, filtered and predicted; padding is not yet blanked in the latter two."""

    def step(log_predicted: Array, inputs: tuple[Array, Array]) -> tuple[Array, tuple[Array, ...]]:
        log_transition, log_likelihood = inputs
        joint = log_predicted + log_likelihood
        increment = logsumexp(joint)
        possible = increment > -jnp.inf
        log_filtered = jnp.where(possible, joint - jnp.where(possible, increment, 0.0), log_predicted)
        log_next = logsumexp(log_filtered[:, None] + log_transition, axis=0)
        return log_next, (increment, log_filtered, log_predicted)

    inputs = (jnp.asarray(log_transitions), jnp.asarray(log_likelihoods))
    _, (increments, log_filtered, log_predicted) = jax.lax.scan(step, jnp.asarray(log_initial), inputs)
    # Padding comes last, so whatever stands there reaches no valid step.
    return jnp.where(_valid(log_likelihoods, length), increments, 0.0), log_filtered, log_predicted


def _log_backward(
    log_transitions: LogTransitions,
    log_likelihoods: LogLikelihoods,
    increments: Float[Array, "time"],
    length: Length,
) -> tuple[Float[Array, "time mode"], Float[Array, "time mode"]]:
    """Log of β_t(z) / p(a_{t+1:T} | a_1:t), and of π_z'(a_{t+1}) β_{t+1}(z') / p(a_{t+1:T} | a_1:t)."""
    valid = _valid(log_likelihoods, length)
    # An impossible action was passed over by the forward pass: the backward pass must do the same.
    used = (valid & (increments > -jnp.inf))[:, None]
    weights = jnp.where(used, log_likelihoods - jnp.where(used, increments[:, None], 0.0), 0.0)

    def step(log_next_beta: Array, inputs: tuple[Array, Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        log_transition, next_weight, next_valid = inputs
        log_ahead = next_weight + log_next_beta
        log_beta = jnp.where(next_valid, logsumexp(log_transition + log_ahead[None, :], axis=1), 0.0)
        return log_beta, (log_beta, log_ahead)

    # Row t looks ahead to t+1; after the last step there is nothing to see.
    next_weights = jnp.concatenate([weights[1:], jnp.zeros_like(weights[:1])])
    next_valid = jnp.concatenate([valid[1:], jnp.zeros_like(valid[:1])])
    inputs = (jnp.asarray(log_transitions), next_weights, next_valid)
    _, (log_beta, log_ahead) = jax.lax.scan(step, jnp.zeros_like(weights[0]), inputs, reverse=True)
    return log_beta, log_ahead


def forward(
    log_initial: LogInitial, log_transitions: LogTransitions, log_likelihoods: LogLikelihoods, length: Length
) -> Forward:
    """Filter one chain: log p(a_1:T), its increments, p(z_t | a_1:t) and p(z_t | a_1:t−1).

    Equals the plain loop (in logarithms)::

        predicted[0] = initial
        for t in range(length):
            joint = predicted[t] * likelihoods[t]
            increment[t] = log(sum(joint))
            filtered[t] = joint / sum(joint)
            predicted[t + 1] = filtered[t] @ transitions[t]

    Examples
    --------
    >>> import numpy as np
    >>> stay = np.log(np.broadcast_to([[0.9, 0.1], [0.1, 0.9]], (3, 2, 2)))
    >>> seen = np.log([[0.8, 0.2], [1.0, 1.0], [0.8, 0.2]])
    >>> result = forward(np.log([0.5, 0.5]), stay, seen, 3)
    >>> [round(float(probability), 3) for probability in result.filtered[0]]
    [0.8, 0.2]
    >>> abs(float(result.log_increments[1])) < 1e-6  # a missing action
    True
    """
    increments, log_filtered, log_predicted = _log_forward(log_initial, log_transitions, log_likelihoods, length)
    valid = _valid(log_likelihoods, length)[:, None]
    return Forward(
        log_normaliser=jnp.sum(increments),
        log_increments=increments,
        filtered=jnp.where(valid, jnp.exp(log_filtered), 0.0),
        predicted=jnp.where(valid, jnp.exp(log_predicted), 0.0),
    )


def smooth(
    log_initial: LogInitial, log_transitions: LogTransitions, log_likelihoods: LogLikelihoods, length: Length
) -> Float[Array, "time mode"]:
    """Mode marginals γ_t(z) = p(z_t | a_1:T) ∝ α_t(z) β_t(z) of one chain.

    Equals the plain loop (in logarithms), after that of `forward`::

        beta[length - 1] = 1
        for t in reversed(range(length - 1)):
            beta[t] = transitions[t] @ (likelihoods[t + 1] * beta[t + 1]) / exp(increment[t + 1])
        for t in range(length):
            marginals[t] = filtered[t] * beta[t] / sum(filtered[t] * beta[t])

    Examples
    --------
    >>> import numpy as np
    >>> stay = np.log(np.broadcast_to([[0.9, 0.1], [0.1, 0.9]], (3, 2, 2)))
    >>> seen = np.log([[0.8, 0.2], [1.0, 1.0], [0.8, 0.2]])
    >>> smooth(np.log([0.5, 0.5]), stay, seen, 3).shape
    (3, 2)
    """
    increments, log_filtered, _ = _log_forward(log_initial, log_transitions, log_likelihoods, length)
    log_beta, _ = _log_backward(log_transitions, log_likelihoods, increments, length)
    joint = log_filtered + log_beta
    marginals = jnp.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    return jnp.where(_valid(log_likelihoods, length)[:, None], marginals, 0.0)


def pairs(
    log_initial: LogInitial, log_transitions: LogTransitions, log_likelihoods: LogLikelihoods, length: Length
) -> Float[Array, "time mode mode"]:
    """Mode pairs ξ_t(z, z') = p(z_t = z, z_{t+1} = z' | a_1:T) of one chain; 0 from the last step on.

    Equals the plain loop (in logarithms), after that of `smooth`::

        for t in range(length - 1):
            ahead = likelihoods[t + 1] * beta[t + 1]
            joint = filtered[t][:, None] * transitions[t] * ahead[None, :]
            pairs[t] = joint / sum(joint)

    Examples
    --------
    >>> import numpy as np
    >>> stay = np.log(np.broadcast_to([[0.9, 0.1], [0.1, 0.9]], (3, 2, 2)))
    >>> seen = np.log([[0.8, 0.2], [1.0, 1.0], [0.8, 0.2]])
    >>> pairs(np.log([0.5, 0.5]), stay, seen, 3).sum(axis=(1, 2)).round(4).tolist()
    [1.0, 1.0, 0.0]
    """
    increments, log_filtered, _ = _log_forward(log_initial, log_transitions, log_likelihoods, length)
    _, log_ahead = _log_backward(log_transitions, log_likelihoods, increments, length)
    has_next = (jnp.arange(log_likelihoods.shape[0]) < jnp.asarray(length) - 1)[:, None, None]
    joint = log_filtered[:, :, None] + log_transitions + log_ahead[:, None, :]
    normalised = jnp.exp(joint - logsumexp(joint, axis=(1, 2), keepdims=True))
    return jnp.where(has_next, normalised, 0.0)


def viterbi(
    log_initial: LogInitial, log_transitions: LogTransitions, log_likelihoods: LogLikelihoods, length: Length
) -> Viterbi:
    """Most likely mode path of one chain, argmax over z_1:T of log p(z_1:T, a_1:T), and that log-probability.

    Equals the plain loop::

        score[0] = log_initial + log_likelihoods[0]
        for t in range(length - 1):
            score[t + 1] = max_z(score[t][z] + log_transitions[t][z]) + log_likelihoods[t + 1]
            came_from[t] = argmax_z(score[t][z] + log_transitions[t][z])
        path[length - 1] = argmax(score[length - 1])
        for t in reversed(range(length - 1)):
            path[t] = came_from[t][path[t + 1]]

    Examples
    --------
    >>> import numpy as np
    >>> stay = np.log(np.broadcast_to([[0.9, 0.1], [0.1, 0.9]], (3, 2, 2)))
    >>> seen = np.log([[0.8, 0.2], [1.0, 1.0], [0.2, 0.8]])
    >>> viterbi(np.log([0.6, 0.4]), stay, seen, 2).path.tolist()
    [0, 0, 0]
    """
    valid = _valid(log_likelihoods, length)
    stay = jnp.arange(log_likelihoods.shape[1])

    def see(score: Array, log_likelihood: Array) -> tuple[Array, Array]:
        joint = score + log_likelihood
        possible = jnp.max(joint) > -jnp.inf
        return jnp.where(possible, joint, score), possible

    def step(score: Array, inputs: tuple[Array, Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        log_transition, log_likelihood, valid = inputs
        arriving = score[:, None] + log_transition
        moved, possible = see(jnp.max(arriving, axis=0), log_likelihood)
        came_from = jnp.where(valid, jnp.argmax(arriving, axis=0), stay)
        return jnp.where(valid, moved, score), (came_from, possible | ~valid)

    log_transitions, log_likelihoods = jnp.asarray(log_transitions), jnp.asarray(log_likelihoods)
    first, first_possible = see(jnp.asarray(log_initial), log_likelihoods[0])
    score, (came_from, possible) = jax.lax.scan(step, first, (log_transitions[:-1], log_likelihoods[1:], valid[1:]))
    last = jnp.argmax(score)
    _, earlier = jax.lax.scan(lambda mode, back: (back[mode], back[mode]), last, came_from, reverse=True)
    all_possible = first_possible & jnp.all(possible)
    log_probability = jnp.where(valid[0], jnp.where(all_possible, jnp.max(score), -jnp.inf), 0.0)
    return Viterbi(path=jnp.concatenate([earlier, last[None]]), log_probability=log_probability)


# ---- many chains of many lengths -------------------------------------------------------------------------


def bucket(size: int) -> int:
    """Round a size up to 1, 2, 3, 4, 6, 8, 12, …: few shapes to compile for, at most a third of them padding.

    >>> [bucket(size) for size in (1, 5, 6, 300, 500, 2500)]
    [1, 6, 6, 384, 512, 3072]
    """
    power = 1 << (max(size, 1) - 1).bit_length()
    return power * 3 // 4 if power >= 4 and size <= power * 3 // 4 else power


def _of_states(kernel: Callable[[Array, Array, Array, Array], Any]) -> Callable[..., Any]:
    """Compile a kernel for a batch of chains whose transitions depend on the state: gathered per step."""

    def one(log_initial: Array, table: Array, states: Array, log_likelihoods: Array, length: Array) -> Any:
        return kernel(log_initial, table[states], log_likelihoods, length)

    return jit(loops=False)(jax.vmap(one, in_axes=(None, None, 0, 0, 0)))


def _filtered(*chain: Array) -> tuple[Array, Array, Array]:
    result = forward(*chain)
    return result.filtered, result.log_increments, result.predicted


# The lambdas look their kernel up when traced, so that a test can count the traces.
_filter_batch = _of_states(lambda *chain: _filtered(*chain))
_smooth_batch = _of_states(lambda *chain: (smooth(*chain),))
_viterbi_batch = _of_states(lambda *chain: (viterbi(*chain).path,))


def _batches(lengths: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield (padded length, which sessions): sessions of like length, at most `STEPS_PER_BATCH` steps."""
    groups: dict[int, list[int]] = {}
    for session, length in enumerate(lengths):
        groups.setdefault(max(16, bucket(length)), []).append(session)
    sizes = sorted(groups)
    waiting: list[int] = []
    for n_steps, next_size in zip_longest(sizes, sizes[1:]):
        waiting += groups[n_steps]
        if next_size is not None and len(waiting) * next_size <= STEPS_WORTH_COMPILING:
            continue  # join the next size
        at_once = max(1, STEPS_PER_BATCH // n_steps)
        for start in range(0, len(waiting), at_once):
            yield n_steps, waiting[start : start + at_once]
        waiting = []


def _check(n_states: int, n_modes: int, states: Sequence[np.ndarray], likelihoods: Sequence[np.ndarray]) -> None:
    """Raise one ValueError with every fault: a gather out of range would be clamped silently by JAX."""
    faults = []
    if len(states) != len(likelihoods):
        faults.append(f"states has {len(states)} sessions, log_likelihoods {len(likelihoods)}: give one each")
    for session, (s, log_likelihood) in enumerate(zip(states, likelihoods, strict=False)):
        if log_likelihood.shape != (len(s), n_modes):
            faults.append(f"log_likelihoods[{session}] has shape {log_likelihood.shape}, expected {(len(s), n_modes)}")
        outside = np.flatnonzero((s < 0) | (s >= n_states))
        if outside.size:
            step = outside[0]
            faults.append(f"states[{session}] is {s[step]} at step {step}, expected 0 to {n_states - 1}")
    if faults:
        raise ValueError("; ".join(faults))


def _run_sessions(
    batch: Callable[..., Any],
    log_initial: np.ndarray,
    table: np.ndarray,
    states: Sequence[np.ndarray],
    log_likelihoods: Sequence[np.ndarray],
) -> list[tuple[np.ndarray, ...]]:
    """Run a compiled batch kernel over all sessions; return each session's arrays, unpadded."""
    n_states, n_modes = table.shape[:2]
    _check(n_states, n_modes, states, log_likelihoods)
    results: list[tuple[np.ndarray, ...]] = [()] * len(states)
    for n_steps, sessions in _batches([len(s) for s in states]):
        n_rows = bucket(len(sessions))  # rows beyond the sessions are chains of length 0
        padded_states = np.zeros((n_rows, n_steps), dtype=np.int32)
        padded_likelihoods = np.zeros((n_rows, n_steps, n_modes))
        lengths = np.zeros(n_rows, dtype=np.int32)
        for row, session in enumerate(sessions):
            lengths[row] = len(states[session])
            padded_states[row, : lengths[row]] = states[session]
            padded_likelihoods[row, : lengths[row]] = log_likelihoods[session]
        with precision.float64():
            outputs = precision.numpy_tree(
                batch(
                    np.asarray(log_initial, dtype=float),
                    np.asarray(table, dtype=float),
                    padded_states,
                    padded_likelihoods,
                    lengths,
                )
            )
        for row, session in enumerate(sessions):
            # A copy, so that one kept session does not keep the whole batch alive.
            results[session] = tuple(output[row, : lengths[row]].copy() for output in outputs)
    return results


def filter_sessions(
    log_initial: Float[np.ndarray, "mode"],
    log_transitions_by_state: Float[np.ndarray, "state mode mode"],
    states: Sequence[Int[np.ndarray, "_"]],
    log_likelihoods: Sequence[Float[np.ndarray, "_ mode"]],
) -> tuple[list[Float[np.ndarray, "_ mode"]], list[Float[np.ndarray, "_"]], list[Float[np.ndarray, "_ mode"]]]:
    """Causal p(z_t | a_1:t), log p(a_t | a_1:t−1) and p(z_t | a_1:t−1) of each session (see `forward`), in float64.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.log(np.full((4, 2, 2), 0.5))
    >>> filtered, increments, predicted = filter_sessions(
    ...     np.log([0.5, 0.5]), table, [np.array([0, 3, 1])], [np.log([[0.9, 0.1]] * 3)]
    ... )
    >>> filtered[0].round(3).tolist(), increments[0].round(3).tolist()
    ([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1]], [-0.693, -0.693, -0.693])
    """
    results = _run_sessions(_filter_batch, log_initial, log_transitions_by_state, states, log_likelihoods)
    filtered, increments, predicted = ([result[i] for result in results] for i in range(3))
    return filtered, increments, predicted


def smooth_sessions(
    log_initial: Float[np.ndarray, "mode"],
    log_transitions_by_state: Float[np.ndarray, "state mode mode"],
    states: Sequence[Int[np.ndarray, "_"]],
    log_likelihoods: Sequence[Float[np.ndarray, "_ mode"]],
) -> list[Float[np.ndarray, "_ mode"]]:
    """Mode marginals p(z_t | a_1:T) of each session (see `smooth`), in float64.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.log(np.full((4, 2, 2), 0.5))
    >>> smooth_sessions(
    ...     np.log([0.5, 0.5]), table, [np.array([0, 3])], [np.log([[0.9, 0.1], [0.2, 0.8]])]
    ... )[0].round(3).tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    """
    results = _run_sessions(_smooth_batch, log_initial, log_transitions_by_state, states, log_likelihoods)
    return [marginals for (marginals,) in results]


def viterbi_sessions(
    log_initial: Float[np.ndarray, "mode"],
    log_transitions_by_state: Float[np.ndarray, "state mode mode"],
    states: Sequence[Int[np.ndarray, "_"]],
    log_likelihoods: Sequence[Float[np.ndarray, "_ mode"]],
) -> list[Int[np.ndarray, "_"]]:
    """Most likely mode path of each session (see `viterbi`).

    Examples
    --------
    >>> import numpy as np
    >>> table = np.log(np.full((4, 2, 2), 0.5))
    >>> viterbi_sessions(
    ...     np.log([0.5, 0.5]), table, [np.array([0, 3])], [np.log([[0.9, 0.1], [0.2, 0.8]])]
    ... )[0].tolist()
    [0, 1]
    """
    results = _run_sessions(_viterbi_batch, log_initial, log_transitions_by_state, states, log_likelihoods)
    return [path for (path,) in results]
