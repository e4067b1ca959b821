"""Goal-directed modes on the labyrinth: which settings, by a rule that reads neither test sessions nor direct runs.

    python studies/labyrinth_goals.py choose       # ten minutes on 16 cores; goes on where it was stopped
    python studies/labyrinth_goals.py number       # more and fewer goals, on the same folds: two minutes
    python studies/labyrinth_goals.py test         # the chosen settings, once on the test sessions of both splits
    python studies/labyrinth_goals.py choose --quick     # a minute on two cores: a few settings, nothing chosen

Models of other families, and the published parameters, are laid beside it by `studies/panels.py`.

The goals are told: water (node 116) and home (node 0).  Open are the habit (how many moves it remembers, what a move
is called, how strongly it is shrunk), what it may know of single places, and how straight goals are walked to.

**The rule**, written before any test session was scored.  Sessions that neither split tests (`untested`) are cut into
three folds.  Each setting is fitted to two and judged on the third.

1. A goal is walked to straight: the cost of a step is held at 4.  Where it is fitted, "home" becomes a slow drift
   outwards that holds a third of the steps and is never sure of them (the column `unsure`).
2. It must predict next states with at least −0.712 nats per step, mean over folds (published S-2: −0.7178).
3. Of what is left, the one is taken whose rarest mode is the most frequent (its least share over the folds): modes
   that matter.

Prediction is a floor and not the aim, since next-step likelihood judges badly between habits and goals: a longer
habit predicts better and leaves the goals nothing to say.  Three other rules were looked at on these folds, with
agreement in view, before any test session was scored: the highest completed likelihood and the largest gain over the
same habit without goals, which both follow likelihood, and the least doubt about modes, which forgets home.  So the
rule was not found blindly; the test sessions are what judges it.  Agreement with direct runs, and the forecast of the
goal that is reached next, are written down and are no part of it.  Writes labyrinth_goals.csv, .json and .md to
studies/results (or --output).
"""

import argparse
import ast
import csv
import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from swirl import SWIRL, datasets, priors, rewards
from swirl.analysis.behaviour import agreement_with_labels, agreement_with_runs, run_labels, runs_to
from swirl.analysis.forecasts import Forecast, goal_forecast, next_goal_log_loss
from swirl.data.folds import folds
from swirl.data.trajectories import Trajectories
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.save_load import versions
from swirl.inference.mode_matching import adjusted_rand_index
from swirl.reproduce.scale import SECOND, untested
from swirl.text import counted as told

RESULTS = Path(__file__).parent / "results"
N_FOLDS = 3
PLACES = {"water": 116, "home": 0}
MEASURED = ("score", "completed", "unsure", "where_next", "F1 water", "F1 home", "ARI")
ASKED = {"water": 116, "exit": (0, 3)}  # which is reached next; action 3 in node 0 goes out of the maze
NUMBER = {1: (116,), 2: (116, 0), 4: (116, 0, 2, 126), 6: (116, 0, 2, 126, 84, 31)}
"""Goals from few to many: those that were told, then what `discover_goals` finds beside water with its defaults."""
NUMBERED = ("score", "where_next", "F1 water", "F1 home", "ARI")
SETTING = ("moves", "history", "habit", "place_history", "place", "cost", "held")
FLOOR, STRAIGHT = -0.712, 4.0  # of the rule
HABITS = ((0.1, 2.0), (1.0, 10.0), (3.0, 10.0), (3.0, 30.0), (5.0, 10.0), (10.0, 3.0), (10.0, 10.0), (10.0, 30.0),
          (30.0, 10.0))  # strength, and factor for each move of memory  # fmt: skip
KNOWN = (
    (0, 300.0),
    (1, 3.0),
    (1, 10.0),
    (1, 100.0),
    (2, 10.0),
    (2, 30.0),
    (2, 100.0),
)  # newest places that the habit knows, and strength
COSTS = ((2.0, 1.0), (4.0, 1e4), (0.0, 0.0))  # expected, and how strongly it is believed; 0: without goals


def settings(moves: str, histories: Any, habits: Any, places: Any, costs: Any) -> list[dict[str, Any]]:
    """Every combination, as rows."""
    return [
        dict(zip(SETTING, (moves, history, habit, *place, *cost), strict=True))
        for history, habit, place, cost in product(histories, habits, places, costs)
    ]


def grid() -> list[dict[str, Any]]:
    """All settings that are tried."""
    found = settings("compass", (2, 3), HABITS, KNOWN, COSTS)
    found += settings("compass", (1,), (HABITS[0], HABITS[6]), [known for known in KNOWN if known[0] < 2], COSTS)
    found += settings("compass", (4,), HABITS[:3], KNOWN[:1], COSTS)
    return found + settings("next", (2, 3), (HABITS[0], HABITS[6]), (KNOWN[0], KNOWN[5]), COSTS)


def make(setting: dict[str, Any], places: Any = (116, 0), **more: Any) -> SWIRL:
    """The model of a setting."""
    without = not setting["cost"]
    form = rewards.Goals(
        () if without else places, kinds=3, moves=setting["moves"], place_history=setting["place_history"]
    )
    prior = priors.GoalDirected(
        priors.Gaussian(*setting["habit"]),
        priors.Gaussian(setting["place"], backoff=2.0),
        priors.Gaussian(1.0 if without else setting["held"]),
        1.0 if without else setting["cost"],
    )
    options = {"n_restarts": 1, "max_iter": 100} | more
    return SWIRL(
        datasets.labyrinth_env(), n_modes=form.n_modes, history=setting["history"], reward=form, reward_prior=prior,
        switching="until-reached", **options,
    )  # fmt: skip


def judged(model: SWIRL, data: Trajectories) -> dict[str, float]:
    """What is written down of a fitted model and sessions that it has not seen."""
    found = {"score": model.score(data, of="next_state"), "where_next": next_goal_log_loss(model, data, ASKED)}
    if model.n_modes == 1:
        return found
    paths = model.predict(data)
    steps = np.concatenate(paths)
    labels = run_labels(data.states, model.env, PLACES)
    runs = {name: runs_to(data.states, model.env, place) for name, place in PLACES.items()}
    named = list(model.mode_names_ or ())
    modes = {name: named.index(f"to {place}") for name, place in PLACES.items() if f"to {place}" in named}
    return found | {
        "completed": model.completed_score(data, of="next_state"),
        "least": float(min(np.mean(steps == mode) for mode in range(model.n_modes))),
        "unsure": float(1 - np.mean(np.concatenate(model.predict_proba(data)).max(axis=1))),
        **{f"F1 {name}": agreement_with_runs(paths, runs[name], mode)["f1"] for name, mode in modes.items()},
        "ARI": agreement_with_labels(paths, labels)["adjusted_rand_index"],
    }


def held_out(group: list[dict[str, Any]], fold: int) -> list[dict[str, Any]]:
    """Fit each setting of a group without one fold and judge it on that fold: rows of the table."""
    data = untested(datasets.labyrinth().trajectories)
    kept = folds(data, N_FOLDS)[fold]
    rest = np.setdiff1d(np.arange(len(data)), kept)
    rows = []
    for setting in group:
        began = time.perf_counter()
        model = make(setting).fit(data[rest], progress=False)
        rows.append({**setting, "fold": fold, **judged(model, data[kept]), "seconds": time.perf_counter() - began})
    return rows


def grouped(tried: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Settings of one shape together: they are compiled once."""
    groups: dict[tuple, list] = {}
    for setting in tried:
        groups.setdefault(tuple(setting[name] for name in ("moves", "history", "place_history", "place")), []).append(
            setting
        )
    return sorted(groups.values(), key=lambda group: -group[0]["history"])


def search(tried: list[dict[str, Any]], path: Path, workers: int, n_folds: int) -> list[dict[str, Any]]:
    """Judge every setting on every fold, but those that are in the file already; rows are written as they come."""
    rows: list[dict[str, Any]] = read_rows(path) if path.exists() else []
    done = {(*(str(row[name]) for name in SETTING), int(row["fold"])) for row in rows}
    tasks = []
    for group, fold in product(grouped(tried), range(n_folds)):
        left = [row for row in group if (*(str(row[name]) for name in SETTING), fold) not in done]
        tasks += [(left, fold)] if left else []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        for finished in as_completed([pool.submit(held_out, *task) for task in tasks]):
            rows += finished.result()
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, fieldnames=max((list(row) for row in rows), key=len))
                writer.writeheader()
                writer.writerows(rows)
    return rows


def with_so_many(setting: dict[str, Any], history: int, n_goals: int, fold: int) -> dict[str, Any]:
    """The chosen setting with another number of goals, or moves that the habit remembers, judged on a fold."""
    data = untested(datasets.labyrinth().trajectories)
    kept = folds(data, N_FOLDS)[fold]
    model = make({**setting, "history": history}, NUMBER[n_goals])
    model.fit(data[np.setdiff1d(np.arange(len(data)), kept)], progress=False)
    return {"history": history, "goals": n_goals, "fold": fold, **judged(model, data[kept])}


def numbers(setting: dict[str, Any], workers: int) -> list[dict[str, Any]]:
    """Means over folds for each number of goals and length of the habit."""
    tasks = list(product((2, 3, 4), NUMBER, range(N_FOLDS)))
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        rows = [task.result() for task in [pool.submit(with_so_many, setting, *task) for task in tasks]]
    found = []
    for history, n_goals in product((2, 3, 4), NUMBER):
        own = [row for row in rows if (row["history"], row["goals"]) == (history, n_goals)]
        mean = {name: float(np.mean([row[name] for row in own])) for name in MEASURED if name in own[0]}
        found.append({"history": history, "goals": n_goals, **mean})
    return found


def means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each setting once: means over folds, the least share over folds, and the gain over the habit without goals."""
    of: dict[tuple, list] = {}
    for row in rows:
        of.setdefault(tuple(str(row[name]) for name in SETTING), []).append(row)
    alone = {key[:5]: np.mean([float(row["score"]) for row in rows]) for key, rows in of.items() if float(key[5]) == 0}
    table = []
    for key, found in of.items():
        if float(key[5]) == 0:
            continue
        mean = {name: float(np.mean([float(row[name]) for row in found])) for name in MEASURED}
        least = min(float(row["least"]) for row in found)
        setting = {name: _read(text) for name, text in zip(SETTING, key, strict=True)}
        table.append(setting | mean | {"gain": mean["score"] - float(alone[key[:5]]), "least": least})
    return table


def chosen(table: list[dict[str, Any]]) -> dict[str, Any]:
    """What the rule takes."""
    left = [row for row in table if row["held"] > 1 and row["cost"] == STRAIGHT and row["score"] >= FLOOR]
    return max(left, key=lambda row: row["least"])


def _read(text: Any) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The table of a search."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def segmentations_agree(models: list[SWIRL], data: Trajectories) -> dict[str, float]:
    """Mean and least adjusted Rand index between the segmentations of every two fits."""
    paths = [model.predict(data) for model in models]
    found = [adjusted_rand_index(one, other) for one, other in combinations(paths, 2)]
    return {"mean ARI": float(np.mean(found)), "least ARI": float(np.min(found))}


def test_split(setting: dict[str, Any], offset: int) -> dict[str, Any]:
    """The chosen setting on one split: its test sessions, and how alike fits to other sessions segment them."""
    train, test = datasets.labyrinth().trajectories.split(every=5, offset=offset)
    env, rng = datasets.labyrinth_env(), np.random.default_rng(0)
    began = time.perf_counter()
    model = make(setting).fit(train, progress=False)
    fitted = time.perf_counter() - began
    alone = make({**setting, "cost": 0.0}).fit(train, progress=False)
    rows = {"goals": judged(model, test), "the same habit without goals": judged(alone, test)}
    ours, against = goal_forecast(model, test, ASKED, known="action"), {}
    for order in range(1, 8):
        counts = BackoffMarkov(env, order=order).fit(train)
        forecast = goal_forecast(counts, test, ASKED, known="action")
        against[f"counts of order {order}"] = compared(ours, forecast)
        rows[f"counts of order {order}"] = {"score": counts.score(test, of="next_state"), "where_next": forecast.loss}
    parts = [np.sort(rng.permutation(len(train))[: int(0.8 * len(train))]) for _ in range(8)]
    starts = [make(setting, random_state=seed).fit(train[part], progress=False) for seed, part in enumerate(parts)]
    halves = [make(setting).fit(train[np.arange(i, len(train), 2)], progress=False) for i in range(2)]
    return {
        "rows": rows,
        "base rate": ours.base_rate,
        "steps": int(ours.steps.sum()),
        "seconds": fitted,
        "where next, against": against,
        "eight starts, each on 80 % of the sessions": segmentations_agree(starts, test),
        "two halves of the sessions": segmentations_agree(halves, test),
    }


def compared(ours: Forecast, theirs: Forecast) -> dict[str, float]:
    """Difference of mean log-losses with its 95 % interval, over resampled sessions: below 0, ours forecasts better."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(ours.steps), size=(2000, len(ours.steps)))
    gaps = (ours.losses - theirs.losses)[drawn].sum(axis=1) / ours.steps[drawn].sum(axis=1)
    low, high = np.quantile(gaps, [0.025, 0.975])
    return {"difference": ours.loss - theirs.loss, "low": float(low), "high": float(high)}


def draw(table: list[dict[str, Any]], taken: dict[str, Any], number: list[dict[str, Any]], path: Path) -> None:
    """The trade-off: agreement with runs against the score, and against the forecast, of settings and of goals."""
    from matplotlib import pyplot as plt

    measures = ("score", "where_next")
    colours = {1: "#bdbdbd", 2: "#56b4e9", 3: "#0072b2", 4: "#000000"}
    figure, (upper, lower) = plt.subplots(2, 2, figsize=(9.5, 8.0), sharey="row", sharex="col", layout="constrained")
    for history, colour in colours.items():
        for held, marker in ((False, "o"), (True, "^")):
            own = [row for row in table if row["history"] == history and (row["held"] > 1) == held]
            label = f"{told(history - 1, 'move')} remembered" if held else None
            for axis, name in zip(upper, measures, strict=True):
                x, y = [row[name] for row in own], [row["ARI"] for row in own]
                axis.scatter(x, y, s=16, marker=marker, color=colour, alpha=0.75, linewidths=0, label=label)
    for axis, name in zip(upper, measures, strict=True):
        axis.scatter(
            taken[name], taken["ARI"], s=90, facecolors="none", edgecolors="#d55e00", linewidths=2, label="chosen"
        )
    for axis, name in zip(lower, measures, strict=True):
        for history in sorted({row["history"] for row in number}):
            own = sorted((row for row in number if row["history"] == history), key=lambda row: row["goals"])
            x, y = [row[name] for row in own], [row["ARI"] for row in own]
            axis.plot(x, y, "-^", color=colours[history], label=f"{told(history - 1, 'move')} remembered")
            for row in own:
                place = (row[name], row["ARI"])
                axis.annotate(str(row["goals"]), place, xytext=(5, 4), textcoords="offset points", fontsize=8)
    for axis in (*upper, *lower):
        axis.spines[["top", "right"]].set_visible(False)
    for row in (upper, lower):
        row[0].set_ylabel("ARI with direct runs")
    lower[0].set_xlabel("next-step score, nats per step (right is better)")
    lower[1].set_xlabel("log-loss of the goal reached next, nats (left is better)")
    upper[0].legend(frameon=False, fontsize=8, title="triangles: straight goals; dots: cost fitted", title_fontsize=8)
    lower[0].legend(frameon=False, fontsize=8, title="numbers: how many goals", title_fontsize=8)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def page(record: dict[str, Any], table: list[dict[str, Any]]) -> str:
    """The results page."""
    setting, splits = record["setting"], record["splits"]
    shown = ("score", "F1 water", "F1 home", "ARI", "where_next")
    first, second = (splits[offset]["rows"]["goals"] for offset in ("0", str(SECOND)))
    habit, counted = (splits["0"]["rows"][name] for name in ("the same habit without goals", "counts of order 7"))
    lines = [
        "# Goal-directed modes on the labyrinth",
        "",
        f"Told where water and home are, the chosen model scores {first['score']:.4f} nats per step on the paper's "
        f"test sessions and finds direct runs with F1 {first['F1 water']:.2f} (water) and {first['F1 home']:.2f} "
        f"(home), ARI {first['ARI']:.2f}; second split {second['score']:.4f}, {second['F1 water']:.2f}, "
        f"{second['F1 home']:.2f}, {second['ARI']:.2f}. Published S-2, paper's split: −0.7178, 0.79, 0.58, 0.51. "
        "**Counts without any mode predict better**, the next step and which goal is reached next (water or exit: "
        f"counts of order 7 {counted['where_next']:.3f} nats, goals {first['where_next']:.3f}, the habit without goals "
        f"{habit['where_next']:.3f}, base rate {splits['0']['base rate']:.3f}): on this recording goals are a "
        "description, and no forecast.",
        "",
        f"Command: `{record['command']}`; versions {json.dumps(record['versions'])}. The rule is in the script's first "
        "lines; it was committed before any test session was scored, and the choice was made on sessions that neither "
        "split tests.",
        "",
        f"Chosen of {len(table)} settings: `{json.dumps({name: setting[name] for name in SETTING})}`.",
        "",
    ]
    for offset, split in splits.items():
        lines += [
            f"## Test sessions {offset}, {int(offset) + 5}, …",
            "",
            "| model | score | F1 water | F1 home | ARI | goal reached next, log-loss |",
            "|---|---|---|---|---|---|",
        ]
        for name, row in split["rows"].items():
            cells = (f"{row[key]:.4f}" if key in row else "–" for key in shown)
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        twice = [f"{name}: mean ARI {row['mean ARI']:.3f}, least {row['least ARI']:.3f}" for name, row in split.items()
                 if isinstance(row, dict) and "mean ARI" in row]  # fmt: skip
        rival = min(split["where next, against"], key=lambda name: split["rows"][name]["where_next"])
        gap = split["where next, against"][rival]
        lines += [
            "",
            f"Base rate of the goal reached next: {split['base rate']:.4f} nats, {split['steps']:,} steps. Goals less "
            f"{rival}: {gap['difference']:+.4f} (95 % interval {gap['low']:+.4f} to {gap['high']:+.4f}; below 0, goals "
            "forecast better).",
            "",
            "The same twice, on these sessions: " + "; ".join(twice) + ".",
            "",
        ]
    lines += [
        "## What was tried, on the folds",
        "",
        "![Above: every setting: agreement with direct runs against the next-step score and against the forecast of "
        "the goal reached next. Below: the chosen setting with other numbers of goals.](labyrinth_goals.png)",
        "",
        "More goals, and fewer, in the chosen setting (told: water, home; then 2, 126, 84, 31, which `discover_goals` "
        "finds with its defaults); means over three folds.",
        "",
        "| moves remembered | goals | score | where next | F1 water | F1 home | ARI |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {row['history'] - 1} | {row['goals']} | "
            + " | ".join(f"{row[name]:.4f}" if name in row else "–" for name in NUMBERED)
            + " |"
            for row in record["number"]
        ),
        "",
        "Means over three folds; gain: over the same habit without goals; least: share of the rarest mode; unsure: "
        "mean of 1 − max p(z | session). The twenty with the highest score of each kind of cost.",
        "",
        "| setting | score | gain | least | unsure | where next | F1 water | F1 home | ARI |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    columns = ("score", "gain", "least", "unsure", "where_next", "F1 water", "F1 home", "ARI")
    for held in (False, True):
        own = sorted((row for row in table if (row["held"] > 1) == held), key=lambda row: -row["score"])[:20]
        for row in own:
            given = ", ".join(str(row[name]) for name in SETTING)
            lines.append(f"| {given} | " + " | ".join(f"{row[name]:.4f}" for name in columns) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("choose", "number", "test"))
    parser.add_argument("--quick", action="store_true", help="a few settings on one fold")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    path, where = options.output / "labyrinth_goals.csv", options.output / "labyrinth_goals.json"
    if options.part != "choose":
        table = means(read_rows(path))
        setting = chosen(table)
        record = json.loads(where.read_text()) if where.exists() else {}
        if options.part == "number":
            record["number"] = numbers(setting, options.workers)
        else:
            record |= {"command": "python studies/labyrinth_goals.py test", "versions": versions(), "setting": setting}
            record["splits"] = {str(offset): test_split(setting, offset) for offset in (0, SECOND)}
        where.write_text(json.dumps(record, indent=1))
        if "splits" in record and "number" in record:
            where.with_suffix(".md").write_text(page(record, table))
            draw(table, setting, record["number"], options.output / "labyrinth_goals.png")
        return
    tried = settings("compass", (2,), HABITS[:2], KNOWN[:1], COSTS[1:]) if options.quick else grid()
    began = time.perf_counter()
    rows = search(tried, path, options.workers, 1 if options.quick else N_FOLDS)
    print(json.dumps({"settings": len(tried), "rows": len(rows), "seconds": time.perf_counter() - began, **versions()}))


if __name__ == "__main__":
    main()
