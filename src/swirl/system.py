"""What this machine has: cores, the bounds on memory, whether what a file claims to hold fits into it, and a folder for
compiled programs.

Importing it needs only the standard library, so that it works anywhere.  A small file may claim any size: it is asked
before it is read.
"""

import hashlib
import math
import os
import platform
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from swirl.text import amount


def cores() -> int:
    """Number of cores that this process may use.

    >>> cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads() -> ThreadPoolExecutor:
    """As many threads as there are cores, for calls that leave Python free; they must not wait for one another.

    >>> list(threads().map(abs, [1, -2]))
    [1, 2]
    """
    return _threads(os.getpid())


@cache
def _threads(_process: int) -> ThreadPoolExecutor:
    """Threads of this process (a forked child has none of its parent's, hence the argument)."""
    return ThreadPoolExecutor(cores())


def memory_limits(root: Path = Path("/")) -> dict[str, int]:
    """What each bound on this machine's memory leaves: free memory, a container (cgroup), the shell's ``ulimit -v``.

    Bounds that there are not, or that the system does not tell, are left out. `root` holds ``proc`` and ``sys``.

    >>> memory_limits(Path("/nowhere")).keys() <= {"free memory", "ulimit -v"}
    True
    """
    found = {"free memory": _free(root), "container": _cgroup(root), "ulimit -v": _address_space(root)}
    return {name: max(room, 0) for name, room in found.items() if room is not None}


def _free(root: Path) -> int | None:
    kilobytes = _entry(root / "proc/meminfo", "MemAvailable:")
    if kilobytes is not None:
        return 1024 * kilobytes
    try:  # other systems tell only the whole
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _cgroup(root: Path) -> int | None:
    """The least that a limit leaves, of this process's cgroup and those above it, of either version."""
    left = []
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if not controllers:
            base, names = root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            base = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # Inside a container the path may be the host's: as much of it as there is here counts.
        own = base / path.lstrip("/")
        for folder in (own, *own.parents):
            limit = next(iter(_lines(folder / names[0])), "max")
            if folder.is_relative_to(base) and limit.isdigit() and int(limit) < 2**62:  # version 1's "none"
                used = int(next(iter(_lines(folder / names[1])), "0"))
                # Pages of files count as used, but are given up when they are needed.
                left.append(int(limit) - used + (_entry(folder / "memory.stat", names[2]) or 0))
    return min(left, default=None)


def _address_space(root: Path) -> int | None:
    try:
        import resource  # not on every system
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit - _pages(root, 0)


def resident() -> int:
    """Bytes that this process holds in memory now; 0 where the system does not tell.

    >>> resident() >= 0
    True
    """
    return _pages(Path("/"), 1)


def _pages(root: Path, field: int) -> int:
    lines = _lines(root / "proc/self/statm")
    return int(lines[0].split()[field]) * os.sysconf("SC_PAGE_SIZE") if lines else 0


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _entry(path: Path, name: str) -> int | None:
    return next((int(line.split()[1]) for line in _lines(path) if line.split()[:1] == [name]), None)


SHARE = 0.25
"""Of the free memory that one thing may take: on the way it is copied, converted and sorted."""
TEXT = 64
"""Bytes that a string takes in memory at least, however it is stored."""


def max_read_bytes() -> int:
    """Bytes that one thing that is read may take: a share of what is free, in this machine or its container.

    >>> max_read_bytes() > 0
    True
    """
    return int(SHARE * min(memory_limits().values(), default=sys.maxsize))


def too_large(n_bytes: float | int) -> str | None:
    """Say by how much something is too large, or None where there is room for it.

    >>> too_large(1) is None, too_large(10**18).split(",")[0]
    (True, 'would take 1e+03 PB of memory')
    """
    most = max_read_bytes()
    if n_bytes <= most:
        return None
    return f"would take {amount(n_bytes)} of memory, and there is room for {amount(most)}"


def claim(shapes: Iterable[tuple[Any, Any]]) -> str | None:
    """Say what arrays claim to hold, by shape and dtype, where together that is too much; None where it is not.

    >>> import numpy as np
    >>> claim([((10**6, 2 * 10**6), np.dtype(float))])
    'claims 2,000,000,000,000 values, which would take 16 TB of memory, and there is room for ...: the file is damaged,
    or needs a larger machine'
    >>> claim([((3,), np.dtype(float)), (None, np.dtype(float))])
    """
    # By hand: numpy's own product of a shape may run over, and come out as nothing.
    counts = [(math.prod(int(n) for n in shape), dtype) for shape, dtype in shapes if shape is not None]
    told = too_large(sum(n * (TEXT if dtype.kind in "OSU" else dtype.itemsize) for n, dtype in counts))
    if told is None:
        return None
    values = sum(n for n, _ in counts)
    return f"claims {values:,} values, which {told}: the file is damaged, or needs a larger machine"


MIN_COMPILING = 0.1
"""Seconds of compiling from which on a program is kept: below, reading it back takes as long."""


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def compiled_folder(root: Path = Path("/")) -> Path:
    """Folder in the user's cache where compiled programs are kept, one for each kind of processor.

    They are machine code: a home folder that several machines share (a cluster) must not hand one's code to another.

    >>> compiled_folder().parent.name
    'compiled'
    """
    from platformdirs import user_cache_dir

    kinds = {line for line in _lines(root / "proc/cpuinfo") if line.startswith(("flags", "Features", "model name"))}
    seen = "\n".join([platform.machine(), platform.processor(), *sorted(kinds)])
    return Path(user_cache_dir("swirl")) / "compiled" / hashlib.sha256(seen.encode()).hexdigest()[:12]


IN_ORDER = "--xla_gpu_deterministic_ops"
"""With it a GPU adds up in a fixed order: the same fit has the same bits. (On an H200 it took 0.95 to 1.1 times as
long; see docs/performance.md.)"""


def adds_in_order() -> bool:
    """Whether a GPU was asked to add up in a fixed order.

    >>> isinstance(adds_in_order(), bool)
    True
    """
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if flag.startswith(IN_ORDER)]
    return bool(flags) and flags[-1].removeprefix(IN_ORDER).lower() in ("", "=true", "=1")


def compiled_settings() -> dict[str, str]:
    """JAX's own variables: compiled programs are kept, GPUs add up in order; what the user has set already stays.

    >>> sorted(compiled_settings())[0]
    'JAX_COMPILATION_CACHE_DIR'
    """
    flags = os.environ.get("XLA_FLAGS", "")
    wanted = {
        "JAX_COMPILATION_CACHE_DIR": str(compiled_folder()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": str(MIN_COMPILING),
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    kept = {name: os.environ.get(name, value) for name, value in wanted.items()}
    return kept | {"XLA_FLAGS": flags if IN_ORDER in flags else f"{flags} {IN_ORDER}=true".strip()}


def keep_compiled(folder: str | Path | None = None) -> Path:
    """Keep what JAX compiles in a folder, so that the next Python process does not compile it again.

    The command line does this by itself; importing the package never does.  It changes three of JAX's settings in this
    process (`jax_compilation_cache_dir` and two limits), also for your own JAX code.

    Parameters
    ----------
    folder
        Where to keep it; None: in the user's cache folder (`swirl doctor` shows it, ``swirl doctor --empty-cache``
        empties it).

    Returns
    -------
    The folder.

    Examples
    --------
    >>> import swirl
    >>> folder = swirl.keep_compiled()  # doctest: +SKIP
    """
    import jax
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    chosen = compiled_folder() if folder is None else Path(folder)
    chosen.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(chosen))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", MIN_COMPILING)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    reset_cache()  # JAX looks for its folder once, at the first program: that may have been before
    return chosen


def compiled_programs() -> tuple[int, int]:
    """Number of files in `compiled_folder`, and their bytes."""
    sizes = [path.stat().st_size for path in compiled_folder().glob("*") if path.is_file()]
    return len(sizes), sum(sizes)


def empty_compiled() -> tuple[int, int]:
    """Delete what `compiled_folder` holds, for every kind of processor; number of files and bytes that were freed."""
    files = [path for path in compiled_folder().parent.glob("*/*") if path.is_file()]
    freed = sum(path.stat().st_size for path in files)
    for path in files:
        path.unlink(missing_ok=True)
    return len(files), freed
