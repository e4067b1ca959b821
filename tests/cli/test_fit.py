"""`swirl fit`, `apply`, `export`: from a table to modes, in a folder of the user's own."""

import contextlib
import json
import re
from datetime import UTC, datetime

import h5py
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import swirl
from swirl import datasets
from swirl.cli.app import app
from swirl.cli.fit import _on_halves
from swirl.io.environment_files import write_environment
from swirl.io.export_tables import to_frame, write_table
from swirl.priors import Bouts

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments], env={"SWIRL_DEBUG": None, "COLUMNS": "120"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A user's folder: sessions with times and a signal, an environment, a configuration, and one fit."""
    place = tmp_path_factory.mktemp("mein Ordner é")
    data = datasets.gridworld(n_sessions=10, n_steps=40, random_state=1)
    steps = to_frame(data.trajectories)
    steps["t"] = steps.groupby("session").cumcount() * 0.5
    steps["dopamine"] = np.sin(np.arange(len(steps)))
    steps["subject"] = "m" + (steps["session"].astype(int) % 3).astype(str)
    write_table(steps, place / "sessions.csv")
    write_environment(data.env, place / "grid.csv")
    (place / "run.toml").write_text(
        'data = "sessions.csv"\nenv = "grid.csv"\nhold_out = 5\n[model]\nmodes = 2\nhistory = 1\n[fit]\nmax_iter = 3\n'
    )
    done = run("fit", "--config", place / "run.toml", "--restarts", 1, "-o", place / "fit.nc", "--json")
    assert done.exit_code == 0, done.output
    (place / "summary.json").write_text(done.stdout)
    return place


@pytest.mark.slow
def test_the_summary_says_what_was_fitted(folder):
    facts = json.loads((folder / "summary.json").read_text())
    assert all(re.fullmatch(r"[a-z_]+", key) for key in facts)
    assert facts["held_out_sessions"] == 2
    assert facts["remarks"][-1].startswith("The same animals are on both sides (m0, m2)")
    assert "8 sessions" in facts["data"]
    assert sum(facts["mode_shares"]) == pytest.approx(1)
    assert facts["held_out_score"] < 0
    assert facts["converged"] is False
    assert "iterations" in facts["ended"]


@pytest.mark.slow
def test_a_page_of_the_fit(folder, tmp_path):
    done = run(
        "report", folder / "fit.nc", "--data", folder / "sessions.csv", "--draws", 1, "-o", tmp_path / "fit.html"
    )
    assert done.exit_code == 0, done.output
    page = (tmp_path / "fit.html").read_text()
    assert "10 sessions" in page
    assert "mode 1" in page


def test_a_fit_to_be_wary_of_says_so():
    from types import SimpleNamespace

    from swirl.estimators.fit_warnings import RestartAgreement
    from swirl.workflows.fit import remarks

    starts = [SimpleNamespace(objective=value) for value in (-100.0, -90.0, -91.0)]
    ari, apart, behind = np.array([[0.2, 1.0, 0.14], [0.3, 0.0, 0.2], [10.0, 0.0, 1.0]])

    def ended(**known):
        model = swirl.SWIRL(swirl.datasets.gridworld_env())
        vars(model).update(known)
        return model

    told = remarks(
        ended(
            converged_=False,
            max_iter=7,
            restarts_=starts,
            restart_agreement_=RestartAgreement(1, 3, ari, apart, behind),
            best_restart_=1,
            n_observed_=50,
            occupancy_=[0.6, 0.395, 0.005],
        )
    )
    assert "--max-iter 20000" in told[0]
    assert "Only one of 3 starting points" in told[1]
    assert "1 other is within 1 nat of it with other modes (ARI 0.14)" in told[2]
    assert "mode 2 has only 0.5 % of the steps" in told[3]
    assert "Fit 2 modes" in told[3]
    alike = RestartAgreement(0, 2, np.ones(2), np.zeros(2), np.array([0.0, 20.0]))  # a little lower, the same modes
    assert not remarks(ended(restarts_=starts[:2], restart_agreement_=alike, occupancy_=[0.5, 0.5]))
    old = ended(restarts_=starts, occupancy_=[0.5, 0.5])
    assert "not known" in remarks(old)[0]


@pytest.mark.slow
def test_the_file_keeps_where_it_came_from(folder):
    model = swirl.load(folder / "fit.nc")
    assert model.run_["config"]["model"] == {"modes": 2, "history": 1}
    assert model.run_["config"]["fit"]["restarts"] == 1  # the option went before the file
    assert model.run_["command"].startswith("swirl")
    assert model.run_["data"] == str((folder / "sessions.csv").absolute())


def test_apply_gives_the_modes_of_the_fit(folder, tmp_path):
    done = run("apply", folder / "fit.nc", folder / "sessions.csv", "-o", tmp_path / "modes.csv")
    assert done.exit_code == 0, done.output
    written = pd.read_csv(tmp_path / "modes.csv")
    model = swirl.load(folder / "fit.nc")
    data = swirl.Trajectories.from_csv(
        folder / "sessions.csv", state_names=model.env.state_names, action_names=model.env.action_names
    )
    np.testing.assert_array_equal(written["mode"], np.concatenate(model.predict(data)))
    np.testing.assert_allclose(written["p_0"], np.concatenate(model.predict_proba(data))[:, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(written["t"], np.concatenate(data.times))


def test_apply_takes_a_table_whose_columns_have_other_names(folder, tmp_path):
    other = {"session": "mouse", "state": "cell", "action": "move", "t": "seconds"}
    table = pd.read_csv(folder / "sessions.csv").rename(columns=other)
    table.to_csv(tmp_path / "other.csv", index=False)
    refused = run("apply", folder / "fit.nc", tmp_path / "other.csv", "-o", tmp_path / "modes.csv")
    assert "name the one that holds it: --columns state=NAME" in refused.output
    columns = "state=cell,session=mouse,action=move,time=seconds"
    options = ["--columns", columns, "-o", tmp_path / "modes.csv"]
    done = run("apply", folder / "fit.nc", tmp_path / "other.csv", *options)
    assert done.exit_code == 0, done.output
    run("apply", folder / "fit.nc", folder / "sessions.csv", "-o", tmp_path / "own.csv")
    modes = [pd.read_csv(tmp_path / name)["mode"].tolist() for name in ("modes.csv", "own.csv")]
    assert modes[0] == modes[1]


def test_a_line_for_each_start(folder, tmp_path):
    options = ["--model", "Markov-1", "--env", folder / "grid.csv", "-o", tmp_path / "counts.nc", "-v"]
    done = run("fit", folder / "sessions.csv", *options)
    assert done.exit_code == 0, done.output
    assert "counts.nc" in done.stdout
    from swirl.cli.fit import details

    settings, start = details(swirl.load(folder / "fit.nc"), None).splitlines()
    assert settings.startswith("settings      SWIRL(MDP(25 states")  # all of them, as Python has them
    assert start.startswith("start 0       kept: ")
    assert "\nmodel         Markov" in done.stdout
    assert "environment   25 states, 5 actions" in done.stdout


def test_nothing_is_overwritten(folder, tmp_path):
    (tmp_path / "modes.csv").write_text("mine")
    for command in (
        ["apply", folder / "fit.nc", folder / "sessions.csv", "-o", tmp_path / "modes.csv"],
        ["export", folder / "fit.nc", "-o", tmp_path / "modes.csv"],
        ["fit", folder / "sessions.csv", "-o", tmp_path / "modes.csv"],
        ["report", folder / "fit.nc", "-o", tmp_path / "modes.csv"],
    ):
        done = run(*command)
        assert done.exit_code == 2
        assert "exists already" in done.stderr
    assert (tmp_path / "modes.csv").read_text() == "mine"


@pytest.mark.parametrize("what", ["steps", "bouts", "rewards", "transitions"])
def test_tables(folder, tmp_path, what):
    done = run("export", folder / "fit.nc", "-o", tmp_path / "out.parquet", "--what", what, "--modes", "thirsty,tired")
    assert done.exit_code == 0, done.output
    table = pd.read_parquet(tmp_path / "out.parquet")
    if what == "steps":
        assert set(table["mode"]) <= {"thirsty", "tired"}
        assert len(table) == 400
    elif what == "bouts":
        assert table["n_steps"].sum() == 400
    elif what == "rewards":
        sums = table.groupby(["mode", "state"])["probability"].sum()
        np.testing.assert_allclose(sums, 1, atol=1e-9)
        assert len(table) == 2 * 25 * 5
        assert set(zip(table["mode"], table["mode_name"], strict=True)) == {(0, "thirsty"), (1, "tired")}
    else:
        np.testing.assert_allclose(table.groupby(["state", "mode"])["probability"].sum(), 1, atol=1e-9)
        assert set(zip(table["next_mode"], table["next_mode_name"], strict=True)) == {(0, "thirsty"), (1, "tired")}


def test_matlab(folder, tmp_path):
    from scipy.io import loadmat

    assert run("export", folder / "fit.nc", "-o", tmp_path / "out.mat", "--quiet").output == ""
    assert loadmat(tmp_path / "out.mat", simplify_cells=True)["sessions"][0]["modes"].shape == (40,)


@pytest.fixture(scope="module")
def day(folder):
    """The NWB file of the fit's session 3, which is of animal m0."""
    from pynwb import NWBHDF5IO, NWBFile
    from pynwb.file import Subject

    path, started = folder / "tag3.nwb", datetime(2026, 1, 2, 3, tzinfo=UTC)
    file = NWBFile("mine", "abc", started, session_id="3", subject=Subject(subject_id="m0"))
    with NWBHDF5IO(path, "w") as io:
        io.write(file)
    return path


@pytest.mark.slow
def test_nwb_of_a_session_whose_file_there_is(folder, day, tmp_path):
    from swirl.io.nwb.reading import read_nwb_bouts

    before = day.read_bytes()
    done = run("export", folder / "fit.nc", "--append-to", day, "-o", tmp_path / "new.nwb")
    assert done.exit_code == 0, done.output
    written = read_nwb_bouts(tmp_path / "new.nwb")
    assert (written.names, written.subjects, day.read_bytes()) == (("3",), ("m0",), before)
    done = run("export", folder / "fit.nc", "--session", "3", "--what", "bouts", "-o", tmp_path / "bouts.csv")
    assert done.exit_code == 0, done.output
    bouts = pd.read_csv(tmp_path / "bouts.csv")
    names = np.array(written.state_names)[written.states[0]]
    assert [f"mode {k}" for k in bouts["mode"]] == names.tolist()

    options = ["--session", "4", "--species", "Mus musculus", "--session-start", "2026-03-01T14:30+00:00"]
    done = run("export", folder / "fit.nc", *options, "-o", tmp_path / "four.nwb")
    assert done.exit_code == 0, done.output
    with h5py.File(tmp_path / "four.nwb") as file:
        assert file["general/subject/species"][()] == b"Mus musculus"
        assert file["session_start_time"][()] == b"2026-03-01T14:30:00+00:00"
        assert file["general/session_id"][()] == b"4"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--append-to", "DAY", "--session", "4"], "is of subject 'm0', but session '4' is of 'm1'"),
        (["--append-to", "DAY", "--session", "11"], "--session 11: give the name of one session; there are '0', '1'"),
        (["--append-to", "DAY", "--session-start", "2026-01-01"], "session_start is that of the file in append_to"),
        (["--append-to", "DAY", "--species", "Mus musculus"], "species is that of the file"),
        (["--append-to", "nowhere.nwb"], "append_to='nowhere.nwb' does not exist"),
        (["--append-to", "DAY", "-o", "DAY", "--force"], "is what is being read"),
        (["--append-to", "DAY", "-o", "x.csv"], "--append-to: only an NWB file is written with that"),
        (["--what", "rewards", "--session", "4", "-o", "x.csv"], "rewards are those of the fit, not of a session"),
        (["--session-start", "2026-01-01,2026-01-02"], "session_start has 2 times: give one, or one for each of 10"),
    ],
)
def test_nwb_that_cannot_be_written(folder, day, tmp_path, options, told):
    before = day.read_bytes()
    options = [str(day) if word == "DAY" else word for word in options]
    output = [] if "-o" in options else ["-o", "new.nwb"]
    with contextlib.chdir(tmp_path):
        done = run("export", folder / "fit.nc", *options, *output)
    assert done.exit_code == 2
    assert told in " ".join(done.stderr.split())
    assert (day.read_bytes(), list(tmp_path.iterdir())) == (before, [])


def test_data_that_moved_or_changed(folder, tmp_path):
    import shutil

    shutil.copytree(folder, tmp_path / "copy")
    moved = swirl.load(folder / "fit.nc")
    moved.run_ = {**moved.run_, "data": str(tmp_path / "gone.csv")}
    moved.save(tmp_path / "moved.nc")
    done = run("export", tmp_path / "moved.nc", "-o", tmp_path / "x.csv")
    assert done.exit_code == 2
    assert "gone.csv, which is not there now: give them with --data" in done.stderr.replace("\n", " ")
    changed = pd.read_csv(folder / "sessions.csv").iloc[:-5]
    changed.to_csv(tmp_path / "gone.csv", index=False)
    done = run("export", tmp_path / "moved.nc", "-o", tmp_path / "x.csv")
    assert "has changed since the fit" in done.stderr
    done = run("export", tmp_path / "moved.nc", "-o", tmp_path / "x.csv", "--data", tmp_path / "gone.csv")
    assert done.exit_code == 0, done.output
    assert len(pd.read_csv(tmp_path / "x.csv")) == 395


@pytest.mark.slow
def test_modes_that_last_are_asked_for_by_an_option(folder, tmp_path):
    model = tmp_path / "fit.nc"
    done = run(
        "fit", "--config", folder / "run.toml", "--restarts", 1, "--bouts", 30, "--bouts-strength", 500, "-o", model
    )
    assert done.exit_code == 0, done.output
    fitted = swirl.load(model)
    assert fitted.switching_prior == Bouts(30.0, 500.0)
    assert fitted.run_["config"]["model"]["switching_prior"] == {"kind": "Bouts", "steps": 30.0, "strength": 500.0}


@pytest.mark.slow
def test_goals_are_asked_for_by_an_option(folder, tmp_path):
    model = tmp_path / "fit.nc"
    asked = ["--env", folder / "grid.csv", "--reward", "goals", "--goals", "(0, 4),20+21", "--restarts", 1]
    done = run("fit", folder / "sessions.csv", *asked, "--max-iter", 3, "--no-verdict", "-o", model)
    assert done.exit_code == 0, done.output
    fitted = swirl.load(model)
    assert fitted.reward == swirl.rewards.Goals((4, (20, 21)))
    assert (fitted.label, fitted.n_modes, fitted.switching) == ("Goals-2", 3, "until-reached")
    assert set(fitted.mode_names_) == {"explore", "to (0, 4)", "to (4, 0) …"}
    echoed = fitted.run_["config"]["model"]
    assert (echoed["modes"], echoed["reward"]["places"]) == (3, [[4], [20, 21]])


@pytest.mark.slow
def test_goals_are_discovered_or_there_are_none(folder, tmp_path):
    model = tmp_path / "fit.nc"
    asked = ["--env", folder / "grid.csv", "--reward", "goals", "--goals", "discover", "--history", 1, "--json"]
    done = run("fit", folder / "sessions.csv", *asked, "--restarts", 1, "--max-iter", 5, "--no-verdict", "-o", model)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["goals"]
    fitted = swirl.load(model)
    assert fitted.n_modes == 1 + sum(goal["found"] for goal in told)
    assert [list(place) for place in fitted.reward.places] == [goal["place"] for goal in told if goal["found"]]
    assert fitted.reward.moves in ("action", "next", "compass")  # chosen
    assert fitted.run_["config"]["model"]["history"] == 1


MISTAKES = {
    "no data": (["fit", "-o", "new.nc"], "no data: give a CSV or Parquet file"),
    "a file that is not there": (["fit", "-o", "new.nc", "nowhere.csv"], "nowhere.csv"),
    "a recording that is no table": (["fit", "-o", "new.nc", "video.mp4"], "swirl import"),
    "a command that is none": (["fti", "sessions.csv"], "Did you mean 'fit'?"),
    "an option that is none": (["fit", "-o", "new.nc", "sessions.csv", "--mode", "3"], "--mode"),
    "no modes at all": (["fit", "-o", "new.nc", "sessions.csv", "--modes", "0"], "model.modes: got 0"),
    "a model that is none": (["fit", "-o", "new.nc", "sessions.csv", "--model", "S2"], "no such model"),
    "a folder that is not there": (["fit", "sessions.csv", "-o", "out/fit.nc"], "does not exist: make it"),
    "an environment that is not there": (["fit", "-o", "new.nc", "sessions.csv", "--env", "maze.csv"], "maze.csv"),
    "an environment of other data": (["fit", "-o", "new.nc", "sessions.csv", "--env", "other.csv"], "state"),
    "a table without states": (["fit", "-o", "new.nc", "nothing.csv"], "state"),
    "a discount of one": (["fit", "-o", "new.nc", "sessions.csv", "--discount", "1.0"], "model.discount: got 1.0"),
    "bouts of one step": (["fit", "-o", "new.nc", "sessions.csv", "--bouts", "1"], "steps=1.0: expected more than 1"),
    "no bouts to be strong": (["fit", "-o", "new.nc", "sessions.csv", "--bouts-strength", "9"], "as in --bouts 50"),
    "a switching that is none": (
        ["fit", "-o", "new.nc", "sessions.csv", "--env", "grid.csv", "--switching", "markov"],
        "switching",
    ),
    "an argument that a model lacks": (
        ["fit", "-o", "new.nc", "sessions.csv", "--env", "grid.csv", "--model", "Markov", "--discount", "0.5"],
        "discount: Markov has no such argument",
    ),
    "goals of a model without": (
        ["fit", "-o", "new.nc", "sessions.csv", "--env", "grid.csv", "--goals", "4"],
        "goals=['4']: there is no model that has goals; ask for one, as in --reward goals --goals",
    ),
    "goals that are nowhere": (
        ["fit", "-o", "new.nc", "sessions.csv", "--env", "grid.csv", "--reward", "goals", "--goals", "4,cellar"],
        "goals: no state 'cellar'; there are (0, 0), (0, 1)",
    ),
    "no goals": (
        ["fit", "-o", "new.nc", "sessions.csv", "--env", "grid.csv", "--reward", "goals", "--goals", ","],
        "goals: the list is empty; give one or more",
    ),
    "goals that are not said": (
        ["fit", "-o", "new.nc", "sessions.csv", "--env", "grid.csv", "--model", "Goals"],
        "Goals: say where the goals are, as in --reward goals --goals",
    ),
    "more goals than modes": (
        [
            "fit",
            "-o",
            "new.nc",
            "sessions.csv",
            "--env",
            "grid.csv",
            "--reward",
            "goals",
            "--goals",
            "4,20",
            "--modes",
            "2",
        ],
        "n_modes=2: 2 goals and the exploring mode make 3; give that number",
    ),
    "a configuration that is none": (["fit", "-o", "new.nc", "--config", "sessions.csv"], "is not TOML"),
    "a fit that is none": (["apply", "sessions.csv", "sessions.csv", "-o", "x.csv"], "sessions.csv"),
    "a fit that is not there": (["report", "fit2.nc"], "fit2.nc does not exist"),
    "a format that is none": (["export", "fit.nc", "-o", "modes.xlsx"], "expected one of .csv"),
    "too many names": (["export", "fit.nc", "-o", "x.csv", "--modes", "a,b,c"], "gives 3 names, but the fit has 2"),
    "no places": (["import", "tracks", "sessions.csv", "--grid", "8", "-o", "x.csv"], "rows x columns"),
    "two kinds of places": (
        ["import", "tracks", "sessions.csv", "--grid", "8x8", "--polygons", "p.json", "-o", "x.csv"],
        "got --grid and --polygons; give just one",
    ),
    "moseq of something else": (["import", "moseq", "fit.nc", "-o", "x.csv"], "fit.nc"),
    "a signal that is none": (["report", "fit.nc", "--signal", "serotonin"], "serotonin"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_likely_mistake_is_told_in_words(folder, name, monkeypatch, tmp_path):
    monkeypatch.chdir(folder)
    (folder / "other.csv").write_text("state,action,next_state\nkitchen,go,garden\ngarden,go,kitchen\n")
    (folder / "nothing.csv").write_text("place,when\nkitchen,1\n")
    (folder / "video.mp4").write_bytes(b"\x00" * 64)
    before = sorted(path.name for path in folder.iterdir())
    arguments, told = MISTAKES[name]
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert told in " ".join(done.stderr.split())
    assert "Traceback" not in done.output
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    """A folder of Parquet files, one for each day, with names for labels; and all of them in one file."""
    place = tmp_path_factory.mktemp("days")
    steps = to_frame(datasets.gridworld(n_sessions=9, n_steps=40, random_state=1).trajectories)
    steps["session"] = "day" + steps["session"].astype(str)
    steps["state"] = steps["state"].map("place {:02d}".format)
    steps["action"] = steps["action"].map("move {}".format, na_action="ignore")
    steps.to_parquet(place / "all.parquet", index=False)
    (place / "days").mkdir()
    for n, (_, day) in enumerate(steps.groupby("session", sort=False)):
        day.to_parquet(place / "days" / f"{n}.parquet", index=False)
    return place


FEW = ("--history", 1, "--restarts", 2, "--max-iter", 3)


@pytest.mark.slow
def test_a_fit_that_is_streamed_is_the_fit_in_memory(days):
    few = (*FEW, "--reward", "state-action")  # M-steps of the Cauchy prior stop early, which magnifies rounding
    streamed = run("fit", days / "days", "--stream", *few, "-o", days / "streamed.nc", "--json")
    whole = run("fit", days / "all.parquet", *few, "-o", days / "whole.nc", "--json")
    assert streamed.exit_code == whole.exit_code == 0, streamed.output + whole.output
    facts, expected = (json.loads(done.stdout) for done in (streamed, whole))
    assert "StreamedTrajectories(9 sessions, 360 steps)" in facts["data"]
    assert facts["training_score"] == pytest.approx(expected["training_score"], rel=1e-10)
    assert facts["missing_actions"] == expected["missing_actions"]
    assert facts["environment"] == expected["environment"]
    assert facts["verdict"] == expected["verdict"]


@pytest.mark.slow
def test_what_was_streamed_can_be_shown_and_exported_file_by_file(days, tmp_path):
    done = run("fit", days / "days", "--stream", *FEW, "--no-verdict", "-o", tmp_path / "fit.nc")
    assert done.exit_code == 0, done.output
    done = run("plot", tmp_path / "fit.nc", "-o", tmp_path / "plots", "--only", "objective")
    assert done.exit_code == 0, done.output
    refused = run("export", tmp_path / "fit.nc", "-o", tmp_path / "steps.csv")
    assert refused.exit_code != 0
    assert "was streamed: say which of its files" in refused.output
    one = days / "days" / "3.parquet"
    assert run("export", tmp_path / "fit.nc", "--data", one, "-o", tmp_path / "steps.csv").exit_code == 0
    assert len(pd.read_csv(tmp_path / "steps.csv")) == 40


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("days",), "is a folder: give one table; all its Parquet files by `swirl fit --stream`"),
        (("nowhere", "--stream"), "does not exist: give a Parquet file"),
        (("empty", "--stream"), "holds no .parquet file"),
        (("sessions.csv", "--stream"), "is no .parquet file: only Parquet is read a part at a time"),
        (("days", "--stream", "--hold-out", 3), "stream: no sessions can be held out of it"),
        (("days", "--stream", "--model", "Markov"), "stream: Markov needs all sessions in memory"),
    ],
)
def test_what_cannot_be_streamed_is_told(days, arguments, says):
    (days / "empty").mkdir(exist_ok=True)
    (days / "sessions.csv").write_text("state\n0\n1\n")
    done = run("fit", days / arguments[0], *arguments[1:], "-o", days / "never.nc")
    assert done.exit_code != 0
    assert says in " ".join(done.output.split())
    assert not (days / "never.nc").exists()


@pytest.mark.slow
def test_a_checkpoint_is_gone_on_from_and_removed_when_the_fit_is_saved(folder, tmp_path, monkeypatch):
    from swirl.inference.checkpoint import Checkpoint

    asked = ["fit", "--config", folder / "run.toml", "--restarts", 2, "--max-iter", 40, "--no-verdict"]
    kept = ["--checkpoint", tmp_path / "kept", "--checkpoint-every", "5 iterations"]
    assert run(*asked, "-o", tmp_path / "whole.nc").exit_code == 0
    write, written = Checkpoint.write, []

    def killed(self):
        write(self)
        written.append(self)
        if len(written) == 6:
            raise MemoryError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "write", killed)
        assert run(*asked, *kept, "-o", tmp_path / "fit.nc").exit_code != 0
    assert (tmp_path / "kept").exists()
    assert not (tmp_path / "fit.nc").exists()
    again = run(*asked, *kept, "-o", tmp_path / "fit.nc")
    assert again.exit_code != 0
    assert "--resume" in again.output
    done = run(*asked, *kept, "-o", tmp_path / "fit.nc", "--resume")
    assert done.exit_code == 0, done.output
    assert "Resuming from" in done.stderr
    assert not (tmp_path / "kept").exists()
    one, other = swirl.load(tmp_path / "fit.nc"), swirl.load(tmp_path / "whole.nc")
    np.testing.assert_array_equal(one.policies_, other.policies_)
    np.testing.assert_array_equal(one.objective_trace_, other.objective_trace_)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--resume"], "say from which file with --checkpoint FILE"),
        (["--checkpoint", "{0}/sessions.csv"], "needed for something else"),
        (["--checkpoint", "{1}/notes.txt", "--force"], "cannot be read as a checkpoint"),
        (["--checkpoint", "{1}/kept", "--checkpoint-every", "soon"], "checkpoint_every='soon'"),
        (["--model", "Markov", "--checkpoint", "{1}/kept"], "leave out --checkpoint"),
    ],
)
def test_a_checkpoint_that_cannot_be_is_told(folder, tmp_path, options, words):
    (tmp_path / "notes.txt").write_text("precious")
    given = [option.format(folder, tmp_path) for option in options]
    data = [folder / "sessions.csv", "--env", folder / "grid.csv"]
    done = run("fit", *data, "-o", tmp_path / "fit.nc", *given)
    assert done.exit_code != 0
    assert words in " ".join(done.output.split())
    assert (tmp_path / "notes.txt").read_text() == "precious"
    assert not (tmp_path / "fit.nc").exists()


@pytest.mark.slow
def test_columns_of_other_names_lead_to_the_same_fit(folder, tmp_path):
    frame = pd.read_csv(folder / "sessions.csv")
    other = frame.rename(columns={"session": "day", "state": "cell", "action": "move", "t": "clock", "subject": "rat"})
    other.to_csv(tmp_path / "other.csv", index=False)
    named = ("--columns", "session=day,state=cell,action=move,time=clock,subject=rat")
    little = ("--env", folder / "grid.csv", "--restarts", 1, "--max-iter", 2, "--no-verdict", "--json")
    one = run("fit", folder / "sessions.csv", *little, "-o", tmp_path / "one.nc")
    two = run("fit", tmp_path / "other.csv", *named, *little, "-o", tmp_path / "two.nc")
    assert two.exit_code == 0, two.output
    scores = [json.loads(done.stdout)["training_score"] for done in (one, two)]
    assert scores[0] == scores[1]
    for name in ("one", "two"):  # the file of the fit knows what the columns are called
        exported = run("export", tmp_path / f"{name}.nc", "-o", tmp_path / f"{name}_steps.csv")
        assert exported.exit_code == 0, exported.output
    assert (tmp_path / "one_steps.csv").read_bytes() == (tmp_path / "two_steps.csv").read_bytes()


@pytest.mark.parametrize("silent", [False, True])
def test_before_the_halves_are_fitted_the_model_is_said_to_be_safe(silent, capsys, tmp_path):
    shown = []
    on = _on_halves(tmp_path / "fit.nc", shown.append, silent)
    assert capsys.readouterr().err == ""  # nothing is fitted for a verdict that needs no halves
    on("first")
    on("second")
    said = (
        f"Fit saved to {tmp_path / 'fit.nc'}; now fitting the two halves of the sessions for the verdict (Ctrl-C keeps"
    )
    assert capsys.readouterr().err.count(said) == (not silent)
    assert shown == ["verdict: first", "verdict: second"]
