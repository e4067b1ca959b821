"""A recorded signal (dopamine) beside the reward: mean per mode, state and action, and how they correlate.

The paper's measure (§4.3, design.md#recordings): Viterbi modes; mean signal per (mode, s, a); z-scored over actions
within a state; diagonal (self-transitions) dropped; Pearson with the reward map of each mode.  Rewards are known only
up to a gauge (design.md#gauge), so the correlation depends on which equivalent reward the prior picked: say so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.analysis.metrics import pearson
from swirl.analysis.significance import holm
from swirl.errors import Faults

__all__ = ["SignalTest", "signal_correlation", "signal_map", "signal_test"]

Map = Float[np.ndarray, "mode state action"]


def signal_map(
    modes: Sequence[Any],
    states: Sequence[Any],
    actions: Sequence[Any],
    signal: Sequence[Any],
    n_modes: int,
    n_states: int,
    n_actions: int,
) -> Map:
    """Mean signal for each mode, state and action; NaN where there is no step.

    Steps without a mode or action (−1), or with a signal that is not finite, do not count.

    Examples
    --------
    >>> signal_map([[0, 0, 0]], [[1, 1, 0]], [[0, 0, -1]], [[2.0, 4.0, 9.0]], 1, 2, 2).tolist()
    [[[nan, nan], [3.0, nan]]]
    """
    cells, known = _cells(modes, states, actions, signal, (n_modes, n_states, n_actions))
    values = np.concatenate([np.asarray(part, dtype=float) for part in signal])
    return _means(cells, known, values, (n_modes, n_states, n_actions))


def signal_correlation(
    rewards: Map,
    signal_map: Float[np.ndarray, "_ _ _"],
    *,
    within_state: bool = False,
    drop_diagonal: bool = True,
) -> Float[np.ndarray, "mode"]:
    """Pearson correlation, in each mode, of the reward with the signal z-scored over the actions of a state.

    Parameters
    ----------
    rewards
        [mode, state, action]; NaN where there is none. Used as it is: a reward that is high at all actions of a
        state stays so, although the signal's level at a state was taken out.
    signal_map
        As `signal_map` gives. A state where fewer than two actions have a signal, or all the same, drops out.
    within_state
        Also z-score the reward over the actions of each state, so that both sides say the same: which action there.
    drop_diagonal
        Leave out action a = state a: for syllables, staying in the same one. The z-scores are taken before.

    Returns
    -------
    array
        One number per mode; NaN where fewer than two cells, or no variation, are left.

    Examples
    --------
    >>> signal = np.array([[[9.0, 1.0, 3.0], [2.0, 9.0, 0.0]]])
    >>> reward = np.array([[[0.0, -1.0, 1.0], [1.0, 0.0, -1.0]]])
    >>> signal_correlation(reward, signal).round(3).tolist()
    [0.998]
    """
    if rewards.shape != signal_map.shape:
        raise ValueError(
            f"rewards has shape {rewards.shape}, signal_map {signal_map.shape}: expected the same [mode, state, action]"
        )
    compared = ~np.eye(*rewards.shape[1:], dtype=bool) | (not drop_diagonal)
    rewards = _within_state(rewards) if within_state else rewards
    pairs = zip(rewards[:, compared], _within_state(signal_map)[:, compared], strict=True)
    return np.array([_known_pearson(x, y) for x, y in pairs])


@dataclass(frozen=True)
class SignalTest:
    """Correlation of reward and signal in each mode, and where it lies among those with shifted signals."""

    correlation: Float[np.ndarray, "mode"]
    null: Float[np.ndarray, "shift mode"]
    p_value: Float[np.ndarray, "mode"]
    """Of each mode by itself."""

    @property
    def corrected_p_value(self) -> Float[np.ndarray, "mode"]:
        """P-values corrected for all modes that have one (Holm): what a claim about some mode must rest on."""
        return holm(self.p_value)

    @property
    def n_tests(self) -> int:
        """Modes that have a p-value: the family that is corrected for."""
        return int(np.isfinite(self.p_value).sum())

    def table(self) -> Any:
        """One row per mode, as a pandas DataFrame.

        correlation, mean and 95 % range of the null, p_value (of that mode by itself), corrected_p_value (Holm), tests
        (how many modes that one is corrected for).
        """
        import pandas as pd

        known = np.where(np.isfinite(self.null).all(axis=0), self.null, np.nan)
        low, high = np.quantile(known, [0.025, 0.975], axis=0)
        columns = {"correlation": self.correlation, "null_mean": known.mean(axis=0), "null_low": low}
        columns |= {"null_high": high, "p_value": self.p_value, "corrected_p_value": self.corrected_p_value}
        columns["tests"] = np.full(len(self.correlation), self.n_tests)
        return pd.DataFrame(columns, index=pd.RangeIndex(len(self.correlation), name="mode"))


def signal_test(
    rewards: Map,
    modes: Sequence[Any],
    states: Sequence[Any],
    actions: Sequence[Any],
    signal: Sequence[Any],
    *,
    n_shifts: int = 999,
    alternative: Literal["two-sided", "greater"] = "two-sided",
    within_state: bool = False,
    drop_diagonal: bool = True,
    random_state: int = 0,
) -> SignalTest:
    """Test the correlation of reward and signal against circular shifts of the signal within each session.

    Each shift moves the signal of every session by a random number of steps (1 to T − 1, its end going to its start):
    the signal keeps its values and its slow drifts, the behaviour and the reward stay, and what ties them step by
    step is gone. p = (1 + shifts at least as extreme) / (1 + n_shifts), so the least p is 1 / (1 + n_shifts), and with
    K modes the least corrected one K / (1 + n_shifts).

    Parameters
    ----------
    rewards
        [mode, state, action], in the modes' order.
    alternative
        "two-sided": as far from 0 as the one found; "greater": as high.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> states, actions = rng.integers(0, 6, (2, 4, 200))
    >>> reward = rng.normal(size=(1, 6, 6))
    >>> signal = reward[0, states, actions] + rng.normal(size=(4, 200))
    >>> modes = np.zeros((4, 200), dtype=int)
    >>> test = signal_test(reward, list(modes), list(states), list(actions), list(signal), n_shifts=99)
    >>> bool(test.correlation[0] > 0.8), test.p_value.tolist()
    (True, [0.01])
    """
    if n_shifts < 1:
        raise ValueError(f"n_shifts={n_shifts}: expected 1 or more")
    if alternative not in ("two-sided", "greater"):
        raise ValueError(f'alternative={alternative!r}: expected "two-sided" or "greater"')
    cells, _ = _cells(modes, states, actions, signal, rewards.shape)
    placed = _placed(modes, states, actions)
    parts = [np.asarray(part, dtype=float) for part in signal]
    rng = np.random.default_rng(random_state)

    def correlation(values: np.ndarray) -> np.ndarray:
        means = _means(cells, placed & np.isfinite(values), values, rewards.shape)
        return signal_correlation(rewards, means, within_state=within_state, drop_diagonal=drop_diagonal)

    found = correlation(np.concatenate(parts))
    shifted = ([np.roll(x, rng.integers(1, len(x)) if len(x) > 1 else 0) for x in parts] for _ in range(n_shifts))
    null = np.array([correlation(np.concatenate(values)) for values in shifted])
    side = np.abs if alternative == "two-sided" else np.asarray
    # NaN compares false: a null that could not be computed would count as less extreme, so it counts as extreme.
    p_value = (1 + np.sum(~(side(null) < side(found)), axis=0)) / (1 + n_shifts)
    return SignalTest(found, null, np.where(np.isfinite(found), p_value, np.nan))


def _cells(
    modes: Sequence[Any], states: Sequence[Any], actions: Sequence[Any], signal: Sequence[Any], shape: Sequence[int]
) -> tuple[Int[np.ndarray, "step"], Bool[np.ndarray, "step"]]:
    """Number of the cell [mode, state, action] of each step, and whether the step counts."""
    faults = Faults()
    given = {"modes": modes, "actions": actions, "signal": signal}
    for name, values in given.items():
        lengths, expected = [len(x) for x in values], [len(x) for x in states]
        if lengths != expected:
            i = next((i for i, pair in enumerate(zip(lengths, expected, strict=False)) if len(set(pair)) > 1), None)
            got = f"{len(lengths)} sessions, states {len(expected)}"
            if i is not None:
                got = f"{lengths[i]} steps in session {i}, states {expected[i]}"
            faults.add(f"{name} has {got}: give one value for each step of each session")
    faults.raise_if_any("The signal cannot be mapped")
    labels = [np.concatenate([np.asarray(x, dtype=np.int64) for x in values]) for values in (modes, states, actions)]
    for name, label, n in zip(("modes", "states", "actions"), labels, shape, strict=True):
        if label.size and label.max() >= n:
            faults.add(f"{name} go up to {label.max()}: expected less than {n}, the size of that axis")
    faults.raise_if_any("The signal cannot be mapped")
    known = _placed(modes, states, actions)
    known &= np.concatenate([np.isfinite(np.asarray(part, dtype=float)) for part in signal])
    cells = np.ravel_multi_index([np.maximum(label, 0) for label in labels], tuple(shape))
    return cells, known


def _placed(*labels: Sequence[Any]) -> Bool[np.ndarray, "step"]:
    """Steps at which all labels are known."""
    return np.all([np.concatenate([np.asarray(x) for x in label]) >= 0 for label in labels], axis=0)


def _means(cells: np.ndarray, known: np.ndarray, values: np.ndarray, shape: Sequence[int]) -> Map:
    n = int(np.prod(shape))
    count = np.bincount(cells[known], minlength=n)
    total = np.bincount(cells[known], weights=values[known], minlength=n)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).reshape(tuple(shape))


def _within_state(table: Map) -> Map:
    """z-scores over the actions of each state, of those that are known; NaN where they do not vary."""
    known = np.isfinite(table)
    n = np.maximum(known.sum(axis=-1, keepdims=True), 1)
    centred = table - np.where(known, table, 0).sum(axis=-1, keepdims=True) / n
    spread = np.sqrt(np.where(known, centred**2, 0).sum(axis=-1, keepdims=True) / n)
    # Equal values leave a spread of rounding errors: that is none.
    size = np.where(known, np.abs(table), 0).max(axis=-1, keepdims=True)
    return centred / np.where(spread > 1e-12 * size, spread, np.nan)


def _known_pearson(x: np.ndarray, y: np.ndarray) -> float:
    both = np.isfinite(x) & np.isfinite(y)
    if both.sum() < 2:
        return np.nan
    return pearson(x[both], y[both], constant=np.nan)
