"""Where an animal was, frame by frame: tracks from DeepLabCut, SLEAP, `movement` and plain tables.

The format is found by content, not by the file's name.  `places` and `visits` make states of tracks.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.errors import Faults, renamed
from swirl.io.body_point import Followed, body_length, bridged, followed, seen_points
from swirl.io.columns import UNITS, plain
from swirl.io.pose_hdf5 import read_hdf5, read_netcdf
from swirl.io.pose_tables import from_frame, read_pose_table
from swirl.io.poses import (
    EXPECTED,
    FRAMES,
    SECONDS,
    Poses,
    from_movement,
    from_sleap,
    hand_labelled,
    recording,
    unseen_at_zero,
)
from swirl.io.pynapple_objects import is_frame, poses_of_frame
from swirl.io.session_keys import name_of_animal
from swirl.io.text_file import beginning
from swirl.text import counted, some

_HDF5, _NETCDF3 = b"\x89HDF\r\n\x1a\n", (b"CDF\x01", b"CDF\x02", b"CDF\x05")


@dataclass(frozen=True)
class Track:
    """The positions of one animal in one session.

    Parameters
    ----------
    name
        The session's name.
    times
        Time of each frame, increasing; shape (frame,).
    positions
        x, y at each frame; NaN where they are not known; shape (frame, 2).
    subject
        The animal.
    signals
        Name → one value (or row) per frame.
    time_unit
        "seconds", or "frames" where the recording has no time base.
    notes
        What was done on the way, in sentences.
    keypoint
        The point of the body that was followed, where the recording has several.
    y_down
        Whether y grows downwards, as in the pixels of a video.
    resumed
        Frames (positions in the arrays) at which the recording goes on after a break, however short: a gap.
    group
        The animal's group, or the condition of the session.

    Examples
    --------
    >>> Track("day 1", [0.0, 0.1], [[3, 4], [3, np.inf]]).positions
    array([[ 3.,  4.],
           [nan, nan]])
    """

    name: str
    times: Any  # lists are welcome; they are arrays from then on
    positions: Any
    subject: Any = None
    signals: dict[str, np.ndarray] | None = None
    time_unit: str = SECONDS
    notes: tuple[str, ...] = ()
    keypoint: str | None = None
    y_down: bool = False
    resumed: tuple[int, ...] = ()
    group: Any = None

    def __post_init__(self) -> None:
        faults, times, positions = Faults(), np.asarray(self.times, float), np.array(self.positions, float)
        if positions.shape != (times.size, 2) or times.ndim != 1:
            faults.add(f"positions have shape {positions.shape} and times {times.shape}: expected (frame, 2), (frame,)")
        elif not np.isfinite(times).all():
            faults.add(f"times are not finite at frame {some(np.flatnonzero(~np.isfinite(times)).tolist())}")
        elif (late := np.flatnonzero(np.diff(times) <= 0) + 1).size:
            faults.add(f"times do not increase at frame {some(late.tolist())}: sort the frames, drop repeated ones")
        for name, signal in (self.signals or {}).items():
            if np.shape(signal)[:1] != (times.size,):
                faults.add(f"signals[{name!r}] has shape {np.shape(signal)}: give one value per frame ({times.size:,})")
        if self.time_unit not in (SECONDS, FRAMES):
            faults.add(f"time_unit={self.time_unit!r}: expected {SECONDS!r} or {FRAMES!r}")
        faults.raise_if_any(f"The track {self.name!r} cannot be built")
        positions[~np.isfinite(positions).all(1)] = np.nan
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "positions", positions)


@renamed(least_confidence="min_confidence")
def read_tracks(
    source: Any,
    *,
    keypoint: str | list[str] | tuple[str, ...] | None = None,
    individual: str | None = None,
    fps: float | int | None = None,
    min_confidence: float | int | None = None,
    columns: Mapping[str, str] | None = None,
    unit: str | None = None,
    time_unit: str | None = None,
    sheet: str | None = None,
) -> list[Track]:
    """Read one track per animal (and session) from a file or object.

    Parameters
    ----------
    source
        Path of a DeepLabCut .csv or .h5, a SLEAP analysis .h5, the netCDF file of a `movement` dataset, EthoVision's
        text or Excel file, or any table with columns x, y and, where there are, t (seconds) or frame, session, subject,
        keypoint, confidence and signals, or with nose_x, nose_y, … for each keypoint, or x1, y1, … for each animal.
        With sleap-io installed also a SLEAP project (.slp). Or the object itself: a `movement` dataset, sleap-io's
        labels, a pandas DataFrame (DeepLabCut's, or with those columns), a pynapple TsdFrame with columns x and y. A
        dict of objects has a session for each.
    keypoint
        The keypoint to follow, just as the file has it; of several, their mean. By default the one in the middle of the
        body, of those that are seen most often (`body_point`); where it is lost, the position moves on as the others do
        (`bridged`). A file whose keypoints do not move as one body is refused: say which.
    individual
        The one animal to read; by default all, each a track of its own.
    fps
        Frames per second, where the file counts frames only. Without it times are frame numbers. Times in seconds that
        are just 1 apart are taken as frames too; `fps=1` says that they are seconds.
    min_confidence
        A keypoint with a lower confidence counts as not seen. By default 0.6, DeepLabCut's own cutoff; for SLEAP, whose
        scores are heights of peaks and no probabilities, 0.
    columns
        What the columns of a plain table are called, where that is not usual: x, y, time or frame, subject, group,
        session (or several columns that tell it together: "mouse,session"). Subject and group may also be what a line
        above the table says, as EthoVision writes it: "Mouse Number".
    unit
        Unit of x and y (px, cm, …), for the notes; by default what the file says.
    time_unit
        Unit of the times in a plain table: s, ms, us, ns or min; by default what the file says, else seconds.
    sheet
        Of an Excel file that has several.

    Returns
    -------
    list of Track
        In the order of the file. Their `notes` tell what was done.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"x": [0.0, 1.0], "y": [5.0, 5.0], "session": ["a", "a"]})
    >>> [track] = read_tracks(frame, fps=30)
    >>> track.name, track.times
    ('a', array([0.        , 0.03333333]))
    """
    if time_unit is not None and plain(time_unit) not in UNITS:
        raise ValueError(f"time_unit={time_unit!r} (--time-unit): expected one of {', '.join(UNITS)}")
    where, name, poses = poses_of(source, columns, time_unit, sheet, fps)
    poses = [unseen_at_zero(one) for one in poses]
    faults, cannot = Faults(), f"No tracks can be read from {where}"
    check_rate(fps, faults)
    if min_confidence is not None and not 0 <= min_confidence < np.inf:
        faults.add(f"min_confidence={min_confidence}: give a number between 0 and 1, e.g. 0.6")
    faults.raise_if_any(cannot)
    chosen, notes = _chosen(poses, individual, faults)
    notes += () if unit is None else (f"x and y are in {unit}",)
    faults.raise_if_any(cannot)
    several = len({(one.session, one.individual) for one in poses}) > len({one.session for one in poses})
    tracks = []
    for parts in dict.fromkeys(one.keypoints for one in chosen):
        alike = [one for one in chosen if one.keypoints == parts]
        points = followed(alike, keypoint, min_confidence, name, faults)
        if points is None:
            continue
        for one in alike:
            label = one.session or name
            label = name_of_animal(label, one.individual) if several and one.individual else label
            try:
                tracks.append(follow(one, points, label, fps, min_confidence, notes + one.notes, faults))
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
    faults.raise_if_any(cannot)
    return [track for track in tracks if track is not None]


def check_rate(fps: float | int | None, faults: Faults) -> None:
    """Note a frame rate that is none."""
    if fps is not None and not 0 < fps < np.inf:
        faults.add(f"fps={fps}: give the video's frames per second, e.g. fps=30")


def poses_of(
    source: Any,
    columns: Mapping[str, str] | None = None,
    time_unit: str | None = None,
    sheet: str | None = None,
    fps: float | int | None = None,
) -> tuple[str, str, list[Poses]]:
    """What to call the source in an error, the recording's name, and its poses.

    `fps` says that rows are frames where no column is called time or frame, whatever dates are there.

    >>> import pandas
    >>> poses_of(pandas.DataFrame({"x": [0.0, 1.0], "y": [5.0, 5.0]}))[2][0].keypoints
    ('position',)
    """
    if hasattr(source, "data_vars"):
        name = Path(str(source.attrs.get("source_file") or "track")).stem
        return "the dataset", name, from_movement(source)
    if isinstance(source, Mapping):
        parts = {str(name): poses_of(part, columns, time_unit, fps=fps)[2] for name, part in source.items()}
        return "the dict", "track", [replace(one, session=name) for name, poses in parts.items() for one in poses]
    if is_frame(source):
        return "the TsdFrame", "track", poses_of_frame(source, columns)
    if hasattr(source, "labeled_frames"):
        if (told := hand_labelled(source)) is not None:
            raise ValueError(f"the labels: {told}")
        return "the labels", "track", from_sleap(source)
    if hasattr(source, "to_pandas"):
        source = source.to_pandas()
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        return "the table", "track", from_frame(source, columns, time_unit, fps)
    if not isinstance(source, str | os.PathLike):
        raise ValueError(f"source is a {type(source).__name__}: {EXPECTED}")
    path = Path(source)
    if not path.is_file():
        got = "is a folder: give one file" if path.is_dir() else "does not exist: check the path"
        raise ValueError(f"{path} {got}; {EXPECTED}")
    if path.suffix.lower() in BRIDGED:
        return str(path), path.stem, _by_sleap_io(path)
    start = beginning(path)
    if start.startswith(_HDF5):
        poses, appended = read_hdf5(path)
        return str(path), recording(path, appended), poses
    if start[:4] in _NETCDF3:
        return str(path), path.stem, read_netcdf(path, "scipy")
    return read_pose_table(path, columns, time_unit, sheet, fps)


BRIDGED = {".slp": "SLEAP's", ".mat": "LEAP's", ".json": "AlphaTracker's"}
"""Endings of files that sleap-io reads, where it is installed, and whose they may be."""


def _by_sleap_io(path: Path) -> list[Poses]:
    """Poses of a SLEAP project, or of another file that sleap-io knows (AlphaTracker, LEAP)."""
    ours = path.suffix.lower() == ".slp"
    export = "export the analysis file (.h5)" if ours else "save the positions as CSV"
    try:
        import sleap_io
    except ImportError:
        whose = "it" if ours else f"a {path.suffix} file, if it is {BRIDGED[path.suffix.lower()]},"
        raise ValueError(
            f"{path} is not read without sleap-io, which reads {whose} once it is installed (`pip install sleap-io`): "
            f"install it, or {export}; {EXPECTED}"
        ) from None
    try:
        labels = sleap_io.load_file(str(path))
        if (told := hand_labelled(labels)) is None:
            return from_sleap(labels)
    except Exception as error:  # whatever a stranger's file makes of a library
        if path.suffix.lower() == ".mat":
            raise ValueError(
                f"{path} is a MATLAB file (.mat) and not one of LEAP's, as sleap-io reads it ({error}): in MATLAB save "
                f"the positions as CSV with writetable; {EXPECTED}"
            ) from None
        raise ValueError(f"{path} cannot be read by sleap-io ({error}): {export}; {EXPECTED}") from None
    raise ValueError(f"{path}: {told}")


def _chosen(poses: list[Poses], individual: str | None, faults: Faults) -> tuple[list[Poses], tuple[str, ...]]:
    """The animals that are asked for; what is left out is noted."""
    names = list(dict.fromkeys(one.individual for one in poses))
    if individual is not None:
        chosen = [one for one in poses if one.individual == individual]
        if not chosen:
            known = some([repr(name) for name in names if name], 20)
            got = f"the animals are {known}" if known else "the animals have no names here; leave it out"
            faults.add(f"individual={individual!r}: {got}")
        return chosen, ()
    # DeepLabCut keeps fixed points of the arena under an "individual" called single.
    chosen = [one for one in poses if one.individual != "single"]
    if chosen and len(chosen) < len(poses):
        return chosen, ("Left out 'single', DeepLabCut's points that belong to no animal.",)
    return poses, ()


def follow(
    poses: Poses, which: Followed, name: str, fps: Any, min_confidence: Any, notes: tuple[str, ...], faults: Faults
) -> Track | None:
    """Follow the keypoints that were chosen, frame by frame; None after a fault.

    >>> nose, tail = [[0.0, 1.0], [np.nan, 0.0]], [[2.0, 3.0], [4.0, 4.0]]
    >>> poses = Poses("m1", ("nose", "tail"), np.stack([nose, tail], axis=1), None, np.arange(2.0))
    >>> follow(poses, Followed(("nose", "tail")), "day 1", 10, 0.6, (), Faults()).positions
    array([[ 1.,  2.],
           [nan, nan]])
    """
    clock = clocked(poses.times, poses.unit, fps, name, faults, poses.of_day)
    if clock is None:
        return None
    times, unit, told = clock
    seen = seen_points(poses, min_confidence)
    xy = np.where(seen[..., None], poses.positions, np.nan)
    index, others = ([poses.keypoints.index(part) for part in parts] for parts in (which.points, which.others))
    position = xy[:, index[0]] if len(index) == 1 else xy[:, index].mean(1)
    lost = np.isnan(position[:, 0])
    notes += told + which.notes
    if others and lost.any() and not lost.all():
        position = bridged(position, xy[:, others], body_length(xy[:, others]))
    left = np.isnan(position[:, 0])
    filled, of = int(lost.sum() - left.sum()), counted(len(lost), "frame")
    if filled:
        notes += (f"{name}: {filled:,} of {of} filled in by the steps of the other keypoints.",)
    if left.any():
        notes += (f"{name}: {int(left.sum()):,} of {of} without a position.",)
    point = which.points[0] if len(which.points) == 1 and len(poses.keypoints) > 1 else None
    return Track(
        name, times, position, poses.individual, poses.signals, unit, notes, point, poses.y_down, poses.resumed,
        poses.group,
    )  # fmt: skip


def clocked(
    times: Float[np.ndarray, " frame"],
    unit: str,
    fps: float | int | None,
    name: str,
    faults: Faults,
    of_day: bool = False,
) -> tuple[np.ndarray, str, tuple[str, ...]] | None:
    """Times, their unit and a note: seconds where the frame rate is known; None after a fault.

    Times that are 1 apart (or 2, 3, … where frames were lost) are frames, whatever the file says of them: `fps` makes
    seconds of them (1: they are). Not where they are times of day (`of_day`).

    >>> clocked(np.arange(3.0), "seconds", 10, "m1", Faults())
    (array([0. , 0.1, 0.2]), 'seconds', ('m1: times that counted frames were divided by fps=10',))
    """
    apart = np.diff(times)
    counts = len(apart) > 1 and np.median(apart) == 1 and (apart == np.round(apart)).all() and not of_day
    if unit == SECONDS and counts and fps != 1:
        if fps is not None:
            start = 0.0 if times[0].is_integer() else times[0]  # a start of 12.5 is in seconds
            note = f"{name}: times that counted frames were divided by fps={fps:g}"
            return start + (times - start) / fps, SECONDS, (note,)
        note = (
            f"BEWARE: the times of {name} are just 1 apart, and were taken as frames although the file says seconds: "
            "give fps (--fps) to have seconds, or fps=1 if there is one position per second"
        )
        return times, FRAMES, (note,)
    if unit == FRAMES and fps is not None:
        return times / fps, SECONDS, ()
    if unit == FRAMES:
        return times, FRAMES, ("BEWARE: times are frame numbers: give fps (--fps) to have seconds.",)
    if fps is not None and len(apart) and not 0.99 < (own := 1 / np.median(apart)) / fps < 1.01:
        faults.add(f"fps={fps}, but the times of {name} have {own:.4g} frames per second: leave fps out")
        return None
    return times, SECONDS, ()
