"""IQ-Learn with a network for each mode: states are feature vectors, not labels (paper Appendix C; design.md#iq-learn).

The objective is that of `iq_learn`,

    Σ_t Σ_z γ_t(z) ( log π_z(a_t|x_t) − λ r_z(t)² / 2α ),      r_z(t) = Q_z(x_t, a_t) − γ V_z(x_{t+1}),

raised by minibatches: each M-step takes some steps of Adam on random steps of the recording.  It keeps what they
came to only if the objective on all steps has risen, and halves the learning rate where it has not.  Every observed
step is a symbol of its own.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int

from swirl.precision import FloatArray
from swirl.rewards.component import RewardComponent

RATE = 3e-3


class NetworkParameters(NamedTuple):
    """What EM moves: weights with a leading axis for the mode, and the optimiser's memory."""

    weights: Any
    moments: Any
    key: Any
    rate: Any
    visits: Any
    """[mode, symbol], responsibilities of the last E-step"""


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
    batch_size: int = field(metadata={"static": True})
    n_batches: int = field(metadata={"static": True})
    objective_may_decrease: ClassVar[bool] = True
    noise: ClassVar[float] = 1e-5

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
        moments = jax.tree.map(np.asarray, optax.scale_by_adam().init(weights))
        key = rng.integers(2**32, size=2, dtype=np.uint32)
        return NetworkParameters(weights, moments, key, np.asarray(RATE), np.zeros((self.n_modes, len(self.rows))))

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

    def _log_prior(self, weights: Any) -> Float[Array, ""]:
        return jnp.sum(jnp.stack([jnp.sum(leaf**2) for leaf in jax.tree.leaves(weights)])) * (-0.5 * self.decay)

    def log_prior(self, parameters: NetworkParameters) -> Float[Array, ""]:
        """Minus IQ-Learn's penalty, plus the log-density of the prior on the weights, up to a constant."""
        everything = jnp.arange(len(self.rows))

        def one(mode: tuple) -> Array:
            weights, temperature, visits = mode
            _, r = self.step_terms(weights, temperature, everything)
            return jnp.sum(visits * r**2) * (0.5 * self.strength / temperature)

        modes = (parameters.weights, jnp.asarray(self.temperature), jnp.asarray(parameters.visits))
        return self._log_prior(parameters.weights) - jnp.sum(jax.lax.map(one, modes))

    def _loss(self, weights: Any, counts: Float[Array, "mode symbol"], symbols: Int[Array, "row"]) -> Float[Array, ""]:
        """Minus the objective on some symbols, with the prior's share of them."""

        def one(weights: Any, temperature: Array, visits: Array) -> Array:
            log_pi, r = self.step_terms(weights, temperature, symbols)
            return jnp.sum(visits[symbols] * (log_pi - 0.5 * self.strength / temperature * r**2))

        fit = jax.vmap(one)(weights, jnp.asarray(self.temperature), counts)
        return -jnp.sum(fit) - self._log_prior(weights) * (symbols.shape[0] / len(self.rows))

    def improve(self, parameters: NetworkParameters, counts: Float[Array, "symbol mode"]) -> NetworkParameters:
        """Some steps of Adam on minibatches, kept if the objective on all steps has risen."""
        counts, n_symbols = counts.T, len(self.rows)
        batch = min(self.batch_size, n_symbols)
        adam = optax.scale_by_adam()
        everything = jnp.arange(n_symbols)

        def advance(carry: tuple, key: Array) -> tuple[tuple, None]:
            weights, moments = carry
            symbols = jax.random.randint(key, (batch,), 0, n_symbols)
            gradient = jax.grad(self._loss)(weights, counts, symbols)
            mean = jax.tree.map(lambda leaf: leaf / batch, gradient)
            updates, moments = adam.update(mean, moments)
            return (jax.tree.map(lambda w, u: w - parameters.rate * u, weights, updates), moments), None

        keys = jax.random.split(jnp.asarray(parameters.key), self.n_batches + 1)
        start = (parameters.weights, parameters.moments)
        (weights, moments), _ = jax.lax.scan(advance, start, keys[1:])
        better = self._loss(weights, counts, everything) < self._loss(parameters.weights, counts, everything)
        kept, moments = jax.tree.map(lambda new, old: jnp.where(better, new, old), (weights, moments), start)
        rate = jnp.where(better, parameters.rate, parameters.rate / 2)
        return NetworkParameters(kept, moments, keys[0], rate, counts)
