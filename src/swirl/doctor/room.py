"""Room in memory and on disk."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from swirl import machine
from swirl.doctor.checks import LITTLE, Check, failed, ok


def memory() -> tuple[dict[str, int], Check]:
    """What is left for a fit, and which bound it is that leaves no more."""
    from swirl.memory import amount, available

    bounds = machine.rooms()
    left = available(bounds)
    found = {"available": left, **bounds}
    by = min(bounds, key=lambda name: bounds[name], default="")
    detail = f"{amount(left)} available" + (f" (bounded by the {by})" if by in ("container", "ulimit -v") else "")
    if left >= LITTLE:
        return found, ok(detail)
    remedy = {
        "container": "give the container or job more memory",
        "ulimit -v": "raise it: ulimit -v unlimited",
    }.get(by, "close other programs")
    return found, ok(f"{detail}: a small fit takes 0.6 GB", f"{remedy}; or fit with n_restarts=1")


def disk(with_cache: bool) -> tuple[dict[str, dict[str, Any]], Check]:
    """Room, and leave to write, in the folders for temporary files and for downloads."""
    try:
        folders = {"temporary files": Path(tempfile.gettempdir())}
    except FileNotFoundError as fault:
        return {}, failed(str(fault), "set TMPDIR to a folder that you can write to")
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
    return found, ok("; ".join(details), "; ".join(remedies))
