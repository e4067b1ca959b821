"""The labyrinth beyond the paper: shared habit + mode goals against its rivals, on two splits and two readings."""

from typing import Any

import numpy as np

from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.swirl import SWIRL
from swirl.reproduce.labyrinth import TEXT, figures
from swirl.reproduce.labyrinth.behaviour import behaviour_rows, summary_rows
from swirl.reproduce.labyrinth.fits import BEYOND_NAME, N_MODES, OF, SWEPT, Labyrinth
from swirl.reproduce.page import Rows
from swirl.reproduce.scale import SECOND
from swirl.workflows.html import Section, Text

RIVALS = {  # of the model beyond the paper: how each is called in tables
    "one mode": "one mode, tuned by itself",
    "same settings": "one mode, same settings",
    "counts": "counts",
}


def against_rivals(maze: Labyrinth, best: SWIRL, counts: BackoffMarkov) -> dict[str, dict[str, Any]]:
    """The model beyond the paper against itself with one mode and against counts, paired by test session."""
    rows: dict[str, dict[str, Any]] = {}
    own = best.log_likelihood(maze.test, of=OF)
    steps = best.n_scored(maze.test, of=OF)
    for name in RIVALS:
        rival = counts if name == "counts" else maze.beyond(name)
        gain = own - rival.log_likelihood(maze.test, of=OF)
        mean, half = gain.sum() / steps, 1.96 * np.std(gain, ddof=1) * np.sqrt(len(gain)) / steps
        rows[name] = {"score": rival.score(maze.test, of=OF), "gain": mean, "low": mean - half, "high": mean + half}
        rows[name]["words"] = f"{mean:+.4f}, 95 % interval {mean - half:+.4f} to {mean + half:+.4f}"
    rows[BEYOND_NAME] = {
        "score": own.sum() / steps,
        "steps": steps,
        "action": best.score(maze.test, of="action"),
        "least occupied": float(best.occupancy_.min()),
        "modes": len(best.initial_modes_),
        "order of counts": int(counts.order_),
    }
    return rows


def beyond(maze: Labyrinth, best: SWIRL, models: dict[str, SWIRL], ahead: dict[str, Any], runs: Rows) -> Section:
    """What it gains, what its modes are, and whether they agree with what the animals did."""
    ours = ahead[BEYOND_NAME]
    called = {BEYOND_NAME: f"{BEYOND_NAME}, {ours['modes']} modes", **RIVALS}
    called["counts"] = f"counts, order {ours['order of counts']}"
    columns = ("score", "gain", "low", "high")
    rows = [{"model": words, **{key: ahead[name].get(key) for key in columns}} for name, words in called.items()]
    compared = {name: models[name] for name in SWEPT if name in models} | {BEYOND_NAME: best}
    truth = behaviour_rows(maze, compared)
    shared = {row["model"]: row["mutual information"] for row in truth}
    more = "more" if shared[BEYOND_NAME] > shared["S-2"] else "less"
    words = TEXT("modes and runs", name=BEYOND_NAME, more=more, ours=shared[BEYOND_NAME], s2=shared["S-2"])
    words += " " + TEXT("prediction and reading") if more == "less" else ""
    strips = figures.segments_of_session(maze, {name: compared[name] for name in ("S-2", BEYOND_NAME)})
    return Section(
        "Beyond the paper: shared habit + mode goals",
        [
            TEXT.text("habit and goals"),
            TEXT.numbers("beyond", rows),
            TEXT.drawing("maps_beyond", *figures.maps(maze, best)),
            TEXT.numbers("behaviour", truth, 3),
            Text(words),
            TEXT.drawing("segments_beyond", *strips),
            TEXT.numbers("segment_numbers_beyond", summary_rows(maze, BEYOND_NAME, best), 2),
            TEXT.numbers("mode_names_beyond", maze.mode_names(best)[1], 2),
            TEXT.numbers("beyond_runs", runs),
        ],
    )


def second_split(maze: Labyrinth, first: dict[str, float], ahead: dict[str, Any], tiny: bool) -> Section:
    """The headline models on test sessions that no choice has seen."""
    other = maze.other_split(offset=SECOND)
    scores = {} if tiny else {name: (first[name], other.named(name).score(other.test, of=OF)) for name in first}
    rows = side_by_side(other, scores, ahead, ("first split", "second split"), tiny)
    words = TEXT.text("other sessions", sessions=f"{SECOND}, {SECOND + 5}, {SECOND + 10}")
    return Section("A second split", [words, TEXT.numbers("second_split", rows)])


def clean_reading(maze: Labyrinth, first: dict[str, float], ahead: dict[str, Any]) -> Section:
    """The headline models on the recordings with a break wherever the animal left the maze."""
    clean = maze.reading("clean")
    scores = {name: (score, clean.named(name).score(clean.test, of=OF)) for name, score in first.items()}
    rows = side_by_side(clean, scores, ahead, ("paper's reading", "clean reading"), maze.scale.name == "tiny")
    exits = sum(len(gaps) for gaps in clean.data.gaps)
    words = TEXT.text("exits", exits=exits, n_segments=len(clean.data) + exits)
    return Section("The clean reading", [words, TEXT.numbers("clean_reading", rows)])


def side_by_side(
    other: Labyrinth,
    scores: dict[str, tuple[float, float]],
    ahead: dict[str, Any],
    columns: tuple[str, str],
    tiny: bool,
) -> Rows:
    """Scores and gains here and elsewhere, in two columns."""
    counts = other.counts()
    counted = {"counts": {"score": counts.score(other.test, of=OF)}}
    again = counted if tiny else against_rivals(other, other.beyond(), counts)
    pairs = [(f"{name}, {N_MODES} modes", *pair) for name, pair in scores.items()]
    pairs += [(RIVALS.get(name, name), ahead[name]["score"], again[name]["score"]) for name in again]
    for rival in () if tiny else RIVALS:
        pairs.append((f"gain over {RIVALS[rival]}", ahead[rival]["gain"], again[rival]["gain"]))
        pairs.append(("  lower end of the 95 % interval", ahead[rival]["low"], again[rival]["low"]))
    return [{"model": name, columns[0]: one, columns[1]: two} for name, one, two in pairs]
