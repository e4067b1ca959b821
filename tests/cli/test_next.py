"""What commands print after "Next:" runs as printed, whatever is there already, and fits all sessions."""

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import swirl
from swirl import datasets
from swirl.cli.app import app
from swirl.io.environment_files import write_environment
from swirl.io.export_tables import to_frame, write_table

QUICK = "--restarts 1 --max-iter 3"
GRID = "[grid]\nmodes = [1, 2]\nhistory = [1]\nfolds = 2\nrepeats = 1\n"
WHOLE = 'data = "steps.csv"\nenv = "grid.csv"\nhold_out = 4\n[fit]\nrestarts = 1\nmax_iter = 3\n'
COMMANDS = {
    "import": "import table steps.csv --state state -o sessions.csv",
    "check": "check steps.csv --env grid.csv",
    "env": "env grid 5x5 -o arena.csv",
    "fit": f"fit steps.csv --env grid.csv --history 1 {QUICK} --no-verdict -o own.nc",
    "compare": f"compare steps.csv --env grid.csv --models Markov-1,ARHMM --modes 2 {QUICK}",
    "compare, fits kept": f"compare steps.csv --env grid.csv --models Markov-1,ARHMM --modes 2 {QUICK} --fits fits",
    "compare, columns": f"compare other.csv --env grid.csv --columns state=zone --models S-1 --modes 2 {QUICK}",
    "compare, goals": f"compare steps.csv --env grid.csv --models Markov-1,Goals --goals a=0,b=20 {QUICK}",
    "compare, a file": "compare --config run.toml --models Markov-1,ARHMM --modes 2",
    "grid": f"compare steps.csv --env grid.csv --grid grid.toml --scheduler here {QUICK} --fits fits",
    "grid, a file": "compare --grid whole.toml --scheduler here",
    "goals": "goals steps.csv --env grid.csv --among 0,20",
    "null": f"null steps.csv --env grid.csv --model S-1 --simulations 1 {QUICK}",
}  # fmt: skip
NOTHING = {"check", "env", "null"}  # commands that print no Next, or none on such data


def run(words):
    return CliRunner().invoke(app, words, env={"SWIRL_DEBUG": None, "COLUMNS": "120"})


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder as a user has it on the second day: the usual names of outputs are taken."""
    data = datasets.gridworld(n_sessions=8, n_steps=40, random_state=1)
    table = to_frame(data.trajectories)
    write_table(table, tmp_path / "steps.csv")
    write_table(table.rename(columns={"state": "zone"}), tmp_path / "other.csv")
    write_environment(data.env, tmp_path / "grid.csv")
    (tmp_path / "grid.toml").write_text(GRID)
    (tmp_path / "run.toml").write_text(WHOLE)
    (tmp_path / "whole.toml").write_text(WHOLE + GRID)
    for name in ("fit.nc", "fit-2.nc", "report.html"):
        (tmp_path / name).write_text("mine")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_printed_after_next_runs_and_is_about_all_sessions(place, name):
    done = run(shlex.split(COMMANDS[name]))
    assert done.exit_code in ((0, 1) if name == "null" else (0,)), done.output
    told = [line.removeprefix("Next: ") for line in done.stdout.splitlines() if line.startswith("Next: ")]
    assert len(told) == (name not in NOTHING)
    for command in [own for line in told for own in line.split(" && ")]:
        words = shlex.split(command)
        assert words[0] == "swirl"
        if words[1] == "report":
            words += ["--draws", "0"]
        followed = run(words[1:])
        assert followed.exit_code == 0, f"{command}\n{followed.output}"
        if words[1] == "fit":
            model = swirl.load(words[words.index("-o") + 1])
            assert len(model.training_sessions_) == 8
    assert {(place / own).read_text() for own in ("fit.nc", "fit-2.nc", "report.html")} == {"mine"}


def test_no_command_prints_next_but_as_here():
    source = Path(swirl.__file__).parent
    said = [path.name for path in source.rglob("*.py") if "Next:" in path.read_text(encoding="utf-8")]
    assert said == ["output.py"]
