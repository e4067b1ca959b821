"""Sessions over several devices and processes give what one device gives; each case in processes of its own."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow  # new processes that compile

PROGRAM = """
import json, os, sys
n_devices, n_processes, process, port, only_streamed = map(int, sys.argv[1:])
os.environ |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"--xla_force_host_platform_device_count={n_devices}"}
import jax
if n_processes > 1:
    jax.distributed.initialize(f"localhost:{port}", n_processes, process)
import numpy as np
from small_worlds import recording, world
from swirl import SWIRL, StreamedTrajectories
from swirl.inference.engines import choose
from swirl.inference.estep.counts import Chains, Tables
from swirl.precision import float64
from swirl.priors import Gaussian

found = {"devices": jax.device_count(), "processes": jax.process_count()}
model = SWIRL(world(), history=1, n_restarts=2, max_iter=12, reward_prior=Gaussian(0.5, of="value"))
if not only_streamed:
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 90, size=13)          # ragged, and no multiple of the number of devices
    total, n_symbols, n_states = int(lengths.sum()), 11, 4
    symbols = rng.integers(n_symbols + 1, size=total)  # the last one: a missing action
    chains = Chains(
        symbols.astype(np.int32), rng.integers(n_states, size=total).astype(np.int32),
        np.concatenate([[0], np.cumsum(lengths)]), n_symbols, n_states, times=rng.integers(0, 4, size=13),
    )
    tables = Tables(
        np.log(rng.dirichlet(np.ones(3), size=2)), np.log(rng.dirichlet(np.ones(3), size=(2, n_states, 3))),
        np.log(rng.uniform(0.05, 1, size=(2, n_symbols, 3))),
    )
    with float64():
        for engine in ("scan", "associative"):
            counts = choose(engine, chains, tables).counts(tables)
            found[engine] = [np.asarray(leaf).ravel().tolist() for leaf in jax.tree.leaves(counts)]
    fit = model.fit(recording(), engine="scan", compare_restarts=False)
    found["fit"] = [restart.objective for restart in fit.restarts_]
data = recording(n_sessions=7)
parts = StreamedTrajectories(lambda: (data[i : i + 3] for i in range(0, 7, 3)))  # three parts: no multiple of two
for engine in ("auto",) if only_streamed else ("auto", "scan"):
    streamed = model.fit(parts, engine=engine, compare_restarts=False)
    found[f"streamed {engine}"] = [restart.objective for restart in streamed.restarts_]
    found[f"steps {engine}"] = streamed.n_observed_
print(json.dumps(found))
"""


def free_port():
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return found.getsockname()[1]


def outcomes(n_devices, n_processes=1, only_streamed=False):
    """What each process says."""
    port, here = free_port(), Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(here)}
    command = [sys.executable, "-c", PROGRAM, str(n_devices), str(n_processes)]
    running = [
        subprocess.Popen(
            [*command, str(i), str(port), str(int(only_streamed))],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for i in range(n_processes)
    ]
    said = [process.communicate(timeout=600) for process in running]
    assert [process.returncode for process in running] == [0] * n_processes, said
    return [json.loads(out.decode().splitlines()[-1]) for out, _ in said]


@pytest.fixture(scope="module")
def one_device():
    (found,) = outcomes(1)
    assert (found["devices"], found["processes"]) == (1, 1)
    return found


@pytest.mark.parametrize(("n_devices", "n_processes"), [(8, 1), (2, 2)], ids=["eight devices", "two processes"])
def test_several_devices_give_what_one_gives(n_devices, n_processes, one_device):
    for found in outcomes(n_devices, n_processes):
        assert (found["devices"], found["processes"]) == (n_devices * n_processes, n_processes)
        for engine in ("scan", "associative"):
            for got, expected in zip(found[engine], one_device["scan"], strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found["fit"], one_device["fit"], rtol=1e-9)
        for engine in ("auto", "scan"):
            streamed = f"streamed {engine}"
            np.testing.assert_allclose(found[streamed], one_device[streamed], rtol=1e-9)
            assert found[f"steps {engine}"] == one_device[f"steps {engine}"]


def test_processes_that_stream_come_to_the_same_bits(one_device):
    """Each reads parts of its own; one of four has none, as there are three."""
    first, *others = outcomes(1, 4, only_streamed=True)
    np.testing.assert_allclose(first["streamed auto"], one_device["streamed auto"], rtol=1e-9)
    assert all(found["streamed auto"] == first["streamed auto"] for found in others)
