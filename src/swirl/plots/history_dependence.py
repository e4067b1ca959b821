"""How what is wanted at one place depends on where the animal was before (the paper's Figure 3C)."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from swirl.errors import Faults
from swirl.plots.style import INK, SMALLEST, SOFT_INK, mode_legend, modes_shown, name_columns, new_axes, tidy


def history_dependence(
    values: Float[np.ndarray, "mode previous"], previous_names: Sequence[str], *,
    spread: Float[np.ndarray, "_ _"] | None = None, mode_names: Sequence[str] | None = None,
    colours: Sequence[str] | None = None, label: str = "reward", xlabel: str | None = "previous place",
    title: str | None = None, note: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw, for one place, a bar per mode for each previous place: the reward of coming from there, or a probability.

    Parameters
    ----------
    values
        `[mode, previous place]`; NaN, no such history or no data, is written as "n/a" instead of a bar.
    spread
        Half-lengths of error bars, such as standard deviations over restarts.
    note
        What must be said beside the bars: reward differences at one place depend on the gauge.

    Examples
    --------
    >>> import numpy as np
    >>> ax = history_dependence(np.array([[0.9, 1.0], [0.7, 0.4]]), ["elsewhere", "water port"])
    >>> [float(bar.get_height()) for bar in ax.patches]
    [0.9, 1.0, 0.7, 0.4]
    """
    n_modes, n_previous = values.shape
    faults = Faults()
    if n_previous != len(previous_names) or not values.size:
        faults.add(f"previous_names: got {len(previous_names)}, expected one for each of {n_previous} columns")
    if spread is not None and spread.shape != values.shape:
        faults.add(f"spread: got shape {spread.shape}, expected that of values, {values.shape}")
    faults.raise_if_any()
    names, shades = modes_shown(mode_names, colours, n_modes)
    ax = new_axes(1.0 + 0.32 * n_previous * (n_modes + 1), 2.3 if note is None else 2.6) if ax is None else ax
    width = 0.82 / n_modes
    for mode in range(n_modes):
        at = np.arange(n_previous) + (mode - (n_modes - 1) / 2) * width
        known = np.isfinite(values[mode])
        ax.bar(at[known], values[mode, known], width * 0.92, color=shades[mode], label=names[mode])
        if spread is not None:
            ax.errorbar(
                at[known], values[mode, known], spread[mode, known], linestyle="none", color=INK, elinewidth=0.8,
                capsize=1.5, capthick=0.8,
            )  # fmt: skip
        for place in at[~known]:
            ax.annotate(
                "n/a", (place, 0), (0, 2), textcoords="offset points", ha="center", va="bottom",
                fontsize=SMALLEST, color=SOFT_INK,
            )  # fmt: skip
    ax.axhline(0, color=SOFT_INK, linewidth=0.7)
    tidy(ax, title=title, xlabel=xlabel, ylabel=label)
    name_columns(ax, previous_names, room=0.55)
    mode_legend(ax, names, shades)
    if note is not None:
        below = -32 if xlabel is not None else -20
        ax.annotate(
            note, (0, 0), (0, below), xycoords="axes fraction", textcoords="offset points", ha="left", va="top",
            fontsize=SMALLEST, color=SOFT_INK,
        )  # fmt: skip
    return ax
