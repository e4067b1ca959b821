"""A signal by mode: means, and the course around a mode's onset."""

from typing import Any

from swirl.faults import counted
from swirl.report.case import Case
from swirl.report.plain import label


def mean_figure(case: Case, facts: dict[str, Any]) -> dict[str, Any]:
    """Mean ± standard error of the signal in each mode."""
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": label(facts["name"]),
        "x": case.mode_names,
        "y": facts["mean"],
        "error_y": {
            "type": "data",
            "array": [value or 0 for value in facts["sem"]],
            "color": "@soft",
            "thickness": 2,
            "width": 6,
        },
        "marker": {"color": case.colours, "size": 14, "line": {"width": 1, "color": "@paper"}},
        "customdata": [
            [counted(n, facts["over"]), counted(steps, "step")]
            for n, steps in zip(facts["units"], facts["steps"], strict=True)
        ],
        "hovertemplate": "%{x}: %{y:.4g}<br>%{customdata[0]}, %{customdata[1]}<extra></extra>",
    }
    layout = {
        "xaxis": {"type": "category", "showgrid": False, "range": [-0.6, case.n_modes - 0.4]},
        "yaxis": {"title": {"text": f"mean {label(facts['name'])}"}},
        "showlegend": False,
    }
    return {"data": [trace], "layout": layout, "height": 300}


def onset_figure(case: Case, facts: dict[str, Any]) -> dict[str, Any]:
    """Mean signal around the onset of each mode, with a band of ± one standard error."""
    traces: list[dict[str, Any]] = []
    for mode, (name, colour) in enumerate(zip(case.mode_names, case.colours, strict=True)):
        if not facts["onsets"][mode]:
            continue
        points = zip(facts["lags"], facts["course"][mode], facts["spread"][mode], strict=True)
        known = [(lag, y, y if half is None else y - half, y if half is None else y + half)
                 for lag, y, half in points if y is not None]  # fmt: skip
        lags, middle, low, high = (list(column) for column in zip(*known, strict=True)) if known else ([], [], [], [])
        band = {
            "type": "scatter",
            "mode": "lines",
            "name": f"{name} ± SEM",
            "legendgroup": name,
            "showlegend": False,
            "x": lags + lags[::-1],
            "y": high + low[::-1],
            "fill": "toself",
            "fillcolor": colour,
            "opacity": 0.18,
            "line": {"width": 0},
            "hoverinfo": "skip",
        }
        line = {
            "type": "scatter",
            "mode": "lines",
            "name": f"{name} ({facts['onsets'][mode]:,} onsets)",
            "legendgroup": name,
            "x": lags,
            "y": middle,
            "line": {"color": colour, "width": 2.5},
        }
        traces += [band, line]
    onset = {"type": "line", "x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper",
             "line": {"color": "@soft", "width": 1, "dash": "dot"}}  # fmt: skip
    layout = {
        "xaxis": {"title": {"text": "steps from the onset of the mode"}},
        "yaxis": {"title": {"text": label(facts["name"])}},
        "shapes": [onset],
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    }
    return {"data": traces, "layout": layout, "height": 320}
