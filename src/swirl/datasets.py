"""Datasets that the package can make or fetch, with the truth where it is known."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from swirl.history import Histories
from swirl.mdp import MDP
from swirl.model import SWIRL
from swirl.simulate import simulate
from swirl.soft_q import soft_optimal_policies
from swirl.trajectories import Trajectories

SIDE = 5
HOME, WATER = 0, 23
GRIDWORLD_MODES = ("water", "home")


@dataclass(frozen=True)
class Truth:
    """What generated a simulated dataset."""

    rewards: Float[np.ndarray, "mode state previous"]
    """NaN where no move leads from `previous` to `state`."""
    mode_transitions: Float[np.ndarray, "state mode next_mode"]
    initial_modes: Float[np.ndarray, "mode"]
    modes: list[Int[np.ndarray, "time"]]
    discount: float
    temperature: float
    mode_names: tuple[str, ...]


@dataclass(frozen=True)
class Dataset:
    """An environment, recordings in it and, where known, the truth behind them."""

    env: MDP
    trajectories: Trajectories
    truth: Truth | None = None

    def true_model(self) -> SWIRL:
        """The model that generated the data, ready to score, predict and sample: what a fit is measured against.

        >>> data = gridworld(n_sessions=4, n_steps=50)
        >>> round(data.true_model().score(data.trajectories), 1)
        -1.5
        """
        if self.truth is None:
            raise ValueError("the truth behind these recordings is not known")
        return SWIRL.from_parameters(
            self.env,
            history=self.truth.rewards.ndim - 1,
            rewards=self.truth.rewards,
            mode_transitions=self.truth.mode_transitions,
            initial_modes=self.truth.initial_modes,
            temperature=self.truth.temperature,
            discount=self.truth.discount,
        )


def gridworld_env() -> MDP:
    """Make the paper's 5 × 5 grid: cell = 5 · row + column; moves that leave the grid stay.

    >>> gridworld_env().n_states
    25
    """
    row, column = np.divmod(np.arange(SIDE**2), SIDE)
    moves = {"up": (-1, 0), "left": (0, -1), "down": (1, 0), "right": (0, 1), "stay": (0, 0)}
    following = np.stack(
        [
            SIDE * np.clip(row + down, 0, SIDE - 1) + np.clip(column + right, 0, SIDE - 1)
            for down, right in moves.values()
        ],
        axis=1,
    )
    return MDP.deterministic(
        following,
        action_names=list(moves),
        state_names=[f"({r}, {c})" for r, c in zip(row, column, strict=True)],
        coordinates=np.column_stack([column, -row]).astype(float),
    )


def gridworld_rewards() -> Float[np.ndarray, "mode state previous"]:
    """Rewards r(s_t, s_{t−1}) of the water and the home mode; NaN where no such move exists.

    Water: 1 for arriving at the water from elsewhere and 1 for leaving it. Home: 1 for being at home.
    """
    env = gridworld_env()
    rewards = np.full((2, env.n_states, env.n_states), np.nan)
    edges = np.unique(np.column_stack([env.successors.next[..., 0].ravel(), np.repeat(np.arange(25), 5)]), axis=0)
    state, previous = edges.T
    rewards[0, state, previous] = (state == WATER) ^ (previous == WATER)
    rewards[1, state, previous] = state == HOME
    return rewards


def gridworld_switching() -> Float[np.ndarray, "state mode next_mode"]:
    """P_z(z'|z, s): the water mode mostly ends at the water, the home mode at home."""
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


def gridworld(n_sessions: int = 200, n_steps: int = 500, random_state: int = 0) -> Dataset:
    """Simulate the paper's gridworld (§4.1): an agent that seeks water, then home, then water…

    Constants are those of the authors' data (DESIGN §5): temperature 1, discount 0.95, start cell and
    mode uniform.

    Examples
    --------
    >>> data = gridworld(n_sessions=3, n_steps=20)
    >>> len(data.trajectories), data.env.n_states, data.truth.mode_names
    (3, 25, ('water', 'home'))
    """
    env, rewards = gridworld_env(), gridworld_rewards()
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
