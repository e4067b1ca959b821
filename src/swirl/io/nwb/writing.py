"""Modes as NWB: each session a file with an Ethogram and EthogramBouts (ndx-ethogram) that other tools can read.

What is to be written is checked and completed first, and then all files are written or none.  What is not known is
said to be not known: the animal's sex is "U" and its age "P0D/" (zero days or more).  A file of the user's is never
changed: it is copied, and the copy is added to.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from swirl._version import __version__
from swirl.data.segments import ends_of_steps, find_segments
from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import float_array, mode_paths, per_session
from swirl.errors import Faults, checked_names, needing
from swirl.io.atomic_write import whole_files
from swirl.io.nwb.file import opened, session_and_subject, text_of
from swirl.text import counted, plain, some

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


def chosen_sessions(data: Trajectories, session: str | int | None, append_to: Any = None) -> list[int]:
    """Positions of the sessions to write: all, the one that is named, or the one whose file is to be added to."""
    if session is None:
        return list(range(len(data))) if append_to is None else [session_of(source_file(append_to), data)]
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
    cannot: str = _CANNOT,
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
        encoded = None if parameters is None else json.dumps(plain(parameters, other=str), allow_nan=False)
    except (TypeError, ValueError) as error:
        faults.add(f"parameters cannot be written as JSON: {error}")
    faults.raise_if_any(cannot)
    ends = ends_of_steps(data)
    return Modes(paths, ends, None if given is None else rows, names, texts, encoded)


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


def check_species(species: str, append_to: Any) -> None:
    """Raise where a species is not as NWB and DANDI want it."""
    if append_to is not None:
        raise ValueError("species is that of the file in append_to: leave it out")
    if not re.fullmatch(r"[A-Z][a-z]+ [a-z]+( [a-z]+)?", species) and "://" not in species:
        raise ValueError(
            f"species={species!r}: give the Latin name in full, as in 'Mus musculus' or 'Rattus norvegicus'"
        )


def source_file(append_to: Any) -> Path:
    """Check the file to add to."""
    import h5py

    source = Path(append_to)
    if not source.is_file() or not h5py.is_hdf5(source):
        got = "is not an HDF5 file" if source.is_file() else "does not exist"
        raise ValueError(f"append_to={str(source)!r} {got}: give the NWB file of this session")
    return source


def _whose(source: Path) -> tuple[list[str], str | None]:
    """What the session of a file may be called, and its subject."""
    try:
        with opened(source) as file:
            name, subject = session_and_subject(file)
            return list(filter(None, [name, text_of(file.get("identifier")), source.stem])), subject
    except ValueError as error:
        raise ValueError(f"append_to={str(source)!r} cannot be added to: {error}") from error


def session_of(source: Path, data: Trajectories) -> int:
    """The session that a file is of: the one with the name of the file's session.

    Raises where none or several have it: modes in the file of another session would be a quiet disaster.
    """
    names, _ = _whose(source)
    found = [i for i, name in enumerate(data.names) if name in names]
    if len(found) == 1:
        return found[0]
    raise ValueError(
        f"append_to={str(source)!r} is the file of session {names[0]!r}, and "
        f"{'several sessions are' if found else 'no session is'} called so: there {'is' if len(data) == 1 else 'are'} "
        f"{some([repr(name) for name in data.names], 20)}; say which it is, as in session={data.names[0]!r} (--session)"
    )


def check_subject(source: Path, data: Trajectories, i: int) -> None:
    """Raise where a session and the file to add to are of two animals."""
    subject, own = data.subjects[i], _whose(source)[1]
    if subject is not None and own is not None and str(subject) != own:
        raise ValueError(
            f"append_to={str(source)!r} is of subject {own!r}, but session {data.names[i]!r} is of {str(subject)!r}: "
            "give the file of that session, or correct the subject in the one or the other"
        )


def targets(path: Path, names: list[str], source: Path | None) -> list[Path]:
    """Files to write: one, or one for each session in a folder."""
    is_file = path.suffix.lower() == ".nwb"
    if len(names) == 1 and is_file:
        files = [path]
    else:
        folder = path.with_suffix("") if is_file else path
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"path={str(folder)!r} is a file: {len(names)} sessions need a folder; give another name")
        files = [folder / f"{stem}.nwb" for stem in stems(names)]
    if source is not None and files[0].exists() and files[0].samefile(source):
        raise ValueError(f"path={str(files[0])!r} is the file in append_to, which is never changed: give another name")
    return files


def stems(names: list[str]) -> list[str]:
    """Names of files for sessions: letters, digits, dots and dashes, each different.

    >>> stems(["Day 1", "day 1", "///"])
    ['Day_1', 'day_1_2', 'session_2']
    """
    found: list[str] = []
    for i, name in enumerate(names):
        plain = re.sub(r"[^\w.-]+", "_", name).strip("._")[:80] or f"session_{i}"
        taken = {stem.lower() for stem in found}  # on many disks upper and lower case are the same name
        versions = chain([plain], (f"{plain}_{n}" for n in count(2)))
        found.append(next(version for version in versions if version.lower() not in taken))
    return found


@contextlib.contextmanager
def _folder_for(files: list[Path]) -> Iterator[None]:
    """Make the folder of files where it is not there; it goes again where none came into it."""
    folder = files[0].parent
    made = not folder.exists() and folder.parent.is_dir()
    if made:
        folder.mkdir()
    try:
        yield
    finally:
        if made:
            with contextlib.suppress(OSError):  # it holds the files, unless something failed
                folder.rmdir()


class ModeBouts(NamedTuple):
    """Bouts of one session and the spans in which modes are known, in seconds."""

    start: Float[np.ndarray, " bout"]
    stop: Float[np.ndarray, " bout"]
    mode: Int[np.ndarray, " bout"]
    observed: Float[np.ndarray, "span 2"]


def bouts_of(times: np.ndarray, ends: np.ndarray, path: np.ndarray, gaps: np.ndarray) -> ModeBouts:
    """When each bout of a session starts and stops."""
    found = find_segments([path], [gaps])
    start, stop = times[found.start].astype(float), ends[found.stop - 1]
    fresh = np.append(True, (found.start[1:] != found.stop[:-1]) | np.isin(found.start[1:], gaps))
    last = np.append(np.flatnonzero(fresh)[1:], len(fresh)) - 1
    return ModeBouts(start, stop, found.mode, np.column_stack([start[fresh], stop[last]]))


def new_file(pynwb: Any, data: Trajectories, path: np.ndarray, i: int, start: datetime, species: str | None) -> Any:
    """Make a file that holds nothing but whose session it is."""
    digest = hashlib.sha256(f"{data[i].fingerprint()} {data.names[i]} {path.tolist()}".encode()).hexdigest()
    when = " When it started was not told." if start == UNKNOWN_START else ""
    subject = data.subjects[i]
    return pynwb.NWBFile(
        session_description=f"Session {data.names[i]}: hidden modes of behaviour, found by swirl.{when}",
        identifier=f"swirl-{digest[:32]}",
        session_id=data.names[i],
        session_start_time=start,
        subject=pynwb.file.Subject(
            subject_id="unknown" if subject is None else str(subject),
            age="P0D/",
            sex="U",
            species=species,
            description="The animal of this session; its age and sex were not told.",
        ),
    )


def add_to_copy(pynwb: Any, source: Path, target: Path, data: Trajectories, modes: Modes, i: int) -> None:
    """Copy a file and add the modes to the copy."""
    shutil.copyfile(source, target)
    try:
        with pynwb.NWBHDF5IO(target, "a") as io:
            file = io.read()
            add_modes(pynwb, file, data, modes, i)
            io.write(file)
    except Exception as error:  # whatever pynwb may raise about a file that is not as it expects
        raise ValueError(
            f"append_to={str(source)!r} cannot be added to: {error}; check it with nwbinspector, or leave append_to out"
        ) from error


def add_modes(pynwb: Any, file: Any, data: Trajectories, modes: Modes, i: int) -> None:
    """Add the modes of session i to a file."""
    from hdmf.common import VectorData
    from ndx_ethogram import Ethogram, EthogramBouts

    module = file.processing.get("behavior") or file.create_processing_module(
        "behavior", "Behaviour, and what it hides"
    )

    def free(name: str) -> str:
        """A name that is not taken yet: a file may hold the modes of several models."""
        versions = chain([name], (f"{name}{n}" for n in count(2)))
        return next(version for version in versions if version not in module.data_interfaces)

    def column(name: str, description: str, values: Any) -> Any:
        return VectorData(name=name, description=description, data=values)

    times = data.times or []
    bouts = bouts_of(times[i], modes.ends[i], modes.paths[i], data.gaps[i])
    ethogram = Ethogram(
        name=free("ModeEthogram"),
        description="The modes that the animal may be in, whether they occur or not",
        exclusive=True,
        columns=[
            column("behavior", "Name of the mode", list(modes.names)),
            column("definition", "What the mode is", modes.definitions),
            column("behavior_type", "Modes last", ["state"] * len(modes.names)),
            column("native_code", "Number of the mode in the model", np.arange(len(modes.names))),
        ],
    )
    observed = pynwb.epoch.TimeIntervals(
        name=free("ModeObservationIntervals"),
        description="Spans in which the mode is known; the chain of modes starts anew in each",
        columns=[
            column("start_time", "Start of the span, in seconds", bouts.observed[:, 0]),
            column("stop_time", "End of the span, in seconds", bouts.observed[:, 1]),
        ],
    )
    table = EthogramBouts(
        name=free("ModeBouts"),
        description="Bouts of hidden modes: the most likely path of a switching model",
        labeling_method="automated",
        source_software=f"swirl {__version__}",
        ethogram=ethogram,
        observation_intervals=observed,
        columns=[
            column("start_time", "Start of the bout, in seconds", bouts.start),
            column("stop_time", "End of the bout, in seconds", bouts.stop),
            column("label", "Name of the mode", [modes.names[k] for k in bouts.mode]),
        ],
        **({} if modes.parameters is None else {"parameters": modes.parameters}),
    )
    series = []
    if modes.probabilities is not None:
        for k, name in enumerate(stems(list(modes.names))):
            series.append(
                pynwb.TimeSeries(
                    name=name,
                    description=f"Probability of {modes.names[k]!r} at each step, given the whole session",
                    data=modes.probabilities[i][:, k],
                    unit="probability",
                    timestamps=series[0] if series else times[i].astype(float),
                )
            )
    for thing in (ethogram, observed, table):
        module.add(thing)
    if series:
        module.add(pynwb.behavior.BehavioralTimeSeries(name=free("ModeProbabilities"), time_series=series))


def write_nwb(
    path: str | os.PathLike[str],
    data: Trajectories,
    modes: Sequence[Any],
    *,
    mode_names: Any = None,
    probabilities: Sequence[Any] | None = None,
    definitions: Any = None,
    parameters: Mapping[str, Any] | None = None,
    session_start: Any = None,
    species: str | None = None,
    session: str | int | None = None,
    append_to: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write the modes of sessions to NWB files, whole or not at all, and return their paths.

    In ``processing/behavior`` a file holds ModeEthogram (the modes: name, definition, number), ModeBouts (start, stop
    and label of each bout), ModeObservationIntervals (the segments; outside them nothing is known) and, with
    `probabilities`, ModeProbabilities (a TimeSeries for each mode).  A bout stops when the step after it starts;
    before a gap and at the end of a session when its last step ends, as a signal "dwell" or "duration" says; else it is
    taken to last as long as the median step.

    Parameters
    ----------
    path
        A file, "modes.nwb"; for several sessions a folder, which gets a file for each ("modes.nwb" is then "modes").
    data
        The sessions, with `times` in seconds from the start of each.
    modes
        One array per session, as `predict` gives; −1 where the mode is not known.
    mode_names, definitions
        One text per mode; `definitions` may also be a dict, name → text.
    probabilities
        One array [step, mode] per session, as `predict_proba` gives.
    parameters
        What the modes were found with; kept as JSON.
    session_start
        When each session started: a datetime, or text such as "2026-03-01T14:30", or a list of one per session. Without
        a time zone it is local time; where it is not given the file says 1970-01-01.
    species
        Latin name of the species, as in "Mus musculus", which DANDI asks for.
    session
        Name or position of the one session to write; by default all, or the one that the file in `append_to` is of.
    append_to
        An NWB file of this session: a copy of it is made at `path`, and the modes are added to the copy. The times of
        the data must be seconds since the start of that file's session. Subject and start are those of the file. The
        session is found by its name (the file's session_id, identifier or name); where that fails, say `session`.
    overwrite
        Replace existing files.

    Examples
    --------
    >>> import tempfile
    >>> data = Trajectories([[0, 1, 0]], times=[[0.0, 0.5, 1.0]], names=["day 1"], subjects=["m1"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path] = write_nwb(f"{folder}/modes.nwb", data, [[0, 0, 1]], mode_names=["home", "water"])
    ...     path.name
    'modes.nwb'
    """
    if species is not None:
        check_species(species, append_to)
    source = None if append_to is None else source_file(append_to)
    starts = session_starts(session_start, len(data), append_to)
    chosen = chosen_sessions(data, session, append_to)
    found = checked(data, modes, mode_names, probabilities, definitions, parameters, chosen)
    if source is not None:
        check_subject(source, data, chosen[0])
    files = targets(Path(path), [data.names[i] for i in chosen], source)
    with needing("writing NWB needs pynwb and ndx-ethogram", "nwb"):
        import ndx_ethogram  # importing it makes its types known to pynwb
        import pynwb
    del ndx_ethogram
    to_file: Any = pynwb.NWBHDF5IO  # which declares its arguments only when it is called
    lent = contextlib.nullcontext() if files == [Path(path)] else _folder_for(files)
    with lent, whole_files(files, overwrite=overwrite) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of hdmf, about older files; what matters is an error
        for i, target in zip(chosen, temporary, strict=True):
            if source is None:
                file = new_file(pynwb, data, found.paths[i], i, starts[i], species)
                add_modes(pynwb, file, data, found, i)
                with to_file(target, "w") as io:
                    io.write(file)
            else:
                add_to_copy(pynwb, source, target, data, found, i)
    return files
