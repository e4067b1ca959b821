"""Which rows of a table are one session: as one column says, or several together, or the session and the animal.

Sessions are often numbered for each mouse.  Then "1" is not the name of a session, but "m1 1" is: the columns of a key
are joined (`joined_name`).  Where nobody said so, but one session belongs to several animals, it is several sessions
(`of_each_subject`): a session is the recording of one animal.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swirl.data.trajectory_checks import MISSING
from swirl.io.columns import (
    ALSO_CALLED,
    Table,
    are_numeric,
    as_typed,
    bare,
    key_columns,
    plain,
    read_identities,
    session_names,
)
from swirl.text import counted, some

Identities = tuple[np.ndarray, list[Any]]
"""Number of the value in each row, −1 where blank; the values in order of appearance."""


def joined_name(parts: Sequence[Any]) -> str:
    """The name of a session that several columns tell.

    With spaces between the parts; where a part has a space of its own, with slashes, so that ("a b", "c") and
    ("a", "b c") are two names.

    >>> joined_name(["m1", 3]), joined_name(["a b", "c"]), joined_name(["a", "b c"])
    ('m1 3', 'a b / c', 'a / b c')
    """
    words = [str(part) for part in parts]
    return (" / " if any(" " in word for word in words) else " ").join(words)


def name_of_animal(session: Any, animal: Any) -> str:
    """The name of one animal's session, where a session has several: the animal first, whatever was read.

    >>> name_of_animal(1, "m1"), name_of_animal("day 2", "m1")
    ('m1 1', 'm1 / day 2')
    """
    return joined_name([animal, session])


def without_animal(name: str, animal: Any) -> str:
    """What the session is called that an animal's own was made of.

    >>> without_animal("m1 1", "m1"), without_animal("m1 / day 2", "m1"), without_animal("day 2", "m1")
    ('1', 'day 2', 'day 2')
    """
    front = next((front for front in (f"{animal} / ", f"{animal} ") if name.startswith(front)), "")
    return name.removeprefix(front)


def read_key(table: Table, found: Mapping[str, str], role: str) -> Identities:
    """Sessions, or subjects, by the column that tells them, or by several together.

    >>> import pandas as pd
    >>> from swirl.errors import Faults
    >>> columns = {"mouse": pd.Series(["m1", "m1", "m2"]), "day": pd.Series([1, 2, 1])}
    >>> read_key(Table(columns, None, Faults(), []), {"session": "mouse", "session 2": "day"}, "session")
    (array([0, 1, 2]), ['m1 1', 'm1 2', 'm2 1'])
    """
    columns = key_columns(found, role)
    if len(columns) == 1:
        codes, values = read_identities(table, columns[0])
        return session_names(codes, values) if role == "session" else (codes, values)
    parts = [session_names(*read_identities(table, column)) for column in columns]
    codes, keys = _paired(parts[0], parts[1])
    for part in parts[2:]:
        codes, keys = _paired((codes, keys), part)
    names = [joined_name(key) for key in keys]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        rows = np.flatnonzero(np.isin(codes, [i for i, name in enumerate(names) if name == twice]))
        table.faults.add(
            f"{' and '.join(columns)} would give two different {role}s the name {twice!r} ({table.where(rows)}): "
            "leave the slashes out of one column"
        )
    return codes, names


def _paired(one: tuple[np.ndarray, list[Any]], other: tuple[np.ndarray, list[Any]]) -> tuple[np.ndarray, list[Any]]:
    """The pairs of values that occur, in order of appearance; blank where either is."""
    import pandas as pd

    n = max(len(other[1]), 1)
    codes, found = pd.factorize(np.where((one[0] < 0) | (other[0] < 0), MISSING, one[0] * n + other[0]))
    keys = [(*_parts(one[1][pair // n]), other[1][pair % n]) for pair in found.tolist() if pair >= 0]
    blank = np.flatnonzero(found < 0)
    if blank.size:
        codes = np.where(codes == blank[0], MISSING, codes - (codes > blank[0]))
    return codes.astype(np.int64), keys


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def of_each_subject(table: Table, found: Mapping[str, str], sessions: Identities, subjects: Identities) -> Identities:
    """Sessions told apart by subject, with a note, where several subjects have a session of one name; else as they are.

    Left as they are, for a fault, are those that look like a slip of the pen: a subject with one row of a session, two
    that differ in capitals only, or rows without a subject among those of several.

    >>> import pandas as pd
    >>> from swirl.errors import Faults
    >>> table = Table({}, None, Faults(), [])
    >>> rows, animals = (np.array([0, 0, 0, 0]), ["1"]), (np.array([0, 0, 1, 1]), ["m1", "m2"])
    >>> of_each_subject(table, {"session": "session", "subject": "mouse"}, rows, animals)
    (array([0, 0, 1, 1]), ['m1 1', 'm2 1'])
    """
    if not shared_sessions(sessions, subjects).any():
        return sessions
    (session, names), (subject, animals) = sessions, subjects
    known = (session >= 0) & (subject >= 0)
    codes, keys = _paired(
        (np.where(known, subject, MISSING), list(range(len(animals)))), (session, list(range(len(names))))
    )
    of_session = np.array([key[1] for key in keys])
    shared = np.bincount(of_session, minlength=len(names)) > 1
    rows = np.bincount(codes[codes >= 0], minlength=len(keys))
    alike = {(i, plain(str(animals[a]))) for a, i in keys}
    unsure = (rows[shared[of_session]] < 2).any() or len(alike) < len(keys)
    blank = (session >= 0) & (subject < 0)
    if unsure or (blank & shared[session]).any():
        return sessions
    # A row without a subject belongs to the only one of its session, or to none that is known.
    only = np.full(len(names), MISSING)
    only[of_session] = np.arange(len(keys))
    told = [name_of_animal(names[i], animals[a]) for a, i in keys]
    for i in np.flatnonzero((only < 0) & (np.bincount(session[session >= 0], minlength=len(names)) > 0)).tolist():
        only[i] = len(told)
        told.append(str(names[i]))
    codes = np.where(blank, only[session], codes)
    if len(set(told)) < len(told):
        return sessions
    first = int(np.flatnonzero(shared)[0])
    others = [animals[a] for a, i in keys if i == first]
    columns = [*key_columns(found, "subject"), *key_columns(found, "session")]
    table.notes.append(
        f"session {names[first]!r} is there for {counted(len(others), 'subject')} ({some(others)}): a session is what "
        f"{' and '.join(columns)} say together, called {told[0]!r} and so on"
    )
    return _in_order(codes, told)


def _in_order(codes: np.ndarray, names: list[Any]) -> Identities:
    """The same, numbered in order of appearance."""
    import pandas as pd

    new, order = pd.factorize(np.where(codes < 0, len(names), codes))
    blank = np.flatnonzero(order == len(names))
    if blank.size:
        new = np.where(new == blank[0], MISSING, new - (new > blank[0]))
    return new.astype(np.int64), [names[i] for i in order.tolist() if i < len(names)]


def shared_sessions(sessions: Identities, subjects: Identities) -> np.ndarray:
    """Whether each session has rows of several subjects."""
    least, most = least_and_most(sessions, subjects)
    return least < most


def least_and_most(sessions: Identities, values: Identities) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest code among the rows of each session, as many rows as there may be.

    A session whose rows have none has (number of values, MISSING).

    >>> least_and_most((np.array([0, 0, 1]), ["a", "b"]), (np.array([1, 0, -1]), ["m1", "m2"]))
    (array([0, 2]), array([ 1, -1]))
    """
    (session, names), (codes, told) = sessions, values
    least = np.full(len(names) + 1, len(told))  # the last is that of rows without a session
    most = np.full(len(names) + 1, MISSING)
    np.minimum.at(least, session, np.where(codes < 0, len(told), codes))
    np.maximum.at(most, session, codes)
    return least[:-1], most[:-1]


def unnamed_subject(table: Table, found: Mapping[str, str], session: np.ndarray, names: list[Any]) -> str | None:
    """A column that may hold the subject, though nobody said so, and changes within a session; None: there is none."""
    if "subject" in found:
        return None
    for column, values in table.columns.items():
        if plain(column) in ALSO_CALLED["subject"] and column not in found.values():
            subjects = read_identities(table, column)
            # A row's own number is no animal.
            if 1 < len(subjects[1]) <= len(values) / 4 and shared_sessions((session, names), subjects).any():
                return column
    return None


SESSIONS = ("day", "date", "session", "session_id", "session_no", "recording", "rec", "visit", "video", "file")
PARTS = ("trial", "run", "block", "episode")
"""What columns are called that may tell a session, or a part of one."""

BY_TURNS = tuple(word for word in SESSIONS if word != "visit")
"""Those of which several may stand in a table by turns; a visit that comes and goes is a signal."""

OFF_AND_ON = {"0", "1", "False", "True"}
"""What a column holds that is no count of recordings, where it changes from row to row."""

SWITCHES = ("day", "recording", "rec", "video")
"""What is on or off, too: a light by day, a camera."""

LONG = 5
"""Rows for which a column that tells sessions stays the same, on average at least."""

MOST_BY_TURNS = 6
"""Recordings of one animal of which rows may stand by turns, at most."""

LOOKED_AT = 2_000
"""Rows of a session that are looked at for that."""


def unnamed_session(
    table: Table, found: Mapping[str, str], session: np.ndarray, names: list[Any]
) -> tuple[str, Any] | None:
    """A column that may tell sessions apart, though nobody said so, and one whose rows have several values of it.

    Its name says so, and it stays the same over many rows: a signal changes all the time. A day may also change from
    row to row, where two recordings stand in the table by turns: then it has few values, each in many rows.

    >>> import pandas as pd
    >>> from swirl.errors import Faults
    >>> table = Table({"Day": pd.Series(np.repeat([1, 2], 6))}, None, Faults(), [])
    >>> unnamed_session(table, {"session": "mouse"}, np.zeros(12, int), ["m1"])
    ('Day', 'm1')
    >>> table = Table({"Day": pd.Series(np.tile([1, 2], 6))}, None, Faults(), [])
    >>> unnamed_session(table, {"session": "mouse"}, np.zeros(12, int), ["m1"])
    ('Day', 'm1')
    """
    told = () if "session" in found else ALSO_CALLED["session"]  # these are named in a hint of their own
    for word in (*SESSIONS, *PARTS):
        for column, values in table.columns.items():
            if bare(column) != bare(word) or plain(column) in told or column in found.values():
                continue
            if len(values) != len(session) or (read := _values(table, column)) is None:
                continue
            codes, different = read
            within = (session[1:] == session[:-1]) & (session[1:] >= 0)
            n_runs = 1 + int(((np.diff(codes) != 0) | ~within).sum())
            least, most = least_and_most((session, names), (codes, different))
            changing = np.flatnonzero(least < most)
            lasts = LONG * n_runs <= len(session)
            switch = word in SWITCHES and {str(value) for value in different} <= OFF_AND_ON
            by_turns = word in BY_TURNS and not switch and _few_values(session, codes)
            if changing.size and (lasts or by_turns):
                return column, names[int(changing[0])]
    return None


def _few_values(session: np.ndarray, codes: np.ndarray) -> bool:
    """Whether each session has few values of a column, for at least `LONG` rows each on average."""
    known = (session >= 0) & (codes >= 0)
    pairs = np.unique(session[known].astype(np.int64) * (codes.max(initial=0) + 1) + codes[known])
    return 0 < LONG * len(pairs) <= int(known.sum())


def recordings_by_turns(times: np.ndarray, states: np.ndarray) -> int:
    """How many recordings seem to stand by turns in the rows of one session, as their times say; 1: it is one.

    Each row goes on with the latest clock before it. Several recordings are a few clocks, by turns all the way, and
    apart by more than two of their steps, or with two states at one time. Rows that were written a little late are not
    apart so far, and have one beat when they are sorted; those that are sorted by something else do not take turns;
    shuffled rows would be many clocks.

    >>> clock = np.arange(20.0)
    >>> recordings_by_turns(np.stack([clock, clock + 500], axis=1).ravel(), np.zeros(40, int))
    2
    >>> recordings_by_turns(clock, np.zeros(20, int)), recordings_by_turns(clock[::-1], np.zeros(20, int))
    (1, 1)
    """
    times, states = times[:LOOKED_AT], states[:LOOKED_AT]
    if times.dtype.kind == "M":
        times = times.astype(np.int64)
    if _one_beat(times):
        return 1
    clocks: list[list[int]] = []
    of: list[int] = []
    when = times.tolist()
    for row, now in enumerate(when):
        before = [(when[rows[-1]], -i) for i, rows in enumerate(clocks) if when[rows[-1]] < now]
        if not before and len(clocks) == MOST_BY_TURNS:
            return 1
        mine = -max(before)[1] if before else len(clocks)
        if not before:
            clocks.append([])
        clocks[mine].append(row)
        of.append(mine)
    turns = 1 + np.count_nonzero(np.diff(of))
    if len(clocks) < 2 or min(map(len, clocks)) < LONG or turns < max(3 * len(clocks), len(times) / LONG):
        return 1
    step = float(np.median(np.concatenate([np.diff(times[rows]) for rows in clocks])))
    back = times[:-1] - times[1:]
    apart = (back > 0).any() and float(np.median(back[back > 0])) > 2 * step
    at_once = back == 0
    differ = at_once & (states[1:] != states[:-1])
    return len(clocks) if apart or (differ.any() and 2 * at_once.sum() >= len(times) / len(clocks)) else 1


def _one_beat(times: np.ndarray) -> bool:
    """Whether times, when they are sorted, are those of one clock, but for a few that are lost.

    Rows that were written late stand not far from their place; two recordings, one after the other in time, do.

    >>> _one_beat(np.array([0.0, 3, 1, 2, 4])), _one_beat(np.array([0.0, 500, 1, 501])), _one_beat(np.zeros(4))
    (True, False, False)
    >>> _one_beat(np.stack([np.arange(30.0), np.arange(30.0, 60.0)], axis=1).ravel())
    False
    """
    apart, back = np.diff(np.sort(times)), times[:-1] - times[1:]
    if not len(apart) or not (apart > 0).all():
        return False
    beat = float(np.median(apart))
    if (back > 0).any() and np.median(back[back > 0]) > max(2 * LONG, len(times) / 4) * beat:
        return False
    return bool(np.mean(np.abs(apart - beat) <= beat / 5) >= 0.95 and apart.max() <= LONG * beat)


def unnamed_groups(table: Table, found: Mapping[str, str], session: np.ndarray, names: list[Any]) -> dict[str, list]:
    """Columns of text that may be the group, though nobody said so: a few values, one for each session.

    >>> import pandas as pd
    >>> from swirl.errors import Faults
    >>> table = Table({"drug": pd.Series(["saline", "saline", "CNO", "CNO", "CNO"])}, None, Faults(), [])
    >>> unnamed_groups(table, {"session": "day"}, np.array([0, 0, 1, 1, 2]), ["1", "2", "3"])
    {'drug': ['saline', 'CNO']}
    """
    if "group" in found:
        return {}
    others = {bare(word) for word in (*ALSO_CALLED["subject"], *SESSIONS, *PARTS)}
    numeric, groups = are_numeric(table.columns), {}
    for column, values in table.columns.items():
        if column in found.values() or numeric[column] or bare(column) in others or len(values) != len(session):
            continue
        if (read := _values(table, column)) is None:
            continue
        codes, different = read
        if not 1 < len(different) <= MOST_GROUPS or len(different) >= len(names) or (codes < 0).all():
            continue
        least, most = least_and_most((session, names), (codes, different))
        if (least >= most).all():
            groups[column] = different
    return groups


MOST_GROUPS = 6


def _values(table: Table, column: str) -> Identities | None:
    """Values of a column that nobody named; None where it holds lists or records."""
    try:
        return read_identities(table, column)
    except ValueError:
        return None


def key_advice(found: Mapping[str, str], column: str, more: str | None = None) -> str:
    """What to type where sessions are numbered for each animal, or not told at all; `more` tells sessions, too.

    >>> key_advice({"state": "arm"}, "mouse")
    "session='mouse', subject='mouse' (--columns session=mouse,subject=mouse)"
    """
    columns = [column, *key_columns(found, "session"), *([] if more is None else [more])]
    key = repr(tuple(columns)) if len(columns) > 1 else repr(column)
    return f"session={key}, subject={column!r} ({as_typed({'session': columns, 'subject': column})})"


def session_advice(found: Mapping[str, str], column: str) -> str:
    """What to type where a column tells sessions beside what was named.

    >>> session_advice({"session": "mouse"}, "day"), session_advice({"subject": "mouse"}, "day")[:25]
    ("session=('mouse', 'day') (--columns session=mouse+day)", "session=('mouse', 'day') ")
    """
    columns = [*(key_columns(found, "session") or key_columns(found, "subject")), column]
    key = repr(tuple(columns)) if len(columns) > 1 else repr(column)
    return f"session={key} ({as_typed({'session': columns})})"
