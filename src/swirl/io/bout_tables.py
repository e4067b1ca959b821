"""Tables of bouts, and of labels per frame: BORIS, SimBA, DLCAnalyzer, Raven, crowsetta, VAME, DeepEthogram, ….

Four layouts are told apart by what the columns are called and hold: a row per bout (start, stop, label); a row where a
bout starts and another where it stops (BORIS' tabular events); a row per frame with its label; a row per frame with a
column of 0 and 1 for each behaviour.  All become `Bouts`, and these become steps in `swirl.io.bouts`.
"""

import csv
import io
import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.segments import JUMP
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.io.bouts import ROUNDING, Bouts, bout_sessions, instant
from swirl.io.columns import as_typed, bare, distinct_names, key_columns, key_parts, plain, seconds, seconds_in
from swirl.io.label_runs import runs
from swirl.io.open_table import OpenTable, of_text, open_table
from swirl.io.pynapple_objects import bouts_of_intervals, is_bouts
from swirl.io.session_keys import joined_name, name_of_animal
from swirl.io.text_file import beginning, refuse, utf8_text
from swirl.io.text_table import BLANK
from swirl.text import counted, did_you_mean, some

CANNOT = "The bouts cannot be read"
TOUCHING = 0.0015
"""Seconds between two bouts that touch: BORIS writes milliseconds, and lets a bout start one after the last stopped."""

_WORDS = {
    "start": "start starttime begin begintime onset onsettime from fromtime tstart tmin entrytime entrytimes",
    "stop": "stop stoptime end endtime offset offsettime to totime tstop tend tmax exittime exittimes",
    "duration": "duration durations bouttime",
    "label": "behavior behaviour label labels event type annotation syllable motif cluster bsoidlabels state class "
    "species shapename shape action code name text",
    "time": "time t trialtime timerelativesf timerelative times timestamp timestamps seconds",
    "status": "status behaviortype behaviourtype eventtype",
    "subject": "subject subjectid animal animalid mouse mouseid rat bird individual id",
    "session": "session sessionid observationid observation recording video videoname trial file filename notatedpath "
    "sourcefile",
    "first frame": "startframe beginframe framestart entryframe firstframe",
    "last frame": "endframe stopframe frameend exitframe lastframe",
    "frame": "frame frames frameindex framenumber",
}
USUAL = {role: tuple(words.split()) for role, words in _WORDS.items()}
"""Usual names of columns without capitals, spaces and units; where several are there, the first in this order."""

ROLES = ("start", "stop", "label", "time", "status", "subject", "session")
"""Columns that may be named."""

MARKS = {"start": "START", "state start": "START", "stop": "STOP", "state stop": "STOP"}
MARKS |= {"state point": "POINT", "point": "POINT", "point event": "POINT", "state": "STATE"}
TRUE_OR_NOT = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True, "": False}
MAX_JSON = 2**28
OBSERVATION = ("observation id", "observation")
NO_SUBJECT = "no focal subject"  # BORIS

EXPECTED = (
    "expected the columns start, stop and label (a row for each bout); or label, time and status (START and STOP); or "
    "a label for each frame, or a column of 0 and 1 for each behaviour, with --fps. Name your columns with --start, "
    "--stop, --label, --time, --status"
)


@dataclass(frozen=True)
class _File:
    """A table, of which columns are read when they are asked for."""

    table: OpenTable
    names: dict[int, str]
    read: dict[str, tuple[np.ndarray, list[str]]] = field(default_factory=dict)
    """Columns that were read before: the number of the value in each row, and the values."""

    @property
    def path(self) -> Path:
        """The file itself."""
        return self.table.path

    @property
    def lines(self) -> Int[np.ndarray, " row"]:
        """The line of each row."""
        return self.table.lines

    @property
    def observation(self) -> str:
        """What the session is called where no column says it."""
        return next((value for name, value in self.table.above.items() if plain(name) in OBSERVATION), self.table.name)

    @property
    def columns(self) -> str:
        """What the columns are called, for errors."""
        return f"the columns are {some(self.table.header, 20)}{self.table.doubt}"

    def load(self, columns: Sequence[str]) -> None:
        """Read several columns at once; blank cells are empty."""
        at = {i: name for i, name in self.names.items() if name in columns and name not in self.read}
        for i, series in self.table.columns(dict.fromkeys(at, "names")).items() if at else ():
            values = ["" if value in BLANK else value for value in series.cat.categories]
            self.read[at[i]] = (series.cat.codes.to_numpy().astype(np.int64), [*values, ""])  # −1 is the last

    def each(self, column: str, function: Callable[[str], Any]) -> list[Any]:
        """What a function makes of each cell of a column; it is asked once for each different value."""
        self.load([column])
        codes, values = self.read[column]
        made = [function(value) for value in values]
        return [made[code] for code in codes.tolist()]

    def text(self, column: str) -> list[str]:
        """One column; blank cells are empty."""
        return self.each(column, str)

    def at(self, rows: Any) -> str:
        """Name rows by their lines."""
        return f"{self.path}, {self.table.at(rows)}"


def read_bout_tables(
    paths: Any,
    columns: Mapping[str, Any] | None = None,
    *,
    fps: float | int | None = None,
    priority: Sequence[str] | None = None,
    pauses: str = "ignore",
    max_pause: float | int | None = None,
    drop: Sequence[str] | None = None,
    points: bool = False,
    sheet: str | None = None,
    callback: Callable[[Any], Any] | None = None,
) -> Trajectories:
    """Read tables of bouts or of labels per frame: state = label, action = the next label (see `bouts.bout_sessions`).

    A session is what a column says it is (BORIS: the observation), of each subject where there are several; else the
    file.  Times are seconds, h:mm:ss or, where the name of the column says so, milliseconds or minutes.

    Parameters
    ----------
    paths
        A file or a list of them: any table that `open_table` opens; BORIS' project (.boris); Audacity's labels; a .npy
        file with a label for each frame, as VAME writes it. Or pynapple's objects: an IntervalSet with a column of
        labels, a dict of label → IntervalSet, or a dict of session → either of these.
    columns
        What columns are called, where that is not usual: start, stop, label, time, status, subject, session. Several
        labels are columns of 0 and 1, one for each behaviour; several columns tell a session together.
    fps
        Frames per second. Needed for labels per frame where no column has the time. For other tables it says that
        their times are numbers of frames.
    priority, pauses, max_pause, drop, points
        As in `bouts.bout_sessions`.
    sheet
        Of Excel files that have several.
    callback
        Called with each file before it is read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> rows = ["Behavior,Status,Time", "rear,START,0.5", "rear,STOP,2", "groom,START,2", "groom,STOP,4"]
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "boris.csv").write_text("\\n".join(rows))
    ...     sessions = read_bout_tables(Path(folder, "boris.csv"))
    >>> sessions.state_names, sessions.states[0], sessions.times[0], sessions.signals["duration"][0]
    (('groom', 'rear'), array([1, 0]), array([0.5, 2. ]), array([1.5, 2. ]))
    """
    faults = Faults()
    named = {role: name for role, name in (columns or {}).items() if name is not None}
    if unknown := [repr(role) for role in named if role not in ROLES]:
        faults.add(f"columns names {some(unknown)}: expected {', '.join(ROLES)}")
    if fps is not None and not (np.isfinite(fps) and fps > 0):
        faults.add(f"fps={fps} (--fps): give frames per second, a number above 0")
    if is_bouts(paths):
        faults.raise_if_any(CANNOT)
        found = bouts_of_intervals(paths, named.get("label"))
        return bout_sessions(found, priority=priority, pauses=pauses, max_pause=max_pause, drop=drop, points=points)
    given = [paths] if isinstance(paths, str | PathLike) or not hasattr(paths, "__iter__") else list(paths)
    if wrong := sorted({type(path).__name__ for path in given if not isinstance(path, str | PathLike)}):
        faults.add(
            f"paths holds {some(wrong)}: give files, an IntervalSet of pynapple, or a dict, session → IntervalSet"
        )
    faults.raise_if_any(CANNOT)
    listed = [Path(path) for path in given]
    if not listed:
        faults.add("there is no file: give at least one table")
    if twice := [str(path) for path, n in Counter(listed).items() if n > 1]:
        faults.add(f"{some(twice)} is given more than once: give each file once")
    faults.raise_if_any(CANNOT)
    notes: dict[str, int] = {}
    read: list[Bouts] = []
    for path in listed:
        if callback is not None:
            callback(path)
        read += _read(path, named, fps, sheet, notes, faults)
    faults.raise_if_any(CANNOT)
    sessions = bout_sessions(
        _told_apart(read), priority=priority, pauses=pauses, max_pause=max_pause, drop=drop, points=points
    )
    of = {note: f" (in {n} files)" if n > 1 else "" for note, n in notes.items()}
    return sessions.with_labels(notes=[*(note + more for note, more in of.items()), *sessions.notes])


def _told_apart(read: list[Bouts]) -> list[Bouts]:
    """Sessions with names of their own: where two files have the same, that of the file (and folder) is in front."""
    for front in (lambda path: path.stem, lambda path: f"{path.parent.name}/{path.stem}"):
        files: dict[str, set[str]] = {}
        for bouts in read:
            files.setdefault(bouts.name, set()).add(bouts.source)
        read = [
            replace(bouts, name=f"{front(Path(bouts.source))} {bouts.name}") if len(files[bouts.name]) > 1 else bouts
            for bouts in read
        ]
    return read


def _read(
    path: Path,
    named: Mapping[str, Any],
    fps: float | int | None,
    sheet: str | None,
    notes: dict[str, int],
    faults: Faults,
) -> list[Bouts]:
    """The bouts of one file, by session; none after a fault."""
    if path.suffix.lower() == ".npy":
        return _of_array(path, fps, notes, faults)
    before = len(faults)
    file = _opened(path, sheet, faults)
    notes |= dict.fromkeys(file.table.notes, 1)
    found = _found(file, named, faults)
    if len(faults) > before:
        return []
    pair = _interval_columns(found, named, fps)
    of_events = pair is None and "status" in found and bool({*_marks(file, found["status"])} - {None, "STATE"})
    if "label" not in found and (pair or of_events):
        faults.add(f"{path}: no column is known to hold the labels: name it with --label; {file.columns}")
    elif pair is not None:
        return _of_intervals(file, found, pair, fps, notes, faults)
    elif of_events and "time" in found:
        return _of_events(file, found, fps, notes, faults)
    elif of_events:
        faults.add(
            f"{path}: no column is known to hold the times of START and STOP: name it with --time; {file.columns}"
        )
    elif {"first frame", "last frame"} <= set(found):
        faults.add(f"{path}: bouts are given in frames: give frames per second, as in --fps 30")
    elif half := {"start", "stop"} & set(found):
        [has], [lacks] = half, {"start", "stop"} - half
        told = f"{found[has]!r} is when a bout {has}s, but no column is known to say when it {lacks}s"
        faults.add(f"{path}: {told}: name it with --{lacks}; {file.columns}")
    else:
        return _of_frames(file, found, named.get("label"), fps, notes, faults)
    return []


def _interval_columns(
    found: dict[str, str], named: Mapping[str, Any], fps: float | int | None
) -> tuple[str, str] | None:
    """The two columns that say when a bout starts and stops: numbers of frames only where their rate is given."""
    frames, times = ("first frame", "last frame"), ("start", "stop" if "stop" in found else "duration")
    order = (frames, times) if fps is not None and "start" not in named else (times,)
    return next((pair for pair in order if set(pair) <= set(found)), None)


def _marks(file: "_File", column: str) -> list[str | None]:
    """START, STOP, POINT, STATE or None of each row."""
    return file.each(column, lambda value: MARKS.get(value.casefold()))


def _note(notes: dict[str, int], layout: str, found: dict[str, str], roles: Sequence[str]) -> None:
    named = {role: key_columns(found, role) for role in roles if role in found}
    told = ", ".join(f"{role} = {' and '.join(map(repr, columns))}" for role, columns in named.items())
    note = f"read as {layout}{f' ({told})' if told else ''}"
    notes[note] = notes.get(note, 0) + 1


def _note_blank(notes: dict[str, int], file: "_File", named: Bool[np.ndarray, " row"]) -> None:
    if not named.all():
        notes[f"left out {counted(int((~named).sum()), 'row')} without a label in {file.path.name}"] = 1


# ---------------------------------------------------------------------- the file and its columns


def _opened(path: Path, sheet: str | None, faults: Faults) -> _File:
    if beginning(path).lstrip()[:1] == b"{":
        table = of_text(path, _events_of_project(path), "event")
        table = replace(table, lines=table.lines - 1)
    else:
        table = open_table(path, sheet=sheet, blank_rows=True)
    doubts = Faults()
    names = distinct_names([name.strip() for name in table.header], doubts)
    faults.messages += [f"{path}: {message}" for message in doubts.messages]
    return _File(table, names)


def _events_of_project(path: Path) -> bytes:
    """The events of all observations of a BORIS project as its tabular export has them, a line each.

    In a project a state event has no mark: of one subject and one behaviour (and its modifiers) every second one stops
    what the one before started.
    """
    try:
        project = json.loads(utf8_text(path, MAX_JSON, json=True))
        observations = project["observations"]
        kinds = {one["code"]: one["type"] for one in project["behaviors_conf"].values()}
        lines = [("Observation id", "Time", "Subject", "Behavior", "Status")]
        for name, observation in observations.items():
            on: Counter[tuple[str, ...]] = Counter()
            for event in sorted(observation["events"], key=lambda event: float(event[0])):
                time, subject, code, modifiers = (*map(str, event[:3]), str(event[3]) if len(event) > 3 else "")
                on[subject, code, modifiers] += 1
                state = "STATE" in str(kinds.get(code, "")).upper()
                status = ("START" if on[subject, code, modifiers] % 2 else "STOP") if state else "POINT"
                lines.append((str(name), time, subject, code, status))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        refuse(path, f"it is JSON, but no BORIS project ({type(error).__name__}: {error}): {EXPECTED}")
    if len(lines) == 1:
        refuse(path, "no observation of this BORIS project has events: there are no data")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue().encode()


def _found(file: _File, named: Mapping[str, Any], faults: Faults) -> dict[str, str]:
    """Role → the name of its column: as it was named, else the usual."""
    there = list(file.names.values())
    found = {}
    for role, given in named.items():
        if role == "label" and isinstance(given, list):
            continue  # columns of 0 and 1
        for i, name in enumerate(key_parts(given, there) if role == "session" else [given]):
            matching = [x for x in there if plain(x) == plain(name)]
            if matching:
                found[role if i == 0 else f"{role} {i + 1}"] = name if name in there else matching[0]
            else:
                faults.add(
                    f"{file.path}: no column {name!r} (--{role}) among {some(there, 20)}{did_you_mean(name, there)}"
                )
    for role, usual in USUAL.items():
        # A mouse that tells sessions apart may be the subject, too.
        used = [name for other, name in found.items() if role != "subject" or other.partition(" ")[0] != "session"]
        free = {bare(name): name for name in reversed(there) if name not in used}
        if role not in named and (own := next((name for name in usual if name in free), None)):
            found[role] = free[own]
    if "status" in found and "status" not in named and not any(_marks(file, found["status"])):
        del found["status"]
    return found


def _one_or_not(file: _File, column: str) -> list[bool | None]:
    """Whether a cell is 1 or 0; None where it is neither."""
    return file.each(column, lambda value: TRUE_OR_NOT.get(value.casefold()))


def _ones(
    file: _File, asked: list[str] | None, found: dict[str, str], faults: Faults
) -> dict[str, Bool[np.ndarray, " row"]] | None:
    """The columns of 0 and 1, one for each behaviour; None where there are none."""
    there = list(file.names.values())
    if asked is not None:
        by_plain = {plain(name): name for name in reversed(there)}
        for name in asked:
            if plain(name) not in by_plain:
                faults.add(
                    f"{file.path}: no column {name!r} (--label) among {some(there, 20)}{did_you_mean(name, there)}"
                )
        chosen = [by_plain[plain(name)] for name in asked if plain(name) in by_plain]
    else:
        used = set(found.values())
        chosen = [name for name in there if name not in used]
    ones = {}
    file.load(chosen)
    for name in chosen:
        marks = _one_or_not(file, name)
        if None not in marks:
            ones[name] = np.array(marks, bool)
        elif asked is not None:
            row = marks.index(None)
            got = f"{file.at([row])}: {name} is {file.text(name)[row]!r}"
            faults.add(f"{got}: expected 1 where the animal does it and 0 elsewhere")
    return ones or None


def _times(
    file: _File, column: str, wanted: Bool[np.ndarray, " row"], fps: float | int | None, faults: Faults
) -> Float[np.ndarray, " row"]:
    """A column of times in seconds; with `fps`, in frames. Faults only where a time is wanted."""
    text = file.text(column)
    times = np.array(file.each(column, seconds), float)
    wrong = np.flatnonzero(wanted & ~np.isfinite(times))
    for row in wrong[:5].tolist():
        got = f"is {text[row]!r}" if text[row] else "is blank or NaN"
        faults.add(f"{file.at([row])}: {column} {got}; expected seconds, or h:mm:ss: correct or delete the row")
    if len(wrong) > 5:
        faults.add(f"{file.path}: {column} is no time in {counted(len(wrong) - 5, 'more line')}")
    if fps is None:
        return times * seconds_in(column)
    broken = np.flatnonzero(wanted & np.isfinite(times) & (times != np.floor(times)))
    if broken.size:
        row = int(broken[0])
        faults.add(
            f"{file.at([row])}: {column} is {text[row]}, but with --fps it has to be the number of a frame: leave "
            "--fps out if these are seconds"
        )
    return times


def _parted(
    file: _File,
    found: dict[str, str],
    start: Float[np.ndarray, " bout"],
    stop: Float[np.ndarray, " bout"],
    rows: Int[np.ndarray, " bout"],
    fps: float | int | None,
) -> list[Bouts]:
    """Bouts by session, and by subject where a session has several; `rows` says where each begins."""
    made, labels = [], file.text(found["label"])
    rounding = 1 / fps + ROUNDING if fps else TOUCHING
    for name, subject, mine in _by_session(file, found):
        at = np.flatnonzero(np.isin(rows, mine))
        if at.size:
            own = [labels[row] for row in rows[at].tolist()]
            lines = file.lines[rows[at]]
            made.append(Bouts(name, start[at], stop[at], own, subject, lines, str(file.path), rounding))
    return made


def _by_session(file: _File, found: dict[str, str]) -> list[tuple[str, str | None, Int[np.ndarray, " row"]]]:
    """Name, subject and rows of each session, in the order in which they first appear."""
    n = len(file.lines)
    if not {"subject", "session"} & set(found):
        return [(file.observation, None, np.arange(n))]
    subjects = file.text(found["subject"]) if "subject" in found else [""] * n
    subjects = ["" if value.casefold() == NO_SUBJECT else value for value in subjects]
    parts = [file.text(column) for column in key_columns(found, "session")]
    if len(parts) > 1:
        sessions = [joined_name([value or file.observation for value in row]) for row in zip(*parts, strict=True)]
    else:
        sessions = [value or file.observation for value in parts[0]] if parts else [""] * n
    groups: dict[tuple[str, str], list[int]] = {}
    for row, key in enumerate(zip(sessions, subjects, strict=True)):
        groups.setdefault(key, []).append(row)
    several = len(groups) > len({session for session, _ in groups})
    parted = []
    for (session, subject), rows in groups.items():
        name = session or file.observation
        if several and subject:
            name = name_of_animal(name, subject)
        parted.append((name, subject or None, np.array(rows)))
    return parted


# ---------------------------------------------------------------------- a row for each bout


def _of_intervals(
    file: _File,
    found: dict[str, str],
    pair: tuple[str, str],
    fps: float | int | None,
    notes: dict[str, int],
    faults: Faults,
) -> list[Bouts]:
    """Start, stop and label of each row."""
    labels = file.text(found["label"])
    points = np.zeros(len(labels), bool)
    if "status" in found:
        points = np.array([mark == "POINT" for mark in _marks(file, found["status"])])
    named = np.array([bool(label) for label in labels])
    before = len(faults)
    start = _times(file, found[pair[0]], named, fps, faults)
    second = _times(file, found[pair[1]], named & ~points, fps, faults)
    stop = start + second if pair[1] == "duration" else second
    stop = np.where(points, start, stop)
    unit = "s" if fps is None else "frames"
    for row in np.flatnonzero(named & (stop < start))[:5].tolist():
        what = (
            f"{labels[row]!r} starts at {instant(start[row])} {unit}, but stops before, at {instant(stop[row])} {unit}"
        )
        faults.add(f"{file.at([row])}: {what}; correct or delete the row")
    if pair[1] == "stop" and fps is None:
        _refuse_rounded(file, found, start, stop, named & ~points, faults)
    if len(faults) > before:
        return []
    if fps is not None:
        start, stop = start / fps, (stop + (~points & (pair[1] != "duration"))) / fps  # the last frame counts too
    _note(notes, "a row for each bout", found, (*pair, "label", "subject", "session"))
    if fps is None and (told := _of_whole_numbers(file, found, pair, (stop - start)[named & ~points])):
        notes[f"BEWARE: {told}"] = 1
    _note_blank(notes, file, named)
    rows = np.flatnonzero(named)
    return _parted(file, found, start[rows], stop[rows], rows, fps)


_WHOLE, _LONG, _ENOUGH = re.compile(r"-?[0-9]+(\.0*)?"), 30.0, 20
_EPOCHS = frozenset((2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 40, 60, 90, 120, 180, 240, 300, 600))
"""Seconds by which sleep and states are scored: times that count frames or samples share no such divisor."""


def _of_whole_numbers(
    file: _File, found: dict[str, str], pair: tuple[str, str], lengths: Float[np.ndarray, " bout"]
) -> str:
    """What to say of times that may count frames or samples: all are whole, long, of no unit and no epochs."""
    columns = [found[role] for role in pair]
    if len(lengths) < _ENOUGH or not (usual := float(np.median(lengths))) >= _LONG:
        return ""
    if any(seconds_in(name) != 1 or bare(name) != re.sub(r"[^a-z0-9]+", "", plain(name)) for name in columns):
        return ""  # their names say the unit
    if not all(all(file.each(name, lambda value: not value or bool(_WHOLE.fullmatch(value)))) for name in columns):
        return ""
    numbers = np.concatenate([file.each(name, seconds) for name in columns])
    if int(np.gcd.reduce(numbers[np.isfinite(numbers)].astype(np.int64))) in _EPOCHS:
        return ""
    return (
        f"{' and '.join(map(repr, columns))} are whole numbers, and the median bout lasts {usual:,.4g} s if they are "
        "seconds. If they count frames or samples, say how many there are in a second: --fps"
    )


def _refuse_rounded(
    file: _File,
    found: dict[str, str],
    start: Float[np.ndarray, " row"],
    stop: Float[np.ndarray, " row"],
    bouts: Bool[np.ndarray, " row"],
    faults: Faults,
) -> None:
    """Fault bouts that last no time although a column of lengths says that they do, as HomeCageScan writes them."""
    lengths = [name for name in file.names.values() if bare(name) in ("length", *USUAL["duration"])]
    for name in lengths if (bouts & (stop == start)).any() else ():
        length = np.array(file.each(name, seconds), float) * seconds_in(name)
        rows = np.flatnonzero(bouts & np.isfinite(length))
        short = rows[(stop == start)[rows] & (length[rows] > 0)]
        if not short.size or not _are_lengths(start[rows], stop[rows], length[rows]):
            continue
        told = (
            f"{file.at(short[:3])}: {found['start']} and {found['stop']} are the same in "
            f"{counted(len(short), 'row')} of {len(bouts):,}, although {name} is above 0: "
        )
        whole, also = start[rows] == np.floor(start[rows]), f". If {name} is of something else, give it another name"
        if whole.all() or (stop != start)[rows].any():
            faults.add(
                f"{told}the times are rounded. Where each row follows the one before, make a column of starts by "
                f"adding up {name}, and name it with --start (and --stop){also}"
            )
        else:
            says = name if bare(name) in USUAL["duration"] else f"{name}, renamed duration,"
            faults.add(f"{told}delete the column {found['stop']}, and {says} says how long each bout lasts{also}")
        return


_GOES_WITH, _SHORTER, _BY_CHANCE = 0.3, 0.65, 0.05


def _are_lengths(
    start: Float[np.ndarray, " bout"], stop: Float[np.ndarray, " bout"], length: Float[np.ndarray, " bout"]
) -> bool:
    """Whether these are the lengths of the bouts, in any unit, and not of the video or the animal.

    The latter are all the same, or say nothing of how long bouts last: they do not go with it where bouts last, nor are
    they shorter where bouts last no time.  Where no bout lasts, they do not fit in before the next.

    >>> start, stop = np.array([0.0, 10, 20, 30]), np.array([3.0, 11, 20, 32])
    >>> _are_lengths(start, stop, np.array([75.0, 26, 8, 55])), _are_lengths(start, stop, np.full(4, 75.0))
    (True, False)
    >>> _are_lengths(start, stop, np.array([75.0, 74, 73, 77]))
    False
    >>> _are_lengths(start, start, np.full(4, 0.5)), _are_lengths(start, start, np.full(4, 600.0))
    (True, False)
    """
    from scipy.stats import mannwhitneyu, spearmanr

    lasted = stop - start
    lasts = lasted > 0
    if not lasts.any():
        apart = np.diff(start)
        return bool(np.mean((length[:-1] <= apart)[apart > 0]) > 0.9) if (apart > 0).any() else True
    if (length == length[0]).all():
        return False
    per_second = float(np.median(length[lasts] / lasted[lasts]))
    if per_second > 0 and np.mean(np.abs(length / per_second - lasted) < 1) > 0.9:
        return True  # whole seconds are not far from them
    if len({*length[lasts].tolist()}) > 1 and len({*lasted[lasts].tolist()}) > 1:
        found: Any = spearmanr(length[lasts], lasted[lasts], alternative="greater")
        if found.statistic >= _GOES_WITH and found.pvalue < _BY_CHANCE:
            return True
    found = mannwhitneyu(length[lasts], length[~lasts], alternative="greater")
    return bool(found.statistic / (lasts.sum() * (~lasts).sum()) >= _SHORTER and found.pvalue < _BY_CHANCE)


# ---------------------------------------------------------------------- START and STOP


def _of_events(
    file: _File, found: dict[str, str], fps: float | int | None, notes: dict[str, int], faults: Faults
) -> list[Bouts]:
    """Join the START of each bout with its STOP."""
    labels, status = file.text(found["label"]), file.text(found["status"])
    marks = _marks(file, found["status"])
    named = np.array([bool(label) for label in labels])
    before = len(faults)
    times = _times(file, found["time"], named, fps, faults) / (fps or 1)
    for row in [i for i, mark in enumerate(marks) if mark in (None, "STATE") and named[i]][:5]:
        faults.add(f"{file.at([row])}: {found['status']} is {status[row]!r}; expected START, STOP or POINT")
    if len(faults) > before:
        return []
    joined: list[tuple[int, int]] = []
    for name, _, rows in _by_session(file, found):
        begun: dict[str, list[int]] = {}
        for row in rows[np.argsort(times[rows], kind="stable")].tolist():
            label, when = labels[row], f"{instant(times[row])} s"
            if not label:
                continue
            if marks[row] == "POINT":
                joined.append((row, row))
            elif marks[row] == "START":
                begun.setdefault(label, []).append(row)
            elif begun.get(label):
                joined.append((begun[label].pop(), row))  # one that is on twice overlaps itself, which is told later
            else:
                faults.add(f"{file.at([row])}: {label!r} of {name} stops at {when}, but has not started: add its START")
        for label, still_on in begun.items():
            for row in still_on:
                at = f"{file.at([row])}: {label!r} of {name} starts at {instant(times[row])} s"
                after = [
                    i for i in rows.tolist() if labels[i] == label and marks[i] == "START" and times[i] > times[row]
                ]
                told = f" (and starts again at {instant(min(times[after]))} s)" if after else ""
                faults.add(f"{at} and never stops{told}: add its STOP, or delete the row")
    if len(faults) > before:
        return []
    _note(notes, "rows of START and STOP", found, ("time", "status", "label", "subject", "session"))
    _note_blank(notes, file, named)
    first, last = np.array(joined, int).reshape(-1, 2).T
    return _parted(file, found, times[first], times[last], first, fps)


# ---------------------------------------------------------------------- a row for each frame


def _of_frames(
    file: _File, found: dict[str, str], asked: Any, fps: float | int | None, notes: dict[str, int], faults: Faults
) -> list[Bouts]:
    """Runs of frames with one label; where each behaviour has a column of 0 and 1, the runs of 1 in each."""
    before, every = len(faults), np.ones(len(file.lines), bool)
    if isinstance(asked, str) and bare(asked) not in USUAL["label"] and None not in _one_or_not(file, found["label"]):
        asked = [found["label"]]
    several = isinstance(asked, list)
    ones = _ones(file, asked if several else None, found, faults) if several or "label" not in found else None
    if len(faults) > before:
        return []
    if ones is None and "label" not in found:
        faults.add(f"{file.path}: the columns are {some(file.table.header, 20)}; {EXPECTED}{file.table.doubt}")
        return []
    clock = found.get("frame") if fps is not None else found.get("time")
    if fps is None and clock is None:
        of = f"labels: {found['label']!r}" if ones is None else f"0 and 1: {some([repr(name) for name in ones])}"
        told = f"seems to have a row for each frame ({of}) and has no column of times: give frames per second, as in"
        told += " --fps 30. If its rows are bouts, name its columns (--start, --stop, --label)"
        faults.add(f"{file.path} {told}{file.table.doubt}")
        return []
    given = None if clock is None else _times(file, clock, every, fps, faults) / (fps or 1)
    if ones is None:
        labels = file.each(found["label"], _frame_label)
        values = {label: i for i, label in enumerate(dict.fromkeys(labels))}
        tracks = [np.array([values[label] for label in labels])]
        called = [dict(enumerate(values))]
        _note(notes, "a row for each frame", found, ("label", "subject", "session"))
    else:
        tracks, called = [column.astype(int) for column in ones.values()], [{0: "", 1: name} for name in ones]
        told = f"a row for each frame, with a column of 0 and 1 for each of {some(list(ones), 20)}"
        _note(notes, told, found, ("subject", "session"))
    if len(faults) > before:
        return []
    made, late, unsteady, sessions = [], [], [], _by_session(file, found)
    for name, subject, rows in sessions:
        times = np.arange(len(rows)) / (fps or 1) if given is None else given[rows]
        period = 1 / fps if fps else float(np.median(np.diff(times))) if len(rows) > 1 else 1.0
        if (back := np.flatnonzero(~(np.diff(times) > 0)) + 1).size:
            late.append(rows[back].tolist())
            continue
        if not _steady(times, period):
            unsteady.append(name)
            continue
        jumped = np.diff(times, prepend=times[:1]) > JUMP * period
        ends = np.append(np.where(jumped[1:], times[:-1] + period, times[1:]), times[-1] + period)
        start, stop, labels, at = [np.zeros(0)], [np.zeros(0)], [], [np.zeros(0, int)]
        for track, names in zip(tracks, called, strict=True):
            first, last = runs(track[rows], jumped)
            mine = np.array([bool(names[value]) for value in track[rows][first].tolist()])
            first, last = first[mine], last[mine]
            start.append(times[first])
            stop.append(ends[last])
            at.append(rows[first])
            labels += [names[value] for value in track[rows][first].tolist()]
        lines, lost = file.lines[np.concatenate(at)], times[jumped]
        where = (subject, lines, str(file.path), ROUNDING, lost)
        made.append(Bouts(name, np.concatenate(start), np.concatenate(stop), labels, *where))
    _refuse_clock(file, found, str(clock), late, unsteady, len(sessions), faults)
    return made


def _refuse_clock(
    file: _File,
    found: dict[str, str],
    clock: str,
    late: list[list[int]],
    unsteady: list[str],
    n_sessions: int,
    faults: Faults,
) -> None:
    """Say once, and not for each session, that rows cannot be frames: times that go back, or that are not steady."""

    def among(n: int) -> str:
        return f" in {n:,} of {n_sessions:,} sessions" if n_sessions > 1 else ""

    if late:
        at = late[0] if n_sessions == 1 else [rows[0] for rows in late]
        faults.add(
            f"{file.at(at[:3])}: {clock} is not above that of the frame before{among(len(late))}: sort or correct "
            "the rows; if a new session starts there, name the column that tells it (--session)"
        )
    if unsteady:
        told: dict[str, Any] = {role: key_columns(found, role) for role in ("session", "subject")}
        told |= {"state": found.get("label", ""), "time": clock}
        typed = as_typed({role: column for role, column in told.items() if column})
        faults.add(
            f"{file.path}: {clock} does not grow at a steady rate{among(len(unsteady))}, so rows are no frames, and no "
            "column says when a bout stops: name it with --stop. If a row is a tick of a clock that is not quite "
            f"steady, swirl import table {shlex.quote(str(file.path))} {typed} --merge makes one step of consecutive "
            "rows of one label; without --merge each row is a step"
        )


def _steady(times: Float[np.ndarray, " frame"], period: float) -> bool:
    """Whether rows are the frames of a video: most of their times grow at a steady rate."""
    apart = np.diff(times)
    return not len(apart) or float(np.mean(np.abs(apart - period) <= 0.1 * period + ROUNDING)) >= 0.9


def _frame_label(value: str) -> str:
    """A label per frame; a negative number is none, and 3.0 is 3.

    >>> [_frame_label(value) for value in ("walk", "3.0", "-1")]
    ['walk', '3', '']
    """
    value = re.sub(r"^(-?[0-9]+)\.0+$", r"\1", value)
    return "" if re.fullmatch(r"-[0-9]+", value) else value


def _of_array(path: Path, fps: float | int | None, notes: dict[str, int], faults: Faults) -> list[Bouts]:
    """Labels per frame in a .npy file; nothing is ever unpickled."""
    if fps is None:
        faults.add(f"{path} has a label for each frame: give frames per second, as in --fps 30")
        return []
    try:
        labels = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        faults.add(f"{path} cannot be read as a NumPy array ({error}): save the labels as whole numbers, or as CSV")
        return []
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or not len(labels):
        faults.add(f"{path} has shape {labels.shape} of {labels.dtype}: expected a whole number for each frame")
        return []
    notes["read as a label for each frame"] = notes.get("read as a label for each frame", 0) + 1
    first, last = runs(labels.astype(np.int64), np.zeros(len(labels), bool))
    mine = labels[first] >= 0
    first, last = first[mine], last[mine]
    names = [str(label) for label in labels[first].tolist()]
    return [Bouts(path.stem, first / fps, (last + 1) / fps, names, source=str(path))]
