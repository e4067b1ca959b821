"""`swirl apply`: a fitted model's modes in other sessions."""

from pathlib import Path
from typing import Annotated

import typer

from swirl.cli.options import Columns, Fit, Force, Json, Quiet

app = typer.Typer(add_completion=False)


@app.command(epilog="Example:\n\nswirl apply fit.nc new_sessions.csv -o new_modes.csv")
def apply(
    fit: Fit,
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV or Parquet of sessions.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Table of modes (.csv, .tsv, .parquet).")
    ],
    columns: Columns = None,
    bouts: Annotated[bool, typer.Option("--bouts", help="One row per bout of a mode instead of one per step.")] = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Infer the modes of new sessions with a fitted model; nothing is fitted again.

    Writes every step with its mode (Viterbi) and the probability of each mode.
    On the training sessions these are the same as in the fit.
    """
    from swirl.cli.output import check_free, named_columns, show_json
    from swirl.estimators.base import PER
    from swirl.io.export_tables import write_table
    from swirl.text import counted
    from swirl.workflows.load import open_fit, sessions_of, steps_or_bouts

    check_free(output, force, fit, data)
    model = open_fit(fit)
    sessions = sessions_of(model, data, columns=named_columns(columns))
    table = steps_or_bouts(model, sessions, bouts=bouts)
    written = write_table(table, output, overwrite=force)
    of = model.score_type_of(sessions)
    facts = {
        "file": str(written),
        "sessions": len(sessions),
        "steps": sessions.n_steps,
        "rows": len(table),
        "scored": of,
        "score": model.score(sessions, of=of),
    }
    if as_json:
        show_json(facts)
    elif not quiet:
        sizes = f"{counted(len(sessions), 'session')}, {counted(sessions.n_steps, 'step')}"
        typer.echo(f"{sizes}: {facts['score']:.4f} nats per {PER[of]}")
        typer.echo(f"Saved to {written}")
