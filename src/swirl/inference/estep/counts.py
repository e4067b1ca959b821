"""What goes into an E-step and what comes out, whichever engine computes it."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from swirl.inference.estep.batching import Lanes, arrange
from swirl.precision import FloatArray


@dataclass(frozen=True)
class Chains:
    """Observed symbols and states of all chains, end to end.

    A symbol equal to `n_symbols` says nothing about the mode: neither the choice nor where it led was seen.
    """

    symbols: Int[np.ndarray, "step"]
    states: Int[np.ndarray, "step"]
    offsets: Int[np.ndarray, "chain_plus_one"]
    n_symbols: int
    n_states: int
    times: Int[np.ndarray, "chain"] | None = None
    """How often each chain counts, 0 or more; None: once. A resample of chains without copying them."""

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self.offsets) - 1

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.symbols)

    @property
    def n_observed(self) -> int:
        """Number of steps that say something."""
        return int(np.sum(self.symbols < self.n_symbols))

    @property
    def arranged(self) -> "Arranged":
        """What an E-step on the CPU reads."""
        return Arranged(self.lanes, self.symbol_counts)

    @cached_property
    def lanes(self) -> tuple[Lanes, ...]:
        """The chains arranged to be walked several at a time."""
        return arrange(
            self.symbols, self.states, self.offsets, n_symbols=self.n_symbols, n_states=self.n_states, times=self.times
        )

    @cached_property
    def symbol_counts(self) -> Int[np.ndarray, "symbol"] | Float[np.ndarray, "symbol"]:
        """How often each symbol was seen."""
        times = None if self.times is None else np.repeat(self.times, np.diff(self.offsets))
        return np.bincount(self.symbols, weights=times, minlength=self.n_symbols + 1)[:-1]


class Arranged(NamedTuple):
    """Chains as the CPU walks them, and how often each symbol was seen."""

    lanes: tuple[Lanes, ...]
    symbol_counts: Int[np.ndarray, "symbol"] | Float[np.ndarray, "symbol"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tables:
    """Parameters of the hidden chain as log-probabilities, one row of `restart` per fit running."""

    log_initial: Float[FloatArray, "*restart mode"]
    log_transitions: Float[FloatArray, "*restart state mode next_mode"]
    log_emissions: Float[FloatArray, "*restart symbol mode"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Counts:
    """Expected counts given the data, and the log-likelihood of the data.

    initial     N_1[z]      = Σ over chain starts of γ_1(z)
    transitions X[s, z, z'] = Σ_t ξ_t(z, z') 1[s_t = s]
    emissions   W[y, z]     = Σ_t γ_t(z) 1[y_t = y]
    """

    initial: Float[FloatArray, "*restart mode"]
    transitions: Float[FloatArray, "*restart state mode next_mode"]
    emissions: Float[FloatArray, "*restart symbol mode"]
    log_likelihood: Float[FloatArray, "*restart"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LatentChoices:
    """Choices that were not seen although where they led was: symbols of their own, after those of the seen ones.

    With y running over the symbols that the latent choice m may have been, and P_y the probability that y leads to
    where the step led,

        e_m(z) = Σ_y e_y(z) P_y        W[y, z] = Σ_t γ_t(z) 1[y_t = y] + Σ_m W[m, z] e_y(z) P_y / e_m(z)
    """

    symbols: Int[FloatArray, "latent way"]
    log_reach: Float[FloatArray, "latent way"]
    """log P_y; −∞ where a latent choice has fewer ways than others."""

    def _ways(self, log_emissions: Float[FloatArray, "symbol mode"]) -> Float[Array, "latent way mode"]:
        return jnp.asarray(log_emissions)[jnp.asarray(self.symbols)] + jnp.asarray(self.log_reach)[..., None]

    def extend(self, log_emissions: Float[FloatArray, "symbol mode"]) -> Float[Array, "all_symbols mode"]:
        """Add the latent choices' rows to a table of emissions."""
        return jnp.concatenate([jnp.asarray(log_emissions), log_sum_exp(self._ways(log_emissions), axis=1)])

    def resolve(
        self, log_emissions: Float[FloatArray, "symbol mode"], counts: Float[FloatArray, "all_symbols mode"]
    ) -> Float[Array, "symbol mode"]:
        """Share the counts of the latent choices among what they may have been."""
        seen, unseen = jnp.split(jnp.asarray(counts), [log_emissions.shape[0]])
        ways = self._ways(log_emissions)
        total = log_sum_exp(ways, axis=1)[:, None]
        shares = jnp.where(ways > -jnp.inf, jnp.exp(ways - jnp.where(jnp.isfinite(total), total, 0.0)), 0.0)
        return seen.at[jnp.asarray(self.symbols)].add(unseen[:, None] * shares)


def log_sum_exp(x: Float[Array, "..."], axis: int) -> Float[Array, "..."]:
    """log Σ exp x that stays −∞ where all terms are −∞; its slope is then 0. Neither is ever NaN."""
    highest = jax.lax.stop_gradient(jnp.max(x, axis=axis, keepdims=True))
    highest = jnp.where(jnp.isfinite(highest), highest, 0.0)
    total = jnp.sum(jnp.exp(x - highest), axis=axis)
    log_total = jnp.log(jnp.where(total > 0, total, 1.0)) + jnp.squeeze(highest, axis)
    return jnp.where(total > 0, log_total, -jnp.inf)
