"""Sessions and their modes as tables: one row per step, or one per bout; as pandas frames, CSV or Parquet files."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from swirl.data.segments import ends_of_steps, find_segments
from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import MISSING
from swirl.errors import Faults, checked_names, needing
from swirl.io.atomic_write import whole_file
from swirl.text import counted, some

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".parquet")
OURS = ("session", "subject", "group", "step", "t", "state", "action", "gap", "mode")


def to_frame(data: Trajectories, *, modes: Any = None, probabilities: Any = None, mode_names: Any = None) -> Any:
    """Tabulate sessions, one row per step, as a pandas DataFrame that `session_table.from_frame` reads back.

    Columns: session, subject and group (where known), step, t (where there are times), state, action (where any is
    known), gap (whether a new segment starts), one per channel of each signal (x, or x_0, x_1, …), and with `modes` or
    `probabilities` mode and p_0, p_1, … (p_ and the name).

    Parameters
    ----------
    data
        The sessions. Where labels have names the columns hold them, as categoricals in the order of the labels.
    modes
        Per session, the mode of each step (−1: none), as `predict` gives.
    probabilities
        Per session, [step, mode], as `predict_proba` gives.
    mode_names
        One name per mode.

    Notes
    -----
    Sessions of the same name are told apart: "a", "a (2)", ….  A signal of one channel comes back as one of none.

    Examples
    --------
    >>> data = Trajectories([[0, 1], [1]], [[1], [-1]], subjects=["m1", "m2"], state_names=["home", "water"])
    >>> to_frame(data, modes=[[0, 0], [1]])
      session subject  step  state  action    gap  mode
    0       0      m1     0   home       1  False     0
    1       0      m1     1  water    <NA>  False     0
    2       1      m2     0  water    <NA>  False     1
    """
    import pandas as pd

    faults = Faults()
    names = checked_names("mode_names", mode_names, faults)
    paths = _mode_paths(data, modes, names, faults)
    shares = _probabilities(data, probabilities, names, faults)
    signals = _signal_columns(data, faults)
    faults.raise_if_any("The table cannot be made")

    flat = data.flat()
    columns = _session_columns(data, flat.sessions)
    columns["step"] = flat.steps
    if data.times is not None:
        columns["t"] = np.concatenate(data.times)
    columns["state"] = _labelled(flat.states, data.state_names)
    if data.action_names is not None or (flat.actions != MISSING).any():
        columns["action"] = _labelled(flat.actions, data.action_names)
    columns["gap"] = flat.starts & (flat.steps > 0)
    columns |= signals
    if paths is not None:
        columns["mode"] = _labelled(np.concatenate(paths), names)
    if shares is not None:
        columns |= {f"p_{names[i] if names else i}": share for i, share in enumerate(shares.T)}
    return pd.DataFrame(columns, copy=False)


def segments_frame(data: Trajectories, modes: Any, mode_names: Any = None) -> Any:
    """Tabulate the bouts of each mode, one row each, as a pandas DataFrame.

    Columns: session, subject and group (where known), start_step, stop_step (the step after the last), start_time and
    stop_time (where there are times), mode, n_steps, cut_start and cut_end: whether it may have begun earlier or ended
    later, as at the ends of a session, a gap and a step without a mode (−1). A bout stops when the step after it
    starts; before a gap and at the end of a session when its last step ends: as a signal "dwell" or "duration" says,
    else it is taken to last as long as the median step, as in NWB files.

    Examples
    --------
    >>> data = Trajectories([[0, 1, 1, 0]], times=[[0.0, 0.5, 1.0, 9.0]], gaps=[[3]], names=["day 1"])
    >>> segments_frame(data, [[0, 1, 1, 1]], mode_names=["rest", "run"]).drop(columns=["session", "start_time"])
       start_step  stop_step  stop_time  mode  n_steps  cut_start  cut_end
    0           0          1        0.5  rest        1       True    False
    1           1          3        1.5   run        2      False     True
    2           3          4        9.5   run        1       True     True
    """
    import pandas as pd

    faults = Faults()
    names = checked_names("mode_names", mode_names, faults)
    paths = _mode_paths(data, modes, names, faults)
    if modes is None:
        faults.add("modes is None: give the mode of each step, as model.predict(data) does")
    faults.raise_if_any("The table cannot be made")

    found = find_segments(paths or [], data.gaps)
    columns = _session_columns(data, found.session)
    columns |= {"start_step": found.start, "stop_step": found.stop}
    if data.times is not None:
        times, ends = np.concatenate(data.times), np.concatenate(ends_of_steps(data))
        first = (np.cumsum(data.lengths) - data.lengths)[found.session]
        columns["start_time"] = times[first + found.start]
        # In the precision of the times: a stop and the start that follows are written alike.
        columns["stop_time"] = ends[first + found.stop - 1].astype(times.dtype)
    columns |= {"mode": _labelled(found.mode, names), "n_steps": found.length}
    return pd.DataFrame({**columns, "cut_start": found.cut_start, "cut_end": found.cut_end})


def write_table(frame: Any, path: Any, *, overwrite: bool = False) -> Path:
    """Write a frame as .csv, .csv.gz, .tsv or .parquet, whole or not at all, and return the path.

    Text is UTF-8, blank where a value is missing. An existing file is left alone unless `overwrite`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = write_table(to_frame(Trajectories([[0, 2]])), f"{folder.name}/steps.csv")
    >>> path.read_text().split()
    ['session,step,state,gap', '0,0,0,False', '0,1,2,False']
    >>> folder.cleanup()
    """
    path = Path(path)
    name = path.name.lower()
    if not name.endswith(SUFFIXES):
        raise ValueError(f"path={str(path)!r}: the name must end in one of {', '.join(SUFFIXES)}")
    with whole_file(path, overwrite=overwrite) as temporary:
        if name.endswith(".parquet"):
            _write_parquet(frame, temporary)
        elif name.endswith(".gz"):
            # No time and no name within: equal tables give equal files.
            with temporary.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                frame.to_csv(packed, index=False, lineterminator="\n")
        else:
            frame.to_csv(temporary, sep="\t" if name.endswith(".tsv") else ",", index=False, lineterminator="\n")
    return path


def _write_parquet(frame: Any, path: Path) -> None:
    import pandas as pd

    with needing("writing Parquet needs pyarrow", "parquet"):
        import pyarrow as pa
    frame = frame.copy(deep=False)
    for name in frame.columns:
        kind = frame[name].dtype
        if isinstance(kind, pd.CategoricalDtype) and kind.categories.dtype == object:
            # Parquet knows no column of numbers and text, as subjects may be called.
            frame[name] = frame[name].cat.rename_categories([str(value) for value in kind.categories])
    try:
        frame.to_parquet(path, engine="pyarrow", index=False)
    except (pa.ArrowException, TypeError) as error:
        told = str(error).splitlines()
        raise ValueError(f"the table cannot be stored as Parquet ({told[0] if told else error}): write CSV") from None


def different_names(names: Sequence[str]) -> list[str]:
    """Sessions' names, numbered where they repeat: in a table the name is all that tells sessions apart.

    >>> different_names(["a", "b", "a", "a"])
    ['a', 'b', 'a (2)', 'a (3)']
    """
    taken, different = set(names), []
    seen: set[str] = set()
    for name in names:
        unique, i = name, 2
        while unique in seen or (unique != name and unique in taken):
            unique, i = f"{name} ({i})", i + 1
        seen.add(unique)
        different.append(unique)
    return different


def _session_columns(data: Trajectories, sessions: np.ndarray) -> dict[str, Any]:
    """Name, subject and group of the session of each row; stored once each, as there are far more rows."""
    import pandas as pd

    columns = {}
    told = {"session": different_names(data.names), "subject": data.subjects, "group": data.groups}
    for column, values in told.items():
        known = list(dict.fromkeys(value for value in values if value is not None))
        number = {value: i for i, value in enumerate(known)}
        codes = np.array([MISSING if value is None else number[value] for value in values])
        if all(isinstance(value, str) for value in known):
            categories = pd.Index(known)
        else:
            categories = pd.Index(pd.Series(known, dtype=object), tupleize_cols=False).infer_objects()
        if known:
            columns[column] = pd.Categorical.from_codes(codes[sessions], categories=categories)
    return columns


def _labelled(labels: np.ndarray, names: Sequence[str] | None) -> Any:
    """Labels by name or number, blank where missing."""
    import pandas as pd

    if names is not None:
        return pd.Categorical.from_codes(labels, categories=list(names))
    missing = labels == MISSING
    return pd.arrays.IntegerArray(labels.copy(), missing) if missing.any() else labels


def _mode_paths(
    data: Trajectories, modes: Any, names: tuple[str, ...] | None, faults: Faults
) -> list[np.ndarray] | None:
    """Modes of each session as whole numbers, of the sessions' lengths."""
    if modes is None:
        return None
    paths = [np.asarray(path) for path in modes]
    if _alike("modes", paths, (1,), data, faults):
        for i, path in enumerate(paths):
            lowest, highest = path.min(initial=0), path.max(initial=-1)
            if path.dtype.kind not in "iu" or lowest < MISSING:
                faults.add(f"modes[{i}] holds {path.dtype} ({lowest} at least): modes are 0, 1, …, or −1 for none")
            elif names is not None and highest >= len(names):
                faults.add(f"modes[{i}] holds mode {highest}, but mode_names has {counted(len(names), 'name')}")
    return [path.astype(np.int64) for path in paths] if not len(faults) else None


def _probabilities(data: Trajectories, given: Any, names: tuple[str, ...] | None, faults: Faults) -> np.ndarray | None:
    """Probabilities of all steps, [step, mode]."""
    if given is None:
        return None
    parts = [np.asarray(part) for part in given]
    if not _alike("probabilities", parts, (2,), data, faults):
        return None
    widths = sorted({part.shape[1] for part in parts})
    if len(widths) > 1 or (names is not None and widths != [len(names)]):
        expected = "the same number everywhere" if names is None else f"{len(names)}, as in mode_names"
        faults.add(f"probabilities are of {some(widths)} modes: expected {expected}")
        return None
    return np.concatenate(parts)


def _alike(argument: str, parts: list[np.ndarray], dimensions: tuple[int], data: Trajectories, faults: Faults) -> bool:
    """Whether there is one array per session, as long as the session."""
    if len(parts) != len(data):
        faults.add(f"{argument} has {len(parts)} entries, but there are {counted(len(data), 'session')}: one for each")
        return False
    wrong = [i for i, n in enumerate(data.lengths) if parts[i].ndim not in dimensions or len(parts[i]) != n]
    for i in wrong:
        n = data.lengths[i]
        expected = f"({n},)" if dimensions == (1,) else f"({n}, modes)"
        faults.add(f"{argument}[{i}] has shape {parts[i].shape}: expected {expected}, one for each step of session {i}")
    return not wrong


def _signal_columns(data: Trajectories, faults: Faults) -> dict[str, np.ndarray]:
    """One column per channel."""
    columns: dict[str, np.ndarray] = {}
    for name, parts in (data.signals or {}).items():
        values = np.concatenate(parts)
        wide = values.ndim == 2 and values.shape[1] > 1
        channels = {f"{name}_{i}": values[:, i] for i in range(values.shape[1])} if wide else {name: values.ravel()}
        for column, channel in channels.items():
            if column.strip().casefold() in OURS or column in columns:
                faults.add(f"signals: a column is called {column!r} already; give the signal {name!r} another name")
            columns[column] = channel
    return columns
