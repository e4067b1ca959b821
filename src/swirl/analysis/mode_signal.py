"""The mean of a recorded signal (dopamine, a neuron) in each mode.

Steps that follow one another are alike, and so are bouts of one session, so standard errors are over sessions (over
subjects where several are known): each gives one mean, and these are averaged.  How the signal goes with the *reward*
is told by `reward_signal.signal_test`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.estimators.base import as_trajectories
from swirl.text import counted, plain_name

__all__ = ["SignalByMode", "signal_by_mode"]

Over = Literal["session", "subject"]


def own_name(data: Trajectories, name: str) -> str:
    """A signal's name as the data write it, where capitals, spaces and marks may differ; or word of those there are.

    >>> own_name(Trajectories([[0, 1]], signals={"dFF": [[1.0, 3.0]]}), "dff")
    'dFF'
    """
    known = data.signals or {}
    if name in known:
        return name
    alike = [own for own in known if plain_name(own) == plain_name(name)]
    if len(alike) == 1:
        return alike[0]
    there = f"the data have {', '.join(map(repr, known))}" if known else "the data have none"
    raise ValueError(f"signal={name!r}: no such signal; {there}")


def signal_called(data: Trajectories, name: str) -> list[Any]:
    """The signal of that name, one array per session, or word of those that there are.

    >>> data = Trajectories([[0, 1]], signals={"dopamine": [[1.0, 3.0]]})
    >>> signal_called(data, "dopamin")
    Traceback (most recent call last):
    ValueError: signal='dopamin': no such signal; the data have 'dopamine'
    """
    return list((data.signals or {})[own_name(data, name)])


def read_signal(data: Trajectories, signal: Any) -> tuple[str, Float[np.ndarray, "step channel"]]:
    """The signal's name, and its values end to end."""
    if isinstance(signal, str):
        name, parts = own_name(data, signal), signal_called(data, signal)
    else:
        name, parts = "signal", list(signal)
    arrays = [np.asarray(part, dtype=float) for part in parts]
    faults = Faults()
    _match("signal", arrays, data, (1, 2), faults)
    faults.raise_if_any("The signal cannot be compared with the modes")
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


def _is_number(value: Any) -> bool:
    """Whether it is one finite number, of whatever type."""
    try:
        return not isinstance(value, str | bytes) and bool(np.isfinite(float(value)))
    except (TypeError, ValueError):
        return False


def _not_whole(lengths: Sequence[Any], bin: Any) -> str:
    """Which window would do, where some of its lengths are not whole numbers of bins (but for rounding); else nothing.

    >>> _not_whole([5, 30], 20), _not_whole([0.3, 0.6], 0.1)
    ('whole numbers of bins of 20; 20 and 40 would do', '')
    """
    bins = [float(length) / float(bin) for length in lengths]
    if all(abs(n - round(n)) <= 1e-6 * max(1.0, n) for n in bins):
        return ""
    fitting = [np.ceil(n - 1e-6 * max(1.0, n)) * float(bin) for n in bins]
    return f"whole numbers of bins of {bin:g}; {' and '.join(f'{length:g}' for length in fitting)} would do"


def check_window(data: Trajectories, before: Any, after: Any, bin: Any, n_shifts: int) -> None:
    """Refuse a window, a bin or a number of shifts that makes no sense, all faults at once."""
    faults = Faults()
    wrong = {
        argument: value
        for argument, value in (("before", before), ("after", after))
        if not (_is_number(value) and value >= 0) or (bin is None and int(value) != value)
    }
    for argument, value in wrong.items():
        expected = "a whole number of steps" if bin is None else "a time"
        faults.add(f"{argument}={value!r}: expected {expected}, at least 0")
    if bin is not None and not (_is_number(bin) and bin > 0):
        faults.add(f"bin={bin!r}: expected a width above 0, in the unit of data.times")
    elif bin is not None and not wrong and (expected := _not_whole((before, after), bin)):
        faults.add(f"before={before!r}, after={after!r}: expected {expected}")
    if bin is not None and data.times is None:
        faults.add(f"bin={bin!r}: the data have no times; give times=, or leave bin out to count in steps")
    if not isinstance(n_shifts, Integral) or n_shifts < 0:
        faults.add(f"n_shifts={n_shifts!r}: expected a whole number, at least 0")
    faults.raise_if_any("The window cannot be used")


@dataclass(frozen=True)
class Window:
    """How far figures reach around the starts of a mode."""

    before: float | int = 10
    after: float | int = 20
    bin: float | int | None = None
    """Width of the bins of time: `before`, `after` and lags are then in the unit of the times. None: in steps."""


def read_window(data: Trajectories, signal: str | None, window: Any = None, bin: Any = None) -> Window:
    """A window of figures as it was asked for: (before, after), and the width of bins where lags are to be times.

    Without the first: 10 before and 20 after, of steps or bins.

    >>> data = Trajectories([[0, 1]], times=[[0.0, 0.5]], signals={"dff": [[1.0, 2.0]]})
    >>> read_window(data, "dff"), read_window(data, "dff", bin=0.5).after
    (Window(before=10, after=20, bin=None), 10.0)
    """
    faults, asked = Faults(), Window()
    if signal is None and (window is not None or bin is not None):
        faults.add("signal_window (--signal-window) and signal_bin (--signal-bin) go with signal (--signal NAME)")
    width = bin if bin is not None and _is_number(bin) and bin > 0 else None
    if bin is not None and width is None:
        faults.add(f"signal_bin={bin!r} (--signal-bin): expected a width above 0, in the unit of the times")
    elif bin is not None:
        asked = Window(asked.before * bin, asked.after * bin, bin)
    if bin is not None and data.times is None:
        faults.add(
            f"signal_bin={bin!r} (--signal-bin): the data have no times, so lags can only be steps; leave it out, or "
            "give times (a column t, or times=)"
        )
    if window is not None:
        values: list[Any] = list(window) if np.iterable(window) and not isinstance(window, str) else [window]
        if len(values) != 2 or not all(_is_number(value) and value >= 0 for value in values):
            faults.add(
                f"signal_window={window!r} (--signal-window): expected two numbers, at least 0: how far before and "
                "after the start of a mode, as in 10,20"
            )
        elif bin is None and any(int(value) != value for value in values):
            faults.add(
                f"signal_window={window!r} (--signal-window): expected whole numbers of steps; for time give the width "
                "of its bins too, signal_bin (--signal-bin)"
            )
        elif width is not None and (expected := _not_whole(values, width)):
            faults.add(
                f"signal_window={window!r} (--signal-window), signal_bin={bin!r} (--signal-bin): expected {expected}"
            )
        else:
            asked = Window(values[0], values[1], bin)
    faults.raise_if_any("The signal cannot be drawn around the starts of modes")
    return asked


@dataclass(frozen=True)
class SignalByMode:
    """Means of a signal in each mode; `mean`, `sem` and `n_units` are over sessions or subjects, as `over` says."""

    name: str
    over: Over
    units: tuple[str, ...]
    unit_means: Float[np.ndarray, "unit mode channel"]
    """Mean of each session or subject; NaN where it has no such step."""
    n_steps: Int[np.ndarray, "mode channel"]

    @property
    def mean(self) -> Float[np.ndarray, "mode channel"]:
        """Mean of the units' means."""
        return mean_and_error(self.unit_means)[0]

    @property
    def sem(self) -> Float[np.ndarray, "mode channel"]:
        """Standard error of that mean over units; NaN below two."""
        return mean_and_error(self.unit_means)[1]

    @property
    def n_units(self) -> Int[np.ndarray, "mode channel"]:
        """Sessions or subjects that have steps in the mode."""
        return np.isfinite(self.unit_means).sum(axis=0)

    def table(self) -> Any:
        """One row per mode (and channel), as a pandas DataFrame: mean, sem, n_sessions or n_subjects, n_steps."""
        import pandas as pd

        n_modes, n_channels = self.n_steps.shape
        mode, channel = np.indices((n_modes, n_channels)).reshape(2, -1)
        columns = {"mode": mode, "channel": channel, "mean": self.mean.ravel(), "sem": self.sem.ravel()}
        columns |= {f"n_{self.over}s": self.n_units.ravel(), "n_steps": self.n_steps.ravel()}
        table = pd.DataFrame(columns)
        return table if n_channels > 1 else table.drop(columns="channel")


def signal_by_mode(
    data: Any, modes: Sequence[Any], signal: Any, *, n_modes: int | None = None, over: Over | None = None
) -> SignalByMode:
    """Average a signal over the steps of each mode: first within each session or subject, then over these.

    Parameters
    ----------
    data
        `Trajectories`.
    modes
        The mode of each step, one array per session, as `model.predict(data)` gives; −1, unknown, does not count.
    signal
        Name of one of `data.signals`, or one array per session, [step] or [step, channel]. Steps where it is not
        finite do not count.
    n_modes
        Number of modes; by default the highest label plus one.
    over
        What is averaged over, and what the standard error is over: "session", or "subject". By default subjects where
        all are known and there are several, else sessions.

    Examples
    --------
    >>> from swirl.data.trajectories import Trajectories
    >>> data = Trajectories([[0, 1, 0], [1, 1, 0]], signals={"dopamine": [[1.0, 3.0, 5.0], [4.0, np.nan, 9.0]]})
    >>> signal_by_mode(data, [[0, 0, 1], [0, 0, 1]], "dopamine").table()
       mode  mean  sem  n_sessions  n_steps
    0     0   3.0  1.0           2        3
    1     1   7.0  2.0           2        2
    """
    data = as_trajectories(data)
    name, values = read_signal(data, signal)
    path, n_modes = read_modes(data, modes, n_modes)
    over, units, unit = read_units(data, over)
    n_units, n_channels = len(units), values.shape[1]
    total, count = np.zeros((2, n_units * n_modes, n_channels))
    cell = unit[data.flat().sessions] * n_modes + np.maximum(path, 0)
    for channel, own in enumerate(values.T):
        known = np.isfinite(own) & (path >= 0)
        count[:, channel] = np.bincount(cell[known], minlength=len(count))
        total[:, channel] = np.bincount(cell[known], weights=own[known], minlength=len(count))
    means = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    shape = (n_units, n_modes, n_channels)
    n_steps = count.reshape(shape).sum(axis=0).astype(np.int64)
    return SignalByMode(name, over, units, means.reshape(shape), n_steps)


def mean_and_error(
    means: Float[np.ndarray, "unit *rest"],
) -> tuple[Float[np.ndarray, "*rest"], Float[np.ndarray, "*rest"]]:
    """Mean over units, NaN left out, and its standard error (n − 1), NaN below two.

    >>> mean_and_error(np.array([[1.0, 2.0], [3.0, np.nan]]))
    (array([2., 2.]), array([ 1., nan]))
    """
    known = np.isfinite(means)
    n = known.sum(axis=0)
    nothing = np.full(n.shape, np.nan)
    mean = np.divide(np.where(known, means, 0.0).sum(axis=0), n, out=nothing.copy(), where=n > 0)
    square = np.where(known, means - mean, 0.0) ** 2
    error = np.sqrt(np.divide(square.sum(axis=0), n * (n - 1.0), out=nothing, where=n > 1))
    return mean, error
