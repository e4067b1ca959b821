"""Measures of recovery: hand-made cases, and blindness to what the data cannot tell."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from small_worlds import N_STATES, truth, world
from swirl.analysis.metrics import adjusted_rand_index, reward_correlation, segmentation_accuracy
from swirl.data.histories import Histories
from swirl.rewards.gauge import random_gauge
from swirl.rewards.tables import to_dense

TRUE = [np.array([0, 0, 1, 1, 1]), np.array([2, 2, 0])]


def test_accuracy_is_one_under_any_renaming():
    for names in ([0, 1, 2], [1, 2, 0], [2, 1, 0]):
        assert segmentation_accuracy(TRUE, [np.array(names)[path] for path in TRUE]) == 1.0


def test_one_renaming_serves_all_sessions():
    assert segmentation_accuracy([[0, 0, 0], [1, 1, 1]], [[0, 0, 0], [0, 0, 0]]) == 0.5
    assert segmentation_accuracy([[0, 0], [0, 0, 0]], [[1, 1], [0, 0, 0]]) == pytest.approx(3 / 5)


def test_accuracy_is_a_share_of_steps_not_of_sessions():
    assert segmentation_accuracy([[0] * 9, [1]], [[0] * 9, [0]]) == pytest.approx(0.9)


def test_more_and_fewer_predicted_modes():
    assert segmentation_accuracy([[0, 0, 1, 1]], [[0, 1, 2, 2]]) == 0.75
    assert segmentation_accuracy([[0, 1, 2, 2]], [[0, 0, 1, 1]]) == 0.75


def test_accuracy_refuses_paths_that_do_not_match():
    with pytest.raises(ValueError, match="same number of sessions"):
        segmentation_accuracy([[0, 1]], [[0, 1], [0]])
    with pytest.raises(ValueError, match="each of the same length"):
        segmentation_accuracy([[0, 1]], [[0]])


@pytest.mark.parametrize("kind", ["deterministic", "stochastic"])
def test_the_canonical_measure_is_blind_to_gauge_scale_and_names(kind):
    env, model = world(kind), truth(kind, 2)
    histories = Histories.reachable(env.successors, 2)
    move, _ = random_gauge(histories.successors, np.random.default_rng(0), discount=0.95, n_modes=2)
    table = model.reward_table()
    moved = to_dense(3.0 * model.rewards_ + 2 * move, histories)[::-1]
    assert reward_correlation(table, moved, env=env) == pytest.approx(1, abs=1e-8)
    assert reward_correlation(table, moved, measure="paper", env=env) < 0.99
    each = reward_correlation(table, moved, env=env, per_mode=True)
    np.testing.assert_allclose(each, 1, atol=1e-8)


def test_the_paper_measure_is_one_pearson_after_a_shift_of_each_mode():
    env, rng = world(), np.random.default_rng(1)
    table = truth(history=2).reward_table()
    fitted = table + rng.normal(size=table.shape) + np.array([5.0, -7.0])[:, None, None]
    known = np.isfinite(table[0])
    a, b = table[:, known], fitted[:, known]
    b = b - b.mean(axis=1, keepdims=True) + a.mean(axis=1, keepdims=True)
    expected = np.corrcoef(a.ravel(), b.ravel())[0, 1]
    assert reward_correlation(table, fitted, measure="paper", env=env) == pytest.approx(expected, rel=1e-12)
    swapped = fitted[::-1]
    assert reward_correlation(table, swapped, measure="paper", env=env) == pytest.approx(expected, rel=1e-12)


def test_a_shorter_history_is_repeated_over_earlier_states():
    env, rewards = world(), truth(history=1).rewards_
    repeated = np.broadcast_to(rewards[:, :, None], (2, N_STATES, N_STATES))
    for measure in ("canonical", "paper"):
        assert reward_correlation(rewards, repeated, measure=measure, env=env) == pytest.approx(1, abs=1e-8)
        assert reward_correlation(repeated, rewards, measure=measure, env=env) == pytest.approx(1, abs=1e-8)


def test_an_unrelated_reward_does_not_correlate():
    env = world()
    noise = np.where(np.isfinite(truth(history=2).reward_table()), 0.0, np.nan)
    flat = reward_correlation(truth(history=2).reward_table(), noise, env=env)
    assert flat == 0.0


def test_fewer_fitted_modes_are_shared():
    table = truth(history=2).reward_table()
    each = reward_correlation(table, table[:1], env=world(), per_mode=True)
    assert each[0] == pytest.approx(1)
    assert len(each) == 2


def test_wrong_measures_and_tables_are_refused():
    table = truth(history=2).reward_table()
    with pytest.raises(ValueError, match='per_mode=True: the "paper" measure is one number'):
        reward_correlation(table, table, measure="paper", env=world(), per_mode=True)
    with pytest.raises(ValueError, match=r"expected .*5 states"):
        reward_correlation(table[:, :4], table[:, :4], env=world())


def test_steps_of_unknown_mode_do_not_count():
    assert segmentation_accuracy([[0, -1, 1, -1]], [[0, 1, 0, 0]]) == 0.5
    with pytest.raises(ValueError, match="no step has a known mode"):
        segmentation_accuracy([[-1, -1]], [[0, 1]])


def test_the_adjusted_rand_index_is_scikit_learns():
    rng = np.random.default_rng(2)
    for n_a, n_b in ((3, 3), (2, 5), (1, 3), (4, 1), (1, 1)):
        a = [rng.integers(0, n_a, n) for n in (7, 1, 30)]
        b = [rng.integers(0, n_b, n) for n in (7, 1, 30)]
        b[2][:20] = np.minimum(a[2][:20], n_b - 1)
        expected = adjusted_rand_score(np.concatenate(a), np.concatenate(b))
        assert adjusted_rand_index(a, b) == pytest.approx(expected, abs=1e-12)


def test_the_adjusted_rand_index_by_hand_and_its_invariances():
    # 6 pairs; together in a: 2, in b: 1, in both: 1; by chance 2·1/6, at most 1.5
    assert adjusted_rand_index([[0, 0], [1, 1]], [[0, 0], [1, 2]]) == pytest.approx((1 - 1 / 3) / (1.5 - 1 / 3))
    other = [np.array([0, 1, 1, 1, 0]), np.array([0, 2, 2])]
    value = adjusted_rand_index(TRUE, other)
    assert adjusted_rand_index([np.array([2, 0, 1])[path] for path in TRUE], other) == pytest.approx(value)
    assert adjusted_rand_index(other, TRUE) == pytest.approx(value)
    assert adjusted_rand_index([np.concatenate(TRUE)], [np.concatenate(other)]) == pytest.approx(value)


def test_the_adjusted_rand_index_leaves_out_what_is_not_labelled():
    a, b = [[0, 0, 1, 1, -1, 1]], [[0, 0, 1, 2, 0, -1]]
    assert adjusted_rand_index(a, b) == adjusted_rand_index([[0, 0, 1, 1]], [[0, 0, 1, 2]])
    assert adjusted_rand_index([[0]], [[3]]) == 1.0
    with pytest.raises(ValueError, match="no step is labelled in both"):
        adjusted_rand_index([[0, -1]], [[-1, 0]])
    with pytest.raises(ValueError, match="each of the same length"):
        adjusted_rand_index([[0, 1]], [[0], [1]])
