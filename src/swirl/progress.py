"""The line that a fit shows on a terminal: iteration, objective, time left, device.

In a pipe it is silent, or, when it is asked for, a line of its own every ten seconds: for the log of a cluster.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np


@contextmanager
def progress_line(wanted: bool | None, max_iter: int) -> Iterator[Callable[[Any], None]]:
    """Yield a function that redraws the line, at most ten times a second, and wipes it at the end."""
    stream = sys.stderr
    terminal = stream.isatty()
    if not (terminal if wanted is None else wanted):
        yield lambda _: None
        return
    pause, before, after = (0.1, "\r\x1b[2K", "") if terminal else (10.0, "", "\n")
    device = jax.devices()[0]
    place = device.platform if device.platform == device.device_kind else f"{device.platform} ({device.device_kind})"
    drawn = 0.0

    def show(state: Any) -> None:
        nonlocal drawn
        now = time.perf_counter()
        if now - drawn < pause and state.running:
            return
        drawn = now
        left = state.seconds / state.iteration * (max_iter - state.iteration)
        best = np.nanmax(state.objectives)
        stream.write(
            f"{before}EM iteration {state.iteration}/{max_iter}  objective {best:,.2f}  "
            f"{state.running} of {len(state.objectives)} restarts running  "
            f"at most {left:.0f} s left  on {place}{after}"
        )
        stream.flush()

    try:
        yield show
    finally:
        stream.write(before)
        stream.flush()
