"""`swirl plot`: the figures of a fit, for a paper or a talk, each with its numbers."""

from pathlib import Path
from typing import Annotated

import typer

from swirl.cli.options import Force, Json, Quiet, Sessions, Signal, SignalBin, SignalWindow

app = typer.Typer(add_completion=False)


@app.command(epilog="Example:\n\nswirl plot fit.nc -o figures --signal dopamine --format pdf,png")
def plot(
    fit: Annotated[
        Path | None, typer.Argument(metavar="FIT", help="A model that swirl fit saved.", show_default=False)
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for figures and tables; made if it does not exist."),
    ] = Path("figures"),
    data: Sessions = None,
    comparison: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What swirl compare saved, for figures of the models.")
    ] = None,
    signal: Signal = None,
    signal_window: SignalWindow = None,
    signal_bin: SignalBin = None,
    modes: Annotated[str | None, typer.Option(metavar="A,B,…", help="Names of the modes, in their order.")] = None,
    formats: Annotated[str, typer.Option("--format", metavar="A,B,…", help="Some of pdf, png and svg.")] = "pdf,png",
    only: Annotated[str | None, typer.Option(metavar="A,B,…", help="Only these figures; --list names them.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the figures and what they show, and stop.")] = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw every figure that applies to a fit: rewards, policies, modes over time, durations, a signal.

    Each figure comes with a CSV of the numbers that it draws. Maps show the environment as cells of a
    grid, as a graph of places, or as names.
    """
    from swirl.analysis.comparison_json import read_comparison
    from swirl.cli.output import numbers, parts, show_json
    from swirl.estimators.fit_warnings import UNSETTLED, is_unsettled, verdict_of
    from swirl.plots.fit import catalogue
    from swirl.workflows.load import open_fit, sessions_of

    if listed:
        captions = {name: caption for name, (caption, _) in catalogue.FIGURES.items()}
        if as_json:
            show_json(captions)
        else:
            width = max(map(len, captions)) + 2
            typer.echo("\n".join(f"{name:<{width}}{caption}" for name, caption in captions.items()))
        return
    if fit is None:
        raise ValueError("no fit: give a file that swirl fit saved, as in `swirl plot fit.nc`")
    chosen = None if only is None else parts(only)
    catalogue.check_target(output, chosen, parts(formats), force)
    model = open_fit(fit)
    sessions = sessions_of(model, data, some=True)
    files, left_out = catalogue.write(
        output,
        model,
        sessions,
        signal=signal,
        signal_window=numbers("--signal-window", signal_window),
        signal_bin=signal_bin,
        comparison=None if comparison is None else read_comparison(comparison),
        mode_names=None if modes is None else parts(modes),
        only=chosen,
        formats=parts(formats),
        overwrite=force,
    )
    if as_json:
        show_json({"files": {name: [str(file) for file in own] for name, own in files.items()}, "left_out": left_out})
    elif not quiet:
        typer.echo(f"Saved to {output}: {', '.join(files)}")
        found = verdict_of(model, model.restart_agreement_)
        if is_unsettled(found) and len(model.initial_modes_) > 1:
            typer.echo(f"Verdict: {found}.\n{UNSETTLED} The figures, and p-values in them, take the modes as given.")
        if left_out:
            width = max(map(len, left_out)) + 2
            typer.echo("Left out:\n" + "\n".join(f"  {name:<{width}}{why}" for name, why in left_out.items()))
