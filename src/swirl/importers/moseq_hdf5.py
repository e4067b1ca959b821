"""The `results.h5` of keypoint-MoSeq: checked (links, types, shapes) before anything is read; nothing is unpickled."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from swirl import hdf5
from swirl.faults import Faults, some
from swirl.importers.syllables import Recording

CANNOT = "The MoSeq results cannot be read"
DAMAGED = "cannot be read as HDF5; it may be damaged or cut short: copy it again"

AXES = ("centroid_x", "centroid_y", "centroid_z")

FOREIGN = (
    (("nwb_version",), "an NWB file: read it as NWB"),
    (("model_snapshots",), "a checkpoint of keypoint-MoSeq: give the results.h5 that it wrote"),
    (("tracks", "node_names"), "a SLEAP file, with positions and no syllables: read it as tracks"),
    (("instances", "points"), "a SLEAP project, with positions and no syllables: read it as tracks"),
)
"""Names at the top of an HDF5 file that show it to be of another kind."""


def checked_groups(file: Path, latents: bool, faults: Faults) -> dict[str, str]:
    """Find the recordings, HDF5 path → name, and check their arrays without reading them.

    >>> from tempfile import TemporaryDirectory
    >>> import h5py
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "results.h5")
    ...     with h5py.File(file, "w") as results:
    ...         results["m1/syllable"] = [3, 3, 5]
    ...     checked_groups(file, False, Faults())
    {'/m1': 'm1'}
    """
    import h5py

    names: dict[str, str] = {}
    with hdf5.worded(file, DAMAGED), h5py.File(file, "r") as results:
        if (kind := _foreign(results)) is not None:
            faults.add(f"{file} is {kind}")
            return names
        stack: list[Any] = [results]
        visited = set()
        while stack:
            group = stack.pop()
            if group in visited:  # a hostile file can hold itself
                continue
            visited.add(group)
            if "syllable" in group:
                names[group.name] = group.name.strip("/") or file.stem
                _check_arrays(file, group, latents, faults)
                continue
            solid = [key for key in group if _is_here(file, group, key, faults)]
            inner = [x for key in solid if isinstance(x := group[key], h5py.Group)]
            if not inner:
                held = f"{file}: {group.name} holds {some(list(group)) or 'nothing'}, and no 'syllable'"
                faults.add(f"{held}: expected /<recording>/syllable, as keypoint-MoSeq writes results.h5")
            stack += reversed(inner)
    return names


def _foreign(results: Any) -> str | None:
    """Say what else a file is; None for results of MoSeq.  Attributes are asked for by name, never read."""
    for marks, kind in FOREIGN:
        if {*results, *results.attrs}.issuperset(marks):
            return kind
    import h5py

    here = [key for key in results if isinstance(results.get(key, getlink=True), h5py.HardLink)]
    if any("pandas_type" in results[key].attrs for key in here):
        return "a table that pandas wrote, as DeepLabCut does, with positions and no syllables: read it as tracks"
    return None


def _is_here(file: Path, group: Any, key: str, faults: Faults) -> bool:
    """Refuse what is only pointed to: a link can lead to any other file of the user."""
    away = hdf5.elsewhere(group, key)
    if away:
        faults.add(f"{file}: {group.name.rstrip('/')}/{key} is a link or lies in another file: copy the data into it")
    return not away


def _check_arrays(file: Path, group: Any, latents: bool, faults: Faults) -> None:
    """Check types and shapes of the arrays of one recording, by what the file says of them."""
    lengths: dict[str, int] = {}
    for key in ("syllable", "centroid", "heading", *["latent_state"] * latents):
        if key not in group or not _is_here(file, group, key, faults):
            continue
        at, array = f"{file}: {group.name.rstrip('/')}/{key}", group[key]
        shape, kind = getattr(array, "shape", None), getattr(getattr(array, "dtype", None), "kind", "group")
        if shape is None or kind not in "iuf":
            held = "no value" if kind in "iuf" else getattr(array, "dtype", "a group")
            faults.add(f"{at} holds {held}: expected numbers; objects are not read")
        elif len(shape) != (2 if key in ("centroid", "latent_state") else 1):
            faults.add(f"{at} has shape {shape}: expected one {'row' if len(shape) == 1 else 'number'} per frame")
        elif key == "centroid" and shape[1] not in (2, 3):
            faults.add(f"{at} has shape {shape}: expected 2 or 3 columns (x, y, z)")
        elif (told := hdf5.claim([array])) is not None:
            faults.add(f"{at} {told}")
        else:
            lengths[key] = shape[0]
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{key} {n:,}" for key, n in lengths.items())
        faults.add(
            f"{file}: {group.name} has arrays of different lengths ({told}): expected one entry per frame in each"
        )


def from_hdf5(file: Path, names: dict[str, str], fps: float | int | None, latents: bool) -> Iterator[Recording]:
    """Read one recording at a time.

    >>> from tempfile import TemporaryDirectory
    >>> import h5py
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "results.h5")
    ...     with h5py.File(file, "w") as results:
    ...         results["m1/syllable"] = [3, 3, 5]
    ...     [(read.name, read.times) for read in from_hdf5(file, {"/m1": "m1"}, 2, False)]
    [('m1', array([0. , 0.5, 1. ]))]
    """
    import h5py

    with h5py.File(file, "r") as results:
        for at, name in names.items():
            group: Any = results[at]
            with hdf5.worded(file, f"is damaged in {at}: copy it again"):
                read = {key: group[key][()] for key in ("syllable", "centroid", "heading") if key in group}
                latent = {key: group[key][()] for key in ("latent_state",) if latents and key in group}
            centroid = read["centroid"].T if "centroid" in read else ()
            yield Recording(
                name,
                read["syllable"],
                np.arange(len(read["syllable"])) / (fps or 1),
                signals=dict(zip(AXES, centroid, strict=False)) | latent,
                angles={"heading": read["heading"]} if "heading" in read else None,
                source=f"{file}: {at}",
            )
