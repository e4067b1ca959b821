"""Where each action leads, as tables to gather from: the form in which every environment is used.

Only reachable successors are stored, so a 127-node maze with histories of four states needs 14,651 rows
and not 127⁴ (design.md#reachable-histories).  The same tables serve states (`mdp`) and histories (`histories`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True)
class Successors:
    """P(node' | node, action) as `next` and `probability` over a few branches.

    Unused branches have probability 0 and point to any valid node.  An action that is not `available`
    is masked out of every softmax; its branches still point somewhere valid.  The tables are numpy's, or, inside a JAX
    computation, JAX's (`rewards.soft_q` makes the class known to JAX: reading and checking recordings need no JAX).
    """

    next: Int[Any, "node action branch"]
    probability: Float[Any, "node action branch"]
    available: Bool[Any, "node action"]

    @property
    def possible(self) -> Bool[np.ndarray, "node action branch"]:
        """Which branches can be taken: those of available actions whose probability is not 0."""
        return (np.asarray(self.probability) > 0) & np.asarray(self.available)[..., None]

    def moves(
        self,
    ) -> tuple[Int[np.ndarray, "move"], Int[np.ndarray, "move"], Int[np.ndarray, "move"], Float[np.ndarray, "move"]]:
        """Every move that can be made: node, action, next node and its probability.

        They are in the order of the tables.

        >>> next = np.array([[[0], [1]], [[1], [0]]])
        >>> tables = Successors(next, np.ones((2, 2, 1)), np.array([[True, True], [True, False]]))
        >>> [column.tolist() for column in tables.moves()[:3]]
        [[0, 0, 1], [0, 1, 0], [0, 1, 1]]
        """
        node, action, branch = np.nonzero(self.possible)
        following, probability = (np.asarray(table)[node, action, branch] for table in (self.next, self.probability))
        return node, action, following.astype(np.int64), probability

    @property
    def n_nodes(self) -> int:
        """Number of nodes (states or histories)."""
        return self.next.shape[0]

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return self.next.shape[1]

    @property
    def n_branches(self) -> int:
        """Number of branches: 1 when the environment is deterministic."""
        return self.next.shape[2]
