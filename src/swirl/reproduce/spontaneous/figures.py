"""The figures of the spontaneous-behaviour experiment (the paper's Figure 4), each with the numbers that it draws."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl import plots
from swirl.analysis.significance import LEVEL
from swirl.analysis.state_summaries import log_odds_less
from swirl.data.segments import bouts_of, find_segments
from swirl.data.trajectories import Trajectories
from swirl.datasets import SYLLABLES
from swirl.estimators.swirl import SWIRL
from swirl.plots.segments import padded, prevalence
from swirl.plots.style import INK, PREFERENCE_COLOURS, TITLE_SIZE, add_colour_bar, printed, tidy
from swirl.reproduce.fit_checks import agreement, best_starts
from swirl.reproduce.page import Rows
from swirl.reproduce.spontaneous import TEXT
from swirl.text import cell, listed, minus
from swirl.workflows.html import Block, Drawing, tidy_rows

Maps = Float[np.ndarray, "mode state action"]
MAX_ODDS = 3.0  # log-odds beyond are drawn at the end of the scale: transitions that a mode all but never makes
WINDOW = 15
WATCHED = ("Pause", "Groom", "Sniff")
MODEL_COLOURS = {
    "MaxEnt": "#7F7F7F",
    "ARHMM": "#56B4E9",
    "rARHMM": "#000000",
    "I-1": "#E69F00",
    "I-2": "#CC79A7",
    "S-1": "#D55E00",
    "S-2": "#0072B2",
    "habit + goals": "#009E73",
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
    return log_odds_less(policies, mean)


def score_figure(rows: Rows, references: Mapping[str, float], n_scored: int, n_runs: int) -> Drawing:
    """Test score against the number of modes, with bands (the paper's Figure 4B)."""
    modes = sorted({row["modes"] for row in rows})
    names = list(dict.fromkeys(row["model"] for row in rows))
    tables = {name: np.full((len(modes), n_runs), np.nan) for name in names}
    for row in rows:
        tables[row["model"]][modes.index(row["modes"]), row["run"]] = row["score"]
    figure = printed(7.0, 3.8)
    plots.score_bands(
        tables, modes, xlabel="number of modes", references=references, colours=MODEL_COLOURS, ax=figure.add_subplot()
    )
    lines = [
        {"model": name, "modes": None, "run": None, "score": score, "objective": None}
        for name, score in references.items()
    ]
    return TEXT.drawing("scores-by-modes", figure, [*rows, *lines], n_scored=n_scored, n_runs=n_runs)


def map_figure(rewards: Maps, odds: Maps, names: Sequence[str], notes: Sequence[str]) -> Drawing:
    """Reward maps of all modes (the paper's Figure 4A), and under each what its mode prefers, free of gauge."""
    n = len(names)
    shown = stretched(rewards)
    width = min(7.0, 2.25 * n + 1.1)
    side = min(2.2, (width - 1.4) / n)
    figure = printed(width, 2 * side + 1.6)
    axes = figure.subplots(2, n, squeeze=False)
    for mode, (name, note) in enumerate(zip(names, notes, strict=True)):
        left = "current" if mode == 0 else None
        plots.transition_map(
            shown[mode], SYLLABLES, note=note, xlabel=None, ylabel=left, colour_bar=False, vmin=0, vmax=1,
            ax=axes[0, mode],
        )  # fmt: skip
        plots.transition_map(
            np.clip(odds[mode], -MAX_ODDS, MAX_ODDS), SYLLABLES, diagonal=False, ylabel=left, colour_bar=False,
            vmin=-MAX_ODDS, vmax=MAX_ODDS, colours=PREFERENCE_COLOURS, ax=axes[1, mode],
        )  # fmt: skip
        axes[0, mode].set_title(name, loc="left", fontsize=TITLE_SIZE, color=INK, pad=13)  # over the note
        for ax in axes[:, mode]:
            if mode:
                ax.set_yticklabels([])
    add_colour_bar(list(axes[0]), axes[0, 0].images[0], "reward, 0 to 1 in each mode")
    add_colour_bar(list(axes[1]), axes[1, 0].images[0], "log-odds against all modes")
    values = {"reward": rewards, "reward_0_to_1": shown, "log_odds_against_all_modes": odds}
    rows = tidy_rows({"mode": names, "current": SYLLABLES, "next": SYLLABLES}, values)
    return TEXT.drawing("reward-maps", figure, rows, max_odds=MAX_ODDS)


def raster_figure(modes: Sequence[np.ndarray], names: Sequence[str]) -> Drawing:
    """Modes of all sessions (the paper's Figure 4C), and how common each is as the session goes on."""
    figure = printed(7.0, 5.6)
    above, below = figure.subplots(2, 1, height_ratios=[2.1, 1])
    plots.mode_raster(modes, mode_names=names, title="Modes of all sessions", xlabel="", ax=above)
    plots.mode_prevalence(modes, window=WINDOW, mode_names=names, ax=below)
    mean, error = prevalence(padded(modes), len(names), WINDOW)
    rows: Rows = [
        {"session": session, "step": step, "mode": names[mode], "share": None, "standard_error": None}
        for session, path in enumerate(modes)
        for step, mode in enumerate(path.tolist())
    ]
    places = {"mode": names, "step": range(mean.shape[1])}
    rows += tidy_rows(places, {"share": mean, "standard_error": error}, session=None)
    return TEXT.drawing("segments", figure, rows, n_sessions=len(modes), window=WINDOW)


def agreement_figure(values: np.ndarray, restarts: Sequence[str], gaps: Sequence[float]) -> Drawing:
    """How far the best restarts agree on the segmentation."""
    names = [f"{restart} ({cell(-gap, 4)})" for restart, gap in zip(restarts, gaps, strict=True)]
    figure = printed(2.2 + 0.5 * len(names), 0.9 + 0.4 * len(names))
    ax = plots.agreement_matrix(values, names, ax=figure.add_subplot())
    ax.set_xticks(range(len(names)), list(restarts), rotation=0)
    tidy(ax, xlabel="restart", ylabel="restart (behind the best)")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    behind = np.broadcast_to(np.array(gaps)[:, None], values.shape)
    columns = {"adjusted_rand_index": values, "objective_behind_best_per_step": behind}
    return TEXT.drawing("restart-agreement", figure, tidy_rows({"restart": restarts, "other": restarts}, columns))


def map_blocks(model: SWIRL, names: Sequence[str], dopamine: Rows) -> list[Block]:
    """The paper's Figure 4A and the correlations behind its numbers."""
    notes = [minus(f"DA {row['correlation']:.2f}, p {row['p, corrected']:.3f}") for row in dopamine[: len(names)]]
    odds = log_odds(model.state_policies(), model.occupancy_)
    tested = [row for row in dopamine if row["mode"] != "one mode"]
    clear = [row["mode"] for row in tested if row["p, corrected"] <= LEVEL]
    words = TEXT.text(
        "correlation",
        verdict=f"{listed(clear)} {'stands' if len(clear) == 1 else 'stand'} out" if clear else "no mode stands out",
        level=LEVEL,
        n_modes=len(tested),
        single=dopamine[-1],
    )
    maps = map_figure(model.reward_table("fitted"), odds, names, notes)
    return [maps, words, TEXT.numbers("dopamine", dopamine, 3, n_modes=len(tested))]


def segment_blocks(sessions: Trajectories, model: SWIRL, names: Sequence[str]) -> list[Block]:
    """The paper's Figure 4C, with numbers for what it says of early and late."""
    modes = model.predict(sessions)
    bouts = bouts_of(find_segments(modes), len(names))
    fifth = min(map(len, modes)) // 5
    nexts = np.concatenate(sessions.actions)
    every = np.concatenate(modes)
    table = []
    for mode, name in enumerate(names):
        early = np.array([(path[:fifth] == mode).mean() for path in modes])
        late = np.array([(path[-fifth:] == mode).mean() for path in modes])
        table.append(
            {
                "mode": name,
                "share of steps": float((every == mode).mean()),
                "median dwell (steps)": bouts[mode].median if np.isfinite(bouts[mode].median) else None,
                f"first {fifth} steps": float(early.mean()),
                f"last {fifth} steps": float(late.mean()),
                "change": float((late - early).mean()),
                "± 95 %": float(1.96 * (late - early).std(ddof=1) / np.sqrt(len(modes))),
                **{f"into {s}": _share(nexts[every == mode] == SYLLABLES.index(s)) for s in WATCHED},
            }
        )
    rising = ", ".join(row["mode"] for row in table if row["change"] > row["± 95 %"]) or "none"
    falling = ", ".join(row["mode"] for row in table if -row["change"] > row["± 95 %"]) or "none"
    pausing = max(table, key=lambda row: row["into Pause"])["mode"]
    words = TEXT.text("early and late", rising=rising, falling=falling, pausing=pausing)
    return [raster_figure(modes, names), words, TEXT.numbers("modes", table, 3)]


def _share(flags: np.ndarray) -> float:
    return float(flags.mean()) if len(flags) else float("nan")


def agreement_blocks(models: Mapping[str, Any], test: Trajectories) -> list[Block]:
    """Adjusted Rand index between the segmentations of the best restarts."""
    table, drawings = [], []
    for name, model in models.items():
        objectives = np.array([restart.objective for restart in model.restarts_])
        order = best_starts(model)
        values = agreement([model.use_restart(i).predict(test) for i in order])
        behind = (objectives[order[0]] - objectives[order]) / model.n_observed_
        others = values[~np.eye(len(order), dtype=bool)]
        table.append(
            {
                "model": name,
                "restarts compared": len(order),
                "starts with the same result": f"{model.compare_restarts(test).n_same} of {len(objectives)}",
                "mean ARI": float(others.mean()) if len(others) else None,
                "least": float(others.min()) if len(others) else None,
                "best with second": float(values[0, 1]) if len(order) > 1 else None,
                "last behind the best (nats/step)": float(behind[-1]),
            }
        )
        if name == "S-1":
            drawings.append(agreement_figure(values, [str(i) for i in order], behind.tolist()))
    return [TEXT.text("doubt"), *drawings, TEXT.numbers("agreement", table)]
