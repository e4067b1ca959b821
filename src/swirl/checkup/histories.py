"""How much there is to learn from: steps for each history of states."""

from typing import Any

import numpy as np
from jaxtyping import Int

from swirl.checkup.figures import number_words
from swirl.checkup.moves import Moves, distinct, support
from swirl.checkup.notes import Notes

FEW_STEPS = 5  # median steps of a history, below which a reward has little to rest on
LONGEST_HISTORY = 3


def count_histories(notes: Notes, moves: Moves) -> list[dict[str, Any]]:
    """How many steps there are for each history of 1, 2, … states that can be reached.

    >>> from swirl.checkup.moves import find_moves
    >>> from swirl.trajectories import Trajectories
    >>> notes = Notes(Trajectories([[0, 1, 0, 1]]))
    >>> [(entry["length"], entry["reachable"], entry["median"]) for entry in count_histories(notes, find_moves(notes))]
    [(1, 2, 2.0), (2, 2, 1.5), (3, 2, 1.0)]
    """
    flat, env = notes.flat, notes.env
    n_states = max(notes.data.n_states, 0 if env is None else env.n_states)
    pairs = moves.state * n_states + moves.following
    visits = np.bincount(flat.states)[: None if env is None else env.n_states]
    if env is None:
        edges, reachable = np.unique(pairs), int(np.count_nonzero(visits))
    else:
        s, _, to, _ = support(env)
        edges, reachable = np.unique(s * n_states + to), env.n_states
    joined = ~flat.starts
    joined[moves.where(~np.isin(pairs, edges)) + 1] = False
    found = [_per_history(1, reachable, visits[visits > 0])]
    paths = np.bincount(edges % n_states, minlength=n_states)  # numbers of paths of `length` states, by the newest
    number, whole = flat.states, np.ones(len(joined), bool)
    for length in range(2, LONGEST_HISTORY + 1):
        longer = joined.copy()
        longer[1:] &= whole[:-1]
        whole = longer
        at = np.flatnonzero(whole)
        key = number[at - 1] * n_states + flat.states[at]
        values, counts = distinct(key, (int(number.max()) + 1) * n_states)
        found.append(_per_history(length, int(paths.sum()), counts))
        if length < LONGEST_HISTORY:
            number = np.zeros(len(joined), np.int64)
            number[at] = np.searchsorted(values, key)
            # A path goes on to every successor of its newest state.
            weights = paths[edges // n_states].astype(float)
            paths = np.bincount(edges % n_states, weights=weights, minlength=n_states).astype(np.int64)
    if notes.data.n_states > 1:
        _too_few(notes, found)
    return found


def _per_history(length: int, reachable: int, counts: Int[np.ndarray, " seen"]) -> dict[str, Any]:
    """Median steps of the reachable histories; those that were not seen, which may be very many, have none."""
    unseen, ordered = max(reachable - len(counts), 0), np.sort(counts)
    middle = [(reachable - 1) // 2, reachable // 2]
    median = np.mean([0 if i < unseen else ordered[i - unseen] for i in middle]) if reachable else 0.0
    return {"length": length, "reachable": reachable, "unseen": unseen, "median": float(median)}


def _too_few(notes: Notes, histories: list[dict[str, Any]]) -> None:
    states, pairs = histories[0]["median"], histories[1]["median"]
    if states < FEW_STEPS:
        notes.add("warning", "few-steps", f"Steps per state: median {number_words(states)}.")
    elif pairs < FEW_STEPS:
        notes.add(
            "note", "few-steps-per-history", f"Steps per reachable history of length 2: median {number_words(pairs)}."
        )
