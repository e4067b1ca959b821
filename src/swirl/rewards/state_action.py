"""Free rewards on histories and actions, r(h, a): every policy is some reward's (design.md#exact-solver).

The M-step is then smoothed counts, π = (W + c) / Σ(W + c) under a Dirichlet prior, or a multinomial logit
under a Gaussian prior on the logits, which can back off to shorter histories.  The reward follows as

    r(h,a) = α log π(a|h) + V(h) − γ E[V(h')|h,a]      for any V;

the fitted gauge is V = 0, so that the reward is the advantage.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from swirl.data.histories import Histories
from swirl.optimise import Penalty, masked_log_softmax, maximise_logit
from swirl.precision import FloatArray
from swirl.priors import Dirichlet, Gaussian
from swirl.rewards.backoff import BackoffPenalty
from swirl.rewards.component import Footprint, ProblemSizes, RewardComponent


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StateActionReward(RewardComponent):
    """The component of the model for r(h, a); its parameters are logits of the policies."""

    available: Bool[FloatArray, "history action"]
    temperature: Float[FloatArray, "mode"]
    pseudocount: Float[FloatArray, ""]
    """Of the Dirichlet prior; 0 when the prior is Gaussian."""
    penalty: BackoffPenalty | None
    """Of the Gaussian prior, for each action's logits."""

    @classmethod
    def build(
        cls,
        histories: Histories,
        prior: Dirichlet | Gaussian,
        *,
        temperature: Float[np.ndarray, "mode"],
        available: Bool[np.ndarray, "history option"] | None = None,
    ) -> "StateActionReward":
        """Collect what the M-step needs from the histories and the prior.

        `available` says what can be chosen at each history; by default the actions of the environment.
        """
        gaussian = isinstance(prior, Gaussian)
        return cls(
            np.asarray(histories.successors.available if available is None else available),
            np.asarray(temperature, dtype=float),
            np.asarray(0.0 if gaussian else prior.pseudocount),
            BackoffPenalty.build(histories, prior) if gaussian else None,
        )

    @staticmethod
    def footprint(s: ProblemSizes) -> Footprint:
        """The memory that it adds."""
        return Footprint(s.n_histories, 2 * s.n_restarts * s.n_modes * s.n_histories * s.n_actions)

    def random_parameters(self, rng: np.random.Generator, scale: float) -> Float[np.ndarray, "mode history action"]:
        """Logits to start a restart from, with standard deviation `scale`."""
        return scale * rng.standard_normal((self.n_modes, *self.available.shape))

    def log_policy(self, logits: Float[Array, "mode history action"]) -> Float[Array, "mode history action"]:
        """Log π_z(a|h); −∞ where the action is not available."""
        available = jnp.asarray(self.available)
        return jnp.where(available, masked_log_softmax(logits, available), -jnp.inf)

    def log_emissions(self, logits: Float[Array, "mode history action"]) -> Float[Array, "symbol mode"]:
        """Log π_z(a|h) as a table of symbols (history · n_actions + action)."""
        return self.log_policy(logits).reshape(self.n_modes, -1).T

    def fitted(self, logits: Float[Array, "mode history action"]) -> Float[Array, "mode history action"]:
        """r(h, a) = α log π(a|h), the gauge with V = 0; NaN where the action is not available."""
        log_pi = self.log_policy(logits)
        return jnp.where(self.available, jnp.asarray(self.temperature)[:, None, None] * log_pi, jnp.nan)

    def log_prior(self, logits: Float[Array, "mode history action"]) -> Float[Array, ""]:
        """Log-density of the prior, up to a constant."""
        if self.penalty is None:
            log_pi = self.log_policy(logits)
            return jnp.asarray(self.pseudocount) * jnp.sum(jnp.where(self.available, log_pi, 0.0))
        masked = jnp.where(self.available, logits, 0.0)
        return -jnp.sum(jax.vmap(jax.vmap(self.penalty.penalty, in_axes=-1))(masked))

    def improve(
        self, logits: Float[Array, "mode history action"], counts: Float[Array, "symbol mode"]
    ) -> Float[Array, "mode history action"]:
        """Maximise Σ W log π + log prior: the M-step of the policies (paper Eq. 3)."""
        counts = counts.T.reshape(self.n_modes, *self.available.shape)
        if self.penalty is None:
            return jnp.where(self.available, jnp.log(counts + self.pseudocount), 0.0)
        return jax.vmap(self._improve_mode)(logits, counts)

    def _improve_mode(
        self, logits: Float[Array, "history action"], counts: Float[Array, "history action"]
    ) -> Float[Array, "history action"]:
        penalty = self.penalty
        if penalty is None:
            raise ValueError("only a Gaussian prior needs an optimiser")
        available = jnp.asarray(self.available)
        product = jax.vmap(penalty.product, in_axes=-1, out_axes=-1)

        def prior(x: Array) -> Penalty:
            return Penalty(jnp.sum(jax.vmap(penalty.penalty, in_axes=-1)(x)), product(x), product)

        return maximise_logit(
            lambda x: x,
            counts,
            jnp.where(available, logits, 0.0),
            penalty=prior,
            diagonal=lambda spread: spread + jnp.asarray(penalty.leaf_precisions)[:, None],
            available=available,
            max_steps=5,
            max_cg_steps=50,
        )


CategoricalEmissions = StateActionReward
"""The same table of free probabilities, where the choices are next states: the emissions of an ARHMM."""
