"""Modes as NWB files: what the inspector says of them, what pynwb and our importer read in them, what is refused."""

import hashlib
import json
import sys
from datetime import UTC, datetime

import numpy as np
import pytest

from swirl.data.trajectories import Trajectories
from swirl.io.nwb.reading import contents, read_nwb_bouts
from swirl.io.nwb.writing import bouts_of, stems, write_nwb

TIMES = [np.array([0.0, 0.4, 1.0, 1.5, 9.0, 9.5]), np.array([2.0, 2.5, 3.5])]
MODES = [np.array([0, 0, 1, 1, 1, 0]), np.array([1, 1, 2])]
NAMES = ("home/nest", "water", "explore")
SHARES = [np.eye(3)[path] for path in MODES]


@pytest.fixture
def data():
    return Trajectories(
        [[0, 1, 0, 1, 2, 1], [0, 1, 2]],
        gaps=[[4], []],
        times=TIMES,
        names=["day 1", "Tag 2: früh"],
        subjects=["m1", None],
    )


def critical(path, validate):
    from nwbinspector import Importance, inspect_nwbfile

    worst = (Importance.CRITICAL, Importance.PYNWB_VALIDATION, Importance.ERROR)
    found = inspect_nwbfile(nwbfile_path=path, skip_validate=not validate)
    return [message.message for message in found if message.importance in worst]


def opened(path, look):
    """What `look` sees in a file that pynwb reads."""
    from pynwb import NWBHDF5IO

    with NWBHDF5IO(path, "r") as io:
        return look(io.read())


@pytest.mark.slow
def test_bouts_come_back_as_they_were_and_the_inspector_agrees(data, tmp_path):
    written = write_nwb(tmp_path / "modes.nwb", data, MODES, mode_names=NAMES, probabilities=SHARES)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == ["modes/day_1.nwb", "modes/Tag_2_früh.nwb"]
    assert critical(written[0], True) == critical(written[1], False) == []  # validation is slow: once is enough
    read = read_nwb_bouts(written)
    assert (read.names, read.subjects, read.state_names) == (data.names, ("m1", "unknown"), NAMES)
    assert [states.tolist() for states in read.states] == [[0, 1, 1, 0], [1, 2]]
    assert [gaps.tolist() for gaps in read.gaps] == [[2], []]
    assert [times.tolist() for times in read.times] == [[0.0, 1.0, 9.0, 9.5], [2.0, 3.5]]
    # The last step of a segment lasts the median step: 0.5 s and 0.75 s.
    np.testing.assert_allclose(read.signals["duration"][0], [1.0, 1.0, 0.5, 0.5])
    np.testing.assert_allclose(read.signals["duration"][1], [1.5, 0.75])


@pytest.mark.slow
def test_what_pynwb_reads(data, tmp_path):
    settings = {"n_modes": 3, "prior": np.float64(0.5)}
    start = datetime(2026, 3, 1, 14, 30, tzinfo=UTC)
    [path] = write_nwb(
        tmp_path / "one.nwb", data, MODES, session="day 1", mode_names=NAMES, probabilities=SHARES,
        definitions={"water": "Goes to the spout"}, parameters=settings, session_start=start,
    )  # fmt: skip

    def look(file):
        module = file.processing["behavior"]
        bouts, ethogram = module["ModeBouts"], module["ModeEthogram"]
        assert (file.session_id, file.subject.subject_id, file.session_start_time) == ("day 1", "m1", start)
        assert type(bouts).__name__ == "EthogramBouts"
        assert (bouts.labeling_method, bouts.source_software.split()[0]) == ("automated", "swirl")
        assert json.loads(bouts.parameters) == {"n_modes": 3, "prior": 0.5}
        assert bouts.ethogram is ethogram
        assert list(ethogram["behavior"][:]) == list(NAMES)
        assert ethogram["definition"][1] == "Goes to the spout"
        assert list(ethogram["native_code"][:]) == [0, 1, 2]
        assert ethogram.exclusive
        observed = bouts.observation_intervals.to_dataframe()
        assert observed.to_numpy().tolist() == [[0.0, 2.0], [9.0, 10.0]]
        assert bouts.to_dataframe()["label"].tolist() == ["home/nest", "water", "water", "home/nest"]
        shares = module["ModeProbabilities"].time_series
        assert list(shares) == ["explore", "home_nest", "water"]
        np.testing.assert_array_equal(shares["water"].data[:], SHARES[0][:, 1])
        np.testing.assert_array_equal(shares["water"].timestamps[:], TIMES[0])
        return True

    assert opened(path, look)


def test_steps_without_a_mode_are_not_observed(data, tmp_path):
    path = [np.array([-1, 0, -1, 1, 1, -1]), MODES[1]]
    [written] = write_nwb(tmp_path / "x.nwb", data, path, session=0)
    read = read_nwb_bouts(written)
    assert [read.times[0].tolist(), read.gaps[0].tolist()] == [[0.4, 1.5, 9.0], [1, 2]]
    assert read.signals["duration"][0].tolist() == [0.6, 0.5, 0.5]
    assert read.state_names == ("mode 0", "mode 1", "mode 2")


def test_a_segment_does_not_reach_into_the_next(tmp_path):
    data = Trajectories([[0, 1, 0, 1, 0]], times=[[0.0, 1.0, 1.1, 2.1, 90.0]], gaps=[[2, 4]])
    [path] = write_nwb(tmp_path / "x.nwb", data, [[0, 0, 0, 0, 0]])
    read = read_nwb_bouts(path)
    assert (read.times[0].tolist(), read.gaps[0].tolist()) == ([0.0, 1.1, 90.0], [1, 2])
    np.testing.assert_allclose(read.signals["duration"][0], [1.1, 2.0, 1.0])


def test_each_segment_is_observed_by_itself():
    times, ends = np.array([0.0, 1.0, 50.0, 99.0]), np.array([1.0, 2.0, 51.0, 100.0])
    bouts = bouts_of(times, ends, np.array([0, 1, 1, 1]), np.array([2, 3]))
    assert (bouts.start.tolist(), bouts.stop.tolist()) == ([0.0, 1.0, 50.0, 99.0], [1.0, 2.0, 51.0, 100.0])
    assert bouts.observed.tolist() == [[0.0, 2.0], [50.0, 51.0], [99.0, 100.0]]


@pytest.fixture
def mine(tmp_path):
    """A user's own file."""
    from pynwb import NWBHDF5IO, NWBFile, TimeSeries

    file = NWBFile("mine", "abc", datetime(2026, 1, 2, tzinfo=UTC), session_id="own")
    file.add_acquisition(TimeSeries(name="dopamine", data=np.arange(5.0), unit="z", rate=1.0, description="photometry"))
    path = tmp_path / "mine.nwb"
    with NWBHDF5IO(path, "w") as io:
        io.write(file)
    return path


def test_modes_are_added_to_a_copy_of_the_users_file(data, mine, tmp_path):
    before = hashlib.sha256(mine.read_bytes()).hexdigest()
    [once] = write_nwb(tmp_path / "once.nwb", data, MODES, session=0, append_to=mine)
    [twice] = write_nwb(tmp_path / "twice.nwb", data, MODES, session=0, append_to=once)
    assert hashlib.sha256(mine.read_bytes()).hexdigest() == before
    assert opened(twice, lambda file: (file.identifier, *file.acquisition["dopamine"].data[:])) == (
        "abc",
        0,
        1,
        2,
        3,
        4,
    )
    found = [entry["path"] for entry in contents(twice) if entry["kind"] == "bouts"]
    assert found == ["/processing/behavior/ModeBouts", "/processing/behavior/ModeBouts2"]
    assert read_nwb_bouts(twice, table="ModeBouts2").states[0].tolist() == [0, 1, 1, 0]
    assert read_nwb_bouts(once).names == ("own",)


def test_the_users_file_is_never_the_target(data, mine, tmp_path):
    before = mine.read_bytes()
    with pytest.raises(ValueError, match=r"is the file in append_to, which is never changed"):
        write_nwb(mine, data, MODES, session=0, append_to=mine, overwrite=True)
    with pytest.raises(ValueError, match=r"file of session 'own', and no session is called so: .*session='day 1'"):
        write_nwb(tmp_path / "x.nwb", data, MODES, append_to=mine)
    with pytest.raises(ValueError, match="species is that of the file in append_to"):
        write_nwb(tmp_path / "x.nwb", data, MODES, session=0, append_to=mine, species="Mus musculus")
    with pytest.raises(ValueError, match="session_start is that of the file in append_to"):
        write_nwb(tmp_path / "x.nwb", data, MODES, session=0, append_to=mine, session_start="2026-01-01")
    for content, match in ((b"text", "is not an HDF5 file"), (before[: len(before) // 2], "cannot be added to")):
        broken = tmp_path / "broken.nwb"
        broken.write_bytes(content)
        with pytest.raises(ValueError, match=match):
            write_nwb(tmp_path / "x.nwb", data, MODES, session=0, append_to=broken)
    with pytest.raises(ValueError, match="does not exist"):
        write_nwb(tmp_path / "x.nwb", data, MODES, session=0, append_to=tmp_path / "nowhere.nwb")
    assert mine.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.nwb", "mine.nwb"]


def own_file(folder, session_id, subject, name="own.nwb"):
    from pynwb import NWBHDF5IO, NWBFile
    from pynwb.file import Subject

    who = None if subject is None else Subject(subject_id=subject, species="Rattus norvegicus")
    file = NWBFile("mine", "abc", datetime(2026, 1, 2, tzinfo=UTC), session_id=session_id, subject=who)
    with NWBHDF5IO(folder / name, "w") as io:
        io.write(file)
    return folder / name


@pytest.mark.parametrize(("session_id", "name"), [("day 1", "x.nwb"), ("other", "day 1.nwb"), (None, "day 1.nwb")])
def test_the_session_of_a_file_is_found_by_its_name(data, tmp_path, session_id, name):
    file = own_file(tmp_path, session_id, "m1", name)
    [written] = write_nwb(tmp_path / "new.nwb", data, MODES, append_to=file)
    assert read_nwb_bouts(written).states[0].tolist() == [0, 1, 1, 0]  # of day 1, not of the second session
    start, subject = opened(written, lambda file: (file.session_start_time, file.subject))
    assert (start, subject.species) == (datetime(2026, 1, 2, tzinfo=UTC), "Rattus norvegicus")


def test_modes_are_not_added_to_the_file_of_another(data, tmp_path):
    file = own_file(tmp_path, "day 1", "m2")
    before = file.read_bytes()
    for session in (None, "day 1", 0):
        with pytest.raises(ValueError, match=r"is of subject 'm2', but session 'day 1' is of 'm1'"):
            write_nwb(tmp_path / "new.nwb", data, MODES, append_to=file, session=session)
    assert write_nwb(tmp_path / "new.nwb", data, MODES, append_to=file, session=1)  # of which no subject is known
    twice = Trajectories([[0, 1]] * 2, times=[[0.0, 1.0]] * 2, names=["own", "abc"])
    with pytest.raises(ValueError, match="several sessions are called so"):
        write_nwb(tmp_path / "x.nwb", twice, [[0, 1]] * 2, append_to=file)
    alone = own_file(tmp_path, "own", None, "alone.nwb")
    with pytest.raises(ValueError, match="no session is called so: there is 'day 1'; say which it is"):
        write_nwb(tmp_path / "x.nwb", data[:1], MODES[:1], append_to=alone)
    assert file.read_bytes() == before


def test_whatever_fails_the_file_is_as_before(data, tmp_path, monkeypatch):
    import pynwb

    file = own_file(tmp_path, "day 1", "m1")
    before, stamp = file.read_bytes(), file.stat().st_mtime_ns
    for where in ("write", "read"):
        with monkeypatch.context() as patch:

            def fail(*arguments, **options):
                raise RuntimeError("disk on fire")

            patch.setattr(pynwb.NWBHDF5IO, where, fail)
            with pytest.raises(ValueError, match="cannot be added to: disk on fire"):
                write_nwb(tmp_path / "new.nwb", data, MODES, append_to=file)
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (before, stamp)
    assert [path.name for path in tmp_path.iterdir()] == ["own.nwb"]


def test_species_and_start_as_dandi_wants_them(data, tmp_path):
    from nwbinspector import Importance, inspect_nwbfile, load_config

    for species, critical_for in ((None, ["check_subject_species_exists"]), ("Mus musculus", [])):
        [path] = write_nwb(
            tmp_path / "x.nwb", data, MODES, session=0, species=species, session_start="2026-03-01T14:30",
            overwrite=True,
        )  # fmt: skip
        found = inspect_nwbfile(nwbfile_path=path, config=load_config("dandi"), skip_validate=True)
        assert [x.check_function_name for x in found if x.importance == Importance.CRITICAL] == critical_for
    for wrong in ("mouse", "Mus", "mus musculus"):
        with pytest.raises(ValueError, match="give the Latin name in full"):
            write_nwb(tmp_path / "y.nwb", data, MODES, session=0, species=wrong)


def test_nothing_is_overwritten_and_nothing_left_behind(data, tmp_path, monkeypatch):
    folder = tmp_path / "out"
    first = write_nwb(folder, data, MODES, session="day 1")
    assert first == [folder / "day_1.nwb"]
    before = first[0].read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_nwb(folder, data, MODES)
    assert [path.name for path in folder.iterdir()] == ["day_1.nwb"]
    assert first[0].read_bytes() == before
    assert write_nwb(folder / "day_1.nwb", data, MODES, session=1, overwrite=True) == first
    assert read_nwb_bouts(first).names == ("Tag 2: früh",)

    import pynwb

    def fail(self, file):
        raise OSError("disk full")

    monkeypatch.setattr(pynwb.NWBHDF5IO, "write", fail)
    with pytest.raises(OSError, match="disk full"):
        write_nwb(tmp_path / "new.nwb", data, MODES)
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        write_nwb(tmp_path / "no" / "x.nwb", data, MODES, session=0)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_sessions_of_one_name_get_files_of_their_own():
    assert stems(["Day", "day", "///", "Tag 2: früh"]) == ["Day", "day_2", "session_2", "Tag_2_früh"]
    assert len(stems(["a" * 300])[0]) == 80


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"modes": [[0, 0], [1, 1, 0]]}, r"modes\[0\] has length 2, but session 0 has 6 steps"),
        ({"modes": MODES[:1]}, "modes has 1 entries, but there are 2 sessions"),
        ({"modes": [np.full(6, -1), MODES[1]]}, "modes are −1 at every step of day 1"),
        ({"mode_names": ["a", "b"]}, "modes hold 2, but mode_names has 2 names"),
        ({"mode_names": ["a", "b", "a"]}, "mode_names repeats a"),
        ({"probabilities": [np.ones((6, 4)), np.ones((3, 4))], "mode_names": NAMES}, "have 4 columns, but there are 3"),
        ({"probabilities": [np.ones((5, 3)), np.ones((3, 3))]}, r"probabilities\[0\] has length 5"),
        ({"definitions": ["a"]}, "definitions has 1 text: give one for each of 3 modes"),
        ({"definitions": {"thirst": "a"}}, "definitions has thirst: expected names of modes, mode 0"),
        ({"parameters": {"x": np.nan}}, "parameters cannot be written as JSON"),
        ({"session_start": "yesterday"}, r"session_start of session 0 is 'yesterday': give a datetime"),
        ({"session_start": "2999-01-01"}, "still to come"),
        ({"session_start": ["2026-01-01"]}, "session_start has 1 time: give one, or one for each of 2"),
        ({"session": "day 3"}, r"session='day 3': give one of the names day 1, Tag 2: früh, or 0 to 1"),
        ({"session": 2}, "session=2: give one of the names"),
    ],
)
def test_what_cannot_be_written_is_told(data, tmp_path, changes, match):
    arguments = {"modes": MODES, **changes}
    with pytest.raises(ValueError, match=match):
        write_nwb(tmp_path / "x.nwb", data, arguments.pop("modes"), **arguments)
    assert list(tmp_path.iterdir()) == []


def test_times_are_needed(tmp_path):
    with pytest.raises(ValueError, match=r"(?s)data has no times.*times=\[….*column t.*modes\[0\] has length 1"):
        write_nwb(tmp_path / "x.nwb", Trajectories([[0, 1]]), [[0]])


def test_a_missing_library_is_told_with_how_to_install_it(data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ndx_ethogram", None)
    with pytest.raises(ValueError, match=r"needs pynwb and ndx-ethogram: pip install 'swirl-irl\[nwb\]'"):
        write_nwb(tmp_path / "x.nwb", data, MODES)
    assert list(tmp_path.iterdir()) == []
