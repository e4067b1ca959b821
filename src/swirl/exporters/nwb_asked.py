"""What is to be written as NWB, checked and completed before anything is."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swirl.exporters.bouts import step_ends
from swirl.faults import Faults, checked_names, counted, some
from swirl.reading import float_array, mode_paths, per_session
from swirl.trajectories import Trajectories

UNKNOWN_START = datetime(1970, 1, 1, tzinfo=UTC)
"""When a session is said to have started where that is not known: NWB does not let it be left out."""

_CANNOT = "The modes cannot be written as NWB"


class Modes(NamedTuple):
    """Modes of all sessions, checked, and what is said of them."""

    paths: list[np.ndarray]
    ends: list[np.ndarray]
    """When each step ends."""
    probabilities: list[np.ndarray] | None
    names: tuple[str, ...]
    definitions: list[str]
    parameters: str | None


def chosen_sessions(data: Trajectories, session: str | int | None) -> list[int]:
    """Positions of the sessions to write."""
    if session is None:
        return list(range(len(data)))
    if isinstance(session, str) and data.names.count(session) == 1:
        return [data.names.index(session)]
    if not isinstance(session, str) and 0 <= session < len(data):
        return [int(session)]
    raise ValueError(f"session={session!r}: give one of the names {some(data.names, 20)}, or 0 to {len(data) - 1}")


def checked(
    data: Trajectories,
    modes: Any,
    mode_names: Any,
    probabilities: Any,
    definitions: Any,
    parameters: Mapping[str, Any] | None,
    chosen: list[int],
) -> Modes:
    """Check what is to be written, and fill in what was left out."""
    faults, lengths = Faults(), data.lengths.tolist()
    if data.times is None:
        faults.add(
            "data has no times, and NWB is about times: give Trajectories(…, times=[…]), one array of seconds per "
            "session, or a table with a column t"
        )
    paths = mode_paths(per_session("modes", modes, faults, len(data)) or [], lengths, faults)
    given = None if probabilities is None else per_session("probabilities", probabilities, faults, len(data), 3)
    rows = [float_array(f"probabilities[{i}]", x, lengths[i], faults, (2,)) for i, x in enumerate(given or [])]
    names = checked_names("mode_names", mode_names, faults)
    n_seen = max((int(path.max(initial=-1)) for path in paths), default=-1) + 1
    widths = {x.shape[1] for x in rows if x.ndim == 2}
    n_modes = len(names) if names is not None else max([1, n_seen, *widths])
    if n_seen > n_modes:
        faults.add(f"modes hold {n_seen - 1}, but mode_names has {counted(n_modes, 'name')}: give one name per mode")
    if widths - {n_modes}:
        faults.add(
            f"probabilities have {some(sorted(widths))} columns, but there are {n_modes} modes: give one for each"
        )
    if not len(faults) and (blank := [i for i in chosen if not (paths[i] >= 0).any()]):
        faults.add(f"modes are −1 at every step of {some([data.names[i] for i in blank])}: leave these sessions out")
    names = names or tuple(f"mode {k}" for k in range(n_modes))
    if isinstance(definitions, Mapping):
        if unknown := [name for name in definitions if name not in names]:
            faults.add(f"definitions has {some(unknown)}: expected names of modes, {some(names, 20)}")
        definitions = [str(definitions.get(name, "")) for name in names]
    texts = None if definitions is None else [str(text) for text in definitions]
    if texts is not None and len(texts) != n_modes:
        faults.add(f"definitions has {counted(len(texts), 'text')}: give one for each of {n_modes} modes")
    texts = [text or f"Hidden mode {k} of behaviour, found by swirl" for k, text in enumerate(texts or [""] * n_modes)]
    encoded = None
    try:
        encoded = None if parameters is None else json.dumps(parameters, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        faults.add(f"parameters cannot be written as JSON: {error}")
    faults.raise_if_any(_CANNOT)
    ends = step_ends(data.times or [], data.gaps)
    return Modes(paths, ends, None if given is None else rows, names, texts, encoded)


def _plain(value: Any) -> Any:
    """Turn what JSON does not know into what it does."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else str(value)


def session_starts(value: Any, n: int, append_to: Any) -> list[datetime]:
    """When each session started."""
    if value is not None and append_to is not None:
        raise ValueError("session_start is that of the file in append_to: leave it out")
    given = [value] * n if value is None or isinstance(value, str | datetime) else list(value)
    faults, starts = Faults(), []
    if len(given) != n:
        faults.add(f"session_start has {counted(len(given), 'time')}: give one, or one for each of {n} sessions")
    for i, start in enumerate(given):
        try:
            start = UNKNOWN_START if start is None else datetime.fromisoformat(str(start))
        except ValueError:
            faults.add(f"session_start of session {i} is {start!r}: give a datetime, or text as in '2026-03-01T14:30'")
            continue
        start = start if start.tzinfo else start.astimezone()
        if start > datetime.now(UTC):
            faults.add(f"session_start of session {i} is {start}, which is still to come: correct it")
        starts.append(start)
    faults.raise_if_any(_CANNOT)
    return starts


def source_file(append_to: Any, chosen: list[int]) -> Path:
    """Check the file to add to."""
    import h5py

    source = Path(append_to)
    if len(chosen) != 1:
        raise ValueError(f"append_to is a file of one session, but there are {len(chosen)}: choose one with session=")
    if not source.is_file() or not h5py.is_hdf5(source):
        got = "is not an HDF5 file" if source.is_file() else "does not exist"
        raise ValueError(f"append_to={str(source)!r} {got}: give the NWB file of this session")
    return source
