"""Dynamic IRL: one reward that drifts. MaxEnt is its limit, a plain loop its score, finite differences its gradient."""

import jax
import numpy as np
import pytest
from sklearn.base import clone

from small_worlds import N_ACTIONS, N_STATES, recording, world
from swirl.analysis.metrics import reward_correlation
from swirl.data.encoding import encode
from swirl.data.histories import Histories
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld_env
from swirl.estimators import drifting_reward
from swirl.estimators.base import NotFittedError, UnseenStatesWarning
from swirl.estimators.drifting_reward import DriftingReward
from swirl.estimators.registry import load, make
from swirl.estimators.swirl import SWIRL
from swirl.precision import float64
from swirl.priors import Gaussian
from swirl.rewards.soft_q import soft_optimal_policies

pytestmark = pytest.mark.slow  # compiles programs of its own

FIRST, LAST, BINS, STEPS = 2, 22, 4, 20  # the reward moves from the top of the grid to its bottom
DISCOUNT = 0.9


def moving_rewards():
    share = np.linspace(0, 1, BINS)[:, None]
    rewards = np.zeros((BINS, 25))
    rewards[:, [FIRST]], rewards[:, [LAST]] = 1.5 * (1 - share), 1.5 * share
    return rewards


def by_hand(env, rewards, **settings):
    """A model with given rewards [bin, state], as a fit would leave it."""
    model = DriftingReward(env, **settings)
    histories = Histories.reachable(env.successors, model.history)
    model._histories, model.histories_, model.rewards_ = histories, histories.table, rewards
    model.policies_ = soft_optimal_policies(
        histories.successors, rewards, discount=model.discount, temperature=model.temperature, per_action=False
    )
    model.initial_states_ = np.full(env.n_states, 1 / env.n_states)
    model.initial_modes_, model.mode_transitions_ = np.ones(1), np.ones((env.n_states, 1, 1))
    model._params_at_fit = model.get_params()
    return model


@pytest.fixture(scope="module")
def truth():
    return by_hand(gridworld_env(), moving_rewards(), bin_steps=STEPS, discount=DISCOUNT)


@pytest.fixture(scope="module")
def train(truth):
    return truth.sample(150, BINS * STEPS, random_state=0)


@pytest.fixture(scope="module")
def fitted(train):
    return DriftingReward(gridworld_env(), bin_steps=STEPS, discount=DISCOUNT, n_restarts=2).fit(train)


@pytest.fixture(scope="module")
def single(fitted, train):
    """All time is one bin."""
    return clone(fitted).set_params(bin_steps=1000, n_restarts=1, strength=0.5).fit(train)


def maxent(train, strength):
    return SWIRL(
        gridworld_env(), n_modes=1, history=1, switching="independent", discount=DISCOUNT,
        reward_prior=Gaussian(strength, of="reward"), n_restarts=1, max_iter=300, tol=1e-13,
    ).fit(train)  # fmt: skip


# Limits


@pytest.mark.slow
def test_one_bin_is_maxent(single, train):
    same = maxent(train, 0.5)
    assert single.policies_.shape == same.policies_.shape
    assert single.objective_trace_[-1] == pytest.approx(same.objective_trace_[-1], rel=1e-8)
    np.testing.assert_allclose(single.policies_, same.policies_, atol=1e-5)
    np.testing.assert_allclose(single.rewards_, same.rewards_, atol=1e-4)
    for of in ("action", "next_state"):
        assert single.score(train, of=of) == pytest.approx(same.score(train, of=of), abs=1e-6)


@pytest.mark.slow
def test_a_reward_that_hardly_may_drift_is_one_for_all_bins(fitted, train):
    stiff = clone(fitted).set_params(drift_strength=1e6).fit(train)
    assert np.ptp(stiff.rewards_, axis=0).max() < 0.01
    assert np.ptp(stiff.policies_, axis=0).max() < 0.01
    same = maxent(train, 1.0)
    assert stiff.objective_trace_[-1] == pytest.approx(same.objective_trace_[-1], rel=1e-4)
    np.testing.assert_allclose(stiff.policies_[0], same.policies_[0], atol=0.02)
    assert fitted.objective_trace_[-1] > stiff.objective_trace_[-1] + 20


# Recovery


@pytest.mark.slow
def test_a_moving_reward_is_found(fitted, truth, train):
    test = truth.sample(60, BINS * STEPS, random_state=1)
    assert fitted.score(test) > truth.score(test) - 0.01
    assert fitted.score(test) > maxent(train, 1.0).score(test) + 0.02
    for found, wanted in zip(fitted.rewards_, moving_rewards(), strict=True):
        assert reward_correlation(wanted[None], found[None], env=truth.env, discount=DISCOUNT) > 0.85
    place = fitted.rewards_ - fitted.rewards_.mean(axis=1, keepdims=True)
    assert np.all(np.diff(place[:, FIRST]) < 0)
    assert np.all(np.diff(place[:, LAST]) > 0)


@pytest.mark.slow
def test_the_split_into_maps_and_weights(fitted):
    np.testing.assert_allclose(fitted.weights_ @ fitted.maps_, fitted.rewards_, atol=1e-10)
    assert fitted.maps_.shape == (2, 25)
    np.testing.assert_allclose(fitted.maps_ @ fitted.maps_.T, np.eye(2), atol=1e-10)
    sizes = np.linalg.norm(fitted.weights_, axis=0)
    assert sizes[0] >= sizes[1] > 0
    assert np.all(fitted.weights_.sum(axis=0) >= 0)
    assert np.linalg.matrix_rank(fitted.rewards_, tol=1e-8) == 2


# The objective


@pytest.mark.slow
def test_the_objective_and_its_gradient():
    """Against soft values by plain iteration, counts by a plain loop, and finite differences."""
    data, rng, n_bins = recording("stochastic", history=2), np.random.default_rng(0), 3
    env = world("stochastic")
    model = DriftingReward(env, history=2, bin_steps=20, strength=0.7, drift_strength=3.0, discount=0.8)
    model.set_params(temperature=[0.6])  # one for each mode, of which there is one
    histories = Histories.reachable(env.successors, 2)
    problem = model._problem(encode(data, env, histories), histories, n_bins)
    point = {"weights": rng.normal(size=(n_bins, 2)), "maps": rng.normal(size=(2, histories.n_histories))}
    dense, row = env.dense(), {tuple(h): i for i, h in enumerate(histories.table.tolist())}
    rewards, expected = point["weights"] @ point["maps"], 0.0
    for b in range(n_bins):
        values = np.zeros(histories.n_histories)
        for _ in range(200):
            q = np.full((histories.n_histories, N_ACTIONS), -np.inf)
            for i, s in enumerate(histories.states):
                for a in np.flatnonzero(env.available[s]):
                    leads = dense[s, a]
                    q[i, a] = rewards[b, i] + 0.8 * sum(leads[n] * values[row[n, s]] for n in np.flatnonzero(leads))
            new = 0.6 * np.log(np.sum(np.exp(q / 0.6), axis=1))
            done, values = np.abs(new - values).max() < 1e-13, new
            if done:
                break
        log_pi = (q - values[:, None]) / 0.6
        for i in range(len(data)):
            states, actions = data.states[i].tolist(), data.actions[i].tolist()
            for start, stop in data.segments(i):
                for t in range(start, stop):
                    if min(t // 20, n_bins - 1) != b:
                        continue
                    here = log_pi[row[states[t], states[t - 1] if t > start else -1]]
                    if actions[t] >= 0:
                        expected += here[actions[t]]
                    elif t + 1 < stop:  # by where it led
                        expected += np.log(np.exp(here) @ dense[states[t], :, states[t + 1]])
    expected -= 0.5 * 0.7 * np.mean(np.sum(rewards**2, axis=1))
    expected -= 0.5 * 3.0 * sum(np.sum((rewards[b + 1] - rewards[b]) ** 2) for b in range(n_bins - 1))
    with float64():
        objective = jax.jit(lambda p: drifting_reward._objective(problem, p))
        assert float(objective(point)) == pytest.approx(expected, abs=1e-6)
        slopes = jax.jit(jax.grad(lambda p: drifting_reward._objective(problem, p)))(point)
        for name, index in (("weights", (0, 1)), ("weights", (2, 0)), ("maps", (1, 4)), ("maps", (0, 11))):
            ahead, behind = ({k: v.copy() for k, v in point.items()} for _ in range(2))
            ahead[name][index] += 1e-4
            behind[name][index] -= 1e-4
            slope = (float(objective(ahead)) - float(objective(behind))) / 2e-4
            assert float(slopes[name][index]) == pytest.approx(slope, rel=1e-4, abs=1e-4)


# Time


def score_loop(model, data):
    """Log-likelihood per action, each step under the policy of its own bin, counted from the session's start."""
    total, count, length = 0.0, 0, model.histories_.shape[1]
    row = {tuple(h): i for i, h in enumerate(model.histories_.tolist())}
    for i in range(len(data)):
        for start, stop in data.segments(i):
            for t in range(start, stop):
                a = data.actions[i][t]
                if a < 0:
                    continue
                h = row[tuple(int(data.states[i][t - k]) if t - k >= start else -1 for k in range(length))]
                total += np.log(model.policies_[min(t // model.bin_steps, len(model.policies_) - 1), h, a])
                count += 1
    return total / count


@pytest.mark.slow
def test_bins_count_from_the_sessions_start(truth):
    """Gaps do not set the clock back, and what lasts longer than training stays in the last bin."""
    drawn = truth.sample(3, 130, random_state=5)
    assert len(truth.policies_) * STEPS < 130
    actions = [np.where(np.arange(130) % 17 == 3, -1, a) for a in drawn.actions]
    data = Trajectories(drawn.states, actions, gaps=[[35], [], [50, 90]], n_states=25, n_actions=5)
    assert truth.score(data) == pytest.approx(score_loop(truth, data), abs=1e-12)
    without = Trajectories(drawn.states, actions, n_states=25, n_actions=5)
    assert truth.score(data) == pytest.approx(truth.score(without), abs=1e-12)


def test_next_states_by_a_plain_loop(truth):
    """Moves into the wall and "stay" lead to the same cell: their probabilities add."""
    data = truth.sample(3, 70, random_state=6)
    total, following = 0.0, np.asarray(truth.env.successors.next)[:, :, 0]
    for states, actions in zip(data.states, data.actions, strict=True):
        for t, (s, a) in enumerate(zip(states, actions, strict=True)):
            pi = truth.policies_[min(t // STEPS, BINS - 1), s]
            total += np.log(pi[following[s] == following[s, a]].sum())
    assert truth.score(data, of="next_state") == pytest.approx(total / data.n_steps, abs=1e-12)
    assert truth.score(data, of="next_state") > truth.score(data)


def test_sampling_follows_the_clock(truth):
    """Shares of the actions at one cell in each bin, longer than the bins last, within four standard errors."""
    drawn = truth.sample(4000, (BINS + 1) * STEPS, random_state=7)
    states, actions = np.stack(drawn.states), np.stack(drawn.actions)
    for b in range(BINS + 1):
        window = slice(b * STEPS, (b + 1) * STEPS)
        here = actions[:, window][states[:, window] == 12]
        pi = truth.policies_[min(b, BINS - 1), 12]
        share = np.bincount(here, minlength=5) / len(here)
        assert np.all(np.abs(share - pi) < 4 * np.sqrt(pi * (1 - pi) / len(here)))
    following = np.asarray(truth.env.successors.next)[:, :, 0]
    np.testing.assert_array_equal(states[:, 1:], following[states[:, :-1], actions[:, :-1]])
    assert np.all(np.stack(drawn.modes) == 0)


# What a user meets


@pytest.mark.slow
def test_a_file_gives_the_model_back(fitted, train, tmp_path):
    rewards = np.random.default_rng(0).normal(size=(3, 17))
    longer = by_hand(world("stochastic"), rewards, history=2, bin_steps=20)
    for i, (model, data) in enumerate([(fitted, train[:5]), (longer, recording("stochastic"))]):
        again = load(model.save(tmp_path / f"{i}.nc"))
        assert again.score(data) == model.score(data) == pytest.approx(score_loop(model, data), abs=1e-12)
        assert again.score(data, of="next_state") == model.score(data, of="next_state")
        assert repr(again) == repr(model)
        np.testing.assert_array_equal(again.sample(3, 40).states, model.sample(3, 40).states)
    again = load(tmp_path / "0.nc")
    for name in ("maps_", "weights_", "rewards_", "policies_", "objective_trace_", "objectives_", "seen_states_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fitted, name), err_msg=name)


@pytest.mark.slow
def test_one_mode_for_the_messages(fitted, train):
    few = train[:3]
    assert all(np.all(path == 0) for path in fitted.predict(few))
    assert all(np.all(p == 1) for p in fitted.predict_proba(few))
    assert fitted.n_scored(few) == few.n_steps


@pytest.mark.slow
def test_what_a_fit_says_of_itself(fitted, train):
    assert fitted.converged_
    assert fitted.fit_report_.startswith("converged. Objective ")
    assert "12,000 observed steps in 4 bins of time" in fitted.fit_report_
    assert fitted.objectives_.max() == fitted.objective_trace_[-1]
    assert np.all(np.diff(fitted.objective_trace_) >= 0)
    log_likelihood = fitted.log_likelihood(train).sum()
    size, change = np.sum(fitted.rewards_**2) / BINS, np.sum(np.diff(fitted.rewards_, axis=0) ** 2)
    assert fitted.objective_trace_[-1] == pytest.approx(log_likelihood - 0.5 * size - 5.0 * change, rel=1e-9)


@pytest.mark.slow
def test_running_out_of_iterations_is_not_convergence(fitted, train):
    short = clone(fitted).set_params(max_iter=50).fit(train)
    assert not short.converged_
    assert short.fit_report_.startswith("not converged: the iterations ran out; raise max_iter")
    assert len(short.objective_trace_) == 1


@pytest.mark.slow
def test_the_seed_decides(fitted, train):
    again = clone(fitted).fit(train)
    np.testing.assert_array_equal(again.rewards_, fitted.rewards_)
    np.testing.assert_array_equal(again.objectives_, fitted.objectives_)
    assert fitted.objectives_[0] != fitted.objectives_[1]


@pytest.mark.slow
def test_more_maps_than_bins(single):
    """There are no more than bins."""
    assert single.n_maps == 2
    assert single.maps_.shape == (1, 25)
    assert single.weights_.shape == (1, 1)
    np.testing.assert_allclose(single.weights_ @ single.maps_, single.rewards_, atol=1e-12)


def test_unseen_states_warn(truth):
    model = by_hand(gridworld_env(), moving_rewards(), bin_steps=STEPS)
    model.seen_states_ = np.arange(25) != 7
    with pytest.warns(UnseenStatesWarning, match=r"1 state \(7\), at 2 of 4 steps"):
        assert np.isfinite(model.score(Trajectories([[6, 7, 7, 8]], [[3, 4, 3, 4]], n_states=25, n_actions=5)))


def test_errors_in_words(truth, train):
    with pytest.raises(NotFittedError, match="this DriftingReward is not fitted yet"):
        DriftingReward(gridworld_env()).score(train)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        DriftingReward(gridworld_env()).sample(1, 5)
    with pytest.raises(ValueError, match="no session holds an action, or two states in a row"):
        DriftingReward(world()).fit(Trajectories([[0], [1]], n_states=N_STATES, n_actions=N_ACTIONS))
    with pytest.raises(ValueError, match="impossible transition"):
        truth.score(Trajectories([[0, 24]], [[0, 0]], n_states=25, n_actions=5))
    with pytest.raises(ValueError, match="of='density': DriftingReward gives probabilities of actions"):
        truth.score(train, of="density")


def test_all_faulty_arguments_at_once():
    broken = DriftingReward(world(), n_maps=0, bin_steps=0, history=0, discount=1.0, strength=0.0, drift_strength=-1.0)
    broken.set_params(env="grid", temperature=(1.0, 2.0), tol=0.0, max_iter=1.5, n_restarts=0, random_state=-1)
    with pytest.raises(ValueError, match="DriftingReward cannot be fitted: 12 faults") as caught:
        broken.fit(recording())
    for part in (
        "env is str: expected swirl.MDP",
        "n_maps=0: expected a whole number, at least 1",
        "bin_steps=0: expected",
        "history=0: expected",
        "discount=1.0: expected a number between 0 and 1",
        "temperature has 2 entries: expected one",
        "strength=0.0: expected a number > 0",
        "drift_strength=-1.0: expected a number > 0",
        "tol=0.0: expected a number > 0",
        "max_iter=1.5: expected a whole number",
        "n_restarts=0: expected",
        "random_state=-1: expected",
    ):
        assert part in str(caught.value)


def test_made_by_name():
    assert isinstance(make("Dynamic-IRL", world(), n_maps=3), DriftingReward)
