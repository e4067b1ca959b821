"""`swirl check`: one page on the data before any fit."""

import gzip
import html
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

COLOURS = {"FAULT": typer.colors.RED, "WARNING": typer.colors.YELLOW}
ROW = "row of the file"
ROLES = {"state": "state", "action": "action", "time": "t"}  # and the usual names of their columns
STYLE = """
:root { color-scheme: light dark; --fault: #c4314b; --warning: #b7791f; --note: #3b6fb6; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 54rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .93rem; }
th, td { padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #8883; }
th { font-weight: 600; white-space: nowrap; } td { overflow-wrap: anywhere; }
.bars td, .bars th { border: 0; padding: .1rem .6rem .1rem 0; vertical-align: middle; font-weight: 400; }
.bars th { max-width: 14rem; overflow: hidden; text-overflow: ellipsis; } .bars td:last-child { white-space: nowrap; }
.bars td:nth-child(2) { width: 70%; } svg { display: block; width: 100%; height: .9rem; fill: var(--note); }
.finding { border-left: .3rem solid var(--level); padding: .1rem 0 .1rem 1rem; margin: 1.2rem 0; break-inside: avoid; }
.finding p { margin: .3rem 0; } .level { color: var(--level); font-weight: 700; } .verdict { font-size: 1.1rem; }
ul { font-size: .87rem; padding-left: 1.1rem; overflow-wrap: anywhere; } footer { font-size: .85rem; opacity: .75; }
"""

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
    from swirl.io.atomic_write import whole_file

    if page is not None:
        check_free(page, force, data, env, states)
    given = {"session": session, "subject": subject, "group": group, "time": time, "state": state, "action": action}
    columns = {role: name for role, name in {**given, "gap": gap}.items() if name is not None}
    found, environment = _examined(data, env, states, columns)
    if page is not None:
        with whole_file(page, overwrite=force) as temporary:
            temporary.write_text(to_html(found, f"Check of {data.name}", environment), encoding="utf-8")
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


def to_html(found: Any, title: str, environment: str | None = None) -> str:
    """Return a `Checkup` as one self-contained page.

    >>> from swirl.workflows.check import examine
    >>> from swirl.data.trajectories import Trajectories
    >>> "<h1>Check of a &lt; b</h1>" in to_html(examine(Trajectories([[0, 1, 0]])), "Check of a < b")
    True
    """
    from swirl._version import __version__
    from swirl.workflows.check import place_words

    facts = [("environment", environment or "not given"), *found.facts()]
    rows = "\n".join(f"<tr><th>{_text(name)}</th><td>{_text(words)}</td></tr>" for name, words in facts)
    cards = []
    for finding in found.findings:
        places = "".join(f"<li>{_text(place_words(place))}</li>" for place in finding.places)
        mark = f'<span class="level">{finding.level}</span>'
        cards.append(
            f'<div class="finding" style="--level: var(--{finding.level})"><p>{mark} {_text(finding.says)}</p>'
            f"{f'<ul>{places}</ul>' if places else ''}<p>→ {_text(finding.do)}</p></div>"
        )
    lengths = [
        (f"{x['from']:,}" + (f" to {x['to']:,}" if x["to"] > x["from"] else ""), x["sessions"], f"{x['sessions']:,}")
        for x in found.sessions["lengths"]["histogram"]
    ]
    top = [(x["name"], x["share"], f"{100 * x['share']:.3g} %") for x in found.states["top"]]
    more = found.states["visited"] - len(top)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(title)}</title><style>{STYLE}</style></head><body>
<h1>{_text(title)}</h1>
<p class="verdict">{_text(found.verdict)}</p>
{"".join(cards)}
<h2>What is there</h2>
<table>
{rows}
</table>
<h2>Lengths of sessions</h2>
<p>Steps, and how many sessions have so many.</p>
{_bars(lengths)}
<h2>Where the time goes</h2>
<p>States by their share of the steps{f", the first {len(top)}; {more:,} more were visited" if more > 0 else ""}.</p>
{_bars(top)}
<footer><p>Made by swirl {__version__}.</p></footer>
</body></html>
"""


def _text(words: str) -> str:
    return html.escape(words, quote=False)


def _bars(bars: list[tuple[str, int | float, str]]) -> str:
    """Bars with a name before and a number after; drawn between, so that text stays readable on a phone."""
    largest = max((size for _, size, _ in bars), default=1) or 1
    rows = "\n".join(
        f'<tr><th>{_text(name)}</th><td><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{100 * size / largest:.2f}" height="10"/></svg></td><td>{_text(words)}</td></tr>'
        for name, size, words in bars
    )
    return f'<table class="bars">\n{rows}\n</table>'
