"""`swirl report`: one HTML page about a fit."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from swirl.cli.options import Fit, Force, Quiet, Scheduler, Sessions, Signal, SignalBin, SignalWindow, Workers

app = typer.Typer(add_completion=False)


def _intervals(
    model: Any, sessions: Any, n_draws: int, progress: bool | None, folder: Path | None, where: tuple[str, int | None]
) -> Any:
    """Intervals, by so many refits or (0) from the information, saying how far they have come; None: there are none."""
    from swirl.analysis.bootstrap import TooFewRefitsError, bootstrap
    from swirl.analysis.cluster import HERE, engine_for
    from swirl.analysis.information import NoInformationError, information
    from swirl.analysis.tasks import Folder
    from swirl.cli.output import status_line

    try:
        with status_line(progress) as show:
            if n_draws:
                said = partial(_told, show)
                if folder is None and where[0] == HERE:
                    return bootstrap(model, sessions, n_draws=n_draws, progress=said)
                kept = None if folder is None else Folder(folder)
                with engine_for(*where, tell=show) as engine:
                    return bootstrap(model, sessions, n_draws=n_draws, progress=said, folder=kept, engine=engine)
            return information(
                model, sessions, progress=lambda done, n: show(f"pass {done:,} of {n:,} over the data for intervals")
            )
    except (TooFewRefitsError, NoInformationError) as fault:
        typer.echo(f"No intervals: {fault}", err=True)
        return None


def _told(show: Any, done: int, n: int) -> None:
    show(f"refit {done} of {n} for intervals")


@app.command(epilog="Example:\n\nswirl report fit.nc --signal dopamine -o report.html")
def report(
    fit: Fit,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The page.")] = Path("report.html"),
    data: Sessions = None,
    comparison: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What swirl compare saved, for a section that compares models.")
    ] = None,
    signal: Signal = None,
    signal_window: SignalWindow = None,
    signal_bin: SignalBin = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.")] = None,
    draws: Annotated[int, typer.Option(min=0, metavar="N", help="Simulated datasets of the checks; 0: none.")] = 5,
    bootstrap: Annotated[
        int, typer.Option(min=0, metavar="N", help="Resample the fit's sessions N times, for intervals; 0: none.")
    ] = 0,
    information: Annotated[
        bool,
        typer.Option(
            "--information",
            help="Intervals from the curvature of the likelihood (observed information), without refits.",
        ),
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --bootstrap: keep each refit here; after an interruption the same command resumes.",
        ),
    ] = None,
    scheduler: Scheduler = "here",
    workers: Workers = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Make one self-contained HTML page about a fit, to read, print or mail; it opens without a connection."""
    from swirl import report as pages
    from swirl.analysis.comparison_json import read_comparison
    from swirl.cli.output import check_free, numbers
    from swirl.workflows.load import open_fit, sessions_of

    if bootstrap and information:
        raise ValueError("--bootstrap and --information both make the intervals: give one of them")
    if not bootstrap and (folder is not None or workers is not None or scheduler != "here"):
        raise ValueError("--folder, --scheduler and --workers are for the refits of --bootstrap N: give it, or none")
    check_free(output, force, fit, data, comparison)
    compared = None if comparison is None else read_comparison(comparison)
    model = open_fit(fit)
    sessions = sessions_of(model, data, some=True)
    asked = bootstrap or information
    where = (scheduler, workers)
    found = _intervals(model, sessions, bootstrap, False if quiet else None, folder, where) if asked else None
    written = pages.write(
        output,
        model,
        sessions,
        comparison=compared,
        signal=signal,
        signal_window=numbers("--signal-window", signal_window),
        signal_bin=signal_bin,
        title=title,
        run=model.run_,
        n_draws=draws,
        intervals=found,
        fit_file=fit,
        overwrite=force,
    )
    if not quiet:
        typer.echo(f"Saved to {written} ({written.stat().st_size / 1e6:.1f} MB)")
