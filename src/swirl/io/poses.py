"""Poses: keypoints of one animal, frame by frame, out of tables (text or pandas) and of `movement` datasets in memory.

Tables are DeepLabCut's, with three or four lines of header, or plain ones with x and y.  Binary files are read by
`pose_hdf5`.
"""

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.errors import Faults, needing
from swirl.io.columns import nearest
from swirl.io.text_table import as_numbers, utf8_text
from swirl.text import some

FRAMES, SECONDS = "frames", "seconds"
CUTOFF = 0.6
"""Below this likelihood DeepLabCut takes a keypoint for not seen (its `pcutoff`)."""


def cutoff(program: str) -> float:
    """The confidence below which a keypoint counts as not seen; SLEAP's scores are heights of peaks: none is too low.

    >>> cutoff("SLEAP v1.3.4"), cutoff("DeepLabCut")
    (0.0, 0.6)
    """
    return 0.0 if "sleap" in program.lower() else CUTOFF


EXPECTED = (
    "expected tracks of DeepLabCut (.csv, .h5), SLEAP (analysis .h5), movement (.nc) or EthoVision (text), "
    "or a table with the columns x, y and perhaps t or frame, session, subject, confidence (or name them: --x, --y, "
    "--time, --frame, --session, --subject)"
)
_LABELLED = "expected frame numbers: hand-labelled frames are no tracks, give the file that DeepLabCut made of a video"
_ALIASES = {
    "x": ("x", "x center", "x centre", "centre position x", "center position x", "x_center", "pos_x", "x (cm)", "x_cm"),
    "y": ("y", "y center", "y centre", "centre position y", "center position y", "y_center", "pos_y", "y (cm)", "y_cm"),
    "t": ("t", "time", "times", "timestamp", "timestamps", "seconds", "trial time", "time (s)", "time_s"),
    "frame": ("frame", "frames", "frame number", "frame_number"),
    "session": ("session", "session_id"),
    "subject": ("subject", "subject_id", "individual", "animal"),
    "confidence": ("confidence", "likelihood", "score"),
}
ROLES = {"x": "x", "y": "y", "time": "t", "frame": "frame", "subject": "subject", "session": "session"}
"""Columns of a plain table that may be named, and what they are called here."""
_ETHOVISION = "header lines:"  # "Number of header lines:" in most versions
_MAX_TEXT = 2**33
PACKED = (b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b")
"""How a text begins that is UTF-16 or packed by gzip."""
_MAX_LINE = 2**24


@dataclass(frozen=True)
class Poses:
    """One animal in one recording, as its file tells it.

    `min_confidence` is the program's own cutoff, and `y_down` says that y grows downwards, as in the pixels of a video.

    Examples
    --------
    >>> Poses(None, ("nose",), np.zeros((3, 1, 2)), None, np.arange(3.0)).unit
    'frames'
    """

    individual: str | None
    keypoints: tuple[str, ...]
    positions: Float[np.ndarray, "frame keypoint 2"]
    confidence: Float[np.ndarray, "frame keypoint"] | None
    times: Float[np.ndarray, " frame"]
    unit: str = FRAMES
    session: str | None = None
    signals: dict[str, np.ndarray] | None = None
    min_confidence: float = CUTOFF
    y_down: bool = False


def from_movement(dataset: Any, where: str = "the dataset") -> list[Poses]:
    """Take poses (or bounding boxes) from a dataset with the names that `movement` gives.

    Dimensions are time, space, keypoint and individual, the last two singular or plural (before movement 0.17), or
    absent; variables are position and, if there is one, confidence.

    Examples
    --------
    >>> import xarray
    >>> dataset = xarray.Dataset({"position": (("time", "space"), np.ones((3, 2)))}, attrs={"fps": 30})
    >>> from_movement(dataset)[0].positions.shape
    (3, 1, 2)
    """
    position = dataset.get("position")
    if position is None or not {"time", "space"} <= set(position.dims):
        got = f"the variables {some(list(dataset), 8)}" if position is None else f"position with {some(position.dims)}"
        raise ValueError(f"{where} holds {got}: expected the variable position with dimensions time and space")
    found = [(name if name in position.dims else f"{name}s") for name in ("individual", "keypoint")]
    axes = [name for name in found if name in position.dims]
    other = set(position.dims) - {"time", "space", *axes}
    if other:
        raise ValueError(f"{where}: position has the dimension {some(sorted(other))}: select one, e.g. with .isel")

    def labelled(name: str, n: int) -> list[str]:
        return [str(x) for x in dataset.coords[name].values] if name in dataset.coords else [str(i) for i in range(n)]

    def in_order(variable: Any, *last: str) -> np.ndarray:
        here = [name for name in axes if name in variable.dims]
        values = np.asarray(variable.transpose("time", *here, *last).values, float)
        absent = [1 + i for i, name in enumerate(found) if name not in here]
        return np.expand_dims(values, tuple(absent))

    space = labelled("space", position.sizes["space"])
    xy = [space.index("x"), space.index("y")] if {"x", "y"} <= set(space) else [0, 1]
    positions = in_order(position, "space")[..., xy]
    confidence = in_order(dataset["confidence"]) if "confidence" in dataset else None
    individuals = labelled(found[0], positions.shape[1]) if found[0] in axes else [None]
    keypoints = tuple(labelled(found[1], positions.shape[2])) if found[1] in axes else ("position",)
    times: Any = np.asarray(dataset.coords["time"].values) if "time" in dataset.coords else np.arange(len(positions))
    unit = str(dataset.attrs.get("time_unit") or (SECONDS if dataset.attrs.get("fps") else FRAMES))
    if times.dtype.kind in "mM":
        times, unit = (times - times[:1]) / np.timedelta64(1, "s"), SECONDS
    return [
        Poses(
            name,
            keypoints,
            positions[:, i],
            None if confidence is None else confidence[:, i],
            times.astype(float),
            FRAMES if unit.startswith("frame") else SECONDS,
            min_confidence=cutoff(str(dataset.attrs.get("source_software", ""))),
            y_down=True,
        )
        for i, name in enumerate(individuals)
    ]


def from_columns(columns: list[tuple[str, ...]], frames: np.ndarray, values: np.ndarray, where: str) -> list[Poses]:
    """Make poses of DeepLabCut's columns: (scorer, [individual,] bodypart, coordinate) each.

    Examples
    --------
    >>> columns = [("net", "nose", "x"), ("net", "nose", "y"), ("net", "nose", "likelihood")]
    >>> from_columns(columns, np.arange(2.0), np.array([[1.0, 2, 0.9], [3, 4, 0.8]]), "file").pop().positions[:, 0]
    array([[1., 2.],
           [3., 4.]])
    """
    if not columns or {len(column) for column in columns} not in ({3}, {4}):
        raise ValueError(f"{where}: expected columns named by scorer, (individual,) bodypart and x, y or likelihood")
    parts: dict[str | None, dict[str, dict[str, int]]] = {}
    for i, column in enumerate(columns):
        owner = column[1] if len(column) == 4 else None
        parts.setdefault(owner, {}).setdefault(column[-2], {})[column[-1]] = i
    bare = [name for group in parts.values() for name, at in group.items() if not {"x", "y"} <= set(at)]
    if bare:
        raise ValueError(f"{where}: bodypart {some(bare)} has no x or no y column: export the tracks again")
    poses = []
    for owner, group in parts.items():
        positions = np.stack([values[:, [at["x"], at["y"]]] for at in group.values()], axis=1)
        scored = all("likelihood" in at for at in group.values())
        confidence = values[:, [at["likelihood"] for at in group.values()]] if scored else None
        poses.append(Poses(owner, tuple(group), positions, confidence, frames, y_down=True))
    return poses


def recording(path: Path, appended: str) -> str:
    """Name the video: DeepLabCut appends the network's name to it, SLEAP ".analysis"."""
    return (path.stem.split(appended)[0] if appended.startswith(("DLC", ".")) else "") or path.stem


def read_text(path: Path, columns: Mapping[str, str] | None = None) -> tuple[str, str, list[Poses]]:
    """Read a CSV: DeepLabCut's, with three or four lines of header, EthoVision's, or a plain table with one line.

    `columns` says what those of a plain table are called (`ROLES`), where that is not usual.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(2) in PACKED
        whole = utf8_text(path, _MAX_TEXT) if packed else b""
        with io.StringIO(whole.decode()) if packed else path.open(encoding="utf-8-sig", newline="") as text:
            lines = [text.readline(_MAX_LINE) for _ in range(5)]
        if _ETHOVISION in lines[0].lower():
            data = (whole or utf8_text(path, _MAX_TEXT)).decode()
            separator = max(",;\t", key=lines[0].count)
            rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(data), delimiter=separator)]
            return str(path), path.stem, _of_ethovision(path, rows, columns)
        source = io.BytesIO(whole) if packed else path
        separator = max(",;\t", key=lines[0].count)
        top = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO("".join(lines)), delimiter=separator)]
        if top and top[0] and top[0][0].lower() == "scorer":
            n = 4 if len(top) > 1 and top[1][:1] == ["individuals"] else 3
            levels = [row[1:] for row in top[:n]]
            if len(levels) < n or len({len(level) for level in levels}) != 1:
                raise ValueError(f"{path}: the {n} header lines have different lengths; {EXPECTED}")
            frame = _frame(path, source, separator, lines, skip=n)
            if frame.shape[1] != len(levels[0]) + 1:
                cells = f"{frame.shape[1]} cells, but the header has {len(levels[0]) + 1}"
                raise ValueError(f"{path}, line {n + 1}: {cells}; export the tracks again")
            titles = list(zip(*levels, strict=True))
            poses = _of_deeplabcut(titles, frame.set_index(0), str(path), lambda i: f"line {i + n + 1}")
            return str(path), recording(path, levels[0][0]), poses
        frame = _frame(path, source, separator, lines, skip=0)
        return str(path), path.stem, _of_plain(frame, str(path), lambda i: f"line {i + 2}", columns)
    except UnicodeDecodeError as error:
        got = f"byte {error.object[error.start]:#04x}" if isinstance(error.object, bytes) else "a byte"
        raise ValueError(f"{path} is not text in UTF-8 ({got}): save it as CSV UTF-8") from None
    except csv.Error as error:
        raise ValueError(f"{path} is no table ({error}): {EXPECTED}") from None


def _of_ethovision(path: Path, rows: list[list[str]], columns: Mapping[str, str] | None) -> list[Poses]:
    """Poses of EthoVision: rows about the trial, one of names, one of units, then samples; "-" is what was lost."""
    try:
        n = int(float(rows[0][1]))
    except (IndexError, ValueError):
        n = 0
    if not 2 <= n < len(rows):
        raise ValueError(f"{path}, line 1: expected the number of lines above the data, as EthoVision writes it")
    animal = next((row[1] for row in rows[: n - 2] if len(row) > 1 and row[0].lower().rstrip(":") == "animal id"), "")
    names = rows[n - 2]
    while names and not names[-1]:
        names = names[:-1]  # lines end with a separator
    frame = _of_rows([names, *rows[n:]])
    poses = _of_plain(frame, str(path), lambda i: f"line {i + n + 1}", columns)
    return [replace(one, individual=animal) if animal and one.individual is None else one for one in poses]


def _of_rows(rows: list[list[str]]) -> Any:
    """Cells of text as a table: numbers where a column has nothing else; blank cells and "-" are missing."""
    import pandas as pd

    names, *body = rows
    cells = [[*row, *[""] * len(names)][: len(names)] for row in body]
    frame = pd.DataFrame(cells, columns=names, dtype=object).replace({"": np.nan, "-": np.nan})
    for i in range(frame.shape[1]):
        read, wrong = as_numbers(frame.iloc[:, i])
        if not wrong.size:
            frame.isetitem(i, read)
    return frame


def read_sheet(path: Path, columns: Mapping[str, str] | None = None) -> tuple[str, str, list[Poses]]:
    """Read the first sheet of an Excel file: EthoVision's, or a plain table."""
    with needing(f"reading {path.name} needs openpyxl", "excel"):
        import openpyxl
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        rows = [
            ["" if cell is None else str(cell).strip() for cell in row] for row in sheet.iter_rows(values_only=True)
        ]
        book.close()
    except Exception as error:  # openpyxl has no family of errors
        raise ValueError(f"{path} cannot be read as an Excel file ({error}): save it again, or as CSV") from None
    if not any(any(row) for row in rows):
        raise ValueError(f"{path} is empty: {EXPECTED}")
    if _ETHOVISION in rows[0][0].lower():
        return str(path), path.stem, _of_ethovision(path, rows, columns)
    return str(path), path.stem, _of_plain(_of_rows(rows), str(path), lambda i: f"row {i + 2}", columns)


def _frame(path: Path, source: Any, separator: str, lines: list[str], skip: int) -> Any:
    """Let pandas read the cells; blank lines stay, so that rows can be counted as an editor does."""
    import pandas as pd

    header = next(csv.reader(lines[:1], delimiter=separator, skipinitialspace=True), [])
    labels = [] if skip else [column for column in header if _meaning(column) in ("session", "subject")]
    body = "".join(lines[max(skip, 1) :])
    try:
        frame = pd.read_csv(
            source,
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
        raise ValueError(f"{path} holds no frames: {EXPECTED}") from None
    if not isinstance(frame.index, pd.RangeIndex):
        raise ValueError(f"{path}, line 2: more cells than column names in line 1; every column needs a name")
    return frame


def _meaning(column: Any) -> str:
    name = str(column).strip().lower()
    return next((meaning for meaning, aliases in _ALIASES.items() if name in aliases), name)


def _numbers(column: Any, title: str, where: str, row: Callable[[int], str], faults: Faults) -> np.ndarray:
    """Read a column as floats, NaN where empty."""
    read, wrong = as_numbers(column)
    if wrong.size:
        lines = some([row(int(i)) for i in wrong], 3)
        faults.add(f"{where}, {lines}, column {title}: {column.iloc[wrong[0]]!r} is not a number")
    return read.astype(float, copy=False)


def from_frame(frame: Any, columns: Mapping[str, str] | None = None) -> list[Poses]:
    """Poses of a pandas frame: DeepLabCut's, whose columns have several levels, or a plain one.

    `columns` says what those of a plain one are called (`ROLES`), where that is not usual.
    """
    if frame.columns.nlevels == 1:
        return _of_plain(frame, "the table", "row {}".format, columns)
    levels = [tuple(map(str, column)) for column in frame.columns]
    return _of_deeplabcut(levels, frame, "the table", "row {}".format)


def _of_deeplabcut(columns: list[tuple[str, ...]], frame: Any, where: str, row: Callable[[int], str]) -> list[Poses]:
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
        raise ValueError(f"{where} holds no frames: {EXPECTED}")
    return from_columns(columns, frames[rows], np.column_stack(values)[rows], where)


def _increasing(title: str, times: np.ndarray, rows: np.ndarray, where: str, row: Any, faults: Faults) -> None:
    empty, late = rows[~np.isfinite(times[rows])], rows[1:][np.diff(times[rows]) <= 0]
    if empty.size:
        faults.add(f"{where}, {some([row(int(i)) for i in empty], 3)}, column {title}: no time; give one to each row")
    elif late.size:
        got = f"{where}, {some([row(int(i)) for i in late], 3)}, column {title}: {times[late[0]]:g}"
        faults.add(f"{got} is not after the row before: sort the rows, or name the sessions in a column session")


def _named(frame: Any, columns: Mapping[str, str], faults: Faults) -> dict[str, int]:
    """Where the columns stand that a user has named."""
    if unknown := [repr(role) for role in columns if role not in ROLES]:
        faults.add(f"columns names {some(unknown)}: expected {', '.join(ROLES)}")
    there, at = [str(column).strip() for column in frame.columns], {}
    for role, name in columns.items():
        if role in ROLES:
            found = [i for i, column in enumerate(there) if column.casefold() == str(name).strip().casefold()]
            if not found:
                faults.add(f"no column {name!r} (--{role}) among {some(there, 20)}{nearest(str(name), there)}")
            at |= {ROLES[role]: found[0]} if found else {}
    return at


def _of_plain(
    frame: Any, where: str, row: Callable[[int], str], columns: Mapping[str, str] | None = None
) -> list[Poses]:
    """Poses of a table with one row per frame, one keypoint called "position"."""
    import pandas as pd

    cannot, faults = f"No tracks can be read from {where}", Faults()
    at = _named(frame, columns or {}, faults)
    faults.raise_if_any(cannot)
    named = dict(at)
    for i, column in enumerate(frame.columns):
        if i not in named.values():  # one that only looks like a column that was named is a signal
            meaning = _meaning(column)
            at.setdefault(f"{meaning} {i}" if meaning in named else meaning, i)
    if "frame" in (columns or {}) and "time" not in (columns or {}):
        at.pop("t", None)
    missing = [name for name in ("x", "y") if name not in at]
    if missing:
        faults.add(f"no column {some(missing)} among {some(list(map(str, frame.columns)), 10)}: {EXPECTED}")
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
    there = pd.Series(np.flatnonzero(full))
    whose = [labels[full] for labels in owner.values()] or [np.zeros(len(there))]
    groups = [rows.to_numpy() for _, rows in there.groupby(whose, sort=False)]  # in the order of first appearance
    clock, poses = next((name for name in ("t", "frame") if name in at), None), []
    for rows in groups:
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
        faults.add(f"{where} holds no rows: {EXPECTED}")
    faults.raise_if_any(cannot)
    return poses
