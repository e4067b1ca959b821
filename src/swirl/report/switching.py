"""Switching: where the animal changes from one mode to another, by the model and as decoded."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import binom

from swirl.analysis.decoded import DecodedFit
from swirl.data.segments import split_at_gaps
from swirl.report.maps import map_facts
from swirl.report.section import ReportedFit, Section
from swirl.text import listed, percent, rounded

MAX_SWITCHES = 8  # kinds of switches that are told
LEVEL = 0.05  # of the test that a state is named by


def switching_section(fit: ReportedFit) -> Section | None:
    """A map or bars of P(next mode | mode, state), its mean as a table, and the decoded switches; None for one mode."""
    facts = switching_facts(fit)
    if facts is None:
        return None
    maps = fit.once(map_facts)
    values = {
        "by_state": facts["by_state"],
        "mean": facts["mean"],
        "words": switching_sentences(facts, fit),
        "on_map": maps is not None and maps["kind"] != "table",
    }
    return Section("switching", "Switching", values, facts={"switching": facts})


def switching_facts(fit: DecodedFit) -> dict[str, Any] | None:
    """P(next mode | mode, state) and the decoded switches by state; None for one mode.

    >>> import swirl
    >>> from swirl.analysis.decoded import decode
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> facts = switching_facts(decode(world.true_model(), world.trajectories))
    >>> facts["by_state"], facts["probability"][0][1][23]  # water to home, at the water
    (True, 0.36)
    """
    if fit.n_modes < 2:
        return None
    table = np.asarray(fit.model.mode_transitions_).transpose(1, 2, 0)
    spread = np.ptp(table, axis=2).max()
    seen = np.zeros(fit.n_states, bool)
    seen[np.unique(np.concatenate(fit.data.states))] = True
    if fit.model.seen_states_ is not None:
        seen |= np.asarray(fit.model.seen_states_)
    by_state, counts, visits = bool(table.shape[2] > 1 and spread > 1e-6), switch_counts(fit), _visits(fit)
    return {
        "by_state": by_state,
        "probability": rounded(table),
        "counts": counts.tolist(),
        "stands_out": (stands_out(counts, visits, table) & by_state).tolist(),
        "seen": seen.tolist(),
        "visits": visits.tolist(),
        "mean": rounded(_visited_mean(fit, table)),
    }


def stands_out(
    counts: Int[np.ndarray, "mode next_mode state"],
    visits: Int[np.ndarray, "mode state"],
    probability: Float[np.ndarray, "mode next_mode _"],
) -> Bool[np.ndarray, "mode next_mode state"]:
    """Where a switch is more frequent than over all states, beyond noise; both as decoded and by the model.

    Of N switches out of a mode as many would be expected in a state as the share of the mode's steps that it has. A
    state stands out where a binomial test with that share is significant at 5 %, corrected for all states and switches.

    >>> counts, visits = np.zeros((2, 2, 4), int), np.full((2, 4), 100)
    >>> counts[0, 1] = [2, 3, 20, 1]
    >>> stands_out(counts, visits, counts / 100)[0, 1].tolist()
    [False, False, True, False]
    """
    seen = np.maximum(visits.sum(axis=1), 1)[:, None, None]
    share = visits[:, None, :] / seen
    fewer = np.minimum(counts, np.floor(probability * visits[:, None, :] + 0.5))
    n_tests = np.count_nonzero(visits) * max(len(visits) - 1, 1)
    rare = binom.sf(fewer - 1, counts.sum(axis=2, keepdims=True), share) * n_tests < LEVEL
    return rare & ~np.eye(len(visits), dtype=bool)[:, :, None]


def _visits(fit: DecodedFit) -> Int[np.ndarray, "mode state"]:
    """Steps decoded as each mode in each state: what the probability of leaving a mode there rests on."""
    modes, states = np.concatenate(fit.modes), np.concatenate(fit.data.states)
    visits = np.zeros((fit.n_modes, fit.n_states), np.int64)
    np.add.at(visits, (modes[modes >= 0], states[modes >= 0]), 1)
    return visits


def _visited_mean(fit: DecodedFit, table: np.ndarray) -> Float[np.ndarray, "mode next_mode"]:
    """P(next mode | mode) averaged over the steps decoded as that mode: what the animal met with."""
    n_states = table.shape[2]
    mean = np.full(table.shape[:2], np.nan)
    states = np.concatenate(fit.data.states) if n_states > 1 else np.zeros(fit.data.n_steps, np.int64)
    modes = np.concatenate(fit.modes)
    for mode in range(len(table)):
        visits = np.bincount(states[modes == mode], minlength=n_states)
        weight = visits / visits.sum() if visits.sum() else np.full(n_states, 1 / n_states)
        mean[mode] = table[mode] @ weight
    return mean


def switch_counts(fit: DecodedFit) -> Int[np.ndarray, "mode next_mode state"]:
    """Count decoded switches z_t → z_{t+1} by the state s_t at which they happen.

    >>> from swirl.data.trajectories import Trajectories
    >>> fit = DecodedFit(None, Trajectories([[2, 0, 1, 1]]), None, [np.array([0, 1, 1, 0])], ["a", "b"])
    >>> switch_counts(fit)[0, 1].tolist()
    [0, 0, 1]
    """
    gaps = fit.data.gaps
    counts = np.zeros((fit.n_modes, fit.n_modes, fit.n_states), np.int64)
    for path, places in zip(split_at_gaps(fit.modes, gaps), split_at_gaps(fit.data.states, gaps), strict=True):
        known = (path[:-1] >= 0) & (path[1:] >= 0) & (path[:-1] != path[1:])
        np.add.at(counts, (path[:-1][known], path[1:][known], places[:-1][known]), 1)
    return counts


def switching_sentences(facts: dict[str, Any], fit: DecodedFit) -> list[str]:
    """Say how often the animal switches, and where more often than chance would have it."""
    counts = np.asarray(facts["counts"])
    total = counts.sum(axis=2)
    if not total.sum():
        return ["No switch was decoded in these data."]
    lines = []
    for i, j in sorted(np.argwhere(total > 0).tolist(), key=lambda pair: -total[pair[0], pair[1]])[:MAX_SWITCHES]:
        own, noun = np.flatnonzero(np.asarray(facts["stands_out"])[i, j]), fit.nouns["state"]
        best = own[np.argsort(-counts[i, j, own], kind="stable")[:2]]
        where = [f"{fit.state_names[s]} ({percent(counts[i, j, s] / total[i, j])})" for s in best]
        kind = f"{fit.mode_names[i]} → {fit.mode_names[j]}"
        times = f"{total[i, j]:,} switch{'' if total[i, j] == 1 else 'es'}"
        told = f"most at {listed(where)}" if where else f"at no {noun} more often than chance would have it"
        lines.append(f"{kind}: {times}, {told}.")
    return lines
