"""`swirl sweep`: every combination of some settings on every fold, on all cores or on a cluster."""

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from swirl.cli import options as shared

app = typer.Typer(add_completion=False)
STATUS = "status"


@app.command(epilog="Example:\n\nswirl sweep grid.toml -o sweep --scheduler local")
def sweep(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="GRID | status FOLDER",
            help="A TOML file with data, env and a [grid] of lists; or: status, and the folder of a sweep.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the results.")
    ] = None,
    scheduler: shared.Scheduler = "local",
    workers: shared.Workers = None,
    as_json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> None:
    """Fit every combination of some settings, on every fold, with several seeds.

    Each result is written to the folder as soon as it is done. After an
    interruption the same command resumes; a fit that fails is recorded with
    its error, and the others continue. `swirl sweep status FOLDER` shows the
    progress.
    """
    from swirl.cli.output import progress_lines, show_json
    from swirl.workflows.config import checked, read_config
    from swirl.workflows.sweep import status
    from swirl.workflows.sweep import sweep as swept

    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # workers share a GPU with this process
    if what[0] == STATUS and len(what) == 2:
        found = status(what[1])
        show_json(found) if as_json else typer.echo(in_words(found))
        return
    if len(what) != 1:
        raise ValueError(f"{' '.join(what)}: expected one TOML file with a [grid], or: status FOLDER")
    if output is None:
        raise ValueError(
            "-o: give a folder for the results, as in -o sweep; with the folder of an earlier sweep, that one resumes"
        )
    run = checked(read_config(what[0]), what[0])
    command = shlex.join(["swirl", *sys.argv[1:]])
    with progress_lines(quiet or as_json) as show:
        tell = show if not (quiet or as_json) else None
        result = swept(run, output, scheduler=scheduler, n_workers=workers, command=command, callback=show, tell=tell)
    failed = [{**dict(task.label), "error": why} for task, why in result.failed]
    best = None if result.choice is None else result.choice.best
    if as_json:
        from swirl.text import plain

        rows = [] if result.choice is None else result.choice.table()
        facts = {"best": best, "why": None if result.choice is None else result.choice.why(), "candidates": rows}
        show_json(plain({**facts, "failed": failed, "table": str(result.table)}, other=repr))
    elif not quiet:
        if result.choice is not None:
            typer.echo(result.choice)
        typer.echo(f"\n{len(result.tasks) - len(failed)} of {len(result.tasks)} fits are in {result.table}")
    if failed:
        from swirl.text import counted

        first = f"; the first: {failed[0]['error']}"
        typer.secho(f"{counted(len(failed), 'fit')} failed{first}", fg=typer.colors.RED, err=True)
        typer.secho(f"See `swirl sweep status {output}`; the same command tries again.", err=True)
        raise typer.Exit(1)


def in_words(found: dict[str, Any]) -> str:
    """What `status` found.

    >>> print(in_words({"done": 3, "failed": 1, "missing": 2, "total": 6, "errors": [{"n_modes": 2, "error": "no"}]}))
    3 of 6 done, 1 failed, 2 missing
      failed: n_modes=2: no
    """
    lines = [f"{found['done']} of {found['total']} done, {found['failed']} failed, {found['missing']} missing"]
    for task in found["errors"]:
        named = ", ".join(f"{key}={value}" for key, value in task.items() if key != "error")
        lines.append(f"  failed: {named}: {task['error']}")
    return "\n".join(lines)
