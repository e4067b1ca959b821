"""Sessions spread over several devices: each makes the E-step of its own, and the counts are added up (`psum`).

Devices may be those of one process, or of several (``jax.distributed.initialize()``, called in each before anything
else; each then runs the same program on the same data, and sends its own share of the sessions to its own devices).
Counts are small, so that a pass over the data costs one sum of them over the network.

Of a recording that is streamed (`streaming`) each process reads parts of its own, on the host or on its own GPU, and
the counts of all are added up in the order of the processes: each then has the same bits.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from swirl.compiling import device, pinned
from swirl.inference.estep.counts import Counts, Tables
from swirl.inference.estep.scan import PaddedChains, with_empty_chains

T = TypeVar("T")
SESSIONS = "sessions"
LAYOUT = (PartitionSpec(None, SESSIONS), PartitionSpec(None, SESSIONS), PartitionSpec(SESSIONS))
"""Of symbols, states and weights."""


def all_devices() -> Mesh | None:
    """The devices that JAX computes on here, of all processes; None where there is but one.

    >>> all_devices() is None or all_devices().size > 1
    True
    """
    devices = jax.devices(device().platform)
    return None if pinned() or len(devices) == 1 else Mesh(np.array(devices), (SESSIONS,))


def spread(group: PaddedChains, n_symbols: int, n_states: int, mesh: Mesh) -> PaddedChains:
    """Send an equal share of the chains to each device, filled up with empty ones."""
    n_chains = -(-group.weights.shape[0] // mesh.size) * mesh.size
    full = with_empty_chains(group, n_chains, n_symbols, n_states)
    columns = (np.asarray(x) for x in (full.symbols, full.states, full.weights))
    return PaddedChains(*(_sent(x, NamedSharding(mesh, axes)) for x, axes in zip(columns, LAYOUT, strict=True)))


def _sent(values: np.ndarray, sharding: NamedSharding) -> jax.Array:
    return jax.make_array_from_callback(values.shape, sharding, lambda part: values[part])


def summed_over_processes(tree: T) -> T:
    """Add up numbers that each process has its own of; all processes must ask at the same time.

    >>> summed_over_processes(np.array([1, 2]))
    array([1, 2])
    """
    if jax.process_count() == 1:
        return tree
    from jax.experimental.multihost_utils import process_allgather

    return jax.tree.map(lambda each: np.asarray(each).sum(axis=0), process_allgather(tree))


def expected_counts(
    one_restart: Callable[[Tables, PaddedChains], Counts], tables: Tables, chains: PaddedChains, mesh: Mesh
) -> Counts:
    """Counts of every restart, from an E-step of `one_restart` on each device."""

    def here(tables: Tables, *parts: Any) -> Counts:
        return jax.lax.psum(jax.vmap(lambda own: one_restart(own, PaddedChains(*parts)))(tables), SESSIONS)

    everywhere = PartitionSpec()
    call = jax.shard_map(here, mesh=mesh, in_specs=(everywhere, *LAYOUT), out_specs=everywhere, check_vma=False)
    return call(tables, chains.symbols, chains.states, chains.weights)
