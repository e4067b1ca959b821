import csv
import gzip
import io
import itertools
import json
import pickle
import sys

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from swirl.io.body_point import bridged
from swirl.io.pose_hdf5 import pickled_columns
from swirl.io.poses import hand_labelled
from swirl.io.tracks import Track, read_tracks

RNG = np.random.default_rng(0)
NETWORK = "DLC_resnet50_mazeMay1shuffle1_100000"
PARTS = ("nose", "tail")
VALUES = np.round(RNG.random((6, 2, 3)), 3)  # frame, bodypart, (x, y, likelihood)
VALUES[:, :, 0] += 10 * np.arange(6)[:, None]  # an animal that walks, its tail behind its nose
VALUES[:, 1, 0] -= 3
VALUES[:, :, 2] = 0.9
VALUES[2, 0, 2] = 0.1  # the nose is lost in frame 2
VALUES[4, :, 2] = 0.3  # everything is lost in frame 4
VALUES[5, 1, 2] = 0.1  # the tail is lost in frame 5: both are seen as often, and the nose is the first
NOSE, TAIL = VALUES[:, 0, :2], VALUES[:, 1, :2]
POSITION = NOSE.copy()
POSITION[2] = NOSE[1] + (TAIL[2] - TAIL[1]) + ((NOSE[3] - NOSE[1]) - (TAIL[3] - TAIL[1])) / 2
POSITION[4] = np.nan


def deeplabcut_columns(individuals=()):
    owners = [(NETWORK, name) for name in individuals] or [(NETWORK,)]
    return [(*owner, part, what) for owner in owners for part in PARTS for what in ("x", "y", "likelihood")]


def deeplabcut_frame(individuals=()):
    levels = ["scorer", *(["individuals"] if individuals else []), "bodyparts", "coords"]
    shift = np.array([1, 1, 0])  # each animal is elsewhere, all are as well seen
    flat = np.concatenate([(VALUES + i * shift).reshape(6, -1) for i in range(max(len(individuals), 1))], axis=1)
    return pd.DataFrame(flat, columns=pd.MultiIndex.from_tuples(deeplabcut_columns(individuals), names=levels))


def write_pandas_table(path, columns, values, kind=None, index=None):
    """Lay out what `DataFrame.to_hdf(path, key="df_with_missing", format="table")` writes, as DeepLabCut does.

    Copied from files that pandas 3.1.1 wrote with PyTables 3.11.1 (dumped with h5py): class Table in
    pandas/io/pytables.py; PyTables keeps strings as fixed-length bytes, and pickles (protocol 0) what is no string.
    """
    rows = np.zeros(len(values), [("index", "<i8"), ("values_block_0", "<f8", (values.shape[1],))])
    rows["index"], rows["values_block_0"] = np.arange(len(values)), values
    if index is not None:
        rows = np.zeros(len(values), [("index", "S9"), ("values_block_0", "<f8", (values.shape[1],))])
    with h5py.File(path, "w") as file:
        group = file.create_group("df_with_missing")
        for name, value in {
            "CLASS": b"GROUP",
            "VERSION": b"1.0",
            "pandas_type": b"frame_table",
            "table_type": b"appendable_frame",
            "encoding": b"UTF-8",
            "errors": b"strict",
            "index_cols": pickle.dumps([(0, "index")], 0),
            "values_cols": pickle.dumps(["values_block_0"], 0),
            "non_index_axes": pickle.dumps([(1, columns)], 0),
            "data_columns": pickle.dumps([], 0),
            "nan_rep": pickle.dumps(None, 0),
            "levels": 1,
        }.items():
            group.attrs[name] = np.bytes_(value) if isinstance(value, bytes) else value
        group.create_group("_i_table/index").attrs["CLASS"] = np.bytes_(b"INDEX")
        table = group.create_dataset("table", data=rows, maxshape=(None,), chunks=(1170,))
        for name, value in {
            "CLASS": b"TABLE",
            "VERSION": b"2.7",
            "FIELD_0_NAME": b"index",
            "FIELD_1_NAME": b"values_block_0",
            "index_kind": b"integer",
            "values_block_0_dtype": b"float64",
            "values_block_0_kind": pickle.dumps(columns, 0) if kind is None else kind,
            "values_block_0_meta": pickle.dumps(None, 0),
        }.items():
            table.attrs[name] = np.bytes_(value)
        table.attrs["NROWS"] = np.int64(len(values))


def write_pandas_fixed(path, columns, values):
    """Lay out the same frame as format="fixed" does (class BlockManagerFixed): the columns' levels and labels."""
    with h5py.File(path, "w") as file:
        group = file.create_group("df_with_missing")
        group.attrs["pandas_type"] = np.bytes_(b"frame")
        group["axis1"] = np.arange(len(values))
        group["block0_values"] = values
        for prefix in ("axis0", "block0_items"):
            for i, level in enumerate(zip(*columns, strict=True)):
                names = sorted(set(level))
                group[f"{prefix}_level{i}"] = np.array([name.encode() for name in names])
                group[f"{prefix}_label{i}"] = np.array([names.index(x) for x in level], np.int8)


def write_sleap(path, positions, scores, tracks, order=("track", "xy", "node", "frame"), say=False, names=PARTS):
    """Write an analysis file as SLEAP does, or with sleap-io's attribute `dims`; positions [track, frame, node, xy]."""
    axes = ("track", "frame", "node", "xy")
    with h5py.File(path, "w") as file:
        arrays = {"tracks": positions, "point_scores": scores}
        for name, array in {name: array for name, array in arrays.items() if array is not None}.items():
            here = [axis for axis in order if axis in axes[: array.ndim]]
            file.create_dataset(name, data=array.transpose([axes.index(a) for a in here]), compression="gzip")
            if say:
                file[name].attrs["dims"] = json.dumps(here)
        file["node_names"] = [name.encode() for name in names]
        file["track_names"] = np.array([name.encode() for name in tracks])
        file["track_occupancy"] = np.ones(positions.shape[1::-1], np.uint8)


def movement(individuals=("m1", "m2"), keypoint="keypoint", individual="individual", fps=20.0):
    position = np.stack([VALUES[:, :, :2] + i for i in range(len(individuals))], axis=-1).transpose(0, 2, 1, 3)
    confidence = np.stack([VALUES[:, :, 2]] * len(individuals), axis=-1)
    times = np.arange(6) / fps if fps else np.arange(6)
    attrs = {"source_software": "SLEAP", "ds_type": "poses", "time_unit": "seconds" if fps else "frames"}
    return xr.Dataset(
        {
            "position": (("time", "space", keypoint, individual), position),
            "confidence": (("time", keypoint, individual), confidence),
        },
        coords={"time": times, "space": ["x", "y"], keypoint: list(PARTS), individual: list(individuals)},
        attrs=attrs | ({"fps": fps} if fps else {}),
    )


def refusal(source, **options):
    with pytest.raises(ValueError) as caught:
        read_tracks(source, **options)
    return str(caught.value)


# DeepLabCut


@pytest.fixture(params=["csv", "table", "fixed", "object"])
def deeplabcut(request, tmp_path):
    def make(individuals=()):
        frame = deeplabcut_frame(individuals)
        path = tmp_path / f"mouse 7 é{NETWORK}.{'csv' if request.param == 'csv' else 'h5'}"
        if request.param == "csv":
            frame.to_csv(path)
        elif request.param == "table":
            write_pandas_table(path, deeplabcut_columns(individuals), frame.to_numpy())
        elif request.param == "fixed":
            write_pandas_fixed(path, deeplabcut_columns(individuals), frame.to_numpy())
        else:
            return frame
        return path

    return make


def test_deeplabcut_one_animal(deeplabcut):
    source = deeplabcut()
    [track] = read_tracks(source, fps=30)
    np.testing.assert_allclose(track.positions, POSITION)
    np.testing.assert_allclose(track.times, np.arange(6) / 30)
    assert track.name == ("track" if isinstance(source, pd.DataFrame) else "mouse 7 é")
    assert (track.subject, track.time_unit) == (None, "seconds")
    assert (track.keypoint, track.y_down) == ("nose", True)
    assert track.notes[0].startswith("The position is that of 'nose', well seen; --keypoint NAME takes another.")
    assert track.notes[1] == "Keypoints with a confidence below 0.6 count as not seen (--min-confidence)."
    assert track.notes[2].endswith("1 of 6 frames filled in by the steps of the other keypoints.")
    assert track.notes[3].endswith("1 of 6 frames without a position.")


def test_deeplabcut_several_animals(deeplabcut):
    source = deeplabcut(("m1", "m2", "single"))
    first, second = read_tracks(source, keypoint="tail", min_confidence=0)
    np.testing.assert_allclose(second.positions, VALUES[:, 1, :2] + 1)
    assert (first.subject, second.subject) == ("m1", "m2")
    assert second.name.startswith("m2 ")
    assert second.notes == (
        "Left out 'single', DeepLabCut's points that belong to no animal.",
        "BEWARE: times are frame numbers: give fps (--fps) to have seconds.",
    )
    [only] = read_tracks(source, individual="m2", keypoint=["tail"], min_confidence=0)
    np.testing.assert_array_equal(only.positions, second.positions)
    assert (only.name, only.time_unit) == (second.name, "frames")


def test_wrong_choices_name_what_there_is(deeplabcut):
    source = deeplabcut(("m1", "m2"))
    assert "keypoint='snout': " in refusal(source, keypoint="snout")
    assert "it has 'nose', 'tail'" in refusal(source, keypoint="snout")
    assert "individual='m3': the animals are 'm1', 'm2'" in refusal(source, individual="m3")
    assert "fps=0: give the video's frames per second" in refusal(source, fps=0)
    told = refusal(source, min_confidence=0.95)
    assert "no frame has a position" in told
    assert "the highest confidence is 0.9" in told


# The pickle of the columns' names


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_column_names_without_unpickling(protocol):
    columns = [*deeplabcut_columns(("é", "β")), ("a", "b", "c", "d")]
    assert pickled_columns(pickle.dumps(columns, protocol)) == columns


class Bomb:
    fired = False

    def __reduce__(self):
        return setattr, (Bomb, "fired", True)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps([("a", Bomb(), "x")], 0),
        pickle.dumps([("a", Bomb(), "x")], 4),
        pickle.dumps([("a", "b"), ("a", "b", "c")], 0),
        pickle.dumps([["a", "b"]], 0),
        pickle.dumps([("a", 1)], 0),
        pickle.dumps({"a": ("b",)}, 0),
        pickle.dumps([("a", "b")], 0)[:-3],
        b"(lp0\ng7\n.",
        b"a.",
        b"t.",
        b".",
        b"",
        b"\xff\x00",
    ],
)
def test_hostile_or_broken_names_are_refused(content, tmp_path):
    with pytest.raises(ValueError):
        pickled_columns(content)
    write_pandas_table(tmp_path / "a.h5", deeplabcut_columns(), VALUES.reshape(6, -1), kind=content)
    told = refusal(tmp_path / "a.h5")
    assert "a.h5, /df_with_missing/table" in told
    assert "save the tracks as CSV" in told
    assert not Bomb.fired


# SLEAP and movement


SLEAP_ORDERS = [
    (("track", "xy", "node", "frame"), False),
    (("track", "xy", "node", "frame"), True),
    (("frame", "track", "node", "xy"), True),
]


@pytest.mark.parametrize(("order", "say"), SLEAP_ORDERS)
def test_sleap(tmp_path, order, say):
    path = tmp_path / "cage.analysis.h5"
    both = np.stack([VALUES, VALUES + 1])
    write_sleap(path, both[..., :2], VALUES[None, :, :, 2].repeat(2, 0), ("track_0", "track_1"), order, say)
    first, second = read_tracks(path, fps=10)
    np.testing.assert_allclose(first.positions, NOSE)  # no score of SLEAP's is too low
    np.testing.assert_allclose(second.positions, NOSE + 1)
    assert (second.name, second.subject, second.times[1]) == ("track_1 cage", "track_1", 0.1)


def test_sleap_without_track_names_and_with_wrong_shapes(tmp_path):
    path = tmp_path / "cage.h5"
    write_sleap(path, VALUES[None, :, :, :2], VALUES[None, :, :, 2], ())
    [track] = read_tracks(path)
    assert (track.name, track.subject) == ("cage", None)
    write_sleap(path, VALUES[None, :, :1, :2], VALUES[None, :, :1, 2], ())
    assert "/tracks has shape (1, 2, 1, 6)" in refusal(path)
    write_sleap(path, VALUES[None, :, :, :2], VALUES[None, :, :, 2], ("a", "b"))
    assert "/tracks has 1 tracks, but there are 2 track_names" in refusal(path)


@pytest.mark.parametrize(("keypoint", "individual"), [("keypoint", "individual"), ("keypoints", "individuals")])
@pytest.mark.parametrize("engine", [None, "h5netcdf", "scipy"])
def test_movement(tmp_path, keypoint, individual, engine):
    source = movement(keypoint=keypoint, individual=individual)
    if engine:
        path = tmp_path / "poses.nc"
        source.to_netcdf(path, engine=engine)
        source = path
    first, second = read_tracks(source)
    np.testing.assert_allclose(first.positions, NOSE)  # no score of SLEAP's is too low
    np.testing.assert_allclose(second.positions, NOSE + 1)
    np.testing.assert_allclose(second.times, np.arange(6) / 20)
    assert (second.subject, second.time_unit) == ("m2", "seconds")


def test_movement_keeps_its_frame_rate_and_its_units():
    frames = movement(fps=None).assign_attrs(fps=20.0)  # times are frames, but their rate is known
    for source in (frames, movement().drop_vars("time").assign_attrs(fps=20.0)):
        [track, _] = read_tracks(source, keypoint="tail")
        assert track.time_unit == "seconds"
        np.testing.assert_allclose(track.times, np.arange(6) / 20)
        assert not any("BEWARE" in note for note in track.notes)
    of_array = movement()
    of_array["position"].attrs["space_unit"] = "cm"  # as movement's `scale` leaves it
    for source in (of_array, movement().assign_attrs(space_unit="cm")):
        assert "x and y are in cm" in read_tracks(source, keypoint="tail")[0].notes
    assert not any("x and y" in note for note in read_tracks(movement(), keypoint="tail")[0].notes)


def test_movement_variants():
    boxes = movement().isel(keypoint=0, drop=True).drop_vars("confidence")
    [box, _] = read_tracks(boxes)
    np.testing.assert_allclose(box.positions, VALUES[:, 0, :2])
    [only] = read_tracks(boxes.isel(individual=1))
    np.testing.assert_allclose(only.positions, VALUES[:, 0, :2] + 1)
    [counted, _] = read_tracks(movement(fps=None), fps=40)
    assert (counted.time_unit, counted.times[2]) == ("seconds", 0.05)
    [seen, _] = read_tracks(movement().reindex(space=["z", "y", "x"]), keypoint="tail", min_confidence=0)
    np.testing.assert_allclose(seen.positions, VALUES[:, 1, :2])
    assert "times of m1 track have 20 frames per second: leave fps out" in refusal(movement(), fps=30)
    assert "expected the variable position" in refusal(movement().drop_vars("position"))
    assert "dimension view: select one" in refusal(movement().expand_dims("view"))


def test_unknown_confidence_is_no_objection():
    source = movement()
    source["confidence"][:] = np.nan
    np.testing.assert_allclose(read_tracks(source, min_confidence=0.6)[0].positions, NOSE)


# Which point of the body is the position


ANIMAL = {"nose": (30, 0), "ear": (20, 8), "centre": (2, 0), "hip": (-12, 9), "tail base": (-30, 0)}
SIZE = 60.0  # from the nose to the base of the tail


def walker(seed=0, n=4000, noise=0.3):
    """An animal that wanders and turns in an arena of 600 x 600: keypoints [frame, keypoint, xy]."""
    rng = np.random.default_rng(seed)
    heading, place, path = 0.0, np.array([300.0, 300.0]), []
    for speed, turn in zip(rng.gamma(2, 1.5, n), rng.normal(0, 0.25, n), strict=True):
        heading += turn
        ahead = np.array([np.cos(heading), np.sin(heading)])
        place = place + speed * ahead
        if ((place < 50) | (place > 550)).any():  # away from the wall
            heading, place = heading + np.pi / 2, np.clip(place, 50, 550)
        path.append((*place, heading))
    x, y, heading = np.array(path).T
    body = np.array(list(ANIMAL.values()), float)
    turned = body @ np.array([[np.cos(heading), np.sin(heading)], [-np.sin(heading), np.cos(heading)]]).transpose(
        2, 0, 1
    )
    points = np.stack([x, y], axis=1)[:, None] + turned
    return points + rng.normal(0, noise, points.shape)


def lost_in_bouts(shape, seed=1, lose=0.03, find=0.3):
    """Which points are seen: each is lost for about three frames at a time, a tenth of all frames."""
    rng = np.random.default_rng(seed)
    seen = np.ones(shape, bool)
    for t in range(1, shape[0]):
        seen[t] = np.where(seen[t - 1], rng.random(shape[1]) > lose, rng.random(shape[1]) < find)
    return seen


def as_dataset(positions, confidence=None, names=(*ANIMAL,), program="DeepLabCut"):
    """A `movement` dataset of one animal."""
    parts = {"position": (("time", "keypoint", "space"), positions)}
    if confidence is not None:
        parts["confidence"] = (("time", "keypoint"), confidence)
    coords = {"time": np.arange(len(positions)) / 30, "space": ["x", "y"], "keypoint": list(names)}
    return xr.Dataset(parts, coords=coords, attrs={"fps": 30, "source_software": program})


def median_steps(path, seen):
    """Median step of a path where the same points are seen as in the frame before, and where not."""
    changed, steps = (seen[1:] != seen[:-1]).any(1), np.hypot(*np.diff(path, axis=0).T)
    return np.nanmedian(steps[~changed]), np.nanmedian(steps[changed])


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_no_jump_when_a_point_is_lost_or_found(noise):
    points = walker(noise=noise)
    seen = lost_in_bouts(points.shape[:2])
    confidence = np.where(seen, 0.99, 0.05)
    wrong = np.where(seen[..., None], points, 900 * RNG.random(points.shape))  # what a network says of lost points
    [track] = read_tracks(as_dataset(wrong, confidence))
    same, changed = median_steps(track.positions, seen)
    assert changed == pytest.approx(same, rel=0.1)
    mean = np.nanmean(np.where(seen[..., None], points, np.nan), axis=1)  # what was taken before: it jumps
    same, changed = median_steps(mean, seen)
    assert changed > 1.7 * same
    # Where the point is seen it is the file's, to the bit; elsewhere it is not far off.
    chosen = (*ANIMAL,).index(track.keypoint)
    np.testing.assert_array_equal(track.positions[seen[:, chosen]], points[seen[:, chosen], chosen])
    filled = ~seen[:, chosen] & np.isfinite(track.positions[:, 0])
    assert filled.mean() > 0.05
    off = np.hypot(*(track.positions - points[:, chosen])[filled].T)
    assert np.median(off) < 0.05 * SIZE
    assert off.max() < SIZE


def test_corners_of_the_maze_change_nothing():
    points = walker()
    seen = lost_in_bouts(points.shape[:2])
    corners = np.array([[0.0, 0], [600, 0], [600, 600], [0, 600], [300, 300], [10, 300]])
    corners = corners + np.random.default_rng(2).normal(0, 1.0, (len(points), 6, 2))
    corners[::50, 0] += 200  # seen elsewhere now and then
    names = (*ANIMAL, *"abcdef")
    [alone] = read_tracks(as_dataset(points, np.where(seen, 0.9, 0.1)))
    sure = np.column_stack([np.where(seen, 0.9, 0.1), np.ones(corners.shape[:2])])
    [among] = read_tracks(as_dataset(np.concatenate([points, corners], axis=1), sure, names))
    np.testing.assert_array_equal(among.positions, alone.positions)
    assert "Left out 'a', 'b', 'c', 'd', 'e', 'f', which do not move." in among.notes[0]
    one = as_dataset(np.concatenate([points[:, :1], corners], axis=1), None, ("nose", *"abcdef"))
    np.testing.assert_array_equal(read_tracks(one)[0].positions, points[:, 0])


def test_what_is_always_seen_is_one_point_in_the_middle():
    points = walker()
    for order in (range(5), reversed(range(5))):  # whatever the order of the points
        order = list(order)
        [track] = read_tracks(as_dataset(points[:, order], None, np.array(list(ANIMAL))[order]))
        assert track.keypoint == "centre"
        told = (
            "The position is that of 'centre', in the middle of the body and well seen; --keypoint NAME takes another."
        )
        assert track.notes == (told,)  # nothing is filled in, nothing lost
        np.testing.assert_array_equal(track.positions, points[:, 2])


def test_scores_or_none_the_path_is_the_same(tmp_path):
    points = walker()[None]
    scores = np.random.default_rng(3).normal(0.7, 0.2, points.shape[:3])  # heights of peaks: a third below 0.6
    points[0, ~lost_in_bouts(points.shape[1:3])] = np.nan
    write_sleap(tmp_path / "with.h5", points, scores, ("fly",), names=tuple(ANIMAL))
    write_sleap(tmp_path / "without.h5", points, None, ("fly",), names=tuple(ANIMAL))
    [scored], [bare] = (read_tracks(tmp_path / name) for name in ("with.h5", "without.h5"))
    np.testing.assert_array_equal(scored.positions, bare.positions)
    assert any("SLEAP's scores are no probabilities" in note for note in scored.notes)
    [strict] = read_tracks(tmp_path / "with.h5", min_confidence=0.6)  # who wants the cutoff has it
    assert np.isnan(strict.positions).sum() > np.isnan(bare.positions).sum()
    [of_movement] = read_tracks(as_dataset(points[0], scores[0], program="SLEAP"))
    np.testing.assert_array_equal(of_movement.positions, bare.positions)


def test_two_animals_are_never_averaged(tmp_path):
    points = np.stack([walker(0), walker(5)])
    write_sleap(tmp_path / "a.h5", points, None, ("m1", "m2"), names=tuple(ANIMAL))
    for track, own in zip(read_tracks(tmp_path / "a.h5"), points, strict=True):
        np.testing.assert_array_equal(track.positions, own[:, 2])
    [second] = read_tracks(tmp_path / "a.h5", individual="m2")
    np.testing.assert_array_equal(second.positions, points[1, :, 2])
    # Both in one, as B_nose … W_tail base: that is asked.
    names = [f"{who}_{part}" for who in "BW" for part in ANIMAL]
    both = as_dataset(np.concatenate([points[0], points[1]], axis=1), None, names)
    told = refusal(both)
    assert "do not move as one body" in told
    assert "B_centre, B_nose, B_ear and 2 more; W_centre, W_nose, W_ear and 2 more" in told
    assert "keypoint='B_centre' (--keypoint B_centre)" in told
    np.testing.assert_array_equal(read_tracks(both, keypoint="W_hip")[0].positions, points[1, :, 3])
    pair = as_dataset(points[:, :, 0].transpose(1, 0, 2), None, ("B", "W"))  # one point each
    assert "B; W" in refusal(pair)


@pytest.mark.parametrize(
    ("names", "told"),
    [(["BeamLeft", "BeamMiddle", "BeamRight"], True), (["corner_1", "corner_2", "nose"], False), (["a", "b"], False)],
)
def test_keypoints_that_are_all_of_the_arena_are_told(names, told):
    points = walker()[:, : len(names)]
    [track] = read_tracks(as_dataset(points, names=names))
    assert any("are called like things of the arena" in note for note in track.notes) == told


def test_a_loose_point_is_left_out_and_a_resting_animal_is_one_body():
    points = walker()
    points[:, 4] = walker(7)[:, 4]  # the tail is seen elsewhere
    [track] = read_tracks(as_dataset(points))
    assert "Left out 'tail base', which does not move with the body." in track.notes[0]
    resting = walker()[:1] + np.random.default_rng(0).normal(0, 1.0, (500, 5, 2))
    resting[:, 0] = np.nan
    [track] = read_tracks(as_dataset(resting))
    assert track.keypoint == "centre"
    assert "Left out 'nose', which is never seen." in track.notes[0]


def test_one_point_for_all_animals_of_a_file():
    """The centre of one animal is lost in every other frame: another point is taken for both."""
    points = np.stack([walker(0), walker(5)])
    data = xr.concat([as_dataset(one) for one in points], dim="individual").assign_coords(individual=["m1", "m2"])
    data["position"][0, ::2, 2] = np.nan
    assert {track.keypoint for track in read_tracks(data)} == {"hip"}


@pytest.mark.parametrize("longest_error", [np.inf, 3.0])
def test_gaps_are_bridged_as_a_loop_does(longest_error):
    rng = np.random.default_rng(4)
    position, others = np.cumsum(rng.normal(size=(2, 300, 2)), axis=1)
    others = others[:, None] + rng.normal(size=(300, 3, 2))
    position[rng.random(300) < 0.4] = np.nan
    others[rng.random((300, 3)) < 0.3] = np.nan
    expected, known = position.copy(), np.flatnonzero(np.isfinite(position[:, 0]))
    for first, last in itertools.pairwise(known):
        path = [position[first]]
        for t in range(first + 1, last + 1):
            steps = [b - a for a, b in zip(others[t - 1], others[t], strict=True) if np.isfinite(b - a).all()]
            path.append(path[-1] + (np.median(steps, axis=0) if steps else np.nan))
        missing = position[last] - path[-1]
        if np.hypot(*missing) <= longest_error:
            for t in range(first + 1, last):
                expected[t] = path[t - first] + missing * (t - first) / (last - first)
    got = bridged(position, others, longest_error)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    assert np.isfinite(position).sum() < np.isfinite(got).sum() < got.size  # some are, some are not
    np.testing.assert_array_equal(bridged(np.full((5, 2), np.nan), others[:5]), np.full((5, 2), np.nan))


def test_the_mean_of_named_points_does_not_jump_either():
    points = walker()
    seen = lost_in_bouts(points.shape[:2])
    [track] = read_tracks(as_dataset(points, np.where(seen, 0.9, 0.1)), keypoint=["nose", "tail base"])
    both = seen[:, [0, 4]].all(1)
    np.testing.assert_allclose(track.positions[both], points[both][:, [0, 4]].mean(1))
    _, changed = median_steps(track.positions, seen[:, [0, 4]])
    mean = np.nanmean(np.where(seen[:, [0, 4], None], points[:, [0, 4]], np.nan)[seen[:, [0, 4]].any(1)], axis=1)
    assert changed < 0.2 * median_steps(mean, seen[seen[:, [0, 4]].any(1)][:, [0, 4]])[1]  # a nose swings, no more


# Plain tables


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_plain_table(tmp_path):
    text = (
        "Session, Subject, Time, X, Y, speed, comment, likelihood\n"
        "007, m1, 0.0, 1, 2, 5.5, a, 1\n"
        "008, m2, 0.0, 9, 9, 1, b, 1\n"
        "\n"
        "007, m1, 0.5, 3, 4, 6.5, c, 1\n"
        "007, m1, 1.0, 3, 4, 7.5, d, 0.2\n"
        "008, m2, 0.5, , , 2, e, 1\n"
    )
    first, second = read_tracks(write(tmp_path / "all.csv", text))
    assert (first.name, first.subject, second.name) == ("007", "m1", "008")
    np.testing.assert_array_equal(first.times, [0, 0.5, 1])
    np.testing.assert_array_equal(first.positions, [[1, 2], [3, 4], [np.nan, np.nan]])
    np.testing.assert_array_equal(second.positions, [[9, 9], [np.nan, np.nan]])
    assert first.signals is not None
    np.testing.assert_array_equal(first.signals["speed"], [5.5, 6.5, 7.5])
    assert set(first.signals) == {"speed"}
    [only] = read_tracks(tmp_path / "all.csv", individual="m2")
    assert only.name == "008"


def test_two_animals_in_one_session_are_two_tracks(tmp_path):
    text = "session,subject,frame,x,y\na,m1,0,1,1\na,m2,0,2,2\na,m1,1,1,1\na,m2,1,2,2\n"
    tracks = read_tracks(write(tmp_path / "a.csv", text), fps=2)
    assert [track.name for track in tracks] == ["m1 a", "m2 a"]
    np.testing.assert_array_equal(tracks[1].times, [0, 0.5])


@pytest.mark.parametrize("text", ["x,y\n1.5,2\n3,4\n", "x;y\n1,5;2\n3;4\n", "\ufeffx\ty\n1.5\t2\n3\t4\n"])
def test_plain_table_without_times_counts_frames(tmp_path, text):
    [track] = read_tracks(write(tmp_path / "mouse 1.csv", text))
    assert (track.name, track.time_unit) == ("mouse 1", "frames")
    np.testing.assert_array_equal(track.positions, [[1.5, 2], [3, 4]])
    np.testing.assert_array_equal(track.times, [0, 1])


def test_frames_in_the_column_of_seconds(tmp_path):
    path = write(tmp_path / "a.csv", "t,x,y\n0,1,2\n1,1,2\n2,1,2\n")
    [track] = read_tracks(path)
    assert track.time_unit == "frames"
    assert track.notes[0].startswith("BEWARE: the times of a are just 1 apart")
    [track] = read_tracks(path, fps=10)
    np.testing.assert_allclose(track.times, [0, 0.1, 0.2])
    assert (track.time_unit, read_tracks(path, fps=1)[0].notes) == ("seconds", ())


BROKEN_TABLES = {
    "x,y\n1,2\n\n3,four\n": "a.csv, line 4, column y: 'four' is not a number",
    "x,z\n1,2\n": "no column y among x, z",
    "t,x,y\n0,1,2\n1,1,2\n1,1,2\n": "a.csv, line 4, column t: 1 is not after the row before",
    "t,x,y\n0,1,2\n,1,2\n": "a.csv, line 3, column t: no time",
    "session,x,y\na,1,2\n,1,2\n": "a.csv, line 3, column session: empty",
    "x,y\n1,2\n3,4,5\n": "line 3 has 3 values for 2 columns",
    "x,y\n1,2,3\n": "line 2 has 3 values for 2 columns",
    "x,y\n": "a line of column names and nothing else",
    "\n\n": "it holds only blank lines",
    "scorer,n,n\nbodyparts,a,a\ncoords,x,y\n0,1,2\n0,1,2\n": "a.csv, line 5, column frame: 0 is not after",
    "scorer,n,n\nbodyparts,a,a\ncoords,x,y\n0,1,oops\n": "a.csv, line 4, column n a y: 'oops' is not a number",
    "scorer,n,n\nbodyparts,a,a\ncoords,x,y\nlabeled-data/a.png,1,2\n": "hand-labelled frames are no tracks",
    "scorer,n,n\nbodyparts,a,a\ncoords,x,likelihood\n0,1,2\n": "bodypart a has no x or no y",
    "scorer,n,n\nbodyparts,a\ncoords,x,y\n0,1,2\n": "header lines have different lengths",
    "scorer,n,n\nbodyparts,a,a\ncoords,x,y\n": "a.csv holds no frames",
    "scorer,n,n\nbodyparts,a,a\ncoords,x,y\n0,1\n": "a.csv, line 4: 2 cells, but the header has 3",
}


@pytest.mark.parametrize("text", BROKEN_TABLES)
def test_broken_tables(tmp_path, text):
    assert BROKEN_TABLES[text] in refusal(write(tmp_path / "a.csv", text))


def test_all_wrong_cells_are_told_at_once(tmp_path):
    told = refusal(write(tmp_path / "a.csv", "t,x,y\n0,a,2\n1,b,c\n"))
    assert "2 faults" in told
    assert "lines 2, 3, column x" in told


def test_broken_files(tmp_path):
    path = tmp_path / "a b.h5"
    assert "does not exist" in refusal(path)
    assert "is a folder" in refusal(tmp_path)
    assert "source is a int" in refusal(3)
    write_sleap(path, VALUES[None, :, :, :2], VALUES[None, :, :, 2], ())
    path.write_bytes(path.read_bytes()[:900])
    assert "a b.h5 cannot be read as HDF5" in refusal(path)
    with h5py.File(path, "w") as file:
        file["other"] = [1]
    assert "holds /other: expected tracks of DeepLabCut" in refusal(path)
    with h5py.File(path, "w") as file:
        file.create_dataset("tracks", shape=(10**6, 2, 10**3, 10**6), chunks=(1, 2, 10, 10), dtype="f8")
        file["node_names"] = [b"a"]
    assert "/tracks claims 2,000,000,000,000,000 values, which would take" in refusal(path)
    path.write_bytes(pickle.dumps(Bomb()))
    assert "it is a pickle, which is never opened" in refusal(path)
    path.write_bytes(b"x,y\n\x81,1\n")
    assert "holds the byte 0x81, which is not UTF-8: save the file as UTF-8" in refusal(path)
    path.write_bytes("x,y\n1,1\n".encode("utf-16")[:-1])
    assert "it starts as UTF-16 but is not UTF-16 throughout" in refusal(path)
    write_pandas_table(path, deeplabcut_columns(), VALUES.reshape(6, -1), index="labels")
    assert "hand-labelled frames are no tracks" in refusal(path)
    write_pandas_table(path, deeplabcut_columns()[:3], VALUES.reshape(6, -1))
    assert "values_block_0 has (6,) columns, but 3 names" in refusal(path)
    assert not Bomb.fired


def test_a_track_checks_itself():
    half_known = Track("a", [0, 1], [[1, np.nan], [2, 3]])
    np.testing.assert_array_equal(half_known.positions, [[np.nan, np.nan], [2, 3]])
    with pytest.raises(
        ValueError, match=r"'a' cannot be built: 2 faults(.|\n)*do not increase at frame 1(.|\n)*one value"
    ):
        Track("a", np.zeros(2), np.zeros((2, 2)), signals={"s": np.zeros(3)})
    with pytest.raises(ValueError, match=r"positions have shape \(3, 2\)"):
        Track("a", np.arange(2.0), np.zeros((3, 2)))


# ---------------------------------------------------------------------- EthoVision, and other names of columns


def ethovision(*, separator=";", animal="m 7", n=6):
    """A track as EthoVision writes it as text: lines about the trial, names, units, then a row per sample."""
    above = [["Number of header lines:", str(7)], ["Experiment", "maze"], ["Trial name", "Trial     1"]]
    above += [["Animal ID", animal], [""]]
    names = ["Trial time", "Recording time", "X center", "Y center", "Area", "In zone(arm / center-point)"]
    rows = [names, ["(s)", "(s)", "(cm)", "(cm)", "(cm²)", ""]]
    for i in range(n):
        lost = i == 2
        rows.append(
            [f"{i / 25:.2f}", f"{i / 25:.2f}", "-" if lost else f"{i - 3.5}", "-" if lost else "1.25", "2.0", "1"]
        )
    cells = [[f'"{cell}"' for cell in row] for row in [*above, *rows[:2]]] + rows[2:]
    return "\r\n".join(separator.join([*row, ""]) for row in cells) + "\r\n"


@pytest.mark.parametrize("separator", [";", ",", "\t"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8", "utf-8-sig"])
def test_ethovision_text(tmp_path, encoding, separator):
    path = tmp_path / "Track-maze-Trial     1-Arena 1-Subject 1.txt"
    path.write_bytes(ethovision(separator=separator).encode(encoding))
    [track] = read_tracks(path)
    np.testing.assert_allclose(track.times, np.arange(6) / 25)
    np.testing.assert_array_equal(track.positions[:, 0], [-3.5, -2.5, np.nan, -0.5, 0.5, 1.5])
    assert np.isnan(track.positions[2, 1])
    assert track.time_unit == "seconds"
    assert track.subject == "m 7"
    assert not track.y_down
    assert track.signals["In zone(arm / center-point)"].tolist() == [1.0] * 6


def test_who_it_is_may_stand_above_the_table(tmp_path):
    """In EthoVision users name the variables of a trial as they like; its own lines are none of theirs."""
    path = tmp_path / "Trial 1.txt"

    def with_lines(**lines):
        told = "".join(f'"{name.replace("_", " ")}";"{value}";\r\n' for name, value in lines.items())
        own = f'"Subject name";"Subject 1";\r\n"Track status";"Acquired";\r\n{told}'
        text = ethovision().replace('"7"', f'"{8 + len(lines)}"').replace('"Animal ID";"m 7";\r\n', own)
        path.write_text(text)
        return path

    [track] = read_tracks(with_lines(Mouse_Number="8", Day="3", Treatment="drug"))
    assert (track.subject, track.group) == ("8", "drug")
    told = " ".join(track.notes)
    assert "Trial 1.txt: the animal is '8', as 'Mouse Number' above the table says." in told
    assert "also say 'Day': --subject and --group take" in told
    [track] = read_tracks(path, columns={"group": "day", "subject": "treatment"})
    assert (track.subject, track.group) == ("drug", "3")
    assert "also say 'Mouse Number'" in " ".join(track.notes)
    # Two that may be it: neither is taken, both are named.
    [track] = read_tracks(with_lines(Mouse="8", Animal_ID="m8", Genotype="wt", Group="a"))
    assert (track.subject, track.group) == (None, None)
    assert "also say 'Mouse', 'Animal ID', 'Genotype', 'Group'" in " ".join(track.notes)
    [track] = read_tracks(with_lines(Mouse="", Day="3"))
    assert track.subject is None
    with pytest.raises(
        ValueError, match=r"no column 'dayy' \(--subject\) .*lines above the table \(Day\); did you mean 'Day'"
    ):
        read_tracks(path, columns={"subject": "dayy"})
    # A column of that name comes first.
    path.write_text(path.read_text().replace("Area", "Day"))
    assert read_tracks(path, columns={"group": "Day"})[0].group == "2.0"


def test_groups_in_a_column(tmp_path):
    path = tmp_path / "all.csv"
    rows = [f"m{1 + i // 3},{'ab'[i // 3]},{i},{i},0" for i in range(6)]
    path.write_text("animal,dose,t,x,y\n" + "\n".join(rows))
    assert [(track.subject, track.group) for track in read_tracks(path, columns={"group": "dose"})] == [
        ("m1", "a"),
        ("m2", "b"),
    ]
    path.write_text("animal,dose,t,x,y\n" + "\n".join(rows).replace("m1,a,2", "m1,c,2"))
    with pytest.raises(ValueError, match="line 4, column dose: 'c', but 'a' before: a session has one group"):
        read_tracks(path, columns={"group": "dose"})


def test_ethovision_that_is_cut_or_wrong_is_told_by_its_lines(tmp_path):
    path = tmp_path / "track.txt"
    path.write_text(ethovision().replace("-2.5", "here"))
    with pytest.raises(ValueError, match=r"track\.txt, line 9, column X center: 'here' is not a number"):
        read_tracks(path)
    path.write_text(ethovision().replace('"7"', '"700"'))
    with pytest.raises(
        ValueError, match="line 1: expected the number of lines above the data, as EthoVision writes it"
    ):
        read_tracks(path)
    path.write_text(ethovision(animal=""))
    assert read_tracks(path)[0].subject is None


def test_columns_by_other_names(tmp_path):
    path = tmp_path / "mine.csv"
    rows = [f"{i},{i / 10},{i * 2.0},{5 - i},m{1 + i // 3},{7 * i}" for i in range(6)]
    path.write_text("n,clock,East,North,who,x\n" + "\n".join(rows))
    named = {"x": "East", "y": "north", "time": "clock", "subject": "who"}
    one, two = read_tracks(path, columns=named)
    np.testing.assert_array_equal(one.positions, [[0, 5], [2, 4], [4, 3]])
    np.testing.assert_allclose(two.times, [0.3, 0.4, 0.5])
    assert (one.subject, two.subject) == ("m1", "m2")
    assert set(one.signals) == {"n", "x"}  # a column x that is none is a signal
    [frames] = read_tracks(path, columns={"x": "East", "y": "North", "frame": "n"}, fps=2)
    np.testing.assert_allclose(frames.times, np.arange(6) / 2)
    table = pd.read_csv(path)
    np.testing.assert_array_equal(read_tracks(table, columns=named)[1].positions, two.positions)
    with pytest.raises(ValueError, match=r"no column 'Est' \(--x\) among n, clock, East.*East"):
        read_tracks(path, columns={"x": "Est", "y": "North"})
    with pytest.raises(ValueError, match="columns names 'z': expected x, y, time, frame, subject, group, session"):
        read_tracks(path, columns={"z": "North"})


def test_any_maze_names_and_packed_text(tmp_path):
    path = tmp_path / "any-maze.csv.gz"
    text = "Time,Centre position X,Centre position Y,In open arm\n0.0,10,20,1\n0.1,11,20,0\n"
    path.write_bytes(gzip.compress(text.encode()))
    [track] = read_tracks(path)
    np.testing.assert_array_equal(track.positions, [[10, 20], [11, 20]])
    assert track.signals["In open arm"].tolist() == [1.0, 0.0]


def test_sheets_of_excel(tmp_path, monkeypatch):
    """EthoVision's and a plain one are what they are as text, to the last bit."""
    openpyxl = pytest.importorskip("openpyxl")
    texts = {"ethovision": ethovision(), "plain": "t;x;y;note\r\n0;1.1;2;\r\n0.1;;3;a\r\n0.3;0.123456789012345;4;\r\n"}
    for name, text in texts.items():
        book = openpyxl.Workbook()
        for row in csv.reader(io.StringIO(text), delimiter=";"):
            cells = [float(cell) if cell.replace(".", "").lstrip("-").isdigit() else cell for cell in row]
            book.worksheets[0].append(cells)
        book.save(tmp_path / f"{name}.xlsx")
        (tmp_path / f"{name}.txt").write_text(text)
        [one], [other] = (read_tracks(tmp_path / f"{name}.{kind}") for kind in ("xlsx", "txt"))
        np.testing.assert_array_equal(one.times, other.times)
        np.testing.assert_array_equal(one.positions, other.positions)
        assert one.subject == other.subject
        assert set(one.signals or {}) == set(other.signals or {})
    broken = tmp_path / "broken.xlsx"
    broken.write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(ValueError, match=r"it cannot be read as an Excel file .*: save it again, or as CSV"):
        read_tracks(broken)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match=r"reading plain\.xlsx needs openpyxl: pip install 'swirl-irl\[excel\]'"):
        read_tracks(tmp_path / "plain.xlsx")


def test_ethovision_text_whose_units_lost_their_signs(tmp_path):
    """As a file that went through another program: cm² became "cm?", and is still no row of data."""
    path = tmp_path / "Trial 308.txt"
    path.write_text(ethovision().replace("cm²", "cm?"))
    [track] = read_tracks(path)
    np.testing.assert_allclose(track.times, np.arange(6) / 25)
    assert "x and y are in cm" in track.notes


def test_tracks_of_sessions_told_by_several_columns(tmp_path):
    rows = [(mouse, day, 0.1 * t, float(t), 1.0) for mouse in ("m1", "m2") for day in (1, 2) for t in range(3)]
    table = pd.DataFrame(rows, columns=["mouse", "session", "t", "x", "y"])
    table.to_csv(tmp_path / "tracks.csv", index=False)
    for source in (table, tmp_path / "tracks.csv"):
        tracks = read_tracks(source, columns={"session": "mouse,session", "subject": "mouse"})
        assert [(track.name, track.subject) for track in tracks] == [
            ("m1 1", "m1"), ("m1 2", "m1"), ("m2 1", "m2"), ("m2 2", "m2"),
        ]  # fmt: skip
    with pytest.raises(ValueError, match=r"no column 'day' \(--session\) among mouse, session"):
        read_tracks(table, columns={"session": "mouse,day"})


# What files of other laboratories taught (studies/real_files.py, held out)


def test_frames_with_all_points_on_zero_are_lost_frames(tmp_path):
    head = f"scorer,{','.join(['n'] * 4)}\nbodyparts,nose,nose,tail,tail\ncoords,x,y,x,y\n"
    rows = [f"{i},{5 + i},4,{3 + i},4" for i in range(8)]
    rows[3], rows[5] = "3,0,0,0,0", "5,10,4,0,0"
    [track] = read_tracks(write(tmp_path / "a.csv", head + "\n".join(rows)), fps=10, keypoint="nose")
    assert np.isnan(track.positions[3]).all()
    assert track.positions[5].tolist() == [10, 4]  # one point may lie there
    assert "1 of 8 frames has all keypoints on 0, 0: nothing was found there." in track.notes
    [track] = read_tracks(write(tmp_path / "b.csv", "t,x,y\n0,0,0\n1.5,1,0\n3,2,0\n"))
    assert track.positions[0].tolist() == [0, 0]  # a single point: the origin is a place
    assert not any("0, 0" in note for note in track.notes)


def test_x_and_y_are_of_one_pair(tmp_path):
    text = "timestamp,X,location.long,location.lat\n2009-02-11 12:00:00,,7.5,47\n2009-02-11 12:15:00,3,7.6,47.1\n"
    [track] = read_tracks(write(tmp_path / "a.csv", text))
    assert track.positions.tolist() == [[7.5, 47], [7.6, 47.1]]
    assert track.times.tolist() == [0, 900]
    both = "t,x,y,lon,lat\n0,1,2,7,47\n0.5,1,3,7,48\n"
    assert read_tracks(write(tmp_path / "b.csv", both))[0].positions.tolist() == [[1, 2], [1, 3]]
    named = read_tracks(write(tmp_path / "a.csv", text), columns={"x": "X", "y": "location.lat"})
    assert named[0].positions[1].tolist() == [3, 47.1]  # the user's own choice stands


@pytest.mark.parametrize("name", ["time_seconds", "Time since start (s)", "Elapsed time"])
def test_columns_of_seconds_come_before_frames(tmp_path, name):
    [track] = read_tracks(write(tmp_path / "a.csv", f"x,y,frame,{name}\n1,2,1,0.2\n2,2,2,0.4\n3,2,3,0.6\n"))
    assert track.times.tolist() == [0.2, 0.4, 0.6]
    assert track.time_unit == "seconds"


def test_a_column_that_may_be_the_time_is_named(tmp_path):
    text = "X Pos,Y Pos,Start Time (secs),size\n1,2,5.5,9\n2,2,5.6,8\n3,Non Numérique,5.7,9\n4,2,5.8,8\n5,2,5.9,9\n"
    [track] = read_tracks(write(tmp_path / "a.csv", text))
    assert "BEWARE: 'Start Time (secs)' may be the time: if it is, say --time 'Start Time (secs)'" in track.notes
    assert np.isnan(track.positions[2]).all()
    [track] = read_tracks(write(tmp_path / "a.csv", text), columns={"time": "Start Time (secs)"})
    assert track.times.tolist() == [5.5, 5.6, 5.7, 5.8, 5.9]
    assert not any("may be the time" in note for note in track.notes)
    for few in ("1,2,5\n2,2,3\n3,2,4\n", "1,2,3\n2,2,4\n"):
        [track] = read_tracks(write(tmp_path / "b.csv", f"x,y,time to eat\n{few}"))
        assert not any("may be the time" in note for note in track.notes)


def test_who_names_the_frames_has_chosen_them(tmp_path):
    path = write(tmp_path / "a.csv", "frame,time,x,y\n" + "".join(f"{i},{i * 0.03},{i},{i}\n" for i in range(9)))
    for source in (path, pd.read_csv(path)):
        [track] = read_tracks(source, columns={"frame": "frame"}, fps=30)
        assert track.times[1] == 1 / 30
        assert not any("may be the time" in note for note in track.notes)


@pytest.mark.parametrize("last", [",,,wt", ",,,end of trial"])
def test_a_row_with_a_word_alone_is_blank(tmp_path, last):
    rows = "time,x,y,genotype\n0,1,2,wt\n0.5,1,2,wt\n1,2,3,wt\n"
    [track] = read_tracks(write(tmp_path / "a.csv", rows + last + "\n"))
    assert track.times.tolist() == [0, 0.5, 1]
    assert "line 5, column time: no time" in refusal(write(tmp_path / "b.csv", rows + ",2,3,wt\n"))


LOST_ROWS = {"video,x,y,behaviour": "v1,,,rest", "x,y,behaviour": ",,rest", "video,x,y": "v1,,", "x,y": ","}


@pytest.mark.parametrize("top", LOST_ROWS)
def test_without_a_clock_each_row_between_others_is_a_frame(tmp_path, top):
    """Rows that hold words alone, or nothing, are frames in which the animal was not found: times go on."""
    whole = {"video": "v1", "x": "{0}", "y": "{0}", "behaviour": "walk"}
    row = ",".join(whole[name] for name in top.split(","))
    rows = [LOST_ROWS[top] if 20 <= i < 30 else row.format(i) for i in range(40)]
    path = write(tmp_path / "v1.csv", "\n".join([top, *rows]) + "\n")
    table = pd.read_csv(path, skip_blank_lines=False)
    for source in (path, table):
        [track] = read_tracks(source, fps=10)
        np.testing.assert_allclose(track.times, np.arange(40) / 10)
        assert np.flatnonzero(np.isnan(track.positions[:, 0])).tolist() == [*range(20, 30)]
        assert any("10 of 40 frames without a position" in note for note in track.notes)


def test_without_a_clock_a_row_of_words_at_the_end_is_a_remark(tmp_path):
    rows = "".join(f"{i},{i},wt\n" for i in range(5))
    for end in (",,end of trial", ",,wt\n,,wt", ",,"):
        [track] = read_tracks(write(tmp_path / "a.csv", f"x,y,genotype\n{rows}{end}\n"), fps=10)
        assert len(track.times) == 5
    # A blank line between two animals is nobody's frame; a name alone is one.
    text = "animal,x,y\nm1,1,1\nm1,,\nm1,2,2\n,,\nm2,1,1\nm2,2,2\n"
    one, two = read_tracks(write(tmp_path / "b.csv", text), fps=10)
    assert (len(one.times), len(two.times)) == (3, 2)


def test_times_of_day_a_second_apart_are_seconds(tmp_path):
    clock = "date,time,lon,lat\n" + "".join(f"2015-09-10,07:00:0{i},15.{i},-22.{i}\n" for i in range(5))
    [track] = read_tracks(write(tmp_path / "a.csv", clock))
    assert track.time_unit == "seconds"
    assert not any("taken as frames" in note for note in track.notes)
    [track] = read_tracks(write(tmp_path / "b.csv", "time,x,y\n" + "".join(f"{i},{i},2\n" for i in range(5))))
    assert track.time_unit == "frames"


def test_the_column_that_tells_animals_apart_is_named(tmp_path):
    text = "frame,pos_x,pos_y,id\n" + "".join(
        f"{i},{i},{j},{j}\n".replace("1\n", "A\n") for i in range(3) for j in (1, 2)
    )
    assert "say --subject 'id'" in refusal(write(tmp_path / "a.csv", text), fps=10)
    assert len(read_tracks(tmp_path / "a.csv", fps=10, columns={"subject": "id"})) == 2
    told = refusal(write(tmp_path / "b.csv", "time,x,y,dose\n0,1,1,2\n0,1,2,2\n0.2,1,2,2\n0.3,1,2,2\n"))
    assert "the times are equal: if they are rounded, export more digits" in told
    assert "say which column tells them apart" in told
    assert "sort the rows" in refusal(write(tmp_path / "c.csv", "time,x,y\n0,1,1\n2,1,2\n1,1,2\n"))


@pytest.mark.parametrize(
    ("columns", "typed", "n_told"),
    [
        ("animal,trial", "animal,trial", 1),
        ("trial", "trial", 1),
        ("Camera", "Camera", 1),
        ("id", "id", 2),
    ],
)
def test_trials_are_no_animals(tmp_path, columns, typed, n_told):
    """What is said to type reads the table, and no animal is lost."""
    keys = [f"m1,{i}" if "," in columns else str(i) for i in (1, 2)]
    rows = [f"{key},{t / 2},{t},{t}" for key in keys for t in range(3)]
    path = write(tmp_path / "a.csv", f"{columns},time,x,y\n" + "\n".join(rows) + "\n")
    told = refusal(path)
    assert f"--session {typed!r}" in told
    assert (f"--subject {typed!r}" in told) == (n_told == 2)
    tracks = read_tracks(path, columns={"session": typed})
    assert len(tracks) == 2
    assert {track.subject for track in tracks} == ({"m1"} if "animal" in columns else {None})


def test_a_table_without_names_of_columns_is_told(tmp_path):
    told = refusal(write(tmp_path / "tracked.txt", "48\t0\t1\t138.1\t240.5\t1\n49\t0\t1\t137.6\t240.4\t1\n"), fps=30)
    assert "Line 1 holds 48, 0, 1 and 3 more: is the line of column names missing?" in told
    assert "missing?" not in refusal(write(tmp_path / "a.csv", "frame,speed,area\n1,2,3\n2,3,4\n"))


def test_z_is_said_to_be_left_out_of_deeplabcuts_three_dimensions(tmp_path):
    head = "scorer,n,n,n\nbodyparts,nose,nose,nose\ncoords,x,y,{}\n"
    for third, told in (("z", True), ("likelihood", False)):
        path = write(tmp_path / "a.csv", head.format(third) + "0,1,2,1\n1,2,2,1\n2,3,2,1\n")
        assert ("left out z: places are laid over x and y" in read_tracks(path, fps=10)[0].notes) == told


def test_a_pickled_name_of_the_network_is_not_needed(tmp_path):
    path = tmp_path / "a.h5"
    write_pandas_fixed(path, deeplabcut_columns(), VALUES.reshape(6, -1))
    for level, read in ((0, True), (1, False)):
        with h5py.File(path, "a") as file:
            del file[f"df_with_missing/block0_items_level{level}"]
            file[f"df_with_missing/block0_items_level{level}"] = np.arange(3, dtype="u1")  # a pickle, never opened
        if read:
            [track] = read_tracks(path, fps=10)
            np.testing.assert_array_equal(track.positions[:2], POSITION[:2])
        else:
            assert "the columns' names are pickled" in refusal(path, fps=10)


@pytest.mark.parametrize("name", ["datetime", "date", "fixed at"])
def test_dates_are_the_times_whatever_their_column_is_called(tmp_path, name):
    path = tmp_path / "walk.csv"
    rows = [f"{i},5,2016-11-01 0{i}:00:54,1" for i in range(4)]
    path.write_text("\n".join([f"X,Y,{name},population", *rows]) + "\n")
    [track] = read_tracks(path)
    assert (track.time_unit, track.times.tolist()) == ("seconds", [0, 3600, 7200, 10_800])


def of_dates(top, date, *, lost=(), n=40):
    """A table in which `date` is what stands in row i in the column of dates; x is i."""
    cells = {"frame": "{0}", "time": "{1}", "elapsed": "{1}", "individual": "m{2}"}
    cells |= dict.fromkeys(("x", "lon", "nose_x"), "{0}") | dict.fromkeys(("y", "lat", "nose_y"), "5")
    rows = []
    for i in range(n):
        row = [cells[name] if name in cells else "" if i in lost else date(i) for name in top.split(",")]
        rows.append(",".join(row).format(i, i / 10, i // 20))
    return "\n".join([top, *rows]) + "\n"


def whole_second(i):
    return f"2024-01-02 12:00:{i // 10:02d}"


def constant(i):
    return "2024-01-02 12:00:00"


NO_CLOCKS = {
    "whole seconds beside frames": ("frame,datetime,x,y", whole_second, 10, "'frame' is there"),
    "constant beside frames": ("frame,datetime,x,y", constant, 10, "'frame' is there"),
    "whole seconds beside times": ("datetime,time,x,y", whole_second, None, "'time' is there"),
    "not told which is the month": ("frame,DateTime,x,y", lambda i: "01/02/2024 12:00:00", 10, "'frame' is there"),
    "constant": ("started,x,y", constant, 10, "rows are frames, fps=10"),
    "constant, wide": ("nose_x,nose_y,video_start", constant, 10, "rows are frames, fps=10"),
    "rising, but fps is given": ("datetime,x,y", lambda i: f"2024-01-02 12:00:{i:02d}", 10, "rows are frames, fps=10"),
    "constant, no fps": ("started,x,y", constant, None, "all rows"),
    "constant beside what may be seconds": ("started,elapsed,x,y", constant, None, "all rows"),
    "the first row alone": ("started,x,y", constant, None, "blank in 39 rows"),
    "blank somewhere": ("datetime,x,y", lambda i: f"2024-01-02 12:00:{i:02d}", None, "blank in 1 row"),
    "rounded": ("individual,datetime,lon,lat", lambda i: f"2024-01-02 12:{i // 2:02d}", None, "does not rise"),
    "days of a spreadsheet": (
        "datetime,x,y",
        lambda i: f"{45_000 + i / 86_400}",
        None,
        "it holds numbers, such as 45000",
    ),
    "no dates": ("DateTime,x,y", lambda i: f"01/02/2024 12:00:{i:02d}", None, "is no time"),
}


@pytest.mark.parametrize("case", NO_CLOCKS)
def test_a_column_of_dates_is_no_clock_where_it_cannot_be_one(tmp_path, case):
    top, date, rate, why = NO_CLOCKS[case]
    lost = range(1, 40) if case == "the first row alone" else [7] if case == "blank somewhere" else ()
    tracks = read_tracks(write(tmp_path / "a.csv", of_dates(top, date, lost=lost)), fps=rate)
    own = np.concatenate([track.times for track in tracks])
    own = own + 20 * (own[0] == own[-20]) * (np.arange(40) >= 20) if len(tracks) == 2 else own
    np.testing.assert_allclose(own, np.arange(40) / (10 if rate or "time" in top.split(",") else 1))
    name = next(x for x in top.split(",") if x.lower() in ("datetime", "started", "video_start"))
    [said] = {note for track in tracks for note in track.notes if "was not taken as the time" in note}
    assert said.startswith(f"{name!r} was not taken as the time: ")
    assert why in said
    assert said.endswith(f"; --time {name!r} takes it")


def test_a_time_of_day_comes_before_a_date(tmp_path):
    text = "datetime,time,x,y\n" + "".join(f"2024-01-02,12:00:0{i},{i},1\n" for i in range(5))
    [track] = read_tracks(write(tmp_path / "a.csv", text))
    assert (track.time_unit, (track.times - track.times[0]).tolist()) == ("seconds", [0, 1, 2, 3, 4])


def test_a_column_of_dates_that_is_named_is_the_time(tmp_path):
    text = of_dates("frame,datetime,x,y", lambda i: f"2024-01-02 12:{i:02d}:00")
    [track] = read_tracks(write(tmp_path / "a.csv", text), columns={"time": "datetime"})
    assert (track.time_unit, track.times[2], track.notes) == ("seconds", 120, ())
    assert "is not after the row before" in refusal(
        write(tmp_path / "b.csv", of_dates("datetime,x,y", whole_second)), columns={"time": "datetime"}
    )


def test_dates_that_rise_for_each_animal_or_in_blocks_are_the_time(tmp_path):
    text = of_dates("individual,datetime,lon,lat", lambda i: f"2024-01-02 12:{i % 20:02d}")
    assert [track.times[-1] for track in read_tracks(write(tmp_path / "a.csv", text))] == [1140, 1140]
    text = dated_blocks("trial", "1", "1").replace("timestamp", "datetime")
    [track] = read_tracks(write(tmp_path / "b.csv", text))
    assert any("2 blocks of rows of one animal were put in the order of datetime" in note for note in track.notes)
    text = dated_blocks("collar", "B", "A").replace("timestamp", "datetime")
    assert "say --subject 'collar'" in refusal(write(tmp_path / "c.csv", text))


def test_dates_beside_frames_of_pandas_are_no_clock():
    table = pd.DataFrame({"datetime": pd.Timestamp("2024-01-02"), "frame": range(5), "x": range(5), "y": range(5)})
    [track] = read_tracks(table, fps=10)
    np.testing.assert_allclose(track.times, np.arange(5) / 10)
    assert any("'datetime' was not taken as the time: 'frame' is there" in note for note in track.notes)
    table["datetime"] = pd.date_range("2024-01-02", periods=5, freq="min")
    assert read_tracks(table.drop(columns="frame"))[0].times.tolist() == [0, 60, 120, 180, 240]


def test_a_day_alone_is_no_time_and_of_two_dates_none_is_taken(tmp_path):
    path = tmp_path / "walk.csv"
    for top, cells in (("date", "2016-11-01"), ("begun,ended", "2016-11-01 00:00:54,2016-11-01 00:00:58")):
        path.write_text(f"x,y,{top}\n" + "".join(f"{i},5,{cells}\n" for i in range(3)))
        assert read_tracks(path)[0].time_unit == "frames"


@pytest.mark.parametrize(("ticks", "told"), [(1000, "milliseconds"), (10**6, "microseconds"), (10**9, "nanoseconds")])
def test_a_clock_since_1970_says_its_unit(tmp_path, ticks, told):
    path = tmp_path / "walk.csv"
    clock = [(1_534_077_064 + 3 * i) * ticks for i in range(4)]
    path.write_text("TIME,X,Y\n" + "".join(f"{when},{i},5\n" for i, when in enumerate(clock)))
    [track] = read_tracks(path)
    np.testing.assert_allclose(track.times, [1_534_077_064 + 3 * i for i in range(4)], rtol=1e-12)
    assert f"'TIME' counts {told} since 1970 (it starts on 2018-08-12 12:31): made seconds of it" in track.notes


def test_a_clock_of_the_machine_does_not_count_since_1970(tmp_path):
    path = tmp_path / "walk.csv"
    path.write_text("time,x,y\n" + "".join(f"{10**12 + 33 * 10**9 * i},{i},5\n" for i in range(11)))  # ns since a start
    [track] = read_tracks(path)
    assert track.times[0] == 10**12
    assert not any("1970" in note for note in track.notes)


@pytest.mark.parametrize(
    ("name", "unit", "tick"),
    [
        ("timestamp_us", None, 1e-6),
        ("timestamp (us)", None, 1e-6),
        ("timestamp (\u00b5s)", None, 1e-6),
        ("time_ns", None, 1e-9),
        ("time [nanoseconds]", None, 1e-9),
        ("timestamp", "us", 1e-6),
        ("timestamp", "ns", 1e-9),
        ("timestamp", "\u00b5s", 1e-6),
    ],
)
def test_a_unit_that_is_said_is_no_clock_since_1970(tmp_path, name, unit, tick):
    """Twelve days of uptime in us would be 2002 in ms, and fifteen days 2011."""
    for days in (12, 15):
        start = round(days * 86400 / tick)
        rows = "".join(f"{start + round(i * 0.04 / tick)},{i},5\n" for i in range(50))
        path = write(tmp_path / "walk.csv", f"{name},x,y\n{rows}")
        for source in (path, pd.read_csv(path)):
            [track] = read_tracks(source, time_unit=unit)
            np.testing.assert_allclose(track.times, days * 86400 + np.arange(50) * 0.04, rtol=1e-12)
            assert not any("1970" in note or "time_unit" in note for note in track.notes)


def test_twelve_days_in_microseconds_are_not_the_year_2002(tmp_path):
    start = 12 * 86400 * 10**6
    rows = "".join(f"{start + 40_000 * i},{i},5\n" for i in range(50))
    [track] = read_tracks(write(tmp_path / "walk.csv", f"timestamp,x,y\n{rows}"))
    assert track.times[0] == start
    assert not any("1970" in note for note in track.notes)


def test_a_unit_of_time_that_is_none_is_refused(tmp_path):
    path = write(tmp_path / "a.csv", "t,x,y\n0,1,2\n3,1,2\n")
    assert "time_unit='ps' (--time-unit): expected one of s, " in refusal(path, time_unit="ps")


def test_dates_of_pandas_are_dates(tmp_path):
    for zone in (None, "UTC"):
        when = pd.date_range("2024-01-01 12:00", periods=5, freq="s", tz=zone)
        for name in ("time", "timestamp"):
            [track] = read_tracks(pd.DataFrame({name: when, "x": range(5), "y": range(5)}))
            assert (track.time_unit, track.times.tolist(), track.notes) == ("seconds", [0, 1, 2, 3, 4], ())
    [track] = read_tracks(pd.DataFrame({"t": pd.to_timedelta([1, 2, 4], unit="s"), "x": range(3), "y": range(3)}))
    assert track.times.tolist() == [1, 2, 4]
    when = when.to_series().reset_index(drop=True).mask(np.arange(5) == 3)
    told = refusal(pd.DataFrame({"time": when, "x": range(5), "y": range(5)}))
    assert "row 3, column time: no time; give one to each row" in told


BLOCKS = "2005-05-06 12:0{}:00,m1", "2004-12-27 12:0{}:00,m1", "2014-02-11 12:0{}:00,m2"


def test_blocks_of_rows_are_put_in_the_order_of_their_dates(tmp_path):
    path = tmp_path / "gps.csv"
    rows = [f"{10 * k + i},5,{block.format(i)}" for k, block in enumerate(BLOCKS) for i in range(3)]
    path.write_text("\n".join(["x,y,timestamp,animal", *rows]) + "\n")
    first, second = read_tracks(path)
    assert (first.positions[:, 0].tolist(), second.positions[:, 0].tolist()) == ([10, 11, 12, 0, 1, 2], [20, 21, 22])
    assert (np.diff(first.times) > 0).all()
    assert any("line 2: 2 blocks of rows of one animal were put in the order of timestamp" in x for x in first.notes)
    rows[3:6] = [f"{i},5,2005-05-06 12:0{i}:30,m1" for i in range(3)]  # at the same time as the first block
    path.write_text("\n".join(["x,y,timestamp,animal", *rows]) + "\n")
    with pytest.raises(ValueError, match="line 5, column timestamp: 2005-05-06 12:00:30 is not after the row before"):
        read_tracks(path)


def dated_blocks(top, *blocks):
    """A table of two recordings, the later one first; `blocks` is what stands in front of each."""
    days = [f"{told},2024-01-0{2 - k}" for k, told in enumerate(blocks)]
    rows = [f"{day} 10:00:{i:02d}.{5 * (i % 2)},{i},{k}" for k, day in enumerate(days) for i in range(40)]
    return "\n".join([f"{top},timestamp,x,y", *rows]) + "\n"


@pytest.mark.parametrize("names", [("B", "A"), ("7", "8"), ("7.0", "8.0")])
def test_blocks_of_two_animals_are_not_put_in_order_as_one(tmp_path, names):
    path = write(tmp_path / "gps.csv", dated_blocks("collar", *names))
    told = refusal(path)
    assert "line 42, column timestamp: 2024-01-01 10:00:00.0 is not after the row before" in told
    assert "say --subject 'collar' or --session 'collar'" in told
    assert [len(track.times) for track in read_tracks(path, columns={"subject": "collar"})] == [40, 40]
    path = write(tmp_path / "gps.csv", dated_blocks("animal,partner", *(f"m1,{name}" for name in names)))
    assert "say --session 'animal,partner'" in refusal(path)


@pytest.mark.parametrize("name", ["trial", "tag-local-identifier", "collar id"])  # an animal may wear two, by turns
def test_blocks_of_two_trials_of_one_animal_are_put_in_order_and_told(tmp_path, name):
    path = write(tmp_path / "gps.csv", dated_blocks(f"animal,{name}", "m1,2", "m1,1"))
    [track] = read_tracks(path)
    assert track.positions[[0, -1], 1].tolist() == [1, 0]
    told = f"BEWARE: {name!r} differs between these blocks: if it tells sessions apart, say --session 'animal,{name}'"
    assert told in track.notes
    assert f"--session {name!r}" in refusal(write(tmp_path / "b.csv", dated_blocks(name, "2", "1")))


@pytest.mark.parametrize(
    ("top", "blocks"),
    [
        ("collar", ("B", "B")),
        ("temperature", ("21.5", "19.25")),  # measured once a day
        ("date", ("2024-01-02", "2024-01-01")),  # says no more than the time
        ("day", ("2", "1")),
    ],
)
def test_blocks_that_no_column_tells_apart_are_put_in_order(tmp_path, top, blocks):
    [track] = read_tracks(write(tmp_path / "gps.csv", dated_blocks(top, *blocks)))
    assert track.positions[[0, -1], 1].tolist() == [1, 0]
    assert not any("BEWARE" in note for note in track.notes)


def test_seconds_that_start_anew_are_not_put_in_order(tmp_path):
    path = tmp_path / "walk.csv"
    path.write_text("x,y,t,animal\n" + "".join(f"{i},5,{t},m1\n" for i, t in enumerate((5, 6.5, 7, 0, 1.5, 2))))
    with pytest.raises(ValueError, match="line 5, column t: 0 is not after the row before: sort the rows"):
        read_tracks(path)


class HandLabelled:
    """What sleap-io makes of a project: here frames, each with so many animals, `tracked` or labelled by hand."""

    def __init__(self, *videos, animals=1, tracked=False):
        self.tracks = []
        self.labeled_frames = [
            self.Frame(video, number, [None] * animals, tracked) for video in videos for number in video
        ]

    class Frame:
        def __init__(self, video, number, instances, tracked):
            self.video, self.frame_idx, self.instances = video, number, instances
            self.predicted_instances = instances if tracked else []


def test_frames_of_sleap_that_were_labelled_by_hand_are_no_track():
    for labels in (HandLabelled([3, 90, 41]), HandLabelled([0, 1, 2], animals=4)):
        with pytest.raises(ValueError, match="3 frames were labelled by hand, and nothing was tracked"):
            read_tracks(labels)
    with pytest.raises(ValueError, match="the labels: no frame has an animal"):
        read_tracks(HandLabelled([]))
    assert hand_labelled(HandLabelled([0, 1, 2])) is None  # one animal in each frame
    # Frames of two videos are not apart from each other.
    assert hand_labelled(HandLabelled([0, 1, 2], [500, 501, 502])) is None
    assert "6 frames were labelled by hand" in hand_labelled(HandLabelled([0, 40, 80], [1, 41, 81]))
    assert "3 frames were labelled by hand" in hand_labelled(HandLabelled([7], [8], [9]))
    assert hand_labelled(HandLabelled([0, 50, 90], tracked=True)) is None


def test_a_matlab_file_is_called_one_where_sleap_io_cannot_read_it(tmp_path, monkeypatch):
    class SleapIo:
        @staticmethod
        def load_file(path):
            raise ImportError("pymatreader is required")

    monkeypatch.setitem(sys.modules, "sleap_io", SleapIo)
    path = tmp_path / "walk.mat"
    path.write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(ValueError, match=r"is a MATLAB file \(.mat\) and not one of LEAP's"):
        read_tracks(path)
