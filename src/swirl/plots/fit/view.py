"""A fit, read once for all of its figures: the sessions decoded, and what each mode wants and does as tables."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.analysis.comparison_result import Comparison
from swirl.analysis.mode_signal import signal_called
from swirl.analysis.state_summaries import by_state, most_visited, onward
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.errors import counted
from swirl.estimators.base import HiddenModeEstimator, UnseenStatesWarning, as_trajectories
from swirl.estimators.discrete import DiscreteEstimator
from swirl.estimators.iq_learn import IQLearn
from swirl.estimators.swirl import SWIRL
from swirl.plots.state_maps import state_names
from swirl.plots.style import mode_colours, mode_labels, named_mode_colours
from swirl.rewards.gauge import GaugeTooLargeError

MOST_STATES = 2_000  # beyond that a table of states by states is no figure
MOST_NAMES = 30  # states that a table or a row of bars has room for; the most visited ones are drawn


class DoesNotApply(ValueError):
    """A figure that this fit has nothing for."""


@contextmanager
def quietly() -> Iterator[None]:
    """Say nothing of states that training never visited: the report of a fit tells.

    >>> with quietly():
    ...     warnings.warn("state 3 was never seen", UnseenStatesWarning)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenStatesWarning)
        yield


@dataclass(frozen=True)
class Fit:
    """A model, sessions, and what the one says of the other, read once for all figures."""

    model: HiddenModeEstimator
    data: Trajectories
    env: MDP | None
    modes: list[Int[np.ndarray, "_"]]
    mode_names: list[str]
    colours: list[str]
    signal: str | None
    comparison: Comparison | None = None

    @property
    def n_modes(self) -> int:
        """Number of modes."""
        return len(self.mode_names)

    @cached_property
    def posterior(self) -> list[np.ndarray]:
        """p(mode | whole session) of each step."""
        with quietly():
            return [np.asarray(share) for share in self.model.predict_proba(self.data)]

    @cached_property
    def shown(self) -> list[int]:
        """The states that a table or a row of bars has room for: all, or the most visited ones, in their order."""
        return most_visited(self.data.states, self.environment().n_states, MOST_NAMES)

    def environment(self) -> MDP:
        """The environment, or word that there is none."""
        if self.env is None:
            raise DoesNotApply("the model has no environment of labelled states")
        return self.env

    def several_modes(self) -> None:
        """Refuse a model of one mode."""
        if self.n_modes < 2:
            raise DoesNotApply("the model has one mode")

    def states(self, table: Any) -> Any:
        """Names of states by their number, for a table."""
        return np.array(state_names(self.environment()), dtype=object)[table]

    def names(self, modes: Any) -> Any:
        """Names of modes by their number, for a table."""
        return np.array(self.mode_names, dtype=object)[modes]


def read_fit(
    model: Any,
    data: Any,
    *,
    signal: str | None = None,
    mode_names: Sequence[str] | None = None,
    comparison: Comparison | None = None,
) -> Fit:
    """Decode the sessions, and check the names of signal and modes."""
    if not isinstance(model, HiddenModeEstimator):
        raise ValueError(f"model is {type(model).__name__}: expected a fitted model, such as swirl.load('fit.nc')")
    data = as_trajectories(data)
    if signal is not None:
        signal_called(data, signal)
    n_modes = len(model.initial_modes_)
    mode_names = mode_names or getattr(model, "mode_names_", None)
    if mode_names is not None and len(mode_names) != n_modes:
        raise ValueError(f"mode_names: got {counted(len(mode_names), 'name')} for {counted(n_modes, 'mode')}")
    env = getattr(model, "_world", getattr(model, "env", None))  # model-free models keep what training saw
    with quietly():
        modes = [np.asarray(path) for path in model.predict(data)]
    return Fit(
        model,
        data,
        env if isinstance(env, MDP) else None,
        modes,
        mode_labels(mode_names, n_modes),
        mode_colours(n_modes) if mode_names is None else named_mode_colours(list(mode_names)),
        signal,
        comparison,
    )


def gauge(fit: Fit) -> str:
    """What a reward is called beside its scale: which of the equivalent ones it is."""
    per_action = isinstance(fit.model, SWIRL) and fit.model.rewards_.ndim == 3
    return "reward (least norm)" if per_action else "reward (fitted gauge)"


def small(env: MDP) -> MDP:
    """Refuse an environment of too many states for a table of states by states."""
    if env.n_states > MOST_STATES:
        raise DoesNotApply(f"{env.n_states:,} states are too many for a table of states by states")
    return env


def state_rewards(fit: Fit) -> Float[np.ndarray, "mode state"]:
    """Reward of each state; NaN where the training data say nothing about it."""
    if isinstance(fit.model, IQLearn):
        return fit.model.reward_map("marginal")
    if not isinstance(fit.model, SWIRL):
        raise DoesNotApply(f"{type(fit.model).__name__} has no rewards")
    try:
        values = fit.model.reward_map()
    except GaugeTooLargeError:
        raise DoesNotApply("there are too many histories for a reward of states") from None
    full = fit.model._histories.full_length
    known = ~_uninformed(fit.model)[full]
    informed = np.bincount(fit.model._histories.states[full], weights=known, minlength=values.shape[1]) > 0
    return np.where(informed, values, np.nan)


def _uninformed(model: Any) -> Bool[np.ndarray, "history"]:
    flags = getattr(model, "uninformed_", None)
    return np.zeros(model._histories.n_histories, bool) if flags is None else np.asarray(flags, bool)


def pair_rewards(fit: Fit) -> Float[np.ndarray, "mode state previous"]:
    """Reward of each state by the state before it, averaged over what came earlier; NaN where nothing is known."""
    model, env = fit.model, small(fit.environment())
    if not isinstance(model, SWIRL) or model.rewards_.ndim != 2:
        raise DoesNotApply("the model has no reward of states alone")
    if model._histories.length < 2:
        raise DoesNotApply("the reward sees one state only")
    kept = model._histories.full_length & ~_uninformed(model)
    pair = model._histories.table[kept, :2]
    total, count = np.zeros((env.n_states, env.n_states, fit.n_modes)), np.zeros((env.n_states, env.n_states))
    np.add.at(total, (pair[:, 0], pair[:, 1]), model.rewards_[:, kept].T)
    np.add.at(count, (pair[:, 0], pair[:, 1]), 1)
    known = count[..., None] > 0
    return np.where(known, total / np.maximum(count[..., None], 1), np.nan).transpose(2, 0, 1)


def action_rewards(fit: Fit) -> Float[np.ndarray, "mode state action"]:
    """Reward of each action in each state: r(h, a), or of what it leads to, E[r(h') | h, a]; over earlier states."""
    model = fit.model
    if not isinstance(model, SWIRL | IQLearn):
        raise DoesNotApply(f"{type(model).__name__} has no rewards")
    histories, values = model._histories, np.asarray(model.rewards_)
    tables = histories.successors
    if values.ndim == 2:
        weight = np.asarray(tables.probability)
        values = np.einsum("khab,hab->kha", values[:, np.asarray(tables.next)], weight)
    values = np.where(np.asarray(tables.available), values, np.nan)
    return by_state(histories).mean(values)


def actions_are_states(env: MDP) -> bool:
    """Whether the action is the next state, as for syllables."""
    if env.n_states != env.n_actions or not env.is_deterministic:
        return False
    leads = np.asarray(env.successors.next)[:, :, 0] == np.arange(env.n_actions)
    return bool(leads[np.asarray(env.available)].all())


def moves(fit: Fit) -> tuple[MDP, Float[np.ndarray, "mode state move"]]:
    """Where each mode goes: an environment whose actions are the moves from state to state, and policies over these.

    So models of actions and of next states are drawn alike.
    """
    model, env = fit.model, small(fit.environment())
    if not isinstance(model, DiscreteEstimator) or len(table := model._table()) != fit.n_modes:
        raise DoesNotApply("the model has no policy for each mode")
    ways, states = onward(model._histories, model.target), by_state(model._histories)
    shares = ways.shares(states, states.mean(table))
    total = shares.sum(axis=2, keepdims=True)
    shares = np.where(total > 0, shares / np.where(total > 0, total, 1.0), np.nan)
    drawn = MDP.deterministic(ways.following, state_names=env.state_names, coordinates=env.coordinates)
    return drawn, shares
