"""`swirl power`: from a sketch or a fit to the answer, a file and a figure; wrong words are told before any work."""

import json

import pytest

from command_line import swirl
from swirl import SWIRL, datasets
from swirl.data.arenas import grid
from swirl.io.environment_files import write_environment
from swirl.workflows.power import sketch_of, truth_of

SKETCH = """arena = "3x3"
goals = { food = "r0c0", nest = "r2c2" }
dwell = 12
temperature = 0.4

[model]
reward = "state-action"

[fit]
restarts = 1
max_iter = 30
"""
ASK = ["power", "sketch.toml", "--sessions", "2,4", "--steps", "30", "--simulations", "2", "--scheduler", "here"]
WRONG = ["power", "--arena", "3x3", "--goals", "r0c0,r2c2"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "sketch.toml").write_text(SKETCH)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_it_says_the_answer_draws_it_and_keeps_it(place, capsys):
    code, printed = swirl(capsys, *ASK, "--folder", "kept", "--figure", "power.png")
    assert code == 0, printed.err
    assert printed.out.startswith(
        "From a sketch: 2 modes (food, nest); it takes 6 steps to a goal, of which 5 are needed\n\n"
    )
    assert "4 fits: 2 data sets of each of 2 designs, 60 to 120 steps" in printed.err
    assert "of 2 simulated data sets gave back the modes, the policies and the switching" in printed.out
    assert (place / "power.png").stat().st_size > 10_000
    facts = json.loads((place / "power.json").read_text())
    assert facts["kind"] == "swirl power"
    assert facts["sketch"]["dwell"] == 12
    assert [row["steps"] for row in facts["designs"]] == [60, 120]
    assert facts["questions"] == ["modes", "policies", "switching"]
    code, again = swirl(capsys, *ASK, "--folder", "kept", "--json", "-o", "b.json")
    assert code == 0
    assert json.loads(again.out)["measures"]["right"] == facts["measures"]["right"]
    assert len(list((place / "kept" / "results").iterdir())) == 4


@pytest.mark.slow
def test_options_take_precedence_over_the_sketch(place, capsys):
    wanted = ["--target", "modes=0.5,policies=0.9", "--ask", "modes,policies", "--power", "0.5", "--quiet"]
    code, printed = swirl(capsys, *ASK, "--dwell", "12,20", "--missing-actions", "1", "--animals", "1,2", *wanted)
    assert (code, printed.out) == (0, ""), printed.err
    facts = json.loads((place / "power.json").read_text())
    assert facts["sketch"]["dwell"] == [12, 20]
    assert (facts["missing_actions"], facts["power"]) == (1.0, 0.5)
    assert facts["target"]["modes"] == 0.5
    assert [(row["n_animals"], row["n_sessions"]) for row in facts["designs"]] == [(1, 2), (1, 4), (2, 2), (2, 4)]


@pytest.mark.slow
def test_from_a_fit_sizes_are_about_its_own(place, capsys):
    world = datasets.gridworld(n_sessions=8, n_steps=40)
    write_environment(world.env, place / "grid.csv")
    from swirl.io.export_tables import to_frame, write_table

    write_table(to_frame(world.trajectories), place / "sessions.csv")
    how = ["--env", "grid.csv", "--history", "1", "--reward", "state-action", "--restarts", "1", "--max-iter", "20"]
    assert swirl(capsys, "fit", "sessions.csv", *how, "-o", "fit.nc")[0] == 0
    code, printed = swirl(capsys, "power", "fit.nc", "--simulations", "1", "--scheduler", "here")
    assert code == 0, printed.err
    facts = json.loads((place / "power.json").read_text())
    assert [(row["n_sessions"], row["n_steps"]) for row in facts["designs"]] == [(2, 40), (4, 40), (8, 40), (16, 40)]
    assert facts["missing_actions"] == 0.0
    assert "fit.nc: S-1" in facts["source"]
    code, printed = swirl(capsys, "power", "fit.nc", "--goals", "0,4", "-o", "c.json")
    assert code == 2
    assert "goals: given for a sketch, but fit.nc is a fit" in printed.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([*WRONG[:3]], "goals: give the places that modes walk to"),
        (["power", "--goals", "0,1"], "env, arena: give one of them"),
        ([*WRONG, "--env", "grid.csv"], "env, arena: give one of them"),
        ([*WRONG[:2], "3by3", *WRONG[3:]], "arena='3by3': expected rows x columns"),
        ([*WRONG[:4], "r0c0,r9c9"], "no state 'r9c9'"),
        (
            [*WRONG[:4], "A1,C3"],
            "Its cells are called r0c0 to r2c2 (row, column); --labels says otherwise, as in --labels A1",
        ),
        ([*WRONG, "--labels", "A1"], "Its cells are called A1 to C3; --labels says otherwise, as in --labels r0c0"),
        (
            ["power", "--env", "grid.csv", "--goals", "0,1", "--labels", "A1"],
            "labels='A1': cells are named with an arena",
        ),
        ([*WRONG, "--dwell", "long"], "--dwell long: expected a number"),
        ([*WRONG, "--dwell", "2"], "dwell=2: the way to the goal of mode 0 takes"),
        ([*WRONG, "--ends", "never"], "ends: got 'never'"),
        ([*WRONG, "--sessions", "2;4"], "--sessions 2;4: expected whole numbers"),
        ([*WRONG, "--sessions", "0"], "n_sessions=0: expected a whole number, at least 1"),
        ([*WRONG, "--target", "modes=high"], "--target modes=high: expected NAME=NUMBER"),
        ([*WRONG, "--target", "mods=1"], "--target mods=1: expected NAME=NUMBER"),
        ([*WRONG, "--ask", "mode", "--temperature", "0.4"], "expected some of modes, goals, policies, switching"),
        ([*WRONG, "--power", "80", "--temperature", "0.4"], "power=80.0: expected a number from 0 to 1"),
        ([*WRONG, "--figure", "power.txt"], "--figure power.txt: expected a file that ends in .png"),
        (["power", "nothing.nc"], "nothing.nc does not exist"),
    ],
)
def test_wrong_words_are_told(place, capsys, words, told):
    code, printed = swirl(capsys, *words, "--scheduler", "here")
    assert code == 2
    assert told in printed.err
    assert not (place / "power.json").exists()


def test_cells_of_an_arena_are_called_as_one_likes():
    sketch = sketch_of(None, {"arena": "3x4", "labels": "A1", "goals": "food=A1,nest=C4"})
    truth, _, goals = truth_of(sketch)
    assert goals == [[0], [11]]
    assert truth.env.state_names == grid(3, 4).state_names


def test_a_wrong_sketch_is_told_all_at_once(place, capsys):
    (place / "bad.toml").write_text('arena = "3x3"\ngoal = "r0c0"\ndwell = "long"\n[model]\nmods = 2\n')
    code, printed = swirl(capsys, "power", "bad.toml")
    assert code == 2
    for told in ("bad.toml cannot be used", "goal: no such field; did you mean 'goals'?", "did you mean 'modes'?"):
        assert told in printed.err


def test_nothing_is_replaced_unasked(place, capsys):
    (place / "power.json").write_text("mine")
    assert "exists already" in swirl(capsys, *ASK)[1].err
    assert (place / "power.json").read_text() == "mine"
    (place / "power.png").write_text("mine")
    assert "exists already" in swirl(capsys, *ASK, "-o", "b.json", "--figure", "power.png")[1].err


def test_a_sketch_cannot_have_other_modes_than_its_goals(place, capsys):
    (place / "more.toml").write_text(SKETCH.replace("[model]", "[model]\nmodes = 3"))
    assert "model.modes=3: the sketch has 2 modes" in swirl(capsys, "power", "more.toml")[1].err


def test_given_parameters_cannot_be_guessed(place, capsys):
    """A model that was made from parameters says nothing of sessions: the sizes are the usual ones."""
    from swirl.workflows.power import ask

    datasets.sketched(datasets.gridworld_env(), [4, 20]).save(place / "given.nc")
    question = ask(place / "given.nc", {}, n_sessions=[3])
    assert [str(design) for design in question.designs] == ["3 sessions of 200 steps"]
    assert isinstance(question.model, SWIRL)
    assert question.model.switching == "state"
