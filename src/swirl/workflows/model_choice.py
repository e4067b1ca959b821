"""The whole question from a configuration: a grid on training folds, the test scored once (`swirl compare --grid`)."""

from collections.abc import Callable
from typing import Any

from swirl.analysis.cluster import HERE, LOCAL, engine_for
from swirl.analysis.model_choice import MARKOV, ModelChoice, choose_model, named
from swirl.analysis.tasks import Folder, Progress
from swirl.workflows.compare import HOLD_OUT
from swirl.workflows.config import Grid, Run
from swirl.workflows.fit import ARGUMENTS, Prepared, build, provenance
from swirl.workflows.sweep import (
    candidates,
    check_grid,
    folds_for,
    memory_needed,
    ready_model,
)

DEFAULT = {"modes": [1, 2, 3], "history": [1, 2], "switching": ["independent", "state"]}
FEW, OFTEN = 20, 5  # training sessions below which folds are cut anew so often, where the grid does not say


def default_grid(run: Run) -> Grid:
    """What is tried where the user does not say: modes, history and switching, but nothing that the run settles.

    >>> default_grid(Run(data="sessions.csv")).history
    [1, 2]
    >>> print(default_grid(Run.model_validate({"data": "sessions.csv", "model": {"history": 3}})).history)
    None
    """
    free = {name: values for name, values in DEFAULT.items() if name not in run.model.model_fields_set}
    return Grid.model_validate(free)


def run_choice(
    run: Run,
    *,
    folder: Any = None,
    scheduler: str | None = LOCAL,
    n_workers: int | None = None,
    command: str | None = None,
    callback: Callable[[Progress], Any] | None = None,
    tell: Callable[[str], Any] | None = None,
) -> tuple[ModelChoice, Prepared]:
    """Choose settings on folds of the training sessions, and say on the held-out ones what each of them is worth.

    Fits run as tasks (`analysis.tasks`): with a `folder` each is kept, and what is there is not made again.
    """
    run = run if run.grid is not None else run.model_copy(update={"grid": default_grid(run)})
    grid = check_grid(run)
    if grid.folds < 2:
        raise ValueError(f"folds={grid.folds}: settings are chosen on 2 folds or more")
    ready = ready_model(run, every=HOLD_OUT)
    if ready.test is None:
        raise ValueError("hold_out: settings are chosen on some sessions and scored on others; hold some out")
    if len(ready.train) < FEW and "repeats" not in grid.model_fields_set:
        grid = grid.model_copy(update={"repeats": OFTEN})
    model = build(ready.run, ready.env)
    tried = candidates(grid, model)
    need = memory_needed(model, tried, ready) if scheduler in (None, LOCAL, HERE) else 0
    of = run.compare.score or model.score_type_of(ready.train)
    n_folds = folds_for(ready, grid, of)
    kept = None if folder is None else Folder(folder)
    with engine_for(scheduler, n_workers, need, tell) as engine:
        found = choose_model(
            model,
            ready.train,
            ready.test,
            tried,
            n_folds=n_folds,
            n_repeats=grid.repeats,
            of=of,
            folder=kept,
            engine=engine,
            callback=callback,
            tell=tell,
            about={"command": command, "run": ready.run.model_dump(mode="json", exclude_none=True)},
        )
    _tie(found, ready, command)
    return found, ready


def _tie(found: ModelChoice, ready: Prepared, command: str | None) -> None:
    """Tie each fitted model to its sessions and settings, as `swirl fit` does."""
    fields = {argument: name for name, argument in ARGUMENTS.items()}
    settings = {named(own): own for own in found.choice.candidates}
    for name, seconds in zip(found.comparison.names, found.comparison.seconds, strict=True):
        model = found.comparison.models[name]
        own = settings.get(name) or {key: model.get_params().get(key) for key in found.best if name != MARKOV}
        update = {fields.get(key, key): value for key, value in own.items()}
        if name == MARKOV:
            update = {"name": MARKOV, "modes": 1}
        one = ready.run.model_copy(update={"model": ready.run.model.model_copy(update=update), "grid": None})
        model.run_ = provenance(one, ready, command, float(seconds))
