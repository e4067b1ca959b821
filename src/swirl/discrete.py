"""What the models of labelled states share: histories, tables of choices, both scores, sampling.

At each step an animal chooses among *options*: the actions of its state, or the states that can follow it.  A
model holds a table of their probabilities, [mode, history, option].
"""

from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.encoding import Encoded, Impossible, encode
from swirl.estep.counts import Chains
from swirl.estimator import HiddenModeEstimator, Scored
from swirl.faults import Faults
from swirl.history import Histories
from swirl.likelihood import action_likelihoods, next_state_likelihoods, next_states, option_likelihoods
from swirl.mdp import MDP
from swirl.simulate import simulate
from swirl.successors import Successors
from swirl.trajectories import Trajectories

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
    impossible: Impossible
    target: Target = "action"
    """What is chosen at each step."""
    initial_states_: Float[np.ndarray, "state"]
    _histories: Histories

    @property
    def _world(self) -> MDP:
        """The environment in which states and actions are read."""
        return self.env

    @property
    def currencies(self) -> tuple[Scored, ...]:
        """What the model gives a likelihood of, its own first."""
        if self.target == "action":
            return ("action", "next_state")
        return ("next_state", "action") if one_action_per_successor(self._world) else ("next_state",)

    def _table(self) -> Float[np.ndarray, "mode history option"]:
        """Probability of each option in each mode."""
        raise NotImplementedError

    def _encode(self, data: Trajectories) -> Encoded:
        return encode(data, self._world, self._histories, impossible=self.impossible)

    def _read(
        self, data: Trajectories, of: Scored
    ) -> tuple[Encoded, Float[np.ndarray, "step mode"], Bool[np.ndarray, "step"]]:
        encoded = self._encode(data)
        return encoded, *self._step_log_likelihoods(encoded, of)

    def _step_log_likelihoods(
        self, encoded: Encoded, of: Scored
    ) -> tuple[Float[np.ndarray, "step mode"], Bool[np.ndarray, "step"]]:
        table = self._table()
        if self.target == "action":
            if of == "action":
                return action_likelihoods(table, encoded)
            return next_state_likelihoods(table, encoded, self._world)
        chosen = options(encoded, self._world, self._histories, "next_state")
        if of == "action":  # they coincide; only observed actions count
            chosen = np.where(encoded.actions >= 0, chosen, -1)
        return option_likelihoods(table, encoded, chosen)

    def sample(self, n_sessions: int, n_steps: int, random_state: int = 0) -> Trajectories:
        """Simulate sessions from the fitted model; the result has `.modes`.

        A model of next states says nothing of actions: they are the first that lead there where the environment is
        deterministic, and missing where it is not.
        """
        self._check_fitted()
        histories, env = self._histories, self._world
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
        env, moves = self._world, self._histories.moves
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


def option_successors(histories: Histories, target: Target) -> Successors:
    """Where each option leads from each history."""
    return histories.successors if target == "action" else histories.moves


def initial_states(encoded: Encoded, n_states: int) -> Float[np.ndarray, "state"]:
    """Share of the chains that start in each state."""
    starts = np.bincount(encoded.states[encoded.chains[:-1]], minlength=n_states)
    return starts / starts.sum()


def seen_states(encoded: Encoded, n_states: int) -> Bool[np.ndarray, "state"]:
    """True for a state that the data visit."""
    return np.bincount(encoded.states, minlength=n_states) > 0
