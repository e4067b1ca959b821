"""What a bootstrap found: the draws, and intervals from them."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.stats import t as student

from swirl.analysis.state_summaries import log_odds_less
from swirl.io import netcdf
from swirl.text import counted

PROBABILITIES = ("occupancy", "leaving", "mode_transitions", "initial_modes", "policies")
NAMES = (*PROBABILITIES, "durations", "preferences", "rewards")
AXES = {
    "occupancy": ("mode",), "leaving": ("mode",), "initial_modes": ("mode",), "policies": ("mode", "state", "option"),
    "mode_transitions": ("chain_state", "mode", "next_mode"), "rewards": ("mode", "state"),
}  # fmt: skip


@dataclass(frozen=True)
class Bootstrap:
    """Refits to resampled sessions, modes numbered as in the fit; print it for a table.

    What the intervals do *not* cover:

    - local optima: each refit starts at the fit, so all stay on its hill. Whether there are others the restarts say.
    - what is rare: a switch that the data hold twice or never is in no draw often, so that estimate and interval are
      too low together. Single entries of `mode_transitions` hold where some 20 switches were seen (docs/studies.md).
    - the bias of the priors: their pull is in the fit and in every refit alike.
    - the choice of model: numbers of modes, history length, switching and priors are taken as given.
    - other animals, where sessions were drawn: that takes several subjects (``by="subject"``).
    - few sessions: below some 20 the bootstrap knows the spread itself only roughly; the intervals are widened for it
      (Student's t), which is a remedy for the mean of a bell curve and no more than that.
    """

    by: str
    """What was drawn: "session" or "subject"."""
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
    """For each session and step: the share of refits that decode the mode of the fit."""
    statuses: tuple[str, ...] = ()
    """How each refit ended. Only those that converged have a place in the arrays."""
    seed: int = 0
    model: str = ""
    """Mark of the fit that it is of (`mark_of`)."""
    drift: float = 0.0
    """How far the fit as it stands is from `fitted`, in standard errors: the most of all shares and rates of leaving.
    Where it is not small the fit stopped on its way up: fit with more iterations."""

    @property
    def n_draws(self) -> int:
        """Number of refits."""
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
        is for its own entry: of a hundred, five will miss.

        `of` makes something else of the quantity first, on its last axes: what mode 0 earns more at place 23 than at 0
        is ``interval("rewards", of=lambda r: r[..., 0, 23] - r[..., 0, 0])``.

        >>> boot = Bootstrap(
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
        freedom = 1 / (1 / (self.n_units - 1) + 1 / (self.n_draws - 1))
        reach = float(student.ppf(0.5 + level / 2, freedom))
        with np.errstate(invalid="ignore"):  # log-odds of what is impossible in every mode
            if name in PROBABILITIES and of is None:
                spread = spread_of(logit(draws), self.n_units)
                low, high = (1 / (1 + np.exp(-(logit(centre) + side * reach * spread))) for side in (-1, 1))
            else:
                spread = spread_of(draws, self.n_units)
                low, high = centre - reach * spread, centre + reach * spread
        still = ~(spread > 1e-12)  # what no draw moves, such as an action that is not there
        return np.where(still, centre, low), np.where(still, centre, high)

    def estimate(self, name: str) -> np.ndarray:
        """The fit's own value of a quantity, around which its interval lies."""
        if name == "durations":
            return _durations(self.fitted["leaving"])
        return log_odds(self.fitted["policies"]) if name == "preferences" else self.fitted[name]

    @property
    def names(self) -> tuple[str, ...]:
        """Quantities that there are."""
        return tuple(name for name in NAMES if getattr(self, name) is not None)

    @property
    def how(self) -> str:
        """What was done, in words."""
        drawn = f"{counted(self.n_units, self.by)} drawn with replacement {self.n_draws} times"
        return f"{drawn} (intervals are about further {self.by}s such as these); {ended(self.statuses)}"

    def __str__(self) -> str:
        low, high = self.interval("occupancy")
        short, long = self.interval("durations")
        share, stay = self.estimate("occupancy"), self.estimate("durations")
        lines = [f"Bootstrap: {self.how}.", f"{'mode':>4}  {'share of steps':<24}  mean duration (steps)"]
        for k in range(len(share)):
            shares = f"{share[k]:.3f} ({low[k]:.3f} to {high[k]:.3f})"
            lines.append(f"{k:>4}  {shares:<24}  {stay[k]:.1f} ({short[k]:.1f} to {long[k]:.1f})")
        return "\n".join(lines)

    def save(self, path: Any, *, overwrite: bool = False) -> Path:
        """Write everything to one netCDF-4 file; `Bootstrap.load(path)` reads it back."""
        arrays = {}
        for name, axes in AXES.items():
            if getattr(self, name) is not None:
                arrays[name] = (("draw", *axes), getattr(self, name))
                arrays[f"fitted.{name}"] = (axes, self.fitted[name])
        arrays["stability"] = (("step",), np.concatenate([*self.stability, np.zeros(0)]))
        arrays["lengths"] = (("session",), np.array([len(part) for part in self.stability], np.int64))
        header = {"kind": "bootstrap", "statuses": list(self.statuses)}
        header |= {name: getattr(self, name) for name in ("by", "n_units", "seed", "drift", "model")}
        return netcdf.write(path, arrays, header, overwrite=overwrite)

    @classmethod
    def load(cls, path: Any) -> "Bootstrap":
        """Read what `save` wrote."""
        arrays, header = netcdf.read(path)
        if header.get("kind") != "bootstrap":
            raise ValueError(f"{path}: holds no bootstrap; give a file that Bootstrap.save wrote")
        found = {name: arrays.get(name) for name in AXES}
        fitted = {name: arrays[f"fitted.{name}"] for name in AXES if f"fitted.{name}" in arrays}
        parts = tuple(np.split(arrays["stability"], np.cumsum(arrays["lengths"])[:-1]))
        about = {name: header[name] for name in ("by", "n_units", "seed", "drift", "model")}
        return cls(fitted=fitted, stability=parts, statuses=tuple(header["statuses"]), **found, **about)


def mark_of(model: Any) -> str:
    """What tells a fit, with its modes in their order, from any other."""
    digest = hashlib.sha256()
    for table in (model.initial_modes_, model.mode_transitions_):
        digest.update(np.ascontiguousarray(table, dtype="<f8").tobytes())
    return digest.hexdigest()[:16]


def spread_of(draws: np.ndarray, n_units: int) -> np.ndarray:
    """Standard error: that of the draws, which n units drawn from n make too small by (n − 1)/n."""
    return np.asarray(draws.std(axis=0, ddof=1) * np.sqrt(n_units / (n_units - 1)))


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
