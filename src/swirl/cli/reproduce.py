"""`swirl reproduce`: the paper's experiments, with our figures compared to the published ones."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


class Name(StrEnum):
    """What to reproduce."""

    gridworld = "gridworld"
    labyrinth = "labyrinth"
    spontaneous = "spontaneous"
    all = "all"


@app.command(epilog="Example:\n\nswirl reproduce labyrinth --quick --output reproduction")
def reproduce(
    experiment: Annotated[Name, typer.Argument(help="Which experiment.", show_default=False)],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for the results; an earlier run there is resumed."),
    ] = Path("reproduction"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs and sessions: minutes on two cores.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that has other files.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print only where the pages are, as JSON.")] = False,
) -> None:
    """Reproduce the paper: fit every model it compares, draw its figures, and compare them with the published ones.

    Writes a folder for each experiment: index.html, figures (PDF, SVG, PNG), a
    tidy CSV of every number drawn, results.json. What was computed stays in
    DIR/fits, so a run that was interrupted resumes.
    """
    import json

    from swirl.reproduce.run import EXPERIMENTS, reproduce

    names = list(EXPERIMENTS) if experiment is Name.all else [experiment.value]
    quiet = (lambda text: None) if as_json else None
    pages = reproduce(names, output, scale="quick" if quick else "full", force=force, say=quiet)
    if as_json:
        typer.echo(json.dumps({name: str(page) for name, page in pages.items()}))
