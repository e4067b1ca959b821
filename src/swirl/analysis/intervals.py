"""What a fit leaves open: draws of what it says, by refits (`bootstrap`) or by the curvature of its objective
(`information`), and intervals from them.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import beta
from scipy.stats import t as student

from swirl.analysis.state_summaries import log_odds_less
from swirl.io import netcdf
from swirl.text import InNotebooks, counted

PROBABILITIES = ("occupancy", "leaving", "mode_transitions", "initial_modes", "policies")
NAMES = (*PROBABILITIES, "durations", "preferences", "rewards")
AXES = {
    "occupancy": ("mode",), "leaving": ("mode",), "initial_modes": ("mode",), "policies": ("mode", "state", "option"),
    "mode_transitions": ("chain_state", "mode", "next_mode"), "rewards": ("mode", "state"),
}  # fmt: skip


KIND = "intervals"  # of a file; "bootstrap" before there was another method
ABOUT = ("by", "n_units", "seed", "drift", "model", "method")
OF_SESSIONS = ("occupancy", "leaving", "durations")  # means over sessions, whatever the method
MIN_UNITS = 5
"""Sessions (or subjects) below which nothing is said of how they differ."""
FEW, MANY = 5, 20
"""Switches below which the normal interval of a switching probability is not to be trusted, and from which it is, where
it was told where they happened (docs/studies.md)."""


@dataclass(frozen=True)
class Intervals(InNotebooks):
    """Draws of what a fit says, modes numbered as in the fit; print it for a table.

    Draws are refits to resampled sessions (`bootstrap`), or parameters drawn from the curvature of the objective at the
    fit (`information`). Either way an interval is the fit's own value ± so many standard errors over draws.

    Probabilities of switching that rest on fewer than five switches have wider intervals, by whichever method: from 0
    to at least the upper end of the exact binomial interval of what was seen (`widened`). What the data hold twice or
    never, refits hold as seldom, and a normal interval then misses too often (docs/studies.md). So have those whose
    switches may have happened elsewhere, beside a place where they are frequent. `rare` says which they are.

    What the intervals do *not* cover:

    - local optima: all draws stay on the hill of the fit. Whether there are others the restarts say.
    - the bias of the priors: their pull is in the fit and in every refit alike. Draws from the information know how
      wide the priors are, and cover the pull of a prior that is true on average.
    - the choice of model: numbers of modes, history length, switching and priors are taken as given. Draws from the
      information take the model as true; refits, and ``robust=True``, take sessions as they are.
    - other animals, where sessions were drawn: that takes several subjects (``by="subject"``).
    - few sessions: below some 20 the spread over sessions is itself known only roughly; the intervals are widened for
      it (Student's t), which is a remedy for the mean of a bell curve and no more than that.
    """

    by: str
    """What was drawn, or averaged over: "session" or "subject"."""
    n_units: int
    """How many of them there are."""
    fitted: dict[str, np.ndarray]
    """The same quantities of the fit itself, EM having gone on to where the refits end."""
    occupancy: Float[np.ndarray, "draw mode"]
    """Expected share of the steps."""
    leaving: Float[np.ndarray, "draw mode"]
    """Probability of leaving the mode at a step in it, over the states where it was."""
    mode_transitions: Float[np.ndarray, "draw chain_state mode next_mode"]
    initial_modes: Float[np.ndarray, "draw mode"]
    policies: Float[np.ndarray, "draw mode state option"] | None
    """Probability of each option, the mean over earlier states; None for models of continuous recordings."""
    rewards: Float[np.ndarray, "draw mode state"] | None
    """Reward of each place in the least-norm gauge less the mode's mean over places: differences between places. Goals
    (`rewards.Goals`) have no gauge: the reward itself, 0 elsewhere."""
    stability: tuple[Float[np.ndarray, "_"], ...]
    """For each session and step: the share of draws (of the information: of 20) that decode the mode of the fit."""
    statuses: tuple[str, ...] = ()
    """How each refit ended. Only those that converged have a place in the arrays. None of the information."""
    seed: int = 0
    model: str = ""
    """Mark of the fit that it is of (`mark_of`)."""
    method: str = "bootstrap"
    """Where the draws come from: "bootstrap" (refits to resampled sessions), "information" (the curvature of the
    objective at the fit) or "sandwich" (the same, with the spread of how sessions pull at the parameters)."""
    switches: Float[np.ndarray, "chain_state mode next_mode"] | None = None
    """Expected pairs of neighbouring modes in the data: what switching probabilities rest on."""
    drift: float = 0.0
    """How far the fit as it stands is from `fitted`, in standard errors: the most of all shares and rates of leaving.
    Where it is not small the fit stopped on its way up: fit with more iterations."""

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.occupancy)

    @property
    def durations(self) -> Float[np.ndarray, "draw mode"]:
        """Mean duration of a stay in each mode, in steps: 1 / `leaving`, which no end of a session cuts short."""
        return _durations(self.leaving)

    @property
    def preferences(self) -> Float[np.ndarray, "draw mode state option"] | None:
        """Log-odds of each option less those in the average mode, which no gauge can change; None for one mode."""
        return None if self.policies is None or self.occupancy.shape[1] < 2 else log_odds(self.policies)

    def interval(
        self, name: str, level: float | int = 0.95, of: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends for one of the quantities, entry by entry, around the fit's own value.

        estimate ± t · spread of the draws; for probabilities on the logit scale, which has no walls. The degrees of
        freedom of t are those of both samples, 1 / (1/(units − 1) + 1/(draws − 1)): a few dozen draws do. Each interval
        is for its own entry: of a hundred, five will miss. Probabilities of switching that rest on fewer than five
        switches have wider ones (`rare`, `widened`).

        `of` makes something else of the quantity first, on its last axes: what mode 0 earns more at place 23 than at 0
        is ``interval("rewards", of=lambda r: r[..., 0, 23] - r[..., 0, 0])``.

        >>> boot = Intervals(
        ...     "session", 9, {"occupancy": np.array([0.5, 0.5])}, np.array([[0.48, 0.52], [0.5, 0.5], [0.52, 0.48]]),
        ...     np.full((3, 2), 0.1), np.full((3, 1, 2, 2), 0.5), np.full((3, 2), 0.5), None, None, ())
        >>> low, high = boot.interval("occupancy")
        >>> low.round(2).tolist(), high.round(2).tolist()
        ([0.38, 0.38], [0.62, 0.62])
        >>> [end.round(2).item() for end in boot.interval("occupancy", of=lambda share: share[..., 0] - share[..., 1])]
        [-0.23, 0.23]
        """
        if not 0 < level < 1:
            raise ValueError(f"level={level}: expected a share between 0 and 1, such as 0.95")
        if name not in self.names:
            raise ValueError(f"name={name!r}: expected one of {', '.join(self.names)}")
        if name == "durations" and of is None:
            low, high = self.interval("leaving", level)
            return _durations(high), _durations(low)
        centre, draws = (value if of is None else of(value) for value in (self.estimate(name), getattr(self, name)))
        if self.by_units(name) and self.n_units < MIN_UNITS:
            return np.full_like(centre, np.nan, dtype=float), np.full_like(centre, np.nan, dtype=float)
        reach = float(student.ppf(0.5 + level / 2, self.freedom(name)))
        with np.errstate(invalid="ignore"):  # log-odds of what is impossible in every mode
            if name in PROBABILITIES and of is None:
                spread = self.spread_of(name, logit(draws))
                low, high = (1 / (1 + np.exp(-(logit(centre) + side * reach * spread))) for side in (-1, 1))
            else:
                spread = self.spread_of(name, draws)
                low, high = centre - reach * spread, centre + reach * spread
        still = ~(spread > 1e-12)  # what no draw moves, such as an action that is not there
        low, high = np.where(still, centre, low), np.where(still, centre, high)
        if of is None and (counts := self.seen(name)) is not None:
            few = self.few(name)
            rare, (least, most) = few[0] | few[1], widened((low, high), counts, few, level)
            low, high = np.where(rare, least, low), np.where(rare, most, high)
        return low, high

    def freedom(self, name: str) -> float:
        """Degrees of freedom of t: those of the draws and, where units were drawn or averaged over, of the units."""
        units = self.n_units - 1 if self.by_units(name) else np.inf
        return 1 / (1 / units + 1 / (self.n_draws - 1))

    def by_units(self, name: str) -> bool:
        """Whether the spread of a quantity is that over sessions (or subjects)."""
        return self.method != "information" or name in OF_SESSIONS

    def spread_of(self, name: str, draws: np.ndarray) -> np.ndarray:
        """Standard error of a quantity from draws of it, or of what was made of them."""
        return spread_of(draws, self.n_units) if self.by_units(name) else np.asarray(draws.std(axis=0, ddof=1))

    def seen(self, name: str) -> tuple[np.ndarray, np.ndarray] | None:
        """What a probability of switching rests on: how often it happened (expected), and how often it could have.

        States whose switching is one and the same in all draws (`switching="independent"`) count together. None for
        other quantities, and where nobody counted.
        """
        if self.switches is None or name not in ("mode_transitions", "leaving"):
            return None
        if name == "leaving":
            pairs = self.switches.sum(axis=0)
            return pairs.sum(axis=1) - np.diagonal(pairs), pairs.sum(axis=1)
        happened = np.empty_like(self.switches)
        every = np.concatenate([self.fitted[name][None], self.mode_transitions])
        for mode in range(happened.shape[1]):
            rows = every[:, :, mode].transpose(1, 0, 2).reshape(len(happened), -1)
            _, same = np.unique(rows, axis=0, return_inverse=True)
            total = np.zeros((len(happened), happened.shape[2]))
            np.add.at(total, same.reshape(-1), self.switches[:, mode])
            happened[:, mode] = total[same.reshape(-1)]
        return happened, np.broadcast_to(happened.sum(axis=-1, keepdims=True), happened.shape)

    def few(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of switching that rest on too few switches, and on too few stays, for a normal interval.

        Too few are fewer than five; or where a switch happened is not told: what the draws leave open is then as if it
        had been seen fewer than 20 times, and less than a third as often as the fit counts it.
        """
        counts = self.seen(name)
        if counts is None:
            none = np.zeros(np.shape(getattr(self, name))[1:], dtype=bool)
            return none, none
        estimate = self.estimate(name)
        spread = self.spread_of(name, logit(getattr(self, name)))
        found, p = [], np.clip(estimate, 1e-12, 1 - 1e-12)
        for seen, rest in ((counts[0], 1 - p), (counts[1] - counts[0], p)):
            # n events among many leave the log-odds open by a variance of 1 / n (1 − p).
            told = 1 / np.maximum(spread**2 * rest, 1e-300)
            unclear = (told < np.minimum(MANY, seen / 3)) & (name == "mode_transitions")
            found.append((spread > 1e-12) & ((seen < FEW) | unclear))
        return found[0], found[1]

    def rare(self, name: str) -> np.ndarray:
        """Entries that rest on too few switches, or stays, for a normal interval (`few`): theirs are widened."""
        switches, stays = self.few(name)
        return switches | stays

    def estimate(self, name: str) -> np.ndarray:
        """The fit's own value of a quantity, around which its interval lies."""
        if name == "durations":
            return _durations(self.fitted["leaving"])
        return log_odds(self.fitted["policies"]) if name == "preferences" else self.fitted[name]

    def best_places(self) -> Float[np.ndarray, "mode state"]:
        """Share of draws in which each place is the one that a mode is rewarded for most: how sure a goal is.

        >>> rewards = np.array([[[0.0, 2.0, 1.0]], [[0.0, 1.0, 2.0]], [[0.0, 2.0, 1.0]], [[0.0, 3.0, 1.0]]])
        >>> boot = Intervals(
        ...     "session", 9, {}, np.ones((4, 1)), np.ones((4, 1)), np.ones((4, 1, 1, 1)), np.ones((4, 1)), None,
        ...     rewards, ())
        >>> boot.best_places().tolist()
        [[0.0, 0.75, 0.25]]
        """
        if self.rewards is None:
            raise ValueError("best_places: this model has no rewards of places")
        best = np.nan_to_num(self.rewards, nan=-np.inf).argmax(axis=2)
        return np.stack([(best == state).mean(axis=0) for state in range(self.rewards.shape[2])], axis=1)

    @property
    def names(self) -> tuple[str, ...]:
        """Quantities that there are."""
        return tuple(name for name in NAMES if getattr(self, name) is not None)

    @property
    def how(self) -> str:
        """What was done, in words."""
        if self.method == "bootstrap":
            drawn = f"{counted(self.n_units, self.by)} drawn with replacement {self.n_draws} times"
            told = f"{drawn} (intervals are about further {self.by}s such as these); {ended(self.statuses)}"
        elif self.method == "sandwich":
            told = (
                f"{self.n_draws} draws from the curvature of the objective and the spread of {self._units} (the "
                f"sandwich; intervals are about further {self.by}s such as these)"
            )
        else:
            told = (
                f"{self.n_draws} draws from the curvature of the objective (the observed information; intervals take "
                f"the model as true); shares and durations {self._shares}"
            )
        return told + (f"; {words}" if (words := self.rare_words) else "")

    @property
    def _shares(self) -> str:
        """What intervals of shares and durations rest on."""
        if self.n_units >= MIN_UNITS:
            return f"also from the spread of {self._units}"
        return f"have no intervals: {self._units} say next to nothing of how {self.by}s differ, {MIN_UNITS} are needed"

    @property
    def _units(self) -> str:
        return counted(self.n_units, self.by)

    @property
    def rare_words(self) -> str:
        """Say how many probabilities of switching rest on so few switches that their intervals were widened."""
        few = self.rare("mode_transitions")
        if not few.any():
            return ""
        return (
            f"{int(few.sum()):,} of {few.size:,} probabilities of switching rest on fewer than {FEW} switches (or "
            "stays), or on such as may have happened elsewhere, and have wider intervals"
        )

    def __str__(self) -> str:
        low, high = self.interval("occupancy")
        short, long = self.interval("durations")
        share, stay = self.estimate("occupancy"), self.estimate("durations")
        title = self.method.capitalize()
        lines = [f"{title}: {self.how}.", f"{'mode':>4}  {'share of steps':<24}  mean duration (steps)"]
        for k in range(len(share)):
            shares = f"{share[k]:.3f} ({low[k]:.3f} to {high[k]:.3f})"
            lines.append(f"{k:>4}  {shares:<24}  {stay[k]:.1f} ({short[k]:.1f} to {long[k]:.1f})")
        return "\n".join(lines)

    def save(self, path: Any, *, overwrite: bool = False) -> Path:
        """Write everything to one netCDF-4 file; `Intervals.load(path)` reads it back."""
        arrays = {}
        for name, axes in AXES.items():
            if getattr(self, name) is not None:
                arrays[name] = (("draw", *axes), getattr(self, name))
                arrays[f"fitted.{name}"] = (axes, self.fitted[name])
        arrays["stability"] = (("step",), np.concatenate([*self.stability, np.zeros(0)]))
        arrays["lengths"] = (("session",), np.array([len(part) for part in self.stability], np.int64))
        if self.switches is not None:
            arrays["switches"] = (AXES["mode_transitions"], self.switches)
        header = {"kind": KIND, "statuses": list(self.statuses)} | {name: getattr(self, name) for name in ABOUT}
        return netcdf.write(path, arrays, header, overwrite=overwrite)

    @classmethod
    def load(cls, path: Any) -> "Intervals":
        """Read what `save` wrote."""
        arrays, header = netcdf.read(path)
        if header.get("kind") not in (KIND, "bootstrap"):
            raise ValueError(f"{path}: holds no intervals; give a file that Intervals.save wrote")
        found = {name: arrays.get(name) for name in AXES}
        fitted = {name: arrays[f"fitted.{name}"] for name in AXES if f"fitted.{name}" in arrays}
        parts = tuple(np.split(arrays["stability"], np.cumsum(arrays["lengths"])[:-1]))
        about = {name: header[name] for name in ABOUT if name in header}
        own = {"switches": arrays.get("switches"), "statuses": tuple(header["statuses"])}
        return cls(fitted=fitted, stability=parts, **own, **found, **about)


Bootstrap = Intervals
"""Its name when there was one method."""


def mark_of(model: Any) -> str:
    """What tells a fit, with its modes in their order, from any other."""
    digest = hashlib.sha256()
    for table in (model.initial_modes_, model.mode_transitions_):
        digest.update(np.ascontiguousarray(table, dtype="<f8").tobytes())
    return digest.hexdigest()[:16]


def spread_of(draws: np.ndarray, n_units: int) -> np.ndarray:
    """Standard error: that of the draws, which n units drawn from n make too small by (n − 1)/n."""
    return np.asarray(draws.std(axis=0, ddof=1) * np.sqrt(n_units / (n_units - 1)))


Entries = Float[np.ndarray, "*entry"]


def widened(
    ends: tuple[Entries, Entries],
    seen: tuple[Entries, Entries],
    few: tuple[Bool[np.ndarray, "*entry"], Bool[np.ndarray, "*entry"]],
    level: float | int,
) -> tuple[Entries, Entries]:
    """The ends of a probability's interval where it rests on `few` events, or on few that were none.

    Towards what was seen often the interval reaches at least as far as the exact binomial one (Clopper & Pearson 1934),
    towards what was seen seldom as far as there is: switches are counted as the fit reads them, and a fit may read two
    or three into what was noise.

    Parameters
    ----------
    seen
        How often it happened, and how often it could have.

    Examples
    --------
    >>> happened, could = np.array([0.0, 2.0, 98.0]), np.array([100.0, 5.0, 100.0])
    >>> normal = np.array([0.01, 0.01, 0.9]), np.array([0.03, 0.2, 0.99])
    >>> low, high = widened(normal, (happened, could), (happened < 5, could - happened < 5), 0.95)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0, 0.0, 0.9], [0.0362, 1.0, 1.0])
    """
    tail, happened, other = (1 - level) / 2, np.maximum(seen[0], 1e-12), np.maximum(seen[1] - seen[0], 1e-12)
    least, most = beta.ppf(tail, happened, other + 1), beta.ppf(1 - tail, happened + 1, other)
    return np.where(few[0], 0.0, np.minimum(ends[0], least)), np.where(few[1], 1.0, np.maximum(ends[1], most))


def _durations(leaving: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return 1 / leaving


def logit(p: np.ndarray) -> np.ndarray:
    """Log-odds of probabilities, those of 0 and 1 held finite.

    >>> logit(np.array([0.5, 0.75])).round(3).tolist()
    [0.0, 1.099]
    """
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.log(p) - np.log1p(-p)


def log_odds(policies: Float[np.ndarray, "*draw mode state option"]) -> Float[np.ndarray, "*draw mode state option"]:
    """Log-odds of each option less those in the average mode; NaN where it is certain or impossible in both.

    >>> log_odds(np.array([[[0.5, 0.5, 0.0]], [[0.75, 0.25, 0.0]]])).round(2).tolist()
    [[[-0.51, 0.51, nan]], [[0.59, -0.59, nan]]]
    """
    here = np.clip(policies, 0.0, 1.0)
    return log_odds_less(here, here.mean(axis=-3, keepdims=True))


def ended(statuses: Sequence[str]) -> str:
    """Say how the refits ended.

    >>> ended(["converged", "converged", "iterations ran out"])
    '2 of 3 refits converged, 1 ran out of iterations'
    """
    found = Counter(statuses)
    words = {"iterations ran out": "ran out of iterations", "not finite": "failed", "objective fell": "were cut short"}
    lead = f"{found.pop('converged', 0)} of {counted(len(statuses), 'refit')} converged"
    return ", ".join([lead, *(f"{n} {words.get(status, status)}" for status, n in found.items())])
