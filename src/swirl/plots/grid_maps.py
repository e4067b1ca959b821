"""Maps over a rectangular grid of states, cell = columns · row + column, row 0 at the top.

Rewards r(s_t, s_{t−1}) split each cell by the previous location (the paper's Figure 2A).
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from matplotlib.patheffects import withStroke

from swirl.plots.checks import Marks, check_marks, check_shape
from swirl.plots.shapes import coloured, hatch_cells, plain
from swirl.plots.style import (
    IMPOSSIBLE,
    INK,
    LABEL_SIZE,
    OKABE_ITO,
    PROBABILITY_COLOURS,
    REWARD_COLOURS,
    SMALLEST,
    TITLE_SIZE,
    add_colour_bar,
    colour_map,
    finish_map,
    finite_range,
    mode_labels,
    new_axes,
    printed,
    set_title,
)


def reward_map(
    values: Float[np.ndarray, " state"], shape: tuple[int, int], *, ax: Axes | None = None, vmin: float | None = None,
    vmax: float | None = None, marks: Marks | None = None, title: str | None = None,
    colours: str | Colormap = REWARD_COLOURS, colour_bar: bool = True, colour_label: str | None = "reward",
) -> Axes:  # fmt: skip
    """Draw one value per state as a heat map of the grid; NaN is light grey.

    Parameters
    ----------
    values
        One number per state, in the order of the cells: `columns · row + column`.
    shape
        (rows, columns) of the grid.
    marks
        Cells to outline, name → state, such as `{"home": 0, "water": 23}`.

    Examples
    --------
    >>> import numpy as np
    >>> ax = reward_map(np.arange(25.0), (5, 5), marks={"home": 0, "water": 23}, title="Water mode")
    >>> ax.get_title(loc="left")
    'Water mode'
    """
    rows, columns = check_shape("values", values.shape[0], shape)
    check_marks(marks, rows * columns)
    ax = new_axes(2.9, 2.5) if ax is None else ax
    low, high = finite_range(values, vmin, vmax)
    drawn = ax.imshow(
        np.ma.masked_invalid(values.reshape(rows, columns)), cmap=colour_map(colours).with_extremes(bad=IMPOSSIBLE),
        vmin=low, vmax=high, extent=(0, columns, rows, 0), interpolation="nearest",
    )  # fmt: skip
    frame(ax, rows, columns, line_colour="white")
    draw_marks(ax, marks, rows, columns)
    return finish_map(ax, title, drawn, colour_label, colour_bar)


def mode_transition_map(
    probability: Float[np.ndarray, " state"], shape: tuple[int, int], *, ax: Axes | None = None,
    vmax: float | None = None, marks: Marks | None = None, title: str | None = None, colour_bar: bool = True,
) -> Axes:  # fmt: skip
    """Draw where a mode is left: the probability P_z(z' ≠ z | z, s) of switching in each state.

    Examples
    --------
    >>> import numpy as np
    >>> ax = mode_transition_map(np.full(25, 0.1), (5, 5), title="Leaving the home mode")
    >>> ax.images[0].get_clim()[0]
    0.0
    """
    return reward_map(
        probability, shape, ax=ax, vmin=0.0, vmax=vmax, marks=marks, title=title, colours=PROBABILITY_COLOURS,
        colour_bar=colour_bar, colour_label="probability of switching",
    )  # fmt: skip


def frame(ax: Axes, rows: int, columns: int, *, line_colour: str) -> None:
    """Square the axes, put row 0 at the top, draw the lines between cells and hide everything else.

    >>> ax = new_axes()
    >>> frame(ax, 5, 5, line_colour="white")
    >>> float(ax.get_aspect())
    1.0
    """
    lines = [[(0, y), (columns, y)] for y in range(1, rows)] + [[(x, 0), (x, rows)] for x in range(1, columns)]
    ax.add_collection(LineCollection(lines, colors=line_colour, linewidths=0.8, zorder=2), autolim=False)
    ax.add_patch(Rectangle((0, 0), columns, rows, fill=False, edgecolor=INK, linewidth=0.8, zorder=3, clip_on=False))
    ax.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal")
    ax.set_axis_off()


def draw_marks(ax: Axes, marks: Marks | None, rows: int, columns: int) -> None:
    """Outline the marked cells; name them outside the grid where they touch its border, else inside.

    >>> ax = new_axes()
    >>> draw_marks(ax, {"home": 0}, 5, 5)
    >>> ax.texts[0].get_text()
    'home'
    """
    for name, cell in (marks or {}).items():
        row, column = divmod(cell, columns)
        ax.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=INK, linewidth=1.6, zorder=4, clip_on=False))
        # The title stands above the grid, so a corner of the top row is named at the side.
        x, y, horizontal, vertical, turn = column + 0.5, row + 0.5, "center", "center", 0
        outside = True
        if row == rows - 1:
            y, vertical = rows + 0.12, "top"
        elif column == 0:
            x, horizontal, turn = -0.12, "right", 90
        elif column == columns - 1:
            x, horizontal, turn = columns + 0.12, "left", 90
        elif row == 0:
            y, vertical = -0.12, "bottom"
        else:
            outside = False
        size = LABEL_SIZE if outside else SMALLEST
        text = ax.text(
            x, y, name, ha=horizontal, va=vertical, rotation=turn, fontsize=size, color=INK, zorder=5, clip_on=False
        )
        if not outside:
            text.set_path_effects([withStroke(linewidth=2, foreground="white")])


# Half the side of the centre square, in cells; about a fifth of the cell's area, as each trapezoid has.
HALF = 0.23
_INNER = {"tl": (0.5 - HALF, 0.5 - HALF), "tr": (0.5 + HALF, 0.5 - HALF), "br": (0.5 + HALF, 0.5 + HALF)}
_INNER["bl"] = (0.5 - HALF, 0.5 + HALF)
# Where the animal was → (row step, column step) to that cell, and the polygon at that side, y downwards.
PARTS: dict[str, tuple[tuple[int, int], list[tuple[float, float]]]] = {
    "above": ((-1, 0), [(0, 0), (1, 0), _INNER["tr"], _INNER["tl"]]),
    "left": ((0, -1), [(0, 0), _INNER["tl"], _INNER["bl"], (0, 1)]),
    "below": ((1, 0), [(0, 1), _INNER["bl"], _INNER["br"], (1, 1)]),
    "right": ((0, 1), [(1, 0), (1, 1), _INNER["br"], _INNER["tr"]]),
    "stayed": ((0, 0), [_INNER["tl"], _INNER["tr"], _INNER["br"], _INNER["bl"]]),
}


def split_reward_map(
    table: Float[np.ndarray, "state state"], shape: tuple[int, int], *, ax: Axes | None = None,
    vmin: float | None = None, vmax: float | None = None, informed: Bool[np.ndarray, "state state"] | None = None,
    marks: Marks | None = None, title: str | None = None, colours: str | Colormap = REWARD_COLOURS,
    colour_bar: bool = True, colour_label: str | None = "reward",
) -> Axes:  # fmt: skip
    """Draw r(s_t, s_{t−1}): each cell is s_t, and its five parts say where the animal was one step before.

    The part at the right side of a cell is the value when s_t is this cell and s_{t−1} the cell to its right;
    the centre square is the value after staying.  Light grey: no such transition (NaN, or off the grid).

    Parameters
    ----------
    table
        `table[state, previous_state]`, NaN where no such history exists: one mode of `model.reward_table()`.
    shape
        (rows, columns) of the grid.
    informed
        False where the data say nothing about a history: drawn white and hatched instead of coloured.
    marks
        Cells to outline, name → state.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.full((4, 4), np.nan)
    >>> table[0, 1] = 1.0  # arriving in the top-left cell from the cell to its right
    >>> ax = split_reward_map(table, (2, 2))
    >>> ax.collections[0].get_array().tolist()
    [1.0]
    """
    n_states = table.shape[0]
    rows, columns = check_shape("table", n_states, shape)
    check_marks(marks, n_states)
    polygons, state, previous = _parts(rows, columns)
    _refuse_jumps(table, state, previous)

    on_grid = previous >= 0
    value = np.where(on_grid, table[state, previous], np.nan)
    possible = np.isfinite(value)
    known = possible if informed is None else possible & informed[state, previous]
    limits = finite_range(value[known], vmin, vmax)
    ax = new_axes(2.9, 2.5) if ax is None else ax
    drawn = coloured(ax, polygons[known], value[known], limits, colours, "possible", line=0.35, zorder=1)
    plain(ax, polygons[~possible], IMPOSSIBLE, "impossible", line=0.35, zorder=1)
    if not known.all():
        hatch_cells(ax, polygons[possible & ~known])
    frame(ax, rows, columns, line_colour=INK)
    draw_marks(ax, marks, rows, columns)
    return finish_map(ax, title, drawn, colour_label, colour_bar)


def split_key(*, ax: Axes | None = None, title: str | None = "Previous location") -> Axes:
    """Draw the key to `split_reward_map`: one large cell with its five parts named.

    Examples
    --------
    >>> sorted(text.get_text() for text in split_key().texts)
    ['above', 'below', 'impossible', 'left', 'right', 'stayed']
    """
    ax = new_axes(1.7, 1.9) if ax is None else ax
    places = {
        "above": (0.5, (0.5 - HALF) / 2),
        "left": ((0.5 - HALF) / 2, 0.5),
        "below": (0.5, 1 - (0.5 - HALF) / 2),
        "right": (1 - (0.5 - HALF) / 2, 0.5),
        "stayed": (0.5, 0.5),
    }
    for name, (_, corners) in PARTS.items():
        ax.add_patch(Polygon(corners, closed=True, facecolor="#EAF3F8", edgecolor=INK, linewidth=0.8))
        turn = {"left": 90, "right": -90}.get(name, 0)
        x, y = places[name]
        ax.text(x, y, name, ha="center", va="center", rotation=turn, fontsize=SMALLEST, color=OKABE_ITO[0])
    swatch = [(0.0, 1.12), (0.12, 1.12), (0.12, 1.24), (0.0, 1.24)]
    ax.add_patch(Polygon(swatch, closed=True, facecolor=IMPOSSIBLE, edgecolor="none", clip_on=False))
    ax.text(0.17, 1.18, "impossible", ha="left", va="center", fontsize=LABEL_SIZE, color=INK)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(1.26, -0.02)
    ax.set_aspect("equal")
    ax.set_axis_off()
    set_title(ax, title)
    return ax


def _parts(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return polygons [part, corner, xy] with the state and previous state (−1 = off the grid) of each."""
    polygons, state, previous = [], [], []
    for row in range(rows):
        for column in range(columns):
            for (down, right), corners in PARTS.values():
                polygons.append(np.add(corners, (column, row)))
                state.append(columns * row + column)
                inside = 0 <= row + down < rows and 0 <= column + right < columns
                previous.append(columns * (row + down) + column + right if inside else -1)
    return np.asarray(polygons), np.asarray(state), np.asarray(previous)


def _refuse_jumps(table: np.ndarray, state: np.ndarray, previous: np.ndarray) -> None:
    """Raise when the table has values that the layout has no place for."""
    hidden = np.isfinite(table)
    hidden[state[previous >= 0], previous[previous >= 0]] = False
    if hidden.any():
        shown = ", ".join(f"[{s}, {p}]" for s, p in np.argwhere(hidden)[:5])
        raise ValueError(
            f"table: {int(hidden.sum())} values belong to jumps between cells that are not neighbours "
            f"([state, previous_state] = {shown}{', …' if hidden.sum() > 5 else ''}); the split map has no "
            "place for them. Set them to NaN, or draw the mean over previous states with reward_map"
        )


def reward_panels(
    tables: Mapping[str, Float[np.ndarray, "mode state state"]], shape: tuple[int, int], *,
    mode_names: Sequence[str] | None = None, marks: Marks | None = None, scale: Literal["each", "shared"] = "each",
    title: str | None = None, slim: bool = False,
) -> Figure:  # fmt: skip
    """Draw split reward maps, a row per entry of `tables` and a column per mode; return the Figure.

    Parameters
    ----------
    tables
        Row label → `[mode, state, previous_state]`, such as `{"true": …, "S-2": …}`; modes already matched.
    scale
        "each" stretches every map over 0 to 1 (the paper's way: rewards are known only up to a gauge, so the
        pattern is what can be compared); "shared" draws all maps on one scale.
    slim
        As wide as one column of print, the key under the maps instead of beside them.

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

    width, key = (3.5, 1.1) if slim else (4.7 if n_modes <= 2 else 7.0, 1.05)
    side = min(2.05, (width - 0.95 - (0 if slim else key)) / n_modes)
    figure = printed(width, (side + 0.2) * n_rows + 0.35 + (key + 0.2 if slim else 0))
    if slim:
        grid = figure.add_gridspec(n_rows + 1, n_modes, height_ratios=[side] * n_rows + [key])
    else:
        grid = figure.add_gridspec(n_rows, n_modes + 1, width_ratios=[side] * n_modes + [key])
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
    words = "Previous location" if slim else "Previous\nlocation"
    split_key(ax=figure.add_subplot(grid[n_rows, :] if slim else grid[0, n_modes]), title=words)
    mappable = ScalarMappable(Normalize(low, high), colour_map(REWARD_COLOURS))
    add_colour_bar(maps, mappable, "reward, each map from 0 to 1" if scale == "each" else "reward")
    if title is not None:
        figure.suptitle(title, fontsize=TITLE_SIZE + 1, color=INK, x=0.02, ha="left")
    return figure


def _stretched(table: np.ndarray) -> np.ndarray:
    low, high = finite_range(table, None, None)
    return (table - low) / (high - low)
