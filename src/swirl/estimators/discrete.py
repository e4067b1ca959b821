"""What the models of labelled states share: histories, tables of choices, both scores, sampling.

At each step an animal chooses among *options*: the actions of its state, or the states that can follow it.  A
model holds a table of their probabilities, [mode, history, option].
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.encoding import Encoded, Impossible, Survey, encode
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.streamed import StreamedTrajectories
from swirl.data.successors import Successors
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.estimators.base import HiddenModeEstimator, Scored
from swirl.inference.estep.counts import Chains, LatentChoices
from swirl.inference.estep.streaming import StreamedChains
from swirl.inference.likelihood import (
    Evidence,
    action_evidence,
    next_state_evidence,
    next_states,
    option_evidence,
    reach,
    said_by_action,
)
from swirl.inference.messages import bucket, filter_sessions
from swirl.inference.sampling import simulate

Target = Literal["action", "next_state"]


def one_action_per_successor(env: MDP) -> bool:
    """Whether the state that follows says which action was taken, so that both scores are the same number.

    >>> one_action_per_successor(MDP.deterministic([[0, 1], [0, 1]]))
    True
    >>> one_action_per_successor(MDP.deterministic([[0, 0], [0, 1]]))
    False
    """
    if not env.is_deterministic:
        return False
    classes = env.action_classes()
    return bool(np.all((classes == np.arange(env.n_actions)) | ~env.available))


def check_env(env: Any, faults: Faults) -> None:
    """Note a fault where `env` is not an environment."""
    if not isinstance(env, MDP):
        faults.add(
            f"env is {type(env).__name__}: expected swirl.MDP; build it as swirl.MDP(transitions) from "
            "[state, action, next_state] or swirl.MDP.deterministic(next_state) from [state, action]"
        )


class DiscreteEstimator(HiddenModeEstimator):
    """A model of choices at labelled states."""

    env: MDP
    impossible: Impossible | None
    target: Target = "action"
    """What is chosen at each step."""
    initial_states_: Float[np.ndarray, "state"]
    _histories: Histories

    @property
    def world(self) -> MDP:
        """The environment in which states and actions are read."""
        return self.env

    @property
    def score_types(self) -> tuple[Scored, ...]:
        """What the model gives a likelihood of, its own first."""
        if self.target == "action":
            return ("action", "next_state")
        return ("next_state", "action") if one_action_per_successor(self.world) else ("next_state",)

    @property
    def histories(self) -> Histories:
        """The histories that the model tells apart."""
        self.check_fitted()
        return self._histories

    def choice_table(self) -> Float[np.ndarray, "mode history option"] | None:
        """Probability of each option in each mode; None where it changes along the session instead."""
        self.check_fitted()
        table = self._table()
        return table if len(table) == len(self.initial_modes_) else None

    @abstractmethod
    def _log_table(self) -> Float[np.ndarray, "mode history option"]:
        """Log-probability of each option in each mode."""

    def _table(self) -> Float[np.ndarray, "mode history option"]:
        """Probability of each option in each mode."""
        return np.exp(self._log_table())

    def _log_of(self, name: str) -> Float[np.ndarray, "mode history option"]:
        """Logarithms of a fitted table: as they are kept, or of the table where an older file has none."""
        kept = getattr(self, f"log_{name}_", None)
        if kept is not None:
            return kept
        with np.errstate(divide="ignore"):
            return np.log(getattr(self, f"{name}_"))

    def _possible_actions(self) -> Bool[np.ndarray, "state action"]:
        """Actions that a missing one may have been."""
        return self.world.available

    def _policy_distance(
        self, other: Any, data: Trajectories, modes: Int[np.ndarray, "step"], counterparts: Int[np.ndarray, "mode"]
    ) -> float:
        """Mean total-variation distance ½ Σ_a |π_z(a|h) − π'_z(a|h)| over the steps of some data."""
        apart = 0.5 * np.abs(self._table() - other._table()[counterparts]).sum(axis=-1)
        return float(apart[modes, self._encode(data).histories].mean())

    def _encode(self, data: Trajectories) -> Encoded:
        return encode(data, self.world, self._histories, impossible=self.impossible)

    def _read(self, data: Trajectories, of: Scored) -> tuple[Encoded, Evidence]:
        encoded = self._encode(data)
        return encoded, self._evidence(encoded, of)

    def _evidence(self, encoded: Encoded, of: Scored) -> Evidence:
        log_table, env = self._log_table(), self.world
        if self.target == "action" and of == "action":
            return action_evidence(log_table, encoded, env, self._possible_actions())
        if self.target == "action":
            return next_state_evidence(log_table, encoded, env)
        chosen = options(encoded, env, self._histories, "next_state")
        known = chosen >= 0
        scored = known & (encoded.actions >= 0) if of == "action" else known  # they coincide; only seen actions count
        return Evidence(option_evidence(log_table, encoded, chosen), scored, known & ~said_by_action(encoded, env))

    def mode_beliefs(self, data: Any, known: Scored = "next_state") -> tuple[Encoded, Float[np.ndarray, "step mode"]]:
        """The data as the model reads them, and p(z_t | s_1:t) of each step: what is known before its choice is.

        From the states alone, also where actions were seen, so that models of actions and of next states know the same
        when they forecast; where each action has one end of its own that makes no difference. ``known="action"``:
        p(z_t | s_1:t, a_1:t−1).

        >>> from swirl.datasets import gridworld
        >>> data = gridworld(n_sessions=2, n_steps=20)
        >>> data.true_model().mode_beliefs(data.trajectories)[1].shape
        (40, 2)
        """
        encoded, evidence = self._ready(data, known, warn=False)
        _, _, predicted = self._run(filter_sessions, encoded, evidence)
        return encoded, np.concatenate(predicted)

    def sample(self, n_sessions: int, n_steps: int, random_state: int = 0) -> Trajectories:
        """Simulate sessions from the fitted model; the result has `.modes`.

        A model of next states says nothing of actions: they are the first that lead there where the environment is
        deterministic, and missing where it is not.
        """
        self.check_fitted()
        histories, env = self._histories, self.world
        states, chosen, modes = simulate(
            histories,
            initial_states=self.initial_states_,
            initial_modes=self.initial_modes_,
            mode_transitions=self.mode_transitions_,
            policies=self._table(),
            n_sessions=n_sessions,
            n_steps=n_steps,
            rng=np.random.default_rng(random_state),
            successors=option_successors(histories, self.target),
        )
        actions = list(chosen)
        if self.target == "next_state":
            actions = list(self._leading_actions()[states, chosen]) if env.is_deterministic else None
        return Trajectories(
            list(states),
            actions,
            modes=list(modes),
            n_states=env.n_states,
            n_actions=env.n_actions,
            state_names=env.state_names,
            action_names=env.action_names,
        )

    def _leading_actions(self) -> Int[np.ndarray, "state option"]:
        """First available action that leads to each possible next state."""
        env, moves = self.world, self._histories.moves
        n_states = env.n_states
        following = self._histories.states[np.asarray(moves.next)[:n_states, :, 0]]
        leads = (np.asarray(env.successors.next)[:, :, 0][:, :, None] == following[:, None]) & env.available[:, :, None]
        return np.argmax(leads, axis=1)


def options(encoded: Encoded, env: MDP, histories: Histories, target: Target) -> Int[np.ndarray, "step"]:
    """The option chosen at each step, −1 where it is not known."""
    if target == "action":
        return encoded.actions.astype(np.int64)
    following = next_states(encoded, env)
    known = following >= 0
    chosen = np.full(encoded.n_steps, -1, dtype=np.int64)
    chosen[known] = histories.ranks(encoded.states[known].astype(np.int64), following[known])
    return chosen


def choice_chains(
    encoded: Encoded, rows: Int[np.ndarray, "history"], chosen: Int[np.ndarray, "step"], n_options: int, n_states: int
) -> Chains:
    """The data as EM reads them: a symbol is a row of the table of choices and the option chosen there."""
    n_symbols = (int(rows.max()) + 1) * n_options
    symbols = np.where(chosen >= 0, rows[encoded.histories] * n_options + chosen, n_symbols)
    return Chains(symbols.astype(np.int32), encoded.states, encoded.chains, n_symbols, n_states)


def action_chains(
    histories: Histories, rows: Int[np.ndarray, "history"], env: MDP, survey: Survey
) -> tuple[Callable[[Encoded], Chains], LatentChoices | None]:
    """What makes `choice_chains` of the actions, with a symbol of its own for each (row, next state) of a missing one.

    The second value says which actions each of those symbols may have been; None where no action is missing.

    Parameters
    ----------
    survey
        Of the whole recording, which is then read in one piece or in parts.
    """
    here, to = survey.latent.T
    own = rows[here].astype(np.int64)
    moves, first = np.unique(own * env.n_states + to, return_index=True)
    chances = reach(env, histories.states[here[first]], to[first])
    choices = latent_choices(own[first, None] * env.n_actions + np.arange(env.n_actions), chances)

    def chains(encoded: Encoded) -> Chains:
        seen = choice_chains(encoded, rows, encoded.actions.astype(np.int64), env.n_actions, env.n_states)
        steps = np.flatnonzero(encoded.latent)
        made = rows[encoded.histories[steps]].astype(np.int64) * env.n_states + encoded.following[steps]
        return with_latent(seen, choices, steps, np.searchsorted(moves, made))

    return chains, choices


def surveyed(
    data: Trajectories | StreamedTrajectories, read: Callable[[Trajectories], Encoded], histories: Histories
) -> tuple[Encoded | None, Survey]:
    """The data as a model reads them, None where they are not in memory, and what is known of them as a whole."""
    if isinstance(data, StreamedTrajectories):
        return None, Survey.together(Survey.of(read(part), histories) for part in data)
    encoded = read(data)
    return encoded, Survey.of(encoded, histories)


def chains_of(
    data: Trajectories | StreamedTrajectories,
    encoded: Encoded | None,
    read: Callable[[Trajectories], Encoded],
    make: Callable[[Encoded], Chains],
) -> Chains | StreamedChains:
    """The chains that `make` makes of the data, part by part where they are not in memory."""
    if isinstance(data, StreamedTrajectories):
        return StreamedChains(data, lambda part: make(read(part)), data.scratch)
    return make(read(data) if encoded is None else encoded)


def latent_choices(
    ways: Int[np.ndarray, "latent way"], chances: Float[np.ndarray, "latent way"]
) -> LatentChoices | None:
    """Latent choices by the symbols that each may have been, and how probably each leads where it led (0: it does not).

    None where there is no latent choice.
    """
    if not len(ways):
        return None
    n_latent = bucket(len(ways))  # few shapes to compile for; rows beyond are never visited
    width = int((chances > 0).sum(axis=1).max())
    order = np.argsort(chances <= 0, axis=1, kind="stable")[:, :width]
    own = np.zeros((n_latent, width), dtype=np.int32)
    log_reach = np.full((n_latent, width), -np.inf)
    own[: len(ways)] = np.take_along_axis(ways, order, axis=1)
    with np.errstate(divide="ignore"):
        log_reach[: len(ways)] = np.log(np.take_along_axis(chances, order, axis=1))
    return LatentChoices(own, log_reach)


def with_latent(
    chains: Chains, choices: LatentChoices | None, steps: Int[np.ndarray, "step"], which: Int[np.ndarray, "step"]
) -> Chains:
    """Give the latent choices of some `steps` symbols of their own: `which` of the `choices` each of them is."""
    if choices is None:
        return chains
    n_symbols = chains.n_symbols + choices.symbols.shape[0]
    symbols = np.where(chains.symbols == chains.n_symbols, n_symbols, chains.symbols)
    symbols[steps] = chains.n_symbols + which
    return replace(chains, symbols=symbols.astype(np.int32), n_symbols=n_symbols)


def option_successors(histories: Histories, target: Target) -> Successors:
    """Where each option leads from each history."""
    return histories.successors if target == "action" else histories.moves
