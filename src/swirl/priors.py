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


@dataclass(frozen=True)
class Gaussian:
    """Normal prior, mean 0, on each reward (or logit).

    Parameters
    ----------
    strength
        Precision λ: the penalty is ½ λ r². Larger = flatter rewards.
    backoff
        None: every history has a reward of its own. A number: r(h) = Σ_l r_l(newest l states), the part of
        order l with precision ``strength * backoff ** (l − 1)``, so longer histories borrow from shorter
        ones; larger = longer parts are shrunk more. A tuple gives that factor for each order.
    of
        ``"reward"``: the penalty is on the reward itself. ``"linearised"``: on V − γ P_unif V, the reward
        to first order around the uniform policy, which keeps the M-step convex (DESIGN §2c).

    Examples
    --------
    >>> Gaussian(0.5, backoff=4.0).precisions(3)
    (0.5, 2.0, 8.0)
    """

    strength: float = 1.0
    backoff: float | tuple[float, ...] | None = None
    of: Literal["reward", "linearised"] = "linearised"

    def __post_init__(self) -> None:
        _positive("strength", self.strength)
        for factor in self.backoff if isinstance(self.backoff, tuple) else (self.backoff,):
            if factor is not None:
                _positive("backoff", factor)
        if self.of not in ("reward", "linearised"):
            raise ValueError(f'of={self.of!r}: expected "reward" or "linearised"')

    def precisions(self, orders: int) -> tuple[float, ...]:
        """Precision of the part of each order 1 … `orders`."""
        if isinstance(self.backoff, tuple):
            if len(self.backoff) != orders:
                raise ValueError(
                    f"backoff has {len(self.backoff)} factors: expected one for each history order, {orders}"
                )
            return tuple(self.strength * factor for factor in self.backoff)
        factor = 1.0 if self.backoff is None else self.backoff
        return tuple(self.strength * factor**order for order in range(orders))


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
