"""The animals' shares of each mode: one dot each, side by side by group; boxes where there are too many for dots."""

from typing import Any

import numpy as np

from swirl.report.case import Case
from swirl.report.plain import label, rounded

SYMBOLS = ("circle", "circle-open", "diamond", "diamond-open", "square", "square-open", "triangle-up", "x")


def animal_figure(case: Case, facts: dict[str, Any]) -> dict[str, Any]:
    """Modes along the axis in their colours; a group has a place beside the others, and a sign of its own."""
    groups = facts["groups"] or [None]
    width = 0.72 / len(groups)
    traces, shapes = [], []
    for g, group in enumerate(groups):
        rows = [row for row in facts["rows"] if group is None or row["group"] == group]
        middle = (g - (len(groups) - 1) / 2) * width
        shares = np.array([row["shares"] for row in rows])
        if not facts["dots"]:
            traces += [_box(case, k, k + middle, width, shares[:, k], group) for k in range(case.n_modes)]
            continue
        traces.append(_dots(case, rows, middle, width, SYMBOLS[g % len(SYMBOLS)], group))
        shapes += [_mean(k + middle, width, y) for k, y in enumerate(shares.mean(axis=0).tolist())]
        if len(groups) > 1:  # a sign in the legend, in no mode's colour
            sign = {"symbol": SYMBOLS[g % len(SYMBOLS)], "size": 10, "color": "@soft", "line": {"width": 2}}
            traces.append({"type": "scatter", "mode": "markers", "name": label(group), "x": [None], "y": [None],
                           "marker": sign})  # fmt: skip
    highest = max(max(row["shares"]) for row in facts["rows"])
    layout = {
        "xaxis": {
            "tickvals": list(range(case.n_modes)),
            "ticktext": [label(name) for name in case.mode_names],
            "range": [-0.5, case.n_modes - 0.5],
            "showgrid": False,
        },
        "yaxis": {
            "title": {"text": f"share of the {facts['noun']}’s steps"},
            "tickformat": ".0%",
            "range": [0, min(1.03, 1.12 * highest)],
        },
        "shapes": shapes,
        "showlegend": len(groups) > 1 and facts["dots"],
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "itemclick": False},
    }
    head = [facts["noun"], "group", "steps", *case.mode_names]
    table = [head, *([row["name"], row["group"], row["steps"], *rounded(row["shares"])] for row in facts["rows"])]
    return {"data": traces, "layout": layout, "height": 340, "csv": table}


def _dots(
    case: Case, rows: list[dict[str, Any]], middle: float, width: float, symbol: str, group: str | None
) -> dict[str, Any]:
    # An animal has the same place within its group in every mode, so that it can be followed by eye.
    aside = 0.6 * width * (np.linspace(-0.5, 0.5, len(rows)) if len(rows) > 1 else np.zeros(1))
    modes = range(case.n_modes)
    about = ["" if group is None else f", {label(group)}"] * len(rows)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "" if group is None else label(group),
        "showlegend": False,
        "x": [round(k + middle + float(dx), 4) for k in modes for dx in aside],
        "y": rounded([row["shares"][k] for k in modes for row in rows]),
        "marker": {
            "symbol": symbol,
            "size": 9,
            "opacity": 0.9,
            "color": [case.colours[k] for k in modes for _ in rows],
            "line": {"width": 2 if symbol.endswith("open") else 0},
        },
        "text": [f"{label(row['name'])}{also}" for _ in modes for row, also in zip(rows, about, strict=True)],
        "customdata": [f"{row['steps']:,}" for _ in modes for row in rows],
        "hovertemplate": "%{text}: %{y:.1%} of %{customdata} steps<extra></extra>",
    }


def _mean(at: float, width: float, y: float) -> dict[str, Any]:
    half, line = 0.42 * width, {"color": "@ink", "width": 2}
    return {"type": "line", "x0": round(at - half, 4), "x1": round(at + half, 4), "y0": y, "y1": y, "line": line}


def _box(case: Case, mode: int, at: float, width: float, shares: np.ndarray, group: str | None) -> dict[str, Any]:
    low, first, median, third, high = (rounded([value]) for value in np.quantile(shares, [0, 0.25, 0.5, 0.75, 1]))
    return {
        "type": "box",
        "name": ", ".join(label(name) for name in (group, case.mode_names[mode]) if name is not None),
        "x": [round(at, 4)],
        "q1": first,
        "median": median,
        "q3": third,
        "lowerfence": low,
        "upperfence": high,
        "width": 0.7 * width,
        "line": {"color": case.colours[mode], "width": 1.8},
    }
