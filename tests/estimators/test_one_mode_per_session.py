"""One mode per session: multi-intention inverse reinforcement learning (Babeş-Vroman et al. 2011).

With `switching="fixed"` and no table modes never switch, so a model is a mixture over segments:

    log p(segment) = log Σ_z p(z) Π_t π_z(a_t|h_t)
"""

from copy import copy
from functools import cache

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from small_worlds import N_ACTIONS, N_MODES, N_STATES, recording, truth, world
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.swirl import SWIRL
from swirl.inference.estep import numba_loop
from swirl.priors import Dirichlet
from swirl.switching import Fixed

pytestmark = pytest.mark.slow  # compiles programs of its own


@cache
def mixture(history=2, seed=0):
    """The rewards of `truth`, one of them for each segment."""
    model = truth(history=history, seed=seed)
    return SWIRL.from_parameters(
        world(),
        history=history,
        rewards=model.rewards_,
        histories=model.histories_,
        mode_transitions=np.eye(N_MODES),
        initial_modes=[0.7, 0.3],
    )


def segments(data):
    """(session, states, actions) of every segment."""
    return [(i, data.states[i][a:b], data.actions[i][a:b]) for i in range(len(data)) for a, b in data.segments(i)]


def joint(model, states, actions):
    """log p(z) Π_t π_z(a_t|h_t) of one segment, step by step; a missing action by where it led, Σ_a π_z P(s'|s,a)."""
    dense = model.env.dense() * model.env.available[..., None]
    rows = {tuple(row): i for i, row in enumerate(model.histories_.tolist())}
    total = np.log(model.initial_modes_)
    for t, action in enumerate(actions):
        past = tuple(int(states[t - lag]) if t >= lag else -1 for lag in range(model.histories_.shape[1]))
        if action >= 0:
            total = total + np.log(model.policies_[:, rows[past], action])
        elif t + 1 < len(states):
            total = total + np.log(model.policies_[:, rows[past]] @ dense[states[t], :, states[t + 1]])
    return total


# What a mixture over segments says of data: some actions are missing, session 0 has a gap


def test_likelihood_is_that_of_a_mixture_over_segments():
    model, data = mixture(), recording(history=2)
    expected = np.zeros(len(data))
    for session, states, actions in segments(data):
        expected[session] += logsumexp(joint(model, states, actions))
    np.testing.assert_allclose(model.log_likelihood(data), expected, rtol=1e-12)


def test_a_segment_has_one_mode_with_the_posterior_of_the_mixture():
    model, data = mixture(), recording(history=2)
    posteriors = [softmax(joint(model, states, actions)) for _, states, actions in segments(data)]
    lengths = [len(states) for _, states, _ in segments(data)]
    cuts = np.cumsum(lengths)[:-1]
    smoothed = np.split(np.concatenate(model.predict_proba(data)), cuts)
    filtered = np.split(np.concatenate(model.filter_proba(data)), cuts)
    predicted = np.split(np.concatenate(model.predict(data)), cuts)
    for n, posterior, rows, causal, path in zip(lengths, posteriors, smoothed, filtered, predicted, strict=True):
        np.testing.assert_allclose(rows, np.tile(posterior, (n, 1)), atol=1e-12)
        np.testing.assert_allclose(causal[-1], posterior, atol=1e-12)  # nothing follows the last step
        assert path.tolist() == [np.argmax(posterior)] * n
    assert len({int(np.argmax(posterior)) for posterior in posteriors}) == N_MODES
    assert any(posterior.min() > 1e-6 for posterior in posteriors)  # not all of them certain


def test_evidence_is_weighed_over_the_whole_segment():
    """A mode that is e^−900 behind can still win: its share is never rounded to nothing."""
    env = MDP.deterministic(np.tile(np.arange(N_STATES)[:, None], (1, N_ACTIONS)))
    rewards = np.zeros((N_MODES, N_STATES, N_ACTIONS))
    rewards[0, :, 0] = rewards[1, :, 1] = 30.0
    model = SWIRL.from_parameters(
        env, history=1, rewards=rewards, mode_transitions=np.eye(N_MODES), initial_modes=[0.5, 0.5]
    )
    later = [20, 29, 31, 32, 20, 29, 31, 32]  # actions of mode 1, after 30 of mode 0
    data = Trajectories(
        [np.zeros(30 + n, dtype=int) for n in later],
        [np.repeat([0, 1], [30, n]) for n in later],
        n_states=N_STATES,
        n_actions=N_ACTIONS,
    )
    assert [set(path.tolist()) for path in model.predict(data)] == [{int(n > 30)} for n in later]
    for n, smoothed, filtered in zip(later, model.predict_proba(data), model.filter_proba(data), strict=True):
        posterior = softmax([0.0, 30.0 * (n - 30)])
        np.testing.assert_allclose(smoothed, np.tile(posterior, (30 + n, 1)), rtol=1e-9)
        np.testing.assert_allclose(filtered[-1], posterior, rtol=1e-9)


def test_a_gap_is_where_the_mode_may_change():
    """The chain restarts at a gap, so the segments of one session are drawn, and decoded, each on its own."""
    model = mixture()
    drawn = model.sample(20, 60, random_state=3)
    first, second = (next(i for i, path in enumerate(drawn.modes) if path[0] == mode) for mode in range(N_MODES))
    states, actions = (np.concatenate([x[first][:30], x[second][:30]]) for x in (drawn.states, drawn.actions))
    # Six more sessions for the company: the shapes of `recording`, so that nothing is compiled again.
    sessions = [[states, *drawn.states[:6]], [actions, *drawn.actions[:6]]]
    sizes = {"n_states": N_STATES, "n_actions": N_ACTIONS}
    cut, whole = Trajectories(*sessions, gaps=[[30], *[[]] * 6], **sizes), Trajectories(*sessions, **sizes)
    assert model.predict(cut)[0].tolist() == [0] * 30 + [1] * 30
    halves = [logsumexp(joint(model, states[part], actions[part])) for part in (slice(30), slice(30, 60))]
    assert model.log_likelihood(cut)[0] == pytest.approx(sum(halves), rel=1e-12)
    # Without the gap (the jump between the halves forgotten) it is one segment, hence one mode for both halves.
    joined = copy(model).set_params(impossible="forget")
    assert len(set(joined.predict(whole)[0].tolist())) == 1
    assert joined.log_likelihood(whole)[0] < sum(halves) - 1.0


# Fitting


def numpy_em(data, env, policies, initial, pseudocount):
    """EM of a mixture over segments: policies [mode, state, action] and p(z) after each iteration, with the objective.

    The objective belongs to the parameters beside it, as in `objective_trace_`; the first are those given.
    """
    n_modes, available = len(initial), env.available
    dense = env.dense() * available[..., None]
    moves = np.zeros((len(segments(data)), N_STATES, N_STATES))  # whose action was not seen
    for of_segment, (_, states, actions) in zip(moves, segments(data), strict=True):
        unseen = np.flatnonzero(actions[:-1] < 0)
        np.add.at(of_segment, (states[unseen], states[unseen + 1]), 1)
    counts = np.zeros((len(segments(data)), N_STATES, N_ACTIONS))
    for of_segment, (_, states, actions) in zip(counts, segments(data), strict=True):
        np.add.at(of_segment, (states[actions >= 0], actions[actions >= 0]), 1)
    while True:
        log_policies = np.log(np.where(available, policies, 1.0))
        ways = policies[..., None] * dense  # [mode, state, action, next state]
        reached = ways.sum(axis=2)
        log_reached = np.log(np.where(reached > 0, reached, 1.0))
        log_joint = np.log(initial) + np.einsum("nsa,zsa->nz", counts, log_policies)
        log_joint = log_joint + np.einsum("nst,zst->nz", moves, log_reached)
        shares = softmax(log_joint, axis=1)
        prior = np.log(initial).sum() + pseudocount * log_policies.sum()
        weights = np.einsum("nz,nsa->zsa", shares, counts)
        share_of_way = ways / np.where(reached > 0, reached, 1.0)[:, :, None]
        weights = weights + np.einsum("nz,nst,zsat->zsa", shares, moves, share_of_way)
        order = np.argsort(-weights.sum(axis=(1, 2)), kind="stable")  # modes as a fit shows them
        yield policies[order], initial[order], logsumexp(log_joint, axis=1).sum() + prior
        smoothed = np.where(available, weights + pseudocount, 0.0)
        policies = smoothed / smoothed.sum(axis=2, keepdims=True)
        initial = (shares.sum(axis=0) + 1) / (len(counts) + n_modes)  # p(z_1) has a Dirichlet prior of its own


def many_short():
    """Sessions too short to be sure of their mode, so that EM has a way to go."""
    return recording(n_sessions=30, n_steps=12)


@pytest.mark.slow
def test_em_is_that_of_a_plain_mixture_iteration_by_iteration():
    data, env = many_short(), world()
    model = SWIRL(
        env, n_modes=3, history=1, switching="fixed", reward="state-action",
        reward_prior=Dirichlet(0.5), n_restarts=4, max_iter=1, tol=1e-15,
    )  # fmt: skip
    model.fit(data)
    restarts = [model.use_restart(i) for i in range(4)]
    plain = [numpy_em(data, env, m.policies_, m.initial_modes_, 0.5) for m in restarts]
    first = [m.objective_trace_[-1] for m in restarts]
    for iteration in range(8):
        if iteration:
            model.fit(data, resume=True)  # one iteration more
        for i, reference in enumerate(plain):
            own = model.use_restart(i)
            policies, initial, objective = next(reference)
            assert own.objective_trace_[-1] == pytest.approx(objective, rel=1e-12)
            np.testing.assert_allclose(own.policies_, policies, atol=1e-10)
            np.testing.assert_allclose(own.initial_modes_, initial, atol=1e-10)
            np.testing.assert_array_equal(own.mode_transitions_, np.broadcast_to(np.eye(3), (N_STATES, 3, 3)))
    gains = np.subtract([r.objective for r in model.restarts_], first)
    assert min(gains[1::2]) > 1.0  # the random starts had a way to go (every other restart is seeded)


@pytest.mark.slow
def test_fixed_without_a_table_is_the_identity(monkeypatch):
    # Among modes that never switch a share can shrink for ever: the E-step must be the one in logarithms.
    monkeypatch.setattr(numba_loop, "expected_counts", None)
    options = {"n_modes": 3, "history": 1, "reward": "state-action", "n_restarts": 4, "max_iter": 5}
    forms = ["fixed", Fixed(), Fixed(np.eye(3))]
    fits = [SWIRL(world(), switching=form, **options).fit(many_short()) for form in forms]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.objective_trace_, fits[0].objective_trace_)
    sampled = fits[0].sample(10, 30, random_state=0)
    assert all(len(set(path.tolist())) == 1 for path in sampled.modes)
    assert len({int(path[0]) for path in sampled.modes}) > 1


@pytest.mark.slow
def test_sessions_of_two_rewards_are_told_apart():
    """40 sessions of 60 steps, each for one of two rewards: the best restart puts every session where it belongs."""
    model = mixture(history=1, seed=2)
    data = model.sample(40, 60, random_state=4)
    found = SWIRL(world(), n_modes=2, history=1, switching="fixed").fit(data).align_to(model)
    for predicted, true in zip(found.predict(data), data.modes, strict=True):
        np.testing.assert_array_equal(predicted, true)
    sizes = np.bincount([path[0] for path in data.modes], minlength=2)
    np.testing.assert_allclose(found.initial_modes_, (sizes + 1) / (sizes.sum() + 2), atol=1e-3)
    # New sessions of the same two rewards are scored nearly as the truth scores them (one mode: 0.1 below).
    fresh = model.sample(40, 60, random_state=5)
    assert found.score(fresh) == pytest.approx(model.score(fresh), abs=0.02)
