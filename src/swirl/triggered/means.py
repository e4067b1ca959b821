"""The mean of a signal in each mode: first within each session or subject, then over these."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from swirl.estimator import as_trajectories
from swirl.triggered.given import Over, read_modes, read_signal, read_units


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
    >>> from swirl.trajectories import Trajectories
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
