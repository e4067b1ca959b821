"""The examination behind `swirl doctor`: what is installed and seen here, what works, and what to do about the rest.

A check passes or fails; one that passes may still carry advice.  Nothing heavy is imported until it is asked for.  The
self-test is one iteration of EM in a world so small that plain loops can follow it: planning, an E-step, an M-step, an
E-step, by the solver and the engine that fits take on this machine.
"""

import codecs
import locale
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from swirl import system
from swirl._version import __version__
from swirl.system import cores
from swirl.text import amount

Check = dict[str, Any]
REPORT = "please report it with this output"
REINSTALL = "pip install --force-reinstall jax jaxlib numpy scipy"
LITTLE = 1_000_000_000  # bytes of memory or disk below which there is a warning


def ok(detail: str, do: str = "") -> Check:
    """A check that passed; with `do`, with advice.

    >>> ok("1 device")
    {'passed': True, 'detail': '1 device', 'do': ''}
    """
    return {"passed": True, "detail": detail, "do": do}


def failed(detail: str, do: str) -> Check:
    """A check that failed, and what to do.

    >>> failed("missing: scipy", "pip install scipy")["passed"]
    False
    """
    return {"passed": False, "detail": detail, "do": do}


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
    "platformdirs",
    "pooch",
    "pydantic",
    "typer",
    "rich",
)
OURS = "swirl-irl"  # on the package index; another project there installs a module swirl
EXTRAS = {
    "fast": ("numba",),
    "parquet": ("pyarrow",),
    "nwb": ("pynwb", "ndx-pose", "ndx-ethogram"),
    "report": ("plotly", "jinja2"),
    "excel": ("openpyxl",),
    "cluster": ("distributed",),
    "pynapple": ("pynapple",),
}
OPTIONAL = {
    name: f"not installed (optional: pip install 'swirl-irl[{extra}]')"
    for extra, names in EXTRAS.items()
    for name in names
}


def version_of(package: str) -> str | None:
    """Version of an installed package, None where it is not.

    >>> version_of("no-such-package") is None
    True
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def check_packages(missing: Iterable[str]) -> Check:
    """Whether all that is needed is there.

    >>> check_packages(["scipy"])["detail"]
    'missing: scipy'
    """
    names = ", ".join(missing)
    if names:
        return failed(f"missing: {names}", f"{sys.executable} -m pip install {names.replace(',', '')}")
    return ok("all that are needed are installed")


def check_name(homes: Mapping[str, Sequence[str]]) -> Check:
    """Whether another package has written its own module `swirl` over ours, or beside it.

    >>> check_name({"swirl": ["swirl-irl", "swirl"]})["passed"], check_name({"swirl": ["swirl-irl"]})["passed"]
    (False, True)
    """
    others = sorted(set(homes.get("swirl", ())) - {OURS})
    if not others:
        return ok("no other package has a module of the name swirl")
    advice = f"{sys.executable} -m pip uninstall {' '.join(others)}; then pip install --force-reinstall {OURS}"
    return failed(f"another package has a module swirl too: {', '.join(others)}; files of the two are mixed", advice)


def check_devices() -> tuple[list[str], Check]:
    """What JAX computes on, and whether it passes a GPU by."""
    try:
        import jax

        devices = [f"{device.platform}:{device.id}  {device.device_kind}" for device in jax.devices()]
        backend = jax.default_backend()
    except (ImportError, AttributeError, RuntimeError) as fault:  # parts that do not match, or a GPU without its driver
        return [], failed(
            f"JAX does not start: {fault}", f"JAX_PLATFORMS=cpu swirl doctor, to see whether the CPU works; {REINSTALL}"
        )
    detail = f"{len(devices)} seen by JAX, which computes on {backend}"
    driver = nvidia_driver()
    if backend != "cpu" or driver is None:
        return devices, ok(detail)
    detail += f", though there is an NVIDIA GPU (driver {driver})"
    chosen = os.environ.get("JAX_PLATFORMS")
    if chosen:
        return devices, ok(detail, f"JAX_PLATFORMS={chosen} asks for that: unset it to use the GPU")
    # CUDA 13 wants a driver of 580 or later, CUDA 12 one of 525.
    extra = "cuda13" if driver.split(".")[0].isdigit() and int(driver.split(".")[0]) >= 580 else "cuda12"
    return devices, ok(detail, f"to use it: pip install 'swirl-irl[{extra}]'")


def nvidia_driver(root: Path = Path("/")) -> str | None:
    """Version of the NVIDIA driver; None where no such GPU is to be seen."""
    folder = root / "proc/driver/nvidia"
    if not folder.exists():
        return None
    try:
        words = (folder / "version").read_text().splitlines()[0].split()
    except (OSError, IndexError):
        return "unknown"
    return next((word for word in words if word[0].isdigit() and "." in word), "unknown")


def check_double_precision() -> Check:
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
        return failed(str(fault), f"JAX_PLATFORMS=cpu swirl doctor, to see whether the CPU can; {REINSTALL}")
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
        return failed("; ".join(faults), f"unset JAX_ENABLE_X64 if it is set; upgrade: pip install -U jax; {REPORT}")
    return ok(f"relative error {error:.0e}; no trace left behind")


def check_numba(found: str | None) -> Check:
    """Whether the compiled E-step can be used, and will be."""
    import jax

    if found is None or find_spec("numba") is None:
        return ok("not installed: E-steps run 5× slower", "pip install 'swirl-irl[fast]'")
    try:
        import_module("numba")
    except (ImportError, SystemError, RuntimeError) as fault:  # it refuses a numpy that is newer than itself
        do = "pip install -U 'swirl-irl[fast]', or pip uninstall numba (E-steps then run 5× slower)"
        return failed(f"installed, but it cannot be imported: {fault}", do)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return ok("NUMBA_DISABLE_JIT is set: E-steps run 100× slower", "unset NUMBA_DISABLE_JIT")
    if jax.default_backend() != "cpu":
        return ok(f"{found}, not used: E-steps run on the {jax.default_backend()}")
    return ok(f"{found}, used for E-steps")


def check_memory() -> tuple[dict[str, int], Check]:
    """What is left for a fit, and which bound it is that leaves no more."""
    from swirl.text import amount
    from swirl.workflows.memory_bound import available

    bounds = system.memory_limits()
    left = available(bounds)
    keys = {"free memory": "free", "ulimit -v": "ulimit"}
    found = {"available": left, **{keys.get(name, name): room for name, room in bounds.items()}}
    by = min(bounds, key=lambda name: bounds[name], default="")
    detail = f"{amount(left)} available" + (f" (bounded by the {by})" if by in ("container", "ulimit -v") else "")
    if left >= LITTLE:
        return found, ok(detail)
    remedy = {
        "container": "give the container or job more memory",
        "ulimit -v": "raise it: ulimit -v unlimited",
    }.get(by, "close other programs")
    return found, ok(f"{detail}: a small fit takes 0.6 GB", f"{remedy}; or fit with n_restarts=1")


def check_disk(with_cache: bool) -> tuple[dict[str, dict[str, Any]], Check]:
    """Room, and leave to write, in the folders for temporary files and for downloads."""
    try:
        folders = {"temporary files": Path(tempfile.gettempdir())}
    except FileNotFoundError as fault:
        return {}, failed(str(fault), "set TMPDIR to a folder that you can write to")
    if with_cache:
        from swirl.datasets.download import cache_folder

        folders["downloads"] = cache_folder()
    found, details, remedies = {}, [], []
    for name, folder in folders.items():
        place = next(path for path in (folder, *folder.parents) if path.exists())  # where it would be made
        free, writable = shutil.disk_usage(place).free, place.is_dir() and os.access(place, os.W_OK | os.X_OK)
        found[name.replace(" ", "_")] = {"folder": str(folder), "free": free, "writable": writable}
        details.append(f"{name}: {free / 1e9:,.1f} GB free in {folder}" + ("" if writable else ", not writable"))
        variable = "TMPDIR" if name == "temporary files" else "XDG_CACHE_HOME"
        if not writable:
            remedies.append(f"make {place} a folder that you can write to, or set {variable} to one")
        elif free < LITTLE:
            remedies.append(f"make room in {folder}, or set {variable} to a folder with more")
    return found, ok("; ".join(details), "; ".join(remedies))


def check_compiled() -> tuple[dict[str, Any], Check]:
    """Where programs that JAX compiled are kept for later runs, and how much they take."""
    settings = system.compiled_settings()
    folder, (n_files, n_bytes) = settings["JAX_COMPILATION_CACHE_DIR"], system.compiled_programs()
    found = {"folder": folder, "files": n_files, "bytes": n_bytes}
    if folder != str(system.compiled_folder()):
        return found, ok(f"kept in {folder} (JAX_COMPILATION_CACHE_DIR)")
    advice = "swirl doctor --empty-cache" if n_bytes > LITTLE else ""
    return found, ok(f"{n_files} files, {amount(n_bytes)} in {folder}", advice)


# A ring of three places (stay, or go on), and what plain loops make of it (tests/workflows/test_doctor.py has them).
RING = [[0, 1], [1, 2], [2, 0]]
DISCOUNT = 0.95
REWARDS = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
VALUES = [[22.411656137574, 23.175787249042, 23.999057913357], [23.999057913357, 22.411656137574, 23.175787249042]]
SWITCHES = [[0.9, 0.1], [0.2, 0.8]]
FIRST_MODES = [0.6, 0.4]
STATES = [[0, 1, 2, 2, 0, 1, 1, 2, 0, 0], [2, 2, 2, 0, 1, 2, 0, 1, 1, 1]]
ACTIONS = [[1, 1, 0, 1, 1, 0, 1, 1, 0, 1], [0, 0, 1, 1, 1, 1, 1, 0, 0, 1]]
PSEUDOCOUNT = 1.0
BEFORE, AFTER = -15.735121628029, -12.571060170649  # log-likelihood of the recording, and after an M-step
TOLERANCE = 1e-6

# What a broken installation raises: about anything but an interrupt.
BROKEN = (ArithmeticError, AttributeError, ImportError, LookupError, OSError, RuntimeError, TypeError, ValueError)


def self_test() -> Check:
    """Whether one iteration of EM comes to numbers that are known.

    >>> self_test()["passed"]
    True
    """
    began = time.perf_counter()
    try:
        rewards, before, after = iteration()
    except BROKEN as fault:
        return failed(f"{type(fault).__name__}: {fault}", REPORT)
    seconds = time.perf_counter() - began
    faults = []
    if not all(abs(got - known) < TOLERANCE for got, known in zip(chain(*rewards), chain(*REWARDS), strict=True)):
        faults.append(f"rewards of known values are {rewards}, expected {REWARDS}")
    for what, got, expected in (("a known model's", before, BEFORE), ("after one M-step its", after, AFTER)):
        if not abs(got - expected) < TOLERANCE:
            faults.append(f"{what} log-likelihood is {got:.9f}, expected {expected:.9f}")
    if faults:
        return failed("; ".join(faults), REPORT)
    return ok(f"planning, an E-step and an M-step give what is known by hand, to 6 digits; {seconds:.1f} s")


def iteration() -> tuple[list[list[float]], float, float]:
    """Rewards of the known values; the recording's log-likelihood under their policies, and after an M-step."""
    import numpy as np

    from swirl.data.histories import Histories
    from swirl.data.mdp import MDP
    from swirl.inference.engines import choose, improve_restarts
    from swirl.inference.estep.counts import Chains, Tables
    from swirl.inference.mstep import Components, Parameters
    from swirl.precision import float64, numpy_tree
    from swirl.priors import Dirichlet
    from swirl.rewards.soft_q import read_values
    from swirl.rewards.state_action import StateActionReward
    from swirl.switching import TableSwitching

    histories, prior = Histories.reachable(MDP.deterministic(RING).successors, 1), Dirichlet(PSEUDOCOUNT)
    one = np.ones(2)
    rewards, log_policies = read_values(histories.successors, np.array(VALUES), discount=DISCOUNT, temperature=one)
    logits, switches, first = log_policies[None], np.log(SWITCHES)[None], np.log(FIRST_MODES)[None]
    tables = Tables(first, np.repeat(switches[:, None], 3, axis=1), logits.reshape(1, 2, -1).swapaxes(1, 2).copy())
    # The form of reward whose M-step is in closed form: others compile for seconds, and no plain loop follows them.
    components = Components(
        StateActionReward.build(histories, prior, temperature=one),
        TableSwitching.build(3, 2, prior, pooled=True),
        np.asarray(PSEUDOCOUNT),
    )
    states, actions = np.concatenate(STATES).astype(np.int32), np.concatenate(ACTIONS).astype(np.int32)
    chains = Chains(2 * states + actions, states, np.array([0, 10, 20]), n_symbols=6, n_states=3)
    with float64():
        road = choose("auto", chains, tables)
        counts = road.counts(tables)
        start = Parameters(first, switches, logits)
        improved = numpy_tree(improve_restarts(components, start, counts, np.ones(1, bool))[1])
        after = road.counts(improved)
    return rewards.tolist(), float(counts.log_likelihood[0]), float(after.log_likelihood[0])


def check_encoding() -> Check:
    """Results, names and messages hold letters that only UTF-8 can write."""
    kinds = {
        "terminal": getattr(sys.stdout, "encoding", None) or "none",
        "files": locale.getpreferredencoding(False),
    }
    detail = ", ".join(f"{what}: {name}" for what, name in kinds.items())
    if all(_is_utf8(name) for name in kinds.values()):
        return ok(detail)
    return ok(detail, "set PYTHONUTF8=1, or LANG=C.UTF-8: other encodings lose letters such as γ and é")


def _is_utf8(name: str) -> bool:
    try:
        return codecs.lookup(name).name == "utf-8"
    except LookupError:
        return False


def check_data_folder() -> Check:
    """Whether the folder that is named for recordings is there."""
    named = os.environ.get("SWIRL_DATA_DIR")
    if not named:
        return ok("SWIRL_DATA_DIR is not set: recordings are looked for among the downloads")
    if Path(named).is_dir():
        return ok(named)
    what = "is a file" if Path(named).exists() else "does not exist"
    return ok(f"SWIRL_DATA_DIR={named} {what}", "make it a folder with the recordings, correct it, or unset it")


NOT_TRIED = ok("not tried: what failed above comes first")


def examine() -> dict[str, Any]:
    """Return what was found, ready for JSON: versions, devices, room, and checks with what to do about them.

    Examples
    --------
    >>> found = examine()
    >>> found["healthy"], found["checks"]["double_precision"]["passed"]
    (True, True)
    """
    began = time.perf_counter()
    packages = {name: version_of(name) for name in (*NEEDED, *OPTIONAL)}
    missing = [name for name in NEEDED if packages[name] is None]
    checks = {"packages": check_packages(missing), "name": check_name(packages_distributions())}
    devices: list[str] = []
    memory: dict[str, int] = {}
    if not missing:
        devices, checks["devices"] = check_devices()
        if checks["devices"]["passed"]:
            checks["double_precision"] = check_double_precision()
            checks["numba"] = check_numba(packages["numba"])
            memory, checks["memory"] = check_memory()
            sound = all(check["passed"] for check in checks.values())
            checks["self_test"] = self_test() if sound else NOT_TRIED
    disk, checks["disk"] = check_disk(with_cache=not missing)
    compiled, checks["compiled programs"] = check_compiled()
    checks["encoding"] = check_encoding()
    checks["data_folder"] = check_data_folder()
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
        "cores": cores(),
        "memory": memory,
        "disk": disk,
        "compiled_programs": compiled,
        "checks": checks,
        "seconds": round(time.perf_counter() - began, 2),
        "healthy": all(check["passed"] for check in checks.values()),
    }


def to_text(findings: dict[str, Any]) -> str:
    """Return the findings of `examine` as lines for people.

    >>> found = {"swirl": "1.0", "python": "3.11", "platform": "Linux", "packages": {}, "devices": ["cpu"]}
    >>> found |= {"cores": 2, "checks": {"devices": {"passed": True, "detail": "1 device", "do": "add one"}}}
    >>> print(to_text(found | {"healthy": True}))
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
        called = name.replace("_", "-" if name == "self_test" else " ")
        text.append(f"{called:<18}{state:<8}{check['detail']}")
        if check["do"]:
            text.append(f"{'':<26}→ {check['do']}")
    text.append("")
    if advice:
        what = "1 piece of advice: see the arrow" if advice == 1 else f"{advice} pieces of advice: see the arrows"
        text.append(f"{what} above.")
    text.append("All is well." if findings["healthy"] else "Something is wrong: see FAILED above.")
    return "\n".join(text)


__all__ = ["examine", "to_text"]
