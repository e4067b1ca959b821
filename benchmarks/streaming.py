"""Section 6: a recording that is streamed from disk against the same one in memory: peak memory, and steps a second.

    python benchmarks/streaming.py 1000000000 --folder SCRATCH     so many steps, streamed only, outside `run.py`

Sessions of 500 steps of the gridworld, a million steps again and again; S-2, K = 2, one restart; each in a process of
its own, so that its peak is its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from report import Options, Section, Table

LENGTH = 500
ITERATIONS = 6


def write(folder: Path, n_steps: int) -> None:
    """Write states and actions of so many steps as two .npy files of one byte a step."""
    import numpy as np

    from swirl.datasets import gridworld

    recorded = gridworld(n_sessions=2000, n_steps=LENGTH).trajectories
    n_sessions = max(n_steps // LENGTH, 1)
    for name, columns in (("states", recorded.states), ("actions", recorded.actions)):
        once = np.stack(columns).astype(np.int8)
        file = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.int8, (n_sessions, LENGTH))
        for first in range(0, n_sessions, len(once)):
            file[first : first + len(once)] = once[: n_sessions - first]
        file.flush()


def child(folder: Path, streamed: bool) -> dict[str, Any]:
    """Fit for some iterations; seconds before the first, of each, and the largest memory."""
    import numpy as np

    from swirl import SWIRL, StreamedTrajectories, Trajectories
    from swirl.datasets import gridworld_env
    from swirl.priors import Gaussian

    prior = Gaussian(0.02, backoff=3.0, of="value")
    model = SWIRL(gridworld_env(), n_modes=2, history=2, n_restarts=1, max_iter=ITERATIONS, reward_prior=prior)
    times = []
    files = [folder / "states.npy", folder / "actions.npy"]
    began = time.perf_counter()
    if streamed:
        data = StreamedTrajectories.from_arrays(*files, scratch=folder)
    else:
        data = Trajectories(*(list(np.load(file)) for file in files), n_states=25, n_actions=5)
    model.fit(data, compare_restarts=False, callback=lambda _: times.append(time.perf_counter()))
    each = np.diff(times)[1:]  # the first still compiles
    return {
        "steps": model.n_steps_,
        "streamed": streamed,
        "before_s": times[0] - began,
        "iteration_s": float(np.median(each)),
        "peak_bytes": peak_memory(),
        "objective": float(model.objective_trace_[-1]),
    }


def peak_memory() -> int:
    """Largest memory of this process, in bytes; what `resource` knows on Linux may be that of the process before it."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * next(int(line.split()[1]) for line in status.read_text().splitlines() if "VmHWM" in line)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def in_a_process(folder: Path, streamed: bool) -> dict[str, Any]:
    """Run `child` by itself."""
    command = [sys.executable, __file__, "--child", str(folder), *(["--streamed"] if streamed else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(options: Options) -> Section:
    """Compare both for growing data."""
    found = []
    for n_steps in (20_000, 40_000) if options.quick else (1_000_000, 10_000_000, 40_000_000):
        with tempfile.TemporaryDirectory() as name:
            write(Path(name), n_steps)
            found += [in_a_process(Path(name), streamed) for streamed in (False, True)]
    for inside, outside in zip(found[::2], found[1::2], strict=True):
        if abs(inside["objective"] - outside["objective"]) > 1e-9 * abs(inside["objective"]):
            raise RuntimeError("streamed and in memory, the fits differ")
    return Section([table(found)], {"fits": found})


def table(found: list[dict[str, Any]]) -> Table:
    """Say what was found."""
    rows = []
    for fit in found:
        rate, million = fit["steps"] / fit["iteration_s"] / 1e6, fit["steps"] / 1e6
        where = "streamed" if fit["streamed"] else "in memory"
        rows.append([where, fit["steps"], fit["before_s"], fit["before_s"] / million, rate, fit["peak_bytes"] / 2**20])
    return Table(
        "S-2 on the gridworld, K = 2, one restart: a recording in memory and streamed from disk",
        ["", "steps", "s before EM", "per million", "EM, M steps/s", "peak memory, MiB"],
        rows,
        ["'before EM': reading, checking, numbering histories, writing the scratch file, and compiling (some 3 s)"],
    )


def main() -> int:
    """One process of a comparison, or one large fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", type=int, nargs="?", default=0)
    parser.add_argument("--folder", type=Path, help="where the recording is written, one byte a state and an action")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--streamed", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        print(json.dumps(child(chosen.child, chosen.streamed)))
        return 0
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        write(Path(name), chosen.steps)
        found = in_a_process(Path(name), streamed=True)
    print(table([found]))
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
