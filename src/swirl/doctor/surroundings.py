"""What the shell says: encodings, and where recordings are."""

import codecs
import locale
import os
import sys
from pathlib import Path

from swirl.doctor.checks import Check, ok


def encoding() -> Check:
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


def data_folder() -> Check:
    """Whether the folder that is named for recordings is there."""
    named = os.environ.get("SWIRL_DATA_DIR")
    if not named:
        return ok("SWIRL_DATA_DIR is not set: recordings are looked for among the downloads")
    if Path(named).is_dir():
        return ok(named)
    what = "is a file" if Path(named).exists() else "does not exist"
    return ok(f"SWIRL_DATA_DIR={named} {what}", "make it a folder with the recordings, correct it, or unset it")
