"""How sure the modes are: the posterior's clarity, and the restarts beside one another."""

from itertools import pairwise
from typing import Any

from swirl.report.case import Case

LEAST = 1e-3  # nats behind that are drawn: a log axis has no zero


def certainty_figure(case: Case, facts: dict[str, Any]) -> dict[str, Any]:
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
        for name, colour, row in zip(case.mode_names, case.colours, facts["counts"], strict=True)
    ]
    layout = {
        "barmode": "stack",
        "xaxis": {"title": {"text": "probability of the most probable mode"}, "range": [edges[0] - 0.01, 1.01]},
        "yaxis": {"title": {"text": "share of steps"}, "tickformat": ".0%"},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
    }
    return {"data": traces, "layout": layout, "height": 300}


def restart_figure(facts: dict[str, Any]) -> dict[str, Any]:
    """Objective of every restart along its iterations; the one that was kept is dark."""
    traces = []
    for row in facts["rows"][::-1]:  # the kept one last, on top
        kept = row["kept"]
        trace = row["trace"]
        about = f"restart {row['restart']}: {row['status']}"
        about += "" if facts["one_mode"] or row["ari"] is None else f", ARI {row['ari']:.2f} with the kept one's modes"
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": f"restart {row['restart']}",
                "x": trace["iteration"],
                # Distance to the best, so that the last steps can be told apart on a log axis.
                "y": [None if y is None else round(y + LEAST, 4) for y in trace["behind"]],
                "line": {"color": "@ink" if kept else "@soft", "width": 2.5 if kept else 1.2},
                "hovertemplate": f"iteration %{{x}}: %{{y:.2g}} behind<extra>{about}</extra>",
            }
        )
    layout = {
        "xaxis": {"title": {"text": "EM iteration"}},
        "yaxis": {
            "type": "log",
            "title": {"text": "nats behind the best"},
            "exponentformat": "power",
            "dtick": 1,
        },
        "showlegend": False,
    }
    return {"data": traces, "layout": layout, "height": 300}
