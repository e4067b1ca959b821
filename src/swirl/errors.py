"""What goes wrong, and what a user should know: all classes of errors and warnings, and how faults are told.

Faults in what the user gave are collected, and told all at once: one `ValueError`, not one per run.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from swirl.text import counted, some

P = ParamSpec("P")
T = TypeVar("T")


class Notice(UserWarning):
    """What a user should know and that is no fault; the command line says it as a note."""


class ImportNotice(Notice):
    """What to beware of in recordings as they were read: times that are frames, rows that are all one session, …"""


class SameAnimalsWarning(Notice):
    """The same animals are in the training and in the test sessions, though there are enough to hold some out."""


class UnseenStatesWarning(Notice):
    """Some scored states were never visited in training: their part of the score is the prior's."""


class GaugeWarning(Notice):
    """Rewards with the same policies in the environment of the fit have other policies in the new one."""


class NotFittedError(ValueError, AttributeError):
    """A fitted model is needed (both kinds, as scikit-learn has it, so that either `except` works)."""


class GaugeTooLargeError(ValueError):
    """The gauge class of r(h) in a large stochastic environment is more than a dense null space can hold."""


class TooFewRefitsError(ValueError):
    """A bootstrap has no intervals to give, because next to none of its refits came to an end."""


class NoInformationError(ValueError):
    """The observed information cannot be had, or is none: the bootstrap is the way out."""


class TasksFailedError(ValueError):
    """Some of many tasks failed, and what they were for cannot be had without them."""


class DoesNotApply(ValueError):
    """What this fit has nothing for."""


class Faults:
    """A list of faults that becomes one `ValueError`.

    Parameters
    ----------
    shown
        How many faults the error spells out; the rest are counted.

    Examples
    --------
    >>> faults = Faults()
    >>> faults.raise_if_any("Trajectories cannot be built")
    >>> faults.add("states[0] is empty: drop it")
    >>> faults.add("actions[2] is empty: drop it")
    >>> faults.raise_if_any("Trajectories cannot be built")
    Traceback (most recent call last):
    ValueError: Trajectories cannot be built: 2 faults.
      1. states[0] is empty: drop it
      2. actions[2] is empty: drop it
    """

    def __init__(self, shown: int = 20) -> None:
        self.shown = shown
        self.messages: list[str] = []

    def __len__(self) -> int:
        return len(self.messages)

    def add(self, message: str) -> None:
        """Note one fault: the argument, session and step, what was got, what was expected, what to do."""
        self.messages.append(message)

    def raise_if_any(self, what: str = "") -> None:
        """Raise one `ValueError` with the faults, numbered under `what` where that is given; do nothing without any.

        >>> faults = Faults()
        >>> faults.add("level: got 2, expected a share between 0 and 1")
        >>> faults.raise_if_any()
        Traceback (most recent call last):
        ValueError: level: got 2, expected a share between 0 and 1
        """
        if not self.messages:
            return
        shown = self.messages[: self.shown]
        head = [f"{what}: {counted(len(self), 'fault')}."] if what else []
        lines = [f"  {i}. {message}" for i, message in enumerate(shown, start=1)] if what else shown
        more = [f"  … and {len(self) - self.shown} more."] if len(self) > self.shown else []
        raise ValueError("\n".join([*head, *lines, *more]))


def checked_names(argument: str, names: Any, faults: Faults) -> tuple[str, ...] | None:
    """Turn names of states or actions into a tuple of different strings, or note what is wrong with them.

    >>> checked_names("state_names", ["home", "water"], Faults())
    ('home', 'water')
    """
    if names is None:
        return None
    if isinstance(names, str):
        faults.add(f"{argument} is the single string {names!r}: give a list with one name per label")
        return None
    if isinstance(names, Mapping | Set):
        faults.add(f"{argument} is a {type(names).__name__}, which has no order: give a list, name of label 0 first")
        return None
    try:
        listed = tuple(str(name) for name in names)
    except TypeError:
        faults.add(f"{argument} is a {type(names).__name__}: give a list with one name per label")
        return None
    repeated = sorted({name for name in listed if listed.count(name) > 1})
    if repeated:
        faults.add(f"{argument} repeats {some(repeated)}: give each label a different name")
        return None
    return listed


@contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Say what is missing, and how to install it, where an import within fails.

    >>> with needing("reading tables of stars needs astronomy", "stars"):
    ...     import no_such_library
    Traceback (most recent call last):
    ValueError: reading tables of stars needs astronomy: pip install 'swirl-irl[stars]'
    """
    try:
        yield
    except ImportError as error:
        raise ValueError(f"{what}: pip install 'swirl-irl[{extra}]'") from error


def renamed(**names: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function take keywords by their former names too, with a `DeprecationWarning`: former="new".

    >>> @renamed(road="solver")
    ... def plan(solver="exact"):
    ...     return solver
    >>> plan(solver="soft-q")
    'soft-q'
    >>> plan(solver="exact", road="soft-q")
    Traceback (most recent call last):
    TypeError: plan: road is the former name of solver; give one of them
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        called = function.__qualname__.removesuffix(".__init__")

        @wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
            for former, new in names.items():
                if former in kwargs:
                    if new in kwargs:
                        raise TypeError(f"{called}: {former} is the former name of {new}; give one of them")
                    told = f"{called}: {former} is called {new} now; the old name will go in a later version"
                    warnings.warn(told, DeprecationWarning, stacklevel=2)
                    kwargs[new] = kwargs.pop(former)
            return function(*args, **kwargs)

        return wrapper

    return decorate
