"""How sure the modes are: the posterior, and whether other starting points of the fit say the same."""

from typing import Any

import numpy as np

from swirl.cautions import RestartAgreement
from swirl.report.case import Case
from swirl.report.plain import rounded

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


def agreement_of(case: Case) -> RestartAgreement | None:
    """How far the restarts say the same: as the fit found, or on these sessions where its file does not say.

    >>> import swirl
    >>> from swirl.report.case import read_case
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> agreement_of(read_case(world.true_model(), world.trajectories)) is None
    True
    """
    model = case.model
    known = getattr(model, "restart_agreement_", None)
    if known is None and getattr(model, "restarts_", None):
        return model.compare_restarts(case.data)
    return known


def restart_facts(case: Case, agreement: RestartAgreement | None) -> dict[str, Any] | None:
    """Objective of every restart and how far it says the same as the fit; None where there is one or none."""
    restarts = getattr(case.model, "restarts_", None)
    if agreement is None or restarts is None or len(restarts) < 2:
        return None
    order = np.argsort(np.where(np.isfinite(agreement.nats_behind), agreement.nats_behind, np.inf), kind="stable")
    traces = np.concatenate([np.asarray(restart.objective_trace, dtype=float) for restart in restarts])
    top, rows = traces[np.isfinite(traces)].max(initial=-np.inf), []
    for index in order.tolist():
        restart = restarts[index]
        numbers = (agreement.nats_behind[index], agreement.ari[index], agreement.policy_distance[index])
        behind, ari, distance = (float(x) if np.isfinite(x) else None for x in numbers)
        rows.append(
            {
                "restart": index,
                "behind": behind,
                "ari": ari,
                "policy_distance": distance,
                "same": bool(agreement.same[index]),
                "status": restart.status,
                "iterations": restart.n_iterations,
                "kept": index == agreement.kept,
                "trace": _trace(top - np.asarray(restart.objective_trace)),
            }
        )
    return {"rows": rows, "one_mode": case.n_modes == 1}


def _trace(behind: np.ndarray) -> dict[str, list[Any]]:
    kept = np.unique(np.linspace(0, len(behind) - 1, min(len(behind), MOST_POINTS)).astype(int))
    return {"iteration": kept.tolist(), "behind": rounded(behind[kept])}
