"""Recordings without intentions: the null dataset."""

import numpy as np

from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.datasets.dataset import Dataset, note_sizes
from swirl.errors import Faults
from swirl.inference.sampling import simulate


def random_walk(env: MDP, n_sessions: int = 200, n_steps: int = 500, random_state: int = 0) -> Dataset:
    """Walk without memory or aim: every step takes an available action, all equally likely.

    This is the null dataset: there are no modes to find and no reward to seek, so no switching model may
    beat one mode on it, nor a longer history a shorter one.  One mode holds it exactly: with the reward
    r(s) = −α log(number of actions available in s) all values are 0 and the policy is uniform; its score is
    the mean of −log(that number).  Sessions start in states drawn uniformly.  The dataset has no `truth`.

    Parameters
    ----------
    env
        Where to walk, such as `gridworld_env()` or `labyrinth_env(legal_only=True)`.
    n_sessions, n_steps
        How many sessions, and the steps of each.
    random_state
        Seed: the same seed, the same data.

    Examples
    --------
    >>> from swirl.datasets import labyrinth_env
    >>> data = random_walk(labyrinth_env(legal_only=True), n_sessions=3, n_steps=20)
    >>> data.trajectories
    Trajectories(3 sessions, 60 steps (20 each), 127 states, 4 actions)
    >>> data.truth is None
    True
    """
    faults = Faults()
    if not isinstance(env, MDP):
        faults.add(f"env is {type(env).__name__}: expected swirl.MDP; build it as swirl.MDP(transitions)")
    note_sizes(n_sessions, n_steps, faults)
    faults.raise_if_any("The walk cannot be simulated")
    uniform = env.available / env.available.sum(axis=1, keepdims=True)
    states, actions, _ = simulate(
        Histories.reachable(env.successors, length=1),
        initial_states=np.full(env.n_states, 1 / env.n_states),
        initial_modes=np.ones(1),
        mode_transitions=np.ones((env.n_states, 1, 1)),
        policies=uniform[None],
        n_sessions=n_sessions,
        n_steps=n_steps,
        rng=np.random.default_rng(random_state),
    )
    trajectories = Trajectories(
        list(states),
        list(actions),
        n_states=env.n_states,
        n_actions=env.n_actions,
        state_names=env.state_names,
        action_names=env.action_names,
    )
    return Dataset(env, trajectories)
