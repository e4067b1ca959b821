"""Shape annotations are checked at run time in every test: the hook must precede the first import of swirl.

Only the module that numba compiles is left out: machine code has no place for checks.

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

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0"

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
    if path.stem not in ("__init__", "__main__", "numba_kernel")
]
install_import_hook(MODULES, "beartype.beartype")

# Each worker takes whole files, in this order (the Makefile tells xdist to keep it): with the long ones first none is
# left to one worker alone at the end.
LONG = ("reproduce/labyrinth", "reproduce/gridworld", "inference/em", "workflows/demo", "estimators/swirl")
LONG += ("reproduce/spontaneous", "studies", "inference/estep", "rewards/parametric", "estimators/iq_learn")
LONG += ("estimators/drifting_reward", "rewards/soft_q", "estimators/equivalences", "estimators/iq_network")
LONG += ("report/browser", "inference/initialise", "estimators/autoregression", "estimators/arhmm")
LONG += ("estimators/gaussian_arhmm", "rewards/habit_goals", "readme", "io/broken_inputs")

# Examples in docstrings that take seconds of a processor
SLOW_EXAMPLES = ("estimators.em_estimator.EMEstimator.compare_restarts", "analysis.bootstrap.bootstrap")
SLOW_EXAMPLES += ("optimise.lbfgs", "analysis.verdicts.verdict", "estimators.swirl.SWIRL")
TESTS = Path(__file__).parent


def subject(path):
    """What a file of tests is about: inference/em."""
    return str(path.relative_to(TESTS).with_suffix("")).replace("test_", "") if path.is_relative_to(TESTS) else ""


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is marked slow
def pytest_collection_modifyitems(items):
    for item in items:
        if item.name.removeprefix("swirl.") in SLOW_EXAMPLES:
            item.add_marker("slow")
    rank = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(subject(item.path), len(rank)))  # stable: within a file nothing moves


MAX_MAPS = 25_000
MAPS = Path("/proc/self/maps")


@pytest.fixture(autouse=True, scope="module")
def few_maps():
    yield
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MAX_MAPS:
        import jax  # after the hook

        jax.clear_caches()
        gc.collect()
