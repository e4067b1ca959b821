"""When steps end: the one rule by which all that is written gives bouts a duration."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float


def step_ends(times: Sequence[np.ndarray], gaps: Sequence[np.ndarray]) -> list[Float[np.ndarray, " step"]]:
    """When each step of each session ends; a bout stops when its last step does.

    A step ends when the next one starts.  Before a gap and at the end of a session that is not known: there a step is
    taken to last as long as the median step of its session (of all sessions, where it has no other; 0 s where none
    has), but not into the next segment.

    Examples
    --------
    >>> [ends] = step_ends([np.array([0.0, 0.5, 1.0, 9.0])], [np.array([3])])
    >>> ends.tolist()
    [0.5, 1.0, 1.5, 9.5]
    """
    lasted = [np.delete(np.diff(clock), gap - 1) for clock, gap in zip(times, gaps, strict=True)]
    every = np.concatenate([np.zeros(0), *lasted])
    ends = []
    for clock, gap, own in zip(times, gaps, lasted, strict=True):
        known = own if own.size else every
        usual = float(np.median(known)) if known.size else 0.0
        end = np.append(clock[1:].astype(float), np.inf)
        final = np.append(gap, len(clock)) - 1  # the last step of each segment
        end[final] = np.minimum(clock[final].astype(float) + usual, end[final])
        ends.append(end)
    return ends
