"""Raw files of Rosenberg et al.: real pickles are read, hostile and broken ones refused, nothing is executed."""

import os
import pickle
import sys
from contextlib import suppress
from dataclasses import make_dataclass
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest

from swirl.datasets import labyrinth_bout_env, read_rosenberg, rosenberg

# The walk 0 → 1 → 3 → 1 → 0 → out, and what the authors' table says of it.
WALK = [[0, 2], [1, 30], [3, 60], [1, 75], [0, 90], [127, 120]]
ACTIONS = [0, 0, 2, 2, 3]


@pytest.fixture
def module(monkeypatch):
    """The module in which the class of the files lives, made as its authors make it."""
    module = ModuleType("MM_Traj_Utils")
    module.Traj = make_dataclass("Traj", ["fr", "ce", "ke", "no", "re"])
    module.Traj.__module__ = "MM_Traj_Utils"
    monkeypatch.setitem(sys.modules, "MM_Traj_Utils", module)
    return module


def trajectory(module, *walks, start=300, **changed):
    walks = [np.array(walk) for walk in (walks or [WALK])]
    lengths = [int(walk[-1, 1]) for walk in walks]
    firsts = start + np.cumsum([0, *lengths[:-1]])
    fields = {
        "fr": np.stack([firsts, firsts + lengths], axis=1),
        "ce": [np.arange(n, dtype=np.int16) for n in lengths],
        "ke": [np.asfortranarray(np.full((n, 2), 0.5)) for n in lengths],
        "no": walks,
        "re": [np.array([[60, 70]]) for _ in walks],
    }
    return module.Traj(**{**fields, **changed})


def write(path, content, protocol=4):
    path.write_bytes(pickle.dumps(content, protocol))
    return path


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_what_is_written_is_read(module, tmp_path, protocol):
    given = trajectory(module, WALK, WALK[:2] + WALK[4:])
    given.ke[0][3] = np.nan
    recording = read_rosenberg(write(tmp_path / "B1-tf", given, protocol))
    assert recording.mouse == "B1"
    np.testing.assert_array_equal(recording.bouts, given.fr)
    for ours, theirs in (
        (recording.nodes, given.no),
        (recording.cells, given.ce),
        (recording.nose, given.ke),
        (recording.rewards, given.re),
    ):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype


def test_files_written_by_numpy_1_and_2(module, tmp_path):
    content = pickle.dumps(trajectory(module), 3)  # names are spelt out in protocol 3
    spelt = {b"numpy._core.multiarray", b"numpy.core.multiarray"}
    here = next(name for name in spelt if name in content)
    (other,) = spelt - {here}
    path = tmp_path / "B1-tf"
    path.write_bytes(content.replace(here, other))
    np.testing.assert_array_equal(read_rosenberg(path).nodes[0], WALK)


def test_numbers_of_another_machine(module, tmp_path):
    swapped = trajectory(module, no=[np.array(WALK, dtype=">i4")], fr=np.array([[300.0, 420.0]]))
    recording = read_rosenberg(write(tmp_path / "B1-tf", swapped))
    np.testing.assert_array_equal(recording.nodes[0], WALK)
    assert recording.nodes[0].dtype == recording.bouts.dtype == np.int64


def test_an_unrewarded_mouse(module, tmp_path):
    assert read_rosenberg(write(tmp_path / "B5-tf", trajectory(module, re=None))).rewards is None


def test_bouts_become_sessions(module, tmp_path):
    write(tmp_path / "C1-tf", trajectory(module, WALK, [[0, 0], [127, 30]], [[127, 10]]))
    write(tmp_path / "B1-tf", trajectory(module, start=0))
    (tmp_path / "notes.txt").write_text("not a recording")
    dataset = rosenberg(tmp_path)
    data = dataset.trajectories
    dataset.env.check(data)
    assert data.subjects == ("B1", "C1", "C1")
    assert data.names == ("B1, bout 0", "C1, bout 0", "C1, bout 1"), "a bout in which no node is reached is left out"
    assert data.states[1].tolist() == [0, 1, 3, 1, 0]
    assert data.actions[1].tolist() == ACTIONS
    assert data.states[2].tolist() == [0]
    assert data.actions[2].tolist() == [3]
    np.testing.assert_allclose(data.times[1], [(300 + frame) / 30 for _, frame in WALK[:-1]])
    np.testing.assert_allclose(data.times[2], [(300 + 120) / 30])
    assert not any(gaps.size for gaps in data.gaps)
    np.testing.assert_array_equal(dataset.env.available, labyrinth_bout_env().available)


def test_one_file_and_a_list_of_files(module, tmp_path):
    one, two = (write(tmp_path / f"{mouse}-tf", trajectory(module)) for mouse in ("B1", "B2"))
    assert rosenberg(str(one)).trajectories.subjects == ("B1",)
    assert rosenberg([two, one]).trajectories.subjects == ("B2", "B1")


def test_every_corridor_both_ways(module, tmp_path):
    """Down to each end and back: each action must lead where the mouse went."""
    walk = [0]
    for end in range(63, 127):
        up = [end]
        while up[-1]:
            up.append((up[-1] - 1) // 2)
        walk += [*up[-2::-1], *up[1:]]
    assert len(set(pairwise(walk))) == 252
    visits = [[node, frame] for frame, node in enumerate([*walk, 127])]
    dataset = rosenberg(write(tmp_path / "B1-tf", trajectory(module, visits)))
    dataset.env.check(dataset.trajectories)
    assert dataset.trajectories.states[0].tolist() == walk
    assert not dataset.trajectories.gaps[0].size
    assert (dataset.trajectories.actions[0] >= 0).all()


def test_jumps_and_bouts_that_end_inside(module, tmp_path):
    jump = [[0, 0], [1, 10], [9, 20], [4, 30], [127, 40]]
    unfinished = [[0, 0], [2, 10]]
    data = rosenberg(write(tmp_path / "B1-tf", trajectory(module, jump, unfinished))).trajectories
    assert data.actions[0].tolist() == [0, -1, 2, -1]
    assert data.gaps[0].tolist() == [2]
    assert data.actions[1].tolist() == [1, -1]


class Hostile:
    """Pickles as a call of `function` with `arguments`."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def hostile_contents(module, marker):
    touch = f"open({str(marker)!r}, 'w').close()"
    shell = f"touch {marker}"
    return {
        "system": Hostile(os.system, shell),
        "eval": Hostile(eval, f"__import__('os').system({shell!r})"),
        "exec": Hostile(exec, touch),
        "nested": trajectory(module, re=[Hostile(exec, touch)]),
        "deep": trajectory(module, ce=[[{"a": (Hostile(getattr, Hostile(exec, touch), "x"),)}]]),
        "getattr": Hostile(getattr, "x", "y"),
        "numpy": Hostile(np.fromfile, "/etc/passwd"),
        "numpy_load": Hostile(np.load, "x"),
        "object_array": trajectory(module, no=[np.array([Hostile(exec, touch)], dtype=object)]),
    }


NAMES = ["system", "eval", "exec", "nested", "deep", "getattr", "numpy", "numpy_load", "object_array"]


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("name", NAMES)
def test_hostile_files_are_refused_and_not_run(module, tmp_path, name, protocol):
    marker = tmp_path / "executed"
    path = write(tmp_path / "B1-tf", hostile_contents(module, marker)[name], protocol)
    with pytest.raises(
        ValueError, match=r"(asks for \S+, which was refused|array of type 'O8').*Nothing in it was exec"
    ):
        read_rosenberg(path)
    assert not marker.exists()


def test_the_hostile_files_are_hostile(module, tmp_path):
    """The same bytes, opened the usual way, do run: the refusals above are worth something."""
    marker = tmp_path / "executed"
    pickle.loads(pickle.dumps(hostile_contents(module, marker)["nested"]))
    assert marker.exists()


@pytest.mark.parametrize(
    "program",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"(S'true'\nios\nsystem\n.",
        b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R.",
        b"\x80\x04\x8c\x0dMM_Traj_Utils\x8c\x13Traj.__init__.__new\x93.",  # attributes of what is allowed
        b"\x80\x04\x8c\x05numpy\x8c\x05dtype\x93}\x8c\x05numpyNsb.",  # state set on a class
        b"Pmouse\n.",
        b"\x82\x01.",
    ],
)
def test_programs_written_by_hand(tmp_path, program):
    path = tmp_path / "B1-tf"
    path.write_bytes(program)
    with pytest.raises(ValueError, match="cannot be read"):
        read_rosenberg(path)


def test_every_truncation_is_refused(module, tmp_path):
    content = pickle.dumps(trajectory(module, [[0, 0], [127, 3]]), 4)
    path = tmp_path / "B1-tf"
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="B1-tf cannot be read"):
            read_rosenberg(path)


def test_damaged_bytes_never_do_more_than_fail(module, tmp_path):
    content = pickle.dumps(trajectory(module, [[0, 0], [127, 3]]), 4)
    path, rng = tmp_path / "B1-tf", np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(content)
        damaged[rng.integers(len(content))] = rng.integers(256)
        path.write_bytes(damaged)
        with suppress(ValueError):
            read_rosenberg(path)


@pytest.mark.parametrize("program", [b"N\x72\xff\xff\xff\x7f.", b"Np4000000000\n."])
def test_no_room_is_set_aside_for_billions_of_objects(tmp_path, program):
    path = tmp_path / "B1-tf"
    path.write_bytes(program)
    with pytest.raises(ValueError, match="more memory than a file of its size can need"):
        read_rosenberg(path)


def test_arrays_that_claim_more_than_they_hold(module, tmp_path):
    content = pickle.dumps(trajectory(module, [[0, 0], [127, 3]]), 4)
    assert b"K\x02K\x02\x86" in content, "the shape (2, 2) of the nodes"
    path = tmp_path / "B1-tf"
    path.write_bytes(content.replace(b"K\x02K\x02\x86", b"J\xff\xff\xff\x7fK\x02\x86"))
    with pytest.raises(ValueError, match="bytes do not fit its shape"):
        read_rosenberg(path)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"fr": np.zeros((3, 3))}, "fr is an array of float64 and shape (3, 3)"),
        ({"fr": np.array([[0.5, 1.0]])}, "fr is an array of float64 and shape (1, 2): expected whole numbers"),
        ({"fr": np.array([[np.inf, 1.0]])}, "fr is an array of float64 and shape (1, 2): expected whole numbers"),
        ({"fr": None}, "fr is NoneType"),
        ({"no": None}, "no is None"),
        ({"no": [np.array(WALK), np.array(WALK)]}, "no is a list of 2, but fr has 1 bouts"),
        ({"no": "walk"}, "no is a list str"),
        ({"no": [np.array([0, 1, 127])]}, "no[0] is an array of int64 and shape (3,)"),
        ({"no": [np.array([[0, 0], [128, 5]])]}, "no[0] names nodes 0 to 128: expected 0 to 127"),
        ({"no": [np.array([[0, 0], [-1, 5]])]}, "no[0] names nodes -1 to 0"),
        ({"no": [np.array([[0, 0], [127, 5], [0, 9]])]}, "no[0] goes on after node 127"),
        ({"no": [np.array([[0, 5], [1, 5], [127, 9]])]}, "no[0] has frames that do not increase"),
        ({"ce": [3]}, "ce[0] is int: expected an array"),
        ({"ke": []}, "ke is a list of 0, but fr has 1 bouts"),
    ],
)
def test_wrong_contents_are_told(module, tmp_path, changed, words):
    with pytest.raises(ValueError) as fault:
        read_rosenberg(write(tmp_path / "B1-tf", trajectory(module, **changed)))
    assert words in str(fault.value)
    assert "B1-tf is not a -tf file" in str(fault.value)


def test_all_faults_at_once(module, tmp_path):
    with pytest.raises(ValueError, match="2 faults"):
        read_rosenberg(write(tmp_path / "B1-tf", trajectory(module, no=[np.array([[200, 0]])], ce=[1])))


def test_wrong_fields_are_told(module, tmp_path):
    other = make_dataclass("Traj", ["fr", "no"])
    other.__module__ = "MM_Traj_Utils"
    module.Traj = other
    with pytest.raises(ValueError, match=r"its fields are \['fr', 'no'\], expected \['ce', 'fr', 'ke', 'no', 're'\]"):
        read_rosenberg(write(tmp_path / "B1-tf", other(np.zeros((0, 2)), [])))


@pytest.mark.parametrize("content", [3, [1, 2], {"fr": 1}, np.arange(3)])
def test_other_pickles_are_told(tmp_path, content):
    with pytest.raises(ValueError, match="not a Traj"):
        read_rosenberg(write(tmp_path / "B1-tf", content))


def test_no_files(module, tmp_path):
    with pytest.raises(ValueError, match="holds no file named <mouse>-tf"):
        rosenberg(tmp_path)
    with pytest.raises(ValueError, match="empty list"):
        rosenberg([])
    with pytest.raises(FileNotFoundError):
        rosenberg(tmp_path / "B1-tf")
    with pytest.raises(ValueError, match=r"no bout in which a node was reached \(D6\)"):
        rosenberg(write(tmp_path / "D6-tf", trajectory(module, [[127, 3]])))
