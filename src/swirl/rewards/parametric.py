"""Rewards of any form, fitted by planning: the paper's solver (Algorithm 1) made exact.

The soft fixed point is solved to a tolerance and differentiated implicitly (`soft_q.soft_values`), where
the authors back-propagate through 100 sweeps.  Needed for parametric rewards; for free rewards it is the
oracle of the exact solver in `state`.

Only r/α shapes behaviour, so starts, planning and optimisation are all in units of the temperature: (α, λ) and
(c α, λ/c²) are one model, with the same trace of objectives from the same seed.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from swirl.data.histories import Histories
from swirl.data.successors import Successors
from swirl.optimise import lbfgs, masked_log_softmax
from swirl.precision import FloatArray
from swirl.priors import Gaussian
from swirl.rewards.backoff import BackoffPenalty
from swirl.rewards.component import Footprint, ProblemSizes, RewardComponent
from swirl.rewards.soft_q import log_policy_from_values, q_values, soft_values, uniform_expected_next

Weights = dict[str, Any]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LinearMap:
    """r = features · w."""

    features: Float[FloatArray, "history *action feature"]

    def random(self, rng: np.random.Generator, scale: float) -> Weights:
        """Small random weights."""
        return {"weights": scale * rng.standard_normal(self.features.shape[-1])}

    def rewards(self, weights: Weights) -> Float[Array, "history *action"]:
        """Rewards of one mode."""
        return self.features @ weights["weights"]

    def scaled(self, weights: Weights, by: Any) -> Weights:
        """Weights whose rewards are `by` times as great."""
        return {"weights": by * weights["weights"]}

    def squares(self, weights: Weights, temperature: Array) -> Float[Array, ""]:
        """Sum of squares that the prior is on, in units of reward squared."""
        return jnp.sum(weights["weights"] ** 2)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NetworkMap:
    """r(h) = Σ_u o_u tanh( b_u + Σ_l features[s_{t−l}] · W_lu ); states before the start are silent."""

    table: Int[FloatArray, "history length"]
    features: Float[FloatArray, "state feature"]
    hidden: int = field(metadata={"static": True})

    def random(self, rng: np.random.Generator, scale: float) -> Weights:
        """Random weights, scaled by the number of inputs of each unit."""
        shape = (self.table.shape[1], self.features.shape[1], self.hidden)
        return {
            "input": scale * rng.standard_normal(shape) / np.sqrt(shape[0]),
            "bias": np.zeros(self.hidden),
            "output": scale * rng.standard_normal(self.hidden) / np.sqrt(self.hidden),
        }

    def rewards(self, weights: Weights) -> Float[Array, "history"]:
        """Rewards of one mode."""
        seen = jnp.einsum("sf,lfu->lsu", self.features, weights["input"])
        total = weights["bias"]
        for lag in range(self.table.shape[1]):
            known = (self.table[:, lag] >= 0)[:, None]
            total = total + jnp.where(known, seen[lag][jnp.maximum(self.table[:, lag], 0)], 0.0)
        return jnp.tanh(total) @ weights["output"]

    def scaled(self, weights: Weights, by: Any) -> Weights:
        """Weights whose rewards are `by` times as great: those inside tanh have no unit."""
        return {**weights, "output": by * weights["output"]}

    def squares(self, weights: Weights, temperature: Array) -> Float[Array, ""]:
        """Sum of squares that the prior is on, in units of reward squared: α stands for 1 inside tanh."""
        inside = jnp.sum(weights["input"] ** 2) + jnp.sum(weights["bias"] ** 2)
        return jnp.sum(weights["output"] ** 2) + temperature**2 * inside


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TabularMap:
    """r(h) = a weight for each history."""

    n_histories: int = field(metadata={"static": True})

    def scaled(self, weights: Weights, by: Any) -> Weights:
        """Weights whose rewards are `by` times as great."""
        return {"weights": by * weights["weights"]}

    def squares(self, weights: Weights, temperature: Array) -> Float[Array, ""]:
        """Sum of squares, in units of reward squared."""
        return jnp.sum(weights["weights"] ** 2)

    def random(self, rng: np.random.Generator, scale: float) -> Weights:
        """Small random rewards."""
        return {"weights": scale * rng.standard_normal(self.n_histories)}

    def rewards(self, weights: Weights) -> Float[Array, "history"]:
        """Rewards of one mode."""
        return weights["weights"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PlannedRewards(RewardComponent):
    """The component of the model for rewards that need planning; its parameters are weights."""

    successors: Successors
    form: LinearMap | NetworkMap | TabularMap
    strength: Float[FloatArray, ""]
    penalty: BackoffPenalty | None
    """For free rewards: the same penalty as for the exact solver. None: ½ λ ‖w‖² on the weights (`squares`)."""
    discount: Float[FloatArray, ""]
    temperature: Float[FloatArray, "mode"]
    linearised: bool = field(metadata={"static": True})
    max_steps: int = field(default=20, metadata={"static": True})
    tol: float = field(default=1e-6, metadata={"static": True})

    @property
    def worth_a_core(self) -> bool:
        """Always: it plans."""
        return True

    @classmethod
    def build(
        cls,
        histories: Histories,
        form: "LinearMap | NetworkMap | TabularMap",
        prior: Gaussian,
        *,
        discount: float,
        temperature: Float[np.ndarray, "mode"],
    ) -> "PlannedRewards":
        """Collect what planning needs from the histories, the form and the prior."""
        free = isinstance(form, TabularMap)
        if prior.backoff is not None and not free:
            name = type(form).__name__.removesuffix("Map")
            raise ValueError(
                f"backoff={prior.backoff!r}: rewards.{name} has weights, not histories, to shrink; use backoff=None"
            )
        penalty = BackoffPenalty.build(histories, prior) if free else None
        return cls(
            histories.successors,
            form,
            np.asarray(prior.strength, dtype=float),
            penalty,
            np.asarray(discount, dtype=float),
            np.asarray(temperature, dtype=float),
            prior.of == "linearised",
        )

    @staticmethod
    def footprint(s: ProblemSizes, features: int) -> Footprint:
        """The memory that it adds; `features` are the numbers that it works with for each history."""
        numbers = s.at_once * s.n_modes * s.n_histories * (23 * s.branches + features)
        return Footprint(s.n_histories, numbers, compiling=400e6)

    def random_parameters(self, rng: np.random.Generator, scale: float) -> Weights:
        """Weights to start a restart from, one set per mode, in units of its temperature."""
        modes = [self.form.scaled(self.form.random(rng, scale), t) for t in np.asarray(self.temperature)]
        return jax.tree.map(lambda *leaves: np.stack(leaves), *modes)

    def fitted(self, weights: Weights) -> Float[Array, "mode history *action"]:
        """r_z(h) or r_z(h, a)."""
        return jax.vmap(self.form.rewards)(weights)

    def _plan(self, weights: Weights, temperature: Array) -> tuple[Array, Array]:
        """Values and log-policy of one mode, planned in units of the temperature."""
        rewards = self.form.rewards(weights) / temperature
        per_action = rewards.ndim == 2
        one = jnp.ones_like(temperature)
        values = soft_values(
            self.successors, rewards[None], discount=self.discount, temperature=one[None], per_action=per_action
        )[0]
        if not per_action:
            log_pi = log_policy_from_values(self.successors, values, discount=self.discount, temperature=one)
            return temperature * values, log_pi
        q = q_values(self.successors, rewards, values, discount=self.discount)
        available = self.successors.available
        return temperature * values, jnp.where(available, masked_log_softmax(q, available), -jnp.inf)

    def log_emissions(self, weights: Weights) -> Float[Array, "symbol mode"]:
        """Log π_z(a|h) as a table of symbols (history · n_actions + action)."""
        log_pi = jax.vmap(lambda w, t: self._plan(w, t)[1])(weights, jnp.asarray(self.temperature))
        return log_pi.reshape(self.n_modes, -1).T

    def _penalty(self, weights: Weights, values: Array, temperature: Array) -> Float[Array, ""]:
        if self.penalty is None:
            return jnp.asarray(0.5 * self.strength) * self.form.squares(weights, temperature)
        if self.linearised:
            r = values - self.discount * uniform_expected_next(self.successors, values)
            return self.penalty.penalty(r)
        return self.penalty.penalty(self.form.rewards(weights))

    def log_prior(self, weights: Weights) -> Float[Array, ""]:
        """Log-density of the prior, up to a constant."""

        def one(w: Weights, t: Array) -> Array:
            return self._penalty(w, self._plan(w, t)[0], t)

        return -jnp.sum(jax.vmap(one)(weights, jnp.asarray(self.temperature)))

    def improve(self, weights: Weights, counts: Float[Array, "symbol mode"]) -> Weights:
        """Raise Σ W log π + log prior by L-BFGS through the fixed point: the M-step of the rewards."""
        available = jnp.asarray(self.successors.available)
        counts = counts.T.reshape(self.n_modes, *available.shape)

        def one(w: Weights, c: Array, t: Array) -> Weights:
            def loss(scaled: Weights) -> Array:
                x = self.form.scaled(scaled, t)
                values, log_pi = self._plan(x, t)
                # Mask before multiplying: 0 · (−∞) is not a number.
                fitted = jnp.sum(jnp.where(available, c * jnp.where(available, log_pi, 0.0), 0.0))
                return self._penalty(x, values, t) - fitted

            # L-BFGS sees the scale of its unknowns: in units of the temperature they are alike whatever α is.
            found = lbfgs(loss, self.form.scaled(w, 1 / t), tol=self.tol, max_steps=self.max_steps).x
            return self.form.scaled(found, t)

        return jax.vmap(one)(weights, counts, jnp.asarray(self.temperature))


def network_map(histories: Histories, features: Float[np.ndarray, "state feature"] | None, hidden: int) -> NetworkMap:
    """Lay the features of each state before a network; by default each state is a feature of its own."""
    features = np.eye(histories.n_states) if features is None else features
    _expect("Network", "features", features.shape[0], histories.n_states, "states")
    return NetworkMap(histories.table, features, hidden)


def linear_map(
    histories: Histories,
    features: Float[np.ndarray, "row *action feature"],
    on: Literal["state", "state-action", "history"],
) -> LinearMap:
    """Spread the features of states, or of states and actions, over the histories; those of histories are as given."""
    if on == "history":
        _expect("Linear", "features", features.shape[0], histories.n_histories, "reachable histories")
        return LinearMap(features)
    _expect("Linear", "features", features.shape[0], histories.n_states, "states")
    if on == "state-action":
        _expect("Linear", "features, axis 1,", features.shape[1], histories.successors.n_actions, "actions")
    return LinearMap(np.ascontiguousarray(features[histories.states]))


def _expect(form: str, argument: str, got: int, expected: int, noun: str) -> None:
    if got != expected:
        raise ValueError(
            f"rewards.{form}: {argument} has {got} rows, but the environment has {expected} {noun}; give one row each"
        )
