"""What a file claims is weighed against memory before it is read."""

import h5py
import numpy as np
import pytest

from swirl import system
from swirl.io import hdf5


def test_room_is_a_share_of_the_tightest_bound(monkeypatch):
    monkeypatch.setattr("swirl.system.memory_limits", lambda: {"free memory": 8 * 10**9, "container": 4 * 10**9})
    assert system.max_read_bytes() == 10**9
    assert system.too_large(10**9) is None
    assert system.too_large(2 * 10**9) == "would take 2 GB of memory, and there is room for 1 GB"
    assert system.claim([((10**8,), np.dtype(float)), ((25, 10**6), np.dtype("f8"))]) is None
    assert system.claim([((10**8,), np.dtype(float)), ((26, 10**6), np.dtype("f8"))]).startswith("claims 126,000,000 v")
    assert system.claim([((2**32, 2**32), np.dtype("i1"))]) is not None  # 0, in 64 bits
    assert system.claim([((2 * 10**7,), np.dtype("O"))]) is not None  # a string takes more than its pointer
    monkeypatch.setattr("swirl.system.memory_limits", dict)
    assert system.too_large(10**15) is None  # where nothing is known, nothing is refused


def test_only_errors_that_do_not_name_the_file_are_worded_anew(tmp_path):
    path = tmp_path / "a b.h5"
    for error in (OSError(5, "I/O"), KeyError("x"), ValueError("bad shape"), MemoryError(), ZeroDivisionError("1/0")):
        with pytest.raises(ValueError, match=r"a b\.h5 is damaged \("), hdf5.explained(path, "is damaged"):
            raise error
    with pytest.raises(ValueError, match=r"^a b\.h5: told already$"), hdf5.explained(path, "is damaged"):
        raise ValueError("a b.h5: told already")
    with pytest.raises(KeyboardInterrupt), hdf5.explained(path, "is damaged"):
        raise KeyboardInterrupt


def test_what_lies_elsewhere(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["x"] = np.arange(5)
    layout = h5py.VirtualLayout((5,), int)
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", (5,))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["here"] = 1
        file["soft"], file["out"] = h5py.SoftLink("/here"), h5py.ExternalLink("other.h5", "/x")
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("raw", (5,), "i8", external=[(str(tmp_path / "raw"), 0, 40)])
        assert [hdf5.elsewhere(file, name) for name in ("here", "soft", "out", "virtual", "raw")] == [False] + [
            True
        ] * 4
