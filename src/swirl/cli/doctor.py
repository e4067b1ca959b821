"""`swirl doctor`: what is installed and seen here, whether it works, and what to do about the rest."""

import json
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example:\n\nswirl doctor --json")
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    empty_cache: Annotated[
        bool, typer.Option("--empty-cache", help="Delete the compiled programs that are kept for later runs, and exit.")
    ] = False,
) -> None:
    """Show versions, devices, memory and disk, and check in a few seconds that computing works here.

    Each finding says what to do about it.  Exits with 1 when a check fails; advice is not a failure.  Paste the output
    into a bug report.
    """
    if empty_cache:
        from swirl.system import compiled_folder, empty_compiled
        from swirl.text import amount

        n_files, freed = empty_compiled()
        told = {"folder": str(compiled_folder().parent), "deleted_files": n_files, "freed_bytes": freed}
        typer.echo(json.dumps(told) if as_json else f"Deleted {n_files} files ({amount(freed)}) in {told['folder']}")
        return
    from swirl.workflows.doctor import examine, to_text

    findings = examine()
    typer.echo(json.dumps(findings, indent=2) if as_json else to_text(findings))
    if not findings["healthy"]:
        raise typer.Exit(1)
