"""Section 5: how far the E-step on the CPU is from what the machine can do; operations counted, limits measured.

Per step of one chain, K modes (`estep/numba_kernel.py`):

    operations  forward 2K² + 4K, backward 4K² + 5K, one division
    from memory symbol and state, 4 bytes each, read forward and again backward: 16 bytes
    in cache    α written once and read twice, 1 / c_t written and read: 24 K + 16 bytes

α of a group of sessions stays in the cache, so the limit is arithmetic, not memory.  Attained is against what BLAS
reaches on the same cores (a product of matrices), and against the bandwidth of a copy.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from problems import sampled_problem

from report import Options, Section, Table, interleaved
from swirl.inference.estep import numba_loop
from swirl.inference.estep.counts import Chains, Tables


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limits(quick: bool) -> tuple[float, float]:
    """Operations a second of a product of matrices, and bytes a second of a copy, on all cores."""
    n_cores, n = cores(), 200 if quick else 2000
    matrix = np.ones((n, n))
    source = np.ones((n_cores, 100_000 if quick else 10_000_000))
    target = np.empty_like(source)
    with ThreadPoolExecutor(n_cores) as pool:
        times = interleaved(
            {
                "multiply": lambda: matrix @ matrix,
                "copy": lambda: list(pool.map(lambda i: np.copyto(target[i], source[i]), range(n_cores))),
            },
            repeats=3 if quick else 7,
        )
    return 2 * n**3 / times["multiply"], 2 * source.nbytes / times["copy"]


def measure(options: Options) -> Section:
    """Steps a second against both limits, for K = 2 to 8."""
    peak, bandwidth = limits(options.quick)
    n_chains, n_steps = (40, 200) if options.quick else (2000, 500)
    rows, values = [], {"peak_operations_per_s": peak, "bytes_per_s": bandwidth}
    for n_modes in (2, 3, 5, 8):
        initial, transitions, emissions, symbols = sampled_problem(n_modes, n_chains, n_steps)
        tables = Tables(np.log(initial)[None], np.log(transitions)[None, None], np.log(emissions.T)[None])
        states, offsets = np.zeros(symbols.size, dtype=np.int32), np.arange(n_chains + 1) * n_steps
        chains = Chains(symbols.ravel().astype(np.int32), states, offsets, emissions.shape[1], 1)
        times = interleaved(
            {"walk": lambda t=tables, c=chains: numba_loop.expected_counts(t, c)}, repeats=3 if options.quick else 10
        )
        rate = symbols.size / times["walk"]
        operations = 6 * n_modes**2 + 9 * n_modes + 1
        attained = rate * operations / peak, rate * 16 / bandwidth
        rows.append([n_modes, rate / 1e6, operations, 100 * attained[0], 16, 100 * attained[1]])
        values[f"K={n_modes}"] = {"steps_per_s": rate, "of_peak": attained[0], "of_bandwidth": attained[1]}
    table = Table(
        f"E-step with counts, float64, {n_chains:,} × {n_steps} steps, one restart, {cores()} cores",
        ["K", "M steps/s", "operations/step", "% of peak", "bytes/step", "% of bandwidth"],
        rows,
        [f"measured here: {peak / 1e9:.1f} G operations/s (product of matrices), {bandwidth / 1e9:.1f} GB/s (copy)"],
    )
    return Section([table], values)
