"""Which model is which: the equivalences that the documentation states, as likelihoods that agree to 1e-8.

On *syllables* (action = next state), and wherever each action of a state leads to a state of its own.
"""

from copy import copy
from functools import cache

import numpy as np
import pytest

from reference_messages import enumerate_paths
from small_worlds import recording, world
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.arhmm import ARHMM
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.registry import make
from swirl.estimators.swirl import SWIRL
from swirl.precision import float64
from swirl.priors import Dirichlet, Gaussian
from swirl.rewards.soft_q import rewards_from_values

pytestmark = pytest.mark.slow  # compiles programs of its own

N_SYLLABLES, N_MODES = 4, 2
SYLLABLES = MDP.deterministic(np.tile(np.arange(N_SYLLABLES), (N_SYLLABLES, 1)))
# One action for each successor, in no order; some moves do not exist. As many labels: what is compiled serves both.
PATHS = MDP.deterministic(
    [[2, 1, 0, 3], [1, 0, 2, 3], [0, 3, 1, 2], [3, 2, 1, 0]],
    available=[
        [True, True, False, True],
        [True, True, True, True],
        [False, True, True, True],
        [True, False, True, True],
    ],
)
WORLDS = {"syllables": SYLLABLES, "paths": PATHS}
SAME = {"rtol": 0, "atol": 1e-8}


def grammar(env, seed=0, n_modes=N_MODES):
    """Strictly positive p_z(s'|s) over the states that can follow, [mode, state, next_state]."""
    rng = np.random.default_rng(seed)
    reach = (env.dense() * env.available[:, :, None]).sum(axis=1) > 0
    weights = rng.gamma(0.7, size=(n_modes, *reach.shape)) * reach + 0.02 * reach
    return weights / weights.sum(axis=2, keepdims=True)


def switching(env, seed=0):
    """P_z(z'|z, s) and p(z_1)."""
    rng = np.random.default_rng(100 + seed)
    return rng.dirichlet([4.0, 1.0], size=(env.n_states, N_MODES)), np.array([0.7, 0.3])


@cache
def walk(name="syllables", n_sessions=4, n_steps=30):
    """Sessions from a grammar with two modes; where each step led is what was done."""
    env, rng = WORLDS[name], np.random.default_rng(5)
    p, (table, initial) = grammar(env, 1), switching(env)
    led = np.full((env.n_states, env.n_states), -1)
    for s, a in zip(*np.nonzero(env.available), strict=True):
        led[s, int(np.argmax(env.dense()[s, a]))] = a
    states, actions = [], []
    for _ in range(n_sessions):
        s, z, a = [int(rng.integers(env.n_states))], rng.choice(N_MODES, p=initial), []
        while len(a) < n_steps:
            following = int(rng.choice(env.n_states, p=p[z, s[-1]]))
            a.append(led[s[-1], following])
            z = rng.choice(N_MODES, p=table[s[-1], z])
            s.append(following)
        states.append(s[:-1])
        actions.append([*a[:-1], -1])
    gaps = [[n_steps // 2], *[[]] * (n_sessions - 1)]
    return Trajectories(states, actions, gaps=gaps, n_states=env.n_states, n_actions=env.n_actions)


def arhmm_of(env, p, table, initial):
    """An ARHMM with given parameters: p_z(s'|s), P_z(z'|z, s), p(z_1)."""
    model = copy(bare_arhmm(env))
    exists = model.moves_ >= 0
    model.emissions_ = np.where(exists, np.take_along_axis(p, np.where(exists, model.moves_, 0)[None], axis=2), 0.0)
    with np.errstate(divide="ignore"):
        model.log_emissions_ = np.log(model.emissions_)
    model._set_chain(table, initial)
    return model


@cache
def bare_arhmm(env):
    name = next(name for name, other in WORLDS.items() if other is env)
    return ARHMM(env, n_restarts=1, max_iter=1).fit(walk(name))


def by_definition(env, data, policies, table, initial):
    """Log-likelihood of each session as a sum over all mode paths; policies [mode, state, action].

    Where an action is missing the step has the probability of where it led, by any action.
    """
    totals, dense = np.zeros(len(data)), env.dense()
    for i in range(len(data)):
        for a, b in data.segments(i):
            states, actions = data.states[i][a:b], data.actions[i][a:b]
            steps = np.ones((b - a, N_MODES))
            for t, (s, x) in enumerate(zip(states, actions, strict=True)):
                if x >= 0:
                    steps[t] = policies[:, s, x]
                elif t + 1 < b - a:
                    steps[t] = sum(policies[:, s, y] * dense[s, y, states[t + 1]] for y in range(env.n_actions))
            with np.errstate(divide="ignore"):
                _, log_joint = enumerate_paths(np.log(initial), np.log(table[states]), np.log(steps))
            totals[i] += np.log(np.exp(log_joint).sum())
    return totals


def short(data, n_steps=7):
    """The beginnings of the sessions: few enough steps for enumeration."""
    return Trajectories(
        [s[:n_steps] for s in data.states], [a[:n_steps] for a in data.actions],
        n_states=data.n_states, n_actions=data.n_actions,
    )  # fmt: skip


# State-action S-1 on syllables is the rARHMM, I-1 the ARHMM


@pytest.mark.slow
@pytest.mark.parametrize(
    ("swirl", "baseline", "more"),
    [
        ("S-1", "rARHMM", {}),
        ("S-1", "rARHMM", {"switching": "state-table"}),
        ("I-1", "ARHMM", {}),
    ],
)
def test_on_syllables_state_action_rewards_are_the_autoregressive_models(swirl, baseline, more):
    """Equal smoothing, the same seed: the same fit, step by step."""
    options = {"n_restarts": 2, "max_iter": 25, "tol": 1e-12, **more}
    mine = make(swirl, SYLLABLES, reward="state-action", reward_prior=Dirichlet(1.0), **options).fit(walk())
    theirs = make(baseline, SYLLABLES, emission_prior=Dirichlet(1.0), **options).fit(walk())
    np.testing.assert_allclose(mine.log_likelihood(walk()), theirs.log_likelihood(walk()), **SAME)
    np.testing.assert_allclose(mine.log_likelihood(walk(), of="next_state"), theirs.log_likelihood(walk()), **SAME)
    np.testing.assert_allclose(mine.objective_trace_, theirs.objective_trace_, **SAME)
    np.testing.assert_allclose(mine.policies_, theirs.emissions_, **SAME)
    np.testing.assert_allclose(mine.mode_transitions_, theirs.mode_transitions_, **SAME)
    assert mine.n_scored(walk()) == theirs.n_scored(walk())
    assert len(mine.objective_trace_) > 5


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_any_autoregressive_model_is_a_state_action_model(name):
    """r_z(s, a) = log p_z(where a leads | s): the policy is the table, whatever the order of the actions."""
    env, p, (table, initial) = WORLDS[name], grammar(WORLDS[name]), switching(WORLDS[name])
    with np.errstate(divide="ignore"):
        rewards = np.where(env.available, np.log(np.einsum("zsx,sax->zsa", p, env.dense())), np.nan)
    theirs = arhmm_of(env, p, table, initial).log_likelihood(walk(name))
    for discount in (0.3, 0.95):  # discount does not matter for free rewards r(h, a) in this gauge
        mine = SWIRL.from_parameters(
            env, history=1, rewards=rewards, mode_transitions=table, initial_modes=initial, discount=discount
        )
        np.testing.assert_allclose(mine.log_likelihood(walk(name)), theirs, **SAME)


# State-only rewards: L = 2 spans the rARHMM's family, L = 1 does not


@pytest.mark.slow
@pytest.mark.parametrize(("discount", "temperature"), [(0.95, 1.0), (0.6, 0.5)])
@pytest.mark.parametrize("name", WORLDS)
def test_any_rarhmm_is_a_state_only_model_of_two_states(name, discount, temperature):
    """V_z(s', s) = (α/γ) log p_z(s'|s), and the reward of these values by the inverse operator."""
    env, p, (table, initial) = WORLDS[name], grammar(WORLDS[name]), switching(WORLDS[name])
    histories = Histories.reachable(env.successors, 2)
    full = histories.full_length
    values = np.random.default_rng(3).normal(size=(N_MODES, histories.n_histories))  # of starts: anything
    newest, before = histories.table[full].T
    values[:, full] = temperature / discount * np.log(p[:, before, newest])
    with float64():
        rewards = np.asarray(
            rewards_from_values(histories.successors, values, discount=discount, temperature=temperature)
        )
    model = SWIRL.from_parameters(
        env, history=2, rewards=rewards, histories=histories.table, mode_transitions=table, initial_modes=initial,
        discount=discount, temperature=temperature,
    )  # fmt: skip
    assert model.rewards_.ndim == 2  # r(s, s⁻), no action
    theirs = arhmm_of(env, p, table, initial)
    np.testing.assert_allclose(model.log_likelihood(walk(name)), theirs.log_likelihood(walk(name)), **SAME)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_any_state_only_model_of_two_states_is_an_rarhmm(name):
    env, (table, initial) = WORLDS[name], switching(WORLDS[name])
    histories = Histories.reachable(env.successors, 2)
    rewards = 2.0 * np.random.default_rng(2).normal(size=(N_MODES, histories.n_histories))
    model = SWIRL.from_parameters(
        env, history=2, rewards=rewards, histories=histories.table, mode_transitions=table, initial_modes=initial
    )
    policies = model.policies_[:, : env.n_states]  # histories of one state come first
    np.testing.assert_allclose(model.policies_, policies[:, model.histories_[:, 0]], **SAME)  # it sees s_t alone
    p = np.einsum("zsa,sax->zsx", policies, env.dense() * env.available[:, :, None])
    theirs = arhmm_of(env, p, table, initial)
    np.testing.assert_allclose(model.log_likelihood(walk(name)), theirs.log_likelihood(walk(name)), **SAME)


@pytest.mark.parametrize("name", WORLDS)
def test_with_one_state_the_odds_of_two_successors_are_the_same_from_everywhere(name):
    """Why L = 1 does not span it: π(j|s) / π(k|s) = exp((γ/α)(V(j) − V(k))), without s."""
    env, (table, initial) = WORLDS[name], switching(WORLDS[name])
    rewards = 2.0 * np.random.default_rng(4).normal(size=(N_MODES, env.n_states))
    one = SWIRL.from_parameters(env, history=1, rewards=rewards, mode_transitions=table, initial_modes=initial)
    p = np.einsum("zsa,sax->zsx", one.policies_, env.dense() * env.available[:, :, None])

    def disagreement(p):
        worst = 0.0
        for z, j, k in np.ndindex(N_MODES, env.n_states, env.n_states):
            both = (p[z, :, j] > 0) & (p[z, :, k] > 0)
            if both.sum() > 1:
                odds = np.log(p[z, both, j] / p[z, both, k])
                worst = max(worst, np.ptp(odds))
        return worst

    assert disagreement(p) < 1e-8
    assert disagreement(grammar(env)) > 0.5  # the rARHMM's tables are under no such rule


@pytest.mark.slow
def test_a_grammar_that_one_state_cannot_say_and_two_can():
    """Round and round: on syllables L = 1 knows only how common each is, whatever came before."""
    p = np.full((N_SYLLABLES, N_SYLLABLES), 0.05)
    p[np.arange(N_SYLLABLES), (np.arange(N_SYLLABLES) + 1) % N_SYLLABLES] = 0.85
    rng, states = np.random.default_rng(0), []
    for _ in range(4):
        s = [0]
        while len(s) < 150:
            s.append(int(rng.choice(N_SYLLABLES, p=p[s[-1]])))
        states.append(s)
    data = Trajectories(states, [s[1:] for s in states])
    counts = np.zeros((N_SYLLABLES, N_SYLLABLES))
    for s in states:
        np.add.at(counts, (s[:-1], s[1:]), 1)
    n = counts.sum()
    common = np.sum(counts.sum(axis=0) * np.log(counts.sum(axis=0) / n)) / n  # the most that L = 1 can reach
    grammatical = np.sum(counts * np.log(counts / counts.sum(axis=1, keepdims=True))) / n  # and any table of moves
    score = {}
    for history in (1, 2):
        options = {"n_modes": 1, "switching": "independent", "reward_prior": Gaussian(1e-3)}
        model = SWIRL(SYLLABLES, history=history, n_restarts=1, max_iter=40, tol=1e-12, **options).fit(data)
        score[history] = model.score(data)
    assert common - 1e-3 < score[1] < common + 1e-9
    assert grammatical - 1e-3 < score[2] < grammatical + 1e-9
    assert score[2] > score[1] + 0.5


# Single states: multi-intention inverse Q-learning, locally consistent rewards, maximum entropy


def backup(env, rewards, discount, temperature, kind):
    """Action-values of a reward [state, action] by plain sweeps, V' soft, greedy or the policy's own mean."""
    dense, q = env.dense(), np.zeros(env.available.shape)
    for _ in range(2000):
        scaled = np.where(env.available, q / temperature, -np.inf)
        policy = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        policy /= policy.sum(axis=1, keepdims=True)
        if kind == "soft":
            top = scaled.max(axis=1)
            values = temperature * (top + np.log(np.exp(scaled - top[:, None]).sum(axis=1)))
        elif kind == "greedy":
            values = np.where(env.available, q, -np.inf).max(axis=1)
        else:
            values = (policy * q).sum(axis=1)
        q = rewards + discount * dense @ values
    return q, policy


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["deterministic", "stochastic"])
@pytest.mark.parametrize("name", ["I-1", "S-1"])
def test_i1_and_s1_by_their_definition(name, kind):
    """HM-MDP of Zhu et al. 2024 (switching by itself) and of Nguyen et al. 2015 (switching by the state): all paths."""
    env, data, rng = world(kind), short(recording(kind)), np.random.default_rng(1)
    table, initial = switching(env)
    table = np.broadcast_to(table[0], table.shape) if name == "I-1" else table
    rewards, discount, temperature = rng.normal(size=(N_MODES, env.n_states)), 0.9, 0.8
    policies = np.stack([backup(env, r[:, None], discount, temperature, "soft")[1] for r in rewards])
    assert any((a[:-1] < 0).any() for a in data.actions), "some actions are missing"
    expected = by_definition(env, data, policies, table, initial)
    given = table[0] if name == "I-1" else table
    model = SWIRL.from_parameters(
        env, history=1, rewards=rewards, mode_transitions=given, initial_modes=initial,
        discount=discount, temperature=temperature,
    )  # fmt: skip
    np.testing.assert_allclose(model.log_likelihood(data), expected, **SAME)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["greedy", "mean"])
def test_other_backups_are_the_same_family_for_r_of_state_and_action(kind):
    """Inverse Q-learning plans greedily, maximum-likelihood IRL by its policy's mean: same likelihoods, other rewards.

    π = softmax(Q/α) is all that data see, and r(s, a) = α log π makes it soft-optimal; with r(s) it need not be.
    """
    env, data, rng = world("stochastic"), short(recording("stochastic")), np.random.default_rng(7)
    table, initial = switching(env)
    discount, temperature = 0.9, 0.8
    rewards = rng.normal(size=(N_MODES, *env.available.shape))
    policies = np.stack([backup(env, r, discount, temperature, kind)[1] for r in rewards])
    with np.errstate(divide="ignore"):
        advantages = np.where(env.available, temperature * np.log(policies), np.nan)
    options = {"history": 1, "mode_transitions": table, "initial_modes": initial, "temperature": temperature}
    model = SWIRL.from_parameters(env, rewards=advantages, discount=discount, **options)
    np.testing.assert_allclose(model.log_likelihood(data), by_definition(env, data, policies, table, initial), **SAME)
    # The reward is another one: the same r(s) planned softly behaves otherwise.
    of_state = rewards[:, :, :1]
    other, soft = (
        np.stack([backup(env, r, discount, temperature, how)[1] for r in of_state]) for how in (kind, "soft")
    )
    assert np.abs(other - soft).max() > 1e-2


@pytest.mark.slow
def test_maxent_is_any_of_them_with_one_mode():
    options = {"n_restarts": 1, "max_iter": 30, "tol": 1e-12, "reward_prior": Gaussian(0.1)}
    maxent = make("MaxEnt", SYLLABLES, **options).fit(walk()).log_likelihood(walk())
    for name in ("I-1", "S-1"):
        one = make(name, SYLLABLES, n_modes=1, **options).fit(walk())
        np.testing.assert_allclose(one.log_likelihood(walk()), maxent, **SAME)


# One mode without rewards: counts


@pytest.mark.parametrize("pseudocount", [0.3, 2.0])
def test_one_mode_of_the_arhmm_is_the_markov_model_of_order_one(pseudocount):
    """Pseudo-counts c on D options are a uniform lower order worth κ = c·D; order 0 is uniform where κ₀ is huge."""
    arhmm = ARHMM(SYLLABLES, n_modes=1, emission_prior=Dirichlet(pseudocount), n_restarts=1, max_iter=3).fit(walk())
    strengths = (1e14, pseudocount * N_SYLLABLES)
    counts = BackoffMarkov(SYLLABLES, order=1, strength=strengths, target="next_state").fit(walk())
    np.testing.assert_allclose(arhmm.log_likelihood(walk()), counts.log_likelihood(walk()), **SAME)
    np.testing.assert_allclose(arhmm.emissions_, counts.policies_, **SAME)
    actions = BackoffMarkov(SYLLABLES, order=1, strength=strengths, target="action").fit(walk())
    np.testing.assert_allclose(actions.log_likelihood(walk()), counts.log_likelihood(walk()), **SAME)


# What the likelihood does not know


@pytest.mark.slow
def test_discount_does_not_matter_for_free_rewards_of_history_and_action():
    options = {"history": 1, "reward": "state-action", "n_restarts": 2, "max_iter": 25, "tol": 1e-12}
    near, far = (SWIRL(SYLLABLES, discount=discount, **options).fit(walk()) for discount in (0.2, 0.99))
    np.testing.assert_allclose(near.log_likelihood(walk()), far.log_likelihood(walk()), **SAME)
    np.testing.assert_allclose(near.rewards_, far.rewards_, **SAME)


def test_discount_and_temperature_are_not_identified_for_free_rewards_of_history():
    """The policy knows (γ/α) V alone: other discounts and temperatures, other rewards, the same likelihood."""
    env, (table, initial) = PATHS, switching(PATHS)
    scaled = np.random.default_rng(8).normal(size=(N_MODES, env.n_states))  # (γ/α) V
    seen = []
    for discount, temperature in ((0.95, 1.0), (0.5, 1.0), (0.8, 0.3)):
        values = temperature / discount * scaled
        with float64():
            rewards = np.asarray(
                rewards_from_values(env.successors, values, discount=discount, temperature=temperature)
            )
        model = SWIRL.from_parameters(
            env, history=1, rewards=rewards, mode_transitions=table, initial_modes=initial,
            discount=discount, temperature=temperature,
        )  # fmt: skip
        seen.append((rewards, model.log_likelihood(walk("paths"))))
    for rewards, log_likelihoods in seen[1:]:
        np.testing.assert_allclose(log_likelihoods, seen[0][1], **SAME)
        assert np.abs(rewards - seen[0][0]).max() > 0.1
