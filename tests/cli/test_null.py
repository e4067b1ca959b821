"""`swirl null`: the answer first, a file that another program reads, and wrong words told before any work."""

import json

import pytest

from command_line import swirl, write_recording

ASK = ["null", "sessions.csv", "--env", "grid.csv", "--history", "1", "--reward", "state-action", "--restarts", "1"]
ASK += ["--max-iter", "40", "--scheduler", "here"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_recording(tmp_path)


def test_it_says_the_answer_and_keeps_it(place, capsys):
    code, printed = swirl(capsys, *ASK, "--simulations", "2", "--folder", "kept")
    assert code == 0, printed.err
    assert "Too few simulations to decide" in printed.out
    assert "n_modes=2 gains" in printed.out
    facts = json.loads((place / "null.json").read_text())
    assert facts["kind"] == "swirl null"
    assert facts["config"]["model"]["history"] == 1
    assert len(facts["simulated"]) == 2
    code, again = swirl(capsys, *ASK, "--simulations", "2", "--folder", "kept", "--json", "-o", "b.json")
    assert code == 0
    assert json.loads(again.out)["simulated"] == facts["simulated"]
    assert len(list((place / "kept" / "results").iterdir())) == 3


@pytest.mark.slow
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
