"""Matching modes: against all permutations, with unequal numbers of modes, and with unlabelled steps."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from swirl.inference import mode_matching


@pytest.mark.parametrize("seed", range(5))
def test_match_is_the_best_of_all_permutations(seed):
    cost = np.random.default_rng(seed).normal(size=(4, 4))
    best = min(permutations(range(4)), key=lambda p: sum(cost[i, p[i]] for i in range(4)))
    np.testing.assert_array_equal(mode_matching.match_modes(cost), best)


@pytest.mark.parametrize(("n_other", "n_reference"), [(5, 3), (3, 5), (2, 2)])
def test_a_match_is_one_to_one_whatever_the_numbers(n_other, n_reference):
    match = mode_matching.match_modes(np.random.default_rng(0).normal(size=(n_other, n_reference)))
    assert len(set(match.tolist())) == n_other
    assert match.min() >= 0
    assert np.sum(match >= n_reference) == max(0, n_other - n_reference)


def test_left_over_modes_get_new_labels_in_their_own_order():
    assert mode_matching.match_modes(np.array([[9.0, 9.0], [0.0, 9.0], [9.0, 9.0], [9.0, 0.0]])).tolist() == [
        2,
        0,
        3,
        1,
    ]


def test_costs_that_cannot_be_compared():
    with pytest.raises(ValueError, match="finite"):
        mode_matching.match_modes(np.array([[np.nan, 1.0], [0.0, 1.0]]))


def test_confusion_equals_the_plain_count():
    rng = np.random.default_rng(1)
    true = [rng.integers(-1, 3, size=n) for n in (20, 1, 7)]
    predicted = [rng.integers(4, size=n) for n in (20, 1, 7)]
    expected = np.zeros((3, 4), dtype=int)
    for a, b in zip(np.concatenate(true), np.concatenate(predicted), strict=True):
        if a >= 0:
            expected[a, b] += 1
    np.testing.assert_array_equal(mode_matching.confusion(true, predicted, 3, 4), expected)


def test_one_match_for_all_sessions_recovers_a_relabelling():
    rng = np.random.default_rng(2)
    true = [rng.integers(3, size=n) for n in (50, 30)]
    renamed = np.array([2, 0, 1])
    predicted = [renamed[path] for path in true]
    predicted[1][:5] = 0  # a few errors
    match = mode_matching.match_by_overlap(true, predicted)
    np.testing.assert_array_equal(match[renamed], [0, 1, 2])


def test_overlap_with_more_and_with_fewer_predicted_modes():
    true = [np.array([0, 0, 0, 1, 1, 1])]
    assert mode_matching.match_by_overlap(true, [np.array([2, 2, 0, 1, 1, 1])]).tolist() == [2, 1, 0]
    assert mode_matching.match_by_overlap(true, [np.array([0, 0, 0, 0, 0, 0])], n_true=3).tolist() == [0]
    assert mode_matching.match_by_overlap(true, [np.array([0, 0, 0, 0, 0, 0])], n_predicted=2).tolist() == [0, 1]


def test_distance_recovers_a_reordering_and_passes_over_nan():
    rng = np.random.default_rng(3)
    reference = rng.normal(size=(4, 6, 5))
    order = np.array([3, 1, 0, 2])
    other = reference[order] + 0.01 * rng.normal(size=(4, 6, 5))
    other[:, 2, 2] = np.nan
    reference[1, 0, 0] = np.inf
    match = mode_matching.match_by_distance(reference, other)
    np.testing.assert_array_equal(match, order)
    np.testing.assert_allclose(other[np.argsort(match)][:, 1], reference[:, 1], atol=0.1)


def test_distance_needs_something_to_compare():
    with pytest.raises(ValueError, match="no entry"):
        mode_matching.match_by_distance(np.full((2, 3), np.nan), np.zeros((2, 3)))


def test_all_faults_of_the_paths_are_named_at_once():
    true, predicted = [np.array([0, 1]), np.array([0, 5])], [np.array([0]), np.array([0, -2])]
    with pytest.raises(
        ValueError, match=r"session 0: true has 2 steps.*true\[1\] is 5 at step 1.*predicted\[1\] is -2"
    ):
        mode_matching.confusion(true, predicted, 2, 2)
    with pytest.raises(ValueError, match="2 sessions, predicted 1"):
        mode_matching.confusion(true, predicted[:1])


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (2, 4), (4, 2), (5, 5), (5, 3), (6, 4), (7, 7)])
def test_the_assignment_is_the_hungarian_one(shape):
    for seed in range(20):
        cost = np.random.default_rng(seed).standard_normal(shape)
        rows, columns = mode_matching.assignment(cost)
        expected = linear_sum_assignment(cost)
        assert (rows.tolist(), columns.tolist()) == (expected[0].tolist(), expected[1].tolist())


def test_an_assignment_of_nothing_and_of_no_numbers():
    assert [part.size for part in mode_matching.assignment(np.zeros((3, 0)))] == [0, 0]
    with pytest.raises(ValueError, match="invalid"):
        mode_matching.assignment(np.full((2, 2), np.nan))
