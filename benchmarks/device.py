"""One script for a GPU machine: does every road agree with the CPU's, and how fast is each?

    PYTHONPATH=src python benchmarks/device.py [--data FOLDER]

FOLDER holds the labyrinth's two .npy files; without it a random walk on a simulated maze stands in.
"""

import argparse
import time
from pathlib import Path

import jax
import numpy as np

from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.swirl import SWIRL
from swirl.inference import em
from swirl.inference.engines import device_counts
from swirl.inference.estep import scan
from swirl.inference.estep.counts import Chains, Tables
from swirl.precision import float64, numpy_tree


def labyrinth(folder: Path | None) -> tuple[MDP, Trajectories]:
    """Read the maze and its recordings, or make a maze of the same size and walk in it."""
    if folder is not None and (folder / "trans_probs.npy").exists():
        env = MDP.deterministic(np.load(folder / "trans_probs.npy").argmax(-1))
        steps = np.load(folder / "emissions500new.npy")
        data = Trajectories(list(steps[..., 0]), list(steps[..., 1]), n_states=127, n_actions=4)
        return env, data.split(every=5)[0]
    node = np.arange(127)
    inward = np.stack([2 * node + 1, 2 * node + 2], axis=1)
    outward = np.maximum((node - 1) // 2, 0)
    following = np.column_stack([np.where(inward < 127, inward, node[:, None]), outward, node])
    env = MDP.deterministic(following)
    walk = SWIRL.from_parameters(
        env, history=1, rewards=np.zeros((1, 127)), mode_transitions=np.ones((1, 1)), initial_modes=np.ones(1)
    )
    return env, walk.sample(190, 500)


def timed(function, repeats: int = 5) -> tuple[float, object]:
    """Median seconds of a call that has been compiled, and its result."""
    result = jax.block_until_ready(function())
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = jax.block_until_ready(function())
        times.append(time.perf_counter() - began)
    return float(np.median(times)), result


def e_steps(n_chains: int, n_steps: int, n_modes: int = 3) -> None:
    """Both roads on this device against the CPU, and their speed."""
    rng = np.random.default_rng(0)
    n_symbols, n_states = 508, 127
    total = n_chains * n_steps
    chains = Chains(
        rng.integers(n_symbols, size=total).astype(np.int32),
        rng.integers(n_states, size=total).astype(np.int32),
        np.arange(n_chains + 1) * n_steps,
        n_symbols,
        n_states,
    )
    tables = Tables(
        np.log(np.full((1, n_modes), 1 / n_modes)),
        np.log(rng.dirichlet(np.ones(n_modes), size=(1, n_states, n_modes))),
        np.log(rng.uniform(0.05, 1, size=(1, n_symbols, n_modes))),
    )
    with float64():
        groups = jax.device_put(scan.pad(chains))
        results = {}
        for name, parallel in (("scan", False), ("associative", True)):
            seconds, counts = timed(lambda p=parallel: device_counts(tables, groups, p))
            results[name] = numpy_tree(counts)
            print(f"E-step float64 {n_chains} x {n_steps} K={n_modes} {name:12s} {seconds * 1e3:9.3f} ms "
                  f"{total / seconds / 1e6:10.1f} M steps/s")  # fmt: skip
    worst = max(
        float(np.max(np.abs(a - b) / (1 + np.abs(b))))
        for a, b in zip(jax.tree.leaves(results["scan"]), jax.tree.leaves(results["associative"]), strict=True)
    )
    print(f"   largest relative difference of the two roads: {worst:.2e}")


def fits(env: MDP, data: Trajectories, history: int, n_iterations: int, n_restarts: int = 1) -> None:
    """EM on the device, chunk by chunk, against the same EM on the CPU of this machine."""
    model = SWIRL(env, n_modes=3, history=history)
    _, chains, components, _ = model.em_problem(data)
    settings = {"n_restarts": n_restarts, "seed": 0, "max_iter": n_iterations, "tol": 1e-12}
    first = {}
    for place in ("gpu", "cpu"):  # one iteration from one point: no room for roads to part
        devices = [d for d in jax.devices() if d.platform == "gpu"] if place == "gpu" else jax.devices("cpu")
        if devices:
            start = em.stack([components.random_parameters(np.random.default_rng(1), 1.0)])
            with jax.default_device(devices[0]):
                few = {"n_restarts": 1, "seed": 0, "max_iter": 3, "tol": 1e-12, "start": start}
                first[place] = em.run(components, chains, engine="associative", **few)[0].objective_trace
    if len(first) == 2:
        gap = np.abs(first["gpu"] - first["cpu"]) / np.abs(first["cpu"])
        print(f"S-{history}: objective on the GPU against the CPU, iterations 0 to 3: {[f'{g:.0e}' for g in gap]}")
    traces = {}
    for place in ("gpu", "cpu"):
        devices = [d for d in jax.devices() if d.platform == "gpu"] if place == "gpu" else jax.devices("cpu")
        if not devices:
            print("no GPU here")
            continue
        with jax.default_device(devices[0]):
            for attempt in ("first", "second"):
                began = time.perf_counter()
                result = em.run(components, chains, engine="associative", **settings)
                seconds = time.perf_counter() - began
                print(f"S-{history} K=3 {n_restarts} restarts, 20 + {n_iterations} iterations, {place} {attempt} run "
                      f"{seconds:8.3f} s   objective {result[0].objective:.6f}")  # fmt: skip
                if place == "cpu":
                    break
        traces[place] = result[0].objective_trace
    if len(traces) == 2:
        gap = np.abs(traces["gpu"] - traces["cpu"]) / np.abs(traces["cpu"])
        print(f"   relative difference of the objectives: {gap[0]:.1e} after the warm-up, {gap.max():.1e} at most")


def main() -> None:
    """Check and time everything; one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    print("jax", jax.__version__, jax.devices())
    e_steps(190, 500)
    e_steps(20_000, 500)
    env, data = labyrinth(options.data)
    fits(env, data, 1, 50)
    fits(env, data, 2, 80)
    fits(env, data, 2, 80, n_restarts=8)
    fits(env, data, 4, 50)


if __name__ == "__main__":
    main()
