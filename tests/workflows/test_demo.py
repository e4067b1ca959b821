"""The demonstration end to end, on a quarter of its data: real simulation, fits, figures, pages and files."""

import base64
import contextlib
import io
import json
import re
import shlex
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import swirl
from swirl.cli.app import app
from swirl.workflows.compare import run_comparison
from swirl.workflows.demo import run, run_demo
from swirl.workflows.load import sessions_of


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder, fitted, printed = tmp_path_factory.mktemp("demo") / "results", [], io.StringIO()

    def remembered(*arguments, **options):
        fitted.append(run_comparison(*arguments, **options))
        return fitted[0]

    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        # The models between these two only cost compiling here: tests/test_studies.py has the order of all.
        patch.setattr(run, "MODELS", {name: run.MODELS[name] for name in ("MaxEnt", "S-2")})
        patch.setattr(run, "N_DRAWS", 0)
        patch.setattr(run, "run_comparison", remembered)
        rows = run_demo(folder, seed=0, n_restarts=2, quick=True)
    return SimpleNamespace(folder=folder, rows=rows, fitted=fitted[0], printed=printed.getvalue())


@pytest.fixture
def again(demo, monkeypatch):
    """What costs time is done: the fits are those of the fixture, and nothing is drawn."""
    monkeypatch.setattr(run, "MODELS", {name: run.MODELS[name] for name in ("MaxEnt", "S-2")})
    monkeypatch.setattr(run, "run_comparison", lambda *_, **__: demo.fitted)
    monkeypatch.setattr(run, "write_figures", lambda *_: {})
    monkeypatch.setattr(run, "_can_report", lambda: False)


@pytest.mark.slow
def test_s2_is_near_the_truth_and_one_goal_does_not_explain_it(demo):
    rows = {row["model"]: row for row in demo.rows}
    score = {name: row["test_log_likelihood"] for name, row in rows.items()}
    assert score["S-2"] > score["MaxEnt"] + 0.05
    assert score["S-2"] == pytest.approx(score["truth"], abs=0.005)
    assert rows["S-2"]["accuracy"] == pytest.approx(rows["truth"]["accuracy"], abs=0.02)
    assert rows["S-2"]["reward_canonical"] > 0.95
    assert rows["truth"]["reward_canonical"] == pytest.approx(1.0)
    assert demo.fitted[0].scores["S-2"] == pytest.approx(score["S-2"], abs=1e-9)


@pytest.mark.slow
def test_figures_and_pages_are_written(demo):
    for figure in ("rewards", "segments", "scores", "switching"):
        assert (demo.folder / "figures" / f"{figure}.png").stat().st_size > 5_000
    report = (demo.folder / "report.html").read_text(encoding="utf-8")
    assert "swirl<span> report" in report
    assert demo.fitted[0].verdict() in report
    page = (demo.folder / "truth.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 8  # each wide and narrow
    assert page.count("<h2") == 8
    assert 'href="report.html"' in page
    assert all(word in page for word in ("MaxEnt", "one goal throughout"[1:], "name", "plot", "--goals"))
    assert "http://" not in page
    assert "https://" not in page


@pytest.mark.slow
def test_figures_are_for_print_and_the_page_stays_light(demo):
    for figure in ("rewards", "segments", "scores", "switching"):
        with Image.open(demo.folder / "figures" / f"{figure}.png") as picture:
            assert picture.info["dpi"] == pytest.approx((300, 300), abs=0.01)
            width = 25.4 / 300 * picture.size[0]
        assert any(abs(width - column) < 0.5 for column in (120, 180)), (figure, width)
    page = (demo.folder / "truth.html").read_text(encoding="utf-8")
    narrow = re.findall(r'srcset="data:image/png;base64,([^"]+)"', page)
    for drawn in narrow:
        with Image.open(io.BytesIO(base64.b64decode(drawn))) as picture:
            assert 25.4 / 300 * picture.size[0] == pytest.approx(89, abs=5)  # what does not fit widens it a little
    assert len(narrow) == 4
    assert len(page) < 2_500_000


@pytest.mark.slow
def test_the_saved_fit_finds_its_sessions_and_tells_which_were_held_out(demo):
    model = swirl.load(demo.folder / "S-2.nc")
    sessions = sessions_of(model)
    train, test = swirl.datasets.gridworld(n_sessions=50).trajectories.split(every=5)
    assert [part.fingerprint() for part in sessions.split(every=5)] == [train.fingerprint(), test.fingerprint()]
    assert model.data_fingerprint_ == train.fingerprint()
    assert sessions.state_names == model.env.state_names
    assert model.run_["config"]["hold_out"] == 5
    assert model.score(test) == demo.rows[-1]["test_log_likelihood"]


@pytest.mark.slow
def test_what_to_try_next_works_as_it_stands(demo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["swirl"])
    commands = list(run._commands(demo.folder, demo.folder / "S-2.nc", ["water", "home"]).values())
    assert demo.printed.splitlines()[-1].split("plot")[1] == commands[1].split("plot")[1]
    page = (demo.folder / "truth.html").read_text(encoding="utf-8")
    names = page.partition("S-2.nc</span> <span>")[2].partition("</pre>")[0].replace("</span>", "").split(" <span>")
    fit, compared = str(demo.folder / "S-2.nc"), str(demo.folder / "comparison.json")
    for arguments in (["name", fit, *names], ["report", fit, "--comparison", compared, "--draws", "0"]):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
    quick = ["--restarts", "1", "--max-iter", "2", "--no-verdict", "-o", "goals.nc"]
    result = CliRunner().invoke(app, [*shlex.split(commands[2])[1:-2], *quick])
    assert result.exit_code == 0, result.output
    assert sorted(swirl.load("goals.nc").mode_names_) == ["explore", "to home", "to water"]
    named = swirl.load(fit)
    _, test = swirl.datasets.gridworld(n_sessions=50).trajectories.split(every=5)
    truth = np.array(["water", "home"])[np.concatenate(test.modes)]
    found = np.array(named.mode_names_)[np.concatenate(named.predict(test))]
    assert np.mean(truth == found) > 0.85


@pytest.mark.slow
def test_without_the_reports_libraries_it_says_how_to_get_it(again, tmp_path, capsys):
    run_demo(tmp_path, quick=True)
    printed = capsys.readouterr().out
    assert "pip install 'swirl-irl[report]'" in printed
    assert "report.html  " not in printed
    assert not (tmp_path / "report.html").exists()
    assert "report.html" not in (tmp_path / "truth.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_json_output_is_json(again, tmp_path, capsys):
    run_demo(tmp_path / "x", quick=True, as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed["n_scored_steps"] == 5_000
    assert [row["model"] for row in printed["models"]] == ["truth", "MaxEnt", "S-2"]


@pytest.mark.slow
def test_a_folder_with_files_in_it_is_not_touched_unless_forced(demo):
    with pytest.raises(FileExistsError, match="--force"):
        run_demo(demo.folder, quick=True)


@pytest.mark.parametrize(
    ("called", "expected"),
    [("swirl", ["swirl"]), (".venv/bin/swirl", [".venv/bin/swirl"]), ("/x/notebook.py", ["swirl"])],
)
def test_commands_are_given_as_this_program_was_called(called, expected, monkeypatch):
    monkeypatch.setattr(sys, "argv", [called])
    monkeypatch.setattr(run.shutil, "which", lambda name: name if called == name else None)
    assert run._program() == expected
