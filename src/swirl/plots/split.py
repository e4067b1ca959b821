"""Rewards r(s_t, s_{t−1}) on a grid, each cell split by the previous location (the paper's Figure 2A)."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Colormap
from matplotlib.patches import Polygon

from swirl.plots.grid import check_shape, draw_marks, frame
from swirl.plots.layout import check_marks
from swirl.plots.style import (
    IMPOSSIBLE,
    INK,
    LABEL_SIZE,
    OKABE_ITO,
    REWARD_COLOURS,
    SEAM,
    SOFT_INK,
    TITLE_SIZE,
    add_colour_bar,
    colour_map,
    finite_range,
    new_axes,
    set_title,
)

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
    table: Float[np.ndarray, "state state"],
    shape: tuple[int, int],
    *,
    ax: Axes | None = None,
    vmin: float | None = None,
    vmax: float | None = None,
    informed: Bool[np.ndarray, "state state"] | None = None,
    marks: Mapping[str, int] | None = None,
    title: str | None = None,
    colours: str | Colormap = REWARD_COLOURS,
    colour_bar: bool = True,
    colour_label: str | None = "reward",
) -> Axes:
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
    low, high = finite_range(value[known], vmin, vmax)

    ax = new_axes(2.9, 2.5) if ax is None else ax
    drawn = PolyCollection(list(polygons[known]), cmap=colour_map(colours), linewidths=0.35, edgecolors=SEAM, zorder=1)
    drawn.set_array(value[known])
    drawn.set_clim(low, high)
    drawn.set_label("possible")
    ax.add_collection(drawn, autolim=False)
    impossible = PolyCollection(
        list(polygons[~possible]),
        facecolors=IMPOSSIBLE,
        linewidths=0.35,
        edgecolors=SEAM,
        zorder=1,
        label="impossible",
    )
    ax.add_collection(impossible, autolim=False)
    if not known.all():
        unknown = PolyCollection(
            list(polygons[possible & ~known]),
            facecolors="white",
            edgecolors=SOFT_INK,
            linewidths=0.0,
            hatch="//////",
            zorder=1,
            label="uninformed",
        )
        ax.add_collection(unknown, autolim=False)
    frame(ax, rows, columns, line_colour=INK)
    draw_marks(ax, marks, rows, columns)
    set_title(ax, title)
    if colour_bar:
        add_colour_bar(ax, drawn, colour_label)
    return ax


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
        ax.text(x, y, name, ha="center", va="center", rotation=turn, fontsize=LABEL_SIZE, color=OKABE_ITO[0])
    swatch = [(0.0, 1.12), (0.12, 1.12), (0.12, 1.24), (0.0, 1.24)]
    ax.add_patch(Polygon(swatch, closed=True, facecolor=IMPOSSIBLE, edgecolor="none", clip_on=False))
    ax.text(0.17, 1.18, "impossible", ha="left", va="center", fontsize=LABEL_SIZE, color=INK)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(1.26, -0.02)
    ax.set_aspect("equal")
    ax.set_axis_off()
    if title is not None:
        ax.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK)
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
