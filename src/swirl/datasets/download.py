"""The published recordings as files: where each is looked for, and how it is fetched and checked.

They come from the repository of the paper's authors (github.com/BRAINML-GT/SWIRL, MIT), made from the data of
Rosenberg et al. (2021, eLife 10:e66175) and Markowitz et al. (2023, Nature 614:108; CC BY).  They are not part of this
package: each is named by its address at one commit and by its SHA-256, and every copy is checked before it is used.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from swirl import system
from swirl.errors import Faults

DATA_VARIABLE = "SWIRL_DATA_DIR"
BASE_URL = "https://raw.githubusercontent.com/BRAINML-GT/SWIRL/9a5c441278a5351976705df9047a37ec7c3f6dbd"


class Published(NamedTuple):
    """A file as the authors publish it."""

    path: str
    """In their repository."""
    sha256: str


FILES = {
    "labyrinth/emissions500new.npy": Published(
        "labyrinth/data/emissions500new.npy", "99cccb73f444fd1bec47590610157014f0662c52a3d391e06abfe6416dcc2321"
    ),
    "labyrinth/trans_probs.npy": Published(
        "labyrinth/data/trans_probs.npy", "e680ffd2ccb7ea768e3c7a7fced084811b29c4cb90c245caa8ceb57264f5e86b"
    ),
    "spontaneous/seqs.npy": Published(
        "spontda/data/seqs.npy", "bb5d187cc0e241917f2792a731001dfde3b7410875fda8b165aec9f070dcf843"
    ),
    "spontaneous/z_features.npy": Published(
        "spontda/data/z_features.npy", "824aa766be8f7c021bd0424ee38a82ba45d5cd670469e2fa0b3e5be5f62dd9f2"
    ),
}


class Fetched(NamedTuple):
    """What `fetch` did for one file."""

    name: str
    path: Path
    status: Literal["already there", "copied", "downloaded"]


def address(name: str) -> str:
    """Return where a file is published.

    >>> address("spontaneous/seqs.npy")
    'https://raw.githubusercontent.com/BRAINML-GT/SWIRL/9a5c4.../spontda/data/seqs.npy'
    """
    return f"{BASE_URL}/{_published(name).path}"


def cache_folder() -> Path:
    """Return the folder that keeps what was downloaded.

    >>> cache_folder().name
    'swirl'
    """
    import pooch

    return Path(pooch.os_cache("swirl"))


def find(name: str) -> Path:
    """Return the path of a checked copy: in $SWIRL_DATA_DIR, else in the cache, else downloaded into the cache.

    In $SWIRL_DATA_DIR a file may lie as here (labyrinth/x.npy, spontaneous/x.npy), as in the authors' repository
    (labyrinth/data/x.npy, spontda/data/x.npy) or bare (x.npy).  Nothing there, and no file that differs from the
    published one anywhere, is overwritten.

    Raises
    ------
    ValueError
        When a copy is not the published file.
    FileNotFoundError
        When there is none and it cannot be downloaded; the message says where to put it.

    Examples
    --------
    >>> find("labyrinth/mouse.npy")
    Traceback (most recent call last):
    ValueError: no published file is called 'labyrinth/mouse.npy': there are labyrinth/emissions500new.npy, ...
    """
    own = _in_data_folder(name)
    if own is not None and _is_published(own, name):  # then the cache, and pooch, are not needed
        return own
    return fetch([name])[0].path


def load(name: str) -> np.ndarray:
    """Find a file and read its array; nothing in it is ever executed.

    >>> load("spontaneous/seqs.npy").shape        # doctest: +SKIP
    (180, 2500)
    """
    return np.load(find(name), allow_pickle=False)


def fetch(names: Sequence[str], folder: Path | None = None, force: bool = False) -> list[Fetched]:
    """Make sure that files are on this machine, in `folder` or wherever `find` looks, and say where.

    Parameters
    ----------
    names
        Keys of `FILES`.
    folder
        Where the files must be; a good copy that is elsewhere on this machine is copied. None: in
        $SWIRL_DATA_DIR or in the cache; what is missing is downloaded into the cache.
    force
        Replace files that differ from the published ones. Without it they are left alone, and an error names them.

    Examples
    --------
    >>> fetch([])
    []
    """
    for name in names:
        _published(name)
    home = cache_folder() if folder is None else folder
    if home.exists() and not home.is_dir():
        raise NotADirectoryError(f"{home} is a file: give a folder")
    own = {name: None if folder else _in_data_folder(name) for name in names}
    places = {name: own[name] or home / name for name in names}
    present = {name for name, path in places.items() if path.exists()}
    differing = {name for name in present if not _is_published(places[name], name)}
    faults = Faults()
    for name in sorted(differing):
        if own[name] is not None:
            remedy = f"take it away, or `swirl fetch --output {os.environ[DATA_VARIABLE]} --force`"
        elif not force:
            remedy = "take it away, or replace it by `swirl fetch --force`" + (f" --output {folder}" if folder else "")
        else:
            continue
        faults.add(
            f"{places[name]} is not the published {name}: its SHA-256 is {system.file_digest(places[name])}, expected "
            f"{_published(name).sha256}. It is damaged, or another version: {remedy}"
        )
    faults.raise_if_any("Files differ from the published ones, and were left as they are")
    done = []
    for i, name in enumerate(names):
        status = "already there"
        if name not in present - differing:
            source = _copy_elsewhere(name) if folder else None
            status = "copied" if source else "downloaded"
            if source:
                _copy(source, places[name])
            else:
                missing = [other for other in names[i:] if other not in present - differing]
                _download(name, home, missing)
        done.append(Fetched(name, places[name], status))
    return done


def _published(name: str) -> Published:
    if name not in FILES:
        raise ValueError(f"no published file is called {name!r}: there are {', '.join(FILES)}")
    return FILES[name]


def _is_published(path: Path, name: str) -> bool:
    return path.is_file() and system.file_digest(path) == _published(name).sha256


def _in_data_folder(name: str) -> Path | None:
    """Return the first file in $SWIRL_DATA_DIR that goes by this name, good or not."""
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        return None
    layouts = (name, _published(name).path, Path(name).name)
    return next((path for layout in layouts if (path := Path(folder) / layout).is_file()), None)


def _copy_elsewhere(name: str) -> Path | None:
    """Return a good copy in $SWIRL_DATA_DIR or in the cache."""
    places = (_in_data_folder(name), cache_folder() / name)
    return next((path for path in places if path is not None and _is_published(path, name)), None)


def _copy(source: Path, destination: Path) -> None:
    """Copy whole or not at all: an interrupted copy leaves nothing that looks like the file."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=destination.parent) as folder:
        half = Path(shutil.copyfile(source, Path(folder) / destination.name))
        half.replace(destination)


def _download(name: str, folder: Path, missing: Sequence[str]) -> None:
    """Download into folder / name; pooch moves the file there only when its SHA-256 is right."""
    import pooch

    pooch.get_logger().setLevel("WARNING")  # we say ourselves what was fetched, and where to
    registry: Any = {name: f"sha256:{_published(name).sha256}"}
    downloads = pooch.create(path=folder, base_url=BASE_URL, registry=registry, urls={name: address(name)})
    try:
        downloads.fetch(name)
    except OSError as fault:  # requests' own errors are among them
        raise FileNotFoundError(_instructions(missing, folder, fault)) from fault
    except ValueError as fault:
        raise ValueError(
            f"{address(name)} answered with something other than the published {name} (expected SHA-256 "
            f"{_published(name).sha256}); nothing was kept. A proxy or a sign-in page may have answered in its "
            f"place: download the file in a browser and put it at {folder / name}"
        ) from fault


def _instructions(missing: Sequence[str], folder: Path, fault: OSError) -> str:
    lines = ["These recordings are not on this machine and could not be downloaded:"]
    lines += [f"  {name}  from {address(name)}" for name in missing]
    data = os.environ.get(DATA_VARIABLE)
    state = "not set" if not data else f"{data}" if Path(data).is_dir() else f"{data}, which is no folder"
    lines += [
        f"Reason: {type(fault).__name__}: {fault}",
        "Without a connection here, get them on another machine, in one of two ways:",
        f"  1. download them from the addresses above, and put each under its name into {folder},",
        f"     or into a folder of yours that ${DATA_VARIABLE} names (now {state});",
        "  2. run `swirl fetch --output DIR` there, bring DIR here, and set " + f"{DATA_VARIABLE}=DIR.",
    ]
    return "\n".join(lines)
