"""Our figures beside the published ones and the simple rival's, as dots on one axis."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from swirl.errors import Faults
from swirl.plots.style import INK, LABEL_SIZE, OKABE_ITO, SOFT_INK, TICK_SIZE, new_axes, tidy
from swirl.text import cell

_SERIES = {"ours": ("o", OKABE_ITO[0]), "published": ("D", "#D55E00"), "rival": ("s", SOFT_INK)}


def reference_bars(
    ours: Float[np.ndarray, " row"],
    published: Float[np.ndarray, " _"],
    names: Sequence[str],
    *,
    rival: Float[np.ndarray, " _"] | None = None,
    spread: Float[np.ndarray, " _"] | None = None,
    labels: tuple[str, str, str] = ("ours", "published", "rival"),
    limits: tuple[float | int, float | int] | None = None,
    decimals: int = 3,
    xlabel: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a group of dots per name: our figure, the published one and the rival's, each with its number beside it.

    Parameters
    ----------
    ours, published, rival
        One number per name; NaN where there is none.
    spread
        Half-lengths of error bars on ours, such as the standard deviation over seeds.
    labels
        What the three are called in the figure.
    limits
        Ends of the axis; a number beyond them is a triangle at the end (a failed fit would squeeze all others).

    Examples
    --------
    >>> import numpy as np
    >>> ax = reference_bars(np.array([-0.69]), np.array([-0.72]), ["S-2"], rival=np.array([-0.68]))
    >>> [text.get_text() for text in ax.texts]
    ['ours −0.690', 'published −0.720', 'rival −0.680']
    """
    n = len(names)
    values = {"ours": ours, "published": published} | ({} if rival is None else {"rival": rival})
    _check(values, spread, n)
    every = np.concatenate([*values.values(), *([ours - spread, ours + spread] if spread is not None else [])])
    finite = every[np.isfinite(every)]
    low, high = limits if limits is not None else (float(finite.min()), float(finite.max()))
    if not high >= low:
        raise ValueError(f"limits: got {limits}, expected (low, high) with low below high")
    ax = new_axes(4.4, 0.75 + 0.17 * n * (len(values) + 0.9)) if ax is None else ax
    room = (high - low) or 1.0
    ax.set_xlim(low - 0.06 * room, high + 0.06 * room)
    step = 1 / (len(values) + 0.9)
    for lane, ((series, row), called) in enumerate(zip(values.items(), labels, strict=False)):
        marker, colour = _SERIES[series]
        for place in range(n):
            if not np.isfinite(row[place]):
                continue
            y = place + (lane - (len(values) - 1) / 2) * step
            x, shape = float(np.clip(row[place], low, high)), marker
            if x != row[place]:
                shape = "<" if row[place] < low else ">"
            if series == "ours" and spread is not None and np.isfinite(spread[place]) and shape == marker:
                ax.plot([x - spread[place], x + spread[place]], [y, y], color=colour, linewidth=1.0, label="_spread")
            ax.plot([x], [y], marker=shape, color=colour, markersize=5, linestyle="none", label=called, zorder=3)
            # The number stands on the side where there is room.
            side = 1 if x < low + 0.55 * room else -1
            arm = 0.0 if spread is None or series != "ours" else float(np.nan_to_num(spread[place]))
            ax.annotate(
                f"{called} {cell(float(row[place]), decimals)}",
                (x + side * arm, y),
                (6 * side, 0),
                textcoords="offset points",
                ha="left" if side > 0 else "right",
                va="center",
                fontsize=TICK_SIZE,
                color=colour if series != "rival" else INK,
            )
    for place in range(n - 1):
        ax.axhline(place + 0.5, color="#E3E6E6", linewidth=0.7, zorder=0)
    ax.set_ylim(n - 0.45, -0.55)
    ax.set_yticks(range(n), names)
    tidy(ax, title=title, xlabel=xlabel)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, labelsize=LABEL_SIZE)
    return ax


def _check(values: dict[str, np.ndarray], spread: np.ndarray | None, n: int) -> None:
    faults = Faults()
    rows = values | ({} if spread is None else {"spread": spread})
    for argument, row in rows.items():
        if row.shape != (n,):
            faults.add(f"{argument}: got shape {row.shape}, expected one number for each of {n} names")
    if not n or not any(np.isfinite(row).any() for row in values.values()):
        faults.add("ours, published: got no finite number, expected at least one")
    faults.raise_if_any()
