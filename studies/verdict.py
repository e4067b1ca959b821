"""Is the verdict on a fit right?  Forty simulated sets of sessions whose modes are known.

    python studies/verdict.py              # 40 sets; says what it will cost, then starts
    python studies/verdict.py --quick      # three small sets; nothing is written

The sets are easy, hard, too short, without modes, of another model than is fitted, or not fitted to the end; half of
them are states alone. "Trust" is right where the fit decodes at most 3 points fewer of the steps than the model that
made the data does; any other verdict claims nothing, and its cost is counted too: good fits that are not trusted.
The rule was set on other draws (seeds from 1000 on); these are seeds from 0 on.

Writes studies/results/verdict.json (every set) and .md. Stopped and started again, it goes on where it was.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from swirl import datasets
from swirl.analysis.metrics import segmentation_accuracy
from swirl.analysis.verdicts import verdict
from swirl.data.histories import Histories
from swirl.data.trajectories import Trajectories
from swirl.estimators.fit_warnings import LEVELS
from swirl.estimators.save_load import versions
from swirl.estimators.swirl import SWIRL

RESULTS = Path(__file__).parent / "results"
COMMAND = "python studies/verdict.py"
KINDS = {"easy": 12, "hard": 8, "too short": 6, "no modes": 6, "wrong model": 5, "unfinished": 3}
POINTS = 0.03  # of accuracy, that a fit to be trusted may be behind the truth's own decoder
MIN_RIGHT = 38
SECONDS = 12  # of one core, for one set: for the notice
SIDE = 5
TRUTH = "truth's accuracy"


def apart(one: int, other: int) -> int:
    """Steps from cell to cell."""
    return abs(one // SIDE - other // SIDE) + abs(one % SIDE - other % SIDE)


def seeker(rng: np.random.Generator, n_modes: int, *, reward: float, leave: float, stray: float, history: int) -> SWIRL:
    """An agent in the 5 × 5 grid with one goal in each mode; at it, it changes its mind often, elsewhere seldom.

    With a history of two only arriving is rewarded, three times as much.
    """
    env, goals = datasets.gridworld_env(), list[int]()
    while len(goals) < n_modes:
        goals = [int(goal) for goal in rng.choice(SIDE**2, n_modes, replace=False)]
        if any(apart(a, b) < 3 for i, a in enumerate(goals) for b in goals[:i]):
            goals = []
    histories = Histories.reachable(env.successors, history)
    newest = histories.table[:, 0]
    rewards = np.stack([reward * (newest == goal) for goal in goals])
    if history == 2:
        rewards = 3 * rewards * (histories.table[:, 1] != newest)
    switch = np.full((env.n_states, n_modes), stray if n_modes > 1 else 0.0)
    if n_modes > 1:
        switch[goals, np.arange(n_modes)] = leave
    same = np.eye(n_modes)
    table = switch[:, :, None] * (1 - same) / max(n_modes - 1, 1) + (1 - switch)[:, :, None] * same
    return SWIRL.from_parameters(
        env,
        history=history,
        rewards=rewards,
        histories=histories.table,
        mode_transitions=table,
        initial_modes=np.full(n_modes, 1 / n_modes),
    )


def panel(kind: str, seed: int) -> tuple[SWIRL, tuple[int, int], dict[str, Any]]:
    """The truth, the size of its recording (sessions, steps), and the settings of the model that is fitted to it."""
    rng = np.random.default_rng([list(KINDS).index(kind), seed])
    n_modes, history, size = int(rng.choice([2, 2, 3])), 1, (40, 150)
    about = {"reward": rng.uniform(0.8, 1.6), "leave": rng.uniform(0.15, 0.4), "stray": rng.uniform(0.005, 0.02)}
    fit: dict[str, Any] = {"n_modes": n_modes, "history": 1}
    if kind == "hard":
        about |= {"reward": rng.uniform(0.3, 0.8), "stray": rng.uniform(0.02, 0.06)}
    elif kind == "too short":
        size = int(rng.integers(4, 9)), 60
    elif kind == "no modes":
        n_modes, fit["n_modes"] = 1, 2
    elif kind == "wrong model":  # a history too short (twice), too few modes, too many, another discount
        n_modes, history, fit = [
            (2, 2, {"n_modes": 2, "history": 1}),
            (3, 1, {"n_modes": 2, "history": 1}),
            (2, 1, {"n_modes": 3, "history": 1}),
            (2, 1, {"n_modes": 2, "history": 1, "discount": 0.3}),
            (3, 2, {"n_modes": 3, "history": 1}),
        ][seed % 5]
    elif kind == "unfinished":
        fit["max_iter"] = int(rng.integers(3, 12))
    return seeker(rng, n_modes, history=history, **about), size, fit


def one_set(kind: str, seed: int, size: tuple[int, int] | None = None, **settings: Any) -> dict[str, Any]:
    """Simulate, fit, judge, and hold the verdict against the truth."""
    began = time.perf_counter()
    truth, usual, fit = panel(kind, seed)
    drawn = truth.sample(*(size or usual), random_state=seed)
    data = drawn if seed % 2 else Trajectories(drawn.states)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SWIRL(truth.env, random_state=seed, **{**fit, **settings}).fit(data)
        fitted = time.perf_counter()
        found = verdict(model, data)
        best, own = (segmentation_accuracy(drawn.modes, each.predict(data)) for each in (truth, model))
    return {
        "kind": kind,
        "seed": seed,
        "states alone": seed % 2 == 0,
        "fit": fit,
        TRUTH: best,
        "accuracy": own,
        "verdict": found.level,
        "reasons": list(found.reasons),
        "seconds": [fitted - began, time.perf_counter() - fitted],
    }


def good(row: dict[str, Any]) -> bool:
    """Whether the fit decodes (nearly) as well as the truth would."""
    return row["accuracy"] >= row[TRUTH] - POINTS


def table(found: list[dict[str, Any]]) -> str:
    """Verdicts in each kind of set, and how often they are right."""
    lines = ["| sets | " + " | ".join(LEVELS) + " | good fits | of these trusted | trusted, not good |"]
    lines.append("|:--|" + "--:|" * 6)
    for kind in KINDS:
        own = [row for row in found if row["kind"] == kind]
        levels = [str(sum(row["verdict"] == level for row in own)) for level in LEVELS]
        fine = [row for row in own if good(row)]
        trusted, wrong = (
            sum(row["verdict"] == "trust" for row in some) for some in (fine, [r for r in own if r not in fine])
        )
        lines.append(f"| {kind} ({len(own)}) | {' | '.join(levels)} | {len(fine)} | {trusted} | {wrong} |")
    right = sum(row["verdict"] != "trust" or good(row) for row in found)
    fine = [row for row in found if good(row)]
    trusted = sum(row["verdict"] == "trust" for row in fine)
    return "\n".join(
        [
            *lines,
            "",
            f"Right: {right} of {len(found)} ({MIN_RIGHT} of 40 were asked for). Of {len(fine)} good fits "
            f"{trusted} are trusted.",
        ]
    )


def page(found: list[dict[str, Any]], made: str) -> str:
    """The results in words."""
    about = (
        "Simulated sessions in the 5 × 5 gridworld, one goal in each mode. A fit is *good* where it decodes at most "
        f"{100 * POINTS:.0f} points fewer of the steps than the model that made the data. The verdict is wrong where "
        "it says *trust* of a fit that is not good. Where the truth itself can hardly tell its modes apart, a fit that "
        "knows nothing is good by that measure; these are not trusted, and need not be."
    )
    lines = [
        "| set | states alone | fitted | truth decodes | fit decodes | verdict | because |",
        "|:--|:--|:--|--:|--:|:--|:--|",
    ]
    for row in found:
        fit = ", ".join(f"{key}={value}" for key, value in row["fit"].items())
        cells = [f"{row['kind']} {row['seed']}", "yes" if row["states alone"] else "no", fit]
        cells += [f"{row[key]:.3f}" for key in (TRUTH, "accuracy")]
        lines.append(f"| {' | '.join([*cells, row['verdict'], row['reasons'][0]])} |")
    each = "\n".join(lines)
    return f"# Is the verdict on a fit right?\n\n`{COMMAND}` ({made})\n\n{about}\n\n{table(found)}\n\n{each}\n"


def write(found: list[dict[str, Any]], folder: Path) -> None:
    """Write what is known so far."""
    found.sort(key=lambda row: (list(KINDS).index(row["kind"]), row["seed"]))
    half = folder / "half-verdict.json"
    half.write_text(json.dumps({"command": COMMAND, "versions": versions(), "sets": found}) + "\n", encoding="utf-8")
    half.replace(folder / "verdict.json")
    made = ", ".join(f"{key} {value}" for key, value in versions().items())
    (folder / "verdict.md").write_text(page(found, made), encoding="utf-8")


def main() -> None:
    """Make the sets that are not known yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.quick:
        small = {"size": (16, 100), "n_restarts": 3}
        print(table([one_set(kind, 1, **small) for kind in ("easy", "no modes", "unfinished")]))
        return
    path = options.output / "verdict.json"
    found = json.loads(path.read_text(encoding="utf-8"))["sets"] if path.exists() else []
    known = {(row["kind"], row["seed"]) for row in found}
    wanted = [(kind, options.first + seed) for kind, n in KINDS.items() for seed in range(n)]
    left = [case for case in wanted if case not in known]
    print(f"{len(left)} sets to make, {len(wanted) - len(left)} known; about {len(left) * SECONDS / 60:.0f} minutes")
    for case in left:
        found.append(one_set(*case))
        write(found, options.output)
        row = next(row for row in found if (row["kind"], row["seed"]) == case)
        print(*case, f"{row['accuracy']:.3f} of {row[TRUTH]:.3f}", row["verdict"], flush=True)
    print(table(found))


if __name__ == "__main__":
    sys.exit(main())
