"""Held-out scores of several models, as distances to the best, and how they depend on the number of modes."""

from itertools import cycle
from typing import Any

from swirl.plots.model_comparison import mode_curves
from swirl.plots.style import LINE_COLOURS
from swirl.report.formatting import label
from swirl.text import rounded


def comparison_figure(comparison: Any) -> dict[str, Any]:
    """Distance of each model to the best, with 95 % intervals; models without modes are hollow."""
    rows = comparison.table()[::-1]  # plotly draws from below
    half = [row["half_width"] if row["half_width"] == row["half_width"] else 0.0 for row in rows]
    kinds = ["circle" if row["modes"] > 1 else "circle-open" for row in rows]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": "score to the best",
        "x": rounded([row["behind_best"] for row in rows], 5),
        "y": [label(row["label"]) for row in rows],
        "error_x": {"type": "data", "array": rounded(half, 3), "color": "@soft", "thickness": 1.5, "width": 4},
        "marker": {"size": 10, "color": "@ink", "symbol": kinds, "line": {"width": 1.5, "color": "@ink"}},
        "customdata": [[round(row["score"], 5), row["modes"]] for row in rows],
        "hovertemplate": "%{y}: %{customdata[0]} nats per step<br>modes: %{customdata[1]}<extra></extra>",
    }
    layout = {
        "xaxis": {"title": {"text": "nats per step, to the best"}, "zeroline": True},
        "yaxis": {"type": "category", "showgrid": False},
        "showlegend": False,
    }
    return {"data": [trace], "layout": layout, "height": 110 + 30 * len(rows)}


def mode_choice_figure(comparison: Any) -> dict[str, Any] | None:
    """Score on training folds by number of modes; None where no model had several to choose from."""
    curves = mode_curves(comparison)
    if not curves:
        return None
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": label(comparison.label(name)),
            "x": curve["modes"].tolist(),
            "y": rounded(curve["mean"], 5),
            "error_y": {"type": "data", "array": rounded(curve["error"], 3), "thickness": 1.2, "width": 3},
            "line": {"color": "@ink" if colour == "#000000" else colour, "width": 2},
            "marker": {"size": 7},
            "hovertemplate": "%{x} modes: %{y} nats per step<extra>" + label(comparison.label(name)) + "</extra>",
        }
        for (name, curve), colour in zip(curves.items(), cycle(LINE_COLOURS), strict=False)
    ]
    layout = {
        "xaxis": {"title": {"text": "modes"}, "dtick": 1},
        "yaxis": {"title": {"text": "nats per step, training folds"}},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
    }
    return {"data": traces, "layout": layout, "height": 320}
