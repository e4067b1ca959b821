"""IQ-Learn's M-step: the paper's objective step by step, and a second optimiser on a plainly written one."""

import jax
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from small_worlds import N_ACTIONS, N_MODES, lifted, recording
from swirl.optimise import Solution
from swirl.precision import float64, numpy_tree
from swirl.priors import Gaussian
from swirl.rewards import iq_learn
from swirl.rewards.backoff import BackoffPenalty
from swirl.rewards.iq_learn import RIDGE, InverseQ, QParameters
from swirl.rewards.state_action import StateActionReward

pytestmark = pytest.mark.slow  # compiles programs of its own

HISTORIES = lifted()
AVAILABLE = np.asarray(HISTORIES.successors.available)
DISCOUNT = 0.9
TEMPERATURE = np.array([1.0, 0.4])
PRIOR = Gaussian(0.3, backoff=4.0)
STRENGTHS = (0.5, 0.02)  # IQ-Learn's, and one near the default


def walked_steps(data):
    """(h, a, h') of every step with an action, by plain loops; h' = −1 at the end of a segment."""
    row = {tuple(h): i for i, h in enumerate(HISTORIES.table.tolist())}
    found = []
    for i in range(len(data)):
        states, actions = data.states[i].tolist(), data.actions[i].tolist()
        for a, b in data.segments(i):
            here = [row[states[t], states[t - 1] if t > a else -1] for t in range(a, b)]
            after = [*here[1:], -1]
            found += [
                (h, x, n) for h, x, n in zip(here, actions[a:b], after, strict=True) if x >= 0
            ]  # a missing action says nothing
    return found


STEPS = walked_steps(recording())
SHARES = np.random.default_rng(0).dirichlet(np.ones(N_MODES), size=len(STEPS))  # γ_t(z)
TRIPLES, SYMBOLS = np.unique(STEPS, axis=0, return_inverse=True)
COUNTS = np.zeros((len(TRIPLES), N_MODES))
np.add.at(COUNTS, SYMBOLS.reshape(-1), SHARES)


def component(triples=TRIPLES, strength=0.5, prior=PRIOR, temperature=TEMPERATURE):
    triples = np.asarray(triples)
    return InverseQ(
        histories=triples[:, 0],
        actions=triples[:, 1],
        following=np.maximum(triples[:, 2], 0),
        has_next=triples[:, 2] >= 0,
        available=AVAILABLE,
        penalty=BackoffPenalty.build(HISTORIES, prior),
        discount=np.asarray(DISCOUNT),
        temperature=temperature,
        strength=np.asarray(strength),
    )


def in_double(function, *args):
    with float64():
        return numpy_tree(function(*args))


@jax.jit
def parts(model, q, counts):
    """What EM sees of some Q: Σ W log π, and the log-prior with and without IQ-Learn's penalty."""
    fitted = jax.numpy.sum(counts * model.log_emissions(QParameters(q, counts.T)))
    return fitted, model.log_prior(QParameters(q, counts.T)), model.log_prior(QParameters(q, 0 * counts.T))


@jax.jit
def climb(model, q, counts):
    """Sixty M-steps with the same counts, and the objective before each of them and at the end."""

    def objective(p):
        return jax.numpy.sum(counts * model.log_emissions(p)) + model.log_prior(QParameters(p.q, counts.T))

    def advance(p, _):
        return model.improve(p, counts), objective(p)

    end, trace = jax.lax.scan(advance, QParameters(q, 0 * counts.T), length=60)
    return end, jax.numpy.append(trace, objective(end))


def random_q(seed=0, scale=1.5):
    return scale * np.random.default_rng(seed).standard_normal((N_MODES, *AVAILABLE.shape))


def only(counts, z):
    return np.where(np.arange(N_MODES) == z, counts, 0.0)


# The objective


def paper_objective(q, z, strength=0.5):
    """Σ γ (φ(Q − γV') − (V − γV')), φ(x) = x − ½ strength x², one step at a time (paper Appendix C)."""
    alpha, total = TEMPERATURE[z], 0.0
    values = alpha * np.log(np.sum(np.exp(q / alpha) * AVAILABLE, axis=1))
    for (h, a, after), share in zip(STEPS, SHARES, strict=True):
        if after < 0:  # no successor, no reward: the choice alone counts
            total += share[z] * (q[h, a] - values[h])
            continue
        r = q[h, a] - DISCOUNT * values[after]
        total += share[z] * (r - 0.5 * strength * r**2 - (values[h] - DISCOUNT * values[after]))
    return total


@pytest.mark.parametrize("strength", STRENGTHS)
def test_iq_learn_is_penalised_likelihood(strength):
    """α times what the M-step raises, the prior apart, is the paper's objective (½ is its φ(x) = x − x²/4)."""
    q = random_q()
    for z, alpha in enumerate(TEMPERATURE):
        fitted, with_penalty, without = in_double(parts, component(strength=strength), q, only(COUNTS, z))
        expected = paper_objective(q[z], z, strength)
        np.testing.assert_allclose(alpha * (fitted + with_penalty - without), expected, rtol=1e-10)


def test_the_recording_has_what_the_objective_must_mind():
    """Ends, a gap, a missing action and unavailable ones: otherwise the tests above would show less."""
    data = recording()
    assert sum(n < 0 for _, _, n in STEPS) == sum(
        data.actions[i][b - 1] >= 0 for i in range(6) for _, b in data.segments(i)
    )
    assert len(data.gaps[0]) == 1
    assert len(TRIPLES) < len(STEPS) == data.n_observed_actions < data.n_steps
    assert not AVAILABLE.all()


def test_counts_of_triples_are_sums_over_steps():
    """With a symbol for each step and γ_t(z) for counts, everything is the same."""
    q = random_q(1)
    np.testing.assert_allclose(
        in_double(parts, component(), q, COUNTS), in_double(parts, component(STEPS), q, SHARES), rtol=1e-12
    )


def test_step_rewards():
    model, q, alpha = component(), random_q(2), TEMPERATURE[1]
    r = in_double(jax.jit(model.step_rewards), q[1], alpha)
    for (h, a, after), found in zip(TRIPLES, r, strict=True):
        value = alpha * np.log(np.sum(np.exp(q[1, after][AVAILABLE[after]] / alpha)))
        assert found == (pytest.approx(q[1, h, a] - DISCOUNT * value, abs=1e-12) if after >= 0 else 0.0)


@pytest.mark.slow
def test_a_step_without_successor_has_no_reward():
    """Whatever stands for its next history."""
    model = component()
    elsewhere = np.where(model.has_next, model.following, len(AVAILABLE) - 1)
    other = iq_learn.InverseQ(**{**vars(model), "following": elsewhere})
    assert np.any(elsewhere != model.following)
    a, b = (in_double(climb, x, random_q(), COUNTS)[0].q for x in (model, other))
    np.testing.assert_array_equal(a, b)


# Policies


def every_pair():
    """A symbol for each (h, a), available or not."""
    h, a = np.divmod(np.arange(AVAILABLE.size), N_ACTIONS)
    return component(np.column_stack([h, a, np.full(AVAILABLE.size, -1)]))


def test_policies_are_a_softmax_over_available_actions():
    q = random_q()
    found = in_double(every_pair().log_emissions, QParameters(q, 0))
    for z, alpha in enumerate(TEMPERATURE):
        for h in range(len(AVAILABLE)):
            weights = np.exp(q[z, h] / alpha) * AVAILABLE[h]
            pi = np.exp(found[h * N_ACTIONS : (h + 1) * N_ACTIONS, z]) * AVAILABLE[h]
            np.testing.assert_allclose(pi, weights / weights.sum(), rtol=1e-12)


@pytest.mark.slow
def test_q_of_unavailable_actions_does_not_matter():
    q = random_q()
    other = np.where(AVAILABLE, q, 40.0)
    np.testing.assert_array_equal(
        in_double(parts, component(), q, COUNTS), in_double(parts, component(), other, COUNTS)
    )
    best = in_double(climb, component(), other, COUNTS)[0].q
    assert np.all(best[:, ~AVAILABLE] == 0)


# The M-step


def plain_loss(z, strength, steps=STEPS, shares=SHARES):
    """−(objective + log prior) of one mode and its gradient, in numpy: the prior from an explicit covariance."""
    alpha, share = TEMPERATURE[z], shares[:, z]
    h, a, after = np.transpose(steps)
    weak, strong = PRIOR.strengths(2)
    table = HISTORIES.table
    covariance = np.eye(len(table)) / strong + (table[:, :1] == table[:, 0]) / weak  # own part + part of the state
    precision = np.linalg.inv(covariance)

    def centred(x):
        return np.where(AVAILABLE, x - np.sum(x * AVAILABLE, 1, keepdims=True) / AVAILABLE.sum(1, keepdims=True), 0.0)

    def loss(x):
        q = x.reshape(AVAILABLE.shape)
        weights = np.exp(q / alpha) * AVAILABLE
        pi, values = weights / weights.sum(axis=1, keepdims=True), alpha * np.log(weights.sum(axis=1))
        r = np.where(after >= 0, q[h, a] - DISCOUNT * values[after], 0.0)
        fit = np.sum(share * ((q[h, a] - values[h]) - 0.5 * strength * r**2)) / alpha
        gradient, slope = np.zeros_like(q), share * strength * r / alpha
        np.add.at(gradient, (h, a), slope - share / alpha)
        np.add.at(gradient, h, share[:, None] / alpha * pi[h])
        np.add.at(gradient, after, -DISCOUNT * slope[:, None] * pi[after])
        advantages, level = centred(q / alpha), np.where(AVAILABLE, q, 0.0) / alpha
        prior = 0.5 * np.sum(advantages * (precision @ advantages)) + 0.5 * RIDGE * np.sum(level**2)
        gradient += (centred(precision @ advantages) + RIDGE * level) / alpha
        return prior - fit, gradient.ravel()

    return loss


@pytest.fixture(scope="module", params=STRENGTHS)
def ascent(request):
    """(strength, start, end, trace) of repeated M-steps."""
    model, q = component(strength=request.param), random_q()
    return request.param, q, *in_double(climb, model, q, COUNTS)


def test_every_step_raises_the_objective(ascent):
    _, _, _, trace = ascent
    assert np.diff(trace).min() > -1e-10 * abs(trace[-1])
    assert trace[-1] > trace[0] + 10


def test_the_objective_is_the_plain_one(ascent):
    strength, start, end, trace = ascent
    for q, value in ((start, trace[0]), (end.q, trace[-1])):
        plain = -sum(plain_loss(z, strength)(q[z].ravel())[0] for z in range(N_MODES))
        assert value == pytest.approx(plain, rel=1e-10)
    np.testing.assert_allclose(end.visits, COUNTS.T)  # the weights of the penalty are those of the E-step


@pytest.mark.slow
def test_repeated_steps_reach_the_optimum_of_a_second_optimiser(ascent):
    strength, start, end, _ = ascent
    for z in range(N_MODES):
        loss = plain_loss(z, strength, TRIPLES, COUNTS)
        options = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-15, "gtol": 1e-9}
        best = minimize(loss, np.where(AVAILABLE, start[z], 0.0).ravel(), jac=True, method="L-BFGS-B", options=options)
        value, gradient = loss(end.q[z].ravel())
        assert value == pytest.approx(best.fun, rel=1e-8)
        assert np.abs(gradient).max() < 1e-4
        np.testing.assert_allclose(end.q[z], best.x.reshape(AVAILABLE.shape), atol=1e-3)


def differences(function, x, width=1e-5):
    """Derivative of each output with respect to each input, [input, output]."""
    return np.array([(function(x + width * e) - function(x - width * e)) / (2 * width) for e in np.eye(x.size)])


@pytest.mark.slow
def test_gradient_and_curvature(monkeypatch):
    """What the Newton step is handed, against finite differences of the plain objective."""
    seen = {}

    def catch(function, curvature, start, **_):
        directions = np.eye(start.size).reshape(-1, *start.shape)
        seen["value"], seen["gradient"], known = jax.jit(function)(start)
        seen["product"] = jax.jit(lambda x, d: jax.vmap(curvature(x)[0])(d))(known, directions)
        seen["diagonal"] = jax.jit(lambda x: curvature(x)[1])(known)
        return Solution(start, seen["value"], 0)

    monkeypatch.setattr(iq_learn, "newton_cg", catch)
    z, strength, few, shares = 1, 0.5, STEPS[:50], SHARES[:50]
    q = np.where(AVAILABLE, random_q(3), 0.0)[z]
    model = component(few, strength)
    with float64():
        model._improve_mode(*map(jax.numpy.asarray, (q, shares[:, z], TEMPERATURE[z])))
    loss, x = plain_loss(z, strength, few, shares), q.ravel()
    assert float(seen["value"]) == pytest.approx(loss(x)[0], rel=1e-12)
    slopes = differences(lambda x: loss(x)[0], x)
    np.testing.assert_allclose(np.asarray(seen["gradient"]).ravel(), slopes, atol=1e-6)
    np.testing.assert_allclose(loss(x)[1], slopes, atol=1e-6)  # the oracle's own gradient

    def rewards(x):
        q = x.reshape(AVAILABLE.shape)
        values = TEMPERATURE[z] * logsumexp(np.where(AVAILABLE, q / TEMPERATURE[z], -np.inf), axis=1)
        return np.array([q[h, a] - DISCOUNT * values[n] if n >= 0 else 0.0 for h, a, n in few])

    # Gauss–Newton: all of the likelihood's and the prior's, of r² what its slopes say.
    jacobian = differences(rewards, x)
    unpenalised = plain_loss(z, 0.0, few, shares)
    expected = differences(lambda x: unpenalised(x)[1], x)
    expected += (jacobian * shares[:, z] * strength / TEMPERATURE[z]) @ jacobian.T
    product = np.asarray(seen["product"]).reshape(x.size, x.size)
    np.testing.assert_allclose(product, expected, atol=1e-6)
    assert np.linalg.eigvalsh(product[np.ix_(AVAILABLE.ravel(), AVAILABLE.ravel())]).min() > 0
    ratio = (np.asarray(seen["diagonal"]).ravel() / np.diag(expected + ~AVAILABLE.ravel()))[AVAILABLE.ravel()]
    assert 0.3 < ratio.min() < ratio.max() < 4


# Limits


def test_without_penalty_the_policies_are_free():
    """λ = 0: the level of Q is free and goes to 0, so that the logits are those of `StateActionReward`."""
    plain = Gaussian(0.3, backoff=(1e12, 1.0))  # no part of shorter histories, but compiled already
    best = in_double(climb, component(strength=0.0, prior=plain), random_q(), COUNTS)[0].q
    free = StateActionReward.build(HISTORIES, Gaussian(0.3 + RIDGE), temperature=TEMPERATURE)
    table = np.zeros((N_MODES, *AVAILABLE.shape))
    np.add.at(table.transpose(1, 2, 0), (TRIPLES[:, 0], TRIPLES[:, 1]), COUNTS)
    logits = np.zeros_like(table)
    step = jax.jit(free.improve)
    for _ in range(3):
        logits = in_double(step, logits, table.reshape(N_MODES, -1).T)
    np.testing.assert_allclose(best / TEMPERATURE[:, None, None], logits, atol=1e-5)


def test_temperature_is_the_unit_of_q():
    """Q, γV and r scale with α, and so does λ's meaning: r²·λ/α keeps its weight when λ goes down by α."""
    alike = component(strength=0.5, temperature=np.array([1.0, 1.0]))
    warmer = component(strength=0.5 / 3, temperature=np.array([3.0, 3.0]))
    q = random_q()
    cold, warm = in_double(climb, alike, q, COUNTS)[0].q, in_double(climb, warmer, 3 * q, COUNTS)[0].q
    np.testing.assert_allclose(warm, 3 * cold, rtol=1e-6, atol=1e-6)


def test_random_starts_are_in_units_of_logits():
    start = component().random_parameters(np.random.default_rng(0), 2.0)
    assert start.q.shape == (N_MODES, *AVAILABLE.shape)
    assert start.visits.shape == (N_MODES, len(TRIPLES))
    np.testing.assert_allclose(start.q.std(axis=(1, 2)) / TEMPERATURE, 2.0, rtol=0.3)
    assert component().warm_up() is None
