"""Shape annotations are checked at run time in every test: the hook must precede the first import of swirl.

Modules without shapes are left out (pyright reads their types), and the one that numba compiles: machine code has no
place for checks.

Most of the time goes into compiling, once for each shape: XLA is asked to take fewer pains (a quarter less time), and
what was compiled is kept for the next run, and for the other worker, in a folder of this machine's own (machine code).
Half a file that the other worker is still writing is compiled anew (pyproject.toml lets JAX's warning of it pass).

Every program takes a few maps of memory, of which Linux gives a process 65,530; without them XLA crashes. So a worker
that has many lets go of its programs.
"""

import gc
import os
import platform
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

FLAGS = "--xla_backend_optimization_level=0 --xla_gpu_deterministic_ops=true"  # the second as the command line has it
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}"

COMPILED = Path(__file__).resolve().parent.parent / ".pytest_cache" / "jax" / (platform.node() or "here")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(COMPILED))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

SOURCE = Path(__file__).resolve().parent.parent / "src"
# Interpreters that tests start find this tree too, from whatever folder, and not another that is installed.
os.environ["PYTHONPATH"] = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if path.stem not in ("__init__", "__main__", "numba_kernel") and "jaxtyping" in path.read_text(encoding="utf-8")
]
install_import_hook(MODULES, "beartype.beartype")

SECONDS = "swirl/seconds"  # what each file of tests took last time, in pytest's cache
TOOK = {}


def slow_example(item):
    examples = item.dtest.examples if isinstance(item, pytest.DoctestItem) else ()
    return any(example.source.rstrip().endswith("# takes some seconds") for example in examples)


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is marked slow
def pytest_collection_modifyitems(config, items):
    """Put long files first, so that none is left to one worker alone at the end.

    Each worker takes whole files in this order (the Makefile tells xdist to keep it). Long are those that took long
    last time; where that is not known, those with slow tests, and then those with much text.
    """
    for item in items:
        if slow_example(item):
            item.add_marker("slow")
    known = config.cache.get(SECONDS, {})
    slow = {item.path for item in items if item.get_closest_marker("slow")}

    def place(item):  # the same for all tests of a file, which stay in their order
        file = item.nodeid.partition("::")[0]
        return -known.get(file, 0.0), item.path not in slow, -item.path.stat().st_size, file

    items.sort(key=place)


def pytest_runtest_logreport(report):
    path = report.nodeid.partition("::")[0]
    TOOK[path] = TOOK.get(path, 0.0) + report.duration


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):  # the one that hears of all tests
        cache = session.config.cache
        cache.set(SECONDS, {**cache.get(SECONDS, {}), **{path: round(seconds, 2) for path, seconds in TOOK.items()}})


MAX_MAPS = 25_000
MAPS = Path("/proc/self/maps")


@pytest.fixture(autouse=True, scope="module")
def few_maps():
    yield
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MAX_MAPS:
        import jax  # after the hook

        jax.clear_caches()
        gc.collect()
