"""Goals: where they are, and how long it takes to reach them against the shortest way."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from swirl.analysis.goal_discovery import GoalSearch
from swirl.analysis.pursuits import steps_by_distance
from swirl.data.geometry import has_places, lattice
from swirl.data.mdp import MDP
from swirl.errors import Faults
from swirl.plots.shapes import CORRIDOR_WIDTH, discs, floor_plan, name_places
from swirl.plots.state_maps import state_map
from swirl.plots.style import (
    CORRIDOR,
    INK,
    SOFT_INK,
    TICK_SIZE,
    checked_colours,
    modes_shown,
    new_axes,
    on_white,
    set_title,
    tidy,
)

SMALLEST, LARGEST = 12.0, 70.0  # dots, in square points


def goal_map(
    env: MDP, goals: Mapping[str, Sequence[int]], *, colours: Sequence[str] | None = None, title: str | None = None,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw where goals are, each in its colour and with its name.

    Parameters
    ----------
    env
        An MDP whose states have places.
    goals
        For each name the states of the goal; the name stands at the first.
    colours
        One for each goal.

    Examples
    --------
    >>> env = MDP.deterministic([[1, 0], [0, 2], [1, 2]], coordinates=[[0, 0], [2, 0], [2, 3]])
    >>> ax = goal_map(env, {"water": [2], "home": [0]})
    >>> [text.get_text() for text in ax.texts]
    ['water', 'home']
    """
    faults = Faults()
    if not has_places(env):
        faults.add("env: its states have no places; give coordinates")
    for name, states in goals.items():
        if not len(states) or min(states) < 0 or max(states) >= env.n_states:
            faults.add(f"goals[{name!r}]: got {list(states)}, expected states from 0 to {env.n_states - 1}")
    faults.raise_if_any()
    shades = checked_colours(colours, len(goals))[: len(goals)]
    marks = {name: int(states[0]) for name, states in goals.items()}
    if lattice(env) is not None:
        values = np.zeros(env.n_states)
        for number, states in enumerate(goals.values(), start=1):
            values[list(states)] = number
        return state_map(
            env, values, marks=marks, vmin=0, vmax=max(len(goals), 1), colours=ListedColormap([CORRIDOR, *shades]),
            title=title, colour_bar=False, label=None, ax=ax,
        )  # fmt: skip
    ax, drawn = floor_plan(ax, env)
    for shade, states in zip(shades, goals.values(), strict=True):
        shown = discs(ax, drawn.places[list(states)], (CORRIDOR_WIDTH + 0.16) * drawn.unit, "goals", 3)
        shown.set(facecolor=shade, edgecolor=INK, linewidth=1.0, clip_on=False)
    name_places(ax, drawn, marks, rings=False)
    set_title(ax, title)
    return ax


def search_map(search: GoalSearch, *, title: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw what each place would be worth as the only goal, and number those that were found.

    Parameters
    ----------
    search
        What `selection.discover_goals` found. Worth is the gain in log-likelihood on the sessions that it searched, in
        nats per 1,000 steps (not held out); a place that is part of several candidates has the best of them, one that
        was not tried has none.

    Examples
    --------
    >>> from swirl import SWIRL
    >>> from swirl.analysis.goal_discovery import FoundGoal, GoalSearch
    >>> env = MDP.deterministic([[1, 0], [0, 2], [1, 2]], coordinates=[[0, 0], [2, 0], [2, 3]])
    >>> found = GoalSearch((FoundGoal((2,), 0.01, 0.001, 0.2),), None, np.array([0.0, 0.002, 0.01]),
    ...                    ((0,), (1,), (2,)), SWIRL(env))
    >>> [text.get_text() for text in search_map(found).texts]
    ['1']
    """
    env = search.model.env
    worth = np.full(env.n_states, np.nan)
    for place, gain in zip(search.candidates, search.alone, strict=True):
        worth[list(place)] = np.fmax(worth[list(place)], max(1000 * gain, 0.0))
    marks = {str(rank): int(goal.place[0]) for rank, goal in enumerate(search.goals, start=1)}
    title = "Worth of each place as the only goal" if title is None else title
    return state_map(env, worth, marks=marks, vmin=0, label="nats per 1,000 steps", title=title, ax=ax)


def aside(goal: int, n_goals: int, far: float) -> float:
    """How far beside its distance a goal is drawn, so that goals do not hide one another; never near the next distance.

    >>> [round(aside(goal, 2, 12.0), 2) for goal in range(2)], round(aside(9, 10, 12.0), 2)
    ([-0.14, 0.14], 0.35)
    """
    between = min(0.1 + 0.015 * far, 0.7 / max(n_goals - 1, 1))
    return between * (goal - (n_goals - 1) / 2)


def time_to_goal(
    distances: Sequence[np.ndarray], steps: Sequence[np.ndarray], *, mode_names: Sequence[str] | None = None,
    colours: Sequence[str] | None = None, title: str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw how many steps pursuits take to their goal, against the fewest that they could take.

    Dots are medians over the pursuits that begin equally far, larger where there are more; bars are quartiles. On the
    dotted line there is no shorter way.

    Parameters
    ----------
    distances, steps
        For each goal the fewest steps from the start of each pursuit, and those that it took, as `Pursuits.of` has
        them.

    Examples
    --------
    >>> ax = time_to_goal([np.array([2.0, 2.0, 5.0])], [np.array([2, 4, 9])], mode_names=["water"])
    >>> ax.collections[-1].get_offsets().tolist()
    [[2.0, 3.0], [5.0, 9.0]]
    """
    faults = Faults()
    if len(distances) != len(steps):
        faults.add(f"distances, steps: got {len(distances)} and {len(steps)} goals, expected equal numbers")
    for goal, (own, taken) in enumerate(zip(distances, steps, strict=False)):
        if len(own) != len(taken) or not np.isfinite(own).all():
            faults.add(f"distances[{goal}]: expected a finite number for each of {len(taken)} pursuits")
    if not any(len(own) for own in distances):
        faults.add("distances: got no pursuit of any goal")
    faults.raise_if_any()
    names, shades = modes_shown(mode_names, colours, len(distances))
    shades = [on_white(shade) for shade in shades]
    pairs = zip(distances, steps, strict=True)
    found = [steps_by_distance(np.asarray(own, float), np.asarray(taken)) for own, taken in pairs]
    most, far, high = (
        max(float(by[part].max(initial=0.0)) for by in found) for part in ("pursuits", "distance", "high")
    )
    ax = new_axes(3.4, 2.9) if ax is None else ax
    ax.plot([0, far], [0, far], color=SOFT_INK, linewidth=0.8, linestyle=":", zorder=1, label="shortest")
    for goal, by in enumerate(found):
        x = by["distance"] + aside(goal, len(found), far)
        ax.vlines(x, by["low"], by["high"], shades[goal], linewidths=1.2, zorder=2)
        size = SMALLEST + (LARGEST - SMALLEST) * by["pursuits"] / most
        ax.scatter(
            x, by["median"], s=size, c=shades[goal], edgecolors=SOFT_INK, linewidths=0.6, zorder=3, label=names[goal],
            clip_on=False,
        )  # fmt: skip
    ax.set_xlim(0, max(far, 1) * 1.05)
    ax.set_ylim(0, max(high, far, 1) * 1.05)
    tidy(ax, title=title, xlabel="fewest steps to the goal, at the start", ylabel="steps until it is reached")
    ax.locator_params(axis="both", integer=True)
    # No pursuit is shorter than the shortest way: below the line there is room.
    patches = [Patch(facecolor=shade, label=name) for name, shade in zip(names, shades, strict=True)]
    ax.legend(
        handles=patches, loc="lower right", frameon=False, fontsize=TICK_SIZE, handlelength=1.0, handleheight=0.9,
        labelspacing=0.3, borderaxespad=0.2,
    )  # fmt: skip
    return ax
