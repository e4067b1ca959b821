"""Switching inverse reinforcement learning: what an animal wants, and when it changes its mind.

Names are imported when first used, so that importing swirl is quick and has no side effects.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from swirl._version import __version__

if TYPE_CHECKING:
    from swirl import (
        baselines,
        datasets,
        environments,
        metrics,
        plots,
        predictive,
        priors,
        report,
        rewards,
        selection,
        signals,
        switching,
        triggered,
        uncertainty,
    )
    from swirl.comparing import compare
    from swirl.comparison import Comparison
    from swirl.faults import ImportNotice, Notice
    from swirl.mdp import MDP
    from swirl.model import SWIRL
    from swirl.online import OnlineFilter
    from swirl.registry import load, make, models
    from swirl.trajectories import Trajectories

_HOMES = {
    "MDP": "swirl.mdp",
    "Comparison": "swirl.comparison",
    "ImportNotice": "swirl.faults",
    "Notice": "swirl.faults",
    "OnlineFilter": "swirl.online",
    "SWIRL": "swirl.model",
    "Trajectories": "swirl.trajectories",
    "compare": "swirl.comparing",
    "load": "swirl.registry",
    "make": "swirl.registry",
    "models": "swirl.registry",
}
_MODULES = ("baselines", "datasets", "environments", "metrics", "plots", "predictive", "priors", "report", "rewards")
_MODULES += ("selection", "signals", "switching", "triggered", "uncertainty")

__all__ = [
    "MDP",
    "SWIRL",
    "Comparison",
    "ImportNotice",
    "Notice",
    "OnlineFilter",
    "Trajectories",
    "__version__",
    "baselines",
    "compare",
    "datasets",
    "environments",
    "load",
    "make",
    "metrics",
    "models",
    "plots",
    "predictive",
    "priors",
    "report",
    "rewards",
    "selection",
    "signals",
    "switching",
    "triggered",
    "uncertainty",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"swirl.{name}")
    raise AttributeError(f"module 'swirl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
