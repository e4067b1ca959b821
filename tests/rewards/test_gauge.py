"""Gauge moves leave policies alone, and every gauge class has one canonical member."""

import numpy as np
import pytest
from scipy.special import logsumexp

from swirl.data.successors import Successors
from swirl.rewards.gauge import canonical, gauge_basis, random_gauge

GAMMA, ALPHA, MODES = 0.9, 0.7, 2
# A ring of four states on which one can step, stay, or (nowhere but in state 0) leap.
STEPS = np.array([[1, 0, 2], [2, 1, 0], [3, 2, 0], [0, 3, 0]])
LEAPS = np.array([True, False, False, False])


def ring(stochastic=False):
    available = np.column_stack([np.ones((4, 2), bool), LEAPS])
    if not stochastic:
        return Successors(STEPS[..., None], np.ones((4, 3, 1)), available)
    # Each action slips to the opposite state; in state 0 the leap is hardly more than a step that slips more
    # often, a weak constraint but a constraint; in state 3 both actions slip alike.
    steps = np.where(LEAPS[:, None] & (np.arange(3) == 2), 1, STEPS)
    slip = np.array([[0.1, 0.3, 0.15], [0.2, 0.2, 0.0], [0.1, 0.1, 0.0], [0.5, 0.5, 0.0]])
    slipped = np.broadcast_to((np.arange(4)[:, None] + 2) % 4, steps.shape)
    return Successors(np.stack([steps, slipped], -1), np.stack([1 - slip, slip], -1), available)


def lift(successors):
    """Histories (s, s⁻) of length two, the first four of them short: (s, before the start)."""
    states = [(s, -1) for s in range(successors.n_nodes)]
    index = {h: i for i, h in enumerate(states)}
    rows = []
    for s, _ in states:  # grows while it is read
        row = []
        for action, branches in enumerate(successors.next[s]):
            for target in branches if successors.available[s, action] else ():
                key = (int(target), s)
                if key not in index:
                    index[key] = len(states)
                    states.append(key)
                row.append(index[key])
            row += [0] * (len(branches) * (action + 1) - len(row))
        rows.append(row)
    now = np.array([s for s, _ in states])
    shape = (len(states), *successors.next.shape[1:])
    lifted = Successors(np.reshape(rows, shape), successors.probability[now], successors.available[now])
    return lifted, np.array(states)


def environment(name):
    """An environment, its nodes in no particular order, and which of them are full-length."""
    successors = ring(stochastic="stochastic" in name)
    full_length = np.ones(4, bool)
    if "lifted" in name:
        successors, histories = lift(successors)
        full_length = histories[:, 1] >= 0
    order = np.random.default_rng(11).permutation(successors.n_nodes)
    following = np.argsort(order)[successors.next[order]]
    shuffled = Successors(following, successors.probability[order], successors.available[order])
    return shuffled, full_length[order]


def random_rewards(seed, successors, per_action):
    shape = (MODES, successors.n_nodes) + ((successors.n_actions,) if per_action else ())
    return np.random.default_rng(seed).normal(size=shape)


def policy(successors, rewards):
    """The soft-optimal policy by plain sweeps in numpy: a second opinion to `soft_q`."""
    table = rewards if rewards.ndim == 3 else rewards[..., None]
    values = np.zeros(table.shape[:-1])
    for _ in range(400):  # 0.9 ** 400 is 5e-19
        future = np.sum(successors.probability * values[..., successors.next], axis=-1)
        q = np.where(successors.available, table + GAMMA * future, -np.inf)
        values = ALPHA * logsumexp(q / ALPHA, axis=-1)
    return np.exp((q - values[..., None]) / ALPHA)


def norm(rewards, successors, full_length):
    kept = full_length[:, None] & successors.available if rewards.ndim == 3 else full_length
    return np.linalg.norm(rewards[:, kept], axis=-1)


every_environment = pytest.mark.parametrize(
    "name", ["deterministic", "lifted deterministic", "stochastic", "lifted stochastic"]
)
both_forms = pytest.mark.parametrize("per_action", [False, True])


@every_environment
@both_forms
def test_gauge_moves_leave_the_policy_alone(name, per_action):
    successors, _ = environment(name)
    rewards = random_rewards(0, successors, per_action)
    delta, _ = random_gauge(successors, np.random.default_rng(1), discount=GAMMA, per_action=per_action, n_modes=MODES)
    assert np.max(np.abs(delta)) > 0.01
    np.testing.assert_allclose(policy(successors, rewards + delta), policy(successors, rewards), atol=1e-10)


@every_environment
@both_forms
def test_nothing_else_leaves_it_alone(name, per_action):
    # The moves found are all there are: the policy's derivative has exactly that many null directions.
    successors, _ = environment(name)
    rewards = random_rewards(2, successors, per_action)[0]
    kept = successors.available if per_action else np.ones(successors.n_nodes, bool)
    step = 1e-5 * np.eye(np.count_nonzero(kept))
    moved = np.zeros((2, len(step), *rewards.shape))
    moved[:, :, kept] = rewards[kept] + np.stack([step, -step])
    policies = policy(successors, moved.reshape(-1, *rewards.shape)).reshape(2, len(step), -1)
    rank = np.linalg.matrix_rank((policies[0] - policies[1]) / 2e-5, tol=1e-6)
    moves = gauge_basis(successors, discount=GAMMA, per_action=per_action).n_moves
    assert rank + moves == len(step)


@every_environment
@both_forms
def test_canonical_forgets_the_gauge(name, per_action):
    successors, full_length = environment(name)
    rewards = random_rewards(3, successors, per_action)
    settings = {"discount": GAMMA, "full_length": full_length}
    expected = canonical(rewards, successors, **settings)
    delta, _ = random_gauge(successors, np.random.default_rng(4), discount=GAMMA, per_action=per_action, n_modes=MODES)
    np.testing.assert_allclose(canonical(rewards + delta, successors, **settings), expected, atol=1e-10)
    np.testing.assert_allclose(canonical(expected, successors, **settings), expected, atol=1e-10)
    assert np.all(norm(expected, successors, full_length) < norm(rewards, successors, full_length))
    np.testing.assert_allclose(policy(successors, expected), policy(successors, rewards), atol=1e-10)


@every_environment
@both_forms
def test_canonical_is_the_least_of_its_class(name, per_action):
    successors, full_length = environment(name)
    least = canonical(random_rewards(5, successors, per_action), successors, discount=GAMMA, full_length=full_length)
    rng = np.random.default_rng(6)
    for _ in range(5):
        delta, _ = random_gauge(successors, rng, discount=GAMMA, per_action=per_action, n_modes=MODES)
        away = norm(least + 0.1 * delta, successors, full_length)
        assert np.all(norm(least, successors, full_length) <= away + 1e-12)


def test_the_modes_do_not_mix():
    successors, full_length = environment("lifted deterministic")
    rewards = random_rewards(7, successors, per_action=False)
    settings = {"discount": GAMMA, "full_length": full_length}
    alone = np.concatenate([canonical(rewards[[z]], successors, **settings) for z in range(MODES)])
    np.testing.assert_allclose(canonical(rewards, successors, **settings), alone, atol=1e-12)


def test_pairs_of_states_have_the_gauge_of_the_design():
    # design.md#gauge: r(s, s⁻) + c(s⁻) − γ c(s) for any c, in a deterministic environment.
    successors, histories = lift(ring())
    full_length = histories[:, 1] >= 0
    rewards, c = random_rewards(8, successors, per_action=False), np.array([0.3, -1.2, 0.7, 2.0])
    delta = np.where(full_length, c[histories[:, 1]], 0.0) - GAMMA * c[histories[:, 0]]
    np.testing.assert_allclose(policy(successors, rewards + delta), policy(successors, rewards), atol=1e-10)
    one, other = (canonical(r, successors, discount=GAMMA, full_length=full_length) for r in (rewards, rewards + delta))
    np.testing.assert_allclose(one, other, atol=1e-10)
    # One move per previous state, one per short history: nothing leads to those, so they are free.
    assert gauge_basis(successors, discount=GAMMA).n_moves == 8
    np.testing.assert_allclose(one[:, ~full_length], 0.0, atol=1e-10)


def test_states_that_share_no_successor_have_constants_of_their_own():
    # Two states swapped by the only action, beside a pair of which each follows each: three parts.
    following = np.array([[1, 1], [0, 0], [2, 3], [2, 3]])[..., None]
    successors = Successors(following, np.ones((4, 2, 1)), np.array([[True, False]] * 2 + [[True, True]] * 2))
    basis = gauge_basis(successors, discount=GAMMA)
    patterns = {tuple(np.flatnonzero(column)) for column in basis.values.toarray().T}
    assert patterns == {(0,), (1,), (2, 3)}


def test_unavailable_entries_are_returned_as_given():
    successors, full_length = environment("stochastic")
    rewards = random_rewards(9, successors, per_action=True)
    rewards[:, ~successors.available] = -np.inf
    got = canonical(rewards, successors, discount=GAMMA, full_length=full_length)
    assert np.array_equal(np.isneginf(got), np.isneginf(rewards))


def test_all_faults_are_named_at_once():
    successors, full_length = environment("lifted deterministic")
    rewards = random_rewards(10, successors, per_action=False)
    rewards[0, 0] = np.nan
    full_length[np.flatnonzero(full_length)[-1]] = False
    with pytest.raises(ValueError) as caught:
        canonical(rewards, successors, discount=1.0, full_length=full_length)
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == [
        "rewards",
        "discount",
        "full_length",
    ]


def test_a_node_without_actions_is_refused():
    successors = Successors(np.zeros((1, 1, 1), int), np.ones((1, 1, 1)), np.zeros((1, 1), bool))
    with pytest.raises(ValueError, match="node 0"):
        gauge_basis(successors, discount=GAMMA)
