"""Where is it going: forecasts beyond the next step, from what is known so far.

A fitted model and its modes are one Markov chain on (history, mode).  With T its matrix,

    u_g(x) = Σ_x' T[x, x'] (1 if x' is at goal g, 0 if at another goal, else u_g(x'))      which goal is reached next
    u_k(x, s) = Σ_x' T[x, x'] u_{k−1}(x', s),      u_0(x, s) = 1 if x is in s                where it is k steps ahead

The first is a linear system, solved exactly.  At each step the causal filter says which mode it may be in, and the
forecast is the mean of u over modes; its log-loss is scored where the recording tells what came.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
from jaxtyping import Float, Int
from scipy.sparse.linalg import spsolve

from swirl.analysis.behaviour import at
from swirl.estimators.base import as_trajectories
from swirl.estimators.discrete import DiscreteEstimator, option_successors
from swirl.inference.messages import filter_sessions
from swirl.text import some

LEAST = 1e-12  # probability that a forecast counts as, where the model rules out what came


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
        Log-loss of always forecasting how often each outcome came in these data.
    """

    losses: Float[np.ndarray, "session"]
    steps: Int[np.ndarray, "session"]
    base_rate: float

    @property
    def loss(self) -> float:
        """Mean log-loss of a step; NaN where no step could be scored."""
        return float(self.losses.sum() / self.steps.sum()) if self.steps.sum() else np.nan


def chain_of(model: DiscreteEstimator) -> sparse.csr_array:
    """The matrix T of a fitted model on (history · n_modes + mode).

    Its modes and choices are those of sampling: a_t by π_z(·|h_t), the next mode by P_z(·|z_t, s_t).
    """
    table = model.choice_table()
    if table is None:
        raise ValueError(
            f"{model.label}: its choices change along a session, so there is no one chain to forecast from"
        )
    histories, switching = model.histories, model.mode_transitions_
    to = option_successors(histories, model.target)
    following, chance = np.asarray(to.next), np.asarray(to.probability)
    n_modes, n = table.shape[0], histories.n_histories
    rows, columns, values = [], [], []
    at_history = np.broadcast_to(np.arange(n)[:, None, None], following.shape)
    for z in range(n_modes):
        weight = np.asarray(table[z])[:, :, None] * chance
        used = weight > 0
        origin, leads, weight = at_history[used], following[used], weight[used]
        for next_z in range(n_modes):
            rows.append(origin * n_modes + z)
            columns.append(leads.astype(np.int64) * n_modes + next_z)
            values.append(weight * switching[histories.states[origin], z, next_z])
    size = n * n_modes
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.coo_array(entries, shape=(size, size)).tocsr()


def reached_next(states: Sequence[Any], places: Sequence[Any]) -> list[Int[np.ndarray, "_"]]:
    """Which of some places is reached next after each step; −1 where none is before the session ends.

    >>> reached_next([[0, 1, 2, 1, 0]], [0, 2])[0].tolist()
    [1, 1, 0, 0, -1]
    """
    found = []
    for path in states:
        here = np.full(len(path), -1)
        for number, place in reversed(list(enumerate(places))):
            here[at(path, place)] = number
        arrivals = np.where(here >= 0, np.arange(len(path)), len(path))
        coming = np.minimum.accumulate(np.append(arrivals, len(path))[::-1])[::-1][1:]
        found.append(np.append(here, -1)[coming])
    return found


def _beliefs(model: DiscreteEstimator, data: Any) -> tuple[Any, Float[np.ndarray, "step mode"]]:
    """p(z_t | s_1:t, a_1:t−1) of every step, and the data as the model reads them."""
    encoded, evidence = model._ready(data, "next_state" if "next_state" in model.score_types else None)
    _, _, predicted = model._run(filter_sessions, encoded, evidence)
    return encoded, np.concatenate(predicted)


def _scored(
    encoded: Any,
    beliefs: Float[np.ndarray, "step mode"],
    ahead: Float[np.ndarray, "context outcome"],
    came: Int[np.ndarray, "step"],
) -> Forecast:
    """Log-loss of the outcome that came after each step, −1 where none is known; contexts are (history, mode)."""
    known = came >= 0
    n_modes = beliefs.shape[1]
    rows = encoded.histories[known, None] * n_modes + np.arange(n_modes)
    chance = np.einsum("tz,tz->t", beliefs[known], ahead[rows, came[known, None]])
    losses = np.zeros(len(came))
    losses[known] = -np.log(np.maximum(chance, LEAST))
    share = np.bincount(came[known], minlength=1) / max(known.sum(), 1)
    sessions = encoded.split_sessions(losses), encoded.split_sessions(known)
    return Forecast(
        np.array([part.sum() for part in sessions[0]]),
        np.array([int(part.sum()) for part in sessions[1]]),
        float(-np.sum(share[share > 0] * np.log(share[share > 0]))),
    )


def goal_forecast(model: DiscreteEstimator, data: Any, goals: Mapping[str, Any] | Sequence[Any]) -> Forecast:
    """Held-out log-loss of *which goal is reached next*, at every step after which one is.

    Parameters
    ----------
    model
        A fitted model of labelled states, with modes or without.
    goals
        Two or more places, each a state or several, by name or in order; none may be part of another.

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
    histories = model.histories
    where = np.stack([at(np.arange(histories.n_states), place) for place in places])
    shared = np.flatnonzero(where.sum(axis=0) > 1)
    if len(shared):
        raise ValueError(f"goals={goals!r}: state {some(shared)} is in more than one of them")
    if not where.any(axis=1).all():
        raise ValueError(f"goals={goals!r}: expected states from 0 to {histories.n_states - 1}")
    chain = chain_of(model)
    n_modes = chain.shape[0] // histories.n_histories
    there = np.repeat(where[:, histories.states], n_modes, axis=1)  # [goal, history · n_modes + mode]
    on_the_way = sparse.diags_array((~there.any(axis=0)).astype(float))
    system = sparse.eye_array(chain.shape[0]) - chain @ on_the_way
    # Where no goal can be reached the system has no solution of its own; a hair less than certain makes it 0.
    system = system + 1e-12 * sparse.eye_array(chain.shape[0])
    ahead = spsolve(system.tocsc(), (chain @ there.T.astype(float)))
    ahead = ahead / np.maximum(ahead.sum(axis=1, keepdims=True), LEAST)  # given that one of them is reached
    encoded, beliefs = _beliefs(model, data)
    return _scored(encoded, beliefs, ahead, np.concatenate(reached_next(as_trajectories(data).states, places)))


def place_forecast(model: DiscreteEstimator, data: Any, steps: Sequence[int] = (1, 5, 20)) -> dict[int, Forecast]:
    """Held-out log-loss of *where it is* some numbers of steps ahead.

    With one step ahead it is −`score` of next states, but for the steps of which the next state is not known.
    """
    chain, histories = chain_of(model), model.histories
    n_modes = chain.shape[0] // histories.n_histories
    encoded, beliefs = _beliefs(model, data)
    states = encoded.states.astype(np.int64)
    last = np.repeat(encoded.chains[1:], np.diff(encoded.chains)) - 1
    ahead = np.repeat(np.eye(histories.n_states)[histories.states], n_modes, axis=0)
    found = {}
    for k in range(1, max(steps, default=0) + 1):
        ahead = chain @ ahead
        if k in steps:
            later = np.arange(len(states)) + k
            came = np.where(later <= last, states[np.minimum(later, len(states) - 1)], -1)
            found[k] = _scored(encoded, beliefs, ahead, came)
    return found
