"""Values that are sums of parts: a habit that all modes share, and goals of each mode (design.md#sums-of-parts).

    V_z(h) = Σ_{l ≤ L} habit_l(newest l states of h) + Σ_{l ≤ m} goal_{z,l}(newest l states of h)

with a normal prior on each part, longer parts shrunk more.  Without a habit, and with m = L, this is a free reward on
histories under a prior on V (``priors.Gaussian(of="value")``).  Parts add in V, so the M-step is one convex
multinomial logit over the habit and all goals together, and only histories that the data could choose among move; the
reward follows in closed form, r = V − α log Σ_a exp(γ/α E[V']).  The newest l states of a history are themselves a
(shorter) history, so a part needs no name of its own: part number = history number, and the value of a history is the
sum of its own part and its suffixes'.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from swirl.data.histories import Histories
from swirl.optimise import Gather, masked_log_softmax, maximise_logit, squared
from swirl.precision import FloatArray
from swirl.priors import Gaussian
from swirl.rewards.component import WORTH_A_CORE, Footprint, ProblemSizes, RewardComponent
from swirl.rewards.soft_q import read_values


class HabitGoalsParameters(NamedTuple):
    """What EM moves, in units of value."""

    habit: Any
    """[history]: the part of each history (of any length); empty where there is no habit."""
    goals: Any
    """[mode, short history]; empty where there is a habit and one mode, whose goals would be habit."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class HabitGoalsReward(RewardComponent):
    """The component of the model that turns counts of (row, action) into parts of values."""

    following: Gather
    """Where each action of each row leads, branch by branch, as places in `active`."""
    probability: Float[FloatArray, "row action branch"]
    available: Bool[FloatArray, "row action"]
    active: Int[FloatArray, "active"]
    """Histories whose parts the rows' choices depend on, short ones first: all others stay at the prior's mode, 0."""
    parents: tuple[Gather, ...]
    """For each size from 2 on: which of the active histories of one state less each active one of that size extends."""
    habit_precision: Float[FloatArray, "habit"]
    """Of each active part; empty where there is no habit."""
    goal_precision: Float[FloatArray, "goal"]
    """Of each active part that has goals: the first ones, as short histories come first."""
    n_histories: int = field(metadata={"static": True})
    n_short: int = field(metadata={"static": True})
    """Number of histories that have goals."""
    discount: Float[FloatArray, ""]
    temperature: Float[FloatArray, "mode"]
    sequential_restarts: ClassVar[bool] = True
    # One step per M-step, as for `state.StateReward`: the counts move on anyway.
    max_steps: int = field(default=1, metadata={"static": True})
    max_cg_steps: int = field(default=60, metadata={"static": True})

    @property
    def worth_a_core(self) -> bool:
        """With many histories."""
        return self.available.size * self.n_modes > WORTH_A_CORE

    @classmethod
    def build(
        cls,
        histories: Histories,
        goal_history: int,
        *,
        habit: Gaussian | None,
        goal: Gaussian,
        discount: float,
        temperature: Float[np.ndarray, "mode"],
        rows: Int[np.ndarray, "row"] | None = None,
    ) -> "HabitGoalsReward":
        """Collect what the M-step needs.

        Parameters
        ----------
        rows
            Contexts (`Histories.contexts`) that the data visit: what they do not visit moves nothing. None: all.
        """
        rows = np.arange(histories.n_contexts) if rows is None else rows
        successors, sizes = histories.successors, histories.sizes
        following = np.asarray(successors.next)[rows]
        active = np.unique(histories.suffix_chains[following])
        active = active[active < histories.n_histories]
        first = np.searchsorted(sizes[active], np.arange(1, histories.length + 2))  # place of the first of each size
        parents = tuple(
            Gather.of(
                np.searchsorted(active, histories.dropped[active[first[n] : first[n + 1]]]) - first[n - 1],
                int(first[n] - first[n - 1]),
            )
            for n in range(1, histories.length)
        )
        n_short = int(np.sum(sizes <= goal_history)) if habit is None or len(temperature) > 1 else 0
        with_goals = active[active < n_short]
        habits = [] if habit is None else np.asarray(habit.strengths(histories.length))[sizes[active] - 1]
        return cls(
            Gather.of(np.searchsorted(active, following), len(active)),
            np.asarray(successors.probability)[rows],
            np.asarray(successors.available)[rows],
            active,
            parents,
            np.asarray(habits, dtype=float),
            np.asarray(goal.strengths(goal_history))[sizes[with_goals] - 1],
            histories.n_histories,
            n_short,
            np.asarray(discount, dtype=float),
            np.asarray(temperature, dtype=float),
        )

    @property
    def n_habits(self) -> int:
        """Number of active parts of the habit: all, or none."""
        return self.habit_precision.shape[0]

    @property
    def n_goals(self) -> int:
        """Number of active parts that have goals."""
        return self.goal_precision.shape[0]

    @staticmethod
    def footprint(s: ProblemSizes) -> Footprint:
        """The memory that it adds."""
        rows = min(s.n_contexts, s.n_steps)
        active = min(s.n_histories, rows * s.branches * len(s.paths))
        working = active * (11 * s.at_once * (1 + s.n_modes) + 2 * s.n_restarts * s.n_modes)
        return Footprint(rows, max(working, 25 * s.n_histories * s.branches))

    @property
    def gauge_is_free(self) -> bool:
        """The prior is on V: it says nothing of the rewards that have the same policies."""
        return True

    def random_parameters(self, rng: np.random.Generator, scale: float) -> HabitGoalsParameters:
        """No habit, and goals that differ: independent, with standard deviation `scale` in units of logits."""
        goals = scale * np.asarray(self.temperature)[:, None] * rng.standard_normal((self.n_modes, self.n_short))
        return HabitGoalsParameters(np.zeros(self.n_histories if self.n_habits else 0), goals)

    def fitted(self, parameters: HabitGoalsParameters) -> HabitGoalsParameters:
        """What stands for the fit: the parts; `values_of` adds them up for every history."""
        return parameters

    def read(
        self,
        histories: Histories,
        rows: Int[np.ndarray, "history"],
        log_emissions: Float[np.ndarray, "symbol mode"],
        fitted: HabitGoalsParameters,
    ) -> tuple[Float[np.ndarray, "mode history"], Float[np.ndarray, "mode history action"]]:
        """Rewards and log-policies of every history, from the parts: the table knows the visited contexts only."""
        del rows, log_emissions
        values = values_of(histories, fitted.habit, fitted.goals, self.n_modes)
        temperature = np.asarray(self.temperature)
        return read_values(histories.successors, values, discount=float(self.discount), temperature=temperature)

    def log_emissions(self, parameters: HabitGoalsParameters) -> Float[Array, "symbol mode"]:
        """Log π_z(a|h) of the rows as a table of symbols (row · n_actions + action)."""
        x = self._active_parts(parameters)
        return self._log_policy(x).reshape(self.n_modes, -1).T

    def log_prior(self, parameters: HabitGoalsParameters) -> Float[Array, ""]:
        """Normal log-density, up to a constant."""
        habit, goals = self._split(self._active_parts(parameters))
        return -0.5 * (jnp.sum(self.habit_precision * habit**2) + jnp.sum(self.goal_precision * goals**2))

    def _active_parts(self, parameters: HabitGoalsParameters) -> Float[Array, "unknown"]:
        """The habit and the goals that the rows depend on, side by side."""
        active = jnp.asarray(self.active)
        habit = jnp.asarray(parameters.habit)[active] if self.n_habits else jnp.asarray(parameters.habit)
        goals = jnp.asarray(parameters.goals)[:, active[: self.n_goals]]
        return jnp.concatenate([habit, jnp.ravel(goals)])

    def _split(self, x: Float[Array, "unknown"]) -> tuple[Float[Array, "habit"], Float[Array, "mode goal"]]:
        return x[: self.n_habits], x[self.n_habits :].reshape(self.n_modes, self.n_goals)

    def _logits(self, x: Float[Array, "unknown"]) -> Float[Array, "mode row action"]:
        """(γ/α) E[V_z(h')|h, a]: linear in the parts."""
        habit, goals = self._split(x)
        parts = jnp.pad(goals, ((0, 0), (0, self.active.shape[0] - self.n_goals)))
        if self.n_habits:
            parts = parts + habit
        values = self.following(self._sums(parts))
        expected = values[..., 0] if values.shape[-1] == 1 else jnp.sum(self.probability * values, axis=-1)
        return jnp.multiply((self.discount / jnp.asarray(self.temperature))[:, None, None], expected)

    def _sums(self, parts: Float[Array, "mode active"]) -> Float[Array, "mode active"]:
        """V of the active histories: V(h) = V(h without its oldest state) + part(h), size by size."""
        sizes = [len(parents.index) for parents in self.parents]
        first = parts.shape[1] - sum(sizes)
        values = [parts[:, :first]]
        for size, parents in zip(sizes, self.parents, strict=True):
            values.append(parts[:, first : first + size] + parents(values[-1]))
            first += size
        return jnp.concatenate(values, axis=1)

    def _log_policy(self, x: Float[Array, "unknown"]) -> Float[Array, "mode row action"]:
        return masked_log_softmax(self._logits(x), jnp.asarray(self.available))

    def improve(self, parameters: HabitGoalsParameters, counts: Float[Array, "symbol mode"]) -> HabitGoalsParameters:
        """Raise Σ W log π + log prior over the habit and all goals at once: the M-step (paper Eq. 3)."""
        available = jnp.asarray(self.available)
        counts = counts.T.reshape(self.n_modes, *available.shape)
        goal_precision = jnp.tile(jnp.asarray(self.goal_precision), self.n_modes)
        precision = jnp.concatenate([jnp.asarray(self.habit_precision), goal_precision])
        start = self._active_parts(parameters)
        _, transpose = jax.vjp(self._logits, start)

        slope = (self.discount / jnp.asarray(self.temperature))[:, None, None]

        def diagonal(spread: Array) -> Array:
            return transpose(slope * spread)[0] + precision  # exact where each branch is certain

        x = maximise_logit(
            self._logits,
            counts,
            start,
            penalty=squared(precision),
            diagonal=diagonal,
            available=available,
            max_steps=self.max_steps,
            max_cg_steps=self.max_cg_steps,
        )
        habit, goals = self._split(x)
        active = jnp.asarray(self.active)
        return HabitGoalsParameters(
            jnp.zeros_like(parameters.habit).at[active].set(habit) if self.n_habits else jnp.asarray(parameters.habit),
            jnp.zeros_like(parameters.goals).at[:, active[: self.n_goals]].set(goals),
        )


def values_of(
    histories: Histories, habit: Float[np.ndarray, "habit"], goals: Float[np.ndarray, "mode short"], n_modes: int
) -> Float[np.ndarray, "mode history"]:
    """V_z(h): the sum of the parts of each history and its suffixes.

    >>> from swirl.data.mdp import MDP
    >>> ring = MDP.deterministic([[1], [0]])
    >>> histories = Histories.reachable(ring.successors, length=2)    # 0, 1, 1 0, 0 1
    >>> values_of(histories, np.array([1.0, 2.0, 10.0, 20.0]), np.array([[100.0, 0.0], [0.0, 100.0]]), 2).tolist()
    [[101.0, 2.0, 12.0, 121.0], [1.0, 102.0, 112.0, 21.0]]
    """
    parts = np.zeros((n_modes, histories.n_histories + 1))
    parts[:, :-1] = habit if len(habit) else 0.0
    parts[:, : goals.shape[1]] += goals
    return np.stack([own[histories.suffix_chains].sum(axis=1) for own in parts])
