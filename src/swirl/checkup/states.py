"""States: how often each was visited, and which do not belong."""

from typing import Any

import numpy as np

from swirl.checkup.figures import fraction
from swirl.checkup.notes import LISTED, SHOWN, Notes
from swirl.faults import counted


def count_states(notes: Notes) -> dict[str, Any]:
    """How often each state was visited, and which the environment does not have.

    >>> from swirl.trajectories import Trajectories
    >>> found = count_states(Notes(Trajectories([[0, 2, 0]])))
    >>> found["visited"], found["never_visited_first"], found["visited_once_first"]
    (2, [1], [2])
    """
    env, flat = notes.env, notes.flat
    steps = np.bincount(flat.states, minlength=notes.n_states)
    inside = steps if env is None else steps[: env.n_states]
    outside = np.flatnonzero(steps[len(inside) :]) + len(inside)
    if outside.size:
        at = np.flatnonzero(flat.states >= len(inside))
        says = (
            f"{counted(len(outside), 'state')} of the data not in the environment, which has 0 to {len(inside) - 1}: "
            f"{notes.states(outside)}, at {counted(len(at), 'step')}."
        )
        words = notes.at(at, "state", lambda t: f"state {notes.state(flat.states[t])}")
        notes.add("fault", "states-outside", says, words)
    never, once = np.flatnonzero(inside == 0), np.flatnonzero(inside == 1)
    if never.size:
        says = f"{len(never):,} of {counted(len(inside), 'state')} never visited: {notes.states(never)}."
        notes.add("note", "states-never-visited", says)
    if once.size:
        notes.add(
            "note", "states-visited-once", f"{counted(len(once), 'state')} visited just once: {notes.states(once)}."
        )
    top = [s for s in np.argsort(-steps, kind="stable")[:SHOWN].tolist() if steps[s]]
    shares = [fraction(steps[s], notes.data.n_steps) for s in top]
    return {
        "states": len(inside),
        "visited": int(np.count_nonzero(steps)),
        "never_visited": len(never),
        "never_visited_first": never[:LISTED].tolist(),
        "visited_once": len(once),
        "visited_once_first": once[:LISTED].tolist(),
        "outside": outside[:LISTED].tolist(),
        "top": [
            {"state": s, "name": notes.state(s), "steps": int(steps[s]), "share": share}
            for s, share in zip(top, shares, strict=True)
        ],
    }
