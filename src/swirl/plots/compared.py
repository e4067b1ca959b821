"""Models side by side on held-out sessions, and how their scores depend on the number of modes (LL by K and L)."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from swirl.comparison import Comparison
from swirl.plots.bands import LINES, MARKERS
from swirl.plots.labels import label_ends
from swirl.plots.style import INK, LINE_COLOURS, SOFT_INK, new_axes, tidy


def score_differences(comparison: Comparison, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw how far each model is behind the best, with 95 % intervals paired by session or subject; hollow: no modes.

    >>> scores = np.array([[-3.0, -5.0], [-4.0, -5.5]])
    >>> made = Comparison("action", 10, ("S-1", "Markov"), {}, scores, np.array([5, 5]), (None, None), np.ones(2), {},
    ...     modes={"S-1": 2, "Markov": 1})
    >>> [label.get_text() for label in score_differences(made).get_yticklabels()]
    ['S-1, K = 2', 'Markov']
    """
    rows = comparison.table()
    ax = new_axes(4.2, 0.7 + 0.27 * len(rows)) if ax is None else ax
    ax.axvline(0, color=SOFT_INK, linewidth=0.8, zorder=0)
    for place, row in enumerate(rows):
        half = row["half_width"]
        ax.errorbar(
            row["behind_best"],
            place,
            xerr=None if np.isnan(half) or row["model"] == comparison.best else half,
            fmt="o",
            color=INK,
            markerfacecolor=INK if row["modes"] > 1 else "white",
            markersize=5,
            elinewidth=1.2,
            capsize=2,
        )
    ax.set_yticks(range(len(rows)))
    ax.set_yticklabels([f"{row['label']}, K = {row['modes']}" if row["modes"] > 1 else row["label"] for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    what = comparison.of.replace("_", " ")
    return tidy(ax, title=title, xlabel=f"held-out score of the {what}, to the best (nats/step)")


def scores_by_modes(comparison: Comparison, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw each model's score on the training folds against its number of modes.

    Error bars: ±1 standard error over folds, less what makes a fold hard for every model (`mode_curves`).

    >>> from swirl.selection import Choice
    >>> tried = Choice([{"n_modes": 2}, {"n_modes": 3}], np.array([[-1.0, -1.2], [-1.1, -1.3]]))
    >>> made = Comparison("action", 5, ("S-1",), {}, np.array([[-3.0]]), np.array([5]), (None,), np.ones(1), {},
    ...     choices={"S-1": tried}, modes={"S-1": 2})
    >>> scores_by_modes(made).get_lines()[0].get_ydata().round(2).tolist()
    [-1.1, -1.2]
    """
    curves = mode_curves(comparison)
    if not curves:
        raise ValueError("comparison: no model's number of modes was chosen in it; compare with several, as in 1,2,3")
    ax = new_axes(4.2, 2.8) if ax is None else ax
    names, ends, shades, markers = [], [], [], []
    for index, (name, curve) in enumerate(curves.items()):
        colour, marker = LINE_COLOURS[index % len(LINE_COLOURS)], MARKERS[index % len(MARKERS)]
        ax.errorbar(
            curve["modes"], curve["mean"], yerr=curve["error"], color=colour, marker=marker, markersize=4.5,
            linestyle=LINES[index % len(LINES)], linewidth=1.4, elinewidth=1, capsize=2,
        )  # fmt: skip
        names.append(comparison.label(name))
        ends.append(curve["mean"][-1])
        shades.append(colour)
        markers.append(marker)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    tidy(ax, title=title, xlabel="modes", ylabel="log-likelihood on training folds (nats/step)")
    label_ends(ax, names, np.array(ends), shades, markers)
    return ax


def mode_curves(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """For each model whose number of modes was chosen: the numbers tried, the mean over folds, its standard error.

    The error is that of the difference to the mean of all curves: some folds are harder for every model, which says
    nothing about which is better.
    """
    tried = {
        name: choice
        for name, choice in comparison.choices.items()
        if len(choice.candidates) > 1 and all(set(settings) == {"n_modes"} for settings in choice.candidates)
    }
    if not tried:
        return {}
    hardness = np.mean(np.concatenate([choice.scores for choice in tried.values()]), axis=0)
    curves = {}
    for name, choice in tried.items():
        modes = np.array([settings["n_modes"] for settings in choice.candidates])
        order = np.argsort(modes)
        beyond = choice.scores - hardness
        error = beyond.std(axis=1, ddof=1) / np.sqrt(len(hardness))
        curves[name] = {"modes": modes[order], "mean": choice.means[order], "error": error[order]}
    return curves
