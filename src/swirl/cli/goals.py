"""`swirl goals`: which places does it walk to, and are they more than a habit?"""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from swirl.cli import options as shared

app = typer.Typer(add_completion=False)
FORMATS = (".png", ".pdf", ".svg")


@app.command(epilog="Example:\n\nswirl goals sessions.csv --env maze.csv -o goals.nc --map goals.png")
def goals(
    data: shared.Table = None,
    env: shared.Environment = None,
    states: shared.States = None,
    columns: shared.Columns = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="File for the model with the goals found.")
    ] = Path("goals.nc"),
    drawn: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="Draw what each place is worth as a goal (PNG, PDF).")
    ] = None,
    config: shared.Config = None,
    among: Annotated[
        str | None,
        typer.Option(
            "--among",
            metavar="A,B+C,…",
            help="Only these places may be goals, by name or number of the state; B+C is one place of two states.",
            show_default="every place",
        ),
    ] = None,
    hold_out: Annotated[
        int | None, typer.Option(metavar="N", help="Leave every N-th session out.", show_default="none")
    ] = None,
    hold_out_subjects: shared.HeldOutSubjects = None,
    history: Annotated[
        int | None,
        typer.Option(
            metavar="L",
            help="The habit of the search remembers L - 1 moves; a longer habit can pass for goals: try 3 as well.",
            show_default="2",
        ),
    ] = None,
    impossible: shared.Impossible = None,
    runs: Annotated[
        bool, typer.Option("--runs/--no-runs", help="Check by simulation how directly places are reached.")
    ] = True,
    seed: shared.Seed = None,
    force: shared.Force = False,
    as_json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> None:
    """Find the places that the animal walks to, and say whether they are more than a habit.

    Every place is tried as a goal; kept are those that improve the prediction
    of held-out folds of the sessions. Then the best model without modes
    (counts of what followed the last states, or a habit that may depend on
    the place) is compared with the same habit with goals. The verdict is
    "evidence for goals", "a description only" or "no sign of goals"; the last
    line suggests an experiment that would decide. It takes minutes: many
    models are fitted.
    """
    from swirl.cli.output import (
        check_free,
        data_words,
        free_name,
        listed,
        named_columns,
        progress_lines,
        show_json,
        tell_next,
    )  # fmt: skip
    from swirl.workflows.config import read_config, settings
    from swirl.workflows.goals import DISCOVER, split_goals
    from swirl.workflows.habit_or_goal import run_habit_or_goal

    for path in (output, *([drawn] if drawn is not None else [])):
        check_free(path, force, data, env, states, config)
    if drawn is not None and drawn.suffix not in FORMATS:
        raise ValueError(f"--map {drawn}: expected a file that ends in {', '.join(FORMATS)}")
    formed = config is not None and "reward" in read_config(config).get("model", {})
    asked = {"impossible": impossible, "history": history, "reward": None if formed else "goals"}
    options: dict[str, Any] = {
        "data": data, "env": env, "states": states, "columns": named_columns(columns), "hold_out": hold_out,
        "hold_out_subjects": listed(hold_out_subjects), "fit": {"seed": seed},
        "model": {**asked, "goals": [DISCOVER] if among is None else split_goals(among)},
    }  # fmt: skip
    run = settings(config, options, "goals")
    command = shlex.join(["swirl", *sys.argv[1:]])
    with progress_lines(quiet or as_json) as show:
        found, ready = run_habit_or_goal(run, command=command, runs=runs, callback=show.doing, progress=show)
    model = found.model
    saved = None if model is None else model.save(output, overwrite=force)
    if drawn is not None:
        from swirl.plots.goals import search_map
        from swirl.plots.style import save

        figure: Any = search_map(found.search).get_figure()
        save(figure, drawn.with_suffix(""), [drawn.suffix[1:]], overwrite=force)
    if as_json:
        show_json({**found.facts(), "file": None if saved is None else str(saved)})
        return
    if quiet:
        return
    typer.echo(f"{data_words(ready.train)}\n\n{found}")
    if drawn is not None:
        typer.echo(f"\nMap: {drawn}")
    if saved is not None:
        typer.echo(f"\nSaved to {saved}")
        tell_next(["swirl", "report", str(saved), "-o", free_name("report.html")])
