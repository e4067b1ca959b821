"""Habit or goal, of a user's files (`swirl goals`)."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from swirl.analysis.habit_or_goal import HabitOrGoal, habit_or_goal
from swirl.analysis.tasks import Progress
from swirl.data.folds import max_folds
from swirl.rewards.forms import Goals
from swirl.text import counted
from swirl.workflows.config import Run
from swirl.workflows.fit import Prepared, prepare, provenance
from swirl.workflows.goals import search_settings, with_found, with_what_follows


def run_habit_or_goal(
    run: Run,
    *,
    command: str | None = None,
    runs: bool = True,
    callback: Callable[[str], Any] | None = None,
    progress: Callable[[Progress], Any] | None = None,
) -> tuple[HabitOrGoal, Prepared]:
    """Judge the sessions of a run that has ``reward="goals"``; those that it holds out take no part.

    The model with goals carries `run_`, as one that `swirl fit` made does.
    """
    ready = prepare(run)
    form = cast(Goals, ready.run.model.reward)
    n_folds = max_folds(ready.train, 3)
    if n_folds < 2:
        sessions = counted(len(ready.train), "session")
        raise ValueError(f"data have {sessions}: two or more are needed, since goals have to pay on sessions held out")
    began = time.perf_counter()
    found = habit_or_goal(
        ready.train, ready.env, form.places or None, form=replace(form, places=(), names=()), n_folds=n_folds,
        runs=runs, random_state=ready.run.fit.seed, callback=callback, progress=progress,
        **search_settings(ready.run),
    )  # fmt: skip
    model = found.model
    if model is not None:
        done = with_what_follows(with_found(ready.run, model, history=model.history, reward_prior=model.reward_prior))
        model.run_ = provenance(done, ready, command, time.perf_counter() - began)
    return found, ready
