"""Rewards as dense tables [mode, s_t, s_{t−1}, …(, action)] and as long lists over histories, and means over these."""

import numpy as np
from jaxtyping import Float, Int

from swirl.data.histories import Histories

MAX_ENTRIES = 50_000_000


def to_dense(
    rewards: Float[np.ndarray, "mode history *action"], histories: Histories
) -> Float[np.ndarray, "mode *dense"]:
    """Spread rewards over a dense table; NaN where no full-length history exists.

    >>> from swirl.data.mdp import MDP
    >>> ring = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
    >>> histories = Histories.reachable(ring.successors, length=2)
    >>> to_dense(np.arange(9.0)[None], histories)[0]
    array([[ 3., nan,  7.],
           [ 4.,  5., nan],
           [nan,  6.,  8.]])
    """
    shape = (rewards.shape[0], *[histories.n_states] * histories.length, *rewards.shape[2:])
    if np.prod(shape, dtype=float) > MAX_ENTRIES:
        raise ValueError(
            f"a dense table of shape {shape} would have {np.prod(shape, dtype=float):.3g} entries: use rewards_ "
            "with histories_ (one row per reachable history) instead"
        )
    dense = np.full(shape, np.nan)
    full = histories.full_length
    dense[(slice(None), *histories.table[full].T)] = rewards[:, full]
    return dense


def from_dense(
    dense: Float[np.ndarray, "mode *dense"], histories: Histories, *, per_action: bool
) -> Float[np.ndarray, "mode history *action"]:
    """Read a dense table at every history; a short history takes the mean over its completions.

    >>> from swirl.data.mdp import MDP
    >>> ring = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
    >>> histories = Histories.reachable(ring.successors, length=2)
    >>> table = to_dense(np.arange(9.0)[None], histories)
    >>> from_dense(table, histories, per_action=False)[0].tolist()
    [5.0, 4.5, 7.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    """
    known = histories.length
    expected = (histories.n_states,) * known
    if dense.shape[1 : 1 + known] != expected or dense.ndim != 1 + known + per_action:
        raise ValueError(
            f"rewards has shape {dense.shape}: expected (n_modes, {', '.join(map(str, expected))}"
            f"{', n_actions' if per_action else ''}) for history={known}"
        )
    full = histories.full_length
    rewards = np.empty((dense.shape[0], histories.n_histories, *dense.shape[1 + known :]))
    rewards[:, full] = dense[(slice(None), *histories.table[full].T)]
    needed = np.asarray(histories.successors.available)[full] if per_action else True
    missing = np.argwhere(~np.isfinite(rewards[:, full]) & needed)
    if len(missing):
        mode, row, *action = missing[0]
        where = f"history {histories.table[full][row].tolist()} (newest first)" + "".join(
            f", action {a}" for a in action
        )
        got = rewards[:, full][tuple(missing[0])]
        raise ValueError(
            f"rewards[{mode}] is {got} at the reachable {where}: give every reachable history a finite number"
        )
    for order in range(known - 1, 0, -1):  # means over the histories of `known` states that begin alike
        groups = histories.suffixes(order)
        short = np.flatnonzero((histories.table[:, order - 1] >= 0) & (histories.table[:, order] < 0))
        totals = np.zeros((int(groups.max()) + 1, rewards.shape[0], *rewards.shape[2:]))
        np.add.at(totals, groups[full], rewards[:, full].swapaxes(0, 1))
        sizes = np.maximum(np.bincount(groups[full], minlength=len(totals)), 1)
        means = totals / sizes.reshape(-1, *[1] * (totals.ndim - 1))
        rewards[:, short] = means[groups[short]].swapaxes(0, 1)
    return rewards


def group_mean(
    table: Float[np.ndarray, "mode row *rest"], group: Int[np.ndarray, "row"], n_groups: int
) -> Float[np.ndarray, "mode group *rest"]:
    """Mean over the rows of each group; NaN (no such action) is left out, and is the mean of nothing.

    >>> group_mean(np.array([[1.0, 3.0, np.nan, 8.0]]), np.array([0, 0, 1, 1]), 3).tolist()
    [[2.0, 8.0, nan]]
    """
    known = np.isfinite(table)
    total = np.zeros((n_groups, len(table), *table.shape[2:]))
    count = np.zeros_like(total)
    np.add.at(total, group, np.where(known, table, 0.0).swapaxes(0, 1))
    np.add.at(count, group, known.astype(float).swapaxes(0, 1))
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).swapaxes(0, 1)
