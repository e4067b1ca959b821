"""A signal beside the modes: its mean in each, its course around their starts, and how it goes with the reward."""

import numpy as np

from swirl.analysis.decoded import DecodedFit, clock
from swirl.analysis.mode_signal import signal_by_mode as mean_by_mode
from swirl.analysis.reward_signal import signal_test
from swirl.analysis.state_summaries import DoesNotApply, action_rewards, actions_are_states
from swirl.analysis.triggered_average import SHIFTS, mode_triggered_average
from swirl.data.environments import infer_actions
from swirl.plots.fit.panels import Drawn, colours
from swirl.plots.signals import signal_by_mode, signal_correlation, triggered_average
from swirl.plots.style import printed

MAX_CHANNELS = 4


def signal_means(fit: DecodedFit) -> Drawn:
    """Draw the mean of the signal in each mode."""
    means = mean_by_mode(fit.data, fit.modes, _wanted(fit), n_modes=fit.n_modes)
    n = min(MAX_CHANNELS, means.n_steps.shape[1])
    figure = printed(n * (1.1 + 0.62 * fit.n_modes), 2.6)
    for channel, ax in enumerate(figure.subplots(1, n, squeeze=False)[0]):
        signal_by_mode(means, channel=channel, mode_names=fit.mode_names, colours=colours(fit), ax=ax)
    return figure, means.table().assign(mode=lambda table: fit.names(table["mode"]))


def signal_around_starts(fit: DecodedFit) -> Drawn:
    """Draw the course of the signal around the start of each mode, in steps or in time, as the fit's window says."""
    fit.several_modes()
    around = fit.window
    average = mode_triggered_average(
        fit.data, fit.modes, _wanted(fit), before=around.before, after=around.after, bin=around.bin,
        n_modes=fit.n_modes, n_shifts=SHIFTS,
    )  # fmt: skip
    what, _, unit = clock(fit.data.times if average.seconds else None).partition(" ")
    xlabel = f"time from its start {unit}" if what == "time" else "steps from its start"
    n = min(MAX_CHANNELS, average.mean.shape[2])
    columns = min(fit.n_modes, 4)
    rows = -(-fit.n_modes // columns)
    figure = printed(0.4 + 2.5 * columns, 2.1 * rows * n)
    axes = figure.subplots(rows * n, columns, squeeze=False, sharex=True)
    for channel in range(n):
        own = axes[channel * rows : (channel + 1) * rows].ravel()
        for mode, ax in enumerate(own):
            if mode >= fit.n_modes:
                ax.set_axis_off()
                continue
            if mode:
                ax.sharey(own[0])
            triggered_average(
                average, mode=mode, channel=channel, mode_names=fit.mode_names, colours=colours(fit),
                title=fit.mode_names[mode], xlabel=xlabel, ax=ax,
            )  # fmt: skip
            if mode % columns:
                ax.set_ylabel("")
    return figure, average.table().assign(mode=lambda table: fit.names(table["mode"]))


def signal_and_reward(fit: DecodedFit) -> Drawn:
    """Draw how the signal correlates with the reward of actions in each mode."""
    name, env = _wanted(fit), fit.environment()
    parts = [np.asarray(part, dtype=float) for part in (fit.data.signals or {})[name]]
    if any(part.ndim == 2 and part.shape[1] > 1 for part in parts):
        raise DoesNotApply("the signal has several channels")
    data = infer_actions(fit.data, env) if fit.data.n_missing_actions else fit.data
    if not data.n_observed_actions:
        raise DoesNotApply("no action was observed, nor do the states say which it was")
    test = signal_test(
        action_rewards(fit.model), fit.modes, data.states, data.actions, [part.reshape(-1) for part in parts],
        n_shifts=199, drop_diagonal=actions_are_states(env),
    )  # fmt: skip
    figure = printed(1.2 + 0.62 * fit.n_modes, 2.8)
    signal_correlation(
        test, mode_names=fit.mode_names, colours=colours(fit), label=f"correlation of reward\nand {name}",
        ax=figure.add_subplot(),
    )  # fmt: skip
    return figure, test.table().reset_index().assign(mode=lambda table: fit.names(table["mode"]))


def _wanted(fit: DecodedFit) -> str:
    if fit.signal is None:
        raise DoesNotApply("no signal was asked for")
    return fit.signal
