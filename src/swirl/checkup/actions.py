"""Actions: which were seen, which are missing, and which cannot be."""

from typing import Any

import numpy as np

from swirl.checkup.figures import fraction, percent
from swirl.checkup.moves import Moves
from swirl.checkup.notes import LISTED, Notes, first_ten
from swirl.faults import counted
from swirl.reading import MISSING


def count_actions(notes: Notes, moves: Moves) -> dict[str, Any]:
    """Actions that were seen, that are missing, and that are not available where they were seen.

    >>> from swirl.checkup.moves import find_moves
    >>> from swirl.trajectories import Trajectories
    >>> notes = Notes(Trajectories([[0, 1, 0, 1]], [[1, -1, 1]]))
    >>> found = count_actions(notes, find_moves(notes))
    >>> found["observed"], found["missing_within_segments"], found["never_chosen_first"]
    (2, 1, [0])
    """
    flat, env = notes.flat, notes.env
    steps = np.bincount(flat.actions + 1, minlength=notes.n_actions + 1)[1:]
    observed = int(steps.sum())
    blank = moves.action == MISSING
    missing, inferable = int(moves.count[blank].sum()), int(moves.count[blank & moves.inferable].sum())
    outside = barred = np.zeros(0, np.int64)
    if env is not None:
        outside = np.flatnonzero(flat.actions >= env.n_actions)
        # A missing action is available everywhere; labels that the environment lacks are told elsewhere.
        allowed = np.ones((notes.n_states, notes.n_actions + 1), bool)
        allowed[: env.n_states, 1 : env.n_actions + 1] = env.available
        barred = np.flatnonzero(~allowed[flat.states, flat.actions + 1])
    if outside.size and env is not None:
        says = f"{counted(len(outside), 'action')} that the environment, which has 0 to {env.n_actions - 1}, lacks."
        words = notes.at(outside, "action", lambda t: f"action {notes.action(flat.actions[t])}")
        notes.add("fault", "actions-outside", says, words)
    if barred.size:
        says = f"{counted(len(barred), 'action')} observed where the environment does not have it."
        words = notes.at(
            barred, "action", lambda t: f"action {notes.action(flat.actions[t])} in state {notes.state(flat.states[t])}"
        )
        notes.add("fault", "actions-not-available", says, words)
    if missing and notes.data.n_states > 1 and not notes.misnamed:
        _missing_actions(notes, observed, missing, inferable, len(moves.here))
    there = notes.n_actions if env is None else env.n_actions
    unused = np.flatnonzero(steps[:there] == 0) if observed else np.zeros(0, np.int64)
    if unused.size:
        names = first_ten(unused, notes.action)
        says = f"{len(unused):,} of {counted(there, 'action')} never chosen: {names}."
        notes.add("note", "actions-never-chosen", says)
    return {
        "actions": there,
        "observed": observed,
        "missing": notes.data.n_steps - observed,
        "missing_within_segments": missing,
        "inferable": inferable,
        "never_chosen": len(unused),
        "never_chosen_first": unused[:LISTED].tolist(),
        "outside": len(outside),
        "not_available": len(barred),
    }


def _missing_actions(notes: Notes, observed: int, missing: int, inferable: int, n_moves: int) -> None:
    """Say how many are missing, and what is made of them."""
    who = f"{percent(fraction(missing, n_moves))} of moves have no action" if observed else "No action was recorded"
    if notes.env is None and not observed:
        notes.add("note", "actions-next-states", f"{who}: the action is then the next state, as for syllables.")
    elif inferable == missing:
        notes.add("note", "actions-inferred", f"{who}; all of them follow from the states, as one action alone fits.")
    else:
        # Without an environment where actions lead is learnt from those that were seen.
        level = "warning" if notes.env is None and missing >= 0.5 * n_moves else "note"
        some_do = f"; {inferable:,} of {missing:,} follow from the states" if notes.env is not None else ""
        notes.add(level, "actions-missing", f"{who}{some_do}; at the others the next state alone counts.")
