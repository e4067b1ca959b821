"""Back-off Markov models: smoothed counts of what follows the last n states, with no hidden mode at all.

What a sceptical reviewer tries first.  With N_n(h, o) the number of times that option o was chosen at the history h
of the last n states, and p_{−1} uniform over the options of the state,

    p_n(o | h) = (N_n(h, o) + κ_n p_{n−1}(o | h without its oldest state)) / (N_n(h) + κ_n)

Order 0 ignores even the present state (but not which options it has).  Where N_n(h) = 0 the equation says
p_n = p_{n−1}, so only contexts that were seen need counts (`contexts`).  Order and strengths κ are chosen on folds of
the training sessions: each κ_n given the lower ones, then the order.

An action that was not seen is latent where the state s' that followed is known: the step counts for each action in
proportion to p(a|h) P(s'|s,a), and its likelihood is the sum of these.  Where one action fits that is a plain count;
else counts and table are made from each other in turns, from the certain counts on.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.encoding import Encoded, Impossible, Survey, encode
from swirl.data.folds import folds, max_folds
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.estimators.base import as_trajectories
from swirl.estimators.contexts import UNTOLD, SeenContexts, number_contexts
from swirl.estimators.discrete import DiscreteEstimator, Target, check_env
from swirl.inference.likelihood import next_states

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
TURNS, SETTLED = 100, 1e-8  # most turns of counts and table, and the change of a step's probability that ends them

Counts = tuple[Float[np.ndarray, "entry"], Float[np.ndarray, "entry"]]


class _Steps(NamedTuple):
    """A recording as counts read it: the steps of all sessions, and what each says of the option chosen.

    An *entry* is an option that fits what was seen of a step; a step whose option was seen has one.
    """

    states: Int[np.ndarray, "step"]
    starts: Bool[np.ndarray, "step"]
    """Where histories begin anew."""
    sessions: Int[np.ndarray, "step"]
    step: Int[np.ndarray, "entry"]
    option: Int[np.ndarray, "entry"]
    reach: Float[np.ndarray, "entry"]
    """Probability of what was seen of the step, given the option: 1 where it was the option itself."""

    @classmethod
    def read(cls, data: Trajectories, encoded: Encoded, env: MDP, alone: Histories, target: Target) -> "_Steps":
        states, n = encoded.states.astype(np.int64), encoded.n_steps
        starts = np.zeros(n, bool)
        starts[encoded.chains[:-1]] = True
        for first, broken in zip(encoded.sessions[:-1], env.impossible_transitions(data), strict=True):
            starts[first + np.asarray(broken, np.int64) + 1] = True
        following = encoded.following.astype(np.int64)
        if target == "next_state":  # what an observed action says goes first
            said = next_states(encoded, env)
            following = np.where(said >= 0, said, following)
            option = np.full(n, -1)
            known = following >= 0
            option[known] = alone.ranks(states[known], following[known])
            step = np.flatnonzero(option >= 0)
            entries = step, option[step], np.ones(len(step))
        else:
            seen, missing = (
                np.flatnonzero(x) for x in (encoded.actions >= 0, (encoded.actions < 0) & (following >= 0))
            )
            ends, chance = (np.asarray(x)[states[missing]] for x in (env.successors.next, env.successors.probability))
            reach = np.sum((ends == following[missing, None, None]) * chance, axis=2) * env.available[states[missing]]
            which, action = np.nonzero(reach)
            step = np.concatenate([seen, missing[which]])
            option = np.concatenate([encoded.actions[seen].astype(np.int64), action])
            entries = step, option, np.concatenate([np.ones(len(seen)), reach[which, action]])
        return cls(states, starts, np.repeat(np.arange(len(data)), np.diff(encoded.sessions)), *entries)

    @property
    def certain(self) -> Bool[np.ndarray, "entry"]:
        """Entries that are the only one of their step."""
        return np.bincount(self.step, minlength=len(self.states))[self.step] == 1


class _Orders(NamedTuple):
    """For each order 0, 1, …, what each entry is counted with: its cell (context and option) and its context."""

    cells: list[Int[np.ndarray, "entry"]]
    contexts: list[Int[np.ndarray, "entry"]]
    """From order 1 on; order 0 knows only which options the state has."""
    states: Int[np.ndarray, "entry"]
    meaning: Int[np.ndarray, "state option"]
    """What a choice means everywhere, the action or the state: the cell of order 0."""
    available: Bool[np.ndarray, "state option"]

    @classmethod
    def build(cls, steps: _Steps, highest: int, alone: Histories, target: Target) -> "_Orders":
        tables = alone.successors if target == "action" else alone.moves
        available = np.asarray(tables.available)
        rank = np.broadcast_to(np.arange(tables.n_actions), available.shape)
        meaning = rank if target == "action" else np.asarray(tables.next)[..., 0].astype(np.int64)
        states = steps.states[steps.step]
        numbers = number_contexts(steps.states, steps.starts, highest) if highest else []
        contexts = [number[steps.step] for number in numbers]
        cells = [meaning[states, steps.option], *[_numbered(c * tables.n_actions + steps.option) for c in contexts]]
        return cls(cells, contexts, states, meaning, available)

    def only(self, entries: Int[np.ndarray, "some"]) -> "_Orders":
        """The same for some of the entries."""
        cells, contexts = ([_numbered(x[entries]) for x in each] for each in (self.cells[1:], self.contexts))
        return self._replace(cells=[self.cells[0][entries], *cells], contexts=contexts, states=self.states[entries])

    def by_state(self, weights: Float[np.ndarray, "entry"]) -> Float[np.ndarray, "state option"]:
        """Counts of order 0, of the options that each state has."""
        totals = np.bincount(self.cells[0], weights, minlength=int(self.meaning.max()) + 1)
        return np.where(self.available, totals[self.meaning], 0.0)

    def counts(self, weights: Float[np.ndarray, "entry"], highest: int | None = None) -> list[Counts]:
        """N_n(h, o) and N_n(h) of each entry, for n = 0, 1, …, `highest`, where entries have these weights."""
        totals = self.by_state(weights).sum(axis=1)[self.states]
        found = [(np.bincount(self.cells[0], weights)[self.cells[0]], totals)]
        for cell, context in zip(self.cells[1:][:highest], self.contexts[:highest], strict=True):
            found.append((np.bincount(cell, weights)[cell], np.bincount(context, weights)[context]))
        return found

    def uniform(self) -> Float[np.ndarray, "state option"]:
        """Every available option alike."""
        return self.available / self.available.sum(axis=1, keepdims=True)

    def probabilities(self, counts: list[Counts], strengths: Sequence[float]) -> Float[np.ndarray, "entry"]:
        """p_n of each entry, n the last order that has a strength."""
        p = 1.0 / self.available.sum(axis=1)[self.states]
        for (own, total), strength in zip(counts, strengths, strict=False):
            p = (own + strength * p) / (total + strength)
        return p


def _numbered(labels: Int[np.ndarray, "entry"]) -> Int[np.ndarray, "entry"]:
    """The same labels as 0, 1, …"""
    return np.unique(labels, return_inverse=True)[1].reshape(-1)


class _Counted:
    """Counts of some sessions, with what each leaves open spread over what it may have been."""

    def __init__(self, steps: _Steps, orders: _Orders, counted: Bool[np.ndarray, "entry"]):
        self.orders, self.counted, self.steps = orders, counted, steps
        certain = steps.certain
        self.weights = np.where(certain & counted, 1.0, 0.0)
        self.certain = orders.counts(self.weights)
        self.open = np.flatnonzero(~certain & counted)
        self._open_orders = orders.only(self.open)
        self._open_counts = [(own[self.open], total[self.open]) for own, total in self.certain]
        self._open_step = _numbered(steps.step[self.open])

    def fit(self, strengths: Sequence[float]) -> tuple[Float[np.ndarray, "entry"], Float[np.ndarray, "entry"], float]:
        """Probability and weight of each entry, counted or not, and how far the last turn moved what is seen of a step.

        What is seen settles; how actions that lead to the same place share it hardly moves from what the certain counts
        say, and would take thousands of turns to end nowhere that the data could tell.
        """
        if not len(self.open):
            return self.orders.probabilities(self.certain, strengths), self.weights, 0.0
        reach, highest = self.steps.reach[self.open], len(strengths) - 1
        p = self._open_orders.probabilities(self._open_counts, strengths)
        evidence, moved, shares = np.bincount(self._open_step, p * reach), np.inf, p
        for _ in range(TURNS):
            shares = p * reach / evidence[self._open_step]
            more = self._open_orders.counts(shares, highest)
            both = [(a + c, b + d) for (a, b), (c, d) in zip(self._open_counts, more, strict=False)]
            p = self._open_orders.probabilities(both, strengths)
            before, evidence = evidence, np.bincount(self._open_step, p * reach)
            moved = float(np.abs(evidence - before).max())
            if moved < SETTLED:
                break
        weights = self.weights.copy()
        weights[self.open] = shares
        return self.orders.probabilities(self.orders.counts(weights, highest), strengths), weights, moved


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
    histories_ : [history, order], the contexts of 1, 2, …, n states that occur in training, newest first; −1 before the
        start, −2 where a row says nothing: it stands for all histories that end in its states and in no longer row
    policies_ : [mode, history, option], with one mode

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
        impossible: Impossible | None = None,
        random_state: int = 0,
    ):
        self.env = env
        self.order = order
        self.strength = strength
        self.target: Target = target
        self.max_order = max_order
        self.n_folds = n_folds
        self.impossible: Impossible | None = impossible
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
        alone = Histories.reachable(self.env.successors, 1)
        encoded = encode(data, self.env, alone, impossible=self.impossible)
        steps = _Steps.read(data, encoded, self.env, alone, self.target)
        if not len(steps.step):
            raise ValueError(
                f"data: no {self.target.replace('_', ' ')} was observed in any session, and none follows from the "
                "states, so there is nothing to count"
            )
        orders = _Orders.build(steps, highest, alone, self.target)
        strengths, scores = self._choose(data, orders, steps, highest)
        order = int(np.nanargmax(scores)) if self.order == "auto" else highest
        self.order_, self.strengths_, self.fold_scores_ = order, strengths[: order + 1], scores
        counted = _Counted(steps, orders, np.ones(len(steps.step), bool))
        _, weights, moved = counted.fit(self.strengths_.tolist())
        self._histories = SeenContexts.seen(self.env.successors, steps.states, steps.starts, max(order, 1))
        self.histories_ = self._histories.table
        self.policies_ = _table(self._histories, orders, steps, weights, self.strengths_)[None]
        survey = Survey.of(encoded, alone)
        self.initial_states_, self.seen_states_ = survey.initial_states, survey.seen_states
        self.initial_modes_ = np.ones(1)
        self.mode_transitions_ = np.ones((self.env.n_states, 1, 1))
        self.n_steps_, self.n_observed_ = encoded.n_steps, len(np.unique(steps.step))
        self._record_fingerprint(data)
        self._params_at_fit = self.get_params()
        how = "chosen on training folds" if np.isfinite(scores).any() else "as given"
        self.fit_report_ = (
            f"order {order}, strengths {', '.join(f'{x:g}' for x in self.strengths_)}, {how}; "
            f"{self.n_observed_:,} observed steps counted{_words(steps, encoded, self.target, moved)}."
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
        n_folds = max_folds(data, int(self.n_folds))
        if n_folds < 2:
            raise ValueError(
                'data: one session cannot be folded to choose order="auto" and strength="auto"; give more sessions, or '
                "say order=1, strength=1.0"
            )
        held_out = [np.isin(steps.sessions[steps.step], fold) for fold in folds(data, n_folds)]
        counted = [_Counted(steps, orders, ~held) for held in held_out]
        n_steps = len(np.unique(steps.step))

        def score(strengths: list[float]) -> float:
            total = 0.0
            for fold, held in zip(counted, held_out, strict=True):
                p, _, _ = fold.fit(strengths)
                total += np.log(np.bincount(_numbered(steps.step[held]), (p * steps.reach)[held])).sum()
            return total / n_steps  # every step counts alike, whichever fold it is in

        chosen: list[float] = []
        scores = np.empty(highest + 1)
        for order in range(highest + 1):
            totals = [score([*chosen, strength]) for strength in tried[order]]
            best = int(np.argmax(totals))
            chosen.append(tried[order][best])
            scores[order] = totals[best]
        return np.array(chosen), scores

    @property
    def label(self) -> str:
        """Short name, as `swirl.make` knows it."""
        return "Markov"

    @property
    def chosen_(self) -> dict[str, Any]:
        """What was chosen on training folds."""
        asked = {"order": self.order, "strength": self.strength}
        found = {"order": self.order_, "strength": tuple(float(x) for x in self.strengths_)}
        return {name: found[name] for name, value in asked.items() if isinstance(value, str)}

    def _restore(self) -> None:
        self.order_ = int(self.order_)
        if (
            self.order_ > 1 and not (self.histories_ == UNTOLD).any()
        ):  # a file from when all that can be reached was kept
            self._histories = Histories.reachable(self.env.successors, self.order_)
        else:
            self._histories = SeenContexts.of_table(self.env.successors, self.histories_.astype(np.int64))

    def _log_table(self) -> Float[np.ndarray, "mode history option"]:
        with np.errstate(divide="ignore"):
            return np.log(self.policies_)


def _table(
    contexts: SeenContexts,
    orders: _Orders,
    steps: _Steps,
    weights: Float[np.ndarray, "entry"],
    strengths: Float[np.ndarray, "order"],
) -> Float[np.ndarray, "history option"]:
    """p_n at each seen context of n states."""
    n_options = orders.available.shape[1]
    table = mix(orders.by_state(weights), orders.uniform(), float(strengths[0]))[contexts.states]
    counts = np.zeros(table.shape)
    rows = contexts.follow(steps.states, steps.starts)[steps.step]
    for _ in range(contexts.length):
        counts += np.bincount(rows * n_options + steps.option, weights, minlength=counts.size).reshape(counts.shape)
        rows = contexts.shorter[rows]
    for order, strength in enumerate(strengths[1:], start=1):
        own = np.flatnonzero(contexts.orders == order)
        below = own if order == 1 else contexts.shorter[own]  # so far a state alone has the row of order 0
        table[own] = mix(counts[own], table[below], float(strength))
    return table


def _words(steps: _Steps, encoded: Encoded, target: Target, moved: float) -> str:
    """What was counted though it was not seen."""
    if target != "action":
        return ""
    inferred = len(np.unique(steps.step[encoded.actions[steps.step] < 0]))
    if not inferred:
        return ""
    told = f", {inferred:,} of them without their action, by where they led"
    if moved >= SETTLED:
        told += f" (after {TURNS} turns of counts and table the probability of a step still moved by {moved:.0e})"
    return told
