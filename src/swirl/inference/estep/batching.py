"""Chains arranged to be walked several at a time, so that the processor has work while one of them waits.

A step of one chain needs the step before it; four chains side by side hide that wait (measured: 1.4 times the
speed).  Chains of like length share a group, padded as in `scan`: the neutral symbol, and a state whose transition
table is the identity.  Chains that find no company go alone.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

LANES = 4
FULLEST = 0.75  # a group is formed if at least this share of its steps is real


class Lanes(NamedTuple):
    """Groups of `width` chains; the step t of lane l of group g is at ``starts[g] + t * width + l``."""

    width: int
    symbols: Int[np.ndarray, "place"]
    states: Int[np.ndarray, "place"]
    starts: Int[np.ndarray, "group_plus_one"]
    weights: Float[np.ndarray, "chain"]
    """How often each chain counts, group by group."""

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.starts) - 1


def arrange(
    symbols: Int[np.ndarray, "step"],
    states: Int[np.ndarray, "step"],
    offsets: Int[np.ndarray, "chain_plus_one"],
    *,
    n_symbols: int,
    n_states: int,
    times: Int[np.ndarray, "chain"] | None = None,
) -> tuple[Lanes, ...]:
    """Form groups of `LANES` chains, longest first, and one list of those that go alone; empty lists are left out, and
    so are chains that count zero `times`.

    >>> lanes = arrange(np.zeros(9, int), np.zeros(9, int), np.array([0, 2, 4, 6, 8, 9]), n_symbols=1, n_states=1)
    >>> [(part.width, part.n_groups) for part in lanes]
    [(4, 1), (1, 1)]
    """
    lengths = np.diff(offsets)
    weights = np.ones(len(lengths)) if times is None else times.astype(float)
    order = [chain for chain in np.argsort(-lengths, kind="stable").tolist() if weights[chain]]
    together: list[list[int]] = []
    alone: list[list[int]] = []
    while order:
        head = order[:LANES]
        if len(head) == LANES and lengths[head].sum() >= FULLEST * LANES * lengths[head[0]]:
            together.append(head)
            del order[:LANES]
        else:
            alone.append([order.pop(0)])
    parts = []
    for width, groups in ((LANES, together), (1, alone)):
        if not groups:
            continue
        starts = np.concatenate([[0], np.cumsum([width * lengths[group[0]] for group in groups])]).astype(np.int64)
        own_symbols = np.full(starts[-1], n_symbols, dtype=np.int32)
        own_states = np.full(starts[-1], n_states, dtype=np.int32)
        for start, group in zip(starts[:-1], groups, strict=True):
            for lane, chain in enumerate(group):
                first, last = offsets[chain], offsets[chain + 1]
                place = slice(start + lane, start + lane + width * (last - first), width)
                own_symbols[place] = symbols[first:last]
                own_states[place] = states[first:last]
                # The step after the last one must not switch: its transition is padding as well.
                own_states[start + lane + width * (last - first - 1)] = n_states
        parts.append(Lanes(width, own_symbols, own_states, starts, weights[np.concatenate(groups)]))
    return tuple(parts)
