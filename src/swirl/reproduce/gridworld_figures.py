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
from swirl.datasets import GRIDWORLD_MODES, HOME, SIDE, WATER
from swirl.mdp import MDP
from swirl.plots.policy import state_transitions
from swirl.plots.style import INK, LABEL_SIZE, REWARD_COLOURS, TITLE_SIZE, add_colour_bar, colour_map, finite_range
from swirl.reproduce.page import Block, Drawing, Numbers, Text
from swirl.reproduce.published import GRIDWORLD

GRID = (SIDE, SIDE)
MARKS = {"home": HOME, "water": WATER}
MEASURES = {
    "reward_canonical": "reward correlation, canonical",
    "reward_paper": "reward correlation, paper's measure",
    "test_log_likelihood": "test log-likelihood (nats/step)",
    "accuracy": "segmentation accuracy",
}
SHORT = {
    "test_log_likelihood": "test LL",
    "accuracy": "accuracy",
    "reward_canonical": "reward r, canonical",
    "reward_paper": "reward r, paper's",
}
LL = "test_log_likelihood"
READINGS = ("forget", "gap")  # of moves that the environment rules out
N_BEST = 5  # runs whose segmentations are compared one by one
Rows = list[dict[str, Any]]

# ---------------------------------------------------------------------- sections


def rewards(
    maps: Mapping[str, Float[np.ndarray, "mode state previous"]],
    policies: Mapping[str, Float[np.ndarray, "mode state action"]],
    switching: Mapping[str, Float[np.ndarray, "state mode next_mode"]],
    best: Mapping[str, Mapping[str, Any]],
    env: MDP,
) -> list[Block]:
    """True and recovered rewards, with pictures that need no gauge beside them."""
    caption = (
        "Rewards r(s_t, s_{t−1}), each map stretched over 0 to 1; a cell is split by the previous location, light grey "
        "where there is no such move. The second column has the same policy as the first and is what the third is to "
        "be compared with; the fourth is as the fit left it. S-2: best run by training objective."
    )
    far = ", ".join(f"{name} {row['policy_divergence']:.4f}" for name, row in best.items())
    words = f"Kullback–Leibler divergence of the policies from the true ones, mean over test steps, nats: {far}."
    return [
        reward_drawing("rewards", caption, maps),
        policy_drawing(policies, env),
        Text(words),
        switching_drawing(switching),
    ]


def starts(
    runs: Rows,
    pairs: Rows,
    truth: Mapping[str, float],
    counted: Mapping[str, Any],
    lines: Mapping[str, tuple[str, float]],
) -> list[Block]:
    """Spread and agreement of single starts."""
    names = list(dict.fromkeys(row["model"] for row in runs))
    n_runs = sum(row["model"] == names[0] for row in runs)
    rows: Rows = []
    for name in ("truth", *names, counted["model"]):
        own = [row for row in runs if row["model"] == name]
        chosen = {"truth": {**truth, "policy_divergence": 0.0}, counted["model"]: counted}.get(name)
        chosen = chosen or next(row for row in own if row["best"])
        row = {"model": name, **{SHORT[key]: chosen.get(key) for key in SHORT}}
        row["policies, KL from the truth's"] = chosen.get("policy_divergence")
        row["SD of LL over runs"] = float(np.std([row[LL] for row in own], ddof=1)) if len(own) > 1 else None
        rows.append(row)
    agreement = []
    for name in dict.fromkeys(row["model"] for row in pairs):
        own = [row for row in pairs if row["model"] == name]
        among = [row for row in own if row["run"] >= 0]
        top = [row["ari"] for row in among if max(row["rank"], row["other_rank"]) < min(3, n_runs)]
        agreement.append(
            {
                "model": name,
                "ARI, best three runs": float(np.mean(top)) if top else None,
                "ARI, every two runs": float(np.mean([row["ari"] for row in among])) if among else None,
                "least": min((row["ari"] for row in among), default=None),
                "ARI with the true modes, best run": next(
                    row["ari"] for row in own if row["run"] < 0 and row["other_rank"] == 0
                ),
            }
        )
    caption = (
        f"{n_runs} single starts of each model (boxes: quartiles, whiskers to 1.5 · IQR, as in the paper; dots: the "
        "runs). Dashed: the truth's own score on these sessions; for the paper's reward measure, what the least-norm "
        "member of the true reward reaches."
    )
    return [
        box_drawing("starts", caption, runs, "model", lines),
        Numbers(
            "models",
            "Best run by training objective; LL in nats/step; the count model's order was chosen on training folds.",
            rows,
        ),
        agreement_drawing(pairs, N_BEST),
        Numbers("restart-agreement", "Adjusted Rand index between test segmentations, mean over pairs.", agreement, 3),
    ]


def robustness(noisy: Rows, lines: Mapping[str, tuple[str, float]]) -> list[Block]:
    """S-2 fitted to damaged data, impossible moves read in two ways."""
    rows: Rows = []
    for reading, level in dict.fromkeys((row["reading"], row["percent"]) for row in noisy):
        own = [row for row in noisy if (row["reading"], row["percent"]) == (reading, level)]
        medians = {SHORT[key]: float(np.median([row[key] for row in own])) for key in SHORT}
        rows.append({"impossible moves": reading, "% permuted": level, **medians, "draws": len(own)})
    ends = {reading: [row for row in rows if row["impossible moves"] == reading] for reading in READINGS}
    told = []
    for reading, own in ends.items():
        low, high = own[0], own[-1]
        told.append(
            f"with **{reading}** the median canonical correlation goes from {low['reward r, canonical']:.3f} at "
            f"{low['% permuted']} % to {high['reward r, canonical']:.3f} at {high['% permuted']} %, the accuracy from "
            f"{low['accuracy']:.1%} to {high['accuracy']:.1%}"
        )
    words = (
        "A permuted state makes moves that the environment rules out, and a model can read them in two ways. "
        "**Forget** restarts the history and lets the chain of modes go on, across a place where the animal was not. "
        f"**Gap** restarts the chain of modes as well. Here {'; '.join(told)}. The paper shows its results as figures "
        "only: high accuracy below 10 %, stable from 10 to 30 %, hard beyond."
    )
    drawings = [
        box_drawing(
            f"robustness-{reading}",
            "S-2 fitted to training data in which a share of the states and of the actions changed places at random "
            f"(impossible moves: {reading}), {rows[0]['draws']} draws each, best of two starts; the test sessions are "
            "clean. Draws at 0 % differ in their starts only. Dashed as above.",
            [row for row in noisy if row["reading"] == reading],
            "percent",
            lines,
            "states and actions permuted in training (%)",
        )
        for reading in READINGS
    ]
    table = Numbers("robustness-medians", "Medians over draws; LL in nats per step on the test sessions.", rows)
    return [Text(words), *drawings, table]


def model_free(free: Rows, maps: Mapping[str, np.ndarray], truth: Mapping[str, float]) -> list[Block]:
    """Model-free S-2: what IQ-Learn finds, read out in two ways."""
    shown = {name: maps[name] for name in ("true", "true, least norm")}
    for row in free:
        if (row["kind"], row["strength"]) != ("projected", 0.5):
            shown[f"{row['kind']},\nλ = {row['strength']:g}"] = np.array(row["table"])
    rows = [{"read out": row["kind"], "λ": row["strength"], **{SHORT[key]: row[key] for key in SHORT}} for row in free]
    rows.append({"read out": "truth", "λ": None, **{SHORT[key]: truth[key] for key in SHORT}})
    projected, marginal = free[0]["reward_paper"], free[-1]["reward_paper"]
    words = (
        "IQ-Learn with χ² is likelihood with a penalty ½ λ r² on the reward of each visited step (λ = ½ is the "
        "paper's; the package's default is smaller, as ½ biases the policies), so model-free S-2 is a state-action S-2 "
        "and its r(h, a) has to be turned into an r(h). The **marginal** Σ_a π(a|h) r(h, a) is the paper's way; what "
        "it shows depends on the gauge that the penalty picked. **Projected** is the r(h) whose policy is nearest to "
        "the fitted one, of least norm: the part that the data tell. In the paper's measure, where it reports "
        f"{GRIDWORLD['model-free reward correlation'].value}, marginalising at λ = {free[-1]['strength']:g} gives "
        f"{marginal:.3f} and projecting at λ = {free[0]['strength']:g} gives {projected:.3f}."
    )
    caption = (
        "Rewards r(s_t, s_{t−1}) of model-free S-2 beside the true ones, each map stretched over 0 to 1; λ is the "
        "strength of IQ-Learn's penalty. Best run by training objective."
    )
    return [
        reward_drawing("model-free", caption, shown),
        Numbers("model-free-measures", "On the test sessions; LL in nats per step.", rows),
        Text(words),
    ]


def checks(table: Rows, values: Rows) -> list[Block]:
    """Does a fitted model, let run, behave as the data do?"""
    n_draws = max(row["draws"] for row in table)
    level = max(0.05, 2 / (n_draws + 1))  # the least p there can be, where draws are few
    models = list(dict.fromkeys(row["model"] for row in table))
    wide: dict[str, dict[str, Any]] = {}
    missed: dict[str, list[str]] = {name: [] for name in models}
    for row in table:
        of = f" ({row['of']})" if row["of"] else ""
        called = f"{row['statistic']}{of}: {row['summary']}"
        line = wide.setdefault(called, {"statistic": called})
        shown = ("p_value",) if row["model"] == "truth" else ("real", "low", "high", "p_value")
        heads = {"real": "data", "p_value": "p"}
        line.update({f"{row['model']} {heads.get(key, key)}": row[key] for key in shown})
        if row["p_value"] <= level:
            missed[row["model"]].append(called)
    named = {name: f" ({'; '.join(found)})" if found else "" for name, found in missed.items()}
    counts = ", ".join(f"**{name}** {len(found)}{named[name]}" for name, found in missed.items())
    words = (
        f"Of {len(wide)} statistics, those of the data that lie outside what a model simulates (p ≤ {level:.2f}): "
        f"{counts}. A true model has about {level * len(wide):.0f} by chance."
    )
    caption = (
        f"The test sessions against {n_draws} simulated data sets: the data, 2.5 and 97.5 % of the simulated, "
        f"two-sided p (never below {2 / (n_draws + 1):.3f}). Modes are decoded by the model."
    )
    return [Text(words), check_drawing(values, n_draws), Numbers("predictive-checks", caption, list(wide.values()), 3)]


# ---------------------------------------------------------------------- drawings


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
