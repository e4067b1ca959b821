"""`swirl report`: one HTML page about a fit."""

from pathlib import Path
from typing import Annotated, Any

import typer

from swirl.cli.options import Fit, Force, Quiet, Sessions, Signal

app = typer.Typer(add_completion=False)


def _intervals(model: Any, sessions: Any, n_draws: int, progress: bool | None) -> Any:
    """Intervals, by so many refits or (0) from the information, saying how far they have come; None: there are none."""
    from swirl.analysis.bootstrap import TooFewRefitsError, bootstrap
    from swirl.analysis.information import NoInformationError, information
    from swirl.cli.output import status_line

    try:
        with status_line(progress) as show:
            if n_draws:
                return bootstrap(
                    model,
                    sessions,
                    n_draws=n_draws,
                    progress=lambda done, n: show(f"refit {done} of {n} for intervals"),
                )
            return information(
                model, sessions, progress=lambda done, n: show(f"pass {done:,} of {n:,} over the data for intervals")
            )
    except (TooFewRefitsError, NoInformationError) as fault:
        typer.echo(f"No intervals: {fault}", err=True)
        return None


@app.command(epilog="Example:\n\nswirl report fit.nc --signal dopamine -o report.html")
def report(
    fit: Fit,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The page.")] = Path("report.html"),
    data: Sessions = None,
    comparison: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What swirl compare saved, for a section on how models did.")
    ] = None,
    signal: Signal = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.")] = None,
    draws: Annotated[int, typer.Option(min=0, metavar="N", help="Simulated datasets of the checks; 0: none.")] = 5,
    bootstrap: Annotated[
        int, typer.Option(min=0, metavar="N", help="Draw the fit's sessions anew N times, for intervals; 0: none.")
    ] = 0,
    information: Annotated[
        bool,
        typer.Option(
            "--information", help="Intervals from how sharply the fit is peaked (observed information): no refits."
        ),
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Make one self-contained HTML page about a fit, to look at, print or mail; it opens without a connection."""
    from swirl import report as pages
    from swirl.analysis.comparison_json import read_comparison
    from swirl.cli.output import check_free
    from swirl.workflows.load import open_fit, sessions_of

    if bootstrap and information:
        raise ValueError("--bootstrap and --information both make the intervals: give one of them")
    check_free(output, force, fit, data, comparison)
    compared = None if comparison is None else read_comparison(comparison)
    model = open_fit(fit)
    sessions = sessions_of(model, data, some=True)
    asked = bootstrap or information
    found = _intervals(model, sessions, bootstrap, False if quiet else None) if asked else None
    written = pages.write(
        output,
        model,
        sessions,
        comparison=compared,
        signal=signal,
        title=title,
        run=model.run_,
        n_draws=draws,
        intervals=found,
        overwrite=force,
    )
    if not quiet:
        typer.echo(f"Saved to {written} ({written.stat().st_size / 1e6:.1f} MB)")
