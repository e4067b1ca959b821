"""Goal-directed modes: few rewarding places per mode, planned, on top of one habit (design.md#goals).

    log π_z(a | h) = habit(h)[move(a)] + (γ/α) E[V_z(s') | s, a] − normaliser

The *habit* is shared by all modes and does not know the place: it sees the kind of place and the last m moves
(`data.local_shape`), and what is known after few moves serves where longer ones were seen rarely,

    habit(h) = Σ_{l ≤ m} part_l(kind of s_t, last l moves),      and, where asked for, Σ_l place_l(newest l states),

with a normal prior on every part.  The *goals* are places G_z.  V_z is the soft value of walking there, each step at a
cost c_z, and over once it is reached:

    V_z(s) = 0 in G_z,      V_z(s) = −c_z + α log mean_a exp((γ/α) E[V_z(s')])  elsewhere.

Far from the goal a step nearer is worth about c_z γ^d; with c_z → ∞ and γ → 1 this is −c_z times the distance.  The
mean over actions (not the sum) makes V_z = 0 where nothing is wanted: so is the exploring mode's.  With
``absorbing=False`` V_z is instead that of design.md#the-model, with a free reward in each of its places.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from swirl.data.histories import Histories
from swirl.data.local_shape import Moves
from swirl.data.successors import Successors
from swirl.optimise import masked_log_softmax, newton_cg
from swirl.precision import FloatArray
from swirl.priors import GoalDirected
from swirl.rewards.component import Footprint, ProblemSizes, RewardComponent
from swirl.rewards.soft_q import Method, expected_next, log_policy_from_values, policy_values, soft_values

SHORT = 0.97
"""Up to this discount planning sweeps: faster to compile, and to run, than Newton steps (measured at 0.95: 4.1 and
6.3 s to compile an M-step, 8 and 11 ms to make one in the labyrinth)."""


class GoalsParameters(NamedTuple):
    """What EM moves."""

    habit: Any
    """[part, move]: logits."""
    goals: Any
    """[mode, place]: log c_z in units of the temperature, one for each mode; where goals do not absorb, the reward of
    each place."""


class Contexts(NamedTuple):
    """What the habit knows of each history."""

    rows: Int[np.ndarray, "history"]
    """The row of choices that it uses: histories that the habit and the place do not tell apart share one."""
    states: Int[np.ndarray, "row"]
    parts: Int[np.ndarray, "row depth"]
    """The parts of the habit that a row adds up; `n_parts` where there are fewer."""
    orders: Int[np.ndarray, "part"]
    """Moves that a part knows (0: only the kind of place), or −1, −2, … for parts that know 1, 2, … places."""
    moves: Int[np.ndarray, "row action"]
    """Which of the moves of its kind of place each action is."""
    n_moves: int


def contexts(histories: Histories, kinds: Int[np.ndarray, "state"], moves: Moves, place_history: int) -> Contexts:
    """Lay out the habit's parts: of each kind of place and last 0, 1, …, L − 1 moves, and those that know places."""
    table, kinds = histories.table, np.asarray(kinds)
    orders: list[np.ndarray] = []
    columns: list[np.ndarray] = []

    def grow(parents: np.ndarray | None, seen: np.ndarray, known: np.ndarray, order: int) -> np.ndarray:
        """One more part for each history that knows enough: numbered after those that there are."""
        first = sum(map(len, orders))
        above = np.zeros(len(table), dtype=np.int64) if parents is None else parents
        found, numbers = np.unique(above[known] * (seen.max(initial=0) + 1) + seen[known], return_inverse=True)
        orders.append(np.full(len(found), order))
        part = np.full(len(table), -1)
        part[known] = first + numbers
        columns.append(part)
        return part

    part = grow(None, kinds[table[:, 0]], np.ones(len(table), bool), 0)
    for lag in range(1, table.shape[1]):
        known = table[:, lag] >= 0
        passed = np.zeros(len(table), dtype=np.int64)
        passed[known] = moves.of(table[known, lag], table[known, lag - 1])
        part = grow(part, passed, known, lag)
    place: np.ndarray | None = None
    for lag in range(min(place_history, table.shape[1])):
        known = table[:, lag] >= 0
        place = grow(place, np.where(known, table[:, lag], 0), known, -1 - lag)
    own = np.stack(columns, axis=1)
    n_parts = sum(map(len, orders))
    own[own < 0] = n_parts
    parts, first, rows = np.unique(np.column_stack([table[:, 0], own]), axis=0, return_index=True, return_inverse=True)
    states = table[first, 0]
    slots = np.empty_like(moves.choices)
    for kind in np.unique(kinds):  # the moves of a kind of place are numbered from 0
        at = kinds == kind
        slots[at] = np.unique(moves.choices[at], return_inverse=True)[1].reshape(slots[at].shape)
    return Contexts(np.ravel(rows), states, parts[:, 1:], np.concatenate(orders), slots[states], int(slots.max()) + 1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GoalsReward(RewardComponent):
    """The component that turns counts of (row, action) into a habit and the worth of goals."""

    parts: Int[FloatArray, "row depth"]
    moves: Int[FloatArray, "row action"]
    states: Int[FloatArray, "row"]
    env: Successors
    """Where actions lead."""
    until: tuple[
        Int[FloatArray, "mode state action branch"],
        Float[FloatArray, "mode state action branch"],
        Bool[FloatArray, "mode state action"],
    ]
    """The same tables for each mode, with its goals absorbing."""
    features: Float[FloatArray, "mode place state"]
    """What each number of a mode adds to its reward."""
    rest: Float[FloatArray, "mode state"]
    """What is in its reward besides."""
    pursues: Bool[FloatArray, "mode"]
    """Which modes want something."""
    precision: Float[FloatArray, "part"]
    goal_precision: Float[FloatArray, ""]
    expected: Float[FloatArray, ""]
    """Of each number, before the data."""
    absorbing: bool = field(metadata={"static": True})
    n_moves: int = field(metadata={"static": True})
    discount: Float[FloatArray, ""]
    temperature: Float[FloatArray, "mode"]
    method: Method = field(default="sweeps", metadata={"static": True})
    """Of planning."""
    max_steps: int = field(default=2, metadata={"static": True})
    max_cg_steps: int = field(default=60, metadata={"static": True})

    @property
    def worth_a_core(self) -> bool:
        """Always: it plans."""
        return True

    @classmethod
    def build(
        cls,
        histories: Histories,
        env: Successors,
        known: Contexts,
        goals: Bool[np.ndarray, "mode state"],
        prior: GoalDirected,
        *,
        absorbing: bool,
        discount: float,
        temperature: Float[np.ndarray, "mode"],
    ) -> "GoalsReward":
        """Collect what the M-step needs.

        Parameters
        ----------
        goals
            The places that each mode wants; none: it explores.
        """
        n_modes, n_states = goals.shape
        pursues = np.asarray(goals.any(axis=1))
        available = np.asarray(env.available)
        if absorbing:
            stays = np.broadcast_to(np.arange(n_states)[:, None, None], np.shape(env.next))
            at = goals[:, :, None, None]
            only = np.zeros_like(available)
            only[:, 0] = True
            until = (
                np.where(at, stays, np.asarray(env.next)).astype(np.int32),
                np.where(at, np.arange(env.n_branches) == 0, np.asarray(env.probability)).astype(float),
                np.where(goals[:, :, None], only, available),
            )
            features = -(~goals[:, None, :] & pursues[:, None, None]).astype(float)
            rest = np.where(goals, 0.0, -np.log(available.sum(axis=1)))
        else:
            following, probability, possible = (
                np.broadcast_to(table, (n_modes, *np.shape(table)))
                for table in (env.next, env.probability, env.available)
            )
            until = (following, probability, possible)
            most = max(int(goals.sum(axis=1).max()), 1)
            features = np.zeros((n_modes, most, n_states))
            for mode, own in enumerate(goals):
                features[mode, np.arange(own.sum()), np.flatnonzero(own)] = 1.0
            rest = np.zeros((n_modes, n_states))
        habit = np.asarray(prior.habit.strengths(histories.length))
        place = np.asarray(prior.place.strengths(histories.length))
        precision = np.where(
            known.orders >= 0, habit[np.maximum(known.orders, 0)], place[np.maximum(-known.orders, 1) - 1]
        )
        expected = np.asarray(np.log(prior.expected_cost) if absorbing else 0.0)
        return cls(
            known.parts, known.moves, known.states, env, until, features, rest, pursues, precision,
            np.asarray(prior.cost.strength), expected, absorbing, known.n_moves, np.asarray(discount, dtype=float),
            np.asarray(temperature, dtype=float), "sweeps" if discount <= SHORT else "newton",
        )  # fmt: skip

    @staticmethod
    def footprint(s: ProblemSizes) -> Footprint:
        """The memory that it adds."""
        rows = s.n_histories
        return Footprint(
            rows, s.at_once * (12 * rows * s.n_actions * s.n_modes + 8 * s.n_modes * s.n_states * s.branches)
        )

    def random_parameters(self, rng: np.random.Generator, scale: float) -> GoalsParameters:
        """No habit, and goals whose cost of a step is a little larger or smaller."""
        drawn = rng.standard_normal(self.features.shape[:2])
        goals = self.expected + (0.3 if self.absorbing else 1.0) * scale * drawn
        return GoalsParameters(np.zeros((len(self.precision), self.n_moves)), goals)

    # ------------------------------------------------------------------ planning

    def _weights(self, goals: Float[Array, "mode place"]) -> Float[Array, "mode place"]:
        goals = jnp.asarray(goals)
        return jnp.exp(goals) if self.absorbing else jnp.divide(goals, jnp.asarray(self.temperature)[:, None])

    def values(self, goals: Float[FloatArray, "mode place"]) -> Float[Array, "mode state"]:
        """V_z(s) in units of the temperature; 0 in a mode that wants nothing."""
        rewards = jnp.einsum("zp,zps->zs", self._weights(jnp.asarray(goals)), self.features) + self.rest

        def one(tables: Any, r: Array) -> Array:
            until = Successors(*tables)
            options = {"temperature": 1.0, "per_action": False, "method": self.method}
            return soft_values(until, r, discount=self.discount, **options)

        return jnp.where(jnp.asarray(self.pursues)[:, None], jax.vmap(one)(self.until, rewards), 0.0)

    def _value_slopes(
        self, goals: Float[Array, "mode place"], values: Float[Array, "mode state"]
    ) -> Float[Array, "mode place state"]:
        """∂V_z(s) / ∂goals: what a place adds to the reward, summed along the planned walk, dV = f + γ P_π dV."""

        def one(tables: Any, v: Array, features: Array) -> Array:
            until = Successors(*tables)
            available = jnp.asarray(until.available)
            log_pi = log_policy_from_values(until, v, discount=self.discount, temperature=1.0)
            policy = jnp.where(available, jnp.exp(log_pi), 0.0)

            def earned(f: Array) -> Array:
                return policy_values(until, policy, f, discount=self.discount, method=self.method)

            return jax.vmap(earned)(features)

        slopes = jax.vmap(one)(self.until, values, jnp.asarray(self.features))
        scale = self._weights(goals) if self.absorbing else 1 / jnp.asarray(self.temperature)[:, None]
        return jnp.where(jnp.asarray(self.pursues)[:, None, None], scale[..., None] * slopes, 0.0)

    # ------------------------------------------------------------------ what EM asks for

    def _habit_logits(self, habit: Float[Array, "part move"]) -> Float[Array, "row action"]:
        padded = jnp.concatenate([habit, jnp.zeros((1, self.n_moves))])
        sums = jnp.sum(padded[jnp.asarray(self.parts)], axis=1)
        return jnp.take_along_axis(sums, jnp.asarray(self.moves), axis=1)

    def _future(self, values: Float[Array, "*batch state"]) -> Float[Array, "*batch row action"]:
        """γ E[V(s')|s, a] of each row."""
        return jnp.multiply(self.discount, expected_next(self.env, values)[..., jnp.asarray(self.states), :])

    def _available(self) -> Bool[Array, "row action"]:
        return jnp.asarray(self.env.available)[jnp.asarray(self.states)]

    def log_emissions(self, parameters: GoalsParameters) -> Float[Array, "symbol mode"]:
        """Log π_z(a|h) as a table of symbols (row · n_actions + action)."""
        logits = self._habit_logits(jnp.asarray(parameters.habit)) + self._future(self.values(parameters.goals))
        log_pi = jnp.where(self._available(), masked_log_softmax(logits, self._available()), -jnp.inf)
        return log_pi.reshape(self.n_modes, -1).T

    def _goal_penalty(self, goals: Array) -> Array:
        """Departures of each number from what is believed before; numbers of modes that want nothing have none."""
        used = jnp.any(jnp.asarray(self.features) != 0, axis=-1)
        return jnp.where(used, goals - self.expected, 0.0)

    def log_prior(self, parameters: GoalsParameters) -> Float[Array, ""]:
        """Normal log-density, up to a constant."""
        habit = jnp.sum(jnp.asarray(self.precision)[:, None] * jnp.asarray(parameters.habit) ** 2)
        goals = self.goal_precision * jnp.sum(self._goal_penalty(jnp.asarray(parameters.goals)) ** 2)
        return -0.5 * (habit + goals)

    def improve(self, parameters: GoalsParameters, counts: Float[Array, "symbol mode"]) -> GoalsParameters:
        """Raise Σ W log π + log prior over the habit and all goals at once, by Gauss–Newton steps (paper Eq. 3)."""
        available = self._available()
        counts = counts.T.reshape(self.n_modes, *available.shape)
        totals = jnp.sum(counts, axis=-1, keepdims=True)
        shape = jnp.shape(parameters.habit)
        split = shape[0] * shape[1]
        precision = jnp.asarray(self.precision)[:, None]
        _, to_habit = jax.vjp(self._habit_logits, jnp.asarray(parameters.habit))

        def unpack(x: Array) -> tuple[Array, Array]:
            return x[:split].reshape(shape), x[split:].reshape(jnp.shape(parameters.goals))

        def shown(x: Array) -> Array:
            return jnp.where(available, x, 0.0)

        def function(x: Array) -> tuple[Array, Array, tuple[Array, Array]]:
            habit, goals = unpack(x)
            values = self.values(goals)
            log_pi = masked_log_softmax(self._habit_logits(habit) + self._future(values), available)
            slopes = self._future(self._value_slopes(goals, values))
            residual = shown(totals * jnp.exp(log_pi) - counts)
            away = self._goal_penalty(goals)
            value = -jnp.sum(shown(counts * log_pi)) - self.log_prior(GoalsParameters(habit, goals))
            by_habit = to_habit(jnp.sum(residual, axis=0))[0] + precision * habit
            by_goals = jnp.einsum("zra,zpra->zp", residual, slopes) + self.goal_precision * away
            return value, jnp.concatenate([jnp.ravel(by_habit), jnp.ravel(by_goals)]), (log_pi, slopes)

        def curvature(known: tuple[Array, Array]) -> Any:
            log_pi, slopes = known
            p = shown(jnp.exp(log_pi))

            def product(d: Array) -> Array:
                habit, goals = unpack(d)
                moved = self._habit_logits(habit) + jnp.einsum("zp,zpra->zra", goals, slopes)
                spread = totals * p * (moved - jnp.sum(p * moved, axis=-1, keepdims=True))
                by_habit = to_habit(jnp.sum(spread, axis=0))[0] + precision * habit
                by_goals = jnp.einsum("zra,zpra->zp", spread, slopes) + self.goal_precision * goals
                return jnp.concatenate([jnp.ravel(by_habit), jnp.ravel(by_goals)])

            spread = totals * p * (1 - p)
            by_habit = to_habit(jnp.sum(spread, axis=0))[0] + precision
            by_goals = jnp.einsum("zra,zpra->zp", spread, slopes**2) + self.goal_precision
            return product, jnp.concatenate([jnp.ravel(by_habit), jnp.ravel(by_goals)])

        start = jnp.concatenate([jnp.ravel(jnp.asarray(parameters.habit)), jnp.ravel(jnp.asarray(parameters.goals))])
        found = newton_cg(
            function, curvature, start, tol=1e-7, max_steps=self.max_steps, max_cg_steps=self.max_cg_steps
        ).x  # fmt: skip
        return GoalsParameters(*unpack(found))

    def fitted(self, parameters: GoalsParameters) -> Float[Array, "mode state"]:
        """r_z(s): what reaching each place is worth, c_z in its goals, or the free reward of each place."""
        weights = jnp.asarray(self.temperature)[:, None] * self._weights(jnp.asarray(parameters.goals))
        if self.absorbing:
            wanted = (jnp.asarray(self.features)[:, 0] == 0) & jnp.asarray(self.pursues)[:, None]
            return weights * wanted
        return jnp.einsum("zp,zps->zs", weights, self.features)

    def read(
        self,
        histories: Histories,
        rows: Int[np.ndarray, "history"],
        log_emissions: Float[np.ndarray, "symbol mode"],
        fitted: Any,
    ) -> tuple[Float[np.ndarray, "mode history"], Float[np.ndarray, "mode history action"]]:
        """Rewards and log-policies of every history."""
        return super().read(histories, rows, log_emissions, np.asarray(fitted)[:, histories.states])
