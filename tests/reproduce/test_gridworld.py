"""The gridworld experiment end to end at the smallest scale: its folder, its tables, and that nothing is done twice."""

import json

import numpy as np
import pytest

from print_size import check_for_print, faults_of_texts
from swirl.reproduce.cache import Ledger
from swirl.reproduce.gridworld import experiment as gridworld
from swirl.reproduce.page import write
from swirl.reproduce.scale import TINY
from swirl.text import plain
from swirl.workflows.html import Drawing, Text


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gridworld")
    said = []
    experiment = gridworld.run(TINY, Ledger(folder / "fits", said.append))
    write(experiment, folder / "page", formats=("png",))
    return folder, experiment, said


def tables(folder):
    return json.loads((folder / "page" / "results.json").read_text(encoding="utf-8"))["tables"]


@pytest.mark.slow
def test_the_folder_holds_pages_figures_and_a_table_for_each(made):
    folder, experiment, _ = made
    drawings = [block for block in experiment.blocks if isinstance(block, Drawing)]
    expected = ["rewards", "policies", "switching", "starts", "agreement", "robustness-forget", "robustness-gap"]
    assert [drawing.name for drawing in drawings] == [*expected, "model-free", "predictive-values"]
    for drawing in drawings:
        assert (folder / "page" / "figures" / f"{drawing.name}.png").stat().st_size > 5_000
        lines = (folder / "page" / "tables" / f"{drawing.name}.csv").read_text(encoding="utf-8").splitlines()
        assert len(lines) == len(drawing.rows) + 1
    page = (folder / "page" / "index.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == len(drawings)
    assert experiment.first.count("S-2") == 1 + experiment.first.count("ahead of S-2")


@pytest.mark.slow
def test_figures_are_for_print(made):
    folder, experiment, _ = made
    for block in experiment.blocks:
        if isinstance(block, Drawing):
            check_for_print(block.figure, folder)
            assert faults_of_texts(block.figure) == [], block.name


@pytest.mark.slow
def test_a_second_run_computes_nothing_and_finds_the_same(made):
    folder, experiment, first = made
    assert not any("found" in text for text in first)
    said = []
    again = gridworld.run(TINY, Ledger(folder / "fits", said.append))
    assert len(said) == len(first)
    assert [text for text in said if ": found " not in text] == []
    assert again.first == experiment.first
    ours, theirs = (
        [plain(block.rows) for block in made.blocks if not isinstance(block, Text)] for made in (experiment, again)
    )
    assert json.dumps(ours) == json.dumps(theirs)  # text, as NaN is not itself


@pytest.mark.slow
def test_ours_stand_beside_the_published_and_the_aims(made):
    rows = {row["quantity"]: row for row in tables(made[0])["beside"]}
    assert all(np.isfinite(row["ours"]) for row in rows.values())
    assert rows["S-2 reward r, paper's measure"]["published"] == 0.825
    assert rows["model-free reward r, paper's measure"]["published"] == 0.737
    assert {row["aim"] for row in rows.values()} == {None, "±0.002", "±1", "≥ 0.98", "≥ 0.92", "≥ 0.95"}
    for row in rows.values():
        assert (row["met"] is None) == (row["aim"] is None)
    gap = rows["S-2 test LL − truth's"]
    assert gap["met"] == (abs(gap["ours"]) <= 0.002)


@pytest.mark.slow
def test_models_runs_levels_and_statistics_are_all_there(made):
    found = tables(made[0])
    models = {row["model"]: row for row in found["models"]}
    assert [name for name in models if "counts" not in name] == ["truth", "MaxEnt", "S-2"]
    score = {name: row["test LL"] for name, row in models.items()}
    assert score["S-2"] > score["MaxEnt"]
    assert models["truth"]["reward r, canonical"] == pytest.approx(1.0)
    assert models["S-2"]["policies, KL from the truth's"] < models["MaxEnt"]["policies, KL from the truth's"]
    assert [row["model"] for row in found["restart-agreement"]] == ["S-2"]
    levels = [(row["impossible moves"], row["% permuted"], row["draws"]) for row in found["robustness-medians"]]
    assert levels == [("forget", 0, 2), ("forget", 10, 2), ("gap", 0, 2), ("gap", 10, 2)]
    assert all(np.isfinite(row["accuracy"]) for row in found["robustness-medians"])
    kinds = [(row["read out"], row["λ"]) for row in found["model-free-measures"]]
    assert kinds == [("projected", 0.01), ("marginal", 0.01), ("projected", 0.5), ("marginal", 0.5), ("truth", None)]
    statistics = [row["statistic"] for row in found["predictive-checks"]]
    assert "dwell time (water): median" in statistics
    assert "return interval (home): mean" in statistics
    visits = next(row for row in found["predictive-checks"] if row["statistic"] == "visits per 100 steps (water): mean")
    paths = np.array(gridworld.world(TINY).test.states)
    arrived = (paths == 23) & (np.roll(paths, 1, axis=1) != 23)
    arrived[:, 0] = paths[:, 0] == 23
    assert visits["S-2 data"] == pytest.approx(100 * arrived.mean())


def test_where_another_model_is_ahead_the_first_line_begins_with_it():
    row = {"test_log_likelihood": -1.5, "accuracy": 0.9, "reward_canonical": 0.99, "reward_paper": 0.9}
    best = {"S-1": {**row, "model": "S-1", "test_log_likelihood": -1.4}, "S-2": {**row, "model": "S-2"}}
    counted = {"model": "order-5 counts", "test_log_likelihood": -1.6}
    assert gridworld.first_line(best, row, counted, 100).startswith("S-1 is ahead of S-2: S-2 scores −1.5000")
    best["S-1"]["test_log_likelihood"] = -1.55
    line = gridworld.first_line(best, row, counted, 100)
    assert line.startswith("S-2 scores −1.5000 nats/step on 100 held-out steps (the truth itself −1.5000, S-1 −1.5500")
    assert "order-5 counts −1.6000" in line
