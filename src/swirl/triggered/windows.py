"""The steps around each event, and the averages that signals shifted in a circle give there."""

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from swirl.trajectories import Trajectories
from swirl.triggered.means import mean_and_error

AT_ONCE = 4_000_000  # numbers of shifted signals held at a time


def windows_in_steps(
    data: Trajectories, at: Int[np.ndarray, "event"], before: int, after: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Event, lag and step of every step in a window; those of another segment are left out."""
    segment = np.cumsum(data.flat().starts)
    wanted = at[:, None] + np.arange(-before, after + 1)
    inside = (wanted >= 0) & (wanted < len(segment))
    inside &= segment[np.clip(wanted, 0, len(segment) - 1)] == segment[at][:, None]
    event, lag = np.nonzero(inside)
    return event, lag, wanted[inside]


def windows_in_time(
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


def unit_means(window: csr_array, values: Float[np.ndarray, "step column"]) -> Float[np.ndarray, "cell column"]:
    """Mean over the steps of each cell at which the signal is known."""
    known = np.isfinite(values)
    total = window @ np.where(known, values, 0.0)
    count = window @ known.astype(float)
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def shifted_means(
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
        shifted = unit_means(window, columns).reshape(*shape, n, n_channels)
        means[start : start + n] = np.moveaxis(mean_and_error(shifted)[0], 2, 0)
    return means
