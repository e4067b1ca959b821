"""The command line.  It starts at once: nothing heavy is imported before a command runs."""

import atexit
import gc
from collections.abc import Sequence

# A short command is mostly imports, whose objects stay to its end.  Python looks for rubbish among them less often, and
# not once more before it exits: together a quarter of the time of `swirl import` of a small file.
OBJECTS_BETWEEN_SEARCHES = 50_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `swirl` with the given arguments (those of the process when `None`) and exit.

    >>> main(["--version"])
    Traceback (most recent call last):
    SystemExit: 0
    """
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
    from typer.main import get_command

    from swirl.cli.app import app

    get_command(app).main(args=None if arguments is None else list(arguments), prog_name="swirl")
