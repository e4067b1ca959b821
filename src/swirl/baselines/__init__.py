"""The models that SWIRL is compared with, behind the same interface and the same honest score."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swirl.baselines.arhmm import ARHMM
    from swirl.baselines.drifting import DriftingReward
    from swirl.baselines.gaussian_arhmm import GaussianARHMM
    from swirl.baselines.iq_learn import IQLearn
    from swirl.baselines.iq_network import IQNetwork
    from swirl.baselines.markov import BackoffMarkov

_HOMES = {
    "ARHMM": "swirl.baselines.arhmm",
    "BackoffMarkov": "swirl.baselines.markov",
    "DriftingReward": "swirl.baselines.drifting",
    "GaussianARHMM": "swirl.baselines.gaussian_arhmm",
    "IQLearn": "swirl.baselines.iq_learn",
    "IQNetwork": "swirl.baselines.iq_network",
}

__all__ = ["ARHMM", "BackoffMarkov", "DriftingReward", "GaussianARHMM", "IQLearn", "IQNetwork"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'swirl.baselines' has no attribute {name!r}")
