"""Many fits that do not depend on one another: each is a task, and its result a small file in a folder.

The folder is the truth.  A result is written whole as soon as it is there, under a key made of all that went into it;
what has a file is never computed again, so a run that was killed goes on where it was.  A task that fails is written
down with its error, and the others go on.

    folder/tasks.json            what was asked for, task by task
    folder/results/<key>.json    one for each task that is done
    folder/fits/<key>.nc         the fitted model, where the task made one to keep
    folder/failed/<key>.json     one for each that failed: tried again by the next run

Where the work is done is left to an engine: this process (`here`), or Dask's workers (`swirl.analysis.cluster`).
"""

import json
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any, TypeVar

from swirl._version import __version__
from swirl.errors import TasksFailedError
from swirl.estimators.digest import code_mark, digest
from swirl.io.atomic_write import whole_file, write_text
from swirl.text import counted, plain, some

T = TypeVar("T")
KIND = "swirl tasks"
GOLDEN = (5**0.5 - 1) / 2  # its multiples modulo 1 fill the unit interval evenly
FIT = "fit"  # of a result: the bytes of a fitted model, kept as a file of its own


@dataclass(frozen=True)
class Shared:
    """What many tasks are given alike, such as the sessions: sent to each worker once."""

    values: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """`digest` of all of it."""
        return digest(self.values)


@dataclass(frozen=True)
class Task:
    """One call of a function of a module, with plain values as its result.

    Parameters
    ----------
    call
        Called with `arguments`, what is `shared`, and ``told``: a function to call now and then, which raises where the
        work is to end, or None.  Returns a dict of numbers, words and lists; ``"fit"`` may be the bytes of a model.
    label
        What it is, for tables and messages.
    cost
        How long it takes compared with others, about: for the time left (`Pace`).

    Examples
    --------
    >>> def double(n, told=None):
    ...     return {"twice": 2 * n}
    >>> [outcome.result for outcome in carried_out([Task(double, {"n": n}) for n in (1, 2)])]
    [{'twice': 2}, {'twice': 4}]
    """

    call: Callable[..., dict[str, Any]]
    arguments: Mapping[str, Any]
    shared: Shared = field(default_factory=lambda: Shared({}))
    label: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 1.0

    @cached_property
    def key(self) -> str:
        """Made of all that the result depends on, the code of this package among it."""
        return digest([code_mark(), self.call, self.arguments, self.shared.digest])[:32]


@dataclass(frozen=True)
class Outcome:
    """How a task ended: with a result, or with an error in words."""

    result: dict[str, Any] | None = None
    error: str | None = None
    traceback: str | None = None
    seconds: float = 0.0


def perform(task: Task, told: Callable[[Any], None] | None = None) -> Outcome:
    """Do a task now; what goes wrong in it is its outcome.  Ctrl-C is not."""
    began = time.perf_counter()
    try:
        result = task.call(**task.shared.values, **task.arguments, told=told)
    except Exception as fault:
        words = str(fault) or type(fault).__name__
        return Outcome(None, words, traceback.format_exc(), time.perf_counter() - began)
    return Outcome(result, seconds=time.perf_counter() - began)


Engine = Callable[[Sequence[Task]], Iterator[tuple[int, Outcome]]]
"""Does tasks, and gives the place and the outcome of each as it ends."""


def here(at_once: int = 1) -> Engine:
    """An engine in this process: one task after the other, or so many at the same time, in threads."""

    def engine(tasks: Sequence[Task]) -> Iterator[tuple[int, Outcome]]:
        return as_done(tasks, perform, at_once)

    return engine


def as_done(
    jobs: Iterable[Any], call: Callable[[Any, Callable[[Any], None] | None], T], at_once: int
) -> Iterator[tuple[int, T]]:
    """The place of each job, and what it comes to, as they end; one that raises, or Ctrl-C, stops all.

    `call` gets a job and a function to be called in each iteration, or None where jobs are done one at a time.
    """
    if at_once == 1:
        yield from ((i, call(job, None)) for i, job in enumerate(jobs))
        return
    stop = Event()

    def told(_: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    with ThreadPoolExecutor(at_once) as pool:
        waiting = {pool.submit(call, job, told): i for i, job in enumerate(jobs)}
        left = set(waiting)
        try:
            while left:
                done, left = wait(left, return_when=FIRST_COMPLETED)
                for each in sorted(done, key=waiting.__getitem__):
                    yield waiting[each], each.result()
        finally:
            stop.set()
            for each in left:
                each.cancel()


@dataclass(frozen=True)
class Progress:
    """How far many tasks have come."""

    done: int
    """With a result, those of earlier runs among them."""
    failed: int
    total: int
    seconds_left: float | None
    """By the time that tasks took so far; None before the first has ended."""
    doing: str = ""
    """What is done now, in words."""
    at_most: bool = False
    """Whether work may end earlier, as where a search is not known to need all of its steps."""

    def __str__(self) -> str:
        told = f"{self.doing}; " if self.doing else ""
        told += f"{self.done:,} of {'at most ' * self.at_most}{self.total:,} done"
        told += f", {self.failed:,} failed" if self.failed else ""
        if self.seconds_left is None or self.done + self.failed >= self.total:
            return told
        return f"{told}, {'at most ' * self.at_most}about {duration(self.seconds_left)} left"


class Pace:
    """How long work will take, by the parts of it that are done: the one home of what is said about it.

    Parameters
    ----------
    parts
        What each part costs, in any unit; or how many there are, where they are alike.
    known
        How many of them were done before.
    clock
        Gives seconds.

    Examples
    --------
    >>> times = iter([0.0, 30.0, 60.0])
    >>> pace = Pace([1.0, 1.0, 4.0], clock=lambda: next(times))
    >>> print(pace.progress)
    0 of 3 done
    >>> print(pace.did(1.0))
    1 of 3 done, about 2 min left
    >>> print(pace.did(1.0, doing="S-2"))
    S-2; 2 of 3 done, about 2 min left
    """

    def __init__(
        self,
        parts: int | Sequence[float],
        *,
        known: int = 0,
        at_most: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        costs = [1.0] * parts if isinstance(parts, int) else list(parts)
        self.total, self.ended, self.failed = len(costs) + known, known, 0
        self.at_most, self.doing = at_most, ""
        self._left, self._spent = sum(costs), 0.0
        self._clock, self._began, self._seconds_left = clock, clock(), None

    def did(self, cost: float = 1.0, *, n: int = 1, failed: int = 0, doing: str | None = None) -> Progress:
        """Say that a part of that cost (or `n` that are the same task) has ended, `failed` of them with an error."""
        self.ended, self.failed = self.ended + n, self.failed + failed
        self._spent, self._left = self._spent + cost, max(0.0, self._left - cost)
        self._seconds_left = (self._clock() - self._began) / self._spent * self._left if self._spent > 0 else None
        self.doing = self.doing if doing is None else doing
        return self.progress

    def more(self, n: int, cost: float = 1.0) -> None:
        """Say that so many parts of that cost are to be done besides; fewer, where `n` is below 0."""
        self.total, self._left = self.total + n, max(0.0, self._left + n * cost)

    @property
    def progress(self) -> Progress:
        """How far it has come."""
        done = self.ended - self.failed
        return Progress(done, self.failed, self.total, self._seconds_left, self.doing, self.at_most)


def duration(seconds: float | int) -> str:
    """A time in words.

    >>> duration(8.2), duration(200), duration(9000)
    ('8 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def carried_out(
    tasks: Sequence[Task],
    *,
    folder: "Folder | None" = None,
    engine: Engine | None = None,
    callback: Callable[[Progress], Any] | None = None,
) -> list[Outcome]:
    """Do all tasks that the folder has no result of, and return the outcome of each, in their order.

    They are begun from all parts of the list by turns, so that the first ones say how long the rest will take: later
    tasks often have more modes, or longer histories.

    Parameters
    ----------
    folder
        Where results are kept; None: nowhere.
    engine
        Where the work is done; None: here, one after the other.
    callback
        Called with a `Progress` at the start and after each task.
    """
    found: dict[int, Outcome] = {}
    if folder is not None:
        found = {i: known for i, task in enumerate(tasks) if (known := folder.outcome(task)) is not None}
    places: dict[str, list[int]] = {}  # two tasks may be the same
    for i, task in enumerate(tasks):
        if i not in found:
            places.setdefault(task.key, []).append(i)
    missing = _evenly([own[0] for own in places.values()])
    pace = Pace([tasks[i].cost for i in missing], known=len(tasks) - sum(map(len, places.values())))
    pace.total = len(tasks)
    tell = callback or (lambda _: None)
    tell(pace.progress)
    work = (here() if engine is None else engine)([tasks[i] for i in missing]) if missing else iter(())
    for place, outcome in work:
        task = tasks[missing[place]]
        kept = outcome if outcome.result is None else Outcome(_as_read(outcome.result), seconds=outcome.seconds)
        if folder is not None:
            kept = folder.keep(task, outcome)
        for i in places[task.key]:
            found[i] = kept
        n = len(places[task.key])
        tell(pace.did(task.cost, n=n, failed=n * (kept.error is not None)))
    return [found[i] for i in range(len(tasks))]


def _evenly(places: list[int]) -> list[int]:
    """The same places in another order, of which every beginning is spread evenly over the list.

    >>> _evenly(list(range(8)))
    [0, 5, 2, 7, 4, 1, 6, 3]
    """
    return [places[i] for i in sorted(range(len(places)), key=lambda i: i * GOLDEN % 1)]


def results(tasks: Sequence[Task], outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The results of tasks that are all needed; where some failed, say which, and why."""
    failed = [(task, outcome) for task, outcome in zip(tasks, outcomes, strict=True) if outcome.result is None]
    if failed:
        first = failed[0][1].error
        named = some([", ".join(f"{k}={v}" for k, v in task.label.items()) for task, _ in failed], 3, "; ")
        raise TasksFailedError(f"{counted(len(failed), 'task')} of {len(tasks)} failed ({named}): {first}")
    return [outcome.result for outcome in outcomes if outcome.result is not None]


class Folder:
    """Results of tasks, each in a file of its own, written whole or not at all.

    >>> import tempfile
    >>> def double(n, told=None):
    ...     return {"twice": 2 * n}
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder, task = Folder(f"{place}/sweep"), Task(double, {"n": 1}, label={"n": 1})
    ...     before = folder.outcome(task)
    ...     _ = carried_out([task], folder=folder)
    ...     before, folder.outcome(task).result
    (None, {'twice': 2})
    """

    def __init__(self, path: Any) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise NotADirectoryError(f"{self.path} is a file: give a folder for the results")
        there = [path.name for path in self.path.iterdir()] if self.path.is_dir() else []
        others = [name for name in there if name not in ("results", "failed", "fits") and name[0] != "."]
        if others and (_read(self.path / "tasks.json") or {}).get("kind") != KIND:
            raise FileExistsError(f"{self.path} holds other things than results of tasks: give a new folder")
        for name in ("results", "failed", "fits"):
            self._home(name).mkdir(parents=True, exist_ok=True)

    @classmethod
    def there(cls, path: Any) -> "Folder":
        """The folder of an earlier run; a fault where there is none."""
        if not (Path(path) / "tasks.json").is_file():
            raise FileNotFoundError(f"{path}: no results of a sweep are here; give the folder of `swirl sweep -o`")
        return cls(path)

    def _home(self, name: str) -> Path:
        return self.path / name

    def ask(self, tasks: Sequence[Task], about: Mapping[str, Any]) -> None:
        """Write down what is to be done, for `asked` and for people."""
        listed = [{"key": task.key, **plain(dict(task.label), other=str)} for task in tasks]
        facts = {"kind": KIND, "version": __version__, **about, "tasks": listed}
        write_text(self.path / "tasks.json", json.dumps(facts, indent=1, ensure_ascii=False) + "\n", overwrite=True)

    @property
    def asked(self) -> dict[str, Any]:
        """What `ask` wrote."""
        facts = _read(self.path / "tasks.json")
        if facts is None or facts.get("kind") != KIND:
            raise ValueError(f"{self.path / 'tasks.json'} is damaged: start the sweep again; what is done stays done")
        return facts

    def has(self, key: str) -> bool:
        """Whether there is a result, to be read later."""
        return (self._home("results") / f"{key}.json").is_file()

    def error(self, key: str) -> str | None:
        """Why a task failed when it was last tried; None where it did not."""
        facts = _read(self._home("failed") / f"{key}.json")
        return None if facts is None else str(facts.get("error"))

    def outcome(self, task: Task) -> Outcome | None:
        """The result of a task, where it is known; a damaged file is none, nor is one whose fit is gone."""
        facts = _read(self._home("results") / f"{task.key}.json")
        if facts is None or facts.get("key") != task.key or not isinstance(facts.get("result"), dict):
            return None
        if facts.get(FIT) and not self.fit(task).is_file():
            return None
        return Outcome(facts["result"], seconds=float(facts.get("seconds", 0.0)))

    def fit(self, task: Task) -> Path:
        """The file of the fitted model that a task made, where `outcome` knows of one."""
        return self._home("fits") / f"{task.key}.nc"

    def keep(self, task: Task, outcome: Outcome) -> Outcome:
        """Write an outcome down, and return it as it will be read."""
        facts: dict[str, Any] = {"key": task.key, "task": plain(dict(task.label), other=str), "version": __version__}
        failed = self._home("failed") / f"{task.key}.json"
        if outcome.result is None:
            facts |= {"error": outcome.error, "traceback": outcome.traceback, "seconds": outcome.seconds}
            write_text(failed, json.dumps(facts, indent=1, ensure_ascii=False) + "\n", overwrite=True)
            return outcome
        if FIT in outcome.result:  # first: a result says that all of it is there
            with whole_file(self._home("fits") / f"{task.key}.nc", overwrite=True) as temporary:
                temporary.write_bytes(outcome.result[FIT])
        facts |= {"seconds": outcome.seconds, FIT: FIT in outcome.result, "result": _as_read(outcome.result)}
        text = json.dumps(facts, ensure_ascii=False) + "\n"
        write_text(self._home("results") / f"{task.key}.json", text, overwrite=True)
        failed.unlink(missing_ok=True)
        return Outcome(facts["result"], seconds=outcome.seconds)


@contextmanager
def some_folder(folder: Folder | None) -> Iterator[Folder]:
    """The folder, or where there is none one for the time being."""
    if folder is not None:
        yield folder
        return
    with TemporaryDirectory() as place:
        yield Folder(Path(place) / "tasks")


def _as_read(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result as its file has it: plain values, and no fitted model."""
    return plain({name: value for name, value in result.items() if name != FIT})


def _read(path: Path) -> dict[str, Any] | None:
    """A JSON file that holds an object; None where there is none that can be read."""
    with suppress(OSError, ValueError, RecursionError):
        facts = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(facts, dict):
            return facts
    return None
