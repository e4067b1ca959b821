"""Figures: every function takes numpy arrays and an `ax`, draws, and returns the `ax`.

No pyplot state is used, so a plot made here leaves no open window or figure behind.  `reward_panels` and
`power_curves` draw several panels and return a Figure; `save` writes a Figure to files.

Keywords mean the same everywhere: `ax` is where to draw (by default a new figure), `title` stands above at the left,
`marks` are states to outline and name (name → state), `vmin` and `vmax` the ends of the scale (by default the smallest
and the largest value), `colours` a colormap, or one colour for each mode, `colour_bar` whether there is one, `label`
what is measured, `mode_names` one name per mode, and `shown` the states to draw where they are named and not placed.
"""

from swirl.plots.durations import bout_durations
from swirl.plots.goals import goal_map, search_map, time_to_goal
from swirl.plots.grid_maps import mode_transition_map, reward_map, reward_panels, split_key, split_reward_map
from swirl.plots.heatmaps import agreement_matrix, transition_map
from swirl.plots.history_dependence import history_dependence
from swirl.plots.model_comparison import score_bands, score_differences, scores_by_modes
from swirl.plots.move_maps import (
    arrival_map,
    example_paths,
    moves_map,
    paths_by_mode,
    policy_map,
    preference_map,
    preferences,
    traffic,
)
from swirl.plots.power import power_curves
from swirl.plots.predictive_checks import distribution_check, occupancy_check
from swirl.plots.scores import objective_traces, restart_agreement, score_boxes
from swirl.plots.segments import mode_prevalence, mode_raster, segmentation_strip
from swirl.plots.signals import signal_by_mode, signal_correlation, triggered_average
from swirl.plots.state_maps import environment_map, graph_map, state_map, transitions_by_state
from swirl.plots.style import mode_colours, named_mode_colours, new_axes, save

__all__ = [
    "agreement_matrix",
    "arrival_map",
    "bout_durations",
    "distribution_check",
    "environment_map",
    "example_paths",
    "goal_map",
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
    "power_curves",
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
    "search_map",
    "segmentation_strip",
    "signal_by_mode",
    "signal_correlation",
    "split_key",
    "split_reward_map",
    "state_map",
    "time_to_goal",
    "traffic",
    "transition_map",
    "transitions_by_state",
    "triggered_average",
]
