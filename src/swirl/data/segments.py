"""Segments: runs of one mode, where gaps cut them, how long they last; how long a step lasts, and when it ends.

Everything reads lists with one array per session; sessions are never joined.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.trajectories import Trajectories
from swirl.text import number

DWELL = "dwell"
"""The signal that says how long a stay lasted, from arrival to leaving: of tracks, and of rows that were merged."""

DURATION = "duration"
"""The signal that says how long a bout or a syllable lasted."""

JUMP = 1.5
"""A step in time that is longer than this many median steps is a gap where rows are ticks of a clock: some are lost."""

_TICKS = 0.95
"""Share of steps in time of at most `JUMP` medians, from which rows are ticks of a clock and a jump is lost rows."""

_ROUNDING = 1e-6  # of a duration
_LONGER = 1.05  # times what the times leave room for: then a signal is no duration of steps
_STEADY = 0.1  # of the usual step in time: one that differs by less is a tick of a steady clock
_FILLED = 0.8  # of the time between such ticks: a signal that fills less is not how long they lasted


@dataclass(frozen=True)
class Segments:
    """Runs of one mode, in order of session and time; `stop` is the step after the last."""

    session: Int[np.ndarray, "segment"]
    start: Int[np.ndarray, "segment"]
    stop: Int[np.ndarray, "segment"]
    mode: Int[np.ndarray, "segment"]
    cut_start: Bool[np.ndarray, "segment"]
    """The segment may have begun earlier: the session, a gap or an unlabelled step comes first."""
    cut_end: Bool[np.ndarray, "segment"]

    @property
    def length(self) -> Int[np.ndarray, "segment"]:
        """Number of steps."""
        return self.stop - self.start


def find_segments(modes: Sequence[Any], gaps: Sequence[Any] | None = None) -> Segments:
    """Find the runs of one mode; steps of mode −1 (not labelled) belong to none.

    >>> found = find_segments([[0, 0, 1, 1, 1]])
    >>> found.start.tolist(), found.stop.tolist(), found.cut_end.tolist()
    ([0, 2], [2, 5], [False, True])
    """
    if len(modes) == 0:
        raise ValueError("modes holds no session: give a list with one array of modes per session")
    columns: list[list[np.ndarray]] = []
    for session, path in enumerate(split_at_gaps(modes, gaps, keep_sessions=True)):
        offset = 0
        for part in path:
            change = np.flatnonzero(np.diff(part)) + 1
            start, stop = np.append(0, change)[: len(part)], np.append(change, len(part))[: len(part)]
            # A step outside the part counts as unlabelled: what lies beyond is not known.
            beyond = np.concatenate([[-1], part, [-1]])
            run = [np.full(len(start), session), offset + start, offset + stop, part[start]]
            run += [beyond[start] < 0, beyond[stop + 1] < 0]
            labelled = part[start] >= 0
            columns.append([column[labelled] for column in run])
            offset += len(part)
    return Segments(*(np.concatenate(column) for column in zip(*columns, strict=True)))


@dataclass(frozen=True)
class Bouts:
    """How long the bouts of one mode lasted, those that were cut among them; and how often the mode was left.

    A recording that stops cuts a bout, a long one sooner than a short one: without the cut ones modes seem to last less
    than they do. So each step counts as a chance to see the mode left, however the bout began or ended (`rate`), and
    curves and medians are Kaplan and Meier's, of all bouts whose start was seen (`survival`, `median`). A bout that had
    begun before the recording did has an unknown length so far, and is not in the curves.

    Examples
    --------
    >>> own = Bouts(length=np.array([2, 4]), cut=np.array([9, 3]), exits=3, at_risk=21)
    >>> own.median, own.mean, [round(end, 1) for end in own.mean_interval()]
    (4.0, 7.0, [2.8, 32.8])
    """

    length: Int[np.ndarray, "bout"]
    """Steps of the bouts that were seen from start to end."""
    cut: Int[np.ndarray, "cut_bout"]
    """Steps seen of the bouts whose start was seen, but not their end: they lasted so long or longer."""
    exits: int
    """Times that the mode was left."""
    at_risk: int
    """Steps in the mode, in whatever bout, after which the next step was seen."""

    @property
    def rate(self) -> float:
        """Probability of leaving the mode at a step in it: exits / steps at risk; NaN without such a step."""
        return self.exits / self.at_risk if self.at_risk else np.nan

    @property
    def mean(self) -> float:
        """Mean length of a bout in steps, 1 / `rate`; NaN where the mode was never left (then see `mean_interval`)."""
        return self.at_risk / self.exits if self.exits else np.nan

    def mean_interval(self, level: float | int = 0.95) -> tuple[float, float]:
        """Lowest and highest mean length that go with so many exits: exact, of a binomial (Clopper and Pearson).

        With no exit the highest is infinite, and the lowest says what the mean is longer than. NaN without a step at
        risk.
        """
        from scipy.stats import binomtest

        if not self.at_risk:
            return np.nan, np.nan
        found = binomtest(self.exits, self.at_risk).proportion_ci(level)
        return 1 / found.high, 1 / found.low if found.low else np.inf

    def survival(self) -> tuple[Float[np.ndarray, "point"], Float[np.ndarray, "point"]]:
        """Points of a curve of steps: lengths, and the share of bouts that last at least so long (Kaplan and Meier).

        It begins at length 1 with all, and goes as far as a bout was followed. The last length is there twice where all
        had ended by then: so long lasts the share that comes first, longer none.

        >>> length, share = Bouts(np.array([2, 4]), np.array([3]), 2, 8).survival()
        >>> length.tolist(), share.round(2).tolist()
        ([1.0, 2.0, 4.0, 4.0], [1.0, 1.0, 0.67, 0.0])
        """
        length, beyond = self._falls()
        if not self.longest:
            return np.zeros(0), np.zeros(0)
        return np.concatenate([[1], length, [self.longest]]).astype(float), np.concatenate([[1, 1], beyond])

    @property
    def median(self) -> float:
        """Length that half of the bouts last; NaN where the curve does not come down to a half (then see `longest`)."""
        length, beyond = self._falls()
        half = beyond <= 0.5 + 1e-9
        if not half.any():
            return np.nan
        first = int(np.argmax(half))
        below = beyond < 0.5 - 1e-9
        # Where just half last longer, halfway to the next length: of 1, 2, 4 and 8 it is 3, as `numpy.median` has it.
        return float((length[first] + length[np.argmax(below) if below.any() else first]) / 2)

    @property
    def longest(self) -> int:
        """Steps of the longest bout whose start was seen, as far as it was followed; 0 where there is none."""
        return max(int(self.length.max(initial=0)), int(self.cut.max(initial=0)))

    @property
    def median_words(self) -> str:
        """The median, or what it is longer than; nothing where no bout was seen from its start.

        >>> Bouts(np.array([3, 5]), np.array([9]), 2, 17).median_words
        '5 steps'
        >>> Bouts(np.array([3]), np.array([9, 10]), 1, 20).median_words
        'longer than 9 steps'
        """
        if np.isfinite(self.median):
            return _steps(self.median)
        return f"longer than {_steps(self.longest - 1)}" if self.longest > 1 else ""

    @property
    def mean_words(self) -> str:
        """The mean, or what it is longer than; nothing where no step was followed by a known one.

        >>> Bouts(np.array([3, 5]), np.array([9]), 2, 17).mean_words
        '8.5 steps'
        >>> Bouts(np.array([], int), np.array([9, 9]), 0, 16).mean_words
        'longer than 4.86 steps'
        """
        if np.isfinite(self.mean):
            return _steps(self.mean)
        return f"longer than {_steps(self.mean_interval()[0])}" if self.at_risk else ""

    def _falls(self) -> tuple[Int[np.ndarray, "length"], Float[np.ndarray, "length"]]:
        """Lengths at which bouts end, and the share of bouts that last longer."""
        if not len(self.length):
            return np.zeros(0, np.int64), np.zeros(0)
        from scipy.stats import CensoredData, ecdf

        # Of one that was cut after n steps it is known that it did not end after fewer.
        found = ecdf(CensoredData(uncensored=self.length, right=self.cut - 1)).sf
        ends = np.isin(found.quantiles, self.length)
        return found.quantiles[ends].astype(np.int64), found.probabilities[ends]


def _steps(n: float | int) -> str:
    return f"{number(n)} {'step' if n == 1 else 'steps'}"


def bouts_of(found: Segments, n_modes: int | None = None) -> list[Bouts]:
    """Lengths of the bouts of each mode, and how often it was left.

    >>> first, second = bouts_of(find_segments([[0, 1, 1, 0, 0, 0, 1]]))
    >>> first.length.tolist(), first.cut.tolist(), first.exits, first.at_risk
    ([3], [], 2, 4)
    >>> second.length.tolist(), second.cut.tolist(), second.exits, second.at_risk
    ([2], [1], 1, 2)
    """
    found_bouts = []
    for mode in range(number_of_modes(found, n_modes)):
        own = found.mode == mode
        begun, ended = own & ~found.cut_start, own & ~found.cut_end
        at_risk = found.length[own].sum() - (own & found.cut_end).sum()
        whole, cut = found.length[begun & ended], found.length[begun & ~ended]
        found_bouts.append(Bouts(whole, cut, int(ended.sum()), int(at_risk)))
    return found_bouts


def split_at_gaps(values: Sequence[Any], gaps: Sequence[Any] | None, *, keep_sessions: bool = False) -> list[Any]:
    """Cut the array of each session at its gaps; a flat list of pieces, or with `keep_sessions` one list per session.

    >>> [piece.tolist() for piece in split_at_gaps([[1, 2, 3], [4]], [[2], []])]
    [[1, 2], [3], [4]]
    """
    gaps = [[]] * len(values) if gaps is None else gaps
    if len(gaps) != len(values):
        raise ValueError(f"gaps has {len(gaps)} sessions, expected {len(values)}: one list per session")
    arrays = [np.asarray(value) for value in values]
    pieces = [np.split(a, np.asarray(gap, dtype=np.int64)) for a, gap in zip(arrays, gaps, strict=True)]
    return pieces if keep_sessions else [piece for session in pieces for piece in session]


def number_of_modes(found: Segments, n_modes: int | None) -> int:
    """Number of modes: as given, where no segment is of a later one; else as many as were found."""
    seen = 1 + int(found.mode.max(initial=-1))
    if n_modes is not None and n_modes < seen:
        raise ValueError(f"n_modes={n_modes}: modes go up to {seen - 1}; give at least {seen}")
    return seen if n_modes is None else n_modes


def step_ends(
    times: Sequence[np.ndarray], gaps: Sequence[np.ndarray], lasted: Sequence[np.ndarray] | None = None
) -> list[Float[np.ndarray, " step"]]:
    """When each step of each session ends; a bout stops when its last step does.

    A step ends when the next one starts.  Before a gap and at the end of a session it ends as `lasted` says
    (`step_durations`).  Where that is not known a step is taken to last as long as the median step of its session (of
    all sessions, where it has no other; 0 s where none has), but not into the next segment.

    Examples
    --------
    >>> [ends] = step_ends([np.array([0.0, 0.5, 1.0, 9.0])], [np.array([3])])
    >>> ends.tolist()
    [0.5, 1.0, 1.5, 9.5]
    """
    within = [np.delete(np.diff(clock), gap - 1) for clock, gap in zip(times, gaps, strict=True)]
    every = np.concatenate([np.zeros(0), *within])
    recorded = [np.full(len(clock), np.nan) for clock in times] if lasted is None else lasted
    ends = []
    for clock, gap, own, took in zip(times, gaps, within, recorded, strict=True):
        known = own if own.size else every
        usual = float(np.median(known)) if known.size else 0.0
        end = np.append(clock[1:].astype(float), np.inf)
        final = np.append(gap, len(clock)) - 1  # the last step of each segment
        long = np.where(took[final] > 0, took[final], usual)  # NaN is not; nor is what happens at a moment
        end[final] = np.minimum(clock[final].astype(float) + long, end[final])
        ends.append(end)
    return ends


@dataclass(frozen=True)
class StepDurations:
    """How long each step lasted, and how that is known."""

    lasted: list[Float[np.ndarray, "_"]]
    """Per session, in the unit of the times, where there are times; NaN where it is not known."""
    source: str
    """"dwell" or "duration": the signal of this name. "times": from the time of each step to that of the next."""

    @property
    def flat(self) -> Float[np.ndarray, " step"]:
        """Of all steps, end to end."""
        return np.concatenate(self.lasted)

    @property
    def words(self) -> str:
        """How it is known, for a sentence."""
        return "each is taken to last until the next" if self.source == "times" else f"the signal {self.source}"


def step_durations(data: Trajectories) -> StepDurations | None:
    """How long each step lasted; None where nothing says so.

    What the sessions were made from decides what is known:

    - merged rows (`swirl import table --merge`) and tracks: the signal "dwell", at every step;
    - bouts, syllables with a frame rate, NWB intervals: the signal "duration", at every step, pauses not counted;
    - other sessions with times: from each step to the next of its segment. How long the last one lasted is not known,
      nor one before a jump in the times of a clock that ticks. Where all others last equally long, these do, too.

    A signal of these names that is negative somewhere, 0 at most steps, or longer than the times leave room for, is
    something else; so is one that fills less than 80 % of the time between the ticks of a steady clock (how long each
    lick lasted, in a row per second).

    Examples
    --------
    >>> data = Trajectories([[0, 1, 0, 1]], times=[[0.0, 3.0, 4.0, 9.0]], gaps=[[3]])
    >>> found = step_durations(data)
    >>> found.lasted, found.source
    ([array([ 3.,  1., nan, nan])], 'times')
    >>> step_durations(Trajectories([[0, 1]], signals={"dwell": [[5.0, 1.0]]})).source
    'dwell'
    >>> step_durations(Trajectories([[0, 1]])) is None
    True
    """
    for name in (DWELL, DURATION):
        given = (data.signals or {}).get(name)
        if given is not None and _are_durations(given, data):
            return StepDurations([np.where(np.isfinite(own), own, np.nan) for own in given], name)
    if data.times is None:
        return None
    lasted = []
    for clock, gaps, period in zip(data.times, data.gaps, usual_steps(data), strict=True):
        starts = np.zeros(len(clock), bool)
        starts[gaps] = True
        starts |= rows_lost(clock, starts, period)
        following = np.append(clock[1:].astype(float), np.nan)
        following[:-1][starts[1:]] = np.nan
        lasted.append(following - clock)
    known = np.concatenate(lasted)
    known = known[np.isfinite(known)]
    if not known.size:
        return None
    usual = float(np.median(known))
    if np.ptp(known) <= _ROUNDING * usual:
        lasted = [np.full(len(own), usual) for own in lasted]
    return StepDurations(lasted, "times")


def _are_durations(given: Sequence[np.ndarray], data: Trajectories) -> bool:
    """Whether a signal can be how long the steps lasted."""
    if any(own.ndim > 1 for own in given):
        return False
    values = np.concatenate(given).astype(float)
    finite = np.isfinite(values)
    if (values[finite] < 0).any() or not values[finite].sum() > 0 or np.median(values[finite]) == 0:
        return False
    if data.times is None:
        return True
    room = np.append(np.diff(np.concatenate(data.times)), 0.0)
    inside = finite & ~np.append(data.flat().starts[1:], True)
    usual = np.repeat(usual_steps(data), data.lengths)[inside]
    steady = np.abs(room[inside] - usual) <= _STEADY * usual
    least = _FILLED if steady.any() and steady.mean() >= _TICKS else 0.0
    return bool(least * room[inside].sum() <= values[inside].sum() <= _LONGER * room[inside].sum())


def ends_of_steps(data: Trajectories) -> list[Float[np.ndarray, " step"]]:
    """When each step ends (`step_ends`), with all that is known of how long steps lasted; empty without times.

    >>> ends_of_steps(Trajectories([[0, 1]], times=[[0.0, 9.0]], signals={"dwell": [[9.0, 1.0]]}))
    [array([ 9., 10.])]
    """
    if data.times is None:
        return []
    durations = step_durations(data)
    return step_ends(data.times, data.gaps, None if durations is None else durations.lasted)


def usual_steps(data: Trajectories) -> list[float]:
    """Median step in time within the segments of each session; of all sessions, where one has none; NaN: none has.

    >>> usual_steps(Trajectories([[0, 1, 0], [1]], times=[[0.0, 2.0, 4.0], [7.0]]))
    [2.0, 2.0]
    """
    if data.times is None:
        return [np.nan] * len(data)
    within = [np.delete(np.diff(times), gaps - 1) for times, gaps in zip(data.times, data.gaps, strict=True)]
    own = [float(np.median(steps)) if len(steps) else np.nan for steps in within]
    known = [period for period in own if not np.isnan(period)]
    usual = float(np.median(known)) if known else np.nan
    return [usual if np.isnan(period) else period for period in own]


def rows_lost(
    times: Float[np.ndarray, " row"], starts: Bool[np.ndarray, " row"], period: float
) -> Bool[np.ndarray, " row"]:
    """Whether rows are lost before each row, where the rows are ticks of a clock; `starts`: a segment starts there.

    >>> clock = np.append(np.arange(30.0), 99.0)
    >>> rows_lost(clock, np.zeros(31, bool), 1.0).nonzero()[0].tolist()
    [30]
    """
    jump = (np.diff(times, prepend=times[:1]) > JUMP * period) & ~starts
    return jump if jump.mean() <= 1 - _TICKS else np.zeros(len(times), bool)
