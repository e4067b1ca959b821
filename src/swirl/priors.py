"""Priors as values: what a fit is told before it sees the data.

Without a prior there may be no best reward (an action never chosen sends a value to −∞), and the
likelihood leaves a gauge free (design.md#gauge), so the prior also picks the reward that is shown.
"""

import math
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, Literal


def _positive(name: str, value: Any, *, zero: bool = False) -> None:
    number = not isinstance(value, bool) and isinstance(value, Real)
    if not number or not math.isfinite(float(value)) or float(value) < 0 or (value == 0 and not zero):
        raise ValueError(f"{name}={value!r}: expected a finite number {'≥' if zero else '>'} 0")


@dataclass(frozen=True)
class _Shown:
    """What users are shown of a prior: only the settings that are not the default."""

    def __str__(self) -> str:
        given = [each.name for each in fields(self) if getattr(self, each.name) != each.default]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in given)})"


Of = Literal["reward", "linearised", "value"]


def _check_shrinkage(strength: float, backoff: float | tuple[float, ...] | None, of: str) -> None:
    _positive("strength", strength)
    for factor in backoff if isinstance(backoff, tuple) else (backoff,):
        if factor is not None:
            _positive("backoff", factor)
    if of not in ("reward", "linearised", "value"):
        raise ValueError(f'of={of!r}: expected "reward", "linearised" or "value"')


def _strengths(strength: float, backoff: float | tuple[float, ...] | None, orders: int) -> tuple[float, ...]:
    if isinstance(backoff, tuple):
        if len(backoff) != orders:
            raise ValueError(f"backoff has {len(backoff)} factors: expected one for each history order, {orders}")
        return tuple(strength * factor for factor in backoff)
    factor = 1.0 if backoff is None else backoff
    return tuple(strength * factor**order for order in range(orders))


@dataclass(frozen=True)
class Gaussian(_Shown):
    """Normal prior, mean 0, on each reward (or logit).

    Parameters
    ----------
    strength
        Precision λ: the penalty is ½ λ r². Larger = flatter rewards.
    backoff
        None: every history has a reward of its own. A number: r(h) = Σ_l r_l(newest l states), the part of
        order l with strength ``strength * backoff ** (l − 1)``, so longer histories borrow from shorter
        ones; larger = longer parts are shrunk more. A tuple gives that factor for each order.
    of
        ``"reward"``: the penalty is on the reward itself. ``"linearised"``: on V − γ P_unif V, the reward to first
        order around the uniform policy, which keeps the M-step convex (design.md#exact-solver). ``"value"``: on parts
        of V itself (of all orders; without `backoff`, all of the same strength), convex as well; histories that the
        data never choose among cost nothing, so it is the fastest for long histories, and on the labyrinth the best.

    Examples
    --------
    >>> Gaussian(0.5, backoff=4.0).strengths(3)
    (0.5, 2.0, 8.0)
    """

    strength: float = 1.0
    backoff: float | tuple[float, ...] | None = None
    of: Of = "linearised"

    def __post_init__(self) -> None:
        _check_shrinkage(self.strength, self.backoff, self.of)

    def strengths(self, orders: int) -> tuple[float, ...]:
        """Strength of the part of each order 1 … `orders`."""
        return _strengths(self.strength, self.backoff, orders)


@dataclass(frozen=True)
class Cauchy(_Shown):
    """Heavy-tailed prior on each part of the reward: most places are worth nothing, a few are worth much.

    The penalty is strength · log(1 + ρ² / width²): noise is shrunk hard, a goal hardly at all, so one setting
    suits a faint reward and a strong one. Which member of a gauge class it would pick is decided by its corners,
    so the fitted gauge is the least-norm one instead (design.md#gauge).

    Parameters
    ----------
    width
        Half-width of the bell at half height, in units of reward.
    strength
        1 is the Cauchy density; larger = more shrinkage.
    backoff, of
        As for `Gaussian`.

    Examples
    --------
    >>> Cauchy(strength=0.5, backoff=2.0).strengths(2)
    (0.5, 1.0)
    >>> print(Cauchy(strength=0.5))
    Cauchy(strength=0.5)
    """

    width: float = 0.05
    strength: float = 1.0
    backoff: float | tuple[float, ...] | None = 1.0
    of: Of = "reward"

    def __post_init__(self) -> None:
        _check_shrinkage(self.strength, self.backoff, self.of)
        _positive("width", self.width)
        if self.of == "value":
            raise ValueError('of="value": Cauchy is a prior on rewards; for one on values use priors.Gaussian')

    def strengths(self, orders: int) -> tuple[float, ...]:
        """Strength of the part of each order 1 … `orders`."""
        return _strengths(self.strength, self.backoff, orders)


@dataclass(frozen=True)
class Adaptive:
    """The prior on rewards that suits the data best, of several: sharp goals, dense rewards, long habits.

    Every fit chooses anew, on folds of its own training sessions (`prior_choice`): `reward_prior_` is what it chose,
    `prior_scores_` how each candidate did.  Of a single session, or fewer than 300 steps, the first is taken.

    Parameters
    ----------
    candidates
        In units of the temperature: with another temperature than 1 they mean the same.
    n_folds
        Of whole subjects where several are known, else of whole sessions.

    Examples
    --------
    >>> Adaptive().candidates[0]
    Cauchy(width=0.05, strength=1.0, backoff=1.0, of='reward')
    """

    candidates: tuple[Gaussian | Cauchy, ...] = (
        Cauchy(),
        Cauchy(1.0),
        Gaussian(0.02, backoff=3.0, of="value"),
        Gaussian(0.1, backoff=3.0, of="value"),
        Gaussian(0.5, backoff=3.0, of="value"),
    )
    n_folds: int = 3

    def __post_init__(self) -> None:
        if not self.candidates or not all(isinstance(each, Gaussian | Cauchy) for each in self.candidates):
            raise ValueError(f"candidates={self.candidates!r}: expected one or more of priors.Gaussian, priors.Cauchy")
        if isinstance(self.n_folds, bool) or not isinstance(self.n_folds, int) or self.n_folds < 2:
            raise ValueError(f"n_folds={self.n_folds!r}: expected a whole number of at least 2")


def in_units(prior: Gaussian | Cauchy, unit: float) -> Gaussian | Cauchy:
    """The prior that means the same where rewards are counted in another unit, such as the temperature.

    >>> in_units(Gaussian(0.5), 0.5).strength, in_units(Cauchy(), 2.0).width
    (2.0, 0.1)
    """
    if isinstance(prior, Cauchy):
        return replace(prior, width=prior.width * unit)
    return replace(prior, strength=prior.strength / unit**2)


@dataclass(frozen=True)
class HabitGoals:
    """Normal priors on the parts of values: a habit that all modes share, and each mode's goals.

    For ``reward=rewards.Habit(goal_history)``.  Both are on parts of V, not of r (`of` is not used), in its units.

    Parameters
    ----------
    habit, goal
        Strength of the part of one state, and the factor by which each further state of history adds to it. A tuple
        of factors has one for each order of the habit (of the goals).

    Examples
    --------
    >>> HabitGoals(goal=Gaussian(0.5, backoff=2.0)).goal.strengths(2)
    (0.5, 1.0)
    """

    habit: Gaussian = Gaussian(0.05, backoff=3.5)
    goal: Gaussian = Gaussian(0.5, backoff=2.5)

    def __post_init__(self) -> None:
        for name in ("habit", "goal"):
            if not isinstance(getattr(self, name), Gaussian):
                raise ValueError(f"{name}={getattr(self, name)!r}: expected a priors.Gaussian")


@dataclass(frozen=True)
class GoalDirected:
    """Normal priors of goal-directed modes, for ``reward=rewards.Goals(places)``, in units of logits.

    Parameters
    ----------
    habit
        On the habit that does not know the place: strength of the part that knows only the kind of place, and the
        factor by which each further move of memory adds to it.
    place
        On what the habit knows of single places, where `rewards.Goals` lets it (`place_history`); strong, or it takes
        the goals' part.
    cost
        On the logarithm of the cost of a step towards a goal, around `expected_cost`; where goals do not absorb, on
        the reward of each place, around 0. A strong one (10⁴) holds the cost where it is expected.
    expected_cost
        In units of the temperature. The higher, the straighter a mode is believed to walk to its goal.

    Examples
    --------
    >>> GoalDirected().habit.strengths(3)
    (0.1, 0.2, 0.4)
    """

    habit: Gaussian = Gaussian(0.1, backoff=2.0)
    place: Gaussian = Gaussian(300.0, backoff=2.0)
    cost: Gaussian = Gaussian(1.0)
    expected_cost: float = 2.0

    def __post_init__(self) -> None:
        for name in ("habit", "place", "cost"):
            if not isinstance(getattr(self, name), Gaussian):
                raise ValueError(f"{name}={getattr(self, name)!r}: expected a priors.Gaussian")
        _positive("expected_cost", self.expected_cost)


@dataclass(frozen=True)
class Dirichlet(_Shown):
    """Pseudo-counts added to each category of a table of probabilities.

    Parameters
    ----------
    pseudocount
        Added to every category: the mode of the posterior under Dirichlet(1 + pseudocount).
    stay
        Added besides to "same mode again" (switching tables only).
    """

    pseudocount: float = 1.0
    stay: float = 0.0

    def __post_init__(self) -> None:
        _positive("pseudocount", self.pseudocount)
        _positive("stay", self.stay, zero=True)


@dataclass(frozen=True)
class Bouts:
    """Modes last: a belief about the length of a bout, with the same meaning in every form of switching.

    As if `strength` bouts of each mode had been seen before the data: of `steps` steps on average, followed by each
    of the other modes equally often, and spread over the states as the data's own steps are (each state counted once
    more, so that none is without). These pseudo-counts c[s, z, z'] enter the M-step beside the expected counts, and
    the objective has their Σ c log P_z(z'|z, s).

    Parameters
    ----------
    steps
        Mean length of a bout, in steps; above 1. A mode is kept with probability 1 − 1 / `steps`.
    strength
        Number of bouts of each mode that the belief is worth: where the data hold as many, the fitted length is
        half-way between theirs and `steps`. The rate of switching is believed to within a share of about 1 / √strength.
    besides
        What is believed besides, in the terms of the form: `Gaussian` on logits, whose default stays where None is
        given, or `Dirichlet` for tables, whose default gives way.

    Examples
    --------
    >>> Bouts(50.0, strength=1000.0).stay
    0.98
    """

    steps: float
    strength: float = 100.0
    besides: Gaussian | Dirichlet | None = None

    def __post_init__(self) -> None:
        _positive("steps", self.steps)
        if self.steps <= 1:
            raise ValueError(f"steps={self.steps!r}: expected more than 1, as a bout of 1 step never stays in its mode")
        _positive("strength", self.strength)
        if not isinstance(self.besides, Gaussian | Dirichlet | None):
            raise ValueError(f"besides={self.besides!r}: expected a priors.Gaussian, a priors.Dirichlet or None")

    @property
    def stay(self) -> float:
        """Probability of the same mode again."""
        return 1 - 1 / self.steps
