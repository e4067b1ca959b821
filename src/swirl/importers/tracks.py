"""Where an animal was, frame by frame: tracks from DeepLabCut, SLEAP, `movement` and plain tables.

The format is found by content, not by the file's name.  `places` and `visits` make states of tracks.
"""

import csv
import io
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from swirl.faults import Faults, counted, some
from swirl.importers.track_files import FRAMES, SECONDS, Poses, from_columns, from_movement, read_hdf5, read_netcdf

_EXPECTED = (
    "expected tracks of DeepLabCut (.csv, .h5), SLEAP (analysis .h5) or movement (.nc), "
    "or a table with the columns x, y and perhaps t or frame, session, subject, confidence"
)
_LABELLED = "expected frame numbers: hand-labelled frames are no tracks, give the file that DeepLabCut made of a video"
_ALIASES = {
    "t": ("t", "time", "times", "timestamp", "timestamps", "seconds"),
    "frame": ("frame", "frames"),
    "session": ("session", "session_id"),
    "subject": ("subject", "subject_id", "individual", "animal"),
    "confidence": ("confidence", "likelihood", "score"),
}
_LONGEST_LINE = 2**24
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


def read_tracks(
    source: Any,
    *,
    keypoint: str | list[str] | tuple[str, ...] | None = None,
    individual: str | None = None,
    fps: float | int | None = None,
    least_confidence: float | int = 0.6,
) -> list[Track]:
    """Read one track per animal (and session) from a file or object.

    Parameters
    ----------
    source
        Path of a DeepLabCut .csv or .h5, a SLEAP analysis .h5, the netCDF file of a `movement` dataset, or a CSV
        with columns x, y and, where there are, t (seconds) or frame, session, subject, confidence and signals.
        Or the object itself: a `movement` dataset, a pandas DataFrame (DeepLabCut's, or with those columns).
    keypoint
        The keypoint(s) to follow; of several, the mean. By default of all.
    individual
        The one animal to read; by default all.
    fps
        Frames per second, where the file counts frames only. Without it times are frame numbers.
    least_confidence
        A keypoint with a lower confidence counts as not seen; a frame without a keypoint has no position.

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
    where, name, poses = _poses_of(source)
    faults, cannot = Faults(), f"No tracks can be read from {where}"
    if fps is not None and not 0 < fps < np.inf:
        faults.add(f"fps={fps}: give the video's frames per second, e.g. fps=30")
    if not 0 <= least_confidence < np.inf:
        faults.add(f"least_confidence={least_confidence}: give a number between 0 and 1, e.g. 0.6")
    faults.raise_if_any(cannot)
    chosen, notes = _chosen(poses, individual, faults)
    faults.raise_if_any(cannot)
    several = len({(one.session, one.individual) for one in poses}) > len({one.session for one in poses})
    tracks = []
    for one in chosen:
        label = one.session or name
        label = f"{label} {one.individual}" if several and one.individual else label
        track = _track(one, label, keypoint, fps, float(least_confidence), notes, faults)
        if track is not None:
            tracks.append(track)
    faults.raise_if_any(cannot)
    if not any(np.isfinite(track.positions).any() for track in tracks):
        best = [one.confidence for one in chosen if one.confidence is not None and np.isfinite(one.confidence).any()]
        got = f"; the highest confidence is {max(map(np.nanmax, best)):.2g}" if best else ""
        faults.add(f"no frame has a position with a confidence of least_confidence={least_confidence} or more{got}")
    faults.raise_if_any(cannot)
    return tracks


def _poses_of(source: Any) -> tuple[str, str, list[Poses]]:
    """What to call the source in an error, the recording's name, and its poses."""
    if hasattr(source, "data_vars"):
        name = Path(str(source.attrs.get("source_file") or "track")).stem
        return "the dataset", name, from_movement(source)
    if hasattr(source, "to_pandas"):
        source = source.to_pandas()
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        if source.columns.nlevels > 1:
            columns = [tuple(map(str, column)) for column in source.columns]
            return "the table", "track", _deeplabcut(columns, source, "the table", "row {}".format)
        return "the table", "track", _plain(source, "the table", "row {}".format)
    if not isinstance(source, str | os.PathLike):
        raise ValueError(f"source is a {type(source).__name__}: {_EXPECTED}")
    path = Path(source)
    if not path.is_file():
        got = "is a folder: give one file" if path.is_dir() else "does not exist: check the path"
        raise ValueError(f"{path} {got}; {_EXPECTED}")
    with path.open("rb") as file:
        head = file.read(65536)
    if head.startswith(_HDF5):
        poses, appended = read_hdf5(path)
        return str(path), _recording(path, appended), poses
    if head[:4] in _NETCDF3:
        return str(path), path.stem, read_netcdf(path, "scipy")
    if not head.strip():
        raise ValueError(f"{path} is empty: {_EXPECTED}")
    if b"\0" in head or head.startswith((b"\x80", b"PAR1", b"PK\x03\x04", b"\x1f\x8b")):
        raise ValueError(f"{path} is neither text (in UTF-8) nor HDF5: {_EXPECTED}")
    return _text(path)


def _recording(path: Path, appended: str) -> str:
    """Name the video: DeepLabCut appends the network's name to it, SLEAP ".analysis"."""
    return (path.stem.split(appended)[0] if appended.startswith(("DLC", ".")) else "") or path.stem


def _text(path: Path) -> tuple[str, str, list[Poses]]:
    """Read a CSV: DeepLabCut's, with three or four lines of header, or a plain table with one."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [file.readline(_LONGEST_LINE) for _ in range(5)]
        separator = max(",;\t", key=lines[0].count)
        top = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO("".join(lines)), delimiter=separator)]
        if top and top[0] and top[0][0].lower() == "scorer":
            n = 4 if len(top) > 1 and top[1][:1] == ["individuals"] else 3
            levels = [row[1:] for row in top[:n]]
            if len(levels) < n or len({len(level) for level in levels}) != 1:
                raise ValueError(f"{path}: the {n} header lines have different lengths; {_EXPECTED}")
            frame = _frame(path, separator, lines, skip=n)
            if frame.shape[1] != len(levels[0]) + 1:
                cells = f"{frame.shape[1]} cells, but the header has {len(levels[0]) + 1}"
                raise ValueError(f"{path}, line {n + 1}: {cells}; export the tracks again")
            columns = list(zip(*levels, strict=True))
            poses = _deeplabcut(columns, frame.set_index(0), str(path), lambda i: f"line {i + n + 1}")
            return str(path), _recording(path, levels[0][0]), poses
        frame = _frame(path, separator, lines, skip=0)
        return str(path), path.stem, _plain(frame, str(path), lambda i: f"line {i + 2}")
    except UnicodeDecodeError as error:
        got = f"byte {error.object[error.start]:#04x}" if isinstance(error.object, bytes) else "a byte"
        raise ValueError(f"{path} is not text in UTF-8 ({got}): save it as CSV UTF-8") from None
    except csv.Error as error:
        raise ValueError(f"{path} is no table ({error}): {_EXPECTED}") from None


def _frame(path: Path, separator: str, lines: list[str], skip: int) -> Any:
    """Let pandas read the cells; blank lines stay, so that rows can be counted as an editor does."""
    import pandas as pd

    header = next(csv.reader(lines[:1], delimiter=separator, skipinitialspace=True), [])
    labels = [] if skip else [column for column in header if _meaning(column) in ("session", "subject")]
    body = "".join(lines[max(skip, 1) :])
    try:
        frame = pd.read_csv(
            path,
            sep=separator,
            encoding="utf-8-sig",
            skiprows=skip,
            header=None if skip else 0,
            skip_blank_lines=False,
            skipinitialspace=True,
            low_memory=False,
            decimal="," if separator != "," and "," in body and "." not in body else ".",
            dtype=dict.fromkeys(labels, str),  # "007" is a name
        )
    except pd.errors.ParserError as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        got = f", line {found[2]}: {found[3]} cells, but {found[1]} before" if found else f": {error}"
        raise ValueError(f"{path}{got}; every line needs one cell per column") from None
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} holds no frames: {_EXPECTED}") from None
    if not isinstance(frame.index, pd.RangeIndex):
        raise ValueError(f"{path}, line 2: more cells than column names in line 1; every column needs a name")
    return frame


def _meaning(column: Any) -> str:
    name = str(column).strip().lower()
    return next((meaning for meaning, aliases in _ALIASES.items() if name in aliases), name)


def _numbers(column: Any, title: str, where: str, row: Callable[[int], str], faults: Faults) -> np.ndarray:
    """Read a column as floats, NaN where empty."""
    import pandas as pd

    if column.dtype.kind in "iuf":
        return column.to_numpy(float, na_value=np.nan)
    coerced: Any = pd.to_numeric(column, errors="coerce")
    read = coerced.to_numpy(float, na_value=np.nan)
    wrong = np.flatnonzero(np.isnan(read) & ~column.isna().to_numpy())
    if wrong.size:
        lines = some([row(int(i)) for i in wrong], 3)
        faults.add(f"{where}, {lines}, column {title}: {column.iloc[wrong[0]]!r} is not a number")
    return read


def _deeplabcut(columns: list[tuple[str, ...]], frame: Any, where: str, row: Callable[[int], str]) -> list[Poses]:
    """Poses of DeepLabCut's table, whose index counts the frames."""
    if frame.index.nlevels > 1:
        raise ValueError(f"{where} is indexed by {some(frame.index.names)}; {_LABELLED}")
    faults, rows = Faults(), np.flatnonzero(~frame.isna().all(axis=1).to_numpy() | ~frame.index.isna())
    frames = _numbers(frame.index.to_series(), "1", where, row, faults)
    if len(faults):
        raise ValueError(f"{faults.messages[0]}; {_LABELLED}")
    values = [_numbers(frame.iloc[:, i], " ".join(c), where, row, faults) for i, c in enumerate(columns)]
    _increasing("frame", frames, rows, where, row, faults)
    faults.raise_if_any(f"No tracks can be read from {where}")
    if not rows.size:
        raise ValueError(f"{where} holds no frames: {_EXPECTED}")
    return from_columns(columns, frames[rows], np.column_stack(values)[rows], where)


def _increasing(title: str, times: np.ndarray, rows: np.ndarray, where: str, row: Any, faults: Faults) -> None:
    empty, late = rows[~np.isfinite(times[rows])], rows[1:][np.diff(times[rows]) <= 0]
    if empty.size:
        faults.add(f"{where}, {some([row(int(i)) for i in empty], 3)}, column {title}: no time; give one to each row")
    elif late.size:
        got = f"{where}, {some([row(int(i)) for i in late], 3)}, column {title}: {times[late[0]]:g}"
        faults.add(f"{got} is not after the row before: sort the rows, or name the sessions in a column session")


def _plain(frame: Any, where: str, row: Callable[[int], str]) -> list[Poses]:
    """Poses of a table with one row per frame, one keypoint called "position"."""
    import pandas as pd

    meanings, cannot = [_meaning(column) for column in frame.columns], f"No tracks can be read from {where}"
    faults, at = Faults(), {}
    for i, meaning in enumerate(meanings):
        at.setdefault(meaning, i)
    missing = [name for name in ("x", "y") if name not in at]
    if missing:
        faults.add(f"no column {some(missing)} among {some(list(map(str, frame.columns)), 10)}: {_EXPECTED}")
        faults.raise_if_any(cannot)
    full = ~frame.isna().all(axis=1).to_numpy()
    title = {name: str(frame.columns[i]) for name, i in at.items()}
    numeric = [name for name in ("x", "y", "t", "frame", "confidence") if name in at]
    read = {name: _numbers(frame.iloc[:, at[name]], title[name], where, row, faults) for name in numeric}
    # "unnamed: 0" is the index that pandas writes along.
    others = {name: i for name, i in at.items() if name not in ("x", "y", *_ALIASES) and "unnamed" not in name}
    signals = {title[name]: i for name, i in others.items() if frame.dtypes.iloc[i].kind in "iuf"}
    owner = {}
    for name in ("session", "subject"):
        if name in at:
            labels = frame.iloc[:, at[name]]
            empty = np.flatnonzero(labels.isna().to_numpy() & full)
            if empty.size:
                lines = some([row(int(i)) for i in empty], 3)
                faults.add(f"{where}, {lines}, column {title[name]}: empty; give each row its {name}")
            owner[name] = labels.astype(str).to_numpy(object)
    faults.raise_if_any(cannot)
    there, codes = np.flatnonzero(full), np.zeros(int(full.sum()), np.int64)
    for labels in owner.values():
        numbers = pd.factorize(labels[full])[0]
        codes = codes * (numbers.max(initial=0) + 1) + numbers
    codes = pd.factorize(codes)[0]  # in the order of first appearance
    groups = np.split(there[np.argsort(codes, kind="stable")], np.cumsum(np.bincount(codes))[:-1])
    clock, poses = next((name for name in ("t", "frame") if name in at), None), []
    for rows in groups if there.size else []:
        session, subject = (owner[name][rows[0]] if name in owner else None for name in ("session", "subject"))
        if clock:
            _increasing(title[clock], read[clock], rows, where, row, faults)
        poses.append(
            Poses(
                subject,
                ("position",),
                np.stack([read["x"][rows], read["y"][rows]], axis=1)[:, None],
                read["confidence"][rows, None] if "confidence" in read else None,
                read[clock][rows] if clock else np.arange(len(rows), dtype=float),
                SECONDS if clock == "t" else FRAMES,
                session,
                {name: frame.iloc[rows, i].to_numpy(float, na_value=np.nan) for name, i in signals.items()} or None,
            )
        )
    if not poses:
        faults.add(f"{where} holds no rows: {_EXPECTED}")
    faults.raise_if_any(cannot)
    return poses


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


def _track(
    poses: Poses, name: str, keypoint: Any, fps: Any, least: float, notes: tuple[str, ...], faults: Faults
) -> Track | None:
    """Follow the mean of the confident keypoints; None after a fault."""
    wanted = list(poses.keypoints) if keypoint is None else [keypoint] if isinstance(keypoint, str) else list(keypoint)
    unknown = [repr(part) for part in wanted if part not in poses.keypoints]
    if unknown or not wanted:
        known = some(list(map(repr, poses.keypoints)), 30)
        faults.add(f"keypoint={keypoint!r}: {name} has no {some(unknown) or 'such keypoint'}; it has {known}")
        return None
    index = [poses.keypoints.index(part) for part in wanted]
    positions = poses.positions[:, index]
    seen = np.asarray(np.isfinite(positions).all(-1))
    if poses.confidence is not None:
        seen &= ~(poses.confidence[:, index] < least)  # a confidence that is not known is no objection
    n = seen.sum(1)
    mean = np.where(seen[..., None], positions, 0.0).sum(1) / np.where(n, n, np.nan)[:, None]
    times, unit = poses.times, poses.unit
    if unit == FRAMES and fps is not None:
        times, unit = times / fps, SECONDS
    elif unit == FRAMES:
        notes += ("Times are frame numbers: give fps to have seconds.",)
    elif fps is not None and len(times) > 1 and not 0.99 < (own := 1 / np.median(np.diff(times))) / fps < 1.01:
        faults.add(f"fps={fps}, but the times of {name} have {own:.4g} frames per second: leave fps out")
        return None
    if keypoint is None and len(wanted) > 1:
        notes += (
            f"The position is the mean of the confident ones of {len(wanted)} keypoints "
            f"({some(wanted, 4)}); keypoint={wanted[0]!r} would follow that one alone.",
        )
    lost = int(np.count_nonzero(n == 0))
    if lost:
        notes += (f"{name}: {lost:,} of {counted(len(n), 'frame')} without a position.",)
    return Track(name, times, mean, poses.individual, poses.signals, unit, notes)
