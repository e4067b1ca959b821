"""Numbers about the data, the fit and the modes, ready for JSON and for sentences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from swirl.behaviour import dwell_times, find_segments, split_at_gaps
from swirl.fit_reading import quietly
from swirl.report.case import Case

PSEUDOCOUNT = 0.5  # arrivals, seen and expected, as in `naming`: one arrival makes no preference
LEAST_RATIO = 1.2
LEAST_TIMES = 3
MOST_PREFERRED = 3


def data_facts(case: Case) -> dict[str, Any]:
    """What the data are.

    >>> import swirl
    >>> from swirl.report.case import read_case
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> facts = data_facts(read_case(world.true_model(), world.trajectories))
    >>> facts["sessions"], facts["steps"], facts["states"], facts["gaps"]
    (3, 240, 25, 0)
    """
    data = case.data
    visited = np.unique(np.concatenate(data.states))
    seen = getattr(case.model, "seen_states_", None)
    steps = np.concatenate(data.states)
    unseen = 0 if seen is None else int((~np.asarray(seen)[steps]).sum())
    trained = getattr(case.model, "data_fingerprint_", None)
    same = None if trained is None else trained == data.fingerprint(*case.model._own_signals())
    fitted = case.model.fitted_to(data)
    return {
        "sessions": len(data),
        "steps": data.n_steps,
        "shortest": int(data.lengths.min()),
        "longest": int(data.lengths.max()),
        "subjects": len(set(data.subjects) - {None}),
        "groups": len(set(data.groups) - {None}),
        "states": case.n_states,
        "visited_states": len(visited),
        "actions": len(case.action_names),
        "observed_actions": data.n_observed_actions,
        "missing_actions": data.n_missing_actions,
        "gaps": sum(len(gaps) for gaps in data.gaps),
        "signals": sorted(data.signals or {}),
        "has_times": data.times is not None,
        "fingerprint": data.fingerprint(),
        "unseen_steps": unseen,
        "same_as_training": same,
        "fitted_sessions": None if fitted is None else int(fitted.sum()),
    }


def fit_facts(case: Case) -> dict[str, Any]:
    """How the fit ended; None where the parameters were given instead.

    >>> import swirl
    >>> from swirl.report.case import read_case
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> fit_facts(read_case(world.true_model(), world.trajectories))["report"] is None
    True
    """
    model = case.model
    restarts = getattr(model, "restarts_", None)
    scores = _scores(case)
    score, n_scored = scores["all"] or (None, 0)
    facts: dict[str, Any] = {
        "report": getattr(model, "fit_report_", None),
        "converged": getattr(model, "converged_", None),
        "n_restarts": None if restarts is None else len(restarts),
        "n_converged": None if restarts is None else sum(r.converged for r in restarts),
        "n_observed": getattr(model, "n_observed_", None),
        "score": score,
        "n_scored": n_scored,
        "scores": scores,
        "currency": model.currency_of(case.data),
    }
    if restarts is not None:
        facts["n_iterations"] = restarts[model.best_restart_].n_iterations
    return facts


def _scores(case: Case) -> dict[str, tuple[float, int] | None]:
    """Log-likelihood per step and the steps it is over: of all these data, of the sessions that were fitted, of the
    others; None where there are none, or that is not known."""
    with quietly():
        of = case.model.currency_of(case.data)
        steps = np.array([int(scored.sum()) for scored in case.model.scored_steps(case.data, of=of)])
        sums = case.model.session_scores(case.data, of=of)
    fitted = case.model.fitted_to(case.data)
    none = np.zeros(len(steps), bool)
    parts = {
        "all": ~none,
        "fitted": none if fitted is None else fitted,
        # Where not one is known again, they may be the same sessions imported otherwise: nothing is claimed of them.
        "others": none if fitted is None or not fitted.any() else ~fitted,
    }
    return {
        name: (float(sums[part].sum() / steps[part].sum()), int(steps[part].sum())) if steps[part].sum() else None
        for name, part in parts.items()
    }


def mode_facts(
    modes: Sequence[Any], states: Sequence[Any], gaps: Sequence[Any] | None, n_modes: int, n_states: int
) -> list[dict[str, Any]]:
    """Describe each decoded mode: its share of the steps, its bouts, and where it goes more than the others.

    A place is preferred in a mode where arrivals (s_{t+1} there, s_t not, credited to z_t) are more than the modes
    together would make; a move, where it is taken more often from its state. Both are ordered by n log(n / expected):
    strong *and* frequent comes first.

    >>> facts = mode_facts([[0, 0, 0, 1, 1, 0]], [[3, 2, 9, 1, 0, 1]], None, 2, 10)
    >>> [fact["share"] for fact in facts], [fact["bouts"] for fact in facts], facts[1]["median_bout"]
    ([0.6666666666666666, 0.3333333333333333], [2, 1], 2.0)
    """
    found = find_segments(modes, gaps)
    steps = np.bincount(found.mode, weights=found.length, minlength=n_modes)
    lengths = dwell_times(modes, n_modes=n_modes, gaps=gaps)
    moves = move_counts(modes, states, gaps, n_modes, n_states)
    facts = []
    for mode in range(n_modes):
        facts.append(
            {
                "mode": mode,
                "share": float(steps[mode] / max(steps.sum(), 1)),
                "steps": int(steps[mode]),
                "bouts": int((found.mode == mode).sum()),
                "whole_bouts": len(lengths[mode]),
                "median_bout": float(np.median(lengths[mode])) if len(lengths[mode]) else None,
                "places": _preferred_places(moves, mode),
                "moves": _preferred_moves(moves, mode),
            }
        )
    return facts


def move_counts(
    modes: Sequence[Any], states: Sequence[Any], gaps: Sequence[Any] | None, n_modes: int, n_states: int
) -> tuple[Int[np.ndarray, "move 2"], Int[np.ndarray, "mode move"]]:
    """Count the moves (state, next state) within segments, by the mode at their first step.

    >>> moves, counts = move_counts([[0, 0, 1, 1]], [[0, 1, 0, 1]], None, 2, 2)
    >>> moves.tolist(), counts.tolist()
    ([[0, 1], [1, 0]], [[1, 1], [1, 0]])
    """
    pieces = zip(split_at_gaps(modes, gaps), split_at_gaps(states, gaps), strict=True)
    columns = [np.stack([z[:-1], s[:-1], s[1:]]) for z, s in pieces]
    mode, state, following = np.concatenate([np.zeros((3, 0), np.int64), *columns], axis=1)
    known = mode >= 0
    numbers, place = np.unique((state * n_states + following)[known], return_inverse=True)
    counts = np.zeros((n_modes, len(numbers)), np.int64)
    np.add.at(counts, (mode[known], place.reshape(-1)), 1)
    return np.stack([numbers // n_states, numbers % n_states], axis=1), counts


def _preferred_places(moves: tuple[np.ndarray, np.ndarray], mode: int) -> list[dict[str, Any]]:
    pairs, counts = moves
    elsewhere = pairs[:, 0] != pairs[:, 1]
    places, place = np.unique(pairs[elsewhere, 1], return_inverse=True)
    arrivals = np.zeros((len(counts), len(places)))
    np.add.at(arrivals.T, place.reshape(-1), counts[:, elsewhere].T)
    expected = arrivals.sum(axis=0) * counts[mode].sum() / max(counts.sum(), 1)
    best = _strongest(arrivals[mode], expected)
    return [
        {"state": int(places[i]), "times": int(arrivals[mode, i]), "ratio": _ratio(arrivals[mode, i], expected[i])}
        for i in best
    ]


def _preferred_moves(moves: tuple[np.ndarray, np.ndarray], mode: int) -> list[dict[str, Any]]:
    pairs, counts = moves
    _, origin = np.unique(pairs[:, 0], return_inverse=True)
    origin = origin.reshape(-1)
    n_origins = int(origin.max()) + 1 if len(origin) else 0
    left = np.bincount(origin, weights=counts[mode], minlength=n_origins)  # departures in this mode, in all modes
    left_all = np.bincount(origin, weights=counts.sum(axis=0), minlength=n_origins)
    expected = counts.sum(axis=0) * left[origin] / np.maximum(left_all[origin], 1)
    return [
        {
            "state": int(pairs[i, 0]),
            "next": int(pairs[i, 1]),
            "times": int(counts[mode, i]),
            "ratio": _ratio(counts[mode, i], expected[i]),
        }
        for i in _strongest(counts[mode].astype(float), expected)
    ]


def _ratio(times: Any, expected: Any) -> float:
    return float((times + PSEUDOCOUNT) / (expected + PSEUDOCOUNT))


def _strongest(times: np.ndarray, expected: np.ndarray) -> list[int]:
    """The few entries that are most above what is expected, strongest first."""
    ratio = (times + PSEUDOCOUNT) / (expected + PSEUDOCOUNT)
    strength = np.where((ratio >= LEAST_RATIO) & (times >= LEAST_TIMES), times * np.log(ratio), 0.0)
    return [int(i) for i in np.argsort(-strength, kind="stable")[:MOST_PREFERRED] if strength[i] > 0]


def switch_counts(
    modes: Sequence[Any], states: Sequence[Any], gaps: Sequence[Any] | None, n_modes: int, n_states: int
) -> Int[np.ndarray, "mode next_mode state"]:
    """Count decoded switches z_t → z_{t+1} by the state s_t at which they happen.

    >>> switch_counts([[0, 1, 1, 0]], [[2, 0, 1, 1]], None, 2, 3)[0, 1].tolist()
    [0, 0, 1]
    """
    counts = np.zeros((n_modes, n_modes, n_states), np.int64)
    for path, places in zip(split_at_gaps(modes, gaps), split_at_gaps(states, gaps), strict=True):
        known = (path[:-1] >= 0) & (path[1:] >= 0) & (path[:-1] != path[1:])
        np.add.at(counts, (path[:-1][known], path[1:][known], places[:-1][known]), 1)
    return counts
