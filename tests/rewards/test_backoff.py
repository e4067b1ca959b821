"""The back-off penalty against the least penalty over explicit decompositions of the reward."""

import jax
import numpy as np
import pytest

from swirl import precision
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.priors import Cauchy, Gaussian
from swirl.rewards.backoff import BackoffPenalty

LENGTHS = (1, 2, 3)
PRIORS = (Gaussian(0.5, backoff=3.0), Gaussian(2.0, backoff=0.25), Gaussian(1.0, backoff=1.0))


def lifted(length):
    """Histories of a small MDP in which states have different numbers of predecessors; short ones included."""
    next_state = [[0, 1, 2], [2, 2, -1], [3, 0, 1], [3, 1, -1]]
    return Histories.reachable(MDP.deterministic(next_state).successors, length)


def precision_by_decomposition(histories, precisions):
    """Q of the least ½ Σ_l λ_l ‖ρ_l‖² over ρ with r(h) = Σ_l ρ_l(newest l entries of h), as a dense matrix.

    With M the 0/1 matrix that adds the parts up and Λ their precisions, the least is ½ rᵀ (M Λ⁻¹ Mᵀ)⁻¹ r.
    """
    blocks, weights = [], []
    for order, weight in enumerate(precisions, start=1):
        keys = [tuple(row[:order]) for row in histories.table.tolist()]
        names = sorted(set(keys))
        blocks.append(np.array([[key == name for name in names] for key in keys], dtype=float))
        weights += [weight] * len(names)
    parts = np.concatenate(blocks, axis=1)
    return np.linalg.inv(parts @ np.diag(1 / np.array(weights)) @ parts.T), parts, np.array(weights)


@jax.jit
def both(penalty, rewards):
    return penalty.penalty(rewards), penalty.product(rewards)


def evaluate(penalty, rewards):
    with precision.float64():
        value, gradient = both(penalty, rewards)
        return float(value), np.asarray(gradient)


def random_rewards(histories, seed=0):
    return np.random.default_rng(seed).normal(size=histories.n_histories)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("length", LENGTHS)
def test_penalty_is_the_least_over_all_decompositions(prior, length):
    histories = lifted(length)
    rewards = random_rewards(histories)
    matrix, parts, weights = precision_by_decomposition(histories, prior.strengths(length))
    value, gradient = evaluate(BackoffPenalty.build(histories, prior), rewards)
    assert value == pytest.approx(0.5 * rewards @ matrix @ rewards, rel=1e-12)
    np.testing.assert_allclose(gradient, matrix @ rewards, rtol=1e-11, atol=1e-11)
    # The oracle's own optimum is a decomposition, and no other one costs less.
    best = (parts.T @ matrix @ rewards) / weights
    np.testing.assert_allclose(parts @ best, rewards, atol=1e-12)
    assert 0.5 * weights @ best**2 == pytest.approx(value, rel=1e-12)
    _, singular, rows = np.linalg.svd(parts)
    null = rows[np.sum(singular > 1e-9) :]
    assert length == 1 or len(null)
    for free in null:
        assert 0.5 * weights @ (best + 0.1 * free) ** 2 > value


@pytest.mark.parametrize("length", [2, 3])
def test_a_factor_for_each_order(length):
    histories = lifted(length)
    rewards = random_rewards(histories)
    factors = (1.0, 5.0, 0.5)[:length]
    matrix, _, _ = precision_by_decomposition(histories, [2.0 * factor for factor in factors])
    value, _ = evaluate(BackoffPenalty.build(histories, Gaussian(2.0, backoff=factors)), rewards)
    assert value == pytest.approx(0.5 * rewards @ matrix @ rewards, rel=1e-12)


@pytest.mark.parametrize("length", LENGTHS)
def test_without_back_off_every_history_is_shrunk_alone(length):
    histories = lifted(length)
    rewards = random_rewards(histories)
    penalty = BackoffPenalty.build(histories, Gaussian(0.7))
    value, gradient = evaluate(penalty, rewards)
    assert value == pytest.approx(0.35 * np.sum(rewards**2), rel=1e-13)
    np.testing.assert_allclose(gradient, 0.7 * rewards, rtol=1e-13)
    np.testing.assert_array_equal(penalty.leaf_precisions, 0.7)


@pytest.mark.parametrize("prior", [*PRIORS, Gaussian(0.3)])
@pytest.mark.parametrize("length", LENGTHS)
def test_product_is_a_symmetric_positive_definite_matrix_and_the_gradient(prior, length):
    histories = lifted(length)
    penalty = BackoffPenalty.build(histories, prior)
    matrix = np.stack([evaluate(penalty, row)[1] for row in np.eye(histories.n_histories)])
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-13)
    assert np.linalg.eigvalsh(matrix).min() > 0
    rewards = random_rewards(histories)
    value, gradient = evaluate(penalty, rewards)
    np.testing.assert_allclose(matrix @ rewards, gradient, atol=1e-12)
    assert value == pytest.approx(0.5 * rewards @ matrix @ rewards, rel=1e-12)
    step = 1e-4
    for h in range(0, histories.n_histories, 5):
        moved = step * np.eye(histories.n_histories)[h]
        slope = (evaluate(penalty, rewards + moved)[0] - evaluate(penalty, rewards - moved)[0]) / (2 * step)
        assert slope == pytest.approx(gradient[h], abs=1e-9)


@pytest.mark.parametrize("prior", PRIORS)
def test_leaf_precisions_bound_the_diagonal(prior):
    histories = lifted(3)
    penalty = BackoffPenalty.build(histories, prior)
    matrix, _, _ = precision_by_decomposition(histories, prior.strengths(3))
    assert (np.diag(matrix) <= penalty.leaf_precisions + 1e-12).all()
    assert (np.diag(matrix) > 0.1 * penalty.leaf_precisions).all()


def test_rewards_that_do_not_see_the_past_cost_little_more_than_at_length_one():
    """With longer parts shrunk ever more, r(h) = r_1(s) is explained by the part of order one alone."""
    histories = lifted(3)
    by_state = np.array([1.0, -2.0, 0.5, 3.0])
    value, _ = evaluate(BackoffPenalty.build(histories, Gaussian(1.0, backoff=1e9)), by_state[histories.states])
    assert value == pytest.approx(0.5 * np.sum(by_state**2), rel=1e-6)


def test_factors_must_be_one_for_each_order():
    with pytest.raises(ValueError, match="backoff has 2 factors: expected one for each history order, 3"):
        BackoffPenalty.build(lifted(3), Gaussian(1.0, backoff=(1.0, 2.0)))


# the split itself, and the heavy-tailed penalty made of reweighted normal ones


@jax.jit
def split(penalty, rewards):
    return penalty.parts(rewards, penalty.means(rewards))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("length", LENGTHS)
def test_the_split_is_the_best_decomposition(prior, length):
    histories = lifted(length)
    rewards = random_rewards(histories)
    penalty = BackoffPenalty.build(histories, prior)
    with precision.float64():
        found = precision.numpy_tree(split(penalty, rewards))
    matrix, parts, weights = precision_by_decomposition(histories, prior.strengths(length))
    best = (parts.T @ matrix @ rewards) / weights
    # `parts` come longest first and in the numbering of `suffixes`; the oracle's shortest first, in sorted order.
    assert len(found) == length
    summed, first = np.zeros(histories.n_histories), 0
    for order in range(1, length + 1):
        groups = histories.suffixes(order)
        part = found[length - order]
        keys = [tuple(row[:order]) for row in histories.table.tolist()]
        expected = dict(zip(sorted(set(keys)), best[first:], strict=False))
        first += len(expected)
        assert len(part) == len(expected)
        for h, key in enumerate(keys):
            assert part[groups[h]] == pytest.approx(expected[key], abs=1e-11)
        summed += part[groups]
    np.testing.assert_allclose(summed, rewards, atol=1e-12)


@pytest.mark.parametrize("width", [0.05, 1.0])
def test_the_reweighted_penalty_touches_the_cauchy_one_and_lies_above_it(width):
    histories = lifted(3)
    penalty = BackoffPenalty.build(histories, Cauchy(strength=2.0, backoff=3.0))
    rng = np.random.default_rng(0)
    shapes = [len(p) for p in penalty.precisions]
    strengths = [2.0 * 9, 2.0 * 3, 2.0]  # longest first

    def by_definition(parts):
        return sum(s * np.sum(np.log1p((p / width) ** 2)) for s, p in zip(strengths, parts, strict=True))

    def normal(reweighted, parts):
        return 0.5 * sum(np.sum(t * p**2) for t, p in zip(reweighted.precisions, parts, strict=True))

    here = tuple(rng.normal(size=n) for n in shapes)
    with precision.float64():
        above = precision.numpy_tree(penalty.reweighted(here, np.asarray(width)))
        assert float(penalty.cauchy(here, np.asarray(width))) == pytest.approx(by_definition(here), rel=1e-12)
    constant = by_definition(here) - normal(above, here)
    for scale in (1e-3, 0.1, 1.0, 10.0):
        there = tuple(p + scale * rng.normal(size=p.shape) for p in here)
        assert by_definition(there) <= normal(above, there) + constant + 1e-12
    opposite = tuple(-p for p in here)
    assert by_definition(opposite) == pytest.approx(normal(above, opposite) + constant)


def test_a_reweighted_penalty_is_the_least_for_precisions_of_its_own():
    """Precisions that differ from node to node, against the dense least squares."""
    histories = lifted(3)
    penalty = BackoffPenalty.build(histories, Cauchy())
    rng = np.random.default_rng(1)
    with precision.float64():
        uneven = precision.numpy_tree(
            penalty.reweighted(tuple(rng.normal(size=len(p)) for p in penalty.precisions), np.asarray(0.1))
        )
    columns, weights = [], []
    for order in (1, 2, 3):
        groups, own = histories.suffixes(order), uneven.precisions[3 - order]
        columns.append(groups[:, None] == np.arange(len(own)))
        weights.append(own)
    parts, weights = np.concatenate(columns, axis=1).astype(float), np.concatenate(weights)
    matrix = np.linalg.inv(parts @ np.diag(1 / weights) @ parts.T)
    rewards = random_rewards(histories)
    value, gradient = evaluate(uneven, rewards)
    assert value == pytest.approx(0.5 * rewards @ matrix @ rewards, rel=1e-11)
    np.testing.assert_allclose(gradient, matrix @ rewards, rtol=1e-9, atol=1e-9)
