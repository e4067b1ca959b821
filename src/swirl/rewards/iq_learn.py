"""IQ-Learn in each mode: Q(h, a) from steps alone, no transition model (paper Appendix C; design.md#iq-learn).

The paper maximises, with φ(x) = x − x²/4 and V = α log Σ_a exp(Q/α),

    Σ_t Σ_z γ_t(z) ( φ(Q_z(h_t,a_t) − γ V_z(h_{t+1})) − (V_z(h_t) − γ V_z(h_{t+1})) )
  = Σ_t Σ_z γ_t(z) ( α log π_z(a_t|h_t) − ¼ r_z(t)² ),        r_z(t) = Q_z(h_t,a_t) − γ V_z(h_{t+1}),

so it is a penalised likelihood: the reward of each step, along the successor that was sampled, is shrunk once per
visit.  A step is a *symbol* (h, a, h'); the last one of a segment has no successor, and no reward to shrink.

The responsibilities γ_t(z) are those of the policies, as in the paper.  The penalty is weighted by them, so it changes
from one E-step to the next and the objective, log-likelihood − ½ λ Σ γ r² + log prior, may fall a little on its way.
(With exp(−r²/4α) in the E-step as well it would not; measured on the gridworld, modes are then told apart
by the size of their rewards: accuracy 52 % instead of 87 %.)

Data say nothing of actions never taken: a weak prior on the advantages, with back-off, keeps Q finite there.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from swirl.optimise import HIDDEN, newton_cg
from swirl.precision import FloatArray
from swirl.rewards.backoff import BackoffPenalty
from swirl.rewards.component import RewardComponent

RIDGE = 1e-3  # on Q/α: holds the level of a history that no step touches


class QParameters(NamedTuple):
    """What EM moves: Q, and the responsibilities that weigh the penalty."""

    q: Any
    """[mode, history, action]"""
    visits: Any
    """[mode, symbol], of the last E-step"""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class InverseQ(RewardComponent):
    """The component of the model for Q(h, a)."""

    objective_may_decrease: ClassVar[bool] = True
    extrapolates: ClassVar[bool] = False  # the penalty's weights move with every E-step

    histories: Int[FloatArray, "symbol"]
    actions: Int[FloatArray, "symbol"]
    following: Int[FloatArray, "symbol"]
    """The next history; any valid one where there is none."""
    has_next: Bool[FloatArray, "symbol"]
    available: Bool[FloatArray, "history action"]
    penalty: BackoffPenalty
    """Prior on the advantages."""
    discount: Float[FloatArray, ""]
    temperature: Float[FloatArray, "mode"]
    strength: Float[FloatArray, ""]
    """λ of ½ λ r² per visit; ½ is IQ-Learn's φ(x) = x − x²/4."""

    @property
    def worth_a_core(self) -> bool:
        """Always."""
        return True

    def random_parameters(self, rng: np.random.Generator, scale: float) -> QParameters:
        """Q to start a restart from, with standard deviation `scale` in units of logits."""
        draws = rng.standard_normal((self.n_modes, *self.available.shape))
        q = scale * np.asarray(self.temperature)[:, None, None] * draws
        return QParameters(q, np.zeros((self.n_modes, len(self.histories))))

    def _soft(self, q: Float[Array, "history action"], temperature: Array) -> tuple[Array, Array]:
        """V(h) and log π(a|h), the latter 0 where an action is not available."""
        available = jnp.asarray(self.available)
        scaled = jnp.where(available, q / temperature, HIDDEN)
        values = jax.nn.logsumexp(scaled, axis=-1)
        return temperature * values, jnp.where(available, scaled - values[..., None], 0.0)

    def step_rewards(self, q: Float[Array, "history action"], temperature: Array) -> Float[Array, "symbol"]:
        """r = Q(h, a) − γ V(h') of each symbol, 0 where it has no successor."""
        return self._rewards_of_steps(q, self._soft(q, temperature)[0])

    def _rewards_of_steps(self, q: Float[Array, "history action"], values: Array) -> Float[Array, "symbol"]:
        r = q[self.histories, self.actions] - self.discount * values[self.following]
        return jnp.where(self.has_next, r, 0.0)

    def log_emissions(self, parameters: QParameters) -> Float[Array, "symbol mode"]:
        """Log π_z(a|h) of each symbol."""
        _, log_pi = jax.vmap(self._soft)(parameters.q, jnp.asarray(self.temperature))
        return log_pi[:, self.histories, self.actions].T

    def fitted(self, parameters: QParameters) -> Float[Array, "mode history action"]:
        """Q itself: the reward needs successors, which the estimator has."""
        return parameters.q

    def _advantages(self, q: Float[Array, "history action"], temperature: Array) -> Float[Array, "history action"]:
        """(Q − its mean over available actions) / α, 0 where an action is not available: linear in Q."""
        available = jnp.asarray(self.available)
        q = jnp.where(available, q / temperature, 0.0)
        mean = jnp.sum(q, axis=-1, keepdims=True) / jnp.sum(available, axis=-1, keepdims=True)
        return jnp.where(available, q - mean, 0.0)

    def _log_prior(self, q: Float[Array, "history action"], temperature: Array) -> Float[Array, ""]:
        shrunk = jax.vmap(self.penalty.penalty, in_axes=-1)(self._advantages(q, temperature))
        level = jnp.where(self.available, q / temperature, 0.0)
        return -jnp.sum(shrunk) - 0.5 * RIDGE * jnp.sum(level**2)

    def _penalty(self, q: Float[Array, "history action"], visits: Array, temperature: Array) -> Float[Array, ""]:
        """½ λ/α Σ γ r²."""
        return jnp.sum(visits * self.step_rewards(q, temperature) ** 2) * (0.5 * self.strength / temperature)

    def log_prior(self, parameters: QParameters) -> Float[Array, ""]:
        """Minus IQ-Learn's penalty, plus the log-density of the prior on advantages, up to a constant."""
        temperature = jnp.asarray(self.temperature)
        prior = jax.vmap(self._log_prior)(parameters.q, temperature)
        return jnp.sum(prior - jax.vmap(self._penalty)(*parameters, temperature))

    def improve(self, parameters: QParameters, counts: Float[Array, "symbol mode"]) -> QParameters:
        """Raise Σ γ (log π − λ r²/2α) + log prior: IQ-Learn's objective in place of Eq. 3."""
        q = jax.vmap(self._improve_mode)(parameters.q, counts.T, jnp.asarray(self.temperature))
        return QParameters(q, counts.T)

    def _improve_mode(
        self, q: Float[Array, "history action"], counts: Float[Array, "symbol"], temperature: Array
    ) -> Float[Array, "history action"]:
        # Not `maximise_logit`: the penalty is on V(h'), so its value, slope and scale need the policy as well.
        available = jnp.asarray(self.available)
        totals = jnp.zeros(available.shape[0]).at[self.histories].add(counts)[:, None]
        taken = jnp.zeros(available.shape).at[self.histories, self.actions].add(counts)
        weight = jnp.where(self.has_next, counts, 0.0) * self.strength / temperature

        def pull(pi: Array, v: Array) -> Array:
            """Of each symbol's reward onto Q: ∂r/∂Q = 1[h, a] − γ π(·|h') 1[h']."""
            onward = jnp.zeros(available.shape[0]).at[self.following].add(v)[:, None]
            return jnp.zeros(available.shape).at[self.histories, self.actions].add(v) - self.discount * pi * onward

        def prior_gradient(x: Array) -> Array:
            shrunk = jax.vmap(self.penalty.product, in_axes=-1, out_axes=-1)(self._advantages(x, temperature))
            return self._advantages(shrunk, temperature) + jnp.where(available, RIDGE * x, 0.0) / temperature**2

        def function(x: Array) -> tuple[Array, Array, Array]:
            values, log_pi = self._soft(x, temperature)
            pi = jnp.where(available, jnp.exp(log_pi), 0.0)
            r = self._rewards_of_steps(x, values)
            slope = prior_gradient(x)
            value = 0.5 * jnp.sum(weight * r**2) - jnp.sum(taken * log_pi) + 0.5 * jnp.vdot(x, slope)
            return value, (totals * pi - taken) / temperature + pull(pi, weight * r) + slope, pi

        def curvature(pi: Array):
            """Gauss–Newton: the multinomial's, the squared rewards', and the prior's; and its diagonal."""

            def product(d: Array) -> Array:
                mean = jnp.sum(pi * d, axis=-1)
                push = d[self.histories, self.actions] - self.discount * mean[self.following]
                spread = totals * pi * (d - mean[:, None]) / temperature**2
                return spread + pull(pi, weight * push) + prior_gradient(d)

            multinomial = totals * pi * (1 - pi) / temperature**2
            own = multinomial + at_pair + (self.discount * pi) ** 2 * at_next + shrunk + RIDGE / temperature**2
            return product, own

        at_pair = jnp.zeros(available.shape).at[self.histories, self.actions].add(weight)
        at_next = jnp.zeros(available.shape[0]).at[self.following].add(weight)[:, None]
        shrunk = jnp.asarray(self.penalty.leaf_precisions)[:, None] / temperature**2

        start = jnp.where(available, q, 0.0)
        return newton_cg(function, curvature, start, tol=1e-7, max_steps=1, max_cg_steps=60).x
