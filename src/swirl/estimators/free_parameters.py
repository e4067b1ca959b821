"""How many numbers a fit has really estimated: what the data can show of it, and nothing that is a matter of gauge.

Many rewards have the same policies (design.md#gauge), many weights the same switching, and of states that were never
visited the data say nothing.  So parameters are not counted as they are stored.  The data see the model only through
the logarithms of its tables, at the choices and states that occur in them; the number of free parameters is the number
of independent directions in which these tables can move,

    rank ∂ (log p(z_1), log P_z(· | ·, s), log π_z(a | h)) / ∂ parameters.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from swirl.estimators.em_estimator import EMEstimator, Problem
from swirl.inference.estep.counts import Chains
from swirl.inference.mstep import Parameters
from swirl.precision import float64, numpy_tree

MOST_PARAMETERS, MOST_NUMBERS = 4_000, 40_000_000  # beyond these a rank takes minutes
RANK = 1e-9  # singular values below it, relative to the largest, are zero
AT_ONCE = 64  # directions


def n_free_parameters(problem: Problem, parameters: Parameters) -> int | None:
    """Number of free parameters of a model with such data, at the parameters of a fit; None where it is too large.

    Examples
    --------
    Two modes of a gridworld, rewards of states; the constant of each reward is a matter of gauge.

    >>> from swirl import SWIRL, datasets, priors
    >>> world = datasets.gridworld(n_sessions=20, n_steps=100)
    >>> model = SWIRL(world.env, history=1, switching="independent", reward_prior=priors.Cauchy(), n_restarts=1)
    >>> fitted = model.fit(world.trajectories)  # takes some seconds
    >>> n_free_parameters(fitted.em_problem(world.trajectories), fitted.restarts_[0].parameters)
    51
    >>> 2 * (world.env.n_states - 1) + 2 + 1  # rewards, switching, the first mode
    51
    """
    chains: Chains = problem.chains
    symbols, states = np.unique(np.asarray(chains.symbols)), np.unique(np.asarray(chains.states))
    components = problem.components
    with float64():
        flat, shape = ravel_pytree(parameters)

        def shown(own: Float[Array, "number"]) -> Float[Array, "shown"]:
            tables = components.tables(components.normalised(shape(own)))
            transitions = tables.log_transitions
            seen = transitions[states] if transitions.shape[0] > 1 else transitions
            parts = (tables.log_initial, seen, tables.log_emissions[symbols])
            return jnp.concatenate([jnp.ravel(part) for part in parts])

        n_shown = jax.eval_shape(shown, flat).shape[0]
        if flat.size > MOST_PARAMETERS or flat.size * n_shown > MOST_NUMBERS:
            return None
        value, move = jax.linearize(shown, flat)
        possible = np.isfinite(np.asarray(value))  # what is ruled out stays so
        moves = jax.jit(jax.vmap(move))
        eye = np.eye(flat.size)
        parts = [eye[first : first + AT_ONCE] for first in range(0, flat.size, AT_ONCE)]
        rows = np.concatenate([numpy_tree(moves(part))[:, possible] for part in parts])
    scale = np.abs(rows).max(initial=0.0)
    if scale == 0.0:
        return 0
    singular = np.linalg.svd(rows, compute_uv=False)
    return int(np.count_nonzero(singular > RANK * singular[0]))


def information_criteria(model: EMEstimator, data: object) -> dict[str, float | int | None]:
    """Log-likelihood of a fit at its training data, its free parameters, and AIC and BIC (in nats × 2; less is better).

    Both take the fit for that of maximum likelihood, which a prior keeps it from being.
    """
    problem = model.em_problem(data)
    restart = model.restarts_[model.best_restart_]
    n, total = n_free_parameters(problem, restart.parameters), float(restart.log_likelihood_trace[-1])
    found = {"log_likelihood": total, "free_parameters": n, "aic": None, "bic": None}
    if n is None:
        return found
    return {**found, "aic": 2 * n - 2 * total, "bic": n * float(np.log(problem.n_observed)) - 2 * total}
