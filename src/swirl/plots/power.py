"""How much data is enough: how often simulated data sets of each size give back the truth (`analysis.power`)."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from swirl.analysis.power import Power
from swirl.plots.labels import label_ends
from swirl.plots.model_comparison import MARKERS
from swirl.plots.style import INK, LINE_COLOURS, SOFT_INK, TICK_SIZE, sheet, tidy
from swirl.text import counted

WIDTH, HEIGHT = 3.1, 4.2  # inches of a column
NUDGE = 0.035  # sideways, between questions, in shares of the axis


def power_curves(found: Power) -> Figure:
    """Draw the share of data sets that give back what was asked for, and below what was decoded, by sessions.

    One column for each number of animals and steps. Above: shares with 95 % intervals, the wanted share dashed, the
    smallest size that suffices marked. Below: steps in the right mode, median and middle 80 % of the fits, between what
    the true model decodes and what naming the commonest mode everywhere gives.

    Examples
    --------
    >>> from swirl.analysis.power import Design
    >>> values = {"right": np.array([[0.6, 0.7], [0.9, 0.9]]), "ceiling": np.full((2, 2), 0.9)}
    >>> found = Power((Design(1, 4, 100), Design(1, 8, 100)), {**values, "base": np.full((2, 2), 0.5)}, ("modes",))
    >>> len(power_curves(found).axes)
    2
    """
    groups = sorted({(design.n_animals, design.n_steps) for design in found.designs})
    figure = sheet(1.1 + WIDTH * len(groups), HEIGHT)
    axes = figure.subplots(2, len(groups), sharex="col", sharey="row", squeeze=False, height_ratios=[1.25, 1.0])
    for column, (n_animals, n_steps) in enumerate(groups):
        rows = [i for i, d in enumerate(found.designs) if (d.n_animals, d.n_steps) == (n_animals, n_steps)]
        rows.sort(key=lambda i: found.designs[i].n_sessions)
        animals = "" if n_animals == 1 else f"{counted(n_animals, 'animal')}, "
        last = column == len(groups) - 1
        upper, lower = axes[0, column], axes[1, column]
        tidy(
            upper,
            title=f"{animals}sessions of {n_steps:,} steps",
            ylabel="data sets that\ngive it back" if not column else None,
        )
        _shares(upper, found, rows, names=last)
        each = "sessions" if n_animals == 1 else "sessions of each animal"
        tidy(lower, xlabel=each, ylabel="steps in the\nright mode" if not column else None)
        _decoded(lower, found, rows, names=last)
    figure.align_ylabels(axes[:, 0])
    return figure


def _places(ax: Axes, found: Power, rows: list[int]) -> np.ndarray:
    """Where designs stand: evenly, as sessions are mostly doubled."""
    places = np.arange(len(rows), dtype=float)
    ax.set_xticks(places, [f"{found.designs[i].n_sessions:,}" for i in rows])
    ax.set_xlim(-0.45, len(rows) - 0.55)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    return places


def _shares(ax: Axes, found: Power, rows: list[int], *, names: bool) -> None:
    places = _places(ax, found, rows)
    ax.set_ylim(-0.03, 1.04)
    ax.axhline(found.power, color=SOFT_INK, linestyle=(0, (4, 2.5)), linewidth=0.9, zorder=1)
    asked: list[str | None] = [*found.questions, *([None] if len(found.questions) > 1 else [])]
    best, ends = found.smallest(), []
    for index, question in enumerate(asked):
        colour = INK if question is None else LINE_COLOURS[index % len(LINE_COLOURS)]
        shares = found.counts(question)[rows] / found.n_simulations
        low, high = found.intervals(question)[rows].T
        at = places + NUDGE * len(rows) * (index - (len(asked) - 1) / 2) * 0.8
        ax.errorbar(
            at, shares, yerr=[shares - low, high - shares], color=colour, marker=MARKERS[index % len(MARKERS)],
            markersize=4.2 if question is None else 3.6, linewidth=1.7 if question is None else 1.1,
            elinewidth=0.9, capsize=0, alpha=1.0 if question is None else 0.85, zorder=4 if question is None else 3,
        )  # fmt: skip
        ends.append((question or "all of it", float(shares[-1]), colour))
        if index == len(asked) - 1 and best is not None and best in [found.designs[i] for i in rows]:
            k = [found.designs[i] for i in rows].index(best)
            ax.plot(
                at[k], shares[k], marker="o", markersize=10, markerfacecolor="none", markeredgecolor=colour, zorder=5
            )
            side = "left" if k == 0 else "right" if k == len(rows) - 1 else "center"
            ax.annotate("smallest that suffices", (at[k], 0.0), ha=side, va="bottom", fontsize=TICK_SIZE, color=colour)
            ax.plot([at[k]] * 2, [0.085, max(shares[k] - 0.06, 0.085)], color=colour, linewidth=0.6, linestyle=":")
    if names:
        label_ends(ax, [*ends, ("wanted", float(found.power), SOFT_INK)], [*MARKERS[: len(asked)], "None"])


def _decoded(ax: Axes, found: Power, rows: list[int], *, names: bool) -> None:
    places = _places(ax, found, rows)
    right = found.measures["right"][rows]
    low, middle, high = np.quantile(right, [0.1, 0.5, 0.9], axis=1)
    colour = LINE_COLOURS[0]
    ax.fill_between(places, low, high, color=colour, alpha=0.16, linewidth=0)
    ax.plot(places, middle, color=colour, marker="o", markersize=3.6, linewidth=1.3, zorder=3)
    ends = [("fits", float(middle[-1]), colour)]
    for name, words, line in (("ceiling", "true model", (0, (4, 2.5))), ("base", "commonest mode", (0, (1, 1.6)))):
        mean = found.measures[name][rows].mean(axis=1)
        ax.plot(places, mean, color=SOFT_INK, linestyle=line, linewidth=1.0, zorder=2)
        ends.append((words, float(mean[-1]), SOFT_INK))
    ax.margins(y=0.12)
    ax.autoscale_view()
    if names:
        label_ends(ax, ends, ["o", "None", "None"])
