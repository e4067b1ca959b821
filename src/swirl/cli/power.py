"""`swirl power`: how many sessions do I need?  Simulated, from a fit or from a sketch."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from swirl.cli import options as shared

app = typer.Typer(add_completion=False)
FORMATS = (".png", ".pdf", ".svg")


@app.command(epilog="Example:\n\nswirl power --arena 6x6 --goals food=r0c0,nest=r5c5 --dwell 40 --temperature 0.4")
def power(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="FIT | SKETCH",
            help="A model that swirl fit saved, or a sketch (TOML: env, goals, dwell, temperature); else options.",
            show_default=False,
        ),
    ] = None,
    env: Annotated[str | None, typer.Option(metavar="ENV", help="Sketch: edge list of the place (CSV).")] = None,
    states: shared.States = None,
    arena: Annotated[
        str | None, typer.Option(metavar="RxC", help="Sketch: an open arena of R x C cells, instead of --env.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="FIRST",
            help="Sketch: what the first cell of --arena is called, as for swirl env grid: A1, a1, A01, 1, …",
            show_default="r0c0",
        ),
    ] = None,
    goals: Annotated[
        str | None,
        typer.Option(metavar="A,B+C,…", help="Sketch: the place that each mode walks to, by name or number."),
    ] = None,
    dwell: Annotated[
        str | None,
        typer.Option(metavar="N", help="Sketch: steps that a mode lasts; N,M: of each mode.", show_default="30"),
    ] = None,
    temperature: Annotated[
        str | None,
        typer.Option(
            metavar="X",
            help="Sketch: noise of choices; low: it walks straight to its goal, high: it strays.",
            show_default="0.5",
        ),
    ] = None,
    ends: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="Sketch: where a mode ends, at its goal or anywhere.", show_default="goal"),
    ] = None,
    explore: Annotated[bool, typer.Option("--explore", help="Sketch: one more mode, without a goal.")] = False,
    sessions: Annotated[
        str | None,
        typer.Option(
            metavar="N,M,…", help="Sessions of each animal to try.", show_default="about the fit's; or 2,4,8,16,32"
        ),
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(metavar="N,M,…", help="Steps of a session to try.", show_default="the fit's mean; or 200"),
    ] = None,
    animals: Annotated[
        str | None, typer.Option(metavar="N,M,…", help="Numbers of animals to try.", show_default="1")
    ] = None,
    between_animals: Annotated[
        float,
        typer.Option(
            metavar="SD",
            help="How much animals differ: SD of what each adds to the reward of each place. 0: not at all.",
        ),
    ] = 0.0,
    missing_actions: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of actions that are not recorded; 1: places alone.",
            show_default="the fit's; or 0",
        ),
    ] = None,
    questions: Annotated[
        str | None,
        typer.Option(
            "--ask",
            metavar="A,B,…",
            help="What must be recovered: modes, goals, policies, switching.",
            show_default="modes,goals,switching",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="A=X,…",
            help="What counts as recovered, as in modes=0.95,switching=0.2,right=0.9.",
            show_default="modes=0.9,goals=0.5,policies=0.1,switching=0.3",
        ),
    ] = None,
    share: Annotated[
        float, typer.Option("--power", metavar="SHARE", help="Share of data sets from which it must be recovered.")
    ] = 0.8,
    simulations: Annotated[int, typer.Option(metavar="N", min=1, help="Simulated data sets of each size.")] = 20,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Sketch: the model that is fitted, by name.", show_default="S-1")
    ] = None,
    restarts: shared.Restarts = None,
    max_iter: shared.Iterations = None,
    seed: shared.Seed = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File for the numbers (JSON).")] = Path(
        "power.json"
    ),
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Draw the curves (PNG, PDF or SVG).")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep each result here; after an interruption, or to add simulations, give the same command.",
        ),
    ] = None,
    scheduler: shared.Scheduler = "local",
    workers: shared.Workers = None,
    force: shared.Force = False,
    as_json: shared.Json = False,
    quiet: shared.Quiet = False,
) -> None:
    """Find by simulation how many sessions are needed.

    Sessions are simulated from a fit, or from a sketch of what you expect:
    places, goals, how long a mode lasts, how noisy choices are. The model is
    fitted to each data set, and the result is compared with the truth. The
    first line names the smallest number of sessions for which modes, goals
    and switching are recovered from 80 % of the data sets, or says that none
    is enough.
    """
    from swirl.analysis.power import cost
    from swirl.cli.output import check_free, listed, numbers, progress_lines, save_facts, show_json, whole_numbers
    from swirl.text import plain
    from swirl.workflows.power import ask, run_power

    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # workers share a GPU with this process
    for path in (output, *([figure] if figure is not None else [])):
        check_free(path, force, source, env, states)
    if figure is not None and figure.suffix not in FORMATS:
        raise ValueError(f"--figure {figure}: expected a file that ends in {', '.join(FORMATS)}")
    options: dict[str, Any] = {
        "env": env, "states": states, "arena": arena, "labels": labels, "goals": goals, "ends": ends,
        "dwell": numbers("--dwell", dwell), "temperature": numbers("--temperature", temperature),
        "explore": explore or None, "model": {"name": model},
        "fit": {"restarts": restarts, "max_iter": max_iter, "seed": seed},
    }  # fmt: skip
    wanted = target_of(target)
    question = ask(
        source,
        options,
        n_sessions=whole_numbers("--sessions", sessions),
        n_steps=whole_numbers("--steps", steps),
        n_animals=whole_numbers("--animals", animals),
        missing_actions=missing_actions,
    )
    silent = quiet or as_json
    if not silent:
        typer.echo(f"{cost(question.designs, simulations)}; the time left is shown as they end", err=True)
    with progress_lines(silent) as show:
        found = run_power(
            question,
            between_animals=between_animals,
            questions=listed(questions),
            target=wanted,
            power=share,
            n_simulations=simulations,
            folder=folder,
            scheduler=scheduler,
            n_workers=workers,
            callback=show,
            tell=None if silent else show,
        )
    facts = {**found.facts(), "source": question.source, "sketch": question.settings}
    saved = save_facts(output, "swirl power", facts, force=force)
    if figure is not None:
        from swirl.plots.power import power_curves
        from swirl.plots.style import save

        save(power_curves(found), figure.with_suffix(""), [figure.suffix[1:]], overwrite=force)
    if as_json:
        show_json(plain({**facts, "file": str(saved), "figure": None if figure is None else str(figure)}, other=repr))
    elif not quiet:
        drawn = "" if figure is None else f"\nFigure: {figure}"
        typer.echo(f"From {question.source}\n\n{found}\n{drawn}\nSaved to {saved}")


def target_of(given: str | None) -> Any:
    """What counts as given back, from "modes=0.95,switching=0.2"; None where nothing was given.

    >>> target_of("modes=0.95, right=0.9")
    Target(modes=0.95, goals=0.5, policies=0.1, switching=0.3, right=0.9)
    """
    from swirl.analysis.power import Target
    from swirl.cli.output import parts

    if given is None:
        return None
    known, values = Target.__dataclass_fields__, {}
    for part in parts(given):
        name, _, value = (word.strip() for word in part.partition("="))
        try:
            values[name] = float(value)
        except ValueError:
            values[name] = None
        if name not in known or values[name] is None:
            raise ValueError(f"--target {part}: expected NAME=NUMBER, of {', '.join(known)}, as in --target modes=0.95")
    return Target(**values)
