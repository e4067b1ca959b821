"""Tasks: what makes two the same, that what is written stays, and that one that fails takes no other along."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from threading import Event
from time import sleep

import numpy as np
import pytest

from small_tasks import fussy, square
from swirl import SWIRL, Trajectories, datasets, priors
from swirl.analysis import tasks
from swirl.analysis.tasks import Folder, Outcome, Shared, Task, TasksFailedError, carried_out, here, results
from swirl.estimators.digest import digest

WORLD = datasets.gridworld(n_sessions=3, n_steps=20)


def squares(n, **more):
    return [Task(square, {"n": i, **more}, label={"n": i}) for i in range(n)]


def test_what_differs_has_another_digest():
    env, data = WORLD.env, WORLD.trajectories
    others = [
        None, True, 1, 1.0, "1", [1], [[1]], {"a": 1}, {"b": 1}, np.ones(2), np.ones(3), np.ones(2, int),
        np.ones((1, 2)), env, data, data[:2], SWIRL(env), SWIRL(env, n_modes=3), priors.Gaussian(1.0),
        priors.Gaussian(2.0), priors.Gaussian(1.0, backoff=2.0), priors.Cauchy(), square, fussy,
        Trajectories(data.states, data.actions, subjects=["a", "b", "b"]),
        Trajectories(data.states, data.actions, subjects=["a", "a", "b"]),
    ]  # fmt: skip
    assert len({digest(value) for value in others}) == len(others)


@pytest.mark.slow
def test_what_is_equal_has_the_same_digest_in_another_process():
    program = (
        "from swirl import SWIRL, datasets, priors; from swirl.estimators.digest import digest;"
        "w = datasets.gridworld(n_sessions=3, n_steps=20);"
        "print(digest([w.env, w.trajectories, SWIRL(w.env, reward_prior=priors.Cauchy())]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    own = digest([WORLD.env, WORLD.trajectories, SWIRL(WORLD.env, reward_prior=priors.Cauchy())])
    assert done.stdout.strip() == own


def test_what_cannot_be_told_apart_is_refused():
    with pytest.raises(TypeError, match="is given plain values"):
        digest(object())


def test_nesting_is_told_apart_and_what_is_captured_is_refused():
    assert digest({"k": {"a": 1}, "z": 2}) != digest({"k": {"a": 1, "z": 2}})
    n = 3
    for inner in (lambda told=None: {"n": n}, partial(square, 2)):
        with pytest.raises(TypeError, match="a task calls a function of a module"):
            digest(inner)


def test_a_key_is_made_of_all_that_goes_in():
    shared = Shared({"data": WORLD.trajectories})
    one = Task(square, {"n": 1}, shared, {"n": 1})
    assert one.key == replace(one, label={}).key  # but for what it is called
    others = [replace(one, arguments={"n": 2}), replace(one, call=fussy), replace(one, shared=Shared({"data": None}))]
    assert len({task.key for task in (one, *others)}) == 4


def test_another_version_computes_anew(tmp_path, monkeypatch):
    folder = Folder(tmp_path / "r")
    carried_out(squares(1), folder=folder)
    assert folder.outcome(squares(1)[0]) is not None
    monkeypatch.setattr(tasks, "code_mark", lambda: "another")
    assert folder.outcome(squares(1)[0]) is None


def test_what_has_a_file_is_not_computed_again(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    asked = squares(4, marks=str(marks))
    first = carried_out(asked[:2], folder=Folder(tmp_path / "r"))
    assert len(list(marks.iterdir())) == 2
    again = carried_out(asked, folder=Folder(tmp_path / "r"))
    assert len(list(marks.iterdir())) == 4
    assert [outcome.result for outcome in again] == [{"square": n * n} for n in range(4)]
    assert again[:2] == first


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"key": "other", "result": {"square": 7}}'])
def test_a_damaged_file_is_no_result(tmp_path, damage):
    folder, task = Folder(tmp_path / "r"), squares(1)[0]
    carried_out([task], folder=folder)
    (tmp_path / "r" / "results" / f"{task.key}.json").write_text(damage)
    assert folder.outcome(task) is None
    assert carried_out([task], folder=folder)[0].result == {"square": 0}


def test_one_that_fails_is_written_down_and_the_others_go_on(tmp_path):
    folder = Folder(tmp_path / "r")
    asked = [Task(fussy, {"n": n}, label={"n": n}) for n in range(5)]
    outcomes = carried_out(asked, folder=folder)
    assert [outcome.result is None for outcome in outcomes] == [False, False, False, True, False]
    facts = json.loads((tmp_path / "r" / "failed" / f"{asked[3].key}.json").read_text())
    assert facts["error"] == "3 is not liked"
    assert "small_tasks.py" in facts["traceback"]
    assert folder.error(asked[3].key) == "3 is not liked"
    assert folder.error(asked[2].key) is None
    with pytest.raises(TasksFailedError, match=r"1 task of 5 failed \(n=3\): 3 is not liked"):
        results(asked, outcomes)


def test_what_failed_is_tried_again_and_then_forgotten(tmp_path):
    folder, task = Folder(tmp_path / "r"), squares(1)[0]
    folder.keep(task, Outcome(None, "bad luck"))
    assert folder.error(task.key) == "bad luck"
    assert folder.outcome(task) is None
    assert carried_out([task], folder=folder)[0].result == {"square": 0}
    assert folder.error(task.key) is None


def test_a_fitted_model_has_a_file_of_its_own(tmp_path):
    folder, task = Folder(tmp_path / "r"), squares(1)[0]
    kept = folder.keep(task, Outcome({"x": 1, "fit": b"bytes of a model"}))
    assert kept.result == {"x": 1}
    assert folder.fit(task).read_bytes() == b"bytes of a model"


def test_results_are_as_they_will_be_read(tmp_path):
    values = {"a": np.float64(0.1) + 0.2, "b": np.array([1.0, -np.inf, np.nan]), "c": (1, 2)}
    task = squares(1)[0]
    Folder(tmp_path / "r").keep(task, Outcome(values))
    read = Folder(tmp_path / "r").outcome(task).result
    assert read["a"] == 0.1 + 0.2  # to the last bit
    assert read["b"][1] == -np.inf
    assert np.isnan(read["b"][2])
    assert read["c"] == [1, 2]


def test_two_that_are_the_same_are_computed_once(tmp_path):
    task = Task(square, {"n": 2, "marks": str(tmp_path)})
    outcomes = carried_out([task, task])
    assert [outcome.result for outcome in outcomes] == [{"square": 4}] * 2
    assert len(list(tmp_path.iterdir())) == 1


def test_threads_give_the_same_in_the_same_order():
    asked = [Task(square, {"n": n, "seconds": 0.02 * (5 - n)}) for n in range(5)]
    found = [[outcome.result for outcome in carried_out(asked, engine=here(n))] for n in (1, 3)]
    assert found[0] == found[1]


def test_progress_counts_and_guesses(tmp_path):
    told = []
    asked = [Task(fussy, {"n": n}) for n in range(5)]
    carried_out(asked[:1], folder=Folder(tmp_path / "r"))
    carried_out(asked, folder=Folder(tmp_path / "r"), callback=told.append)
    assert [(state.done, state.failed) for state in told] == [(1, 0), (2, 0), (2, 1), (3, 1), (4, 1)]
    assert told[0].seconds_left is None
    assert str(told[0]) == "1 of 5 done"
    assert str(told[-1]) == "4 of 5 done, 1 failed"
    assert str(tasks.Progress(3, 0, 10, 200.0)) == "3 of 10 done, about 3 min left"


def test_the_time_left_is_measured_from_what_is_done():
    now = [0.0]
    pace = tasks.Pace([1.0, 3.0, 1.0, 5.0], clock=lambda: now[0])
    assert (pace.progress.seconds_left, str(pace.progress)) == (None, "0 of 4 done")
    now[0] = 20.0
    assert pace.did(1.0).seconds_left == pytest.approx(180.0)  # 20 s for 1 of 10, whatever any table says
    now[0] = 200.0
    assert pace.did(3.0, doing="S-2").seconds_left == pytest.approx(300.0)
    assert str(pace.progress) == "S-2; 2 of 4 done, about 5 min left"
    pace.more(1, 4.0)  # one that was not foreseen
    now[0] = 250.0
    assert pace.did(1.0).seconds_left == pytest.approx(250 / 5 * 9)
    pace.more(-1, 4.0)
    now[0] = 500.0
    assert str(pace.did(5.0, failed=1)) == "S-2; 3 of 4 done, 1 failed"
    search = tasks.Pace(10, at_most=True, clock=lambda: now[0])
    now[0] = 560.0
    assert str(search.did()) == "1 of at most 10 done, at most about 9 min left"


NOW = [0.0]


def taking(seconds, told=None):
    """Nothing, while the clock of the test goes on."""
    NOW[0] += seconds
    return {}


def test_tasks_that_cost_more_weigh_more(monkeypatch):
    defaults = tasks.Pace.__init__.__kwdefaults__
    monkeypatch.setattr(tasks.Pace.__init__, "__kwdefaults__", {**defaults, "clock": lambda: NOW[0]})
    told = []
    carried_out([Task(taking, {"seconds": n}, cost=float(n)) for n in (2, 4, 30)], callback=told.append)
    assert [state.seconds_left for state in told] == [None, 34.0, 4.0, 0.0]  # the third is begun before the second


def test_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("notes")
    with pytest.raises(FileExistsError, match="holds other things than results"):
        Folder(tmp_path)
    (tmp_path / "results").mkdir()  # of something else
    with pytest.raises(FileExistsError, match="holds other things than results"):
        Folder(tmp_path)
    (tmp_path / "results").rmdir()
    with pytest.raises(NotADirectoryError, match="is a file: give a folder"):
        Folder(tmp_path / "mine.txt")
    with pytest.raises(FileNotFoundError, match="no results of a sweep are here"):
        Folder.there(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_what_cannot_be_written_stops_the_run_and_loses_nothing(tmp_path):
    folder, asked = Folder(tmp_path / "r"), squares(4)
    carried_out(asked[:2], folder=folder)
    (tmp_path / "r" / "results").chmod(0o500)
    try:
        if subprocess.run(["touch", str(tmp_path / "r" / "results" / "x")], capture_output=True).returncode == 0:
            pytest.skip("root may write everywhere")
        with pytest.raises(OSError):
            carried_out(asked, folder=folder)
    finally:
        (tmp_path / "r" / "results").chmod(0o700)
    assert [folder.outcome(task) is not None for task in asked] == [True, True, False, False]


def test_what_is_under_way_is_stopped_when_one_fails():
    stopped, began = [], Event()

    def call(job, told):
        if job == 0:
            assert began.wait(10)
            raise ZeroDivisionError
        began.set()
        for _ in range(10_000):
            try:
                told(None)
            except KeyboardInterrupt:
                stopped.append(job)
                raise
            sleep(0.001)
        return job

    with pytest.raises(ZeroDivisionError):
        list(tasks.as_done(range(4), call, 2))
    assert 1 in stopped
    assert len(stopped) < 4  # the last ones were not begun, or ended at once


@pytest.mark.parametrize("growth", [0, 1, 2])
def test_the_time_left_is_about_right_after_a_tenth_where_later_tasks_cost_more(monkeypatch, growth):
    """Candidates stand in order of their modes and histories: "2 min left" had become 30."""
    now, said, cost = [0.0], [], np.arange(1.0, 161) ** growth

    def engine(asked):
        for i, task in enumerate(asked):
            now[0] += cost[task.arguments["n"]]
            yield i, Outcome({"n": task.arguments["n"]})

    monkeypatch.setattr(tasks, "Pace", partial(tasks.Pace, clock=lambda: now[0]))
    found = carried_out(squares(160), engine=engine, callback=lambda progress: said.append((progress, now[0])))
    assert [outcome.result["n"] for outcome in found] == list(range(160))
    for progress, at in said[16:-16]:
        assert 1 / 1.5 < progress.seconds_left / (cost.sum() - at) < 1.5
