"""`swirl export`: a fit's modes, rewards and policies in other programs' files."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from swirl.cli.options import Fit, Force, Json, Quiet, Sessions

app = typer.Typer(add_completion=False)


class What(StrEnum):
    """What a table holds."""

    steps = "steps"
    bouts = "bouts"
    rewards = "rewards"
    transitions = "transitions"


@app.command(epilog="Example:\n\nswirl export fit.nc --append-to day1.nwb -o day1_modes.nwb")
def export(
    fit: Fit,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="By its suffix: .csv, .tsv, .parquet, .mat (MATLAB) or .nwb.",
        ),
    ],
    what: Annotated[What, typer.Option(help="What a table holds.")] = What.steps,
    data: Sessions = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="One session; by default all.")] = None,
    modes: Annotated[str | None, typer.Option(metavar="A,B,…", help="Names of the modes, in their order.")] = None,
    append_to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="An NWB file of this session: a copy of it, with the modes added, is written to -o.",
        ),
    ] = None,
    session_start: Annotated[
        str | None,
        typer.Option(
            metavar="TIME,…", help="When a session started (NWB), as in 2026-03-01T14:30; one for each, or for all."
        ),
    ] = None,
    species: Annotated[
        str | None, typer.Option(metavar="NAME", help='Latin name of the species (NWB), as in "Mus musculus".')
    ] = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write what a fit found: steps with modes and time stamps, bouts, rewards, transitions.

    NWB files hold the bouts as EthogramBouts, one file per session (several
    sessions: a folder of that name). Animal and start of the session come
    from the file in --append-to, which itself is not changed. MATLAB files
    hold sessions and model.
    """
    from swirl.cli.output import check_free, listed, show_json
    from swirl.workflows.load import export_fit

    check_free(output, force, fit, data, append_to)
    starts = listed(session_start)
    written = export_fit(
        fit, output, what=what.value, data=data, mode_names=listed(modes), session=session, append_to=append_to,
        session_start=starts[0] if starts and len(starts) == 1 else starts, species=species, overwrite=force,
    )  # fmt: skip
    if as_json:
        show_json([str(path) for path in written])
    elif not quiet:
        typer.echo("\n".join(f"Saved to {path}" for path in written))
