"""From recordings to a table with its environment, by the command line: what a user does first."""

import hashlib
import io
import json
import re
import warnings
from contextlib import suppress
from itertools import pairwise

import h5py
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import swirl
from swirl import datasets
from swirl.cli.app import app
from swirl.cli.output import as_typed_here
from swirl.io.environment_files import read_environment
from swirl.io.places import Grid
from swirl.io.session_index import label_sessions
from swirl.io.session_table import read_data
from swirl.io.tracks import Track, read_tracks
from swirl.workflows.import_recordings import import_bouts, import_moseq, import_nwb, import_tracks
from swirl.workflows.load import read_sessions, stream_sessions
from swirl.workflows.power import arena_of

runner = CliRunner()
TEXT = h5py.string_dtype()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments], env={"SWIRL_DEBUG": None, "COLUMNS": "120"})


def back(folder, name="sessions"):
    """What a fit would read."""
    env = read_environment(folder / f"{name}.env.csv")
    data = read_data(folder / f"{name}.csv", env=env)
    env.check(data)
    return env, data


def write_nwb_by_hand(path, **groups):
    """A file with these groups (path, with . for /): of each the neurodata_type and the datasets."""
    with h5py.File(path, "w") as file:
        file.attrs["nwb_version"] = "2.7.0"
        file["identifier"] = path.stem
        for name, (kind, datasets) in groups.items():
            group = file.create_group(name.replace(".", "/"))
            group.attrs["neurodata_type"] = kind
            for key, values in datasets.items():
                group[key] = np.array(values, TEXT) if np.asarray(values).dtype.kind == "U" else values
    return path


def bouts(labels, duration=1.0):
    """A table of intervals, one second apart."""
    start = np.arange(float(len(labels)))
    return {"id": np.arange(len(labels)), "start_time": start, "stop_time": start + duration, "label": labels}


def walk(folder):
    """A walk through four cells, there and back, with a jump of the tracking."""
    cells = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0), (1, 0), (0, 1), (1, 1)]
    frames = np.repeat(np.array(cells) + 0.5, 3, axis=0)
    table = pd.DataFrame(frames, columns=["x", "y"]).assign(t=np.arange(len(frames)) / 30)
    table.to_csv(folder / "walk.csv", index=False)
    return table


# ---------------------------------------------------------------------- what import writes, check accepts


def of_a_table(folder):
    frame = pd.DataFrame({"state": list("iiiabcc"), "t": np.arange(7.0), "gap": [0, 0, 0, 0, 1, 0, 0]})
    frame.to_csv(folder / "song.csv", index=False)
    return ["table", folder / "song.csv"]


def of_a_table_with_actions(folder):
    frame = pd.DataFrame({"state": [0, 0, 3], "action": ["stay", "go", None]})
    frame.to_parquet(folder / "acted.parquet")
    return ["table", folder / "acted.parquet"]


def of_moseq(folder):
    with h5py.File(folder / "results.h5", "w") as file:
        file["m1/syllable"] = np.repeat([0, 1, 9, 1, 1, 0, 2, 9, 2], 3)
    return ["moseq", folder / "results.h5", "--fps", 30, "--keep", "0,1,2"]


def of_a_grid(folder):
    walk(folder)
    return ["tracks", folder / "walk.csv", "--grid", "2x2", "--y-down"]


def of_polygons(folder):
    walk(folder)
    zones = {"1": [[0, 0], [1, 0], [1, 2], [0, 2]], "2": [[1, 0], [2, 0], [2, 2], [1, 2]]}
    zones["nest"] = [[2, 0], [3, 0], [3, 2], [2, 2]]
    (folder / "p.json").write_text(json.dumps(zones))
    return ["tracks", folder / "walk.csv", "--polygons", folder / "p.json"]


def of_nodes(folder):
    walk(folder)
    (folder / "n.csv").write_text("name,x,y\n00,0.5,0.5\n01,1.5,0.5\n11,1.5,1.5\n10,0.5,1.5\n")
    (folder / "e.csv").write_text("from,to\n00,01\n01,11\n11,10\n10,00\n")
    return ["tracks", folder / "walk.csv", "--nodes", folder / "n.csv", "--edges", folder / "e.csv"]


def of_nwb_positions(folder):
    frame = walk(folder)
    series = {"data": frame[["x", "y"]].to_numpy(), "timestamps": frame["t"].to_numpy()}
    write_nwb_by_hand(folder / "p.nwb", **{"processing.behavior.Position.xy": ("SpatialSeries", series)})
    return ["tracks", folder / "p.nwb", "--grid", "2x2"]


def of_nwb(kind, name, labels):
    def write(folder):
        write_nwb_by_hand(folder / "d.nwb", **{name: (kind, bouts(labels))})
        return ["nwb", folder / "d.nwb", "--label", "label"]

    return write


def of_nwb_events(folder):
    events = {"id": [0, 1, 2, 3], "timestamp": [0.5, 0.9, 7.0, 7.5], "annotation": ["lick", "lick", "reward", "lick"]}
    write_nwb_by_hand(folder / "e.nwb", **{"events.licks": ("EventsTable", events)})
    return ["nwb", folder / "e.nwb"]


EVERY_READER = {
    "table, repeated states": of_a_table,
    "table with actions": of_a_table_with_actions,
    "moseq": of_moseq,
    "grid": of_a_grid,
    "polygons, one never visited": of_polygons,
    "nodes": of_nodes,
    "nwb positions": of_nwb_positions,
    "nwb trials": of_nwb("TimeIntervals", "intervals.trials", ["left", "right", "right", "left", "left"]),
    "nwb trials, one label": of_nwb("TimeIntervals", "intervals.trials", ["left", "left"]),
    "nwb trials, numbers": of_nwb("TimeIntervals", "intervals.trials", [-1, 1, 1, 0, -1]),
    "nwb trials, truth": of_nwb("TimeIntervals", "intervals.trials", [True, False, False, True]),
    "nwb intervals": of_nwb("TimeIntervals", "intervals.behaviour", ["rest", "run", "run", "rest"]),
    "nwb ethogram": of_nwb("EthogramBouts", "processing.behavior.Bouts", ["None", "rear", "true", "1.5"]),
    "nwb events": of_nwb_events,
}


@pytest.mark.parametrize("case", EVERY_READER)
def test_what_import_writes_check_accepts(case, tmp_path):
    table, env = tmp_path / "out.csv", tmp_path / "out.env.csv"
    done = run("import", *EVERY_READER[case](tmp_path), "-o", table, "--json")
    assert done.exit_code == 0, done.output
    ways = [["--env", env]] if env.exists() else [["--env", "syllables"]] * ("action" not in table.read_text())
    for way in [[], ["--env", "observed"], *ways]:
        checked = run("check", table, *way)
        assert checked.exit_code == 0, checked.output
    if env.exists():
        _, data = back(tmp_path, "out")  # as a fit looks at it
        assert repr(data) == json.loads(done.stdout)["data"]  # every step and every label is still there


def test_trials_can_be_fitted(tmp_path):
    trials = {"intervals.trials": ("TimeIntervals", bouts(["left", "right", "right", "left"] * 5))}
    files = [write_nwb_by_hand(tmp_path / name, **trials) for name in ("a.nwb", "b.nwb")]
    assert run("import", "nwb", *files, "-o", tmp_path / "sessions.csv").exit_code == 0
    fit = ["--env", tmp_path / "sessions.env.csv", "--model", "Markov-0", "-o", tmp_path / "fit.nc", "--quiet"]
    done = run("fit", tmp_path / "sessions.csv", *fit)
    assert done.exit_code == 0, done.output


def test_labels_that_a_table_would_misread_are_renamed_and_that_is_said(tmp_path):
    arguments = of_nwb("TimeIntervals", "intervals.trials", [-1, 1, 1, 0])(tmp_path)
    done = run("import", *arguments, "-o", tmp_path / "sessions.csv")
    assert "'-1' is called 'state -1'" in done.stdout
    assert back(tmp_path)[1].state_names == ("state -1", "0", "1")


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
    assert len(json.loads(done.stdout)["files"]) == 4
    env, data = back(tmp_path)
    assert data.states[0].tolist() == path
    assert (data.actions[0][:-1] >= 0).all()
    np.testing.assert_allclose(env.coordinates, xy[:, :2])


def test_tracks_on_a_grid_and_in_polygons(tmp_path):
    pd.DataFrame({"x": [0.5, 0.5, 1.5, 1.5], "y": [0.5, 0.6, 0.5, 1.5]}).to_csv(tmp_path / "a.csv", index=False)
    out = ["-o", tmp_path / "sessions.csv", "--force", "--quiet"]
    done = run("import", "tracks", tmp_path / "a.csv", "--grid", "2x2", "--bounds", "0,2,0,2", "--fps", 30, *out)
    assert (done.exit_code, done.output) == (0, "")
    assert back(tmp_path)[1].states[0].tolist() == [2, 3, 1]  # y grows upwards, and rows are counted from the top
    (tmp_path / "p.json").write_text('{"left": [[0,0],[1,0],[1,2],[0,2]], "right": [[1,0],[2,0],[2,2],[1,2]]}')
    done = run("import", "tracks", tmp_path / "a.csv", "--polygons", tmp_path / "p.json", *out)
    assert done.exit_code == 0, done.output
    assert back(tmp_path)[1].state_names == ("left", "right")


T_MAZE = """{"stem": [[0,0],[1,0],[1,4],[0,4]], "junction": [[0,4.02],[1,4.02],[1,5],[0,5]],
"left": [[-3,4],[0,4],[0,5],[-3,5]], "right": [[1,4],[4,4],[4,5],[1,5]]}"""


def zones(tmp_path, polygons, *options):
    """Import a walk up the stem, to the left end, and a jump of the tracking to the right."""
    xs, ys = [0.5, 0.5, -1.0, -1.0, 2.0, 0.5], [1.0, 4.5, 4.5, 4.6, 4.5, 4.5]
    pd.DataFrame({"x": xs, "y": ys, "t": np.arange(6.0)}).to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "zones.json").write_text(polygons)
    out = ["--polygons", tmp_path / "zones.json", "-o", tmp_path / "sessions.csv", "--force"]
    done = run("import", "tracks", tmp_path / "a.csv", *out, *options)
    assert done.exit_code == 0, done.output
    return done.output, *back(tmp_path)


def test_zones_that_touch_are_joined_and_a_jump_is_a_gap(tmp_path):
    said, env, data = zones(tmp_path, T_MAZE)
    assert "the 3 pairs that touch" in said
    assert env.available.sum() == 6
    assert data.gaps[0].tolist() == [3]  # from left to right without the junction


def test_zones_apart_are_all_joined_and_that_is_said_loudly(tmp_path):
    said, env, data = zones(tmp_path, T_MAZE.replace("[[1,4],[4,4],[4,5],[1,5]]", "[[1.5,4],[4,4],[4,5],[1.5,5]]"))
    assert "BEWARE: some zones touch no other" in said
    assert env.available.sum() == 12
    assert len(data.gaps[0]) == 0


def test_the_map_of_a_video_stands_as_in_the_video(tmp_path):
    _, up, _ = zones(tmp_path, T_MAZE)
    _, down, data = zones(tmp_path, T_MAZE, "--y-down")
    np.testing.assert_allclose(down.coordinates * [1, -1], up.coordinates)
    assert data.state_names == up.state_names
    out = ["--bounds", "-3,4,0,5", "-o", tmp_path / "sessions.csv", "--force", "--quiet"]
    run("import", "tracks", tmp_path / "a.csv", "--grid", "5x7", "--y-down", *out)
    env, data = back(tmp_path)
    first, second = data.states[0][:2]  # up the stem: y grows, so down on the screen
    assert env.coordinates[second, 1] < env.coordinates[first, 1]
    assert "down" in env.action_names
    diagonal = run("import", "tracks", tmp_path / "a.csv", "--grid", "5x7", "--diagonal", *out)
    assert diagonal.exit_code == 0
    assert "up left" in back(tmp_path)[0].action_names
    wrong = run("import", "tracks", tmp_path / "a.csv", "--polygons", tmp_path / "zones.json", "--diagonal", *out[2:])
    assert "--diagonal is of --grid" in wrong.stderr


def poses(path, middle="centre", lost=0):
    """DeepLabCut's file of an animal that walks up a stem, its nose ahead, with the corner of the maze."""
    y = np.repeat(np.arange(5.0), 10) + 0.5
    parts = {"nose": (0.5, y + 0.3), middle: (0.5, y), "tail": (0.5, y - 0.3), "corner": (0, 0 * y)}
    levels = ["scorer", "bodyparts", "coords"]
    columns = pd.MultiIndex.from_product([["DLC_net"], parts, ["x", "y", "likelihood"]], names=levels)
    frame = pd.DataFrame(np.ones((len(y), 12)), columns=columns)
    for part, (x, at) in parts.items():
        frame["DLC_net", part, "x"], frame["DLC_net", part, "y"] = x, at
    frame.loc[lost : lost + 1, ("DLC_net", middle, "likelihood")] = 0.1
    frame.to_csv(path)


def test_a_pose_is_one_point_and_stands_as_in_the_video(tmp_path):
    poses(tmp_path / "a.csv", lost=5)
    out = ["--grid", "5x1", "--bounds", "0,1,0,5", "-o", tmp_path / "sessions.csv", "--force"]
    done = run("import", "tracks", tmp_path / "a.csv", *out)
    assert done.exit_code == 0, done.output
    assert "The position is that of 'centre'" in done.output
    assert "Left out 'corner', which does not move" in done.output
    assert "2 of 50 frames filled in" in done.output
    assert "y grows downwards" in done.output
    down = back(tmp_path)[0].coordinates
    up = run("import", "tracks", tmp_path / "a.csv", *out, "--y-up")
    assert "y grows" not in up.output
    np.testing.assert_allclose(back(tmp_path)[0].coordinates, (down * [1, -1])[::-1])
    named = run("import", "tracks", tmp_path / "a.csv", *out, "--keypoint", "centre")
    assert "The position is" not in named.output


def test_several_files_that_follow_several_points_are_told_loudly(tmp_path):
    poses(tmp_path / "a.csv")
    poses(tmp_path / "b.csv", middle="hip")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    grid = ["--grid", "5x1", "--bounds", "0,1,0,5", "--quiet"]
    done = run("import", "tracks", *files, *grid, "-o", tmp_path / "sessions.csv")
    assert "BEWARE: not the same keypoint everywhere ('centre' in a, 'hip' in b)" in done.stderr
    once = run("import", "tracks", *files, *grid, "-o", tmp_path / "new.csv", "--keypoint", "tail")
    assert "not the same keypoint" not in once.stderr


def test_animals_and_groups_from_a_table_beside(tmp_path):
    (tmp_path / "index.csv").write_text("name,subject,group\na.csv,m7,drug\nother,m8,control\n")
    said, _, data = zones(tmp_path, T_MAZE, "--index", tmp_path / "index.csv")
    assert (data.subjects, data.groups) == (("m7",), ("drug",))
    assert "1 line of it not used" in said
    (tmp_path / "index.csv").write_text("name,group\nb,drug\n")
    out = ["--polygons", tmp_path / "zones.json", "-o", tmp_path / "new.csv"]
    wrong = run("import", "tracks", tmp_path / "a.csv", *out, "--index", tmp_path / "index.csv")
    assert wrong.exit_code == 2
    assert "no line for session 'a'" in wrong.stderr
    assert not (tmp_path / "new.csv").exists()


@pytest.mark.parametrize(
    ("index", "beware", "told"),
    [
        ("name,subject,group\na,0412,saline\nb,0413,drug\n", False, None),
        ("name,subject,group\na,m1,saline\nb,m2,drug\n", False, "subjects of the recordings were replaced by those of"),
        ("name,subject,group\na,0412,saline\nb,0412,drug\n", True, "'b' is of '0413' there, and '0412' in the index"),
        ("name,subject,group\na,0412,drug\nb,0413,Drug\n", True, "the groups 'drug', 'Drug' of index.csv differ only"),
        ("name,subject,group\na,0412,saline\nb,0413,saline\n", True, "another group than the recordings for 1 session"),
        ("name,subject,Treatment\na,0412,x\nb,0413,y\n", False, "treatment not used: the column of the groups has to"),
    ],
)
def test_an_index_that_says_otherwise_than_the_recordings(tmp_path, index, beware, told):
    (tmp_path / "index.csv").write_text(index)
    own = swirl.Trajectories([[0, 1]] * 2, names=["a", "b"], subjects=["0412", "0413"], groups=["saline", "drug"])
    notes = label_sessions(own, tmp_path / "index.csv").notes
    assert any("BEWARE" in note for note in notes) == beware
    if told is None:
        assert len(notes) == 1
    else:
        assert any(told in note for note in notes)


def output(folder):
    return ["-o", folder / "new.csv"]


def test_syllables_with_a_hole_in_their_numbers_can_be_fitted(tmp_path):
    with h5py.File(tmp_path / "results.h5", "w") as file:
        file["m1/syllable"] = np.repeat([0, 1, 3, 0, 3, 1, 2, 0, 1, 3], 3)
        file["m2/syllable"] = np.repeat([1, 3, 0, 1], 3)
    out = ["--keep", "0,1,3", "--fps", 30, "-o", tmp_path / "sessions.csv"]
    done = run("import", "moseq", tmp_path / "results.h5", *out)
    assert done.exit_code == 0, done.output
    env, data = back(tmp_path)
    assert env.state_names == ("0", "1", "3")
    assert data.states[0].tolist() == [0, 1, 2, 0, 2, 1, 0, 1, 2]
    assert run("check", tmp_path / "sessions.csv", "--env", tmp_path / "sessions.env.csv").exit_code == 0
    # New recordings, with the syllables of the fit whatever their usage; without --like 3 would be too rare.
    fit = ["--env", tmp_path / "sessions.env.csv", "--model", "Markov-0", "-o", tmp_path / "fit.nc", "--quiet"]
    assert run("fit", tmp_path / "sessions.csv", *fit).exit_code == 0
    with h5py.File(tmp_path / "new.h5", "w") as file:
        file["m2/syllable"] = np.repeat([0, 1] * 300 + [3, 2, 0], 3)
    done = run("import", "moseq", tmp_path / "new.h5", "--fps", 30, "--like", tmp_path / "fit.nc", *output(tmp_path))
    assert done.exit_code == 0, done.output
    told = (
        "- the syllables to keep are the 3 of fit.nc",
        "- dropped 1 syllable that is not among those to keep (0.2% of",
    )
    assert all(note in done.stdout for note in told)
    assert run("apply", tmp_path / "fit.nc", tmp_path / "new.csv", "-o", tmp_path / "modes.csv").exit_code == 0
    kept = run("import", "moseq", tmp_path / "new.h5", "--keep", "0,1,3", *output(tmp_path), "--force")
    assert (told[0] in kept.stdout, told[1] in kept.stdout) == (False, True)
    both = run(
        "import",
        "moseq",
        tmp_path / "new.h5",
        "--like",
        tmp_path / "fit.nc",
        "--keep",
        "1",
        *output(tmp_path),
        "--force",
    )
    assert "give one of them" in both.stderr
    unknown = run("import", "moseq", tmp_path / "new.h5", "--keep", "walk", *output(tmp_path), "--force")
    assert "there is no syllable 'walk' to keep: syllables have numbers only" in unknown.stderr
    assert "name them with syllable_info (--syllable-info syll_info.csv)" in unknown.stderr
    (tmp_path / "syll_info.csv").write_text("syllable,label\n0,rest\n1,run\n")
    unknown = run("import", "moseq", tmp_path / "new.h5", "--keep", "walk,run", *output(tmp_path), "--force")
    assert "there is no syllable 'walk' to keep: the names are rest, run; name the others" in unknown.stderr
    never = run("import", "moseq", tmp_path / "new.h5", "--keep", "7,8", *output(tmp_path), "--force")
    assert "are 0 (301 runs), 1 (300 runs), 2 (1 run), 3 (1 run); those to keep are 7, 8: keep some" in never.stderr
    rare = run("import", "moseq", tmp_path / "new.h5", "--min-usage", 1, *output(tmp_path), "--force")
    assert "min_usage=1.0 (--min-usage): give a share of the runs" in rare.stderr


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


@pytest.mark.parametrize(
    ("sessions", "names"),
    [
        (["1", "2"], ("m2 1", "m2 2", "m10 1", "m10 2")),
        (["day 1", "day 2"], ("m2 / day 1", "m2 / day 2", "m10 / day 1", "m10 / day 2")),
    ],
)
@pytest.mark.parametrize("by_session", [False, True])
def test_sessions_of_several_animals_have_the_same_names_and_order_in_all_imports(
    tmp_path, sessions, names, by_session
):
    whose = [(animal, session) for animal in ("m2", "m10") for session in sessions]  # the file's order, not m10 first
    whose = sorted(whose, key=lambda pair: pair[1]) if by_session else whose
    rows = pd.DataFrame(
        [
            {"session": session, "mouse": animal, "t": float(i), "x": i % 2 + 0.5, "label": "ab"[i % 2]}
            for animal, session in whose
            for i in range(4)
        ]
    ).assign(y=0.5, stop=lambda rows: rows["t"] + 1)
    rows[["session", "mouse", "t", "label"]].to_csv(tmp_path / "table.csv", index=False)
    rows[["session", "mouse", "t", "x", "y"]].to_csv(tmp_path / "tracks.csv", index=False)
    rows.rename(columns={"t": "start"})[["session", "mouse", "start", "stop", "label"]].to_csv(tmp_path / "b.csv")
    expected = tuple(names[i] for i in ((0, 2, 1, 3) if by_session else range(4)))
    for kind, file, options in (
        ("table", "table.csv", ["--state", "label", "--subject", "mouse"]),
        ("table", "table.csv", ["--state", "label", "--session", "mouse,session", "--subject", "mouse"]),
        ("tracks", "tracks.csv", ["--grid", "1x2", "--bounds", "0,2,0,1", "--subject", "mouse"]),
        (
            "tracks",
            "tracks.csv",
            ["--grid", "1x2", "--bounds", "0,2,0,1", "--session", "mouse,session", "--subject", "mouse"],
        ),
        ("bouts", "b.csv", ["--subject", "mouse"]),
        ("bouts", "b.csv", ["--session", "mouse,session"]),
    ):
        done = run("import", kind, tmp_path / file, *options, "-o", tmp_path / "out.csv", "--force")
        assert done.exit_code == 0, done.output
        data = read_data(tmp_path / "out.csv")
        assert (kind, *data.names) == (kind, *expected)
        assert data.subjects == tuple(re.match(r"m\d+", name)[0] for name in data.names)


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_what_to_beware_of_is_said_once_on_stderr_and_even_when_quiet(quiet, tmp_path):
    pd.DataFrame({"x": [0.5, 0.5, 1.5, 1.5], "y": 0.5, "note": "a"}).to_csv(tmp_path / "a.csv", index=False)
    out = ["--grid", "1x2", "--bounds", "0,2,0,1", "-o", tmp_path / "sessions.csv", *quiet]
    done = run("import", "tracks", tmp_path / "a.csv", *out)
    assert done.exit_code == 0, done.output
    assert done.stderr.count("BEWARE: times are frame numbers") == 1
    assert "BEWARE" not in done.stdout
    assert bool(done.stdout) == (not quiet)
    (tmp_path / "b.csv").write_text("recording,state\n1,0\n2,1\n")
    done = run("import", "table", tmp_path / "b.csv", "-o", tmp_path / "b2.csv", *quiet)
    assert done.stderr.count("so all rows are one session") == 1
    checked = run("check", tmp_path / "b.csv", *quiet)
    assert checked.stderr.count("BEWARE: no column is called 'session'") == 1
    assert "Note" not in checked.stderr
    assert run("check", tmp_path / "b2.csv", *quiet).stderr == ""  # said when it was made


def test_json_has_every_note(tmp_path):
    (tmp_path / "b.csv").write_text("recording,state\n1,0\n2,1\n")
    done = run("import", "table", tmp_path / "b.csv", "-o", tmp_path / "b2.csv", "--json")
    assert "so all rows are one session" in json.loads(done.stdout)["notes"][0]
    assert done.output.count("so all rows are one session") == 1


def test_a_table_with_two_rows_for_each_bout_is_refused(tmp_path):
    (tmp_path / "boris.csv").write_text(
        "Behavior,Behavior type,Time\nrear,START,0.5\nrear,STOP,1.5\ngroom,START,2\ngroom,STOP,3\n"
    )
    options = ["--state", "Behavior", "--time", "Time", "-o", tmp_path / "sessions.csv"]
    done = run("import", "table", tmp_path / "boris.csv", *options)
    assert done.exit_code == 2
    assert "swirl import bouts" in done.stderr
    assert not (tmp_path / "sessions.csv").exists()
    assert run("import", "bouts", tmp_path / "boris.csv", "-o", tmp_path / "sessions.csv").exit_code == 0


def test_a_table_of_one_bout_teaches_nothing(tmp_path):
    """As the epochs of a recording that is one epoch: exit code 0 and a table of one step would mislead."""
    (tmp_path / "one.csv").write_text("start,stop,label\n0,1087.5,wake\n")
    done = run("import", "bouts", tmp_path / "one.csv", "-o", tmp_path / "sessions.csv")
    assert done.exit_code == 2
    assert "no session has two steps" in done.stderr
    assert not (tmp_path / "sessions.csv").exists()


def test_steps_instead_of_positions_are_told_loudly(tmp_path):
    """What a motion sensor writes (how far since the last row) jumps between places; a walk does not."""
    rng = np.random.default_rng(0)
    steps = pd.DataFrame({"t": np.arange(400) / 30, **dict(zip("xy", rng.normal(0, 5, (2, 400)), strict=True))})
    steps.to_csv(tmp_path / "steps.csv", index=False)
    walked = steps.assign(x=np.cumsum(steps.x) / 20, y=np.cumsum(steps.y) / 20)
    walked.to_csv(tmp_path / "walk.csv", index=False)
    for name, loud in (("steps", True), ("walk", False)):
        options = ["--grid", "8x8", "-o", tmp_path / f"{name}.out.csv"]
        done = run("import", "tracks", tmp_path / f"{name}.csv", *options)
        assert done.exit_code == 0, done.output
        assert ("BEWARE: that is" in done.output) is loud, done.output


BOUTS = {
    "START and STOP": (
        "Observation id,Subject,Behavior,Behavior type,Time\n"
        "o1,m1,rear,START,0.5\no1,m1,rear,STOP,1.5\no1,m1,rear,START,3\no1,m1,rear,STOP,4\n"
        "o1,m1,groom,START,4\no1,m1,groom,STOP,5\no2,m1,groom,START,1\no2,m1,groom,STOP,5\n"
        "o2,m1,rear,START,6\no2,m1,rear,STOP,7\n",
        [],
    ),
    "intervals": ("subject;from;to;type\nm1;0;1,5;1.5\nm1;1,5;2;true\nm1;2;3;-1\nm1;4;5;None but one\n", []),
    "overlaps": (
        "start,stop,label\n0,9,walk\n2,3,rear\n4,5,groom\n12,13,walk\n12.5,14,rear\n",
        ["--priority", "rear,groom"],
    ),
    "frames": ("motif\n1\n1\n2\n-1\n2\n1\n1\n", ["--fps", "10"]),
    "one-hot": (",background,attack\n0,1,0\n1,0,1\n2,0,1\n3,1,0\n4,0,1\n", ["--fps", "10", "--drop", "background"]),
}


@pytest.mark.parametrize("pauses", ["ignore", "state", "gap"])
@pytest.mark.parametrize("name", BOUTS)
def test_what_import_bouts_writes_is_what_check_accepts(tmp_path, name, pauses):
    text, options = BOUTS[name]
    (tmp_path / "bouts.csv").write_text(text)
    output = tmp_path / "sessions.csv"
    done = run("import", "bouts", tmp_path / "bouts.csv", *options, "--pauses", pauses, "-o", output)
    assert done.exit_code == 0, done.stderr
    checked = run("check", output, "--env", tmp_path / "sessions.env.csv")
    assert checked.exit_code == 0, checked.output
    env, data = back(tmp_path)
    if pauses == "ignore":  # then a label may follow itself: every one has a loop, or none
        twice = any(a == b for states in data.states for a, b in pairwise(states.tolist()))
        assert env.available.diagonal().tolist() == [twice] * env.n_states


def test_bouts_with_an_index_and_named_columns(tmp_path):
    (tmp_path / "m1.csv").write_text("a,b,c\n0,1,rear\n1,2.5,groom\n2.5,4,rear\n")
    (tmp_path / "index.csv").write_text("name,subject,group\nm1.csv,mouse 1,drug\n")
    names = ["--start", "a", "--stop", "b", "--label", "c", "--index", tmp_path / "index.csv"]
    done = run("import", "bouts", tmp_path / "m1.csv", *names, "-o", tmp_path / "sessions.csv")
    assert done.exit_code == 0, done.stderr
    _, data = back(tmp_path)
    assert (data.subjects, data.groups) == (("mouse 1",), ("drug",))
    assert data.signals["duration"][0].tolist() == [1, 1.5, 1.5]


def test_bouts_that_overlap_are_refused_in_words(tmp_path):
    (tmp_path / "m1.csv").write_text("subject,start,stop,label\nm1,0,5,walk\nm1,1,2,rear\n")
    done = run("import", "bouts", tmp_path / "m1.csv", "-o", tmp_path / "sessions.csv")
    assert done.exit_code == 2
    assert "'walk' from 0 to 5 s (line 2) and 'rear' from 1 to 2 s (line 3)" in done.stderr
    assert "--priority 'rear,walk'" in done.stderr
    assert not (tmp_path / "sessions.csv").exists()


@pytest.mark.filterwarnings("ignore")  # pynwb's own
def test_nwb(tmp_path):
    from swirl.data.trajectories import Trajectories
    from swirl.io.nwb.writing import write_nwb

    data = Trajectories([[0, 1, 0, 1, 0, 1]], times=[np.arange(6.0)], names=["day 1"], subjects=["m1"])
    [file] = write_nwb(tmp_path / "day.nwb", data, [np.array([0, 0, 1, 1, 2, 2])], mode_names=["rest", "run", "eat"])
    listed = run("import", "nwb", file, "--list")
    assert "(EthogramBouts): 3 rows, 0 to 6 s; labels eat, rest, run" in listed.stdout
    done = run("import", "nwb", file, "-o", tmp_path / "sessions.csv")
    assert done.exit_code == 0, done.output
    _, again = back(tmp_path)
    assert [again.state_names[s] for s in again.states[0]] == ["rest", "run", "eat"]
    assert again.subjects == ("m1",)


def test_names_with_dots_have_environments_of_their_own(tmp_path):
    arguments = of_nwb("TimeIntervals", "intervals.trials", ["left", "right", "left"])(tmp_path)
    for name in ("m1.2026.03.01.csv", "m1.2026.03.02.csv", "m1.2026.03.03.csv.gz", "m1.2026.03.04.parquet"):
        done = run("import", *arguments, "-o", tmp_path / name, "--json")
        assert done.exit_code == 0, done.output
        stem = name.removesuffix(".gz").rpartition(".")[0]
        files = [name, f"{stem}.env.csv", f"{stem}.env.states.csv", f"{stem}.import.json"]
        assert json.loads(done.stdout)["files"] == [str(tmp_path / file) for file in files]
        assert run("check", tmp_path / name, "--env", tmp_path / files[1]).exit_code == 0


def test_fps_and_individual_reach_nwb_and_two_clocks_are_not_mixed(tmp_path):
    frame = walk(tmp_path)
    series = {"data": frame[["x", "y"]].to_numpy(), "timestamps": np.arange(float(len(frame)))}
    names = [f"processing.behavior.Position.{name}" for name in ("m1", "m2")]
    write_nwb_by_hand(tmp_path / "p.nwb", **dict.fromkeys(names, ("SpatialSeries", series)))
    options = ["--grid", "2x2", "--individual", "m2", "-o", tmp_path / "sessions.csv"]
    done = run("import", "tracks", tmp_path / "p.nwb", *options, "--fps", 30)
    assert done.exit_code == 0, done.output
    assert "were divided by fps=30" in done.stdout
    _, data = back(tmp_path)
    assert data.subjects == ("m2",)
    np.testing.assert_allclose(data.times[0], np.arange(0, 24, 3) / 30)
    both = run("import", "tracks", tmp_path / "p.nwb", tmp_path / "walk.csv", *options[:2], *options[4:], "--force")
    assert both.exit_code == 2
    series["timestamps"] = series["timestamps"] / 30 * 1000
    write_nwb_by_hand(tmp_path / "p.nwb", **{names[0]: ("SpatialSeries", series)})
    both = run("import", "tracks", tmp_path / "p.nwb", tmp_path / "walk.csv", *options[:2], *options[4:], "--force")
    assert both.exit_code == 0, both.output
    assert "BEWARE: two clocks" in both.output


def test_the_environment_of_another_table_is_not_replaced_unasked(tmp_path):
    arguments = of_nwb("TimeIntervals", "intervals.trials", ["left", "right", "left"])(tmp_path)
    assert run("import", *arguments, "-o", tmp_path / "day.csv").exit_code == 0
    again = run("import", *arguments, "-o", tmp_path / "day.parquet")
    assert again.exit_code == 2
    assert "day.env.csv exists already" in again.stderr
    assert not (tmp_path / "day.parquet").exists()


def test_the_environment_beside_is_not_written_over_what_is_read(tmp_path):
    zones(tmp_path, T_MAZE)
    (tmp_path / "maze.env.csv").write_text("from,to\nstem,junction\njunction,left\njunction,right\n")
    options = ["--polygons", tmp_path / "zones.json", "--edges", tmp_path / "maze.env.csv", "-o", tmp_path / "maze.csv"]
    done = run("import", "tracks", tmp_path / "a.csv", *options, "--force")
    assert done.exit_code == 2
    assert "is what is being read" in done.stderr
    assert not (tmp_path / "maze.csv").exists()


def test_a_record_of_the_import_lies_beside_the_table(tmp_path):
    """Which file, which options, what was left out: and it is kept from being replaced, as the table is."""
    walk(tmp_path)
    options = ["--grid", "2x2", "--unit", "cm", "--min-dwell", "0.01", "-o", tmp_path / "day.csv"]
    done = run("import", "tracks", tmp_path / "walk.csv", *options)
    assert done.exit_code == 0, done.output
    record = json.loads((tmp_path / "day.import.json").read_text())
    digest = hashlib.sha256((tmp_path / "walk.csv").read_bytes()).hexdigest()
    [source] = record["sources"]
    assert source == {
        "file": str(tmp_path / "walk.csv"),
        "bytes": (tmp_path / "walk.csv").stat().st_size,
        "sha256": digest,
    }
    options_used = {"grid": "2x2", "unit": "cm", "min_dwell": 0.01, "on_skip": "gap"}
    assert record["options"] == {"command": "swirl import tracks", **options_used}
    assert "x and y are in cm" in record["notes"]
    assert all(as_typed_here(note) in done.output for note in record["notes"])
    assert "True (--diagonal)" not in done.output  # what one types in Python is for the record
    (tmp_path / "day.csv").unlink()
    (tmp_path / "day.env.csv").unlink()
    (tmp_path / "day.env.states.csv").unlink()
    again = run("import", "tracks", tmp_path / "walk.csv", *options)
    assert again.exit_code == 2
    assert "day.import.json exists already" in again.stderr


def deeplabcut(path, part="nose"):
    """A walk through four cells, as DeepLabCut saves it."""
    network, walk = "DLC_net", np.repeat([[1, 1], [3, 1], [3, 3], [1, 3]], 10, axis=0)
    columns = pd.MultiIndex.from_product([[network], [part], ["x", "y", "likelihood"]])
    columns = columns.set_names(["scorer", "bodyparts", "coords"])
    path.parent.mkdir(exist_ok=True)
    pd.DataFrame(np.column_stack([walk, np.ones(len(walk))]), columns=columns).to_csv(path)
    return path


def test_one_video_is_not_taken_twice(tmp_path):
    """DeepLabCut leaves the filtered file beside the other, under the name of the same video."""
    plain, filtered = (deeplabcut(tmp_path / "a" / f"m1DLC_net{end}.csv") for end in ("", "_filtered"))
    there = ("--fps", 10, "--grid", "2x2", "-o", tmp_path / "sessions.csv")
    done = run("import", "tracks", plain, filtered, *there)
    assert done.exit_code == 2
    assert "are of one recording, 'm1': give only one of them" in " ".join(done.stderr.split())
    assert not (tmp_path / "sessions.csv").exists()
    other = deeplabcut(tmp_path / "b" / "m1DLC_net.csv")
    assert run("import", "tracks", plain, other, *there).exit_code == 0
    assert back(tmp_path)[1].names == ("a/m1", "b/m1")


def test_one_recording_in_two_files_named_after_its_animal_is_not_taken_twice(tmp_path):
    rows = ["time,x,y,animal", *(f"{i / 10},{i % 2},{i % 2},m1" for i in range(8))]
    plain, tabs = tmp_path / "m1 run.csv", tmp_path / "m1 run.tsv"
    plain.write_text("\n".join(rows))
    tabs.write_text("\n".join(rows).replace(",", "\t"))
    with pytest.raises(ValueError, match=r"are of one recording, 'm1 run': give only one of them"):
        import_tracks([plain, tabs], grid="1x2")
    with pytest.raises(ValueError, match=r"m1 run.csv is given more than once: give each file once"):
        import_tracks([plain, plain], grid="1x2")
    assert import_tracks([plain], grid="1x2").data.names == ("m1 run",)


def test_two_recordings_never_get_one_name(tmp_path):
    rows = ["time,x,y,animal", *(f"{i / 10},{i % 2},{i % 2},{mouse}" for mouse in ("m1", "m2") for i in range(8))]
    files = []
    for folder in ("A/day1", "B/day1", "B/day2"):
        (tmp_path / folder).mkdir(parents=True)
        files.append(tmp_path / folder / "v.csv")
        files[-1].write_text("\n".join(rows))
    names = import_tracks(files, grid="1x2").data.names
    assert names == tuple(f"{day}/{mouse} v" for day in ("A/day1", "B/day1", "B/day2") for mouse in ("m1", "m2"))
    names = import_tracks(files[1:], grid="1x2").data.names
    assert names == ("day1/m1 v", "day1/m2 v", "day2/m1 v", "day2/m2 v")
    numbered = [tmp_path / f"p.{suffix}" for suffix in ("csv", "txt")]  # of one folder and one name
    for file in numbered:
        file.write_text("\n".join(["session,time,x,y", *(f"1,{i / 10},{i % 2},{i % 2}" for i in range(8))]))
    with pytest.raises(ValueError, match=rf"would both be called '{tmp_path.name}/1': rename one of them, or its"):
        import_tracks(numbered, grid="1x2")


def test_sessions_that_files_call_alike_are_named_after_the_files(tmp_path):
    """As EthoVision does in Excel: in each trial's file the sheet has the same name."""
    for trial in ("Trial 1", "Trial 2"):
        (tmp_path / f"{trial}.csv").write_text("session,t,x,y\nArena 1,0,0,0\nArena 1,0.1,1,1\nArena 1,0.2,0,0\n")
    files = [tmp_path / f"{trial}.csv" for trial in ("Trial 1", "Trial 2")]
    done = run("import", "tracks", *files, "--grid", "1x2", "-o", tmp_path / "sessions.csv")
    assert done.exit_code == 0, done.output
    assert back(tmp_path)[1].names == ("Trial 1 Arena 1", "Trial 2 Arena 1")


def test_signals_are_chosen_and_groups_arrive(tmp_path):
    rows = [f"{'drug' if i < 4 else 'none'},m{i // 4},{i % 4},{i % 2},0,{i},{2 * i}" for i in range(8)]
    (tmp_path / "all.csv").write_text("dose,animal,t,x,y,speed,area\n" + "\n".join(rows))
    there = ("import", "tracks", tmp_path / "all.csv", "--grid", "1x2", "--group", "dose", "--force")
    there += ("-o", tmp_path / "sessions.csv")
    for options, signals in (
        ((), {"dwell", "speed", "area"}),
        (("--signals", "speed"), {"dwell", "speed"}),
        (
            ("--signals", "none"),
            {"dwell"},
        ),
    ):
        assert run(*there, *options).exit_code == 0
        data = back(tmp_path)[1]
        assert (data.groups, set(data.signals)) == (("drug", "none"), signals)
    wrong = run(*there, "--signals", "sped")
    assert wrong.exit_code == 2
    assert "no 'sped' (--signals) among area, speed; did you mean 'speed'?" in " ".join(wrong.stderr.split())


def test_visits_that_are_all_too_short_are_not_put_down_to_units(tmp_path):
    file = deeplabcut(tmp_path / "m1DLC_net.csv")
    done = run("import", "tracks", file, "--fps", 1000, "--grid", "2x2", "--min-dwell", 0.1, "-o", tmp_path / "s.csv")
    told = " ".join(done.stderr.split())
    assert "40 of 40 positions are in a place" in told
    assert "shorter than min_dwell=0.1 s (--min-dwell) were taken out: is the frame rate right" in told
    assert "unit" not in told


def test_numbers_of_tracks_are_no_names_of_animals(tmp_path):
    rows = [f"{t},{x},{x},{who}" for who in ("track_0", "track_1") for t, x in enumerate([0, 0, 1, 1, 0])]
    (tmp_path / "day1.csv").write_text("frame,x,y,track\n" + "\n".join(rows))
    (tmp_path / "index.csv").write_text("name,subject\ntrack_0 day1,m1\ntrack_1 day1,m2\n")
    there = ("import", "tracks", tmp_path / "day1.csv", "--fps", 1, "--grid", "1x2", "-o", tmp_path / "sessions.csv")
    done = run(*there)
    assert done.exit_code == 0, done.output
    assert "BEWARE: 'track_0', 'track_1': numbers of tracks, and not names of animals" in " ".join(done.stderr.split())
    assert "numbers of tracks" not in run(*there, "--force", "--index", tmp_path / "index.csv").stderr
    assert back(tmp_path)[1].subjects == ("m1", "m2")


def test_notes_that_differ_only_in_the_session_are_printed_once(tmp_path):
    files = [tmp_path / f"{name}.csv" for name in ("m1", "m2", "m3")]
    for n, file in enumerate(files, start=1):
        lost = "\n".join(f"0.{9 - i},," for i in reversed(range(n)))
        file.write_text(f"t,x,y\n0,0,0\n0.1,1,1\n0.2,0,0\n0.3,1,1\n{lost}\n")
    done = run("import", "tracks", *files, "--grid", "1x2", "-o", tmp_path / "sessions.csv")
    assert done.exit_code == 0, done.output
    assert "- m1: 1 of 5 frames without a position. (2 more like this.)" in done.stdout
    assert "m2:" not in done.stdout
    notes = json.loads((tmp_path / "sessions.import.json").read_text())["notes"]
    assert [note for note in notes if note.startswith("m3: 3 of 7 frames")]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("options", [[], ["-q"], ["--json"]])
@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_which_of_many_files_is_read(terminal, options, tmp_path, monkeypatch, capsys):
    walk(tmp_path)
    table = (tmp_path / "walk.csv").read_text(encoding="utf-8")
    names = [f"m{number}.csv" for number in range(5)]
    for name in names:
        (tmp_path / name).write_text(table, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    command = ["import", "tracks", *names, "--grid", "2x2", "-o", "out.csv", *options]
    with suppress(SystemExit):
        app(command)
    assert (tmp_path / "out.csv").exists()
    shown = re.findall(r"Reading file (\d) of 5: (m\d\.csv) …", stream.getvalue())
    expected = [(str(number + 1), name) for number, name in enumerate(names)]
    assert shown == (expected if terminal and not options else [])
    assert "Reading" not in capsys.readouterr().out


def test_every_reader_says_which_file_it_reads(tmp_path):
    files = [tmp_path / f"{name}.csv" for name in "ab"]
    for file in files:
        file.write_text("start,stop,label\n0,1,rest\n1,2,walk\n", encoding="utf-8")
    heard = []
    import_bouts(files, callback=heard.append)
    assert heard == ["Reading file 1 of 2: a.csv", "Reading file 2 of 2: b.csv"]
    heard.clear()
    trials = {"intervals.trials": ("TimeIntervals", bouts(["x", "y"]))}
    nwb = [write_nwb_by_hand(tmp_path / f"{name}.nwb", **trials) for name in "cd"]
    import_nwb(nwb, table="trials", label="label", callback=heard.append)
    assert heard == ["Reading file 1 of 2: c.nwb", "Reading file 2 of 2: d.nwb"]
    heard.clear()
    import_bouts(files[:1], callback=heard.append)
    assert heard == []
    model = tmp_path / "model" / "results"
    model.mkdir(parents=True)
    for name in "ef":
        (model / f"{name}.csv").write_text("syllable\n0\n0\n1\n0\n", encoding="utf-8")
    (model / "index.csv").write_text("name,group\ne,drug\nf,saline\n", encoding="utf-8")
    import_moseq(model.parent, fps=30, callback=heard.append)
    assert heard == ["Reading file 1 of 2: e.csv", "Reading file 2 of 2: f.csv"]
    heard.clear()
    import_moseq(model / "e.csv", fps=30, callback=heard.append)
    assert heard == []


def test_a_terminal_shows_which_file_of_a_folder_of_syllables_is_read(tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    for number in range(3):
        (tmp_path / "results" / f"m{number}.csv").write_text("syllable\n0\n0\n1\n0\n", encoding="utf-8")
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with suppress(SystemExit):
        app(["import", "moseq", str(tmp_path), "--fps", "30", "-o", str(tmp_path / "s.csv")])
    shown = re.findall(r"Reading file (\d) of 3: (m\d\.csv) …", stream.getvalue())
    assert shown == [("1", "m0.csv"), ("2", "m1.csv"), ("3", "m2.csv")]


# ---------------------------------------------------------------------- from Python

THREE_BOUTS = "start,stop,label\n0,2,rear\n2,3,groom\n3,5,rear\n"


def by_hand(folder):
    """What the command line and Python are given: kind, arguments of the command, and the call."""
    walk(folder)
    (folder / "bouts.csv").write_text(THREE_BOUTS)
    file = write_nwb_by_hand(folder / "a.nwb", **{"intervals.trials": ("TimeIntervals", bouts(["l", "r", "r"]))})
    of = swirl.recordings
    table = folder / "walk.csv"
    return {
        "tracks": (["tracks", table, "--grid", "2x2"], lambda: of.import_tracks(table, grid="2x2")),
        "bouts": (["bouts", folder / "bouts.csv"], lambda: of.import_bouts(folder / "bouts.csv")),
        "nwb": (["nwb", file], lambda: of.import_nwb(file)),
    }


@pytest.mark.parametrize("kind", ["tracks", "bouts", "nwb"])
def test_python_gives_the_sessions_and_the_environment_of_the_command(kind, tmp_path):
    command, call = by_hand(tmp_path)[kind]
    done = run("import", *command, "-o", tmp_path / "sessions.csv")
    assert done.exit_code == 0, done.output
    env, data = back(tmp_path)
    ours = call()
    assert ours.env.check(ours.data) is None
    mine, its = ours
    assert mine.state_names == its.state_names == env.state_names

    def named(of, numbers):
        return [of.action_names[a] if a >= 0 else None for a in np.asarray(numbers).tolist()]

    for s in range(env.n_states):  # a file may number its actions otherwise
        here, there = np.flatnonzero(its.available[s]), np.flatnonzero(env.available[s])
        assert set(named(its, here)) == set(named(env, there))
    np.testing.assert_array_equal(mine.states[0], data.states[0])
    assert named(its, mine.actions[0]) == named(env, data.actions[0])
    np.testing.assert_allclose(mine.times[0], data.times[0])


def test_the_cells_of_every_grid_are_called_alike(tmp_path):
    """Rows are counted from the top of maps, whichever way y grows: in imports, `swirl env grid` and `swirl power`."""
    corners = {"r0c0": (0.5, 5.5), "r0c2": (5.5, 5.5), "r1c0": (0.5, 0.5), "r1c2": (5.5, 0.5)}  # on the screen

    def corner(env, name):
        return tuple(np.sign(env.coordinates[env.state_names.index(name)] - env.coordinates.mean(axis=0)))

    assert run("env", "grid", "2x3", "--labels", "r0c0", "-o", tmp_path / "arena.csv").exit_code == 0
    arena = read_environment(tmp_path / "arena.csv")
    told = {name: corner(arena, name) for name in corners}
    assert told == {"r0c0": (-1, 1), "r0c2": (1, 1), "r1c0": (-1, -1), "r1c2": (1, -1)}
    drawn = arena_of("2x3")
    assert {name: corner(drawn, name) for name in corners} == told
    way = ["r0c0", "r1c0", "r0c0", "r0c1", "r0c2", "r1c2"]
    there = {**corners, "r0c1": (3.0, 5.5)}
    for flag, down in (("--y-up", False), ("--y-down", True)):
        xy = np.array([there[name] for name in way])
        xy[:, 1] = 6 - xy[:, 1] if down else xy[:, 1]
        pd.DataFrame({"x": xy[:, 0], "y": xy[:, 1], "t": np.arange(6.0)}).to_csv(tmp_path / "a.csv", index=False)
        out = ["--grid", "2x3", "--bounds", "0,6,0,6", flag, "-o", tmp_path / "sessions.csv", "--force"]
        done = run("import", "tracks", tmp_path / "a.csv", *out)
        assert "r0c0 is at the top left of maps, as in swirl env grid" in done.output
        assert ("earlier versions" in done.output) != down  # there nothing was otherwise
        env, data = back(tmp_path)
        assert [data.state_names[s] for s in data.states[0]] == way
        assert {name: corner(env, name) for name in corners} == told
        assert [data.action_names[a] for a in data.actions[0][:-1]] == ["down", "up", "right", "right", "down"]
        arena.check(data)  # cells and moves are called alike, so either environment will do
        np.testing.assert_array_equal(
            read_data(tmp_path / "sessions.csv", env=arena).states[0], [arena.state_names.index(name) for name in way]
        )
    # Names come from the file: an environment of an earlier version, r0c0 at the bottom, is read as it was meant.
    table = tmp_path / "sessions.env.states.csv"
    states = pd.read_csv(table)
    states.assign(y=-states["y"]).to_csv(table, index=False)
    assert corner(read_environment(tmp_path / "sessions.env.csv"), "r0c0") == (-1, -1)


def test_a_grid_of_ones_own_stands_as_the_tracks_do(tmp_path):
    """The same places are blocked, whichever way rows are counted in the end."""
    table = walk(tmp_path)
    grid = Grid(x=(0, 2), y=(0, 3), shape=(3, 2)).without([(0, 0), (0, 1)])  # the row with the highest y
    up = swirl.recordings.import_tracks(table, places=grid)
    down = swirl.recordings.import_tracks(table, places=grid, y_down=True)
    assert (up.env.state_names, down.env.state_names) == (
        ("r1c0", "r1c1", "r2c0", "r2c1"), ("r0c0", "r0c1", "r1c0", "r1c1"),
    )  # fmt: skip
    for data, env in (up, down):
        assert env.state_names[data.states[0][0]] == ("r2c0" if data is up.data else "r0c0")
    turned = swirl.recordings.import_tracks(table, places=grid.standing(True))
    assert turned.env.state_names == down.env.state_names
    assert turned.data.states[0].tolist() == down.data.states[0].tolist()


def test_places_may_be_an_object_and_positions_too(tmp_path):
    table = walk(tmp_path)
    grid = Grid(x=(0, 2), y=(0, 2), shape=(2, 2))
    data, env = swirl.recordings.import_tracks(table, places=grid)
    other, same = swirl.recordings.import_tracks([tmp_path / "walk.csv"], grid="2x2", bounds="0,2,0,2")
    assert (data.states[0].tolist(), env.state_names) == (other.states[0].tolist(), same.state_names)
    tracks = read_tracks(table)
    assert swirl.recordings.import_tracks(tracks, places=grid).data.states[0].tolist() == data.states[0].tolist()
    with pytest.raises(ValueError, match="places are given, so leave out grid"):
        swirl.recordings.import_tracks(table, places=grid, grid="2x2")


def test_what_to_beware_of_is_a_warning_in_python(tmp_path):
    (tmp_path / "b.csv").write_text("recording,state\n1,0\n2,1\n")
    with pytest.warns(swirl.ImportNotice, match="so all rows are one session"):
        data, env = swirl.recordings.import_table(tmp_path / "b.csv")
    assert (len(data), env) == (1, None)
    assert any("so all rows are one session" in note for note in data.notes)


def test_the_rows_of_a_stay_become_one_step_of_a_table(tmp_path):
    rows = [
        "1,0.0,nest,0.5",
        "1,1.0,nest,1.5",
        "1,2.1,food,3",
        "1,3.0,,4",
        "1,4.0,food,",
        "2,0.0,food,7",
        "2,1.0,nest,8",
    ]
    (tmp_path / "ticks.csv").write_text("day,s,cell,dff\n" + "\n".join(rows) + "\n")
    columns = {"session": "day", "time": "s", "state": "cell"}
    data, env = swirl.recordings.import_table(tmp_path / "ticks.csv", columns, merge=True)
    assert env is None
    assert [states.tolist() for states in data.states] == [[1, 0, 0], [0, 1]]
    assert [times.tolist() for times in data.times] == [[0, 2.1, 4], [0, 1]]
    assert [gaps.tolist() for gaps in data.gaps] == [[2], []]  # no cell is known between
    np.testing.assert_allclose(data.signals["dff"][0], [1, 3, np.nan])
    np.testing.assert_allclose(data.signals["dwell"][0], [2.1, 1.05, 1.05], atol=1e-9)
    assert data.notes[-1].startswith("6 rows became 5 steps")
    assert [lines.tolist() for lines in data.source_lines] == [[2, 4, 6], [7, 8]]
    once = swirl.recordings.save(swirl.recordings.Imported(data, None), tmp_path / "merged.csv")[0]
    again = swirl.recordings.import_table(once, merge=True).data
    assert [states.tolist() for states in again.states] == [[1, 0, 0], [0, 1]]
    for name in ("dff", "dwell"):
        np.testing.assert_allclose(again.signals[name][0], data.signals[name][0])


@pytest.mark.parametrize(
    ("bounds", "moved"),
    [("0,3,0,3", 0), ("0.1,3.1,0.1,3.1", 0), ("30,33,30,33", 9), ("0,3,0,9", 9)],
    ids=["the same", "a little", "elsewhere", "stretched"],
)
def test_a_table_whose_cells_lie_elsewhere_than_those_of_the_environment(tmp_path, bounds, moved):
    rng = np.random.default_rng(0)

    def imported(name, bounds):
        x0, x1, y0, y1 = map(float, bounds.split(","))
        xy = rng.uniform([x0, y0], [x1, y1], size=(200, 2))
        walk = pd.DataFrame({"t": np.arange(200) / 10, "x": xy[:, 0], "y": xy[:, 1]})
        walk.to_csv(tmp_path / f"{name}.raw.csv", index=False)
        raw, table = str(tmp_path / f"{name}.raw.csv"), str(tmp_path / f"{name}.csv")
        options = ["--grid", "3x3", "--bounds", bounds, "--diagonal", "-o", table]
        assert CliRunner().invoke(app, ["import", "tracks", raw, *options]).exit_code == 0

    imported("one", "0,3,0,3")
    imported("two", bounds)
    for env in (tmp_path / "one.env.csv", read_environment(tmp_path / "one.env.csv")):  # --env, and that of a fit
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            read_sessions(tmp_path / "two.csv", env=env)
        said = [str(each.message) for each in told if "elsewhere" in str(each.message)]
        assert len(said) == (moved > 0)
        assert not moved or said[0].startswith(f"BEWARE: {moved} of 9 places lie elsewhere in the recording of two.csv")


def elsewhere(read, *given, **named):
    """What is said of places that lie elsewhere, when a table is read."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        read(*given, **named)
    return [str(each.message) for each in told if "elsewhere" in str(each.message)]


def through_cells(n):
    """A walk through all cells of an n × n arena, to and fro."""
    cell = np.arange(n * n)
    column = np.where(cell // n % 2, n - 1 - cell % n, cell % n)
    return pd.DataFrame({"t": cell / 10, "x": column + 0.5, "y": cell // n + 0.5})


def test_places_of_an_environment_that_was_drawn_lie_nowhere(tmp_path):
    """As the guides say: import on a grid, and make its environment with walls by `swirl env`."""
    walk = through_cells(6) * [1, 10, 10]
    table, drawn = tmp_path / "one.csv", tmp_path / "arena.csv"
    imported = import_tracks(walk, grid="6x6", bounds="0,60,0,60")
    swirl.recordings.save(imported, table)
    done = run("env", "grid", "6x6", "--labels", "r0c0", "-o", drawn)
    assert done.exit_code == 0, done.output
    assert not elsewhere(read_sessions, table, env=drawn)
    shifted = import_tracks(walk.assign(x=walk["x"] + 60), grid="6x6", bounds="60,120,0,60")
    swirl.recordings.save(shifted, tmp_path / "two.csv")
    assert len(elsewhere(read_sessions, tmp_path / "two.csv", env=tmp_path / "one.env.csv")) == 1
    assert not elsewhere(read_sessions, tmp_path / "two.csv", env=drawn)


@pytest.mark.parametrize(("swapped", "n_told"), [(False, 0), (True, 1)], ids=["another size", "other places"])
def test_zones_on_videos_of_two_sizes(tmp_path, swapped, n_told):
    def imported(name, size, order):
        squares = [[[x, 0], [x + size, 0], [x + size, size], [x, size]] for x in (0, size)]
        zones = tmp_path / f"{name}.json"
        zones.write_text(json.dumps(dict(zip(order, squares, strict=True))))
        walk = pd.DataFrame({"t": np.arange(40) / 10, "x": np.tile(np.repeat([0.5, 1.5], 5), 4) * size, "y": size / 2})
        swirl.recordings.save(import_tracks(walk, polygons=zones), tmp_path / f"{name}.csv")

    imported("small", 320, ["left", "right"])
    imported("large", 640, ["right", "left"] if swapped else ["left", "right"])
    told = elsewhere(read_sessions, tmp_path / "large.csv", env=tmp_path / "small.env.csv")
    assert len(told) == n_told
    if told:
        assert told[0].startswith("BEWARE: 2 of 2 places lie elsewhere in the recording of large.csv")
        assert "--bounds" not in told[0]


def test_places_elsewhere_are_told_of_streamed_tables(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    walk = through_cells(8)
    for name, shift in (("one", 0), ("two", 30)):
        shifted, bounds = walk.assign(x=walk["x"] + shift), f"{shift},{8 + shift},0,8"
        swirl.recordings.save(import_tracks(shifted, grid="8x8", bounds=bounds), tmp_path / f"{name}.parquet")
    env = read_environment(tmp_path / "one.env.csv")
    assert "BEWARE: 64 of 64 places" in elsewhere(stream_sessions, tmp_path, env=env)[0]
    monkeypatch.delattr("swirl.workflows.load._to_the_nearest")  # where nothing moved nothing is measured
    assert not elsewhere(stream_sessions, tmp_path / "one.parquet", env=env)


def test_numbers_that_name_things_become_names(tmp_path):
    path = tmp_path / "reads.csv"
    path.write_text("animal,reader\n" + "".join(f"m1,{reader}\n" for reader in (2200, 2700, 2200, 2100, 2400)))
    found = swirl.recordings.import_table(path, {"state": "reader", "session": "animal"})
    assert found.data.state_names == ("state 2100", "state 2200", "state 2400", "state 2700")
    assert found.data.states[0].tolist() == [1, 3, 1, 0, 2]
    assert any("4 numbers up to 2,700 are the states" in note for note in found.data.notes)
    swirl.recordings.save(found, tmp_path / "sessions.csv")
    assert read_data(tmp_path / "sessions.csv").state_names == found.data.state_names
    for cells in ((0, 80, 3, 99), (385, 386, 385, 386)):  # of a grid, of a maze of 400
        path.write_text("animal,reader\n" + "".join(f"m1,{cell}\n" for cell in cells))
        assert swirl.recordings.import_table(path, {"state": "reader", "session": "animal"}).data.state_names is None


def test_actions_that_are_the_next_state_are_named_as_it_is(tmp_path):
    path = tmp_path / "reads.csv"
    reads = [2200, 2700, 2200, 2100, 2400] * 6
    rows = [f"m1,{here},{then}\n" for here, then in zip(reads, [*reads[1:], ""], strict=True)]
    path.write_text("animal,state,action\n" + "".join(rows))
    found = swirl.recordings.import_table(path, {"session": "animal"})
    assert (found.data.n_states, found.data.n_actions) == (4, 4)
    assert found.data.action_names == found.data.state_names
    assert found.data.actions[0][:-1].tolist() == found.data.states[0][1:].tolist()
    assert found.data.actions[0][-1] == -1
    swirl.recordings.save(found, tmp_path / "sessions.csv")
    done = run("check", tmp_path / "sessions.csv", "--env", "syllables")
    assert done.exit_code == 0, done.output
    path.write_text("animal,state,action\n" + "".join(f"m1,{here},{i % 3}\n" for i, here in enumerate(reads)))  # moves
    moved = swirl.recordings.import_table(path, {"session": "animal"}).data
    assert (moved.n_states, moved.n_actions, moved.action_names) == (4, 3, None)


def test_signals_called_as_our_columns_are_left_out(tmp_path):
    path = tmp_path / "walk.csv"
    path.write_text("X;Y;Speed;State\n" + "".join(f"{i};{i % 3};1.5;{i % 2}\n" for i in range(9)))
    found = swirl.recordings.import_tracks(path, fps=25, grid="3x3")
    assert set(found.data.signals) == {"dwell", "Speed"}
    assert any("Left out 'State'" in note for note in found.data.notes)
    swirl.recordings.save(found, tmp_path / "sessions.csv")


@pytest.mark.parametrize("n_strays", [0, 3])
def test_edges_of_an_arena_that_strays_have_set_are_said_aloud(n_strays):
    """Three slips of the tracker in 6,000 frames had made cells half as large again, in silence."""
    rng = np.random.default_rng(0)
    walk = np.clip(np.cumsum(rng.normal(0, 4, (6000, 2)), axis=0) % 200, 0, 100)
    walk[:n_strays] = np.array([[-150.0, 260.0], [300.0, 50.0], [40.0, -90.0]])[:n_strays]
    track = Track("day 1", np.arange(6000) / 10, walk)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data, _ = import_tracks(track, grid="4x4")
        [told] = [note for note in data.notes if "edges" in note]
        given, _ = import_tracks(track, grid="4x4", bounds="0,100,0,100")
    assert not [note for note in given.notes if "edges" in note]
    if n_strays:
        assert told.startswith("BEWARE: stray positions set the edges of the grid, x -150 to 300 and y -90 to 260: 0.2")
        typed = told.split("--bounds ")[-1].removesuffix(".")
        np.testing.assert_allclose([float(x) for x in typed.split(",")], [0, 100, 0, 100], atol=0.5)
    else:
        assert told.startswith("The grid holds all positions, x 0.0225 to 100 and y 0.01718 to 100.")
