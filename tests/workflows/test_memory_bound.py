"""The bound against what the code allocates: never below it, and not far above; advice that is true."""

import re
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import small_worlds
from swirl import system
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.swirl import SWIRL
from swirl.inference.engines import device_counts
from swirl.inference.estep import numba_loop, scan
from swirl.inference.estep.counts import Chains, Tables
from swirl.precision import float64
from swirl.rewards.forms import Habit, Linear, Network, Tabular
from swirl.switching import Fixed
from swirl.text import amount
from swirl.workflows import memory_bound

RING = MDP.deterministic([[0, 1], [1, 2], [2, 0]])
USUAL = {"n_modes": 3, "history": 3, "n_steps": 200_000, "n_sessions": 100, "n_restarts": 8}


def random_world(n_states=60, n_actions=4, n_branches=2):
    rng = np.random.default_rng(0)
    return MDP.from_successors(rng.integers(n_states, size=(n_states, n_actions, n_branches)))


def traced_peak(function):
    """Result, and the most bytes of numpy arrays (and other Python memory) that were held at a time."""
    tracemalloc.start()
    try:
        result = function()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ------------------------------------------------------------------ counting


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["deterministic", "stochastic"])
def test_paths_are_counted_as_histories_are_made(kind, length):
    env = small_worlds.world(kind)
    histories = Histories.reachable(env.successors, length)
    needs = memory_bound.predict(env, **(USUAL | {"history": length}))
    assert needs.sizes.n_histories == histories.n_histories
    assert needs.sizes.n_contexts == histories.n_contexts
    assert list(needs.sizes.paths) == np.bincount(histories.sizes)[1:].tolist()


def test_huge_numbers_of_paths_are_counted_all_the_same():
    complete = MDP.deterministic(np.tile(np.arange(300), (300, 1)))
    assert memory_bound.count_paths(complete, 3) == (300, 90_000, 27_000_000)
    assert memory_bound.count_paths(complete, 8)[-1] == pytest.approx(300.0**8)
    needs = memory_bound.predict(complete, **(USUAL | {"history": 10}))
    with pytest.raises(ValueError, match=r"e\+24 histories"):
        memory_bound.check(needs, limit=10**12)


def test_a_history_of_nothing_is_refused():
    with pytest.raises(ValueError, match="history=0"):
        memory_bound.predict(RING, **(USUAL | {"history": 0}))


# ------------------------------------------------------------------ the bound against the code


def test_reading_is_bounded():
    env = random_world()
    rng = np.random.default_rng(1)
    n_sessions, n_steps = 20, 2_500
    states, actions = np.zeros((n_sessions, n_steps), int), rng.integers(4, size=(n_sessions, n_steps))
    for t in range(1, n_steps):
        states[:, t] = np.asarray(env.successors.next)[states[:, t - 1], actions[:, t - 1], 0]
    model = SWIRL(env, n_modes=2, history=3)
    needs = memory_bound.predict(env, n_modes=2, history=3, n_steps=50_000, n_sessions=20, n_restarts=1)

    def read():
        return model._problem(Trajectories(list(states), list(actions), n_states=60, n_actions=4))

    _, peak = traced_peak(read)
    assert 1.0 < (needs.recording + needs.tables) / peak < 2.5


@pytest.mark.parametrize("length", [3, 4])
def test_tables_over_histories_are_bounded(length):
    env = random_world(n_states=40)
    histories, peak = traced_peak(lambda: Histories.reachable(env.successors, length))
    needs = memory_bound.predict(env, **(USUAL | {"history": length, "n_modes": 1, "n_restarts": 1, "engine": "scan"}))
    assert needs.sizes.n_histories == histories.n_histories
    assert 1.0 < needs.tables / peak < 3.0  # what the M-step copies of them is in the bound too


def test_compiled_counts_are_bounded():
    pytest.importorskip("numba")
    n_modes, n_restarts, n_sessions, n_steps = 2, 3, 40, 2_000
    env = random_world(n_states=500, n_actions=10, n_branches=1)
    needs = memory_bound.predict(
        env, n_modes=2, history=1, n_steps=80_000, n_sessions=40, n_restarts=3, reward="state-action", engine="compiled"
    )
    rng = np.random.default_rng(0)
    total = n_sessions * n_steps
    chains = Chains(
        rng.integers(5_000, size=total).astype(np.int32),
        rng.integers(500, size=total).astype(np.int32),
        np.arange(0, total + 1, n_steps),
        5_000,
        500,
    )
    chains.lanes, chains.symbol_counts  # noqa: B018 (made before, as in a fit)
    tables = Tables(
        np.full((n_restarts, n_modes), np.log(0.5)),
        np.full((n_restarts, 500, n_modes, n_modes), np.log(0.5)),
        np.full((n_restarts, 5_000, n_modes), np.log(0.1)),
    )
    numba_loop.expected_counts(tables, chains)  # numba compiles
    _, peak = traced_peak(lambda: numba_loop.expected_counts(tables, chains))
    assert 1.0 < needs.tables / peak < 3.0  # besides: the tables themselves, and the counts of the last iteration


def test_messages_through_xla_are_bounded():
    n_modes, n_restarts, n_sessions, n_steps = 4, 2, 10, 640
    needs = memory_bound.predict(RING, n_modes=4, history=1, n_steps=6_400, n_sessions=10, n_restarts=2, engine="scan")
    total = n_sessions * n_steps
    zeros = np.zeros(total, np.int32)
    padded = scan.pad(Chains(zeros, zeros, np.arange(0, total + 1, n_steps), 6, 3))

    def count(initial, transitions, emissions):
        return jax.tree.leaves(device_counts(Tables(initial, transitions, emissions), padded, in_parallel=False))

    with float64():
        shapes = ((n_restarts, n_modes), (n_restarts, 3, n_modes, n_modes), (n_restarts, 6, n_modes))
        program = jax.jit(count).lower(*map(np.zeros, shapes)).compile()
    assert 1.0 < needs.messages / program.memory_analysis().temp_size_in_bytes < 2.0


@pytest.mark.parametrize(
    ("change", "grown"),
    [("n_modes", 6), ("n_restarts", 16), ("n_steps", 800_000), ("history", 5), ("longest", 10**6)],
)
@pytest.mark.parametrize("engine", ["compiled", "scan"])
def test_more_never_needs_less(engine, change, grown):
    for reward in ("state", "state-action", Habit(2), Network(4), Linear(np.eye(60)), Tabular(solver="soft-q")):
        given = USUAL | {"reward": reward, "engine": engine}
        needs = [memory_bound.predict(random_world(), **more).total for more in (given, given | {change: grown})]
        assert needs[0] <= needs[1]


def test_parts_make_up_the_whole_and_the_words():
    needs = memory_bound.predict(RING, **(USUAL | {"n_steps": 2_000_000, "n_modes": 4, "engine": "scan"}))
    assert needs.total == sum(getattr(needs, part) for part in memory_bound.PARTS)
    assert needs.to_text().startswith(f"up to {amount(needs.total)}: {amount(needs.messages)} of messages")
    assert "2,000,000 steps × 4 modes × 8 restarts" in needs.to_text()
    in_threads = replace(needs, sizes=replace(needs.sizes, engine="compiled", n_threads=2))
    assert "20,000 steps × 4 modes, in each of 2 threads" in in_threads.to_text()


def test_the_road_is_the_one_that_a_fit_takes(monkeypatch):
    assert memory_bound.predict(RING, **USUAL, switching="fixed").sizes.engine == "scan"
    assert memory_bound.predict(RING, **USUAL, switching=Fixed(np.eye(3))).sizes.engine == "scan"
    monkeypatch.setattr(numba_loop, "available", lambda: True)
    assert memory_bound.predict(RING, **USUAL).sizes.engine == "compiled"
    monkeypatch.setattr(numba_loop, "available", lambda: False)
    assert memory_bound.predict(RING, **USUAL).sizes.engine == "scan"


def test_decoding_one_long_session_is_in_the_bound():
    """All restarts are decoded at the end: 2 million steps in one session took 3.5 GB with 8 modes."""
    env, given = random_world(n_states=25), USUAL | {"n_steps": 2_000_000, "n_modes": 8, "reward": "state-action"}
    whole = memory_bound.predict(env, **(given | {"n_sessions": 1, "history": 1, "engine": "compiled"}))
    cut = memory_bound.predict(env, **(given | {"n_sessions": 1000, "history": 1, "engine": "compiled"}))
    assert whole.total > 3.5e9 > 2 * 1e9 > cut.total


# ------------------------------------------------------------------ what there is


def test_the_least_bound_counts(monkeypatch):
    monkeypatch.setattr(system, "memory_limits", lambda: {"free memory": 7, "container": 5})
    assert memory_bound.available() == 5


def test_on_a_gpu_it_is_the_gpus_memory(monkeypatch):
    device = SimpleNamespace(memory_stats=lambda: {"bytes_limit": 1000, "bytes_in_use": 300})
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "devices", lambda: [device])
    assert memory_bound.available() == 700
    needs = memory_bound.predict(RING, **USUAL)
    assert (needs.sizes.engine, needs.baseline) == ("associative", memory_bound.ON_GPU)
    device.memory_stats = lambda: None  # as some devices do
    assert memory_bound.available() > 700


# ------------------------------------------------------------------ the verdict


def test_what_has_room_passes():
    needs = memory_bound.predict(RING, **USUAL)
    memory_bound.check(needs, limit=int(needs.total / 0.9) + 1)
    with pytest.raises(ValueError, match="of which it may take 90 %"):
        memory_bound.check(needs, limit=int(needs.total / 0.9) - 1)


def test_what_python_holds_already_is_not_asked_for_twice(monkeypatch):
    needs = memory_bound.predict(RING, **USUAL)
    monkeypatch.setattr(memory_bound, "available", lambda: int(needs.total / 0.9) - needs.baseline + 1)
    monkeypatch.setattr(system, "resident", lambda: 10**12)
    memory_bound.check(needs)
    monkeypatch.setattr(system, "resident", lambda: 0)
    with pytest.raises(ValueError, match="The fit may need"):
        memory_bound.check(needs)


def test_advice_is_true():
    env = random_world()
    given = USUAL | {"history": 4, "n_modes": 8, "n_restarts": 32, "n_steps": 10**7, "engine": "scan"}
    limit = 3 * 10**9
    with pytest.raises(ValueError) as refusal:
        memory_bound.check(memory_bound.predict(env, **given | {"n_steps": 400_000}), limit=limit)
    told = str(refusal.value)
    ways = {name: int(value) for name, value in re.findall(r"(n_restarts|n_modes)=(\d+) \(", told)}
    assert "n_restarts" in ways
    for name, value in ways.items():
        memory_bound.check(memory_bound.predict(env, **given | {"n_steps": 400_000, name: value}), limit=limit)
    for name, value in ways.items():  # and the mildest of its kind
        larger = value * 2 if name == "n_restarts" else value + 1
        with pytest.raises(ValueError):
            memory_bound.check(memory_bound.predict(env, **given | {"n_steps": 400_000, name: larger}), limit=limit)


def test_a_shorter_history_is_advised_where_histories_are_the_trouble():
    needs = memory_bound.predict(random_world(), **(USUAL | {"history": 5}))
    with pytest.raises(ValueError, match=r"What would fit: .*history=4 \("):
        memory_bound.check(needs, limit=2_100_000_000)


def test_one_long_session_is_to_be_cut(monkeypatch):
    needs = memory_bound.predict(
        RING, **(USUAL | {"n_steps": 10**7, "n_sessions": 1, "n_modes": 20, "engine": "compiled"})
    )
    crowded = replace(needs.sizes, n_threads=64)
    needs = memory_bound.of_sizes(crowded)
    with pytest.raises(ValueError, match=r"sessions of at most [\d,]+ steps, cut by gaps="):
        memory_bound.check(needs, limit=12 * 10**9)


def test_numba_is_advised_where_it_would_do(monkeypatch):
    monkeypatch.setattr(numba_loop, "available", lambda: False)
    needs = memory_bound.predict(RING, **(USUAL | {"n_steps": 4_000_000}))
    with pytest.raises(ValueError, match=r"pip install 'swirl-irl\[fast\]', whose E-step keeps less \("):
        memory_bound.check(needs, limit=3 * 10**9)
    with pytest.raises(ValueError) as refusal:
        memory_bound.check(
            memory_bound.predict(RING, **(USUAL | {"n_steps": 4_000_000}), switching="fixed"), limit=3 * 10**9
        )
    assert "pip install" not in str(refusal.value)


def test_where_no_single_change_is_enough_it_says_so():
    needs = memory_bound.predict(random_world(), **(USUAL | {"history": 5}))
    with pytest.raises(ValueError, match=r"No single change is enough: .* a machine with [\d.,]+ GB to spare"):
        memory_bound.check(needs, limit=10**8)
