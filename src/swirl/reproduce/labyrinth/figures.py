"""The labyrinth's figures: each function takes fitted models or rows and returns a Drawing with its numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from swirl import plots
from swirl.analysis.predictive_checks import PredictiveChecks
from swirl.data.mdp import MDP
from swirl.data.segments import find_segments
from swirl.data.trajectories import Trajectories
from swirl.estimators.swirl import SWIRL
from swirl.plots.move_maps import segment_traffic, state_transitions
from swirl.plots.style import SOFT_INK, tidy
from swirl.reproduce.labyrinth.fits import MARKS, PLACES
from swirl.workflows.html import Drawing


def panels(n_columns: int, n_rows: int = 1, width: float = 3.2, height: float = 3.2) -> tuple[Figure, np.ndarray]:
    """A figure with equal panels."""
    figure = Figure(figsize=(width * n_columns, height * n_rows), dpi=150, layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def by_name(names: Sequence[str]) -> list[int]:
    """Order of the modes in a figure: water, home, then the others as they come."""
    first = [names.index(goal) for goal in ("water", "home") if goal in names]
    return first + [k for k in range(len(names)) if k not in first]


def boxes(name: str, caption: str, scores: Mapping[str, Sequence[float]], references: Mapping[str, float]) -> Drawing:
    """Box plots (1.5·IQR) of test scores over single starts, with reference lines."""
    figure, axes = panels(1, width=1.2 + 0.95 * len(scores), height=3.4)
    ax = axes[0, 0]
    plots.score_boxes({key: np.asarray(value, dtype=float) for key, value in scores.items()}, ax=ax)
    for i, (label, value) in enumerate(references.items()):
        ax.axhline(value, color=SOFT_INK, lw=0.9, ls=("--", ":", "-.")[i % 3])
        ax.annotate(
            label,
            (0.01, value),
            xycoords=("axes fraction", "data"),
            xytext=(0, 2),
            textcoords="offset points",
            fontsize=7,
            color=SOFT_INK,
        )
    ax.set_ylabel("test log-likelihood of the next state\n(nats per step)", fontsize=8)
    rows = [{"model": key, "run": i, "score": float(v)} for key, values in scores.items() for i, v in enumerate(values)]
    return Drawing(name, caption, figure, rows + [{"model": k, "run": None, "score": v} for k, v in references.items()])


def modes_sweep(
    caption: str, table: Mapping[str, np.ndarray], x: Sequence[int], references: Mapping[str, float]
) -> Drawing:
    """Test score against the number of modes, mean ± SD over single starts."""
    figure, axes = panels(1, width=5.6, height=3.6)
    plots.score_bands(
        dict(table),
        np.asarray(x),
        xlabel="number of modes",
        references=dict(references),
        ax=axes[0, 0],
        label="test log-likelihood of the next state\n(nats per step)",
    )
    rows = [
        {"model": key, "modes": k, "run": r, "score": float(values[i, r])}
        for key, values in table.items()
        for i, k in enumerate(x)
        for r in range(values.shape[1])
        if np.isfinite(values[i, r])
    ]
    return Drawing("score_by_modes", caption, figure, rows)


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


def maps(name: str, caption: str, model: SWIRL, names: Sequence[str], env: MDP) -> Drawing:
    """Reward map of each mode, and under it the gauge-free picture: log-odds of each move against the average mode."""
    order = by_name(names)
    figure, axes = panels(len(order), 2, 3.3, 3.35)
    rewards, policies = move_map(model, env.n_states), model.state_policies()
    rows: list[dict[str, Any]] = []
    for column, k in enumerate(order):
        last = column == len(order) - 1
        values = normalised(rewards[k])
        share = f"{names[k]} ({model.occupancy_[k]:.0%} of steps)"
        plots.graph_map(
            values,
            env,
            marks=MARKS,
            vmin=0,
            vmax=1,
            title=share,
            colour_bar=last,
            label="reward, stretched",
            ax=axes[0, column],
        )
        plots.preference_map(policies[k], policies, env, marks=MARKS, colour_bar=last, ax=axes[1, column])
        moves = state_transitions(policies[k], env)
        rows += [
            {"mode": names[k], "what": "reward", "from": None, "to": s, "value": float(values[s])}
            for s in range(env.n_states)
        ]
        rows += [
            {"mode": names[k], "what": "probability", "from": int(s), "to": int(t), "value": float(moves[s, t])}
            for s, t in np.argwhere(moves > 0)
        ]
    return Drawing(name, caption, figure, rows)


def port_dependence(caption: str, model: SWIRL, names: Sequence[str]) -> Drawing:
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
    figure, axes = panels(1, width=6.4, height=3.2)
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
    return Drawing("port_dependence", caption, figure, rows)


def segments_of_session(
    name: str, caption: str, session: np.ndarray, paths: Mapping[str, np.ndarray], names: Mapping[str, Sequence[str]]
) -> Drawing:
    """Mode segments of one test session under several models, with port and home visits marked (paper Fig. 3E).

    Modes of different models meet by name, so that a colour means the same in every strip.
    """
    found = [mode for model in paths for mode in names[model]]
    every = list(dict.fromkeys([*[m for m in ("water", "home", "explore") if m in found], *found]))
    relabelled = {
        model: np.array([every.index(mode) for mode in names[model]])[np.asarray(path)] for model, path in paths.items()
    }
    figure, axes = panels(1, width=10.0, height=1.1 + 0.42 * len(paths))
    events = {f"{place} visits": np.flatnonzero(session == node) for place, node in PLACES.items()}
    plots.segmentation_strip(
        relabelled, mode_names=every, colours=plots.named_mode_colours(every), events=events, ax=axes[0, 0]
    )
    rows = [
        {"model": model, "step": t, "state": int(session[t]), "mode": every[z]}
        for model, path in relabelled.items()
        for t, z in enumerate(path)
    ]
    return Drawing(name, caption, figure, rows)


def paths(caption: str, model: SWIRL, names: Sequence[str], data: Trajectories, env: MDP) -> Drawing:
    """All trajectories by mode on the maze: traffic, where segments start and end (paper Fig. 3F)."""
    order, modes = by_name(names), model.predict(data)
    figure, axes = panels(len(order), 1, 3.6, 3.9)
    rows: list[dict[str, Any]] = []
    for column, k in enumerate(order):
        plots.paths_by_mode(
            env,
            data.states,
            modes,
            k,
            marks=MARKS,
            colours=plots.named_mode_colours(names),
            title=names[k],
            ax=axes[0, column],
        )
        traffic, starts, ends = segment_traffic(env.n_states, data.states, modes, k)
        rows += [
            {"mode": names[k], "what": "moves", "from": int(s), "to": int(t), "count": int(traffic[s, t])}
            for s, t in np.argwhere(traffic > 0)
        ]
        for what, counts in (("segment starts", starts), ("segment ends", ends)):
            rows += [
                {"mode": names[k], "what": what, "from": None, "to": int(s), "count": int(counts[s])}
                for s in np.flatnonzero(counts)
            ]
    return Drawing("paths", caption, figure, rows)


def agreement(name: str, caption: str, values: np.ndarray, names: Sequence[str]) -> Drawing:
    """Adjusted Rand index between segmentations."""
    figure, axes = panels(1, width=1.5 + 0.55 * len(names), height=1.2 + 0.5 * len(names))
    plots.agreement_matrix(values, list(names), ax=axes[0, 0])
    rows = [
        {"first": a, "second": b, "adjusted_rand_index": float(values[i, j])}
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    ]
    return Drawing(name, caption, figure, rows)


def checks(caption: str, found: Mapping[str, PredictiveChecks]) -> Drawing:
    """Posterior predictive checks: occupancy and return intervals, real against simulated."""
    figure, axes = panels(3, len(found), 3.3, 2.7)
    rows: list[dict[str, Any]] = []
    for i, (model, check) in enumerate(found.items()):
        plots.occupancy_check(
            _values(check.real_values, "occupancy"),
            np.stack(_values(check.simulated_values, "occupancy")),
            title=f"{model}: occupancy",
            ax=axes[i, 0],
        )
        for j, place in enumerate(PLACES):
            key = next(k for k in check.real_values if "return" in k[0] and k[1] == place)
            plots.distribution_check(
                check.real_values[key],
                check.simulated_values[key],
                log=True,
                xlabel="steps until the next visit",
                title=f"{model}: returns to {place}",
                ax=axes[i, 1 + j],
            )
        rows += [{"model": model, **row} for row in check.table().to_dict("records")]
    return Drawing("predictive_checks", caption, figure, rows)


def _values(values: Mapping[tuple[str, str], Any], what: str) -> Any:
    return next(value for key, value in values.items() if key[0] == what)


def dwell(caption: str, lengths: Mapping[str, Mapping[str, Sequence[int]]]) -> Drawing:
    """Segment lengths of each named mode under several models."""
    figure, axes = panels(len(lengths), 1, 2.9, 2.6)
    rows: list[dict[str, Any]] = []
    for ax, (model, by_mode) in zip(axes[0], lengths.items(), strict=True):
        colours = plots.named_mode_colours(list(by_mode))
        for (mode, values), colour in zip(by_mode.items(), colours, strict=True):
            ordered = np.sort(np.asarray(values, dtype=float))
            if len(ordered):
                ax.step(ordered, 1 - np.arange(len(ordered)) / len(ordered), where="post", color=colour, label=mode)
            rows += [{"model": model, "mode": mode, "length": int(value)} for value in values]
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_ylim(1e-3, 1.2)
        ax.set_xlim(0.9, 520)
        tidy(ax, title=model, xlabel="segment length (steps)", ylabel="share at least as long")
        ax.legend(fontsize=7, frameon=False)
    return Drawing("segment_lengths", caption, figure, rows)


def segment_lengths(modes: Sequence[np.ndarray], names: Sequence[str]) -> dict[str, list[int]]:
    """Lengths of the whole segments of each mode (neither end cut by the session)."""
    found = find_segments(modes)
    whole = ~(found.cut_start | found.cut_end)
    return {names[k]: found.length[whole & (found.mode == k)].astype(int).tolist() for k in by_name(list(names))}
