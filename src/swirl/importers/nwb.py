"""NWB files: positions, poses and labelled intervals, read straight from the HDF5 layout that the schema lays down.

pynwb is not needed to read: the layout is fixed, h5py is there already, and a file with extensions that are not
installed, or whose other parts are broken, can be read all the same.  Types that an extension derives from the known
ones are recognised by the schema that the file carries.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from swirl.faults import Faults, counted, some
from swirl.importers.sessions import Sessions
from swirl.importers.tracks import Track
from swirl.reading import MISSING

Source = str | os.PathLike[str]

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

_PARENTS = {"EthogramBouts": "TimeIntervals", "PoseEstimationSeries": "SpatialSeries", "TTLs": "LabeledEvents"}
_READ_WHOLE = ("BehavioralEpochs", "CompassDirection", "EyeTracking")
"""Groups whose members are not listed: they are read together, or are no positions."""
_ALIEN = ("AnnotatedEventsTable", "AnnotationSeries", "BehavioralEvents")
_LABELS = ("label", "behavior", "behaviour", "annotation")
_TIMES = ("id", "start_time", "stop_time", "timestamp", "duration", "timeseries")
_TRACKS, _BOUTS = ("position", "pose"), ("bouts", "intervals", "events", "epochs", "labelled events")
_MOST_NUMBERS, _MOST_TEXTS = 2**27, 2**24
"""Of one dataset: a small file may claim to hold more than fits into memory."""
_DAMAGE = (OSError, RuntimeError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError)
"""What reading a file that is not as the schema says may end in."""
_ROUNDING = 1e-6
"""Seconds by which two bouts may overlap because their times were rounded."""


class _Bouts(NamedTuple):
    """Labelled intervals of one file, in the order of time."""

    where: str
    name: str
    subject: str | None
    start: Float[np.ndarray, " bout"]
    stop: Float[np.ndarray, " bout"]
    labels: list[str | None]
    catalogue: list[str]
    """All labels that there may be, in order, where an Ethogram says so."""
    observed: Float[np.ndarray, " interval"] | None
    """When each interval of observation starts."""
    rounding: float
    """Seconds by which times may be off."""
    merge: bool
    """Whether equal labels in a row are one bout; trials and events are steps of their own."""


class _Steps(NamedTuple):
    """The same as steps."""

    states: Int[np.ndarray, " step"]
    actions: Int[np.ndarray, " step"]
    times: Float[np.ndarray, " step"]
    durations: Float[np.ndarray, " step"]
    gaps: Int[np.ndarray, " gap"]
    notes: list[str]


def contents(path: Source) -> list[dict[str, Any]]:
    """List what swirl can read in an NWB file.

    Each entry has `kind` ("position", "pose", "bouts", "intervals", "events", "epochs", "labelled events"), `path`
    inside the file (for ``series=`` or ``table=``), `type` (of the NWB schema), `shape`, `rate` (None where each sample
    has its time), `times` (first and last, in seconds), `columns` (that may serve as ``label=``) and `labels` (body
    parts of a pose, or the labels that occur).

    Examples
    --------
    >>> contents("nowhere.nwb")
    Traceback (most recent call last):
    ValueError: path='nowhere.nwb' does not exist: check the spelling and the folder
    """
    with _opened(path) as file:
        return [_described(file[where], kind) for kind, where in _listed(file)]


def read_nwb_tracks(
    path: Source | Sequence[Source],
    *,
    series: str | None = None,
    keypoint: str | list[str] | tuple[str, ...] | None = None,
    least_confidence: float | int = 0.6,
) -> list[Track]:
    """Read positions: a SpatialSeries, or the body parts of an ndx-pose PoseEstimation.

    Positions are in the unit of the file (`conversion` and `offset` applied), NaN where they are not known; of three
    dimensions the first two are kept.  A session is named by its `session_id`, else by its `identifier`; where
    two have the same name, by their files.

    Parameters
    ----------
    path
        An NWB file, or a list of them (one session each).
    series
        Path inside the file, or its last part, where it holds several: "/processing/behavior/Position/left".
    keypoint
        The body part(s) of a pose to follow; of several, the mean. By default of all.
    least_confidence
        A body part with less confidence counts as not seen.

    Examples
    --------
    >>> read_nwb_tracks("m1.nwb", series="Position/left")  # doctest: +SKIP
    [Track(name='day 2', ..., subject='m1')]
    """
    faults, tracks, paths = Faults(), [], _paths(path)
    for one in paths:
        with _opened(one) as file:
            kinds = ("pose",) if keypoint is not None and series is None else _TRACKS
            found = _chosen(file, kinds, "series", series, faults)
            track = None if found is None else _track(file[found[1]], found[0], keypoint, least_confidence, faults)
            tracks += [] if track is None else [track]
    faults.raise_if_any("Positions cannot be read from NWB")
    names = _told_apart([track.name for track in tracks], paths)
    return [replace(track, name=name) for track, name in zip(tracks, names, strict=True)]


def read_nwb_bouts(
    path: Source | Sequence[Source],
    *,
    table: str | None = None,
    label: str | None = None,
    longest_pause: float | int | None = None,
) -> Sessions:
    """Read labelled intervals or events: one step per bout, state = its label, action = the next label.

    Tables of intervals (trials, epochs, any TimeIntervals), EthogramBouts, EventsTable, LabeledEvents and
    BehavioralEpochs (where the name of each series is the label) are read.  The time of a step is the start of its
    bout, and the signal "duration" is how long it lasted.

    Bouts of behaviour that follow each other with the same label are one step, and a pause that is too long to be
    overlooked is a gap.  Trials and events without a duration are steps of their own, and pauses between them are gaps
    only where `longest_pause` says so; but events at a steady rate are the frames of a video, and are read as bouts.
    Bouts may not overlap.  Rows without a label are dropped and leave a gap; between two `observation_intervals` of
    EthogramBouts there is a gap too.  `invalid_times` are not looked at: they often mean another instrument.

    Parameters
    ----------
    path
        An NWB file, or a list of them (one session each; labels are numbered alike in all).
    table
        Path inside the file, or its last part, where it holds several: "/intervals/trials".
    label
        The column with the label, where there are several.
    longest_pause
        Seconds without a bout that are not yet a gap. By default the median duration of the bouts, since another
        bout would have had room in a longer pause; ``inf`` for no such gaps.

    Examples
    --------
    >>> read_nwb_bouts("m1.nwb", table="trials", label="choice").state_names  # doctest: +SKIP
    ('left', 'right')
    """
    faults, read, paths = Faults(), [], _paths(path)
    if longest_pause is not None and not longest_pause >= 0:
        faults.add(f"longest_pause={longest_pause}: give seconds, 0 or more")
    for one in paths:
        with _opened(one) as file:
            found = _chosen(file, _BOUTS, "table", table, faults)
            bouts = None if found is None else _bouts(file[found[1]], found[0], label, faults)
            read += [] if bouts is None else [bouts]
    faults.raise_if_any("Bouts cannot be read from NWB")
    state_names = _state_names(read)
    steps = [_steps(bouts, state_names, longest_pause) for bouts in read]
    durations, subjects = [s.durations for s in steps], tuple(bouts.subject for bouts in read)
    return Sessions(
        states=[s.states for s in steps],
        actions=[s.actions for s in steps],
        names=_told_apart([bouts.name for bouts in read], paths),
        subjects=subjects if any(subjects) else None,
        times=[s.times for s in steps],
        gaps=[s.gaps for s in steps],
        signals={"duration": durations} if any(d.any() for d in durations) else None,
        state_names=state_names,
        action_names=state_names,
        notes=tuple(note for s in steps for note in s.notes),
    )


# ---------------------------------------------------------------------- the file


def _paths(path: Any) -> list[Source]:
    """One path or several, as a list."""
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not paths:
        raise ValueError("path is an empty list: give an NWB file, or a list of them")
    return paths


@contextlib.contextmanager
def _opened(path: Source) -> Iterator[Any]:
    """Open an NWB file for reading; whatever fails becomes a ValueError in words."""
    import h5py

    told = f"path={os.fspath(path)!r}"
    if not Path(path).exists():
        raise ValueError(f"{told} does not exist: check the spelling and the folder")
    if Path(path).is_dir():
        raise ValueError(f"{told} is a folder: give an NWB file in HDF5 (one in Zarr can be converted with hdmf-zarr)")
    if not h5py.is_hdf5(path):
        raise ValueError(f"{told} is not an HDF5 file, so not NWB: expected a .nwb file; was it cut short in a copy?")
    try:
        with h5py.File(path, "r") as file:
            version = _text(file.attrs.get("nwb_version"))
            if version is None:
                raise ValueError(f"{told} is HDF5 but not NWB (it has no nwb_version): read it as what it is")
            if version.removeprefix("NWB-").startswith("1."):
                raise ValueError(f"{told} is NWB {version}: expected 2.0 or later; convert it first")
            yield file
    except _DAMAGE as error:
        raise ValueError(
            f"{told} is damaged, packed with a filter that h5py lacks, or not laid out as NWB says: {error}; copy it "
            "again from the original, or check it with nwbinspector"
        ) from error


def _listed(file: Any) -> list[tuple[str, str]]:
    """Kind and path of everything that can be read."""
    import h5py

    parents, found = _derived(file), []

    def visit(name: str, thing: Any) -> None:
        kind = _kind(thing, parents) if isinstance(thing, h5py.Group) else None
        if kind is not None and _text(thing.parent.attrs.get("neurodata_type")) not in _READ_WHOLE:
            found.append((kind, f"/{name}"))

    file.visititems(visit)
    return found


def _derived(file: Any) -> dict[str, str]:
    """Type → the type that it extends, as the extensions in the file define it."""
    parents = dict(_PARENTS)
    for name, namespace in file.get("specifications", {}).items():
        if name in ("core", "hdmf-common", "hdmf-experimental"):
            continue
        for part in (part for version in namespace.values() for part in version.values()):
            with contextlib.suppress(ValueError, TypeError, AttributeError):  # no schema: its types are not known
                for group in json.loads(_text(part) or "{}").get("groups", []):
                    parents[str(group.get("neurodata_type_def"))] = str(group.get("neurodata_type_inc"))
    return parents


def _kind(group: Any, parents: dict[str, str]) -> str | None:
    """What swirl makes of a group."""
    of = _text(group.attrs.get("neurodata_type"))
    for _ in range(20):  # a file may define a type by itself
        if of is None or of in KINDS:
            break
        of = parents.get(of)
    return KINDS.get(of or "")


def _described(group: Any, kind: str) -> dict[str, Any]:
    """One entry of `contents`; what cannot be read is None or empty there."""
    nothing, shape, rate, times = Faults(), None, None, None
    columns, labels = (), ()
    if kind in _TRACKS:
        labels = tuple(_parts(group)) if kind == "pose" else ()
        one = group[labels[0]] if labels else group
        shape = one["data"].shape if "data" in one else None
        if shape and shape[0] and "timestamps" in one:
            times = (float(one["timestamps"][0]), float(one["timestamps"][-1]))
        elif shape and shape[0] and "starting_time" in one:
            start, rate = float(one["starting_time"][()]), _attribute(one["starting_time"], "rate", np.nan)
            times = (start, start + (shape[0] - 1) / rate if rate else np.nan)
    else:
        columns = tuple(_columns(group))
        shape = (len(group["id"]), len(columns)) if "id" in group else None
        read = _intervals(group, kind, None, nothing)
        if read is not None and len(read[0]):
            shape, times = shape or (len(read[0]),), (float(np.min(read[0])), float(np.max(read[1])))
            labels = tuple(sorted({x for x in read[2] if x is not None}, key=_numbers_first))
    of = _text(group.attrs.get("neurodata_type"))
    found = {"kind": kind, "path": group.name, "type": of, "shape": shape, "rate": rate, "times": times}
    return {**found, "columns": columns, "labels": labels}


def _chosen(
    file: Any, kinds: tuple[str, ...], argument: str, wanted: str | None, faults: Faults
) -> tuple[str, str] | None:
    """Kind and path of the one thing to read; None after a fault, which lists what there is."""
    listed = _listed(file)
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
    what = "labelled intervals or events" if kinds == _BOUTS else " or ".join(f"{kind}s" for kind in kinds)
    if matches:
        which = f"several {what}" if wanted is None else f"several that {argument}={wanted!r} may mean"
        faults.add(
            f"{file.filename} holds {which}: choose one, as in {argument}={matches[0][1]!r}; it holds {_list(matches)}"
        )
    elif found and wanted is not None:
        faults.add(f"{file.filename} has no {argument}={wanted!r}: it holds {_list(found)}")
    else:
        others = [*[f"{where} ({kind})" for kind, where in listed], *_aliens(file)]
        faults.add(
            f"{file.filename} holds no {what} that swirl can read; it holds {some(others, 20) or 'nothing else'}"
        )
    return None


def _is_candidate(group: Any, kind: str) -> bool:
    """Whether a thing can be meant when nothing is chosen: positions with x and y, tables with a label."""
    if kind == "position":
        return "data" in group and group["data"].ndim == 2 and group["data"].shape[1] > 1
    if kind in ("pose", "epochs", "labelled events"):
        return True
    return group.name != "/intervals/invalid_times" and bool(_columns(group))


def _list(found: list[tuple[str, str]]) -> str:
    return some([f"{where} ({kind})" for kind, where in found], 20)


def _aliens(file: Any) -> list[str]:
    """What holds events in a form that swirl does not read."""
    found = []

    def visit(name: str, thing: Any) -> None:
        of = _text(thing.attrs.get("neurodata_type"))
        if of in _ALIEN:
            found.append(f"/{name} ({of}, which swirl does not read: make an EventsTable of it)")

    file.visititems(visit)
    return found


def _session(file: Any) -> tuple[str, str | None]:
    """Name of the session and of its subject."""
    named = _text(file.get("general/session_id")) or _text(file.get("identifier"))
    return named or Path(file.filename).stem, _text(file.get("general/subject/subject_id"))


def _told_apart(names: list[str], paths: list[Source]) -> tuple[str, ...]:
    """Names of sessions; those of the files where two are the same."""
    return tuple(names if len(set(names)) == len(names) else [Path(path).stem for path in paths])


def _text(value: Any) -> str | None:
    """Read text from an attribute or a dataset; None where there is none."""
    if hasattr(value, "shape") and hasattr(value, "asstr"):
        value = value[()] if value.shape == () else None
    if isinstance(value, np.ndarray):
        value = value.ravel()[0] if value.size == 1 else None
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    return None if value is None else str(value).strip() or None


def _attribute(thing: Any, name: str, default: float) -> float:
    """Read an attribute that is a number; NaN where it is something else."""
    value = np.asarray(thing.attrs.get(name, default))
    return float(value.ravel()[0]) if value.size == 1 and value.dtype.kind in "iuf" else np.nan


def _told(group: Any, name: str = "") -> str:
    """Say where something stands."""
    return f"{group.file.filename}, {group.name}{f'/{name}' if name else ''}"


def _values(group: Any, name: str, faults: Faults) -> np.ndarray | None:
    """Read a dataset whole, unless it is absurdly large; None after a fault."""
    import h5py

    dataset = group.get(name)
    if not isinstance(dataset, h5py.Dataset) or dataset.size is None:
        faults.add(f"{_told(group)} has no {name}: expected a dataset of that name")
        return None
    is_text = h5py.check_string_dtype(dataset.dtype) is not None
    most = _MOST_TEXTS if is_text else _MOST_NUMBERS
    if dataset.size > most:
        faults.add(f"{_told(group, name)} claims {dataset.size:,} values: expected at most {most:,}")
        return None
    if is_text:
        return np.asarray(dataset.asstr(errors="replace")[...])
    return np.asarray(dataset[...])


def _numbers(group: Any, name: str, faults: Faults, length: int | None = None) -> Float[np.ndarray, " row"] | None:
    """Read a dataset with one number per row."""
    values = _values(group, name, faults)
    if values is None:
        return None
    if values.ndim != 1 or values.dtype.kind not in "iuf" or length not in (None, len(values)):
        expected = "one number per row" if length is None else f"{length:,} numbers, one per row"
        faults.add(f"{_told(group, name)} has shape {values.shape} and type {values.dtype}: expected {expected}")
        return None
    return values.astype(float)


# ---------------------------------------------------------------------- positions


def _parts(group: Any) -> list[str]:
    """Names of the series in a group: body parts of a pose."""
    return [name for name in group if hasattr(group.get(name), "keys") and "data" in group[name]]


def _track(group: Any, kind: str, keypoint: Any, least_confidence: float | int, faults: Faults) -> Track | None:
    """Read the positions of one animal, of a pose the mean of the keypoints; None after a fault."""
    series, notes, (name, subject) = [group], (), _session(group.file)
    if kind == "pose":
        parts = _parts(group)
        wanted = parts if keypoint is None else [keypoint] if isinstance(keypoint, str) else list(keypoint)
        unknown = [repr(part) for part in wanted if part not in parts]
        if unknown or not wanted:
            there = some([repr(part) for part in parts], 40)
            faults.add(f"keypoint={keypoint!r}: {_told(group)} has no {some(unknown) or 'keypoint'}; it has {there}")
            return None
        series = [group[part] for part in wanted]
        if keypoint is None and len(parts) > 1:
            notes = (f"{name}: the position is the mean of the confident ones of {some(parts, 4)}; keypoint= chooses",)
    read = [_positions(one, least_confidence, faults) for one in series]
    times = _times(series[0], 0 if read[0] is None else len(read[0]), faults) if read[0] is not None else None
    known = [positions for positions in read if positions is not None]
    if times is None or len(known) < len(read):
        return None
    if len({len(positions) for positions in known}) > 1:
        lengths = some([f"{len(x):,} ({one.name})" for x, one in zip(known, series, strict=True)], 10)
        faults.add(
            f"{_told(group)}: keypoints have different numbers of frames: {lengths}; choose keypoints that agree"
        )
        return None
    seen = np.stack([np.isfinite(positions).all(1) for positions in known])
    total = sum(np.where(s[:, None], positions, 0.0) for s, positions in zip(seen, known, strict=True))
    n = seen.sum(0)
    if not n.any():
        faults.add(f"{_told(group)} has no position with a confidence of least_confidence={least_confidence} or more")
        return None
    if (n == 0).any():
        notes += (f"{name}: {int((n == 0).sum()):,} of {counted(len(n), 'frame')} without a position",)
    return Track(name, times, total / np.where(n, n, np.nan)[:, None], subject, notes=notes)


def _positions(series: Any, least_confidence: float | int, faults: Faults) -> Float[np.ndarray, "frame 2"] | None:
    """Read x and y of one series, NaN where they are not confident; None after a fault."""
    before, data = len(faults), _values(series, "data", faults)
    if data is None:
        return None
    if data.dtype.kind not in "iuf":
        faults.add(f"{_told(series, 'data')} holds {data.dtype}: expected numbers")
    elif data.ndim == 1 or (data.ndim == 2 and data.shape[1] == 1):
        faults.add(
            f"{_told(series, 'data')} is one-dimensional, a position along a line: swirl makes places from x and y; "
            "divide the line into sections yourself, and give a table with one row per step (state = section)"
        )
    elif data.ndim != 2 or data.shape[1] not in (2, 3):
        turned = ": it seems to be transposed" if data.ndim == 2 and data.shape[0] in (2, 3) else ""
        faults.add(f"{_told(series, 'data')} has shape {data.shape}: expected (frame, 2) or (frame, 3){turned}")
    sure = _numbers(series, "confidence", faults, len(data)) if "confidence" in series and data.ndim else None
    conversion, offset = (_attribute(series["data"], *of) for of in (("conversion", 1.0), ("offset", 0.0)))
    if not np.isfinite([conversion, offset]).all():
        faults.add(f"{_told(series, 'data')} has the conversion {conversion} and the offset {offset}: expected numbers")
    if len(faults) > before:
        return None
    positions = data[:, :2] * conversion + offset
    if sure is not None:
        positions[sure < least_confidence] = np.nan  # a confidence that is not known is no objection
    return positions


def _times(series: Any, length: int, faults: Faults) -> Float[np.ndarray, " frame"] | None:
    """Read the time of each sample, in seconds; None after a fault."""
    if "timestamps" in series:
        times = _numbers(series, "timestamps", faults, length)
        late = np.flatnonzero(~(np.diff(times) > 0)) + 1 if times is not None else np.zeros(0, int)
        if late.size or (length and times is not None and not np.isfinite(times[[0, -1]]).all()):
            at = some(late.tolist()) or "the ends"
            faults.add(f"{_told(series, 'timestamps')} are not finite and increasing at frame {at}: correct the file")
            return None
        return times
    start = series.get("starting_time")
    rate = np.nan if start is None else _attribute(start, "rate", np.nan)
    if start is None or not rate > 0 or not np.isfinite(rate):
        faults.add(f"{_told(series)} has neither timestamps nor a starting_time with a rate: its times are not known")
        return None
    return float(start[()]) + np.arange(length) / rate


# ---------------------------------------------------------------------- bouts


def _columns(group: Any) -> list[str]:
    """Columns of a table that may be labels: text or whole numbers, one per row."""
    import h5py

    able = []
    for name in group:
        column = group.get(name)
        if name in _TIMES or name.endswith("_index") or not isinstance(column, h5py.Dataset) or column.ndim != 1:
            continue
        region = _text(column.attrs.get("neurodata_type")) == "DynamicTableRegion"
        if "id" in group and not region and (h5py.check_string_dtype(column.dtype) or column.dtype.kind in "iub"):
            able.append(name)
    return able


def _bouts(group: Any, kind: str, label: str | None, faults: Faults) -> _Bouts | None:
    """Read labelled intervals and put them in order; None after a fault."""
    before, read = len(faults), _intervals(group, kind, label, faults)
    if read is None or len(faults) > before:
        return None
    start, stop, labels = read
    for what, wrong in (("no finite time", ~np.isfinite(start + stop)), ("a stop before its start", stop < start)):
        if wrong.any():
            faults.add(f"{_told(group)}: {what} at {_rows(np.flatnonzero(wrong))}: correct or delete the row")
    if not any(x is not None for x in labels):
        faults.add(f"{_told(group)} has no row with a label: there is nothing to read")
    if len(faults) > before:
        return None
    exact = "start_time" not in group or group["start_time"].dtype.itemsize > 4
    rounding = max(_ROUNDING, 0.0 if exact else 2 * float(np.spacing(np.float32(np.abs(stop).max()))))
    order = np.argsort(start, kind="stable")
    start, stop, labels = start[order], stop[order], [labels[i] for i in order]
    _check_overlap(group, start, stop, labels, order, rounding, faults)
    merge = kind in ("bouts", "epochs") or (kind == "intervals" and not group.name.endswith("/trials"))
    if (stop == start).all():
        stop, merge = _frames(start, rounding)
    elif kind in ("events", "labelled events"):
        merge = True
    catalogue = [x for x in _optional(group.get("ethogram"), "behavior") if isinstance(x, str)]
    observed = group.get("observation_intervals")
    name, subject = _session(group.file)
    return _Bouts(
        where=group.name,
        name=name,
        subject=subject,
        start=start,
        stop=stop,
        labels=labels,
        catalogue=catalogue,
        observed=None if observed is None else np.sort(np.array(_optional(observed, "start_time"), float)),
        rounding=rounding,
        merge=merge,
    )


def _optional(group: Any, name: str) -> list[Any]:
    """Read a column of a linked table, if it is there."""
    values = None if group is None else _values(group, name, Faults())
    return [] if values is None or values.ndim != 1 else values.tolist()


def _intervals(
    group: Any, kind: str, label: str | None, faults: Faults
) -> tuple[np.ndarray, np.ndarray, list[str | None]] | None:
    """Start, stop and label of each row; None after a fault."""
    if kind == "epochs":
        return _epochs(group, faults)
    if kind == "labelled events":
        return _labelled_events(group, faults)
    name = "timestamp" if kind == "events" else "start_time"
    start = _numbers(group, name, faults)
    column = _label_column(group, label, faults)
    if start is None or column is None:
        return None
    if kind != "events":
        stop = _numbers(group, "stop_time", faults, len(start))
    else:
        lasted = _numbers(group, "duration", faults, len(start)) if "duration" in group else np.zeros(len(start))
        stop = None if lasted is None else start + np.nan_to_num(lasted)
    labels = _labels(group, column, len(start), faults)
    return None if stop is None or labels is None else (start, stop, labels)


def _label_column(group: Any, label: str | None, faults: Faults) -> str | None:
    """Name of the column with the labels; None after a fault."""
    able = _columns(group)
    if label is not None and label in group and label not in _TIMES:
        return label
    usual = [name for name in _LABELS if name in able][:1] or (able if len(able) == 1 else [])
    if label is None and usual:
        return usual[0]
    there = (
        f"its columns are {some([repr(name) for name in able], 40)}"
        if able
        else "it has no column of text or whole numbers"
    )
    if label is not None:
        faults.add(f"{_told(group)} has no column label={label!r}: {there}")
    elif able:
        faults.add(f"{_told(group)} may be labelled by several columns: choose one, as in label={able[0]!r}; {there}")
    else:
        faults.add(f"{_told(group)} has no label: {there}")
    return None


def _labels(group: Any, column: str, length: int, faults: Faults) -> list[str | None] | None:
    """Read a column as text, None where it is empty."""
    values = _values(group, column, faults)
    if values is None:
        return None
    elements = group[column].attrs.get("elements")  # a category is stored as its place in the list of all
    if elements is not None and values.dtype.kind in "iu":
        named = _optional(group.file[elements].parent, group.file[elements].name.rpartition("/")[2])
        values = np.array([str(named[i]) if i < len(named) else "" for i in values.tolist()], object)
    if f"{column}_index" in group:
        ends = _numbers(group, f"{column}_index", faults, length)
        if ends is None:
            return None
        edges = np.append(0, ends).astype(int)
        many = np.flatnonzero(np.diff(edges) > 1)
        if many.size or edges[-1] > len(values) or (np.diff(edges) < 0).any():
            faults.add(f"{_told(group, column)} has several values at {_rows(many)}: expected one per row")
            return None
        values = np.array([values[a] if b > a else "" for a, b in pairwise(edges.tolist())], object)
    if values.shape != (length,):
        faults.add(f"{_told(group, column)} has shape {values.shape}: expected one label for each of {length:,} rows")
        return None
    if values.dtype.kind == "f":
        wrong = np.flatnonzero(np.isfinite(values) & (values != np.round(values)))
        if wrong.size:
            got = f"{_told(group, column)} is {values[wrong[0]]} at {_rows(wrong)}"
            faults.add(f"{got}: labels are text or whole numbers; choose another column")
            return None
        return [str(int(x)) if np.isfinite(x) else None for x in values.tolist()]
    if values.dtype.kind not in "OUiub" or not all(isinstance(x, str | int) for x in values.tolist()):
        faults.add(f"{_told(group, column)} holds {values.dtype}: labels are text or whole numbers")
        return None
    return [str(x).strip() or None for x in values.tolist()]


def _labelled_events(group: Any, faults: Faults) -> tuple[np.ndarray, np.ndarray, list[str | None]] | None:
    """Read events of the older extension ndx-events: numbers that count into the attribute `labels`."""
    name = "data" if "data" in group else "label_keys"
    times, keys = _numbers(group, "timestamps", faults), _values(group, name, faults)
    if times is None or keys is None:
        return None
    named = [_text(x) for x in np.ravel(group[name].attrs.get("labels", []))]
    if keys.shape != times.shape or keys.dtype.kind not in "iu":
        faults.add(f"{_told(group, name)} has shape {keys.shape} and type {keys.dtype}: expected a number per event")
        return None
    wrong = np.flatnonzero((keys < 0) | (keys >= len(named)))
    if wrong.size:
        faults.add(f"{_told(group, name)} is {keys[wrong[0]]} at {_rows(wrong)}: it has {counted(len(named), 'label')}")
        return None
    return times, times.copy(), [named[k] for k in keys.tolist()]


def _epochs(group: Any, faults: Faults) -> tuple[np.ndarray, np.ndarray, list[str | None]] | None:
    """Read IntervalSeries: +k where k starts, −k where it stops; the name of the series is the label."""
    series = [group] if "data" in group else [group[name] for name in _parts(group)]
    starts, stops, labels = [np.zeros(0)], [np.zeros(0)], []
    before = len(faults)
    for one in series:
        times, marks = _numbers(one, "timestamps", faults), _numbers(one, "data", faults)
        if times is None or marks is None:
            continue
        name, kinds = one.name.rpartition("/")[2], np.unique(np.abs(marks))
        for k in kinds.tolist():
            mine = np.flatnonzero(np.abs(marks) == k)
            if (
                len(marks) != len(times)
                or len(mine) % 2
                or (np.sign(marks[mine]) != np.resize([1, -1], len(mine))).any()
            ):
                faults.add(f"{_told(one)}: starts (+{k:g}) and stops (−{k:g}) do not alternate, each with its time")
                continue
            starts.append(times[mine[::2]])
            stops.append(times[mine[1::2]])
            labels += [name if len(kinds) == 1 else f"{name} {k:g}"] * (len(mine) // 2)
    return None if len(faults) > before else (np.concatenate(starts), np.concatenate(stops), labels)


def _rows(rows: np.ndarray) -> str:
    """Name rows, which NWB counts from 0."""
    return f"row{'s' if len(rows) > 1 else ''} {some(rows.tolist())} (counted from 0)"


def _check_overlap(
    group: Any,
    start: Float[np.ndarray, " bout"],
    stop: Float[np.ndarray, " bout"],
    labels: list[str | None],
    order: Int[np.ndarray, " bout"],
    rounding: float,
    faults: Faults,
) -> None:
    """Refuse bouts that start before an earlier one has ended, or together."""
    until = np.maximum.accumulate(stop)[:-1]
    wrong = np.flatnonzero((start[1:] < until - rounding) | (start[1:] == start[:-1])) + 1
    pairs = []
    for i in wrong[:5].tolist():
        j = int(np.argmax(stop[:i]))
        first, second = sorted([int(order[i]), int(order[j])])
        a, b = (f"{labels[k]!r} from {start[k]:g} to {stop[k]:g} s" for k in (j, i))
        pairs.append(f"rows {first} and {second} ({a}, {b})")
    if pairs:
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        faults.add(
            f"{_told(group)}: bouts overlap, but the animal is in one state at a time: {', '.join(pairs)}{more}; "
            "choose a table with one label at a time, or shorten these rows (counted from 0)"
        )


def _frames(start: Float[np.ndarray, " bout"], rounding: float) -> tuple[np.ndarray, bool]:
    """Stops of events without a duration, and whether they are the frames of a video: these come at a steady rate."""
    apart = np.diff(start)
    usual = float(np.median(apart)) if len(apart) else 0.0
    steady = len(apart) > 2 and float(np.mean(np.abs(apart - usual) <= 0.1 * usual + rounding)) >= 0.9
    return (np.minimum(start + usual, np.append(start[1:], np.inf)), True) if steady else (start.copy(), False)


def _state_names(read: list[_Bouts]) -> tuple[str, ...]:
    """All labels, in the order of the catalogues, then whole numbers, then the alphabet."""
    listed = dict.fromkeys(name for bouts in read for name in bouts.catalogue)
    seen = {name for bouts in read for name in bouts.labels if name is not None}
    return (*listed, *sorted(seen - set(listed), key=_numbers_first))


def _numbers_first(name: str) -> tuple[int, int, str]:
    return (0, int(name), name) if re.fullmatch(r"-?[0-9]{1,18}", name) else (1, 0, name)


def _steps(bouts: _Bouts, state_names: tuple[str, ...], longest_pause: float | int | None) -> _Steps:
    """Make steps of bouts: merge what belongs together, and mark the gaps."""
    number = {name: i for i, name in enumerate(state_names)}
    every = np.array([MISSING if name is None else number[name] for name in bouts.labels])
    kept = np.flatnonzero(every != MISSING)
    states, start, stop = every[kept], bouts.start[kept], bouts.stop[kept]
    apart = np.append(0.0, start[1:] - stop[:-1])
    broken = np.append(False, np.diff(kept) > 1)
    if bouts.observed is not None and len(bouts.observed):
        interval = np.searchsorted(bouts.observed, start + bouts.rounding, side="right")
        broken |= np.append(False, np.diff(interval) != 0)
    limit = _longest_pause(bouts, states, start, stop, apart) if longest_pause is None else float(longest_pause)
    long = apart > limit + bouts.rounding
    gap = broken | long
    changes = np.append(True, states[1:] != states[:-1])
    first = np.flatnonzero(changes | gap) if bouts.merge else np.arange(len(states))
    last = np.append(first[1:], len(states)) - 1
    gaps, states = np.flatnonzero(gap[first]), states[first]
    actions = np.append(states[1:], MISSING)
    actions[gaps - 1] = MISSING
    notes = [f"{bouts.name}: {counted(len(every), 'row')} of {bouts.where} became {counted(len(states), 'step')}"]
    notes += [f"dropped {counted(len(every) - len(kept), 'row')} without a label"] * (len(kept) < len(every))
    if long.any():
        default = " (the median bout; longest_pause= sets another)" if longest_pause is None else ""
        notes.append(f"{counted(int(long.sum()), 'pause')} of more than {limit:.3g} s{default} made gaps")
    return _Steps(states, actions, start[first], stop[last] - start[first], gaps, notes)


def _longest_pause(
    bouts: _Bouts,
    states: Int[np.ndarray, " bout"],
    start: Float[np.ndarray, " bout"],
    stop: Float[np.ndarray, " bout"],
    apart: Float[np.ndarray, " bout"],
) -> float:
    """Median duration of bouts, where rows with the same label that touch are one; no limit between trials."""
    if not bouts.merge:
        return np.inf
    first = np.flatnonzero(np.append(True, (states[1:] != states[:-1]) | (apart[1:] > bouts.rounding)))
    return float(np.median(stop[np.append(first[1:], len(stop)) - 1] - start[first]))
