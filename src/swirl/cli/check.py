"""`swirl check`: one page on the data before any fit."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

COLOURS = {"FAULT": typer.colors.RED, "WARNING": typer.colors.YELLOW}
ROW = "row of the file"
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
    session: Annotated[str | None, typer.Option("--column-session", metavar="NAME", help="Column of sessions.")] = None,
    subject: Annotated[str | None, typer.Option("--column-subject", metavar="NAME", help="… of subjects.")] = None,
    group: Annotated[str | None, typer.Option("--column-group", metavar="NAME", help="… of groups.")] = None,
    time: Annotated[str | None, typer.Option("--column-time", metavar="NAME", help="… of times (else t).")] = None,
    state: Annotated[str | None, typer.Option("--column-state", metavar="NAME", help="… of states.")] = None,
    action: Annotated[str | None, typer.Option("--column-action", metavar="NAME", help="… of actions.")] = None,
    gap: Annotated[str | None, typer.Option("--column-gap", metavar="NAME", help="… of gaps.")] = None,
    page: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the page as HTML too.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the HTML file.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 on warnings too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print only what makes the command exit with 1, and what to beware of."),
    ] = False,
) -> None:
    """Look at recordings before a fit: what is there, what a fit would refuse, and what would mislead it.

    Exits with 0 when a fit would run, with 1 when it would refuse the data
    (--strict: or be misled), and with 2 when the files cannot be read.
    """
    from swirl.cli.output import check_free, show_json
    from swirl.io.atomic_write import write_text
    from swirl.workflows.check.page import to_html

    if page is not None:
        check_free(page, force, data, env, states)
    given = {"session": session, "subject": subject, "group": group, "time": time, "state": state, "action": action}
    columns = {role: name for role, name in {**given, "gap": gap}.items() if name is not None}
    found, environment = _examined(data, env, states, columns)
    if page is not None:
        write_text(page, to_html(found, f"Check of {data.name}", environment), overwrite=force)
    levels = ("fault", "warning") if strict else ("fault",)
    counts = [finding for finding in found.findings if finding.level in levels]
    if as_json:
        show_json({"data": str(data), "environment": environment, "exit_code": int(bool(counts)), **found.to_dict()})
    elif quiet:
        _show("\n\n".join(finding.worded() for finding in counts))
    else:
        _show(f"{'data':<17} {data}\n{'environment':<17} {environment or 'not given'}\n{found.worded()}")
        if page is not None:
            typer.echo(f"Saved to {page}")
    if counts:
        raise typer.Exit(1)


def _examined(path: Path, wanted: str | None, states: Path | None, columns: dict[str, str]) -> tuple[Any, str | None]:
    """Read data and environment and examine them; also return the environment in words."""
    from swirl.io.environment_files import SHORTHANDS
    from swirl.workflows.check import examine
    from swirl.workflows.load import read_sessions

    if states is not None and (wanted is None or wanted in SHORTHANDS):
        raise ValueError("--states goes with an edge list: give that as --env FILE")
    data, env = read_sessions(path, columns, env=wanted, states=states)
    return examine(data, env, places=_places(path, columns, data)), None if env is None else repr(env)


def _places(path: Path, columns: dict[str, str], data: Any) -> Callable[[int, int, str], str | None]:
    """Where a step stands in the file; the file is read again only if this is asked."""
    read: list[Any] = []

    def place(session: int, step: int, role: str) -> str | None:
        if not read:
            read.append(_rows(path, columns, data))
        if read[0] is None:
            return None
        rows, noun = read[0]
        return f"{noun} {int(rows[session][step])}, column {columns.get(role, ROLES[role])}"

    return place


def _rows(path: Path, columns: dict[str, str], data: Any) -> tuple[list[Any], str] | None:
    """Row of each step, and what rows are called; None where that cannot be told beyond doubt.

    The importer itself says it: the row goes along as a signal while it sorts, and drops, as it did before.
    """
    import pandas as pd

    from swirl.io import session_table

    usual = {"session": "session", "time": "t", "state": "state"}
    wanted = {role: columns.get(role, name) for role, name in usual.items()}
    try:
        frame, noun = _frame(path, {name.strip().casefold() for name in wanted.values()})
        asked = session_table.Columns(**wanted, subject=None, group=None, action=None, gap=None)
        sessions = session_table.from_frame(frame, asked, signals=[ROW])
    except (ValueError, OSError, pd.errors.ParserError):
        return None  # the file was read before, so this is only about a convenience
    rows = (sessions.signals or {})[ROW]
    same = len(rows) == len(data) and all(len(own) == n for own, n in zip(rows, data.lengths, strict=True))
    return (rows, noun) if same else None


def _frame(path: Path, wanted: set[str]) -> tuple[Any, str]:
    """The wanted columns of a table and, as ROW, each row's line (of text) or number (from 0, of Parquet)."""
    import pandas as pd

    def chosen(name: str) -> bool:
        return name.strip().casefold() in wanted

    if path.name.lower().endswith((".parquet", ".pq")):
        import pyarrow.parquet as pq

        names = [name for name in pq.read_schema(path).names if chosen(name)]
        frame = pq.read_table(path, columns=names).to_pandas(ignore_metadata=True)
        return frame.assign(**{ROW: range(len(frame))}), "row"
    with (
        gzip.open(path, "rt", encoding="utf-8-sig") if path.suffix == ".gz" else path.open(encoding="utf-8-sig") as file
    ):
        header, n_lines = file.readline(), sum(1 for _ in file)
    separator = max(",;\t", key=header.count)
    frame = pd.read_csv(
        path,
        sep=separator,
        usecols=chosen,
        decimal="," if separator == ";" else ".",
        encoding="utf-8-sig",
        skip_blank_lines=False,  # they are lines too
        skipinitialspace=True,
        low_memory=False,
    )
    if len(frame) != n_lines:
        raise ValueError(f"{path} has values of several lines: its rows are not its lines")
    frame = frame.assign(**{ROW: range(2, len(frame) + 2)})
    return frame.dropna(how="all", subset=[name for name in frame if name != ROW]), "line"


def _show(text: str) -> None:
    for line in text.splitlines():
        label = line.split(" ", 1)[0]
        typer.secho(line, fg=COLOURS.get(label), bold=label in COLOURS or None)
