"""Datasets that the package can make or fetch, with the truth where it is known.

`dataset`          what a dataset is: environment, recordings, truth
`gridworld`        the paper's simulated grid, with or without slips
`labyrinth_graph`  the maze of Rosenberg et al. (2021), from its geometry
`random_walk`      recordings without intentions, in any environment: the null
"""

from swirl.datasets.dataset import Dataset, Truth
from swirl.datasets.gridworld import (
    GRIDWORLD_MODES,
    HOME,
    SIDE,
    WATER,
    gridworld,
    gridworld_env,
    gridworld_rewards,
    gridworld_switching,
)
from swirl.datasets.labyrinth_graph import LABYRINTH_ACTIONS, LABYRINTH_HOME, LABYRINTH_WATER, labyrinth_env
from swirl.datasets.random_walk import random_walk

__all__ = [
    "GRIDWORLD_MODES",
    "HOME",
    "LABYRINTH_ACTIONS",
    "LABYRINTH_HOME",
    "LABYRINTH_WATER",
    "SIDE",
    "WATER",
    "Dataset",
    "Truth",
    "gridworld",
    "gridworld_env",
    "gridworld_rewards",
    "gridworld_switching",
    "labyrinth_env",
    "random_walk",
]
