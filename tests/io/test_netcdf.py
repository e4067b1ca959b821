"""Round trips, atomic writing, refusals, and words for every broken file."""

import json
import os
import stat
import subprocess
import sys
import threading

import h5py
import numpy as np
import pytest
import xarray

from swirl.io import netcdf

ARRAYS = {
    "rewards": (("mode", "history"), np.array([[0.1, np.nan, -np.inf], [1.0, 2.0, 5e-324]])),
    "single": (("history",), np.array([1.5, np.nan, 0.1], dtype=np.float32)),
    "counts": (("history",), np.array([2**62, -1, 0])),
    "small": (("mode",), np.array([-128, 127], dtype=np.int8)),
    "unsigned": (("mode",), np.array([0, 2**64 - 1], dtype=np.uint64)),
    "available": (("mode", "history"), np.array([[True, False, True], [False, False, True]])),
    "converged": ((), np.array(True)),
    "temperature": ((), np.array(0.5)),
    "restarts": (("restart",), np.zeros(0)),
    "none": (("restart", "mode"), np.zeros((0, 2), dtype=np.int32)),
    "mode": (("mode",), np.array([0, 1])),
    "strided": (("history", "mode"), np.arange(6.0).reshape(2, 3).T),
}
HEADER = {"name": "S-2", "seed": 7, "names": ["Sniff↑", "a\0b"], "nested": {"x": None, "y": [1.5, True]}}


def test_round_trip_keeps_values_dtypes_and_header(tmp_path):
    path = netcdf.write(tmp_path / "model.nc", ARRAYS, HEADER)
    arrays, header = netcdf.read(path)
    assert header == {**HEADER, "schema_version": netcdf.SCHEMA_VERSION}
    assert arrays.keys() == ARRAYS.keys()
    for name, (_, expected) in ARRAYS.items():
        assert type(arrays[name]) is np.ndarray, name
        assert arrays[name].dtype == expected.dtype, name
        assert arrays[name].shape == expected.shape, name
        np.testing.assert_array_equal(arrays[name], expected, err_msg=name)
    assert netcdf.dims(path) == {name: dims for name, (dims, _) in ARRAYS.items()}


def test_what_was_read_can_be_written_again(tmp_path):
    first = netcdf.write(tmp_path / "a.nc", ARRAYS, HEADER)
    arrays, header = netcdf.read(first)
    dims = netcdf.dims(first)
    second = netcdf.write(tmp_path / "b.nc", {k: (dims[k], v) for k, v in arrays.items()}, header)
    assert netcdf.read(second)[1] == header


def test_xarray_opens_it(tmp_path):
    path = netcdf.write(str(tmp_path / "model.nc"), ARRAYS, HEADER)
    with xarray.open_dataset(path, engine="h5netcdf") as dataset:
        assert dataset["rewards"].dims == ("mode", "history")
        np.testing.assert_array_equal(dataset["rewards"], ARRAYS["rewards"][1])
        assert dataset["available"].dtype == bool
        np.testing.assert_array_equal(dataset["available"], ARRAYS["available"][1])
        assert json.loads(dataset.attrs["swirl"])["name"] == "S-2"


def test_numpy_scalars_and_long_headers(tmp_path):
    header = {"loss": np.float64(0.25), "n": np.int32(3), "ok": np.bool_(True), "text": "x" * 300_000}
    found = netcdf.read(netcdf.write(tmp_path / "model.nc", {}, header))[1]
    assert (found["loss"], found["n"], found["ok"], len(found["text"])) == (0.25, 3, True, 300_000)


def test_existing_files_are_kept_unless_told(tmp_path):
    path = netcdf.write(tmp_path / "model.nc", ARRAYS, {"version": "old"})
    with pytest.raises(FileExistsError, match="overwrite=True"):
        netcdf.write(path, ARRAYS, {"version": "new"})
    assert netcdf.read(path)[1]["version"] == "old"
    netcdf.write(path, ARRAYS, {"version": "new"}, overwrite=True)
    assert netcdf.read(path)[1]["version"] == "new"
    assert os.listdir(tmp_path) == ["model.nc"]


@pytest.mark.parametrize("hard_links", [True, False])
def test_someone_takes_the_name_while_we_write(tmp_path, monkeypatch, hard_links):
    path = tmp_path / "model.nc"
    write_netcdf = netcdf._write_netcdf

    def slow(*args):
        write_netcdf(*args)
        path.write_text("theirs")

    monkeypatch.setattr(netcdf, "_write_netcdf", slow)
    if not hard_links:
        monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        netcdf.write(path, ARRAYS, HEADER)
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["model.nc"]


def no_links(*_):
    raise PermissionError("this file system has no hard links")


def test_a_file_system_without_hard_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", no_links)
    path = netcdf.write(tmp_path / "model.nc", ARRAYS, HEADER)
    assert netcdf.read(path)[1]["name"] == "S-2"
    assert os.listdir(tmp_path) == ["model.nc"]


def test_of_many_writers_exactly_one_wins(tmp_path):
    path, won, lost = tmp_path / "model.nc", [], []

    def attempt(i):
        try:
            won.append(netcdf.write(path, {"i": ((), np.array(i))}, {}))
        except FileExistsError:
            lost.append(i)

    threads = [threading.Thread(target=attempt, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 7)
    assert netcdf.read(path)[0]["i"] not in lost


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch, overwrite):
    path = tmp_path / "model.nc"
    if overwrite:
        netcdf.write(path, ARRAYS, {"version": "old"})
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        netcdf.write(path, ARRAYS, {"version": "new"}, overwrite=overwrite)
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_the_users_umask_applies(tmp_path):
    plain = tmp_path / "plain"
    plain.touch()
    path = netcdf.write(tmp_path / "model.nc", {}, {})
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_all_faults_of_arrays_and_header_at_once(tmp_path):
    arrays = {
        "objects": (("a",), np.array([object()], dtype=object)),
        "text": (("a",), np.array(["x"])),
        "half": (("a",), np.zeros(1, dtype=np.float16)),
        "complex": (("a",), np.zeros(1, dtype=complex)),
        "axes": (("a", "b"), np.zeros(1)),
        "twice": (("b", "b"), np.zeros((2, 2))),
        "clash": (("a",), np.zeros(3)),
        "a": (("c", "d"), np.zeros((2, 2))),
        "x/y": ((), np.zeros(())),
    }
    with pytest.raises(ValueError) as error:
        netcdf.write(tmp_path / "model.nc", arrays, {"loss": float("nan")})
    for words in (
        "'objects'",
        "'text'",
        "float16",
        "complex128",
        "'axes'",
        "'twice'",
        "is 3 here and 1",
        "'x/y'",
    ):
        assert words in str(error.value)
    assert "arrays['a'] is named after a dimension" in str(error.value)
    assert "header cannot be stored as JSON" in str(error.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("value", [{1, 2}, np.zeros(2), np.float64("inf"), object()])
def test_headers_that_are_not_json(tmp_path, value):
    with pytest.raises(ValueError, match="header cannot be stored as JSON"):
        netcdf.write(tmp_path / "model.nc", {}, {"value": value})


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere.*does not exist; create it"):
        netcdf.write(tmp_path / "nowhere" / "model.nc", {}, {})
    with pytest.raises(IsADirectoryError, match="is a folder"):
        netcdf.write(tmp_path, {}, {}, overwrite=True)


def test_broken_files_are_explained(tmp_path):
    path = tmp_path / "bad.nc"
    with pytest.raises(ValueError, match="does not exist"):
        netcdf.read(path)
    with pytest.raises(ValueError, match="is not a file"):
        netcdf.read(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="is empty"):
        netcdf.read(path)
    path.write_text("state,action\n0,1\n")
    with pytest.raises(ValueError, match="is not a netCDF-4"):
        netcdf.read(path)
    for reader in (netcdf.read, netcdf.dims):
        with h5py.File(path, "w") as file:
            file["x"] = np.arange(3)
        with pytest.raises(ValueError, match="no 'swirl' attribute: it was not written by swirl"):
            reader(path)


@pytest.mark.parametrize("kept", [9, 100, 0.5, 0.9, -1])
def test_truncated_files_are_explained(tmp_path, kept):
    whole = netcdf.write(tmp_path / "good.nc", ARRAYS, HEADER).read_bytes()
    kept = int(kept * len(whole)) if isinstance(kept, float) else kept
    path = tmp_path / "bad.nc"
    path.write_bytes(whole[:kept])
    with pytest.raises(ValueError, match=r"truncated or damaged.*copy it again"):
        netcdf.read(path)


def test_a_byte_that_has_changed_is_noticed(tmp_path):
    path = netcdf.write(tmp_path / "model.nc", ARRAYS, HEADER)
    whole = path.read_bytes()
    for at in (200, len(whole) // 2, len(whole) - 100, len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(ValueError, match="its SHA-256 has changed"):
            netcdf.read(path)
    path.write_bytes(whole)
    with h5py.File(path, "a") as file:  # who changes the file takes the seal away
        file.attrs["remark"] = "mine"
    assert netcdf.read(path)[1]["name"] == "S-2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            json.dumps({"schema_version": 2}),
            "schema version 2, this swirl reads up to 1.*pip install --upgrade",
        ),
        ("{", "unreadable 'swirl' attribute"),
        ("{}", "unreadable 'swirl' attribute"),
        ("[1]", "unreadable 'swirl' attribute"),
    ],
)
def test_headers_that_cannot_be_read(tmp_path, text, message):
    path = netcdf.write(tmp_path / "model.nc", ARRAYS, HEADER)
    with h5py.File(path, "r+") as file:
        file.attrs["swirl"] = text
    with pytest.raises(ValueError, match=message):
        netcdf.read(path)


def test_importing_needs_no_hdf5():
    code = "import sys, swirl.io.netcdf; sys.exit(bool({'h5py', 'h5netcdf', 'jax'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
