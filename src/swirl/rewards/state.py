"""Free rewards on histories, r(h), fitted through their values: the exact solver (design.md#exact-solver).

With no action argument the reward drops out of the policy,

    π(a|h) = softmax_a( (γ/α) E[V(h')|h,a] ),      r(h) = V(h) − α log Σ_a exp( (γ/α) E[V(h')|h,a] ),

so the M-step is a multinomial logit that is linear in V: no planning, nothing to differentiate through.
The prior is on r(V), or on its linearisation V − γ P_unif V (then the problem is convex).  A Cauchy prior is
met by a normal one that touches it from above at the present rewards (majorise, then minimise): monotone as well.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from swirl.compiling import on_cpu
from swirl.data.histories import Histories
from swirl.data.successors import Successors
from swirl.optimise import Gather, masked_log_softmax, newton_cg
from swirl.precision import FloatArray
from swirl.priors import Cauchy, Gaussian
from swirl.rewards.backoff import BackoffPenalty
from swirl.rewards.component import WORTH_A_CORE, Footprint, ProblemSizes, RewardComponent
from swirl.rewards.gauge import MAX_BLOCK
from swirl.rewards.soft_q import log_policy_from_values, soft_future, uniform_expected_next

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
    following: Gather
    """Where each action of each row leads, branch by branch."""
    members: Gather
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
            Gather.of(contexts.next, histories.n_histories),
            Gather.of(histories.contexts, n),
            BackoffPenalty.build(histories, prior),
            (discount * uniform) ** 2,
            np.asarray(discount, dtype=float),
            np.asarray(temperature, dtype=float),
            np.full(len(temperature), prior.width) if isinstance(prior, Cauchy) else None,
            prior.of == "linearised",
        )

    @staticmethod
    def footprint(s: ProblemSizes) -> Footprint:
        """The memory that it adds."""
        working = s.n_modes * s.at_once * (15 * s.n_contexts * s.branches + 10 * s.n_histories)
        gauge = 0 if s.on_gpu else 25 * s.n_histories * s.branches
        if s.n_branches > 1 and len(s.paths) == 1 and s.n_states <= MAX_BLOCK and not s.on_gpu:
            gauge += 3 * s.n_states**2 * s.n_actions  # a dense null space; longer histories fall into small parts
        return Footprint(s.n_contexts, max(working, gauge))

    @property
    def worth_a_core(self) -> bool:
        """With many histories; under a Cauchy prior, which solves several problems, with fewer."""
        per_mode = self.contexts.available.size
        return (1 if self.width is None else FIRST.reweightings / 2) * per_mode * self.n_modes > WORTH_A_CORE

    @property
    def gauge_is_free(self) -> bool:
        """Whether the prior leaves the gauge open: which member the Cauchy prior picks is decided by its corners."""
        return self.width is not None

    def random_parameters(self, rng: np.random.Generator, scale: float) -> ValueParameters:
        """Values to start a restart from: independent, with standard deviation `scale` in units of logits."""
        shape = (self.n_modes, len(self.members.index))
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
        return jnp.asarray(parameters.values) - self.members(future)

    def penalised(self, values: Float[Array, "history"], temperature: Array) -> Float[Array, "history"]:
        """What the prior is on: r(V), or the reward to first order around the uniform policy."""
        if self.linearised:
            future = self.discount * uniform_expected_next(self.contexts, values)
        else:
            future = soft_future(self.contexts, values, discount=self.discount, temperature=temperature)
        return values - self.members(jnp.asarray(future))

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

        modes = (parameters, counts, jnp.asarray(self.temperature), self.width)
        if on_cpu():  # one after the other: side by side, each would take as many steps as the slowest
            return jax.lax.map(lambda mode: one(*mode), modes)
        return jax.vmap(one)(*modes)

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
        """Newton steps on one mode's values under a quadratic `penalty`, products with the curvature written out.

        With n = E[d(h')|h, a], share = π (or uniform, where the prior is on the linearised reward) and p = π::

            moved    = (γ/α) n                                       # of the logits
            r'       = d − γ (Σ_a share n)[context]                  # of what the prior is on
            B d      = Q r' + Eᵀ( (γ/α) N p (moved − Σ_a p moved) − γ share Σ_{h of context} Q r' )
        """
        discount, available = jnp.asarray(self.discount), jnp.asarray(self.contexts.available)
        probability, n_contexts = jnp.asarray(self.contexts.probability), self.contexts.n_nodes
        slope, totals = discount / temperature, jnp.sum(counts, axis=-1, keepdims=True)
        uniform = available / jnp.sum(available, axis=-1, keepdims=True)
        penalised = penalty.quadratic()

        def expected(v: Array) -> Float[Array, "context action"]:
            following = self.following(v)
            return following[..., 0] if following.shape[-1] == 1 else jnp.sum(probability * following, axis=-1)

        def returned(x: Float[Array, "context action"]) -> Float[Array, "history"]:
            return self.following.collect(probability * x[..., None], len(values))

        def in_context(x: Float[Array, "history"]) -> Float[Array, "context one"]:
            return self.members.collect(x, n_contexts)[:, None]

        def function(v: Array) -> tuple[Array, Array, Array]:
            future = expected(v)
            log_p = masked_log_softmax(slope * future, available)
            p = jnp.exp(log_p)
            share = uniform if self.linearised else p
            soft = discount * jnp.sum(share * future, axis=-1)
            if not self.linearised:  # E[Q] plus the entropy is the soft maximum
                soft = soft - temperature * jnp.sum(jnp.where(available, p * log_p, 0.0), axis=-1)
            r = v - self.members(soft)
            prior, pulled = penalised(r)
            value = prior - jnp.sum(jnp.where(available, counts * log_p, 0.0))
            residual = slope * jnp.where(available, totals * p - counts, 0.0)
            return value, pulled + returned(residual - discount * share * in_context(pulled)), p

        leaf = jnp.asarray(penalty.leaf_precisions)
        prior_diagonal = jnp.asarray(self.spread) * in_context(leaf)[..., None]

        def curvature(p: Array) -> tuple[Callable[[Array], Array], Array]:
            share = uniform if self.linearised else p

            def product(d: Array) -> Array:
                n = expected(d)
                moved = slope * n
                spread = slope * totals * p * (moved - jnp.sum(p * moved, axis=-1, keepdims=True))
                _, pulled = penalised(d - self.members(discount * jnp.sum(share * n, axis=-1)))
                return pulled + returned(spread - discount * share * in_context(pulled))

            seen = (slope * probability) ** 2 * (totals * p * (1 - p))[..., None]
            return product, leaf + self.following.collect(prior_diagonal + seen, len(leaf))

        steps = {"max_steps": self.max_steps, "max_cg_steps": jnp.asarray(self.max_cg_steps)}
        return newton_cg(function, curvature, values, tol=1e-7, **steps).x
