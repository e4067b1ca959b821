"""The labyrinth's figures: each function takes fitted models or rows and returns a figure and its numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from swirl import plots
from swirl.analysis.predictive_checks import PredictiveChecks
from swirl.data.segments import find_segments
from swirl.estimators.swirl import SWIRL
from swirl.plots.labels import label_ends
from swirl.plots.move_maps import explain_flows, segment_traffic, state_transitions
from swirl.plots.style import INK, LABEL_SIZE, SOFT_INK, add_colour_bar, on_white, printed, tidy
from swirl.reproduce.fit_checks import check_table
from swirl.reproduce.labyrinth.fits import MARKS, PLACES, SESSION, Labyrinth
from swirl.reproduce.page import Rows, panels
from swirl.text import percent
from swirl.workflows.html import tidy_rows

Drawn = tuple[Figure, Rows]
PAGE = 7.0  # inches: the width of a printed page
MAX_SIDE = 2.6  # inches of a map: two bands of modes fit on a printed page
BETWEEN = 0.12  # of a map's height: free between two bands
MAX_COLUMNS = 3  # maps beside one another: more are too small to read
SCORE = "test log-likelihood of the next state\n(nats per step)"


def by_name(names: Sequence[str]) -> list[int]:
    """Order of the modes in a figure: water, home, then the others as they come."""
    first = [names.index(goal) for goal in ("water", "home") if goal in names]
    return first + [k for k in range(len(names)) if k not in first]


def boxes(scores: Mapping[str, Sequence[float]], references: Mapping[str, float]) -> Drawn:
    """Box plots (1.5·IQR) of test scores over single starts, with reference lines."""
    figure, axes = panels(1, width=1.0 + 0.75 * len(scores), height=2.9)
    ax = axes[0, 0]
    plots.score_boxes({key: np.asarray(value, dtype=float) for key, value in scores.items()}, ax=ax)
    for i, value in enumerate(references.values()):
        ax.axhline(value, color=SOFT_INK, lw=0.9, ls=("--", ":", "-.")[i % 3])
    label_ends(ax, [(label, value, SOFT_INK) for label, value in references.items()])
    ax.set_ylabel(SCORE, fontsize=LABEL_SIZE, color=INK)
    rows = [{"model": key, "run": i, "score": float(v)} for key, values in scores.items() for i, v in enumerate(values)]
    return figure, rows + [{"model": k, "run": None, "score": v} for k, v in references.items()]


def modes_sweep(table: Mapping[str, np.ndarray], x: Sequence[int], references: Mapping[str, float]) -> Drawn:
    """Test score against the number of modes, mean ± SD over single starts."""
    figure, axes = panels(1, width=4.7, height=3.1)
    lines = dict(references)
    plots.score_bands(table, np.asarray(x), xlabel="number of modes", references=lines, ax=axes[0, 0], label=SCORE)
    rows: Rows = []
    for model, values in table.items():
        places = {"modes": x, "run": range(values.shape[1])}
        rows += tidy_rows(places, {"score": values}, np.isfinite(values), model=model)
    return figure, rows


def normalised(values: np.ndarray) -> np.ndarray:
    """Stretched to 0 … 1, as the paper shows rewards."""
    low, high = np.nanmin(values), np.nanmax(values)
    return (values - low) / (high - low if high > low else 1.0)


def moving(model: SWIRL) -> np.ndarray:
    """Which full-length histories are walks: the maze has no way to stay, though its actions can be tried anywhere."""
    table = model.histories_
    return (table[:, -1] >= 0) & np.all(table[:, 1:] != table[:, :-1], axis=1)


def move_map(model: SWIRL, n_states: int) -> np.ndarray:
    """Reward [mode, state], the mean over earlier states on walks.

    `SWIRL.reward_map` would also average over staying in place, which never happens: its reward says only that, and
    weighs most where there are few ways in.
    """
    walks = moving(model)
    states = model.histories_[walks, 0]
    visits = np.maximum(np.bincount(states, minlength=n_states), 1)
    return np.stack([np.bincount(states, weights=r[walks], minlength=n_states) / visits for r in model.rewards_])


def maps(maze: Labyrinth, model: SWIRL) -> Drawn:
    """Reward map of each mode, and under it the gauge-free picture: log-odds of each move against the average mode."""
    env, (names, evidence) = maze.env, maze.mode_names(model)
    share = {row["name"]: row["share_of_steps"] for row in evidence}  # of the decoded steps, as in the tables
    order = by_name(names)
    columns = len(order) if len(order) <= MAX_COLUMNS else -(-len(order) // 2)  # beyond that, two bands of modes
    side, bands = min(PAGE / columns, MAX_SIDE), -(-len(order) // columns)
    heights = ([1.0, 1.0, BETWEEN] * bands)[:-1]
    figure = printed(side * columns, side * sum(heights))
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    lines = [line for line, height in enumerate(heights) if height == 1]
    axes = np.array([[figure.add_subplot(grid[line, column]) for column in range(columns)] for line in lines])
    pairs = [axes[band : band + 2, column] for band in range(0, len(axes), 2) for column in range(columns)]
    rewards, policies, places = move_map(model, env.n_states), model.state_policies(), range(env.n_states)
    rows: Rows = []
    for (above, below), k in zip(pairs, order, strict=False):
        values = normalised(rewards[k])
        title = f"{names[k]} ({percent(share[names[k]])} of steps)"
        plots.graph_map(values, env, marks=MARKS, vmin=0, vmax=1, title=title, colour_bar=False, ax=above)
        plots.preference_map(policies[k], policies, env, marks=MARKS, colour_bar=False, ax=below)
        moves, mode = state_transitions(policies[k], env), {"mode": names[k]}
        rows += tidy_rows({"to": places}, {"value": values}, **mode, what="reward", **{"from": None})
        rows += tidy_rows({"from": places, "to": places}, {"value": moves}, moves > 0, **mode, what="probability")
    for ax in (ax for pair in pairs[len(order) :] for ax in pair):
        ax.set_axis_off()
    drawn = (("states", "reward, stretched"), ("moves", "log-odds (nats)"))
    for line, (shape, label) in zip(axes, drawn * (len(axes) // 2), strict=True):
        [coloured] = [shapes for shapes in line[0].collections if shapes.get_label() == shape]
        add_colour_bar(list(line), coloured, label)
    return figure, rows


def port_dependence(model: SWIRL, names: Sequence[str]) -> Drawn:
    """What arriving at and leaving the water port is worth, by where the animal was before (paper Fig. 3C)."""
    port = PLACES["water"]
    parent = (port - 1) // 2
    sibling, above = (port - 1 if port % 2 == 0 else port + 1), (parent - 1) // 2
    cases = {
        "port, from\nthe corridor": (port, parent),
        "corridor, from\nthe port": (parent, port),
        "corridor, from\nthe other end": (parent, sibling),
        "corridor, from\nfurther out": (parent, above),
    }
    order, walks, table = by_name(names), moving(model), model.histories_[:, :2]
    values = np.empty((len(order), len(cases)))
    for i, k in enumerate(order):
        rewards = model.rewards_[k]
        centre, spread = rewards[walks].mean(), rewards[walks].std()
        for j, (state, previous) in enumerate(cases.values()):
            here = walks & (table[:, 0] == state) & (table[:, 1] == previous)
            values[i, j] = (rewards[here].mean() - centre) / spread
    figure, axes = panels(1, width=PAGE, height=2.8)
    chosen = [names[k] for k in order]
    plots.history_dependence(
        values,
        list(cases),
        mode_names=chosen,
        colours=plots.named_mode_colours(chosen),
        label="reward r(s, s⁻)\n(SD from the mode's mean over moves)",
        xlabel="",
        ax=axes[0, 0],
    )
    rows = [
        {"mode": mode, "case": case.replace("\n", " "), "state": s, "previous": p, "value": float(values[i, j])}
        for i, mode in enumerate(chosen)
        for j, (case, (s, p)) in enumerate(cases.items())
    ]
    return figure, rows


def segments_of_session(maze: Labyrinth, models: Mapping[str, SWIRL]) -> Drawn:
    """Mode segments of one test session under several models, with port and home visits marked (paper Fig. 3E).

    Modes of different models meet by name, so that a colour means the same in every strip.
    """
    session = maze.test.states[SESSION]
    paths = {label: model.predict(maze.test)[SESSION] for label, model in models.items()}
    names = {label: maze.mode_names(model)[0] for label, model in models.items()}
    found = [mode for model in paths for mode in names[model]]
    every = list(dict.fromkeys([*[m for m in ("water", "home", "explore") if m in found], *found]))
    relabelled = {
        model: np.array([every.index(mode) for mode in names[model]])[np.asarray(path)] for model, path in paths.items()
    }
    figure, axes = panels(1, width=PAGE, height=1.1 + 0.42 * len(paths))
    events = {f"{place} visits": np.flatnonzero(session == node) for place, node in PLACES.items()}
    plots.segmentation_strip(
        relabelled, mode_names=every, colours=plots.named_mode_colours(every), events=events, ax=axes[0, 0]
    )
    rows = [
        {"model": model, "step": t, "state": int(session[t]), "mode": every[z]}
        for model, path in relabelled.items()
        for t, z in enumerate(path)
    ]
    return figure, rows


def paths(maze: Labyrinth, model: SWIRL) -> Drawn:
    """All trajectories by mode on the maze: moves, where segments start and end, and some of them (paper Fig. 3F)."""
    names, data = maze.mode_names(model)[0], maze.data
    order, modes, places = by_name(names), model.predict(data), range(maze.env.n_states)
    figure, axes = panels(len(order), 2, PAGE / len(order), PAGE / len(order))
    colours = plots.named_mode_colours(names)
    rows: Rows = []
    for ax, below, k in zip(*axes, order, strict=True):
        plots.paths_by_mode(
            maze.env, data.states, modes, k, marks=MARKS, colours=colours, title=names[k], ax=ax
        )  # fmt: skip
        plots.example_paths(maze.env, data.states, modes, k, marks=MARKS, colours=colours, ax=below)
        traffic, starts, ends = segment_traffic(maze.env.n_states, data.states, modes, k)
        mode, counts = {"mode": names[k]}, {"count": traffic.astype(int)}
        rows += tidy_rows({"from": places, "to": places}, counts, traffic > 0, **mode, what="moves")
        for what, found in (("segment starts", starts), ("segment ends", ends)):
            counts = {"count": found.astype(int)}
            rows += tidy_rows({"to": places}, counts, found != 0, **mode, what=what, **{"from": None})
    explain_flows(figure)
    return figure, rows


def agreement(values: np.ndarray, names: Sequence[str]) -> Drawn:
    """Adjusted Rand index between segmentations."""
    figure, axes = panels(1, width=1.5 + 0.55 * len(names), height=0.8 + 0.45 * len(names))
    plots.agreement_matrix(values, list(names), ax=axes[0, 0])
    return figure, tidy_rows({"first": names, "second": names}, {"adjusted_rand_index": values})


def checks(found: Mapping[str, PredictiveChecks]) -> Drawn:
    """Posterior predictive checks: occupancy and return intervals, real against simulated."""
    figure, axes = panels(3, len(found), PAGE / 3, 2.3)
    for line, (model, check) in zip(axes, found.items(), strict=True):
        key = next(key for key in check.real_values if key[0] == "occupancy")
        simulated, title = np.stack(check.simulated_values[key]), f"{model}: occupancy"
        plots.occupancy_check(check.real_values[key], simulated, title=title, ax=line[0])
        for ax, place in zip(line[1:], PLACES, strict=True):
            key = next(k for k in check.real_values if "return" in k[0] and k[1] == place)
            plots.distribution_check(
                check.real_values[key],
                check.simulated_values[key],
                log=True,
                xlabel="steps until the next visit",
                title=f"returns to {place}",
                ax=ax,
            )
    return figure, check_table(found)


def dwell(lengths: Mapping[str, Mapping[str, Sequence[int]]]) -> Drawn:
    """Segment lengths of each named mode under several models."""
    figure, axes = panels(len(lengths), 1, PAGE / len(lengths), 2.2)
    rows: list[dict[str, Any]] = []
    for ax, (model, by_mode) in zip(axes[0], lengths.items(), strict=True):
        colours = plots.named_mode_colours(list(by_mode))
        for (mode, values), colour in zip(by_mode.items(), map(on_white, colours), strict=True):
            ordered = np.sort(np.asarray(values, dtype=float))
            if len(ordered):
                ax.step(ordered, 1 - np.arange(len(ordered)) / len(ordered), where="post", color=colour, label=mode)
            rows += [{"model": model, "mode": mode, "length": int(value)} for value in values]
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(1e-3, 1.2)
        ax.set_xlim(0.9, 520)
        first = ax is axes[0, 0]
        tidy(ax, title=model, xlabel="segment length (steps)", ylabel="share at least as long" if first else None)
        if not first:
            ax.set_yticklabels([])
        ax.legend(fontsize=7, frameon=False)
    return figure, rows


def segment_lengths(modes: Sequence[np.ndarray], names: Sequence[str]) -> dict[str, list[int]]:
    """Lengths of the whole segments of each mode (neither end cut by the session)."""
    found = find_segments(modes)
    whole = ~(found.cut_start | found.cut_end)
    return {names[k]: found.length[whole & (found.mode == k)].astype(int).tolist() for k in by_name(list(names))}
