"""What should make one careful with a fit, and what to do: the same words in `fit_report_`, after `swirl fit` and in
the report.

Here is the one rule of when two restarts "came to the same result": by what they say of the sessions, never by the
objective alone. Restarts that fit equally well can cut the sessions in unrelated ways.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.faults import counted

SAME_ARI = 0.9
"""Least adjusted Rand index of the same segmentation: for two modes of equal shares, 2.6 % of the steps differ."""
SAME_POLICIES = 0.05
"""Most mean total-variation distance of the same policies: one choice in twenty would be made otherwise."""
FEW_NATS = 5.0
"""Behind the best by no more, another result is as good: e⁵ ≈ 150 is where evidence is called decisive."""
MOST_NAMED = 4  # rivals whose numbers a sentence lists
LEAST_SHARE = 0.02  # of the steps; a mode with fewer is often a few odd stretches of one session


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

    Examples
    --------
    >>> found = RestartAgreement(0, 2, np.array([1, 0.99, 0.14]), np.array([0, 0.01, 0.3]), np.array([0, 0.1, 2.6]))
    >>> found.same.tolist(), found.n_same, found.rivals.tolist()
    ([True, True, False], 2, [2])
    >>> found.sentence()
    '2 of 3 restarts came to the same result (segmentations and policies); 1 other is within 3 nats of it with other \
modes (ARI 0.14)'
    """

    kept: int
    n_modes: int
    ari: Float[np.ndarray, "restart"]
    policy_distance: Float[np.ndarray, "restart"]
    nats_behind: Float[np.ndarray, "restart"]

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
    def rivals(self) -> Int[np.ndarray, "rival"]:
        """Restarts with another result that are as good (within 5 nats) or better, the best first."""
        found = np.flatnonzero(~self.same & (self.nats_behind <= FEW_NATS))
        return found[np.argsort(self.nats_behind[found], kind="stable")]

    def sentence(self) -> str:
        """Say how many restarts came to the same result, and which others are as good."""
        if self.n_restarts == 1:
            return "the only restart"
        of = "policies" if self.n_modes == 1 else "segmentations and policies"
        said = f"{self.n_same} of {self.n_restarts} restarts came to the same result ({of})"
        return f"{said}; {self.rival_words()}" if len(self.rivals) else said

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
        numbers = [self._apart(int(r)) for r in found[:MOST_NAMED]] + ["…"] * (len(found) > MOST_NAMED)
        if self.n_modes == 1:
            return f"{others} {within} with other policies ({', '.join(numbers)} apart)"
        return f"{others} {within} with other modes (ARI {', '.join(numbers)})"

    def _apart(self, r: int) -> str:
        if self.n_modes == 1:
            return f"{self.policy_distance[r]:.2f}"
        near = f" but policies {self.policy_distance[r]:.2f} apart" if self.ari[r] >= SAME_ARI else ""
        return f"{self.ari[r]:.2f}{near}"


def cautions(
    converged: bool | None,
    n_restarts: int | None,
    agreement: RestartAgreement | None,
    shares: Sequence[float],
    names: Sequence[str],
) -> dict[str, str]:
    """What it is about (converged, restarts, rivals, modes) → what is the matter, and what to do.

    Parameters
    ----------
    converged, n_restarts
        How the fit ended, and from how many starting points; None: not known.
    agreement
        Whether these came to the same result; None: not known.
    shares, names
        Of each mode: its share of the steps, and what it is called.

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
            "The iterations ran out before the fit had settled, so its numbers would still move. Fit again with more: "
            "--max-iter 20000 (in Python, max_iter=20000)."
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
        more = max(20, 3 * n_restarts)
        found["restarts"] = (
            f"Only one of {n_restarts} starting points came to this result, so it may be luck, and a better solution "
            f"may be near. Fit again with --restarts {more} (n_restarts={more}), and see whether the same modes come "
            "back."
        )
    if agreement is not None and len(agreement.rivals):
        found["rivals"] = (
            f"Of the starting points {agreement.rival_words()}: the data do not decide between them. Do not interpret "
            "what only one of them says; fit fewer modes or a shorter history, or record more."
        )
    few = [k for k, share in enumerate(shares) if share < LEAST_SHARE] if len(shares) > 1 else []
    if few:
        has = " and ".join(f"{names[k]} has only {100 * shares[k]:.1f} %" for k in few)
        found["modes"] = (
            f"{has} of the steps, too few to say what it does. Fit {counted(len(shares) - len(few), 'mode')}, or do "
            "not interpret it; swirl compare says how many modes the data bear."
        )
    return found


def cautions_of(
    model: Any, agreement: RestartAgreement | None, shares: Sequence[float], names: Sequence[str]
) -> dict[str, str]:
    """`cautions` of a fitted model; `agreement` is that of its restarts, None where it is not known."""
    n_restarts = len(getattr(model, "restarts_", [])) or (agreement.n_restarts if agreement is not None else None)
    return cautions(getattr(model, "converged_", None), n_restarts, agreement, shares, names)
