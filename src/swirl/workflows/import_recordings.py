"""Recordings on their way from users' files to a table: sessions, their environment, and what was done to them.

`swirl import` calls these, and so can a notebook, as `swirl.recordings`: what either reads is the same.

Each format's reader is imported where it is called: a table is read before the readers of tracks would be loaded.
"""

import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swirl import system
from swirl._version import __version__
from swirl.data.environments import environment_of_places
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import MISSING
from swirl.errors import Faults
from swirl.io import session_table
from swirl.io.atomic_write import write_text
from swirl.io.columns import MAX_LABEL
from swirl.io.environment_files import environment_for, write_environment
from swirl.io.export_tables import OURS, SUFFIXES, to_frame, write_table
from swirl.io.label_runs import merge_stays
from swirl.io.notes import warn_of
from swirl.io.session_index import label_sessions
from swirl.io.session_keys import without_animal
from swirl.io.text_table import BLANK
from swirl.text import did_you_mean, some

if TYPE_CHECKING:
    from swirl.io.places import Polygons

__all__ = ["Imported", "import_bouts", "import_moseq", "import_nwb", "import_table", "import_tracks", "save"]

_RENAMED = "state "
"""What stands before a name that a table would misread."""


class Imported(NamedTuple):
    """Sessions (with `notes` on what was done), and the environment that comes with them (None: not known).

    >>> data, env = Imported(Trajectories([[0, 1]]), None)
    >>> data
    Trajectories(1 session, 2 steps (2 each), 2 states, 1 action)
    """

    data: Trajectories
    env: MDP | None


def _told(imported: Imported) -> Imported:
    """What was imported, after a warning at the line that called the door."""
    warn_of(imported.data.notes, stacklevel=3)
    return imported


def _listed(paths: Any) -> list[Any]:
    """One file (or object), or a list of them."""
    return list(paths) if isinstance(paths, list | tuple) else [paths]


def environment_beside(path: Any) -> Path:
    """Where the environment of an imported table is written: only the ending of a table goes, as dates have dots too.

    >>> [environment_beside(name).name for name in ("sessions.csv", "m1.2026.03.01.csv.gz")]
    ['sessions.env.csv', 'm1.2026.03.01.env.csv']
    """
    path = Path(path)
    ending = next((ending for ending in SUFFIXES if path.name.lower().endswith(ending)), "")
    return path.with_name(f"{path.name[: len(path.name) - len(ending)]}.env.csv")


def record_beside(path: Any) -> Path:
    """Where the record of an import is written.

    >>> record_beside("sessions.csv").name
    'sessions.import.json'
    """
    beside = environment_beside(path)
    return beside.with_name(f"{beside.name.removesuffix('.env.csv')}.import.json")


def record(imported: Imported, sources: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """What was imported from where: the files with their hashes, the options, and what was done and left out."""
    files = [
        {"file": str(path), "bytes": path.stat().st_size, "sha256": system.file_digest(path)}
        for path in map(Path, sources)
        if path.is_file()
    ]
    data = imported.data
    return {
        "swirl": __version__,
        "sources": files or [{"folder": str(path)} for path in sources],
        "options": {name: value for name, value in options.items() if value is not None},
        "sessions": len(data),
        "steps": data.n_steps,
        "states": data.n_states,
        "notes": list(data.notes),
    }


def save(
    imported: Imported,
    output: Any,
    *,
    overwrite: bool = False,
    sources: Sequence[Any] = (),
    options: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write the table, the environment beside it and, with `sources`, a record; nothing where one is there already."""
    output, beside = Path(output), environment_beside(output)
    if imported.env is not None and beside.exists() and not overwrite:
        raise FileExistsError(f"{beside} exists already: choose another name with -o, or replace it with --force")
    fresh = not output.exists()
    written = [write_table(to_frame(imported.data), output, overwrite=overwrite)]
    try:
        if imported.env is not None:
            written += write_environment(imported.env, beside, overwrite=overwrite)
        if sources:
            told = json.dumps(record(imported, sources, options or {}), indent=1, ensure_ascii=False, default=str)
            written.append(write_text(record_beside(output), told + "\n", overwrite=overwrite))
    except BaseException:
        if fresh:  # a table without its environment would be half of what was asked for
            output.unlink(missing_ok=True)
        raise
    return written


def legible(name: str) -> str:
    """A name of a state that comes back from a table as it is: no number but 0, 1, 2, …, no truth value, no blank.

    >>> [legible(name) for name in ("walk", "12", "-1", "1.5", "None", "true")]
    ['walk', '12', 'state -1', 'state 1.5', 'state None', 'state true']
    """
    try:
        number = float(name)
        misread = not (name.isdecimal() and number <= MAX_LABEL)
    except ValueError:
        misread = name in BLANK or (name.casefold() in ("true", "false") and name not in ("True", "False"))
    return f"{_RENAMED}{name}" if misread else name


def _legible(sessions: Trajectories) -> Trajectories:
    """Sessions with names of states that a table can hold, and a note where some had to be changed."""
    old = sessions.state_names or ()
    new = tuple(map(legible, old))
    if new == old:
        return sessions
    told = some([f"{a!r} is called {b!r}" for a, b in zip(old, new, strict=True) if a != b])
    same = sessions.action_names == old  # the action is the next state
    return sessions.with_labels(
        state_names=new,
        action_names=new if same else None,
        notes=(*sessions.notes, f"{told}: in a table that would be read as a number, or as nothing"),
    )


def of_syllables(sessions: Trajectories) -> Imported:
    """Sessions whose action is the next state, in an environment where any state may follow any other.

    Where one follows itself (trials, events), any may.
    """
    if max(map(len, sessions.states)) < 2:
        raise ValueError(
            f"Nothing can be learned from {sessions!r}: no session has two steps, so no state follows another. Is this "
            "the table you mean?"
        )
    data = _legible(sessions)
    return Imported(data, environment_for(data, "syllables"))


def of_visits(sessions: Trajectories, where: Any, *, y_down: bool = False) -> Imported:
    """Sessions of visits to places, in the environment of those places."""
    sessions = _legible(sessions)
    env = environment_of_places(where, y_down=y_down, state_names=sessions.state_names)
    return Imported(sessions.with_labels(action_names=env.action_names), env)


def _counted(n_files: int, callback: Callable[[str], Any] | None) -> Callable[[Any], None]:
    """A function that is called with each file before it is read, and says how many have come.

    >>> say = _counted(2, print)
    >>> say("tracks/m1.csv"), say("tracks/m2.csv")
    Reading file 1 of 2: m1.csv
    Reading file 2 of 2: m2.csv
    (None, None)
    """
    n_read = 0

    def say(path: Any) -> None:
        nonlocal n_read
        n_read += 1
        if callback is not None and n_files > 1:
            callback(f"Reading file {n_read} of {n_files}: {Path(path).name}")

    return say


def import_table(
    path: Any,
    columns: dict[str, Any] | None = None,
    signals: list[str] | None = None,
    sheet: str | None = None,
    merge: bool = False,
) -> Imported:
    """Read a table with other column names than ours; its environment is not known.

    Parameters
    ----------
    columns
        What its columns are called, where that is not usual: {"state": "cell", "session": ("mouse", "day")}.
    signals
        The columns to keep as signals; None: all numbers that are nothing else.
    merge
        Whether rows are ticks of a clock: consecutive rows of one state then become one step, whose signal "dwell" says
        how long it lasted (`swirl.io.label_runs.merge_stays`).

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> _ = file.write_text("session,t,arm\\na,0.0,home\\na,0.5,water\\n")
    >>> import_table(file, {"state": "arm"}).data.state_names
    ('home', 'water')
    """
    sessions = of_identifiers(session_table.read_table(path, columns or {}, signals=signals, sheet=sheet))
    return _told(Imported(_legible(merge_stays(sessions) if merge else sessions), None))


_MANY_STATES, _FEW_OF_THEM = 1_000, 50


def of_identifiers(sessions: Trajectories) -> Trajectories:
    """Names in place of numbers that are no count, such as those of RFID readers: 2100, 2400, 2700.

    Numbers are states as they stand, from 0 on. Where they go beyond 1,000 and one in fifty of them occurs at most,
    they name things. An action that is the next state is named as it is.

    >>> read = of_identifiers(Trajectories([[2100, 2700, 2100]]))
    >>> read.state_names, read.states[0].tolist()
    (('state 2100', 'state 2700'), [0, 1, 0])
    >>> of_identifiers(Trajectories([[0, 80]])).n_states
    81
    """
    if sessions.state_names is not None or sessions.n_states <= _MANY_STATES:
        return sessions
    there, done = (np.unique(np.concatenate(labels)) for labels in (sessions.states, sessions.actions))
    if there[-1] < _FEW_OF_THEM * len(there):
        return sessions
    done = done[done != MISSING]
    are_states = sessions.action_names is None and done.size > 0 and np.isin(done, there).all()
    names = [f"{_RENAMED}{number}" for number in there.tolist()]
    renumbered = copy.copy(sessions)
    renumbered.states = [np.searchsorted(there, states) for states in sessions.states]
    if are_states:
        renumbered.actions = [
            np.where(actions == MISSING, MISSING, np.searchsorted(there, actions)) for actions in sessions.actions
        ]
    told = (
        f"{len(there)} numbers up to {there[-1]:,} are the states, so they name things and do not count them: "
        f"{there[0]} is called {names[0]!r}, and so on. For an environment of your own that has them as numbers, give "
        "your table as it is to swirl fit"
    )
    return renumbered.with_labels(
        state_names=names, action_names=names if are_states else None, notes=(*sessions.notes, told)
    )


def import_moseq(
    path: Any,
    *,
    fps: float | None = None,
    index: Any = None,
    syllable_info: Any = None,
    keep: list[str] | list[int] | None = None,
    min_usage: float = 0.005,
    like: Any = None,
    callback: Callable[[str], Any] | None = None,
) -> Imported:
    """Read keypoint-MoSeq's or MoSeq's syllables; those that the fit `like` knows, where one is given."""
    from swirl.io.moseq import files_of, read_moseq

    if like is not None:
        if keep is not None:
            raise ValueError("--keep and --like both say which syllables to keep: give one of them")
        keep = _states_of(like)
    say = _counted(len(files_of(Path(path), [], Faults())), callback)
    found = read_moseq(
        path, fps=fps, index=index, syllable_info=syllable_info, keep=keep, min_usage=min_usage, callback=say
    )
    if like is not None:
        told = f"the syllables to keep are the {len(keep or ())} of {Path(like).name}"
        found = found.with_labels(notes=[told, *found.notes])
    return _told(of_syllables(found))


def _states_of(fit: Any) -> list[str]:
    """Names of the states of a saved fit."""
    from swirl.estimators.registry import load

    env = load(fit).env
    if env is None:
        raise ValueError(f"--like {fit}: this model has no syllables; give a fit of syllables")
    names = list(env.state_names or map(str, range(env.n_states)))
    before = [name.removeprefix(_RENAMED) for name in names]
    return [old if legible(old) == name else name for old, name in zip(before, names, strict=True)]


def place_choice(
    grid: str | None = None,
    bounds: str | None = None,
    polygons: Any = None,
    nodes: Any = None,
    edges: Any = None,
    reach: float | None = None,
    diagonal: bool = False,
) -> Any:
    """The places that options describe: polygons, a graph's nodes, a grid, or (rows, columns) of one yet to be laid."""
    from swirl.io import places

    given = [name for name, value in (("--grid", grid), ("--polygons", polygons), ("--nodes", nodes)) if value]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        raise ValueError(
            f"places: got {got}; give just one of --grid 10x8, --polygons FILE, --nodes FILE with --edges FILE"
        )
    if diagonal and not grid:
        raise ValueError("--diagonal is of --grid: give the ways between other places with --edges")
    if polygons:
        return places.read_polygons(polygons, edges)
    if nodes:
        if not edges:
            raise ValueError("--nodes needs --edges: a CSV with columns from, to")
        # Along corridors: the nearest node may lie behind a wall.
        return places.read_nodes(nodes, edges, reach=reach, corridors=reach is None)
    try:
        rows, columns = (int(x) for x in str(grid).lower().replace("×", "x").split("x"))
    except ValueError:
        raise ValueError(f"--grid {grid}: expected rows x columns, as in --grid 10x8") from None
    if bounds is None:
        return rows, columns
    try:
        x0, x1, y0, y1 = (float(x) for x in bounds.split(","))
    except ValueError:
        raise ValueError(f"--bounds {bounds}: expected x_low,x_high,y_low,y_high, as in --bounds 0,40,0,30") from None
    return places.Grid(x=(x0, x1), y=(y0, y1), shape=(rows, columns), diagonal=diagonal)


def numbered_tracks(tracks: Sequence[Any]) -> tuple[str, ...]:
    """A note where animals are called track_0, track_1, …: numbers that a tracker gave, anew in each video.

    >>> from swirl.io.tracks import Track
    >>> numbered_tracks([Track("day 1", [0, 1], [[3, 4], [3, 5]], subject="m1")])
    ()
    """
    numbered = dict.fromkeys(str(t.subject) for t in tracks if re.fullmatch(r"track[ _]?\d+", str(t.subject), re.I))
    if not numbered:
        return ()
    return (
        f"BEWARE: {some([repr(name) for name in numbered])}: numbers of tracks, and not names of animals. An animal "
        "that was lost may have several, and one number may be another animal in the next video. Name the tracks where "
        "they were made, or say whose they are with --index FILE (CSV: name of the session, subject)",
    )


def without_ours(tracks: list[Any]) -> tuple[list[Any], tuple[str, ...]]:
    """Tracks without signals that are called as a column of our own table is, such as AnimalTA's State; and a note.

    >>> from swirl.io.tracks import Track
    >>> without_ours([Track("m1", [0, 1], [[3, 4], [3, 5]], signals={"State": np.ones(2)})])[1]
    ("Left out 'State': a table of sessions has a column of that name; rename yours to keep it as a signal.",)
    """
    ours = sorted({name for track in tracks for name in track.signals or {} if name.strip().casefold() in OURS})
    if not ours:
        return tracks, ()
    kept = [
        replace(track, signals={name: x for name, x in (track.signals or {}).items() if name not in ours} or None)
        for track in tracks
    ]
    told = f"Left out {some([repr(name) for name in ours])}: a table of sessions has a column of that name"
    return kept, (f"{told}; rename yours to keep it as a signal.",)


def with_signals(tracks: list[Any], wanted: list[str]) -> list[Any]:
    """Tracks with these signals only."""
    there = sorted({name for track in tracks for name in track.signals or {}})
    faults = Faults()
    for name in wanted:
        if name not in there:
            faults.add(f"signals: there is no {name!r} (--signals) among {some(there, 20)}{did_you_mean(name, there)}")
    faults.raise_if_any("The signals cannot be taken")
    return [
        replace(track, signals={name: track.signals[name] for name in wanted if name in (track.signals or {})} or None)
        for track in tracks
    ]


def ways_between(zones: "Polygons") -> tuple["Polygons", str]:
    """Join the polygons that touch where no edges were given, and say so; where some would be cut off, join all."""
    joined = zones.joined_where_they_touch()
    if joined is None:
        return zones, (
            "BEWARE: some zones touch no other, so a move between any two counts as possible, jumps of the tracking "
            "too; give the ways that there are with --edges FILE (CSV: from, to)"
        )
    n_pairs = len(joined.edges()) // 2
    return joined, f"ways between zones: the {n_pairs} pairs that touch; give --edges FILE (CSV: from, to) for others"


def _is_named_after(track: Any, path: Path) -> bool:
    """Whether a recording is called like its file, but for what DeepLabCut and SLEAP append to the video's name."""
    names = {track.name, without_animal(track.name, track.subject)}  # a file may be called after its animal
    rests = [path.stem.removeprefix(name) for name in names if path.stem.startswith(name)]
    return any(not rest or rest.startswith(("DLC", "DeepCut", ".")) for rest in rests)


def _fronts(files: Sequence[Path]) -> dict[Path, str]:
    """What stands in front of a name that several files have: the file's own, or as few folders as tell them apart.

    >>> for files in (["v.csv", "w.csv"], ["a/v.csv", "b/v.csv"], ["a/t/v.csv", "b/t/v.csv"]):
    ...     print(list(_fronts([Path(file) for file in files]).values()))
    ['v ', 'w ']
    ['a/', 'b/']
    ['a/t/', 'b/t/']
    """
    folders = {path: path.resolve().parts[:-1] for path in files}
    for n_folders in range(max(map(len, folders.values())) + 1):
        for own in (False, True):
            fronts = {
                path: "".join(f"{part}/" for part in parts[len(parts) - n_folders :]) + (f"{path.stem} " if own else "")
                for path, parts in folders.items()
            }
            if len(set(fronts.values())) == len(files):
                return fronts
    return {path: f"{parts[-1]}/" for path, parts in folders.items()}


def _told_apart(paths: Sequence[Any], read: Sequence[list[Any]]) -> list[Any]:
    """All tracks, those of one name with their file or folders in front; one video must not be there twice."""
    where: dict[str, dict[Path, Any]] = {}
    for path, tracks in zip(paths, read, strict=True):
        for track in tracks if isinstance(path, str | PathLike) else ():
            where.setdefault(track.name, {})[Path(path)] = track
    faults, front = Faults(), {}
    given = [str(Path(path)) for path in paths if isinstance(path, str | PathLike)]
    if twice := sorted({path for path in given if given.count(path) > 1}):
        faults.add(f"{some(twice)} is given more than once: give each file once")
    for name, files in where.items():
        own = [path for path, track in files.items() if _is_named_after(track, path)]
        if len({path.parent.resolve() for path in own}) < len(own):
            told = f"{' and '.join(map(str, own))} are of one recording, {name!r}"
            faults.add(f"{told}: give only one of them, or rename them if they are not")
        elif len(files) > 1:
            front[name] = _fronts(list(files))
    found, files = [], {}
    for path, tracks in zip(paths, read, strict=True):
        for track in tracks:
            if isinstance(path, str | PathLike):
                if track.name in front:
                    track = replace(track, name=front[track.name][Path(path)] + track.name)
                files.setdefault(track.name, {})[str(path)] = None
            found.append(track)
    for name, own in files.items():
        if len(own) > 1 and not len(faults):
            faults.add(f"{' and '.join(own)} would both be called {name!r}: rename one of them, or its folder")
    faults.raise_if_any("The tracks cannot be read")
    return found


def import_tracks(
    paths: Any,
    *,
    places: Any = None,
    grid: str | None = None,
    bounds: str | None = None,
    polygons: Any = None,
    nodes: Any = None,
    edges: Any = None,
    fps: float | None = None,
    keypoint: str | None = None,
    individual: str | None = None,
    min_confidence: float | None = None,
    reach: float | None = None,
    min_dwell: float = 0.0,
    max_break: float | None = None,
    on_skip: str = "gap",
    series: str | None = None,
    diagonal: bool = False,
    y_down: bool | None = None,
    index: Any = None,
    columns: Mapping[str, str] | None = None,
    unit: str | None = None,
    time_unit: str | None = None,
    sheet: str | None = None,
    signals: list[str] | None = None,
    callback: Callable[[str], Any] | None = None,
) -> Imported:
    """Read position tracks (DeepLabCut, SLEAP, movement, tables, NWB) as visits to places.

    Parameters
    ----------
    paths
        A file or an object that `Trajectories.from_tracks` takes, or a list of them.
    places
        `Grid`, `Polygons` or `Nodes` of `swirl.io.places`; or one of the following, as on the command line: `grid`
        ("8x8", with `bounds` "x0,x1,y0,y1"), `polygons` (a file), or `nodes` with `edges` (files).
    y_down
        None: y grows downwards in poses, which are in pixels of a video, and upwards in tables and NWB positions.
    signals
        The columns of a table to keep as signals; None: all numbers that are nothing else; []: none.
    callback
        It is called with a line of words before each of several files.

    Examples
    --------
    >>> import pandas as pd
    >>> walk = pd.DataFrame({"t": [0.0, 0.1, 0.2, 0.3], "x": [0.5, 0.6, 1.5, 1.5], "y": [0.5, 0.5, 0.5, 1.5]})
    >>> data, env = import_tracks(walk, grid="2x2", bounds="0,2,0,2")
    >>> [env.state_names[state] for state in data.states[0]]  # y grows upwards in a table, and r0c0 is at the top left
    ['r1c0', 'r1c1', 'r0c1']
    """
    paths = _listed(paths)
    from swirl.io.nwb.file import is_nwb
    from swirl.io.places import Grid
    from swirl.io.tracks import Track, read_tracks
    from swirl.io.visits import visits

    given = (grid, bounds, polygons, nodes, edges, reach, diagonal or None)
    if places is not None and any(value is not None for value in given):
        raise ValueError("places are given, so leave out grid, bounds, polygons, nodes, edges, reach and diagonal")
    where = place_choice(grid, bounds, polygons, nodes, edges, reach, diagonal) if places is None else places
    told: tuple[str, ...] = ()
    if polygons and not edges:
        where, note = ways_between(where)
        told = (note,)
    of_nwb = [path for path in paths if is_nwb(path)]
    found: list[Any] = [track for track in paths if isinstance(track, Track)]
    say = _counted(len(paths), callback)
    if of_nwb:
        from swirl.io.nwb.reading import read_nwb_tracks

        found += read_nwb_tracks(
            of_nwb, series=series, keypoint=keypoint, individual=individual, fps=fps, min_confidence=min_confidence,
            callback=say,
        )  # fmt: skip
    others = [path for path in paths if not is_nwb(path) and not isinstance(path, Track)]
    read = []
    for path in others:
        say(path)
        read.append(
            read_tracks(
                path, keypoint=keypoint, individual=individual, fps=fps, min_confidence=min_confidence, columns=columns,
                unit=unit, time_unit=time_unit, sheet=sheet,
            )
        )  # fmt: skip
    found += _told_apart(others, read)
    if signals is not None:
        found = with_signals(found, signals)
    else:
        found, left = without_ours(found)
        told += left
    told += () if index is not None else numbered_tracks(found)
    said = y_down is not None or (isinstance(where, Grid) and where.y_down)
    if y_down is None:
        y_down = said or all(track.y_down for track in found)
    if isinstance(where, tuple):
        where = Grid.around(found, where, diagonal, y_down=y_down)
        told += (where.edges_note(found),)
    elif isinstance(where, Grid):
        where = where.standing(y_down)
    sessions = visits(found, where, min_dwell=min_dwell, max_break=max_break, on_skip=on_skip)
    if not said:
        down = "y grows downwards, as in the pixels of a video, and maps stand as the video does; --y-up: upwards."
        up = "y grows upwards, as on a map; --y-down: downwards, as in the pixels of a video."
        told += (down if y_down else up,)
    if isinstance(where, Grid):
        former = "" if y_down else " (in tables of earlier versions, with y upwards: at the bottom left)"
        told += (f"Cells are called by row and column: r0c0 is at the top left of maps, as in swirl env grid{former}.",)
    sessions = sessions.with_labels(notes=(*told, *sessions.notes))
    return _told(of_visits(sessions if index is None else label_sessions(sessions, index), where, y_down=y_down))


def import_bouts(
    paths: Any,
    columns: Mapping[str, Any] | None = None,
    *,
    fps: float | None = None,
    priority: list[str] | None = None,
    pauses: str = "ignore",
    max_pause: float | None = None,
    drop: list[str] | None = None,
    points: bool = False,
    index: Any = None,
    sheet: str | None = None,
    callback: Callable[[str], Any] | None = None,
) -> Imported:
    """Read tables of bouts (BORIS, SimBA, …) or of labels per frame: one step per bout.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "bouts.csv"
    >>> _ = file.write_text("start,stop,label\\n0,2,rear\\n2,3,groom\\n3,5,rear\\n")
    >>> data, env = import_bouts(file)
    >>> data.state_names, env.n_actions
    (('groom', 'rear'), 2)
    """
    from swirl.io.bout_tables import read_bout_tables

    sessions = read_bout_tables(
        paths, columns, fps=fps, priority=priority, pauses=pauses, max_pause=max_pause, drop=drop, points=points,
        sheet=sheet, callback=_counted(len(_listed(paths)), callback),
    )  # fmt: skip
    return _told(of_syllables(sessions if index is None else label_sessions(sessions, index)))


def import_nwb(
    paths: Any,
    *,
    table: str | None = None,
    label: str | None = None,
    max_pause: float | None = None,
    index: Any = None,
    callback: Callable[[str], Any] | None = None,
) -> Imported:
    """Read labelled intervals of NWB files: one step per bout."""
    from swirl.io.nwb.reading import read_nwb_bouts

    say = _counted(len(_listed(paths)), callback)
    sessions = read_nwb_bouts(paths, table=table, label=label, max_pause=max_pause, callback=say)
    return _told(of_syllables(sessions if index is None else label_sessions(sessions, index)))
