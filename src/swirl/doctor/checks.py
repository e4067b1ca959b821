"""What a check comes to: passed or failed, what was seen, and what to do about it."""

from typing import Any

Check = dict[str, Any]
REPORT = "please report it with this output"
REINSTALL = "pip install --force-reinstall jax jaxlib numpy scipy"
LITTLE = 1_000_000_000  # bytes of memory or disk below which there is a warning


def ok(detail: str, do: str = "") -> Check:
    """A check that passed; with `do`, with advice.

    >>> ok("1 device")
    {'passed': True, 'detail': '1 device', 'do': ''}
    """
    return {"passed": True, "detail": detail, "do": do}


def failed(detail: str, do: str) -> Check:
    """A check that failed, and what to do.

    >>> failed("missing: scipy", "pip install scipy")["passed"]
    False
    """
    return {"passed": False, "detail": detail, "do": do}
