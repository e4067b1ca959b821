"""Where each action leads, as tables to gather from: the form in which every environment is used.

Only reachable successors are stored, so a 127-node maze with histories of four states needs 14,651 rows
and not 127⁴ (design.md#reachable-histories).  The same tables serve states (`mdp`) and histories (`histories`).
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

Values = Float[Array, "*batch node"] | Float[np.ndarray, "*batch node"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Successors:
    """P(node' | node, action) as `next` and `probability` over a few branches.

    Unused branches have probability 0 and point to any valid node.  An action that is not `available`
    is masked out of every softmax; its branches still point somewhere valid.
    """

    next: Int[Array, "node action branch"] | Int[np.ndarray, "node action branch"]
    probability: Float[Array, "node action branch"] | Float[np.ndarray, "node action branch"]
    available: Bool[Array, "node action"] | Bool[np.ndarray, "node action"]

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


def expected_next(successors: Successors, values: Values) -> Float[Array, "*batch row action"]:
    """E[V(node') | node, action] for each row and action; the rows may be some of the nodes only.

    Equals the plain loop::

        for h in range(n_nodes):
            for a in range(n_actions):
                out[h, a] = sum(p[h, a, b] * values[next[h, a, b]] for b in range(n_branches))
    """
    values = jnp.asarray(values)
    if successors.n_branches == 1:
        return values[..., successors.next[..., 0]]
    return jnp.sum(successors.probability * values[..., successors.next], axis=-1)


def uniform_expected_next(successors: Successors, values: Values) -> Float[Array, "*batch row"]:
    """E[V(node') | node] when every available action is equally likely."""
    available = jnp.asarray(successors.available)
    share = available / jnp.sum(available, axis=-1, keepdims=True)
    return jnp.sum(share * expected_next(successors, values), axis=-1)
