"""Tasks on real Dask workers: killed, restarted and crowded out, the results are those of an undisturbed run."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from small_tasks import affinity, deadly, fussy, square
from swirl import datasets
from swirl.analysis import cluster
from swirl.analysis.cluster import dask_engine
from swirl.analysis.fit_tasks import fold_tasks
from swirl.analysis.tasks import Folder, Task, carried_out
from swirl.estimators.swirl import SWIRL

pytestmark = [
    pytest.mark.slow,
    # Dask's own farewells: sockets and loops of clusters that were killed.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
TESTS = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _found_by_workers(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ["PYTHONPATH"]]))


def squares(n, marks, seconds=0.0):
    return [Task(square, {"n": i, "marks": str(marks), "seconds": seconds}, label={"n": i}) for i in range(n)]


def calls(marks):
    """How often each task was begun."""
    began = [int(path.name.split("-")[0]) for path in Path(marks).iterdir()]
    return {n: began.count(n) for n in set(began)}


def pid_of(marks, n):
    return next(int(path.name.split("-")[1]) for path in Path(marks).iterdir() if path.name.startswith(f"{n}-"))


@pytest.fixture
def marks(tmp_path):
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


@pytest.fixture
def outside(tmp_path):
    """Start and kill a scheduler and workers of our own, at one address, known by one file."""
    running = []
    file = tmp_path / "scheduler.json"

    def dask(*words):
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:], "--scheduler-file", str(file)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running.append(subprocess.Popen(command, start_new_session=True, **quiet))
        return running[-1]

    def start():
        scheduler = dask("scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")
        until(file.is_file)
        return scheduler, [dask("worker", "--nthreads", "1", "--no-dashboard", "--no-nanny") for _ in range(2)]

    def kill():
        for process in running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        running.clear()

    start.file, start.kill, start.dask = file, kill, dask
    yield start
    kill()


def until(true, seconds=60):
    for _ in range(int(seconds / 0.05)):
        if true():
            return
        time.sleep(0.05)
    raise TimeoutError


def test_real_fits_have_the_bits_that_they_have_here():
    world = datasets.gridworld(n_sessions=6, n_steps=60)
    model = SWIRL(world.env, history=1, n_restarts=2, max_iter=60, random_state=1)
    asked = fold_tasks(model, world.trajectories, [{"n_modes": 1}, {"n_modes": 2}], n_folds=2)
    alone = carried_out(asked)
    with dask_engine(n_workers=2) as engine:
        together = carried_out(asked, engine=engine)
    assert [outcome.result for outcome in together] == [outcome.result for outcome in alone]
    assert all(outcome.error is None for outcome in alone)


def test_each_worker_has_a_core_of_its_own():
    with dask_engine() as engine:
        found = carried_out([Task(affinity, {"n": n}) for n in range(40)], engine=engine)
    owned = {tuple(outcome.result["own"]) for outcome in found}
    assert all(len(own) == 1 for own in owned)
    assert len(owned) == len(os.sched_getaffinity(0))


def test_a_worker_that_is_killed_is_replaced(tmp_path, marks):
    asked, folder = squares(8, marks, 0.5), Folder(tmp_path / "r")
    killed = []

    def kill_one(state):
        if state.done == 2 and not killed:
            until(lambda: len(calls(marks)) >= 4)
            under_way = max(calls(marks))
            killed.append(pid_of(marks, under_way))
            os.kill(killed[0], signal.SIGKILL)

    with dask_engine(n_workers=2) as engine:
        found = carried_out(asked, folder=folder, engine=engine, callback=kill_one)
    assert killed
    assert [outcome.result for outcome in found] == [{"square": n * n} for n in range(8)]
    assert max(calls(marks).values()) == 2  # what it was at, and nothing that was there already
    assert sum(n == 2 for n in calls(marks).values()) <= 2


def test_one_that_kills_its_workers_fails_alone():
    with dask_engine(n_workers=2) as engine:
        found = carried_out([Task(deadly, {"n": n}) for n in range(6)], engine=engine)
    assert [outcome.result is None for outcome in found] == [n == 3 for n in range(6)]
    assert "the worker died" in found[3].error


def test_one_that_raises_fails_alone():
    with dask_engine(n_workers=1) as engine:
        found = carried_out([Task(fussy, {"n": n}) for n in range(5)], engine=engine)
    assert [outcome.error for outcome in found] == [None, None, None, "3 is not liked", None]
    assert "small_tasks.py" in found[3].traceback


def test_a_scheduler_that_is_restarted_gets_what_is_missing(tmp_path, marks, outside):
    outside()
    asked, folder, told = squares(8, marks, 0.4), Folder(tmp_path / "r"), []

    def restart(state):
        if state.done == 3 and not told:
            told.append(sorted(path.name for path in (tmp_path / "r" / "results").iterdir()))
            outside.kill()
            outside.file.unlink()
            outside()

    with dask_engine(str(outside.file), patience=30) as engine:
        found = carried_out(asked, folder=folder, engine=engine, callback=restart)
    assert [outcome.result for outcome in found] == [{"square": n * n} for n in range(8)]
    assert len(told[0]) == 3
    written = {n for n in range(8) if f"{asked[n].key}.json" in told[0]}
    assert all(calls(marks)[n] == 1 for n in written)  # not computed again


def test_a_scheduler_that_stays_away_is_told_and_nothing_is_lost(tmp_path, marks, outside):
    outside()
    asked, folder = squares(6, marks, 0.4), Folder(tmp_path / "r")

    def stop(state):
        if state.done == 2:
            outside.kill()

    with (
        pytest.raises(ConnectionError, match=r"4 of 6 tasks missing: start it, then the same command again"),
        dask_engine(str(outside.file), patience=3) as engine,
    ):
        carried_out(asked, folder=folder, engine=engine, callback=stop)
    assert sum(folder.outcome(task) is not None for task in asked) == 2


def test_workers_may_come_late(marks, outside):
    outside.dask("scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")
    until(outside.file.is_file)
    said = []

    def start(words):
        said.append(words)
        outside.dask("worker", "--nthreads", "1", "--no-dashboard", "--no-nanny")

    with dask_engine(str(outside.file), tell=start) as engine:
        found = carried_out(squares(3, marks), engine=engine)
    assert said == ["the scheduler has no workers yet: waiting for them (start some: dask worker ADDRESS)"]
    assert [outcome.result["square"] for outcome in found] == [0, 1, 4]


def test_memory_bounds_the_number_of_workers(monkeypatch):
    monkeypatch.setattr(cluster.system, "memory_limits", lambda: {"free memory": 10**9})
    said = []
    with dask_engine(need=9 * 10**8, tell=said.append) as engine:
        found = carried_out([Task(affinity, {"n": n}) for n in range(4)], engine=engine)
    assert len({tuple(outcome.result["own"]) for outcome in found}) == 1
    if len(os.sched_getaffinity(0)) > 1:
        assert said == [f"1 of {cluster.cores()} cores are used: a fit may need 900 MB, and 1 GB are free"]
