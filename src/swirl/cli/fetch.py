"""`swirl fetch`: the published recordings, downloaded ahead."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


class Recordings(StrEnum):
    """What can be fetched."""

    labyrinth = "labyrinth"
    spontaneous = "spontaneous"
    all = "all"


@app.command(epilog="Example:\n\nswirl fetch labyrinth --output swirl-data")
def fetch(
    recordings: Annotated[Recordings, typer.Argument(help="Which recordings.")] = Recordings.all,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for the files; by default the cache."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that differ from the published ones.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what is where as JSON.")] = False,
) -> None:
    """Download the recordings of the paper (7.8 MB in all), for use without a connection.

    Says where each file is. A file that is in $SWIRL_DATA_DIR or in the cache is not downloaded again; every
    copy is checked by its SHA-256. For a machine without a connection: fetch into a folder with --output,
    bring the folder there, and set SWIRL_DATA_DIR to it.
    """
    from swirl.datasets import download

    names = [name for name in download.FILES if recordings.value in ("all", name.split("/")[0])]
    fetched = download.fetch(names, None if output is None else output.absolute(), force)
    if as_json:
        found = [
            {
                "name": file.name,
                "status": file.status,
                "path": str(file.path),
                "sha256": download.FILES[file.name].sha256,
                "url": download.address(file.name),
            }
            for file in fetched
        ]
        typer.echo(json.dumps(found, indent=2))
        return
    for file in fetched:
        typer.echo(f"{file.name:<31}{file.status:<15}{file.path}")
    if output is not None:
        typer.echo(f"\nTo use them from there: export {download.DATA_VARIABLE}={output.absolute()}")
