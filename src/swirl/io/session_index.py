"""Animals and groups of recordings whose files do not say: a table beside them (name, subject, group)."""

from pathlib import Path
from typing import Any

from swirl.data.trajectories import Trajectories
from swirl.errors import Faults, counted, some
from swirl.io import text_table

EXPECTED = "expected a CSV with the columns name (of the session), and subject or group or both"


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
    rows = text_table.rows(path, ("name",), faults, EXPECTED)
    cannot = f"{path} cannot be used as an index of the sessions"
    faults.raise_if_any(cannot)
    given = [column for column in ("subject", "group") if column in rows[0][1]]
    if not given:
        faults.add(f"no column subject or group; {EXPECTED}")
    listed: dict[str, dict[str, str]] = {}
    for line, row in rows:
        if row["name"] in listed:
            faults.add(f"line {line}: {row['name']!r} stands there more than once")
        listed[row["name"]] = row
    by_stem = {name.rsplit(".", 1)[0]: row for name, row in listed.items()}
    names = sessions.names
    missing = [repr(name) for name in names if name not in listed and name not in by_stem]
    if missing:
        faults.add(f"no line for session {some(missing)}: add it; the file lists {some(list(listed))}")
    faults.raise_if_any(cannot)
    found = [listed.get(name) or by_stem[name] for name in names]
    subjects, groups = ([row[x] or None for row in found] if x in given else None for x in ("subject", "group"))
    unused = len(listed) - len({row["name"] for row in found})
    note = f"took {' and '.join(given)} of {counted(len(names), 'session')} from {path.name}"
    note += f"; {counted(unused, 'line')} of it not used" if unused else ""
    return sessions.with_labels(subjects=subjects, groups=groups, notes=(*sessions.notes, note))
