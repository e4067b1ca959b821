"""EM iterations: one at a time on the host (numba's E-step), or a chunk of them in one compiled call (XLA).

A chunk has a dynamic trip count, so that one compilation serves every chunk, the host can show progress, and Ctrl-C
is heard between chunks.
"""

import time
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from swirl.estep import associative, compiled, scan
from swirl.estep.counts import Chains, Counts, Tables
from swirl.mstep import Components, Parameters
from swirl.precision import float64, numpy_tree

Engine = Literal["auto", "compiled", "associative", "scan"]
ENGINES = ("auto", "compiled", "associative", "scan")
PATIENCE = 3  # consecutive iterations below the tolerance: one slow step is not the end
LEAST_PER_STEP = 0.1  # nats per observed step below which an objective is small by accident
FALL = 1e-6  # relative fall of the objective that cannot be rounding
CHUNK = 32
SECONDS_PER_CHUNK = 0.2


class State(NamedTuple):
    """Parameters of every restart, with the counts and the log-prior that belong to them."""

    parameters: Parameters
    counts: Counts
    log_prior: Any


class Rows(NamedTuple):
    """What each iteration of a chunk came to."""

    log_likelihoods: Float[np.ndarray, "iteration restart"]
    log_priors: Float[np.ndarray, "iteration restart"]


def settle(
    objective: Any, before: Any, small: Any, tol: Any, xp: Any = np, fall: float = FALL, least: Any = 0.0
) -> tuple[Any, Any]:
    """Count the iterations in a row that gained next to nothing, and say which restarts have ended.

    Gains are relative to the objective, or to `least` where it is smaller: a sum of log-densities may be near 0.

    >>> settle(np.array([-10.0, -5.0]), np.array([-10.0, -9.0]), np.array([2, 0]), 1e-5)
    (array([3, 0]), array([ True, False]))
    """
    gain, scale = objective - before, xp.maximum(xp.abs(objective), least)
    small = xp.where(gain <= tol * scale, small + 1, 0)
    return small, ~xp.isfinite(objective) | (gain < -fall * scale) | (small >= PATIENCE)


def _chosen(on: Any, new: Any, old: Any) -> Any:
    """Take `new` for the restarts that are on, `old` for the others."""
    xp = np if isinstance(on, np.ndarray) else jnp

    def pick(a: Any, b: Any) -> Any:
        return xp.where(on.reshape((-1,) + (1,) * (np.ndim(a) - 1)), a, b)

    return jax.tree.map(pick, new, old)


@jax.jit
def tables_and_prior(components: Components, parameters: Parameters) -> tuple[Tables, Array]:
    """The hidden chain and the log-prior of every restart."""
    return jax.vmap(lambda p: (components.tables(p), components.log_prior(p)))(parameters)


@jax.jit
def improve_restarts(
    components: Components, parameters: Parameters, counts: Counts, active: Bool[Array, "restart"]
) -> tuple[Parameters, Tables, Array]:
    """One M-step of every restart that is `active`, and the chains it leads to."""
    if jax.default_backend() == "cpu" and getattr(components.rewards, "one_at_a_time", False):
        new = jax.lax.map(lambda both: components.improve(*both), (parameters, counts))
    else:
        new = jax.vmap(components.improve)(parameters, counts)
    better = _chosen(active, new, parameters)
    tables, log_prior = tables_and_prior(components, better)
    return better, tables, log_prior


@dataclass
class HostIterations:
    """One iteration per call: compiled M-step, numba E-step."""

    chains: Chains

    @property
    def least(self) -> float:
        """See `settle`."""
        return LEAST_PER_STEP * float(self.chains.symbol_counts.sum())

    def counts(self, tables: Tables) -> Counts:
        """E-step of given chains."""
        return compiled.expected_counts(tables, self.chains)

    def first(self, components: Components, parameters: Parameters) -> State:
        """E-step of the starting point."""
        tables, log_prior = tables_and_prior(components, parameters)
        return State(parameters, compiled.expected_counts(numpy_tree(tables), self.chains), np.asarray(log_prior))

    def advance(
        self,
        components: Components,
        state: State,
        running: Bool[np.ndarray, "restart"],
        small: Int[np.ndarray, "restart"],
        tol: float,
        most: int,
    ) -> tuple[State, Rows]:
        """Make one iteration."""
        del small, tol, most  # needed only by engines that make several
        parameters, tables, log_prior = improve_restarts(components, state.parameters, state.counts, running)
        new = compiled.expected_counts(numpy_tree(tables), self.chains, active=running)
        counts = _chosen(running, new, state.counts)  # an ended restart keeps its counts
        state = State(parameters, counts, np.asarray(log_prior))
        return state, Rows(np.asarray(counts.log_likelihood)[None], state.log_prior[None])


@partial(jax.jit, static_argnames="in_parallel")
def device_counts(tables: Tables, chains: tuple[scan.PaddedChains, ...], in_parallel: bool) -> Counts:
    """Counts of every restart, summed over the groups of chains."""
    expected = associative.expected_counts if in_parallel else scan.expected_counts
    parts = [jax.vmap(partial(expected, chains=group))(tables) for group in chains]
    return jax.tree.map(lambda *leaves: sum(leaves[1:], leaves[0]), *parts)


@partial(jax.jit, static_argnames="in_parallel")
def _device_first(
    components: Components, parameters: Parameters, chains: tuple[scan.PaddedChains, ...], in_parallel: bool
) -> State:
    tables, log_prior = tables_and_prior(components, parameters)
    return State(parameters, device_counts(tables, chains, in_parallel), log_prior)


@partial(jax.jit, static_argnames="in_parallel")
def _device_chunk(
    components: Components,
    chains: tuple[scan.PaddedChains, ...],
    state: State,
    running: Bool[Array, "restart"],
    small: Int[Array, "restart"],
    tol: Array,
    least: Array,
    most: Array,
    in_parallel: bool,
) -> tuple[State, Array, Array, Array]:
    """Iterate until `most` iterations are made or every restart has ended."""
    blank = jnp.zeros((CHUNK, running.shape[0]))

    def unfinished(carry: tuple) -> Array:
        _, running, _, _, _, made = carry
        return (made < most) & jnp.any(running)

    def advance(carry: tuple) -> tuple:
        state, running, small, log_likelihoods, log_priors, made = carry
        parameters, tables, log_prior = improve_restarts(components, state.parameters, state.counts, running)
        counts = _chosen(running, device_counts(tables, chains, in_parallel), state.counts)
        before = state.counts.log_likelihood + state.log_prior
        small, ended = settle(counts.log_likelihood + log_prior, before, small, tol, jnp, components.fall(FALL), least)
        rows = (log_likelihoods.at[made].set(counts.log_likelihood), log_priors.at[made].set(log_prior))
        return State(parameters, counts, log_prior), running & ~ended, small, *rows, made + 1

    carry = (state, running, small, blank, blank, jnp.asarray(0))
    state, _, _, log_likelihoods, log_priors, made = jax.lax.while_loop(unfinished, advance, carry)
    return state, log_likelihoods, log_priors, made


@dataclass
class DeviceIterations:
    """Chunks of iterations in one compiled call, on whatever device JAX computes."""

    chains: tuple[scan.PaddedChains, ...]
    in_parallel: bool
    least: float
    """See `settle`."""
    seconds_per_iteration: float = field(default=np.inf)

    def counts(self, tables: Tables) -> Counts:
        """E-step of given chains."""
        return numpy_tree(device_counts(tables, self.chains, self.in_parallel))

    def first(self, components: Components, parameters: Parameters) -> State:
        """E-step of the starting point."""
        return _device_first(components, parameters, self.chains, self.in_parallel)

    def advance(
        self,
        components: Components,
        state: State,
        running: Bool[np.ndarray, "restart"],
        small: Int[np.ndarray, "restart"],
        tol: float,
        most: int,
    ) -> tuple[State, Rows]:
        """Make as many iterations as fit into a fraction of a second."""
        fitting = SECONDS_PER_CHUNK / self.seconds_per_iteration if self.seconds_per_iteration > 0 else CHUNK
        most = int(np.clip(fitting, 1, min(most, CHUNK)))
        began = time.perf_counter()
        state, log_likelihoods, log_priors, made = _device_chunk(
            components,
            self.chains,
            state,
            running,
            small,
            np.asarray(tol),
            np.asarray(self.least),
            np.asarray(most),
            self.in_parallel,
        )
        n = int(made)
        self.seconds_per_iteration = (time.perf_counter() - began) / max(n, 1)
        return state, Rows(np.asarray(log_likelihoods)[:n], np.asarray(log_priors)[:n])


def emission_counts(tables: Tables, chains: Chains) -> Float[np.ndarray, "symbol mode"]:
    """Expected counts of each symbol in each mode, of one set of parameters."""
    one = jax.tree.map(lambda leaf: np.asarray(leaf)[None], tables)
    with float64():
        return np.asarray(choose("auto", chains, one).counts(one).emissions)[0]


Iterations = HostIterations | DeviceIterations


def choose(engine: Engine, chains: Chains, tables: Tables) -> Iterations:
    """Pick the road: numba on the CPU where it is installed, a parallel scan on a GPU; where they would not be exact,
    a scan of logarithms.  A road that is asked for by name and would not be exact is refused.

    >>> chains = Chains(np.zeros(2, int), np.zeros(2, int), np.array([0, 2]), n_symbols=1, n_states=1)
    >>> tables = Tables(np.log([[0.5, 0.5]]), np.log([[[[0.9, 0.1], [0.1, 0.9]]]]), np.zeros((1, 1, 2)))
    >>> type(choose("scan", chains, tables)).__name__
    'DeviceIterations'
    """
    if engine not in ENGINES:
        raise ValueError(f"engine={engine!r}: expected one of {', '.join(ENGINES)}")
    if engine in ("compiled", "associative") and not compiled.suits(tables):
        least_switch, least_start = (float(np.exp(np.min(t))) for t in (tables.log_transitions, tables.log_initial))
        raise ValueError(
            f"engine={engine!r} works with plain probabilities and would be wrong here, as a mode's share can fall "
            f"below 1e-308 and not be called back: the least likely switch has probability {least_switch:.3g}, the "
            f"least likely first mode {least_start:.3g} (expected: none 0, and no action all but impossible in one "
            'mode only); use engine="auto" or engine="scan", which works with logarithms'
        )
    if engine == "auto":
        on_cpu = jax.default_backend() == "cpu"
        fast = "compiled" if on_cpu else "associative"
        engine = fast if compiled.suits(tables) and (not on_cpu or compiled.available()) else "scan"
    host = HostIterations(chains)
    if engine == "compiled":
        return host
    return DeviceIterations(jax.device_put(scan.pad(chains)), in_parallel=engine == "associative", least=host.least)
