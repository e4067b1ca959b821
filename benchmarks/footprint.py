"""Section 5: peak memory, cold start and compile time, each in a fresh process."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from report import Options, Section, Table

# Printed by each child as its last line.  On Linux the peak is VmHWM: ru_maxrss survives exec, so that a child of this
# process would report this process's own peak.  Elsewhere ru_maxrss, which macOS gives in bytes.
REPORT = """
import json, resource, sys
from pathlib import Path
def peak_MiB():
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
def report(**values):
    print(json.dumps(dict(peak_MiB=peak_MiB(), **values)))
"""

IMPORT_ONLY = REPORT + "import swirl\nreport()"

FIT = (
    REPORT
    + """
import time
t0 = time.perf_counter()
import swirl
from swirl.datasets import gridworld
train, _ = gridworld({n_sessions}, {n_steps}).trajectories.split(every=5)
from swirl.datasets import gridworld_env
env = gridworld_env()
t1 = time.perf_counter()
swirl.SWIRL(env, n_modes=2, history=2).fit(train)
t2 = time.perf_counter()
model = swirl.SWIRL(env, n_modes=2, history=2, random_state=1).fit(train)
t3 = time.perf_counter()
report(ready=t1 - t0, first=t2 - t1, second=t3 - t2, iterations=max(r.n_iterations for r in model.restarts_))
"""
)

SIMULATE = (
    REPORT
    + """
import swirl.estimators.swirl
from swirl.datasets import gridworld
gridworld({n_sessions}, {n_steps}).trajectories.split(every=5)
report()
"""
)

# One Adam step needs the memory of 800: the steps follow one another.
RIVAL = (
    REPORT
    + """
import numpy as np
import paper_recipe
from against_paper import dense
from swirl.datasets import gridworld
dataset = gridworld({n_sessions}, {n_steps})
train, _ = dataset.trajectories.split(every=5)
data = paper_recipe.one_hot(np.stack(train.states), np.stack(train.actions), dense(dataset.env))
paper_recipe.run(data, 1, 0, budget=paper_recipe.Budget(1, 1))
report()
"""
)


def child(program: str, **environment: str) -> dict[str, Any]:
    """Run a program in a fresh interpreter; return what it reported and its wall time."""
    settings = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), **environment}
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], env=settings, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - began
    if done.returncode:
        raise RuntimeError(f"a benchmark process failed:\n{done.stderr}")
    return {"wall": wall, **json.loads(done.stdout.splitlines()[-1])}


def best_wall(command: list[str], repeats: int = 5) -> float:
    """Least wall time of a command: what it needs when nothing disturbs it."""
    walls = []
    for _ in range(repeats):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        walls.append(time.perf_counter() - began)
    return min(walls)


def measure(options: Options) -> Section:
    """Peak memory of a fit and of the paper's recipe; time of the first answers in a fresh process."""
    size = {"n_sessions": 40, "n_steps": 100} if options.quick else {"n_sessions": 200, "n_steps": 500}
    starts = {
        "python -c pass": best_wall([sys.executable, "-c", "pass"]),
        "swirl --help": best_wall([sys.executable, "-m", "swirl", "--help"]),
        "import swirl": best_wall([sys.executable, "-c", "import swirl"]),
        "import swirl, then SWIRL (loads JAX)": best_wall([sys.executable, "-c", "import swirl; swirl.SWIRL"], 3),
    }
    with tempfile.TemporaryDirectory() as empty:
        virgin = child(FIT.format(**size), NUMBA_CACHE_DIR=empty)
        fit = child(FIT.format(**size), NUMBA_CACHE_DIR=empty)
    simulated = child(SIMULATE.format(**size))
    rival = child(RIVAL.format(**size))
    bare = child(IMPORT_ONLY)

    base = simulated["peak_MiB"]
    ratio = (rival["peak_MiB"] - base) / (fit["peak_MiB"] - base)
    cold = Table(
        "cold start: seconds in a fresh process",
        ["", "s"],
        [
            *starts.items(),
            ["first fit, nothing cached (XLA and numba compile)", virgin["first"]],
            ["first fit, numba's cache warm (XLA compiles)", fit["first"]],
            ["second fit in the same process", fit["second"]],
            ["compile time (first − second fit)", virgin["first"] - virgin["second"]],
        ],
        [
            f"a fit: S-2, gridworld, {size['n_sessions'] * 4 // 5} sessions × {size['n_steps']} steps, 8 restarts, "
            f"to the default tolerance ({fit['iterations']} iterations)"
        ],
    )
    memory = Table(
        "peak memory (resident set of a fresh process)",
        ["", "MiB", "above start", "ratio"],
        [
            ["import swirl", bare["peak_MiB"], "", ""],
            ["start: JAX loaded, data simulated", base, 0.0, ""],
            ["two fits of 8 restarts", fit["peak_MiB"], fit["peak_MiB"] - base, 1.0],
            ["paper's recipe, one restart", rival["peak_MiB"], rival["peak_MiB"] - base, ratio],
        ],
        ["ratio: what the recipe needs above the start, by what our fits need (both with their compilers)"],
    )
    return Section(
        [cold, memory],
        {
            "start_s": starts,
            "first_fit_s": virgin["first"],
            "first_fit_numba_cached_s": fit["first"],
            "second_fit_s": fit["second"],
            "compile_s": virgin["first"] - virgin["second"],
            "ratio_memory": ratio,
            "peak_MiB": {
                "import": bare["peak_MiB"],
                "start": base,
                "fit": fit["peak_MiB"],
                "paper_recipe": rival["peak_MiB"],
            },
        },
    )
