"""Text tables: encoding and compression, separators and column names, and the line that each row stands on.

Long tables are parsed a part at a time, so that memory holds numbers and codes and not cells of text; small ones that
users write by hand (moves of an environment, states, nodes, edges) become dicts of text, a line each.
"""

import csv
import gzip
import io
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from swirl import system
from swirl.errors import Faults
from swirl.text import amount, counted, some

MAX_BYTES = 2**27
"""A list of places or moves that is larger is another file, given by mistake."""

Rows = list[tuple[int, dict[str, str]]]


def small_text(path: Path) -> str:
    """Text of a small file in UTF-8, with or without a mark.

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


def number(text: str) -> float:
    """Read a number, with a decimal comma too; NaN if it is none.

    >>> number("0,5"), number("half")
    (0.5, nan)
    """
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return float("nan")


def as_numbers(series: Any) -> tuple[np.ndarray, np.ndarray]:
    """A column as floats, NaN where it is blank; and the rows in which something else stands, NaN there too.

    >>> import pandas as pd
    >>> as_numbers(pd.Series(["0.5", None, "soon"]))
    (array([0.5, nan, nan]), array([2]))
    """
    import pandas as pd

    dtype, wrong = series.dtype, np.zeros(0, np.int64)
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        return series.to_numpy(), wrong  # in its own precision
    if not pd.api.types.is_numeric_dtype(dtype):
        read: Any = pd.to_numeric(series, errors="coerce")
        wrong = np.flatnonzero((read.isna() & series.notna()).to_numpy())
        series = read
    return series.to_numpy(np.float64, na_value=np.nan), wrong


CELLS = 5_000_000
"""Of a table, parsed at a time; the parser needs tens of bytes for each."""

BLANK = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "null", "NULL", "None")
DECIMAL_COMMA = r" *[+-]?[0-9]+(,[0-9]+)?([eE][+-]?[0-9]+)? *"


def read_columns(data: bytes, separator: str, n_columns: int, skip: int, kinds: Mapping[int, str]) -> dict[int, Any]:
    """Columns as pandas Series, by position.

    Parameters
    ----------
    n_columns, skip
        Of the table, and the line that its header ends on.
    kinds
        What each column is read as, by position. "names": "007" and "NA" are text; they come as categoricals. "labels"
        (states, actions): numbers, or text throughout where any is text (then categoricals). "measured" (times,
        signals that are asked for): numbers, also with a decimal comma, and what else stands there. "other": kept
        where it holds numbers; a column of text comes back empty, as nothing is made of it.

    Examples
    --------
    >>> found = read_columns(b"s,x\\na,0\\nb,1\\n", ",", 2, 1, {0: "names", 1: "other"})
    >>> found[0].tolist(), found[1].tolist()
    (['a', 'b'], [0, 1])
    """
    import pandas as pd

    wanted, named = sorted(kinds), [i for i, kind in kinds.items() if kind == "names"]
    parts: dict[int, list[Any]] = {i: [] for i in wanted}
    held: dict[int, set[str]] = {i: set() for i in wanted}
    for chunk in _chunks(data, separator, n_columns, skip, wanted, as_text=named):
        for i, kind in kinds.items():
            part, may_be_text = chunk[i], kind in ("names", "labels")
            if not may_be_text and pd.api.types.infer_dtype(part, skipna=True) == "string":
                part = without_decimal_comma(part, all_or_none=kind == "other")
            held[i].add(_kind(part))
            if kind == "other" and "text" in held[i]:
                part = part.iloc[:0]
            elif held[i] <= {"text", "blank"} and may_be_text:
                part = _coded(part)
            parts[i].append(part)
    found = {}
    for i, kind in kinds.items():
        if kind == "labels" and len(held[i] - {"blank"}) > 1:  # text here, numbers there: all is text, as it is written
            again = _chunks(data, separator, n_columns, skip, [i], as_text=[i], blank=BLANK)
            parts[i] = [_coded(chunk[i]) for chunk in again]
        if kind == "other" and "text" in held[i]:
            found[i] = pd.Series(dtype=object)
        elif any(isinstance(part.dtype, pd.CategoricalDtype) for part in parts[i]):
            found[i] = _joined(parts[i])
        else:
            found[i] = pd.concat(parts[i], ignore_index=True)
        parts[i] = []
    return found


def _chunks(
    data: bytes,
    separator: str,
    n_columns: int,
    skip: int,
    columns: list[int],
    as_text: Collection[int],
    blank: Collection[str] = ("",),
) -> Iterator[Any]:
    """Let pandas parse some rows at a time; columns are called by their position."""
    import pandas as pd

    with pd.read_csv(
        io.BytesIO(data),
        sep=separator,
        header=None,
        names=list(range(n_columns)),
        usecols=columns,
        skiprows=skip,
        index_col=False,
        dtype=dict.fromkeys(as_text, str),
        # A subject may be called "007" or "NA"; elsewhere these are a number and a blank.
        na_values={i: list(blank) if i in as_text else list(BLANK) for i in range(n_columns)},
        keep_default_na=False,
        skipinitialspace=True,
        low_memory=False,
        chunksize=max(CELLS // n_columns, 1),
    ) as reader:
        yield from reader


def _kind(series: Any) -> str:
    """What a part of a column holds; one that is blank goes with any other."""
    if series.notna().sum() == 0:
        return "blank"
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf":
        return "number"
    import pandas as pd

    return "truth" if pd.api.types.infer_dtype(series, skipna=True) == "boolean" else "text"


def _coded(series: Any) -> Any:
    """Text without the spaces around it, each different value stored once."""
    import pandas as pd

    text = series.astype("str") if series.notna().sum() == 0 else series
    codes, values = pd.factorize(text)
    again, plain = pd.factorize(pd.Series(values, dtype="str").str.strip())
    codes = np.append(again, -1)[codes]
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(plain, dtype="str")))


def _joined(parts: list[Any]) -> Any:
    """Parts of one column, with the values of all."""
    import pandas as pd

    coded = [part if isinstance(part.dtype, pd.CategoricalDtype) else _coded(part) for part in parts]
    return pd.Series(pd.api.types.union_categoricals([part.array for part in coded]))


def without_decimal_comma(series: Any, all_or_none: bool = True) -> Any:
    """Numbers, where every value of a column of text is a number with a decimal comma; else the column itself.

    Not `all_or_none`: with a point in those values that are, so that one wrong value does not make all of them wrong.

    >>> import pandas as pd
    >>> without_decimal_comma(pd.Series(["0,5", "1"])).tolist()
    [0.5, 1.0]
    >>> without_decimal_comma(pd.Series(["0,5", "soon"]), all_or_none=False).tolist()
    ['0.5', 'soon']
    """
    import pandas as pd

    matching = series.str.fullmatch(DECIMAL_COMMA).eq(True)
    if (matching | series.isna()).all():
        return pd.to_numeric(series.str.replace(",", "."))
    return series if all_or_none else series.mask(matching, series.str.replace(",", "."))


OTHER_FORMATS = {
    b"PAR1": "a Parquet file: give it the ending .parquet, or read it with read_parquet",
    b"PK\x03\x04": "a zip file, NumPy's .npz or an Excel workbook: unpack it, or save the sheet as “CSV UTF-8”",
    b"\x89HDF": "an HDF5 file, not a table: it may be keypoint-MoSeq, DeepLabCut, SLEAP or NWB (see `swirl import`)",
    b"\x93NUMPY": "a NumPy array (.npy): save it as a table, with a column for each meaning",
    b"MATLAB 5": "a MATLAB file: write it as CSV with writetable",
    b"\xd0\xcf\x11\xe0": "an Excel workbook (.xls): save the sheet as “CSV UTF-8”",
    b"ARROW1": "an Arrow (Feather) file: save it as Parquet",
    b"SQLite format 3": "a database: save its table as CSV",
    b"%PDF": "a PDF: give the table itself, as CSV",
    (b"{", b"["): "JSON, not a table: save it as CSV, with one row per step",
    (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"): (
        "a pickle, which is never opened as it may run any program: save it as CSV or Parquet"
    ),
}
PIECE = 2**24


def refuse(source: Any, message: str) -> NoReturn:
    """Raise one fault at once: nothing further can be found out.

    >>> refuse("a.csv", "it is empty: there are no data")
    Traceback (most recent call last):
    ValueError: a.csv cannot be read: 1 fault.
      1. it is empty: there are no data
    """
    faults = Faults()
    faults.add(message)
    faults.raise_if_any(f"{source} cannot be read")
    raise ValueError(message)


def check_there(path: Path) -> None:
    """Refuse a path that is not a file with something in it.

    >>> check_there(Path("nowhere.csv"))
    Traceback (most recent call last):
    ValueError: nowhere.csv cannot be read: 1 fault.
      1. it does not exist: check the spelling and the folder
    """
    if path.is_dir():
        refuse(path, "it is a folder: give the file in it")
    if not path.exists():
        refuse(path, "it does not exist: check the spelling and the folder")
    if path.is_file() and path.stat().st_size == 0:
        refuse(path, "it is empty: there are no data")
    if path.is_char_device() or path.is_block_device():
        refuse(path, "it is a device: give a file")


def utf8_text(path: Path, largest: int) -> bytes:
    """Return the bytes of a text file as UTF-8 without a mark, each line ended by a line feed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_bytes("state\\r\\nhome\\r\\n".encode("utf-16"))
    ...     utf8_text(Path(folder, "a.csv"), largest=1000)
    b'state\\nhome\\n'
    """
    check_there(path)
    data = _content(path, min(largest, system.max_read_bytes()))
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError as error:
            refuse(
                path, f"it starts as UTF-16 but is not UTF-16 throughout ({error}): copy it again, or save it as UTF-8"
            )
    data = data.removeprefix(b"\xef\xbb\xbf")
    if (zero := data.find(b"\0")) >= 0:
        _refuse_zero(path, data, zero)
    if not data.isascii():
        _check_utf8(path, data)
    if re.search(rb"\S", data) is None:
        refuse(path, "it holds only blank lines: there are no data")
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _content(path: Path, largest: int) -> bytes:
    """The bytes of a file, unpacked where it is packed, unless they are more than `largest`."""
    try:
        with path.open("rb") as file:
            start = file.peek(32)[:32]
            if start.startswith(b"\x1f\x8b"):
                with gzip.open(file) as packed:
                    data = _up_to(packed, largest)
                start = (data or b"")[:32]
            else:
                _refuse_other(path, start)  # before gigabytes of something else are read
                much = path.is_file() and path.stat().st_size > largest
                data = None if much else _up_to(file, largest)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        refuse(path, f"its compression is damaged or cut short ({error}): copy it again")
    except OSError as error:
        refuse(path, f"it cannot be opened ({error.strerror or error})")
    if data is None:
        refuse(path, f"it holds more than {amount(largest)} of text, too much for this machine: store it as Parquet")
    _refuse_other(path, start)
    return data


def _up_to(file: Any, largest: int) -> bytes | None:
    """All bytes of a stream, or None where there are more: a small .gz can unfold to any amount."""
    read, n = io.BytesIO(), 0
    while piece := file.read(PIECE):
        n += len(piece)
        if n > largest:
            return None
        read.write(piece)
    return read.getvalue()


def _refuse_other(path: Path, start: bytes) -> None:
    for mark, words in OTHER_FORMATS.items():
        if start.startswith(mark):
            refuse(path, f"it is {words}")


def _refuse_zero(path: Path, data: bytes, at: int) -> NoReturn:
    """Say what a file with zero bytes is: UTF-16 without its mark, or no text at all."""
    head = data[:400]
    if len(head) > 3 and (not any(head[1::2]) or not any(head[::2])):
        refuse(path, "it seems to be UTF-16 without its mark: save the file as UTF-8 (in Excel: “CSV UTF-8”)")
    if not data[:4096].isascii():
        refuse(path, "it is not text (it holds zero bytes)")
    refuse(path, f"line {data.count(10, 0, at) + 1} holds a zero byte: it is not plain text")


def _check_utf8(path: Path, data: bytes) -> None:
    """Find the first byte that is not UTF-8; line by line, since the whole as text would take memory anew."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + PIECE)
        end = len(data) if end < 0 else end + 1
        try:
            data[start:end].decode()
        except UnicodeDecodeError as error:
            at = start + error.start
            refuse(
                path,
                f"line {data.count(10, 0, at) + 1} holds the byte 0x{data[at]:02X}, which is not UTF-8: save the file "
                "as UTF-8 (in Excel: “CSV UTF-8”)",
            )
        start = end


BLOCK = 2**24  # bytes that are looked at together


def separator_of(data: bytes) -> str:
    """Comma, semicolon or tab: the one that the first line has most of, outside quotation marks.

    >>> separator_of(b"t;state\\n0,5;home\\n")
    ';'
    """
    first = re.search(rb"[^\n]+", data)
    line = re.sub(r'"[^"]*"', "", first[0].decode() if first else "")
    return max(",;\t", key=line.count)


def line_of_events(data: bytes) -> int | None:
    """Line on which the table of an older BORIS export begins, after lines about the observation; None: it is none.

    >>> line_of_events(b"Observation id,v1\\n\\nTime,Subject,Behavior,Status\\n0.5,m1,rear,START\\n")
    3
    """
    if not data[:16].lower().lstrip(b'"').startswith(b"observation id"):
        return None
    found = re.search(rb"(?im)^(?=.*\bbehaviou?r\b)(?=.*\bstatus\b).*\btime\b.*$", data[: 2**16])
    return None if found is None or not found.start() else data.count(b"\n", 0, found.start()) + 1


def records(path: Path, data: bytes, separator: str) -> tuple[np.ndarray, list[str], int]:
    """Return (line of each row of data; the column names; the line that they end on); ragged rows are faults.

    >>> records(Path("a.csv"), b"t,state\\n\\n0,1\\n", ",")
    (array([3]), ['t', 'state'], 1)
    """
    if b'"' in data:
        lines, counts, header, end = _quoted_records(path, data, separator)
    else:
        lines, counts = _plain_records(data, separator)
        end = int(lines[0])
        header = data.split(b"\n", end)[end - 1].decode().split(separator)
    faults, ragged = Faults(), np.flatnonzero(counts != len(header))
    for i in ragged[:5].tolist():
        cut = not data.endswith(b"\n") and i == len(lines) - 1 and counts[i] < len(header)
        remedy = "the file ends there: was it cut short?" if cut else f"each {separator!r} starts a new column"
        faults.add(f"line {lines[i]} has {counted(int(counts[i]), 'value')} for {len(header)} columns: {remedy}")
    if len(ragged) > 5:
        faults.add(f"{counted(len(ragged) - 5, 'more line')} of this kind")
    faults.raise_if_any(f"{path} cannot be read")
    return lines[1:], header, end


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
