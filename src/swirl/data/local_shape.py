"""How an environment looks from where one stands: the kind of each place, and what its moves are called.

A habit that does not know the place (`rewards.Goals`) sees these instead of states and actions.  Two places are of one
kind when as many ways lead from them, and from the places around them, up to some distance: the ends of a maze are of
one kind, its junctions of another.  A move is named so that the same name means the same at all places of a kind.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from swirl.data.geometry import has_places, possible_moves
from swirl.data.mdp import MDP

SECTORS = 8  # of the compass


def place_kinds(env: MDP, radius: int = 1) -> Int[np.ndarray, "state"]:
    """The kind of each place, from 0: places are alike when `radius` steps around them nothing tells them apart.

    Radius 0: all places are of one kind; 1: as many other places can be reached in a step; 2: and as many from each
    of these; and so on (colour refinement).

    Examples
    --------
    A corridor of five places, its ends, the places beside them, and the middle:

    >>> corridor = MDP.deterministic([[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]])
    >>> place_kinds(corridor).tolist(), place_kinds(corridor, radius=2).tolist()
    ([0, 1, 1, 1, 0], [0, 1, 2, 1, 0])
    """
    moves = possible_moves(env)
    moves = moves[moves[:, 0] != moves[:, 1]]
    around = [moves[moves[:, 0] == state, 1] for state in range(env.n_states)]
    kinds = np.zeros(env.n_states, dtype=np.int64)
    for _ in range(radius):
        seen = [(int(kinds[state]), *sorted(kinds[others].tolist())) for state, others in enumerate(around)]
        kinds = _numbered(seen)
    return kinds


@dataclass(frozen=True)
class Moves:
    """Names of moves, as numbers that mean something together with the kind of the place that they start from."""

    choices: Int[np.ndarray, "state action"]
    """Of each action."""
    origins: Int[np.ndarray, "move"]
    """``state * n_states + next_state`` of every possible move, ascending."""
    passed: Int[np.ndarray, "move"]
    """Its name, once made."""
    n_states: int

    def of(self, states: Int[np.ndarray, "move"], next_states: Int[np.ndarray, "move"]) -> Int[np.ndarray, "move"]:
        """Names of moves that were made."""
        return self.passed[np.searchsorted(self.origins, states * self.n_states + next_states)]


def name_moves(env: MDP, kinds: Any, by: str | None = None) -> Moves:
    """Name what can be done at each place.

    Parameters
    ----------
    kinds
        [state], such as `place_kinds` gives.
    by
        ``"action"``: the action's number. ``"compass"``: one of eight directions, by the coordinates. ``"next"``: the
        kind of place that it leads to; of several of one kind, the first, second, … in the order of the states; for
        mazes whose actions have another meaning at each place.  None: the compass where places have coordinates, else
        the action.

    Examples
    --------
    >>> corridor = MDP.deterministic([[0, 1], [0, 2], [1, 2]])
    >>> name_moves(corridor, place_kinds(corridor), by="next").choices.tolist()
    [[0, 1], [2, 3], [1, 0]]
    """
    kinds = np.asarray(kinds)
    by = by or ("compass" if has_places(env) else "action")
    origin, following = possible_moves(env).T
    n = env.n_states
    if by == "compass":
        if not has_places(env):
            raise ValueError('moves="compass": the environment has no coordinates; give "next" or "action"')
        codes = _directions(env, origin, following)
    elif by == "next":
        order = np.lexsort((following, kinds[following], origin))
        same = np.diff(origin[order] * (kinds.max() + 1) + kinds[following[order]], prepend=-1) == 0
        run = np.arange(len(order)) - np.maximum.accumulate(np.where(same, 0, np.arange(len(order))))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = run
        codes = np.where(origin == following, 0, 1 + kinds[following] * n + rank)
    elif by == "action":  # a move that was made is named by the likeliest of the actions that make it
        node, action, to, probability = env.successors.moves()
        first = np.lexsort((action, -probability, node * n + to))
        codes = action[first[np.unique((node * n + to)[first], return_index=True)[1]]]
    else:
        raise ValueError(f'moves={by!r}: expected "next", "compass" or "action"')
    keys = origin * n + following
    if by == "action":
        chosen = np.broadcast_to(np.arange(env.n_actions), env.available.shape)
    else:  # an action is named by where it most likely leads
        at = np.searchsorted(keys, np.arange(n)[:, None] * n + _likeliest(env))
        chosen = codes[np.minimum(at, len(keys) - 1)]  # of actions that are not available: any
    several = codes.max() + chosen.max() + 1
    named = np.concatenate([kinds[origin] * several + codes, (kinds[:, None] * several + chosen).ravel()])
    numbers = np.unique(named, return_inverse=True)[1]
    return Moves(numbers[len(origin) :].reshape(chosen.shape), keys, numbers[: len(origin)], n)


def wall_kinds(env: MDP, by: str) -> Int[np.ndarray, "state"]:
    """The kind of each place by which moves lead elsewhere from it: north of a wall is not south of a wall.

    Parameters
    ----------
    by
        How moves are named, ``"action"`` or ``"compass"`` (`name_moves`).

    Examples
    --------
    >>> corridor = MDP.deterministic([[0, 1], [0, 2], [1, 3], [2, 3]])
    >>> wall_kinds(corridor, "action").tolist()
    [2, 1, 1, 0]
    """
    names = name_moves(env, np.zeros(env.n_states, dtype=np.int64), by)
    origin, following = np.divmod(names.origins, env.n_states)
    left = [tuple(names.passed[(origin == state) & (following != state)].tolist()) for state in range(env.n_states)]
    return _numbered(left)


def has_bumps(env: MDP) -> bool:
    """Whether an action may lead nowhere at one place and elsewhere at another: then a bump is not seen in the states.

    >>> has_bumps(MDP.deterministic([[0, 1], [0, 1]])), has_bumps(MDP.deterministic([[0, 1], [1, 0]]))
    (True, False)
    """
    stays = (_likeliest(env) == np.arange(env.n_states)[:, None]) & env.available
    return bool(np.any(stays.any(axis=0) & (env.available & ~stays).any(axis=0)))


def name_moves_as_in(known: MDP, env: MDP, kinds: Any, by: str | None = None) -> Moves:
    """Name what can be done in `env` as it is called in another environment with the same states, −1: it has no name.

    A move that both have keeps its name.  Another is called what such a move is called at places of its kind: by its
    direction, or by its action; by ``"next"`` only staying has a name that needs no others.

    Parameters
    ----------
    known, by
        Where the names are from, as `name_moves` gives them.
    kinds
        [state], of that environment.

    Examples
    --------
    The way from 1 to 2 is closed: going there stays, which has a name, as the ends of the corridor have it too.

    >>> corridor = MDP.deterministic([[0, 1], [0, 2], [1, 2]])
    >>> closed = MDP.deterministic([[0, 1], [0, 1], [1, 2]])
    >>> name_moves(corridor, np.zeros(3, int), by="next").choices.tolist()
    [[0, 2], [1, 2], [1, 0]]
    >>> name_moves_as_in(corridor, closed, np.zeros(3, int), by="next").choices.tolist()
    [[0, 2], [1, 0], [1, 0]]
    """
    kinds, n = np.asarray(kinds), env.n_states
    by = by or ("compass" if has_places(known) else "action")
    names = name_moves(known, kinds, by)
    origin, following = possible_moves(env).T
    keys = origin * n + following
    at = np.minimum(np.searchsorted(names.origins, keys), len(names.origins) - 1)
    kept = names.origins[at] == keys
    if by == "action":  # as there: a move that was made is named by the likeliest of the actions that make it
        node, action, to, probability = env.successors.moves()
        first = np.lexsort((action, -probability, node * n + to))
        likeliest = action[first[np.unique((node * n + to)[first], return_index=True)[1]]]
        return Moves(names.choices, keys, np.where(kept, names.passed[at], names.choices[origin, likeliest]), n)

    def looks(moves: Int[np.ndarray, "move"]) -> Int[np.ndarray, "move"]:
        """What a name that needs no others tells apart: kind of place, and direction or whether it stays."""
        pair = moves // n, moves % n
        codes = _directions(known, *pair) if by == "compass" else np.where(pair[0] == pair[1], SECTORS, -1)
        return np.where(codes < 0, -1, kinds[pair[0]] * (SECTORS + 1) + codes)

    looked, first = np.unique(looks(names.origins), return_index=True)
    like = np.minimum(np.searchsorted(looked, looks(keys)), len(looked) - 1)
    alike = np.where((looked[like] == looks(keys)) & (looks(keys) >= 0), names.passed[first[like]], -1)
    passed = np.where(kept, names.passed[at], alike)
    chosen = passed[np.minimum(np.searchsorted(keys, np.arange(n)[:, None] * n + _likeliest(env)), len(keys) - 1)]
    return Moves(np.where(env.available, chosen, -1), keys, passed, n)


def _directions(
    env: MDP, origin: Int[np.ndarray, "move"], following: Int[np.ndarray, "move"]
) -> Int[np.ndarray, "move"]:
    """The sector of the compass that each move points to; `SECTORS` where it stays."""
    way = np.asarray(env.coordinates)[following] - np.asarray(env.coordinates)[origin]
    sector = np.rint(np.arctan2(way[:, 1], way[:, 0]) / (2 * np.pi / SECTORS)).astype(int) % SECTORS
    return np.where((way == 0).all(axis=1), SECTORS, sector)


def _likeliest(env: MDP) -> Int[np.ndarray, "state action"]:
    """Where each action most likely leads."""
    likeliest = np.argmax(np.asarray(env.successors.probability), axis=-1)[..., None]
    return np.take_along_axis(np.asarray(env.successors.next), likeliest, axis=-1)[..., 0]


def _numbered(values: list[Any]) -> Int[np.ndarray, "value"]:
    """Number equal values alike, in the order of the values."""
    number = {value: i for i, value in enumerate(sorted(set(values)))}
    return np.array([number[value] for value in values])
