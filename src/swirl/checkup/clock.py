"""The clock of the recordings: its beat, and where it jumps."""

from itertools import pairwise
from typing import Any

import numpy as np

from swirl.checkup.figures import fraction, percent
from swirl.checkup.notes import Notes
from swirl.faults import counted

OFF_BEAT = 0.1  # how far a step's duration may lie from the session's median, relative to it


def check_clock(notes: Notes) -> dict[str, Any] | None:
    """The clock: its beat, steps off the beat, and jumps that no gap marks.

    >>> from swirl.trajectories import Trajectories
    >>> found = check_clock(Notes(Trajectories([[0, 1, 0, 1, 0]], times=[[0.0, 1.0, 2.0, 3.0, 90.0]])))
    >>> found["median_step"], found["regular"], found["jumps"]
    (1.0, False, 1)
    """
    data, flat = notes.data, notes.flat
    if data.times is None:
        return None
    here = np.flatnonzero(~flat.starts[1:])
    if not here.size:
        return {"median_step": None, "regular": False, "irregular": 0, "jumps": 0, "longest": None}
    clock = np.concatenate(data.times)
    step, session = clock[here + 1] - clock[here], flat.sessions[here]
    edges = np.searchsorted(session, np.arange(len(data) + 1))
    beat = np.array([np.median(step[a:b]) if b > a else np.nan for a, b in pairwise(edges)])
    ratio = step / beat[session]
    off = np.abs(ratio - 1) > OFF_BEAT
    steady = np.bincount(session, weights=off, minlength=len(data)) <= 0.05 * np.diff(edges)
    steady &= np.diff(edges) > 0
    # With a steady beat one lost frame shows; without one, only what is out of all proportion is a jump.
    jump = np.flatnonzero(ratio > np.where(steady[session], 1.5, 20.0))
    regular = bool(steady[np.diff(edges) > 0].all())
    if jump.size:
        longest = jump[np.argmax(step[jump])]
        where = data.where(int(session[longest]), int(flat.steps[here[longest] + 1]))
        among = counted(len(np.unique(session[jump])), "session")
        says = f"{counted(len(jump), 'jump')} in time within segments, in {among}"
        after = dict(zip((here[jump] + 1).tolist(), step[jump].tolist(), strict=True))
        places = notes.at(here[jump] + 1, "time", lambda t: f"{after[t]:.4g} after the step before")
        level = "warning" if steady[session[jump]].any() else "note"
        notes.add(level, "time-jumps", f"{says}; the longest ({step[longest]:.4g}) is before {where}.", places)
    if not regular:
        share = percent(fraction(off.sum(), len(step)))
        notes.add("note", "time-irregular", f"{share} of steps differ from the median duration by more than a tenth.")
    own = beat[steady]
    if own.size and own.max() > (1 + OFF_BEAT) * own.min():
        slow, fast = np.flatnonzero(steady)[[np.argmax(own), np.argmin(own)]].tolist()
        ticks = [f"a step takes {beat[i]:.4g} in {notes.sessions([i])}" for i in (fast, slow)]
        notes.add("warning", "time-bases-differ", f"Sessions have different clocks: {', '.join(ticks)}.")
    return {
        "median_step": float(np.median(step)),
        "regular": regular,
        "irregular": int(off.sum()),
        "jumps": len(jump),
        "longest": float(step.max()),
    }
