"""Priors as values: what a fit is told before it sees the data.

Without a prior there may be no best reward (an action never chosen sends a value to −∞), and the
likelihood leaves a gauge free (DESIGN §2e), so the prior also picks the reward that is shown.
"""

import math
from dataclasses import dataclass
from typing import Literal


def _positive(name: str, value: float, *, zero: bool = False) -> None:
    if not (math.isfinite(value) and (value > 0 or (zero and value == 0))):
        raise ValueError(f"{name}={value!r}: expected a finite number {'≥' if zero else '>'} 0")


Of = Literal["reward", "linearised"]


def _check_shrinkage(strength: float, backoff: float | tuple[float, ...] | None, of: str) -> None:
    _positive("strength", strength)
    for factor in backoff if isinstance(backoff, tuple) else (backoff,):
        if factor is not None:
            _positive("backoff", factor)
    if of not in ("reward", "linearised"):
        raise ValueError(f'of={of!r}: expected "reward" or "linearised"')


def _strengths(strength: float, backoff: float | tuple[float, ...] | None, orders: int) -> tuple[float, ...]:
    if isinstance(backoff, tuple):
        if len(backoff) != orders:
            raise ValueError(f"backoff has {len(backoff)} factors: expected one for each history order, {orders}")
        return tuple(strength * factor for factor in backoff)
    factor = 1.0 if backoff is None else backoff
    return tuple(strength * factor**order for order in range(orders))


@dataclass(frozen=True)
class Gaussian:
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
        ``"reward"``: the penalty is on the reward itself. ``"linearised"``: on V − γ P_unif V, the reward
        to first order around the uniform policy, which keeps the M-step convex (DESIGN §2c).

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
class Laplace:
    """Sparse prior on each part of the reward: most places are worth nothing, a few are worth much.

    The penalty is s (√(width² + ρ²) − width), quadratic near 0 and linear in its tails, so that a goal is not
    shrunk like noise. Which member of a gauge class it would pick is decided by corners and rounding, so the
    fitted gauge is the least-norm one instead.

    Parameters
    ----------
    strength
        s, in nats per unit of reward.
    backoff, of
        As for `Gaussian`.
    width
        Where the penalty turns from quadratic to linear, in units of reward.
    """

    strength: float = 10.0
    backoff: float | tuple[float, ...] | None = 1.0
    of: Of = "reward"
    width: float = 0.05

    def __post_init__(self) -> None:
        _check_shrinkage(self.strength, self.backoff, self.of)
        _positive("width", self.width)

    def strengths(self, orders: int) -> tuple[float, ...]:
        """Strength of the part of each order 1 … `orders`."""
        return _strengths(self.strength, self.backoff, orders)


@dataclass(frozen=True)
class Dirichlet:
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
