"""Damaged data, for asking how much of it a fit bears (paper App. B, robustness)."""

from typing import Any

import numpy as np

from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import MISSING
from swirl.estimators.base import as_trajectories


def perturb(data: Any, share: float | int, random_state: int = 0) -> Trajectories:
    """Permute the states, and the actions, of a share of all time steps among those steps.

    round(share · steps) steps are drawn from all sessions together, without replacement; their states change places
    with one another, and so do, by a permutation of its own, their actions. How often each label occurs stays, so do
    lengths, gaps, modes and all else. A missing action stays missing where it was.

    The result holds transitions that the environment rules out: fit it with ``impossible="forget"`` (the mode chain
    goes on) or ``"gap"``. An action may land at a state where it is not available, which the models refuse: use an
    environment in which every action is available at every state, as in the gridworld.

    Parameters
    ----------
    data
        Training sessions (the test stays clean).
    share
        From 0 (nothing changes) to 1.

    Examples
    --------
    >>> data = Trajectories([[0, 1, 2, 3, 4, 5]], [[0, 1, 0, 1, 0, 1]])
    >>> damaged = perturb(data, 0.5, random_state=1)
    >>> int((damaged.states[0] != data.states[0]).sum()) <= 3
    True
    >>> sorted(damaged.states[0].tolist())
    [0, 1, 2, 3, 4, 5]
    """
    data = as_trajectories(data)
    if not 0 <= share <= 1:
        raise ValueError(f"share={share}: expected a share of the steps, from 0 to 1, such as 0.3")
    rng = np.random.default_rng(random_state)
    states, actions = np.concatenate(data.states), np.concatenate(data.actions)
    chosen = rng.choice(len(states), size=round(share * len(states)), replace=False)
    states[chosen] = states[rng.permutation(chosen)]
    acted = chosen[actions[chosen] != MISSING]
    actions[acted] = actions[rng.permutation(acted)]
    edges = np.cumsum(data.lengths)[:-1]
    return Trajectories(
        np.split(states, edges),
        np.split(actions, edges),
        subjects=data.subjects,
        groups=data.groups,
        gaps=data.gaps,
        times=data.times,
        signals=data.signals,
        modes=data.modes,
        n_states=data.n_states,
        n_actions=data.n_actions,
        state_names=data.state_names,
        action_names=data.action_names,
        names=data.names,
    )
