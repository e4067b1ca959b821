"""Both E-steps against enumeration of all mode paths, against each other, and where numbers run out."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from scipy.special import logsumexp

import reference_messages as reference
from swirl import precision
from swirl.inference.engines import DeviceIterations, choose, device_counts
from swirl.inference.estep import numba_loop, pallas_kernel, scan
from swirl.inference.estep.counts import Chains, Counts, Tables
from swirl.inference.estep.numba_kernel import IN_REGISTERS
from swirl.inference.estep.streaming import Blocks, StreamedChains

SHORT = [6, 1, 4, 1, 2, 6]  # chains short enough for enumeration; one shape for most tests, so few compiles
needs_numba = pytest.mark.skipif(not numba_loop.available(), reason="numba is not installed (swirl-irl[fast])")
without_kernels = pytest.mark.skipif(pallas_kernel.available(), reason="here the kernels do run")
KERNEL = pytest.param("kernel", marks=pytest.mark.slow)  # on the CPU only to be checked
ENGINES = [pytest.param("compiled", marks=needs_numba), KERNEL, "associative", "scan"]


def counts_by(engine, tables, chains, **options):
    """Counts of every restart, whichever road computes them."""
    if engine == "compiled":
        return numba_loop.expected_counts(tables, chains, **options)
    if engine == "kernel":  # as a GPU would run it, step by step on the CPU
        with precision.float64():
            groups = [pallas_kernel.Sorted.of(g, chains.n_symbols, chains.n_states) for g in scan.pad(chains)]
            parts = [pallas_kernel.expected_counts(tables, group, interpret=True) for group in groups]
            return precision.numpy_tree(jax.tree.map(lambda *leaves: sum(leaves[1:], leaves[0]), *parts))
    with precision.float64():
        return precision.numpy_tree(device_counts(tables, scan.pad(chains), engine == "associative"))


def random_chains(rng, lengths, n_symbols, n_states, missing=0.2):
    n_steps = sum(lengths)
    symbols = np.where(rng.random(n_steps) < missing, n_symbols, rng.integers(n_symbols, size=n_steps))
    states = rng.integers(n_states, size=n_steps)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Chains(symbols.astype(np.int32), states.astype(np.int32), offsets, n_symbols, n_states)


def random_tables(rng, n_restarts, n_modes, n_symbols, n_states, sharpness=1.0):
    """Emissions need not sum to one over the symbols: several contexts share the table."""
    return Tables(
        np.log(rng.dirichlet(np.ones(n_modes), size=n_restarts)),
        np.log(rng.dirichlet(np.ones(n_modes), size=(n_restarts, n_states, n_modes))),
        sharpness * np.log(rng.uniform(0.01, 1, size=(n_restarts, n_symbols, n_modes))),
    )


def by_enumeration(tables, chains):
    """Counts from the sums over all mode paths of every chain, restart by restart."""
    n_restarts, n_modes = tables.log_initial.shape
    initial = np.zeros((n_restarts, n_modes))
    transitions = np.zeros((n_restarts, chains.n_states, n_modes, n_modes))
    emissions = np.zeros((n_restarts, chains.n_symbols, n_modes))
    log_likelihood = np.zeros(n_restarts)
    for r in range(n_restarts):
        neutral = np.concatenate([tables.log_emissions[r], np.zeros((1, n_modes))])
        for first, last in zip(chains.offsets[:-1], chains.offsets[1:], strict=True):
            states, symbols = chains.states[first:last], chains.symbols[first:last]
            truth = reference.by_enumeration(tables.log_initial[r], tables.log_transitions[r][states], neutral[symbols])
            log_likelihood[r] += truth["log_normaliser"]
            initial[r] += truth["marginals"][0]
            for t in range(last - first):
                if symbols[t] < chains.n_symbols:
                    emissions[r, symbols[t]] += truth["marginals"][t]
                if t + 1 < last - first:
                    transitions[r, states[t]] += truth["pairs"][t]
    return Counts(initial, transitions, emissions, log_likelihood)


def assert_close(got, expected, tol):
    for name in ("initial", "transitions", "emissions", "log_likelihood"):
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=tol, atol=tol, err_msg=name)


@pytest.fixture(scope="module")
def small():
    """Chains of one to six steps, three modes, missing symbols, two restarts."""
    rng = np.random.default_rng(0)
    chains = random_chains(rng, SHORT, n_symbols=5, n_states=4, missing=0.3)
    assert (chains.symbols == 5).any()
    tables = random_tables(rng, 2, 3, 5, 4)
    return tables, chains, by_enumeration(tables, chains)


@pytest.fixture(scope="module")
def large():
    """More than one chunk of steps; three restarts."""
    rng = np.random.default_rng(1)
    lengths = [*rng.integers(1, 900, size=80).tolist(), 1, 64, 65, 1]
    chains = random_chains(rng, lengths, n_symbols=12, n_states=7)
    assert chains.offsets[-1] > 2 * numba_loop.STEPS_PER_CHUNK
    return random_tables(rng, 3, 3, 12, 7), chains


# against enumeration


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_enumeration_of_all_mode_paths(engine, small):
    tables, chains, expected = small
    assert_close(counts_by(engine, tables, chains), expected, 1e-10)


@pytest.mark.parametrize("engine", ENGINES)
def test_chains_of_one_step(engine):
    rng = np.random.default_rng(2)
    chains = random_chains(rng, [1, 1, 1], n_symbols=3, n_states=2)
    tables = random_tables(rng, 2, 3, 3, 2)
    got = counts_by(engine, tables, chains)
    assert_close(got, by_enumeration(tables, chains), 1e-12)
    assert not got.transitions.any()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_one_mode_leaves_nothing_to_infer(engine):
    rng = np.random.default_rng(3)
    chains = random_chains(rng, [70, 3], n_symbols=4, n_states=2)
    tables = random_tables(rng, 1, 1, 4, 2)
    got = counts_by(engine, tables, chains)
    seen = np.bincount(chains.symbols, minlength=5)[:4]
    np.testing.assert_allclose(got.emissions[0, :, 0], seen)
    np.testing.assert_allclose(got.initial, [[2.0]])
    assert got.transitions.sum() == pytest.approx(73 - 2)
    assert got.log_likelihood[0] == pytest.approx(seen @ tables.log_emissions[0, :, 0], rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_tables_of_other_symbols_are_refused(engine):
    """Compiled loops do not look where a table ends: they would read, and write, what stands behind it."""
    rng = np.random.default_rng(0)
    chains, tables = random_chains(rng, [5, 3], 7, 3), random_tables(rng, 1, 2, 4, 3)
    with pytest.raises(ValueError, match="tables of 4 symbols for chains of 7"):
        choose(engine, chains, tables)
    with pytest.raises(ValueError, match="tables of 4 symbols for chains of 7"):
        numba_loop.expected_counts(tables, chains)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_observed(engine):
    rng = np.random.default_rng(4)
    chains = random_chains(rng, SHORT, n_symbols=5, n_states=4, missing=1.1)
    tables = random_tables(rng, 2, 3, 5, 4)
    got = counts_by(engine, tables, chains)
    assert_close(got, by_enumeration(tables, chains), 1e-12)
    assert not got.emissions.any()
    np.testing.assert_allclose(got.log_likelihood, 0, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_symbols_that_some_mode_never_emits(engine):
    rng = np.random.default_rng(5)
    chains = random_chains(rng, SHORT, n_symbols=5, n_states=4)
    tables = random_tables(rng, 2, 3, 5, 4)
    tables.log_emissions[:, 0, 1] = tables.log_emissions[:, 2, 0] = tables.log_emissions[:, 2, 2] = -np.inf
    got = counts_by(engine, tables, chains)
    assert_close(got, by_enumeration(tables, chains), 1e-10)
    assert not got.emissions[:, 0, 1].any()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_symbol_that_no_mode_emits_does_no_harm_while_it_is_not_seen(engine):
    rng = np.random.default_rng(6)
    chains = random_chains(rng, SHORT, n_symbols=5, n_states=4)
    chains = Chains(np.where(chains.symbols == 4, 5, chains.symbols), chains.states, chains.offsets, 5, 4)
    tables = random_tables(rng, 2, 3, 5, 4)
    tables.log_emissions[:, 4] = -np.inf
    got = counts_by(engine, tables, chains)
    assert np.isfinite(got.log_likelihood).all()
    assert_close(got, by_enumeration(tables, chains), 1e-10)


# against each other, and sums that must hold


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 1_000_000])  # one part of each chain, and parts of 16 steps
def test_kernels_agree_with_the_scan_however_chains_and_sums_are_cut(threads, monkeypatch):
    monkeypatch.setattr(pallas_kernel, "THREADS", threads)
    monkeypatch.setattr(pallas_kernel, "PIECE", 32)
    rng = np.random.default_rng(8)
    drawn = random_chains(rng, [150, 100, 100, 70, 33, 2, 1], n_symbols=3, n_states=2)
    times = np.array([1, 3, 0, 2, 1, 1, 5])
    chains = Chains(drawn.symbols, drawn.states, drawn.offsets, 3, 2, times)
    tables = random_tables(rng, 2, 3, 3, 2, sharpness=8.0)
    assert_close(counts_by("kernel", tables, chains), counts_by("scan", tables, chains), 1e-10)


@without_kernels
def test_kernels_are_refused_where_there_is_no_gpu_for_them(large):
    tables, chains = large
    with pytest.raises(ValueError, match=r'engine="kernel" needs an NVIDIA GPU .* use engine="auto"'):
        choose("kernel", chains, tables)


def failing_kernels(monkeypatch, chains, fault):
    """Iterations whose kernels raise a fault when they are first called."""

    def fail(*_):
        raise fault

    monkeypatch.setattr(pallas_kernel, "expected_counts", fail)
    groups = (pallas_kernel.Sorted.of(group, chains.n_symbols, chains.n_states) for group in scan.pad(chains))
    return DeviceIterations(tuple(groups), in_parallel=False)


def refused_by_pallas():
    """The fault that Pallas raises where a GPU's compiler cannot be given a kernel: Triton has no sort."""

    def kernel(x, out):
        out[...] = jnp.sort(x[...])

    call = pl.pallas_call(kernel, jax.ShapeDtypeStruct((32,), jnp.float32), compiler_params=triton.CompilerParams())
    with pytest.raises(Exception) as caught:
        jax.jit(call).trace(jnp.zeros(32, jnp.float32)).lower(lowering_platforms=("cuda",))
    return caught.value


def xla(status):
    return jax.errors.JaxRuntimeError(f"{status}: said XLA")


@pytest.mark.parametrize(
    "fault",
    [
        refused_by_pallas,
        lambda: xla("FAILED_PRECONDITION"),  # a GPU that is too old
        lambda: xla("INTERNAL"),  # ptxas failed
        lambda: NotImplementedError("float128"),
    ],
)
def test_where_the_kernels_cannot_run_a_scan_steps_in_and_says_so(small, fault, monkeypatch):
    tables, chains, expected = small
    iterations = failing_kernels(monkeypatch, chains, fault())
    with precision.float64(), pytest.warns(UserWarning, match="kernels of the E-step failed on this device"):
        assert_close(iterations.counts(tables), expected, 1e-10)


@pytest.mark.parametrize(
    "fault", [xla("RESOURCE_EXHAUSTED"), xla("CANCELLED"), MemoryError("all is used"), ValueError("wrong"), KeyError(3)]
)
def test_other_faults_of_the_first_call_are_not_hidden(small, fault, monkeypatch):
    tables, chains, _ = small
    iterations = failing_kernels(monkeypatch, chains, fault)
    with precision.float64(), pytest.raises(type(fault)) as raised:
        iterations.counts(tables)
    assert raised.value is fault


@pytest.mark.slow
@needs_numba
@pytest.mark.parametrize("sharpness", [1.0, 20.0])
def test_both_roads_agree_on_more_data(large, sharpness):
    tables, chains = large
    tables = Tables(tables.log_initial, tables.log_transitions, sharpness * tables.log_emissions)
    assert_close(counts_by("compiled", tables, chains), counts_by("scan", tables, chains), 1e-9)


@pytest.mark.slow
@needs_numba
@pytest.mark.parametrize("n_modes", [IN_REGISTERS, IN_REGISTERS + 1, 13])
def test_rows_in_registers_and_in_arrays_give_the_same(n_modes):
    rng = np.random.default_rng(11)
    chains = random_chains(rng, [40, 40, 40, 39, 7, 1], n_symbols=5, n_states=3)
    tables = random_tables(rng, 2, n_modes, 5, 3)
    assert_close(counts_by("compiled", tables, chains), counts_by("scan", tables, chains), 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_counts_add_up(engine, large):
    tables, chains = large
    got = counts_by(engine, tables, chains)
    n_steps = int(chains.offsets[-1])
    observed = np.bincount(chains.symbols, minlength=13)[:12]
    np.testing.assert_allclose(got.emissions.sum(axis=-1), np.tile(observed, (3, 1)), rtol=1e-10)
    np.testing.assert_allclose(got.initial.sum(axis=-1), chains.n_chains, rtol=1e-10)
    last = np.zeros(n_steps, bool)
    last[chains.offsets[1:] - 1] = True
    leaving = np.bincount(chains.states[~last], minlength=7)
    np.testing.assert_allclose(got.transitions.sum(axis=(2, 3)), np.tile(leaving, (3, 1)), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_counts_of_shards_add(engine, small):
    tables, chains, expected = small
    total = None
    for first, last in ((0, 3), (3, 6)):
        steps = slice(chains.offsets[first], chains.offsets[last])
        offsets = chains.offsets[first : last + 1] - chains.offsets[first]
        part = Chains(chains.symbols[steps], chains.states[steps], offsets, chains.n_symbols, chains.n_states)
        counts = counts_by(engine, tables, part)
        total = counts if total is None else jax.tree.map(np.add, total, counts)
    assert_close(total, expected, 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_restarts_do_not_see_one_another(engine, small):
    tables, chains, together = small
    for r in range(2):
        alone = counts_by(engine, jax.tree.map(lambda leaf, r=r: leaf[r : r + 1], tables), chains)
        assert_close(alone, jax.tree.map(lambda leaf, r=r: leaf[r : r + 1], together), 1e-12)


# the compiled road's own promises


@needs_numba
def test_restarts_that_are_not_active_come_back_as_zeros(large):
    tables, chains = large
    full = counts_by("compiled", tables, chains)
    active = np.array([True, False, True])
    part = counts_by("compiled", tables, chains, active=active)
    for got, expected in zip(jax.tree.leaves(part), jax.tree.leaves(full), strict=True):
        np.testing.assert_array_equal(got[active], expected[active])
        assert not got[1].any()
    none = counts_by("compiled", tables, chains, active=np.zeros(3, bool))
    assert not any(leaf.any() for leaf in jax.tree.leaves(none))


@needs_numba
def test_same_bits_whenever_and_with_however_many_threads(large, monkeypatch):
    tables, chains = large
    expected = counts_by("compiled", tables, chains)
    for n_threads in (None, 1, 3, 7):
        if n_threads is not None:
            pool = ThreadPoolExecutor(n_threads)
            monkeypatch.setattr(numba_loop, "threads", lambda pool=pool: pool)
        again = counts_by("compiled", tables, chains)
        for got, first in zip(jax.tree.leaves(again), jax.tree.leaves(expected), strict=True):
            assert got.tobytes() == first.tobytes()


@needs_numba
def test_same_bits_whichever_restarts_run_beside(large):
    tables, chains = large
    together = counts_by("compiled", tables, chains)
    alone = counts_by("compiled", jax.tree.map(lambda leaf: leaf[1:2], tables), chains)
    for got, first in zip(jax.tree.leaves(alone), jax.tree.leaves(together), strict=True):
        assert got[0].tobytes() == first[1].tobytes()


def test_chunks_are_runs_of_whole_chains():
    rng = np.random.default_rng(7)
    for lengths in ([5], [40_000], [1] * 40_000, rng.integers(1, 5_000, size=300).tolist(), [200_000, 1, 1]):
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        nothing = np.zeros(offsets[-1], dtype=np.int32)
        parts = Chains(nothing, nothing, offsets, n_symbols=1, n_states=1).lanes
        assert sum(part.width * part.n_groups for part in parts) == len(lengths)
        for part in parts:
            edges = numba_loop._chunks(part, n_entries=4)
            assert edges[0] == 0
            assert edges[-1] == part.n_groups
            assert (np.diff(edges) > 0).all()
            assert len(edges) - 1 <= numba_loop.MAX_CHUNKS


# padding


def test_padding_is_neutral_and_leaves_the_chains_in_place():
    rng = np.random.default_rng(8)
    chains = random_chains(rng, [70, 100, 65], n_symbols=4, n_states=3)
    (padded,) = scan.pad(chains)
    assert padded.symbols.shape == padded.states.shape == (128, 3)
    for i, (first, last) in enumerate(zip(chains.offsets[:-1], chains.offsets[1:], strict=True)):
        n = last - first
        np.testing.assert_array_equal(padded.symbols[:n, i], chains.symbols[first:last])
        np.testing.assert_array_equal(padded.states[: n - 1, i], chains.states[first : last - 1])
        assert (padded.symbols[n:, i] == 4).all()
        assert (padded.states[n - 1 :, i] == 3).all()


def test_one_long_chain_does_not_stretch_many_short_ones():
    rng = np.random.default_rng(8)
    groups = scan.pad(random_chains(rng, [3, 1000, *[4] * 50], n_symbols=4, n_states=3))
    assert [group.symbols.shape for group in groups] == [(4, 51), (1024, 1)]


# where linear space ends


def assert_one_mode_per_chain(engine, tables, chains, tol=1e-10):
    """With no switching a chain's likelihood is Σ_z p(z) Π_t e[y_t, z]: no messages are needed."""
    n_modes = tables.log_initial.shape[-1]
    initial, emissions, log_likelihood = np.zeros(n_modes), np.zeros((chains.n_symbols, n_modes)), 0.0
    stays = np.zeros(chains.n_states)
    for first, last in zip(chains.offsets[:-1], chains.offsets[1:], strict=True):
        seen = np.bincount(chains.symbols[first:last], minlength=chains.n_symbols + 1)[:-1]
        log_joint = tables.log_initial[0] + seen @ tables.log_emissions[0]
        log_likelihood += logsumexp(log_joint)
        share = np.exp(log_joint - logsumexp(log_joint))
        initial += share
        emissions += seen[:, None] * share
        stays += np.bincount(chains.states[first : last - 1], minlength=chains.n_states)
    got = counts_by(engine, tables, chains)
    np.testing.assert_allclose(got.log_likelihood[0], log_likelihood, rtol=tol)
    np.testing.assert_allclose(got.initial[0], initial, rtol=1e-8, atol=tol)
    np.testing.assert_allclose(got.emissions[0], emissions, rtol=1e-8, atol=tol)
    np.testing.assert_allclose(got.transitions[0].sum(axis=(1, 2)), stays, rtol=tol)
    off_diagonal = got.transitions[0] * (1 - np.eye(n_modes))
    assert off_diagonal.max() < 1e-100


def calls_back(n_steps=2_000):
    """One chain whose first half speaks for mode 0 by far more than 1e−308, and whose second half takes it back."""
    symbols = np.repeat([0, 1], n_steps // 2).astype(np.int32)
    symbols[-1] = 2  # in the end mode 1 is a little ahead
    states = np.tile([0, 1], n_steps // 2).astype(np.int32)
    log_emissions = np.log(np.array([[[0.9, 0.2], [0.2, 0.9], [0.2, 0.9 * 0.2 / 0.9 * 2]]]))
    return Chains(symbols, states, np.array([0, n_steps]), 3, 2), log_emissions


def test_scan_follows_a_mode_whose_share_underflows():
    chains, log_emissions = calls_back()
    assert 1_000 * np.log(0.9 / 0.2) > 2 * 745, "the share of mode 1 is no number in linear space"
    with np.errstate(divide="ignore"):
        identity = np.log(np.eye(2))
    tables = Tables(np.log([[0.5, 0.5]]), np.tile(identity, (1, 2, 1, 1)), log_emissions)
    assert not numba_loop.suits(tables)
    assert_one_mode_per_chain("scan", tables, chains)


def test_scan_with_forbidden_transitions_and_starts_is_exact():
    rng = np.random.default_rng(9)
    chains = random_chains(rng, SHORT, n_symbols=5, n_states=4, missing=0.1)
    tables = random_tables(rng, 2, 3, 5, 4)
    cyclic = np.array([[0.7, 0.3, 0.0], [0.0, 0.6, 0.4], [0.5, 0.0, 0.5]])
    with np.errstate(divide="ignore"):
        tables.log_transitions[:] = np.log(cyclic)
        tables.log_initial[:] = np.log([0.4, 0.6, 0.0])
    got = counts_by("scan", tables, chains)
    assert_close(got, by_enumeration(tables, chains), 1e-10)
    assert not got.transitions[:, :, cyclic == 0].any()
    assert not got.initial[:, 2].any()


@needs_numba
@pytest.mark.parametrize("log_switch", [-740.0, -1_000.0, -5_000.0])
def test_the_compiled_road_is_right_wherever_it_says_that_it_suits(log_switch):
    chains, log_emissions = calls_back()
    table = np.where(np.eye(2, dtype=bool), 0.0, log_switch)
    tables = Tables(np.log([[0.5, 0.5]]), np.tile(table, (1, 2, 1, 1)), log_emissions)
    if numba_loop.suits(tables):
        assert_close(counts_by("compiled", tables, chains), counts_by("scan", tables, chains), 1e-9)


@pytest.mark.slow
@needs_numba
@pytest.mark.parametrize("engine", ["compiled", "associative"])
@pytest.mark.parametrize("log_switch", [-1.0, -40.0, -149.0])
def test_modes_whose_emissions_are_worlds_apart_need_no_logarithms(engine, log_switch):
    """Densities differ between modes by thousands of nats; a possible switch calls every mode back."""
    rng = np.random.default_rng(11)
    chains = random_chains(rng, [*SHORT, 300], n_symbols=40, n_states=2)
    tables = random_tables(rng, 2, 3, 40, 2)
    tables.log_emissions[:] = 3_000.0 * rng.standard_normal(tables.log_emissions.shape)
    tables.log_transitions[:] = np.where(np.eye(3, dtype=bool), np.log1p(-2 * np.exp(log_switch)), log_switch)
    assert numba_loop.suits(tables)
    assert_close(counts_by(engine, tables, chains), counts_by("scan", tables, chains), 1e-9)


@needs_numba
def test_a_trial_beyond_numbers_is_no_warning():
    """A quasi-Newton step that is too long may rule all switches out: it is not taken, and nothing is said of it."""
    never = -1_000.0
    into_one = [[never, 0.0], [never, 0.0]]  # of the first state; then each mode stays, and all speaks for the other
    table = np.array([[into_one, [[0.0, never], [never, 0.0]]]])
    states = np.array([0, *[1] * 8], np.int32)  # β of the other is e^800 at the first step: no number
    chains = Chains(np.zeros(9, np.int32), states, np.array([0, 9]), n_symbols=1, n_states=2)
    tables = Tables(np.log([[0.5, 0.5]]), table, np.array([[[0.0, -100.0]]]))
    assert not numba_loop.suits(tables)
    assert numba_loop.expected_counts(tables, chains).log_likelihood[0] < -700


def test_suits_wants_every_transition_and_start_possible():
    rng = np.random.default_rng(10)
    tables = random_tables(rng, 2, 3, 4, 3)
    assert numba_loop.suits(tables)
    for name, place in (("log_transitions", (1, 2, 0, 1)), ("log_initial", (1, 2))):
        changed = {
            field: getattr(tables, field).copy() for field in ("log_initial", "log_transitions", "log_emissions")
        }
        changed[name][place] = -np.inf
        assert not numba_loop.suits(Tables(**changed))


MEETS_ANOTHER = """
import os, subprocess, sys
import numpy as np
from numba.core.caching import IndexDataCacheFile
from swirl.inference.estep.counts import Chains, Tables
from swirl.inference.estep.numba_loop import expected_counts

n_modes, role = int(sys.argv[1]), sys.argv[2]
if role == "early":  # while it writes, another process that had read the index before writes its own
    save = IndexDataCacheFile._save_data

    def _save_data(self, *arguments):
        IndexDataCacheFile._save_data = save
        subprocess.run([sys.executable, "-c", os.environ["MEETS_ANOTHER"], "3", "late"], check=True)
        save(self, *arguments)

    IndexDataCacheFile._save_data = _save_data
if role == "late":
    IndexDataCacheFile._load_index = lambda self: {}
rng = np.random.default_rng(0)
chains = Chains(rng.integers(4, size=50), rng.integers(3, size=50), np.array([0, 50]), n_symbols=4, n_states=3)
made = [rng.dirichlet(np.ones(n_modes), size=(1, *size)) for size in ((), (3, n_modes), (4,))]
print(repr(expected_counts(Tables(*map(np.log, made)), chains).log_likelihood[0]))
"""


AT_ONCE = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
import numpy as np
from swirl.inference.estep import numba_loop
from swirl.inference.estep.counts import Chains, Tables

all_there = Barrier(3)
rng = np.random.default_rng(0)
chains = Chains(rng.integers(4, size=50), rng.integers(3, size=50), np.array([0, 50]), n_symbols=4, n_states=3)
sizes = (2, 3, 12)  # of rows in registers, and in arrays
tables = {K: [rng.dirichlet(np.ones(K), size=(1, *size)) for size in ((), (3, K), (4,))] for K in sizes}


def found(K):
    all_there.wait()
    return numba_loop.expected_counts(Tables(*map(np.log, tables[K])), chains).log_likelihood[0]


with ThreadPoolExecutor(3) as pool:
    print(list(map(float, pool.map(found, sizes))))
print([float(numba_loop.expected_counts(Tables(*map(np.log, tables[K])), chains).log_likelihood[0]) for K in sizes])
"""


@pytest.mark.slow
@needs_numba
def test_fits_that_compile_at_once_each_get_their_own_loop(tmp_path):
    """Three fits in three threads that have other numbers of modes, as folds of a comparison are."""
    outcomes = []
    for folder in ("one", "two"):
        own = {**os.environ, "JAX_PLATFORMS": "cpu", "NUMBA_CACHE_DIR": str(tmp_path / folder)}
        done = subprocess.run([sys.executable, "-c", AT_ONCE], env=own, check=True, capture_output=True, text=True)
        outcomes += done.stdout.splitlines()
    assert len(outcomes) == 4
    assert len(set(outcomes)) == 1
    rng = np.random.default_rng(0)
    chains = Chains(rng.integers(4, size=50), rng.integers(3, size=50), np.array([0, 50]), n_symbols=4, n_states=3)
    expected = []
    for n_modes in (2, 3, 12):
        made = [rng.dirichlet(np.ones(n_modes), size=(1, *size)) for size in ((), (3, n_modes), (4,))]
        expected.append(counts_by("scan", Tables(*map(np.log, made)), chains).log_likelihood[0])
    np.testing.assert_allclose(json.loads(outcomes[0]), expected, rtol=1e-10)


@pytest.mark.slow
def test_processes_that_compile_at_once_do_not_run_one_anothers_loop(tmp_path):
    """Numba's files on disk: written by two processes at once, what is then read must still be the loop asked for."""
    setting = {**os.environ, "JAX_PLATFORMS": "cpu", "MEETS_ANOTHER": MEETS_ANOTHER}

    def said(n_modes, role, folder):
        command = [sys.executable, "-c", MEETS_ANOTHER, str(n_modes), role]
        own = {**setting, "NUMBA_CACHE_DIR": str(tmp_path / folder)}
        return subprocess.run(command, env=own, check=True, capture_output=True, text=True).stdout.splitlines()[-1]

    said(2, "early", "shared")
    for n_modes in (2, 3):
        assert said(n_modes, "alone", "shared") == said(n_modes, "alone", f"own {n_modes}")


@pytest.mark.slow
@pytest.mark.parametrize("engine", [pytest.param("compiled", marks=needs_numba), "associative", "scan"])
def test_blocks_on_disk_give_the_counts_of_the_whole(engine, tmp_path):
    rng = np.random.default_rng(5)
    lengths = [70, 3, 12, 1, 64, 9, 200, 8, 8, 8, 31]
    times = rng.integers(0, 4, size=len(lengths))
    whole = replace(random_chains(rng, lengths, 7, 3), times=times)
    tables = random_tables(rng, 2, 3, 7, 3)

    def parts():
        for first, last in ((0, 4), (4, 5), (5, 11)):
            steps = slice(whole.offsets[first], whole.offsets[last])
            edges = whole.offsets[first : last + 1] - whole.offsets[first]
            yield Chains(whole.symbols[steps], whole.states[steps], edges, 7, 3, times[first:last])

    chains = StreamedChains(list(parts()), lambda part: part, tmp_path)
    with precision.float64():
        iterations = choose(engine, chains, tables)
        got, again = (iterations.counts(tables) for _ in range(2))
    assert_close(got, counts_by("scan", tables, whole), 1e-10)
    assert all(map(np.array_equal, jax.tree.leaves(got), jax.tree.leaves(again)))
    assert (chains.n_steps, chains.n_observed) == (whole.n_steps, whole.n_observed)
    assert not any(tmp_path.iterdir())  # the file has no name, so that nothing stays behind


def test_blocks_keep_what_was_written():
    blocks = Blocks()
    trees = [{"a": np.arange(6, dtype=np.int32).reshape(2, 3), "n": 4}, {"a": np.zeros((0, 2)), "n": np.float32(0.5)}]
    for tree in trees:
        blocks.append(tree)
    for _ in range(2):
        read = list(blocks)
        assert len(read) == len(blocks) == 2
        for one, other in zip(read, trees, strict=True):
            for name in one:
                np.testing.assert_array_equal(one[name], other[name])
                assert one[name].dtype == np.asarray(other[name]).dtype
    blocks._file.truncate(8)
    with pytest.raises(OSError, match="is the disk full"):
        list(blocks)


@needs_numba
@pytest.mark.slow
def test_a_compiled_loop_is_found_again_by_the_next_process(tmp_path):
    program = (
        "from swirl.inference.estep.numba_kernel import kernel\n"
        "stats = kernel(2, 1).stats\n"
        "print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))"
    )
    told = []
    for _ in range(2):
        settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", program], env=settings, capture_output=True, text=True, check=True)
        told.append(done.stdout.split())
    assert told == [["0", "1"], ["1", "0"]]


@pytest.mark.slow
def test_blocks_in_few_shapes_have_the_same_counts():
    rng = np.random.default_rng(6)
    chains, tables = random_chains(rng, [40, 60, 33], 7, 3), random_tables(rng, 2, 2, 7, 3)
    with precision.float64():
        (group,) = scan.pad(chains)
        group = scan.with_empty_chains(group, 6, 7, 3)
        filled = pallas_kernel.Sorted.of(group, 7, 3).filled(7, 3)
        assert filled.by_symbol.steps.shape == (group.symbols.size,)
        assert filled.by_symbol.key.shape == (7 + group.symbols.size // pallas_kernel.PIECE,)
        got = precision.numpy_tree(pallas_kernel.expected_counts(tables, filled, interpret=True))
    assert_close(got, counts_by("scan", tables, chains), 1e-10)
