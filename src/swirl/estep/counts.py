"""What goes into an E-step and what comes out, whichever road computes it."""

from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np
from jaxtyping import Array, Float, Int

from swirl.estep.lanes import Lanes, arrange

FloatArray = Array | np.ndarray


@dataclass(frozen=True)
class Chains:
    """Observed symbols and states of all chains, end to end.

    A symbol equal to `n_symbols` says nothing about the mode: a missing action.
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
