"""Oracles for the messages: plain numpy loops in linear space, and enumeration of every mode path.

Arguments are logarithms of one chain without padding: initial [mode], transitions [time, mode, next_mode]
(last row unused), likelihoods [time, mode].  Slow and obvious on purpose.
"""

from itertools import product

import numpy as np


def random_chain(rng, n_steps=6, n_modes=3, n_states=4):
    """A chain with state-dependent switching; returns (log_initial, log_transitions, log_likelihoods)."""
    table = rng.dirichlet(np.ones(n_modes), size=(n_states, n_modes))
    states = rng.integers(n_states, size=n_steps)
    likelihoods = rng.uniform(0.01, 1.0, size=(n_steps, n_modes))
    return np.log(rng.dirichlet(np.ones(n_modes))), np.log(table[states]), np.log(likelihoods)


def enumerate_paths(log_initial, log_transitions, log_likelihoods):
    """All mode paths with log p(path, a_1:T)."""
    n_steps, n_modes = log_likelihoods.shape
    paths = list(product(range(n_modes), repeat=n_steps))
    log_joint = []
    for path in paths:
        total = log_initial[path[0]] + log_likelihoods[0, path[0]]
        for t in range(n_steps - 1):
            total += log_transitions[t, path[t], path[t + 1]] + log_likelihoods[t + 1, path[t + 1]]
        log_joint.append(total)
    return np.array(paths), np.array(log_joint)


def by_enumeration(log_initial, log_transitions, log_likelihoods):
    """Everything the messages compute, each straight from its definition as a sum over mode paths."""
    n_steps, n_modes = log_likelihoods.shape
    chain = (log_initial, log_transitions, log_likelihoods)
    paths, log_joint = enumerate_paths(*chain)
    weights = np.exp(log_joint - log_joint.max())
    weights /= weights.sum()

    totals = [0.0]
    filtered = np.zeros((n_steps, n_modes))
    predicted = np.zeros((n_steps, n_modes))
    for t in range(n_steps):
        blind = log_likelihoods[: t + 1].copy()
        blind[t] = 0.0
        for out, seen in ((filtered, log_likelihoods[: t + 1]), (predicted, blind)):
            some_paths, some_log_joint = enumerate_paths(log_initial, log_transitions, seen)
            probability = np.exp(some_log_joint)
            for mode in range(n_modes):
                out[t, mode] = probability[some_paths[:, t] == mode].sum() / probability.sum()
            if out is filtered:
                totals.append(np.log(probability.sum()))

    marginals = np.zeros((n_steps, n_modes))
    pairs = np.zeros((n_steps, n_modes, n_modes))
    for path, weight in zip(paths, weights, strict=True):
        for t in range(n_steps):
            marginals[t, path[t]] += weight
            if t + 1 < n_steps:
                pairs[t, path[t], path[t + 1]] += weight
    best = int(np.argmax(log_joint))
    return {
        "log_normaliser": np.log(np.exp(log_joint - log_joint.max()).sum()) + log_joint.max(),
        "log_increments": np.diff(totals),
        "filtered": filtered,
        "predicted": predicted,
        "marginals": marginals,
        "pairs": pairs,
        "path": paths[best],
        "path_log_probability": log_joint[best],
    }


def forward_loop(log_initial, log_transitions, log_likelihoods):
    """The loop in the docstring of `messages.forward`: (increments, filtered, predicted)."""
    transitions, likelihoods = np.exp(log_transitions), np.exp(log_likelihoods)
    increments = np.zeros(len(likelihoods))
    filtered, predicted = np.zeros_like(likelihoods), np.zeros_like(likelihoods)
    prediction = np.exp(log_initial)
    for t in range(len(likelihoods)):
        predicted[t] = prediction
        joint = predicted[t] * likelihoods[t]
        increments[t] = np.log(np.sum(joint))
        filtered[t] = joint / np.sum(joint)
        prediction = filtered[t] @ transitions[t]
    return increments, filtered, predicted


def backward_loop(log_transitions, log_likelihoods, increments):
    """The loop in the docstring of `messages.smooth`: β_t(z) / p(a_{t+1:T} | a_1:t)."""
    transitions, likelihoods = np.exp(log_transitions), np.exp(log_likelihoods)
    beta = np.ones_like(likelihoods)
    for t in reversed(range(len(likelihoods) - 1)):
        beta[t] = transitions[t] @ (likelihoods[t + 1] * beta[t + 1]) / np.exp(increments[t + 1])
    return beta


def smooth_loop(log_initial, log_transitions, log_likelihoods):
    """Mode marginals γ_t by plain loops."""
    increments, filtered, _ = forward_loop(log_initial, log_transitions, log_likelihoods)
    joint = filtered * backward_loop(log_transitions, log_likelihoods, increments)
    return joint / joint.sum(axis=1, keepdims=True)


def pairs_loop(log_initial, log_transitions, log_likelihoods):
    """Mode pairs ξ_t by plain loops; the last row is zero."""
    increments, filtered, _ = forward_loop(log_initial, log_transitions, log_likelihoods)
    beta = backward_loop(log_transitions, log_likelihoods, increments)
    pairs = np.zeros_like(log_transitions)
    for t in range(len(log_likelihoods) - 1):
        ahead = np.exp(log_likelihoods[t + 1]) * beta[t + 1]
        joint = filtered[t][:, None] * np.exp(log_transitions[t]) * ahead[None, :]
        pairs[t] = joint / joint.sum()
    return pairs


def viterbi_loop(log_initial, log_transitions, log_likelihoods):
    """The loop in the docstring of `messages.viterbi`: (path, its log-probability)."""
    n_steps, n_modes = log_likelihoods.shape
    score = log_initial + log_likelihoods[0]
    came_from = np.zeros((n_steps, n_modes), dtype=int)
    for t in range(n_steps - 1):
        arriving = score[:, None] + log_transitions[t]
        came_from[t] = np.argmax(arriving, axis=0)
        score = np.max(arriving, axis=0) + log_likelihoods[t + 1]
    path = np.zeros(n_steps, dtype=int)
    path[-1] = np.argmax(score)
    for t in reversed(range(n_steps - 1)):
        path[t] = came_from[t, path[t + 1]]
    return path, np.max(score)
