"""How far a fit could be off, from how sharply its objective is peaked: intervals without a refit.

The E-step's counts are the slope of the log-likelihood with respect to the logarithms of the tables (Fisher's
identity, `quasi_newton.gradient`), so that

    ∇ log p(x; θ)  =  ∇' Σ counts(θ) · log tables(θ')   at   θ' = θ

costs one pass over the data.  The observed information J = −∇² (log p + log prior) is how these slopes change: two
passes for each number, many side by side.  It has in it what the hidden modes leave open (Louis 1982), and J⁻¹ is the
covariance of what the data and the priors leave open of θ.  Parameters are then drawn from N(θ̂, J⁻¹), and what each
draw says of policies, rewards and switching is kept, as a bootstrap keeps what its refits say.

What a normalisation leaves free (a constant added to all logits of a row) changes no table; J is 0 along it.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from swirl.analysis.bootstrap import (
    check_question,
    decoded_paths,
    drift_of,
    expected_pairs,
    fitted_part,
    lasting_quantities,
    matched,
    quantities,
    renumbered,
    units_of,
    with_half_the_priors,
)
from swirl.analysis.intervals import MIN_UNITS, Intervals, logit, mark_of
from swirl.compiling import jit
from swirl.data.trajectories import Trajectories
from swirl.errors import NoInformationError
from swirl.estimators.base import as_trajectories
from swirl.inference.engines import Iterations, choose
from swirl.inference.estep.counts import Chains, Counts, Tables
from swirl.inference.mstep import Components, Parameters
from swirl.inference.quasi_newton import gradient
from swirl.precision import float64, numpy_tree
from swirl.text import counted

__all__ = ["information"]

STEP = 1e-4
"""By which a number is moved to see how the slopes change; all are on the scale of logits."""
MAX_NUMBERS = 6_000
"""Parameters for which the information, a square table, is made: 300 MB, and a minute to take its root."""
AT_ONCE = 4_000_000  # numbers in the tables of all points that go through the E-step together
FLAT = 1e-8  # curvature, in units of that of the numbers themselves, below which it is rounding
TOLERANCE = 1e-4  # nats that may remain to be gained: the information is that of the top
SHORT = 0.1  # nats, by the curvature, that a fit may be short of its top: half a standard error in one direction
DECODED = 20  # draws that decode the sessions, for `Intervals.stability`


class Information(NamedTuple):
    """The curvature of log-likelihood + log prior at a fit; modes are in the order of its parameters."""

    point: Float[np.ndarray, "number"]
    matrix: Float[np.ndarray, "number number"]
    """J = −∇² (log p + log prior)."""
    slope: Float[np.ndarray, "number"]
    """∇ (log p + log prior): 0 at the top."""
    step_slopes: Float[np.ndarray, "number mode"]
    """How the expected steps in each mode change with each number."""
    pair_slopes: Float[np.ndarray, "number mode next_mode"]
    """The same of expected pairs of neighbouring modes, over all states."""


@jit(loops=False)
def _tables(
    components: Components, like: Parameters, points: Float[Array, "point number"]
) -> tuple[Parameters, Tables]:
    """Parameters and the hidden chain of each point."""
    unflat = ravel_pytree(jax.tree.map(jnp.asarray, like))[1]
    parameters = jax.vmap(lambda x: components.normalised(unflat(x)))(points)
    return parameters, jax.vmap(components.tables)(parameters)


@jit(loops=False)
def _slopes(
    components: Components, like: Parameters, points: Float[Array, "point number"], counts: Counts
) -> Float[Array, "point number"]:
    """∇ (log p + log prior) at each point, from the counts of the E-step there: Fisher's identity."""
    unflat = ravel_pytree(jax.tree.map(jnp.asarray, like))[1]
    return jax.vmap(lambda x, n: ravel_pytree(gradient(components, unflat(x), n))[0])(points, counts)


def _at_once(tables: Tables | Counts) -> int:
    """Points that go through the E-step together: an even number, by the size of one's tables."""
    size = sum(np.size(leaf) for leaf in jax.tree.leaves(tables))
    return int(np.clip(AT_ONCE // max(size, 1), 2, 128)) // 2 * 2


def observed_information(
    components: Components,
    chains: Chains,
    parameters: Parameters,
    *,
    max_seconds: float | int = np.inf,
    progress: Callable[[int, int], Any] | None = None,
) -> Information:
    """J = −∇² (log-likelihood + log prior) of one fit, from differences of slopes; see the top of this module.

    Equals the plain loop::

        for j in range(n_numbers):
            J[:, j] = (slope(point − step e_j) − slope(point + step e_j)) / (2 step)

    Parameters
    ----------
    max_seconds
        Where the first passes say that all of them will take longer, it is refused.
    progress
        Called with the number of passes made, and of all.
    """
    with float64():
        like = numpy_tree(parameters)
        point = np.asarray(ravel_pytree(jax.tree.map(jnp.asarray, like))[0])
        n = len(point)
        if n > MAX_NUMBERS:
            raise NoInformationError(
                f"the model has {n:,} parameters, and the observed information of more than {MAX_NUMBERS:,} would take "
                "too much time and memory; use swirl.uncertainty.bootstrap (swirl report --bootstrap 20), or a model "
                "with a shorter history or fewer modes"
            )
        _, first = numpy_tree(_tables(components, like, point[None]))
        engine, size = choose("auto", chains, first), _at_once(first)
        slope, _ = _evaluate(components, engine, like, point[None])
        matrix, steps, pairs = np.zeros((n, n)), [], []
        half, began = size // 2, time.perf_counter()
        for done, start in enumerate(range(0, n, half), 1):
            which = np.arange(start, min(start + half, n))
            moves = np.zeros((half, n))
            moves[np.arange(len(which)), which] = STEP
            slopes, counts = _evaluate(components, engine, like, np.concatenate([point + moves, point - moves]))
            up, down = slopes[:half], slopes[half:]
            matrix[which] = (down - up)[: len(which)] / (2 * STEP)
            for kept, table in (
                (steps, np.asarray(counts.emissions).sum(axis=1)),
                (pairs, np.asarray(counts.transitions).sum(axis=1)),
            ):
                kept.append((table[:half] - table[half:])[: len(which)] / (2 * STEP))
            if done == 1:  # compiled now
                began = time.perf_counter()
            elif done == 2 and (expected := (time.perf_counter() - began) * (n / half)) > max_seconds:
                raise NoInformationError(
                    f"the observed information of {n:,} parameters takes {2 * n:,} passes over the data, about "
                    f"{expected / 60:.0f} minutes here (max_seconds={max_seconds:g}); allow more, or use "
                    "swirl.uncertainty.bootstrap (swirl report --bootstrap 20)"
                )
            if progress is not None:
                progress(2 * min(start + half, n), 2 * n)
    return Information(point, (matrix + matrix.T) / 2, slope[0], np.concatenate(steps), np.concatenate(pairs))


def _evaluate(
    components: Components, engine: Iterations, like: Parameters, points: Float[np.ndarray, "point number"]
) -> tuple[Float[np.ndarray, "point number"], Counts]:
    """Slopes at some points, and the counts that they are made of."""
    _, tables = numpy_tree(_tables(components, like, points))
    counts = engine.counts(tables)
    return np.asarray(_slopes(components, like, points, counts)), counts


def unit_counts(
    components: Components, chains: Chains, parameters: Parameters, units: Int[np.ndarray, "chain"]
) -> Counts:
    """Expected counts of each unit (a session, or a subject) by itself, side by side, at one set of parameters."""
    with float64():
        point = np.asarray(ravel_pytree(jax.tree.map(jnp.asarray, parameters))[0])
        _, tables = numpy_tree(_tables(components, parameters, point[None]))
        found = [choose("auto", _part(chains, units == unit), tables).counts(tables) for unit in range(units.max() + 1)]
        return jax.tree.map(lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves]), *found)


def _part(chains: Chains, kept: np.ndarray) -> Chains:
    """Some of the chains."""
    steps = np.repeat(kept, np.diff(chains.offsets))
    offsets = np.concatenate([[0], np.cumsum(np.diff(chains.offsets)[kept])])
    return Chains(chains.symbols[steps], chains.states[steps], offsets, chains.n_symbols, chains.n_states)


def unit_slopes(components: Components, parameters: Parameters, counts: Counts) -> Float[np.ndarray, "unit number"]:
    """What each unit adds to the slope of the log-likelihood, less the mean: in sum they balance the prior's."""
    with float64():
        point = np.asarray(ravel_pytree(jax.tree.map(jnp.asarray, parameters))[0])
        n, size = len(counts.log_likelihood), _at_once(jax.tree.map(lambda leaf: leaf[:1], counts))
        points = np.broadcast_to(point, (size, len(point)))
        slopes = []
        for start in range(0, n, size):  # the last rows again where there are fewer: one compilation
            which = np.minimum(np.arange(start, start + size), n - 1)
            own = jax.tree.map(lambda leaf, which=which: np.asarray(leaf)[which], counts)
            slopes.append(np.asarray(_slopes(components, parameters, points, own))[: n - start])
    together = np.concatenate(slopes)
    return together - together.mean(axis=0)


def inverse_root(matrix: Float[np.ndarray, "number number"]) -> Float[np.ndarray, "number direction"]:
    """R with R Rᵀ = J⁻¹ on all directions in which J is not 0.

    Examples
    --------
    Nothing is known of the sum of two numbers, and it is left alone:

    >>> root = inverse_root(np.array([[2.0, -2.0], [-2.0, 2.0]]))
    >>> (root @ root.T).round(3).tolist()
    [[0.125, -0.125], [-0.125, 0.125]]
    """
    scale = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    known = scale > 1e-6 * scale.max(initial=1e-300)
    unit = np.where(known, 1 / np.where(known, scale, 1.0), 0.0)
    values, vectors = np.linalg.eigh(matrix * unit * unit[:, None])
    if (values < -1e3 * FLAT).any() or not np.isfinite(values).all():
        upwards = counted(int((values < -FLAT).sum()), "direction")
        raise NoInformationError(
            f"the fit is not at a maximum: its objective bends upwards in {upwards}, "
            "so that its curvature gives no intervals; fit with more iterations or a stronger prior, or use "
            "swirl.uncertainty.bootstrap"
        )
    curved = values > FLAT
    return unit[:, None] * vectors[:, curved] / np.sqrt(values[curved])


def information(
    model: Any,
    data: Any,
    *,
    n_draws: int = 100,
    by: str | None = None,
    max_seconds: float | int = 600,
    random_state: int = 0,
    progress: Callable[[int, int], Any] | None = None,
) -> Intervals:
    """Intervals from the observed information at the fit: seconds, where a bootstrap refits for minutes.

    Where two or more animals are known, no interval is narrower than how the animals differ makes it: their pull at the
    parameters (the sandwich), with Student's t for as many animals as there are. With fewer than eight that is known
    only roughly. Where no animals are known, policies, preferences, rewards, switching and first modes take the model
    as true.

    Shares of steps and durations are also about which sessions were recorded: how sessions (or subjects) differ is in
    their intervals, and below five sessions they have none.

    Parameters
    ----------
    model
        A fitted model that EM fits by its likelihood: SWIRL and ARHMM.
    data
        The sessions that it was fitted to. Others among them are only decoded (`Intervals.stability`).
    n_draws
        How many times parameters are drawn; 100 give widths to within a fourteenth.
    by
        What repeats: no interval is narrower than how the subjects (``"subject"``) or the sessions (``"session"``, for
        these animals only) differ makes it. None: subjects where two or more are known, else nothing is said of it.
    max_seconds
        Refuse where the passes over the data would take longer: two for each parameter.
    progress
        Called with the number of passes done, and of all.

    Examples
    --------
    >>> from swirl.datasets import gridworld  # takes some seconds
    >>> from swirl.estimators.swirl import SWIRL
    >>> world = gridworld(n_sessions=8, n_steps=100)
    >>> model = SWIRL(world.env, history=1, reward="state-action", n_restarts=2, max_iter=20).fit(world.trajectories)
    >>> found = information(model, world.trajectories, n_draws=50)
    >>> found.method, found.n_draws, found.policies.shape
    ('information', 50, (50, 2, 25, 5))
    """
    data = as_trajectories(data)
    check_question(model, n_draws=(n_draws, 2))
    if not (isinstance(max_seconds, int | float) and max_seconds > 0):
        raise ValueError(f"max_seconds={max_seconds!r}: expected a number > 0")
    model.check_restarts()
    train = fitted_part(model, data)
    repeated = _repeated(train, by)
    # A few sessions can say how far parameters are off, if the model is true, but not how sessions differ.
    alone = len(train) < MIN_UNITS
    by, units = ("session", np.arange(len(train))) if alone else units_of(train, None if by == "subject" else by)
    own = model.use_restart(model.best_restart_).set_params(**model.fitted_params)  # whatever was set since
    problem = own.em_problem(train)
    if not problem.components.accelerated:
        raise NoInformationError(
            f"model is {type(model).__name__}: it is not fitted by the likelihood of freely moving parameters, so "
            "there is no observed information; use swirl.uncertainty.bootstrap"
        )
    top = own.refitted(problem, None, tol=TOLERANCE, max_iter=2000)
    best = top.restarts_[0]
    if best.status == "interrupted":
        raise KeyboardInterrupt
    found = observed_information(
        problem.components, problem.chains, best.parameters, max_seconds=max_seconds, progress=progress
    )
    root = inverse_root(found.matrix)
    if (left := float(np.sum((root.T @ found.slope) ** 2)) / 2) > SHORT:
        raise NoInformationError(
            f"the fit is not at a maximum: {left:.2g} nats more can be gained, and the curvature there "
            "gives no intervals; fit with more iterations, or use swirl.uncertainty.bootstrap"
        )
    paths = decoded_paths(model, data)
    match = matched(model, top, paths, decoded_paths(top, data))
    fitted, order = quantities(top, problem), np.argsort(-best.occupancy, kind="stable")
    rng, n_draws = np.random.default_rng(random_state), int(n_draws)

    def drawn(units: Int[np.ndarray, "session"], robust: bool) -> tuple[list[Any], dict[str, Any]]:
        """Models whose parameters are drawn, and what they say with modes named as the model's."""
        counts = unit_counts(problem.components, problem.chains, best.parameters, units[problem.encoded.chain_sessions])
        pulls = unit_slopes(problem.components, best.parameters, counts) @ root  # of each, in units of the root
        among = rng.standard_normal((n_draws, int(units.max()) + 1))
        moves = (among @ pulls if robust else rng.standard_normal((n_draws, root.shape[1]))) @ root.T
        with float64():
            points = numpy_tree(_tables(problem.components, best.parameters, found.point + moves)[0])
        each = (jax.tree.map(lambda leaf, i=i: leaf[i], points) for i in range(n_draws))
        models = [top.with_parameters(problem, one) for one in each]
        said = [lasting_quantities(one) for one in models]
        draws = {name: np.stack([one[name] for one in said]) for name in said[0]}
        draws |= _of_sessions(found, counts, (root @ pulls.T).T, fitted, among, order)
        named = [renumbered({name: table[i] for name, table in draws.items()}, match) for i in range(n_draws)]
        stacked = {name: np.stack([one[name] for one in named]) for name in named[0]}
        return models, {"policies": None, "rewards": None} | stacked

    models, stacked = drawn(units, robust=False)
    same = [np.zeros(len(path)) for path in paths]
    for one in models[:DECODED]:
        for count, path, other in zip(same, paths, decoded_paths(one, data), strict=True):
            count += match[other] == path
    before = renumbered(quantities(own, problem), matched(model, own, paths, decoded_paths(own, data)))
    fitted = renumbered(fitted, match)
    _, switches = expected_pairs(top, problem)
    n_units, between = int(units.max()) + 1, None
    if repeated is not None:
        name, each = repeated
        own = {"by": name, "n_units": int(each.max()) + 1, "fitted": fitted, "stability": ()}
        between = Intervals(method="sandwich", **own, **drawn(each, robust=True)[1])
    return Intervals(
        method="information",
        by=by,
        n_units=n_units,
        fitted=fitted,
        drift=drift_of(before, fitted, stacked, max(n_units, 2)),
        stability=tuple(count / min(DECODED, n_draws) for count in same),
        seed=int(random_state),
        model=mark_of(model),
        switches=renumbered({"mode_transitions": switches}, match)["mode_transitions"],
        twice=with_half_the_priors(model, top, problem, data, paths),
        smoothed=bool(getattr(problem.components.emissions, "pseudocount", 0.0) > 0),
        between=between,
        **stacked,
    )


def _repeated(data: Trajectories, by: str | None) -> tuple[str, Int[np.ndarray, "session"]] | None:
    """What is repeated, and to which of them each session belongs; None where no two animals are known."""
    names = list(dict.fromkeys(data.subjects))
    if None not in names and len(names) > 1 and by in (None, "subject"):
        return "subject", np.array([names.index(name) for name in data.subjects])
    return None if by is None else units_of(data, by)


def _of_sessions(
    found: Information,
    counts: Counts,
    pushes: Float[np.ndarray, "unit number"],
    fitted: dict[str, np.ndarray],
    among: Float[np.ndarray, "draw unit"],
    order: Int[np.ndarray, "mode"],
) -> dict[str, np.ndarray]:
    """Draws of what is a mean over units, the share of steps and the rate of leaving, modes in `order`.

    With a_u / b_u the unit's own numerator and denominator, r = Σ a / Σ b, and its push J⁻¹ s_u on the parameters, a
    unit moves r by (a_u − r b_u + (∂a − r ∂b) J⁻¹ s_u) / Σ b: its influence, in what is measured and in how it is read.
    """
    steps, pairs = np.asarray(counts.emissions).sum(axis=1), np.asarray(counts.transitions).sum(axis=1)
    stays, all_pairs = np.einsum("uzz->uz", pairs), pairs.sum(axis=2)
    stay_slopes, all_slopes = np.einsum("nzz->nz", found.pair_slopes), found.pair_slopes.sum(axis=2)
    whole, whole_slopes = steps.sum(axis=1, keepdims=True), found.step_slopes.sum(axis=1, keepdims=True)
    parts = {
        "occupancy": (steps, found.step_slopes, np.broadcast_to(whole, steps.shape), whole_slopes),
        "leaving": (all_pairs - stays, all_slopes - stay_slopes, all_pairs, all_slopes),
    }
    draws = {}
    for name, (above, above_slopes, below, below_slopes) in parts.items():
        r = np.empty(len(order))
        r[order] = fitted[name]
        influence = above - r * below + pushes @ (above_slopes - r * below_slopes)
        influence /= np.maximum(below.sum(axis=0), 1e-300)
        moved = logit(r) + among @ (influence / np.maximum(r * (1 - r), 1e-300))
        table = 1 / (1 + np.exp(-np.clip(moved, -700, 700)))
        draws[name] = np.where(r > 0, table, 0.0)[:, order]
    return draws
