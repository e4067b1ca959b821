"""Signal by mode: a user's signal, its mean in each, and its course around the start of each."""

from typing import Any

import numpy as np

from swirl.analysis.decoded import DecodedFit
from swirl.analysis.mode_signal import signal_by_mode, signal_called
from swirl.analysis.triggered_average import mode_triggered_average
from swirl.plots.style import named_mode_colours
from swirl.report.formatting import label
from swirl.report.section import ReportedFit, Section
from swirl.text import counted, rounded

BEFORE, AFTER = 10, 20  # steps around the onset of a mode


def signal_section(fit: ReportedFit) -> Section | None:
    """Its mean in each mode and around the onsets of each; None where no signal was asked for, or for one mode."""
    facts = fit.once(signal_facts)
    if facts is None:
        return None
    values = {"name": facts["name"], "over": facts["over"], "fitted": facts["name"] in fit.model.own_signals}
    figures = {"signal-mean": mean_figure(fit, facts), "signal-onset": onset_figure(fit, facts)}
    return Section("signal", "Signal by mode", values, figures)


def check_signal(fit: DecodedFit) -> None:
    """Refuse a signal that has several channels."""
    if fit.signal is None:
        return
    widest = max(np.asarray(part).reshape(len(part), -1).shape[1] for part in signal_called(fit.data, fit.signal))
    if widest > 1:
        raise ValueError(
            f"signal={fit.signal!r} has {widest} channels: the report draws one; put the one you mean into a signal of "
            "its own, Trajectories(..., signals={'name': [one array per session]})"
        )


def signal_facts(fit: DecodedFit) -> dict[str, Any] | None:
    """Mean and onset average of the signal in each mode, with standard errors over sessions (or subjects).

    None where no signal was asked for, or for one mode. Keys: name; over ("session" or "subject"); of each mode mean,
    sem, units (sessions or subjects with such steps) and steps; lags; of each mode and lag course and spread; of each
    mode onsets.
    """
    if fit.signal is None or fit.n_modes < 2:
        return None
    means = signal_by_mode(fit.data, fit.modes, fit.signal, n_modes=fit.n_modes)
    average = mode_triggered_average(
        fit.data, fit.modes, fit.signal, before=BEFORE, after=AFTER, n_modes=fit.n_modes, n_shifts=0
    )
    return {
        "name": fit.signal,
        "over": means.over,
        "mean": rounded(means.mean[:, 0]),
        "sem": rounded(means.sem[:, 0]),
        "units": means.n_units[:, 0].tolist(),
        "steps": means.n_steps[:, 0].tolist(),
        "lags": average.lags.astype(int).tolist(),
        "course": rounded(average.mean[:, :, 0]),
        "spread": rounded(average.sem[:, :, 0]),
        "onsets": average.n_events.tolist(),
    }


def mean_figure(fit: DecodedFit, facts: dict[str, Any]) -> dict[str, Any]:
    """Mean ± standard error of the signal in each mode."""
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": label(facts["name"]),
        "x": fit.mode_names,
        "y": facts["mean"],
        "error_y": {
            "type": "data",
            "array": [value or 0 for value in facts["sem"]],
            "color": "@soft",
            "thickness": 2,
            "width": 6,
        },
        "marker": {"color": named_mode_colours(fit.mode_names), "size": 14, "line": {"width": 1, "color": "@paper"}},
        "customdata": [
            [counted(n, facts["over"]), counted(steps, "step")]
            for n, steps in zip(facts["units"], facts["steps"], strict=True)
        ],
        "hovertemplate": "%{x}: %{y:.4g}<br>%{customdata[0]}, %{customdata[1]}<extra></extra>",
    }
    layout = {
        "xaxis": {"type": "category", "showgrid": False, "range": [-0.6, fit.n_modes - 0.4]},
        "yaxis": {"title": {"text": f"mean {label(facts['name'])}"}},
        "showlegend": False,
    }
    return {"data": [trace], "layout": layout, "height": 300}


def onset_figure(fit: DecodedFit, facts: dict[str, Any]) -> dict[str, Any]:
    """Mean signal around the onset of each mode, with a band of ± one standard error."""
    traces: list[dict[str, Any]] = []
    for mode, (name, colour) in enumerate(zip(fit.mode_names, named_mode_colours(fit.mode_names), strict=True)):
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
