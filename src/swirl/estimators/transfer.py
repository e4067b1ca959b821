"""A fitted model in a changed environment: the same rewards, or the same goals and habit, planned anew.

The states and the number of actions are the same; where actions lead, or which there are, is not.  What is fitted
stays: rewards, how modes begin and switch, temperatures.  What follows from it, the policies, is found again.

*Rewards* are known up to a gauge (design.md#gauge): members of a class that have the same policies here may have other
policies there.  So those of the fitted member are compared with those of two others, the one of least norm and the one
whose values are least, and a warning says how far apart they are (`GaugeWarning`).

*Goals* (`rewards.Goals`) have no such freedom: a few places, and what a step costs.  V is planned anew, and the habit
goes along: kinds of places, and names of moves, are those of the environment of the fit.
"""

import warnings
from copy import copy
from typing import Any, cast

import jax
import numpy as np
from jaxtyping import Float, Int

from swirl.data.histories import Histories
from swirl.data.local_shape import Moves, name_moves, name_moves_as_in, place_kinds
from swirl.data.mdp import MDP
from swirl.errors import Faults, GaugeWarning
from swirl.inference import em
from swirl.inference.mode_matching import assignment
from swirl.precision import float64, numpy_tree
from swirl.rewards.forms import Goals, resolve_form
from swirl.rewards.gauge import GaugeTooLargeError, canonical, least_values
from swirl.rewards.goals import Contexts, GoalsParameters, GoalsReward, contexts
from swirl.rewards.soft_q import soft_optimal_log_policies, soft_values
from swirl.rewards.tables import group_mean

APART = 0.02  # mean total variation between policies above which a gauge is said to matter
SESSIONS, STEPS = 64, 200  # simulated in the new environment, for how often each history is visited there
CARRIED = ("mode_temperatures_", "initial_states_", "seen_states_", "occupancy_", "mode_names_")


def transfer(model: Any, env: MDP) -> Any:
    """Take a fitted `SWIRL` to another environment with the same states and as many actions.

    What was never possible in the environment of the fit has no reward of its own: a history takes the mean of those
    that agree with it in their newest states, an action of r(h, a) the mean of the others that there are.

    Examples
    --------
    >>> from swirl.datasets import gridworld
    >>> model = gridworld(n_sessions=2, n_steps=20).true_model()
    >>> moved = transfer(model, model.env)
    >>> np.allclose(moved.policies_, model.policies_)
    True
    """
    model.check_fitted()
    _check(model.fitted_params["env"], env)
    source = getattr(model, "_transferred_from", model)
    moved = type(model)(**{**model.fitted_params, "env": env})
    there = Histories.reachable(env.successors, int(model.fitted_params["history"]))
    if isinstance(form := resolve_form(model.fitted_params["reward"]), Goals):
        rewards, log_policies = _goals_there(source, form, there, env)
        order = _modes_of(source, form, model)
        rewards, log_policies = rewards[order], log_policies[order]
    else:
        rewards = _rewards_there(model, model.rewards_, there)
        log_policies = _planned(model, rewards, there)
    moved._set_rewards(there, rewards, log_policies)
    moved._set_chain(np.array(model.mode_transitions_), np.array(model.initial_modes_))
    for name in CARRIED:
        if (value := getattr(model, name, None)) is not None:
            setattr(moved, name, copy(value))
    moved._transferred_from = source
    if not isinstance(form, Goals):
        _warn_of_gauge(model, moved, there)
    return moved


def _check(here: MDP, there: Any) -> None:
    """Refuse another number of states or actions, or states of other names."""
    if not isinstance(there, MDP):
        raise ValueError(f"env is {type(there).__name__}: expected swirl.MDP, the changed environment")
    faults = Faults()
    for what, own, other in (
        ("states", here.n_states, there.n_states),
        ("actions", here.n_actions, there.n_actions),
    ):
        if own != other:
            faults.add(
                f"env has {other} {what}, but the model was fitted with {own}: expected the same {what}, only with "
                "other moves"
            )
    if not faults.messages and None not in (here.state_names, there.state_names):
        pairs = zip(cast(Any, here.state_names), cast(Any, there.state_names), strict=True)
        other = [(state, own, new) for state, (own, new) in enumerate(pairs) if own != new]
        if other:
            state, own, new = other[0]
            faults.add(
                f"env calls state {state} {new!r}, but where the model was fitted it is {own!r} ({len(other)} such "
                "states in all): expected the same states in the same order"
            )
    faults.raise_if_any()


# Rewards


def _rewards_there(
    model: Any, rewards: Float[np.ndarray, "mode history *action"], there: Histories
) -> Float[np.ndarray, "mode there *action"]:
    """Rewards of every history of the new environment; those that are new take means."""
    here: Histories = model._histories
    full, known = here.full_length, here.n_histories
    rewards = np.asarray(rewards, dtype=float)
    if rewards.ndim == 3:
        rewards = np.where(np.asarray(here.successors.available), rewards, np.nan)
    found = rewards[:, there.states]  # of a state alone, where nothing more like it is known
    both = np.concatenate([here.table, there.table])
    for order in range(1, here.length + 1):  # means over those that agree in the newest 1, 2, … states, then the same
        ids = np.ravel(np.unique(both[:, :order], axis=0, return_inverse=True)[1])
        of = full if order < here.length else np.ones(known, dtype=bool)
        means = group_mean(rewards[:, of], ids[:known][of], int(ids.max()) + 1)[:, ids[known:]]
        found = np.where(np.isnan(means), found, means)
    if rewards.ndim == 3:
        available = np.asarray(there.successors.available)
        found = np.where(np.isnan(found), _mean_of_known(found)[..., None], found)
        found = np.where(available, found, np.nan)
    return found


def _mean_of_known(values: Float[np.ndarray, "mode history action"]) -> Float[np.ndarray, "mode history"]:
    """Mean over the actions that have a number; 0 where none has."""
    known = np.isfinite(values)
    return np.where(known, values, 0.0).sum(axis=2) / np.maximum(known.sum(axis=2), 1)


def _planned(
    model: Any, rewards: Float[np.ndarray, "mode history *action"], there: Histories
) -> Float[np.ndarray, "mode history action"]:
    """Soft-optimal log-policies of rewards in the new environment."""
    return soft_optimal_log_policies(
        there.successors,
        np.nan_to_num(rewards),
        discount=model.fitted_params["discount"],
        temperature=np.asarray(model.mode_temperatures_),
        per_action=rewards.ndim == 3,
    )


_jitted_values = jax.jit(soft_values, static_argnames="per_action")


def _members(model: Any) -> list[np.ndarray]:
    """Other rewards with the policies of the fitted ones: of the least norm, and those whose values are least."""
    here: Histories = model._histories
    discount, rewards = model.fitted_params["discount"], np.asarray(model.rewards_)
    with float64():
        values = numpy_tree(
            _jitted_values(
                here.successors,
                np.nan_to_num(rewards),
                discount=discount,
                temperature=np.asarray(model.mode_temperatures_),
                per_action=rewards.ndim == 3,
            )
        )
    least = canonical(rewards, here.successors, discount=discount, full_length=here.full_length)
    return [least, least_values(rewards, values, here.successors, discount=discount)]


def _warn_of_gauge(model: Any, moved: Any, there: Histories) -> None:
    """Say how far apart policies are that were the same in the environment of the fit."""
    try:
        members = _members(model)
    except GaugeTooLargeError:
        warnings.warn(
            "whether other rewards with the same policies in the environment of the fit agree in this one is not "
            "known: the environment of the fit is too large to tell",
            GaugeWarning,
            stacklevel=4,
        )
        return
    walked = moved.sample(SESSIONS, STEPS, random_state=0)
    encoded, modes = moved._encode(walked), np.concatenate(walked.modes)
    apart = 0.0
    for rewards in members:
        other = np.exp(_planned(model, _rewards_there(model, rewards, there), there))
        between = 0.5 * np.abs(moved.policies_ - other).sum(axis=-1)
        apart = max(apart, float(between[modes, encoded.histories].mean()))
    if apart > APART:
        warnings.warn(
            "rewards that have the same policies in the environment of the fit have other policies in this one: the "
            f"mean total variation between them is {apart:.3f}, over the states that the model visits here. The "
            "policies are those of rewards_ as they were fitted; others are as good. Rewards of states, or goals "
            "(rewards.Goals), leave less open",
            GaugeWarning,
            stacklevel=4,
        )


# Goals


def _modes_of(source: Any, form: Goals, model: Any) -> Int[np.ndarray, "mode"]:
    """Which mode of the restart each mode of the model is: they are put in order by occupancy, and may be aligned."""
    own = np.exp(_goals_there(source, form, model._histories, model.fitted_params["env"])[1])
    tables, _ = em.unpack(source._components, source.restarts_[source.best_restart_].parameters)
    stays = [np.einsum("szz->zs", table) for table in (model.mode_transitions_, np.exp(tables.log_transitions))]
    gaps = np.abs(model.policies_[:, None] - own[None]).mean(axis=(2, 3))
    return assignment(gaps + np.abs(stays[0][:, None] - stays[1][None]).mean(axis=2))[1]


def _goals_there(
    model: Any, form: Goals, there: Histories, env: MDP
) -> tuple[Float[np.ndarray, "mode history"], Float[np.ndarray, "mode history action"]]:
    """Rewards and log-policies of goals, planned anew on the habit that was fitted; modes as in the restart."""
    model.check_restarts()
    params, here = model.fitted_params, model._histories
    original = params["env"]
    kinds = np.asarray(form.kinds) if isinstance(form.kinds, tuple) else place_kinds(original, int(form.kinds))
    names = name_moves(original, kinds, form.moves)
    known = contexts(here, kinds, names, form.place_history)
    carried = carried_contexts(
        here, names, known, there, name_moves_as_in(original, env, kinds, form.moves), kinds, form.place_history
    )
    n_modes = int(form.n_modes)
    component = GoalsReward.build(
        there,
        env.successors,
        carried,
        form.wanted(env.n_states, n_modes),
        params["reward_prior"] or form.priors.default,
        absorbing=form.absorbing,
        discount=params["discount"],
        temperature=np.broadcast_to(np.asarray(params["temperature"], dtype=float), (n_modes,)).copy(),
    )
    fitted = model.restarts_[model.best_restart_].parameters.emissions
    habit = np.pad(np.asarray(fitted.habit), ((0, 0), (0, 1)))  # what has no name is done neither more nor less
    parameters = GoalsParameters(habit, np.asarray(fitted.goals))
    with float64():
        log_emissions, rewards = numpy_tree(
            (jax.jit(component.log_emissions)(parameters), jax.jit(component.fitted)(parameters))
        )
    return component.read(there, carried.rows, log_emissions, rewards)


def carried_contexts(
    here: Histories,
    names: Moves,
    known: Contexts,
    there: Histories,
    names_there: Moves,
    kinds: Int[np.ndarray, "state"],
    place_history: int,
) -> Contexts:
    """What the habit of one environment knows of the histories of another (`rewards.goals.contexts`).

    The parts are those of the first.  A history whose last moves never came in that order there, or have no name, has
    no part of that length: what shorter memory says serves.  Moves without a name are `known.n_moves`, a new one.

    Parameters
    ----------
    names, names_there
        Of moves, the second with the numbers of the first (`local_shape.name_moves_as_in`).
    """
    parts = known.parts[known.rows]
    seen, seen_there = (_seen(*each, kinds, place_history) for each in ((here, names), (there, names_there)))
    found = np.full(seen_there.shape, -1)
    for depth in range(parts.shape[1]):
        first = depth in (0, here.length)  # of the parts that know kinds and moves, or of those that know places
        above = np.zeros(len(parts), int) if first else parts[:, depth - 1]
        above_there = np.zeros(len(found), int) if first else found[:, depth - 1]
        width = int(max(seen[:, depth].max(), seen_there[:, depth].max())) + 1
        at = seen[:, depth] >= 0
        keys, index = np.unique(above[at] * width + seen[at, depth], return_index=True)
        wanted = above_there * width + seen_there[:, depth]
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        same = (keys[place] == wanted) & (seen_there[:, depth] >= 0) & (above_there >= 0)
        found[:, depth] = np.where(same, parts[at, depth][index[place]], -1)
    found[found < 0] = len(known.orders)
    own, first_row, rows = np.unique(
        np.column_stack([there.states, found]), axis=0, return_index=True, return_inverse=True
    )
    states = there.states[first_row]
    slots = np.full(names_there.choices.shape, known.n_moves)
    for kind in np.unique(kinds):  # numbered within a kind of place, as `contexts` does
        at = np.flatnonzero(kinds == kind)
        numbers = np.unique(names.choices[at])
        asked = names_there.choices[at]
        place = np.minimum(np.searchsorted(numbers, asked), len(numbers) - 1)
        slots[at] = np.where(numbers[place] == asked, place, known.n_moves)
    return Contexts(np.ravel(rows), states, own[:, 1:], known.orders, slots[states], known.n_moves + 1)


def _seen(
    histories: Histories, moves: Moves, kinds: Int[np.ndarray, "state"], place_history: int
) -> Int[np.ndarray, "history depth"]:
    """What each part adds to the one before: kind of place, last move, the one before, …; places.  −1: not known."""
    table = histories.table
    columns = [kinds[table[:, 0]]]
    for lag in range(1, table.shape[1]):
        past = table[:, lag] >= 0
        passed = np.full(len(table), -1)
        passed[past] = moves.of(table[past, lag], table[past, lag - 1])
        columns.append(passed)
    return np.stack([*columns, *(table[:, lag] for lag in range(place_history))], axis=1)
