"""Seeded starts: segments that are unlike each other become modes, and nothing else changes."""

from functools import cache

import jax
import numpy as np
import pytest
from scipy.sparse import csr_array

from small_worlds import recording, world
from swirl.analysis.metrics import segmentation_accuracy
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.gaussian_arhmm import GaussianARHMM
from swirl.estimators.swirl import SWIRL
from swirl.inference import em, initialise
from swirl.inference.estep.counts import Chains
from swirl.inference.initialise import (
    Candidates,
    draw_seeds,
    find_candidates,
    never_switches,
    seeded_start,
    starting_points,
)
from swirl.inference.mstep import Components
from swirl.rewards.state_action import StateActionReward
from swirl.switching import Fixed, build_switching

N_CONTEXTS, N_CHOICES = 3, 2
N_SYMBOLS = N_CONTEXTS * N_CHOICES


def tabular(n_modes=2, switching="fixed"):
    """Free policies over three contexts and two choices, pseudo-count ½."""
    policies = StateActionReward(np.ones((N_CONTEXTS, N_CHOICES), bool), np.ones(n_modes), np.asarray(0.5), None)
    return Components(policies, build_switching(switching, 1, n_modes, None), np.asarray(1.0))


def chains_of(segments, n_symbols=N_SYMBOLS):
    symbols = np.concatenate(segments).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(segment) for segment in segments])])
    return Chains(symbols, np.zeros_like(symbols), offsets, n_symbols, 1)


def some_chains(n_segments=9, seed=0):
    """Segments of several lengths in which symbols are missing; one in which all are, at the end too."""
    rng = np.random.default_rng(seed)
    segments = [rng.integers(N_SYMBOLS + 1, size=rng.integers(4, 12)) for _ in range(n_segments)]
    return chains_of([*segments, np.full(3, N_SYMBOLS)])


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@cache
def goals(n_modes=4, seed=0):
    """Sessions on a line of nine places, each of them for one of several goals."""
    places = np.arange(9)
    env = MDP.deterministic(np.stack([np.maximum(places - 1, 0), np.minimum(places + 1, 8)], axis=1))
    rewards = np.zeros((n_modes, 9))
    rewards[np.arange(n_modes), np.linspace(0, 8, n_modes).astype(int)] = 3.0
    truth = SWIRL.from_parameters(
        env,
        history=1,
        rewards=rewards,
        mode_transitions=np.eye(n_modes),
        initial_modes=np.full(n_modes, 1 / n_modes),
    )
    return env, truth.sample(40, 50, random_state=seed)


# The parts, against plain loops


def test_symbols_are_counted_segment_by_segment():
    chains = some_chains()
    expected = np.zeros((chains.n_chains, N_SYMBOLS))
    for i in range(chains.n_chains):
        for symbol in chains.symbols[chains.offsets[i] : chains.offsets[i + 1]]:
            if symbol < N_SYMBOLS:
                expected[i, symbol] += 1
    np.testing.assert_array_equal(initialise.symbol_counts(chains).toarray(), expected)
    assert not expected[-1].any()


@pytest.mark.parametrize("n_modes", [2, 4])  # 9 candidates: a last batch that is not full
def test_candidates_are_the_models_own_fits(n_modes):
    """Free policies have a closed M-step, so the likelihood of each segment under each fit is known."""
    chains = some_chains()
    found = find_candidates(tabular(n_modes), chains, np.random.default_rng(0))
    assert sorted(found.segments.tolist()) == list(range(9))  # all but the one without symbols
    counts = found.counts.toarray()
    smoothed = counts.reshape(-1, N_CONTEXTS, N_CHOICES) + 0.5
    log_policies = np.log(smoothed / smoothed.sum(axis=-1, keepdims=True)).reshape(len(counts), -1)
    np.testing.assert_allclose(found.log_likelihoods, counts @ log_policies[found.segments].T, atol=1e-12)


def test_candidates_are_not_more_than_needed(monkeypatch):
    monkeypatch.setattr(initialise, "N_CANDIDATES", 4)
    monkeypatch.setattr(initialise, "PER_MODE", 3)
    found = find_candidates(tabular(2), some_chains(20), np.random.default_rng(0))
    assert len(set(found.segments.tolist())) == 6


def kinds(n_kinds, n_each):
    """Candidates of several kinds: those of a kind explain each other a little worse than themselves."""
    kind = np.repeat(np.arange(n_kinds), n_each)
    log_likelihoods = np.where(kind[:, None] == kind, -1.5, -50.0)
    np.fill_diagonal(log_likelihoods, -1.0)
    return kind, Candidates(csr_array((len(kind), 1)), np.arange(len(kind)), log_likelihoods)


def test_seeds_are_of_all_kinds_even_the_rare():
    kind, candidates = kinds(5, 6)
    for seed in range(50):
        assert len(set(kind[draw_seeds(candidates, 5, np.random.default_rng(seed))])) == 5


def test_seeds_differ_even_where_there_is_nothing_to_choose_from():
    _, candidates = kinds(1, 4)
    alike = candidates._replace(log_likelihoods=np.full((4, 4), -1.0))
    for seed in range(20):
        assert len(set(draw_seeds(alike, 4, np.random.default_rng(seed)).tolist())) == 4


def test_a_fit_that_failed_is_the_last_choice(monkeypatch):
    def broken(components, n_states, rng, sizes, emissions, n_steps):
        return None, np.where(emissions > 0, 0.0, np.where(np.arange(len(sizes)) == 0, np.nan, -np.inf))

    monkeypatch.setattr(initialise, "_fit", broken)
    found = find_candidates(tabular(2), some_chains(), np.random.default_rng(0))
    assert np.isfinite(found.log_likelihoods).all()
    assert len(set(draw_seeds(found, 2, np.random.default_rng(0)).tolist())) == 2


# When


def test_only_modes_that_never_switch_are_seeded():
    nearly = Fixed(np.array([[0.9, 0.1], [0.0, 1.0]]))
    for components in (tabular(3), tabular(2, Fixed(np.eye(2)))):
        assert never_switches(components)
    for components in (tabular(1), tabular(2, nearly), tabular(2, "independent")):
        assert not never_switches(components)


@pytest.mark.parametrize(("n_modes", "switching"), [(2, "independent"), (2, "fixed"), (10, "fixed")])
def test_other_starts_are_drawn_as_ever(n_modes, switching):
    """All with modes that switch or more modes than segments to seed them, otherwise every other one."""
    components = tabular(n_modes, switching)
    got = starting_points(components, some_chains(), n_restarts=4, seed=3, scale=0.7)
    drawn = [components.random_parameters(rng, 0.7) for rng in np.random.default_rng(3).spawn(4)]
    seeded = [not same(a, b) for a, b in zip(got, drawn, strict=True)]
    assert seeded == [(switching == "fixed" and n_modes == 2) and r % 2 == 0 for r in range(4)]


def test_same_seed_same_start_however_many_restarts():
    components, chains = tabular(), some_chains()
    five, two = (starting_points(components, chains, n_restarts=n, seed=1, scale=1.0) for n in (5, 2))
    assert all(same(a, b) for a, b in zip(five, two, strict=False))
    assert not same(five[0], five[2])
    other = starting_points(components, chains, n_restarts=1, seed=2, scale=1.0)
    assert not same(five[0], other[0])


@pytest.mark.slow
def test_a_fit_that_goes_on_is_not_seeded_again(monkeypatch):
    model = SWIRL(world(), n_modes=2, history=1, switching="fixed", reward="state-action", n_restarts=2, max_iter=2)
    model.fit(recording())
    last = [r.objective for r in model.restarts_]
    monkeypatch.setattr(em, "starting_points", None)
    model.fit(recording(), resume=True)
    assert [r.objective_trace[0] for r in model.restarts_] == pytest.approx(last, rel=1e-12)


# What for


def test_the_groups_are_fitted():
    """Two kinds of segments: the start is the M-step of the right groups."""
    kind = np.array([0, 1, 1, 0, 1])
    chains = chains_of([np.full(6, 5 * k) for k in kind])
    start = seeded_start(tabular(), chains, np.random.default_rng(0))
    got = np.exp(start.emissions).reshape(2, -1)
    order = np.argsort(-got[:, 0])
    np.testing.assert_allclose(got[order][:, [0, 5]], [[12.5, 0.5], [0.5, 18.5]], rtol=1e-12)
    np.testing.assert_allclose(np.exp(start.log_initial)[order], [3 / 7, 4 / 7], rtol=1e-12)


@pytest.mark.slow
def test_every_seeded_restart_finds_the_goals_and_random_ones_seldom_do():
    env, data = goals()
    model = SWIRL(env, n_modes=4, history=1, switching="fixed", n_restarts=16, max_iter=60).fit(data, race=False)
    first = [path[:1] for path in data.modes]
    found = [segmentation_accuracy(first, [path[:1] for path in model.use_restart(r).predict(data)]) for r in range(16)]
    assert min(found[::2]) == 1.0
    assert np.mean(np.equal(found[1::2], 1.0)) <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["values", "gaussian"])
def test_any_component_can_be_seeded(kind):
    """The start has the form of a random one, which is all that EM asks of it."""
    if kind == "gaussian":  # every step is a symbol of its own, seen in one segment
        rng = np.random.default_rng(0)
        data = Trajectories.from_signals({"place": [np.cumsum(rng.normal(size=(30, 1)), axis=0) for _ in range(5)]})
        problem = GaussianARHMM("place", n_modes=2, switching="fixed")._problem(data)
    else:
        problem = SWIRL(world(), n_modes=2, history=1, switching="fixed")._problem(recording())
    drawn = problem.components.random_parameters(np.random.default_rng(0), 1.0)
    start = seeded_start(problem.components, problem.chains, np.random.default_rng(0))
    assert jax.tree.structure(start) == jax.tree.structure(drawn)
    for got, expected in zip(jax.tree.leaves(start), jax.tree.leaves(drawn), strict=True):
        assert np.shape(got) == np.shape(expected)
        assert np.asarray(got).dtype == np.asarray(expected).dtype
        assert np.isfinite(got).all()
