"""The continuous ARHMM as an estimator: reading signals, scoring densities, decoding, sampling, saving."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.base import clone

from swirl import Trajectories, load
from swirl.analysis.metrics import segmentation_accuracy
from swirl.estimators.autoregression import MatrixNormal
from swirl.estimators.gaussian_arhmm import GaussianARHMM

pytestmark = pytest.mark.slow  # compiles programs of its own

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
SPIN = [0.98 * (np.cos(w) * np.eye(2) + np.sin(w) * TURN) for w in (0.3, -0.1)]  # two ways to circle


def drawn(n_sessions=6, n_steps=250, seed=0):
    """Sessions of a walker that circles one way, then the other."""
    rng = np.random.default_rng(seed)
    paths, modes = [], []
    for _ in range(n_sessions):
        x, z, path, labels = rng.normal(size=2), 0, [], []
        for _ in range(n_steps):
            path.append(x)
            labels.append(z)
            x = SPIN[z] @ x + np.array([0.1, 0.0]) + 0.1 * rng.normal(size=2)
            z = 1 - z if rng.random() < 0.02 else z
        paths.append(np.array(path))
        modes.append(labels)
    return Trajectories.from_signals({"place": paths}, modes=modes)


@pytest.fixture(scope="module")
def data():
    return drawn()


@pytest.fixture(scope="module")
def model(data):
    return GaussianARHMM("place", n_modes=2, n_restarts=3, max_iter=60).fit(data)


@pytest.mark.slow
def test_it_finds_how_the_walker_moves(model, data):
    assert model.converged_
    test = drawn(seed=1)
    assert segmentation_accuracy(test.modes, model.predict(test)) > 0.95
    turns = sorted(model.coefficients_[z][1, 0] for z in range(2))
    np.testing.assert_allclose(turns, sorted(spin[1, 0] for spin in SPIN), atol=0.03)
    np.testing.assert_allclose(model.covariances_, np.broadcast_to(0.01 * np.eye(2), (2, 2, 2)), atol=2e-3)
    one = GaussianARHMM("place", n_modes=1, n_restarts=1).fit(data)
    assert model.score(test) > one.score(test) + 0.5


@pytest.mark.slow
def test_every_step_of_em_raises_the_objective(model):
    for restart in model.restarts_:
        assert (np.diff(restart.objective_trace) >= -1e-9 * np.abs(restart.objective_trace[1:])).all()


def test_the_likelihood_is_a_sum_over_mode_paths(model):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(6, 2))
    x[2] = np.nan  # steps 1 and 2 have nothing to say; a gap before step 4 makes a chain of its own
    short = Trajectories.from_signals({"place": [x]}, gaps=[[4]])
    emits = np.zeros((6, 2))
    for t, z in itertools.product((0, 4), range(2)):
        mean = model.coefficients_[z] @ [*x[t], 1.0]
        emits[t, z] = multivariate_normal.logpdf(x[t + 1], mean, model.covariances_[z])
    total = 0.0
    for first, last in ((0, 4), (4, 6)):
        paths = []
        for path in itertools.product(range(2), repeat=last - first):
            log_p = np.log(model.initial_modes_[path[0]]) + emits[first, path[0]]
            for t in range(1, last - first):
                log_p += np.log(model.mode_transitions_[0, path[t - 1], path[t]]) + emits[first + t, path[t]]
            paths.append(log_p)
        total += logsumexp(paths)
    np.testing.assert_allclose(model.log_likelihood(short), [total], rtol=1e-10)
    assert model.n_scored(short) == 2
    np.testing.assert_allclose(model.score(short), total / 2, rtol=1e-10)
    assert [steps.tolist() for steps in model.scored_steps(short)] == [[True, False, False, False, True, False]]


def test_the_score_is_a_density_and_says_so(model, data):
    assert model.score_types == ("density",)
    with pytest.raises(ValueError, match="GaussianARHMM gives densities of continuous observations, not probabilities"):
        model.score(data, of="action")


def test_saved_and_read_back_it_is_the_same(model, data, tmp_path):
    back = load(model.save(tmp_path / "fit.nc"))
    assert type(back) is GaussianARHMM
    assert back.score(data) == model.score(data)
    assert back.fit_report_ == model.fit_report_
    for a, b in zip(model.predict_proba(data), back.predict_proba(data), strict=True):
        np.testing.assert_array_equal(a, b)
    other = back.use_restart(1)
    np.testing.assert_allclose(other.coefficients_, model.use_restart(1).coefficients_, rtol=1e-12)
    assert model.sample(2, 30).fingerprint("place") == back.sample(2, 30).fingerprint("place")


def test_the_fingerprint_is_of_the_signal(model, data):
    other = Trajectories.from_signals({"place": [x + 1 for x in data.signals["place"]]})
    assert model.data_fingerprint_ == data.fingerprint("place") != other.fingerprint("place")
    assert data.fingerprint() == other.fingerprint()


@pytest.mark.slow
def test_samples_move_as_the_model_says(model):
    drawn_again = model.sample(4, 400, random_state=2)
    assert drawn_again.signals["place"][0].shape == (400, 2)
    assert segmentation_accuracy(drawn_again.modes, model.predict(drawn_again)) > 0.95
    again = GaussianARHMM("place", n_modes=2, n_restarts=3, max_iter=60).fit(drawn_again)
    order = np.argsort(again.coefficients_[:, 1, 0]), np.argsort(model.coefficients_[:, 1, 0])
    np.testing.assert_allclose(again.coefficients_[order[0]], model.coefficients_[order[1]], atol=0.1)


@pytest.mark.slow
def test_no_lags_and_two_lags(data):
    for lags, n_inputs, per_session in ((0, 1, 249), (2, 5, 248)):
        fit = GaussianARHMM("place", n_modes=2, lags=lags, n_restarts=1, max_iter=5).fit(data)
        assert fit.coefficients_.shape == (2, 2, n_inputs)
        assert fit.n_scored(data) == 6 * per_session
        assert fit.sample(1, 5).n_steps == 5


@pytest.mark.slow
def test_cloned_and_resumed(model, data):
    copied = clone(model)
    assert not hasattr(copied, "coefficients_")
    assert copied.get_params() == model.get_params()
    half = GaussianARHMM("place", n_modes=2, n_restarts=1, max_iter=2).fit(data)
    before = half.objective_trace_[-1]
    half.fit(data, resume=True)
    assert half.objective_trace_[0] == pytest.approx(before, rel=1e-12)
    assert half.objective_trace_[-1] > before


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"signal": "pose"}, "signal='pose': the data have 'place'; build them as"),
        ({"signal": 3}, "signal=3: expected the name"),
        ({"lags": -1}, "lags=-1: expected a whole number, at least 0"),
        ({"prior": 1.0}, "prior=1.0: expected autoregression.MatrixNormal"),
        ({"switching": "state"}, "switching='state': a continuous recording has no labelled states"),
        ({"n_modes": 0}, "n_modes=0"),
    ],
)
def test_mistakes_are_told_in_words(data, options, told):
    with pytest.raises(ValueError, match=told):
        GaussianARHMM("place").set_params(**options).fit(data)  # kept as given; fit complains


def test_data_that_do_not_fit_are_told_in_words(model, data):
    with pytest.raises(ValueError, match="the data have no signals"):
        model.score(Trajectories([[0, 1]]))
    with pytest.raises(ValueError, match="'place' has 3 channels: the model was fitted to 2"):
        model.score(Trajectories.from_signals({"place": [np.zeros((4, 3))]}))
    broken = [np.array(x) for x in data.signals["place"]]
    broken[2][7, 0] = np.inf
    with pytest.raises(ValueError, match="is infinite at session 2, step 7"):
        model.score(Trajectories.from_signals({"place": broken}))
    with pytest.raises(ValueError, match="so there is nothing to score"):
        model.score(Trajectories.from_signals({"place": [np.zeros((1, 2))]}))
    with pytest.raises(ValueError, match="signals is list: expected a dict"):
        Trajectories.from_signals([np.zeros((4, 2))])


@pytest.mark.slow
def test_a_stronger_belief_that_nothing_moves_is_felt(data):
    still = GaussianARHMM("place", n_modes=1, n_restarts=1, prior=MatrixNormal(strength=1e9)).fit(data)
    np.testing.assert_allclose(still.coefficients_[0], np.eye(2, 3), atol=1e-3)
