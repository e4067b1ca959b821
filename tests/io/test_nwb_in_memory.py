"""An open `NWBFile` is read as its file is: from disk, from a stream, changed in memory, or never written."""

import contextlib
import io
import json

import h5py
import numpy as np
import pytest

from small_nwb import XYZ, day
from swirl import Trajectories
from swirl.io.nwb.file import is_nwb
from swirl.io.nwb.in_memory import File, is_nwb_object
from swirl.io.nwb.reading import contents, read_nwb_bouts, read_nwb_tracks
from swirl.io.places import Grid
from swirl.workflows.import_recordings import import_nwb, import_tracks

BY_PATH = [
    (read_nwb_tracks, {"series": "/processing/behavior/Position/left"}),
    (read_nwb_tracks, {"series": "right"}),
    (read_nwb_tracks, {"series": "linked"}),
    (read_nwb_tracks, {"series": "line"}),
    (read_nwb_tracks, {"series": "Pose"}),
    (read_nwb_tracks, {"keypoint": "nose"}),
    (read_nwb_tracks, {"keypoint": ["nose", "tail"], "min_confidence": 0.0}),
    (read_nwb_tracks, {"individual": "left"}),
    (read_nwb_tracks, {"individual": "m2"}),
    (read_nwb_tracks, {}),
    (read_nwb_tracks, {"series": "left", "fps": 30}),
    *[(read_nwb_bouts, {"table": name}) for name in ("behaviour", "unlabelled", "overlapping", "backwards", "blank")],
    *[(read_nwb_bouts, {"table": name}) for name in ("Bouts", "Epochs", "licks", "lasting", "frames", "observed")],
    *[(read_nwb_bouts, {"table": "trials", "label": name}) for name in ("choice", "side", "number", "odour", None)],
    (read_nwb_bouts, {"table": "/intervals/epochs"}),
    (read_nwb_bouts, {"table": "behaviour", "max_pause": 0.1}),
    (read_nwb_bouts, {}),
    (contents, {}),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    from pynwb import NWBHDF5IO

    path, file = tmp_path_factory.mktemp("nwb") / "m1.nwb", day()  # an IO knows the types imported before it
    with NWBHDF5IO(path, "w") as opened:
        opened.write(file)
    return path


@contextlib.contextmanager
def as_read(path):
    from pynwb import NWBHDF5IO

    with NWBHDF5IO(path, "r") as opened:
        yield opened.read()


@contextlib.contextmanager
def streamed(path):
    """From something that is like a file, as DANDI's files are streamed."""
    from pynwb import NWBHDF5IO

    with h5py.File(io.BytesIO(path.read_bytes()), "r") as file, NWBHDF5IO(file=file, mode="r") as opened:
        yield opened.read()


@contextlib.contextmanager
def changed_since(path):
    with as_read(path) as file:
        file.create_processing_module("ecephys", "something else")
        assert file.modified
        yield file


@contextlib.contextmanager
def never_written(path):
    yield day()


def outcome(read, source, name, arguments):
    """What came of it, all values and all notes, or the error; files are called alike."""
    try:
        found = read(source, **arguments)
    except ValueError as error:
        return str(error).replace(name, "the file")
    if isinstance(found, Trajectories):
        parts = [found.states, found.actions, found.times, found.gaps, found.signals]
        found = [parts, found.names, found.subjects, found.notes, found.state_names]
    return json.dumps(json.loads(json.dumps(found, default=as_it_is)))


def as_it_is(value):
    """Arrays and tracks to the last digit, with their types."""
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.tolist()]
    return value.item() if isinstance(value, np.generic) else vars(value)


@pytest.fixture(scope="module")
def by_path(path):
    return [outcome(read, path, str(path), arguments) for read, arguments in BY_PATH]


def test_there_is_something_to_compare(by_path):
    refusals = sum("the file" in told for told in by_path)
    assert refusals > 5
    assert len(by_path) - refusals > 10


@pytest.mark.slow
@pytest.mark.parametrize("opened", [as_read, streamed, changed_since, never_written])
def test_an_object_is_read_just_as_its_file(path, opened, by_path):
    with opened(path) as file:
        for (read, arguments), expected in zip(BY_PATH, by_path, strict=True):
            assert outcome(read, file, "the NWBFile 'day 2'", arguments) == expected, arguments


def test_the_object_is_as_before(path, tmp_path):
    from pynwb import NWBHDF5IO

    file = day()
    before = file.modified, file.container_source, file.read_io, file.trials["choice"].data
    contents(file), read_nwb_tracks(file, series="left")
    assert (file.modified, file.container_source, file.read_io, file.trials["choice"].data) == before
    with NWBHDF5IO(tmp_path / "later.nwb", "w") as opened:  # and can be written
        opened.write(file)
    assert repr(contents(tmp_path / "later.nwb")) == repr(contents(path))
    with as_read(path) as file:
        contents(file)
        assert not file.modified


def test_what_was_added_in_memory_is_read(path):
    with as_read(path) as file:
        file.processing["behavior"]["Position"].create_spatial_series(
            "new", data=[[1, 2], [3, 4], [5, 6]], timestamps=[0.0, 0.1, 0.3], reference_frame="corner"
        )
        [track] = read_nwb_tracks(file, series="new")
    assert track.positions.tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def test_only_what_is_asked_for_is_fetched(path, monkeypatch):
    fetched = []
    own = h5py.Dataset.__getitem__
    with as_read(path) as file:
        monkeypatch.setattr(h5py.Dataset, "__getitem__", lambda self, key: fetched.append(self.name) or own(self, key))
        read_nwb_tracks(file, series="left")
    assert set(fetched) <= {"/processing/behavior/Position/left/data"}


def test_types_that_an_extension_derives_are_known_from_its_schema(path):
    with as_read(path) as file:
        parents = File(file).parents
    assert parents["PoseEstimation"] == "NWBDataInterface"
    assert parents["EthogramBouts"] == "TimeIntervals"


@pytest.mark.filterwarnings("ignore:EnumData is experimental")
def test_categories_are_read_by_their_names(tmp_path):
    """As hdmf's EnumData has them: each value is a place in the list that an attribute refers to."""
    from hdmf.common import EnumData
    from pynwb import NWBHDF5IO

    def build():
        file = day()
        file.add_trial_column("odour", "which", col_cls=EnumData, data=[0, 1, 1, 0], enum=["lemon", "mint"])
        return file

    file = build()
    with NWBHDF5IO(tmp_path / "enum.nwb", "w") as opened:
        opened.write(file)
    named = ("lemon", "mint")
    for source in (tmp_path / "enum.nwb", build()):
        assert read_nwb_bouts(source, table="trials", label="odour").state_names == named
    with as_read(tmp_path / "enum.nwb") as file:
        assert read_nwb_bouts(file, table="trials", label="odour").state_names == named


def test_every_door_takes_objects(path):
    grid = Grid(x=(0, 16), y=(0, 16), shape=(2, 2))
    with as_read(path) as file:
        assert is_nwb_object(file)
        assert is_nwb([file, path])
        for source in (file, path, [file]):
            data = Trajectories.from_tracks(source, grid, series="right")
            assert (data.names, data.subjects) == (("day 2",), ("m1",))
        assert Trajectories.from_nwb(file, table="behaviour").state_names == ("rest", "walk")
        assert import_nwb([file], table="behaviour").env.n_states == 2
        assert import_tracks([file], grid="2x2", series="right").env.n_states == 4


def test_several_objects_of_one_name_are_told_apart_by_their_identifiers():
    one, other = day(), day()
    other.fields["identifier"] = "77b0"
    assert read_nwb_bouts([one, other], table="behaviour").names == ("3f2a", "77b0")


def test_a_closed_file_is_told(path):
    with as_read(path) as file:
        pass
    with pytest.raises(ValueError, match=r"the NWBFile 'day 2'.* keep the file behind it open"):
        read_nwb_tracks(file, series="left")


def test_values_that_can_be_read_only_once_are_left_alone():
    from hdmf.data_utils import DataChunkIterator

    file = day()
    once = DataChunkIterator(iter(XYZ[:, :2]), dtype=np.dtype(float))
    file.processing["behavior"]["Position"].create_spatial_series(
        "once", data=once, rate=10.0, reference_frame="corner"
    )
    with pytest.raises(ValueError, match="can be read only once"):
        read_nwb_tracks(file, series="once")
    assert read_nwb_tracks(file, series="left")
    assert sum(len(chunk.data) for chunk in once) == 5


@pytest.mark.parametrize("source", [3, None, object()])
def test_what_is_no_file_at_all(source):
    for read in (read_nwb_tracks, read_nwb_bouts):
        with pytest.raises(ValueError, match="give an NWB file, an open NWBFile"):
            read(source)
