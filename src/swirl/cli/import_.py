"""`swirl import`: users' recordings, made into one table and its environment."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from swirl.cli.options import Columns, Force, Json, Quiet
from swirl.errors import ImportNotice
from swirl.text import did_you_mean
from swirl.text import listed as in_words

SAME = (
    ("state", "label", "labels", "behavior", "behaviour"),
    ("subject", "individual", "animal", "mouse", "rat"),
    ("group", "treatment", "condition", "genotype"),
    ("session", "trial", "day", "recording", "observation"),
    ("keypoint", "keypoints", "bodypart", "bodyparts", "body-part"),
    ("polygons", "zones", "rois"),
    ("syllable-info", "names"),
    ("keep", "syllables"),
    ("fps", "frame-rate", "framerate", "rate"),
)
"""Names under which one thing is asked for: an option of this or a sister command first, then words of users."""

_WHOSE = "animals and groups are given with --index FILE"
_PLACES = "places are the states: give --grid, --polygons or --nodes"
INSTEAD = {
    ("table", "index"): "the columns of the animal and the group are named with --subject and --group",
    ("table", "fps"): "a row is a step, and --time names the column of its time; frames are read by swirl import bouts",
    ("bouts", "columns"): "name columns with --start, --stop, --label, --time, --status, --subject and --session",
    ("bouts", "group"): _WHOSE,
    ("bouts", "keep"): "--drop names the labels to leave out",
    ("bouts", "signals"): "the duration of a bout is the only signal",
    ("tracks", "state"): _PLACES,
    ("tracks", "columns"): "name columns with --x, --y, --time, --frame, --subject, --group and --session",
    ("moseq", "state"): "syllables are the states, and --keep names those that stay",
    ("moseq", "drop"): "--keep names the syllables that stay",
    ("moseq", "subject"): _WHOSE,
    ("moseq", "group"): _WHOSE,
    ("moseq", "session"): "each recording is a session",
    ("moseq", "signals"): "all signals of the file are kept",
    ("nwb", "subject"): _WHOSE,
    ("nwb", "group"): _WHOSE,
    ("nwb", "session"): "each file is a session",
}
"""What to say where a command has no option for a thing: (command, thing) → the sentence's end."""

PROGRAMS = {
    "tracks": ("deeplabcut", "dlc", "sleap", "ethovision", "anymaze", "any-maze", "movement", "positions"),
    "bouts": ("boris", "simba", "ethogram", "raven"),
    "moseq": ("keypoint-moseq", "kpms", "syllables"),
    "table": ("csv", "excel", "parquet", "steps", "visits"),
}


def meant_option(command: str, given: str, options: dict[str, list[str]]) -> str:
    """End of a sentence on an option that a command does not have; `options` has those of each command.

    >>> options = {"table": ["state", "time"], "bouts": ["label", "fps"]}
    >>> meant_option("bouts", "state", options), meant_option("table", "fps", options)[:17]
    ('; here it is --label', '; a row is a step')
    >>> meant_option("bouts", "time", options), meant_option("bouts", "lable", options)
    ('; there is --time of swirl import table', "; did you mean '--label'?")
    """
    own = options[command]
    names = next((names for names in SAME if given in names), (given,))
    if here := [f"--{name}" for name in names if name in own]:
        return f"; here it is {in_words(here, 'or')}"
    if (command, names[0]) in INSTEAD:
        return f"; {INSTEAD[command, names[0]]}"
    sisters = [f"--{name} of swirl import {other}" for other, its in options.items() for name in names if name in its]
    if sisters:
        return f"; there is {in_words(sisters, 'or')}"
    return did_you_mean(f"--{given}", [f"--{name}" for name in own])


class Importer(TyperCommand):
    """A command that says what an option is called here that a sister has under another name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is not there with what was probably meant."""
        own, commands = str(self.name), ctx.parent.command.commands if ctx.parent else {}
        options: dict[str, list[str]] = {}
        for name, command in {own: self, **commands}.items():
            every = [option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)]
            options[str(name)] = [option[2:] for option in every if option.startswith("--")]
        for argument in [] if ctx.resilient_parsing else args:
            given = argument.partition("=")[0].removeprefix("--")
            if argument == "--":
                break
            if argument.startswith("--") and given not in (*options[own], "help"):
                ctx.fail(f"No such option: --{given}{meant_option(own, given, options)}")
        return super().parse_args(ctx, args)


class Importers(TyperGroup):
    """The kinds of recordings, and which of them a program's files are."""

    suggest_commands = property(lambda self: False, lambda self, value: None)  # `get_command` does, in its own words

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Find a kind by its name, or say which was probably meant."""
        found = super().get_command(ctx, cmd_name)
        if found is None and not (ctx.resilient_parsing or cmd_name.startswith("-")):
            kind = next((kind for kind, names in PROGRAMS.items() if cmd_name.casefold() in names), None)
            kinds = f"say what it holds: {in_words([f'swirl import {name}' for name in self.commands], 'or')}"
            hint = (
                f"; give swirl import {kind}"
                if kind
                else did_you_mean(cmd_name, self.commands, kinds, alike=1 if "." in cmd_name else 0.6)
            )
            ctx.fail(f"No such command {cmd_name!r}{hint}")
        return found


app = typer.Typer(
    cls=Importers,
    add_completion=False,
    no_args_is_help=True,
    help="Make a table of sessions (one row per step) from recordings, and a file with its environment.",
    epilog="Example:\n\nswirl import moseq results.h5 --fps 30 -o sessions.csv",
)

Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The table: .csv or .parquet.")]
Fps = Annotated[float | None, typer.Option(metavar="F", help="Frames per second, where the file does not say.")]
Index = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Animals and groups (CSV: name of the session, subject, group).")
]
Sheet = Annotated[str | None, typer.Option(metavar="NAME", help="Sheet of an Excel file, where it has several.")]
Session = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column of the session; where sessions are numbered for each mouse, mouse,session."
    ),
]
OUTPUT = Path("sessions.csv")


def _finish(read: Callable[..., Any], kind: str, asked: dict[str, Any]) -> None:
    """Read, and save what was read, with a record of what was asked for; then say what was done.

    `read` is called with a function that shows which of several files is read.
    """
    from swirl.cli.output import as_typed_here, data_words, show_json, status_line, tell_next
    from swirl.io.notes import is_loud, said_once
    from swirl.workflows import import_recordings as importing

    with warnings.catch_warnings(), status_line(False if asked["quiet"] or asked["as_json"] else None) as show:
        warnings.simplefilter("ignore", ImportNotice)  # the notes are said below, all of them
        imported = read(show)
    output, as_json, quiet = asked["output"], asked["as_json"], asked["quiet"]
    own = ("output", "force", "as_json", "quiet", "path", "paths")
    given = {name: value for name, value in asked.items() if name not in own and value not in (None, False)}
    sources = asked.get("paths") or [asked["path"]]
    options = {"command": f"swirl import {kind}", **given}
    written = importing.save(imported, output, overwrite=asked["force"], sources=sources, options=options)
    notes = imported.data.notes
    if as_json:
        data = imported.data
        numbers = {"sessions": len(data), "steps": data.n_steps, "states": data.n_states, "actions": data.n_actions}
        show_json({"files": [str(path) for path in written], "data": repr(data), **numbers, "notes": notes})
        return
    for said in said_once(notes, [*imported.data.names, *(Path(source).name for source in sources)]):
        note = as_typed_here(said)
        if is_loud(note):
            typer.secho(f"- {note}", fg=typer.colors.YELLOW, err=True)
        elif not quiet:
            typer.echo(f"- {note}")
    if quiet:
        return
    typer.echo(data_words(imported.data))
    typer.echo("\n".join(f"Saved to {path}" for path in written))
    tell_next(["swirl", "check", str(output), *(["--env", str(written[1])] if imported.env is not None else [])])


def _check_free(output: Path, force: bool, *sources: Any) -> None:
    """Raise before any work where the table, or the environment beside it, must not be written."""
    from swirl.cli.output import check_free
    from swirl.io.environment_files import states_beside
    from swirl.workflows.import_recordings import environment_beside, record_beside

    check_free(output, force, *sources)
    beside = environment_beside(output)
    for file in (beside, states_beside(beside), record_beside(output)):
        if file.exists():
            check_free(file, force, *sources)


@app.command(
    "table", cls=Importer, epilog="Example:\n\nswirl import table ticks.csv --state cell --session mouse,day --merge"
)
def table(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, Excel or Parquet.", show_default=False)],
    output: Output = OUTPUT,
    columns: Columns = None,
    session: Session = None,
    subject: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the animal.")] = None,
    group: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the condition.")] = None,
    time: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the time.")] = None,
    state: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the state.")] = None,
    action: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the action.")] = None,
    gap: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column that is 1 after a break.")] = None,
    signals: Annotated[str | None, typer.Option(metavar="A,B,…", help="Columns to keep as signals.")] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Rows are ticks of a clock: rows in which the animal stays become one step.")
    ] = False,
    sheet: Sheet = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rename the columns of a table: session, subject, group, t, state, action, gap; merge the rows of a stay."""
    asked = dict(locals())
    from swirl.cli.output import listed, named_columns
    from swirl.workflows import import_recordings as importing

    _check_free(output, force, path)
    named = {"session": session, "subject": subject, "group": group, "time": time, "state": state, "action": action}
    by_role = {name: column for name, column in {**named, "gap": gap}.items() if column is not None}
    called = {**(named_columns(columns) or {}), **by_role}
    _finish(lambda _: importing.import_table(path, called, listed(signals), sheet, merge), "table", asked)


@app.command(
    "moseq", cls=Importer, epilog="Example:\n\nswirl import moseq results.h5 --fps 30 --index index.csv -o sessions.csv"
)
def moseq(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="results.h5, moseq_df.csv, or a folder of syllable CSVs.", show_default=False
        ),
    ],
    output: Output = OUTPUT,
    fps: Fps = None,
    index: Annotated[Path | None, typer.Option(metavar="FILE", help="index.csv: name, group.")] = None,
    syllable_info: Annotated[Path | None, typer.Option(metavar="FILE", help="syll_info.csv: names.")] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="Syllables to keep (numbers or names); others become gaps.")
    ] = None,
    like: Annotated[
        Path | None, typer.Option(metavar="FIT", help="Keep the syllables of this fit, for swirl apply.")
    ] = None,
    min_usage: Annotated[
        float, typer.Option(metavar="P", min=0.0, max=1.0, help="Syllables rarer than this share of bouts become gaps.")
    ] = 0.005,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read keypoint-MoSeq or MoSeq syllables: state = syllable, action = the next one, runs merged."""
    asked = dict(locals())
    from swirl.cli.output import listed
    from swirl.workflows import import_recordings as importing

    _check_free(output, force, path, index, syllable_info, like)

    def read(show: Any) -> Any:
        return importing.import_moseq(
            path,
            fps=fps,
            index=index,
            syllable_info=syllable_info,
            keep=listed(keep),
            min_usage=min_usage,
            like=like,
            callback=show,
        )

    _finish(read, "moseq", asked)


@app.command(
    "bouts", cls=Importer, epilog="Example:\n\nswirl import bouts boris.csv --priority attack,sniff -o sessions.csv"
)
def bouts(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES", help="BORIS, SimBA, or any start, stop, label; or labels per frame.", show_default=False
        ),
    ],
    output: Output = OUTPUT,
    start: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the start of a bout.")] = None,
    stop: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of its stop.")] = None,
    label: Annotated[
        str | None, typer.Option(metavar="A[,B,…]", help="Column of labels, or columns of 0 and 1.")
    ] = None,
    time: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the time of START and STOP.")] = None,
    status: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column that says START or STOP.")] = None,
    subject: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the animal.")] = None,
    session: Session = None,
    fps: Annotated[
        float | None, typer.Option(metavar="F", help="Frames per second, for labels per frame and times in frames.")
    ] = None,
    priority: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Where bouts overlap, the label that is earlier in this list is kept."),
    ] = None,
    pauses: Annotated[
        str,
        typer.Option(
            metavar="HOW", help="Pauses between bouts: ignore (the next bout follows), state (“none”) or gap."
        ),
    ] = "ignore",
    max_pause: Annotated[float | None, typer.Option(metavar="S", help="Longer pauses (s) are gaps anyway.")] = None,
    drop: Annotated[str | None, typer.Option(metavar="A,B,…", help="Labels to leave out, such as background.")] = None,
    points: Annotated[bool, typer.Option("--points", help="Take events without a duration, too.")] = False,
    sheet: Sheet = None,
    index: Index = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read tables of bouts (BORIS, SimBA, Raven, …) or of labels per frame: one step per bout."""
    asked = dict(locals())
    from swirl.cli.output import listed
    from swirl.workflows import import_recordings as importing

    _check_free(output, force, *paths, index)
    labels = listed(label)
    one = labels[0] if labels and len(labels) == 1 else labels
    columns = {"start": start, "stop": stop, "label": one, "time": time, "status": status}
    columns |= {"subject": subject, "session": session}

    def read(show: Any) -> Any:
        return importing.import_bouts(
            list(paths), columns, fps=fps, priority=listed(priority), pauses=pauses,
            max_pause=max_pause, drop=listed(drop), points=points, index=index, sheet=sheet, callback=show,
        )  # fmt: skip

    _finish(read, "bouts", asked)


@app.command(
    "tracks",
    cls=Importer,
    epilog="Example:\n\nswirl import tracks mouse1.csv mouse2.csv --fps 30 --grid 8x8 -o sessions.csv",
)
def tracks(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES", help="DeepLabCut, SLEAP, movement, NWB, EthoVision or any x,y table.", show_default=False
        ),
    ],
    output: Output = OUTPUT,
    grid: Annotated[
        str | None, typer.Option(metavar="RxC", help="Places are the cells of a grid; r0c0 is at the top left.")
    ] = None,
    bounds: Annotated[
        str | None, typer.Option(metavar="X0,X1,Y0,Y1", help="Edges of the grid; by default the range of the tracks.")
    ] = None,
    polygons: Annotated[
        Path | None, typer.Option(metavar="FILE", help='Places are polygons (JSON: {"name": [[X, Y], …]}, or GeoJSON).')
    ] = None,
    nodes: Annotated[Path | None, typer.Option(metavar="FILE", help="Places are nodes (CSV: name, x, y).")] = None,
    edges: Annotated[Path | None, typer.Option(metavar="FILE", help="Ways between them (CSV: from, to).")] = None,
    reach: Annotated[
        float | None,
        typer.Option(metavar="R", help="Only within R of a node; by default the nearer end of the nearest corridor."),
    ] = None,
    fps: Fps = None,
    keypoint: Annotated[
        str | None, typer.Option(metavar="NAME", help="Body part to follow; by default a well-seen one in the middle.")
    ] = None,
    individual: Annotated[str | None, typer.Option(metavar="NAME", help="Animal, where a file has several.")] = None,
    series: Annotated[str | None, typer.Option(metavar="PATH", help="Series within an NWB file.")] = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            metavar="P", min=0.0, max=1.0, help="Below it a point is missing; by default 0.6, for SLEAP's scores 0."
        ),
    ] = None,
    min_dwell: Annotated[
        float, typer.Option(min=0.0, metavar="S", help="Shorter visits (s) are taken for tracking noise.")
    ] = 0.0,
    max_break: Annotated[
        float | None, typer.Option(metavar="S", help="Longer stretches without a place (s) are gaps; by default 0.5.")
    ] = None,
    on_skip: Annotated[
        str,
        typer.Option(metavar="HOW", help="Moves between places that do not touch: gap, shortest (fill in) or error."),
    ] = "gap",
    diagonal: Annotated[
        bool, typer.Option("--diagonal", help="Cells of the grid that meet at a corner are joined.")
    ] = False,
    y_down: Annotated[
        bool | None,
        typer.Option(
            "--y-down/--y-up",
            help="y grows downwards (pixels of a video; so in poses) or upwards (so in tables and NWB positions).",
            show_default=False,
        ),
    ] = None,
    x: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of x, where a table has other names.")] = None,
    y: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of y.")] = None,
    time: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the time in seconds.")] = None,
    frame: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the frame, instead.")] = None,
    subject: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the animal, or EthoVision's variable for it.")
    ] = None,
    group: Annotated[str | None, typer.Option(metavar="COLUMN", help="… of the group, the same.")] = None,
    session: Session = None,
    signals: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Columns to keep as signals; by default all other numbers. none: none."),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="UNIT", help="Unit of x and y, for the record: px, cm, ….")
    ] = None,
    time_unit: Annotated[
        str | None,
        typer.Option(metavar="UNIT", help="Unit of the time: s, ms, us, ns or min; by default as the file says."),
    ] = None,
    sheet: Sheet = None,
    index: Index = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read position tracks as visits to places: cells of a grid, polygons, or the nodes of a maze."""
    asked = dict(locals())
    from swirl.cli.output import listed
    from swirl.workflows import import_recordings as importing

    _check_free(output, force, *paths, polygons, nodes, edges, index)
    named = {"x": x, "y": y, "time": time, "frame": frame, "subject": subject, "group": group, "session": session}
    kept = [] if signals == "none" else listed(signals)

    def read(show: Any) -> Any:
        return importing.import_tracks(
            list(paths), grid=grid, bounds=bounds, polygons=polygons, nodes=nodes, edges=edges,
            fps=fps, keypoint=keypoint, individual=individual, min_confidence=min_confidence, reach=reach,
            min_dwell=min_dwell, max_break=max_break, on_skip=on_skip, series=series, diagonal=diagonal, y_down=y_down,
            index=index, unit=unit, time_unit=time_unit, sheet=sheet, signals=kept, callback=show,
            columns={role: column for role, column in named.items() if column is not None},
        )  # fmt: skip

    _finish(read, "tracks", asked)


@app.command(
    "nwb",
    cls=Importer,
    epilog="Example:\n\nswirl import nwb day1.nwb day2.nwb --table syllables --label name -o sessions.csv",
)
def nwb(
    paths: Annotated[list[Path], typer.Argument(metavar="FILES", help="NWB files.", show_default=False)],
    output: Output = OUTPUT,
    table: Annotated[str | None, typer.Option(metavar="NAME", help="Table of intervals, bouts or events.")] = None,
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="Its column of labels.")] = None,
    max_pause: Annotated[
        float | None,
        typer.Option(metavar="S", help="Longer pauses between bouts (s) are gaps; by default the median bout."),
    ] = None,
    index: Index = None,
    contents: Annotated[bool, typer.Option("--list", help="Only list what the files contain.")] = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read labelled intervals of NWB files: one step per bout (positions: swirl import tracks)."""
    asked = dict(locals())
    from swirl.cli.output import show_json
    from swirl.workflows import import_recordings as importing

    if contents:
        from swirl.io.nwb.reading import contents as listed
        from swirl.io.nwb.reading import described

        found = {str(path): listed(path) for path in paths}
        if as_json:
            show_json(found)
            return
        for path, entries in found.items():
            typer.echo(path)
            for entry in entries:
                typer.echo(f"  {described(entry)}")
        return
    _check_free(output, force, *paths, index)

    def read(show: Any) -> Any:
        return importing.import_nwb(
            list(paths), table=table, label=label, max_pause=max_pause, index=index, callback=show
        )

    _finish(read, "nwb", asked)
