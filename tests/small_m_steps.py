"""M-steps of rewards in the small worlds: what the tests of every reward form share."""

import jax
import numpy as np

from small_worlds import N_ACTIONS, N_MODES, lifted
from swirl.precision import float64, numpy_tree
from swirl.rewards.state import StateReward

DISCOUNT = 0.9
TEMPERATURE = np.array([1.0, 0.5])


def component(prior, length=2, kind="deterministic", discount=DISCOUNT, temperature=TEMPERATURE):
    return StateReward.build(lifted(length, kind), prior, discount=discount, temperature=temperature)


def random_counts(histories, seed=0, scale=30.0):
    """Expected counts over contexts and actions: not whole, some contexts never seen, none where unavailable."""
    rng = np.random.default_rng(seed)
    counts = scale * rng.gamma(0.5, size=(N_MODES, histories.n_contexts, N_ACTIONS))
    counts[:, rng.random(histories.n_contexts) < 0.2] = 0
    counts *= np.asarray(histories.successors.available)[: histories.n_contexts]
    return counts.reshape(N_MODES, -1).T


@jax.jit
def step(rewards, parameters, counts):
    return rewards.improve(parameters, counts)


@jax.jit
def evaluate(rewards, parameters, counts):
    log_pi = rewards.log_emissions(parameters)
    fitted = jax.numpy.sum(jax.numpy.where(counts > 0, counts * log_pi, 0.0))
    return fitted + rewards.log_prior(parameters), jax.numpy.exp(log_pi), rewards.fitted(parameters)


def in_double(function, *args):
    with float64():
        return numpy_tree(function(*args))


def start(rewards, seed=0):
    return rewards.random_parameters(np.random.default_rng(seed), 1.0)


def optimum(rewards, counts, steps=40):
    parameters = start(rewards)
    for _ in range(steps):
        parameters = in_double(step, rewards, parameters, counts)
    return parameters
