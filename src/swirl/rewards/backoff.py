"""The penalty of rewards that back off to shorter histories.

r(h) = Σ_l ρ_l(newest l states of h), each part with a prior of its own.  With normal parts of precision λ_l the
parts need not be carried: the least penalty over all ways to split r is a quadratic form in r, found by passing
means up the tree of suffixes::

    penalty = 0; x = r; τ = λ_L                                    # leaves: whole histories
    for l in L−1, …, 1:
        mean   = Σ_children τ x / Σ_children τ                     # what the children say of the part above
        penalty += Σ τ (x − mean[parent])²
        x, τ   = mean, 1 / (1 / Σ_children τ + 1 / λ_l)
    penalty += Σ τ x²

and the best split comes back down.  So does the slope, Q r, as Σ_children τ (x − mean) = 0::

    slope = τ x                                                    # at the top
    for l in 1, …, L−1:
        slope = τ (x − mean[parent] + (slope / Σ_children τ)[parent])

Precisions are per node, so a heavy-tailed prior is a reweighted normal one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from swirl.data.histories import Histories
from swirl.optimise import Gather
from swirl.precision import FloatArray
from swirl.priors import Cauchy, Gaussian

Nodes = tuple[Float[FloatArray, "_"], ...]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BackoffPenalty:
    """½ rᵀ Q r for the tree of suffixes; without back-off, ½ Σ λ r²."""

    parents: tuple[Gather, ...]
    """For each order from L down to 2: which suffix of one state less each suffix belongs to."""
    precisions: Nodes
    """For each order from L down to 1: precision of each suffix's part."""

    @classmethod
    def build(cls, histories: Histories, prior: Gaussian | Cauchy) -> "BackoffPenalty":
        """Arrange the suffixes of all histories; precisions are the prior's strengths."""
        if prior.backoff is None:
            return cls((), (np.full(histories.n_histories, float(prior.strength)),))
        strengths = prior.strengths(histories.length)
        children = histories.suffixes(histories.length)
        parents, precisions = [], [np.full(histories.n_histories, strengths[-1])]
        for order in range(histories.length - 1, 0, -1):
            groups = histories.suffixes(order)
            above = np.zeros(int(children.max()) + 1, dtype=np.int32)
            above[children] = groups
            parents.append(Gather.of(above, int(groups.max()) + 1))
            precisions.append(np.full(int(groups.max()) + 1, strengths[order - 1]))
            children = groups
        return cls(tuple(parents), tuple(precisions))

    @property
    def leaf_precisions(self) -> Float[FloatArray, "history"]:
        """Precision of each history's own part: the diagonal of Q, or a little more."""
        return self.precisions[0]

    def _levels(self) -> tuple[list[tuple[Gather, Array, Array, Array]], Array]:
        """For each order below L who belongs to whom, λ, the children's τ and its sum over them; and τ at the top."""
        tau, levels = jnp.asarray(self.precisions[0]), []
        for parents, own in zip(self.parents, self.precisions[1:], strict=True):
            precision = jnp.asarray(own)
            total = parents.collect(tau, len(precision))
            levels.append((parents, precision, tau, total))
            tau = 1.0 / (1.0 / total + 1.0 / precision)
        return levels, tau

    def quadratic(self) -> Callable[[Float[Array, "history"]], tuple[Float[Array, ""], Float[Array, "history"]]]:
        """What gives ½ rᵀ Q r and Q r, to be used many times: what does not depend on r is computed once, here."""
        levels, top = self._levels()

        def evaluate(rewards: Float[Array, "history"]) -> tuple[Array, Array]:
            x, penalty, apart = rewards, jnp.zeros((), rewards.dtype), []
            for parents, precision, tau, total in levels:
                mean = parents.collect(tau * x, len(precision)) / total
                apart.append(x - parents(mean))
                penalty += 0.5 * jnp.sum(tau * apart[-1] ** 2)
                x = mean
            slope = top * x
            penalty += 0.5 * jnp.vdot(x, slope)
            for (parents, _, tau, total), own in zip(reversed(levels), reversed(apart), strict=True):
                slope = tau * (own + parents(slope / total))
            return penalty, slope

        return evaluate

    def product(self, rewards: Float[Array, "history"]) -> Float[Array, "history"]:
        """Q r."""
        return self.quadratic()(rewards)[1]

    def penalty(self, rewards: Float[Array, "history"]) -> Float[Array, ""]:
        """½ rᵀ Q r: minus the log-density, up to a constant."""
        return self.quadratic()(rewards)[0]

    def means(self, rewards: Float[Array, "history"]) -> Nodes:
        """Best sums of parts m_l(suffix) = ρ_1 + … + ρ_l for the orders L − 1 down to 1, given r."""
        levels, _ = self._levels()
        x, up = rewards, []
        for parents, precision, tau, total in levels:
            x = parents.collect(tau * x, len(precision)) / total
            up.append(x)
        down: list[Array] = []
        for order in reversed(range(len(levels))):
            _, precision, _, total = levels[order]
            above = self.parents[order + 1](down[0]) if down else 0.0
            down.insert(0, (total * up[order] + precision * above) / (total + precision))
        return tuple(down)

    def parts(self, rewards: Float[Array, "history"], means: Nodes) -> Nodes:
        """Split r along given sums of parts: ρ_l for the orders L down to 1."""
        sums = (rewards, *means)
        split = [sums[i] - above(jnp.asarray(sums[i + 1])) for i, above in enumerate(self.parents)]
        return (*split, sums[-1])

    def reweighted(self, parts: Nodes, width: Float[FloatArray, ""]) -> "BackoffPenalty":
        """The normal penalty that touches the Cauchy one at `parts` and lies above it elsewhere."""
        pairs = zip(self.precisions, parts, strict=True)
        return BackoffPenalty(self.parents, tuple(2.0 * s / (width**2 + part**2) for s, part in pairs))

    def cauchy(self, parts: Nodes, width: Float[FloatArray, ""]) -> Float[Array, ""]:
        """Σ_l s_l Σ log(1 + ρ_l² / width²): minus the heavy-tailed log-density, up to a constant."""
        pairs = zip(self.precisions, parts, strict=True)
        return jnp.sum(jnp.stack([jnp.sum(s * jnp.log1p((part / width) ** 2)) for s, part in pairs]))
