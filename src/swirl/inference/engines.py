"""EM iterations: one at a time on the host (numba's E-step, data on disk), or a chunk in one compiled call (XLA).

A chunk has a dynamic trip count, so that one compilation serves every chunk, the host can show progress, and Ctrl-C
is heard between chunks.

An iteration is EM's own, or a quasi-Newton step that EM's own prepares (`quasi_newton`).
"""

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from operator import add
from typing import Any, Literal, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float

from swirl.compiling import device, in_background, jit, on_cpu, side_by_side
from swirl.inference.estep import associative, numba_loop, pallas_kernel, scan, sharding
from swirl.inference.estep.counts import Arranged, Chains, Counts, Tables
from swirl.inference.estep.sharding import summed_over_processes
from swirl.inference.estep.streaming import StreamedChains
from swirl.inference.messages import bucket
from swirl.inference.mstep import Components, Parameters, improve_chain
from swirl.inference.quasi_newton import Memory, at_rest, blank, judge, propose
from swirl.precision import FloatArray, float64, in_float64, numpy_tree
from swirl.rewards.component import EmissionComponent
from swirl.switching import Switching

T = TypeVar("T")
Engine = Literal["auto", "compiled", "kernel", "associative", "scan"]
ENGINES = ("auto", "compiled", "kernel", "associative", "scan")
Groups = tuple[scan.PaddedChains, ...] | tuple[pallas_kernel.Sorted, ...]
CHUNK = 32
SECONDS_PER_CHUNK = 0.2


class State(NamedTuple):
    """Parameters of every restart, with the counts and the log-prior that belong to them."""

    parameters: Parameters
    counts: Counts
    log_prior: Any
    memory: Memory | None
    """What quasi-Newton steps have learnt; None where there can be none."""

    @property
    def objective(self) -> Any:
        """Log-likelihood plus log-priors."""
        return self.counts.log_likelihood + self.log_prior

    @property
    def promise(self) -> Any:
        """What the last quasi-Newton step of each restart promised to gain, in nats."""
        return np.full(np.shape(self.log_prior), np.inf) if self.memory is None else np.asarray(self.memory.slope) / 2


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


def moved(state: State, taken: Any, new: State) -> State:
    """The new state of the restarts that take it; what was learnt is kept by all."""
    return _chosen(taken, new._replace(memory=None), state._replace(memory=None))._replace(memory=new.memory)


@jit(loops=False)
def tables_and_prior(components: Components, parameters: Parameters) -> tuple[Tables, Array]:
    """The hidden chain and the log-prior of every restart."""
    return jax.vmap(lambda p: (components.tables(p), components.log_prior(p)))(parameters)


def _each(improve: Callable[[Any, Any], Any], parameters: Any, counts: Any, active: Any, *, in_turn: bool) -> Any:
    """Improve a part of every restart that is `active`; `in_turn` those that are not cost nothing."""
    if in_turn and on_cpu():

        def one(each: tuple[Any, Any, Array]) -> Any:
            return jax.lax.cond(each[2], improve, lambda same, _: same, *each[:2])

        new = jax.lax.map(one, (parameters, counts, active))
    else:
        new = jax.vmap(improve)(parameters, counts)
    return _chosen(active, new, parameters)


@jit(loops=False)
def _resolve(components: Components, parameters: Parameters, counts: Any) -> Any:
    return jax.vmap(components.emission_counts)(parameters, counts)


def resolved_counts(components: Components, parameters: Parameters, counts: Any) -> Any:
    """Counts of the choices that emissions know of, of every restart: those of latent ones are shared out.

    A program of its own: with and without missing actions the M-step is the same one.
    """
    return counts if components.latent is None else _resolve(components, parameters, counts)


@jit(each=(1, 2, 3))
def _improve_emissions(
    emissions: EmissionComponent, parameters: Any, counts: Any, active: Bool[Array, "restart"]
) -> Any:
    return _each(emissions.improve, parameters, counts, active, in_turn=emissions.sequential_restarts)


@jit(each=(1, 2, 3), static_argnames="in_turn")
def _improve_chain(
    chain: tuple[Switching, Any], parameters: Any, counts: Any, active: Bool[Array, "restart"], in_turn: bool
) -> Any:
    def improve(own: Any, counts: Any) -> Any:
        return improve_chain(*chain, own[1], *counts)

    return _each(improve, parameters, counts, active, in_turn=in_turn)


def improve_restarts(
    components: Components, parameters: Parameters, counts: Counts, active: Bool[FloatArray, "restart"]
) -> tuple[Parameters, Tables, Array]:
    """One M-step of every restart that is `active`, and the chains it leads to.

    Emissions and switching are programs of their own: models that differ in their rewards share the other.  On the host
    each restart has a core where that is worth it; how many there are of either changes no program and no bit.
    """
    kind = components.emissions
    given = (parameters.emissions, resolved_counts(components, parameters, counts.emissions))
    emissions = partial(_improve_emissions, kind)
    chain = partial(
        _improve_chain,
        (components.switching, components.initial_pseudocount),
        (parameters.log_initial, parameters.switching),
        (counts.initial, counts.transitions),
        active,
        in_turn=kind.sequential_restarts,
    )
    if isinstance(active, np.ndarray) and on_cpu() and kind.worth_a_core:
        rows = [slice(r, r + 1) for r in np.flatnonzero(active)]
        alone = [jax.tree.map(lambda leaf, row=row: np.asarray(leaf)[row], (*given, active)) for row in rows]
        calls = [in_float64(call) for call in (chain, *(partial(emissions, *each) for each in alone))]
        (log_initial, switching), *better = side_by_side(calls)
        own = jax.tree.map(np.array, given[0])
        for row, new in zip(rows, better, strict=True):
            for of_all, of_one in zip(jax.tree.leaves(own), jax.tree.leaves(new), strict=True):
                of_all[row] = of_one
    else:
        own = emissions(*given, active)
        log_initial, switching = chain()
    improved = Parameters(log_initial, switching, own)
    return improved, *tables_and_prior(components, improved)


def blank_counts(tables: Tables) -> Counts:
    """Counts of no data."""
    initial, transitions, emissions = (np.zeros_like(table) for table in jax.tree.leaves(tables))
    return Counts(initial, transitions, emissions, np.zeros(len(initial)))


_compiled: set[Any] = set()  # programs that `compile_ahead` was asked for in this process


def compile_ahead(components: Components, parameters: Parameters) -> Callable[[], None]:
    """Compile the M-step of such restarts in the background, where it is new; what is returned waits for it.

    Only where restarts go one at a time: to improve none of them then costs nothing.
    """
    if not (components.emissions.sequential_restarts and on_cpu()):
        return lambda: None
    leaves, structure = jax.tree.flatten((components, parameters))
    program = (structure, tuple((np.shape(leaf), np.asarray(leaf).dtype.str) for leaf in leaves), device())
    if program in _compiled:
        return lambda: None
    _compiled.add(program)

    def compile_it() -> None:
        with float64():
            counts = blank_counts(numpy_tree(tables_and_prior(components, parameters)[0]))
            improve_restarts(components, parameters, counts, np.zeros(len(counts.initial), dtype=bool))
            if components.emissions.worth_a_core:  # nobody has one then
                seen = resolved_counts(components, parameters, counts.emissions)
                first = jax.tree.map(lambda leaf: leaf[:1], (parameters.emissions, seen))
                _improve_emissions(components.emissions, *first, np.zeros(1, dtype=bool))

    return in_background(compile_it)


EStep = Callable[[Tables, Any, Bool[np.ndarray, "restart"] | None], Counts]


@dataclass
class HostIterations:
    """One iteration per call: a compiled M-step, and an E-step of one block of the data after the other."""

    blocks: Iterable[Any]
    e_step: EStep
    shared: bool = False
    """Whether other processes have blocks too."""

    def counts(self, tables: Tables, active: Bool[np.ndarray, "restart"] | None = None) -> Counts:
        """E-step of given chains; restarts that are not `active` may be left out."""
        total, before = None, None
        for block in self.blocks:
            counts = self.e_step(tables, block, active)
            total = counts if total is None else jax.tree.map(add, total, counts)
            jax.block_until_ready(before)  # a device is never more than one block behind
            before = total
        if self.shared:
            total = summed_over_processes(blank_counts(tables) if total is None else numpy_tree(total))
        if total is None:
            raise ValueError("the data hold no chain")
        return numpy_tree(total)

    def first(self, components: Components, parameters: Parameters) -> State:
        """E-step of the starting point."""
        compiled = compile_ahead(components, parameters)  # meanwhile numba is loaded
        tables, log_prior = tables_and_prior(components, parameters)
        memory = blank(components.free(parameters), np) if components.accelerated else None
        counts = self.counts(numpy_tree(tables))
        compiled()
        return State(parameters, counts, np.asarray(log_prior), memory)

    def advance(
        self,
        components: Components,
        state: State,
        running: Bool[np.ndarray, "restart"],
        *,
        accelerated: bool,
        most: int,
    ) -> tuple[State, Rows]:
        """Make one iteration."""
        del most  # needed only by engines that make several
        state = (self._climb if accelerated else self._step)(components, state, running)
        return state, Rows(np.asarray(state.counts.log_likelihood)[None], state.log_prior[None])

    def _step(self, components: Components, state: State, running: Bool[np.ndarray, "restart"]) -> State:
        """EM's own iteration."""
        parameters, tables, log_prior = improve_restarts(components, state.parameters, state.counts, running)
        counts = self.counts(numpy_tree(tables), running)
        memory = None if state.memory is None else at_rest(state.memory)
        return moved(state, running, State(parameters, counts, np.asarray(log_prior), memory))

    def _climb(self, components: Components, state: State, running: Bool[np.ndarray, "restart"]) -> State:
        """A quasi-Newton step, or a shorter one where the last was too long."""
        if state.memory is None:
            raise ValueError("quasi-Newton steps need a memory: this component has none")
        fresh, improved = running & (np.asarray(state.memory.failures) == 0), state.parameters
        if fresh.any():
            improved, *_ = improve_restarts(components, state.parameters, state.counts, fresh)
        parameters, tables, log_prior, memory = propose(
            components, state.memory, state.parameters, state.counts, improved
        )
        counts = self.counts(numpy_tree(tables), running)
        log_prior = np.asarray(log_prior)
        taken, memory = judge(memory, state.objective, counts.log_likelihood + log_prior)
        return moved(state, running & taken, State(parameters, counts, log_prior, memory))


@partial(jax.jit, static_argnames=("in_parallel", "mesh"))
def device_counts(tables: Tables, chains: Groups, in_parallel: bool = False, mesh: Mesh | None = None) -> Counts:
    """Counts of every restart, summed over the groups of chains: by kernels where their steps are sorted, on all
    devices of a `mesh` where chains are spread over one.
    """
    expected = associative.expected_counts if in_parallel else scan.expected_counts

    def of(group: Any) -> Counts:
        if isinstance(group, pallas_kernel.Sorted):
            return pallas_kernel.expected_counts(tables, group)
        if mesh is not None:
            return sharding.expected_counts(expected, tables, group, mesh)
        return jax.vmap(partial(expected, chains=group))(tables)

    parts = [of(group) for group in chains]
    return jax.tree.map(lambda *leaves: sum(leaves[1:], leaves[0]), *parts)


@partial(jax.jit, static_argnames=("in_parallel", "mesh"))
def _device_first(
    components: Components, parameters: Parameters, chains: Groups, in_parallel: bool, mesh: Mesh | None
) -> State:
    tables, log_prior = tables_and_prior(components, parameters)
    counts = device_counts(tables, chains, in_parallel, mesh)
    memory = blank(components.free(parameters), jnp) if components.accelerated else None
    return State(parameters, counts, log_prior, memory)


@jit(static_argnames=("in_parallel", "mesh"))
def _device_chunk(
    components: Components,
    chains: Groups,
    state: State,
    running: Bool[Array, "restart"],
    accelerated: Array,
    most: Array,
    in_parallel: bool,
    mesh: Mesh | None,
) -> tuple[State, Array, Array]:
    """Make `most` iterations, all `accelerated` or none."""
    rows = jnp.zeros((CHUNK, running.shape[0]))

    def advance(i: Array, carry: tuple) -> tuple:
        state, log_likelihoods, log_priors = carry
        memory, taken = state.memory, running
        improved, tables, log_prior = improve_restarts(components, state.parameters, state.counts, running)
        new = (improved, tables, log_prior, memory)
        if memory is not None:
            climb = partial(propose, components, memory, state.parameters, state.counts)
            new = jax.lax.cond(accelerated, lambda *_: climb(improved), lambda *same: same, *new)
        parameters, tables, log_prior, memory = new
        counts = device_counts(tables, chains, in_parallel, mesh)
        if memory is not None:
            good, judged = judge(memory, state.objective, counts.log_likelihood + log_prior)
            taken = running & (good | ~accelerated)
            memory = jax.tree.map(partial(jnp.where, accelerated), judged, at_rest(memory))
        state = moved(state, taken, State(parameters, counts, log_prior, memory))
        entered = (log_likelihoods.at[i].set(state.counts.log_likelihood), log_priors.at[i].set(state.log_prior))
        return state, *entered

    return jax.lax.fori_loop(0, most, advance, (state, rows, rows))


@dataclass
class DeviceIterations:
    """Chunks of iterations in one compiled call, on whatever device JAX computes."""

    chains: Groups
    in_parallel: bool
    mesh: Mesh | None = None
    """Devices that the chains are spread over, where there are several."""
    seconds_per_iteration: float = field(default=np.inf)

    def counts(self, tables: Tables) -> Counts:
        """E-step of given chains."""
        return numpy_tree(self._first_try(lambda: device_counts(tables, self.chains, self.in_parallel, self.mesh)))

    def first(self, components: Components, parameters: Parameters) -> State:
        """E-step of the starting point."""
        return self._first_try(lambda: _device_first(components, parameters, self.chains, self.in_parallel, self.mesh))

    def _first_try(self, call: Callable[[], T]) -> T:
        """Make the first call; where the kernels cannot run on this device, go on without them."""
        try:
            return call()
        except Exception as fault:
            if not (isinstance(self.chains[0], pallas_kernel.Sorted) and pallas_kernel.cannot_run_here(fault)):
                raise  # out of memory, too: a scan needs more
            warnings.warn(f"the kernels of the E-step failed on this device, so a scan is used: {fault}", stacklevel=3)
            plain: Any = tuple(group.chains for group in self.chains if isinstance(group, pallas_kernel.Sorted))
            self.chains, self.in_parallel = plain, True
            return call()

    def advance(
        self,
        components: Components,
        state: State,
        running: Bool[np.ndarray, "restart"],
        *,
        accelerated: bool,
        most: int,
    ) -> tuple[State, Rows]:
        """Make as many iterations as fit into a fraction of a second, at most `most`."""
        fitting = SECONDS_PER_CHUNK / self.seconds_per_iteration if self.seconds_per_iteration > 0 else CHUNK
        n = int(np.clip(fitting, 1, min(most, CHUNK)))
        began = time.perf_counter()
        numbers = (np.asarray(accelerated), np.asarray(n))
        state, log_likelihoods, log_priors = _device_chunk(
            components, self.chains, state, running, *numbers, self.in_parallel, self.mesh
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


def _on_host(tables: Tables, chains: Chains | Arranged, active: Bool[np.ndarray, "restart"] | None) -> Counts:
    return numba_loop.expected_counts(tables, chains, active=active)


def _grouped(chains: Chains, *, by_kernels: bool, streamed: bool = False) -> Any:
    """How chains are laid out for a device; blocks that are `streamed` in few shapes, so that little is compiled."""
    sizes = (chains.n_symbols, chains.n_states)
    groups = scan.pad(chains)
    if streamed:
        groups = tuple(scan.with_empty_chains(g, bucket(g.weights.shape[0]), *sizes) for g in groups)
    if not by_kernels:
        return groups
    ordered = (pallas_kernel.Sorted.of(group, *sizes) for group in groups)
    return tuple(group.filled(*sizes) if streamed else group for group in ordered)


def _on_device(in_parallel: bool) -> EStep:
    """E-steps of blocks that are sent to a device while it works on the one before; kernels where they are sorted."""
    return lambda tables, groups, _: device_counts(tables, jax.device_put(groups), in_parallel)


def choose(engine: Engine, chains: Chains | StreamedChains, tables: Tables) -> Iterations:
    """Pick the engine: numba on the CPU where it is installed, kernels on a GPU (a parallel scan where they cannot be
    compiled); where they would not be exact, a scan of logarithms.  An engine that is asked for by name and would not
    be exact is refused.

    >>> chains = Chains(np.zeros(2, int), np.zeros(2, int), np.array([0, 2]), n_symbols=1, n_states=1)
    >>> tables = Tables(np.log([[0.5, 0.5]]), np.log([[[[0.9, 0.1], [0.1, 0.9]]]]), np.zeros((1, 1, 2)))
    >>> type(choose("scan", chains, tables)).__name__
    'DeviceIterations'
    """
    if engine not in ENGINES:
        raise ValueError(f"engine={engine!r}: expected one of {', '.join(ENGINES)}")
    if isinstance(chains, Chains) and chains.n_symbols != (known := tables.log_emissions.shape[-2]):
        raise ValueError(f"tables of {known} symbols for chains of {chains.n_symbols}: loops would read beyond them")
    if engine in ("compiled", "kernel", "associative") and not numba_loop.suits(tables):
        min_switch, min_start = (float(np.exp(np.min(t))) for t in (tables.log_transitions, tables.log_initial))
        raise ValueError(
            f"engine={engine!r} works with plain probabilities and would be wrong here, as a mode's share can fall "
            f"below 1e-308 and not be called back: the least likely switch has probability {min_switch:.3g}, the "
            f"least likely first mode {min_start:.3g} (expected: none 0, and no action all but impossible in one "
            'mode only); use engine="auto" or engine="scan", which works with logarithms'
        )
    if engine == "kernel" and not pallas_kernel.available():
        raise ValueError('engine="kernel" needs an NVIDIA GPU and a JAX that compiles for it: use engine="auto"')
    if engine == "auto" and not numba_loop.suits(tables):
        engine = "scan"
    elif engine == "auto" and on_cpu():
        engine = "compiled" if numba_loop.available() else "scan"
    elif engine == "auto":
        few = tables.log_initial.shape[-1] <= pallas_kernel.MOST_MODES
        alone = jax.process_count() == 1 or isinstance(chains, StreamedChains)  # kernels use one device of a process
        engine = "kernel" if few and alone and pallas_kernel.available() else "associative"
    if isinstance(chains, StreamedChains):
        shared = jax.process_count() > 1
        if engine == "compiled":
            return HostIterations(chains.prepared(lambda part: part.arranged), _on_host, shared)
        laid_out = partial(_grouped, by_kernels=engine == "kernel", streamed=True)
        return HostIterations(chains.prepared(laid_out), _on_device(engine == "associative"), shared)
    if engine == "compiled":
        return HostIterations((chains,), _on_host)
    groups = _grouped(chains, by_kernels=engine == "kernel")
    if engine != "kernel" and (mesh := sharding.all_devices()) is not None:
        groups = tuple(sharding.spread(group, chains.n_symbols, chains.n_states, mesh) for group in groups)
        return DeviceIterations(groups, in_parallel=engine == "associative", mesh=mesh)
    return DeviceIterations(jax.device_put(groups), in_parallel=engine == "associative")
