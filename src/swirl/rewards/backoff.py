"""The quadratic penalty of rewards that back off to shorter histories.

r(h) = Σ_l ρ_l(newest l states of h), each part normal with precision λ_l.  The parts need not be
carried: the least penalty over all ways to split r is a quadratic form in r, found by passing means up the
tree of suffixes (each node a precision-weighted mean of its children)::

    penalty = 0; x = r; τ = λ_L                                    # leaves: full histories
    for l in L−1, …, 1:
        mean   = Σ_children τ x / Σ_children τ                     # best value of the part above
        penalty += Σ τ (x − mean[parent])²
        x, τ   = mean, 1 / (1 / Σ_children τ + 1 / λ_l)
    penalty += Σ τ x²
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from swirl.history import Histories
from swirl.priors import Gaussian

FloatArray = Array | np.ndarray


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Level:
    """One step up the tree: the children's precisions and parents, and the precision of their sum."""

    parents: Int[FloatArray, "child"]
    precisions: Float[FloatArray, "child"]
    total: Float[FloatArray, "parent"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BackoffPenalty:
    """½ rᵀ Q r for the tree of suffixes; without back-off, ½ λ ‖r‖²."""

    levels: tuple[Level, ...]
    root: Float[FloatArray, "group"]

    @classmethod
    def build(cls, histories: Histories, prior: Gaussian) -> "BackoffPenalty":
        """Arrange the suffixes of all histories for `prior`."""
        if prior.backoff is None:
            return cls((), np.full(histories.n_histories, prior.strength))
        precision = prior.precisions(histories.length)
        child_groups = histories.suffixes(histories.length)
        tau = np.full(histories.n_histories, precision[-1])
        levels = []
        for order in range(histories.length - 1, 0, -1):
            groups = histories.suffixes(order)
            parents = np.zeros(int(child_groups.max()) + 1, dtype=np.int32)
            parents[child_groups] = groups
            total = np.bincount(parents, weights=tau)
            levels.append(Level(parents, tau, total))
            tau = 1.0 / (1.0 / total + 1.0 / precision[order - 1])
            child_groups = groups
        return cls(tuple(levels), tau)

    @property
    def leaf_precisions(self) -> Float[FloatArray, "history"]:
        """Precision of each history given the part above it: the diagonal of Q, or a little more."""
        return self.levels[0].precisions if self.levels else self.root

    def penalty(self, rewards: Float[Array, "history"]) -> Float[Array, ""]:
        """½ rᵀ Q r: minus the log-density, up to a constant."""
        x, penalty = rewards, jnp.zeros((), rewards.dtype)
        for level in self.levels:
            weighted = jnp.zeros_like(jnp.asarray(level.total)).at[level.parents].add(level.precisions * x)
            mean = weighted / level.total
            penalty += 0.5 * jnp.sum(level.precisions * (x - mean[level.parents]) ** 2)
            x = mean
        return penalty + 0.5 * jnp.sum(self.root * x**2)

    def product(self, rewards: Float[Array, "history"]) -> Float[Array, "history"]:
        """Q r."""
        return jax.grad(self.penalty)(rewards)
