"""The E-step as a parallel scan over time: the fast engine on a GPU, where a loop over time would wait for itself.

One step of the chain is a matrix M_t(z, z') = P[s_{t−1}, z, z'] e[y_t, z'], and messages are products of such
matrices, α_t ∝ α_0 M_1 ⋯ M_t and β_t ∝ M_{t+1} ⋯ M_T 1.  Products are associative, so all prefixes come out of
O(log T) rounds (`jax.lax.associative_scan`).  Each product is scaled to a largest entry of 1 and its logarithm kept
aside; like `numba_loop` it wants tables for which `numba_loop.suits`.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from swirl.inference.estep.counts import Counts, Tables
from swirl.inference.estep.scan import PaddedChains, probabilities

Scaled = tuple[Float[Array, "*n mode next_mode"], Float[Array, "*n"]]


def _rescale(matrix: Array, log_scale: Array) -> Scaled:
    largest = jnp.max(matrix, axis=(-2, -1))
    return matrix / largest[..., None, None], log_scale + jnp.log(largest)


def _multiply(left: Scaled, right: Scaled) -> Scaled:
    # Written out: K is small, and a batched matrix product of 3 × 3 is mostly overhead.
    product = jnp.sum(left[0][..., :, :, None] * right[0][..., None, :, :], axis=-2)
    return _rescale(product, left[1] + right[1])


def _follow(left: Scaled, right: Scaled) -> Scaled:
    """Multiply in the order of time when the scan runs backward."""
    return _multiply(right, left)


def expected_counts(tables: Tables, chains: PaddedChains) -> Counts:
    """Expected counts and log-likelihood for one restart; the plain loop it equals is in `scan.expected_counts`."""
    n_symbols = tables.log_emissions.shape[0]
    n_states = tables.log_transitions.shape[0]
    emissions, highest, transitions = probabilities(tables)
    symbols, states = jnp.asarray(chains.symbols), jnp.asarray(chains.states)
    weights = jnp.asarray(chains.weights, emissions.dtype)

    first = jnp.exp(tables.log_initial) * emissions[symbols[0]]
    steps = transitions[states[:-1]] * emissions[symbols[1:]][..., None, :]
    scaled = _rescale(steps, jnp.zeros(steps.shape[:-2]))
    prefix, log_scale = jax.lax.associative_scan(_multiply, scaled)
    suffix, _ = jax.lax.associative_scan(_follow, scaled, reverse=True)

    ones = jnp.ones_like(first)
    alpha = jnp.concatenate([first[None], jnp.einsum("nz,tnzy->tny", first, prefix)])
    beta = jnp.concatenate([jnp.sum(suffix, axis=-1), ones[None]])
    marginals = alpha * beta
    marginals = marginals * (weights / jnp.sum(marginals, axis=-1))[..., None]
    pairs = alpha[:-1, :, :, None] * steps * beta[1:, :, None, :]
    pairs = pairs * (weights / jnp.sum(pairs, axis=(-2, -1)))[..., None, None]
    # The padding's pairs fall on the identity's row, which is dropped.
    ends = jnp.log(jnp.sum(alpha[-1], axis=-1)) + log_scale[-1]
    log_likelihood = jnp.sum(weights * ends) + jnp.sum(weights * highest[symbols])
    return Counts(
        initial=jnp.sum(marginals[0], axis=0),
        transitions=jnp.zeros_like(transitions).at[states[:-1]].add(pairs)[:n_states],
        emissions=jnp.zeros_like(emissions).at[symbols].add(marginals)[:n_symbols],
        log_likelihood=log_likelihood,
    )
