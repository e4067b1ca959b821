"""A value per state in any environment: cells of a grid, a graph of places, or names where states have no places.

`state_map` looks at the environment and draws with what suits it; `graph_map` always draws the graph.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, Normalize

from swirl.data.arenas import cells_of
from swirl.data.geometry import Lattice, Layout, has_places, lattice, possible_moves
from swirl.data.mdp import MDP
from swirl.plots.checks import Marks, check_marks, check_states
from swirl.plots.grid_maps import draw_marks
from swirl.plots.shapes import (
    CORRIDOR_WIDTH,
    bars,
    coloured,
    discs,
    floor_plan,
    hatch_cells,
    hatch_places,
    name_edges,
    name_places,
    plain,
)
from swirl.plots.style import (
    CORRIDOR,
    IMPOSSIBLE,
    INK,
    LABEL_SIZE,
    PROBABILITY_COLOURS,
    REWARD_COLOURS,
    SEAM,
    SMALLEST,
    SOFT_INK,
    TICK_SIZE,
    axes_inches,
    colour_map,
    finish_map,
    finite_range,
    mode_labels,
    new_axes,
    tidy,
)

Shown = Sequence[int] | np.ndarray  # numbers of states


def state_names(env: MDP) -> list[str]:
    """Names of the states, their numbers where they have none.

    >>> state_names(MDP.deterministic([[1, 0], [0, 1]]))
    ['0', '1']
    """
    return [str(s) for s in range(env.n_states)] if env.state_names is None else list(env.state_names)


def state_map(
    env: MDP, values: Float[np.ndarray, " state"], *, marks: Marks | None = None, vmin: float | int | None = None,
    vmax: float | int | None = None, colours: str | Colormap = REWARD_COLOURS, title: str | None = None,
    colour_bar: bool = True, label: str | None = "reward", shown: Shown | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw one value per state: cells of a grid, a graph of places, or a bar for each name.

    Parameters
    ----------
    values
        One number per state; NaN, uninformed, is white and hatched, or no bar.
    marks
        States to outline and name, name → state; among bars their names are bold.
    vmin, vmax
        Ends of the colour scale; of the axis where there are bars.
    label
        What is measured.
    shown
        Only these states, in this order, where there are bars; by default all.

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]], state_names=["Walk", "Run"])
    >>> ax = state_map(env, np.array([0.5, 1.0]))
    >>> [tick.get_text() for tick in ax.get_yticklabels()], [float(bar.get_width()) for bar in ax.patches]
    (['Walk', 'Run'], [0.5, 1.0])
    """
    check_states("values", values.shape[0], env)
    check_marks(marks, env.n_states)
    if not has_places(env):
        return _bars(env, values, marks, vmin, vmax, colours, title, label, shown, ax)
    cells = lattice(env)
    if cells is None:
        return graph_map(
            values, env, marks=marks, vmin=vmin, vmax=vmax, colours=colours, title=title, colour_bar=colour_bar,
            label=label, ax=ax,
        )  # fmt: skip
    limits = finite_range(values, vmin, vmax)
    rows, columns = cells.shape
    if ax is None:
        side = float(np.clip(2.3 / max(rows * cells.aspect, columns), 0.05, 0.46))
        ax = new_axes(
            max(1.1, side * columns) + (0.8 if colour_bar else 0.2), max(1.0, side * rows * cells.aspect) + 0.3
        )
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    squares = np.stack([cells.column, cells.row], axis=1)[:, None] + corners
    known = np.isfinite(values)
    line = 0.8 if max(rows, columns) <= 15 else 0.15
    drawn = coloured(ax, squares[known], values[known], limits, colours, "states", edge="white", line=line, zorder=1)
    if not known.all():
        hatch_cells(ax, squares[~known])
    outline = LineCollection(_outline(cells), colors=INK, linewidths=0.8, label="outline", zorder=3, clip_on=False)
    ax.add_collection(outline, autolim=False)
    ax.set(xlim=(0, columns), ylim=(rows, 0), aspect=cells.aspect)
    ax.set_axis_off()
    draw_marks(ax, {name: int(cells.cells[state]) for name, state in (marks or {}).items()}, rows, columns)
    if not marks:  # their names stand at the edge too
        name_edges(ax, env, squares.mean(axis=1))
    return finish_map(ax, title, drawn, label, colour_bar)


def graph_map(
    values: Float[np.ndarray, " state"], env: MDP, *, marks: Marks | None = None, vmin: float | int | None = None,
    vmax: float | int | None = None, colours: str | Colormap = REWARD_COLOURS, title: str | None = None,
    colour_bar: bool = True, label: str | None = "reward", ax: Axes | None = None,
) -> Axes:  # fmt: skip
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
    check_states("values", values.shape[0], env)
    limits = finite_range(values, vmin, vmax)
    ax, drawn = floor_plan(ax, env, colour=IMPOSSIBLE)
    coloured(ax, *_slices(drawn, values), limits, colours, "slices", line=0, zorder=1)
    known = np.isfinite(values)
    states = discs(ax, drawn.places[known], CORRIDOR_WIDTH * drawn.unit, "states", 2)
    states.set(array=values[known], cmap=colour_map(colours), clim=limits, edgecolor=SEAM, linewidth=0.5)
    hatch_places(ax, drawn, known)
    name_places(ax, drawn, marks)
    return finish_map(ax, title, states, label, colour_bar)


def environment_map(env: MDP, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw an environment itself: every state with its name, walls where no move leads across, and the axes x and y.

    Cells of a grid are squares; other places are the nodes of their graph. y grows upwards, as on every map.

    Examples
    --------
    >>> from swirl.data.arenas import grid
    >>> ax = environment_map(grid(2, 2, walls=[("A1", "A2")]))
    >>> [text.get_text() for text in ax.texts], ax.get_ylabel()
    (['A1', 'A2', 'B1', 'B2'], 'y (grows upwards)')
    """
    cells, names = cells_of(env), state_names(env)
    if cells is None or env.coordinates is None:
        ax, drawn = floor_plan(ax, env)
        for name, (x, y) in zip(names, drawn.places.tolist(), strict=True):
            ax.text(x, y, name, ha="center", va="center", fontsize=LABEL_SIZE, color=INK, zorder=4)
        ax.set_axis_on()
        return tidy(ax, title=title, xlabel="x", ylabel="y (grows upwards)")
    places = np.asarray(env.coordinates)[:, :2]
    rows, columns = (cells.max(axis=0) + 1).tolist()
    longest = max(map(len, names))
    if ax is None:
        side = float(np.clip(0.09 * longest + 0.18, 0.34, 0.9))
        ax = new_axes(min(side * columns, 11.0) + 0.8, min(side * rows, 11.0) + 0.8)
    # Cells are 1 apart in the drawing; the ticks are their coordinates.
    middle = np.stack([cells[:, 1], rows - 1 - cells[:, 0]], axis=1).astype(float)
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    plain(ax, middle[:, None] + corners, CORRIDOR, "states", edge="white", line=0.8, zorder=1)
    number = {(int(x), int(y)): s for s, (x, y) in enumerate(middle)}
    joined = {(int(s), int(t)) for s, t in possible_moves(env)}
    walls = []
    for (x, y), s in number.items():
        for (right, up), side in _SIDES.items():
            t = number.get((x + right, y + up), -1)
            if (s, t) not in joined and (t, s) not in joined:
                walls.append(np.add(side, (x, y)))
    ax.add_collection(LineCollection(walls, colors=INK, linewidths=1.4, label="walls", zorder=3, clip_on=False))
    size = float(np.clip(axes_inches(ax)[0] / columns * 72 / (0.75 * longest + 0.6), 3.5, LABEL_SIZE))
    for name, (x, y) in zip(names, middle.tolist(), strict=True):
        ax.text(x, y, name, ha="center", va="center", fontsize=size, color=INK, zorder=4)
    ax.set(xlim=(-0.6, columns - 0.4), ylim=(-0.6, rows - 0.4), aspect="equal")
    for axis, n, set_ticks in ((0, columns, ax.set_xticks), (1, rows, ax.set_yticks)):
        every = -(-n // 12)  # numbers that would overlap are left out evenly
        low, unit = places[:, axis].min(), (np.ptp(places[:, axis]) / (n - 1) if n > 1 else 1.0)
        set_ticks(range(0, n, every), [f"{low + i * unit:g}" for i in range(0, n, every)])
    return tidy(ax, title=title, xlabel="x", ylabel="y (grows upwards)" if rows > 1 else "y")


# Where the neighbour is, (right, up) → the ends of the side between.
_SIDES = {
    (1, 0): ((0.5, -0.5), (0.5, 0.5)),
    (-1, 0): ((-0.5, -0.5), (-0.5, 0.5)),
    (0, 1): ((-0.5, 0.5), (0.5, 0.5)),
    (0, -1): ((-0.5, -0.5), (0.5, -0.5)),
}


def transitions_by_state(
    env: MDP, mode_transitions: Float[np.ndarray, "state mode next_mode"], mode: int, next_mode: int | None = None, *,
    mode_names: Sequence[str] | None = None, marks: Marks | None = None, vmin: float | int | None = 0.0,
    vmax: float | int | None = None, title: str | None = None, colour_bar: bool = True, shown: Shown | None = None,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw where one mode gives way to another: P(next mode | mode, s) in each state.

    Parameters
    ----------
    mode_transitions
        As `model.mode_transitions_`: [state, mode, next_mode]; a single row stands for all states.
    next_mode
        None: any other, P(next mode ≠ mode | mode, s).

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [1, 0]])
    >>> table = np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.6, 0.4], [0.5, 0.5]]])
    >>> ax = transitions_by_state(env, table, 0, 1, mode_names=["water", "home"])
    >>> ax.get_title(loc="left"), ax.collections[0].get_array().tolist()
    ('water → home', [0.1, 0.4])
    """
    n_modes = mode_transitions.shape[1]
    every = (env.n_states, n_modes, n_modes)
    table = np.broadcast_to(mode_transitions, every) if len(mode_transitions) == 1 else mode_transitions
    for argument, given in (("mode", mode), ("next_mode", next_mode)):
        if given is not None and not 0 <= given < n_modes:
            raise ValueError(f"{argument}: got {given}, expected a mode from 0 to {n_modes - 1}")
    names = mode_labels(mode_names, n_modes)
    # Not 1 − P(stay): where modes hardly switch that would be a rounding error.
    others = [k for k in range(n_modes) if k != mode]
    values = table[:, mode, others].sum(axis=1) if next_mode is None else table[:, mode, next_mode]
    if title is None:
        title = f"leaving {names[mode]}" if next_mode is None else f"{names[mode]} → {names[next_mode]}"
    return state_map(
        env, values, marks=marks, vmin=vmin, vmax=vmax, colours=PROBABILITY_COLOURS, title=title,
        colour_bar=colour_bar, label="probability of switching", shown=shown, ax=ax,
    )  # fmt: skip


def _outline(cells: Lattice) -> list[list[tuple[int, int]]]:
    """The sides that a cell shares with no other."""
    there = {(int(r), int(c)) for r, c in zip(cells.row, cells.column, strict=True)}
    sides = []
    for r, c in sorted(there):
        for step, side in (
            ((-1, 0), [(c, r), (c + 1, r)]),
            ((1, 0), [(c, r + 1), (c + 1, r + 1)]),
            ((0, -1), [(c, r), (c, r + 1)]),
            ((0, 1), [(c + 1, r), (c + 1, r + 1)]),
        ):
            if (r + step[0], c + step[1]) not in there:
                sides.append(side)
    return sides


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


def _bars(
    env: MDP, values: np.ndarray, marks: Marks | None, vmin: float | int | None, vmax: float | int | None,
    colours: str | Colormap, title: str | None, label: str | None, shown: Shown | None, ax: Axes | None,
) -> Axes:  # fmt: skip
    """Draw a bar for each state, named at the left, the first at the top."""
    keep = np.arange(env.n_states) if shown is None else np.asarray(shown)
    names = [state_names(env)[s] for s in keep]
    named = {state: name for name, state in (marks or {}).items()}
    n = len(keep)
    if ax is None:
        ax = new_axes(1.9 + 0.062 * min(max(map(len, names)), 25), float(np.clip(0.7 + 0.17 * n, 1.3, 9.0)))
    value = values[keep]
    known = np.isfinite(value)
    low, high = finite_range(value, vmin, vmax)
    shades = colour_map(colours)
    scale = Normalize(low, high)
    # The palest colours of a scale would not be seen as bars: its lightest sixth is left out.
    faces = shades(0.17 + 0.83 * np.clip(scale(np.where(known, value, low)), 0, 1))
    ax.barh(np.arange(n)[known], value[known], 0.78, color=faces[known], edgecolor=SEAM, linewidth=0.4)
    for place in np.flatnonzero(~known):
        ax.annotate("n/a", (0, place), (3, 0), textcoords="offset points", va="center", fontsize=SMALLEST,
                    color=SOFT_INK)  # fmt: skip
    ax.axvline(0, color=SOFT_INK, linewidth=0.7)
    room = max(1, int(axes_inches(ax)[1] / (1.15 * TICK_SIZE / 72)))
    every = -(-n // room)  # names that would overlap are left out evenly
    ax.set_yticks(np.arange(0, n, every), [names[i] for i in range(0, n, every)])
    for tick, state in zip(ax.get_yticklabels(), keep[::every], strict=True):
        if int(state) in named:
            tick.set_fontweight("bold")
    ax.set_ylim(n - 0.4, -0.6)
    if vmin is not None or vmax is not None:
        margin = 0.03 * (high - low)
        ax.set_xlim(min(low, 0.0) - (margin if low < 0 else 0), max(high, 0.0) + (margin if high > 0 else 0))
    ax.locator_params(axis="x", nbins=4)
    tidy(ax, title=title, xlabel=label)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    return ax
