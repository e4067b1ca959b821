"""What a page carries: JSON inside a script element, and packed text."""

import base64
import gzip
import json
from typing import Any


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
