"""Rewards as dense tables and as long lists: round trips, the mean over completions, and what is refused."""

import numpy as np
import pytest

from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.rewards import tables as module
from swirl.rewards.tables import from_dense, to_dense

LENGTHS = (1, 2, 3)
N_STATES, N_ACTIONS, N_MODES = 4, 3, 2


def lifted(length, seed=0):
    """Histories of a random stochastic MDP with unavailable actions, in which every state has a predecessor."""
    rng = np.random.default_rng(seed)
    dense = rng.random((N_STATES, N_ACTIONS, N_STATES)) * (rng.random((N_STATES, N_ACTIONS, N_STATES)) < 0.25)
    dense[np.arange(N_STATES), 0, (np.arange(N_STATES) + 1) % N_STATES] += 0.2
    dense[:, 1:, 2] += 0.2
    available = rng.random((N_STATES, N_ACTIONS)) < 0.6
    available[:, 0] = True
    return Histories.reachable(MDP(dense / dense.sum(-1, keepdims=True), available=available).successors, length)


def random_long(histories, per_action, seed=1):
    shape = (N_MODES, histories.n_histories, *([N_ACTIONS] if per_action else []))
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("per_action", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
def test_every_full_length_history_has_its_entry_and_nothing_else_has(length, per_action):
    histories = lifted(length)
    long = random_long(histories, per_action)
    table = to_dense(long, histories)
    assert table.shape == (N_MODES, *[N_STATES] * length, *([N_ACTIONS] if per_action else []))
    rows = {tuple(row): h for h, row in enumerate(histories.table.tolist())}
    for index in np.ndindex(*[N_STATES] * length):
        for z in range(N_MODES):
            if index in rows:
                np.testing.assert_array_equal(table[(z, *index)], long[z, rows[index]])
            else:
                assert np.isnan(table[(z, *index)]).all()
    assert length == 1 or np.isnan(table).any()


@pytest.mark.parametrize("per_action", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
def test_there_and_back(length, per_action):
    histories = lifted(length)
    long = random_long(histories, per_action)
    table = to_dense(long, histories)
    back = from_dense(table, histories, per_action=per_action)
    full = histories.full_length
    np.testing.assert_array_equal(back[:, full], long[:, full])
    np.testing.assert_array_equal(to_dense(back, histories), table)


@pytest.mark.parametrize("per_action", [False, True])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_short_history_takes_the_mean_over_its_completions(length, per_action):
    histories = lifted(length)
    table = to_dense(random_long(histories, per_action), histories)
    back = from_dense(table, histories, per_action=per_action)
    full = [row for row in histories.table.tolist() if -1 not in row]
    for h, row in enumerate(histories.table.tolist()):
        known = [s for s in row if s >= 0]
        completions = [table[(slice(None), *f)] for f in full if f[: len(known)] == known]
        assert completions
        np.testing.assert_allclose(back[:, h], np.mean(completions, axis=0), rtol=1e-13, atol=1e-13)


def test_unreachable_entries_of_the_table_do_not_matter():
    histories = lifted(2)
    table = to_dense(random_long(histories, False), histories)
    filled = np.where(np.isnan(table), 99.0, table)
    np.testing.assert_array_equal(
        from_dense(filled, histories, per_action=False), from_dense(table, histories, per_action=False)
    )


def test_an_action_may_be_nan_where_others_are_not():
    """Unavailable actions have no reward; their NaN stays, and the mean over completions keeps it."""
    histories = lifted(2)
    long = random_long(histories, True)
    available = np.asarray(histories.successors.available)
    long[:, ~available] = np.nan
    back = from_dense(to_dense(long, histories), histories, per_action=True)
    np.testing.assert_array_equal(np.isnan(back), np.broadcast_to(~available, back.shape))


def test_nan_for_an_available_action_is_refused():
    histories = lifted(1)
    table = to_dense(random_long(histories, True), histories)
    state = int(np.flatnonzero(histories.successors.available.sum(axis=1) > 1)[0])
    table[1, state, np.flatnonzero(histories.successors.available[state])[-1]] = np.nan
    with pytest.raises(ValueError, match=r"rewards\[1\]"):
        from_dense(table, histories, per_action=True)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("per_action", [False, True])
def test_nan_at_a_reachable_history_is_refused_by_name(length, per_action):
    histories = lifted(length)
    table = to_dense(random_long(histories, per_action), histories)
    row = histories.table[-1].tolist()
    table[(1, *row)] = np.nan
    with pytest.raises(ValueError) as caught:
        from_dense(table, histories, per_action=per_action)
    action = ", action 0" if per_action else ""
    assert str(caught.value) == (
        f"rewards[1] is nan at the reachable history {row} (newest first){action}: "
        "give every reachable history a finite number"
    )


@pytest.mark.parametrize(
    ("shape", "per_action", "expected"),
    [
        ((2, 4), False, "(n_modes, 4, 4) for history=2"),
        ((2, 4, 5), False, "(n_modes, 4, 4) for history=2"),
        ((2, 4, 4, 3), False, "(n_modes, 4, 4) for history=2"),
        ((2, 4, 4), True, "(n_modes, 4, 4, n_actions) for history=2"),
    ],
)
def test_a_table_of_another_shape_is_refused(shape, per_action, expected):
    with pytest.raises(ValueError) as caught:
        from_dense(np.zeros(shape), lifted(2), per_action=per_action)
    assert str(caught.value) == f"rewards has shape {shape}: expected {expected}"


def test_a_huge_table_is_refused(monkeypatch):
    histories = lifted(3)
    long = random_long(histories, False)
    monkeypatch.setattr(module, "MAX_ENTRIES", 128)
    assert to_dense(long, histories).size == 128
    monkeypatch.setattr(module, "MAX_ENTRIES", 127)
    with pytest.raises(ValueError, match=r"a dense table of shape \(2, 4, 4, 4\) would have 128 entries"):
        to_dense(long, histories)


def test_a_state_that_nothing_leads_to_is_given_a_finite_reward():
    """Its lone history has no completion of full length, so there is nothing to average."""
    source = Histories.reachable(MDP.deterministic([[1], [1]]).successors, 2)
    long = from_dense(np.array([[[np.nan, np.nan], [3.0, 5.0]]]), source, per_action=False)
    assert source.table.tolist() == [[0, -1], [1, -1], [1, 0], [1, 1]]
    assert long[0, 1:].tolist() == [4.0, 3.0, 5.0]
    assert np.isfinite(long[0, 0])
