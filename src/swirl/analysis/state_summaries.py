"""What a model holds for each state, and for each state with the one before it: means over histories, and moves.

Means over earlier states are unweighted, as in `SWIRL.reward_map` and `SWIRL.state_policies`; counts have rows of their
own for fewer states.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.histories import Histories
from swirl.estimators.discrete import Target, option_successors


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
        told = table[:, self.told]
        known = np.isfinite(told)
        total = np.zeros((len(self.state), len(table), *table.shape[2:]))
        count = np.zeros_like(total)
        np.add.at(total, self.member, np.where(known, told, 0.0).swapaxes(0, 1))
        np.add.at(count, self.member, known.astype(float).swapaxes(0, 1))
        return np.where(count > 0, total / np.maximum(count, 1), np.nan).swapaxes(0, 1)

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
