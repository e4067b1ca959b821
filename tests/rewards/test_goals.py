"""Goal-directed modes: planning, habit and M-step against plain loops, what they turn into, and end to end."""

from functools import cache
from itertools import combinations

import jax
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from small_worlds import N_ACTIONS, N_STATES, world
from swirl.analysis.metrics import segmentation_accuracy
from swirl.data.histories import Histories
from swirl.data.local_shape import name_moves, place_kinds
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld_env
from swirl.estimators.registry import load
from swirl.estimators.swirl import SWIRL
from swirl.inference.mstep import Parameters
from swirl.precision import float64, numpy_tree
from swirl.priors import Gaussian, GoalDirected
from swirl.rewards import Goals, Tabular
from swirl.rewards.forms import PolicySettings
from swirl.rewards.goals import GoalsParameters
from swirl.switching import Leaving

DISCOUNT = 0.9
TEMPERATURE = np.array([1.0, 0.5, 2.0])
PRIOR = GoalDirected(Gaussian(0.3, backoff=2.0), Gaussian(3.0, backoff=2.0), Gaussian(0.7))
PLACES = (4, (0, 2))


def component(kind="stochastic", length=3, place_history=2, **more):
    env = world(kind)
    form = Goals(**({"places": PLACES, "kinds": 1, "place_history": place_history} | more))
    settings = PolicySettings(DISCOUNT, TEMPERATURE[: form.n_modes], None, env)
    return form.build(Histories.reachable(env.successors, length), PRIOR, settings)


def random_parameters(part, seed=0):
    rng = np.random.default_rng(seed)
    shape = (len(part.precision), part.n_moves)
    return GoalsParameters(rng.standard_normal(shape), 0.5 * rng.standard_normal(part.features.shape[:2]))


def in_double(function, *args):
    with float64():
        return numpy_tree(jax.jit(function)(*args))


def planned_by_sweeps(env, goal, cost):
    """V in units of the temperature: 0 in the goal, else −c + log mean_a exp(γ E V), a thousand times over."""
    dense, values = env.dense(), np.zeros(env.n_states)
    for _ in range(1000):
        new = values.copy()
        for s in range(env.n_states):
            ahead = [DISCOUNT * dense[s, a] @ values for a in range(env.n_actions) if env.available[s, a]]
            new[s] = 0.0 if s in goal else -cost + logsumexp(ahead) - np.log(len(ahead))
        values = new
    return values


@pytest.mark.parametrize("kind", ["deterministic", pytest.param("stochastic", marks=pytest.mark.slow)])
def test_values_are_those_of_a_walk_that_ends_at_the_goal(kind):
    part, _ = component(kind)
    parameters = random_parameters(part)
    values = in_double(part.values, parameters.goals)
    assert (values[0] == 0).all()  # the exploring mode wants nothing
    for mode, goal in ((1, {4}), (2, {0, 2})):
        expected = planned_by_sweeps(world(kind), goal, np.exp(parameters.goals[mode, 0]))
        np.testing.assert_allclose(values[mode], expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kind", ["deterministic", pytest.param("stochastic", marks=pytest.mark.slow)])
def test_slopes_of_values_are_what_small_changes_make(kind):
    part, _ = component(kind)
    goals = random_parameters(part).goals
    slopes = in_double(lambda g: part._value_slopes(g, part.values(g)), goals)
    for mode in (1, 2):
        up, down = goals.copy(), goals.copy()
        up[mode, 0] += 1e-5
        down[mode, 0] -= 1e-5
        change = (in_double(part.values, up) - in_double(part.values, down))[mode] / 2e-5
        np.testing.assert_allclose(slopes[mode, 0], change, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", ["deterministic", "stochastic"])
def test_policies_are_the_plain_loop_over_histories(kind):
    """The habit by dictionaries: the same number for the same kind of place, last moves and move, wherever it is."""
    part, rows = component(kind, place_history=0)
    env = world(kind)
    histories = Histories.reachable(env.successors, 3)
    kinds = place_kinds(env, 1)
    moves = name_moves(env, kinds, "action")
    parameters = random_parameters(part, 1)
    log_pi = in_double(part.log_emissions, parameters).T.reshape(3, -1, N_ACTIONS)[:, rows]
    values, dense = in_double(part.values, parameters.goals), env.dense()
    found: dict = {}
    for h, table in enumerate(histories.table):
        states = [int(s) for s in table if s >= 0]
        past = tuple(moves.of(np.array(states[1:], int), np.array(states[:-1], int)).tolist())
        for a, b in combinations(np.flatnonzero(env.available[states[0]]), 2):
            ahead = DISCOUNT * values @ (dense[states[0], a] - dense[states[0], b])
            seen = (int(kinds[states[0]]), past, *moves.choices[states[0], [a, b]].tolist())
            found.setdefault(seen, []).extend(log_pi[:, h, a] - log_pi[:, h, b] - ahead)
    for gaps in found.values():  # what is left between two moves is the habit's: the same in every mode and place
        np.testing.assert_allclose(gaps, gaps[0], atol=1e-8)
    assert max(len(gaps) for gaps in found.values()) > 3  # several places share it
    assert np.ptp([gaps[0] for gaps in found.values()]) > 1
    np.testing.assert_allclose(logsumexp(log_pi, axis=-1), 0.0, atol=1e-8)


@cache
def counts_of(place_history=2):
    part, _ = component(place_history=place_history)
    rng = np.random.default_rng(3)
    available = np.asarray(world("stochastic").available)[part.states]
    counts = 20 * rng.gamma(0.5, size=(3, *available.shape)) * available
    counts[:, rng.random(len(available)) < 0.3] = 0
    return part, counts.reshape(3, -1).T


@pytest.mark.slow
def test_an_m_step_never_makes_it_worse_and_ends_where_scipy_ends():
    part, counts = counts_of()

    def loss(p):
        log_pi = part.log_emissions(p)
        return -((counts * jax.numpy.where(counts > 0, log_pi, 0.0)).sum() + part.log_prior(p))

    descend, improve = jax.jit(jax.value_and_grad(loss)), jax.jit(part.improve)
    steps, reached = [random_parameters(part, 2)], []
    with float64():
        for _ in range(15):
            reached.append(-float(descend(steps[-1])[0]))
            steps.append(GoalsParameters(*numpy_tree(improve(steps[-1], counts))))
    assert (np.diff(reached) >= -1e-9 * abs(reached[0])).all()
    assert reached[1] > reached[0] + 1

    leaves, tree = jax.tree.flatten(steps[-1])

    def flat(x):
        cut = leaves[0].size
        p = jax.tree.unflatten(tree, [x[:cut].reshape(leaves[0].shape), x[cut:].reshape(leaves[1].shape)])
        with float64():
            value, gradient = descend(p)
            return float(value), np.concatenate([np.ravel(g) for g in jax.tree.leaves(numpy_tree(gradient))])

    best = minimize(flat, np.concatenate([np.ravel(leaf) for leaf in leaves]), jac=True, method="BFGS")
    assert -best.fun - reached[-1] < 1e-4
    assert np.abs(flat(np.concatenate([np.ravel(leaf) for leaf in leaves]))[1]).max() < 1e-2


# What it turns into


def recording(n_sessions=12, n_steps=80, seed=0):
    env, rng = world("stochastic"), np.random.default_rng(seed)
    states, actions = np.zeros((2, n_sessions, n_steps), dtype=int)
    for i in range(n_sessions):
        s = rng.integers(N_STATES)
        for t in range(n_steps):
            odds = env.available[s] * np.array([3.0, 1.0, 0.5])
            states[i, t], actions[i, t] = s, rng.choice(N_ACTIONS, p=odds / odds.sum())
            s = rng.choice(N_STATES, p=env.dense()[s, actions[i, t]])
    return Trajectories(list(states), list(actions), n_states=N_STATES, n_actions=N_ACTIONS)


@pytest.mark.slow
def test_one_mode_with_a_free_reward_everywhere_and_no_habit_is_maximum_entropy_irl():
    prior = GoalDirected(habit=Gaussian(1e9), cost=Gaussian(0.5))
    everywhere = Goals([tuple(range(N_STATES))], absorbing=False, explores=False)
    usual = {"n_modes": 1, "history": 1, "n_restarts": 1, "tol": 1e-6, "discount": DISCOUNT, "temperature": 0.7}
    ours = SWIRL(world("stochastic"), reward=everywhere, reward_prior=prior, **usual).fit(recording())
    maxent = SWIRL(
        world("stochastic"), reward=Tabular(solver="soft-q"), reward_prior=Gaussian(0.5, of="reward"), **usual
    ).fit(recording())
    np.testing.assert_allclose(ours.policies_, maxent.policies_, atol=1e-4)
    np.testing.assert_allclose(ours.rewards_, maxent.rewards_, atol=1e-3)


@pytest.mark.slow
def test_without_goals_there_is_the_habit_alone():
    """One kind of place and no memory: how often each action is chosen, smoothed."""
    data, env = recording(), world("deterministic")
    form = Goals((), kinds=0, moves="action")
    model = SWIRL(
        world("stochastic"), n_modes=1, history=1, reward=form, switching="until-reached", n_restarts=1,
        reward_prior=GoalDirected(habit=Gaussian(1e-6)),
    ).fit(data)  # fmt: skip
    assert (model.rewards_ == 0).all()
    assert model.mode_names_ == ("explore",)
    states, actions = np.concatenate(data.states), np.concatenate(data.actions)

    def loss(x):
        log_p = log_softmax(np.where(env.available, x, -1e30), axis=1)
        return -log_p[states, actions].sum()

    logits = minimize(loss, np.zeros(3)).x
    expected = np.exp(log_softmax(np.where(env.available, logits, -1e30), axis=1))
    np.testing.assert_allclose(model.policies_[0], expected, atol=1e-3)


# End to end, on a gridworld where goals are true


@cache
def pursued(n_sessions=24, n_steps=150):
    """A walker that explores, goes to one corner, or to the other, and drops a goal once it is there."""
    env = gridworld_env()
    truth = SWIRL(env, n_modes=3, history=2, reward=Goals((4, 20), kinds=0, moves="action"), switching="until-reached",
                  n_restarts=1, max_iter=1)  # fmt: skip
    walk = Trajectories([np.zeros(5, int)], [np.zeros(5, int)], n_states=25, n_actions=env.n_actions)
    problem = truth.em_problem(walk)
    habit = np.zeros_like(problem.components.random_parameters(np.random.default_rng(0), 0.0).emissions.habit)
    leave = np.log([[[0.9, 0.1], [0.5, 0.5]], [[0.98, 0.02], [0.1, 0.9]], [[0.98, 0.02], [0.1, 0.9]]])
    parameters = Parameters(
        np.log([0.4, 0.3, 0.3]), Leaving(leave, np.log([0.4, 0.3, 0.3])),
        GoalsParameters(habit, np.log([[1.0], [1.5], [1.5]])),
    )  # fmt: skip
    with float64():
        tables = numpy_tree(problem.components.tables(parameters))
    rows = problem.context[1]
    policies = np.exp(tables.log_emissions.T.reshape(3, -1, env.n_actions))[:, rows[: env.n_states]]
    given = SWIRL.from_parameters(
        env, history=1, rewards=np.log(policies), mode_transitions=np.exp(tables.log_transitions),
        initial_modes=[0.4, 0.3, 0.3], discount=1e-9,
    )  # a reward r(s, a) that is the log-policy, and no future: the same policy  # fmt: skip
    return env, given, given.sample(n_sessions, n_steps, random_state=1)


@cache
def fitted():
    env, _, data = pursued()
    return SWIRL(
        env, n_modes=3, history=2, reward=Goals((4, 20), kinds=0, moves="action"), switching="until-reached",
        n_restarts=2,
    ).fit(data)  # fmt: skip


@pytest.mark.slow
def test_goals_are_pursued_and_dropped_as_they_were():
    _, truth, data = pursued()
    model = fitted()
    assert (np.diff(model.objective_trace_) >= -1e-7 * abs(model.objective_trace_[0])).all()
    right = segmentation_accuracy(data.modes, model.predict(data))
    assert right > segmentation_accuracy(data.modes, truth.predict(data)) - 0.01
    assert abs(model.score(data) - truth.score(data)) < 0.01
    names = [f"to {model.env.state_names[place]}" for place in (4, 20)]
    assert sorted(model.mode_names_) == sorted(["explore", *names])
    to_4 = model.mode_names_.index(names[0])
    assert model.rewards_[to_4].max() == pytest.approx(1.5, rel=0.2)
    assert {goal.states: model.mode_names_[goal.mode] for goal in model.goals} == {(4,): names[0], (20,): names[1]}
    assert model.align_to(truth).goals != ()
    assert set(model.histories_[model.rewards_[to_4] > 0, 0].tolist()) == {4}
    stay = model.mode_transitions_[:, to_4, to_4]
    assert stay[4] < 0.5 < 0.9 < np.delete(stay, 4).min()


@pytest.mark.slow
def test_everything_else_works_with_goals(tmp_path):
    model, data = fitted(), pursued()[2]
    again = load(model.save(tmp_path / "goals.nc"))
    assert again.reward == Goals((4, 20), kinds=0, moves="action")
    assert (again.score(data), again.mode_names_) == (model.score(data), model.mode_names_)
    assert again.sample(2, 20, random_state=0).n_steps == 40
    online = model.online_filter()
    for state, action in zip(data.states[0][:20], data.actions[0][:20], strict=True):
        chances = online.update(int(state), int(action))
    assert chances.sum() == pytest.approx(1.0)
    assert model.score(data, of="next_state") < 0
    assert model.gauges == ("fitted",)  # the policy is not that of the reward alone
    with pytest.raises(ValueError, match="gauge='canonical': expected \"fitted\""):
        model.reward_table("canonical")


@pytest.mark.parametrize(
    ("form", "settings", "match"),
    [
        ({"places": (4, 0)}, {"n_modes": 2}, "n_modes=2: 2 goals and the exploring mode make 3; give that number"),
        ({"places": (99,)}, {"n_modes": 2}, "places hold 99, but the environment has 5 states"),
        ({"places": (1,), "kinds": [0, 1]}, {"n_modes": 2}, "kinds has 2 entries, but the environment has 5 states"),
        ({"places": (1,)}, {"n_modes": 2, "reward_prior": Gaussian()}, "takes priors.GoalDirected"),
        ({"places": (1,), "place_history": 2}, {"n_modes": 2}, "place_history=2: expected at most history=1"),
    ],
)
def test_what_does_not_fit_the_world_is_refused(form, settings, match):
    with pytest.raises(ValueError, match=match):
        SWIRL(world("stochastic"), history=1, reward=Goals(**form), **settings).fit(recording())


def test_a_goal_is_a_state_or_some_states():
    assert Goals([3, [1, 2]]).places == ((3,), (1, 2))
    for places in ([()], [-1], [(0, -2)]):
        with pytest.raises(ValueError, match="expected for each goal a state, or one or more states"):
            Goals(places)
    with pytest.raises(ValueError, match="without a goal and without exploring there is no mode"):
        Goals((), explores=False)
    with pytest.raises(ValueError, match="kinds=-1: expected a distance"):
        Goals((1,), kinds=-1)


@pytest.mark.parametrize("wrong", [-1, 1.5, 1.0, True, "1"])
def test_how_many_places_the_habit_knows_is_a_whole_number(wrong):
    form = Goals((1,), place_history=2)
    object.__setattr__(form, "place_history", wrong)  # tests check types before the form can
    with pytest.raises(ValueError, match=r"place_history=.*: expected a whole number, at least 0"):
        form.__post_init__()
