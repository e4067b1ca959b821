"""A fit against other models: scores on held-out sessions, and by the number of modes on training folds."""

from swirl.analysis.comparison_result import Comparison
from swirl.analysis.decoded import DecodedFit
from swirl.analysis.state_summaries import DoesNotApply
from swirl.plots.fit.panels import Drawn, sheet
from swirl.plots.model_comparison import mode_curves, score_differences, scores_by_modes


def model_scores(fit: DecodedFit) -> Drawn:
    """Draw how far each model is behind the best on held-out sessions."""
    import pandas as pd

    compared = _given(fit)
    rows = [{**row, "chosen": "; ".join(f"{k}={v}" for k, v in row["chosen"].items())} for row in compared.table()]
    figure = sheet(4.6, 0.8 + 0.28 * len(rows))
    score_differences(compared, ax=figure.subplots())
    return figure, pd.DataFrame(rows)


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
    figure = sheet(4.6, 3.0)
    scores_by_modes(compared, ax=figure.subplots())
    return figure, pd.concat(tables, ignore_index=True)


def _given(fit: DecodedFit) -> Comparison:
    if fit.comparison is None:
        raise DoesNotApply("no comparison was given (--comparison)")
    return fit.comparison
