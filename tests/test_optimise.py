"""The optimisers against scipy and numpy; they never end worse than they started, whatever they are told."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from swirl import precision
from swirl.optimise import Gather, conjugate_gradient, lbfgs, newton_cg

N_ROWS, N_OPTIONS, N_WEIGHTS = 12, 4, 6


def random_logit(seed, strength=0.3):
    """Counts and features of a multinomial logit with a Gaussian prior, and a start away from the optimum."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(N_ROWS, N_OPTIONS, N_WEIGHTS))
    counts = rng.poisson(8.0, size=(N_ROWS, N_OPTIONS)) * (rng.random((N_ROWS, N_OPTIONS)) < 0.7)
    return {
        "features": features,
        "counts": counts.astype(float),
        "strength": np.asarray(strength),
        "start": 2 * rng.normal(size=N_WEIGHTS),
    }


def loss(problem, x):
    """−Σ counts · log softmax(features x) + ½ λ ‖x‖²."""
    log_p = jax.nn.log_softmax(problem["features"] @ x, axis=-1)
    return -jnp.sum(problem["counts"] * log_p) + 0.5 * problem["strength"] * jnp.sum(x**2)


def newton(problem, scale, shift, diagonal, tol, max_steps):
    """Run `newton_cg` with the Hessian B and its diagonal; or with `scale` · B + `shift`, and `diagonal`."""

    def matrix(x):
        return scale * jax.hessian(lambda w: loss(problem, w))(x) + shift * jnp.eye(N_WEIGHTS)

    def curvature(x):
        B = matrix(x)
        return lambda v: B @ v, jnp.where(jnp.isnan(diagonal), jnp.diag(B), diagonal)

    return unchecked_newton_cg(
        lambda x: (*jax.value_and_grad(lambda w: loss(problem, w))(x), x),
        curvature,
        problem["start"],
        tol=tol,
        max_steps=max_steps,
    )


def valley(x, cliff):
    """Rosenbrock's function, which is no number beyond a = `cliff`."""
    value = jnp.sum(100 * (x["b"] - x["a"] ** 2) ** 2 + (1 - x["a"]) ** 2)
    return jnp.where(jnp.max(x["a"]) < cliff, value, jnp.nan)


# Without the type checks `max_steps` may be traced: one compilation serves all tests.
unchecked_newton_cg, unchecked_lbfgs = inspect.unwrap(newton_cg), inspect.unwrap(lbfgs)
solve_newton = jax.jit(newton)
solve_valley = jax.jit(
    lambda x, cliff, max_steps: unchecked_lbfgs(lambda y: valley(y, cliff), x, tol=1e-10, max_steps=max_steps)
)
value_of = jax.jit(loss)


def in_double(function, *args, **options):
    with precision.float64():
        return precision.numpy_tree(function(*args, **options))


def run_newton(problem, scale=1.0, shift=0.0, diagonal=np.nan, tol=1e-12, max_steps=50):
    return in_double(solve_newton, problem, scale, shift, diagonal, tol, max_steps)


def by_scipy(problem):
    f, c, strength = problem["features"], problem["counts"], problem["strength"]

    def value_and_gradient(x):
        logits = f @ x
        log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        residual = c.sum(axis=1, keepdims=True) * np.exp(log_p) - c
        value = -np.sum(c * log_p) + 0.5 * strength * x @ x
        return value, np.einsum("ra,raw->w", residual, f) + strength * x

    options = {"maxiter": 5_000, "ftol": 1e-15, "gtol": 1e-9}
    return minimize(value_and_gradient, problem["start"], jac=True, method="L-BFGS-B", options=options)


# conjugate gradients


@pytest.mark.parametrize("scaling", ["diagonal", "one"])
def test_conjugate_gradients_solve_a_positive_definite_system(scaling):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(8, 8))
    matrix, target = root @ root.T + 0.1 * np.eye(8), rng.normal(size=8)
    diagonal = np.diag(matrix) if scaling == "diagonal" else np.ones(8)
    with precision.float64():
        B = jnp.asarray(matrix)
        solution = conjugate_gradient(
            lambda v: B @ v, jnp.asarray(target), jnp.asarray(diagonal), tol=1e-12, max_steps=60
        )
        solution = np.asarray(solution)
    np.testing.assert_allclose(solution, np.linalg.solve(matrix, target), rtol=1e-8)


def test_conjugate_gradients_stop_when_told_and_where_nothing_curves():
    target = np.array([3.0, 4.0])
    with precision.float64():
        one = jnp.ones(2)
        scaled = np.asarray(
            conjugate_gradient(lambda v: jnp.array([1.0, 9.0]) * v, jnp.asarray(target), one, tol=0.0, max_steps=1)
        )
        flat = np.asarray(conjugate_gradient(lambda v: 0 * v, jnp.asarray(target), one, tol=1e-6, max_steps=9))
        nothing = np.asarray(conjugate_gradient(lambda v: v, jnp.zeros(2), one, tol=1e-6, max_steps=9))
    np.testing.assert_allclose(scaled, target * 25 / (9 + 16 * 9))  # the best multiple of the gradient
    assert flat.tolist() == [0, 0]
    assert nothing.tolist() == [0, 0]


# Newton


@pytest.mark.parametrize("seed", range(5))
def test_newton_finds_the_optimum_that_scipy_finds(seed):
    problem = random_logit(seed)
    expected = by_scipy(problem)
    found = run_newton(problem)
    assert found.value <= expected.fun + 1e-9 * abs(expected.fun)
    np.testing.assert_allclose(found.x, expected.x, atol=1e-6)
    assert found.value == pytest.approx(float(in_double(value_of, problem, found.x)), rel=1e-12)
    assert found.x.dtype == np.float64
    assert 2 <= found.steps < 20


@pytest.mark.parametrize("seed", range(3))
def test_newton_gets_no_worse_with_each_step(seed):
    problem = random_logit(seed)
    values = [run_newton(problem, max_steps=n).value for n in (0, 1, 2, 3, 5)]
    assert values[0] == pytest.approx(float(in_double(value_of, problem, problem["start"])), rel=1e-12)
    assert (np.diff(values) <= 0).all()
    assert values[1] < values[0]


BAD = {
    "far too little": {"scale": 1e-6},
    "far too much": {"scale": 1e6},
    "negative": {"scale": -1.0},
    "indefinite": {"shift": -30.0},
    "none": {"scale": 0.0},
    "not a number": {"scale": np.nan},
    "wrong diagonal": {"diagonal": 1e-8},
    "negative diagonal": {"diagonal": -1.0},
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("seed", range(2))
def test_newton_never_ends_worse_than_it_started(kind, seed):
    problem = random_logit(seed)
    found = run_newton(problem, **BAD[kind])
    start = float(in_double(value_of, problem, problem["start"]))
    assert np.isfinite(found.x).all()
    assert found.value <= start
    assert found.value == pytest.approx(float(in_double(value_of, problem, found.x)), rel=1e-12)
    if kind in ("far too little", "far too much", "wrong diagonal"):
        assert found.value < start, "a positive definite curvature, however wrong, still points downhill"


def test_newton_shortens_steps_that_leave_the_domain():
    """f(x) = x − log x: from 5 the full Newton step lands at a negative x, where f is no number."""
    with precision.float64():
        found = newton_cg(
            lambda x: (jnp.sum(x - jnp.log(x)), 1 - 1 / x, x),
            lambda x: (lambda v: v / x**2, 1 / x**2),
            jnp.array([5.0, 0.1]),
            tol=1e-14,
            max_steps=50,
        )
        x = np.asarray(found.x)
    np.testing.assert_allclose(x, 1.0, atol=1e-6)


def test_newton_stays_where_the_gradient_lies():
    with precision.float64():
        one = jnp.ones(2)
        found = newton_cg(lambda x: (jnp.sum(x**2), -2 * x, x), lambda x: (lambda v: 2 * v, 2 * one), one)
        x, value = np.asarray(found.x), float(found.value)
    assert x.tolist() == [1, 1]
    assert value == 2


def test_newton_at_the_optimum_stays():
    problem = random_logit(0)
    best = run_newton(problem, tol=1e-14)
    again = run_newton(problem | {"start": best.x}, tol=1e-9)
    assert again.value <= best.value
    assert again.steps <= 1
    np.testing.assert_allclose(again.x, best.x, atol=1e-8)


def test_newton_side_by_side():
    """`vmap` over problems that need different numbers of steps, one of them already solved."""
    problems = [random_logit(seed, strength) for seed, strength in ((0, 0.3), (1, 30.0), (2, 0.01))]
    problems[1]["start"] = run_newton(problems[1], tol=1e-14).x
    stacked = {name: np.stack([p[name] for p in problems]) for name in problems[0]}
    together = in_double(jax.jit(jax.vmap(lambda p: newton(p, 1.0, 0.0, np.nan, 1e-12, 50))), stacked)
    assert len(set(together.steps.tolist())) > 1
    for i, problem in enumerate(problems):
        alone = run_newton(problem)
        np.testing.assert_allclose(together.x[i], alone.x, atol=1e-8)
        np.testing.assert_allclose(together.value[i], alone.value, rtol=1e-12)


# L-BFGS


@pytest.mark.slow
def test_lbfgs_finds_the_optima_that_scipy_finds_side_by_side():
    problems = [random_logit(seed) for seed in range(4)]
    stacked = {name: np.stack([p[name] for p in problems]) for name in problems[0]}

    def solve(problem):
        return lbfgs(lambda x: loss(problem, x), problem["start"], tol=1e-9, max_steps=200)

    found = in_double(jax.jit(jax.vmap(solve)), stacked)
    assert found.x.dtype == np.float64
    for i, problem in enumerate(problems):
        expected = by_scipy(problem)
        assert found.value[i] <= expected.fun + 1e-9 * abs(expected.fun)
        np.testing.assert_allclose(found.x[i], expected.x, atol=1e-5)
        assert found.value[i] == pytest.approx(float(in_double(value_of, problem, found.x[i])), rel=1e-12)


START = {"a": np.array([-1.2, 0.5]), "b": np.array([1.0, -2.0])}


@pytest.mark.slow
def test_lbfgs_on_a_tree_through_a_curved_valley():
    values = []
    for max_steps in (0, 1, 2, 3, 10, 200):
        found = in_double(solve_valley, START, np.inf, max_steps)
        values.append(float(found.value))
        assert found.value == pytest.approx(float(in_double(valley, found.x, np.inf)), rel=1e-9, abs=1e-18)
        assert found.steps <= max_steps
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(found.x["a"], 1.0, atol=1e-6)
    np.testing.assert_allclose(found.x["b"], 1.0, atol=1e-6)


def test_lbfgs_at_the_optimum_takes_no_step():
    found = in_double(solve_valley, {"a": np.ones(2), "b": np.ones(2)}, np.inf, 50)
    assert found.steps == 0
    assert found.value == 0


@pytest.mark.parametrize("cliff", [0.6, 0.9, 1.1])
def test_lbfgs_never_ends_worse_where_the_function_is_no_number(cliff):
    found = in_double(solve_valley, START, cliff, 50)
    assert found.value <= float(in_double(valley, START, cliff))
    assert found.value == pytest.approx(float(in_double(valley, found.x, cliff)), rel=1e-9)
    assert np.max(found.x["a"]) < cliff


@pytest.mark.parametrize("on_cpu", [True, False])
@pytest.mark.parametrize("even", [True, False])
def test_a_gather_and_its_transpose_are_those_of_jax(even, on_cpu, monkeypatch):
    monkeypatch.setattr("swirl.optimise.on_cpu", lambda: on_cpu)  # a GPU's road can be walked on a CPU too
    rng = np.random.default_rng(0)
    index = rng.integers(40, size=(30, 2)) if even else np.zeros((30, 2), dtype=int)
    gather = Gather.of(index, 40)
    assert (gather.readers is not None) is even  # one entry that all read would fill memory
    with precision.float64():
        x, slopes = jnp.asarray(rng.standard_normal((3, 40))), jnp.asarray(rng.standard_normal((3, 30, 2)))
        got, back = jax.vjp(gather, x)
        expected, back_again = jax.vjp(lambda v: v[:, index], x)
        np.testing.assert_array_equal(got, expected)
        close = {"rtol": 1e-12, "atol": 1e-14}
        np.testing.assert_allclose(back(slopes)[0], back_again(slopes)[0], **close)
        collected, spread = jax.vjp(lambda v: gather.collect(v, 40), slopes)
        np.testing.assert_allclose(collected, back_again(slopes)[0], **close)
        np.testing.assert_array_equal(spread(x)[0], expected)
        side_by_side = jax.vmap(lambda v: gather.collect(v, 40))(slopes)
        np.testing.assert_allclose(side_by_side, collected, **close)
