"""Files that other tools wrote (fixtures/real): each through `swirl import`, and beside it a reading of its own here.

`studies/real_files.py` does the same with many more files, of public repositories, which are not kept here.
"""

import csv
import hashlib
import itertools
import json
import re
import sys
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

from command_line import swirl
from swirl.io.tracks import read_tracks

REAL = Path(__file__).parent.parent / "fixtures" / "real"
FIRST = "e3v813a-20210610T120637-121213_reencode.csv"
OTHERS = "e3v813a-20210610T122332-122642_reencode.csv", "e3v813a-20210610T122758-123309_reencode.csv"
TWO_BEHAVIOURS = "e3v813a-20210610T120637-121213_reencode_multiple_behaviors.csv"
TRIALS = ("--start", "stimOn_times", "--stop", "feedback_times", "--label", "choice")


def imported(capsys, folder, *words):
    """What `swirl import` writes of files of fixtures/real, as text, once `swirl check` has accepted it."""
    output = folder / "imported.csv"
    words = [str(REAL / word) if word in listed() else word for word in words]
    code, said = swirl(capsys, "import", *words, "-o", str(output))
    assert code == 0, said.out + said.err
    code, said_of_check = swirl(capsys, "check", str(output), "--env", str(folder / "imported.env.csv"))
    assert code == 0, said_of_check.out + said_of_check.err
    with output.open(newline="") as file:
        return list(csv.DictReader(file)), said.out + said.err


def refusal(capsys, folder, *words):
    """What `swirl import` says where it writes nothing."""
    output = folder / "imported.csv"
    code, said = swirl(capsys, "import", words[0], str(REAL / words[1]), *words[2:], "-o", str(output))
    assert code == 2, said.out + said.err
    assert list(folder.iterdir()) == []
    return said.out + said.err


# ---------------------------------------------------------------------- the folder


def listed():
    """The rows of the README's table: file → (licence file, SHA-256)."""
    row = re.compile(r"^\| `([^`]+)` \|.*\[[^]]+\]\(([^)]+)\) \| `([0-9a-f]{64})` \|", re.MULTILINE)
    return {name: (licence, sha) for name, licence, sha in row.findall((REAL / "README.md").read_text("utf-8"))}


def test_every_file_is_listed_with_its_licence_and_nothing_else_is_there():
    kept = {path.name for path in REAL.iterdir() if path.is_file()} - {"README.md", ".gitattributes"}
    assert kept == set(listed())
    licences = {licence for licence, _ in listed().values()}
    assert licences == {f"licenses/{path.name}" for path in (REAL / "licenses").iterdir()}
    assert all("copyright" in (REAL / licence).read_text("utf-8").lower() for licence in licences)


def test_the_files_are_as_the_packages_have_them_and_small():
    for name, (_, sha) in listed().items():
        assert hashlib.sha256((REAL / name).read_bytes()).hexdigest() == sha, name
    sizes = [(REAL / name).stat().st_size for name in listed()]
    assert max(sizes) < 60_000
    assert sum(sizes) < 500_000


def test_every_file_is_read_by_a_test():
    text = Path(__file__).read_text("utf-8")
    assert [name for name in listed() if name not in text] == []


# ---------------------------------------------------------------------- bouts


def by_session(bouts):
    """Session → its (label, start, stop), in the order of time."""
    found = {}
    for session, *bout in sorted(bouts, key=lambda bout: (bout[0], bout[2])):
        found.setdefault(session, []).append(tuple(bout))
    return found


def generic_seq(name):
    """crowsetta's rows, one for each syllable."""
    with (REAL / name).open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [(row["notated_path"], row["label"], float(row["onset_s"]), float(row["offset_s"])) for row in rows]


def boris(*names):
    """START and STOP rows of BORIS, below its lines on the observation."""
    found = []
    for name in names:
        lines = (REAL / name).read_text("utf-8").splitlines()
        observation = lines[0].split(",")[1]
        top = next(i for i, line in enumerate(lines) if line.startswith("Time,Media"))
        begun = {}
        for row in csv.DictReader(lines[top:]):
            if row["Status"] == "START":
                begun[row["Behavior"]] = float(row["Time"])
            else:
                found.append((observation, row["Behavior"], begun.pop(row["Behavior"]), float(row["Time"])))
        assert begun == {}
    return found


def trials(name):
    """From the stimulus to the feedback of each trial, and what was chosen."""
    table = pd.read_csv(REAL / name)
    called = {1: "1", -1: "state -1"}
    return [
        ("trials_df_test", called[choice], start, stop)
        for start, stop, choice in table[["stimOn_times", "feedback_times", "choice"]].itertuples(index=False)
    ]


def assert_bouts(rows, bouts):
    """Labels, starts and lengths of what was written are those of the bouts, and an action is the next label."""
    expected = by_session(bouts)
    written = {}
    for row in rows:
        written.setdefault(row["session"], []).append(row)
    assert set(written) == set(expected)
    for session, theirs in expected.items():
        ours = written[session]
        assert [row["state"] for row in ours] == [label for label, _, _ in theirs]
        assert [row["action"] for row in ours] == [*(label for label, _, _ in theirs[1:]), ""]
        assert [float(row["t"]) for row in ours] == [start for _, start, _ in theirs]
        assert [float(row["duration"]) for row in ours] == [stop - start for _, start, stop in theirs]


@pytest.mark.parametrize(
    ("names", "theirs", "n_sessions", "options"),
    [
        (("bird1.csv",), generic_seq, 10, ()),
        ((FIRST,), boris, 1, ()),
        (OTHERS, boris, 2, ()),
        (("trials_df_test.csv",), trials, 1, TRIALS),
    ],
    ids=["crowsetta", "BORIS", "BORIS, two files", "trials"],
)
def test_bouts_are_those_of_the_file(capsys, tmp_path, names, theirs, n_sessions, options):
    rows, _ = imported(capsys, tmp_path, "bouts", *names, *options)
    bouts = theirs(*names)
    assert len({session for session, *_ in bouts}) == n_sessions
    assert_bouts(rows, bouts)


def test_a_trial_table_is_asked_for_its_columns(capsys, tmp_path):
    said = refusal(capsys, tmp_path, "bouts", "trials_df_test.csv")
    assert "If its rows are bouts, name its columns (--start, --stop, --label)" in said


def test_behaviours_that_overlap_are_asked_about_and_then_cut(capsys, tmp_path):
    """Every stretch between two events goes to the first behaviour of --priority that is going on in it."""
    said = refusal(capsys, tmp_path, "bouts", TWO_BEHAVIOURS)
    assert "2 overlaps in 1 session" in said
    assert "--priority" in said
    rows, _ = imported(capsys, tmp_path, "bouts", TWO_BEHAVIOURS, "--priority", "mount,interact")
    bouts = boris(TWO_BEHAVIOURS)
    painted = []
    for start, stop in itertools.pairwise(sorted({time for _, *times in bouts for time in times[1:]})):
        on = {label for _, label, begun, ended in bouts if begun <= start and stop <= ended}
        label = next((label for label in ("mount", "interact") if label in on), None)
        if label and painted and painted[-1][1::2] == (label, start):
            painted[-1] = ("DLC1", label, painted[-1][2], stop)
        elif label:
            painted.append(("DLC1", label, start, stop))
    assert len(painted) == len(bouts) == 17  # no bout is cut in two, and none is covered
    assert_bouts(rows, painted)


# ---------------------------------------------------------------------- positions


def test_a_table_with_x_and_y_is_followed(capsys, tmp_path):
    """Positions and times are the file's, and each lies in the place of the step that it falls into."""
    with (REAL / "3527.csv").open(newline="") as file:
        frames = list(csv.DictReader(file))
    xy = np.array([[float(row["x"]), float(row["y"])] for row in frames])
    times = np.array([float(row["Time"]) for row in frames])
    [track] = read_tracks(REAL / "3527.csv")
    assert np.array_equal(track.positions, xy)
    assert np.array_equal(track.times, times)

    rows, _ = imported(capsys, tmp_path, "tracks", "3527.csv", "--grid", "4x4")
    assert {(row["session"], row["subject"]) for row in rows} == {("3527", "8")}
    with (tmp_path / "imported.env.states.csv").open(newline="") as file:
        centres = {(float(row["x"]), float(row["y"])): row["name"] for row in csv.DictReader(file)}
    columns, lines = (np.unique(side) for side in zip(*centres, strict=True))
    places = [
        centres[columns[np.abs(columns - x).argmin()], lines[np.abs(lines - y).argmin()]] for x, y in xy
    ]  # the nearest centre along each side
    begins = np.array([float(row["t"]) for row in rows])
    assert [rows[k]["state"] for k in np.searchsorted(begins, times, side="right") - 1] == places


def points_of_project(name):
    """Point → its position in each frame of a SLEAP project with one animal, NaN where nothing is labelled."""
    with h5py.File(REAL / name) as file:
        project = json.loads(file["metadata"].attrs["json"])
        order = [project["nodes"][node["id"]]["name"] for node in project["skeletons"][0]["nodes"]]
        frames, instances, points = (file[part][:] for part in ("frames", "instances", "points"))
    found = {point: np.full((int(frames["frame_idx"].max()) + 1, 2), np.nan) for point in order}
    for frame in frames:
        [instance] = instances[int(frame["instance_id_start"]) : int(frame["instance_id_end"])]
        of_animal = points[int(instance["point_id_start"]) : int(instance["point_id_end"])]
        for point, at in zip(order, of_animal, strict=True):
            found[point][int(frame["frame_idx"])] = at["x"], at["y"]
    return found


PROJECTS = ("small_robot_minimal.slp", "robot_siv.slp")


@pytest.mark.parametrize("name", PROJECTS)
def test_a_sleap_project_is_refused_without_sleap_io(capsys, tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "sleap_io", None)
    said = refusal(capsys, tmp_path, "tracks", name, "--grid", "2x2", "--fps", "10")
    assert "`pip install sleap-io`): install it, or export the analysis file (.h5)" in said


@pytest.mark.parametrize("name", PROJECTS)
def test_a_sleap_project_is_read_with_sleap_io(capsys, tmp_path, name):
    pytest.importorskip("sleap_io")
    for point, xy in points_of_project(name).items():
        [track] = read_tracks(REAL / name, keypoint=point, fps=10)
        assert np.array_equal(track.positions, xy.astype("f4"), equal_nan=True)  # sleap-io hands on single precision
        assert np.array_equal(track.times, np.arange(len(xy)) / 10)
    rows, _ = imported(capsys, tmp_path, "tracks", name, "--grid", "2x2", "--fps", "10")
    assert rows


# ---------------------------------------------------------------------- what is no recording


@pytest.mark.parametrize("name", ["CollectedData.csv", "CollectedData_LM.csv"])
def test_labelled_frames_are_no_track(capsys, tmp_path, name):
    assert (REAL / name).read_text("utf-8").splitlines()[-1].startswith("labeled-data")  # no number of a frame
    said = refusal(capsys, tmp_path, "tracks", name, "--grid", "4x4", "--fps", "30")
    assert "hand-labelled frames are no tracks, give the file that DeepLabCut made of a video" in said


@pytest.mark.parametrize(
    ("command", "told"),
    [("tracks", "holds no positions or poses"), ("nwb", "holds no labelled intervals or events")],
)
def test_an_nwb_file_without_behaviour(capsys, tmp_path, command, told):
    kinds = set()
    with h5py.File(REAL / "1.0.2_nwbfile.nwb") as file:
        file.visititems(lambda _, item: kinds.add(item.attrs.get("neurodata_type")))
    assert kinds == {None}  # nothing below the file itself is data
    options = ("--grid", "4x4") if command == "tracks" else ()
    said = refusal(capsys, tmp_path, command, "1.0.2_nwbfile.nwb", *options)
    assert told in said
    assert "nor anything else that swirl reads" in said


@pytest.mark.parametrize(
    ("command", "name", "options", "told"),
    [
        ("tracks", "test_grid_labels.midpoint.h5", ("--grid", "4x4"), "export the analysis file, not the .slp"),
        ("moseq", "test_grid_labels.midpoint.h5", (), "is a SLEAP project, with positions and no syllables"),
        ("tracks", "tsdframe.npz", ("--grid", "4x4"), "it holds NumPy arrays (.npz): save them as a table"),
        ("bouts", "bobby_words.TextGrid", (), "it is a file of Praat (TextGrid): in Praat choose “Down to Table”"),
        ("bouts", "sessions.pqt", (), "the columns are lab, subject, date, number, task_protocol, project"),
        ("table", "sessions.pqt", (), "there is no column 'state'"),
    ],
)
def test_what_holds_no_recording_is_refused_by_its_name(capsys, tmp_path, command, name, options, told):
    assert told in refusal(capsys, tmp_path, command, name, *options)
