"""From the columns of a table to sessions: rows in order, cut where a session or a segment starts."""

from typing import Any

import numpy as np

from swirl.faults import checked_names, counted, some
from swirl.importers.sessions import Sessions
from swirl.importers.table_columns import (
    Table,
    read_gaps,
    read_identities,
    read_labels,
    read_signal,
    read_times,
    refuse_marks,
    session_names,
)
from swirl.importers.table_roles import bout_marks
from swirl.reading import MISSING


def assemble(
    table: Table,
    found: dict[str, str],
    chosen: dict[str, list[str]],
    state_names: Any,
    action_names: Any,
    heading: str,
    only: str | None = None,
) -> Sessions:
    """Check every column, put the rows in order and cut them into sessions.

    >>> import pandas as pd
    >>> from swirl.faults import Faults
    >>> columns = {"day": pd.Series(["b", "a", "b"]), "state": pd.Series([0, 2, 1])}
    >>> table, found = Table(columns, None, Faults(), []), {"session": "day", "state": "state"}
    >>> read = assemble(table, found, {}, None, None, "the table cannot be read")
    >>> read.names, read.states
    (('b', 'a'), [array([0, 1]), array([2])])
    """
    faults, notes = table.faults, table.notes
    if (of_bouts := bout_marks(list(table.columns), found)) is not None:
        refuse_marks(table, of_bouts)
        faults.raise_if_any(heading)  # nothing else matters in a table of other rows
    state_names = checked_names("state_names", state_names, faults)
    action_names = checked_names("action_names", action_names, faults)
    states, state_names = read_labels(table, "state", found["state"], state_names)
    actions = times = marks = None
    if "action" in found:
        actions, action_names = read_labels(table, "action", found["action"], action_names)
    told = len(faults)
    if "time" in found:
        times = read_times(table, found["time"])
    times_told = len(faults) > told
    if "gap" in found:
        marks = read_gaps(table, found["gap"])
    session, sessions = np.zeros(len(states), np.int64), [only]
    if "session" in found:
        session, sessions = session_names(*read_identities(table, found["session"]))
    signals = {name: read_signal(table, channels) for name, channels in chosen.items()}

    lost = np.zeros(len(states), bool) if times is None else np.isnan(times)
    # A spreadsheet's last rows are often empty.  Without a session or time to fill in, an empty row is a missed step.
    empty = (states == MISSING) & ((session < 0) | ("session" not in found)) & (lost | (times is None))
    empty &= ("session" in found or times is not None) & (True if actions is None else actions == MISSING)
    if empty.any():
        notes.append(f"left out {counted(int(empty.sum()), 'empty row')}")
    nowhere, lost = np.flatnonzero((session < 0) & ~empty), np.flatnonzero(lost & ~empty)
    if nowhere.size:
        faults.add(f"{found['session']} is blank in {table.where(nowhere)}: say which session it is")
    if lost.size and not times_told:
        faults.add(
            f"{found['time']} is blank or not finite in {table.where(lost)}: fill it in, or remove the column if the "
            "rows are in order"
        )
    subjects = _constant(table, found, "subject", session, sessions)
    groups = _constant(table, found, "group", session, sessions)
    order = None
    if not nowhere.size and not lost.size:
        order = _order(table, session, sessions, times, found.get("time", ""), empty)
    if not len(faults) and (states == MISSING).all():
        faults.add(f"{found['state']} is blank in every row: there are no data")
    faults.raise_if_any(heading)

    order, starts = _kept(states, marks, order, found["state"], notes)
    session = _taken(session, order)
    lengths = np.bincount(session, minlength=len(sessions))
    kept = np.flatnonzero(lengths)
    if len(kept) < len(sessions):
        without = [str(sessions[i]) for i in np.flatnonzero(lengths == 0)]
        notes.append(f"left out {counted(len(without), 'session')} without a single state: {some(without)}")
    first = np.cumsum(lengths[kept]) - lengths[kept]
    starts[first] = False  # a session's first step starts a segment anyway
    at = np.flatnonzero(starts)
    owner = np.searchsorted(first, at, side="right") - 1
    if times is not None:
        times = _taken(times, order)
        if times.dtype.kind == "M":
            notes.append(f"{found['time']} holds dates: times are seconds since the first step of each session")
            times = (times - np.repeat(times[first], lengths[kept])) / np.timedelta64(1, "s")

    def split(values: np.ndarray) -> list[np.ndarray]:
        return np.split(_taken(values, order), first[1:])

    return Sessions(
        states=split(states),
        actions=None if actions is None else split(actions),
        names=None if sessions == [None] else tuple(str(sessions[i]) for i in kept),
        subjects=None if subjects is None else tuple(subjects[i] for i in kept),
        groups=None if groups is None else tuple(groups[i] for i in kept),
        times=None if times is None else np.split(times, first[1:]),
        gaps=np.split(at - first[owner], np.searchsorted(owner, np.arange(1, len(kept)))) if len(at) else None,
        signals={name: split(values) for name, values in signals.items()} or None,
        state_names=state_names,
        action_names=action_names,
        notes=tuple(notes),
    )


def _constant(
    table: Table, found: dict[str, str], role: str, session: np.ndarray, sessions: list[Any]
) -> list[Any] | None:
    """Return the subject or group of each session, None where it is blank throughout."""
    if role not in found:
        return None
    codes, values = read_identities(table, found[role])
    filled = np.flatnonzero((codes >= 0) & (session >= 0))
    first = np.full(len(sessions), len(filled), np.int64)
    np.minimum.at(first, session[filled], np.arange(len(filled)))
    of_session = np.append(codes[filled], MISSING)[first]
    differs = filled[codes[filled] != of_session[session[filled]]]
    for i in np.unique(session[differs])[:5].tolist():
        rows = differs[session[differs] == i]
        table.faults.add(
            f"{found[role]} is {values[codes[rows[0]]]!r} in {table.where(rows)}{_of(sessions[i])} but "
            f"{values[of_session[i]]!r} before: a session has one {role}; give each its own session"
        )
    names = [*values, None]
    return [names[i] for i in of_session]


def _taken(values: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    """Rows in order; without a copy where they stand so already, as in most large files."""
    return values if order is None else values[order]


def _order(
    table: Table, session: np.ndarray, sessions: list[Any], times: Any, column: str, empty: np.ndarray
) -> np.ndarray | None:
    """Rows session after session, each in order of time; None where they stand so already."""
    order = np.flatnonzero(~empty) if empty.any() else None
    rows = _taken(session, order)
    if times is None:
        _check_together(table, rows, sessions, order)
    if (np.diff(rows) < 0).any():
        grouped = np.argsort(rows, kind="stable")
        order, rows = grouped if order is None else order[grouped], rows[grouped]
    if times is None:
        return order
    within, t = np.diff(rows) == 0, _taken(times, order)
    back = within & (t[1:] < t[:-1])
    if back.any():
        n = len(np.unique(rows[1:][back]))
        table.notes.append(f"sorted {counted(n, 'session')} by {column}: the rows were not in order of time")
        by_time = np.lexsort((t, rows))
        order, t = by_time if order is None else order[by_time], t[by_time]
    twice = np.flatnonzero(within & (t[1:] == t[:-1]))
    for i in twice[:3].tolist():
        pair = np.array([i, i + 1]) if order is None else order[i : i + 2]
        table.faults.add(
            f"{column} is {t[i]} in both {table.where(np.sort(pair))}{_of(sessions[rows[i]])}: each step has a time of "
            "its own; remove the repeated row, or correct the session"
        )
    if len(twice) > 3:
        table.faults.add(f"{column} repeats {len(twice) - 3:,} more times in this way")
    return order


def _check_together(table: Table, rows: np.ndarray, sessions: list[Any], order: np.ndarray | None) -> None:
    """Without times, a session in several blocks may be two of one name: joined, they would hold a move never made.

    Rows of several sessions by turns, one at a time, are no such thing.
    """
    first = np.flatnonzero(np.diff(rows, prepend=-1) != 0)
    blocks = np.bincount(rows[first], minlength=len(sessions))
    apart = np.flatnonzero((blocks > 1) & (blocks < np.bincount(rows, minlength=len(sessions))))
    for i in apart[:3].tolist():
        starts = first[rows[first] == i]
        table.faults.add(
            f"session {sessions[i]!r} starts in {table.where(starts if order is None else order[starts])}, "
            "and there is no time to say in which order: give each its own name, or a column t"
        )
    if len(apart) > 3:
        table.faults.add(f"{counted(len(apart) - 3, 'more session')} in several places")


def _kept(
    states: np.ndarray, marks: np.ndarray | None, order: np.ndarray | None, column: str, notes: list[str]
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return (the rows with a state, in order; whether a new segment starts at each, as after a row without one)."""
    known = _taken(states, order) != MISSING
    starts = np.zeros(len(known), bool) if marks is None else _taken(marks, order).copy()
    if known.all():
        return order, starts
    lost = np.cumsum(~known)
    notes.append(f"dropped {counted(int(lost[-1]), 'step')} without a {column}, and marked gaps in their place")
    rows = np.flatnonzero(known) if order is None else order[known]
    return rows, starts[known] | (np.diff(lost[known], prepend=0) > 0)


def _of(session: Any) -> str:
    return "" if session is None else f" of session {session!r}"
