"""The E-step as a scan over time through XLA: any device, all chains and restarts at once.

Messages are kept as logarithms, so that forbidden transitions and chains of any length are exact.
Chains are padded to one length with steps that change nothing: the neutral symbol, and a "state" whose
transition table is the identity.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from swirl.inference.estep.counts import Chains, Counts, Tables, log_sum_exp

IntArray = Array | np.ndarray


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PaddedChains:
    """Chains side by side: time runs along the first axis."""

    symbols: Int[IntArray, "time chain"]
    states: Int[IntArray, "time chain"]
    weights: Float[Array | np.ndarray, "chain"]
    """How often each chain counts: a resample has the same shapes, so nothing is compiled again."""


def pad(chains: Chains) -> tuple[PaddedChains, ...]:
    """Lay the chains side by side, in groups whose lengths differ by at most four times, so that one long chain does
    not stretch a thousand short ones.
    """
    lengths = np.diff(chains.offsets)
    group = np.ceil(np.log2(lengths) / 2).astype(int)
    return tuple(_pad(chains, np.flatnonzero(group == g)) for g in np.unique(group))


def _pad(chains: Chains, members: Int[np.ndarray, "member"]) -> PaddedChains:
    """Pad some of the chains to a common length that many datasets share, so that there are few compilations."""
    lengths = np.diff(chains.offsets)[members]
    longest = int(lengths.max())
    bucket = max(longest, 2) if longest < 64 else -(-longest // 64) * 64
    symbols = np.full((len(members), bucket), chains.n_symbols, dtype=np.int32)
    states = np.full((len(members), bucket), chains.n_states, dtype=np.int32)
    within = np.arange(bucket) < lengths[:, None]
    places = (chains.offsets[:-1][members][:, None] + np.arange(bucket))[within]
    symbols[within], states[within] = chains.symbols[places], chains.states[places]
    # The step after the last one must not switch: its transition is padding as well.
    states[np.arange(len(members)), lengths - 1] = chains.n_states
    weights = np.ones(len(members)) if chains.times is None else chains.times[members].astype(float)
    return PaddedChains(np.ascontiguousarray(symbols.T), np.ascontiguousarray(states.T), weights)


def with_empty_chains(group: PaddedChains, n_chains: int, n_symbols: int, n_states: int) -> PaddedChains:
    """Fill a group up to so many chains with ones that hold nothing and count nothing."""
    missing = n_chains - group.weights.shape[0]
    columns = ((0, 0), (0, missing))
    return PaddedChains(
        np.pad(np.asarray(group.symbols), columns, constant_values=n_symbols),
        np.pad(np.asarray(group.states), columns, constant_values=n_states),
        np.pad(np.asarray(group.weights), (0, missing)),
    )


def probabilities(
    tables: Tables,
) -> tuple[Float[Array, "*restart symbol mode"], Float[Array, "*restart symbol"], Float[Array, "*restart state K K"]]:
    """Emissions, scaled to 1 in the likeliest mode of each symbol; the logarithms of these scales; transitions.

    Each has one more row for the padding, which says nothing and stays.
    """
    log_emissions = jnp.asarray(tables.log_emissions)
    *restarts, _, n_modes = log_emissions.shape
    real = log_emissions.dtype
    log_emissions = jnp.concatenate([log_emissions, jnp.zeros((*restarts, 1, n_modes), real)], axis=-2)
    highest = jnp.max(log_emissions, axis=-1)
    highest = jnp.where(jnp.isfinite(highest), highest, 0.0)
    stay = jnp.broadcast_to(jnp.eye(n_modes, dtype=real), (*restarts, 1, n_modes, n_modes))
    transitions = jnp.concatenate([jnp.exp(jnp.asarray(tables.log_transitions)), stay], axis=-3)
    return jnp.exp(log_emissions - highest[..., None]), highest, transitions


def expected_counts(tables: Tables, chains: PaddedChains) -> Counts:
    """Expected counts and log-likelihood for one restart; `jax.vmap` runs several.

    Equals, for each chain, the plain loop::

        log_alpha = log_initial + log_e[y[0]]
        for t in range(1, T):
            log_alpha[t] = logsumexp_z(log_alpha[t - 1, z] + log_P[s[t - 1], z]) + log_e[y[t]]
        log_likelihood = logsumexp(log_alpha[T - 1])
        log_beta[T - 1] = 0
        for t in range(T - 1, 0, -1):
            log_u = log_e[y[t]] + log_beta[t]
            X[s[t - 1]] += exp(log_alpha[t - 1][:, None] + log_P[s[t - 1]] + log_u - log_likelihood)
            log_beta[t - 1] = logsumexp_z'(log_P[s[t - 1], :, z'] + log_u[z'])
        for t in range(T):
            W[y[t]] += exp(log_alpha[t] + log_beta[t] - log_likelihood)
    """
    n_symbols, n_modes = tables.log_emissions.shape
    n_states = tables.log_transitions.shape[0]
    log_emissions = jnp.concatenate([tables.log_emissions, jnp.zeros((1, n_modes))])
    identity = jnp.where(jnp.eye(n_modes, dtype=bool), 0.0, -jnp.inf)
    log_transitions = jnp.concatenate([tables.log_transitions, identity[None]])
    symbols, states = jnp.asarray(chains.symbols), jnp.asarray(chains.states)
    weights = jnp.asarray(chains.weights, log_emissions.dtype)

    def forward(log_alpha: Float[Array, "chain mode"], step: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        previous_state, symbol = step
        moved = log_sum_exp(log_alpha[:, :, None] + log_transitions[previous_state], axis=1)
        joint = moved + log_emissions[symbol]
        increment = log_sum_exp(joint, axis=-1)
        log_alpha = joint - increment[:, None]
        return log_alpha, (log_alpha, increment)

    joint = jnp.asarray(tables.log_initial) + log_emissions[symbols[0]]
    first_increment = log_sum_exp(joint, axis=-1)
    first = joint - first_increment[:, None]
    _, (rest, increments) = jax.lax.scan(forward, first, (states[:-1], symbols[1:]))
    log_alpha = jnp.concatenate([first[None], rest])

    def backward(
        log_beta: Float[Array, "chain mode"], step: tuple[Array, Array, Array, Array]
    ) -> tuple[Array, tuple[Array, Array]]:
        previous_state, symbol, increment, previous_log_alpha = step
        log_u = log_emissions[symbol] + log_beta - increment[:, None]
        joint = log_transitions[previous_state] + log_u[:, None, :]
        pair = jnp.exp(previous_log_alpha[:, :, None] + joint)
        new = log_sum_exp(joint, axis=-1)
        return new, (new, pair)

    last = jnp.log(weights)[:, None] + jnp.zeros_like(first)  # counts are linear in β
    steps = (states[:-1], symbols[1:], increments, log_alpha[:-1])
    _, (rest, pairs) = jax.lax.scan(backward, last, steps, reverse=True)
    marginals = jnp.exp(log_alpha + jnp.concatenate([rest, last[None]]))

    return Counts(
        initial=jnp.sum(marginals[0], axis=0),
        transitions=jnp.zeros_like(log_transitions).at[states[:-1]].add(pairs)[:n_states],
        emissions=jnp.zeros_like(log_emissions).at[symbols].add(marginals)[:n_symbols],
        log_likelihood=jnp.sum(weights * first_increment) + jnp.sum(weights * increments),
    )
