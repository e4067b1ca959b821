"""The M-step: each component is improved given its own counts, so the whole never gets worse.

The auxiliary function G (paper Eqs. 1–4) is a sum of a term in p(z_1), a term in the policies and a
term in P_z, each of which sees the data through one table of counts (design.md#counts).
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from swirl.inference.estep.counts import Counts, LatentChoices, Tables
from swirl.precision import FloatArray
from swirl.rewards.component import EmissionComponent
from swirl.switching import Switching, log_normalise


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Parameters:
    """Everything that is fitted, as each component holds it."""

    log_initial: Float[FloatArray, "*restart mode"]
    switching: Any
    emissions: Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Components:
    """The parts of one model, with their priors."""

    emissions: EmissionComponent
    switching: Switching
    initial_pseudocount: Float[FloatArray, ""]
    latent: LatentChoices | None = None
    """Choices of the data that were not seen; None where all were, or nothing is known of them."""

    def random_parameters(self, rng: np.random.Generator, scale: float) -> Parameters:
        """Draw the starting point of one restart."""
        n_modes = self.emissions.n_modes
        return Parameters(
            log_initial=np.full(n_modes, -np.log(n_modes)),
            switching=self.switching.random_parameters(rng),
            emissions=self.emissions.random_parameters(rng, scale),
        )

    def warm_up(self) -> "Components | None":
        """The same model under a prior with fewer local optima, for the first steps; None where there is no need."""
        emissions = self.emissions.warm_up()
        return None if emissions is None else replace(self, emissions=emissions)

    def settled(self) -> "Components":
        """The same model with the M-steps that quasi-Newton steps want."""
        return replace(self, emissions=self.emissions.settled())

    @property
    def accelerated(self) -> bool:
        """Whether parameters may be extrapolated: wherever a point between and beyond others means something."""
        return self.emissions.extrapolates

    def free(self, parameters: Parameters) -> Parameters:
        """Return what quasi-Newton steps move, of one restart or of several."""
        return replace(parameters, emissions=self.emissions.free(parameters.emissions))

    def with_free(self, parameters: Parameters, free: Parameters) -> Parameters:
        """Return the parameters with what quasi-Newton steps move replaced."""
        return replace(free, emissions=self.emissions.with_free(parameters.emissions, free.emissions))

    def normalised(self, parameters: Parameters) -> Parameters:
        """Make probabilities sum to one again after an extrapolation."""
        return Parameters(
            log_initial=jax.nn.log_softmax(jnp.asarray(parameters.log_initial)),
            switching=self.switching.normalised(parameters.switching),
            emissions=parameters.emissions,
        )

    def tables(self, parameters: Parameters) -> Tables:
        """The hidden chain that the parameters stand for: what the E-step reads, latent choices included."""
        log_emissions = self.emissions.log_emissions(parameters.emissions)
        return Tables(
            log_initial=jnp.asarray(parameters.log_initial),
            log_transitions=self.switching.log_transitions(parameters.switching),
            log_emissions=log_emissions if self.latent is None else self.latent.extend(log_emissions),
        )

    def log_prior(self, parameters: Parameters) -> Float[Array, ""]:
        """Sum of the log-priors of all components, up to a constant."""
        return (
            jnp.asarray(self.initial_pseudocount) * jnp.sum(parameters.log_initial)
            + self.switching.log_prior(parameters.switching)
            + self.emissions.log_prior(parameters.emissions)
        )

    def emission_counts(self, parameters: Parameters, counts: Any) -> Float[Array, "symbol mode"]:
        """Expected counts of every choice, from the E-step's at the same `parameters`: latent ones are shared out."""
        if self.latent is None:
            return jnp.asarray(counts)
        return self.latent.resolve(self.emissions.log_emissions(parameters.emissions), counts)

    def improve(self, parameters: Parameters, counts: Counts) -> Parameters:
        """Raise G + log prior: one M-step, from the counts that the E-step found at `parameters`."""
        log_initial, switching = improve_chain(
            self.switching, self.initial_pseudocount, parameters.switching, counts.initial, counts.transitions
        )
        emissions = self.emissions.improve(parameters.emissions, self.emission_counts(parameters, counts.emissions))
        return Parameters(log_initial, switching, emissions)


def improve_chain(
    switching: Switching, initial_pseudocount: Any, parameters: Any, initial: Any, transitions: Any
) -> tuple[Float[Array, "mode"], Any]:
    """The M-step of p(z_1) and of P_z, from the counts of first modes and of transitions."""
    log_initial = log_normalise(jnp.asarray(initial) + initial_pseudocount)
    return log_initial, switching.improve(parameters, jnp.asarray(transitions))
