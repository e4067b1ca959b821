"""Fits to two halves of the sessions, and the verdict on a fit that they lead to (`fit_warnings.Verdict`).

A fit does not say what other sessions would have given.  So the sessions are cut into two halves (of whole animals
where several are known), and the same model is fitted to each, from scratch:

- do both halves give the same modes?  Each decodes all sessions; counted is the share of the steps that agree;
- does each predict the other half better than the same model with one mode, and as well as with one mode more?
- and as well as counts of what followed the last states (`Markov`), which know nothing of rewards or modes?

`studies/verdict.py` has how often the verdict is right on simulated sessions whose modes are known.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from swirl.analysis.grid_search import Choice, joined, score_on_folds, with_modes
from swirl.analysis.metrics import segmentation_accuracy
from swirl.data.folds import max_folds
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import as_trajectories
from swirl.estimators.em_estimator import EMEstimator
from swirl.estimators.fit_warnings import SAME_MODES, Halves, Verdict, against, worse
from swirl.estimators.registry import make
from swirl.text import counted

TUNED = 4  # sessions: fewer, and a half is one session, in which nothing can be chosen on folds
STARTS = 8  # starting points, the default: from fewer a half may end in a worse optimum than the fit
MAX_ITERATIONS = 200  # of a fit to a half: what it predicts hardly moves any more


def verdict(model: Any, data: Any, *, callback: Callable[[str], Any] | None = None) -> Verdict:
    """Judge a fit: by how it ended, and by fits of the same model to two halves of its sessions; the worse one counts.

    The halves may take longer than the fit did; they are left out where it had not settled.  The verdict is kept as
    `model.verdict_`, in the model's file and at the top of its report.

    Parameters
    ----------
    model
        A fitted model.
    data
        The sessions that it was fitted to.
    callback
        Called with a few words on what is fitted next.

    Examples
    --------
    >>> from swirl import SWIRL, datasets  # takes some seconds
    >>> world = datasets.gridworld(n_sessions=20, n_steps=100)
    >>> model = SWIRL(world.env, history=1, n_restarts=2, max_iter=2).fit(world.trajectories)
    >>> print(verdict(model, world.trajectories))
    don't trust it: the fit had not settled
    """
    model.check_fitted()
    data = as_trajectories(data)
    own = against(model, model.restart_agreement_)
    if model.converged_ is False and own is not None:
        model.verdict_ = own
    else:
        model.verdict_ = worse(own, of_others(model, data, callback))
    return model.verdict_


def of_others(model: Any, data: Trajectories, callback: Callable[[str], Any] | None = None) -> Verdict:
    """The verdict by fits to halves of the sessions; *with care* and why, where these cannot be made."""
    if not model.fitted_by_em:
        return Verdict("with care", ("fits to halves of the sessions are made for models that EM fits only",))
    if max_folds(data, 2) < 2:
        return Verdict("with care", ("there is a single session, so whether another gives the same is not known",))
    try:
        found = fit_halves(model, data, callback=callback).verdict()
    except ValueError as problem:  # such as a half in which nothing was observed
        return Verdict("with care", (f"halves of the sessions could not be compared ({problem})",))
    if len(data) < TUNED:
        words = f"with {counted(len(data), 'session')} plain counts could not be tuned, so they were left out"
        found = worse(found, Verdict("with care", (words,)))
    n_restarts = int(model.fitted_params.get("n_restarts", STARTS))
    if n_restarts < STARTS and found.halves is not None and found.halves.agreement < SAME_MODES:
        each = counted(n_restarts, "starting point")
        words = f"each half was fitted from {each}, as the fit was: with more (--restarts 8) they may agree"
        found = replace(found, reasons=(*found.reasons, words))
    return found


def fit_halves(model: EMEstimator, data: Trajectories, *, callback: Callable[[str], Any] | None = None) -> Halves:
    """Fit the model, itself with one mode and with one mode more, and counts, to each half of the sessions.

    Other numbers of modes are left out where the model has settings for each mode, counts where there are no states, or
    too few sessions to choose their order on folds.
    Of goals one mode is the habit alone; goals that the fit has found are given to both halves.
    """
    of = model.score_type_of(data)
    settled = {**model.fitted_params, "max_iter": min(int(model.max_iter), MAX_ITERATIONS)}
    n_modes, paths = int(settled["n_modes"]), []
    like = type(model)(**settled)
    own, more, one = {"n_modes": n_modes}, with_modes(like, n_modes + 1), with_modes(like, 1)

    def decode(settings: dict[str, Any], fitted: Any) -> None:
        if settings["n_modes"] == n_modes:
            paths.append(fitted.predict(data))

    def score(rival: Any, candidates: list[dict[str, Any]], on_fit: Any = None) -> Choice:
        return score_on_folds(rival, data, candidates, n_folds=2, of=of, callback=callback, on_fit=on_fit)

    rows = [own, *(other for other in (more, one) if other is not None and other != own)]
    scored, markov_row = score(like, rows, decode), None
    if model.histories is not None and len(data) >= TUNED:
        markov = make("Markov", model.world, target=of, impossible=settled.get("impossible"))
        counts, markov_row = score(markov, [{}]), {"model": "Markov"}
        scored = joined([*((row, scored.rows([i])) for i, row in enumerate(rows)), (markov_row, counts)])
        rows = scored.candidates

    def gain(ours: dict[str, Any] | None, over: dict[str, Any] | None) -> tuple[float, float] | None:
        if ours is None or over is None or ours == over:
            return None
        found = scored.difference(rows.index(ours), rows.index(over))
        return found if np.isfinite(found).all() else None  # what a model holds impossible scores −inf

    agreement = segmentation_accuracy(paths[0], paths[1])
    return Halves(n_modes, agreement, gain(own, one), gain(more, own), gain(markov_row, own))
