"""Columns out of the text of a table: numbers, labels and names.

Long tables are parsed a part at a time, so that memory holds numbers and codes and not cells of text.  The text itself
comes from `open_table`.
"""

import io
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np


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

FEW = 1000
"""Different values of a column of text that nobody named, beyond which it is dropped while the table is read."""

BLANK = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "null", "NULL", "None")
DECIMAL_COMMA = r" *[+-]?[0-9]+(,[0-9]+)?([eE][+-]?[0-9]+)? *"


def read_columns(
    data: bytes, separator: str, n_columns: int, skip: int, kinds: Mapping[int, str], lost: Collection[str] = ()
) -> dict[int, Any]:
    """Columns as pandas Series, by position.

    Parameters
    ----------
    n_columns, skip
        Of the table, and the line that its header ends on.
    kinds
        What each column is read as, by position. "names": "007" and "NA" are text; they come as categoricals. "labels"
        (states, actions): numbers, or text throughout where any is text (then categoricals). "measured" (times,
        signals that are asked for): numbers, also with a decimal comma, and what else stands there. "other": kept
        where it holds numbers; a column of text comes back empty, as nothing is made of it. "aside": the same, but text
        of few values is kept, for hints.
    lost
        What else stands for a missing number, such as EthoVision's "-".

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
    for chunk in _chunks(data, separator, n_columns, skip, wanted, as_text=named, lost=lost):
        for i, kind in kinds.items():
            part, may_be_text = chunk[i], kind in ("names", "labels")
            if not may_be_text and pd.api.types.infer_dtype(part, skipna=True) == "string":
                part = without_decimal_comma(part, all_or_none=kind in ("other", "aside"))
            held[i].add(_kind(part))
            if kind == "aside" and _kind(part) == "text" and held[i] <= {"text", "blank"}:
                part = _coded(part)
                held[i] |= {"many"} if len(part.cat.categories) > FEW else set()
            if "text" in held[i] and (kind == "other" or (kind == "aside" and not held[i] <= {"text", "blank"})):
                part = part.iloc[:0]
            elif held[i] <= {"text", "blank"} and may_be_text:
                part = _coded(part)
            parts[i].append(part)
    found = {}
    for i, kind in kinds.items():
        if kind == "labels" and len(held[i] - {"blank"}) > 1:  # text here, numbers there: all is text, as it is written
            again = _chunks(data, separator, n_columns, skip, [i], as_text=[i], blank=BLANK)
            parts[i] = [_coded(chunk[i]) for chunk in again]
        if "text" in held[i] and (kind == "other" or (kind == "aside" and not held[i] <= {"text", "blank"})):
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
    lost: Collection[str] = (),
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
        na_values={i: list(blank) if i in as_text else [*BLANK, *lost] for i in range(n_columns)},
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
