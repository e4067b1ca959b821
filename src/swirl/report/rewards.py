"""Rewards and choices: what each mode is rewarded for, and beside it what it does."""

from swirl.report.maps import map_facts
from swirl.report.modes import mode_facts
from swirl.report.section import ReportedFit, Section
from swirl.report.uncertainty import intervals_of


def rewards_section(fit: ReportedFit) -> Section | None:
    """Maps or tables of rewards and of moves; None where the model has no labelled states."""
    maps = fit.once(map_facts)
    if maps is None:
        return None
    preferred = [[place["state"] for place in fact["places"]] for fact in fit.once(mode_facts)]
    intervals = fit.once(intervals_of)
    facts = {
        "maps": maps | {"preferred": preferred},
        "intervals": intervals and {name: intervals[name] for name in ("preference", "rewards")},
    }
    values = {"maps": maps, "intervals": intervals}
    return Section("rewards", "Rewards and choices" if maps["gauges"] else "Choices", values, facts=facts)
