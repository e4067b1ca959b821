"""What the need of a fit depends on: numbers of states, paths, modes, restarts and steps, and the road it takes."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from swirl.arrangement import possible_moves
from swirl.iteration import Engine
from swirl.mdp import MDP

Kind = Literal["values", "policies", "planned", "shared"]


@dataclass(frozen=True)
class Sizes:
    """What the need of a fit depends on."""

    n_states: int
    n_actions: int
    n_branches: int
    paths: tuple[int, ...]
    """Number of paths of 1, 2, …, L states through the environment."""
    n_modes: int
    n_restarts: int
    n_steps: int
    n_sessions: int
    longest: int
    """Steps of the longest session."""
    kind: Kind
    """Which module of `rewards` fits them."""
    features: int
    """Numbers that a parametric reward works with for each history."""
    goal_history: int
    switching: str
    engine: Engine
    on_gpu: bool
    n_threads: int

    @property
    def n_histories(self) -> int:
        """Number of histories of up to L states."""
        return sum(self.paths)

    @property
    def n_contexts(self) -> int:
        """Number of histories that a policy made by r(h) can tell apart (`Histories.n_contexts`)."""
        return self.paths[0] if len(self.paths) == 1 else sum(self.paths[:-1])

    @property
    def n_rows(self) -> int:
        """Rows of the table of choices: histories that the policies tell apart."""
        if self.kind == "shared":
            return min(self.n_contexts, self.n_steps)
        return self.n_contexts if self.kind == "values" else self.n_histories

    @property
    def branches(self) -> int:
        """Successors of one history, over all actions."""
        return self.n_actions * self.n_branches

    @property
    def padded(self) -> int:
        """Steps as `scan.pad` lays them out: to 64, among sessions whose lengths differ by up to four times."""
        bucket = self.longest if self.longest < 64 else -(-self.longest // 64) * 64
        alike = self.longest * self.n_sessions <= 1.5 * self.n_steps
        return self.n_sessions * bucket if alike else min(self.n_sessions * bucket, 2 * self.n_steps)


def count_paths(env: MDP, length: int) -> tuple[int, ...]:
    """Count the paths of 1, 2, …, `length` states through the environment, without making any of them.

    n_{l+1}(s) = Σ_{s' after s} n_l(s'), in floating point: exact up to 9·10¹⁵, and near enough beyond.

    >>> count_paths(MDP.deterministic([[0, 1], [1, 2], [2, 0]]), 4)
    (3, 6, 12, 24)
    """
    if length < 1:
        raise ValueError(f"history={length}: expected a whole number of states, at least 1 (1 is the Markov model)")
    n_states, moves = env.n_states, possible_moves(env)
    follows = sparse.csr_array((np.ones(len(moves)), tuple(moves.T)), shape=(n_states, n_states))
    paths, counts = np.ones(n_states), [n_states]
    for _ in range(1, length):
        paths = np.minimum(follows @ paths, 1e30)
        counts.append(round(float(paths.sum())))
    return tuple(counts)
