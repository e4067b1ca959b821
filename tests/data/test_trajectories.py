import copy
import pickle

import numpy as np
import pytest

from swirl.data.trajectories import Trajectories


def message_of(*args, **kwargs):
    with pytest.raises(ValueError) as caught:
        Trajectories(*args, **kwargs)
    return str(caught.value)


@pytest.fixture
def data():
    return Trajectories(
        [[0, 1, 2, 3], [3, 2], [1, 1, 0], [2], [0, 1]],
        [[1, 0, 1], [0, -1], [1, 1], [], [0, 0]],
        subjects=["a", "b", "a", "b", "c"],
        gaps=[[3, 2, 2], [], None, [], [1]],
        times=[[0, 1, 2, 9], [0, 1], [0, 1, 2], [4], [1, 2.5]],
        signals={
            "dopamine": [np.arange(n, dtype=float) for n in (4, 2, 3, 1, 2)],
            "xy": [np.ones((n, 2)) for n in (4, 2, 3, 1, 2)],
        },
        modes=[[0, 0, 1, 1], [1, 1], [0, 0, 0], [-1], [0, 1]],
        n_states=5,
        state_names=list("ABCDE"),
        names=["s0", "s1", "s2", "s3", "s4"],
    )


def same(one, other):
    return len(one) == len(other) and all(np.array_equal(x, y) for x, y in zip(one, other, strict=True))


# what comes in


def test_attributes(data):
    assert len(data) == 5
    assert data.states[0].dtype == np.int64
    assert same(data.actions, [[1, 0, 1, -1], [0, -1], [1, 1, -1], [-1], [0, 0]])
    assert same(data.gaps, [[2, 3], [], [], [], [1]])
    assert data.lengths.tolist() == [4, 2, 3, 1, 2]
    assert (data.n_steps, data.n_observed_actions, data.n_states, data.n_actions) == (12, 8, 5, 2)
    assert data.segments(0) == [(0, 2), (2, 3), (3, 4)]
    assert data.segments(1) == [(0, 2)]
    assert data.segment_starts(0).tolist() == [0, 2, 3]
    assert data.signals is not None
    assert data.signals["xy"][0].shape == (4, 2)
    assert data.modes is not None
    assert data.times is not None


def test_defaults():
    data = Trajectories([[0, 2], [1]])
    assert same(data.actions, [[-1, -1], [-1]])
    assert (data.n_states, data.n_actions, data.n_observed_actions) == (3, 1, 0)
    assert data.subjects == (None, None)
    assert data.names == ("0", "1")
    assert data.times is data.signals is data.modes is data.state_names is None


def test_a_2d_array_is_sessions_of_equal_length():
    states = np.array([[0, 1, 2], [2, 1, 0]], np.int8)
    data = Trajectories(states, np.array([[1, 1], [0, 0]]))
    assert same(data.states, states)
    assert same(data.actions, [[1, 1, -1], [0, 0, -1]])


def test_an_object_array_of_arrays_is_a_list_of_sessions():
    states = np.empty(2, object)
    states[:] = [np.array([0, 1]), np.array([1])]
    assert Trajectories(states).lengths.tolist() == [2, 1]


def test_arrays_are_read_only_copies():
    states = np.array([0, 1, 2])
    data = Trajectories([states])
    states[0] = 2
    assert data.states[0].tolist() == [0, 1, 2]
    for array in (data.states[0], data.actions[0], data.gaps[0]):
        assert not array.flags.writeable


def test_string_labels_are_mapped_by_their_names():
    data = Trajectories(
        [["home", "water"], ["water"]],
        [np.array(["go", None], object), [""]],
        state_names=["water", "home"],
        action_names=["stay", "go"],
    )
    assert same(data.states, [[1, 0], [0]])
    assert same(data.actions, [[1, -1], [-1]])
    assert (data.n_states, data.n_actions) == (2, 2)


def test_fingerprint_sees_each_part_and_the_order():
    base = Trajectories([[0, 1, 0], [1, 1]], [[0, 1], [1]])
    others = [
        Trajectories([[0, 1, 0], [1, 0]], [[0, 1], [1]]),
        Trajectories([[0, 1, 0], [1, 1]], [[0, 0], [1]]),
        Trajectories([[0, 1, 0], [1, 1]], [[0, 1], [1]], gaps=[[1], []]),
        Trajectories([[0, 1, 0], [1, 1]], [[0, 1], [1]], gaps=[[], [1]]),
        base[[1, 0]],
        Trajectories([[0, 1], [0, 1, 1]], [[0, 1], [-1, 1]]),
    ]
    prints = [base.fingerprint(), *(other.fingerprint() for other in others)]
    assert len(set(prints)) == len(prints)
    assert Trajectories([[0, 1, 0], [1, 1]], [[0, 1], [1]]).fingerprint() == prints[0]
    assert len(prints[0]) == 64


# faults


@pytest.mark.parametrize("states", [np.array([0, 1, 2]), [0, 1, 2], [np.int64(1)], 5, "abc", None, {"a": 1}])
def test_a_single_sequence_is_refused_with_the_remedy(states):
    assert "wrapped in a list: [states]" in message_of(states)


def test_trajectories_are_no_states():
    assert "states is a Trajectories" in message_of(Trajectories([[0]]))


def test_states_and_actions_side_by_side_are_told_apart():
    assert "actions=x[..., 1]" in message_of(np.zeros((3, 5, 2), int))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (([],), ["no session"]),
        (([[0], []],), ["states[1] is empty"]),
        (([[0], [1.0, 2.0]],), ["states[1] holds float labels (1.0 at step 0)", "astype(int)"]),
        (([[0], [0, np.nan, 1, np.nan]],), ["states[1] is NaN at steps 1, 3"]),
        (([[0], ["home"]],), ["states[1] holds strings (home)", "state_names"]),
        (([[True, False]],), ["states[0] holds labels of type bool"]),
        (([[0], [[0, 1], [1, 0]]],), ["states[1] is of shape (2, 2)"]),
        (([[0], [[0, 1], [1]]],), ["states[1] is ragged"]),
        (([[0], [0, -2, 1]],), ["states[1] is -2 at step 1"]),
        (([[0, 1]], [[-2]]), ["actions[0] is -2 at step 0"]),
        (([[0, 1]], [[0.5]]), ["actions[0] holds float labels"]),
        (([[0, 1]], [[np.nan, 1]]), ["actions[0] is NaN at step 0", "−1"]),
        (([[0, 1, 1]], [[0]]), ["actions[0] has length 1, but session 0 has 3 states"]),
        (([[0, 1, 1]], [[0] * 4]), ["actions[0] has length 4"]),
        (([[0, 1]], [[0], [0]]), ["actions has 2 entries, but there are 1 sessions"]),
    ],
)
def test_bad_labels_are_named(arguments, expected):
    message = message_of(*arguments)
    for text in expected:
        assert text in message


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"n_states": 2}, ["states[0] is 2 at step 2", "states[1] is 3 at step 1", "expected 0 to 1"]),
        ({"n_states": 0}, ["n_states=0"]),
        ({"n_states": 4.5}, ["n_states=4.5"]),
        ({"n_actions": 1}, ["actions[0] is 1 at step 1"]),
        ({"state_names": ["a", "b", "c"]}, ["states[1] is 3 at step 1"]),
        ({"state_names": ["a", "b", "c", "d"], "n_states": 5}, ["n_states=5, but state_names has 4 names"]),
        ({"state_names": ["a", "a", "b", "c"]}, ["state_names repeats a"]),
        ({"gaps": [[0], [2]]}, ["gaps[0] holds 0", "0 < t < 3", "gaps[1] holds 2"]),
        ({"gaps": [[1.5], []]}, ["gaps[0] holds float64"]),
        ({"gaps": [[1]]}, ["gaps has 1 entries"]),
        ({"gaps": [1, 1]}, ["gaps is a single sequence"]),
        ({"times": [[0, 1, 1], [0, 1]]}, ["times[0] does not increase at step 2"]),
        ({"times": [[0, 1, np.nan], [0, 1]]}, ["times[0] is not finite at step 2"]),
        ({"times": [[0, 1, 2], [0]]}, ["times[1] has length 1"]),
        ({"times": [["a", "b", "c"], [0, 1]]}, ["times[0] holds <U1"]),
        ({"signals": [[0]]}, ["signals is a list"]),
        ({"signals": {"da": [[0.0, 1, 2], [1.0]]}}, ["signals['da'][1] has length 1"]),
        ({"signals": {"da": [np.zeros((3, 2)), np.zeros((2, 3))]}}, ["different numbers of channels"]),
        ({"signals": {"da": None}}, ["signals['da'] is None"]),
        ({"modes": [[0, 0, 0], [0]]}, ["modes[1] has length 1"]),
        ({"modes": [[0, -3, 0], [0, 1]]}, ["modes[0] is -3 at step 1"]),
        ({"subjects": ["a"]}, ["subjects has 1 labels, but there are 2 sessions"]),
        ({"subjects": "ab"}, ["subjects is 'ab'"]),
        ({"subjects": [["a"], ["b"]]}, ["subjects[0] is a list"]),
        ({"names": ["a", "b", "c"]}, ["names has 3 labels"]),
    ],
)
def test_bad_options_are_named(options, expected):
    message = message_of([[0, 1, 2], [0, 3]], [[0, 1], [0]], **options)
    for text in expected:
        assert text in message


def test_unknown_names_are_told():
    message = message_of([["home", "lost"]], [["fly"]], state_names=["home"], action_names=["walk"])
    assert "states[0] is 'lost' at step 1: the names are home" in message
    assert "actions[0] is 'fly' at step 0: the names are walk" in message


def test_all_faults_come_in_one_error():
    message = message_of([[0.5], [], [0, -7]], [[0], [], [5]], gaps=[[], [], [9]], n_actions=2, times=[[0], [], [1, 0]])
    assert "6 faults" in message
    parts = ["states[0]", "states[1]", "states[2]", "actions[2] is 5", "gaps[2] holds 9", "times[2]"]
    assert all(part in message for part in parts)


# selecting


def test_selection_keeps_everything_of_the_session(data):
    one = data[2]
    assert len(one) == 1
    assert same(one.states, [[1, 1, 0]])
    assert same(one.actions, [[1, 1, -1]])
    assert (one.subjects, one.names) == (("a",), ("s2",))
    assert same(one.times, [[0, 1, 2]])
    assert same(one.modes, [[0, 0, 0]])
    assert same(one.signals["dopamine"], [[0, 1, 2]])
    assert (one.n_states, one.n_actions, one.state_names) == (5, 2, data.state_names)
    assert data[0].segments(0) == data.segments(0)


@pytest.mark.parametrize(
    ("key", "names"),
    [
        (-1, ["s4"]),
        (np.int64(1), ["s1"]),
        (slice(1, 4, 2), ["s1", "s3"]),
        ([3, 0, 3], ["s3", "s0", "s3"]),
        (np.array([-1, 0]), ["s4", "s0"]),
        ([True, False, False, True, False], ["s0", "s3"]),
        (np.array([False, True, False, False, False]), ["s1"]),
    ],
)
def test_keys(data, key, names):
    assert data[key].names == tuple(names)


@pytest.mark.parametrize("key", [5, -6, [0, 7], [True, False], [0.5]])
def test_bad_keys(data, key):
    with pytest.raises(IndexError):
        data[key]


@pytest.mark.parametrize("key", [slice(3, 3), [], [False] * 5])
def test_an_empty_selection_is_refused(data, key):
    with pytest.raises(ValueError, match="selects none of the 5 sessions"):
        data[key]


def test_iteration_gives_one_session_each(data):
    assert [part.names for part in data] == [(name,) for name in data.names]


def test_split_every():
    data = Trajectories([[0]] * 11)
    train, test = data.split(every=5)
    assert test.names == ("0", "5", "10")
    assert train.names == ("1", "2", "3", "4", "6", "7", "8", "9")
    assert data.split(every=5, offset=3)[1].names == ("3", "8")


def test_split_by_fraction_is_seeded_and_disjoint():
    data = Trajectories([[0]] * 50)
    train, test = data.split(fraction=0.2)
    assert len(test) == 10
    assert sorted(train.names + test.names) == sorted(data.names)
    assert test.names == data.split(fraction=0.2)[1].names
    assert test.names != data.split(fraction=0.2, random_state=1)[1].names


def test_split_by_subject(data):
    train, test = data.split(subjects=["a", "c"])
    assert set(test.subjects) == {"a", "c"}
    assert set(train.subjects) == {"b"}
    assert data.split(subjects="b")[1].names == ("s1", "s3")


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        ({}, "just one of"),
        ({"every": 5, "fraction": 0.2}, "just one of"),
        ({"every": 1}, "every ≥ 2"),
        ({"every": 3, "offset": 3}, "offset < every"),
        ({"every": 8, "offset": 7}, "no test session"),
        ({"fraction": 1.5}, "between 0 and 1"),
        ({"fraction": 0.01}, "no test session"),
        ({"fraction": 0.99}, "no training session"),
        ({"subjects": ["z"]}, "no session of 'z'; known: 'a', 'b', 'c'"),
        ({"subjects": ["a", "b", "c"]}, "no training session"),
    ],
)
def test_bad_splits(data, criteria, message):
    with pytest.raises(ValueError, match=message):
        data.split(**criteria)


# joining, cutting, copying


def test_concatenate_undoes_iteration(data):
    joined = Trajectories.concatenate(list(data))
    assert joined.fingerprint() == data.fingerprint()
    assert (joined.n_states, joined.state_names, joined.names) == (5, data.state_names, data.names)
    assert joined.subjects == data.subjects
    assert same(joined.signals["xy"], data.signals["xy"])
    assert same(joined.modes, data.modes)


def test_concatenate_keeps_what_all_parts_have(data):
    plain = Trajectories([[0, 1]])
    joined = Trajectories.concatenate([data, plain])
    assert joined.times is joined.modes is joined.signals is None
    assert joined.state_names == data.state_names
    assert joined.subjects[-1] is None


def test_concatenate_refuses_other_names_and_nothing(data):
    with pytest.raises(ValueError, match="state_names differ"):
        Trajectories.concatenate([data, Trajectories([[0]], state_names=["z"])])
    with pytest.raises(ValueError, match="parts is empty"):
        Trajectories.concatenate([])


def test_with_gaps_adds_to_a_copy(data):
    cut = data.with_gaps([[1, 2], None, [2], [], []])
    assert same(cut.gaps, [[1, 2, 3], [], [2], [], [1]])
    assert same(data.gaps, [[2, 3], [], [], [], [1]])
    assert not cut.gaps[0].flags.writeable
    with pytest.raises(ValueError, match="extra\\[3\\] holds 1"):
        data.with_gaps([[], [], [], [1], []])


def test_flat_equals_the_plain_loop(data):
    flat = data.flat()
    rows = [
        (data.states[i][t], data.actions[i][t], i, t, t in data.segment_starts(i))
        for i in range(len(data))
        for t in range(data.lengths[i])
    ]
    assert same(flat, [np.array(column) for column in zip(*rows, strict=True)])


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_equal(data, copier):
    assert copier(data).fingerprint() == data.fingerprint()


def test_repr_and_where(data):
    assert repr(data) == (
        "Trajectories(5 sessions, 12 steps (1 to 4 each), 5 states, 2 actions, 3 subjects, 3 gaps, "
        "signals: dopamine, xy)"
    )
    assert data.where(1, 0) == "session 1 ('s1'), step 0"
    assert Trajectories([[0]]).where(0, 0) == "session 0, step 0"


def test_other_labels():
    data = Trajectories([[0, 1], [1, 1]], [[0], [1]], state_names=["a", "b"], groups=["x", "y"], notes=["read"])
    changed = data.with_labels(
        subjects=["m1", None], state_names=["c", "d", "e"], action_names=["go", "stay"], notes=[]
    )
    assert (changed.subjects, changed.groups, changed.notes) == (("m1", None), ("x", "y"), ())
    assert (changed.state_names, changed.n_states) == (("c", "d", "e"), 3)
    assert (changed.action_names, changed.n_actions) == (("go", "stay"), 2)
    assert changed.fingerprint() == data.fingerprint()
    assert (data.state_names, data.subjects, data.notes) == (("a", "b"), (None, None), ("read",))
    with pytest.raises(ValueError, match="The labels cannot be used") as told:
        data.with_labels(groups=["x"], state_names=["a"], notes="read")
    for part in (
        "groups has 1 labels, but there are 2 sessions",
        "states[0] is 1 at step 1",
        "give a list of sentences",
    ):
        assert part in str(told.value)
