"""Named arrays and a JSON header in one netCDF-4 file: no pickle, no half-written files; knows no model.

The file opens with ``xarray.open_dataset(path, engine="h5netcdf")``; the header is the JSON string in the
global attribute "swirl".  Truth values are stored as int8 with the attribute ``dtype = "bool"``, as xarray
does.  Behind the end that HDF5 knows stands the SHA-256 of what is before it: a byte that has changed since would else
give another model, or lead HDF5 astray.  A program that changes the file takes it away.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from swirl.io import hdf5
from swirl.io.atomic_write import whole_file

SCHEMA_VERSION = 1
"""Written as "schema_version" in every header; raised when an older swirl could no longer read the file."""

_HEADER = "swirl"
_DAMAGED = "is truncated or damaged, or not as save() writes it: copy it again from the original"
_ONLY_A_DIMENSION = "This is a netCDF dimension but not a netCDF variable"
_SEAL = b"\nswirl sha256 "
_TAIL = 2 * (len(_SEAL) + 64)  # bytes at the end in which the seal is looked for, whole or cut short
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DTYPES = {np.dtype(name) for name in ("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")}

Dims = tuple[str, ...]
Arrays = Mapping[str, tuple[Dims, np.ndarray]]


def write(path: str | os.PathLike[str], arrays: Arrays, header: Mapping[str, Any], *, overwrite: bool = False) -> Path:
    """Write arrays and header to a netCDF-4 file, whole or not at all, and return its path.

    Parameters
    ----------
    path
        Where to write; the folder must exist.
    arrays
        name -> (dimension names, array) with truth values, integers, float32 or float64; dtypes are kept.
    header
        JSON-able: text, whole numbers, finite numbers, lists, mappings with text keys.  NaN and infinity are
        not JSON: put them in an array.  "schema_version" is set here.
    overwrite
        Replace an existing file; otherwise it is left alone and FileExistsError is raised.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = write(f"{folder.name}/model.nc", {"rewards": (("mode", "state"), np.eye(2))}, {"name": "S-1"})
    >>> found, header = read(path)
    >>> found["rewards"].tolist(), header["name"], dims(path)
    ([[1.0, 0.0], [0.0, 1.0]], 'S-1', {'rewards': ('mode', 'state')})
    >>> folder.cleanup()
    """
    path = Path(path)
    sizes, text = _checked(arrays, header)
    with whole_file(path, overwrite=overwrite) as temporary:
        _write_netcdf(temporary, arrays, sizes, text)
        with temporary.open("r+b") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()  # and at the end of the file then
            file.write(_SEAL + digest.encode())
    return path


def read(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read the arrays and the header that `write` stored; ValueError says what is wrong with any other file.

    Examples
    --------
    >>> read("nowhere.nc")
    Traceback (most recent call last):
    ...
    ValueError: path='nowhere.nc' does not exist; check the spelling and the folder
    """
    # By h5py: h5netcdf asks for dimensions at every turn, which takes ten times as long.
    with _opened(path) as (file, header):
        arrays = {}
        for name, dataset in file.items():
            if _ONLY_A_DIMENSION in str(dataset.attrs.get("NAME", "")):
                continue
            if getattr(dataset, "dtype", np.dtype(object)).newbyteorder("=") not in _DTYPES or dataset.shape is None:
                raise ValueError(f"path={str(path)!r} holds {name} that is not numbers: it is damaged; copy it again")
            values = np.asarray(dataset[...])
            arrays[name] = values.astype(bool) if dataset.attrs.get("dtype") == "bool" else values
    return arrays, header


def dims(path: str | os.PathLike[str]) -> dict[str, Dims]:
    """Read the dimension names of each array in the file (see `write` for an example)."""
    import h5netcdf

    with _opened(path), hdf5.explained(path, _DAMAGED), h5netcdf.File(path, "r") as file:
        return {name: tuple(variable.dimensions) for name, variable in file.variables.items()}


def _checked(arrays: Arrays, header: Mapping[str, Any]) -> tuple[dict[str, int], str]:
    """The size of each dimension and the header as text; one ValueError with every fault."""
    faults: list[str] = []
    sizes: dict[str, int] = {}
    for name, (names, array) in arrays.items():
        if array.dtype.newbyteorder("=") not in _DTYPES:
            faults.append(
                f"arrays[{name!r}] has dtype {array.dtype}; expected truth values, integers, float32 or "
                "float64 (text belongs in the header)"
            )
        if len(names) != array.ndim or len(set(names)) != len(names):
            faults.append(f"arrays[{name!r}] has shape {array.shape}, dims {names}: give each axis its own name")
            continue
        for dim, size in zip(names, array.shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                faults.append(f"arrays[{name!r}]: dimension {dim!r} is {size} here and {sizes[dim]} before")
    for name in (*arrays, *sizes):
        if not name or "/" in name or name.startswith("."):
            faults.append(f"{name!r} cannot name an array or dimension: use letters, digits and _")
    for name in arrays.keys() & sizes.keys():
        if arrays[name][0] != (name,):
            faults.append(f"arrays[{name!r}] is named after a dimension and must have dims ({name!r},)")
    text = ""
    try:
        text = json.dumps({**header, "schema_version": SCHEMA_VERSION}, allow_nan=False, default=_scalar)
    except (TypeError, ValueError) as error:
        faults.append(f"header cannot be stored as JSON: {error}; NaN and infinity belong in an array")
    if faults:
        raise ValueError("; ".join(faults))
    return sizes, text


def _scalar(value: object) -> object:
    """Turn numpy's scalars into Python's for JSON, and refuse arrays: these have a place of their own in the file."""
    if isinstance(value, np.generic) and not isinstance(value, np.void):
        return value.item()
    raise TypeError(f"{value!r} is a {type(value).__name__}")


def _write_netcdf(path: Path, arrays: Arrays, sizes: Mapping[str, int], text: str) -> None:
    import h5netcdf

    with h5netcdf.File(path, "w") as file:
        file.attrs[_HEADER] = text
        file.dimensions = dict(sizes)
        for name, (names, array) in arrays.items():
            is_bool = array.dtype == bool
            variable = file.create_variable(name, names, data=array.astype(np.int8) if is_bool else array)
            if is_bool:
                variable.attrs["dtype"] = "bool"


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Open a file that `write` wrote and check its header; every failure becomes a ValueError in words."""
    import h5py

    path = Path(path)
    told = f"path={str(path)!r}"
    if not path.exists():
        raise ValueError(f"{told} does not exist; check the spelling and the folder")
    if not path.is_file():
        raise ValueError(f"{told} is not a file; give a fit, the file that swirl fit or save() wrote")
    with path.open("rb") as raw:
        signature = raw.read(len(_HDF5_SIGNATURE))
    if not signature:
        raise ValueError(f"{told} is empty: it was cut short when copied; copy it again")
    if signature != _HDF5_SIGNATURE:
        raise ValueError(f"{told} is not a netCDF-4 (HDF5) file; give a fit, the file that swirl fit or save() wrote")
    if not _is_sealed(path):
        raise ValueError(f"{told} is truncated or damaged (its SHA-256 has changed); copy it again from the original")
    with hdf5.explained(path, _DAMAGED), h5py.File(path, "r") as file:
        # A link can lead to any other file of the user.
        if away := [str(name) for name in file if hdf5.elsewhere(file, str(name))]:
            raise ValueError(f"{told} has {', '.join(away[:5])} in another file: it was not written by swirl")
        if (large := hdf5.claim(x for x in file.values() if isinstance(x, h5py.Dataset))) is not None:
            raise ValueError(f"{told} {large}")
        yield file, _parsed(told, file.attrs.get(_HEADER))


def _is_sealed(path: Path) -> bool:
    """Whether a file is as it was written, as far as it says so."""
    digest, before = hashlib.sha256(), b""
    with path.open("rb") as file:
        while piece := file.read(2**20):
            both = before + piece
            digest.update(both[:-_TAIL])
            before = both[-_TAIL:]
    content, found, seal = before.rpartition(_SEAL)
    digest.update(content)
    return not found or seal == digest.hexdigest().encode()


def _parsed(told: str, text: object) -> dict[str, Any]:
    if text is None:
        raise ValueError(f"{told} has no {_HEADER!r} attribute: it was not written by swirl")
    try:
        header = json.loads(str(text))
        version = int(header["schema_version"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{told} has an unreadable {_HEADER!r} attribute ({error}); save it again") from error
    if version > SCHEMA_VERSION:
        raise ValueError(
            f"{told} has schema version {version}, this swirl reads up to {SCHEMA_VERSION}; "
            "install a newer one: pip install --upgrade swirl-irl"
        )
    return header
