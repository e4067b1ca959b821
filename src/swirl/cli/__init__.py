"""The command line.  It starts at once: nothing heavy is imported before a command runs."""

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `swirl` with the given arguments (those of the process when `None`) and exit.

    >>> main(["--version"])
    Traceback (most recent call last):
    SystemExit: 0
    """
    from typer.main import get_command

    from swirl.cli.app import app

    get_command(app).main(args=None if arguments is None else list(arguments), prog_name="swirl")
