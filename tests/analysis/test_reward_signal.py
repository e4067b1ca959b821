"""A signal beside the reward: means and correlations by hand and by scipy, and a null that holds its level."""

import numpy as np
import pytest
from scipy.stats import zscore

from swirl.analysis.reward_signal import signal_correlation, signal_map, signal_test

NAN = np.nan


def session(seed, n_sessions=6, n_steps=150, n_labels=5):
    """States, actions and modes at random; a smooth signal that knows nothing of them."""
    rng = np.random.default_rng(seed)
    states, actions = rng.integers(0, n_labels, (2, n_sessions, n_steps))
    modes = np.repeat(rng.integers(0, 2, (n_sessions, n_steps // 10)), 10, axis=1)
    noise = rng.normal(size=(n_sessions, n_steps + 4))
    smooth = sum(noise[:, i : n_steps + i] for i in range(5))
    return list(modes), list(states), list(actions), list(smooth), rng.normal(size=(2, n_labels, n_labels))


def test_the_map_by_hand():
    modes = [[0, 0, 1, 0], [1, -1, 1]]
    states = [[0, 0, 0, 1], [0, 0, 1]]
    actions = [[1, 1, 1, 0], [1, 1, -1]]
    signal = [[1.0, 2.0, 5.0, NAN], [7.0, 100.0, 100.0]]
    expected = [[[NAN, 1.5], [NAN, NAN]], [[NAN, 6.0], [NAN, NAN]]]
    np.testing.assert_allclose(signal_map(modes, states, actions, signal, 2, 2, 2), expected)


def test_the_map_is_the_plain_loop():
    modes, states, actions, signal, _ = session(0)
    cells = {}
    for z, s, a, x in zip(*map(np.concatenate, (modes, states, actions, signal)), strict=True):
        cells.setdefault((z, s, a), []).append(x)
    found = signal_map(modes, states, actions, signal, 3, 5, 5)
    for cell, values in cells.items():
        assert found[cell] == pytest.approx(np.mean(values))
    assert np.isfinite(found).sum() == len(cells)


def test_the_correlation_is_scipys_z_score_and_pearson_without_the_diagonal():
    rng = np.random.default_rng(1)
    rewards, means = rng.normal(size=(2, 3, 4, 5))
    off = ~np.eye(4, 5, dtype=bool)
    for mode, found in enumerate(signal_correlation(rewards, means)):
        expected = np.corrcoef(rewards[mode][off], zscore(means[mode], axis=1)[off])[0, 1]
        assert found == pytest.approx(expected)
    for mode, found in enumerate(signal_correlation(rewards, means, within_state=True, drop_diagonal=False)):
        expected = np.corrcoef(zscore(rewards[mode], axis=1).ravel(), zscore(means[mode], axis=1).ravel())[0, 1]
        assert found == pytest.approx(expected)


def test_unknown_cells_drop_out():
    rng = np.random.default_rng(2)
    rewards, means = rng.normal(size=(2, 1, 4, 4))
    means[0, 1, 2] = means[0, 3] = NAN
    means[0, 2] = [0.1, 0.1, 0.1, NAN]  # the same at all actions, but for rounding: nothing to say
    z = zscore(means[0, :2], axis=1, nan_policy="omit")
    kept = np.isfinite(z) & ~np.eye(2, 4, dtype=bool)
    expected = np.corrcoef(rewards[0, :2][kept], z[kept])[0, 1]
    assert signal_correlation(rewards, means)[0] == pytest.approx(expected)
    assert np.isnan(signal_correlation(rewards, np.full_like(means, NAN)))
    assert np.isnan(signal_correlation(np.zeros_like(rewards), means))


def test_the_level_of_a_state_does_not_count_in_the_signal_and_in_the_reward_only_when_raw():
    rng = np.random.default_rng(3)
    rewards, means = rng.normal(size=(2, 2, 4, 4))
    level = 5 * rng.normal(size=(2, 4, 1))
    plain, z = signal_correlation(rewards, means), signal_correlation(rewards, means, within_state=True)
    np.testing.assert_allclose(signal_correlation(rewards, 3 * means + level), plain)
    np.testing.assert_allclose(signal_correlation(rewards + level, means, within_state=True), z)
    assert np.abs(signal_correlation(rewards + level, means) - plain).max() > 0.05


def test_a_true_signal_is_found_and_the_shift_destroys_it():
    modes, states, actions, signal, rewards = session(4)
    told = [rewards[z, s, a] + 0.3 * x for z, s, a, x in zip(modes, states, actions, signal, strict=True)]
    test = signal_test(rewards, modes, states, actions, told, n_shifts=99)
    assert test.p_value.tolist() == [0.01, 0.01]
    means = signal_map(modes, states, actions, told, 2, 5, 5)
    np.testing.assert_allclose(test.correlation, signal_correlation(rewards, means))
    assert np.abs(test.null.mean(axis=0)).max() < 0.1
    negative = signal_test(-rewards, modes, states, actions, told, n_shifts=99)
    assert negative.p_value.tolist() == [0.01, 0.01]
    greater = signal_test(-rewards, modes, states, actions, told, n_shifts=99, alternative="greater")
    assert greater.p_value.tolist() == [1.0, 1.0]
    assert test.table().loc[0, "p_value"] == 0.01
    assert test.table()["corrected_p_value"].tolist() == [0.02, 0.02]  # two modes
    assert test.table()["tests"].tolist() == [2, 2]
    assert (test.table()["null_low"] < test.table()["null_high"]).all()


def test_p_values_of_an_unrelated_signal_are_spread_evenly():
    p = []
    for seed in range(60):
        modes, states, actions, signal, rewards = session(100 + seed, n_sessions=2, n_steps=100)
        p.extend(signal_test(rewards, modes, states, actions, signal, n_shifts=19, random_state=seed).p_value)
    p = np.array(p)
    assert abs(p.mean() - 0.525) < 0.08  # uniform on 0.05, 0.10, …, 1
    assert (p <= 0.1).mean() < 0.2


def test_a_shift_stays_in_its_session():
    # Each session has its own level: shifts change nothing, so every shift is as extreme as the data.
    modes, states, actions, _, rewards = session(5)
    levels = [np.full(150, float(i)) for i in range(6)]
    test = signal_test(rewards, modes, states, actions, levels, n_shifts=9)
    np.testing.assert_allclose(test.null, np.broadcast_to(test.correlation, (9, 2)))
    assert test.p_value.tolist() == [1.0, 1.0]


def test_a_mode_that_is_never_used_has_no_correlation():
    modes, states, actions, signal, rewards = session(6)
    test = signal_test(np.concatenate([rewards, rewards[:1]]), modes, states, actions, signal, n_shifts=9)
    assert np.isnan(test.correlation).tolist() == [False, False, True]
    assert np.isnan(test.p_value).tolist() == [False, False, True]
    assert np.isnan(test.corrected_p_value).tolist() == [False, False, True]
    assert test.n_tests == 2  # a mode without a correlation is no test
    assert np.isnan(test.table()["null_mean"]).tolist() == [False, False, True]


def test_wrong_arguments_are_refused():
    modes, states, actions, signal, rewards = session(7)
    with pytest.raises(ValueError, match="signal has 149 steps in session 2, states 150"):
        signal_map(modes, states, actions, [*signal[:2], signal[2][:-1], *signal[3:]], 2, 5, 5)
    with pytest.raises(ValueError, match=r"(?s)states go up to 4: expected less than 4.*actions go up to 4"):
        signal_map(modes, states, actions, signal, 2, 4, 4)
    with pytest.raises(ValueError, match="actions has 5 sessions, states 6"):
        signal_map(modes, states, actions[:5], signal, 2, 5, 5)
    with pytest.raises(ValueError, match="n_shifts=0"):
        signal_test(rewards, modes, states, actions, signal, n_shifts=0)
    with pytest.raises(ValueError, match="expected the same"):
        signal_correlation(rewards, rewards[:, :4])
