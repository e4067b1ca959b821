"""`swirl env`: write the environment of an arena, a track or a maze, and its map."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from swirl.cli.options import Force, Json, Quiet

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Write an environment (CSV for --env) and its map. y grows upwards on every map.",
    epilog="Example:\n\nswirl env grid 6x6 --labels A1 -o arena.csv",
)

Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The edge list (CSV).")]
Map = Annotated[
    Path | None, typer.Option("--map", metavar="FILE", help="Draw the map (PNG, PDF or SVG); y grows upwards.")
]
Stay = Annotated[
    bool, typer.Option("--stay", help="Staying is an action too: for tables with a row for each tick of a clock.")
]
Labels = Annotated[
    str, typer.Option(metavar="FIRST", help="What the first place is called, as 1, 0 or p1; the others count on.")
]
OUTPUT = Path("env.csv")


@app.command("grid", epilog="Example:\n\nswirl env grid 6x6 --labels A1 --stay --walls A1-A2,B1-B2 -o arena.csv")
def grid(
    size: Annotated[str, typer.Argument(metavar="ROWSxCOLUMNS", help="As in 6x6.", show_default=False)],
    output: Output = OUTPUT,
    labels: Annotated[
        str,
        typer.Option(
            metavar="FIRST",
            help="What the first cell is called: A1, a1, A01, 1A, r0c0, R1C1, 0 or 1; the others count on, row by row.",
        ),
    ] = "A1",
    diagonal: Annotated[bool, typer.Option("--diagonal", help="There are diagonal moves too.")] = False,
    walls: Annotated[
        str | None, typer.Option(metavar="A1-A2,…", help="Walls between cells; or a CSV with the columns from, to.")
    ] = None,
    blocked: Annotated[str | None, typer.Option(metavar="A,B,…", help="Cells that are no places: obstacles.")] = None,
    y_down: Annotated[
        bool,
        typer.Option(
            "--y-down/--y-up",
            help="Rows count downwards, as in a table or on the screen (the first row is at the top of maps), or "
            "upwards (it is at the bottom).",
        ),
    ] = True,
    stay: Stay = False,
    figure: Map = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write an arena of cells; actions are the moves up, down, left and right."""
    _check_free(output, figure, force)
    from swirl.cli.output import listed
    from swirl.data import arenas
    from swirl.workflows.make_environment import pairs_of, size_of

    rows, columns = size_of(size)
    env = arenas.grid(
        rows, columns, labels=labels, diagonal=diagonal, stay=stay, walls=pairs_of(walls),
        blocked=listed(blocked) or [], y_down=y_down,
    )  # fmt: skip
    _finish(env, output, figure, force, as_json, quiet)


@app.command("linear", epilog="Example:\n\nswirl env linear 10 --stay -o track.csv")
def linear(
    n: Annotated[int, typer.Argument(metavar="N", help="Places.", show_default=False)],
    output: Output = OUTPUT,
    labels: Labels = "1",
    stay: Stay = False,
    figure: Map = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a linear track, the first place at the left; actions: left, right."""
    _check_free(output, figure, force)
    from swirl.data import arenas

    _finish(arenas.linear(n, labels=labels, stay=stay), output, figure, force, as_json, quiet)


@app.command("ring", epilog="Example:\n\nswirl env ring 12 --labels p1 -o ring.csv")
def ring(
    n: Annotated[int, typer.Argument(metavar="N", help="Places.", show_default=False)],
    output: Output = OUTPUT,
    labels: Labels = "1",
    stay: Stay = False,
    figure: Map = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a ring, clockwise from the top; actions: clockwise, back."""
    _check_free(output, figure, force)
    from swirl.data import arenas

    _finish(arenas.ring(n, labels=labels, stay=stay), output, figure, force, as_json, quiet)


@app.command("tmaze", epilog="Example:\n\nswirl env tmaze --stem 3 --arm 2 -o tmaze.csv")
def tmaze(
    output: Output = OUTPUT,
    stem: Annotated[int, typer.Option(metavar="N", help="Places of the stem.")] = 3,
    arm: Annotated[int, typer.Option(metavar="N", help="Places of each arm.")] = 2,
    stay: Stay = False,
    figure: Map = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a T maze: stem1 to the choice point, and the arms left and right of it."""
    _check_free(output, figure, force)
    from swirl.data import arenas

    _finish(arenas.t_maze(stem, arm, stay=stay), output, figure, force, as_json, quiet)


@app.command("plus", epilog="Example:\n\nswirl env plus --arm 3 -o plus.csv")
def plus(
    output: Output = OUTPUT,
    arm: Annotated[int, typer.Option(metavar="N", help="Places of each arm.")] = 2,
    stay: Stay = False,
    figure: Map = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a plus maze: a centre, and the arms north (at the top of maps), east, south and west."""
    _check_free(output, figure, force)
    from swirl.data import arenas

    _finish(arenas.plus_maze(arm, stay=stay), output, figure, force, as_json, quiet)


@app.command("graph", epilog="Example:\n\nswirl env graph ways.csv --nodes places.csv -o house.csv")
def graph(
    ways: Annotated[
        Path, typer.Argument(metavar="FILE", help="Places that are joined (CSV: from, to).", show_default=False)
    ],
    output: Output = OUTPUT,
    nodes: Annotated[Path | None, typer.Option(metavar="FILE", help="Where they are (CSV: name, x, y).")] = None,
    one_way: Annotated[bool, typer.Option("--one-way", help="A way leads only from the first to the second.")] = False,
    stay: Stay = False,
    figure: Map = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write any maze from its places and ways; an action is called after the place that it leads to."""
    _check_free(output, figure, force, ways, nodes)
    from swirl.workflows.make_environment import graph_of_files

    env = graph_of_files(ways, nodes, one_way=one_way, stay=stay)
    _finish(env, output, figure, force, as_json, quiet)


@app.command("observed", epilog="Example:\n\nswirl env observed sessions.csv -o seen.csv")
def observed(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A table of sessions (swirl import makes one).", show_default=False)
    ],
    output: Output = OUTPUT,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the moves that occur in your sessions, to look at and to complete.

    A move that is possible but was never made is not in it, and a fit would
    take it to be impossible.
    """
    _check_free(output, None, force, data)
    from swirl.workflows.make_environment import observed_in

    _finish(observed_in(data), output, None, force, as_json, quiet)


def _check_free(output: Path, figure: Path | None, force: bool, *sources: Any) -> None:
    """Raise before any work where a file must not be written."""
    from swirl.cli.output import check_free
    from swirl.io.environment_files import states_beside
    from swirl.workflows.make_environment import FORMATS

    if output.suffix.lower() != ".csv":
        raise ValueError(f"-o {output}: an environment is written as CSV; give a name that ends in .csv")
    if figure is not None and figure.suffix.lower() not in FORMATS:
        raise ValueError(f"--map {figure}: expected a file that ends in {', '.join(FORMATS)}")
    check_free(output, force, *sources)
    if states_beside(output).exists():
        check_free(states_beside(output), force, *sources)
    if figure is not None:
        check_free(figure, force, *sources)


def _finish(env: Any, output: Path, figure: Path | None, force: bool, as_json: bool, quiet: bool) -> None:
    """Write the files and say what is in them."""
    from swirl.cli.output import show_json
    from swirl.workflows import make_environment as making

    written = making.save(env, output, figure=figure, overwrite=force)
    if as_json:
        show_json(making.facts_of(env, written))
    elif not quiet:
        typer.echo(f"{env!r}\n{making.map_words(env)}")
        typer.echo("\n".join(f"Saved to {path}" for path in written))
        typer.echo(f"To use it: swirl check YOUR_SESSIONS --env {shlex.quote(str(output))}")
