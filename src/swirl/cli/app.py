"""The command `swirl`: finds commands by name and words their errors."""

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from swirl._version import __version__
from swirl.errors import ImportNotice, Notice
from swirl.system import compiled_settings
from swirl.text import expected, nearest_name

# Command → the module with its Typer, `app`.  A run imports that one module; the help imports them all, and
# they are light: what is heavy stands inside the functions.
COMMANDS = {
    "demo": "swirl.cli.demo",
    "import": "swirl.cli.import_",
    "env": "swirl.cli.env",
    "check": "swirl.cli.check",
    "fit": "swirl.cli.fit",
    "apply": "swirl.cli.apply",
    "compare": "swirl.cli.compare",
    "null": "swirl.cli.null",
    "power": "swirl.cli.power",
    "sweep": "swirl.cli.sweep",
    "goals": "swirl.cli.goals",
    "name": "swirl.cli.name",
    "report": "swirl.cli.report",
    "plot": "swirl.cli.plot",
    "export": "swirl.cli.export",
    "reproduce": "swirl.cli.reproduce",
    "fetch": "swirl.cli.fetch",
    "doctor": "swirl.cli.doctor",
}

# Options by their former names: taken for now, with a note.
FORMER_OPTIONS = {
    "--least-usage": "--min-usage",
    "--least-confidence": "--min-confidence",
    "--least-dwell": "--min-dwell",
    "--longest-break": "--max-break",
    "--longest-pause": "--max-pause",
    "--skipped": "--on-skip",
}

# Faults in what the user gave, or in the machine (a full disk, a name too long, too little memory), not in the program:
# worded for them, so a traceback would only bury the words.
USER_FAULTS = (ValueError, OSError, MemoryError)


# `ctx` is Any below: Typer keeps click to itself in recent versions, and its Context has no one address.
class Commands(TyperGroup):
    """A group that imports a command's module on demand and turns user faults into one message.

    >>> import typer
    >>> Commands(name="swirl").list_commands(typer.Context(Commands(name="swirl")))[0]
    'demo'
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, as the help shows them."""
        return [_legible_parameter(parameter) for parameter in super().get_params(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import and return a command; on a slip of the pen, say which was probably meant."""
        if cmd_name in COMMANDS:
            command = get_command(import_module(COMMANDS[cmd_name]).app)
            command.name = cmd_name
            return _legible(command)
        if not (ctx.resilient_parsing or cmd_name.startswith("-")):
            near = nearest_name(cmd_name, COMMANDS)
            hint = f"The commands are {', '.join(COMMANDS)}." if near is None else f"Did you mean {near!r}?"
            ctx.fail(f"No such command '{cmd_name}'. {hint}")
        return None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Show the help, as an answer and not as a fault, when nothing was asked; know options by former names."""
        return super().parse_args(ctx, [_by_its_name(arg) for arg in args] or ["--help"])

    def invoke(self, ctx: Any) -> Any:
        """Run the command: faults of the user exit with 2 and one message, an interrupt with 130."""
        os.environ.update(compiled_settings())  # before JAX is imported: a second fit of the same kind compiles nothing
        try:
            with notes():
                return super().invoke(ctx)
        except BrokenPipeError:  # `swirl check data.csv | head`: Typer ends without a word
            raise
        except USER_FAULTS as fault:
            if ctx.params.get("debug"):
                raise
            typer.secho(f"Error: {_words(fault)}", fg=typer.colors.RED, err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.secho("Interrupted.", fg=typer.colors.RED, err=True)
            raise typer.Exit(130) from None
        except Exception as fault:
            _reword(fault)
            raise


@contextmanager
def notes() -> Iterator[None]:
    """Say our own warnings in a line each, and once, instead of with a place in the code."""
    said: set[str] = set()
    plain = warnings.showwarning

    def show(message: Any, category: Any, *place: Any, **more: Any) -> None:
        from swirl.cli.output import as_typed_here

        if not issubclass(category, Notice):
            plain(message, category, *place, **more)
        elif str(message) not in said:
            said.add(str(message))
            mark = "" if issubclass(category, ImportNotice) else "Note: "  # that one begins with a word of its own
            typer.secho(f"{mark}{as_typed_here(str(message))}", fg=typer.colors.YELLOW, err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", Notice)
        # A program that another run is just writing, or a folder that may not be written: it is compiled anew.
        warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache entry")
        warnings.showwarning = show
        yield


def _legible(command: Any) -> Any:
    """Mend a command's help, and that of the commands in it."""
    params = command.get_params
    command.get_params = lambda ctx: [_legible_parameter(parameter) for parameter in params(ctx)]
    command.help = _plain(command.help)
    for inner in getattr(command, "commands", {}).values():
        _legible(inner)
    return command


def _legible_parameter(parameter: Any) -> Any:
    """Show no type where it tells nothing: newer versions of Typer say <bool> of a flag, <list[Path]> of FILES."""
    if parameter.param_type_name == "argument" and (kind := getattr(parameter, "display_type_rich", None)):
        parameter.display_type_rich = lambda ctx: shown if "|" in (shown := kind(ctx)) else ""  # choices tell much
    elif parameter.is_flag and parameter.metavar is None:
        parameter.metavar = ""
    parameter.help = _plain(parameter.help)
    return parameter


def _plain(text: str | None) -> str | None:
    r"""Escape what Rich would take for markup and leave out.

    >>> _plain("the [grid] of [[x, y], …]")
    'the \\[grid] of [\\[x, y], …]'
    """
    return text and re.sub(r"(?<!\\)\[(?=[a-z#/@])", r"\\[", text)


def _by_its_name(argument: str) -> str:
    former, equals, value = argument.partition("=")
    if former not in FORMER_OPTIONS:
        return argument
    note = f"Note: {former} is called {FORMER_OPTIONS[former]} now; the old name will go in a later version."
    typer.secho(note, fg=typer.colors.YELLOW, err=True)
    return FORMER_OPTIONS[former] + equals + value


ROLES = ("--session", "--subject", "--group", "--time", "--state", "--action", "--gap")


def _reword(fault: Any) -> None:
    """Put what Typer says of an option in plain words; name columns as the command does."""
    message = getattr(fault, "message", None)
    if not isinstance(message, str):
        return
    message = expected(message)
    option, context = getattr(fault, "option_name", None), getattr(fault, "ctx", None)
    known = [] if context is None else [name for parameter in context.command.params for name in parameter.opts]
    if option in ROLES and option not in known and "--columns" in known:
        fault.possibilities = None
        message += f"; columns are named with --columns {option[2:]}=NAME"
    fault.message = message


def _words(fault: Exception) -> str:
    if isinstance(fault, OSError) and fault.strerror and fault.filename is not None:
        return f"{fault.strerror}: {os.fspath(fault.filename)}"
    if isinstance(fault, MemoryError):
        return f"there is not enough memory ({fault})" if str(fault) else "there is not enough memory"
    from swirl.cli.output import as_typed_here

    return as_typed_here(str(fault)) or type(fault).__name__


def _show_version(asked: bool) -> bool:
    if asked:
        typer.echo(f"swirl {__version__}")
        raise typer.Exit
    return asked


app = typer.Typer(
    cls=Commands,
    name="swirl",
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example:\n\nswirl demo --output swirl-demo",
)


@app.callback()
def swirl(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", envvar="SWIRL_DEBUG", help="Show where an error arose.")] = False,
) -> None:
    """Switching inverse reinforcement learning: what an animal wants, and when it changes its mind.

    Each command explains itself: `swirl demo --help`.
    """
