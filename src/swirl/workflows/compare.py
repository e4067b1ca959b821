"""Models side by side from a configuration: K chosen on training folds, test sessions scored once (`swirl compare`)."""

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any

from swirl.analysis.cluster import engine_for
from swirl.analysis.comparison import compare
from swirl.analysis.comparison_result import Comparison
from swirl.analysis.fit_tasks import fits_on_tasks
from swirl.analysis.tasks import Folder, Progress, Shared, some_folder
from swirl.data.folds import max_folds
from swirl.errors import SameAnimalsWarning
from swirl.estimators.registry import fixed_arguments, has_goals, keeps, known_arguments, make
from swirl.estimators.swirl import SWIRL
from swirl.rewards.forms import Goals
from swirl.text import counted
from swirl.workflows.config import Run
from swirl.workflows.fit import Prepared, check_memory, given_arguments, prepare, provenance
from swirl.workflows.goals import for_goal_models, read_goals

HOLD_OUT = 5  # every fifth animal (session, where fewer than five animals are known), where a run does not say


def run_comparison(
    run: Run,
    *,
    command: str | None = None,
    callback: Callable[[str], Any] | None = None,
    folder: Any = None,
    scheduler: str | None = None,
    n_workers: int | None = None,
    progress: Callable[[Progress], Any] | None = None,
) -> tuple[Comparison, Prepared]:
    """Hold sessions out, choose each model's number of modes on folds of the rest, fit, and score the held-out ones.

    Held out are whole animals where five or more are known and the run does not say otherwise. Each fitted model
    carries `run_`, as one that `swirl fit` made does.

    With a `folder`, a `scheduler` or `n_workers` the fits are tasks (`analysis.tasks`): each is kept in the folder, and
    what is there is not made again. `progress` hears how many are done, and about how long the others will take.
    """
    asked = run.compare
    twice = sorted({name for name in asked.models if asked.models.count(name) > 1})
    if twice:
        raise ValueError(f"models: {', '.join(twice)} is there twice; give each once")
    free = {
        name: "n_modes" in known_arguments(name) and "n_modes" not in fixed_arguments(name) for name in asked.models
    }
    ready = prepare(for_goal_models(run), every=HOLD_OUT, names=asked.models)
    run = ready.run
    n_folds = _folds(run, ready) if len(asked.modes) > 1 and any(free.values()) else asked.folds
    given, goals = _arguments(run), read_goals(asked.goals, ready.env)
    need = 0
    for name in asked.models:
        model = make(name, ready.env, **_own(name, given), **({"n_modes": max(asked.modes)} if free[name] else {}))
        if isinstance(model, SWIRL):
            try:
                need = max(need, check_memory(model, ready.train).total)
            except ValueError as fault:  # before any model is fitted
                raise ValueError(f"{name}: {fault} Or compare without {name} (--models).") from None
    several = len(asked.modes) > 1
    one: dict[str, Any] = {"n_modes": asked.modes[0]} if not several and any(free.values()) else {}
    with warnings.catch_warnings(), ExitStack() as stack:
        warnings.simplefilter("ignore", SameAnimalsWarning)  # it is among the remarks
        fits = None
        if folder is not None or scheduler is not None or n_workers is not None:
            kept = stack.enter_context(some_folder(None if folder is None else Folder(folder)))
            engine = stack.enter_context(engine_for(scheduler, n_workers, need, callback))
            fits = fits_on_tasks(Shared({"data": ready.train}), kept, engine, progress)
        result = compare(
            asked.models,
            ready.train,
            ready.test,
            env=ready.env,
            of=asked.score,
            tune={name: {"n_modes": list(asked.modes)} for name in asked.models if free[name]} if several else None,
            n_folds=n_folds,
            goals=goals,
            callback=callback,
            progress=progress,
            fits=fits,
            **given,
            **one,
        )
    twins = {twin: name for name, twin in result.one_mode.items() if twin not in asked.models}
    for name, seconds in zip(result.names, result.seconds, strict=True):
        model, family = result.models[name], twins.get(name, name)
        fixed = {
            field: None for field in ("history", "switching") if not _takes(family, field, getattr(run.model, field))
        }
        if isinstance(run.model.reward, Goals):  # with one mode: without places
            fixed["reward"] = model.get_params()["reward"] if has_goals(family) else None
        own = run.model.model_copy(update={"name": family, "modes": result.n_modes(name), **fixed})
        model.run_ = provenance(run.model_copy(update={"model": own}), ready, command, float(seconds))
    return result, ready


def planned(run: Run) -> str:
    """What a comparison will fit, in a line, before it begins.

    >>> from swirl.workflows.config import settings
    >>> print(planned(settings(None, {"data": "s.csv", "compare": {"modes": [1, 2, 3]}}, "compare")))
    To fit: 4 models × 3 numbers of modes × 3 folds, 2 models without a choice of modes × 3 folds, then each on all \
training sessions.
    """
    asked = run.compare
    free = [n for n in asked.models if "n_modes" in known_arguments(n) and "n_modes" not in fixed_arguments(n)]
    fixed, n_modes = len(asked.models) - len(free), len(set(asked.modes))
    on = f" × {counted(asked.folds, 'fold')}" if asked.folds else ""
    if n_modes == 1:
        what = [f"{counted(len(asked.models), 'model')}{on}"]
    else:
        what = [f"{counted(len(free), 'model')} × {n_modes} numbers of modes{on}"] * bool(free)
        what += [f"{counted(fixed, 'model')} without a choice of modes{on}"] * bool(fixed)
    return f"To fit: {', '.join(what)}, then each on all training sessions."


def save_fits(result: Comparison, folder: Any, *, overwrite: bool = False) -> list[Path]:
    """Save every compared model, by its name, for `swirl report`, `swirl plot` and the rest."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    return [result.models[name].save(folder / fit_file(name), overwrite=overwrite) for name in result.names]


def fit_file(name: str) -> str:
    """The file of a compared model.

    >>> fit_file("S-1"), fit_file("S-1, one mode")
    ('S-1.nc', 'S-1-one-mode.nc')
    """
    return f"{'-'.join(name.replace(',', ' ').split())}.nc"


def _folds(run: Run, ready: Prepared) -> int:
    """As many folds of the training sessions as asked for, or as can be had."""
    if run.compare.folds < 2:
        raise ValueError(
            f"folds={run.compare.folds}: a number of modes is chosen on 2 folds or more; or give one number"
        )
    n_folds = max_folds(ready.train, run.compare.folds)
    if n_folds < 2:
        raise ValueError(
            f"{counted(len(ready.train), 'training session')} cannot be cut into folds to choose a number of modes on: "
            "give one number (--modes 2), or more sessions"
        )
    return n_folds


def _arguments(run: Run) -> dict[str, Any]:
    """What the run says of all models at once: not what none of them takes, unless the user asked for it in vain."""
    spelled, given = given_arguments(run)
    if isinstance(form := given.get("reward"), Goals):  # what the others make of places is their own
        del given["reward"]
        given |= {field.name: getattr(form, field.name) for field in fields(form)}
    return {
        argument: value
        for argument, value in given.items()
        if argument != "n_modes"
        and (
            (argument in spelled and argument not in ("history", "switching"))
            or any(_takes(name, argument, value) for name in run.compare.models)
        )
    }


def _own(name: str, given: dict[str, Any]) -> dict[str, Any]:
    return {argument: value for argument, value in given.items() if _takes(name, argument, value)}


def _takes(name: str, argument: str, value: Any) -> bool:
    return argument in known_arguments(name) and (argument not in fixed_arguments(name) or keeps(name, argument, value))
