"""The observed information: against the curvature of a plain filter, against refits, and where it is refused."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy.stats import beta

from swirl import precision, report
from swirl.analysis.bootstrap import bootstrap
from swirl.analysis.decoded import decode
from swirl.analysis.information import (
    NoInformationError,
    information,
    inverse_root,
    observed_information,
    unit_counts,
    unit_slopes,
)
from swirl.analysis.intervals import Intervals, log_odds, logit
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld
from swirl.estimators.gaussian_arhmm import GaussianARHMM
from swirl.estimators.iq_network import IQNetwork
from swirl.estimators.swirl import SWIRL
from swirl.inference.messages import forward
from swirl.priors import Cauchy, Gaussian
from swirl.report.uncertainty import interval_facts

# ---------------------------------------------------------------------- the curvature itself

RING = MDP.deterministic([[0, 1], [1, 2], [2, 0]])


@cache
def tiny(kind="value"):
    """Three places in a ring, two modes, four short sessions; an action is missing, and a session has a gap."""
    rng = np.random.default_rng(3)
    states, actions = [], []
    for _ in range(4):
        path, done = [0], []
        for _ in range(24):
            done.append(int(rng.random() < (0.85 if (len(done) // 8) % 2 else 0.2)))
            path.append((path[-1] + done[-1]) % 3)
        states.append(np.array(path[:-1]))
        actions.append(np.array(done))
    actions[1][5] = -1  # where it led is known
    data = Trajectories(states, actions, gaps=[[], [], [10], []], n_states=3, n_actions=2)
    settings = {
        "value": {"reward_prior": Gaussian(0.3, of="value"), "switching": "state", "history": 2},
        "cauchy": {"reward_prior": Cauchy(0.5), "switching": "state", "history": 2},
        "table": {"reward": "state-action", "switching": "independent", "history": 1},
    }[kind]
    model = SWIRL(RING, n_modes=2, n_restarts=2, max_iter=500, **settings).fit(data)
    problem = model.em_problem(data)
    return model, data, problem, model.restarts_[model.best_restart_].parameters


def plain_objective(problem, like):
    """Log-likelihood + log prior as a function of all numbers: the forward filter of every chain."""
    components, chains = problem.components, problem.chains
    unflat = ravel_pytree(jax.tree.map(jnp.asarray, like))[1]
    lengths = np.diff(chains.offsets)
    steps = np.minimum(chains.offsets[:-1, None] + np.arange(24), len(chains.symbols) - 1)

    def objective(x):
        parameters = components.normalised(unflat(x))
        tables = components.tables(parameters)
        emissions = jnp.concatenate([tables.log_emissions, jnp.zeros((1, components.emissions.n_modes))])
        seen, switching = emissions[chains.symbols[steps]], tables.log_transitions[chains.states[steps]]
        each = jax.vmap(lambda *chain: forward(tables.log_initial, *chain).log_normaliser)(switching, seen, lengths)
        return components.log_prior(parameters) + jnp.sum(each)

    return objective


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["value", "cauchy", "table"])
def test_it_is_the_curvature_of_the_plain_filter(kind):
    """To 1e-6 of the largest entry; slopes to 1e-8, as Fisher's identity is exact."""
    _, _, problem, parameters = tiny(kind)
    found = observed_information(problem.components, problem.chains, parameters)
    with precision.float64():
        objective = plain_objective(problem, parameters)
        slope, curvature = (np.asarray(jax.jit(f(objective))(found.point)) for f in (jax.grad, jax.hessian))
    np.testing.assert_allclose(found.slope, slope, atol=1e-8)
    np.testing.assert_allclose(found.matrix, -curvature, atol=1e-6 * np.abs(curvature).max())
    np.testing.assert_array_equal(found.matrix, found.matrix.T)
    # Nothing bends upwards, and along what a normalisation leaves free nothing bends at all.
    values = np.linalg.eigvalsh(found.matrix)
    assert values.min() > -1e-6 * values.max()


@pytest.mark.slow
def test_slopes_of_steps_are_differences_of_counts():
    """By hand: move one number and count again."""
    _, _, problem, parameters = tiny()
    found = observed_information(problem.components, problem.chains, parameters)
    with precision.float64():
        unflat = ravel_pytree(jax.tree.map(jnp.asarray, parameters))[1]
        moved = [precision.numpy_tree(unflat(jnp.asarray(found.point).at[4].add(h))) for h in (1e-3, -1e-3)]
    all_chains = np.zeros(problem.chains.n_chains, dtype=int)
    up, down = (unit_counts(problem.components, problem.chains, one, all_chains) for one in moved)
    slope = (up.emissions.sum(axis=1) - down.emissions.sum(axis=1))[0] / 2e-3
    np.testing.assert_allclose(found.step_slopes[4], slope, atol=1e-5)
    np.testing.assert_allclose(found.step_slopes.sum(axis=1), 0, atol=1e-6)  # steps only change hands


@pytest.mark.slow
def test_what_sessions_pull_adds_up_to_the_slope():
    _, _, problem, parameters = tiny()
    found = observed_information(problem.components, problem.chains, parameters)
    units = np.array([0, 1, 2, 2, 3])  # the third session has two chains
    counts = unit_counts(problem.components, problem.chains, parameters, units)
    assert counts.log_likelihood.shape == (4,)
    pulls = unit_slopes(problem.components, parameters, counts)
    np.testing.assert_allclose(pulls.sum(axis=0), 0, atol=1e-9)
    with precision.float64():
        objective = plain_objective(problem, parameters)
        alone = replace(problem.chains, offsets=problem.chains.offsets[:2])  # the first session only
        first = plain_objective(problem._replace(chains=alone), parameters)
        unflat = ravel_pytree(jax.tree.map(jnp.asarray, parameters))[1]
        x = jnp.asarray(found.point)

        def prior(x):
            return problem.components.log_prior(problem.components.normalised(unflat(x)))

        whole, own, none = (np.asarray(jax.jit(jax.grad(f))(x)) for f in (objective, first, prior))
    np.testing.assert_allclose(pulls[0], own - none - (whole - none) / 4, atol=1e-8)


def test_the_root_leaves_alone_what_is_not_known():
    rng = np.random.default_rng(0)
    some = rng.normal(size=(5, 3))
    root = inverse_root(some @ some.T)
    assert root.shape == (5, 3)
    np.testing.assert_allclose(some.T @ root @ root.T @ some, np.eye(3), atol=1e-9)
    nothing = np.zeros((4, 4))
    nothing[0, 0] = 4.0
    np.testing.assert_allclose(inverse_root(nothing) @ inverse_root(nothing).T, np.diag([0.25, 0, 0, 0]))


def test_where_the_objective_bends_upwards_it_is_refused():
    with pytest.raises(NoInformationError, match="not at a maximum: its objective bends upwards in 1 direction"):
        inverse_root(np.array([[1.0, 3.0], [3.0, 1.0]]))


# ---------------------------------------------------------------------- intervals of a small fit


@cache
def small_fit():
    """A grid of nine places, two modes that like one corner each, and are told apart."""
    moves = np.array(
        [[max(s - 3, s % 3), s - (s % 3 > 0), min(s + 3, 6 + s % 3), s + (s % 3 < 2), s] for s in range(9)]
    )
    env = MDP.deterministic(moves)
    rewards = np.zeros((2, 9))
    rewards[0, 0] = rewards[1, 8] = 1.0
    leave = np.full((9, 2), 0.02)
    leave[0, 0] = leave[8, 1] = 0.2
    switching = np.stack([np.stack([1 - leave[:, 0], leave[:, 0]], 1), np.stack([leave[:, 1], 1 - leave[:, 1]], 1)], 1)
    truth = SWIRL.from_parameters(env, history=1, rewards=rewards, mode_transitions=switching, initial_modes=[0.5, 0.5])
    data = truth.sample(24, 80, random_state=1)
    settings = {"history": 1, "reward_prior": Gaussian(0.1, of="value"), "n_restarts": 2}
    return truth, SWIRL(env, n_modes=2, **settings).fit(data), data


@cache
def found():
    _, model, data = small_fit()
    return information(model, data)


@pytest.mark.slow
def test_widths_are_those_of_a_bootstrap():
    """On a well-identified data set the middle ratio of standard errors is within 1.25 of 1, most within 2."""
    _, model, data = small_fit()
    boot = bootstrap(model, data, n_draws=40)
    for name in ("policies", "preferences", "rewards", "occupancy", "leaving"):
        wide, other = (one.reach(name) for one in (found(), boot))
        ratio = (wide / other)[np.isfinite(wide) & (other > 1e-9)]
        assert 1 / 1.25 < np.median(ratio) < 1.25, name
        assert np.mean((ratio > 0.5) & (ratio < 2)) > 0.9, name
        np.testing.assert_allclose(found().estimate(name), boot.estimate(name), atol=0.02, err_msg=name)


@pytest.mark.slow
def test_most_intervals_hold_the_truth():
    truth, _, _ = small_fit()
    policies = truth.state_policies()
    apart = [np.abs(found().fitted["policies"][o] - policies).sum() for o in ([0, 1], [1, 0])]
    order = [[0, 1], [1, 0]][int(np.argmin(apart))]
    low, high = (end[order] for end in found().interval("policies"))
    assert 0.8 < np.mean((low <= policies) & (policies <= high)) <= 1
    rewards = truth.reward_map("canonical")
    low, high = (end[order] for end in found().interval("rewards"))
    away = rewards - rewards.mean(axis=1, keepdims=True)
    assert np.mean((low <= away) & (away <= high)) > 0.85
    shares = found().best_places()[order]
    assert (shares[0].argmax(), shares[1].argmax()) == (0, 8)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


@pytest.mark.slow
def test_the_result_says_what_was_done_and_is_read_back(tmp_path):
    _, model, data = small_fit()
    assert (found().method, found().by, found().n_units, found().n_draws) == ("information", "session", 24, 100)
    assert found().statuses == ()
    assert str(found()).startswith(
        "Information: 100 draws from the curvature of the objective (the observed information"
    )
    assert found().drift < 0.5
    np.testing.assert_allclose(found().policies.sum(axis=3), 1)
    np.testing.assert_allclose(found().mode_transitions.sum(axis=3), 1)
    assert [len(part) for part in found().stability] == data.lengths.tolist()
    assert np.concatenate(found().stability).mean() > 0.9
    again = Intervals.load(found().save(tmp_path / "intervals.nc"))
    assert (str(again), again.method) == (str(found()), "information")
    for name in again.names:
        np.testing.assert_array_equal(again.interval(name), found().interval(name))
    # The same seed, the same draws.
    np.testing.assert_array_equal(information(model, data).policies, found().policies)
    robust = information(model, data, by="session")
    assert "how the 24 sessions differ makes it (the sandwich)" in robust.how
    assert robust.between.freedom("policies") < 23 < robust.freedom("policies")
    assert not np.allclose(robust.between.policies, robust.policies)


@pytest.mark.slow
def test_modes_keep_the_numbers_of_the_fit():
    _, model, data = small_fit()
    turned = model.use_restart(model.best_restart_)
    order = [1, 0]
    turned._set_rewards(model._histories, model.rewards_[order], model.log_policies_[order])
    turned._set_chain(model.mode_transitions_[:, order][:, :, order], model.initial_modes_[order])
    other = information(turned, data)
    for name in ("policies", "rewards", "occupancy", "leaving", "initial_modes"):
        np.testing.assert_allclose(getattr(other, name), getattr(found(), name)[:, order], err_msg=name)
    np.testing.assert_allclose(other.switches, found().switches[:, order][:, :, order])
    np.testing.assert_allclose(np.concatenate(other.stability), np.concatenate(found().stability))


@pytest.mark.slow
def test_four_sessions_say_nothing_of_how_sessions_differ():
    model, data, *_ = tiny()
    few = information(model, data, n_draws=10)
    assert np.isnan(few.interval("occupancy")).all()
    assert np.isnan(few.interval("durations")).all()
    assert np.isfinite(few.interval("policies")).all()
    assert "shares and durations have no intervals: 4 sessions say next to nothing" in str(few)
    rows = interval_facts(decode(model, data), few)
    assert [row["share_range"] for row in rows["rows"]] == ["", ""]
    assert rows["rows"][0]["share_at"] is None
    assert "Shares and durations have no intervals here" in rows["words"]


# ---------------------------------------------------------------------- rare choices, rare switches


@cache
def never_chosen():
    """One place, five actions; all of a hundred choices are the first, as most often where each other has 0.001."""
    data = Trajectories([np.zeros(20, int)] * 5, [np.zeros(20, int)] * 5, n_states=1, n_actions=5)
    env = MDP.deterministic([[0] * 5])
    model = SWIRL(env, n_modes=1, history=1, reward="state-action", n_restarts=1).fit(data)
    return model, data


@pytest.mark.parametrize("method", [information, bootstrap])
def test_what_was_never_chosen_may_be_rarer_than_the_prior_says(method):
    """The prior adds one choice of each action: the normal interval, ±1 around 1/105, holds neither 0.001 nor 0.996."""
    model, data = never_chosen()
    made = method(model, data, n_draws=100 if method is information else 5)
    np.testing.assert_allclose(made.fitted["policies"][0, 0], np.array([101, 1, 1, 1, 1]) / 105, atol=1e-6)
    low, high = (end[0, 0] for end in made.interval("policies"))
    truth = np.array([0.996, 0.001, 0.001, 0.001, 0.001])
    assert ((low <= truth) & (truth <= high)).all()
    end = beta.ppf(0.975, 1, 100)  # of the exact interval of none of a hundred
    assert np.mean(high[1:]) == pytest.approx(end, rel=0.3)
    assert 1 - low[0] == pytest.approx(end, rel=0.3)
    if method is information:  # normal intervals with the pull in them miss
        reach, fitted = made.reach("policies")[0, 0], logit(made.fitted["policies"][0, 0])
        assert (fitted[1:] - reach[1:] > logit(truth)[1:]).all()
        assert fitted[0] + reach[0] < logit(truth)[0]


def by_hand(switches, draws, **more):
    """Two modes and as many places as `switches` has rows; `draws` of P(leave | mode 0, place)."""
    n = len(draws)
    table = np.full((n, len(switches), 2, 2), 0.5)
    table[:, :, 0, 1], table[:, :, 0, 0] = draws, 1 - np.asarray(draws)
    pairs = np.zeros((len(switches), 2, 2))
    pairs[:, 0], pairs[:, 1] = switches, [50, 50]
    chain = {"mode_transitions": table, "initial_modes": np.full((n, 2), 0.5)}
    means = {"occupancy": np.full((n, 2), 0.5), "leaving": table[:, 0, :, 1]}
    fitted = {"mode_transitions": table.mean(axis=0), "leaving": means["leaving"].mean(axis=0)}
    about = {"by": "session", "n_units": 30, "policies": None, "rewards": None, "stability": ()}
    return Intervals(**{**about, **chain, **means, "fitted": fitted, "switches": pairs, **more})


@pytest.mark.parametrize("method", ["bootstrap", "information"])
def test_few_switches_rest_on_no_more_stays_than_there_are(method):
    """Two of two hundred, which all refits hold alike; twenty say themselves how open they are."""
    draws = np.column_stack([np.linspace(0.009, 0.011, 9), np.linspace(0.09, 0.11, 9)])
    made = by_hand([[198.0, 2.0], [180.0, 20.0]], draws, method=method)
    low, high = made.interval("mode_transitions")
    assert (low[0, 0, 1], high[0, 0, 1]) == pytest.approx((beta.ppf(0.025, 2, 199), beta.ppf(0.975, 3, 198)))
    assert (low[0, 0, 0], high[0, 0, 0]) == pytest.approx((1 - high[0, 0, 1], 1 - low[0, 0, 1]))
    assert (low[0, 1], high[0, 1]) == (pytest.approx([0.5, 0.5]), pytest.approx([0.5, 0.5]))  # moved by no draw
    assert np.isinf(made.at_most("mode_transitions")[1]).all()
    narrow, tight = replace(made, switches=None).interval("mode_transitions")
    assert high[0, 0, 1] > 2 * tight[0, 0, 1]
    np.testing.assert_array_equal((low[1], high[1]), (narrow[1], tight[1]))


def test_an_interval_is_that_of_as_many_choices_as_leave_it_so_open():
    """Forty switches are counted, but the log-odds are as open as if six had been seen."""
    spread = np.sqrt(1 / (60 * 0.1 * 0.9))
    logits = np.log(0.1 / 0.9) + np.random.default_rng(0).normal(scale=spread, size=4_000)
    made = by_hand([[360.0, 40.0]], 1 / (1 + np.exp(-logits))[:, None], method="information")
    made.fitted["mode_transitions"][0, 0] = [0.9, 0.1]
    low, high = made.interval("mode_transitions")
    assert (low[0, 0, 1], high[0, 0, 1]) == pytest.approx((beta.ppf(0.025, 6, 55), beta.ppf(0.975, 7, 54)), rel=0.05)
    # Half of the pull goes where everything counts twice.
    half = {**made.fitted, "mode_transitions": np.array([[[0.92, 0.08], [0.5, 0.5]]])}
    pulled = replace(made, twice=half)
    assert pulled.without_priors("mode_transitions")[0, 0] == pytest.approx([0.94, 0.06])
    low, high = pulled.interval("mode_transitions")
    assert (low[0, 0, 1], high[0, 0, 1]) == pytest.approx(
        (beta.ppf(0.025, 3.6, 57.4), beta.ppf(0.975, 4.6, 56.4)), rel=0.05
    )


def test_places_with_one_table_count_together():
    draws = np.repeat(np.linspace(0.009, 0.011, 9)[:, None], 4, axis=1)
    made = by_hand([[198.0, 2.0]] * 4, draws)
    assert made.could("mode_transitions")[:, 0, 1].tolist() == [800.0] * 4
    assert made.could("leaving").tolist() == [800.0, 400.0]
    assert np.isinf(made.at_most("mode_transitions")).all()
    assert by_hand([[99.0, 1.0]] * 2, draws[:, :2]).at_most("mode_transitions")[:, 0, 1].tolist() == [200.0] * 2


def test_nothing_seen_nothing_known():
    draws = np.linspace(0.2, 0.3, 9)[:, None]
    low, high = by_hand([[0.0, 0.0]], draws).interval("mode_transitions")
    assert (low[0, 0], high[0, 0]) == (pytest.approx([0, 0]), pytest.approx([1, 1]))


def test_log_odds_reach_as_much_further_as_the_priors_pull():
    policies = np.random.default_rng(0).dirichlet([50, 50], size=(20, 2, 1))
    fitted, half = (np.array([[[1 - p, p]], [[0.5, 0.5]]]) for p in (0.02, 0.01))
    made = by_hand([[99.0, 1.0]], np.full((20, 1), 0.1), method="information")
    made = replace(made, policies=policies, fitted={**made.fitted, "policies": fitted})
    pulled = replace(made, twice={**made.fitted, "policies": half})
    (low, high), (least, most) = made.interval("preferences"), pulled.interval("preferences")
    shift = 2 * (log_odds(half) - log_odds(fitted))[0, 0, 1]
    assert shift < -0.5
    assert (least[0, 0, 1] - low[0, 0, 1], most[0, 0, 1]) == pytest.approx((shift, high[0, 0, 1]))


# ---------------------------------------------------------------------- animals


def of_animals(model, data, n):
    """The same fit, with the sessions given to n animals in turn."""
    subjects = [f"mouse {i % n}" for i in range(len(data))]
    named = Trajectories(data.states, data.actions, subjects=subjects, n_states=9, n_actions=5)
    return information(model, named, n_draws=30), named


@pytest.mark.slow
def test_where_animals_are_known_no_interval_is_narrower_than_how_they_differ():
    _, model, data = small_fit()
    alone = information(model, data, n_draws=30)
    assert alone.between is None
    few, named = of_animals(model, data, 3)
    assert (few.by, few.n_units, few.between.by, few.between.n_units) == ("session", 24, "subject", 3)
    assert few.between.freedom("policies") < 2
    for name in few.names:
        reach = few.reach(name)
        assert (reach >= few.between.reach(name)).all(), name
        np.testing.assert_array_equal(
            reach, np.maximum(replace(few, between=None).reach(name), few.between.reach(name))
        )
        np.testing.assert_array_equal(replace(few, between=None).reach(name), alone.reach(name))
    assert "how the 3 subjects differ makes it (the sandwich), which so few say only roughly" in few.how
    assert "3 subjects differ" in interval_facts(decode(model, named), few)["words"]
    more, _ = of_animals(model, data, 12)
    assert (more.by, more.n_units, more.between.n_units) == ("subject", 12, 12)
    assert "how the 12 subjects differ makes it (the sandwich)" in more.how
    assert "roughly" not in more.how
    these = information(model, named, by="session", n_draws=30)  # about these animals only
    assert (these.between.by, these.between.n_units) == ("session", 24)


def test_intervals_of_animals_are_read_back(tmp_path):
    draws = np.column_stack([np.linspace(0.09, 0.11, 9)])
    wide = by_hand([[180.0, 20.0]], np.linspace(0.05, 0.15, 9)[:, None], method="sandwich", by="subject", n_units=3)
    made = by_hand([[180.0, 20.0]], draws, method="information", between=wide, statuses=())
    for one in (wide, made):
        one.fitted.update(occupancy=np.array([0.5, 0.5]), initial_modes=np.array([0.5, 0.5]))
    made = replace(made, twice=made.fitted, stability=(np.ones(2),))
    again = Intervals.load(made.save(tmp_path / "intervals.nc"))
    assert (again.between.by, again.between.n_units, again.how) == ("subject", 3, made.how)
    for one in (again, replace(again, between=None, twice=None)):
        other = made if one is again else replace(made, between=None, twice=None)
        np.testing.assert_array_equal(one.interval("mode_transitions"), other.interval("mode_transitions"))
    assert np.diff(again.interval("mode_transitions"), axis=0).max() > 0.2


# ---------------------------------------------------------------------- what is refused


@pytest.mark.slow
def test_wrong_questions_are_refused(monkeypatch):
    model, data, problem, parameters = tiny()
    with pytest.raises(ValueError, match="data have 4 sessions"):
        information(model, data, by="session")
    _, model, data = small_fit()
    with pytest.raises(ValueError, match="not the sessions that the model was fitted to"):
        information(model, data[1:])
    with pytest.raises(ValueError, match="n_draws=1: expected a whole number, at least 2"):
        information(model, data, n_draws=1)
    with pytest.raises(ValueError, match="max_seconds=0: expected a number > 0"):
        information(model, data, max_seconds=0)
    with pytest.raises(ValueError, match="model is IQNetwork: refits of its networks have not"):
        information(IQNetwork("x"), data)
    with pytest.raises(ValueError, match="model is str"):
        information("fit.nc", data)
    with pytest.raises(ValueError, match="has no restarts"):
        information(gridworld(n_sessions=5, n_steps=10).true_model(), data)
    monkeypatch.setattr("swirl.analysis.information.AT_ONCE", 1)
    with pytest.raises(NoInformationError, match=r"passes over the data, about .* use swirl\.uncertainty\.bootstrap"):
        observed_information(problem.components, problem.chains, parameters, max_seconds=1e-9)
    monkeypatch.setattr("swirl.analysis.information.MAX_NUMBERS", 10)
    with pytest.raises(NoInformationError, match=r"parameters, and the observed information of more than 10 would"):
        observed_information(problem.components, problem.chains, parameters)


@pytest.mark.slow
def test_a_fit_that_is_still_climbing_is_refused(monkeypatch):
    _, model, data = small_fit()
    stop = SWIRL.refitted
    monkeypatch.setattr(SWIRL, "refitted", lambda self, *given, **settings: stop(self, *given, tol=1e9, max_iter=1))
    early = SWIRL(**{**model.get_params(), "max_iter": 3, "n_restarts": 1}).fit(data)
    with pytest.raises(NoInformationError, match="the fit is not at a maximum"):
        information(early, data)


@pytest.mark.slow
def test_models_that_are_not_fitted_by_likelihood_are_refused():
    walk = np.cumsum(np.random.default_rng(0).normal(size=(6, 40, 2)), axis=1)
    data = Trajectories([np.zeros(40, int)] * 6, signals={"place": list(walk)})
    model = GaussianARHMM("place", n_modes=1, n_restarts=1, max_iter=5).fit(data)
    with pytest.raises(
        NoInformationError, match="model is GaussianARHMM: it is not fitted by the likelihood of freely"
    ):
        information(model, data)


# ---------------------------------------------------------------------- the report


@pytest.mark.slow
def test_the_page_says_which_method_it_was():
    _, model, data = small_fit()
    page = report.build(model, data, n_draws=0, intervals="information").replace("\n", " ")
    assert "Nothing was resampled: how sharply the likelihood and the priors are peaked" in page
    assert "Intervals (95 %) are from the observed information" in page
    assert "Same mode in draws" in page
    assert "The place of greatest reward of each mode, and how sure it is" in page
    assert "exact binomial interval (Clopper and Pearson)" in page
    assert "were drawn anew" not in page
    robust = report.build(model, data, n_draws=0, intervals=information(model, data, by="session", n_draws=20))
    assert "No interval is narrower than how the 24 sessions differ makes it" in robust.replace("\n", " ")
    assert "sandwich estimator" in robust


@pytest.mark.slow
def test_the_command_line_passes_it_on(monkeypatch, tmp_path):
    from typer.testing import CliRunner

    from swirl.cli.report import app

    _, model, data = small_fit()
    asked = {}

    def written(path, *_, **given):
        asked.update(given)
        path.write_text("page")
        return path

    monkeypatch.setattr("swirl.workflows.load.open_fit", lambda path: model)
    monkeypatch.setattr("swirl.workflows.load.sessions_of", lambda model, data_file, some: data)
    monkeypatch.setattr(report, "write", written)
    monkeypatch.setattr("swirl.analysis.information.information", lambda model, data, **given: len(data))
    done = CliRunner().invoke(app, ["fit.nc", "-o", str(tmp_path / "page.html"), "--information"])
    assert done.exit_code == 0, done.output
    assert asked["intervals"] == 24
    both = CliRunner().invoke(app, ["fit.nc", "-o", str(tmp_path / "b.html"), "--information", "--bootstrap", "3"])
    assert "give one of them" in str(both.exception)

    def refused(model, data, **given):
        raise NoInformationError("too large")

    monkeypatch.setattr("swirl.analysis.information.information", refused)
    done = CliRunner().invoke(app, ["fit.nc", "-o", str(tmp_path / "c.html"), "--information"])
    assert done.exit_code == 0
    assert "No intervals: too large" in done.output
    assert asked["intervals"] is None
