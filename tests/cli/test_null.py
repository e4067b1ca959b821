"""`swirl null`: the answer first, a file that another program reads, and wrong words told before any work."""

import json

import pytest

from swirl import datasets
from swirl.cli import main
from swirl.io.environment_files import write_environment
from swirl.io.export_tables import to_frame, write_table

ASK = ["null", "sessions.csv", "--env", "grid.csv", "--history", "1", "--reward", "state-action", "--restarts", "1"]
ASK += ["--max-iter", "40", "--scheduler", "here"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    world = datasets.gridworld(n_sessions=6, n_steps=40)
    write_table(to_frame(world.trajectories), tmp_path / "sessions.csv")
    write_environment(world.env, tmp_path / "grid.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def swirl(capsys, *words):
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(list(words))
    return end.value.code or 0, capsys.readouterr()


def test_it_says_the_answer_and_keeps_it(place, capsys):
    code, printed = swirl(capsys, *ASK, "--simulations", "2", "--folder", "kept")
    assert code == 0, printed.err
    assert "Too few simulations to tell" in printed.out
    assert "n_modes=2 gains" in printed.out
    facts = json.loads((place / "null.json").read_text())
    assert facts["kind"] == "swirl null"
    assert facts["config"]["model"]["history"] == 1
    assert len(facts["simulated"]) == 2
    code, again = swirl(capsys, *ASK, "--simulations", "2", "--folder", "kept", "--json", "-o", "b.json")
    assert code == 0
    assert json.loads(again.out)["simulated"] == facts["simulated"]
    assert len(list((place / "kept" / "results").iterdir())) == 3


def test_another_question(place, capsys):
    code, printed = swirl(capsys, *ASK, "--simulations", "1", "--question", "switching", "--quiet")
    assert (code, printed.out) == (0, "")
    facts = json.loads((place / "null.json").read_text())
    assert facts["simple"] == {"switching": "independent"}
    assert facts["within"] is None


def test_wrong_words_are_told(place, capsys):
    assert "expected one of modes, switching, history" in swirl(capsys, *ASK, "--question", "mode")[1].err
    code, printed = swirl(capsys, *ASK, "--modes", "1")
    assert code == 2
    assert "expected two or more" in printed.err
    (place / "null.json").write_text("mine")
    assert "exists already" in swirl(capsys, *ASK)[1].err
    assert (place / "null.json").read_text() == "mine"
