"""Choosing on training folds: the test sessions are never looked at (DESIGN §3)."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.estimator import HiddenModeEstimator, Scored, UnseenStatesWarning, as_trajectories
from swirl.folding import folds


@dataclass(frozen=True)
class Choice:
    """What was tried, how each did on the held-out folds, and what won."""

    best: dict[str, Any]
    candidates: list[dict[str, Any]]
    scores: Float[np.ndarray, "candidate fold"]
    """Held-out log-likelihood per step of each candidate in each fold."""

    @property
    def means(self) -> Float[np.ndarray, "candidate"]:
        """Mean over folds."""
        return self.scores.mean(axis=1)

    def table(self) -> list[dict[str, Any]]:
        """One row per candidate, best first: its settings, mean score and standard error over folds."""
        error = self.scores.std(axis=1, ddof=1) / np.sqrt(self.scores.shape[1])
        order = np.argsort(-self.means)
        return [{**self.candidates[i], "score": self.means[i], "standard_error": error[i]} for i in order]


def choose(
    model: Any,
    data: Any,
    grid: Any,
    *,
    n_folds: int = 3,
    of: Scored | None = None,
    callback: Callable[[str], Any] | None = None,
) -> Choice:
    """Try every combination of settings on folds of the training data and keep the best on average.

    Parameters
    ----------
    model
        The model to vary; it is not fitted or changed.
    data
        Training sessions only.
    grid
        For each constructor argument, the values to try.
    n_folds
        Folds are made of whole subjects where several are known, else of whole sessions.
    of
        What the score is of, one of the model's `currencies`; by default its own.
    callback
        Called with a few words on what is fitted next.

    Returns
    -------
    Choice
        ``choice.best`` goes into ``model.set_params(**choice.best).fit(data)``.

    Examples
    --------
    >>> from swirl.baselines import BackoffMarkov
    >>> from swirl.datasets import gridworld
    >>> data = gridworld(n_sessions=6, n_steps=60)
    >>> choose(BackoffMarkov(data.env), data.trajectories, {"order": [0, 1]}, n_folds=2).best
    {'order': 1}
    """
    data = as_trajectories(data)
    if not isinstance(model, HiddenModeEstimator) or not isinstance(grid, Mapping):
        raise ValueError(
            f"model is {type(model).__name__} and grid {type(grid).__name__}: expected a model, such as "
            'swirl.make("S-2", env), and a dict of lists, such as {"n_modes": [2, 3]}'
        )
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise ValueError(f"grid[{name!r}]={values!r}: expected a list of values to try, such as [{values!r}]")
    unknown = [name for name in grid if name not in model.get_params()]
    if unknown or not grid or any(len(values) == 0 for values in grid.values()):
        raise ValueError(
            f"grid: expected at least one value for each of some of {', '.join(model.get_params())}"
            + (f"; got {', '.join(unknown)}" if unknown else "")
        )
    candidates = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    parts = folds(data, n_folds)
    scores = np.empty((len(candidates), n_folds))
    for i, settings in enumerate(candidates):
        for j, held_out in enumerate(parts):
            if callback is not None:
                tried = ", ".join(f"{key}={value}" for key, value in settings.items())
                callback(f"{tried}, fold {j + 1} of {n_folds}")
            fresh = type(model)(**{**model.get_params(), **settings})
            rest = np.setdiff1d(np.arange(len(data)), held_out)
            with warnings.catch_warnings():  # the same for every candidate; the final score will tell
                warnings.simplefilter("ignore", UnseenStatesWarning)
                scores[i, j] = fresh._fit_to_score(data[rest]).score(data[held_out], of=of)
    return Choice(candidates[int(np.argmax(scores.mean(axis=1)))], candidates, scores)
