"""The EM loop: restarts side by side, stopping, resuming, and the report of how it ended.

One iteration is E-step (counts) then M-step (`mstep.Components.improve`); `iteration` makes them.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, Float

from swirl.estep.counts import Chains, Tables
from swirl.iteration import FALL, Engine, Iterations, choose, settle, tables_and_prior
from swirl.mstep import Components, Parameters
from swirl.precision import float64, numpy_tree
from swirl.seeding import starting_points

WARM_UP = 20  # iterations under the milder prior


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


def stack(parameters: list[Parameters]) -> Parameters:
    """Put the parameters of several restarts side by side."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *parameters)


@jax.jit
def _unpack(components: Components, parameters: Parameters) -> tuple[Tables, Any]:
    return replace(components, latent=None).tables(parameters), components.rewards.rewards(parameters.rewards)


def unpack(components: Components, parameters: Parameters) -> tuple[Tables, Any]:
    """Hidden chain (of choices that are seen) and rewards, or whatever stands for them, of one restart, as numpy."""
    with float64():
        return numpy_tree(_unpack(components, parameters))


@dataclass
class _Ledger:
    """Objectives of every restart so far, and how those that have ended did."""

    tol: float
    objectives: list[np.ndarray]
    log_likelihoods: list[np.ndarray]
    small: np.ndarray
    status: list[str]
    lengths: np.ndarray
    fall: float
    least: float

    @classmethod
    def open(
        cls, tol: float, log_likelihood: np.ndarray, log_prior: np.ndarray, fall: float = FALL, least: float = 0.0
    ) -> "_Ledger":
        none = np.zeros(len(log_likelihood), dtype=int)
        return cls(tol, [log_likelihood + log_prior], [log_likelihood], none, [""] * len(none), none + 1, fall, least)

    def record(self, log_likelihood: np.ndarray, log_prior: np.ndarray) -> None:
        """Enter one iteration and settle which restarts have ended."""
        objective, before = log_likelihood + log_prior, self.objectives[-1]
        running = self.running
        self.small, ended = settle(objective, before, self.small, self.tol, fall=self.fall, least=self.least)
        for r in np.flatnonzero(running & ended):
            if not np.isfinite(objective[r]):
                self.status[r] = "not finite"
            elif objective[r] - before[r] < -self.fall * abs(objective[r]):
                self.status[r] = "objective fell"  # even when it had all but stopped rising before
            else:
                self.status[r] = "converged"
        self.objectives.append(objective)
        self.log_likelihoods.append(log_likelihood)
        self.lengths[running] = len(self.objectives)

    @property
    def running(self) -> Bool[np.ndarray, "restart"]:
        return np.array([not status for status in self.status])

    def trace(self, values: list[np.ndarray], r: int) -> np.ndarray:
        return np.array([row[r] for row in values[: self.lengths[r]]])


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
    """Fit by EM from `n_restarts` starting points (`seeding.starting_points`, or `start`), all of which are kept.

    A restart ends when the objective has risen by less than `tol` (relative) three times in a row, when
    `max_iter` M-steps are made, or when something is wrong; Ctrl-C ends them all and keeps what they have.
    New starting points first take a few steps under a milder prior where the prior has one (`Components.milder`).
    """
    began = time.perf_counter()
    with float64():
        fresh = start is None
        if start is None:
            start = stack(starting_points(components, chains, n_restarts=n_restarts, seed=seed, scale=scale))
        # Plain numpy in, so that the first iteration compiles for the same types as the rest.
        start = numpy_tree(start)
        tables, _ = tables_and_prior(components, start)
        iterations = choose(engine, chains, numpy_tree(tables))
        interrupted = False
        if fresh and (milder := components.milder()) is not None:
            start, interrupted = _warm_up(iterations, milder, start)
        state = iterations.first(components, start)
        ledger = _Ledger.open(
            tol,
            np.asarray(state.counts.log_likelihood),
            np.asarray(state.log_prior),
            components.fall(FALL),
            iterations.least,
        )
        made = max_iter if interrupted else 0
        try:
            while made < max_iter and (running := ledger.running).any():
                # Rows and state are entered together: Ctrl-C in the long call leaves both as they were.
                state, rows = iterations.advance(components, state, running, ledger.small, tol, max_iter - made)
                seconds, news = time.perf_counter() - began, []
                for log_likelihood, log_prior in zip(*rows, strict=True):
                    made += 1
                    ledger.record(log_likelihood, log_prior)
                    news.append(Progress(made, max_iter, ledger.objectives[-1], int(ledger.running.sum()), seconds))
                # Told when all rows are entered: a callback that interrupts finds state and ledger in step.
                if callback is not None:
                    for progress in news:
                        callback(progress)
        except KeyboardInterrupt:
            interrupted = True
        parameters, visits = numpy_tree(state.parameters), np.asarray(state.counts.emissions)
    restarts = []
    for r, status in enumerate(ledger.status):
        occupancy = visits[r].sum(axis=0)
        restarts.append(
            Restart(
                jax.tree.map(lambda leaf, r=r: leaf[r], parameters),
                ledger.trace(ledger.objectives, r),
                ledger.trace(ledger.log_likelihoods, r),
                occupancy / occupancy.sum(),
                status or ("interrupted" if interrupted else "iterations ran out"),
            )
        )
    return restarts


def _warm_up(iterations: Iterations, milder: Components, start: Parameters) -> tuple[Parameters, bool]:
    """Take the first steps under the milder prior; say whether Ctrl-C cut them short."""
    parameters, made = start, 0
    try:
        state = iterations.first(milder, start)
        everyone = np.ones(len(state.log_prior), dtype=bool)
        while made < WARM_UP:
            state, rows = iterations.advance(milder, state, everyone, 0 * everyone, 0.0, WARM_UP - made)
            parameters, made = state.parameters, made + len(rows.log_priors)
    except KeyboardInterrupt:
        return numpy_tree(parameters), True
    return numpy_tree(parameters), False


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
