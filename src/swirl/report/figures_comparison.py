"""Held-out scores of several models, as distances to the best."""

from typing import Any

from swirl.report.plain import label, rounded


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
        "y": [label(row["model"]) for row in rows],
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
