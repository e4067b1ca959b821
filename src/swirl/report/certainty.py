"""How sure the modes are: the posterior, and whether other starting points of the fit say the same."""

import warnings
from typing import Any

import numpy as np

from swirl.cautions import NEAR
from swirl.estimator import UnseenStatesWarning
from swirl.metrics import segmentation_accuracy
from swirl.model import SWIRL
from swirl.report.case import Case
from swirl.report.plain import rounded

SAME = 0.95  # of the steps in the same mode as in the fit, for a starting point that agrees with it
MOST_RESTARTS = 16  # decoded; each costs one pass over the data
BINS = 20
MOST_POINTS = 300  # of a trace


def posterior_facts(case: Case) -> dict[str, Any] | None:
    """How clear the modes are: the probability of the most probable mode at each step; None for one mode.

    >>> import swirl
    >>> from swirl.report.case import read_case
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> facts = posterior_facts(read_case(world.true_model(), world.trajectories))
    >>> sum(sum(row) for row in facts["counts"]), len(facts["edges"])
    (240, 21)
    """
    if case.n_modes < 2:
        return None
    shares = np.concatenate(case.posterior)
    top, best = shares.max(axis=1), shares.argmax(axis=1)
    edges = np.linspace(1 / case.n_modes, 1, BINS + 1)
    place = np.clip(np.searchsorted(edges, top, side="right") - 1, 0, BINS - 1)
    counts = np.zeros((case.n_modes, BINS), np.int64)
    np.add.at(counts, (best, place), 1)
    return {
        "edges": rounded(edges),
        "counts": counts.tolist(),
        "above_90": float((top >= 0.9).mean()),
        "mean": [float(top[best == k].mean()) if (best == k).any() else None for k in range(case.n_modes)],
    }


def restart_facts(case: Case) -> dict[str, Any] | None:
    """Objective of every restart and how far its decoded modes agree with the fit's; None where there is one or none.

    Policies of the restarts near the best are matched to the fit's modes; their spread is the mean total-variation
    distance ½ Σ_a |π − π_best| over states.
    """
    model = case.model
    restarts = getattr(model, "restarts_", None)
    if restarts is None or len(restarts) < 2 or not hasattr(model, "use_restart"):
        return None
    objectives = np.array([r.objective for r in restarts]) / model.n_observed_
    behind = objectives[model.best_restart_] - objectives
    order = np.argsort(np.where(np.isfinite(behind), behind, np.inf), kind="stable")
    rows, spreads = [], []
    for rank, index in enumerate(order.tolist()):
        restart = restarts[index]
        row: dict[str, Any] = {
            "restart": index,
            "behind": float(behind[index]) if np.isfinite(behind[index]) else None,
            "status": restart.status,
            "iterations": restart.n_iterations,
            "agreement": None,
            "near": bool(behind[index] <= NEAR),
            "kept": index == model.best_restart_,
            "trace": _trace(np.asarray(restart.objective_trace) / model.n_observed_),
        }
        if np.isfinite(behind[index]) and rank < MOST_RESTARTS:
            other = model.use_restart(index)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnseenStatesWarning)
                row["agreement"] = segmentation_accuracy(case.modes, other.predict(case.data))
            if row["near"] and not row["kept"] and isinstance(model, SWIRL):
                policies = other.align_to(model).state_policies()
                spreads.append(0.5 * np.abs(policies - model.state_policies()).sum(axis=2).mean(axis=1))
        rows.append(row)
    near = [row for row in rows if row["near"]]
    agreements = [row["agreement"] for row in near if not row["kept"] and row["agreement"] is not None]
    return {
        "rows": rows,
        "n_near": len(near),
        "agreement": float(np.mean(agreements)) if agreements else None,
        "policy_spread": rounded(np.mean(spreads, axis=0)) if spreads else None,
        "near_width": NEAR,
    }


def restarts_that_agree(fit: dict[str, Any], restarts: dict[str, Any] | None) -> int | None:
    """How many starting points, the kept one among them, end as high and with the same modes; None without restarts.

    >>> rows = [{"near": True, "agreement": 1.0}, {"near": True, "agreement": 0.6}, {"near": False, "agreement": 1.0}]
    >>> restarts_that_agree({"n_restarts": 3, "n_near": 2}, {"rows": rows})
    1
    """
    if not fit["n_restarts"]:
        return None
    if restarts is None:
        return fit["n_near"]
    same = [row["near"] and (row["agreement"] is None or row["agreement"] >= SAME) for row in restarts["rows"]]
    return max(1, sum(same))


def _trace(values: np.ndarray) -> dict[str, list[Any]]:
    kept = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).astype(int))
    return {"iteration": kept.tolist(), "objective": rounded(values[kept], 7)}
