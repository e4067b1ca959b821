"""What the labyrinth's modes are: maps, segments, runs, and whether a model behaves as the animals did."""

from typing import Any

import numpy as np

from swirl.analysis.behaviour import agreement_with_labels, agreement_with_runs, run_labels, runs_to, segment_summary
from swirl.analysis.significance import LEVEL
from swirl.estimators.swirl import SWIRL
from swirl.reproduce.fit_checks import check_table, checked
from swirl.reproduce.labyrinth import TEXT, figures
from swirl.reproduce.labyrinth.fits import BEYOND_NAME, ENDS, PLACES, SWEPT, Labyrinth
from swirl.reproduce.page import Rows, grouped
from swirl.reproduce.scale import Scale
from swirl.workflows.html import Section


def reward_maps(maze: Labyrinth, model: SWIRL) -> Section:
    """Reward maps of S-2 with the gauge-free picture below, and the history dependence at the port (Fig. 3C, D)."""
    names, evidence = maze.mode_names(model)
    maps = TEXT.drawing("maps", *figures.maps(maze, model))
    port = TEXT.drawing("port_dependence", *figures.port_dependence(model, names))
    return Section("Reward maps", [maps, port, TEXT.numbers("mode_names", evidence, 2)])


def segments(maze: Labyrinth, models: dict[str, SWIRL]) -> Section:
    """Segments of a test session, the numbers behind the paper's words, all paths by mode (Fig. 3E, F)."""
    swept = {name: models[name] for name in SWEPT if name in models}
    lengths = {
        name: figures.segment_lengths(model.predict(maze.test), maze.mode_names(model)[0])
        for name, model in swept.items()
    }
    rows = [row for name, model in swept.items() for row in summary_rows(maze, name, model)]
    return Section(
        "Segments",
        [
            TEXT.drawing("segments", *figures.segments_of_session(maze, swept)),
            TEXT.numbers("segment_numbers", rows, 2),
            TEXT.drawing("segment_lengths", *figures.dwell(lengths)),
            TEXT.drawing("paths", *figures.paths(maze, models["S-2"])),
        ],
    )


def summary_rows(maze: Labyrinth, name: str, model: SWIRL) -> Rows:
    """Segment numbers of each mode of one model on the test sessions."""
    names = maze.mode_names(model)[0]
    table = segment_summary(model.predict(maze.test), maze.test.states, ENDS, n_modes=len(names)).reset_index()
    switches = float(table.iloc[-1]["switches_per_100_steps"])
    return [
        {
            "model": name,
            "mode": mode,
            "share of steps": float(row["share_of_steps"]),
            "segments": int(row["whole_segments"]),
            "median length": float(row["median_length"]),
            "mean length": float(row["mean_length"]),
            "ends at water": float(row["ends_at_water"]),
            "ends at home": float(row["ends_at_home"]),
            "switches per 100 steps": switches,
        }
        for mode, (_, row) in zip(names, table.iterrows(), strict=False)
    ]


def behaviour_rows(maze: Labyrinth, models: dict[str, SWIRL]) -> Rows:
    """Agreement of each model's modes with direct runs to the port and home."""
    states = maze.test.states
    labels = run_labels(states, maze.env, PLACES)
    runs = {place: runs_to(states, maze.env, node) for place, node in PLACES.items()}
    rows = []
    for name, model in models.items():
        paths, names = model.predict(maze.test), maze.mode_names(model)[0]
        whole = agreement_with_labels(paths, labels)
        f1 = {
            f"F1, {place} runs": agreement_with_runs(paths, runs[place], names.index(place))["f1"]
            if place in names
            else None
            for place in PLACES
        }
        shared = {"mutual information": whole["normalised_mutual_information"]}
        rows.append({"model": name, **f1, **shared, "adjusted Rand": whole["adjusted_rand_index"]})
    return rows


def chosen_window(states: np.ndarray) -> bool:
    """How the recordings were chosen: windows with at least seven visits to the port and to home."""
    return all(np.sum(states == node) >= 7 for node in PLACES.values())


def predictive(maze: Labyrinth, models: dict[str, SWIRL], scale: Scale) -> Section:
    """Posterior predictive checks of every fitted model."""
    n_draws = 39 if scale.full else scale.n_draws
    accept = None if scale.name == "tiny" else chosen_window
    found = {}
    for name in ("S-2", BEYOND_NAME) if scale.name == "tiny" else tuple(models):
        model, label = models[name], f"checks {name}"
        known: dict[str, Any] = {"model": name, "report": model.fit_report_, "accept": accept is not None}
        found[name] = checked(
            maze.ledger, label, known, model, maze.test, places=PLACES, n_draws=n_draws, accept=accept
        )  # fmt: skip
    shown = ("real", "low", "median", "high", "p_value", "corrected_p_value")
    rows = [
        {**{k: row[k] for k in ("model", "statistic", "of", "summary")}, **{k: float(row[k]) for k in shown}}
        for row in check_table(found)
        if "dwell" not in row["statistic"] or row["summary"] in ("median", "mean")
    ]
    outside = [
        {
            "model": name,
            "statistics": len(own),
            "outside the simulated 95 %": sum(not row["low"] <= row["real"] <= row["high"] for row in own),
            f"corrected p ≤ {LEVEL}": sum(row["corrected_p_value"] <= LEVEL for row in own),
        }
        for name, own in grouped(rows, "model").items()
    ]
    drawn = {name: found[name] for name in ("MaxEnt", "S-2", BEYOND_NAME) if name in found}
    return Section(
        "Posterior predictive checks",
        [
            TEXT.text("simulated", n_draws=n_draws, corrected=next(iter(found.values())).words),
            TEXT.numbers("checks_summary", outside),
            TEXT.drawing("predictive_checks", *figures.checks(drawn)),
            TEXT.numbers("checks", rows, 3),
        ],
    )
