"""The long table, one row per step: a pandas frame, a CSV or a Parquet file, read as `Sessions`.

The columns are session, subject, group, t, state, action, gap and any further numbers (signals); only state must be
there.  Everything is done on whole columns: ten million rows are read in seconds.
"""

from pathlib import Path
from typing import Any

from swirl import sizes
from swirl.faults import Faults
from swirl.importers.sessions import Sessions
from swirl.importers.table_chunks import read_columns
from swirl.importers.table_columns import TWO_ROWS, Table
from swirl.importers.table_lines import line_of_events, records, separator_of
from swirl.importers.table_roles import (
    USUAL,
    Columns,
    are_numeric,
    as_columns,
    bout_marks,
    choose_signals,
    distinct_names,
    find_columns,
    note_hints,
    plain,
)
from swirl.importers.table_sessions import assemble
from swirl.importers.table_text import check_there, refuse, utf8_text

__all__ = ["USUAL", "Columns", "from_frame", "read_csv", "read_parquet"]

LARGEST_TEXT = 2**33  # bytes, where there is memory for so much
KINDS = {"session": "identifiers", "subject": "identifiers", "group": "identifiers", "time": "measured"}
KINDS |= {"state": "labels", "action": "labels", "gap": "labels"}


def from_frame(
    frame: Any,
    columns: Any = USUAL,
    *,
    signals: Any = None,
    state_names: Any = None,
    action_names: Any = None,
    source: str = "the table",
) -> Sessions:
    """Read a long table, one row per step.

    Parameters
    ----------
    frame
        A pandas DataFrame, or anything with `.to_pandas()` (Polars, Arrow).
    columns
        What its columns are called, where that is not usual: a dict such as {"state": "arm"}, or `Columns`.
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
    wanted = {plain(name) for name in vars(columns).values() if name is not None}
    for level, name in enumerate(frame.index.names):
        if name is not None and plain(str(name)) in wanted and str(name) not in table.columns:
            table.columns[str(name)] = pd.Series(frame.index.get_level_values(level))
    found = find_columns(columns, list(table.columns), faults)
    if not faults and len(frame) == 0:
        faults.add("it has columns but no rows: there are no data")
    heading = f"{source} cannot be read (rows are counted from 0)"
    faults.raise_if_any(heading)
    note_hints(columns, found, list(table.columns), table.notes)
    chosen = choose_signals(are_numeric(table.columns), found, signals, faults, table.notes)
    return assemble(table, found, chosen, state_names, action_names, heading)


def read_csv(
    path: Any, columns: Any = USUAL, *, signals: Any = None, state_names: Any = None, action_names: Any = None
) -> Sessions:
    """Read a long table from a text file: CSV or TSV, also with semicolons and decimal commas, also gzipped.

    The file is UTF-8 (or UTF-16 with its mark), its first line holds the names of the columns. A file without a
    session column is one session, named after the file. For the other arguments see `from_frame`.

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
    data = utf8_text(path, LARGEST_TEXT)
    if (line := line_of_events(data)) is not None:
        refuse(
            path,
            f"its table begins in line {line}, after lines about the observation, and in it {TWO_ROWS}delete the lines "
            f"before {line} and the rows whose Status is STOP, and read the rest",
        )
    separator = separator_of(data)
    lines, header, end_of_header = records(path, data, separator)
    names = distinct_names([name.strip() for name in header], faults)
    found = find_columns(columns, list(names.values()), faults)
    faults.raise_if_any(f"{path} cannot be read")
    if len(lines) == 0:
        refuse(path, "it holds a line of column names and nothing else: there are no data")

    roles = {name: role for role, name in found.items()}
    asked = {plain(str(name)) for name in signals} if isinstance(signals, list | tuple) else set()
    marks = bout_marks(list(names.values()), found)
    roles |= {} if marks is None else {marks: "state"}  # text, like a state
    kinds: dict[str, list[int]] = {"identifiers": [], "labels": [], "measured": [], "others": []}
    for i, name in names.items():
        is_asked = plain(name) in asked or plain(name.rpartition("_")[0]) in asked
        kinds[KINDS.get(roles.get(name, ""), "measured" if is_asked else "others")].append(i)
    try:
        read = read_columns(data, separator, len(header), end_of_header, **kinds)
    except (ValueError, OverflowError) as error:
        refuse(path, f"its lines cannot be taken apart ({error}): save it again as plain CSV")
    del data
    n_rows = len(read[next(i for i, name in names.items() if name == found["state"])])
    if n_rows != len(lines):
        refuse(path, f"it has {len(lines)} lines of data but {n_rows} rows: check its quotation marks")
    coded = frozenset(names[i] for i in kinds["labels"])
    table = Table({name: read[i] for i, name in names.items()}, lines, faults, [], unordered=coded, written=True)
    note_hints(columns, found, list(table.columns), table.notes)
    chosen = choose_signals(are_numeric(table.columns), found, signals, faults, table.notes)
    only = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    return assemble(table, found, chosen, state_names, action_names, f"{path} cannot be read", only)


def read_parquet(
    path: Any, columns: Any = USUAL, *, signals: Any = None, state_names: Any = None, action_names: Any = None
) -> Sessions:
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
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ValueError("reading Parquet needs pyarrow: pip install 'swirl-irl[parquet]'") from None
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
    note_hints(columns, found, list(types), notes)
    chosen = choose_signals(numeric, found, signals, faults, notes)
    needed = {*found.values(), *(column for channels in chosen.values() for column in channels)}
    marks = bout_marks(list(types), found)
    needed |= {marks} if marks is not None and not numeric[marks] and not _is_compound(types[marks]) else set()
    for name in [name for name in types if name in needed and _is_compound(types[name])]:
        faults.add(f"{name} holds {types[name]}: expected one number or text in each row")
    faults.raise_if_any(heading)
    stored = {name: schema.names[i] for i, name in names.items() if name in needed}
    # A few bytes may stand for any number of equal values.
    if (told := sizes.too_large(16 * len(stored) * n_rows)) is not None:
        refuse(path, f"it claims {n_rows:,} rows, which {told}: the file is damaged, or must be read in parts")
    repeated = {name for role, name in found.items() if role != "time"}
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
    return assemble(table, found, chosen, state_names, action_names, heading, path.stem)


def _is_compound(kind: Any) -> bool:
    """Whether each value of an Arrow type is itself a list or a record, or bytes."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
