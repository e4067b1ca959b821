"""Figures of several panels."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from swirl.plots.split import split_key, split_reward_map
from swirl.plots.style import (
    INK,
    REWARD_COLOURS,
    TITLE_SIZE,
    add_colour_bar,
    colour_map,
    finite_range,
    mode_labels,
)


def reward_panels(
    tables: Mapping[str, Float[np.ndarray, "mode state state"]],
    shape: tuple[int, int],
    *,
    mode_names: Sequence[str] | None = None,
    marks: Mapping[str, int] | None = None,
    scale: Literal["each", "shared"] = "each",
    title: str | None = None,
) -> Figure:
    """Draw split reward maps, a row per entry of `tables` and a column per mode; return the Figure.

    Parameters
    ----------
    tables
        Row label → `[mode, state, previous_state]`, such as `{"true": …, "S-2": …}`; modes already matched.
    scale
        "each" stretches every map over 0 to 1 (the paper's way: rewards are known only up to a gauge, so the
        pattern is what can be compared); "shared" draws all maps on one scale.

    Examples
    --------
    >>> import numpy as np
    >>> figure = reward_panels({"true": np.zeros((2, 1, 1)), "S-2": np.zeros((2, 1, 1))}, (1, 1))
    >>> len(figure.axes)  # four maps, the colour bar and the key
    6
    """
    counts = {label: table.shape[0] for label, table in tables.items()}
    if len(set(counts.values())) != 1:
        raise ValueError(f"tables: got {counts or 'no tables'} as numbers of modes, expected one number for all rows")
    n_modes = next(iter(counts.values()))
    names = mode_labels(mode_names, n_modes)
    n_rows = len(tables)
    if scale == "shared":
        low, high = finite_range(np.concatenate([table.ravel() for table in tables.values()]), None, None)
    else:
        low, high = 0.0, 1.0

    figure = Figure(figsize=(2.0 * n_modes + 2.1, 2.05 * n_rows + 0.35), dpi=150, layout="constrained")
    grid = figure.add_gridspec(n_rows, n_modes + 1, width_ratios=[1.0] * n_modes + [0.62])
    maps = []
    for row, (label, table) in enumerate(tables.items()):
        for mode in range(n_modes):
            ax = figure.add_subplot(grid[row, mode])
            maps.append(ax)
            values = _stretched(table[mode]) if scale == "each" else table[mode]
            split_reward_map(values, shape, ax=ax, vmin=low, vmax=high, marks=marks, colour_bar=False)
            if row == 0:
                ax.set_title(names[mode], fontsize=TITLE_SIZE, color=INK, pad=6)
            if mode == 0:
                ax.text(
                    -0.16, 0.5, label, transform=ax.transAxes, rotation=90, ha="right", va="center",
                    fontsize=TITLE_SIZE, color=INK, fontweight="bold",
                )  # fmt: skip
    split_key(ax=figure.add_subplot(grid[0, n_modes]))
    mappable = ScalarMappable(Normalize(low, high), colour_map(REWARD_COLOURS))
    add_colour_bar(maps, mappable, "reward, each map from 0 to 1" if scale == "each" else "reward")
    if title is not None:
        figure.suptitle(title, fontsize=TITLE_SIZE + 1, color=INK, x=0.02, ha="left")
    return figure


def _stretched(table: np.ndarray) -> np.ndarray:
    low, high = finite_range(table, None, None)
    return (table - low) / (high - low)
