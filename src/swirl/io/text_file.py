"""Text of a file, packed or not, UTF-8 or UTF-16: always as UTF-8 with line feeds; and what a file is without text."""

import gzip
import io
import re
import zlib
from pathlib import Path
from typing import Any, NoReturn

from swirl import system
from swirl.errors import Faults
from swirl.text import amount

PARQUET, ZIPPED, GZIPPED, UTF_16 = b"PAR1", b"PK\x03\x04", b"\x1f\x8b", (b"\xff\xfe", b"\xfe\xff")
JSON = (b"{", b"[")
PICKLED = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
"""How files begin."""

OTHER_FORMATS = {
    PARQUET: "a Parquet file: read it with read_parquet",
    ZIPPED: "a zip file, NumPy's .npz or an Excel workbook: unpack it, or save the sheet as “CSV UTF-8”",
    b"\x89HDF": "an HDF5 file, not a table: it may be keypoint-MoSeq, DeepLabCut, SLEAP or NWB (see `swirl import`)",
    b"\x93NUMPY": "a NumPy array (.npy): save it as a table, with a column for each meaning",
    b"MATLAB 5": "a MATLAB file: write it as CSV with writetable",
    b"\xd0\xcf\x11\xe0": "an Excel workbook (.xls): save the sheet as “CSV UTF-8”",
    b"ARROW1": "an Arrow (Feather) file: save it as Parquet",
    b"SQLite format 3": "a database: save its table as CSV",
    b"%PDF": "a PDF: give the table itself, as CSV",
    JSON: "JSON, not a table: save it as CSV, with one row per step",
    b'File type = "ooTextFile': (
        "a file of Praat (TextGrid): in Praat choose “Down to Table”, then “Save as comma-separated file”"
    ),
    b"FirstLineOfData=": (
        "focal data of JWatcher, which has a time and a key in each row: make it a table with the columns time (in "
        "seconds) and state (the behaviour of the key, where it begins)"
    ),
    b"<?xml": "XML, not a table: save it as CSV (in ELAN: “Export As”, “Tab-delimited Text”)",
    PICKLED: "a pickle, which is never opened as it may run any program: save it as CSV or Parquet",
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


def beginning(path: Path) -> bytes:
    """The first bytes of a file, which say what it is; nothing of a pipe, which can be read only once."""
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError as error:
        refuse(path, f"it cannot be opened ({error.strerror or error})")


def utf8_text(path: Path, largest: int, *, json: bool = False, notes: list[str] | None = None) -> bytes:
    """Return the bytes of a text file as UTF-8 without a mark, each line ended by a line feed; JSON only where asked.

    With `notes`, text that is not UTF-8 is taken for Windows-1252 (Western Europe), and a note says so.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_bytes("state\\r\\nhome\\r\\n".encode("utf-16"))
    ...     utf8_text(Path(folder, "a.csv"), largest=1000)
    b'state\\nhome\\n'
    """
    check_there(path)
    data = _content(path, min(largest, system.max_read_bytes()), json)
    if data[:2] in UTF_16:
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError as error:
            refuse(
                path, f"it starts as UTF-16 but is not UTF-16 throughout ({error}): copy it again, or save it as UTF-8"
            )
    data = data.removeprefix(b"\xef\xbb\xbf")
    _refuse_other(path, data[:32], json)  # what its mark, or UTF-16, hid
    if (zero := data.find(b"\0")) >= 0:
        _refuse_zero(path, data, zero)
    if not data.isascii() and (wrong := not_utf8(data)) is not None:
        data = _of_windows(path, data, wrong, notes)
    if re.search(rb"\S", data) is None:
        refuse(path, "it holds only blank lines: there are no data")
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _content(path: Path, largest: int, json: bool) -> bytes:
    """The bytes of a file, unpacked where it is packed, unless they are more than `largest`."""
    try:
        with path.open("rb") as file:
            start = file.peek(32)[:32]
            if start.startswith(GZIPPED):
                with gzip.open(file) as packed:
                    data = _up_to(packed, largest)
                start = (data or b"")[:32]
            else:
                _refuse_other(path, start, json)  # before gigabytes of something else are read
                much = path.is_file() and path.stat().st_size > largest
                data = None if much else _up_to(file, largest)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        refuse(path, f"its compression is damaged or cut short ({error}): copy it again")
    except OSError as error:
        refuse(path, f"it cannot be opened ({error.strerror or error})")
    if data is None:
        refuse(path, f"it holds more than {amount(largest)} of text, too much for this machine: store it as Parquet")
    _refuse_other(path, start, json)
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


def _refuse_other(path: Path, start: bytes, json: bool) -> None:
    if start.startswith(ZIPPED) and path.suffix.lower() == ".npz":
        refuse(path, "it holds NumPy arrays (.npz): save them as a table, with a column for each meaning")
    for mark, words in OTHER_FORMATS.items():
        if start.startswith(mark) and not (json and mark == JSON):
            refuse(path, f"it is {words}")


def _refuse_zero(path: Path, data: bytes, at: int) -> NoReturn:
    """Say what a file with zero bytes is: UTF-16 without its mark, or no text at all."""
    head = data[:400]
    if len(head) > 3 and (not any(head[1::2]) or not any(head[::2])):
        refuse(path, "it seems to be UTF-16 without its mark: save the file as UTF-8 (in Excel: “CSV UTF-8”)")
    if not data[:4096].isascii():
        refuse(path, "it is not text (it holds zero bytes)")
    refuse(path, f"line {data.count(10, 0, at) + 1} holds a zero byte: it is not plain text")


def not_utf8(data: bytes) -> int | None:
    """Where the first byte stands that is not UTF-8; line by line, since the whole as text would take memory anew.

    >>> not_utf8("10 °C".encode("cp1252")), not_utf8(b"10 C")
    (3, None)
    """
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + PIECE)
        end = len(data) if end < 0 else end + 1
        try:
            data[start:end].decode()
        except UnicodeDecodeError as error:
            return start + error.start
        start = end
    return None


def _of_windows(path: Path, data: bytes, at: int, notes: list[str] | None) -> bytes:
    """Text of Excel and of older programs in Western Europe, where it can be: as UTF-8, with a note."""
    line = data.count(10, 0, at) + 1
    try:
        other = re.search(rb"[\x00-\x08\x0e-\x1f]", data) or not data.decode(errors="ignore").isascii()
        text = None if other else data.decode("cp1252")  # a part that is UTF-8: two alphabets in one file
    except UnicodeDecodeError:
        text = None
    if text is None or notes is None:
        told = f"line {line} holds the byte 0x{data[at]:02X}, which is not UTF-8"
        refuse(path, f"{told}: save the file as UTF-8 (in Excel: “CSV UTF-8”)")
    shown = text.split("\n", line)[line - 1].strip()
    where = re.search(r".{0,20}[^\x00-\x7f].{0,20}", shown)
    notes.append(
        f"BEWARE: {path.name} is not UTF-8 and was taken for Windows-1252: line {line} has "
        f"{where[0] if where else shown[:40]!r}. If that reads wrong, save the file as UTF-8 (in Excel: “CSV UTF-8”)"
    )
    return text.encode()
