"""Durations: how long a mode lasts, in the data and in what the model simulates."""

from typing import Any

import numpy as np

from swirl.analysis.decoded import DecodedFit
from swirl.data.segments import dwell_times
from swirl.plots.style import named_mode_colours
from swirl.report.checks import check_facts
from swirl.report.figures import LEGEND, axis, figure, lines
from swirl.report.section import ReportedFit, Section
from swirl.text import rounded

MAX_POINTS = 400  # of a survival curve


def durations_section(fit: ReportedFit) -> Section | None:
    """A survival curve of the bouts of each mode; None for one mode."""
    checks = fit.once(check_facts)
    bouts = bout_facts(fit, checks)
    if bouts is None:
        return None
    drawn = bout_figures(fit, bouts)
    values = {"bouts": drawn, "n_draws": checks["n_draws"] if checks else 0}
    return Section("durations", "Durations", values, {f"bouts-{mode}": one for mode, one in enumerate(drawn)})


def bout_facts(fit: DecodedFit, checks: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    """Bout lengths of each mode as survival curves, of the data and, where there are checks, of each simulation."""
    if fit.n_modes < 2:
        return None
    facts = []
    for mode, own in enumerate(dwell_times(fit.modes, n_modes=fit.n_modes, gaps=fit.data.gaps)):
        # The checks cut real bouts where they must cut simulated ones, so that both are alike.
        compared = {"real": own, "simulated": []}
        if checks is not None and mode < len(checks["bouts"]):
            compared = checks["bouts"][mode]
        facts.append(
            {
                "n": len(own),
                "median": float(np.median(own)) if len(own) else None,
                "longest": int(own.max()) if len(own) else None,
                "real": survival(compared["real"]),
                "simulated": [survival(times) for times in compared["simulated"]],
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


def bout_figures(fit: DecodedFit, bouts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One small figure per mode: share of bouts that last at least so long, data dark, simulations pale."""
    curves = [curve for bout in bouts for curve in (bout["real"], *bout["simulated"])]
    longest = max([1, *(length for curve in curves for length in curve["length"][-1:])])
    reach, ticks = [0, float(np.log10(longest)) + 0.05], [1, 3, 10, 30, 100, 300, 1000, 3000, 10000]
    x = axis("bout of at least … steps", type="log", range=reach, tickangle=0, tickvals=ticks)
    y = axis("share of bouts", range=[0, 1.04], tickformat=".0%")
    figures = []
    for name, colour, bout in zip(fit.mode_names, named_mode_colours(fit.mode_names), bouts, strict=True):
        simulated = [curve for curve in bout["simulated"] if curve["length"]]
        traces = [_curve(curve, "simulated", colour, 1.2, 0.38, i == 0) for i, curve in enumerate(simulated)]
        traces.append(_curve(bout["real"], "data", colour, 3.0, 1.0, True))
        drawn = figure(traces, 260, x, y, showlegend=len(traces) > 1, legend=LEGEND)
        figures.append(drawn | {"title": name, "n": bout["n"], "median": bout["median"]})
    return figures


def _curve(curve: dict[str, Any], name: str, colour: str, width: float, opacity: float, legend: bool) -> dict[str, Any]:
    return lines(
        name,
        [1, *curve["length"], *curve["length"][-1:]],  # from "all last one step" to "none lasts longer"
        [1, *curve["share"], 0],
        legendgroup=name,
        showlegend=legend,
        line={"color": colour, "width": width, "shape": "vh"},
        opacity=opacity,
        hovertemplate="%{y:.0%} last %{x} steps or more<extra>" + name + "</extra>",
    )
