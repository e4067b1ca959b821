"""The gridworld experiment's drawings: each takes numbers and returns a Drawing."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from swirl import plots
from swirl.data.mdp import MDP
from swirl.datasets import GRIDWORLD_MODES, HOME, SIDE, WATER
from swirl.plots.move_maps import state_transitions
from swirl.plots.style import INK, LABEL_SIZE, REWARD_COLOURS, TITLE_SIZE, add_colour_bar, colour_map, finite_range
from swirl.workflows.html import Drawing

GRID = (SIDE, SIDE)
MARKS = {"home": HOME, "water": WATER}
MEASURES = {
    "reward_canonical": "reward correlation, canonical",
    "reward_paper": "reward correlation, paper's measure",
    "test_log_likelihood": "test log-likelihood (nats/step)",
    "accuracy": "segmentation accuracy",
}
Rows = list[dict[str, Any]]


def reward_drawing(name: str, caption: str, tables: Mapping[str, Float[np.ndarray, "mode state previous"]]) -> Drawing:
    """Draw split reward maps, a column per entry of `tables` and a row per mode, each map stretched over 0 to 1.

    >>> from swirl.datasets import gridworld_rewards
    >>> drawing = reward_drawing("rewards", "The true rewards.", {"true": gridworld_rewards()})
    >>> len(drawing.rows), drawing.rows[0]
    (210, {'map': 'true', 'mode': 'water', 'state': 0, 'previous': 0, 'reward': 0.0, 'drawn': 0.0})
    """
    n_columns = len(tables)
    figure = Figure(figsize=(1.95 * n_columns + 2.0, 4.45), dpi=150, layout="constrained")
    grid = figure.add_gridspec(2, n_columns + 1, width_ratios=[1.0] * n_columns + [0.7])
    maps, rows = [], []
    for column, (label, table) in enumerate(tables.items()):
        for mode, called in enumerate(GRIDWORLD_MODES):
            low, high = finite_range(table[mode], None, None)
            drawn = (table[mode] - low) / (high - low)
            ax = figure.add_subplot(grid[mode, column])
            maps.append(ax)
            plots.split_reward_map(drawn, GRID, ax=ax, vmin=0.0, vmax=1.0, marks=MARKS, colour_bar=False)
            if mode == 0:
                ax.set_title(label, fontsize=TITLE_SIZE, color=INK, pad=6)
            if column == 0:
                ax.text(
                    -0.2, 0.5, called, transform=ax.transAxes, rotation=90, ha="right", va="center",
                    fontsize=TITLE_SIZE, color=INK, fontweight="bold",
                )  # fmt: skip
            rows += [
                {
                    "map": " ".join(label.split()),
                    "mode": called,
                    "state": int(state),
                    "previous": int(previous),
                    "reward": float(table[mode, state, previous]),
                    "drawn": float(drawn[state, previous]),
                }
                for state, previous in np.argwhere(np.isfinite(table[mode]))
            ]
    plots.split_key(ax=figure.add_subplot(grid[0, n_columns]))
    scale = ScalarMappable(Normalize(0.0, 1.0), colour_map(REWARD_COLOURS))
    add_colour_bar(maps, scale, "reward, each map from 0 to 1")
    return Drawing(name, caption, figure, rows)


def policy_drawing(policies: Mapping[str, Float[np.ndarray, "mode state action"]], env: MDP) -> Drawing:
    """Draw what each mode does, a row per entry of `policies`: arrows, and log-odds against the average mode."""
    colours = plots.named_mode_colours(GRIDWORLD_MODES)
    figure = Figure(figsize=(10.2, 2.75 * len(policies)), dpi=150, layout="constrained")
    axes = figure.subplots(len(policies), 4, squeeze=False)
    rows = []
    for line, (label, policy) in zip(axes, policies.items(), strict=True):
        for mode, name in enumerate(GRIDWORLD_MODES):
            title = f"{label}: {name} mode"
            plots.policy_map(policy[mode], env, marks=MARKS, colour=colours[mode], title=title, ax=line[mode])
            plots.preference_map(
                policy[mode],
                policy,
                env,
                marks=MARKS,
                title=f"{label}: {name} against average",
                colour_bar=mode == 1,
                label="log-odds (nats)",
                ax=line[2 + mode],
            )
            onward = state_transitions(policy[mode], env)
            average = np.mean([state_transitions(one, env) for one in policy], axis=0)
            rows += [
                {
                    "model": label,
                    "mode": name,
                    "state": int(state),
                    "next_state": int(after),
                    "probability": float(onward[state, after]),
                    "average_over_modes": float(average[state, after]),
                }
                for state, after in np.argwhere(average > 0)
            ]
    caption = (
        "What the modes do, free of any gauge. Left: probability of each move (width and darkness of the arrow) and of "
        "staying (area of the disc). Right: how much more a mode takes each move than the average of both modes does."
    )
    return Drawing("policies", caption, figure, rows)


def switching_drawing(tables: Mapping[str, Float[np.ndarray, "state mode next_mode"]]) -> Drawing:
    """Draw the probability of leaving each mode at each place, a column per mode and entry of `tables`."""
    figure = Figure(figsize=(2.5 * 2 * len(tables), 2.4), dpi=150, layout="constrained")
    axes = iter(figure.subplots(1, 2 * len(tables)))
    rows = []
    for mode, name in enumerate(GRIDWORLD_MODES):
        leave = {label: 1 - table[:, mode, mode] for label, table in tables.items()}
        top = max(float(value.max()) for value in leave.values())
        for label, value in leave.items():
            title = f"leaving the {name} mode, {label}"
            plots.mode_transition_map(value, GRID, ax=next(axes), vmax=top, marks=MARKS, title=title)
            rows += [
                {"table": label, "mode": name, "state": state, "probability_of_leaving": float(p)}
                for state, p in enumerate(value)
            ]
    caption = "Probability of leaving a mode at each place, true and recovered (best run by training objective)."
    return Drawing("switching", caption, figure, rows)


def box_drawing(
    name: str, caption: str, rows: Rows, by: str, references: Mapping[str, tuple[str, float]], xlabel: str | None = None
) -> Drawing:
    """Draw box plots of the four measures over the rows, a box per value of the column `by`.

    `references` gives, by measure, the name and value of a line across.
    """
    figure = Figure(figsize=(10.4, 5.2), dpi=150, layout="constrained")
    for ax, (measure, label) in zip(figure.subplots(2, 2).ravel(), MEASURES.items(), strict=True):
        values: dict[str, list[float]] = {}
        for row in rows:
            values.setdefault(str(row[by]), []).append(row[measure])
        called, line = references.get(measure, ("", None))
        plots.score_boxes(values, ax=ax, reference=line, reference_label=called, label=label)
        if xlabel is not None:
            ax.set_xlabel(xlabel, fontsize=LABEL_SIZE, color=INK)
    lines = [
        {by: called, **{key: value if key == measure else None for key in MEASURES}}
        for measure, (called, value) in references.items()
    ]
    kept = [{key: row[key] for key in (by, "run", "draw", *MEASURES) if key in row} for row in rows]
    return Drawing(name, caption, figure, kept + lines)


def agreement_drawing(pairs: Rows, n_best: int) -> Drawing:
    """Draw the ARI between every two runs of each model, and between S-2's best runs and the truth.

    `pairs` has model, run, other, their rank by training objective (−1 is the truth) and ari.
    """
    figure = Figure(figsize=(8.6, 3.1), dpi=150, layout="constrained")
    boxes, square = figure.subplots(1, 2, width_ratios=[1.25, 1.0])
    between: dict[str, list[float]] = {}
    for row in pairs:
        if row["run"] >= 0:
            between.setdefault(row["model"], []).append(row["ari"])
    plots.score_boxes(between, ax=boxes, label="adjusted Rand index", title="Every two runs")
    shown = [row for row in pairs if row["model"] == "S-2" and max(row["rank"], row["other_rank"]) < n_best]
    n_shown = max(row["other_rank"] for row in shown) + 2
    matrix = np.eye(n_shown)
    for row in shown:
        a, b = row["rank"] + 1, row["other_rank"] + 1
        matrix[a, b] = matrix[b, a] = row["ari"]
    names = ["truth", *(f"run {n + 1}" for n in range(n_shown - 1))]
    plots.agreement_matrix(matrix, names, ax=square, title="S-2: its best runs and the truth")
    caption = (
        "Agreement of the segmentations (Viterbi) of the test sessions. Left: every two runs of a model (boxes: "
        "quartiles, whiskers 1.5 · IQR). Right: S-2's runs, best training objective first, and the true modes."
    )
    return Drawing("agreement", caption, figure, pairs)


def check_drawing(values: Rows, n_draws: int) -> Drawing:
    """Draw simulated against real dwell times, return intervals and occupancy, a row per model.

    `values` holds how often each value occurs: model, statistic, of, data ("real" or the draw), value, count. Modes
    are decoded by the model of the row, in the data as well.
    """
    models = list(dict.fromkeys(row["model"] for row in values))
    figure = Figure(figsize=(12.2, 2.6 * len(models)), dpi=150, layout="constrained")
    for line, model in zip(figure.subplots(len(models), 5, squeeze=False), models, strict=True):
        panels = [(what, of) for what in ("dwell time", "return interval") for of in GRIDWORLD_MODES]
        for ax, (what, of) in zip(line, panels, strict=False):
            real, simulated = _samples(values, model, what, of)
            if not (len(real) and simulated):  # a mode or place that never occurs has nothing to draw
                ax.set_axis_off()
                continue
            title = f"{model}: {of} dwell times" if what == "dwell time" else f"{model}: returns to {of}"
            plots.distribution_check(real, {"simulated": simulated}, log=True, xlabel="steps", title=title, ax=ax)
            ax.xaxis.set_major_locator(FixedLocator([2, 5, 10, 20, 50, 100, 200, 500]))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            ax.xaxis.set_minor_locator(NullLocator())
        shares: dict[str, list[float]] = {}
        for row in values:
            if (row["model"], row["statistic"]) == (model, "occupancy"):
                shares.setdefault(row["data"], []).append(float(row["count"]))
        simulated = np.array([share for data, share in shares.items() if data != "real"])
        title = f"{model}: time at each place"
        plots.occupancy_check(np.array(shares["real"]), simulated, marks=MARKS, title=title, ax=line[4])
    caption = (
        f"The test sessions (black) against {n_draws} simulated data sets of the same size (bands: 95 %, dashed: "
        "median): dwell times of decoded modes, steps between visits, and the share of the time at each place."
    )
    return Drawing("predictive-values", caption, figure, values)


def _samples(values: Rows, model: str, what: str, of: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """The values of a statistic in the data, and in each simulated data set that has any."""
    found: dict[str, list[float]] = {"real": []}
    for row in values:
        if (row["model"], row["statistic"], row["of"]) == (model, what, of):
            found.setdefault(row["data"], []).extend([row["value"]] * row["count"])
    return np.array(found.pop("real")), [np.array(sample) for sample in found.values() if sample]
