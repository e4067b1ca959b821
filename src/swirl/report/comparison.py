"""Model comparison: held-out scores as distances to the best, and how they depend on the number of modes."""

from itertools import cycle
from typing import Any

import numpy as np

from swirl.analysis.comparison import with_reward
from swirl.analysis.comparison_result import Comparison
from swirl.analysis.decoded import DecodedFit
from swirl.analysis.panel import SCORE
from swirl.plots.model_comparison import mode_curves
from swirl.plots.style import LINE_COLOURS
from swirl.report.figures import LEGEND, axis, figure, label, lines, points
from swirl.report.section import ReportedFit, Section
from swirl.text import cell, counted, listed, minus, number, rounded


def comparison_section(fit: ReportedFit) -> Section | None:
    """The scores as a table and as a figure; None where nothing was compared."""
    comparison = fit.comparison
    if comparison is None:
        return None
    rows = [
        {
            "model": row["label"],
            "modes": row["modes"],
            "score": cell(row["score"], 4),
            "ours": row["model"] == relation(fit).get("row"),
            "behind": "best" if row["model"] == comparison.best else _behind(row),
            "seconds": number(row["seconds"], 2),
            "chosen": ", ".join(f"{key} = {value}" for key, value in row["chosen"].items()),
        }
        for row in comparison.table()
    ]
    tested = counted(len(comparison.steps), "test session")
    figures = {"comparison": comparison_figure(comparison)}
    if (by_modes := mode_choice_figure(comparison)) is not None:
        figures["mode_choice"] = by_modes
    values = {
        "rows": rows,
        "any_chosen": any(row["chosen"] for row in rows),
        "verdict": comparison.verdict(),
        "relation": relation(fit),
        "of": comparison.of.replace("_", " "),
        "words": " ".join([f"{counted(comparison.n_scored, 'step')} of {tested} scored, once.", *comparison.remarks()]),
        "by_modes": by_modes is not None,
        **panel_values(comparison),
    }
    return Section("comparison", "Model comparison", values, figures)


def relation(fit: DecodedFit) -> dict[str, Any]:
    """Whether a compared model is that of this page (same kind, number of modes and reward), in words."""
    comparison, ours = fit.comparison, fit.model
    if comparison is None:
        return {"same": True, "words": ""}
    what = f"{ours.label} with {counted(fit.n_modes, 'mode')}"
    alike = [name for name in comparison.names if _same_kind(comparison, name, ours)]
    same = [name for name in alike if comparison.n_modes(name) == fit.n_modes]
    if same:
        called = comparison.label(same[0])
        row = "" if called == ours.label else f", called {called} here"
        words = (
            f"This page is about {what}{row}; it was fitted again for the comparison, on the training sessions alone."
        )
        return {"same": True, "words": words, "row": same[0]}
    found = [f"{comparison.label(name)} with {counted(comparison.n_modes(name), 'mode')}" for name in alike]
    has = f"the comparison has {listed(found)}" if found else "that model is not in the comparison"
    words = f"Beware: this page is about {what}, but {has}. The scores below are not those of this fit."
    return {"same": False, "words": words, "row": None}


def _same_kind(comparison: Comparison, name: str, ours: Any) -> bool:
    """Whether a compared model is of the same kind as ours, its number of modes aside."""
    if name in comparison.models:
        theirs = comparison.models[name]
        return theirs.label == ours.label and _reward(theirs) == _reward(ours)
    # A file has names and labels only; a label says the reward where it is not the usual one.
    return name == ours.label and comparison.label(name) == with_reward(name, ours)


def _reward(model: Any) -> str | None:
    reward = model.get_params().get("reward")
    return None if reward is None else reward if isinstance(reward, str) else repr(reward)


def panel_values(comparison: Comparison) -> dict[str, Any]:
    """The tables of what else was asked of the models, and how to read them; none where nothing was."""
    panel = comparison.panel
    tables = [] if panel is None else panel.tables(comparison.labels, leave_out=[SCORE])
    if panel is None or not tables:
        return {"panel": []}
    shown = [{"header": header, "rows": [[minus(text) for text in row] for row in rows]} for header, rows in tables]
    return {"panel": shown, "panel_title": panel.heading, "panel_notes": " ".join(panel.notes(leave_out=[SCORE]))}


def _behind(row: dict[str, Any]) -> str:
    half = "" if np.isnan(row["half_width"]) else f" ± {row['half_width']:.4f}"
    return minus(f"{row['behind_best']:+.4f}{half}")


def comparison_figure(comparison: Comparison) -> dict[str, Any]:
    """Distance of each model to the best, with 95 % intervals; models without modes are hollow."""
    rows = comparison.table()[::-1]  # plotly draws from below
    half = [row["half_width"] if row["half_width"] == row["half_width"] else 0.0 for row in rows]
    kinds = ["circle" if row["modes"] > 1 else "circle-open" for row in rows]
    scores = points(
        "score to the best",
        rounded([row["behind_best"] for row in rows], 5),
        [label(row["label"]) for row in rows],
        error_x={"type": "data", "array": rounded(half, 3), "color": "@soft", "thickness": 1.5, "width": 4},
        marker={"size": 10, "color": "@ink", "symbol": kinds, "line": {"width": 1.5, "color": "@ink"}},
        customdata=[[round(row["score"], 5), row["modes"]] for row in rows],
        hovertemplate="%{y}: %{customdata[0]} nats per step<br>modes: %{customdata[1]}<extra></extra>",
    )
    x = axis("nats per step, to the best", zeroline=True)
    return figure([scores], 110 + 30 * len(rows), x, {"type": "category", "showgrid": False}, showlegend=False)


def mode_choice_figure(comparison: Comparison) -> dict[str, Any] | None:
    """Score on training folds by number of modes; None where no model had several to choose from."""
    curves = mode_curves(comparison)
    if not curves:
        return None
    traces = []
    for (model, curve), colour in zip(curves.items(), cycle(LINE_COLOURS), strict=False):
        name = label(comparison.label(model))
        look = {
            "mode": "lines+markers",
            "error_y": {"type": "data", "array": rounded(curve["error"], 3), "thickness": 1.2, "width": 3},
            "line": {"color": "@ink" if colour == "#000000" else colour, "width": 2},
            "marker": {"size": 7},
            "hovertemplate": f"%{{x}} modes: %{{y}} nats per step<extra>{name}</extra>",
        }
        traces.append(lines(name, curve["modes"].tolist(), rounded(curve["mean"], 5)) | look)
    legend = LEGEND | {"traceorder": "normal"}
    return figure(traces, 320, axis("modes", dtick=1), axis("nats per step, training folds"), legend=legend)
