"""What a mode does: policies, preferences, paths and places, and how modes give way to one another."""

import numpy as np

from swirl.analysis.decoded import DecodedFit
from swirl.analysis.state_summaries import environment_of, moves
from swirl.data.geometry import has_places, kind_of
from swirl.data.segments import split_at_gaps
from swirl.plots.fit.panels import Drawn, colours, drawn, figure_of, long_table, map_size, panels, shown
from swirl.plots.heatmaps import agreement_matrix
from swirl.plots.move_maps import (
    example_paths,
    explain_flows,
    log_odds,
    moves_map,
    preferences,
    segment_traffic,
    state_transitions,
    traffic,
)
from swirl.plots.state_maps import state_map, transitions_by_state
from swirl.plots.style import PROBABILITY_COLOURS, TITLE_SIZE, fitted, printed

MAX_MODES = 5  # with a panel for each pair


def policies(fit: DecodedFit) -> Drawn:
    """Draw where each mode goes from each state."""
    env, chosen = moves(fit.model)
    onward = np.stack([state_transitions(policy, env) for policy in chosen])
    axes = panels(fit, map_size(env, table=True))
    for mode, ax in enumerate(axes):
        moves_map(
            env, chosen[mode], colour=colours(fit)[mode], vmax=float(np.nanmax(onward)), title=fit.mode_names[mode],
            shown=shown(fit), ax=ax,
        )  # fmt: skip
    return drawn(axes, {"mode": 0, "state": 1, "next_state": 1}, {"probability": onward}, fit, zeros=False)


def preferred_moves(fit: DecodedFit) -> Drawn:
    """Draw what each mode does more than the modes on average; it needs no gauge."""
    fit.several_modes()
    env, chosen = moves(fit.model)
    axes = panels(fit, map_size(env, table=True))
    for mode, ax in enumerate(axes):
        preferences(
            env, chosen[mode], chosen, title=fit.mode_names[mode], label="log-odds (nats)", shown=shown(fit), ax=ax
        )
    odds = np.stack([log_odds(policy, chosen, env) for policy in chosen])
    onward = np.stack([state_transitions(policy, env) for policy in chosen])
    odds = np.where(onward.max(axis=0) > 0, odds, np.nan)
    return drawn(axes, {"mode": 0, "state": 1, "next_state": 1}, {"log_odds": odds, "probability": onward}, fit)


def paths(fit: DecodedFit) -> Drawn:
    """Draw what was done in each mode: all of its moves and, where states have places, single segments."""
    env = environment_of(fit.env, small=True)
    states, modes = (split_at_gaps(values, fit.data.gaps) for values in (fit.data.states, fit.modes))
    examples = has_places(env)
    size = (2.4, 2.4) if kind_of(env) == "graph" and fit.n_modes > 2 else map_size(env, table=True)
    axes = panels(fit, size, under=examples)
    share = np.bincount(np.concatenate(fit.modes), minlength=fit.n_modes) / max(1, sum(map(len, fit.modes)))
    counts = []
    for mode, name in enumerate(fit.mode_names):
        title = fitted(axes[mode], name, f"({100 * share[mode]:.0f} % of steps)", TITLE_SIZE)
        traffic(env, states, modes, mode, colours=colours(fit), title=title, shown=shown(fit), ax=axes[mode])
        counts.append(segment_traffic(env.n_states, states, modes, mode)[0])
        if examples:
            example_paths(env, states, modes, mode, colours=colours(fit), ax=axes[fit.n_modes + mode])
    if examples:
        explain_flows(figure_of(axes, fit))
    return drawn(axes, {"mode": 0, "state": 1, "next_state": 1}, {"moves": np.stack(counts)}, fit, zeros=False)


def usage(fit: DecodedFit) -> Drawn:
    """Draw the share of each mode's steps in each state."""
    env = fit.environment()
    steps, every = np.concatenate(fit.data.states), np.concatenate(fit.modes)
    counts = np.stack([np.bincount(steps[every == mode], minlength=env.n_states) for mode in range(fit.n_modes)])
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes = panels(fit, map_size(env))
    for mode, ax in enumerate(axes):
        state_map(
            env, share[mode], vmin=0, title=fit.mode_names[mode], label="share of steps", colours="BuGn",
            shown=shown(fit), ax=ax,
        )  # fmt: skip
    return drawn(axes, {"mode": 0, "state": 1}, {"share": share, "steps": counts}, fit)


def transitions(fit: DecodedFit) -> Drawn:
    """Draw how modes give way to one another in each state."""
    fit.several_modes()
    table, n = np.asarray(fit.model.mode_transitions_), fit.n_modes
    if fit.env is None or np.ptp(table, axis=0).max() < 1e-6:
        mean, title = table.mean(axis=0), "probability of the next mode"
        figure = printed(2.0 + 0.6 * n, 1.2 + 0.5 * n)
        agreement_matrix(
            mean, fit.mode_names, colours=PROBABILITY_COLOURS, title=title, xlabel="next mode", ylabel="mode",
            label="probability",
            ax=figure.add_subplot(),
        )  # fmt: skip
        return figure, long_table({"mode": fit.mode_names, "next_mode": fit.mode_names}, {"probability": mean})
    env = fit.env
    pairs: list[tuple[int, int | None]] = [(a, b) for a in range(n) for b in range(n) if a != b]
    pairs = pairs if n <= MAX_MODES else [(a, None) for a in range(n)]
    axes = panels(fit, map_size(env), len(pairs), n - 1 if n in (3, 4, 5) else 4)
    # A small probability that is the same everywhere must not look like a hot spot: scales differ fivefold at most, and
    # reach at least twice the mean.
    off = np.where(np.eye(n, dtype=bool), 0.0, table)
    off = off if n <= MAX_MODES else off.sum(axis=2, keepdims=True)
    mean = np.average(off, axis=0, weights=np.bincount(np.concatenate(fit.data.states), minlength=len(off)))
    for (mode, following), ax in zip(pairs, axes, strict=True):
        to = following or 0
        highest = max(float(off[:, mode, to].max()), float(off.max()) / 5, 2 * float(mean[mode, to]))
        transitions_by_state(
            env, table, mode, following, mode_names=fit.mode_names, vmax=highest, shown=shown(fit), ax=ax
        )
    words = {"state": fit.states(slice(None)), "mode": fit.mode_names, "next_mode": fit.mode_names}
    return figure_of(axes, fit), long_table(words, {"probability": table})
