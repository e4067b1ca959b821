"""`swirl compare`: are hidden modes worth it on these data, and how many?"""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from swirl.cli import options as shared

app = typer.Typer(add_completion=False)


@app.command(epilog="Example:\n\nswirl compare sessions.csv --env maze.csv --modes 1,2,3,4 -o comparison.json")
def compare(
    data: shared.Table = None,
    env: shared.Environment = None,
    states: shared.States = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File for the scores.")] = Path(
        "comparison.json"
    ),
    fits: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to save the fitted models in, by their names.")
    ] = None,
    config: shared.Config = None,
    models: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="Models by name; S-1, S-2, S-3 differ in history; Goals needs --goals.",
            show_default="Markov,MaxEnt,rARHMM,I-1,S-1,S-2",
        ),
    ] = None,
    modes: Annotated[
        str | None,
        typer.Option(metavar="K,K,…", help="Numbers of modes; each model chooses on folds.", show_default="1,2,3"),
    ] = None,
    folds: Annotated[
        int | None, typer.Option(metavar="N", help="Folds of the training sessions.", show_default="3")
    ] = None,
    hold_out: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Every N-th session is for the test.",
            show_default="every fifth animal if five or more are known, else 5",
        ),
    ] = None,
    hold_out_subjects: shared.HeldOutSubjects = None,
    score: Annotated[
        str | None, typer.Option(help="action or next_state.", show_default="the first that all models have")
    ] = None,
    goals: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=PLACE,…",
            help="Places it may be going to: numbers or names of states, + joins several (water=116,home=0+1).",
            show_default="none",
        ),
    ] = None,
    reward: Annotated[str | None, typer.Option(help="state or state-action.", show_default="state")] = None,
    impossible: shared.Impossible = None,
    restarts: shared.Restarts = None,
    max_iter: shared.Iterations = None,
    tol: shared.Tolerance = None,
    seed: shared.Seed = None,
    force: shared.Force = False,
    as_json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> None:
    """Fit several models to the same sessions and score each once on the same others.

    How many modes a model has is chosen on folds of the training sessions:
    the fewest within one standard error of the best. The held-out sessions
    are only scored. The best model with modes is compared with the same
    model with one mode, and with the best other model without modes; the
    first line says whether modes are ahead of both. A second table has what
    the models say besides the next step: the place 1, 5 and 20 steps ahead
    and, with --goals, which goal is reached next and whether modes agree
    with direct runs to them.
    """
    from swirl.analysis.comparison_json import write_comparison
    from swirl.cli.output import check_free, listed, show_json, status_line, whole_numbers
    from swirl.workflows.compare import fit_file, run_comparison, save_fits
    from swirl.workflows.config import settings

    check_free(output, force, data, env, states, config)
    if fits is not None:
        check_folder(fits, force)
    options: dict[str, Any] = {
        "data": data,
        "env": env,
        "states": states,
        "hold_out": hold_out,
        "hold_out_subjects": listed(hold_out_subjects),
        "model": {"reward": reward, "impossible": impossible},
        "fit": {"restarts": restarts, "max_iter": max_iter, "tol": tol, "seed": seed},
        "compare": {
            "models": listed(models), "modes": whole_numbers("--modes", modes), "folds": folds, "score": score,
            "goals": goals,
        },
    }  # fmt: skip
    run = settings(config, options, "compare")
    command = shlex.join(["swirl", *sys.argv[1:]])
    with status_line(False if quiet or as_json else None) as show:
        result, ready = run_comparison(run, command=command, callback=show)
    echoed = {"config": ready.run.model_dump(mode="json", exclude_none=True), "command": command}
    saved = write_comparison(output, result, run=echoed, overwrite=force)
    kept = [] if fits is None else save_fits(result, fits, overwrite=force)
    if as_json:
        rows = [{key: value for key, value in row.items() if key != "chosen"} for row in result.table()]
        facts = {"verdict": result.verdict(), "remarks": result.remarks(), "scored": result.of, "models": rows}
        told = None if result.panel is None else {"goals": result.panel.goals, "models": result.panel.rows}
        show_json({**facts, "panel": told, "file": str(saved)})
        return
    if quiet:
        return
    typer.echo(f"{ready.train!r} to fit to, {ready.test!r} to score\n")
    typer.echo(result)
    typer.echo(f"\nSaved to {saved}" + (f", fits to {fits}" if kept else ""))
    picked = result.picked()
    fit = str(fits / fit_file(picked)) if fits is not None else "fit.nc"
    report = shlex.join(["swirl", "report", fit, "--comparison", str(saved), "-o", "report.html"])
    if fits is not None:
        typer.echo(f"Next: {report}")
        return
    given = {"--config": config, "--env": env, "--states": states, "--reward": reward, "--impossible": impossible}
    given |= {"--goals": goals, "--restarts": restarts, "--max-iter": max_iter, "--tol": tol, "--seed": seed}
    words = ["swirl", "fit", *([data] if data is not None else []), *fit_words(picked, result.n_modes(picked), given)]
    typer.echo(f"Next: {shlex.join(words)} && {report}")


def fit_words(name: str, n_modes: int, given: dict[str, Any]) -> list[str]:
    """Options of `swirl fit` for a model that was compared, beside those that were given here.

    >>> fit_words("S-1", 2, {"--env": "grid.csv", "--seed": None})
    ['--env', 'grid.csv', '--model', 'S-1', '--modes', '2', '-o', 'fit.nc']
    """
    from swirl.estimators.registry import fixed_arguments, has_goals, known_arguments

    left_out = "--reward" if has_goals(name) else "--goals"  # of the other models
    given = {option: value for option, value in given.items() if option != left_out}
    free = "n_modes" in known_arguments(name) and "n_modes" not in fixed_arguments(name)
    words = [str(word) for option, value in given.items() if value is not None for word in (option, value)]
    return [*words, "--model", name, *(["--modes", str(n_modes)] if free else []), "-o", "fit.nc"]


def check_folder(folder: Path, force: bool) -> None:
    """Raise before any work where fits could not be saved."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"--fits {folder} is a file: give a folder")
    if not folder.parent.is_dir():
        raise FileNotFoundError(f"the folder {str(folder.parent)!r} of --fits {folder.name} does not exist: make it")
    if folder.is_dir() and any(folder.glob("*.nc")) and not force:
        raise FileExistsError(f"{folder} holds fits already: choose another folder, or replace them with --force")
