"""What a mode wants: rewards of states, by the state before, of actions, and at one place."""

import numpy as np

from swirl.analysis.decoded import DecodedFit
from swirl.analysis.state_summaries import DoesNotApply, action_rewards, actions_are_states, pair_rewards, state_rewards
from swirl.data.geometry import kind_of
from swirl.data.segments import split_at_gaps
from swirl.plots.fit.panels import MAX_NAMES, Drawn, colours, drawn, figure_of, long_table, map_size, panels, shown
from swirl.plots.grid_maps import split_key
from swirl.plots.heatmaps import transition_map
from swirl.plots.history_dependence import history_dependence
from swirl.plots.move_maps import arrival_map, is_split
from swirl.plots.state_maps import state_map
from swirl.plots.style import printed


def gauge(fit: DecodedFit) -> str:
    """What a reward is called beside its scale: which of the equivalent ones it is; that of a goal has none."""
    if fit.least_norm is not None or fit.model.map_gauge == "canonical":
        return "reward (least norm)"
    return "reward (fitted gauge)" if "canonical" in fit.model.gauges else "reward"


def rewards(fit: DecodedFit) -> Drawn:
    """Draw the reward of each state."""
    env, values = fit.environment(), state_rewards(fit.model, fit.least_norm)
    axes = panels(fit, map_size(env))
    for mode, ax in enumerate(axes):
        state_map(env, values[mode], title=fit.mode_names[mode], label=gauge(fit), shown=shown(fit), ax=ax)
    return drawn(axes, {"mode": 0, "state": 1}, {"reward": values}, fit)


def rewards_by_previous(fit: DecodedFit) -> Drawn:
    """Draw the reward of each state by the state before."""
    env, values = fit.environment(), pair_rewards(fit.model, fit.least_norm)
    split = all(is_split(env, table) for table in values)
    axes = panels(fit, map_size(env, table=True), fit.n_modes + split)
    if split:
        split_key(ax=axes.pop())
    for mode, ax in enumerate(axes):
        arrival_map(env, values[mode], title=fit.mode_names[mode], label=gauge(fit), shown=shown(fit), ax=ax)
    return drawn(axes, {"mode": 0, "state": 1, "previous": 1}, {"reward": values}, fit)


def rewards_by_action(fit: DecodedFit) -> Drawn:
    """Draw the reward of each action in each state, for r(h, a) where states have no places."""
    env = fit.environment()
    if not fit.model.gauges or fit.model.rewards_.ndim != 3:
        raise DoesNotApply("the reward has no action argument")
    if kind_of(env) != "names" or env.n_actions > MAX_NAMES:
        raise DoesNotApply("states have places, on which rewards of actions are not drawn; see preferences")
    values = action_rewards(fit.model)
    actions = list(env.action_names or map(str, range(env.n_actions)))
    axes = panels(fit, map_size(env, table=True))
    same = actions_are_states(env) and len(shown(fit)) == env.n_states
    for mode, ax in enumerate(axes):
        transition_map(
            values[mode][shown(fit)], list(fit.states(shown(fit))), action_names=actions, diagonal=not same,
            title=fit.mode_names[mode], xlabel="next" if same else "action", label="reward (fitted gauge)", ax=ax,
        )  # fmt: skip
    words = {"mode": fit.mode_names, "state": fit.states(slice(None)), "action": actions}
    return figure_of(axes, fit), long_table(words, {"reward": values}, np.isfinite(values.ravel()))


def reward_at_one_place(fit: DecodedFit) -> Drawn:
    """Draw how the reward at one place depends on the state before, where that matters most."""
    values = pair_rewards(fit.model, fit.least_norm)
    known = np.asarray(np.isfinite(values).all(axis=0))
    high = np.where(known, values, -np.inf).max(axis=2)
    low = np.where(known, values, np.inf).min(axis=2)
    spread = np.where(known.sum(axis=1) > 1, (high - low).max(axis=0), -np.inf)
    if not np.isfinite(spread).any():
        raise DoesNotApply("no state can be reached from two others")
    visits = np.zeros(known.shape, np.int64)
    for path in split_at_gaps(fit.data.states, fit.data.gaps):
        np.add.at(visits, (path[1:], path[:-1]), 1)
    # A place that the animals pass, if there is one: elsewhere the prior alone has spoken.
    passed = np.where(visits.sum(axis=1) > 0, spread, -np.inf)
    state = int(np.argmax(passed if np.isfinite(passed).any() else spread))
    previous = np.flatnonzero(known[state])
    previous = np.sort(previous[np.argsort(-visits[state, previous], kind="stable")[:8]])
    name = str(fit.states(state))
    here = f"state {name}" if name.isdecimal() else name
    width = max(3.0, 1.0 + 0.3 * len(previous) * (fit.n_modes + 1))
    figure = printed(width, 2.9)
    history_dependence(
        values[:, state, previous], list(fit.states(previous)), mode_names=fit.mode_names, colours=colours(fit),
        label=gauge(fit), xlabel="previous state", title=f"at {here}",
        note="differences at one place depend on the gauge", ax=figure.add_subplot(),
    )  # fmt: skip
    words = {"mode": fit.mode_names, "state": [name], "previous": fit.states(previous)}
    return figure, long_table(words, {"reward": values[:, [state]][:, :, previous]})
