"""Mice in the maze of Rosenberg et al. (2021, eLife 10:e66175): the recordings of the paper's §4.2, in two readings.

The maze is a graph, made from its geometry: a binary tree of corridors with 63 T-junctions and 64 ends, folded into a
square as an H-tree.  Corridors are vertical and horizontal by turns, and their lengths halve every two levels.  The
animal enters from the west and meets node 0 in the centre; node i branches into 2i + 1, to the north or west, and
2i + 2, to the south or east.  Which of the two is "left" depends on the way the animal faces at the junction.
"""

import numpy as np
from jaxtyping import Int

from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.datasets.dataset import Dataset
from swirl.datasets.download import load

LABYRINTH_HOME, LABYRINTH_WATER = 0, 116
LABYRINTH_ACTIONS = ("in left", "in right", "out left", "out right")

LEVELS = 6  # junctions between the entrance and an end: levels 0 to 5; the ends are level 6
N_NODES = 2 ** (LEVELS + 1) - 1
IN, OUT = (0, 1), (2, 3)  # actions: left, right

NORTH, SOUTH, WEST, EAST = np.array([0, 1]), np.array([0, -1]), np.array([-1, 0]), np.array([1, 0])


def labyrinth_env(legal_only: bool = False) -> MDP:
    """Make the maze of Rosenberg et al. (2021): 127 nodes, one step in or out of the tree at a time.

    In left, in right: into the corridor on the left or right of an animal that has come in to this junction.
    Out left, out right: back to the parent, out of a corridor that is its left or right one, again as seen
    by an animal coming in (walking out of a left corridor, the way home is a turn to the *right*).  So each node
    but 0 has one way out, and an action that does not exist at a node stays in place.  The entrance is no node:
    both ways out of node 0 stay, and the recordings write "out right" there when the animal leaves the maze.

    Parameters
    ----------
    legal_only
        True: actions that would stay in place are not available, so that every step moves. Recordings with
        exits (out right at node 0) do not fit this environment.

    Returns
    -------
    MDP
        Nodes "0" to "126"; `coordinates` on a 15 × 15 grid of corridor widths, y to the north, ends at the even
        ones. Home is node 0 (`LABYRINTH_HOME`), the water port node 116 (`LABYRINTH_WATER`).

    Examples
    --------
    >>> env = labyrinth_env()
    >>> env
    MDP(127 states, 4 actions, deterministic)
    >>> env.successors.next[1, :, 0].tolist()        # in left, in right, out left, out right
    [3, 4, 0, 1]
    >>> env.coordinates[[LABYRINTH_HOME, LABYRINTH_WATER]].tolist()
    [[7.0, 7.0], [14.0, 6.0]]
    >>> labyrinth_env(legal_only=True).available[[0, 1, 116]].sum(axis=1).tolist()
    [2, 3, 1]
    """
    places, headings = _layout()
    node = np.arange(1, N_NODES)
    parent = (node - 1) // 2
    right = _is_right_turn(headings[parent], headings[node]).astype(int)
    stay = np.arange(N_NODES)[:, None]
    following = np.tile(stay, len(LABYRINTH_ACTIONS))
    following[parent, np.take(IN, right)] = node
    following[node, np.take(OUT, right)] = parent
    return MDP.deterministic(
        following,
        available=following != stay if legal_only else None,
        state_names=[str(i) for i in range(N_NODES)],
        action_names=LABYRINTH_ACTIONS,
        coordinates=places.astype(float),
    )


def _layout() -> tuple[Int[np.ndarray, "node 2"], Int[np.ndarray, "node 2"]]:
    """Where each node lies (x, y), and which way an animal faces that has come in to it."""
    places, headings = np.empty((2, N_NODES, 2), dtype=np.int64)
    places[0], headings[0] = 2 ** (LEVELS // 2) - 1, EAST
    for level in range(1, LEVELS + 1):
        first, second = (NORTH, SOUTH) if level % 2 else (WEST, EAST)
        length = 2 ** ((LEVELS - level) // 2)
        for node in range(2**level - 1, 2 ** (level + 1) - 1):
            headings[node] = first if node % 2 else second
            places[node] = places[(node - 1) // 2] + length * headings[node]
    return places, headings


def _is_right_turn(before: Int[np.ndarray, "turn 2"], after: Int[np.ndarray, "turn 2"]) -> np.ndarray:
    """Whether going from heading `before` to `after` is a turn to the right: their cross product is negative."""
    return before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0] < 0


EXIT = 3
"""The action "out right", which at node 0 is written when the animal leaves the maze."""

PREPARATIONS = ("paper", "clean")


def labyrinth(preparation: str = "paper") -> Dataset:
    """Load the water-deprived mice in the 127-node maze: 238 windows of 500 steps, as the paper used them.

    State = node, action = in left, in right, out left or out right (`labyrinth_env`); the action of a window's
    last step was recorded too.  What a session is here must be known to whoever reads results:

    - A session is a *window* of 500 steps cut from the bouts of all mice, laid end to end. Which mouse it was is not
      recorded, and a window may join two mice: `subjects` is unknown, and a split by sessions is *within* animals.
    - Neighbouring windows continue one another, so test windows touch training windows.
    - Only windows with at least 7 visits to the water port (node 116) and to the home node 0 were kept.

    Parameters
    ----------
    preparation
        "paper": as published. Bouts are joined: when the animal leaves the maze (action 3 at node 0) it is at
        node 0 again in the next step, as if it had stayed. The environment is `labyrinth_env()`, in which an
        action that does not exist at a node stays in place.
        "clean": the same windows and steps, but each exit ends a segment, so that history and mode chain
        restart when the animal comes back, hours later perhaps. The environment is `labyrinth_bout_env()`: the actions
        that exist, and the exit, so that the decision to leave is scored. The recordings tell of no other
        break: every other transition goes along a corridor.

    Returns
    -------
    Dataset
        Without `truth`.

    Notes
    -----
    From github.com/BRAINML-GT/SWIRL (MIT), after Rosenberg, Zhang, Perona & Meister (2021), eLife 10:e66175 (CC BY).
    `rosenberg` reads that study's own files, bout by bout and mouse by mouse.

    Examples
    --------
    >>> labyrinth().trajectories                         # doctest: +SKIP
    Trajectories(238 sessions, 119,000 steps (500 each), 127 states, 4 actions)
    >>> labyrinth("clean").trajectories                  # doctest: +SKIP
    Trajectories(238 sessions, 119,000 steps (500 each), 127 states, 4 actions, 1,482 gaps)
    """
    check_preparation(preparation)
    recorded = load("labyrinth/emissions500new.npy")
    states, actions = recorded[..., 0], recorded[..., 1]
    clean = preparation == "clean"
    env = labyrinth_bout_env() if clean else labyrinth_env()
    left = (states == LABYRINTH_HOME) & (actions == EXIT)
    trajectories = Trajectories(
        list(states),
        list(actions),
        gaps=[np.flatnonzero(window[:-1]) + 1 for window in left] if clean else None,
        state_names=env.state_names,
        action_names=env.action_names,
    )
    return Dataset(env, trajectories)


def labyrinth_bout_env() -> MDP:
    """Make the maze with the actions that exist at each node, and the exit: "out right" at node 0.

    The exit ends a bout.  The maze has no node for what lies outside, so a model sees the animal stay at node 0:
    the value of leaving is the value of being at home.

    >>> env = labyrinth_bout_env()
    >>> env.available[[0, 1, 116]].astype(int).tolist()        # in left, in right, out left, out right
    [[1, 1, 0, 1], [1, 1, 1, 0], [0, 0, 0, 1]]
    """
    maze = labyrinth_env()
    available = labyrinth_env(legal_only=True).available.copy()
    available[LABYRINTH_HOME, EXIT] = True
    return MDP.deterministic(
        np.asarray(maze.successors.next)[..., 0],
        available=available,
        state_names=maze.state_names,
        action_names=maze.action_names,
        coordinates=maze.coordinates,
    )


def check_preparation(preparation: str) -> None:
    """Raise unless the recordings can be prepared this way.

    >>> check_preparation("raw")
    Traceback (most recent call last):
    ValueError: preparation='raw': expected "paper" (as published) or "clean" (breaks in time end segments)
    """
    if preparation not in PREPARATIONS:
        raise ValueError(
            f'preparation={preparation!r}: expected "paper" (as published) or "clean" (breaks in time end segments)'
        )
