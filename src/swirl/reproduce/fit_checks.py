"""What is asked of an experiment's fits: what is each start worth, did they end, and do they agree, and behave as the
animals did when let run?

Predictive checks go through the ledger: simulated once, then read from their file.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.analysis.predictive_checks import PredictiveChecks, predictive_checks
from swirl.data.trajectories import Trajectories
from swirl.inference.mode_matching import adjusted_rand_index
from swirl.reproduce.cache import Ledger
from swirl.reproduce.page import Rows
from swirl.workflows.html import Numbers, Section


def endings(fits: Mapping[str, Any]) -> Section:
    """How EM ended in each fit: whether the kept start converged, and what going on would gain."""
    rows = []
    for name, fit in fits.items():
        kept = fit.restarts_[fit.best_restart_]
        rows.append(
            {
                "fit": name,
                "kept start": kept.status,
                "iterations": kept.n_iterations,
                "left to gain, nats": kept.remaining_gain if np.isfinite(kept.remaining_gain) else None,
                "starts that converged": f"{sum(start.converged for start in fit.restarts_)} of {len(fit.restarts_)}",
            }
        )
    caption = (
        "EM stops where it predicts that going on would gain less than 0.01 nats in all; where the iterations ran out "
        "before, what is left is at least the figure shown. The kept start has the best training objective."
    )
    return Section("Have the fits converged?", [Numbers("endings", caption, rows)])


def scored_starts(
    ledger: Ledger, label: str, inputs: Mapping[str, Any], model: Any, measure: Callable[[int, Any], dict[str, Any]]
) -> Rows:
    """A row for each single start of a fit, computed once: `measure` gets its number and the model as it left it."""
    return ledger.rows(label, inputs, lambda: [measure(i, model.use_restart(i)) for i in range(len(model.restarts_))])


def agreement(paths: Sequence[Sequence[np.ndarray]]) -> Float[np.ndarray, "path path"]:
    """Adjusted Rand index between every two segmentations of the same sessions."""
    return np.array([[adjusted_rand_index(a, b) for b in paths] for a in paths])


def best_starts(model: Any, n_best: int = 5) -> list[int]:
    """The starts with the best training objectives, best first."""
    return sorted(range(len(model.restarts_)), key=lambda i: -model.restarts_[i].objective)[:n_best]


def checked(
    ledger: Ledger,
    label: str,
    inputs: Mapping[str, Any],
    model: Any,
    data: Trajectories,
    *,
    places: Mapping[str, Any],
    n_draws: int,
    accept: Callable[[np.ndarray], bool] | None = None,
) -> PredictiveChecks:
    """`predictive.predictive_checks`, computed only once for the same `inputs`, number of draws and data."""

    def compute() -> Rows:
        return to_rows(predictive_checks(model, data, places=places, n_draws=n_draws, accept=accept))

    known = {**inputs, "what": label, "draws": n_draws, "data": data.fingerprint(), "places": dict(places)}
    known["missing actions"] = "as in the data"
    return from_rows(ledger.rows(label, known, compute))


def check_table(checks: Mapping[str, PredictiveChecks]) -> Rows:
    """The statistics of several models' checks, in one table."""
    return [
        {"model": name, **{str(key): value for key, value in row.items()}}
        for name, check in checks.items()
        for row in check.table().to_dict("records")
    ]


def to_rows(checks: PredictiveChecks) -> Rows:
    """The checks as rows: scalars and values, real and simulated."""
    rows: Rows = []
    for key, real in checks.real.items():
        rows.append({"kind": "scalar", "key": list(key), "real": real, "simulated": checks.simulated[key]})
    for pair, values in checks.real_values.items():
        drawn = [np.asarray(draw) for draw in checks.simulated_values[pair]]
        rows.append({"kind": "values", "key": list(pair), "real": values, "simulated": drawn})
    return rows


def from_rows(rows: Rows) -> PredictiveChecks:
    """The checks that `to_rows` wrote down."""
    scalars = {tuple(row["key"]): row for row in rows if row["kind"] == "scalar"}
    values = {tuple(row["key"]): row for row in rows if row["kind"] == "values"}
    return PredictiveChecks(
        {key: float(row["real"]) for key, row in scalars.items()},  # type: ignore[misc]
        {key: np.asarray(row["simulated"], dtype=float) for key, row in scalars.items()},  # type: ignore[misc]
        {key: np.asarray(row["real"]) for key, row in values.items()},  # type: ignore[misc]
        {key: [np.asarray(draw) for draw in row["simulated"]] for key, row in values.items()},  # type: ignore[misc]
    )
