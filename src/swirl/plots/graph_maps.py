"""A value per state on a graph of places, such as the labyrinth: corridors and junctions coloured by value."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Colormap

from swirl.data.geometry import Layout, layout
from swirl.data.mdp import MDP
from swirl.plots.graph_shapes import CORRIDOR_WIDTH, bars, check_places, discs, draw_corridors, name_places, ready
from swirl.plots.style import (
    IMPOSSIBLE,
    REWARD_COLOURS,
    SEAM,
    SOFT_INK,
    add_colour_bar,
    colour_map,
    finite_range,
    set_title,
)


def graph_map(
    values: Float[np.ndarray, " state"],
    env: MDP,
    *,
    marks: Mapping[str, int] | None = None,
    vmin: float | int | None = None,
    vmax: float | int | None = None,
    colours: str | Colormap = REWARD_COLOURS,
    title: str | None = None,
    colour_bar: bool = True,
    label: str | None = "reward",
    ax: Axes | None = None,
) -> Axes:
    """Draw one value per state on the graph of `env.coordinates`; along a corridor the colour runs from end to end.

    Parameters
    ----------
    values
        One number per state; NaN, uninformed, is white and hatched, and its half of each corridor grey.
    env
        An MDP with `coordinates`; states are joined where some action leads from one to the other.
    marks
        States to ring and name, name → state, such as `{"water port": 116, "home": 0}`.
    label
        What the colour bar measures.

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> ax = graph_map(np.array([0.0, 1.0]), env, marks={"home": 0}, title="Home mode")
    >>> [shape.get_array().tolist() for shape in ax.collections if shape.get_label() == "states"]
    [[0.0, 1.0]]
    """
    check_places("values", values.shape[0], env)
    drawn = layout(env)
    low, high = finite_range(values, vmin, vmax)
    ax = ready(ax, drawn)
    draw_corridors(ax, drawn, colour=IMPOSSIBLE)
    shades = colour_map(colours)
    corners, value = _slices(drawn, values)
    slices = PolyCollection(corners, cmap=shades, linewidths=0, label="slices", zorder=1)
    slices.set(array=value, clim=(low, high))
    ax.add_collection(slices, autolim=False)
    known = np.isfinite(values)
    states = discs(ax, drawn.places[known], CORRIDOR_WIDTH * drawn.unit, "states", 2)
    states.set(array=values[known], cmap=shades, clim=(low, high), edgecolor=SEAM, linewidth=0.5)
    if not known.all():
        hatched = discs(ax, drawn.places[~known], CORRIDOR_WIDTH * drawn.unit, "uninformed", 2)
        hatched.set(facecolor="white", edgecolor=SOFT_INK, linewidth=0.4, hatch="//////")
    name_places(ax, drawn, marks)
    set_title(ax, title)
    if colour_bar:
        add_colour_bar(ax, states, label)
    return ax


def _slices(drawn: Layout, values: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Cut every corridor across; return the pieces that have a value, and it: between its ends', by distance."""
    half = CORRIDOR_WIDTH * drawn.unit / 2
    corners, shade = [np.empty((0, 4, 2))], [np.empty(0)]
    for a, b in drawn.corridors:
        start, end = drawn.places[[a, b]]
        n = int(np.clip(round(16 * float(np.linalg.norm(end - start)) / drawn.unit), 16, 64))
        cut = np.linspace(0, 1, n + 1)[:, None]
        middle = (cut[:-1, 0] + cut[1:, 0]) / 2
        if np.isfinite(values[[a, b]]).all():
            value = (1 - middle) * values[a] + middle * values[b]
        else:
            value = np.where(middle < 0.5, values[a], values[b])
        points = start + cut * (end - start)
        # Each slice reaches under the next one: viewers show seams between shapes that only touch.
        reach = start + np.minimum(cut[1:] + 0.7 / n, 1.0) * (end - start)
        corners.append(bars(points[:-1], reach, half, half))
        shade.append(value)
    value = np.concatenate(shade)
    return list(np.concatenate(corners)[np.isfinite(value)]), value[np.isfinite(value)]
