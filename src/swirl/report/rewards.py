"""Rewards and choices: what each mode is rewarded for, and beside it what it does."""

from swirl.report.maps import map_facts
from swirl.report.modes import mode_facts
from swirl.report.section import ReportedFit, Section
from swirl.report.uncertainty import intervals_of

GAUGE = (
    "Different rewards can lead to exactly the same behaviour, and no recording can tell them apart: rewards are known "
    "only up to a “gauge”. The colours show one member of each family of equivalent rewards. “As fitted” is the one "
    "that the prior of the fit preferred; “least norm” is the smallest of them, and the one to use when rewards of "
    "different fits or animals are compared. Do not read much into the size or the sign at a single place. The "
    "picture beside it has no such freedom: the moves that a mode prefers are the same for all rewards of the family."
)


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
    values = {"maps": maps, "intervals": intervals, "gauge": GAUGE}
    return Section("rewards", "Rewards and choices" if maps["gauges"] else "Choices", values, facts=facts)
