"""`swirl demo`: the paper's gridworld, simulated, fitted and drawn."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example:\n\nswirl demo --output swirl-demo --seed 1 --force")
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for pages, figures, data and fit.")
    ] = Path("swirl-demo"),
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the simulation and of the fits.")] = 0,
    restarts: Annotated[int, typer.Option(min=1, metavar="N", help="Random starts of each fit; the best is kept.")] = 8,
    force: Annotated[bool, typer.Option("--force", help="Write into a folder that has files already.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A quarter of the sessions.")] = False,
) -> None:
    """Simulate the paper's 5 × 5 gridworld, fit MaxEnt, I-1, I-2, S-1 and S-2, and draw what was found.

    Prints one table: held-out score of each model and of the true model,
    accuracy of the segmentation, reward correlation, seconds. Writes the
    report on S-2 (report.html), a page that compares it with the truth
    (truth.html), the figures, and the data and the fit as files that the
    other commands read.
    """
    from swirl.workflows.demo import run_demo

    run_demo(output=output, seed=seed, n_restarts=restarts, force=force, as_json=as_json, quick=quick)
