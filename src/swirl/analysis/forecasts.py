"""Where is it going: forecasts beyond the next step, from what is known so far.

A fitted model and its modes are one Markov chain on (history, mode).  With T its matrix,

    u_g(x) = Σ_x' T[x, x'] (1 if x' is at goal g, 0 if at another goal, else u_g(x'))      which goal is reached next
             (a goal may also be an action in a state, as going out of the maze: then 1 when that is chosen)
    u_k(x, s) = Σ_x' T[x, x'] u_{k−1}(x', s),      u_0(x, s) = 1 if x is in s                where it is k steps ahead

The first is a linear system, solved exactly (by iteration where the chain is large).  At each step the causal filter
says which mode it may be in, and the forecast is the mean of u over modes; its log-loss is scored where the recording
tells what came.  Nothing is forecast across a gap, nor across a move that the environment rules out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, cast

import numpy as np
import scipy.sparse as sparse
from jaxtyping import Bool, Float, Int
from scipy.sparse.linalg import spsolve

from swirl.analysis.behaviour import at
from swirl.data.encoding import Encoded
from swirl.estimators.base import Scored
from swirl.estimators.discrete import DiscreteEstimator, option_successors
from swirl.text import some

LEAST = 1e-12  # probability that a forecast counts as, where the model rules out what came
# Contexts (history, mode): of few the linear system is solved at once, of very many it is only iterated. Between, it is
# iterated first: where any state may follow any that soon ends, and a solve would fill all memory.
SMALL, EXACT = 2_000, 200_000
FEW_PRODUCTS, MAX_PRODUCTS = 2_000, 100_000  # of an iteration; what is left after so many is shared out like the rest
SMALL_CHANGE, CHANGE = 1e-12, 1e-9  # at which an iteration ends: where a solve would follow, and where none can
MAX_MOVES = 10**7  # from context to context; of more, forecasts would take too much memory and time
BLOCK = 2**24  # numbers that are held at once, of contexts × places
UNKNOWN = -2  # whether a goal was reached here: an action that was not recorded might have been it

__all__ = ["next_goal_log_loss"]


@dataclass(frozen=True)
class Forecast:
    """Log-losses of a forecast, in nats: lower is better.

    Attributes
    ----------
    losses
        [session]: sum of the log-losses of its steps.
    steps
        [session]: steps that were scored.
    base_rate
        Log-loss of always forecasting how often each outcome came in these very data: no forecast that ignores the
        past is better.

    Examples
    --------
    >>> Forecast(np.array([3.0, 1.0]), np.array([5, 3]), 0.69).loss
    0.5
    """

    losses: Float[np.ndarray, "session"]
    steps: Int[np.ndarray, "session"]
    base_rate: float

    @property
    def loss(self) -> float:
        """Mean log-loss of a step; NaN where no step could be scored."""
        return float(self.losses.sum() / self.steps.sum()) if self.steps.sum() else np.nan


def n_moves(model: DiscreteEstimator) -> int:
    """How many moves from context to context there may be: what a forecast takes memory for.

    >>> from swirl.datasets import gridworld
    >>> n_moves(gridworld(n_sessions=2, n_steps=20).true_model())  # 130 histories, 5 actions, 2 modes to 2 modes
    2600
    """
    to = option_successors(model.histories, model.target)
    return int(np.size(to.next)) * len(model.initial_modes_) ** 2


def chain_of(model: DiscreteEstimator, left_out: Bool[np.ndarray, "history option"] | None = None) -> Any:
    """The matrix T of a fitted model on (history · n_modes + mode), a sparse array.

    Its modes and choices are those of sampling: a_t by π_z(·|h_t), the next mode by P_z(·|z_t, s_t). Choices that are
    left out lead nowhere.
    """
    table = model.choice_table()
    if table is None:
        raise ValueError(
            f"{model.label}: its choices change along a session, so there is no one chain to forecast from"
        )
    if n_moves(model) > MAX_MOVES:
        raise ValueError(
            f"{model.label}: {n_moves(model):,} moves between its histories and modes are too many to forecast from "
            f"(more than {MAX_MOVES:,}); use a shorter history or fewer modes"
        )
    histories, switching = model.histories, model.mode_transitions_
    to = option_successors(histories, model.target)
    following, chance = np.asarray(to.next), np.asarray(to.probability)
    n_modes, n = table.shape[0], histories.n_histories
    rows, columns, values = [], [], []
    at_history = np.broadcast_to(np.arange(n)[:, None, None], following.shape)
    for z in range(n_modes):
        weight = np.asarray(table[z])[:, :, None] * chance
        if left_out is not None:
            weight = np.where(left_out[:, :, None], 0.0, weight)
        used = weight > 0
        origin, leads, weight = at_history[used], following[used], weight[used]
        for next_z in range(n_modes):
            rows.append(origin * n_modes + z)
            columns.append(leads.astype(np.int64) * n_modes + next_z)
            values.append(weight * switching[histories.states[origin], z, next_z])
    size = n * n_modes
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.coo_array(entries, shape=(size, size)).tocsr()


def reached_next(
    states: Sequence[Any], places: Sequence[Any], actions: Sequence[Any] | None = None
) -> list[Int[np.ndarray, "_"]]:
    """Which of some goals is reached next after each step; −1 where none is before the session ends.

    A state is reached when the animal comes to it, after the step; an action in a state, ``(state, action)``, when it
    is chosen, which may be at the step itself. Where the action in such a state is missing (−1) nobody knows, and
    nothing is said of the steps before.

    >>> reached_next([[0, 1, 2, 1, 0]], [0, 2])[0].tolist()
    [1, 1, 0, 0, -1]
    >>> reached_next([[0, 1, 2, 1, 0]], [2, (1, 7)], [[5, 5, 5, 7, 5]])[0].tolist()
    [0, 0, 1, 1, -1]
    """
    found = []
    for i, path in enumerate(states):
        path = np.asarray(path)
        arrived = np.full(len(path) + 1, -1)  # on coming to a state
        done = np.full(len(path), -1)  # by what is then chosen
        for number, place in reversed(list(enumerate(places))):
            if is_choice(place):
                chosen = np.full(len(path), -1) if actions is None else np.asarray(actions[i])
                here = path == place[0]
                done[here & (chosen < 0) & (done < 0)] = UNKNOWN
                done[here & (chosen == place[1])] = number
            else:
                arrived[:-1][at(path, place)] = number
        events = np.stack([arrived[1:], done], axis=1)[:, ::-1].ravel()  # choice at t, arrival at t + 1, choice at …
        when = np.where(events != -1, np.arange(len(events)), len(events))
        coming = np.minimum.accumulate(when[::-1])[::-1][::2]
        found.append(np.maximum(np.append(events, -1)[coming], -1))
    return found


def is_choice(place: Any) -> bool:
    """Whether a goal is an action in a state, written as a tuple of two numbers; several states are a list.

    >>> is_choice((0, 3)), is_choice([0, 3]), is_choice(116)
    (True, False, False)
    """
    return isinstance(place, tuple) and len(place) == 2 and all(isinstance(x, Integral) for x in place)


def _stretches(encoded: Encoded) -> Int[np.ndarray, "stretch_plus_one"]:
    """Where each stretch of moves that the model can follow begins, and where the last ends."""
    broken = np.flatnonzero(encoded.following < 0) + 1
    return np.unique(np.concatenate([[0], encoded.chains, broken])).astype(np.int64)


def _scored(encoded: Encoded, chance: Float[np.ndarray, "step"], came: Int[np.ndarray, "step"]) -> Forecast:
    """Log-loss of the probability that was given to what came after each step; −1 where that is not known."""
    known = came >= 0
    losses = np.where(known, -np.log(np.maximum(chance, LEAST)), 0.0)
    share = np.bincount(came[known], minlength=1) / max(known.sum(), 1)
    share = share[share > 0]
    return Forecast(
        np.array([part.sum() for part in encoded.split_sessions(losses)]),
        np.array([int(part.sum()) for part in encoded.split_sessions(known)]),
        float(np.sum(share * np.log(1 / share))),
    )


def _chances(
    encoded: Encoded,
    beliefs: Float[np.ndarray, "step mode"],
    ahead: Float[np.ndarray, "context outcome"],
    came: Int[np.ndarray, "step"],
) -> Float[np.ndarray, "step"]:
    """Σ_z p(z_t | s_1:t) u(h_t, z; what came); 0 where that is not known."""
    known, n_modes = came >= 0, beliefs.shape[1]
    rows = encoded.histories[known, None].astype(np.int64) * n_modes + np.arange(n_modes)
    chance = np.zeros(len(came))
    chance[known] = np.einsum("tz,tz->t", beliefs[known], ahead[rows, came[known, None]])
    return chance


def _iterated(
    system: Any, arriving: Float[np.ndarray, "context place"], change: float, most: int
) -> tuple[Float[np.ndarray, "context place"], bool]:
    """Repeat u = T D u + T b, and say whether u had settled after so many products."""
    found = arriving
    for _ in range(most):
        before, found = found, system @ found + arriving
        if np.max(np.abs(found - before)) < change:
            return found, True
    return found, False


def first_reached(
    chain: Any,
    there: Bool[np.ndarray, "place context"],
    chosen: Float[np.ndarray, "context place"] | None = None,
    *,
    exact: int = EXACT,
) -> Float[np.ndarray, "context place"]:
    """Probability that each of some places is the first of them that a chain comes to, given that it comes to one.

    Solves u = T D u + T b + c, where D leaves out the contexts at a place and b is 1 at one's own; c is the chance that
    a goal which is an action is `chosen` (the chain leaves such choices out). A chain with more than
    `exact` contexts iterates until u changes by less than 1e-9. 0 in all places where none can be
    reached.

    Examples
    --------
    >>> walk = sparse.csr_array([[0, 1, 0, 0], [0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [0, 0, 1, 0]])
    >>> ends = np.array([[True, False, False, False], [False, False, False, True]])
    >>> first_reached(walk, ends).round(3).tolist()
    [[0.667, 0.333], [0.667, 0.333], [0.333, 0.667], [0.333, 0.667]]
    """
    on_the_way = chain @ sparse.diags_array((~there.any(axis=0)).astype(float))
    arriving = np.asarray(chain @ there.T.astype(float)) + (0.0 if chosen is None else chosen)
    # Where no place can be reached the system has no solution of its own: only the others are solved for.
    can = arriving.any(axis=1)
    while True:
        more = can | (on_the_way @ can.astype(float) > 0)
        if more.sum() == can.sum():
            break
        can = more
    system, ahead = sparse.csr_array(on_the_way)[can][:, can], np.zeros(arriving.shape)
    n, arriving = int(can.sum()), arriving[can]
    if n > exact:
        ahead[can], _ = _iterated(system, arriving, CHANGE, MAX_PRODUCTS)
    elif n:
        found, settled = _iterated(system, arriving, SMALL_CHANGE, FEW_PRODUCTS if n > SMALL else 0)
        ahead[can] = found if settled else cast(Any, spsolve(sparse.csc_array(sparse.eye_array(n) - system), arriving))
    return ahead / np.maximum(ahead.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def goal_forecast(
    model: DiscreteEstimator,
    data: Any,
    goals: Mapping[str, Any] | Sequence[Any],
    *,
    known: Scored = "next_state",
    exact: int = EXACT,
) -> Forecast:
    """Held-out log-loss of *which goal is reached next*, in nats, at every step after which one is.

    At a goal the question is of the next time, be it one step later. A stretch of the recording that ends before any
    goal is reached says nothing.

    Parameters
    ----------
    model
        A fitted model of labelled states, with modes or without.
    data
        Sessions that it was not fitted to.
    goals
        Two or more, as for `next_goal_log_loss`; none may be part of another.
    known
        What the forecast at step t is made from: ``"next_state"``, the states s_1:t; ``"action"``, also the actions
        a_1:t−1.
    exact
        Most contexts (history, mode) for which the linear system may be solved exactly; of more it is only iterated.

    Examples
    --------
    >>> from swirl import baselines, datasets
    >>> data = datasets.gridworld(n_sessions=8, n_steps=60).trajectories
    >>> model = baselines.BackoffMarkov(datasets.gridworld_env(), order=1).fit(data)
    >>> forecast = goal_forecast(model, data, {"corner": 0, "far corner": 24})
    >>> forecast.loss < 2 * forecast.base_rate
    True
    """
    places = list(goals.values()) if isinstance(goals, Mapping) else list(goals)
    if len(places) < 2:
        raise ValueError(f"goals={goals!r}: expected two or more places; which is reached next is the question")
    histories, n_modes = model.histories, len(model.initial_modes_)
    choices = {number: place for number, place in enumerate(places) if is_choice(place)}
    if choices and model.target != "action":
        raise ValueError(f"goals={goals!r}: {model.label} is of next states and knows no actions; give states")
    where = check_places(goals, np.asarray(model.world.available))
    taken = _choices(model, choices, len(places))
    chain = chain_of(model, np.asarray(taken.any(axis=0)) if choices else None)
    there = np.repeat(where[:, histories.states], n_modes, axis=1)  # [goal, history · n_modes + mode]
    chosen = None
    if choices and (table := model.choice_table()) is not None:
        chosen = np.einsum("zha,gha->hzg", np.asarray(table), taken).reshape(-1, len(places))
    ahead = first_reached(chain, there, chosen, exact=exact)
    encoded, beliefs = model.mode_beliefs(data, known)
    for state, action in choices.values():
        seen = encoded.states == state
        if seen.any() and (encoded.actions[seen] < 0).all():
            raise ValueError(
                f"goals={goals!r}: no action is recorded in state {state}, so whether {action} was chosen is not "
                "known; give states"
            )
    cuts = _stretches(encoded)[1:-1]
    came = np.concatenate(reached_next(np.split(encoded.states, cuts), places, np.split(encoded.actions, cuts)))
    return _scored(encoded, _chances(encoded, beliefs, ahead, came), came)


def _choices(
    model: DiscreteEstimator, choices: Mapping[int, Any], n_goals: int
) -> Bool[np.ndarray, "goal history option"]:
    """At which histories, by which option, each goal that is an action in a state is reached."""
    shape = np.shape(option_successors(model.histories, model.target).available)
    taken = np.zeros((n_goals, *shape), dtype=bool)
    for number, (state, action) in choices.items():
        taken[number, model.histories.states == state, action] = True
    return taken


def next_goal_log_loss(model: DiscreteEstimator, data: Any, goals: Mapping[str, Any] | Sequence[Any]) -> float:
    """Held-out log-loss of *which goal is reached next*, in nats per step: lower is better.

    The forecast at step t is made from s_1:t and a_1:t−1, by the causal filter and the model let run (a linear solve on
    history × mode). Steps after a session's last arrival at a goal are left out. `panel` lays the same, from the states
    alone, beside other measures, with intervals.

    Parameters
    ----------
    model
        A fitted model of labelled states, with modes or without.
    data
        Sessions that it was not fitted to.
    goals
        Two or more, by name or in order: a state, or a list of several, which is reached by coming to it after step t;
        or the tuple ``(state, action)``, which is reached when the action is chosen there, at step t or later.

    Examples
    --------
    >>> from swirl import datasets
    >>> world = datasets.gridworld(n_sessions=8, n_steps=60)
    >>> model = world.true_model()
    >>> float(round(next_goal_log_loss(model, world.trajectories, {"home": 0, "water": 23}), 2))
    0.29
    >>> stay = 4  # the action
    >>> float(round(next_goal_log_loss(model, world.trajectories, {"rests at home": (0, stay), "water": 23}), 2))
    0.42
    """
    known = "action" if model.target == "action" else "next_state"
    return goal_forecast(model, data, goals, known=known).loss


def check_places(
    goals: Mapping[str, Any] | Sequence[Any], available: Bool[np.ndarray, "state action"]
) -> Bool[np.ndarray, "place state"]:
    """Where each of some goals is; raises where a state or an action is unknown, or in two of them.

    A goal that is an action in a state is nowhere: coming there is not enough.

    >>> check_places({"water": 3, "home": [0, 1], "leaves": (2, 5)}, np.ones((4, 6), bool)).astype(int).tolist()
    [[0, 0, 0, 1], [1, 1, 0, 0], [0, 0, 0, 0]]
    """
    given = list(goals.values()) if isinstance(goals, Mapping) else list(goals)
    n_states, n_actions = available.shape
    where, taken = np.zeros((len(given), n_states), dtype=bool), np.zeros((n_states, n_actions), dtype=bool)
    for number, place in enumerate(given):
        if is_choice(place):
            continue
        states = np.atleast_1d(np.asarray(place))
        whole = states.size > 0 and np.issubdtype(states.dtype, np.integer)
        if not whole or states.min() < 0 or states.max() >= n_states:
            raise ValueError(f"goals={goals!r}: expected for each a state, or several, from 0 to {n_states - 1}")
        where[number, states] = True
    shared = np.flatnonzero(where.sum(axis=0) > 1)
    if len(shared):
        raise ValueError(f"goals={goals!r}: state {some(shared.tolist())} is in more than one of them")
    for state, action in (place for place in given if is_choice(place)):
        if not (0 <= state < n_states and 0 <= action < n_actions and available[state, action]):
            raise ValueError(
                f"goals={goals!r}: in state {state} there is no action {action}; (state, action) is an action in a "
                f"state, and several states are a list, [{state}, {action}]"
            )
        if where[:, state].any():
            raise ValueError(f"goals={goals!r}: state {state} is itself a goal, so what is done there comes too late")
        if taken[state, action]:
            raise ValueError(f"goals={goals!r}: the same action in the same state is there twice")
        taken[state, action] = True
    return where


def place_forecast(model: DiscreteEstimator, data: Any, steps: Sequence[int] = (1, 5, 20)) -> dict[int, Forecast]:
    """Held-out log-loss of *where it is* some numbers of steps ahead, in nats, at every step with so many after it.

    With one step ahead it is −`score` of next states, but for the steps of which the next state is not recorded.

    Parameters
    ----------
    model
        A fitted model of labelled states, with modes or without.
    data
        Sessions that it was not fitted to.
    steps
        Numbers of steps, each 1 or more.

    Examples
    --------
    >>> from swirl import datasets
    >>> world = datasets.gridworld(n_sessions=4, n_steps=60)
    >>> found = place_forecast(world.true_model(), world.trajectories, (1, 5))
    >>> found[1].loss < found[5].loss < found[5].base_rate
    True
    """
    if any(k < 1 or k != int(k) for k in steps):
        raise ValueError(f"steps={steps!r}: expected whole numbers of 1 or more")
    chain, states_of = chain_of(model), model.histories.states
    n_modes = len(model.initial_modes_)
    encoded, beliefs = model.mode_beliefs(data)
    states, now = encoded.states.astype(np.int64), np.arange(encoded.n_steps)
    stretches = _stretches(encoded)
    last = np.repeat(stretches[1:], np.diff(stretches)) - 1
    came = {k: np.where(now + k <= last, states[np.minimum(now + k, len(states) - 1)], -1) for k in steps}
    chance = {k: np.zeros(len(states)) for k in steps}
    visited = np.unique(states)
    width = max(BLOCK // (len(states_of) * n_modes), 1)
    for block in (visited[i : i + width] for i in range(0, len(visited), width)):  # all places at once may be too many
        column = np.full(model.histories.n_states, -1)
        column[block] = np.arange(len(block))
        ahead = np.repeat(states_of[:, None] == block, n_modes, axis=0).astype(float)
        for k in range(1, max(steps, default=0) + 1):
            ahead = np.asarray(chain @ ahead)
            if k in chance:
                chance[k] += _chances(encoded, beliefs, ahead, np.where(came[k] >= 0, column[came[k]], -1))
    return {k: _scored(encoded, chance[k], came[k]) for k in steps}
