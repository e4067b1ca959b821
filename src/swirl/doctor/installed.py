"""What is installed here, what JAX sees, and whether it computes as it must."""

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from swirl.doctor.checks import REINSTALL, REPORT, Check, failed, ok

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


def version_of(package: str) -> str | None:
    """Version of an installed package, None where it is not.

    >>> version_of("no-such-package") is None
    True
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def packages(missing: Iterable[str]) -> Check:
    """Whether all that is needed is there.

    >>> packages(["scipy"])["detail"]
    'missing: scipy'
    """
    names = ", ".join(missing)
    if names:
        return failed(f"missing: {names}", f"{sys.executable} -m pip install {names.replace(',', '')}")
    return ok("all that are needed are installed")


def devices() -> tuple[list[str], Check]:
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


def double_precision() -> Check:
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


def numba(found: str | None) -> Check:
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
