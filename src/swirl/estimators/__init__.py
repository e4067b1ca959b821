"""The models that SWIRL is compared with, behind the same interface and the same honest score."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swirl.estimators.arhmm import ARHMM
    from swirl.estimators.drifting_reward import DriftingReward
    from swirl.estimators.gaussian_arhmm import GaussianARHMM
    from swirl.estimators.iq_learn import IQLearn
    from swirl.estimators.iq_network import IQNetwork
    from swirl.estimators.markov import BackoffMarkov

_HOMES = {
    "ARHMM": "swirl.estimators.arhmm",
    "BackoffMarkov": "swirl.estimators.markov",
    "DriftingReward": "swirl.estimators.drifting_reward",
    "GaussianARHMM": "swirl.estimators.gaussian_arhmm",
    "IQLearn": "swirl.estimators.iq_learn",
    "IQNetwork": "swirl.estimators.iq_network",
}

__all__ = ["ARHMM", "BackoffMarkov", "DriftingReward", "GaussianARHMM", "IQLearn", "IQNetwork"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'swirl.estimators' has no attribute {name!r}")
