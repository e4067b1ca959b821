"""`swirl reproduce`: says where the pages are, goes on where it was, and writes over nothing of others."""

import json
import sys
from types import ModuleType

import pytest
from typer.testing import CliRunner

from swirl.cli.app import app
from swirl.cli.reproduce import Name
from swirl.reproduce import run as reproduction
from swirl.reproduce.page import Experiment
from swirl.reproduce.scale import FULL, QUICK, SCALES, TINY
from swirl.workflows.html import Numbers, Section

runner = CliRunner()


@pytest.fixture
def toys(monkeypatch):
    """Two experiments of our own in place of the paper's; each counts what it computes and can be told to fail."""
    calls = {"scales": [], "computed": [], "fault": None}

    def toy(name):
        module = ModuleType(f"toy_{name}")

        def run(scale, ledger):
            calls["scales"].append((name, scale.name))

            def compute():
                calls["computed"].append(name)
                return [{"runs": scale.n_runs}]

            rows = ledger.rows("runs", {"scale": scale.name}, compute)
            if calls["fault"] is not None:
                raise calls["fault"]
            section = Section("Runs", [Numbers("runs", "Runs.", rows)])
            return Experiment(name, f"The {name}", f"All is well with the {name}.", [section], {"steps": 12})

        module.run = run
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return module.__name__

    monkeypatch.setattr(reproduction, "EXPERIMENTS", {name: toy(name) for name in ("gridworld", "labyrinth")})
    return calls


def run(*arguments):
    return runner.invoke(app, ["reproduce", *arguments], env={"SWIRL_DEBUG": None, "TERM": "dumb", "COLUMNS": "100"})


def test_help():
    result = run("--help")
    assert result.exit_code == 0
    for word in ("gridworld", "labyrinth", "spontaneous", "all", "--output", "--quick", "--force", "--json", "DIR"):
        assert word in result.stdout


def test_every_experiment_has_a_name_on_the_command_line():
    assert {name.value for name in Name} == {*reproduction.EXPERIMENTS, "all"}


def test_unknown_experiments_are_answered_with_those_there_are(toys, tmp_path):
    result = run("maze", "-o", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert "labyrinth" in result.stderr
    assert run().exit_code == 2
    with pytest.raises(ValueError, match="experiments: got maze, zoo, expected some of gridworld, labyrinth"):
        reproduction.reproduce(["maze", "gridworld", "zoo"], tmp_path / "out")
    with pytest.raises(ValueError, match="scale='huge': expected one of full, quick, tiny"):
        reproduction.reproduce(["gridworld"], tmp_path / "out", scale="huge")
    assert toys["scales"] == []
    assert not (tmp_path / "out").exists()


def test_one_experiment(toys, tmp_path):
    result = run("labyrinth", "--output", str(tmp_path / "out"))
    assert result.exit_code == 0
    assert toys["scales"] == [("labyrinth", "full")]
    page = tmp_path / "out" / "labyrinth" / "index.html"
    assert result.stdout.splitlines()[0] == "labyrinth (full)"
    assert result.stdout.splitlines()[-2:] == ["  All is well with the labyrinth.", f"  {page}"]
    about = json.loads((page.parent / "results.json").read_text())["about"]
    assert about["command"] == "swirl reproduce labyrinth"
    assert about["steps"] == 12
    assert "jax" in about["versions"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "fits",
        "index.html",
        "labyrinth",
        reproduction.MARKER,
    ]


def test_all_as_json_and_quick(toys, tmp_path):
    result = run("all", "-o", str(tmp_path / "out"), "--json", "--quick")
    assert result.exit_code == 0
    pages = {name: str(tmp_path / "out" / name / "index.html") for name in ("gridworld", "labyrinth")}
    assert json.loads(result.stdout) == pages  # and not a word besides
    assert toys["scales"] == [("gridworld", "quick"), ("labyrinth", "quick")]
    results = json.loads((tmp_path / "out" / "gridworld" / "results.json").read_text())
    assert results["about"]["command"] == "swirl reproduce gridworld --quick"
    assert results["tables"]["runs"] == [{"runs": QUICK.n_runs}]


def test_a_run_that_stopped_goes_on(toys, tmp_path):
    toys["fault"] = ValueError("the maze fell down")
    stopped = run("labyrinth", "-o", str(tmp_path / "out"))
    assert stopped.exit_code == 2
    assert "Error: the maze fell down" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    toys["fault"] = None
    assert run("labyrinth", "-o", str(tmp_path / "out")).exit_code == 0
    assert toys["computed"] == ["labyrinth"]  # once
    assert run("labyrinth", "-o", str(tmp_path / "out"), "--quick").exit_code == 0
    assert toys["computed"] == ["labyrinth", "labyrinth"]  # another size is another result


def test_a_folder_of_others_is_left_alone(toys, tmp_path):
    own = tmp_path / "thesis" / "chapter.tex"
    own.parent.mkdir()
    own.write_text("years of work")
    refused = run("gridworld", "-o", str(own.parent))
    assert refused.exit_code == 2
    assert "is not empty" in refused.stderr
    assert "--force" in refused.stderr
    assert toys["scales"] == []
    assert [path.name for path in own.parent.iterdir()] == ["chapter.tex"]
    assert run("gridworld", "-o", str(own.parent), "--force").exit_code == 0
    assert own.read_text() == "years of work"
    assert (own.parent / "gridworld" / "index.html").exists()


def test_a_file_is_no_folder(toys, tmp_path):
    own = tmp_path / "notes.txt"
    own.write_text("mine")
    for force in ([], ["--force"]):
        refused = run("gridworld", "-o", str(own), *force)
        assert refused.exit_code == 2
        assert "is a file; choose another --output" in refused.stderr
    assert own.read_text() == "mine"


def test_an_empty_folder_will_do(toys, tmp_path):
    (tmp_path / "out").mkdir()
    assert run("gridworld", "-o", str(tmp_path / "out")).exit_code == 0


def test_sizes():
    assert {name: scale.full for name, scale in SCALES.items()} == {"full": True, "quick": False, "tiny": False}
    for field in ("n_runs", "max_iter", "share", "n_draws"):
        assert getattr(FULL, field) >= getattr(QUICK, field) >= getattr(TINY, field) > 0
