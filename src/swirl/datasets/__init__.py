"""Datasets that the package can make or fetch, with the truth where it is known.

`dataset`      what a dataset is: environment, recordings, truth
`download`     the published recordings as files: found, fetched, checked
`gridworld`    the paper's simulated grid, with or without slips
`labyrinth`    the maze from its geometry, and mice in it: as the paper used them and with bouts kept apart
`random_walk`  recordings without intentions, in any environment: the null
`rosenberg`    that study's raw files, bout by bout and mouse by mouse
`sketch`       animals with given goals, before there are recordings
`spontaneous`  syllables of behaviour with dopamine, as the paper used them and with breaks marked
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
from swirl.datasets.labyrinth import (
    LABYRINTH_ACTIONS,
    LABYRINTH_HOME,
    LABYRINTH_WATER,
    labyrinth,
    labyrinth_bout_env,
    labyrinth_env,
)
from swirl.datasets.random_walk import random_walk
from swirl.datasets.rosenberg import RosenbergRecording, read_rosenberg, rosenberg
from swirl.datasets.sketch import sketched
from swirl.datasets.spontaneous import SYLLABLES, spontaneous, spontaneous_env

__all__ = [
    "GRIDWORLD_MODES",
    "HOME",
    "LABYRINTH_ACTIONS",
    "LABYRINTH_HOME",
    "LABYRINTH_WATER",
    "SIDE",
    "SYLLABLES",
    "WATER",
    "Dataset",
    "RosenbergRecording",
    "Truth",
    "gridworld",
    "gridworld_env",
    "gridworld_rewards",
    "gridworld_switching",
    "labyrinth",
    "labyrinth_bout_env",
    "labyrinth_env",
    "random_walk",
    "read_rosenberg",
    "rosenberg",
    "sketched",
    "spontaneous",
    "spontaneous_env",
]
