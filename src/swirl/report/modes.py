"""Each decoded mode in numbers and in a sentence: how often it is, and what it does more than the others."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from swirl.analysis.decoded import DecodedFit
from swirl.data.segments import split_at_gaps
from swirl.text import counted, listed, percent

PSEUDOCOUNT = 0.5  # arrivals, seen and expected, as in `mode_names`: one arrival makes no preference
MIN_RATIO = 1.2
MIN_TIMES = 3
MAX_PREFERRED = 3
APART = 0.1  # of a mode's share of the decoded steps and its expected one: decoding hides how unsure it is


def mode_facts(fit: DecodedFit) -> list[dict[str, Any]]:
    """Describe each decoded mode: its share of the steps, its bouts, and where it goes more than the others.

    Where steps are known to last unequally long (`DecodedFit.durations`), `time` is its share of the time; else None.

    A place is preferred in a mode where arrivals (s_{t+1} there, s_t not, credited to z_t) are more than the modes
    together would make; a move, where it is taken more often from its state. Both are ordered by n log(n / expected):
    strong *and* frequent comes first.

    >>> from swirl.data.trajectories import Trajectories
    >>> fit = DecodedFit(None, Trajectories([[3, 2, 9, 1, 0, 1]]), None, [np.array([0, 0, 0, 1, 1, 0])], ["a", "b"])
    >>> facts = mode_facts(fit)
    >>> [fact["share"] for fact in facts], [fact["bouts"] for fact in facts], facts[1]["median_bout"]
    ([0.6666666666666666, 0.3333333333333333], [2, 1], '2 steps')
    """
    found = fit.segments
    steps = np.bincount(found.mode, weights=found.length, minlength=fit.n_modes)
    moves = move_counts(fit)
    time = _times(fit)
    return [
        {
            "share": float(steps[mode] / max(steps.sum(), 1)),
            "time": None if time is None else float(time[mode] / time.sum()),
            "steps": int(steps[mode]),
            "bouts": int((found.mode == mode).sum()),
            "median_bout": bouts.median_words,
            "places": _preferred_places(moves, mode),
            "moves": _preferred_moves(moves, mode),
        }
        for mode, bouts in enumerate(fit.bouts)
    ]


def unclear_sentence(decoded: Sequence[float], expected: Sequence[float], names: Sequence[str]) -> str:
    r"""Say which modes have another share of the decoded steps than by their probability; nothing where none has.

    >>> unclear_sentence([0.98, 0.02], [0.75, 0.25], ["a", "b"])[:58].replace("\xa0", " ")
    'a: 98 % of the decoded steps, but 75 % by probability; b: '
    >>> unclear_sentence([0.5, 0.5], [0.45, 0.55], ["a", "b"])
    ''
    """
    told = [
        f"{name}: {percent(one)} of the decoded steps, but {percent(other)} by probability"
        for name, one, other in zip(names, decoded, expected, strict=True)
        if abs(one - other) > APART
    ]
    return f"{'; '.join(told)}. At many steps it is not clear which mode it was." if told else ""


def expected_shares(fit: DecodedFit) -> list[float]:
    """Share of the steps in each mode by its probability p(mode | whole session), of the steps that are decoded."""
    known = np.concatenate(fit.modes) >= 0
    return np.concatenate(fit.posterior)[known].mean(axis=0).tolist() if known.any() else [0.0] * fit.n_modes


def _times(fit: DecodedFit) -> Float[np.ndarray, " mode"] | None:
    """How long the steps of each mode lasted together, where that is known and steps are unequal."""
    if fit.durations is None:
        return None
    path, lasted = np.concatenate(fit.modes), fit.durations.flat
    known = (path >= 0) & np.isfinite(lasted)
    times = np.bincount(path[known], weights=lasted[known], minlength=fit.n_modes)
    return times if times.sum() else None


def move_counts(fit: DecodedFit) -> tuple[Int[np.ndarray, "move 2"], Int[np.ndarray, "mode move"]]:
    """Count the moves (state, next state) within segments, by the mode at their first step.

    >>> from swirl.data.trajectories import Trajectories
    >>> fit = DecodedFit(None, Trajectories([[0, 1, 0, 1]]), None, [np.array([0, 0, 1, 1])], ["a", "b"])
    >>> moves, counts = move_counts(fit)
    >>> moves.tolist(), counts.tolist()
    ([[0, 1], [1, 0]], [[1, 1], [1, 0]])
    """
    gaps = fit.data.gaps
    pieces = zip(split_at_gaps(fit.modes, gaps), split_at_gaps(fit.data.states, gaps), strict=True)
    columns = [np.stack([z[:-1], s[:-1], s[1:]]) for z, s in pieces]
    mode, state, following = np.concatenate([np.zeros((3, 0), np.int64), *columns], axis=1)
    known = mode >= 0
    numbers, place = np.unique((state * fit.n_states + following)[known], return_inverse=True)
    counts = np.zeros((fit.n_modes, len(numbers)), np.int64)
    np.add.at(counts, (mode[known], place.reshape(-1)), 1)
    return np.stack([numbers // fit.n_states, numbers % fit.n_states], axis=1), counts


def _preferred_places(moves: tuple[np.ndarray, np.ndarray], mode: int) -> list[dict[str, Any]]:
    pairs, counts = moves
    elsewhere = pairs[:, 0] != pairs[:, 1]
    places, place = np.unique(pairs[elsewhere, 1], return_inverse=True)
    arrivals = np.zeros((len(counts), len(places)))
    np.add.at(arrivals.T, place.reshape(-1), counts[:, elsewhere].T)
    expected = arrivals.sum(axis=0) * counts[mode].sum() / max(counts.sum(), 1)
    return [{"state": int(places[i]), **found} for i, found in _strongest(arrivals[mode], expected)]


def _preferred_moves(moves: tuple[np.ndarray, np.ndarray], mode: int) -> list[dict[str, Any]]:
    pairs, counts = moves
    origin = pairs[:, 0]
    left, left_all = (np.bincount(origin, weights=times) for times in (counts[mode], counts.sum(axis=0)))  # departures
    expected = counts.sum(axis=0) * left[origin] / np.maximum(left_all[origin], 1)
    strongest = _strongest(counts[mode].astype(float), expected)
    return [{"state": int(pairs[i, 0]), "next": int(pairs[i, 1]), **found} for i, found in strongest]


def _strongest(times: np.ndarray, expected: np.ndarray) -> list[tuple[int, dict[str, Any]]]:
    """The few entries that are most above what is expected, strongest first: how many times, and times more."""
    ratio = (times + PSEUDOCOUNT) / (expected + PSEUDOCOUNT)
    strength = np.where((ratio >= MIN_RATIO) & (times >= MIN_TIMES), times * np.log(ratio), 0.0)
    best = [int(i) for i in np.argsort(-strength, kind="stable")[:MAX_PREFERRED] if strength[i] > 0]
    return [(i, {"times": int(times[i]), "ratio": float(ratio[i])}) for i in best]


def mode_sentence(fact: dict[str, Any], state_names: list[str], of_moves: bool) -> str:
    r"""Describe a mode in a sentence or two.

    >>> fact = {"share": 0.62, "time": None, "steps": 149, "bouts": 4, "median_bout": "18 steps", "moves": [],
    ...     "places": [{"state": 1, "times": 12, "ratio": 2.41}]}
    >>> mode_sentence(fact, ["home", "water"], of_moves=False).replace("\xa0", " ")
    '62 % of the steps, in 4 bouts (median 18 steps). Where it goes more: 2.4 × to water.'
    >>> mode_sentence(fact | {"time": 0.8}, ["home", "water"], of_moves=False)[:42].replace("\xa0", " ")
    '80 % of the time (62 % of the steps), in 4'
    """
    if not fact["steps"]:
        return "No step of these data is decoded as this mode."
    bouts = counted(fact["bouts"], "bout")
    if fact["median_bout"]:
        bouts += f" (median {fact['median_bout']})"
    share = f"{percent(fact['share'])} of the steps"
    share = share if fact["time"] is None else f"{percent(fact['time'])} of the time ({share})"
    lead = f"{share}, in {bouts}."
    if of_moves:
        found = [f"{m['ratio']:.1f} × {state_names[m['state']]} → {state_names[m['next']]}" for m in fact["moves"]]
        return f"{lead} What it does more: {listed(found)}." if found else f"{lead} No move stands out."
    found = [f"{p['ratio']:.1f} × to {state_names[p['state']]}" for p in fact["places"]]
    return f"{lead} Where it goes more: {listed(found)}." if found else f"{lead} No place stands out."
