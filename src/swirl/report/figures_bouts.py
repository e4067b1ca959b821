"""Bout lengths of each mode beside those of simulated data."""

from typing import Any

import numpy as np

from swirl.report.case import Case


def bout_figures(case: Case, bouts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One small figure per mode: share of bouts that last at least so long, data dark, simulations pale."""
    longest = max((max(bout["real"]["length"], default=1) for bout in bouts), default=1)
    figures = []
    for name, colour, bout in zip(case.mode_names, case.colours, bouts, strict=True):
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
