"""SWIRL as a user meets it: limits, invariances, honest scores, given parameters, and what is refused."""

import json
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path

import jax
import numpy as np
import pytest

from small_worlds import N_ACTIONS, N_MODES, N_STATES, recording, truth, world
from swirl.analysis.behaviour import switch_rate
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators import goal_search
from swirl.estimators.base import NotFittedError
from swirl.estimators.registry import load, make
from swirl.estimators.swirl import SWIRL
from swirl.inference.mstep import Parameters
from swirl.priors import Bouts, Gaussian
from swirl.rewards.forms import Goals
from swirl.rewards.gauge import random_gauge

QUICK = {"n_modes": 2, "history": 2, "n_restarts": 2, "max_iter": 15, "tol": 1e-9}


@cache
def fitted(reward="state"):
    prior = Gaussian(0.1) if reward == "state" else None
    return SWIRL(world(), reward=reward, reward_prior=prior, **QUICK).fit(recording(history=2))


def same_policies(a, b, atol=1e-9):
    np.testing.assert_allclose(a.policies_, b.policies_, atol=atol)


def forward(model, states, actions):
    """log p(a_t | s_1:t, a_1:t−1) and p(z_t | s_1:t, a_1:t) of one segment by the plain loop of design.md#the-model.

    An action that is missing was any: the step has the probability of where it led, by all of them. What that says of
    the mode is known one step later.
    """
    rows = {tuple(row): i for i, row in enumerate(model.histories_.tolist())}
    length, transitions = model.histories_.shape[1], model.env.dense()
    predicted, increments, filtered = model.initial_modes_, [], []
    for t, (state, action) in enumerate(zip(states, actions, strict=True)):
        past = [states[t - lag] if t >= lag else -1 for lag in range(length)]
        policy, likelihood = model.policies_[:, rows[tuple(past)]], np.ones(len(predicted))
        latent = action < 0 and t + 1 < len(states)
        if action >= 0:
            likelihood = policy[:, action]
        elif latent:
            likelihood = sum(policy[:, a] * transitions[state, a, states[t + 1]] for a in range(N_ACTIONS))
        joint = predicted * likelihood
        increments.append(np.log(joint.sum()))
        posterior = joint / joint.sum()
        filtered.append(predicted if latent else posterior)
        predicted = posterior @ model.mode_transitions_[state]
    return np.array(increments), np.array(filtered)


def segments(data):
    return [(data.states[i][a:b], data.actions[i][a:b]) for i in range(len(data)) for a, b in data.segments(i)]


# What a fit leaves behind


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["state", "state-action"])
def test_shapes_sums_and_order_after_a_fit(reward):
    model = fitted(reward)
    n = Histories.reachable(world().successors, 2).n_histories
    assert model.histories_.shape == (n, 2)
    assert model.rewards_.shape == ((2, n) if reward == "state" else (2, n, N_ACTIONS))
    assert model.policies_.shape == (2, n, N_ACTIONS)
    assert model.mode_transitions_.shape == (N_STATES, 2, 2)
    for name in ("policies_", "mode_transitions_", "initial_modes_", "initial_states_", "occupancy_"):
        np.testing.assert_allclose(getattr(model, name).sum(axis=-1), 1, rtol=1e-12)
    assert (np.diff(model.occupancy_) <= 0).all()
    available = np.asarray(world().available)[model.histories_[:, 0]]
    assert (model.policies_[:, ~available] == 0).all()
    assert len(model.restarts_) == 2
    assert model.objective_trace_[-1] == max(r.objective for r in model.restarts_)
    smoothed = np.concatenate(model.predict_proba(recording(history=2)))
    # Every step counts whose action was seen, or where it led.
    telling = np.concatenate([(a >= 0) | (np.arange(len(a)) < len(a) - 1) for _, a in segments(recording(history=2))])
    np.testing.assert_allclose(smoothed[telling].mean(axis=0), model.occupancy_, atol=1e-9)
    assert model.n_observed_ == telling.sum() > recording(history=2).n_observed_actions


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["state", "state-action"])
def test_scoring_the_training_data_gives_the_likelihood_of_the_fit(reward):
    model, data = fitted(reward), recording(history=2)
    increments = np.concatenate([forward(model, *segment)[0] for segment in segments(data)])
    assert increments.sum() == pytest.approx(model.log_likelihoods_[-1], rel=1e-9)
    assert model.log_likelihood(data).sum() == pytest.approx(model.log_likelihoods_[-1], rel=1e-9)
    # The score is of the actions that were seen, the likelihood of those and of where the others led.
    seen = np.concatenate(data.actions) >= 0
    assert model.score(data) * model.n_scored(data) == pytest.approx(increments[seen].sum(), rel=1e-9)
    assert model.n_scored(data) == data.n_observed_actions == seen.sum() < len(seen)
    complete = truth(history=2).sample(6, 50)
    assert model.score(complete) * 300 == pytest.approx(model.log_likelihood(complete).sum(), rel=1e-9)
    for index, restart in enumerate(model.restarts_):
        other = model.use_restart(index)
        assert other.log_likelihood(data).sum() == pytest.approx(restart.log_likelihood_trace[-1], rel=1e-9)
        assert other.best_restart_ == index
    assert model.best_restart_ == int(np.argmax([r.objective for r in model.restarts_]))


def test_a_restart_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="index=7: expected a restart from 0 to 1"):
        fitted().use_restart(7)
    with pytest.raises(ValueError, match="no restarts"):
        truth().use_restart(0)


def test_uninformed_histories_are_neither_visited_nor_next_to_a_visited_one():
    env = MDP.deterministic([[0, 1], [1, 0], [2, 0]])  # nobody goes to state 2
    data = Trajectories([[0, 1, 1, 0]], [[1, 0, 1, 1]], n_states=3)
    options = {"n_modes": 1, "history": 1, "reward": "state-action", "switching": "independent"}
    model = SWIRL(env, n_restarts=1, max_iter=1, **options).fit(data)
    assert model.uninformed_.tolist() == [False, False, True]


# Limits


@pytest.mark.slow
def test_one_mode_is_maxent():
    options = {"n_restarts": 1, "max_iter": 30, "tol": 1e-12, "reward_prior": Gaussian(0.1)}
    maxent = make("MaxEnt", world(), **options).fit(recording())
    other = SWIRL(world(), n_modes=1, history=1, **options).fit(recording())
    same_policies(maxent, other, 1e-6)
    np.testing.assert_allclose(maxent.rewards_, other.rewards_, atol=1e-5)
    assert maxent.score(recording()) == pytest.approx(other.score(recording()), abs=1e-9)
    assert (np.concatenate(maxent.predict(recording())) == 0).all()
    # One mode: no hidden path matters, the likelihood is a plain sum of log π.
    states, actions = (np.concatenate(x) for x in (recording().states, recording().actions))
    seen = actions >= 0
    direct = np.log(maxent.policies_[0, states[seen], actions[seen]]).mean()
    assert maxent.score(recording()) == pytest.approx(direct, abs=1e-12)


@pytest.mark.slow
def test_a_reward_of_one_state_is_the_special_case_of_longer_histories():
    short, given = truth(history=1), truth(history=1).rewards_
    tables = {2: np.broadcast_to(given[:, :, None], (N_MODES, N_STATES, N_STATES))}
    tables[3] = np.broadcast_to(tables[2][..., None], (N_MODES, *[N_STATES] * 3))
    for history, rewards in tables.items():
        long = SWIRL.from_parameters(
            world(),
            history=history,
            rewards=rewards,
            mode_transitions=short.mode_transitions_,
            initial_modes=short.initial_modes_,
        )
        np.testing.assert_allclose(long.policies_, short.policies_[:, long.histories_[:, 0]], atol=1e-9)
        np.testing.assert_allclose(long.log_likelihood(recording()), short.log_likelihood(recording()), rtol=1e-9)
        assert [p.tolist() for p in long.predict(recording())] == [p.tolist() for p in short.predict(recording())]


@pytest.mark.slow
@pytest.mark.parametrize(("history", "per_action", "seen"), [(2, False, 1), (3, False, 2), (2, True, 2)])
def test_what_a_policy_can_see(history, per_action, seen):
    """design.md#what-a-policy-sees: r(h) gives a policy in the last max(1, L − 1) states; r(h, a) one in all L."""
    model = truth(history=history, per_action=per_action)
    full = model.histories_[:, -1] >= 0
    keys = model.histories_[full]
    policies = model.policies_[:, full]
    groups = np.unique(keys[:, :seen], axis=0, return_inverse=True)[1].reshape(-1)
    for group in range(groups.max() + 1):
        assert np.ptp(policies[:, groups == group], axis=1).max() < 1e-9
    newest = np.unique(keys[:, 0])
    spread = max(np.ptp(policies[:, keys[:, 0] == s], axis=1).max() for s in newest)
    assert (spread > 1e-2) == (seen > 1)


# Gauge and scale


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["state", "state-action"])
@pytest.mark.parametrize("kind", ["deterministic", "stochastic"])
def test_a_gauge_move_changes_the_reward_and_nothing_that_can_be_seen(kind, reward):
    model = truth(kind, 2) if reward == "state" else truth(kind, 2, per_action=True)
    histories = Histories.reachable(world(kind).successors, 2)
    per_action = reward == "state-action"
    move, _ = random_gauge(
        histories.successors, np.random.default_rng(0), discount=0.95, per_action=per_action, n_modes=N_MODES
    )
    assert np.abs(move).max() > 0.1
    moved = SWIRL.from_parameters(
        world(kind),
        history=2,
        rewards=model.rewards_ + move,
        histories=model.histories_,
        mode_transitions=model.mode_transitions_,
        initial_modes=model.initial_modes_,
    )
    data = recording(kind, 2)
    same_policies(model, moved)
    assert moved.score(data) == pytest.approx(model.score(data), abs=1e-9)
    np.testing.assert_allclose(moved.reward_table("canonical"), model.reward_table("canonical"), atol=1e-7)
    assert np.nanmax(np.abs(moved.reward_table() - model.reward_table())) > 0.1


@pytest.mark.parametrize("reward", ["state", "state-action"])
def test_the_fitted_reward_explains_the_fitted_policy(reward):
    """Planning for rewards_ leads back to policies_, in the fitted and in the canonical gauge."""
    model = fitted(reward)
    for rewards in (model.rewards_, model.reward_tables("canonical")):
        again = SWIRL.from_parameters(
            world(),
            history=2,
            rewards=rewards,
            histories=model.histories_,
            mode_transitions=model.mode_transitions_,
            initial_modes=model.initial_modes_,
            temperature=model.mode_temperatures_.tolist(),
        )
        same_policies(model, again, 1e-8)


def test_reward_and_temperature_scale_together():
    """(k r, k α) is the same model (design.md#not-identified)."""
    model = truth(history=2)
    scaled = SWIRL.from_parameters(
        world(),
        history=2,
        rewards=3 * model.rewards_,
        histories=model.histories_,
        mode_transitions=model.mode_transitions_,
        initial_modes=model.initial_modes_,
        temperature=3.0,
    )
    same_policies(model, scaled)


@pytest.mark.slow
def test_discount_and_temperature_hardly_matter_for_free_rewards():
    """Only (γ/α) V enters the policy; the prior's meaning is left, rescaled here, weak (design.md#not-identified)."""
    scores = []
    for discount, temperature in ((0.95, 1.0), (0.5, 1.0), (0.95, 0.25), (0.7, 4.0)):
        prior = Gaussian(1e-3 * (discount / 0.95 / temperature) ** 2)
        model = SWIRL(
            world(), n_modes=1, history=1, n_restarts=1, tol=1e-10,
            reward_prior=prior, discount=discount, temperature=temperature,
        )  # fmt: skip
        scores.append(model.fit(recording()).score(recording()))
    assert np.ptp(scores) < 1e-4


def test_a_temperature_for_each_mode_follows_its_mode():
    options = {**QUICK, "reward_prior": Gaussian(0.1), "temperature": [0.5, 2.0]}
    model = SWIRL(world(), **options).fit(recording(history=2))
    assert sorted(model.mode_temperatures_) == [0.5, 2.0]
    again = SWIRL.from_parameters(
        world(),
        history=2,
        rewards=model.rewards_,
        histories=model.histories_,
        mode_transitions=model.mode_transitions_,
        initial_modes=model.initial_modes_,
        temperature=model.mode_temperatures_.tolist(),
    )
    same_policies(model, again, 1e-8)


# Invariances


def relabelled(model, states, actions):
    """The same model with state s called states[s] and action a called actions[a]."""
    dense = np.zeros_like(model.env.dense())
    dense[np.ix_(states, actions, states)] = model.env.dense()
    available = np.zeros_like(model.env.available)
    available[np.ix_(states, actions)] = model.env.available
    rewards = np.empty((N_MODES, N_STATES, N_STATES))
    rewards[np.ix_(np.arange(N_MODES), states, states)] = model.reward_table()
    transitions = np.empty_like(model.mode_transitions_)
    transitions[states] = model.mode_transitions_
    return SWIRL.from_parameters(
        MDP(dense, available=available),
        history=2,
        rewards=rewards,
        mode_transitions=transitions,
        initial_modes=model.initial_modes_,
    )


@pytest.mark.parametrize("kind", ["deterministic", "stochastic"])
def test_names_of_states_and_actions_do_not_matter(kind):
    data = recording(kind, 2)
    model = SWIRL.from_parameters(  # short histories as the mean, on both sides
        world(kind),
        history=2,
        rewards=truth(kind, 2).reward_table(),
        mode_transitions=truth(kind, 2).mode_transitions_,
        initial_modes=truth(kind, 2).initial_modes_,
    )
    states, actions = np.array([3, 0, 4, 1, 2]), np.array([2, 0, 1])
    other = relabelled(model, states, actions)
    renamed = Trajectories(
        [states[s] for s in data.states],
        [np.where(a >= 0, actions[a], -1) for a in data.actions],
        gaps=data.gaps,
        n_states=N_STATES,
        n_actions=N_ACTIONS,
    )
    for of in ("action", "next_state"):
        np.testing.assert_allclose(other.log_likelihood(renamed, of=of), model.log_likelihood(data, of=of), rtol=1e-9)
    for a, b in zip(other.predict_proba(renamed), model.predict_proba(data), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.slow
def test_a_fit_does_not_depend_on_the_names_of_states_and_actions():
    """One mode: the M-step is convex, so the fit is the same function of the data whatever things are called."""
    options = {"n_modes": 1, "history": 1, "n_restarts": 1, "max_iter": 30, "tol": 1e-13, "reward_prior": Gaussian(0.1)}
    states, actions = np.array([3, 0, 4, 1, 2]), np.array([2, 0, 1])
    following = np.full((N_STATES, N_ACTIONS), -1)
    env = world()
    for s, a in np.argwhere(env.available):
        following[states[s], actions[a]] = states[env.successors.next[s, a, 0]]
    data = recording(history=2)
    renamed = Trajectories(
        [states[s] for s in data.states], [np.where(a >= 0, actions[a], -1) for a in data.actions], gaps=data.gaps
    )
    model = SWIRL(env, **options).fit(data)
    other = SWIRL(MDP.deterministic(following), **options).fit(renamed)
    assert other.objective_trace_[-1] == pytest.approx(model.objective_trace_[-1], rel=1e-9)
    np.testing.assert_allclose(other.rewards_[:, states], model.rewards_, atol=1e-4)


def test_a_fit_does_not_depend_on_the_names_of_modes():
    options = {**QUICK, "switching": "independent", "reward": "state-action"}
    model = SWIRL(world(), **{**options, "max_iter": 3}).fit(recording(history=2))
    swapped = SWIRL(world(), **{**options, "max_iter": 3}).fit(recording(history=2))
    swap = np.array([1, 0])
    swapped.restarts_ = [
        type(r)(
            Parameters(
                r.parameters.log_initial[swap],
                r.parameters.switching[swap][:, swap],
                jax.tree.map(lambda leaf: leaf[swap], r.parameters.emissions),
            ),
            r.objective_trace,
            r.log_likelihood_trace,
            r.occupancy[swap],
            r.status,
        )
        for r in swapped.restarts_
    ]
    for m in (model, swapped):
        m.set_params(max_iter=10).fit(recording(history=2), resume=True)
    np.testing.assert_allclose(swapped.objective_trace_, model.objective_trace_, rtol=1e-10)
    same_policies(model, swapped, 1e-8)  # both ordered by occupancy


def test_a_fit_does_not_depend_on_the_order_of_sessions():
    data = recording(history=2)
    other = SWIRL(world(), reward_prior=Gaussian(0.1), **QUICK).fit(data[[4, 0, 5, 2, 1, 3]])
    np.testing.assert_allclose(other.objective_trace_, fitted().objective_trace_, rtol=1e-9)
    same_policies(fitted(), other, 1e-6)
    order = [4, 0, 5, 2, 1, 3]
    np.testing.assert_allclose(fitted().log_likelihood(data[order]), fitted().log_likelihood(data)[order], rtol=1e-12)


def test_padding_adds_nothing():
    """One long session and many short ones: each scores as it does alone."""
    long = truth(history=2).sample(1, 300, random_state=5)
    short = truth(history=2).sample(40, 3, random_state=6)
    together = Trajectories.concatenate([short[:20], long, short[20:]])
    model = truth(history=2)
    alone = [forward(model, s, a)[0].sum() for s, a in segments(together)]
    np.testing.assert_allclose(model.log_likelihood(together), alone, rtol=1e-9)
    probabilities = model.filter_proba(together)
    for got, (s, a) in zip(probabilities, segments(together), strict=True):
        np.testing.assert_allclose(got, forward(model, s, a)[1], atol=1e-9)


def test_a_gap_is_a_new_session():
    data = recording(history=2)
    cut = [part for i in range(len(data)) for part in data.segments(i)]
    assert len(cut) == len(data) + 1
    apart = Trajectories(
        [s for s, _ in segments(data)], [a for _, a in segments(data)], n_states=N_STATES, n_actions=N_ACTIONS
    )
    other = SWIRL(world(), reward_prior=Gaussian(0.1), **QUICK).fit(apart)
    np.testing.assert_array_equal(other.objective_trace_, fitted().objective_trace_)
    np.testing.assert_array_equal(other.rewards_, fitted().rewards_)
    np.testing.assert_array_equal(
        np.concatenate(other.predict_proba(apart)), np.concatenate(fitted().predict_proba(data))
    )
    np.testing.assert_array_equal(other.initial_states_, fitted().initial_states_)


# Scores and decoding


@pytest.mark.parametrize("kind", ["deterministic", "stochastic"])
def test_score_and_filter_equal_the_plain_loop(kind):
    """With missing actions (latent) and a gap in the data."""
    model, data = truth(kind, 2), recording(kind, 2)
    increments, filtered = zip(*[forward(model, s, a) for s, a in segments(data)], strict=True)
    increments, seen = np.concatenate(increments), np.concatenate(data.actions) >= 0
    assert 0 < data.n_observed_actions == seen.sum() < data.n_steps
    assert model.score(data) == pytest.approx(increments[seen].mean(), rel=1e-10)
    assert model.log_likelihood(data).sum() == pytest.approx(increments.sum(), rel=1e-10)
    ends = np.cumsum(data.lengths)[:-1]
    np.testing.assert_allclose(
        model.session_scores(data), [part.sum() for part in np.split(np.where(seen, increments, 0.0), ends)], rtol=1e-10
    )
    np.testing.assert_allclose(np.concatenate(model.filter_proba(data)), np.concatenate(filtered), atol=1e-10)
    assert [len(p) for p in model.predict(data)] == data.lengths.tolist()


@pytest.mark.slow
def test_the_score_knows_nothing_of_the_future():
    """Σ over steps of what each prefix adds; a score from smoothed modes would be higher."""
    model, data = truth(history=2), recording(history=2)[1]
    whole = model.log_likelihood(data)[0]
    steps = []
    for t in (10, 20, 30, 50):
        prefix = Trajectories([data.states[0][:t]], [data.actions[0][:t]], n_states=N_STATES, n_actions=N_ACTIONS)
        steps.append(model.log_likelihood(prefix)[0])
    s, a = data.states[0], data.actions[0]
    np.testing.assert_allclose(steps, [forward(model, s[:t], a[:t])[0].sum() for t in (10, 20, 30, 50)], rtol=1e-9)
    # A missing action counts when the next state is there: a prefix that ends with one has nothing of it yet.
    increments, _ = forward(model, s, a)
    for t, total in zip((10, 20, 30, 50), steps, strict=True):
        known = increments[:t].sum() - (increments[t - 1] if a[t - 1] < 0 and t < 50 else 0.0)
        assert total == pytest.approx(known, rel=1e-9)
    smoothed = model.predict_proba(data)[0]
    rows = {tuple(row): i for i, row in enumerate(model.histories_.tolist())}
    leaking, dense = 0.0, model.env.dense()
    for t in range(50):
        policy = model.policies_[:, rows[(s[t], s[t - 1] if t else -1)]]
        if a[t] >= 0:
            leaking += np.log(smoothed[t] @ policy[:, a[t]])
        elif t + 1 < 50:
            leaking += np.log(smoothed[t] @ policy @ dense[s[t], :, s[t + 1]])
    assert whole < leaking - 1.0


def test_the_filter_at_t_does_not_change_when_later_actions_do():
    model, data = truth("stochastic", 2), recording("stochastic", 2)[1]
    states, actions = data.states[0], data.actions[0].copy()
    dense, t = world("stochastic").dense(), 20
    changed = 0
    for later in range(t + 1, len(states) - 1):
        possible = np.flatnonzero(
            (dense[states[later], :, states[later + 1]] > 0) & world("stochastic").available[states[later]]
        )
        other = possible[possible != actions[later]]
        if len(other):
            actions[later], changed = other[0], changed + 1
    assert changed > 5
    moved = Trajectories([states], [actions], n_states=N_STATES, n_actions=N_ACTIONS)
    a, b = model.filter_proba(data)[0], model.filter_proba(moved)[0]
    np.testing.assert_allclose(a[: t + 1], b[: t + 1], atol=1e-12)
    assert np.abs(a[t + 1 :] - b[t + 1 :]).max() > 1e-3
    # The smoothed probabilities do look ahead.
    assert np.abs(model.predict_proba(data)[0][: t + 1] - model.predict_proba(moved)[0][: t + 1]).max() > 1e-4


def test_the_online_filter_is_the_causal_one():
    model, data = fitted(), recording(history=2)
    online = model.online_filter()
    for i, expected in enumerate(model.filter_proba(data)):
        for t in range(len(expected)):
            if t in (0, *data.gaps[i]):
                online.reset()
            np.testing.assert_allclose(online.update(data.states[i][t], data.actions[i][t]), expected[t], atol=1e-10)


def test_next_states_are_likelier_than_actions():
    """Where two actions lead to the same place their probabilities add up."""
    model, data = truth(history=2), recording(history=2)
    gain = model.log_likelihood(data, of="next_state") - model.log_likelihood(data, of="action")
    assert (gain >= -1e-12).all()
    assert gain.max() > 0.1
    # Where the action is missing the next state is known all the same; at the end of a segment only by the action.
    ends = sum(a[-1] >= 0 for _, a in segments(data))
    known = sum(len(s) - 1 for s, _ in segments(data)) + ends
    assert model.n_scored(data, of="next_state") == known > model.n_scored(data) == data.n_observed_actions
    # One mode: a plain sum.
    model, following = make_one_mode(), world().successors.next[..., 0]
    total, count = 0.0, 0
    for states, actions in segments(data):
        for t, (s, a) in enumerate(zip(states, actions, strict=True)):
            if a >= 0 or t + 1 < len(states):
                after = following[s, a] if a >= 0 else states[t + 1]
                total += np.log(model.policies_[0, s, world().available[s] & (following[s] == after)].sum())
                count += 1
    assert count == known
    assert model.log_likelihood(data, of="next_state").sum() == pytest.approx(total, rel=1e-10)


def test_without_any_action_the_next_states_are_what_is_seen():
    model, data = truth(history=2), recording(history=2)
    silent = Trajectories(data.states, None, gaps=data.gaps, n_states=N_STATES, n_actions=N_ACTIONS)
    expected = [forward(model, s, a)[0].sum() for s, a in segments(silent)]
    expected = [expected[0] + expected[1], *expected[2:]]  # the first session has the gap
    np.testing.assert_allclose(model.log_likelihood(silent), expected, rtol=1e-10)
    np.testing.assert_allclose(model.log_likelihood(silent, of="next_state"), expected, rtol=1e-10)
    assert max(expected) < -1
    # The filter starts from the prior, and learns of the first step when the second is there.
    first, (s, after) = model.filter_proba(silent)[0], data.states[0][:2]
    np.testing.assert_allclose(first[0], model.initial_modes_, atol=1e-12)
    (row,) = np.flatnonzero((model.histories_ == [s, -1]).all(axis=1))
    learnt = model.initial_modes_ * (model.policies_[:, row] @ world().dense()[s, :, after])
    np.testing.assert_allclose(first[1], learnt / learnt.sum() @ model.mode_transitions_[s], atol=1e-12)
    assert np.abs(first[1] - model.initial_modes_ @ model.mode_transitions_[s]).max() > 1e-3
    with pytest.raises(ValueError, match=r'no action was observed.*of="next_state"'):
        model.score(silent)
    known = sum(len(s) - 1 for s, _ in segments(silent))
    assert model.score(silent, of="next_state") == pytest.approx(sum(expected) / known, rel=1e-10)


def test_steps_of_which_nothing_is_known_are_neutral():
    """Segments of one step without an action: no likelihood, and the modes as they begin."""
    model, data = truth(history=2), recording(history=2)
    lone = Trajectories([s[:3] for s in data.states], gaps=[[1, 2]] * 6, n_states=N_STATES, n_actions=N_ACTIONS)
    np.testing.assert_allclose(model.log_likelihood(lone), 0, atol=1e-10)
    for probabilities in (*model.filter_proba(lone), *model.predict_proba(lone)):
        np.testing.assert_allclose(probabilities, [model.initial_modes_] * 3, atol=1e-12)
    for of in ("action", "next_state"):
        with pytest.raises(ValueError, match=f"no {of.replace('_', ' ')} was observed"):
            model.score(lone, of=of)


# Given parameters


def test_dense_and_long_rewards_are_the_same_model():
    model = truth(history=2)
    common = {
        "history": 2,
        "mode_transitions": model.mode_transitions_,
        "initial_modes": model.initial_modes_,
    }
    full = model.histories_[:, -1] >= 0
    dense = SWIRL.from_parameters(world(), rewards=model.reward_table(), **common)
    long = SWIRL.from_parameters(world(), rewards=model.rewards_[:, full], histories=model.histories_[full], **common)
    np.testing.assert_allclose(dense.rewards_, long.rewards_, rtol=1e-12)
    np.testing.assert_allclose(dense.rewards_[:, full], model.rewards_[:, full], rtol=1e-12)
    order = np.random.default_rng(0).permutation(len(model.histories_))
    whole = SWIRL.from_parameters(
        world(), rewards=model.rewards_[:, order], histories=model.histories_[order], **common
    )
    np.testing.assert_array_equal(whole.rewards_, model.rewards_)  # short ones were given: used as they are
    # A short history takes the mean over its completions.
    for row in np.flatnonzero(~full):
        completions = full & (model.histories_[:, 0] == model.histories_[row, 0])
        np.testing.assert_allclose(dense.rewards_[:, row], model.rewards_[:, completions].mean(axis=1), rtol=1e-12)


def test_parameters_are_used_as_given():
    model = truth(history=2)
    assert model.initial_modes_.tolist() == [0.6, 0.4]
    fixed = SWIRL.from_parameters(
        world(), history=1, rewards=np.zeros((2, N_STATES)), mode_transitions=np.eye(2), initial_modes=[0.1, 0.9]
    )
    assert fixed.initial_modes_.tolist() == [0.1, 0.9]  # not re-ordered
    np.testing.assert_array_equal(fixed.mode_transitions_, np.broadcast_to(np.eye(2), (N_STATES, 2, 2)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"initial_modes": [0.5, 0.6]}, "initial_modes sums to 1.1: expected 1"),
        ({"initial_modes": [1.0]}, r"initial_modes has shape \(1,\): expected \(2,\)"),
        ({"mode_transitions": np.full((2, 2), 0.4)}, r"mode_transitions\[0, 0\] sums to 0.8: expected 1"),
        ({"mode_transitions": np.eye(3)}, "mode_transitions has shape"),
        ({"rewards": np.zeros((2, 4))}, "rewards has shape"),
        ({"rewards": np.full((2, N_STATES), np.nan)}, r"rewards\[0\] is (nan|NaN) at the reachable history \[0\]"),
        ({"rewards": np.full((2, N_STATES), np.inf)}, r"rewards\[0\] is inf at the reachable history \[0\]"),
        (
            {"rewards": np.full((2, N_STATES), np.nan), "histories": np.arange(N_STATES)[:, None]},
            r"is nan at (the reachable )?history",
        ),
        ({"rewards": np.zeros((2, 4)), "histories": np.arange(4)[:, None]}, r"lacks the reachable history \[4\]"),
        ({"history": 0}, "history=0"),
        ({"discount": 1.0}, "discount=1.0: expected a number between 0 and 1"),
        ({"temperature": [1.0, 1.0, 1.0]}, "temperature has 3 entries"),
    ],
)
def test_parameters_that_cannot_be_are_refused(change, told):
    given = {
        "history": 1,
        "rewards": np.zeros((2, N_STATES)),
        "mode_transitions": np.eye(2),
        "initial_modes": [0.5, 0.5],
    }
    SWIRL.from_parameters(world(), **given)
    with pytest.raises(ValueError, match=told):
        SWIRL.from_parameters(world(), **{**given, **change})


@pytest.mark.slow
def test_a_reward_missing_for_an_action_that_exists_is_refused():
    rewards = np.zeros((1, N_STATES, N_ACTIONS))
    rewards[0, 1, 2] = np.nan  # not available: may be missing
    given = {"history": 1, "mode_transitions": [[1.0]], "initial_modes": [1.0]}
    SWIRL.from_parameters(world(), rewards=rewards, **given)
    rewards[0, 2, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"rewards\[0\] is nan at the reachable history \[2\] \(newest first\), action 1"
    ):
        SWIRL.from_parameters(world(), rewards=rewards, **given)


# Tables, maps, matching, samples


@pytest.mark.slow
def test_reward_table_and_map():
    model = truth(history=2)
    table = model.reward_table()
    assert table.shape == (N_MODES, N_STATES, N_STATES)
    possible = (world().dense() * world().available[..., None]).sum(axis=1).T > 0  # [state, previous]
    assert (np.isfinite(table[0]) == possible).all()
    np.testing.assert_allclose(model.reward_map(), np.nanmean(table, axis=2), rtol=1e-12)
    per_action = truth(history=1, per_action=True)
    rewards = np.where(world().available, per_action.reward_table(), np.nan)
    assert per_action.reward_table().shape == (N_MODES, N_STATES, N_ACTIONS)
    assert np.isfinite(rewards[:, world().available]).all()
    with pytest.raises(ValueError, match='gauge=\'least\': expected "fitted" or "canonical"'):
        model.reward_table("least")


def test_the_canonical_table_is_the_smallest():
    model = fitted()
    full = model.histories_[:, -1] >= 0
    canonical, own = (np.nansum(model.reward_table(g) ** 2, axis=(1, 2)) for g in ("canonical", "fitted"))
    assert (canonical <= own + 1e-9).all()
    assert full.any()


def test_state_policies_are_means_over_histories():
    model = truth(history=2, per_action=True)
    for s in range(N_STATES):
        rows = (model.histories_[:, 0] == s) & (model.histories_[:, 1] >= 0)
        np.testing.assert_allclose(model.state_policies()[:, s], model.policies_[:, rows].mean(axis=1), rtol=1e-12)


def test_modes_are_matched_to_a_reference():
    model = truth(history=2)
    swapped = SWIRL.from_parameters(
        world(),
        history=2,
        rewards=model.rewards_[::-1] + 0.01,
        histories=model.histories_,
        mode_transitions=model.mode_transitions_[:, ::-1][:, :, ::-1],
        initial_modes=model.initial_modes_[::-1],
    )
    aligned = swapped.align_to(model)
    same_policies(model, aligned, 1e-6)
    np.testing.assert_allclose(aligned.mode_transitions_, model.mode_transitions_)
    np.testing.assert_allclose(aligned.initial_modes_, model.initial_modes_)
    np.testing.assert_array_equal(swapped.initial_modes_, model.initial_modes_[::-1])  # a copy: the other is untouched
    with pytest.raises(ValueError, match="same number of modes"):
        model.align_to(make_one_mode())


def make_one_mode():
    return SWIRL.from_parameters(
        world(), history=1, rewards=np.zeros((1, N_STATES)), mode_transitions=[[1.0]], initial_modes=[1.0]
    )


def test_samples_have_the_frequencies_of_the_model():
    model = truth("stochastic", 2)
    data = model.sample(400, 30, random_state=1)
    assert data.modes is not None
    assert (len(data), data.n_steps) == (400, 12_000)
    states, actions, modes = (np.stack(x) for x in (data.states, data.actions, data.modes))
    assert np.bincount(modes[:, 0], minlength=2)[0] / 400 == pytest.approx(0.6, abs=0.08)
    switched = np.zeros((N_STATES, N_MODES, N_MODES))
    np.add.at(switched, (states[:, :-1], modes[:, :-1], modes[:, 1:]), 1)
    seen = switched.sum(axis=2, keepdims=True)
    often = seen[..., 0] > 300
    np.testing.assert_allclose((switched / np.maximum(seen, 1))[often], model.mode_transitions_[often], atol=0.08)
    moved = np.zeros((N_STATES, N_ACTIONS, N_STATES))
    np.add.at(moved, (states[:, :-1], actions[:, :-1], states[:, 1:]), 1)
    tried = moved.sum(axis=2, keepdims=True)
    often = tried[..., 0] > 300
    np.testing.assert_allclose((moved / np.maximum(tried, 1))[often], world("stochastic").dense()[often], atol=0.08)
    again, other = model.sample(3, 10, random_state=1), model.sample(3, 10, random_state=2)
    assert again.fingerprint() == model.sample(3, 10, random_state=1).fingerprint() != other.fingerprint()


@pytest.mark.slow
def test_a_fit_to_samples_finds_the_policies_back():
    model = truth(history=1, per_action=True, seed=2)  # both modes visit every state
    data = model.sample(60, 60, random_state=2)
    found = SWIRL(world(), n_modes=2, history=1, reward="state-action", switching="state-table", n_restarts=4)
    found = found.fit(data).align_to(model)
    assert found.score(data) >= model.score(data)
    np.testing.assert_allclose(found.policies_, model.policies_, atol=0.15)


# Modes that last (priors.Bouts)


def two_habits(steps, strength):
    """Mode 0 takes action 0, mode 1 action 1 (2 where there is no 1), the more surely the stronger; bouts last."""
    made = truth(per_action=True)
    rewards = np.where(np.isnan(made.rewards_), np.nan, 0.0)
    rewards[0, :, 0] = rewards[1, :, 1] = strength
    rewards[1, 3, 1:] = np.nan, strength
    leave = 1 / steps
    return SWIRL.from_parameters(
        made.env,
        history=1,
        rewards=rewards,
        histories=made.histories_,
        mode_transitions=[[1 - leave, leave], [leave, 1 - leave]],
        initial_modes=[0.5, 0.5],
    )


HABITS = {"n_modes": 2, "history": 1, "reward": "state-action", "n_restarts": 3, "max_iter": 200}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["compiled", "scan", "associative"])
def test_the_objective_with_bouts_never_falls_in_any_engine(engine):
    model = SWIRL(world(), switching_prior=Bouts(30.0, 5.0), **{**HABITS, "max_iter": 30, "tol": 1e-9})
    model.fit(recording(per_action=True), engine=engine)
    for restart in model.restarts_:
        assert (np.diff(restart.objective_trace) >= -1e-9 * np.abs(restart.objective_trace[:-1])).all()


@pytest.mark.slow
def test_modes_last_as_long_as_is_believed_where_nothing_else_is_known(tmp_path):
    """Few steps against many believed: the fitted mean bout, by occupancy, is the one asked for; so it is in a file."""
    data = recording(per_action=True, n_sessions=2, n_steps=20)
    prior = Bouts(40.0, strength=1e4)
    for form in ("independent", "state", "state-table"):  # the network: in test_switching.py
        model = SWIRL(world(), switching=form, switching_prior=prior, **{**HABITS, "n_restarts": 1}).fit(data)
        np.testing.assert_allclose(model.bout_lengths(data), 40.0, rtol=0.02)
    arhmm = make("rARHMM", world(), n_modes=2, switching_prior=prior, n_restarts=1).fit(data)
    np.testing.assert_allclose(arhmm.bout_lengths(data), 40.0, rtol=0.02)
    loaded = load(model.save(tmp_path / "fit.nc"))
    assert loaded.switching_prior == prior
    np.testing.assert_allclose(loaded.use_restart(0).bout_lengths(data), model.bout_lengths(data))


@pytest.mark.slow
def test_bout_lengths_weigh_states_by_how_often_a_mode_is_there():
    model, data = truth(), recording()
    probable, states = np.concatenate(model.predict_proba(data)), np.concatenate(data.states)
    for mode in range(N_MODES):
        leave = [1 - model.mode_transitions_[s, mode, mode] for s in states]
        assert model.bout_lengths(data)[mode] == pytest.approx(1 / np.average(leave, weights=probable[:, mode]))
    one = SWIRL(world(), switching_prior=Bouts(50.0), **{**HABITS, "n_modes": 1, "max_iter": 3}).fit(data)
    assert one.bout_lengths(data) == [np.inf]


@pytest.mark.slow
def test_with_few_data_a_belief_in_long_bouts_finds_them():
    true = two_habits(100.0, strength=1.5)
    data = true.sample(4, 60, random_state=2)
    free, sticky = (SWIRL(world(), switching_prior=p, **HABITS).fit(data) for p in (None, Bouts(100.0, 20.0)))
    switches = [switch_rate(model.predict(data)) for model in (free, sticky)]
    assert switches[0] > 2 * switch_rate(data.modes)
    assert switches[1] == pytest.approx(switch_rate(data.modes), rel=0.5)
    agree = [
        np.mean(np.concatenate(m.align_to(true).predict(data)) == np.concatenate(data.modes)) for m in (free, sticky)
    ]
    assert agree[1] > agree[0]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["independent", "state"])
def test_with_many_data_a_wrong_belief_does_little_harm(form):
    """In each mode 30,000 steps of data against 500 believed: (30,000 + 500) / (6,000 + 10) is 1.5 % more than 5."""
    data = two_habits(5.0, strength=8.0).sample(300, 200, random_state=0)
    options = {**HABITS, "switching": form, "n_restarts": 1, "tol": 0.1}
    free, sticky = (SWIRL(world(), switching_prior=p, **options).fit(data) for p in (None, Bouts(50.0, 10.0)))
    np.testing.assert_allclose(free.bout_lengths(data), 5.0, rtol=0.1)
    np.testing.assert_allclose(sticky.bout_lengths(data), free.bout_lengths(data), rtol=0.05)


# What is refused: in an interpreter without run-time type checks, as a user has it


MISTAKES = {
    "env": ("SWIRL(env.dense()).fit(data)", ["env is ndarray", "swirl.MDP(transitions)"]),
    "n_modes": ("SWIRL(env, n_modes=0).fit(data)", ["n_modes=0", "at least 1"]),
    "history": ("SWIRL(env, history='2').fit(data)", ["history='2'", "whole number"]),
    "switching": ("SWIRL(env, switching='sticky').fit(data)", ["switching='sticky'", "'state-table'"]),
    "reward": ("SWIRL(env, reward='states').fit(data)", ["reward='states'", "rewards.Linear"]),
    "reward array": ("SWIRL(env, reward=np.zeros(5)).fit(data)", ["reward=array", "rewards.Linear(features)"]),
    "discount": ("SWIRL(env, discount=1).fit(data)", ["discount=1", "between 0 and 1"]),
    "no discount": ("SWIRL(env, discount=None).fit(data)", ["discount=None", "between 0 and 1"]),
    "temperature": ("SWIRL(env, temperature=[1, 2, 3]).fit(data)", ["temperature has 3 entries", "n_modes=2"]),
    "hot": ("SWIRL(env, temperature='hot').fit(data)", ["temperature='hot'", "positive number"]),
    "reward_prior": ("SWIRL(env, reward_prior=0.5).fit(data)", ["reward_prior=0.5", "priors.Gaussian"]),
    "prior of another": (
        "SWIRL(env, reward='state-action', reward_prior=priors.Cauchy()).fit(data)",
        ["reward_prior=Cauchy", "priors.Dirichlet"],
    ),
    "switching_prior": (
        "SWIRL(env, switching_prior=priors.Dirichlet()).fit(data)",
        ["switching_prior=Dirichlet", "priors.Gaussian"],
    ),
    "bouts": (
        "SWIRL(env, switching_prior=priors.Bouts('long')).fit(data)",
        ["steps='long'", "expected a finite number"],
    ),
    "bouts besides": ("priors.Bouts(50, besides=0.1)", ["besides=0.1", "priors.Gaussian"]),
    "impossible": ("SWIRL(env, impossible='skip').fit(data)", ["impossible='skip'", '"forget"']),
    "tol": ("SWIRL(env, tol=None).fit(data)", ["tol=None", "> 0"]),
    "random_state": ("SWIRL(env, random_state=-1).fit(data)", ["random_state=-1", "at least 0"]),
    "engine": ("SWIRL(env).fit(data, engine='gpu')", ["engine='gpu'", "compiled"]),
    "lists for data": ("SWIRL(env).fit([[0, 1, 0]])", ["data is list", "swirl.Trajectories(states, actions)"]),
    "no actions": (
        "SWIRL.from_parameters(env, **given).score(Trajectories([[0, 1]], n_actions=2))",
        ["no action was observed", 'of="next_state"'],
    ),
    "nothing at all": (
        "SWIRL(env).fit(Trajectories([[0], [1]], n_states=2))",
        ["no session holds an action, or two states in a row", "two steps or more"],
    ),
    "of": ("SWIRL.from_parameters(env, **given).score(data, of='actions')", ["of='actions'", '"next_state"']),
    "not fitted": ("SWIRL(env).predict(data)", ["not fitted yet", "fit(train)"]),
    "features": ("SWIRL(env, reward=rewards.Linear(np.eye(4))).fit(data)", ["features has 4 rows", "2 states"]),
    "state": ("SWIRL(env).fit(Trajectories([[0, 2]], [[0, 1]]))", ["state", "2"]),
    "table": ("SWIRL(env, switching=switching.Fixed(np.eye(3))).fit(data)", ["table has shape (3, 3)", "2 modes"]),
    "set_params": ("SWIRL(env).set_params(modes=3)", ["modes: no such parameter", "n_modes"]),
    "several": ("SWIRL(env, n_modes=0, tol=0).fit(data)", ["n_modes=0", "tol=0", "2 faults"]),
}


@pytest.mark.slow
def test_mistakes_are_answered_with_the_argument_and_the_remedy():
    """One interpreter for all of them: it has to import JAX."""
    program = f"""
import json
import numpy as np
from swirl import MDP, SWIRL, Trajectories, priors, rewards, switching
env = MDP.deterministic([[0, 1], [1, 0]])
data = Trajectories([[0, 1, 0]], [[1, 1, 0]])
given = dict(history=1, rewards=np.zeros((1, 2)), mode_transitions=[[1.0]], initial_modes=[1.0])
answers = {{}}
for name, program in {[(name, program) for name, (program, _) in MISTAKES.items()]!r}:
    try:
        eval(program)
        answers[name] = ["nothing", ""]
    except Exception as error:
        answers[name] = [[cls.__name__ for cls in type(error).__mro__], str(error)]
print(json.dumps(answers))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    wrong = {
        name: answers[name]
        for name, (_, parts) in MISTAKES.items()
        if "ValueError" not in answers[name][0] or not all(part in answers[name][1] for part in parts)
    }
    assert wrong == {}


def test_a_model_that_is_not_fitted_says_so_in_both_ways():
    for kind in (ValueError, AttributeError, NotFittedError):
        with pytest.raises(kind, match="not fitted yet"):
            SWIRL(world()).score(recording())


def test_an_impossible_move_is_an_error_a_gap_or_forgotten():
    env, states = world(), [0, 1, 4, 0, 1]  # no action leads from 1 to 4
    data = Trajectories([states], [[0, 0, 0, 0, 0]], n_states=N_STATES, n_actions=N_ACTIONS)
    given = {
        "history": 2,
        "rewards": truth(history=2).reward_table(),
        "mode_transitions": truth(history=2).mode_transitions_,
        "initial_modes": truth(history=2).initial_modes_,
    }
    with pytest.raises(ValueError, match="session 0, step"):
        SWIRL.from_parameters(env, **given).score(data)
    gap = SWIRL.from_parameters(env, **given, impossible="gap")
    cut = Trajectories([states], [[0, 0, 0, 0, 0]], gaps=[[2]], n_states=N_STATES, n_actions=N_ACTIONS)
    np.testing.assert_allclose(gap.filter_proba(data)[0], gap.filter_proba(cut)[0], atol=1e-12)
    forget = SWIRL.from_parameters(env, **given, impossible="forget")
    # The history restarts, the mode chain goes on.
    expected = forget.filter_proba(data)[0]
    modes = expected[1] @ forget.mode_transitions_[1]
    first = np.flatnonzero((forget.histories_ == [4, -1]).all(axis=1))[0]
    joint = modes * forget.policies_[:, first, 0]
    np.testing.assert_allclose(expected[2], joint / joint.sum(), atol=1e-12)
    online = forget.online_filter()
    np.testing.assert_allclose([online.update(s, 0) for s in states], expected, atol=1e-12)


def test_a_map_of_state_action_rewards_is_not_the_number_of_choices():
    """r(h, a) = log π in its fitted gauge: a state with one action would always be the best."""
    env = MDP.deterministic([[1, 1], [0, 2], [1, -1]])
    rewards = np.log([[[0.5, 0.5], [0.9, 0.1], [1.0, np.nan]]])
    model = SWIRL.from_parameters(
        env, history=1, rewards=rewards, mode_transitions=np.ones((1, 1)), initial_modes=np.ones(1)
    )
    np.testing.assert_allclose(model.reward_map("fitted")[0], np.nanmean(rewards[0], axis=1))
    np.testing.assert_allclose(model.reward_map()[0], np.nanmean(model.reward_table("canonical")[0], axis=1))
    assert np.argmax(model.reward_map("fitted")[0]) == 2


def test_a_seed_may_be_drawn_and_is_kept(tmp_path):
    rng, given = np.random.RandomState(3), {**QUICK, "max_iter": 2, "reward_prior": Gaussian(0.1)}
    one, two = (SWIRL(world(), random_state=rng, **given).fit(recording(history=2)) for _ in range(2))
    seeds = [model.fitted_params["random_state"] for model in (one, two)]
    assert seeds[0] != seeds[1]
    assert one.random_state is rng
    again = SWIRL(world(), random_state=seeds[0], **given).fit(recording(history=2))
    np.testing.assert_array_equal(one.policies_, again.policies_)
    assert load(one.save(tmp_path / "one.nc")).random_state == seeds[0]
    free = SWIRL(world(), random_state=None, **given).fit(recording(history=2))
    assert free.random_state is None
    assert free.fitted_params["random_state"] >= 0
    with pytest.raises(ValueError, match="must begin from the same seed again; give a whole number, or no checkpoint"):
        SWIRL(world(), random_state=None, **given).fit(recording(history=2), checkpoint=tmp_path / "kept")
    with pytest.raises(ValueError, match="random_state='one': expected a whole number"):
        SWIRL(world(), random_state="one", **given).fit(recording(history=2))


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(3)])
def test_arguments_stay_as_given_while_a_fit_runs_and_another_one_begins(random_state):
    """The second fit begins within the first and outlives it: neither may leave a seed in the arguments."""
    model = SWIRL(world(), random_state=random_state, **{**QUICK, "max_iter": 2, "reward_prior": Gaussian(0.1)})
    given, seen = model.get_params(), []
    second_runs, first_is_done = threading.Event(), threading.Event()

    def in_the_second(_):
        second_runs.set()
        assert first_is_done.wait(60)

    second = threading.Thread(target=lambda: model.fit(recording(history=2), callback=in_the_second))

    def in_the_first(_):
        seen.append(model.get_params())
        if not second_runs.is_set():
            second.start()
            assert second_runs.wait(60)

    model.fit(recording(history=2), callback=in_the_first)
    assert model.get_params() == given
    first_is_done.set()
    second.join()
    assert seen
    assert all(params == given for params in [*seen, model.get_params()])


def test_a_search_for_goals_takes_the_seed_that_was_drawn(monkeypatch):
    seeds = []
    monkeypatch.setattr(goal_search, "search_goals", lambda like, *_, **__: seeds.append(like.random_state))
    model = SWIRL(world(), reward=Goals(None), n_modes="auto", random_state=None)
    model._find_goals(recording(history=2), 7)
    assert seeds == [7]


def test_it_says_whether_it_is_fitted():
    model = SWIRL(world(), **QUICK)
    assert "fitted" not in repr(model)
    assert "Not fitted yet" in model._repr_html_()
    assert repr(fitted()).endswith(f"): fitted, 2 modes, {fitted().n_steps_:,} training steps")
    shown = fitted()._repr_html_()
    assert shown.count("<tr>") == 3
    given = truth().name_modes([f"mode called {i}" for i in range(N_MODES)])._repr_html_()  # no step was fitted
    assert given.count("mode called") == N_MODES
    assert given.count("not known") == N_MODES
    assert "100" not in given.split("<table", 1)[1]
    assert "share of steps" in shown
