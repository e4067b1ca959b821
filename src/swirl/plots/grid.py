"""Maps over a rectangular grid of states, cell = columns · row + column, row 0 at the top."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from swirl.plots.layout import check_marks
from swirl.plots.style import (
    IMPOSSIBLE,
    INK,
    LABEL_SIZE,
    PROBABILITY_COLOURS,
    REWARD_COLOURS,
    add_colour_bar,
    colour_map,
    finite_range,
    new_axes,
    set_title,
)


def reward_map(
    values: Float[np.ndarray, " state"],
    shape: tuple[int, int],
    *,
    ax: Axes | None = None,
    vmin: float | None = None,
    vmax: float | None = None,
    marks: Mapping[str, int] | None = None,
    title: str | None = None,
    colours: str | Colormap = REWARD_COLOURS,
    colour_bar: bool = True,
    colour_label: str | None = "reward",
) -> Axes:
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
        np.ma.masked_invalid(values.reshape(rows, columns)),
        cmap=colour_map(colours).with_extremes(bad=IMPOSSIBLE),
        vmin=low,
        vmax=high,
        extent=(0, columns, rows, 0),
        interpolation="nearest",
    )
    frame(ax, rows, columns, line_colour="white")
    draw_marks(ax, marks, rows, columns)
    set_title(ax, title)
    if colour_bar:
        add_colour_bar(ax, drawn, colour_label)
    return ax


def mode_transition_map(
    probability: Float[np.ndarray, " state"],
    shape: tuple[int, int],
    *,
    ax: Axes | None = None,
    vmax: float | None = None,
    marks: Mapping[str, int] | None = None,
    title: str | None = None,
    colour_bar: bool = True,
) -> Axes:
    """Draw where a mode is left: the probability P_z(z' ≠ z | z, s) of switching in each state.

    Examples
    --------
    >>> import numpy as np
    >>> ax = mode_transition_map(np.full(25, 0.1), (5, 5), title="Leaving the home mode")
    >>> ax.images[0].get_clim()[0]
    0.0
    """
    return reward_map(
        probability,
        shape,
        ax=ax,
        vmin=0.0,
        vmax=vmax,
        marks=marks,
        title=title,
        colours=PROBABILITY_COLOURS,
        colour_bar=colour_bar,
        colour_label="probability of switching",
    )


def check_shape(argument: str, n_states: int, shape: tuple[int, int]) -> tuple[int, int]:
    """Return `shape` when its cells are as many as the states of `argument`.

    >>> check_shape("values", 6, (2, 3))
    (2, 3)
    """
    rows, columns = shape
    if rows < 1 or columns < 1 or rows * columns != n_states:
        raise ValueError(
            f"shape: got {shape} = {rows * columns} cells, but {argument} has {n_states} states; "
            "give (rows, columns) with one cell per state"
        )
    return shape


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
    ax.set_xlim(0, columns)
    ax.set_ylim(rows, 0)
    ax.set_aspect("equal")
    ax.set_axis_off()


def draw_marks(ax: Axes, marks: Mapping[str, int] | None, rows: int, columns: int) -> None:
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
        text = ax.text(
            x,
            y,
            name,
            ha=horizontal,
            va=vertical,
            rotation=turn,
            fontsize=LABEL_SIZE if outside else LABEL_SIZE - 1,
            color=INK,
            zorder=5,
            clip_on=False,
        )
        if not outside:
            text.set_path_effects([withStroke(linewidth=2, foreground="white")])
