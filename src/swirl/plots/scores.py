"""Scores of models beside one another, objectives of restarts, and how far restarts agree."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.cbook import boxplot_stats
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from swirl.errors import Faults
from swirl.inference.mode_matching import adjusted_rand_index
from swirl.plots.heatmaps import agreement_matrix
from swirl.plots.style import INK, OKABE_ITO, SOFT_INK, TICK_SIZE, name_columns, new_axes, tidy
from swirl.text import counted

_BOX = 0.56  # width of a box; neighbours are 1 apart


def score_boxes(
    values: Mapping[str, Sequence[float] | np.ndarray], *, ax: Axes | None = None, reference: float | None = None,
    reference_label: str = "truth", label: str | None = None, title: str | None = None,
) -> Axes:  # fmt: skip
    """Draw a box per model (quartiles, whiskers to 1.5 interquartile ranges) with every value as a point.

    Parameters
    ----------
    values
        Model → its scores, one per run or session.
    reference
        A score to hold the models against, such as the truth's own: a dashed line.

    Examples
    --------
    >>> ax = score_boxes({"MaxEnt": [-1.6, -1.5], "S-2": [-1.46, -1.47]}, reference=-1.463)
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['MaxEnt', 'S-2']
    """
    scores = {name: np.asarray(value, dtype=float) for name, value in values.items()}
    _check_boxes(scores)
    ax = new_axes(0.9 + 0.5 * len(scores) + (0.5 if reference is not None else 0), 2.3) if ax is None else ax
    places = np.arange(len(scores))
    for place, score in zip(places, scores.values(), strict=True):
        _draw_box(ax, float(place), score)
        ax.scatter(place + _spread(score), score, s=9, c=INK, alpha=0.55, linewidths=0, zorder=3)
    tidy(ax, title=title, ylabel=label)
    name_columns(ax, list(scores))
    if reference is not None:
        ax.axhline(reference, color="#D55E00", linestyle=(0, (4, 2.5)), linewidth=1.1, zorder=1)
        ax.annotate(
            reference_label, (1.0, reference), (3, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
            ha="left", va="center", fontsize=TICK_SIZE, color="#B84F00", annotation_clip=False,
        )  # fmt: skip
    return ax


def objective_traces(
    traces: Sequence[Sequence[float] | np.ndarray], *, ax: Axes | None = None, gap: bool = False,
    title: str | None = None, label: str | None = None,
) -> Axes:  # fmt: skip
    """Draw the objective of every restart over EM iterations, the best one in colour.

    Parameters
    ----------
    gap
        Draw, on a log scale, how far each trace is below the best value reached by any: the late iterations,
        invisible on the plain scale, become readable.

    Examples
    --------
    >>> ax = objective_traces([[-3.0, -2.0, -1.5], [-3.0, -1.6, -1.2]])
    >>> [line.get_label() for line in ax.get_lines()]
    ['restart 0', 'restart 1 (best)']
    """
    curves = [np.asarray(trace, dtype=float) for trace in traces]
    empty = [index for index, curve in enumerate(curves) if not np.isfinite(curve).any()]
    if not curves or empty:
        raise ValueError(f"traces: got no finite value in {'any' if not curves else f'traces {empty}'}")
    best = int(np.argmax([curve[np.isfinite(curve)][-1] for curve in curves]))
    peak = max(float(np.nanmax(curve)) for curve in curves)
    ax = new_axes(3.4, 2.4) if ax is None else ax
    for index, curve in enumerate(curves):
        chosen = index == best
        shown = peak - curve if gap else curve
        ax.plot(
            np.arange(len(curve)),
            np.where(shown > 0, shown, np.nan) if gap else shown,  # the peak itself has no place on a log scale
            color=OKABE_ITO[0] if chosen else SOFT_INK,
            alpha=1.0 if chosen else 0.45,
            linewidth=1.6 if chosen else 0.8,
            zorder=3 if chosen else 2,
            label=f"restart {index}{' (best)' if chosen else ''}",
        )
    if gap:
        ax.set_yscale("log")
    ax.margins(x=0.01)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    name = "objective (nats)" if not gap else "objective below the best (nats)"
    tidy(ax, title=title, xlabel="EM iteration", ylabel=name if label is None else label)
    place = "upper right" if gap else "lower right"
    ax.legend(handles=[ax.get_lines()[best]], loc=place, frameon=False, fontsize=TICK_SIZE)
    return ax


def restart_agreement(
    model: Any, data: Any, *, n_best: int = 5, title: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how far the best restarts of a fit cut the sessions alike: adjusted Rand index between their modes.

    In brackets how far each restart's objective is behind the best, in nats: restarts that fit as well but
    disagree mean that the data do not decide.

    Parameters
    ----------
    model
        Fitted, with at least two restarts whose objective is finite.
    n_best
        How many restarts are compared.
    """
    return restart_matrix(*restart_agreements(model, data, n_best=n_best), title=title, ax=ax)


def restart_matrix(
    values: Float[np.ndarray, "restart restart"], restarts: Sequence[int], behind: Float[np.ndarray, " restart"], *,
    title: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw the agreement of restarts that `restart_agreements` gives, the best first.

    >>> import numpy as np
    >>> ax = restart_matrix(np.array([[1.0, 0.8], [0.8, 1.0]]), [3, 0], np.array([0.0, 2.1]))
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['3 (best)', '0 (2.1)']
    """
    gaps = ["best", *(f"{max(gap, 0.0):.1f}" for gap in behind[1:])]
    names = [f"{restart} ({gap})" for restart, gap in zip(restarts, gaps, strict=True)]
    ax = new_axes(2.2 + 0.55 * len(names), 1.0 + 0.45 * len(names)) if ax is None else ax
    agreement_matrix(values, names, title=title, xlabel="restart", ylabel="restart (nats behind)", ax=ax)
    ax.set_xticks(range(len(names)), [str(restart) for restart in restarts], rotation=0)
    return ax


def restart_agreements(
    model: Any, data: Any, *, n_best: int = 5
) -> tuple[Float[np.ndarray, "restart restart"], list[int], Float[np.ndarray, "restart"]]:
    """Adjusted Rand index between the best restarts, their numbers, and how far each is behind the best in nats."""
    restarts = model.restarts_
    objectives = np.array([float(restart.objective) for restart in restarts])
    best_first = np.argsort(-np.nan_to_num(objectives, nan=-np.inf), kind="stable")
    order = [int(i) for i in best_first if np.isfinite(objectives[i])]
    if len(order) < 2 or n_best < 2:
        raise ValueError(
            f"model: it has {counted(len(order), 'restart')} to compare, expected two or more; fit it with n_restarts=8"
        )
    order = order[:n_best]
    paths = [model.use_restart(i).predict(data) for i in order]
    values = np.array([[adjusted_rand_index(a, b) for b in paths] for a in paths])
    return values, order, objectives[order[0]] - objectives[order]


def _draw_box(ax: Axes, place: float, score: np.ndarray) -> None:
    """Draw one box.  Not `ax.boxplot`: it reads every rcParam, and reading the backend's imports pyplot."""
    (stats,) = boxplot_stats(score, whis=1.5)
    line = {"colors": OKABE_ITO[0], "linewidths": 0.9}
    box = Rectangle((place - _BOX / 2, stats["q1"]), _BOX, stats["q3"] - stats["q1"], linewidth=0.9)
    box.set(facecolor="#DCE9F2", edgecolor=OKABE_ITO[0])
    ax.add_patch(box)
    ax.vlines([place] * 2, [stats["whislo"], stats["q3"]], [stats["q1"], stats["whishi"]], label="whiskers", **line)
    ax.hlines([stats["whislo"], stats["whishi"]], place - _BOX / 4, place + _BOX / 4, label="caps", **line)
    ax.hlines(stats["med"], place - _BOX / 2, place + _BOX / 2, OKABE_ITO[0], linewidths=1.6, label="median")


def _spread(score: np.ndarray) -> np.ndarray:
    """Return sideways offsets that keep points apart, fixed by rank: a figure is the same every time."""
    pattern = np.array([0.0, 0.11, -0.11, 0.055, -0.055])
    offset = np.empty(len(score))
    offset[np.argsort(score, kind="stable")] = pattern[np.arange(len(score)) % len(pattern)]
    return offset


def _check_boxes(scores: Mapping[str, np.ndarray]) -> None:
    faults = Faults()
    for name, score in scores.items():
        bad = np.flatnonzero(~np.isfinite(score))
        if score.ndim != 1 or score.size == 0:
            faults.add(f"values[{name!r}]: got shape {score.shape}, expected a list of at least one number")
        elif bad.size:
            faults.add(f"values[{name!r}]: number {bad[0]} is {score[bad[0]]} ({bad.size} such); drop failed runs")
    if not scores:
        faults.add("values: got no models, expected at least one name → numbers")
    faults.raise_if_any()
