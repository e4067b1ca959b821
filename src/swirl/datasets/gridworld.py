"""The paper's simulated gridworld (§4.1): an agent that seeks water, then home, then water…"""

from numbers import Real

import numpy as np
from jaxtyping import Float

from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.datasets.dataset import Dataset, Truth, note_sizes
from swirl.errors import Faults
from swirl.inference.sampling import simulate
from swirl.rewards.soft_q import soft_optimal_policies

SIDE = 5
HOME, WATER = 0, 23
GRIDWORLD_MODES = ("water", "home")

MOVES = {"up": (-1, 0), "left": (0, -1), "down": (1, 0), "right": (0, 1), "stay": (0, 0)}


def gridworld_env(slip: float | int = 0.0) -> MDP:
    """Make the paper's 5 × 5 grid: cell = 5 · row + column; moves that leave the grid stay.

    P(s'|s,a) = (1 − slip) 1[s' = move(s,a)] + slip · mean over b of 1[s' = move(s,b)]

    Parameters
    ----------
    slip
        How often the outcome is that of an action drawn uniformly (the chosen one may come up too)
        instead of the chosen one, in [0, 1). 0 is the paper's grid.

    Examples
    --------
    >>> gridworld_env()
    MDP(25 states, 5 actions, deterministic)

    In the middle "up" mostly leads up; a fifth of the slips do as well:

    >>> gridworld_env(slip=0.1).dense()[12, 0, [7, 11, 12, 13, 17]].round(2).tolist()
    [0.92, 0.02, 0.02, 0.02, 0.02]
    """
    faults = Faults()
    _note_slip(slip, faults)
    faults.raise_if_any("The gridworld cannot be built")
    row, column = np.divmod(np.arange(SIDE**2), SIDE)
    following = _following()
    chosen = np.eye(SIDE**2)[following]
    return MDP(
        (1 - slip) * chosen + slip * chosen.mean(axis=1, keepdims=True),
        action_names=list(MOVES),
        state_names=[f"({r}, {c})" for r, c in zip(row, column, strict=True)],
        coordinates=np.column_stack([column, -row]).astype(float),
    )


def gridworld_rewards() -> Float[np.ndarray, "mode state previous"]:
    """Rewards r(s_t, s_{t−1}) of the water and the home mode; NaN where no such move exists.

    Water: 1 for arriving at the water from elsewhere and 1 for leaving it. Home: 1 for being at home.
    Slips open no new moves, so the table is the same with them.

    >>> water, home = gridworld_rewards()
    >>> [float(r) for r in (water[WATER, 22], water[22, WATER], water[WATER, WATER], home[HOME, HOME])]
    [1.0, 1.0, 0.0, 1.0]
    """
    rewards = np.full((2, SIDE**2, SIDE**2), np.nan)
    state, previous = _following().ravel(), np.repeat(np.arange(SIDE**2), len(MOVES))
    rewards[0, state, previous] = (state == WATER) ^ (previous == WATER)
    rewards[1, state, previous] = state == HOME
    return rewards


def gridworld_switching() -> Float[np.ndarray, "state mode next_mode"]:
    """P_z(z'|z, s): the water mode mostly ends at the water, the home mode at home.

    >>> gridworld_switching()[WATER].tolist()
    [[0.64, 0.36], [0.002, 0.998]]
    """
    row, column = np.divmod(np.arange(SIDE**2), SIDE)
    distance = np.abs(row - row[WATER]) + np.abs(column - column[WATER])
    leave_water = np.select([distance == 0, distance == 1], [0.36, 0.02], 0.004)
    leave_home = np.where(np.arange(SIDE**2) == HOME, 0.15, 0.002)
    return np.stack(
        [
            np.stack([1 - leave_water, leave_water], axis=-1),
            np.stack([leave_home, 1 - leave_home], axis=-1),
        ],
        axis=1,
    )


def gridworld(n_sessions: int = 200, n_steps: int = 500, random_state: int = 0, *, slip: float | int = 0.0) -> Dataset:
    """Simulate the paper's gridworld (§4.1): an agent that seeks water, then home, then water…

    Constants are those of the authors' data (design.md#recordings): temperature 1, discount 0.95, start cell and
    mode uniform.

    Parameters
    ----------
    n_sessions, n_steps
        How many sessions, and the steps of each.
    random_state
        Seed: the same seed, the same data.
    slip
        How often a move comes out as that of an action drawn uniformly, in [0, 1); see `gridworld_env`. The
        rewards stay the same, and the agent knows of the slips: its policies are soft-optimal with them.

    Examples
    --------
    >>> data = gridworld(n_sessions=3, n_steps=20)
    >>> len(data.trajectories), data.env.n_states, data.truth.mode_names
    (3, 25, ('water', 'home'))
    >>> gridworld(n_sessions=3, n_steps=20, slip=0.2).env
    MDP(25 states, 5 actions, up to 5 successors)
    """
    faults = Faults()
    note_sizes(n_sessions, n_steps, faults)
    _note_slip(slip, faults)
    faults.raise_if_any("The gridworld cannot be simulated")
    env, rewards = gridworld_env(slip), gridworld_rewards()
    discount, temperature = 0.95, 1.0
    histories = Histories.reachable(env.successors, length=2)
    state, previous = histories.table.T
    given = np.where(previous < 0, np.nanmean(rewards[:, state], axis=2), rewards[:, state, previous])
    policies = soft_optimal_policies(
        histories.successors, given, discount=discount, temperature=temperature, per_action=False
    )
    states, actions, modes = simulate(
        histories,
        initial_states=np.full(env.n_states, 1 / env.n_states),
        initial_modes=np.array([0.5, 0.5]),
        mode_transitions=gridworld_switching(),
        policies=policies,
        n_sessions=n_sessions,
        n_steps=n_steps,
        rng=np.random.default_rng(random_state),
    )
    paths = list(modes)
    trajectories = Trajectories(
        list(states), list(actions), modes=paths, n_states=env.n_states, n_actions=env.n_actions
    )
    truth = Truth(
        rewards,
        gridworld_switching(),
        np.array([0.5, 0.5]),
        paths,
        discount,
        temperature,
        GRIDWORLD_MODES,
    )
    return Dataset(env, trajectories, truth)


def _following() -> np.ndarray:
    """The cell to which each move leads when nothing slips, [state, action]."""
    row, column = np.divmod(np.arange(SIDE**2), SIDE)
    return np.stack(
        [
            SIDE * np.clip(row + down, 0, SIDE - 1) + np.clip(column + right, 0, SIDE - 1)
            for down, right in MOVES.values()
        ],
        axis=1,
    )


def _note_slip(slip: float | int, faults: Faults) -> None:
    number = isinstance(slip, Real) and not isinstance(slip, bool)
    if not number or not 0 <= slip < 1:  # NaN is not in there either
        faults.add(f"slip={slip!r}: give a probability ≥ 0 and below 1 (at 1 the chosen action would have no effect)")
