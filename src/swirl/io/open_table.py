"""The one opener of tables: any file that holds one becomes text in UTF-8, with its header, and each row's line.

Text may be UTF-8 or UTF-16, packed by gzip, and set apart by commas, semicolons or tabs.  Excel sheets and Parquet
files are written as text first, so that all tables are read in one way (`session_table` reads long Parquet files by
itself, column by column).  Lines above the table, as EthoVision, BORIS and others write them, and a row of units below
the header are left out; rows keep the numbers that they have in the user's file.
"""

import csv
import io
import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from swirl import system
from swirl.errors import Faults, needing
from swirl.io.text_file import GZIPPED, PARQUET, UTF_16, ZIPPED, beginning, check_there, refuse, utf8_text
from swirl.io.text_table import number, read_columns
from swirl.text import counted, numbered, some

MAX_TEXT = 2**33
"""Bytes of a table's text, where there is memory for so much."""

EXCEL = (".xlsx", ".xlsm")
ETHOVISION = "header lines:"  # "Number of header lines:" in most versions
_UNITS = (
    "s sec secs second seconds ms msec us µs ns min mins h hz fps frame frames px pixel pixels mm cm m km um µm "
    "mm/s cm/s m/s km/h px/s mm² cm² m² deg degree degrees deg/s ° °/s rad % a.u. au v mv"
)
UNITS = frozenset(_UNITS.split())
"""What may stand in a row of units."""


@dataclass(frozen=True)
class OpenTable:
    """A table whose header is known and whose columns are read when they are asked for.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "m1.csv"
    >>> _ = file.write_text("Observer;Ann\\n\\ntime;place;x\\ns;;cm\\n0,5;home;3\\n1;water;4\\n")
    >>> table = open_table(file)
    >>> table.name, table.header, table.at([1]), table.notes[0]
    ('m1', ['time', 'place', 'x'], 'line 6', 'left out 1 line above the table in m1.csv')
    >>> table.notes[1]
    'read with ; between the columns and decimal commas'
    >>> table.columns({0: "measured", 1: "names"})[0].tolist()
    [0.5, 1.0]
    """

    path: Path
    name: str
    """What the recording is called where no column says it: the file without its ending, or the sheet."""
    data: bytes
    """The text, blank where lines are left out."""
    separator: str
    header: list[str]
    end: int
    """The line that the header ends on."""
    lines: Int[np.ndarray, " row"]
    """The line of each row, as an editor or a spreadsheet counts them."""
    above: Mapping[str, str]
    """What the lines above the table say, in pairs: {"Animal ID": "m7"}."""
    units: Mapping[str, str]
    """Unit of each column that has one in a row of units."""
    notes: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    """What stands for a missing number, beside the usual."""
    word: str = "line"

    def columns(self, kinds: Mapping[int, str]) -> dict[int, Any]:
        """Columns as pandas Series, by position (see `text_table.read_columns` for the kinds)."""
        try:
            found = read_columns(self.data, self.separator, len(self.header), self.end, kinds, self.lost)
        except (ValueError, OverflowError) as error:
            refuse(self.path, f"its lines cannot be taken apart ({error}): save it again as plain CSV")
        for series in found.values():
            if len(series) not in (0, len(self.lines)):
                told = f"it has {len(self.lines)} lines of data but {len(series)} rows"
                refuse(self.path, f"{told}: check its quotation marks")
        return found

    def at(self, rows: Any) -> str:
        """Name rows by their lines."""
        return numbered(self.word, self.lines[rows].tolist())

    @property
    def _first(self) -> list[str]:
        """The cells of the first row, as far as it is near the top."""
        text = self.data[: 2**20].decode(errors="ignore").split("\n", self.end)[-1]
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=self.separator, skipinitialspace=True)
        return next(([cell.strip() for cell in row] for row in rows if any(map(str.strip, row))), [])

    @property
    def doubt(self) -> str:
        """What to add to an error about columns where the names look like data; "" where they do not."""
        if len(self.header) == 1:
            [cell] = self.columns({0: "names"})[0].iloc[:1].tolist() or [None]
            words = str(cell).split()
            if sum(any(map(str.isdigit, word)) for word in words) < 2:
                return ""
            if len(self.header[0].split()) == len(words):
                return (
                    f". Each {self.word} is one value, such as {str(cell)[:60]!r}: set columns apart by commas or tabs"
                )
            return (
                f". Each {self.word} is one value, such as {str(cell)[:60]!r}: is the line of column names missing? "
                "Columns are set apart by commas, semicolons or tabs."
            )
        numbers = [name for name in self.header if not np.isnan(number(name))]
        if len(numbers) < 2 or numbers == [*map(str, range(len(numbers)))]:  # pandas counts columns from 0
            return ""
        pairs = [*zip(self.header, self._first, strict=False)]
        again = any(name.strip() == below and re.search(r"[^\W\d_]", name) for name, below in pairs)
        if any(_is_name(*pair) for pair in pairs) and not again and len({*self.header}) == len(self.header):
            return ""
        return f". {self.word.capitalize()} {self.end} holds {some(numbers, 3)}: is the line of column names missing?"


def _is_name(cell: str, below: str) -> bool:
    """Whether a cell of the first line can be the name of a column, as no number, date or time can, nor a label.

    Labels stand below their like: "STATE" over "STATE" is the first bout of two, A1 over B12 the first of two visits.

    >>> [_is_name(*pair) for pair in (("time_s", "0"), ("13:00:07 h", "0"), ("STATE", "STATE"), ("A1", "B12"))]
    [True, False, False, False]
    """
    begins_as_one = re.match(r"[\W_]*[^\W\d_]", cell) is not None and np.isnan(number(cell))
    numbered = all(re.search(r"\d", one) and re.search(r"[^\W\d_]", one) for one in (cell, below))
    return begins_as_one and cell.strip() != below and not numbered


def open_table(path: Path, *, sheet: str | None = None, blank_rows: bool = False) -> OpenTable:
    """Open the table in a file: CSV or TSV in any dialect, Excel or Parquet.

    Parameters
    ----------
    sheet
        Of an Excel file; needed where several hold something.
    blank_rows
        In a table of one column a blank line is a row without a value, not a line to leave out.
    """
    notes: list[str] = []
    data, word = table_text(path, MAX_TEXT, sheet, notes)
    return of_text(path, data, word, sheet, blank_rows, notes)


def of_text(
    path: Path,
    data: bytes,
    word: str,
    sheet: str | None = None,
    blank_rows: bool = False,
    notes: Sequence[str] = (),
) -> OpenTable:
    """Find the table in a text; `path` and `word` are for errors, `notes` are what was said of it before."""
    first, top, above, lost = _top(path, data)
    notes = tuple(notes)
    if first > 1:
        skipped = top[: first - 1]
        data = b"\n" * (first - 1) + data.split(b"\n", first - 1)[-1]  # lines keep their numbers
        n = sum(1 for line in skipped if line.strip(" ,;\t"))
        notes += (f"left out {counted(n, 'line')} above the table in {path.name}",) if n else ()
    separator, shift = separator_of(data), 0
    if re.match(rb"\s*File:[^\n]*\n\s*Start[ ,;\t]*Date:", data):
        told = "make a table of its events, with a row for each and the columns time and state"
        refuse(path, f"it is a print-out of MED-PC, which names no columns: {told}")
    data, remarks = _without_remarks(data, separator) if word == "line" else (data, 0)  # cells are no remarks
    notes += (f"left out {counted(remarks, 'remark')} (#) in {path.name}",) if remarks else ()
    notes += _dialect(path, data, separator)
    if re.match(rb"[0-9.]+\t[0-9.]+\t[^\t\n]*(\n|$)", data):  # Audacity's labels
        data, shift = b"start\tstop\tlabel\n" + data, 1
    if blank_rows and separator not in first_line(data):
        data = re.sub(rb"\n[ \t]*(?=\n)", b'\n""', data.rstrip())
    units, line = _units(data, separator, first, sure=bool(lost))  # EthoVision always writes a row of units
    if line:
        before, rest = data.split(b"\n", line - 1)[:-1], data.split(b"\n", line)[-1]
        data = b"\n".join([*before, b"", rest])
    said: list[str] = []
    lines, header, end = records(path, data, separator, word, said)
    notes += tuple(said)
    header[0] = re.sub(r"^[#%]\s*(?=\S)", "", header[0])  # "# t, x, y", as numpy writes it
    if not len(lines):
        refuse(path, "it holds a line of column names and nothing else: there are no data")
    name = sheet or path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    return OpenTable(path, name, data, separator, header, end, lines - shift, above, units, notes, lost, word)


def _without_remarks(data: bytes, separator: str) -> tuple[bytes, int]:
    """A table without the lines below its header that begin with # and are no rows; and how many they are.

    A remark is shorter than a row. Where some rows begin with # too it has no separator at all, as one with a few may
    be a row that was cut; where all do there are no remarks. Nor is there one within quotation marks.

    >>> _without_remarks(b"t,x\\n# 30 fps\\n0,5\\n#1,6\\n", ",")
    (b't,x\\n\\n0,5\\n#1,6\\n', 1)
    """
    top, mark = re.search(rb"[^\n]+", data), separator.encode()
    if top is None or b"\n#" not in data or re.compile(rb"\n[^#\s]").search(data, top.end()) is None:
        return data, 0
    whole, short, quotes, last = _unquoted(top[0]).count(mark), [], 0, top.end()
    n_of_rows = 0
    for line in re.compile(rb"\n#[^\n]*").finditer(data, top.end()):
        quotes += data.count(b'"', last, line.start())
        last, n = line.start(), _unquoted(line[0]).count(mark)
        if quotes % 2 == 0 and line[0].count(b'"') % 2 == 0:
            n_of_rows += n == whole
            short += [(*line.span(), n)] if n < whole else []
    left, kept, begin = 0, [], 0
    for start, stop, n in short:
        if n == 0 or not n_of_rows:
            kept.append(data[begin : start + 1])
            left, begin = left + 1, stop
    return b"".join([*kept, data[begin:]]), left


def _unquoted(line: bytes) -> bytes:
    return re.sub(rb'"[^"]*"', b"", line)


def _dialect(path: Path, data: bytes, separator: str) -> tuple[str, ...]:
    """A note on how the columns are told apart, where it is not by commas.

    >>> _dialect(Path("m1.csv"), b"t;state\\n0,5;home\\n", ";")
    ('read with ; between the columns and decimal commas',)
    """
    if separator not in first_line(data) or separator == "," or (separator == "\t" and path.suffix.lower() != ".csv"):
        return ()
    below = data[: 2**16].decode(errors="ignore")
    commas = re.search(rf'(?m)(?:^|{separator})[ "]*[+-]?\d+,\d+[ "]*(?={separator}|\r?$)', below)
    mark = "tabs" if separator == "\t" else separator
    return (f"read with {mark} between the columns{' and decimal commas' if commas else ''}",)


def _top(path: Path, data: bytes) -> tuple[int, list[str], dict[str, str], tuple[str, ...]]:
    """Where the table begins (line of its header), the lines until there, what they say, and what is a lost number."""
    whole = data.rfind(b"\n", 0, 2**18) if len(data) > 2**18 else len(data)
    top = data[:whole].decode().split("\n")
    start, lost = 1, ()
    if (line := line_of_events(data)) is not None:
        start = line
    elif ETHOVISION in top[0].lower():
        told = re.search(r"\d+", top[0])
        start, lost = int(told[0]) - 1 if told else 0, ("-",)
        if not 1 <= start < len(top):
            refuse(path, "line 1: expected the number of lines above the data, as EthoVision writes it")
    else:
        start = _below_the_preamble(top)
    above = {}
    separator = separator_of("\n".join(top[: start - 1]).encode()) if start > 1 else ","
    for line in top[: start - 1]:
        cells = [cell.strip() for cell in next(csv.reader([line], delimiter=separator), [])]
        if len(cells) > 1 and cells[0] and cells[1]:
            above.setdefault(cells[0].rstrip(":"), cells[1])
    return start, top, above, lost


def _below_the_preamble(top: list[str]) -> int:
    """The line of the header, where lines about the recording stand above it; 1 where none do, or it is not plain.

    >>> _below_the_preamble(["Experiment;maze 1", "", "Time;X;Y", "0;1;2", "1;1;2"])
    3
    >>> _below_the_preamble(["t,x", "0,1,5", "1,1,6"])  # a header that is too short is a fault, no preamble
    1
    """
    filled = [i for i, line in enumerate(top) if line.strip(" ,;\t")][:400]
    if len(filled) < 3:
        return 1
    separator = separator_of(top[filled[-1]].encode())
    cells = {i: [cell.strip() for cell in next(csv.reader([top[i]], delimiter=separator), [])] for i in filled}
    lengths = {i: len(row) for i, row in cells.items()}
    for row in cells.values():
        while row and not row[-1]:
            row.pop()
    usual = Counter(list(lengths.values())[len(filled) // 2 :]).most_common(1)[0][0]
    for i in filled:
        below = [j for j in filled if j > i]
        whole = usual > 1 and lengths[i] == usual and all(lengths[j] == usual for j in below)
        remark = top[i].lstrip().startswith(("#", "%"))
        if not below or not whole or len(cells[i]) < max(len(cells[j]) for j in below):
            continue
        named = all(cells[i]) and len(set(cells[i])) == len(cells[i]) and all(np.isnan(number(x)) for x in cells[i])
        if i == filled[0] and not (remark and all(np.isnan(number(cell)) for cell in cells[below[0]])):
            return 1
        if named and not remark:
            few = any(sum(map(bool, cells[j])) <= 2 or top[j].lstrip().startswith(("#", "%")) for j in filled if j < i)
            return i + 1 if few else 1
    return 1


def _units(data: bytes, separator: str, first: int, sure: bool = False) -> tuple[dict[str, str], int]:
    """Unit of each column and the line of the row of units, below the header; nothing and 0 where there is none.

    `sure`: there is one, also where a unit is not known (cm² that became "cm?").
    """
    lines = data[: 2**16].decode(errors="ignore").split("\n")
    filled = [i for i in range(first - 1, len(lines)) if lines[i].strip(" ,;\t")][:3]
    if len(filled) < 3:
        return {}, 0
    try:
        header, units, values = (
            [cell.strip() for cell in next(csv.reader([lines[i]], delimiter=separator))] for i in filled
        )
    except (csv.Error, StopIteration):
        return {}, 0
    found = {name: unit for name, unit in zip(header, units, strict=False) if unit}
    known = sure or all(unit.strip("()[]").lower() in UNITS for unit in found.values())
    if not found or not known or len(header) < 2 or any(not np.isnan(number(unit)) for unit in found.values()):
        return {}, 0
    below = [value for unit, value in zip(units, values, strict=False) if unit]
    if any(value not in ("", "-") and np.isnan(number(value)) for value in below):
        return {}, 0
    return {name: unit.strip("()[]") for name, unit in found.items()}, filled[1] + 1


def table_text(path: Path, largest: int, sheet: str | None = None, notes: list[str] | None = None) -> tuple[bytes, str]:
    """The text of a table in UTF-8, and what its rows are called: lines of a text, rows of a sheet or of Parquet.

    With `notes`, text in Windows-1252 is read too, and said so there, as is which sheet was read.
    """
    check_there(path)
    start = beginning(path)
    if start.startswith(PARQUET):
        return _of_parquet(path, largest), "row"
    if start.startswith(ZIPPED) and path.suffix.lower() in EXCEL:
        return _of_sheet(path, sheet, [] if notes is None else notes), "row"
    if sheet is not None:
        refuse(path, f"sheet={sheet!r} is of an Excel file (.xlsx), and this is none: leave it out")
    return utf8_text(path, largest, notes=notes), "line"


def sheets(path: Path) -> dict[str, bytes]:
    """The sheets of an Excel file that hold something, by name, each as text; a row is a line."""
    with needing(f"reading {path.name} needs openpyxl", "excel"):
        import openpyxl
    found = {}
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        for sheet in book.worksheets:
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            for row in sheet.iter_rows(values_only=True):
                cells = ["" if cell is None else " ".join(str(cell).split()) for cell in row]
                if any(cells):
                    writer.writerow(cells)
                else:
                    text.write("\n")  # rows keep their numbers
            if text.getvalue().strip():
                found[sheet.title] = text.getvalue().encode()
        book.close()
    except Exception as error:  # openpyxl has no family of errors
        refuse(path, f"it cannot be read as an Excel file ({error}): save it again, or as CSV")
    if not found:
        refuse(path, "its sheets are empty: there are no data")
    return found


def _of_sheet(path: Path, wanted: str | None, notes: list[str]) -> bytes:
    found = sheets(path)
    names = some([repr(name) for name in found], 20)
    if wanted is None and len(found) > 1:
        refuse(
            path,
            f"it has {len(found)} sheets ({names}): say which with --sheet (sheet= in Python). Where each animal has a "
            "sheet, join them in one, with a column of the animal",
        )
    if wanted is not None and wanted not in found:
        refuse(path, f"there is no sheet {wanted!r} with data: it has {names}")
    name = next(iter(found)) if wanted is None else wanted
    notes.append(f"read sheet {name!r}")
    return found[name]


def _of_parquet(path: Path, largest: int) -> bytes:
    """A Parquet file as text, without columns that hold lists or records."""
    with needing(f"reading {path.name} needs pyarrow", "parquet"):
        import pyarrow as pa
        import pyarrow.csv as pc
        import pyarrow.parquet as pq
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            flat = [name for name, kind in zip(schema.names, schema.types, strict=True) if not is_compound(kind)]
            size = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
            if max(size, 16 * len(flat) * file.metadata.num_rows) > min(largest, system.max_read_bytes()):
                refuse(path, "it is too large for this machine: give a part of it")
            table = file.read(columns=flat)
        plain = [
            column.cast(kind.value_type) if pa.types.is_dictionary(kind := column.type) else column
            for column in table.columns
        ]
        text = io.BytesIO()
        pc.write_csv(pa.table(plain, names=table.column_names), text)
    except (pa.ArrowException, OSError) as error:
        refuse(path, f"it is not a Parquet file, or is damaged ({str(error).strip().splitlines()[0]})")
    return text.getvalue()


def is_compound(kind: Any) -> bool:
    """Whether each value of an Arrow type is itself a list or a record, or bytes."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


BLOCK = 2**24  # bytes that are looked at together


def separator_of(data: bytes) -> str:
    """Comma, semicolon or tab: the one that the first line has most of, outside quotation marks.

    >>> separator_of(b"t;state\\n0,5;home\\n")
    ';'
    """
    line = re.sub(r'"[^"]*"', "", first_line(data))
    return max(",;\t", key=line.count)


def first_line(data: bytes) -> str:
    """The first line that is not empty."""
    found = re.search(rb"[^\n]+", data)
    return found[0].decode() if found else ""


def line_of_events(data: bytes) -> int | None:
    """Line on which the table of an older BORIS export begins, after lines about the observation; None: it is none.

    >>> line_of_events(b"Observation id,v1\\n\\nTime,Subject,Behavior,Status\\n0.5,m1,rear,START\\n")
    3
    """
    if not data[:16].lower().lstrip(b'"').startswith(b"observation id"):
        return None
    found = re.search(rb"(?im)^(?=.*\bbehaviou?r\b)(?=.*\bstatus\b).*\btime\b.*$", data[: 2**16])
    return None if found is None or not found.start() else data.count(b"\n", 0, found.start()) + 1


def records(
    path: Path, data: bytes, separator: str, word: str = "line", notes: list[str] | None = None
) -> tuple[np.ndarray, list[str], int]:
    """Return (line of each row of data; the column names; the line that they end on); ragged rows are faults.

    Not where all rows end early alike: a name that is blank is left out (a tab at the end of the header), and between
    tabs any last columns are, which goes to the `notes` (editors take tabs from the ends of lines).

    >>> records(Path("a.csv"), b"t,state\\n\\n0,1\\n", ",")
    (array([3]), ['t', 'state'], 1)
    """
    if b'"' in data:
        lines, counts, header, end = _quoted_records(path, data, separator)
    else:
        lines, counts = _plain_records(data, separator)
        end = int(lines[0])
        header = data.split(b"\n", end)[end - 1].decode().split(separator)
    if len(counts) > 1 and (counts[1:] == (n := int(counts[1]))).all() and 1 < n < len(header):
        named = [repr(name) for name in header[n:] if name.strip()]
        if not named or (separator == "\t" and notes is not None):
            header, counts[0] = header[:n], n
            if named and notes is not None:
                notes.append(f"no {word} has a value for {some(named)}: left out")
    faults, ragged = Faults(), np.flatnonzero(counts != len(header))
    if ragged.size and (told := _other_lengths(data, lines, counts, separator, word)) is not None:
        refuse(path, told)
    for i in ragged[:5].tolist():
        cut = not data.endswith(b"\n") and i == len(lines) - 1 and counts[i] < len(header)
        remedy = "the file ends there: was it cut short?" if cut else f"each {separator!r} starts a new column"
        values = counted(int(counts[i]), "value")
        if counts[i] == 1 and (alone := data.split(b"\n", int(lines[i]))[lines[i] - 1].decode().strip(' "')):
            values, remedy = f"{values} ({alone[:60]!r})", remedy if cut else "correct or delete it"
        faults.add(f"{word} {lines[i]} has {values} for {len(header)} columns: {remedy}")
    if len(ragged) > 5:
        faults.add(f"{counted(len(ragged) - 5, f'more {word}')} of this kind")
    faults.raise_if_any(f"{path} cannot be read")
    return lines[1:], header, end


def _other_lengths(data: bytes, lines: np.ndarray, counts: np.ndarray, separator: str, word: str) -> str | None:
    """What to say where the lines below the first have another number of values, and all the same; else None.

    >>> data = b"sensor 7\\n0,1,5\\n1,2,5\\n2,2,6\\n"
    >>> _other_lengths(data, np.array([1, 2, 3, 4]), np.array([1, 3, 3, 3]), ",", "line")
    "line 1 has 1 value ('sensor 7'), but the 3 lines below have 3: is the line of column names missing?"
    """
    usual, n = Counter(counts[1:].tolist()).most_common(1)[0] if len(counts) > 3 else (0, 0)
    if usual < 2 or counts[0] == usual or n < 0.9 * (len(counts) - 1):
        return None
    top = [line.decode(errors="replace") for line in data[: 2**16].split(b"\n")]
    rows = [(i, top[i - 1].split(separator)) for i in lines[:20].tolist() if i <= len(top)]
    begin = next((i for i, cells in rows[1:] if not np.isnan(number(cells[0].strip(' "')))), None)
    values = counted(int(counts[0]), "value")
    values += f" ({top[lines[0] - 1].strip()[:60]!r})" if counts[0] == 1 else ""
    told = f"{word} {lines[0]} has {values}, but the {n:,} {word}s below have {usual}"
    if begin is not None and begin > lines[1]:
        return (
            f"{told}, and the numbers begin in {word} {begin}: several {word}s of names stand above them. Leave one, "
            f"with a name for each column, no name twice, right above {word} {begin}"
        )
    if counts[0] == 1:
        return f"{told}: is the line of column names missing?"
    return f"{told}: give each column one name (each {separator!r} starts a new column)"


def _plain_records(data: bytes, separator: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (the lines that are not blank; how many values each has), block by block to spare memory."""
    lines, counts, start, before = [], [], 0, 1
    while start < len(data):
        stop = data.find(b"\n", start + BLOCK)
        stop = len(data) if stop < 0 else stop + 1
        content = np.frombuffer(data, np.uint8, stop - start, start)
        ends = np.flatnonzero(content == ord("\n"))
        if not ends.size or ends[-1] != len(content) - 1:
            ends = np.append(ends, len(content))  # the last line of the file has no end
        separators = np.flatnonzero(content == ord(separator))
        n = np.diff(np.searchsorted(separators, ends), prepend=0)
        begins = np.append(0, ends[:-1] + 1)
        # Of the lines without a separator those that are empty, or of spaces alone, are blank.
        bare = np.flatnonzero(n == 0)
        first = content[np.minimum(begins[bare], len(content) - 1)]
        spaced = (ends[bare] > begins[bare]) & ((first == ord(" ")) | (first == ord("\t")))
        keep = n > 0
        keep[bare] = (ends[bare] > begins[bare]) & ~spaced
        for i in bare[spaced].tolist():
            keep[i] = bool(data[start + begins[i] : start + ends[i]].strip(b" \t"))
        lines.append(np.flatnonzero(keep) + before)
        counts.append((n[keep] + 1).astype(np.int32))
        before += len(ends)
        start = stop
    return np.concatenate(lines), np.concatenate(counts)


def _quoted_records(path: Path, data: bytes, separator: str) -> tuple[np.ndarray, np.ndarray, list[str], int]:
    """Do the same for a file with quotation marks, in which values may hold separators and line ends."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=separator, skipinitialspace=True, strict=True)
    lines, counts, header, end, line = array("q"), array("q"), [], 0, 1
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
        refuse(path, f"line {line}: {error}; close each quotation mark that is opened")
    return np.array(lines, np.int64), np.array(counts, np.int64), header, end


# ---------------------------------------------------------------------- small tables, written by hand

MAX_BYTES = 2**27
"""A list of places or moves that is larger is another file, given by mistake."""

Rows = list[tuple[int, dict[str, str]]]


def small_text(path: Path) -> str:
    """Text of a small file: in UTF-8, with or without a mark, or of any kind that `table_text` opens.

    >>> small_text(Path("nowhere.csv"))
    Traceback (most recent call last):
    ValueError: nowhere.csv does not exist: check the spelling and the folder
    """
    if not path.is_file():
        absent = "does not exist: check the spelling and the folder"
        raise ValueError(f"{path} {'is a folder or a device: give a file' if path.exists() else absent}")
    if path.stat().st_size > MAX_BYTES:
        size = f"{path.stat().st_size / 2**20:,.0f} MiB"
        raise ValueError(f"{path} holds {size}, too much for a list of places or moves: give the right file")
    if beginning(path).startswith((PARQUET, ZIPPED, GZIPPED, *UTF_16)):
        return table_text(path, MAX_BYTES)[0].decode()
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8: save it as UTF-8 (in Excel: “CSV UTF-8”)") from None
    if "\0" in text:
        raise ValueError(f"{path} holds zero bytes: it is not plain text in UTF-8; save it as UTF-8")
    return text


def rows(path: Path, needed: tuple[str, ...], faults: Faults, expected: str = "", also: str = "") -> Rows:
    """Rows of a small CSV with the lines on which they end, as an editor counts them; none after a fault in the header.

    Parameters
    ----------
    needed
        Columns that must be there and filled.
    expected
        What the file should be, for errors.
    also
        Another name of the first needed column.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "edges.csv"
    >>> _ = file.write_text("From;To\\nhome;water\\n")
    >>> rows(file, ("from", "to"), Faults())
    [(2, {'from': 'home', 'to': 'water'})]
    """
    text = small_text(path)
    expected = f"; {expected}" if expected else ""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=text.split("\n", 1)[0].count))
    try:
        lines = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except csv.Error as error:
        faults.add(f"{path}, line {reader.line_num}: no CSV ({error}){expected}")
        return []
    filled = [(line, cells) for line, cells in lines if any(cells)]
    if not filled:
        faults.add(f"{path} is empty, it holds no rows: expected the columns {some(needed)}")
        return []
    line, header = filled[0][0], [cell.lower() for cell in filled[0][1]]
    if also and needed[0] not in header and also in header:
        header[header.index(also)] = needed[0]
    missing = [name for name in needed if name not in header]
    repeated = [name for name, n in Counter(header).items() if n > 1 and name]
    if missing:
        faults.add(f"{path}, line {line}: no column {some(missing)} among {some(header, 10)}{expected}")
    if repeated:
        faults.add(f"{path}, line {line}: columns occur more than once: {some(repeated)}; give each its own name")
    if missing or repeated:
        return []
    found: Rows = []
    before = len(faults)
    for line, cells in filled[1:]:
        if len(cells) != len(header):
            faults.add(f"{path}, line {line}: {len(cells)} cells, but the header has {len(header)}")
            continue
        row = dict(zip(header, cells, strict=True))
        if empty := [name for name in needed if not row[name]]:
            faults.add(f"{path}, line {line}, column {empty[0]}: empty; fill it in")
            continue
        found.append((line, row))
    if not found and len(faults) == before:
        faults.add(f"{path} holds no rows below its header{expected}")
    return found
