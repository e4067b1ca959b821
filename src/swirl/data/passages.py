"""Passages that an environment has and the recording speaks against: never walked, or walked one way only.

A wall that the environment lacks passes for a preference of the animal: to a model of goals it looks as if places
behind it were shunned, or others wanted.  How often a passage would be walked is taken from the other passages at both
of its ends; how far animals like these stray from such an expectation, from the passages that are walked (a gamma of
which the shape is fitted).  So an animal that keeps to a few ways raises no question, and one that goes everywhere but
through a wall does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.text import counted, some

LEVEL = 0.01  # chance that anything is named where nothing is wrong, for all passages together
LIKELY = 0.25  # least probability of a move that counts as meant
ENTANGLED = 0.5  # share of all pairs of states that are passages, from which no wall can be asked for (syllables)
ENOUGH = 8  # passages to learn from, at least
SHOWN = 5

WALL = "passages-never-walked"
DOOR = "passages-one-way"
ADVICE = {
    WALL: "Is there a wall? Then add it to the environment (swirl env grid … --walls A-B; in an edge list, leave out "
    "the rows of these moves): a wall that it lacks can hide goals, and invent some.",
    DOOR: "Is there a door that lets through one way only? Then take the way back out of the environment (in an edge "
    "list, leave out its row).",
}

__all__ = ["Passage", "Passages", "check_passages"]


class Passage(NamedTuple):
    """Two places with a passage between them, walked from the first to the second if at all."""

    one: int
    two: int
    walked: int
    expected: float
    """Walks, both ways, if it was walked as the passages around it are."""


@dataclass(frozen=True)
class Passages:
    """What `check_passages` found; `remarks` says it.

    Attributes
    ----------
    never
        Passages that were never walked, the most expected first.
    one_way
        Passages that were walked in one direction only, the most walked first.
    names
        Of the states; empty where they have none.
    """

    never: tuple[Passage, ...] = ()
    one_way: tuple[Passage, ...] = ()
    names: tuple[str, ...] = ()

    def _name(self, state: int) -> str:
        return self.names[state] if state < len(self.names) else str(state)

    @property
    def says(self) -> dict[str, str]:
        """The facts in words, by the names of `ADVICE`."""
        found = {}
        if self.never:
            ways = [
                f"{self._name(p.one)} and {self._name(p.two)} (expected about {p.expected:.0f})" for p in self.never
            ]
            found[WALL] = (
                f"{_were(len(self.never))} never walked, though both ends were visited often: between "
                f"{some(ways, SHOWN, separator='; ')}."
            )
        if self.one_way:
            ways = [f"{self._name(p.one)} to {self._name(p.two)} ({counted(p.walked, 'time')})" for p in self.one_way]
            found[DOOR] = f"{_were(len(self.one_way))} walked one way only: {some(ways, SHOWN, separator='; ')}."
        return found

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was found and what to do about it, a sentence or two each; empty where nothing is odd."""
        return tuple(f"{words} {ADVICE[name]}" for name, words in self.says.items())


def _were(n: int) -> str:
    return f"{counted(n, 'passage')} of the environment {'was' if n == 1 else 'were'}"


def check_passages(data: Trajectories, env: MDP) -> Passages:
    """Find passages that are never walked, or one way only, although both ends are visited too often for chance.

    Only passages that the environment has both ways are asked for, and none where nearly everything can follow
    everything, as with syllables.

    Examples
    --------
    Two cells of a 3 × 3 grid have a wall between them, of which the environment does not know:

    >>> from swirl.data.arenas import grid
    >>> from swirl.datasets import random_walk
    >>> right = grid(3, 3, walls=[("A2", "B2")])
    >>> walks = random_walk(right, n_sessions=20, n_steps=100).trajectories
    >>> print(check_passages(walks, grid(3, 3)).remarks[0].partition(" Then")[0])  # doctest: +NORMALIZE_WHITESPACE
    1 passage of the environment was never walked, though both ends were visited often:
    between A2 and B2 (expected about 210). Is there a wall?
    >>> check_passages(walks, right).remarks
    ()
    """
    n = env.n_states
    origin, _, following, probability = env.successors.moves()
    meant = (origin != following) & (probability >= LIKELY)
    moves = np.unique(origin[meant].astype(np.int64) * n + following[meant])
    one, two = np.divmod(moves, n)
    both = (one < two) & np.isin(two * n + one, moves)
    one, two = one[both], two[both]
    if len(one) < ENOUGH or len(moves) > ENTANGLED * n * (n - 1):
        return Passages()
    there, back = _counts(data, n, one * n + two), _counts(data, n, two * n + one)
    walked = there + back
    names = env.state_names or data.state_names or ()

    expected, told = _expected(one, two, walked, n)
    learnt = told & (walked > 0)
    never = np.zeros(0, np.int64)
    if learnt.sum() >= ENOUGH and (told & ~learnt).any():
        expected *= walked[learnt].sum() / expected[learnt].sum()
        shape = _fitted(lambda shape: _log_of_walked(walked[learnt], expected[learnt], shape))
        odd = told & (walked == 0) & (np.log(told.sum()) + _log_never(expected, shape) <= np.log(LEVEL))
        never = np.flatnonzero(odd)
        never = never[np.argsort(-expected[never], kind="stable")]

    fair = (there > 0) & (back > 0)
    single = np.zeros(0, np.int64)
    if fair.sum() >= ENOUGH and (~fair & (walked > 0)).any():
        shape = _fitted(lambda shape: _log_of_both(there[fair], back[fair], shape))
        odd = (walked > 0) & ~fair & (np.log((walked > 0).sum()) + _log_one_way(walked, shape) <= np.log(LEVEL))
        single = np.flatnonzero(odd)
        single = single[np.argsort(-walked[single], kind="stable")]

    def passage(i: Any, a: Any, b: Any) -> Passage:
        return Passage(int(a), int(b), int(walked[i]), float(expected[i]))

    return Passages(
        tuple(passage(i, one[i], two[i]) for i in never),
        tuple(passage(i, *((one[i], two[i]) if there[i] else (two[i], one[i]))) for i in single),
        tuple(names),
    )


def _counts(data: Trajectories, n: int, keys: Int[np.ndarray, "passage"]) -> Int[np.ndarray, "passage"]:
    """How often each move was made, within segments; labels that the environment lacks are passed over."""
    flat = data.flat()
    here = np.flatnonzero(~flat.starts[1:])
    a, b = flat.states[here].astype(np.int64), flat.states[here + 1].astype(np.int64)
    inside = (a < n) & (b < n)
    made, times = np.unique(a[inside] * n + b[inside], return_counts=True)
    if not len(made):
        return np.zeros(len(keys), np.int64)
    place = np.minimum(np.searchsorted(made, keys), len(made) - 1)
    return np.where(made[place] == keys, times[place], 0)


def _expected(one: np.ndarray, two: np.ndarray, walked: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Geometric mean of how often the other passages at either end were walked; and where there are such."""
    ends = np.concatenate([one, two])
    degree = np.bincount(ends, minlength=n) - 1
    total = np.bincount(ends, weights=np.concatenate([walked, walked]), minlength=n)
    others = [(total[end] - walked) / np.maximum(degree[end], 1) for end in (one, two)]
    return np.sqrt(others[0] * others[1]), (others[0] > 0) & (others[1] > 0)


def _fitted(log_likelihood: Callable[[float], np.ndarray]) -> float:
    """The shape of most likelihood: the larger, the less do passages stray from what is expected of them."""
    from scipy.optimize import minimize_scalar

    def loss(log_shape: float) -> float:
        return -float(log_likelihood(float(np.exp(log_shape))).sum())

    found: Any = minimize_scalar(loss, bounds=(-4.0, 6.0), method="bounded")
    return float(np.exp(found.x))


def _log_never(expected: Float[np.ndarray, "passage"], shape: float) -> Float[np.ndarray, "passage"]:
    """Log-probability of no walk: Poisson, its mean drawn from a gamma of this shape around what is expected."""
    return -shape * np.log1p(expected / shape)


def _log_of_walked(walked: np.ndarray, expected: np.ndarray, shape: float) -> Float[np.ndarray, "passage"]:
    """Log-likelihood of counts of passages that were walked at all."""
    from scipy.special import gammaln

    counts = gammaln(walked + shape) - gammaln(shape) - gammaln(walked + 1.0)  # negative binomial
    counts += _log_never(expected, shape) + walked * np.log(expected / (shape + expected))
    return counts - np.log(-np.expm1(_log_never(expected, shape)))


def _log_one_way(walked: Int[np.ndarray, "passage"], shape: float) -> Float[np.ndarray, "passage"]:
    """Log-probability that all walks go one way: binomial, its share drawn from a symmetric beta of this shape."""
    from scipy.special import betaln

    return np.minimum(np.log(2) + betaln(shape, walked + shape) - betaln(shape, shape), 0.0)


def _log_of_both(there: np.ndarray, back: np.ndarray, shape: float) -> Float[np.ndarray, "passage"]:
    """Log-likelihood of how walks divide between the two ways, where both were walked."""
    from scipy.special import betaln

    walked = there + back  # but for a constant, beta-binomial
    return betaln(there + shape, back + shape) - betaln(shape, shape) - np.log(-np.expm1(_log_one_way(walked, shape)))
