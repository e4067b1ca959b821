"""Back-off Markov models: smoothed counts of what follows the last n states, with no hidden mode at all.

What a sceptical reviewer tries first.  With N_n(h, o) the number of times that option o was chosen at the history h
of the last n states, and p_{−1} uniform over the options of the state,

    p_n(o | h) = (N_n(h, o) + κ_n p_{n−1}(o | h without its oldest state)) / (N_n(h) + κ_n)

Order 0 ignores even the present state (but not which options it has).  Order and strengths κ are chosen on folds
of the training sessions: each κ_n given the lower ones, then the order.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.discrete import (
    DiscreteEstimator,
    Target,
    check_env,
    initial_states,
    option_successors,
    options,
    seen_states,
)
from swirl.encoding import Impossible, encode
from swirl.estimator import as_trajectories
from swirl.faults import Faults
from swirl.folding import folds, most_folds
from swirl.history import Histories
from swirl.mdp import MDP
from swirl.trajectories import Trajectories

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


class _Steps(NamedTuple):
    """Observed choices: the history and the option of each, and the session it is from."""

    histories: Int[np.ndarray, "step"]
    options: Int[np.ndarray, "step"]
    sessions: Int[np.ndarray, "step"]


class _Orders(NamedTuple):
    """For each order 0, 1, …, the cell of a table of counts that each choice at each history falls into."""

    cells: list[Int[np.ndarray, "history option"]]
    available: Bool[np.ndarray, "history option"]

    @classmethod
    def build(cls, histories: Histories, highest: int, target: Target) -> "_Orders":
        tables = option_successors(histories, target)
        n_options = tables.n_actions
        rank = np.arange(n_options)
        # Order 0 does not see the state, so its cells are what a choice means everywhere: the action, or the state.
        meaning = rank if target == "action" else histories.states[np.asarray(tables.next)[..., 0]]
        cells = [np.broadcast_to(meaning, (histories.n_histories, n_options)).astype(np.int64)]
        cells += [histories.suffixes(order)[:, None] * n_options + rank for order in range(1, highest + 1)]
        return cls(cells, np.asarray(tables.available))

    def counts(self, order: int, histories: np.ndarray, chosen: np.ndarray) -> Float[np.ndarray, "history option"]:
        """How often each available option was chosen at histories that this order cannot tell from each."""
        cells = self.cells[order]
        totals = np.bincount(cells[histories, chosen], minlength=int(cells.max()) + 1)
        return np.where(self.available, totals[cells], 0.0)

    def uniform(self) -> Float[np.ndarray, "history option"]:
        """Every available option alike."""
        return self.available / self.available.sum(axis=1, keepdims=True)


def mix(
    counts: Float[np.ndarray, "history option"], lower: Float[np.ndarray, "history option"], strength: float
) -> Float[np.ndarray, "history option"]:
    """p_n from the counts of order n and p_{n−1}: the equation of this module.

    >>> mix(np.array([[3.0, 0.0]]), np.array([[0.5, 0.5]]), 1.0)
    array([[0.875, 0.125]])
    """
    return (counts + strength * lower) / (counts.sum(axis=1, keepdims=True) + strength)


class BackoffMarkov(DiscreteEstimator):
    """Markov model of order n over actions or next states, smoothed towards order n − 1.

    Parameters
    ----------
    env
        Says which options a state has.
    order
        Number of states seen, or ``"auto"``: chosen on training folds among 0 … `max_order`.
    strength
        Pseudo-counts κ that the lower order is worth: one number, one for each order 0 … n, or ``"auto"``: chosen on
        training folds, each order's given the lower ones.
    target
        ``"action"``: what the animal did. ``"next_state"``: where it went.
    max_order, n_folds
        For ``"auto"``; folds are made of whole subjects where several are known, else of whole sessions, and are fewer
        where there are fewer of them.
    impossible, random_state
        As for `SWIRL`; nothing here is random.

    Attributes
    ----------
    order_, strengths_ : what was chosen
    fold_scores_ : [order], held-out log-likelihood per step on the training folds (NaN where nothing was chosen)
    histories_ : [history, order];  policies_ : [mode, history, option], with one mode

    Examples
    --------
    >>> from swirl.datasets import gridworld
    >>> data = gridworld(n_sessions=40, n_steps=100)
    >>> model = BackoffMarkov(data.env, order=1).fit(data.trajectories)
    >>> model.order_, model.policies_.shape
    (1, (1, 25, 5))
    """

    stored: ClassVar[dict[str, tuple[str, ...]]] = {
        "histories": ("history", "lag"),
        "policies": ("mode", "history", "option"),
        "mode_transitions": ("state", "mode", "next_mode"),
        "initial_modes": ("mode",),
        "initial_states": ("state",),
        "seen_states": ("state",),
        "order": (),
        "strengths": ("each_order",),
        "fold_scores": ("tried_order",),
    }
    needed: ClassVar[tuple[str, ...]] = ("env", "policies", "order")

    def __init__(
        self,
        env: MDP,
        *,
        order: int | Literal["auto"] = "auto",
        strength: float | Sequence[float] | Float[np.ndarray, "order"] | Literal["auto"] = "auto",
        target: Target = "action",
        max_order: int = 6,
        n_folds: int = 3,
        impossible: Impossible = "error",
        random_state: int = 0,
    ):
        self.env = env
        self.order = order
        self.strength = strength
        self.target: Target = target
        self.max_order = max_order
        self.n_folds = n_folds
        self.impossible: Impossible = impossible
        self.random_state = random_state

    def _check_arguments(self) -> None:
        faults = Faults()
        check_env(self.env, faults)
        if self.target not in ("action", "next_state"):
            faults.add(f'target={self.target!r}: expected "action" or "next_state"')
        for name, least in (("order", 0), ("max_order", 0), ("n_folds", 2)):
            value = getattr(self, name)
            if name == "order" and isinstance(value, str) and value == "auto":
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                auto = ' or "auto"' if name == "order" else ""
                faults.add(f"{name}={value!r}: expected a whole number, at least {least}{auto}")
        if not (isinstance(self.strength, str) and self.strength == "auto"):
            given: Any = [self.strength] if isinstance(self.strength, Real) else self.strength
            if not isinstance(given, Sequence | np.ndarray) or not all(
                isinstance(x, Real) and not isinstance(x, bool) and 0 < float(x) < np.inf for x in given
            ):
                faults.add(
                    f'strength={self.strength!r}: expected a number > 0, one for each order from 0 on, or "auto"'
                )
            else:
                name = "max_order" if isinstance(self.order, str) else "order"
                highest = getattr(self, name)
                if isinstance(highest, int | np.integer) and len(given) not in (1, int(highest) + 1):
                    faults.add(f"strength has {len(given)} entries: expected one, or {name} + 1 = {int(highest) + 1}")
        faults.raise_if_any(f"{type(self).__name__} cannot be fitted")

    def fit(self, data: Any, y: None = None) -> "BackoffMarkov":
        """Count, and choose order and strengths on training folds where they are ``"auto"``."""
        del y  # scikit-learn's signature
        data = as_trajectories(data)
        self._check_arguments()
        highest = int(self.max_order if self.order == "auto" else self.order)
        histories = Histories.reachable(self.env.successors, max(highest, 1))
        encoded = encode(data, self.env, histories, impossible=self.impossible)
        chosen = options(encoded, self.env, histories, self.target)
        known = chosen >= 0
        if not known.any():
            raise ValueError(
                f"data: no {self.target.replace('_', ' ')} was observed in any session, so there is nothing to count"
            )
        session = np.repeat(np.arange(len(data)), np.diff(encoded.sessions))
        steps = _Steps(encoded.histories[known].astype(np.int64), chosen[known], session[known])
        orders = _Orders.build(histories, highest, self.target)
        strengths, scores = self._choose(data, orders, steps, highest)
        order = int(np.nanargmax(scores)) if self.order == "auto" else highest
        table = _fitted_table(orders, steps, strengths[: order + 1])
        self._keep(order, strengths[: order + 1], scores, table, histories)
        self.initial_states_ = initial_states(encoded, self.env.n_states)
        self.seen_states_ = seen_states(encoded, self.env.n_states)
        self.initial_modes_ = np.ones(1)
        self.mode_transitions_ = np.ones((self.env.n_states, 1, 1))
        self.n_steps_, self.n_observed_ = encoded.n_steps, int(known.sum())
        self._remember(data)
        self._as_fitted = self.get_params()
        how = "chosen on training folds" if np.isfinite(scores).any() else "as given"
        self.fit_report_ = (
            f"order {order}, strengths {', '.join(f'{x:g}' for x in self.strengths_)}, {how}; "
            f"{self.n_observed_:,} observed steps counted."
        )
        return self

    def _choose(
        self, data: Trajectories, orders: _Orders, steps: _Steps, highest: int
    ) -> tuple[Float[np.ndarray, "order"], Float[np.ndarray, "order"]]:
        """Strength of each order, and the folds' score of each order where there is something to choose."""
        tried: list[tuple[float, ...]] = [STRENGTHS] * (highest + 1)
        if not isinstance(self.strength, str):
            tried = [(float(x),) for x in np.broadcast_to(np.ravel(self.strength), highest + 1)]
            if self.order != "auto":
                return np.ravel(tried), np.full(highest + 1, np.nan)
        n_folds = most_folds(data, int(self.n_folds))
        if n_folds < 2:
            raise ValueError(
                'data: one session cannot be folded to choose order="auto" and strength="auto"; give more sessions, or '
                "say order=1, strength=1.0"
            )
        held_out = [np.isin(steps.sessions, fold) for fold in folds(data, n_folds)]
        lower = [orders.uniform() for _ in held_out]
        strengths, scores = np.empty(highest + 1), np.empty(highest + 1)
        for order in range(highest + 1):
            counts = [orders.counts(order, steps.histories[~held], steps.options[~held]) for held in held_out]

            def tables(strength: float, counts: list = counts, lower: list = lower) -> list[np.ndarray]:
                return [mix(c, low, strength) for c, low in zip(counts, lower, strict=True)]

            totals = []
            for strength in tried[order]:
                logs = [
                    np.log(table[steps.histories[held], steps.options[held]]).sum()
                    for table, held in zip(tables(strength), held_out, strict=True)
                ]
                totals.append(sum(logs) / len(steps.options))  # every step counts alike, whichever fold it is in
            best = int(np.argmax(totals))
            strengths[order], scores[order] = tried[order][best], totals[best]
            lower = tables(tried[order][best])
        return strengths, scores

    def _keep(
        self, order: int, strengths: np.ndarray, scores: np.ndarray, table: np.ndarray, histories: Histories
    ) -> None:
        """Keep the table over the histories of the chosen order only."""
        self.order_, self.strengths_, self.fold_scores_ = order, strengths, scores
        self._restore()
        # A longer history's row is that of its newest states, so any completion will do.
        _, first = np.unique(histories.table[:, : self._histories.length], axis=0, return_index=True)
        rows = {tuple(histories.table[i, : self._histories.length].tolist()): i for i in first}
        self.policies_ = table[[rows[tuple(h)] for h in self._histories.table.tolist()]][None]
        self.histories_ = self._histories.table

    @property
    def chosen_(self) -> dict[str, Any]:
        """What was chosen on training folds."""
        asked = {"order": self.order, "strength": self.strength}
        found = {"order": self.order_, "strength": tuple(float(x) for x in self.strengths_)}
        return {name: found[name] for name, value in asked.items() if isinstance(value, str)}

    def _restore(self) -> None:
        self.order_ = int(self.order_)
        self._histories = Histories.reachable(self.env.successors, max(self.order_, 1))

    def _log_table(self) -> Float[np.ndarray, "mode history option"]:
        with np.errstate(divide="ignore"):
            return np.log(self.policies_)


def _fitted_table(
    orders: _Orders, steps: _Steps, strengths: Float[np.ndarray, "order"]
) -> Float[np.ndarray, "history option"]:
    table = orders.uniform()
    for order, strength in enumerate(strengths):
        table = mix(orders.counts(order, steps.histories, steps.options), table, float(strength))
    return table
