"""The E-step as a plain loop over chains, compiled by numba: the fast road on the CPU.

The kernel is single-threaded and releases the interpreter lock; restarts and chunks of chains are spread
over a thread pool.  Chunks depend only on the data and are summed in order, so the same data and
parameters give the same bits however many threads there are.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec

import numpy as np
from jaxtyping import Bool

from swirl.estep.counts import Chains, Counts, Tables

STEPS_PER_CHUNK = 16_384
MOST_CHUNKS = 16


def available() -> bool:
    """Whether numba is installed (the extra ``swirl-irl[fast]``)."""
    return find_spec("numba") is not None


@cache
def kernel(n_modes: int) -> Callable[..., None]:
    """Compile the pass for `n_modes` modes: a constant, so that the inner loops unroll.

    Forward:  α_t(z') = (Σ_z α_{t−1}(z) P[s_{t−1}, z, z']) e[y_t, z'] / c_t,  Σ_z α_t(z) = 1
    Backward: u_t(z') = e[y_t, z'] β_t(z') / c_t,   β_{t−1}(z) = Σ_z' P[s_{t−1}, z, z'] u_t(z')
    Counts:   W[y_t, z] += α_t(z) β_t(z),   X[s_{t−1}, z, z'] += α_{t−1}(z) u_t(z')   (times P, by the caller)
    """
    from numba import njit

    K = n_modes

    @njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
    def accumulate(initial, P, e, states, symbols, offsets, first, last, W, X, N1, log_likelihoods):
        longest = 0
        for chain in range(first, last):
            longest = max(longest, offsets[chain + 1] - offsets[chain])
        alpha = np.empty((longest, K))
        inverse = np.empty(longest)  # 1 / c_t
        beta = np.empty(K)
        u = np.empty(K)
        for chain in range(first, last):
            start = offsets[chain]
            T = offsets[chain + 1] - start
            y = symbols[start]
            c = 0.0
            for z in range(K):
                alpha[0, z] = initial[z] * e[y, z]
                c += alpha[0, z]
            for z in range(K):
                alpha[0, z] /= c
            inverse[0] = 1.0 / c
            product = c  # of the c_t: one logarithm for many steps
            log_likelihood = 0.0
            for t in range(1, T):
                s = states[start + t - 1]
                y = symbols[start + t]
                c = 0.0
                for z in range(K):
                    a = 0.0
                    for i in range(K):
                        a += alpha[t - 1, i] * P[s, i, z]
                    a *= e[y, z]
                    alpha[t, z] = a
                    c += a
                scale = 1.0 / c
                for z in range(K):
                    alpha[t, z] *= scale
                inverse[t] = scale
                if product < 1e-100 or c < 1e-100:
                    log_likelihood += np.log(product)
                    product = 1.0
                product *= c
            log_likelihoods[chain] = log_likelihood + np.log(product)
            for z in range(K):
                beta[z] = 1.0
            for t in range(T - 1, 0, -1):
                s = states[start + t - 1]
                y = symbols[start + t]
                for z in range(K):
                    W[y, z] += alpha[t, z] * beta[z]
                    u[z] = e[y, z] * beta[z] * inverse[t]
                for i in range(K):
                    b = 0.0
                    for z in range(K):
                        b += P[s, i, z] * u[z]
                        X[s, i, z] += alpha[t - 1, i] * u[z]
                    beta[i] = b
            y = symbols[start]
            for z in range(K):
                g = alpha[0, z] * beta[z]
                W[y, z] += g
                N1[z] += g

    return accumulate


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
