"""When EM has converged: little gain *remains*, which a small step does not say (EM may crawl).

Near its end plain EM gains geometrically, so that from the gains a of the last w iterations and b of the w before them
(Aitken)

    remaining gain ≈ a q / (1 − q),      q = a / b,

the median of which over w = 1 … 5 is taken: short windows see the slowest part best, which is what remains, long ones
are less shaken by M-steps that ended early.  It is in nats: a nat is worth the same however many steps were recorded.
Gains that do not shrink promise no end.  EM can also rest on a plateau and leave it later, so the objective must not
have risen over the last fifth of all iterations either; then, were it to go on as 1 / iterations, four times that rise
would remain.

Quasi-Newton steps (`quasi_newton`) say nothing of plain EM's rate, so each stretch of them ends with some plain ones:
when they promise little, and from time to time.  They leave a plateau sooner than EM does, so once they have begun the
answer must be the same twice, with `CONFIRM` of them in between.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

PLAIN = 50  # iterations before the first quasi-Newton step: far from its end EM's steps are no guide
WINDOW = 5
TAIL = 2 * WINDOW
STRETCH = 10
CONFIRM = 20
LITTLE = 0.1  # of the tolerance: quasi-Newton steps that promise no more are followed by plain ones
ROUNDING = 1e-11  # of the objective: gains below are noise


class Stretch(NamedTuple):
    """Iterations made without asking whether EM has converged."""

    n: int
    accelerated: bool
    asks: bool
    """Whether to ask after it."""


def schedule(accelerated: bool, made: int = 0) -> Iterator[Stretch]:
    """Say how EM goes on after `made` iterations, for ever; `em.run` leaves out what promises little.

    >>> from itertools import islice
    >>> [(s.n, s.accelerated) for s in islice(schedule(True), 16)]
    [(10, False), (5, False), (5, False), (5, False), (5, False), (5, False), (5, False), (5, False), (5, False), \
(10, True), (10, True), (10, True), (10, True), (10, True), (10, False), (10, True)]
    """
    if made < TAIL:
        yield Stretch(TAIL - made, accelerated=False, asks=True)
        made = TAIL
    while True:
        if made < PLAIN or not accelerated:
            n = max(WINDOW, made // 20)
            yield Stretch(n, accelerated=False, asks=True)
            made += n
        else:
            pieces = max(PLAIN, made // 3) // STRETCH
            for _ in range(pieces):
                yield Stretch(STRETCH, accelerated=True, asks=False)
            yield Stretch(TAIL, accelerated=False, asks=True)
            made += pieces * STRETCH + TAIL


def remaining_gain(trace: Float[np.ndarray, "iteration"]) -> float:
    """Predict in nats what EM would still gain; the last ten iterations must be plain ones.

    >>> round(remaining_gain(-0.9 ** np.arange(40)), 4), round(0.9 ** 39, 4)
    (0.0164, 0.0164)
    >>> remaining_gain(np.arange(40.0))
    inf
    """
    if len(trace) <= TAIL or not np.isfinite(trace[-1 - TAIL :]).all():
        return float("inf")
    return float(np.median([_aitken(trace, width) for width in range(1, WINDOW + 1)]))


def _aitken(trace: Float[np.ndarray, "iteration"], width: int) -> float:
    last = float(trace[-1] - trace[-1 - width])
    before = float(trace[-1 - width] - trace[-1 - 2 * width])
    if abs(last) <= ROUNDING * abs(float(trace[-1])):
        return max(last, 0.0)
    ratio = last / before if before > 0 else np.inf
    return last * ratio / (1 - ratio) if 0 <= ratio < 1 else float("inf")


def recent_gain(trace: Float[np.ndarray, "iteration"]) -> float:
    """Return by how much the objective rose over the last fifth of the iterations, ten at least.

    >>> recent_gain(np.arange(101.0))
    20.0
    """
    if len(trace) <= TAIL:
        return float("inf")
    return float(trace[-1] - trace[-1 - max(TAIL, (len(trace) - 1) // 5)])


def unfinished(trace: Float[np.ndarray, "iteration"]) -> float:
    """Predict what remains where the iterations ran out: what crawls as 1 / iterations has four recent gains to go.

    >>> round(unfinished(-1000 / np.arange(1.0, 1001.0)), 1)  # 1.0 remains
    1.0
    """
    return 4 * recent_gain(trace)
