"""IQ-Learn with a network for each mode: states are feature vectors, not labels (paper Appendix C; design.md#iq-learn).

The objective is that of `iq_learn`,

    Σ_t Σ_z γ_t(z) ( log π_z(a_t|x_t) − λ r_z(t)² / 2α ),      r_z(t) = Q_z(x_t, a_t) − γ V_z(x_{t+1}),

raised by scoring: in each mode the gradient on all steps is divided by the Fisher information of some of them, and the
step is shortened until the objective does not fall.  The weights of the penalty are those of the E-step before, so that
quasi-Newton steps, which leave them alone, climb an objective that stands still.  Every observed step is a symbol of
its own.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from swirl.precision import FloatArray
from swirl.rewards.component import RewardComponent

SAMPLE = 2048  # symbols that the information is of, about; the gradient is of all
DAMPING = 1e-6  # of the mean curvature, where there is no prior
SHORTEST = 1e-4  # of the whole step


class NetworkParameters(NamedTuple):
    """What EM moves: the weights, and the responsibilities that weigh the penalty."""

    weights: Any
    """A dict of arrays with a leading axis for the mode."""
    visits: Any
    """[mode, symbol], of the last E-step"""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class InverseQNetwork(RewardComponent):
    """The component of the model for Q(x, a) from one hidden layer of tanh units in each mode."""

    inputs: Float[FloatArray, "step feature"]
    """What the networks see of every step."""
    rows: Int[FloatArray, "symbol"]
    """Step of each symbol."""
    actions: Int[FloatArray, "symbol"]
    has_next: Bool[FloatArray, "symbol"]
    """Whether the next step continues the same chain, so that the symbol has a reward."""
    discount: Float[FloatArray, ""]
    temperature: Float[FloatArray, "mode"]
    strength: Float[FloatArray, ""]
    """λ of ½ λ r² per visit; ½ is IQ-Learn's φ(x) = x − x²/4."""
    decay: Float[FloatArray, ""]
    """Precision of the normal prior on the weights."""
    n_actions: int = field(metadata={"static": True})
    hidden: int = field(metadata={"static": True})
    objective_may_decrease: ClassVar[bool] = True

    @property
    def worth_a_core(self) -> bool:
        """Always."""
        return True

    def free(self, parameters: NetworkParameters) -> Any:
        """Return the weights."""
        return parameters.weights

    def with_free(self, parameters: NetworkParameters, free: Any) -> NetworkParameters:
        """Return the parameters with other weights."""
        return parameters._replace(weights=free)

    def random_parameters(self, rng: np.random.Generator, scale: float) -> NetworkParameters:
        """Networks to start a restart from; `scale` is the standard deviation of their logits Q/α, roughly."""
        n_features = self.inputs.shape[1]
        size = scale * np.asarray(self.temperature)[:, None, None] / np.sqrt(self.hidden)
        shape = (self.n_modes, n_features, self.hidden)
        weights = {
            "input": rng.standard_normal(shape) / np.sqrt(n_features),
            "bias": 0.1 * rng.standard_normal((self.n_modes, self.hidden)),
            "output": size * rng.standard_normal((self.n_modes, self.hidden, self.n_actions)),
            "level": np.zeros((self.n_modes, self.n_actions)),
        }
        return NetworkParameters(weights, np.zeros((self.n_modes, len(self.rows))))

    def q_values(self, weights: Any, inputs: Float[FloatArray, "row feature"]) -> Float[Array, "row action"]:
        """Q(x, a) of one mode's network, in units of reward."""
        units = jnp.tanh(jnp.asarray(inputs) @ weights["input"] + weights["bias"])
        return units @ weights["output"] + weights["level"]

    def step_terms(self, weights: Any, temperature: Array, symbols: Int[Array, "row"]) -> tuple[Array, Array]:
        """Log π(a|x) and r = Q − γ V(x') of some symbols in one mode; r = 0 where there is no next step."""
        rows = jnp.asarray(self.rows)[symbols]
        last = jnp.asarray(self.inputs).shape[0] - 1
        q = self.q_values(weights, jnp.asarray(self.inputs)[rows])
        after = self.q_values(weights, jnp.asarray(self.inputs)[jnp.minimum(rows + 1, last)])
        chosen = jnp.take_along_axis(q, jnp.asarray(self.actions)[symbols][:, None], axis=1)[:, 0]
        values, next_values = (temperature * jax.nn.logsumexp(x / temperature, axis=-1) for x in (q, after))
        r = jnp.where(jnp.asarray(self.has_next)[symbols], chosen - self.discount * next_values, 0.0)
        return (chosen - values) / temperature, r

    def log_emissions(self, parameters: NetworkParameters) -> Float[Array, "symbol mode"]:
        """Log π_z(a|x) of each symbol."""
        everything = jnp.arange(len(self.rows))

        def one(mode: tuple) -> Array:
            weights, temperature = mode
            return self.step_terms(weights, temperature, everything)[0]

        return jax.lax.map(one, (parameters.weights, jnp.asarray(self.temperature))).T

    def fitted(self, parameters: NetworkParameters) -> Any:
        """The networks' weights: rewards are of steps (`step_terms`)."""
        return parameters.weights

    def log_prior(self, parameters: NetworkParameters) -> Float[Array, ""]:
        """Minus IQ-Learn's penalty, plus the log-density of the prior on the weights, up to a constant."""

        def one(mode: tuple) -> Array:
            weights, temperature, visits = mode
            return self.mode_objective(weights, temperature, jnp.zeros_like(visits), visits)

        modes = (parameters.weights, jnp.asarray(self.temperature), jnp.asarray(parameters.visits))
        return jnp.sum(jax.lax.map(one, modes))

    def mode_objective(
        self, weights: Any, temperature: Array, counts: Float[Array, "symbol"], visits: Float[Array, "symbol"]
    ) -> Float[Array, ""]:
        """Σ counts · log π − ½ λ/α Σ visits · r² + log prior of one mode."""
        log_pi, r = self.step_terms(weights, temperature, jnp.arange(len(self.rows)))
        penalty = jnp.sum(visits * r**2) * (0.5 * self.strength / temperature)
        size = jnp.sum(jnp.stack([jnp.sum(leaf**2) for leaf in jax.tree.leaves(weights)]))
        return jnp.sum(counts * log_pi) - penalty - 0.5 * self.decay * size

    def _information(
        self, flat: Float[Array, "number"], unravel: Any, temperature: Array, counts: Array, visits: Array
    ) -> Float[Array, "number number"]:
        """Curvature of one mode's objective from the slopes of log π and r at some symbols, and the prior."""
        n = len(self.rows)
        some = np.arange(0, n, -(-n // SAMPLE))

        def terms(flat: Array, symbol: Array) -> Array:
            return jnp.concatenate(self.step_terms(unravel(flat), temperature, symbol[None]))

        slopes = jax.vmap(jax.jacrev(terms), (None, 0))(flat, some)  # [symbol, term, number]
        weigh = jnp.stack([counts[some], self.strength / temperature * visits[some]], axis=1) * (n / len(some))
        rows = (slopes * jnp.sqrt(weigh)[..., None]).reshape(-1, len(flat))
        curvature = rows.T @ rows
        own = jnp.trace(curvature) / len(flat)
        return curvature + (self.decay + DAMPING * own) * jnp.eye(len(flat))

    def improve(self, parameters: NetworkParameters, counts: Float[Array, "symbol mode"]) -> NetworkParameters:
        """One step of scoring in each mode, which does not lower its objective."""

        def one(mode: tuple) -> Any:
            weights, temperature, counts, visits = mode
            flat, unravel = ravel_pytree(weights)

            def objective(flat: Array) -> Array:
                return self.mode_objective(unravel(flat), temperature, counts, visits)

            before, slope = jax.value_and_grad(objective)(flat)
            information = self._information(flat, unravel, temperature, counts, visits)
            step = jax.scipy.linalg.solve(information, slope, assume_a="pos")

            def falls(trial: tuple) -> Array:
                length, after = trial
                return ~(after >= before) & (length > SHORTEST)

            def shorter(trial: tuple) -> tuple:
                length = trial[0] / 4
                return length, objective(flat + length * step)

            length, after = jax.lax.while_loop(falls, shorter, (jnp.ones(()), objective(flat + step)))
            return unravel(jnp.where(after >= before, flat + length * step, flat))

        modes = (parameters.weights, jnp.asarray(self.temperature), counts.T, jnp.asarray(parameters.visits))
        return NetworkParameters(jax.lax.map(one, modes), counts.T)
