"""EM made fast: quasi-Newton steps on the objective itself, for which EM's own step is the preconditioned gradient.

The counts of the E-step are the gradient of the log-likelihood with respect to the logarithms of the tables (Fisher's
identity), so g = ∇(log-likelihood + log prior) costs no further pass over the data.  EM's step d = M(θ) − θ is about
B⁻¹ g, with B the curvature that the objective would have if the modes were seen; EM is slow where they are far from
seen.  L-BFGS (Nocedal 1980) with B⁻¹ as its first guess learns the rest from the last pairs of steps.  With
s = θ_k+1 − θ_k, y = g_k − g_k+1 and u = d_k − d_k+1 ≈ B⁻¹ y, its two loops never need B:

    q, p = g, d
    for s, y, u in pairs, newest first:   a = sᵀq / sᵀy;   q, p = q − a y, p − a u
    for s, y, u in pairs, oldest first:   p = p + (a − yᵀp / sᵀy) s                      # p: the direction

(after Jamshidian & Jennrich 1997, who call such a method QN2).  A step that does not raise the objective by enough is
shortened; where three trials fail, EM's own step is taken, which never falls.  One pass over the data for each trial.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from swirl.compiling import jit
from swirl.inference.estep.counts import Counts, Tables
from swirl.inference.mstep import Components, Parameters
from swirl.precision import FloatArray

PAIRS = 10  # measured on the labyrinth: 10, 20 and 40 need 155, 150 and 151 passes
FEW = 4  # pairs, where all restarts together have more than `MANY` parameters
MANY = 2_000_000
ENOUGH = 1e-4  # share of the rise that the slope promises which a step must bring
SHORTEST, LONGEST = 0.1, 0.5  # of the last length: between these a step is shortened
TRIALS = 3
CURVED = 1e-8  # cosine between s and y below which a pair says nothing


class Memory(NamedTuple):
    """What has been learnt of the objective, and where the search stands, of each restart."""

    steps: Float[FloatArray, "pair restart number"]
    falls: Float[FloatArray, "pair restart number"]
    """Of the gradient, along each step."""
    em_falls: Float[FloatArray, "pair restart number"]
    """Of EM's step, along each step."""
    point: Float[FloatArray, "restart number"]
    gradient: Float[FloatArray, "restart number"]
    em_step: Float[FloatArray, "restart number"]
    direction: Float[FloatArray, "restart number"]
    known: Bool[FloatArray, "restart"]
    """Whether point, gradient and EM's step belong to an earlier iterate."""
    slope: Float[FloatArray, "restart"]
    """Of the objective along the direction; half of it is what a whole step promises to gain."""
    length: Float[FloatArray, "restart"]
    """Of the next trial, in units of the direction."""
    failures: Int[FloatArray, "restart"]
    """Trials along this direction that were not good enough."""


def n_pairs(n_numbers: int | float) -> int:
    """How many pairs are kept, for so many parameters of all restarts together.

    >>> n_pairs(16_000), n_pairs(7e6)
    (10, 4)
    """
    return PAIRS if n_numbers <= MANY else FEW


def blank(parameters: Parameters, xp: Any) -> Memory:
    """Nothing learnt yet; free `parameters` have one row per restart, `xp` is numpy or `jax.numpy`."""
    leaves = jax.tree.leaves(parameters)
    n_restarts = len(leaves[0])
    shape = (n_restarts, sum(int(np.prod(np.shape(leaf)[1:])) for leaf in leaves))
    pairs = xp.zeros((n_pairs(shape[0] * shape[1]), *shape))
    zero, none = xp.zeros(shape), xp.zeros(n_restarts)
    known, failures = xp.zeros(n_restarts, dtype=bool), xp.zeros(n_restarts, dtype=np.int32)
    return Memory(pairs, pairs, pairs, zero, zero, zero, zero, known, none + xp.inf, none + 1.0, failures)


def at_rest(memory: Memory) -> Memory:
    """What remains after EM's own step: no step is being shortened."""
    return memory._replace(length=memory.length * 0 + 1, failures=memory.failures * 0)


def _flat(parameters: Parameters) -> Float[Array, "restart number"]:
    return jax.vmap(lambda own: ravel_pytree(own)[0])(parameters)


def gradient(components: Components, parameters: Parameters, counts: Counts) -> Parameters:
    """Slope of log-likelihood + log prior of one restart, from the counts of the E-step at the same `parameters`."""

    def log_joint(free: Parameters) -> Array:
        p = components.normalised(components.with_free(parameters, free))
        tables = components.tables(p)
        pairs = (
            (counts.initial, tables.log_initial),
            (counts.transitions, tables.log_transitions),
            (counts.emissions, tables.log_emissions),
        )
        expected = [jnp.sum(jnp.where(n > 0, n * log_p, 0.0)) for n, log_p in pairs]
        return sum(expected[1:], expected[0]) + components.log_prior(p)

    return jax.grad(log_joint)(jax.tree.map(jnp.asarray, components.free(parameters)))


def direction(
    memory: Memory, slopes: Float[FloatArray, "restart number"], em_step: Float[FloatArray, "restart number"]
) -> Float[Array, "restart number"]:
    """The two loops of L-BFGS, EM's step standing for B⁻¹ g."""
    steps, falls = jnp.asarray(memory.steps), jnp.asarray(memory.falls)
    curvature = jnp.sum(steps * falls, axis=-1)
    inverse = jnp.where(curvature > 0, 1 / jnp.where(curvature > 0, curvature, 1.0), 0.0)
    pairs = (steps, falls, jnp.asarray(memory.em_falls), inverse)

    def back(carry: tuple, pair: tuple) -> tuple:
        (q, p), (s, y, u, rho) = carry, pair
        a = rho * jnp.sum(s * q, axis=-1)
        return (q - a[:, None] * y, p - a[:, None] * u), a

    def forth(p: Array, pair: tuple) -> tuple:
        (s, y, _, rho), a = pair
        return p + (a - rho * jnp.sum(y * p, axis=-1))[:, None] * s, None

    (_, p), a = jax.lax.scan(back, (jnp.asarray(slopes), jnp.asarray(em_step)), pairs, reverse=True)
    return jax.lax.scan(forth, p, (pairs, a))[0]


@jit(loops=False)
def propose(
    components: Components, memory: Memory, parameters: Parameters, counts: Counts, improved: Parameters
) -> tuple[Parameters, Tables, Array, Memory]:
    """Where to look next, of every restart: parameters, their chain and log-prior, and what was learnt on the way.

    Parameters
    ----------
    improved
        EM's next iterate; not read where a step is being shortened (`memory.failures` > 0).
    """
    free = components.free(parameters)
    one = jax.tree.map(lambda leaf: leaf[0], free)
    unflat = jax.vmap(ravel_pytree(jax.tree.map(jnp.asarray, one))[1])
    x = _flat(free)
    fresh = (memory.failures == 0)[:, None]
    g = _flat(jax.vmap(lambda p, n: gradient(components, p, n))(parameters, counts))
    em_step = jnp.where(fresh, _flat(components.free(improved)) - x, memory.em_step)

    s, y, u = x - memory.point, memory.gradient - g, memory.em_step - em_step
    size = jnp.sqrt(jnp.sum(s * s, axis=-1) * jnp.sum(y * y, axis=-1))
    tells = memory.known & fresh[:, 0] & (jnp.sum(s * y, axis=-1) > CURVED * size)

    def entered(pairs: Any, new: Any) -> Array:
        return jnp.where(tells[:, None], jnp.concatenate([pairs[1:], new[None]]), pairs)

    memory = memory._replace(
        steps=entered(memory.steps, s), falls=entered(memory.falls, y), em_falls=entered(memory.em_falls, u)
    )
    wanted = jnp.where(fresh, direction(memory, g, em_step), memory.direction)
    slope = jnp.sum(g * wanted, axis=-1)
    lost = ~(slope > 0) | (memory.failures >= TRIALS)  # nothing to be had that way: EM's own step, and learn anew
    wanted = jnp.where(lost[:, None], em_step, wanted)
    slope = jnp.where(lost, jnp.sum(g * em_step, axis=-1), slope)
    length = jnp.where(lost, 1.0, memory.length)
    kept = jnp.where(lost[:, None], 0.0, 1.0)
    memory = Memory(
        memory.steps * kept, memory.falls * kept, memory.em_falls * kept, x, g, em_step, wanted,
        jnp.ones_like(memory.known), slope, length, memory.failures,
    )  # fmt: skip
    moved = components.with_free(parameters, unflat(x + length[:, None] * wanted))
    trial = jax.vmap(components.normalised)(moved)
    tables, log_prior = jax.vmap(lambda p: (components.tables(p), components.log_prior(p)))(trial)
    return trial, tables, log_prior, memory


def judge(memory: Memory, before: Any, after: Any) -> tuple[Any, Memory]:
    """Say which restarts take the trial, from the objective before and after; shorten the step of the others."""
    xp: Any = np if isinstance(after, np.ndarray) else jnp
    length, slope, failures = (xp.asarray(x) for x in (memory.length, memory.slope, memory.failures))
    own = (failures >= TRIALS) | ~xp.isfinite(slope)  # EM's own step: any rise is enough
    needed = xp.where(own, 0.0, ENOUGH * length * slope)
    finite = xp.isfinite(after)
    taken = finite & (after >= before + needed)
    missing = before + length * slope - xp.where(finite, after, 0.0)
    best = slope * length**2 / (2 * xp.where(missing > 0, missing, 1.0))  # of the parabola through what is known
    shorter = xp.where(finite & (missing > 0), xp.clip(best, SHORTEST * length, LONGEST * length), SHORTEST * length)
    over = taken | own
    return taken, memory._replace(
        length=xp.where(over, 1.0, shorter), failures=xp.where(over, 0, failures + 1).astype(np.int32)
    )
