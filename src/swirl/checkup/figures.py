"""Numbers as a reader wants them."""

from typing import Any


def fraction(part: Any, whole: Any) -> float:
    """Return part / whole; of nothing, 0.

    >>> fraction(1, 4), fraction(0, 0)
    (0.25, 0.0)
    """
    return float(part) / float(whole) if whole else 0.0


def percent(share: float) -> str:
    """Say a share in per cent.

    >>> percent(0.41234)
    '41.2 %'
    """
    return f"{100 * share:.3g} %"


def number_words(value: float) -> str:
    """Write a number with at most one decimal.

    >>> number_words(1200.0), number_words(2.5)
    ('1,200', '2.5')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def range_words(ends: list[float]) -> str:
    """Write a range by its two ends, or by one where they are the same.

    >>> range_words([0.5, 2.0]), range_words([1.0, 1.0])
    ('0.5 to 2', '1')
    """
    return f"{ends[0]:.3g}" if ends[0] == ends[1] else f"{ends[0]:.3g} to {ends[1]:.3g}"
