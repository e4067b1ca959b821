"""The contexts that a recording holds: its last 1, 2, …, L states, as a tree that can be walked.

Where everything can follow everything the reachable histories are too many to enumerate (57 syllables, six states:
57⁶), but a recording of T steps holds at most T contexts of each length.  These are the rows here.  Dropping the
oldest state of a row gives a row, and so does dropping the newest, so whatever was observed, or is simulated, the
*longest row that it ends in* is found step by step: a suffix tree with the moves between its nodes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int

from swirl.data.histories import Histories
from swirl.data.successors import Successors

UNTOLD = -2
"""In a table of contexts: this state and the older ones may be anything (−1 is "before the start")."""

Steps = Int[np.ndarray, "time"]
Level = tuple[Int[np.ndarray, "_"], Int[np.ndarray, "_"]]


def older(states: Steps, starts: Bool[np.ndarray, "time"], by: int) -> Steps:
    """The state `by` steps ago, −1 where that is before the start.

    >>> older(np.array([3, 4, 5]), np.array([True, False, True]), 1).tolist()
    [-1, 3, -1]
    """
    now = np.arange(len(states))
    began = np.maximum.accumulate(np.where(starts, now, 0))
    return np.where(now - began >= by, states[np.maximum(now - by, 0)], -1)


def number_contexts(states: Steps, starts: Bool[np.ndarray, "time"], length: int) -> list[Steps]:
    """For 1, 2, …, `length` states: numbers of what each step was preceded by, the same where that is the same.

    >>> [n.tolist() for n in number_contexts(np.array([0, 1, 0, 1]), np.array([True, False, False, False]), 2)]
    [[0, 1, 0, 1], [0, 2, 1, 2]]
    """
    numbers, n = [states.astype(np.int64)], int(states.max()) + 2
    for lag in range(1, length):
        _, number = np.unique(numbers[-1] * n + older(states, starts, lag) + 1, return_inverse=True)
        numbers.append(number.reshape(-1))
    return numbers


@dataclass(frozen=True)
class SeenContexts(Histories):
    """Seen contexts of 1, 2, …, L states, read and walked like the `Histories` of which they are a part.

    The first rows are the states at a start, as in `Histories`.  A row with fewer than L states stands for all
    histories that end in it and in no longer row: `UNTOLD` fills it.  `shorter` and `dropped` are the row without its
    oldest state, `first_child` where the first move leads; the next numbers are not those of the other moves.

    >>> from swirl.data.mdp import MDP
    >>> env = MDP.deterministic([[0, 1], [0, 1]])
    >>> seen = SeenContexts.seen(env.successors, np.array([0, 1, 1]), np.array([True, False, False]), length=2)
    >>> seen.table.tolist()
    [[0, -1], [1, -1], [0, -2], [1, -2], [1, 0], [1, 1]]
    >>> seen.follow(np.array([1, 0, 1]), np.array([True, False, False])).tolist()  # 0 after 1 was not seen: 0
    [1, 2, 4]
    """

    orders: Int[np.ndarray, "history"]
    """Number of states of each row, those before the start counted."""
    roots: Int[np.ndarray, "state"]
    """The row of each state alone."""
    levels: tuple[Level, ...]
    """For rows of 2, 3, … states: ascending numbers ``shorter · (n_states + 1) + oldest + 1``, and the rows."""
    onward: Int[np.ndarray, "history move"]
    """The row that each possible move leads to, by its rank."""

    @classmethod
    def seen(
        cls, environment: Successors, states: Steps, starts: Bool[np.ndarray, "time"], length: int
    ) -> "SeenContexts":
        """The contexts of a concatenated recording; histories begin anew at `starts`."""
        n = environment.n_nodes
        states = np.concatenate([np.arange(n), states])  # a start in each state, seen or not
        starts = np.concatenate([np.ones(n, bool), starts])
        lags = np.stack([states, *[older(states, starts, lag) for lag in range(1, length)]], axis=1)
        blocks = []
        for order, numbers in enumerate(number_contexts(states, starts, length), start=1):
            _, first = np.unique(numbers, return_index=True)
            block = np.full((len(first), length), UNTOLD)
            block[:, :order] = lags[first, :order]
            blocks.append(block)
        table = np.concatenate(blocks)
        start = np.all(table[:, 1:] == -1, axis=1)
        return cls.of_table(environment, np.concatenate([table[start], table[~start]]))

    @classmethod
    def of_table(cls, environment: Successors, table: Int[np.ndarray, "history length"]) -> "SeenContexts":
        """The rows of a table that `seen` made."""
        alone = Histories.reachable(environment, 1)
        n, length = alone.n_states, table.shape[1]
        orders = np.sum(table != UNTOLD, axis=1)
        rows = np.arange(len(table))
        roots = np.empty(n, np.int64)
        roots[table[orders == 1, 0]] = rows[orders == 1]
        # Level by level: `shorter` is a row's own newest states, so far as they are read.
        shorter, levels = roots[table[:, 0]], []
        for order in range(2, length + 1):
            key = shorter * (n + 1) + table[:, order - 1] + 1
            own = rows[orders == order]
            own = own[np.argsort(key[own])]
            levels.append((key[own], own))
            longer = rows[orders > order]
            shorter[longer] = own[np.searchsorted(key[own], key[longer])]
        onward = _onward(alone, table, orders, roots, shorter, levels)
        leads = np.asarray(environment.next)
        origin = np.broadcast_to(np.arange(n)[:, None, None], leads.shape)
        rank = alone.ranks(origin.ravel(), leads.ravel()).reshape(leads.shape)
        states = table[:, 0]
        following = onward[rows[:, None, None], np.maximum(rank, 0)[states]]  # impossible branches: probability 0
        lifted = Successors(
            following.astype(np.int32),
            np.asarray(environment.probability)[states],
            np.asarray(environment.available)[states],
        )
        return cls(
            lifted, table, shorter, shorter, onward[:, 0], alone.edges, alone.edge_ranks, n,
            orders, roots, tuple(levels), onward,
        )  # fmt: skip

    @cached_property
    def moves(self) -> Successors:
        """As `Histories.moves`."""
        available = (
            np.arange(self.onward.shape[1])
            < np.bincount(self.edges // self.n_states, minlength=self.n_states)[self.states, None]
        )
        following = np.where(available, self.onward, np.arange(self.n_histories)[:, None])
        return Successors(following[..., None].astype(np.int32), np.ones((*following.shape, 1)), available)

    def told(self, order: int) -> Bool[np.ndarray, "history"]:
        """The rows of `order` states: they stand for all histories that end in these."""
        return (self.orders == order) & (self.table[:, order - 1] >= 0)

    def follow(self, states: Steps, starts: Bool[np.ndarray, "time"]) -> Steps:
        """The longest row that each step of a concatenated recording ends in; histories begin anew at `starts`."""
        rows = self.roots[states]
        here = np.arange(len(states))  # steps whose row may still grow
        for lag, (keys, children) in enumerate(self.levels, start=1):
            key = rows[here] * (self.n_states + 1) + older(states, starts, lag)[here] + 1
            place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            found = keys[place] == key
            here = here[found]
            rows[here] = children[place[found]]
        return rows


def _onward(
    alone: Histories,
    table: Int[np.ndarray, "history length"],
    orders: Int[np.ndarray, "history"],
    roots: Int[np.ndarray, "state"],
    shorter: Int[np.ndarray, "history"],
    levels: list[Level],
) -> Int[np.ndarray, "history move"]:
    """Where each move leads: as from the row without its oldest state, but to a longer row where there is one."""
    n = alone.n_states
    following = np.asarray(alone.moves.next)[:, :, 0]
    onward = np.empty((len(table), following.shape[1]), np.int64)
    single = np.flatnonzero(orders == 1)
    onward[single] = roots[following[table[single, 0]]]
    newest_dropped = np.full(len(table), -1)
    for order in range(2, table.shape[1] + 1):
        own = np.flatnonzero(orders == order)
        entered = own[table[own, 1] >= 0]  # nothing leads to a start
        if order == 2:
            before = roots[table[entered, 1]]
        else:
            keys, rows = levels[order - 3]
            key = newest_dropped[shorter[entered]] * (n + 1) + table[entered, order - 1] + 1
            before = rows[np.searchsorted(keys, key)]
        newest_dropped[entered] = before
        onward[before, alone.ranks(table[entered, 1], table[entered, 0])] = entered
        onward[own] = onward[shorter[own]]
    return onward
