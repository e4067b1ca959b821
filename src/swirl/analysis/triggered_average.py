"""The course of a signal around the starts (or ends) of each mode, and two tests of it.

Signals shifted in a circle lose their tie with modes *and* with places, so a signal of a place passes for one of the
modes that begin there.  The second test takes out what places explain, and exchanges the starts of a mode with other
visits to the same place at about the same time of the session: what is left is the mode's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.polynomial import Polynomial
from scipy.sparse import csr_array

from swirl.analysis.mode_signal import Over, check_window, mean_and_error, read_modes, read_signal, read_units
from swirl.analysis.significance import LEVEL, max_corrected, strays
from swirl.data.segments import ends_of_steps, find_segments, step_durations
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import as_trajectories

__all__ = ["TriggeredAverage", "mode_triggered_average"]

ROUNDING = 1e-6  # of a bin
SLACK = 0.51  # bins around the middle of a bin that are looked at: half of one, and some more for rounding
SHIFTS = 200  # draws of each null that is not given another number
AT_ONCE = 4_000_000  # numbers of shifted signals held at a time
PER_POWER = 50  # steps of a session for each power of time in its drift
BLOCK = 6  # visits to a place, one after the other, among which starts are exchanged


class Clock(NamedTuple):
    """When each step began, and how long it lasted where a signal says so (else 0), all sessions end to end."""

    times: Float[np.ndarray, " step"]
    lasted: Float[np.ndarray, " step"]

    @classmethod
    def of(cls, data: Trajectories) -> "Clock":
        """The clock of recorded sessions."""
        times, durations = np.concatenate(data.times or []), step_durations(data)
        known = durations is not None and durations.source != "times"
        return cls(times, np.nan_to_num(durations.flat) if durations is not None and known else np.zeros(len(times)))

    def shifted(self, moved: Int[np.ndarray, " step"], until_next: Float[np.ndarray, " step"]) -> "Clock":
        """The clock where each step lasts, and leaves until the next, as long as another one did."""
        return Clock(np.cumsum(until_next[moved]) - until_next[moved], self.lasted[moved])


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
    clock: Clock, starts: Bool[np.ndarray, " step"], at: Int[np.ndarray, "event"], earlier: int, later: int, bin: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by time stamps: bin k holds the steps that begin from (k − ½) to (k + ½) bins after the event.

    It also holds the step that still lasts at its middle, where a signal says how long steps lasted: the sessions were
    made of stays or bouts then, and other signals are means over these.  `starts`: a segment starts there.
    """
    times, lasted = clock
    edges, segment = np.append(np.flatnonzero(starts), len(starts)), np.cumsum(starts) - 1
    begin, end = times[edges[:-1]], times[edges[1:] - 1]
    follows = times + (np.cumsum(end - begin) - end)[segment]  # one clock, on which segments follow one another
    reach = (np.array([[-earlier], [later]]) + np.array([[-SLACK], [SLACK]])) * bin + follows[at]
    lowest = np.searchsorted(np.maximum.accumulate(follows + lasted), reach[0])
    highest = np.searchsorted(follows, reach[1])
    lowest, highest = (np.clip(i, edges[segment[at]], edges[segment[at] + 1]) for i in (lowest, highest))
    width = highest - lowest
    event = np.repeat(np.arange(len(at)), width)
    steps = np.arange(len(event)) + np.repeat(lowest - (np.cumsum(width) - width), width)
    since = times[steps] - times[at][event]
    begins = np.floor(since / bin + 0.5).astype(np.int64) + earlier
    ends = np.ceil((since + lasted[steps]) / bin - ROUNDING).astype(np.int64) - 1 + earlier
    low, high = np.maximum(begins, 0), np.minimum(np.maximum(begins, ends), earlier + later)
    n = np.maximum(high - low + 1, 0)  # bins that the step is in; 0 for one just outside
    lag = np.arange(n.sum()) + np.repeat(low - (np.cumsum(n) - n), n)
    return np.repeat(event, n), lag, np.repeat(steps, n)


def unit_means(window: csr_array, values: Float[np.ndarray, "step column"]) -> Float[np.ndarray, "cell column"]:
    """Mean over the steps of each cell at which the signal is known."""
    known = np.isfinite(values)
    total = window @ np.where(known, values, 0.0)
    count = window @ known.astype(float)
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def shifted_means(
    data: Trajectories,
    window: csr_array | Callable[[Int[np.ndarray, " step"]], csr_array],
    values: Float[np.ndarray, "step channel"],
    shape: tuple[int, int, int],
    n_shifts: int,
    random_state: int,
) -> Float[np.ndarray, "shift mode lag channel"]:
    """Means over units for shifted signals; all channels and modes of a session shift together.

    `window` is a function of the step that each step's values come from, where windows change with the shift.
    """
    rng = np.random.default_rng(random_state)
    lengths = data.lengths
    session, step = data.flat().sessions, data.flat().steps
    first = np.cumsum(lengths) - lengths
    n_channels = values.shape[1]
    means = np.empty((n_shifts, *shape[1:], n_channels))
    at_once = 1 if callable(window) else max(1, AT_ONCE // (max(window.shape or (1,)) * n_channels))
    for start in range(0, n_shifts, at_once):
        n = min(at_once, n_shifts - start)
        by = np.array([[rng.integers(1, length) if length > 1 else 0 for length in lengths] for _ in range(n)])
        moved = first[session] + (step - by[:, session]) % lengths[session]
        columns = values[moved].transpose(1, 0, 2).reshape(len(step), -1)
        own = window(moved[0]) if callable(window) else window
        shifted = unit_means(own, columns).reshape(*shape, n, n_channels)
        means[start : start + n] = np.moveaxis(mean_and_error(shifted)[0], 2, 0)
    return means


class Visits(NamedTuple):
    """Visits at which a mode might have started, in the order of the blocks in which starts are exchanged."""

    at: Int[np.ndarray, "visit"]
    """The step."""
    block: Int[np.ndarray, "visit"]
    starts: Bool[np.ndarray, "visit"]
    """Whether the mode does start (or end) there."""

    @classmethod
    def of(cls, data: Trajectories, path: Int[np.ndarray, " step"], mode: int, onset: bool) -> "Visits":
        """Find them: a block holds some `BLOCK` visits in a row to one state in one session.

        All are at the same number of steps since the animal came, and from outside the mode (for ends: from inside).
        Blocks in which all visits start the mode, or none does, say nothing, and are left out.

        >>> found = Visits.of(Trajectories([[0, 1, 0, 1, 0, 1]]), np.array([0, 1, 0, 0, 0, 1]), 1, True)
        >>> found.at.tolist(), found.block.tolist(), found.starts.tolist()
        ([1, 3, 5], [1, 1, 1], [True, False, True])
        """
        flat = data.flat()
        before = np.append(-1, path[:-1])
        before[flat.starts] = -1
        came = flat.starts | (np.append(-1, flat.states[:-1]) != flat.states)
        since = np.arange(len(path)) - np.flatnonzero(came)[np.cumsum(came) - 1]
        at = np.flatnonzero((before >= 0) & (path >= 0) & ((before != mode) == onset))
        alike = np.stack([flat.sessions, flat.states, since])[:, at]
        kind, sizes = np.unique(alike, axis=1, return_inverse=True, return_counts=True)[1:]
        order = np.argsort(kind, kind="stable")
        at, kind = at[order], kind.ravel()[order]
        n_blocks = np.maximum(1, np.round(sizes / BLOCK).astype(np.int64))
        place = np.arange(len(at)) - (np.cumsum(sizes) - sizes)[kind]
        block = (np.cumsum(n_blocks) - n_blocks)[kind] + place * n_blocks[kind] // sizes[kind]
        starts = (path[at] == mode) == onset
        n_starts, n = np.bincount(block, starts), np.bincount(block)
        told = ((n_starts > 0) & (n_starts < n))[block]
        return cls(at[told], block[told], starts[told])


def without_places(
    data: Trajectories, values: Float[np.ndarray, "step channel"], unit: Int[np.ndarray, "session"]
) -> Float[np.ndarray, "step channel"]:
    """What is left of a signal when its slow drift in each session, then its mean at each state, is taken out.

    The drift is a cubic (one power less for every `PER_POWER` steps that a session is short of), such as bleaching;
    means are of each unit's sessions together.

    >>> data = Trajectories([[0, 1, 0, 1]])
    >>> without_places(data, np.array([[1.0], [5.0], [3.0], [5.0]]), np.array([0])).ravel().tolist()
    [-1.0, 0.0, 1.0, 0.0]
    """
    flat = data.flat()
    left = values.copy()
    for steps in np.split(np.arange(len(values)), np.cumsum(data.lengths)[:-1]):
        for channel in left.T:
            known = steps[np.isfinite(channel[steps])]
            if len(known):
                power = min(3, len(known) // PER_POWER)
                channel[known] -= Polynomial.fit(known, channel[known], power)(known)
    cell = np.unique(unit[flat.sessions] * (1 + int(flat.states.max())) + flat.states, return_inverse=True)[1]
    return left - unit_means(csr_array((np.ones(len(cell)), (cell, np.arange(len(cell))))), left)[cell]


def exchanged_means(
    visits: Visits,
    windows: tuple[np.ndarray, np.ndarray, np.ndarray],
    values: Float[np.ndarray, "step channel"],
    unit: Int[np.ndarray, "visit"],
    n_lags: int,
    n_draws: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "set lag channel"]:
    """Means over units of the signal around the visits that start the mode, then around as many of each block, drawn.

    `windows`: visit, lag and step of every step in a window.
    """
    visit, lag, step = windows
    n_units = 1 + int(unit.max())
    means = np.empty((1 + n_draws, n_lags, values.shape[1]))
    starts = visits.starts
    for draw in range(1 + n_draws):
        own = starts[visit]
        cell = unit[visit[own]] * n_lags + lag[own]
        window = csr_array((np.ones(len(cell)), (cell, step[own])), shape=(n_units * n_lags, len(values)))
        means[draw] = mean_and_error(unit_means(window, values).reshape(n_units, n_lags, -1))[0]
        starts = np.empty_like(starts)
        starts[np.argsort(visits.block + rng.random(len(starts)))] = visits.starts
    return means


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
    units: tuple[str, ...] = ()
    """The sessions or subjects."""
    unit_means: Float[np.ndarray, "unit mode lag channel"] | None = None
    """The course of each of them, that `mean` averages: for a comparison of groups."""
    exchanged: Float[np.ndarray, "set mode lag channel"] = field(default_factory=lambda: np.zeros((0, 0, 0, 0)))
    """What places do not explain: first at the starts, then at as many visits to the same places that were drawn."""
    n_exchanged: Int[np.ndarray, "mode"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Starts that the test of places rests on: elsewhere all visits at that time start the mode, or no other came."""

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
        1 / (1 + n_shifts). Each mode and channel by itself: `corrected_p_value` takes them together.
        """
        return _p_values(self._shifted(), self.n_events)[0]

    @property
    def corrected_p_value(self) -> Float[np.ndarray, "mode channel"]:
        """P-values corrected for all modes and channels (`significance.max_corrected`); NaN without shifts.

        How often shifted signals stray as far at any lag of *any* mode and channel; 1 / (1 + n_shifts) at least.
        """
        return _p_values(self._shifted(), self.n_events)[1]

    @property
    def place_p_value(self) -> Float[np.ndarray, "mode channel"]:
        """How often other visits to the same places stray as far as the starts do, places' means taken out before.

        Read like `p_value`. NaN where nothing can be exchanged (`n_exchanged`), or without a null.
        """
        return _p_values(self.exchanged, self.n_exchanged)[0]

    @property
    def corrected_place_p_value(self) -> Float[np.ndarray, "mode channel"]:
        """The same, corrected for all modes and channels."""
        return _p_values(self.exchanged, self.n_exchanged)[1]

    def meaning(self, mode: int, channel: int = 0) -> str:
        """Say in a sentence what both tests say of a mode: is the signal tied to it, or perhaps only to its places?

        The rule: what differs from other visits to the same places is the mode's; what differs from shifted signals
        alone may be the place's. Both at 0.05, corrected for all modes and channels.
        """
        row, begins = self.modes.index(mode), "starts" if self.onset else "ends"
        shift, place = self.corrected_p_value[row, channel], self.corrected_place_p_value[row, channel]
        if np.isnan(shift):
            return f"Not tested: the mode has no {begins}" if len(self.null) else "Not tested"
        if place <= LEVEL:
            return f"Differs where the mode {begins}, beyond other visits to the same places"
        if shift > LEVEL:
            return f"No tie to the {begins} of the mode was found"
        why = "there are no other visits to the same places to compare with"
        why = why if np.isnan(place) else "not from other visits to the same places"
        return f"Differs where the mode {begins}, but {why}: it may be the place"

    @property
    def n_tests(self) -> int:
        """Modes and channels that have a p-value: the family that is corrected for."""
        return int(np.isfinite(self.p_value).sum())

    def _shifted(self) -> Float[np.ndarray, "set mode lag channel"]:
        """The means, and then those of shifted signals."""
        return np.concatenate([self.mean[None], self.null])

    def table(self, level: float = 0.95) -> Any:
        """One row per mode and lag (and channel), as a pandas DataFrame.

        Columns: mode, lag, channel (where there are several), mean, sem, n_sessions or n_subjects, n_events,
        null_low, null_high (pointwise, at `level`); p_value and corrected_p_value of the mode (and channel), all lags
        together; place_p_value, corrected_place_p_value and n_exchanged, the starts that these rest on; tests: how many
        are corrected for; meaning, in words.
        """
        import pandas as pd

        low, high = self.band(level)
        mode, lag, channel = np.indices(self.mean.shape).reshape(3, -1)
        columns: dict[str, Any] = {"mode": np.array(self.modes)[mode], "lag": self.lags[lag], "channel": channel}
        columns |= {"mean": self.mean.ravel(), "sem": self.sem.ravel(), f"n_{self.over}s": self.n_units.ravel()}
        columns |= {"n_events": self.n_events[mode], "null_low": low.ravel(), "null_high": high.ravel()}
        columns |= {"p_value": self.p_value[mode, channel], "corrected_p_value": self.corrected_p_value[mode, channel]}
        places = {"place_p_value": self.place_p_value, "corrected_place_p_value": self.corrected_place_p_value}
        columns |= {name: values[mode, channel] for name, values in places.items()}
        columns["n_exchanged"] = (np.zeros_like(self.n_events) if self.n_exchanged is None else self.n_exchanged)[mode]
        columns["tests"] = np.full(len(mode), self.n_tests)
        words = [[self.meaning(each, c) for c in range(self.mean.shape[2])] for each in self.modes]
        columns["meaning"] = np.array(words, dtype=object)[mode, channel]
        table = pd.DataFrame(columns)
        return table if self.mean.shape[2] > 1 else table.drop(columns="channel")


def _p_values(
    sets: Float[np.ndarray, "set mode lag channel"] | None, n_events: Int[np.ndarray, "mode"] | None
) -> tuple[Float[np.ndarray, "mode channel"], Float[np.ndarray, "mode channel"]]:
    """P-values of the first set among the others, each by itself and corrected for all; NaN without others or events.

    A set is as far off as at its worst lag.
    """
    if sets is None or n_events is None or len(sets) < 2:
        shape = (0, 0) if sets is None else (sets.shape[1], sets.shape[3])
        return np.full(shape, np.nan), np.full(shape, np.nan)
    furthest = strays(sets).max(axis=2)
    alone = (furthest >= furthest[0] - 1e-12).mean(axis=0)
    together = max_corrected(furthest.reshape(len(furthest), -1)).reshape(alone.shape)
    seen = (n_events > 0)[:, None]
    return np.where(seen, alone, np.nan), np.where(seen, together, np.nan)


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
    n_shifts: int = SHIFTS,
    random_state: int = 0,
) -> TriggeredAverage:
    """Average a signal around the entries into each mode, or the exits from it, beside what shifted signals give.

    A start that was not seen, because a session, a gap or an unlabelled step comes before it, is no entry. A window is
    cut where its segment ends: nothing is read across gaps or sessions. The null shifts the signal of every session in
    a circle by a random number of steps, as `reward_signal.signal_test` does: slow drifts stay, what ties the signal to
    the modes goes. Where lags are times, how long steps last shifts with the signal: a signal that is low in long stays
    makes a course around *any* step, as long stays fill more bins than short ones, and so it does in the null.

    Parameters
    ----------
    data, modes, signal, n_modes, over
        As for `signal_by_mode`.
    before, after
        How far the window reaches, in steps; with `bin` in the unit of `data.times`.
    bin
        Width of a bin of time: lags are then times, and a bin holds the steps that begin in it. In sessions of stays
        or bouts (with a signal "dwell" or "duration") it also holds the one that still lasts at its middle: a rest of
        8 s counts for 8 s. None: lags are steps.
    mode
        Only this mode; None: all.
    onset
        True: lag 0 is the first step of the mode. False: it is the first step after it.
    n_shifts
        Shifted signals; 0: no null.

    Examples
    --------
    >>> from swirl.data.trajectories import Trajectories
    >>> data = Trajectories([[0, 1, 0, 1]], signals={"dopamine": [[0.0, 1.0, 5.0, 3.0]]})
    >>> average = mode_triggered_average(data, [[0, 0, 1, 1]], "dopamine", before=1, after=2, mode=1, n_shifts=0)
    >>> average.lags.tolist(), average.mean[0, :, 0].tolist(), average.n_events.tolist()
    ([-1.0, 0.0, 1.0, 2.0], [1.0, 5.0, 3.0, nan], [1])
    """
    data = as_trajectories(data)
    name, values = read_signal(data, signal)
    path, n_modes = read_modes(data, modes, n_modes)
    over, units, unit = read_units(data, over)
    check_window(data, before, after, bin, n_shifts)
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
    of_unit = unit[found.session[events]]
    clock = None if bin is None else Clock.of(data)
    if bin is None:
        earlier, later, width = int(before), int(after), 1.0
    else:
        earlier, later, width = round(before / bin), round(after / bin), float(bin)
    lags = np.arange(-earlier, later + 1) * width
    shape = (len(units), len(chosen), len(lags))

    def around(steps: Int[np.ndarray, "event"], on: Clock | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if on is None:
            return windows_in_steps(data, steps, earlier, later)
        return windows_in_time(on, data.flat().starts, steps, earlier, later, width)

    def window(on: Clock | None) -> csr_array:
        event, lag, steps = around(at, on)
        cell = np.ravel_multi_index((of_unit[event], row[event], lag), shape)
        return csr_array((np.ones(len(cell)), (cell, steps)), shape=(int(np.prod(shape)), len(path)))

    seen = window(clock)
    means = unit_means(seen, values).reshape(*shape, -1)
    mean, sem = mean_and_error(means)
    if clock is None:
        null = shifted_means(data, seen, values, shape, n_shifts, random_state)
    else:
        until_next = np.concatenate(ends_of_steps(data)) - clock.times
        null = shifted_means(
            data, lambda moved: window(clock.shifted(moved, until_next)), values, shape, n_shifts, random_state
        )
    exchanged, n_exchanged = np.full((1 + n_shifts, *mean.shape), np.nan), np.zeros(len(chosen), dtype=np.int64)
    rng, left = np.random.default_rng(random_state), without_places(data, values, unit)
    for place, each in enumerate(chosen if n_shifts else ()):
        visits = Visits.of(data, path, each, onset)
        if len(visits.at):
            of_visit = unit[data.flat().sessions[visits.at]]
            drawn = exchanged_means(visits, around(visits.at, clock), left, of_visit, len(lags), n_shifts, rng)
            exchanged[:, place] = drawn
            n_exchanged[place] = visits.starts.sum()
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
        units,
        means,
        exchanged,
        n_exchanged,
    )
