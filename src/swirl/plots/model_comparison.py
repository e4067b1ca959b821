"""Models side by side on held-out sessions.

Scores by the number of modes and the history (LL by K and L), as means and bands (the paper's Figure 4B).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from swirl.analysis.comparison_result import Comparison
from swirl.errors import Faults
from swirl.plots.labels import label_ends
from swirl.plots.style import INK, LINE_COLOURS, SOFT_INK, new_axes, tidy

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
LINES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (5, 1.3, 1.2, 1.3)), "-", (0, (5, 1.6)), (0, (1.2, 1.2)), "-")
REFERENCE_LINES = ((0, (4, 2.5)), (0, (1, 1.6)), (0, (6, 2, 1, 2)))


def score_bands(
    scores: Mapping[str, np.ndarray], x: Sequence[float | int] | range | np.ndarray, *, xlabel: str | None = None,
    label: str | None = "test log-likelihood (nats/step)", references: Mapping[str, float | int] | None = None,
    colours: Mapping[str, str] | None = None, ylim: tuple[float | int, float | int] | None = None,
    title: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw each model's mean score over runs against `x`, with a band of ±1 standard deviation.

    A model that has no score at the largest `x` (MaxEnt, which has one mode) is carried on as a faint dotted line.

    Parameters
    ----------
    scores
        Model → `[x, run]`; NaN, a run that was not made or failed, does not count.
    x
        One number per row of each array, such as the numbers of modes.
    references
        Name → score to draw as a grey line across, such as `{"order-5 counts": -0.640}`.
    colours
        Model → colour, where a model is to keep the colour of another figure.

    Examples
    --------
    >>> import numpy as np
    >>> ax = score_bands({"S-2": np.array([[-0.8, -0.6], [-0.5, -0.5]])}, [2, 3], xlabel="modes")
    >>> ax.get_lines()[0].get_ydata().round(3).tolist()
    [-0.7, -0.5]
    """
    places = np.asarray(x, dtype=float)
    tables = {name: np.asarray(table, dtype=float) for name, table in scores.items()}
    _check(tables, places)
    ax = new_axes(4.2, 2.8) if ax is None else ax
    labels, markers = [], []
    for index, (name, table) in enumerate(tables.items()):
        colour = (colours or {}).get(name, LINE_COLOURS[index % len(LINE_COLOURS)])
        marker, line = MARKERS[index % len(MARKERS)], LINES[index % len(LINES)]
        mean, deviation = mean_and_deviation(table)
        here = np.isfinite(mean)
        band = np.nan_to_num(deviation[here])
        low, high = mean[here] - band, mean[here] + band
        ax.fill_between(places[here], low, high, color=colour, alpha=0.16, linewidth=0, label=f"{name} band")
        ax.plot(
            places[here], mean[here], color=colour, marker=marker, markersize=3.8, linestyle=line, linewidth=1.3,
            label=name, zorder=3,
        )  # fmt: skip
        last = int(np.flatnonzero(here)[-1])
        if places[last] < places.max():
            ax.plot(
                [places[last], places.max()], [mean[last]] * 2, color=colour, linestyle=":", linewidth=0.8, alpha=0.7
            )
        labels.append((name, mean[last], colour))
        markers.append(marker)
    for index, (name, score) in enumerate((references or {}).items()):
        line = REFERENCE_LINES[index % len(REFERENCE_LINES)]
        ax.axhline(score, color=SOFT_INK, linestyle=line, linewidth=0.9, zorder=1, label=name)
        labels.append((name, score, SOFT_INK))
        markers.append("None")
    ax.margins(x=0.03, y=0.06)
    if ylim is not None:
        ax.set_ylim(*ylim)
    ax.autoscale_view()
    whole = bool((places == np.round(places)).all())
    if len(places) <= 10:
        ax.set_xticks(places, [f"{place:g}" for place in places])
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=whole))
    tidy(ax, title=title, xlabel=xlabel, ylabel=label)
    low, high = ax.get_ylim()
    label_ends(ax, [(name, float(np.clip(end, low, high)), colour) for name, end, colour in labels], markers)
    return ax


def mean_and_deviation(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation (n − 1) over runs; NaN where there are none, or fewer than two.

    >>> import numpy as np
    >>> mean_and_deviation(np.array([[1.0, 3.0, np.nan], [2.0, np.nan, np.nan]]))
    (array([2., 2.]), array([1.41421356,        nan]))
    """
    here = np.isfinite(table)
    n = here.sum(axis=1)
    nothing = np.full(len(table), np.nan)
    mean = np.divide(np.where(here, table, 0).sum(axis=1), n, out=nothing.copy(), where=n > 0)
    apart = np.where(here, table - mean[:, None], 0) ** 2
    return mean, np.sqrt(np.divide(apart.sum(axis=1), n - 1.0, out=nothing, where=n > 1))


def _check(tables: Mapping[str, np.ndarray], places: np.ndarray) -> None:
    faults = Faults()
    if not tables:
        faults.add("scores: got no models, expected at least one name → [x, run]")
    if places.ndim != 1 or not (np.diff(places) > 0).all():
        faults.add(f"x: got {places.tolist()}, expected increasing numbers")
    for name, table in tables.items():
        if table.ndim != 2 or len(table) != len(places):
            faults.add(f"scores[{name!r}]: got shape {table.shape}, expected [x, run] with {len(places)} rows")
        elif not np.isfinite(table).any():
            faults.add(f"scores[{name!r}]: got no finite number; drop the model")
    faults.raise_if_any()


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
            row["behind_best"], place, xerr=None if np.isnan(half) or row["model"] == comparison.best else half,
            fmt="o", color=INK, markerfacecolor=INK if row["modes"] > 1 else "white", markersize=5, elinewidth=1.2,
            capsize=2,
        )  # fmt: skip
    ax.set_yticks(range(len(rows)))
    ax.set_yticklabels([f"{row['label']}, K = {row['modes']}" if row["modes"] > 1 else row["label"] for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    what = comparison.of.replace("_", " ")
    return tidy(ax, title=title, xlabel=f"held-out score of the {what}, to the best (nats/step)")


def scores_by_modes(comparison: Comparison, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw each model's score on the training folds against its number of modes.

    Error bars: ±1 standard error over folds, less what makes a fold hard for every model (`mode_curves`).

    >>> from swirl.analysis.grid_search import Choice
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
    labels, markers = [], []
    for index, (name, curve) in enumerate(curves.items()):
        colour, marker = LINE_COLOURS[index % len(LINE_COLOURS)], MARKERS[index % len(MARKERS)]
        ax.errorbar(
            curve["modes"], curve["mean"], yerr=curve["error"], color=colour, marker=marker, markersize=4.5,
            linestyle=LINES[index % len(LINES)], linewidth=1.4, elinewidth=1, capsize=2,
        )  # fmt: skip
        labels.append((comparison.label(name), float(curve["mean"][-1]), colour))
        markers.append(marker)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    tidy(ax, title=title, xlabel="modes", ylabel="log-likelihood on training folds (nats/step)")
    label_ends(ax, labels, markers)
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
