"""Reachable histories against an enumeration of paths; the maze's measured counts (design.md#reachable-histories)."""

import os
from pathlib import Path

import numpy as np
import pytest

from swirl.data import histories as history
from swirl.data.histories import Histories
from swirl.data.mdp import MDP

LENGTHS = (1, 2, 3, 4)
KINDS = ("deterministic", "stochastic")


def random_mdp(kind, seed=0, n_states=5, n_actions=3):
    """Some actions are not available, some states have one successor, and state 0 has no predecessor."""
    rng = np.random.default_rng(seed)
    available = rng.random((n_states, n_actions)) < 0.7
    available[:, 0] = True
    if kind == "deterministic":
        next_state = rng.integers(1, n_states, size=(n_states, n_actions))
        return MDP.deterministic(np.where(available, next_state, -1))
    dense = rng.random((n_states, n_actions, n_states)) * (rng.random((n_states, n_actions, n_states)) < 0.4)
    dense[..., 1 + seed % (n_states - 1)] += 0.1
    dense[..., 0] = 0
    return MDP(dense / dense.sum(-1, keepdims=True), available=available)


def by_paths(env, length):
    """Every history of up to `length` states as a tuple → its successors {action: {history: probability}}."""
    dense, available = env.dense(), env.available
    found = {(s,): {} for s in range(env.n_states)}
    queue = list(found)
    while queue:
        path = queue.pop()
        for a in np.flatnonzero(available[path[0]]):
            found[path][int(a)] = {}
            for s in np.flatnonzero(dense[path[0], a]):
                longer = (int(s), *path)[:length]
                found[path][int(a)][longer] = float(dense[path[0], a, s])
                if longer not in found:
                    found[longer] = {}
                    queue.append(longer)
    return found


def tuples(histories):
    """The rows of the table without the −1 that stand for "before the start"."""
    return [tuple(s for s in row if s >= 0) for row in histories.table.tolist()]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_same_histories_and_successors_as_the_enumeration_of_paths(kind, length, seed):
    env = random_mdp(kind, seed)
    histories = Histories.reachable(env.successors, length)
    expected = by_paths(env, length)
    rows = tuples(histories)
    assert len(rows) == len(set(rows)) == histories.n_histories
    assert set(rows) == set(expected)
    tables = histories.successors
    for h, row in enumerate(rows):
        assert tables.available[h].tolist() == env.available[row[0]].tolist()
        for a, leads in expected[row].items():
            got = {}
            for to, p in zip(tables.next[h, a].tolist(), tables.probability[h, a].tolist(), strict=True):
                if p > 0:
                    got[rows[to]] = got.get(rows[to], 0.0) + p
            assert got == leads


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", LENGTHS)
def test_layout_of_the_table(kind, length):
    env = random_mdp(kind)
    histories = Histories.reachable(env.successors, length)
    sizes = [len(row) for row in tuples(histories)]
    assert sizes == sorted(sizes), "shorter histories come first"
    assert histories.table[: env.n_states, 0].tolist() == list(range(env.n_states)), "a lone state is its own number"
    assert histories.length == length
    assert histories.states.tolist() == [row[0] for row in tuples(histories)]
    assert histories.full_length.tolist() == [size == length for size in sizes]
    missing = histories.table < 0
    assert (missing[:, 1:] >= missing[:, :-1]).all(), "once before the start, always before the start"
    # Where nothing leads, the tables still point to a valid history.
    assert (histories.successors.next >= 0).all()
    assert (histories.successors.next < histories.n_histories).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", LENGTHS)
def test_shorter_drops_the_oldest_state_of_a_full_history(kind, length):
    histories = Histories.reachable(random_mdp(kind).successors, length)
    rows = tuples(histories)
    for row, shorter in zip(rows, histories.shorter.tolist(), strict=True):
        assert rows[shorter] == (row[:-1] if len(row) == length > 1 else row)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", LENGTHS)
def test_contexts_are_the_first_histories_and_lead_where_their_histories_lead(kind, length):
    histories = Histories.reachable(random_mdp(kind).successors, length)
    contexts, tables = histories.contexts, histories.successors
    assert set(contexts.tolist()) == set(range(histories.n_contexts))
    for table in (tables.next, tables.probability, tables.available):
        np.testing.assert_array_equal(table, table[contexts])
    rows = tuples(histories)
    for row, context in zip(rows, contexts.tolist(), strict=True):
        assert rows[context] == row[: max(1, length - 1)]


@pytest.mark.parametrize("length", LENGTHS)
def test_suffixes_group_by_the_newest_states(length):
    histories = Histories.reachable(random_mdp("stochastic").successors, length)
    for order in range(1, length + 2):
        groups = histories.suffixes(order)
        keys = [tuple(row[:order]) for row in histories.table.tolist()]
        assert set(groups.tolist()) == set(range(len(set(keys)))), "numbers 0, 1, … without holes"
        assert len(set(zip(groups.tolist(), keys, strict=True))) == len(set(keys)), "one group per key"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("seed", [0, 1])
def test_suffixes_of_a_history_are_histories_themselves(kind, length, seed):
    histories = Histories.reachable(random_mdp(kind, seed).successors, length)
    rows, none = tuples(histories), histories.n_histories
    number = {row: h for h, row in enumerate(rows)}
    assert histories.sizes.tolist() == [len(row) for row in rows]
    assert histories.dropped.tolist() == [number[row[:-1] or row] for row in rows]
    assert histories.suffix_chains.shape == (none, length)
    for row, chain in zip(rows, histories.suffix_chains.tolist(), strict=True):
        shorter_and_shorter = [number[row[:size]] for size in range(len(row), 0, -1)]
        assert chain == shorter_and_shorter + [none] * (length - len(row))


def walk(env, n_steps, rng):
    """Walk by possible moves; where a new start is drawn, jump anywhere."""
    states, starts = np.zeros(n_steps, np.int64), rng.random(n_steps) < 0.15
    starts[0] = True
    for t in range(n_steps):
        if starts[t]:
            states[t] = rng.integers(env.n_states)
        else:
            a = rng.choice(np.flatnonzero(env.available[states[t - 1]]))
            states[t] = rng.choice(env.n_states, p=env.dense()[states[t - 1], a])
    return states, starts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", LENGTHS)
def test_follow_numbers_what_was_seen_since_the_start(kind, length):
    env = random_mdp(kind, seed=3)
    histories = Histories.reachable(env.successors, length)
    states, starts = walk(env, 300, np.random.default_rng(0))
    followed = histories.follow(states, starts)
    rows, path = tuples(histories), ()
    for t in range(len(states)):
        path = (int(states[t]), *(() if starts[t] else path))[:length]
        assert rows[followed[t]] == path


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [2, 3, 4])
def test_follow_equals_the_loop_in_its_docstring(kind, length):
    env = random_mdp(kind, seed=4)
    histories = Histories.reachable(env.successors, length)
    states, starts = walk(env, 300, np.random.default_rng(1))
    rank = histories.ranks(states[:-1], states[1:])
    expected = np.zeros(len(states), np.int64)
    for t in range(len(states)):
        if starts[t]:
            expected[t] = states[t]
        else:
            expected[t] = histories.first_child[expected[t - 1]] + rank[t - 1]
    np.testing.assert_array_equal(histories.follow(states, starts), expected)


def test_following_the_lifted_environment_is_following_the_recording():
    env = random_mdp("stochastic", seed=5)
    histories = Histories.reachable(env.successors, 3)
    states, starts = walk(env, 200, np.random.default_rng(2))
    followed, tables = histories.follow(states, starts), histories.successors
    for t in np.flatnonzero(~starts):
        here = followed[t - 1]
        possible = (tables.probability[here] > 0) & tables.available[here][:, None]
        assert followed[t] in tables.next[here][possible]


def test_ranks_are_minus_one_exactly_where_no_available_action_leads():
    env = random_mdp("stochastic", seed=6)
    histories = Histories.reachable(env.successors, 2)
    state, next_state = (grid.ravel() for grid in np.indices((env.n_states, env.n_states)))
    ranks = histories.ranks(state, next_state).reshape(env.n_states, env.n_states)
    possible = ((env.dense() > 0) & env.available[:, :, None]).any(axis=1)
    for s in range(env.n_states):
        assert ranks[s, possible[s]].tolist() == list(range(possible[s].sum()))
    assert (ranks[~possible] == -1).all()


def test_an_impossible_move_is_refused_unless_it_is_a_start():
    ring = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
    histories = Histories.reachable(ring.successors, 2)
    states = np.array([0, 1, 0])
    with pytest.raises(ValueError, match="step 2: no action leads from state 1 to 0"):
        histories.follow(states, np.array([True, False, False]))
    assert histories.table[histories.follow(states, np.array([True, False, True]))[2]].tolist() == [0, -1]


def test_a_history_needs_at_least_one_state():
    with pytest.raises(ValueError, match="history=0: expected a whole number of states, at least 1"):
        Histories.reachable(MDP.deterministic([[0]]).successors, 0)


def test_too_many_histories_are_refused_before_they_are_made(monkeypatch):
    everywhere = MDP.deterministic(np.tile(np.arange(10), (10, 1)))
    monkeypatch.setattr(history, "MAX_HISTORIES", 1_110)
    assert Histories.reachable(everywhere.successors, 3).n_histories == 1_110
    with pytest.raises(ValueError, match="history=4: more than 1,110 reachable histories already at 4 states"):
        Histories.reachable(everywhere.successors, 4)


@pytest.fixture(scope="module")
def labyrinth():
    root = Path(os.environ.get("SWIRL_DATA_DIR") or Path(__file__).parents[3] / "shared" / "data")
    path = root / "labyrinth" / "trans_probs.npy"
    if not path.exists():
        pytest.skip(f"the labyrinth's environment is not at {path}: set SWIRL_DATA_DIR to the folder that holds it")
    return MDP(np.load(path))


def test_reachable_histories_of_the_labyrinth(labyrinth):
    counts = [127, 379, 1_257, 4_249, 14_651, 51_023]
    for length, count in enumerate(counts, start=1):
        histories = Histories.reachable(labyrinth.successors, length)
        assert histories.full_length.sum() == count
        assert histories.n_histories == sum(counts[:length]), "each shorter length is there once, for the starts"
