"""Does a fit that was killed and goes on from its checkpoint end in the same bits as one that was not?

    python studies/killed_fits.py            # 20 fits of each world; says what they will cost, then starts
    python studies/killed_fits.py --only "on a GPU: gridworld, a race"   # the second world; 8 fits were made
    python studies/killed_fits.py --quick    # one kill; nothing is written

Each draw starts `swirl fit … --checkpoint FILE --resume` as a process of its own, kills it with SIGKILL at a random
moment (in three of four draws: after its first checkpoint), and starts the same command again, with another kill in
every third draw.  All that was fitted, of every restart, is compared bit by bit with a fit that was not disturbed.

Writes studies/results/killed_fits.json (every draw) and .md. Stopped and started again, it goes on where it was.
"""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import draws
import jax
import numpy as np

from swirl import datasets
from swirl.estimators.registry import load
from swirl.estimators.save_load import versions
from swirl.io.environment_files import write_environment
from swirl.io.export_tables import to_frame, write_table

COMMAND = "python studies/killed_fits.py"
DRAWS = 20
ON_GPU = "on a GPU: "
WORLDS = {  # sessions, steps, and options of the fit; the default prior is chosen on folds, more than 8 restarts race
    "gridworld, a race": (60, 100, ["--modes", "2", "--history", "2", "--restarts", "12", "--tol", "1e-7"]),
    ON_GPU + "gridworld, a race": (
        500,
        200,
        ["--modes", "3", "--history", "2", "--restarts", "12"],
    ),  # large enough for one
}
ALWAYS = ["--no-verdict", "--quiet", "--max-iter", "400"]


def command(folder: Path, world: str, output: str, checkpoint: bool) -> list[str]:
    """What a user would type."""
    own = [str(folder / "sessions.csv"), "--env", str(folder / "grid.csv"), "-o", str(folder / output), "--force"]
    kept = ["--checkpoint", str(folder / "kept"), "--checkpoint-every", "0.2", "--resume"] if checkpoint else []
    return [sys.executable, "-m", "swirl", "fit", *own, *WORLDS[world][2], *ALWAYS, *kept]


def prepare(folder: Path, world: str) -> None:
    """Write the sessions of a world where there are none."""
    if not (folder / "grid.csv").exists():
        n_sessions, n_steps, _ = WORLDS[world]
        data = datasets.gridworld(n_sessions=n_sessions, n_steps=n_steps, random_state=1)
        write_table(to_frame(data.trajectories), folder / "sessions.csv")
        write_environment(data.env, folder / "grid.csv")


def fitted(path: Path) -> list[np.ndarray]:
    """All numbers that a fit came to, of every restart."""
    model = load(path)
    found = [model.mode_transitions_, model.initial_modes_, model.policies_, model.rewards_]
    for restart in model.restarts_:
        found += [restart.objective_trace, restart.log_likelihood_trace, restart.occupancy]
    return [np.asarray(each) for each in found]


def undisturbed(folder: Path, world: str) -> float:
    """Fit without a kill, where that was not done yet; return how long it takes after its start."""
    prepare(folder, world)
    subprocess.run(command(folder, world, "whole.nc", checkpoint=False), check=True)
    began = time.monotonic()
    subprocess.run(command(folder, world, "whole.nc", checkpoint=False), check=True)
    return time.monotonic() - began


def one_kill(folder: Path, world: str, seed: int, usual: float) -> dict[str, Any]:
    """Kill a fit at a random moment, once or twice, and let it go on."""
    began, rng, path = time.monotonic(), random.Random(seed), folder / f"{seed}.nc"
    for left in (folder / "kept", path):
        left.unlink(missing_ok=True)
    kills, had_file = [], []
    while len(kills) < (2 if seed % 3 == 2 else 1):
        process = subprocess.Popen(command(folder, world, path.name, checkpoint=True), stderr=subprocess.DEVNULL)
        began_here, wait = time.monotonic(), rng.uniform(0.1, 0.9) * usual
        if seed % 4 and not kills:  # count from the first checkpoint on
            while process.poll() is None and not (folder / "kept").exists():
                time.sleep(0.005)
            wait = rng.uniform(0.0, 0.4) * usual
        try:  # where it was done before, it starts from the beginning the next time
            process.wait(wait)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills.append(round(time.monotonic() - began_here, 2))
            had_file.append((folder / "kept").exists())
    subprocess.run(command(folder, world, path.name, checkpoint=True), check=True, stderr=subprocess.DEVNULL)
    pairs = zip(fitted(path), fitted(folder / "whole.nc"), strict=True)
    same = all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)
    seconds = time.monotonic() - began
    row = {"world": world, "seed": seed, "kills": kills, "had_file": had_file, "same": same, "seconds": seconds}
    return row | {"made": draws.made_with(versions())}


def page(found: list[dict[str, Any]], made: str) -> str:
    """The results in words."""
    kills, with_file = sum(len(row["kills"]) for row in found), sum(sum(row["had_file"]) for row in found)
    lines = ["| world | fits | kills | kills with a checkpoint there | same bits | made with |"]
    lines.append("|:--|--:|--:|--:|--:|:--|")
    for world in WORLDS:
        own = [row for row in found if row["world"] == world]
        numbers = (len(own), sum(len(row["kills"]) for row in own), sum(sum(row["had_file"]) for row in own))
        with_ = "; ".join(dict.fromkeys(row["made"] for row in own))
        lines.append(f"| {world} | {' | '.join(map(str, numbers))} | {sum(row['same'] for row in own)} | {with_} |")
    return (
        "\n\n".join(
            [
                "# Does a fit that was killed end in the same bits?",
                f"`{COMMAND}` (last with {made})",
                f"{kills} kills (SIGKILL) at random moments, {with_file} of them after the first checkpoint: "
                f"{sum(row['same'] for row in found)} of {len(found)} fits ended in the same bits as one that was not "
                "disturbed (all parameters, and every restart's trace).",
                "\n".join(lines),
            ]
        )
        + "\n"
    )


def main() -> None:
    """Make the draws that are not known yet."""
    options = draws.options(__doc__.splitlines()[0], list(WORLDS))
    found = [] if options.quick else draws.known(options.output, "killed_fits")
    n = 1 if options.quick else options.draws or DRAWS
    has_gpu = jax.default_backend() == "gpu"
    for world in options.only or [name for name in WORLDS if has_gpu or not name.startswith(ON_GPU)]:
        left = [seed for seed in range(n) if (world, seed) not in {(row["world"], row["seed"]) for row in found}]
        with tempfile.TemporaryDirectory() as place:
            usual = undisturbed(Path(place), world)
            print(f"{world}: {len(left)} draws to make, about {len(left) * 2 * usual / 60:.0f} minutes", flush=True)
            for seed in left:
                found.append(one_kill(Path(place), world, seed, usual))
                print(found[-1], flush=True)
                if not options.quick:
                    draws.write(found, options.output, "killed_fits", COMMAND, page)


if __name__ == "__main__":
    main()
