"""The E-step as a plain loop over chains, compiled by numba: the fast engine on the CPU.

The kernel is single-threaded and releases the interpreter lock; restarts and chunks of chains are spread over a
thread pool, and each thread walks several chains at a time (`batching`).  Chunks depend only on the data and are summed
in order, so the same data and parameters give the same bits however many threads there are.
"""

from importlib.util import find_spec
from itertools import pairwise

import numpy as np
from jaxtyping import Bool

from swirl.inference.estep.batching import Lanes
from swirl.inference.estep.counts import Arranged, Chains, Counts, Tables
from swirl.inference.estep.numba_kernel import kernel
from swirl.system import threads

STEPS_PER_CHUNK = 16_384
MAX_CHUNKS = 16
MAX_TABLES = 4_000_000  # entries that all chunks of one restart may hold together
MIN_LOG_SWITCH = -150.0  # 1 / (c_t · β_t), and products of it in the parallel scan, must stay numbers


def available() -> bool:
    """Whether numba is installed (the extra ``swirl-irl[fast]``)."""
    return find_spec("numba") is not None


def _chunks(lanes: Lanes, n_entries: int) -> np.ndarray:
    """Cut the groups into chunks of about equal numbers of steps; fewer where the tables are large."""
    n_steps = int(lanes.starts[-1])
    most = min(MAX_CHUNKS, lanes.n_groups, max(1, MAX_TABLES // n_entries))
    n_chunks = int(np.clip(n_steps // STEPS_PER_CHUNK, 1, most))
    return np.unique(np.searchsorted(lanes.starts, np.linspace(0, n_steps, n_chunks + 1)))


def suits(tables: Tables) -> bool:
    """Whether probabilities can be used without logarithms: every switch and every first mode must be possible.

    A mode's share that underflows is then called back by a switch, which the true path could hardly beat.  With e
    scaled to 1 in the likeliest mode, the normaliser c_t is at least the least likely switch (or start) and β_t at most
    its inverse, however far apart the modes' emissions are; where (nearly) no switch is possible, a share that
    underflowed would never return.  The scan in log space has no such limit.
    """
    return bool(min(np.min(tables.log_transitions), np.min(tables.log_initial)) > MIN_LOG_SWITCH)


def expected_counts(
    tables: Tables, chains: Chains | Arranged, *, active: Bool[np.ndarray, "restart"] | None = None
) -> Counts:
    """Expected counts and log-likelihood for each restart; rows that are not `active` come back as zeros."""
    log_initial = np.ascontiguousarray(tables.log_initial, dtype=float)
    n_restarts, n_modes = log_initial.shape
    initial = np.exp(log_initial)
    # One more "state" for the padding: its table is the identity.
    stay = np.broadcast_to(np.eye(n_modes), (n_restarts, 1, n_modes, n_modes))
    transitions = np.ascontiguousarray(
        np.concatenate([np.exp(np.asarray(tables.log_transitions, dtype=float)), stay], axis=1)
    )
    # Scaled so that the likeliest mode of each symbol has 1: nothing underflows unless all others did.
    log_emissions = np.asarray(tables.log_emissions, dtype=float)
    if log_emissions.shape[1] != (n_seen := len(chains.symbol_counts)):  # or the loop would read beyond the tables
        raise ValueError(f"tables of {log_emissions.shape[1]} symbols for chains of {n_seen}")
    highest = np.max(log_emissions, axis=-1)
    highest = np.where(np.isfinite(highest), highest, 0.0)
    n_symbols = log_emissions.shape[1]
    emissions = np.ones((n_restarts, n_symbols + 1, n_modes))
    np.exp(log_emissions - highest[..., None], out=emissions[:, :-1])

    jobs = [
        (lanes, first, last)
        for lanes in chains.lanes
        for first, last in pairwise(_chunks(lanes, emissions[0].size).tolist())
    ]
    n_jobs = len(jobs)
    W = np.zeros((n_restarts, n_jobs, n_symbols + 1, n_modes))
    X = np.zeros((n_restarts, n_jobs, *transitions.shape[1:]))
    N1 = np.zeros((n_restarts, n_jobs, n_modes))
    log_likelihoods = np.zeros((n_restarts, n_jobs))

    # Here, as threads that come at once would each compile it.
    walk = {width: kernel(n_modes, width) for width in {int(lanes.width) for lanes in chains.lanes}}

    def run(restart_and_job: tuple[int, int]) -> None:
        r, j = restart_and_job
        lanes, first, last = jobs[j]
        of_groups = np.zeros(lanes.n_groups)
        walk[int(lanes.width)](
            initial[r],
            transitions[r],
            emissions[r],
            lanes.states,
            lanes.symbols,
            lanes.starts,
            lanes.weights,
            first,
            last,
            W[r, j],
            X[r, j],
            N1[r, j],
            of_groups,
        )
        log_likelihoods[r, j] = of_groups.sum()

    running = np.ones(n_restarts, dtype=bool) if active is None else active
    calls = [(int(r), j) for r in np.flatnonzero(running) for j in range(n_jobs)]
    if len(calls) == 1:
        run(calls[0])
    else:
        list(threads().map(run, calls))
    emission_counts = W.sum(axis=1)[:, :-1]
    with np.errstate(
        invalid="ignore"
    ):  # of a trial step that rules switches out (0 · ∞): it is far too low to be taken
        transition_counts = (X.sum(axis=1) * transitions)[:, :-1]
    return Counts(
        initial=N1.sum(axis=1),
        transitions=transition_counts,
        emissions=emission_counts,
        log_likelihood=np.where(running, log_likelihoods.sum(axis=1) + highest @ chains.symbol_counts, 0.0),
    )
