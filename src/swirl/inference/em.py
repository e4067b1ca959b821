"""The EM loop: restarts side by side, stopping, resuming, and the report of how it ended.

One iteration is E-step (counts) then M-step (`mstep.Components.improve`); `engines` makes them.  On a terminal a line
shows iteration, objective, time left and device.  In a pipe it is silent, or, when it is asked for, a line of its own
every ten seconds: for the log of a cluster.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float

from swirl.compiling import device, jit
from swirl.inference import first_steps
from swirl.inference.checkpoint import EM, Checkpoint
from swirl.inference.convergence import CONFIRM, LITTLE, Stretch, recent_gain, remaining_gain, schedule, unfinished
from swirl.inference.engines import Engine, Rows, choose, tables_and_prior
from swirl.inference.estep.counts import Chains, Tables
from swirl.inference.estep.streaming import StreamedChains
from swirl.inference.first_steps import FINALISTS, RACE
from swirl.inference.initialise import starting_points
from swirl.inference.mstep import Components, Parameters
from swirl.precision import float64, numpy_tree
from swirl.rewards.component import EmissionComponent
from swirl.text import number

FALL = 1e-6  # relative fall of the objective that cannot be rounding


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
    remaining_gain: float = float("inf")
    """What EM would still gain, in nats, as predicted at the end (`convergence`); ∞ where nothing can be said."""
    asked: tuple[int, ...] = ()
    """Iterations after which it was asked whether EM has converged: each follows ten plain ones. Not saved."""

    raced: int = 0
    """Starting points of the race that it came from (`first_steps`); 0 where there was none."""

    @property
    def objective(self) -> float:
        """Final log-likelihood + log-priors."""
        return float(self.objective_trace[-1])

    @property
    def converged(self) -> bool:
        """Whether little enough gain remained before the iterations ran out."""
        return self.status == "converged"

    @property
    def n_iterations(self) -> int:
        """Number of M-steps made."""
        return len(self.objective_trace) - 1


def stack(parameters: list[Parameters]) -> Parameters:
    """Put the parameters of several restarts side by side."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *parameters)


@jit(loops=False)
def _unpack(components: Components, parameters: Parameters) -> tuple[Tables, Any]:
    return replace(components, latent=None).tables(parameters), components.emissions.fitted(parameters.emissions)


def unpack(components: Components, parameters: Parameters) -> tuple[Tables, Any]:
    """Hidden chain (of choices that are seen) and what was fitted (rewards, coefficients) of one restart, as numpy."""
    with float64():
        return numpy_tree(_unpack(components, parameters))


def hidden_chain(components: Components, parameters: Parameters) -> Tables:
    """The chain that an E-step over all steps reads, those with latent choices too, of one restart, as numpy."""
    with float64():
        return numpy_tree(_hidden_chain(components, parameters))


@jit(loops=False)
def _hidden_chain(components: Components, parameters: Parameters) -> Tables:
    return components.tables(parameters)


@dataclass
class _Ledger:
    """Objectives of every restart so far, and how those that have ended did."""

    tol: float
    emissions: type[EmissionComponent]
    """For its `objective_may_decrease`."""
    objectives: list[np.ndarray]
    log_likelihoods: list[np.ndarray]
    status: list[str]
    remaining: np.ndarray
    lengths: np.ndarray
    rested: np.ndarray
    """Objective of each restart when it was asked last, if little was left to gain; −∞ otherwise."""
    asked: list[int] = field(default_factory=list)

    @classmethod
    def open(
        cls, tol: float, emissions: type[EmissionComponent], log_likelihood: np.ndarray, log_prior: np.ndarray
    ) -> "_Ledger":
        n = len(log_likelihood)
        objective = log_likelihood + log_prior
        lengths = np.ones(n, dtype=int)
        nothing, never = np.full(n, np.inf), np.full(n, -np.inf)
        return cls(tol, emissions, [objective], [log_likelihood], [""] * n, nothing, lengths, never)

    def record(self, log_likelihood: np.ndarray, log_prior: np.ndarray) -> None:
        """Enter one iteration; a restart ends where something is wrong."""
        objective, before = log_likelihood + log_prior, self.objectives[-1]
        running, rises = self.running, not self.emissions.objective_may_decrease
        for r in np.flatnonzero(running).tolist():
            if not np.isfinite(objective[r]):
                self.status[r] = "not finite"
            elif rises and before[r] - objective[r] > FALL * max(abs(objective[r]), 1.0):
                self.status[r] = "objective fell"
        self.objectives.append(objective)
        self.log_likelihoods.append(log_likelihood)
        self.lengths[running] = len(self.objectives)

    def ask(self, *, accelerated: bool) -> None:
        """Settle which restarts have converged; the last iterations were plain ones.

        Where some before them were `accelerated` it is not enough to be asked once.
        """
        self.asked.append(len(self.objectives) - 1)
        for r in np.flatnonzero(self.running).tolist():
            trace = self.trace(self.objectives, r)
            if self.emissions.objective_may_decrease:  # then only whether it still moves can be asked
                self.remaining[r] = abs(recent_gain(trace))
            else:
                self.remaining[r] = remaining_gain(trace)
            little = self.remaining[r] <= self.tol and abs(recent_gain(trace)) <= self.tol
            if little and (not accelerated or trace[-1] - self.rested[r] <= self.tol):
                self.status[r] = "converged"
            self.rested[r] = trace[-1] if little else -np.inf

    def promising(self, promise: Float[np.ndarray, "restart"]) -> bool:
        """Whether quasi-Newton steps promise any restart that is running more than a little."""
        running = self.running
        return bool((running & ~(promise <= LITTLE * self.tol)).any())

    @property
    def running(self) -> Bool[np.ndarray, "restart"]:
        return np.array([not status for status in self.status])

    def trace(self, values: list[np.ndarray], r: int) -> np.ndarray:
        return np.array([row[r] for row in values[: self.lengths[r]]])

    def pieces(self) -> list[np.ndarray]:
        """All that it has entered, as arrays for a checkpoint."""
        rows = [np.array(self.objectives), np.array(self.log_likelihoods)]
        ends = [np.array(self.status, dtype="U32"), self.remaining, self.lengths, self.rested]
        return [*rows, *ends, np.array(self.asked, dtype=int)]

    def restored(self, pieces: list[np.ndarray]) -> "_Ledger":
        """The ledger that `pieces` was taken from."""
        objectives, log_likelihoods, status, remaining, lengths, rested, asked = pieces
        return _Ledger(
            self.tol,
            self.emissions,
            list(objectives),
            list(log_likelihoods),
            [str(each) for each in status],
            remaining.copy(),
            lengths.copy(),
            rested.copy(),
            asked.tolist(),
        )

    def restart(self, r: int, parameters: Parameters, occupancy: np.ndarray, otherwise: str) -> Restart:
        """Sum up one restart; `otherwise` is how it ended if nothing else is known."""
        trace, status = self.trace(self.objectives, r), self.status[r]
        remaining = float(self.remaining[r]) if status == "converged" else unfinished(trace)
        log_likelihoods = self.trace(self.log_likelihoods, r)
        asked = tuple(at for at in self.asked if at < len(trace))
        return Restart(parameters, trace, log_likelihoods, occupancy, status or otherwise, remaining, asked)


class _Place(NamedTuple):
    """Where EM stands in its schedule; with state and ledger, all that its next iteration depends on."""

    made: int = 0
    """Iterations; first, for `checkpoint.iterations_made`."""
    began_with: int = 0
    """Iterations that the race had made."""
    position: int = 0
    """Stretches before this one."""
    done: int = 0
    """Iterations of this stretch."""
    climbed: bool = False
    """Whether there were quasi-Newton steps."""
    since: int = 0
    """Quasi-Newton steps since it was last asked whether EM has converged."""
    seconds: float = 0.0


def run(
    components: Components,
    chains: Chains | StreamedChains,
    *,
    n_restarts: int,
    seed: int,
    max_iter: int,
    tol: float,
    scale: float = 1.0,
    start: Parameters | None = None,
    engine: Engine = "auto",
    callback: Callable[[Progress], Any] | None = None,
    race: bool = False,
    checkpoint: Checkpoint | None = None,
) -> list[Restart]:
    """Fit by EM from `n_restarts` starting points (`initialise.starting_points`, or `start`), all of which are kept.

    Where there are more than eight and they `race` (`first_steps`), only the eight that are ahead are taken to their
    end, and returned.

    A restart ends when no more than `tol` nats remain to be gained (`convergence`), when `max_iter` M-steps are made,
    or when something is wrong; Ctrl-C ends them all and keeps what they have. After the first iterations most are
    quasi-Newton steps (`quasi_newton`).
    New starting points first take a few steps under a milder prior where the prior has one (`Components.warm_up`).
    With a `checkpoint` what is done is kept now and then, and what it has is not done again; the result is the same.
    """
    began = time.perf_counter()
    with float64():
        fresh = start is None
        if start is None:
            some = chains if isinstance(chains, Chains) else chains.first
            start = stack(starting_points(components, some, n_restarts=n_restarts, seed=seed, scale=scale))
        # Plain numpy in, so that the first iteration compiles for the same types as the rest.
        start = numpy_tree(start)
        racing = race and fresh and n_restarts > FINALISTS and not components.emissions.objective_may_decrease
        one_batch: Parameters = jax.tree.map(lambda leaf: leaf[:FINALISTS], start) if racing else start
        tables, _ = tables_and_prior(components, one_batch)
        iterations = choose(engine, chains, numpy_tree(tables))
        interrupted, rows, resumed = False, None, checkpoint is not None and checkpoint.has(EM)
        if resumed:
            start = one_batch  # for the shapes alone
        elif racing:

            def tell(iteration: int, objectives: Float[np.ndarray, "restart"], running: int) -> None:
                if callback is not None:
                    callback(Progress(iteration, max_iter, objectives, running, time.perf_counter() - began))

            start, rows, interrupted = first_steps.race(
                iterations, components, start, max_iter=max_iter, tell=tell, checkpoint=checkpoint
            )
        elif fresh and (milder := components.warm_up()) is not None:
            start, interrupted = first_steps.warm_up(iterations, milder, start)
        state = iterations.first(components, start)
        first = Rows(np.asarray(state.counts.log_likelihood)[None], np.asarray(state.log_prior)[None])
        ledger = _Ledger.open(tol, type(components.emissions), *(each[0] for each in rows or first))
        for log_likelihood, log_prior in zip(*(each[1:] for each in rows or first), strict=True):
            ledger.record(log_likelihood, log_prior)
        made = len(ledger.objectives) - 1
        if made:
            ledger.ask(accelerated=False)
        if interrupted:
            max_iter = made
        place = _Place(made, began_with=made)
        if checkpoint is not None and resumed:
            like = (place, ledger.pieces(), state)
            numbers, entered, state = checkpoint.known(EM, like)
            place, ledger = _Place(*(each.item() for each in numbers)), ledger.restored(entered)
            began -= place.seconds
            if place.climbed:
                components = components.settled()
        made, climbed, since = place.made, place.climbed, place.since
        stretches = enumerate(schedule(components.accelerated, place.began_with))
        try:
            for position, stretch in islice(stretches, place.position, None):
                done = place.done if position == place.position else 0  # of a stretch that was begun before a kill
                unpromising = stretch.accelerated and since >= CONFIRM and not ledger.promising(state.promise)
                if unpromising and not done:
                    continue
                if stretch.accelerated and not climbed:
                    components, climbed = components.settled(), True
                left = Stretch(min(stretch.n, max_iter - made + done), stretch.accelerated, stretch.asks)
                while done < left.n and (running := ledger.running).any():
                    # Rows and state are entered together: Ctrl-C in the long call leaves both as they were.
                    state, rows = iterations.advance(
                        components, state, running, accelerated=left.accelerated, most=left.n - done
                    )
                    seconds, news = time.perf_counter() - began, []
                    for log_likelihood, log_prior in zip(*rows, strict=True):
                        made, done = made + 1, done + 1
                        ledger.record(log_likelihood, log_prior)
                        news.append(Progress(made, max_iter, ledger.objectives[-1], int(ledger.running.sum()), seconds))
                    if checkpoint is not None and checkpoint.due(len(news)):
                        here = _Place(made, place.began_with, position, done, climbed, since, seconds)
                        checkpoint.forget("race")
                        checkpoint.keep(EM, (here, ledger.pieces(), state))
                    # Told when all rows are entered: a callback that interrupts finds state and ledger in step.
                    if callback is not None:
                        for progress in news:
                            callback(progress)
                since = since + left.n if left.accelerated else 0
                if left.asks:
                    ledger.ask(accelerated=climbed)
                if made >= max_iter or not ledger.running.any():
                    break
        except KeyboardInterrupt:
            interrupted = True
        parameters, visits = numpy_tree(state.parameters), np.asarray(state.counts.emissions)
    otherwise = "interrupted" if interrupted else "iterations ran out"
    restarts = []
    for r in range(len(ledger.status)):
        occupancy = visits[r].sum(axis=0)
        own = jax.tree.map(lambda leaf, r=r: leaf[r], parameters)
        ended = ledger.restart(r, own, occupancy / occupancy.sum(), otherwise)
        restarts.append(replace(ended, raced=n_restarts if racing else 0))
    return restarts


def small(nats: float) -> str:
    """A small number of nats in words.

    >>> small(0.00123), small(1e-9)
    ('about 0.001', 'less than 0.001')
    """
    return f"about {nats:.1g}" if nats >= 0.001 else "less than 0.001"


def _to_come(kept: Restart) -> str:
    """Say what the objective may still gain."""
    if not np.isfinite(kept.remaining_gain):
        return ""
    return f", and perhaps {number(kept.remaining_gain, 2)} nats may still be gained" if kept.remaining_gain > 0 else ""


def describe(restarts: list[Restart], best: int, n_observed: int, agreement: str | None = None) -> str:
    """Say in words how a fit ended; `agreement` says how far the restarts came to the same result, None: not known."""
    kept = restarts[best]
    n = kept.n_iterations
    ending = {
        "converged": f"converged after {n} iterations (more iterations would gain {small(kept.remaining_gain)} nats)",
        "iterations ran out": f"not converged: the {n} iterations ran out{_to_come(kept)}; raise max_iter, or fit with "
        "resume=True",
        "interrupted": f"interrupted after {n} iterations; fit again with resume=True to continue",
        "objective fell": f"stopped: the objective fell at iteration {n}, which should not happen; please report it",
        "not finite": f"failed: the objective is not finite after {n} iterations; use a stronger prior",
    }[kept.status]
    if agreement is None:
        behind = max((r.objective for r in restarts if np.isfinite(r.objective)), default=np.nan) - kept.objective
        n_restarts = "the only restart" if len(restarts) == 1 else f"the best of {len(restarts)} restarts"
        agreement = f"{behind:,.2f} nats behind {n_restarts}" if behind > 0 else n_restarts
    if kept.raced:
        agreement += f" ({len(restarts)} of {kept.raced} starts were ahead after {RACE[-1]} iterations and went on)"
    per_step = kept.log_likelihood_trace[-1] / n_observed
    return (
        f"{ending}. Objective {kept.objective:,.3f} (log-likelihood {per_step:.5f} nats per step over "
        f"{n_observed:,} observed steps); {agreement}."
    )


FAR = 10  # times what has gone by: a bound on the time left beyond it says nothing


@contextmanager
def progress_line(wanted: bool | None, max_iter: int) -> Iterator[Callable[[Any], None]]:
    """Yield a function that redraws the line, at most ten times a second, and wipes it at the end."""
    stream = sys.stderr
    terminal = stream.isatty()
    if not (terminal if wanted is None else wanted):
        yield lambda _: None
        return
    pause, before, after = (0.1, "\r\x1b[2K", "") if terminal else (10.0, "", "\n")
    on = device()
    place = on.platform if on.platform == on.device_kind else f"{on.platform} ({on.device_kind})"
    drawn = 0.0

    def show(state: Any) -> None:
        nonlocal drawn
        now = time.perf_counter()
        if now - drawn < pause and state.running:
            return
        drawn = now
        left = state.seconds / state.iteration * (max_iter - state.iteration)
        best, n = np.nanmax(state.objectives), len(state.objectives)
        # A fit seldom needs all its iterations: early on the bound would say hours for what takes seconds.
        time_left = f"at most {left:.0f} s left" if left <= FAR * state.seconds else f"{state.seconds:.0f} s so far"
        running = f"{state.running} of {n} restarts running  {time_left}"
        if state.running > n:  # batch after batch begins at 1 again: how long it takes is not known yet
            running = f"{state.running} starts racing"
        stream.write(
            f"{before}EM iteration {state.iteration}/{max_iter}  objective {best:,.2f}  {running}  on {place}{after}"
        )
        stream.flush()

    try:
        yield show
    finally:
        stream.write(before)
        stream.flush()
