"""What readers say of what they did: sentences, some of which must not be overlooked."""

import re
import warnings
from collections.abc import Iterable, Sequence

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


def said_once(notes: Iterable[str], names: Sequence[str]) -> list[str]:
    """Notes to print: of those that differ only in the name (of a session or file) and in numbers, the first.

    >>> said_once(["a: 3 of 9 frames lost.", "x and y are in cm", "b: 5 of 9 frames lost."], ["a", "b"])
    ['a: 3 of 9 frames lost. (1 more like this.)', 'x and y are in cm']
    """
    known = "|".join(re.escape(name) for name in sorted(set(names), key=len, reverse=True) if name)
    alike: dict[str, list[str]] = {}
    for note in notes:
        bare = re.sub(rf"(?<!\w)(?:{known})(?!\w)", "@", note) if known else note
        alike.setdefault(re.sub(r"\d[\d,.]*", "#", bare) if bare != note else note, []).append(note)
    more = (f" ({len(each) - 1:,} more like this.)" if len(each) > 1 else "" for each in alike.values())
    return [each[0] + end for each, end in zip(alike.values(), more, strict=True)]


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
