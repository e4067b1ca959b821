"""Shared habit + mode goals on the labyrinth: every choice, made on sessions that no test reads.

    python studies/labyrinth_choice.py             # about twenty minutes on a GPU; hours on two cores
    python studies/labyrinth_choice.py --quick     # a few minutes on two cores: two candidates, nothing chosen

The paper's split holds out every fifth session, and a second split another fifth; this file reads neither (`untested`).
The 143 others are cut into three folds.  First priors are chosen for three and four modes with goals on two and three
states and a habit on seven; then modes, history lengths and forms of switching under the best priors.  A model counts
only if each of its modes holds one step in twenty in every fold.  The same model with one mode, and the counts, get
searches of their own.  The score is of the next state, per step, of the restart with the best training objective.
Writes labyrinth_choice.csv and .md to studies/results (or --output).
"""

import argparse
import ast
import csv
import json
import multiprocessing
import os
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from swirl import SWIRL, datasets, priors, rewards
from swirl.data.folds import folds
from swirl.data.trajectories import Trajectories
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.save_load import versions
from swirl.reproduce.scale import untested

RESULTS = Path(__file__).parent / "results"
N_FOLDS = 3
LEAST = 0.05  # of the steps, for a mode to count
HABITS = ((0.03, 4.0), (0.1, 2.5))
GOALS = ((0.2, 1.3), (0.4, 2.5), (0.2, 3.0))
SWITCHING = 8.0
ONE_MODE_HABITS = ((0.02, 4.0), (0.03, 4.0), (0.05, 3.5), (0.05, 3.0), (0.1, 3.0), (0.1, 2.5), (0.2, 2.5), (0.2, 2.0))
BASE = {"n_modes": 4, "history": 7, "goal_history": 2, "switching": "state"}


def sessions() -> Trajectories:
    """The paper's preparation without the test sessions of either split."""
    return untested(datasets.labyrinth().trajectories)


def make(candidate: dict[str, Any], n_restarts: int, max_iter: int) -> SWIRL:
    """The model that a candidate describes."""
    strength = candidate["switching_strength"]
    tabular = candidate["switching"] != "state"
    return SWIRL(
        datasets.labyrinth_env(),
        n_modes=candidate["n_modes"],
        history=candidate["history"],
        switching=candidate["switching"],
        reward=rewards.Habit(candidate["goal_history"]),
        reward_prior=priors.HabitGoals(priors.Gaussian(*candidate["habit"]), priors.Gaussian(*candidate["goal"])),
        switching_prior=priors.Dirichlet(strength, stay=strength) if tabular else priors.Gaussian(strength),
        n_restarts=n_restarts,
        max_iter=max_iter,
    )


def held_out_scores(
    candidates: list[dict[str, Any]], fold: int, n_restarts: int, max_iter: int
) -> list[dict[str, Any]]:
    """Fit each candidate without one fold and score that fold: rows of the table."""
    train = sessions()
    held_out = folds(train, N_FOLDS)[fold]
    rest = np.setdiff1d(np.arange(len(train)), held_out)
    rows = []
    for candidate in candidates:
        began = time.perf_counter()
        model = make(candidate, n_restarts, max_iter).fit(train[rest])
        rows.append(
            {
                **candidate,
                "fold": fold,
                "score": model.score(train[held_out], of="next_state"),
                "objective": model.restarts_[model.best_restart_].objective / model.n_observed_,
                "least_occupied": float(model.occupancy_.min()),
                "seconds": time.perf_counter() - began,
            }
        )
    return rows


def prior_candidates(habits: Iterable, goals: Iterable, strengths: Iterable, **shape: Any) -> list[dict[str, Any]]:
    """One candidate for each combination of priors."""
    return [
        {**BASE, **shape, "habit": habit, "goal": goal, "switching_strength": strength}
        for habit, goal, strength in product(habits, goals, strengths)
    ]


def key(row: dict[str, Any]) -> str:
    """A candidate as text, whatever its scores."""
    names = ("n_modes", "history", "goal_history", "switching", "habit", "goal", "switching_strength")
    return json.dumps([row[name] for name in names])


def mean_scores(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Mean over the folds of each candidate that has all of them, and whose modes all count."""
    scores: dict[str, list[float]] = {}
    for row in rows:
        if row["least_occupied"] >= LEAST:
            scores.setdefault(key(row), []).append(row["score"])
    return {name: float(np.mean(values)) for name, values in scores.items() if len(values) == N_FOLDS}


class Table:
    """Rows as they come, written to a file at once: an interrupted search goes on where it stopped."""

    def __init__(self, path: Path):
        self.path, self.rows = path, []
        if path.exists():
            with path.open(newline="") as file:
                self.rows = [{name: _read(text) for name, text in row.items()} for row in csv.DictReader(file)]

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Write rows."""
        self.rows += rows
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(self.rows[0]))
            writer.writeheader()
            writer.writerows(self.rows)

    def missing(self, group: list[dict[str, Any]], fold: int) -> list[dict[str, Any]]:
        """Candidates that have not been scored on a fold."""
        done = {key(row) for row in self.rows if row["fold"] == fold}
        return [candidate for candidate in group if key(candidate) not in done]


def _read(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def run(tasks: list[tuple[list[dict[str, Any]], int]], table: Table, pool: Any, n_restarts: int, max_iter: int) -> None:
    """Hand tasks of candidates and a fold to the pool."""
    wanted = [(left, fold) for group, fold in tasks if (left := table.missing(group, fold))]
    waiting = [
        pool.submit(held_out_scores, [candidate], fold, n_restarts, max_iter)
        for group, fold in wanted
        for candidate in group
    ]
    for done in as_completed(waiting):
        table.add(done.result())


def in_folds(groups: Iterable[list[dict[str, Any]]]) -> list[tuple[list[dict[str, Any]], int]]:
    """Each group in each fold, one after another: a group shares the shapes that XLA compiles for."""
    return [(group, fold) for group in groups for fold in range(N_FOLDS)]


def best(table: Table, n_modes_at_least: int) -> tuple[dict[str, Any], float]:
    """The candidate with the best mean score among those with enough modes."""
    means = mean_scores([row for row in table.rows if row["n_modes"] >= n_modes_at_least])
    winner = max(means, key=lambda name: means[name])
    return next(row for row in table.rows if key(row) == winner), means[winner]


def shapes(priors_of_best: dict[str, Any]) -> list[dict[str, Any]]:
    """Modes, goal histories, history lengths and switching forms to try around the best priors' model."""
    base = {name: priors_of_best[name] for name in (*BASE, "habit", "goal", "switching_strength")}
    found = [{**base, "switching_strength": strength} for strength in (3.0, 20.0)]
    found += [{**base, "n_modes": modes} for modes in (2, 3, 4, 5)]
    found += [{**base, "goal_history": goal} for goal in (1, 2, 3)]
    found += [{**base, "history": history} for history in (6, 8)]
    found += [{**base, "switching": "independent"}]
    return found


def counts_score(max_order: int) -> dict[int, float]:
    """Mean fold score of the tuned count model for each order."""
    train, env = sessions(), datasets.labyrinth_env()
    parts = folds(train, N_FOLDS)
    scores = {}
    for order in range(1, max_order + 1):
        rest = [np.setdiff1d(np.arange(len(train)), part) for part in parts]
        fitted = [BackoffMarkov(env, order=order).fit(train[r]) for r in rest]
        scores[order] = float(np.mean([m.score(train[p], of="next_state") for m, p in zip(fitted, parts, strict=True)]))
    return scores


def words(table: Table, counts: dict[int, float], seconds: float, command: str) -> str:
    """The results page."""
    winner, score = best(table, 2)
    one_mode = {name: value for name, value in mean_scores(table.rows).items() if json.loads(name)[0] == 1}
    single_score = max(one_mode.values(), default=np.nan)
    order = max(counts, key=lambda o: counts[o])
    means = sorted(mean_scores(table.rows).items(), key=lambda item: -item[1])
    lines = [
        "# Labyrinth: what the training folds chose",
        "",
        f"Chosen: {key(winner)}: {score:.4f} nats per step (next state). The same model with one mode, its prior "
        f"chosen likewise: {single_score:.4f}. Counts: order {order}, {counts[order]:.4f}.",
        "",
        f"Command: `{command}`; {seconds:.0f} s in the last run (a stopped one goes on); "
        f"versions {json.dumps(versions())}. Three folds of the 143 sessions "
        f"in neither test set; candidates with a mode under {LEAST:.0%} of the steps in some fold are left out.",
        "",
        "| modes | history | goal history | switching | habit | goal | switching strength | score |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += ["| " + " | ".join(str(v) for v in json.loads(name)) + f" | {value:.4f} |" for name, value in means]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Search and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--restarts", type=int, default=12)
    parser.add_argument("--max-iter", type=int, default=120)
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    began = time.perf_counter()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # several processes share one GPU
    options.output.mkdir(parents=True, exist_ok=True)
    name = "labyrinth_choice_quick" if options.quick else "labyrinth_choice"
    table = Table(options.output / f"{name}.csv")
    size = (2, 30) if options.quick else (options.restarts, options.max_iter)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.workers, mp_context=context) as pool:
        if options.quick:
            small = {"n_modes": 2, "history": 3}
            run(in_folds([prior_candidates(HABITS[1:2], GOALS[1:2], (1.0, 10.0), **small)]), table, pool, *size)
        else:
            every = [
                prior_candidates(HABITS, GOALS, [SWITCHING], n_modes=modes, goal_history=goal)
                for modes, goal in product((3, 4), (2, 3))
            ]
            single = prior_candidates(ONE_MODE_HABITS, GOALS[1:2], [SWITCHING], n_modes=1)
            longer = [{**row, "history": 8} for row in single]
            run(in_folds([*every, single, longer]), table, pool, *size)
            run(in_folds([[shape] for shape in shapes(best(table, 2)[0])]), table, pool, *size)
    counts = counts_score(3 if options.quick else 7)
    command = (
        f"python studies/labyrinth_choice.py --workers {options.workers} --restarts {size[0]} --max-iter {size[1]}"
    )
    (options.output / f"{name}.md").write_text(words(table, counts, time.perf_counter() - began, command))


if __name__ == "__main__":
    main()
