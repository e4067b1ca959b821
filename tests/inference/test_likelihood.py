"""How likely each step is in each mode, against plain loops over steps, modes and actions."""

import numpy as np
import pytest

from swirl.data.encoding import encode
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.inference.likelihood import action_evidence, next_state_evidence

N_STATES, N_ACTIONS, N_MODES = 4, 3, 2


def random_mdp(kind, rng):
    """Some actions are not available, and in a deterministic one some actions share a successor."""
    available = rng.random((N_STATES, N_ACTIONS)) < 0.7
    available[:, 0] = True
    if kind == "deterministic":
        return MDP.deterministic(np.where(available, rng.integers(2, size=available.shape) * 2 + [[0], [1]] * 2, -1))
    dense = rng.random((N_STATES, N_ACTIONS, N_STATES)) * (rng.random((N_STATES, N_ACTIONS, N_STATES)) < 0.5)
    dense[..., 0] += 0.2
    return MDP(dense / dense.sum(-1, keepdims=True), available=available)


def random_case(kind, seed, length=2):
    """An environment, an encoded walk with gaps and missing actions, random policies and their logarithms."""
    rng = np.random.default_rng(seed)
    env = random_mdp(kind, rng)
    histories = Histories.reachable(env.successors, length)
    dense, states, actions = env.dense(), [], []
    for n in (40, 1, 25):
        s, a = np.zeros(n, int), np.zeros(n, int)
        s[0] = rng.integers(N_STATES)
        for t in range(n):
            a[t] = rng.choice(np.flatnonzero(env.available[s[t]]))
            if t + 1 < n:
                s[t + 1] = rng.choice(N_STATES, p=dense[s[t], a[t]])
        a[rng.random(n) < 0.25] = -1
        states.append(s)
        actions.append(a)
    data = Trajectories(states, actions, gaps=[[10, 11], [], [24]], n_states=N_STATES, n_actions=N_ACTIONS)
    policies = rng.dirichlet(np.ones(N_ACTIONS), size=(N_MODES, histories.n_histories))
    policies = np.where(histories.successors.available, policies, 0)
    policies /= policies.sum(axis=-1, keepdims=True)
    return env, encode(data, env, histories), policies, logarithms(policies)


def logarithms(policies):
    with np.errstate(divide="ignore"):
        return np.log(policies)


def chain_ends(encoded):
    return set((encoded.chains[1:] - 1).tolist())


def by_any_action(policy, reach):
    """Log Σ_a π(a|h) P(s'|s, a), by a plain loop."""
    return np.log(sum(policy[a] * reach[a] for a in range(N_ACTIONS)))


@pytest.mark.parametrize("kind", ["deterministic", "stochastic"])
@pytest.mark.parametrize("seed", [0, 1])
def test_actions(kind, seed):
    env, encoded, policies, log_policies = random_case(kind, seed)
    log_likelihoods, scored, later = action_evidence(log_policies, encoded, env)
    assert 0 < scored.sum() == encoded.n_observed < encoded.n_steps
    dense, ends = env.dense(), chain_ends(encoded)
    latent = silent = 0
    for t, (s, h, a) in enumerate(zip(encoded.states, encoded.histories, encoded.actions, strict=True)):
        led = a < 0 and t not in ends
        assert scored[t] == (a >= 0), "only actions that were seen count"
        assert later[t] == led
        latent += led
        silent += a < 0 and t in ends
        for z in range(N_MODES):
            expected = np.log(policies[z, h, a]) if a >= 0 else 0.0
            if led:  # the action was not seen, but where it led was
                expected = by_any_action(policies[z, h], dense[s, :, encoded.states[t + 1]])
            assert log_likelihoods[t, z] == pytest.approx(expected, abs=1e-14)
    assert latent > 5, "the test has unseen actions"
    assert silent > 0, "the test has steps of which nothing is known"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_next_states_of_a_deterministic_environment_merge_actions(seed):
    env, encoded, policies, log_policies = random_case("deterministic", seed)
    log_likelihoods, scored, later = next_state_evidence(log_policies, encoded, env)
    leads, ends = env.successors.next[:, :, 0], chain_ends(encoded)
    merged = merged_unseen = 0
    for t, (s, h, a) in enumerate(zip(encoded.states, encoded.histories, encoded.actions, strict=True)):
        assert scored[t] == (a >= 0 or t not in ends), "the last step of a chain counts too where its action was seen"
        assert later[t] == (a < 0 and t not in ends), "an action that was seen says where it leads"
        after = leads[s, a] if a >= 0 else None if t in ends else encoded.states[t + 1]
        same = [b for b in range(N_ACTIONS) if env.available[s, b] and leads[s, b] == after]
        merged += a >= 0 and len(same) > 1
        merged_unseen += a < 0 and len(same) > 1
        for z in range(N_MODES):
            expected = 0.0 if after is None else np.log(sum(policies[z, h, b] for b in same))
            assert log_likelihoods[t, z] == pytest.approx(expected, abs=1e-14)
    assert merged > 5, "the test has something to merge"
    assert merged_unseen > 0, "the test has something to merge where no action was seen"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_next_states_of_a_stochastic_environment_sum_over_actions(seed):
    env, encoded, policies, log_policies = random_case("stochastic", seed)
    log_likelihoods, scored, later = next_state_evidence(log_policies, encoded, env)
    dense, ends = env.dense(), chain_ends(encoded)
    assert (encoded.actions[scored] < 0).any(), "a missing action hides nothing: the next state is known"
    assert (encoded.actions[scored] >= 0).any()
    for t, (s, h) in enumerate(zip(encoded.states, encoded.histories, strict=True)):
        assert scored[t] == (t not in ends)
        assert later[t] == scored[t], "no action says which state follows"
        for z in range(N_MODES):
            expected = by_any_action(policies[z, h], dense[s, :, encoded.states[t + 1]]) if scored[t] else 0.0
            assert log_likelihoods[t, z] == pytest.approx(expected, abs=1e-14)


def test_the_likelihoods_of_all_next_states_sum_to_one():
    env, _, _, _ = random_case("stochastic", 0)
    histories = Histories.reachable(env.successors, 1)
    policies = np.random.default_rng(0).dirichlet(np.ones(N_ACTIONS), size=(1, N_STATES))
    policies = np.where(env.available, policies, 0)
    policies /= policies.sum(axis=-1, keepdims=True)
    possible = ((env.dense() > 0) & env.available[:, :, None]).any(axis=1)
    for s in range(N_STATES):
        data = Trajectories([[s, after] for after in np.flatnonzero(possible[s])], n_states=N_STATES)
        encoded = encode(data, env, histories)
        log_likelihoods, scored, _ = next_state_evidence(logarithms(policies), encoded, env)
        assert np.exp(log_likelihoods[scored]).sum() == pytest.approx(1)
        as_latent = action_evidence(logarithms(policies), encoded, env)  # no action was seen at all
        np.testing.assert_array_equal(as_latent.log_likelihoods, log_likelihoods)
        assert not as_latent.scored.any()


def test_an_action_of_probability_zero_has_log_likelihood_minus_infinity():
    env = MDP.deterministic([[0, 1], [0, 1]])
    encoded = encode(Trajectories([[0, 1]], [[1, 0]]), env, Histories.reachable(env.successors, 1))
    policies = np.array([[[1.0, 0.0], [1.0, 0.0]]])
    log_likelihoods, scored, _ = action_evidence(logarithms(policies), encoded, env)
    assert log_likelihoods.tolist() == [[-np.inf], [0.0]]
    assert scored.all()


def test_a_move_that_no_action_of_a_mode_makes_has_log_likelihood_minus_infinity():
    env = MDP.deterministic([[0, 1], [0, 1]])
    encoded = encode(Trajectories([[0, 1]], n_actions=2), env, Histories.reachable(env.successors, 1))
    policies = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.5, 0.5], [1.0, 0.0]]])
    log_likelihoods, scored, later = action_evidence(logarithms(policies), encoded, env)
    np.testing.assert_allclose(log_likelihoods, [[-np.inf, np.log(0.5)], [0.0, 0.0]])
    assert (scored.tolist(), later.tolist()) == ([False, False], [True, False])


def test_logarithms_of_probabilities_that_no_double_can_hold_are_kept():
    env = MDP.deterministic([[0, 1], [0, 1]])
    encoded = encode(Trajectories([[0, 1, 1]], [[1, -1, -1]]), env, Histories.reachable(env.successors, 1))
    log_policies = np.array([[[0.0, -2000.0], [0.0, -3000.0]]])
    for evidence in (action_evidence, next_state_evidence):
        assert evidence(log_policies, encoded, env).log_likelihoods.tolist() == [[-2000.0], [-3000.0], [0.0]]


# Three states; no action leads from 1 to 1 or from 0 to 2, and action 1 does not exist in state 1.
LEAKY = MDP(
    [[[0.5, 0.5, 0], [1, 0, 0]], [[0.5, 0, 0.5], [0, 1, 0]], [[0, 0, 1], [1, 0, 0]]],
    available=[[True, True], [True, False], [True, True]],
)


def forgotten(states, actions, evidence=next_state_evidence):
    histories = Histories.reachable(LEAKY.successors, 1)
    encoded = encode(Trajectories([states], [actions], n_states=3), LEAKY, histories, impossible="forget")
    assert encoded.chains.tolist() == [0, len(states)]
    policies = np.array([[[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]]])
    return evidence(logarithms(policies), encoded, LEAKY)


def test_an_impossible_move_that_was_forgotten_says_nothing():
    log_likelihoods, scored, later = forgotten([0, 2, 2], [0, 0])
    assert scored.tolist() == later.tolist() == [False, True, False]
    np.testing.assert_allclose(log_likelihoods[:, 0], [0, np.log(0.5), 0])
    log_likelihoods, scored, later = forgotten([0, 2, 2], [-1, -1], action_evidence)
    assert (scored.tolist(), later.tolist()) == ([False] * 3, [False, True, False])
    np.testing.assert_allclose(log_likelihoods[:, 0], [0, np.log(0.5), 0])


def test_the_stay_that_stands_for_an_unavailable_action_is_no_way_to_stay():
    expected = [np.log(0.25 * 0.5), 0, np.log(0.5), 0]
    log_likelihoods, scored, _ = forgotten([0, 1, 1, 2], [0, 0, 0])
    assert scored.tolist() == [True, False, True, False]
    np.testing.assert_allclose(log_likelihoods[:, 0], expected)
    log_likelihoods, _, later = forgotten([0, 1, 1, 2], [-1, -1, -1], action_evidence)
    assert later.tolist() == [True, False, True, False]
    np.testing.assert_allclose(log_likelihoods[:, 0], expected)
