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
from jaxtyping import Float
from scipy.stats import beta, norm
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
FITS, BETWEEN = ("fitted", "twice"), "between."
ABOUT = ("by", "n_units", "seed", "drift", "model", "method", "smoothed")
OF_SESSIONS = ("occupancy", "leaving", "durations")  # means over sessions, whatever the method
MIN_UNITS = 5
"""Sessions (or subjects) below which nothing is said of how they differ."""
FEW = 5
"""Times that something happened (or did not) below which the spread over units says too little of it."""
ENOUGH_ANIMALS = 8
"""Animals below which how they differ is known only roughly."""


@dataclass(frozen=True)
class Intervals(InNotebooks):
    """Draws of what a fit says, modes numbered as in the fit; print it for a table.

    Draws are refits to resampled sessions (`bootstrap`), or parameters drawn from the curvature of the objective at the
    fit (`information`). Either way an interval is the fit's own value ± so many standard errors over draws.

    Intervals of probabilities are exact binomial ones (Clopper & Pearson 1934), as if so many choices had been counted
    as leave open what the draws leave open, and the priors' pull is taken out of them first (`without_priors`): a
    choice that was seen once or never is pulled towards the others, and may be rarer than the fit says. A prior on
    rewards may pull rightly, so such policies are held with its pull and without (`smoothed`). Where several animals
    are known, no interval is narrower than how the animals differ makes it (`between`).

    What the intervals do *not* cover:

    - local optima: all draws stay on the hill of the fit. Whether there are others the restarts say.
    - the bias of the priors on rewards: their pull is in the fit and in every refit alike. Draws from the information
      know how wide the priors are, and cover the pull of a prior that is true on average.
    - the choice of model: numbers of modes, history length, switching and priors are taken as given. Draws from the
      information take the model as true; refits take sessions as they are.
    - other animals, where none are known: that takes several subjects.
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
    objective at the fit) or, in `between`, "sandwich" (the same, with the spread of how units pull at the fit)."""
    switches: Float[np.ndarray, "chain_state mode next_mode"] | None = None
    """Expected pairs of neighbouring modes in the data: what switching probabilities rest on."""
    twice: dict[str, np.ndarray] | None = None
    """The same quantities of a fit to every session counted twice, in which the priors weigh half as much."""
    smoothed: bool = True
    """Whether policies are smoothed counts, whose prior pulls all choices towards each other whatever the truth. A
    prior on rewards may be right: intervals of their policies hold what they are with its pull and without."""
    between: "Intervals | None" = None
    """Draws from how the units pull at the fit, such as animals (the sandwich): no interval is narrower than they say.
    Of the information only; None where no animals are known."""
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

        estimate ± t · spread of the draws; the degrees of freedom of t are those of both samples, 1 / (1/(units − 1) +
        1/(draws − 1)): a few dozen draws do. For probabilities t · spread, on the logit scale, says how many choices
        they rest on, and the interval is the exact binomial one (`exact`). What is made of probabilities, such as
        log-odds, reaches as much further as the priors pull. Each interval is for its own entry: of a hundred, five
        will miss.

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
        centre, reach = self.estimate(name), self.reach(name, level, of)
        centre = centre if of is None else of(centre)
        further = centre if name == "rewards" else self.without_priors(name, of)
        # What no draw moves and no prior pulls, such as an action that is not there.
        still = (reach <= 1e-12) & ~(np.abs(further - centre) > 1e-9)
        if name in PROBABILITIES and of is None:
            least = most = further
            if name == "policies" and not self.smoothed:
                least, most = np.minimum(centre, further), np.maximum(centre, further)
            at_most = self.at_most(name)
            low, high = (exact(centre, p, reach, level, at_most)[end] for end, p in enumerate((least, most)))
        else:
            with np.errstate(invalid="ignore"):  # log-odds of what is impossible in every mode
                low, high = np.minimum(centre, further) - reach, np.maximum(centre, further) + reach
        return np.where(still, centre, low), np.where(still, centre, high)

    def reach(
        self, name: str, level: float | int = 0.95, of: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> np.ndarray:
        """Half the width of a normal interval, t · spread; on the logit scale for probabilities."""
        draws = getattr(self, name)
        with np.errstate(invalid="ignore"):
            scaled = of(draws) if of is not None else logit(draws) if name in PROBABILITIES else draws
            own = float(student.ppf(0.5 + level / 2, self.freedom(name))) * self.spread_of(name, scaled)
        if self.method == "information" and name in OF_SESSIONS and self.n_units < MIN_UNITS:
            own = np.full_like(own, np.nan)
        return np.asarray(own if self.between is None else np.maximum(own, self.between.reach(name, level, of)))

    def without_priors(self, name: str, of: Callable[[np.ndarray], np.ndarray] | None = None) -> np.ndarray:
        """A quantity with the pull of the priors taken out, to first order: 2 · that of `twice` − the fit's own."""
        own, half = (
            value if of is None else of(value) for value in (self.estimate(name), self.estimate(name, "twice"))
        )
        if name in PROBABILITIES and of is None:
            return np.clip(2 * half - own, 0.0, 1.0)
        return np.asarray(2 * half - own)

    def at_most(self, name: str) -> np.ndarray | float:
        """How many choices a probability rests on at most: where few were this one, those that there are in the data.

        What the data hold twice or never, all refits hold as seldom, and their spread says nothing of it. Switches are
        not seen themselves, and what places have in common says too much of rare ones by any method; choices are.
        """
        could = self.could(name)
        if could is None or (name == "policies" and not self.by_units(name)):
            return np.inf
        p = self.without_priors(name)
        return np.where(could * np.minimum(p, 1 - p) < FEW, could, np.inf)

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

    def could(self, name: str) -> np.ndarray | None:
        """How often in the data something could have happened (expected); None where nobody counted.

        States whose switching is one and the same in all draws (`switching="independent"`) count together.
        """
        if self.switches is None:
            return None
        visits = self.switches.sum(axis=2)
        if name == "leaving":
            return visits.sum(axis=0)
        if name == "policies" and self.policies is not None and len(visits) == self.policies.shape[2]:
            return np.broadcast_to(visits.T[:, :, None], self.policies.shape[1:])
        if name != "mode_transitions":
            return None
        every = np.concatenate([self.fitted[name][None], self.mode_transitions])
        for mode in range(visits.shape[1]):
            rows = every[:, :, mode].transpose(1, 0, 2).reshape(len(visits), -1)
            _, same = np.unique(rows, axis=0, return_inverse=True)
            visits[:, mode] = np.bincount(same.reshape(-1), weights=visits[:, mode])[same.reshape(-1)]
        return np.broadcast_to(visits[:, :, None], self.switches.shape)

    def estimate(self, name: str, of: str = "fitted") -> np.ndarray:
        """The fit's own value of a quantity, around which its interval lies (or that of `twice`)."""
        values = (self.fitted if self.twice is None else self.twice) if of == "twice" else self.fitted
        if name == "durations":
            return _durations(values["leaving"])
        return log_odds(values["policies"]) if name == "preferences" else values[name]

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
        else:
            told = (
                f"{self.n_draws} draws from the curvature of the objective (the observed information; intervals take "
                f"the model as true); shares and durations {self._shares}"
            )
        return told + (f"; {words}" if (words := self.between_words) else "")

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
    def between_words(self) -> str:
        """Say that intervals are about further animals too, and where these are few."""
        if self.between is None:
            return ""
        units = self.between._units
        few = (
            f", which so few say only roughly: intervals are wide for it (Student's t), and {ENOUGH_ANIMALS} are better"
            if self.between.n_units < ENOUGH_ANIMALS
            else ""
        )
        return f"no interval is narrower than how the {units} differ makes it (the sandwich){few}"

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
        arrays = self._arrays()
        arrays["stability"] = (("step",), np.concatenate([*self.stability, np.zeros(0)]))
        arrays["lengths"] = (("session",), np.array([len(part) for part in self.stability], np.int64))
        if self.switches is not None:
            arrays["switches"] = (AXES["mode_transitions"], self.switches)
        header = {"kind": KIND, "statuses": list(self.statuses)} | {name: getattr(self, name) for name in ABOUT}
        if self.between is not None:
            arrays |= {f"{BETWEEN}{name}": table for name, table in self.between._arrays().items()}
            header["between"] = {name: getattr(self.between, name) for name in ABOUT}
        return netcdf.write(path, arrays, header, overwrite=overwrite)

    def _arrays(self) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
        """Draws of each quantity, and its values in the fits, with their axes."""
        arrays = {}
        for name, axes in AXES.items():
            if getattr(self, name) is not None:
                arrays[name] = (("draw", *axes), getattr(self, name))
                arrays |= {f"{of}.{name}": (axes, own[name]) for of in FITS if (own := getattr(self, of)) is not None}
        return arrays

    @classmethod
    def load(cls, path: Any) -> "Intervals":
        """Read what `save` wrote."""
        arrays, header = netcdf.read(path)
        if header.get("kind") not in (KIND, "bootstrap"):
            raise ValueError(f"{path}: holds no intervals; give a file that Intervals.save wrote")
        if header.get("method") == "sandwich":
            raise ValueError(f"{path}: made by swirl.uncertainty.information of an earlier version; make them again")
        parts = tuple(np.split(arrays["stability"], np.cumsum(arrays["lengths"])[:-1]))
        own = {"switches": arrays.get("switches"), "statuses": tuple(header["statuses"]), "stability": parts}
        if "between" in header:
            among = {name.removeprefix(BETWEEN): arrays[name] for name in arrays if name.startswith(BETWEEN)}
            own["between"] = cls._read(among, header["between"], stability=())
        return cls._read(arrays, header, **own)

    @classmethod
    def _read(cls, arrays: dict[str, np.ndarray], header: dict[str, Any], **more: Any) -> "Intervals":
        """Intervals from the arrays of `_arrays`; files of earlier versions hold no fit to all sessions twice."""
        fits = {of: {name: arrays[f"{of}.{name}"] for name in AXES if f"{of}.{name}" in arrays} or None for of in FITS}
        about = {name: header[name] for name in ABOUT if name in header}
        return cls(**{name: arrays.get(name) for name in AXES}, **fits, **about, **more)


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


def exact(
    fitted: Entries, unpulled: Entries, reach: Entries, level: float | int, at_most: Any = np.inf
) -> tuple[Entries, Entries]:
    """The exact binomial interval (Clopper & Pearson 1934) of n choices, of which n · `unpulled` were this one.

    A share p of n choices has log-odds with a variance of 1 / n p (1 − p): n is as many as leave them as open as they
    are, which is the number of visits where the modes are known, fewer where they are hidden, and more where places
    that say the same of a reward are taken together.

    Parameters
    ----------
    fitted, unpulled
        The probability as the priors pull it, and without their pull.
    reach
        Half the width of the normal interval of its log-odds.
    at_most
        Choices that there are.

    Examples
    --------
    One of a hundred choices, to which a prior has added one of each of five:

    >>> fitted, n = np.array([2 / 105]), 105
    >>> reach = norm.ppf(0.975) / np.sqrt(n * fitted * (1 - fitted))
    >>> low, high = exact(fitted, np.array([1 / 100]), reach, 0.95)
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.0003], [0.0527])
    """
    p = np.clip(fitted, 1e-12, 1 - 1e-12)
    n = np.minimum((norm.ppf(0.5 + level / 2) / np.maximum(reach, 1e-12)) ** 2 / (p * (1 - p)), at_most)
    tail, this, other = (1 - level) / 2, np.maximum(n * unpulled, 1e-12), np.maximum(n * (1 - unpulled), 1e-12)
    return beta.ppf(tail, this, other + 1), beta.ppf(1 - tail, this + 1, other)


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
