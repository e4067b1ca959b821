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
    columns: shared.Columns = None,
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
        str | None,
        typer.Option(metavar="WHAT", help="action or next_state.", show_default="the first that all models have"),
    ] = None,
    goals: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=PLACE,…",
            help="Places it may be going to: numbers or names of states, + joins several (water=116,home=0+1).",
            show_default="none",
        ),
    ] = None,
    grid: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|default",
            help="Choose among all combinations of the [grid] in this TOML file, and say what each setting is worth.",
            show_default="none; default: modes 1 to 3, history 1 and 2, switching independent and state",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep each fit here; after an interruption the same command resumes."),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help=shared.WHERE,
            show_default="local with --grid, --folder or --workers, else here",
        ),
    ] = None,
    workers: shared.Workers = None,
    reward: Annotated[
        str | None, typer.Option(metavar="FORM", help="state or state-action.", show_default="state")
    ] = None,
    impossible: shared.Impossible = None,
    restarts: shared.Restarts = None,
    max_iter: shared.Iterations = None,
    tol: shared.Tolerance = None,
    seed: shared.Seed = None,
    force: shared.Force = False,
    as_json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> None:
    """Fit several models to the same training sessions and score each once on the same held-out sessions.

    How many modes a model has is chosen on folds of the training sessions:
    the fewest within one standard error of the best. The held-out sessions
    are only scored. The best model with modes is compared with the same
    model with one mode, and with the best other model without modes; the
    first line says whether modes are ahead of both. A second table scores
    other predictions than the next step: the place 1, 5 and 20 steps ahead
    and, with --goals, which goal is reached next and whether modes agree
    with direct runs to them.

    With --grid all settings of one model are chosen on the folds; the output
    says what was chosen, how often other sessions would have led to another
    choice, and what each setting is worth on the held-out sessions.
    """
    from swirl.analysis.comparison_json import write_comparison
    from swirl.cli.output import check_free, listed, named_columns, progress_lines, show_json, whole_numbers
    from swirl.workflows.compare import planned, run_comparison, save_fits
    from swirl.workflows.config import settings

    check_free(output, force, data, env, states, config)
    if fits is not None:
        check_folder(fits, force)
    options: dict[str, Any] = {
        "data": data,
        "env": env,
        "states": states,
        "columns": named_columns(columns),
        "hold_out": hold_out,
        "hold_out_subjects": listed(hold_out_subjects),
        "model": {"reward": reward, "impossible": impossible},
        "fit": {"restarts": restarts, "max_iter": max_iter, "tol": tol, "seed": seed},
        "compare": {
            "models": listed(models), "modes": whole_numbers("--modes", modes), "folds": folds, "score": score,
            "goals": goals,
        },
    }  # fmt: skip
    command = shlex.join(["swirl", *sys.argv[1:]])
    given = {"--env": env, "--states": states, "--columns": columns, "--reward": reward, "--impossible": impossible}
    given |= {"--goals": goals, "--restarts": restarts, "--max-iter": max_iter, "--tol": tol, "--seed": seed}
    fitting = ["swirl", "fit", *([data] if data is not None else [])]
    if grid is not None:
        run, file = _with_grid(grid, config, options), _file_of_settings(grid, config)
        found, saved = _choose(run, output, fits, folder, scheduler or "local", workers, command, force, as_json, quiet)
        if not (quiet or as_json):
            words = setting_words(found.best)
            if words is None or (config is not None and file != config):
                typer.echo("To go on: write the chosen settings into [model] of a file, and swirl fit --config FILE")
            else:
                _tell_refit([*fitting, *_given_words({"--config": file, **given, "--goals": None}), *words], saved)
        return
    run = settings(config, options, "compare")
    silent = quiet or as_json
    if not silent:
        typer.echo(f"{planned(run)} The time left is told from the first fits on.", err=True)
    with progress_lines(silent) as show:
        result, ready = run_comparison(
            run, command=command, callback=show.doing, folder=folder, scheduler=scheduler, n_workers=workers,
            progress=show,
        )  # fmt: skip
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
    typer.echo(f"{_sides(ready)}\n")
    typer.echo(result)
    typer.echo(f"\nSaved to {saved}" + (f", fits to {fits}" if kept else ""))
    picked = result.picked()
    typer.echo(f"To go on with {result.picked_words()}")
    words = fit_words(picked, result.n_modes(picked), {"--config": config, **given})
    _tell_refit([*fitting, *words], saved)


def _tell_refit(fit: list[str], comparison: Path) -> None:
    """Print what to type next: a fit of the chosen model to all sessions, and its report."""
    from swirl.cli.output import free_name, tell_next

    kept = free_name("fit.nc")
    report = ["swirl", "report", kept, "--comparison", str(comparison), "-o", free_name("report.html")]
    tell_next([*fit, "-o", kept], report)


def _sides(ready: Any) -> str:
    """The sessions on either side of the split, in a line each."""
    from swirl.cli.output import data_words

    sides = f"fitted to     {data_words(ready.train)}\nscored on     {data_words(ready.test)}"
    estimated = "\nenvironment   estimated from the sessions that are fitted; on folds, from those fitted there"
    return sides + (estimated if ready.env.estimated else "")


def _with_grid(grid: str, config: Path | None, options: dict[str, Any]) -> Any:
    """The run of --grid: the file may have all of the run, or the [grid] alone beside --config and options."""
    from swirl.workflows.config import checked, merged, read_config
    from swirl.workflows.model_choice import default_grid

    asked = options["compare"]
    vain = [f"--{name}" for name in ("models", "modes", "goals") if asked[name] is not None]
    if vain:
        raise ValueError(f"{', '.join(vain)}: with --grid, the file says what is tried; leave this out")
    folds, rest = asked["folds"], {**options, "compare": {"score": asked["score"]}}
    values = {} if config is None else read_config(config)
    if grid == "default":
        values.pop("grid", None)
    else:
        values = merged(values, read_config(grid))
        if "grid" not in values:
            raise ValueError(f"--grid {grid}: the file has no [grid]; list there what to try, as in modes = [1, 2, 3]")
    values = merged(values, rest)
    if "data" not in values:
        raise ValueError("no data: give a CSV or Parquet file, as in `swirl compare sessions.csv --grid default`")
    run = checked(values, grid if grid != "default" else str(config or "the settings"))
    asked_for = run.grid or default_grid(run)
    update = {} if folds is None else {"folds": folds}
    return run.model_copy(update={"grid": asked_for.model_copy(update=update)})


def _choose(
    run: Any,
    output: Path,
    fits: Path | None,
    folder: Path | None,
    scheduler: str,
    workers: int | None,
    command: str,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> tuple[Any, Path]:
    """Choose on a grid, and tell; what was found, and the file that has it."""
    import os

    from swirl.analysis.comparison_json import write_comparison
    from swirl.cli.output import progress_lines, show_json
    from swirl.text import plain
    from swirl.workflows.compare import save_fits
    from swirl.workflows.model_choice import run_choice

    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # workers share a GPU with this process
    silent = quiet or as_json
    with progress_lines(silent) as show:
        found, ready = run_choice(
            run,
            folder=folder,
            scheduler=scheduler,
            n_workers=workers,
            command=command,
            callback=show,
            tell=None if silent else show,
        )
    echoed = {"config": ready.run.model_dump(mode="json", exclude_none=True), "command": command}
    saved = write_comparison(output, found.comparison, run=echoed, choice=found.facts(), overwrite=force)
    kept = [] if fits is None else save_fits(found.comparison, fits, overwrite=force)
    if as_json:
        show_json(plain({**found.facts(), "file": str(saved)}, other=repr))
    elif not quiet:
        typer.echo(f"{_sides(ready)}\n\n{found}\n\nSaved to {saved}")
        if kept:
            typer.echo(f"Fits to the training sessions are in {fits}")
    return found, saved


OF_GRID = ("modes", "history", "switching", "reward", "discount", "temperature")  # settings that are options of a fit


def setting_words(settings: dict[str, Any]) -> list[str] | None:
    """Options of `swirl fit` for settings of a grid; None where some cannot be said by options.

    >>> setting_words({"n_modes": 2, "history": 1, "switching": "state"})
    ['--modes', '2', '--history', '1', '--switching', 'state']
    >>> setting_words({"n_modes": 1, "switching": "state", "reward_prior": None}) is None
    True
    """
    from swirl.analysis.model_choice import MODES, OF_MODES
    from swirl.workflows.fit import ARGUMENTS

    said = {k: value for k, value in settings.items() if not (settings.get(MODES) == 1 and k in OF_MODES)}
    options = {ARGUMENTS.get(name, name): f"--{name}" for name in OF_GRID}
    if any(key not in options or not isinstance(value, str | int | float) for key, value in said.items()):
        return None
    return _given_words({options[key]: value for key, value in said.items()})


def _given_words(given: dict[str, Any]) -> list[str]:
    """Options of a command that were given; with a file of settings, that it is to fit all sessions."""
    words = [str(word) for option, value in given.items() if value is not None for word in (option, value)]
    return [*words, *(["--hold-out", "0"] if given.get("--config") is not None else [])]


def _file_of_settings(grid: str, config: Path | None) -> Path | None:
    """The file that has the run: that of the grid, where it has more than the grid."""
    from swirl.workflows.config import read_config

    return config if grid == "default" or set(read_config(grid)) == {"grid"} else Path(grid)


def fit_words(name: str, n_modes: int, given: dict[str, Any]) -> list[str]:
    """Options of `swirl fit` for a model that was compared, beside those that were given here.

    >>> fit_words("S-1", 2, {"--env": "grid.csv", "--seed": None})
    ['--env', 'grid.csv', '--model', 'S-1', '--modes', '2']
    """
    from swirl.estimators.registry import fixed_arguments, has_goals, known_arguments

    left_out = "--reward" if has_goals(name) else "--goals"  # of the other models
    given = {option: value for option, value in given.items() if option != left_out}
    free = "n_modes" in known_arguments(name) and "n_modes" not in fixed_arguments(name)
    return [*_given_words(given), "--model", name, *(["--modes", str(n_modes)] if free else [])]


def check_folder(folder: Path, force: bool) -> None:
    """Raise before any work where fits could not be saved."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"--fits {folder} is a file: give a folder")
    if not folder.parent.is_dir():
        raise FileNotFoundError(f"the folder {str(folder.parent)!r} of --fits {folder.name} does not exist: make it")
    if folder.is_dir() and any(folder.glob("*.nc")) and not force:
        raise FileExistsError(f"{folder} holds fits already: choose another folder, or replace them with --force")
