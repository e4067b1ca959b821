"""Where NWB files go: one file, or a folder with one for each session; all of them or none."""

import contextlib
import re
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

from swirl.writing import whole_file


def targets(path: Path, names: list[str], source: Path | None) -> list[Path]:
    """Files to write: one, or one for each session in a folder."""
    is_file = path.suffix.lower() == ".nwb"
    if len(names) == 1 and is_file:
        files = [path]
    else:
        folder = path.with_suffix("") if is_file else path
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"path={str(folder)!r} is a file: {len(names)} sessions need a folder; give another name")
        files = [folder / f"{stem}.nwb" for stem in stems(names)]
    if source is not None and files[0].exists() and files[0].samefile(source):
        raise ValueError(f"path={str(files[0])!r} is the file in append_to, which is never changed: give another name")
    return files


def stems(names: list[str]) -> list[str]:
    """Names of files for sessions: letters, digits, dots and dashes, each different.

    >>> stems(["Day 1", "day 1", "///"])
    ['Day_1', 'day_1_2', 'session_2']
    """
    found: list[str] = []
    for i, name in enumerate(names):
        plain = re.sub(r"[^\w.-]+", "_", name).strip("._")[:80] or f"session_{i}"
        taken = {stem.lower() for stem in found}  # on many disks upper and lower case are the same name
        versions = chain([plain], (f"{plain}_{n}" for n in count(2)))
        found.append(next(version for version in versions if version.lower() not in taken))
    return found


@contextlib.contextmanager
def whole_files(files: list[Path], folder: Path | None, overwrite: bool) -> Iterator[list[Path]]:
    """Lend names to write to; the files take their places only when all are written."""
    made = folder is not None and not folder.exists() and folder.parent.is_dir()
    if folder is not None and made:
        folder.mkdir()
    try:
        with contextlib.ExitStack() as stack:
            yield [stack.enter_context(whole_file(file, overwrite=overwrite)) for file in files]
    finally:
        if folder is not None and made:
            with contextlib.suppress(OSError):  # it holds the files, unless something failed
                folder.rmdir()
