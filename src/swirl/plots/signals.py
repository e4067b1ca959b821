"""A signal by mode: its mean, its course around a mode's start, and its correlation with the reward."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from swirl.analysis.mode_signal import SignalByMode
from swirl.analysis.reward_signal import SignalTest
from swirl.analysis.triggered_average import TriggeredAverage
from swirl.plots.style import (
    INK,
    SMALLEST,
    SOFT_INK,
    TICK_SIZE,
    TITLE_SIZE,
    mode_legend,
    modes_shown,
    name_columns,
    new_axes,
    on_white,
    tidy,
)
from swirl.text import counted

BAND = "#D9DCDC"  # what chance gives


def signal_by_mode(
    means: SignalByMode, *, channel: int = 0, mode_names: Sequence[str] | None = None,
    colours: Sequence[str] | None = None, label: str | None = None, title: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw the mean of a signal in each mode with its standard error, and the mean of every session or subject behind.

    Parameters
    ----------
    means
        As `triggered.signal_by_mode` gives.
    label
        What the signal is; by default its name.

    Examples
    --------
    >>> import numpy as np
    >>> from swirl.data.trajectories import Trajectories
    >>> from swirl.triggered import signal_by_mode as by_mode
    >>> data = Trajectories([[0, 1], [1, 0]], signals={"dopamine": [[1.0, 3.0], [2.0, 6.0]]})
    >>> ax = signal_by_mode(by_mode(data, [[0, 1], [0, 1]], "dopamine"))
    >>> [tick.get_text() for tick in ax.get_xticklabels()], ax.get_ylabel()
    (['mode 0', 'mode 1'], 'dopamine')
    """
    n_modes = means.n_steps.shape[0]
    _check_channel(channel, means.n_steps.shape[1])
    names, shades = modes_shown(mode_names, colours, n_modes)
    ax = new_axes(1.0 + 0.62 * n_modes, 2.4) if ax is None else ax
    points = means.unit_means[:, :, channel]
    mean, sem = means.mean[:, channel], means.sem[:, channel]
    lanes = min(len(points), 9)
    aside = 0.065 * (np.arange(len(points)) % lanes - (lanes - 1) / 2)
    for mode in range(n_modes):
        ax.scatter(
            mode + aside, points[:, mode], s=9, c=on_white(shades[mode]), alpha=0.35, linewidths=0, label="_units"
        )
        if np.isfinite(mean[mode]):
            ax.errorbar(
                [mode], [mean[mode]], None if np.isnan(sem[mode]) else [sem[mode]], color=INK, marker="o", markersize=6,
                markerfacecolor=shades[mode], markeredgecolor=INK, markeredgewidth=0.9, elinewidth=1.3, capsize=3,
                zorder=4, label=names[mode],
            )  # fmt: skip
    label = means.name if label is None else label
    tidy(ax, title=title, ylabel=label if means.n_steps.shape[1] == 1 else f"{label}, channel {channel}")
    name_columns(ax, names)
    note = f"mean ± SEM over {counted(len(points), means.over)}" if len(points) > 1 else f"one {means.over}"
    ax.set_xlabel(note, fontsize=TICK_SIZE, color=SOFT_INK)
    return ax


def triggered_average(
    average: TriggeredAverage, *, mode: int | None = None, channel: int = 0, level: float = 0.95,
    mode_names: Sequence[str] | None = None, colours: Sequence[str] | None = None, label: str | None = None,
    xlabel: str | None = None, title: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw the course of a signal around the start of a mode: mean, a band of ±1 SEM, and in grey what chance gives.

    Parameters
    ----------
    average
        As `triggered.mode_triggered_average` gives.
    mode
        Draw this one, with the grey band of shifted signals (pointwise, at `level`) and both tests: against shifted
        signals, and against other visits to the same places. None: all modes over one another, without grey bands,
        which would hide them, where there are several.
    mode_names, colours
        One for each mode of the model, not only of those that are drawn.

    Examples
    --------
    >>> from swirl.data.trajectories import Trajectories
    >>> from swirl.triggered import mode_triggered_average
    >>> data = Trajectories([[0, 1, 0, 1]], signals={"dopamine": [[0.0, 1.0, 5.0, 3.0]]})
    >>> average = mode_triggered_average(data, [[0, 0, 1, 1]], "dopamine", before=1, after=1, n_shifts=19)
    >>> ax = triggered_average(average, mode=1)
    >>> ax.get_lines()[0].get_ydata().tolist()
    [1.0, 5.0, 3.0]
    """
    _check_channel(channel, average.mean.shape[2])
    if mode is not None and mode not in average.modes:
        raise ValueError(f"mode: got {mode}, but the average is of mode {', '.join(map(str, average.modes))}")
    chosen = list(average.modes) if mode is None else [mode]
    n_modes = 1 + max(average.modes)
    names, shades = modes_shown(mode_names, colours, n_modes)
    shades = [on_white(shade) for shade in shades]
    ax = new_axes(3.3, 2.3) if ax is None else ax
    low, high = average.band(level)
    drawn: list[float] = []
    for own in chosen:
        row = average.modes.index(own)
        middle, half = average.mean[row, :, channel], np.nan_to_num(average.sem[row, :, channel])
        if len(chosen) == 1 and np.isfinite(low[row, :, channel]).any():
            ax.fill_between(
                average.lags, low[row, :, channel], high[row, :, channel], color=BAND, linewidth=0, zorder=1,
                label=f"{100 * level:g} % of shifted signals",
            )  # fmt: skip
        ax.fill_between(
            average.lags, middle - half, middle + half, color=shades[own], alpha=0.28, linewidth=0, zorder=2,
            label=f"_{names[own]} SEM",
        )  # fmt: skip
        ax.plot(average.lags, middle, color=shades[own], linewidth=1.5, zorder=3, label=names[own])
        drawn.append(float(average.n_events[row]))
    ax.axvline(0, color=SOFT_INK, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1.5)
    # Where one step stands for the whole window there is nothing to scale by.
    if len(average.lags) > 1:
        ax.set_xlim(average.lags[0], average.lags[-1])
    if xlabel is None:
        what = f"the start of {'the mode' if len(chosen) > 1 else names[chosen[0]]}"
        what = what if average.onset else what.replace("start", "end", 1)
        xlabel = f"{'time' if average.seconds else 'steps'} from {what}"
    label = average.name if label is None else label
    many = average.mean.shape[2] > 1
    tidy(ax, title=title, xlabel=xlabel, ylabel=f"{label}, channel {channel}" if many else label)
    if len(chosen) > 1:
        mode_legend(ax, [names[own] for own in chosen], [shades[own] for own in chosen])
    else:
        place = average.modes.index(chosen[0]), channel
        n, said = average.n_tests, counted(int(drawn[0]), "event")
        if not np.isnan(p := average.corrected_p_value[place]):
            said += f", {_p_words(average.p_value[place], p, n)}"
            p = average.corrected_place_p_value[place]
            same = "not tested" if np.isnan(p) else _p_words(average.place_p_value[place], p, n)
            said += f"\nsame places: {same}"
        if title is not None:  # long lines of words: one above the other
            ax.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK, pad=15 + 10 * said.count("\n"))
        ax.text(1.0, 1.02, said, transform=ax.transAxes, ha="right", va="bottom", fontsize=SMALLEST, color=SOFT_INK)
    return ax


def signal_correlation(
    test: SignalTest, *, level: float = 0.95, mode_names: Sequence[str] | None = None,
    colours: Sequence[str] | None = None, label: str = "correlation of reward and signal", title: str | None = None,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw the correlation of each mode's reward with a signal, before the range that shifted signals give.

    Parameters
    ----------
    test
        As `reward_signal.signal_test` gives. It depends on the gauge of the reward: say which, in `label` or beside it.

    Examples
    --------
    >>> import numpy as np
    >>> test = SignalTest(np.array([0.3]), np.linspace(-0.1, 0.1, 99)[:, None], np.array([0.01]))
    >>> ax = signal_correlation(test, mode_names=["water"])
    >>> [text.get_text() for text in ax.texts]
    ['p = 0.01']

    With several modes both are told, each by itself and corrected for all (Holm).
    """
    n_modes = len(test.correlation)
    names, shades = modes_shown(mode_names, colours, n_modes)
    ax = new_axes(1.0 + 0.62 * n_modes, 2.4) if ax is None else ax
    for mode in range(n_modes):
        null = test.null[:, mode]
        null = null[np.isfinite(null)]
        if len(null):
            low, high = np.quantile(null, [(1 - level) / 2, (1 + level) / 2])
            ax.bar([mode], [high - low], 0.62, low, color=BAND, label="_null", zorder=1)
        if np.isfinite(test.correlation[mode]):
            ax.plot(
                [mode], [test.correlation[mode]], marker="o", markersize=6.5, color=shades[mode], markeredgecolor=INK,
                markeredgewidth=0.9, linestyle="none", label=names[mode], zorder=3,
            )  # fmt: skip
            said = _p_words(test.p_value[mode], test.corrected_p_value[mode], test.n_tests).replace(" (", "\n(")
            up = test.correlation[mode] >= 0  # away from the line at 0, which would strike it through
            ax.annotate(said, (mode, test.correlation[mode]), (0, 6 if up else -6),
                        textcoords="offset points", ha="center", va="bottom" if up else "top", fontsize=SMALLEST,
                        color=SOFT_INK)  # fmt: skip
        else:
            ax.annotate("n/a", (mode, 0), (0, 3), textcoords="offset points", ha="center", va="bottom",
                        fontsize=SMALLEST, color=SOFT_INK)  # fmt: skip
    ax.use_sticky_edges = False  # bars would stand on the frame
    ax.axhline(0, color=SOFT_INK, linewidth=0.7, zorder=2)
    tidy(ax, title=title, ylabel=label)
    name_columns(ax, names, margin=0.14)
    corrected = "\nin brackets: corrected (Holm)" if test.n_tests > 1 else ""
    ax.set_xlabel(f"grey: {100 * level:g} % of shifted signals{corrected}", fontsize=TICK_SIZE, color=SOFT_INK)
    return ax


def _p_words(p: float, corrected: float, n_tests: int) -> str:
    """A p-value, and where there are several tests what is left of it.

    >>> _p_words(0.01, 0.05, 5), _p_words(0.01, 0.01, 1)
    ('p = 0.01 (0.05 for 5 tests)', 'p = 0.01')
    """
    return f"p = {p:.2g}" + (f" ({corrected:.2g} for {n_tests} tests)" if n_tests > 1 else "")


def _check_channel(channel: int, n_channels: int) -> None:
    if not 0 <= channel < n_channels:
        raise ValueError(f"channel: got {channel}, but the signal has {counted(n_channels, 'channel')}, from 0 up")
