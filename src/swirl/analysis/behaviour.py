"""What the animal did, with and without hidden modes: segments, visits, returns, and direct runs to a place.

Everything reads lists with one 1-D array per session; sessions are never joined, and `gaps` (as in `Trajectories`)
cut them further.  A *place* is a state or several.  A *visit* starts at a step at the place that does not follow
another step there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.mdp import MDP
from swirl.data.segments import bouts_of, find_segments, number_of_modes, split_at_gaps
from swirl.errors import Faults
from swirl.inference.mode_matching import adjusted_rand_index, confusion

Place = Any  # a state, or a list of states


def segments(modes: Sequence[Any], states: Sequence[Any] | None = None, gaps: Sequence[Any] | None = None) -> Any:
    """Tabulate the runs of one mode, one row each, as a pandas DataFrame.

    Columns: session, start, stop (the step after the last), mode, length, with `states` also first_state and
    last_state, and cut_start, cut_end: whether the session's edge, a gap or an unlabelled step cuts the segment
    there, so that its true length is not known.

    Examples
    --------
    >>> segments([[0, 0, 1], [1, 1]], [[5, 6, 7], [8, 9]])[["session", "start", "stop", "mode", "last_state"]]
       session  start  stop  mode  last_state
    0        0      0     2     0           6
    1        0      2     3     1           7
    2        1      0     2     1           9
    """
    import pandas as pd

    found = find_segments(modes, gaps)
    columns: dict[str, Any] = {name: getattr(found, name) for name in ("session", "start", "stop", "mode", "length")}
    if states is not None:
        states = _alike("modes", modes, "states", states)
        for name, steps in (("first_state", found.start), ("last_state", found.stop - 1)):
            columns[name] = np.array([states[i][t] for i, t in zip(found.session, steps, strict=True)], dtype=np.int64)
    return pd.DataFrame({**columns, "cut_start": found.cut_start, "cut_end": found.cut_end})


def segment_summary(
    modes: Sequence[Any],
    states: Sequence[Any],
    goals: Mapping[str, Any] | None = None,
    *,
    n_modes: int | None = None,
    gaps: Sequence[Any] | None = None,
    within: int = 2,
    include_cut: bool = False,
) -> Any:
    """Summarise the segments of each mode, as a pandas DataFrame with one row per mode and a last one for "all".

    A segment *ends at a goal* when the goal is reached in one of its last `within` steps or at the step right after
    it: z_{t+1} depends on s_t, so the switch comes when the animal is at the goal or has just been there.

    Parameters
    ----------
    modes, states
        One array per session.
    goals
        For each name, the state or states of the goal; None: nothing is told of goals.
    n_modes
        Number of modes; by default the highest label plus one.
    gaps
        As in `Trajectories`: a gap ends a segment.
    within
        How many of a segment's last steps count as its end.
    include_cut
        Also take the last steps seen of a segment that the recording cut as its end. By default such a segment tells
        nothing of where it ends.

    Returns
    -------
    pandas.DataFrame
        segments (whose end is known), whole_segments (whose start is known too), median_length and mean_length (of all
        bouts, cut ones as `swirl.data.segments.Bouts` has them; NaN: half of them, or none, were seen to end),
        share_of_steps, switches_per_100_steps (out of the mode, per 100 steps in it; of all modes in the row "all"),
        and for each goal ends_at_<goal> and visits_<goal>: the share of segments that end at it, and that visit it
        anywhere.

    Examples
    --------
    >>> modes, states = [[0, 0, 0, 1, 1, 0]], [[3, 2, 9, 1, 0, 1]]
    >>> table = segment_summary(modes, states, {"water": 9, "home": 0}, include_cut=True)
    >>> table[["segments", "mean_length", "ends_at_water", "ends_at_home"]].reset_index()
      mode  segments  mean_length  ends_at_water  ends_at_home
    0    0         2          3.0       0.500000      0.000000
    1    1         1          2.0       0.000000      1.000000
    2  all         3          2.5       0.333333      0.333333
    """
    import pandas as pd

    if within < 0:
        raise ValueError(f"within={within}: expected 0 (only the step after the segment) or more")
    goals = {} if goals is None else goals
    states = _alike("modes", modes, "states", states)
    found = find_segments(modes, gaps)
    n_modes = number_of_modes(found, n_modes)
    lasting = [*bouts_of(found, n_modes), *bouts_of(replace(found, mode=np.zeros_like(found.mode)), 1)]
    ended = np.full(len(found.mode), True) if include_cut else ~found.cut_end
    reached: dict[str, np.ndarray] = {}
    for goal, place in goals.items():
        there = [at(path, place) for path in states]
        reached[f"ends_at_{goal}"] = np.array(
            [
                bool(there[i][max(start, stop - within) : stop + (not cut)].any())
                for i, start, stop, cut in zip(found.session, found.start, found.stop, found.cut_end, strict=True)
            ],
            dtype=bool,
        )
        reached[f"visits_{goal}"] = np.array(
            [bool(there[i][a:b].any()) for i, a, b in zip(found.session, found.start, found.stop, strict=True)],
            dtype=bool,
        )
    # A segment followed by another was left by a switch; one cut at its end was not seen to end.
    rows = []
    for mode, bouts in zip((*range(n_modes), "all"), lasting, strict=True):
        own = np.full(len(found.mode), True) if mode == "all" else found.mode == mode
        steps = found.length[own].sum()
        rows.append(
            {
                "mode": mode,
                "segments": int((own & ended).sum()),
                "whole_segments": len(bouts.length),
                "median_length": bouts.median,
                "mean_length": bouts.mean,
                "share_of_steps": steps / max(found.length.sum(), 1),
                "switches_per_100_steps": 100 * (own & ~found.cut_end).sum() / steps if steps else np.nan,
                **{name: _mean(flags[own & ended]) for name, flags in reached.items()},
            }
        )
    return pd.DataFrame(rows).set_index("mode")


def switch_rate(modes: Sequence[Any], *, gaps: Sequence[Any] | None = None, per: float | int = 100) -> float:
    """Switches of mode per 100 steps.

    >>> switch_rate([[0, 0, 1, 1, 0], [1, 1, 1, 1, 1]])
    20.0
    """
    found = find_segments(modes, gaps)
    return float(per * (~found.cut_end).sum() / found.length.sum()) if len(found.mode) else np.nan


def visit_rate(states: Sequence[Any], place: Place, per: float | int = 100) -> Float[np.ndarray, "session"]:
    """Visits to a place per 100 steps, for each session; a session that starts there starts with a visit.

    >>> visit_rate([[0, 3, 3, 0, 3], [0, 0]], 3).tolist()
    [40.0, 0.0]
    """
    return np.array([per * len(_arrivals(at(path, place))) / len(path) if len(path) else np.nan for path in states])


def return_intervals(states: Sequence[Any], place: Place) -> Int[np.ndarray, "interval"]:
    """Steps from leaving a place until it is reached again, of all sessions; at least 2.

    >>> return_intervals([[3, 3, 0, 0, 3, 1, 3, 0], [0, 3]], 3).tolist()
    [3, 2]
    """
    intervals = [np.zeros(0, dtype=np.int64)]
    for path in states:
        steps = np.flatnonzero(at(path, place))
        between = np.diff(steps)
        intervals.append(between[between > 1])
    return np.concatenate(intervals)


def occupancy(states: Sequence[Any], n_states: int) -> Float[np.ndarray, "state"]:
    """Share of all steps in each state.

    >>> occupancy([[0, 1], [1, 1]], 3).tolist()
    [0.25, 0.75, 0.0]
    """
    counts = np.bincount(np.concatenate([np.asarray(path, dtype=np.int64) for path in states]), minlength=n_states)
    if len(counts) > n_states:
        raise ValueError(f"n_states={n_states}: states go up to {len(counts) - 1}; give at least {len(counts)}")
    return counts / counts.sum()


def backtracking_rate(states: Sequence[Any]) -> float:
    """Share of the steps with a step before and after at which the animal turns: s_{t+1} = s_{t−1} ≠ s_t.

    >>> backtracking_rate([[0, 1, 0, 2], [1, 1, 1]])
    0.3333333333333333
    """
    paths = [np.asarray(path) for path in states]
    turns = [(path[2:] == path[:-2]) & (path[1:-1] != path[:-2]) for path in paths]
    return _mean(np.concatenate(turns))


def at(path: Any, place: Place) -> Bool[np.ndarray, "time"]:
    """Say at which steps of one session the animal is at a place.

    >>> at([0, 3, 4, 1], [3, 4]).tolist()
    [False, True, True, False]
    """
    return np.isin(np.asarray(path), np.asarray(place))


# ---------------------------------------------------------------------- direct runs: what was done, without any model


def distances(env: MDP, place: Place) -> Int[np.ndarray, "state"]:
    """Fewest steps from each state to a place, by the moves that `env` allows; −1 where there is no way.

    >>> distances(MDP.deterministic([[0, 1], [0, 2], [1, 2]]), 2).tolist()
    [2, 1, 0]
    """
    start, _, stop, _ = env.successors.moves()
    goal = np.atleast_1d(np.asarray(place, dtype=np.int64))
    if goal.size == 0 or goal.min() < 0 or goal.max() >= env.n_states:
        raise ValueError(f"place={place!r}: expected states from 0 to {env.n_states - 1}")
    steps = np.full(env.n_states, -1)
    steps[goal] = 0
    front, n = goal, 0
    while front.size:
        n += 1
        front = np.unique(start[np.isin(stop, front)])
        front = front[steps[front] < 0]
        steps[front] = n
    return steps


def straight_steps(
    path: Int[np.ndarray, "time"], apart: Int[np.ndarray, "state state"], most: int
) -> Int[np.ndarray, "time"]:
    """How many of the steps before each step led straight to where it is: every one of them came nearer by one.

    Parameters
    ----------
    path
        The states of a stretch without gaps.
    apart
        [from, to]: fewest steps (`distances`).
    most
        Steps to look back; more count as so many.

    Examples
    --------
    >>> line = MDP.deterministic([[0, 1], [0, 2], [1, 3], [2, 3]])
    >>> apart = np.stack([distances(line, place) for place in range(4)], axis=1)
    >>> straight_steps(np.array([1, 2, 3, 2, 1, 0, 0]), apart, 2).tolist()
    [0, 1, 2, 1, 2, 2, 0]
    """
    found = np.zeros(len(path), dtype=np.int64)
    for n in range(1, min(most, len(path) - 1) + 1):
        found[n:] += (found[n:] == n - 1) & (apart[path[:-n], path[n:]] == n)
    return found


def runs_to(
    states: Sequence[Any],
    env: MDP,
    place: Place,
    *,
    least: int = 3,
    arrival: bool = True,
    gaps: Sequence[Any] | None = None,
) -> list[Bool[np.ndarray, "_"]]:
    """Steps of direct runs to a place: stretches that end at it and in which every step comes nearer by one.

    A run starts as early as it can. It is known from the states alone, so it is a yardstick for modes that no model
    has made.

    Parameters
    ----------
    env
        Distances are the fewest steps by its moves.
    least
        Fewest moves that make a run.
    arrival
        Whether the step at the place belongs to the run. A switch that being there brings about comes one step
        later (z_{t+1} depends on s_t), but a model may also switch on the way in: report which was used.

    Examples
    --------
    >>> line = MDP.deterministic([[0, 1], [0, 2], [1, 3], [2, 3]])
    >>> runs_to([[2, 3, 2, 1, 0, 1, 0]], line, 0, least=2)[0].astype(int).tolist()
    [0, 1, 1, 1, 1, 0, 0]
    """
    away = distances(env, place)
    flags = []
    for pieces in split_at_gaps(states, gaps, keep_sessions=True):
        session = []
        for path in pieces:
            far = away[path]
            nearer = (far[1:] == far[:-1] - 1) & (far[1:] >= 0)
            flag = np.zeros(len(path), dtype=bool)
            for last in 1 + np.flatnonzero(nearer & (far[1:] == 0)):
                first = last
                while first > 0 and nearer[first - 1]:
                    first -= 1
                if last - first >= least:
                    flag[first : last + arrival] = True
            session.append(flag)
        flags.append(np.concatenate(session))
    return flags


def run_labels(
    states: Sequence[Any],
    env: MDP,
    places: Mapping[str, Any],
    *,
    least: int = 3,
    arrival: bool = True,
    gaps: Sequence[Any] | None = None,
) -> list[Int[np.ndarray, "_"]]:
    """Label each step with the place that it runs to, in the order of `places`; len(places) stands for no run.

    A step of two runs (a run to the water through home; the arrival at the water from which a run home starts)
    belongs to the one that ends first. `least` and `arrival` as in `runs_to`.

    Examples
    --------
    >>> line = MDP.deterministic([[0, 1], [0, 2], [1, 2]])
    >>> run_labels([[0, 1, 2, 1, 0, 0]], line, {"water": 2, "home": 0}, least=2)[0].tolist()
    [0, 0, 0, 1, 1, 2]
    """
    names = list(places)
    flags = [runs_to(states, env, places[name], least=least, gaps=gaps) for name in names]
    labels = []
    for i, path in enumerate(states):
        later = len(path) + 1
        ends = []
        for name, flag in zip(names, flags, strict=True):
            there = at(path, places[name])
            arrivals = np.where(flag[i] & there, np.arange(len(path)), later)
            next_arrival = np.minimum.accumulate(arrivals[::-1])[::-1]
            ends.append(np.where(flag[i] & (arrival | ~there), next_arrival, later))
        first = np.argmin(ends, axis=0)
        labels.append(np.where(np.min(ends, axis=0) < later, first, len(names)))
    return labels


def agreement_with_runs(modes: Sequence[Any], runs: Sequence[Any], mode: int) -> dict[str, float]:
    """Precision, recall and F1 of one mode as a detector of runs, over the labelled steps of all sessions.

    >>> agreement_with_runs([[0, 0, 1, 1]], [[True, False, False, True]], mode=0)
    {'precision': 0.5, 'recall': 0.5, 'f1': 0.5}
    """
    runs = _alike("modes", modes, "runs", runs)
    path = np.concatenate([np.asarray(m) for m in modes])
    truth, mine = np.concatenate(runs).astype(bool)[path >= 0], path[path >= 0] == mode
    hits, found, sought = int((truth & mine).sum()), int(mine.sum()), int(truth.sum())
    return {
        "precision": hits / found if found else np.nan,
        "recall": hits / sought if sought else np.nan,
        "f1": 2 * hits / (found + sought) if found + sought else np.nan,
    }


def agreement_with_labels(modes: Sequence[Any], labels: Sequence[Any]) -> dict[str, float]:
    """How much a whole segmentation tells of labels such as `run_labels`, whatever its number of modes.

    Mutual information in nats; the same over the mean of the two entropies (0 to 1); the adjusted Rand index, which
    alone is corrected for chance. Steps that are −1 in either are left out.

    Examples
    --------
    >>> told = agreement_with_labels([[0, 0, 1, 2]], [[0, 0, 1, 1]])
    >>> {name: round(value, 3) for name, value in told.items()}
    {'mutual_information': 0.693, 'normalised_mutual_information': 0.8, 'adjusted_rand_index': 0.571}
    """
    labels = _alike("modes", modes, "labels", labels)
    modes = [np.asarray(path) for path in modes]
    rand = adjusted_rand_index(modes, labels)  # refuses when nothing is labelled
    joint = confusion(modes, labels).astype(float)
    joint /= joint.sum()
    in_modes, in_labels = joint.sum(axis=1), joint.sum(axis=0)
    shared = max(_entropy(in_modes) + _entropy(in_labels) - _entropy(joint), 0.0)
    entropy = (_entropy(in_modes) + _entropy(in_labels)) / 2
    return {
        "mutual_information": shared,
        "normalised_mutual_information": shared / entropy if entropy > 0 else 1.0,
        "adjusted_rand_index": rand,
    }


def _entropy(probability: np.ndarray) -> float:
    """Entropy in nats."""
    positive = probability[probability > 0]
    return float(-np.sum(positive * np.log(positive)))


def _arrivals(there: np.ndarray) -> np.ndarray:
    """Steps at which a visit starts."""
    return np.flatnonzero(there & ~np.concatenate([[False], there[:-1]]))


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else np.nan


def _alike(name: str, values: Sequence[Any], other: str, others: Sequence[Any]) -> list[np.ndarray]:
    """The arrays of `others`, one per session and as long as those of `values`."""
    faults = Faults()
    if len(values) != len(others):
        faults.add(f"{other} has {len(others)} sessions, {name} {len(values)}: give the same sessions")
    for i, (value, o) in enumerate(zip(values, others, strict=False)):
        if len(value) != len(o):
            faults.add(f"{other}[{i}] has {len(o)} steps, {name}[{i}] {len(value)}: give one for each step")
    faults.raise_if_any(f"{name} and {other} do not match")
    return [np.asarray(o) for o in others]
