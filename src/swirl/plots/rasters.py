"""Modes of all sessions at once: a raster, and how common each mode is as time goes on (the paper's Figure 4C)."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from swirl.plots.labels import label_ends
from swirl.plots.style import checked_colours, mode_labels, mode_legend, new_axes, tidy


def mode_raster(
    modes: Sequence[Int[np.ndarray, " _"]],
    *,
    mode_names: Sequence[str] | None = None,
    colours: Sequence[str] | None = None,
    order: Sequence[int] | np.ndarray | None = None,
    title: str | None = None,
    xlabel: str = "step",
    ylabel: str = "session",
    ax: Axes | None = None,
) -> Axes:
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
    n_modes = _check(modes, mode_names)
    chosen = np.arange(len(modes)) if order is None else np.asarray(order)
    if chosen.size and not (chosen.min() >= 0 and chosen.max() < len(modes)):
        raise ValueError(f"order: got {chosen.min()} … {chosen.max()}, expected sessions from 0 to {len(modes) - 1}")
    rows = padded([modes[int(session)] for session in chosen])
    names, shades = mode_labels(mode_names, n_modes), checked_colours(colours, n_modes)
    ax = new_axes(4.6, float(np.clip(0.9 + 0.016 * len(rows), 1.6, 4.5))) if ax is None else ax
    ax.imshow(
        np.ma.masked_less(rows, 0),
        cmap=ListedColormap(shades[:n_modes]).with_extremes(bad="white"),
        vmin=-0.5,
        vmax=n_modes - 0.5,
        aspect="auto",
        extent=(0, rows.shape[1], len(rows), 0),
        interpolation="nearest",  # between two modes there is no third
    )
    tidy(ax, title=title, xlabel=xlabel, ylabel=ylabel)
    mode_legend(ax, names[:n_modes], shades[:n_modes])
    return ax


def mode_prevalence(
    modes: Sequence[Int[np.ndarray, " _"]],
    *,
    window: int = 1,
    mode_names: Sequence[str] | None = None,
    colours: Sequence[str] | None = None,
    title: str | None = None,
    xlabel: str = "step",
    ax: Axes | None = None,
) -> Axes:
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
    n_modes = _check(modes, mode_names)
    if window < 1:
        raise ValueError(f"window: got {window}, expected a number of steps of at least 1")
    names, shades = mode_labels(mode_names, n_modes), checked_colours(colours, n_modes)
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
    label_ends(ax, names[:n_modes], np.array(last), shades[:n_modes])
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


def _check(modes: Sequence[np.ndarray], mode_names: Sequence[str] | None) -> int:
    """Return the number of modes, or raise."""
    if not len(modes) or not any(len(path) for path in modes):
        raise ValueError("modes: got no steps, expected one array of modes per session")
    bad = [session for session, path in enumerate(modes) if len(path) and path.min() < -1]
    if bad:
        raise ValueError(
            f"modes: session {bad[0]} holds {modes[bad[0]].min()} ({len(bad)} such sessions); "
            "expected 0, 1, … or −1 for unknown"
        )
    seen = 1 + max(int(path.max()) for path in modes if len(path))
    return max(1, seen, len(mode_names) if mode_names is not None else 0)
