"""Fits as tasks (`analysis.tasks`): to all sessions, or to all but those of a fold; kept, or scored at once."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from numbers import Integral
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from swirl.analysis.tasks import FIT, Engine, Folder, Progress, Shared, Task, carried_out, results
from swirl.data.environments import estimated_again
from swirl.data.folds import folds
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import HiddenModeEstimator, Scored, quietly
from swirl.estimators.free_parameters import information_criteria
from swirl.estimators.registry import load


def varied(model: HiddenModeEstimator, settings: Mapping[str, Any]) -> HiddenModeEstimator:
    """A new model like this one, with other settings."""
    return type(model)(**{**model.get_params(), **settings})


def learnt_from(train: Trajectories, model: HiddenModeEstimator) -> dict[str, Any]:
    """Settings by which a model knows no session but these: its environment, where that was estimated."""
    env = model.env
    return {} if env is None or env.estimated is None else {"env": estimated_again(env, train)}


Fits = Callable[[Sequence[tuple[HiddenModeEstimator, "np.ndarray | None"]]], list[tuple[Any, float]]]
"""Fits models, each to all training sessions but those held out (None: to all of them); returns, in their order, the
fitted ones and the seconds that each took."""


def fits_on_tasks(
    shared: Shared,
    folder: Folder,
    engine: Engine | None = None,
    callback: Callable[[Progress], Any] | None = None,
    whole: Callable[[HiddenModeEstimator, Shared], Task] | None = None,
) -> Fits:
    """Who makes fits as tasks: each is kept in the folder, and what is there is not made again.

    `shared` holds the sessions, ``Shared({"data": train})``. `whole` makes the task of a fit to all of them, such as
    `whole_task`; by default one that counts no parameters.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from swirl.baselines import BackoffMarkov
    >>> from swirl.datasets import gridworld
    >>> data = gridworld(n_sessions=12, n_steps=100)
    >>> with TemporaryDirectory() as place:
    ...     fits = fits_on_tasks(Shared({"data": data.trajectories}), Folder(f"{place}/tasks"))
    ...     [len(fitted.training_sessions_) for fitted, _ in fits([(BackoffMarkov(data.env), np.array([0, 1]))])]
    [10]
    """

    def task(model: HiddenModeEstimator, held_out: "np.ndarray | None") -> Task:
        if held_out is None and whole is not None:
            return whole(model, shared)
        out = None if held_out is None else [int(i) for i in held_out]
        return Task(kept_fit, {"model": model, "held_out": out}, shared, {**_told(model), "held_out": out})

    def fits(asked: Sequence[tuple[HiddenModeEstimator, "np.ndarray | None"]]) -> list[tuple[Any, float]]:
        tasks = [task(model, held_out) for model, held_out in asked]
        outcomes = carried_out(tasks, folder=folder, engine=engine, callback=callback)
        results(tasks, outcomes)
        return [(load(folder.fit(own)), outcome.seconds) for own, outcome in zip(tasks, outcomes, strict=True)]

    return fits


def whole_task(model: HiddenModeEstimator, shared: Shared, label: Mapping[str, Any] | None = None) -> Task:
    """The task of a fit to all sessions that counts parameters too (`whole_fit`)."""
    told = _told(model) if label is None else dict(label)
    return Task(whole_fit, {"model": model, "settings": {}}, shared, {**told, "fold": None})


def _told(model: HiddenModeEstimator) -> dict[str, Any]:
    """What a model is, in numbers and words."""
    return {"model": type(model).__name__} | {
        key: value for key, value in model.get_params().items() if isinstance(value, int | float | str)
    }


def kept_fit(
    model: HiddenModeEstimator,
    data: Trajectories,
    held_out: Sequence[int] | None,
    told: Callable[[Any], None] | None = None,
) -> dict[str, Any]:
    """Fit a model to all sessions, or for its score alone to all but some, and keep it (a task)."""
    with quietly():
        if held_out is None:
            own = _fitted(varied(model, {}), data, told)
        else:
            own = fitted_without(np.asarray(held_out), model, data, False, told)
    return {**_how_it_ended(own), FIT: _saved(own)}


def _fitted(model: Any, data: Trajectories, told: Any) -> Any:
    """Fit a model to all sessions; one that was interrupted is no fit."""
    model.fit(data, **({"progress": False, "callback": told} if model.fitted_by_em else {}))
    if model.fitted_by_em and any(restart.status == "interrupted" for restart in model.restarts_):
        raise KeyboardInterrupt  # `fit` ends well on Ctrl-C, but what is not done must not be kept
    return model


def _saved(model: Any) -> bytes:
    with TemporaryDirectory() as folder:
        return model.save(f"{folder}/fit.nc").read_bytes()


def fitted_without(
    held_out: Any, model: HiddenModeEstimator, data: Trajectories, progress: bool | None, told: Any
) -> HiddenModeEstimator:
    """A new model like this one, fitted to all sessions but some; so is its environment, where it was estimated."""
    rest = data[np.setdiff1d(np.arange(len(data)), held_out)]
    return varied(model, learnt_from(rest, model)).fit_to_score(rest, progress=progress, callback=told)


def fold_scores(
    model: HiddenModeEstimator,
    data: Trajectories,
    settings: Mapping[str, Any],
    held_out: Sequence[int],
    of: Scored | None = None,
    told: Callable[[Any], None] | None = None,
) -> dict[str, Any]:
    """Fit a model with other settings to all sessions but those held out, and score these (a task of `fold_tasks`)."""
    held = np.asarray(held_out)
    with quietly():
        fitted = fitted_without(held, varied(model, settings), data, False, told)
        scores = fitted.session_scores(data[held], of=of)
        steps = [int(scored.sum()) for scored in fitted.scored_steps(data[held], of=of)]
    if sum(steps) == 0:
        raise ValueError("nothing was observed in the sessions held out, so there is nothing to score")
    return {"log_likelihoods": scores, "scored_steps": steps, **_how_it_ended(fitted)}


def whole_fit(
    model: HiddenModeEstimator,
    data: Trajectories,
    settings: Mapping[str, Any],
    told: Callable[[Any], None] | None = None,
) -> dict[str, Any]:
    """Fit a model with other settings to all sessions, and keep it (a task)."""
    with quietly():
        own: Any = _fitted(varied(model, settings), data, told)
    told_of = information_criteria(own, data) if own.fitted_by_em else {"log_likelihood": None}
    return {**told_of, **_how_it_ended(own), "report": str(own.fit_report_), FIT: _saved(own)}


def _how_it_ended(model: Any) -> dict[str, Any]:
    if not model.fitted_by_em:
        return {}
    return {"converged": bool(model.converged_), "objective": float(model.objective_trace_[-1])}


def fold_tasks(
    model: HiddenModeEstimator,
    data: Trajectories,
    candidates: Sequence[Mapping[str, Any]],
    *,
    n_folds: int = 3,
    n_repeats: int = 1,
    of: Scored | None = None,
) -> list[Task]:
    """One task for each candidate, repeat and fold, in this order of nesting; `choice_of` makes of them a choice.

    The folds of every repeat are cut otherwise, and its fits begin from another seed.

    Examples
    --------
    >>> from swirl.analysis.grid_search import choice_of
    >>> from swirl.analysis.tasks import carried_out
    >>> from swirl.baselines import BackoffMarkov
    >>> from swirl.datasets import gridworld
    >>> data = gridworld(n_sessions=12, n_steps=100)
    >>> orders = [{"order": 0}, {"order": 1}]
    >>> tasks = fold_tasks(BackoffMarkov(data.env), data.trajectories, orders, n_folds=2, n_repeats=2)
    >>> len(tasks), choice_of(tasks, carried_out(tasks)).best
    (8, {'order': 1})
    """
    shared = Shared({"model": model, "data": data})
    seed = model.get_params().get("random_state")
    seed = seed if isinstance(seed, Integral) else None
    tasks = []
    for settings, repeat in product(candidates, range(n_repeats)):
        begins = {} if seed is None else {"random_state": int(settings.get("random_state", seed)) + repeat}
        for j, fold in enumerate(folds(data, n_folds, repeat)):
            arguments = {"settings": {**settings, **begins}, "held_out": fold.tolist(), "of": of}
            tasks.append(Task(fold_scores, arguments, shared, {**settings, "repeat": repeat, "fold": j}))
    return tasks
