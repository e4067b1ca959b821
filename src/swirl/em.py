"""The EM loop: restarts side by side, stopping, resuming, and the report of how it ended.

One iteration is E-step (counts) then M-step (`mstep.Components.improve`).  On the CPU with numba the loop
is on the host; otherwise a chunk of iterations with a dynamic trip count runs in one compiled call, so
that the host can show progress and Ctrl-C is heard between chunks.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from swirl.estep import compiled, scan
from swirl.estep.counts import Chains, Counts, Tables
from swirl.mstep import Components, Parameters
from swirl.precision import float64, numpy_tree

Engine = Literal["auto", "compiled", "scan"]
PATIENCE = 3  # consecutive iterations below the tolerance: one slow step is not the end


@dataclass
class Progress:
    """What a callback is told after each iteration."""

    iteration: int
    max_iter: int
    objectives: Float[np.ndarray, "restart"]
    running: int
    seconds: float


@dataclass(frozen=True)
class Restart:
    """One run of EM from one starting point."""

    parameters: Parameters
    objective_trace: Float[np.ndarray, "iteration"]
    """Log-likelihood + log-priors at each iteration; the last entry belongs to `parameters`."""
    log_likelihood_trace: Float[np.ndarray, "iteration"]
    occupancy: Float[np.ndarray, "mode"]
    """Expected share of the observed steps in each mode."""
    status: str
    """"converged", "iterations ran out", "interrupted", "objective fell" or "not finite"."""

    @property
    def objective(self) -> float:
        """Final log-likelihood + log-priors."""
        return float(self.objective_trace[-1])

    @property
    def converged(self) -> bool:
        """Whether the objective stopped rising before the iterations ran out."""
        return self.status == "converged"

    @property
    def n_iterations(self) -> int:
        """Number of M-steps made."""
        return len(self.objective_trace) - 1


@jax.jit
def _tables(components: Components, parameters: Parameters) -> tuple[Tables, Array]:
    def one(p: Parameters) -> tuple[Tables, Array]:
        return components.tables(p), components.log_prior(p)

    return jax.vmap(one)(parameters)


@jax.jit
def _improve(
    components: Components, parameters: Parameters, counts: Counts, active: Bool[Array, "restart"]
) -> tuple[Parameters, Tables, Array]:
    """One M-step of every restart that is `active`, and the chains it leads to."""

    def one(p: Parameters, c: Counts, on: Array) -> tuple[Parameters, Tables, Array]:
        better = components.improve(p, c)
        p = jax.tree.map(lambda new, old: jnp.where(on, new, old), better, p)
        return p, components.tables(p), components.log_prior(p)

    return jax.vmap(one)(parameters, counts, active)


@jax.jit
def _scan_counts(tables: Tables, chains: scan.PaddedChains) -> Counts:
    return jax.vmap(lambda t: scan.expected_counts(t, chains))(tables)


def stack(parameters: list[Parameters]) -> Parameters:
    """Put the parameters of several restarts side by side."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *parameters)


@jax.jit
def _unpack(components: Components, parameters: Parameters) -> tuple[Tables, Array]:
    return components.tables(parameters), components.rewards.rewards(parameters.rewards)


def unpack(components: Components, parameters: Parameters) -> tuple[Tables, np.ndarray]:
    """Hidden chain and rewards of one restart, as numpy."""
    with float64():
        return numpy_tree(_unpack(components, parameters))


def choose_engine(engine: Engine, tables: Tables) -> Engine:
    """Pick the E-step: numba on the CPU where it is installed and exact, XLA elsewhere."""
    if engine not in get_args(Engine):
        raise ValueError(f'engine={engine!r}: expected "auto", "compiled" or "scan"')
    if engine != "auto":
        return engine
    on_cpu = jax.default_backend() == "cpu"
    return "compiled" if on_cpu and compiled.available() and compiled.suits(tables) else "scan"


@dataclass
class _Ledger:
    """Objectives of every restart so far, and which of them still run."""

    tol: float
    objectives: list[np.ndarray] = field(default_factory=list)
    log_likelihoods: list[np.ndarray] = field(default_factory=list)
    status: list[str] = field(default_factory=list)
    small: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    ended: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))

    def record(self, log_likelihood: np.ndarray, log_prior: np.ndarray) -> None:
        """Enter one iteration and settle which restarts have ended."""
        objective = log_likelihood + log_prior
        n = len(objective)
        if not self.objectives:
            self.status = [""] * n
            self.small, self.ended = np.zeros(n, dtype=int), np.full(n, -1)
        else:
            before = self.objectives[-1]
            for r in np.flatnonzero(self.running):
                gain = objective[r] - before[r]
                scale = abs(objective[r])
                self.small[r] = self.small[r] + 1 if gain <= self.tol * scale else 0
                if not np.isfinite(objective[r]):
                    self.status[r] = "not finite"
                elif gain < -1e-6 * scale:
                    self.status[r] = "objective fell"
                elif self.small[r] >= PATIENCE:
                    self.status[r] = "converged"
        self.objectives.append(objective)
        self.log_likelihoods.append(np.asarray(log_likelihood))
        for r in np.flatnonzero(~self.running & (self.ended < 0)):
            self.ended[r] = len(self.objectives)

    @property
    def running(self) -> Bool[np.ndarray, "restart"]:
        return np.array([not s for s in self.status])

    def trace(self, values: list[np.ndarray], r: int) -> np.ndarray:
        stop = self.ended[r] if self.ended[r] >= 0 else len(values)
        return np.array([row[r] for row in values[:stop]])


def run(
    components: Components,
    chains: Chains,
    *,
    n_restarts: int,
    seed: int,
    max_iter: int,
    tol: float,
    scale: float = 1.0,
    start: Parameters | None = None,
    engine: Engine = "auto",
    callback: Callable[[Progress], Any] | None = None,
) -> list[Restart]:
    """Fit by EM from `n_restarts` random starting points (or from `start`), all of which are kept.

    A restart ends when the objective has risen by less than `tol` (relative) three times in a row, when
    `max_iter` M-steps are made, or when something is wrong; Ctrl-C ends them all and keeps what they have.
    """
    began = time.perf_counter()
    with float64():
        if start is None:
            generators = np.random.default_rng(seed).spawn(n_restarts)
            start = stack([components.random_parameters(rng, scale) for rng in generators])
        # Plain numpy in, so that the first iteration compiles for the same types as the rest.
        parameters = numpy_tree(start)
        tables, log_prior = _tables(components, parameters)
        engine = choose_engine(engine, numpy_tree(tables))
        padded = None if engine == "compiled" else jax.device_put(scan.PaddedChains.pad(chains))

        def counts_of(tables: Tables, active: np.ndarray | None) -> Counts:
            if padded is None:
                return compiled.expected_counts(numpy_tree(tables), chains, active=active)
            return _scan_counts(tables, padded)

        ledger = _Ledger(tol)
        counts = counts_of(tables, None)
        ledger.record(np.asarray(counts.log_likelihood), np.asarray(log_prior))
        interrupted = False
        try:
            for iteration in range(1, max_iter + 1):
                active = ledger.running
                if not active.any():
                    break
                better, tables, log_prior = _improve(components, parameters, counts, active)
                new = counts_of(tables, active)
                # An ended restart keeps its counts and objective.
                counts = jax.tree.map(
                    lambda a, b, on=active: np.where(on.reshape((-1,) + (1,) * (np.ndim(a) - 1)), a, b),
                    new,
                    counts,
                )
                ledger.record(np.asarray(counts.log_likelihood), np.asarray(log_prior))
                # Only now, so that Ctrl-C in the long calls above leaves parameters and objective of one iteration.
                parameters = better
                if callback is not None:
                    callback(
                        Progress(
                            iteration,
                            max_iter,
                            ledger.objectives[-1],
                            int(ledger.running.sum()),
                            time.perf_counter() - began,
                        )
                    )
        except KeyboardInterrupt:
            interrupted = True
        parameters = numpy_tree(parameters)
    restarts = []
    for r in range(len(ledger.status)):
        status = ledger.status[r] or ("interrupted" if interrupted else "iterations ran out")
        visits = np.asarray(counts.emissions[r]).sum(axis=0)
        restarts.append(
            Restart(
                jax.tree.map(lambda leaf, r=r: np.asarray(leaf)[r], parameters),
                ledger.trace(ledger.objectives, r),
                ledger.trace(ledger.log_likelihoods, r),
                visits / visits.sum(),
                status,
            )
        )
    return restarts


def describe(restarts: list[Restart], best: int, n_observed: int) -> str:
    """Say in words how a fit ended."""
    kept = restarts[best]
    n = kept.n_iterations
    ending = {
        "converged": f"converged after {n} iterations",
        "iterations ran out": f"not converged: the {n} iterations ran out; raise max_iter, or fit with resume=True",
        "interrupted": f"interrupted after {n} iterations; fit again with resume=True to go on",
        "objective fell": f"stopped: the objective fell at iteration {n}, which should not happen; please report it",
        "not finite": f"failed: the objective is not finite after {n} iterations; use a stronger prior",
    }[kept.status]
    objectives = np.array([r.objective for r in restarts])
    near = int(np.sum(kept.objective - objectives < 1e-4 * n_observed))
    agreement = (
        f"{near} of {len(restarts)} restarts ended within 0.0001 nats per step of it"
        if len(restarts) > 1
        else "the only restart"
    )
    per_step = kept.log_likelihood_trace[-1] / n_observed
    return (
        f"{ending}. Objective {kept.objective:,.3f} (log-likelihood {per_step:.5f} nats per step over "
        f"{n_observed:,} observed steps); {agreement}."
    )
