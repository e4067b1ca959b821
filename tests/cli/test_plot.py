"""`swirl plot`: the figures of a fit into a folder, with their numbers."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import swirl
from small_worlds import recording, truth
from swirl.cli import app as commands
from swirl.estimators import fit_warnings
from swirl.estimators.fit_warnings import UNSETTLED, Verdict
from swirl.io.export_tables import to_frame, write_table
from swirl.plots.fit import catalogue
from swirl.workflows.load import sessions_of

runner = CliRunner()
FEW = "usage,raster,signal_by_mode"


@pytest.fixture(autouse=True)
def known_command(monkeypatch):
    monkeypatch.setitem(commands.COMMANDS, "plot", "swirl.cli.plot")


def run(*arguments):
    given = ["plot", *(str(argument) for argument in arguments)]
    return runner.invoke(commands.app, given, env={"SWIRL_DEBUG": None, "COLUMNS": "120"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A user's folder: sessions with a signal, and a model of given parameters that knows where they are."""
    place = tmp_path_factory.mktemp("mein Ordner é")
    steps = to_frame(recording(n_sessions=4, n_steps=30))
    steps["dopamine"] = np.sin(np.arange(len(steps)))
    write_table(steps, place / "sessions.csv")
    model = truth()
    model.run_ = {"config": {}, "data": str(place / "sessions.csv")}
    model.save(place / "fit.nc")
    del model.run_  # the model is shared with other tests
    return place


@pytest.mark.slow
def test_figures_and_their_numbers(folder, tmp_path):
    out = tmp_path / "figures"
    given = [folder / "fit.nc", "-o", out, "--signal", "Dopamine", "--only", FEW, "--format", "png,svg", "--json"]
    done = run(*given, "--modes", "thirsty,tired")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert list(told["files"]) == ["usage", "raster", "signal_by_mode"]
    assert told["left_out"] == {}
    written = sorted(path.name for path in out.iterdir())
    assert written == sorted(f"{name}.{end}" for name in FEW.split(",") for end in ("png", "svg", "csv"))
    assert (out / "usage.png").read_bytes().startswith(b"\x89PNG")
    assert "thirsty" in (out / "raster.svg").read_text()
    usage = pd.read_csv(out / "usage.csv")
    np.testing.assert_allclose(usage.groupby("mode")["share"].sum(), 1.0)
    model = swirl.load(folder / "fit.nc")
    modes = np.concatenate(model.predict(sessions_of(model)))
    assert usage.groupby("mode")["steps"].sum().to_dict() == {
        "thirsty": int((modes == 0).sum()),
        "tired": int((modes == 1).sum()),
    }
    # Again: what is there is not replaced, unless told; and nothing else is touched.
    (out / "usage.csv").write_text("mine")
    done = run(*given)
    assert done.exit_code == 2
    assert "exists already" in done.stderr
    assert (out / "usage.csv").read_text() == "mine"
    (out / "notes.txt").write_text("mine")
    done = run(*given[:-1], "--force", "--quiet")
    assert done.exit_code == 0, done.output
    assert done.output == ""
    assert (out / "usage.csv").read_text().startswith("mode,state,share")
    assert (out / "notes.txt").read_text() == "mine"
    assert len(list(out.iterdir())) == 10


def test_what_does_not_apply_is_told(folder, tmp_path, monkeypatch):
    few = {name: catalogue.FIGURES[name] for name in ("usage", "objective", "signal_by_mode")}
    monkeypatch.setattr(catalogue, "FIGURES", few)
    done = run(folder / "fit.nc", "-o", tmp_path / "figures", "--format", "svg", "--data", folder / "sessions.csv")
    assert done.exit_code == 0, done.output
    assert f"Saved to {tmp_path / 'figures'}: usage" in done.stdout
    assert "the model was not fitted by EM" in done.stdout
    assert "no signal was asked for" in done.stdout


@pytest.mark.parametrize(("level", "told"), [("with care", True), ("don't", True), ("trust", False)])
def test_figures_of_modes_that_are_not_settled_come_with_the_verdict(folder, tmp_path, monkeypatch, level, told):
    monkeypatch.setattr(fit_warnings, "verdict_of", lambda model, agreement: Verdict(level, ("this is why",)))
    monkeypatch.setattr(catalogue, "FIGURES", {"usage": catalogue.FIGURES["usage"]})
    done = run(folder / "fit.nc", "-o", tmp_path / "figures", "--format", "svg", "--data", folder / "sessions.csv")
    assert done.exit_code == 0, done.output
    assert (UNSETTLED in done.stdout) is told
    assert ("this is why" in done.stdout) is told


def test_a_figure_that_fails_leaves_the_folder_as_it_was(folder, tmp_path, monkeypatch):
    def fails(fit):
        raise ZeroDivisionError

    def saved(figure, path, formats):
        raise OSError("disk full")

    out = tmp_path / "figures"
    monkeypatch.setitem(catalogue.FIGURES, "raster", ("", fails))
    assert run(folder / "fit.nc", "-o", out, "--only", "usage,raster").exit_code == 1
    assert not out.exists()
    monkeypatch.setattr(catalogue, "save", saved)
    assert run(folder / "fit.nc", "-o", out, "--only", "usage").exit_code == 2
    assert not out.exists() or not os.listdir(out)


def test_the_list_names_every_figure():
    done = run("--list")
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(catalogue.FIGURES)
    assert json.loads(run("--list", "--json").stdout)["raster"].startswith("Modes of all sessions")


MISTAKES = {
    "no fit": ([], "no fit: give a file that swirl fit saved"),
    "a fit that is not there": (["fit2.nc"], "fit2.nc does not exist"),
    "a fit that is none": (["sessions.csv"], "sessions.csv"),
    "a format that is none": (["fit.nc", "--format", "jpg"], "formats: got jpg, expected some of pdf, png, svg"),
    "a figure that is none": (["fit.nc", "--only", "rewads"], "no figure is called 'rewads'; did you mean 'rewards'?"),
    "a signal that is none": (["fit.nc", "--signal", "serotonin"], "no such signal; the data have 'dopamine'"),
    "a bin of no signal": (["fit.nc", "--signal-bin", "0.5"], "(--signal-bin) go with signal (--signal NAME)"),
    "a bin of no time": (
        ["fit.nc", "--signal", "dopamine", "--signal-bin", "2"],
        "the data have no times, so lags can",
    ),
    "half a window": (["fit.nc", "--signal", "dopamine", "--signal-window", "5"], "expected two numbers, at least 0"),
    "words": (["fit.nc", "--signal", "dopamine", "--signal-window", "a,b"], "--signal-window a,b: expected a number"),
    "too many names": (["fit.nc", "--modes", "a,b,c"], "mode_names: got 3 names for 2 modes"),
    "a file for a folder": (["fit.nc", "-o", "sessions.csv"], "sessions.csv is a file: give a folder"),
    "a folder in none": (["fit.nc", "-o", "a/b"], "the folder 'a' does not exist: make it"),
    "a figure that does not apply": (["fit.nc", "--only", "objective"], "the model was not fitted by EM"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_likely_mistake_is_told_in_words(folder, name, monkeypatch):
    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    arguments, told = MISTAKES[name]
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.output
    assert sorted(path.name for path in folder.iterdir()) == before
