"""NWB files opened without pynwb: what they hold, which part of it is meant, and the values, or a fault in words.

Where pynwb has a file open, its `NWBFile` is taken as it is (`in_memory`).

The layout is fixed by the schema and h5py is there already, so that a file with extensions that are not installed, or
whose other parts are broken, can be read all the same.  Types that an extension derives from the known ones are
recognised by the schema that the file carries.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.errors import Faults
from swirl.io import hdf5
from swirl.io.nwb.in_memory import File, called, is_nwb_object
from swirl.text import some

Source = str | os.PathLike[str] | Any
"""Path of an NWB file, or an open `pynwb.NWBFile`."""

KINDS = {
    "SpatialSeries": "position",
    "PoseEstimation": "pose",
    "MultiCameraPoseEstimation": "pose",
    "EthogramBouts": "bouts",
    "TimeIntervals": "intervals",
    "EventsTable": "events",
    "LabeledEvents": "labelled events",
    "BehavioralEpochs": "epochs",
    "IntervalSeries": "epochs",
    "PoseEstimationSeries": None,  # read as part of its PoseEstimation
}
"""What swirl makes of each type of the NWB schema and of its extensions."""

TRACKS, BOUTS = ("position", "pose"), ("bouts", "intervals", "events", "epochs", "labelled events")
"""Kinds that become positions, and those that become bouts."""
TIME_COLUMNS = ("id", "start_time", "stop_time", "timestamp", "duration", "timeseries")
"""Columns of tables that are no labels."""

_PARENTS = {"EthogramBouts": "TimeIntervals", "PoseEstimationSeries": "SpatialSeries", "TTLs": "LabeledEvents"}
_READ_WHOLE = ("BehavioralEpochs", "CompassDirection", "EyeTracking")
"""Groups whose members are not listed: they are read together, or are no positions."""
_DAMAGED = (
    "is damaged, packed with a filter that h5py lacks, or not laid out as NWB says: copy it again from the original, "
    "or check it with nwbinspector"
)
_CLOSED = "cannot be read: keep the file behind it open until it is read (`with NWBHDF5IO(…) as io:`), and see that"
_CLOSED += " pynwb could write it"
_ALIEN = ("AnnotatedEventsTable", "AnnotationSeries", "BehavioralEvents")


def is_nwb(source: Any) -> bool:
    """Whether something is an NWB file, by its ending or as an object; of a list, whether all are.

    >>> is_nwb("m1.nwb"), is_nwb(["m1.nwb", "m2.csv"]), is_nwb([])
    (True, False, False)
    """
    if isinstance(source, list | tuple):
        return bool(source) and all(map(is_nwb, source))
    if isinstance(source, str | os.PathLike):
        return os.fspath(source).lower().endswith(".nwb")
    return is_nwb_object(source)


def path_list(path: Any) -> list[Source]:
    """One path (or `NWBFile`) or several, as a list.

    >>> path_list("m1.nwb")
    ['m1.nwb']
    """
    one = isinstance(path, str | os.PathLike) or is_nwb_object(path)
    given: Any = path
    if not one and not hasattr(path, "__iter__"):
        raise ValueError(f"path is a {type(path).__name__}: give an NWB file, an open NWBFile (io.read()), or a list")
    paths: list[Any] = [given] if one else [*given]
    if not paths:
        raise ValueError("path is an empty list: give an NWB file, or a list of them")
    return paths


@contextlib.contextmanager
def opened(path: Source) -> Iterator[Any]:
    """Open an NWB file for reading; whatever fails becomes a ValueError in words."""
    import h5py

    if is_nwb_object(path):
        with hdf5.explained(called(path), _CLOSED):
            yield File(path)
        return
    told = f"path={os.fspath(path)!r}"
    if not Path(path).exists():
        raise ValueError(f"{told} does not exist: check the spelling and the folder")
    if Path(path).is_dir():
        raise ValueError(f"{told} is a folder: give an NWB file in HDF5 (one in Zarr can be converted with hdmf-zarr)")
    if not h5py.is_hdf5(path):
        raise ValueError(f"{told} is not an HDF5 file, so not NWB: expected a .nwb file; was it cut short in a copy?")
    with hdf5.explained(path, _DAMAGED), h5py.File(path, "r") as file:
        version = text_of(file.attrs.get("nwb_version"))
        if version is None:
            raise ValueError(f"{told} is HDF5 but not NWB (it has no nwb_version): read it as what it is")
        if version.removeprefix("NWB-").startswith("1."):
            raise ValueError(f"{told} is NWB {version}: expected 2.0 or later; convert it first")
        yield file


# ---------------------------------------------------------------------- what a file holds


def find_readable(file: Any) -> list[tuple[str, str]]:
    """Kind and path of everything that can be read."""
    parents, found = _derived(file), []
    for where, of, thing in _typed(file):
        for _ in range(20):  # a file may define a type by itself
            of = of if of in KINDS else parents.get(of, of)
        kind = KINDS.get(of)
        if kind is not None and text_of(thing.parent.attrs.get("neurodata_type")) not in _READ_WHOLE:
            found.append((kind, where))
    return found


def _typed(file: Any) -> list[tuple[str, str, Any]]:
    """Path, type and group of every group that has a type of the NWB schema or of an extension."""
    found = []

    def visit(name: str, thing: Any) -> None:
        of = text_of(thing.attrs.get("neurodata_type")) if hasattr(thing, "keys") else None
        if of is not None:
            found.append((f"/{name}", of, thing))

    file.visititems(visit)
    return found


def _derived(file: Any) -> dict[str, str]:
    """Type → the type that it extends, as the extensions in the file define it."""
    parents = {**_PARENTS, **getattr(file, "parents", {})}
    for name, namespace in file.get("specifications", {}).items():
        if name in ("core", "hdmf-common", "hdmf-experimental"):
            continue
        for part in (part for version in namespace.values() for part in version.values()):
            with contextlib.suppress(ValueError, TypeError, AttributeError):  # no schema: its types are not known
                for group in json.loads(text_of(part) or "{}").get("groups", []):
                    parents[str(group.get("neurodata_type_def"))] = str(group.get("neurodata_type_inc"))
    return parents


def series_in(group: Any) -> list[str]:
    """Names of the series in a group: body parts of a pose."""
    return [name for name in group if hasattr(group.get(name), "keys") and "data" in group[name]]


def columns_for_labels(group: Any) -> list[str]:
    """Columns of a table that may be labels: text or whole numbers, one per row."""
    import h5py

    able = []
    for name in group:
        column = group.get(name)
        if name in TIME_COLUMNS or name.endswith("_index") or not _has_values(column) or column.ndim != 1:
            continue
        region = text_of(column.attrs.get("neurodata_type")) == "DynamicTableRegion"
        if "id" in group and not region and (h5py.check_string_dtype(column.dtype) or column.dtype.kind in "iub"):
            able.append(name)
    return able


def session_and_subject(file: Any) -> tuple[str, str | None]:
    """Name of the session and of its subject."""
    named = text_of(file.get("general/session_id")) or text_of(file.get("identifier"))
    return named or Path(file.filename).stem, text_of(file.get("general/subject/subject_id"))


def _has_values(thing: Any) -> bool:
    """Whether something in a file is a dataset."""
    return hasattr(thing, "shape") and hasattr(thing, "dtype")


def told_apart(names: list[str], paths: list[Any]) -> tuple[str, ...]:
    """Names of sessions; those of the files (of objects their identifiers) where two are the same.

    >>> told_apart(["day 1", "day 1"], ["data/m1.nwb", "data/m2.nwb"])
    ('m1', 'm2')
    """
    own = [str(path.identifier) if is_nwb_object(path) else Path(path).stem for path in paths]
    return tuple(names if len(set(names)) == len(names) else own)


# ---------------------------------------------------------------------- which part is meant


def chosen(
    file: Any, kinds: tuple[str, ...], argument: str, wanted: str | None, faults: Faults
) -> tuple[str, str] | None:
    """Kind and path of the one thing to read; None after a fault, which lists what there is."""
    listed = find_readable(file)
    found = [item for item in listed if item[0] in kinds]
    if wanted is None:
        matches = [item for item in found if _is_candidate(file[item[1]], item[0])]
        matches = matches or (found if len(found) == 1 else [])
    else:
        end = f"/{wanted.strip('/')}"
        tests = (lambda x: x == end, lambda x: x.endswith(end), lambda x: f"{end}/" in x)
        matches = next((m for m in ([item for item in found if test(item[1])] for test in tests) if m), [])
    if len(matches) == 1:
        return matches[0]
    what = "labelled intervals or events" if kinds == BOUTS else " or ".join(f"{kind}s" for kind in kinds)
    if matches:
        which = f"several {what}" if wanted is None else f"several that {argument}={wanted!r} may mean"
        faults.add(
            f"{file.filename} holds {which}: choose one, as in {argument}={matches[0][1]!r} (--{argument}); it holds "
            f"{_list(matches)}"
        )
    elif found and wanted is not None:
        faults.add(f"{file.filename} has no {argument}={wanted!r}: it holds {_list(found)}")
    else:
        others = [f"{where} ({kind})" for kind, where in listed]
        for where, of, _ in _typed(file):
            others += [f"{where} ({of}, which swirl does not read: make an EventsTable of it)"] * (of in _ALIEN)
        there = f"of what swirl reads it holds {some(others, 20)}" if others else "nor anything else that swirl reads"
        faults.add(f"{file.filename} holds no {what} that swirl can read, {there}")
    return None


def _is_candidate(group: Any, kind: str) -> bool:
    """Whether a thing can be meant when nothing is chosen: positions with x and y, tables with a label."""
    if kind == "position":
        shape = getattr(group.get("data"), "shape", None) or ()
        return len(shape) == 2 and shape[1] > 1
    if kind in ("pose", "epochs", "labelled events"):
        return True
    return group.name != "/intervals/invalid_times" and bool(columns_for_labels(group))


def _list(found: list[tuple[str, str]]) -> str:
    return some([f"{where} ({kind})" for kind, where in found], 20)


# ---------------------------------------------------------------------- values


def text_of(value: Any) -> str | None:
    """Read text from an attribute or a dataset; None where there is none.

    >>> text_of(b" 2.7.0"), text_of(b"")
    ('2.7.0', None)
    """
    if hasattr(value, "shape") and hasattr(value, "asstr"):
        value = value[()] if value.shape == () else None
    if isinstance(value, np.ndarray):
        value = value.ravel()[0] if value.size == 1 else None
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    return None if value is None else str(value).strip() or None


def number_attribute(thing: Any, name: str, default: float) -> float:
    """Read an attribute that is a number; NaN where it is something else."""
    value = np.asarray(thing.attrs.get(name, default))
    return float(value.ravel()[0]) if value.size == 1 and value.dtype.kind in "iuf" else np.nan


def place(group: Any, name: str = "") -> str:
    """Say where something stands."""
    return f"{group.file.filename}, {group.name}{f'/{name}' if name else ''}"


def read_values(group: Any, name: str, faults: Faults) -> np.ndarray | None:
    """Read a dataset whole, unless it is absurdly large; None after a fault."""
    import h5py

    dataset = group.get(name)
    if not _has_values(dataset) or dataset.size is None:
        faults.add(f"{place(group)} has no {name}: expected a dataset of that name")
        return None
    if isinstance(group.get(name, getlink=True), h5py.ExternalLink) or hdf5.in_other_files(dataset):
        faults.add(f"{place(group, name)} lies in another file: copy the data into it")
        return None
    if (told := hdf5.claim([dataset])) is not None:
        faults.add(f"{place(group, name)} {told}")
        return None
    if h5py.check_string_dtype(dataset.dtype) is not None:
        return np.asarray(dataset.asstr(errors="replace")[...])
    return np.asarray(dataset[...])


def read_numbers(group: Any, name: str, faults: Faults, length: int | None = None) -> Float[np.ndarray, " row"] | None:
    """Read a dataset with one number per row."""
    values = read_values(group, name, faults)
    if values is None:
        return None
    if values.ndim != 1 or values.dtype.kind not in "iuf" or length not in (None, len(values)):
        expected = "one number per row" if length is None else f"{length:,} numbers, one per row"
        faults.add(f"{place(group, name)} has shape {values.shape} and type {values.dtype}: expected {expected}")
        return None
    return values.astype(float)
