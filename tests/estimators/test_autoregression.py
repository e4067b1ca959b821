"""Autoregressive emissions: densities, prior and M-step against closed forms, EM against enumeration and dynamax."""

import dataclasses
import warnings

import jax
import numpy as np
import pytest
from hmmlearn.hmm import GaussianHMM
from scipy.stats import invwishart, matrix_normal, multivariate_normal

from reference_messages import by_enumeration
from swirl.estimators.autoregression import Autoregression, Dynamics, MatrixNormal, log_densities, usable_steps
from swirl.inference import em
from swirl.inference.estep import numba_loop
from swirl.inference.estep.counts import Chains
from swirl.inference.mstep import Components, Parameters
from swirl.precision import float64, numpy_tree
from swirl.priors import Dirichlet
from swirl.switching import TableSwitching

pytestmark = pytest.mark.slow  # compiles programs of its own

N_MODES, D = 2, 2
PRIOR = MatrixNormal(strength=3.0, degrees=5.0, scale=0.2)
TABLE = np.array([[0.95, 0.05], [0.1, 0.9]])
INITIAL = np.array([0.7, 0.3])


def truth(lags):
    """Two modes that turn in opposite directions, at different speeds and with different noise."""
    turn = [0.95 * np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in (0.3, -0.6)]
    constant = np.array([[[0.3], [-0.2]], [[-0.1], [0.4]]])
    older = [np.array([[-0.2, 0.1], [0.0, -0.3]]), np.array([[0.2, 0.0], [0.1, 0.1]])]
    blocks = [*[np.stack(turn), np.stack(older)][:lags], constant]
    covariances = np.array([[[0.04, 0.01], [0.01, 0.02]], [[0.02, -0.01], [-0.01, 0.05]]])
    return Dynamics(np.concatenate(blocks, axis=2), np.linalg.cholesky(covariances))


def simulate(lags, n_chains=4, n_steps=400, seed=0):
    """Observations and modes, by a plain loop; step t of mode z_t emits x_{t+1}."""
    rng, (coefficients, factors) = np.random.default_rng(seed), truth(lags)
    values, modes = [], []
    for _ in range(n_chains):
        x, z = rng.normal(size=(n_steps, D)), np.zeros(n_steps, dtype=int)
        for t in range(n_steps):
            z[t] = rng.choice(N_MODES, p=INITIAL if t == 0 else TABLE[z[t - 1]])
            if t + 1 < n_steps and t - lags + 1 >= 0:
                past = np.concatenate([*(x[t - back] for back in range(lags)), [1.0]])
                x[t + 1] = coefficients[z[t]] @ past + factors[z[t]] @ rng.normal(size=D)
        values.append(x)
        modes.append(z)
    return values, modes


def assemble(values, lags, n_modes=N_MODES, prior=PRIOR):
    steps = usable_steps(values, lags)
    emissions = Autoregression.build(steps.inputs, steps.targets, n_modes, prior)
    switching = TableSwitching.build(1, n_modes, Dirichlet(1.0), pooled=True)
    offsets = np.concatenate([[0], np.cumsum([len(x) for x in values])])
    chains = Chains(steps.symbols, np.zeros_like(steps.symbols), offsets, len(steps.targets), 1)
    return Components(emissions, switching, np.asarray(1.0)), chains, steps


def expected_counts(components, chains, parameters):
    """E-step of one set of parameters, by the compiled engine."""
    with float64():
        tables = numpy_tree(_tables(components, parameters))
    counts = numba_loop.expected_counts(jax.tree.map(lambda leaf: leaf[None], tables), chains)
    return jax.tree.map(lambda leaf: np.asarray(leaf[0]), counts)


@jax.jit
def _tables(components, parameters):
    return components.tables(parameters)


def with_dynamics(dynamics):
    return Parameters(np.log(INITIAL), np.log(TABLE), dynamics)


@jax.jit
def _evaluate(emissions, parameters, counts):
    objective = jax.numpy.sum(counts * emissions.log_emissions(parameters)) + emissions.log_prior(parameters)
    return objective, emissions.log_prior(parameters), emissions.improve(parameters, counts)


def evaluate(emissions, parameters, counts):
    """Objective of the M-step, log-prior, and what `improve` makes of it."""
    with float64():
        return numpy_tree(_evaluate(emissions, parameters, counts))


def small_problem(lags=2):
    """A component, random parameters and weights; the second mode has next to no data."""
    rng = np.random.default_rng(1)
    values = [3.0 + rng.normal(size=(40, D)) @ np.array([[2.0, 0.0], [1.0, 0.1]]) for _ in range(2)]
    steps = usable_steps(values, lags)
    counts = rng.dirichlet(np.ones(N_MODES), size=len(steps.targets)) * [1.0, 1e-3]
    emissions = Autoregression.build(steps.inputs, steps.targets, N_MODES, PRIOR)
    return emissions, emissions.random_parameters(rng, 1.0), counts, steps


def raw_prior(steps):
    """M, Λ and Ψ as the docstring of `MatrixNormal` defines them, in the units of the data."""
    inputs, targets = steps.inputs, steps.targets
    unmoved = np.zeros((D, inputs.shape[1]))
    if inputs.shape[1] > 1:
        unmoved[:, :D] = np.eye(D)
    else:
        unmoved[:, 0] = targets.mean(axis=0)
    errors = targets - inputs @ np.linalg.lstsq(inputs, targets)[0]
    m = PRIOR.degrees + D + 1 + inputs.shape[1]
    row_precision = PRIOR.strength * inputs.T @ inputs / len(inputs)
    return unmoved, row_precision, m * PRIOR.scale * errors.T @ errors / len(errors), m


# Usable steps


@pytest.mark.parametrize("lags", [0, 1, 2, 3])
def test_usable_steps_against_a_loop(lags):
    rng = np.random.default_rng(lags)
    values = [rng.normal(size=(n, D)) for n in (7, 1, 2, 12, 3)]
    values[0][3, 1] = values[3][0, 0] = values[3][6] = np.nan
    inputs, targets, symbols = [], [], []
    for x in values:
        for t in range(len(x)):
            used = [t + 1, *(t - back for back in range(lags))]
            if max(used) < len(x) and min(used) >= 0 and not np.isnan(x[used]).any():
                symbols.append(len(targets))
                inputs.append(np.concatenate([*(x[u] for u in used[1:]), [1.0]]))
                targets.append(x[t + 1])
            else:
                symbols.append(-1)
    steps = usable_steps(values, lags)
    np.testing.assert_array_equal(steps.inputs, np.array(inputs))
    np.testing.assert_array_equal(steps.targets, np.array(targets))
    np.testing.assert_array_equal(steps.symbols, np.where(np.array(symbols) < 0, len(targets), symbols))


# Densities


@pytest.mark.slow
@pytest.mark.parametrize("lags", [0, 2])
def test_log_densities_against_scipy(lags):
    emissions, parameters, _, steps = small_problem(lags)
    covariances = emissions.covariances(parameters)
    expected = np.array(
        [
            [multivariate_normal(c @ u, s).logpdf(y) for c, s in zip(parameters.coefficients, covariances, strict=True)]
            for u, y in zip(steps.inputs, steps.targets, strict=True)
        ]
    )
    with float64():
        table = numpy_tree(emissions.log_emissions(parameters))
    np.testing.assert_allclose(table, expected, rtol=1e-9)
    np.testing.assert_allclose(
        log_densities(parameters.coefficients, covariances, steps.inputs, steps.targets), expected, rtol=1e-9
    )


# Prior and M-step


@pytest.mark.slow
@pytest.mark.parametrize("lags", [0, 2])
def test_log_prior_against_scipy(lags):
    """Differences between parameters: the constant is left out."""
    emissions, _, counts, steps = small_problem(lags)
    unmoved, row_precision, scale, _ = raw_prior(steps)
    ours, theirs = [], []
    rng = np.random.default_rng(0)
    for _ in range(3):
        coefficients = rng.normal(size=(N_MODES, *unmoved.shape))
        parameters = Dynamics(coefficients, np.tril(rng.uniform(0.3, 3.0, size=(N_MODES, D, D))))
        ours.append(float(evaluate(emissions, parameters, counts)[1]))
        theirs.append(
            sum(
                invwishart(PRIOR.degrees, scale).logpdf(covariance)
                + matrix_normal(unmoved, covariance, np.linalg.inv(row_precision)).logpdf(coefficient)
                for coefficient, covariance in zip(
                    parameters.coefficients, emissions.covariances(parameters), strict=True
                )
            )
        )
    np.testing.assert_allclose(np.diff(ours), np.diff(theirs), rtol=1e-6)  # up to the jitter on variances
    assert np.abs(np.diff(ours)).min() > 1


@pytest.mark.parametrize("lags", [0, 2])
def test_the_step_against_the_closed_form_in_the_units_of_the_data(lags):
    emissions, parameters, counts, steps = small_problem(lags)
    best = evaluate(emissions, parameters, counts)[2]
    unmoved, row_precision, scale, m = raw_prior(steps)
    inputs, targets = steps.inputs, steps.targets
    for z in range(N_MODES):
        weights = np.diag(counts[:, z])
        precision = inputs.T @ weights @ inputs + row_precision
        coefficient = (targets.T @ weights @ inputs + unmoved @ row_precision) @ np.linalg.inv(precision)
        # The same maximum in its other form, by differences: an independent check of the sum of squares.
        scatter = targets.T @ weights @ targets + unmoved @ row_precision @ unmoved.T
        scatter = scale + scatter - coefficient @ precision @ coefficient.T
        np.testing.assert_allclose(best.coefficients[z], coefficient, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(emissions.covariances(best)[z], scatter / (counts[:, z].sum() + m), rtol=1e-6)


@pytest.mark.parametrize("lags", [0, 2])
def test_the_step_leads_to_the_maximum_by_finite_differences(lags):
    emissions, parameters, counts, _ = small_problem(lags)
    before, _, best = evaluate(emissions, parameters, counts)
    value = evaluate(emissions, best, counts)[0]
    assert value > before + 1
    lower = np.tril_indices(D)

    def moved(part, place, by):
        leaves = [np.array(leaf) for leaf in best]
        leaves[part][place] += by
        return float(evaluate(emissions, Dynamics(*leaves), counts)[0])

    places = [(0, (z, *index)) for z in range(N_MODES) for index in np.ndindex(best.coefficients.shape[1:])]
    places += [(1, (z, i, j)) for z in range(N_MODES) for i, j in zip(*lower, strict=True)]
    for part, place in places:
        step = 1e-4 * float(best.factors[place[0], place[1], place[1]])
        up, down = moved(part, place, step), moved(part, place, -step)
        assert max(up, down) < value
        # The slope vanishes beside the curvature: the top lies within a thousandth of the step.
        assert abs(up - down) < 1e-3 * (2 * value - up - down) + 1e-9
    again = evaluate(emissions, best, counts)[2]
    np.testing.assert_array_equal(again.coefficients, best.coefficients)


def test_a_mode_without_data_falls_back_to_the_prior():
    emissions, parameters, counts, steps = small_problem()
    best = evaluate(emissions, parameters, counts * [1.0, 0.0])[2]
    unmoved, _, scale, m = raw_prior(steps)
    np.testing.assert_allclose(best.coefficients[1], unmoved, atol=1e-12)
    np.testing.assert_allclose(emissions.covariances(best)[1], scale / m, rtol=1e-7)


def test_the_choice_of_axes_does_not_matter():
    """The M-step follows the data through any x → B x + c, with no lags and with two."""
    mix, shift = np.array([[3.0, -1.0], [0.5, 0.2]]), np.array([10.0, -4.0])
    rng = np.random.default_rng(0)
    for lags in (0, 2):
        _, parameters, counts, _ = small_problem(lags)
        values = [rng.normal(size=(40, D)) for _ in range(2)]
        tables = []
        for x in (values, [x @ mix.T + shift for x in values]):
            steps = usable_steps(x, lags)
            emissions = Autoregression.build(steps.inputs, steps.targets, N_MODES, PRIOR)
            best = evaluate(emissions, parameters, counts)[2]
            covariances = emissions.covariances(best)
            tables.append(log_densities(best.coefficients, covariances, steps.inputs, steps.targets))
        np.testing.assert_allclose(tables[0] - tables[1], np.log(abs(np.linalg.det(mix))), atol=1e-6)


def test_one_mode_under_a_faint_prior_is_least_squares():
    values, _ = simulate(2)
    components, chains, steps = assemble(values, 2, n_modes=1, prior=MatrixNormal(1e-9, 2.0, 1e-9))
    (restart,) = em.run(components, chains, n_restarts=1, seed=0, max_iter=1, tol=0.0)
    coefficients, residuals, *_ = np.linalg.lstsq(steps.inputs, steps.targets)
    np.testing.assert_allclose(restart.parameters.emissions.coefficients[0], coefficients.T, atol=1e-7)
    m, n = 2.0 + D + 1 + 5, len(steps.targets)
    variances = np.diagonal(components.emissions.covariances(restart.parameters.emissions)[0])
    np.testing.assert_allclose(variances, residuals / (n + m), rtol=1e-6)


# The E-step


def tiny(lags):
    """Two short chains, with a NaN: mode paths can be enumerated."""
    values = [x.copy() for x in simulate(lags, n_chains=2, n_steps=7)[0]]
    values[0][4, 0] = np.nan
    return values


@pytest.mark.parametrize("lags", [1, 2])
def test_counts_against_enumeration_of_mode_paths(lags):
    values, dynamics = [*tiny(lags), *simulate(lags, n_chains=1)[0]], truth(lags)
    components, chains, steps = assemble(values, lags)
    chains = Chains(chains.symbols[:14], chains.states[:14], chains.offsets[:3], chains.n_symbols, 1)
    counts = expected_counts(components, chains, with_dynamics(dynamics))
    covariances = dynamics.factors @ np.swapaxes(dynamics.factors, 1, 2)
    densities = log_densities(dynamics.coefficients, covariances, steps.inputs, steps.targets)
    table = np.concatenate([densities, np.zeros((1, N_MODES))])
    total, weights, pairs, initial = 0.0, np.zeros_like(table), 0.0, 0.0
    for symbols in chains.symbols.reshape(2, 7):
        result = by_enumeration(np.log(INITIAL), np.broadcast_to(np.log(TABLE), (7, 2, 2)), table[symbols])
        total += result["log_normaliser"]
        np.add.at(weights, symbols, result["marginals"])
        pairs, initial = pairs + result["pairs"].sum(axis=0), initial + result["marginals"][0]
    assert (chains.symbols == len(densities)).sum() == {1: 4, 2: 7}[lags]
    np.testing.assert_allclose(counts.log_likelihood, total, rtol=1e-10)
    np.testing.assert_allclose(counts.emissions, weights[:-1], atol=1e-10)
    np.testing.assert_allclose(counts.transitions[0], pairs, atol=1e-10)
    np.testing.assert_allclose(counts.initial, initial, atol=1e-10)


def test_what_a_chain_cannot_use_changes_nothing():
    """A NaN, a chain's end and a chain's start are neutral: nothing is regressed across them."""
    values = [*tiny(1), *simulate(1, n_chains=1)[0]]
    cut = [values[0][:4], values[0][5:], *values[1:]]
    with_nan, parted = (usable_steps(x, 1) for x in (values, cut))
    np.testing.assert_array_equal(with_nan.inputs, parted.inputs)
    np.testing.assert_array_equal(with_nan.targets, parted.targets)
    assert np.isfinite(with_nan.inputs).all()
    # At a NaN the mode chain goes on; at the end of a chain it starts anew.
    likelihoods = [
        float(expected_counts(*assemble(x, 1)[:2], with_dynamics(truth(1))).log_likelihood) for x in (values, cut)
    ]
    assert abs(likelihoods[0] - likelihoods[1]) > 1e-6


def test_likelihood_and_counts_against_dynamax():
    lags = 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = pytest.importorskip("dynamax.hidden_markov_model")
    (x,), dynamics = simulate(lags, n_chains=1, n_steps=60)[0], truth(lags)
    components, chains, _ = assemble([x], lags)
    counts = expected_counts(components, chains, with_dynamics(dynamics))
    # Their chain starts at the first usable step, ours lags − 1 steps earlier.
    initial = INITIAL @ np.linalg.matrix_power(TABLE, lags - 1)
    with float64(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models.LinearAutoregressiveHMM(N_MODES, D, num_lags=lags)
        parameters, _ = model.initialize(
            jax.random.PRNGKey(0),
            initial_probs=jax.numpy.asarray(initial),
            transition_matrix=jax.numpy.asarray(TABLE),
            emission_weights=jax.numpy.asarray(dynamics.coefficients[:, :, :-1]),
            emission_biases=jax.numpy.asarray(dynamics.coefficients[:, :, -1]),
            emission_covariances=jax.numpy.asarray(dynamics.factors @ np.swapaxes(dynamics.factors, 1, 2)),
        )
        lagged = model.compute_inputs(jax.numpy.asarray(x))
        posterior = numpy_tree(model.smoother(parameters, jax.numpy.asarray(x[lags:]), lagged[lags:]))
    np.testing.assert_allclose(counts.log_likelihood, posterior.marginal_loglik, rtol=1e-10)
    np.testing.assert_allclose(counts.emissions, posterior.smoothed_probs, atol=1e-10)


def test_no_lags_is_the_gaussian_hmm_of_hmmlearn():
    values, _ = simulate(1, n_chains=3, n_steps=50)
    components, chains, steps = assemble(values, 0)
    means, covariances = np.array([[0.5, 0.0], [-1.0, 1.0]]), np.array([np.eye(D), [[0.5, 0.2], [0.2, 0.7]]])
    dynamics = Dynamics(means[:, :, None], np.linalg.cholesky(covariances))
    counts = expected_counts(components, chains, with_dynamics(dynamics))
    model = GaussianHMM(N_MODES, covariance_type="full")
    model.startprob_, model.transmat_, model.means_, model.covars_ = INITIAL, TABLE, means, covariances
    log_likelihood, marginals = model.score_samples(np.concatenate([x[1:] for x in values]), [49] * 3)
    assert steps.inputs.shape == (147, 1)
    np.testing.assert_allclose(counts.log_likelihood, log_likelihood, rtol=1e-10)
    np.testing.assert_allclose(counts.emissions, marginals, atol=1e-8)


# EM


@pytest.mark.slow
@pytest.mark.parametrize("lags", [1, 2])
def test_em_never_falls_and_finds_the_truth(lags):
    values, modes = simulate(lags)
    components, chains, steps = assemble(values, lags, prior=MatrixNormal())
    restarts = em.run(components, chains, n_restarts=2, seed=0, max_iter=60, tol=1e-9)
    for restart in restarts:
        rises = np.diff(restart.objective_trace)
        assert rises.min() >= -1e-9 * np.abs(restart.objective)
        assert rises[0] > 1
    best = max(restarts, key=lambda restart: restart.objective)
    order = np.argsort(-best.parameters.emissions.coefficients[:, 1, 0])  # by the sense of turning
    expected = truth(lags)
    np.testing.assert_allclose(best.parameters.emissions.coefficients[order], expected.coefficients, atol=0.08)
    covariances = components.emissions.covariances(best.parameters.emissions)[order]
    np.testing.assert_allclose(covariances, expected.factors @ np.swapaxes(expected.factors, 1, 2), atol=0.01)
    weights = expected_counts(components, chains, best.parameters).emissions[:, order]
    usable = chains.symbols < chains.n_symbols
    assert np.mean(weights.argmax(axis=1) == np.concatenate(modes)[usable]) > 0.9
    tables, coefficients = em.unpack(components, best.parameters)
    assert coefficients.shape == (N_MODES, D, lags * D + 1)
    assert tables.log_emissions.shape == (len(steps.targets), N_MODES)


@pytest.mark.slow
def test_more_modes_than_the_data_need_stay_finite():
    values, _ = simulate(2, n_chains=1, n_steps=60)
    components, chains, _ = assemble(values, 2, n_modes=12, prior=MatrixNormal())
    (restart,) = em.run(components, chains, n_restarts=1, seed=0, max_iter=40, tol=0.0)
    assert restart.status in ("iterations ran out", "converged")
    assert np.diff(restart.objective_trace).min() >= -1e-9 * np.abs(restart.objective)
    assert all(np.isfinite(leaf).all() for leaf in restart.parameters.emissions)


@pytest.mark.slow
def test_units_do_not_matter():
    values, _ = simulate(2)
    runs, weights = [], []
    for scale, shift in ((1.0, 0.0), (1000.0, 5e5)):
        components, chains, steps = assemble([scale * x + shift for x in values], 2, prior=MatrixNormal())
        runs.append(em.run(components, chains, n_restarts=2, seed=0, max_iter=10, tol=0.0)[0])
        weights.append(expected_counts(components, chains, runs[-1].parameters).emissions)
    np.testing.assert_allclose(weights[0], weights[1], atol=1e-7)
    change = np.diff([run.log_likelihood_trace for run in runs], axis=0)
    np.testing.assert_allclose(change, -len(steps.targets) * D * np.log(1000.0), rtol=1e-9)
    first, second = (run.parameters.emissions for run in runs)
    np.testing.assert_allclose(second.coefficients[:, :, :-1], first.coefficients[:, :, :-1], atol=1e-7)
    np.testing.assert_allclose(second.factors / 1000.0, first.factors, atol=1e-7)


def test_starting_points_differ_between_modes_and_restarts_and_repeat_with_the_seed():
    emissions = assemble(simulate(1)[0], 1)[0].emissions
    one, same, other = (emissions.random_parameters(np.random.default_rng(seed), 1.0) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.coefficients, same.coefficients)
    assert np.abs(one.coefficients - other.coefficients).max() > 1e-2
    assert np.abs(one.coefficients[0] - one.coefficients[1]).max() > 1e-2
    assert emissions.warm_up() is None


# Faults


def test_faults_are_told():
    still = np.random.default_rng(0).normal(size=(50, 3))
    still[:, 1] = 4.0
    wave = np.sin(0.3 * np.arange(50.0))[:, None]
    for values, lags, message in (
        ([still], 1, "coordinate 1 never changes"),
        ([wave], 2, "coordinate 0 follows from its past without any error"),
        ([still[:4]], 2, "2 usable steps: expected more than 10"),
    ):
        steps = usable_steps(values, lags)
        with pytest.raises(ValueError, match=message):
            Autoregression.build(steps.inputs, steps.targets, 2)
    endless = still.copy()
    endless[7, 2] = np.inf
    with pytest.raises(ValueError, match=r"values\[1\] is infinite at step 7"):
        usable_steps([still, endless], 1)
    with pytest.raises(ValueError, match="lags=-1"):
        usable_steps([still], -1)
    with pytest.raises(ValueError, match="strength=0"):
        MatrixNormal(strength=0.0)
    with pytest.raises(ValueError, match="scale=nan"):
        MatrixNormal(scale=float("nan"))
    steps = usable_steps([still[:, [0, 2]]], 1)
    with pytest.raises(ValueError, match=r"degrees=1\.0: expected more than 1"):
        Autoregression.build(steps.inputs, steps.targets, 2, dataclasses.replace(PRIOR, degrees=1.0))


@pytest.mark.slow
def test_coordinates_that_copy_each_other_leave_the_fit_finite():
    values = [x[:, [0, 0]] for x in simulate(1)[0]]
    components, chains, _ = assemble(values, 1)
    for restart in em.run(components, chains, n_restarts=2, seed=0, max_iter=10, tol=0.0):
        assert np.isfinite(restart.objective_trace).all()
        assert np.diff(restart.objective_trace).min() >= -1e-9 * np.abs(restart.objective)
