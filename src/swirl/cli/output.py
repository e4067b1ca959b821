"""What commands share: files that must not be there, and JSON for machines."""

import json
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from swirl.io.atomic_write import check_target
from swirl.text import did_you_mean, plain


def check_free(path: Path, force: bool, *sources: Any) -> None:
    """Raise before any work where the output exists, or is one of the files read, or its folder cannot take it.

    >>> check_free(Path("no such folder/fit.nc"), force=False)
    Traceback (most recent call last):
    FileNotFoundError: the folder 'no such folder' of the output fit.nc does not exist: make it, or choose another
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"the folder {str(path.parent)!r} of the output {path.name} does not exist: make it, or choose another"
        )
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already: choose another name with -o, or replace it with --force")
    check_target(path, overwrite=force, sources=[source for source in sources if source is not None])
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"Permission denied: {path} may not be written; choose another folder with -o")


def free_name(name: str) -> str:
    """The name of a file, or where that exists, the first like it that does not: fit.nc, fit-2.nc, fit-3.nc, ….

    >>> free_name("no such folder/fit.nc")
    'no such folder/fit.nc'
    """
    path, n = Path(name), 2
    while path.exists():
        path, n = Path(name).with_stem(f"{Path(name).stem}-{n}"), n + 1
    return str(path)


def tell_next(*commands: list[str]) -> None:
    """Print what to type next, as it can be typed."""
    typer.echo(f"Next: {' && '.join(map(shlex.join, commands))}")


def data_words(data: Any) -> str:
    """Sessions in a line for people; what Python shows of them has its own names.

    >>> from swirl.data.trajectories import Trajectories
    >>> data_words(Trajectories([[0, 1, 0], [1, 0]], subjects=["a", "a"]))
    '2 sessions of 1 animal, 5 steps (2 to 3 each), 2 states; no actions in the table'
    >>> data_words(Trajectories([[0, 1, 0]], [[1, 1]]))
    '1 session, 3 steps (3 each), 2 states, 2 actions'
    """
    from swirl.data.trajectories import Trajectories
    from swirl.text import counted

    if not isinstance(data, Trajectories):  # sessions that are read a part at a time
        return f"{counted(len(data.inventory.lengths), 'session')}, {counted(data.n_steps, 'step')}, read in parts"
    low, high = int(data.lengths.min()), int(data.lengths.max())
    animals = len(set(data.subjects) - {None})
    n_gaps = sum(map(len, data.gaps))
    acted = any((actions >= 0).any() for actions in data.actions)
    parts = [
        counted(len(data), "session") + (f" of {counted(animals, 'animal')}" if animals else ""),
        f"{counted(data.n_steps, 'step')} ({low:,}{'' if low == high else f' to {high:,}'} each)",
        counted(data.n_states, "state"),
        *([counted(data.n_actions, "action")] if acted else []),
        *([counted(n_gaps, "gap")] if n_gaps else []),
    ]
    more = [] if acted else ["no actions in the table"]
    more += [f"signals: {', '.join(data.signals)}"] if data.signals else []
    return "; ".join([", ".join(parts), *more])


def environment_words(env: Any) -> str:
    """An environment in a line for people.

    >>> from swirl.data.mdp import MDP
    >>> environment_words(MDP.deterministic([[1, 0], [0, 1]]))
    '2 states, 2 actions; where an action leads is certain'
    >>> from swirl.data.arenas import grid
    >>> environment_words(grid(2, 2))
    '4 states, 4 actions (not all at each state); where an action leads is certain'
    """
    from swirl.text import counted

    some = "" if env.available.all() else " (not all at each state)"
    chance = "" if env.is_deterministic else f"up to {env.n_branches} states, by chance"
    leads = f"an action may lead to {chance}" if chance else "where an action leads is certain"
    how = f"; estimated from {counted(env.estimated.n_sessions, 'session')}" if env.estimated else ""
    return f"{counted(env.n_states, 'state')}, {counted(env.n_actions, 'action')}{some}; {leads}{how}"


_VALUE = r"(?:\{[^{}]*\}|\((?:[^()]|\([^()]*\))*\)|'[^']*'|\"[^\"]*\"|True)"
_IN_PYTHON = re.compile(
    rf"\b(?:[a-z_]+={_VALUE}, )*[a-z_]+=(?P<value>{_VALUE}) "
    r"\((?P<option>--[a-z-]+)(?P<given> (?:[^();]|\([^()]*\))+)?(?:; (?P<more>[^()]*))?\)"
)


def as_typed_here(text: str) -> str:
    """A message with options alone, where it says both how Python and how the command line has it.

    >>> as_typed_here("name the one that holds it: columns={'state': …} (--columns state=NAME)")
    'name the one that holds it: --columns state=NAME'
    >>> as_typed_here("choose one, as in label='my zone' (--label); or stay=True (--stay)")
    "choose one, as in --label 'my zone'; or --stay"
    >>> as_typed_here('give impossible="gap" (--impossible gap; a new segment starts there)')
    'give --impossible gap (a new segment starts there)'
    """

    def option(found: re.Match[str]) -> str:
        value, given, more = found["value"], found["given"] or "", found["more"]
        if not given and value[0] in "'\"":
            given = f" {shlex.quote(value[1:-1])}"
        return f"{found['option']}{given}{f' ({more})' if more else ''}"

    return _IN_PYTHON.sub(option, text)


ROLES = ("session", "subject", "group", "time", "state", "action", "gap")


def parts(given: str) -> list[str]:
    """The parts of "A, B, …".

    >>> parts("Markov, S-2,")
    ['Markov', 'S-2']
    """
    return [part.strip() for part in given.split(",") if part.strip()]


def listed(given: str | None) -> list[str] | None:
    """The parts of an option that may not have been given."""
    return None if given is None else parts(given)


def named_columns(given: str | None) -> dict[str, Any] | None:
    """The columns of "ROLE=NAME,…"; several that tell one thing together have + between them.

    >>> named_columns("state=zone, session=mouse+day")
    {'state': 'zone', 'session': ['mouse', 'day']}
    """
    if given is None:
        return None
    columns: dict[str, Any] = {}
    for part in parts(given):
        role, equals, name = (word.strip() for word in part.partition("="))
        role = "time" if role == "t" else role
        if role not in ROLES or not equals or not name or role in columns:
            meant = "" if role in ROLES else did_you_mean(role, ROLES)
            raise ValueError(
                f"--columns {part}: expected ROLE=NAME, each role once, as in --columns state=zone,time=seconds; "
                f"the roles are {', '.join(ROLES)}{meant}"
            )
        several = role in ("session", "subject") and "+" in name
        columns[role] = [word.strip() for word in name.split("+")] if several else name
    return columns


def whole_numbers(option: str, given: str | None) -> list[int] | None:
    """The numbers of "2,3,4".

    >>> whole_numbers("--modes", "2, 3")
    [2, 3]
    """
    if given is None:
        return None
    numbers = parts(given)
    if not numbers or not all(number.isdecimal() for number in numbers):
        raise ValueError(f"{option} {given}: expected whole numbers with commas between them, as in {option} 2,3,4")
    return list(dict.fromkeys(int(number) for number in numbers))


def numbers(option: str, given: str | None) -> float | list[float] | None:
    """The number of "0.5", or those of "0.5,1".

    >>> numbers("--dwell", "30, 7.5"), numbers("--dwell", "30")
    ([30.0, 7.5], 30.0)
    """
    if given is None:
        return None
    try:
        found = [float(part) for part in parts(given)]
    except ValueError:
        found = []
    if not found:
        raise ValueError(
            f"{option} {given}: expected a number, or several with commas between them, as in {option} 2,3"
        )
    return found if len(found) > 1 else found[0]


@contextmanager
def status_line(wanted: bool | None) -> Iterator[Callable[[str], None]]:
    """Give a function that shows words on one line of the terminal, and wipe it at the end; silent in a pipe."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda _: None
        return
    try:
        yield lambda words: typer.echo(f"\r\x1b[2K{words} …", err=True, nl=False)
    finally:
        typer.echo("\r\x1b[2K", err=True, nl=False)


FIRST_PAUSE = 10.0  # seconds between lines of a log at first
LAST_PAUSE = 600.0
GROWTH = 4  # a pause is as long as what has gone by over this: a long run writes few lines


class Told:
    """Shows how far a command has come; call it with a `Progress` (`swirl.analysis.tasks`), or with words.

    On a terminal all of it stands on one line. In a log the first estimate of the time comes at once, and then a line
    now and then, ever more seldom.

    >>> from swirl.analysis.tasks import Progress
    >>> times = iter([0.0, 3.0, 4.0, 12.0, 15.0])
    >>> show = Told(print, log=True, clock=lambda: next(times))
    >>> for n, left in ((0, None), (1, 90.0), (2, 85.0), (6, 60.0)):
    ...     show(Progress(n, 0, 9, left))
    0 of 9 done
    1 of 9 done, about 2 min left
    6 of 9 done, about 60 s left
    """

    def __init__(self, write: Callable[[str], Any], *, log: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._log, self._clock = write, log, clock
        self._words, self._state = "", None
        self._began, self._last, self._estimated = clock(), None, False

    def __call__(self, state: Any) -> None:
        """Show a `Progress`, or words that stand for themselves."""
        if isinstance(state, str):
            self._write(state)
            return
        self._state = state
        if not self._log:
            self._write("; ".join(filter(None, [self._words, str(state)])))
            return
        now = self._clock()
        first = state.seconds_left is not None and not self._estimated
        pause = min(max(FIRST_PAUSE, (now - self._began) / GROWTH), LAST_PAUSE)
        if first or self._last is None or now - self._last >= pause:
            self._last, self._estimated = now, self._estimated or first
            self._write(str(state))

    def doing(self, words: str) -> None:
        """Say what is done now: on a terminal only, where it stands beside how far it has come."""
        self._words = words
        if not self._log:
            self._write("; ".join([words, *([] if self._state is None else [str(self._state)])]))


@contextmanager
def progress_lines(silent: bool) -> Iterator[Told]:
    """Give what shows how far it has come: one line of a terminal, a line of a log now and then, or nothing."""
    if silent or sys.stderr.isatty():
        with status_line(False if silent else None) as show:
            yield Told(show, log=False)
        return
    yield Told(lambda words: typer.echo(f"{time.strftime('%H:%M:%S')} {words}", err=True), log=True)


def save_facts(path: Path, kind: str, facts: dict[str, Any], *, force: bool) -> Path:
    """Write what a command found to a JSON file, with what made it."""
    from swirl.estimators.save_load import versions
    from swirl.io.atomic_write import write_text

    made = {"kind": kind, **facts, "versions": versions(), "command": shlex.join(["swirl", *sys.argv[1:]])}
    text = json.dumps(plain(made, nan=False, other=repr), indent=1, ensure_ascii=False, allow_nan=False)
    return write_text(path, text + "\n", overwrite=force)


def show_json(facts: Any) -> None:
    """Print as JSON; a number that is none is null."""
    typer.echo(json.dumps(plain(facts, nan=False), indent=2, ensure_ascii=False, allow_nan=False))
