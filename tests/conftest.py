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
    if path.stem not in ("__init__", "__main__", "kernel")
]
install_import_hook(MODULES, "beartype.beartype")

# Each worker takes whole files, in this order (the Makefile tells xdist to keep it): with the long ones first none is
# left to one worker alone at the end.
LONG = ("reproduce_labyrinth", "reproduce_gridworld", "em", "demo", "model", "reproduce_spontaneous", "studies")
LONG += ("estep", "planned", "iq_learn", "drifting", "soft_q", "equivalences", "iq_network", "report_browser")
LONG += ("seeding", "autoregression", "arhmm", "gaussian_arhmm", "shared", "readme", "broken_inputs")

# Rival models, and what is shown of several models at once: every file compiles programs of its own
SLOW_FILES = ("iq_learn", "iq_network", "inverse_q", "drifting", "planned", "one_mode_per_session", "equivalences")
SLOW_FILES += ("arhmm", "gaussian_arhmm", "autoregression", "maxent")
# Examples in docstrings that take seconds of a processor
SLOW_EXAMPLES = ("fitting.EMEstimator.compare_restarts", "uncertainty.bootstrap", "optimise.lbfgs", "verdicts.verdict")
SLOW_EXAMPLES += ("model.SWIRL",)


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is marked slow
def pytest_collection_modifyitems(items):
    for item in items:
        if item.name.removeprefix("swirl.") in SLOW_EXAMPLES or item.path.stem.removeprefix("test_") in SLOW_FILES:
            item.add_marker("slow")
    rank = {f"test_{name}": place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(rank)))  # stable: within a file nothing moves


MOST_MAPS = 25_000
MAPS = Path("/proc/self/maps")


@pytest.fixture(autouse=True, scope="module")
def few_maps():
    yield
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        import jax  # after the hook

        jax.clear_caches()
        gc.collect()
