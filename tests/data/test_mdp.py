import copy

import numpy as np
import pytest

from swirl.data.encoding import encode
from swirl.data.environments import estimated_again, observed_moves
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.io.environment_files import environment_for


@pytest.fixture
def stochastic():
    """Draw a random MDP with 1 to 4 successors per action and some actions masked."""
    rng = np.random.default_rng(0)
    dense = rng.random((6, 3, 6)) * (rng.random((6, 3, 6)) < 0.5)
    dense[..., 0] += 0.1
    dense /= dense.sum(-1, keepdims=True)
    available = rng.random((6, 3)) < 0.7
    available[:, 0] = True
    return dense, available


CORRIDOR = [[-1, 1], [0, 2], [1, -1]]  # three places in a row; actions left and right


def walk(env, n_sessions, n_steps, seed=0):
    """Walk at random; about one action in five is then forgotten."""
    rng = np.random.default_rng(seed)
    states, actions = np.zeros((2, n_sessions, n_steps), int)
    dense = env.dense()
    for i in range(n_sessions):
        s = rng.integers(env.n_states)
        for t in range(n_steps):
            a = rng.choice(np.flatnonzero(env.available[s]))
            states[i, t], actions[i, t] = s, a
            s = rng.choice(env.n_states, p=dense[s, a])
    actions[rng.random(actions.shape) < 0.2] = -1
    gaps = [sorted(set(rng.integers(1, n_steps, 2).tolist())) for _ in range(n_sessions)]
    return Trajectories(states, actions, gaps=gaps, n_states=env.n_states, n_actions=env.n_actions)


def message_of(build, *args, **kwargs):
    with pytest.raises(ValueError) as caught:
        build(*args, **kwargs)
    return str(caught.value)


# construction


def test_tables_hold_the_dense_array(stochastic):
    dense, available = stochastic
    env = MDP(dense, available=available)
    tables = env.successors
    assert env.n_branches == (dense[available] > 0).sum(-1).max()
    assert not env.is_deterministic
    np.testing.assert_allclose(env.dense()[available], dense[available], rtol=1e-15)
    for s, a in np.ndindex(available.shape):
        nexts, used = tables.next[s, a], tables.probability[s, a] > 0
        if available[s, a]:
            assert nexts[used].tolist() == np.flatnonzero(dense[s, a]).tolist()
        else:
            assert tables.probability[s, a, 0] == 1
            assert used.sum() == 1
            assert nexts[0] == s
        assert (nexts[~used] == s).all()
    np.testing.assert_allclose(tables.probability.sum(-1), 1, rtol=1e-15)


def test_rows_of_unavailable_actions_are_ignored():
    dense = np.zeros((2, 2, 2))
    dense[:, 0] = np.eye(2)
    dense[0, 1] = np.nan
    env = MDP(dense, available=[[1, 0], [1, 0]])
    assert env.is_deterministic
    assert env.available.tolist() == [[True, False], [True, False]]


def test_rows_within_tolerance_are_normalised_exactly():
    third = np.full((3, 1, 3), np.float32(1 / 3))
    third[..., 0] += 5e-7
    sums = MDP(third).successors.probability.sum(-1)
    np.testing.assert_allclose(sums, 1, rtol=1e-15)


def test_every_constructor_builds_the_same(stochastic):
    dense, available = stochastic
    env = MDP(dense, available=available)
    edges = [(s, a, to, dense[s, a, to]) for s, a, to in np.ndindex(dense.shape) if available[s, a]]
    halves = [(s, a, to, p / 2) for s, a, to, p in edges]
    shuffled = np.random.default_rng(1).permutation(6)
    others = [
        MDP.from_edges(edges),
        MDP.from_edges(np.array(halves + halves)),
        MDP.from_successors(np.broadcast_to(shuffled, dense.shape), dense[..., shuffled], available=available),
        MDP.from_arrays(env.to_arrays()),
        copy.deepcopy(env),
    ]
    for other in others:
        assert np.array_equal(other.successors.next, env.successors.next)
        assert np.array_equal(other.available, env.available)
        np.testing.assert_allclose(other.successors.probability, env.successors.probability, rtol=1e-14)


def test_deterministic():
    env = MDP.deterministic(CORRIDOR)
    assert env.is_deterministic
    assert env.successors.next[..., 0].tolist() == [[0, 1], [0, 2], [1, 2]]
    assert env.available.tolist() == [[False, True], [True, True], [True, False]]
    same = MDP.from_edges([(0, 1, 1), (1, 0, 0), (1, 1, 2), (2, 0, 1), (2, 0, 1)])
    assert np.array_equal(same.successors.next, env.successors.next)
    masked = MDP.deterministic(CORRIDOR, available=[[1, 1], [1, 0], [1, 1]])
    assert masked.available.tolist() == [[False, True], [True, False], [True, False]]


def test_from_successors_without_probability():
    env = MDP.from_successors([[[1, 1, 0]], [[1, 1, 1]]])
    np.testing.assert_allclose(env.dense()[:, 0], [[1 / 3, 2 / 3], [0, 1]])


def test_storage_is_bit_for_bit():
    dense = np.random.default_rng(2).dirichlet(np.ones(6), size=(6, 3))
    names = {"state_names": list("abcdef"), "action_names": list("xyz")}
    env = MDP(dense, available=np.arange(18).reshape(6, 3) != 4, coordinates=np.ones((6, 2)), **names)
    stored = env.to_arrays()
    # Some sums are one only to rounding error: normalising once more would change bits.
    assert (np.cumsum(stored["probability"], axis=-1)[..., -1] != 1).any()
    again = MDP.from_arrays(stored)
    assert stored["state_names"] == list("abcdef")
    for name in ("next", "probability", "available", "coordinates"):
        assert np.array_equal(again.to_arrays()[name], stored[name])
    assert (again.state_names, again.action_names) == (env.state_names, env.action_names)


def test_tables_are_read_only_copies():
    dense = np.ones((1, 1, 1))
    coordinates = np.zeros((1, 2))
    available = np.ones((1, 1), bool)
    env = MDP(dense, available=available, coordinates=coordinates)
    dense[:] = coordinates[:] = available[:] = 0
    assert env.dense()[0, 0, 0] == 1
    assert env.available.all()
    with pytest.raises(ValueError, match="read-only"):
        env.successors.probability[0, 0, 0] = 2


def test_repr():
    assert repr(MDP.deterministic(CORRIDOR)) == (
        "MDP(3 states, 2 actions, deterministic, 2 of 6 (state, action) not available)"
    )


# faults in construction


def with_entry(value):
    dense = np.zeros((2, 2, 2))
    dense[..., 0] = 1
    dense[1, 0, 1] = value
    return dense


@pytest.mark.parametrize(
    ("transitions", "options", "expected"),
    [
        (np.ones((2, 2)), {}, ["shape (2, 2)"]),
        (np.ones((2, 2, 3)), {}, ["shape (2, 2, 3)"]),
        (np.ones((0, 2, 0)), {}, ["shape (0, 2, 0)"]),
        ("what", {}, ["transitions is not an array of numbers"]),
        ([[[1], [1, 0]]], {}, ["transitions is not an array of numbers"]),
        (with_entry(np.nan), {}, ["1 fault", "state 1, action 0", "NaN"]),
        (with_entry(-0.5), {}, ["1 fault", "state 1, action 0", "negative"]),
        (with_entry(0.5), {}, ["1 fault", "state 1, action 0 sum to 1.5"]),
        (with_entry(2e-6), {}, ["sum to 1.000002"]),
        (np.eye(2)[:, None] * [[[0], [1]]], {}, ["state 0, action 0 sum to 0", "not available"]),
        (with_entry(0), {"available": [[1, 1], [0, 0]]}, ["states 1 have no available action"]),
        (with_entry(0), {"available": [[1, 1]]}, ["available has shape (1, 2)"]),
        (with_entry(0), {"available": [[1, 1], [0, 2]]}, ["expected True or False"]),
        (with_entry(0), {"coordinates": [[0, 1]]}, ["coordinates has shape (1, 2)", "(2, 2)"]),
        (
            with_entry(0),
            {"state_names": ["a"], "action_names": "xy"},
            ["state_names has 1", "action_names is"],
        ),
    ],
)
def test_bad_transitions_are_named(transitions, options, expected):
    message = message_of(MDP, transitions, **options)
    for text in expected:
        assert text in message


def test_all_faults_come_in_one_error():
    dense = with_entry(np.nan)
    dense[0, 1] = 0.3
    message = message_of(MDP, dense, coordinates=[[0, 1]], state_names=["a"])
    assert "4 faults" in message
    assert all(part in message for part in ["NaN", "sum to 0.6", "coordinates", "state_names"])


@pytest.mark.parametrize(
    ("build", "args", "expected"),
    [
        (MDP.deterministic, ([[0, 2], [1, 1]],), "state 0, action 1 leads to a state that is not 0 to 1"),
        (MDP.deterministic, ([[0, -2], [1, 1]],), "state 0, action 1 leads to"),
        (MDP.deterministic, ([[0, 0.5], [1, 1]],), "next_state is not a whole number at (0, 1)"),
        (MDP.deterministic, ([0, 1],), "next_state has shape (2,)"),
        (MDP.from_successors, ([[0, 1]],), "next has shape (1, 2)"),
        (MDP.from_successors, ([[[0]]], [[[0.5, 0.5]]]), "probability has shape (1, 1, 2)"),
        (MDP.from_successors, ([[[0]]], [[[0.5]]]), "sum to 0.5"),
        (MDP.from_edges, ([(0, 0, 0), (0, 0)],), "edges 1 have other lengths"),
        (MDP.from_edges, ([],), "edges is empty"),
        (MDP.from_edges, ([(0, 0, 0.5)],), "edges hold (0, 0, 0.5)"),
        (MDP.from_edges, ([(0, -1, 0)],), "edges hold (0, -1, 0)"),
        (MDP.from_edges, ([(0, 0, 0), (0, 0, 1), (1, 0, 0)],), "state 0, action 0 leads to 0, 1, without p"),
        (MDP.from_edges, ([(0, 0, 0, 0.5), (0, 0, 1, 0.4), (1, 0, 0)],), "sum to 0.9"),
        (MDP.from_edges, ([(0, 0, 1)],), "states 1 have no available action"),
    ],
)
def test_bad_tables_are_named(build, args, expected):
    assert expected in message_of(build, *args)


def test_edges_must_fit_the_stated_size():
    assert "edges name state 3" in message_of(MDP.from_edges, [(3, 0, 0)], n_states=2)
    assert "edges name action 2" in message_of(MDP.from_edges, [(0, 2, 0)], action_names=["a", "b"])


# estimation


def test_estimate_counts_within_segments_only():
    data = Trajectories(
        [[0, 1, 0, 0, 2], [1, 0, 1]],
        [[0, 1, 0, -1, 1], [1, 0, 0]],
        gaps=[[], [1]],
        n_states=4,
        state_names=list("abcd"),
    )
    env = MDP.estimate(data)
    dense = env.dense()
    # Seen: 0 -0-> 1 twice, 0 -0-> 0, 1 -1-> 0; not 0 -> 2 (missing action), not 1 -> 0 (over the gap).
    np.testing.assert_allclose(dense[0, 0], [1 / 3, 2 / 3, 0, 0])
    np.testing.assert_allclose(dense[1, 1], [1, 0, 0, 0])
    # State 1 chose 0 and state 2 chose 1 at the end of a session: available, and staying; state 3 rests.
    assert env.available.tolist() == [[True, False], [True, True], [False, True], [True, False]]
    assert dense[1, 0, 1] == dense[2, 1, 2] == dense[3, 0, 3] == 1
    assert env.state_names == tuple("abcd")


def test_smoothing_stays_within_the_observed_support():
    data = Trajectories([[0, 1, 0, 0, 0, 0]], [[0] * 5], n_states=3)
    np.testing.assert_allclose(MDP.estimate(data).dense()[0, 0], [3 / 4, 1 / 4, 0])
    np.testing.assert_allclose(MDP.estimate(data, smoothing=2).dense()[0, 0], [5 / 8, 3 / 8, 0])


def test_data_fit_the_environment_estimated_from_them(stochastic):
    env = MDP(stochastic[0], available=stochastic[1])
    data = walk(env, 4, 60)
    forgotten = np.concatenate(data.actions) == -1
    assert forgotten.any()
    known = Trajectories(data.states, [np.maximum(a, 0) for a in data.actions])
    MDP.estimate(known).check(known, impossible="error")
    assert MDP.estimate(known).unseen_steps(known) == 0


@pytest.mark.parametrize("smoothing", [0.0, 0.7])
def test_estimate_equals_the_loop(stochastic, smoothing):
    data = walk(MDP(stochastic[0], available=stochastic[1]), 4, 150)
    count, chosen = np.zeros((6, 3, 6)), np.zeros((6, 3), bool)
    for i in range(len(data)):
        for start, stop in data.segments(i):
            for t in range(start, stop):
                s, a = data.states[i][t], data.actions[i][t]
                if a != -1:
                    chosen[s, a] = True
                    if t + 1 < stop:
                        count[s, a, data.states[i][t + 1]] += 1
    count[count > 0] += smoothing
    seen = count.any(-1)
    estimated = MDP.estimate(data, smoothing)
    assert np.array_equal(estimated.available, chosen)
    np.testing.assert_allclose(
        estimated.dense()[seen], (count / np.maximum(count.sum(-1, keepdims=True), 1))[seen], rtol=1e-13
    )


def test_estimate_needs_transitions_and_sense():
    message = message_of(MDP.estimate, Trajectories([[0, 1]]), smoothing=-1)
    assert "smoothing=-1" in message
    assert "no transition with a known action" in message


def syllables(parts):
    return environment_for(parts, "syllables")


def test_parts_whose_names_differ_make_no_environment():
    named = [
        Trajectories([[0, 1]], [[1, 0]], state_names=list(names), action_names=["x", "y"]) for names in ("ab", "ba")
    ]
    moves = [Trajectories([[0, 1]], state_names=list(names)) for names in ("ab", "ba")]
    with pytest.raises(ValueError, match="state_names differ") as joined:
        Trajectories.concatenate(named)
    for make, parts in ((MDP.estimate, named), (observed_moves, moves), (syllables, moves)):
        assert make([parts[0], parts[0]]).state_names == ("a", "b")
        with pytest.raises(ValueError, match="state_names differ") as found:
            make(parts)
        assert str(found.value) == str(joined.value)
    bare = Trajectories([[0, 1]], [[1, 0]])
    assert MDP.estimate([named[0], bare]).state_names == ("a", "b")  # as `concatenate` has it


SEEN = Trajectories([[0, 1, 0, 2, 1]], [[0, 1, 1, 0]], n_states=4, n_actions=2)
OTHERS = Trajectories([[0, 1, 2, 1, 3, 0, 1]], [[0, 1, 1, 1, 0, 0, 0]], n_states=4, n_actions=2)


def test_what_only_other_sessions_show_is_a_gap_and_counted():
    env = MDP.estimate(SEEN)
    # 0 -0-> 1 was seen; 1 -1-> 2 was not; 2 -1- was not; 1 -1-> 3 was not; of state 3 nothing is known; 0 -0-> 1
    # was; the last 1 -0- was not.
    assert env.unseen_steps(OTHERS) == 5
    assert env.impossible_transitions(OTHERS)[0].tolist() == [1, 2, 3, 4]
    assert np.flatnonzero(env.unseen_actions(OTHERS)).tolist() == [2, 4, 6]  # the last, 1 -0-, too
    histories = Histories.reachable(env.successors, 1)
    read = encode(OTHERS, env, histories)
    assert read.actions.tolist() == [0, 1, -1, 1, -1, 0, -1]
    assert read.chains.tolist() == [0, 2, 3, 4, 5, 7]
    assert read.following.tolist() == [1, -1, -1, -1, -1, 1, -1]
    assert encode(OTHERS, env, histories, impossible="forget").chains.tolist() == [0, 7]
    told = message_of(env.check, OTHERS, impossible="error")
    assert "observed where not available" in told
    assert "impossible transition" in told
    given = MDP(env.dense(), available=env.available)  # the same tables, but given: as ever
    assert given.unseen_steps(OTHERS) == 0
    assert "observed where not available" in message_of(given.check, OTHERS, impossible="gap")
    assert "impossible transition" in message_of(given.check, OTHERS)


def test_moves_of_states_alone_are_an_estimate_too():
    env = observed_moves(SEEN.with_actions([np.full(5, -1)]))
    others = OTHERS.with_actions([np.full(7, -1)])
    # 1→2, 1→3 were not seen, and of state 3 nothing is known.
    assert env.impossible_transitions(others)[0].tolist() == [1, 3, 4]
    assert env.unseen_steps(others) == 3
    env.check(others)
    assert "impossible transition" in message_of(env.check, others, impossible="error")


def test_an_estimate_is_made_again_and_kept_in_a_file():
    env = MDP.estimate(OTHERS, smoothing=0.5, coordinates=np.eye(4)[:, :2], action_names=["x", "y"])
    again = estimated_again(env, SEEN)
    assert np.array_equal(again.dense(), MDP.estimate(SEEN, 0.5).dense())
    assert again.action_names == ("x", "y")
    assert np.array_equal(again.coordinates, env.coordinates)
    stored = MDP.from_arrays(again.to_arrays())
    assert stored.unseen_steps(OTHERS) == again.unseen_steps(OTHERS) == 5
    assert repr(stored) == repr(again)
    assert "estimated from 1 session" in repr(again)
    few = Trajectories([[0, 1]], [[0]])  # that show fewer states
    assert estimated_again(env, few).n_states == estimated_again(observed_moves(SEEN), few).n_states == 4
    given = MDP(env.dense(), available=env.available)
    assert estimated_again(given, SEEN) is given


# data against the environment


def loop_impossible(env, data):
    """Walk through the data step by step."""
    dense, out = env.dense(), []
    for i in range(len(data)):
        steps = []
        for start, stop in data.segments(i):
            for t in range(start, stop - 1):
                s, a, to = data.states[i][t], data.actions[i][t], data.states[i][t + 1]
                taken = np.flatnonzero(env.available[s]) if a == -1 else [a]
                unavailable = a != -1 and not env.available[s, a]
                if not unavailable and not any(dense[s, x, to] > 0 for x in taken):
                    steps.append(t)
        out.append(steps)
    return out


@pytest.mark.parametrize("deterministic", [True, False])
def test_impossible_transitions_equal_the_loop(stochastic, deterministic):
    env = MDP.deterministic(CORRIDOR) if deterministic else MDP(stochastic[0], available=stochastic[1])
    rng = np.random.default_rng(3)
    lengths = [40, 1, 70, 2, 3]
    data = Trajectories(
        [rng.integers(0, env.n_states, n) for n in lengths],
        [rng.integers(-1, env.n_actions, n) for n in lengths],
        gaps=[[3, 20], [], [1], [1], []],
        n_states=env.n_states,
    )
    found = env.impossible_transitions(data)
    expected = loop_impossible(env, data)
    assert sum(map(len, expected)) > 5
    assert [steps.tolist() for steps in found] == expected


def test_own_walks_are_possible(stochastic):
    env = MDP(stochastic[0], available=stochastic[1])
    data = walk(env, 5, 80)
    env.check(data)
    assert [len(steps) for steps in env.impossible_transitions(data)] == [0] * 5


def test_impossible_transitions_can_become_gaps():
    env = MDP.deterministic(CORRIDOR)
    data = Trajectories([[0, 1, 1, 2], [0, 2]], [[1, 1, 1], [-1]])
    found = env.impossible_transitions(data)
    assert [steps.tolist() for steps in found] == [[1], [0]]
    env.check(data.with_gaps([steps + 1 for steps in found]))


def test_check_names_each_impossible_transition_and_the_remedies():
    env = MDP.deterministic(CORRIDOR, state_names=["nest", "hall", "food"], action_names=["left", "right"])
    data = Trajectories([[0, 1], [0, 1, 1, 2], [0, 2]], [[1], [1, 1, 1], [-1]], names=["a", "b", "c"])
    message = message_of(env.check, data)
    assert "2 impossible transitions" in message
    assert "session 1 ('b'), step 1: state 1 (hall), action 1 (right) → state 1 (hall)" in message
    assert "(it leads to 2 (food))" in message
    assert "session 2 ('c'), step 0: state 0 (nest), unknown action → state 2 (food)" in message
    assert 'impossible="gap"' in message
    assert 'impossible="forget"' in message
    env.check(data, impossible="gap")
    env.check(data, impossible="forget")


def test_check_tells_all_faults_at_once():
    env = MDP.deterministic(CORRIDOR)
    data = Trajectories([[0, 1, 0, 0], [5, 1, 2], [1, 0]], [[1, 0, 1], [0, 4], [0, 0]])
    message = message_of(env.check, data)
    assert "4 faults" in message
    assert "states out of range: state 5 at session 1, step 0. The environment has 0 to 2" in message
    assert "actions out of range: action 4 at session 1, step 1" in message
    assert "1 action observed where not available: state 0, action 0 at session 2, step 1" in message
    assert "1 impossible transition: session 0, step 2" in message
    assert "3 faults" in message_of(env.check, data, impossible="gap")
    assert "2 faults" in message_of(env.impossible_transitions, data)


def test_check_counts_a_flood():
    env = MDP.deterministic([[0]])
    env2 = MDP.deterministic([[0], [1]])
    data = Trajectories([[0, 1] * 20], [[0] * 40])
    assert "15 more" in message_of(env.check, data)
    assert "39 impossible transitions" in message_of(env2.check, data)
    assert "34 more" in message_of(env2.check, data)


def test_where_most_impossible_moves_stay_the_remedy_is_to_merge_or_to_stay():
    env = MDP.deterministic(CORRIDOR)
    message = message_of(env.check, Trajectories([[0, 0, 0, 1, 1, 0, 2]]))
    assert "4 impossible transitions: session 0, step 0: state 0, unknown action → state 0 (it leads to 1)" in message
    assert "; and 3 more. In 3 of them the animal stays where it is" in message
    assert "swirl import table … --merge" in message
    assert "swirl env grid … --stay" in message
    assert "stays" not in message_of(env.check, Trajectories([[0, 0, 2, 0]]))


def test_check_refuses_permuted_names_and_other_words():
    env = MDP.deterministic([[1], [0]], state_names=["a", "b"])
    for other in (["b", "a"], ["b"], ["a", "c"], ["a", "b", "c"]):
        message = message_of(env.check, Trajectories([["a"]] if "a" in other else [["b"]], state_names=other))
        assert "state_names differ" in message
        assert "state_names=env.state_names" in message
    env.check(Trajectories([["a"]], state_names=["a"]))  # fewer of them, in the same places
    assert "impossible='drop'" in message_of(env.check, Trajectories([[0]]), impossible="drop")


def test_fewer_labels_than_the_environment_are_fine():
    MDP.deterministic([[1, 0], [0, 1], [2, 2]]).check(Trajectories([[0, 1]], [[0]]))


# actions with the same successors


def test_action_classes_by_hand():
    env = MDP.deterministic([[0, 1, 0, 1], [1, 1, 1, 1], [2, 0, 2, 2]], available=[[1] * 4, [0, 1, 1, 0], [1] * 4])
    assert env.action_classes().tolist() == [[0, 1, 0, 1], [0, 1, 1, 3], [0, 1, 0, 0]]


def test_action_classes_equal_the_loop():
    rng = np.random.default_rng(5)
    kinds = rng.dirichlet(np.ones(4), size=3)
    kinds[2] = [0, 1, 0, 0]
    which = rng.integers(0, 3, (4, 6))
    available = rng.random((4, 6)) < 0.8
    available[:, 2] = True
    env = MDP(kinds[which], available=available)
    expected = [
        [
            next(b for b in range(6) if available[s, b] and which[s, b] == which[s, a]) if available[s, a] else a
            for a in range(6)
        ]
        for s in range(4)
    ]
    assert env.action_classes().tolist() == expected


def test_estimate_wants_trajectories():
    assert "expected swirl.Trajectories" in message_of(MDP.estimate, [[0, 1]])
