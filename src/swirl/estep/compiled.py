"""The E-step as a plain loop over chains, compiled by numba: the fast road on the CPU.

The kernel is single-threaded and releases the interpreter lock; restarts and chunks of chains are spread
over a thread pool.  Chunks depend only on the data and are summed in order, so the same data and
parameters give the same bits however many threads there are.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec

import numpy as np
from jaxtyping import Bool

from swirl.estep.counts import Chains, Counts, Tables
from swirl.estep.kernel import kernel

STEPS_PER_CHUNK = 16_384
MOST_CHUNKS = 16


def available() -> bool:
    """Whether numba is installed (the extra ``swirl-irl[fast]``)."""
    return find_spec("numba") is not None


@cache
def _pool(_process: int) -> ThreadPoolExecutor:
    """Threads of this process (a forked child has none of its parent's, hence the argument)."""
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())


def _chunks(offsets: np.ndarray) -> np.ndarray:
    """Cut the chains into chunks of about equal numbers of steps."""
    n_steps = int(offsets[-1])
    n_chunks = int(np.clip(n_steps // STEPS_PER_CHUNK, 1, min(MOST_CHUNKS, len(offsets) - 1)))
    targets = np.linspace(0, n_steps, n_chunks + 1)
    return np.unique(np.searchsorted(offsets, targets))


def suits(tables: Tables) -> bool:
    """Whether probabilities can be used without logarithms.

    With forbidden mode transitions a mode's share can underflow and never return although later data
    would have called it back; the scan in log space has no such limit.
    """
    return bool(np.all(np.isfinite(tables.log_transitions)) and np.all(np.isfinite(tables.log_initial)))


def expected_counts(tables: Tables, chains: Chains, *, active: Bool[np.ndarray, "restart"] | None = None) -> Counts:
    """Expected counts and log-likelihood for each restart; rows that are not `active` come back as zeros."""
    log_initial = np.asarray(tables.log_initial)
    n_restarts, n_modes = log_initial.shape
    initial = np.exp(log_initial)
    transitions = np.exp(np.asarray(tables.log_transitions))
    # Scaled so that the likeliest mode of each symbol has 1: nothing underflows unless all others did.
    log_emissions = np.asarray(tables.log_emissions)
    highest = np.max(log_emissions, axis=-1)
    highest = np.where(np.isfinite(highest), highest, 0.0)
    emissions = np.ones((n_restarts, chains.n_symbols + 1, n_modes))
    np.exp(log_emissions - highest[..., None], out=emissions[:, :-1])

    edges = _chunks(chains.offsets)
    n_chunks = len(edges) - 1
    W = np.zeros((n_restarts, n_chunks, chains.n_symbols + 1, n_modes))
    X = np.zeros((n_restarts, n_chunks, *transitions.shape[1:]))
    N1 = np.zeros((n_restarts, n_chunks, n_modes))
    log_likelihoods = np.zeros((n_restarts, chains.n_chains))
    accumulate = kernel(n_modes)

    def run(job: tuple[int, int]) -> None:
        r, c = job
        accumulate(
            initial[r],
            transitions[r],
            emissions[r],
            chains.states,
            chains.symbols,
            chains.offsets,
            edges[c],
            edges[c + 1],
            W[r, c],
            X[r, c],
            N1[r, c],
            log_likelihoods[r],
        )

    running = range(n_restarts) if active is None else np.flatnonzero(active)
    jobs = [(int(r), c) for r in running for c in range(n_chunks)]
    if len(jobs) == 1:
        run(jobs[0])
    else:
        list(_pool(os.getpid()).map(run, jobs))
    emission_counts = W.sum(axis=1)[:, :-1]
    return Counts(
        initial=N1.sum(axis=1),
        transitions=X.sum(axis=1) * transitions,
        emissions=emission_counts,
        log_likelihood=log_likelihoods.sum(axis=1) + np.einsum("rym,ry->r", emission_counts, highest),
    )
