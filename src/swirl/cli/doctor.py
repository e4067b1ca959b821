"""`swirl doctor`: what is installed, which devices are seen, and whether double precision works."""

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer

from swirl._version import __version__

PACKAGES = (
    "jax",
    "jaxlib",
    "numpy",
    "scipy",
    "optax",
    "jaxtyping",
    "matplotlib",
    "xarray",
    "h5netcdf",
    "numba",
)
OPTIONAL = {"numba": "not installed (optional: pip install 'swirl-irl[fast]')"}

app = typer.Typer(add_completion=False)


@app.command(epilog="Example:\n\nswirl doctor --json")
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Show versions and devices, and check in about a second that double precision works here.

    Exits with 1 when a check fails.  Paste the output into a bug report.
    """
    findings = examine()
    if as_json:
        typer.echo(json.dumps(findings, indent=2))
    else:
        typer.echo(worded(findings))
    if not findings["healthy"]:
        raise typer.Exit(1)


def examine() -> dict[str, Any]:
    """Return what was found: versions, devices and checks, ready for JSON.

    >>> examine()["checks"]["double precision"]["passed"]
    True
    """
    packages = {name: _version(name) for name in PACKAGES}
    missing = [name for name, found in packages.items() if found is None and name not in OPTIONAL]
    checks = {
        "packages": {
            "passed": not missing,
            "detail": f"missing: {', '.join(missing)}" if missing else "all that are needed are installed",
        }
    }
    devices: list[str] = []
    if not missing:
        devices, checks["devices"] = _devices()
        checks["double precision"] = _double_precision()
    return {
        "swirl": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "packages": packages,
        "devices": devices,
        "checks": checks,
        "healthy": all(check["passed"] for check in checks.values()),
    }


def worded(findings: dict[str, Any]) -> str:
    """Return the findings of `examine` as lines for people.

    >>> found = {"swirl": "1.0", "python": "3.11", "platform": "Linux", "packages": {}, "devices": ["cpu"]}
    >>> found |= {"checks": {"devices": {"passed": True, "detail": "1 device"}}, "healthy": True}
    >>> print(worded(found))
    swirl             1.0
    python            3.11  (Linux)
    device            cpu
    <BLANKLINE>
    devices           ok      1 device
    <BLANKLINE>
    All is well.
    """
    lines = [("swirl", findings["swirl"]), ("python", f"{findings['python']}  ({findings['platform']})")]
    for name, found in findings["packages"].items():
        lines.append((name, found or OPTIONAL.get(name, "MISSING")))
    lines += [("device", device) for device in findings["devices"]]
    text = [f"{name:<18}{value}" for name, value in lines]
    text.append("")
    for name, check in findings["checks"].items():
        text.append(f"{name:<18}{'ok' if check['passed'] else 'FAILED':<8}{check['detail']}")
    text += ["", "All is well." if findings["healthy"] else "Something is wrong: see FAILED above."]
    return "\n".join(text)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _devices() -> tuple[list[str], dict[str, Any]]:
    import jax

    try:
        devices = [f"{device.platform}:{device.id}  {device.device_kind}" for device in jax.devices()]
    except RuntimeError as fault:  # a GPU plugin that cannot find its driver, say
        return [], {"passed": False, "detail": str(fault)}
    detail = f"{len(devices)} seen by JAX, which computes on {jax.default_backend()}"
    return devices, {"passed": True, "detail": detail}


def _double_precision() -> dict[str, Any]:
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
        return {"passed": False, "detail": str(fault)}
    after = jax.numpy.zeros(1).dtype
    error = abs(float(got) - expected) / abs(expected)
    faults = []
    if got.dtype != np.float64:
        faults.append(f"computed in {got.dtype}, expected float64")
    if not error < 1e-12:
        faults.append(f"log-sum-exp is off by {error:.1e} relative, expected less than 1e-12")
    if after != before:
        faults.append(f"the scope leaked: JAX made {before} arrays before it and makes {after} after it")
    return {
        "passed": not faults,
        "detail": "; ".join(faults) or f"relative error {error:.0e}; no trace left behind",
    }
