"""Matching the modes of two fits, or of a fit and the truth: labels mean nothing until they are matched.

A match is an array `match` with one entry per mode of the *other* (predicted, fitted) side: `match[mode]` is
the reference mode it is called.  It is always one-to-one.  When the other side has more modes than the
reference, those left over are called n_reference, n_reference + 1, … in their own order (not −1, which numpy
would read as "the last mode"); when it has fewer, some reference modes are not used.

To relabel a path: ``match[path]``.  To put arrays [mode, …] in the reference's order:
``array[np.argsort(match)]``.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
from jaxtyping import Float, Int

FEW = 5  # modes of which all orders are tried
Paths = Sequence[Int[np.ndarray, "_"]]


def assignment(
    cost: Float[np.ndarray, "row column"] | Int[np.ndarray, "row column"],
) -> tuple[Int[np.ndarray, "pair"], Int[np.ndarray, "pair"]]:
    """Rows and columns of the pairs with the least total cost, as many pairs as there can be (Hungarian matching).

    Of few modes every order is tried, which needs no further import.

    >>> assignment(np.array([[1, 0], [0, 1], [5, 5]]))
    (array([0, 1]), array([1, 0]))
    """
    if max(cost.shape) > FEW or 0 in cost.shape or not np.isfinite(cost).all():
        from scipy.optimize import linear_sum_assignment

        return linear_sum_assignment(cost)
    if len(cost) > cost.shape[1]:
        columns, rows = assignment(cost.T)
        order = np.argsort(rows)
        return rows[order], columns[order]
    rows = np.arange(len(cost))
    orders = np.array(list(permutations(range(cost.shape[1]), len(cost))), dtype=int).reshape(-1, len(cost))
    return rows, orders[np.argmin(cost[rows, orders].sum(axis=1))]


def match_modes(
    cost: Float[np.ndarray, "other reference"] | Int[np.ndarray, "other reference"],
) -> Int[np.ndarray, "other"]:
    """Match modes so that the summed cost[other, reference] is least (Hungarian algorithm).

    Examples
    --------
    >>> match_modes(np.array([[5.0, 1.0], [1.0, 5.0]])).tolist()
    [1, 0]
    >>> match_modes(np.array([[5.0], [2.0], [1.0]])).tolist()  # two modes left over
    [1, 2, 0]
    """
    n_other, n_reference = cost.shape
    if not np.all(np.isfinite(cost)):
        raise ValueError("cost must be finite: NaN or infinity cannot be compared")
    matched, reference = assignment(cost)
    match = np.full(n_other, -1)
    match[matched] = reference
    left_over = np.flatnonzero(match < 0)
    match[left_over] = n_reference + np.arange(len(left_over))
    return match


def confusion(
    true: Paths, predicted: Paths, n_true: int | None = None, n_predicted: int | None = None
) -> Int[np.ndarray, "true predicted"]:
    """Count the steps with each true and predicted mode, over all sessions.

    Steps where either is −1 (not labelled) are not counted.  The numbers of modes default to the highest
    label plus one.

    Examples
    --------
    >>> confusion([np.array([0, 0, 1, -1])], [np.array([1, 1, 0, 0])], 2, 2).tolist()
    [[0, 2], [1, 0]]
    """
    faults = []
    if len(true) != len(predicted):
        faults.append(f"true has {len(true)} sessions, predicted {len(predicted)}: give the same sessions")
    for session, (a, b) in enumerate(zip(true, predicted, strict=False)):
        if len(a) != len(b):
            faults.append(f"session {session}: true has {len(a)} steps, predicted {len(b)}: give one mode per step")
    n_true = _n_modes(true) if n_true is None else n_true
    n_predicted = _n_modes(predicted) if n_predicted is None else n_predicted
    for name, paths, n_modes in (("true", true, n_true), ("predicted", predicted, n_predicted)):
        for session, path in enumerate(paths):
            outside = np.flatnonzero((path < -1) | (path >= n_modes))
            if outside.size:
                step = outside[0]
                faults.append(f"{name}[{session}] is {path[step]} at step {step}, expected -1 to {n_modes - 1}")
    if faults:
        raise ValueError("; ".join(faults))
    counts = np.zeros((n_true, n_predicted), dtype=np.int64)
    for a, b in zip(true, predicted, strict=True):
        labelled = (a >= 0) & (b >= 0)
        np.add.at(counts, (a[labelled], b[labelled]), 1)
    return counts


def match_by_overlap(
    true: Paths, predicted: Paths, n_true: int | None = None, n_predicted: int | None = None
) -> Int[np.ndarray, "predicted"]:
    """Match predicted modes to true ones so that the most steps agree, with one match for all sessions.

    Examples
    --------
    >>> match = match_by_overlap([np.array([0, 0, 1, 1])], [np.array([1, 1, 0, 1])])
    >>> match[np.array([1, 1, 0, 1])].tolist()
    [0, 0, 1, 0]
    """
    return match_modes(-confusion(true, predicted, n_true, n_predicted).T)


def match_by_distance(
    reference: Float[np.ndarray, "n_reference *shape"], other: Float[np.ndarray, "n_other *shape"]
) -> Int[np.ndarray, "n_other"]:
    """Match modes by least squared distance Σ (other − reference)², for example of policies or rewards.

    Only entries that are finite in every mode of both sides count (a reward table is NaN where there is no
    history).

    Examples
    --------
    >>> reference = np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
    >>> match_by_distance(reference, reference[[2, 0, 1]] + 0.1).tolist()
    [2, 0, 1]
    """
    if reference.shape[1:] != other.shape[1:]:
        raise ValueError(
            f"reference has shape {reference.shape}, other {other.shape}: all axes but the first (mode) must agree"
        )
    flat_reference, flat_other = reference.reshape(len(reference), -1), other.reshape(len(other), -1)
    finite = np.all(np.isfinite(flat_reference), axis=0) & np.all(np.isfinite(flat_other), axis=0)
    if not np.any(finite):
        raise ValueError("reference and other have no entry that is finite in every mode: nothing to compare")
    # One pair at a time: [mode, mode, entry] would be large for long histories.
    cost = [[np.sum((a - b) ** 2) for b in flat_reference[:, finite]] for a in flat_other[:, finite]]
    return match_modes(np.array(cost))


def _n_modes(paths: Paths) -> int:
    return 1 + max((int(path.max()) for path in paths if len(path)), default=-1)


def adjusted_rand_index(a: Sequence[Any], b: Sequence[Any]) -> float:
    """Agreement of two segmentations, whatever their modes are called and however many they are.

    Of all pairs of steps, those together in both segmentations, less what chance gives, over the most there can be:
    1 for the same segmentation, 0 on average for unrelated ones (Hubert and Arabie 1985).

    Parameters
    ----------
    a, b
        One mode per step for each session; the steps of all sessions are compared together. Steps that are −1 (not
        labelled) in either are left out.

    Examples
    --------
    >>> adjusted_rand_index([[0, 0, 1], [1]], [[5, 5, 2], [2]])
    1.0
    >>> round(adjusted_rand_index([[0, 0, 1, 1]], [[0, 0, 1, 2]]), 3)
    0.571
    """
    a, b = [np.asarray(path) for path in a], [np.asarray(path) for path in b]
    if [len(path) for path in a] != [len(path) for path in b]:
        raise ValueError("a and b: expected the same number of sessions, each of the same length")
    together = confusion(a, b).astype(float)
    if together.sum() == 0:
        raise ValueError("a and b: no step is labelled in both (−1 stands for not labelled): nothing to compare")
    both, in_a, in_b, all_pairs = (
        float(np.sum(n * (n - 1) / 2))
        for n in (together, together.sum(axis=1), together.sum(axis=0), together.sum(keepdims=True))
    )
    most = (in_a + in_b) / 2
    chance = in_a * in_b / all_pairs if all_pairs else 0.0
    return (both - chance) / (most - chance) if most != chance else 1.0
