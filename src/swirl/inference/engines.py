"""EM iterations: one at a time on the host (numba's E-step), or a chunk of them in one compiled call (XLA).

A chunk has a dynamic trip count, so that one compilation serves every chunk, the host can show progress, and Ctrl-C
is heard between chunks.

Every other iteration may be extrapolated (SQUAREM; Varadhan & Roland 2008).  With θ_1 = M(θ_0), θ_2 = M(θ_1),

    r = θ_1 − θ_0,    v = θ_2 − 2 θ_1 + θ_0,    θ' = θ_0 + 2 a r + a² v,    a = ‖r‖ / ‖v‖ ≥ 1

(a = 1 is θ_2).  Where the objective at θ' is below that at θ_1, EM goes on from θ_1: it never falls.
"""

import time
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from swirl.inference.estep import associative, numba_loop, scan
from swirl.inference.estep.counts import Chains, Counts, Tables
from swirl.inference.mstep import Components, Parameters
from swirl.precision import float64, numpy_tree

Engine = Literal["auto", "compiled", "associative", "scan"]
ENGINES = ("auto", "compiled", "associative", "scan")
FIRST_REACH, REACH_FACTOR = 4.0, 4.0  # of an extrapolation: at most so far at first, more where that went well
CHUNK = 32
SECONDS_PER_CHUNK = 0.2


class State(NamedTuple):
    """Parameters of every restart, with the counts and the log-prior that belong to them."""

    parameters: Parameters
    counts: Counts
    log_prior: Any
    anchor: Parameters
    """Where an extrapolation starts: the parameters one iteration ago."""
    reach: Any
    """How far an extrapolation may go, of each restart."""

    @property
    def objective(self) -> Any:
        """Log-likelihood plus log-priors."""
        return self.counts.log_likelihood + self.log_prior


class Rows(NamedTuple):
    """What each iteration of a chunk came to."""

    log_likelihoods: Float[np.ndarray, "iteration restart"]
    log_priors: Float[np.ndarray, "iteration restart"]


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
    if jax.default_backend() == "cpu" and components.emissions.sequential_restarts:

        def one(each: tuple[Parameters, Counts, Array]) -> Parameters:  # a restart that has ended costs nothing
            return jax.lax.cond(each[2], components.improve, lambda same, _: same, *each[:2])

        new = jax.lax.map(one, (parameters, counts, active))
    else:
        new = jax.vmap(components.improve)(parameters, counts)
    better = _chosen(active, new, parameters)
    tables, log_prior = tables_and_prior(components, better)
    return better, tables, log_prior


@jax.jit
def extrapolate(
    components: Components, anchor: Parameters, middle: Parameters, new: Parameters, reach: Float[Array, "restart"]
) -> tuple[Parameters, Tables, Array, Float[Array, "restart"]]:
    """Extrapolate from three iterates of every restart; the chains it leads to, and the length a that was wanted."""

    def size(tree: Any) -> Array:
        leaves = [jnp.sum(jnp.reshape(leaf, (reach.shape[0], -1)) ** 2, axis=1) for leaf in jax.tree.leaves(tree)]
        return jnp.sqrt(sum(leaves[1:], leaves[0]))

    step = jax.tree.map(lambda x0, x1: x1 - x0, anchor, middle)
    bend = jax.tree.map(lambda x0, x1, x2: x2 - 2 * x1 + x0, anchor, middle, new)
    wanted = size(step) / jnp.maximum(size(bend), 1e-300)
    length = jnp.clip(wanted, 1.0, reach)

    def move(x0: Array, r: Array, v: Array) -> Array:
        a = length.reshape((-1,) + (1,) * (jnp.ndim(x0) - 1))
        return x0 + 2 * a * r + a**2 * v

    trial = jax.vmap(components.normalised)(jax.tree.map(move, anchor, step, bend))
    return trial, *tables_and_prior(components, trial), wanted


def take_or_stay(new: State, old: State, wanted: Any) -> State:
    """Take the extrapolated states that are no worse; where one is, stay, and reach less far next time."""
    xp = np if isinstance(new.reach, np.ndarray) else jnp
    better = xp.isfinite(new.objective) & (new.objective >= old.objective)
    limited = wanted >= old.reach
    farther = xp.where(better, old.reach * REACH_FACTOR, xp.maximum(old.reach / REACH_FACTOR, 1.0))
    return _chosen(better, new, old)._replace(reach=xp.where(limited, farther, old.reach))


@dataclass
class HostIterations:
    """One iteration per call: compiled M-step, numba E-step."""

    chains: Chains

    def counts(self, tables: Tables) -> Counts:
        """E-step of given chains."""
        return numba_loop.expected_counts(tables, self.chains)

    def first(self, components: Components, parameters: Parameters) -> State:
        """E-step of the starting point."""
        tables, log_prior = tables_and_prior(components, parameters)
        counts = numba_loop.expected_counts(numpy_tree(tables), self.chains)
        reach = np.full(len(counts.log_likelihood), FIRST_REACH)
        return State(parameters, counts, np.asarray(log_prior), parameters, reach)

    def advance(
        self,
        components: Components,
        state: State,
        running: Bool[np.ndarray, "restart"],
        *,
        accelerated: bool,
        made: int,
        most: int,
    ) -> tuple[State, Rows]:
        """Make one iteration, extrapolated where it is an odd one of an `accelerated` stretch."""
        del most  # needed only by engines that make several
        extrapolated = accelerated and made % 2 == 1
        parameters, tables, log_prior = improve_restarts(components, state.parameters, state.counts, running)
        wanted = np.ones_like(state.reach)
        if extrapolated:
            parameters, tables, log_prior, wanted = extrapolate(
                components, state.anchor, state.parameters, parameters, state.reach
            )
        counts = numba_loop.expected_counts(numpy_tree(tables), self.chains, active=running)
        new = State(parameters, counts, np.asarray(log_prior), state.parameters, state.reach)
        new = take_or_stay(new, state, np.asarray(wanted)) if extrapolated else new
        state = _chosen(running, new, state)  # an ended restart keeps what it has
        return state, Rows(np.asarray(state.counts.log_likelihood)[None], state.log_prior[None])


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
    counts = device_counts(tables, chains, in_parallel)
    return State(parameters, counts, log_prior, parameters, jnp.full(log_prior.shape, FIRST_REACH))


@partial(jax.jit, static_argnames="in_parallel")
def _device_chunk(
    components: Components,
    chains: tuple[scan.PaddedChains, ...],
    state: State,
    running: Bool[Array, "restart"],
    accelerated: Array,
    made: Array,
    most: Array,
    in_parallel: bool,
) -> tuple[State, Array, Array]:
    """Make `most` iterations, the odd ones of an `accelerated` stretch extrapolated; `made` were made of it before."""
    blank = jnp.zeros((CHUNK, running.shape[0]))

    def entered(i: Array, carry: tuple, new: State) -> tuple:
        state, log_likelihoods, log_priors = carry
        state = _chosen(running, new, state)
        rows = (log_likelihoods.at[i].set(state.counts.log_likelihood), log_priors.at[i].set(state.log_prior))
        return state, *rows

    def advance(i: Array, carry: tuple) -> tuple:
        state = carry[0]
        plain, tables, log_prior = improve_restarts(components, state.parameters, state.counts, running)
        if not components.accelerated:
            counts = device_counts(tables, chains, in_parallel)
            return entered(i, carry, State(plain, counts, log_prior, state.parameters, state.reach))
        leaps = accelerated & ((made + i) % 2 == 1)
        trial, far_tables, far_log_prior, wanted = extrapolate(
            components, state.anchor, state.parameters, plain, state.reach
        )
        parameters, tables, log_prior = jax.tree.map(
            lambda a, b: jnp.where(leaps, a, b), (trial, far_tables, far_log_prior), (plain, tables, log_prior)
        )
        counts = device_counts(tables, chains, in_parallel)
        new = State(parameters, counts, log_prior, state.parameters, state.reach)
        new = jax.tree.map(lambda a, b: jnp.where(leaps, a, b), take_or_stay(new, state, wanted), new)
        return entered(i, carry, new)

    return jax.lax.fori_loop(0, most, advance, (state, blank, blank))


@dataclass
class DeviceIterations:
    """Chunks of iterations in one compiled call, on whatever device JAX computes."""

    chains: tuple[scan.PaddedChains, ...]
    in_parallel: bool
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
        *,
        accelerated: bool,
        made: int,
        most: int,
    ) -> tuple[State, Rows]:
        """Make as many iterations as fit into a fraction of a second, at most `most`."""
        fitting = SECONDS_PER_CHUNK / self.seconds_per_iteration if self.seconds_per_iteration > 0 else CHUNK
        n = int(np.clip(fitting, 1, min(most, CHUNK)))
        began = time.perf_counter()
        numbers = (np.asarray(accelerated), np.asarray(made), np.asarray(n))
        state, log_likelihoods, log_priors = _device_chunk(
            components, self.chains, state, running, *numbers, self.in_parallel
        )
        rows = Rows(np.asarray(log_likelihoods)[:n], np.asarray(log_priors)[:n])
        self.seconds_per_iteration = (time.perf_counter() - began) / n
        return state, rows


def emission_counts(tables: Tables, chains: Chains) -> Float[np.ndarray, "symbol mode"]:
    """Expected counts of each symbol in each mode, of one set of parameters."""
    one = jax.tree.map(lambda leaf: np.asarray(leaf)[None], tables)
    with float64():
        return np.asarray(choose("auto", chains, one).counts(one).emissions)[0]


Iterations = HostIterations | DeviceIterations


def choose(engine: Engine, chains: Chains, tables: Tables) -> Iterations:
    """Pick the engine: numba on the CPU where it is installed, a parallel scan on a GPU; where they would not be exact,
    a scan of logarithms.  An engine that is asked for by name and would not be exact is refused.

    >>> chains = Chains(np.zeros(2, int), np.zeros(2, int), np.array([0, 2]), n_symbols=1, n_states=1)
    >>> tables = Tables(np.log([[0.5, 0.5]]), np.log([[[[0.9, 0.1], [0.1, 0.9]]]]), np.zeros((1, 1, 2)))
    >>> type(choose("scan", chains, tables)).__name__
    'DeviceIterations'
    """
    if engine not in ENGINES:
        raise ValueError(f"engine={engine!r}: expected one of {', '.join(ENGINES)}")
    if engine in ("compiled", "associative") and not numba_loop.suits(tables):
        min_switch, min_start = (float(np.exp(np.min(t))) for t in (tables.log_transitions, tables.log_initial))
        raise ValueError(
            f"engine={engine!r} works with plain probabilities and would be wrong here, as a mode's share can fall "
            f"below 1e-308 and not be called back: the least likely switch has probability {min_switch:.3g}, the "
            f"least likely first mode {min_start:.3g} (expected: none 0, and no action all but impossible in one "
            'mode only); use engine="auto" or engine="scan", which works with logarithms'
        )
    if engine == "auto":
        on_cpu = jax.default_backend() == "cpu"
        fast = "compiled" if on_cpu else "associative"
        engine = fast if numba_loop.suits(tables) and (not on_cpu or numba_loop.available()) else "scan"
    if engine == "compiled":
        return HostIterations(chains)
    return DeviceIterations(jax.device_put(scan.pad(chains)), in_parallel=engine == "associative")
