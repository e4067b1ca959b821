"""The maze of Rosenberg et al. (2021, eLife 10:e66175) as a graph, from its geometry.

A binary tree of corridors with 63 T-junctions and 64 ends, folded into a square as an H-tree: corridors
are vertical and horizontal by turns, and their lengths halve every two levels.  The animal enters from the west
and meets node 0 in the centre; node i branches into 2i + 1, to the north or west, and 2i + 2, to the
south or east.  Which of the two is "left" depends on the way the animal faces when it reaches the junction.
"""

import numpy as np
from jaxtyping import Int

from swirl.mdp import MDP

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
