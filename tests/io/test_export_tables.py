"""Tables go out and come back the same; bouts end where they should; files are written whole or not at all."""

import gzip
import os
import string

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swirl.data.trajectories import Trajectories
from swirl.io.atomic_write import whole_file
from swirl.io.export_tables import OURS, segments_frame, to_frame, write_table
from swirl.io.session_table import from_frame, read_csv, read_parquet

WORDS = st.text(min_size=1, max_size=4).filter(str.strip)
LETTERS = st.text(string.ascii_letters + " µ", min_size=3, max_size=5).filter(lambda x: x == x.strip())
SIGNAL_NAMES = LETTERS.filter(lambda x: x.casefold() not in OURS)


VALUES = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-300, 1 / 3, 2**53 + 1.0])


@st.composite
def sessions(draw):
    """Arguments of `Trajectories`: hypothesis chooses the form and the names, a seed the numbers."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    n, rng = len(lengths), np.random.default_rng(draw(st.integers(0, 2**32)))
    known = st.none() | st.lists(st.none() | WORDS | st.integers(-5, 5), min_size=n, max_size=n)
    shapes = draw(st.dictionaries(SIGNAL_NAMES, st.sampled_from([(), (2,), (3,)]), max_size=2))
    kind = draw(st.sampled_from([np.float64, np.float32]))
    times = [np.cumsum(rng.exponential(size=t) + 1e-9) - rng.exponential() for t in lengths]
    return {
        "states": [rng.integers(0, 3, t) for t in lengths],
        "actions": draw(st.sampled_from([None, [rng.integers(-1, 2, t) for t in lengths]])),
        "names": draw(st.none() | st.lists(WORDS, min_size=n, max_size=n, unique=True)),
        "subjects": draw(known),
        "groups": draw(known),
        "gaps": [np.flatnonzero(rng.random(t - 1) < 0.3) + 1 for t in lengths],
        "times": draw(st.sampled_from([None, times])),
        "signals": {x: [rng.choice(VALUES, (t, *shape)).astype(kind) for t in lengths] for x, shape in shapes.items()},
        "state_names": draw(st.none() | st.lists(WORDS, min_size=3, max_size=5, unique=True)),
        "action_names": draw(st.none() | st.lists(WORDS, min_size=2, max_size=3, unique=True)),
    }


def check_equal(read, data):
    assert (read.names, read.subjects, read.groups) == (data.names, data.subjects, data.groups)
    assert (read.n_states, read.n_actions) == (data.n_states, data.n_actions)
    assert (read.state_names, read.action_names) == (data.state_names, data.action_names)
    assert read.fingerprint() == data.fingerprint()
    assert (read.times is None) == (data.times is None)
    assert list(read.signals or {}) == list(data.signals or {})
    pairs = [(read.times or [], data.times or [])]
    pairs += [((read.signals or {})[name], arrays) for name, arrays in (data.signals or {}).items()]
    for found, expected in pairs:
        for x, y in zip(found, expected, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(sessions())
def test_a_frame_comes_back_the_same(arguments):
    data = Trajectories(**arguments)
    check_equal(from_frame(to_frame(data)), data)


DATA = Trajectories(
    [[0, 2, 1], [1, 1]],
    [[1, 0, -1], [0, 1]],
    names=["Tag 1, früh", "007"],
    subjects=["m1", None],
    groups=[2, 1],
    gaps=[[2], []],
    times=[[0.1, 0.30000000000000004, 7.0], [1 / 3, 2 / 3]],
    signals={"speed": [[1e-17, np.nan, 3.5], [np.pi, 0.0]], "pose": [np.eye(3), np.ones((2, 3)) / 7]},
    state_names=["water", "home", "nest", "never seen"],
)


def test_every_column_is_there():
    frame = to_frame(DATA, modes=[[0, 0, 1], [-1, 0]], probabilities=[np.full((3, 2), 0.5), np.eye(2)])
    assert frame.columns.tolist() == [
        *("session", "subject", "group", "step", "t", "state", "action", "gap", "speed"),
        *("pose_0", "pose_1", "pose_2", "mode", "p_0", "p_1"),
    ]
    assert frame.step.tolist() == [0, 1, 2, 0, 1]
    assert frame.state.tolist() == ["water", "nest", "home", "home", "home"]
    assert frame.action.isna().tolist() == [False, False, True, False, False]
    assert frame.gap.tolist() == [False, False, True, False, False]
    assert frame["mode"].astype("object").where(frame["mode"].notna(), None).tolist() == [0, 0, 1, None, 0]
    named = to_frame(
        DATA, modes=[[0, 0, 1], [1, 0]], probabilities=[np.eye(3)[:, :2], np.eye(2)], mode_names=["rest", "run"]
    )
    assert named["mode"].tolist() == ["rest", "rest", "run", "run", "rest"]
    assert named["p_run"].tolist() == [0.0, 1.0, 0.0, 0.0, 1.0]


def test_little_is_known():
    assert to_frame(Trajectories([[0, 1]])).columns.tolist() == ["session", "step", "state", "gap"]


def test_sessions_of_one_name_are_told_apart():
    twice = Trajectories.concatenate([DATA, DATA])
    read = from_frame(to_frame(twice))
    assert read.names == ("Tag 1, früh", "007", "Tag 1, früh (2)", "007 (2)")
    assert read.fingerprint() == twice.fingerprint()


@pytest.mark.parametrize("name", ["Mäuse und 鼠.csv", "steps.CSV", "steps.csv.gz", "steps.tsv", "steps.parquet"])
def test_files_come_back_the_same(tmp_path, name):
    frame = to_frame(DATA)
    path = write_table(frame, tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    read = read_parquet(path) if name.endswith(".parquet") else read_csv(path, state_names=DATA.state_names)
    check_equal(read, DATA)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="exists already"):
        write_table(frame[:1], path)
    assert path.read_bytes() == before
    write_table(frame, path, overwrite=True)
    assert path.read_bytes() == before


def test_subjects_of_all_kinds_fit_into_parquet(tmp_path):
    mixed = Trajectories([[0], [1], [0]], subjects=["m1", 2, None], signals={"x": [[1], [2], [3]]})
    path = write_table(to_frame(mixed), tmp_path / "mixed.parquet")
    assert read_parquet(path).subjects == ("m1", "2", None)
    with pytest.raises(ValueError, match="cannot be stored as Parquet"):
        write_table(pd.DataFrame({"x": [1, "a", object()]}), tmp_path / "odd.parquet")
    assert os.listdir(tmp_path) == ["mixed.parquet"]


def test_unknown_endings_and_places(tmp_path):
    frame = to_frame(DATA)
    with pytest.raises(ValueError, match=r"one of \.csv, \.csv\.gz, \.tsv, \.parquet"):
        write_table(frame, tmp_path / "steps.xlsx")
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        write_table(frame, tmp_path / "new" / "steps.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_table(frame, tmp_path / "folder.csv", overwrite=True)


def test_a_file_is_whole_or_absent(tmp_path):
    path = tmp_path / "steps.csv"
    with pytest.raises(KeyError), whole_file(path) as temporary:
        {}[temporary.write_text("half")]
    assert os.listdir(tmp_path) == []
    with pytest.raises(FileExistsError), whole_file(path) as temporary:
        _ = temporary.write_text("ours"), path.write_text("theirs, meanwhile")
    assert (os.listdir(tmp_path), path.read_text()) == (["steps.csv"], "theirs, meanwhile")


def test_a_system_without_hard_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("not supported")

    monkeypatch.setattr(os, "link", refuse)
    path = write_table(to_frame(DATA), tmp_path / "steps.csv.gz")
    assert gzip.decompress(path.read_bytes()).startswith(b"session,")
    assert path.read_bytes()[4:8] == bytes(4), "the time of writing is in the file: equal tables would differ"


def test_bouts():
    frame = segments_frame(DATA, [[0, 0, 0], [1, -1]], mode_names=["rest", "run"])
    assert frame.to_dict("list") == {
        "session": ["Tag 1, früh", "Tag 1, früh", "007"],
        "subject": ["m1", "m1", frame.subject[2]],
        "group": [2, 2, 1],
        "start_step": [0, 2, 0],
        "stop_step": [2, 3, 1],
        # Before the gap and at the end a step lasts the median step, 0.2 s; a step without a mode ends the bout before.
        "start_time": [0.1, 7.0, 1 / 3],
        "stop_time": [0.30000000000000004 + 0.20000000000000004, 7.2, 2 / 3],
        "mode": ["rest", "rest", "run"],
        "n_steps": [2, 1, 1],
        "cut_start": [True, True, True],
        "cut_end": [True, True, True],
    }
    assert pd.isna(frame.subject[2])
    short = Trajectories([[0, 1]], times=[np.array([0.1, 0.3], np.float32)])
    assert [segments_frame(short, [[0, 1]])[name].dtype for name in ("start_time", "stop_time")] == [np.float32] * 2
    untimed = segments_frame(Trajectories([[0, 1, 0]]), [[1, 1, 0]])
    assert untimed.columns.tolist() == ["session", "start_step", "stop_step", "mode", "n_steps", "cut_start", "cut_end"]
    assert untimed[["mode", "cut_start", "cut_end"]].to_numpy().tolist() == [[1, True, False], [0, False, True]]


FAULTS = {
    "sessions": ({"modes": [[0, 0, 0]]}, "modes has 1 entries, but there are 2 sessions"),
    "steps": ({"modes": [[0, 0], [0, 0]]}, r"modes\[0\] has shape \(2,\): expected \(3,\)"),
    "kind": ({"modes": [[0.5, 0, 0], [0, 0]]}, r"modes\[0\] holds float64"),
    "below": ({"modes": [[0, 0, -2], [0, 0]]}, r"modes\[0\] holds int64 \(-2 at least\)"),
    "names": ({"modes": [[0, 0, 2], [0, 0]], "mode_names": ["a", "b"]}, "mode 2, but mode_names has 2 names"),
    "repeated": ({"modes": [[0, 0, 1], [0, 0]], "mode_names": ["a", "a"]}, "mode_names repeats a"),
    "flat": ({"probabilities": [[0, 0, 0], [0, 0]]}, r"probabilities\[0\] has shape \(3,\): expected \(3, modes\)"),
    "widths": ({"probabilities": [np.ones((3, 2)), np.ones((2, 3))]}, "probabilities are of 2, 3 modes: expected the"),
    "wide": (
        {"probabilities": [np.ones((3, 2)), np.ones((2, 2))], "mode_names": ["a"]},
        "expected 1, as in mode_names",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults(case):
    options, words = FAULTS[case]
    with pytest.raises(ValueError, match=words):
        to_frame(DATA, **options)


def test_more_faults():
    with pytest.raises(ValueError, match="modes is None: give the mode of each step"):
        segments_frame(DATA, None)
    with pytest.raises(ValueError, match="called 'State' already"):
        to_frame(Trajectories([[0]], signals={"State": [[1.0]]}))
    with pytest.raises(ValueError, match="called 'x_0' already"):
        to_frame(Trajectories([[0]], signals={"x": [[[1.0, 2.0]]], "x_0": [[1.0]]}))
