"""Free rewards on histories, r(h), fitted through their values: the exact solver (design.md#exact-solver).

With no action argument the reward drops out of the policy,

    π(a|h) = softmax_a( (γ/α) E[V(h')|h,a] ),      r(h) = V(h) − α log Σ_a exp( (γ/α) E[V(h')|h,a] ),

so the M-step is a multinomial logit that is linear in V: no planning, nothing to differentiate through.
The prior is on r(V), or on its linearisation V − γ P_unif V (then the problem is convex).  A Cauchy prior is
met by a normal one that touches it from above at the present rewards (majorise, then minimise): monotone as well.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from swirl.data.histories import Histories
from swirl.data.successors import Successors
from swirl.optimise import Penalty, maximise_logit
from swirl.precision import FloatArray
from swirl.priors import Cauchy, Gaussian
from swirl.rewards.backoff import BackoffPenalty
from swirl.rewards.component import Footprint, ProblemSizes, RewardComponent
from swirl.rewards.gauge import MAX_BLOCK
from swirl.rewards.soft_q import expected_next, log_policy_from_values, soft_future, uniform_expected_next

MILDER_STRENGTH = 30.0


class Effort(NamedTuple):
    """How much one M-step does."""

    reweightings: int
    cg_steps: int


# Under a Cauchy prior the curvatures of parts differ by factors of thousands, and 50 steps leave most of the way. At
# first that is better: measured on the labyrinth (S-2, eight starts), M-steps that go all the way end in optima that
# are some 150 nats lower. Quasi-Newton steps want them exact: with 200 steps, three reweightings need 230 to 520 passes
# to the end, two 310 to 510, one 570 to 850 (when the rule of convergence was asked once).
FIRST, SETTLED = Effort(10, 50), Effort(3, 200)
MIN_GAIN = 1e-4  # nats; a reweighting that gained less was the last


class ValueParameters(NamedTuple):
    """What EM moves: the values and, for a Cauchy prior, the sums of parts of shorter histories."""

    values: Any
    """[mode, history]"""
    means: tuple[Any, ...]
    """For each order from L − 1 down to 1: [mode, suffix]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StateReward(RewardComponent):
    """The component of the model that turns counts of (context, action) into values and rewards."""

    contexts: Successors
    """The lifted environment, those rows that differ: what the policy can see (design.md#what-a-policy-sees)."""
    context: Int[FloatArray, "history"]
    """The row of each history."""
    penalty: BackoffPenalty
    spread: Float[FloatArray, "context action branch"]
    """(γ P_unif)² of each branch: how a precision of r(h) spreads over the values of its successors."""
    discount: Float[FloatArray, ""]
    temperature: Float[FloatArray, "mode"]
    width: Float[FloatArray, "mode"] | None
    """Of the Cauchy prior, in units of reward; None when the prior is Gaussian."""
    linearised: bool = field(metadata={"static": True})
    sequential_restarts: ClassVar[bool] = True
    # One step per M-step: measured on the labyrinth, as good per iteration as five and less than half the time.
    max_steps: int = field(default=1, metadata={"static": True})
    reweightings: Int[FloatArray, ""] = field(default_factory=partial(np.asarray, FIRST.reweightings))
    """Of a Cauchy prior, per M-step."""
    max_cg_steps: Int[FloatArray, ""] = field(default_factory=partial(np.asarray, FIRST.cg_steps))

    @classmethod
    def build(
        cls, histories: Histories, prior: Gaussian | Cauchy, *, discount: float, temperature: Float[np.ndarray, "mode"]
    ) -> "StateReward":
        """Collect what the M-step needs from the histories and the prior."""
        successors, n = histories.successors, histories.n_contexts
        contexts = Successors(
            np.asarray(successors.next)[:n],
            np.asarray(successors.probability)[:n],
            np.asarray(successors.available)[:n],
        )
        available = contexts.available
        uniform = (available / available.sum(axis=1, keepdims=True))[..., None] * contexts.probability
        return cls(
            contexts,
            histories.contexts.astype(np.int32),
            BackoffPenalty.build(histories, prior),
            (discount * uniform) ** 2,
            np.asarray(discount, dtype=float),
            np.asarray(temperature, dtype=float),
            np.full(len(temperature), prior.width) if isinstance(prior, Cauchy) else None,
            prior.of == "linearised",
        )

    @staticmethod
    def footprint(s: ProblemSizes) -> Footprint:
        """The memory that it adds; on a GPU all restarts are side by side."""
        at_once = s.n_modes * (s.n_restarts if s.on_gpu else 1)
        working = at_once * (15 * s.n_contexts * s.branches + 10 * s.n_histories)
        gauge = 0 if s.on_gpu else 25 * s.n_histories * s.branches
        if s.n_branches > 1 and len(s.paths) == 1 and s.n_states <= MAX_BLOCK and not s.on_gpu:
            gauge += 3 * s.n_states**2 * s.n_actions  # a dense null space; longer histories fall into small parts
        return Footprint(s.n_contexts, max(working, gauge))

    @property
    def gauge_is_free(self) -> bool:
        """Whether the prior leaves the gauge open: which member the Cauchy prior picks is decided by its corners."""
        return self.width is not None

    def random_parameters(self, rng: np.random.Generator, scale: float) -> ValueParameters:
        """Values to start a restart from: independent, with standard deviation `scale` in units of logits."""
        shape = (self.n_modes, len(self.context))
        means = (
            () if self.width is None else tuple(np.zeros((self.n_modes, len(p))) for p in self.penalty.precisions[1:])
        )
        return ValueParameters(scale * np.asarray(self.temperature)[:, None] * rng.standard_normal(shape), means)

    def warm_up(self) -> "StateReward | None":
        """Strong but all but normal: what then outgrows the Cauchy prior's corner is there for all restarts alike.

        Its width is the temperature, so that it is as mild whatever the unit of reward.
        """
        if self.width is None:
            return None
        stronger = tuple(MILDER_STRENGTH * precision for precision in self.penalty.precisions)
        return replace(self, width=self.temperature, penalty=replace(self.penalty, precisions=stronger))

    def settled(self) -> "StateReward":
        """The same component with M-steps that solve what they set out to solve."""
        if self.width is None:
            return self
        effort = {"reweightings": np.asarray(SETTLED.reweightings), "max_cg_steps": np.asarray(SETTLED.cg_steps)}
        return replace(self, **effort)

    def log_policy(self, parameters: ValueParameters) -> Float[Array, "mode context action"]:
        """Log π_z(a|h) for each context."""
        return log_policy_from_values(
            self.contexts, parameters.values, discount=self.discount, temperature=self.temperature
        )

    def log_emissions(self, parameters: ValueParameters) -> Float[Array, "symbol mode"]:
        """Log π_z(a|h) as a table of symbols (context · n_actions + action)."""
        return self.log_policy(parameters).reshape(self.n_modes, -1).T

    def fitted(self, parameters: ValueParameters) -> Float[Array, "mode history"]:
        """r(V), the inverse of the soft Bellman operator."""
        future = soft_future(self.contexts, parameters.values, discount=self.discount, temperature=self.temperature)
        return jnp.asarray(parameters.values) - future[:, self.context]

    def penalised(self, values: Float[Array, "history"], temperature: Array) -> Float[Array, "history"]:
        """What the prior is on: r(V), or the reward to first order around the uniform policy."""
        if self.linearised:
            future = self.discount * uniform_expected_next(self.contexts, values)
        else:
            future = soft_future(self.contexts, values, discount=self.discount, temperature=temperature)
        return values - future[self.context]

    def log_prior(self, parameters: ValueParameters) -> Float[Array, ""]:
        """Log-density of the prior, up to a constant."""
        return -jnp.sum(jax.vmap(self._penalty)(parameters, jnp.asarray(self.temperature), self.width))

    def _penalty(self, parameters: ValueParameters, temperature: Array, width: FloatArray | None) -> Float[Array, ""]:
        """Minus the log-prior of one mode."""
        r = self.penalised(parameters.values, temperature)
        if width is None:
            return self.penalty.penalty(r)
        return self.penalty.cauchy(self.penalty.parts(r, parameters.means), width)

    def improve(self, parameters: ValueParameters, counts: Float[Array, "symbol mode"]) -> ValueParameters:
        """Raise Σ W log π + log prior: the M-step of the rewards (paper Eq. 3)."""
        shape = (self.n_modes, self.contexts.n_nodes, self.contexts.n_actions)
        counts = counts.T.reshape(shape)

        def one(p: ValueParameters, counts: Array, temperature: Array, width: FloatArray | None) -> ValueParameters:
            if width is None:
                return ValueParameters(self._improve_mode(p.values, counts, temperature, self.penalty), ())
            return self._reweighted(p, counts, temperature, width)

        return jax.vmap(one)(parameters, counts, jnp.asarray(self.temperature), self.width)

    def _reweighted(
        self, start: ValueParameters, counts: Float[Array, "context action"], temperature: Array, width: FloatArray
    ) -> ValueParameters:
        """Meet the Cauchy prior of one mode by normal ones that touch it, again and again while that gains."""

        def objective(p: ValueParameters) -> Array:
            log_pi = log_policy_from_values(self.contexts, p.values, discount=self.discount, temperature=temperature)
            return jnp.sum(jnp.where(counts > 0, counts * log_pi, 0.0)) - self._penalty(p, temperature, width)

        def again(carry: tuple) -> tuple:
            made, p, value, _ = carry
            parts = self.penalty.parts(self.penalised(p.values, temperature), p.means)
            touching = self.penalty.reweighted(parts, width)
            values = self._improve_mode(p.values, counts, temperature, touching)
            new = ValueParameters(values, touching.means(self.penalised(values, temperature)))
            reached = objective(new)
            return made + 1, new, reached, reached - value

        def rising(carry: tuple) -> Array:
            return (carry[0] < self.reweightings) & (carry[3] > MIN_GAIN)

        carry = (jnp.asarray(0), start, objective(start), jnp.asarray(jnp.inf))
        return jax.lax.while_loop(rising, again, carry)[1]

    def _improve_mode(
        self,
        values: Float[Array, "history"],
        counts: Float[Array, "context action"],
        temperature: Array,
        penalty: BackoffPenalty,
    ) -> Float[Array, "history"]:
        """Newton steps on one mode's values under a quadratic `penalty`."""
        slope = jnp.asarray(self.discount) / temperature

        def logits(v: Array) -> Array:
            return slope * expected_next(self.contexts, v)

        def prior(v: Array) -> Penalty:
            def penalised(v: Array) -> Array:
                return self.penalised(v, temperature)

            r, pull_back = jax.vjp(penalised, v)
            _, push = jax.linearize(penalised, v)
            gradient = pull_back(penalty.product(r))[0]
            return Penalty(penalty.penalty(r), gradient, lambda d: pull_back(penalty.product(push(d)))[0])

        leaf = jnp.asarray(penalty.leaf_precisions)
        of_context = jnp.zeros(self.contexts.n_nodes, leaf.dtype).at[self.context].add(leaf)
        prior_diagonal = leaf.at[jnp.asarray(self.contexts.next)].add(self.spread * of_context[:, None, None])
        branch_weight = slope**2 * jnp.asarray(self.contexts.probability) ** 2

        def diagonal(spread: Array) -> Array:
            return prior_diagonal.at[jnp.asarray(self.contexts.next)].add(spread[..., None] * branch_weight)

        return maximise_logit(
            logits,
            counts,
            values,
            penalty=prior,
            diagonal=diagonal,
            available=jnp.asarray(self.contexts.available),
            max_steps=self.max_steps,
            max_cg_steps=jnp.asarray(self.max_cg_steps),
        )
