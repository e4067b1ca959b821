"""One script for a GPU machine: does every road agree with the CPU's, and how fast is each?

    PYTHONPATH=src python benchmarks/device.py [--data FOLDER]

FOLDER holds the labyrinth's two .npy files; without it a random walk on a simulated maze stands in.
"""

import argparse
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.swirl import SWIRL
from swirl.inference import em
from swirl.inference.engines import choose, device_counts, tables_and_prior
from swirl.inference.estep import pallas_kernel, scan
from swirl.inference.estep.counts import Chains, Tables
from swirl.inference.first_steps import FINALISTS
from swirl.precision import float64, numpy_tree
from swirl.priors import Cauchy, Gaussian

REPEATS = 50


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


@cache
def bandwidth() -> float:
    """Bytes a second that this device moves when it adds one to four gigabytes."""
    with float64():
        many = jax.numpy.ones(2**29 if jax.default_backend() == "gpu" else 2**24)
        seconds, _ = timed(jax.jit(lambda: many + 1.0))
    return 2 * many.nbytes / seconds


def moved(n_modes: int, itemsize: int) -> int:
    """Bytes that the kernels move for a step of one chain, where chains are not cut.

    Symbol and state forward and backward; α written and read, 1 / c likewise, γ and u written; then, sorted by symbol
    and by state, two places, γ, α and u read.
    """
    return 16 + (2 * n_modes + 2 + 2 * n_modes) * itemsize + 8 + 3 * n_modes * itemsize


def e_steps(n_chains: int, n_steps: int, n_modes: int = 3, n_restarts: int = 1, real: Any = np.float64) -> None:
    """Every road on this device against the scan of logarithms: how fast, how near, and the same bits twice?"""
    chains, tables = drawn(n_chains, n_steps, n_modes, n_restarts)
    n_symbols, n_states, total = chains.n_symbols, chains.n_states, chains.n_steps
    with float64():
        tables = jax.device_put(jax.tree.map(lambda x: x.astype(real), tables))
        padded, reference = scan.pad(chains), None
        for name in ("scan", "associative", "kernel"):
            if name == "kernel" and not pallas_kernel.available():
                print("no NVIDIA GPU here: no kernels")
                continue
            if name != "kernel" and real is np.float32:
                continue
            groups = padded
            if name == "kernel":
                groups = tuple(pallas_kernel.Sorted.of(group, n_symbols, n_states) for group in padded)
            groups = jax.device_put(groups)
            seconds, counts = timed(lambda g=groups, n=name: device_counts(tables, g, n == "associative"))
            again = device_counts(tables, groups, name == "associative")
            same = all(map(np.array_equal, jax.tree.leaves(numpy_tree(counts)), jax.tree.leaves(numpy_tree(again))))
            print(f"E-step {np.dtype(real).name} {n_restarts} x {n_chains} x {n_steps} K={n_modes} {name:12s} "
                  f"{seconds * 1e3:9.3f} ms {n_restarts * total / seconds / 1e9:8.3f} G steps/s  same bits {same}",
                  end="")  # fmt: skip
            inside = timed(lambda g=groups, n=name: repeated(tables, g, n == "associative"), 3)[0] / REPEATS
            counts = numpy_tree(counts)
            reference = counts if reference is None else reference
            pairs = zip(jax.tree.leaves(counts), jax.tree.leaves(reference), strict=True)
            worst = max(float(np.max(np.abs(a - b) / (1 + np.abs(b)))) for a, b in pairs)
            near = f"  against the scan {worst:.1e}" if counts is not reference else ""
            of_limit = n_restarts * total * moved(n_modes, np.dtype(real).itemsize) / inside / bandwidth()
            limit = f"  {100 * of_limit:.0f} % of the bandwidth" if name == "kernel" and total >= 10**7 else ""
            print(f"  in a compiled loop {inside * 1e3:9.3f} ms{near}{limit}", flush=True)


def drawn(n_chains: int, n_steps: int, n_modes: int, n_restarts: int) -> tuple[Chains, Tables]:
    """Random symbols and states of a maze of 127 places, and random tables."""
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
        np.log(np.full((n_restarts, n_modes), 1 / n_modes)),
        np.log(rng.dirichlet(np.ones(n_modes), size=(n_restarts, n_states, n_modes))),
        np.log(rng.uniform(0.05, 1, size=(n_restarts, n_symbols, n_modes))),
    )
    return chains, tables


def single_precision(n_chains: int, n_steps: int) -> None:
    """How far float32 is from float64 on many steps: log-likelihood per step, and counts."""
    chains, tables = drawn(n_chains, n_steps, 3, 1)
    with float64():
        groups = [pallas_kernel.Sorted.of(g, chains.n_symbols, chains.n_states) for g in scan.pad(chains)]
        groups = jax.device_put(tuple(groups))
        exact, rough = (
            numpy_tree(device_counts(jax.device_put(jax.tree.map(lambda x, r=real: x.astype(r), tables)), groups))
            for real in (np.float64, np.float32)
        )
    apart = float(np.abs(exact.log_likelihood - rough.log_likelihood)[0]) / chains.n_steps
    counts = max(
        float(np.max(np.abs(a - b) / np.maximum(a, 1.0)))
        for a, b in ((exact.transitions, rough.transitions), (exact.emissions, rough.emissions))
    )
    print(f"float32 against float64, {chains.n_steps:,} steps: {apart:.1e} nats/step, counts {counts:.1e}", flush=True)


@partial(jax.jit, static_argnames="in_parallel")
def repeated(tables: Tables, groups: Any, in_parallel: bool) -> Tables:
    """E-steps one after the other, as EM makes them: without the way from Python to the device."""

    def again(_: int, same: Tables) -> Tables:
        counts = device_counts(same, groups, in_parallel)
        kept = 0.0 * counts.log_likelihood[:, None]  # all that comes out is used, so that none of it is left out
        return Tables(
            same.log_initial + 0.0 * counts.initial + kept,
            same.log_transitions + 0.0 * counts.transitions,
            same.log_emissions + 0.0 * counts.emissions,
        )

    return jax.lax.fori_loop(0, REPEATS, again, tables)


def plain(env: MDP, data: Trajectories, history: int, n_iterations: int) -> None:
    """EM's own iterations, one restart, after compiling."""
    prior = Gaussian(0.02, backoff=3.0, of="value")
    _, chains, components, *_ = SWIRL(env, n_modes=3, history=history, reward_prior=prior).em_problem(data)
    with float64():
        start = em.stack([components.random_parameters(np.random.default_rng(0), 1.0)])
        iterations = choose("auto", chains, numpy_tree(tables_and_prior(components, numpy_tree(start))[0]))
        everyone = np.ones(1, dtype=bool)

        def run() -> Any:
            state, made = iterations.first(components, start), 0
            while made < n_iterations:
                state, rows = iterations.advance(
                    components, state, everyone, accelerated=False, most=n_iterations - made
                )
                made += len(rows.log_priors)
            return state.log_prior

        seconds, _ = timed(run, 3)
    print(f"S-{history} K=3, {n_iterations} plain iterations, normal prior on values: {seconds:.3f} s", flush=True)


def starts(env: MDP, data: Trajectories, n_starts: int) -> None:
    """Default fits to their end, twice: seconds, passes, and whether both have the same bits."""
    for name, prior in (("normal prior on values", Gaussian(0.02, backoff=3.0, of="value")), ("Cauchy", Cauchy())):
        model = SWIRL(env, n_modes=3, history=2, reward_prior=prior)
        _, chains, components, *_ = model.em_problem(data)
        runs, seconds = [], []
        for _ in range(2):
            began = time.perf_counter()
            runs.append(em.run(components, chains, n_restarts=n_starts, seed=0, max_iter=2000, tol=0.01, race=True))
            seconds.append(time.perf_counter() - began)
        same = all(np.array_equal(a.objective_trace, b.objective_trace) for a, b in zip(*runs, strict=True))
        ends = [r.n_iterations for r in runs[1]]
        ended = "starts to their end" if n_starts <= FINALISTS else "starts in a race, eight to their end"
        print(f"S-2 K=3 {name}, {n_starts} {ended}: first {seconds[0]:.2f} s, second {seconds[1]:.3f} s, "
              f"{sum(r.converged for r in runs[1])} converged, after {min(ends)} to {max(ends)} passes; "
              f"same bits {same}; best objective {max(r.objective for r in runs[1]):.3f}", flush=True)  # fmt: skip


def fits(env: MDP, data: Trajectories, history: int, n_iterations: int, n_restarts: int = 1) -> None:
    """EM on the device, chunk by chunk, against the same EM on the CPU of this machine."""
    model = SWIRL(env, n_modes=3, history=history)
    _, chains, components, *_ = model.em_problem(data)
    settings = {"n_restarts": n_restarts, "seed": 0, "max_iter": n_iterations, "tol": 1e-12}
    first = {}
    for place in ("gpu", "cpu"):  # one iteration from one point: no room for roads to part
        devices = [d for d in jax.devices() if d.platform == "gpu"] if place == "gpu" else jax.devices("cpu")
        if devices:
            start = em.stack([components.random_parameters(np.random.default_rng(1), 1.0)])
            with jax.default_device(devices[0]):
                few = {"n_restarts": 1, "seed": 0, "max_iter": 3, "tol": 1e-12, "start": start}
                first[place] = em.run(components, chains, engine="auto", **few)[0].objective_trace
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
                result = em.run(components, chains, engine="auto", **settings)
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
    parser.add_argument("--against-cpu", action="store_true", help="also the same fits on this machine's CPU (minutes)")
    options = parser.parse_args()
    print("jax", jax.__version__, jax.devices(), f"{bandwidth() / 1e9:,.0f} GB/s")
    e_steps(190, 500)
    e_steps(190, 500, n_restarts=8)
    e_steps(20_000, 500)
    if jax.default_backend() == "gpu":
        e_steps(200_000, 500, real=np.float32)
        single_precision(200_000, 500)
    env, data = labyrinth(options.data)
    starts(env, data, 8)
    starts(env, data, 32)
    plain(env, data, 2, 100)
    plain(env, data, 4, 70)
    if options.against_cpu:
        fits(env, data, 1, 50)
        fits(env, data, 2, 80)
        fits(env, data, 2, 80, n_restarts=8)
        fits(env, data, 4, 50)


if __name__ == "__main__":
    main()
