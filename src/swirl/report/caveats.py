"""What a section says first where the modes are not settled: what other solutions of the same fit say of it.

A p-value takes the modes as given. Where another solution is as good, or hardly worse
(`fit_warnings.RestartAgreement.others`), it may give another difference, or the opposite one.
"""

from dataclasses import dataclass

import numpy as np

from swirl.analysis.decoded import DecodedFit
from swirl.estimators.base import quietly
from swirl.estimators.fit_warnings import SAME_ARI, UNSETTLED, is_unsettled, verdict_of
from swirl.inference.mode_matching import match_by_overlap
from swirl.report.section import ReportedFit
from swirl.report.uncertainty import agreement_of
from swirl.text import counted

MAX_OTHERS = 3  # solutions that are decoded: each takes as long as the fit's own decoding


@dataclass(frozen=True, eq=False)
class OtherSolution:
    """Another solution of a fit that the data hardly tell to be worse, and what it decodes."""

    nats_behind: float
    fit: DecodedFit
    """The same sessions as this solution cuts them, its modes in the numbers of those that they overlap with most."""

    @property
    def words(self) -> str:
        """Which solution: "another solution, 7 nats behind,"."""
        nats = round(self.nats_behind)
        where = "as good" if nats == 0 else f"{counted(abs(nats), 'nat')} {'behind' if nats > 0 else 'ahead'}"
        return f"another solution, {where},"


def unsettled(fit: ReportedFit) -> str:
    """A sentence where the verdict is not *trust*; nothing where it is, or where there is none."""
    found = verdict_of(fit.model, fit.once(agreement_of))
    return UNSETTLED if is_unsettled(found) else ""


def other_solutions(fit: ReportedFit) -> list[OtherSolution]:
    """The other solutions with other modes that are near, the best first; none where there are none."""
    agreement = fit.once(agreement_of)
    if agreement is None or not fit.model.fitted_by_em or not fit.model.restarts_ or fit.n_modes < 2:
        return []
    found = []
    for near in [one for one in agreement.others if one.ari < SAME_ARI][:MAX_OTHERS]:
        with quietly():  # what is to be said of these sessions has been said of the fit itself
            paths = fit.model.use_restart(near.restart).predict(fit.data)
        paths = [np.asarray(path) for path in paths]
        counterparts = match_by_overlap(fit.modes, paths, fit.n_modes, fit.n_modes)
        as_here = [np.where(path < 0, path, counterparts[path]) for path in paths]
        plain = DecodedFit(fit.model, fit.data, fit.env, as_here, fit.mode_names, fit.signal)
        found.append(OtherSolution(near.nats_behind, plain))
    return found
