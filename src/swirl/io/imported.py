"""What every importer returns: sessions as plain arrays, not yet checked."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from swirl.errors import ImportNotice


@dataclass(frozen=True)
class Sessions:
    """Arrays per session, with the meanings that `Trajectories` gives them.

    Parameters
    ----------
    states
        Per session, integer labels.
    actions
        Per session, integer labels of length T (−1 where missing); None where no action was recorded.
    names, subjects, groups
        One label per session; None where they are not known.
    times
        Per session, seconds (or the recording's own unit) at each step, increasing.
    gaps
        Per session, the steps at which a new segment starts.
    signals
        Name → per session, one value (or row) per step.
    state_names, action_names
        What the labels 0, 1, … stood for in the file.
    notes
        What was done on the way, in sentences for `swirl import` to show: "dropped 12 frames without a position". One
        that begins with BEWARE is also a warning in Python.

    Examples
    --------
    >>> Sessions(states=[np.array([0, 1])], names=("m1",)).arguments()["names"]
    ('m1',)
    """

    states: list[np.ndarray]
    actions: list[np.ndarray] | None = None
    names: tuple[str, ...] | None = None
    subjects: tuple[Any, ...] | None = None
    groups: tuple[Any, ...] | None = None
    times: list[np.ndarray] | None = None
    gaps: list[np.ndarray] | None = None
    signals: dict[str, list[np.ndarray]] | None = None
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `Trajectories`."""
        wanted = ("states", "actions", "names", "subjects", "groups", "times", "gaps", "signals")
        found = {name: getattr(self, name) for name in wanted}
        names = {"state_names": self.state_names, "action_names": self.action_names}
        return {**found, **names, "notes": self.notes}


def is_loud(note: str) -> bool:
    """Whether a note must not be overlooked.

    >>> is_loud("BEWARE: times are frame numbers")
    True
    """
    return note.startswith("BEWARE")


def warn_of(notes: Iterable[str], stacklevel: int = 1) -> None:
    """Raise the loud ones among notes as warnings; `stacklevel` counts from the caller."""
    for note in filter(is_loud, notes):
        warnings.warn(note, ImportNotice, stacklevel=stacklevel + 1)


TWO_CLOCKS = 10
"""Frames of two recordings that are so many times as far apart in time are counted in two units, most likely."""


def two_clocks(periods: Iterable[tuple[str, float]], unit: str = "s") -> tuple[str, ...]:
    """A note where the times of recordings are plainly not in one unit.

    Parameters
    ----------
    periods
        Name of each recording, and the time between two of its frames.

    Examples
    --------
    >>> two_clocks([("m1", 1 / 30), ("m2", 1 / 25)])
    ()
    """
    known = sorted((period, name) for name, period in periods if period > 0)
    if not known or known[-1][0] < TWO_CLOCKS * known[0][0]:
        return ()
    (short, fast), (long, slow) = known[0], known[-1]
    return (
        f"BEWARE: two clocks: {slow!r} has a frame every {long:.3g} {unit}, {fast!r} every {short:.3g} {unit}. If one "
        "of them counts frames or milliseconds, bring all to seconds first, or import the files apart",
    )
