"""The observed information: against the curvature of a plain filter, against refits, and where it is refused."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from swirl import precision
from swirl.analysis.information import (
    NoInformationError,
    inverse_root,
    observed_information,
    unit_counts,
    unit_slopes,
)
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.swirl import SWIRL
from swirl.inference.messages import forward
from swirl.priors import Cauchy, Gaussian

# ---------------------------------------------------------------------- the curvature itself

RING = MDP.deterministic([[0, 1], [1, 2], [2, 0]])


@cache
def tiny(kind="value"):
    """Three places in a ring, two modes, four short sessions; an action is missing, and a session has a gap."""
    rng = np.random.default_rng(3)
    states, actions = [], []
    for _ in range(4):
        path, done = [0], []
        for _ in range(24):
            done.append(int(rng.random() < (0.85 if (len(done) // 8) % 2 else 0.2)))
            path.append((path[-1] + done[-1]) % 3)
        states.append(np.array(path[:-1]))
        actions.append(np.array(done))
    actions[1][5] = -1  # where it led is known
    data = Trajectories(states, actions, gaps=[[], [], [10], []], n_states=3, n_actions=2)
    settings = {
        "value": {"reward_prior": Gaussian(0.3, of="value"), "switching": "state", "history": 2},
        "cauchy": {"reward_prior": Cauchy(0.5), "switching": "state", "history": 2},
        "table": {"reward": "state-action", "switching": "independent", "history": 1},
    }[kind]
    model = SWIRL(RING, n_modes=2, n_restarts=2, max_iter=500, **settings).fit(data)
    problem = model.em_problem(data)
    return model, data, problem, model.restarts_[model.best_restart_].parameters


def plain_objective(problem, like):
    """Log-likelihood + log prior as a function of all numbers: the forward filter of every chain."""
    components, chains = problem.components, problem.chains
    unflat = ravel_pytree(jax.tree.map(jnp.asarray, like))[1]
    lengths = np.diff(chains.offsets)
    steps = np.minimum(chains.offsets[:-1, None] + np.arange(24), len(chains.symbols) - 1)

    def objective(x):
        parameters = components.normalised(unflat(x))
        tables = components.tables(parameters)
        emissions = jnp.concatenate([tables.log_emissions, jnp.zeros((1, components.emissions.n_modes))])
        seen, switching = emissions[chains.symbols[steps]], tables.log_transitions[chains.states[steps]]
        each = jax.vmap(lambda *chain: forward(tables.log_initial, *chain).log_normaliser)(switching, seen, lengths)
        return components.log_prior(parameters) + jnp.sum(each)

    return objective


@pytest.mark.parametrize(
    "kind", [*(pytest.param(kind, marks=pytest.mark.slow) for kind in ("value", "cauchy")), "table"]
)
def test_it_is_the_curvature_of_the_plain_filter(kind):
    """To 1e-6 of the largest entry; slopes to 1e-8, as Fisher's identity is exact."""
    _, _, problem, parameters = tiny(kind)
    found = observed_information(problem.components, problem.chains, parameters)
    with precision.float64():
        objective = plain_objective(problem, parameters)
        slope, curvature = (np.asarray(jax.jit(f(objective))(found.point)) for f in (jax.grad, jax.hessian))
    np.testing.assert_allclose(found.slope, slope, atol=1e-8)
    np.testing.assert_allclose(found.matrix, -curvature, atol=1e-6 * np.abs(curvature).max())
    np.testing.assert_array_equal(found.matrix, found.matrix.T)
    # Nothing bends upwards, and along what a normalisation leaves free nothing bends at all.
    values = np.linalg.eigvalsh(found.matrix)
    assert values.min() > -1e-6 * values.max()


def test_slopes_of_steps_are_differences_of_counts():
    """By hand: move one number and count again."""
    _, _, problem, parameters = tiny()
    found = observed_information(problem.components, problem.chains, parameters)
    with precision.float64():
        unflat = ravel_pytree(jax.tree.map(jnp.asarray, parameters))[1]
        moved = [precision.numpy_tree(unflat(jnp.asarray(found.point).at[4].add(h))) for h in (1e-3, -1e-3)]
    all_chains = np.zeros(problem.chains.n_chains, dtype=int)
    up, down = (unit_counts(problem.components, problem.chains, one, all_chains) for one in moved)
    slope = (up.emissions.sum(axis=1) - down.emissions.sum(axis=1))[0] / 2e-3
    np.testing.assert_allclose(found.step_slopes[4], slope, atol=1e-5)
    np.testing.assert_allclose(found.step_slopes.sum(axis=1), 0, atol=1e-6)  # steps only change hands


def test_what_sessions_pull_adds_up_to_the_slope():
    _, _, problem, parameters = tiny()
    found = observed_information(problem.components, problem.chains, parameters)
    units = np.array([0, 1, 2, 2, 3])  # the third session has two chains
    counts = unit_counts(problem.components, problem.chains, parameters, units)
    assert counts.log_likelihood.shape == (4,)
    pulls = unit_slopes(problem.components, parameters, counts)
    np.testing.assert_allclose(pulls.sum(axis=0), 0, atol=1e-9)
    with precision.float64():
        objective = plain_objective(problem, parameters)
        alone = replace(problem.chains, offsets=problem.chains.offsets[:2])  # the first session only
        first = plain_objective(problem._replace(chains=alone), parameters)
        unflat = ravel_pytree(jax.tree.map(jnp.asarray, parameters))[1]
        x = jnp.asarray(found.point)

        def prior(x):
            return problem.components.log_prior(problem.components.normalised(unflat(x)))

        whole, own, none = (np.asarray(jax.jit(jax.grad(f))(x)) for f in (objective, first, prior))
    np.testing.assert_allclose(pulls[0], own - none - (whole - none) / 4, atol=1e-8)


def test_the_root_leaves_alone_what_is_not_known():
    rng = np.random.default_rng(0)
    some = rng.normal(size=(5, 3))
    root = inverse_root(some @ some.T)
    assert root.shape == (5, 3)
    np.testing.assert_allclose(some.T @ root @ root.T @ some, np.eye(3), atol=1e-9)
    nothing = np.zeros((4, 4))
    nothing[0, 0] = 4.0
    np.testing.assert_allclose(inverse_root(nothing) @ inverse_root(nothing).T, np.diag([0.25, 0, 0, 0]))


def test_where_the_objective_bends_upwards_it_is_refused():
    with pytest.raises(NoInformationError, match="no top: its objective bends upwards in 1 direction"):
        inverse_root(np.array([[1.0, 3.0], [3.0, 1.0]]))
