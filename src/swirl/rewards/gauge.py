"""Which rewards are the same reward: the gauge of design.md#gauge, its basis, and one member to show.

A change δV of the values leaves the policy alone when E[δV(h')|h,a] = k(h) for every available action; the
reward then moves by δr(h) = δV(h) − γ k(h).  For r(h,a) any δV will do (potential shaping):
δr(h,a) = δV(h) − γ E[δV(h')|h,a].  Temperature plays no part.

For r(h) the condition couples only nodes that are successors of a common node, so the space of δV is found one
connected part of that graph at a time: in a deterministic environment δV is constant on each part (a sparse
indicator), in a stochastic one it is the null space of a small dense block.  A node that follows nothing (a
short history at a segment's start) is a part of its own, and free.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from swirl.data.successors import Successors
from swirl.errors import GaugeTooLargeError

# Largest part of a stochastic environment whose null space is found by a dense decomposition (under a minute).
MAX_BLOCK = 2_000


# Below this a difference of probabilities is rounding, and below it times the largest a singular value is zero.
_ROUNDING = 1e-12
_RANK = 1e-10


@dataclass(frozen=True)
class GaugeBasis:
    """All gauge moves of an environment: δV = `values` @ c and δr = `rewards` @ c for any coefficients c.

    Rows of `values` are nodes; rows of `rewards` are nodes for r(h) and the available (node, action) pairs, node
    by node, for r(h,a).  Both have independent columns (0 < γ < 1: a reward determines its values).
    """

    values: sparse.csr_array
    rewards: sparse.csr_array

    @property
    def n_moves(self) -> int:
        """Number of independent gauge moves."""
        return _shape(self.values)[1]


def gauge_basis(successors: Successors, *, discount: float, per_action: bool = False) -> GaugeBasis:
    """Find the gauge moves of rewards r(h), or r(h,a) with `per_action` (design.md#gauge).

    Examples
    --------
    Three states, each reachable from each: only a constant is free.

    >>> import numpy as np
    >>> reach_all = np.tile(np.arange(3)[None, :, None], (3, 1, 1))
    >>> complete = Successors(reach_all, np.ones((3, 3, 1)), np.ones((3, 3), bool))
    >>> gauge_basis(complete, discount=0.95).values.shape
    (3, 1)
    >>> gauge_basis(complete, discount=0.95, per_action=True).values.shape
    (3, 3)
    """
    available = np.asarray(successors.available)
    if not available.any(axis=1).all():
        blocked = np.flatnonzero(~available.any(axis=1))
        raise ValueError(
            f"successors: {blocked.size} nodes have no available action (the first is node {blocked[0]}); "
            "every node needs one, a self-loop if nothing else."
        )
    transitions = _transitions(successors)
    node_of_pair = np.nonzero(available)[0]
    if per_action:
        values = sparse.csr_array(sparse.eye_array(successors.n_nodes))
        return GaugeBasis(values, sparse.csr_array(values[node_of_pair] - discount * transitions))
    first = np.searchsorted(node_of_pair, np.arange(successors.n_nodes))
    values = _invariant_values(transitions, first, node_of_pair)
    # k(h) is the same for every available action of h, so the first will do.
    return GaugeBasis(values, sparse.csr_array(values - discount * (transitions[first] @ values)))


def random_gauge(
    successors: Successors,
    rng: np.random.Generator,
    *,
    discount: float,
    per_action: bool = False,
    n_modes: int = 1,
) -> tuple[Float[np.ndarray, "mode node *action"], Float[np.ndarray, "mode node"]]:
    """Draw one gauge move (δr, δV) per mode: rewards r and r + δr have the same policy, values V and V + δV.

    With `per_action` δr has a last axis over actions, 0 where the action is unavailable.

    Examples
    --------
    >>> import numpy as np
    >>> reach_all = np.tile(np.arange(3)[None, :, None], (3, 1, 1))
    >>> complete = Successors(reach_all, np.ones((3, 3, 1)), np.ones((3, 3), bool))
    >>> delta_rewards, delta_values = random_gauge(complete, np.random.default_rng(0), discount=0.5)
    >>> np.allclose(delta_rewards, 0.5 * delta_values)
    True
    """
    basis = gauge_basis(successors, discount=discount, per_action=per_action)
    coefficients = rng.normal(size=(basis.n_moves, n_modes))
    rewards = np.zeros(
        (n_modes, successors.n_nodes, successors.n_actions) if per_action else (n_modes, successors.n_nodes)
    )
    rewards[:, _entries(successors, per_action)] = (basis.rewards @ coefficients).T
    return rewards, np.ascontiguousarray((basis.values @ coefficients).T)


def canonical(
    rewards: Float[np.ndarray, "mode node *action"],
    successors: Successors,
    *,
    discount: float,
    full_length: Bool[np.ndarray, "node"],
) -> Float[np.ndarray, "mode node *action"]:
    """The member of each reward's gauge class with the least norm over full-length nodes (design.md#gauge).

    Two rewards have the same canonical member exactly when they differ by a gauge move.  For r(h,a) the norm runs
    over the available actions; entries of unavailable actions are returned as given.

    Short nodes do not count in the norm, since their number reflects where segments start and not what is wanted.
    Their rewards move along with the δV chosen for the full-length nodes, and whatever freedom is then left, which
    touches short nodes alone, is spent on their own least norm.  So the result is unique everywhere.

    Parameters
    ----------
    rewards
        r(h) as [mode, node] or r(h,a) as [mode, node, action], finite wherever the action is available.
    successors
        The environment, over the same nodes.
    discount
        γ in (0, 1).
    full_length
        Nodes that enter the norm; what follows such a node must be one too.

    Examples
    --------
    In a complete graph only a constant is free, so the canonical reward has mean zero.

    >>> import numpy as np
    >>> reach_all = np.tile(np.arange(3)[None, :, None], (3, 1, 1))
    >>> complete = Successors(reach_all, np.ones((3, 3, 1)), np.ones((3, 3), bool))
    >>> everything = np.ones(3, bool)
    >>> canonical(np.array([[0.0, 0.0, 3.0]]), complete, discount=0.95, full_length=everything).round(6).tolist()
    [[-1.0, -1.0, 2.0]]
    """
    per_action = rewards.ndim == 3
    entries = _entries(successors, per_action)
    _check(rewards, successors, entries, discount, full_length)
    basis = gauge_basis(successors, discount=discount, per_action=per_action)
    in_norm = full_length[np.nonzero(successors.available)[0]] if per_action else full_length
    touches_full = (abs(basis.values).T @ full_length.astype(float)) > 0
    if np.any(touches_full & ((abs(basis.values).T @ (~full_length).astype(float)) > 0)):
        raise ValueError(
            "full_length: some node is followed by full-length and short nodes alike; "
            "expected what follows one node to be all of one kind, as it is for histories."
        )
    moved = np.array(rewards, dtype=float)
    for mode in moved:
        table = mode[entries]
        # Full-length nodes first; the second step cannot undo the first, for its moves touch short nodes alone.
        for rows, columns in ((in_norm, touches_full), (~in_norm, ~touches_full)):
            moves = basis.rewards[:, np.flatnonzero(columns)]
            table = table + moves @ _least_squares(moves[np.flatnonzero(rows)], -table[rows])
        mode[entries] = table
    return moved


def least_values(
    rewards: Float[np.ndarray, "mode node *action"],
    values: Float[np.ndarray, "mode node"],
    successors: Successors,
    *,
    discount: float,
) -> Float[np.ndarray, "mode node *action"]:
    """The member of each reward's gauge class whose values have the least norm; of r(h,a) these are 0.

    Parameters
    ----------
    values
        V of the rewards, in the same environment.

    Examples
    --------
    In a complete graph only a constant is free: the values then have mean zero.

    >>> import numpy as np
    >>> reach_all = np.tile(np.arange(3)[None, :, None], (3, 1, 1))
    >>> complete = Successors(reach_all, np.ones((3, 3, 1)), np.ones((3, 3), bool))
    >>> least_values(np.zeros((1, 3)), np.full((1, 3), 4.0), complete, discount=0.5).round(6).tolist()
    [[-2.0, -2.0, -2.0]]
    """
    per_action = rewards.ndim == 3
    entries = _entries(successors, per_action)
    basis = gauge_basis(successors, discount=discount, per_action=per_action)
    moved = np.array(rewards, dtype=float)
    for mode, own in zip(moved, values, strict=True):
        mode[entries] = mode[entries] + basis.rewards @ _least_squares(basis.values, -own)
    return moved


def _entries(successors: Successors, per_action: bool) -> np.ndarray | slice:
    """What of one mode's rewards takes part: every node, or the available (node, action) pairs."""
    return np.asarray(successors.available) if per_action else slice(None)


def _transitions(successors: Successors) -> sparse.csr_array:
    """P(node' | node, action) with one row per available (node, action) pair."""
    available = np.asarray(successors.available)
    targets = np.asarray(successors.next)[available]
    probability = np.asarray(successors.probability, dtype=float)[available]
    rows = np.broadcast_to(np.arange(len(targets))[:, None], targets.shape)
    matrix = sparse.csr_array(
        (probability.ravel(), (rows.ravel(), targets.ravel())), shape=(len(targets), successors.n_nodes)
    )
    matrix.eliminate_zeros()
    return matrix


def _invariant_values(transitions: sparse.csr_array, first: np.ndarray, node_of_pair: np.ndarray) -> sparse.csr_array:
    """Orthonormal basis, in sparse columns, of the δV with E[δV(h')|h,a] equal for all available a."""
    constraints = sparse.csr_array(transitions - transitions[first[node_of_pair]])
    constraints.data[np.abs(constraints.data) < _ROUNDING] = 0.0
    constraints.eliminate_zeros()
    constraints = constraints[np.flatnonzero(np.diff(constraints.indptr))]
    n_rows, n_nodes = _shape(constraints)
    # Nodes and constraints as the two sides of a graph: its parts share no constraint.
    rows, columns = constraints.nonzero()
    links = sparse.coo_array((np.ones(rows.size), (columns, n_nodes + rows)), shape=(n_nodes + n_rows,) * 2)
    _, part = connected_components(links, directed=False)
    part_of_node, part_of_row = part[:n_nodes], part[n_nodes:]
    if np.all(np.diff(transitions.indptr) == 1):
        # Deterministic: each constraint says that two nodes move alike.
        _, part_of_node, size = np.unique(part_of_node, return_inverse=True, return_counts=True)
        return sparse.csr_array(
            (1 / np.sqrt(size[part_of_node]), (np.arange(n_nodes), part_of_node)), shape=(n_nodes, len(size))
        )
    by_node, by_row = np.argsort(part_of_node, kind="stable"), np.argsort(part_of_row, kind="stable")
    parts, node_start = np.unique(part_of_node[by_node], return_index=True)
    row_start = np.searchsorted(part_of_row[by_row], np.append(parts, np.iinfo(parts.dtype).max))
    blocks = []
    for i, nodes in enumerate(np.split(by_node, node_start[1:])):
        rows = by_row[row_start[i] : row_start[i + 1]]
        if nodes.size > MAX_BLOCK:
            raise GaugeTooLargeError(
                f"successors: {nodes.size} nodes of this stochastic environment are linked by common "
                f"predecessors; the gauge of r(h) is found for at most {MAX_BLOCK} linked nodes."
            )
        blocks.append(_null_space(constraints[rows][:, nodes].toarray()) if rows.size else np.ones((1, 1)))
    return sparse.csr_array(sparse.block_diag(blocks, format="csr")[np.argsort(by_node)])


def _shape(matrix: sparse.csr_array) -> tuple[int, int]:
    """Rows and columns; scipy declares a shape that may be None."""
    rows, columns = matrix.shape  # pyright: ignore[reportGeneralTypeIssues]
    return rows, columns


def _null_space(matrix: np.ndarray) -> np.ndarray:
    """Orthonormal columns x with matrix @ x = 0."""
    if matrix.shape[0] > matrix.shape[1]:
        matrix = np.asarray(np.linalg.qr(matrix, mode="r"))
    _, singular, right = np.linalg.svd(matrix, full_matrices=True)
    return right[np.count_nonzero(singular > _RANK * singular[0]) :].T


def _least_squares(matrix: sparse.csr_array, target: np.ndarray) -> np.ndarray:
    """The x with least |matrix @ x − target|, for independent columns."""
    from scipy.sparse.linalg import lsmr

    solution = np.zeros(_shape(matrix)[1])
    if 0 in _shape(matrix):
        return solution
    # The second round works on what the first left over, which wins back the digits its stopping rule gave up.
    for _ in range(2):
        left = target - matrix @ solution
        solution = solution + lsmr(matrix, left, atol=1e-14, btol=1e-14, conlim=0, maxiter=50_000)[0]
    return solution


def _check(
    rewards: np.ndarray,
    successors: Successors,
    entries: np.ndarray | slice,
    discount: float,
    full_length: np.ndarray,
) -> None:
    """Refuse what `canonical` cannot use, all faults at once."""
    faults = []
    shape = (successors.n_nodes, successors.n_actions)
    if rewards.ndim not in (2, 3) or rewards.shape[1:] != shape[: rewards.ndim - 1]:
        faults.append(
            f"rewards: got shape {rewards.shape}, expected (modes, {shape[0]}) for r(h) "
            f"or (modes, {shape[0]}, {shape[1]}) for r(h,a)."
        )
    elif not np.isfinite(rewards[:, entries]).all():
        count = np.count_nonzero(~np.isfinite(rewards[:, entries]))
        faults.append(f"rewards: {count} entries are not finite; every available one must be.")
    if not 0 < discount < 1:
        faults.append(f"discount: got {discount}, expected a number between 0 and 1.")
    if full_length.shape != shape[:1]:
        faults.append(f"full_length: got shape {full_length.shape}, expected ({shape[0]},).")
    else:
        leaves = successors.possible & ~full_length[np.asarray(successors.next)]
        leaving = np.flatnonzero(full_length & leaves.any(axis=(1, 2)))
        if leaving.size:
            faults.append(
                f"full_length: {leaving.size} full-length nodes (the first is node {leaving[0]}) are followed "
                "by short ones; expected what follows a full-length history to be one."
            )
    if faults:
        raise ValueError("\n".join(faults))
