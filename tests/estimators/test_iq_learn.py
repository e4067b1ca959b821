"""Model-free SWIRL: what it reads, what it fits, and the rewards that come of it."""

from copy import copy

import numpy as np
import pytest
from sklearn.base import clone

from reference_messages import forward_loop
from small_worlds import N_ACTIONS, N_MODES, N_STATES, recording, truth, world
from swirl.analysis.metrics import reward_correlation, segmentation_accuracy
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld
from swirl.estimators.base import NotFittedError, UnseenStatesWarning
from swirl.estimators.iq_learn import IQLearn
from swirl.estimators.registry import load, make
from swirl.estimators.swirl import SWIRL
from swirl.priors import Cauchy

pytestmark = pytest.mark.slow  # compiles programs of its own

QUICK = {"n_restarts": 2, "max_iter": 12, "tol": 1e-12, "switching": "state-table"}
DISCOUNT = 0.9
TEMPERATURE = (1.0, 0.5)
ISLAND = N_STATES  # a sixth state that no action leads to


def island_world():
    state = np.arange(N_STATES + 1)
    return MDP.deterministic(np.stack([(state + 1) % N_STATES, (2 * state + 3) % N_STATES, state % N_STATES], axis=1))


def island_recording(n_sessions=6, n_steps=60, seed=0):
    """A walk in the island world that leans to one action; every other (state, action) is taken as well."""
    rng, env = np.random.default_rng(seed), island_world()
    actions = rng.choice(N_ACTIONS, p=[0.6, 0.25, 0.15], size=(n_sessions, n_steps))
    states = np.empty_like(actions)
    states[:, 0] = rng.integers(N_STATES, size=n_sessions)
    for t in range(1, n_steps):
        states[:, t] = np.asarray(env.successors.next)[states[:, t - 1], actions[:, t - 1], 0]
    return Trajectories(list(states), list(actions), n_states=N_STATES + 1, n_actions=N_ACTIONS)


def made(env, **arguments):
    return IQLearn(env, **{"discount": DISCOUNT, "temperature": TEMPERATURE, **QUICK, **arguments})


@pytest.fixture(scope="module")
def slippery():
    """Fitted in a stochastic world, with unavailable actions, a gap and missing actions; history of 2."""
    return made(world("stochastic")).fit(recording("stochastic"))


@pytest.fixture(scope="module")
def blind():
    """The same data without an environment."""
    return made(None).fit(recording("stochastic"))


@pytest.fixture(scope="module")
def islander():
    return made(island_world(), history=1).fit(island_recording())


@pytest.fixture(scope="module")
def blind_islander():
    return made(None, history=1).fit(island_recording())


@pytest.fixture(params=["slippery", "blind", "islander", "blind_islander"])
def model(request):
    return request.getfixturevalue(request.param)


def data_of(model):
    return recording("stochastic") if model.histories_.shape[1] == 2 else island_recording()


# What is read


@pytest.mark.parametrize("kind", ["deterministic", "stochastic"])
def test_symbols_are_the_steps_of_the_data(kind):
    """(h, a, h') by a plain loop; no h' at ends, before gaps and before impossible moves.

    Without an action: a symbol for every (h, h'), and the actions that it may have been; no h' either, no symbol.
    """
    env, parts = world(kind), recording()  # the first two sessions become one: they do not join up
    states = [np.concatenate(parts.states[:2]), *parts.states[2:]]
    actions = [np.concatenate(parts.actions[:2]), *parts.actions[2:]]
    assert (states[0][49], actions[0][49], states[0][50]) == (4, 2, 3)  # action 2 stays
    data = Trajectories(states, actions, gaps=[parts.gaps[0], *[[]] * 4], n_states=N_STATES, n_actions=N_ACTIONS)
    problem = made(env, impossible="forget")._problem(data)
    component, chains, latent = problem.components.emissions, problem.chains, problem.components.latent
    table, dense = problem.context[0].table.tolist(), env.dense()
    n_seen = len(component.actions)
    step, met = 0, {}
    for i in range(len(data)):
        path, chosen = data.states[i].tolist(), data.actions[i].tolist()
        for a, b in data.segments(i):
            starts = [a, *[t for t in range(a, b) if (i, t) == (0, 50)]]
            here = [[path[t], -1 if t in starts else path[t - 1]] for t in range(a, b)]
            for t in range(a, b):
                symbol, step = chains.symbols[step], step + 1
                followed = t + 1 < b and t + 1 not in starts
                if chosen[t] < 0 and not followed:
                    assert symbol == chains.n_symbols
                    continue
                if chosen[t] < 0:
                    assert n_seen <= symbol < chains.n_symbols
                    assert met.setdefault((*here[t - a], path[t + 1]), symbol) == symbol
                    may = np.flatnonzero(latent.log_reach[symbol - n_seen] > -np.inf)
                    ways = latent.symbols[symbol - n_seen][may]
                    reach = dense[path[t], :, path[t + 1]] * env.available[path[t]]
                    assert component.actions[ways].tolist() == np.flatnonzero(reach).tolist()
                    chances = np.exp(latent.log_reach[symbol - n_seen][may])
                    np.testing.assert_allclose(chances, reach[reach > 0], rtol=1e-12)
                    assert all(table[component.histories[way]] == here[t - a] for way in ways)
                    assert all(table[component.following[way]] == here[t - a + 1] for way in ways)
                    assert component.has_next[ways].all()
                    continue
                assert symbol < n_seen
                assert table[component.histories[symbol]] == here[t - a]
                assert component.actions[symbol] == chosen[t]
                assert component.has_next[symbol] == followed
                if followed:
                    assert table[component.following[symbol]] == here[t - a + 1]
    assert step == len(chains.symbols)
    assert len(set(met.values())) == len(met) > 5, "each move has its own"
    assert len(chains.offsets) - 1 == len(data) + 1  # the gap cuts the mode's chain, the impossible move does not


@pytest.mark.slow
def test_fitting_does_not_use_how_likely_transitions_are(slippery):
    """Another environment with the same support: the same fit to the last bit, other rewards.

    Only of an action that was not seen does it matter how likely each was to lead where it led.
    """
    env, data = world("stochastic"), recording("stochastic")
    tilted = env.dense() ** 3
    tilted /= np.where(env.available, tilted.sum(axis=2), 1.0)[..., None]
    tilted = MDP(tilted, available=env.available)
    assert not np.allclose(tilted.dense(), env.dense(), atol=0.05)
    drawn = truth("stochastic").sample(6, 50)
    np.testing.assert_array_equal(drawn.states, data.states)
    complete = Trajectories(drawn.states, drawn.actions, gaps=data.gaps, n_states=N_STATES, n_actions=N_ACTIONS)
    one, other = (made(e).fit(complete) for e in (env, tilted))
    for name in ("q_", "policies_", "mode_transitions_", "initial_modes_", "objective_trace_", "visits_"):
        np.testing.assert_array_equal(getattr(other, name), getattr(one, name), err_msg=name)
    assert np.nanmax(np.abs(other.rewards_ - one.rewards_)) > 1e-3
    # With missing actions it is another likelihood.
    assert abs(made(tilted).fit(data).log_likelihoods_[0] - slippery.log_likelihoods_[0]) > 1e-3


# What a user meets


@pytest.mark.slow
def test_shapes_and_sums(model):
    data = data_of(model)
    n_histories = len(model.histories_)
    assert model.q_.shape == model.rewards_.shape == model.visits_.shape == (N_MODES, n_histories, N_ACTIONS)
    np.testing.assert_allclose(model.policies_.sum(axis=2), 1.0)
    n_telling = sum(
        is_telling(data, i, t, b) for i in range(len(data)) for a, b in data.segments(i) for t in range(a, b)
    )
    assert model.n_observed_ == n_telling
    assert model.visits_.sum() == pytest.approx(n_telling)
    np.testing.assert_allclose(model.visits_.sum(axis=(1, 2)) / n_telling, model.occupancy_)
    assert model.occupancy_[0] >= model.occupancy_[1]
    for paths, probabilities, filtered, states in zip(
        model.predict(data), model.predict_proba(data), model.filter_proba(data), data.states, strict=True
    ):
        assert paths.shape == states.shape
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        np.testing.assert_allclose(filtered.sum(axis=1), 1.0)


def is_telling(data, i, t, end):
    """Whether the action of a step was seen, or where it led."""
    return bool(data.actions[i][t] >= 0 or t + 1 < end)


def increments_loop(model, data):
    """log p(a_t | past) of each step by a plain forward filter over policies made from Q, and p(s_{t+1} | past) where
    the action is missing: by any that leads there (without an environment: that was seen to lead anywhere)."""
    row = {tuple(h): i for i, h in enumerate(model.histories_.tolist())}
    increments, length = [], model.histories_.shape[1]
    leads = {(s, a): successors_of(model, s, a) for s in range(model.world.n_states) for a in range(N_ACTIONS)}
    for i in range(len(data)):
        states, actions = data.states[i].tolist(), data.actions[i].tolist()
        for a, b in data.segments(i):
            steps = np.zeros((b - a, N_MODES))
            for t in range(a, b):
                if not is_telling(data, i, t, b):
                    continue
                h = row[tuple(states[t - k] if t - k >= a else -1 for k in range(length))]
                for z, alpha in enumerate(model.mode_temperatures_):
                    q = model.q_[z, h] / alpha
                    log_policy = q - np.log(np.sum(np.exp(q)))
                    if actions[t] >= 0:
                        steps[t - a, z] = log_policy[actions[t]]
                        continue
                    chances = [leads[states[t], x].get(states[t + 1], 0.0) for x in range(N_ACTIONS)]
                    if any(chances):
                        steps[t - a, z] = np.log(np.sum(np.exp(log_policy) * chances))
            chain = (np.log(model.initial_modes_), np.log(model.mode_transitions_[states[a:b]]), steps)
            increments.append(forward_loop(*chain)[0])
    return np.concatenate(increments)


@pytest.mark.slow
def test_the_likelihood_of_the_fit_is_the_filters(model):
    """EM's likelihood is of the same policies; the penalty is in the prior's part of the objective."""
    total = increments_loop(model, data_of(model)).sum()
    assert model.log_likelihoods_[-1] == pytest.approx(total, abs=1e-10 * model.n_observed_)
    assert model.objective_trace_[-1] < model.log_likelihoods_[-1]


@pytest.mark.slow
def test_score_is_the_filters(model):
    data = data_of(model)
    increments, seen = increments_loop(model, data), np.concatenate(data.actions) >= 0
    assert model.n_scored(data) == seen.sum() == data.n_observed_actions
    assert model.score(data) == pytest.approx(increments[seen].mean(), abs=1e-10)
    assert model.log_likelihood(data).sum() == pytest.approx(increments.sum(), abs=1e-10 * len(increments))


def test_both_currencies(slippery, blind):
    data = recording("stochastic")
    assert slippery.score_types == ("action", "next_state")
    assert slippery.score(data, of="next_state") < 0
    assert blind.score_types == ("action",)
    with pytest.raises(ValueError, match="of='next_state': IQLearn gives probabilities of actions"):
        blind.score(data, of="next_state")


def test_sampled_sessions_make_possible_moves(model):
    drawn = model.sample(5, 30, random_state=1)
    assert len(drawn) == len(drawn.modes) == 5
    n_states = model.world.n_states
    possible = np.zeros((n_states, N_ACTIONS, n_states), dtype=bool)
    for s in range(n_states):
        for a in range(N_ACTIONS):
            possible[s, a, list(successors_of(model, s, a))] = True
    if model.env is None:  # an action that was never seen to lead anywhere leads where others did
        possible |= possible.any(axis=1, keepdims=True) & ~possible.any(axis=2, keepdims=True)
    for states, actions in zip(drawn.states, drawn.actions, strict=True):
        assert possible[states[:-1], actions[:-1], states[1:]].all()
    again = model.sample(5, 30, random_state=1)
    np.testing.assert_array_equal(again.actions, drawn.actions)


def test_clone_and_names(slippery):
    other = clone(slippery)
    assert repr(slippery).startswith(f"{other!r}: fitted, ")
    with pytest.raises(NotFittedError):
        other.score(recording("stochastic"))
    assert isinstance(make("IQ-Learn", world(), n_modes=3), IQLearn)
    assert make("IQ-Learn").env is None


def test_modes_keep_their_temperature(slippery):
    for index in range(2):
        restart = slippery.use_restart(index)
        order = np.argsort(-slippery.restarts_[index].occupancy)
        np.testing.assert_array_equal(restart.mode_temperatures_, np.array(TEMPERATURE)[order])
        q = slippery.restarts_[index].parameters.emissions.q[order]
        available = np.isfinite(restart.q_)
        np.testing.assert_array_equal(restart.q_[available], q[available])
        assert restart.log_likelihoods_[-1] == pytest.approx(restart.log_likelihood(recording("stochastic")).sum())


def test_resume_goes_on_where_the_fit_stopped(slippery):
    data = recording("stochastic")
    half = made(world("stochastic"), max_iter=5).fit(data)
    assert not half.converged_
    whole = half.set_params(max_iter=7).fit(data, resume=True)
    np.testing.assert_allclose(whole.q_, slippery.q_, rtol=1e-9, atol=1e-9)
    assert len(whole.objective_trace_) == 8


def test_a_file_gives_the_model_back(model, tmp_path):
    data = data_of(model)
    path = model.save(tmp_path / "model.nc")
    again = load(path)
    assert again.score(data) == model.score(data)
    for name in ("q_", "rewards_", "policies_", "visits_", "histories_", "mode_temperatures_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name), err_msg=name)
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert (again.env is None) == (model.env is None)
    assert again.fit_report_ == model.fit_report_
    np.testing.assert_array_equal(again.state_rewards("marginal"), model.state_rewards("marginal"))
    np.testing.assert_array_equal(again.sample(2, 9).actions, model.sample(2, 9).actions)
    other = 1 - model.best_restart_
    one, two = model.use_restart(other), again.use_restart(other)
    np.testing.assert_array_equal(one.q_, two.q_)
    np.testing.assert_array_equal(one.rewards_, two.rewards_)
    # and goes on from its restarts
    more = copy(again).set_params(max_iter=1).fit(data, resume=True)
    assert more.objective_trace_[0] == pytest.approx(model.objective_trace_[-1], rel=1e-9)


def test_a_file_knows_the_visits_of_one_restart_only(slippery, tmp_path):
    again = load(slippery.save(tmp_path / "model.nc"))
    np.testing.assert_array_equal(again.visits_, slippery.visits_)
    with pytest.raises(ValueError, match="keeps the visits of the saved restart only"):
        again.use_restart(1 - slippery.best_restart_).state_rewards()


# Without an environment


def test_without_an_environment_a_deterministic_world_is_the_same(islander, blind_islander):
    """Every action was seen, so its one successor is known: the same Q, the same rewards; of the island, none."""
    np.testing.assert_array_equal(blind_islander.histories_, islander.histories_)
    np.testing.assert_array_equal(blind_islander.q_, islander.q_)
    np.testing.assert_array_equal(blind_islander.policies_, islander.policies_)
    np.testing.assert_allclose(blind_islander.rewards_[:, :ISLAND], islander.rewards_[:, :ISLAND], rtol=1e-12)
    assert np.isnan(blind_islander.rewards_[:, ISLAND]).all()
    assert np.isfinite(islander.rewards_).all()


def test_unseen_states_score_by_the_prior_with_a_warning(islander, blind_islander):
    data = Trajectories([[ISLAND, 1, 2]], [[0, 0, 2]], n_states=N_STATES + 1, n_actions=N_ACTIONS)
    for model in (islander, blind_islander):
        with pytest.warns(UnseenStatesWarning, match=r"1 state \(5\), at 1 of 3 steps"):
            score = model.score(data)
        assert np.isfinite(score)
        np.testing.assert_allclose(model.policies_[:, ISLAND], 1 / N_ACTIONS, atol=1e-6)


def test_an_unseen_move_only_restarts_the_history(blind):
    """In training nobody came from state 0 to state 2: the next step knows no past, the mode's chain goes on."""
    data = Trajectories([[0, 2, 3, 4]], [[0, 0, 0, 0]], n_states=N_STATES, n_actions=N_ACTIONS)
    assert [2, 0] not in blind.histories_.tolist()
    encoded = blind._encode(data)
    assert blind.histories_[encoded.histories].tolist() == [[0, -1], [2, -1], [3, 2], [4, 3]]
    assert encoded.chains.tolist() == [0, 4]
    assert np.isfinite(blind.score(data))


def test_rewards_need_a_successor_that_was_seen(blind):
    taken = np.zeros((N_STATES, N_ACTIONS), dtype=bool)
    data = recording("stochastic")
    for i in range(len(data)):
        for a, b in data.segments(i):
            for t in range(a, b - 1):
                if data.actions[i][t] >= 0:
                    taken[data.states[i][t], data.actions[i][t]] = True
    assert not taken.all()
    np.testing.assert_array_equal(
        np.isnan(blind.rewards_), ~taken[blind.histories_[:, 0]] & np.ones((N_MODES, 1, 1), bool)
    )


# Rewards


def successors_of(model, s, a):
    """{next state: probability} of an action, from the environment's dense table or counted in the data."""
    if model.env is not None:
        row = model.env.dense()[s, a]
        return {n: row[n] for n in np.flatnonzero(row)}
    data, counts = data_of(model), {}
    for i in range(len(data)):
        for x, b in data.segments(i):
            for t in range(x, b - 1):
                if (data.states[i][t], data.actions[i][t]) == (s, a):
                    n = int(data.states[i][t + 1])
                    counts[n] = counts.get(n, 0) + 1
    return {n: c / sum(counts.values()) for n, c in counts.items()}


def test_rewards_by_a_plain_loop(model):
    """r(h, a) = Q(h, a) − γ Σ p V(h')."""
    row = {tuple(h): i for i, h in enumerate(model.histories_.tolist())}
    length = model.histories_.shape[1]
    leads = {(s, a): successors_of(model, s, a) for s in range(model.world.n_states) for a in range(N_ACTIONS)}
    for z, alpha in enumerate(model.mode_temperatures_):
        values = alpha * np.log(np.sum(np.exp(model.q_[z] / alpha), axis=1))
        for i, h in enumerate(model.histories_.tolist()):
            for a in range(N_ACTIONS):
                following = leads[h[0], a]
                available = model.env is None or model.env.available[h[0], a]
                if not (following and available):
                    assert np.isnan(model.rewards_[z, i, a])
                    continue
                ahead = sum(p * values[row[(n, *h)[:length]]] for n, p in following.items())
                assert model.rewards_[z, i, a] == pytest.approx(model.q_[z, i, a] - DISCOUNT * ahead, abs=1e-10)


def test_marginal_state_rewards_by_a_plain_loop(model):
    """Σ_a π r over the actions whose reward is known, their policy renormalised."""
    found = model.state_rewards("marginal")
    for z in range(N_MODES):
        for h in range(len(model.histories_)):
            known = [a for a in range(N_ACTIONS) if not np.isnan(model.rewards_[z, h, a])]
            weights = [model.policies_[z, h, a] for a in known]
            if not known:
                assert np.isnan(found[z, h])
                continue
            total = sum(w * model.rewards_[z, h, a] for w, a in zip(weights, known, strict=True))
            assert found[z, h] == pytest.approx(total / sum(weights), abs=1e-12)


def test_tables_and_maps(model):
    table, states = model.reward_table(), model.state_reward_table("marginal")
    n_states, length = model.world.n_states, model.histories_.shape[1]
    assert table.shape == (N_MODES, *(n_states,) * length, N_ACTIONS)
    for i, h in enumerate(model.histories_.tolist()):
        if -1 not in h:
            np.testing.assert_array_equal(table[(slice(None), *h)], model.rewards_[:, i])
            np.testing.assert_array_equal(states[(slice(None), *h)], model.state_rewards("marginal")[:, i])
    found = model.reward_map("marginal")
    assert found.shape == (N_MODES, n_states)
    for s in range(n_states):
        values = states[:, s].reshape(N_MODES, -1)
        seen = ~np.isnan(values[0])
        if seen.any():
            np.testing.assert_allclose(found[:, s], values[:, seen].mean(axis=1))
        else:
            assert np.isnan(found[:, s]).all()


def test_the_canonical_gauge_has_the_same_policies(slippery):
    """It differs from the fitted one by r + V(h) − γ E[V(h')]: the policies of both are one."""
    table = slippery.reward_table("canonical")
    assert np.nanmax(np.abs(table - slippery.reward_table())) > 1e-3
    for z, alpha in enumerate(TEMPERATURE):
        z = int(np.flatnonzero(slippery.mode_temperatures_ == alpha)[0])
        other = SWIRL.from_parameters(
            slippery.env, history=2, rewards=table[z][None], mode_transitions=[[1.0]], initial_modes=[1.0],
            discount=DISCOUNT, temperature=alpha,
        )  # fmt: skip
        full = slippery.histories_[:, 1] >= 0
        np.testing.assert_allclose(other.policies_[0, full], slippery.policies_[z, full], atol=1e-6)


# Errors


def test_errors_in_words(slippery, blind):
    with pytest.raises(ValueError, match="kind='projected': needs to know where each action leads; give env="):
        blind.state_rewards()
    with pytest.raises(ValueError, match="gauge='canonical': needs to know where each action leads"):
        blind.reward_table("canonical")
    with pytest.raises(ValueError, match='gauge=\'least\': expected "fitted" or "canonical"'):
        slippery.reward_table("least")
    with pytest.raises(NotFittedError, match="not fitted yet"):
        IQLearn().state_rewards()
    with pytest.raises(ValueError, match=r"no action was observed in any session; pass actions=.*, or env="):
        made(None).fit(Trajectories([[0, 1, 0]], n_actions=2))
    with pytest.raises(ValueError, match="no session holds an action, or two states in a row"):
        made(world()).fit(Trajectories([[0], [1]], n_states=N_STATES, n_actions=N_ACTIONS))
    with pytest.raises(ValueError, match="states out of range"):
        blind.score(Trajectories([[0, N_STATES]], [[0, 0]]))


def test_all_faulty_arguments_at_once():
    broken = IQLearn(n_modes=0, history=0, discount=1.0, temperature=-1.0, strength=-0.5, tol=0.0)
    broken.set_params(env="grid", q_prior=Cauchy())  # past the run-time checks of types
    with pytest.raises(ValueError, match="IQLearn cannot be fitted: 8 faults") as caught:
        broken.fit(recording())
    words = str(caught.value)
    for part in (
        "env is str: expected swirl.MDP",
        "n_modes=0: expected a whole number",
        "history=0: expected a whole number",
        "discount=1.0: expected a number between 0 and 1",
        "temperature=-1.0: expected a positive number",
        "strength=-0.5: expected a number ≥ 0; 0.5 is IQ-Learn's",
        "expected priors.Gaussian",
        "tol=0.0: expected a number > 0",
    ):
        assert part in words


# The gridworld


@pytest.fixture(scope="module")
def grid():
    return gridworld(n_sessions=50, n_steps=300)


@pytest.fixture(scope="module")
def grid_truth(grid):
    return SWIRL.from_parameters(
        grid.env,
        history=2,
        rewards=grid.truth.rewards,
        mode_transitions=grid.truth.mode_transitions,
        initial_modes=grid.truth.initial_modes,
    )


@pytest.fixture(scope="module")
def grid_model(grid):
    return IQLearn(grid.env, n_restarts=3).fit(grid.trajectories)


@pytest.mark.slow
def test_the_gridworld_is_found(grid, grid_model, grid_truth):
    assert grid_model.converged_
    new = gridworld(n_sessions=20, n_steps=300, random_state=1).trajectories
    assert grid_model.score(new) > grid_truth.score(new) - 0.02
    assert segmentation_accuracy(new.modes, grid_model.predict(new)) > 0.85
    table = grid_model.state_reward_table()
    each = reward_correlation(grid.truth.rewards, table, env=grid.env, per_mode=True)
    assert each.min() > 0.85
    # The marginal reward keeps the gauge that the penalty picked, and says less.
    marginal = reward_correlation(grid.truth.rewards, grid_model.state_reward_table("marginal"), env=grid.env)
    assert marginal < each.mean()


@pytest.mark.slow
def test_the_projection_of_a_soft_optimal_policy_is_its_reward(grid, grid_model, grid_truth):
    """Given the truth's own policies, with visits enough to silence the prior, the true reward comes back."""
    exact = copy(grid_model)
    exact.policies_ = grid_truth.policies_
    exact.visits_ = np.full_like(grid_model.visits_, 100.0)
    table = exact.state_reward_table()
    each = reward_correlation(grid.truth.rewards, table, env=grid.env, per_mode=True)
    assert each.min() > 0.99999
    again = SWIRL.from_parameters(
        grid.env,
        history=2,
        rewards=table,
        mode_transitions=grid.truth.mode_transitions,
        initial_modes=grid.truth.initial_modes,
    )
    np.testing.assert_allclose(again.policies_, grid_truth.policies_, atol=1e-3)
