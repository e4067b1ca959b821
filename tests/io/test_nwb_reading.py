"""Positions and labelled intervals from NWB files, written here by pynwb and its extensions, read without them."""

import json
import shutil
import sys

import h5py
import numpy as np
import pytest

from small_nwb import STAMPS, TABLES, XYZ, day
from swirl.io.nwb.reading import contents, read_nwb_bouts, read_nwb_tracks


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """The file on disk."""
    from pynwb import NWBHDF5IO

    path, file = tmp_path_factory.mktemp("nwb") / "Käfig 1.nwb", day()  # an IO knows the types imported before it
    with NWBHDF5IO(path, "w") as io:
        io.write(file)
    return path


@pytest.fixture
def changed(recording, tmp_path):
    """Give a copy that may be broken by hand."""
    path = tmp_path / "copy.nwb"
    shutil.copyfile(recording, path)
    return path


# ---------------------------------------------------------------------- what there is


def test_contents_lists_what_can_be_read_and_nothing_else(recording):
    found = {entry["path"]: entry for entry in contents(recording)}
    behaviour = "/processing/behavior"
    assert set(found) == {
        *(f"{behaviour}/Position/{name}" for name in ("left", "right", "linked", "line")),
        *(f"{behaviour}/{name}" for name in ("Pose", "Bouts", "Epochs", "observed")),
        *(f"/intervals/{name}" for name in (*TABLES, "trials", "epochs")),
        *(f"/events/{name}" for name in ("licks", "lasting", "frames")),
    }
    left = found[f"{behaviour}/Position/left"]
    assert (left["kind"], left["type"], left["shape"], left["rate"]) == ("position", "SpatialSeries", (5, 2), 10.0)
    assert left["times"] == pytest.approx((2.0, 2.4))
    right = found[f"{behaviour}/Position/right"]
    assert (right["rate"], right["times"], right["shape"]) == (None, (0.0, 0.5), (5, 3))
    assert found[f"{behaviour}/Pose"]["labels"] == ("nose", "tail")
    bouts = found[f"{behaviour}/Bouts"]
    assert (bouts["kind"], bouts["labels"], bouts["times"]) == ("bouts", ("groom", "rear"), (0.0, 4.0))
    assert found["/intervals/trials"]["columns"] == ("choice", "side")


def test_reading_needs_no_pynwb(recording, monkeypatch):
    for name in ("pynwb", "hdmf", "ndx_pose", "ndx_ethogram"):
        monkeypatch.setitem(sys.modules, name, None)
    assert len(contents(recording)) == 18
    assert read_nwb_bouts(recording, table="trials", label="side").state_names == ("l", "r")


# ---------------------------------------------------------------------- positions


def test_positions_in_the_unit_of_the_file_with_name_subject_and_times(recording):
    [track] = read_nwb_tracks(recording, series="/processing/behavior/Position/left")
    assert (track.name, track.subject) == ("day 2", "m1")
    np.testing.assert_allclose(track.positions, XYZ[:, :2] * 0.01 + 5.0)
    np.testing.assert_allclose(track.times, [2.0, 2.1, 2.2, 2.3, 2.4])


def test_of_three_dimensions_two_are_kept_and_linked_times_are_followed(recording):
    for name in ("right", "Position/linked"):
        [track] = read_nwb_tracks(recording, series=name)
        np.testing.assert_array_equal(track.positions, XYZ[:, :2])
        np.testing.assert_array_equal(track.times, STAMPS)


def test_a_pose_is_followed_by_one_of_its_parts(recording):
    base, nan = XYZ[:, :2], [np.nan, np.nan]
    [track] = read_nwb_tracks(recording, series="Pose")
    np.testing.assert_allclose(track.positions, [*base[:3], nan, nan])
    assert any("that of 'nose'" in note for note in track.notes)
    assert any("2 of 5 frames without" in note for note in track.notes)
    assert track.y_down
    [nose] = read_nwb_tracks(recording, keypoint="nose")  # a keypoint alone says that the pose is meant
    np.testing.assert_allclose(nose.positions, [*base[:3], nan, nan])
    [tail] = read_nwb_tracks(recording, keypoint=["tail"], min_confidence=0.0)
    np.testing.assert_allclose(tail.positions, base + 10)


def test_several_candidates_are_listed_with_how_to_choose(recording):
    with pytest.raises(ValueError) as caught:
        read_nwb_tracks(recording)
    told = str(caught.value)
    assert "choose one, as in series='/processing/behavior/Pose' (--series)" in told
    assert "/processing/behavior/Position/left (position)" in told
    assert "line" not in told.replace("linked", "")  # a line is no candidate
    with pytest.raises(ValueError, match="series='Position' may mean"):
        read_nwb_tracks(recording, series="Position")
    with pytest.raises(ValueError, match=r"has no series='middle': it holds .*Position/left"):
        read_nwb_tracks(recording, series="middle")


def test_the_only_candidate_is_taken(changed):
    with h5py.File(changed, "a") as file:
        del file["processing/behavior/Pose"], file["processing/behavior/Position/linked"]
        del file["processing/behavior/Position/right"]
    assert read_nwb_tracks(changed)[0].times[0] == 2.0


def in_frames(path, numbers=(0, 1, 2, 5, 6)):
    """Let the series "right" count frames, as files of DeepLabCut and VAME do."""
    with h5py.File(path, "a") as file:
        file["processing/behavior/Position/right/timestamps"][...] = np.array(numbers, float)
    return path


def test_frames_that_are_called_seconds(changed):
    [track] = read_nwb_tracks(in_frames(changed), series="right")
    assert track.time_unit == "frames"
    assert any(note.startswith("BEWARE: the times of day 2 are just 1 apart") for note in track.notes)
    [track] = read_nwb_tracks(changed, series="right", fps=20)
    assert track.time_unit == "seconds"
    np.testing.assert_allclose(track.times, np.array([0, 1, 2, 5, 6]) / 20)
    assert any("were divided by fps=20" in note for note in track.notes)
    [track] = read_nwb_tracks(changed, series="right", fps=1)  # it is so: one position in a second
    assert (track.time_unit, track.notes) == ("seconds", ())
    np.testing.assert_array_equal(track.times, [0, 1, 2, 5, 6])


def test_a_frame_rate_that_is_not_the_files_own_is_refused(recording):
    assert read_nwb_tracks(recording, series="left", fps=10)
    with pytest.raises(ValueError, match=r"fps=30, but the times of day 2 have 10 frames per second: leave fps out"):
        read_nwb_tracks(recording, series="left", fps=30)
    with pytest.raises(ValueError, match="fps=-1: give the video's frames per second"):
        read_nwb_tracks(recording, series="left", fps=-1)


def test_one_animal_is_its_series_or_the_subject_of_the_file(recording, changed):
    [track] = read_nwb_tracks(recording, individual="left")
    assert track.subject == "left"
    np.testing.assert_allclose(track.positions, XYZ[:, :2] * 0.01 + 5.0)
    assert read_nwb_tracks(recording, individual="m1", series="right")[0].subject == "m1"
    with h5py.File(changed, "a") as file:  # as sleap-io names them
        file.move("processing/behavior/Pose", "processing/behavior/track=m7")
    assert read_nwb_tracks(changed, individual="m7")[0].subject == "m7"
    with pytest.raises(
        ValueError, match=r"individual='m2': .* is of 'm1', and none of its series is called so"
    ) as told:
        read_nwb_tracks(recording, individual="m2")
    assert "/processing/behavior/Position/left" in str(told.value)
    with pytest.raises(ValueError, match="individual='m2'"):
        read_nwb_tracks(recording, individual="m2", series="right")
    with pytest.raises(ValueError, match="several positions or poses"):
        read_nwb_tracks(recording, individual="m1")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"series": "line"}, "one-dimensional, a position along a line.*divide the line"),
        ({"series": "Pose", "keypoint": "ear"}, r"has no 'ear'; it has 'nose', 'tail'"),
        ({"series": "Pose", "min_confidence": 2}, "no frame has a position with a confidence of min_confidence=2"),
    ],
)
def test_positions_that_cannot_be_read(recording, arguments, match):
    with pytest.raises(ValueError, match=match):
        read_nwb_tracks(recording, **arguments)


def with_stamps(values):
    def change(group):
        del group["starting_time"]
        group["timestamps"] = values

    return change


def with_data(values):
    def change(group):
        attributes = dict(group["data"].attrs)
        del group["data"]
        group["data"] = values
        group["data"].attrs.update(attributes)

    return change


def huge(group):
    del group["data"]
    group.create_dataset("data", (10**12, 2), float, chunks=(1000, 2))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (with_stamps([0.0, 1.0]), r"left/timestamps has shape \(2,\).*expected 5 numbers"),
        (with_stamps([0.0, 1.0, 1.0, 2.0, np.nan]), "timestamps are not finite and increasing at frame 2, 4"),
        (lambda g: g["starting_time"].attrs.__setitem__("rate", 0.0), "neither timestamps nor a starting_time"),
        (lambda g: g.__delitem__("starting_time"), "neither timestamps nor a starting_time"),
        (lambda g: g.__delitem__("data"), "left has no data"),
        (with_data(XYZ[:, :2].T), r"shape \(2, 5\).*transposed"),
        (with_data(np.array([b"a", b"b"])), "expected numbers"),
        (lambda g: g["data"].attrs.__setitem__("conversion", "cm"), r"left/data has the conversion nan"),
        (huge, "claims 2,000,000,000,000 values"),
    ],
)
def test_a_broken_series_is_told_by_its_path(changed, change, match):
    with h5py.File(changed, "a") as file:
        change(file["processing/behavior/Position/left"])
    with pytest.raises(ValueError, match=match):
        read_nwb_tracks(changed, series="left")
    assert read_nwb_tracks(changed, series="right")  # the rest can be read
    if change is huge:
        assert len(contents(changed)) == 18


# ---------------------------------------------------------------------- bouts


def test_bouts_are_steps_merged_where_equal_with_gaps_at_long_pauses(recording):
    read = read_nwb_bouts(recording, table="behaviour")
    assert read.state_names == read.action_names == ("rest", "walk")
    np.testing.assert_array_equal(read.states[0], [0, 1, 0, 1, 0])
    np.testing.assert_array_equal(read.actions[0], [1, 0, -1, 0, -1])  # the next label, unless there is a gap
    np.testing.assert_array_equal(read.times[0], [0.0, 1.0, 3.5, 9.5, 10.5])
    np.testing.assert_array_equal(read.signals["duration"][0], [1.0, 2.0, 1.0, 1.0, 1.5])
    np.testing.assert_array_equal(read.gaps[0], [3])
    assert (read.names, read.subjects) == (("day 2",), ("m1",))
    assert read.notes[0] == "day 2: 6 rows of /intervals/behaviour became 5 steps"
    assert "1 pause of more than 1 s (the median bout" in read.notes[1]
    assert read.n_steps == 5


def test_max_pause_decides_about_gaps(recording):
    for pause, gaps in ((0, [2, 3]), (0.5, [3]), (np.inf, [])):
        assert read_nwb_bouts(recording, table="behaviour", max_pause=pause).gaps[0].tolist() == gaps
    with pytest.raises(ValueError, match="max_pause=-1: give seconds"):
        read_nwb_bouts(recording, table="behaviour", max_pause=-1)


def test_rows_without_a_label_leave_a_gap(recording):
    read = read_nwb_bouts(recording, table="unlabelled")
    assert (read.states[0].tolist(), read.gaps[0].tolist()) == ([0, 0, 1], [1])
    assert "dropped 1 row without a label" in read.notes


def test_ethogram_bouts_keep_the_order_of_the_catalogue_and_the_intervals_of_observation(recording):
    read = read_nwb_bouts(recording, table="Bouts")
    assert read.state_names == ("sleep", "rear", "groom")
    assert read.states[0].tolist() == [2, 1, 1, 2]  # "rear" goes on, but nobody watched in between
    assert read.gaps[0].tolist() == [2]


def test_trials_are_steps_of_their_own(recording):
    for label, names in (("choice", ("0", "1")), ("side", ("l", "r"))):
        read = read_nwb_bouts(recording, table="trials", label=label)
        assert (read.states[0].tolist(), read.state_names, read.gaps[0].tolist()) == ([0, 1, 1, 0], names, [])
    holes = read_nwb_bouts(recording, table="trials", label="number")
    assert (holes.states[0].tolist(), holes.state_names, holes.gaps[0].tolist()) == ([0, 1, 0], ("0", "10"), [1])


def test_tags_are_labels_where_each_row_has_one(recording, changed):
    assert read_nwb_bouts(recording, table="/intervals/epochs").state_names == ("dark", "light")
    with h5py.File(changed, "a") as file:
        file["intervals/epochs/tags_index"][:] = [2, 2]
    with pytest.raises(ValueError, match=r"epochs/tags has several values at row 0 \(counted from 0\)"):
        read_nwb_bouts(changed, table="/intervals/epochs")


def test_events_without_a_duration_are_steps_of_their_own(recording):
    read = read_nwb_bouts(recording, table="licks")
    assert (read.states[0].tolist(), read.times[0].tolist()) == ([0, 0, 1, 0], [0.5, 0.9, 7.0, 7.5])
    assert read.signals is None
    assert read.gaps[0].tolist() == []
    assert read_nwb_bouts(recording, table="licks", max_pause=2).gaps[0].tolist() == [2]


def test_events_with_a_duration_are_bouts_and_steady_events_are_frames(recording):
    lasting = read_nwb_bouts(recording, table="lasting")
    assert lasting.signals["duration"][0].tolist() == [1.0, 1.0, 2.0]
    frames = read_nwb_bouts(recording, table="frames")
    assert frames.states[0].tolist() == [0, 1, 0, 2]
    np.testing.assert_allclose(frames.times[0], [0.0, 0.2, 0.6, 1.0])
    np.testing.assert_allclose(frames.signals["duration"][0], [0.2, 0.3, 0.4, 0.2])
    assert frames.gaps[0].tolist() == []  # one lost frame is overlooked


def test_behavioural_epochs_are_labelled_by_their_series(recording, changed):
    read = read_nwb_bouts(recording, table="Epochs")
    assert (read.states[0].tolist(), read.state_names) == ([1, 0, 1], ("rest", "run"))
    with h5py.File(changed, "a") as file:
        file["processing/behavior/Epochs/run/data"][:] = [1, 1, -1, -1]
    with pytest.raises(ValueError, match=r"Epochs/run: starts \(\+1\) and stops \(−1\) do not alternate"):
        read_nwb_bouts(changed, table="Epochs")


def add_labelled_events(path, kind="LabeledEvents", keys=(0, 0, 1, 0)):
    """As ndx-events 0.2 wrote them; that extension is not installed."""
    with h5py.File(path, "a") as file:
        group = file.create_group("acquisition/syllables")
        group.attrs["neurodata_type"] = kind
        group["timestamps"] = np.array([0.0, 0.4, 1.0, 5.0])
        group["data"] = np.array(keys, np.uint8)
        group["data"].attrs["labels"] = np.array(["walk", "rear"], dtype=h5py.string_dtype())


def test_labelled_events_of_the_older_extension(changed):
    add_labelled_events(changed)
    read = read_nwb_bouts(changed, table="syllables")
    assert (read.states[0].tolist(), read.state_names) == ([1, 1, 0, 1], ("rear", "walk"))


def test_labelled_events_without_such_a_label(changed):
    add_labelled_events(changed, keys=(0, 2, 1, 0))
    with pytest.raises(ValueError, match=r"syllables/data is 2 at row 1 .*it has 2 labels"):
        read_nwb_bouts(changed, table="syllables")


def test_types_that_an_extension_derives_are_known_from_the_schema_in_the_file(changed):
    schema = {"groups": [{"neurodata_type_def": "Syllables", "neurodata_type_inc": "LabeledEvents"}]}
    add_labelled_events(changed, kind="Syllables")
    assert "/acquisition/syllables" not in {entry["path"] for entry in contents(changed)}
    with h5py.File(changed, "a") as file:
        file["specifications/ndx-moseq/0.1.0/ndx-moseq.extensions"] = json.dumps(schema)
        for i, broken in enumerate(("{", "[]", '{"groups": [3]}')):
            file[f"specifications/ndx-moseq/0.1.0/broken{i}"] = broken
    assert len(read_nwb_bouts(changed, table="syllables").states[0]) == 4


def test_events_in_a_form_that_is_not_read_are_named(changed):
    with h5py.File(changed, "a") as file:
        for name in ("events", "intervals", "processing"):
            del file[name]
        file.create_group("acquisition/old").attrs["neurodata_type"] = "AnnotatedEventsTable"
    with pytest.raises(ValueError, match=r"/acquisition/old \(AnnotatedEventsTable, which swirl does not read"):
        read_nwb_bouts(changed)
    with pytest.raises(ValueError, match="holds no positions or poses that swirl can read"):
        read_nwb_tracks(changed)


def test_overlapping_bouts_are_told_by_their_rows(recording):
    with pytest.raises(ValueError) as caught:
        read_nwb_bouts(recording, table="overlapping")
    assert "rows 1 and 2 ('b' from 3 to 9 s, 'a' from 5 to 6 s)" in str(caught.value)
    assert "rows 1 and 3 ('b' from 3 to 9 s, 'c' from 8 to 9.5 s)" in str(caught.value)
    assert "one state at a time" in str(caught.value)


def test_bouts_rounded_to_single_precision_do_not_overlap(changed):
    edges = np.arange(3600, 3700) / 30 + 86400
    start = edges.astype(np.float32)
    stop = np.nextafter(start, np.float32(np.inf))[1:]  # each stop lies past the next start by one rounding
    with h5py.File(changed, "a") as file:
        group = file["intervals/behaviour"]
        for name, values in (("start_time", start[:-1]), ("stop_time", stop), ("label", ["a", "b"] * 49 + ["a"])):
            del group[name]
            group[name] = values
    assert len(read_nwb_bouts(changed, table="behaviour").states[0]) == 99


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({}, r"several labelled intervals or events: choose one, as in table='/events/frames'"),
        ({"table": "nowhere"}, r"has no table='nowhere': it holds .*/intervals/trials \(intervals\)"),
        (
            {"table": "trials"},
            r"several columns: choose one, as in label='choice' \(--label\); its columns are 'choice', 'side'",
        ),
        ({"table": "trials", "label": "odour"}, r"no column label='odour': its columns are 'choice', 'side'"),
        ({"table": "observed"}, "observed has no label: it has no column of text or whole numbers"),
        ({"table": "backwards"}, r"(?s)no finite time at row 2 .*a stop before its start at row 1"),
        ({"table": "blank"}, "no row with a label"),
    ],
)
def test_bouts_that_cannot_be_read(recording, arguments, match):
    with pytest.raises(ValueError, match=match):
        read_nwb_bouts(recording, **arguments)


def test_invalid_times_are_no_candidate(changed):
    with h5py.File(changed, "a") as file:
        file.move("intervals/behaviour", "intervals/invalid_times")
        for name in ("events", "processing", *(f"intervals/{x}" for x in (*TABLES, "epochs") if x != "behaviour")):
            del file[name]
    assert read_nwb_bouts(changed, label="side").state_names == ("l", "r")


def test_what_is_not_laid_out_as_the_schema_says_is_no_traceback(changed):
    with h5py.File(changed, "a") as file:
        left = file["processing/behavior/Position/left"]
        del left["starting_time"]
        left.create_group("starting_time").attrs["rate"] = 30.0
    with pytest.raises(ValueError, match="not laid out as NWB says"):
        read_nwb_tracks(changed, series="left")


def test_a_label_column_of_fractions_is_refused(changed):
    with h5py.File(changed, "a") as file:
        file["intervals/trials/number"][0] = 0.5
    with pytest.raises(ValueError, match=r"number is 0.5 at row 0 .*whole numbers"):
        read_nwb_bouts(changed, table="trials", label="number")


def test_several_files_share_their_labels_and_are_told_apart(recording, changed):
    with h5py.File(changed, "a") as file:
        labels = file["intervals/behaviour/label"]
        labels[:] = ["eat" if label == b"rest" else label for label in labels[:]]
    read = read_nwb_bouts([recording, changed], table="behaviour")
    assert read.state_names == ("eat", "rest", "walk")
    assert [states.tolist() for states in read.states] == [[1, 2, 1, 2, 1], [0, 2, 0, 2, 0]]
    assert read.names == ("Käfig 1", "copy")  # both are "day 2"
    assert [track.name for track in read_nwb_tracks([recording, changed], series="left")] == ["Käfig 1", "copy"]
    with pytest.raises(ValueError, match="empty list"):
        read_nwb_bouts([])


# ---------------------------------------------------------------------- files that are none


def broken_file(kind, folder, recording):
    path = folder / "x.nwb"
    if kind == "folder":
        path.mkdir()
    elif kind == "text":
        path.write_text("session,state\na,1\n")
    elif kind == "empty":
        path.touch()
    elif kind == "truncated":
        whole = recording.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
    elif kind in ("hdf5", "old"):
        with h5py.File(path, "w") as file:
            file.attrs.update({"nwb_version": "NWB-1.0.6"} if kind == "old" else {})
    return path


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        ("missing", "does not exist: check the spelling"),
        ("folder", "is a folder: give an NWB file"),
        ("text", "is not an HDF5 file, so not NWB"),
        ("empty", "is not an HDF5 file, so not NWB"),
        ("truncated", "is damaged"),
        ("hdf5", "is HDF5 but not NWB"),
        ("old", "is NWB NWB-1.0.6: expected 2.0 or later"),
    ],
)
def test_files_that_are_not_nwb(kind, match, tmp_path, recording):
    path = broken_file(kind, tmp_path, recording)
    for read in (contents, read_nwb_tracks, read_nwb_bouts):
        with pytest.raises(ValueError, match=match) as caught:
            read(path)
        assert str(path) in str(caught.value)
