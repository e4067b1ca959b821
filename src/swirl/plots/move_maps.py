"""Moves in any environment: rewards of arriving, policies, preferences and paths, between places or as tables of names.

As in `state_maps`, every function looks at the environment and draws with what suits it.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import Colormap, Normalize

from swirl.data.geometry import has_places, lattice, layout, possible_moves
from swirl.data.mdp import MDP
from swirl.plots.graph_shapes import (
    CORRIDOR_WIDTH,
    bars,
    check_marks,
    check_places,
    discs,
    draw_corridors,
    name_places,
    ready,
)
from swirl.plots.grid_maps import split_reward_map
from swirl.plots.heatmaps import transition_map
from swirl.plots.paths import check_paths, paths_by_mode, segment_traffic
from swirl.plots.policies import check_policy, check_scale, log_odds, policy_map, preference_map, state_transitions
from swirl.plots.state_maps import state_names
from swirl.plots.style import (
    OKABE_ITO,
    PREFERENCE_COLOURS,
    PROBABILITY_COLOURS,
    REWARD_COLOURS,
    SEAM,
    add_colour_bar,
    colour_map,
    finite_range,
    set_title,
)


def arrival_map(
    env: MDP,
    table: Float[np.ndarray, "state state"],
    *,
    marks: Mapping[str, int] | None = None,
    vmin: float | int | None = None,
    vmax: float | int | None = None,
    colours: str | Colormap = REWARD_COLOURS,
    title: str | None = None,
    colour_bar: bool = True,
    label: str | None = "reward",
    shown: Sequence[int] | np.ndarray | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a value per state and the state before it, such as r(s_t, s_{t−1}).

    On a grid each cell is split by where the animal was (`split_reward_map`). On a graph each corridor has two lanes,
    traffic keeping to the right: a lane is the value of arriving at its far end by it; the disc at a state is that of
    having stayed. Without places it is a table.

    Parameters
    ----------
    table
        `table[state, previous_state]`, NaN where no such move exists: one mode of `model.reward_table()`.
    shown
        Only these states, in this order, where it is a table; by default all.

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, -1], [2, 0], [1, -1]], coordinates=[[0, 0], [1, 0], [3, 0]])
    >>> table = np.array([[np.nan, 1.0, np.nan], [2.0, np.nan, 3.0], [np.nan, 4.0, np.nan]])
    >>> ax = arrival_map(env, table)
    >>> [shape.get_array().tolist() for shape in ax.collections if shape.get_label() == "arrivals"]
    [[2.0, 1.0, 4.0, 3.0]]
    """
    check_places("table", table.shape[0], env)
    check_marks(marks, env.n_states)
    low, high = finite_range(table, vmin, vmax)
    if not has_places(env):
        names = state_names(env)
        keep = np.arange(env.n_states) if shown is None else np.asarray(shown)
        return transition_map(
            table[np.ix_(keep, keep)].T, [names[s] for s in keep], vmin=low, vmax=high, colours=colours, title=title,
            xlabel="current", ylabel="previous", colour_bar=colour_bar, label=label, ax=ax,
        )  # fmt: skip
    cells = lattice(env)
    if cells is not None and is_split(env, table):
        order = np.argsort(cells.cells)
        own = {name: int(cells.cells[state]) for name, state in (marks or {}).items()}
        return split_reward_map(
            table[np.ix_(order, order)], cells.shape, vmin=low, vmax=high, marks=own, title=title, colours=colours,
            colour_bar=colour_bar, colour_label=label, ax=ax,
        )  # fmt: skip
    drawn = layout(env)
    ax = ready(ax, drawn)
    draw_corridors(ax, drawn)
    shades = colour_map(colours)
    previous, state = drawn.moves.T
    value = table[state, previous]
    known = np.isfinite(value)
    start, end = drawn.places[previous], drawn.places[state]
    trim = (end - start) / drawn.lengths[:, None] * np.minimum(0.3 * drawn.unit, 0.3 * drawn.lengths)[:, None]
    lanes = bars(start + trim, end - trim, -0.02 * drawn.unit, CORRIDOR_WIDTH * drawn.unit / 2)
    arrivals = PolyCollection(list(lanes[known]), cmap=shades, edgecolors=SEAM, linewidths=0.3, zorder=2)
    arrivals.set(array=value[known], clim=(low, high), label="arrivals")
    ax.add_collection(arrivals, autolim=False)
    stay = np.diagonal(table)
    resting = np.flatnonzero(np.isfinite(stay))
    if resting.size:
        discs_ = discs(ax, drawn.places[resting], 0.5 * drawn.unit, "stayed", 2.5)
        discs_.set(array=stay[resting], cmap=shades, clim=(low, high), edgecolor=SEAM, linewidth=0.5)
    name_places(ax, drawn, marks)
    set_title(ax, title)
    if colour_bar:
        add_colour_bar(ax, ScalarMappable(Normalize(low, high), shades), label)
    return ax


def is_split(env: MDP, table: Float[np.ndarray, "state state"]) -> bool:
    """Whether `arrival_map` draws a table as split cells: a full grid, all of whose moves stay or go to the next cell.

    `split_key` belongs beside such maps.

    >>> import numpy as np
    >>> is_split(MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [1, 0]]), np.eye(2))
    True
    """
    cells = lattice(env)
    if cells is None or not cells.is_full:
        return False
    state, previous = np.nonzero(np.isfinite(table))
    far = np.abs(cells.row[state] - cells.row[previous]) + np.abs(cells.column[state] - cells.column[previous])
    return bool((far <= 1).all())


def moves_map(
    env: MDP,
    policy: Float[np.ndarray, "state action"],
    *,
    marks: Mapping[str, int] | None = None,
    colour: str = OKABE_ITO[0],
    vmax: float | int | None = None,
    title: str | None = None,
    colour_bar: bool = True,
    shown: Sequence[int] | np.ndarray | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw where a mode goes from each state: arrows between places (`policy_map`), or a table of P(s'|s) by name.

    Parameters
    ----------
    colour
        Of the arrows, such as the mode's.
    vmax, shown
        End of the scale, and the states to draw, where it is a table.

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]], state_names=["Walk", "Run"])
    >>> ax = moves_map(env, np.array([[0.9, 0.1], [0.5, 0.5]]))
    >>> ax.images[0].get_array().tolist()
    [[0.1, 0.9], [0.5, 0.5]]
    """
    if has_places(env):
        return policy_map(policy, env, marks=marks, colour=colour, title=title, ax=ax)
    check_policy("policy", policy, env)
    onward = state_transitions(policy, env)
    return _table(env, onward, shown, 0.0, vmax, PROBABILITY_COLOURS, title, colour_bar, "probability", ax)


def preferences(
    env: MDP,
    policy: Float[np.ndarray, "state action"],
    reference: Float[np.ndarray, "*mode _ _"],
    *,
    marks: Mapping[str, int] | None = None,
    vmax: float | int = 3.0,
    title: str | None = None,
    colour_bar: bool = True,
    label: str | None = "log-odds against the average mode (nats)",
    shown: Sequence[int] | np.ndarray | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what a mode does more than the modes on average: lanes between places (`preference_map`), or a table.

    Free of gauge: it is made of policies alone.

    Parameters
    ----------
    policy
        One mode's `[state, action]`.
    reference
        What to hold it against: `[state, action]`, or `[mode, state, action]` to be averaged, such as all policies.
    marks
        Places to ring and name, name → state; a table has none.
    vmax
        The scale runs from −vmax to vmax; stronger preferences have the colour of its end.
    shown
        Only these states, in this order, where it is a table; by default all.

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]], state_names=["Walk", "Run"])
    >>> both = np.array([[[0.75, 0.25], [0.5, 0.5]], [[0.25, 0.75], [0.5, 0.5]]])
    >>> preferences(env, both[0], both).images[0].get_array().round(3).tolist()
    [[-1.099, 1.099], [0.0, 0.0]]
    """
    if has_places(env):
        return preference_map(
            policy, reference, env, marks=marks, vmax=vmax, title=title, colour_bar=colour_bar, label=label, ax=ax
        )
    limited = np.clip(log_odds(policy, reference, env), -vmax, vmax)
    check_scale(vmax)
    return _table(env, limited, shown, -vmax, vmax, PREFERENCE_COLOURS, title, colour_bar, label, ax)


def traffic(
    env: MDP,
    states: Sequence[Int[np.ndarray, " _"]],
    modes: Sequence[Int[np.ndarray, " _"]],
    mode: int,
    *,
    marks: Mapping[str, int] | None = None,
    colours: Sequence[str] | None = None,
    title: str | None = None,
    colour_bar: bool = True,
    shown: Sequence[int] | np.ndarray | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what was done in a mode: its paths over the places (`paths_by_mode`), or a table of moves by name.

    Give stretches between gaps as sessions of their own (`behaviour.split_at_gaps`).

    Parameters
    ----------
    states, modes
        A state and a mode per step, one array per session; modes as `model.predict` returns them.
    mode
        The mode to draw.
    marks
        Places to name, name → state; a table has none.
    colours
        One per mode, for paths over places.
    shown
        Only these states, in this order, where it is a table; by default all.

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]], state_names=["Walk", "Run"])
    >>> ax = traffic(env, [np.array([0, 1, 0, 1])], [np.array([0, 0, 0, 1])], 0)
    >>> ax.images[0].get_array().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if has_places(env):
        ax = ready(ax, layout(env))
        paths_by_mode(env, states, modes, mode, marks=marks, colours=colours, title=title, ax=ax)
        # Circles reach over the edge of the map; the title must not lie under them.
        margin = 0.4 * layout(env).unit
        ax.set_xlim(ax.get_xlim()[0] - margin, ax.get_xlim()[1] + margin)
        ax.set_ylim(ax.get_ylim()[0] - margin, ax.get_ylim()[1] + margin)
        return ax
    check_paths(env, states, modes, mode)
    counts = segment_traffic(env.n_states, states, modes, mode)[0].astype(float)
    return _table(env, counts, shown, 0.0, None, PROBABILITY_COLOURS, title, colour_bar, "moves", ax)


def _table(
    env: MDP,
    values: np.ndarray,
    shown: Sequence[int] | np.ndarray | None,
    vmin: float | int | None,
    vmax: float | int | None,
    colours: str,
    title: str | None,
    colour_bar: bool,
    label: str | None,
    ax: Axes | None,
) -> Axes:
    """Draw a value per state and next state by name, without the diagonal where nothing ever stays."""
    keep = np.arange(env.n_states) if shown is None else np.asarray(shown)
    names = state_names(env)
    # Impossible moves are grey, not zero: no behaviour could have filled them.
    possible = np.zeros((env.n_states, env.n_states), bool)
    possible[tuple(possible_moves(env).T)] = True
    shown_values = np.where(possible | (np.nan_to_num(values) != 0), values, np.nan)
    return transition_map(
        shown_values[np.ix_(keep, keep)], [names[s] for s in keep], vmin=vmin, vmax=vmax, colours=colours, title=title,
        colour_bar=colour_bar, label=label, ax=ax,
    )  # fmt: skip
