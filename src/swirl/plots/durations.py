"""How long bouts of each mode last: the share that goes on, or a histogram, on a log axis."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from swirl.errors import Faults
from swirl.plots.style import SOFT_INK, TICK_SIZE, mode_legend, modes_shown, new_axes, on_white, tidy

Lengths = np.ndarray | Sequence[float | int]
PLAIN = (1, 2, 5)  # leading digits at which a log axis is labelled


def bout_durations(
    durations: Sequence[Lengths], *, kind: Literal["survival", "histogram"] = "survival",
    cut: Sequence[Lengths] | None = None, expected: Sequence[Lengths | float | int] | None = None,
    expected_label: str = "model", bins: int = 20, mode_names: Sequence[str] | None = None,
    colours: Sequence[str] | None = None, xlabel: str = "bout length (steps)", title: str | None = None,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw the distribution of bout lengths, a line per mode, lengths on a log axis.

    Parameters
    ----------
    durations
        Lengths of the bouts of each mode, above 0, as `behaviour.dwell_times` gives: those seen from start to end.
    kind
        "survival": the share of bouts that last at least x (Kaplan and Meier's where there are `cut` ones);
        "histogram": the share in each bin.
    cut
        Lengths of bouts whose start was seen but not their end (a recording that stopped): long bouts are cut more
        often, so leaving them out makes modes look short-lived. Only for "survival".
    expected
        What to hold each mode against, dashed: lengths of simulated bouts, or one number, the mean length of a mode
        that is left with the same probability at every step (geometric).

    Examples
    --------
    >>> ax = bout_durations([[1, 1, 2, 4], [3, 3]], mode_names=["water", "home"])
    >>> ax.get_lines()[0].get_xdata().tolist(), ax.get_lines()[0].get_ydata().tolist()
    ([1.0, 1.0, 2.0, 4.0, 4.0], [1.0, 1.0, 0.5, 0.25, 0.0])
    """
    n_modes = len(durations)
    lengths = [np.sort(np.asarray(own, dtype=float)) for own in durations]
    censored = [np.zeros(0)] * n_modes if cut is None else [np.asarray(own, dtype=float) for own in cut]
    _check(lengths, censored, expected, kind, cut is not None)
    names, shades = modes_shown(mode_names, colours, n_modes)
    shades = [on_white(shade) for shade in shades]
    ax = new_axes(3.8, 2.5) if ax is None else ax
    longest = max([*(float(np.max(own)) for own in (*lengths, *censored) if len(own)), 1.0])
    shortest = min([*(float(own[0]) for own in lengths if len(own)), longest])
    edges = _edges(lengths, shortest, longest, bins)
    for mode, (own, more) in enumerate(zip(lengths, censored, strict=True)):
        named = {"color": shades[mode], "label": names[mode], "zorder": 3}
        if kind == "survival":
            x, y = survival(own, more)
            ax.plot(x, y, drawstyle="steps-pre", linewidth=1.5, **named)
        elif len(own):
            ax.stairs(np.histogram(own, edges)[0] / len(own), edges, linewidth=1.5, **named)
        if expected is not None:
            x, y = _expected(expected[mode], longest, edges if kind == "histogram" else None)
            dashed = {"color": shades[mode], "linewidth": 1.0, "linestyle": (0, (3, 2)), "label": "_expected"}
            ax.plot(x, y, drawstyle="steps-pre" if kind == "survival" else "steps-post", **dashed)
    ax.set_xscale("log")
    ax.set_xlim(shortest * 0.93, max(longest, shortest * 1.5) * 1.07)
    ax.set_ylim(0, 1.02 if kind == "survival" else None)
    _plain_ticks(ax)
    tidy(ax, title=title, xlabel=xlabel, ylabel="share of bouts this long" if kind == "survival" else "share of bouts")
    if expected is not None:
        lines = [Line2D([], [], color=SOFT_INK, linewidth=1.5, label="data")]
        lines += [Line2D([], [], color=SOFT_INK, linewidth=1.0, linestyle=(0, (3, 2)), label=expected_label)]
        key = ax.legend(handles=lines, loc="upper right", frameon=False, fontsize=TICK_SIZE, handlelength=1.8)
        ax.add_artist(key)  # or the names of the modes would take its place
    counts = [f"{name} (n = {len(own):,})" for name, own in zip(names, lengths, strict=True)]
    mode_legend(ax, counts, shades)
    return ax


def survival(
    durations: Float[np.ndarray, " bout"], cut: Float[np.ndarray, " _"] | None = None
) -> tuple[Float[np.ndarray, " point"], Float[np.ndarray, " point"]]:
    """Return lengths, and the share of bouts that last at least so long: at the first length all, after the last none.

    With `cut` bouts, of which only a least length is known, it is Kaplan and Meier's estimate; where the longest of
    all is cut, the line ends above 0.

    >>> import numpy as np
    >>> x, y = survival(np.array([1.0, 3.0]), np.array([2.0]))  # of three, one ends at 1; the one cut at 2 says no more
    >>> x.tolist(), y.round(3).tolist()
    ([1.0, 1.0, 3.0, 3.0], [1.0, 1.0, 0.667, 0.0])
    """
    cut = np.zeros(0) if cut is None else cut
    if not len(durations):
        return np.zeros(0), np.zeros(0)
    at, ended = np.unique(durations, return_counts=True)
    # One cut at d may have ended just there: it was at risk of ending before d only.
    risk = len(durations) - np.searchsorted(np.sort(durations), at, side="left")
    risk = risk + len(cut) - np.searchsorted(np.sort(cut), at, side="right")
    after = np.cumprod(1 - ended / risk)  # the share that lasts longer than this
    longest = max(float(at[-1]), float(cut.max(initial=0.0)))
    x = np.concatenate([[min(1.0, at[0])], at, [longest]])
    return x, np.concatenate([[1.0, 1.0], after])


def _edges(lengths: list[np.ndarray], shortest: float, longest: float, bins: int) -> np.ndarray:
    """Edges of bins of about equal width on a log axis; where lengths are whole numbers none is without one."""
    if all((own == np.round(own)).all() for own in lengths):
        return np.unique(np.round(np.geomspace(shortest, longest + 1, bins + 1))) - 0.5
    return np.geomspace(shortest * 0.999, max(longest, shortest * 1.5) * 1.001, bins + 1)


def _expected(given: object, longest: float, edges: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The curve of simulated bouts, or of a mode without memory, that a mode is held against."""
    values = np.asarray(given, dtype=float)
    if values.ndim:
        if edges is None:
            return survival(values)
        share = np.histogram(values, edges)[0] / max(len(values), 1)
        return edges, np.append(share, share[-1:])
    stay = 1 - 1 / max(float(values), 1.0)
    if edges is None:
        x = np.unique(np.round(np.geomspace(1, max(longest, 2.0), 200)))
        return x, stay ** (x - 1)
    # P(a ≤ length < b) of whole numbers.
    below = stay ** np.maximum(np.ceil(edges) - 1, 0)
    share = below[:-1] - below[1:]
    return edges, np.append(share, share[-1:])


def _plain_ticks(ax: Axes) -> None:
    """Label a log axis with 1, 2, 5, 10, 20, …, or with powers of ten alone where that would crowd it."""
    low, high = ax.get_xlim()
    decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    digits = PLAIN if np.log10(high / low) < 2.6 else (1,)
    ticks = np.array([digit * 10.0**decade for decade in decades for digit in digits])
    ticks = ticks[(ticks >= low) & (ticks <= high)]
    ax.set_xticks(ticks, [f"{tick:,g}" if tick < 1e4 else f"{tick:,.0f}" for tick in ticks])
    ax.minorticks_off()


def _check(
    lengths: list[np.ndarray], censored: list[np.ndarray], expected: Sequence[Any] | None, kind: str, has_cut: bool
) -> None:
    faults = Faults()
    if kind not in ("survival", "histogram"):
        faults.add(f'kind: got {kind!r}, expected "survival" or "histogram"')
    if kind == "histogram" and has_cut:
        faults.add('cut: a histogram has no place for bouts of unknown length; use kind="survival", or leave it out')
    if not any(len(own) for own in lengths):
        faults.add("durations: got no bout in any mode, expected a list of lengths for each mode")
    for argument, parts in (("durations", lengths), ("cut", censored)):
        for mode, own in enumerate(parts):
            if own.ndim != 1 or not (np.isfinite(own) & (own > 0)).all():
                faults.add(f"{argument}[{mode}]: expected lengths above 0, one per bout")
    for argument, parts in (("cut", censored), ("expected", expected)):
        if parts is not None and len(parts) != len(lengths):
            faults.add(f"{argument}: got {len(parts)} entries, expected one for each of {len(lengths)} modes")
    faults.raise_if_any()
