"""Sessions as indices into histories, states and actions: what the inference reads.

Everything is one flat array over all steps.  A *chain* is a stretch over which the hidden mode is
followed without a break (a session, or a segment of one between gaps); history never crosses the
start of a chain.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.mdp import Impossible as Impossible  # models have it as an argument
from swirl.data.trajectories import Trajectories


@dataclass(frozen=True)
class Encoded:
    """A dataset in the numbering of one `Histories`."""

    histories: Int[np.ndarray, "step"]
    states: Int[np.ndarray, "step"]
    actions: Int[np.ndarray, "step"]
    """−1 = not observed."""
    chains: Int[np.ndarray, "chain_plus_one"]
    """Chain i holds the steps chains[i] … chains[i + 1] − 1."""
    sessions: Int[np.ndarray, "session_plus_one"]
    following: Int[np.ndarray, "step"]
    """The state that was seen to follow; −1 at a chain's end and where the environment rules the move out."""

    @property
    def n_steps(self) -> int:
        """Number of steps in all sessions."""
        return len(self.states)

    @property
    def n_observed(self) -> int:
        """Number of steps whose action was observed."""
        return int(np.sum(self.actions >= 0))

    @property
    def latent(self) -> Bool[np.ndarray, "step"]:
        """Steps whose action is missing although the state that it led to is known."""
        return (self.actions < 0) & (self.following >= 0)

    @property
    def telling(self) -> Bool[np.ndarray, "step"]:
        """Steps that say something of a choice: its action was seen, or where it led."""
        return (self.actions >= 0) | (self.following >= 0)

    def split_chains(self, values: np.ndarray) -> list[np.ndarray]:
        """Cut a per-step array into chains."""
        return np.split(values, self.chains[1:-1])

    @property
    def chain_sessions(self) -> Int[np.ndarray, "chain"]:
        """The session that each chain is of."""
        return np.searchsorted(self.sessions, self.chains[:-1], side="right") - 1

    def split_sessions(self, values: np.ndarray) -> list[np.ndarray]:
        """Cut a per-step array into sessions."""
        return np.split(values, self.sessions[1:-1])


@dataclass(frozen=True)
class Survey:
    """What a model must know of a recording before it reads it step by step; surveys of parts add up.

    >>> ring = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
    >>> histories = Histories.reachable(ring.successors, length=1)
    >>> one, two = (encode(Trajectories([states]), ring, histories) for states in ([0, 1, 1], [2, 0]))
    >>> both = Survey.of(one, histories) + Survey.of(two, histories)
    >>> both.visits.tolist(), both.latent.tolist()
    ([2, 2, 1], [[0, 1], [1, 1], [2, 0]])
    """

    visits: Int[np.ndarray, "state"]
    """Steps in each state."""
    starts: Int[np.ndarray, "state"]
    """Chains that start in each state."""
    telling: Int[np.ndarray, "history"]
    """Steps at each history that say something of a choice."""
    latent: Int[np.ndarray, "move pair"]
    """Each (history, next state) of a missing action, once, in order."""

    @classmethod
    def of(cls, encoded: Encoded, histories: Histories) -> "Survey":
        """Survey one dataset."""
        n_states, unseen = histories.n_states, encoded.latent
        moves = encoded.histories[unseen].astype(np.int64) * n_states + encoded.following[unseen]
        return cls(
            np.bincount(encoded.states, minlength=n_states),
            np.bincount(encoded.states[encoded.chains[:-1]], minlength=n_states),
            np.bincount(encoded.histories[encoded.telling], minlength=histories.n_histories),
            np.column_stack(np.divmod(np.unique(moves), n_states)),
        )

    def __add__(self, other: "Survey") -> "Survey":
        pairs = self.latent if not len(other.latent) else np.unique(np.concatenate([self.latent, other.latent]), axis=0)
        return Survey(self.visits + other.visits, self.starts + other.starts, self.telling + other.telling, pairs)

    @classmethod
    def together(cls, surveys: Iterable["Survey"]) -> "Survey":
        """Add up the surveys of all parts, of which there is at least one."""
        return reduce(add, surveys)

    @property
    def seen_states(self) -> Bool[np.ndarray, "state"]:
        """True for a state that the data visit."""
        return self.visits > 0

    @property
    def initial_states(self) -> Float[np.ndarray, "state"]:
        """Share of the chains that start in each state."""
        return self.starts / self.starts.sum()


def encode(data: Trajectories, env: MDP, histories: Histories, *, impossible: Impossible | None = None) -> Encoded:
    """Check `data` against `env` and number the history at every step.

    Parameters
    ----------
    impossible
        What a transition that the environment rules out means: ``"error"``, a fault in the data;
        ``"gap"``, a new segment starts; ``"forget"``, the history restarts but the mode chain goes on.  None: a gap
        where the environment was estimated, an error where it was given.  A step whose action an estimate has not seen
        says nothing, and the move that follows is ruled out.

    Examples
    --------
    >>> ring = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
    >>> histories = Histories.reachable(ring.successors, length=2)
    >>> data = Trajectories([[0, 1, 1]], [[1, 0, 1]])
    >>> histories.table[encode(data, ring, histories).histories].tolist()
    [[0, -1], [1, 0], [1, 1]]
    """
    impossible = env.default_impossible if impossible is None else impossible
    if impossible not in get_args(Impossible):
        raise ValueError(f'impossible={impossible!r}: expected "error", "gap" or "forget"')
    env.check(data, impossible=impossible)
    sessions = np.concatenate([[0], np.cumsum(data.lengths)]).astype(np.int64)
    states = np.concatenate(data.states)
    chain_start = np.zeros(len(states), dtype=bool)
    chain_start[sessions[:-1]] = True
    for first, gaps in zip(sessions[:-1], data.gaps, strict=True):
        chain_start[first + gaps] = True
    broken = [
        first + np.asarray(steps) + 1
        for first, steps in zip(sessions[:-1], env.impossible_transitions(data), strict=True)
    ]
    history_start = chain_start.copy()
    history_start[np.concatenate(broken).astype(np.int64)] = True
    following = np.append(np.where(history_start[1:], -1, states[1:]), -1)
    if impossible == "gap":
        chain_start = history_start
    return Encoded(
        histories=histories.follow(states, history_start).astype(np.int32),
        states=states.astype(np.int32),
        actions=np.where(env.unseen_actions(data), -1, np.concatenate(data.actions)).astype(np.int32),
        chains=np.append(np.flatnonzero(chain_start), len(states)),
        sessions=sessions,
        following=following.astype(np.int32),
    )
