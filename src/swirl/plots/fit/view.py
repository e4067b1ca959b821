"""A fit, read once for all of its figures: the sessions decoded, and what each mode wants and does as tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from swirl.analysis.comparison_result import Comparison
from swirl.analysis.mode_signal import signal_called
from swirl.analysis.state_summaries import by_state, most_visited, onward
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.errors import counted
from swirl.estimators.base import HiddenModeEstimator, as_trajectories, quietly
from swirl.plots.state_maps import state_names
from swirl.plots.style import mode_colours, mode_labels, named_mode_colours
from swirl.rewards.gauge import GaugeTooLargeError

MOST_STATES = 2_000  # beyond that a table of states by states is no figure
MOST_NAMES = 30  # states that a table or a row of bars has room for; the most visited ones are drawn


class DoesNotApply(ValueError):
    """A figure that this fit has nothing for."""


@dataclass(frozen=True)
class Fit:
    """A model, sessions, and what the one says of the other, read once for all figures."""

    model: Any
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
    mode_names = mode_names or model.mode_names_
    if mode_names is not None and len(mode_names) != n_modes:
        raise ValueError(f"mode_names: got {counted(len(mode_names), 'name')} for {counted(n_modes, 'mode')}")
    with quietly():
        modes = [np.asarray(path) for path in model.predict(data)]
    return Fit(
        model,
        data,
        model.world,
        modes,
        mode_labels(mode_names, n_modes),
        mode_colours(n_modes) if mode_names is None else named_mode_colours(list(mode_names)),
        signal,
        comparison,
    )


def gauge(fit: Fit) -> str:
    """What a reward is called beside its scale: which of the equivalent ones it is."""
    return "reward (least norm)" if fit.model.map_gauge == "canonical" else "reward (fitted gauge)"


def small(env: MDP) -> MDP:
    """Refuse an environment of too many states for a table of states by states."""
    if env.n_states > MOST_STATES:
        raise DoesNotApply(f"{env.n_states:,} states are too many for a table of states by states")
    return env


def state_rewards(fit: Fit) -> Float[np.ndarray, "mode state"]:
    """Reward of each state; NaN where the training data say nothing about it."""
    if not fit.model.gauges:
        raise DoesNotApply(f"{type(fit.model).__name__} has no rewards")
    try:
        return fit.model.known_reward_map()
    except GaugeTooLargeError:
        raise DoesNotApply("there are too many histories for a reward of states") from None


def pair_rewards(fit: Fit) -> Float[np.ndarray, "mode state previous"]:
    """Reward of each state by the state before it, averaged over what came earlier; NaN where nothing is known."""
    model, env = fit.model, small(fit.environment())
    if not model.gauges or model.rewards_.ndim != 2:
        raise DoesNotApply("the model has no reward of states alone")
    if model.histories.length < 2:
        raise DoesNotApply("the reward sees one state only")
    kept = model.histories.full_length & ~np.asarray(False if model.uninformed_ is None else model.uninformed_, bool)
    pair = model.histories.table[kept, :2]
    total, count = np.zeros((env.n_states, env.n_states, fit.n_modes)), np.zeros((env.n_states, env.n_states))
    np.add.at(total, (pair[:, 0], pair[:, 1]), model.rewards_[:, kept].T)
    np.add.at(count, (pair[:, 0], pair[:, 1]), 1)
    known = count[..., None] > 0
    return np.where(known, total / np.maximum(count[..., None], 1), np.nan).transpose(2, 0, 1)


def action_rewards(fit: Fit) -> Float[np.ndarray, "mode state action"]:
    """Reward of each action in each state: r(h, a), or of what it leads to, E[r(h') | h, a]; over earlier states."""
    model = fit.model
    if not model.gauges:
        raise DoesNotApply(f"{type(model).__name__} has no rewards")
    histories, values = model.histories, np.asarray(model.rewards_)
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
    if (table := model.choice_table()) is None:
        raise DoesNotApply("the model has no policy for each mode")
    ways, states = onward(model.histories, model.target), by_state(model.histories)
    shares = ways.shares(states, states.mean(table))
    total = shares.sum(axis=2, keepdims=True)
    shares = np.where(total > 0, shares / np.where(total > 0, total, 1.0), np.nan)
    drawn = MDP.deterministic(ways.following, state_names=env.state_names, coordinates=env.coordinates)
    return drawn, shares
