"""A habit that all modes share and goals of each mode: against plain loops over tuples of states, and end to end."""

from functools import cache

import jax
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from small_worlds import N_ACTIONS, N_MODES, lifted, world
from swirl.analysis.metrics import segmentation_accuracy
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.registry import load
from swirl.estimators.swirl import SWIRL
from swirl.inference.mstep import Parameters
from swirl.precision import float64, numpy_tree
from swirl.priors import Cauchy, Gaussian, HabitGoals
from swirl.rewards import Habit, Linear
from swirl.rewards.habit_goals import HabitGoalsParameters, HabitGoalsReward, values_of
from swirl.rewards.soft_q import read_values, soft_optimal_policies

DISCOUNT = 0.9
TEMPERATURE = np.array([1.0, 0.5])
PRIOR = HabitGoals(Gaussian(0.3, backoff=2.0), Gaussian(0.7, backoff=3.0))


# One M-step


def component(length=3, goal_history=2, kind="stochastic", temperature=TEMPERATURE, rows=None, habit=True):
    return HabitGoalsReward.build(
        lifted(length, kind),
        goal_history,
        habit=PRIOR.habit if habit else None,
        goal=PRIOR.goal,
        discount=DISCOUNT,
        temperature=temperature,
        rows=rows,
    )


def random_parts(shared, seed=0):
    rng = np.random.default_rng(seed)
    return HabitGoalsParameters(rng.standard_normal(shared.n_histories), rng.standard_normal((N_MODES, shared.n_short)))


def random_counts(histories, seed=0, scale=20.0):
    """Expected counts [mode, context, action]: not whole, some contexts never seen, none where unavailable."""
    rng = np.random.default_rng(seed)
    counts = scale * rng.gamma(0.5, size=(N_MODES, histories.n_contexts, N_ACTIONS))
    counts[:, rng.random(histories.n_contexts) < 0.3] = 0
    return counts * np.asarray(histories.successors.available)[: histories.n_contexts]


def symbols(counts):
    return counts.reshape(len(counts), -1).T


@jax.jit
def step(shared, parameters, counts):
    return shared.improve(parameters, counts)


@jax.jit
def evaluate(shared, parameters):
    return shared.log_emissions(parameters), shared.log_prior(parameters)


def in_double(function, *args):
    with float64():
        return numpy_tree(function(*args))


def objective(shared, parameters, counts):
    log_pi, log_prior = in_double(evaluate, shared, parameters)
    return float(np.sum(np.where(counts > 0, counts * log_pi, 0.0)) + log_prior)


def tuples(histories):
    return [tuple(s for s in row if s >= 0) for row in histories.table.tolist()]


def parts_of(histories, row):
    """Numbers of the histories that are the newest 1, 2, … states of `row`, by searching for them."""
    rows = tuples(histories)
    return [rows.index(row[:size]) for size in range(1, len(row) + 1)]


def plain_values(histories, habit, goals, goal_history):
    values = np.zeros((len(goals), histories.n_histories))
    for h, row in enumerate(tuples(histories)):
        for size, part in enumerate(parts_of(histories, row), start=1):
            for z in range(len(goals)):
                values[z, h] += habit[part] + (goals[z, part] if size <= goal_history else 0.0)
    return values


@pytest.mark.parametrize(("length", "goal_history"), [(1, 1), (2, 1), (3, 2), (3, 3)])
def test_values_equal_the_plain_loop(length, goal_history):
    histories = lifted(length, "stochastic")
    parts = random_parts(component(length, goal_history))
    n_short = sum(len(row) <= goal_history for row in tuples(histories))
    assert parts.goals.shape == (N_MODES, n_short)
    expected = plain_values(histories, *parts, goal_history)
    np.testing.assert_allclose(values_of(histories, *parts, N_MODES), expected, rtol=1e-12)
    one = values_of(histories, parts.habit, np.zeros((1, 0)), 1)
    np.testing.assert_allclose(one, plain_values(histories, parts.habit, 0 * parts.goals[:1], goal_history), rtol=1e-12)


@pytest.mark.parametrize(("length", "goal_history", "habit"), [(1, 1, True), (3, 2, True), (3, 3, False)])
def test_policies_and_prior_equal_the_plain_loop(length, goal_history, habit):
    histories, shared = lifted(length, "stochastic"), component(length, goal_history, habit=habit)
    parts = random_parts(shared)
    if not habit:
        parts = parts._replace(habit=0 * parts.habit)
    given = parts if habit else parts._replace(habit=np.zeros(0))
    log_pi, log_prior = in_double(evaluate, shared, given)
    np.testing.assert_array_equal(values_of(histories, *given, N_MODES), values_of(histories, *parts, N_MODES))
    log_pi = log_pi.T.reshape(N_MODES, histories.n_contexts, N_ACTIONS)
    values, tables = plain_values(histories, *parts, goal_history), histories.successors
    for z, temperature in enumerate(TEMPERATURE):
        for row in range(histories.n_contexts):
            actions = np.flatnonzero(tables.available[row])
            leads = zip(tables.probability[row, actions], tables.next[row, actions], strict=True)
            expected = [sum(p * values[z, to] for p, to in zip(*branches, strict=True)) for branches in leads]
            own = log_softmax(DISCOUNT / temperature * np.array(expected))
            np.testing.assert_allclose(log_pi[z, row, actions], own, rtol=1e-10, atol=1e-12)
            assert (np.delete(log_pi[z, row], actions) < -1e20).all()

    total = 0.0
    for h, row in enumerate(tuples(histories)):
        if h not in shared.active:  # those have no say and stay at 0
            continue
        total += 0.5 * 0.3 * 2.0 ** (len(row) - 1) * parts.habit[h] ** 2
        if len(row) <= goal_history:
            total += sum(0.5 * 0.7 * 3.0 ** (len(row) - 1) * parts.goals[z, h] ** 2 for z in range(N_MODES))
    assert float(log_prior) == pytest.approx(-total, rel=1e-12)


def plain_loss(histories, goal_history, counts):
    """−(Σ W log π + log prior) and its gradient, from a dense matrix made of tuples; the unknowns are all parts."""
    rows, n = tuples(histories), histories.n_histories
    n_short = sum(len(row) <= goal_history for row in rows)
    parts = np.zeros((n, n))  # [history, part]
    for h, row in enumerate(rows):
        parts[h, parts_of(histories, row)] = 1
    tables, k = histories.successors, histories.n_contexts
    leads = np.zeros((k, N_ACTIONS, n))
    np.add.at(leads, (*np.indices(tables.next[:k].shape)[:2], tables.next[:k]), tables.probability[:k])
    design = leads @ parts
    available = np.asarray(tables.available)[:k]
    size = np.array([len(row) for row in rows])
    precision = np.concatenate([0.3 * 2.0 ** (size - 1), *[0.7 * 3.0 ** (size[:n_short] - 1)] * N_MODES])

    def loss(x):
        habit, goals = x[:n], x[n:].reshape(N_MODES, n_short)
        value, gradient = 0.5 * np.sum(precision * x**2), precision * x
        for z, temperature in enumerate(TEMPERATURE):
            slope = DISCOUNT / temperature
            logits = slope * (design @ habit + design[..., :n_short] @ goals[z])
            log_pi = log_softmax(np.where(available, logits, -np.inf), axis=-1)
            value -= np.sum(counts[z][available] * log_pi[available])
            residual = slope * (counts[z].sum(axis=-1, keepdims=True) * np.exp(log_pi) - counts[z])
            to_parts = np.einsum("ra,ran->n", residual, design)
            gradient[:n] += to_parts
            gradient[n + z * n_short : n + (z + 1) * n_short] += to_parts[:n_short]
        return value, gradient

    return loss


@pytest.mark.slow
def test_the_optimum_is_that_of_the_plain_objective():
    histories, shared = lifted(3, "stochastic"), component()
    assert shared.probability.shape[-1] > 1
    assert not shared.available.all()
    counts = random_counts(histories)
    found = shared.random_parameters(np.random.default_rng(1), 1.0)
    for _ in range(25):
        found = in_double(step, shared, found, symbols(counts))
    loss = plain_loss(histories, 2, counts)
    x = np.concatenate([found.habit, found.goals.ravel()])
    assert objective(shared, found, symbols(counts)) == pytest.approx(-loss(x)[0], rel=1e-12)
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000, "maxfun": 10000}
    best = minimize(loss, 0 * x, jac=True, method="L-BFGS-B", options=options)
    assert loss(x)[0] == pytest.approx(best.fun, abs=1e-6)
    np.testing.assert_allclose(x, best.x, atol=1e-3)


@pytest.mark.slow
def test_no_step_makes_the_objective_worse():
    histories, shared = lifted(3, "stochastic"), component()
    for seed in range(3):
        counts = symbols(random_counts(histories, seed, scale=[20.0, 2000.0, 0.01][seed]))
        if seed == 2:
            counts[:, 1] = 0.0  # a mode that nobody uses
        parameters = random_parts(shared, seed)
        trace = []
        for _ in range(12):
            trace.append(objective(shared, parameters, counts))
            parameters = in_double(step, shared, parameters, counts)
        assert np.diff(trace).min() >= -1e-10 * abs(trace[-1])
        assert trace[-1] > trace[0]


@pytest.mark.slow
def test_rows_that_are_not_visited_move_nothing():
    histories = lifted(3, "stochastic")
    counts = random_counts(histories)
    counts[:, 8:] = 0  # few visits, so that some histories are out of reach of all of them
    visited = np.flatnonzero(counts.sum(axis=(0, 2)))
    everything, some = component(), component(rows=visited)
    assert 0 < len(some.active) < len(everything.active)
    nothing = everything.random_parameters(np.random.default_rng(0), 1.0)
    a = b = HabitGoalsParameters(nothing.habit, 0 * nothing.goals)
    for _ in range(4):
        a = in_double(step, everything, a, symbols(counts))
        b = in_double(step, some, b, symbols(counts[:, visited]))
        np.testing.assert_allclose(b.habit, a.habit, atol=1e-9)
        np.testing.assert_allclose(b.goals, a.goals, atol=1e-9)
        untouched = np.setdiff1d(np.arange(histories.n_histories), some.active)
        assert (b.habit[untouched] == 0).all()
        assert (b.goals[:, untouched[untouched < some.n_short]] == 0).all()
    assert np.abs(a.habit).max() > 0.1
    log_pi = [in_double(evaluate, shared, p)[0].T for shared, p in ((everything, a), (some, b))]
    whole = log_pi[0].reshape(N_MODES, -1, N_ACTIONS)[:, visited]
    np.testing.assert_allclose(log_pi[1].reshape(whole.shape), whole, atol=1e-9)


def test_with_one_mode_there_is_nothing_but_habit():
    shared = component(temperature=np.ones(1))
    start = shared.random_parameters(np.random.default_rng(0), 1.0)
    assert start.goals.shape == (1, 0)
    assert (start.habit == 0).all()


def test_the_goals_of_one_mode_are_a_habit():
    """A habit of one mode, or its goals without a habit: the same parts under another name."""
    histories = lifted(3, "stochastic")
    options = {"discount": DISCOUNT, "temperature": np.ones(1), "rows": np.arange(12)}
    habit = HabitGoalsReward.build(histories, 1, habit=PRIOR.habit, goal=PRIOR.goal, **options)
    goals = HabitGoalsReward.build(histories, 3, habit=None, goal=PRIOR.habit, **options)
    none, drawn = (shared.random_parameters(np.random.default_rng(0), 1.0) for shared in (habit, goals))
    assert (none.goals.shape, drawn.habit.shape) == ((1, 0), (0,))
    renamed = HabitGoalsParameters(drawn.goals[0], none.goals)
    for a, b in zip(in_double(evaluate, goals, drawn), in_double(evaluate, habit, renamed), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    np.testing.assert_array_equal(values_of(histories, *drawn, 1), values_of(histories, *renamed, 1))


# The model


FIT_PRIOR = HabitGoals(Gaussian(0.1, backoff=(1.0, 2.0, 4.0)), Gaussian(0.2, backoff=2.0))
OPTIONS = {
    "history": 3,
    "reward": Habit(1),
    "reward_prior": FIT_PRIOR,
    "switching": "independent",
    "temperature": (1.0, 0.5),
    "n_restarts": 2,
    "max_iter": 40,
    "tol": 1e-12,  # so that all of them are made: when EM is asked whether it is done depends on where it began
}


@cache
def truth():
    """A habit of three states for both modes, and two places that each of them wants."""
    env = world("stochastic")
    histories = Histories.reachable(env.successors, 3)
    rng = np.random.default_rng(1)
    habit = 1.5 * rng.standard_normal(histories.n_histories)
    goals = np.zeros((N_MODES, env.n_states))
    goals[0, [0, 1]] = goals[1, [2, 4]] = 5.0
    values = values_of(histories, habit, goals, N_MODES)
    rewards, _ = read_values(histories.successors, values, discount=0.95, temperature=np.ones(N_MODES))
    return SWIRL.from_parameters(
        env,
        history=3,
        rewards=rewards,
        histories=histories.table,
        mode_transitions=np.array([[0.96, 0.04], [0.04, 0.96]]),
        initial_modes=[0.5, 0.5],
    )


@cache
def recording():
    return truth().sample(8, 60)


def model(**options):
    return SWIRL(world("stochastic"), **{**OPTIONS, **options})


@cache
def fitted():
    return model().fit(recording())


@cache
def fitted_with_one_mode():
    return model(n_modes=1, temperature=1.0, n_restarts=1).fit(recording())


@pytest.mark.slow
def test_the_objective_never_falls():
    for restart in fitted().restarts_:
        assert len(restart.objective_trace) > 4
        assert np.diff(restart.objective_trace).min() >= -1e-9 * abs(restart.objective)


@pytest.mark.slow
def test_modes_are_found():
    accuracy = segmentation_accuracy(recording().modes, fitted().predict(recording()))
    shares = np.bincount(np.concatenate(recording().modes)) / recording().n_steps
    assert accuracy > 0.85 > 0.7 > shares.max()  # the model that made the data: 0.9
    assert fitted().score(recording()) > fitted_with_one_mode().score(recording()) + 0.02


@pytest.mark.slow
def test_the_reward_explains_the_policy():
    fit, histories = fitted(), Histories.reachable(world("stochastic").successors, 3)
    planned = soft_optimal_policies(
        histories.successors, fit.rewards_, discount=0.95, temperature=fit.mode_temperatures_, per_action=False
    )
    np.testing.assert_allclose(planned, fit.policies_, atol=1e-8)
    np.testing.assert_allclose(fit.policies_.sum(axis=-1), 1, atol=1e-12)
    assert (fit.policies_[:, ~np.asarray(histories.successors.available)] == 0).all()


@pytest.mark.slow
def test_the_policies_are_those_of_the_last_iteration():
    """Policies come from the sums of parts, the likelihood of the fit from the table of visited contexts."""
    fit = fitted()
    total = fit.log_likelihood(recording()).sum()
    assert total == pytest.approx(fit.log_likelihoods_[-1], rel=1e-9)


@pytest.mark.slow
def test_one_mode_is_the_convex_optimum():
    env = world("stochastic")
    fit = fitted_with_one_mode()
    parts = fit.restarts_[0].parameters.emissions
    assert parts.goals.shape == (1, 0)
    histories = Histories.reachable(env.successors, 3)
    counts = np.zeros((histories.n_contexts, N_ACTIONS))
    rows = [tuple(row) for row in histories.table.tolist()]
    for states, actions in zip(recording().states, recording().actions, strict=True):
        for t in np.flatnonzero(actions >= 0):
            counts[rows.index((states[t], states[t - 1] if t else -1, -1)), actions[t]] += 1
    tables, k = histories.successors, histories.n_contexts
    chains = np.zeros((histories.n_histories, histories.n_histories))
    for h, row in enumerate(tuples(histories)):
        chains[h, parts_of(histories, row)] = 1
    leads = np.sum(tables.probability[:k, ..., None] * chains[tables.next[:k]], axis=2)
    available, precision = tables.available[:k], 0.1 * 2.0 ** (np.sum(histories.table >= 0, axis=1) - 1)

    def loss(x):
        log_pi = log_softmax(np.where(available, 0.95 * leads @ x, -np.inf), axis=-1)
        residual = counts.sum(axis=-1, keepdims=True) * np.exp(log_pi) - counts
        value = -np.sum(counts[available] * log_pi[available]) + 0.5 * np.sum(precision * x**2)
        return value, 0.95 * np.einsum("ra,ran->n", residual, leads) + precision * x

    best = minimize(loss, np.zeros(histories.n_histories), jac=True, method="L-BFGS-B", options={"ftol": 1e-15})
    assert loss(parts.habit)[0] == pytest.approx(best.fun, abs=1e-6)


def test_a_saved_model_is_the_same_model(tmp_path):
    fit = fitted()
    again = load(fit.save(tmp_path / "model.nc"))
    assert again.reward == Habit(1)
    assert again.reward_prior == FIT_PRIOR
    for name in SWIRL.stored:
        np.testing.assert_array_equal(getattr(again, f"{name}_"), getattr(fit, f"{name}_"), err_msg=name)
    for a, b in zip(again.predict(recording()), fit.predict(recording()), strict=True):
        np.testing.assert_array_equal(a, b)
    assert again.score(recording()) == fit.score(recording())
    other = 1 - fit.best_restart_
    for index in (fit.best_restart_, other):  # a file knows nothing of which contexts were visited
        np.testing.assert_allclose(again.use_restart(index).policies_, fit.use_restart(index).policies_, atol=1e-12)
    went_on = again.set_params(max_iter=1).fit(recording(), resume=True)
    assert went_on.objective_trace_[0] == pytest.approx(fit.objective_trace_[-1], rel=1e-9)


@pytest.mark.slow
def test_one_mode_is_saved_too(tmp_path):
    fit = fitted_with_one_mode()
    again = load(fit.save(tmp_path / "model.nc"))
    assert again.score(recording()) == fit.score(recording())
    assert again.restarts_[0].parameters.emissions.goals.shape == (1, 0)


def test_a_fit_can_be_resumed():
    halves = model(max_iter=3).fit(recording())
    before = [r.objective for r in halves.restarts_]
    halves.set_params(max_iter=37).fit(recording(), resume=True)
    np.testing.assert_allclose([r.objective_trace[0] for r in halves.restarts_], before, rtol=1e-12)
    assert (len(halves.objective_trace_), len(fitted().objective_trace_)) == (38, 41)
    assert halves.objective_trace_[-1] == pytest.approx(fitted().objective_trace_[-1], rel=1e-9)
    with pytest.raises(ValueError, match="resume=True: the last fit was of another model"):
        halves.set_params(reward=Habit(2)).fit(recording(), resume=True)


def test_names_of_modes_do_not_matter():
    """With the temperatures and goals of two modes exchanged EM goes the same way; the habit has no mode."""
    swap = np.array([1, 0])
    one = model(max_iter=3).fit(recording())
    other = model(max_iter=3).fit(recording())
    other.restarts_ = [
        type(r)(
            Parameters(
                r.parameters.log_initial[swap],
                r.parameters.switching[swap][:, swap],
                r.parameters.emissions._replace(goals=r.parameters.emissions.goals[swap]),
            ),
            r.objective_trace,
            r.log_likelihood_trace,
            r.occupancy[swap],
            r.status,
        )
        for r in other.restarts_
    ]
    # One step only: the rounding of long conjugate-gradient runs grows from step to step.
    one.set_params(max_iter=1).fit(recording(), resume=True)
    other.set_params(max_iter=1, temperature=(0.5, 1.0)).fit(recording(), resume=True)
    np.testing.assert_allclose(other.objective_trace_, one.objective_trace_, rtol=1e-8)
    np.testing.assert_allclose(other.policies_, one.policies_, atol=1e-6)  # both ordered by occupancy
    np.testing.assert_array_equal(other.mode_temperatures_, one.mode_temperatures_)


def test_what_is_set_after_the_fit_does_not_change_its_policies():
    fit = model(max_iter=3).fit(recording())
    before = fit.policies_
    fit.set_params(discount=0.5, temperature=(3.0, 3.0))
    np.testing.assert_array_equal(fit.use_restart(fit.best_restart_).policies_, before)


def test_sklearn_clones_the_options_and_not_the_fit():
    base = pytest.importorskip("sklearn.base")
    copy = base.clone(fitted())
    assert not hasattr(copy, "rewards_")
    assert (copy.reward, copy.reward_prior) == (Habit(1), FIT_PRIOR)


def test_goals_see_no_more_than_the_history():
    histories = Histories.reachable(world("stochastic").successors, 2)
    prior = HabitGoals(goal=Gaussian(0.5, backoff=(1.0, 3.0)))  # a factor for each order that there is
    options = {"history": 2, "reward_prior": prior}
    components, rows = model(reward=Habit(5), **options).build_components(histories)
    expected, _ = model(reward=Habit(2), **options).build_components(histories)
    assert components.emissions.n_short == histories.n_histories
    np.testing.assert_array_equal(components.emissions.goal_precision, expected.emissions.goal_precision)
    np.testing.assert_array_equal(rows, histories.contexts)


@pytest.mark.parametrize("prior", [Gaussian(1.0), Cauchy()])
def test_another_prior_is_refused_in_words(prior):
    with pytest.raises(ValueError, match=r"reward_prior=.*: reward=Habit\(goal_history=1\) takes priors.HabitGoals"):
        model(reward_prior=prior).fit(recording())
    with pytest.raises(ValueError, match=r"reward_prior=HabitGoals.*: reward='state' takes priors.Cauchy or"):
        model(reward="state").fit(recording())


def test_too_few_factors_are_refused_in_words():
    with pytest.raises(ValueError, match="backoff has 3 factors: expected one for each history order, 2"):
        model(history=2).fit(recording())


@pytest.mark.parametrize("goal_history", [0, -1, 1.5, True, "2"])
def test_goals_see_at_least_one_state(goal_history):
    with pytest.raises((ValueError, TypeError)):
        Habit(goal_history)


def test_priors_of_parts_are_normal():
    with pytest.raises((ValueError, TypeError)):
        HabitGoals(habit=Cauchy())


def test_a_prior_on_values_is_refused_where_rewards_are_planned():
    env = MDP.deterministic([[0, 1], [1, 0]])
    model = SWIRL(env, reward=Linear(np.eye(2)), reward_prior=Gaussian(of="value"), history=1)
    with pytest.raises(ValueError, match=r"takes priors\.Gaussian of"):
        model.fit(Trajectories([[0, 1, 1]], [[1, 0]]))
