"""Methods: a paragraph ready to paste, with the numbers of this very fit."""

from typing import Any

import numpy as np

from swirl._version import __version__
from swirl.analysis.decoded import DecodedFit
from swirl.analysis.intervals import MIN_UNITS, Intervals
from swirl.estimators.base import PER
from swirl.estimators.fit_warnings import RestartAgreement
from swirl.report.checks import check_facts
from swirl.report.section import ReportedFit, Section
from swirl.report.signal import signal_facts
from swirl.report.summary import data_facts, fit_facts
from swirl.report.uncertainty import agreement_of
from swirl.text import counted, number

PAPER = (
    "Ke, J., Wu, F., Wang, J., Markowitz, J. E., & Wu, A. (2025). Inverse Reinforcement Learning with Switching "
    "Rewards and History Dependency for Characterizing Animal Behaviors. Proceedings of the 42nd International "
    "Conference on Machine Learning (ICML)."
)
GAUGE = (
    "Rewards are identified only up to transformations that leave the policies unchanged; where rewards are compared, "
    "the least-norm member of each family is used."
)
DECODED = (
    "Modes were decoded as the most likely path (Viterbi); their probabilities are those of the forward–backward "
    "algorithm."
)


def methods_section(fit: ReportedFit) -> Section:
    """The paragraph, and what it cites."""
    data, ended, agreement = fit.once(data_facts), fit.once(fit_facts), fit.once(agreement_of)
    checks, signal = fit.once(check_facts), fit.once(signal_facts)
    paragraph = methods_paragraph(fit, data, ended, agreement, checks=checks, signal=signal, intervals=fit.intervals)
    return Section("methods", "Methods", {"paragraph": paragraph, "references": references()})


def references() -> list[str]:
    """The paper whose model it is, and the package.

    >>> references()[0].split(" (")[0]
    'Ke, J., Wu, F., Wang, J., Markowitz, J. E., & Wu, A.'
    """
    package = f"The swirl developers. swirl {__version__}: switching inverse reinforcement learning [software]."
    return [PAPER, package]


def methods_paragraph(
    fit: DecodedFit,
    data: dict[str, Any],
    ended: dict[str, Any],
    agreement: RestartAgreement | None = None,
    *,
    checks: dict[str, Any] | None = None,
    signal: dict[str, Any] | None = None,
    intervals: Intervals | None = None,
) -> str:
    """Say in the words of a methods section what was done; plain text."""
    parts = [_model(fit), _data(data), _fit(fit, ended, agreement)]
    if fit.n_modes > 1:
        parts.append(DECODED)
    if fit.comparison is not None:
        parts.append(_comparison(fit.comparison))
    elif (held_out := ended["scores"]["others"]) is not None:
        sessions = counted(data["sessions"] - data["fitted_sessions"], "session")
        parts.append(
            f"On {sessions} not used for fitting ({counted(held_out[1], 'step')}), the score was "
            f"{number(held_out[0], 4)} nats per step, from the forward filter alone."
        )
    if checks:
        drawn = counted(checks["n_draws"], "data set")
        missing = any((path < 0).any() for path in fit.data.actions)
        alike = ", with the same actions missing," if missing else ""
        parts.append(
            f"The model was checked against {drawn} of the same size{alike} simulated from it; "
            f"p-values were corrected for {len(checks['rows'])} statistics (step-down maximum)."
        )
    if signal is not None:
        name, over = signal["name"], signal["over"]
        parts.append(
            f"The signal “{name}” was averaged over the steps of each mode, and around mode onsets, within each {over} "
            f"(mean ± standard error over {over}s)."
        )
    if intervals is not None:
        parts.append(_intervals(intervals))
    if fit.model.reward_symbol and not fit.model.goals:
        parts.append(GAUGE)
    return " ".join(part for part in parts if part)


def _model(fit: DecodedFit) -> str:
    model, package = fit.model, f"swirl {__version__}"
    if not model.reward_symbol:
        return (
            f"Behaviour was analysed with a {model.label} model with {counted(fit.n_modes, 'hidden mode')}, as "
            f"implemented in {package} (after Ke et al., 2025)."
        )
    temperatures = np.unique(np.asarray(model.mode_temperatures_, float))
    alpha = number(float(temperatures[0])) if len(temperatures) == 1 else "set for each mode"
    policy = (
        f"the soft-optimal policy (discount {number(float(model.discount))}, temperature {alpha}) of a reward "
        f"{model.reward_symbol}"
    )
    if model.goals:
        reached = " until it is reached" if model.switching == "until-reached" else ""
        return (
            "Behaviour was analysed with switching inverse reinforcement learning with goals (after Ke et al., 2025), "
            f"as implemented in {package}. At each time the animal explores or walks to one of "
            f"{counted(len(model.goals), 'goal')}{reached}; the way to a goal is planned (soft-optimal, discount "
            f"{number(float(model.discount))}, temperature {alpha}), and all modes share one habit of the kind of "
            "place and the last moves."
        )
    if fit.n_modes == 1:
        return (
            "Behaviour was analysed with maximum-entropy inverse reinforcement learning, as implemented in "
            f"{package} (after Ke et al., 2025): the animal follows {policy}."
        )
    if model.switching == "fixed":
        chain = "a session keeps to one mode"
    elif model.switches_by_state:
        chain = "the probability of the next mode depends on the current mode and state"
    else:
        chain = "the probability of the next mode depends on the current mode alone"
    return (
        "Behaviour was analysed with switching inverse reinforcement learning (SWIRL; Ke et al., 2025) as implemented "
        f"in {package}. At each time the animal is in one of {fit.n_modes} hidden modes; in each it follows {policy}, "
        f"and {chain}."
    )


def _data(data: dict[str, Any]) -> str:
    subjects = f" from {counted(data['subjects'], 'subject')}" if data["subjects"] else ""
    gaps = f" and {counted(data['gaps'], 'gap')}, at which history and modes begin anew" if data["gaps"] else ""
    part = data["fitted_sessions"] not in (None, 0, data["sessions"])
    used = f"; {data['fitted_sessions']:,} of the sessions were used for fitting" if part else ""
    return (
        f"The data were {counted(data['sessions'], 'session')}{subjects} ({counted(data['steps'], 'step')}; "
        f"{counted(data['states'], 'state')}, {counted(data['actions'], 'action')}){gaps}{used}.{_missing(data)}"
    )


def _missing(data: dict[str, Any]) -> str:
    if not data["missing_actions"]:
        return ""
    which = "Actions were" if not data["observed_actions"] else f"{data['missing_actions']:,} actions were"
    return (
        f" {which} not recorded; such a step entered by the probability of the next state, summed over the actions "
        "that lead there, on the assumption that actions are missing at random."
    )


def _fit(fit: DecodedFit, ended: dict[str, Any], agreement: RestartAgreement | None) -> str:
    if ended["report"] is None:
        return "Parameters were given in advance, not fitted."
    if ended["n_restarts"] is None:
        return f"Of the fit: {ended['report']}"
    model, seed = fit.model, fit.model.fitted_params["random_state"]
    how = "which converged" if ended["converged"] else "which had not converged"
    starts = counted(ended["n_restarts"], "random starting point")
    limits = f"at most {counted(int(model.max_iter), 'iteration')}, or until {number(float(model.tol))} nats remained"
    agreed = f"; {agreement.sentence()}" if agreement is not None and agreement.n_restarts > 1 else ""
    return (
        f"Parameters were estimated by expectation–maximisation of the likelihood with priors{_prior(model)} from "
        f"{starts} (seed {seed}; {limits}); the run with the highest objective was kept, {how} after "
        f"{counted(ended['n_iterations'], 'iteration')}{agreed}."
    )


def _prior(model: Any) -> str:
    told = [f"{name.removesuffix('_prior')}: {prior!r}" for name, prior in model.prior_choices.items()]
    if model.prior_scores_ is not None:
        told[0] += ", chosen on folds of the training sessions"
    return f" ({'; '.join(told)})" if told else " (the package's defaults)"


def _intervals(found: Intervals) -> str:
    units = counted(found.n_units, found.by)
    if found.method == "bootstrap":
        made = (
            f"Intervals (95 %) are from a bootstrap: the {units} were drawn with replacement {found.n_draws} times "
            f"(seed {found.seed}), the model was refitted to each draw from the fitted parameters, and modes were "
            "matched by what they do"
        )
    else:
        also = (
            f"; for shares of steps and durations also the spread of the {units}" if found.n_units >= MIN_UNITS else ""
        )
        wider = (
            f"; none is narrower than the spread of the slopes of the "
            f"{counted(found.between.n_units, found.between.by)} makes it (sandwich estimator)"
            if found.between
            else ""
        )
        made = (
            "Intervals (95 %) are from the observed information, the curvature of log-likelihood plus log-priors at "
            f"the fit with the hidden modes summed out: {found.n_draws} draws of the parameters from the normal "
            f"distribution with its inverse as covariance (seed {found.seed}){also}{wider}"
        )
    return (
        f"{made}; an interval is the estimate ± Student’s t times the standard error over draws, and for probabilities "
        "the exact binomial interval (Clopper and Pearson) of as many choices as leave the log-odds so open, without "
        "the pull of the priors (from a fit to all sessions counted twice). Intervals take the number of modes and the "
        "history length as given, and do not cover other local optima or the bias of the priors on rewards."
    )


def _comparison(comparison: Any) -> str:
    scores = ", ".join(f"{row['label']} {number(row['score'], 4)}" for row in comparison.table())
    what = PER[comparison.of]
    tested = f"{counted(len(comparison.steps), 'held-out session')} ({counted(comparison.n_scored, 'step')})"
    return (
        f"Models were compared on {tested}, by the log-likelihood of the {what} given the past, in nats per step: "
        f"{scores}. Differences are paired by session, or by subject where several are known. {comparison.verdict()}"
    )
