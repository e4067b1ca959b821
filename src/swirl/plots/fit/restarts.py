"""How the fit went: the objective of every restart, and how far the best ones agree."""

import numpy as np

from swirl.analysis.decoded import DecodedFit
from swirl.analysis.state_summaries import DoesNotApply
from swirl.estimators.base import quietly
from swirl.plots.fit.panels import Drawn, frame, sheet
from swirl.plots.scores import objective_traces
from swirl.plots.signals import restart_agreements, restart_matrix


def objective(fit: DecodedFit) -> Drawn:
    """Draw the objective of every restart."""
    restarts = fit.model.restarts_
    if not restarts:
        raise DoesNotApply("the model was not fitted by EM")
    kept = [i for i, restart in enumerate(restarts) if np.isfinite(restart.objective_trace).any()]
    traces = [np.asarray(restarts[i].objective_trace) for i in kept]
    figure = sheet(3.8, 2.6)
    objective_traces(traces, ax=figure.add_subplot())
    number = np.repeat(kept, [len(trace) for trace in traces])
    iteration = np.concatenate([np.arange(len(trace)) for trace in traces])
    return figure, frame({"restart": number, "iteration": iteration, "objective": np.concatenate(traces)})


def restarts(fit: DecodedFit) -> Drawn:
    """Draw how far the best restarts agree."""
    fit.several_modes()
    if len(fit.model.restarts_) < 2:
        raise DoesNotApply("the model has no two restarts to compare")
    with quietly():
        values, order, behind = restart_agreements(fit.model, fit.data)
    n = len(order)
    figure = sheet(2.2 + 0.55 * n, 1.0 + 0.45 * n)
    restart_matrix(values, order, behind, ax=figure.add_subplot())
    one, other = np.indices(values.shape).reshape(2, -1)
    columns = {"restart": np.array(order)[one], "other": np.array(order)[other], "adjusted_rand_index": values.ravel()}
    return figure, frame({**columns, "nats_behind": behind[one]})
