"""All checks, in the order in which one explains the next."""

import platform
import sys
import time
from typing import Any

from swirl._version import __version__
from swirl.doctor import installed, room, self_test, surroundings
from swirl.doctor.checks import ok
from swirl.machine import cores

NOT_TRIED = ok("not tried: what failed above comes first")


def examine() -> dict[str, Any]:
    """Return what was found, ready for JSON: versions, devices, room, and checks with what to do about them.

    Examples
    --------
    >>> found = examine()
    >>> found["healthy"], found["checks"]["double precision"]["passed"]
    (True, True)
    """
    began = time.perf_counter()
    packages = {name: installed.version_of(name) for name in (*installed.NEEDED, *installed.OPTIONAL)}
    missing = [name for name in installed.NEEDED if packages[name] is None]
    checks = {"packages": installed.packages(missing)}
    devices: list[str] = []
    memory: dict[str, int] = {}
    if not missing:
        devices, checks["devices"] = installed.devices()
        if checks["devices"]["passed"]:
            checks["double precision"] = installed.double_precision()
            checks["numba"] = installed.numba(packages["numba"])
            memory, checks["memory"] = room.memory()
            sound = all(check["passed"] for check in checks.values())
            checks["self-test"] = self_test.self_test() if sound else NOT_TRIED
    disk, checks["disk"] = room.disk(with_cache=not missing)
    checks["encoding"] = surroundings.encoding()
    checks["data folder"] = surroundings.data_folder()
    return {
        "swirl": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "packages": packages,
        "extras": {
            extra: {"present": all(packages[name] for name in names), "install": f"pip install 'swirl-irl[{extra}]'"}
            for extra, names in installed.EXTRAS.items()
        },
        "devices": devices,
        "cores": cores(),
        "memory": memory,
        "disk": disk,
        "checks": checks,
        "seconds": round(time.perf_counter() - began, 2),
        "healthy": all(check["passed"] for check in checks.values()),
    }
