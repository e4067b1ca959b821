"""Small random problems that many tests share: the same sizes everywhere, so that each shape compiles once."""

import dataclasses
from functools import cache

import numpy as np

from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.successors import Successors
from swirl.data.trajectories import Trajectories
from swirl.estimators.swirl import SWIRL

N_STATES, N_ACTIONS, N_MODES = 5, 3, 2


@cache
def world(kind="deterministic"):
    """A small MDP, every state reachable from every other; two (state, action) pairs do not exist.

    The stochastic one slips to another action's successor, so both have the same histories and the same shapes.
    """
    state = np.arange(N_STATES)
    following = np.stack([(state + 1) % N_STATES, (2 * state + 3) % N_STATES, state], axis=1)
    available = np.ones((N_STATES, N_ACTIONS), dtype=bool)
    available[1, 2] = available[3, 1] = False
    if kind == "deterministic":
        return MDP.deterministic(following, available=available)
    dense = np.zeros((N_STATES, N_ACTIONS, N_STATES))
    for s in range(N_STATES):
        actions = np.flatnonzero(available[s])
        for i, a in enumerate(actions):
            dense[s, a, following[s, a]] += 0.7 - 0.1 * i
            dense[s, a, following[s, actions[i - 1]]] += 0.3 + 0.1 * i
    return MDP(dense, available=available)


@cache
def lifted(length=2, kind="deterministic"):
    """Histories of a world; the deterministic one has an unused second branch, so both compile alike."""
    histories = Histories.reachable(world(kind).successors, length)
    tables = histories.successors
    if tables.n_branches == 1:
        spare = np.zeros_like(tables.probability)
        tables = Successors(
            np.repeat(tables.next, 2, axis=2), np.concatenate([tables.probability, spare], axis=2), tables.available
        )
    return dataclasses.replace(histories, successors=tables)


@cache
def truth(kind="deterministic", history=1, per_action=False, seed=0):
    """A model with known parameters: two modes that want different things and keep to it for a while."""
    env, rng = world(kind), np.random.default_rng(seed)
    histories = Histories.reachable(env.successors, history)
    shape = (N_MODES, histories.n_histories, *([N_ACTIONS] if per_action else []))
    stay = rng.uniform(0.7, 0.97, size=(N_STATES, N_MODES))
    table = np.empty((N_STATES, N_MODES, N_MODES))
    for z in range(N_MODES):
        table[:, z, z], table[:, z, 1 - z] = stay[:, z], 1 - stay[:, z]
    return SWIRL.from_parameters(
        env,
        history=history,
        rewards=2.0 * rng.standard_normal(shape),
        histories=histories.table,
        mode_transitions=table,
        initial_modes=[0.6, 0.4],
    )


@cache
def recording(kind="deterministic", history=1, per_action=False, seed=0, n_sessions=6, n_steps=50):
    """Sessions drawn from `truth`, with some actions missing and one gap."""
    drawn = truth(kind, history, per_action).sample(n_sessions, n_steps, random_state=seed)
    rng = np.random.default_rng(seed)
    actions = [np.where(rng.random(n_steps) < 0.05, -1, a) for a in drawn.actions]
    gaps = [[n_steps // 2], *[[]] * (n_sessions - 1)]
    return Trajectories(drawn.states, actions, gaps=gaps, modes=drawn.modes, n_states=N_STATES, n_actions=N_ACTIONS)


def with_goals(env, form, goals, *, cost, temperature=1.0, kind=SWIRL):
    """A model with goals (mode → states), as fitted: nothing is solved, and choices are even."""
    n_modes = 1 + max(goals)
    histories = Histories.reachable(env.successors, 1)
    rewards = np.zeros((n_modes, env.n_states))
    for mode, states in goals.items():
        rewards[mode, list(states)] = cost * temperature
    available = np.asarray(env.available, float)
    with np.errstate(divide="ignore"):
        log_policies = np.log(np.stack([available / available.sum(axis=1, keepdims=True)] * n_modes))
    model = kind(env, n_modes=n_modes, history=1, reward=form, temperature=temperature)
    model._set_rewards(histories, rewards, log_policies)
    stay = np.where(np.eye(n_modes, dtype=bool), 0.9, 0.1 / max(n_modes - 1, 1))
    table = np.broadcast_to(stay, (env.n_states, n_modes, n_modes)).copy()
    for mode, states in goals.items():
        table[list(states), mode] = 1 / n_modes  # a goal that is reached is often dropped
    model._set_chain(table, np.full(n_modes, 1 / n_modes))
    model.initial_states_ = np.full(env.n_states, 1 / env.n_states)
    model.mode_temperatures_ = np.full(n_modes, float(temperature))
    return model


def two_factors():
    """One state, four actions = two bits that switch slowly and independently: two modes can follow either bit.

    Half of the sessions are the others with their bits exchanged, so both are exactly as good.
    """
    rng, n_steps = np.random.default_rng(0), 60
    flips = rng.random((12, n_steps, 2)) < 0.05
    hidden = (np.cumsum(flips, axis=1) + rng.integers(2, size=(12, 1, 2))) % 2
    bits = np.where(rng.random(hidden.shape) < 0.95, hidden, 1 - hidden)
    actions = [2 * b[:, i] + b[:, 1 - i] for i in (0, 1) for b in bits]
    states = [np.zeros(n_steps, int)] * len(actions)
    return MDP.deterministic(np.zeros((1, 4), dtype=int)), Trajectories(states, actions, n_states=1, n_actions=4)
