"""The reward forms that a user can ask for, as values."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True)
class Tabular:
    """A free reward for every history, or for every history and action.

    Parameters
    ----------
    on
        ``"state"``: r(h), as in the paper's experiments. ``"state-action"``: r(h, a), as in its definition.
    road
        ``"exact"``: through values or policies, no planning. ``"soft-q"``: the paper's own road, for ``on="state"``.
    """

    on: Literal["state", "state-action"] = "state"
    road: Literal["exact", "soft-q"] = "exact"

    def __post_init__(self) -> None:
        if self.on not in ("state", "state-action"):
            raise ValueError(f'on={self.on!r}: expected "state" or "state-action"')
        if self.road not in ("exact", "soft-q"):
            raise ValueError(f'road={self.road!r}: expected "exact" or "soft-q"')
        if self.on == "state-action" and self.road == "soft-q":
            raise ValueError('road="soft-q": for on="state-action" the closed form is the same optimum; use "exact"')


@dataclass(frozen=True, eq=False)
class Linear:
    """r = Σ_f w_f · features_f, a weight vector w for each mode.

    Parameters
    ----------
    features
        [state, feature], or [state, action, feature] with ``on="state-action"``, or [history, feature] in the
        order of `histories_` with ``on="history"``.

    Examples
    --------
    >>> Linear(np.eye(3)).on
    'state'
    """

    features: Any
    on: Literal["state", "state-action", "history"] = "state"

    def __post_init__(self) -> None:
        features = np.asarray(self.features, dtype=float)
        wanted = 3 if self.on == "state-action" else 2
        if self.on not in ("state", "state-action", "history"):
            raise ValueError(f'on={self.on!r}: expected "state", "state-action" or "history"')
        if features.ndim != wanted or not np.isfinite(features).all():
            raise ValueError(
                f"features has shape {features.shape}: expected {wanted} axes for on={self.on!r}, all entries finite"
            )
        object.__setattr__(self, "features", features)


@dataclass(frozen=True, eq=False)
class Network:
    """r(h) from one hidden layer of tanh units that see the states of the history.

    The prior is on the weights, ½ λ (‖output‖² + α² ‖input‖²): those inside tanh have no unit, so that only r/α counts.

    Parameters
    ----------
    hidden
        Number of hidden units.
    features
        [state, feature] that the units see of each state; by default each state is a feature of its own.
    """

    hidden: int = 16
    features: Any = None

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise ValueError(f"hidden={self.hidden}: expected at least 1")
        if self.features is not None:
            features = np.asarray(self.features, dtype=float)
            if features.ndim != 2 or not np.isfinite(features).all():
                raise ValueError(f"features has shape {features.shape}: expected [state, feature], all entries finite")
            object.__setattr__(self, "features", features)


@dataclass(frozen=True)
class Habit:
    """A habit that all modes share, on the whole history, and goals of each mode on a short one; they add in V.

    V_z(h) = habit(h) + goal_z(newest states of h). Where long histories say much about the next step whatever the
    animal wants, the habit learns that from all data together, and a mode has only its goals to learn.

    Parameters
    ----------
    goal_history
        Number of states that a goal sees; 1: a value for each place, 2: for each way into it.
    """

    goal_history: int = 2

    def __post_init__(self) -> None:
        if isinstance(self.goal_history, bool) or not isinstance(self.goal_history, int) or self.goal_history < 1:
            raise ValueError(f"goal_history={self.goal_history!r}: expected a whole number, at least 1")


RewardForm = Tabular | Linear | Network | Habit


def resolve_form(reward: str | RewardForm) -> RewardForm:
    """Turn a shorthand into a form.

    >>> resolve_form("state-action")
    Tabular(on='state-action', road='exact')
    """
    if isinstance(reward, RewardForm):
        return reward
    if isinstance(reward, str) and reward in ("state", "state-action"):
        return Tabular(reward)
    raise ValueError(
        f'reward={reward!r}: expected "state", "state-action", rewards.Linear(features), rewards.Network(hidden) or '
        "rewards.Habit(goal_history)"
    )
