"""What was fitted, how it ended, and each mode: numbers ready for JSON, and sentences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from swirl.analysis.decoded import DecodedFit
from swirl.analysis.significance import LEVEL
from swirl.data.segments import dwell_times, find_segments, split_at_gaps
from swirl.estimators.base import PER, quietly
from swirl.estimators.fit_warnings import SAME_ARI, SAME_POLICIES, RestartAgreement
from swirl.text import counted, listed, minus, number, percent

PSEUDOCOUNT = 0.5  # arrivals, seen and expected, as in `mode_names`: one arrival makes no preference
MIN_RATIO = 1.2
MIN_TIMES = 3
MAX_PREFERRED = 3


def data_facts(case: DecodedFit) -> dict[str, Any]:
    """What the data are.

    >>> import swirl
    >>> from swirl.analysis.decoded import decode
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> facts = data_facts(decode(world.true_model(), world.trajectories))
    >>> facts["sessions"], facts["steps"], facts["states"], facts["gaps"]
    (3, 240, 25, 0)
    """
    data = case.data
    visited = np.unique(np.concatenate(data.states))
    seen = case.model.seen_states_
    steps = np.concatenate(data.states)
    unseen = 0 if seen is None else int((~np.asarray(seen)[steps]).sum())
    trained = case.model.data_fingerprint_
    same = None if trained is None else trained == data.fingerprint(*case.model.own_signals)
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


def fit_facts(case: DecodedFit) -> dict[str, Any]:
    """How the fit ended; None where the parameters were given instead.

    >>> import swirl
    >>> from swirl.analysis.decoded import decode
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> fit_facts(decode(world.true_model(), world.trajectories))["report"] is None
    True
    """
    model = case.model
    restarts = model.restarts_ or None
    scores = _scores(case)
    score, n_scored = scores["all"] or (None, 0)
    facts: dict[str, Any] = {
        "report": model.fit_report_,
        "converged": model.converged_,
        "n_restarts": None if restarts is None else len(restarts),
        "n_converged": None if restarts is None else sum(r.converged for r in restarts),
        "n_observed": model.n_observed_,
        "score": score,
        "n_scored": n_scored,
        "scores": scores,
        "score_type": model.score_type_of(case.data),
    }
    if restarts is not None:
        facts["n_iterations"] = restarts[model.best_restart_].n_iterations
    return facts


def _scores(case: DecodedFit) -> dict[str, tuple[float, int] | None]:
    """Log-likelihood per step and the steps it is over: of all these data, of the sessions that were fitted, of the
    others; None where there are none, or that is not known."""
    with quietly():
        of = case.model.score_type_of(case.data)
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
    strength = np.where((ratio >= MIN_RATIO) & (times >= MIN_TIMES), times * np.log(ratio), 0.0)
    return [int(i) for i in np.argsort(-strength, kind="stable")[:MAX_PREFERRED] if strength[i] > 0]


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


MAX_SWITCHES = 8  # kinds of switches that are told
GAUGE = (
    "Different rewards can lead to exactly the same behaviour, and no recording can tell them apart: rewards are known "
    "only up to a “gauge”. The colours show one member of each family of equivalent rewards. “As fitted” is the one "
    "that the prior of the fit preferred; “least norm” is the smallest of them, and the one to use when rewards of "
    "different fits or animals are compared. Do not read much into the size or the sign at a single place. The "
    "picture beside it has no such freedom: the moves that a mode prefers are the same for all rewards of the family."
)
NO_INTERVALS = (
    "There are no confidence intervals on this page. Whether other starting points say the same, and how clear the "
    "modes are at each step, is not how far the fit would move with other sessions. For that, sessions are drawn anew "
    "and the model is fitted to each draw, which takes about as long as the fit:"
)


def data_sentence(facts: dict[str, Any], noun: str = "state") -> str:
    """Say what the data are; where states are syllables, actions are the next ones and go without saying.

    >>> data_sentence({"sessions": 3, "steps": 240, "shortest": 80, "longest": 80, "subjects": 0, "groups": 0,
    ...                "states": 25, "visited_states": 20, "actions": 5, "observed_actions": 240,
    ...                "missing_actions": 0, "gaps": 0})
    '3 sessions of 80 steps, 240 in all; 25 states, 20 of them visited; 5 actions, known at all steps.'
    """
    each = facts["shortest"] == facts["longest"]
    span = f"{facts['longest']:,}" if each else f"{facts['shortest']:,} to {facts['longest']:,}"
    whole = "" if facts["sessions"] == 1 else f", {facts['steps']:,} in all"
    of = f" of {counted(facts['subjects'], 'subject')}" if facts["subjects"] else ""
    groups = f" in {counted(facts['groups'], 'group')}" if facts["groups"] else ""
    visited = (
        "all visited" if facts["visited_states"] == facts["states"] else f"{facts['visited_states']:,} of them visited"
    )
    parts = [
        f"{counted(facts['sessions'], 'session')}{of}{groups} of {span} steps{whole}",
        f"{counted(facts['states'], noun)}, {visited}",
    ]
    if noun == "state":  # the last step of a session has no action: that goes without saying
        known = facts["observed_actions"] / (facts["observed_actions"] + facts["missing_actions"] or 1)
        where = "known at all steps" if known == 1 else f"known at {percent(known)} of the steps"
        where = where if facts["observed_actions"] else "none recorded"
        parts.append(f"{counted(facts['actions'], 'action')}, {where}")
    if facts["gaps"]:
        parts.append(counted(facts["gaps"], "gap"))
    return "; ".join(parts) + "."


def fit_sentences(fit: dict[str, Any], data: dict[str, Any]) -> list[str]:
    """Say how the fit ended, and how well it does on these data."""
    lines = []
    if fit["report"] is None:
        lines.append("The parameters were given, not fitted.")
    else:
        lines.append(minus(fit["report"][:1].upper() + fit["report"][1:]))
    if fit["score"] is not None:
        lines.append(f"Score, in nats per {PER[fit['score_type']]} given the past: {_scores_in_words(fit, data)}.")
    if data["missing_actions"] and fit["score_type"] != "density":
        lines.append(missing_sentence(data))
    if data["unseen_steps"]:
        lines.append(
            f"{counted(data['unseen_steps'], 'step')} of these data lie in states that training never visited: there "
            "the prior alone decides."
        )
    return lines


def missing_sentence(data: dict[str, Any]) -> str:
    """Say what was made of actions that are not known.

    >>> missing_sentence({"observed_actions": 0, "missing_actions": 9})
    'No action was recorded: each step counts by the state that it led to, by whichever action leads there.'
    """
    if not data["observed_actions"]:
        return "No action was recorded: each step counts by the state that it led to, by whichever action leads there."
    return (
        f"{counted(data['missing_actions'], 'action')} were not recorded: these steps count by the state that they led "
        "to, by whichever action leads there. This takes it that actions are missing by chance, not because of what "
        "they were."
    )


def _scores_in_words(fit: dict[str, Any], data: dict[str, Any]) -> str:
    """The score of the sessions that were fitted and that of the others, which only the second kind is honest about."""
    fitted, others, n_fitted = fit["scores"]["fitted"], fit["scores"]["others"], data["fitted_sessions"]
    told = []
    if others is not None:
        n_others = counted(data["sessions"] - n_fitted, "session")
        told.append(f"{number(others[0], 5)} on {n_others} that it was not fitted to ({counted(others[1], 'step')})")
    if fitted is not None:
        told.append(
            f"{number(fitted[0], 5)} on the {counted(n_fitted, 'session')} that it was fitted to "
            f"({counted(fitted[1], 'step')})"
        )
    if told:
        return "; ".join(told)
    strange = n_fitted == 0 and "; none of these sessions is, as it stands, one that it was fitted to"
    return f"{number(fit['score'], 5)} on these data ({counted(fit['n_scored'], 'step')}){strange or ''}"


def mode_sentence(fact: dict[str, Any], state_names: list[str], of_moves: bool) -> str:
    r"""Describe a mode in a sentence or two.

    >>> fact = {"share": 0.62, "steps": 149, "bouts": 4, "median_bout": 18.0, "moves": [], "places": [
    ...     {"state": 1, "times": 12, "ratio": 2.41}]}
    >>> mode_sentence(fact, ["home", "water"], of_moves=False).replace("\xa0", " ")
    '62 % of the steps, in 4 bouts (median 18 steps). Where it goes more: 2.4 × to water.'
    """
    if not fact["steps"]:
        return "No step of these data is decoded as this mode."
    bouts = counted(fact["bouts"], "bout")
    if fact["median_bout"] is not None:
        bouts += f" (median {number(fact['median_bout'])} steps)"
    lead = f"{percent(fact['share'])} of the steps, in {bouts}."
    if of_moves:
        found = [f"{m['ratio']:.1f} × {state_names[m['state']]} → {state_names[m['next']]}" for m in fact["moves"]]
        return f"{lead} What it does more: {listed(found)}." if found else f"{lead} No move stands out."
    found = [f"{p['ratio']:.1f} × to {state_names[p['state']]}" for p in fact["places"]]
    return f"{lead} Where it goes more: {listed(found)}." if found else f"{lead} No place stands out."


def switching_sentences(facts: dict[str, Any], case: DecodedFit) -> list[str]:
    """Say where the animal switches most, by decoded switches."""
    counts = np.asarray(facts["counts"])
    total = counts.sum(axis=2)
    if not total.sum():
        return ["No switch was decoded in these data."]
    lines = []
    for i, j in sorted(np.argwhere(total > 0).tolist(), key=lambda pair: -total[pair[0], pair[1]])[:MAX_SWITCHES]:
        best = np.argsort(-counts[i, j], kind="stable")[:2]
        where = [f"{case.state_names[s]} ({percent(counts[i, j, s] / total[i, j])})" for s in best if counts[i, j, s]]
        kind = f"{case.mode_names[i]} → {case.mode_names[j]}"
        times = f"{total[i, j]:,} switch{'' if total[i, j] == 1 else 'es'}"
        lines.append(f"{kind}: {times}, most at {listed(where)}.")
    return lines


def restart_sentence(agreement: RestartAgreement | None) -> str:
    """Say whether the starting points agree.

    >>> restart_sentence(RestartAgreement(0, 2, np.ones(3), np.array([0, 0.01, 0.02]), np.array([0, 0.1, 9.0])))[:49]
    '3 of 3 restarts came to the same result (segmenta'
    """
    if agreement is None:
        return "The model was not fitted by restarts here, so nothing can be said of other starting points."
    if agreement.n_restarts == 1:
        return "There was a single starting point: whether another would say the same is not known."
    of = [] if agreement.n_modes == 1 else [f"an adjusted Rand index of {SAME_ARI:g} or more with the kept one's modes"]
    rule = " and ".join([*of, f"policies at most {SAME_POLICIES:g} apart (total variation, 0 to 1)"])
    alone = " It may be luck: more restarts would show." if agreement.n_same < 2 else ""
    return f"{agreement.sentence()}. The same is {rule}; objectives do not enter.{alone}"


def check_sentence(facts: dict[str, Any]) -> str:
    """Say how many statistics lie within the range of the simulations."""
    n, inside, draws = len(facts["rows"]), facts["n_inside"], facts["n_draws"]
    expected = percent((draws - 1) / (draws + 1)) if draws > 1 else "none"
    part = "" if facts["sessions"] == facts["all_sessions"] else f" (here: the first {facts['sessions']:,} sessions)"
    torn = " Where steps do not join up the data were cut for this, so bouts and switches are not among the statistics."
    torn = torn if facts["torn"] else ""
    made = f"{counted(draws, 'data set')} of the same size{part} {'was' if draws == 1 else 'were'} simulated"
    return (
        f"{made} from the model and decoded as the real one was. {inside} of {n} statistics of the real data lie "
        f"within the range of the simulated ones (about {expected} would if the model were true). "
        f"{_after_correcting(facts)} Parameters are the fitted ones, without their uncertainty, so the ranges are on "
        f"the narrow side.{torn}"
    )


def _after_correcting(facts: dict[str, Any]) -> str:
    """What is left of the differences after correcting for the number of statistics.

    >>> _after_correcting({"rows": [0] * 21, "n_draws": 5, "enough_draws": 39, "n_differ": 0})[:83]
    'With so few simulations none of 21 statistics can be said to differ: 39 are needed.'
    >>> _after_correcting({"rows": [0] * 21, "n_draws": 39, "enough_draws": 39, "n_differ": 2})
    'After correcting for 21 statistics at once, 2 differ (p ≤ 0.05).'
    """
    n, differ = len(facts["rows"]), facts["n_differ"]
    if facts["n_draws"] < facts["enough_draws"]:
        return (
            f"With so few simulations none of {n} statistics can be said to differ: {facts['enough_draws']} are needed."
        )
    verb = "differs" if differ == 1 else "differ"
    return f"After correcting for {n} statistics at once, {differ or 'none'} {verb} (p ≤ {LEVEL:g})."
