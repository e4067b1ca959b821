"""Numbers as JSON and as text."""

import base64
import gzip
import html
import json
import math
import re
from typing import Any

import numpy as np


def rounded(values: Any, digits: int = 4) -> Any:
    """An array as nested lists of short numbers, with None for what is not finite (JSON has no NaN).

    >>> rounded(np.array([[0.123456, np.nan], [12345.678, 2.0]]))
    [[0.1235, None], [12350, 2]]
    """
    array = np.asarray(values)
    if array.dtype.kind in "biu":
        return array.tolist()
    array = array.astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.floor(np.log10(np.abs(array)))
    scale = 10.0 ** np.where(np.isfinite(size), digits - 1 - size, 0)
    short = np.where(np.isfinite(array), np.round(array * scale) / scale, np.nan)
    return _listed(short.tolist())


def _listed(value: Any) -> Any:
    if isinstance(value, list):
        return [_listed(item) for item in value]
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) and abs(value) < 2**53 else value


def to_json(value: Any) -> str:
    r"""JSON that may stand inside a script element: no "<" in it can end the element or open a comment.

    >>> to_json({"name": "</script><b>"})
    '{"name":"\\u003c/script\\u003e\\u003cb\\u003e"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def squeezed(text: str) -> str:
    """Text as gzip in base64, for the page to unpack; the same text gives the same letters.

    >>> squeezed("a" * 1000) == squeezed("a" * 1000), len(squeezed("a" * 1000)) < 60
    (True, True)
    """
    return base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii")


def number(value: Any, digits: int = 3) -> str:
    """A number as a sentence shows it.

    >>> number(1234567), number(0.012345), number(-2.5), number(float("nan")), number(3.0)
    ('1,234,567', '0.0123', '−2.5', '—', '3')
    """
    if value is None or (isinstance(value, float | np.floating) and not math.isfinite(value)):
        return "—"
    if isinstance(value, int | np.integer) or float(value) == int(value):
        return f"{int(value):,}".replace("-", "−")
    places = max(0, digits - 1 - math.floor(math.log10(abs(float(value)))))
    text = f"{float(value):,.{places}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def percent(share: float | int) -> str:
    r"""A share in percent, without decimals unless it is near 0 or 1; the space does not break.

    >>> [percent(share).replace("\xa0", " ") for share in (0.624, 0.0042, 0.0, 0.9996)]
    ['62 %', '0.4 %', '0 %', '99.96 %']
    """
    value = 100 * float(share)
    if not math.isfinite(value):
        return "—"
    if 0 < value < 1 or 99 < value < 100:
        return f"{number(value, 1 if value < 1 else 4)}\u00a0%"
    return f"{value:.0f}\u00a0%"


def listed(items: list[str], word: str = "and") -> str:
    """Items as a sentence lists them.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}" if items else ""


def label(text: Any) -> str:
    """A name of the user's for a figure: plotly reads a little HTML, which a name is not.

    >>> label('<b>"x"</b>')
    '&lt;b&gt;"x"&lt;/b&gt;'
    """
    return html.escape(str(text), quote=False)


def minus(text: str) -> str:
    """Write negative numbers with a minus sign.

    >>> minus("Objective -69.1 of S-2")
    'Objective −69.1 of S-2'
    """
    return re.sub(r"(?<![\w-])-(?=\d)", "−", text)
