"""Positions in NWB files: a SpatialSeries, or the body parts of a PoseEstimation, as tracks."""

from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.faults import Faults, counted, some
from swirl.importers.nwb_file import number_attribute, place, read_numbers, read_values, series_in, session_and_subject
from swirl.importers.track_files import SECONDS
from swirl.importers.tracks import Track, clocked


def read_track(
    group: Any, kind: str, keypoint: Any, least_confidence: float | int, fps: float | int | None, faults: Faults
) -> Track | None:
    """Read the positions of one animal, of a pose the mean of the keypoints; None after a fault."""
    series, notes, (name, subject) = [group], (), session_and_subject(group.file)
    if kind == "pose":
        parts = series_in(group)
        wanted = parts if keypoint is None else [keypoint] if isinstance(keypoint, str) else list(keypoint)
        unknown = [repr(part) for part in wanted if part not in parts]
        if unknown or not wanted:
            there = some([repr(part) for part in parts], 40)
            faults.add(f"keypoint={keypoint!r}: {place(group)} has no {some(unknown) or 'keypoint'}; it has {there}")
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
            f"{place(group)}: keypoints have different numbers of frames: {lengths}; choose keypoints that agree"
        )
        return None
    seen = np.stack([np.isfinite(positions).all(1) for positions in known])
    total = sum(np.where(s[:, None], positions, 0.0) for s, positions in zip(seen, known, strict=True))
    n = seen.sum(0)
    if not n.any():
        faults.add(f"{place(group)} has no position with a confidence of least_confidence={least_confidence} or more")
        return None
    if (n == 0).any():
        notes += (f"{name}: {int((n == 0).sum()):,} of {counted(len(n), 'frame')} without a position",)
    clock = clocked(times, SECONDS, fps, name, faults)
    if clock is None:
        return None
    times, unit, told = clock
    return Track(name, times, total / np.where(n, n, np.nan)[:, None], subject, time_unit=unit, notes=(*told, *notes))


def _positions(series: Any, least_confidence: float | int, faults: Faults) -> Float[np.ndarray, "frame 2"] | None:
    """Read x and y of one series, NaN where they are not confident; None after a fault."""
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
    positions = data[:, :2] * conversion + offset
    if sure is not None:
        positions[sure < least_confidence] = np.nan  # a confidence that is not known is no objection
    return positions


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
