"""Compiling for as long as it pays: XLA's settings, and the device, by the size of the problem.

With its defaults XLA compiles a first fit to 600 steps for eight seconds, which then takes one.  On a CPU two settings
make that 4.4 s: the older emitter of fused loops (as fast; a seventh slower on the labyrinth under a Cauchy prior), and
for programs that hardly loop no optimisation at all.  docs/performance.md has the figures.

Compiling for a GPU takes longer still (18 s for that first fit), so what is small runs on the CPU beside it.

A numpy road was measured too: the same traces carried out by numpy took 8 to 12 s for what XLA does in one.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache, wraps
from threading import Thread
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np
from jax.core import Tracer

from swirl.system import threads

P = ParamSpec("P")
T = TypeVar("T")
_default: Any = jax.default_device  # a scope, and what it is set to
PLAIN = {"xla_cpu_use_fusion_emitters": False, "xla_llvm_disable_expensive_passes": True}
HASTY = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 0}
# Loops that stay on a GPU: left to itself XLA asks the host after each turn whether to go on, which takes as long as a
# step of conjugate gradients. Measured on an H200, labyrinth S-2: eight starts 2.0 → 1.7 s, a race of 32 2.7 → 1.7 s.
ON_GPU = {
    "xla_gpu_enable_command_buffer": "FUSION,CUBLAS,CUBLASLT,CUDNN,CUSTOM_CALL,DYNAMIC_SLICE_FUSION,WHILE,CONDITIONAL",
    "xla_gpu_graph_min_graph_size": 1,
}
# Numbers among all arguments up to which a program is compiled so, of programs that loop for long and of others.
LOOPING = ((30_000, PLAIN),)
PASSING = ((50_000, HASTY), (1_000_000, PLAIN))
ROWS = 8
ON_HOST = 1_000_000  # numbers in the messages of all restarts up to which a fit is not worth a GPU's compiler


def device() -> Any:
    """The device that JAX computes on here."""
    chosen = _default.value
    return chosen if isinstance(chosen, jax.Device) else jax.devices(chosen)[0]


def pinned() -> bool:
    """Whether one device was chosen, by `on_host_if_small` or by the user.

    >>> with on_host_if_small(1), jax.default_device(jax.devices()[0]):
    ...     pinned()
    True
    """
    return _default.value is not None


def on_cpu() -> bool:
    """Whether JAX computes on the CPU here.

    >>> on_cpu() == (jax.default_backend() == "cpu")  # unless a small fit is under way on a machine with a GPU
    True
    """
    return device().platform == "cpu"


def on_host_if_small(size: int) -> AbstractContextManager[Any]:
    """A scope in which JAX computes on the CPU, where a fit has no more than `ON_HOST` numbers in its messages.

    >>> with on_host_if_small(1000):
    ...     on_cpu()
    True
    """
    if size > ON_HOST or pinned() or on_cpu():
        return nullcontext()
    try:
        return jax.default_device(jax.devices("cpu")[0])
    except RuntimeError:  # JAX was told to use nothing but the GPU
        return nullcontext()


def in_background(call: Callable[[], Any]) -> Callable[[], None]:
    """Start what compiles while something else compiles or is imported: compilers leave Python free meanwhile.

    What is returned waits for it.  What went wrong is not told: it will go wrong again where it is needed.

    >>> wait = in_background(lambda: 1 / 0)
    >>> wait()
    """
    chosen = _default.value  # a thread has scopes of its own

    def run() -> None:
        with suppress(Exception), jax.default_device(chosen):
            call()

    thread = Thread(target=run)
    thread.start()
    return thread.join


def side_by_side(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Make calls at the same time, one on each core, on the device of this thread: compiled programs leave Python free.

    >>> side_by_side([lambda: 1, lambda: 2])
    [1, 2]
    """
    chosen = _default.value  # a thread has scopes of its own

    def run(call: Callable[[], T]) -> T:
        with jax.default_device(chosen):
            return call()

    return [call() for call in calls] if len(calls) < 2 else list(threads().map(run, calls))


def jit(
    function: Callable[P, T] | None = None,
    *,
    loops: bool = True,
    each: Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Any:
    """`jax.jit`, in haste where the arguments are small; inside another traced function it is as if it were not there.

    How depends on nothing but sizes: the same problem is always computed by the same program.

    Parameters
    ----------
    loops
        Whether the program loops for long; one that does not need not be optimised.
    each
        Which arguments have a row for each restart: they count as if there were `ROWS` of them, so that how many there
        are changes nothing.
    static_argnames
        As in `jax.jit`.

    Examples
    --------
    >>> double = jit(lambda x: 2 * x, loops=False)
    >>> float(double(np.ones(())))
    2.0
    """
    if function is None:
        return lambda function: jit(function, loops=loops, each=each, static_argnames=static_argnames)
    tiers = LOOPING if loops else PASSING

    @cache
    def compiled(tier: int, on_cpu: bool) -> Callable[P, T]:
        options: Any = None
        if on_cpu and tier < len(tiers):
            options = tiers[tier][1]
        elif not on_cpu and loops and device().platform in ("gpu", "cuda"):
            options = ON_GPU
        known = options is not None and _known(tuple(options.items()))
        return jax.jit(function, compiler_options=options if known else None, static_argnames=static_argnames)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        leaves = [jax.tree.leaves(arg) for arg in (*args, kwargs)]
        if any(isinstance(leaf, Tracer) for own in leaves for leaf in own):
            return function(*args, **kwargs)
        sizes = [sum(np.size(leaf) // (len(leaf) if i in each else 1) for leaf in own) for i, own in enumerate(leaves)]
        size = sum(ROWS * own if i in each else own for i, own in enumerate(sizes))
        return compiled(sum(size > most for most, _ in tiers), on_cpu())(*args, **kwargs)

    return call


@cache
def _known(options: tuple[tuple[str, Any], ...]) -> bool:
    """Whether this XLA has these settings: they come and go."""
    try:
        jax.jit(lambda x: x, compiler_options=dict(options)).lower(np.zeros(1, np.float32)).compile()
    except Exception:
        return False
    return True
