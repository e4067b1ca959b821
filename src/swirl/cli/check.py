"""`swirl check`: one page on the data before any fit."""

from pathlib import Path
from typing import Annotated, Any

import typer

from swirl.cli import options as shared

COLOURS = {"FAULT": typer.colors.RED, "WARNING": typer.colors.YELLOW}
ROLES = {"state": "state", "action": "action", "time": "t"}  # and the usual names of their columns

app = typer.Typer(add_completion=False)


@app.command(epilog="Example:\n\nswirl check sessions.csv --env maze.csv")
def check(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV or Parquet, one row per step.", show_default=False)],
    env: Annotated[
        str | None,
        typer.Option(
            metavar="ENV",
            help='Edge list (CSV: state, action, next_state[, p]), or "syllables", or "observed". Without it, what is '
            "possible is not known and not checked.",
        ),
    ] = None,
    states: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table of states (CSV: name, x, y); else <ENV>.states.csv.")
    ] = None,
    columns: shared.Columns = None,
    # What --columns was before, one by one.
    session: Annotated[str | None, typer.Option("--column-session", hidden=True)] = None,
    subject: Annotated[str | None, typer.Option("--column-subject", hidden=True)] = None,
    group: Annotated[str | None, typer.Option("--column-group", hidden=True)] = None,
    time: Annotated[str | None, typer.Option("--column-time", hidden=True)] = None,
    state: Annotated[str | None, typer.Option("--column-state", hidden=True)] = None,
    action: Annotated[str | None, typer.Option("--column-action", hidden=True)] = None,
    gap: Annotated[str | None, typer.Option("--column-gap", hidden=True)] = None,
    page: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the page as HTML too.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the HTML file.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 on warnings too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print only what makes the command exit with 1, and important warnings."),
    ] = False,
) -> None:
    """Check recordings before a fit: a summary, errors (a fit would refuse) and warnings (a fit may mislead).

    Exits with 0 when there are no errors, with 1 when there are (--strict: or
    warnings), and with 2 when the files cannot be read.
    """
    from swirl.cli.output import check_free, environment_words, named_columns, show_json
    from swirl.io.atomic_write import write_text
    from swirl.workflows.check.page import to_html

    if page is not None:
        check_free(page, force, data, env, states)
    given = {"session": session, "subject": subject, "group": group, "time": time, "state": state, "action": action}
    named = {role: name for role, name in {**given, "gap": gap}.items() if name is not None}
    found, known = _examined(data, env, states, {**named, **(named_columns(columns) or {})})
    environment = None if known is None else environment_words(known)
    if page is not None:
        write_text(page, to_html(found, f"Check of {data.name}", environment), overwrite=force)
    levels = ("fault", "warning") if strict else ("fault",)
    counts = [finding for finding in found.findings if finding.level in levels]
    if as_json:
        shown = None if known is None else repr(known)
        show_json({"data": str(data), "environment": shown, "exit_code": int(bool(counts)), **found.to_dict()})
    elif quiet:
        _show("\n\n".join(finding.to_text() for finding in counts))
    else:
        _show(f"{'data':<17} {data}\n{'environment':<17} {environment or 'not given'}\n{found.to_text()}")
        if page is not None:
            typer.echo(f"Saved to {page}")
    if counts:
        raise typer.Exit(1)


def _examined(path: Path, wanted: str | None, states: Path | None, columns: dict[str, Any]) -> tuple[Any, Any]:
    """Read data and environment and examine them; also return the environment, where one is given."""
    from swirl.io.environment_files import SHORTHANDS
    from swirl.io.session_table import place_of
    from swirl.workflows.check import examine
    from swirl.workflows.load import read_sessions

    if states is not None and (wanted is None or wanted in SHORTHANDS):
        raise ValueError("--states goes with an edge list: give that as --env FILE")
    data, env = read_sessions(path, columns, env=wanted, states=states)

    def place(session: int, step: int, role: str) -> str:
        return f"{place_of(data, session, step)}, column {columns.get(role, ROLES[role])}"

    return examine(data, env, places=place), env


def _show(text: str) -> None:
    for line in text.splitlines():
        label = line.split(" ", 1)[0]
        typer.secho(line, fg=COLOURS.get(label), bold=label in COLOURS or None)
