"""Posterior predictive checks: the data beside what fitted models simulate."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from swirl.analysis.significance import max_corrected, strays
from swirl.errors import Faults
from swirl.plots.checks import Marks, check_level, check_marks
from swirl.plots.style import INK, LINE_COLOURS, SOFT_INK, TICK_SIZE, new_axes, set_title, tidy

Samples = Sequence[np.ndarray]


def distribution_check(
    real: np.ndarray, simulated: Samples | Mapping[str, Samples], *,
    kind: Literal["cumulative", "histogram"] = "cumulative", bins: int | np.ndarray = 30, log: bool = False,
    level: float = 0.95, colours: Sequence[str] | None = None, xlabel: str | None = None, title: str | None = None,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw the distribution of a statistic in the data against bands of the same in many simulated data sets.

    Parameters
    ----------
    real
        The statistic's values in the data, such as dwell times or return intervals.
    simulated
        The same in each simulated data set, one array each; or model → such a list, to compare models.
    kind
        "cumulative": the share of values up to x; "histogram": the share in each bin.
    log
        Draw x on a log scale; values of zero are then left out of the picture, not of the shares.
    level
        Of the pointwise band over simulated data sets.

    Examples
    --------
    >>> import numpy as np
    >>> ax = distribution_check(np.array([1.0, 2.0]), [np.array([1.0, 3.0]), np.array([2.0, 2.0])])
    >>> ax.get_lines()[-1].get_label()
    'data'
    """
    real = np.asarray(real, dtype=float).ravel()
    given = simulated if isinstance(simulated, Mapping) else {"simulated": simulated}
    models = {name: [np.asarray(values, dtype=float).ravel() for values in sets] for name, sets in given.items()}
    _check_samples(real, models, level)
    shades = list(LINE_COLOURS if colours is None else colours)
    if len(shades) < len(models):
        raise ValueError(f"colours: got {len(shades)}, expected one for each of {len(models)} models")
    everything = np.concatenate([real, *(values for sets in models.values() for values in sets)])
    everything = everything[everything > 0] if log else everything
    if not everything.size:
        raise ValueError("real, simulated: got no value above 0, expected some for a log scale; pass log=False")
    edges = _edges(everything, kind, bins, log)
    summary = _cumulative if kind == "cumulative" else _histogram
    ax = new_axes(3.3, 2.3) if ax is None else ax
    tail = (1 - level) / 2
    for colour, (name, sets) in zip(shades, models.items(), strict=False):
        low, middle, high = np.quantile([summary(values, edges) for values in sets], [tail, 0.5, 1 - tail], axis=0)
        ax.fill_between(edges, low, high, step="post", color=colour, alpha=0.25, linewidth=0, label=f"{name} band")
        ax.step(edges, middle, where="post", color=colour, linewidth=0.9, linestyle="--", label=name)
    ax.step(edges, summary(real, edges), where="post", color=INK, linewidth=1.4, label="data", zorder=4)
    if log:
        ax.set_xscale("log")
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(0, 1.01 if kind == "cumulative" else None)
    tidy(ax, title=title, xlabel=xlabel, ylabel="share up to x" if kind == "cumulative" else "share")
    lines = [ax.get_lines()[-1], *ax.get_lines()[:-1]]
    place = "lower right" if kind == "cumulative" else "upper right"
    ax.legend(handles=lines, loc=place, frameon=False, fontsize=TICK_SIZE, handlelength=1.6)
    return ax


def occupancy_check(
    real: Float[np.ndarray, " state"], simulated: Float[np.ndarray, "dataset _"], *, level: float = 0.95,
    marks: Marks | None = None, colour: str = LINE_COLOURS[0], title: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw each state's share of the steps in the data against the same in simulated data sets, on log axes.

    Points are medians and bars intervals over data sets, of each state by itself: of many, some miss the data by
    chance.  A state is drawn in orange where it differs after correcting for all states (`significance.max_corrected`),
    and the number of these is written above.  A share of zero stands, open, at the axis.

    Parameters
    ----------
    real, simulated
        Visits or shares per state, of the data and of each simulated data set; each is divided by its sum.
    level
        Of the intervals; and 1 − level is the chance that any state is orange although the model is true. For 0.95, 19
        simulated data sets are the fewest that can tell.
    marks
        States to name, name → state.

    Examples
    --------
    >>> import numpy as np
    >>> ax = occupancy_check(np.array([3.0, 1.0]), np.array([[2.0, 2.0], [3.0, 1.0], [7.0, 1.0]]))
    >>> ax.texts[0].get_text()
    '3 data sets: too few to tell'
    """
    _check_occupancy(real, simulated, level, marks)
    share, shares = real / real.sum(), simulated / simulated.sum(axis=1, keepdims=True)
    low, middle, high = np.quantile(shares, [(1 - level) / 2, 0.5, (1 + level) / 2], axis=0)
    seen = (share > 0) | (high > 0)
    corrected = max_corrected(strays(np.concatenate([share[None], shares])))
    # Equal up to rounding is inside, and so is what is far from the mean but within the interval.
    outside = (corrected <= 1 - level + 1e-12) & ((share < low - 1e-12) | (share > high + 1e-12))
    few = (1 + len(shares)) * (1 - level) < 1 - 1e-9
    positive = np.concatenate([part[part > 0] for part in (share, middle, low)])
    floor = positive.min() / 1.6
    top = max(share.max(), high.max()) * 1.5
    ax = new_axes(2.9, 2.8) if ax is None else ax
    ax.plot([floor, top], [floor, top], color=SOFT_INK, linewidth=0.8, zorder=1, label="identity")
    for wrong, shade, label in ((False, colour, "inside"), (True, "#D55E00", "outside")):
        these = seen & (outside == wrong)
        x, y = np.maximum(share[these], floor), np.maximum(middle[these], floor)
        ax.vlines(x, np.maximum(low[these], floor), np.maximum(high[these], floor), shade, linewidths=0.8, alpha=0.6)
        zero = (share[these] == 0) | (middle[these] == 0)
        faces = ["white" if open_ else shade for open_ in zero]
        ax.scatter(x, y, s=11, c=faces, edgecolors=shade, linewidths=0.7, zorder=3, label=label, clip_on=False)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(floor, top)
    ax.set_ylim(floor, top)
    ax.set_aspect("equal")
    tidy(ax, xlabel="share of steps, data", ylabel="share of steps, simulated")
    ax.minorticks_off()
    told = f"{int(outside[seen].sum())} of {int(seen.sum())} states differ\n(p ≤ {1 - level:.2g}, corrected for all)"
    # Above the axes: points may lie anywhere within.
    set_title(ax, title, f"{len(shares)} data sets: too few to tell" if few else told)
    for name, state in (marks or {}).items():
        at = (max(share[state], floor), max(middle[state], floor))
        # Below the line of equality there is room to the right, above it to the left.
        right = at[0] >= at[1] and at[0] < top / 6
        side = 1 if right else -1
        text = ax.annotate(
            name, at, (5 * side, -5 * side), textcoords="offset points", ha="left" if right else "right",
            va="top" if right else "bottom", fontsize=TICK_SIZE, color=INK, zorder=5,
        )  # fmt: skip
        text.set_path_effects([withStroke(linewidth=1.8, foreground="white")])
    return ax


def _edges(values: np.ndarray, kind: str, bins: int | np.ndarray, log: bool) -> np.ndarray:
    """Return where the curves may step: every distinct value, or the edges of bins."""
    if kind == "histogram":
        if not isinstance(bins, int):
            return np.asarray(bins, dtype=float)
        low, high = float(values.min()), float(values.max())
        high = high if high > low else low + 1.0
        return np.geomspace(low, high, bins + 1) if log else np.linspace(low, high, bins + 1)
    distinct = np.unique(values)
    if len(distinct) > 2000:  # finer than any figure shows
        distinct = distinct[np.linspace(0, len(distinct) - 1, 2000).round().astype(int)]
    return distinct if len(distinct) > 1 else np.array([distinct[0], distinct[0] + 1.0])


def _cumulative(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.sort(values), edges, side="right") / len(values)


def _histogram(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    share = np.histogram(values, edges)[0] / len(values)
    return np.concatenate([share, share[-1:]])  # a step reaches to the last edge


def _check_samples(real: np.ndarray, models: Mapping[str, list[np.ndarray]], level: float) -> None:
    faults = Faults()
    if not real.size or not np.isfinite(real).all():
        faults.add("real: got no values, or some that are not finite; expected at least one number")
    if not models:
        faults.add("simulated: got no models")
    for name, sets in models.items():
        if not sets:
            faults.add(f"simulated[{name!r}]: got no data sets, expected at least one array")
        bad = [index for index, values in enumerate(sets) if not values.size or not np.isfinite(values).all()]
        if bad:
            faults.add(f"simulated[{name!r}]: data sets {bad[:5]} are empty or not finite; drop them")
    check_level(level, faults)
    faults.raise_if_any()


def _check_occupancy(real: np.ndarray, simulated: np.ndarray, level: float, marks: Marks | None) -> None:
    faults = Faults()
    if simulated.ndim != 2 or simulated.shape[1] != real.shape[0] or not len(simulated):
        faults.add(f"simulated: got shape {simulated.shape}, expected [data set, state] with {len(real)} states")
    for name, array in (("real", real), ("simulated", simulated)):
        if not np.isfinite(array).all() or (array < 0).any() or (array.sum(axis=-1) <= 0).any():
            faults.add(f"{name}: expected finite numbers of visits, not negative and not all zero")
    check_marks(marks, len(real), faults)
    check_level(level, faults)
    faults.raise_if_any()
