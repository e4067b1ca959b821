"""The lines of a table: separators, column names, and the line that each row stands on."""

import csv
import io
import re
from array import array
from pathlib import Path

import numpy as np

from swirl.faults import Faults, counted
from swirl.importers.table_text import refuse

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
