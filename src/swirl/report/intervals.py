"""What a bootstrap adds to the page: intervals of the modes, which preferences are sure, how stable each step is."""

from typing import Any

import numpy as np

from swirl.discrete import DiscreteEstimator
from swirl.faults import counted
from swirl.report.case import Case
from swirl.report.plain import number, percent, rounded
from swirl.state_tables import by_state, onward
from swirl.uncertainty import bootstrap
from swirl.uncertainty_draws import log_odds
from swirl.uncertainty_result import Bootstrap, mark_of

SHORT = 0.5  # standard errors by which a fit may miss its top without a word
FIRM = 0.95
WIDTH, PAD = 110, 5  # of the little pictures in the table
NOT_COVERED = (
    "Every refit starts at the fit, so all stay on its hill; whether there are other hills the starting points below "
    "say. What is rare in the data (a switch at a place where it hardly ever happens) is rare in every draw, so that "
    "estimate and interval can both be too low; the pull of the priors is in all refits alike. The number of modes, "
    "the history length and the form of switching are taken as given. Each interval stands for itself: of a hundred, "
    "about five miss."
)


def read_bootstrap(case: Case, given: Any) -> Bootstrap | None:
    """The bootstrap that was given, or a new one with so many draws; None for none (or 0).

    >>> import swirl
    >>> from swirl.report.case import read_case
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> read_bootstrap(read_case(world.true_model(), world.trajectories), 0) is None
    True
    """
    if given is None or (given == 0 and not isinstance(given, bool)):
        return None
    if isinstance(given, int):
        return bootstrap(case.model, case.data, n_draws=given)
    if not isinstance(given, Bootstrap):
        raise ValueError(
            f"bootstrap is {type(given).__name__}: expected what swirl.uncertainty.bootstrap(...) returned, or the "
            "number of draws"
        )
    if given.model != mark_of(case.model):
        raise ValueError("bootstrap: it is of another fit, or its modes stand in another order; make it of this one")
    return given


def interval_facts(case: Case, found: Bootstrap) -> dict[str, Any]:
    """Rows of the table, sentences, and what the maps need.

    Keys: rows (share and duration of each mode with their ends, as text and as places in a small picture; stable: mean
    stability of its steps), words, stability_words, drift_words, preference ([mode][state][move] low and high of the
    log-odds, None where there are no modes to compare), rewards ([mode][state] value, low and high).
    """
    share, stay = found.estimate("occupancy"), found.estimate("durations")
    shares, stays = found.interval("occupancy"), found.interval("durations")
    widest, longest = _round_up(shares[1]), _round_up(stays[1])
    stable, preference = _stability_by_mode(case, found), _preference(case, found)
    rows = [
        {
            "share": f"{_percents(share[k], shares, k)}\u00a0%",
            "share_range": f"{_percents(shares[0][k], shares, k)} to {_percents(shares[1][k], shares, k)}",
            "share_at": _picture(share[k], shares[0][k], shares[1][k], widest),
            "duration": number(float(stay[k])) if np.isfinite(stay[k]) else "does not end",
            "duration_range": _range(stays[0][k], stays[1][k]) if np.isfinite(stay[k]) else "",
            "duration_at": _picture(stay[k], stays[0][k], stays[1][k], longest),
            "stable": "—" if stable is None or np.isnan(stable[k]) else f"{100 * stable[k]:.0f}\u00a0%",
        }
        for k in range(case.n_modes)
    ]
    return {
        "rows": rows,
        "n_draws": found.n_draws,
        "by": found.by,
        "width": WIDTH,
        "words": _words(found),
        "stability_words": _stability_words(case, found) if case.n_modes > 1 else "",
        "drift_words": _drift_words(found),
        "not_covered": NOT_COVERED,
        "preference": preference,
        "preference_words": _preference_words(preference),
        "rewards": _rewards(found),
    }


def _preference(case: Case, found: Bootstrap) -> dict[str, Any] | None:
    """Ends of the log-odds of each move against the average mode, as the map shows them."""
    model = case.model
    if found.preferences is None or not isinstance(model, DiscreteEstimator):
        return None
    groups, ways = by_state(model._histories), onward(model._histories, model.target)

    def of_moves(policies: np.ndarray) -> np.ndarray:
        each = policies.reshape(-1, *policies.shape[-3:])
        moves = np.stack([ways.shares(groups, one) for one in each])
        return log_odds(moves).reshape(*policies.shape[:-3], *moves.shape[1:])

    low, high = found.interval("policies", of=of_moves)
    there = np.broadcast_to(ways.following >= 0, low.shape) & np.isfinite(low)
    sure = ((low > 0) | (high < 0)) & there
    return {
        "low": rounded(low, 3),
        "high": rounded(high, 3),
        "share": float(sure.sum() / max(there.sum(), 1)),
        "n": int(there.sum()),
    }


def _preference_words(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return ""
    return (
        f"Of the {facts['n']:,} preferences (how much more or less a mode makes a move than the average mode), "
        f"{percent(facts['share'])} have a certain sign: their interval leaves out 0. The map of choices “against the "
        "other modes” shows which."
    )


def _rewards(found: Bootstrap) -> dict[str, Any] | None:
    if found.rewards is None:
        return None
    low, high = found.interval("rewards")
    return {"value": rounded(found.estimate("rewards"), 3), "low": rounded(low, 3), "high": rounded(high, 3)}


def _stability_by_mode(case: Case, found: Bootstrap) -> list[float] | None:
    """Mean stability of the steps decoded as each mode; None where the page is about other sessions."""
    if [len(part) for part in found.stability] != [len(path) for path in case.modes]:
        return None
    values, modes = np.concatenate(found.stability), np.concatenate(case.modes)
    return [float(values[modes == k].mean()) if (modes == k).any() else float("nan") for k in range(case.n_modes)]


def _words(found: Bootstrap) -> str:
    drawn = counted(found.n_units, found.by)
    ran_out = sum(status != "converged" for status in found.statuses)
    short = f" {counted(ran_out, 'further refit')} did not converge and had to be left out." if ran_out else ""
    few = " With so few, intervals are rough." if found.n_units < 20 else ""
    return (
        f"Had other {found.by}s of the same kind been recorded, how far would the fit move? The {drawn} were drawn "
        f"anew, with replacement, {found.n_draws} times, and the model was fitted to each draw, starting from this "
        f"fit.{few}{short}"
    )


def _stability_words(case: Case, found: Bootstrap) -> str:
    parts = [part for part in found.stability if len(part)]
    values = np.concatenate(parts)
    lead = (
        f"Decoded again by each refit, a step has the same mode as in the fit {percent(values.mean())} of the time; at "
        f"{percent((values >= FIRM).mean())} of the steps it has in at least {FIRM:.0%} of the refits."
    ).replace("95%", "95\u00a0%")
    means = [part.mean() for part in parts]
    if len(found.stability) != len(case.data) or len(parts) != len(case.data) or max(means) - min(means) < 0.02:
        return lead
    worst = int(np.argmin(means))
    name = case.data.names[worst]
    session = f"session {name}" if name.isdecimal() else f"session “{name}”"
    return f"{lead} Least stable: {session} ({percent(means[worst])})."


def _drift_words(found: Bootstrap) -> str:
    if found.drift < SHORT:
        return ""
    return (
        f"The fit stopped {number(found.drift, 2)} standard errors short of the top of its objective. Intervals lie "
        "around the top, so numbers elsewhere on this page differ a little. More iterations (--max-iter) close the gap."
    )


def _percents(value: Any, ends: tuple[np.ndarray, np.ndarray], k: int) -> str:
    """A share in percent, with a decimal where its interval is short."""
    return f"{100 * value:.{0 if ends[1][k] - ends[0][k] > 0.1 else 1}f}"


def _range(low: Any, high: Any) -> str:
    places = max(0, 1 - int(np.floor(np.log10(max(high - low, 1e-6))))) if np.isfinite(high) else 0
    top = f"{high:,.{min(places, 3)}f}" if high < 1e6 else "very long"
    return f"{low:,.{min(places, 3)}f} to {top}"


def _round_up(values: np.ndarray) -> float:
    finite = values[np.isfinite(values) & (values < 1e6)]
    return float(finite.max() * 1.04) if finite.size else 1.0


def _picture(value: Any, low: Any, high: Any, most: float) -> dict[str, float] | None:
    """Where a dot and its whiskers go, from 0 to the most of the column."""
    if not np.isfinite(value):
        return None
    at = [round(PAD + (WIDTH - 2 * PAD) * float(np.clip(x / most, 0, 1)), 1) for x in (value, low, high)]
    return dict(zip(("at", "low", "high"), at, strict=True))
