"""A MATLAB file holds what was put in, under names that MATLAB takes."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.io import loadmat, whosmat

from swirl.data.trajectories import Trajectories
from swirl.io.export_matlab import write_matlab

MODES = [np.array([0, 0, 1, -1]), np.array([1, 1])]
SHARES = [np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.5, 0.5]]), np.array([[0.25, 0.75], [0.0, 1.0]])]
SIGNALS = {
    "3 dopamine (z)": [np.arange(4.0), np.array([1.0, np.nan])],
    "end": [np.zeros((4, 2)), np.ones((2, 2))],
    "3_dopamine__z_": [np.ones(4), np.ones(2)],
    "a" * 70: [np.ones(4), np.ones(2)],
}


@pytest.fixture
def data():
    return Trajectories(
        [[0, 1, 2, 1], [2, 1]],
        [[1, -1, 0], [1]],
        names=["Käfig 1", "day 2"],
        subjects=["m1", None],
        groups=["ctl", "ko"],
        gaps=[[2], []],
        times=[[0.0, 0.5, 7.0, 7.5], [0.0, 1.0]],
        signals=SIGNALS,
        state_names=["home", "tür", "water"],
    )


@pytest.fixture
def model():
    return SimpleNamespace(
        rewards_=np.array([[0.5, np.nan], [1.0, 2.0]]),
        policies_=np.full((2, 2, 2), 0.5),
        mode_transitions_=np.full((3, 2, 2), 0.5),
        initial_modes_=np.array([0.75, 0.25]),
        histories_=np.array([[0, -1], [1, 0]]),
    )


def test_everything_comes_back(data, model, tmp_path):
    path = write_matlab(
        tmp_path / "modes.mat", data, MODES, probabilities=SHARES, model=model, mode_names=["home", "water"]
    )
    assert path == tmp_path / "modes.mat"
    found = loadmat(path, simplify_cells=True)
    first, second = found["sessions"]
    assert (first["name"], first["subject"], first["group"]) == ("Käfig 1", "m1", "ctl")
    assert (second["name"], second["subject"].size, second["group"]) == ("day 2", 0, "ko")
    np.testing.assert_array_equal(first["states"], [0, 1, 2, 1])
    np.testing.assert_array_equal(first["actions"], [1, np.nan, 0, np.nan])
    np.testing.assert_array_equal(first["modes"], [0, 0, 1, np.nan])
    np.testing.assert_array_equal(first["times"], [0.0, 0.5, 7.0, 7.5])
    assert (first["gaps"], second["gaps"].size) == (2.0, 0)
    for session, shares in zip((first, second), SHARES, strict=True):
        np.testing.assert_array_equal(session["probabilities"], shares)
    assert found["state_names"].tolist() == ["home", "tür", "water"]
    assert found["action_names"].tolist() == ["0", "1"]
    assert found["mode_names"].tolist() == ["home", "water"]
    for name in ("rewards", "policies", "mode_transitions", "initial_modes"):
        np.testing.assert_array_equal(found[name], getattr(model, f"{name}_"))
    np.testing.assert_array_equal(found["histories"], [[0, np.nan], [1, 0]])
    assert "count from 0" in found["note"]


def test_shapes_are_those_of_matlab(data, model, tmp_path):
    found = loadmat(write_matlab(tmp_path / "x.mat", data, MODES, model=model))
    assert found["sessions"].shape == (1, 2)
    assert found["sessions"][0, 0]["states"].shape == (4, 1)
    assert found["sessions"][0, 1]["states"].dtype == float
    assert found["state_names"].shape == (3, 1)
    assert found["initial_modes"].shape == (2, 1)
    kinds = {name: kind for name, _, kind in whosmat(tmp_path / "x.mat")}
    assert (kinds["sessions"], kinds["state_names"], kinds["rewards"]) == ("struct", "cell", "double")


def test_names_are_those_that_matlab_takes(data, tmp_path):
    found = loadmat(write_matlab(tmp_path / "x.mat", data), simplify_cells=True)
    fields = found["signal_names"]
    assert list(fields.values()) == list(SIGNALS)
    assert list(fields)[:3] == ["x3_dopamine__z_", "xend", "x3_dopamine__z__2"]
    names = [name for name in found if not name.startswith("__")]
    for name in (*names, *fields, *found["sessions"][0]):
        assert re.fullmatch(r"[A-Za-z]\w{0,62}", name), name
    for field, name in fields.items():
        for session, values in zip(found["sessions"], SIGNALS[name], strict=True):
            np.testing.assert_array_equal(session["signals"][field], values)


def test_little_is_needed(tmp_path):
    found = loadmat(write_matlab(tmp_path / "x.MAT", Trajectories([[0, 1]])), simplify_cells=True)
    assert set(found["sessions"]) == {"name", "subject", "group", "states", "actions", "gaps"}
    assert "mode_names" not in found
    assert "rewards" not in found
    named = loadmat(write_matlab(tmp_path / "y.mat", Trajectories([[0, 1]]), [[2, 0]]), simplify_cells=True)
    assert named["mode_names"].tolist() == ["mode 0", "mode 1", "mode 2"]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"modes": [[0, 1], [1, 1]]}, r"modes\[0\] has length 2, but session 0 has 4 steps"),
        ({"probabilities": [SHARES[0]]}, "probabilities has 1 entries, but there are 2 sessions"),
        ({"mode_names": ["a"]}, "the numbers of modes differ: 2 in modes, .*1 in mode_names"),
        ({"probabilities": [np.ones((4, 3)), np.ones((2, 3))], "mode_names": ["a", "b"]}, "3 in probabilities"),
        ({"model": SimpleNamespace()}, "without fitted arrays: call fit"),
        ({"path": "x.txt"}, "end in .mat"),
    ],
)
def test_what_cannot_be_written_is_told(data, tmp_path, changes, match):
    arguments = {"modes": MODES, "path": "x.mat", **changes}
    with pytest.raises(ValueError, match=match):
        write_matlab(tmp_path / arguments.pop("path"), data, arguments.pop("modes"), **arguments)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten_and_nothing_left_behind(data, tmp_path, monkeypatch):
    path = write_matlab(tmp_path / "x.mat", data)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_matlab(path, data, MODES)
    assert path.read_bytes() == before
    assert "modes" in loadmat(write_matlab(path, data, MODES, overwrite=True))["sessions"].dtype.names
    monkeypatch.setattr("swirl.io.export_matlab.LARGEST", 100)
    with pytest.raises(ValueError, match=r"sessions \(.* GB\) is too large"):
        write_matlab(tmp_path / "y.mat", data)
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.mat"]
