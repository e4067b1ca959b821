"""Sections of the gridworld page: tables, and figures with the tidy rows of every number that they draw."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from swirl import plots
from swirl.analysis.predictive_checks import ENOUGH
from swirl.analysis.significance import LEVEL
from swirl.data.mdp import MDP
from swirl.datasets import GRIDWORLD_MODES
from swirl.plots.move_maps import state_transitions
from swirl.plots.style import (
    INK,
    LABEL_SIZE,
    REWARD_COLOURS,
    TITLE_SIZE,
    add_colour_bar,
    colour_map,
    finite_range,
    printed,
)
from swirl.reproduce.gridworld import TEXT
from swirl.reproduce.page import Published, Rows, grouped, panels
from swirl.workflows.demo.figures import GRID, MARKS
from swirl.workflows.html import Block, Drawing, Text, tidy_rows

LL = "test_log_likelihood"
MEASURES = {
    "reward_canonical": "reward correlation,\ncanonical",
    "reward_paper": "reward correlation,\npaper's measure",
    LL: "test log-likelihood (nats/step)",
    "accuracy": "segmentation accuracy",
}
SHORT = {LL: "test LL", "accuracy": "accuracy"}
SHORT |= {"reward_canonical": "reward r, canonical", "reward_paper": "reward r, paper's"}
READINGS = ("forget", "gap")  # of moves that the environment rules out
PAGE = 7.0  # inches: the width of a printed page
N_BEST = 5  # runs whose segmentations are compared one by one


def short(row: Mapping[str, Any]) -> dict[str, Any]:
    """The four measures of a row under their short names."""
    return {called: row.get(key) for key, called in SHORT.items()}


# ---------------------------------------------------------------------- rewards


def rewards(
    maps: Mapping[str, Float[np.ndarray, "mode state previous"]],
    policies: Mapping[str, Float[np.ndarray, "mode state action"]],
    switching: Mapping[str, Float[np.ndarray, "state mode next_mode"]],
    best: Mapping[str, Mapping[str, Any]],
    env: MDP,
) -> list[Block]:
    """True and recovered rewards, with pictures that need no gauge beside them."""
    far = ", ".join(f"{name} {row['policy_divergence']:.4f}" for name, row in best.items())
    return [
        TEXT.drawing("rewards", *reward_figure(maps)),
        policy_drawing(policies, env),
        TEXT.text("divergence", far=far),
        switching_drawing(switching),
    ]


def reward_figure(tables: Mapping[str, Float[np.ndarray, "mode state previous"]]) -> tuple[Figure, Rows]:
    """Draw split reward maps, a column per entry of `tables` and a row per mode, each map stretched over 0 to 1.

    >>> from swirl.datasets import gridworld_rewards
    >>> _, rows = reward_figure({"true": gridworld_rewards()})
    >>> len(rows), rows[0]
    (210, {'map': 'true', 'mode': 'water', 'state': 0, 'previous': 0, 'reward': 0.0, 'drawn': 0.0})
    """
    n_columns, key = len(tables), 1.05
    side = (PAGE - 0.9 - key) / n_columns
    figure = printed(PAGE, 2 * side + 0.6)
    grid = figure.add_gridspec(2, n_columns + 1, width_ratios=[side] * n_columns + [key])
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
            axes = {"state": range(len(drawn)), "previous": range(drawn.shape[1])}
            values = {"reward": table[mode], "drawn": drawn}
            rows += tidy_rows(axes, values, np.isfinite(drawn), map=" ".join(label.split()), mode=called)
    plots.split_key(ax=figure.add_subplot(grid[0, n_columns]), title="Previous\nlocation")
    scale = ScalarMappable(Normalize(0.0, 1.0), colour_map(REWARD_COLOURS))
    add_colour_bar(maps, scale, "reward, each map from 0 to 1")
    return figure, rows


def policy_drawing(policies: Mapping[str, Float[np.ndarray, "mode state action"]], env: MDP) -> Drawing:
    """Draw what each mode does, a row per entry of `policies`: arrows, and log-odds against the average mode."""
    colours = plots.named_mode_colours(GRIDWORLD_MODES)
    figure, axes = panels(4, len(policies), PAGE / 4, 1.85)
    rows: Rows = []
    places = {"state": range(env.n_states), "next_state": range(env.n_states)}
    for line, (label, policy) in zip(axes, policies.items(), strict=True):
        moves = np.array([state_transitions(one, env) for one in policy])
        average = moves.mean(axis=0)
        for mode, name in enumerate(GRIDWORLD_MODES):
            title = f"{label}: {name}"
            plots.policy_map(policy[mode], env, marks=MARKS, colour=colours[mode], title=title, ax=line[mode])
            against = f"{name} − average"
            plots.preference_map(
                policy[mode], policy, env, marks=MARKS, title=against, colour_bar=False, ax=line[2 + mode]
            )
            values = {"probability": moves[mode], "average_over_modes": average}
            rows += tidy_rows(places, values, average > 0, model=label, mode=name)
    [odds] = [moves for moves in axes[0, 2].collections if moves.get_label() == "moves"]
    add_colour_bar(list(axes[:, 2:].ravel()), odds, "log-odds (nats)")
    return TEXT.drawing("policies", figure, rows)


def switching_drawing(tables: Mapping[str, Float[np.ndarray, "state mode next_mode"]]) -> Drawing:
    """Draw the probability of leaving each mode at each place, a column per mode and a row per entry of `tables`."""
    figure, axes = panels(2, len(tables), 2.35, 2.0)
    rows: Rows = []
    for mode, name in enumerate(GRIDWORLD_MODES):
        leave = {label: 1 - table[:, mode, mode] for label, table in tables.items()}
        top = max(float(value.max()) for value in leave.values())
        for ax, (label, value) in zip(axes[:, mode], leave.items(), strict=True):
            title = f"{label}: leaving {name}"
            plots.mode_transition_map(value, GRID, ax=ax, vmax=top, marks=MARKS, title=title)
            rows += tidy_rows({"state": range(len(value))}, {"probability_of_leaving": value}, table=label, mode=name)
    return TEXT.drawing("switching", figure, rows)


# ---------------------------------------------------------------------- scores


def starts(
    runs: Rows,
    pairs: Rows,
    truth: Mapping[str, float],
    counted: Mapping[str, Any],
    lines: Mapping[str, tuple[str, float]],
) -> list[Block]:
    """Spread and agreement of single starts."""
    by_model = grouped(runs, "model")
    n_runs = len(next(iter(by_model.values())))
    shown: dict[str, Mapping[str, Any]] = {"truth": {**truth, "policy_divergence": 0.0}}
    shown |= {name: next(row for row in own if row["best"]) for name, own in by_model.items()}
    shown[counted["model"]] = counted
    rows: Rows = []
    for name, row in shown.items():
        scores = [one[LL] for one in by_model.get(name, [])]
        spread = float(np.std(scores, ddof=1)) if len(scores) > 1 else None
        far = {"policies, KL from the truth's": row.get("policy_divergence")}
        rows.append({"model": name, **short(row), **far, "SD of LL over runs": spread})
    agreement = []
    for name, own in grouped(pairs, "model").items():
        among = [row for row in own if row["run"] >= 0]
        every = [row["ari"] for row in among]
        top = [row["ari"] for row in among if max(row["rank"], row["other_rank"]) < min(3, n_runs)]
        agreement.append(
            {
                "model": name,
                "ARI, best three runs": float(np.mean(top)) if top else None,
                "ARI, every two runs": float(np.mean(every)) if every else None,
                "least": min(every, default=None),
                "ARI with the true modes, best run": next(
                    row["ari"] for row in own if row["run"] < 0 and row["other_rank"] == 0
                ),
            }
        )
    return [
        TEXT.drawing("starts", *box_figure(runs, "model", lines), n_runs=n_runs),
        TEXT.numbers("models", rows),
        agreement_drawing(pairs, N_BEST),
        TEXT.numbers("restart-agreement", agreement, 3),
    ]


def box_figure(
    rows: Rows, by: str, references: Mapping[str, tuple[str, float]], xlabel: str | None = None
) -> tuple[Figure, Rows]:
    """Draw box plots of the four measures over the rows, a box per value of the column `by`.

    `references` gives, by measure, the name and value of a line across.
    """
    figure, axes = panels(2, 2, PAGE / 2, 2.3)
    for ax, (measure, label) in zip(axes.ravel(), MEASURES.items(), strict=True):
        values = {str(name): [row[measure] for row in own] for name, own in grouped(rows, by).items()}
        called, line = references.get(measure, ("", None))
        plots.score_boxes(values, ax=ax, reference=line, reference_label=called, label=label)
        if xlabel is not None:
            ax.set_xlabel(xlabel, fontsize=LABEL_SIZE, color=INK)
    lines = [
        {by: called, **{key: value if key == measure else None for key in MEASURES}}
        for measure, (called, value) in references.items()
    ]
    kept = [{key: row[key] for key in (by, "run", "draw", *MEASURES) if key in row} for row in rows]
    return figure, kept + lines


def agreement_drawing(pairs: Rows, n_best: int) -> Drawing:
    """Draw the ARI between every two runs of each model, and between S-2's best runs and the truth.

    `pairs` has model, run, other, their rank by training objective (−1 is the truth) and ari.
    """
    figure = printed(PAGE, 2.9)
    boxes, square = figure.subplots(1, 2, width_ratios=[1.25, 1.0])
    between = grouped([row for row in pairs if row["run"] >= 0], "model")
    values = {name: [row["ari"] for row in own] for name, own in between.items()}
    plots.score_boxes(values, ax=boxes, label="adjusted Rand index", title="Every two runs")
    shown = [row for row in pairs if row["model"] == "S-2" and max(row["rank"], row["other_rank"]) < n_best]
    n_shown = max(row["other_rank"] for row in shown) + 2
    matrix = np.eye(n_shown)
    for row in shown:
        a, b = row["rank"] + 1, row["other_rank"] + 1
        matrix[a, b] = matrix[b, a] = row["ari"]
    names = ["truth", *(f"run {n + 1}" for n in range(n_shown - 1))]
    plots.agreement_matrix(matrix, names, ax=square, title="S-2: its best runs and the truth")
    return TEXT.drawing("agreement", figure, pairs)


def robustness(noisy: Rows, lines: Mapping[str, tuple[str, float]]) -> list[Block]:
    """S-2 fitted to damaged data, impossible moves read in two ways."""
    rows: Rows = []
    for (reading, level), own in grouped(noisy, "reading", "percent").items():
        medians = short({key: float(np.median([row[key] for row in own])) for key in SHORT})
        rows.append({"impossible moves": reading, "% permuted": level, **medians, "draws": len(own)})
    ends = grouped(rows, "impossible moves")
    told = [TEXT("impossible moves, one reading", reading=r, low=ends[r][0], high=ends[r][-1]) for r in READINGS]
    drawings = []
    for reading in READINGS:
        own = [row for row in noisy if row["reading"] == reading]
        figure, drawn = box_figure(own, "percent", lines, "states and actions permuted in training (%)")
        caption = TEXT("robustness", reading=reading, n_draws=rows[0]["draws"])
        drawings.append(Drawing(f"robustness-{reading}", caption, figure, drawn))
    words = TEXT.text("impossible moves", told="; ".join(told))
    return [words, *drawings, TEXT.numbers("robustness-medians", rows)]


def model_free(
    free: Rows, maps: Mapping[str, np.ndarray], truth: Mapping[str, float], published: Published
) -> list[Block]:
    """Model-free S-2: what IQ-Learn finds, read out in two ways."""
    shown = {name: maps[name] for name in ("true", "true, least norm")}
    for row in free:
        if (row["kind"], row["strength"]) != ("projected", 0.5):
            shown[f"{row['kind']},\nλ = {row['strength']:g}"] = np.array(row["table"])
    rows = [{"read out": row["kind"], "λ": row["strength"], **short(row)} for row in free]
    rows.append({"read out": "truth", "λ": None, **short(truth)})
    return [
        TEXT.drawing("model-free", *reward_figure(shown)),
        TEXT.numbers("model-free-measures", rows),
        TEXT.text("read out", published=published.value, marginal=free[-1], projected=free[0]),
    ]


# ---------------------------------------------------------------------- predictive checks


def checks(table: Rows, values: Rows) -> list[Block]:
    """Does a fitted model, let run, behave as the data do?"""
    n_draws = max(row["draws"] for row in table)
    wide: dict[str, dict[str, Any]] = {}
    missed: dict[str, list[str]] = {name: [] for name in grouped(table, "model")}
    heads = {"real": "data", "p_value": "p", "corrected_p_value": "corrected p"}
    for row in table:
        of = f" ({row['of']})" if row["of"] else ""
        called = f"{row['statistic']}{of}: {row['summary']}"
        line = wide.setdefault(called, {"statistic": called})
        shown = ("p_value", "corrected_p_value")
        shown = shown if row["model"] == "truth" else ("real", "low", "high", *shown)
        line.update({f"{row['model']} {heads.get(key, key)}": row[key] for key in shown})
        if row["corrected_p_value"] <= LEVEL:
            missed[row["model"]].append(called)
    named = {name: f" ({'; '.join(found)})" if found else "" for name, found in missed.items()}
    counts = ", ".join(f"**{name}** {len(found)}{named[name]}" for name, found in missed.items())
    words = TEXT("missed", n=len(wide), level=LEVEL, counts=counts)
    if n_draws < ENOUGH:
        words += " " + TEXT("too few draws", n_draws=n_draws, enough=ENOUGH)
    rows, least = list(wide.values()), 2 / (n_draws + 1)
    numbers = TEXT.numbers("predictive-checks", rows, 3, n_draws=n_draws, least=least, n=len(rows))
    return [Text(words), check_drawing(values, n_draws), numbers]


def check_drawing(values: Rows, n_draws: int) -> Drawing:
    """Draw simulated against real dwell times, return intervals and occupancy, a row per model.

    `values` holds how often each value occurs: model, statistic, of, data ("real" or the draw), value, count. Modes
    are decoded by the model of the row, in the data as well.
    """
    by_model = grouped(values, "model")
    # Of each model: dwell times above, returns below, and at the right, twice as high, the places.
    figure = printed(PAGE, 3.6 * len(by_model))
    grid = figure.add_gridspec(2 * len(by_model), 3, width_ratios=[1.0, 1.0, 1.25])
    for row, (model, own) in enumerate(by_model.items()):
        line = [figure.add_subplot(grid[2 * row + below, column]) for below in (0, 1) for column in (0, 1)]
        places = figure.add_subplot(grid[2 * row : 2 * row + 2, 2])
        found = [(what, of) for what in ("dwell time", "return interval") for of in GRIDWORLD_MODES]
        for ax, (what, of) in zip(line, found, strict=False):
            real, simulated = _samples(own, what, of)
            if not (len(real) and simulated):  # a mode or place that never occurs has nothing to draw
                ax.set_axis_off()
                continue
            title = f"{model}: {of} dwell times" if what == "dwell time" else f"{model}: returns to {of}"
            plots.distribution_check(real, {"simulated": simulated}, log=True, xlabel="steps", title=title, ax=ax)
            ax.xaxis.set_major_locator(FixedLocator([2, 5, 10, 20, 50, 100, 200, 500]))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            ax.xaxis.set_minor_locator(NullLocator())
            legend = ax.get_legend()
            if what == "dwell time" and legend is not None:  # its curves are in the way; those of returns leave room
                legend.remove()
        occupancy = grouped([row for row in own if row["statistic"] == "occupancy"], "data")
        shares = {data: np.array([float(row["count"]) for row in rows]) for data, rows in occupancy.items()}
        real, title = shares.pop("real"), f"{model}: time at each place"
        plots.occupancy_check(real, np.array(list(shares.values())), marks=MARKS, title=title, ax=places)
    return TEXT.drawing("predictive-values", figure, values, n_draws=n_draws)


def _samples(values: Rows, what: str, of: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """The values of a statistic in the data, and in each simulated data set that has any."""
    found: dict[str, list[float]] = {"real": []}
    for row in values:
        if (row["statistic"], row["of"]) == (what, of):
            found.setdefault(row["data"], []).extend([row["value"]] * row["count"])
    return np.array(found.pop("real")), [np.array(sample) for sample in found.values() if sample]
