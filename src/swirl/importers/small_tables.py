"""Small tables that users write by hand (moves of an environment, states, nodes, edges): lines as dicts of text."""

import csv
import io
from collections import Counter
from pathlib import Path

from swirl.faults import Faults, some

MOST_BYTES = 2**27
"""A list of places or moves that is larger is another file, given by mistake."""

Rows = list[tuple[int, dict[str, str]]]


def small_text(path: Path) -> str:
    """Text of a small file in UTF-8, with or without a mark.

    >>> small_text(Path("nowhere.csv"))
    Traceback (most recent call last):
    ValueError: nowhere.csv does not exist: check the spelling and the folder
    """
    if not path.is_file():
        got = "is a folder or a device: give a file" if path.exists() else "does not exist: check the spelling and the"
        raise ValueError(f"{path} {got}" + ("" if path.exists() else " folder"))
    if path.stat().st_size > MOST_BYTES:
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
