"""Peak memory of fits against the bound of `swirl.workflows.memory_bound`, each fit in a process of its own.

    python benchmarks/memory.py [--only TEXT ...] [--json FILE]

Small, wide and long problems, 2 to 8 modes, 1 and 8 restarts, histories of 1 to 4 states, every kind of reward, both
engines of the E-step on the CPU; where JAX has a GPU, the bytes on it.  A bound is good when measured / bound lies
between 0.4 and 1.  Few iterations are made (one under the milder prior, one of EM and two quasi-Newton steps): the
peak of one is the peak of all.  Where the reward's prior is chosen on folds, many fits are made; problems of many
states name theirs, which leaves out the folds' fits (of fewer sessions than the last one).
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

GOOD = (0.4, 1.0)


def case(
    name: str, world: Any, sessions: tuple[int, int], modes: int, history: int, restarts: int, **more: str
) -> dict:
    """Say what one child shall fit; `world` is (states, actions, branches), 0 states for the gridworld."""
    return {
        "name": name,
        "world": world,
        "n_sessions": sessions[0],
        "n_steps": sessions[1],
        "n_modes": modes,
        "history": history,
        "n_restarts": restarts,
        **more,
    }


GRID, WIDE, WIDE_STOCHASTIC = (0, 0, 0), (2000, 5, 1), (2000, 5, 3)
SHORT, LONG, UNCUT = (20, 100), (1000, 2000), (1, 2_000_000)
CASES = [
    case("small", GRID, SHORT, 2, 1, 1),
    case("small", GRID, SHORT, 2, 2, 8),
    case("small", GRID, SHORT, 8, 4, 8),
    case("small", GRID, SHORT, 4, 2, 8, reward="state-action"),
    case("wide", WIDE, (100, 500), 2, 1, 1),
    case("wide", WIDE, (100, 500), 8, 2, 8),
    case("wide", WIDE, (100, 500), 4, 3, 1),
    case("wide", WIDE, (100, 500), 2, 4, 1),
    case("wide", WIDE, (100, 500), 4, 3, 8, reward="state-action"),
    case("wide, stochastic", WIDE_STOCHASTIC, (100, 500), 2, 1, 1),
    case("wide, stochastic", WIDE_STOCHASTIC, (100, 500), 2, 2, 8),
    case("wide, stochastic", WIDE_STOCHASTIC, (100, 500), 4, 2, 1, reward="state-action"),
    case("long", GRID, LONG, 2, 2, 1),
    case("long", GRID, LONG, 8, 1, 8, reward="state-action"),
    case("long, one session", GRID, UNCUT, 8, 1, 8, reward="state-action"),
    case("long, XLA's scan", GRID, (100, 2000), 4, 1, 8, reward="state-action", engine="scan"),
    case("long, XLA's scan", GRID, (100, 2000), 2, 1, 1, reward="state-action", engine="scan"),
    case("never switching", GRID, (100, 500), 3, 2, 4, switching="fixed"),
    case("switching network", WIDE, (100, 500), 4, 1, 8, reward="state-action", switching="state-net"),
    case("habit", (500, 5, 1), (100, 500), 3, 3, 8, reward="habit"),
    case("network reward", (500, 5, 1), (100, 500), 3, 2, 4, reward="network"),
]


def child(what: dict[str, Any]) -> None:
    """Bound, fit, and print both as JSON."""
    import numpy as np

    from swirl.data.mdp import MDP
    from swirl.data.trajectories import Trajectories
    from swirl.datasets import gridworld_env
    from swirl.estimators.swirl import SWIRL
    from swirl.inference import em, first_steps
    from swirl.inference.convergence import Stretch
    from swirl.priors import Cauchy
    from swirl.rewards.forms import Habit, Network
    from swirl.workflows.memory_bound import predict

    first_steps.WARM_UP = 1
    em.schedule = lambda accelerated, made=0: iter([Stretch(1, False, False), Stretch(2, accelerated, False)])
    rng = np.random.default_rng(0)
    n_states, n_actions, n_branches = what["world"]
    if n_states:
        shape = (n_states, n_actions, n_branches)
        env = MDP.from_successors(
            rng.integers(n_states, size=shape), rng.dirichlet(np.ones(n_branches), size=shape[:2])
        )
    else:
        env = gridworld_env()
    n_sessions, n_steps = what["n_sessions"], what["n_steps"]
    data = Trajectories(*_walk(env, n_sessions, n_steps, rng), n_states=env.n_states, n_actions=env.n_actions)
    reward = {"habit": Habit(2), "network": Network(16)}.get(what.get("reward", ""), what.get("reward", "state"))
    engine, switching = what.get("engine", "auto"), what.get("switching", "state")
    sizes = {"n_modes": what["n_modes"], "history": what["history"], "n_restarts": what["n_restarts"]}
    options = {"reward": reward, "switching": switching}
    prior = {"reward_prior": Cauchy()} if n_states and reward == "state" else {}
    prediction = predict(env, **sizes, **options, n_steps=n_sessions * n_steps, n_sessions=n_sessions, engine=engine)
    began = time.perf_counter()
    SWIRL(env, **sizes, **options, **prior, max_iter=3).fit(data, engine=engine, progress=False)
    found = {
        "bound": prediction.total,
        "measured": _peak(),
        "n_histories": prediction.sizes.n_histories,
        "seconds": time.perf_counter() - began,
    }
    print(json.dumps(found))


def _peak() -> int:
    """Most bytes held at a time: by JAX on its GPU where there is one, else by this process."""
    import jax

    device = jax.local_devices()[0]
    if device.platform == "gpu":
        return int(device.memory_stats()["peak_bytes_in_use"])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _walk(env: Any, n_sessions: int, n_steps: int, rng: Any) -> tuple[list, list]:
    """Walks that choose at random among actions and branches."""
    following = env.successors.next
    states = rng.integers(env.n_states, size=(n_sessions, 1)).repeat(n_steps, axis=1)
    actions = rng.integers(env.n_actions, size=(n_sessions, n_steps))
    branches = rng.integers(env.n_branches, size=(n_sessions, n_steps))
    for t in range(1, n_steps):
        move = (states[:, t - 1], actions[:, t - 1])
        possible = env.successors.probability[*move, branches[:, t - 1]] > 0  # a branch may not be used
        states[:, t] = following[*move, branches[:, t - 1] * possible]
    return list(states), list(actions)


def measure(what: dict[str, Any]) -> dict[str, Any]:
    """Run one child.  This process stays small: on Linux a child's peak starts at its parent's size."""
    command = [sys.executable, __file__, "--child", json.dumps(what)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
    if done.returncode:
        raise RuntimeError(f"a fit failed:\n{done.stderr}")
    return {**what, **json.loads(done.stdout.splitlines()[-1])}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[""], help="cases whose name contains one of these")
    parser.add_argument("--json", type=Path, help="write the numbers here as well")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(json.loads(options.child))
        return
    print(f"{'problem':<19}{'reward':<13}{'steps':>10}{'histories':>10} K L R      bound  measured  ratio")
    rows = []
    for what in CASES:
        if not any(text in what["name"] for text in options.only):
            continue
        row = measure(what)
        row["ratio"] = row["measured"] / row["bound"]
        rows.append(row)
        note = "" if GOOD[0] <= row["ratio"] <= GOOD[1] else "  outside"
        print(
            f"{row['name']:<19}{row.get('reward', 'state'):<13}{row['n_sessions'] * row['n_steps']:>10,}"
            f"{row['n_histories']:>10,} {row['n_modes']} {row['history']} {row['n_restarts']}  "
            f"{row['bound'] / 1e6:>6,.0f} MB {row['measured'] / 1e6:>6,.0f} MB  {row['ratio']:>5.2f}{note}",
            flush=True,
        )
    if rows:
        ratios = [row["ratio"] for row in rows]
        print(f"measured / bound: {min(ratios):.2f} to {max(ratios):.2f} over {len(rows)} fits")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
