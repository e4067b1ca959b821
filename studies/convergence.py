"""Does "converged" mean it? Fits that say so go on for ten times their iterations; what they promised is held to.

    python studies/convergence.py                       # all problems; some 15 minutes on an H200, hours on two cores
    python studies/convergence.py --only gridworld "spontaneous S-1"   # some of them; others keep their results
    python studies/convergence.py --quick               # a small gridworld; nothing is written

The problems are the paper's: gridworld (S-2, 160 sessions of 500 steps), labyrinth (S-1 to S-4, three modes, its
training sessions) and spontaneous behaviour (S-1, state-action, five modes), each with the prior that a fit chooses by
itself, gridworld and labyrinth S-2 under the Cauchy prior too, and gridworld with a tenth of the actions missing, and
with all of them; ten seeds each. Of every fit that says "converged":

- the gain in nats when it goes on for ten times as many iterations (at most 0.05 is promised),
- the most that any reported number (shares of modes, rates of leaving, policies, rewards of places) moves meanwhile, in
  bootstrap standard errors (at most 0.3 is promised; of the first three seeds),
- on the way, wherever the rule was asked: the predicted remaining gain against what did remain.

Writes studies/results/convergence.json and .md.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from swirl import Trajectories, datasets
from swirl.analysis.bootstrap import TooFewRefitsError, bootstrap, quantities
from swirl.analysis.intervals import logit, spread_of
from swirl.estimators.save_load import versions
from swirl.estimators.swirl import SWIRL
from swirl.inference import em
from swirl.inference.convergence import remaining_gain
from swirl.priors import Cauchy

RESULTS = Path(__file__).parent / "results"
SEEDS = 10
DRAWN = 3  # seeds whose standard errors are found
DRAWS = 10
ON = 10  # times as many iterations
PROMISED_GAIN, PROMISED_DRIFT = 0.05, 0.3
WORTH = 1e-4  # nats below which a gain is no test of a prediction
BETWEEN = (0.01, 3.0)  # predicted nats at which predictions are judged: where a decision could hang on them
PROBLEMS: dict[str, dict[str, Any]] = {
    "gridworld S-2": {"n_modes": 2, "history": 2},
    **{f"labyrinth S-{length}": {"n_modes": 3, "history": length} for length in (1, 2, 3, 4)},
    "spontaneous S-1": {"n_modes": 5, "history": 1, "reward": "state-action", "impossible": "forget"},
    "gridworld S-2, Cauchy": {"n_modes": 2, "history": 2, "reward_prior": Cauchy()},
    "labyrinth S-2, Cauchy": {"n_modes": 3, "history": 2, "reward_prior": Cauchy()},
    "gridworld S-2, actions missing": {"n_modes": 2, "history": 2},
    "gridworld S-2, no actions": {"n_modes": 2, "history": 2},
}
MISSING = {"gridworld S-2, actions missing": 0.1, "gridworld S-2, no actions": 1.0}  # share of the actions


COSTLY = ("labyrinth S-2, Cauchy",)  # no standard errors: ten minutes of an H200


def problem(name: str, n_sessions: int | None = None) -> tuple[Any, Any]:
    """The environment and the training sessions of a problem."""
    if name.startswith("gridworld"):
        world: Any = datasets.gridworld(n_sessions=n_sessions or 200, n_steps=500 if n_sessions is None else 60)
    else:
        world = datasets.labyrinth() if name.startswith("labyrinth") else datasets.spontaneous()
    train = world.trajectories.split(every=5)[0]
    if name in MISSING:
        rng = np.random.default_rng(0)
        actions = [np.where(rng.random(len(own)) < MISSING[name], -1, own) for own in train.actions]
        train = Trajectories(train.states, actions, n_states=world.env.n_states, n_actions=world.env.n_actions)
    return world.env, train


def predictions(restart: Any, end: float) -> list[tuple[float, float]]:
    """(predicted, actual) remaining gain wherever the rule was asked and had a finite answer."""
    trace, pairs = restart.objective_trace, []
    for k in restart.asked:
        predicted = remaining_gain(trace[: k + 1])
        if BETWEEN[0] <= predicted <= BETWEEN[1]:
            pairs.append((predicted, float(end - trace[k])))
    return pairs


def moved(before: dict[str, np.ndarray], after: dict[str, np.ndarray], boot: Any) -> dict[str, float]:
    """How far each kind of number moved, in bootstrap standard errors: the most of its entries."""
    found = {}
    for name in ("occupancy", "leaving", "policies", "rewards"):
        draws = getattr(boot, name)
        if draws is None or name not in before:
            continue
        scale = logit if name != "rewards" else np.asarray
        with np.errstate(invalid="ignore"):
            spread = spread_of(scale(draws), boot.n_units)
            distance = np.abs(scale(after[name]) - scale(before[name]))
        real = np.isfinite(spread) & np.isfinite(distance) & (spread > 1e-6)
        found[name] = float((distance[real] / spread[real]).max()) if real.any() else 0.0
    return found


def one_problem(
    name: str, *, n_sessions: int | None = None, n_seeds: int = SEEDS, n_draws: int = DRAWS
) -> list[dict[str, Any]]:
    """Fit from all seeds, go on from those that say converged, and hold them to it."""
    env, train = problem(name, n_sessions)
    model = SWIRL(env, n_restarts=n_seeds, random_state=0, **PROBLEMS[name])
    began = time.perf_counter()
    model.fit(train, compare_restarts=False, race=False)
    seconds = time.perf_counter() - began
    prepared = model.em_problem(train)
    # All go on side by side, from plain iterations; the tolerance is out of reach, so that they do go on.
    further = em.run(
        prepared.components,
        prepared.chains,
        n_restarts=n_seeds,
        seed=0,
        max_iter=ON * max(restart.n_iterations for restart in model.restarts_),
        tol=1e-300,
        start=em.stack([restart.parameters for restart in model.restarts_]),
    )
    rows = []
    for seed, restart in enumerate(model.restarts_):
        row: dict[str, Any] = {
            "seed": seed,
            "prior": str(model.chosen_.get("reward_prior", model.reward_prior)),
            "status": restart.status,
            "iterations": restart.n_iterations,
            "objective": restart.objective,
            "predicted": restart.remaining_gain,
            "seconds of all": seconds,
        }
        rows.append(row)
        if not restart.converged:
            continue
        on = further[seed].objective_trace[: ON * restart.n_iterations + 1]
        row["gain"] = float(on[-1] - restart.objective)
        row["predictions"] = predictions(restart, on[-1])
        if seed >= DRAWN or name in COSTLY:
            continue
        own = model.use_restart(seed)
        try:
            boot = bootstrap(own, train, n_draws=n_draws)
        except TooFewRefitsError as fault:
            row["bootstrap"] = str(fault)
            continue
        after = own.refitted(prepared, None, tol=1e-300, max_iter=ON * restart.n_iterations)
        row["moved"] = moved(quantities(own, prepared), quantities(after, prepared), boot)
    return rows


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    """One row per fit."""
    lines = [
        "| problem | seed | ended | iterations | objective | predicted to remain | gained by going on | moved (SE) |",
        "|:--|--:|:--|--:|--:|--:|--:|--:|",
    ]
    for name, rows in found.items():
        for row in rows:
            gain = f"{row['gain']:.4f}" if "gain" in row else "–"
            most = max(row["moved"].items(), key=lambda item: item[1]) if row.get("moved") else None
            far = "–" if most is None else f"{most[1]:.3f} ({most[0]})"
            predicted = f"{row['predicted']:.2g}" if np.isfinite(row["predicted"]) else "–"
            lines.append(
                f"| {name} | {row['seed']} | {row['status']} | {row['iterations']:,} | {row['objective']:,.3f} "
                f"| {predicted} | {gain} | {far} |"
            )
    return "\n".join(lines)


def summarise(found: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """What the fits that say converged come to."""
    said = [row for rows in found.values() for row in rows if row["status"] == "converged"]
    moves = [max(row["moved"].values()) for row in said if "moved" in row]
    ends = [row["predicted"] / row["gain"] for row in said if row["gain"] > WORTH]
    pairs = np.array([pair for row in said for pair in row["predictions"]]).reshape(-1, 2)
    ratio = pairs[:, 0] / np.maximum(pairs[:, 1], 1e-12)
    return {
        "fits": sum(len(rows) for rows in found.values()),
        "say converged": len(said),
        "largest gain by going on": max((row["gain"] for row in said), default=None),
        "largest move in standard errors": max(moves, default=None),
        "predictions at the end, where more than 0.0001 nats were gained": len(ends),
        "of them within a factor of 3": int(np.sum([1 / 3 < ratio < 3 for ratio in ends])),
        "predictions on the way, of 0.01 to 3 nats": len(pairs),
        "share of them within a factor of 3": float(np.mean((ratio > 1 / 3) & (ratio < 3))) if len(pairs) else None,
        "median of predicted over actual": float(np.median(ratio)) if len(pairs) else None,
    }


def main() -> None:
    """Run the study and write its results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=list(PROBLEMS))
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.quick:
        rows = {"gridworld S-2": one_problem("gridworld S-2", n_sessions=20, n_seeds=3, n_draws=3)}
        print(table(rows), summarise(rows), sep="\n\n")
        return
    path = options.output / "convergence.json"
    known = json.loads(path.read_text(encoding="utf-8"))["found"] if path.exists() else {}
    for name in options.only or PROBLEMS:
        known[name] = one_problem(name)
        print(table({name: known[name]}), flush=True)
        found = {each: known[each] for each in PROBLEMS if each in known}
        record = {"command": "python studies/convergence.py", "versions": versions(), "found": found}
        path.write_text(json.dumps({**record, "summary": summarise(found)}) + "\n", encoding="utf-8")
        made = ", ".join(f"{k} {v}" for k, v in versions().items())
        (options.output / "convergence.md").write_text(page(found, made), encoding="utf-8")


def page(found: dict[str, list[dict[str, Any]]], made: str) -> str:
    """The results in words."""
    summary = summarise(found)
    numbers = "\n".join(f"- {what}: {_short(value)}" for what, value in summary.items())
    title = f"# Does “converged” mean it?\n\n`python studies/convergence.py` ({made})"
    return f"{title}\n\n{READING}\n\n{table(found)}\n\n{numbers}\n"


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


READING = """\
Every fit that says "converged" went on for ten times as many iterations, on the same road: fifty plain iterations, then
quasi-Newton steps. Promised are a gain below 0.05 nats and no reported number (shares of modes, rates of leaving,
policies, rewards of places) moved by more than 0.3 bootstrap standard errors. A fit that does not say so makes no
promise; what it may still gain is in its report.

Predictions far from the end are no more than a lower bound: EM can rest on a plateau and leave it. That is why the rule
also looks back over a fifth of all iterations, and must hold twice once quasi-Newton steps have begun."""


if __name__ == "__main__":
    sys.exit(main())
