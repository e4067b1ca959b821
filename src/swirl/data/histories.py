"""Reachable histories and the environment lifted onto them (paper §3.3, design.md#reachable-histories).

A history h_t = (s_t, s_{t−1}, …, s_{t−L+1}) is newest first; −1 stands for "before the start", so the
first steps of a segment have histories of their own.  Histories are the paths of 1, 2, …, L states
through the environment; shorter paths (starts) come first, then the full-length ones.  Nothing of
size S^L is ever formed, and no hashing is needed: the path (s', h) has the number
``first_child[h] + rank(s' among the successors of s)``.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int

from swirl.data.successors import Successors

MAX_HISTORIES = 20_000_000


@dataclass(frozen=True)
class Histories:
    """All histories of up to `length` states and where each action leads from them.

    >>> from swirl.data.mdp import MDP
    >>> ring = MDP.deterministic([[0, 1], [1, 2], [2, 0]])          # stay, or step clockwise
    >>> histories = Histories.reachable(ring.successors, length=2)
    >>> histories.table[:5].tolist()
    [[0, -1], [1, -1], [2, -1], [0, 0], [1, 0]]
    """

    successors: Successors
    """Lifted environment: nodes are histories."""
    table: Int[np.ndarray, "history length"]
    """States of each history, newest first; −1 before the start."""
    shorter: Int[np.ndarray, "history"]
    """The history without its oldest state: itself where that state is already missing or is the only one."""
    dropped: Int[np.ndarray, "history"]
    """The history without its oldest state, which may be short: itself where that state is the only one."""
    first_child: Int[np.ndarray, "history"]
    """Number of the first history that extends this one (full-length ones: that extends `shorter`)."""
    edges: Int[np.ndarray, "edge"]
    """Possible moves as ascending numbers ``state * n_states + next_state``."""
    edge_ranks: Int[np.ndarray, "edge"]
    """Rank of each edge's `next_state` among the successors of its state."""
    n_states: int

    @classmethod
    def reachable(cls, successors: Successors, length: int) -> "Histories":
        """Enumerate the histories of up to `length` states that `successors` allows."""
        if length < 1:
            raise ValueError(f"history={length}: expected a whole number of states, at least 1 (1 is the Markov model)")
        n_states = successors.n_nodes
        possible = successors.possible
        origin = np.broadcast_to(np.arange(n_states)[:, None, None], possible.shape)
        numbers = origin * n_states + np.asarray(successors.next)
        edges, inverse = np.unique(numbers[possible], return_inverse=True)
        out_degree = np.bincount(edges // n_states, minlength=n_states)
        first_edge = np.concatenate([[0], np.cumsum(out_degree)[:-1]])
        edge_ranks = np.arange(len(edges)) - first_edge[edges // n_states]
        rank = np.zeros(possible.shape, dtype=np.int64)  # impossible branches point to rank 0: probability 0
        rank[possible] = edge_ranks[inverse]

        # Level by level: the paths of l + 1 states extend each path of l states by each successor.
        newest, shorter = [np.arange(n_states)], [np.arange(n_states)]
        tables = [np.arange(n_states)[:, None]]
        base, first_child = 0, []
        for level in range(1, length):
            children = out_degree[newest[-1]]
            total = int(children.sum())
            if base + len(newest[-1]) + total > MAX_HISTORIES:
                raise ValueError(
                    f"history={length}: more than {MAX_HISTORIES:,} reachable histories already at {level + 1} states; "
                    f"the longest history that fits this environment is {level} ({base + len(newest[-1]):,} histories)"
                )
            next_base = base + len(newest[-1])
            starts = np.concatenate([[0], np.cumsum(children)[:-1]])
            parent = np.repeat(np.arange(len(children)), children)
            child_rank = np.arange(total) - starts[parent]
            state = edges[first_edge[newest[-1][parent]] + child_rank] % n_states
            first_child.append(next_base + starts)
            if level == 1:
                shorter.append(state)
            else:  # (s', h) without its oldest state is (s', h without its oldest state)
                grandparent = shorter[-1][parent]
                shorter.append(np.concatenate(first_child)[grandparent] + child_rank)
            tables.append(np.column_stack([state, tables[-1][parent]]))
            newest.append(state)
            base = next_base
        own = np.arange(base)
        last = len(newest[-1])
        if length == 1:
            lifted_first = np.zeros(n_states, dtype=np.int64)
            next_history = np.asarray(successors.next).astype(np.int64)
            shorter_all = own_all = np.arange(n_states)
        else:
            growing = np.concatenate(first_child)  # histories that are not yet full-length
            shorter_all = np.concatenate([own, shorter[-1]])
            lifted_first = np.concatenate([growing, growing[shorter[-1]]])
            states = np.concatenate(newest)
            next_history = lifted_first[:, None, None] + rank[states]
            own_all = np.arange(base + last)
        table = np.full((len(own_all), length), -1, dtype=np.int64)
        row = 0
        for block in tables:
            table[row : row + len(block), : block.shape[1]] = block
            row += len(block)
        states = table[:, 0]
        lifted = Successors(
            next=next_history.astype(np.int32),
            probability=np.ascontiguousarray(np.asarray(successors.probability)[states]),
            available=np.ascontiguousarray(np.asarray(successors.available)[states]),
        )
        return cls(lifted, table, shorter_all, np.concatenate(shorter), lifted_first, edges, edge_ranks, n_states)

    @property
    def n_histories(self) -> int:
        """Number of histories, short ones included."""
        return self.table.shape[0]

    @property
    def length(self) -> int:
        """History length L."""
        return self.table.shape[1]

    @property
    def states(self) -> Int[np.ndarray, "history"]:
        """Newest state of each history."""
        return self.table[:, 0]

    @cached_property
    def full_length(self) -> Bool[np.ndarray, "history"]:
        """True where the history has all of its L states."""
        return self.table[:, -1] >= 0

    def told(self, order: int) -> Bool[np.ndarray, "history"]:
        """The histories to average over for what holds of their newest `order` states: the full-length ones."""
        del order  # a part of them, `SeenContexts`, has rows of its own for these
        return self.full_length

    @cached_property
    def sizes(self) -> Int[np.ndarray, "history"]:
        """Number of states of each history; ascending."""
        return np.sum(self.table >= 0, axis=1)

    @cached_property
    def suffix_chains(self) -> Int[np.ndarray, "history length"]:
        """Each history, then itself without its oldest state, and so on to its newest state alone.

        All of these are histories.  Where a short history has no more, the number of histories stands in.

        >>> from swirl.data.mdp import MDP
        >>> ring = MDP.deterministic([[1], [0]])
        >>> Histories.reachable(ring.successors, length=3).suffix_chains.tolist()[-2:]    # 0 1 0 and 1 0 1
        [[4, 3, 0], [5, 2, 1]]
        """
        chains = np.full((self.n_histories, self.length), self.n_histories, dtype=np.int64)
        chains[:, 0] = np.arange(self.n_histories)
        for order in range(1, self.length):
            longer = np.flatnonzero(self.sizes > order)
            chains[longer, order] = self.dropped[chains[longer, order - 1]]
        return chains

    @cached_property
    def contexts(self) -> Int[np.ndarray, "history"]:
        """What a policy of r(h) can see: the last max(1, L − 1) states, as a history (design.md#what-a-policy-sees)."""
        return self.shorter

    @property
    def n_contexts(self) -> int:
        """Number of contexts; they are the first histories of `table`."""
        return self.n_histories if self.length == 1 else int(np.sum(~self.full_length))

    @cached_property
    def moves(self) -> Successors:
        """The environment with one option for each state that can follow: what a model of next states chooses among.

        Options are ranks, as `ranks` gives them; those a state does not have are not available.
        """
        out_degree = np.bincount(self.edges // self.n_states, minlength=self.n_states)
        first_edge = np.concatenate([[0], np.cumsum(out_degree)[:-1]])
        rank = np.arange(max(int(out_degree.max()), 1))
        available = rank < out_degree[self.states][:, None]
        if self.length == 1:
            place = np.minimum(first_edge[self.states][:, None] + rank, len(self.edges) - 1)
            following = self.edges[place] % self.n_states
        else:
            following = self.first_child[:, None] + rank
        following = np.where(available, following, np.arange(self.n_histories)[:, None])
        return Successors(following[..., None].astype(np.int32), np.ones((*following.shape, 1)), available)

    def suffixes(self, order: int) -> Int[np.ndarray, "history"]:
        """Group the histories by their newest `order` states: numbers 0, 1, … of the groups."""
        if order >= self.length:
            return np.arange(self.n_histories)
        _, group = np.unique(self.table[:, :order], axis=0, return_inverse=True)
        return group.reshape(-1)

    def ranks(self, states: Int[np.ndarray, "time"], next_states: Int[np.ndarray, "time"]) -> Int[np.ndarray, "time"]:
        """Rank of each move among the possible ones from its state, −1 where the move is impossible."""
        numbers = states * self.n_states + next_states
        place = np.minimum(np.searchsorted(self.edges, numbers), len(self.edges) - 1)
        return np.where(self.edges[place] == numbers, self.edge_ranks[place], -1)

    def follow(self, states: Int[np.ndarray, "time"], starts: Bool[np.ndarray, "time"]) -> Int[np.ndarray, "time"]:
        """Number the history at each step of a concatenated recording; histories begin anew at `starts`.

        Equals, for L ≥ 2 (with L = 1 the history is the state), the plain loop::

            for t in range(len(states)):
                if starts[t]:
                    history[t] = states[t]
                else:
                    history[t] = first_child[history[t - 1]] + rank(states[t - 1], states[t])
        """
        age = np.arange(len(states)) - np.maximum.accumulate(
            np.where(starts, np.arange(len(states)), 0)
        )  # steps since the last start
        rank = np.zeros(len(states), dtype=np.int64)
        rank[1:] = self.ranks(states[:-1], states[1:])
        bad = np.flatnonzero((rank < 0) & ~starts)
        if len(bad):
            raise ValueError(f"step {bad[0]}: no action leads from state {states[bad[0] - 1]} to {states[bad[0]]}")
        paths = states.astype(np.int64)
        for order in range(1, self.length):  # a path of order + 1 states is (s_t, path of `order` states at t − 1)
            older = np.flatnonzero(age >= order)
            longer = paths.copy()
            longer[older] = self.first_child[paths[older - 1]] + rank[older]
            paths = longer
        return paths
