"""Goals that were not told: found where there are some, and none invented where there are none.

    python studies/goal_discovery.py               # five minutes on 16 cores
    python studies/goal_discovery.py --quick       # a minute on two: one draw of two worlds

Worlds without goals, twenty draws each: a *random* walk (every action alike) and a *biased* one (a preferred action at
every place, and a tendency to do the same again).  Worlds with goals, ten draws each: the 5 × 5 grid with two to four
goals, the labyrinth's maze with two to four at its ends or its middle, and a slippery grid.  The walker explores at
random, takes up a goal, walks there (soft-optimal, cost 1, 2 or 4 a step, planned by plain sweeps), and drops it.
Counted: draws in which exactly the true goals were found; and how the fitted segmentation compares with that of the
truth's own decoder (accuracy, in points).  Writes goal_discovery.json and .md to studies/results (or --output).
"""

import argparse
import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp

from swirl import MDP, SWIRL, Trajectories, datasets
from swirl.analysis.goal_discovery import discover_goals
from swirl.analysis.metrics import segmentation_accuracy
from swirl.estimators.save_load import versions

RESULTS = Path(__file__).parent / "results"
N_SESSIONS, N_STEPS = 60, 200
NULL, TRUE = ("random", "biased", "random, maze", "biased, maze"), ("grid", "maze", "slippery grid")
DISCOUNT = 0.95


def world(name: str) -> MDP:
    """The environment of a world."""
    if "maze" in name:
        return datasets.labyrinth_env(legal_only=True)
    return datasets.gridworld_env(slip=0.2 if "slippery" in name else 0.0)


def planned(env: MDP, goal: int, cost: float) -> np.ndarray:
    """Log-policy of walking to a goal, [state, action], by plain sweeps."""
    dense, available = env.dense(), env.available
    values = np.zeros(env.n_states)
    for _ in range(500):
        ahead = np.where(available, DISCOUNT * dense @ values, -np.inf)
        values = -cost + logsumexp(ahead, axis=1) - np.log(available.sum(axis=1))
        values[goal] = 0.0
    ahead = np.where(available, DISCOUNT * dense @ values, -np.inf)
    return ahead - logsumexp(ahead, axis=1, keepdims=True)


def pursuing(env: MDP, goals: list[int], cost: float) -> SWIRL:
    """The truth: explore, or walk to one of the goals until it is reached."""
    n = len(goals) + 1
    explore = np.where(env.available, -np.log(env.available.sum(axis=1, keepdims=True)), -np.inf)
    log_policies = np.stack([explore, *(planned(env, goal, cost) for goal in goals)])
    switching = np.tile(np.eye(n), (env.n_states, 1, 1))
    switching[:, 0] = [0.92, *[0.08 / len(goals)] * len(goals)]
    for mode, goal in enumerate(goals, start=1):
        switching[goal, mode] = [0.7, *[0.3 / len(goals)] * len(goals)]
    rewards = np.where(np.isfinite(log_policies), log_policies, -700.0)  # of a reward r(s, a) without future: itself
    return SWIRL.from_parameters(
        env, history=1, rewards=rewards, mode_transitions=switching, initial_modes=np.eye(n)[0], discount=1e-9
    )


def walked(
    env: MDP, biased: bool, rng: np.random.Generator, n_sessions: int = N_SESSIONS, n_steps: int = N_STEPS
) -> Trajectories:
    """Sessions without goals."""
    liked = rng.dirichlet(np.full(env.n_actions, 2.0)) if biased else np.full(env.n_actions, 1.0)
    again = rng.uniform(0.1, 0.5) if biased else 0.0
    sessions, actions = [], []
    following = np.asarray(env.successors.next)[:, :, 0]
    for _ in range(n_sessions):
        s, last, states, done = int(rng.integers(env.n_states)), -1, [], []
        for _ in range(n_steps):
            weight = liked * env.available[s]
            weight = weight / weight.sum()
            if last >= 0 and env.available[s, last]:
                weight = (1 - again) * weight + again * (np.arange(env.n_actions) == last)
            last = int(rng.choice(env.n_actions, p=weight))
            states.append(s)
            done.append(last)
            s = int(following[s, last])
        sessions.append(np.array(states))
        actions.append(np.array(done))
    return Trajectories(sessions, actions, n_states=env.n_states, n_actions=env.n_actions)


def drawn(name: str, seed: int) -> dict[str, Any]:
    """One draw of a world, searched."""
    rng = np.random.default_rng([seed, len(name), *name.encode()])
    env, began = world(name), time.perf_counter()
    if name in NULL:
        found = discover_goals(walked(env, name.startswith("biased"), rng), env)
        return {"world": name, "seed": seed, "true": [], "found": [list(p) for p in found.places], "says": str(found),
                "seconds": time.perf_counter() - began}  # fmt: skip
    places = np.arange(env.n_states)
    n_goals, cost = int(rng.integers(2, 5)), float(rng.choice([1.0, 2.0, 4.0]))
    goals = sorted(rng.choice(places, n_goals, replace=False).tolist())
    truth = pursuing(env, goals, cost)
    data = truth.sample(N_SESSIONS, N_STEPS, random_state=seed)
    data = Trajectories(data.states, data.actions, modes=data.modes, n_states=env.n_states, n_actions=env.n_actions)
    found = discover_goals(data, env)
    right = [segmentation_accuracy(data.modes, model.predict(data)) for model in (truth, found.model)]
    return {
        "world": name, "seed": seed, "true": goals, "cost": cost, "found": [list(p) for p in found.places],
        "says": str(found), "truth's accuracy": right[0], "accuracy": right[1], "seconds": time.perf_counter() - began,
    }  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each world."""
    table = []
    for name in (*NULL, *TRUE):
        own = [row for row in rows if row["world"] == name]
        if not own:
            continue
        exact = [sorted(p[0] for p in row["found"]) == row["true"] for row in own]
        gaps = [100 * (row["accuracy"] - row["truth's accuracy"]) for row in own if row["true"]]
        table.append({"world": name, "draws": len(own), "right": sum(exact), "accuracy, points": gaps})
    return table


def page(record: dict[str, Any]) -> str:
    """The results page."""
    table = summary(record["draws"])
    said = (f"{row['world']}: right in {row['right']} of {row['draws']} draws" for row in table)
    lines = [
        "# Goals that were not told",
        "",
        "; ".join(said) + ".",
        "",
        f"Command: `{record['command']}`; versions {json.dumps(record['versions'])}. {N_SESSIONS} sessions of "
        f"{N_STEPS} steps a draw, `discover_goals(data, env)` with its defaults. Right: exactly the true goals, or "
        "none where there are none. Accuracy: points above that of the truth's own decoder.",
        "",
        record.get("remark", ""),
        "",
        "| world | draws | right | accuracy: least, median |",
        "|---|---|---|---|",
    ]
    for row in table:
        gaps = row["accuracy, points"]
        told = f"{min(gaps):+.1f}, {np.median(gaps):+.1f}" if gaps else "–"
        lines.append(f"| {row['world']} | {row['draws']} | {row['right']} | {told} |")
    lines += ["", "## Draws that came out otherwise", ""]
    for row in record["draws"]:
        if sorted(p[0] for p in row["found"]) != row["true"]:
            said = row["says"].replace("\n", "; ")
            lines.append(f"- {row['world']}, seed {row['seed']}: true {row['true'] or 'none'}; {said}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Draw, search, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    tasks = [("random", 0), ("grid", 0)]
    if not options.quick:
        tasks = [(name, seed) for name in NULL for seed in range(20)] + [(n, seed) for n in TRUE for seed in range(10)]
        tasks.sort(key=lambda task: "maze" not in task[0])  # the longest first
    with ProcessPoolExecutor(options.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(drawn, *task) for task in tasks]
        rows = []
        for done in waiting:
            rows.append(done.result())
            record = {"command": "python studies/goal_discovery.py", "versions": versions(), "draws": rows}
            name = "goal_discovery_quick" if options.quick else "goal_discovery"
            (options.output / f"{name}.json").write_text(json.dumps(record, indent=1))
            (options.output / f"{name}.md").write_text(page(record))


if __name__ == "__main__":
    main()
