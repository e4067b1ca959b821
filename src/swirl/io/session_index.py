"""Animals and groups of recordings whose files do not say: a table beside them (name, subject, group)."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.io import open_table
from swirl.text import counted, same_but_capitals, some

EXPECTED = "expected a CSV with the columns name (of the session), and subject or group or both"

Labels = dict[str, dict[str, str | None]]


def read_index(path: Path, faults: Faults) -> Labels:
    """Read subject and group by name; a name that stands there twice must have the same both times.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "index.csv"
    >>> _ = file.write_text("name,subject,remark\\nday1,m7,first\\nday2,,\\n")
    >>> read_index(file, Faults())
    {'day1': {'subject': 'm7'}, 'day2': {'subject': None}}
    """
    rows = open_table.rows(path, ("name",), faults, EXPECTED)
    given = [column for column in ("subject", "group") if rows and column in rows[0][1]]
    if rows and not given:
        faults.add(f"{path}: no column subject or group; {EXPECTED}")
    listed: Labels = {}
    for line, row in rows:
        entry = {column: row[column] or None for column in given}
        if listed.setdefault(row["name"], entry) != entry:
            faults.add(f"{path}, line {line}: {row['name']!r} is there before, with another group or subject")
    return listed


def found_in(listed: Labels, names: Collection[str]) -> dict[str, str]:
    """Under which name of an index each session is: its own, or that of the file it came from.

    >>> found_in({"day1.csv": {}, "day2": {}}, ["day1", "day2", "day3"])
    {'day1': 'day1.csv', 'day2': 'day2'}
    """
    by_stem = {name.rsplit(".", 1)[0]: name for name in listed if name not in names}
    known = {name: name if name in listed else by_stem.get(name) for name in names}
    return {name: found for name, found in known.items() if found is not None}


def label_sessions(sessions: Trajectories, index: Any) -> Trajectories:
    """Give sessions the subjects and groups that a table lists; every session must be in it.

    Parameters
    ----------
    index
        CSV with columns name, and subject or group. A session is found by its name, or as the file it came from
        (mouse1.csv).

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "index.csv"
    >>> _ = file.write_text("name,subject,group\\nday1.csv,m7,drug\\nday2,m7,control\\n")
    >>> found = label_sessions(Trajectories([[0, 1]] * 2, names=["day1", "day2"]), file)
    >>> found.subjects, found.groups
    (('m7', 'm7'), ('drug', 'control'))
    """
    path, faults = Path(index), Faults()
    cannot = f"{path} cannot be used as an index of the sessions"
    listed = read_index(path, faults)
    faults.raise_if_any(cannot)
    found = found_in(listed, sessions.names)
    if missing := [repr(name) for name in sessions.names if name not in found]:
        faults.add(f"no line for session {some(missing)}: add it; the file lists {some(list(listed))}")
    faults.raise_if_any(cannot)
    labels = {
        column: [listed[found[name]][column] for name in sessions.names]
        for column in ("subject", "group")
        if column in next(iter(listed.values()))
    }
    unused = len(listed) - len(set(found.values()))
    note = f"took {' and '.join(labels)} of {counted(len(sessions), 'session')} from {path.name}"
    note += f"; {counted(unused, 'line')} of it not used" if unused else ""
    header = [name for name in open_table.rows(path, ("name",), Faults())[0][1] if name]
    left = [name for name in header if name not in ("name", "subject", "group")]
    if left:
        hint = "" if "group" in labels else ": the column of the groups has to be called group"
        note += f"; its {'column' if len(left) == 1 else 'columns'} {some(left)} not used{hint}"
    notes = (*sessions.notes, note, *_contradictions(sessions, labels, path.name))
    return sessions.with_labels(subjects=labels.get("subject"), groups=labels.get("group"), notes=notes)


def _contradictions(sessions: Trajectories, labels: dict[str, list[str | None]], index: str) -> list[str]:
    """What an index says otherwise than the recordings, and names in it that are one but for capitals and spaces."""
    notes = []
    for column, own in (("subject", sessions.subjects), ("group", sessions.groups)):
        given = labels.get(column, [])
        changed = [
            (name, str(before), now)
            for name, before, now in zip(sessions.names, own, given, strict=False)
            if before is not None and now is not None and str(before) != now
        ]
        # Another animal's name, or another group: it may be a slip.  A new name for each (track_0 → m7) is not.
        swapped = [one for one in changed if column == "group" or one[2] in {str(before) for before in own}]
        if swapped:
            name, before, now = swapped[0]
            notes.append(
                f"BEWARE: {index} has another {column} than the recordings for {counted(len(swapped), 'session')}: "
                f"{name!r} is of {before!r} there, and {now!r} in the index, which was taken"
            )
        elif changed:
            told = some([f"{before!r} → {now!r}" for before, now in dict.fromkeys(one[1:] for one in changed)])
            notes.append(f"{column}s of the recordings were replaced by those of {index}: {told}")
        for alike in same_but_capitals([value for value in given if value is not None]):
            notes.append(
                f"BEWARE: the {column}s {some([repr(value) for value in alike])} of {index} differ only in "
                f"capitals or spaces, and are {len(alike)} {column}s now: if they are one, write them alike"
            )
    return notes
