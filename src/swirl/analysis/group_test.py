"""Do groups differ?  The unit is the animal: one number for each, and a test that permutes animals.

The steps of a session are alike, and so are the sessions of an animal.  To count them as independent observations
(pseudoreplication) finds differences that are not there: the more sessions, the more of them.  So each animal gives one
number, and the question is how often a difference this large comes of dealing the group labels anew to the *animals*.
That needs no assumption about how the numbers are distributed.  The modes must not have been fitted to one group more
than to the other: fit all together, or the same way in each.

`compare_groups` compares two groups, with an interval of the difference; `group_test` says whether several differ at
all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.analysis.mode_signal import read_modes, signal_by_mode
from swirl.analysis.significance import max_corrected
from swirl.data.segments import DURATION, DWELL, find_segments, step_durations
from swirl.errors import Faults
from swirl.estimators.base import as_trajectories
from swirl.text import counted, some

__all__ = ["GroupComparison", "by_animal", "compare_groups"]

MEASURES = ("share", "time", "bouts", "leaving", "leaving_per_time", "signal")
MIN_ANIMALS = 2  # in each group
HALF = 0.5  # an exit, added to those of each animal
MAX_SHUFFLES = 10_000  # drawn where there are more ways to divide the animals into several groups than that


def by_animal(
    data: Any,
    modes: Sequence[Any],
    measure: str = "share",
    *,
    signal: str | None = None,
    n_modes: int | None = None,
    mode_names: Sequence[str] | None = None,
) -> Any:
    """One number for each animal and mode, over all its sessions: a pandas DataFrame for `compare_groups`.

    Parameters
    ----------
    data
        `Trajectories` with subjects and groups. An animal that was in several groups has a row for each.
    modes
        The mode of each step, one array per session, as `model.predict(data)` gives.
    measure
        "share": of its steps that are in the mode. "time": of the time that its steps are known to have lasted, the
        share in the mode (`swirl.data.segments.step_durations`). "bouts": starts of the mode in 1,000 steps.
        "leaving": how often the mode is left at a step in it after which the next was seen; 1 / that is its mean bout
        in steps, whatever bouts the recording cuts. Half an exit is added to each animal's, in as many steps as that
        takes all animals together, so that few exits make no extreme numbers and one that never left counts.
        "leaving_per_time": the same per unit of the time that such steps lasted. "signal": mean of a recorded signal
        over the steps in the mode.
    signal
        Its name, for the last.
    mode_names
        What the columns are called; else mode 0, mode 1, ….

    Examples
    --------
    >>> from swirl.data.trajectories import Trajectories
    >>> data = Trajectories([[0, 1, 0, 1]] * 3, subjects=["m1", "m1", "m2"], groups=["drug", "drug", "saline"])
    >>> by_animal(data, [[0, 0, 0, 1], [0, 1, 1, 1], [1, 1, 1, 1]])
                    mode 0  mode 1
    group  subject
    drug   m1          0.5     0.5
    saline m2          0.0     1.0

    Where the two steps at the goal lasted 8 s each and the others 1 s, the share of the time is another:

    >>> data = Trajectories([[0, 2, 1, 2]], subjects=["m1"], groups=["drug"], signals={"dwell": [[1.0, 8.0, 1.0, 8.0]]})
    >>> by_animal(data, [[0, 1, 0, 1]], "time").round(2)
                   mode 0  mode 1
    group subject
    drug  m1         0.11    0.89
    """
    import pandas as pd

    data, faults = as_trajectories(data), Faults()
    if measure not in MEASURES:
        faults.add(
            f"measure={measure!r}: expected one of {', '.join(MEASURES)} (how long bouts last is told by "
            "leaving: 1 / it is their mean)"
        )
    if (measure == "signal") != (signal is not None):
        faults.add(f"signal={signal!r}: goes with measure='signal', and is the name of one of the data's signals")
    if any(group is None for group in data.groups):
        faults.add("groups: some sessions have none; give each its group (a column group, or groups=)")
    if any(subject is None for subject in data.subjects):
        faults.add(
            "subjects: some sessions have none, so it is not known which are of one animal; give each its subject (a "
            "column subject, or subjects=)"
        )
    of_time = measure in ("time", "leaving_per_time")
    durations = step_durations(data) if of_time else None
    if durations is None and of_time:
        faults.add(
            f"measure={measure!r}: how long the steps lasted is not known; give times (a column t, or times=) or a "
            f'signal {DWELL!r} or {DURATION!r}, as swirl import writes, or take measure="share" or "leaving", in steps'
        )
    faults.raise_if_any("No numbers of animals can be made")
    path, n_modes = read_modes(data, modes, n_modes)
    names = [f"mode {k}" for k in range(n_modes)] if mode_names is None else [str(name) for name in mode_names]
    if len(names) != n_modes:
        raise ValueError(f"mode_names has {len(names)} names, but there are {counted(n_modes, 'mode')}: one for each")
    keys = list(dict.fromkeys(zip(map(str, data.groups), map(str, data.subjects), strict=True)))
    unit = np.array([keys.index((str(g), str(s))) for g, s in zip(data.groups, data.subjects, strict=True)])
    index = pd.MultiIndex.from_tuples(keys, names=["group", "subject"])

    def summed(of: np.ndarray, mode: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        cells = np.bincount(of * n_modes + mode, weights=weights, minlength=len(keys) * n_modes)
        return cells.reshape(len(keys), n_modes).astype(float)

    step, known = unit[data.flat().sessions], path >= 0
    steps = summed(step[known], path[known])
    if measure == "signal":
        values = _signal_means(data, modes, str(signal), n_modes, unit, len(keys))
    elif measure == "share":
        values = _ratio(steps, steps.sum(axis=1, keepdims=True))
    elif measure == "time" and durations is not None:
        lasted = durations.flat / np.nanmax(durations.flat)  # equal steps weigh 1: their share is that of steps
        timed = known & np.isfinite(lasted)
        times = summed(unit[data.flat().sessions[timed]], path[timed], lasted[timed])
        values = _ratio(times, times.sum(axis=1, keepdims=True))
    else:
        found = find_segments(np.split(path, np.cumsum(data.lengths)[:-1]), data.gaps)
        began, ended = ~found.cut_start, ~found.cut_end
        if measure == "bouts":
            starts = summed(unit[found.session[began]], found.mode[began])
            values = _ratio(1000 * starts, steps.sum(axis=1, keepdims=True))
        else:
            last = (np.cumsum(data.lengths) - data.lengths)[found.session] + found.stop - 1
            leaves, at_risk = np.zeros(len(path), bool), known.copy()
            leaves[last[ended]], at_risk[last[~ended]] = True, False  # what came after a cut was not seen
            lasted = np.ones(len(path)) if durations is None else durations.flat
            at_risk &= np.isfinite(lasted)
            leaves &= at_risk
            time = summed(step[at_risk], path[at_risk], lasted[at_risk])
            exits = summed(step[leaves], path[leaves])
            # Half an exit more, at the rate of all: one exit after the only step would count as a rate of 1.
            half = HALF * _ratio(time.sum(axis=0), exits.sum(axis=0))
            values = np.where(np.isfinite(half), _ratio(exits + HALF, time + half), _ratio(exits, time))
            values[time == 0] = np.nan
    return pd.DataFrame(values, index=index, columns=names).sort_index()


def _ratio(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    shape = np.broadcast_shapes(one.shape, other.shape)
    return np.divide(one, other, out=np.full(shape, np.nan), where=np.broadcast_to(other, shape) > 0)


def _signal_means(
    data: Any, modes: Sequence[Any], signal: str, n_modes: int, unit: np.ndarray, n_units: int
) -> np.ndarray:
    """Mean of the signal in each mode over the steps of each animal."""
    means = np.full((n_units, n_modes), np.nan)
    for i in range(n_units):
        own = np.flatnonzero(unit == i).tolist()
        part = data[own]
        found = signal_by_mode(part, [modes[s] for s in own], signal, n_modes=n_modes, over="subject")
        if found.unit_means.shape[2] > 1:
            raise ValueError(f"signal={signal!r} has several channels: put the one you mean into a signal of its own")
        means[i] = found.unit_means[0, :, 0]
    return means


@dataclass(frozen=True)
class GroupComparison:
    """The difference between two groups of animals, for each thing that was measured."""

    groups: tuple[str, str]
    """The difference is the second minus the first."""
    names: tuple[str, ...]
    means: Float[np.ndarray, "group test"]
    n_animals: Float[np.ndarray, "group test"]
    difference: Float[np.ndarray, " test"]
    low: Float[np.ndarray, " test"]
    high: Float[np.ndarray, " test"]
    """Ends of the confidence interval of the difference (Welch's t; the paired t where animals were in both)."""
    level: float | int
    p_value: Float[np.ndarray, " test"]
    """Share of all ways to deal the labels in which Welch's t is as far from 0, either way."""
    corrected_p_value: Float[np.ndarray, " test"]
    """The same for the largest of all tests (`significance.max_corrected`)."""
    paired: bool
    """Whether the same animals were in both groups: then labels are dealt within each animal."""
    exact: bool
    """Whether all ways were tried, or a random sample of them."""
    n_ways: int

    @property
    def least_p_value(self) -> float:
        """The smallest p-value that so few animals can give."""
        # With groups of one size, as with pairs, every way has a mirror image that is as far from 0.
        mirrored = self.paired or bool((self.n_animals[0] == self.n_animals[1]).any())
        return (2.0 if self.exact and mirrored else 1.0) / self.n_ways

    def table(self) -> Any:
        """One row for each test, as a pandas DataFrame."""
        import pandas as pd

        first, second = self.groups
        columns = {f"mean {first}": self.means[0], f"mean {second}": self.means[1], "difference": self.difference}
        columns |= {"low": self.low, "high": self.high, "p_value": self.p_value}
        columns |= {"corrected_p_value": self.corrected_p_value}
        columns |= {f"n {first}": self.n_animals[0].astype(int), f"n {second}": self.n_animals[1].astype(int)}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="measured"))

    def __str__(self) -> str:
        first, second = self.groups
        n = [int(most) for most in self.n_animals.max(axis=1)]
        who = f"{counted(n[0], 'animal')} in both" if self.paired else f"{n[0]} and {counted(n[1], 'animal')}"
        how = f"all {self.n_ways:,} ways" if self.exact else f"{self.n_ways:,} random ways"
        lines = [f"{second} − {first} ({who}; labels dealt anew to animals, {how})"]
        for i, name in enumerate(self.names):
            span = f"{100 * self.level:g} % interval {self.low[i]:.3g} to {self.high[i]:.3g}"
            corrected = f", corrected for {len(self.names)} tests {self.corrected_p_value[i]:.3g}"
            lines.append(
                f"  {name}: {self.difference[i]:+.3g} ({span}), p = {self.p_value[i]:.3g}"
                f"{corrected if len(self.names) > 1 else ''}"
            )
        if self.least_p_value > 0.05:
            lines.append(f"  So few animals cannot give a p-value below {self.least_p_value:.2g}.")
        return "\n".join(lines)


def compare_groups(
    table: Any,
    groups: Sequence[str] | None = None,
    *,
    level: float | int = 0.95,
    n_permutations: int = 9999,
    random_state: int = 0,
) -> GroupComparison:
    """Test whether two groups of animals differ, by dealing the group labels anew to the animals.

    Where every animal was in both groups (saline one day, drug another), labels are dealt within animals.  The numbers
    are taken as given: of modes, read the verdict on the fit first.

    Parameters
    ----------
    table
        A DataFrame with one row per animal, indexed by group and subject, and a column for each number to test:
        `by_animal` makes one; so does `frame.groupby(["group", "subject"])[…].mean()`.
    groups
        Which two, in this order; needed where there are more. The difference is the second minus the first.
    level
        Of the confidence interval.
    n_permutations
        Where there are more ways to deal the labels than that, so many random ones are tried.

    Examples
    --------
    >>> import pandas as pd
    >>> animals = pd.MultiIndex.from_tuples([("a", i) for i in range(4)] + [("b", i) for i in range(4, 8)])
    >>> shares = pd.DataFrame({"rest": [0.2, 0.3, 0.25, 0.3, 0.5, 0.4, 0.45, 0.6]}, index=animals)
    >>> shares.index.names = ["group", "subject"]
    >>> print(compare_groups(shares))
    b − a (4 and 4 animals; labels dealt anew to animals, all 70 ways)
      rest: +0.225 (95 % interval 0.0969 to 0.353), p = 0.0286
    """
    names, values, label, subject = _read_table(table)
    known = list(dict.fromkeys(label))
    if groups is None:
        groups = sorted(known)
        if len(groups) != 2:
            raise ValueError(
                f"groups: the table has {some(groups)}: say which two to compare, groups=('saline', 'drug')"
            )
    first, second = _two_of(groups, known)
    if not 0 < level < 1:
        raise ValueError(f"level={level}: expected a share between 0 and 1, such as 0.95")
    if n_permutations < 19:
        raise ValueError(f"n_permutations={n_permutations}: expected 19 or more, for a p-value of 0.05")
    chosen = [i for i, group in enumerate(label) if group in (first, second)]
    values, label = values[chosen], [label[i] for i in chosen]
    subject = [subject[i] for i in chosen]
    rng = np.random.default_rng(random_state)
    both = [name for name in dict.fromkeys(subject) if subject.count(name) > 1]
    if both:
        lone = [name for name in dict.fromkeys(subject) if subject.count(name) == 1]
        if lone:
            raise ValueError(f"animals {some(both)} are in both groups, {some(lone)} in one only: leave out one kind")
        at = {(group, name): i for i, (group, name) in enumerate(zip(label, subject, strict=True))}
        one, other = (values[[at[group, name] for name in both]] for group in (first, second))
        return _paired((first, second), names, one, other, level, n_permutations, rng)
    return _apart((first, second), names, values, np.array([g == second for g in label]), level, n_permutations, rng)


def _read_table(table: Any) -> tuple[tuple[str, ...], Float[np.ndarray, "animal test"], list[str], list[str]]:
    """Names, numbers, groups and subjects; faults where a table is not of animals."""
    import pandas as pd

    if isinstance(table, pd.Series):
        table = table.to_frame(table.name if table.name is not None else "value")
    if not isinstance(table, pd.DataFrame) or not {"group", "subject"} <= set(table.index.names):
        raise ValueError(
            "table: expected a DataFrame indexed by group and subject, with a column for each number: by_animal(…) "
            'makes one, or frame.set_index(["group", "subject"])'
        )
    faults = Faults()
    group, subject = (list(map(str, table.index.get_level_values(level))) for level in ("group", "subject"))
    pairs = list(zip(group, subject, strict=True))
    if twice := [f"{s} ({g})" for g, s in dict.fromkeys(pairs) if pairs.count((g, s)) > 1]:
        faults.add(
            f"table has several rows of {some(twice)}: the unit is the animal; take one number for each, as in "
            'frame.groupby(["group", "subject"]).mean()'
        )
    if not len(table.columns):
        faults.add("table has no column of numbers to test")
    if wrong := [str(name) for name in table.columns if table[name].dtype.kind not in "iufb"]:
        faults.add(f"table: columns {some(wrong)} do not hold numbers; leave them out")
    faults.raise_if_any("The groups cannot be compared")
    return tuple(map(str, table.columns)), table.to_numpy(float), group, subject


def _two_of(groups: Sequence[str], known: Sequence[str]) -> tuple[str, str]:
    names = [str(group) for group in groups]
    if len(names) != 2 or names[0] == names[1] or not set(names) <= set(known):
        raise ValueError(f"groups={tuple(groups)}: expected two of {', '.join(known)}")
    return names[0], names[1]


def _apart(
    groups: tuple[str, str],
    names: tuple[str, ...],
    values: Float[np.ndarray, "animal test"],
    in_second: Bool[np.ndarray, " animal"],
    level: float | int,
    n_permutations: int,
    rng: np.random.Generator,
) -> GroupComparison:
    """Different animals in the two groups: Welch's t of every way to deal the labels, the real one first."""
    from scipy.stats import t as student

    n, k = len(in_second), int(in_second.sum())
    exact = comb(n, k) <= n_permutations + 1
    if exact:
        dealt = np.zeros((comb(n, k), n), bool)
        for row, own in enumerate(combinations(range(n), k)):
            dealt[row, list(own)] = True
        real = int(np.flatnonzero((dealt == in_second).all(axis=1))[0])
        dealt[[0, real]] = dealt[[real, 0]]
    else:
        dealt = np.stack([in_second, *(rng.permutation(in_second) for _ in range(n_permutations))])
    known = np.isfinite(values)
    filled = np.where(known, values - np.nanmean(values, axis=0), 0.0)
    # Sums over the animals of each side, for every way at once.
    sides = [~dealt, dealt]
    counts = [side.astype(float) @ known for side in sides]
    means = [_ratio(side.astype(float) @ filled, n_) for side, n_ in zip(sides, counts, strict=True)]
    square = [
        _ratio(side.astype(float) @ filled**2 - n_ * mean**2, n_ - 1) / n_
        for side, n_, mean in zip(sides, counts, means, strict=True)
    ]
    if (low := np.minimum(counts[0][0], counts[1][0])).min() < MIN_ANIMALS:
        which = [name for name, n_ in zip(names, low, strict=True) if n_ < MIN_ANIMALS]
        raise ValueError(
            f"{some(which)}: {groups[0]} has {int(counts[0][0].min())} animals with a number, {groups[1]} "
            f"{int(counts[1][0].min())}: at least {MIN_ANIMALS} in each are needed"
        )
    difference = means[1] - means[0]
    error = np.sqrt(np.maximum(square[0] + square[1], 0.0))
    distances = _distances(difference, error)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = error[0] ** 4 / (square[0][0] ** 2 / (counts[0][0] - 1) + square[1][0] ** 2 / (counts[1][0] - 1))
    half = error[0] * student.ppf((1 + level) / 2, np.where(np.isfinite(freedom), freedom, 1.0))
    centre = np.nanmean(values, axis=0)
    return GroupComparison(
        groups, names, np.stack([means[0][0], means[1][0]]) + centre, np.stack([counts[0][0], counts[1][0]]),
        difference[0], difference[0] - half, difference[0] + half, level,
        (distances >= distances[0] - 1e-9).mean(axis=0), max_corrected(distances), False, exact, len(dealt),
    )  # fmt: skip


def _paired(
    groups: tuple[str, str],
    names: tuple[str, ...],
    one: Float[np.ndarray, "animal test"],
    other: Float[np.ndarray, "animal test"],
    level: float | int,
    n_permutations: int,
    rng: np.random.Generator,
) -> GroupComparison:
    """The same animals in both: the paired t of every way to swap the labels within animals, the real one first."""
    from scipy.stats import t as student

    n = len(one)
    exact = n < 60 and 2**n <= n_permutations + 1
    if exact:
        signs = 1.0 - 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)  # row 0: none is swapped
    else:
        signs = np.concatenate([np.ones((1, n)), rng.choice([-1.0, 1.0], (n_permutations, n))])
    apart = other - one
    known = np.isfinite(apart)
    filled, count = np.where(known, apart, 0.0), known.sum(axis=0).astype(float)
    if count.min() < MIN_ANIMALS:
        which = [name for name, n_ in zip(names, count, strict=True) if n_ < MIN_ANIMALS]
        raise ValueError(f"{some(which)}: fewer than {MIN_ANIMALS} animals have a number in both groups")
    mean = signs @ filled / count
    error = np.sqrt(np.maximum((filled**2).sum(axis=0) - count * mean**2, 0.0) / (count - 1) / count)
    distances = _distances(mean, error)
    half = error[0] * student.ppf((1 + level) / 2, count - 1)
    means = np.stack([np.nanmean(np.where(known, side, np.nan), axis=0) for side in (one, other)])
    return GroupComparison(
        groups, names, means, np.stack([count, count]), mean[0], mean[0] - half, mean[0] + half, level,
        (distances >= distances[0] - 1e-9).mean(axis=0), max_corrected(distances), True, exact, len(signs),
    )  # fmt: skip


def _distances(difference: np.ndarray, error: np.ndarray) -> np.ndarray:
    """|t| of every way and test; without any spread, infinite where there is a difference."""
    apart, least = np.abs(difference), 1e-9 * np.nanmax(np.abs(difference), axis=0)
    t = np.divide(apart, error, out=np.zeros_like(apart), where=error > least)
    return np.where((error <= least) & (apart > least), 1e300, np.where(np.isfinite(t), t, 0.0))


@dataclass(frozen=True)
class GroupTest:
    """Whether groups of animals differ in several measures; each animal counts once."""

    groups: tuple[Any, ...]
    counts: Int[np.ndarray, "group"]
    """Animals in each group."""
    mean: Float[np.ndarray, "group measure"]
    p_value: Float[np.ndarray, "measure"]
    corrected: Float[np.ndarray, "measure"]
    """For all measures together (`max_corrected`)."""
    n_shuffles: int
    """Ways to divide the animals that were looked at, the real one among them."""
    exact: bool
    """Whether these are all ways."""
    least: float
    """The smallest p-value that so few animals can have."""


def group_test(values: Any, groups: Sequence[Any], *, seed: int = 0) -> GroupTest:
    """Test whether groups of animals differ, by shuffling which animal belongs to which group (a permutation test).

    For each measure: how far the groups' means lie apart (the sum of squares between groups), and in which share of
    all ways to divide the animals into groups of these sizes they lie as far apart. Nothing is assumed of how a measure
    is distributed. Of two groups all ways are looked at where there are at most 10,000; else as many are drawn.

    Parameters
    ----------
    values
        One row for each animal, one column for each measure, such as its share of steps in each mode.
    groups
        The group of each animal. Animals that were in several groups do not fit this test.

    Examples
    --------
    >>> share = np.array([[0.2], [0.3], [0.25], [0.6], [0.7], [0.65]])
    >>> found = group_test(share, ["saline"] * 3 + ["drug"] * 3)
    >>> found.p_value.tolist(), found.n_shuffles, found.least  # of 20 ways two lie as far apart
    ([0.1], 20, 0.1)
    """
    values, known = np.asarray(values, dtype=float), list(dict.fromkeys(groups))
    labels = np.array([known.index(group) for group in groups], np.int64)
    counts = np.bincount(labels, minlength=len(known))
    if values.ndim != 2 or len(values) != len(labels):
        raise ValueError(f"values has shape {values.shape}: expected (animals, measures), a row for each of "
                         f"{len(labels)} groups given")  # fmt: skip
    if len(known) < 2 or len(values) < 3:
        raise ValueError(f"groups: got {len(known)} of {len(values)} animals; expected two groups or more, and three "
                         "animals or more")  # fmt: skip
    if not np.isfinite(values).all():
        raise ValueError("values: some are not finite; leave out animals for which a measure is not known")
    exact = len(known) == 2 and comb(len(values), int(counts[1])) <= MAX_SHUFFLES
    if exact:
        ways = np.zeros((comb(len(values), int(counts[1])), len(values)), np.int64)
        for way, second in zip(ways, combinations(range(len(values)), int(counts[1])), strict=True):
            way[list(second)] = 1
        ways = np.concatenate([labels[None], ways[(ways != labels).any(axis=1)]])
    else:
        rng = np.random.default_rng(seed)
        ways = np.concatenate([labels[None], rng.permuted(np.tile(labels, (MAX_SHUFFLES - 1, 1)), axis=1)])
    centred = values - values.mean(axis=0)
    apart = np.zeros((len(ways), values.shape[1]))
    for group, count in enumerate(counts):
        apart += ((ways == group) @ centred) ** 2 / count
    spread = (centred**2).sum(axis=0)
    apart = np.divide(apart, spread, out=np.zeros_like(apart), where=spread > 1e-12)  # explained variance: 0 to 1
    return GroupTest(
        tuple(known),
        counts,
        np.stack([values[labels == group].mean(axis=0) for group in range(len(known))]),
        (apart >= apart[0] - 1e-9).mean(axis=0),
        max_corrected(apart),
        len(ways),
        exact,
        float((apart >= apart.max(axis=0) - 1e-9).mean(axis=0).min()),
    )
