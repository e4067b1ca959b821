"""Fits to two halves of the sessions, and the verdict on a fit that they lead to (`cautions.Verdict`).

A fit does not say what other sessions would have given.  So the sessions are cut into two halves (of whole animals
where several are known), and the same model is fitted to each, from scratch:

- do both halves give the same modes?  Each decodes all sessions; counted is the share of the steps that agree;
- does each predict the other half better than the same model with one mode, and as well as with one mode more?
- and as well as counts of what followed the last states (`Markov`), which know nothing of rewards or modes?

`studies/verdict.py` has how often the verdict is right on simulated sessions whose modes are known.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from swirl.cautions import Halves, Verdict, against
from swirl.discrete import DiscreteEstimator
from swirl.estimator import UnseenStatesWarning, as_trajectories
from swirl.faults import counted
from swirl.fitting import EMEstimator
from swirl.folding import animals, folds, most_folds
from swirl.metrics import segmentation_accuracy
from swirl.registry import make
from swirl.selection import paired
from swirl.trajectories import Trajectories

MOST_ITERATIONS = 200  # of a fit to a half: what it predicts hardly moves any more


def verdict(model: Any, data: Any, *, callback: Callable[[str], Any] | None = None) -> Verdict:
    """Judge a fit: how it ended, then fits of the same model to two halves of its sessions.

    The halves may take longer than the fit did; they are left out where the fit itself speaks against it.  The verdict
    is kept as `model.verdict_`, in the model's file and at the top of its report.

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
    >>> from swirl import SWIRL, datasets
    >>> world = datasets.gridworld(n_sessions=20, n_steps=100)
    >>> model = SWIRL(world.env, history=1, n_restarts=2, max_iter=2).fit(world.trajectories)
    >>> print(verdict(model, world.trajectories))
    don't trust it: the iterations ran out before the fit had settled
    """
    model._check_fitted()
    data = as_trajectories(data)
    found = against(model, getattr(model, "restart_agreement_", None))
    if found is None and not isinstance(model, EMEstimator):
        found = Verdict("with care", ("fits to halves of the sessions are made for models that EM fits only",))
    if found is None and most_folds(data, 2) < 2:
        found = Verdict("with care", ("there is a single session, so whether another gives the same is not known",))
    if found is None:
        found = fit_halves(model, data, callback=callback).verdict()
    model.verdict_ = found
    return found


def fit_halves(model: EMEstimator, data: Trajectories, *, callback: Callable[[str], Any] | None = None) -> Halves:
    """Fit the model, itself with one mode and with one mode more, and counts, to each half of the sessions."""
    tell = callback or (lambda _: None)
    parts, of = folds(data, 2), model.currency_of(data)
    given = {**model._settled_params(), "max_iter": min(int(model.max_iter), MOST_ITERATIONS)}
    n_modes = int(given["n_modes"])
    sizes = {"own": n_modes, "more": n_modes + 1, **({"one": 1} if n_modes > 1 else {})}
    scores = {name: np.empty(len(data)) for name in (*sizes, "counts")}
    steps, paths = np.empty(len(data), np.int64), []
    counts_compare = isinstance(model, DiscreteEstimator)
    with warnings.catch_warnings():  # the same for every candidate, and said elsewhere
        warnings.simplefilter("ignore", UnseenStatesWarning)
        for number, (own, other) in enumerate((parts, parts[::-1]), start=1):
            for name, k in sizes.items():
                tell(f"half {number} of the sessions, {counted(k, 'mode')}")
                fresh = type(model)(**{**given, "n_modes": k}).fit(data[own], progress=False, compare_restarts=False)
                scores[name][other] = fresh.session_scores(data[other], of=of)
                if name == "own":
                    paths.append(fresh.predict(data))
                    steps[other] = [int(each.sum()) for each in fresh.scored_steps(data[other], of=of)]
            if counts_compare:
                rival = make("Markov", model._world).fit(data[own])
                scores["counts"][other] = rival.session_scores(data[other], of=of)
    units = animals(data.subjects)
    units = np.arange(len(data)) if units is None else units

    def gain(one: str, over: str) -> tuple[float, float] | None:
        with np.errstate(invalid="ignore"):  # what a model holds impossible scores −inf
            mean, error, _ = paired(scores[one] - scores[over], steps, units)
        return (mean, error) if np.isfinite(mean + error) else None

    return Halves(
        n_modes,
        segmentation_accuracy(paths[0], paths[1]),
        gain("own", "one") if n_modes > 1 else None,
        gain("more", "own"),
        gain("counts", "own") if counts_compare else None,
    )
