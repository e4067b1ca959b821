"""Syllables become steps, counted by hand; then files of every MoSeq layout, written as documented, and broken ones."""

import h5py
import numpy as np
import pandas as pd
import pytest

from swirl.io.label_runs import Recording, syllable_sessions
from swirl.io.moseq import read_moseq


def listed(arrays):
    return [array.tolist() for array in arrays]


# ---- frames → steps


def test_a_dropped_syllable_leaves_a_gap_and_nothing_is_merged_across_it():
    sessions = syllable_sessions([Recording("m1", np.array([3, 3, 5, 9, 5, 5]))], min_usage=0.3)
    assert sessions.state_names == ("5",)  # 3 and 9 are one run of four each, 5 is two
    sessions = syllable_sessions([Recording("m1", np.array([3, 3, 5, 9, 5, 5, 3]))], min_usage=0.25)
    # Runs: 3 5 9 5 3, shares 2/5, 2/5, 1/5.
    assert listed(sessions.states) == [[0, 1, 1, 0]]
    assert listed(sessions.actions) == [[1, -1, 0, -1]]
    assert listed(sessions.gaps) == [[2]]
    assert listed(sessions.times) == [[0, 2, 4, 6]]  # frame numbers
    assert sessions.signals is None
    assert sessions.state_names == sessions.action_names == ("3", "5")
    assert sessions.notes == (
        "1 recording with 5 runs",
        "dropped 1 syllable used too rarely (20.0% of the runs): 9",
        "1 session with 4 steps and 1 gap: 2.0 steps per segment on average",
    )
    assert sessions.segments(0) == [(0, 2), (2, 4)]


def test_what_is_dropped_at_the_ends_leaves_no_gap():
    sessions = syllable_sessions([Recording("m1", np.array([9, 0, 1, 1, 9, 9]))], keep=[0, 1])
    assert listed(sessions.states) == [[0, 1]]
    assert listed(sessions.gaps) == [[]]
    assert listed(sessions.times) == [[1, 2]]


def test_frames_without_a_syllable_are_gaps():
    frames = np.array([2, 2, np.nan, 2, 4, -1, -5, 4, 2])
    sessions = syllable_sessions([Recording("m1", frames)])
    assert listed(sessions.states) == [[0, 0, 1, 1, 0]]
    assert listed(sessions.gaps) == [[1, 3]]
    assert listed(sessions.actions) == [[-1, 1, -1, 0, -1]]
    assert "dropped 2 runs of frames without a syllable" in sessions.notes


def test_usage_is_that_of_all_recordings_and_counts_runs_not_frames():
    long = Recording("long", np.array([7] * 50 + [0, 1, 0, 1, 0, 1]))
    other = Recording("other", np.array([0, 1, 0]))
    sessions = syllable_sessions([long, other], min_usage=0.11)  # 7 is one run of ten
    assert sessions.state_names == ("0", "1")
    assert syllable_sessions([long, other], min_usage=0.1).state_names == ("0", "1", "7")


def test_lost_frames_are_a_gap_even_within_one_syllable():
    times = np.array([0.0, 0.1, 0.2, 0.9, 1.0, 1.1])
    sessions = syllable_sessions([Recording("m1", np.array([0, 1, 1, 1, 1, 0]), times)])
    assert listed(sessions.states) == [[0, 1, 1, 0]]
    assert listed(sessions.gaps) == [[2]]
    np.testing.assert_allclose(sessions.times[0], [0, 0.1, 0.9, 1.1])
    np.testing.assert_allclose(sessions.signals["duration"][0], [0.1, 0.2, 0.2, 0.1])


def test_a_slightly_late_frame_is_not_a_gap():
    times = np.array([0.0, 1.0, 2.4, 3.4, 4.4])
    assert listed(syllable_sessions([Recording("m1", np.array([0, 1, 0, 1, 0]), times)]).gaps) == [[]]


def test_signals_are_means_over_the_run_and_angles_are_on_the_circle():
    recording = Recording(
        "m1",
        np.array([4, 4, 6, 6, 4]),
        signals={"x": np.array([1, 3, 5, np.nan, np.nan]), "pair": np.arange(10.0).reshape(5, 2)},
        angles={"heading": np.radians([170, -170, 10, 20, -90])},
    )
    signals = syllable_sessions([recording]).signals
    np.testing.assert_allclose(signals["x"][0], [2, 5, np.nan])
    np.testing.assert_allclose(signals["pair"][0], [[1, 2], [5, 6], [8, 9]])
    np.testing.assert_allclose(np.degrees(signals["heading"][0]) % 360, [180, 15, 270])  # the plain mean of 1 is 0


def test_a_signal_that_one_recording_lacks_is_nan_there():
    with_it = Recording("with", np.array([0, 1]), signals={"dopamine": np.array([1.0, 2.0])})
    sessions = syllable_sessions([with_it, Recording("without", np.array([1, 0, 1]))])
    np.testing.assert_array_equal(np.concatenate(sessions.signals["dopamine"]), [1, 2, np.nan, np.nan, np.nan])
    assert "signal 'dopamine' is NaN in without: it is not recorded there" in sessions.notes


def test_short_runs_are_dropped_before_usage_is_counted():
    frames = np.array([0, 0, 8, 0, 0, 1, 1, 9, 1, 1, 1])
    sessions = syllable_sessions([Recording("m1", frames)], min_run=2, min_usage=0.5)
    assert listed(sessions.states) == [[0, 0, 1, 1]]  # 0 | 0 1 | 1
    assert listed(sessions.gaps) == [[1, 3]]
    assert "dropped 2 runs of fewer than 2 frames" in sessions.notes


def test_kept_labels_are_states_whether_they_occur_or_not_and_names_are_told_apart():
    sessions = syllable_sessions(
        [Recording("m1", np.array([1, 12]), subject="a", group="drug")],
        keep=[12, 5, 1],
        min_usage=0.9,  # not asked when keep is given
        names={1: "walk", 5: "walk", 12: " ", 99: "not kept"},
    )
    assert sessions.state_names == ("walk (1)", "walk (5)", "12")
    assert listed(sessions.states) == [[0, 2]]
    assert (sessions.subjects, sessions.groups) == (("a",), ("drug",))
    assert "kept syllables that never occur: 5" in sessions.notes


def test_sessions_of_one_step_are_dropped_and_none_left_is_an_error():
    short, empty = Recording("short", np.array([1, 1, 1])), Recording("empty", np.zeros(0))
    sessions = syllable_sessions(iter([short, Recording("long", np.array([1, 0, 1])), empty]))
    assert sessions.names == ("long",)
    assert "dropped 2 sessions with fewer than 2 steps: short, empty" in sessions.notes
    with pytest.raises(ValueError, match=r"no recording of 2 is left .* 1 \(1 run\); give a smaller min_usage"):
        syllable_sessions([short, empty])
    with pytest.raises(ValueError, match="those to keep are 7: keep some that occur"):
        syllable_sessions([short], keep=[7])
    with pytest.raises(ValueError, match="no frame has a syllable"):
        syllable_sessions([Recording("m1", np.array([-1, -1]))])
    with pytest.raises(ValueError, match="there is no recording"):
        syllable_sessions([])


GOOD = np.array([0, 1, 0])


@pytest.mark.parametrize(
    ("recordings", "words"),
    [
        ([Recording("m1", np.array([0, 1.5, np.inf]))], "'m1': syllable 1.5 at frame 1, 2: labels are whole"),
        ([Recording("m1", np.array(["a", "b"]))], "'m1': syllables hold <U1"),
        ([Recording("m1", np.zeros((2, 2), int), source="results.h5: /m1")], "results.h5: /m1: syllables is of shape"),
        ([Recording("m1", GOOD, np.array([0.0, 1.0]))], "times has length 2, but its session has 3"),
        ([Recording("m1", GOOD, np.array([0.0, 2.0, 1.0]))], "'m1': times are not finite and increasing at frame 2"),
        ([Recording("m1", GOOD, np.array([0.0, np.nan, 1.0]))], "not finite and increasing at frame 1, 2"),
        ([Recording("m1", GOOD, signals={"x": np.zeros(2)})], "signal 'x' has length 2"),
        ([Recording("m1", GOOD, np.arange(3.0), signals={"duration": np.zeros(3)})], "rename the signal"),
        ([Recording("m1", GOOD), Recording("m1", GOOD)], "several recordings are called m1"),
        ([Recording("m1", GOOD, np.arange(3)), Recording("m2", GOOD)], "recordings m2 have no times, but others have"),
        (
            [Recording("m1", GOOD, signals={"x": np.zeros(3)}), Recording("m2", GOOD, signals={"x": np.zeros((3, 2))})],
            "different numbers of channels",
        ),
    ],
)
def test_recordings_that_do_not_serve_are_named(recordings, words):
    with pytest.raises(ValueError, match=words):
        syllable_sessions(recordings)


def test_two_clocks_are_told():
    frames = np.array([3, 3, 5, 5, 3])
    pair = [Recording("s", frames, times=np.arange(5) / 30), Recording("ms", frames, times=np.arange(5) * 1000 / 30)]
    [told] = [note for note in syllable_sessions(pair).notes if note.startswith("BEWARE")]
    assert "'ms' has a frame every 33.3 s, 's' every 0.0333 s" in told
    assert not any("BEWARE" in note for note in syllable_sessions(pair[:1] * 1).notes)


def test_bad_options_are_told_at_once():
    with pytest.raises(ValueError, match="4 faults"):
        syllable_sessions([Recording("m1", GOOD)], keep=[-1], names=["a"], min_usage=1, min_run=0)
    with pytest.raises(ValueError, match="keep='01'"):
        syllable_sessions([Recording("m1", GOOD)], keep="01")


# ---- files

FRAMES = {"21_11 mouse A": np.array([3, 3, 5, 9, 5, 5, 3, 3]), "Mäuse/B": np.array([3, 5, 5, 3])}
"""9 is one run of eight; a name with a slash makes a group within a group."""


def arrays_of(frames):
    n = len(frames)
    centroid = np.stack([np.arange(n), 10.0 * np.arange(n)], axis=1)
    return {"syllable": frames, "centroid": centroid, "heading": np.linspace(0, 1, n), "latent_state": np.ones((n, 4))}


def write_results(file, recordings=FRAMES, **changes):
    with h5py.File(file, "w") as results:
        for name, frames in recordings.items():
            for key, array in (arrays_of(frames) | changes).items():
                if array is not None:
                    results[f"{name}/{key}"] = array
    return file


@pytest.fixture
def results(tmp_path):
    return write_results(tmp_path / "results.h5")


def test_results_h5(results):
    sessions = read_moseq(results, fps=10, keep=[3, 5])
    assert sessions.names == ("21_11 mouse A", "Mäuse/B")
    assert listed(sessions.states) == [[0, 1, 1, 0], [0, 1, 0]]
    assert listed(sessions.gaps) == [[2], []]
    assert listed(sessions.actions) == [[1, -1, 0, -1], [1, 0, -1]]
    np.testing.assert_allclose(sessions.times[0], [0, 0.2, 0.4, 0.6])
    np.testing.assert_allclose(sessions.signals["duration"][0], [0.2, 0.1, 0.2, 0.2])
    np.testing.assert_allclose(sessions.signals["centroid_x"][0], [0.5, 2, 4.5, 6.5])
    np.testing.assert_allclose(sessions.signals["centroid_y"][0], [5, 20, 45, 65])
    np.testing.assert_allclose(sessions.signals["heading"][0], np.array([0.5, 2, 4.5, 6.5]) / 7)
    assert set(sessions.signals) == {"duration", "centroid_x", "centroid_y", "heading"}
    assert sessions.notes[0] == f"read {results} as results of keypoint-MoSeq (HDF5)"
    assert not any("frame rate" in note for note in sessions.notes)
    assert sessions.n_states == 2


def test_without_a_frame_rate_times_are_frames_and_a_note_says_so(results):
    sessions = read_moseq(results)
    assert sessions.state_names == ("3", "5", "9")
    assert listed(sessions.times) == [[0, 2, 3, 4, 6], [0, 1, 3]]
    assert any("give fps (--fps)" in note for note in sessions.notes)


def project(folder, fps):
    """A project as keypoint-MoSeq lays it out: config.yml above the folder of the model."""
    (folder / "config.yml").write_text(f"verbose: false\n\n# frames per second of the recordings\nfps: {fps}\n")
    (folder / "2026_01_01").mkdir()
    return write_results(folder / "2026_01_01" / "results.h5")


def about_rates(sessions):
    return [note for note in sessions.notes if "frames per second" in note or "frame rate" in note]


def test_thirty_frames_per_second_in_a_project_may_be_what_nobody_has_set(tmp_path):
    file = project(tmp_path, 30)
    sessions = read_moseq(file)
    np.testing.assert_allclose(sessions.times[1], [0, 1 / 30, 3 / 30])
    [told] = about_rates(sessions)
    assert told.startswith(f"BEWARE: took 30 frames per second, from {tmp_path / 'config.yml'}.")
    assert told.endswith("Give the rate of the video with fps (--fps), also where it is 30")
    for fps in (30, 60):
        assert not about_rates(read_moseq(file, fps=fps))
    np.testing.assert_allclose(read_moseq(file, fps=60).times[1], [0, 1 / 60, 3 / 60])


@pytest.mark.parametrize("fps", [25, 60.5])
def test_another_rate_in_a_project_was_set_by_somebody(fps, tmp_path):
    file = project(tmp_path, fps)
    assert about_rates(read_moseq(file)) == [f"frames per second: {fps:g}, from {tmp_path / 'config.yml'}"]
    np.testing.assert_allclose(read_moseq(file).times[1], [0, 1 / fps, 3 / fps])


@pytest.mark.parametrize(
    ("column", "config", "taken", "told"),
    [
        (30, 30, 30, "BEWARE: took 30 frames per second"),  # compute_moseq_df takes it from config.yml
        (30, None, 30, "BEWARE: took 30 frames per second"),
        (60, 60, 60, "frames per second: 60"),
        (60, None, 60, "frames per second: 60"),
        (60, 30, 60, "BEWARE: the frame rate is 60 in"),
        (30, 60, 60, "BEWARE: the frame rate is 30 in"),
        (50, 60, 50, "BEWARE: the frame rate is 50 in"),
        (None, 60, 60, "frames per second: 60"),
        (None, 30, 30, "BEWARE: took 30 frames per second"),
    ],
)
def test_the_rates_of_moseq_df_and_of_its_project(column, config, taken, told, tmp_path):
    moseq_df(**({} if column is None else {"fps": column})).to_csv(tmp_path / "moseq_df.csv", index=False)
    if config is not None:
        (tmp_path / "config.yml").write_text(f"fps: {config}\n")
    sessions = read_moseq(tmp_path)
    np.testing.assert_allclose(sessions.times[1], np.array([0, 1, 3]) / taken)
    [note] = about_rates(sessions)
    assert note.startswith(told)
    assert ("as 30 is what keypoint-MoSeq writes" in note) == ({column, config} == {30, 60})
    assert not [note for note in read_moseq(tmp_path, fps=50).notes if "BEWARE" in note]


def test_a_rate_that_is_no_table_of_keypoint_moseq_is_taken_as_it_is(tmp_path):
    pd.DataFrame({"syllable": [0, 0, 1, 0], "fps": 30}).to_csv(tmp_path / "m1.csv", index=False)
    assert about_rates(read_moseq(tmp_path)) == [f"frames per second: 30, from {tmp_path / 'm1.csv'}"]


def test_latent_states_and_a_third_axis_are_read_on_request(tmp_path):
    frames = {"m1": np.array([0, 0, 1])}
    file = write_results(tmp_path / "results.h5", frames, centroid=np.arange(9.0).reshape(3, 3))
    signals = read_moseq(file, latents=True).signals
    assert signals["latent_state"][0].shape == (2, 4)
    assert signals["centroid_z"][0].tolist() == [3.5, 8]


def test_only_syllables_are_needed(tmp_path):
    file = write_results(tmp_path / "any name", FRAMES, centroid=None, heading=None, latent_state=None)
    assert set(read_moseq(file).signals) == {"duration"}


def csv_of(frames):
    arrays = arrays_of(frames)
    columns = {"syllable": frames, "centroid x": arrays["centroid"][:, 0], "centroid y": arrays["centroid"][:, 1]}
    latents = {f"latent_state {i}": arrays["latent_state"][:, i] for i in range(4)}
    return pd.DataFrame({**columns, "heading": arrays["heading"], **latents})


def test_one_csv_per_recording_is_the_same_as_results_h5(tmp_path, results):
    model = tmp_path / "my model"
    (model / "results").mkdir(parents=True)
    for name, frames in FRAMES.items():
        csv_of(frames).to_csv(model / "results" / f"{name.replace('/', '-')}.csv", index=False)
    (model / "results" / "._junk.csv").write_bytes(b"\x00\x05")  # as macOS leaves them
    pd.DataFrame({"syllable": [3, 5], "label": ["rear", None]}).to_csv(model / "syll_info.csv", index=False)
    pd.DataFrame({"name": ["Mäuse-B"], "group": ["None"]}).to_csv(tmp_path / "index.csv", index=False)
    for folder in (model, model / "results"):
        ours, theirs = read_moseq(folder, fps=10, latents=True), read_moseq(results, fps=10, latents=True)
        for mine, other in ((ours.states, theirs.states), (ours.gaps, theirs.gaps), (ours.times, theirs.times)):
            assert listed(mine) == listed(other)
        for name in theirs.signals:
            np.testing.assert_allclose(np.concatenate(ours.signals[name]), np.concatenate(theirs.signals[name]))
        assert ours.names == ("21_11 mouse A", "Mäuse-B")
        assert ours.state_names == ("rear", "5", "9")
        assert ours.groups == (None, "None")  # a group may be called so
        assert f"read 2 files in {model / 'results'} as one CSV per recording" in ours.notes
        assert any("names no group for 21_11 mouse A" in note for note in ours.notes)
        assert any("names of syllables are from" in note for note in ours.notes)


def moseq_df(recordings=FRAMES, **columns):
    parts = []
    for name, frames in recordings.items():
        x, y = arrays_of(frames)["centroid"].T
        part = {"name": name, "centroid_x": x, "centroid_y": y, "heading": 0.1, "angular_velocity": 0.5}
        part |= {"velocity_px_s": 2.0, "syllable": frames, "frame_index": np.arange(len(frames)), "group": "drug"}
        parts.append(pd.DataFrame(part))
    table = pd.concat(parts, ignore_index=True)
    return table.assign(onset=table["syllable"].diff().fillna(1) != 0, **columns)


def test_moseq_df_is_grouped_by_name_and_its_onsets_are_not_trusted(tmp_path):
    file = tmp_path / "moseq_df.csv"
    table = moseq_df(fps=10)
    assert not table["onset"][8]  # the second recording starts with the syllable that ended the first
    table.to_csv(file, index=False)
    sessions = read_moseq(file, keep=[3, 5])
    assert listed(sessions.states) == [[0, 1, 1, 0], [0, 1, 0]]
    np.testing.assert_allclose(sessions.times[1], [0, 0.1, 0.3])
    assert sessions.groups == ("drug", "drug")
    assert listed(sessions.signals["velocity_px_s"]) == [[2.0] * 4, [2.0] * 3]
    assert set(sessions.signals) >= {"angular_velocity", "centroid_x", "heading", "duration"}
    assert sessions.notes[0] == f"read {file} as a table of recordings (moseq_df.csv)"
    assert listed(read_moseq(tmp_path, keep=[3, 5]).states) == listed(sessions.states)
    shuffled = pd.concat([table[8:], table[:8]])  # not in order of name
    shuffled.to_csv(file, index=False)
    assert read_moseq(file).names == ("Mäuse/B", "21_11 mouse A")
    np.testing.assert_allclose(read_moseq(file, fps=2).times[0], [0, 0.5, 1.5])
    assert any("used fps=2, although" in note for note in read_moseq(file, fps=2).notes)


def moseq2_df():
    """What `moseq2-viz make-df` writes: lags are −5; of frames that the camera lost it knows the syllable only."""
    n = 8
    lost = np.array([False] * 4 + [True] * 2 + [False] * 2)
    table = pd.DataFrame({"labels (original)": 0, "labels (usage sort)": [-5, 3, 3, 1, 1, 2, 2, 3]})
    table["frame index"] = np.where(lost, np.nan, np.cumsum(~lost) - 1)
    table["syllable index"] = np.arange(n)
    for column in ("centroid_x_mm", "centroid_y_mm", "velocity_2d_mm", "velocity_3d_mm", "height_ave_mm", "angle"):
        table[column] = np.where(lost, np.nan, np.arange(n))
    return table.assign(
        group="drug", uuid="0f", timestamps=1000 + 100.0 * np.arange(n), SubjectName="m1", SessionName="day 1"
    )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_table_of_moseq2_with_lost_frames(ending, tmp_path):
    file, table = tmp_path / f"moseq_df.{ending}", moseq2_df()
    if ending == "csv":
        table.to_csv(file)
    else:
        table.to_parquet(file)
    for fps, times, unit in ((10, [0.1, 0.3, 0.5, 0.7], "fps"), (None, [1100, 1300, 1500, 1700], "milliseconds")):
        sessions = read_moseq(tmp_path, fps=fps)
        np.testing.assert_allclose(sessions.times[0], times)
        assert [sessions.state_names[state] for state in sessions.states[0]] == ["3", "1", "2", "3"]
        assert (sessions.names, sessions.subjects, sessions.groups) == (("0f",), ("m1",), ("drug",))
        assert sessions.signals["velocity_2d_mm"][0].tolist() == [1.5, 3, 6, 7]
        assert set(sessions.signals) >= {"centroid_x_mm", "centroid_y_mm", "velocity_3d_mm", "height_ave_mm"}
        assert any("milliseconds" in note for note in sessions.notes) == (unit == "milliseconds")


def test_a_project_with_one_model_is_read_and_of_several_one_is_asked_for(tmp_path, results):
    model = tmp_path / "project" / "2026_01_01"
    model.mkdir(parents=True)
    results.rename(model / "results.h5")
    moseq_df().to_csv(model / "moseq_df.csv", index=False)
    sessions = read_moseq(tmp_path / "project", fps=10)
    assert listed(sessions.states) == listed(read_moseq(model, fps=10).states)
    assert f"read {model / 'results.h5'} as results of keypoint-MoSeq (HDF5)" in sessions.notes
    other = tmp_path / "project" / "2026_02_02"
    other.mkdir()
    write_results(other / "results.h5")
    with pytest.raises(ValueError, match="results of 2026_01_01, 2026_02_02: give one of these"):
        read_moseq(tmp_path / "project")


def test_groups_and_names_that_nobody_has_given_yet(results, tmp_path):
    names = list(FRAMES)
    pd.DataFrame({"name": names, "group": "default"}).to_csv(tmp_path / "index.csv", index=False)
    info = pd.DataFrame({"syllable": [3, 5, 9], "label": "", "short_description": "", "movie_path": ["a", "b", ""]})
    info.to_csv(tmp_path / "syll_info.csv", index=False)
    notes = read_moseq(results, fps=10).notes
    assert any(
        note.endswith("'default' for all, which keypoint-MoSeq writes until groups are assigned") for note in notes
    )
    assert f"{tmp_path / 'syll_info.csv'} has no names yet, so syllables are called by their numbers" in notes
    assert not any("names of syllables are from" in note for note in notes)
    pd.DataFrame({"name": names, "group": ["default", "drug"]}).to_csv(tmp_path / "index.csv", index=False)
    found = read_moseq(results, fps=10).notes
    assert f"groups are from {tmp_path / 'index.csv'}" in found
    assert any("groups are compared by animal: give it in the column subject of index.csv" in note for note in found)
    assert not any("groups are compared by animal" in note for note in notes)  # all are of one group
    index = pd.DataFrame({"name": names, "group": ["default", "drug"], "subject": ["m1", "m2"]})
    index.to_csv(tmp_path / "index.csv", index=False)
    assert not any("groups are compared by animal" in note for note in read_moseq(results, fps=10).notes)
    with pytest.raises(ValueError, match="has names of syllables, as syll_info"):
        read_moseq(tmp_path / "syll_info.csv")


def test_frames_that_moseq_df_lacks_are_gaps(tmp_path):
    moseq_df({"m1": np.array([0, 1, 1, 1, 0, 1])}).drop(index=[2]).to_csv(tmp_path / "m.csv", index=False)
    sessions = read_moseq(tmp_path / "m.csv")
    assert listed(sessions.states) == [[0, 1, 1, 0, 1]]
    assert listed(sessions.gaps) == [[2]]
    assert listed(sessions.times) == [[0, 1, 3, 4, 5]]


def test_names_and_groups_that_look_like_numbers_stay_as_they_are_written(tmp_path):
    moseq_df({"007": np.array([0, 1]), "008": np.array([1, 0])}).assign(group="01").to_csv(tmp_path / "m.csv")
    sessions = read_moseq(tmp_path / "m.csv")
    assert (sessions.names, sessions.groups) == (("007", "008"), ("01", "01"))


def test_columns_that_are_not_asked_for_do_not_matter(tmp_path):
    table = moseq_df().assign(**{"centroid x": "junk", "remark": "ä, b"})
    file = tmp_path / "m.csv"
    file.write_text(table.to_csv(index=False) + "\n\n", encoding="utf-8")  # and blank lines at the end
    assert listed(read_moseq(file, keep=[3, 5]).states) == [[0, 1, 1, 0], [0, 1, 0]]


def test_a_folder_with_both_reads_results_h5_and_says_so(tmp_path, results):
    moseq_df().to_csv(tmp_path / "moseq_df.csv", index=False)
    assert any("moseq_df.csv is there as well and was not read" in note for note in read_moseq(tmp_path).notes)


def test_time_stamps_of_a_syllable_csv_are_kept(tmp_path):
    file = tmp_path / "session 1.csv"
    file.write_bytes("\ufefftimestamp,syllable\r\n100.0,4\r\n100.1,4\r\n100.2,\r\n100.3,6\r\n100.4,4\r\n\r\n".encode())
    sessions = read_moseq(file)
    assert sessions.names == ("session 1",)
    assert listed(sessions.gaps) == [[1]]
    np.testing.assert_allclose(sessions.times[0], [100, 100.3, 100.4])
    assert any("unit of the file's time stamps" in note for note in sessions.notes)
    np.testing.assert_allclose(read_moseq(file, fps=1).times[0], [0, 3, 4])


def test_groups_subjects_and_names_can_be_given(tmp_path, results):
    index, info = tmp_path / "groups.csv", tmp_path / "names.csv"
    pd.DataFrame({"group": ["a", "b"], "name": [*FRAMES], "subject": ["007", None]}).to_csv(index, index=False)
    pd.DataFrame({"syllable": [9, 3], "label": ["groom", "rear"], "short_description": ""}).to_csv(info, index=False)
    sessions = read_moseq(results, index=index, syllable_info=info)
    assert (sessions.groups, sessions.subjects) == (("a", "b"), ("007", None))
    assert sessions.state_names == ("rear", "5", "groom")
    sessions = read_moseq(results, index={"Mäuse/B": "c"}, syllable_info={5: "run"})
    assert (sessions.groups, sessions.state_names) == ((None, "c"), ("3", "run", "9"))
    index.write_text("Name;Subject\nMäuse/B.csv;m2\nMäuse/B.csv;m2\n")  # as tracks and NWB files have them too
    sessions = read_moseq(results, index=index)
    assert (sessions.subjects, sessions.groups) == ((None, "m2"), (None, None))
    index.write_text("name,group\nMäuse/B,a\nMäuse/B,b\n")
    with pytest.raises(ValueError, match=r"line 3: 'Mäuse/B' is there before, with another group or subject"):
        read_moseq(results, index=index)
    with pytest.raises(ValueError, match="index names who; the recordings are 21_11 mouse A, Mäuse/B"):
        read_moseq(results, index={"who": "c"})


def test_an_index_that_is_found_but_does_not_fit_is_only_noted(tmp_path, results):
    index = tmp_path / "index.csv"
    for content in ("name,group\nother,a\n", "this,that\n1,2\n"):
        index.write_text(content)
        sessions = read_moseq(results)
        assert sessions.groups == (None, None)
        assert any(note.startswith(f"did not use {index}") for note in sessions.notes)
        with pytest.raises(ValueError, match=r"index.csv(?: names other|, line 1: no column name among this, that)"):
            read_moseq(results, index=index)


# ---- broken files


def group_without(results):
    results["m2/centroid"] = np.zeros((3, 2))


def nothing(results):
    del results["m1"]


def deeplabcut(results):
    results.create_group("df_with_missing").attrs["pandas_type"] = "frame"


def sleap(results):
    results["tracks"], results["node_names"] = np.zeros((1, 2, 3, 4)), np.array([b"nose"])


def external(results):
    results["m2"] = h5py.ExternalLink("elsewhere.h5", "/m2")


def soft_syllable(results):
    del results["m1/syllable"]
    results["m1/syllable"] = h5py.SoftLink("/elsewhere")


def stored_elsewhere(results):
    results.create_dataset("m2/syllable", shape=(3,), dtype="i8", external="secrets.bin")


def huge(results):
    del results["m1/syllable"]
    results.create_dataset("m1/syllable", shape=(10**12,), chunks=(10**4,), dtype="i8")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ({"syllable": None}, r"results.h5: /m1 holds .*, and no 'syllable': expected /<recording>/syllable"),
        ({"heading": np.zeros(4)}, r"/m1 has arrays of different lengths \(syllable 3, centroid 3, heading 4, "),
        ({"latent_state": np.zeros((5, 2))}, r"latent_state 5"),
        ({"syllable": np.zeros((3, 1), int)}, r"/m1/syllable has shape \(3, 1\): expected one number per frame"),
        ({"centroid": np.zeros((3, 4))}, r"/m1/centroid has shape \(3, 4\): expected 2 or 3 columns"),
        ({"centroid": np.zeros(3)}, r"/m1/centroid has shape \(3,\): expected one row per frame"),
        ({"syllable": np.array(["a", "b", "c"], object)}, r"/m1/syllable holds object: expected numbers"),
        ({"syllable": np.void(b"\x80\x04K\x01.")}, r"/m1/syllable holds \|V5: expected numbers"),
        ({"syllable": h5py.Empty("i8")}, r"/m1/syllable holds no value: expected numbers"),
        ({"syllable": np.array([0, 0.5, 1])}, r"results.h5: /m1: syllable 0.5 at frame 1"),
        (group_without, r"results.h5: /m2 holds centroid, and no 'syllable'"),
        (nothing, r"results.h5: / holds nothing, and no 'syllable'"),
        (deeplabcut, r"as DeepLabCut does, with positions and no syllables: read it as tracks"),
        (sleap, r"is a SLEAP file"),
        (external, r"results.h5: /m2 is a link or lies in another file"),
        (soft_syllable, r"/m1/syllable is a link or lies in another file"),
        (stored_elsewhere, r"results.h5: /m2/syllable is a link or lies in another file"),
        (huge, r"/m1/syllable claims 1,000,000,000,000 values"),
    ],
)
def test_hdf5_that_is_something_else_is_refused_by_file_and_path(tmp_path, spoil, words):
    changes = spoil if isinstance(spoil, dict) else {}
    file = write_results(tmp_path / "results.h5", {"m1": GOOD}, **changes)
    if callable(spoil):
        with h5py.File(file, "a") as results:
            spoil(results)
    with pytest.raises(ValueError, match=words):
        read_moseq(file, latents=True)


def test_a_group_that_holds_itself_is_walked_once(results):
    with h5py.File(results, "a") as file:
        file["Mäuse/again"] = file["Mäuse"]
        file["Mäuse/root"] = file["/"]
    assert len(read_moseq(results).names) == 2


def test_damaged_files_are_told_from_others(tmp_path, results):
    whole = results.read_bytes()
    broken = tmp_path / "broken results.h5"
    broken.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="cannot be read as HDF5; it may be damaged or cut short"):
        read_moseq(broken)
    broken.write_bytes(b"not HDF5 at all")
    with pytest.raises(ValueError, match=r"broken results.h5 is not an HDF5 file"):
        read_moseq(broken)
    with h5py.File(broken, "w") as file:
        file.create_dataset("m1/syllable", data=np.arange(5000) % 7, compression="gzip")
        at = file["m1/syllable"].id.get_chunk_info(0)
    content = bytearray(broken.read_bytes())
    content[at.byte_offset : at.byte_offset + at.size] = b"\xff" * at.size
    broken.write_bytes(content)
    with pytest.raises(ValueError, match=r"broken results.h5 is damaged in /m1"):
        read_moseq(broken)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"state,heading\n1,2\n", "has the columns state, heading: expected a column syllable"),
        (b"syllable,heading\n1,0\n2,0\nx,0\n", "line 4, column 'syllable': 'x' is not a number"),
        (b"syllable,heading\n1,0\n\n2,north\n", "line 4, column 'heading': 'north' is not a number"),
        (b"syllable\n1\n2.5\n", "line 3, column 'syllable': 2.5: expected whole numbers"),
        (b"syllable,heading\n1,0\n2,0,7\n", "line 3 has 3 values for 2 columns"),
        (b"syllable,heading\n1,0,7\n2,0,7\n", "line 2 has 3 values for 2 columns"),
        (b"syllable,m\n1,\x81\n", "which is not UTF-8"),
        (b"\x80\x04\x95\x00syllable\n", "is a pickle, as models of MoSeq2 are"),
        (b"name,syllable\na,1\n,2\na,1\n", "line 3, column 'name': blank"),
        (b"name,syllable,group\na,1,x\na,2,y\n", r"recording 'a' is in several groups \(x, y\)"),
        (b"name,syllable,frame_index\na,1,0\na,2,0\n", "line 3, column 'frame_index': blank, or not above"),
        (b"name,syllable,fps\na,1,30\na,2,60\n", "'a' has the frame rates 30.0, 60.0: give fps"),
        (b"name,syllable,fps\na,1,30\na,2,30\nb,1,\nb,2,\n", "times are .*frames in b.*: give fps"),
        (b"name,syllable,frequency,duration\na,1,0.5,3\n", "a row per syllable, not per frame.*: give moseq_df.csv"),
        (b"group,uuid,syllable,usage,duration\nx,a,0,0.5,3\nx,b,0,0.4,3\n", "a row per syllable.*of MoSeq2, the table"),
    ],
)
def test_broken_csv_files_are_told_by_file_line_and_column(tmp_path, content, words):
    file = tmp_path / "mouse 1.csv"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=rf"(?s)mouse 1\.csv.*{words}"):
        read_moseq(file)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "config.yml",
            "# ANATOMY\nbodyparts:\n- nose, ear\nar_hypparams:\n  nlags: 3\n",
            "is the configuration of a keypoint-MoSeq project",
        ),
        (
            "config.yaml",
            "fps: 30\n",
            "is YAML, which has settings and no syllables",
        ),
        ("moseq2-index.yaml", "files:\n- filename: a, b\n  uuid: 45\n", "is MoSeq2's index of sessions"),
        ("results_00.yaml", "parameters:\n  crop_size:\n  - 80\n", "is MoSeq2's record of an extraction"),
        ("syll_info.yaml", "0:\n   label: ''\n   sorted_id: 0\n", "is MoSeq2's list of names of syllables"),
        ("empty.yml", "", "is YAML, which"),
    ],
)
def test_settings_are_called_what_they_are(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=rf"(?s)1 fault.*{name} .*{words}.*: give "):
        read_moseq(tmp_path / name)
    write_results(tmp_path / "results.h5")
    assert read_moseq(tmp_path).names == tuple(FRAMES)  # beside the results they are as they should be


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (("frames", "scalars/angle", "metadata/uuid", "timestamps"), "an extraction of MoSeq2"),
        (("scores/a", "scores_idx/a", "metadata/a/StartTime"), "MoSeq2's principal components"),
        (("cps/a", "cps_score/a", "metadata/fps"), "MoSeq2's changepoints"),
        (("labels/0", "keys", "model_parameters/kappa"), "a model of MoSeq2"),
    ],
)
def test_what_else_moseq2_keeps_in_hdf5_is_called_what_it_is(tmp_path, arrays, words):
    with h5py.File(tmp_path / "of moseq2.h5", "w") as file:
        for name in arrays:
            file[name] = np.zeros(3)
    with pytest.raises(ValueError, match=rf"1 fault.\s.*is {words}.*: give the table that `moseq2-viz make-df` writes"):
        read_moseq(tmp_path / "of moseq2.h5")


def test_all_broken_files_of_a_folder_are_told_at_once(tmp_path):
    (tmp_path / "a.csv").write_text("state\n1\n")
    (tmp_path / "b.csv").write_text("syllable\nx\n")
    with pytest.raises(ValueError, match=r"(?s)2 faults.*a\.csv.*b\.csv"):
        read_moseq(tmp_path)


def test_paths_and_rates_that_do_not_serve(tmp_path, results):
    with pytest.raises(ValueError, match="there is no such file or folder"):
        read_moseq(tmp_path / "absent.h5")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"holds no results.h5, no moseq_df.csv and no CSV files"):
        read_moseq(tmp_path / "empty")
    with pytest.raises(ValueError, match="fps=0: give frames per second"):
        read_moseq(results, fps=0)
    (tmp_path / "syll_info.csv").write_text("syllable,label\n1.5,rear\n")
    with pytest.raises(ValueError, match=r"syll_info.csv, line 2, column 'syllable'"):
        read_moseq(results)


def test_syllables_that_share_a_name_are_kept_by_it_and_their_number():
    from swirl.errors import Faults
    from swirl.io.moseq import by_number

    called = {3: "walk", 7: "walk", 8: "", 9: "rear"}
    faults = Faults()
    assert by_number(["walk (3)", "walk (7)", "rear", "2"], called, faults) == [3, 7, 9, 2]
    assert len(faults) == 0
    by_number(["walk"], called, faults)
    assert "there is no syllable 'walk'" in faults.messages[0]
    assert "walk (3)" in faults.messages[0]
