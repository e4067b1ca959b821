"""Goals of a fit: where they are, and how long decoded pursuits take to reach them."""

from swirl.analysis.decoded import DecodedFit
from swirl.analysis.pursuits import decoded_goals, find_pursuits
from swirl.analysis.state_summaries import DoesNotApply
from swirl.data.geometry import has_places
from swirl.plots.fit.panels import Drawn, colours, frame, map_size
from swirl.plots.goals import goal_map, time_to_goal
from swirl.plots.style import printed


def goals(fit: DecodedFit) -> Drawn:
    """Draw where the goals are."""
    own, env = _own(fit), fit.environment()
    if not has_places(env):
        raise DoesNotApply("states have no places")
    named = {fit.mode_names[mode].removeprefix("to "): states for mode, states in own.items()}
    figure = printed(*map_size(env))
    goal_map(env, named, colours=[colours(fit)[mode] for mode in own], ax=figure.add_subplot())
    rows = [{"mode": fit.mode_names[mode], "state": fit.states(s)} for mode, states in own.items() for s in states]
    return figure, frame(rows)


def time_to_goals(fit: DecodedFit) -> Drawn:
    """Draw how long it takes to reach each goal, against the shortest way; the table lists all pursuits."""
    own = _own(fit)
    found = find_pursuits(**decoded_goals(fit))
    if not found.timed.any():
        raise DoesNotApply("no goal was seen to be pursued until it was reached")
    timed = [found.of(mode) for mode in own]
    figure = printed(3.6, 3.0)
    time_to_goal(
        [distance for distance, _ in timed], [steps for _, steps in timed],
        mode_names=[fit.mode_names[mode] for mode in own], colours=[colours(fit)[mode] for mode in own],
        ax=figure.add_subplot(),
    )  # fmt: skip
    table = found.table()
    following = [fit.mode_names[mode] if mode >= 0 else None for mode in found.next_mode]
    names = [fit.data.names[session] for session in found.session]
    return figure, table.assign(session=names, mode=fit.names(found.mode), next_mode=following)


def _own(fit: DecodedFit) -> dict[int, tuple[int, ...]]:
    """The states of each mode's goal."""
    if not fit.model.goals:
        raise DoesNotApply("the model has no goals")
    return {goal.mode: goal.states for goal in fit.model.goals}
