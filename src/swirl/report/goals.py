"""Goals: when each is pursued, whether and how straight it is reached, and what comes next."""

from typing import Any

import numpy as np

from swirl.analysis.decoded import DecodedFit
from swirl.analysis.pursuits import Pursuits, decoded_goals, find_pursuits, goal_summary, steps_by_distance
from swirl.plots.goals import aside
from swirl.plots.style import named_mode_colours
from swirl.report.figures import LEGEND, axis, figure, label, lines, points
from swirl.report.maps import map_facts
from swirl.report.section import ReportedFit, Section
from swirl.text import number, one_decimal, percent

MAX_STATES = 6  # of a region, that are named
SMALLEST, LARGEST = 7.0, 20.0  # dots, in pixels: the area is the number of pursuits


def goals_section(fit: ReportedFit) -> Section | None:
    """Where the goals are, how they are pursued and reached; None for a model without goals."""
    if not fit.model.goals:
        return None
    given = decoded_goals(fit)
    found = find_pursuits(**given)
    rows = goal_rows(fit, goal_summary(found, **given))
    maps = fit.once(map_facts)
    values = {
        "rows": rows,
        "on_map": maps is not None and maps["kind"] != "table",
        "until_reached": fit.model.get_params().get("switching") == "until-reached",
        "expected_cost": next((number(goal.expected_cost) for goal in fit.model.goals if goal.expected_cost), None),
        "timed": bool(found.timed.any()),
    }
    figures = {"time-to-goal": time_figure(fit, found)} if values["timed"] else {}
    marks = [{"mode": row["mode"], "name": row["short"], "states": list(given["goals"][row["mode"]])} for row in rows]
    return Section("goals", "Goals", values, figures, {"goals": marks})


def goal_rows(fit: DecodedFit, summary: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of both tables, in words."""
    rows = []
    for goal, told in zip(fit.model.goals, summary, strict=True):
        following = told["next_modes"]
        followed = sum(following.values())
        name = fit.mode_names[goal.mode]
        rows.append(
            {
                "mode": goal.mode,
                "name": name,
                "short": name.removeprefix("to "),
                "states": list(fit.states(list(goal.states[:MAX_STATES]))),
                "more": max(len(goal.states) - MAX_STATES, 0),
                "share": percent(told["share_of_steps"]),
                "cost": None if goal.cost is None else number(goal.cost),
                "pursuits": number(told["pursuits"]),
                "reached": percent(told["share_reached"]),
                "steps": quartiles(told["steps_to_goal"]),
                "excess": "—" if np.isnan(told["excess"][1]) else one_decimal(told["excess"][1]),
                **{measure: decimals(told[measure]) for measure in ("precision", "recall", "f1")},
                "arrivals": number(told["reached"]),
                "stays": quartiles(told["stays"]),
                "next": [percent(following.get(k, 0) / followed) if followed else "—" for k in range(fit.n_modes)],
            }
        )
    return rows


def quartiles(values: list[float]) -> str:
    """A median, and the quartiles around it.

    >>> quartiles([5.0, 8.0, 10.5]), quartiles([1.0, 1.0, 1.0]), quartiles([float("nan")] * 3)
    ('8 (5 to 10.5)', '1 (1 to 1)', '—')
    """
    if np.isnan(values).any():
        return "—"
    low, middle, high = (one_decimal(value) for value in values)
    return f"{middle} ({low} to {high})"


def decimals(share: float) -> str:
    """A share from 0 to 1 with two decimals, as F1 is told.

    >>> decimals(0.957), decimals(float("nan"))
    ('0.96', '—')
    """
    return "—" if np.isnan(share) else f"{share:.2f}"


def time_figure(fit: DecodedFit, found: Pursuits) -> dict[str, Any]:
    """Steps to each goal against the fewest that it would take: medians with quartiles, and the line of equality."""
    colours = named_mode_colours(fit.mode_names)
    by_mode = {goal.mode: steps_by_distance(*found.of(goal.mode)) for goal in fit.model.goals}
    most = max(float(by["pursuits"].max(initial=0.0)) for by in by_mode.values())
    far = max(float(by["distance"].max(initial=0.0)) for by in by_mode.values())
    dotted = {"color": "@soft", "width": 1, "dash": "dot"}
    traces = [lines("the shortest way", [0, far], [0, far], line=dotted, showlegend=False, hoverinfo="skip")]
    rows: list[list[Any]] = [["goal", "shortest", "pursuits", "lower_quartile", "median", "upper_quartile"]]
    for place, (mode, by) in enumerate(by_mode.items()):
        if not len(by["distance"]):
            continue
        name, low, median, high = fit.mode_names[mode], by["low"], by["median"], by["high"]
        traces.append(
            points(
                label(name),
                (by["distance"] + aside(place, len(by_mode), far)).tolist(),
                median.tolist(),
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": (high - median).tolist(),
                    "arrayminus": (median - low).tolist(),
                    "color": colours[mode],
                    "thickness": 1.6,
                    "width": 0,
                },
                marker={
                    "color": colours[mode],
                    "size": np.round(SMALLEST + (LARGEST - SMALLEST) * np.sqrt(by["pursuits"] / most), 1).tolist(),
                    "opacity": 0.85,
                    "line": {"width": 1, "color": "@soft"},
                },
                customdata=np.stack([by["distance"], low, high, by["pursuits"]], axis=1).tolist(),
                hovertemplate="at least %{customdata[0]} steps: median %{y} (%{customdata[1]} to %{customdata[2]})<br>"
                "%{customdata[3]} pursuits<extra>" + label(name) + "</extra>",
            )
        )
        columns = (by["distance"], by["pursuits"], low, median, high)
        rows += [[name, *(float(value) for value in row)] for row in zip(*columns, strict=True)]
    x = axis("fewest steps to the goal, when it is taken up", rangemode="tozero")
    y = axis("steps until the goal is reached", rangemode="tozero")
    return figure(traces, 380, x, y, legend=LEGEND | {"itemsizing": "constant"}) | {"csv": rows}
