"""The shapes that graphs of places are drawn with, all in data units."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, PolyCollection
from matplotlib.patheffects import withStroke

from swirl.data.geometry import Layout
from swirl.data.mdp import MDP
from swirl.plots.style import CORRIDOR, INK, LABEL_SIZE, SEAM, axes_inches, new_axes

CORRIDOR_WIDTH = 0.64  # in units of the smallest distance between two places


def ready(ax: Axes | None, drawn: Layout, *, height: float = 2.9) -> Axes:
    """Return axes without frame, of equal aspect, that hold all places; a fresh figure has their proportions.

    >>> from swirl.data.geometry import layout
    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> [float(end) for end in ready(None, layout(env)).get_xlim()]
    [-1.0, 3.0]
    """
    margin = 0.5 * drawn.unit
    (left, bottom), (right, top) = drawn.places.min(axis=0) - margin, drawn.places.max(axis=0) + margin
    if ax is None:
        ax = new_axes(
            float(np.clip(height * (right - left) / (top - bottom), 0.6 * height, 2.5 * height)) + 0.5, height
        )
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


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
        wide,
        wide,
        np.zeros(len(places)),
        units="xy",
        offsets=places,
        offset_transform=ax.transData,
        label=label,
        zorder=zorder,
    )
    ax.add_collection(drawn, autolim=False)
    return drawn


def draw_corridors(ax: Axes, drawn: Layout, *, colour: str = CORRIDOR, width: float = CORRIDOR_WIDTH) -> None:
    """Draw the corridors as wide light bars with a thin wall: the floor plan that values and paths lie on.

    >>> from swirl.data.geometry import layout
    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> ax = new_axes()
    >>> draw_corridors(ax, layout(env))
    >>> [shape.get_label() for shape in ax.collections]
    ['walls', 'wall ends', 'corridors', 'corridor ends']
    """
    start, end = drawn.places[drawn.corridors].swapaxes(0, 1)
    half = width * drawn.unit / 2
    # A wall is a line's width in points, so that it is seen in small maps too.
    for name, edge, zorder in (("wall", 1.6, 0.5), ("corridor", 0.0, 0.6)):
        face = SEAM if name == "wall" else colour
        floor = PolyCollection(list(bars(start, end, half, half)), label=f"{name}s", zorder=zorder)
        floor.set(facecolor=face, edgecolor=face, linewidth=edge)
        ax.add_collection(floor, autolim=False)
        ends = discs(ax, drawn.places, 2 * half, f"{name} ends", zorder)
        ends.set(facecolor=face, edgecolor=face, linewidth=edge, clip_on=False)


def check_places(argument: str, n_got: int, env: MDP) -> None:
    """Raise unless there is one entry per state.

    >>> check_places("values", 2, MDP.deterministic([[1, 0], [0, 1]]))
    """
    if n_got != env.n_states:
        raise ValueError(f"{argument}: got {n_got} states, but env has {env.n_states}; give one entry per state of env")


def check_marks(marks: Mapping[str, int] | None, n_states: int) -> None:
    """Raise when a marked state does not exist.

    >>> check_marks({"home": 0}, 127)
    """
    outside = {name: state for name, state in (marks or {}).items() if not 0 <= state < n_states}
    if outside:
        raise ValueError(f"marks: got {outside}, expected states from 0 to {n_states - 1}")


def name_places(
    ax: Axes,
    drawn: Layout,
    marks: Mapping[str, int] | None,
    *,
    rings: bool = True,
    radii: Float[np.ndarray, " state"] | None = None,
) -> None:
    """Ring the marked states and write their names beside them, where they cover least of the graph.

    `radii` says how far something drawn at each state reaches, for the names to keep clear of it.

    >>> from swirl.data.geometry import layout
    >>> env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
    >>> ax = ready(None, layout(env))
    >>> name_places(ax, layout(env), {"home": 0})
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
        (x, y), horizontal, vertical = _free_spot(drawn.places[state], reach, size, drawn, busy)
        text = ax.text(x, y, name, ha=horizontal, va=vertical, fontsize=LABEL_SIZE, color=INK, zorder=5)
        text.set_path_effects([withStroke(linewidth=1.8, foreground="white")])


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


def _free_spot(
    place: np.ndarray, reach: float, size: np.ndarray, drawn: Layout, busy: np.ndarray
) -> tuple[tuple[float, float], Literal["left", "center", "right"], Literal["bottom", "center", "top"]]:
    """Return (x, y) and the alignments with which a text of that size covers least, and stays in the map if it can."""
    toward = {"left": 1.0, "bottom": 1.0, "right": -1.0, "top": -1.0, "center": 0.0}
    low, high = drawn.places.min(axis=0) - drawn.unit / 2, drawn.places.max(axis=0) + drawn.unit / 2
    options = []
    for spot in _SPOTS:
        direction = np.array([toward[word] for word in spot])
        # A text above or below that is aligned at the place begins a little before it.
        anchor = place + reach * direction * (np.array([-0.6, 1.0]) if direction.all() else 1.0)
        centre = anchor + direction * size / 2
        covered = (np.abs(busy - centre) < size / 2 + 0.32 * drawn.unit).all(axis=1).sum()
        beyond = np.maximum(0, [low - (centre - size / 2), centre + size / 2 - high]).sum() / drawn.unit
        # The title stands above the map, at the left.
        above = max(0.0, float(centre[1] + size[1] / 2 - high[1])) / drawn.unit
        options.append(
            (float(covered + 0.5 * beyond + 4 * above), len(options), (float(anchor[0]), float(anchor[1])), *spot)
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
