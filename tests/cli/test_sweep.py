"""`swirl sweep` in processes of its own: killed at any moment, the table is that of an undisturbed run."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest

from command_line import swirl, write_recording
from swirl import datasets, load
from swirl.estimators.swirl import SWIRL
from swirl.workflows import sweep as workflow
from swirl.workflows.config import checked, read_config
from swirl.workflows.goals import with_goals

GRID = """
data = "sessions.csv"
env = "grid.csv"

[model]
history = 1
reward = "state-action"

[fit]
restarts = 1
max_iter = 40

[grid]
modes = [1, 2]
folds = 2
repeats = 2
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return write_recording(tmp_path_factory.mktemp("recording"))


@pytest.fixture
def place(recording, tmp_path, monkeypatch):
    for file in recording.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "grid.toml").write_text(GRID)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def undisturbed(recording, tmp_path_factory):
    """The table of a sweep that nothing happened to, in one process."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run = checked({**_grid(recording), "data": str(recording / "sessions.csv"), "env": str(recording / "grid.csv")})
    return workflow.sweep(run, folder / "r", scheduler="here").table.read_text()


def _grid(recording):
    (recording / "grid.toml").write_text(GRID)
    return read_config(recording / "grid.toml")


def test_one_process_makes_the_table_and_a_second_run_does_nothing(place, undisturbed, capsys):
    code, printed = swirl(capsys, "sweep", "grid.toml", "-o", "r", "--scheduler", "here")
    assert code == 0, printed.err
    assert "n_modes=" in printed.out
    assert "8 of 8 fits are in r/table.csv" in printed.out
    assert (place / "r" / "table.csv").read_text() == undisturbed
    before = {path: path.stat().st_mtime_ns for path in (place / "r" / "results").iterdir()}
    assert len(before) == 8
    code, printed = swirl(capsys, "sweep", "grid.toml", "-o", "r", "--json")
    assert code == 0
    assert {path: path.stat().st_mtime_ns for path in (place / "r" / "results").iterdir()} == before
    facts = json.loads(printed.out)
    assert facts["best"] == {"n_modes": facts["candidates"][0]["n_modes"]} or facts["best"] == {"n_modes": 1}
    assert facts["failed"] == []


@pytest.mark.slow
def test_a_larger_grid_adds_to_the_folder(place, capsys):
    assert swirl(capsys, "sweep", "grid.toml", "-o", "r", "--scheduler", "here")[0] == 0
    (place / "grid.toml").write_text(GRID.replace("[1, 2]", "[1, 2, 3]"))
    before = {path.name: path.stat().st_mtime_ns for path in (place / "r" / "results").iterdir()}
    assert swirl(capsys, "sweep", "grid.toml", "-o", "r", "--scheduler", "here")[0] == 0
    after = {path.name: path.stat().st_mtime_ns for path in (place / "r" / "results").iterdir()}
    assert len(after) == 12
    assert before.items() <= after.items()
    with open(place / "r" / "table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["n_modes"]) for row in rows] == [1] * 4 + [2] * 4 + [3] * 4
    assert swirl(capsys, "sweep", "status", "r")[1].out == "12 of 12 done, 0 failed, 0 missing\n"


@pytest.mark.slow
def test_without_folds_the_fits_are_kept(place, capsys):
    (place / "grid.toml").write_text(GRID.replace("folds = 2", "folds = 0"))
    code, printed = swirl(capsys, "sweep", "grid.toml", "-o", "r", "--scheduler", "here")
    assert code == 0, printed.err
    with open(place / "r" / "table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    models = [load(place / "r" / "fits" / f"{row['key']}.nc") for row in rows]
    assert [len(model.initial_modes_) for model in models] == [1, 1, 2, 2]
    assert [model.random_state for model in models] == [0, 1, 0, 1]
    assert [float(model.objective_trace_[-1]) for model in models] == [float(row["objective"]) for row in rows]


WRONG = {
    "nothing to vary": (GRID.replace("modes = [1, 2]", ""), "there is nothing to vary"),
    "no grid": (GRID.partition("[grid]")[0], r"the file has no \[grid\]"),
    "twice": (
        GRID.replace("history = 1", "history = 1\nmodes = 2"),
        r"modes: given under \[model\] and under \[grid\]",
    ),
    "of another model": (GRID.replace("[model]", '[model]\nname = "Markov"').replace("history = 1", ""), "no modes"),
    "a slip": (GRID.replace("repeats", "repeat"), "did you mean 'repeats'"),
    "too many folds of too little": (GRID.replace("folds = 2", "folds = 1"), "cannot be cut into folds"),
    "not a list": (GRID.replace("[1, 2]", "2"), "grid.modes: got 2"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_grid_is_told_before_any_work(place, capsys, wrong):
    text, words = WRONG[wrong]
    (place / "grid.toml").write_text(text)
    code, printed = swirl(capsys, "sweep", "grid.toml", "-o", "r")
    assert code == 2
    assert re.search(words, printed.err), printed.err
    assert not (place / "r").exists()


def test_wrong_words_are_told(place, capsys):
    assert "give a folder for the results" in swirl(capsys, "sweep", "grid.toml")[1].err
    assert "expected one TOML file" in swirl(capsys, "sweep", "grid.toml", "other.toml", "-o", "r")[1].err
    assert "no results of a sweep are here" in swirl(capsys, "sweep", "status", "nowhere")[1].err
    code, printed = swirl(capsys, "sweep", "grid.toml", "-o", "r", "--scheduler", "nowhere.json")
    assert code == 2
    assert "there is no such file" in printed.err


@pytest.mark.slow
def test_a_fit_that_fails_is_told_at_the_end(place, capsys, monkeypatch):
    own = SWIRL.fit

    def fit(self, *args, **more):
        if self.n_modes == 2 and self.random_state == 1:
            raise ValueError("no luck with this seed")
        return own(self, *args, **more)

    monkeypatch.setattr(SWIRL, "fit", fit)
    code, printed = swirl(capsys, "sweep", "grid.toml", "-o", "r", "--scheduler", "here")
    assert code == 1
    assert "2 fits failed; the first: no luck with this seed" in printed.err
    assert "6 of 8 fits" in printed.out
    assert "n_modes=1: nothing else was tried" in printed.out  # what failed is no candidate
    told = swirl(capsys, "sweep", "status", "r")[1].out
    assert told.startswith("6 of 8 done, 2 failed, 0 missing\n  failed: n_modes=2, repeat=1, fold=0: no luck")
    monkeypatch.setattr(SWIRL, "fit", own)
    assert swirl(capsys, "sweep", "grid.toml", "-o", "r", "--scheduler", "here")[0] == 0
    assert swirl(capsys, "sweep", "status", "r")[1].out.startswith("8 of 8 done")


@pytest.mark.slow
def test_where_no_combination_is_whole_there_is_still_a_table(place, capsys, monkeypatch):
    own = SWIRL.fit

    def fit(self, *args, **more):
        if self.random_state == 1:
            raise ValueError("no luck")
        return own(self, *args, **more)

    monkeypatch.setattr(SWIRL, "fit", fit)
    code, printed = swirl(capsys, "sweep", "grid.toml", "-o", "r", "--scheduler", "here")
    assert code == 1
    assert "4 fits failed; the first: no luck" in printed.err
    assert len((place / "r" / "table.csv").read_text().splitlines()) == 9


@pytest.mark.slow
def test_sessions_without_actions_are_scored_by_their_next_states(place, capsys):
    rows = [line.split(",") for line in (place / "sessions.csv").read_text().splitlines()]
    column = rows[0].index("action")
    text = "\n".join(",".join(cell for i, cell in enumerate(row) if i != column) for row in rows)
    (place / "sessions.csv").write_text(text + "\n")
    code, printed = swirl(capsys, "sweep", "grid.toml", "-o", "r", "--scheduler", "here")
    assert code == 0, printed.err
    with open(place / "r" / "table.csv", newline="") as file:
        assert all(-3 < float(row["score"]) < 0 for row in csv.DictReader(file))


@pytest.mark.slow
def test_without_dask_one_process_does_the_work(place, capsys, monkeypatch):
    monkeypatch.setattr("swirl.analysis.cluster.has_dask", lambda: False)
    code, printed = swirl(capsys, "sweep", "grid.toml", "-o", "r")
    assert code == 0, printed.err
    assert "one process does the work, as Dask is not installed" in printed.err
    code, printed = swirl(capsys, "sweep", "grid.toml", "-o", "r2", "--scheduler", "tcp://127.0.0.1:1")
    assert code == 2
    assert "Dask is not installed: pip install 'swirl-irl[cluster]'" in printed.err


def test_goals_bring_what_follows_from_them():
    run = checked({"data": "x.csv", "model": {"reward": "goals", "goals": [2]}, "grid": {"temperature": [0.5, 1.0]}})
    env = datasets.gridworld_env()
    model = workflow.build(workflow.with_what_follows(with_goals(run, env)), env)
    assert (model.n_modes, model.history, model.switching) == (2, 2, "until-reached")


def test_what_a_sweep_cannot_do_is_told(place, capsys):
    (place / "grid.toml").write_text(GRID.replace('reward = "state-action"', 'reward = "goals"\ngoals = ["discover"]'))
    assert "name them here" in swirl(capsys, "sweep", "grid.toml", "-o", "r")[1].err
    (place / "grid.toml").write_text("stream = true\n" + GRID)
    assert "many fits need all sessions in memory" in swirl(capsys, "sweep", "grid.toml", "-o", "r")[1].err


def start(place, *more):
    words = [sys.executable, "-m", "swirl", "sweep", "grid.toml", "-o", "r", *more]
    with open(place / "log", "a") as log:
        # A shell that runs the tests in the background has them ignore Ctrl-C, and all that they start.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return subprocess.Popen(words, cwd=place, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        finally:
            signal.signal(signal.SIGINT, before)


def written(place, at_least, process, seconds=120):
    """Wait until so many results are there; return them with the times at which they were written."""
    for _ in range(int(seconds / 0.02)):
        there = list((place / "r" / "results").glob("[!.]*.json")) if (place / "r" / "results").is_dir() else []
        if len(there) >= at_least:
            return {path.name: path.stat().st_mtime_ns for path in there}
        assert process.poll() is None, (place / "log").read_text()
        time.sleep(0.02)
    raise TimeoutError((place / "log").read_text())


def now(place):
    return {path.name: path.stat().st_mtime_ns for path in (place / "r" / "results").glob("[!.]*.json")}


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(place, undisturbed):
    process = start(place, "--workers", "2")
    before = written(place, 2, process)
    workers = [
        child
        for child in psutil.Process(process.pid).children(recursive=True)
        if "spawn_main" in " ".join(child.cmdline())
    ]
    assert len(workers) == 2
    workers[0].send_signal(signal.SIGKILL)
    assert process.wait(180) == 0, (place / "log").read_text()
    assert (place / "r" / "table.csv").read_text() == undisturbed
    assert before.items() <= now(place).items()  # what was written is not written again


@pytest.mark.slow
def test_the_sweep_itself_killed_and_started_again_changes_nothing(place, undisturbed):
    lost = []
    for n in (1, 3):
        process = start(place, "--workers", "2")
        lost.append(written(place, n, process))
        children = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        _, alive = psutil.wait_procs(children, timeout=30)
        assert not alive  # no worker stays behind
    assert not list((place / "r" / "results").glob("*.tmp"))
    process = start(place, "--workers", "2")
    assert process.wait(180) == 0, (place / "log").read_text()
    assert (place / "r" / "table.csv").read_text() == undisturbed
    assert all(before.items() <= now(place).items() for before in lost)


@pytest.mark.slow
def test_a_full_disk_is_told_and_loses_nothing(place, undisturbed):
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("only root can make a small disk")
    (place / "r").mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=28k", "tmpfs", str(place / "r")], capture_output=True)
    if made.returncode:
        pytest.skip(f"a small disk cannot be made here: {made.stderr.decode().strip()}")
    try:
        process = start(place, "--scheduler", "here")
        assert process.wait(180) == 2
        assert "No space left on device" in (place / "log").read_text()
        before = now(place)
        assert 0 < len(before) < 8
        assert all(json.loads((place / "r" / "results" / name).read_text())["result"] for name in before)
        subprocess.run(["mount", "-o", "remount,size=10m", str(place / "r")], check=True)
        process = start(place, "--scheduler", "here")
        assert process.wait(180) == 0, (place / "log").read_text()
        assert (place / "r" / "table.csv").read_text() == undisturbed
        assert before.items() <= now(place).items()
    finally:
        subprocess.run(["umount", "-l", str(place / "r")], check=False)


@pytest.mark.slow
def test_ctrl_c_ends_it_and_it_goes_on(place, capsys):
    """So many fits that it cannot be over before the signal comes."""
    (place / "grid.toml").write_text(GRID.replace("repeats = 2", "repeats = 40"))
    process = start(place, "--workers", "2")
    before = written(place, 1, process)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130, (place / "log").read_text()
    assert "Traceback" not in (place / "log").read_text()
    assert len(now(place)) < 160
    process = start(place, "--workers", "2")
    assert process.wait(180) == 0, (place / "log").read_text()
    assert before.items() <= now(place).items()
    assert swirl(capsys, "sweep", "grid.toml", "-o", "undisturbed", "--scheduler", "here")[0] == 0
    assert (place / "r" / "table.csv").read_text() == (place / "undisturbed" / "table.csv").read_text()
