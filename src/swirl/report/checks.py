"""Predictive checks: what the model does when it is let run, beside what the animals did."""

from dataclasses import replace
from typing import Any

import numpy as np

from swirl.analysis.behaviour import occupancy
from swirl.analysis.decoded import DecodedFit
from swirl.analysis.predictive_checks import ENOUGH, PredictiveChecks, predictive_checks, simulated_like
from swirl.analysis.significance import LEVEL
from swirl.data.segments import Bouts, bouts_of, find_segments
from swirl.estimators.base import quietly
from swirl.report.figures import axis, figure, label, lines, points
from swirl.report.section import ReportedFit, Section
from swirl.text import counted, listed, number, rounded

N_PLACES = 3
OF_MODES = ("dwell time", "mode share", "switches per 100 steps")
MAX_SEGMENTS, MAX_STEPS = 2_000, 300_000  # simulated and decoded for each draw; more only takes longer


def checks_section(fit: ReportedFit) -> Section | None:
    """Each statistic of the data beside the simulated ones; None where nothing was simulated."""
    checks = fit.once(check_facts)
    if checks is None:
        return None
    values = {
        "words": check_sentence(checks),
        "method": check_method(checks),
        "strips": check_strips(checks),
        "places": checks["places"],
        "any_p": checks["n_draws"] >= checks["enough_draws"],
        "n_differ": checks["n_differ"],
        "n_outside": len(checks["rows"]) - checks["n_inside"],
        "n_expected": round(len(checks["rows"]) * 2 / (checks["n_draws"] + 1)),
    }
    return Section("checks", "Predictive checks", values, {"occupancy": occupancy_figure(fit, checks)})


def check_facts(fit: ReportedFit) -> dict[str, Any] | None:
    """Statistics of the data and of simulated data sets; None where there are none to make.

    The places are those that the data visit most.
    """
    if fit.n_draws < 1 or fit.model.histories is None or fit.env is None:
        return None
    # No simulation has transitions that the environment rules out.
    breaks = [steps + 1 for steps in fit.env.impossible_transitions(fit.data)]
    data = fit.data.with_gaps(breaks)
    # "forget": the mode chain goes on across them, so bouts must not be cut there.
    torn = fit.model.impossible == "forget" and any(len(steps) for steps in breaks)
    segments = np.cumsum([len(gaps) + 1 for gaps in data.gaps])
    enough = (segments > MAX_SEGMENTS) | (np.cumsum(data.lengths) > MAX_STEPS)
    n_sessions = max(1, int(np.argmax(enough)) if enough.any() else len(data))
    data = data[:n_sessions]
    busiest = np.argsort(-occupancy(data.states, fit.n_states), kind="stable")[:N_PLACES]
    busiest = [int(s) for s in busiest if (np.concatenate(data.states) == s).any()]
    found = predictive_checks(
        fit.model, data, places={fit.state_names[s]: s for s in busiest}, n_draws=fit.n_draws, random_state=0
    )
    if fit.n_modes == 1 or torn:
        found = _without_modes(found)  # nor are they among the tests that are corrected for
    called = {f"mode {k}": name for k, name in enumerate(fit.mode_names)}
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
                "of": called.get(of, of) if what in OF_MODES else of,
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
        "n_draws": fit.n_draws,
        "sessions": n_sessions,
        "all_sessions": len(fit.data),
        "places": [fit.state_names[s] for s in busiest],
        "rows": rows,
        "n_inside": sum(row["inside"] for row in rows),
        "n_differ": sum(row["differs"] for row in rows),
        "enough_draws": ENOUGH,
        "occupancy": rounded(found.real_values["occupancy", ""]),
        "simulated_occupancy": rounded(shares.mean(axis=0)),
        "torn": torn,
        "bouts": _simulated_bouts(fit) if torn else list(found.simulated_bouts),
    }


def _without_modes(found: PredictiveChecks) -> PredictiveChecks:
    """The checks without the statistics of modes."""
    kept = [statistic for statistic in found.real if statistic[0] not in OF_MODES]
    scalars = [{name: own[name] for name in kept} for own in (found.real, found.simulated)]
    return replace(found, real=scalars[0], simulated=scalars[1])


def _simulated_bouts(fit: ReportedFit) -> list[list[Bouts]]:
    """Bouts of each mode in simulated data with the same gaps and missing actions, whatever the data's jumps."""
    drawn = []
    for seed in range(fit.n_draws):
        made = simulated_like(fit.model, fit.data, seed)
        with quietly():  # a simulation may go where the animals were not seen in training
            drawn.append(bouts_of(find_segments(fit.model.predict(made), made.gaps), fit.n_modes))
    return drawn


def check_sentence(facts: dict[str, Any]) -> str:
    """Say whether anything differs from what the model does, and so whether to worry.

    >>> facts = {"rows": [{"differs": False}] * 21, "n_inside": 15, "n_draws": 5, "enough_draws": 39, "n_differ": 0}
    >>> check_sentence(facts)[:88]
    'Nothing stands out, at a first look: 15 of 21 statistics of the data lie within the rang'
    """
    n, inside, draws = len(facts["rows"]), facts["n_inside"], facts["n_draws"]
    if draws >= facts["enough_draws"]:
        if not facts["n_differ"]:
            return (
                f"No sign of a misfit: none of {n} statistics differs from what the model does "
                f"(p > {LEVEL:g}, corrected)."
            )
        named = [statistic_words(row["what"], row["of"], row["summary"]) for row in facts["rows"] if row["differs"]]
        verb = "differs" if len(named) == 1 else "differ"
        return (
            f"The model misses something: {len(named)} of {n} statistics {verb} from what it does (p ≤ {LEVEL:g}, "
            f"corrected): {listed(named)}. Do not draw conclusions about these from the model."
        )
    expected = n * (draws - 1) / (draws + 1)
    lie = (
        f"{inside} of {n} statistics of the data lie within the range of {counted(draws, 'simulated data set')}, and "
        f"about {expected:.0f} would if the model were right."
    )
    more = f"swirl report --draws {facts['enough_draws']}"
    if inside >= expected:
        return f"Nothing stands out, at a first look: {lie} To test each of them takes more simulations ({more})."
    return (
        f"Fewer than expected lie within range: {lie} So few simulations cannot say which of them differ; more can "
        f"({more})."
    )


def check_method(facts: dict[str, Any]) -> str:
    """Say what was simulated, and what the ranges leave out."""
    draws = facts["n_draws"]
    part = "" if facts["sessions"] == facts["all_sessions"] else f" (here: the first {facts['sessions']:,} sessions)"
    torn = " Where steps do not join up the data were cut for this, so bouts and switches are not among the statistics."
    torn = torn if facts["torn"] else ""
    made = f"{counted(draws, 'data set')} of the same size{part} {'was' if draws == 1 else 'were'} simulated"
    return (
        f"{made} from the model and decoded as the real one was. Parameters are the fitted ones, without their "
        f"uncertainty, so the ranges are on the narrow side.{torn}"
    )


WIDTH, PAD = 180.0, 8.0  # of a strip, in its own units


def occupancy_figure(fit: DecodedFit, checks: dict[str, Any]) -> dict[str, Any]:
    """Share of the steps in each state: data against the mean of the simulations."""
    real, drawn = checks["occupancy"], checks["simulated_occupancy"]
    top, dotted = 1.05 * max([*real, *drawn]), {"color": "@soft", "width": 1, "dash": "dot"}
    equal = lines("equal", [0, top], [0, top], line=dotted, hoverinfo="skip")
    names, dots = [label(name) for name in fit.state_names], {"size": 7, "color": "@accent", "opacity": 0.75}
    says = "%{text}<br>data %{x:.2%}, simulated %{y:.2%}<extra></extra>"
    states = points("states", real, drawn, text=names[: len(real)], marker=dots, hovertemplate=says)
    x = axis("share of steps, data", tickformat=".0%", rangemode="tozero")
    y = axis("share of steps, simulated", tickformat=".0%", rangemode="tozero")
    return figure([equal, states], 340, x, y, showlegend=False)


def check_strips(checks: dict[str, Any]) -> list[dict[str, Any]]:
    """For each statistic its words and the places of the dots in a small strip.

    >>> row = {"what": "staying", "of": "", "summary": "rate", "real": 2.0, "drawn": [1.0, 3.0], "low": 1.0,
    ...        "high": 3.0, "inside": True, "differs": False, "p_value": 0.05, "corrected_p_value": 0.3}
    >>> strip = check_strips({"rows": [row]})[0]
    >>> strip["words"], strip["real"], strip["at"], strip["drawn_at"]
    ('staying in place, share of steps', '2', 90.0, [8.0, 172.0])
    >>> strip["p"], strip["corrected_p"]
    ('0.05', '0.3')
    """
    strips = []
    for row in checks["rows"]:
        values = np.array([row["real"], *row["drawn"]])
        at = PAD + (WIDTH - 2 * PAD) * (values - values.min()) / (np.ptp(values) or 1)
        real_at, *drawn_at = np.round(at if np.ptp(values) else np.full(len(at), WIDTH / 2), 1).tolist()
        strips.append(
            {
                "words": statistic_words(row["what"], row["of"], row["summary"]),
                "real": number(row["real"]),
                "range": f"{number(row['low'])} – {number(row['high'])}",
                "inside": row["inside"],
                "differs": row["differs"],
                "p": number(row["p_value"], 2),
                "corrected_p": number(row["corrected_p_value"], 2),
                "at": real_at,
                "drawn_at": drawn_at,
                "width": WIDTH,
            }
        )
    return strips


def statistic_words(what: str, of: str, summary: str) -> str:
    """Say what a statistic is.

    >>> statistic_words("dwell time", "mode 0", "median"), statistic_words("visits per 100 steps", "water", "mean")
    ('bouts of mode 0, median', 'visits to water per 100 steps')
    """
    known = {
        "dwell time": f"bouts of {of}, {summary}",
        "return interval": f"steps until back at {of}, {summary}",
        "visits per 100 steps": f"visits to {of} per 100 steps{'' if summary == 'mean' else ', SD'}",
        "mode share": f"share of {of}",
        "switches per 100 steps": "switches per 100 steps",
        "backtracking": "turning back, share of steps",
        "staying": "staying in place, share of steps",
    }
    if what == "occupancy":
        return f"steps at {of}, share" if of else f"occupancy, {summary}"
    return known.get(what, ", ".join(part for part in (what, of, summary) if part))
