"""The long table, one row per step: a pandas frame, a CSV or a Parquet file, read as `Sessions`.

The columns are session, subject, group, t, state, action, gap and any further numbers (signals); only state must be
there.  Everything is done on whole columns: ten million rows are read in seconds.
"""

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from numbers import Number
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from jaxtyping import Bool, Int

from swirl.faults import Faults, checked_names, counted, some
from swirl.importers.sessions import Sessions
from swirl.reading import MISSING

LARGEST_LABEL = 2**31 - 1  # models hold arrays with one row per label: a larger number is an identifier or a time
LARGEST_TEXT = 2**32  # bytes; a small .gz can unfold to any amount
BLANK = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "null", "NULL", "None")
NO_SIGNAL = ("step", "mode")  # what our own exports add: counted or inferred, not recorded
NO_NAME = re.compile(r"(Unnamed: \d+|__index_level_\d+__)?")  # how pandas names an index that it wrote along
A_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
DECIMAL_COMMA = r" *[+-]?[0-9]+(,[0-9]+)?([eE][+-]?[0-9]+)? *"
MARKS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False, "": False}
ALSO_CALLED = {
    "session": ("session_id", "recording", "trial", "episode", "bout", "file", "name"),
    "subject": ("subject_id", "animal", "animal_id", "mouse", "mouse_id", "rat", "id"),
    "time": ("time", "times", "time_s", "timestamp", "timestamps", "seconds", "sec"),
}
OTHER_FORMATS = {
    b"PAR1": "a Parquet file: give it the ending .parquet, or read it with read_parquet",
    b"PK\x03\x04": "a zip file or an Excel workbook: unpack it, or save the sheet as “CSV UTF-8”",
    b"\x89HDF": "an HDF5 file, not a table: it may be keypoint-MoSeq, DeepLabCut, SLEAP or NWB",
}


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are called.

    A column under its usual name may be absent; one that is named here must be there.  None: not read, even if there.
    Capitals and spaces around a name do not matter.

    Examples
    --------
    >>> Columns(session="recording", state="syllable").state
    'syllable'
    """

    session: str | None = "session"
    subject: str | None = "subject"
    group: str | None = "group"
    time: str | None = "t"
    state: str = "state"
    action: str | None = "action"
    gap: str | None = "gap"


USUAL = Columns()


@dataclass(frozen=True)
class _Table:
    """Columns (pandas Series) by name, where they are from, and what is found about them on the way."""

    columns: dict[str, Any]
    lines: Int[np.ndarray, " row"] | None  # the line of each row in its file; None: rows are counted from 0
    faults: Faults
    notes: list[str]
    unordered: frozenset[str] = frozenset()  # text that is categorical only to save memory
    written: bool = False  # a CSV: whole numbers arrive as text

    def where(self, rows: np.ndarray) -> str:
        """Name a few rows, as in "line 3" or "rows 1, 5"."""
        noun, numbers = ("row", rows) if self.lines is None else ("line", self.lines[rows])
        return f"{noun}{'s' if len(rows) > 1 else ''} {some(numbers.tolist())}"


def from_frame(
    frame: Any,
    columns: Columns = USUAL,
    *,
    signals: Any = None,
    state_names: Any = None,
    action_names: Any = None,
    source: str = "the table",
) -> Sessions:
    """Read a long table, one row per step.

    Parameters
    ----------
    frame
        A pandas DataFrame, or anything with `.to_pandas()` (Polars, Arrow).
    columns
        What its columns are called.
    signals
        Columns to keep as signals; by default all that hold numbers and have no other use. Columns x_0, x_1, … are the
        channels of one signal x.
    state_names, action_names
        Names in the order of the labels. Labels must be among them; numbers are matched with names that are numbers,
        and count the names from 0 otherwise.
    source
        What to call the table in errors.

    Notes
    -----
    Whole numbers ≥ 0 are labels as they stand. Text becomes labels 0, 1, … in sorted order (a pandas categorical: in
    its own order), and so does a column that mixes text and numbers. A step without a state is dropped and leaves a
    gap; a blank action (or −1) is missing. Rows of a session may stand anywhere; they are sorted by time.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"session": ["a", "a", "b"], "state": ["home", "water", "home"], "action": [1, None, 0]})
    >>> read = from_frame(table)
    >>> read.states, read.actions
    ([array([0, 1]), array([0])], [array([ 1, -1]), array([0])])
    >>> read.names, read.state_names
    (('a', 'b'), ('home', 'water'))
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame) and hasattr(frame, "to_pandas"):
        frame = frame.to_pandas()
    if not isinstance(frame, pd.DataFrame):
        _refuse(source, f"it is a {type(frame).__name__}: give a pandas DataFrame, or a table that has .to_pandas()")
    if frame.columns.nlevels > 1:
        _refuse(source, f"its column names have {frame.columns.nlevels} levels: give each column one name")
    faults = Faults()
    names = _distinct([str(name).strip() for name in frame.columns], faults)
    table = _Table({name: frame.iloc[:, i] for i, name in names.items()}, None, faults, [])
    # Sessions and times are often an index; one that is not asked for is only a count of rows.
    wanted = {_plain(name) for name in vars(columns).values() if name is not None}
    for level, name in enumerate(frame.index.names):
        if name is not None and _plain(str(name)) in wanted and str(name) not in table.columns:
            table.columns[str(name)] = pd.Series(frame.index.get_level_values(level))
    found = _find(columns, list(table.columns), faults)
    if not faults and len(frame) == 0:
        faults.add("it has columns but no rows: there are no data")
    heading = f"{source} cannot be read (rows are counted from 0)"
    faults.raise_if_any(heading)
    _hints(columns, found, list(table.columns), table.notes)
    chosen = _choose_signals(_numeric(table.columns), found, signals, faults, table.notes)
    return _assemble(table, found, chosen, state_names, action_names, heading)


def read_csv(
    path: Any, columns: Columns = USUAL, *, signals: Any = None, state_names: Any = None, action_names: Any = None
) -> Sessions:
    """Read a long table from a text file: CSV or TSV, also with semicolons and decimal commas, also gzipped.

    The file is UTF-8 (or UTF-16 with its mark), its first line holds the names of the columns. A file without a
    session column is one session, named after the file. For the other arguments see `from_frame`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "mouse 3.csv"
    >>> _ = path.write_text("t;state;action\\n0,5;home;1\\n1,0;water;\\n")
    >>> read = read_csv(path)
    >>> read.names, read.times, read.state_names
    (('mouse 3',), [array([0.5, 1. ])], ('home', 'water'))
    >>> folder.cleanup()
    """
    import pandas as pd

    path, faults = Path(path), Faults()
    data = _text(path)
    separator = _separator(data)
    lines, header, end_of_header = _records(path, data, separator)
    names = _distinct([name.strip() for name in header], faults)
    found = _find(columns, list(names.values()), faults)
    faults.raise_if_any(f"{path} cannot be read")
    if len(lines) == 0:
        _refuse(path, "it holds a line of column names and nothing else: there are no data")

    identifiers = {found.get(role) for role in ("session", "subject", "group")} - {None}
    as_text = [i for i, name in names.items() if name in identifiers]
    # A subject may be called "007" or "NA"; elsewhere these are a number and a blank.
    blank = {i: [""] if i in as_text else list(BLANK) for i in range(len(header))}
    try:
        frame = pd.read_csv(
            io.BytesIO(data),
            sep=separator,
            header=None,
            names=list(range(len(header))),
            usecols=list(names),
            skiprows=end_of_header,
            index_col=False,
            dtype=dict.fromkeys(as_text, str),
            na_values=blank,
            keep_default_na=False,
            skipinitialspace=True,
            low_memory=False,
        )
    except (ValueError, OverflowError) as error:
        _refuse(path, f"its lines cannot be taken apart ({error}): save it again as plain CSV")
    if len(frame) != len(lines):
        _refuse(path, f"it has {len(lines)} lines of data but {len(frame)} rows: check its quotation marks")
    table = _Table({}, lines, faults, [], written=True)
    labels = {found.get(role) for role in ("state", "action", "gap")}
    for i, name in names.items():
        series = frame[i]
        if pd.api.types.infer_dtype(series, skipna=True) == "string":
            # Only measurements: a state may be called "1,2".
            series = series.str.strip() if name in identifiers | labels else _without_decimal_comma(series)
        table.columns[name] = series
    _hints(columns, found, list(table.columns), table.notes)
    chosen = _choose_signals(_numeric(table.columns), found, signals, faults, table.notes)
    only = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    return _assemble(table, found, chosen, state_names, action_names, f"{path} cannot be read", only)


def read_parquet(
    path: Any, columns: Columns = USUAL, *, signals: Any = None, state_names: Any = None, action_names: Any = None
) -> Sessions:
    """Read a long table from a Parquet file, and of it only the columns that are used.

    A file without a session column is one session, named after the file. For the arguments see `from_frame`.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> folder = tempfile.TemporaryDirectory()
    >>> pd.DataFrame({"state": [0, 2, 1]}).to_parquet(f"{folder.name}/day 1.parquet")
    >>> read_parquet(f"{folder.name}/day 1.parquet").states
    [array([0, 2, 1])]
    >>> folder.cleanup()
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ValueError("reading Parquet needs pyarrow: pip install 'swirl-irl[parquet]'") from None
    path, faults = Path(path), Faults()
    _check_there(path)
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        _refuse(path, f"it is not a Parquet file, or is cut short ({_first_line(error)})")
    names = _distinct([name.strip() for name in schema.names], faults)
    found = _find(columns, list(names.values()), faults)
    heading = f"{path} cannot be read (rows are counted from 0)"
    faults.raise_if_any(heading)
    types = {name: schema.types[i] for i, name in names.items()}
    numeric = {
        name: pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        for name, kind in types.items()
    }
    notes: list[str] = []
    _hints(columns, found, list(types), notes)
    chosen = _choose_signals(numeric, found, signals, faults, notes)
    needed = {*found.values(), *(column for channels in chosen.values() for column in channels)}
    stored = {name: schema.names[i] for i, name in names.items() if name in needed}
    repeated = {name for role, name in found.items() if role != "time"}
    text = [name for name in repeated if pa.types.is_string(types[name]) or pa.types.is_large_string(types[name])]
    try:
        with pq.ParquetFile(path, read_dictionary=[stored[name] for name in text]) as file:
            read = file.read(columns=list(stored.values())).unify_dictionaries()
        # The index that pandas wrote along is one column among others here.
        frame = read.to_pandas(ignore_metadata=True, split_blocks=True, self_destruct=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        _refuse(path, f"it is damaged or cut short ({_first_line(error)})")
    del read
    if len(frame) == 0:
        _refuse(path, "it has columns but no rows: there are no data")
    series = {name: frame[raw] for name, raw in stored.items()}
    table = _Table(series, None, faults, notes, unordered=frozenset(text))
    return _assemble(table, found, chosen, state_names, action_names, heading, path.stem)


def _refuse(source: Any, message: str) -> NoReturn:
    """Raise one fault at once: nothing further can be found out."""
    faults = Faults()
    faults.add(message)
    faults.raise_if_any(f"{source} cannot be read")
    raise ValueError(message)


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def _plain(name: str) -> str:
    return name.strip().casefold()


# --- which column is what ---------------------------------------------------------------------------------------------


def _distinct(names: list[str], faults: Faults) -> dict[int, str]:
    """Position → name of every column that has a name; a name that occurs twice is a fault."""
    named = {i: name for i, name in enumerate(names) if not NO_NAME.fullmatch(name)}
    repeated = [name for name, n in Counter(named.values()).items() if n > 1]
    if repeated:
        faults.add(f"columns occur more than once: {some(repeated)}; give each a name of its own")
    return named


def _nearest(wanted: str, there: list[str]) -> str:
    by_plain = {_plain(name): name for name in there}
    near = get_close_matches(_plain(wanted), list(by_plain), n=1)
    return f"; did you mean {by_plain[near[0]]!r}?" if near else ""


def _find(columns: Columns, there: list[str], faults: Faults) -> dict[str, str]:
    """Role → the name of its column."""
    found = {}
    for field in fields(columns):
        wanted = getattr(columns, field.name)
        if wanted is None:
            continue
        matching = [wanted] if wanted in there else [name for name in there if _plain(name) == _plain(wanted)]
        if len(matching) > 1:
            faults.add(f"columns {some(matching)} could all be {wanted!r}: rename one, or spell it as in the table")
        elif matching:
            found[field.name] = matching[0]
        elif wanted != field.default or field.name == "state":
            listed = f"the columns are {some(there, 20)}" if there else "no column has a name"
            name_it = f"; name the one that holds it with Columns({field.name}=…)" * (wanted == field.default)
            faults.add(f"there is no column {wanted!r}: {listed}{_nearest(wanted, there)}{name_it}")
    return found


def _hints(columns: Columns, found: dict[str, str], there: list[str], notes: list[str]) -> None:
    """Note a column that is usually called otherwise: without a session column all rows are one session."""
    for role, words in ALSO_CALLED.items():
        wanted = getattr(columns, role)
        like = [name for name in there if _plain(name) in words and name not in found.values()]
        if wanted is not None and role not in found and like:
            notes.append(f"no column is called {wanted!r}: if {like[0]!r} is it, say so with {role}={like[0]!r}")


def _numeric(columns: dict[str, Any]) -> dict[str, bool]:
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    return {name: is_numeric_dtype(x.dtype) and not is_complex_dtype(x.dtype) for name, x in columns.items()}


def _choose_signals(
    numeric: dict[str, bool], found: dict[str, str], wanted: Any, faults: Faults, notes: list[str]
) -> dict[str, list[str]]:
    """Name of each signal → its columns, one per channel."""
    free = [name for name in numeric if name not in found.values()]
    if wanted is None:
        kept = [name for name in free if numeric[name] and _plain(name) not in NO_SIGNAL]
        left = [name for name in free if name not in kept]
        if left:
            notes.append(f"left out {some(left, 10)}: not numbers that were recorded")
        groups = _channels(kept)
        grouped = {column: stem for stem, channels in groups.items() for column in channels}
        for stem, channels in groups.items():
            notes.append(f"read {some(channels)} as the {len(channels)} channels of one signal, {stem}")
        return {grouped.get(name, name): groups.get(grouped.get(name, ""), [name]) for name in kept}
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        faults.add(f"signals={wanted!r}: give a list of columns, such as signals=['speed']")
        return {}
    chosen, groups = {}, _channels(list(numeric))
    for name in map(str, wanted):
        matching = [name] if name in numeric else [column for column in numeric if _plain(column) == _plain(name)]
        if matching or name in groups:
            chosen[name] = matching[:1] or groups[name]
        else:
            faults.add(f"signals: there is no column {name!r}{_nearest(name, free)}")
    return chosen


def _channels(names: list[str]) -> dict[str, list[str]]:
    """Stem → x_0, x_1, … in order, where they count from 0 without a hole and the stem is not a column itself."""
    members: dict[str, dict[str, str]] = {}
    for name in names:
        stem, _, number = name.rpartition("_")
        if stem and number.isdecimal():
            members.setdefault(stem, {})[number] = name
    return {
        stem: [found[str(i)] for i in range(len(found))]
        for stem, found in members.items()
        if len(found) > 1 and stem not in names and set(found) == {str(i) for i in range(len(found))}
    }


# --- from columns to sessions -----------------------------------------------------------------------------------------


def _assemble(
    table: _Table,
    found: dict[str, str],
    chosen: dict[str, list[str]],
    state_names: Any,
    action_names: Any,
    heading: str,
    only: str | None = None,
) -> Sessions:
    """Check every column, put the rows in order and cut them into sessions."""
    faults, notes = table.faults, table.notes
    state_names = checked_names("state_names", state_names, faults)
    action_names = checked_names("action_names", action_names, faults)
    states, state_names = _labels(table, "state", found["state"], state_names)
    actions = times = marks = None
    if "action" in found:
        actions, action_names = _labels(table, "action", found["action"], action_names)
    told = len(faults)
    if "time" in found:
        times = _times(table, found["time"])
    times_told = len(faults) > told
    if "gap" in found:
        marks = _gap_marks(table, found["gap"])
    session, sessions = np.zeros(len(states), np.int64), [only]
    if "session" in found:
        session, sessions = _session_names(*_identities(table, found["session"]))
    signals = {name: _signal(table, channels) for name, channels in chosen.items()}

    lost = np.zeros(len(states), bool) if times is None else np.isnan(times)
    # A spreadsheet's last rows are often empty.  Without a session or time to fill in, an empty row is a missed step.
    empty = (states == MISSING) & ((session < 0) | ("session" not in found)) & (lost | (times is None))
    empty &= ("session" in found or times is not None) & (True if actions is None else actions == MISSING)
    if empty.any():
        notes.append(f"left out {counted(int(empty.sum()), 'empty row')}")
    nowhere, lost = np.flatnonzero((session < 0) & ~empty), np.flatnonzero(lost & ~empty)
    if nowhere.size:
        faults.add(f"{found['session']} is blank in {table.where(nowhere)}: say which session it is")
    if lost.size and not times_told:
        faults.add(
            f"{found['time']} is blank or not finite in {table.where(lost)}: fill it in, or remove the column if the "
            "rows are in order"
        )
    subjects = _constant(table, found, "subject", session, sessions)
    groups = _constant(table, found, "group", session, sessions)
    order = None
    if not nowhere.size and not lost.size:
        order = _order(table, session, sessions, times, found.get("time", ""), empty)
    if not len(faults) and (states == MISSING).all():
        faults.add(f"{found['state']} is blank in every row: there are no data")
    faults.raise_if_any(heading)

    order, starts = _kept(states, marks, order, found["state"], notes)
    session = _taken(session, order)
    lengths = np.bincount(session, minlength=len(sessions))
    kept = np.flatnonzero(lengths)
    if len(kept) < len(sessions):
        without = [str(sessions[i]) for i in np.flatnonzero(lengths == 0)]
        notes.append(f"left out {counted(len(without), 'session')} without a single state: {some(without)}")
    first = np.cumsum(lengths[kept]) - lengths[kept]
    starts[first] = False  # a session's first step starts a segment anyway
    at = np.flatnonzero(starts)
    owner = np.searchsorted(first, at, side="right") - 1
    if times is not None:
        times = _taken(times, order)
        if times.dtype.kind == "M":
            notes.append(f"{found['time']} holds dates: times are seconds since the first step of each session")
            times = (times - np.repeat(times[first], lengths[kept])) / np.timedelta64(1, "s")

    def split(values: np.ndarray) -> list[np.ndarray]:
        return np.split(_taken(values, order), first[1:])

    return Sessions(
        states=split(states),
        actions=None if actions is None else split(actions),
        names=None if sessions == [None] else tuple(str(sessions[i]) for i in kept),
        subjects=None if subjects is None else tuple(subjects[i] for i in kept),
        groups=None if groups is None else tuple(groups[i] for i in kept),
        times=None if times is None else np.split(times, first[1:]),
        gaps=np.split(at - first[owner], np.searchsorted(owner, np.arange(1, len(kept)))) if len(at) else None,
        signals={name: split(values) for name, values in signals.items()} or None,
        state_names=state_names,
        action_names=action_names,
        notes=tuple(notes),
    )


def _taken(values: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    """Rows in order; without a copy where they stand so already, as in most large files."""
    return values if order is None else values[order]


def _order(
    table: _Table, session: np.ndarray, sessions: list[Any], times: Any, column: str, empty: np.ndarray
) -> np.ndarray | None:
    """Rows session after session, each in order of time; None where they stand so already."""
    order = np.flatnonzero(~empty) if empty.any() else None
    rows = _taken(session, order)
    if (np.diff(rows) < 0).any():
        grouped = np.argsort(rows, kind="stable")
        order, rows = grouped if order is None else order[grouped], rows[grouped]
    if times is None:
        return order
    within, t = np.diff(rows) == 0, _taken(times, order)
    back = within & (t[1:] < t[:-1])
    if back.any():
        n = len(np.unique(rows[1:][back]))
        table.notes.append(f"sorted {counted(n, 'session')} by {column}: the rows were not in order of time")
        by_time = np.lexsort((t, rows))
        order, t = by_time if order is None else order[by_time], t[by_time]
    twice = np.flatnonzero(within & (t[1:] == t[:-1]))
    for i in twice[:3].tolist():
        pair = np.array([i, i + 1]) if order is None else order[i : i + 2]
        table.faults.add(
            f"{column} is {t[i]} in both {table.where(np.sort(pair))}{_of(sessions[rows[i]])}: each step has a time of "
            "its own; remove the repeated row, or correct the session"
        )
    if len(twice) > 3:
        table.faults.add(f"{column} repeats {len(twice) - 3:,} more times in this way")
    return order


def _kept(
    states: np.ndarray, marks: np.ndarray | None, order: np.ndarray | None, column: str, notes: list[str]
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return (the rows with a state, in order; whether a new segment starts at each, as after a row without one)."""
    known = _taken(states, order) != MISSING
    starts = np.zeros(len(known), bool) if marks is None else _taken(marks, order).copy()
    if known.all():
        return order, starts
    lost = np.cumsum(~known)
    notes.append(f"dropped {counted(int(lost[-1]), 'step')} without a {column}, and marked gaps in their place")
    rows = np.flatnonzero(known) if order is None else order[known]
    return rows, starts[known] | (np.diff(lost[known], prepend=0) > 0)


def _of(session: Any) -> str:
    return "" if session is None else f" of session {session!r}"


# --- one column at a time ---------------------------------------------------------------------------------------------


def _codes(series: Any) -> tuple[np.ndarray, list[Any]]:
    """Take a column as (number of the value in each row, −1 where blank; the values)."""
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        codes, values = series.cat.codes.to_numpy(), list(series.cat.categories)
    else:
        codes, values = pd.factorize(series)
        values = list(values)
    blank = [isinstance(value, str) and not value.strip() for value in values]
    if any(blank):
        codes = np.append(np.where(blank, MISSING, np.arange(len(values))), MISSING)[codes]
    return codes.astype(np.int64), values


def _labels(
    table: _Table, noun: str, column: str, names: tuple[str, ...] | None
) -> tuple[Int[np.ndarray, " row"], tuple[str, ...] | None]:
    """Read a column of states or actions as (label of each row, −1 where missing; their names)."""
    import pandas as pd

    series = table.columns[column]
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
        values = series.to_numpy(np.float64, na_value=np.nan) if series.hasnans else series.to_numpy()
        return _numbered(table, noun, column, values, names), names
    codes, values = _codes(series)
    used = np.bincount(codes[codes >= 0], minlength=len(values)) > 0
    there = [_without_point(value) for value, seen in zip(values, used, strict=True) if seen]
    strange = [value for value in there if not isinstance(value, str | Number) or isinstance(value, complex)]
    if strange:
        table.faults.add(f"{column} holds {type(strange[0]).__name__} ({strange[0]}): give whole numbers or names")
        return codes, names
    # The order of categories is the user's; pandas keeps those that never occur, and so do we.
    ordered = isinstance(series.dtype, pd.CategoricalDtype) and column not in table.unordered
    ordered = ordered and all(isinstance(value, str) for value in values)
    if there and not ordered and all(A_NUMBER.fullmatch(str(value)) for value in there):
        numbers = [float(value) if seen else np.nan for value, seen in zip(values, used, strict=True)]
        return _numbered(table, noun, column, np.array([*numbers, np.nan])[codes], names), names
    of_number = [value for value in there if not isinstance(value, str | bool)]
    if of_number and len(of_number) < len(there):
        table.notes.append(f"{column} mixes text with numbers, such as {of_number[0]}: all were read as names")
    text = [str(_without_point(value)) for value in values]
    if names is None:
        filled = [x for x, seen in zip(text, used, strict=True) if x.strip() and (seen or ordered)]
        names = tuple(filled if ordered else sorted(set(filled)))
    number = {name: i for i, name in enumerate(names)}
    unknown = [i for i, x in enumerate(text) if used[i] and x not in number]
    if unknown:
        at = table.where(np.flatnonzero(np.isin(codes, unknown)))
        got = some([repr(text[i]) for i in unknown])
        table.faults.add(f"{column} is {got} in {at}: not among {noun}_names, which are {some(names, 20)}")
    # An unknown name is a fault already, not a missing label.
    return np.array([*(number.get(x, 0) for x in text), MISSING])[codes], names


def _numbered(
    table: _Table, noun: str, column: str, values: np.ndarray, names: tuple[str, ...] | None
) -> Int[np.ndarray, " row"]:
    """Read labels that are numbers: whole, from 0, and within the names if there are names."""
    whole = values.dtype.kind in "iu"
    blank = np.zeros(len(values), bool) if whole else np.isnan(values)
    # −1 is how `Trajectories` itself writes a missing action.
    wrong = (values < (MISSING if noun == "action" else 0)) | (values > LARGEST_LABEL)
    wrong |= False if whole else (values != np.floor(values)) & ~blank
    if wrong.any():
        at = np.flatnonzero(wrong)
        leave = "leave it blank where it is not known" if values[at[0]] < 0 else "give whole numbers from 0, or names"
        table.faults.add(f"{column} is {values[at[0]]:g} in {table.where(at)}: not a label; {leave}")
        return np.where(blank, MISSING, 0)
    labels = values.astype(np.int64) if whole else np.where(blank, MISSING, values).astype(np.int64)
    if names is None:
        return labels
    if all(name.isdecimal() for name in names):
        number = {int(name): i for i, name in enumerate(names)}
        seen, inverse = np.unique(labels, return_inverse=True)
        read = np.array([number.get(label, MISSING) for label in seen.tolist()])[inverse]
    else:
        read = np.where(labels < len(names), labels, MISSING)
    unknown = np.flatnonzero((read == MISSING) & (labels != MISSING))
    if unknown.size:
        table.faults.add(
            f"{column} is {labels[unknown[0]]} in {table.where(unknown)}: not among the {counted(len(names), 'name')} "
            f"in {noun}_names ({some(names)})"
        )
    return read


def _without_point(value: Any) -> Any:
    """Python's own value, a whole number without a point: a column with blanks makes 3 into 3.0."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _session_names(codes: np.ndarray, values: list[Any]) -> tuple[np.ndarray, list[Any]]:
    """Sessions by name: 1 and "1" are the same, and a day has no hour."""
    names = [str(value).removesuffix(" 00:00:00") for value in values]
    different = list(dict.fromkeys(names))
    if len(different) < len(names):
        codes = np.array([*map(different.index, names), MISSING])[codes]
    return codes, different


def _identities(table: _Table, column: str) -> tuple[np.ndarray, list[Any]]:
    """Take sessions, subjects or groups as (number in each row, −1 where blank; values in order of appearance)."""
    import pandas as pd

    codes, values = _codes(table.columns[column])
    values = [_without_point(value) for value in values]
    filled = [value for value in values if not isinstance(value, str) or value.strip()]
    if table.written and all(isinstance(value, str) and re.fullmatch("0|[1-9][0-9]*", value) for value in filled):
        values = [int(value) if value.strip() else value for value in values]
    codes, order = pd.factorize(np.where(codes < 0, len(values), codes))
    names = [*values, None]
    blank = np.flatnonzero(order == len(values))
    if not blank.size:
        return codes.astype(np.int64), [names[i] for i in order]
    at = int(blank[0])
    codes = np.where(codes == at, MISSING, codes - (codes > at))
    return codes.astype(np.int64), [names[i] for i in order if i < len(values)]


def _constant(
    table: _Table, found: dict[str, str], role: str, session: np.ndarray, sessions: list[Any]
) -> list[Any] | None:
    """Return the subject or group of each session, None where it is blank throughout."""
    if role not in found:
        return None
    codes, values = _identities(table, found[role])
    filled = np.flatnonzero((codes >= 0) & (session >= 0))
    first = np.full(len(sessions), len(filled), np.int64)
    np.minimum.at(first, session[filled], np.arange(len(filled)))
    of_session = np.append(codes[filled], MISSING)[first]
    differs = filled[codes[filled] != of_session[session[filled]]]
    for i in np.unique(session[differs])[:5].tolist():
        rows = differs[session[differs] == i]
        table.faults.add(
            f"{found[role]} is {values[codes[rows[0]]]!r} in {table.where(rows)}{_of(sessions[i])} but "
            f"{values[of_session[i]]!r} before: a session has one {role}; give each its own session"
        )
    names = [*values, None]
    return [names[i] for i in of_session]


def _times(table: _Table, column: str) -> np.ndarray:
    """Times as floats (NaN where blank or not finite), or as dates (NaT)."""
    import pandas as pd

    series = table.columns[column]
    if pd.api.types.is_timedelta64_dtype(series.dtype):
        return series.dt.total_seconds().to_numpy()
    if not pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_datetime64_any_dtype(series.dtype):
        blank = (series.isna() | (series.astype(str).str.strip() == "")).to_numpy()
        numbers: Any = pd.to_numeric(series, errors="coerce")
        if (numbers.isna().to_numpy() & ~blank).any():
            rest = series.where(numbers.isna())
            dates: Any = pd.to_datetime(rest, format="ISO8601", utc=True, errors="coerce")
            series = dates if dates.notna().sum() > numbers.notna().sum() else numbers
        else:
            series = numbers
        wrong = np.flatnonzero(series.isna().to_numpy() & ~blank)
        if wrong.size:
            got = table.columns[column].iloc[wrong[0]]
            table.faults.add(
                f"{column} is {got!r} in {table.where(wrong)}: give seconds, or dates such as 2025-03-01T09:30:00.25"
            )
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return (series if series.dt.tz is None else series.dt.tz_convert(None)).to_numpy()
    times = series.to_numpy(na_value=np.nan) if series.hasnans else series.to_numpy()
    times = times if times.dtype.kind == "f" else times.astype(np.float64)
    return times if np.isfinite(times).all() else np.where(np.isfinite(times), times, np.nan)


def _gap_marks(table: _Table, column: str) -> Bool[np.ndarray, " row"]:
    """Read the steps at which a new segment starts."""
    codes, values = _codes(table.columns[column])
    marks = [MARKS.get(str(value).strip().casefold()) for value in values]
    wrong = [i for i, mark in enumerate(marks) if mark is None]
    rows = np.flatnonzero(np.isin(codes, wrong)) if wrong else np.zeros(0, np.int64)
    if rows.size:
        table.faults.add(
            f"{column} is {values[codes[rows[0]]]!r} in {table.where(rows)}: give 1 (or true) where a new segment "
            "starts, and 0, false or nothing elsewhere"
        )
    return np.array([*map(bool, marks), False])[codes]


def _signal(table: _Table, channels: list[str]) -> np.ndarray:
    """Numbers of one signal: (rows,), or (rows, channels)."""
    import pandas as pd

    read = []
    for column in channels:
        series = table.columns[column]
        if not pd.api.types.is_numeric_dtype(series.dtype):
            numbers: Any = pd.to_numeric(series, errors="coerce")
            wrong = np.flatnonzero((numbers.isna() & series.notna()).to_numpy())
            if wrong.size:
                got = series.iloc[wrong[0]]
                table.faults.add(f"{column} is {got!r} in {table.where(wrong)}: a signal holds numbers; correct it")
            series = numbers
        values = series.to_numpy() if series.dtype.kind == "f" and isinstance(series.dtype, np.dtype) else None
        read.append(series.to_numpy(np.float64, na_value=np.nan) if values is None else values)
    return read[0] if len(read) == 1 else np.stack(read, axis=1)


# --- text files -------------------------------------------------------------------------------------------------------


def _check_there(path: Path) -> None:
    if path.is_dir():
        _refuse(path, "it is a folder: give the file in it")
    if not path.exists():
        _refuse(path, "it does not exist: check the spelling and the folder")
    if path.is_file() and path.stat().st_size == 0:
        _refuse(path, "it is empty: there are no data")


def _text(path: Path) -> bytes:
    """Return the bytes of a text file as UTF-8 without a mark, each line ended by a line feed."""
    _check_there(path)
    try:
        with path.open("rb") as file:
            if file.read(2) == b"\x1f\x8b":
                file.seek(0)
                with gzip.open(file) as unpacked:
                    data = unpacked.read(LARGEST_TEXT + 1)
            else:
                file.seek(0)
                data = file.read()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        _refuse(path, f"its compression is damaged or cut short ({error}): copy it again")
    except OSError as error:
        _refuse(path, f"it cannot be opened ({error.strerror or error})")
    if len(data) > LARGEST_TEXT:
        _refuse(path, f"it holds more than {LARGEST_TEXT / 2**30:.0f} GiB of text: store it as Parquet")
    for start, words in OTHER_FORMATS.items():
        if data.startswith(start):
            _refuse(path, f"it is {words}")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].decode(encoding, "replace").count("\n") + 1
        binary = b"\0" in data[:4096] and encoding == "utf-8"
        _refuse(
            path,
            "it is not text (it holds zero bytes)"
            if binary
            else f"line {line} holds the byte 0x{data[error.start]:02X}, which is not {encoding.upper()}: save the "
            "file as UTF-8 (in Excel: “CSV UTF-8”)",
        )
    if "\0" in text:
        _refuse(path, f"line {text[: text.index(chr(0))].count(chr(10)) + 1} holds a zero byte: it is not plain text")
    if not text.strip():
        _refuse(path, "it holds only blank lines: there are no data")
    data = text.encode() if encoding == "utf-16" else data
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _separator(data: bytes) -> str:
    """Comma, semicolon or tab: the one that the first line has most of, outside quotation marks."""
    start = len(data) - len(data.lstrip(b"\n"))
    end = data.find(b"\n", start)
    line = re.sub(r'"[^"]*"', "", data[start : end if end >= 0 else len(data)].decode())
    return max(",;\t", key=line.count)


def _records(path: Path, data: bytes, separator: str) -> tuple[np.ndarray, list[str], int]:
    """Return (line of each row of data; the column names; the line that they end on); ragged rows are faults."""
    if b'"' in data:
        lines, counts, header, end = _quoted_records(path, data, separator)
    else:
        content = np.frombuffer(data, np.uint8)
        ends = np.flatnonzero(content == ord("\n"))
        begins = np.append(0, ends + 1)
        begins = begins[:-1] if begins[-1] == len(data) else begins
        counts = np.add.reduceat(content == ord(separator), begins, dtype=np.int64)
        visible = (content != ord(" ")) & (content != ord("\t")) & (content != ord("\n"))
        blank = (np.add.reduceat(visible, begins, dtype=np.int64) == 0) & (counts == 0)
        lines, counts = np.flatnonzero(~blank) + 1, counts[~blank] + 1
        end = int(lines[0])
        begin = int(begins[end - 1])
        header = data[begin:].split(b"\n", 1)[0].decode().split(separator)
    faults, ragged = Faults(), np.flatnonzero(counts != len(header))
    for i in ragged[:5].tolist():
        cut = not data.endswith(b"\n") and i == len(lines) - 1 and counts[i] < len(header)
        remedy = "the file ends there: was it cut short?" if cut else f"each {separator!r} starts a new column"
        faults.add(f"line {lines[i]} has {counted(int(counts[i]), 'value')} for {len(header)} columns: {remedy}")
    if len(ragged) > 5:
        faults.add(f"{counted(len(ragged) - 5, 'more line')} of this kind")
    faults.raise_if_any(f"{path} cannot be read")
    return lines[1:], header, end


def _quoted_records(path: Path, data: bytes, separator: str) -> tuple[np.ndarray, np.ndarray, list[str], int]:
    """Do the same for a file with quotation marks, in which values may hold separators and line ends."""
    reader = csv.reader(io.StringIO(data.decode()), delimiter=separator, skipinitialspace=True, strict=True)
    lines, counts, header, end, line = [], [], [], 0, 1
    try:
        for record in reader:
            # pandas skips a line of spaces too, but not one that holds an empty pair of quotation marks.
            if record and not (len(record) == 1 and record[0] and not record[0].strip(" \t")):
                if not counts:
                    header, end = record, reader.line_num
                lines.append(line)
                counts.append(len(record))
            line = reader.line_num + 1
    except csv.Error as error:
        _refuse(path, f"line {line}: {error}; close each quotation mark that is opened")
    return np.array(lines, np.int64), np.array(counts, np.int64), header, end


def _without_decimal_comma(series: Any) -> Any:
    """Numbers, where every value of a column of text is a number with a decimal comma; else the column itself."""
    filled = series.dropna()
    if not filled.str.fullmatch(DECIMAL_COMMA).all():
        return series
    import pandas as pd

    return pd.to_numeric(series.str.replace(",", "."))
