"""Programs compiled in haste compute the same; where a fit is small it stays on the CPU."""

from dataclasses import replace
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import small_worlds
from swirl import compiling
from swirl.compiling import HASTY, LOOPING, PASSING, PLAIN, in_background, jit, on_cpu, on_host_if_small
from swirl.estimators.swirl import SWIRL
from swirl.inference import em, engines
from swirl.precision import float64, numpy_tree
from swirl.priors import Gaussian
from swirl.rewards.state import StateReward


def softplus_sum(x):
    return jnp.sum(jnp.log1p(jnp.exp(x)), axis=-1)


@pytest.mark.parametrize("loops", [True, False])
def test_how_a_program_is_compiled_changes_rounding_alone(loops):
    tiers = LOOPING if loops else PASSING
    function = jit(softplus_sum, loops=loops)
    for size in [most for most, _ in tiers] + [tiers[-1][0] + 1]:
        x = np.linspace(-3, 3, size, dtype=np.float32)
        np.testing.assert_allclose(function(x), softplus_sum(x), rtol=1e-5)


def test_settings_are_chosen_by_size_alone(monkeypatch):
    asked = []

    def recorded(function, compiler_options=None, static_argnames=()):
        asked.append(compiler_options)
        return function

    monkeypatch.setattr(compiling, "_known", lambda options: True)
    monkeypatch.setattr(compiling.jax, "jit", recorded)
    function = jit(softplus_sum, loops=False)
    for size in (10, 20, PASSING[0][0] + 1, PASSING[1][0] + 1, 30):
        function(np.zeros(size, np.float32))
    assert asked == [HASTY, PLAIN, None]


def test_a_setting_that_this_xla_does_not_have_is_left_out(monkeypatch):
    monkeypatch.setattr(compiling, "HASTY", {"xla_no_such_setting": True})
    monkeypatch.setattr(compiling, "PASSING", ((50, compiling.HASTY),))
    compiling._known.cache_clear()
    try:
        assert not compiling._known(tuple(compiling.HASTY.items()))
        assert float(jit(softplus_sum, loops=False)(np.zeros(3, np.float32))) == pytest.approx(3 * np.log(2))
    finally:
        compiling._known.cache_clear()


def test_inside_another_program_it_is_not_there():
    function = jit(softplus_sum, loops=False)
    assert "jit" not in str(jax.make_jaxpr(function)(np.zeros(3, np.float32))).replace("log1p", "")
    assert jax.grad(function)(np.zeros(3, np.float32)).shape == (3,)


def test_a_small_fit_stays_on_the_cpu(monkeypatch):
    class Card:
        platform = "gpu"

    real = jax.devices
    monkeypatch.setattr(compiling.jax, "devices", lambda kind=None: [Card()] if kind is None else real(kind))
    assert not on_cpu()
    with on_host_if_small(compiling.ON_HOST):
        assert on_cpu()
        assert jnp.zeros(1).devices() == set(real("cpu")[:1])
    with on_host_if_small(compiling.ON_HOST + 1):
        assert not on_cpu()


def test_where_there_is_no_cpu_nothing_is_changed(monkeypatch):
    class Card:
        platform = "gpu"

    def devices(kind=None):
        if kind == "cpu":
            raise RuntimeError("no such platform")
        return [Card()]

    monkeypatch.setattr(compiling.jax, "devices", devices)
    with on_host_if_small(1):
        assert not on_cpu()


def test_loops_stay_on_a_gpu_where_its_xla_can(monkeypatch):
    asked = []

    def recorded(function, compiler_options=None, static_argnames=()):
        asked.append(compiler_options)
        return function

    monkeypatch.setattr(compiling, "on_cpu", lambda: False)
    monkeypatch.setattr(compiling, "device", lambda: SimpleNamespace(platform="gpu"))
    monkeypatch.setattr(compiling, "_known", lambda options: True)
    monkeypatch.setattr(compiling.jax, "jit", recorded)
    for loops in (True, False):
        jit(softplus_sum, loops=loops)(np.zeros(3, np.float32))
    assert asked == [compiling.ON_GPU, None]


def test_what_runs_in_the_background_is_there_when_waited_for_and_knows_the_device():
    seen = []
    with jax.default_device(jax.devices()[0]):
        wait = in_background(lambda: seen.append(compiling.pinned()))
        wait()
    assert seen == [True]
    in_background(lambda: 1 / 0)()  # goes wrong again where it is needed


@pytest.mark.parametrize("cores", [pytest.param(False, marks=pytest.mark.slow), True], ids=["in turn", "a core each"])
def test_an_m_step_is_compiled_once_though_ahead(cores, monkeypatch):
    """With missing actions and without, and for however many restarts where each has a core."""
    monkeypatch.setattr(StateReward, "worth_a_core", property(lambda _: cores))
    env, data = small_worlds.world(), small_worlds.recording()
    options = {"reward_prior": Gaussian(0.3 + cores), "switching_prior": Gaussian(7.0)}
    problem = SWIRL(env, n_modes=3 + cores, history=1, **options).em_problem(data)
    start = numpy_tree(em.stack([problem.components.random_parameters(np.random.default_rng(0), 1.0)] * 5))
    programs = []

    def listen(name, seconds, **told):
        if name.endswith("backend_compile_duration"):
            programs.append(told.get("fun_name", ""))

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        engines.compile_ahead(problem.components, start)()
        assert sum("_improve" in name for name in programs) == 2  # of emissions, and of switching
        programs.clear()
        engines.compile_ahead(problem.components, start)()
        with float64():
            host = engines.choose(
                "compiled", problem.chains, numpy_tree(engines.tables_and_prior(problem.components, start)[0])
            )
            state = host.first(problem.components, start)
            host.advance(problem.components, state, np.ones(5, dtype=bool), accelerated=False, most=1)
            assert problem.components.latent is not None
            all_seen = replace(problem.components, latent=None)
            n_seen = len(
                problem.components.emissions.log_emissions(jax.tree.map(lambda leaf: leaf[0], start).emissions)
            )
            counts = replace(state.counts, emissions=np.asarray(state.counts.emissions)[:, :n_seen])
            engines.improve_restarts(all_seen, start, counts, np.ones(5, dtype=bool))
        assert not any("_improve" in name for name in programs)
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
