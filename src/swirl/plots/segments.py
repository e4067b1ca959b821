"""Modes over time: strips with events and probabilities, all sessions as a raster, and how common each mode is.

The last two are the paper's Figure 4C.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import ListedColormap

from swirl.errors import Faults
from swirl.plots.checks import check_above_zero, check_modes, check_probabilities
from swirl.plots.labels import label_ends
from swirl.plots.style import IMPOSSIBLE, LABEL_SIZE, event_style, mode_legend, modes_shown, new_axes, on_white, tidy

_GAP = 0.16
_LANE = 0.55


def segmentation_strip(
    paths: Mapping[str, Int[np.ndarray, " time"]], *, ax: Axes | None = None, mode_names: Sequence[str] | None = None,
    colours: Sequence[str] | None = None, events: Mapping[str, Sequence[int] | np.ndarray] | None = None,
    posterior: Float[np.ndarray, "time mode"] | None = None, title: str | None = None, xlabel: str = "step",
) -> Axes:  # fmt: skip
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
    n_steps, n_modes = _check_strips(paths, events, posterior, mode_names)
    names, colours = modes_shown(mode_names, colours, n_modes)
    rows = len(paths) + (1.6 if posterior is not None else 0)
    ax = new_axes(6.6, 0.75 + 0.27 * rows + 0.16 * len(events)) if ax is None else ax

    top, ticks, labels = 0.0, [], []
    for index, (name, steps) in enumerate(events.items()):
        marker, colour = event_style(name, index)
        at = np.asarray(steps, dtype=float) + 0.5
        size, line = (9, 0.0) if marker != "x" else (13, 1.1)
        # Not clipped: a visit at the first or last step is a whole marker.
        middle = np.full(at.shape, top + _LANE / 2)
        ax.scatter(at, middle, s=size, marker=marker, c=colour, linewidths=line, clip_on=False, label=name)
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


def mode_raster(
    modes: Sequence[Int[np.ndarray, " _"]], *, mode_names: Sequence[str] | None = None,
    colours: Sequence[str] | None = None, order: Sequence[int] | np.ndarray | None = None, title: str | None = None,
    xlabel: str = "step", ylabel: str = "session", ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw a row per session and a pixel per step in the colour of its mode; −1, unknown, is white.

    Parameters
    ----------
    modes
        The mode at every step, one array per session, of any lengths.
    order
        Sessions from top to bottom; some may be left out.  None: as given.

    Examples
    --------
    >>> import numpy as np
    >>> ax = mode_raster([np.array([0, 0, 1]), np.array([1])], order=[1, 0])
    >>> ax.images[0].get_array().tolist()
    [[1, None, None], [0, 0, 1]]
    """
    n_modes = _count_modes(modes, mode_names)
    chosen = np.arange(len(modes)) if order is None else np.asarray(order)
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < len(modes)):
        raise ValueError(f"order: got {chosen.min()} … {chosen.max()}, expected sessions from 0 to {len(modes) - 1}")
    rows = padded([modes[int(session)] for session in chosen])
    names, shades = modes_shown(mode_names, colours, n_modes)
    ax = new_axes(4.6, float(np.clip(0.9 + 0.016 * len(rows), 1.6, 4.5))) if ax is None else ax
    ax.imshow(
        np.ma.masked_less(rows, 0), cmap=ListedColormap(shades).with_extremes(bad="white"), vmin=-0.5,
        vmax=n_modes - 0.5, aspect="auto", extent=(0, rows.shape[1], len(rows), 0),
        interpolation="nearest",  # between two modes there is no third
    )  # fmt: skip
    tidy(ax, title=title, xlabel=xlabel, ylabel=ylabel)
    mode_legend(ax, names, shades)
    return ax


def mode_prevalence(
    modes: Sequence[Int[np.ndarray, " _"]], *, window: int = 1, mode_names: Sequence[str] | None = None,
    colours: Sequence[str] | None = None, title: str | None = None, xlabel: str = "step", ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw the share of each mode against time, over sessions, with a band of ±1.96 standard errors.

    Parameters
    ----------
    modes
        The mode at every step, one array per session, of any lengths; steps of unknown mode (−1) do not count.
    window
        Steps, centred, over which each session is averaged first; the band is over sessions.

    Examples
    --------
    >>> import numpy as np
    >>> ax = mode_prevalence([np.array([0, 0, 1]), np.array([0, 1, 1])], mode_names=["water", "home"])
    >>> ax.get_lines()[0].get_ydata().tolist()
    [1.0, 0.5, 0.0]
    """
    n_modes = _count_modes(modes, mode_names)
    check_above_zero("window", window, "it is a number of steps")
    names, shades = modes_shown(mode_names, colours, n_modes)
    shades = [on_white(shade) for shade in shades]
    mean, error = prevalence(padded(modes), n_modes, window)
    ax = new_axes(4.6, 2.0) if ax is None else ax
    steps = np.arange(mean.shape[1]) + 0.5
    for mode in range(n_modes):
        low, high = np.clip([mean[mode] - 1.96 * error[mode], mean[mode] + 1.96 * error[mode]], 0, 1)
        ax.fill_between(steps, low, high, color=shades[mode], alpha=0.22, linewidth=0, label=f"{names[mode]} band")
        ax.plot(steps, mean[mode], color=shades[mode], linewidth=1.4, label=names[mode])
    ax.set_xlim(0, mean.shape[1])
    ax.set_ylim(0, float(np.clip(1.08 * np.nanmax(mean + 1.96 * np.nan_to_num(error)), 0.1, 1.0)))
    tidy(ax, title=title, xlabel=xlabel, ylabel="share of sessions")
    last = [float(row[np.isfinite(row)][-1]) if np.isfinite(row).any() else 0.0 for row in mean]
    label_ends(ax, list(zip(names, last, shades, strict=True)))
    return ax


def prevalence(
    rows: Int[np.ndarray, "session time"], n_modes: int, window: int
) -> tuple[Float[np.ndarray, "mode time"], Float[np.ndarray, "mode time"]]:
    """Return the mean share of each mode at each time, and its standard error over sessions (NaN below two).

    >>> import numpy as np
    >>> mean, error = prevalence(np.array([[0, 1], [0, 0]]), 2, 1)
    >>> mean.tolist(), error[1].tolist()
    ([[1.0, 0.5], [0.0, 0.5]], [0.0, 0.5])
    """
    n_steps = rows.shape[1]
    first = np.clip(np.arange(n_steps) - (window - 1) // 2, 0, None)
    after = np.clip(np.arange(n_steps) + window // 2 + 1, None, n_steps)

    def summed(values: np.ndarray) -> np.ndarray:
        total = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(values, axis=1)], axis=1)
        return total[:, after] - total[:, first]

    known = summed(rows >= 0)
    known = np.where(rows >= 0, known, 0)  # a window reaches over the end of a session, its middle does not
    n = (known > 0).sum(axis=0)
    mean, error = np.full((2, n_modes, n_steps), np.nan)
    for mode in range(n_modes):
        share = np.divide(summed(rows == mode), known, out=np.zeros(rows.shape), where=known > 0)
        here = np.divide(share.sum(axis=0), n, out=np.full(n_steps, np.nan), where=n > 0)
        apart = np.where(known > 0, (share - here) ** 2, 0.0).sum(axis=0)
        mean[mode] = here
        error[mode] = np.sqrt(np.divide(apart, n * (n - 1.0), out=np.full(n_steps, np.nan), where=n > 1))
    return mean, error


def padded(modes: Sequence[Int[np.ndarray, " _"]]) -> Int[np.ndarray, "session time"]:
    """Return sessions as rows of equal length, filled up with −1.

    >>> import numpy as np
    >>> padded([np.array([1]), np.array([0, 2])]).tolist()
    [[1, -1], [0, 2]]
    """
    rows = np.full((len(modes), max(map(len, modes))), -1, dtype=np.int64)
    for row, path in zip(rows, modes, strict=True):
        row[: len(path)] = path
    return rows


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


def _check_strips(
    paths: Mapping[str, np.ndarray], events: Mapping[str, Sequence[int] | np.ndarray], posterior: np.ndarray | None,
    mode_names: Sequence[str] | None,
) -> tuple[int, int]:  # fmt: skip
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
    n_modes = check_modes({f"paths[{name!r}]": path for name, path in paths.items()}, mode_names, faults)
    faults.raise_if_any()
    if posterior is not None:
        check_probabilities("posterior", posterior)
    return n_steps, max(n_modes, posterior.shape[1] if posterior is not None else 0)


def _count_modes(modes: Sequence[np.ndarray], mode_names: Sequence[str] | None) -> int:
    """Return the number of modes of all sessions, or raise."""
    if not any(len(path) for path in modes):
        raise ValueError("modes: got no steps, expected one array of modes per session")
    return check_modes({f"modes: session {session}": path for session, path in enumerate(modes)}, mode_names)
