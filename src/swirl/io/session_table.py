"""The long table, one row per step: a pandas frame, a CSV, an Excel sheet or a Parquet file, read as `Trajectories`.

The columns are session, subject, group, t, state, action, gap and any further numbers (signals); only state must be
there; several together may tell a session (`session_keys`).  They are found by their names, with a hint where one is
called otherwise.  Everything is done on whole columns: ten million rows are read in seconds.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from swirl import system
from swirl.data.mdp import MDP
from swirl.data.trajectories import CANNOT, Trajectories
from swirl.data.trajectory_checks import MISSING
from swirl.errors import Faults, checked_names, needing
from swirl.io.columns import (
    ALSO_CALLED,
    AS_NAMED,
    USUAL,
    Columns,
    Table,
    are_numeric,
    as_columns,
    as_typed,
    bout_marks,
    choose_signals,
    distinct_names,
    find_columns,
    key_columns,
    key_parts,
    note_hints,
    plain,
    read_gaps,
    read_identities,
    read_labels,
    read_signal,
    read_times,
    refuse_marks,
)
from swirl.io.notes import warn_of
from swirl.io.open_table import EXCEL, is_compound, open_table
from swirl.io.session_keys import (
    PARTS,
    SESSIONS,
    Identities,
    key_advice,
    least_and_most,
    of_each_subject,
    read_key,
    recordings_by_turns,
    session_advice,
    unnamed_groups,
    unnamed_session,
    unnamed_subject,
)
from swirl.io.text_file import PARQUET, beginning, check_there, refuse
from swirl.text import counted, some

__all__ = ["USUAL", "Columns", "from_frame", "read_csv", "read_data", "read_parquet", "read_table"]

KINDS = {"session": "names", "subject": "names", "group": "names", "time": "measured"}
KINDS |= {"state": "labels", "action": "labels", "gap": "labels"}
OUTCOMES = 3  # words of a column of outcomes, at most: yes and no; hit, miss and none
REPEATED = 5  # rows that have each of them, at least: remarks are rarer
LOOKED_INTO = 20  # sessions of which rows are looked at for recordings that stand by turns
GROUPS = ("treatment", "condition", "drug", "genotype", "cohort", "sex", "strain")  # read of a Parquet file, for a hint


def from_frame(
    frame: Any,
    columns: Any = USUAL,
    *,
    signals: Any = None,
    state_names: Any = None,
    action_names: Any = None,
    source: str = "the table",
) -> Trajectories:
    """Read a long table, one row per step.

    Parameters
    ----------
    frame
        A pandas DataFrame, or anything with `.to_pandas()` (Polars, Arrow).
    columns
        What its columns are called, where that is not usual: a dict such as {"state": "arm"}, or `Columns`. Where
        sessions are numbered for each mouse: {"session": ("mouse", "session")}; sessions are then called "m1 3".
    signals
        Columns to keep as signals; by default all that hold numbers and have no other use. Columns x_0, x_1, … are the
        channels of one signal x.
    state_names, action_names
        Names in the order of the labels. Labels must be among them; numbers are matched with names that are numbers,
        and count the names from 0 where a number is no name.
    source
        What to call the table in errors.

    Notes
    -----
    Whole numbers ≥ 0 are labels as they stand. Text becomes labels 0, 1, … in sorted order (a pandas categorical: in
    its own order), and so does a column that mixes text and numbers. A step without a state is dropped and leaves a
    gap; a blank action (or −1) is missing. Rows of a session may stand anywhere; they are sorted by time.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"session": ["a", "a", "b"], "state": ["home", "water", "home"], "action": [1, None, 0]})
    >>> read = from_frame(table)
    >>> read.states, read.actions
    ([array([0, 1]), array([0])], [array([ 1, -1]), array([0])])
    >>> read.names, read.state_names
    (('a', 'b'), ('home', 'water'))
    """
    import pandas as pd

    columns = as_columns(columns)
    if not isinstance(frame, pd.DataFrame) and hasattr(frame, "to_pandas"):
        frame = frame.to_pandas()
    if not isinstance(frame, pd.DataFrame):
        refuse(source, f"it is a {type(frame).__name__}: give a pandas DataFrame, or a table that has .to_pandas()")
    if frame.columns.nlevels > 1:
        refuse(source, f"its column names have {frame.columns.nlevels} levels: give each column one name")
    faults = Faults()
    names = distinct_names([str(name).strip() for name in frame.columns], faults)
    table = Table({name: frame.iloc[:, i] for i, name in names.items()}, None, faults, [])
    # Sessions and times are often an index; one that is not asked for is only a count of rows.
    levels = [str(name) for name in frame.index.names if name is not None]
    asked = [key_parts(name, [*names.values(), *levels]) for name in vars(columns).values()]
    wanted = {plain(name) for parts in asked for name in parts if name is not None}
    for level, name in enumerate(frame.index.names):
        if name is not None and plain(str(name)) in wanted and str(name) not in table.columns:
            table.columns[str(name)] = pd.Series(frame.index.get_level_values(level))
    found = find_columns(columns, list(table.columns), faults)
    if not faults and len(frame) == 0:
        faults.add("it has columns but no rows: there are no data")
    heading = f"{source} cannot be read (rows are counted from 0)"
    faults.raise_if_any(heading)
    asked_about = note_hints(columns, found, list(table.columns), table.notes)
    chosen, left = choose_signals(are_numeric(table.columns), found, signals, faults, table.notes)
    left = [name for name in left if name not in asked_about]
    return assemble(table, found, chosen, state_names, action_names, heading, left=left)


def read_csv(
    path: Any,
    columns: Any = USUAL,
    *,
    signals: Any = None,
    state_names: Any = None,
    action_names: Any = None,
    sheet: str | None = None,
) -> Trajectories:
    """Read a long table from a text file or an Excel sheet: whatever `open_table` opens.

    CSV or TSV, also with semicolons and decimal commas, also gzipped; UTF-8, or UTF-16 with its mark. A file without a
    session column is one session, named after the file (or the sheet). For the other arguments see `from_frame`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "mouse 3.csv"
    >>> _ = path.write_text("t;state;action\\n0,5;home;1\\n1,0;water;\\n")
    >>> read = read_csv(path)
    >>> read.names, read.times, read.state_names
    (('mouse 3',), [array([0.5, 1. ])], ('home', 'water'))
    >>> folder.cleanup()
    """
    columns, path, faults = as_columns(columns), Path(path), Faults()
    opened = open_table(path, sheet=sheet)
    names = distinct_names([name.strip() for name in opened.header], faults)
    found = find_columns(columns, list(names.values()), faults)
    if len(faults) and opened.doubt:  # nothing else is worth saying
        refuse(
            path, f"the columns are {some(list(opened.header), 6)}{opened.doubt} Add that line, as in: t,subject,state"
        )
    faults.raise_if_any(f"{path} cannot be read")

    roles = {name: role.partition(" ")[0] for role, name in found.items()}
    asked = {plain(str(name)) for name in signals} if isinstance(signals, list | tuple) else set()
    marks = bout_marks(list(names.values()), found)
    roles |= {} if marks is None else {marks: "state"}  # text, like a state
    kinds = {}
    for i, name in names.items():
        is_asked = plain(name) in asked or plain(name.rpartition("_")[0]) in asked
        unclaimed = "names" if "subject" not in found and plain(name) in ALSO_CALLED["subject"] else "aside"
        kinds[i] = KINDS.get(roles.get(name, ""), "measured" if is_asked else unclaimed)
    read = opened.columns(kinds)
    opened = replace(opened, data=b"")  # gigabytes may be, and are not needed any more
    coded = frozenset(name for i, name in names.items() if kinds[i] == "labels")
    series = {name: read[i] for i, name in names.items()}
    table = Table(series, opened.lines, faults, list(opened.notes), unordered=coded, written=True)
    asked_about = note_hints(columns, found, list(table.columns), table.notes)
    chosen, left = choose_signals(are_numeric(table.columns), found, signals, faults, table.notes)
    left = [name for name in left if name not in asked_about]
    return assemble(table, found, chosen, state_names, action_names, f"{path} cannot be read", opened.name, left)


def read_parquet(
    path: Any, columns: Any = USUAL, *, signals: Any = None, state_names: Any = None, action_names: Any = None
) -> Trajectories:
    """Read a long table from a Parquet file, and of it only the columns that are used.

    A file without a session column is one session, named after the file. For the arguments see `from_frame`.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> folder = tempfile.TemporaryDirectory()
    >>> pd.DataFrame({"state": [0, 2, 1]}).to_parquet(f"{folder.name}/day 1.parquet")
    >>> read_parquet(f"{folder.name}/day 1.parquet").states
    [array([0, 2, 1])]
    >>> folder.cleanup()
    """
    with needing("reading Parquet needs pyarrow", "parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    columns, path, faults = as_columns(columns), Path(path), Faults()
    check_there(path)
    try:
        with pq.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
            groups = sum(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
            n_rows = max(metadata.num_rows, groups, 0)
    except (pa.ArrowException, OSError, ValueError) as error:
        refuse(path, f"it is not a Parquet file, or is cut short ({_first_line(error)})")
    names = distinct_names([name.strip() for name in schema.names], faults)
    found = find_columns(columns, list(names.values()), faults)
    heading = f"{path} cannot be read (rows are counted from 0)"
    faults.raise_if_any(heading)
    types = {name: schema.types[i] for i, name in names.items()}
    numeric = {
        name: pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        for name, kind in types.items()
    }
    notes: list[str] = []
    asked_about = note_hints(columns, found, list(types), notes)
    chosen, left = choose_signals(numeric, found, signals, faults, notes)
    left = [name for name in left if name not in asked_about]
    also: list[str] = []
    if "session" in found and "subject" not in found:  # for a hint, where one session is of several animals
        also = [name for name in types if plain(name) in ALSO_CALLED["subject"] and not is_compound(types[name])]
    also += [name for name in left if pa.types.is_string(types[name]) or pa.types.is_large_string(types[name])]
    hints = (*SESSIONS, *(() if "group" in found else GROUPS))
    also += [name for name in types if plain(name) in hints and not is_compound(types[name])]
    needed = {*also, *found.values(), *(column for channels in chosen.values() for column in channels)}
    marks = bout_marks(list(types), found)
    needed |= {marks} if marks is not None and not numeric[marks] and not is_compound(types[marks]) else set()
    for name in [name for name in types if name in needed and is_compound(types[name])]:
        faults.add(f"{name} holds {types[name]}: expected one number or text in each row")
    faults.raise_if_any(heading)
    stored = {name: schema.names[i] for i, name in names.items() if name in needed}
    # A few bytes may stand for any number of equal values.
    if (told := system.too_large(16 * len(stored) * n_rows)) is not None:
        refuse(path, f"it claims {n_rows:,} rows, which {told}: the file is damaged, or must be read in parts")
    repeated = {name for role, name in found.items() if role != "time"} | set(also)
    text = [name for name in repeated if pa.types.is_string(types[name]) or pa.types.is_large_string(types[name])]
    try:
        with pq.ParquetFile(path, read_dictionary=[stored[name] for name in text]) as file:
            read = file.read(columns=list(stored.values())).unify_dictionaries()
        # The index that pandas wrote along is one column among others here.
        frame = read.to_pandas(ignore_metadata=True, split_blocks=True, self_destruct=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        refuse(path, f"it is damaged or cut short ({_first_line(error)})")
    del read
    if len(frame) == 0:
        refuse(path, "it has columns but no rows: there are no data")
    series = {name: frame[raw] for name, raw in stored.items()}
    table = Table(series, None, faults, notes, unordered=frozenset(text))
    return assemble(table, found, chosen, state_names, action_names, heading, path.stem, left)


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


PARQUETS = (".parquet", ".pq", ".pqt")
SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz", *PARQUETS, *EXCEL)


def read_table(path: Any, columns: Any = USUAL, *, sheet: str | None = None, **options: Any) -> Trajectories:
    """Read a long table of any kind: Parquet by `read_parquet`, whatever its ending, and all else by `read_csv`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "sessions.csv"
    >>> _ = file.write_text("arm\\nleft\\nright\\n")
    >>> read_table(file, {"state": "arm"}).state_names
    ('left', 'right')
    """
    path = Path(path)
    if path.name.lower().endswith(PARQUETS) or beginning(path).startswith(PARQUET):
        return read_parquet(path, columns, **options)
    return read_csv(path, columns, sheet=sheet, **options)


def read_data(path: Any, columns: dict[str, Any] | None = None, *, env: MDP | None = None) -> Trajectories:
    """Read sessions from a table; labels are those of the environment where it has names.

    Parameters
    ----------
    path
        CSV (or tab-separated, or gzipped), Parquet or Excel with columns session, subject, group, t, state, action, gap
        and covariates; only state is needed.
    columns
        Other names of those columns: {"state": "node", "time": "seconds", "session": ("mouse", "session")}.
    env
        The sessions' environment: its names give labels their numbers.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "sessions.csv"
    >>> _ = file.write_text("session,t,state\\na,0.0,home\\na,0.5,water\\nb,0.0,water\\n")
    >>> read_data(file)
    Trajectories(2 sessions, 3 steps (1 to 2 each), 2 states, 1 action)
    """
    path = Path(path)
    name = path.name.lower()
    if not name.endswith(SUFFIXES):
        if path.is_dir():
            raise ValueError(f"{path} is a folder: give one table; all its Parquet files by `swirl fit --stream`")
        raise ValueError(
            f"{path}: expected a table ({', '.join(SUFFIXES)}); other recordings are made into one by `swirl import`"
        )
    state_names = None if env is None else env.state_names
    action_names = None if env is None else env.action_names
    try:
        data = read_table(path, columns, state_names=state_names, action_names=action_names)
    except ValueError as error:
        raise ValueError(f"{path}: {error}" if str(error).startswith(CANNOT) else str(error)) from None
    if env is not None and env.state_names is None and data.state_names is not None:
        raise ValueError(
            f"{path}: its states have names ({some(data.state_names)}), but the environment only numbers its "
            f"{env.n_states} states: which is which is not known. Write the names into the environment (`swirl env` "
            "--labels), or the numbers into the table"
        )
    if env is not None and (meant := _meant_as_counted(data, env)):
        data = data.with_labels(notes=[note for note in data.notes if note not in meant])
    # The data's own numbers of labels, where larger, are for `check` to tell.
    if env is not None and data.state_names is None:
        data.n_states = max(data.n_states, env.n_states)
    if env is not None and data.action_names is None:
        data.n_actions = max(data.n_actions, env.n_actions)
    warn_of(data.notes, stacklevel=2)
    return data


def assemble(
    table: Table,
    found: dict[str, str],
    chosen: dict[str, list[str]],
    state_names: Any,
    action_names: Any,
    heading: str,
    only: str | None = None,
    left: Sequence[str] = (),
) -> Trajectories:
    """Check every column, put the rows in order and cut them into sessions; say which columns are `left` out.

    >>> import pandas as pd
    >>> from swirl.errors import Faults
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
    subject = read_key(table, found, "subject") if "subject" in found else None
    if "session" in found:
        session, sessions = read_key(table, found, "session")
    if "session" in found and subject is not None and len(key_columns(found, "session")) == 1:
        session, sessions = of_each_subject(table, found, (session, sessions), subject)
    subjects = _constant(table, found, "subject", subject, session, sessions)
    del subject  # as long as the table
    signals = {name: read_signal(table, channels) for name, channels in chosen.items()}

    lost = np.zeros(len(states), bool) if times is None else np.isnan(times)
    # A spreadsheet's last rows are often empty.  Without a session or time to fill in, an empty row is a missed step.
    empty = (states == MISSING) & ((session < 0) | ("session" not in found)) & (lost | (times is None))
    empty &= ("session" in found or times is not None) & (True if actions is None else actions == MISSING)
    if empty.any():
        notes.append(f"left out {counted(int(empty.sum()), 'empty row')}")
    nowhere, lost = np.flatnonzero((session < 0) & ~empty), np.flatnonzero(lost & ~empty)
    if nowhere.size:
        columns = " or ".join(key_columns(found, "session"))
        faults.add(f"{columns} is blank in {table.where(nowhere)}: say which session it is")
    if lost.size and not times_told:
        faults.add(
            f"{found['time']} is blank or not finite in {table.where(lost)}: fill it in, or remove the column if the "
            "rows are in order"
        )
    told = len(faults)
    group = read_identities(table, found["group"]) if "group" in found else None
    groups = _constant(table, found, "group", group, session, sessions)
    del group
    order = None
    if not nowhere.size and not lost.size:
        order, mixed = _order(table, session, sessions, times, found.get("time", ""), empty, states)
        asked_about = _hint_at_sessions(table, found, session, sessions, told, mixed)
        asked_about |= _hint_at_groups(table, found, session, sessions)
        left = [name for name in left if name not in asked_about]  # each column is told of once
        outcomes = _hint_at_outcomes(table, left, (session, sessions))
        if left := [name for name in left if name not in outcomes]:
            notes.append(f"left out {some(left, 10)}: not numbers that were recorded")
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

    data = Trajectories(
        states=split(states),
        actions=None if actions is None else split(actions),
        names=None if sessions == [None] else [sessions[i] for i in kept],
        subjects=None if subjects is None else [subjects[i] for i in kept],
        groups=None if groups is None else [groups[i] for i in kept],
        times=None if times is None else np.split(times, first[1:]),
        gaps=np.split(at - first[owner], np.searchsorted(owner, np.arange(1, len(kept)))) if len(at) else None,
        signals={name: split(values) for name, values in signals.items()} or None,
        state_names=state_names,
        action_names=action_names,
        notes=notes,
    )
    rows = np.arange(len(states)) if table.lines is None else table.lines
    data.source_lines, data.source_noun = split(rows.astype(np.uint32)), "row" if table.lines is None else "line"
    return data


def place_of(data: Trajectories, session: int, step: int) -> str | None:
    """Where a step stands in the table that it was read from: a line of text, or a row from 0; None: from no table.

    >>> import pandas as pd
    >>> place_of(from_frame(pd.DataFrame({"t": [2, 1, 0], "state": [0, 1, 2]})), 0, 1)
    'row 1'
    """
    return None if data.source_lines is None else f"{data.source_noun} {data.source_lines[session][step]}"


def _meant_as_counted(data: Trajectories, env: MDP) -> tuple[str, ...]:
    """Needless notes on labels that count from 1: of an environment whose 0 is meant, as the moves say.

    All moves are ways of the environment as they are, and would not be, were the labels lower by one.
    """
    found = []
    for noun, names in (("state", env.state_names), ("action", env.action_names)):
        notes = [note for note in data.notes if note.endswith(AS_NAMED.format(noun=noun))]
        if names is not None or not notes or not _goes(data, env):
            continue
        lower = copy.copy(data)
        if noun == "state":
            lower.states = [states - 1 for states in data.states]
        else:
            lower.actions = [np.where(actions == MISSING, MISSING, actions - 1) for actions in data.actions]
        found += [] if _goes(lower, env) else notes
    return tuple(found)


def _goes(data: Trajectories, env: MDP) -> bool:
    """Whether all moves are possible in the environment."""
    try:
        env.check(data)
    except ValueError:
        return False
    return True


def _hint_at_sessions(
    table: Table,
    found: dict[str, str],
    session: np.ndarray,
    sessions: list[Any],
    before: int,
    mixed: tuple[int, int, bool] | None,
) -> set[str]:
    """Say in place of the faults after the first so many, or beside none, that a session may be several.

    `mixed`: a session in whose rows recordings stand by turns, as its times say, how many, and whether the clock may be
    too coarse instead. Returns the columns that are told of.
    """
    column, more = unnamed_subject(table, found, session, sessions), unnamed_session(table, found, session, sessions)
    loud = True
    if column is not None:
        told = f"{column} changes within a session: if sessions are numbered anew for each {column}, say so: "
        if "session" not in found:
            told = f"all rows are one session, but {column} changes within it: if each {column} has its own, say so: "
        told += key_advice(found, column, None if more is None else more[0])
    elif more is not None:
        column, changing = more
        told = f"all rows are one session, but {column} changes within it"
        if "session" in found:
            told = f"{column} changes within session {changing}"
        told += f": if each {column} is a session of its own, say so: {session_advice(found, column)}"
        loud = plain(column) not in PARTS  # a session may well have trials
    elif mixed is not None:
        within, n_recordings, coarse = mixed
        told = "" if sessions[within] is None else f" within session {sessions[within]}"
        goes = f"goes like {n_recordings} clocks by turns{told}: "
        if coarse:
            goes = f"is the same in {n_recordings} rows each time{told}: where the clock is too coarse, leave the "
            goes += "times away (rows are then taken in their order); "
        told = (
            f"{found['time']} {goes}if rows of {n_recordings} recordings alternate, add a column that says which "
            f"recording each row is of, and name it: {session_advice(found, 'recording')}"
        )
    else:
        return set()
    if after := table.faults.messages[before:]:
        more_of_them = f"; and {counted(len(after) - 1, 'more fault')} like it" if len(after) > 1 else ""
        table.faults.messages[before:] = [f"{told} (else, {after[0]}{more_of_them})"]
    else:
        table.notes.append(f"BEWARE: {told}" if loud else told)
    return {name for name in (column, None if more is None else more[0]) if name is not None}


def _hint_at_groups(table: Table, found: dict[str, str], session: np.ndarray, sessions: list[Any]) -> set[str]:
    """Note which of the columns left out may be the group, and return them."""
    groups = dict(list(unnamed_groups(table, found, session, sessions).items())[:3])
    for column, values in groups.items():
        table.notes.append(
            f"left out {column} ({some(sorted(map(str, values)), 6)}), which has one value for each session, as a "
            f"group has; to use it as the group: group={column!r} ({as_typed({'group': column})})"
        )
    return set(groups)


def _hint_at_outcomes(table: Table, left: Sequence[str], sessions: Identities) -> set[str]:
    """Warn of the columns left out that are one of two or three words from row to row, as outcomes are; return them."""
    from pandas.api.types import infer_dtype

    found = set()
    for column in (name for name in left if name in table.columns):
        if infer_dtype(table.columns[column]) not in ("string", "categorical", "boolean"):
            continue
        codes, values = read_identities(table, column)
        words = sorted(map(str, values))
        least, most = least_and_most(sessions, (codes, values))
        often = np.bincount(codes[codes >= 0], minlength=1).min() >= REPEATED
        if 1 < len(words) <= OUTCOMES and often and (least < most).any():
            found.add(column)
            table.notes.append(
                f"BEWARE: left out {column}, which is {' or '.join(map(repr, words))} from row to row: no model knows "
                "of it. If it is the outcome of a step, write 1 and 0 in the table to keep it as a signal; for the "
                f"model to know it, make it part of the state (as in 'left {words[0]}', 'left {words[-1]}')."
            )
    return found


def _constant(
    table: Table,
    found: dict[str, str],
    role: str,
    identities: Identities | None,
    session: np.ndarray,
    sessions: list[Any],
) -> list[Any] | None:
    """Return the subject or group of each session, None where it is blank throughout."""
    if identities is None:
        return None
    codes, values = identities
    names = [*values, None]
    least, most = least_and_most((session, sessions), identities)
    if (least >= most).all():
        return [names[i] for i in most]
    column = " and ".join(key_columns(found, role))
    filled = np.flatnonzero((codes >= 0) & (session >= 0))
    first = np.full(len(sessions), len(filled), np.int64)
    np.minimum.at(first, session[filled], np.arange(len(filled)))
    of_session = np.append(codes[filled], MISSING)[first]
    differs = filled[codes[filled] != of_session[session[filled]]]
    for i in np.unique(session[differs])[:5].tolist():
        rows = differs[session[differs] == i]
        table.faults.add(
            f"{column} is {values[codes[rows[0]]]!r} in {table.where(rows)}{_of(sessions[i])} but "
            f"{values[of_session[i]]!r} before: a session has one {role}; correct it, or give each its own session"
            f"{_told_by(table, found, role, session, sessions)}"
        )
    return [names[i] for i in of_session]


def _told_by(table: Table, found: dict[str, str], role: str, session: np.ndarray, sessions: list[Any]) -> str:
    """What to type so that each animal has its own sessions; nothing where that would not help."""
    if role != "subject":
        return ""
    columns = [*key_columns(found, "subject"), *key_columns(found, "session")]
    if (more := unnamed_session(table, found, session, sessions)) is not None:
        columns.append(more[0])
    return f" ({as_typed({'session': list(dict.fromkeys(columns))})})"


def _taken(values: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    """Rows in order; without a copy where they stand so already, as in most large files."""
    return values if order is None else values[order]


def _order(
    table: Table,
    session: np.ndarray,
    sessions: list[Any],
    times: Any,
    column: str,
    empty: np.ndarray,
    states: np.ndarray,
) -> tuple[np.ndarray | None, tuple[int, int, bool] | None]:
    """Rows session after session, each in order of time (None where they stand so already), and what is mixed.

    That is the first session in whose rows several recordings stand by turns, how many, and whether their times never
    go back; None where none is.
    """
    order = np.flatnonzero(~empty) if empty.any() else None
    rows = _taken(session, order)
    if times is None:
        _check_together(table, rows, sessions, order)
    if (np.diff(rows) < 0).any():
        grouped = np.argsort(rows, kind="stable")
        order, rows = grouped if order is None else order[grouped], rows[grouped]
    if times is None:
        return order, None
    within, t = np.diff(rows) == 0, _taken(times, order)
    back = within & (t[1:] < t[:-1])
    mixed = None
    if len(doubtful := np.unique(rows[1:][within & (t[1:] <= t[:-1])])):
        states = _taken(states, order)
    for i in doubtful[:LOOKED_INTO].tolist():
        own = slice(*np.searchsorted(rows, [i, i + 1]))
        if (n_recordings := recordings_by_turns(t[own], states[own])) > 1:
            mixed = i, n_recordings, not back[own.start : own.stop - 1].any()
            break
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
            "its own; remove the repeated row, or correct the session (where the clock is too coarse, leave the times "
            "away: rows are then taken in their order)"
        )
    if len(twice) > 3:
        table.faults.add(f"{column} repeats {len(twice) - 3:,} more times in this way")
    return order, mixed


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
