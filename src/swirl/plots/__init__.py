"""Figures: every function takes numpy arrays and an `ax`, draws, and returns the `ax`.

No pyplot state is used, so a plot made here leaves no open window or figure behind.  `reward_panels` draws
several panels and returns a Figure; `save` writes a Figure to files.
"""

from swirl.plots.durations import bout_durations
from swirl.plots.graph_maps import graph_map
from swirl.plots.grid_maps import mode_transition_map, reward_map, reward_panels, split_key, split_reward_map
from swirl.plots.heatmaps import agreement_matrix, transition_map
from swirl.plots.history_dependence import history_dependence
from swirl.plots.model_comparison import score_bands, score_differences, scores_by_modes
from swirl.plots.move_maps import arrival_map, moves_map, preferences, traffic
from swirl.plots.paths import paths_by_mode
from swirl.plots.policies import policy_map, preference_map
from swirl.plots.predictive_checks import distribution_check, occupancy_check
from swirl.plots.rasters import mode_prevalence, mode_raster
from swirl.plots.save import save
from swirl.plots.scores import objective_traces, score_boxes
from swirl.plots.segments import segmentation_strip
from swirl.plots.signals import restart_agreement, signal_by_mode, signal_correlation, triggered_average
from swirl.plots.state_maps import state_map, transitions_by_state
from swirl.plots.style import mode_colours, named_mode_colours, new_axes

__all__ = [
    "agreement_matrix",
    "arrival_map",
    "bout_durations",
    "distribution_check",
    "graph_map",
    "history_dependence",
    "mode_colours",
    "mode_prevalence",
    "mode_raster",
    "mode_transition_map",
    "moves_map",
    "named_mode_colours",
    "new_axes",
    "objective_traces",
    "occupancy_check",
    "paths_by_mode",
    "policy_map",
    "preference_map",
    "preferences",
    "restart_agreement",
    "reward_map",
    "reward_panels",
    "save",
    "score_bands",
    "score_boxes",
    "score_differences",
    "scores_by_modes",
    "segmentation_strip",
    "signal_by_mode",
    "signal_correlation",
    "split_key",
    "split_reward_map",
    "state_map",
    "traffic",
    "transition_map",
    "transitions_by_state",
    "triggered_average",
]
