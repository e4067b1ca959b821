"""`swirl null`: are there modes at all?  A test by simulation."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from swirl.cli import options as shared

app = typer.Typer(add_completion=False)


@app.command(epilog="Example:\n\nswirl null sessions.csv --env maze.csv --simulations 19 -o null.json")
def null(
    data: shared.Table = None,
    env: shared.Environment = None,
    states: shared.States = None,
    columns: shared.Columns = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="File for the gains and the p-value.")
    ] = Path("null.json"),
    config: shared.Config = None,
    question: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="modes: are there any? switching: does it depend on the state? history: does reward depend on it?",
        ),
    ] = "modes",
    simulations: Annotated[
        int, typer.Option(metavar="N", min=1, help="Simulated data sets: 19 for p = 0.05, 99 for 0.01.")
    ] = 19,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A model by name, such as S-1 or rARHMM.", show_default="S-2")
    ] = None,
    modes: Annotated[int | None, typer.Option(metavar="K", help="Number of modes.", show_default="2")] = None,
    history: Annotated[int | None, typer.Option(metavar="L", help="States in a history.", show_default="2")] = None,
    reward: Annotated[
        str | None, typer.Option(metavar="FORM", help="state or state-action.", show_default="state")
    ] = None,
    impossible: shared.Impossible = None,
    restarts: shared.Restarts = None,
    max_iter: shared.Iterations = None,
    seed: shared.Seed = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep each simulation's result here; after an interruption the same command resumes."
        ),
    ] = None,
    scheduler: shared.Scheduler = "local",
    workers: shared.Workers = None,
    force: shared.Force = False,
    as_json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> None:
    """Test by simulation whether the sessions support modes at all.

    A model with more modes always fits better. So sessions without modes are
    simulated, as many and as long as yours, from the best model that has
    none. Both models are fitted to each data set, and the gain in your
    sessions is compared with the gains in the simulated ones. p is the share
    of data sets, yours included, that gain as much: with 19 simulations it
    is never below 0.05.
    """
    from swirl.analysis.null_test import QUESTIONS
    from swirl.cli.output import (
        check_free,
        data_words,
        environment_words,
        named_columns,
        progress_lines,
        save_facts,
        show_json,
    )
    from swirl.text import plain
    from swirl.workflows.config import settings
    from swirl.workflows.null import run_null

    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # workers share a GPU with this process
    check_free(output, force, data, env, states, config)
    if question not in QUESTIONS:
        raise ValueError(f"--question {question}: expected one of {', '.join(QUESTIONS)}")
    options: dict[str, Any] = {
        "data": data, "env": env, "states": states, "columns": named_columns(columns),
        "model": {
            "name": model, "modes": modes, "history": history, "reward": reward, "impossible": impossible,
        },
        "fit": {"restarts": restarts, "max_iter": max_iter, "seed": seed},
    }  # fmt: skip
    run = settings(config, options, "null")
    silent = quiet or as_json
    with progress_lines(silent) as show:
        found, ready = run_null(
            run,
            question,
            n_simulations=simulations,
            folder=folder,
            scheduler=scheduler,
            n_workers=workers,
            callback=show,
            tell=None if silent else show,
        )
    facts = {**found.facts(), "config": ready.run.model_dump(mode="json", exclude_none=True)}
    saved = save_facts(output, "swirl null", facts, force=force)
    if as_json:
        show_json(plain({**found.facts(), "file": str(saved)}, other=repr))
    elif not quiet:
        words = f"{data_words(ready.train)}\n{environment_words(ready.env)}"
        typer.echo(f"{words}\n\n{found}\n\nSaved to {saved}")
