"""The labyrinth experiment (paper §4.2, App. B): every model, its modes, and whether it beats counting.

Settings were chosen on folds of sessions that are in neither split's test (`fits`).
Scores are of the next state unless said otherwise.
"""

from typing import Any

import numpy as np

from swirl.reproduce.cache import Ledger
from swirl.reproduce.fit_checks import endings
from swirl.reproduce.labyrinth import TEXT, figures
from swirl.reproduce.labyrinth.behaviour import predictive, reward_maps, segments
from swirl.reproduce.labyrinth.beyond_the_paper import RIVALS, against_rivals, beyond, clean_reading, second_split
from swirl.reproduce.labyrinth.fits import BEYOND_NAME, N_MODES, OF, Labyrinth
from swirl.reproduce.labyrinth.studies import do_starts_agree, how_many_modes, how_much_history, temperature
from swirl.reproduce.page import SCORED_BY_US, Experiment, Published, Rows, beside
from swirl.reproduce.scale import Scale
from swirl.workflows.html import Numbers, Section

PAPER = ("MaxEnt", "I-1", "I-2", "S-1", "S-2")
LONGER = ("S-1", "S-2", "S-3", "S-4")
AIMS = {"S-1": -0.800, "S-2": -0.692, "S-3": -0.655, "S-4": -0.648}
PUBLISHED = {
    "S-1": Published(-6.749, SCORED_BY_US, "a failed fit; 499 of 500 steps"),
    "S-2": Published(-0.7179, SCORED_BY_US, "499 of 500 steps"),  # of the action: −0.7268
}


def run(scale: Scale, ledger: Ledger) -> Experiment:
    """Fit, score, name, draw."""
    tiny = scale.name == "tiny"
    maze = Labyrinth(scale, ledger)
    paper, longer = (("S-1", "S-2"), ("S-1", "S-2")) if tiny else (PAPER, LONGER)
    models = {name: maze.named(name) for name in dict.fromkeys([*paper, *longer])}
    scores = {name: maze.run_scores(f"{name} {N_MODES} modes", model) for name, model in models.items()}
    best, counts = maze.beyond(), maze.counts()
    counted = counts.score(maze.test, of=OF)
    fit_score = {name: next(row for row in rows if row["best"]) for name, rows in scores.items()}
    beyond_runs = maze.run_scores(BEYOND_NAME, best)
    ahead = against_rivals(maze, best, counts)
    order_counts = {order: maze.counts(order).score(maze.test, of=OF) for order in ((1, 2) if tiny else (1, 2, 3, 4))}
    sections = [
        Section(
            "Ours beside the published", [_aims(fit_score, ahead, order_counts, counted), TEXT.text("why we differ")]
        ),
        _paper_models(maze, {name: scores[name] for name in paper}, counted),
        how_many_modes(maze, models, counted, tiny),
        how_much_history(maze, models, scores, order_counts, longer),
        reward_maps(maze, models["S-2"]),
        segments(maze, models),
        temperature(maze, models["S-2"], tiny),
        beyond(maze, best, models, ahead, beyond_runs),
        predictive(maze, {**models, BEYOND_NAME: best}, scale),
        do_starts_agree(maze, models["S-2"], scores["S-2"], best, beyond_runs),
        second_split(maze, {name: fit_score[name][OF] for name in longer}, ahead, tiny),
        clean_reading(maze, {"S-2": fit_score["S-2"][OF]}, ahead),
        endings({**models, BEYOND_NAME: best}),
    ]
    first = _first(ahead, fit_score)
    about = {"test sessions": len(maze.test), "scored steps": best.n_scored(maze.test, of=OF), "scale": scale.name}
    return Experiment("labyrinth", "Water-restricted mice in a labyrinth", first, sections, about)


def _first(ahead: dict[str, dict[str, Any]], fit_score: dict[str, dict[str, Any]]) -> str:
    better = [name for name, row in fit_score.items() if row[OF] > ahead["counts"]["score"]]
    return TEXT(
        "first line",
        ours=ahead[BEYOND_NAME],
        counts=ahead["counts"],
        verb="is ahead of" if ahead["counts"]["low"] > 0 else "is not ahead of",
        modes="Its modes pay" if ahead["one mode"]["low"] > 0 else "Its modes do not surely pay",
        gain={name: ahead[name]["words"] for name in RIVALS},
        better=", ".join(better) or "no model",
        s2=fit_score["S-2"][OF],
    )


def _aims(fit_score: dict[str, Any], ahead: dict[str, Any], order_counts: dict[int, float], counted: float) -> Numbers:
    rows: Rows = []

    columns = ("quantity", "ours", "ours, action", "published", "counts of order L", "aim", "met", "comment")

    def add(row: dict[str, Any], action: float, counts: float | None) -> None:
        row |= {"ours, action": action, "counts of order L": counts}
        rows.append({column: row[column] for column in columns})

    for name, aim in AIMS.items():
        if name in fit_score:
            ours, known = fit_score[name], PUBLISHED.get(name)
            said = f"{known.source}: {known.note}" if known else ""
            row = beside(f"{name}, {N_MODES} modes", ours[OF], known, aim, ours[OF] >= aim, said)
            add(row, ours["action"], order_counts.get(int(name[2:])))
    ours = ahead[BEYOND_NAME]
    met = ahead["counts"]["low"] > 0 and ours["least occupied"] >= 0.05 and ahead["one mode"]["low"] > 0
    said = TEXT(
        "aims, beyond the paper",
        gain={name: ahead[name]["words"] for name in RIVALS},
        least_occupied=ours["least occupied"],
        stretch="met" if ours["score"] >= -0.630 else "not met",
    )
    row = beside(f"best with ≥ 2 modes: {BEYOND_NAME}", ours["score"], None, counted, met, said)
    add(row, ours["action"], counted)
    return TEXT.numbers("aims", rows, n_scored=ours["steps"])


def _paper_models(maze: Labyrinth, scores: dict[str, Rows], counted: float) -> Section:
    runs = {name: [row[OF] for row in rows] for name, rows in scores.items()}
    best = {name: next(row for row in rows if row["best"]) for name, rows in scores.items()}
    rows = [
        {
            "model": name,
            "best start": best[name][OF],
            "mean": float(np.mean(values)),
            "SD": float(np.std(values, ddof=1)) if len(values) > 1 else None,
            "action, best start": best[name]["action"],
            "prior chosen on folds": repr(maze.settings(name)["reward_prior"]),
        }
        for name, values in runs.items()
    ]
    boxes = figures.boxes(runs, {"counts": counted})
    drawing = TEXT.drawing("paper_models", *boxes, n_runs=maze.scale.n_runs, n_modes=N_MODES)
    return Section("The paper's five models", [drawing, TEXT.numbers("paper_models_table", rows)])
