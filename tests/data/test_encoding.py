"""What the inference reads: chains, sessions and histories at gaps, impossible moves and missing actions."""

import inspect

import numpy as np
import pytest

from swirl.data.encoding import encode
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories

RING = MDP.deterministic([[0, 1], [1, 2], [2, 0]])  # stay, or step clockwise


def encoded_with_rows(data, env=RING, length=3, **options):
    """The encoding, and the history at each step without "before the start"."""
    histories = Histories.reachable(env.successors, length)
    encoded = encode(data, env, histories, **options)
    rows = [tuple(s for s in histories.table[h].tolist() if s >= 0) for h in encoded.histories]
    return encoded, rows


def by_loop(data, chain_starts, forgets, length):
    """Histories by a plain loop; `chain_starts` and `forgets` hold (session, step)."""
    rows = []
    for i, states in enumerate(data.states):
        path = ()
        for t, s in enumerate(states.tolist()):
            fresh = (i, t) in chain_starts or (i, t) in forgets
            path = (s, *(() if fresh else path))[:length]
            rows.append(path)
    return rows


def test_histories_and_chains_restart_at_sessions_and_gaps():
    # The second session could go on from the first, and the gap of the first lies on a possible move.
    data = Trajectories([[0, 0, 1, 2, 0], [1], [2, 2]], [[0, 1, 1, 1], [0], [0]], gaps=[[2, 3], [], [1]])
    encoded, rows = encoded_with_rows(data)
    assert encoded.chains.tolist() == [0, 2, 3, 5, 6, 7, 8]
    assert encoded.sessions.tolist() == [0, 5, 6, 8]
    assert rows == [(0,), (0, 0), (1,), (2,), (0, 2), (1,), (2,), (2,)]
    assert encoded.states.tolist() == [0, 0, 1, 2, 0, 1, 2, 2]
    assert encoded.actions.tolist() == [0, 1, 1, 1, -1, 0, 0, -1]
    assert encoded.following.tolist() == [0, -1, -1, 0, -1, -1, -1, -1], "across a gap nothing follows"
    assert (encoded.n_steps, encoded.n_observed) == (8, 6)
    assert not encoded.latent.any(), "only last steps lack an action"
    assert encoded.telling.tolist() == (encoded.actions >= 0).tolist()


def test_missing_actions_do_not_break_the_history():
    data = Trajectories([[0, 1, 1, 2]], [[-1, 0, -1, -1]])
    encoded, rows = encoded_with_rows(data)
    assert rows == [(0,), (1, 0), (1, 1, 0), (2, 1, 1)]
    assert encoded.chains.tolist() == [0, 4]
    assert encoded.n_observed == 1
    assert encoded.following.tolist() == [1, 1, 2, -1]
    assert encoded.latent.tolist() == [True, False, True, False]
    assert encoded.telling.tolist() == [True, True, True, False]


def test_no_actions_at_all_are_encoded_too():
    encoded, rows = encoded_with_rows(Trajectories([[0, 1, 2]]))
    assert rows == [(0,), (1, 0), (2, 1, 0)]
    assert (encoded.actions == -1).all()
    assert encoded.n_observed == 0
    assert encoded.latent.tolist() == encoded.telling.tolist() == [True, True, False]


BROKEN = Trajectories(
    [[0, 1, 2], [0, 1, 0, 0, 1, 2]],
    [[1, 1], [1, 1, 0, 0, 1]],  # session 1: 1 → 0 is possible by no action, 0 → 1 not by the action seen
    gaps=[[], [3]],
)


def test_an_impossible_move_is_a_fault_by_default():
    with pytest.raises(ValueError, match="2 impossible transitions: session 1, step 1: state 1, action 1 → state 0"):
        encoded_with_rows(BROKEN)


def test_gap_restarts_history_and_mode_chain():
    encoded, rows = encoded_with_rows(BROKEN, impossible="gap")
    assert encoded.chains.tolist() == [0, 3, 5, 6, 7, 9]
    assert encoded.sessions.tolist() == [0, 3, 9]
    assert rows == [(0,), (1, 0), (2, 1, 0), (0,), (1, 0), (0,), (0,), (1,), (2, 1)]
    assert encoded.following.tolist() == [1, 2, -1, 1, -1, -1, -1, 2, -1]


def test_forget_restarts_the_history_and_keeps_the_mode_chain():
    encoded, rows = encoded_with_rows(BROKEN, impossible="forget")
    assert encoded.chains.tolist() == [0, 3, 6, 9], "only sessions and the gap that was given"
    gap, gap_rows = encoded_with_rows(BROKEN, impossible="gap")
    assert rows == gap_rows
    assert encoded.following.tolist() == gap.following.tolist(), "what cannot be is not where an action led"


def test_a_missing_action_may_be_any_available_one():
    data = Trajectories([[0, 1, 0, 0]], [[-1, -1, 0]])  # 0 → 1 is possible, 1 → 0 is not
    encoded, rows = encoded_with_rows(data, impossible="gap")
    assert encoded.chains.tolist() == [0, 2, 4]
    assert rows == [(0,), (1, 0), (0,), (0, 0)]
    assert encoded.latent.tolist() == [True, False, False, False], "of the impossible move nothing is known"


@pytest.mark.parametrize("impossible", ["gap", "forget"])
@pytest.mark.parametrize("length", [1, 2, 4])
def test_random_recordings_against_a_plain_loop(impossible, length):
    rng = np.random.default_rng(length)
    env = MDP.deterministic(rng.integers(4, size=(4, 2)))
    states = [rng.integers(4, size=n) for n in (30, 1, 17, 2)]
    actions = [rng.integers(-1, 2, size=len(s)) for s in states]
    data = Trajectories(states, actions, gaps=[[7, 8], [], [16], [1]], n_states=4, n_actions=2)
    gaps = {(i, 0) for i in range(4)} | {(0, 7), (0, 8), (2, 16), (3, 1)}
    broken = set()
    dense = env.dense()
    for i, (s, a) in enumerate(zip(data.states, data.actions, strict=True)):
        for t in range(len(s) - 1):
            reach = dense[s[t], a[t]] if a[t] >= 0 else dense[s[t]].sum(axis=0)
            if reach[s[t + 1]] == 0 and (i, t + 1) not in gaps:
                broken.add((i, t + 1))
    assert len(broken) > 10, "the test has something to test"
    encoded, rows = encoded_with_rows(data, env, length, impossible=impossible)
    assert rows == by_loop(data, gaps, broken, length)
    first = np.concatenate([[0], np.cumsum(data.lengths)])
    chains = gaps | broken if impossible == "gap" else gaps
    assert encoded.chains.tolist() == [*sorted(first[i] + t for i, t in chains), data.n_steps]
    following = [
        s[t + 1] if t + 1 < len(s) and (i, t + 1) not in gaps | broken else -1
        for i, s in enumerate(data.states)
        for t in range(len(s))
    ]
    assert encoded.following.tolist() == following
    unseen = np.concatenate(data.actions) < 0
    assert encoded.latent.tolist() == [bool(u) and n >= 0 for u, n in zip(unseen, following, strict=True)]
    assert encoded.telling.tolist() == [not u or n >= 0 for u, n in zip(unseen, following, strict=True)]
    assert encoded.latent.any()
    assert not encoded.telling.all()


@pytest.mark.parametrize("impossible", ["error", "gap", "forget"])
def test_an_unavailable_action_is_a_fault_whatever_impossible_says(impossible):
    corridor = MDP.deterministic([[-1, 1], [0, -1]])
    data = Trajectories([[0, 1, 0]], [[1, 1]])
    with pytest.raises(ValueError, match="observed where not available: state 1, action 1 at session 0, step 1"):
        encoded_with_rows(data, corridor, impossible=impossible)


def test_labels_that_the_environment_lacks_are_named():
    with pytest.raises(ValueError, match="states out of range: state 3 at session 0, step 1"):
        encoded_with_rows(Trajectories([[0, 3]]))


def test_impossible_has_three_readings():
    unchecked = inspect.unwrap(encode)  # users run without the type checks of the tests
    with pytest.raises(ValueError, match='impossible=\'skip\': expected "error", "gap" or "forget"'):
        unchecked(BROKEN, RING, Histories.reachable(RING.successors, 1), impossible="skip")


def test_steps_are_cut_into_chains_and_sessions():
    data = Trajectories([[0, 0, 1], [2, 2]], gaps=[[1], []])
    encoded, _ = encoded_with_rows(data)
    values = np.arange(10).reshape(5, 2)
    assert [part.tolist() for part in encoded.split_chains(values)] == [[[0, 1]], [[2, 3], [4, 5]], [[6, 7], [8, 9]]]
    assert [len(part) for part in encoded.split_sessions(values)] == [3, 2]
    np.testing.assert_array_equal(np.concatenate(encoded.split_sessions(encoded.states)), [0, 0, 1, 2, 2])
