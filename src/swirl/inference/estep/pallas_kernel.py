"""The E-step as kernels for a GPU (Pallas, through Triton): chains are cut in time, so that thousands of threads walk.

With M_t(z, z') = P[s_{t−1}, z, z'] e[y_t, z'] (as in `associative`), a chain of T steps is cut into parts, and

1. `_products`  multiplies the matrices of each part, all parts at once;
2. `_stitch`    passes α and β from part to part with these products, one chain per thread: few steps;
3. `_walk`      goes forward and backward through each part, all parts at once, and writes α_t, γ_t = α_t β_t and
                u_t = e[y_t] β_t / c_t (as in `numba_kernel`);
4. `_symbols`, `_switches`  add up γ over the steps of each symbol, and α_{t−1} u_tᵀ over those of each state.

For the last, `Sorted` has the steps in the order of their symbols and states, made once.  Sums are made in a fixed
order, so the same data and parameters give the same bits.  Like `numba_loop` this wants tables for which
`numba_loop.suits`.
"""

from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from swirl.inference.estep.counts import Counts, Tables
from swirl.inference.estep.scan import PaddedChains, probabilities
from swirl.precision import FloatArray

LANES = 32  # chains per program: one warp
THREADS = 131_072  # parts are made until so many can walk at once
SHORTEST = 16  # steps of a part
MOST_MODES = 8  # a step takes K³ multiplications, written out one by one: more would take long to compile
PIECE = 512  # steps that one program adds up
REFUSED = ("UNIMPLEMENTED", "FAILED_PRECONDITION", "INVALID_ARGUMENT", "NOT_FOUND", "INTERNAL")
"""What XLA calls it that it cannot compile for a device: a GPU that is too old, `ptxas` missing or failing."""
FINEST = 48  # sums of pieces are whole numbers of 2⁻⁴⁸, or coarser where there are many steps


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Places:
    """Steps that share a key (a symbol, a state), key by key, cut into pieces."""

    steps: Int[FloatArray, "step"]
    """Time · n_lanes + lane."""
    first: Int[FloatArray, "piece"]
    size: Int[FloatArray, "piece"]
    key: Int[FloatArray, "piece"]

    @classmethod
    def of(cls, keys: Int[np.ndarray, "time chain"], n_keys: int) -> "Places":
        """Sort the steps whose key is below `n_keys`.

        >>> places = Places.of(np.array([[1, 0], [3, 1]]), 3)
        >>> places.steps.tolist(), places.first.tolist(), places.size.tolist(), places.key.tolist()
        ([1, 0, 33], [0, 1], [1, 2], [0, 1])
        """
        n_lanes = padded(keys.shape[1])
        time, lane = np.nonzero(keys < n_keys)
        known = keys[time, lane].astype(np.uint16 if n_keys < 2**16 else np.int32)  # short numbers sort in one pass
        order = np.argsort(known, kind="stable")
        sizes = np.bincount(known, minlength=n_keys)
        pieces = -(-sizes // PIECE)
        key = np.repeat(np.arange(n_keys), pieces)
        within = np.arange(len(key)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        first = np.repeat(np.cumsum(sizes) - sizes, pieces) + within * PIECE
        size = np.minimum(np.repeat(sizes, pieces) - within * PIECE, PIECE)
        return cls(*(x.astype(np.int32) for x in ((time * n_lanes + lane)[order], first, size, key)))

    def filled(self, n_steps: int, n_keys: int) -> "Places":
        """The same with pieces of no step, so that the shapes say only how many steps and keys there may be.

        >>> Places.of(np.array([[1, 0], [3, 1]]), 3).filled(4, 3).size.tolist()
        [1, 2, 0]
        """
        more = n_keys + n_steps // PIECE - self.key.shape[0]
        columns = (np.asarray(x) for x in (self.steps, self.first, self.size, self.key))
        lengths = (n_steps - self.steps.shape[0], more, more, more)
        return Places(*(np.pad(x, (0, n)) for x, n in zip(columns, lengths, strict=True)))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sorted:
    """Chains side by side, and their steps in the order of their symbols and states."""

    chains: PaddedChains
    by_symbol: Places
    by_state: Places

    @classmethod
    def of(cls, chains: PaddedChains, n_symbols: int, n_states: int) -> "Sorted":
        """Sort the steps of some chains."""
        symbols, states = np.asarray(chains.symbols), np.asarray(chains.states)
        return cls(chains, Places.of(symbols, n_symbols), Places.of(states, n_states))

    def filled(self, n_symbols: int, n_states: int) -> "Sorted":
        """The same in shapes that depend on those of the chains alone: one compilation serves many blocks."""
        n = self.chains.symbols.shape[0] * self.chains.symbols.shape[1]
        return Sorted(self.chains, self.by_symbol.filled(n, n_symbols), self.by_state.filled(n, n_states))


def padded(n_chains: int) -> int:
    """Number of lanes for so many chains."""
    return -(-n_chains // LANES) * LANES


@cache
def available() -> bool:
    """Whether the kernels can be tried here: on an NVIDIA GPU, with a JAX that has what they are written in."""
    if jax.default_backend() != "gpu" or "cuda" not in jax.devices()[0].client.platform_version.lower():
        return False
    try:
        return find_spec("jax.experimental.pallas.triton") is not None
    except ModuleNotFoundError:
        return False


def cannot_run_here(fault: Exception) -> bool:
    """Whether a fault says that the kernels cannot be made for this device, by Pallas or by XLA's compiler.

    Out of memory, a wrong argument and a mistake in the code say nothing of the kind.

    >>> cannot_run_here(NotImplementedError("float128")), cannot_run_here(MemoryError())
    (True, False)
    """
    if isinstance(fault, jax.errors.JaxRuntimeError):
        return str(fault).split(":", 1)[0] in REFUSED
    return isinstance(fault, NotImplementedError | ImportError) or type(fault).__name__ == "LoweringError"


def parts_of(n_steps: int, n_lanes: int) -> tuple[int, int]:
    """Number of parts that a chain is cut into, and transitions in each.

    >>> parts_of(512, 200), parts_of(512, 1_000_000)
    ((32, 16), (1, 511))
    """
    transitions = max(n_steps - 1, 1)
    wanted = min(max(THREADS // n_lanes, 1), -(-transitions // SHORTEST))
    length = -(-transitions // wanted)
    return -(-transitions // length), length


def expected_counts(tables: Tables, chains: Sorted, *, interpret: bool = False) -> Counts:
    """Expected counts and log-likelihood of every restart; the plain loop it equals is in `scan.expected_counts`."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    n_restarts, n_symbols, K = tables.log_emissions.shape
    n_states, real = tables.log_transitions.shape[1], jnp.asarray(tables.log_emissions).dtype
    emissions, highest, transitions = probabilities(tables)

    data = chains.chains
    n_steps, n_chains = data.symbols.shape
    n_lanes = padded(n_chains)
    n_parts, length = parts_of(n_steps, n_lanes * n_restarts)
    n_times = n_parts * length + 1
    padding = ((0, n_times - n_steps), (0, n_lanes - n_chains))
    symbols = jnp.pad(jnp.asarray(data.symbols), padding, constant_values=n_symbols)
    states = jnp.pad(jnp.asarray(data.states), padding, constant_values=n_states)
    weights = jnp.pad(jnp.asarray(data.weights, real), (0, n_lanes - n_chains))

    first = jnp.exp(jnp.asarray(tables.log_initial))[:, None] * emissions[:, symbols[0]]  # [restart, lane, mode]
    begun = jnp.sum(first, axis=-1)
    first = first / begun[..., None]

    settings: Any = {} if interpret else {"compiler_params": triton.CompilerParams(num_warps=1, num_stages=1)}
    blocks = n_lanes // LANES

    def call(kernel: Any, shapes: Any, grid: tuple[int, ...]) -> Any:
        sizes = {"K": K, "n_parts": n_parts, "length": length, "n_lanes": n_lanes, "S": n_states, "Y": n_symbols}
        own = partial(kernel, pl=pl, triton=triton, **sizes)
        return pl.pallas_call(own, out_shape=shapes, grid=grid, interpret=interpret, **settings)

    def blank(*shape: int) -> Any:
        return jax.ShapeDtypeStruct((int(np.prod(shape)),), real)

    flat = [jnp.ravel(x) for x in (transitions, emissions, symbols, states)]
    at_parts, at_times = blank(n_restarts, n_parts, K, n_lanes), blank(n_restarts, n_times, n_lanes, K)
    if n_parts == 1:
        ends = [jnp.ravel(jnp.moveaxis(first, -1, 1)), jnp.ravel(jnp.broadcast_to(weights, (n_restarts, K, n_lanes)))]
    else:
        products = call(_products, blank(n_restarts, n_parts, K, K, n_lanes), (blocks, n_parts, n_restarts))(*flat)
        ends = call(_stitch, [at_parts, at_parts], (blocks, n_restarts))(products, jnp.ravel(first), weights)
    messages = [at_times, blank(n_restarts, n_times, n_lanes), at_times, at_times]
    alpha, inverse, gamma, u = call(_walk, messages, (blocks, n_parts, n_restarts))(*flat, *ends)

    def summed(kernel: Any, places: Places, n_keys: int, *values: Array, shape: tuple[int, ...]) -> Array:
        """Sum over the steps of each key: piece by piece, then the pieces, as whole numbers of a small unit."""
        n_pieces = places.key.shape[0]
        if n_pieces == 0:
            return jnp.zeros((n_restarts, n_keys, *shape), real)
        lists = [jnp.asarray(x) for x in (places.steps, places.first, places.size)]
        parts = call(kernel, blank(n_restarts, n_pieces, *shape, LANES), (n_pieces, n_restarts))(*lists, *values)
        pieces = jnp.sum(parts.reshape(n_restarts, n_pieces, *shape, LANES).astype(jnp.float64), axis=-1)
        whole = (pieces * unit + 0.5).astype(jnp.int64)
        totals = jnp.zeros((n_restarts, n_keys, *shape), jnp.int64).at[:, jnp.asarray(places.key)].add(whole)
        return (totals / unit).astype(real)

    # Whole numbers add up to the same whatever their order; a float would not.
    unit = jnp.exp2(jnp.minimum(60.0 - jnp.ceil(jnp.log2(jnp.sum(weights) * n_steps + 1.0)), FINEST))
    unit = unit.astype(jnp.float64)
    pairs = summed(_switches, chains.by_state, n_states, alpha, u, shape=(K, K))
    logs = jnp.sum(jnp.log(inverse.reshape(n_restarts, n_times, n_lanes)[:, 1:]), axis=1)
    log_likelihoods = jnp.log(begun) - logs + jnp.sum(highest[:, symbols], axis=1)  # of each chain
    return Counts(
        initial=jnp.sum(gamma.reshape(n_restarts, n_times, n_lanes, K)[:, 0], axis=1),
        transitions=pairs * transitions[:, :n_states],
        emissions=summed(_symbols, chains.by_symbol, n_symbols, gamma, shape=(K,)),
        log_likelihood=jnp.sum(weights * log_likelihoods, axis=-1),
    )


def _table(triton: Any, P: Any, e: Any, r: Any, sizes: tuple[int, int, int]) -> tuple[Any, Any]:
    """Read entries of the tables of one restart: P[s, i, z] and e[y, z], for several s and y at once."""
    K, S, Y = sizes

    def transition(s: Array, i: int, z: int) -> Array:
        return triton.load(P.at[r * ((S + 1) * K * K) + s * (K * K) + (i * K + z)])

    def emission(y: Array, z: int) -> Array:
        return triton.load(e.at[r * ((Y + 1) * K) + y * K + z])

    return transition, emission


def _dot(left: Any, right: Any) -> Array:
    """Σ left · right, in the order given."""
    total = left[0] * right[0]
    for a, b in zip(left[1:], right[1:], strict=True):
        total = total + a * b
    return total


def _scaled(entries: list[Array]) -> tuple[tuple[Array, ...], Array]:
    """Entries that sum to 1, and what they were multiplied by."""
    total = entries[0]
    for entry in entries[1:]:
        total = total + entry
    scale = 1.0 / total
    return tuple(entry * scale for entry in entries), scale


def _products(P, e, symbols, states, out, *, pl, triton, K, n_parts, length, n_lanes, S, Y):
    """The product of the matrices of one part, of each lane; scaled to a sum of 1."""
    block, part, r = pl.program_id(0), pl.program_id(1), pl.program_id(2)
    lane = block * LANES + jnp.arange(LANES)
    transition, emission = _table(triton, P, e, r, (K, S, Y))

    def multiply(i: Array, M: tuple) -> tuple:
        t = part * length + i
        s, y = triton.load(states.at[t * n_lanes + lane]), triton.load(symbols.at[(t + 1) * n_lanes + lane])
        columns = [[transition(s, j, z) for j in range(K)] for z in range(K)]
        likely = [emission(y, z) for z in range(K)]
        new = [_dot(M[row * K : row * K + K], columns[z]) * likely[z] for row in range(K) for z in range(K)]
        return _scaled(new)[0]

    one = jnp.ones(LANES, out.dtype)
    start = tuple(one if row == z else 0.0 * one for row in range(K) for z in range(K))
    M = jax.lax.fori_loop(0, length, multiply, start)
    for k in range(K * K):
        triton.store(out.at[((r * n_parts + part) * (K * K) + k) * n_lanes + lane], M[k])


def _stitch(products, first, weights, alphas, betas, *, pl, triton, K, n_parts, length, n_lanes, S, Y):
    """α where each part begins and β where it ends, of each lane; Σ_z α β is the weight of the chain."""
    del length, S, Y
    block, r = pl.program_id(0), pl.program_id(1)
    lane = block * LANES + jnp.arange(LANES)

    def entries(part: Array) -> list[Array]:
        return [triton.load(products.at[((r * n_parts + part) * (K * K) + k) * n_lanes + lane]) for k in range(K * K)]

    def place(part: Array, z: int) -> Array:
        return ((r * n_parts + part) * K + z) * n_lanes + lane

    def forward(part: Array, alpha: tuple) -> tuple:
        for z in range(K):
            triton.store(alphas.at[place(part, z)], alpha[z])
        M = entries(part)
        new = [_dot(alpha, M[z::K]) for z in range(K)]
        return _scaled(new)[0]

    alpha = tuple(triton.load(first.at[(r * n_lanes + lane) * K + z]) for z in range(K))
    jax.lax.fori_loop(0, n_parts, forward, alpha)
    weight = triton.load(weights.at[lane])

    def backward(i: Array, beta: tuple) -> tuple:
        part = n_parts - 1 - i
        for z in range(K):
            triton.store(betas.at[place(part, z)], beta[z])
        M = entries(part)
        new = [_dot(M[row * K : row * K + K], beta) for row in range(K)]
        here = [triton.load(alphas.at[place(part, z)]) for z in range(K)]
        total = _dot(here, new)
        scale = weight / jnp.where(total > 0, total, 1.0)
        return tuple(entry * scale for entry in new)

    jax.lax.fori_loop(0, n_parts, backward, tuple(weight for _ in range(K)))


def _walk(
    P, e, symbols, states, alphas, betas, alpha_out, inverse_out, gamma_out, u_out,
    *, pl, triton, K, n_parts, length, n_lanes, S, Y,
):  # fmt: skip
    """Forward and backward through one part, of each lane: α_t, 1 / c_t, γ_t and u_t of its steps."""
    block, part, r = pl.program_id(0), pl.program_id(1), pl.program_id(2)
    lane = block * LANES + jnp.arange(LANES)
    transition, emission = _table(triton, P, e, r, (K, S, Y))
    begin, own = part * length, r.astype(jnp.int64) * (n_parts * length + 1)  # messages may be more than 2³¹

    def at(t: Array) -> Array:
        return (own + t) * n_lanes + lane

    def put(out: Any, t: Array, values: Any) -> None:
        for z in range(K):
            triton.store(out.at[at(t) * K + z], values[z])

    def forward(i: Array, alpha: tuple) -> tuple:
        t = begin + i
        put(alpha_out, t, alpha)
        s, y = triton.load(states.at[t * n_lanes + lane]), triton.load(symbols.at[(t + 1) * n_lanes + lane])
        new = [_dot(alpha, [transition(s, j, z) for j in range(K)]) * emission(y, z) for z in range(K)]
        alpha, scale = _scaled(new)
        triton.store(inverse_out.at[at(t + 1)], scale)
        return alpha

    alpha = tuple(triton.load(alphas.at[((r * n_parts + part) * K + z) * n_lanes + lane]) for z in range(K))
    alpha = jax.lax.fori_loop(0, length, forward, alpha)
    beta = tuple(triton.load(betas.at[((r * n_parts + part) * K + z) * n_lanes + lane]) for z in range(K))

    def backward(i: Array, carry: tuple) -> tuple:
        beta, alpha = carry
        t = begin + length - 1 - i
        s, y = triton.load(states.at[t * n_lanes + lane]), triton.load(symbols.at[(t + 1) * n_lanes + lane])
        inverse = triton.load(inverse_out.at[at(t + 1)])
        before = tuple(triton.load(alpha_out.at[at(t) * K + z]) for z in range(K))
        u = [emission(y, z) * beta[z] * inverse for z in range(K)]
        put(gamma_out, t + 1, [a * b for a, b in zip(alpha, beta, strict=True)])
        put(u_out, t, u)
        return tuple(_dot([transition(s, j, z) for z in range(K)], u) for j in range(K)), before

    beta, alpha = jax.lax.fori_loop(0, length, backward, (beta, alpha))
    for z in range(K):  # the first step of a chain has no transition before it
        triton.store(gamma_out.at[at(begin) * K + z], alpha[z] * beta[z], mask=(part + 0 * lane) == 0)


def _symbols(steps, first, size, gamma, out, *, pl, triton, K, n_parts, length, n_lanes, S, Y):
    """Σ γ over one piece of the steps of a symbol, lane by lane."""
    del S, Y
    _sum(steps, first, size, out, pl, triton, K, n_parts * length + 1, n_lanes, lambda at, known: [
        triton.load(gamma.at[at * K + z], mask=known, other=0.0) for z in range(K)
    ])  # fmt: skip


def _switches(steps, first, size, alpha, u, out, *, pl, triton, K, n_parts, length, n_lanes, S, Y):
    """Σ α_{t−1} u_tᵀ over one piece of the steps of a state, lane by lane."""
    del S, Y

    def products(at: Array, known: Array) -> list[Array]:
        left = [triton.load(alpha.at[at * K + z], mask=known, other=0.0) for z in range(K)]
        right = [triton.load(u.at[at * K + z], mask=known, other=0.0) for z in range(K)]
        return [a * b for a in left for b in right]

    _sum(steps, first, size, out, pl, triton, K * K, n_parts * length + 1, n_lanes, products)


def _sum(steps, first, size, out, pl, triton, n_values, n_times, n_lanes, values):
    """Add up what `values` finds at the steps of one piece."""
    piece, r = pl.program_id(0), pl.program_id(1)
    lane = jnp.arange(LANES)
    start, n = triton.load(first.at[piece + 0 * lane]), triton.load(size.at[piece + 0 * lane])

    def add(i: Array, totals: tuple) -> tuple:
        own = i * LANES + lane
        known = own < n
        at = r.astype(jnp.int64) * (n_times * n_lanes) + triton.load(steps.at[start + own], mask=known, other=0)
        return tuple(total + value for total, value in zip(totals, values(at, known), strict=True))

    zero = jnp.zeros(LANES, out.dtype)
    totals = jax.lax.fori_loop(0, PIECE // LANES, add, (zero,) * n_values)
    for k in range(n_values):
        triton.store(out.at[((r * pl.num_programs(0) + piece) * n_values + k) * LANES + lane], totals[k])
