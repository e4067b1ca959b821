"""The optimisers of the M-steps: both end at a point no worse than they started from.

`newton_cg`       for the convex problems (free rewards, additive switching), where a product with the
                  curvature is as cheap as a gradient;
`maximise_logit`  the convex problem that most of them are: a penalised multinomial logit;
`lbfgs`           for the parametric ones (features, networks), where only a gradient is to be had.

Written for one problem; `jax.vmap` runs modes and restarts side by side.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from swirl.compiling import on_cpu
from swirl.precision import FloatArray

Vector = Float[Array, "..."]
UNEVEN = 8  # times as many readers as there are, filled up: then some entry is read much more often than others
MAX_TRIES = 29  # halvings of a step
HIDDEN = -1e30  # logit of an option that is not available: finite, so that 0 · logit is 0


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Gather:
    """Entries of a vector by their places, and the transpose: for each entry a sum over the places that read it.

    On a GPU the sum is made in a fixed order, as a gather of its own, where entries are read about equally often. On a
    CPU JAX adds up in order anyway, and two to three times as fast.
    """

    index: Int[FloatArray, "..."]
    readers: Int[FloatArray, "entry reader"] | None
    """Places, as numbers of the flat index, that read each entry, filled up with their total number; None: uneven."""

    @classmethod
    def of(cls, index: Int[np.ndarray, "..."], n_entries: int) -> "Gather":
        """Find who reads what.

        >>> Gather.of(np.array([2, 0, 2]), 3).readers.tolist()
        [[1, 3], [3, 3], [0, 2]]
        """
        flat = np.ravel(index)
        counts = np.bincount(flat, minlength=n_entries)
        most = int(counts.max(initial=0))
        if n_entries * most > UNEVEN * max(len(flat), 1):
            return cls(index.astype(np.int32), None)
        readers = np.full((n_entries, most), len(flat), dtype=np.int32)
        order = np.argsort(flat, kind="stable")
        within = np.arange(len(flat)) - np.repeat(np.cumsum(counts) - counts, counts)
        readers[flat[order], within] = order
        return cls(index.astype(np.int32), readers)

    def __call__(self, values: Float[Array, "... entry"]) -> Array:
        """The entries, along the last axis."""
        index = jnp.asarray(self.index)
        if self.readers is None or on_cpu():
            return values[..., index]
        return _take(values, index, jnp.asarray(self.readers))

    def collect(self, values: Array, n_entries: int) -> Float[Array, "... entry"]:
        """The transpose: for each entry, the sum over the places that read it (the last axes are those of the index).

        >>> Gather.of(np.array([2, 0, 2]), 3).collect(jnp.array([1.0, 2.0, 4.0]), 3).tolist()
        [2.0, 0.0, 5.0]
        """
        index = jnp.asarray(self.index)
        if self.readers is None or on_cpu():
            blank = jnp.zeros((*values.shape[: values.ndim - index.ndim], n_entries), values.dtype)
            return blank.at[..., index].add(values)
        return _collect(values, index, jnp.asarray(self.readers))


@jax.custom_vjp
def _take(values: Array, index: Array, readers: Array) -> Array:
    return values[..., index]


@jax.custom_vjp
def _collect(values: Array, index: Array, readers: Array) -> Array:
    flat = values.reshape(*values.shape[: values.ndim - index.ndim], -1)
    filled = jnp.concatenate([flat, jnp.zeros((*flat.shape[:-1], 1), flat.dtype)], axis=-1)
    return jnp.sum(filled[..., readers], axis=-1)


# Each is the other's transpose.
_take.defvjp(
    lambda values, index, readers: (_take(values, index, readers), (index, readers)),
    lambda kept, slopes: (_collect(slopes, *kept), None, None),
)
_collect.defvjp(
    lambda values, index, readers: (_collect(values, index, readers), (index, readers)),
    lambda kept, slopes: (_take(slopes, *kept), None, None),
)


class Solution(NamedTuple):
    """Where an optimiser ended."""

    x: Any
    value: Float[Array, ""]
    steps: Int[Array, ""]


def conjugate_gradient(
    product: Callable[[Vector], Vector],
    target: Vector,
    diagonal: Vector,
    *,
    tol: Array | float,
    max_steps: int | Array,
) -> Vector:
    """Solve B d = target roughly, for positive definite B given by its `product`, scaled by `diagonal`.

    Stops when the residual has shrunk by `tol` (in the scaled norm), after `max_steps`, or where rounding
    makes the curvature vanish.
    """
    first = target / diagonal

    def unfinished(state: tuple) -> Array:
        _, _, _, rho, curved, step = state
        return (step < max_steps) & (rho > goal) & curved

    def advance(state: tuple) -> tuple:
        d, residual, direction, rho, _, step = state
        image = product(direction)
        curvature = jnp.vdot(direction, image)
        curved = curvature > 0
        length = jnp.where(curved, rho / jnp.where(curved, curvature, 1.0), 0.0)
        d = d + length * direction
        residual = residual - length * image
        scaled = residual / diagonal
        new_rho = jnp.vdot(residual, scaled)
        return d, residual, scaled + (new_rho / rho) * direction, new_rho, curved, step + 1

    rho = jnp.vdot(target, first)
    goal = tol**2 * rho
    start = (jnp.zeros_like(target), target, first, rho, jnp.array(True), 0)
    return jax.lax.while_loop(unfinished, advance, start)[0]


def newton_cg(
    function: Callable[[Vector], tuple[Array, Vector, Any]],
    curvature: Callable[[Any], tuple[Callable[[Vector], Vector], Vector]],
    start: Vector,
    *,
    tol: float = 1e-9,
    max_steps: int = 20,
    max_cg_steps: int | Array = 100,
) -> Solution:
    """Minimise a convex function by truncated Newton steps with backtracking.

    Parameters
    ----------
    function
        x ↦ f(x), f'(x), and whatever was computed on the way that `curvature` needs: it is not computed again.
    curvature
        That ↦ (v ↦ B(x) v, approximation of B's diagonal, all positive), with B positive definite (the Hessian or its
        Gauss–Newton part).
    tol
        Stop when the decrease that the model promises, ½ f'ᵀ B⁻¹ f', is below `tol`.

    Examples
    --------
    >>> f = lambda x: (jnp.sum(jnp.cosh(x - 1.0)), jnp.sinh(x - 1.0), jnp.cosh(x - 1.0))
    >>> B = lambda cosh: (lambda v: cosh * v, jnp.ones(2))
    >>> newton_cg(f, B, jnp.zeros(2), tol=1e-6).x.round(3).tolist()
    [1.0, 1.0]
    """

    # Each turn looks at one point, the start first; where that ends a search, it finds the next direction.  So function
    # and curvature stand in the program once each, and not once more before the loop: less to compile.
    def advance(state: tuple) -> tuple:
        best, direction, slope, length, tries, step, _ = state
        x, value, *_ = best
        point = x + length * direction
        seen = (point, *function(point))
        enough = seen[1] <= value + 1e-4 * length * slope
        better = enough & (seen[1] < value)
        over = enough | (tries >= MAX_TRIES)
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), seen, best)
        done = over & (~better | ((step > 0) & (-slope / 2 < tol)) | (step >= max_steps))
        going_on = over & ~done
        _, _, gradient, known = best
        product, diagonal = curvature(known)
        forcing = jnp.minimum(0.1, jnp.sqrt(jnp.sqrt(jnp.vdot(gradient, gradient))))
        most = jnp.where(going_on, max_cg_steps, 0)
        new = conjugate_gradient(product, -gradient, diagonal, tol=forcing, max_steps=most)
        direction = jnp.where(going_on, new, direction)
        slope = jnp.where(going_on, jnp.vdot(gradient, direction), slope)
        length = jnp.where(going_on, 1.0, length / 2)
        return best, direction, slope, length, jnp.where(over, 0, tries + 1), step + over, done

    zero = jnp.zeros((), start.dtype)
    _, _, known = jax.tree.map(lambda like: jnp.zeros(like.shape, like.dtype), jax.eval_shape(function, start))
    best = (start, zero + jnp.inf, jnp.zeros_like(start), known)
    none, unfinished = jnp.asarray(0), jnp.asarray(False)
    state = (best, jnp.zeros_like(start), zero, zero + 1, none, none, unfinished)
    (x, value, *_), *_, steps, _ = jax.lax.while_loop(lambda state: ~state[-1], advance, state)
    return Solution(x, value, steps - 1)


class Penalty(NamedTuple):
    """A convex penalty f at one point x."""

    value: Float[Array, ""]
    gradient: Vector
    product: Callable[[Vector], Vector]
    """d ↦ B(x) d, with B positive semidefinite (the Hessian or its Gauss–Newton part)."""


def squared(precision: Vector) -> Callable[[Vector], Penalty]:
    """The penalty ½ Σ precision · x², of a normal prior with independent entries.

    >>> at = squared(jnp.array([1.0, 2.0]))(jnp.array([3.0, 1.0]))
    >>> float(at.value), at.gradient.tolist()
    (5.5, [3.0, 2.0])
    """
    return lambda x: Penalty(0.5 * jnp.sum(precision * x**2), precision * x, lambda d: precision * d)


def masked_log_softmax(logits: Vector, available: Any = None) -> Vector:
    """Logarithm of the softmax over the available options (last axis); far below any other where there is none.

    >>> jnp.exp(masked_log_softmax(jnp.zeros(3), jnp.array([True, True, False]))).tolist()
    [0.5, 0.5, 0.0]
    """
    return jax.nn.log_softmax(logits if available is None else jnp.where(available, logits, HIDDEN), axis=-1)


def maximise_logit(
    logits: Callable[[Vector], Vector],
    counts: Float[Array, "*choice option"],
    start: Vector,
    *,
    penalty: Callable[[Vector], Penalty],
    diagonal: Callable[[Float[Array, "*choice option"]], Vector],
    available: Any = None,
    max_steps: int,
    max_cg_steps: int | Array,
) -> Vector:
    """Maximise Σ counts · log softmax(logits(x)) − penalty(x) by `newton_cg`: a penalised multinomial logit.

    Parameters
    ----------
    logits
        Linear in x; the softmax is over the last axis.
    diagonal
        From N p (1 − p) of each option, N the counts of its choice, an approximation of the curvature's diagonal,
        the penalty's included, all positive.
    available
        Which options there are; None: all.

    Examples
    --------
    >>> odds = maximise_logit(lambda x: x, jnp.array([30.0, 10.0]), jnp.zeros(2), penalty=squared(jnp.full(2, 1e-4)),
    ...     diagonal=lambda spread: spread + 1e-4, max_steps=20, max_cg_steps=10)
    >>> jax.nn.softmax(odds).round(2).tolist()
    [0.75, 0.25]
    """
    totals = jnp.sum(counts, axis=-1, keepdims=True)
    _, transpose = jax.vjp(logits, start)

    def shown(x: Vector) -> Vector:
        return x if available is None else jnp.where(available, x, 0.0)

    def function(x: Vector) -> tuple[Array, Vector, Vector]:
        log_p, prior = masked_log_softmax(logits(x), available), penalty(x)
        residual = shown(totals * jnp.exp(log_p) - counts)
        return -jnp.sum(shown(counts * log_p)) + prior.value, transpose(residual)[0] + prior.gradient, x

    def curvature(x: Vector) -> tuple[Callable[[Vector], Vector], Vector]:
        p, prior = jnp.exp(masked_log_softmax(logits(x), available)), penalty(x)

        def product(d: Vector) -> Vector:
            moved = logits(d)
            spread = p * (moved - jnp.sum(p * moved, axis=-1, keepdims=True))
            return transpose(totals * spread)[0] + prior.product(d)

        return product, diagonal(totals * p * (1 - p))

    options = {"tol": 1e-7, "max_steps": max_steps, "max_cg_steps": max_cg_steps}
    return newton_cg(function, curvature, start, **options).x


def lbfgs(function: Callable[[Any], Array], start: Any, *, tol: float = 1e-8, max_steps: int = 50) -> Solution:
    """Minimise a smooth function of a pytree by L-BFGS with a zoom line search.

    Stops when the largest gradient entry is below `tol` or after `max_steps`, and returns the best point seen.

    Examples
    --------
    >>> f = lambda x: jnp.sum((x - 1.0) ** 4 + (x - 1.0) ** 2)  # takes some seconds
    >>> lbfgs(f, jnp.zeros(2), tol=1e-5).x.round(3).tolist()
    [1.0, 1.0]
    """
    import optax  # takes as long to import as a small fit may take

    solver = optax.lbfgs()
    value_and_grad = optax.value_and_grad_from_state(function)

    def unfinished(carry: tuple) -> Array:
        _, _, gradient, _, _, step = carry
        size = jnp.max(jnp.stack([jnp.max(jnp.abs(leaf)) for leaf in jax.tree.leaves(gradient)]))
        return (step < max_steps) & (size > tol)

    def advance(carry: tuple) -> tuple:
        x, _, _, state, best, step = carry
        value, gradient = value_and_grad(x, state=state)
        updates, state = solver.update(gradient, state, x, value=value, grad=gradient, value_fn=function)
        x = optax.apply_updates(x, updates)
        new_value = optax.tree.get(state, "value")
        new_gradient = optax.tree.get(state, "grad")
        better = new_value < best.value
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), Solution(x, new_value, step + 1), best)
        return x, new_value, new_gradient, state, best, step + 1

    value, gradient = jax.value_and_grad(function)(start)
    state = solver.init(start)
    zero = jnp.asarray(0)
    best = Solution(start, value, zero)
    carry = (start, value, gradient, state, best, zero)
    return jax.lax.while_loop(unfinished, advance, carry)[4]
