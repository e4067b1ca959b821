"""How sure is it: the posterior of the modes, and whether other starting points of the fit say the same.

A bootstrap, or the observed information, adds intervals of the modes, which preferences are sure, and how stable each
step is.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from swirl.analysis.bootstrap import bootstrap
from swirl.analysis.decoded import DecodedFit
from swirl.analysis.information import information
from swirl.analysis.intervals import MIN_UNITS, Intervals, log_odds, mark_of
from swirl.analysis.state_summaries import by_state, onward
from swirl.estimators.fit_warnings import SAME_ARI, SAME_POLICIES, RestartAgreement
from swirl.plots.style import named_mode_colours
from swirl.report.figures import LEGEND, axis, figure, lines
from swirl.report.section import ReportedFit, Section
from swirl.text import counted, number, percent, rounded

BINS = 20
MAX_POINTS = 300  # of a trace
MAX_ROWS = 12  # of the table of restarts


def uncertainty_section(fit: ReportedFit) -> Section | None:
    """Posterior, intervals and restarts, those that there are; None where there are none of them."""
    posterior, intervals, agreement = posterior_facts(fit), fit.once(intervals_of), fit.once(agreement_of)
    restarts = restart_facts(fit, agreement)
    if posterior is None and restarts is None and intervals is None:
        return None
    figures = {}
    if posterior:
        figures["certainty"] = certainty_figure(fit, posterior)
    if restarts:
        figures["restarts"] = restart_figure(restarts)
    values = {
        "posterior": posterior,
        "intervals": intervals,
        "restart_line": restart_line(agreement),
        "restart_words": restart_sentence(agreement),
        "restarts": restarts,
        "max_rows": MAX_ROWS,
        "file": fit.file,
    }
    return Section("uncertainty", "How sure is it?", values, figures)


def posterior_facts(fit: DecodedFit) -> dict[str, Any] | None:
    """How clear the modes are: the probability of the most probable mode at each step; None for one mode.

    >>> import swirl
    >>> from swirl.analysis.decoded import decode
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> facts = posterior_facts(decode(world.true_model(), world.trajectories))
    >>> sum(sum(row) for row in facts["counts"]), len(facts["edges"])
    (240, 21)
    """
    if fit.n_modes < 2:
        return None
    shares = np.concatenate(fit.posterior)
    top, best = shares.max(axis=1), shares.argmax(axis=1)
    edges = np.linspace(1 / fit.n_modes, 1, BINS + 1)
    place = np.clip(np.searchsorted(edges, top, side="right") - 1, 0, BINS - 1)
    counts = np.zeros((fit.n_modes, BINS), np.int64)
    np.add.at(counts, (best, place), 1)
    return {
        "edges": rounded(edges),
        "counts": counts.tolist(),
        "words": f"At {percent((top >= 0.9).mean())} of the steps one mode has a probability of 0.9 or more.",
    }


def agreement_of(fit: DecodedFit) -> RestartAgreement | None:
    """How far the restarts say the same: as the fit found, or on these sessions where its file does not say.

    None where there were no restarts. Files of older versions do not say which other solutions are near; the sessions
    that were fitted do.
    """
    model, known = fit.model, fit.model.restart_agreement_
    if not model.restarts_:
        return known
    if known is None:
        return model.compare_restarts(fit.data)
    older = known.error is None and known.n_same < known.n_restarts
    if older and model.data_fingerprint_ == fit.data.fingerprint(*model.own_signals):
        return model.compare_restarts(fit.data)
    return known


def restart_facts(fit: DecodedFit, agreement: RestartAgreement | None) -> dict[str, Any] | None:
    """Objective of every restart and how far it says the same as the fit; None where there is one or none."""
    restarts = fit.model.restarts_
    if agreement is None or len(restarts) < 2:
        return None
    order = np.argsort(np.where(np.isfinite(agreement.nats_behind), agreement.nats_behind, np.inf), kind="stable")
    traces = np.concatenate([np.asarray(restart.objective_trace, dtype=float) for restart in restarts])
    top, rows = traces[np.isfinite(traces)].max(initial=-np.inf), []
    for index in order.tolist():
        restart = restarts[index]
        numbers = (agreement.nats_behind[index], agreement.ari[index], agreement.policy_distance[index])
        behind, ari, distance = (float(x) if np.isfinite(x) else None for x in numbers)
        rows.append(
            {
                "restart": index,
                "behind": behind,
                "ari": ari,
                "policy_distance": distance,
                "same": bool(agreement.same[index]),
                "status": restart.status,
                "iterations": restart.n_iterations,
                "kept": index == agreement.kept,
                "trace": _trace(top - np.asarray(restart.objective_trace)),
            }
        )
    return {"rows": rows, "one_mode": fit.n_modes == 1}


def _trace(behind: np.ndarray) -> dict[str, list[Any]]:
    kept = np.unique(np.linspace(0, len(behind) - 1, min(len(behind), MAX_POINTS)).astype(int))
    return {"iteration": kept.tolist(), "behind": rounded(behind[kept])}


def restart_line(agreement: RestartAgreement | None) -> str:
    """Say in plain words whether the starting points agree, and what that means.

    >>> restart_line(RestartAgreement(0, 2, np.ones(3), np.array([0, 0.01, 0.02]), np.array([0, 0.1, 9.0])))
    'All 3 starting points came to the same result: nothing to worry about.'
    >>> restart_line(RestartAgreement(0, 2, np.array([1, 1, 0.4, 0.4, 0.4]), np.zeros(5), np.array([0, 0, 7, 7, 7.0]),
    ...                               np.array([0, 0, 1, 1, 1]), np.array([np.nan, np.nan, 8, 8, 8])))
    'Most starting points (3 of 5) ended together 7 nats behind, with other modes (segmentations agree at ARI 0.40). \
The data hardly decide between the two. 2 starting points came to the result of this page.'
    """
    if agreement is None or agreement.n_restarts == 1:
        return restart_sentence(agreement)
    same, n = agreement.n_same, agreement.n_restarts
    if len(agreement.rivals):
        return (
            f"{same} of {n} starting points came to this result, but {agreement.rival_words()}. The data do not decide "
            "between them: do not interpret what only one of them says."
        )
    if agreement.near:
        words = agreement.near_words()
        came = f"{counted(same, 'starting point')} came to the result of this page."
        between = "the two" if len(agreement.near) == 1 else "them"
        return f"{words[0].upper()}{words[1:]}. The data hardly decide between {between}. {came}"
    if same == n:
        return f"All {n} starting points came to the same result: nothing to worry about."
    if same < 2:
        return f"Only one of {n} starting points came to this result. It may be luck: more restarts would show."
    return (
        f"{same} of {n} starting points came to the same result. The others ended at a worse fit, which is usual: "
        "nothing to worry about."
    )


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


LEAST = 1e-3  # nats behind that are drawn: a log axis has no zero


def certainty_figure(fit: DecodedFit, facts: dict[str, Any]) -> dict[str, Any]:
    """Histogram of the probability of the most probable mode, stacked by mode."""
    edges = facts["edges"]
    middle = [round((a + b) / 2, 4) for a, b in pairwise(edges)]
    total = max(sum(sum(row) for row in facts["counts"]), 1)
    traces = [
        {
            "type": "bar",
            "name": name,
            "x": middle,
            "y": [round(n / total, 6) for n in row],
            "width": (edges[-1] - edges[0]) / len(middle) * 0.94,
            "marker": {"color": colour, "line": {"width": 0}},
            "hovertemplate": "%{y:.1%} of the steps<extra>" + name + "</extra>",
        }
        for name, colour, row in zip(fit.mode_names, named_mode_colours(fit.mode_names), facts["counts"], strict=True)
    ]
    x = axis("probability of the most probable mode", range=[edges[0] - 0.01, 1.01])
    y = axis("share of steps", tickformat=".0%")
    return figure(traces, 300, x, y, barmode="stack", legend=LEGEND | {"traceorder": "normal"})


def restart_figure(facts: dict[str, Any]) -> dict[str, Any]:
    """Objective of every restart along its iterations; the one that was kept is dark."""
    traces = []
    for row in facts["rows"][::-1]:  # the kept one last, on top
        name, trace = f"restart {row['restart']}", row["trace"]
        about = f"{name}: {row['status']}"
        about += "" if facts["one_mode"] or row["ari"] is None else f", ARI {row['ari']:.2f} with the kept one's modes"
        # Distance to the best, so that the last steps can be told apart on a log axis.
        behind = [None if y is None else round(y + LEAST, 4) for y in trace["behind"]]
        line = {"color": "@ink", "width": 2.5} if row["kept"] else {"color": "@soft", "width": 1.2}
        says = f"iteration %{{x}}: %{{y:.2g}} behind<extra>{about}</extra>"
        traces.append(lines(name, trace["iteration"], behind, line=line, hovertemplate=says))
    y = axis("nats behind the best", type="log", exponentformat="power", dtick=1)
    return figure(traces, 300, axis("EM iteration"), y, showlegend=False)


SHORT = 0.5  # standard errors by which a fit may miss its top without a word
FIRM = 0.95
WIDTH, PAD = 110, 5  # of the little pictures in the table


def read_intervals(fit: DecodedFit, given: Any) -> Intervals | None:
    """The intervals that were given, or new ones: "information", or so many refits; None for none (or 0)."""
    if given is None or (given == 0 and not isinstance(given, bool)):
        return None
    if isinstance(given, int):
        return bootstrap(fit.model, fit.data, n_draws=given)
    if isinstance(given, str) and given == "information":
        return information(fit.model, fit.data)
    if not isinstance(given, Intervals):
        shown = repr(given) if isinstance(given, str) else type(given).__name__
        raise ValueError(
            f"intervals is {shown}: expected what swirl.uncertainty.information(...) or bootstrap(...) returned, "
            '"information", or the number of refits'
        )
    if given.model != mark_of(fit.model):
        raise ValueError("intervals: they are of another fit, or its modes stand in another order; make new ones")
    return given


def intervals_of(fit: ReportedFit) -> dict[str, Any] | None:
    """`interval_facts` of the intervals, where there are any."""
    return None if fit.intervals is None else interval_facts(fit, fit.intervals)


def interval_facts(fit: DecodedFit, found: Intervals) -> dict[str, Any]:
    """Rows of the table, sentences, and what the maps need.

    Keys: rows (share and duration of each mode with their ends, as text and as places in a small picture; stable: mean
    stability of its steps), method, words and further sentences, preference ([mode][state][move] low and high of the
    log-odds, None where there are no modes to compare), certain (the share of them with a certain sign), rewards
    ([mode][state] value, low and high).
    """
    share, stay = found.estimate("occupancy"), found.estimate("durations")
    shares, stays = found.interval("occupancy"), found.interval("durations")
    widest, longest = _round_up(shares[1]), _round_up(stays[1])
    stable, preference = _stability_by_mode(fit, found), _preference(fit, found)
    rows = [
        {
            "share": f"{_percents(share[k], shares, k)}\u00a0%",
            "share_range": _share_range(shares, k),
            "share_at": _picture(share[k], shares[0][k], shares[1][k], widest),
            "duration": number(float(stay[k])) if np.isfinite(stay[k]) else "does not end",
            "duration_range": _range(stays[0][k], stays[1][k]) if np.isfinite([stay[k], stays[0][k]]).all() else "",
            "duration_at": _picture(stay[k], stays[0][k], stays[1][k], longest),
            "stable": "—" if stable is None else percent(stable[k], ".0f"),
        }
        for k in range(fit.n_modes)
    ]
    return {
        "rows": rows,
        "by": found.by,
        "method": found.method,
        "between": found.between is not None,
        "drawn": _drawn_words(found),
        "width": WIDTH,
        "words": _words(found),
        "stability_words": _stability_words(fit, found) if fit.n_modes > 1 else "",
        "drift_words": _drift_words(found),
        "place_words": _place_words(fit, found),
        "preference": preference,
        "certain": preference and percent(preference["share"]),
        "rewards": _rewards(found),
    }


def _preference(fit: DecodedFit, found: Intervals) -> dict[str, Any] | None:
    """Ends of the log-odds of each move against the average mode, as the map shows them."""
    model = fit.model
    if found.preferences is None or model.histories is None:
        return None
    groups, ways = by_state(model.histories), onward(model.histories, model.target)

    def of_moves(policies: np.ndarray) -> np.ndarray:
        each = policies.reshape(-1, *policies.shape[-3:])
        moves = np.stack([ways.shares(groups, one) for one in each])
        return log_odds(moves).reshape(*policies.shape[:-3], *moves.shape[1:])

    low, high = found.interval("policies", of=of_moves)
    there = np.broadcast_to(ways.following >= 0, low.shape) & np.isfinite(low)
    sure = ((low > 0) | (high < 0)) & there
    return {
        "low": rounded(low, 3),
        "high": rounded(high, 3),
        "share": float(sure.sum() / max(there.sum(), 1)),
        "n": int(there.sum()),
    }


def _rewards(found: Intervals) -> dict[str, Any] | None:
    if found.rewards is None:
        return None
    low, high = found.interval("rewards")
    return {"value": rounded(found.estimate("rewards"), 3), "low": rounded(low, 3), "high": rounded(high, 3)}


def _stability_by_mode(fit: DecodedFit, found: Intervals) -> list[float] | None:
    """Mean stability of the steps decoded as each mode; None where the page is about other sessions."""
    if [len(part) for part in found.stability] != [len(path) for path in fit.modes]:
        return None
    values, modes = np.concatenate(found.stability), np.concatenate(fit.modes)
    return [float(values[modes == k].mean()) if (modes == k).any() else float("nan") for k in range(fit.n_modes)]


def _words(found: Intervals) -> str:
    drawn = counted(found.n_units, found.by)
    few = " With so few, intervals are rough." if found.n_units < 20 else ""
    if found.method == "information":
        return (
            "How far could the fit be off, if the model is true? Nothing was resampled: how sharply the "
            "likelihood and the priors are peaked at the fit says how far its parameters may lie from it (the observed "
            f"information, {found.n_draws} draws). Shares and durations {_shares_words(found)}.{_between_words(found)}"
        )
    ran_out = sum(status != "converged" for status in found.statuses)
    short = f" {counted(ran_out, 'further refit')} did not converge and had to be left out." if ran_out else ""
    return (
        f"Had other {found.by}s of the same kind been recorded, how far would the fit move? The {drawn} were drawn "
        f"anew, with replacement, {found.n_draws} times, and the model was fitted to each draw, starting from this "
        f"fit.{few}{short}"
    )


def _shares_words(found: Intervals) -> str:
    units = counted(found.n_units, found.by)
    if found.n_units >= MIN_UNITS:
        return f"also take into account how the {units} differ"
    return f"have no intervals here: {units} say next to nothing of how {found.by}s differ"


def _between_words(found: Intervals) -> str:
    return f" {found.between_words[:1].upper()}{found.between_words[1:]}." if found.between_words else ""


def _place_words(fit: DecodedFit, found: Intervals) -> str:
    """Where each mode is rewarded most, and in how many draws it is there."""
    if found.rewards is None or fit.model.goals:
        return ""
    shares, told = found.best_places(), []
    for name, own in zip(fit.mode_names, shares, strict=True):
        place = int(own.argmax())
        told.append(f"{name}: {fit.state_names[place]} ({percent(own[place], '.0f')} of the {_drawn_words(found)})")
    return f"The place of greatest reward of each mode, and how sure it is: {'; '.join(told)}."


def _drawn_words(found: Intervals) -> str:
    return "refits" if found.method == "bootstrap" else "draws"


def _stability_words(fit: DecodedFit, found: Intervals) -> str:
    parts = [part for part in found.stability if len(part)]
    values = np.concatenate(parts)
    drawn = "each refit" if found.method == "bootstrap" else "draws of the parameters"
    lead = (
        f"Decoded again by {drawn}, a step has the same mode as in the fit {percent(values.mean())} of the time; at "
        f"{percent((values >= FIRM).mean())} of the steps it has in at least {FIRM:.0%} of them."
    ).replace("95%", "95\u00a0%")
    means = [part.mean() for part in parts]
    if len(found.stability) != len(fit.data) or len(parts) != len(fit.data) or max(means) - min(means) < 0.02:
        return lead
    worst = int(np.argmin(means))
    name = fit.data.names[worst]
    session = f"session {name}" if name.isdecimal() else f"session “{name}”"
    return f"{lead} Least stable: {session} ({percent(means[worst])})."


def _drift_words(found: Intervals) -> str:
    if found.drift < SHORT:
        return ""
    return (
        f"The fit stopped {number(found.drift, 2)} standard errors short of the top of its objective. Intervals lie "
        "around the top, so numbers elsewhere on this page differ a little. More iterations (--max-iter) close the gap."
    )


def _percents(value: Any, ends: tuple[np.ndarray, np.ndarray], k: int) -> str:
    """A share in percent, with a decimal where its interval is short."""
    return f"{100 * value:.{0 if ends[1][k] - ends[0][k] > 0.1 else 1}f}"


def _share_range(ends: tuple[np.ndarray, np.ndarray], k: int) -> str:
    if not np.isfinite(ends[0][k]):
        return ""
    return f"{_percents(ends[0][k], ends, k)} to {_percents(ends[1][k], ends, k)}"


def _range(low: Any, high: Any) -> str:
    places = max(0, 1 - int(np.floor(np.log10(max(high - low, 1e-6))))) if np.isfinite(high) else 0
    top = f"{high:,.{min(places, 3)}f}" if high < 1e6 else "very long"
    return f"{low:,.{min(places, 3)}f} to {top}"


def _round_up(values: np.ndarray) -> float:
    finite = values[np.isfinite(values) & (values < 1e6)]
    return float(finite.max() * 1.04) if finite.size else 1.0


def _picture(value: Any, low: Any, high: Any, most: float) -> dict[str, float] | None:
    """Where a dot and its whiskers go, from 0 to the most of the column."""
    if not np.isfinite([value, low]).all():
        return None
    at = [round(PAD + (WIDTH - 2 * PAD) * float(np.clip(x / most, 0, 1)), 1) for x in (value, low, high)]
    return dict(zip(("at", "low", "high"), at, strict=True))
