"""P-values of several tests at once: of many, some are small by chance.

Both corrections hold the chance of *any* false alarm in the family (not of each) at the level that is asked for.
`holm` needs p-values alone; but a p-value from n draws is never below 1 / (n + 1), so with many tests and few draws
nothing can be left. `max_corrected` asks how often *any* statistic of a data set of the null strays as far as the one
found (Westfall and Young 1993): the same draws serve all tests, and tests that go together count less.  Which serves
where was decided by simulation: studies/predictive_missing.py.
"""

import numpy as np
from jaxtyping import Float

LEVEL = 0.05


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
