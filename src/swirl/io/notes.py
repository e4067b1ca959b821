"""What readers say of what they did: sentences, some of which must not be overlooked."""

import warnings
from collections.abc import Iterable

from swirl.errors import ImportNotice


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
