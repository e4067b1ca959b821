"""Soft planning: the soft Bellman operator, its fixed point with an implicit gradient, and its inverse.

Everything here is one mode's equations of design.md#the-model, for any number of modes at once,

    Q(h,a) = r(h[,a]) + γ E[V(h')|h,a],    V(h) = α log Σ_a exp(Q(h,a)/α),    π = exp((Q − V)/α),

over the nodes of a `Successors` table; in SWIRL the nodes are histories.  Paper, Algorithm 1: "for each
hidden mode z and corresponding reward, infer the optimal soft Q-function".  Sums over actions run over the
available ones; every node needs at least one.  Leading axes of rewards and values are modes; `temperature` is
one number or one per mode.  Pure kernels: for double precision call them inside `precision.float64()`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.sparse.linalg import bicgstab
from jaxtyping import Array, Float

from swirl.compiling import jit
from swirl.data.successors import Successors
from swirl.precision import float64

Values = Float[Array, "*batch node"] | Float[np.ndarray, "*batch node"]
Table = Float[Array, "*batch node action"] | Float[np.ndarray, "*batch node action"]
# r(h) or r(h,a); a union of both shapes would bind the axis names to the wrong one.
Rewards = Float[Array, "..."] | Float[np.ndarray, "..."]
# The fields of `Successors`: JAX fills a pytree's leaves with placeholders when a gradient is None.
Environment = tuple[Array | np.ndarray, Array | np.ndarray, Array | np.ndarray]
Number = int | float | Float[Array, ""] | Float[np.ndarray, ""]
Temperature = int | float | Float[Array, "*#batch"] | Float[np.ndarray, "*#batch"]

Method = Literal["newton", "sweeps"]

# Of BiCGSTAB, within one Newton step.
_INNER_STEPS = 200

# Of the data, and made without JAX; from here on it goes through JAX as its three tables.
jax.tree_util.register_dataclass(Successors)


def expected_next(successors: Successors, values: Values) -> Float[Array, "*batch row action"]:
    """E[V(node') | node, action] for each row and action; the rows may be some of the nodes only.

    Equals the plain loop::

        for h in range(n_nodes):
            for a in range(n_actions):
                out[h, a] = sum(p[h, a, b] * values[next[h, a, b]] for b in range(n_branches))
    """
    values = jnp.asarray(values)
    if successors.n_branches == 1:
        return values[..., successors.next[..., 0]]
    return jnp.sum(successors.probability * values[..., successors.next], axis=-1)


def uniform_expected_next(successors: Successors, values: Values) -> Float[Array, "*batch row"]:
    """E[V(node') | node] when every available action is equally likely."""
    available = jnp.asarray(successors.available)
    share = available / jnp.sum(available, axis=-1, keepdims=True)
    return jnp.sum(share * expected_next(successors, values), axis=-1)


def q_values(
    successors: Successors, rewards: Rewards, values: Values, *, discount: Number
) -> Float[Array, "*batch node action"]:
    """Q(h,a) = r(h[,a]) + γ E[V(h')|h,a] (design.md#the-model).

    Rewards with as many axes as `values` are r(h), with one more r(h,a).  Entries of unavailable actions mean
    nothing; they are finite wherever the rewards are.

    Examples
    --------
    >>> import numpy as np
    >>> swap = Successors(np.array([[[0], [1]], [[1], [0]]]), np.ones((2, 2, 1)), np.ones((2, 2), bool))
    >>> q_values(swap, np.array([0.0, 1.0]), np.array([2.0, 4.0]), discount=0.5).tolist()
    [[1.0, 2.0], [3.0, 2.0]]
    """
    return _over_actions(rewards, values) + discount * expected_next(successors, values)


def soft_bellman(
    successors: Successors,
    rewards: Rewards,
    values: Values,
    *,
    discount: Number,
    temperature: Temperature,
) -> Float[Array, "*batch node"]:
    """One soft-Q sweep: V_new(h) = α log Σ_a exp(Q(h,a)/α), Q from `q_values` (paper Algorithm 1, design.md#the-model).

    Equals the plain loop::

        for h in range(n_nodes):
            q = [r[h, a] + discount * sum(p[h, a, :] * v[next[h, a, :]]) for a in available(h)]
            v_new[h] = temperature * log(sum(exp(q / temperature)))

    Examples
    --------
    >>> import numpy as np
    >>> loop = Successors(np.zeros((1, 2, 1), int), np.ones((1, 2, 1)), np.ones((1, 2), bool))
    >>> float(soft_bellman(loop, np.array([1.0]), np.array([0.0]), discount=0.5, temperature=1.0)[0])
    1.693147...
    """
    table = _over_actions(rewards, values)
    return _sweep(successors, table, jnp.asarray(values), discount, jnp.asarray(temperature))


def log_policy_from_values(
    successors: Successors, values: Values, *, discount: Number, temperature: Temperature
) -> Float[Array, "*batch row action"]:
    """Log policy for a reward r(h), which drops out: log softmax_a (γ/α) E[V(h')|h,a] (design.md#exact-solver).

    Unavailable actions have −inf.  Gradients are finite; mask these entries *before* weighting them, since
    0 · −inf is not a number.

    Examples
    --------
    >>> import numpy as np
    >>> swap = Successors(np.array([[[0], [1]], [[1], [0]]]), np.ones((2, 2, 1)), np.ones((2, 2), bool))
    >>> np.exp(log_policy_from_values(swap, np.zeros(2), discount=0.5, temperature=1.0)).round(3).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    future = jnp.asarray(discount * expected_next(successors, values))
    return jax.nn.log_softmax(_scaled(successors, future, jnp.asarray(temperature)), axis=-1)


def soft_future(
    successors: Successors, values: Values, *, discount: Number, temperature: Temperature
) -> Float[Array, "*batch row"]:
    """α log Σ_a exp((γ/α) E[V(h')|h,a]) of each row; the rows may be some of the nodes only."""
    values = jnp.asarray(values)
    nothing = jnp.zeros((*values.shape[:-1], 1, 1), values.dtype)
    return _sweep(successors, nothing, values, discount, jnp.asarray(temperature))


def rewards_from_values(
    successors: Successors, values: Values, *, discount: Number, temperature: Temperature
) -> Float[Array, "*batch node"]:
    """The inverse operator: r(h) = V(h) − α log Σ_a exp((γ/α) E[V(h')|h,a]) (design.md#exact-solver).

    One-to-one for 0 < γ < 1: `soft_values` of these rewards are the values again.

    Examples
    --------
    >>> import numpy as np
    >>> loop = Successors(np.zeros((1, 1, 1), int), np.ones((1, 1, 1)), np.ones((1, 1), bool))
    >>> rewards_from_values(loop, np.array([2.0]), discount=0.5, temperature=1.0).tolist()
    [1.0]
    """
    values = jnp.asarray(values)
    return values - soft_future(successors, values, discount=discount, temperature=temperature)


def state_action_rewards(
    successors: Successors, log_policy: Table, values: Values, *, discount: Number, temperature: Temperature
) -> Float[Array, "*batch node action"]:
    """The rewards for which π is soft-optimal: r(h,a) = α log π(a|h) + V(h) − γ E[V(h')|h,a] (design.md#exact-solver).

    Any V will do (a gauge); `soft_values` of the result is that V.  Unavailable actions have −inf.

    Examples
    --------
    >>> import numpy as np
    >>> loop = Successors(np.zeros((1, 2, 1), int), np.ones((1, 2, 1)), np.ones((1, 2), bool))
    >>> log_policy, values = np.log([[0.25, 0.75]]), np.array([2.0])
    >>> state_action_rewards(loop, log_policy, values, discount=0.5, temperature=1.0).tolist()
    [[-0.38629..., 0.71231...]]
    """
    values = jnp.asarray(values)
    kept = jnp.where(successors.available, log_policy, 0.0)
    entropy = jnp.asarray(temperature)[..., None, None] * kept
    rewards = entropy + values[..., None] - discount * expected_next(successors, values)
    return jnp.where(successors.available, rewards, -jnp.inf)


def soft_values(
    successors: Successors,
    rewards: Rewards,
    *,
    discount: Number,
    temperature: Number | Rewards,
    tol: float = 1e-10,
    max_sweeps: int = 100_000,
    method: Method = "newton",
    per_action: bool | None = None,
) -> Float[Array, "*modes node"]:
    """The fixed point V = soft_bellman(V), to a tolerance, implicit gradient (Algorithm 1, design.md#the-model).

    Differentiable in reverse mode with respect to rewards, discount and temperature: at the fixed point
    dV = (I − γP_π)⁻¹ ∂T, so the gradient costs one linear solve and nothing is unrolled.  The environment is
    a constant: no gradient reaches `successors`.

    Parameters
    ----------
    successors
        The environment; every node needs an available action.
    rewards
        r(h) or r(h,a), with any leading axes (modes).
    discount
        γ in (0, 1).
    temperature
        α > 0, one number or one per mode.
    tol
        Bound on the error: max |V − V*| ≤ tol · (α + max |V|), for the gradient relative to the incoming
        cotangent.  It is raised to what the floating-point type can resolve.
    max_sweeps
        Where to give up; the values of a mode that has not met the tolerance by then are NaN.
    method
        ``"newton"``: V + (I − γP_π)⁻¹(TV − V), soft policy iteration, solved by BiCGSTAB; about ten
        steps whatever the discount.  ``"sweeps"``: ``v = soft_bellman(v)``, the reference; contracts by γ.
    per_action
        Whether the last axis of `rewards` is the action.  Needed only when the shape fits both readings.

    Examples
    --------
    >>> import numpy as np
    >>> loop = Successors(np.zeros((1, 1, 1), int), np.ones((1, 1, 1)), np.ones((1, 1), bool))
    >>> soft_values(loop, np.array([1.0]), discount=0.5, temperature=1.0).round(5).tolist()
    [2.0]
    """
    rewards = jnp.asarray(rewards)
    table = rewards if _is_per_action(successors, rewards, per_action) else rewards[..., None]
    modes = table.shape[:-2]
    flat = table.reshape(-1, *table.shape[-2:])
    gamma = jnp.asarray(discount, table.dtype)
    alpha = jnp.broadcast_to(jnp.asarray(temperature, table.dtype), modes).reshape(-1)
    return _solve_modes(method == "newton", tol, max_sweeps, successors, flat, gamma, alpha).reshape(*modes, -1)


def policy_values(
    successors: Successors,
    policy: Table,
    rewards: Values,
    *,
    discount: Number,
    tol: float = 1e-10,
    method: Method = "newton",
) -> Float[Array, "node"]:
    """What a policy earns, V = r + γ P_π V: the slope of `soft_values` where r is a change of the reward.

    `method` is as there; "newton" is one linear solve, or a few.

    Examples
    --------
    >>> import numpy as np
    >>> loop = Successors(np.zeros((1, 2, 1), int), np.ones((1, 2, 1)), np.ones((1, 2), bool))
    >>> policy_values(loop, np.array([[0.5, 0.5]]), np.array([1.0]), discount=0.5).round(5).tolist()
    [2.0]
    """
    rewards, gamma = jnp.asarray(rewards), jnp.asarray(discount)
    precision = jnp.maximum(tol * (1 - gamma), 8 * jnp.finfo(rewards.dtype).eps)
    scale = jnp.max(jnp.abs(rewards))
    return _iterate(
        lambda values: rewards + gamma * jnp.sum(policy * expected_next(successors, values), axis=-1),
        rewards,
        size=lambda x: jnp.max(jnp.abs(x)),
        bound=lambda values: precision * jnp.maximum(scale, jnp.max(jnp.abs(values))),
        contraction=gamma,
        newton=method == "newton",
        max_sweeps=100_000,
    )


def log_policy_from_rewards(
    successors: Successors,
    rewards: Rewards,
    *,
    discount: Number,
    temperature: Number | Rewards,
    tol: float = 1e-10,
    max_sweeps: int = 100_000,
    method: Method = "newton",
    per_action: bool | None = None,
) -> Float[Array, "*modes node action"]:
    """Log of the soft-optimal policy π = exp((Q − V)/α), through `soft_values` (Algorithm 1, design.md#the-model).

    Unavailable actions have −inf; the parameters are those of `soft_values`, and so is the gradient.

    Examples
    --------
    >>> import numpy as np
    >>> loop = Successors(np.zeros((1, 2, 1), int), np.ones((1, 2, 1)), np.ones((1, 2), bool))
    >>> rewards = np.log([[0.25, 0.75]])
    >>> np.exp(log_policy_from_rewards(loop, rewards, discount=0.5, temperature=1.0)).round(3).tolist()
    [[0.25, 0.75]]
    """
    rewards = jnp.asarray(rewards)
    per_action = _is_per_action(successors, rewards, per_action)
    values = soft_values(
        successors,
        rewards,
        discount=discount,
        temperature=temperature,
        tol=tol,
        max_sweeps=max_sweeps,
        method=method,
        per_action=per_action,
    )
    if not per_action:
        return log_policy_from_values(successors, values, discount=discount, temperature=temperature)
    q = q_values(successors, rewards, values, discount=discount)
    return jax.nn.log_softmax(_scaled(successors, q, jnp.asarray(temperature)), axis=-1)


@jit(loops=False, static_argnames="per_action")
def _jitted_log_policy(
    successors: Successors, rewards: Array, discount: Array, temperature: Array, per_action: bool
) -> Array:
    return log_policy_from_rewards(
        successors, rewards, discount=discount, temperature=temperature, per_action=per_action
    )


def soft_optimal_policies(
    successors: Successors,
    rewards: Float[np.ndarray, "mode node"] | Float[np.ndarray, "mode node action"],
    *,
    discount: float,
    temperature: float | Float[np.ndarray, "mode"],
    per_action: bool,
) -> Float[np.ndarray, "mode node action"]:
    """Soft-optimal policies as probabilities, numpy in and out, in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> loop = Successors(np.zeros((1, 2, 1), int), np.ones((1, 2, 1)), np.ones((1, 2), bool))
    >>> soft_optimal_policies(loop, np.zeros((1, 1)), discount=0.5, temperature=1.0, per_action=False).tolist()
    [[[0.5, 0.5]]]
    """
    return np.exp(
        soft_optimal_log_policies(
            successors, rewards, discount=discount, temperature=temperature, per_action=per_action
        )
    )


def soft_optimal_log_policies(
    successors: Successors,
    rewards: Float[np.ndarray, "mode node"] | Float[np.ndarray, "mode node action"],
    *,
    discount: float,
    temperature: float | Float[np.ndarray, "mode"],
    per_action: bool,
) -> Float[np.ndarray, "mode node action"]:
    """Logarithms of `soft_optimal_policies`: exact where a probability would fall below 1e−308."""
    with float64():
        log_policy = _jitted_log_policy(
            successors, rewards, np.asarray(discount), np.asarray(temperature, dtype=float), per_action
        )
        return np.asarray(log_policy)


@jit(loops=False)
def _read_values(successors: Successors, values: Array, discount: Number, temperature: Array) -> tuple[Array, Array]:
    log_policy = log_policy_from_values(successors, values, discount=discount, temperature=temperature)
    return rewards_from_values(successors, values, discount=discount, temperature=temperature), log_policy


def read_values(
    successors: Successors,
    values: Float[np.ndarray, "mode node"],
    *,
    discount: float,
    temperature: Float[np.ndarray, "mode"],
) -> tuple[Float[np.ndarray, "mode node"], Float[np.ndarray, "mode node action"]]:
    """Rewards r(h) and log-policies that have these values, numpy in and out, in double precision.

    Examples
    --------
    >>> loop = Successors(np.zeros((1, 2, 1), int), np.ones((1, 2, 1)), np.ones((1, 2), bool))
    >>> rewards, log_policies = read_values(loop, np.zeros((1, 1)), discount=0.5, temperature=np.ones(1))
    >>> rewards.round(3).tolist(), np.exp(log_policies).tolist()
    ([[-0.693]], [[[0.5, 0.5]]])
    """
    with float64():
        result = _read_values(successors, values, np.asarray(discount), np.asarray(temperature, dtype=float))
        return np.asarray(result[0]), np.asarray(result[1])


def _over_actions(rewards: Rewards, values: Values) -> Array:
    """Rewards with a last axis over actions, of length 1 for r(h)."""
    rewards = jnp.asarray(rewards)
    return rewards[..., None] if rewards.ndim == jnp.ndim(values) else rewards


def _is_per_action(successors: Successors, rewards: Array, per_action: bool | None) -> bool:
    """Whether rewards are r(h,a): as told, or as the shape says when only one reading fits."""
    nodes, actions = successors.n_nodes, successors.n_actions
    fits = {False: rewards.shape[-1:] == (nodes,), True: rewards.shape[-2:] == (nodes, actions)}
    readings = [reading for reading, fit in fits.items() if fit and per_action in (None, reading)]
    if len(readings) == 1:
        return readings[0]
    expected = f"(..., {nodes}) for r(h) or (..., {nodes}, {actions}) for r(h,a)"
    if readings:
        raise ValueError(
            f"rewards: got shape {rewards.shape}, which fits both {expected}; "
            "say which with per_action=False or per_action=True."
        )
    raise ValueError(f"rewards: got shape {rewards.shape} with per_action={per_action}, expected {expected}.")


def _scaled(successors: Successors, q: Array, temperature: Array) -> Array:
    """Q/α, −inf where the action is unavailable."""
    # Masked before the division too: a −inf reward there would make the gradient to the temperature NaN.
    q = jnp.where(successors.available, q, 0.0)
    return jnp.where(successors.available, q / temperature[..., None, None], -jnp.inf)


def _sweep(successors: Successors, table: Array, values: Array, discount: Number, temperature: Array) -> Array:
    """T(V) for rewards with an action axis (of length 1 for r(h))."""
    q = table + discount * expected_next(successors, values)
    scaled = _scaled(successors, q, temperature)
    return temperature[..., None] * jax.nn.logsumexp(scaled, axis=-1)


# Compiled here, so that calls outside any `jit` share the work.
@partial(jax.jit, static_argnums=(0, 1, 2))
def _solve_modes(
    newton: bool,
    tol: float,
    max_sweeps: int,
    successors: Successors,
    tables: Array,
    discount: Array,
    temperatures: Array,
) -> Array:
    """Solve V = T(V), one loop per mode side by side: a mode's result does not depend on its neighbours."""
    environment = (successors.next, successors.probability, successors.available)
    one_mode = partial(_fixed_point, newton, tol, max_sweeps, environment)
    return jax.vmap(one_mode, in_axes=(0, None, 0))(tables, discount, temperatures)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def _fixed_point(
    newton: bool,
    tol: float,
    max_sweeps: int,
    environment: Environment,
    table: Array,
    discount: Array,
    temperature: Array,
) -> Array:
    """Solve V = T(V) for one mode."""
    successors = Successors(*environment)

    def operator(values: Array) -> Array:
        return _sweep(successors, table, values, discount, temperature)

    start = operator(jnp.zeros(table.shape[0], table.dtype))
    # ‖V − V*‖ ≤ ‖TV − V‖ / (1 − γ) in the largest entry.
    precision = jnp.maximum(tol * (1 - discount), 8 * jnp.finfo(table.dtype).eps)
    return _iterate(
        operator,
        start,
        size=lambda x: jnp.max(jnp.abs(x)),
        bound=lambda values: precision * (temperature + jnp.max(jnp.abs(values))),
        contraction=discount,
        newton=newton,
        max_sweeps=max_sweeps,
    )


def _fixed_point_forward(
    newton: bool,
    tol: float,
    max_sweeps: int,
    environment: Environment,
    table: Array,
    discount: Array,
    temperature: Array,
) -> tuple[Array, tuple[Environment, Array, Array, Array, Array]]:
    values: Any = _fixed_point(newton, tol, max_sweeps, environment, table, discount, temperature)
    return values, (environment, table, discount, temperature, values)


def _fixed_point_backward(
    newton: bool,
    tol: float,
    max_sweeps: int,
    saved: tuple[Environment, Array, Array, Array, Array],
    cotangent: Array,
) -> tuple[None, Array, Array, Array]:
    """Adjoint: u = v̄ + γ P_πᵀ u, then the vector-Jacobian product of one sweep with u."""
    environment, table, discount, temperature, values = saved
    _, pull_back = jax.vjp(partial(_sweep, Successors(*environment)), table, values, discount, temperature)
    # P_πᵀ keeps the sum of absolute entries from growing, so here the contraction holds in that norm.
    size_of_cotangent = jnp.sum(jnp.abs(cotangent))
    precision = jnp.maximum(tol * (1 - discount), 8 * jnp.finfo(table.dtype).eps)
    adjoint = _iterate(
        lambda u: cotangent + pull_back(u)[1],
        cotangent,
        size=lambda x: jnp.sum(jnp.abs(x)),
        bound=lambda u: precision * jnp.maximum(size_of_cotangent, jnp.sum(jnp.abs(u))),
        contraction=discount,
        newton=newton,
        max_sweeps=max_sweeps,
    )
    to_table, _, to_discount, to_temperature = pull_back(adjoint)
    return None, to_table, to_discount, to_temperature


_fixed_point.defvjp(_fixed_point_forward, _fixed_point_backward)


def _iterate(
    operator: Callable[[Array], Array],
    start: Array,
    *,
    size: Callable[[Array], Array],
    bound: Callable[[Array], Array],
    contraction: Array,
    newton: bool,
    max_sweeps: int,
) -> Array:
    """Find x = operator(x) for a contraction, NaN where `max_sweeps` is not enough.

    Equals the plain loop (without `newton`)::

        while size(operator(x) - x) > bound(x):
            x = operator(x)
        return operator(x)

    With `newton`, x moves to x + (I − J)⁻¹(operator(x) − x) wherever that system could be solved, and by a
    sweep elsewhere.  Measured on the maze, three modes, two shared cores, against the sweeps: at discount 0.95
    a third to a half of the time up to 2,000 nodes, no gain from 6,000 on; at 0.99 a tenth to a fifth, then a
    third.  Dense solves took six times as long as the sweeps at 500 nodes already.
    """

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        x, image, step = carry
        return (size(image - x) > bound(x)) & (step < max_sweeps)

    def advance(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, image, step = carry
        if not newton:
            return image, operator(image), step + 1
        residual = image - x
        _, jacobian = jax.linearize(operator, x)
        # With a linear residual below ½(1−γ)² of the nonlinear one the step contracts towards the fixed
        # point, however far away it is: |x⁺ − x*| ≤ (γ + ½(1−γ)(1+γ)) |x − x*|.
        enough: Any = 0.5 * (1 - contraction) ** 2
        step_taken, _ = bicgstab(lambda e: e - jacobian(e), residual, tol=0.1 * enough, maxiter=_INNER_STEPS)
        left = residual - (step_taken - jacobian(step_taken))
        # False for NaN too, which BiCGSTAB returns when it breaks down: then a plain sweep.
        solved = size(left) <= enough * size(residual)
        x = jnp.where(solved, x + step_taken, image)
        return x, operator(x), step + 1

    x, image, _ = lax.while_loop(unfinished, advance, (start, operator(start), jnp.zeros((), jnp.int32)))
    return jnp.where(size(image - x) <= bound(x), image, jnp.nan)
