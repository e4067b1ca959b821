"""Parquet tables that are too large to be held, read some whole sessions at a time."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from swirl.data.trajectories import Trajectories
from swirl.errors import Faults, needing
from swirl.io.columns import as_columns, find_columns, key_columns
from swirl.io.session_keys import joined_name
from swirl.io.session_table import from_frame, read_parquet


def parquet_parts(paths: Sequence[Path], columns: Any, *, names: dict[str, Any], rows: int) -> Iterator[Trajectories]:
    """Read one file after the other, about so many `rows` at a time; the rows of a session stand together.

    Parameters
    ----------
    columns
        As of `session_table.from_frame`.
    names
        state_names and action_names, for all parts: `label_names` finds them.
    """
    with needing("reading Parquet needs pyarrow", "parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    for path in paths:
        with pq.ParquetFile(path) as file:
            found = _found(columns, file.schema_arrow.names)
            if "session" not in found:  # the file is one session
                yield read_parquet(path, columns, signals=(), **names)
                continue
            session, done, first = key_columns(found, "session"), set(), 0
            waiting: list[Any] = []
            for batch in file.iter_batches(batch_size=rows, columns=list(dict.fromkeys(found.values()))):
                held = pa.Table.from_batches([*waiting, batch]).unify_dictionaries()
                n_whole = _before_last(_labels(held, session, path))
                if n_whole:
                    yield _part(held.slice(0, n_whole), columns, names, path, session, done, first)
                    first += n_whole
                waiting = held.slice(n_whole).combine_chunks().to_batches()
            if waiting:
                yield _part(pa.Table.from_batches(waiting), columns, names, path, session, done, first)


def label_names(paths: Sequence[Path], columns: Any, rows: int) -> dict[str, tuple[str, ...] | None]:
    """Names of states and actions in all files, in sorted order; None where labels are whole numbers."""
    with needing("reading Parquet needs pyarrow", "parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    seen: dict[str, set[str]] = {"state": set(), "action": set()}
    for path in paths:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            found = _found(columns, schema.names)
            for role in seen:
                if role not in found:
                    continue
                kind = schema.field(found[role]).type
                kind = kind.value_type if pa.types.is_dictionary(kind) else kind
                if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
                    continue
                for batch in file.iter_batches(batch_size=rows, columns=[found[role]]):
                    values = batch.column(0).cast(kind).unique()
                    seen[role] |= {value for value in values.to_pylist() if value is not None and value.strip()}
    return {f"{role}_names": tuple(sorted(each)) or None for role, each in seen.items()}


def _found(columns: Any, there: list[str]) -> dict[str, str]:
    faults = Faults()
    found = find_columns(as_columns(columns), there, faults)
    faults.raise_if_any("The Parquet file cannot be read")
    return found


def _labels(held: Any, session: list[str], path: Path) -> Any:
    """The session of each row, in plain values; told by several columns, its name."""
    import pyarrow as pa

    parts = []
    for column in session:
        labels = held.column(column)
        if labels.null_count:
            raise ValueError(f"{path}: {labels.null_count:,} rows have no {column}: say of which session they are")
        parts.append(labels.cast(labels.type.value_type) if pa.types.is_dictionary(labels.type) else labels)
    if len(parts) == 1:
        return parts[0]
    keys = zip(*(part.to_pylist() for part in parts), strict=True)
    return pa.chunked_array([pa.array([joined_name(key) for key in keys])])


def _before_last(labels: Any) -> int:
    """Number of rows before those of the last session, which may go on in the next batch."""
    codes = labels.combine_chunks().dictionary_encode().indices.to_numpy()
    others = np.flatnonzero(codes != codes[-1])
    return int(others[-1]) + 1 if len(others) else 0


def _part(
    held: Any, columns: Any, names: dict[str, Any], path: Path, session: list[str], done: set[Any], first: int
) -> Trajectories:
    """Some whole sessions, from row `first` of the file on; none of them may have been `done` before."""
    here = set(_labels(held, session, path).unique().to_pylist())
    if again := done & here:
        raise ValueError(
            f"{path}: the rows of session {sorted(map(str, again))[0]!r} are not next to each other, and the file is "
            "read a part at a time; sort it by session and time, or read it at once with Trajectories.from_parquet. "
            "If each mouse has a session of that name, say so: columns={'session': ('mouse', 'session')}"
        )
    done |= here
    source = f"{path}, from row {first:,} on,"
    return from_frame(held.to_pandas(ignore_metadata=True), columns, signals=(), source=source, **names)
