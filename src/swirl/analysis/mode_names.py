"""Names for modes by what they do, never by their index: an index means nothing (design.md#choices)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swirl.analysis.behaviour import at, segment_summary
from swirl.data.segments import find_segments, split_at_gaps
from swirl.errors import renamed
from swirl.inference.mode_matching import assignment

PSEUDOCOUNT = 0.5  # arrivals, seen and expected: a mode of few steps is not named on the strength of one arrival


@renamed(least_ratio="min_ratio")
def name_modes(
    modes: Sequence[Any],
    states: Sequence[Any],
    goals: Mapping[str, Any],
    *,
    n_modes: int | None = None,
    gaps: Sequence[Any] | None = None,
    otherwise: str = "explore",
    min_ratio: float = 1.5,
) -> tuple[tuple[str, ...], Any]:
    """Name each mode after the goal that it reaches more often than the modes do together.

    The rule: an arrival at a goal (s_{t+1} there, s_t not) is credited to mode z_t, whose action led there. Then

        ratio[mode, goal] = (arrivals in the mode + ½) / (arrivals expected at the rate of all modes together + ½)

    and goals are matched to modes so that the sum of log ratios is greatest (Hungarian). A match with a ratio below
    `min_ratio` names nothing. The other modes are "explore", "explore 2", … in order of the steps they hold.

    Parameters
    ----------
    modes, states
        One array per session; steps of mode −1 do not count.
    goals
        For each name, the state or states, such as {"water": 23, "home": 0}.
    n_modes
        Number of modes; by default the highest label plus one.
    otherwise
        What to call the modes that no goal names.
    min_ratio
        How much more often than the modes together a mode must reach a goal to be named after it, at least 1: a mode
        that holds nearly all steps reaches every goal a little more often than the rest.

    Returns
    -------
    names
        One per mode.
    evidence : pandas.DataFrame
        One row per mode: name, steps, share_of_steps, and for each goal arrivals_<goal>, rate_<goal> (per 100
        steps), ratio_<goal>, and the share of its segments that end there, ends_at_<goal> (as `segment_summary`;
        it takes no part in the rule).

    Examples
    --------
    >>> modes = [[1, 1, 1, 0, 0, 0, 2, 2]]
    >>> states = [[0, 2, 3, 9, 3, 2, 0, 1]]
    >>> names, evidence = name_modes(modes, states, {"water": 9, "home": 0})
    >>> names
    ('home', 'water', 'explore')
    >>> evidence["ratio_water"].round(2).tolist()
    [0.54, 1.62, 0.78]
    """
    import pandas as pd

    ends = segment_summary(modes, states, goals, n_modes=n_modes, gaps=gaps).drop(index="all")
    n_modes = len(ends)
    # The mode, and whether it came to each goal, at every step that another follows.
    pieces = list(zip(split_at_gaps(modes, gaps), split_at_gaps(states, gaps), strict=True))
    chosen = np.concatenate([path[:-1] for path, _ in pieces])
    known = chosen >= 0
    steps = np.bincount(chosen[known], minlength=n_modes)
    arrivals = np.zeros((n_modes, len(goals)), dtype=np.int64)
    for g, place in enumerate(goals.values()):
        came = np.concatenate([at(path[1:], place) & ~at(path[:-1], place) for _, path in pieces])
        arrivals[:, g] = np.bincount(chosen[known & came], minlength=n_modes)
    expected = np.outer(steps, arrivals.sum(axis=0) / max(steps.sum(), 1))
    ratio = (arrivals + PSEUDOCOUNT) / (expected + PSEUDOCOUNT)
    # A mode that avoids one goal is not thereby named after another.
    score = np.where(ratio >= max(min_ratio, 1.0), np.log(ratio), 0.0)

    found = find_segments(modes, gaps)
    held = np.bincount(found.mode, weights=found.length, minlength=n_modes).astype(np.int64)
    names = [""] * n_modes
    for mode, g in zip(*assignment(-score), strict=True):
        if score[mode, g] > 0:
            names[mode] = list(goals)[g]
    others = [mode for mode in np.argsort(-held, kind="stable") if not names[mode]]
    for i, mode in enumerate(others, start=1):
        names[mode] = otherwise if i == 1 else f"{otherwise} {i}"

    columns: dict[str, Any] = {"name": names, "steps": held, "share_of_steps": held / max(held.sum(), 1)}
    for g, goal in enumerate(goals):
        columns[f"arrivals_{goal}"] = arrivals[:, g]
        columns[f"rate_{goal}"] = 100 * arrivals[:, g] / np.maximum(steps, 1)
        columns[f"ratio_{goal}"] = ratio[:, g]
        columns[f"ends_at_{goal}"] = ends[f"ends_at_{goal}"].to_numpy()
    return tuple(names), pd.DataFrame(columns, index=pd.RangeIndex(n_modes, name="mode"))
