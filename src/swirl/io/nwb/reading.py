"""NWB files: positions, poses and labelled intervals, read straight from the HDF5 layout that the schema lays down.

`file` opens a file and finds what is in it; positions (a SpatialSeries, or the body parts of a PoseEstimation) are read
here as tracks, intervals by `bouts`.  pynwb is not needed; an `NWBFile` that it has open is read just so.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.data.segments import DURATION
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults, renamed
from swirl.io.body_point import followed, wanted_keypoints
from swirl.io.label_runs import numbers_first
from swirl.io.nwb.bouts import all_labels, make_steps, read_bouts, read_intervals
from swirl.io.nwb.file import (
    BOUTS,
    TRACKS,
    Source,
    chosen,
    columns_for_labels,
    find_readable,
    number_attribute,
    opened,
    path_list,
    place,
    read_numbers,
    read_values,
    series_in,
    session_and_subject,
    text_of,
    told_apart,
)
from swirl.io.poses import SECONDS, Poses, cutoff
from swirl.io.tracks import Track, check_rate, follow
from swirl.text import some


def read_track(
    group: Any, kind: str, keypoint: Any, min_confidence: float | int | None, fps: float | int | None, faults: Faults
) -> Track | None:
    """Read the positions of one animal, of a pose those of one keypoint; None after a fault."""
    series, keypoint = [group], keypoint if kind == "pose" else None
    if kind == "pose":
        wanted = wanted_keypoints(keypoint, series_in(group), place(group), faults)
        if wanted is None:
            return None
        series = [group[part] for part in wanted]
    read = [_positions(one, faults) for one in series]
    times = _times(series[0], len(read[0][0]), faults) if read[0] is not None else None
    known = [found for found in read if found is not None]
    if times is None or len(known) < len(read):
        return None
    if len({len(positions) for positions, _ in known}) > 1:
        lengths = some([f"{len(x):,} ({one.name})" for (x, _), one in zip(known, series, strict=True)], 10)
        faults.add(
            f"{place(group)}: keypoints have different numbers of frames: {lengths}; choose keypoints that agree"
        )
        return None
    positions = np.stack([positions for positions, _ in known], axis=1)
    sure = np.stack([np.full(len(x), np.nan) if sure is None else sure for x, sure in known], axis=1)
    name, subject = session_and_subject(group.file)
    program = text_of(group["source_software"][()]) if kind == "pose" and "source_software" in group else None
    poses = Poses(
        subject,
        tuple(one.name.rpartition("/")[2] for one in series),
        positions,
        sure,
        times,
        SECONDS,
        min_confidence=cutoff(program or ""),
        y_down=kind == "pose",
    )
    points = followed([poses], keypoint, min_confidence, place(group), faults)
    return None if points is None else follow(poses, points, name, fps, min_confidence, (), faults)


def _positions(series: Any, faults: Faults) -> tuple[Float[np.ndarray, "frame 2"], np.ndarray | None] | None:
    """Read x and y of one series, and how sure they are where it says so; None after a fault."""
    before, data = len(faults), read_values(series, "data", faults)
    if data is None:
        return None
    if data.dtype.kind not in "iuf":
        faults.add(f"{place(series, 'data')} holds {data.dtype}: expected numbers")
    elif data.ndim == 1 or (data.ndim == 2 and data.shape[1] == 1):
        faults.add(
            f"{place(series, 'data')} is one-dimensional, a position along a line: swirl makes places from x and y; "
            "divide the line into sections yourself, and give a table with one row per step (state = section)"
        )
    elif data.ndim != 2 or data.shape[1] not in (2, 3):
        turned = ": it seems to be transposed" if data.ndim == 2 and data.shape[0] in (2, 3) else ""
        faults.add(f"{place(series, 'data')} has shape {data.shape}: expected (frame, 2) or (frame, 3){turned}")
    sure = read_numbers(series, "confidence", faults, len(data)) if "confidence" in series and data.ndim else None
    conversion, offset = (number_attribute(series["data"], *of) for of in (("conversion", 1.0), ("offset", 0.0)))
    if not np.isfinite([conversion, offset]).all():
        faults.add(f"{place(series, 'data')} has the conversion {conversion} and the offset {offset}: expected numbers")
    if len(faults) > before:
        return None
    return data[:, :2] * conversion + offset, sure


def _times(series: Any, length: int, faults: Faults) -> Float[np.ndarray, " frame"] | None:
    """Read the time of each sample, in seconds; None after a fault."""
    if "timestamps" in series:
        times = read_numbers(series, "timestamps", faults, length)
        late = np.flatnonzero(~(np.diff(times) > 0)) + 1 if times is not None else np.zeros(0, int)
        if late.size or (length and times is not None and not np.isfinite(times[[0, -1]]).all()):
            at = some(late.tolist()) or "the ends"
            faults.add(f"{place(series, 'timestamps')} are not finite and increasing at frame {at}: correct the file")
            return None
        return times
    start = series.get("starting_time")
    rate = np.nan if start is None else number_attribute(start, "rate", np.nan)
    if start is None or not rate > 0 or not np.isfinite(rate):
        faults.add(f"{place(series)} has neither timestamps nor a starting_time with a rate: its times are not known")
        return None
    return float(start[()]) + np.arange(length) / rate


_NO_POSITIONS = "Positions cannot be read from NWB"


def contents(path: Source) -> list[dict[str, Any]]:
    """List what swirl can read in an NWB file (or an open `pynwb.NWBFile`).

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
    with opened(path) as file:
        return [_described(file[where], kind) for kind, where in find_readable(file)]


@renamed(least_confidence="min_confidence")
def read_nwb_tracks(
    path: Source | Sequence[Source],
    *,
    series: str | None = None,
    keypoint: str | list[str] | tuple[str, ...] | None = None,
    individual: str | None = None,
    fps: float | int | None = None,
    min_confidence: float | int | None = None,
    callback: Callable[[Any], Any] | None = None,
) -> list[Track]:
    """Read positions: a SpatialSeries, or the body parts of an ndx-pose PoseEstimation.

    Positions are in the unit of the file (`conversion` and `offset` applied), NaN where they are not known; of three
    dimensions the first two are kept.  A session is named by its `session_id`, else by its `identifier`; where
    two have the same name, by their files.

    Parameters
    ----------
    path
        An NWB file, or a list of them (one session each). Instead of a path also an open `pynwb.NWBFile`, wherever its
        values lie (on disk, in the cloud, in Zarr, in memory).
    series
        Path inside the file, or its last part, where it holds several: "/processing/behavior/Position/left".
    keypoint
        The body part of a pose to follow; of several, their mean. By default one in the middle (`io.body_point`).
    individual
        The one animal to read: the subject of the file, or the name of a series or pose in it (also "track=NAME").
    fps
        Frames per second, where the times count frames. Times that are just 1 apart are taken as frames, although NWB
        means seconds; `fps=1` says that they are seconds.
    min_confidence
        A body part with less confidence counts as not seen; by default 0.6, for SLEAP 0.
    callback
        Called with each file before it is read.

    Examples
    --------
    >>> read_nwb_tracks("m1.nwb", series="Position/left")  # doctest: +SKIP
    [Track(name='day 2', ..., subject='m1')]
    """
    faults, tracks, paths = Faults(), [], path_list(path)
    check_rate(fps, faults)
    faults.raise_if_any(_NO_POSITIONS)
    for one in paths:
        if callback is not None:
            callback(one)
        with opened(one) as file:
            kinds = ("pose",) if keypoint is not None and series is None else TRACKS
            before = len(faults)
            own = None if individual is None else _series_of(file, individual, kinds, series, faults)
            found = chosen(file, kinds, "series", series or own, faults) if len(faults) == before else None
            if found is None:
                continue
            track = read_track(file[found[1]], found[0], keypoint, min_confidence, fps, faults)
            if track is not None:
                tracks.append(track if own is None else replace(track, subject=individual))
    faults.raise_if_any(_NO_POSITIONS)
    names = told_apart([track.name for track in tracks], paths)
    return [replace(track, name=name) for track, name in zip(tracks, names, strict=True)]


def _series_of(file: Any, individual: str, kinds: tuple[str, ...], series: str | None, faults: Faults) -> str | None:
    """The series that is called like an animal; None where the animal is the subject of the file, and after a fault."""
    there = [where for kind, where in find_readable(file) if kind in kinds]
    called = [where for where in there if individual in re.split("[/=]", where)]
    if series is not None:
        called = [where for where in called if f"{where}/".endswith(f"/{series.strip('/')}/")]
    subject = session_and_subject(file)[1]
    if len(called) == 1:
        return called[0]
    if not called and subject != individual:
        of = f"is of {subject!r}" if subject else "does not say of which animal it is"
        faults.add(
            f"individual={individual!r}: {file.filename} {of}, and none of its series is called so; it holds "
            f"{some(there, 20) or 'none'}: give another individual, or choose a series (--series)"
        )
    return None


@renamed(longest_pause="max_pause")
def read_nwb_bouts(
    path: Source | Sequence[Source],
    *,
    table: str | None = None,
    label: str | None = None,
    max_pause: float | int | None = None,
    callback: Callable[[Any], Any] | None = None,
) -> Trajectories:
    """Read labelled intervals or events: one step per bout, state = its label, action = the next label.

    Tables of intervals (trials, epochs, any TimeIntervals), EthogramBouts, EventsTable, LabeledEvents and
    BehavioralEpochs (where the name of each series is the label) are read.  The time of a step is the start of its
    bout, and the signal "duration" is how long it lasted.

    Bouts of behaviour that follow each other with the same label are one step, and a pause that is too long to be
    overlooked is a gap.  Trials and events without a duration are steps of their own, and pauses between them are gaps
    only where `max_pause` says so; but events at a steady rate are the frames of a video, and are read as bouts.
    Bouts may not overlap.  Rows without a label are dropped and leave a gap; between two `observation_intervals` of
    EthogramBouts there is a gap too.  `invalid_times` are not looked at: they often mean another instrument.

    Parameters
    ----------
    path
        An NWB file, or a list of them (one session each; labels are numbered alike in all). Instead of a path also an
        open `pynwb.NWBFile`.
    table
        Path inside the file, or its last part, where it holds several: "/intervals/trials".
    label
        The column with the label, where there are several.
    max_pause
        Seconds without a bout that are not yet a gap. By default the median duration of the bouts, since another
        bout would have had room in a longer pause; ``inf`` for no such gaps.
    callback
        Called with each file before it is read.

    Examples
    --------
    >>> read_nwb_bouts("m1.nwb", table="trials", label="choice").state_names  # doctest: +SKIP
    ('left', 'right')
    """
    faults, read, paths = Faults(), [], path_list(path)
    if max_pause is not None and not max_pause >= 0:
        faults.add(f"max_pause={max_pause}: give seconds, 0 or more")
    for one in paths:
        if callback is not None:
            callback(one)
        with opened(one) as file:
            found = chosen(file, BOUTS, "table", table, faults)
            bouts = None if found is None else read_bouts(file[found[1]], found[0], label, faults)
            read += [] if bouts is None else [bouts]
    faults.raise_if_any("Bouts cannot be read from NWB")
    state_names = all_labels(read)
    steps = [make_steps(bouts, state_names, max_pause) for bouts in read]
    durations = [s.durations for s in steps]
    return Trajectories(
        states=[s.states for s in steps],
        actions=[s.actions for s in steps],
        names=told_apart([bouts.name for bouts in read], paths),
        subjects=[bouts.subject for bouts in read],
        times=[s.times for s in steps],
        gaps=[s.gaps for s in steps],
        signals={DURATION: durations} if any(d.any() for d in durations) else None,
        state_names=state_names,
        action_names=state_names,
        notes=[note for s in steps for note in s.notes],
    )


def _described(group: Any, kind: str) -> dict[str, Any]:
    """One entry of `contents`; what cannot be read is None or empty there."""
    nothing, shape, rate, times = Faults(), None, None, None
    columns, labels = (), ()
    if kind in TRACKS:
        labels = tuple(series_in(group)) if kind == "pose" else ()
        one = group[labels[0]] if labels else group
        shape = getattr(one.get("data"), "shape", None)
        if shape and shape[0] and "timestamps" in one:
            times = (float(one["timestamps"][0]), float(one["timestamps"][-1]))
        elif shape and shape[0] and "starting_time" in one:
            start, rate = float(one["starting_time"][()]), number_attribute(one["starting_time"], "rate", np.nan)
            times = (start, start + (shape[0] - 1) / rate if rate else np.nan)
    else:
        columns = tuple(columns_for_labels(group))
        shape = (len(group["id"]), len(columns)) if "id" in group else None
        read = read_intervals(group, kind, None, nothing)
        if read is not None and len(read[0]):
            shape, times = shape or (len(read[0]),), (float(np.min(read[0])), float(np.max(read[1])))
            labels = tuple(sorted({x for x in read[2] if x is not None}, key=numbers_first))
    of = text_of(group.attrs.get("neurodata_type"))
    found = {"kind": kind, "path": group.name, "type": of, "shape": shape, "rate": rate, "times": times}
    return {**found, "columns": columns, "labels": labels}


def described(entry: dict[str, Any]) -> str:
    """An entry of `contents` as a line to read.

    >>> entry = {"kind": "pose", "path": "/processing/behavior/arm", "type": "PoseEstimation", "shape": (750, 2)}
    >>> described({**entry, "rate": 25.0, "times": (0.0, 29.96), "columns": (), "labels": ("nose", "tail")})
    'pose /processing/behavior/arm (PoseEstimation): 750 frames, 0 to 29.96 s, 25 per second; body parts nose, tail'
    """
    kind, shape, times, rate = entry["kind"], entry["shape"], entry["times"], entry["rate"]
    told = [f"{shape[0]:,} {'frames' if kind in TRACKS else 'rows'}"] if shape else []
    told += [f"{times[0]:g} to {times[1]:g} s"] if times else []
    told += [f"{rate:g} per second"] if rate else []
    more = [f"{'body parts' if kind == 'pose' else 'labels'} {some(entry['labels'], 12)}"] if entry["labels"] else []
    more += [f"columns {some(entry['columns'], 12)}"] if entry["columns"] else []
    of = f" ({entry['type']})" if entry["type"] else ""
    return f"{kind} {entry['path']}{of}: " + "; ".join([", ".join(told) or "nothing that can be read", *more])
