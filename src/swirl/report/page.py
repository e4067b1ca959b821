"""What stands on the page: the sections that apply, in order, and what its script reads."""

import shlex
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from swirl.analysis.comparison_result import Comparison
from swirl.analysis.decoded import decode
from swirl.plots.style import named_mode_colours
from swirl.report.animals import animals_section
from swirl.report.checks import checks_section
from swirl.report.comparison import comparison_section
from swirl.report.durations import durations_section
from swirl.report.goals import goals_section
from swirl.report.methods import methods_section
from swirl.report.provenance import provenance_section
from swirl.report.rewards import rewards_section
from swirl.report.section import ReportedFit, Section
from swirl.report.session import session_section
from swirl.report.signal import check_signal, signal_section
from swirl.report.summary import summary_section
from swirl.report.switching import switching_section
from swirl.report.uncertainty import read_intervals, uncertainty_section
from swirl.text import counted

SECTIONS: list[Callable[[ReportedFit], Section | None]] = [
    summary_section,
    comparison_section,
    rewards_section,
    goals_section,
    animals_section,
    session_section,
    switching_section,
    durations_section,
    checks_section,
    signal_section,
    uncertainty_section,
    methods_section,
    provenance_section,
]
"""In the order of the page. Each makes its section, or None where it does not apply to the fit."""


def contents(
    model: Any,
    data: Any,
    *,
    comparison: Any = None,
    signal: str | None = None,
    signal_window: Any = None,
    signal_bin: float | None = None,
    title: str | None = None,
    run: dict[str, Any] | None = None,
    n_draws: int = 0,
    intervals: Any = None,
    fit_file: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the template fills in, and the JSON that the page's script reads."""
    if comparison is not None and not isinstance(comparison, Comparison):
        raise ValueError(f"comparison is {type(comparison).__name__}: expected what swirl.compare(...) returned")
    decoded = decode(
        model, data, signal=signal, comparison=comparison, signal_window=signal_window, signal_bin=signal_bin
    )
    check_signal(decoded)
    fit = ReportedFit(
        **{part.name: getattr(decoded, part.name) for part in fields(decoded)},
        run=run,
        n_draws=n_draws,
        intervals=read_intervals(decoded, intervals),
        file="fit.nc" if fit_file is None else shlex.quote(str(fit_file)),
    )
    sections = [section for make in SECTIONS if (section := make(fit)) is not None]
    colours = named_mode_colours(fit.mode_names)
    page = {
        "title": title or f"{model.label} on {counted(len(fit.data), 'session')}",
        "made": datetime.now(UTC).strftime("%d %B %Y").lstrip("0"),
        "modes": [{"name": name, "colour": colour} for name, colour in zip(fit.mode_names, colours, strict=True)],
        "nouns": fit.nouns,
        "state_names": fit.state_names,
        "sections": sections,
    }
    facts: dict[str, Any] = {
        "modes": fit.mode_names,
        "colours": colours,
        "nouns": fit.nouns,
        "states": fit.state_names,
        "actions": fit.action_names,
        "figures": {name: figure for section in sections for name, figure in section.figures.items()},
    }
    for section in sections:
        facts |= section.facts
    return page, facts
