"""Tables of positions: DeepLabCut's, with three or four lines of header; a row per frame; a column for each coordinate.

A plain table has the columns x and y, and perhaps a time or frame, session, subject, keypoint, confidence: EthoVision,
ANY-maze, TRex, traja, GPS.  A wide one has a column for each coordinate of each keypoint (SimBA, Anipose, SLEAP's CSV:
nose_x, nose_y) or animal (idtracker.ai, AnimalTA: x1, y1).  Files are opened by `open_table`.
"""

import csv
import io
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from swirl.errors import Faults
from swirl.io.columns import UNITS as TIME_UNITS
from swirl.io.columns import bare, iso_dates, key_parts, plain, seconds, seconds_in, time_unit_of
from swirl.io.open_table import ETHOVISION, EXCEL, MAX_TEXT, UNITS, OpenTable, of_text, separator_of, sheets, table_text
from swirl.io.poses import EXPECTED, FRAMES, SECONDS, WITHOUT_Z, Poses, cutoff, from_columns, recording
from swirl.io.session_keys import PARTS, SESSIONS, joined_name
from swirl.io.text_file import ZIPPED, beginning
from swirl.io.text_table import as_numbers
from swirl.text import counted, did_you_mean, some

Row = Callable[[Any], str]
"""How rows are named in errors."""

_LABELLED = "expected frame numbers: hand-labelled frames are no tracks, give the file that DeepLabCut made of a video"
_WORDS = {
    "x": "x xcenter xcentre centrepositionx centerpositionx posx xpos xposition positionx xcoord xcentroid centroidx "
    "longitude lon locationlong",
    "y": "y ycenter ycentre centrepositiony centerpositiony posy ypos yposition positiony ycoord ycentroid centroidy "
    "latitude lat locationlat",
    "t": "t time times timestamp timestamps seconds trialtime timesincestart elapsedtime",
    "frame": "frame frames framenumber frameidx frameindex fnum",
    "session": "session sessionid arena",
    "subject": "subject subjectid individual animal animalid ind track trackid individuallocalidentifier",
    "confidence": "confidence likelihood score",
    "keypoint": "keypoint keypoints bodypart bodyparts marker node",
}
USUAL = {word: meaning for meaning, words in _WORDS.items() for word in words.split()}
PAIRS = dict(zip(_WORDS["x"].split(), _WORDS["y"].split(), strict=True))
"""Name of x → the name of y that goes with it."""
LOST = ("-", "Non Numérique", "NeuN", "n. def.", "Non un numero reale", "не число")
"""What stands for a lost position: EthoVision's mark, and "not a number" as Windows says it in other languages."""
ROLES = {"x": "x", "y": "y", "time": "t", "frame": "frame", "subject": "subject", "group": "group"}
ROLES |= {"session": "session"}
"""Columns of a plain table that may be named, and what they are called here."""
WHOSE = ("session", "subject", "group")
OWNERS = (*WHOSE, "keypoint")
ANIMALS = [
    f"{a}{b}"
    for a in ("animal", "mouse", "rat", "fish", "fly", "bird")
    for b in ("", "id", "name", "no", "nr", "number")
]
NO_ANIMAL = frozenset((*map(bare, (*SESSIONS, *PARTS)), "cam", "camera", "arena", "phase", "epoch", "bout"))
"""What columns are called that tell sessions, or parts of them."""
DEVICES = frozenset(("tag", "collar", "logger", "device", "sensor", "transmitter"))
"""What columns are called that tell what an animal wears: others by turns, where the animal is known."""
CALENDAR = frozenset(("date", "day", "week", "month", "year", "hour"))
"""What columns are called that say no more than a date does."""
GROUPS = ("group", "treatment", "condition", "genotype")
_LINES = (
    "numberofheaderlines experiment trialname trialid arenaname arenaid subjectname subjectid arenasettings "
    "detectionsettings trialcontrolsettings starttime trialduration recordingafter recordingduration track "
    "trackingsource videofile videostarttime trialstatus acquisitionstatus trackstatus videofilestatus syncstatus "
    "referenceduration referencetime missedsamples subjectnotfound interpolatedsamples sircalculationresult "
    "postprocessorsircalculationresult samplerate"
)
ETHOVISION_LINES = frozenset(_LINES.split())
"""What EthoVision itself writes above a table; the rest are variables of the user's trial list."""
DEGREES = ("longitude", "lon", "locationlong")
_BRACKETED = "|".join(sorted(map(re.escape, {*UNITS, *TIME_UNITS}), key=len, reverse=True))
_SUFFIX = "|".join(("cm", "mm", "m", "px", "pixels?", *(unit for unit in TIME_UNITS if unit != "min")))  # no x_min
_UNIT = re.compile(rf"[\s_]*[(\[]({_BRACKETED})[)\]]$|_({_SUFFIX})$", re.IGNORECASE)
_SCORES = "p|prob|score|likelihood|confidence|conf"
_SUFFIXED = re.compile(rf"(?P<owner>.+?)[ _.:-]+(?P<axis>x|y|z|{_SCORES})", re.IGNORECASE)
_PREFIXED = re.compile(r"(?P<axis>x|y|z)[ _.:-]*(?P<owner>\d+|[ _.:-].+)", re.IGNORECASE)


def read_pose_table(
    path: Path,
    columns: Mapping[str, str] | None = None,
    time_unit: str | None = None,
    sheet: str | None = None,
    fps: float | int | None = None,
) -> tuple[str, str, list[Poses]]:
    """What to call a file in errors, the recording's name, and its poses.

    `columns` says what those of a plain table are called (`ROLES`), where that is not usual; with `fps` rows are frames
    where no column is called time or frame, whatever dates are there. Of an Excel file with several sheets EthoVision's
    are all read, one session each; of others one must be named.
    """
    if sheet is None and beginning(path).startswith(ZIPPED) and path.suffix.lower() in EXCEL:
        found = sheets(path)
        if len(found) > 1 and all(ETHOVISION in text[:200].decode(errors="ignore").lower() for text in found.values()):
            poses = []
            for name, text in found.items():
                mine = _of_table(of_text(path, text, f"sheet {name!r}, row"), columns, time_unit, fps)
                poses += [
                    replace(one, session=name if one.session is None else f"{name} {one.session}") for one in mine
                ]
            return str(path), path.stem, poses
    notes: list[str] = []
    data, word = table_text(path, MAX_TEXT, sheet, notes)
    if (top := _deeplabcut(data)) is not None:
        if len(top) != 3 or not top[2][1:] or not all(_SUFFIXED.fullmatch(name) for name in top[2][1:]):
            where, name, poses = _of_deeplabcut_text(path, data, top)
            return where, name, [replace(one, notes=(*notes, *one.notes)) for one in poses]
        data = b"\n\n" + data.split(b"\n", 2)[2]  # SimBA: nose_x, nose_y, … stand in the third line
    opened = of_text(path, data, word, sheet, notes=notes)
    return str(path), opened.name, _of_table(opened, columns, time_unit, fps)


def from_frame(
    frame: Any,
    columns: Mapping[str, str] | None = None,
    time_unit: str | None = None,
    fps: float | int | None = None,
) -> list[Poses]:
    """Poses of a pandas frame: DeepLabCut's, whose columns have several levels, or a plain or a wide one.

    `columns` says what those of a plain one are called (`ROLES`), where that is not usual; for `fps` see
    `read_pose_table`.

    >>> import pandas
    >>> from_frame(pandas.DataFrame({"nose_x": [1.0], "nose_y": [2.0], "nose_p": [0.9]}))[0].keypoints
    ('nose',)
    """
    if frame.columns.nlevels > 1:
        levels = [tuple(map(str, column)) for column in frame.columns]
        return _of_deeplabcut(levels, frame, "the table", _rows)
    names, faults = [str(column).strip() for column in frame.columns], Faults()
    at = _meanings(names, columns or {}, faults)
    faults.raise_if_any("No tracks can be read from the table")
    read = {i: frame.iloc[:, i] for i in range(frame.shape[1])}
    at, told = _with_dates(read, names, at, _called_datetime(names, at, columns or {}), fps, "the table", _rows)
    blank = _blank(read, names, at) if frame.shape[1] else np.zeros(len(frame), bool)
    units = {name: unit for name in names if (unit := unit_of(name))}
    units |= {} if time_unit is None or "t" not in at else {names[at["t"]]: time_unit}
    poses = _poses(read, names, at, blank, "the table", _rows, units, "frame" in (columns or {}))
    return [replace(one, notes=(*told, *one.notes)) for one in poses]


def _rows(rows: Any) -> str:
    return some([f"row {row}" for row in np.atleast_1d(rows).tolist()], 3)


# ---------------------------------------------------------------------- DeepLabCut


def _deeplabcut(data: bytes) -> list[list[str]] | None:
    """The lines of DeepLabCut's header, each a list of cells; None where it is another table."""
    lines = [line.decode() for line in data[: 2**24].split(b"\n", 5)[:5]]
    separator = max(",;\t", key=lines[0].count)
    try:
        top = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator)]
    except csv.Error:
        return None
    first = [row[0].lower() if row else "" for row in top]
    if first[:1] != ["scorer"] or first[1:2] not in (["bodyparts"], ["individuals"]):
        return None
    return top[: 4 if first[1] == "individuals" else 3]


def _of_deeplabcut_text(path: Path, data: bytes, top: list[list[str]]) -> tuple[str, str, list[Poses]]:
    n, levels = len(top), [row[1:] for row in top]
    if len({len(level) for level in levels}) != 1:
        raise ValueError(f"{path}: the {n} header lines have different lengths; {EXPECTED}")
    frame = _cells(path, data, separator_of(data), skip=n)
    if frame.shape[1] != len(levels[0]) + 1:
        cells = f"{frame.shape[1]} cells, but the header has {len(levels[0]) + 1}"
        raise ValueError(f"{path}, line {n + 1}: {cells}; export the tracks again")
    titles = list(zip(*levels, strict=True))

    def lines(rows: Any) -> str:
        return some([f"line {row + n + 1}" for row in np.atleast_1d(rows).tolist()], 3)

    return str(path), recording(path, levels[0][0]), _of_deeplabcut(titles, frame.set_index(0), str(path), lines)


def _cells(path: Path, data: bytes, separator: str, skip: int) -> Any:
    """Let pandas read the cells below a header; blank lines stay, so that rows are counted as an editor does."""
    import pandas as pd

    body = data[: 2**16].split(b"\n", skip)[-1]
    try:
        return pd.read_csv(
            io.BytesIO(data),
            sep=separator,
            skiprows=skip,
            header=None,
            skip_blank_lines=False,
            skipinitialspace=True,
            low_memory=False,
            decimal="," if separator != "," and b"," in body and b"." not in body else ".",
        )
    except pd.errors.ParserError as error:
        found = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        got = f", line {found[2]}: {found[3]} cells, but {found[1]} before" if found else f": {error}"
        raise ValueError(f"{path}{got}; every line needs one cell per column") from None
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} holds no frames: {EXPECTED}") from None


def _of_deeplabcut(columns: list[tuple[str, ...]], frame: Any, where: str, row: Row) -> list[Poses]:
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


def _numbers(column: Any, title: str, where: str, row: Row, faults: Faults) -> np.ndarray:
    """Read a column as floats, NaN where empty."""
    read, wrong = as_numbers(column)
    if wrong.size:
        faults.add(f"{where}, {row(wrong[:4])}, column {title}: {column.iloc[wrong[0]]!r} is not a number")
    return read.astype(float, copy=False)


def _increasing(
    title: str,
    times: np.ndarray,
    rows: np.ndarray,
    where: str,
    row: Row,
    faults: Faults,
    apart: str = "",
    cells: Any = None,
) -> None:
    """Fault times that do not increase.

    `apart` is what to say where several animals or sessions are in one table, `cells` is what stands in the table.
    """
    empty, late = rows[~np.isfinite(times[rows])], rows[1:][np.diff(times[rows]) <= 0]
    if empty.size:
        faults.add(f"{where}, {row(empty[:4])}, column {title}: no time; give one to each row")
    elif late.size:
        value = f"{times[late[0]]:g}" if cells is None else cells.iloc[late[0]]
        got = f"{where}, {row(late[:4])}, column {title}: {value}"
        equal = (np.diff(times[rows]) >= 0).all()
        remedy = "the times are equal: if they are rounded, export more digits" if equal else "sort the rows"
        several = "if several animals or sessions are in one table, "
        if apart:
            said = f"{several}{apart}; else {remedy}"
        else:
            said = f"{remedy}; {several}say which column tells them apart (--subject, --session)"
        faults.add(f"{got} is not after the row before: {said}")


def _owner(read: Mapping[int, Any], names: list[str], times: np.ndarray, rows: np.ndarray, used: set[int]) -> str:
    """The column that tells animals apart, where rows of all of them are in one table; "" where none does.

    >>> import pandas
    >>> columns = {1: pandas.Series([5, 5, 5, 5]), 2: pandas.Series(["A", "B", "A", "B"])}
    >>> _owner(columns, ["frame", "size", "id"], np.array([1.0, 1, 2, 2]), np.arange(4), {0})
    'id'
    """
    for i, column in read.items():
        if i in used or column.dtype.kind == "f" or len(column) < len(times):
            continue
        parts = [rows[group] for group in column.iloc[rows].groupby(column.iloc[rows].to_numpy()).indices.values()]
        if 1 < len(parts) <= len(rows) / 2 and all((np.diff(times[part]) > 0).all() for part in parts):
            return names[i]
    return ""


def _advice(owner: str, title: Mapping[str, str]) -> str:
    """What to type where a column tells animals or sessions apart, beside the columns that are known by their role.

    A trial or a camera is no animal, nor is another column than that of the animals.

    >>> _advice("trial", {"subject": "animal"}), _advice("size", {}), _advice("Trial no", {})
    ("say --session 'animal,trial'", "say --subject 'size' or --session 'size'", "say --session 'Trial no'")
    """
    animal = [title["subject"]] if "subject" in title else []
    known = [name for role, name in title.items() if role.partition(" ")[0] == "session"]
    session = f"--session {','.join(dict.fromkeys([*animal, *known, owner]))!r}"
    part = _is_one_of(NO_ANIMAL, owner)
    return f"say {session}" if part or "subject" in title else f"say --subject {owner!r} or {session}"


def _is_one_of(words: Collection[str], name: str) -> bool:
    """Whether a column is called by one of these words, perhaps as its number or name: "Trial no"."""
    return re.sub(r"(id|(local)?identifier|no|nr|num|number|name|index|\d+)$", "", _key(name)) in words


def _is_dated(column: Any) -> bool:
    """Whether the first time of a column is a date: a clock that never starts anew.

    >>> import pandas
    >>> _is_dated(pandas.Series(["2014-02-11 21:35"])), _is_dated(pandas.Series(["0:35"]))
    (True, False)
    """
    there = column.dropna()
    return column.dtype.kind not in "iuf" and len(there) > 0 and bool(_DATE.match(str(there.iloc[0]).strip()))


_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T]+\d|$)")
_DATE_AND_TIME = re.compile(r"\d{4}-\d{1,2}-\d{1,2}[ T]+\d{1,2}:\d\d")


def _blocks_in_order(rows: np.ndarray, times: np.ndarray, title: str, where: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Rows of one animal in the order of their dates, where they stand in blocks that do not overlap; and a note.

    >>> _blocks_in_order(np.arange(4), np.array([7.0, 8, 1, 2]), "date", "a.csv, line 2")[0]
    array([2, 3, 0, 1])
    """
    when = times[rows]
    if not np.isfinite(when).all():
        return rows, ()
    begins = np.flatnonzero(np.diff(when, prepend=-np.inf) < 0)
    if not begins.size or len(begins) > len(rows) / 2:
        return rows, ()
    blocks = np.split(rows, begins)
    blocks.sort(key=lambda block: times[block[0]])
    if any(times[a[-1]] >= times[b[0]] for a, b in pairwise(blocks)):
        return rows, ()  # two recordings at the same time
    told = f"{where}: {len(blocks)} blocks of rows of one animal were put in the order of {title}"
    return np.concatenate(blocks), (told,)


def _owner_of_blocks(
    read: Mapping[int, Any], names: list[str], times: np.ndarray, rows: np.ndarray, used: set[int], animal_known: bool
) -> tuple[str, bool]:
    """A column that tells blocks of rows apart, "" where none does; and whether it may tell animals.

    A trial, a camera or a tag tells none where the animal is known.  What the date says too tells nothing, nor does
    what was measured once a block: a fraction.

    >>> import pandas
    >>> read = {1: pandas.Series([0.5, 0.5, 1, 1]), 2: pandas.Series([5.0, 5, 6, 6])}
    >>> _owner_of_blocks(read, ["time", "dose", "collar"], np.array([7.0, 8, 1, 2]), np.arange(4), {0}, False)
    ('collar', True)
    """
    block, part = np.cumsum(np.diff(times[rows], prepend=-np.inf) < 0), ""
    for i, column in read.items():
        if i in used or len(column) < len(times) or _is_one_of(CALENDAR, names[i]) or _is_dated(column):
            continue
        mine = column.iloc[rows]
        if column.dtype.kind == "f" and (mine.dropna() % 1 != 0).any():
            continue
        differs = mine.nunique() > 1 and (mine.groupby(block).nunique(dropna=False) == 1).all()
        if differs or _owner({i: column}, names, times, rows, used):
            if not (animal_known and _is_one_of(NO_ANIMAL | DEVICES, names[i])):
                return names[i], True
            part = part or names[i]
    return part, False


# ---------------------------------------------------------------------- plain and wide tables


def _key(name: str) -> str:
    """A name of a column without capitals, signs and unit.

    >>> _key("X (cm)"), _key("Trial time"), _key("time_ms")
    ('x', 'trialtime', 'time')
    """
    return re.sub(r"[^a-z0-9]+", "", _UNIT.sub("", name.strip()).lower())


def unit_of(name: str) -> str:
    """The unit that stands in the name of a column.

    >>> unit_of("X (cm)"), unit_of("x")
    ('cm', '')
    """
    found = _UNIT.search(name.strip())
    return (found[1] or found[2]) if found else ""


def _meanings(
    names: list[str], columns: Mapping[str, str], faults: Faults, above: Mapping[str, str] | None = None
) -> dict[str, int]:
    """Role → where its column stands: as the user has named it, else by its usual name."""
    if unknown := [repr(role) for role in columns if role not in ROLES]:
        faults.add(f"columns names {some(unknown)}: expected {', '.join(ROLES)}")
    at = {}
    for role, given in columns.items():
        for n, name in enumerate(key_parts(given, names) if role == "session" else [given]):
            if role not in ROLES:
                continue
            found = [i for i, column in enumerate(names) if plain(column) == plain(str(name))]
            if not found:
                lines = [line for line in above or {} if _key(line) not in ETHOVISION_LINES]
                beside = f", or in the lines above the table ({some(lines, 20)})" if lines else ""
                columns_there = some([name for name in names if name], 20)
                near = did_you_mean(str(name), [*names, *lines])
                faults.add(f"no column {name!r} (--{role}) among {columns_there}{beside}{near}")
            at |= {ROLES[role] if n == 0 else f"session {n + 1}": found[0]} if found else {}
    named = set(at)
    for i, name in enumerate(names):
        meaning = USUAL.get(_key(name))
        # A mouse that tells sessions apart may be the subject, too.
        used = [j for role, j in at.items() if meaning != "subject" or role.partition(" ")[0] != "session"]
        if meaning and meaning not in named and i not in used:
            at.setdefault(meaning, i)
    if not {"x", "y"} & named:
        at |= _pair(names, at)
    if "frame" in columns and "time" not in columns:
        at.pop("t", None)
    if not {"x", "y"} <= set(at):
        at = {meaning: i for meaning, i in at.items() if meaning not in ("x", "y", "confidence") or meaning in named}
    return at


def _pair(names: list[str], at: Mapping[str, int]) -> dict[str, int]:
    """The x and y that go together, where those that were found first do not; nothing where no two do.

    >>> _pair(["X", "location.long", "location.lat"], {"x": 0, "y": 2})
    {'x': 1, 'y': 2}
    """
    there = {key: i for i, name in reversed([*enumerate(names)]) if (key := _key(name))}
    if not {"x", "y"} <= set(at) or PAIRS.get(_key(names[at["x"]])) == _key(names[at["y"]]):
        return {}
    pairs = [(there[x], there[y]) for x, y in PAIRS.items() if x in there and y in there]
    return dict(zip("xy", min(pairs), strict=True)) if pairs else {}


def _wide(names: list[str], used: set[int]) -> tuple[dict[str, dict[str, int]], bool]:
    """Columns of each keypoint (or animal), {"nose": {"x": 1, "y": 2, "p": 3}}, and whether these are animals.

    >>> _wide(["t", "x1", "y1", "x2", "y2"], {0})
    ({'1': {'x': 1, 'y': 2}, '2': {'x': 3, 'y': 4}}, True)
    """
    for pattern in (_SUFFIXED, _PREFIXED):
        found: dict[str, dict[str, int]] = {}
        for i, name in enumerate(names):
            match = pattern.fullmatch(_UNIT.sub("", name.strip())) if i not in used else None
            if match:
                axis = match["axis"].lower()
                found.setdefault(match["owner"].strip(" _.:-"), {}).setdefault(axis if axis in "xyz" else "p", i)
        found = {owner: axes for owner, axes in found.items() if {"x", "y"} <= set(axes)}
        if found:
            return found, pattern is _PREFIXED
    return {}, False


def _of_table(
    table: OpenTable, columns: Mapping[str, str] | None, time_unit: str | None, fps: float | int | None
) -> list[Poses]:
    """Poses of a table with one row per frame (and animal, or keypoint)."""
    where, faults = str(table.path), Faults()
    names = [name.strip() for name in table.header]
    if names[0].lower() in ("scorer", "coords"):  # SimBA: DeepLabCut's index under a line of names of its own
        names[0] = "frame"
    named_above = _above(columns or {}, names, table.above)
    asked = {role: name for role, name in (columns or {}).items() if role not in named_above}
    at = _meanings(names, asked, faults, table.above)
    dates = _called_datetime(names, at, asked)
    dates = _dates_of(table, names, at) if dates is None else dates
    if not {"x", "y"} <= set(at) and (doubt := table.doubt):
        faults.add(f"no column x, y among {some(names, 6)}{doubt} Add that line, as in: frame,subject,x,y")
    faults.raise_if_any(f"No tracks can be read from {where}")
    measured, named = _measured(names, at) | ({dates} - {None}), _named(at)
    kinds = {
        i: "names" if i in named else "measured" if i in measured else "aside" for i, name in enumerate(names) if name
    }
    lost = replace(table, lost=LOST)  # EthoVision's, in versions that do not count their header lines too
    read = {i: series for i, series in lost.columns(kinds).items() if len(series)}

    def row(rows: Any) -> str:
        return table.at(np.atleast_1d(rows)[:3])

    at, told = _with_dates(read, names, at, dates, fps, where, row)
    blank = _blank(read, names, at)
    units = dict(table.units) | {name: unit for name in names if (unit := unit_of(name))}
    units |= {} if time_unit is None or "t" not in at else {names[at["t"]]: time_unit}
    poses = _poses(read, names, at, blank, where, row, units, "frame" in asked)
    whose, notes = _owners_above(table.above, named_above, table.path.name)
    return [
        replace(
            one,
            individual=one.individual or whose.get("subject"),
            group=one.group or whose.get("group"),
            notes=(*table.notes, *notes, *told, *one.notes),
        )
        for one in poses
    ]


def _measured(names: list[str], at: Mapping[str, int]) -> set[int]:
    """Where the positions, the confidence and the time or frame stand."""
    wide, _ = _wide(names, set(at.values())) if not {"x", "y"} <= set(at) else ({}, False)
    measured = {at[name] for name in ("x", "y", "t", "frame", "confidence") if name in at}
    return measured | {i for axes in wide.values() for i in axes.values()}


def _named(at: Mapping[str, int]) -> set[int]:
    """Where the names of sessions, animals, groups and keypoints stand."""
    return {i for role, i in at.items() if role.partition(" ")[0] in OWNERS}


def _blank(read: Mapping[int, Any], names: list[str], at: Mapping[str, int]) -> np.ndarray:
    """Rows that are no frames.

    Where a column tells the time or frame these are rows without a number: a word that stands there alone is a remark,
    or was filled in all the way down.  Without such a column a row between others is a frame, as the times would be
    wrong from there on; not one that is all blank where the others have a name.

    >>> import pandas
    >>> read = {0: pandas.Series([1, None, 2, None]), 1: pandas.Series([1, None, 2, None])}
    >>> _blank(read, ["x", "y"], {"x": 0, "y": 1})
    array([False, False, False,  True])
    """
    measured, named = _measured(names, at), _named(at)
    numbers = {i for i in read if i not in named and (i in measured or read[i].dtype.kind in "iufb")}
    there, nothing = {i: read[i].notna().to_numpy() for i in read}, np.zeros(len(next(iter(read.values()), ())), bool)
    without = ~np.any([nothing, *(there[i] for i in numbers)], axis=0)
    if {"t", "frame"} & {role for role, i in at.items() if i in read}:
        return without
    rows = np.arange(len(without))
    after = rows > np.max(rows, initial=-1, where=~without)
    nobodys = ~np.any([nothing, *there.values()], axis=0) if named & set(read) else nothing
    return without & (after | nobodys)


def _called_datetime(names: list[str], at: Mapping[str, int], asked: Mapping[str, str]) -> int | None:
    """Where a column called datetime stands that has no other role; None where the user has named the time or frame."""
    called = [i for i, name in enumerate(names) if _key(name) == "datetime" and i not in at.values()]
    return called[0] if called and not {"time", "frame"} & set(asked) else None


def _dates_of(table: OpenTable, names: list[str], at: Mapping[str, int]) -> int | None:
    """Where dates with a time of day stand, if no column is called as times are and one alone holds them."""
    if {"t", "frame"} & set(at) or not len(table.lines):
        return None
    line = int(table.lines[0])
    first = table.data.split(b"\n", line)[line - 1].decode(errors="replace")
    cells = next(csv.reader([first], delimiter=table.separator, skipinitialspace=True), [])
    found = [i for i, cell in enumerate(cells[: len(names)]) if _DATE_AND_TIME.match(cell.strip())]
    return found[0] if len(found) == 1 and found[0] not in at.values() else None


def _with_dates(
    read: Mapping[int, Any],
    names: list[str],
    at: dict[str, int],
    dates: int | None,
    fps: float | int | None,
    where: str,
    row: Row,
) -> tuple[dict[str, int], tuple[str, ...]]:
    """The roles, with the column of dates as the time if it can be that; and a note where it cannot.

    >>> import pandas
    >>> read = dict(enumerate(map(pandas.Series, ([1, 2], [3, 4], ["2024-01-02 12:00", "2024-01-02 12:01"]))))
    >>> _with_dates(read, ["x", "y", "begun"], {"x": 0, "y": 1}, 2, None, "a.csv", str)
    ({'x': 0, 'y': 1, 't': 2}, ())
    >>> _with_dates(read, ["x", "y", "begun"], {"x": 0, "y": 1}, 2, 30, "a.csv", str)[1]
    ("'begun' was not taken as the time: rows are frames, fps=30; --time 'begun' takes it",)
    """
    if dates is None or dates not in read or not read[dates].notna().any():
        return at, ()
    if clocks := [names[at[role]] for role in ("t", "frame") if role in at]:
        why = f"{clocks[0]!r} is there"
    elif fps is not None:
        why = f"rows are frames, fps={fps:g}"
    else:
        why = _why_no_clock(read, names, at, dates, where, row)
    if not why:
        return at | {"t": dates}, ()
    return at, (f"{names[dates]!r} was not taken as the time: {why}; --time {names[dates]!r} takes it",)


def _why_no_clock(
    read: Mapping[int, Any], names: list[str], at: dict[str, int], dates: int, where: str, row: Row
) -> str:
    """Why a column of dates that nobody named cannot be the time; "" where it can.

    It is that where all dates are there and rise for each animal, also in blocks that can be put in order, or where
    another column tells animals apart for which they do.
    """
    import pandas as pd

    column, rows = read[dates], np.flatnonzero(~_blank(read, names, at | {"t": dates}))
    raw = as_numbers(column)[0]
    if column.dtype.kind in "iuf" and not since_1970(raw):
        return f"it holds numbers, such as {column.dropna().iloc[0]}"
    if empty := int(column.iloc[rows].isna().sum()):
        return f"it is blank in {counted(empty, 'row')}"
    times, _ = _seconds(column, names[dates], "", where, row, Faults())
    if (bad := rows[~np.isfinite(times[rows])]).size:
        return f"it holds {str(column.iloc[bad[0]])!r}, which is no time"
    if len(rows) > 1 and (times[rows] == times[rows[0]]).all():
        return "it is the same in all rows"
    apart = [i for role, i in at.items() if role.partition(" ")[0] in ("session", "subject", "keypoint") and i in read]
    whose = [read[i].astype(str).to_numpy(object)[rows] for i in apart] or [np.zeros(len(rows))]
    for _, mine in pd.Series(rows).groupby(whose, sort=False):
        own = mine.to_numpy()
        own = _blocks_in_order(own, times, names[dates], where)[0] if _is_dated(column) else own
        if not (np.diff(times[own]) > 0).all() and not _owner(read, names, times, own, {dates, *at.values()}):
            return "it does not rise from row to row"
    return ""


def _above(columns: Mapping[str, str], names: list[str], above: Mapping[str, str]) -> dict[str, str]:
    """Role → the line above the table that the user has named for it; a column of that name comes first."""
    there = {plain(name) for name in names}
    lines = {plain(name): name for name in above}
    asked = {role: plain(name) for role, name in columns.items() if role in ("subject", "group")}
    return {role: lines[name] for role, name in asked.items() if name in lines and name not in there}


def _owners_above(
    above: Mapping[str, str], named: Mapping[str, str], file: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The animal and the group that lines above the table tell, and notes: what was taken, what else they say.

    EthoVision writes the variables of its trial list there, under names that users gave them.

    >>> _owners_above({"Trial ID": "55", "Mouse Number": "8", "Drug": "none"}, {}, "a.txt")
    ({'subject': '8'}, ("a.txt: the animal is '8', as 'Mouse Number' above the table says.", "The lines above the \
table also say 'Drug': --subject and --group take such a line by its name."))
    """
    own = {name: value for name, value in above.items() if _key(name) not in ETHOVISION_LINES}
    usual = {
        role: [name for name, value in own.items() if _key(name) in words and value]
        for role, words in (("subject", ANIMALS), ("group", GROUPS))
    }
    taken = {role: found[0] for role, found in usual.items() if len(found) == 1} | dict(named)
    taken = {role: name for role, name in taken.items() if above[name]}
    what = {"subject": "animal", "group": "group"}
    notes = tuple(
        f"{file}: the {what[role]} is {above[name]!r}, as {name!r} above the table says."
        for role, name in taken.items()
    )
    left = [repr(name) for name in own if name not in taken.values()]
    if left and len(own) < len(above):  # not all of them are EthoVision's own
        notes += (
            f"The lines above the table also say {some(left, 8)}: --subject and --group take such a line by its name.",
        )
    return {role: above[name] for role, name in taken.items()}, notes


def _seconds(column: Any, title: str, unit: str, where: str, row: Row, faults: Faults) -> tuple[np.ndarray, bool]:
    """Times in seconds, from numbers, h:mm:ss or dates; and whether their unit is known."""
    if column.dtype.kind in "mM":
        apart = column if column.dtype.kind == "m" else column - column.min()
        return apart.dt.total_seconds().to_numpy(float, na_value=np.nan), True
    read, wrong = as_numbers(column)
    if not wrong.size:
        if not unit and (ticks := since_1970(read)):
            return read * ticks, True
        factor = seconds_in(f"{title} ({unit})" if unit else title)
        return read.astype(float, copy=False) * factor, factor != 1.0 or bool(unit)
    if 2 * len(wrong) < np.isfinite(read).sum():
        got = f"{where}, {row(wrong[:4])}, column {title}: {column.iloc[wrong[0]]!r}"
        faults.add(f"{got} is not a number, as the others are; correct or delete the row")
        return np.full(len(read), np.nan), True
    text = column.astype("str")
    if text.iloc[wrong[0]].count(":") in (1, 2) and "-" not in text.iloc[wrong[0]]:
        values = {value: seconds(value) for value in text.unique()}
        found = text.map(values).to_numpy(float)
    else:
        dates = iso_dates(column)
        found = (dates - dates.min()).dt.total_seconds().to_numpy(float)
    bad = np.flatnonzero(~np.isfinite(found) & column.notna().to_numpy())
    if bad.size:
        got = f"{where}, {row(bad[:4])}, column {title}: {column.iloc[bad[0]]!r}"
        faults.add(f"{got} is no time: expected seconds, h:mm:ss, or a date such as 2026-03-01 12:00:00")
    return found, True


RISING = 5
"""Rows over which a column rises that may be the time, at least: in fewer any other may."""

_CLOCKS = {1e-3: "milliseconds", 1e-6: "microseconds", 1e-9: "nanoseconds"}
_FROM, _TO, _LONGEST = 1_262e6, 2_082e6, 315e6  # 2010 to 2035, ten years: in seconds


def since_1970(times: np.ndarray) -> float:
    """Seconds in the unit of a clock that counts milliseconds (or less) since 1970; 0 where it is another clock.

    >>> since_1970(np.array([1534077064110.0, 1534077073109.0])), since_1970(np.array([0.0, 33.0]))
    (0.001, 0.0)
    """
    there = times[np.isfinite(times)]
    if not there.size:
        return 0.0
    low, high = float(there.min()), float(there.max())
    fitting = [x for x in _CLOCKS if low * x >= _FROM and high * x <= _TO and (high - low) * x < _LONGEST]
    return fitting[0] if fitting else 0.0


def _since_1970(times: np.ndarray, title: str) -> str:
    """What to say of a clock that counts since 1970; nothing of another."""
    import pandas as pd

    if not (ticks := since_1970(times)):
        return ""
    start = pd.Timestamp(float(np.nanmin(times)) * ticks, unit="s").strftime("%Y-%m-%d %H:%M")
    return f"{title!r} counts {_CLOCKS[ticks]} since 1970 (it starts on {start}): made seconds of it"


MAY_BE_MS = (5.0, 1000.0)
"""Rows that are so far apart, in seconds if the numbers are seconds, are milliseconds more often than not."""


def _notes(
    title: Mapping[str, str], times: np.ndarray | None, known: bool, units: Mapping[str, str]
) -> tuple[str, ...]:
    """What to say of the units of a table: of positions where it tells them, of times where they are doubtful."""
    notes, axes = [], [title.get("x", "")]
    if found := sorted({units[name] for name in axes if name in units}):
        notes.append(f"x and y are in {found[0]}")
    if _key(title.get("x", "")) in DEGREES:
        notes.append("BEWARE: x and y are degrees of longitude and latitude: a degree of one is no degree of the other")
    steps = np.diff(times[np.isfinite(times)][:1001]) if times is not None and not known else np.zeros(0)
    step = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    if MAY_BE_MS[0] <= step < MAY_BE_MS[1]:
        notes.append(
            f"BEWARE: rows are {step:g} s apart if {title['t']!r} is in seconds. If it is in milliseconds, say so "
            "with time_unit='ms' (--time-unit ms)"
        )
    return tuple(notes)


def _by_keypoint(
    rows: np.ndarray,
    labels: np.ndarray,
    times: np.ndarray | None,
    axes: Mapping[str, int],
    values: Mapping[int, np.ndarray],
    where: str,
    row: Row,
    faults: Faults,
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray | None, np.ndarray] | None:
    """Keypoints, positions, confidence and times of one animal in a table with a row per frame and keypoint."""
    if times is None or not np.isfinite(times[rows]).all():
        faults.add(
            f"{where} has a row for each keypoint, so each row needs a time or frame: name the column with --frame"
        )
        return None
    names = tuple(dict.fromkeys(labels[rows].tolist()))
    when, frame = np.unique(times[rows], return_inverse=True)
    point = np.array([names.index(label) for label in labels[rows].tolist()])
    _, first = np.unique(frame * len(names) + point, return_index=True)
    if len(first) < len(rows):
        twice = np.setdiff1d(rows, rows[first])
        faults.add(f"{where}, {row(twice[:4])}: {labels[twice[0]]!r} is there before, at the same time; delete one")
        return None
    made = np.full((len(when), len(names), len(axes)), np.nan)
    for i, axis in enumerate(axes.values()):
        made[frame, point, i] = values[axis][rows]
    return names, made[:, :, :2], made[:, :, 2] if "p" in axes else None, when


def _poses(
    read: Mapping[int, Any],
    names: list[str],
    at: dict[str, int],
    blank: np.ndarray,
    where: str,
    row: Row,
    units: Mapping[str, str],
    frames_named: bool,
) -> list[Poses]:
    """Poses out of the columns of a plain or a wide table, one for each session and animal.

    `frames_named`: the user said which column counts the frames.
    """
    import pandas as pd

    cannot, faults, full = f"No tracks can be read from {where}", Faults(), ~blank
    wide, animals = ({}, False) if {"x", "y"} <= set(at) else _wide(names, set(at.values()))
    if not wide and not {"x", "y"} <= set(at):
        there = {*at, *(USUAL.get(_key(name)) for name in names)}
        missing = [name for name in ("x", "y") if name not in there] or ["x", "y"]
        faults.add(f"no column {some(missing)} among {some([name for name in names if name], 10)}: {EXPECTED}")
    faults.raise_if_any(cannot)
    title, clock, known, times, of_day = {name: names[i] for name, i in at.items()}, None, True, None, False
    dated, since = False, ""
    for name in ("t", "frame"):
        if name in at and at[name] in read and times is None:
            if name == "t":
                dated = _is_dated(read[at[name]])
                column, said = read[at[name]], units.get(title[name]) or time_unit_of(title[name])
                times, known = _seconds(column, title[name], said, where, row, faults)
                of_day = column.dtype.kind in "mM" or bool(as_numbers(column)[1].size)
                since = "" if said or of_day else _since_1970(as_numbers(column)[0], title[name])
            else:
                times = _numbers(read[at[name]], title[name], where, row, faults)
            clock = name
            if "frame" in at and name == "t" and not np.isfinite(times).any():
                times = clock = None  # an empty column of times beside the frames
    owner = {}
    for name in [role for role in at if role.partition(" ")[0] in OWNERS]:
        labels, what = read[at[name]], name.partition(" ")[0]
        empty = np.flatnonzero(labels.isna().to_numpy() & full)
        if empty.size == full.sum():
            continue  # SLEAP's CSV, where nothing was tracked
        if empty.size:
            faults.add(f"{where}, {row(empty[:4])}, column {title[name]}: empty; give each row its {what}")
        owner[name] = labels.astype(str).to_numpy(object)
    if parts := [owner.pop(name) for name in list(owner) if name.partition(" ")[0] == "session"]:
        keys = list(zip(*(part.tolist() for part in parts), strict=True))
        owner["session"] = parts[0] if len(parts) == 1 else np.array([joined_name(key) for key in keys], object)
    points = wide or {
        "position": {"x": at["x"], "y": at["y"]} | ({"p": at["confidence"]} if "confidence" in at else {})
    }
    values = {
        i: _numbers(read[i], names[i], where, row, faults)
        for axes in points.values()
        for i in axes.values()
        if i in read
    }
    faults.raise_if_any(cannot)
    lost = np.full(len(full), np.nan)

    def of(axes: dict[str, int], rows: np.ndarray) -> np.ndarray:
        return np.stack([values.get(axes[axis], lost)[rows] for axis in "xy"], axis=1)

    taken = {*at.values(), *(i for axes in points.values() for i in axes.values())}
    # "unnamed: 0" is the index that pandas writes along.
    others = {names[i]: i for i in read if i not in taken and names[i] and "unnamed" not in names[i].lower()}
    signals = {name: i for name, i in others.items() if read[i].dtype.kind in "iuf"}
    notes = _notes(title, times, known or clock != "t", units)
    notes += (since,) if since and clock == "t" else ()
    if any("z" in axes for axes in points.values()) or ("keypoint" in owner and "z" in map(_key, names)):
        notes += (WITHOUT_Z,)
    if clock != "t" and not frames_named and full.sum() >= RISING:
        late = [name for name, i in signals.items() if "time" in name.lower() and (np.diff(read[i][full]) > 0).all()]
        notes += tuple(f"BEWARE: {name!r} may be the time: if it is, say --time {name!r}" for name in late[:1])
    there = pd.Series(np.flatnonzero(full))
    whose = [owner[name][full] for name in ("session", "subject") if name in owner] or [np.zeros(len(there))]
    poses = []
    for _, mine in there.groupby(whose, sort=False):  # in the order of first appearance
        rows, told, own = mine.to_numpy(), (), ""
        if dated and times is not None:
            ordered, told = _blocks_in_order(rows, times, title[clock or "t"], f"{where}, {row(rows[:1])}")
            own, of_animals = (
                _owner_of_blocks(read, names, times, rows, taken, "subject" in owner) if told else ("", False)
            )
            if own and not of_animals:
                apart = f"if it tells sessions apart, {_advice(own, title)}"
                told += (f"BEWARE: {own!r} differs between these blocks: {apart}",)
            rows = rows if of_animals else ordered
        session, subject, group = (owner[name][rows[0]] if name in owner else None for name in WHOSE)
        if group is not None and (other := rows[owner["group"][rows] != group]).size:
            faults.add(
                f"{where}, {row(other[:4])}, column {title['group']}: {owner['group'][other[0]]!r}, but {group!r} "
                "before: a session has one group; correct it, or say which column tells sessions apart (--session)"
            )
        made: dict[str, Any] = {"unit": SECONDS if clock == "t" else FRAMES, "session": session}
        made["notes"] = notes + told
        made["of_day"] = of_day and clock == "t"
        made["group"] = group
        if "keypoint" in owner and not wide:
            found = _by_keypoint(rows, owner["keypoint"], times, points["position"], values, where, row, faults)
            if found is not None:
                poses.append(Poses(subject, *found, **made))
            continue
        when = np.arange(len(rows), dtype=float) if times is None else times[rows]
        if times is not None:
            late = (np.diff(times[rows]) <= 0).any() and np.isfinite(times[rows]).all()
            own = own or _owner(read, names, times, rows, taken) if late else ""
            cells = read[at[clock]] if clock and of_day else None
            advice = _advice(own, title) if own else ""
            _increasing(title[clock or "t"], times, rows, where, row, faults, advice, cells)
        made["signals"] = {
            name: read[i].iloc[rows].to_numpy(float, na_value=np.nan) for name, i in signals.items()
        } or None
        bodies = [{name: axes} for name, axes in points.items()] if animals else [points]
        for body in bodies:
            scored = all("p" in axes for axes in body.values())
            confidence = np.stack([values[axes["p"]][rows] for axes in body.values()], axis=1) if scored else None
            one = Poses(
                next(iter(body)) if animals else subject,
                ("position",) if animals else tuple(body),
                np.stack([of(axes, rows) for axes in body.values()], axis=1),
                confidence,
                when,
                **made,
            )
            sleap = any(name.lower().endswith(".score") for name in names)
            poses.append(replace(one, min_confidence=cutoff("SLEAP")) if sleap else one)
    if not poses:
        faults.add(f"{where} holds no rows: {EXPECTED}")
    faults.raise_if_any(cannot)
    return [replace(one, y_down=True) for one in poses] if wide and not animals else poses
