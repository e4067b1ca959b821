"""Poses out of binary files: DeepLabCut's tables and SLEAP's analysis files (HDF5), `movement` datasets (netCDF).

Nothing is unpickled.  pandas writes a DeepLabCut table through PyTables, which keeps the columns' names as a pickle: it
is read here as a list of tuples of strings, opcode by opcode, and every other opcode is refused.
"""

import json
import pickletools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from swirl import system
from swirl.io import hdf5
from swirl.io.poses import Poses, cutoff, from_columns, from_movement
from swirl.text import some

_STRINGS = {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def pickled_columns(data: bytes) -> list[tuple[str, ...]]:
    """Read a pickled list of equally long tuples of strings, and nothing else: no opcode that could run code.

    Examples
    --------
    >>> import pickle
    >>> pickled_columns(pickle.dumps([("net", "nose", "x"), ("net", "nose", "y")], protocol=0))
    [('net', 'nose', 'x'), ('net', 'nose', 'y')]
    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    mark = object()

    def pop_to_mark() -> list[Any]:
        at = max(i for i, item in enumerate(stack) if item is mark)
        items = stack[at + 1 :]
        del stack[at:]
        return items

    try:
        for opcode, argument in _opcodes(data):
            name = opcode.name
            if name in ("PROTO", "FRAME"):
                continue
            if name == "STOP":
                break
            if name == "MARK":
                stack.append(mark)
            elif name in _STRINGS:
                stack.append(str(argument))
            elif name in ("LIST", "EMPTY_LIST"):
                stack.append(pop_to_mark() if name == "LIST" else [])
            elif name == "TUPLE":
                stack.append(tuple(pop_to_mark()))
            elif name in _TUPLES:
                n = len(stack) - _TUPLES[name]
                stack[n:] = [tuple(stack[n:])]
            elif name in ("APPEND", "APPENDS"):
                items = [stack.pop()] if name == "APPEND" else pop_to_mark()
                stack[-1].extend(items)
            elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
                memo[len(memo) if argument is None else int(argument)] = stack[-1]
            elif name in ("GET", "BINGET", "LONG_BINGET"):
                stack.append(memo[int(argument or 0)])
            else:
                raise ValueError(f"holds a pickle with {name}, where only lists of strings are read")
        result = stack.pop()
    except (IndexError, KeyError, AttributeError, OverflowError):
        raise ValueError("holds a pickle that is cut short") from None
    rows = result if isinstance(result, list) else []
    tidy = all(isinstance(row, tuple) and all(isinstance(x, str) for x in row) for row in rows)
    if not rows or not tidy or len({len(row) for row in rows}) != 1:
        raise ValueError("holds a pickle of something else than a list of tuples of strings")
    return rows


def _opcodes(data: bytes) -> Iterator[tuple[Any, Any]]:
    """Take a pickle apart, without doing what it says."""
    found = pickletools.genops(data)
    while True:
        try:
            opcode, argument, _ = next(found)
        except StopIteration:
            return
        except ValueError as error:
            raise ValueError(f"holds a pickle that is cut short ({error})") from None
        yield opcode, argument


_AS_CSV = "save the tracks as CSV, and give that file"


def read_hdf5(path: Path) -> tuple[list[Poses], str]:
    """Read an HDF5 file of whatever program; second, what DeepLabCut appended to the video's name."""
    import h5py

    # h5py names neither file nor remedy: cut-off files, unknown compression, missing pieces.
    told = "cannot be read as HDF5: it is damaged or cut short; copy it again"
    with hdf5.explained(path, told), h5py.File(path, "r") as file:
        if away := [f"/{name}" for name in file if hdf5.elsewhere(file, str(name))]:
            raise ValueError(f"{path}: {some(away)} is a link or lies in another file: copy the data into it")
        if "tracks" in file and "node_names" in file:
            return _sleap(file, str(path)), ".analysis"
        if "position" not in file:
            return _deeplabcut(file, str(path))
        # What xarray opens below is asked for here, before it is read.
        if (told := hdf5.claim(x for x in file.values() if isinstance(x, h5py.Dataset))) is not None:
            raise ValueError(f"{path} {told}")
    return read_netcdf(path, "h5netcdf"), ""


def read_netcdf(path: Path, engine: str) -> list[Poses]:
    """Read the netCDF file of a `movement` dataset."""
    import xarray

    # Times are numbers here, whatever a `units` attribute makes of them.
    with (
        hdf5.explained(path, "cannot be read as netCDF: write it again from movement"),
        xarray.open_dataset(path, engine=engine, decode_times=False) as dataset,  # pyright: ignore[reportArgumentType]
    ):
        if (told := system.claim((x.shape, x.dtype) for x in dataset.variables.values())) is not None:
            raise ValueError(f"{path} {told}")
        return from_movement(dataset, str(path))


def _deeplabcut(file: Any, where: str) -> tuple[list[Poses], str]:
    """The table that pandas wrote, in its "table" or its "fixed" format."""
    for key, group in file.items():
        if not hasattr(group, "keys"):  # an array, in which `in` would look at every value
            continue
        if away := [f"/{key}/{name}" for name in group if hdf5.elsewhere(group, name)]:
            raise ValueError(f"{where}: {some(away)} is a link or lies in another file: copy the data into it")
        if "table" in group and getattr(group["table"].dtype, "names", None):
            read = _appendable(group["table"], f"{where}, /{key}/table")
        elif "block0_values" in group and "block0_items_level0" in group:
            read = _fixed(group, f"{where}, /{key}")
        else:
            continue
        columns, frames, values = read
        return from_columns(columns, frames, values, f"{where}, /{key}"), columns[0][0] if columns else ""
    raise ValueError(
        f"{where} holds {some(['/' + key for key in file], 8) or 'nothing'}: expected tracks of DeepLabCut (a table), "
        "SLEAP (tracks, node_names: export the analysis file, not the .slp) or movement (position)"
    )


def _appendable(table: Any, where: str) -> tuple[list[tuple[str, ...]], np.ndarray, np.ndarray]:
    """Columns, frames and values of format="table": a compound array with the fields index and values_block_i."""
    names = table.dtype.names
    blocks = [name for name in names if name.startswith("values_block_")]
    if not blocks or "index" not in names or table.dtype["index"].kind not in "iu":
        raise ValueError(
            f"{where} has the fields {some(names)}: expected frame numbers in index, and values_block_0 with x, y, "
            "likelihood; hand-labelled frames are no tracks: give the file that DeepLabCut made of a video"
        )
    columns: list[tuple[str, ...]] = []
    values = []
    for block in blocks:
        attribute = f"{block}_kind"
        if attribute not in table.attrs:
            raise ValueError(f"{where} has no attribute {attribute} with the columns' names: {_AS_CSV}")
        try:
            listed = pickled_columns(bytes(table.attrs[attribute]))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{where}, attribute {attribute}: {error}; {_AS_CSV}") from None
        array = _numbers(table, where, block)
        if array.shape[1:] != (len(listed),):
            raise ValueError(f"{where}: {block} has {array.shape[1:]} columns, but {len(listed)} names: {_AS_CSV}")
        columns += listed
        values.append(array)
    return columns, _whole(table, where, "index").astype(float), np.concatenate(values, axis=1)


def _fixed(group: Any, where: str) -> tuple[list[tuple[str, ...]], np.ndarray, np.ndarray]:
    """Columns, frames and values of format="fixed": levels and labels of the columns are arrays of their own."""
    columns: list[tuple[str, ...]] = []
    values = []
    for block in sorted(name.removesuffix("_values") for name in group if name.endswith("_values")):
        keys = sorted(name for name in group if name.startswith(f"{block}_items_level"))
        pickled = [key for key in keys if group[key].dtype.kind != "S"]
        if pickled and (len(keys) < 3 or pickled != keys[:1]):
            raise ValueError(f"{where}/{block}_items: the columns' names are pickled: {_AS_CSV}")
        # The first level names the network, which is not needed: where it is pickled it stays closed.
        levels = [[""] if key in pickled else _texts(group[key], where) for key in keys]
        labels = [_whole(group[key.replace("level", "label")], where) for key in keys]
        labels = [np.zeros_like(label) if key in pickled else label for key, label in zip(keys, labels, strict=True)]
        columns += zip(*([level[i] for i in label] for level, label in zip(levels, labels, strict=True)), strict=True)
        values.append(_numbers(group[f"{block}_values"], f"{where}/{block}_values"))
    frames = _whole(group["axis1"], where) if "axis1" in group else np.zeros(0)
    if frames.dtype.kind not in "iuf":
        raise ValueError(f"{where}/axis1: frames are {frames.dtype}, not numbers; {_AS_CSV}")
    return columns, frames.astype(float), np.concatenate(values, axis=1)


def _sleap(file: Any, where: str) -> list[Poses]:
    """Poses of an analysis file; `dims` says the order of axes (sleap-io), which else is SLEAP's own, for MATLAB."""
    nodes = _texts(file["node_names"], where)
    wanted = ("track", "frame", "node", "xy")

    def in_order(name: str, usual: tuple[str, ...]) -> np.ndarray:
        array = _numbers(file[name], f"{where}, /{name}")
        said = file[name].attrs.get("dims")
        dims = tuple(json.loads(said)) if isinstance(said, str | bytes) else usual
        if sorted(dims) != sorted(usual) or array.ndim != len(dims):
            raise ValueError(f"{where}, /{name} has shape {array.shape}: expected ({', '.join(usual)})")
        sizes = dict(zip(dims, array.shape, strict=True))
        if sizes["node"] != len(nodes) or sizes.get("xy", 2) != 2:
            raise ValueError(
                f"{where}, /{name} has shape {array.shape} for ({', '.join(dims)}), but node_names has {len(nodes)} "
                "names: export the analysis file again"
            )
        return array.transpose([dims.index(axis) for axis in wanted if axis in dims])

    positions = in_order("tracks", ("track", "xy", "node", "frame"))
    scores = in_order("point_scores", ("track", "node", "frame")) if "point_scores" in file else [None] * len(positions)
    names: list[Any] = (
        _texts(file["track_names"], where) if "track_names" in file and len(file["track_names"]) else [None]
    )
    if len(names) != len(positions) or len(scores) != len(positions):
        raise ValueError(
            f"{where}: /tracks has {len(positions)} tracks, but there are {len(names)} track_names and scores of "
            f"{len(scores)}: export the analysis file again"
        )
    times = np.arange(positions.shape[1], dtype=float)
    return [
        Poses(name, tuple(nodes), positions[i], scores[i], times, min_confidence=cutoff("SLEAP"), y_down=True)
        for i, name in enumerate(names)
    ]


def _whole(dataset: Any, where: str, field: Any = ()) -> np.ndarray:
    """All of an array, unless the file claims more than can be."""
    if (told := hdf5.claim([dataset])) is not None:
        raise ValueError(f"{where} {told}")
    return np.asarray(dataset[field])


def _numbers(dataset: Any, where: str, field: Any = ()) -> np.ndarray:
    """All of an array (or of one field of a table) as floats."""
    kind = dataset.dtype[field] if field and hasattr(dataset, "dtype") else getattr(dataset, "dtype", None)
    if kind is None or kind.base.kind not in "iuf" or dataset.shape is None:
        got = "a group" if kind is None else "no value" if dataset.shape is None else kind
        raise ValueError(f"{where} holds {got}: expected numbers; export the tracks again")
    return np.asarray(_whole(dataset, where, field), float)


def _texts(dataset: Any, where: str) -> list[str]:
    values = np.ravel(_whole(dataset, where)).tolist()
    return [x.decode("utf-8", "replace") if isinstance(x, bytes) else str(x) for x in values]
