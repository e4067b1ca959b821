"""Which column of a table is what: found by its name, with a hint where it is called otherwise."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from swirl.faults import Faults, some

NO_SIGNAL = ("step", "mode")  # what our own exports add: counted or inferred, not recorded
NO_NAME = re.compile(r"(Unnamed: \d+|__index_level_\d+__)?")  # how pandas names an index that it wrote along
ALSO_CALLED = {
    "session": ("session_id", "recording", "trial", "episode", "bout", "file", "name"),
    "subject": ("subject_id", "animal", "animal_id", "mouse", "mouse_id", "rat", "id"),
    "time": ("time", "times", "time_s", "timestamp", "timestamps", "seconds", "sec"),
}


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are called.

    A column under its usual name may be absent; one that is named here must be there.  None: not read, even if there.
    Capitals and spaces around a name do not matter.

    Examples
    --------
    >>> Columns(session="recording", state="syllable").state
    'syllable'
    """

    session: str | None = "session"
    subject: str | None = "subject"
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
    ValueError: The columns cannot be told: 1 fault.
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
            near = _nearest(str(role), roles)
            faults.add(f"columns has {role!r}, which swirl does not know: expected {', '.join(roles)}{near}")
        elif not isinstance(name, str) and (name is not None or role == "state"):
            such = "" if name is None or isinstance(name, list | tuple | dict) else f", such as {str(name)!r}"
            faults.add(f"columns[{role!r}] is {name!r}: give the name of the column as text{such}")
    faults.raise_if_any("The columns cannot be told")
    return Columns(**given)


def plain(name: str) -> str:
    """Write a name as it is compared: without capitals, and without spaces around it.

    >>> plain(" State ")
    'state'
    """
    return name.strip().casefold()


def distinct_names(names: list[str], faults: Faults) -> dict[int, str]:
    """Position → name of every column that has a name; a name that occurs twice is a fault.

    >>> distinct_names(["t", "", "state"], Faults())
    {0: 't', 2: 'state'}
    """
    named = {i: name for i, name in enumerate(names) if not NO_NAME.fullmatch(name)}
    repeated = [name for name, n in Counter(named.values()).items() if n > 1]
    if repeated:
        faults.add(f"columns occur more than once: {some(repeated)}; give each a name of its own")
    return named


def _nearest(wanted: str, there: list[str]) -> str:
    by_plain = {plain(name): name for name in there}
    near = get_close_matches(plain(wanted), list(by_plain), n=1)
    return f"; did you mean {by_plain[near[0]]!r}?" if near else ""


def find_columns(columns: Columns, there: list[str], faults: Faults) -> dict[str, str]:
    """Role → the name of its column.

    >>> find_columns(USUAL, ["T", "state"], Faults())
    {'time': 'T', 'state': 'state'}
    """
    found = {}
    for field in fields(columns):
        wanted = getattr(columns, field.name)
        if wanted is None:
            continue
        matching = [wanted] if wanted in there else [name for name in there if plain(name) == plain(wanted)]
        if len(matching) > 1:
            faults.add(f"columns {some(matching)} could all be {wanted!r}: rename one, or spell it as in the table")
        elif matching:
            found[field.name] = matching[0]
        elif wanted != field.default or field.name == "state":
            listed = f"the columns are {some(there, 20)}" if there else "no column has a name"
            name_it = f"columns={{{field.name!r}: …}}, or `swirl import table --{field.name} NAME`"
            name_it = "" if wanted != field.default else f"; name the one that holds it: {name_it}"
            faults.add(f"there is no column {wanted!r}: {listed}{_nearest(wanted, there)}{name_it}")
    return found


def note_hints(columns: Columns, found: dict[str, str], there: list[str], notes: list[str]) -> None:
    """Note a column that is usually called otherwise: without a session column all rows are one session.

    >>> notes = []
    >>> note_hints(USUAL, {"state": "state"}, ["mouse", "state"], notes)
    >>> notes
    ["no column is called 'subject': if 'mouse' is it, say so: subject='mouse' (--subject mouse)"]
    """
    for role, words in ALSO_CALLED.items():
        wanted = getattr(columns, role)
        like = [name for name in there if plain(name) in words and name not in found.values()]
        if wanted is not None and role not in found and like:
            alone = ", so all rows are one session" if role == "session" else ""
            notes.append(
                f"{'BEWARE: ' if alone else ''}no column is called {wanted!r}{alone}: if {like[0]!r} is it, say so: "
                f"{role}={like[0]!r} (--{role} {like[0]})"
            )


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
) -> dict[str, list[str]]:
    """Name of each signal → its columns, one per channel.

    >>> numeric = {"state": True, "speed": True, "x_0": True, "x_1": True}
    >>> choose_signals(numeric, {"state": "state"}, None, Faults(), [])
    {'speed': ['speed'], 'x': ['x_0', 'x_1']}
    """
    free = [name for name in numeric if name not in found.values()]
    if wanted is None:
        kept = [name for name in free if numeric[name] and plain(name) not in NO_SIGNAL]
        left = [name for name in free if name not in kept]
        if left:
            notes.append(f"left out {some(left, 10)}: not numbers that were recorded")
        groups = _channels(kept)
        grouped = {column: stem for stem, channels in groups.items() for column in channels}
        for stem, channels in groups.items():
            notes.append(f"read {some(channels)} as the {len(channels)} channels of one signal, {stem}")
        return {grouped.get(name, name): groups.get(grouped.get(name, ""), [name]) for name in kept}
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        faults.add(f"signals={wanted!r}: give a list of columns, such as signals=['speed']")
        return {}
    chosen, groups = {}, _channels(list(numeric))
    for name in map(str, wanted):
        matching = [name] if name in numeric else [column for column in numeric if plain(column) == plain(name)]
        if matching or name in groups:
            chosen[name] = matching[:1] or groups[name]
        else:
            faults.add(f"signals: there is no column {name!r}{_nearest(name, free)}")
    return chosen


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
