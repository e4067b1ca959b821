"""Numbers and lists in words, and numpy's values as JSON knows them: said once, here.

Only the standard library at import, so that the command line starts at once.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from html import escape
from itertools import groupby
from typing import Any


def counted(n: int, noun: str) -> str:
    """Say how many, with the noun in its number.

    >>> counted(1, "fault"), counted(1200, "step")
    ('1 fault', '1,200 steps')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def some(items: Sequence[Any], limit: int = 5, separator: str = ", ", name: Callable[[Any], str] = str) -> str:
    """Join the first few items, as `name` calls them, and count the others.

    >>> some([3, 1, 4, 1, 5], limit=3)
    '3, 1, 4 and 2 more'
    """
    shown = separator.join(name(item) for item in items[:limit])
    return f"{shown} and {len(items) - limit:,} more" if len(items) > limit else shown


def numbered(noun: str, numbers: Sequence[Any]) -> str:
    """Name a few things by their numbers, as in "line 3" or "rows 1, 5".

    >>> numbered("line", [3]), numbered("row", [1, 5])
    ('line 3', 'rows 1, 5')
    """
    return f"{noun}{'s' if len(numbers) > 1 else ''} {some(numbers)}"


def plain_name(name: Any) -> str:
    """A name without capitals, spaces and marks, so that ways to write it are one.

    >>> plain_name("S-1"), plain_name(" s 1"), plain_name("Reward_Size")
    ('s1', 's1', 'rewardsize')
    """
    return re.sub(r"[\s_.\-]", "", str(name)).casefold()


def nearest_name(given: Any, known: Iterable[str], *, alike: float = 0.6) -> str | None:
    """Which of the known names was probably meant: the one that differs in capitals or marks alone, else a near one.

    `alike` is how much of the two has to be the same, capitals and marks aside; 1: all of it.

    >>> nearest_name("goal", ["state", "goals"]), nearest_name("DFF", ["speed", "dFF"]), nearest_name("x", ["state"])
    ('goals', 'dFF', None)
    """
    by_plain = {plain: name for name in reversed(list(known)) if (plain := plain_name(name))}
    near = get_close_matches(plain_name(given), by_plain, n=1, cutoff=alike)
    return by_plain[near[0]] if near else None


def did_you_mean(given: Any, known: Iterable[str], otherwise: str = "", *, alike: float = 0.6) -> str:
    """End of a sentence that asks whether another name is meant; where none is near, what to say else, or nothing.

    >>> did_you_mean("stat", ["state"]), did_you_mean("x", ["state"]), did_you_mean("x", ["t"], "there is t")
    ("; did you mean 'state'?", '', '; there is t')
    """
    near = nearest_name(given, known, alike=alike)
    return f"; did you mean {near!r}?" if near is not None else f"; {otherwise}" if otherwise else ""


EXPECTED = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "expected a whole number",
    "Input should be a valid integer, got a number with a fractional part": "expected a whole number",
    "Input should be a valid integer": "expected a whole number",
    "Input should be a valid number, unable to parse string as a number": "expected a number, as in 0.5",
    "Input should be a valid number": "expected a number",
    "Input should be a valid string": "expected words",
    "Input should be a valid boolean": "expected true or false",
    "Input should be greater than or equal to ": "expected at least ",
    "Input should be less than or equal to ": "expected at most ",
    "Input should be ": "expected ",
}
"""How pydantic says what it takes, and how we do."""


def expected(message: str) -> str:
    """What pydantic says of a value, in plain words.

    >>> expected("Input should be greater than or equal to 1"), expected("Value error, no such column")
    ('expected at least 1', 'no such column')
    """
    for theirs, ours in EXPECTED.items():
        message = message.replace(theirs, ours)
    return message


def same_but_capitals(names: Iterable[str]) -> list[list[str]]:
    """Distinct names that are one but for capitals and spaces.

    >>> same_but_capitals(["L", "R", "l", "R ", "l"])
    [['L', 'l'], ['R', 'R ']]
    """
    spelled: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        spelled.setdefault("".join(name.split()).casefold(), []).append(name)
    return [alike for alike in spelled.values() if len(alike) > 1]


def listed(items: Sequence[str], word: str = "and") -> str:
    """Items as a sentence lists them.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}" if items else ""


def amount(n_bytes: float | int) -> str:
    """Write a number of bytes for people.

    >>> amount(16 * 10**12), amount(3_500_000)
    ('16 TB', '3.5 MB')
    """
    units = ("bytes", "kB", "MB", "GB", "TB", "PB")
    power = min(int(math.log10(max(n_bytes, 1))) // 3, len(units) - 1)
    return f"{n_bytes / 1000**power:.3g} {units[power]}"


def minus(text: str) -> str:
    """Write negative numbers with a minus sign.

    >>> minus("Objective -69.1 of S-2, +0.1 to -inf")
    'Objective −69.1 of S-2, +0.1 to −inf'
    """
    return re.sub(r"(?<![\w-])-(?=\d|inf\b)", "−", text)


def number(value: Any, digits: int = 3) -> str:
    """A number as a sentence shows it: all of a whole one, so many digits of another.

    >>> number(1234567), number(0.012345), number(-2.5), number(float("nan")), number(3.0)
    ('1,234,567', '0.0123', '−2.5', '—', '3')
    """
    if value is None or not math.isfinite(value):
        return "—"
    if value == int(value):
        return minus(f"{int(value):,}")
    value = float(value)
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    return minus(text.rstrip("0").rstrip(".") if "." in text else text)


def one_decimal(value: float) -> str:
    """A number with at most one decimal, as a median has it.

    >>> one_decimal(1200.0), one_decimal(2.5)
    ('1,200', '2.5')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def cell(value: Any, decimals: int) -> str:
    """A value as a cell of a table shows it; numbers that are not whole have so many decimals.

    >>> cell(-0.63961, 3), cell(None, 3), cell(24000, 3), cell(float("nan"), 3), cell(True, 3), cell(-0.0001, 3)
    ('−0.640', '—', '24,000', '—', 'yes', '0.000')
    """
    value = plain(value)
    if value is None or value != value:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return minus(f"{value:,}" if isinstance(value, int) else f"{value:z.{decimals}f}")  # z: no "-0.00"
    return str(value)


def between(low: float, high: float) -> str:
    """A range by its two ends, or by one where they are the same.

    >>> between(0.5, 2.0), between(1.0, 1.0)
    ('0.5 to 2', '1')
    """
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def percent(share: float | int, form: str | None = None, *, space: str = "\u00a0") -> str:
    r"""A share in percent, without decimals unless it would read 0 or 100; the space does not break.

    Parameters
    ----------
    share
        From 0 to 1.
    form
        How to write 100 times the share instead, as in ``".3g"``.
    space
        Between the number and its sign.

    Examples
    --------
    >>> [percent(share).replace("\xa0", " ") for share in (0.624, 0.0042, 0.0, 0.991, 0.9996)]
    ['62 %', '0.4 %', '0 %', '99 %', '99.96 %']
    >>> percent(0.41234, ".3g", space=" ")
    '41.2 %'
    """
    value = 100 * float(share)
    if not math.isfinite(value):
        return "—"
    if form is None and (0 < value < 1 or 99.5 <= value < 100):
        return f"{number(value, 1 if value < 1 else 4)}{space}%"
    return f"{value:{form or '.0f'}}{space}%"


def plain(value: Any, *, nan: bool = True, other: Callable[[Any], Any] | None = None) -> Any:
    """Numpy's values as Python's own, all the way down, for JSON.

    Parameters
    ----------
    value
        Numbers, words, arrays, and mappings and lists of these; keys become text, tuples lists.
    nan
        Whether NaN and infinity may stay; otherwise they become None, as other languages do not read them.
    other
        What becomes of anything else; without it, it stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": np.float64(1.5), 2: [np.int64(2), (True, np.array([1.0, np.nan]))]})
    {'a': 1.5, '2': [2, [True, [1.0, nan]]]}
    >>> plain([np.inf, 2.5, {1}], nan=False, other=str)
    [None, 2.5, '{1}']
    """
    if type(value) in (str, bool, int, type(None)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item, nan=nan, other=other) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, nan=nan, other=other) for item in value]
    if type(value) is not float:
        import numpy as np

        if isinstance(value, np.floating):  # by hand: `tolist` leaves a long double as it is
            value = float(value)
        elif isinstance(value, np.ndarray | np.generic) and type(value.tolist()) is not type(value):
            return plain(value.tolist(), nan=nan, other=other)
    if isinstance(value, float):
        return value if nan or math.isfinite(value) else None
    return value if other is None or isinstance(value, str | int) else other(value)


def rounded(values: Any, digits: int = 4) -> Any:
    """An array as nested lists of short numbers, with None for what is not finite (JSON has no NaN).

    >>> rounded([[0.123456, float("nan")], [12345.678, 2.0]])
    [[0.1235, None], [12350, 2]]
    """
    import numpy as np

    array = np.asarray(values)
    if array.dtype.kind in "biu":
        return array.tolist()
    array = array.astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.floor(np.log10(np.abs(array)))
    scale = 10.0 ** np.where(np.isfinite(size), digits - 1 - size, 0)
    return _short(np.where(np.isfinite(array), np.round(array * scale) / scale, np.nan).tolist())


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(item) for item in value]
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) and abs(value) < 2**53 else value


class InNotebooks:
    """Shown by notebooks as what `print` says, tables as tables.

    >>> class Answer(InNotebooks):
    ...     def __str__(self):
    ...         return "Yes."
    >>> Answer()._repr_html_()
    '<div><p>Yes.</p></div>'
    """

    def _repr_html_(self) -> str:
        return html_of(str(self))


def html_of(text: str) -> str:
    """Sentences, lists and tables as this package prints them (Markdown), as HTML.

    >>> html_of("a < b\\n\\n| n | name |\\n|--:|:--|\\n| 1 | x |")
    '<div><p>a &lt; b</p><table><tr><th>n</th><th>name</th></tr><tr><td>1</td><td>x</td></tr></table></div>'
    >>> html_of("- one")
    '<div><ul><li>one</li></ul></div>'
    """
    parts = []
    for kind, lines in groupby(map(str.strip, text.splitlines()), _kind):
        own = list(lines)
        if kind == "|":
            cut = [re.split(r"(?<!\\)\|", line.removeprefix("|").removesuffix("|")) for line in own]
            rows = [[cell.strip().replace("\\|", "|") for cell in cells] for cells in cut]
            rows = [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
            made = [_row(row, "td" if i else "th") for i, row in enumerate(rows)]
            parts.append(f"<table>{''.join(made)}</table>")
        elif kind == "- ":
            parts.append(f"<ul>{''.join(f'<li>{escape(line[2:])}</li>' for line in own)}</ul>")
        else:
            parts += [f"<p>{escape(line)}</p>" for line in own if line]
    return f"<div>{''.join(parts)}</div>"


def _kind(line: str) -> str:
    return next((mark for mark in ("|", "- ") if line.startswith(mark)), "")


def _row(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def table_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a table in Markdown, a column for each key that any of them has a value for.

    >>> print(table_of([{"session": "a", "steps": 12, "gaps": None}, {"session": "b", "steps": 3}]))
    | session | steps |
    |:--|--:|
    | a | 12 |
    | b | 3 |
    """
    names = list(dict.fromkeys(name for row in rows for name, value in row.items() if value is not None))
    right = [all(isinstance(row.get(name, 0), int | float | None) for row in rows) for name in names]
    lines = [names, *([_shown(row.get(name)) for name in names] for row in rows)]
    lines.insert(1, ["--:" if own else ":--" for own in right])
    made = [f"| {' | '.join(_in_a_cell(cell) for cell in line)} |" for line in lines]
    return "\n".join([made[0], f"|{'|'.join(lines[1])}|", *made[2:]])


def _in_a_cell(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|")


def _shown(value: Any) -> str:
    return "" if value is None else number(value) if isinstance(value, int | float) else str(value)
