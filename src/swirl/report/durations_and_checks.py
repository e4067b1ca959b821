"""Predictive checks and bout lengths: what the model does when it is let run, beside what the animals did."""

from dataclasses import replace
from typing import Any

import numpy as np

from swirl.analysis.behaviour import occupancy
from swirl.analysis.decoded import DecodedFit
from swirl.analysis.predictive_checks import ENOUGH, PredictiveChecks, predictive_checks, simulated_like
from swirl.analysis.significance import LEVEL
from swirl.data.segments import dwell_times
from swirl.estimators.base import quietly
from swirl.plots.style import named_mode_colours
from swirl.report.formatting import label
from swirl.text import number, rounded

N_PLACES = 3
OF_MODES = ("dwell time", "mode share", "switches per 100 steps")
MAX_SEGMENTS, MAX_STEPS = 2_000, 300_000  # simulated and decoded for each draw; more only takes longer
MAX_POINTS = 400  # of a survival curve


def check_facts(case: DecodedFit, n_draws: int) -> dict[str, Any] | None:
    """Statistics of the data and of simulated data sets; None where there are none to make.

    The places are those that the data visit most.
    """
    if n_draws < 1 or case.model.histories is None or case.env is None:
        return None
    data, torn = case.data, False
    if case.model.impossible != "error":  # no simulation has transitions that the environment rules out
        breaks = [steps + 1 for steps in case.env.impossible_transitions(data)]
        data = data.with_gaps(breaks)
        # "forget": the mode chain goes on across them, so bouts must not be cut there.
        torn = case.model.impossible == "forget" and any(len(steps) for steps in breaks)
    segments = np.cumsum([len(gaps) + 1 for gaps in data.gaps])
    enough = (segments > MAX_SEGMENTS) | (np.cumsum(data.lengths) > MAX_STEPS)
    n_sessions = max(1, int(np.argmax(enough)) if enough.any() else len(data))
    data = data[:n_sessions]
    busiest = np.argsort(-occupancy(data.states, case.n_states), kind="stable")[:N_PLACES]
    busiest = [int(s) for s in busiest if (np.concatenate(data.states) == s).any()]
    found = predictive_checks(
        case.model, data, places={case.state_names[s]: s for s in busiest}, n_draws=n_draws, random_state=0
    )
    if case.n_modes == 1 or torn:
        found = _without_modes(found)  # nor are they among the tests that are corrected for
    rows = []
    for statistic, real in found.real.items():
        what, of, summary = statistic
        drawn = found.simulated[statistic]
        drawn = drawn[np.isfinite(drawn)]
        if not np.isfinite(real) or not len(drawn):
            continue
        rows.append(
            {
                "what": what,
                "of": of,
                "summary": summary,
                "real": real,
                "drawn": drawn.tolist(),
                "low": float(drawn.min()),
                "high": float(drawn.max()),
                "inside": bool(drawn.min() <= real <= drawn.max()),
                "p_value": found.p_value(statistic),
                "corrected_p_value": found.corrected[statistic],
                "differs": bool(found.corrected[statistic] <= LEVEL),
            }
        )
    shares = np.array(found.simulated_values["occupancy", ""])
    return {
        "n_draws": n_draws,
        "sessions": n_sessions,
        "all_sessions": len(case.data),
        "places": [case.state_names[s] for s in busiest],
        "rows": rows,
        "n_inside": sum(row["inside"] for row in rows),
        "n_differ": sum(row["differs"] for row in rows),
        "enough_draws": ENOUGH,
        "occupancy": rounded(found.real_values["occupancy", ""]),
        "simulated_occupancy": rounded(shares.mean(axis=0)),
        "torn": torn,
        "bouts": _simulated_bouts(case, n_draws) if torn else _bouts(case, found),
    }


def _without_modes(found: PredictiveChecks) -> PredictiveChecks:
    """The checks without the statistics of modes."""
    kept = [statistic for statistic in found.real if statistic[0] not in OF_MODES]
    scalars = [{name: own[name] for name in kept} for own in (found.real, found.simulated)]
    return replace(found, real=scalars[0], simulated=scalars[1])


def _bouts(case: DecodedFit, found: PredictiveChecks) -> list[dict[str, Any]]:
    """Bouts of the data and of the simulations that the checks have made already."""
    return [
        {
            "real": survival(found.real_values["dwell time", f"mode {k}"]),
            "simulated": [survival(times) for times in found.simulated_values["dwell time", f"mode {k}"]],
        }
        for k in range(case.n_modes)
        if ("dwell time", f"mode {k}") in found.real_values
    ]


def _simulated_bouts(case: DecodedFit, n_draws: int) -> list[dict[str, Any]]:
    """Bouts of the data as they are, and of simulated data with the same gaps and missing actions."""
    drawn = []
    for seed in range(n_draws):
        made = simulated_like(case.model, case.data, seed)
        with quietly():  # a simulation may go where the animals were not seen in training
            drawn.append(dwell_times(case.model.predict(made), n_modes=case.n_modes, gaps=made.gaps))
    real = dwell_times(case.modes, n_modes=case.n_modes, gaps=case.data.gaps)
    return [
        {"real": survival(real[k]), "simulated": [survival(times[k]) for times in drawn]} for k in range(case.n_modes)
    ]


def bout_facts(case: DecodedFit, checks: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    """Bout lengths of each mode as survival curves, of the data and, where there are checks, of each simulation."""
    if case.n_modes < 2:
        return None
    times = dwell_times(case.modes, n_modes=case.n_modes, gaps=case.data.gaps)
    facts = []
    for mode, own in enumerate(times):
        # The checks cut real bouts where they must cut simulated ones, so that both are alike.
        compared = checks["bouts"][mode] if checks and mode < len(checks["bouts"]) else None
        facts.append(
            {
                "n": len(own),
                "median": float(np.median(own)) if len(own) else None,
                "longest": int(own.max()) if len(own) else None,
                "real": survival(own) if compared is None else compared["real"],
                "simulated": [] if compared is None else compared["simulated"],
            }
        )
    return facts


def survival(times: Any) -> dict[str, list[Any]]:
    """Share of bouts that last at least so many steps, where it changes.

    >>> survival([1, 3, 3, 8])
    {'length': [1, 3, 8], 'share': [1, 0.75, 0.25]}
    """
    times = np.sort(np.asarray(times))
    length, first = np.unique(times, return_index=True)
    share = 1 - first / max(len(times), 1)
    if len(length) > MAX_POINTS:
        kept = np.unique(np.geomspace(1, len(length), MAX_POINTS).astype(int) - 1)
        length, share = length[kept], share[kept]
    return {"length": length.tolist(), "share": rounded(share)}


def bout_figures(case: DecodedFit, bouts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One small figure per mode: share of bouts that last at least so long, data dark, simulations pale."""
    longest = max((max(bout["real"]["length"], default=1) for bout in bouts), default=1)
    figures = []
    for name, colour, bout in zip(case.mode_names, named_mode_colours(case.mode_names), bouts, strict=True):
        simulated = [curve for curve in bout["simulated"] if curve["length"]]
        longest = max(longest, *(curve["length"][-1] for curve in simulated), 1)
        traces = [_curve(curve, "simulated", colour, 1.2, 0.38, i == 0) for i, curve in enumerate(simulated)]
        traces.append(_curve(bout["real"], "data", colour, 3.0, 1.0, True))
        figures.append({"data": traces, "title": name, "n": bout["n"], "median": bout["median"]})
    for figure in figures:
        figure["layout"] = {
            "xaxis": {
                "type": "log",
                "title": {"text": "bout of at least … steps"},
                "range": [0, float(np.log10(longest)) + 0.05],
                "tickangle": 0,
                "tickvals": [1, 3, 10, 30, 100, 300, 1000, 3000, 10000],
            },
            "yaxis": {"range": [0, 1.04], "tickformat": ".0%", "title": {"text": "share of bouts"}},
            "showlegend": bool(len(figure["data"]) > 1),
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        }
        figure["height"] = 260
    return figures


def _curve(curve: dict[str, Any], name: str, colour: str, width: float, opacity: float, legend: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "legendgroup": name,
        "showlegend": legend,
        "x": [1, *curve["length"], *curve["length"][-1:]],  # from "all last one step" to "none lasts longer"
        "y": [1, *curve["share"], 0],
        "line": {"color": colour, "width": width, "shape": "vh"},
        "opacity": opacity,
        "hovertemplate": "%{y:.0%} last %{x} steps or more<extra>" + name + "</extra>",
    }


WIDTH, PAD = 180.0, 8.0  # of a strip, in its own units


def occupancy_figure(case: DecodedFit, checks: dict[str, Any]) -> dict[str, Any]:
    """Share of the steps in each state: data against the mean of the simulations."""
    real, drawn = checks["occupancy"], checks["simulated_occupancy"]
    top = 1.05 * max([*real, *drawn])
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": "equal",
        "x": [0, top],
        "y": [0, top],
        "line": {"color": "@soft", "width": 1, "dash": "dot"},
        "hoverinfo": "skip",
    }
    points = {
        "type": "scatter",
        "mode": "markers",
        "name": "states",
        "x": real,
        "y": drawn,
        "text": [label(name) for name in case.state_names[: len(real)]],
        "marker": {"size": 7, "color": "@accent", "opacity": 0.75},
        "hovertemplate": "%{text}<br>data %{x:.2%}, simulated %{y:.2%}<extra></extra>",
    }
    layout = {
        "xaxis": {"title": {"text": "share of steps, data"}, "tickformat": ".0%", "rangemode": "tozero"},
        "yaxis": {"title": {"text": "share of steps, simulated"}, "tickformat": ".0%", "rangemode": "tozero"},
        "showlegend": False,
    }
    return {"data": [line, points], "layout": layout, "height": 340}


def check_strips(checks: dict[str, Any]) -> list[dict[str, Any]]:
    """For each statistic its words and the places of the dots in a small strip.

    >>> row = {"what": "staying", "of": "", "summary": "rate", "real": 2.0, "drawn": [1.0, 3.0], "low": 1.0,
    ...        "high": 3.0, "inside": True, "differs": False, "p_value": 0.05, "corrected_p_value": 0.3}
    >>> strip = check_strips({"rows": [row]})[0]
    >>> strip["words"], strip["real"], strip["at"], strip["drawn_at"]
    ('staying in place, share of steps', '2', 90.0, [8.0, 172.0])
    >>> strip["p"], strip["corrected_p"]
    ('0.05', '0.3')
    """
    strips = []
    for row in checks["rows"]:
        low, high = min(row["low"], row["real"]), max(row["high"], row["real"])
        span = (high - low) or 1.0
        middle = high == low

        def at(value: float, low: float = low, span: float = span, middle: bool = middle) -> float:
            return WIDTH / 2 if middle else round(PAD + (WIDTH - 2 * PAD) * (value - low) / span, 1)

        words = statistic_words(row["what"], row["of"], row["summary"])
        strips.append(
            {
                "words": words,
                "real": number(row["real"]),
                "range": f"{number(row['low'])} – {number(row['high'])}",
                "inside": row["inside"],
                "differs": row["differs"],
                "p": number(row["p_value"], 2),
                "corrected_p": number(row["corrected_p_value"], 2),
                "at": at(row["real"]),
                "drawn_at": [at(value) for value in row["drawn"]],
                "width": WIDTH,
            }
        )
    return strips


def statistic_words(what: str, of: str, summary: str) -> str:
    """Say what a statistic is.

    >>> statistic_words("dwell time", "mode 0", "median"), statistic_words("visits per 100 steps", "water", "mean")
    ('bouts of mode 0, median', 'visits to water per 100 steps')
    """
    known = {
        "dwell time": f"bouts of {of}, {summary}",
        "return interval": f"steps until back at {of}, {summary}",
        "visits per 100 steps": f"visits to {of} per 100 steps{'' if summary == 'mean' else ', SD'}",
        "mode share": f"share of {of}",
        "switches per 100 steps": "switches per 100 steps",
        "backtracking": "turning back, share of steps",
        "staying": "staying in place, share of steps",
    }
    if what == "occupancy":
        return f"time at {of}, share" if of else f"occupancy, {summary}"
    return known.get(what, ", ".join(part for part in (what, of, summary) if part))
