"""Panels side by side, and tidy tables: what all figures of a fit are made with."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from swirl.analysis.decoded import DecodedFit
from swirl.analysis.state_summaries import most_visited
from swirl.data.geometry import kind_of
from swirl.data.mdp import MDP
from swirl.plots.state_maps import state_names
from swirl.plots.style import COLUMNS, SOFT_INK, TICK_SIZE, named_mode_colours, printed

MAX_NAMES = 30  # states that a table or a row of bars has room for; the most visited ones are drawn
Drawn = tuple[Figure, Any]


def shown(fit: DecodedFit) -> list[int]:
    """The states that a table or a row of bars has room for: all, or the most visited ones, in their order."""
    return most_visited(fit.data.states, fit.environment().n_states, MAX_NAMES)


def colours(fit: DecodedFit) -> list[str]:
    """One colour per mode, the same in every figure."""
    return named_mode_colours(fit.mode_names)


def map_size(env: MDP, *, table: bool = False) -> tuple[float, float]:
    """Width and height in inches of a map, of a row of bars, or of a table of names."""
    kind = kind_of(env)
    if kind == "grid":
        return 2.5, 2.1
    if kind == "graph":
        return 3.3, 2.7
    n = min(env.n_states, MAX_NAMES)
    longest = 0.06 * min(25, max(map(len, state_names(env))))
    if table:
        side = 0.2 * n if n > 12 else 0.26 * n
        return 1.8 + longest + side, 0.9 + longest + side
    return 1.7 + longest, float(np.clip(0.8 + 0.17 * n, 1.5, 7.5))


def panels(
    fit: DecodedFit, size: tuple[float, float], n: int | None = None, columns: int = 4, *, under: bool = False
) -> list[Any]:
    """Axes for a panel per mode, side by side as far as a page is wide; with `under` for one below each, too."""
    n = fit.n_modes if n is None else n
    columns = max(1, min(n, columns, int(COLUMNS[-1] / (0.94 * 25.4 * size[0]))))
    lines = 1 + under
    rows = lines * -(-n // columns)
    figure = printed(size[0] * columns, size[1] * rows)
    return [
        figure.add_subplot(rows, columns, (lines * (i // columns) + line) * columns + i % columns + 1)
        for line in range(lines)
        for i in range(n)
    ]


def figure_of(axes: list[Any], fit: DecodedFit) -> Figure:
    """The figure of panels that are drawn: names stand in the first column only, and states left out are told."""
    figure = axes[0].get_figure()
    env = fit.environment()
    if kind_of(env) != "names":
        return figure
    for ax in axes:
        if not ax.get_subplotspec().is_first_col():
            ax.set_yticklabels([])
            ax.set_ylabel("")
    if len(shown(fit)) < env.n_states:
        note = f"the {len(shown(fit))} most visited of {env.n_states} states"
        figure.suptitle(note, x=0.01, ha="left", fontsize=TICK_SIZE, color=SOFT_INK)
    return figure


def frame(columns: dict[str, Any] | list[dict[str, Any]], kept: Any = None) -> Any:
    """A pandas DataFrame of these columns (or of rows, each by its columns), or of the rows that are `kept`.

    >>> frame({"mode": [0, 1]}, np.array([False, True]))["mode"].tolist()
    [1]
    """
    import pandas as pd

    table = pd.DataFrame(columns)
    return table if kept is None else table[kept].reset_index(drop=True)


def long_table(words: dict[str, Any], values: dict[str, np.ndarray], kept: Any = None) -> Any:
    """A pandas DataFrame with a row per entry of arrays of one shape, or of the entries that are `kept`.

    `words` names each dimension in order, with what its entries are called.

    >>> table = long_table({"mode": ["water", "home"], "step": [0, 5]}, {"share": np.eye(2)})
    >>> table["mode"].tolist(), table["step"].tolist()
    (['water', 'water', 'home', 'home'], [0, 5, 0, 5])
    """
    first = next(iter(values.values()))
    index = np.indices(first.shape).reshape(first.ndim, -1)
    columns = {name: np.asarray(own)[at] for (name, own), at in zip(words.items(), index, strict=True)}
    return frame(columns | {name: array.ravel() for name, array in values.items()}, kept)


def drawn(
    axes: list[Any], labels: dict[str, int], values: dict[str, np.ndarray], fit: DecodedFit, *, zeros: bool = True
) -> Drawn:
    """The figure, and a long table of arrays [mode, state, …]; `labels` says 0 for modes, 1 for states.

    Left out where the first array is NaN, and with `zeros=False` where it is 0.
    """
    first = next(iter(values.values())).ravel()
    words = {name: (fit.names, fit.states)[kind](slice(None)) for name, kind in labels.items()}
    return figure_of(axes, fit), long_table(words, values, np.isfinite(first) & (zeros | (first != 0)))
