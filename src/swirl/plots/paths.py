"""Where the animal goes in a mode: all segments of the mode on the graph, as traffic (the paper's Figure 3F)."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Int
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from swirl.data.geometry import layout
from swirl.data.mdp import MDP
from swirl.errors import Faults
from swirl.plots.graph_shapes import bars, discs, draw_corridors, name_places, ready
from swirl.plots.segments import runs
from swirl.plots.style import INK, SOFT_INK, TICK_SIZE, checked_colours, set_title
from swirl.text import counted


def paths_by_mode(
    env: MDP,
    states: Sequence[Int[np.ndarray, " _"]],
    modes: Sequence[Int[np.ndarray, " _"]],
    mode: int,
    *,
    marks: Mapping[str, int] | None = None,
    colours: Sequence[str] | None = None,
    title: str | None = None,
    key: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw every segment of one mode: traffic as width, the places where segments start and end as circles.

    Each direction of a corridor has its lane, on the right as traffic keeps; its width is the number of moves
    within segments of the mode, so a hundred thousand steps stay readable.  Rings are where segments start, discs
    where they end, areas by number; a start or end that is only the session's own is not drawn.

    Parameters
    ----------
    states, modes
        A state and a mode per step, one array per session; modes as `model.predict` returns them.
    mode
        The mode to draw.
    colours
        One per mode, such as `named_mode_colours(mode_names)`.
    key
        Write under the map what the widths and circles stand for.

    Examples
    --------
    >>> import numpy as np
    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> ax = paths_by_mode(env, [np.array([0, 1, 0, 0])], [np.array([1, 0, 0, 1])], 0)
    >>> ax.texts[0].get_text()
    'widest lane: 1 move\\nring: 1 start   disc: 1 end'
    """
    check_paths(env, states, modes, mode)
    drawn = layout(env)
    traffic, starts, ends = segment_traffic(env.n_states, states, modes, mode)
    colour = checked_colours(colours, 1 + max([mode, *(int(path.max(initial=0)) for path in modes)]))[mode]
    ax = ready(ax, drawn)
    draw_corridors(ax, drawn)

    moves = traffic[drawn.moves[:, 0], drawn.moves[:, 1]]
    used = moves > 0
    widest = max(1, int(moves.max(initial=0)))
    start, end = drawn.places[drawn.moves[used]].swapaxes(0, 1)
    # The widest lane is wider than the corridor: what happens in the quiet ones must be seen too.
    lanes = bars(start, end, 0.0, 0.62 * drawn.unit * moves[used] / widest)
    # Lanes thinner than a pixel must be pale, not there or not there as snapping to pixels falls.
    shapes = PolyCollection(list(lanes), facecolors=colour, alpha=0.8, linewidths=0, label="moves", zorder=2)
    shapes.set_snap(False)
    ax.add_collection(shapes, autolim=False)
    radii = np.zeros(env.n_states)
    most = max(1, int(starts.max(initial=0)), int(ends.max(initial=0)))
    for count, label, zorder in ((ends, "ends", 3), (starts, "starts", 3.5)):
        at = np.flatnonzero(count)
        diameter = 1.5 * drawn.unit * np.sqrt(count / most)
        radii = np.maximum(radii, diameter / 2)
        circle = discs(ax, drawn.places[at], diameter[at], label, zorder)
        circle.set_clip_on(False)
        if label == "ends":
            circle.set(facecolor=INK, alpha=0.75, linewidth=0)
        else:
            circle.set(facecolor="none", edgecolor=INK, linewidth=0.7)
    name_places(ax, drawn, marks, rings=False, radii=radii)  # rings mean starts here
    set_title(ax, title)
    if key:
        lines = f"widest lane: {counted(int(moves.max(initial=0)), 'move')}"
        lines += f"\nring: {counted(int(starts.sum()), 'start')}   disc: {counted(int(ends.sum()), 'end')}"
        ax.text(0.5, -0.01, lines, transform=ax.transAxes, ha="center", va="top", fontsize=TICK_SIZE, color=SOFT_INK)
    return ax


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


def check_paths(env: MDP, states: Sequence[np.ndarray], modes: Sequence[np.ndarray], mode: int) -> None:
    """Raise unless every step has a state of the environment and a mode.

    >>> check_paths(MDP.deterministic([[1, 0], [0, 1]]), [np.array([0, 1])], [np.array([0, 0])], 0)
    """
    faults = Faults()
    if len(states) != len(modes):
        faults.add(f"states, modes: got {len(states)} and {len(modes)} sessions, expected equal numbers")
    for session, (path, labels) in enumerate(zip(states, modes, strict=False)):
        if path.shape != labels.shape or path.ndim != 1:
            faults.add(f"session {session}: states {path.shape}, modes {labels.shape}; expected a mode per state")
        elif path.size and not (path.min() >= 0 and path.max() < env.n_states):
            step = int(np.flatnonzero((path < 0) | (path >= env.n_states))[0])
            faults.add(f"states: session {session}, step {step} is {path[step]}, expected 0 to {env.n_states - 1}")
    if mode < 0:
        faults.add(f"mode: got {mode}, expected 0, 1, …")
    faults.raise_if_any()
