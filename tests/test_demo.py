"""The demonstration end to end, on a quarter of its data: real simulation, fits, figures, report and file."""

import json

import numpy as np
import pytest

import swirl
from swirl.demo import run_demo


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "results"
    with pytest.MonkeyPatch.context() as patch:  # I-1 and I-2 only cost compiling here: tests/test_studies.py has them
        patch.setattr("swirl.demo.run.MODELS", ("MaxEnt", "S-1", "S-2"))
        return folder, run_demo(folder, seed=0, n_restarts=2, quick=True)


def test_the_models_come_in_the_papers_order_and_s2_is_near_the_truth(demo):
    rows = {row["model"]: row for row in demo[1]}
    score = {name: row["test_log_likelihood"] for name, row in rows.items()}
    assert score["S-2"] > score["S-1"] > score["MaxEnt"]
    assert score["S-2"] == pytest.approx(score["truth"], abs=0.005)
    assert rows["S-2"]["accuracy"] == pytest.approx(rows["truth"]["accuracy"], abs=0.02)
    assert rows["S-2"]["reward_canonical"] > 0.95
    assert rows["truth"]["reward_canonical"] == pytest.approx(1.0)


def test_figures_report_and_model_are_written(demo):
    folder, _ = demo
    for figure in ("rewards", "segments", "scores", "switching"):
        assert (folder / f"{figure}.png").stat().st_size > 5_000
        assert (folder / f"{figure}.pdf").stat().st_size > 5_000
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 4
    assert "http://" not in page
    assert "https://" not in page
    model = swirl.load(folder / "S-2.nc")
    assert model.rewards_.shape == (2, 130)
    assert np.isfinite(model.rewards_).all()


def test_a_folder_with_files_in_it_is_not_touched_unless_forced(demo):
    folder, _ = demo
    with pytest.raises(FileExistsError, match="--force"):
        run_demo(folder, quick=True)


def test_json_output_is_json(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("swirl.demo.run.MODELS", ("S-2",))
    run_demo(tmp_path / "x", n_restarts=2, quick=True, as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed["n_scored_steps"] == 5_000
    assert [row["model"] for row in printed["models"]] == ["truth", "S-2"]
