"""Writing a file whole or not at all, and never over another one unless told."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def whole_file(path: Any, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary path to write to; when the block ends well it becomes `path`, otherwise it is removed.

    The temporary name stands in the same folder and ends as `path` does: some libraries go by the ending, or add it.

    Parameters
    ----------
    path
        Where to write; the folder must exist.
    overwrite
        Replace an existing file; otherwise it is left alone and FileExistsError is raised.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with whole_file(f"{folder.name}/modes.csv") as temporary:
    ...     _ = temporary.write_text("session,mode")
    >>> os.listdir(folder.name)
    ['modes.csv']
    >>> folder.cleanup()
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"path={str(path)!r} is a folder: give the name of a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"path={str(path)!r}: the folder {str(path.parent)!r} does not exist; create it")
    if path.exists() and not overwrite:
        raise _already_there(path)
    temporary = path.with_name(f".{secrets.token_hex(4)}.{path.name}")
    try:
        yield temporary
        descriptor = os.open(temporary, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if overwrite:
            os.replace(temporary, path)
        else:
            _move_to_new(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _move_to_new(temporary: Path, path: Path) -> None:
    """Move a file to a name that must be free, even when someone took it while we wrote."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise _already_there(path) from None
    except OSError:  # a file system without hard links
        if path.exists():
            raise _already_there(path) from None
        os.replace(temporary, path)


def _already_there(path: Path) -> FileExistsError:
    return FileExistsError(f"path={str(path)!r} exists already; pass overwrite=True or choose another name")
