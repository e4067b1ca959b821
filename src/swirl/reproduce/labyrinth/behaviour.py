"""What the labyrinth's modes are: maps, segments, runs, and whether a model behaves as the animals did."""

from typing import Any

import numpy as np

from swirl.analysis.behaviour import agreement_with_labels, agreement_with_runs, run_labels, runs_to, segment_summary
from swirl.analysis.significance import LEVEL
from swirl.estimators.swirl import SWIRL
from swirl.reproduce.fit_checks import checked
from swirl.reproduce.labyrinth import figures
from swirl.reproduce.labyrinth.fits import BEYOND_NAME, ENDS, PLACES, SESSION, SWEPT, Labyrinth
from swirl.reproduce.scale import Scale
from swirl.workflows.html import Numbers, Section, Text


def reward_maps(maze: Labyrinth, model: SWIRL) -> Section:
    """Reward maps of S-2 with the gauge-free picture below, and the history dependence at the port (Fig. 3C, D)."""
    names, evidence = maze.mode_names(model)
    maps = figures.maps(
        "maps",
        "Reward maps of S-2, averaged over the places it can come from and stretched to 0–1 (paper Fig. 3D); below, "
        "log-odds of each move against the average mode: no gauge changes these.",
        model,
        names,
        maze.env,
    )
    port = figures.port_dependence(
        "Reward around the water port by where the animal was before (paper Fig. 3C). Differences between ways into a "
        "place depend on the gauge (here: least norm). The paper also shows staying at the port: no recording has such "
        "a step, so that its reward would say only that.",
        model,
        names,
    )
    rule = Numbers(
        "mode_names",
        "How the modes got their names: arrivals at a goal relative to the rate of all modes together; "
        "goals go to modes by Hungarian matching, at a ratio of 1.5 or more; the rest explore.",
        evidence,
        decimals=2,
    )
    return Section("Reward maps", [maps, port, rule])


def segments(maze: Labyrinth, models: dict[str, SWIRL]) -> Section:
    """Segments of a test session, the numbers behind the paper's words, all paths by mode (Fig. 3E, F)."""
    swept = [name for name in SWEPT if name in models]
    paths = {name: models[name].predict(maze.test) for name in swept}
    names = {name: maze.mode_names(models[name])[0] for name in swept}
    strips = figures.segments_of_session(
        "segments",
        "A test session under the four models, with visits to the water port and to node 0 (paper Fig. 3E).",
        maze.test.states[SESSION],
        {name: paths[name][SESSION] for name in swept},
        names,
    )
    rows = [row for name in swept for row in summary_rows(maze, name, paths[name], names[name])]
    table = Numbers(
        "segment_numbers",
        "The numbers behind the words: all test sessions, whole segments. “Ends at” means that the "
        "goal (water: the port; home: nodes 0–2) is reached in the last two steps of the segment or the one after.",
        rows,
        decimals=2,
    )
    lengths = figures.dwell(
        "Segment lengths on the test sessions.",
        {name: figures.segment_lengths(paths[name], names[name]) for name in swept},
    )
    all_paths = figures.paths(
        "All trajectories by S-2's modes: width is traffic, rings where segments start, discs where they end "
        "(paper Fig. 3F).",
        models["S-2"],
        maze.mode_names(models["S-2"])[0],
        maze.data,
        maze.env,
    )
    return Section("Segments", [strips, table, lengths, all_paths])


def summary_rows(maze: Labyrinth, name: str, paths: list[np.ndarray], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Segment numbers of each mode of one model on the test sessions."""
    table = segment_summary(paths, maze.test.states, ENDS, n_modes=len(names)).reset_index()
    rows = []
    for k, mode in enumerate(names):
        row = table.iloc[k]
        rows.append(
            {
                "model": name,
                "mode": mode,
                "share of steps": float(row["share_of_steps"]),
                "segments": int(row["whole_segments"]),
                "median length": float(row["median_length"]),
                "mean length": float(row["mean_length"]),
                "ends at water": float(row["ends_at_water"]),
                "ends at home": float(row["ends_at_home"]),
                "switches per 100 steps": float(table.iloc[-1]["switches_per_100_steps"]),
            }
        )
    return rows


def behaviour_rows(maze: Labyrinth, models: dict[str, SWIRL]) -> list[dict[str, Any]]:
    """Agreement of each model's modes with direct runs to the port and home."""
    states = maze.test.states
    labels = run_labels(states, maze.env, PLACES)
    runs = {place: runs_to(states, maze.env, node) for place, node in PLACES.items()}
    rows = []
    for name, model in models.items():
        paths, names = model.predict(maze.test), maze.mode_names(model)[0]
        whole = agreement_with_labels(paths, labels)
        f1 = {
            place: agreement_with_runs(paths, runs[place], names.index(place))["f1"] if place in names else None
            for place in PLACES
        }
        rows.append(
            {
                "model": name,
                "F1, water runs": f1["water"],
                "F1, home runs": f1["home"],
                "mutual information": whole["normalised_mutual_information"],
                "adjusted Rand": whole["adjusted_rand_index"],
            }
        )
    return rows


def chosen_window(states: np.ndarray) -> bool:
    """How the recordings were chosen: windows with at least seven visits to the port and to home."""
    return all(np.sum(states == node) >= 7 for node in PLACES.values())


def predictive(maze: Labyrinth, models: dict[str, SWIRL], scale: Scale) -> Section:
    """Posterior predictive checks of every fitted model."""
    n_draws = 39 if scale.full else scale.n_draws
    wanted = ("S-2", BEYOND_NAME) if scale.name == "tiny" else tuple(models)
    found = {}
    for name in wanted:
        accept = None if scale.name == "tiny" else chosen_window
        identity = {"model": name, "report": models[name].fit_report_, "accept": accept is not None}
        found[name] = checked(
            maze.ledger,
            f"checks {name}",
            identity,
            models[name],
            maze.test,
            places=PLACES,
            n_draws=n_draws,
            accept=accept,
        )
    rows = []
    for name, check in found.items():
        for row in check.table().to_dict("records"):
            if "dwell" not in row["statistic"] or row["summary"] in ("median", "mean"):
                rows.append(
                    {
                        "model": name,
                        **{k: row[k] for k in ("statistic", "of", "summary")},
                        **{k: float(row[k]) for k in ("real", "low", "median", "high", "p_value", "corrected_p_value")},
                    }
                )
    drawn = {name: found[name] for name in ("MaxEnt", "S-2", BEYOND_NAME) if name in found}
    words = (
        f"Each model, let run for as many sessions as the test has ({n_draws} data sets; windows with fewer than seven "
        "visits to the port or home are drawn again, as the recordings were chosen so). Low and high are the 2.5 % and "
        "97.5 % quantiles of the simulated statistic; a small p-value says that the animals did something that the "
        f"model does not. For each model, {next(iter(found.values())).words}."
    )
    outside = [
        {
            "model": name,
            "statistics": len([r for r in rows if r["model"] == name]),
            "outside the simulated 95 %": sum(
                not r["low"] <= r["real"] <= r["high"] for r in rows if r["model"] == name
            ),
            f"corrected p ≤ {LEVEL}": sum(r["corrected_p_value"] <= LEVEL for r in rows if r["model"] == name),
        }
        for name in found
    ]
    return Section(
        "Posterior predictive checks",
        [
            Text(words),
            Numbers(
                "checks_summary",
                "How many statistics of the real sessions lie outside the simulated 95 %, each by itself (about one in "
                "twenty would if the model were true), and how many differ after correcting for all of them.",
                outside,
            ),
            figures.checks(
                "Occupancy of each node, and steps between visits to port and home: real against simulated.", drawn
            ),
            Numbers("checks", "Every statistic.", rows, decimals=3),
        ],
    )
