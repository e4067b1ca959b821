"""The shapes that cells of a grid and graphs of places are drawn with, all in data units."""

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, PolyCollection
from matplotlib.colors import Colormap
from matplotlib.patheffects import withStroke

from swirl.data.geometry import Layout, edges, lattice, layout
from swirl.data.mdp import MDP
from swirl.plots.checks import Marks, check_marks
from swirl.plots.style import CORRIDOR, INK, LABEL_SIZE, SEAM, SMALLEST, SOFT_INK, axes_inches, colour_map, new_axes

CORRIDOR_WIDTH = 0.64  # in units of the smallest distance between two places


def floor_plan(ax: Axes | None, env: MDP, *, colour: str = CORRIDOR) -> tuple[Axes, Layout]:
    """Draw the corridors of an environment that has coordinates; return the axes, and how its places lie.

    Corridors are wide light bars with a thin wall: the floor plan that values and paths lie on.  The axes hold all
    places, without frame and of equal aspect; a fresh figure has their proportions.

    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> ax, drawn = floor_plan(None, env)
    >>> [float(end) for end in ax.get_xlim()], drawn.places.tolist()
    ([-1.0, 3.0], [[0.0, 0.0], [2.0, 0.0]])
    >>> [shape.get_label() for shape in ax.collections]
    ['walls', 'wall ends', 'corridors', 'corridor ends']
    """
    drawn = layout(env)
    margin = 0.5 * drawn.unit
    (left, bottom), (right, top) = drawn.places.min(axis=0) - margin, drawn.places.max(axis=0) + margin
    if ax is None:
        ax = new_axes(float(np.clip(2.9 * (right - left) / (top - bottom), 0.6 * 2.9, 2.5 * 2.9)) + 0.5, 2.9)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ax.set_aspect("equal")
    ax.set_axis_off()
    start, end = drawn.places[drawn.corridors].swapaxes(0, 1)
    half = CORRIDOR_WIDTH * drawn.unit / 2
    # A wall is a line's width in points, so that it is seen in small maps too.
    for name, face, edge, zorder in (("wall", SEAM, 1.6, 0.5), ("corridor", colour, 0.0, 0.6)):
        plain(ax, bars(start, end, half, half), face, f"{name}s", edge=face, line=edge, zorder=zorder)
        ends = discs(ax, drawn.places, 2 * half, f"{name} ends", zorder)
        ends.set(facecolor=face, edgecolor=face, linewidth=edge, clip_on=False)
    return ax, drawn


def bars(
    start: Float[np.ndarray, "bar 2"],
    end: Float[np.ndarray, "bar 2"],
    left: np.ndarray | float | int,
    right: np.ndarray | float | int,
) -> Float[np.ndarray, "bar 4 2"]:
    """Return the corners of straight bars that reach `left` and `right` of their axis, seen along it.

    >>> bars(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]]), 0.25, 0.0)[0].tolist()
    [[0.0, 0.25], [1.0, 0.25], [1.0, 0.0], [0.0, 0.0]]
    """
    along = (end - start) / np.linalg.norm(end - start, axis=1, keepdims=True)
    aside = np.stack([-along[:, 1], along[:, 0]], axis=1)  # to the left
    more = aside * np.broadcast_to(np.asarray(left, dtype=float), len(start))[:, None]
    less = aside * np.broadcast_to(np.asarray(right, dtype=float), len(start))[:, None]
    return np.stack([start + more, end + more, end - less, start - less], axis=1)


def arrows(
    start: Float[np.ndarray, "arrow 2"], end: Float[np.ndarray, "arrow 2"], half: np.ndarray | float | int, head: float
) -> Float[np.ndarray, "arrow 7 2"]:
    """Return the corners of arrows of half-width `half`, with a head twice as wide and at most `head` long.

    >>> arrows(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]]), 0.1, 0.3)[0, 3].tolist()
    [1.0, 0.0]
    """
    length = np.linalg.norm(end - start, axis=1, keepdims=True)
    neck = end - (end - start) / length * np.minimum(head, 0.6 * length)
    half = np.broadcast_to(np.asarray(half, dtype=float), len(start))
    shaft, wings = bars(start, neck, half, half), bars(start, neck, 2 * half, 2 * half)
    corners = [shaft[:, 0], shaft[:, 1], wings[:, 1], end, wings[:, 2], shaft[:, 2], shaft[:, 3]]
    return np.stack(corners, axis=1)


def discs(
    ax: Axes, places: Float[np.ndarray, "disc 2"], diameters: np.ndarray | float | int, label: str, zorder: float | int
) -> EllipseCollection:
    """Add discs of the given diameters in data units; colours are for the caller to set.

    >>> discs(new_axes(), np.zeros((2, 2)), 0.5, "states", 1).get_label()
    'states'
    """
    wide = np.broadcast_to(np.asarray(diameters, dtype=float), len(places)).copy()
    drawn = EllipseCollection(
        wide, wide, np.zeros(len(places)), units="xy", offsets=places, offset_transform=ax.transData, label=label,
        zorder=zorder,
    )  # fmt: skip
    ax.add_collection(drawn, autolim=False)
    return drawn


def coloured(
    ax: Axes, polygons: np.ndarray | list[np.ndarray], values: Float[np.ndarray, " polygon"],
    limits: tuple[float | int, float | int], colours: str | Colormap, label: str, *, edge: str = SEAM,
    line: float | int = 0.3, zorder: float | int = 2,
) -> PolyCollection:  # fmt: skip
    """Add polygons in the colours of their values, on a scale between the two limits.

    >>> square = np.array([[[0, 0], [1, 0], [1, 1], [0, 1]]])
    >>> coloured(new_axes(), square, np.array([0.5]), (0, 1), "YlGnBu", "states").get_array().tolist()
    [0.5]
    """
    shapes = PolyCollection(
        list(polygons), cmap=colour_map(colours), edgecolors=edge, linewidths=line, label=label, zorder=zorder
    )
    shapes.set(array=values, clim=limits)
    ax.add_collection(shapes, autolim=False)
    return shapes


def plain(
    ax: Axes, polygons: np.ndarray, face: str | np.ndarray, label: str, *, edge: str = SEAM, line: float | int = 0,
    zorder: float | int = 2, alpha: float | None = None,
) -> PolyCollection:  # fmt: skip
    """Add polygons whose colour is given.

    >>> plain(new_axes(), np.array([[[0, 0], [1, 0], [1, 1]]]), "white", "moves").get_label()
    'moves'
    """
    shapes = PolyCollection(
        list(polygons), facecolors=face, edgecolors=edge, linewidths=line, label=label, zorder=zorder, alpha=alpha
    )
    ax.add_collection(shapes, autolim=False)
    return shapes


def hatch_cells(ax: Axes, polygons: np.ndarray) -> None:
    """Add white, hatched polygons: nothing is known there.

    >>> ax = new_axes()
    >>> hatch_cells(ax, np.array([[[0, 0], [1, 0], [1, 1]]]))
    >>> ax.collections[0].get_label()
    'uninformed'
    """
    plain(ax, polygons, "white", "uninformed", edge=SOFT_INK, zorder=1).set_hatch("//////")


def hatch_places(ax: Axes, drawn: Layout, known: Bool[np.ndarray, " state"]) -> None:
    """Add white, hatched discs at the places of which nothing is known, if there are any.

    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> ax = new_axes()
    >>> hatch_places(ax, layout(env), np.array([True, False]))
    >>> len(ax.collections[0].get_offsets())
    1
    """
    if not known.all():
        hatched = discs(ax, drawn.places[~known], CORRIDOR_WIDTH * drawn.unit, "uninformed", 2)
        hatched.set(facecolor="white", edgecolor=SOFT_INK, linewidth=0.4, hatch="//////")


def name_places(
    ax: Axes,
    drawn: Layout,
    marks: Marks | None,
    *,
    rings: bool = True,
    radii: Float[np.ndarray, " state"] | None = None,
) -> None:
    """Ring the marked states and write their names beside them, where they cover least of the graph.

    `radii` says how far something drawn at each state reaches, for the names to keep clear of it.

    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> ax, drawn = floor_plan(None, env)
    >>> name_places(ax, drawn, {"home": 0})
    >>> ax.texts[0].get_text()
    'home'
    """
    check_marks(marks, len(drawn.places))
    if not marks:
        return
    where = drawn.places[list(marks.values())]
    if rings:
        ring = discs(ax, where, (CORRIDOR_WIDTH + 0.16) * drawn.unit, "marks", 4)
        ring.set(facecolor="none", edgecolor=INK, linewidth=1.2, clip_on=False)
    busy = _sampled(drawn, radii)
    per_point = _data_per_point(ax)
    for name, state in marks.items():
        reach = 0.62 * drawn.unit if radii is None else max(0.62 * drawn.unit, radii[state] + 0.15 * drawn.unit)
        size = np.array([0.6 * len(name), 1.0]) * LABEL_SIZE * per_point
        # Panels of different flows stand side by side: a name beside one of the maps would set them apart.
        outside = 0.5 if radii is None else 20.0
        (x, y), horizontal, vertical = _free_spot(drawn.places[state], reach, size, drawn, busy, outside)
        text = ax.text(x, y, name, ha=horizontal, va=vertical, fontsize=LABEL_SIZE, color=INK, zorder=5)
        text.set_path_effects([withStroke(linewidth=1.8, foreground="white")])
        # The next name keeps away from this one: two in a line would read as one.
        middle = np.array([x, y]) + size / 2 * [_TOWARD[horizontal], _TOWARD[vertical]]
        grid = np.stack(np.meshgrid(*[np.linspace(-0.6, 0.6, 7)] * 2), axis=-1).reshape(-1, 2)
        busy = np.concatenate([busy, np.repeat(middle + grid * size, 3, axis=0)])


def name_edges(ax: Axes, env: MDP, places: Float[np.ndarray, "state 2"]) -> float:
    """Write under and beside a grid what its columns and rows are called in the names of its cells.

    Nothing where names are not made of the two, or where it is no grid. `places` are the middles of the cells as drawn.
    Gives how many points under the axes are taken.

    >>> from swirl.datasets.gridworld import gridworld_env
    >>> ax, drawn = floor_plan(None, gridworld_env())
    >>> taken = name_edges(ax, gridworld_env(), drawn.places)
    >>> [text.get_text() for text in ax.texts]
    ['0', '1', '2', '3', '4', 'column', '0', '1', '2', '3', '4', 'row']
    """
    cells = lattice(env)
    found = None if cells is None or env.state_names is None else edges(cells, env.state_names)
    if cells is None or found is None:
        return 0.0
    width, height = 72 * np.array(axes_inches(ax)) / cells.shape[::-1]
    longest, line = 0.62 * SMALLEST * max(map(len, found.columns)), 1.2 * SMALLEST
    style = {"textcoords": "offset points", "fontsize": SMALLEST, "color": SOFT_INK, "annotation_clip": False}
    under, beside = ax.get_xaxis_transform(), ax.get_yaxis_transform()
    taken = 2.0
    for index in range(0, len(found.columns), -(-int(longest + 3) // max(1, int(width)))):
        x = float(places[cells.column == index][0, 0])
        ax.annotate(found.columns[index], (x, 0), (0, -taken), xycoords=under, ha="center", va="top", **style)
    taken += line
    if found.words[1]:
        ax.annotate(found.words[1], (0.5, 0), (0, -taken), xycoords=ax.transAxes, ha="center", va="top", **style)
        taken += line
    for index in range(0, len(found.rows), -(-int(line) // max(1, int(height)))):
        y = float(places[cells.row == index][0, 1])
        ax.annotate(found.rows[index], (0, y), (-3, 0), xycoords=beside, ha="right", va="center", **style)
    if found.words[0]:
        aside = 5 + 0.62 * SMALLEST * max(map(len, found.rows))
        turned = {"rotation": 90, "ha": "right", "va": "center"}
        ax.annotate(found.words[0], (0, 0.5), (-aside, 0), xycoords=ax.transAxes, **turned, **style)
    return taken


# Beside, below, above; then above and below with the text's end or beginning at the place.
_SPOTS: tuple[tuple[Literal["left", "center", "right"], Literal["bottom", "center", "top"]], ...] = (
    ("left", "center"),
    ("right", "center"),
    ("center", "top"),
    ("center", "bottom"),
    ("right", "bottom"),
    ("left", "bottom"),
    ("right", "top"),
    ("left", "top"),
)

# Where a text lies of its anchor, by its alignment.
_TOWARD = {"left": 1.0, "bottom": 1.0, "right": -1.0, "top": -1.0, "center": 0.0}


def _free_spot(
    place: np.ndarray, reach: float, size: np.ndarray, drawn: Layout, busy: np.ndarray, outside: float
) -> tuple[tuple[float, float], Literal["left", "center", "right"], Literal["bottom", "center", "top"]]:
    """Return (x, y) and the alignments with which a text of that size covers least, and stays in the map if it can.

    `outside`: how much a unit beyond the map counts, in points that are covered.
    """
    low, high = drawn.places.min(axis=0) - drawn.unit / 2, drawn.places.max(axis=0) + drawn.unit / 2
    options = []
    for spot in _SPOTS:
        direction = np.array([_TOWARD[word] for word in spot])
        # A text above or below that is aligned at the place begins a little before it.
        anchor = place + reach * direction * (np.array([-0.6, 1.0]) if direction.all() else 1.0)
        centre = anchor + direction * size / 2
        covered = (np.abs(busy - centre) < size / 2 + 0.32 * drawn.unit).all(axis=1).sum()
        beyond = np.maximum(0, [low - (centre - size / 2), centre + size / 2 - high]).sum() / drawn.unit
        # The title stands above the map, at the left.
        above = max(0.0, float(centre[1] + size[1] / 2 - high[1])) / drawn.unit
        options.append(
            (float(covered + outside * beyond + 4 * above), len(options), (float(anchor[0]), float(anchor[1])), *spot)
        )
    return min(options)[2:]


def _sampled(drawn: Layout, radii: np.ndarray | None) -> np.ndarray:
    """Return points along all corridors, about four per unit, and around the circles at the states."""
    points = [drawn.places]
    for a, b in drawn.places[drawn.corridors]:
        n = max(2, round(4 * float(np.linalg.norm(b - a)) / drawn.unit))
        points.append(np.linspace(a, b, n + 1))
    if radii is not None:
        turn = np.linspace(0, 2 * np.pi, 16, endpoint=False)
        around = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        wide = radii > 0.5 * drawn.unit
        inner = radii[wide] - 0.25 * drawn.unit  # names keep a third of a unit away from every point
        points.append((drawn.places[wide][:, None] + inner[:, None, None] * around).reshape(-1, 2))
    return np.concatenate(points)


def _data_per_point(ax: Axes) -> float:
    """Return how many data units a point of type measures, before the layout is settled: good to a fifth or so."""
    spans = np.abs(np.ptp([ax.get_xlim(), ax.get_ylim()], axis=1))
    return float(np.max(spans / axes_inches(ax))) / 72
