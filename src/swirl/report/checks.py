"""Predictive checks and bout lengths: what the model does when it is let run, beside what the animals did."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from swirl.behaviour import dwell_times, occupancy
from swirl.discrete import DiscreteEstimator
from swirl.estimator import UnseenStatesWarning
from swirl.predictive import ENOUGH, PredictiveChecks, predictive_checks, simulated_like
from swirl.report.case import Case
from swirl.report.plain import rounded
from swirl.significance import LEVEL

N_PLACES = 3
OF_MODES = ("dwell time", "mode share", "switches per 100 steps")
MOST_SEGMENTS, MOST_STEPS = 2_000, 300_000  # simulated and decoded for each draw; more only takes longer
MOST_POINTS = 400  # of a survival curve


def check_facts(case: Case, n_draws: int) -> dict[str, Any] | None:
    """Statistics of the data and of simulated data sets; None where there are none to make.

    The places are those that the data visit most.
    """
    if n_draws < 1 or not isinstance(case.model, DiscreteEstimator) or case.env is None:
        return None
    data, torn = case.data, False
    if case.model.impossible != "error":  # no simulation has transitions that the environment rules out
        breaks = [steps + 1 for steps in case.env.impossible_transitions(data)]
        data = data.with_gaps(breaks)
        # "forget": the mode chain goes on across them, so bouts must not be cut there.
        torn = case.model.impossible == "forget" and any(len(steps) for steps in breaks)
    segments = np.cumsum([len(gaps) + 1 for gaps in data.gaps])
    enough = (segments > MOST_SEGMENTS) | (np.cumsum(data.lengths) > MOST_STEPS)
    n_sessions = max(1, int(np.argmax(enough)) if enough.any() else len(data))
    data = data[:n_sessions]
    busiest = np.argsort(-occupancy(data.states, case.n_states), kind="stable")[:N_PLACES]
    busiest = [int(s) for s in busiest if (np.concatenate(data.states) == s).any()]
    found = predictive_checks(
        case.model, data, places={case.state_names[s]: s for s in busiest}, n_draws=n_draws, random_state=0
    )
    if case.n_modes == 1 or torn:
        found = _without_modes(found)  # nor are they among the tests that are corrected for
    rows = []
    for statistic, real in found.real.items():
        what, of, summary = statistic
        drawn = found.simulated[statistic]
        drawn = drawn[np.isfinite(drawn)]
        if not np.isfinite(real) or not len(drawn):
            continue
        rows.append(
            {
                "what": what,
                "of": of,
                "summary": summary,
                "real": real,
                "drawn": drawn.tolist(),
                "low": float(drawn.min()),
                "high": float(drawn.max()),
                "inside": bool(drawn.min() <= real <= drawn.max()),
                "p_value": found.p_value(statistic),
                "corrected_p_value": found.corrected[statistic],
                "differs": bool(found.corrected[statistic] <= LEVEL),
            }
        )
    shares = np.array(found.simulated_values["occupancy", ""])
    return {
        "n_draws": n_draws,
        "sessions": n_sessions,
        "all_sessions": len(case.data),
        "places": [case.state_names[s] for s in busiest],
        "rows": rows,
        "n_inside": sum(row["inside"] for row in rows),
        "n_differ": sum(row["differs"] for row in rows),
        "enough_draws": ENOUGH,
        "occupancy": rounded(found.real_values["occupancy", ""]),
        "simulated_occupancy": rounded(shares.mean(axis=0)),
        "torn": torn,
        "bouts": _simulated_bouts(case, n_draws) if torn else _bouts(case, found),
    }


def _without_modes(found: PredictiveChecks) -> PredictiveChecks:
    """The checks without the statistics of modes."""
    kept = [statistic for statistic in found.real if statistic[0] not in OF_MODES]
    scalars = [{name: own[name] for name in kept} for own in (found.real, found.simulated)]
    return replace(found, real=scalars[0], simulated=scalars[1])


def _bouts(case: Case, found: PredictiveChecks) -> list[dict[str, Any]]:
    """Bouts of the data and of the simulations that the checks have made already."""
    return [
        {
            "real": survival(found.real_values["dwell time", f"mode {k}"]),
            "simulated": [survival(times) for times in found.simulated_values["dwell time", f"mode {k}"]],
        }
        for k in range(case.n_modes)
        if ("dwell time", f"mode {k}") in found.real_values
    ]


def _simulated_bouts(case: Case, n_draws: int) -> list[dict[str, Any]]:
    """Bouts of the data as they are, and of simulated data with the same gaps and missing actions."""
    drawn = []
    for seed in range(n_draws):
        made = simulated_like(case.model, case.data, seed)
        with warnings.catch_warnings():  # a simulation may go where the animals were not seen in training
            warnings.simplefilter("ignore", UnseenStatesWarning)
            drawn.append(dwell_times(case.model.predict(made), n_modes=case.n_modes, gaps=made.gaps))
    real = dwell_times(case.modes, n_modes=case.n_modes, gaps=case.data.gaps)
    return [
        {"real": survival(real[k]), "simulated": [survival(times[k]) for times in drawn]} for k in range(case.n_modes)
    ]


def bout_facts(case: Case, checks: dict[str, Any] | None) -> list[dict[str, Any]] | None:
    """Bout lengths of each mode as survival curves, of the data and, where there are checks, of each simulation."""
    if case.n_modes < 2:
        return None
    times = dwell_times(case.modes, n_modes=case.n_modes, gaps=case.data.gaps)
    facts = []
    for mode, own in enumerate(times):
        # The checks cut real bouts where they must cut simulated ones, so that both are alike.
        compared = checks["bouts"][mode] if checks and mode < len(checks["bouts"]) else None
        facts.append(
            {
                "n": len(own),
                "median": float(np.median(own)) if len(own) else None,
                "longest": int(own.max()) if len(own) else None,
                "real": survival(own) if compared is None else compared["real"],
                "simulated": [] if compared is None else compared["simulated"],
            }
        )
    return facts


def survival(times: Any) -> dict[str, list[Any]]:
    """Share of bouts that last at least so many steps, where it changes.

    >>> survival([1, 3, 3, 8])
    {'length': [1, 3, 8], 'share': [1, 0.75, 0.25]}
    """
    times = np.sort(np.asarray(times))
    length, first = np.unique(times, return_index=True)
    share = 1 - first / max(len(times), 1)
    if len(length) > MOST_POINTS:
        kept = np.unique(np.geomspace(1, len(length), MOST_POINTS).astype(int) - 1)
        length, share = length[kept], share[kept]
    return {"length": length.tolist(), "share": rounded(share)}
