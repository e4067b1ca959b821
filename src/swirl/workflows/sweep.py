"""Every combination of some settings, on every fold, from a configuration (`swirl sweep`).

data = "sessions.csv"
env = "maze.csv"

[grid]
modes = [1, 2, 3]
history = [1, 2]
switching = ["independent", "state"]
folds = 3
repeats = 2
"""

import csv
import io
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from swirl.analysis.cluster import HERE, LOCAL, engine_for
from swirl.analysis.fit_tasks import fold_tasks, whole_fit
from swirl.analysis.grid_search import Choice, choice_of
from swirl.analysis.model_choice import OF_MODES
from swirl.analysis.tasks import Folder, Outcome, Progress, Shared, Task, TasksFailedError, carried_out
from swirl.data.folds import max_folds
from swirl.estimators.base import Scored
from swirl.estimators.registry import fixed_arguments, known_arguments
from swirl.estimators.swirl import SWIRL
from swirl.io.atomic_write import write_text
from swirl.text import counted, plain
from swirl.workflows import memory_bound
from swirl.workflows.config import Grid, Run
from swirl.workflows.fit import ARGUMENTS, Prepared, build, check_memory, prepare
from swirl.workflows.goals import with_what_follows


@dataclass(frozen=True)
class Swept:
    """What a sweep came to."""

    tasks: list[Task]
    outcomes: list[Outcome]
    choice: Choice | None
    """Which combination the folds choose; None where there are no folds, or no fit came to an end."""
    table: Path
    """One row for each fit (CSV)."""
    ready: Prepared

    @property
    def failed(self) -> list[tuple[Task, str]]:
        """Tasks that failed, and why."""
        pairs = zip(self.tasks, self.outcomes, strict=True)
        return [(task, str(outcome.error)) for task, outcome in pairs if outcome.result is None]


def candidates(grid: Grid, model: Any) -> list[dict[str, Any]]:
    """All combinations by the arguments of a model; of one mode, only the first that differ in how modes switch.

    >>> for own in candidates(Grid(modes=[1, 2], switching=["independent", "state"]), None):
    ...     print(own)
    {'n_modes': 1, 'switching': 'independent'}
    {'n_modes': 2, 'switching': 'independent'}
    {'n_modes': 2, 'switching': 'state'}
    """
    lists = {name: values for name in Grid.model_fields if isinstance(values := getattr(grid, name), list)}
    if not lists:
        raise ValueError("grid: there is nothing to vary; give lists under [grid], as in modes = [1, 2, 3]")
    names = [ARGUMENTS.get(name, name) for name in lists]
    found: list[dict[str, Any]] = []
    known: list[dict[str, Any]] = []
    one_mode = model is not None and model.get_params().get("n_modes") == 1
    for values in product(*lists.values()):
        own = dict(zip(names, values, strict=True))
        single = own.get("n_modes", 1 if one_mode else 2) == 1
        what = {name: value for name, value in own.items() if not (single and name in OF_MODES)}
        if what not in known:
            known.append(what)
            found.append(own)
    return found


def check_grid(run: Run) -> Grid:
    """The grid of a run; a fault where there is none, or where a setting is given twice."""
    if run.grid is None:
        raise ValueError("grid: the file has no [grid]; list there what to try, as in modes = [1, 2, 3]")
    grid, asked = run.grid, run.model
    lists = [name for name in Grid.model_fields if isinstance(getattr(grid, name), list)]
    twice = [name for name in lists if name in asked.model_fields_set]
    if twice:
        raise ValueError(f"{', '.join(twice)}: given under [model] and under [grid]; leave one of the two out")
    if asked.name is not None:
        known, fixed = known_arguments(asked.name), fixed_arguments(asked.name)
        wrong = [name for name in lists if ARGUMENTS.get(name, name) not in set(known) - set(fixed)]
        if wrong:
            raise ValueError(f"grid: {asked.name} has no {', '.join(wrong)} to vary, or its name fixes it")
    return grid


def sweep(
    run: Run,
    folder: Any,
    *,
    scheduler: str | None = LOCAL,
    n_workers: int | None = None,
    command: str | None = None,
    callback: Callable[[Progress], Any] | None = None,
    tell: Callable[[str], Any] | None = None,
) -> Swept:
    """Fit every combination of the grid on every fold, and keep each result in the folder as soon as it is there.

    Sessions that the run holds out are left out of it. What the folder has already is not computed again.

    Parameters
    ----------
    scheduler
        ``"local"``: processes of this machine; ``"here"``: in this process; else as `cluster.dask_engine` has it.
    callback
        Called with the `Progress` after each fit.
    tell
        Called with words on what happens besides.
    """
    grid = check_grid(run)
    ready = ready_model(run)
    model = build(ready.run, ready.env)
    tried = candidates(grid, model)
    need = memory_needed(model, tried, ready) if scheduler in (None, LOCAL, HERE) else 0
    if grid.folds == 0:
        shared = Shared({"model": model, "data": ready.train})
        seed = int(model.get_params().get("random_state", 0))
        tasks = [
            Task(whole_fit, {"settings": {**own, "random_state": seed + repeat}}, shared, {**own, "repeat": repeat})
            for own, repeat in product(tried, range(grid.repeats))
        ]
    else:
        of = model.score_type_of(ready.train)
        n_folds = folds_for(ready, grid, of)
        tasks = fold_tasks(model, ready.train, tried, n_folds=n_folds, n_repeats=grid.repeats, of=of)
    kept = Folder(folder)
    kept.ask(tasks, {"command": command, "run": ready.run.model_dump(mode="json", exclude_none=True)})
    missing = sum(not kept.has(task.key) for task in tasks)
    with engine_for(scheduler if missing else HERE, n_workers, need, tell) as engine:
        outcomes = carried_out(tasks, folder=kept, engine=engine, callback=callback)
    table, choice = _write_table(kept, tasks, outcomes), None
    if grid.folds:
        with suppress(TasksFailedError):  # no combination is whole: the table and `status` say why
            choice = choice_of(tasks, outcomes)
    return Swept(tasks, outcomes, choice, table, ready)


def folds_for(ready: Prepared, grid: Grid, of: Scored | None) -> int:
    """As many folds as were asked for, or can be had; a fault where there are none."""
    n_folds = max_folds(ready.train, grid.folds)
    if n_folds < 2:
        raise ValueError(f"folds={grid.folds}: {counted(len(ready.train), 'session')} cannot be cut into folds")
    return n_folds


def ready_model(run: Run, every: int | None = None) -> Prepared:
    """Sessions and environment of a run that is fitted many times, its model as `swirl fit` would have it.

    `every`: what is held out where the run does not say (`prepare`).
    """
    if run.stream:
        raise ValueError("stream: many fits need all sessions in memory; leave it out")
    ready = prepare(run, every=every)
    if ready.run.model.goals is not None:
        raise ValueError("goals=discover: `swirl goals` finds places; name them here")
    return replace(ready, run=with_what_follows(ready.run))


def memory_needed(model: Any, tried: list[dict[str, Any]], ready: Prepared) -> int:
    """Bytes that the largest of the fits may need; a fault before any work where one has no room."""
    if not isinstance(model, SWIRL):
        return 0
    needs = []
    for own in tried:
        try:
            needs.append(check_memory(SWIRL(**{**model.get_params(), **own}), ready.train).total)
        except ValueError as fault:
            raise ValueError(f"{', '.join(f'{k}={v}' for k, v in own.items())}: {fault}") from None
    return max(needs, default=int(memory_bound.BASELINE))


def _write_table(folder: Folder, tasks: list[Task], outcomes: list[Outcome]) -> Path:
    """One row for each fit, in the order of the grid: the same bytes whoever computed them, and when."""
    rows = []
    for task, outcome in zip(tasks, outcomes, strict=True):
        row: dict[str, Any] = {**plain(dict(task.label), other=repr), "key": task.key}
        result: Mapping[str, Any] = outcome.result or {}
        if "log_likelihoods" in result:
            row["score"] = sum(result["log_likelihoods"]) / sum(result["scored_steps"])
        rows.append({**row, **{name: result.get(name, "") for name in ("objective", "converged")}})
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return write_text(folder.path / "table.csv", text.getvalue(), overwrite=True)


def status(folder: Any) -> dict[str, Any]:
    """How far a sweep has come, from its folder alone: it may be running, here or elsewhere, or not.

    Keys: done, failed, missing, total; errors: of each failed task its settings and why.
    """
    kept = Folder.there(folder)
    asked = kept.asked["tasks"]
    done = [task for task in asked if kept.has(task["key"])]
    tried = [(task, kept.error(task["key"])) for task in asked if not kept.has(task["key"])]
    failed = [{**{k: v for k, v in task.items() if k != "key"}, "error": why} for task, why in tried if why is not None]
    counts = {"done": len(done), "failed": len(failed), "missing": len(asked) - len(done) - len(failed)}
    return {**counts, "total": len(asked), "errors": failed}
