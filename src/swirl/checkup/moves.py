"""Moves from state to state, and which of them the environment does not allow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.checkup.figures import fraction, percent
from swirl.checkup.notes import Notes
from swirl.faults import counted
from swirl.mdp import MDP
from swirl.reading import MISSING

UNLIKELY = 1e-6  # a move this rare in the environment is more often a slip of the pen
STAYING = 0.2  # share of steps that stay, from which runs were perhaps not merged


@dataclass(frozen=True)
class Moves:
    """Distinct moves within segments; `key` and `here` (the position of its first step) are of every single one.

    Examples
    --------
    >>> from swirl.trajectories import Trajectories
    >>> moves = find_moves(Notes(Trajectories([[0, 1, 0, 1]])))
    >>> moves.state.tolist(), moves.following.tolist(), moves.count.tolist()
    ([0, 1], [1, 0], [2, 1])
    >>> moves.where(moves.state == 0).tolist()
    [0, 2]
    """

    key: Int[np.ndarray, " step"]
    here: Int[np.ndarray, " step"]
    values: Int[np.ndarray, " move"]
    state: Int[np.ndarray, " move"]
    action: Int[np.ndarray, " move"]
    following: Int[np.ndarray, " move"]
    count: Int[np.ndarray, " move"]
    probability: Float[np.ndarray, " move"]
    """In the environment (of the likeliest action where it is missing); −1 where that is not to be asked."""
    inferable: Bool[np.ndarray, " move"]
    """Whether just one available action makes the move."""

    def where(self, chosen: Bool[np.ndarray, " move"]) -> Int[np.ndarray, " found"]:
        """Positions of the chosen kinds of moves."""
        return self.here[np.isin(self.key, self.values[chosen])] if chosen.any() else np.zeros(0, np.int64)


def find_moves(notes: Notes) -> Moves:
    """Find the distinct moves, and what the environment says of each.

    >>> from swirl.trajectories import Trajectories
    >>> ring = MDP.deterministic([[1], [2], [0]])
    >>> find_moves(Notes(Trajectories([[0, 1, 2, 1]], [[0, 0, 0]]), ring)).probability.tolist()
    [1.0, 1.0, 0.0]
    """
    flat, env, n_states = notes.flat, notes.env, notes.n_states
    n_actions = notes.n_actions + 1  # the missing one comes first
    here = np.flatnonzero(~flat.starts[1:])
    key = (flat.states[here] * n_actions + flat.actions[here] + 1) * n_states + flat.states[here + 1]
    values, count = distinct(key, n_states * n_actions * n_states)
    pair, following = np.divmod(values, n_states)
    state, action = np.divmod(pair, n_actions)
    probability, inferable = np.full(len(values), -1.0), np.zeros(len(values), bool)
    if env is not None:
        s, a, to, p = support(env)
        inside = (state < env.n_states) & (following < env.n_states) & (action <= env.n_actions)
        missing = action == 0
        known = np.flatnonzero(inside & ~missing)
        known = known[env.available[state[known], action[known] - 1]]  # what is not available is a fault of its own
        probability[known] = _looked_up(values[known], (s * n_actions + a + 1) * n_states + to, p)
        ways, way = np.unique(s * n_states + to, return_inverse=True)
        best = np.zeros(len(ways))
        np.maximum.at(best, way, p)
        move, unknown = state * n_states + following, np.flatnonzero(inside & missing)
        probability[unknown] = _looked_up(move[unknown], ways, best)
        inferable = _looked_up(move, ways, np.bincount(way, minlength=len(ways)).astype(float)) == 1
    return Moves(key, here, values, state, action - 1, following, count, probability, inferable)


def distinct(keys: Int[np.ndarray, " key"], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct keys (of 0 … size − 1) in ascending order, and how often each occurs; sorts only where it must.

    >>> [array.tolist() for array in distinct(np.array([3, 1, 3]), 4)]
    [[1, 3], [1, 2]]
    """
    if size > max(1 << 20, 2 * len(keys)):
        return np.unique(keys, return_counts=True)
    counts = np.bincount(keys, minlength=1)
    values = np.flatnonzero(counts)
    return values, counts[values]


def support(env: MDP) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(state, action, next state, p) of every move that can happen, in ascending order.

    >>> [array.tolist() for array in support(MDP.deterministic([[1], [0]]))]
    [[0, 1], [0, 0], [1, 0], [1.0, 1.0]]
    """
    weights = np.asarray(env.successors.probability)
    state, action, branch = np.nonzero((weights > 0) & env.available[:, :, None])
    following = np.asarray(env.successors.next)[state, action, branch].astype(np.int64)
    order = np.lexsort((following, action, state))
    return state[order], action[order], following[order], weights[state, action, branch][order]


def _looked_up(keys: np.ndarray, known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values of ascending known keys; 0 for others."""
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[place] == keys, values[place], 0.0)


def _move_words(notes: Notes) -> Callable[[int], str]:
    """How to say what was seen at t → t+1, and where the action does lead."""
    none = np.zeros(0, np.int64)
    s, a, to, _ = (none, none, none, none) if notes.env is None else support(notes.env)

    def words(t: int) -> str:
        state, action = int(notes.flat.states[t]), int(notes.flat.actions[t])
        ends = np.unique(to[(s == state) & ((a == action) | (action == MISSING))])
        by = "unknown action" if action == MISSING else f"action {notes.action(action)}"
        following = notes.state(notes.flat.states[t + 1])
        return f"state {notes.state(state)}, {by} → state {following}; it leads to {notes.states(ends)}"

    return words


def count_transitions(notes: Notes, moves: Moves) -> dict[str, Any]:
    """Moves that cannot be, that can hardly be, and that stay.

    >>> from swirl.trajectories import Trajectories
    >>> notes = Notes(Trajectories([[0, 1, 1, 0, 1]]))
    >>> found = count_transitions(notes, find_moves(notes))
    >>> found["moves"], found["kinds"], found["staying"], found["checked"]
    (4, 3, 0.25, False)
    """
    stays, impossible = moves.state == moves.following, moves.probability == 0
    staying = fraction(moves.count[stays].sum(), len(moves.here))
    wrong = moves.where(impossible)
    rare = moves.where((moves.probability > 0) & (moves.probability < UNLIKELY))
    at = np.unique(notes.flat.sessions[wrong]).tolist()
    if wrong.size:
        still = int(moves.count[impossible & stays].sum())
        says = f"{counted(len(wrong), 'impossible transition')} in {len(at):,} of {counted(len(notes.data), 'session')}"
        says += f", of which {still:,} stay in one state." if still else "."
        advice = "impossible-stays" if still else None
        places = notes.at(wrong, "state", _move_words(notes))
        notes.add("fault", "impossible-transitions", says, places, advice)
    if rare.size:
        says = f"{counted(len(rare), 'move')} of a probability below {UNLIKELY:g} in the environment."
        notes.add("warning", "unlikely-transitions", says, notes.at(rare, "state", _move_words(notes)))
    if staying >= STAYING and notes.data.n_states > 1 and not (impossible & stays).any():
        # An environment in which an action stays means it so, unless little else happens.
        level = "note" if notes.env is not None and staying < 0.5 else "warning"
        notes.add(level, "staying", f"{percent(staying)} of steps stay in the same state.")
    return {
        "moves": len(moves.here),
        "kinds": len(np.unique(moves.state * notes.n_states + moves.following)),
        "staying": staying,
        "checked": notes.env is not None,
        "impossible": len(wrong),
        "impossible_in": at,
        "unlikely": len(rare),
    }
