"""A run's settings: read, laid over one another, checked, echoed."""

import pytest

from swirl.priors import Bouts, Cauchy, Gaussian, HabitGoals
from swirl.rewards import Goals, Habit
from swirl.workflows.config import bouts_option, checked, merged, read_config

WHOLE = """
data = "sessions.csv"
env = "maze.csv"
hold_out = 5

[columns]
state = "node"

[model]
modes = 3
history = 7
reward = { kind = "Habit", goal_history = 2 }

[model.reward_prior]
kind = "HabitGoals"
habit = { kind = "Gaussian", strength = 0.03, backoff = 4.0 }
goal = { kind = "Gaussian", strength = 0.2, backoff = [1.0, 2.0] }

[fit]
restarts = 4
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(WHOLE)
    return path


def test_a_whole_file(file, tmp_path):
    (tmp_path / "maze.csv").write_text("")
    run = checked(read_config(file))
    assert run.env == str(tmp_path / "maze.csv")  # relative to the file, where it is there
    assert run.data == "sessions.csv"
    assert (run.model.modes, run.columns.state, run.fit.restarts, run.fit.max_iter) == (3, "node", 4, 2000)
    assert run.model.reward == Habit(2)
    assert run.model.reward_prior == HabitGoals(Gaussian(0.03, 4.0), Gaussian(0.2, (1.0, 2.0)))


def test_goals_stand_in_a_file(file):
    habit = 'reward = { kind = "Habit", goal_history = 2 }'
    goals = 'switching = "until-reached"\nreward = { kind = "Goals", places = [116, [0, 3]] }'
    file.write_text(WHOLE.replace(habit, goals).partition("[model.reward_prior]")[0])
    run = checked(read_config(file))
    assert run.model.reward == Goals((116, (0, 3)))
    assert run.model.switching == "until-reached"


def test_what_is_echoed_is_the_same_run(file):
    run = checked(read_config(file))
    assert checked(run.model_dump(mode="json", exclude_none=True)) == run


def test_the_command_line_goes_before_the_file(file):
    run = checked(merged(read_config(file), {"model": {"modes": 5, "reward_prior": Cauchy()}, "env": None}))
    assert (run.model.modes, run.model.history, run.env) == (5, 7, "maze.csv")
    assert run.model.reward_prior == Cauchy()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "data: missing"),
        ({"data": "x", "modes": 3}, "modes: no such field here; it belongs under [model]"),
        ({"data": "x", "quux": 3}, "quux: no such field; the fields are data, env"),
        ({"data": "x", "fit": {"restart": 3}}, "fit.restart: no such field; did you mean 'restarts'"),
        ({"data": "x", "model": {"modes": 0}}, "model.modes: got 0; expected at least 1"),
        ({"data": "x", "model": {"modes": "many"}}, "model.modes: got 'many'"),
        ({"data": "x", "model": {"impossible": "skip"}}, "model.impossible: got 'skip'; expected 'error'"),
        ({"data": "x", "model": {"reward_prior": {"kind": "Laplace"}}}, "model.reward_prior: kind='Laplace'"),
        ({"data": "x", "model": {"reward_prior": {"kind": "Gaussian", "width": 1}}}, "Gaussian has no field width"),
        ({"data": "x", "model": {"reward_prior": {"kind": "Gaussian", "strength": -1}}}, "strength=-1.0: expected"),
        ({"data": "x", "model": {"switching_prior": {"kind": "Bouts"}}}, "switching_prior: Bouts lacks steps"),
        ({"data": "x", "model": {"switching_prior": {"kind": "Bouts", "steps": 1}}}, "steps=1.0: expected more than 1"),
        ({"data": "x", "hold_out": 1}, "hold_out: got 1"),
    ],
)
def test_faults_name_the_field(values, told):
    with pytest.raises(ValueError, match="cannot be used") as fault:
        checked(values)
    assert told in str(fault.value)


def test_all_faults_at_once():
    with pytest.raises(ValueError, match="2 faults"):
        checked({"data": "x", "model": {"modes": 0}, "fit": {"seed": -1}})


@pytest.mark.parametrize(("content", "told"), [(b"data = ", "is not TOML"), (b"\xff\xfe\x00", "not text in UTF-8")])
def test_files_that_are_none(content, told, tmp_path):
    (tmp_path / "run.toml").write_bytes(content)
    with pytest.raises(ValueError, match=told):
        read_config(tmp_path / "run.toml")


def test_a_network_reward_is_asked_for_by_its_size():
    run = checked({"data": "x.csv", "model": {"reward": {"kind": "Network", "hidden": 8}}})
    assert run.model.reward.hidden == 8
    assert run.model_dump(mode="json", exclude_none=True)["model"]["reward"] == {"kind": "Network", "hidden": 8}


def test_one_way_to_hold_out_gives_way_to_the_other():
    assert merged({"hold_out": 4}, {"hold_out_subjects": ["m1"], "hold_out": None}) == {"hold_out_subjects": ["m1"]}
    with pytest.raises(ValueError, match="give one of them"):
        checked({"data": "x.csv", "hold_out": 4, "hold_out_subjects": ["m1"]})


def test_a_fault_under_compare_names_its_field():
    with pytest.raises(ValueError, match=r"compare.modes.0: got 0"):
        checked({"data": "x.csv", "compare": {"modes": [0]}})
    with pytest.raises(ValueError, match=r"it belongs under \[compare\]"):
        checked({"data": "x.csv", "folds": 3})


def test_bouts_are_asked_for_in_a_file_and_on_the_command_line():
    prior = {"kind": "Bouts", "steps": 50, "besides": {"kind": "Gaussian", "strength": 8}}
    values = {"data": "x.csv", "model": {"switching_prior": prior}}
    run = checked(values)
    assert run.model.switching_prior == Bouts(50.0, besides=Gaussian(8.0))
    assert checked(run.model_dump(mode="json", exclude_none=True)) == run
    option = {"model": {"switching_prior": bouts_option(values, 20.0, 1000.0)}}
    assert checked(merged(values, option)).model.switching_prior == Bouts(20.0, 1000.0, besides=Gaussian(8.0))
    assert bouts_option(values, None, None) is None
    with pytest.raises(ValueError, match="--bouts-strength: says how much --bouts is worth"):
        bouts_option({}, None, 3.0)


def test_several_columns_may_tell_a_session():
    for key in (["mouse", "session"], "mouse,session"):
        run = checked({"data": "x.csv", "columns": {"session": key}})
        assert run.columns.session == key
        assert run.model_dump(mode="json")["columns"]["session"] == key
    with pytest.raises(ValueError, match=r"columns\.session"):
        checked({"data": "x.csv", "columns": {"session": 3}})
