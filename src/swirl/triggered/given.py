"""What was given: a signal and modes step by step, and the sessions or subjects that are averaged over."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from swirl.faults import Faults, counted
from swirl.trajectories import Trajectories

Over = Literal["session", "subject"]


def signal_called(data: Trajectories, name: str) -> list[Any]:
    """The signal of that name, one array per session, or word of those that there are.

    >>> data = Trajectories([[0, 1]], signals={"dopamine": [[1.0, 3.0]]})
    >>> signal_called(data, "dopamin")
    Traceback (most recent call last):
    ValueError: signal='dopamin': no such signal; the data have 'dopamine'
    """
    known = data.signals or {}
    if name not in known:
        there = f"the data have {', '.join(map(repr, known))}" if known else "the data have none"
        raise ValueError(f"signal={name!r}: no such signal; {there}")
    return list(known[name])


def read_signal(data: Trajectories, signal: Any) -> tuple[str, Float[np.ndarray, "step channel"]]:
    """The signal's name, and its values end to end."""
    if isinstance(signal, str):
        name, parts = signal, signal_called(data, signal)
    else:
        name, parts = "signal", list(signal)
    arrays = [np.asarray(part, dtype=float) for part in parts]
    faults = Faults()
    _match("signal", arrays, data, (1, 2), faults)
    faults.raise_if_any("The signal cannot be set beside the modes")
    widths = {array.shape[1] if array.ndim == 2 else 1 for array in arrays}
    if len(widths) > 1:
        raise ValueError(f"signal has {sorted(widths)} channels in different sessions: expected the same in all")
    return name, np.concatenate([array.reshape(len(array), -1) for array in arrays])


def read_modes(data: Trajectories, modes: Sequence[Any], n_modes: int | None) -> tuple[Int[np.ndarray, "step"], int]:
    """The modes end to end, and how many there are."""
    arrays = [np.asarray(path) for path in modes]
    faults = Faults()
    _match("modes", arrays, data, (1,), faults)
    wrong = [i for i, path in enumerate(arrays) if path.dtype.kind not in "iu" or path.min(initial=0) < -1]
    for i in wrong:
        faults.add(f"modes[{i}] is {arrays[i].dtype}, {arrays[i].min()} at least: expected 0, 1, …, or −1 for unknown")
    faults.raise_if_any("The modes do not fit the data")
    path = np.concatenate(arrays).astype(np.int64)
    seen = 1 + int(path.max())
    if n_modes is not None and n_modes < seen:
        raise ValueError(f"n_modes={n_modes}: modes go up to {seen - 1}; give at least {seen}")
    return path, max(seen, 1) if n_modes is None else n_modes


def _match(
    argument: str, arrays: list[np.ndarray], data: Trajectories, depths: tuple[int, ...], faults: Faults
) -> None:
    if len(arrays) != len(data):
        faults.add(f"{argument} has {counted(len(arrays), 'session')}, the data {len(data)}: give one array for each")
        return
    for i, (array, n) in enumerate(zip(arrays, data.lengths, strict=True)):
        if array.ndim not in depths or len(array) != n:
            faults.add(f"{argument}[{i}] has shape {array.shape}, session {i} has {counted(int(n), 'step')}: give one "
                       "value for each step")  # fmt: skip


def read_units(data: Trajectories, over: str | None) -> tuple[Over, tuple[str, ...], Int[np.ndarray, "session"]]:
    """What is averaged over, the names of these, and which of them each session belongs to."""
    if over not in (None, "session", "subject"):
        raise ValueError(f'over={over!r}: expected "session" or "subject"')
    unknown = [i for i, subject in enumerate(data.subjects) if subject is None]
    subjects = list(dict.fromkeys(data.subjects))
    if over == "subject" and unknown:
        raise ValueError(f"over='subject': the subject of session {unknown[0]} is not known ({len(unknown)} such "
                         "sessions); give subjects=, or average over sessions")  # fmt: skip
    if over == "subject" or (over is None and not unknown and len(subjects) > 1):
        return "subject", tuple(map(str, subjects)), np.array([subjects.index(s) for s in data.subjects], np.int64)
    return "session", data.names, np.arange(len(data))


def check_window(data: Trajectories, before: Any, after: Any, bin: Any, n_shifts: int) -> None:
    """Refuse a window, a bin or a number of shifts that makes no sense, all faults at once."""
    faults = Faults()
    for argument, value in (("before", before), ("after", after)):
        if not (np.isfinite(value) and value >= 0) or (bin is None and int(value) != value):
            expected = "a whole number of steps" if bin is None else "a time"
            faults.add(f"{argument}={value!r}: expected {expected}, at least 0")
    if bin is not None and not (np.isfinite(bin) and bin > 0):
        faults.add(f"bin={bin!r}: expected a width above 0, in the unit of data.times")
    if bin is not None and data.times is None:
        faults.add(f"bin={bin!r}: the data have no times; give times=, or leave bin out to count in steps")
    if not isinstance(n_shifts, Integral) or n_shifts < 0:
        faults.add(f"n_shifts={n_shifts!r}: expected a whole number, at least 0")
    faults.raise_if_any("The window cannot be used")
