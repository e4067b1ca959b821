"""Tasks on Dask's workers: a cluster in this machine, or one that runs already (`pip install 'swirl-irl[cluster]'`).

Dask does what a cluster needs: a task whose worker dies goes to another, and workers come and go.  Results are kept by
the process that asks (`tasks.Folder`), as soon as they arrive, so workers need no common disk.  A scheduler that is
gone is waited for, and given what is still missing.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from swirl import system
from swirl.analysis.tasks import Engine, Outcome, Shared, Task, here, perform
from swirl.estimators.digest import code_mark
from swirl.system import cores
from swirl.text import amount

PATIENCE = 60.0  # seconds that a scheduler may be gone
LOCAL = "local"
HERE = "here"


def has_dask() -> bool:
    """Whether Dask's `distributed` is installed."""
    return find_spec("distributed") is not None


@contextmanager
def dask_engine(
    scheduler: str | None = LOCAL,
    *,
    n_workers: int | None = None,
    need: int = 0,
    patience: float | int = PATIENCE,
    tell: Callable[[str], Any] | None = None,
) -> Iterator[Engine]:
    """Give an engine that hands tasks to Dask's workers.

    Parameters
    ----------
    scheduler
        ``"local"``: a cluster of processes in this machine, which ends with the block.  Else one that runs: its address
        (``"tcp://10.0.0.1:8786"``), or the file that it wrote (``dask scheduler --scheduler-file``).
    n_workers
        Processes of a local cluster; None: one on each core, or as many as have room for `need` bytes each.
    patience
        Seconds for which a scheduler that is gone is waited for.
    tell
        Called with words on what happens.

    Examples
    --------
    >>> with dask_engine("nowhere.json", patience=0.1) as engine:
    ...     list(engine([]))
    Traceback (most recent call last):
    FileNotFoundError: scheduler nowhere.json: there is no such file; give the one that dask scheduler wrote, ...
    """
    if not has_dask():
        raise ValueError(f"scheduler {scheduler}: Dask is not installed: pip install 'swirl-irl[cluster]'")
    say = tell or (lambda _: None)
    with ExitStack() as stack:
        if scheduler in (None, LOCAL):
            address: Any = stack.enter_context(local_cluster(n_workers, need, say))
        else:
            address = _address(str(scheduler))

        def engine(tasks: Sequence[Task]) -> Iterator[tuple[int, Outcome]]:
            yield from _on_workers(tasks, address, patience, say)

        yield engine


def _address(given: str) -> Any:
    """What `distributed.Client` is told: an address as it is, or a file."""
    if "://" in given:
        return given
    if not Path(given).is_file():
        raise FileNotFoundError(
            f"scheduler {given}: there is no such file; give the one that dask scheduler wrote, or an address as "
            "tcp://10.0.0.1:8786"
        )
    return Path(given)


def workers_for(need: int, available: int, n_cores: int) -> int:
    """How many workers have room for so many bytes each, at most one on each core, at least one.

    >>> workers_for(2 * 10**9, 7 * 10**9, 16), workers_for(0, 10**9, 4), workers_for(10**12, 10**9, 4)
    (3, 4, 1)
    """
    return max(1, min(n_cores, available // need if need > 0 else n_cores))


@contextmanager
def local_cluster(n_workers: int | None, need: int, say: Callable[[str], Any]) -> Iterator[Any]:
    """Processes of this machine, one on each core; where JAX has a GPU, one: fits of one shape share its programs."""
    from distributed import LocalCluster

    room = min(system.memory_limits().values(), default=sys.maxsize)
    own = workers_for(need, room, cores()) if n_workers is None else int(n_workers)
    if n_workers is None and _gpu_wanted():
        own = 1
        say("one process works on the GPU: fits of one shape share its programs")
    elif n_workers is None and own < cores():
        say(f"{own} of {cores()} cores are used: a fit may need {amount(need)}, and {amount(room)} are free")
    settings: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": "CRITICAL"}
    cluster = LocalCluster(
        n_workers=own,
        threads_per_worker=1,
        processes=True,
        memory_limit=None,  # ours is bounded before it starts; Dask would count what the system takes back
        **settings,
        preload=[__name__],  # for `dask_setup`
    )
    try:
        yield cluster
    finally:
        cluster.close(timeout=10)


def _gpu_wanted() -> bool:
    """Whether this machine has an NVIDIA GPU that JAX may use; JAX itself is not asked, as that would take the GPU."""
    allowed = os.environ.get("JAX_PLATFORMS", "")
    there = any(find_spec(f"jax_cuda{version}_plugin") is not None for version in (12, 13))
    return there and Path("/dev/nvidiactl").exists() and (not allowed or "cuda" in allowed or "gpu" in allowed)


def dask_setup(worker: Any) -> None:
    """What Dask calls in each process of a local cluster at its start: bind it to one core, before JAX counts them."""
    if hasattr(os, "sched_setaffinity") and isinstance(worker.name, int):  # others have names that are words
        own = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {own[worker.name % len(own)]})


def _given(values: Any) -> Any:
    return values


def _performed(call: Any, arguments: Any, values: Any, mark: str) -> Outcome:
    if code_mark() != mark:
        return Outcome(None, f"the worker has another swirl ({code_mark()}) than the one that asks ({mark})")
    return perform(Task(call, arguments, Shared(values)))


class _SchedulerGoneError(Exception):
    """The connection was lost; what is missing must be asked for again."""


DIED = Outcome(None, "the worker died, again and again, while it was at this task: too little memory, perhaps")


def _loss(future: Any) -> Exception:
    """Why the scheduler has no answer: it is gone, or it could not read what it was given."""
    try:
        future.result(timeout=1)
    except TimeoutError:
        return _SchedulerGoneError("no answer")
    except Exception as fault:
        words = str(fault) or type(fault).__name__
        if "connection" in words or "lost" in words:
            return _SchedulerGoneError(words)
        return ValueError(
            f"the scheduler did not take the tasks ({words}): it and its workers need the same swirl as here, and Dask"
        )
    return _SchedulerGoneError("the connection was lost")


def _on_workers(
    tasks: Sequence[Task], address: Any, patience: float | int, say: Callable[[str], Any]
) -> Iterator[tuple[int, Outcome]]:
    """The outcome of each task.  One whose workers died was perhaps only waiting beside the one that killed them.

    So it is given again, alone, when all others are done.
    """
    suspects = {}
    for place, outcome in _until_done(dict(enumerate(tasks)), address, patience, say):
        if outcome is DIED and len(tasks) > 1:
            suspects[place] = tasks[place]
        else:
            yield place, outcome
    for place, task in suspects.items():
        yield from _until_done({place: task}, address, patience, say)


def _until_done(
    left: dict[int, Task], address: Any, patience: float | int, say: Callable[[str], Any]
) -> Iterator[tuple[int, Outcome]]:
    """Give tasks to the workers, and again what a scheduler lost, until each has an outcome."""
    asked, gone_since = len(left), None

    def connected(n_workers: int) -> None:
        nonlocal gone_since
        gone_since = None
        if n_workers == 0:
            say("the scheduler has no workers yet: waiting for them (start some: dask worker ADDRESS)")

    while left:
        try:
            wait = patience if gone_since is None else 5.0
            for place, outcome in _one_connection(left, address, wait, connected):
                del left[place]
                yield place, outcome
        except _SchedulerGoneError as loss:
            now = time.monotonic()
            gone_since = now if gone_since is None else gone_since
            if now - gone_since >= patience:
                raise ConnectionError(
                    f"the scheduler {address} has been gone for {now - gone_since:.0f} s ({loss}), with {len(left)} of "
                    f"{asked} tasks missing: start it, then the same command again; what is done stays done"
                ) from None
            say("the scheduler is gone: waiting for it")
            time.sleep(min(1.0, patience / 10))


def _one_connection(
    left: dict[int, Task], address: Any, patience: float | int, connected: Callable[[int], None]
) -> Iterator[tuple[int, Outcome]]:
    """Outcomes as they come, until all are there or the scheduler is gone."""
    from distributed import Client, as_completed
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    where: dict[str, Any] = {"scheduler_file": str(address)} if isinstance(address, Path) else {"address": address}
    try:
        client = Client(**where, timeout=max(patience, 1.0), set_as_default=False)
    except (OSError, TimeoutError, ValueError) as fault:  # ValueError: a scheduler file that is just being written
        raise _SchedulerGoneError(str(fault) or type(fault).__name__) from None
    try:
        connected(len(client.scheduler_info()["workers"]))
        futures = {}
        given: dict[str, Any] = {}
        for place, task in left.items():
            mark = task.shared.digest
            if mark not in given:  # a task like any other: what a dead worker held is made again
                given[mark] = client.submit(_given, dict(task.shared.values), key=f"swirl-given-{mark[:16]}")
            future = client.submit(
                _performed, task.call, dict(task.arguments), given[mark], code_mark(), key=f"swirl-{task.key}-{place}"
            )
            futures[future] = place
        waiting = as_completed(futures, loop=client.loop)
        for future in waiting:
            place = futures[future]
            if future.status in ("pending", "lost") and client.status == "running":
                waiting.add(future)  # its worker died with the result: it is made again
                continue
            if future.status == "finished":
                outcome = future.result()
            elif future.status == "error":
                fault = future.exception()
                outcome = DIED if isinstance(fault, KilledWorker) else Outcome(None, str(fault) or type(fault).__name__)
            else:  # cancelled or lost: the scheduler knows nothing of it, or would not have it
                raise _loss(future)
            future.release()
            yield place, outcome
    except (CommClosedError, OSError, TimeoutError) as fault:
        raise _SchedulerGoneError(str(fault) or type(fault).__name__) from None
    finally:
        client.close(timeout=2)


@contextmanager
def engine_for(
    scheduler: str | None, n_workers: int | None = None, need: int = 0, tell: Callable[[str], Any] | None = None
) -> Iterator[Engine]:
    """The engine that a user asks for by name: "here" and "local" need no cluster, anything else is one that runs.

    Without Dask "local" is "here".
    """
    if scheduler in (None, LOCAL) and not has_dask():
        if tell is not None:
            tell("one process does the work, as Dask is not installed (pip install 'swirl-irl[cluster]': all cores)")
        scheduler = HERE
    if scheduler == HERE:
        yield here()
        return
    with dask_engine(scheduler, n_workers=n_workers, need=need, tell=tell) as engine:
        yield engine
