"""A recorded signal (dopamine, a neuron) beside the modes: its mean in each, and its course around starts and ends.

Steps that follow one another are alike, and so are bouts of one session, so standard errors are over sessions (over
subjects where several are known): each gives one mean, and these are averaged.  How the signal goes with the *reward*
is told by `signals.signal_test`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from swirl.behaviour import find_segments
from swirl.estimator import as_trajectories
from swirl.faults import Faults, counted
from swirl.trajectories import Trajectories

Over = Literal["session", "subject"]
AT_ONCE = 4_000_000  # numbers of shifted signals held at a time


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


@dataclass(frozen=True)
class TriggeredAverage:
    """Means of a signal around the start (or end) of each mode, with what shifted signals give."""

    name: str
    over: Over
    onset: bool
    """Whether lag 0 is the first step of the mode; otherwise it is the first step after it."""
    seconds: bool
    """Whether lags are in the unit of the data's times; otherwise they are steps."""
    modes: tuple[int, ...]
    lags: Float[np.ndarray, "lag"]
    mean: Float[np.ndarray, "mode lag channel"]
    sem: Float[np.ndarray, "mode lag channel"]
    n_units: Int[np.ndarray, "mode lag channel"]
    n_events: Int[np.ndarray, "mode"]
    null: Float[np.ndarray, "shift mode lag channel"]
    """The same means when the signal of every session is shifted in a circle."""

    def band(
        self, level: float = 0.95
    ) -> tuple[Float[np.ndarray, "mode lag channel"], Float[np.ndarray, "mode lag channel"]]:
        """Ends of the range that holds this share of the shifted signals' means, at each lag by itself.

        Of many lags some leave such a band by chance: `p_value` takes all lags of a mode together.
        """
        if not 0 < level < 1:
            raise ValueError(f"level={level}: expected a share between 0 and 1, such as 0.95")
        if not len(self.null):
            nothing = np.full(self.mean.shape, np.nan)
            return nothing, nothing.copy()
        low, high = np.quantile(self.null, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    @property
    def p_value(self) -> Float[np.ndarray, "mode channel"]:
        """How often shifted signals stray, at any lag, as far from their mean as the signal does; NaN without shifts.

        Distances are in standard deviations over shifts at that lag; the greatest counts. The least possible value is
        1 / (1 + n_shifts).
        """
        if not len(self.null):
            return np.full((len(self.modes), self.mean.shape[2]), np.nan)
        every = np.concatenate([self.mean[None], self.null])
        apart, scale = every - every.mean(axis=0), every.std(axis=0)
        stray = np.divide(np.abs(apart), scale, out=np.zeros_like(apart), where=scale > 1e-12)
        furthest = np.where(np.isfinite(stray), stray, 0.0).max(axis=2)
        share = (furthest >= furthest[0] - 1e-12).mean(axis=0)
        return np.where((self.n_events > 0)[:, None], share, np.nan)

    def table(self, level: float = 0.95) -> Any:
        """One row per mode and lag (and channel), as a pandas DataFrame.

        Columns: mode, lag, channel (where there are several), mean, sem, n_sessions or n_subjects, n_events,
        null_low, null_high (pointwise, at `level`).
        """
        import pandas as pd

        low, high = self.band(level)
        mode, lag, channel = np.indices(self.mean.shape).reshape(3, -1)
        columns: dict[str, Any] = {"mode": np.array(self.modes)[mode], "lag": self.lags[lag], "channel": channel}
        columns |= {"mean": self.mean.ravel(), "sem": self.sem.ravel(), f"n_{self.over}s": self.n_units.ravel()}
        columns |= {"n_events": self.n_events[mode], "null_low": low.ravel(), "null_high": high.ravel()}
        table = pd.DataFrame(columns)
        return table if self.mean.shape[2] > 1 else table.drop(columns="channel")


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
    >>> data = Trajectories([[0, 1, 0], [1, 1, 0]], signals={"dopamine": [[1.0, 3.0, 5.0], [4.0, np.nan, 9.0]]})
    >>> signal_by_mode(data, [[0, 0, 1], [0, 0, 1]], "dopamine").table()
       mode  mean  sem  n_sessions  n_steps
    0     0   3.0  1.0           2        3
    1     1   7.0  2.0           2        2
    """
    data = as_trajectories(data)
    name, values = _signal(data, signal)
    path, n_modes = _modes(data, modes, n_modes)
    over, units, unit = _units(data, over)
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


def mode_triggered_average(
    data: Any,
    modes: Sequence[Any],
    signal: Any,
    *,
    before: float | int = 10,
    after: float | int = 20,
    bin: float | int | None = None,
    mode: int | None = None,
    onset: bool = True,
    n_modes: int | None = None,
    over: Over | None = None,
    n_shifts: int = 200,
    random_state: int = 0,
) -> TriggeredAverage:
    """Average a signal around the entries into each mode, or the exits from it, beside what shifted signals give.

    A start that was not seen, because a session, a gap or an unlabelled step comes before it, is no entry. A window is
    cut where its segment ends: nothing is read across gaps or sessions. The null shifts the signal of every session in
    a circle by a random number of steps, as `signals.signal_test` does: slow drifts stay, what ties the signal to the
    modes goes.

    Parameters
    ----------
    data, modes, signal, n_modes, over
        As for `signal_by_mode`.
    before, after
        How far the window reaches, in steps; with `bin` in the unit of `data.times`.
    bin
        Width of a bin of time: lags are then times, and a bin holds the steps that fall into it. None: lags are steps.
    mode
        Only this mode; None: all.
    onset
        True: lag 0 is the first step of the mode. False: it is the first step after it.
    n_shifts
        Shifted signals; 0: no null.

    Examples
    --------
    >>> data = Trajectories([[0, 1, 0, 1]], signals={"dopamine": [[0.0, 1.0, 5.0, 3.0]]})
    >>> average = mode_triggered_average(data, [[0, 0, 1, 1]], "dopamine", before=1, after=2, mode=1, n_shifts=0)
    >>> average.lags.tolist(), average.mean[0, :, 0].tolist(), average.n_events.tolist()
    ([-1.0, 0.0, 1.0, 2.0], [1.0, 5.0, 3.0, nan], [1])
    """
    data = as_trajectories(data)
    name, values = _signal(data, signal)
    path, n_modes = _modes(data, modes, n_modes)
    over, units, unit = _units(data, over)
    _check_window(data, before, after, bin, n_shifts)
    if mode is not None and not 0 <= mode < n_modes:
        raise ValueError(f"mode={mode}: expected a mode from 0 to {n_modes - 1}")
    chosen = tuple(range(n_modes)) if mode is None else (int(mode),)

    edges = np.cumsum(data.lengths)[:-1]
    found = find_segments(np.split(path, edges), data.gaps)
    cut, step = (found.cut_start, found.start) if onset else (found.cut_end, found.stop)
    events = ~cut & np.isin(found.mode, chosen)
    row = np.searchsorted(chosen, found.mode[events])
    first = np.concatenate([[0], edges])
    at = first[found.session[events]] + step[events]
    if bin is None:
        lags = np.arange(-int(before), int(after) + 1).astype(float)
        event, lag, steps = _windows_in_steps(data, at, int(before), int(after))
    else:
        earlier, later = round(before / bin), round(after / bin)
        lags = np.arange(-earlier, later + 1) * float(bin)
        event, lag, steps = _windows_in_time(data, at, earlier, later, float(bin))

    shape = (len(units), len(chosen), len(lags))
    cell = np.ravel_multi_index((unit[found.session[events]][event], row[event], lag), shape)
    window = csr_array((np.ones(len(cell)), (cell, steps)), shape=(int(np.prod(shape)), len(path)))
    means = _unit_means(window, values).reshape(*shape, -1)
    mean, sem = mean_and_error(means)
    null = _shifted_means(data, window, values, shape, n_shifts, random_state)
    return TriggeredAverage(
        name,
        over,
        onset,
        bin is not None,
        chosen,
        lags,
        mean,
        sem,
        np.isfinite(means).sum(axis=0),
        np.bincount(row, minlength=len(chosen)),
        null,
    )


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


# ------------------------------------------------------------------------------------------------ windows and shifts


def _windows_in_steps(
    data: Trajectories, at: Int[np.ndarray, "event"], before: int, after: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Event, lag and step of every step in a window; those of another segment are left out."""
    segment = np.cumsum(data.flat().starts)
    wanted = at[:, None] + np.arange(-before, after + 1)
    inside = (wanted >= 0) & (wanted < len(segment))
    inside &= segment[np.clip(wanted, 0, len(segment) - 1)] == segment[at][:, None]
    event, lag = np.nonzero(inside)
    return event, lag, wanted[inside]


def _windows_in_time(
    data: Trajectories, at: Int[np.ndarray, "event"], earlier: int, later: int, bin: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by time stamps: bin k holds the steps from (k − ½) to (k + ½) bins after the event."""
    times = np.concatenate(data.times or [])
    starts = data.flat().starts
    edges = np.append(np.flatnonzero(starts), len(starts))
    segment = np.cumsum(starts)[at] - 1
    reach = np.empty((2, len(at)), np.int64)
    for number in np.unique(segment):
        own = segment == number
        low, high = edges[number], edges[number + 1]
        limits = times[at[own]] + bin * np.array([[-earlier - 0.5], [later + 0.5]])
        reach[:, own] = low + np.searchsorted(times[low:high], limits)
    width = reach[1] - reach[0]
    event = np.repeat(np.arange(len(at)), width)
    steps = np.arange(len(event)) + np.repeat(reach[0] - (np.cumsum(width) - width), width)
    lag = np.floor((times[steps] - times[at][event]) / bin + 0.5).astype(np.int64) + earlier
    kept = (lag >= 0) & (lag <= earlier + later)  # rounding at the outer edges
    return event[kept], lag[kept], steps[kept]


def _unit_means(window: csr_array, values: Float[np.ndarray, "step column"]) -> Float[np.ndarray, "cell column"]:
    """Mean over the steps of each cell at which the signal is known."""
    known = np.isfinite(values)
    total = window @ np.where(known, values, 0.0)
    count = window @ known.astype(float)
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def _shifted_means(
    data: Trajectories,
    window: csr_array,
    values: Float[np.ndarray, "step channel"],
    shape: tuple[int, int, int],
    n_shifts: int,
    random_state: int,
) -> Float[np.ndarray, "shift mode lag channel"]:
    """Means over units for shifted signals; all channels and modes of a session shift together."""
    rng = np.random.default_rng(random_state)
    lengths = data.lengths
    session, step = data.flat().sessions, data.flat().steps
    first = np.cumsum(lengths) - lengths
    n_channels = values.shape[1]
    means = np.empty((n_shifts, *shape[1:], n_channels))
    at_once = max(1, AT_ONCE // (max(window.shape or (1,)) * n_channels))
    for start in range(0, n_shifts, at_once):
        n = min(at_once, n_shifts - start)
        by = np.array([[rng.integers(1, length) if length > 1 else 0 for length in lengths] for _ in range(n)])
        moved = first[session] + (step - by[:, session]) % lengths[session]
        columns = values[moved].transpose(1, 0, 2).reshape(len(step), -1)
        shifted = _unit_means(window, columns).reshape(*shape, n, n_channels)
        means[start : start + n] = np.moveaxis(mean_and_error(shifted)[0], 2, 0)
    return means


# ------------------------------------------------------------------------------------------------ what was given


def _signal(data: Trajectories, signal: Any) -> tuple[str, Float[np.ndarray, "step channel"]]:
    """The signal's name, and its values end to end."""
    if isinstance(signal, str):
        known = data.signals or {}
        if signal not in known:
            there = f"the data have {', '.join(map(repr, known))}" if known else "the data have none"
            raise ValueError(f"signal={signal!r}: no such signal; {there}")
        name, parts = signal, known[signal]
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


def _modes(data: Trajectories, modes: Sequence[Any], n_modes: int | None) -> tuple[Int[np.ndarray, "step"], int]:
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


def _units(data: Trajectories, over: str | None) -> tuple[Over, tuple[str, ...], Int[np.ndarray, "session"]]:
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


def _check_window(data: Trajectories, before: Any, after: Any, bin: Any, n_shifts: int) -> None:
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
