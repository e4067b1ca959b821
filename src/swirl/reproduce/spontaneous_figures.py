"""The figures of the spontaneous-behaviour experiment (the paper's Figure 4), each with the numbers that it draws."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure

from swirl import plots
from swirl.datasets import SYLLABLES
from swirl.plots.raster import padded, prevalence
from swirl.plots.style import PREFERENCE_COLOURS, REWARD_COLOURS, TICK_SIZE, add_colour_bar
from swirl.predictive import PredictiveChecks
from swirl.reproduce.page import Drawing

Maps = Float[np.ndarray, "mode state action"]
MOST_ODDS = 3.0  # log-odds beyond are drawn at the end of the scale: transitions that a mode all but never makes
WINDOW = 15
MODEL_COLOURS = {
    "MaxEnt": "#7F7F7F",
    "ARHMM": "#56B4E9",
    "rARHMM": "#000000",
    "I-1": "#E69F00",
    "I-2": "#CC79A7",
    "S-1": "#D55E00",
    "S-2": "#0072B2",
}


def stretched(maps: Maps) -> Maps:
    """Each mode's map stretched over 0 to 1, without its diagonal (NaN), as the paper draws them.

    >>> stretched(np.array([[[9.0, 1.0], [3.0, 9.0]]])).tolist()
    [[[nan, 0.0], [1.0, nan]]]
    """
    shown = np.where(np.eye(*maps.shape[1:], dtype=bool), np.nan, maps)
    low = np.nanmin(shown, axis=(1, 2), keepdims=True)
    width = np.nanmax(shown, axis=(1, 2), keepdims=True) - low
    return (shown - low) / np.where(width > 0, width, 1.0)


def log_odds(policies: Maps, weights: Float[np.ndarray, "mode"]) -> Maps:
    """Log-odds of each transition in each mode less those in the mean policy, modes weighted by their share of steps.

    It is known without any gauge: the policies are what the data speak of.

    >>> log_odds(np.array([[[0.5, 0.5]], [[0.5, 0.5]]]), np.array([0.7, 0.3])).tolist()
    [[[0.0, 0.0]], [[0.0, 0.0]]]
    """
    mean = np.einsum("z,zsa->sa", weights / weights.sum(), policies)
    return np.log(policies / (1 - policies)) - np.log(mean / (1 - mean))


def score_figure(rows: list[dict[str, Any]], references: Mapping[str, float], n_scored: int, n_runs: int) -> Drawing:
    """Test score against the number of modes, with bands (the paper's Figure 4B)."""
    modes = sorted({row["modes"] for row in rows})
    names = list(dict.fromkeys(row["model"] for row in rows))
    tables = {name: np.full((len(modes), n_runs), np.nan) for name in names}
    for row in rows:
        tables[row["model"]][modes.index(row["modes"]), row["run"]] = row["score"]
    figure = Figure(figsize=(6.2, 4.2), layout="constrained")
    plots.score_bands(
        tables, modes, xlabel="number of modes", references=references, colours=MODEL_COLOURS, ax=figure.add_subplot()
    )
    lines = [
        {"model": name, "modes": None, "run": None, "score": score, "objective": None}
        for name, score in references.items()
    ]
    caption = (
        f"Log-likelihood of the test sessions (every fifth; {n_scored:,} scored steps) against the number of modes: mean "
        f"over {n_runs} single starts, band ±1 SD. Grey: smoothed counts without modes. S-1 and rARHMM, I-1 and ARHMM lie "
        "on each other wherever training folds chose the same priors for both: they are one family."
    )
    return Drawing("scores-by-modes", caption, figure, [*rows, *lines])


def map_figure(rewards: Maps, odds: Maps, names: Sequence[str], notes: Sequence[str]) -> Drawing:
    """Reward maps of all modes (the paper's Figure 4A), and under each what its mode prefers, free of gauge."""
    n = len(names)
    shown = stretched(rewards)
    figure = Figure(figsize=(2.25 * n + 1.1, 5.2), layout="constrained")
    axes = figure.subplots(2, n, squeeze=False)
    for mode, (name, note) in enumerate(zip(names, notes, strict=True)):
        left = "current" if mode == 0 else None
        plots.transition_map(
            shown[mode], SYLLABLES, title=name, note=note, xlabel=None, ylabel=left, colour_bar=False, vmin=0, vmax=1,
            ax=axes[0, mode],
        )  # fmt: skip
        plots.transition_map(
            np.clip(odds[mode], -MOST_ODDS, MOST_ODDS), SYLLABLES, diagonal=False, ylabel=left, colour_bar=False,
            vmin=-MOST_ODDS, vmax=MOST_ODDS, colours=PREFERENCE_COLOURS, ax=axes[1, mode],
        )  # fmt: skip
        for ax in axes[:, mode]:
            if mode:
                ax.set_yticklabels([])
    add_colour_bar(list(axes[0]), axes[0, 0].images[0], "reward, 0 to 1 in each mode")
    add_colour_bar(list(axes[1]), axes[1, 0].images[0], "log-odds against all modes")
    rows = [
        {
            "mode": name, "current": SYLLABLES[s], "next": SYLLABLES[a], "reward": rewards[mode, s, a],
            "reward_0_to_1": shown[mode, s, a], "log_odds_against_all_modes": odds[mode, s, a],
        }
        for mode, name in enumerate(names) for s in range(len(SYLLABLES)) for a in range(len(SYLLABLES))
    ]  # fmt: skip
    caption = (
        "S-1. Above: reward r(current, next) of each mode in the fitted gauge, stretched over 0 to 1, with the correlation "
        "with dopamine and its p-value under circular shifts. Below, free of gauge: log-odds of each transition against "
        f"the mean policy of all modes (ends of the scale: ±{MOST_ODDS:g} or beyond). Grey: the diagonal, left out."
    )
    return Drawing("reward-maps", caption, figure, rows)


def raster_figure(modes: Sequence[np.ndarray], names: Sequence[str], train_or_test: str) -> Drawing:
    """Modes of all sessions (the paper's Figure 4C), and how common each is as the session goes on."""
    figure = Figure(figsize=(6.4, 6.2), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=[2.1, 1])
    plots.mode_raster(modes, mode_names=names, title="Modes of all sessions", xlabel="", ax=above)
    plots.mode_prevalence(modes, window=WINDOW, mode_names=names, ax=below)
    mean, error = prevalence(padded(modes), len(names), WINDOW)
    rows: list[dict[str, Any]] = [
        {"session": session, "step": step, "mode": names[mode], "share": None, "standard_error": None}
        for session, path in enumerate(modes)
        for step, mode in enumerate(path.tolist())
    ]
    rows += [
        {"session": None, "step": step, "mode": name, "share": mean[k, step], "standard_error": error[k, step]}
        for k, name in enumerate(names)
        for step in range(mean.shape[1])
    ]
    caption = (
        f"S-1's modes (Viterbi) in {train_or_test}, a row per session; below, the share of sessions in each mode against "
        f"the step, averaged over {WINDOW} steps, with ±1.96 standard errors over sessions."
    )
    return Drawing("segments", caption, figure, rows)


def agreement_figure(values: np.ndarray, restarts: Sequence[str], gaps: Sequence[float]) -> Drawing:
    """How far the best restarts agree on the segmentation."""
    names = [f"{restart} (−{gap:.4f})" for restart, gap in zip(restarts, gaps, strict=True)]
    figure = Figure(figsize=(1.6 + 0.62 * len(names), 1.3 + 0.5 * len(names)), layout="constrained")
    ax = plots.agreement_matrix(values, names, ax=figure.add_subplot())
    ax.set_xticks(range(len(names)), list(restarts), rotation=0)
    rows = [
        {"restart": a, "other": b, "adjusted_rand_index": values[i, j], "objective_behind_best_per_step": gaps[i]}
        for i, a in enumerate(restarts)
        for j, b in enumerate(restarts)
    ]
    caption = (
        "Adjusted Rand index between the segmentations (Viterbi, test sessions) of S-1's best restarts; in brackets how far "
        "each restart's training objective is behind the best, in nats per step."
    )
    return Drawing("restart-agreement", caption, figure, rows)


def check_figure(checks: Mapping[str, PredictiveChecks], shown: Sequence[tuple[str, str, str]]) -> Drawing:
    """Statistics of the data beside those of simulated data, as a strip for each statistic."""
    columns = 3
    figure = Figure(figsize=(7.4, 1.55 * -(-len(shown) // columns) + 0.3), layout="constrained")
    axes = figure.subplots(-(-len(shown) // columns), columns, squeeze=False).ravel()
    rows = []
    for ax, statistic in zip(axes, shown, strict=False):
        what, of, summary = statistic
        for lane, (name, check) in enumerate(checks.items()):
            drawn = check.simulated[statistic]
            spread = np.linspace(-0.16, 0.16, len(drawn)) if len(drawn) > 1 else np.zeros(1)
            colour = MODEL_COLOURS.get(name, "#7F7F7F")
            ax.plot(drawn, lane + spread, ".", markersize=4, color=colour, alpha=0.7)
            rows += [{"statistic": what, "of": of, "summary": summary, "source": name, "draw": i, "value": v}
                     for i, v in enumerate(drawn.tolist())]  # fmt: skip
            # Decoded modes are each model's own, so the data have a value for each model.
            ax.plot([check.real[statistic]] * 2, [lane - 0.34, lane + 0.34], color="#262626", linewidth=1.6)
            rows.append({"statistic": what, "of": of, "summary": summary, "source": f"data, by {name}", "draw": None,
                         "value": check.real[statistic]})  # fmt: skip
        plots.style.tidy(ax, title=", ".join(part for part in (what, of) if part))
        ax.set_xlabel(summary, fontsize=TICK_SIZE)
        ax.set_yticks(range(len(checks)), list(checks))
        ax.set_ylim(len(checks) - 0.5, -0.5)
        ax.margins(x=0.12)
        ax.locator_params(axis="x", nbins=4)
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    n_draws = next(iter(checks.values())).n_draws
    caption = (
        f"Test sessions (black bar) beside {n_draws} data sets that each model simulates at the recorded states (dots). "
        "Decoded modes are the model's own, in the data as in the simulations."
    )
    return Drawing("predictive-checks", caption, figure, rows)
