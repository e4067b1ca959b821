"""P-values of several tests at once: of many, some are small by chance.

Both corrections hold the chance of *any* false alarm in the family (not of each) at the level that is asked for.
`holm` needs p-values alone; but a p-value from n draws is never below 1 / (n + 1), so with many tests and few draws
nothing can be left. `max_corrected` asks how often *any* statistic of a data set of the null strays as far as the one
found (Westfall and Young 1993): the same draws serve all tests, and tests that go together count less.  Which serves
where was decided by simulation: studies/predictive_missing.py.

`group_test` compares groups of animals by shuffling which animal belongs to which group: the animal is the unit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from jaxtyping import Float, Int

LEVEL = 0.05
MAX_SHUFFLES = 10_000  # of groups, drawn where there are more ways to divide the animals than that


def holm(p_values: Float[np.ndarray, "*tests"]) -> Float[np.ndarray, "*tests"]:
    """Correct p-values step by step (Holm 1979); NaN is no test.

    >>> holm(np.array([0.01, 0.04, 0.03, np.nan])).round(3).tolist()
    [0.03, 0.06, 0.06, nan]
    """
    p_values = np.asarray(p_values, dtype=float)
    flat = p_values.ravel()
    order = np.argsort(flat, kind="stable")[: np.isfinite(flat).sum()]  # NaN comes last
    corrected = np.full(flat.shape, np.nan)
    steps = flat[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected.reshape(p_values.shape)


def strays(values: Float[np.ndarray, "set *tests"]) -> Float[np.ndarray, "set *tests"]:
    """How far each data set is from the mean of all, in standard deviations over all; 0 where unknown or all alike.

    >>> strays(np.array([[3.0, 1.0], [1.0, 1.0], [np.nan, 1.0]])).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """
    known = np.isfinite(values)
    n = np.maximum(known.sum(axis=0), 1)
    apart = np.where(known, values - np.where(known, values, 0.0).sum(axis=0) / n, 0.0)
    scale = np.sqrt((apart**2).sum(axis=0) / n)
    return np.divide(np.abs(apart), scale, out=np.zeros_like(apart), where=scale > 1e-12)


def max_corrected(distances: Float[np.ndarray, "set test"]) -> Float[np.ndarray, "test"]:
    """Corrected p-values of the first data set among those of the null, from how far each strays in each test.

    For the test that strays most: the share of all data sets, the first among them, in which any test strays as far.
    Then the same for the next without it, and so on (step-down), never below the one before. Equals::

        for i, test in enumerate(order):                      # furthest first
            most = distances[:, order[i:]].max(axis=1)
            p[test] = max(p of the test before, mean(most >= distances[0, test]))

    >>> max_corrected(np.array([[9.0, 2.0], [1.0, 3.0], [2.0, 1.0], [1.0, 1.0]])).tolist()
    [0.25, 0.5]
    """
    order = np.argsort(-distances[0], kind="stable")
    most = np.maximum.accumulate(distances[:, order[::-1]], axis=1)[:, ::-1]
    corrected = np.empty(len(order))
    corrected[order] = np.maximum.accumulate((most >= distances[0, order] - 1e-12).mean(axis=0))
    return corrected


@dataclass(frozen=True)
class GroupTest:
    """Whether groups of animals differ in several measures; each animal counts once."""

    groups: tuple[Any, ...]
    counts: Int[np.ndarray, "group"]
    """Animals in each group."""
    mean: Float[np.ndarray, "group measure"]
    p_value: Float[np.ndarray, "measure"]
    corrected: Float[np.ndarray, "measure"]
    """For all measures together (`max_corrected`)."""
    n_shuffles: int
    """Ways to divide the animals that were looked at, the real one among them."""
    exact: bool
    """Whether these are all ways."""
    least: float
    """The smallest p-value that so few animals can have."""


def group_test(values: Any, groups: Sequence[Any], *, seed: int = 0) -> GroupTest:
    """Test whether groups of animals differ, by shuffling which animal belongs to which group (a permutation test).

    For each measure: how far the groups' means lie apart (the sum of squares between groups), and in which share of
    all ways to divide the animals into groups of these sizes they lie as far apart. Nothing is assumed of how a measure
    is distributed. Of two groups all ways are looked at where there are at most 10,000; else as many are drawn.

    Parameters
    ----------
    values
        One row for each animal, one column for each measure, such as its share of time in each mode.
    groups
        The group of each animal. Animals that were in several groups do not fit this test.

    Examples
    --------
    >>> share = np.array([[0.2], [0.3], [0.25], [0.6], [0.7], [0.65]])
    >>> found = group_test(share, ["saline"] * 3 + ["drug"] * 3)
    >>> found.p_value.tolist(), found.n_shuffles, found.least  # of 20 ways two lie as far apart
    ([0.1], 20, 0.1)
    """
    values, known = np.asarray(values, dtype=float), list(dict.fromkeys(groups))
    labels = np.array([known.index(group) for group in groups], np.int64)
    counts = np.bincount(labels, minlength=len(known))
    if values.ndim != 2 or len(values) != len(labels):
        raise ValueError(f"values has shape {values.shape}: expected (animals, measures), a row for each of "
                         f"{len(labels)} groups given")  # fmt: skip
    if len(known) < 2 or len(values) < 3:
        raise ValueError(f"groups: got {len(known)} of {len(values)} animals; expected two groups or more, and three "
                         "animals or more")  # fmt: skip
    if not np.isfinite(values).all():
        raise ValueError("values: some are not finite; leave out animals for which a measure is not known")
    exact = len(known) == 2 and comb(len(values), int(counts[1])) <= MAX_SHUFFLES
    if exact:
        ways = np.zeros((comb(len(values), int(counts[1])), len(values)), np.int64)
        for way, second in zip(ways, combinations(range(len(values)), int(counts[1])), strict=True):
            way[list(second)] = 1
        ways = np.concatenate([labels[None], ways[(ways != labels).any(axis=1)]])
    else:
        rng = np.random.default_rng(seed)
        ways = np.concatenate([labels[None], rng.permuted(np.tile(labels, (MAX_SHUFFLES - 1, 1)), axis=1)])
    centred = values - values.mean(axis=0)
    apart = np.zeros((len(ways), values.shape[1]))
    for group, count in enumerate(counts):
        apart += ((ways == group) @ centred) ** 2 / count
    spread = (centred**2).sum(axis=0)
    apart = np.divide(apart, spread, out=np.zeros_like(apart), where=spread > 1e-12)  # explained variance: 0 to 1
    return GroupTest(
        tuple(known),
        counts,
        np.stack([values[labels == group].mean(axis=0) for group in range(len(known))]),
        (apart >= apart[0] - 1e-9).mean(axis=0),
        max_corrected(apart),
        len(ways),
        exact,
        float((apart >= apart.max(axis=0) - 1e-9).mean(axis=0).min()),
    )
