"""How well a fit found what is known: segmentation, and rewards in two named measures (design.md#gauge)."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.inference.mode_matching import adjusted_rand_index, assignment, confusion
from swirl.rewards.gauge import canonical
from swirl.rewards.tables import from_dense

__all__ = ["adjusted_rand_index", "reward_correlation", "segmentation_accuracy"]


def segmentation_accuracy(true: Sequence[Any], predicted: Sequence[Any]) -> float:
    """Share of all steps whose mode is right, under the one renaming of modes that is best for all sessions.

    Steps whose true mode is unknown (−1) are left out.

    Examples
    --------
    >>> segmentation_accuracy([[0, 0, 1], [1]], [[1, 1, 0], [1]])
    0.75
    """
    true = [np.asarray(path) for path in true]
    predicted = [np.asarray(path) for path in predicted]
    if [len(path) for path in true] != [len(path) for path in predicted]:
        raise ValueError("true and predicted: expected the same number of sessions, each of the same length")
    known = sum(int(np.sum(path >= 0)) for path in true)
    if known == 0:
        raise ValueError("true: no step has a known mode (−1 stands for unknown), so there is nothing to compare")
    n_true = 1 + max(int(path.max()) for path in true if len(path))
    n_predicted = 1 + max(int(path.max()) for path in predicted if len(path))
    together = np.asarray(confusion(true, predicted, n_true, n_predicted))
    rows, columns = assignment(-together)
    return float(together[rows, columns].sum() / known)


def reward_correlation(
    true: Any,
    fitted: Any,
    measure: Literal["canonical", "paper"] = "canonical",
    *,
    env: MDP,
    discount: float = 0.95,
    per_mode: bool = False,
) -> float | Float[np.ndarray, "mode"]:
    """Correlation of a fitted reward with the true one.

    Parameters
    ----------
    true, fitted
        Dense tables [mode, s_t, s_{t−1}, …], as `reward_table()` gives; the shorter history is repeated over the
        longer one's earlier states. A true mode takes the fitted mode that a Hungarian matching gives it.
    measure
        ``"canonical"``: both are brought to the least-norm member of their gauge class first; Pearson in each
        mode, mean over modes. What the data can tell, and nothing else.
        ``"paper"``: the fitted gauge as it is, each mode shifted to the true mean, one Pearson over all modes.
    env, discount
        The environment and discount of the rewards; they decide which rewards are equivalent.
    per_mode
        Return one number per true mode instead (``"canonical"`` only).

    Examples
    --------
    >>> from swirl.datasets import gridworld_env, gridworld_rewards
    >>> reward = gridworld_rewards()
    >>> round(reward_correlation(reward, 2 * reward[::-1] + 1, env=gridworld_env()), 6)
    1.0
    """
    true, fitted = np.asarray(true, dtype=float), np.asarray(fitted, dtype=float)
    length = max(true.ndim, fitted.ndim) - 1
    histories = Histories.reachable(env.successors, length)
    a, b = (_over_histories(table, histories) for table in (true, fitted))
    full = histories.full_length
    if measure == "canonical":
        a, b = (canonical(r, histories.successors, discount=discount, full_length=full) for r in (a, b))
    elif measure != "paper":
        raise ValueError(f'measure={measure!r}: expected "canonical" or "paper"')
    a, b = a[:, full], b[:, full]
    each = np.array([[pearson(x, y) for y in b] for x in a])
    rows, columns = assignment(-each)
    partner = np.argmax(each, axis=1)  # true modes left over (fewer fitted modes) take their nearest
    partner[rows] = columns
    if measure == "canonical":
        scores = each[np.arange(len(a)), partner]
        return scores if per_mode else float(scores.mean())
    if per_mode:
        raise ValueError('per_mode=True: the "paper" measure is one number over all modes')
    matched = b[partner]
    shifted = matched - matched.mean(axis=1, keepdims=True) + a.mean(axis=1, keepdims=True)
    return pearson(a.ravel(), shifted.ravel())


def _over_histories(table: np.ndarray, histories: Histories) -> np.ndarray:
    """Read a dense table at every history, repeating it over earlier states that it does not know."""
    order = table.ndim - 1
    if table.shape[1:] != (histories.n_states,) * order:
        raise ValueError(
            f"a reward table has shape {table.shape}: expected [mode, state, …] with {histories.n_states} states"
        )
    if order == histories.length:
        return from_dense(table, histories, per_action=False)
    short = Histories.reachable(_states(histories), order)
    values = from_dense(table, short, per_action=False)
    places = {tuple(row): i for i, row in enumerate(short.table.tolist())}
    return values[:, [places[tuple(row)] for row in histories.table[:, :order].tolist()]]


def _states(histories: Histories) -> Any:
    """The environment over states that the histories were lifted from."""
    n = histories.n_states
    lifted = histories.successors
    following = histories.states[np.asarray(lifted.next)[:n]]
    return type(lifted)(following, np.asarray(lifted.probability)[:n], np.asarray(lifted.available)[:n])


def pearson(x: np.ndarray, y: np.ndarray, *, constant: float = 0.0) -> float:
    """Correlation of two arrays; `constant` where one of them is that.

    >>> round(pearson(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 2.0])), 3)
    0.5
    """
    x, y = x - x.mean(), y - y.mean()
    scale = np.sqrt(np.sum(x**2) * np.sum(y**2))
    return float(np.sum(x * y) / scale) if scale > 0 else constant
