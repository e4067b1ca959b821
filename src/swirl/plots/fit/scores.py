"""How the fit went, and how it stands against other models.

The objective of every restart, how far the best ones agree; scores on held-out sessions, and by the number of modes.
"""

import numpy as np

from swirl.analysis.comparison_result import Comparison
from swirl.analysis.decoded import DecodedFit
from swirl.analysis.state_summaries import DoesNotApply
from swirl.estimators.base import quietly
from swirl.plots.fit.panels import Drawn, frame, long_table
from swirl.plots.model_comparison import mode_curves, score_differences, scores_by_modes
from swirl.plots.scores import objective_traces, restart_agreements, restart_matrix
from swirl.plots.style import printed


def objective(fit: DecodedFit) -> Drawn:
    """Draw the objective of every restart."""
    restarts = fit.model.restarts_
    if not restarts:
        raise DoesNotApply("the model was not fitted by EM")
    kept = [i for i, restart in enumerate(restarts) if np.isfinite(restart.objective_trace).any()]
    traces = [np.asarray(restarts[i].objective_trace) for i in kept]
    figure = printed(3.8, 2.6)
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
    figure = printed(2.2 + 0.55 * n, 1.0 + 0.45 * n)
    restart_matrix(values, order, behind, ax=figure.add_subplot())
    both = {"adjusted_rand_index": values, "nats_behind": np.repeat(behind[:, None], n, axis=1)}
    return figure, long_table({"restart": order, "other": order}, both)


def model_scores(fit: DecodedFit) -> Drawn:
    """Draw how far each model is behind the best on held-out sessions."""
    compared = _given(fit)
    rows = [{**row, "chosen": "; ".join(f"{k}={v}" for k, v in row["chosen"].items())} for row in compared.table()]
    figure = printed(4.6, 0.8 + 0.28 * len(rows))
    score_differences(compared, ax=figure.subplots())
    return figure, frame(rows)


def model_scores_by_modes(fit: DecodedFit) -> Drawn:
    """Draw the score of each model against its number of modes, on folds of the training sessions."""
    import pandas as pd

    compared = _given(fit)
    curves = mode_curves(compared)
    if not curves:
        raise DoesNotApply("no model's number of modes was chosen in the comparison")
    tables = [
        pd.DataFrame({"model": name, "modes": c["modes"], "score": c["mean"], "standard_error": c["error"]})
        for name, c in curves.items()
    ]
    figure = printed(4.6, 3.0)
    scores_by_modes(compared, ax=figure.subplots())
    return figure, pd.concat(tables, ignore_index=True)


def _given(fit: DecodedFit) -> Comparison:
    if fit.comparison is None:
        raise DoesNotApply("no comparison was given (--comparison)")
    return fit.comparison
