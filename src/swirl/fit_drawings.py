"""Every figure of one fit, each with the numbers that it draws.

A figure is made by a function of a `Fit` that returns it with its table; one that has nothing to draw raises
`DoesNotApply` and says why.  `fit_figures` lists them.
"""

import warnings
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from swirl.baselines.iq_learn import IQLearn
from swirl.behaviour import dwell_times, find_segments, split_at_gaps
from swirl.estimator import UnseenStatesWarning
from swirl.exporters.tables import segments_frame
from swirl.fit_reading import (
    MOST_NAMES,
    DoesNotApply,
    Fit,
    action_rewards,
    actions_are_states,
    gauge,
    moves,
    pair_rewards,
    small,
    state_rewards,
)
from swirl.mdp import MDP
from swirl.model import SWIRL
from swirl.plots.anywhere import kind_of, state_map, state_names, transitions_by_state
from swirl.plots.by_mode import (
    restart_agreements,
    restart_matrix,
    signal_by_mode,
    signal_correlation,
    triggered_average,
)
from swirl.plots.dependence import history_dependence
from swirl.plots.durations import bout_durations, survival
from swirl.plots.moves import arrival_map, is_split, log_odds, moves_map, preferences, traffic
from swirl.plots.paths import segment_traffic
from swirl.plots.policy import state_transitions
from swirl.plots.raster import mode_prevalence, mode_raster, padded, prevalence
from swirl.plots.scores import objective_traces
from swirl.plots.segments import segmentation_strip
from swirl.plots.split import split_key
from swirl.plots.style import PROBABILITY_COLOURS, SOFT_INK, TICK_SIZE, tidy
from swirl.plots.tables import agreement_matrix, transition_map
from swirl.signals import signal_test
from swirl.triggered import mode_triggered_average
from swirl.triggered import signal_by_mode as mean_by_mode

MOST_STEPS = 2_000  # of a session in the segmentation strip
MOST_SESSIONS = 4  # in the segmentation strips
MOST_COLUMNS = 3_000  # steps drawn in a raster: beyond that every second, third, … is
MOST_CHANNELS = 4
MOST_MODES = 5  # with a panel for each pair
SIMULATED = (8, 2_500)  # sessions and steps from which the model's bout lengths are read
BEFORE, AFTER, SHIFTS = 10, 20, 200  # steps around a mode's start; shifted signals
Drawn = tuple[Figure, Any]


# ------------------------------------------------------------------------------------------------ what a mode wants


def rewards(fit: Fit) -> Drawn:
    """Draw the reward of each state."""
    env, values = fit.environment(), state_rewards(fit)
    axes = _panels(fit, _map_size(env))
    for mode, ax in enumerate(axes):
        state_map(env, values[mode], title=fit.mode_names[mode], label=gauge(fit), shown=fit.shown, ax=ax)
    return _drawn(axes, {"mode": 0, "state": 1}, {"reward": values}, fit)


def rewards_by_previous(fit: Fit) -> Drawn:
    """Draw the reward of each state by the state before."""
    env, values = fit.environment(), pair_rewards(fit)
    split = all(is_split(env, table) for table in values)
    axes = _panels(fit, _map_size(env, table=True), fit.n_modes + split)
    if split:
        split_key(ax=axes.pop())
    for mode, ax in enumerate(axes):
        arrival_map(env, values[mode], title=fit.mode_names[mode], label=gauge(fit), shown=fit.shown, ax=ax)
    return _drawn(axes, {"mode": 0, "state": 1, "previous": 1}, {"reward": values}, fit)


def rewards_by_action(fit: Fit) -> Drawn:
    """Draw the reward of each action in each state, for r(h, a) where states have no places."""
    env = fit.environment()
    if not isinstance(fit.model, SWIRL | IQLearn) or fit.model.rewards_.ndim != 3:
        raise DoesNotApply("the reward has no action argument")
    if kind_of(env) != "names" or env.n_actions > MOST_NAMES:
        raise DoesNotApply("states have places, on which rewards of actions are not drawn; see preferences")
    values = action_rewards(fit)
    actions = list(env.action_names or map(str, range(env.n_actions)))
    axes = _panels(fit, _map_size(env, table=True))
    same = actions_are_states(env) and len(fit.shown) == env.n_states
    for mode, ax in enumerate(axes):
        transition_map(
            values[mode][fit.shown], list(fit.states(fit.shown)), action_names=actions, diagonal=not same,
            title=fit.mode_names[mode], xlabel="next" if same else "action", label="reward (fitted gauge)", ax=ax,
        )  # fmt: skip
    mode, state, action = np.indices(values.shape).reshape(3, -1)
    columns = {"mode": fit.names(mode), "state": fit.states(state), "action": np.array(actions, dtype=object)[action]}
    return _figure(axes, fit), _frame({**columns, "reward": values.ravel()}, np.isfinite(values.ravel()))


def reward_at_one_place(fit: Fit) -> Drawn:
    """Draw how the reward at one place depends on the state before, where that matters most."""
    values = pair_rewards(fit)
    known = np.asarray(np.isfinite(values).all(axis=0))
    high = np.where(known, values, -np.inf).max(axis=2)
    low = np.where(known, values, np.inf).min(axis=2)
    spread = np.where(known.sum(axis=1) > 1, (high - low).max(axis=0), -np.inf)
    if not np.isfinite(spread).any():
        raise DoesNotApply("no state can be reached from two others")
    visits = np.zeros(known.shape, np.int64)
    for path in split_at_gaps(fit.data.states, fit.data.gaps):
        np.add.at(visits, (path[1:], path[:-1]), 1)
    # A place that the animals pass, if there is one: elsewhere the prior alone has spoken.
    passed = np.where(visits.sum(axis=1) > 0, spread, -np.inf)
    state = int(np.argmax(passed if np.isfinite(passed).any() else spread))
    previous = np.flatnonzero(known[state])
    previous = np.sort(previous[np.argsort(-visits[state, previous], kind="stable")[:8]])
    name = str(fit.states(state))
    here = f"state {name}" if name.isdecimal() else name
    width = max(3.0, 1.0 + 0.3 * len(previous) * (fit.n_modes + 1))
    figure = Figure(figsize=(width, 2.9), dpi=150, layout="constrained")
    history_dependence(
        values[:, state, previous], list(fit.states(previous)), mode_names=fit.mode_names, colours=fit.colours,
        label=gauge(fit), xlabel="previous state", title=f"at {here}",
        note="differences at one place depend on the gauge", ax=figure.add_subplot(),
    )  # fmt: skip
    mode, place = np.indices((fit.n_modes, len(previous))).reshape(2, -1)
    columns = {"mode": fit.names(mode), "state": fit.states(state), "previous": fit.states(previous[place])}
    return figure, _frame({**columns, "reward": values[:, state, previous].ravel()})


# ------------------------------------------------------------------------------------------------ what a mode does


def policies(fit: Fit) -> Drawn:
    """Draw where each mode goes from each state."""
    env, chosen = moves(fit)
    onward = np.stack([state_transitions(policy, env) for policy in chosen])
    axes = _panels(fit, _map_size(env, table=True))
    for mode, ax in enumerate(axes):
        moves_map(
            env, chosen[mode], colour=fit.colours[mode], vmax=float(np.nanmax(onward)), title=fit.mode_names[mode],
            shown=fit.shown, ax=ax,
        )  # fmt: skip
    return _drawn(axes, {"mode": 0, "state": 1, "next_state": 1}, {"probability": onward}, fit, zeros=False)


def preferred_moves(fit: Fit) -> Drawn:
    """Draw what each mode does more than the modes on average; it needs no gauge."""
    fit.several_modes()
    env, chosen = moves(fit)
    axes = _panels(fit, _map_size(env, table=True))
    for mode, ax in enumerate(axes):
        preferences(
            env, chosen[mode], chosen, title=fit.mode_names[mode], label="log-odds (nats)", shown=fit.shown, ax=ax
        )
    odds = np.stack([log_odds(env, policy, chosen) for policy in chosen])
    onward = np.stack([state_transitions(policy, env) for policy in chosen])
    odds = np.where(onward.max(axis=0) > 0, odds, np.nan)
    return _drawn(axes, {"mode": 0, "state": 1, "next_state": 1}, {"log_odds": odds, "probability": onward}, fit)


def paths(fit: Fit) -> Drawn:
    """Draw what was done in each mode."""
    env = small(fit.environment())
    states, modes = (split_at_gaps(values, fit.data.gaps) for values in (fit.data.states, fit.modes))
    axes = _panels(fit, _map_size(env, table=True))
    counts = []
    for mode, ax in enumerate(axes):
        traffic(env, states, modes, mode, colours=fit.colours, title=fit.mode_names[mode], shown=fit.shown, ax=ax)
        counts.append(segment_traffic(env.n_states, states, modes, mode)[0])
    return _drawn(axes, {"mode": 0, "state": 1, "next_state": 1}, {"moves": np.stack(counts)}, fit, zeros=False)


def usage(fit: Fit) -> Drawn:
    """Draw each mode's share of time in each state."""
    env = fit.environment()
    steps, every = np.concatenate(fit.data.states), np.concatenate(fit.modes)
    counts = np.stack([np.bincount(steps[every == mode], minlength=env.n_states) for mode in range(fit.n_modes)])
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes = _panels(fit, _map_size(env))
    for mode, ax in enumerate(axes):
        state_map(
            env, share[mode], vmin=0, title=fit.mode_names[mode], label="share of steps", colours="BuGn",
            shown=fit.shown, ax=ax,
        )  # fmt: skip
    return _drawn(axes, {"mode": 0, "state": 1}, {"share": share, "steps": counts}, fit)


def transitions(fit: Fit) -> Drawn:
    """Draw how modes give way to one another in each state."""
    fit.several_modes()
    table, n = np.asarray(fit.model.mode_transitions_), fit.n_modes
    if fit.env is None or np.ptp(table, axis=0).max() < 1e-6:
        mean, title = table.mean(axis=0), "probability of the next mode"
        figure = Figure(figsize=(2.0 + 0.6 * n, 1.2 + 0.5 * n), dpi=150, layout="constrained")
        ax = agreement_matrix(mean, fit.mode_names, colours=PROBABILITY_COLOURS, title=title, ax=figure.add_subplot())
        tidy(ax, xlabel="next mode", ylabel="mode")
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        mode, following = np.indices(mean.shape).reshape(2, -1)
        columns = {"mode": fit.names(mode), "next_mode": fit.names(following), "probability": mean.ravel()}
        return figure, _frame(columns)
    env = fit.env
    pairs: list[tuple[int, int | None]] = [(a, b) for a in range(n) for b in range(n) if a != b]
    pairs = pairs if n <= MOST_MODES else [(a, None) for a in range(n)]
    axes = _panels(fit, _map_size(env), len(pairs), n - 1 if n in (3, 4, 5) else 4)
    # A small probability that is the same everywhere must not look like a hot spot: scales differ fivefold at most.
    off = np.where(np.eye(n, dtype=bool), 0.0, table)
    off = off if n <= MOST_MODES else off.sum(axis=2, keepdims=True)
    for (mode, following), ax in zip(pairs, axes, strict=True):
        highest = max(float(off[:, mode, following or 0].max()), float(off.max()) / 5)
        transitions_by_state(
            env, table, mode, following, mode_names=fit.mode_names, vmax=highest, shown=fit.shown, ax=ax
        )
    state, mode, following = np.indices(table.shape).reshape(3, -1)
    columns = {"state": fit.states(state), "mode": fit.names(mode), "next_mode": fit.names(following)}
    return _figure(axes, fit), _frame({**columns, "probability": table.ravel()})


# ------------------------------------------------------------------------------------------------ when a mode is on


def segmentation(fit: Fit) -> Drawn:
    """Draw modes and their probabilities over the first sessions."""
    import pandas as pd

    fit.several_modes()
    n = min(MOST_SESSIONS, len(fit.data))
    truth = fit.data.modes
    height = 1.15 + (0.22 if truth is not None else 0.0)
    figure = Figure(figsize=(6.6, 0.35 + height * n), dpi=150, layout="constrained")
    tables = []
    for session, ax in enumerate(figure.subplots(n, 1, squeeze=False)[:, 0]):
        length = len(fit.modes[session])
        part = slice(0, MOST_STEPS)
        strips = {"modes": fit.modes[session][part]}
        if truth is not None:
            strips = {"truth": np.asarray(truth[session])[part], **strips}
        share = fit.posterior[session][part]
        cut = f", first {MOST_STEPS:,} of {length:,} steps" if length > MOST_STEPS else ""
        segmentation_strip(
            strips, mode_names=fit.mode_names, colours=fit.colours, posterior=share, ax=ax,
            title=f"session {fit.data.names[session]}{cut}", xlabel="step" if session == n - 1 else "",
        )  # fmt: skip
        if session and (legend := ax.get_legend()) is not None:
            legend.remove()
        columns = {
            "session": fit.data.names[session],
            "step": np.arange(len(share)),
            "mode": fit.names(strips["modes"]),
        }
        tables.append(pd.DataFrame(columns | {f"p_{name}": p for name, p in zip(fit.mode_names, share.T, strict=True)}))
    return figure, pd.concat(tables, ignore_index=True)


def raster(fit: Fit) -> Drawn:
    """Draw the modes of all sessions."""
    fit.several_modes()
    rows, every = _thinned(fit.modes)
    figure = Figure(figsize=(6.0, float(np.clip(1.1 + 0.05 * len(rows), 1.7, 5.0))), dpi=150, layout="constrained")
    ax = mode_raster(rows, mode_names=fit.mode_names, colours=fit.colours, ax=figure.add_subplot())
    _stretch(ax, every)
    return figure, segments_frame(fit.data, fit.modes, fit.mode_names)


def mode_shares(fit: Fit) -> Drawn:
    """Draw how common each mode is as a session goes on."""
    fit.several_modes()
    rows, every = _thinned(fit.modes)
    window = max(1, max(map(len, rows)) // 30)
    figure = Figure(figsize=(6.0, 2.3), dpi=150, layout="constrained")
    ax = mode_prevalence(rows, window=window, mode_names=fit.mode_names, colours=fit.colours, ax=figure.add_subplot())
    _stretch(ax, every)
    mean, error = prevalence(padded(rows), fit.n_modes, window)
    mode, step = np.indices(mean.shape).reshape(2, -1)
    columns = {"mode": fit.names(mode), "step": step * every, "share": mean.ravel(), "standard_error": error.ravel()}
    return figure, _frame({**columns, "window_steps": window * every}, np.isfinite(mean.ravel()))


def durations(fit: Fit) -> Drawn:
    """Draw how long bouts last, beside those of sessions that the model simulates."""
    import pandas as pd

    fit.several_modes()
    found = find_segments(fit.modes, fit.data.gaps)
    whole, cut = ~found.cut_start & ~found.cut_end, ~found.cut_start & found.cut_end
    own, more = ([found.length[kept & (found.mode == k)] for k in range(fit.n_modes)] for kept in (whole, cut))
    if not any(map(len, own)):
        raise DoesNotApply("no bout of any mode was seen from start to end")
    with warnings.catch_warnings():  # a simulation may go where the animals were not seen
        warnings.simplefilter("ignore", UnseenStatesWarning)
        drawn = fit.model.predict(fit.model.sample(*SIMULATED))
    simulated = dwell_times(drawn, n_modes=fit.n_modes)
    figure = Figure(figsize=(4.2, 2.7), dpi=150, layout="constrained")
    bout_durations(
        own, cut=more, expected=simulated, expected_label="simulated by the model", mode_names=fit.mode_names,
        colours=fit.colours, ax=figure.add_subplot(),
    )  # fmt: skip
    tables = []
    for source, lengths, censored in (("data", own, more), ("model", simulated, [np.zeros(0)] * fit.n_modes)):
        for mode, name in enumerate(fit.mode_names):
            x, y = survival(lengths[mode].astype(float), censored[mode].astype(float))
            tables.append(
                pd.DataFrame(
                    {"of": source, "mode": name, "at_least": x[1:], "share": y[1:], "bouts": len(lengths[mode])}
                )
            )
    return figure, pd.concat(tables, ignore_index=True)


# ------------------------------------------------------------------------------------------------ how the fit went


def objective(fit: Fit) -> Drawn:
    """Draw the objective of every restart."""
    restarts = getattr(fit.model, "restarts_", None)
    if not restarts:
        raise DoesNotApply("the model was not fitted by EM")
    kept = [i for i, restart in enumerate(restarts) if np.isfinite(restart.objective_trace).any()]
    traces = [np.asarray(restarts[i].objective_trace) for i in kept]
    figure = Figure(figsize=(3.8, 2.6), dpi=150, layout="constrained")
    objective_traces(traces, ax=figure.add_subplot())
    number = np.repeat(kept, [len(trace) for trace in traces])
    iteration = np.concatenate([np.arange(len(trace)) for trace in traces])
    return figure, _frame({"restart": number, "iteration": iteration, "objective": np.concatenate(traces)})


def restarts(fit: Fit) -> Drawn:
    """Draw how far the best restarts agree."""
    fit.several_modes()
    if len(getattr(fit.model, "restarts_", None) or []) < 2:
        raise DoesNotApply("the model has no two restarts to compare")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenStatesWarning)
        values, order, behind = restart_agreements(fit.model, fit.data)
    n = len(order)
    figure = Figure(figsize=(2.2 + 0.55 * n, 1.0 + 0.45 * n), dpi=150, layout="constrained")
    restart_matrix(values, order, behind, ax=figure.add_subplot())
    one, other = np.indices(values.shape).reshape(2, -1)
    columns = {"restart": np.array(order)[one], "other": np.array(order)[other], "adjusted_rand_index": values.ravel()}
    return figure, _frame({**columns, "behind_best_per_step": behind[one]})


# ------------------------------------------------------------------------------------------------ a signal beside it


def signal_means(fit: Fit) -> Drawn:
    """Draw the mean of the signal in each mode."""
    means = mean_by_mode(fit.data, fit.modes, _wanted(fit), n_modes=fit.n_modes)
    n = min(MOST_CHANNELS, means.n_steps.shape[1])
    figure = Figure(figsize=(n * (1.1 + 0.62 * fit.n_modes), 2.6), dpi=150, layout="constrained")
    for channel, ax in enumerate(figure.subplots(1, n, squeeze=False)[0]):
        signal_by_mode(means, channel=channel, mode_names=fit.mode_names, colours=fit.colours, ax=ax)
    return figure, means.table().assign(mode=lambda table: fit.names(table["mode"]))


def signal_around_starts(fit: Fit) -> Drawn:
    """Draw the course of the signal around the start of each mode."""
    fit.several_modes()
    average = mode_triggered_average(
        fit.data, fit.modes, _wanted(fit), before=BEFORE, after=AFTER, n_modes=fit.n_modes, n_shifts=SHIFTS
    )
    n = min(MOST_CHANNELS, average.mean.shape[2])
    columns = min(fit.n_modes, 4)
    rows = -(-fit.n_modes // columns)
    figure = Figure(figsize=(0.4 + 2.5 * columns, 2.1 * rows * n), dpi=150, layout="constrained")
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
                average, mode=mode, channel=channel, mode_names=fit.mode_names, colours=fit.colours,
                title=fit.mode_names[mode], xlabel="steps from its start", ax=ax,
            )  # fmt: skip
            if mode % columns:
                ax.set_ylabel("")
    return figure, average.table().assign(mode=lambda table: fit.names(table["mode"]))


def signal_and_reward(fit: Fit) -> Drawn:
    """Draw how the signal correlates with the reward of actions in each mode."""
    name, env = _wanted(fit), fit.environment()
    parts = [np.asarray(part, dtype=float) for part in (fit.data.signals or {})[name]]
    if any(part.ndim == 2 and part.shape[1] > 1 for part in parts):
        raise DoesNotApply("the signal has several channels")
    if not fit.data.n_observed_actions:
        raise DoesNotApply("no action was observed")
    test = signal_test(
        action_rewards(fit), fit.modes, fit.data.states, fit.data.actions, [part.reshape(-1) for part in parts],
        n_shifts=199, drop_diagonal=actions_are_states(env),
    )  # fmt: skip
    figure = Figure(figsize=(1.2 + 0.62 * fit.n_modes, 2.8), dpi=150, layout="constrained")
    signal_correlation(
        test, mode_names=fit.mode_names, colours=fit.colours, label=f"correlation of reward\nand {name}",
        ax=figure.add_subplot(),
    )  # fmt: skip
    return figure, test.table().reset_index().assign(mode=lambda table: fit.names(table["mode"]))


def _wanted(fit: Fit) -> str:
    if fit.signal is None:
        raise DoesNotApply("no signal was asked for")
    return fit.signal


# ------------------------------------------------------------------------------------------------ panels and tables


def _map_size(env: MDP, *, table: bool = False) -> tuple[float, float]:
    """Width and height in inches of a map, of a row of bars, or of a table of names."""
    kind = kind_of(env)
    if kind == "grid":
        return 2.5, 2.1
    if kind == "graph":
        return 3.3, 2.7
    n = min(env.n_states, MOST_NAMES)
    longest = 0.06 * min(25, max(map(len, state_names(env))))
    if table:
        side = 0.2 * n if n > 12 else 0.26 * n
        return 1.8 + longest + side, 0.9 + longest + side
    return 1.7 + longest, float(np.clip(0.8 + 0.17 * n, 1.5, 7.5))


def _panels(fit: Fit, size: tuple[float, float], n: int | None = None, columns: int = 4) -> list[Any]:
    """Axes for a panel per mode, side by side as far as a page is wide."""
    n = fit.n_modes if n is None else n
    columns = max(1, min(n, columns, int(13 / size[0])))
    rows = -(-n // columns)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), dpi=150, layout="constrained")
    return [figure.add_subplot(rows, columns, place + 1) for place in range(n)]


def _figure(axes: list[Any], fit: Fit) -> Figure:
    """The figure of panels that are drawn: names stand in the first column only, and states left out are told."""
    figure = axes[0].get_figure()
    env = fit.environment()
    if kind_of(env) != "names":
        return figure
    for ax in axes:
        if not ax.get_subplotspec().is_first_col():
            ax.set_yticklabels([])
            ax.set_ylabel("")
    if len(fit.shown) < env.n_states:
        note = f"the {len(fit.shown)} most visited of {env.n_states} states"
        figure.suptitle(note, x=0.01, ha="left", fontsize=TICK_SIZE, color=SOFT_INK)
    return figure


def _frame(columns: dict[str, Any], kept: Any = None) -> Any:
    import pandas as pd

    table = pd.DataFrame(columns)
    return table if kept is None else table[kept].reset_index(drop=True)


def _drawn(
    axes: list[Any], labels: dict[str, int], values: dict[str, np.ndarray], fit: Fit, *, zeros: bool = True
) -> Drawn:
    """The figure, and a long table of arrays [mode, state, …]; `labels` says 0 for modes, 1 for states.

    Left out where the first array is NaN, and with `zeros=False` where it is 0.
    """
    first = next(iter(values.values()))
    index = np.indices(first.shape).reshape(first.ndim, -1)
    words = (fit.names, fit.states)
    columns = {name: words[kind](own) for (name, kind), own in zip(labels.items(), index, strict=True)}
    columns |= {name: array.ravel() for name, array in values.items()}
    kept = np.isfinite(first.ravel()) & (zeros | (first.ravel() != 0))
    return _figure(axes, fit), _frame(columns, kept)


def _thinned(modes: list[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """Sessions with every n-th step, so that a raster has no more columns than can be seen."""
    every = -(-max(map(len, modes)) // MOST_COLUMNS)
    return [path[::every] for path in modes], every


def _stretch(ax: Any, every: int) -> None:
    """Number the steps of a thinned raster as they were."""
    if every > 1:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x * every:,.0f}"))
