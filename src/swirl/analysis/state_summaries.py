"""What a model holds for each state, and for each state with the one before it: means over histories, and moves.

Means over earlier states are unweighted, as in `SWIRL.reward_map` and `SWIRL.state_policies`; counts have rows of their
own for fewer states.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.errors import DoesNotApply
from swirl.estimators.discrete import Target, option_successors
from swirl.rewards.gauge import GaugeTooLargeError
from swirl.rewards.tables import group_mean

MAX_HISTORIES = 60_000  # for the least-norm reward, which is a linear problem of that size
MAX_STATES = 2_000  # beyond that nobody reads a table of states by states


@dataclass(frozen=True)
class Groups:
    """Histories (`Histories.told`) put together by their newest state, or by their newest two."""

    told: Bool[np.ndarray, "history"]
    state: Int[np.ndarray, "group"]
    previous: Int[np.ndarray, "group"] | None
    member: Int[np.ndarray, "told"]
    """Group of each such history."""

    def mean(self, table: Float[np.ndarray, "mode history *rest"]) -> Float[np.ndarray, "mode group *rest"]:
        """Mean over the histories of each group; NaN (no such action) is left out."""
        return group_mean(table[:, self.told], self.member, len(self.state))

    def every(self, flag: Bool[np.ndarray, "history"]) -> Bool[np.ndarray, "group"]:
        """Whether the flag holds for all histories of a group."""
        fails = np.bincount(self.member, weights=~flag[self.told], minlength=len(self.state))
        return fails == 0


def by_state(histories: Histories) -> Groups:
    """One group per state.

    >>> from swirl.data.mdp import MDP
    >>> ring = Histories.reachable(MDP.deterministic([[0, 1], [1, 0]]).successors, 2)
    >>> by_state(ring).mean(np.arange(6.0)[None]).tolist()  # 0 after 0 and 1: numbers 2 and 4; 1 after them: 3 and 5
    [[3.0, 4.0]]
    """
    told = histories.told(1)
    return Groups(told, np.arange(histories.n_states), None, histories.states[told])


def most_visited(states: Sequence[Int[np.ndarray, "_"]], n_states: int, most: int) -> list[int]:
    """The states that there is room for, in their order: all, or the `most` that sessions visit most often.

    >>> most_visited([np.array([3, 0, 3, 1, 0])], 4, 2)
    [0, 3]
    """
    visits = np.bincount(np.concatenate(states), minlength=n_states)
    return np.sort(np.argsort(-visits, kind="stable")[:most]).tolist()


def by_pair(histories: Histories) -> Groups:
    """One group per state and the state before it; only for histories of two states or more.

    >>> from swirl.data.mdp import MDP
    >>> ring = Histories.reachable(MDP.deterministic([[0, 1], [1, 0]]).successors, 2)
    >>> groups = by_pair(ring)
    >>> groups.previous.tolist(), groups.state.tolist()
    ([0, 0, 1, 1], [0, 1, 0, 1])
    """
    told = histories.told(2)
    previous, state = histories.table[told, 1], histories.table[told, 0]
    numbers, member = np.unique(previous * histories.n_states + state, return_inverse=True)
    previous, state = np.divmod(numbers, histories.n_states)
    return Groups(told, state, previous, member.reshape(-1))


@dataclass(frozen=True)
class Onward:
    """The states that can follow each state, and the ways there: an option, a move, and how probably it is made."""

    following: Int[np.ndarray, "state move"]
    """−1 where a state has fewer."""
    first: Int[np.ndarray, "state_plus_one"]
    """Where the ways of each state begin."""
    option: Int[np.ndarray, "way"]
    move: Int[np.ndarray, "way"]
    probability: Float[np.ndarray, "way"]

    def shares(
        self, groups: Groups, chosen: Float[np.ndarray, "mode group option"]
    ) -> Float[np.ndarray, "mode group move"]:
        """P(move | group) = Σ_options P(option | group) P(move | state, option)."""
        n_ways = np.diff(self.first)[groups.state]
        group = np.repeat(np.arange(len(groups.state)), n_ways)
        way = np.arange(len(group)) + np.repeat(self.first[groups.state] - (np.cumsum(n_ways) - n_ways), n_ways)
        total = np.zeros((len(groups.state), self.following.shape[1], len(chosen)))
        np.add.at(total, (group, self.move[way]), (chosen[:, group, self.option[way]] * self.probability[way]).T)
        return total.transpose(2, 0, 1)


def onward(histories: Histories, target: Target) -> Onward:
    """Where the options of a model lead from each state (`option_successors`).

    >>> from swirl.data.mdp import MDP
    >>> ring = Histories.reachable(MDP.deterministic([[0, 1], [1, 2], [2, 0]]).successors, 1)
    >>> ways = onward(ring, "action")
    >>> ways.following.tolist()
    [[0, 1], [1, 2], [0, 2]]
    >>> ways.shares(by_state(ring), np.array([[[0.9, 0.1], [0.5, 0.5], [0.8, 0.2]]])).tolist()
    [[[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]]
    """
    n = histories.n_states
    options = option_successors(histories, target)
    weight = np.asarray(options.probability)[:n] * np.asarray(options.available)[:n, :, None]
    state, option, branch = np.nonzero(weight > 0)
    reached = histories.states[np.asarray(options.next)[state, option, branch]]  # the first histories: states alone
    pairs, pair = np.unique(state * n + reached, return_inverse=True)
    n_moves = np.bincount(pairs // n, minlength=n)
    rank = np.arange(len(pairs)) - np.repeat(np.cumsum(n_moves) - n_moves, n_moves)
    following = np.full((n, int(n_moves.max())), -1, np.int64)
    following[pairs // n, rank] = pairs % n
    first = np.searchsorted(state, np.arange(n + 1))
    return Onward(following, first, option, rank[pair.reshape(-1)], weight[state, option, branch])


def environment_of(env: MDP | None, *, small: bool = False) -> MDP:
    """The environment, or word that there is none, or that it is too large for a table of states by states."""
    if env is None:
        raise DoesNotApply("the model has no environment of labelled states")
    if small and env.n_states > MAX_STATES:
        raise DoesNotApply(f"{env.n_states:,} states are too many for a table of states by states")
    return env


def action_targets(env: MDP) -> list[int] | None:
    """The state that each action leads to from wherever it is possible, −1 for one that never is; None: not one state.

    >>> action_targets(MDP.deterministic([[0, 1], [0, 1]])), action_targets(MDP.deterministic([[0, 1], [1, 0]]))
    ([0, 1], None)
    """
    if not env.is_deterministic:
        return None
    leads, available = np.asarray(env.successors.next)[:, :, 0], np.asarray(env.available)
    targets = [np.unique(leads[available[:, action], action]).tolist() for action in range(env.n_actions)]
    return None if max(map(len, targets)) > 1 else [own[0] if own else -1 for own in targets]


def actions_are_states(env: MDP) -> bool:
    """Whether the action is the number of the next state, so that on the diagonal of a table nothing moves.

    >>> actions_are_states(MDP.deterministic([[0, 1], [0, 1]])), actions_are_states(MDP.deterministic([[1, 0], [1, 0]]))
    (True, False)
    """
    targets = action_targets(env) if env.n_states == env.n_actions else None
    return targets is not None and all(target in (-1, action) for action, target in enumerate(targets))


def least_norm(model: Any) -> Float[np.ndarray, "mode history *action"] | None:
    """Rewards in the gauge that figures show, of which there is one; None where it cannot be had, or there is none.

    >>> import swirl
    >>> model = swirl.datasets.gridworld(n_sessions=2, n_steps=20).true_model()
    >>> least = least_norm(model)
    >>> least.shape == model.rewards_.shape, bool((least**2).sum() < (model.rewards_**2).sum())
    (True, True)
    """
    if "canonical" in model.gauges and model.histories.n_histories <= MAX_HISTORIES:
        with suppress(GaugeTooLargeError):
            return model.reward_tables("canonical")
    return None


def state_rewards(
    model: Any, rewards: Float[np.ndarray, "mode history *action"] | None = None
) -> Float[np.ndarray, "mode state"]:
    """Reward of each state; NaN where the training data say nothing about it.

    Parameters
    ----------
    rewards
        Those to average; None: the model's own map (`known_reward_map`).
    """
    if not model.gauges:
        raise DoesNotApply(f"{type(model).__name__} has no rewards")
    if rewards is not None:
        groups = by_state(model.histories)
        values = groups.mean(np.nanmean(rewards, axis=2) if rewards.ndim == 3 else rewards)
        return values if model.uninformed_ is None else np.where(groups.every(model.uninformed_), np.nan, values)
    try:
        return model.known_reward_map()
    except GaugeTooLargeError:
        raise DoesNotApply("there are too many histories for a reward of states") from None


def pair_rewards(
    model: Any, rewards: Float[np.ndarray, "mode history *action"] | None = None
) -> Float[np.ndarray, "mode state previous"]:
    """Reward of each state by the state before it, averaged over what came earlier; NaN where nothing is known.

    `rewards` are those to average; None: as they were fitted.
    """
    env = environment_of(model.world, small=True)
    if not model.gauges or model.rewards_.ndim != 2:
        raise DoesNotApply("the model has no reward of states alone")
    if model.histories.length < 2:
        raise DoesNotApply("the reward sees one state only")
    values, pairs = model.rewards_ if rewards is None else rewards, by_pair(model.histories)
    if model.uninformed_ is not None:
        values = np.where(model.uninformed_, np.nan, values)
    table = np.full((len(values), env.n_states, env.n_states), np.nan)
    table[:, pairs.state, pairs.previous] = pairs.mean(values)
    return table


def action_rewards(model: Any) -> Float[np.ndarray, "mode state action"]:
    """Reward of each action in each state: r(h, a), or of what it leads to, E[r(h') | h, a]; over earlier states."""
    if not model.gauges:
        raise DoesNotApply(f"{type(model).__name__} has no rewards")
    histories, values = model.histories, np.asarray(model.rewards_)
    tables = histories.successors
    if values.ndim == 2:
        weight = np.asarray(tables.probability)
        values = np.einsum("khab,hab->kha", values[:, np.asarray(tables.next)], weight)
    values = np.where(np.asarray(tables.available), values, np.nan)
    return by_state(histories).mean(values)


def moves(model: Any) -> tuple[MDP, Float[np.ndarray, "mode state move"]]:
    """Where each mode goes: an environment whose actions are the moves from state to state, and policies over these.

    So models of actions and of next states are drawn alike.
    """
    env = environment_of(model.world, small=True)
    if (table := model.choice_table()) is None:
        raise DoesNotApply("the model has no policy for each mode")
    ways, states = onward(model.histories, model.target), by_state(model.histories)
    shares = ways.shares(states, states.mean(table))
    total = shares.sum(axis=2, keepdims=True)
    shares = np.where(total > 0, shares / np.where(total > 0, total, 1.0), np.nan)
    drawn = MDP.deterministic(ways.following, state_names=env.state_names, coordinates=env.coordinates)
    return drawn, shares


def log_odds_less(here: Float[np.ndarray, "*any"], there: Float[np.ndarray, "*other"]) -> Float[np.ndarray, "*any"]:
    """Log-odds of some probabilities less those of others; NaN where they are certain or impossible in both.

    >>> log_odds_less(np.array([0.5, 1.0, 1.0]), np.array([0.25, 0.5, 1.0])).round(2).tolist()
    [1.1, inf, nan]
    """
    # What sums leave of 0 or 1, or beyond it, is rounding, not odds.
    here, there = (np.where(p > 1 - 1e-12, 1.0, np.where(p < 1e-12, 0.0, p)) for p in (here, there))
    with np.errstate(divide="ignore", invalid="ignore"):
        return (np.log(here) - np.log1p(-here)) - (np.log(there) - np.log1p(-there))
