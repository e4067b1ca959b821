"""IQ-Learn with networks: against plain loops over steps, and against the table where states are labels."""

import json
from copy import copy
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone

from reference_messages import forward_loop
from small_worlds import N_ACTIONS, N_MODES, N_STATES, recording
from swirl.analysis.metrics import segmentation_accuracy
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import NotFittedError
from swirl.estimators.iq_learn import IQLearn
from swirl.estimators.iq_network import IQNetwork
from swirl.estimators.registry import load, make
from swirl.optimise import lbfgs
from swirl.precision import float64, numpy_tree
from swirl.priors import Gaussian
from swirl.switching import Fixed

pytestmark = pytest.mark.slow  # compiles programs of its own

FIXTURES = Path(__file__).parents[1] / "fixtures"
DISCOUNT = 0.9
TEMPERATURE = (1.0, 0.5)
SETTINGS = {"discount": DISCOUNT, "n_restarts": 3, "hidden": 12}


def labelled():
    """Sessions of a small world with a gap and missing actions; the features are the states, one-hot."""
    data = recording(n_sessions=10)
    features = [np.eye(N_STATES)[states] for states in data.states]
    return Trajectories(
        data.states, data.actions, gaps=data.gaps, signals={"place": features}, n_states=N_STATES, n_actions=N_ACTIONS
    )


def measured(seed=0):
    """Three features on scales of their own, not seen now and then; a gap, missing actions, a session of one step."""
    rng = np.random.default_rng(seed)
    lengths = [9, 1, 12]
    features = [rng.normal([5.0, -2.0, 0.0], [10.0, 0.1, 1.0], size=(n, 3)) for n in lengths]
    actions = [rng.integers(N_ACTIONS, size=n) for n in lengths]
    features[0][3, 1] = features[2][7] = np.nan
    actions[0][6] = actions[2][1] = -1
    return Trajectories.from_signals({"pose": features}, actions, gaps=[[5], [], [8]], n_actions=N_ACTIONS)


@pytest.fixture(scope="module")
def fitted():
    return IQNetwork("place", **SETTINGS).fit(labelled())


def by_hand(history):
    """A model with random weights: (model, component, parameters) of the measured data."""
    settings = {"history": history, "temperature": TEMPERATURE, "discount": DISCOUNT, "hidden": 4, "decay": 0.3}
    model = IQNetwork("pose", **settings, strength=0.2)
    component = model._problem(measured()).components.emissions
    with float64():
        start = component.random_parameters(np.random.default_rng(1), 2.0)
    visits = np.random.default_rng(2).dirichlet(np.ones(N_MODES), size=len(component.rows)).T
    weights = {**start.weights, "level": np.random.default_rng(3).normal(size=start.weights["level"].shape)}
    model.input_weights_, model.input_bias_ = weights["input"], weights["bias"]
    model.output_weights_, model.output_level_ = weights["output"], weights["level"]
    model.mode_temperatures_ = np.array(TEMPERATURE)
    model.initial_modes_, model.mode_transitions_ = np.array([0.3, 0.7]), np.array([[[0.9, 0.1], [0.2, 0.8]]])
    model._params_at_fit = model.get_params()
    return model, component, start._replace(weights=weights, visits=visits)


@pytest.fixture(scope="module", params=[1, 2], ids=["history 1", "history 2"])
def given(request):
    return by_hand(request.param)


def in_double(function, *args):
    with float64():
        return numpy_tree(jax.jit(function)(*args))


def plain_inputs(data, history):
    """Per session and step: what the networks see, None where the present features are missing."""
    everything = np.concatenate(data.signals["pose"])
    mean, spread = np.nanmean(everything, axis=0), np.nanstd(everything, axis=0)
    sessions = []
    for i, features in enumerate(data.signals["pose"]):
        rows = []
        for a, b in data.segments(i):
            for t in range(a, b):
                row = []
                for back in range(history):
                    there = t - back >= a and not np.isnan(features[t - back]).any()
                    row += list((features[t - back] - mean) / spread) if there else [0.0] * 3
                    row += [float(there)] if history > 1 else []
                rows.append(None if np.isnan(features[t]).any() else np.array(row))
        sessions.append(rows)
    return sessions


def plain_steps(model, data):
    """(session, step, start of its segment, log π [mode], r [mode] or None where there is no successor)."""
    inputs = plain_inputs(data, model.history)
    w = model.weights_

    def q_values(x, z):
        return np.tanh(x @ w["input"][z] + w["bias"][z]) @ w["output"][z] + w["level"][z]

    for i, actions in enumerate(data.actions):
        for start, stop in data.segments(i):
            for t in range(start, stop):
                x, a = inputs[i][t], actions[t]
                if x is None or a < 0:
                    continue
                after = inputs[i][t + 1] if t + 1 < stop else None
                log_pi, r = [], []
                for z, alpha in enumerate(TEMPERATURE):
                    q = q_values(x, z)
                    log_pi.append(q[a] / alpha - np.log(np.sum(np.exp(q / alpha))))
                    if after is not None:
                        r.append(q[a] - DISCOUNT * alpha * np.log(np.sum(np.exp(q_values(after, z) / alpha))))
                yield i, t, start, np.array(log_pi), np.array(r) if after is not None else None


# The component


def test_inputs_by_a_plain_loop(given):
    """Zeros and a flag before the start; nothing crosses gaps or sessions; missing features are zeros without flag."""
    model, component, _ = given
    rows = [row for session in plain_inputs(measured(), model.history) for row in session]
    assert component.inputs.shape == (22, 3 if model.history == 1 else 8)
    for found, expected in zip(component.inputs, rows, strict=True):
        if expected is not None:
            np.testing.assert_allclose(found, expected, atol=1e-12)
    scored = [i for i, row in enumerate(rows) if row is not None and np.concatenate(measured().actions)[i] >= 0]
    np.testing.assert_array_equal(component.rows, scored)


@pytest.mark.slow
def test_objective_by_a_plain_loop(given):
    """Σ γ (log π − λ r²/2α) − ½ decay ‖w‖², one step at a time."""
    model, component, parameters = given
    steps = list(plain_steps(model, measured()))
    np.testing.assert_allclose(in_double(component.log_emissions, parameters), [s[3] for s in steps], atol=1e-12)
    penalty, fit = 0.0, 0.0
    for k, (_, _, _, log_pi, r) in enumerate(steps):
        fit += parameters.visits[:, k] @ log_pi
        if r is not None:
            penalty += np.sum(parameters.visits[:, k] * 0.5 * 0.2 / np.array(TEMPERATURE) * r**2)
    prior = -0.5 * 0.3 * sum(np.sum(leaf**2) for leaf in parameters.weights.values())
    assert float(in_double(component.log_prior, parameters)) == pytest.approx(prior - penalty, rel=1e-12)
    modes = zip(*(parameters.weights.values()), TEMPERATURE, parameters.visits, strict=True)
    raised = [
        in_double(component.mode_objective, dict(zip(parameters.weights, own, strict=True)), np.asarray(alpha), n, n)
        for *own, alpha, n in modes
    ]
    assert sum(map(float, raised)) == pytest.approx(fit - penalty + prior, rel=1e-12)


def test_reading_is_the_components(given):
    """`_read`, in numpy, gives the likelihoods that EM saw; and where it says nothing, zeros."""
    model, component, parameters = given
    _, (log_likelihoods, observed, later) = model._read(measured(), "action")
    assert not later.any()  # where an action leads is not known, so the next step says nothing of it
    np.testing.assert_allclose(
        log_likelihoods[component.rows], in_double(component.log_emissions, parameters), atol=1e-12
    )
    np.testing.assert_array_equal(np.flatnonzero(observed), component.rows)
    assert np.all(log_likelihoods[~observed] == 0)


@pytest.mark.slow
@pytest.mark.parametrize("decay", [0.3, 0.0])
def test_m_steps_reach_the_top_of_their_own_objective(decay):
    """Each raises it, weighing the penalty as the E-step before; in the end L-BFGS finds nothing more."""
    _, component, parameters = by_hand(1)
    component = replace(component, decay=np.asarray(decay))
    counts, held = parameters.visits.T, parameters.visits
    n_steps = 400 if decay else 12  # without a prior these few steps have no top

    @jax.jit
    def objective(weights):
        modes = (weights, jnp.asarray(TEMPERATURE), counts.T, held)
        return jnp.sum(jax.lax.map(lambda mode: component.mode_objective(*mode), modes))

    improve, found = jax.jit(component.improve), []
    with float64():
        for _ in range(n_steps):
            found.append(float(objective(parameters.weights)))
            better = improve(parameters._replace(visits=held), counts)
            np.testing.assert_array_equal(better.visits, counts.T)
            parameters = numpy_tree(better)
        assert np.all(np.diff(found) >= -1e-9)
        assert found[-1] > found[0] + 1
        if decay:
            top = lbfgs(lambda weights: -objective(weights), parameters.weights, max_steps=300)
            assert found[-1] < -float(top.value) < found[-1] + 0.005


def test_quasi_newton_steps_move_the_weights_alone(given):
    _, component, parameters = given
    double = jax.tree.map(lambda leaf: 2 * leaf, component.free(parameters))
    moved = component.with_free(parameters, double)
    np.testing.assert_array_equal(moved.weights["input"], 2 * parameters.weights["input"])
    assert moved.visits is parameters.visits


# The estimator


@pytest.mark.slow
def test_one_hot_features_are_as_good_as_the_table(fitted):
    """Where features tell the states apart, the networks reach what a table of Q reaches, within 0.02 nats."""
    weak = Gaussian(0.1)  # about as weak as the prior on the weights
    table = IQLearn(None, history=1, switching="independent", discount=DISCOUNT, q_prior=weak, n_restarts=3)
    table.fit(labelled())
    assert abs(fitted.score(labelled()) - table.score(labelled())) < 0.02
    assert fitted.score(labelled()) > -np.log(N_ACTIONS) + 0.1


@pytest.mark.slow
def test_scores_and_shapes(fitted):
    data = labelled()
    assert fitted.score_types == ("action",)
    assert fitted.n_scored(data) == fitted.n_observed_ == data.n_observed_actions
    assert fitted.log_likelihoods_[-1] / fitted.n_observed_ == pytest.approx(fitted.score(data), abs=1e-10)
    assert fitted.mode_transitions_.shape == (1, N_MODES, N_MODES)
    assert fitted.occupancy_[0] >= fitted.occupancy_[1]
    policies = fitted.policies(data)
    for states, path, p, pi in zip(
        data.states, fitted.predict(data), fitted.predict_proba(data), policies, strict=True
    ):
        assert path.shape == states.shape
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_allclose(pi.sum(axis=2), 1.0)
        for s in np.unique(states):  # the same features, the same policy
            assert np.ptp(pi[states == s], axis=0).max() < 1e-12


def test_score_by_a_plain_filter(given):
    model, _, _ = given
    data, total = measured(), 0.0
    found = {(i, t): log_pi for i, t, _, log_pi, _ in plain_steps(model, data)}
    for i in range(len(data)):
        for a, b in data.segments(i):
            steps = np.array([found.get((i, t), np.zeros(N_MODES)) for t in range(a, b)])
            table = np.broadcast_to(np.log(model.mode_transitions_[0]), (b - a, N_MODES, N_MODES))
            total += forward_loop(np.log(model.initial_modes_), table, steps)[0].sum()
    assert model.score(data) == pytest.approx(total / len(found), abs=1e-12)
    assert model.n_scored(data) == len(found)


def test_step_log_preferences_by_a_plain_loop(given):
    """NaN at missing actions, at missing features, and where the next step is missing, in another segment or none."""
    model, _, _ = given
    expected = [np.full((n, N_MODES), np.nan) for n in measured().lengths]
    for i, t, _, _, r in plain_steps(model, measured()):
        if r is not None:
            expected[i][t] = r
    for found, wanted in zip(model.step_log_preferences(measured()), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    assert np.isnan(expected[0]).any(axis=1).tolist() == [False, False, True, True, True, False, True, False, True]


@pytest.mark.slow
def test_missing_features_are_neutral(fitted):
    """As neutral as a missing action."""
    data = labelled()
    features, actions = [list(x) for x in (data.signals["place"], data.actions)]
    features[1], actions[1] = features[1].copy(), actions[1].copy()
    features[1][[4, 30]] = np.nan
    actions[1][[4, 30]] = -1
    blank = Trajectories.from_signals({"place": features}, data.actions, gaps=data.gaps, n_actions=N_ACTIONS)
    silent = Trajectories.from_signals({"place": data.signals["place"]}, actions, gaps=data.gaps, n_actions=N_ACTIONS)
    np.testing.assert_allclose(fitted.log_likelihood(blank), fitted.log_likelihood(silent), atol=1e-12)
    np.testing.assert_allclose(fitted.predict_proba(blank)[1], fitted.predict_proba(silent)[1], atol=1e-12)
    assert fitted.n_scored(blank) == fitted.n_scored(silent) < fitted.n_scored(data)


@pytest.mark.slow
def test_labels_of_states_are_not_looked_at(fitted):
    data = labelled()
    other = Trajectories.from_signals(data.signals, data.actions, gaps=data.gaps, n_actions=N_ACTIONS)
    np.testing.assert_array_equal(fitted.log_likelihood(other), fitted.log_likelihood(data))


@pytest.mark.slow
def test_the_seed_alone_decides(fitted):
    again = clone(fitted).set_params(max_iter=3)
    one, two = again.fit(labelled()), clone(again).fit(labelled())
    np.testing.assert_array_equal(one.input_weights_, two.input_weights_)
    np.testing.assert_array_equal(one.objective_trace_, two.objective_trace_)
    np.testing.assert_array_equal(one.objective_trace_, one.restarts_[one.best_restart_].objective_trace)
    other = clone(again).set_params(random_state=1).fit(labelled())
    assert np.abs(other.input_weights_ - one.input_weights_).max() > 0.1


@pytest.mark.slow
def test_a_file_gives_the_model_back(fitted, tmp_path):
    data = labelled()
    again = load(fitted.save(tmp_path / "model.nc"))
    assert again.score(data) == fitted.score(data)
    for one, two in zip(again.step_log_preferences(data), fitted.step_log_preferences(data), strict=True):
        np.testing.assert_array_equal(one, two)
    assert repr(again) == repr(fitted)
    other = (fitted.best_restart_ + 1) % 3
    one, two = fitted.use_restart(other), again.use_restart(other)
    assert one.score(data) == two.score(data) != fitted.score(data)
    more = copy(again).set_params(max_iter=1).fit(data, resume=True)
    assert more.objective_trace_[0] == pytest.approx(fitted.objective_trace_[-1], rel=1e-9)


def test_a_file_of_the_time_of_minibatches_loads():
    """What they remembered is left out, and the fit goes on from the weights."""
    then = json.loads((FIXTURES / "network_of_minibatches.json").read_text(encoding="utf-8"))
    model = load(FIXTURES / "network_of_minibatches.nc")
    places = [np.array(x) for x in then["places"]]
    data = Trajectories.from_signals({"place": places}, [(x[:, 0] > 0).astype(int) for x in places])
    assert model.score(data) == pytest.approx(then["score"], abs=1e-9)
    np.testing.assert_allclose(model.policies(data)[0], then["policies"][0], atol=1e-9)
    for r, (restart, visits) in enumerate(zip(model.restarts_, then["visits"], strict=True)):
        assert restart.parameters.emissions.visits[0].sum() == pytest.approx(visits)
        one = model.use_restart(r).score(data) * data.n_steps
        assert one == pytest.approx(restart.log_likelihood_trace[-1], abs=1e-9)
        assert restart.objective == pytest.approx(then["objectives"][r])
    more = copy(model).set_params(max_iter=2).fit(data, resume=True)
    assert more.objective_trace_[0] == pytest.approx(model.objective_trace_[-1], rel=1e-9)


@pytest.mark.slow
def test_the_default_fit_converges_where_it_is_and_stays_there():
    """In an open square, with two goals: the modes are found, and a fit that goes on stays where it is."""
    rng = np.random.default_rng(0)
    goals, moves = np.array([[0.2, 0.2], [0.8, 0.8]]), 0.1 * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
    places, actions, modes = [], [], []
    for _ in range(8):
        x, z, path = rng.uniform(size=2), int(rng.integers(2)), []
        for _ in range(100):
            gain = -20 * np.linalg.norm(x + moves - goals[z], axis=1)
            a = int(rng.choice(5, p=np.exp(gain - logsumexp(gain))))
            path.append((x, a, z))
            x = np.clip(x + moves[a] + 0.03 * rng.standard_normal(2), 0, 1)
            z = 1 - z if rng.uniform() < 0.03 else z
        for each, values in zip((places, actions, modes), zip(*path, strict=True), strict=True):
            each.append(np.array(values))
    data = Trajectories.from_signals({"place": places}, actions, modes=modes, n_actions=5)
    model = IQNetwork("place", n_restarts=1).fit(data)
    assert model.converged_, model.fit_report_
    assert segmentation_accuracy(modes, model.predict(data)) > 0.9
    more = copy(model).set_params(tol=1e-12, max_iter=60).fit(data, resume=True)
    assert abs(more.objective_trace_[-1] - model.objective_trace_[-1]) < 0.02
    moved = np.abs(np.concatenate(more.predict_proba(data)) - np.concatenate(model.predict_proba(data)))
    assert moved.max() < 0.01


# Errors


@pytest.mark.slow
def test_errors_in_words(fitted):
    data = labelled()
    with pytest.raises(
        ValueError, match="IQNetwork cannot sample: it knows what the animal does, not where that leads"
    ):
        fitted.sample(2, 10)
    more = Trajectories.from_signals(data.signals, data.actions, n_actions=N_ACTIONS + 1)
    with pytest.raises(ValueError, match=r"data has 4 actions: the model was fitted to 3; fit it to data with all"):
        fitted.score(more)
    with pytest.raises(ValueError, match="signal='place' has 2 channels: the model was fitted to 5"):
        fitted.score(Trajectories.from_signals({"place": [np.zeros((4, 2))]}, [[0, 1, 0, 1]]))
    with pytest.raises(ValueError, match="signal='place': the data have 'pose'; build them as"):
        fitted.score(measured())
    with pytest.raises(ValueError, match="signal='place': the data have no signals"):
        fitted.score(recording())
    endless = Trajectories.from_signals({"place": [np.full((2, 5), np.inf)]}, [[0, 1]])
    with pytest.raises(ValueError, match="signal='place' is infinite at session 0, step 0: use NaN"):
        fitted.score(endless)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        IQNetwork("place").step_log_preferences(data)
    with pytest.raises(ValueError, match="switching='state': a continuous recording has no labelled states"):
        IQNetwork("place", switching="state").fit(data)
    with pytest.raises(ValueError, match="no action was observed at a step with features"):
        IQNetwork("pose").fit(Trajectories.from_signals({"pose": [[[0.0], [np.nan]]]}, [[-1, 0]]))


def test_all_faulty_arguments_at_once():
    broken = IQNetwork("place", hidden=0, history=0, discount=0.0, temperature=(1.0,) * 3)
    broken.set_params(signal=3, decay=-1.0, strength=np.inf)
    with pytest.raises(ValueError, match="IQNetwork cannot be fitted: 7 faults") as caught:
        broken.fit(labelled())
    for part in (
        "signal=3: expected the name of one of the data's signals",
        "hidden=0: expected a whole number, at least 1",
        "history=0: expected",
        "discount=0.0: expected a number between 0 and 1",
        "temperature has 3 entries: expected one, or n_modes=2",
        "decay=-1.0: expected a number ≥ 0",
        "strength=inf: expected a number ≥ 0",
    ):
        assert part in str(caught.value)


def test_made_by_name_and_with_given_switching():
    assert isinstance(make("IQ-Network", signal="place"), IQNetwork)
    table = np.array([[0.9, 0.1], [0.2, 0.8]])
    problem = IQNetwork("pose", switching=Fixed(table))._problem(measured())
    with float64():
        found = np.exp(problem.components.switching.log_transitions(()))
    np.testing.assert_allclose(found, table[None])
