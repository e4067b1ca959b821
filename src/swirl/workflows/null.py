"""Is it there at all?  A test by simulation from a configuration (`swirl null`)."""

from collections.abc import Callable
from typing import Any

from swirl.analysis.cluster import LOCAL, engine_for
from swirl.analysis.null_test import NullTest, null_test
from swirl.analysis.tasks import Folder, Progress
from swirl.estimators.swirl import SWIRL
from swirl.workflows.config import Run
from swirl.workflows.fit import Prepared, build, check_memory
from swirl.workflows.sweep import ready_model


def run_null(
    run: Run,
    question: str,
    *,
    n_simulations: int = 19,
    folder: Any = None,
    scheduler: str | None = LOCAL,
    n_workers: int | None = None,
    callback: Callable[[Progress], Any] | None = None,
    tell: Callable[[str], Any] | None = None,
) -> tuple[NullTest, Prepared]:
    """Read the sessions, and ask whether they support the model of the run (`analysis.null_test`).

    Sessions that the run holds out are left out.
    """
    ready = ready_model(run)
    model = build(ready.run, ready.env)
    need = check_memory(model, ready.train).total if isinstance(model, SWIRL) else 0  # one fit is made here
    kept = None if folder is None else Folder(folder)
    with engine_for(scheduler, n_workers, need, tell) as engine:
        found = null_test(
            model,
            ready.train,
            question,
            n_simulations=n_simulations,
            random_state=run.fit.seed,
            folder=kept,
            engine=engine,
            callback=callback,
        )
    return found, ready
