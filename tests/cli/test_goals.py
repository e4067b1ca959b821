"""`swirl goals`: goals that pay, the verdict on them, the model and the map that are kept."""

import json
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

import swirl
from swirl import datasets
from swirl.analysis.behaviour import distances
from swirl.analysis.goal_discovery import discover_goals
from swirl.analysis.habit_or_goal import SETTINGS, Setting, habit_or_goal
from swirl.cli.app import app
from swirl.data.trajectories import Trajectories
from swirl.io.environment_files import write_environment
from swirl.io.export_tables import to_frame, write_table
from swirl.workflows.load import read_sessions

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments], env={"SWIRL_DEBUG": None, "COLUMNS": "120"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sessions of a walker who wanders, then goes straight to one of two corners, and so on."""
    place = tmp_path_factory.mktemp("goals é")
    env, rng = datasets.gridworld_env(), np.random.default_rng(0)
    following = np.asarray(env.successors.next)[:, :, 0]
    sessions, actions = [], []
    for _ in range(24):
        s, goal, states, done = int(rng.integers(25)), None, [], []
        for _ in range(100):
            goal = None if s == goal else goal
            if goal is None and rng.random() < 0.1:
                goal = int(rng.choice([4, 20]))
            nearer = np.arange(5)
            if goal is not None:
                away = distances(env, goal)
                nearer = np.flatnonzero(away[following[s]] == away[s] - 1) if away[s] else nearer
            states.append(s)
            done.append(int(rng.choice(nearer)))
            s = int(following[s, done[-1]])
        sessions.append(np.array(states))
        actions.append(np.array(done))
    data = Trajectories(sessions, actions, n_states=25, n_actions=5, state_names=env.state_names,
                        action_names=env.action_names)  # fmt: skip
    write_table(to_frame(data), place / "sessions.csv")
    write_table(to_frame(data[:1]), place / "one.csv")
    write_table(to_frame(data[:9]), place / "few.csv")
    write_environment(env, place / "grid.csv")
    return place


@pytest.mark.slow
def test_it_judges_keeps_the_model_and_draws_the_map(folder, tmp_path, monkeypatch):
    small = partial(habit_or_goal, settings=(Setting(2, 0, 300.0),))
    monkeypatch.setattr("swirl.workflows.habit_or_goal.habit_or_goal", small)
    model, drawn = tmp_path / "goals.nc", tmp_path / "goals.png"
    asked = ["goals", folder / "sessions.csv", "--env", folder / "grid.csv", "--among", "(0, 4),(4, 0),(2, 2)", "-o",
             model]  # fmt: skip
    done = run(*asked, "--map", drawn)
    assert done.exit_code == 0, done.output
    assert "Habit or goal? Evidence for goals." in done.stdout
    assert "straight arrivals, with goals:" in done.stdout
    assert "swirl report" in done.stdout
    assert drawn.stat().st_size > 1000
    fitted = swirl.load(model)
    found = {goal.states for goal in fitted.goals}
    assert found
    assert found <= {(4,), (20,)}
    assert fitted.n_modes == 1 + len(found)
    assert fitted.run_["config"]["model"]["history"] == fitted.history
    assert fitted.run_["command"].startswith("swirl")
    assert "exists already" in run(*asked).output
    told = json.loads(run(*asked, "--force", "--json", "--no-runs").stdout)
    assert told["verdict"] == "evidence for goals"
    assert {tuple(goal["states"]) for goal in told["goals"]} == found
    assert told["gains"]["place_5"]["low"] > 0
    assert told["runs"] == {}


@pytest.mark.slow
def test_all_ways_to_find_goals_have_one_memory_and_one_answer(folder, tmp_path, monkeypatch):
    """Python's two and the terminal's two, on one file."""
    monkeypatch.setattr("swirl.workflows.habit_or_goal.habit_or_goal", partial(habit_or_goal, settings=SETTINGS[:1]))
    monkeypatch.chdir(tmp_path)
    files = (folder / "few.csv", "--env", folder / "grid.csv")
    judged = run("goals", *files, "--no-runs", "-o", "judged.nc")
    fitted = run("fit", *files, "--reward", "goals", "--goals", "discover", "--no-verdict", "-o", "fitted.nc")
    assert judged.exit_code == fitted.exit_code == 0, judged.output + fitted.output
    data, env = read_sessions(folder / "few.csv", env=str(folder / "grid.csv"))
    searches = [discover_goals(data, env), swirl.make("Goals", env).fit(data).goal_search_]
    assert len(searches[0].goals) > 0
    assert [search.model.history for search in searches] == [2, 2]
    assert swirl.load(tmp_path / "judged.nc").history == swirl.load(tmp_path / "fitted.nc").history == 2
    for search in searches:  # the same goals, in the same words and figures
        assert str(search) in judged.stdout
        assert str(search) in fitted.stdout
    longer = run("goals", *files, "--history", "3", "--no-runs", "--among", "(0, 4)", "-o", "longer.nc", "--json")
    assert longer.exit_code == 0, longer.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sessions.csv", "--map", "goals.txt"], "expected a file that ends in .png, .pdf, .svg"),
        (["one.csv"], "data have 1 session: two or more are needed"),
        (["sessions.csv", "--among", "nowhere"], "nowhere"),
        ([], "no data: give a CSV or Parquet file, as in `swirl goals sessions.csv`"),
    ],
)
def test_what_it_cannot_do_it_says_before_any_work(folder, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(folder)
    done = run("goals", *words, "--env", "grid.csv", "-o", tmp_path / "new.nc")
    assert done.exit_code != 0
    assert said in done.output.replace("\n", " ")
    assert not (tmp_path / "new.nc").exists()
