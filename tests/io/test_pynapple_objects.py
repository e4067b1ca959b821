"""pynapple's objects in and out: positions with epochs, labelled intervals, states and modes; with the real library."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from swirl import Trajectories
from swirl.io.bout_tables import read_bout_tables
from swirl.io.places import Grid
from swirl.io.pynapple_objects import MICROSECOND, to_pynapple
from swirl.io.tracks import read_tracks
from swirl.io.visits import visits

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own, when it is imported
    nap = pytest.importorskip("pynapple")

GRID = Grid(x=(0, 3), y=(0, 1), shape=(1, 3))
TIMES = np.arange(12) / 10
X = np.array([0.5, 0.5, 1.5, 1.5, 1.5, 2.5, 2.5, 1.5, 1.5, 0.5, 0.5, 0.5])


def frame(support=None, columns=("x", "y"), **more):
    values = np.column_stack([X, np.full(12, 0.5), *more.values()])
    return nap.TsdFrame(t=TIMES, d=values, columns=[*columns, *more], time_support=support)


# ---------------------------------------------------------------------- positions


def test_positions_are_read_as_a_table_of_them_is():
    table = pd.DataFrame({"t": TIMES, "x": X, "y": 0.5, "speed": np.arange(12.0)})
    [ours], [theirs] = read_tracks(frame(speed=np.arange(12.0))), read_tracks(table)
    np.testing.assert_array_equal(ours.positions, theirs.positions)
    np.testing.assert_array_equal(ours.times, theirs.times)
    np.testing.assert_array_equal(ours.signals["speed"], theirs.signals["speed"])
    assert (ours.time_unit, ours.notes, ours.resumed) == ("seconds", theirs.notes, ())


def test_epochs_are_segments_however_short_the_break():
    whole = Trajectories.from_tracks(frame(), GRID)
    assert whole.gaps[0].tolist() == []
    assert whole.states[0].tolist() == [0, 1, 2, 1, 0]
    support = nap.IntervalSet([0.0, 0.35], [0.35 - 0.01, 2.0])  # between two frames, within a visit
    parted = Trajectories.from_tracks(frame(support), GRID)
    assert parted.states[0].tolist() == [0, 1, 1, 2, 1, 0]
    assert parted.gaps[0].tolist() == [2]
    assert "1 gap where the recording was interrupted (its time support)." in parted.notes
    assert not any("longer than" in note for note in parted.notes)
    assert parted.times[0].tolist() == [0.0, 0.2, 0.4, 0.5, 0.7, 0.9]
    empty = nap.IntervalSet([-3.0, 0.0, 0.2, 5.0], [-2.0, 0.12, 2.0, 6.0])  # epochs without a frame are none
    assert Trajectories.from_tracks(frame(empty), GRID).gaps[0].tolist() == [1]


def test_a_dict_has_a_session_for_each():
    read = Trajectories.from_tracks({"day 1": frame(), "day 2": frame(nap.IntervalSet(0, 0.75))}, GRID)
    assert read.names == ("day 1", "day 2")
    assert read.lengths.tolist() == [5, 4]
    assert [track.name for track in read_tracks({"a": pd.DataFrame({"x": X, "y": X})}, fps=10)] == ["a"]


def test_columns_without_names_are_asked_for():
    with pytest.raises(ValueError, match=r"columns of the TsdFrame have no names.*columns=\[\"x\", \"y\"\]"):
        read_tracks(nap.TsdFrame(t=TIMES, d=np.zeros((12, 2))))
    with pytest.raises(ValueError, match="the columns"):
        read_tracks(frame(columns=("a", "b")))
    [track] = read_tracks(frame(columns=("a", "b")), columns={"x": "a", "y": "b"})
    np.testing.assert_array_equal(track.positions[:, 0], X)


def test_breaks_survive_a_frame_rate():
    track = read_tracks(frame(nap.IntervalSet([0.0, 0.35], [0.34, 2.0])))[0]
    assert track.resumed == (4,)
    assert visits([track], GRID, max_break=np.inf).gaps[0].tolist() == [2]


# ---------------------------------------------------------------------- bouts


def epochs(labels, start=(0, 1, 2, 4), stop=(1, 2, 3, 5), column="label"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bouts that touch are parted by a microsecond
        return nap.IntervalSet(np.array(start, float), np.array(stop, float), metadata={column: labels})


def test_labelled_intervals_are_read_as_a_table_of_them_is(tmp_path):
    labels = ["rear", "groom", "groom", "rear", "rest"]
    pd.DataFrame({"start": [0, 1, 2, 4, 5], "stop": [1, 2, 3, 5, 7], "label": labels}).to_csv(
        tmp_path / "b.csv", index=False
    )
    for options in ({}, {"pauses": "gap"}, {"pauses": "state"}, {"drop": ["groom"]}, {"max_pause": 0.5}):
        theirs = Trajectories.from_bouts(tmp_path / "b.csv", **options)
        ours = Trajectories.from_bouts(epochs(labels, (0, 1, 2, 4, 5), (1, 2, 3, 5, 7)), **options)
        assert ours.state_names == theirs.state_names
        assert [x.tolist() for x in (ours.states[0], ours.gaps[0])] == [
            x.tolist() for x in (theirs.states[0], theirs.gaps[0])
        ]
        np.testing.assert_allclose(ours.times[0], theirs.times[0], rtol=0, atol=1.1 * MICROSECOND)


def test_a_dict_of_labels_and_one_of_sessions():
    labels = {"rear": nap.IntervalSet([0, 4], [0.9, 5]), "groom": nap.IntervalSet([1.0], [3.0])}
    read = Trajectories.from_bouts(labels)
    assert (read.state_names, read.states[0].tolist()) == (("groom", "rear"), [1, 0, 1])
    two = Trajectories.from_bouts({"day 1": labels, "day 2": epochs(["a", "b", "a", "b"])})
    assert (two.names, two.state_names) == (("day 1", "day 2"), ("a", "b", "groom", "rear"))
    many = Trajectories.from_bouts({"day 1": epochs([1, 2, 1, 2]), "day 2": epochs([2, 1, 2, 10])})
    assert (many.names, many.state_names) == (("day 1", "day 2"), ("1", "2", "10"))


def test_the_column_of_labels():
    odd = epochs(["a", "b", "a", "b"], column="syllable_of_mine")
    assert Trajectories.from_bouts(odd).state_names == ("a", "b")  # the only one
    odd.set_info(rater=["x", "y", "x", "y"])
    assert Trajectories.from_bouts(odd, {"label": "rater"}).state_names == ("x", "y")
    with pytest.raises(ValueError, match=r"no column of labels \(its columns: 'syllable_of_mine', 'rater'\)"):
        Trajectories.from_bouts(odd)
    with pytest.raises(ValueError, match=r"no column of labels called 'who'"):
        Trajectories.from_bouts(odd, {"label": "who"})
    with pytest.raises(ValueError, match=r"no column of labels \(its columns: none\)"):
        Trajectories.from_bouts(nap.IntervalSet([0.0], [1.0]))
    with pytest.raises(ValueError, match=r"has no label at 1, 3"):
        Trajectories.from_bouts(epochs(["a", "", "b", None]))
    for wrong in ([epochs(["a", "b", "a", "b"])], 3):
        with pytest.raises(ValueError, match="give files, an IntervalSet of pynapple, or a dict"):
            read_bout_tables(wrong)


def test_overlaps_between_labels_are_refused_or_cut():
    labels = {"rear": nap.IntervalSet([0.0], [2.0]), "groom": nap.IntervalSet([1.0], [3.0])}
    with pytest.raises(ValueError, match="1 overlap"):
        Trajectories.from_bouts(labels)
    assert Trajectories.from_bouts(labels, priority=["groom"]).times[0].tolist() == [0.0, 1.0]


# ---------------------------------------------------------------------- out

DATA = Trajectories(
    [[0, 1, 0, 1, 2, 1], [0, 1, 2]],
    gaps=[[4], []],
    times=[np.array([0.0, 0.4, 1.0, 1.5, 9.0, 9.5]), np.array([2.0, 2.5, 3.5])],
    names=["day 1", "day 2"],
)
MODES = [np.array([0, 0, 1, 1, 1, 0]), np.array([-1, 1, 1])]


def test_states_modes_and_bouts_come_out():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = DATA.to_pynapple(
            modes=MODES, probabilities=[np.eye(2)[path] for path in MODES], mode_names=["home", "water"]
        )
    one, two = made["day 1"], made["day 2"]
    assert one.states.t.tolist() == DATA.times[0].tolist()
    assert one.states.d.tolist() == [0, 1, 0, 1, 2, 1]
    assert one.modes.d.tolist() == [0, 0, 1, 1, 1, 0]
    assert one.bouts["label"].tolist() == ["home", "water", "water", "home"]
    assert one.bouts["mode"].tolist() == [0, 1, 1, 0]
    np.testing.assert_allclose(one.bouts.start, [0.0, 1.0, 9.0, 9.5])
    np.testing.assert_allclose(one.bouts.end, [1 - MICROSECOND, 2.0, 9.5 - MICROSECOND, 10.0])
    np.testing.assert_allclose(one.states.time_support.values, [[0.0, 2.0], [9.0, 10.0]])
    assert list(one.probabilities.columns) == ["home", "water"]
    assert two.modes.t.tolist() == [2.5, 3.5]  # at the first step the mode is not known
    assert two.bouts.start.tolist() == [2.5]


def test_what_pynapple_does_with_them():
    [one] = DATA[:1].to_pynapple(modes=MODES[:1], mode_names=["home", "water"]).values()
    spikes = nap.Ts(t=[0.2, 1.2, 1.9, 9.2, 9.7])
    water = one.bouts[one.bouts["label"] == "water"]
    assert spikes.restrict(water).t.tolist() == [1.2, 1.9, 9.2]


def test_there_and_back():
    made = DATA.to_pynapple(modes=MODES)
    back = Trajectories.from_bouts({name: session.bouts for name, session in made.items()}, {"label": "label"})
    assert back.state_names == ("mode 0", "mode 1")
    assert back.states[0].tolist() == [0, 1, 1, 0]


def test_without_modes_and_without_times():
    made = to_pynapple(DATA)
    assert made["day 2"].modes is made["day 2"].bouts is made["day 2"].probabilities is None
    with pytest.raises(ValueError, match="data has no times, and pynapple is about times"):
        Trajectories([[0, 1]]).to_pynapple()
    with pytest.raises(ValueError, match="probabilities and mode_names are of modes: give modes too"):
        DATA.to_pynapple(mode_names=["a", "b"])
    with pytest.raises(ValueError, match=r"cannot become objects of pynapple: .*(?s:.)*mode_names has 1 name"):
        DATA.to_pynapple(modes=MODES, mode_names=["a"])


def test_pynapple_is_asked_for_in_words(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynapple", None)
    with pytest.raises(ValueError, match=r"need pynapple: pip install 'swirl-irl\[pynapple\]'"):
        DATA.to_pynapple()
