"""`swirl reproduce labyrinth`, end to end on a few sessions of the real recordings."""

import ast
import csv
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from print_size import check_for_print, faults_of_texts
from swirl.data.trajectories import Trajectories
from swirl.datasets.labyrinth import labyrinth_env
from swirl.estimators.registry import make
from swirl.priors import in_units
from swirl.reproduce.cache import Ledger
from swirl.reproduce.labyrinth import experiment as labyrinth
from swirl.reproduce.labyrinth import figures, fits
from swirl.reproduce.page import write
from swirl.reproduce.scale import TINY
from swirl.workflows.html import Drawing, Numbers

ROOT = Path(__file__).parents[2]
CHOICE = ROOT / "studies" / "results" / "labyrinth_choice.csv"


@pytest.fixture(scope="module")
def recordings():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SWIRL_DATA_DIR", os.environ.get("SWIRL_DATA_DIR") or str(ROOT.parent / "shared" / "data"))
        if not (Path(os.environ["SWIRL_DATA_DIR"]) / "labyrinth" / "emissions500new.npy").exists():
            pytest.skip("the labyrinth recordings are not here: set SWIRL_DATA_DIR, or put them into ../shared/data")
        yield


@pytest.fixture(scope="module")
def made(recordings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("labyrinth")
    experiment = labyrinth.run(TINY, Ledger(folder / "fits"))
    write(experiment, folder / "labyrinth", formats=("png",))
    return folder, experiment


@pytest.mark.slow
def test_every_part_of_the_issue_has_a_place(made):
    _, experiment = made
    titles = [section.title for section in experiment.sections]
    assert titles[0] == "Ours beside the published"
    for wanted in (
        "How many modes",
        "How much history",
        "Reward maps",
        "Segments",
        "Temperature",
        "A second split",
        "The clean reading",
    ):
        assert wanted in titles
    figures = [block.name for block in experiment.blocks if isinstance(block, Drawing)]
    assert len(figures) == len(set(figures)) >= 14


@pytest.mark.slow
def test_the_folder_is_complete(made):
    folder, experiment = made
    for block in experiment.blocks:
        if isinstance(block, Drawing):
            assert (folder / "labyrinth" / "figures" / f"{block.name}.png").stat().st_size > 2_000
        if isinstance(block, Drawing | Numbers):
            assert len((folder / "labyrinth" / "tables" / f"{block.name}.csv").read_text().splitlines()) > 1
    results = json.loads((folder / "labyrinth" / "results.json").read_text())
    assert results["about"]["scored steps"] == 4 * 500
    page = (folder / "labyrinth" / "index.html").read_text()
    assert not re.search(r'(src|href)="http', page)


@pytest.mark.slow
def test_figures_are_for_print(made):
    folder, experiment = made
    for block in experiment.blocks:
        if isinstance(block, Drawing):
            check_for_print(block.figure, folder)
            assert faults_of_texts(block.figure) == [], block.name


class SmallMaze:
    """What the figures ask of a `Labyrinth`, of a walk at random."""

    env = labyrinth_env()

    def __init__(self, model, names, shares):
        self.names = names
        self.evidence = [{"name": name, "share_of_steps": share} for name, share in zip(names, shares, strict=True)]

    def mode_names(self, model):
        return self.names, self.evidence


def test_two_bands_of_maps_are_apart_and_shares_are_of_decoded_steps():
    tables, rng, path, actions = np.asarray(SmallMaze.env.successors.next)[..., 0], np.random.default_rng(0), [0], []
    for _ in range(40):
        actions.append(int(rng.choice(np.flatnonzero(SmallMaze.env.available[path[-1]]))))
        path.append(int(tables[path[-1], actions[-1]]))
    walk = Trajectories([path[:-1]], [actions])
    model = make("S-1", SmallMaze.env, n_modes=4, max_iter=1, n_restarts=1).fit(walk)
    names, shares = ("home", "water", "explore", "explore 2"), (0.1, 0.2, 0.3, 0.4)
    figure, _ = figures.maps(SmallMaze(model, names, shares), model)
    maps = [ax for ax in figure.axes if not hasattr(ax, "_colorbar")]
    titles = [title for ax in maps if (title := ax.get_title(loc="left").replace("\xa0", " "))]
    assert titles == [
        "water (20 % of steps)", "home (10 % of steps)", "explore (30 % of steps)", "explore 2 (40 % of steps)"
    ]  # fmt: skip
    assert faults_of_texts(figure) == []
    lines = sorted({round(ax.get_window_extent().y0): ax.get_window_extent() for ax in maps}.items(), reverse=True)
    first, second, third = (box for _, box in lines[:3])
    title = maps[4]._left_title.get_window_extent()
    assert second.y0 - third.y1 > 1.5 * title.height + first.y0 - second.y1


@pytest.mark.slow
def test_scores_are_finite_and_modes_have_their_names(made):
    _, experiment = made
    tables = {block.name: block.rows for block in experiment.blocks if isinstance(block, Numbers)}
    assert all(np.isfinite(row["ours"]) for row in tables["aims"])
    assert {row["mode"] for row in tables["segment_numbers"]} <= {"water", "home", "explore", "explore 2", "explore 3"}
    beyond = {row["model"]: row for row in tables["beyond"]}
    assert len(beyond) == 4
    assert all(row["low"] <= row["gain"] <= row["high"] for row in tables["beyond"] if row["gain"] is not None)


@pytest.mark.slow
def test_a_second_run_computes_nothing(made):
    folder, experiment = made
    said = []
    again = labyrinth.run(TINY, Ledger(folder / "fits", said.append))
    assert said
    assert all("found" in line for line in said)
    assert again.first == experiment.first


@pytest.mark.slow
def test_the_temperature_is_not_identified(made):
    _, experiment = made
    rows = next(block.rows for block in experiment.blocks if block.__dict__.get("name") == "temperature")
    same = [row["prior in units of the temperature"] for row in rows]
    assert np.ptp(same) < 1e-6


def test_rescaled_priors_keep_their_meaning():
    gaussian = in_units(fits.REWARD_PRIORS[1], 0.5)
    assert gaussian.strength == pytest.approx(4 * fits.REWARD_PRIORS[1].strength)
    assert in_units(fits.REWARD_PRIORS[0], 0.5).width == pytest.approx(0.025)


def test_the_settings_beyond_the_paper_are_those_the_folds_chose():
    with CHOICE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    means = {}
    for row in rows:
        name = tuple(row[key] for key in ("n_modes", "history", "goal_history", "habit", "goal", "switching_strength"))
        means.setdefault((name, row["switching"]), []).append(float(row["score"]))
    assert all(len(scores) == 3 for scores in means.values())

    def winner(modes):
        candidates = {key: np.mean(scores) for key, scores in means.items() if (int(key[0][0]) == 1) == (modes == 1)}
        return max(candidates, key=lambda key: candidates[key])

    (name, switching), settings = winner(3), fits.BEYOND
    habit, goal = settings["reward_prior"].habit, settings["reward_prior"].goal
    assert switching == "state"
    assert [ast.literal_eval(text) for text in name] == [
        settings["n_modes"],
        settings["history"],
        settings["reward"].goal_history,
        (habit.strength, habit.backoff),
        (goal.strength, goal.backoff),
        settings["switching_prior"].strength,
    ]
    (name, _), settings = winner(1), fits.ONE_MODE
    habit = settings["reward_prior"].habit
    assert [ast.literal_eval(name[1]), ast.literal_eval(name[3])] == [8, (habit.strength, habit.backoff)]
    assert settings["history"] == 8


@pytest.mark.slow
@pytest.mark.parametrize(("n_modes", "shape"), [(3, (2, 3)), (4, (5, 2)), (5, (5, 3))])
def test_maps_of_more_than_three_modes_stand_in_two_bands_and_each_has_its_own(recordings, tmp_path, n_modes, shape):
    maze = fits.Labyrinth(TINY, Ledger(tmp_path))
    model = make("S-1", maze.env, n_modes=n_modes, n_restarts=1, max_iter=2).fit(maze.train)
    figure, rows = figures.maps(maze, model)
    maps = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    assert maps[0].get_gridspec().get_geometry() == shape  # two bands have a narrow line between them
    names = maze.mode_names(model)[0]
    titles = [ax.get_title(loc="left") or ax.get_title() for ax in maps]
    assert sorted(t.split(" (")[0] for t in titles if t) == sorted(names)
    assert sum(ax.axison or bool(ax.collections) for ax in maps) == 2 * n_modes
    assert {row["mode"] for row in rows} == set(names)
    assert figure.get_size_inches()[1] <= 11
