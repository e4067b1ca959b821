"""A table as text: encodings, compression, separators, and the line that each row stands on."""

import csv
import gzip
import io
import re
import zlib
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from swirl.faults import Faults, counted

DECIMAL_COMMA = r" *[+-]?[0-9]+(,[0-9]+)?([eE][+-]?[0-9]+)? *"
OTHER_FORMATS = {
    b"PAR1": "a Parquet file: give it the ending .parquet, or read it with read_parquet",
    b"PK\x03\x04": "a zip file or an Excel workbook: unpack it, or save the sheet as “CSV UTF-8”",
    b"\x89HDF": "an HDF5 file, not a table: it may be keypoint-MoSeq, DeepLabCut, SLEAP or NWB",
}


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


def utf8_text(path: Path, largest: int) -> bytes:
    """Return the bytes of a text file as UTF-8 without a mark, each line ended by a line feed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_bytes("state\\r\\nhome\\r\\n".encode("utf-16"))
    ...     utf8_text(Path(folder, "a.csv"), largest=1000)
    b'state\\nhome\\n'
    """
    check_there(path)
    try:
        with path.open("rb") as file:
            if file.read(2) == b"\x1f\x8b":
                file.seek(0)
                with gzip.open(file) as unpacked:
                    data = unpacked.read(largest + 1)
            else:
                file.seek(0)
                data = file.read()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        refuse(path, f"its compression is damaged or cut short ({error}): copy it again")
    except OSError as error:
        refuse(path, f"it cannot be opened ({error.strerror or error})")
    if len(data) > largest:
        refuse(path, f"it holds more than {largest / 2**30:.0f} GiB of text: store it as Parquet")
    for start, words in OTHER_FORMATS.items():
        if data.startswith(start):
            refuse(path, f"it is {words}")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].decode(encoding, "replace").count("\n") + 1
        binary = b"\0" in data[:4096] and encoding == "utf-8"
        refuse(
            path,
            "it is not text (it holds zero bytes)"
            if binary
            else f"line {line} holds the byte 0x{data[error.start]:02X}, which is not {encoding.upper()}: save the "
            "file as UTF-8 (in Excel: “CSV UTF-8”)",
        )
    if "\0" in text:
        refuse(path, f"line {text[: text.index(chr(0))].count(chr(10)) + 1} holds a zero byte: it is not plain text")
    if not text.strip():
        refuse(path, "it holds only blank lines: there are no data")
    data = text.encode() if encoding == "utf-16" else data
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def separator_of(data: bytes) -> str:
    """Comma, semicolon or tab: the one that the first line has most of, outside quotation marks.

    >>> separator_of(b"t;state\\n0,5;home\\n")
    ';'
    """
    start = len(data) - len(data.lstrip(b"\n"))
    end = data.find(b"\n", start)
    line = re.sub(r'"[^"]*"', "", data[start : end if end >= 0 else len(data)].decode())
    return max(",;\t", key=line.count)


def records(path: Path, data: bytes, separator: str) -> tuple[np.ndarray, list[str], int]:
    """Return (line of each row of data; the column names; the line that they end on); ragged rows are faults.

    >>> records(Path("a.csv"), b"t,state\\n\\n0,1\\n", ",")
    (array([3]), ['t', 'state'], 1)
    """
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
        refuse(path, f"line {line}: {error}; close each quotation mark that is opened")
    return np.array(lines, np.int64), np.array(counts, np.int64), header, end


def without_decimal_comma(series: Any) -> Any:
    """Numbers, where every value of a column of text is a number with a decimal comma; else the column itself.

    >>> import pandas as pd
    >>> without_decimal_comma(pd.Series(["0,5", "1"])).tolist()
    [0.5, 1.0]
    """
    filled = series.dropna()
    if not filled.str.fullmatch(DECIMAL_COMMA).all():
        return series
    import pandas as pd

    return pd.to_numeric(series.str.replace(",", "."))
