"""What commands share: files that must not be there, and JSON for machines."""

import json
from pathlib import Path
from typing import Any

import typer


def check_free(path: Path, force: bool) -> None:
    """Raise before any work where the output exists, or its folder does not.

    >>> check_free(Path("no such folder/fit.nc"), force=False)
    Traceback (most recent call last):
    FileNotFoundError: the folder 'no such folder' of the output fit.nc does not exist: make it, or choose another
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"the folder {str(path.parent)!r} of the output {path.name} does not exist: make it, or choose another"
        )
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already: choose another name with -o, or replace it with --force")


def show_json(facts: Any) -> None:
    """Print as JSON."""
    typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
