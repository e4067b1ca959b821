"""Modes over time: strips of decoded modes, with events, over their probabilities."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from swirl.errors import Faults
from swirl.plots.style import (
    IMPOSSIBLE,
    LABEL_SIZE,
    checked_colours,
    event_style,
    mode_labels,
    mode_legend,
    new_axes,
    tidy,
)

_GAP = 0.16
_LANE = 0.55


def segmentation_strip(
    paths: Mapping[str, Int[np.ndarray, " time"]],
    *,
    ax: Axes | None = None,
    mode_names: Sequence[str] | None = None,
    colours: Sequence[str] | None = None,
    events: Mapping[str, Sequence[int] | np.ndarray] | None = None,
    posterior: Float[np.ndarray, "time mode"] | None = None,
    title: str | None = None,
    xlabel: str = "step",
) -> Axes:
    """Draw one coloured strip per entry of `paths` over time, with a lane of markers per kind of event.

    Parameters
    ----------
    paths
        Label → mode at every step, top to bottom in the given order; −1, unknown, is light grey.
    colours
        One per mode, such as `named_mode_colours(mode_names)`.
    events
        Name → steps at which it happened; "water …" is drawn as orange dots, "home …" as red crosses.
    posterior
        Mode probabilities, drawn as a stacked area under the strips.

    Examples
    --------
    >>> import numpy as np
    >>> paths = {"truth": np.array([0, 0, 1]), "S-2": np.array([0, 1, 1])}
    >>> ax = segmentation_strip(paths, events={"water": [2]})
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['water', 'truth', 'S-2']
    """
    events = events or {}
    n_steps, n_modes = _check(paths, events, posterior, mode_names)
    names = mode_labels(mode_names, n_modes)
    colours = checked_colours(colours, n_modes)
    rows = len(paths) + (1.6 if posterior is not None else 0)
    ax = new_axes(6.6, 0.75 + 0.27 * rows + 0.16 * len(events)) if ax is None else ax

    top, ticks, labels = 0.0, [], []
    for index, (name, steps) in enumerate(events.items()):
        marker, colour = event_style(name, index)
        at = np.asarray(steps, dtype=float) + 0.5
        size, line = (9, 0.0) if marker != "x" else (13, 1.1)
        ax.scatter(
            at,
            np.full(at.shape, top + _LANE / 2),
            s=size,
            marker=marker,
            c=colour,
            linewidths=line,
            clip_on=False,  # a visit at the first or last step is a whole marker
            label=name,
        )
        ticks.append(top + _LANE / 2)
        labels.append(name)
        top += _LANE
    top += _GAP / 2 if events else 0.0
    for name, path in paths.items():
        _draw_strip(ax, path, top, colours, name)
        ticks.append(top + 0.5)
        labels.append(name)
        top += 1 + _GAP
    if posterior is not None:
        _stack(ax, posterior, colours, bottom=top + 1.4, height=-1.4)
        ticks.append(top + 0.7)
        labels.append("p(mode)")
        top += 1.4 + _GAP

    ax.set_xlim(0, n_steps)
    ax.set_ylim(top - _GAP, 0)
    ax.set_yticks(ticks, labels)
    tidy(ax, title=title, xlabel=xlabel)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0, labelsize=LABEL_SIZE, pad=4)
    mode_legend(ax, names, colours)
    return ax


def runs(path: Int[np.ndarray, " time"]) -> list[tuple[int, int, int]]:
    """Return (first step, step after the last, mode) for every run of one mode.

    >>> import numpy as np
    >>> runs(np.array([1, 1, 0]))
    [(0, 2, 1), (2, 3, 0)]
    """
    edges = np.concatenate([[0], np.flatnonzero(np.diff(path)) + 1, [len(path)]])
    return [(int(a), int(b), int(path[a])) for a, b in pairwise(edges)]


def _draw_strip(ax: Axes, path: np.ndarray, top: float, colours: list[str], name: str) -> None:
    pieces = runs(path)
    corners = [[(a, top), (b, top), (b, top + 1), (a, top + 1)] for a, b, _ in pieces]
    faces = [colours[mode] if mode >= 0 else IMPOSSIBLE for *_, mode in pieces]
    # Without the hairline of the same colour, viewers show seams between neighbouring rectangles.
    strip = PolyCollection(corners, facecolors=faces, edgecolors="face", linewidths=0.1, label=name)
    ax.add_collection(strip, autolim=False)


def _stack(ax: Axes, probabilities: np.ndarray, colours: list[str], *, bottom: float, height: float) -> None:
    """Draw cumulative probabilities; a step holds from t to t + 1, as in the strips."""
    n_steps, n_modes = probabilities.shape
    levels = bottom + height * np.cumsum(probabilities, axis=1)
    levels = np.concatenate([levels, levels[-1:]])
    # Every area starts at the bottom and later modes lie behind: areas side by side would show seams.
    for mode in reversed(range(n_modes)):
        ax.fill_between(np.arange(n_steps + 1), bottom, levels[:, mode], step="post", color=colours[mode], linewidth=0)


def _check_probabilities(argument: str, probabilities: np.ndarray) -> None:
    total = probabilities.sum(axis=1)
    bad = np.flatnonzero(~(np.abs(total - 1) < 1e-6) | (probabilities < -1e-9).any(axis=1))
    if bad.size:
        raise ValueError(
            f"{argument}: step {bad[0]} is {probabilities[bad[0]].tolist()}, which is not a distribution "
            f"({bad.size} such steps); expected rows that are not negative and sum to one"
        )


def _check(
    paths: Mapping[str, np.ndarray],
    events: Mapping[str, Sequence[int] | np.ndarray],
    posterior: np.ndarray | None,
    mode_names: Sequence[str] | None,
) -> tuple[int, int]:
    """Return the numbers of steps and modes, or raise one error that names every fault."""
    if not paths:
        raise ValueError("paths: got none, expected at least one label → array of modes")
    lengths = {name: len(path) for name, path in paths.items()}
    if posterior is not None:
        lengths["posterior"] = posterior.shape[0]
    n_steps = next(iter(lengths.values()))
    faults = Faults()
    if len(set(lengths.values())) > 1:
        faults.add(f"paths: got lengths {lengths}, expected one length; cut them to the same session")
    if n_steps == 0:
        faults.add("paths: got empty arrays, expected at least one step")
    for name, steps in events.items():
        at = np.asarray(steps)
        outside = at[(at < 0) | (at >= n_steps)]
        if outside.size:
            faults.add(f"events[{name!r}]: step {outside[0]} is outside the session's 0 … {n_steps - 1}")
    for name, path in paths.items():
        if len(path) and path.min() < -1:
            faults.add(f"paths[{name!r}]: got mode {path.min()}, expected 0, 1, … or −1 for unknown")
    faults.raise_if_any()
    if posterior is not None:
        _check_probabilities("posterior", posterior)
    seen = 1 + max(int(path.max()) for path in paths.values())
    known = len(mode_names) if mode_names is not None else 0
    return n_steps, max(1, seen, known, posterior.shape[1] if posterior is not None else 0)
