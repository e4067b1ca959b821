"""Figures: every function takes numpy arrays and an `ax`, draws, and returns the `ax`.

No pyplot state is used, so a plot made here leaves no open window or figure behind.  `reward_panels` draws
several panels and returns a Figure; `save` writes a Figure to files.
"""

from swirl.plots.figure import save
from swirl.plots.grid import mode_transition_map, reward_map
from swirl.plots.panels import reward_panels
from swirl.plots.scores import objective_traces, score_boxes
from swirl.plots.segments import mode_probability, segmentation_strip
from swirl.plots.split import split_key, split_reward_map
from swirl.plots.style import mode_colours, new_axes

__all__ = [
    "mode_colours",
    "mode_probability",
    "mode_transition_map",
    "new_axes",
    "objective_traces",
    "reward_map",
    "reward_panels",
    "save",
    "score_boxes",
    "segmentation_strip",
    "split_key",
    "split_reward_map",
]
