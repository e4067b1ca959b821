"""Writing a file whole or not at all, and never over another one unless told: the one way that anything is written."""

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any


@contextmanager
def whole_file(path: Any, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary path to write to; when the block ends well it becomes `path`, otherwise it is removed.

    The temporary name stands in the same folder and ends as `path` does: some libraries go by the ending, or add it.

    Parameters
    ----------
    path
        Where to write; the folder must exist. Through a link it is the link's target that is written.
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
    check_target(path, overwrite=overwrite)
    real = Path(os.path.realpath(path)) if path.is_symlink() else path
    # The end of a long name only: the temporary one must not be too long where the name itself is not.
    temporary = real.with_name(f".{secrets.token_hex(4)}.{real.name[-40:]}")
    try:
        yield temporary
        _flush(temporary)
        if overwrite:
            os.replace(temporary, real)
        else:
            _move_to_new(temporary, real)
    except FileExistsError:
        raise
    except OSError as error:
        if error.filename not in (None, os.fspath(temporary)):
            raise  # about another file
        raise _told(error, path) from error
    finally:
        temporary.unlink(missing_ok=True)
    with suppress(OSError):  # not every system lets a folder be flushed
        _flush(real.parent)


@contextmanager
def whole_files(paths: Iterable[Any], *, overwrite: bool = False) -> Iterator[list[Path]]:
    """Give temporary paths as `whole_file` does; the files take their places only when all are written."""
    with ExitStack() as stack:
        yield [stack.enter_context(whole_file(path, overwrite=overwrite)) for path in paths]


def write_text(path: Any, text: str, *, overwrite: bool = False) -> Path:
    """Write a text (UTF-8) whole or not at all; return its path.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(f"{folder}/modes.csv", "session,mode").read_text()
    'session,mode'
    """
    with whole_file(path, overwrite=overwrite) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


def check_target(path: Any, *, overwrite: bool = False, sources: Iterable[Any] = ()) -> None:
    """Raise, before any work, where a file cannot be written, or must not be.

    Parameters
    ----------
    path
        Where something is to be written.
    overwrite
        Whether an existing file may be replaced.
    sources
        Files that are being read: these are not replaced, whatever `overwrite` says.

    Examples
    --------
    >>> check_target("no such folder/fit.nc")
    Traceback (most recent call last):
    FileNotFoundError: no such folder/fit.nc: the folder 'no such folder' does not exist; create it
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {str(path.parent)!r} does not exist; create it")
    if not path.exists():
        return
    if not path.is_file():
        raise FileExistsError(f"{path} is a device or a pipe, not a file: give the name of a file")
    if any(Path(source).exists() and path.samefile(source) for source in sources):
        raise FileExistsError(f"{path} is what is being read: give the output another name")
    if not overwrite:
        raise _already_there(path)


def _flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _move_to_new(temporary: Path, path: Path) -> None:
    """Move a file to a name that must be free, even when someone else takes it this instant."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise _already_there(path) from None
    except OSError:  # a file system without hard links: take the name first, then fill it
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            raise _already_there(path) from None
        try:
            os.replace(temporary, path)
        except OSError:
            path.unlink()
            raise


def _already_there(path: Path) -> FileExistsError:
    return FileExistsError(
        f"{path} exists already: choose another name, or allow overwriting (overwrite=True, --force)"
    )


def _told(error: OSError, path: Path) -> OSError:
    """The same fault, about the file that the user knows, in the system's words: a library's may be longer."""
    if error.errno is None:
        return OSError(f"{error}, so nothing was written: {path}")
    return OSError(error.errno, f"{os.strerror(error.errno)}, so nothing was written", os.fspath(path))
