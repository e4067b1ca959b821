"""Moves in any environment: rewards of arriving, policies, preferences and paths, between places or as tables of names.

As in `state_maps`, `arrival_map`, `moves_map`, `preferences` and `traffic` look at the environment and draw with what
suits it; `policy_map`, `preference_map` and `paths_by_mode` are what they draw where states have places.
`example_paths` has single segments of a mode.

Rewards are known only up to a gauge (design.md#gauge); policies are not, so pictures of what a mode does, without its
reward, belong beside reward maps.
"""

from collections.abc import Sequence
from textwrap import wrap

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize, to_rgba
from matplotlib.figure import Figure

from swirl.analysis.state_summaries import log_odds_less
from swirl.data.geometry import Layout, has_places, lattice, possible_moves
from swirl.data.mdp import MDP
from swirl.plots.checks import Marks, check_above_zero, check_marks, check_paths, check_policy, check_states
from swirl.plots.grid_maps import split_reward_map
from swirl.plots.heatmaps import transition_map
from swirl.plots.segments import runs
from swirl.plots.shapes import (
    CORRIDOR_WIDTH,
    arrows,
    bars,
    coloured,
    discs,
    floor_plan,
    hatch_places,
    name_edges,
    name_places,
    plain,
)
from swirl.plots.state_maps import Shown, state_names
from swirl.plots.style import (
    CORRIDOR,
    INK,
    OKABE_ITO,
    PREFERENCE_COLOURS,
    PROBABILITY_COLOURS,
    REWARD_COLOURS,
    SEAM,
    SOFT_INK,
    TICK_SIZE,
    TITLE_SIZE,
    checked_colours,
    colour_map,
    finish_map,
    finite_range,
    fitted,
    mixed,
    on_white,
    set_title,
)
from swirl.text import counted

AGAINST = "log-odds against the average mode (nats)"
Sessions = Sequence[Int[np.ndarray, " _"]]


def arrival_map(
    env: MDP, table: Float[np.ndarray, "state state"], *, marks: Marks | None = None, vmin: float | int | None = None,
    vmax: float | int | None = None, colours: str | Colormap = REWARD_COLOURS, title: str | None = None,
    colour_bar: bool = True, label: str | None = "reward", shown: Shown | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
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
    check_states("table", table.shape[0], env)
    check_marks(marks, env.n_states)
    low, high = finite_range(table, vmin, vmax)
    if not has_places(env):
        words = ("current", "previous")
        return _table(env, table.T, shown, low, high, colours, title, colour_bar, label, ax, words)
    cells = lattice(env)
    if cells is not None and is_split(env, table):
        order = np.argsort(cells.cells)
        own = {name: int(cells.cells[state]) for name, state in (marks or {}).items()}
        ax = split_reward_map(
            table[np.ix_(order, order)], cells.shape, vmin=low, vmax=high, marks=own, title=title, colours=colours,
            colour_bar=colour_bar, colour_label=label, ax=ax,
        )  # fmt: skip
        if not marks:
            name_edges(ax, env, np.stack([cells.column, cells.row], axis=1) + 0.5)
        return ax
    ax, drawn = floor_plan(ax, env)
    shades = colour_map(colours)
    previous, state = drawn.moves.T
    value = table[state, previous]
    known = np.isfinite(value)
    start, end = drawn.places[previous], drawn.places[state]
    trim = (end - start) / drawn.lengths[:, None] * np.minimum(0.3 * drawn.unit, 0.3 * drawn.lengths)[:, None]
    lanes = bars(start + trim, end - trim, -0.02 * drawn.unit, CORRIDOR_WIDTH * drawn.unit / 2)
    coloured(ax, lanes[known], value[known], (low, high), shades, "arrivals")
    stay = np.diagonal(table)
    resting = np.flatnonzero(np.isfinite(stay))
    if resting.size:
        stayed = discs(ax, drawn.places[resting], 0.5 * drawn.unit, "stayed", 2.5)
        stayed.set(array=stay[resting], cmap=shades, clim=(low, high), edgecolor=SEAM, linewidth=0.5)
    _name(ax, env, drawn, marks)
    return finish_map(ax, title, ScalarMappable(Normalize(low, high), shades), label, colour_bar)


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
    env: MDP, policy: Float[np.ndarray, "state action"], *, marks: Marks | None = None, colour: str = OKABE_ITO[0],
    vmax: float | int | None = None, title: str | None = None, colour_bar: bool = True, shown: Shown | None = None,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
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
    return _table(
        env, _possible(env, onward), shown, 0.0, vmax, PROBABILITY_COLOURS, title, colour_bar, "probability", ax
    )


def policy_map(
    policy: Float[np.ndarray, "state action"], env: MDP, *, marks: Marks | None = None, colour: str = OKABE_ITO[0],
    title: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw π(a|s) as arrows from each state toward each successor, wider and darker the more probable.

    P(s'|s) = Σ_a π(a|s) p(s'|s, a).  The probability of staying is the area of the disc in the
    middle.  A state whose row is NaN (uninformed) is hatched.

    Parameters
    ----------
    policy
        One mode's `[state, action]`; rows sum to one.  For policies on longer histories, average over the earlier
        states first.
    colour
        Of the arrows, such as the mode's.

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> ax = policy_map(np.array([[0.9, 0.1], [0.5, 0.5]]), env)
    >>> len([shape for shape in ax.collections if shape.get_label() == "moves"][0].get_paths())
    2
    """
    check_policy("policy", policy, env)
    ax, drawn = floor_plan(ax, env)
    onward = state_transitions(policy, env)
    state, successor = drawn.moves.T
    probability = onward[state, successor]
    shown = np.isfinite(probability) & (probability > 0)
    start, end = drawn.places[state], drawn.places[successor]
    reach = np.minimum(0.47 * drawn.lengths, 0.95 * drawn.unit) / drawn.lengths
    tips = start + (end - start) * reach[:, None]
    half = 0.13 * drawn.unit * probability
    colour = on_white(colour)
    faces = np.tile(to_rgba(colour), (int(shown.sum()), 1))
    faces[:, 3] = 0.3 + 0.7 * np.clip(probability[shown], 0, 1)
    moves = plain(ax, arrows(start, tips, half, 0.3 * drawn.unit)[shown], faces, "moves")
    moves.set_snap(False)  # else thin arrows are there or not as they fall on pixels
    stay = np.diagonal(onward)
    resting = np.flatnonzero(np.isfinite(stay) & (stay > 1e-9))
    disc = discs(ax, drawn.places[resting], 0.42 * drawn.unit * np.sqrt(stay[resting]), "stay", 2.5)
    disc.set(facecolor=colour, edgecolor="white", linewidth=0.4)
    hatch_places(ax, drawn, np.asarray(~np.isnan(policy).any(axis=1)))
    _name(ax, env, drawn, marks)
    set_title(ax, title)
    return ax


def preferences(
    env: MDP, policy: Float[np.ndarray, "state action"], reference: Float[np.ndarray, "*mode _ _"], *,
    marks: Marks | None = None, vmax: float | int = 3.0, title: str | None = None, colour_bar: bool = True,
    label: str | None = AGAINST, shown: Shown | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw what a mode does more than the modes on average: lanes between places (`preference_map`), or a table.

    Free of gauge: it is made of policies alone.

    Parameters
    ----------
    policy, reference, vmax
        As for `preference_map`.
    marks
        Places to ring and name, name → state; a table has none.
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
    check_above_zero("vmax", vmax, "the scale runs from −vmax to vmax")
    return _table(env, _possible(env, limited), shown, -vmax, vmax, PREFERENCE_COLOURS, title, colour_bar, label, ax)


def preference_map(
    policy: Float[np.ndarray, "state action"], reference: Float[np.ndarray, "*mode _ _"], env: MDP, *,
    marks: Marks | None = None, vmax: float | int = 3.0, colours: str | Colormap = PREFERENCE_COLOURS,
    title: str | None = None, colour_bar: bool = True, label: str | None = AGAINST, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw how much more a mode takes each move than the average mode does, both directions of a corridor side by side.

    log [p / (1 − p)] − log [q / (1 − q)], p = P(s'|s) in this mode and q its average over the modes of
    `reference`.  Moves keep to the right, as traffic does.  Grey: a move that is certain, or impossible, in both;
    no data (NaN).

    Parameters
    ----------
    policy
        One mode's `[state, action]`.
    reference
        What to hold it against: `[state, action]`, or `[mode, state, action]` to be averaged, such as all policies.
    vmax
        The scale runs from −vmax to vmax; stronger preferences have the colour of its end.

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> both = np.array([[[0.75, 0.25], [0.5, 0.5]], [[0.25, 0.75], [0.5, 0.5]]])
    >>> ax = preference_map(both[0], both, env)
    >>> moves = [shape for shape in ax.collections if shape.get_label() == "moves"][0]
    >>> moves.get_array().round(3).tolist()  # log 3 − log 1, and nothing
    [1.099, 0.0]
    """
    odds = log_odds(policy, reference, env)
    check_above_zero("vmax", vmax, "the scale runs from −vmax to vmax")
    ax, drawn = floor_plan(ax, env)
    odds = odds[drawn.moves[:, 0], drawn.moves[:, 1]]
    known = ~np.isnan(odds)
    corners = _lanes(drawn)
    shades = colour_map(colours).copy()
    shades.colorbar_extend = "both"  # pyright: ignore[reportAttributeAccessIssue]  # the stubs know a bool only
    moves = coloured(ax, corners[known], np.clip(odds[known], -1e3, 1e3), (-vmax, vmax), shades, "moves")
    plain(ax, corners[~known], "#C9CDCD", "forced")
    _name(ax, env, drawn, marks)
    return finish_map(ax, title, moves, label, colour_bar)


def traffic(
    env: MDP, states: Sessions, modes: Sessions, mode: int, *, marks: Marks | None = None,
    colours: Sequence[str] | None = None, title: str | None = None, colour_bar: bool = True, shown: Shown | None = None,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw what was done in a mode: its paths over the places (`paths_by_mode`), or a table of moves by name.

    Give stretches between gaps as sessions of their own (`behaviour.split_at_gaps`).

    Parameters
    ----------
    states, modes, mode
        As for `paths_by_mode`.
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
        return paths_by_mode(env, states, modes, mode, marks=marks, colours=colours, title=title, ax=ax)
    check_paths(env, states, modes, mode)
    counts = segment_traffic(env.n_states, states, modes, mode)[0].astype(float)
    return _table(env, _possible(env, counts), shown, 0.0, None, PROBABILITY_COLOURS, title, colour_bar, "moves", ax)


def paths_by_mode(
    env: MDP, states: Sessions, modes: Sessions, mode: int, *, marks: Marks | None = None,
    colours: Sequence[str] | None = None, title: str | None = None, key: bool = True, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw every segment of one mode: moves as arrows, the places where segments start and end as half-discs.

    Each direction of a move has its own arrow, on the right as traffic keeps. Its width is the number of such moves
    within segments of the mode; it is dark where that is the more frequent way, and pale where it is the way back.
    White half-discs are where segments start, black ones where they end, areas by number; a start or end that is only
    the session's own is not drawn, and nor is staying.

    Parameters
    ----------
    states, modes
        A state and a mode per step, one array per session; modes as `model.predict` returns them.
    mode
        The mode to draw.
    colours
        One per mode, such as `named_mode_colours(mode_names)`.
    key
        Write under the map what the widths and half-discs stand for.

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> ax = paths_by_mode(env, [np.array([0, 1, 0, 0])], [np.array([1, 0, 0, 1])], 0)
    >>> ax.texts[0].get_text()
    'widest arrow: 1 of 1 move (100 %)\\nwhite half-discs: 1 start\\nblack half-discs: 1 end'
    """
    check_paths(env, states, modes, mode)
    counts, starts, ends = segment_traffic(env.n_states, states, modes, mode)
    colour = _of_mode(colours, modes, mode)
    ax, drawn, is_open = _ground(ax, env)
    pairs = drawn.moves[counts[drawn.moves[:, 0], drawn.moves[:, 1]] > 0]
    there, back = counts[pairs[:, 0], pairs[:, 1]], counts[pairs[:, 1], pairs[:, 0]]
    total, widest = int(there.sum()), int(there.max(initial=0))
    # In an open arena arrows that cross must not cover one another; corridors of a maze have more room.
    width = (ROOM - GAP if is_open else 0.45) * drawn.unit * there / max(1, widest)
    order = np.argsort(-width, kind="stable")
    shades = np.where((there >= back)[:, None], to_rgba(colour), to_rgba(mixed(colour, "white", 0.6)))
    lanes = _flows(drawn, pairs[order], width[order], (0.2, 0.05) if is_open else (0.5, 0.25))
    # Arrows thinner than a pixel must be pale, not there or not there as snapping to pixels falls.
    plain(ax, lanes, shades[order], "moves").set_snap(False)
    most = max(1, int(starts.max(initial=0)), int(ends.max(initial=0)))
    radii = np.zeros(env.n_states)
    for count, side, face, label in ((starts, -1, "white", "starts"), (ends, 1, INK, "ends")):
        at = np.flatnonzero(count >= FEW * most)
        radius = (ROOM if is_open else 0.5) * drawn.unit * np.sqrt(count[at] / most)
        radii[at] = np.maximum(radii[at], radius)
        halves = plain(ax, _half_discs(drawn.places[at], side * radius), face, label, edge=INK, line=0.7, zorder=3)
        halves.set_clip_on(False)
    name_places(ax, drawn, marks, rings=False, radii=radii)
    taken = 0.0 if marks else name_edges(ax, env, drawn.places)
    set_title(ax, title)
    if key:
        share = f" ({widest / total:.0%})".replace("%", " %") if total else ""
        widest_of = fitted(ax, f"widest arrow: {widest:,}", f"of {counted(total, 'move')}{share}", TICK_SIZE)
        lines = (
            f"{widest_of}\nwhite half-discs: {counted(int(starts.sum()), 'start')}\n"
            f"black half-discs: {counted(int(ends.sum()), 'end')}"
        )
        ax.annotate(
            lines, (0.5, 0), (0, -taken - 2), xycoords="axes fraction", textcoords="offset points", ha="center",
            va="top", fontsize=TICK_SIZE, color=SOFT_INK, annotation_clip=False,
        )  # fmt: skip
    return ax


def example_paths(
    env: MDP, states: Sessions, modes: Sessions, mode: int, *, n: int = 3, marks: Marks | None = None,
    colours: Sequence[str] | None = None, title: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw a few segments of one mode from start (white) to end (black), of a typical length (`typical_segments`).

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> ax = example_paths(env, [np.array([0, 1, 0, 0])], [np.array([1, 0, 0, 1])], 0)
    >>> ax.get_title(loc="left"), len(ax.lines)
    ('1 example of 2 steps', 1)
    """
    check_paths(env, states, modes, mode)
    colour = _of_mode(colours, modes, mode)
    chosen = typical_segments(states, modes, mode, n)
    ax, drawn, _ = _ground(ax, env)
    for i, (session, first, after) in enumerate(chosen):
        path = np.asarray(states[session][first:after])
        path = path[np.append(True, path[1:] != path[:-1])]
        start, end = drawn.places[path[:-1]], drawn.places[path[1:]]
        along = (end - start) / np.linalg.norm(end - start, axis=1, keepdims=True)
        # There and back are side by side, and so are the examples.
        right = np.stack([along[:, 1], -along[:, 0]], axis=1) * 0.05 * drawn.unit
        aside = (i - (len(chosen) - 1) / 2) * 0.19 * drawn.unit
        line = np.stack([start + right, end + right], axis=1).reshape(-1, 2) + aside
        shade = (mixed(colour, "black", 0.5), colour, mixed(colour, "white", 0.4))[i % 3]
        ax.plot(*line.T, color=shade, lw=1.3, solid_joinstyle="round", zorder=2 + 0.1 * i, label=f"example {i}")
        for place, face in ((line[0], "white"), (line[-1], INK)):
            disc = discs(ax, place[None], 0.16 * drawn.unit, "start" if face == "white" else "end", 3)
            disc.set(facecolor=face, edgecolor=INK, linewidth=0.7, clip_on=False)
    name_places(ax, drawn, marks, rings=False)
    if not marks:
        name_edges(ax, env, drawn.places)
    lengths = [after - first for _, first, after in chosen]
    if title is None and chosen:
        most = counted(max(lengths), "step")
        steps = most if len(set(lengths)) == 1 else f"{min(lengths)} to {most}"
        title = fitted(ax, counted(len(chosen), "example"), f"of {steps}", TITLE_SIZE)
    set_title(ax, "no segment with a move" if title is None else title)
    return ax


FLOWS = (
    "Arrows: moves, the wider the more often; dark: the way that is taken more often, pale: the way back.",
    "Half-discs: where segments of the mode start (white) and end (black), by number. Lines: single segments.",
)


def explain_flows(figure: Figure) -> None:
    """Write under maps of `paths_by_mode` and `example_paths` how to read them.

    >>> figure = Figure(figsize=(7.0, 3.0))
    >>> explain_flows(figure)
    >>> figure.texts[0].get_text().splitlines()[0][:30]
    'Arrows: moves, the wider the m'
    """
    room = int(figure.get_size_inches()[0] * 72 / (0.52 * TICK_SIZE))
    words = "\n".join("\n".join(wrap(line, room)) for line in FLOWS)
    figure.supxlabel(words, fontsize=TICK_SIZE, color=SOFT_INK)


def typical_segments(states: Sessions, modes: Sessions, mode: int, n: int) -> list[tuple[int, int, int]]:
    """Segments (session, first step, step after) of a mode that are of typical length, of other sessions if they can.

    Half of the mode's steps lie in segments that are shorter than that. Those are taken that have a move and are whole:
    cut by neither end of a session, unless all are.

    >>> import numpy as np
    >>> path, labels = np.arange(12), np.array([1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1])
    >>> typical_segments([path], [labels], 0, 2)
    [(0, 1, 4), (0, 8, 11)]
    """
    found = []
    for session, (path, labels) in enumerate(zip(states, modes, strict=True)):
        for first, after, label in runs(labels) if len(labels) else []:
            if label == mode and (path[first + 1 : after] != path[first : after - 1]).any():
                found.append((first > 0 and after < len(labels), session, int(first), int(after)))
    whole = [each[1:] for each in found if each[0]] or [each[1:] for each in found]
    if not whole:
        return []
    lengths = np.sort([after - first for _, first, after in whole])
    typical = int(lengths[np.searchsorted(np.cumsum(lengths), lengths.sum() / 2)])
    seen: dict[int, int] = {}
    turns = []
    for each in sorted(whole, key=lambda each: (abs(each[2] - each[1] - typical), each)):
        seen[each[0]] = seen.get(each[0], 0) + 1  # the second of a session comes after the first of the others
        turns.append((seen[each[0]], abs(each[2] - each[1] - typical), each))
    return sorted(each for _, _, each in sorted(turns)[:n])


ROOM = 0.26
"""Of the smallest distance between places: what each place keeps free of arrows, for its half-discs."""
GAP = 0.02
"""… between the two directions."""
FEW = 0.01
"""Of the most starts or ends at a place: fewer are not drawn."""


def _of_mode(colours: Sequence[str] | None, modes: Sessions, mode: int) -> str:
    return on_white(checked_colours(colours, 1 + max([mode, *(int(path.max(initial=0)) for path in modes)]))[mode])


def _ground(ax: Axes | None, env: MDP) -> tuple[Axes, Layout, bool]:
    """The floor plan; an open arena, in which every cell leads to its neighbours, is drawn as cells."""
    ax, drawn = floor_plan(ax, env)
    cells = lattice(env)
    if cells is None:
        return ax, drawn, False
    step = np.stack([cells.column, -cells.row], axis=1)
    sides = {tuple(sorted(pair)) for pair in drawn.moves.tolist() if np.abs(step[pair[0]] - step[pair[1]]).sum() == 1}
    near = (np.abs(step[:, None] - step[None]).sum(axis=2) == 1).sum() // 2
    if len(sides) < near:  # there are walls
        return ax, drawn, False
    for shape in list(ax.collections):
        shape.remove()
    half = 0.5 * drawn.unit * np.array([1.0, cells.aspect]) / min(1.0, cells.aspect)
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * half
    plain(ax, drawn.places[:, None] + corners, CORRIDOR, "cells", edge="white", line=0.8, zorder=0.6)
    return ax, drawn, True


def _flows(
    drawn: Layout, pairs: Int[np.ndarray, "move 2"], width: Float[np.ndarray, " move"], head: tuple[float, float]
) -> np.ndarray:
    """Corners of an arrow for each move, on the right of the line between its places: foot, point, wing, neck, foot.

    `head`: how long it is, and how far it stands out at least where the arrow is so wide itself.
    """
    start, end = drawn.places[pairs].swapaxes(0, 1)
    length = np.linalg.norm(end - start, axis=1, keepdims=True)
    along = (end - start) / length
    right = np.stack([along[:, 1], -along[:, 0]], axis=1)
    gap, trim, wide = GAP * drawn.unit, ROOM * drawn.unit, width[:, None]
    foot, point = start + along * trim + right * gap, end - along * trim + right * gap
    neck = point - along * np.minimum(head[0] * drawn.unit, 0.45 * (length - 2 * trim))
    wing = neck + right * (wide + np.minimum(np.maximum(0.4 * wide, head[1] * drawn.unit), wide))
    return np.stack([foot, point, wing, neck + right * wide, foot + right * wide], axis=1)


def _half_discs(places: Float[np.ndarray, "place 2"], radius: Float[np.ndarray, " place"]) -> np.ndarray:
    """Corners of the right halves of discs; of the left ones, where a radius is negative."""
    turn = np.linspace(-np.pi / 2, np.pi / 2, 24)
    return places[:, None] + np.stack([np.cos(turn), np.sin(turn)], axis=1) * radius[:, None, None]


def _name(ax: Axes, env: MDP, drawn: Layout, marks: Marks | None) -> None:
    """Name the marked places; where there are none, the rows and columns of a grid."""
    name_places(ax, drawn, marks)
    if not marks:
        name_edges(ax, env, drawn.places)


def state_transitions(policy: Float[np.ndarray, "state action"], env: MDP) -> Float[np.ndarray, "state state"]:
    """P(s'|s) = Σ_a π(a|s) p(s'|s, a) over the available actions; a row is NaN where the policy is.

    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]])
    >>> state_transitions(np.array([[0.9, 0.1], [0.5, 0.5]]), env).tolist()
    [[0.1, 0.9], [0.5, 0.5]]
    """
    tables = env.successors
    chosen = np.where(env.available, policy, 0.0)
    weight = chosen[:, :, None] * np.asarray(tables.probability)
    onward = np.zeros((env.n_states, env.n_states))
    np.add.at(onward, (np.arange(env.n_states)[:, None, None], np.asarray(tables.next)), weight)
    onward[~np.isfinite(chosen).all(axis=1)] = np.nan
    return onward


def log_odds(
    policy: Float[np.ndarray, "state action"], reference: Float[np.ndarray, "*mode _ _"], env: MDP
) -> Float[np.ndarray, "state state"]:
    """Log-odds of each move less those in the average of `reference`; NaN where it is certain or impossible in both.

    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]])
    >>> log_odds(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.5, 0.5], [1.0, 0.0]]), env).tolist()
    [[0.0, 0.0], [nan, nan]]
    """
    check_policy("policy", policy, env)
    stack = reference[None] if reference.ndim == 2 else reference
    if stack.ndim != 3 or not len(stack):
        raise ValueError(f"reference: got shape {reference.shape}, expected [state, action] or [mode, state, action]")
    for index, row in enumerate(stack):
        check_policy("reference" if reference.ndim == 2 else f"reference[{index}]", row, env)
    average = np.mean([state_transitions(row, env) for row in stack], axis=0)
    return log_odds_less(state_transitions(policy, env), average)


def segment_traffic(
    n_states: int, states: Sequence[np.ndarray], modes: Sequence[np.ndarray], mode: int
) -> tuple[Int[np.ndarray, "state state"], Int[np.ndarray, " state"], Int[np.ndarray, " state"]]:
    """Count moves (from, to) within segments of a mode, and the states in which its segments start and end.

    >>> import numpy as np
    >>> traffic, starts, ends = segment_traffic(3, [np.array([0, 1, 2, 1])], [np.array([1, 0, 0, 1])], 0)
    >>> np.argwhere(traffic).tolist(), starts.tolist(), ends.tolist()
    ([[1, 2]], [0, 1, 0], [0, 0, 1])
    """
    traffic = np.zeros((n_states, n_states), dtype=np.int64)
    starts, ends = np.zeros((2, n_states), dtype=np.int64)
    for path, labels in zip(states, modes, strict=True):
        inside = (labels[:-1] == mode) & (labels[1:] == mode)
        np.add.at(traffic, (path[:-1][inside], path[1:][inside]), 1)
        for first, after, label in runs(labels) if len(labels) else []:
            if label == mode:
                starts[path[first]] += first > 0
                ends[path[after - 1]] += after < len(labels)
    return traffic, starts, ends


def _lanes(drawn: Layout) -> np.ndarray:
    """Return an arrow-shaped lane per move, on the right of its corridor's middle, from junction to junction."""
    start, end = drawn.places[drawn.moves].swapaxes(0, 1)
    along = (end - start) / drawn.lengths[:, None]
    right = np.stack([along[:, 1], -along[:, 0]], axis=1)
    width = 0.5 * CORRIDOR_WIDTH * drawn.unit
    gap, trim, tip = 0.06 * width, 0.12 * drawn.unit, 0.28 * drawn.unit
    foot, point = start + along * trim + right * gap, end - along * trim + right * gap
    neck = point - along * tip
    # The point lies on the inner edge of the lane: a pair of lanes reads as two halves of a double arrow.
    return np.stack([foot, point, neck + right * (width - gap), foot + right * (width - gap)], axis=1)


def _possible(env: MDP, values: np.ndarray) -> np.ndarray:
    """Values of moves, NaN where none is possible: grey, not zero, as no behaviour could have filled it."""
    possible = np.zeros((env.n_states, env.n_states), bool)
    possible[tuple(possible_moves(env).T)] = True
    return np.where(possible | (np.nan_to_num(values) != 0), values, np.nan)


def _table(
    env: MDP, values: np.ndarray, shown: Shown | None, vmin: float | int, vmax: float | int | None,
    colours: str | Colormap, title: str | None, colour_bar: bool, label: str | None, ax: Axes | None,
    words: tuple[str, str] = ("next", "current"),
) -> Axes:  # fmt: skip
    """Draw a value per pair of states by their names; `words` stand under and beside the table."""
    keep = np.arange(env.n_states) if shown is None else np.asarray(shown)
    names = state_names(env)
    return transition_map(
        values[np.ix_(keep, keep)], [names[s] for s in keep], vmin=vmin, vmax=vmax, colours=colours, title=title,
        xlabel=words[0], ylabel=words[1], colour_bar=colour_bar, label=label, ax=ax,
    )  # fmt: skip
