"""Groups of animals: the test is a count over all ways to divide them, and it raises no false alarms."""

from itertools import permutations

import numpy as np
import pytest

from swirl.analysis.significance import group_test


def apart(values, labels):
    """Explained variance of one measure, the plain way."""
    total = sum((value - values.mean()) ** 2 for value in values)
    between = sum((labels == g).sum() * (values[labels == g].mean() - values.mean()) ** 2 for g in np.unique(labels))
    return between / total


def test_all_ways_to_divide_the_animals_are_counted():
    rng = np.random.default_rng(0)
    values, labels = rng.normal(size=(6, 2)), np.array([0, 1, 0, 1, 1, 0])
    found = group_test(values, labels.tolist())
    assert (found.exact, found.n_shuffles, found.counts.tolist()) == (True, 20, [3, 3])
    for measure, p in enumerate(found.p_value):
        ways = [apart(values[:, measure], np.array(way)) for way in permutations(labels)]
        assert p == pytest.approx(np.mean(np.array(ways) >= apart(values[:, measure], labels) - 1e-9))
    assert (found.corrected >= found.p_value - 1e-12).all()
    np.testing.assert_allclose(found.mean[1], values[labels == 1].mean(axis=0))


def test_several_groups_are_shuffled_at_random_and_repeatably():
    values = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2], [2.0], [2.1], [2.2]])
    found = group_test(values, list("aaabbbccc"))
    assert not found.exact
    # 9! / 3!³ = 1,680 ways, of which six (the names of the groups) lie as far apart.
    assert found.p_value[0] == pytest.approx(6 / 1680, abs=2e-3)
    assert found.p_value[0] == group_test(values, list("aaabbbccc")).p_value[0]


def test_where_nothing_differs_five_in_a_hundred_are_called_different():
    rng = np.random.default_rng(1)
    small = [group_test(rng.normal(size=(10, 3)), list("aaaaabbbbb")).corrected.min() <= 0.05 for _ in range(300)]
    assert 0.01 < np.mean(small) < 0.085  # of 300: three standard errors


def test_few_animals_and_a_measure_that_is_the_same_for_all():
    found = group_test(np.array([[0.0, 1.0], [0.1, 1.0], [1.0, 1.0], [1.1, 1.0]]), list("aabb"))
    assert found.least == pytest.approx(2 / 6)
    assert found.p_value.tolist() == [pytest.approx(2 / 6), 1.0]


@pytest.mark.parametrize(
    ("values", "groups", "words"),
    [
        (np.zeros(4), list("aabb"), "expected \\(animals, measures\\)"),
        (np.zeros((4, 1)), list("aaaa"), "expected two groups or more"),
        (np.zeros((2, 1)), list("ab"), "three animals or more"),
        (np.full((4, 1), np.nan), list("aabb"), "some are not finite"),
    ],
)
def test_what_cannot_be_tested_is_refused(values, groups, words):
    with pytest.raises(ValueError, match=words):
        group_test(values, groups)
