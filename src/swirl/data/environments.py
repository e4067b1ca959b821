"""Environments of data: of an edge list, of discretised places, of syllables, of the moves seen; actions inferred."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from swirl.data.mdp import MDP, Estimate
from swirl.data.trajectories import Trajectories, common_names
from swirl.system import too_large
from swirl.text import counted

__all__ = ["environment_of_places", "fully_connected", "infer_actions", "observed_moves"]


def check_table_size(n_states: int, n_actions: int) -> None:
    """Refuse an environment whose tables would not fit into memory, before they are laid out.

    >>> check_table_size(10**6, 10**6)
    Traceback (most recent call last):
    ValueError: an environment of 1,000,000 states × 1,000,000 actions would take ... number states and actions ...
    """
    told = too_large(64 * n_states * n_actions)  # bytes of each (state, action) while tables are made
    if told is not None:
        raise ValueError(
            f"an environment of {n_states:,} states × {n_actions:,} actions {told}: number states and actions 0, 1, 2, "
            "… without holes, or merge rare states"
        )


def fully_connected(n_states: int, state_names: Any = None, *, stay: bool = False) -> MDP:
    """Make the environment of syllables: the action is the next state, and every state may follow every other.

    `stay`: it may follow itself too, as trials and events may (syllables whose runs were merged may not).

    >>> fully_connected(3).available.astype(int).tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> fully_connected(2, stay=True).available.astype(int).tolist()
    [[1, 1], [1, 1]]
    """
    check_table_size(n_states, n_states)
    following = np.tile(np.arange(n_states), (n_states, 1))
    available = ~np.eye(n_states, dtype=bool) | stay | (n_states == 1)
    return MDP.deterministic(following, available=available, state_names=state_names, action_names=state_names)


def environment_of_places(places: Any, *, y_down: bool | None = None, state_names: Any = None) -> MDP:
    """Make the environment of a grid, of polygons or of a graph's nodes (`io.places`).

    `y_down`: y grows downwards, as in the pixels of a video; maps are drawn as the video shows the place. None: as the
    grid says, else upwards. `state_names`: other names than those of the places.

    >>> from swirl.io.places import Grid
    >>> env = environment_of_places(Grid(x=(0, 2), y=(0, 2), shape=(2, 2), y_down=True))
    >>> env.state_names[0], env.coordinates[0]
    ('r0c0', array([ 0.5, -0.5]))
    """
    return MDP.from_edges(
        places.edges(),
        n_states=len(places.state_names),
        n_actions=len(places.action_names),
        state_names=places.state_names if state_names is None else state_names,
        action_names=places.action_names,
        coordinates=places.coordinates * ([1.0, -1.0] if grows_down(places, y_down) else 1.0),
    )


def grows_down(places: Any, y_down: bool | None) -> bool:
    """Whether y grows downwards: as a grid says, which counts its rows from the top; of other places as asked for.

    >>> from swirl.io.places import Grid
    >>> grows_down(Grid(x=(0, 2), y=(0, 2), shape=(2, 2)), True)
    Traceback (most recent call last):
    ValueError: y_down=True, but rows of this grid are counted for a y that grows upwards: give Grid(…, y_down=True)
    """
    own = getattr(places, "y_down", None)
    if own is not None and y_down is not None and own != y_down:
        way = "downwards" if own else "upwards"
        raise ValueError(
            f"y_down={y_down}, but rows of this grid are counted for a y that grows {way}: "
            f"give Grid(…, y_down={y_down})"
        )
    return bool(own if y_down is None else y_down)


def observed_moves(data: Trajectories | Iterable[Trajectories], *, n_states: int = 0) -> MDP:
    """Make an environment of the moves in data without actions, or in their parts: the action is the next state.

    It is an estimate, as `MDP.estimate` is: a move that only other sessions show is a gap where nothing else is said.
    It has at least `n_states` states.

    >>> observed_moves(Trajectories([[0, 1, 0, 2]])).available.astype(int).tolist()
    [[0, 1, 1], [1, 0, 0], [1, 1, 1]]
    """
    n, names, moves, n_sessions = n_states, [], [], 0
    for part in [data] if isinstance(data, Trajectories) else data:
        flat = part.flat()
        inside = np.flatnonzero(~flat.starts[1:])
        n, n_sessions = max(n, part.n_states), n_sessions + len(part)
        names.append((part.state_names, None))
        pairs = np.unique(flat.states[inside] * part.n_states + flat.states[inside + 1])
        moves.append(np.stack(np.divmod(pairs, part.n_states)))
    check_table_size(n, n)
    available = np.zeros((n, n), bool)
    available[*np.concatenate(moves, axis=1)] = True
    known = available.any(axis=1)
    available[~known] = True  # never seen to be left: anything may follow
    following, (states, _) = np.tile(np.arange(n), (n, 1)), common_names(names)
    made = MDP.deterministic(following, available=available, state_names=states, action_names=states)
    made.estimated = Estimate(n_sessions, False, 0.0, np.asarray(known))
    return made


def estimated_again(env: MDP, data: Trajectories | Iterable[Trajectories]) -> MDP:
    """The same estimate from these sessions; an environment that was given is returned as it is.

    Who holds sessions out, to score a model on them, estimates its environment from the others alone.

    >>> both = Trajectories([[0, 1, 0], [0, 0, 1]], [[1, 0], [0, 1]])
    >>> env = MDP.estimate(both)
    >>> env.available[0], estimated_again(env, both[:1]).available[0]
    (array([ True,  True]), array([False,  True]))
    """
    how = env.estimated
    if how is None:
        return env
    if how.with_actions:
        made = MDP.estimate(data, how.smoothing, n_states=env.n_states, n_actions=env.n_actions,
                            state_names=env.state_names, action_names=env.action_names)  # fmt: skip
    else:
        made = observed_moves(data, n_states=env.n_states)
    made.state_names, made.action_names, made.coordinates = env.state_names, env.action_names, env.coordinates
    return made


def unseen_words(env: MDP, data: Trajectories, whose: str, impossible: str | None = None) -> str:
    """Say how many steps of some sessions an estimated environment does not know; "" where it knows all.

    >>> seen, others = Trajectories([[0, 1, 0]]), Trajectories([[0, 1, 1]])
    >>> print(unseen_words(observed_moves(seen), others, "the test sessions"))
    1 of 3 steps of the test sessions occurs in none of the 1 session that the environment was estimated from: it is \
a gap there (impossible="gap").
    """
    n = env.unseen_steps(data)
    if env.estimated is None or not n:
        return ""
    how = impossible or env.default_impossible
    occurs, each = ("occurs", "it is") if n == 1 else ("occur", "each is")
    gap = "a gap there" if how == "gap" else "not scored"
    return (
        f"{n:,} of {counted(data.n_steps, 'step')} of {whose} {occurs} in none of the "
        f"{counted(env.estimated.n_sessions, 'session')} that the environment was estimated from: {each} {gap} "
        f'(impossible="{how}").'
    )


def infer_actions(data: Trajectories, env: MDP) -> Trajectories:
    """Fill in the missing actions wherever just one available action leads from a state to the next.

    For looking at, never for fitting: which actions can be told depends on the actions, so what is filled in is no
    fair sample of them. Models read the states that missing actions led to (`Encoded.latent`).

    >>> env = MDP.deterministic([[1, 0], [0, 1]])
    >>> infer_actions(Trajectories([[0, 1, 1, 0]]), env).actions[0]
    array([ 0,  1,  0, -1])
    """
    s, a, to, _ = env.successors.moves()
    reach = np.zeros((env.n_states, env.n_states, env.n_actions), bool) if env.n_states <= 512 else None
    unique: dict[tuple[int, int], int] | np.ndarray
    if reach is not None:
        reach[s, to, a] = True
        unique = np.where(reach.sum(axis=2) == 1, reach.argmax(axis=2), -1)
    else:  # too many pairs of states for a table
        unique = {}
        for move in dict.fromkeys(zip(s.tolist(), to.tolist(), a.tolist(), strict=True)):
            pair = (move[0], move[1])
            unique[pair] = -1 if pair in unique else move[2]
    actions = []
    for i, states in enumerate(data.states):
        own = data.actions[i].copy()
        if states.max() >= env.n_states:
            raise ValueError(f"{data.where(i, int(states.argmax()))}: state {states.max()}, but the environment has "
                             f"{env.n_states} states: give the environment of these data")  # fmt: skip
        now, after = states[:-1], states[1:]
        if isinstance(unique, dict):
            found = np.array([unique.get(pair, -1) for pair in zip(now.tolist(), after.tolist(), strict=True)], int)
        else:
            found = unique[now, after]
        inside = np.ones(len(now), bool)
        inside[data.gaps[i] - 1] = False  # what followed a segment's last step was not seen
        fill = inside & (own[:-1] == -1)
        own[:-1][fill] = found[fill]
        actions.append(own)
    return data.with_actions(actions, n_actions=env.n_actions, action_names=env.action_names)


_FORMER = {"any_may_follow_any": fully_connected, "moves_seen": observed_moves}


def __getattr__(name: str) -> Any:
    if name not in _FORMER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    told = f"{name} is called {_FORMER[name].__name__} now; the old name will go in a later version"
    warnings.warn(told, DeprecationWarning, stacklevel=2)
    return _FORMER[name]
