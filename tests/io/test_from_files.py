"""`Trajectories.from_…`: what they take, what they say on the way, and what of it stays with the data."""

import re
import subprocess
import sys
import warnings

import h5py
import numpy as np
import pandas as pd
import pytest

from swirl import MDP, ImportNotice, Notice, Trajectories
from swirl.data.environments import environment_of_places
from swirl.io.columns import Columns
from swirl.io.environment_files import environment_for
from swirl.io.nwb.reading import read_nwb_tracks
from swirl.io.places import Grid, Nodes, Polygons
from swirl.workflows.check import examine

ARMS = pd.DataFrame({"arm": ["left", "right", "left"], "sec": [0.0, 1.0, 2.0]})


@pytest.fixture(params=["from_dataframe", "from_csv", "from_parquet"])
def door(request, tmp_path):
    """Each way in for a table."""

    def enter(frame, columns, **options):
        if request.param == "from_dataframe":
            return Trajectories.from_dataframe(frame, columns, **options)
        if request.param == "from_csv":
            frame.to_csv(tmp_path / "arms.csv", index=False)
            return Trajectories.from_csv(tmp_path / "arms.csv", columns, **options)
        frame.to_parquet(tmp_path / "arms.parquet")
        return Trajectories.from_parquet(tmp_path / "arms.parquet", columns, **options)

    return enter


# ---------------------------------------------------------------------- columns


@pytest.mark.parametrize("columns", [{"state": "arm", "time": "sec"}, Columns(state="arm", time="sec")])
def test_columns_are_named_by_a_dict_or_by_columns(door, columns):
    data = door(ARMS, columns)
    assert data.state_names == ("left", "right")
    assert data.times[0].tolist() == [0.0, 1.0, 2.0]


def test_columns_are_named_by_keywords_too(door):
    data = door(ARMS, None, state="arm", time="sec")
    assert data.state_names == ("left", "right")
    assert data.times[0].tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="columns and time and state both say what columns are called"):
        door(ARMS, {"state": "arm"}, state="arm", time="sec")
    with pytest.raises(ValueError, match=r"columns\['state'\] is 3: give the name of the column as text"):
        door(ARMS, None, state=3)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (
            {"stat": "arm"},
            "columns has 'stat', which swirl does not know: expected session, subject, group, time, state",
        ),
        ({"stat": "arm"}, "did you mean 'state'?"),
        ({"t": "sec", "state": "arm"}, "columns has 't'"),
        ({"state": 3}, "columns['state'] is 3: give the name of the column as text, such as '3'"),
        ({"state": None}, "columns['state'] is None: give the name of the column as text"),
        ({"state": ["arm"]}, "columns['state'] is ['arm']: give the name of the column as text"),
        ("arm", "columns is 'arm': give a dict, such as {'state': 'arm'}"),
        (["arm"], "columns is a list: give a dict"),
        (Columns(state="ar"), "there is no column 'ar': the columns are arm, sec; did you mean 'arm'?"),
    ],
)
def test_wrong_columns_are_told_in_words(door, columns, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        door(ARMS, columns)


@pytest.mark.parametrize("options", [{"signals": 3}, {"signals": "sec"}, {"signals": [3]}, {"state_names": 3}])
def test_other_wrong_arguments_are_value_errors_too(door, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        door(ARMS, {"state": "arm"}, **options)


@pytest.mark.parametrize("frame", [None, {"state": [0]}, [[0, 1]], ARMS["arm"]])
def test_what_is_no_frame_is_told(frame):
    with pytest.raises(ValueError, match="give a pandas DataFrame"):
        Trajectories.from_dataframe(frame, {"state": "arm"})


# ---------------------------------------------------------------------- two rows for each bout


def boris(marks="Behavior type", values=("START", "STOP", "POINT", "START", "STOP")):
    """BORIS' tabular export of two bouts and an instant."""
    return pd.DataFrame(
        {
            "Observation id": "obs1",
            "Subject": "m1",
            "Behavior": ["rear", "rear", "sneeze", "groom", "groom"],
            marks: list(values),
            "Time": [0.5, 1.5, 2.0, 3.0, 4.5],
            "Comment": None,
        }
    )


COLUMNS = {"state": "Behavior", "time": "Time", "session": "Observation id"}


@pytest.mark.parametrize("marks", ["Behavior type", "Status", "BEHAVIOUR TYPE"])
def test_boris_tabular_export_is_refused_with_advice(door, marks):
    values = ("Start", "stop ", "POINT", "START", "STOP") if marks == "Status" else boris().iloc[:, 3]
    with pytest.raises(ValueError, match=f"{marks} is START in 2 rows and STOP in 2") as told:
        door(boris(marks, values), COLUMNS)
    assert "each would become a step" in str(told.value)
    assert "swirl import bouts" in str(told.value)
    assert f"delete the rows whose {marks} is STOP" in str(told.value)


def test_the_advice_about_boris_leads_somewhere(door):
    table = boris()
    data = door(table[table["Behavior type"] != "STOP"].reset_index(drop=True), COLUMNS)
    assert [data.state_names[s] for s in data.states[0]] == ["rear", "sneeze", "groom"]
    bouts = {"Observation id": "obs1", "Behavior": ["rear", "groom"], "Start (s)": [0.5, 3.0], "Stop (s)": [1.5, 4.5]}
    data = door(pd.DataFrame(bouts), {**COLUMNS, "time": "Start (s)"})
    assert data.times[0].tolist() == [0.5, 3.0]


def test_from_bouts(tmp_path):
    boris().to_csv(tmp_path / "boris.csv", index=False)
    data = Trajectories.from_bouts(tmp_path / "boris.csv")
    assert [data.state_names[s] for s in data.states[0]] == ["rear", "groom"]
    assert data.signals["duration"][0].tolist() == [1.0, 1.5]


def test_other_columns_called_status_are_no_matter(door):
    table = boris("Status", ["on", "off", "on", "off", "on"])
    assert door(table, COLUMNS).n_steps == 5
    assert door(boris("Status").rename(columns={"Behavior": "room"}), {**COLUMNS, "state": "room"}).n_steps == 5


def test_the_older_export_with_lines_before_its_table(tmp_path):
    lines = [
        "Observation id,video1,,",
        ",,,",
        "Media file(s),,,",
        "Player #1,C:/v.mp4,,",
        "Time,Subject,Behavior,Status",
    ]
    lines += ["0.5,m1,rear,START", "1.5,m1,rear,STOP"]
    (tmp_path / "old.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=r"Status is START in 1 row and STOP in 1: a bout has two rows") as told:
        Trajectories.from_csv(tmp_path / "old.csv", {"state": "Behavior", "time": "Time"})
    assert "swirl import bouts" in str(told.value)


# ---------------------------------------------------------------------- notes

GRID = Grid(x=(0, 2), y=(0, 1), shape=(1, 2))
XY = np.array([[0.5, 0.5], [0.6, 0.5], [1.5, 0.5], [0.5, 0.5]])


def tracks(folder):
    return Trajectories.from_tracks(pd.DataFrame(XY, columns=["x", "y"]), GRID)


def tracks_of_nwb(folder):
    with h5py.File(folder / "p.nwb", "w") as file:
        file.attrs["nwb_version"], file["identifier"] = "2.7.0", "p"
        series = file.create_group("processing/behavior/Position/xy")
        series.attrs["neurodata_type"] = "SpatialSeries"
        series["data"], series["timestamps"] = XY, np.arange(4.0)
    return Trajectories.from_tracks(read_nwb_tracks(folder / "p.nwb"), GRID)


def moseq(folder):
    (folder / "m1.csv").write_text("syllable\n3\n5\n3\n")
    return Trajectories.from_moseq(folder / "m1.csv")


def frame(folder):
    return Trajectories.from_dataframe(pd.DataFrame({"recording": [1, 2], "state": [0, 1]}))


def csv(folder):
    (folder / "a.csv").write_text("recording,state\n1,0\n2,1\n")
    return Trajectories.from_csv(folder / "a.csv")


def parquet(folder):
    pd.DataFrame({"recording": [1, 2], "state": [0, 1]}).to_parquet(folder / "a.parquet")
    return Trajectories.from_parquet(folder / "a.parquet")


@pytest.mark.parametrize("read", [tracks, tracks_of_nwb, moseq, frame, csv, parquet])
def test_what_to_beware_of_is_a_warning_and_every_note_is_kept(read, tmp_path):
    with pytest.warns(ImportNotice, match="^BEWARE") as caught:
        data = read(tmp_path)
    loud = [note for note in data.notes if note.startswith("BEWARE")]
    assert [str(warning.message) for warning in caught] == loud
    assert issubclass(ImportNotice, Notice)


def nwb(folder, labels=("left", "right", "right")):
    with h5py.File(folder / "t.nwb", "w") as file:
        file.attrs["nwb_version"], file["identifier"] = "2.7.0", "day 1"
        trials = file.create_group("intervals/trials")
        trials.attrs["neurodata_type"] = "TimeIntervals"
        trials["id"], trials["label"] = np.arange(len(labels)), np.array(labels, h5py.string_dtype())
        trials["start_time"], trials["stop_time"] = np.arange(float(len(labels))), np.arange(len(labels)) + 0.5
    return Trajectories.from_nwb(folder / "t.nwb")


def episodes(folder):
    return Trajectories.from_episodes([{"observations": [0, 1, 1], "actions": [1, 1]}])


@pytest.mark.parametrize(
    ("read", "note"), [(nwb, "3 rows of /intervals/trials became 3 steps"), (episodes, "1 episode")]
)
def test_other_notes_are_kept_and_are_no_warnings(read, note, tmp_path):
    assert note in read(tmp_path).notes[0]  # a warning would be an error here


def test_a_subclass_reads_its_own_kind():
    class Mine(Trajectories):
        pass

    with pytest.warns(ImportNotice, match="^BEWARE") as caught:
        data = Mine.from_dataframe(pd.DataFrame({"recording": [1, 2], "state": [0, 1]}))
    assert (type(data), data.notes) == (Mine, (str(caught[0].message),))


@pytest.mark.slow
def test_a_warning_points_at_the_line_of_the_user(tmp_path):
    program = tmp_path / "mine.py"
    program.write_text(
        "import pandas as pd, swirl\n"
        "swirl.Trajectories.from_dataframe(pd.DataFrame({'recording': [1, 2], 'state': [0, 1]}))\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert f"{program}:2: ImportNotice: BEWARE: no column is called 'session'" in done.stderr


def test_notes_stay_with_the_data():
    data = Trajectories([[0, 1], [1, 0], [0, 1]], notes=["dropped 3 rows", "BEWARE: frames"])
    assert data.notes == ("dropped 3 rows", "BEWARE: frames")
    train, test = data.split(every=3)
    copies = [data[1:], data[0], *data, train, test, data.with_gaps([[1], [], []]), data.with_actions([[0]] * 3)]
    assert all(copy.notes == data.notes for copy in copies)
    other = Trajectories([[0, 1]], notes=["dropped 3 rows", "left out remark"])
    joined = Trajectories.concatenate([data, other, Trajectories([[0]])])
    assert joined.notes == ("dropped 3 rows", "BEWARE: frames", "left out remark")
    assert Trajectories([[0]]).notes == ()
    assert data.fingerprint() == Trajectories([[0, 1], [1, 0], [0, 1]]).fingerprint()
    with pytest.raises(ValueError, match="notes is 'frames': give a list of sentences"):
        Trajectories([[0]], notes="frames")


# ---------------------------------------------------------------------- what is read fits its environment

SQUARES = Polygons({"left": [[0, 0], [1, 0], [1, 1], [0, 1]], "right": [[1, 0], [2, 0], [2, 1], [1, 1]]})
ENDS = Nodes(np.array([[0.5, 0.5], [1.5, 0.5]]), [(0, 1)])


@pytest.mark.parametrize("read", [nwb, moseq, frame, csv, parquet, episodes])
def test_what_python_reads_fits_what_may_follow_what(read, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportNotice)
        data = read(tmp_path)
    env = environment_for(data, "observed" if read is episodes else "syllables")
    env.check(data)
    assert examine(data, env).n_faults == 0


@pytest.mark.parametrize("places", [GRID, SQUARES, ENDS])
def test_what_python_reads_fits_its_places(places):
    data = Trajectories.from_tracks(pd.DataFrame(XY, columns=["x", "y"]), places, fps=30)
    env: MDP = environment_of_places(places)
    env.check(data)
    assert examine(data, env).n_faults == 0
