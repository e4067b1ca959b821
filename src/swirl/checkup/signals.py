"""Signals: what is missing, constant, infinite or out of scale."""

from typing import Any

import numpy as np

from swirl.checkup.figures import fraction, percent, range_words
from swirl.checkup.notes import Notes
from swirl.faults import counted, some

SCALES = (1e-4, 1e4)  # standard deviations that optimisers are at ease with


def check_signal(notes: Notes, name: str, arrays: list[np.ndarray]) -> dict[str, Any]:
    """What is missing, constant, infinite or out of scale in one signal, over its channels.

    >>> from swirl.trajectories import Trajectories
    >>> notes = Notes(Trajectories([[0, 1, 0, 1]]))
    >>> found = check_signal(notes, "speed", [np.array([1.0, 3.0, np.nan, np.inf])])
    >>> found["nan_share"], found["infinite"], found["sd"]
    (0.25, 1, [1.0, 1.0])
    """
    lengths = notes.data.lengths
    first = np.cumsum(lengths) - lengths
    whole = np.concatenate(arrays)
    columns = whole.reshape(len(whole), -1)
    blank, infinite, constant, dead, scales = 0, 0, [], set(), []
    for channel, values in enumerate(columns.T):
        seen = np.isfinite(values)
        blank += int(np.isnan(values).sum())
        infinite += int(np.isinf(values).sum())
        if not seen.any():
            continue
        low = np.minimum.reduceat(np.where(seen, values, np.inf), first)
        high = np.maximum.reduceat(np.where(seen, values, -np.inf), first)
        if low.min() == high.max():
            constant.append(channel)
        else:
            dead |= set(np.flatnonzero((low == high) & (lengths > 1)).tolist())
            scales.append(float(np.std(values[seen], dtype=float)))
    share = fraction(blank, columns.size)
    facts = {
        "channels": columns.shape[1],
        "nan_share": share,
        "infinite": infinite,
        "constant_channels": constant,
        "constant_in": sorted(dead),
        "sd": [min(scales), max(scales)] if scales else None,
    }
    label = f"Signal {name!r}"
    if infinite:
        notes.add("warning", "signal-infinite", f"{label} is infinite at {counted(infinite, 'place')}.")
    if blank:
        notes.add("warning" if share >= 0.5 else "note", "signal-missing", f"{label} is NaN at {percent(share)}.")
    if constant:
        which = "" if facts["channels"] == 1 else f" in channel {some(constant)}"
        notes.add("warning", "signal-constant", f"{label} is constant{which}.")
    if dead:
        says = f"{label} is constant in {counted(len(dead), 'session')}: {notes.sessions(sorted(dead))}."
        notes.add("warning", "signal-constant-in-sessions", says)
    if scales and (min(scales) < SCALES[0] or max(scales) > SCALES[1]):
        notes.add("note", "signal-scale", f"{label} has a standard deviation of {range_words(facts['sd'])}.")
    return facts
