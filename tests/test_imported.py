"""From recordings to a table with its environment, by the command line: what a user does first."""

import json
from itertools import pairwise

import h5py
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from swirl import datasets
from swirl.cli.app import app
from swirl.data_files import read_data
from swirl.environments import read_environment

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments], env={"SWIRL_DEBUG": None, "COLUMNS": "120"})


def back(folder):
    """What a fit would read."""
    env = read_environment(folder / "sessions.env.csv")
    data = read_data(folder / "sessions.csv", env=env)
    env.check(data)
    return env, data


def test_moseq(tmp_path):
    frames = {"m1": [0, 0, 1, 1, 1, 0, 2, 2], "m2": [1, 1, 2, 0, 0]}
    with h5py.File(tmp_path / "results.h5", "w") as file:
        for name, syllables in frames.items():
            group = file.create_group(name)
            group["syllable"] = np.array(syllables)
            group["centroid"] = np.zeros((len(syllables), 2))
            group["heading"] = np.zeros(len(syllables))
            group["latent_state"] = np.zeros((len(syllables), 3))
    (tmp_path / "index.csv").write_text("name,group\nm1,drug\nm2,saline\n")
    done = run("import", "moseq", tmp_path / "results.h5", "--fps", 10, "-o", tmp_path / "sessions.csv")
    assert done.exit_code == 0, done.output
    assert "Next: swirl check" in done.stdout
    env, data = back(tmp_path)
    assert [states.tolist() for states in data.states] == [[0, 1, 0, 2], [1, 2, 0]]
    assert data.groups == ("drug", "saline")
    np.testing.assert_allclose(data.times[0], [0.0, 0.2, 0.5, 0.6])
    assert env.n_actions == 3
    again = run("import", "moseq", tmp_path / "results.h5", "-o", tmp_path / "sessions.csv")
    assert again.exit_code == 2
    assert "exists already" in again.stderr


def test_tracks_in_a_maze(tmp_path):
    maze = datasets.labyrinth_env()
    xy = np.asarray(maze.coordinates)
    path = [0, 1, 3, 7, 3, 1, 0, 2, 6]
    pd.DataFrame({"name": range(127), "x": xy[:, 0], "y": xy[:, 1]}).to_csv(tmp_path / "nodes.csv", index=False)
    edges = [(s, t) for s in range(127) for t in (2 * s + 1, 2 * s + 2) if t < 127]
    pd.DataFrame(edges, columns=["from", "to"]).to_csv(tmp_path / "edges.csv", index=False)
    frames = np.concatenate([np.linspace(xy[a], xy[b], 10, endpoint=False) for a, b in pairwise(path)])
    frames = np.concatenate([frames, np.repeat(xy[path[-1:]], 10, axis=0)])
    track = pd.DataFrame(frames, columns=["x", "y"])
    track["t"] = np.arange(len(track)) / 30
    track.to_csv(tmp_path / "mouse.csv", index=False)
    options = ["--nodes", tmp_path / "nodes.csv", "--edges", tmp_path / "edges.csv", "--json"]
    done = run("import", "tracks", tmp_path / "mouse.csv", *options, "-o", tmp_path / "sessions.csv")
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["files"]) == 3
    env, data = back(tmp_path)
    assert data.states[0].tolist() == path
    assert (data.actions[0][:-1] >= 0).all()
    np.testing.assert_allclose(env.coordinates, xy[:, :2])


def test_tracks_on_a_grid_and_in_polygons(tmp_path):
    pd.DataFrame({"x": [0.5, 0.5, 1.5, 1.5], "y": [0.5, 0.6, 0.5, 1.5]}).to_csv(tmp_path / "a.csv", index=False)
    out = ["-o", tmp_path / "sessions.csv", "--force", "--quiet"]
    done = run("import", "tracks", tmp_path / "a.csv", "--grid", "2x2", "--bounds", "0,2,0,2", *out)
    assert (done.exit_code, done.output) == (0, "")
    assert back(tmp_path)[1].states[0].tolist() == [0, 1, 3]
    (tmp_path / "p.json").write_text('{"left": [[0,0],[1,0],[1,2],[0,2]], "right": [[1,0],[2,0],[2,2],[1,2]]}')
    done = run("import", "tracks", tmp_path / "a.csv", "--polygons", tmp_path / "p.json", *out)
    assert done.exit_code == 0, done.output
    assert back(tmp_path)[1].state_names == ("left", "right")


def test_a_table_with_other_names(tmp_path):
    frame = pd.DataFrame({"trial": [1, 1, 2], "node": ["a", "b", "a"], "sec": [0.0, 1.0, 0.0], "da": [0.1, 0.2, 0.3]})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    options = ["--session", "trial", "--state", "node", "--time", "sec", "--signals", "da"]
    done = run("import", "table", tmp_path / "mine.csv", *options, "-o", tmp_path / "sessions.csv")
    assert done.exit_code == 0, done.output
    data = read_data(tmp_path / "sessions.csv")
    assert data.names == ("1", "2")
    assert data.signals["da"][0].tolist() == [0.1, 0.2]
    wrong = run("import", "table", tmp_path / "mine.csv", "--state", "nod", "-o", tmp_path / "x.csv")
    assert wrong.exit_code == 2
    assert "node" in wrong.stderr
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.filterwarnings("ignore")  # pynwb's own
def test_nwb(tmp_path):
    from swirl.exporters.nwb import write_nwb
    from swirl.trajectories import Trajectories

    data = Trajectories([[0, 1, 0, 1, 0, 1]], times=[np.arange(6.0)], names=["day 1"], subjects=["m1"])
    [file] = write_nwb(tmp_path / "day.nwb", data, [np.array([0, 0, 1, 1, 2, 2])], mode_names=["rest", "run", "eat"])
    listed = run("import", "nwb", file, "--list")
    assert "EthogramBouts" in listed.stdout
    done = run("import", "nwb", file, "-o", tmp_path / "sessions.csv")
    assert done.exit_code == 0, done.output
    _, again = back(tmp_path)
    assert [again.state_names[s] for s in again.states[0]] == ["rest", "run", "eat"]
    assert again.subjects == ("m1",)
