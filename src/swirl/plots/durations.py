"""How long bouts of each mode last: the share that goes on, on a log axis."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from swirl.data.segments import Bouts
from swirl.errors import Faults
from swirl.plots.style import SOFT_INK, TICK_SIZE, mode_legend, modes_shown, new_axes, on_white, tidy

PLAIN = (1, 2, 5)  # leading digits at which a log axis is labelled


def bout_durations(
    bouts: Sequence[Bouts], *, expected: Sequence[Bouts | float | int] | None = None, expected_label: str = "model",
    mode_names: Sequence[str] | None = None, colours: Sequence[str] | None = None,
    xlabel: str = "bout length (steps)", title: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw the share of bouts that last at least x, a line per mode, lengths on a log axis.

    The share is Kaplan and Meier's, so that bouts that the recording cut do not make modes look short-lived. A line
    ends where no bout was followed further.

    Parameters
    ----------
    bouts
        Of each mode, as `swirl.data.segments.bouts_of` gives them.
    expected
        Lines to hold each mode against, dashed: simulated bouts, or one number, the mean length of a mode that is left
        with the same probability at every step (geometric).

    Examples
    --------
    >>> from swirl.data.segments import bouts_of, find_segments
    >>> ax = bout_durations(bouts_of(find_segments([[1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1]])), mode_names=["water", "home"])
    >>> ax.get_lines()[0].get_xdata().tolist(), ax.get_lines()[0].get_ydata().round(2).tolist()
    ([1.0, 1.0, 2.0, 4.0, 4.0], [1.0, 1.0, 0.67, 0.33, 0.0])
    """
    _check(bouts, expected)
    names, shades = modes_shown(mode_names, colours, len(bouts))
    shades = [on_white(shade) for shade in shades]
    ax = new_axes(3.8, 2.5) if ax is None else ax
    longest = max(2, *(own.longest for own in bouts))
    for mode, own in enumerate(bouts):
        named = {"color": shades[mode], "label": names[mode], "zorder": 3}
        ax.plot(*own.survival(), drawstyle="steps-pre", linewidth=1.5, **named)
        if expected is not None:
            dashed = {"color": shades[mode], "linewidth": 1.0, "linestyle": (0, (3, 2)), "label": "_expected"}
            ax.plot(*_expected(expected[mode], longest), drawstyle="steps-pre", **dashed)
    ax.set_xscale("log")
    ax.set_xlim(0.93, longest * 1.07)
    ax.set_ylim(0, 1.02)
    _plain_ticks(ax)
    tidy(ax, title=title, xlabel=xlabel, ylabel="share of bouts this long")
    if expected is not None:
        lines = [Line2D([], [], color=SOFT_INK, linewidth=1.5, label="data")]
        lines += [Line2D([], [], color=SOFT_INK, linewidth=1.0, linestyle=(0, (3, 2)), label=expected_label)]
        key = ax.legend(handles=lines, loc="upper right", frameon=False, fontsize=TICK_SIZE, handlelength=1.8)
        ax.add_artist(key)  # or the names of the modes would take its place
    mode_legend(ax, [_counts(name, own) for name, own in zip(names, bouts, strict=True)], shades)
    return ax


def _counts(name: str, own: Bouts) -> str:
    cut = f", {len(own.cut):,} cut" if len(own.cut) else ""
    return f"{name} (n = {len(own.length) + len(own.cut):,}{cut})"


def _expected(given: Bouts | float | int, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """The curve of simulated bouts, or of a mode without memory, that a mode is held against."""
    if isinstance(given, Bouts):
        return given.survival()
    x = np.unique(np.round(np.geomspace(1, longest, 200)))
    return x, (1 - 1 / max(float(given), 1.0)) ** (x - 1)


def _plain_ticks(ax: Axes) -> None:
    """Label a log axis with 1, 2, 5, 10, 20, …, or with powers of ten alone where that would crowd it."""
    low, high = ax.get_xlim()
    decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    digits = PLAIN if np.log10(high / low) < 2.6 else (1,)
    ticks = np.array([digit * 10.0**decade for decade in decades for digit in digits])
    ticks = ticks[(ticks >= low) & (ticks <= high)]
    ax.set_xticks(ticks, [f"{tick:,g}" if tick < 1e4 else f"{tick:,.0f}" for tick in ticks])
    ax.minorticks_off()


def _check(bouts: Sequence[Bouts], expected: Sequence[Bouts | float | int] | None) -> None:
    faults = Faults()
    if not any(own.longest for own in bouts):
        faults.add("bouts: the start of none was seen, in any mode")
    if expected is not None and len(expected) != len(bouts):
        faults.add(f"expected: got {len(expected)} entries, expected one for each of {len(bouts)} modes")
    faults.raise_if_any()
