"""Predictive checks: occupancy of the states, and one small strip for each statistic."""

from typing import Any

from swirl.report.case import Case
from swirl.report.plain import label, number

WIDTH, PAD = 180.0, 8.0  # of a strip, in its own units


def occupancy_figure(case: Case, checks: dict[str, Any]) -> dict[str, Any]:
    """Share of the steps in each state: data against the mean of the simulations."""
    real, drawn = checks["occupancy"], checks["simulated_occupancy"]
    top = 1.05 * max([*real, *drawn])
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": "equal",
        "x": [0, top],
        "y": [0, top],
        "line": {"color": "@soft", "width": 1, "dash": "dot"},
        "hoverinfo": "skip",
    }
    points = {
        "type": "scatter",
        "mode": "markers",
        "name": "states",
        "x": real,
        "y": drawn,
        "text": [label(name) for name in case.state_names[: len(real)]],
        "marker": {"size": 7, "color": "@accent", "opacity": 0.75},
        "hovertemplate": "%{text}<br>data %{x:.2%}, simulated %{y:.2%}<extra></extra>",
    }
    layout = {
        "xaxis": {"title": {"text": "share of steps, data"}, "tickformat": ".0%", "rangemode": "tozero"},
        "yaxis": {"title": {"text": "share of steps, simulated"}, "tickformat": ".0%", "rangemode": "tozero"},
        "showlegend": False,
    }
    return {"data": [line, points], "layout": layout, "height": 340}


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
        low, high = min(row["low"], row["real"]), max(row["high"], row["real"])
        span = (high - low) or 1.0
        middle = high == low

        def at(value: float, low: float = low, span: float = span, middle: bool = middle) -> float:
            return WIDTH / 2 if middle else round(PAD + (WIDTH - 2 * PAD) * (value - low) / span, 1)

        words = statistic_words(row["what"], row["of"], row["summary"])
        strips.append(
            {
                "words": words,
                "real": number(row["real"]),
                "range": f"{number(row['low'])} – {number(row['high'])}",
                "inside": row["inside"],
                "differs": row["differs"],
                "p": number(row["p_value"], 2),
                "corrected_p": number(row["corrected_p_value"], 2),
                "at": at(row["real"]),
                "drawn_at": [at(value) for value in row["drawn"]],
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
        return f"time at {of}, share" if of else f"occupancy, {summary}"
    return known.get(what, ", ".join(part for part in (what, of, summary) if part))
