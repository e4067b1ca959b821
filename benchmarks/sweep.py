"""A sweep of 64 fits on all cores against one process with one thread, and what a task costs besides its work.

    python benchmarks/sweep.py [--fits 64] [--sessions 60] [--json FILE]

Both sides run once before they are timed, so that every program is compiled and kept; Dask's workers are started
before the clock is (it is said how long that took).  Each timed run has seeds of its own, so nothing is read back.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

N_STEPS = 200


def tasks(n: int, seed: int, n_sessions: int) -> list[Any]:
    """So many fits of two modes to the gridworld, each from another seed, scored on a third of the sessions."""
    from swirl import datasets
    from swirl.analysis.fit_tasks import fold_scores
    from swirl.analysis.tasks import Shared, Task
    from swirl.estimators.swirl import SWIRL

    world = datasets.gridworld(n_sessions=n_sessions, n_steps=N_STEPS)
    shared = Shared({"model": SWIRL(world.env, n_modes=2, n_restarts=4), "data": world.trajectories})
    held_out = list(range(0, n_sessions, 3))
    return [Task(fold_scores, {"settings": {"random_state": seed + i}, "held_out": held_out}, shared) for i in range(n)]


def empty(n: int, told: Any = None) -> dict[str, Any]:
    """A task without work."""
    return {"n": n}


def timed(engine: Any, asked: list[Any], folder: Path) -> float:
    """Seconds until all are done and kept."""
    from swirl.analysis.tasks import Folder, carried_out

    began = time.perf_counter()
    outcomes = carried_out(asked, folder=Folder(folder), engine=engine)
    if any(outcome.result is None for outcome in outcomes):
        raise RuntimeError(next(outcome.error for outcome in outcomes if outcome.error))
    return time.perf_counter() - began


def alone(options: argparse.Namespace) -> None:
    """In this process, on one core."""
    from tempfile import TemporaryDirectory

    from swirl.analysis.tasks import here

    with TemporaryDirectory() as folder:
        timed(here(), tasks(2, 10_000, options.sessions), Path(folder) / "warm")
        seconds = timed(here(), tasks(options.fits, 0, options.sessions), Path(folder) / "r")
    print(json.dumps({"seconds": seconds}))


def main() -> None:
    """Print both times, their ratio, and the cost of a task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=64)
    parser.add_argument("--sessions", type=int, default=60)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        alone(options)
        return
    from tempfile import TemporaryDirectory

    from swirl.analysis.cluster import dask_engine
    from swirl.analysis.tasks import Task
    from swirl.system import compiled_settings, cores

    os.environ.update(compiled_settings())
    words = ["--alone", "--fits", str(options.fits), "--sessions", str(options.sessions)]
    done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=True)
    one = json.loads(done.stdout.splitlines()[-1])["seconds"]
    with TemporaryDirectory() as place:
        folder, began = Path(place), time.perf_counter()
        with dask_engine("local") as engine:
            timed(engine, tasks(4 * cores(), 10_000, options.sessions), folder / "warm")
            started = time.perf_counter() - began
            many = timed(engine, tasks(options.fits, 0, options.sessions), folder / "r")
            n_empty = 200
            cost = timed(engine, [Task(empty, {"n": n}) for n in range(n_empty)], folder / "empty") / n_empty
    found = {
        "fits": options.fits, "cores": cores(), "one process (s)": one, "all cores (s)": many, "ratio": one / many,
        "start and first fits (s)": started, "per task without work (ms)": 1000 * cost,
    }  # fmt: skip
    for name, value in found.items():
        print(f"{name:<30}{value:>10.4g}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
