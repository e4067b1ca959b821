"""From the columns of a table to sessions: labels, times, gaps and signals, cut where a session or a segment starts."""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Number
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from swirl.data.trajectory_checks import MISSING
from swirl.errors import Faults
from swirl.io.text_table import as_numbers, number
from swirl.text import counted, did_you_mean, numbered, some

MAX_LABEL = 10**6 - 1  # models hold arrays with one row per label: a larger number is an identifier or a time
A_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
AS_NAMED = "({noun} 1: a1)"
"""The end of a note on labels that count from 1."""
MARKS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False, "": False}


@dataclass(frozen=True)
class Table:
    """Columns (pandas Series) by name, where they are from, and what is found about them on the way.

    >>> Table({}, np.array([2, 4, 5]), Faults(), []).where(np.array([1, 2]))
    'lines 4, 5'
    """

    columns: dict[str, Any]
    lines: Int[np.ndarray, " row"] | None  # the line of each row in its file; None: rows are counted from 0
    faults: Faults
    notes: list[str]
    unordered: frozenset[str] = frozenset()  # text that is categorical only to save memory
    written: bool = False  # a CSV: whole numbers arrive as text

    def where(self, rows: np.ndarray) -> str:
        """Name a few rows, as in "line 3" or "rows 1, 5"."""
        return numbered("row", rows.tolist()) if self.lines is None else numbered("line", self.lines[rows].tolist())


def _codes(series: Any) -> tuple[np.ndarray, list[Any]]:
    """Take a column as (number of the value in each row, −1 where blank; the values)."""
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        codes, values = series.cat.codes.to_numpy(), list(series.cat.categories)
    else:
        try:
            codes, values = pd.factorize(series)
        except TypeError:
            raise ValueError(f"{series.name} holds lists or records: expected one number or text in each row") from None
        values = list(values)
    blank = [isinstance(value, str) and not value.strip() for value in values]
    if any(blank):
        codes = np.append(np.where(blank, MISSING, np.arange(len(values))), MISSING)[codes]
    return codes.astype(np.int64), values


def read_labels(
    table: Table, noun: str, column: str, names: tuple[str, ...] | None
) -> tuple[Int[np.ndarray, " row"], tuple[str, ...] | None]:
    """Read a column of states or actions as (label of each row, −1 where missing; their names).

    >>> import pandas as pd
    >>> table = Table({"state": pd.Series(["water", None, "home"])}, None, Faults(), [])
    >>> read_labels(table, "state", "state", None)
    (array([ 1, -1,  0]), ('home', 'water'))
    """
    import pandas as pd

    series = table.columns[column]
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
        ends = (series.min(), series.max()) if noun == "state" else ()
        if ends == (-1, 1) and set(series.dropna().unique().tolist()) == {-1, 1}:  # a choice: −1 is no "not known"
            ours = names is None or "state -1" in names  # as an import calls them, too
            called = {-1: "state -1", 1: "state 1"} if ours else {-1: "-1", 1: "1"}
            return _named(table, noun, column, *_codes(series.map(called)), names or tuple(called.values()))
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
    return _named(table, noun, column, codes, text, names)


def _named(
    table: Table, noun: str, column: str, codes: np.ndarray, text: list[str], names: tuple[str, ...]
) -> tuple[Int[np.ndarray, " row"], tuple[str, ...]]:
    """Labels that are names, which have to be among `names`."""
    used = np.bincount(codes[codes >= 0], minlength=len(text)) > 0
    number = {name: i for i, name in enumerate(names)}
    unknown = [i for i, x in enumerate(text) if used[i] and x not in number]
    if unknown:
        at = table.where(np.flatnonzero(np.isin(codes, unknown)))
        got = some([repr(text[i]) for i in unknown])
        hint = spelling_hint([text[i] for i in unknown], names) if noun == "state" else ""
        table.faults.add(f"{column} is {got} in {at}: not among {noun}_names, which are {some(names, 20)}{hint}")
    # An unknown name is a fault already, not a missing label.
    return np.array([*(number.get(x, 0) for x in text), MISSING])[codes], names


def _numbered(
    table: Table, noun: str, column: str, values: np.ndarray, names: tuple[str, ...] | None
) -> Int[np.ndarray, " row"]:
    """Read labels that are numbers: whole, from 0, and within the names if there are names."""
    whole = values.dtype.kind in "iu"
    blank = np.zeros(len(values), bool) if whole else np.isnan(values)
    # −1 is how `Trajectories` itself writes a missing action.
    wrong = (values < (MISSING if noun == "action" else 0)) | (values > MAX_LABEL)
    wrong |= False if whole else (values != np.floor(values)) & ~blank
    if wrong.any():
        at = np.flatnonzero(wrong)
        below = "leave it blank where it is not known; where it is a label of its own, write a name (left, right)"
        leave = below if values[at[0]] < 0 else "give whole numbers from 0, or names"
        table.faults.add(f"{column} is {values[at[0]]:g} in {table.where(at)}: not a label; {leave}")
        return np.where(blank, MISSING, 0)
    labels = values.astype(np.int64) if whole else np.where(blank, MISSING, values).astype(np.int64)
    if names is None:
        least = labels.min(initial=MAX_LABEL, where=labels != MISSING)
        there = np.bincount(labels[labels != MISSING]) if least == 1 else np.zeros(0)
        if len(there) > 2 and (there[1:] > 0).all():
            table.notes.append(
                f"{column} counts from 1 to {len(there) - 1}, and swirl from 0: there is a 0, too, that never occurs. "
                f"Where that is not meant, count from 0, or write names {AS_NAMED.format(noun=noun)}"
            )
        return labels
    number = {int(name): i for i, name in enumerate(names) if name.isdecimal()}
    seen, inverse = np.unique(labels, return_inverse=True)
    # With other names among them too, where all numbers are names: the others were then not visited.
    if len(number) == len(names) or all(label in number for label in seen.tolist() if label != MISSING):
        read = np.array([number.get(label, MISSING) for label in seen.tolist()])[inverse]
    else:
        read = np.where(labels < len(names), labels, MISSING)
    unknown = np.flatnonzero((read == MISSING) & (labels != MISSING))
    if unknown.size:
        table.faults.add(
            f"{column} is {labels[unknown[0]]} in {table.where(unknown)}: not among the {counted(len(names), 'name')} "
            f"in {noun}_names ({some(names)}), which numbers count from 0; if yours count from 1, give names that are "
            "numbers (swirl env … --labels 1)"
        )
    return read


_CELL = re.compile(r"[A-Za-z]{1,2}\d+|\d+[A-Za-z]{1,2}|\D?\d+\D\d+|\d+")


def spelling_hint(got: Sequence[str], names: Sequence[str]) -> str:
    """End of a sentence that says what to type where labels are those of an environment, but spelled otherwise.

    >>> spelling_hint(["a1", "a2"], ["A1", "A2", "A3"])
    "; 'a1' seems to be 'A1': spell it alike in both (swirl env grid … --labels a1 writes the first cell so)"
    >>> spelling_hint(["A1", "F6"], ["r0c0", "r0c1"])[:41]
    '; both seem to be cells of a grid: write '
    >>> spelling_hint(["nest"], ["r0c0"])
    ''
    """
    by_sound = {_sound(name): name for name in names}
    if all(_sound(label) in by_sound for label in got):
        own, first = got[0], next((label for label in got if _sound(label) == _sound(names[0])), None)
        also = "" if first is None else f" (swirl env grid … --labels {first} writes the first cell so)"
        return f"; {own!r} seems to be {by_sound[_sound(own)]!r}: spell it alike in both{also}"
    if all(_CELL.fullmatch(label) for label in (*got, *names)):
        first = "A1" if got[0][:1].isupper() else "a1" if re.match(r"[a-z]\d+$", got[0]) else "A1"
        return (
            f"; both seem to be cells of a grid: write its environment with your names, as in swirl env grid 6x6 "
            f"--labels {first} (what the first cell is called)"
        )
    return ""


def _sound(label: str) -> str:
    """A label without capitals, spaces, signs and leading zeros."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", re.sub(r"[\s_\-.]", "", label.casefold()))


def _without_point(value: Any) -> Any:
    """Python's own value, a whole number without a point: a column with blanks makes 3 into 3.0."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def session_names(codes: np.ndarray, values: list[Any]) -> tuple[np.ndarray, list[Any]]:
    """Sessions by name: 1 and "1" are the same, and a day has no hour.

    >>> session_names(np.array([0, 1, 2]), [1, "1", "2025-03-01 00:00:00"])
    (array([0, 0, 1]), ['1', '2025-03-01'])
    """
    names = [str(value).removesuffix(" 00:00:00") for value in values]
    different = list(dict.fromkeys(names))
    if len(different) < len(names):
        codes = np.array([*map(different.index, names), MISSING])[codes]
    return codes, different


def read_identities(table: Table, column: str) -> tuple[np.ndarray, list[Any]]:
    """Take sessions, subjects or groups as (number in each row, −1 where blank; values in order of appearance).

    >>> import pandas as pd
    >>> table = Table({"subject": pd.Series(["m2", None, "m1", "m2"])}, None, Faults(), [])
    >>> read_identities(table, "subject")
    (array([ 0, -1,  1,  0]), ['m2', 'm1'])
    """
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


def read_times(table: Table, column: str) -> np.ndarray:
    """Times as floats (NaN where blank or not finite), or as dates (NaT).

    >>> import pandas as pd
    >>> table = Table({"t": pd.Series(["0.5", "", "2"])}, None, Faults(), [])
    >>> read_times(table, "t")
    array([0.5, nan, 2. ])
    """
    import pandas as pd

    series = table.columns[column]
    if pd.api.types.is_timedelta64_dtype(series.dtype):
        return series.dt.total_seconds().to_numpy()
    if not pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_datetime64_any_dtype(series.dtype):
        blank = (series.isna() | (series.astype(str).str.strip() == "")).to_numpy()
        numbers: Any = pd.to_numeric(series, errors="coerce")
        either = ""
        if (numbers.isna().to_numpy() & ~blank).any():
            rest = series.where(numbers.isna())
            dates: Any = iso_dates(rest)
            if dates.notna().sum() == 0:
                slashed, told = _slashed_dates(rest, column)
                if slashed is not None and slashed.notna().any():
                    dates = slashed
                    table.notes.append(f"{column} was read as dates, {told}")
                else:
                    either = told if slashed is None else ""
            series = dates if dates.notna().sum() > numbers.notna().sum() else numbers
        else:
            series = numbers
        wrong = np.flatnonzero(series.isna().to_numpy() & ~blank)
        if wrong.size:
            got = table.columns[column].iloc[wrong[0]]
            table.faults.add(
                f"{column} is {got!r} in {table.where(wrong)}: give seconds, or dates such as 2025-03-01T09:30:00.25"
                f"{either}"
            )
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return (series if series.dt.tz is None else series.dt.tz_convert(None)).to_numpy()
    times = series.to_numpy(na_value=np.nan) if series.hasnans else series.to_numpy()
    times = times if times.dtype.kind == "f" else times.astype(np.float64)
    return times if np.isfinite(times).all() else np.where(np.isfinite(times), times, np.nan)


_HALF_DAY = re.compile(r"(\d{4}-\d\d-\d\d)[ T]+(\d{1,2}:\d\d)(:\d\d)?\s*([ap]\.?m)\.?", re.IGNORECASE)


def iso_dates(series: Any) -> Any:
    """Dates such as 2025-03-01 09:30:00, also 9:30:00am; NaT where there is none.

    >>> import pandas as pd
    >>> iso_dates(pd.Series(["2019-01-23 12:10:40pm", "2019-01-23 1:00 PM", "soon"])).dt.hour.tolist()
    [12.0, 13.0, nan]
    """
    import pandas as pd

    dates = pd.to_datetime(series, format="ISO8601", utc=True, errors="coerce")
    rest = series[dates.isna() & series.notna()].astype(str).str.strip()
    found = rest.str.extract(_HALF_DAY) if len(rest) else rest
    if not len(rest) or not (there := found[0].notna()).any():
        return dates
    found = found[there]
    text = found[0] + " " + found[1] + found[2].fillna(":00") + found[3].str.replace(".", "")
    dates = dates.copy()
    dates[text.index] = pd.to_datetime(text, format="%Y-%m-%d %I:%M:%S%p", utc=True, errors="coerce")
    return dates


_SLASHED = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})[ ,T]+\d{1,2}:\d\d")
_EITHER = " (which of the numbers are the month these dates do not tell)"


def _slashed_dates(series: Any, column: str) -> tuple[Any, str]:
    """Dates such as 11/19/2019 17:35:49, NaT where one is none, and their order; None where most are none.

    The order is known where only one of the two is possible, where the name of the column says it (FED3's "MM:DD:YYYY
    hh:mm:ss"), or where it does not matter, as all are of one day. Where it is not, None and words that say so.

    >>> import pandas as pd
    >>> _slashed_dates(pd.Series(["11/19/2019 17:35:49"]), "t")[1]
    'with the month first'
    >>> _slashed_dates(pd.Series(["1/2/2019 17:35:49", "2/2/2019 09:00:00"]), "t")
    (None, ' (which of the numbers are the month these dates do not tell)')
    """
    import pandas as pd

    text = series.dropna().astype(str).str.strip()
    found = text.str.extract(_SLASHED).dropna()
    if 2 * len(found) <= len(text):
        return None, ""
    first, second = (found[i].astype(int) for i in (0, 2))
    of_day, of_month = ((one > 12) & (other <= 12) for one, other in ((first, second), (second, first)))
    named = re.match(r"(mm?|dd?)[^a-z]+(mm?|dd?)[^a-z]+y", plain(column))
    if (first > 12).any() or (second > 12).any():
        order = int(of_day.sum() > of_month.sum())
        told = ("with the month first", "with the day first")[order]
    elif named and named[1][0] != named[2][0]:
        order = int(named[1][0] == "d")
        told = ("with the month first", "with the day first")[order]
    elif found[[0, 2, 3]].nunique().max() == 1:
        order, told = 0, "all of one day"
    else:
        return None, _EITHER
    days, dates = ("%m/%d/%Y", "%d/%m/%Y")[order], pd.Series(pd.NaT, found.index, dtype="datetime64[us, UTC]")
    clock = text[found.index].str.replace(r"^(\d+)[/.-](\d+)[/.-](\d+)[ ,T]+", r"\1/\2/\3 ", regex=True)
    for hours in ("%H:%M:%S", "%H:%M:%S.%f", "%H:%M", "%I:%M:%S %p", "%I:%M %p"):  # whole seconds have no fraction
        left = dates.isna()
        if left.any():
            dates[left] = pd.to_datetime(clock[left], format=f"{days} {hours}", utc=True, errors="coerce")
    return dates.reindex(series.index), told


def read_gaps(table: Table, column: str) -> Bool[np.ndarray, " row"]:
    """Read the steps at which a new segment starts.

    >>> import pandas as pd
    >>> table = Table({"gap": pd.Series(["", "true", "0"])}, None, Faults(), [])
    >>> read_gaps(table, "gap")
    array([False,  True, False])
    """
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


TWO_ROWS = (
    "a bout has two rows, and each would become a step. This looks like BORIS' tabular export: read it with `swirl "
    "import bouts`, which makes one step of each bout; or "
)


def refuse_marks(table: Table, column: str) -> None:
    """Add a fault where a column says of each row whether a bout starts or stops there.

    >>> import pandas as pd
    >>> table = Table({"Status": pd.Series(["START", "STOP"])}, None, Faults(), [])
    >>> refuse_marks(table, "Status")
    >>> table.faults.messages[0][:46]
    'Status is START in 1 row and STOP in 1: a bout'
    """
    codes, values = _codes(table.columns[column])
    rows = np.bincount(codes[codes >= 0], minlength=len(values))
    words = [str(value).strip().casefold() for value in values]
    start, stop = (sum(int(n) for n, own in zip(rows, words, strict=True) if own == word) for word in ("start", "stop"))
    if start and stop:
        says = f"{column} is START in {counted(start, 'row')} and STOP in {stop:,}"
        table.faults.add(f"{says}: {TWO_ROWS}delete the rows whose {column} is STOP, and read the rest")


def read_signal(table: Table, channels: list[str]) -> np.ndarray:
    """Numbers of one signal: (rows,), or (rows, channels).

    >>> import pandas as pd
    >>> table = Table({"x": pd.Series([0.5, None]), "y": pd.Series([1, 2])}, None, Faults(), [])
    >>> read_signal(table, ["x", "y"])
    array([[0.5, 1. ],
           [nan, 2. ]])
    """
    read = []
    for column in channels:
        series = table.columns[column]
        values, wrong = as_numbers(series)
        if wrong.size:
            got = series.iloc[wrong[0]]
            table.faults.add(f"{column} is {got!r} in {table.where(wrong)}: a signal holds numbers; correct it")
        read.append(values)
    return read[0] if len(read) == 1 else np.stack(read, axis=1)


KEYS = ("session", "subject")  # may be told by several columns together
NO_SIGNAL = ("step", "mode")  # what our own exports add: counted or inferred, not recorded
NO_NAME = re.compile(r"(Unnamed: \d+|__index_level_\d+__)?")  # how pandas names an index that it wrote along
STARTS, STOPS = ("start", "begin", "onset"), ("stop", "end", "offset")
ALSO_CALLED = {
    "session": ("session_id", "recording", "trial", "episode", "bout", "file", "name"),
    "subject": ("subject_id", "animal", "animal_id", "mouse", "mouse_id", "rat", "id"),
    "time": ("time", "times", "time_s", "timestamp", "timestamps", "seconds", "sec"),
}


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are called.

    A column under its usual name may be absent; one that is named here must be there.  None: not read, even if there.
    Capitals and spaces around a name do not matter.  A session (or a subject) may be told by several columns together,
    as where sessions are numbered for each mouse: ("mouse", "session").

    Examples
    --------
    >>> Columns(session="recording", state="syllable").state
    'syllable'
    """

    session: str | tuple[str, ...] | None = "session"
    subject: str | tuple[str, ...] | None = "subject"
    group: str | None = "group"
    time: str | None = "t"
    state: str = "state"
    action: str | None = "action"
    gap: str | None = "gap"


USUAL = Columns()


def as_columns(given: Any) -> Columns:
    """Names of columns as `Columns`: a dict says only what differs from the usual, None that nothing does.

    >>> as_columns({"state": "arm"}).state
    'arm'
    >>> as_columns({"stat": "arm"})
    Traceback (most recent call last):
    ValueError: The columns cannot be identified: 1 fault.
      1. columns has 'stat', which swirl does not know: expected session, subject, ...; did you mean 'state'?
    """
    if given is None or isinstance(given, Columns):
        return given or USUAL
    roles = [field.name for field in fields(Columns)]
    if not isinstance(given, Mapping):
        got = repr(given) if isinstance(given, str) else f"a {type(given).__name__}"
        raise ValueError(
            f"columns is {got}: give a dict, such as {{'state': 'arm'}} (of {', '.join(roles)}), or Columns"
        )
    faults = Faults()
    for role, name in given.items():
        if role not in roles:
            near = did_you_mean(str(role), roles)
            faults.add(f"columns has {role!r}, which swirl does not know: expected {', '.join(roles)}{near}")
        elif role in KEYS and isinstance(name, list | tuple):
            if not name or not all(isinstance(part, str) for part in name):
                faults.add(f"columns[{role!r}] is {name!r}: give the names of its columns, as ('mouse', 'session')")
        elif not isinstance(name, str) and (name is not None or role == "state"):
            such = "" if name is None or isinstance(name, list | tuple | dict) else f", such as {str(name)!r}"
            faults.add(f"columns[{role!r}] is {name!r}: give the name of the column as text{such}")
    faults.raise_if_any("The columns cannot be identified")
    named: dict[str, Any] = {role: tuple(name) if isinstance(name, list) else name for role, name in given.items()}
    return Columns(**named)


def as_typed(columns: Mapping[str, Any]) -> str:
    """The option of the command line that names these columns.

    >>> as_typed({"session": ("mouse", "day"), "state": "arm"}), as_typed({"state": "arm no"})
    ('--columns session=mouse+day,state=arm', "--columns 'state=arm no'")
    """
    told = [f"{role}={name if isinstance(name, str) else '+'.join(name)}" for role, name in columns.items()]
    return f"--columns {shlex.quote(','.join(told))}"


def plain(name: str) -> str:
    """Write a name as it is compared: without capitals, and without spaces around it.

    >>> plain(" State ")
    'state'
    """
    return name.strip().casefold()


UNITS = {"s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0, "ms": 0.001, "msec": 0.001, "milliseconds": 0.001}
UNITS |= dict.fromkeys(("us", "usec", "\u03bcs", "microseconds"), 1e-6)  # a Greek mu, which `plain` makes of any other
UNITS |= dict.fromkeys(("ns", "nsec", "nanoseconds"), 1e-9) | {"min": 60.0}
"""Seconds in each unit of time."""
UNIT = re.compile(rf"[\s_(\[]+({'|'.join(UNITS)})[\s\])]*$")


def bare(name: str) -> str:
    """A name of a column without capitals, spaces and unit of time.

    >>> bare("Start (s)"), bare("Video_Time [ms]")
    ('start', 'videotime')
    """
    return re.sub(r"[^a-z0-9]+", "", UNIT.sub("", plain(name)))


def seconds_in(name: str) -> float:
    """Seconds in the unit of time that the name of a column ends with; 1 where it has none.

    >>> seconds_in("time_ms"), seconds_in("time")
    (0.001, 1.0)
    """
    return UNITS.get(time_unit_of(name), 1.0)


def time_unit_of(name: str) -> str:
    """The unit of time that the name of a column ends with; "" where it has none.

    >>> time_unit_of("Timestamp (ns)"), time_unit_of("time")
    ('ns', '')
    """
    found = UNIT.search(plain(name))
    return found[1] if found else ""


def seconds(text: str) -> float:
    """Read a time: seconds, also with a decimal comma, h:mm:ss, or h:mm'ss"; NaN if it is none.

    >>> seconds("0,5"), seconds("1:02:03.5"), seconds("soon"), seconds("1:02'03\\"")
    (0.5, 3723.5, nan, 3723.0)
    """
    parts = text.strip().removesuffix('"').replace("'", ":").split(":")
    if len(parts) > 3:
        return float("nan")
    total = 0.0
    for part in parts:
        total = 60 * total + number(part)
    return total


def distinct_names(names: list[str], faults: Faults) -> dict[int, str]:
    """Position → name of every column that has a name; a name that occurs twice is a fault.

    >>> distinct_names(["t", "", "state"], Faults())
    {0: 't', 2: 'state'}
    """
    named = {i: name for i, name in enumerate(names) if not NO_NAME.fullmatch(name)}
    repeated = [name for name, n in Counter(named.values()).items() if n > 1]
    if repeated:
        faults.add(f"columns occur more than once: {some(repeated)}; give each a different name")
    return named


def find_columns(columns: Columns, there: list[str], faults: Faults) -> dict[str, str]:
    """Role → the name of its column.

    >>> find_columns(USUAL, ["T", "state"], Faults())
    {'time': 'T', 'state': 'state'}
    """
    found = {}
    for field in fields(columns):
        parts = key_parts(getattr(columns, field.name), there) if field.name in KEYS else [getattr(columns, field.name)]
        for i, wanted in enumerate(parts):
            if wanted is not None:
                role = field.name if i == 0 else f"{field.name} {i + 1}"
                usual = wanted == field.default and len(parts) == 1
                name = _find_column(role, wanted, usual, there, faults)
                found |= {} if name is None else {role: name}
    return found


def key_parts(wanted: str | Sequence[str] | None, there: Sequence[str]) -> list[Any]:
    """The columns that together tell a session: of a tuple, or of "mouse,session" where no column is called so.

    >>> key_parts("mouse, session", ["mouse", "session", "state"]), key_parts("a,b", ["a,b"]), key_parts("day", [])
    (['mouse', 'session'], ['a,b'], ['day'])
    """
    if not isinstance(wanted, str):
        return [None] if wanted is None else list(wanted)
    whole = "," not in wanted or any(plain(name) == plain(wanted) for name in there)
    return [wanted] if whole else [part.strip() for part in wanted.split(",") if part.strip()]


def key_columns(found: Mapping[str, str], role: str) -> list[str]:
    """The columns that together tell the session (or the subject) of a row.

    >>> key_columns({"session": "mouse", "session 2": "day", "state": "arm"}, "session")
    ['mouse', 'day']
    """
    return [name for each, name in found.items() if each.partition(" ")[0] == role]


def _find_column(role: str, wanted: str, usual: bool, there: list[str], faults: Faults) -> str | None:
    """The column of that name; None, and a fault where one that is needed is not there."""
    matching = [wanted] if wanted in there else [name for name in there if plain(name) == plain(wanted)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        faults.add(f"columns {some(matching)} could all be {wanted!r}: rename one, or spell it as in the table")
    elif not usual or role == "state":
        listed = f"the columns are {some(there, 20)}" if there else "no column has a name"
        name_it = f"; name the one that holds it: columns={{{role!r}: …}} ({as_typed({role: 'NAME'})})"
        words = [plain(name) for name in there]
        of_bouts = all(any(word.startswith(begin) for word in words) for begin in (STARTS, STOPS))
        bouts = "; where a row is a bout with its start and stop, use `swirl import bouts`" if of_bouts else ""
        told = f"{listed}{did_you_mean(wanted, there)}{name_it if usual else ''}{bouts}"
        faults.add(f"there is no column {wanted!r}: {told}")
    return None


def note_hints(columns: Columns, found: dict[str, str], there: list[str], notes: list[str]) -> set[str]:
    """Note a column that is usually called otherwise: without a session column all rows are one session.

    Returns the columns that are told of.

    >>> notes = []
    >>> note_hints(USUAL, {"state": "state"}, ["mouse", "state"], notes)
    {'mouse'}
    >>> notes
    ["no column is called 'subject': if 'mouse' is it, say so: subject='mouse' (--columns subject=mouse)"]
    """
    told = set()
    for role, words in ALSO_CALLED.items():
        wanted = getattr(columns, role)
        # A mouse that tells sessions apart may be the subject, too.
        used = [name for other, name in found.items() if role != "subject" or other.partition(" ")[0] != "session"]
        like = [name for name in there if plain(name) in words and name not in used]
        if wanted is not None and role not in found and like:
            alone = ", so all rows are one session" if role == "session" else ""
            notes.append(
                f"{'BEWARE: ' if alone else ''}no column is called {wanted!r}{alone}: if {like[0]!r} is it, say so: "
                f"{role}={like[0]!r} ({as_typed({role: like[0]})})"
            )
            told.add(like[0])
    return told


def bout_marks(there: list[str], found: dict[str, str]) -> str | None:
    """The column of an ethogram that may say whether a row starts or stops a bout, as BORIS' tabular export has it.

    >>> bout_marks(["Time", "Behavior", "Behavior type"], {"state": "Behavior"})
    'Behavior type'
    """
    if not any(plain(name) in ("behavior", "behaviour") for name in there):
        return None
    marks = ("behavior type", "behaviour type", "status")
    return next((name for name in there if plain(name) in marks and name not in found.values()), None)


def are_numeric(columns: dict[str, Any]) -> dict[str, bool]:
    """Say of each column whether it holds real numbers.

    >>> import pandas as pd
    >>> are_numeric({"speed": pd.Series([0.5]), "note": pd.Series(["a"])})
    {'speed': True, 'note': False}
    """
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    return {name: is_numeric_dtype(x.dtype) and not is_complex_dtype(x.dtype) for name, x in columns.items()}


def choose_signals(
    numeric: dict[str, bool], found: dict[str, str], wanted: Any, faults: Faults, notes: list[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Name of each signal → its columns, one per channel; and the columns that nobody asked for and that are left out.

    >>> numeric = {"state": True, "speed": True, "x_0": True, "x_1": True, "note": False}
    >>> choose_signals(numeric, {"state": "state"}, None, Faults(), [])
    ({'speed': ['speed'], 'x': ['x_0', 'x_1']}, ['note'])
    """
    free = [name for name in numeric if name not in found.values()]
    if wanted is None:
        kept = [name for name in free if numeric[name] and plain(name) not in NO_SIGNAL]
        left = [name for name in free if name not in kept]
        groups = _channels(kept)
        grouped = {column: stem for stem, channels in groups.items() for column in channels}
        for stem, channels in groups.items():
            notes.append(f"read {some(channels)} as the {len(channels)} channels of one signal, {stem}")
        return {grouped.get(name, name): groups.get(grouped.get(name, ""), [name]) for name in kept}, left
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        faults.add(f"signals={wanted!r}: give a list of columns, such as signals=['speed']")
        return {}, []
    chosen, groups = {}, _channels(list(numeric))
    for name in map(str, wanted):
        matching = [name] if name in numeric else [column for column in numeric if plain(column) == plain(name)]
        if matching or name in groups:
            chosen[name] = matching[:1] or groups[name]
        else:
            faults.add(f"signals: there is no column {name!r}{did_you_mean(name, free)}")
    return chosen, []


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
