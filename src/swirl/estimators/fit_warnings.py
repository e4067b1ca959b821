"""What should make one careful with a fit, and what to do: the same words in `fit_report_`, after `swirl fit` and in
the report.

The verdict at the top of terminal and report, *trust*, *with care* or *don't*, is made here too. How the fit itself
ended comes first: one that had not settled, or whose starting points found several results that are equally good, is
not to be trusted whatever else holds. Then come fits to two halves of the sessions (`verdicts`).

Few nats behind is not the only way to be as good. The model is never quite true, and over thousands of steps it misses
by more than a few nats: which of two solutions is ahead may be chance of which sessions were recorded. So one that is
further behind is *near* where that is within two standard errors over animals (or sessions) of the paired difference.

Here is the one rule of when two restarts "came to the same result": by what they say of the sessions, never by the
objective alone. Restarts that fit equally well can cut the sessions in unrelated ways.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.text import counted, percent

SAME_ARI = 0.9
"""Least adjusted Rand index of the same segmentation: for two modes of equal shares, 2.6 % of the steps differ."""
SAME_POLICIES = 0.05
"""Most mean total-variation distance of the same policies: one choice in twenty would be made otherwise."""
FEW_NATS = 5.0
"""Behind the best by no more, another result is as good: e⁵ ≈ 150 is where evidence is called decisive."""
NEAR_ERRORS = 2.0
"""Standard errors, over animals or sessions, within which another solution is not told to be worse."""
MAX_NAMED = 4  # rivals whose numbers a sentence lists
Level = Literal["trust", "with care", "don't"]
LEVELS: tuple[Level, ...] = ("trust", "with care", "don't")
WORST_FIRST: tuple[Level, ...] = ("don't", "with care", "trust")
SAID = {"trust": "trust it", "with care": "with care", "don't": "don't trust it"}
UNSETTLED = "The modes are not settled (see the verdict): another fit may give another difference, or the opposite one."
"""Where modes are compared (by group, by signal), and the verdict is not *trust*: `is_unsettled`."""
SAME_MODES = 0.93
"""Least share of the steps at which fits to either half decode the same mode, to be trusted."""
OTHER_MODES = 0.8
"""Where fewer agree, the modes are those of one half only."""
MIN_SHARE = 0.02  # of the steps; a mode with fewer is often a few odd stretches of one session
NOTHING = 1e-6  # nats per step; where the animal has no choice, all models predict alike up to rounding


@dataclass(frozen=True)
class NearSolution:
    """Another solution of the same fit, with other modes, that the data hardly tell to be worse."""

    restart: int
    """The best restart that came to it."""
    n: int
    """How many restarts did."""
    nats_behind: float
    error: float
    """Standard error of the difference over animals or sessions, in nats of the whole data; NaN: not known."""
    ari: float


@dataclass(frozen=True, eq=False)
class RestartAgreement:
    """How far each restart of a fit says the same as the one that was kept, once its modes are matched.

    A restart came to the same result where its segmentation of the sessions has an adjusted Rand index of 0.9 or more
    with the kept one's, and its policies are at most 0.05 apart. With one mode only the policies matter.

    Parameters
    ----------
    kept
        Number of the restart that the others are compared with.
    n_modes
        Number of modes of each.
    ari
        Adjusted Rand index of the decoded modes with the kept restart's; NaN where a restart failed.
    policy_distance
        ½ Σ_a |π − π_kept|, mean over the steps as the kept restart decodes them: 0 the same, 1 nothing in common.
    nats_behind
        Objective of the kept restart minus its own, in nats of the whole data.
    solution
        Number of the solution that each came to: 0 that of the kept one, then the others, the best first; −1 one that
        failed. None: not known, as in files of older versions.
    error
        Standard error of the difference of log-likelihoods between the kept restart and each, paired by animal (by
        session, where fewer than five animals are known), in nats of the whole data. NaN: not known.

    Examples
    --------
    >>> found = RestartAgreement(0, 2, np.array([1, 0.99, 0.14]), np.array([0, 0.01, 0.3]), np.array([0, 0.1, 2.6]))
    >>> found.same.tolist(), found.n_same, found.rivals.tolist()
    ([True, True, False], 2, [2])
    >>> found.sentence()
    '2 of 3 restarts came to the same result (segmentations and policies; 96 % by weight); 1 other is within 3 nats of \
it with other modes (ARI 0.14)'

    Six of eight end together in one other solution, which is within two standard errors:

    >>> behind, others = np.array([0, 0, *[7.01] * 6]), np.array([1, 1, *[0.49] * 6])
    >>> apart, error = np.array([0, 0, *[0.12] * 6]), np.array([np.nan, np.nan, *[7.6] * 6])
    >>> RestartAgreement(0, 2, others, apart, behind, np.array([0, 0, *[1] * 6]), error).near_words()
    'most starting points (6 of 8) ended together 7 nats behind, with other modes (segmentations agree at ARI 0.49)'
    """

    kept: int
    n_modes: int
    ari: Float[np.ndarray, "restart"]
    policy_distance: Float[np.ndarray, "restart"]
    nats_behind: Float[np.ndarray, "restart"]
    solution: Int[np.ndarray, "restart"] | None = None
    error: Float[np.ndarray, "restart"] | None = None

    @property
    def n_restarts(self) -> int:
        """Number of restarts, those that failed among them."""
        return len(self.ari)

    @property
    def same(self) -> Bool[np.ndarray, "restart"]:
        """Which restarts came to the same result as the kept one, itself among them."""
        alike = (self.ari >= SAME_ARI) & (self.policy_distance <= SAME_POLICIES)
        return alike | (np.arange(self.n_restarts) == self.kept)

    @property
    def n_same(self) -> int:
        """How many restarts came to the same result, the kept one among them."""
        return int(self.same.sum())

    @property
    def weight(self) -> float:
        """Share of the same result among all restarts, each weighted by e^objective: by how likely it is.

        One with another result that is 3 nats behind counts a twentieth, one that is a nat ahead nearly thrice.
        """
        weights = np.exp(np.nanmin(self.nats_behind) - self.nats_behind)
        weights = np.where(np.isfinite(weights), weights, 0.0)
        return float(weights[self.same].sum() / weights.sum())

    @property
    def rivals(self) -> Int[np.ndarray, "rival"]:
        """Restarts with another result that are as good (within 5 nats) or better, the best first."""
        found = np.flatnonzero(~self.same & (self.nats_behind <= FEW_NATS))
        return found[np.argsort(self.nats_behind[found], kind="stable")]

    @property
    def others(self) -> tuple[NearSolution, ...]:
        """Other solutions that the data hardly tell to be worse, the best first: rivals, and those that are near."""
        found = []
        for numbers in self._by_solution():
            best = int(numbers[np.argmin(self.nats_behind[numbers])])
            behind = float(self.nats_behind[best])
            error = float("nan") if self.error is None else float(self.error[best])
            if behind <= max(FEW_NATS, NEAR_ERRORS * (0.0 if np.isnan(error) else error)):
                found.append(NearSolution(best, len(numbers), behind, error, float(self.ari[best])))
        return tuple(sorted(found, key=lambda one: one.nats_behind))

    @property
    def near(self) -> tuple[NearSolution, ...]:
        """Other solutions that are more than 5 nats behind, but within two standard errors; the best first."""
        return tuple(one for one in self.others if one.nats_behind > FEW_NATS)

    def _by_solution(self) -> list[Int[np.ndarray, "_"]]:
        """The restarts of each solution but the kept one; each for itself where that is not known."""
        others = np.flatnonzero(~self.same & np.isfinite(self.nats_behind))
        if self.solution is None:
            return list(others[:, None])
        own = self.solution[others]
        return [others[own == one] for one in np.unique(own)]

    def near_words(self) -> str:
        """Say how many restarts came to the near solution that most of them came to; nothing where there is none."""
        if not self.near:
            return ""
        most = max(self.near, key=lambda one: (one.n, -one.nats_behind))
        n = self.n_restarts
        who = f"most starting points ({most.n} of {n})" if 2 * most.n > n else f"{most.n} of {n} starting points"
        behind = counted(round(most.nats_behind), "nat")
        other = f"other modes (segmentations agree at ARI {most.ari:.2f})"
        if self.n_modes == 1 or most.ari >= SAME_ARI:
            other = f"other policies ({self.policy_distance[most.restart]:.2f} apart)"
        more = len(self.near) - 1
        also = "" if not more else f"; {counted(more, 'more solution')} {'is' if more == 1 else 'are'} as near"
        return f"{who} ended {'together ' if most.n > 1 else ''}{behind} behind, with {other}{also}"

    def sentence(self) -> str:
        """Say how many restarts came to the same result, and which others are as good."""
        if self.n_restarts == 1:
            return "the only restart"
        of = "policies" if self.n_modes == 1 else "segmentations and policies"
        weighed = "" if self.n_same == self.n_restarts else f"; {percent(self.weight, space=' ')} by weight"
        said = f"{self.n_same} of {self.n_restarts} restarts came to the same result ({of}{weighed})"
        return "; ".join([said, *filter(None, (self.rival_words(), self.near_words()))])

    def rival_words(self) -> str:
        """Say which other results are as good as the kept one; nothing where none is.

        >>> RestartAgreement(0, 1, np.ones(2), np.array([0, 0.3]), np.array([0, 0.2])).rival_words()
        '1 other is within 1 nat of it with other policies (0.30 apart)'
        """
        found = self.rivals
        if not len(found):
            return ""
        behind = float(self.nats_behind[found].max())
        others = "1 other is" if len(found) == 1 else f"{len(found)} others are"
        within = f"within {counted(max(1, ceil(behind)), 'nat')} of it" if behind >= 0 else "above it"
        numbers = [self._apart(int(r)) for r in found[:MAX_NAMED]] + ["…"] * (len(found) > MAX_NAMED)
        if self.n_modes == 1:
            return f"{others} {within} with other policies ({', '.join(numbers)} apart)"
        return f"{others} {within} with other modes (ARI {', '.join(numbers)})"

    def _apart(self, r: int) -> str:
        if self.n_modes == 1:
            return f"{self.policy_distance[r]:.2f}"
        near = f" but policies {self.policy_distance[r]:.2f} apart" if self.ari[r] >= SAME_ARI else ""
        return f"{self.ari[r]:.2f}{near}"


@dataclass(frozen=True)
class Halves:
    """What fits to two halves of the sessions say.

    Parameters
    ----------
    n_modes
        Number of modes of the fit.
    agreement
        Share of all steps at which the fits to either half decode the same mode, once modes are matched.
    over_one, more, counts
        Gain in nats per step on the other half, and its standard error (paired by animal where five or more are
        known, else by session): of the model over itself with one mode; of one mode more over the model; of counts
        over the model.  None where there is nothing to compare.

    Examples
    --------
    >>> found = Halves(2, 0.98, (0.13, 0.01), (-0.002, 0.001), (-0.05, 0.004)).verdict()
    >>> found.level, found.reasons[0]
    ('trust', 'fits to either half of the sessions agree on the mode at 98 % of the steps')
    >>> Halves(2, 0.61, (0.001, 0.002), (-0.002, 0.001), None).verdict().level
    "don't"
    """

    n_modes: int
    agreement: float
    over_one: tuple[float, float] | None
    more: tuple[float, float] | None
    counts: tuple[float, float] | None

    def verdict(self) -> "Verdict":
        """The verdict by the halves alone, and the reasons for it, the worst first."""
        found: dict[Level, list[str]] = {level: [] for level in LEVELS}
        if self.over_one is not None:
            words = f"than the same model with one mode ({_worded(self.over_one)})"
            if is_gain(self.over_one):
                found["trust"].append(f"each half predicts the other better {words}")
            else:
                found["don't"].append(f"each half predicts the other no better {words}")
        elif self.n_modes > 1:
            found["with care"].append("whether one mode would do could not be scored")
        if self.n_modes > 1:
            share = f"the mode at {100 * self.agreement:.0f} % of the steps"
            if self.agreement >= SAME_MODES:
                found["trust"].insert(0, f"fits to either half of the sessions agree on {share}")
            else:
                level: Level = "with care" if self.agreement >= OTHER_MODES else "don't"
                found[level].insert(0, f"fits to either half of the sessions agree on {share} only")
        if self.more is not None:
            more = counted(self.n_modes + 1, "mode")
            if is_gain(self.more):
                found["with care"].append(f"{more} would predict better ({_worded(self.more)})")
            elif self.n_modes == 1 and abs(self.more[0]) <= NOTHING:
                found["with care"].append(f"{more} would predict just the same: had the animal a choice?")
            elif self.n_modes == 1:
                found["trust"].append(f"{more} would predict no better ({_worded(self.more)})")
        if self.counts is not None and is_gain(self.counts):
            found["with care"].append(
                f"plain counts of what follows the last states predict better ({_worded(self.counts)}), so the model "
                "misses something: try a longer history"
            )
        worst: list[Level] = [level for level in WORST_FIRST if found[level]] or ["trust"]
        reasons = [words for each in WORST_FIRST for words in found[each]]
        return Verdict(worst[0], tuple(reasons), self)


@dataclass(frozen=True)
class Verdict:
    """Whether to build on a fit: ``"trust"``, ``"with care"`` or ``"don't"``, why, and what two halves said.

    Examples
    --------
    >>> print(Verdict("don't", ("the fit had not settled",)))
    don't trust it: the fit had not settled
    """

    level: Level
    reasons: tuple[str, ...]
    halves: Halves | None = None

    def __str__(self) -> str:
        return f"{SAID[self.level]}: {'; '.join(self.reasons)}"


def is_gain(gain: tuple[float, float]) -> bool:
    """Whether a gain is more than one standard error, and more than rounding.

    >>> is_gain((0.02, 0.01)), is_gain((2e-17, 1e-17))
    (True, False)
    """
    return gain[0] > max(gain[1], NOTHING)


def _worded(gain: tuple[float, float]) -> str:
    return f"{gain[0]:+.4f} ± {gain[1]:.4f} nats per step"


def read_verdict(stored: dict[str, Any]) -> Verdict:
    """The verdict that `dataclasses.asdict` made plain, as files have it.

    >>> from dataclasses import asdict
    >>> found = Halves(1, 1.0, None, (-0.002, 0.001), None).verdict()
    >>> read_verdict(asdict(found)) == found
    True
    """
    halves = stored["halves"]
    if halves is not None:
        gains = {name: None if halves[name] is None else tuple(halves[name]) for name in ("over_one", "more", "counts")}
        halves = Halves(halves["n_modes"], halves["agreement"], **gains)
    return Verdict(LEVELS[LEVELS.index(stored["level"])], tuple(stored["reasons"]), halves)


def against(model: Any, agreement: RestartAgreement | None) -> Verdict | None:
    """What the fit itself says against it, without any look at other sessions; None: nothing.

    Parameters
    ----------
    agreement
        Whether its restarts came to the same result; None: not known.
    """
    found = None
    if model.converged_ is False:
        found = Verdict("don't", ("the fit had not settled",))
    elif agreement is not None and len(agreement.rivals):
        found = Verdict("don't", (f"of the starting points {agreement.rival_words()}",))
    elif words := _care(model, agreement):
        found = Verdict("with care", (words,))
    if agreement is not None and agreement.near:
        words = f"{agreement.near_words()}, and the data hardly decide between {_these(agreement)}"
        found = worse(Verdict("with care", (words,)), found) if found else Verdict("with care", (words,))
    return found


def worse(one: Verdict | None, other: Verdict) -> Verdict:
    """Two verdicts on the same fit as one: the worse level, and the reasons of both, those of the worse first.

    >>> alone = Verdict("with care", ("only one of 8 starting points came to this result",))
    >>> print(worse(alone, Verdict("don't", ("fits to either half agree on the mode at 53 % of the steps only",))))
    don't trust it: fits to either half agree on the mode at 53 % of the steps only; only one of 8 starting points \
came to this result
    """
    if one is None:
        return other
    first, second = sorted((one, other), key=lambda each: WORST_FIRST.index(each.level))
    reasons = dict.fromkeys((*first.reasons, *second.reasons))
    return Verdict(first.level, tuple(reasons), one.halves or other.halves)


def _these(agreement: RestartAgreement) -> str:
    return "the two" if len(agreement.near) == 1 else "them"


def _care(model: Any, agreement: RestartAgreement | None) -> str:
    """What makes one careful with a fit that settled and has no rivals; nothing: nothing does."""
    n_restarts = len(model.restarts_) if agreement is None else agreement.n_restarts
    if n_restarts == 1:
        return "there was a single starting point"
    if n_restarts and agreement is None:
        return "whether its starting points came to the same result is not known"
    if agreement is not None and agreement.n_same < 2:
        return f"only one of {n_restarts} starting points came to this result"
    smallest = min(model.mode_shares)
    return f"one mode has only {100 * smallest:.1f} % of the steps" if smallest < MIN_SHARE else ""


def verdict_of(model: Any, agreement: RestartAgreement | None) -> Verdict | None:
    """The verdict on a fit as far as it is known: that of `verdicts.verdict`, or what the fit itself says.

    None for a model that was not fitted from starting points, such as counts.
    """
    if agreement is None and not model.restarts_:
        return None
    unchecked = "whether other sessions give the same was not checked (swirl fit does; in Python, verdicts.verdict)"
    return worse(against(model, agreement), model.verdict_ or Verdict("with care", (unchecked,)))


def is_unsettled(found: Verdict | None) -> bool:
    """Whether what is built on the modes of a fit needs a warning: its verdict is known, and is not *trust*."""
    return found is not None and found.level != "trust"


def cautions(
    converged: bool | None,
    n_restarts: int | None,
    agreement: RestartAgreement | None,
    shares: Sequence[float],
    names: Sequence[str],
    raced: int = 0,
    has: str = "has",
) -> dict[str, str]:
    """What it is about (converged, restarts, rivals, near, modes) → what is the matter, and what to do.

    Parameters
    ----------
    converged, n_restarts
        How the fit ended, and from how many starting points; None: not known.
    agreement
        Whether these came to the same result; None: not known.
    shares, names
        Of each mode: its share of the steps, and what it is called.
    raced
        Starting points of the race that these restarts won; 0: there was none.
    has
        The verb of a mode and its share: "has", or "is decoded at" where the shares are those of the likeliest modes.

    Examples
    --------
    >>> alone = RestartAgreement(0, 2, np.array([1, 0.1]), np.array([0, 0.4]), np.array([0, 2.6]))
    >>> found = cautions(False, 2, alone, [0.99, 0.01], ["run", "rest"])
    >>> list(found), found["modes"][:33]
    (['converged', 'restarts', 'rivals', 'modes'], 'rest has only 1.0 % of the steps,')
    """
    found = {}
    if converged is False:
        found["converged"] = (
            "The fit had not settled: its iterations ran out, or it was stopped, so its numbers would still move. Fit "
            "again with more: --max-iter 20000 (in Python, max_iter=20000)."
        )
    if n_restarts == 1:
        found["restarts"] = (
            "There was a single starting point; whether others would end elsewhere is not known. Fit again with "
            "--restarts 8 (n_restarts=8) before you rely on it."
        )
    elif n_restarts and agreement is None:
        found["restarts"] = (
            f"Whether its {n_restarts} starting points came to the same result is not known, as they were not "
            "compared. In Python, model.compare_restarts(data).sentence() says."
        )
    elif n_restarts and agreement is not None and agreement.n_same < 2:
        of = f"{n_restarts} starting points" + (f" that went to their end, of {raced}," if raced else "")
        more = max(32, 4 * (raced or n_restarts))
        found["restarts"] = (
            f"Only one of {of} came to this result, so it may be luck, and a better solution "
            f"may be near. Fit again with --restarts {more} (n_restarts={more}), and see whether the same modes come "
            "back."
        )
    if agreement is not None and len(agreement.rivals):
        found["rivals"] = (
            f"Of the starting points {agreement.rival_words()}: the data do not decide between them. Do not interpret "
            "what only one of them says; fit fewer modes or a shorter history, or record more."
        )
    if agreement is not None and agreement.near:
        most = max(agreement.near, key=lambda one: (one.n, -one.nats_behind))
        words = agreement.near_words()
        found["near"] = (
            f"{words[0].upper()}{words[1:]}. The data hardly decide between {_these(agreement)}: over animals or "
            f"sessions this difference has a standard error of {counted(max(1, round(most.error)), 'nat')}. Do not "
            "interpret what only one of them says; fit fewer modes or a shorter history, or record more."
        )
    few = [k for k, share in enumerate(shares) if share < MIN_SHARE] if len(shares) > 1 else []
    if few:
        told = " and ".join(f"{names[k]} {has} only {100 * shares[k]:.1f} %" for k in few)
        found["modes"] = (
            f"{told} of the steps, too few to say what it does. Fit {counted(len(shares) - len(few), 'mode')}, or do "
            "not interpret it; swirl compare says how many modes the data bear."
        )
    return found


def cautions_of(
    model: Any, agreement: RestartAgreement | None, shares: Sequence[float], names: Sequence[str], has: str = "has"
) -> dict[str, str]:
    """`cautions` of a fitted model; `agreement` is that of its restarts, None where it is not known."""
    n_restarts = len(model.restarts_) or (agreement.n_restarts if agreement is not None else None)
    raced = max((getattr(restart, "raced", 0) for restart in model.restarts_), default=0)  # all of one race, or none
    return cautions(model.converged_, n_restarts, agreement, shares, names, raced, has)
