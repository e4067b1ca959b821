"""Tables by state and by pair of states, against plain loops over histories."""

import numpy as np
import pytest

import small_worlds
from swirl.analysis.state_summaries import by_pair, by_state, most_visited, onward
from swirl.data.histories import Histories


@pytest.fixture(params=["deterministic", "stochastic"])
def world(request):
    env = small_worlds.world(request.param)
    return env, Histories.reachable(env.successors, 2)


def members(histories, groups):
    """The full-length histories of each group, newest state first."""
    for g, state in enumerate(groups.state):
        own = histories.full_length & (histories.states == state)
        if groups.previous is not None:
            own &= histories.table[:, 1] == groups.previous[g]
        yield np.flatnonzero(own)


@pytest.mark.parametrize("group", [by_state, by_pair])
def test_means_are_over_the_histories_of_a_group(world, group):
    _, histories = world
    groups = group(histories)
    table = np.random.default_rng(0).normal(size=(2, histories.n_histories, 3))
    table[0, ::3, 1] = np.nan
    expected = np.full((2, len(groups.state), 3), np.nan)
    for g, own in enumerate(members(histories, groups)):
        for mode, option in np.ndindex(2, 3):
            values = table[mode, own, option]
            if np.isfinite(values).any():
                expected[mode, g, option] = values[np.isfinite(values)].mean()
    np.testing.assert_allclose(groups.mean(table), expected)
    flag = np.arange(histories.n_histories) % 2 == 0
    assert groups.every(flag).tolist() == [bool(flag[own].all()) for own in members(histories, groups)]


@pytest.mark.parametrize("group", [by_state, by_pair])
def test_shares_are_sums_over_options_and_branches(world, group):
    env, histories = world
    groups, ways = group(histories), onward(histories, "action")
    chosen = np.random.default_rng(1).dirichlet(np.ones(env.n_actions), size=(2, len(groups.state)))
    shares = ways.shares(groups, chosen)
    dense = env.dense()
    for g, state in enumerate(groups.state):
        following = ways.following[state][ways.following[state] >= 0]
        assert following.tolist() == np.flatnonzero(dense[state][env.available[state]].sum(axis=0)).tolist()
        for mode in range(2):
            expected = sum(chosen[mode, g, a] * dense[state, a] for a in np.flatnonzero(env.available[state]))
            np.testing.assert_allclose(shares[mode, g, : len(following)], expected[following])
            assert not shares[mode, g, len(following) :].any()


def test_all_states_are_shown_where_there_is_room():
    states = [np.array([4, 4, 1]), np.array([1, 4, 2])]
    assert most_visited(states, 6, 6) == [0, 1, 2, 3, 4, 5]
    assert most_visited(states, 6, 2) == [1, 4]
