"""Switching inverse reinforcement learning: what an animal wants, and when it changes its mind.

Names are imported when first used, so that importing swirl is quick and has no side effects.
"""

import sys
import warnings
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from swirl._version import __version__

if TYPE_CHECKING:
    from swirl import datasets, errors, plots, priors, report, rewards, switching
    from swirl import estimators as baselines
    from swirl.analysis import bootstrap as uncertainty
    from swirl.analysis import grid_search as selection
    from swirl.analysis import group_test as groups
    from swirl.analysis import metrics
    from swirl.analysis import predictive_checks as predictive
    from swirl.analysis import reward_signal as signals
    from swirl.analysis import triggered_average as triggered
    from swirl.analysis.comparison import compare
    from swirl.analysis.comparison_result import Comparison
    from swirl.data import environments
    from swirl.data.mdp import MDP
    from swirl.data.streamed import StreamedTrajectories
    from swirl.data.trajectories import Trajectories
    from swirl.errors import ImportNotice, Notice
    from swirl.estimators.registry import load, make, models
    from swirl.estimators.swirl import SWIRL
    from swirl.inference.online_filter import OnlineFilter
    from swirl.system import keep_compiled
    from swirl.workflows import import_recordings as recordings

_HOMES = {
    "MDP": "swirl.data.mdp",
    "Comparison": "swirl.analysis.comparison_result",
    "ImportNotice": "swirl.errors",
    "Notice": "swirl.errors",
    "OnlineFilter": "swirl.inference.online_filter",
    "SWIRL": "swirl.estimators.swirl",
    "StreamedTrajectories": "swirl.data.streamed",
    "Trajectories": "swirl.data.trajectories",
    "compare": "swirl.analysis.comparison",
    "keep_compiled": "swirl.system",
    "load": "swirl.estimators.registry",
    "make": "swirl.estimators.registry",
    "models": "swirl.estimators.registry",
}
_MODULES = ("datasets", "errors", "plots", "priors", "report", "rewards", "switching")
# Public modules whose code stands in a package: swirl.metrics is swirl.analysis.metrics, and so on.
_SHORT = {
    "baselines": ("swirl.estimators",),
    "environments": (
        "swirl.data.environments",
        "swirl.data.arenas",
        "swirl.data.passages",
        "swirl.io.environment_files",
    ),
    "groups": ("swirl.analysis.group_test",),
    "metrics": ("swirl.analysis.metrics", "swirl.analysis.panel", "swirl.analysis.forecasts"),
    "predictive": ("swirl.analysis.predictive_checks",),
    "recordings": ("swirl.workflows.import_recordings",),
    "selection": (
        "swirl.analysis.grid_search",
        "swirl.analysis.goal_discovery",
        "swirl.analysis.habit_or_goal",
        "swirl.analysis.null_test",
        "swirl.analysis.model_choice",
        "swirl.analysis.power",
    ),
    "signals": ("swirl.analysis.reward_signal",),
    "triggered": ("swirl.analysis.mode_signal", "swirl.analysis.triggered_average"),
    "uncertainty": ("swirl.analysis.bootstrap", "swirl.analysis.information"),
}
# Modules that the docs named before the packages were made: they still work, and say where they are now.
_MOVED = {
    "behaviour": ("swirl.analysis.behaviour", "swirl.data.segments"),
    "cautions": ("swirl.estimators.fit_warnings",),
    "checkup": ("swirl.workflows.check",),
    "comparison_files": ("swirl.analysis.comparison_json",),
    "exporters.matlab": ("swirl.io.export_matlab",),
    "exporters.nwb": ("swirl.io.nwb.writing",),
    "exporters.tables": ("swirl.io.export_tables",),
    "importers.episodes": ("swirl.io.episodes",),
    "importers.moseq": ("swirl.io.moseq",),
    "importers.nwb": ("swirl.io.nwb.reading",),
    "importers.places": ("swirl.io.places",),
    "importers.syllables": ("swirl.io.label_runs",),
    "importers.tables": ("swirl.io.session_table",),
    "importers.tracks": ("swirl.io.tracks",),
    "importers.visits": ("swirl.io.visits",),
    "mdp": ("swirl.data.mdp",),
    "model": ("swirl.estimators.swirl",),
    "naming": ("swirl.analysis.mode_names",),
    "online": ("swirl.inference.online_filter",),
    "registry": ("swirl.estimators.registry",),
    "robustness": ("swirl.reproduce.robustness",),
    "significance": ("swirl.analysis.significance",),
    "trajectories": ("swirl.data.trajectories",),
    "uncertainty_result": ("swirl.analysis.intervals",),
    "verdicts": ("swirl.analysis.verdicts",),
}

__all__ = [
    "MDP",
    "SWIRL",
    "Comparison",
    "ImportNotice",
    "Notice",
    "OnlineFilter",
    "StreamedTrajectories",
    "Trajectories",
    "__version__",
    "baselines",
    "compare",
    "datasets",
    "environments",
    "errors",
    "groups",
    "keep_compiled",
    "load",
    "make",
    "metrics",
    "models",
    "plots",
    "predictive",
    "priors",
    "recordings",
    "report",
    "rewards",
    "selection",
    "signals",
    "switching",
    "triggered",
    "uncertainty",
]


def _public(module: ModuleType) -> list[str]:
    """Names that a module offers: all that it has, only where it does not say."""
    return getattr(module, "__all__", dir(module))


class _Short(ModuleType):
    """A module by its short or former name: what it has is looked up, when first asked for, where it stands."""

    def __init__(self, name: str, homes: tuple[str, ...], moved: bool) -> None:
        super().__init__(f"swirl.{name}")
        self.__dict__.update(_homes=homes, _moved=moved)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            for home in self._homes:
                module = import_module(home)
                if name in _public(module) or (name not in vars(module) and hasattr(module, name)):  # or a former name
                    if self._moved:
                        told = f"{self.__name__}.{name} is now {home}.{name}; the old name will go in a later version"
                        warnings.warn(told, DeprecationWarning, stacklevel=2)
                    return getattr(module, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({name for home in self._homes for name in _public(import_module(home)) if name[0] != "_"})


# So that `from swirl.metrics import …` works as well as `swirl.metrics`.
for _names, _old in ((_SHORT, False), (_MOVED, True)):
    sys.modules.update({f"swirl.{_name}": _Short(_name, _homes, _old) for _name, _homes in _names.items()})
for _name in ("exporters", "importers"):
    sys.modules[f"swirl.{_name}"] = _Short(_name, (), moved=True)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"swirl.{name}")
    if name in _SHORT or name in _MOVED:
        return sys.modules[f"swirl.{name}"]
    raise AttributeError(f"module 'swirl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
