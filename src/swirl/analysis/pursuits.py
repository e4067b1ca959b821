"""Pursuits: when a goal is taken up, whether and how straight it is reached, and what comes next.

A *pursuit* is what a model decodes, not what an animal intends: steps in a row whose most likely mode is that of a goal
(`rewards.Goals`), up to the step at which the goal is reached.  The move of the last step counts too: a goal that it
leads to is reached.  Where the mode goes on after the animal has left its goal, another pursuit of that goal begins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.analysis.behaviour import Place, agreement_with_runs, at, distances, runs_to
from swirl.analysis.decoded import DecodedFit, decode
from swirl.data.mdp import MDP
from swirl.data.segments import find_segments

QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Pursuits:
    """One entry per pursuit, in order of session and time."""

    session: Int[np.ndarray, "pursuit"]
    start: Int[np.ndarray, "pursuit"]
    """Its first step."""
    mode: Int[np.ndarray, "pursuit"]
    """The mode whose goal is pursued."""
    steps: Int[np.ndarray, "pursuit"]
    """Moves from its first step until the goal is reached, or until it is dropped."""
    reached: Bool[np.ndarray, "pursuit"]
    distance: Float[np.ndarray, "pursuit"]
    """Fewest moves from its first state to the goal; NaN where there is no way."""
    stays: Int[np.ndarray, "pursuit"]
    """Steps in a row at the goal, the arrival included; 0 where it is not reached."""
    next_mode: Int[np.ndarray, "pursuit"]
    """Mode of what follows, the same where the same goal is pursued again; −1 where the recording stops."""
    cut_start: Bool[np.ndarray, "pursuit"]
    """The recording starts with it, so that it may have begun earlier."""
    cut_end: Bool[np.ndarray, "pursuit"]
    """The recording stops before the goal is reached or dropped."""

    @property
    def timed(self) -> Bool[np.ndarray, "pursuit"]:
        """Those that are seen from their first step until the goal is reached."""
        return self.reached & ~self.cut_start & np.isfinite(self.distance)

    def of(self, mode: int) -> tuple[Float[np.ndarray, "timed"], Int[np.ndarray, "timed"]]:
        """Distance and steps of the timed pursuits of one goal."""
        own = self.timed & (self.mode == mode)
        return self.distance[own], self.steps[own]

    def table(self) -> Any:
        """A pandas DataFrame with one row per pursuit."""
        import pandas as pd

        return pd.DataFrame(vars(self))


def pursuits(model: Any, data: Any) -> Pursuits:
    """Decode sessions with a model that has goals, and find the pursuits of each.

    >>> from swirl import datasets
    >>> world = datasets.gridworld(n_sessions=2, n_steps=20)
    >>> pursuits(world.true_model(), world.trajectories)
    Traceback (most recent call last):
    ValueError: model: it has no goals; fit one with reward=rewards.Goals(places)
    """
    fit = decode(model, data)
    if not model.goals:
        raise ValueError("model: it has no goals; fit one with reward=rewards.Goals(places)")
    return find_pursuits(**decoded_goals(fit))


def decoded_goals(fit: DecodedFit) -> dict[str, Any]:
    """What `find_pursuits` and `goal_summary` ask for, of a fit with goals.

    Where a model allows transitions that the environment rules out, they are gaps: there is no way across.
    """
    env, data = fit.environment(), fit.data
    data = data.with_gaps([steps + 1 for steps in env.impossible_transitions(data)])
    goals = {goal.mode: goal.states for goal in fit.model.goals}
    return {"modes": fit.modes, "states": data.states, "env": env, "goals": goals, "gaps": data.gaps}


def find_pursuits(
    modes: Sequence[Any],
    states: Sequence[Any],
    env: MDP,
    goals: Mapping[int, Place],
    *,
    gaps: Sequence[Any] | None = None,
) -> Pursuits:
    """Find the pursuits of each goal in decoded sessions.

    Parameters
    ----------
    modes, states
        One array per session.
    goals
        For each mode that has one, the state or states of its goal.
    gaps
        As in `Trajectories`: nothing is counted across them.

    Examples
    --------
    >>> line = MDP.deterministic([[0, 1], [0, 2], [1, 3], [2, 3]])
    >>> found = find_pursuits([[0, 1, 1, 1, 0, 0]], [[1, 2, 1, 0, 0, 1]], line, {1: 0})
    >>> found.start.tolist(), found.steps.tolist(), found.distance.tolist(), found.stays.tolist()
    ([1], [2], [2.0], [2])
    """
    found = find_segments(modes, gaps)
    away = {mode: distances(env, place).astype(float) for mode, place in goals.items()}
    there = {mode: [at(path, place) for path in states] for mode, place in goals.items()}
    ends = [np.append(gap, len(path)) for path, gap in zip(states, gaps or [[]] * len(states), strict=True)]
    rows = []
    for i in np.flatnonzero(np.isin(found.mode, list(goals))):
        session, mode, stop = int(found.session[i]), int(found.mode[i]), int(found.stop[i])
        here, path = there[mode][session], np.asarray(states[session])
        last = int(ends[session][np.searchsorted(ends[session], stop)])  # of this part of the recording
        start, cut_start, following = int(found.start[i]), bool(found.cut_start[i]), -1
        if not found.cut_end[i]:
            following = int(found.mode[i + 1])
        while start < stop:
            arrivals = np.flatnonzero(here[start : stop + (not found.cut_end[i])])
            arrival = start + int(arrivals[0]) if len(arrivals) else stop
            leave = arrival
            while len(arrivals) and leave < last and here[leave]:
                leave += 1
            again = len(arrivals) > 0 and leave < stop
            far = away[mode][path[start]]
            rows.append(
                (
                    session, start, mode, arrival - start, len(arrivals) > 0, far if far >= 0 else np.nan,
                    leave - arrival, mode if again else following, cut_start,
                    bool(found.cut_end[i]) and not len(arrivals),
                )
            )  # fmt: skip
            start, cut_start = leave if again else stop, False
    kinds = (int, int, int, int, bool, float, int, int, bool, bool)
    columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
    return Pursuits(*(np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)))


def goal_summary(
    found: Pursuits,
    modes: Sequence[Any],
    states: Sequence[Any],
    env: MDP,
    goals: Mapping[int, Place],
    *,
    gaps: Sequence[Any] | None = None,
) -> list[dict[str, Any]]:
    """Sum up the pursuits of each goal, and say how far its mode agrees with direct runs to it (`behaviour.runs_to`).

    Returns
    -------
    list of dict
        mode; share_of_steps, of all that are decoded; pursuits; share_reached, of those whose end was seen; of those
        that were seen from the start until they arrive (timed) the quartiles of steps (steps_to_goal) and of the steps
        beyond the fewest possible (excess); of those that arrive the quartiles of `stays`, and how many are followed by
        each mode (next_modes); precision, recall and f1 of the mode as a detector of direct runs.

    Examples
    --------
    >>> line = MDP.deterministic([[0, 1], [0, 2], [1, 3], [2, 3]])
    >>> modes, states = [[0, 1, 1, 1, 0, 0]], [[1, 2, 1, 0, 0, 1]]
    >>> row, = goal_summary(find_pursuits(modes, states, line, {1: 0}), modes, states, line, {1: 0})
    >>> row["share_of_steps"], row["share_reached"], row["steps_to_goal"], row["excess"], row["next_modes"]
    (0.5, 1.0, [2.0, 2.0, 2.0], [0.0, 0.0, 0.0], {0: 1})
    """
    decoded = np.concatenate([np.asarray(path) for path in modes])
    known = decoded[decoded >= 0]
    rows = []
    for mode, place in goals.items():
        own = found.mode == mode
        ended, arrived, timed = own & ~found.cut_end, own & found.reached, own & found.timed
        steps = found.steps[timed]
        following, times = np.unique(found.next_mode[arrived & (found.next_mode >= 0)], return_counts=True)
        rows.append(
            {
                "mode": mode,
                "share_of_steps": float(np.mean(known == mode)) if len(known) else np.nan,
                "pursuits": int(own.sum()),
                "reached": int(arrived.sum()),
                "share_reached": float(found.reached[ended].mean()) if ended.any() else np.nan,
                "timed": int(timed.sum()),
                "steps_to_goal": _quartiles(steps),
                "excess": _quartiles(steps - found.distance[timed]),
                "stays": _quartiles(found.stays[arrived]),
                "next_modes": dict(zip(following.tolist(), times.tolist(), strict=True)),
                **agreement_with_runs(modes, runs_to(states, env, place, gaps=gaps), mode),
            }
        )
    return rows


def steps_by_distance(
    distance: Float[np.ndarray, "pursuit"], steps: Int[np.ndarray, "pursuit"]
) -> dict[str, Float[np.ndarray, "distance"]]:
    """Quartiles of the steps that pursuits take, by the fewest that they could have taken.

    Keys: distance, pursuits (their number), low, median, high.

    >>> by = steps_by_distance(np.array([2.0, 5.0, 2.0]), np.array([2, 9, 4]))
    >>> {name: values.tolist() for name, values in by.items()}
    {'distance': [2.0, 5.0], 'pursuits': [2.0, 1.0], 'low': [2.5, 9.0], 'median': [3.0, 9.0], 'high': [3.5, 9.0]}
    """
    far, n = np.unique(distance, return_counts=True)
    quartiles = [np.quantile(steps[distance == d], QUARTILES) for d in far]
    low, median, high = np.array(quartiles).reshape(-1, 3).T
    return {"distance": far, "pursuits": n.astype(float), "low": low, "median": median, "high": high}


def _quartiles(values: np.ndarray) -> list[float]:
    return np.quantile(values, QUARTILES).tolist() if len(values) else [np.nan] * 3
