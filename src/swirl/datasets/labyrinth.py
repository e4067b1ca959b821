"""Mice in the maze of Rosenberg et al. (2021): the recordings of the paper's §4.2, in two readings."""

import numpy as np

from swirl.datasets.dataset import Dataset
from swirl.datasets.files import load
from swirl.datasets.labyrinth_graph import LABYRINTH_HOME, labyrinth_env
from swirl.mdp import MDP
from swirl.trajectories import Trajectories

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
