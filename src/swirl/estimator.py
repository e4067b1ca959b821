"""What every model shares: parameters as scikit-learn keeps them, the honest score, decoding, saving.

A subclass says how it reads data (`_encode`), how likely each step is in each mode
(`_step_log_likelihoods`), and sets `initial_modes_` and `mode_transitions_` when fitted.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.encoding import Encoded
from swirl.messages import filter_sessions, smooth_sessions, viterbi_sessions
from swirl.trajectories import Trajectories

Scored = Literal["action", "next_state"]
E = TypeVar("E", bound="Estimator")


class NotFittedError(ValueError, AttributeError):
    """A fitted model is needed (both kinds, as scikit-learn has it, so that either `except` works)."""


def as_trajectories(data: Any) -> Trajectories:
    """Accept `Trajectories`, or a list of them (what scikit-learn's splitters make of one).

    >>> as_trajectories([Trajectories([[0, 1]]), Trajectories([[1, 1]])]).n_steps
    4
    """
    if isinstance(data, Trajectories):
        return data
    if isinstance(data, Sequence) and data and all(isinstance(part, Trajectories) for part in data):
        return Trajectories.concatenate(list(data))
    raise ValueError(
        f"data is {type(data).__name__}: expected swirl.Trajectories; build it as "
        "swirl.Trajectories(states, actions) from lists of integer arrays, one per session"
    )


class Estimator:
    """Constructor arguments kept verbatim and resolved in `fit`, so that `sklearn.base.clone` works."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor arguments."""
        del deep  # no parameter is itself an estimator
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self: E, **parameters: Any) -> E:
        """Change constructor arguments; they take effect at the next `fit` (`impossible` at once)."""
        known = self._parameter_names()
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise ValueError(f"{', '.join(unknown)}: no such parameter; there are {', '.join(known)}")
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False),
        )

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        shown = []
        for name, value in self.get_params().items():
            default = defaults[name].default
            if default is inspect.Parameter.empty:
                shown.append(repr(value))
            elif value is not default and repr(value) != repr(default):
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


class HiddenModeEstimator(Estimator, ABC):
    """A model whose hidden mode emits actions: scoring and decoding from the messages."""

    initial_modes_: Float[np.ndarray, "mode"]
    mode_transitions_: Float[np.ndarray, "state mode next_mode"]

    @abstractmethod
    def fit(self: E, data: Any, y: None = None) -> E:
        """Fit to `Trajectories`."""

    @abstractmethod
    def _encode(self, data: Trajectories) -> Encoded:
        """Number the data as the model reads them."""

    @abstractmethod
    def _step_log_likelihoods(
        self, encoded: Encoded, of: Scored
    ) -> tuple[Float[np.ndarray, "step mode"], Bool[np.ndarray, "step"]]:
        """Log-likelihood of each step in each mode (0 where nothing was observed) and which steps count."""

    def _check_fitted(self) -> None:
        if not hasattr(self, "mode_transitions_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet: call fit(train) or swirl.load(path) first"
            )

    def _chain(self) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(divide="ignore"):
            return np.log(self.initial_modes_), np.log(self.mode_transitions_)

    def _ready(self, data: Any, of: Scored = "action") -> tuple[Encoded, np.ndarray, np.ndarray]:
        self._check_fitted()
        if of not in get_args(Scored):
            raise ValueError(f'of={of!r}: expected "action" or "next_state"')
        encoded = self._encode(as_trajectories(data))
        return encoded, *self._step_log_likelihoods(encoded, of)

    def _increments(self, data: Any, of: Scored) -> tuple[Encoded, np.ndarray, np.ndarray]:
        encoded, log_likelihoods, scored = self._ready(data, of)
        _, increments = filter_sessions(
            *self._chain(), encoded.split_chains(encoded.states), encoded.split_chains(log_likelihoods)
        )
        return encoded, np.concatenate(increments), scored

    def log_likelihood(self, data: Any, *, of: Scored = "action") -> Float[np.ndarray, "session"]:
        """Log-likelihood of each session: Σ_t log p(a_t | s_1:t, a_1:t−1), from the forward filter alone.

        Parameters
        ----------
        data
            `Trajectories`, or a list of them.
        of
            ``"action"``, or ``"next_state"``: actions with the same successor are merged, the currency for
            comparing with models that emit states.
        """
        encoded, increments, _ = self._increments(data, of)
        return np.array([part.sum() for part in encoded.split_sessions(increments)])

    def score(self, data: Any, y: None = None, *, of: Scored = "action") -> float:
        """Log-likelihood per observed step, in nats: higher is better.

        The number of steps it is an average over is `n_scored(data)`.
        """
        del y  # scikit-learn's signature
        _, increments, scored = self._increments(data, of)
        if not scored.any():
            raise ValueError("data: no action was observed in any session, so there is nothing to score")
        return float(increments.sum() / scored.sum())

    def n_scored(self, data: Any, *, of: Scored = "action") -> int:
        """Number of steps that `score` averages over."""
        return int(self._ready(data, of)[2].sum())

    def predict(self, data: Any) -> list[Int[np.ndarray, "time"]]:
        """Most likely mode path of each session (Viterbi)."""
        encoded, log_likelihoods, _ = self._ready(data)
        paths = viterbi_sessions(
            *self._chain(), encoded.split_chains(encoded.states), encoded.split_chains(log_likelihoods)
        )
        return encoded.split_sessions(np.concatenate(paths))

    def predict_proba(self, data: Any) -> list[Float[np.ndarray, "time mode"]]:
        """p(z_t | whole session) for each step: smoothed, so it has seen the future."""
        encoded, log_likelihoods, _ = self._ready(data)
        marginals = smooth_sessions(
            *self._chain(), encoded.split_chains(encoded.states), encoded.split_chains(log_likelihoods)
        )
        return encoded.split_sessions(np.concatenate(marginals))

    def filter_proba(self, data: Any) -> list[Float[np.ndarray, "time mode"]]:
        """p(z_t | s_1:t, a_1:t) for each step: causal."""
        encoded, log_likelihoods, _ = self._ready(data)
        filtered, _ = filter_sessions(
            *self._chain(), encoded.split_chains(encoded.states), encoded.split_chains(log_likelihoods)
        )
        return encoded.split_sessions(np.concatenate(filtered))
