"""`swirl goals`: goals that pay, the verdict on them, the model and the map that are kept."""

import json
from dataclasses import replace
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
from swirl.data.arenas import grid
from swirl.data.trajectories import Trajectories
from swirl.estimators.goal_search import search_goals
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
def test_a_wall_that_is_missing_is_said_before_the_verdict(folder, tmp_path, monkeypatch):
    """The animal's world has five walls of which the environment does not know; fit and goals use the same words."""
    monkeypatch.setattr("swirl.workflows.habit_or_goal.habit_or_goal", partial(habit_or_goal, settings=SETTINGS[:1]))
    monkeypatch.chdir(tmp_path)
    walls = [("A2", "B2"), ("B2", "B3"), ("C3", "C4"), ("D1", "D2"), ("D4", "E4")]
    walks = datasets.random_walk(grid(5, 5, walls=walls), n_sessions=20, n_steps=100).trajectories
    write_table(to_frame(walks), tmp_path / "walks.csv")
    write_environment(grid(5, 5), tmp_path / "open.csv")
    said = run("goals", "walks.csv", "--env", "open.csv", "--among", "A1", "--no-runs", "-o", "goals.nc").stdout
    assert said.index("5 passages of the environment were never walked") < said.index("Habit or goal?")
    assert "Is there a wall?" in said
    fit = run("fit", "walks.csv", "--env", "open.csv", "--modes", "1", "--history", "1", "--max-iter", "2",
              "--restarts", "1", "--no-verdict").stdout  # fmt: skip
    assert "beware        5 passages of the environment were never walked" in fit
    assert "5 passages of the environment were never walked" in " ".join(
        run("check", "walks.csv", "--env", "open.csv").stdout.split()
    )


def search_of(like, data, candidates=None, max_goals=6, n_folds=3, strictness=1.0, **_):
    """What makes the answer of a search, which draws nothing."""
    own = {name: value for name, value in like.get_params(deep=False).items() if name not in ("env", "n_modes")}
    own["reward"] = replace(own["reward"], places=())
    settings = (candidates, max_goals, n_folds, strictness)
    return repr((own, data.fingerprint(), like.env.dense().tolist(), settings))


@pytest.mark.slow
def test_all_ways_to_find_goals_have_one_memory_and_one_answer(folder, tmp_path, monkeypatch):
    """Python's two and the terminal's two, on one file: the same search is asked for, and its answer is kept."""
    asked, answers = [], {}

    def searched(like, data, **settings):
        asked.append((int(like.history), search_of(like, data, **settings)))
        if asked[-1] not in answers:
            answers[asked[-1]] = search_goals(like, data, **settings)
        return answers[asked[-1]]

    for home in ("analysis.goal_discovery", "estimators.goal_search"):
        monkeypatch.setattr(f"swirl.{home}.search_goals", searched)
    monkeypatch.setattr("swirl.workflows.habit_or_goal.habit_or_goal", partial(habit_or_goal, settings=SETTINGS[:1]))
    monkeypatch.chdir(tmp_path)
    files = (folder / "few.csv", "--env", folder / "grid.csv")
    judged = run("goals", *files, "--no-runs", "-o", "judged.nc")
    fitted = run("fit", *files, "--reward", "goals", "--goals", "discover", "--no-verdict", "-o", "fitted.nc")
    assert judged.exit_code == fitted.exit_code == 0, judged.output + fitted.output
    data, env = read_sessions(folder / "few.csv", env=str(folder / "grid.csv"))
    search = discover_goals(data, env)
    assert swirl.make("Goals", env).fit(data).goal_search_ is search
    assert len(asked) == 4
    assert [history for history, _ in asked] == [2] * 4
    assert len(answers) == 1
    assert len(search.goals) > 0
    assert str(search) in judged.stdout
    assert str(search) in fitted.stdout
    assert swirl.load(tmp_path / "judged.nc").history == swirl.load(tmp_path / "fitted.nc").history == 2


def test_swirl_goals_may_search_with_a_longer_habit(folder, tmp_path, monkeypatch):
    asked = []

    def searched(like, *_, **__):
        asked.append(like.history)
        raise ValueError("enough")

    monkeypatch.setattr("swirl.analysis.goal_discovery.search_goals", searched)
    for words in ([], ["--history", "3"]):
        run("goals", folder / "few.csv", "--env", folder / "grid.csv", *words, "-o", tmp_path / "new.nc")
    assert asked == [2, 3]


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
