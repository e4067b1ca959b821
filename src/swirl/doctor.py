"""The examination behind `swirl doctor`: what is installed and seen here, what works, and what to do about the rest.

A check passes or fails; one that passes may still carry advice.  Nothing heavy is imported until it is asked for.
"""

import codecs
import locale
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from swirl._version import __version__

NEEDED = (
    "jax",
    "jaxlib",
    "numpy",
    "scipy",
    "optax",
    "jaxtyping",
    "matplotlib",
    "xarray",
    "h5netcdf",
    "h5py",
    "pandas",
    "pooch",
    "pydantic",
    "typer",
    "rich",
)
EXTRAS = {
    "fast": ("numba",),
    "parquet": ("pyarrow",),
    "nwb": ("pynwb", "ndx-pose", "ndx-ethogram"),
    "report": ("plotly", "jinja2"),
}
OPTIONAL = {
    name: f"not installed (optional: pip install 'swirl-irl[{extra}]')"
    for extra, names in EXTRAS.items()
    for name in names
}
LITTLE = 1_000_000_000  # bytes of memory or disk below which there is a warning

# The self-test's world, a ring of three places (stay, or go on), and what a plain loop makes of it
# (tests/test_doctor.py has the loop).
RING = [[0, 1], [1, 2], [2, 0]]
REWARDS = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
SWITCHES = [[0.9, 0.1], [0.2, 0.8]]
FIRST_MODES = [0.6, 0.4]
STATES = [[0, 1, 2, 2, 0, 1, 1, 2, 0, 0], [2, 2, 2, 0, 1, 2, 0, 1, 1, 1]]
ACTIONS = [[1, 1, 0, 1, 1, 0, 1, 1, 0, 1], [0, 0, 1, 1, 1, 1, 1, 0, 0, 1]]
LOG_LIKELIHOOD = -15.735121628029275

# What a broken installation raises: about anything but an interrupt.
BROKEN = (ArithmeticError, AttributeError, ImportError, LookupError, OSError, RuntimeError, TypeError, ValueError)

Check = dict[str, Any]


def examine() -> dict[str, Any]:
    """Return what was found, ready for JSON: versions, devices, room, and checks with what to do about them.

    Examples
    --------
    >>> found = examine()
    >>> found["healthy"], found["checks"]["double precision"]["passed"]
    (True, True)
    """
    began = time.perf_counter()
    packages = {name: _version(name) for name in (*NEEDED, *OPTIONAL)}
    missing = [name for name in NEEDED if packages[name] is None]
    checks = {"packages": _packages(missing)}
    devices: list[str] = []
    memory: dict[str, int] = {}
    if not missing:
        devices, checks["devices"] = _devices()
        if checks["devices"]["passed"]:
            checks["double precision"] = _double_precision()
            checks["numba"] = _numba(packages["numba"])
            memory, checks["memory"] = _memory()
            checks["self-test"] = _self_test() if _sound(checks) else _not_tried()
    disk, checks["disk"] = _disk(with_cache=not missing)
    checks["encoding"] = _encoding()
    checks["data folder"] = _data_folder()
    return {
        "swirl": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "packages": packages,
        "extras": {
            extra: {"present": all(packages[name] for name in names), "install": f"pip install 'swirl-irl[{extra}]'"}
            for extra, names in EXTRAS.items()
        },
        "devices": devices,
        "cores": _cores(),
        "memory": memory,
        "disk": disk,
        "checks": checks,
        "seconds": round(time.perf_counter() - began, 2),
        "healthy": all(check["passed"] for check in checks.values()),
    }


def worded(findings: dict[str, Any]) -> str:
    """Return the findings of `examine` as lines for people.

    >>> found = {"swirl": "1.0", "python": "3.11", "platform": "Linux", "packages": {}, "devices": ["cpu"]}
    >>> found |= {"cores": 2, "checks": {"devices": {"passed": True, "detail": "1 device", "do": "add one"}}}
    >>> print(worded(found | {"healthy": True}))
    swirl             1.0
    python            3.11  (Linux)
    device            cpu
    cores             2
    <BLANKLINE>
    devices           advice  1 device
                              → add one
    <BLANKLINE>
    1 piece of advice: see the arrow above.
    All is well.
    """
    lines = [("swirl", findings["swirl"]), ("python", f"{findings['python']}  ({findings['platform']})")]
    for name, found in findings["packages"].items():
        lines.append((name, found or OPTIONAL.get(name, "MISSING")))
    lines += [("device", device) for device in findings["devices"]]
    lines.append(("cores", findings["cores"]))
    text = [f"{name:<18}{value}" for name, value in lines]
    text.append("")
    advice = 0
    for name, check in findings["checks"].items():
        state = "FAILED" if not check["passed"] else "advice" if check["do"] else "ok"
        advice += state == "advice"
        text.append(f"{name:<18}{state:<8}{check['detail']}")
        if check["do"]:
            text.append(f"{'':<26}→ {check['do']}")
    text.append("")
    if advice:
        what = "1 piece of advice: see the arrow" if advice == 1 else f"{advice} pieces of advice: see the arrows"
        text.append(f"{what} above.")
    text.append("All is well." if findings["healthy"] else "Something is wrong: see FAILED above.")
    return "\n".join(text)


# ------------------------------------------------------------------ checks


def _ok(detail: str, do: str = "") -> Check:
    """A check that passed; with `do`, with advice."""
    return {"passed": True, "detail": detail, "do": do}


def _failed(detail: str, do: str) -> Check:
    return {"passed": False, "detail": detail, "do": do}


REPORT = "please report it with this output"
REINSTALL = "pip install --force-reinstall jax jaxlib numpy scipy"


def _sound(checks: dict[str, Check]) -> bool:
    return all(check["passed"] for check in checks.values())


def _not_tried() -> Check:
    return _ok("not tried: what failed above comes first")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _packages(missing: Iterable[str]) -> Check:
    names = ", ".join(missing)
    if names:
        return _failed(f"missing: {names}", f"{sys.executable} -m pip install {names.replace(',', '')}")
    return _ok("all that are needed are installed")


def _devices() -> tuple[list[str], Check]:
    try:
        import jax

        devices = [f"{device.platform}:{device.id}  {device.device_kind}" for device in jax.devices()]
        backend = jax.default_backend()
    except (ImportError, AttributeError, RuntimeError) as fault:  # parts that do not match, or a GPU without its driver
        return [], _failed(
            f"JAX does not start: {fault}", f"JAX_PLATFORMS=cpu swirl doctor, to see whether the CPU works; {REINSTALL}"
        )
    detail = f"{len(devices)} seen by JAX, which computes on {backend}"
    driver = _nvidia_driver()
    if backend != "cpu" or driver is None:
        return devices, _ok(detail)
    detail += f", though there is an NVIDIA GPU (driver {driver})"
    chosen = os.environ.get("JAX_PLATFORMS")
    if chosen:
        return devices, _ok(detail, f"JAX_PLATFORMS={chosen} asks for that: unset it to use the GPU")
    # CUDA 13 wants a driver of 580 or later, CUDA 12 one of 525.
    extra = "cuda13" if driver.split(".")[0].isdigit() and int(driver.split(".")[0]) >= 580 else "cuda12"
    return devices, _ok(detail, f"to use it: pip install 'swirl-irl[{extra}]'")


def _nvidia_driver(root: Path = Path("/")) -> str | None:
    """Version of the NVIDIA driver; None where no such GPU is to be seen."""
    folder = root / "proc/driver/nvidia"
    if not folder.exists():
        return None
    try:
        words = (folder / "version").read_text().splitlines()[0].split()
    except (OSError, IndexError):
        return "unknown"
    return next((word for word in words if word[0].isdigit() and "." in word), "unknown")


def _double_precision() -> Check:
    """Compare a log-sum-exp with numpy's in float64, and see that the user's JAX is left as it was."""
    import jax
    import numpy as np

    from swirl import precision

    numbers = np.linspace(-30.0, 30.0, 1_001)
    expected = float(np.log(np.exp(numbers).sum()))
    before = jax.numpy.zeros(1).dtype
    try:
        with precision.float64():
            got = np.asarray(jax.jit(jax.nn.logsumexp)(jax.numpy.asarray(numbers)))
    except RuntimeError as fault:
        return _failed(str(fault), f"JAX_PLATFORMS=cpu swirl doctor, to see whether the CPU can; {REINSTALL}")
    after = jax.numpy.zeros(1).dtype
    error = abs(float(got) - expected) / abs(expected)
    faults = []
    if got.dtype != np.float64:
        faults.append(f"computed in {got.dtype}, expected float64")
    if not error < 1e-12:
        faults.append(f"log-sum-exp is off by {error:.1e} relative, expected less than 1e-12")
    if after != before:
        faults.append(f"the scope leaked: JAX made {before} arrays before it and makes {after} after it")
    if faults:
        return _failed("; ".join(faults), f"unset JAX_ENABLE_X64 if it is set; upgrade: pip install -U jax; {REPORT}")
    return _ok(f"relative error {error:.0e}; no trace left behind")


def _numba(found: str | None) -> Check:
    """Whether the compiled E-step can be used, and will be."""
    import jax

    if found is None or find_spec("numba") is None:
        return _ok("not installed: E-steps run 5× slower", "pip install 'swirl-irl[fast]'")
    try:
        import_module("numba")
    except (ImportError, SystemError, RuntimeError) as fault:  # it refuses a numpy that is newer than itself
        do = "pip install -U 'swirl-irl[fast]', or pip uninstall numba (E-steps then run 5× slower)"
        return _failed(f"installed, but it cannot be imported: {fault}", do)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return _ok("NUMBA_DISABLE_JIT is set: E-steps run 100× slower", "unset NUMBA_DISABLE_JIT")
    if jax.default_backend() != "cpu":
        return _ok(f"{found}, not used: E-steps run on the {jax.default_backend()}")
    return _ok(f"{found}, used for E-steps")


def _cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> tuple[dict[str, int], Check]:
    from swirl.memory import amount, available, rooms

    bounds = rooms()
    left = available()
    found = {"available": left, **bounds}
    by = min(bounds, key=lambda name: bounds[name], default="")
    detail = f"{amount(left)} available" + (f" (bounded by the {by})" if by in ("container", "ulimit -v") else "")
    if left >= LITTLE:
        return found, _ok(detail)
    remedy = {
        "container": "give the container or job more memory",
        "ulimit -v": "raise it: ulimit -v unlimited",
    }.get(by, "close other programs")
    return found, _ok(f"{detail}: a small fit takes 0.6 GB", f"{remedy}; or fit with n_restarts=1")


def _disk(with_cache: bool) -> tuple[dict[str, dict[str, Any]], Check]:
    """Room, and leave to write, in the folders for temporary files and for downloads."""
    try:
        folders = {"temporary files": Path(tempfile.gettempdir())}
    except FileNotFoundError as fault:
        return {}, _failed(str(fault), "set TMPDIR to a folder that you can write to")
    if with_cache:
        from swirl.datasets.files import cache_folder

        folders["downloads"] = cache_folder()
    found, details, remedies = {}, [], []
    for name, folder in folders.items():
        place = next(path for path in (folder, *folder.parents) if path.exists())  # where it would be made
        free, writable = shutil.disk_usage(place).free, place.is_dir() and os.access(place, os.W_OK | os.X_OK)
        found[name] = {"folder": str(folder), "free": free, "writable": writable}
        details.append(f"{name}: {free / 1e9:,.1f} GB free in {folder}" + ("" if writable else ", not writable"))
        variable = "TMPDIR" if name == "temporary files" else "XDG_CACHE_HOME"
        if not writable:
            remedies.append(f"make {place} a folder that you can write to, or set {variable} to one")
        elif free < LITTLE:
            remedies.append(f"make room in {folder}, or set {variable} to a folder with more")
    return found, _ok("; ".join(details), "; ".join(remedies))


def _encoding() -> Check:
    """Results, names and messages hold letters that only UTF-8 can write."""
    kinds = {
        "terminal": getattr(sys.stdout, "encoding", None) or "none",
        "files": locale.getpreferredencoding(False),
    }
    detail = ", ".join(f"{what}: {name}" for what, name in kinds.items())
    if all(_is_utf8(name) for name in kinds.values()):
        return _ok(detail)
    return _ok(detail, "set PYTHONUTF8=1, or LANG=C.UTF-8: other encodings lose letters such as γ and é")


def _is_utf8(name: str) -> bool:
    try:
        return codecs.lookup(name).name == "utf-8"
    except LookupError:
        return False


def _data_folder() -> Check:
    named = os.environ.get("SWIRL_DATA_DIR")
    if not named:
        return _ok("SWIRL_DATA_DIR is not set: recordings are looked for among the downloads")
    if Path(named).is_dir():
        return _ok(named)
    what = "is a file" if Path(named).exists() else "does not exist"
    return _ok(f"SWIRL_DATA_DIR={named} {what}", "make it a folder with the recordings, correct it, or unset it")


def _self_test() -> Check:
    """A likelihood that is known by hand, and a fit whose every iteration must gain."""
    began = time.perf_counter()
    try:
        got, trace = _likelihood(), _objectives()
    except (
        ArithmeticError,
        AttributeError,
        ImportError,
        LookupError,
        OSError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as e:
        return _failed(f"{type(e).__name__}: {e}", REPORT)
    seconds = time.perf_counter() - began
    faults = []
    if not abs(got - LOG_LIKELIHOOD) < 1e-6:
        faults.append(f"a known model's log-likelihood is {got:.9f}, expected {LOG_LIKELIHOOD:.9f}")
    if not all(after > before for before, after in pairwise(trace)):
        faults.append(f"a fit's objective went {' → '.join(f'{value:.6g}' for value in trace)}, expected to rise")
    if faults:
        return _failed("; ".join(faults), REPORT)
    gain = f"{len(trace) - 1} iterations of a fit rose from {trace[0]:.2f} to {trace[-1]:.2f}"
    return _ok(f"a likelihood known by hand to 6 digits; {gain}; {seconds:.1f} s")


def _likelihood() -> float:
    from swirl.mdp import MDP
    from swirl.model import SWIRL
    from swirl.trajectories import Trajectories

    model = SWIRL.from_parameters(
        MDP.deterministic(RING), history=1, rewards=REWARDS, mode_transitions=SWITCHES, initial_modes=FIRST_MODES
    )
    return float(sum(model.log_likelihood(Trajectories(STATES, ACTIONS, n_states=3, n_actions=2))))


def _objectives() -> list[float]:
    from swirl.mdp import MDP
    from swirl.model import SWIRL
    from swirl.trajectories import Trajectories

    # The form whose M-step is in closed form: it compiles in a second, others take several.
    model = SWIRL(
        MDP.deterministic(RING),
        n_modes=2,
        history=1,
        reward="state-action",
        switching="independent",
        n_restarts=1,
        max_iter=3,
    )
    model.fit(Trajectories(STATES, ACTIONS, n_states=3, n_actions=2), progress=False)
    return [float(value) for value in model.objective_trace_]
