"""The EM loop: the objective never falls, and the fit says truthfully how it ended."""

import re
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

from small_worlds import recording, truth, world
from swirl import compiling
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.swirl import SWIRL
from swirl.inference import em, engines
from swirl.inference.estep import numba_loop
from swirl.inference.mstep import Parameters
from swirl.precision import float64, numpy_tree
from swirl.priors import Cauchy, Gaussian
from swirl.rewards.component import EmissionComponent
from swirl.rewards.state import StateReward

FREE = [
    (reward, switching) for reward in ("state", "state-action") for switching in ("independent", "state", "state-table")
]
QUICK = {"n_restarts": 2, "max_iter": 12, "tol": 1e-9}
SMOOTH = EmissionComponent  # with the contract's defaults


def largest_fall(model):
    """Largest relative fall of the objective in any iteration of any restart (negative: it always rose)."""
    return max(np.max(-np.diff(r.objective_trace) / np.abs(r.objective_trace[1:])) for r in model.restarts_)


def never_ends(monkeypatch):
    monkeypatch.setattr(em._Ledger, "ask", lambda ledger, **_: None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reward", "switching"),
    [pytest.param(*form, marks=[pytest.mark.slow] * (form[1] != "state-table")) for form in FREE],
)
def test_the_objective_never_falls_in_100_iterations_of_20_seeds(reward, switching, monkeypatch):
    never_ends(monkeypatch)
    kind = "stochastic" if switching == "state" else "deterministic"
    model = SWIRL(world(kind), reward=reward, switching=switching, n_restarts=20, max_iter=100, tol=1e-15)
    model.fit(recording(kind, history=2), race=False)
    assert [r.n_iterations for r in model.restarts_] == [100] * 20
    assert largest_fall(model) <= 1e-8
    assert all(r.objective > r.objective_trace[0] for r in model.restarts_)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"reward_prior": Gaussian(0.1, of="reward", backoff=4.0)},
        pytest.param({"reward_prior": Cauchy(strength=2.0, of="linearised")}, marks=pytest.mark.slow),
        pytest.param(
            {"reward": "state-action", "reward_prior": Gaussian(0.5, backoff=2.0), "switching": "state-net"},
            marks=pytest.mark.slow,
        ),
        # Linear(features) and Network(…) take half a minute to compile; their M-step: tests/rewards/test_parametric.py
    ],
    ids=["gaussian back-off", "cauchy linearised", "logits back-off, state-net"],
)
def test_the_objective_never_falls_for_the_other_forms_and_priors(options, monkeypatch):
    never_ends(monkeypatch)
    model = SWIRL(world(), **{**QUICK, "switching": "independent", **options}).fit(recording(history=2))
    assert largest_fall(model) <= 1e-8
    assert all(r.n_iterations == 12 for r in model.restarts_)


# How a fit ends. All of the same shape, so that one compilation serves them.


def small(**options):
    return SWIRL(world(), **{"switching": "independent", "reward": "state-action", **QUICK, **options})


@pytest.mark.slow
def test_one_iteration_is_never_convergence():
    model = small(max_iter=1, tol=1e10).fit(recording())
    assert not model.converged_
    assert [r.status for r in model.restarts_] == ["iterations ran out"] * 2
    assert "not converged: the 1 iterations ran out" in model.fit_report_


@pytest.mark.slow
def test_converged_fits_have_next_to_nothing_left_to_gain():
    model = small(max_iter=2000, tol=0.01, n_restarts=6).fit(recording())
    assert all(r.converged for r in model.restarts_)
    assert model.fit_report_.startswith("converged after")
    assert "more iterations would gain" in model.fit_report_
    assert model.remaining_gain_ == model.restarts_[model.best_restart_].remaining_gain <= 0.01
    ended = [r.objective for r in model.restarts_]
    model.set_params(max_iter=10 * max(r.n_iterations for r in model.restarts_), tol=1e-300).fit(
        recording(), resume=True
    )
    gains = [r.objective - before for r, before in zip(model.restarts_, ended, strict=True)]
    assert max(gains) < 0.05


@pytest.mark.slow
def test_more_data_do_not_stop_a_fit_sooner():
    """A nat is worth the same however many steps there are: twice the same sessions take no fewer iterations."""
    data = recording()
    fits = [small(max_iter=2000, tol=0.01).fit(d) for d in (data, Trajectories.concatenate([data] * 4))]
    assert fits[1].converged_
    assert fits[1].restarts_[0].n_iterations >= 0.9 * fits[0].restarts_[0].n_iterations


def test_a_fit_that_runs_out_says_what_may_be_to_come():
    model = small(max_iter=12, tol=1e-12).fit(recording())
    assert not model.converged_
    assert re.search(r"and perhaps [\d.,]+ nats may still be gained", model.fit_report_)
    assert model.remaining_gain_ > 0


@pytest.fixture(params=["in the callback", "in a callback of a chunk", "in the E-step"])
def interrupted(request, monkeypatch):
    """A fit that the user stops in iteration 4, between two iterations or in the middle of one."""
    calls = 0

    def stop_in_callback(state):
        if state.iteration == 3:
            raise KeyboardInterrupt

    def stop_in_counts(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == 5:  # the first call is before the first iteration
            raise KeyboardInterrupt
        return counts(*args, **kwargs)

    counts = numba_loop.expected_counts
    if request.param == "in the E-step":
        monkeypatch.setattr(numba_loop, "expected_counts", stop_in_counts)
        model = small().fit(recording(), engine="compiled")
        monkeypatch.undo()
        return model
    engine = "scan" if request.param == "in a callback of a chunk" else "compiled"
    monkeypatch.setattr(engines, "CHUNK", 4)
    return small().fit(recording(), callback=stop_in_callback, engine=engine)


@pytest.mark.slow
def test_ctrl_c_keeps_what_there_is(interrupted):
    assert [r.status for r in interrupted.restarts_] == ["interrupted"] * 2
    assert not interrupted.converged_
    made = interrupted.restarts_[0].n_iterations  # a chunk that was under way is kept whole
    assert 3 <= made < 12
    assert f"interrupted after {made} iterations; fit again with resume=True" in interrupted.fit_report_
    for index, restart in enumerate(interrupted.restarts_):
        own = interrupted.use_restart(index)
        assert restart.n_iterations == made
        assert own.log_likelihood(recording()).sum() == pytest.approx(restart.log_likelihood_trace[-1], rel=1e-9)


@pytest.mark.slow
def test_resume_goes_on_where_the_fit_was(interrupted):
    last, made = [r.objective for r in interrupted.restarts_], interrupted.restarts_[0].n_iterations
    interrupted.set_params(max_iter=12 - made).fit(recording(), resume=True)
    assert [r.objective_trace[0] for r in interrupted.restarts_] == pytest.approx(last, rel=1e-12)
    whole = small(max_iter=12).fit(recording())
    for a, b in zip(whole.restarts_, interrupted.restarts_, strict=True):
        np.testing.assert_allclose(a.objective_trace[made:], b.objective_trace, rtol=1e-10)


def test_resume_of_another_model_or_of_none_is_refused():
    with pytest.raises(ValueError, match="resume=True: the last fit was of another model"):
        small(max_iter=1).fit(recording()).set_params(n_modes=3).fit(recording(), resume=True)
    with pytest.raises(ValueError, match="no restarts: fit it first"):
        truth().fit(recording(), resume=True)
    with pytest.raises(ValueError, match="not fitted yet"):
        small().fit(recording(), resume=True)


def test_the_callback_hears_of_every_iteration():
    heard = []
    model = small(max_iter=4, tol=1e-15).fit(recording(), callback=heard.append)
    assert [state.iteration for state in heard] == [1, 2, 3, 4]
    assert heard[-1].objectives == pytest.approx([r.objective for r in model.restarts_])


def test_same_seed_same_bits_and_another_seed_another_start():
    first, again = small().fit(recording()), small().fit(recording())
    for name in ("rewards_", "policies_", "mode_transitions_", "initial_modes_", "objective_trace_"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    other = small(random_state=1).fit(recording())
    assert other.restarts_[0].objective_trace[0] != first.restarts_[0].objective_trace[0]
    assert first.restarts_[0].objective_trace[0] != first.restarts_[1].objective_trace[0]


def test_restarts_do_not_know_of_each_other():
    """The first restarts of a fit with more of them are the same: all are kept, the best is the fit."""
    two, three = small().fit(recording()), small(n_restarts=3).fit(recording())
    for a, b in zip(two.restarts_, three.restarts_, strict=False):
        np.testing.assert_allclose(a.objective_trace, b.objective_trace, rtol=1e-9)
    assert three.best_restart_ == int(np.argmax([r.objective for r in three.restarts_]))
    assert three.objective_trace_[-1] == max(r.objective for r in three.restarts_)


@pytest.mark.slow
def test_both_engines_fit_the_same():
    a, b = (small(switching="state").fit(recording(), engine=engine) for engine in ("compiled", "scan"))
    np.testing.assert_allclose(a.objective_trace_, b.objective_trace_, rtol=1e-8)
    np.testing.assert_allclose(a.policies_, b.policies_, atol=1e-8)
    np.testing.assert_allclose(a.mode_transitions_, b.mode_transitions_, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["compiled", "associative"])
def test_an_engine_that_would_be_wrong_is_refused(engine):
    """One mode per session: 1,000 steps for either mode, and plain probabilities would forget the second."""
    actions = np.repeat([0, 1], [1000, 1010])
    data = Trajectories([np.zeros(2010, dtype=int)], [actions], n_states=1, n_actions=2)
    env, options = MDP.deterministic([[0, 0]]), {"history": 1, "reward": "state-action", "n_restarts": 1, "max_iter": 1}
    with pytest.raises(
        ValueError, match=rf"engine='{engine}'.*switch has probability 0,.*engine=\"auto\" or.*\"scan\""
    ):
        SWIRL(env, switching="fixed", **options).fit(data, engine=engine)
    SWIRL(env, switching="independent", **options).fit(data, engine=engine)
    assert SWIRL(env, switching="fixed", **options).fit(data, engine="scan").n_observed_ == 2010


def test_an_objective_that_is_not_finite_is_said_to_be_so():
    ledger = em._Ledger.open(1e-5, SMOOTH, np.array([-10.0, -10.0, -10.0]), np.zeros(3))
    ledger.record(np.array([np.nan, -10.1, -9.0]), np.zeros(3))
    assert ledger.status == ["not finite", "objective fell", ""]
    assert ledger.running.tolist() == [False, False, True]


def test_a_fall_is_not_convergence():
    ledger = em._Ledger.open(1e-5, SMOOTH, np.array([-10.0]), np.zeros(1))
    for objective in (*[-10.0] * 12, -10.1):
        ledger.record(np.array([objective]), np.zeros(1))
    ledger.ask(accelerated=False)
    assert ledger.status == ["objective fell"]


def test_the_report_says_how_the_fit_ended():
    parameters = Parameters(np.zeros(1), (), ())

    def restart(objective, status="converged"):
        return em.Restart(
            parameters, np.array([-99.0, objective]), np.array([-90.0, objective + 1]), np.ones(1), status, 0.004
        )

    text = em.describe([restart(-50.0), restart(-50.0001), restart(-60.0)], 0, n_observed=10)
    assert text.startswith(
        "converged after 1 iterations (more iterations would gain about 0.004 nats). Objective -50.000 (log"
    )
    assert "(log-likelihood -4.90000 nats per step" in text
    assert text.endswith("; the best of 3 restarts.")
    told = em.describe([restart(-50.0), restart(-50.0)], 0, 10, "2 of 2 restarts came to the same result")
    assert told.endswith("; 2 of 2 restarts came to the same result.")
    assert em.describe([restart(-50.0), restart(-60.0)], 1, 10).endswith("; 10.00 nats behind the best of 2 restarts.")
    assert "the only restart" in em.describe([restart(-50.0)], 0, n_observed=10)


def assert_same_bits(got, expected):
    for one, other in zip(*map(jax.tree.leaves, (got, expected)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize(
    "prior",
    [Cauchy(), Gaussian(of="value")],
    ids=["heavy-tailed", "on values"],
)
def test_m_steps_on_cores_of_their_own_are_those_in_turn_to_the_last_bit(prior, monkeypatch):
    """However many cores there are, whichever restarts run beside; those that are not active stay as they are."""
    _, chains, components, *_ = SWIRL(world(), n_modes=2, history=2, reward_prior=prior).em_problem(recording())
    rngs = np.random.default_rng(0).spawn(3)
    with float64():
        start = numpy_tree(em.stack([components.random_parameters(rng, 1.0) for rng in rngs]))
        counts = numba_loop.expected_counts(numpy_tree(engines.tables_and_prior(components, start)[0]), chains)
        active = np.array([True, False, True])
        in_turn = numpy_tree(engines.improve_restarts(components, start, counts, active))
        monkeypatch.setattr(type(components.emissions), "worth_a_core", property(lambda _: True))
        for n_cores in (1, 2, 3):
            pool = ThreadPoolExecutor(n_cores)
            monkeypatch.setattr(compiling, "threads", lambda pool=pool: pool)
            spread = numpy_tree(engines.improve_restarts(components, start, counts, active))
            assert_same_bits(spread, in_turn)
        alone = jax.tree.map(lambda leaf: leaf[2:], (start, counts))
        third = numpy_tree(engines.improve_restarts(components, *alone, active[2:]))
    assert_same_bits(third, jax.tree.map(lambda leaf: leaf[2:], in_turn))
    assert_same_bits(*(jax.tree.map(lambda leaf: leaf[1], each) for each in (in_turn[0], start)))
    for new, old in zip(*map(jax.tree.leaves, (in_turn[0].emissions, start.emissions)), strict=True):
        assert not new.size or (new[[0, 2]] != old[[0, 2]]).any()


def test_a_fault_in_an_m_step_on_another_core_comes_through(monkeypatch):
    monkeypatch.setattr(StateReward, "worth_a_core", property(lambda _: True))
    monkeypatch.setattr(engines, "_improve_emissions", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        SWIRL(world(), n_modes=2, reward_prior=Cauchy(), n_restarts=2).fit(recording())
