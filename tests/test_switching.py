"""The forms of switching: normalised, improved by their M-step, at the maximum, and refused when wrong."""

import jax
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from swirl import precision, switching
from swirl.priors import Bouts, Dirichlet, Gaussian
from swirl.switching import Fixed, FixedSwitching, TableSwitching, bout_pseudocounts, build_switching, sticky_start

N_STATES, N_MODES = 5, 3
FORMS = ("independent", "state", "state-table", "state-net")
TABLE = np.random.default_rng(0).dirichlet(np.ones(N_MODES), size=(N_STATES, N_MODES))


@jax.jit
def improve(form, parameters, counts):
    return form.improve(parameters, counts)


@jax.jit
def evaluate(form, parameters, counts):
    """log P, log prior, and Σ X log P + log prior: what the M-step is to raise."""
    log_p, log_prior = form.log_transitions(parameters), form.log_prior(parameters)
    return log_p, log_prior, (counts * log_p).sum() + log_prior


def in_double(function, *args):
    with precision.float64():
        return precision.numpy_tree(function(*args))


def objective(form, parameters, counts):
    return float(in_double(evaluate, form, parameters, counts)[2])


def random_counts(seed, scale=20.0):
    """Expected counts: not whole, some rows empty, one state never left."""
    rng = np.random.default_rng(seed)
    counts = scale * rng.gamma(0.5, size=(N_STATES, N_MODES, N_MODES)) * np.where(np.eye(N_MODES), 5.0, 1.0)
    counts[1, 0] = counts[3] = 0
    return counts


def random_start(form, seed=0):
    return form.random_parameters(np.random.default_rng(seed))


def perturbed(parameters, rng, scale):
    return jax.tree.map(lambda leaf: leaf + scale * rng.standard_normal(leaf.shape), parameters)


# every form


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FORMS, "fixed"])
@pytest.mark.parametrize("n_modes", [1, 3])
def test_every_row_is_a_distribution(name, n_modes):
    form = build_switching(name, N_STATES, n_modes, None)
    parameters = random_start(form)
    counts = random_counts(0)[:, :n_modes, :n_modes]
    points = [parameters]
    if (name, n_modes) != ("state-net", 1):  # a compilation saved
        points.append(in_double(improve, form, parameters, counts))
    for at in points:
        log_p, log_prior, _ = in_double(evaluate, form, at, counts)
        assert log_p.shape == (N_STATES, n_modes, n_modes)
        assert log_p.dtype == np.float64
        np.testing.assert_allclose(np.exp(log_p).sum(axis=-1), 1, rtol=1e-12)
        assert log_prior.shape == ()
        assert np.isfinite(log_prior)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("scale", [0.0, 0.5, 500.0])
def test_the_m_step_never_lowers_the_objective(name, scale):
    form = build_switching(name, N_STATES, N_MODES, None)
    counts = random_counts(1, scale)
    for seed in range(4):
        parameters = random_start(form, seed)
        if name in ("state", "state-net"):  # any real numbers are parameters
            parameters = perturbed(parameters, np.random.default_rng(seed), 1.5)
        values = [objective(form, parameters, counts)]
        for _ in range(3):
            parameters = in_double(improve, form, parameters, counts)
            values.append(objective(form, parameters, counts))
        assert (np.diff(values) >= -1e-9 * np.abs(values[0])).all()
        assert values[1] > values[0]


@pytest.mark.parametrize("name", FORMS)
def test_starts_are_sticky_seeded_and_different(name):
    form = build_switching(name, N_STATES, N_MODES, None)
    counts = random_counts(0)
    first, again, other = (np.exp(in_double(evaluate, form, random_start(form, s), counts)[0]) for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert (np.diagonal(first, axis1=1, axis2=2) > 0.8).all()


@pytest.mark.parametrize("n_modes", [1, 2, 5])
def test_a_sticky_start_stays_about_as_often_as_told(n_modes):
    tables = np.exp([sticky_start(np.random.default_rng(seed), n_modes, stay=0.9) for seed in range(200)])
    np.testing.assert_allclose(tables.sum(axis=-1), 1)
    assert np.diagonal(tables, axis1=1, axis2=2).mean() == pytest.approx(0.9 if n_modes > 1 else 1.0, abs=0.01)


# tables


@pytest.mark.parametrize("pooled", [True, False])
def test_tables_are_smoothed_counts(pooled):
    form = TableSwitching.build(N_STATES, N_MODES, Dirichlet(0.5, stay=2.0), pooled=pooled)
    counts = random_counts(2)
    log_p, _, _ = in_double(evaluate, form, in_double(improve, form, random_start(form), counts), counts)
    smoothed = (counts.sum(axis=0, keepdims=True) if pooled else counts) + 0.5 + 2.0 * np.eye(N_MODES)
    expected = np.broadcast_to(smoothed / smoothed.sum(axis=-1, keepdims=True), counts.shape)
    np.testing.assert_allclose(np.exp(log_p), expected, rtol=1e-12)


@pytest.mark.parametrize("pooled", [True, False])
def test_the_closed_form_is_the_maximum(pooled):
    form = TableSwitching.build(N_STATES, N_MODES, Dirichlet(0.5, stay=2.0), pooled=pooled)
    counts = random_counts(3)
    best = in_double(improve, form, random_start(form), counts)
    highest = objective(form, best, counts)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1e-2, 0.3):
        for _ in range(10):
            nearby = log_softmax(perturbed(best, rng, scale), axis=-1)
            assert objective(form, nearby, counts) < highest


# additive


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("strength", [0.1, 5.0])
def test_additive_switching_reaches_the_optimum_that_scipy_finds(scale, strength):
    form = build_switching("state", N_STATES, N_MODES, Gaussian(strength))
    counts = random_counts(4, scale)
    shape = (N_MODES + N_STATES, N_MODES)

    def loss(x):
        A, b = x.reshape(shape)[:N_MODES], x.reshape(shape)[N_MODES:]
        log_p = log_softmax(A[None] + b[:, None], axis=-1)
        residual = counts.sum(axis=-1, keepdims=True) * np.exp(log_p) - counts
        penalty = 0.5 * strength * (0.01 * np.sum(A**2) + np.sum(b**2))
        gradient = np.concatenate([residual.sum(axis=0) + 0.01 * strength * A, residual.sum(axis=1) + strength * b])
        return -np.sum(counts * log_p) + penalty, gradient.ravel()

    start = random_start(form)
    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-9}
    expected = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    parameters = start
    assert objective(form, start, counts) == pytest.approx(-loss(start.ravel())[0], rel=1e-12)
    for _ in range(6):
        parameters = in_double(improve, form, parameters, counts)
    assert objective(form, parameters, counts) == pytest.approx(-expected.fun, rel=1e-9)
    log_p = in_double(evaluate, form, parameters, counts)[0]
    A, b = expected.x.reshape(shape)[:N_MODES], expected.x.reshape(shape)[N_MODES:]
    np.testing.assert_allclose(np.exp(log_p), np.exp(log_softmax(A[None] + b[:, None], axis=-1)), atol=1e-4)


def test_additive_switching_adds_logits():
    form = build_switching("state", N_STATES, N_MODES, None)
    parameters = np.random.default_rng(0).normal(size=(N_MODES + N_STATES, N_MODES))
    log_p, log_prior, _ = in_double(evaluate, form, parameters, random_counts(0))
    for s in range(N_STATES):
        for z in range(N_MODES):
            logits = parameters[z] + parameters[N_MODES + s]
            np.testing.assert_allclose(log_p[s, z], log_softmax(logits), rtol=1e-12)
    A, b = parameters[:N_MODES], parameters[N_MODES:]
    assert log_prior == pytest.approx(-0.5 * 0.1 * (np.sum(b**2) + 0.01 * np.sum(A**2)), rel=1e-12)


def test_a_strong_prior_makes_states_alike():
    counts = random_counts(5)
    form = build_switching("state", N_STATES, N_MODES, Gaussian(1e6))
    parameters = in_double(improve, form, random_start(form), counts)
    log_p = in_double(evaluate, form, parameters, counts)[0]
    assert np.ptp(log_p, axis=0).max() < 1e-3


# the network


@pytest.mark.slow
def test_the_network_can_tell_states_apart():
    counts = 1e3 * TABLE
    form = build_switching("state-net", N_STATES, N_MODES, Gaussian(1e-3))
    parameters = random_start(form)
    for _ in range(8):
        parameters = in_double(improve, form, parameters, counts)
    log_p = in_double(evaluate, form, parameters, counts)[0]
    np.testing.assert_allclose(np.exp(log_p), TABLE, atol=0.02)


def test_the_network_is_what_its_docstring_says():
    form = build_switching("state-net", N_STATES, N_MODES, Gaussian(0.3))
    x = perturbed(random_start(form), np.random.default_rng(1), 1.0)
    log_p, log_prior, _ = in_double(evaluate, form, x, random_counts(0))
    for s in range(N_STATES):
        logits = x["table"] + sum(np.tanh(x["input"][s, h]) * x["output"][h] for h in range(form.hidden))
        np.testing.assert_allclose(log_p[s], log_softmax(logits, axis=-1), rtol=1e-10)
    weights = np.sum(x["input"] ** 2) + np.sum(x["output"] ** 2)
    assert log_prior == pytest.approx(-0.15 * (weights + 0.01 * np.sum(x["table"] ** 2)), rel=1e-12)


# bouts


VISITS = np.array([40.0, 3.0, 0.0, 10.0, 7.0])


def sticky(name, steps=20.0, strength=30.0, besides=None):
    return build_switching(name, N_STATES, N_MODES, Bouts(steps, strength, besides), VISITS)


def mean_bouts(log_p, share):
    """Steps per leaving of each mode, states weighted by their share of the steps."""
    return 1 / (share @ (1 - np.diagonal(np.exp(log_p), axis1=1, axis2=2)))


def test_pseudocounts_are_bouts_of_the_length_asked_for():
    counts = bout_pseudocounts(Bouts(20.0, strength=30.0), N_MODES, VISITS)
    np.testing.assert_allclose(counts.sum(axis=(0, 2)), 20.0 * 30.0)  # steps in each mode
    leaving = counts * (1 - np.eye(N_MODES))
    np.testing.assert_allclose(leaving.sum(axis=(0, 2)), 30.0)  # bouts that end
    np.testing.assert_allclose(leaving[leaving > 0].reshape(N_STATES, -1).sum(axis=1) / 90, (VISITS + 1) / 65)
    assert (counts > 0).all()  # where the animal never was, too


@pytest.mark.parametrize("name", FORMS)
def test_bouts_are_pseudocounts_of_every_form(name):
    """Bouts + X is the same objective as X + c: the same density in all forms."""
    besides = Dirichlet(0.5) if "table" in name or name == "independent" else Gaussian(0.3)
    plain, form = build_switching(name, N_STATES, N_MODES, besides), sticky(name, besides=besides)
    counts, more = random_counts(6), bout_pseudocounts(Bouts(20.0, 30.0), N_MODES, VISITS)
    for seed in range(3):
        at = random_start(form, seed)
        if name.startswith("state") and name != "state-table":
            at = perturbed(at, np.random.default_rng(seed), 1.0)
        assert objective(form, at, counts) == pytest.approx(objective(plain, at, counts + more), rel=1e-12)
        if name != "state-net":  # the same number by another road there, after 20 steps of L-BFGS
            one, other = in_double(improve, form, at, counts), in_double(improve, plain, at, counts + more)
            np.testing.assert_allclose(one, other, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("scale", [0.0, 50.0])
def test_the_m_step_with_bouts_never_lowers_the_objective(name, scale):
    form, counts = sticky(name), random_counts(1, scale)
    parameters = random_start(form, 1)
    values = [objective(form, parameters, counts)]
    for _ in range(4):
        parameters = in_double(improve, form, parameters, counts)
        values.append(objective(form, parameters, counts))
    assert (np.diff(values) >= -1e-9 * np.abs(values[0])).all()
    assert values[1] > values[0]


def test_additive_switching_with_bouts_is_the_optimum_that_scipy_finds():
    form, counts = sticky("state", besides=Gaussian(0.5)), random_counts(7)
    shape, stay = (N_MODES + N_STATES, N_MODES), 1 - 1 / 20
    row = np.where(np.eye(N_MODES), stay, (1 - stay) / (N_MODES - 1))
    believed = np.stack([30 * 20 * (n + 1) / (VISITS + 1).sum() * row for n in VISITS])

    def loss(x):
        A, b = x.reshape(shape)[:N_MODES], x.reshape(shape)[N_MODES:]
        log_p = log_softmax(A[None] + b[:, None], axis=-1)
        all_counts = counts + believed
        residual = all_counts.sum(axis=-1, keepdims=True) * np.exp(log_p) - all_counts
        gradient = np.concatenate([residual.sum(axis=0) + 0.005 * A, residual.sum(axis=1) + 0.5 * b])
        return -np.sum(all_counts * log_p) + 0.25 * (0.01 * np.sum(A**2) + np.sum(b**2)), gradient.ravel()

    start = random_start(form)
    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-10}
    expected = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    parameters = start
    for _ in range(8):
        parameters = in_double(improve, form, parameters, counts)
    assert objective(form, parameters, counts) == pytest.approx(-expected.fun, rel=1e-12)
    assert np.abs(loss(parameters.ravel())[1]).max() < 1e-6
    log_p = in_double(evaluate, form, parameters, counts)[0]
    A, b = expected.x.reshape(shape)[:N_MODES], expected.x.reshape(shape)[N_MODES:]
    np.testing.assert_allclose(np.exp(log_p), np.exp(log_softmax(A[None] + b[:, None], axis=-1)), atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["state", "state-net"])
def test_the_gradient_of_the_prior_is_that_of_finite_differences(name):
    form = sticky(name)
    at = perturbed(random_start(form), np.random.default_rng(0), 0.5)
    direction = perturbed(jax.tree.map(np.zeros_like, at), np.random.default_rng(1), 1.0)
    gradient = in_double(jax.grad(lambda x: form.log_prior(x)), at)
    slope = sum(np.sum(g * d) for g, d in zip(jax.tree.leaves(gradient), jax.tree.leaves(direction), strict=True))
    ahead, behind = (jax.tree.map(lambda x, d, e=e: x + e * d, at, direction) for e in (1e-5, -1e-5))
    nothing = np.zeros((N_STATES, N_MODES, N_MODES))
    assert slope == pytest.approx((objective(form, ahead, nothing) - objective(form, behind, nothing)) / 2e-5, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("steps", [3.0, 50.0])
def test_where_the_belief_outweighs_the_data_bouts_have_its_length(name, steps):
    form = sticky(name, steps, strength=1e6)
    parameters = random_start(form)
    for _ in range(4):
        parameters = in_double(improve, form, parameters, random_counts(8))
    log_p = in_double(evaluate, form, parameters, random_counts(8))[0]
    np.testing.assert_allclose(mean_bouts(log_p, (VISITS + 1) / 65), steps, rtol=0.02)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "state-net" else name for name in FORMS]
)
def test_a_belief_worth_nothing_changes_nothing(name):
    besides = Dirichlet(0.5) if "table" in name or name == "independent" else None
    plain, form = build_switching(name, N_STATES, N_MODES, besides), sticky(name, strength=1e-9, besides=besides)
    at, counts = random_start(plain), random_counts(9)
    one, other = (in_double(evaluate, f, in_double(improve, f, at, counts), counts)[0] for f in (form, plain))
    np.testing.assert_allclose(np.exp(one), np.exp(other), atol=1e-6)


def test_as_many_bouts_as_the_data_hold_give_the_mean_of_both_lengths():
    counts = np.zeros((N_STATES, N_MODES, N_MODES))
    counts[0] = 10 * np.where(np.eye(N_MODES), 9 * 2, 1)  # in each mode 20 bouts of 10 steps
    form = build_switching("independent", N_STATES, N_MODES, Bouts(50.0, strength=20.0), VISITS)
    log_p = in_double(evaluate, form, in_double(improve, form, random_start(form), counts), counts)[0]
    np.testing.assert_allclose(mean_bouts(log_p, np.ones(N_STATES) / N_STATES), 30.0)


@pytest.mark.parametrize("name", FORMS)
def test_starts_last_as_long_as_is_believed(name):
    form = sticky(name, steps=200.0)
    tables = [in_double(evaluate, form, random_start(form, s), np.ones_like(TABLE))[0] for s in range(30)]
    assert np.mean([mean_bouts(table, np.ones(N_STATES) / N_STATES) for table in tables]) == pytest.approx(
        200, rel=0.15
    )


def test_one_mode_has_no_bouts():
    for name in FORMS:
        form = build_switching(name, N_STATES, 1, Bouts(50.0), VISITS)
        counts = np.ones((N_STATES, 1, 1))
        parameters = in_double(improve, form, random_start(form), counts) if name != "state-net" else random_start(form)
        log_p, log_prior, _ = in_double(evaluate, form, parameters, counts)
        np.testing.assert_array_equal(log_p, 0)
        assert np.isfinite(log_prior)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"steps": 1.0}, "steps=1.0: expected more than 1"),
        ({"steps": 0.5}, "steps=0.5: expected more than 1"),
        ({"steps": -3.0}, "steps=-3.0: expected a finite number > 0"),
        ({"steps": np.inf}, "steps=inf: expected a finite number > 0"),
        ({"steps": 50.0, "strength": -1.0}, "strength=-1.0: expected a finite number > 0"),
        ({"steps": 50.0, "strength": 0.0}, "strength=0.0: expected a finite number > 0"),
    ],
)
def test_bouts_that_cannot_be_are_refused(arguments, told):
    with pytest.raises(ValueError) as caught:
        Bouts(**arguments)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("name", "besides", "told"),
    [
        ("state", Dirichlet(), "switching='state' takes a priors.Gaussian besides"),
        ("independent", Gaussian(), "switching='independent' takes a priors.Dirichlet besides"),
        ("fixed", None, "switching='fixed' is given, so nothing is believed about it"),
    ],
)
def test_bouts_with_what_does_not_go_with_a_form_are_refused(name, besides, told):
    with pytest.raises(ValueError) as caught:
        build_switching(name, N_STATES, N_MODES, Bouts(50.0, besides=besides))
    assert told in str(caught.value)


# fixed


def test_fixed_switching_stays_as_given():
    form = build_switching(Fixed(TABLE), N_STATES, N_MODES, None)
    assert isinstance(form, FixedSwitching)
    parameters = random_start(form)
    log_p, log_prior, _ = in_double(evaluate, form, in_double(improve, form, parameters, random_counts(0)), TABLE)
    np.testing.assert_allclose(np.exp(log_p), TABLE, rtol=1e-14)
    assert log_prior == 0


def test_one_fixed_table_serves_all_states():
    log_table = Fixed(TABLE[0]).log_table(N_STATES, N_MODES)
    np.testing.assert_allclose(np.exp(log_table), np.broadcast_to(TABLE[0], TABLE.shape), rtol=1e-14)


@pytest.mark.parametrize("form", ["fixed", Fixed()])
def test_fixed_without_a_table_never_switches(form):
    with np.errstate(divide="ignore"):
        expected = np.log(np.broadcast_to(np.eye(N_MODES), TABLE.shape))
    np.testing.assert_array_equal(build_switching(form, N_STATES, N_MODES, None).log_table, expected)


@pytest.mark.parametrize(
    "table",
    [
        np.ones(3) / 3,
        np.full((2, 3), 1 / 3),
        np.full((2, 2, 2, 2), 0.5),
        [[0.5, 0.6], [0.5, 0.5]],
        [[1.5, -0.5], [0.5, 0.5]],
        [[np.nan, 1.0], [0.5, 0.5]],
    ],
)
def test_what_is_no_table_is_refused(table):
    with pytest.raises(ValueError, match=r"table.*: expected probabilities \[state, mode, next_mode\] or"):
        Fixed(table)


@pytest.mark.parametrize(("n_states", "n_modes"), [(4, 3), (5, 2)])
def test_a_table_for_another_model_is_refused(n_states, n_modes):
    with pytest.raises(ValueError) as caught:
        build_switching(Fixed(TABLE), n_states, n_modes, None)
    assert str(caught.value) == (
        f"switching.Fixed: table has shape (5, 3, 3), but there are {n_states} states and {n_modes} modes"
    )


# until a goal is reached

REACHED = np.array([[False] * 5, [True, False, False, False, False], [False, False, True, True, False]])


def test_until_reached_is_the_plain_formula():
    form = build_switching("until-reached", N_STATES, N_MODES, None, reached=REACHED)
    parameters = random_start(form, 3)
    leave, following = np.exp(parameters.leave), np.exp(parameters.following)
    log_p = in_double(evaluate, form, parameters, random_counts(0))[0]
    for s in range(N_STATES):
        for z in range(N_MODES):
            b = int(REACHED[z, s])
            for y in range(N_MODES):
                expected = leave[z, b, 0] * (y == z) + leave[z, b, 1] * following[y]
                assert np.exp(log_p[s, z, y]) == pytest.approx(expected)


@pytest.mark.parametrize("prior", [None, Dirichlet(0.3, stay=20.0), Bouts(20.0, strength=5.0)])
def test_until_reached_never_gets_worse_and_ends_at_the_optimum(prior):
    form = build_switching("until-reached", N_STATES, N_MODES, prior, VISITS, REACHED)
    counts, parameters = random_counts(1), random_start(form)
    reached = [objective(form, parameters, counts)]
    for _ in range(300):
        parameters = in_double(improve, form, parameters, counts)
        reached.append(objective(form, parameters, counts))
    assert (np.diff(reached) > -1e-9).all()
    assert reached[10] > reached[0] + 1
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1e-2, 0.1):
        for _ in range(5):
            other = in_double(form.normalised, perturbed(parameters, rng, scale))  # 10⁴ pseudo-counts: no rounding
            assert objective(form, other, counts) < reached[-1] + 1e-6


def test_until_reached_finds_how_easily_a_mode_is_left_at_its_goal():
    form = build_switching("until-reached", N_STATES, N_MODES, Dirichlet(1e-3), reached=REACHED)
    truth = switching.Leaving(np.log([[[0.9, 0.1]] * 2, [[0.95, 0.05], [0.2, 0.8]], [[0.99, 0.01], [0.5, 0.5]]]),
                              np.log([0.5, 0.3, 0.2]))  # fmt: skip
    counts = 1e6 * np.exp(in_double(evaluate, form, truth, random_counts(0))[0])
    parameters = random_start(form)
    for _ in range(500):
        parameters = in_double(improve, form, parameters, counts)
    np.testing.assert_allclose(np.exp(parameters.leave)[1:], np.exp(truth.leave)[1:], atol=1e-3)
    np.testing.assert_allclose(np.exp(parameters.following), [0.5, 0.3, 0.2], atol=1e-3)


# errors of build_switching


def test_a_form_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"switching='sticky': expected 'independent', 'state', 'state-table'"):
        build_switching("sticky", N_STATES, N_MODES, None)


@pytest.mark.parametrize(
    ("name", "prior", "expected"),
    [
        ("independent", Gaussian(), "priors.Dirichlet"),
        ("state-table", Gaussian(), "priors.Dirichlet"),
        ("state", Dirichlet(), "priors.Gaussian"),
        ("state-net", Dirichlet(), "priors.Gaussian"),
        ("state", 0.1, "priors.Gaussian"),
    ],
)
def test_a_prior_of_another_kind_is_refused(name, prior, expected):
    with pytest.raises(ValueError) as caught:
        build_switching(name, N_STATES, N_MODES, prior)
    assert str(caught.value) == f"switching_prior={prior!r}: switching={name!r} takes a {expected} or a priors.Bouts"


@pytest.mark.parametrize("name", FORMS)
def test_every_form_has_a_default_prior(name):
    assert isinstance(switching.DEFAULT_PRIORS[name], Dirichlet | Gaussian)
