"""keypoint-MoSeq and MoSeq results: `results.h5`, `moseq_df.csv`, or one CSV with a column `syllable` per recording.

The layout is known by what a file holds, not by its name.  HDF5 is checked (links, types, shapes) before anything is
read, and nothing is unpickled.  Groups of recordings (`index.csv`) and names of syllables (`syll_info.csv`) are read
where they lie beside the results.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swirl.data.trajectories import Trajectories
from swirl.errors import Faults, renamed
from swirl.io import hdf5
from swirl.io.label_runs import Recording, syllable_sessions
from swirl.io.open_table import open_table
from swirl.io.session_index import Labels, found_in, read_index
from swirl.io.text_file import PICKLED, beginning
from swirl.io.text_table import as_numbers
from swirl.io.text_table import number as number_in
from swirl.text import numbered, some

CANNOT = "The MoSeq results cannot be read"
DAMAGED = "cannot be read as HDF5; it may be damaged or cut short: copy it again"

AXES = ("centroid_x", "centroid_y", "centroid_z")

OF_KEYPOINTS = "results.h5, the folder of the model or of the project, or moseq_df.csv"
OF_DEPTH = "the table that `moseq2-viz make-df` writes"

FOREIGN = (
    (("nwb_version",), "an NWB file: read it as NWB"),
    (("model_snapshots",), "a checkpoint of keypoint-MoSeq: give the results.h5 that it wrote"),
    (("tracks", "node_names"), "a SLEAP file, with positions and no syllables: read it as tracks"),
    (("instances", "points"), "a SLEAP project, with positions and no syllables: read it as tracks"),
    (("frames", "scalars"), f"an extraction of MoSeq2 (results_00.h5), without syllables: give {OF_DEPTH}"),
    (("scores", "scores_idx"), f"MoSeq2's principal components (pca_scores.h5), without syllables: give {OF_DEPTH}"),
    (("cps", "cps_score"), f"MoSeq2's changepoints, without syllables: give {OF_DEPTH}"),
    (("labels", "model_parameters"), f"a model of MoSeq2: give {OF_DEPTH}"),
)
"""Names at the top of an HDF5 file that show it to be of another kind."""

SETTINGS = (
    (rb"(ar_hypparams|anterior_bodyparts):", f"the configuration of a keypoint-MoSeq project: give {OF_KEYPOINTS}"),
    (rb"files:\s", f"MoSeq2's index of sessions: give {OF_DEPTH}"),
    (rb"parameters:\s", f"MoSeq2's record of an extraction: give {OF_DEPTH}"),
    (rb" +sorted_id:", f"MoSeq2's list of names of syllables: give {OF_DEPTH}"),
    (rb"", f"YAML, which has settings and no syllables: give {OF_KEYPOINTS}; of MoSeq2, {OF_DEPTH}"),
)
"""How a line of a YAML file begins, and what the file is then."""


def without_syllables(file: Path) -> str | None:
    """Say what a file is that MoSeq or its user wrote and that can hold no syllables as we read them; else None.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "config.yml")
    ...     _ = file.write_text("fps: 30\\nar_hypparams:\\n  nlags: 3\\n")
    ...     without_syllables(file)[:45]
    'the configuration of a keypoint-MoSeq project'
    """
    if beginning(file).startswith(PICKLED):
        told = "a pickle, as models of MoSeq2 are (model.p): it is never opened, as it may run any program"
        return f"{told}. Give {OF_DEPTH}; of keypoint-MoSeq, {OF_KEYPOINTS}"
    if file.suffix.lower() not in (".yml", ".yaml"):
        return None
    with file.open("rb") as opened:
        head = opened.read(2**16)
    return next(kind for mark, kind in SETTINGS if re.search(rb"(?m)^" + mark, head))


def checked_groups(file: Path, latents: bool, faults: Faults) -> dict[str, str]:
    """Find the recordings, HDF5 path → name, and check their arrays without reading them.

    >>> from tempfile import TemporaryDirectory
    >>> import h5py
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "results.h5")
    ...     with h5py.File(file, "w") as results:
    ...         results["m1/syllable"] = [3, 3, 5]
    ...     checked_groups(file, False, Faults())
    {'/m1': 'm1'}
    """
    import h5py

    names: dict[str, str] = {}
    with hdf5.explained(file, DAMAGED), h5py.File(file, "r") as results:
        if (kind := _foreign(results)) is not None:
            faults.add(f"{file} is {kind}")
            return names
        stack: list[Any] = [results]
        visited = set()
        while stack:
            group = stack.pop()
            if group in visited:  # a hostile file can hold itself
                continue
            visited.add(group)
            if "syllable" in group:
                names[group.name] = group.name.strip("/") or file.stem
                _check_arrays(file, group, latents, faults)
                continue
            solid = [key for key in group if _is_here(file, group, key, faults)]
            inner = [x for key in solid if isinstance(x := group[key], h5py.Group)]
            if not inner:
                held = f"{file}: {group.name} holds {some(list(group)) or 'nothing'}, and no 'syllable'"
                faults.add(f"{held}: expected /<recording>/syllable, as keypoint-MoSeq writes results.h5")
            stack += reversed(inner)
    return names


def _foreign(results: Any) -> str | None:
    """Say what else a file is; None for results of MoSeq.  Attributes are asked for by name, never read."""
    for marks, kind in FOREIGN:
        if {*results, *results.attrs}.issuperset(marks):
            return kind
    import h5py

    here = [key for key in results if isinstance(results.get(key, getlink=True), h5py.HardLink)]
    if any("pandas_type" in results[key].attrs for key in here):
        return "a table that pandas wrote, as DeepLabCut does, with positions and no syllables: read it as tracks"
    return None


def _is_here(file: Path, group: Any, key: str, faults: Faults) -> bool:
    """Refuse what is only pointed to: a link can lead to any other file of the user."""
    away = hdf5.elsewhere(group, key)
    if away:
        faults.add(f"{file}: {group.name.rstrip('/')}/{key} is a link or lies in another file: copy the data into it")
    return not away


def _check_arrays(file: Path, group: Any, latents: bool, faults: Faults) -> None:
    """Check types and shapes of the arrays of one recording, by what the file says of them."""
    lengths: dict[str, int] = {}
    for key in ("syllable", "centroid", "heading", *["latent_state"] * latents):
        if key not in group or not _is_here(file, group, key, faults):
            continue
        at, array = f"{file}: {group.name.rstrip('/')}/{key}", group[key]
        shape, kind = getattr(array, "shape", None), getattr(getattr(array, "dtype", None), "kind", "group")
        if shape is None or kind not in "iuf":
            held = "no value" if kind in "iuf" else getattr(array, "dtype", "a group")
            faults.add(f"{at} holds {held}: expected numbers; objects are not read")
        elif len(shape) != (2 if key in ("centroid", "latent_state") else 1):
            faults.add(f"{at} has shape {shape}: expected one {'row' if len(shape) == 1 else 'number'} per frame")
        elif key == "centroid" and shape[1] not in (2, 3):
            faults.add(f"{at} has shape {shape}: expected 2 or 3 columns (x, y, z)")
        elif (told := hdf5.claim([array])) is not None:
            faults.add(f"{at} {told}")
        else:
            lengths[key] = shape[0]
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{key} {n:,}" for key, n in lengths.items())
        faults.add(
            f"{file}: {group.name} has arrays of different lengths ({told}): expected one entry per frame in each"
        )


def from_hdf5(file: Path, names: dict[str, str], fps: float | int | None, latents: bool) -> Iterator[Recording]:
    """Read one recording at a time.

    >>> from tempfile import TemporaryDirectory
    >>> import h5py
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "results.h5")
    ...     with h5py.File(file, "w") as results:
    ...         results["m1/syllable"] = [3, 3, 5]
    ...     [(read.name, read.times) for read in from_hdf5(file, {"/m1": "m1"}, 2, False)]
    [('m1', array([0. , 0.5, 1. ]))]
    """
    import h5py

    with h5py.File(file, "r") as results:
        for at, name in names.items():
            group: Any = results[at]
            with hdf5.explained(file, f"is damaged in {at}: copy it again"):
                read = {key: group[key][()] for key in ("syllable", "centroid", "heading") if key in group}
                latent = {key: group[key][()] for key in ("latent_state",) if latents and key in group}
            centroid = read["centroid"].T if "centroid" in read else ()
            yield Recording(
                name,
                read["syllable"],
                np.arange(len(read["syllable"])) / (fps or 1),
                signals=dict(zip(AXES, centroid, strict=False)) | latent,
                angles={"heading": read["heading"]} if "heading" in read else None,
                source=f"{file}: {at}",
            )


OF_MOSEQ2 = ("centroid_x_mm", "centroid_y_mm", "height_ave_mm", "velocity_2d_mm", "velocity_3d_mm")
SIGNALS = (*AXES, "angular_velocity", "velocity_px_s", "velocity_mm_s", *OF_MOSEQ2)
CLOCKS = ("timestamp", "timestamps", "time")
COUNTS = ("syllable_index", "frame_index")
"""Numbers of frames. MoSeq2's syllable index counts the frames that the camera lost too; its frame index is blank."""
NUMBERS = ("syllable", *COUNTS, "fps", "heading", *SIGNALS, *CLOCKS)
TEXTS = ("name", "group", "subject", "label")
OF_STATISTICS = ("frequency", "usage")
"""Columns of a table with a row per syllable: how often it was used, in keypoint-MoSeq and in MoSeq2."""
SECONDS, STAMPS, FRAMES = "seconds", "time stamps", "frames"


def from_tables(
    files: list[Path],
    fps: float | int | None,
    project: "Rate | None",
    latents: bool,
    notes: list[str],
    faults: Faults,
    callback: Callable[[Path], Any] | None = None,
) -> tuple[str, list[Recording], dict[str, str]]:
    """Read CSV files: the layout, the recordings, and the unit of each one's times."""
    layout, recordings, units = "one CSV per recording", [], {}
    for file in files:
        if callback is not None:
            callback(file)

        def wanted(column: str) -> bool:
            return column in (*NUMBERS, *OF_STATISTICS, *TEXTS) or (latents and column.startswith("latent_state"))

        table = _read_table(file, wanted, ("syllable",), notes, faults)
        if table is None:
            continue
        if any(column in table for column in OF_STATISTICS):
            held = "has a row per syllable, not per frame, as stats_df.csv has"
            faults.add(f"{file} {held}: give moseq_df.csv (of MoSeq2, {OF_DEPTH})")
            continue
        if "label" in table and "name" not in table and not table["syllable"].duplicated().any():
            held = "has names of syllables, as syll_info.csv has, and no recording"
            faults.add(f"{file} {held}: give results.h5, and this as syllable_info (--syllable-info)")
            continue
        columns = {name: _numbers(file, table, name, faults) for name in table if name not in TEXTS}
        fractional = np.flatnonzero(np.floor(columns["syllable"]) < columns["syllable"])
        if fractional.size:
            got = f"{file}, {lines_of(table, fractional)}, column 'syllable': {columns['syllable'][fractional[0]]}"
            faults.add(f"{got}: expected whole numbers, negative or blank where there is no syllable")
        parts = [(file.stem, np.arange(len(table)))]
        if "name" in table:
            layout, parts = "a table of recordings (moseq_df.csv)", _by_name(file, table, faults)
        for name, rows in parts:
            mine = {column: values[rows] for column, values in columns.items()}
            times, units[name] = _times(file, table, name, rows, mine, fps, project, notes, faults)
            told: dict[str, Any] = {}
            for role in ("subject", "group"):
                found = table[role].iloc[rows].dropna().unique().tolist() if role in table else []
                told[role] = found[0] if found else None
                if len(found) > 1:
                    faults.add(f"{file}: recording {name!r} is in several {role}s ({some(found)}): give it one")
            signals = {column: mine[column] for column in SIGNALS if column in mine}
            if deep := [column for column in mine if column.startswith("latent_state")]:
                signals["latent_state"] = np.stack([mine[column] for column in deep], axis=1)
            angles = {"heading": mine["heading"]} if "heading" in mine else None
            source, syllables = f"{file}: {name!r}", mine["syllable"]
            recordings.append(Recording(name, syllables, times, **told, signals=signals, angles=angles, source=source))
    return layout, recordings, units


ALSO_CALLED = {"labels_(usage_sort)": "syllable", "uuid": "name", "SubjectName": "subject"}
"""Columns of MoSeq2's table of scalars."""


def _read_table(
    file: Path, wanted: Callable[[str], bool], required: tuple[str, ...], notes: list[str], faults: Faults
) -> Any:
    """Read the wanted columns (spaces in their names become "_"), indexed by their lines; None after a fault."""
    import pandas as pd

    opened = open_table(file, blank_rows=True)
    notes += [note for note in opened.notes if note not in notes]
    header = [name.strip() for name in opened.header]
    plain = {i: "_".join(column.split()) for i, column in enumerate(header)}
    plain = {i: ALSO_CALLED.get(name, name) if ALSO_CALLED.get(name) not in plain.values() else name
             for i, name in plain.items()}  # fmt: skip
    if lacking := [column for column in required if column not in plain.values()]:
        faults.add(f"{file} has the columns {some(header)}: expected a column {some(lacking)}")
        return None
    chosen = {i: name for i, name in reversed(plain.items()) if wanted(name)}
    read = opened.columns({i: "names" if name in TEXTS else "measured" for i, name in chosen.items()})
    table = pd.DataFrame({chosen[i]: series.to_numpy(object) if chosen[i] in TEXTS else series.to_numpy()
                          for i, series in read.items()}, index=opened.lines)  # fmt: skip
    filled = np.flatnonzero(table.notna().any(axis=1).to_numpy())
    return table.iloc[: filled[-1] + 1 if filled.size else 0]  # without the blank lines at the end


def _numbers(file: Path, table: Any, column: str, faults: Faults) -> np.ndarray:
    """Read a column as floats; NaN where it is blank."""
    values, wrong = as_numbers(table[column])
    if wrong.size:
        got = f"{file}, {lines_of(table, wrong)}, column {column!r}: {table[column].iloc[wrong[0]]!r}"
        faults.add(f"{got} is not a number; correct it, or leave it blank")
    return values


def lines_of(table: Any, rows: np.ndarray) -> str:
    """Name the lines of rows as an editor or a spreadsheet counts them: the index of the table."""
    return numbered("line", table.index[rows].tolist())


def _by_name(file: Path, table: Any, faults: Faults) -> list[tuple[str, np.ndarray]]:
    """Find the rows of each recording, in the order in which they first appear."""
    import pandas as pd

    blank = np.flatnonzero((table["name"].isna() & table["syllable"].notna()).to_numpy())
    if blank.size:
        faults.add(f"{file}, {lines_of(table, blank)}, column 'name': blank; give the name of the recording")
    by_name = pd.Series(np.arange(len(table))).groupby(table["name"].to_numpy(), sort=False)
    return [(str(name), rows.to_numpy()) for name, rows in by_name]


def _times(
    file: Path,
    table: Any,
    name: str,
    rows: np.ndarray,
    columns: dict[str, np.ndarray],
    fps: float | int | None,
    project: "Rate | None",
    notes: list[str],
    faults: Faults,
) -> tuple[np.ndarray, str]:
    """Find the times of one recording's frames, and their unit."""
    said = np.unique(columns["fps"][~np.isnan(columns["fps"])]) if "fps" in columns else np.zeros(0)
    if fps is None and (len(said) > 1 or (said <= 0).any()):
        faults.add(f"{file}: recording {name!r} has the frame rates {some(said.tolist())}: give fps (--fps)")
    if fps is not None and len(said) and (said != fps).any():
        note = f"used fps={fps:g}, although {file} says {some(said.tolist())}"
        if any("velocity" in column for column in columns):
            note += "; its velocities were computed with that rate"
        notes += [note] * (note not in notes)
    rate = fps
    if fps is None:
        own = None if not len(said) else Rate(float(said[0]), file, {"name", "frame_index"} <= {*table})
        rate = rate_of([each for each in (own, project) if each is not None], notes)
    clock = next((column for column in CLOCKS if column in columns), None) if rate is None else None
    clock = clock or next((column for column in COUNTS if column in columns), None)
    times = np.arange(len(rows), dtype=float) if clock is None else columns[clock]
    with np.errstate(invalid="ignore"):  # ∞ − ∞ is caught as not finite
        late = np.flatnonzero(~np.isfinite(times) | (np.diff(times, prepend=-np.inf) <= 0))
    if late.size:
        faults.add(
            f"{file}, {lines_of(table, rows[late])}, column {clock!r}: blank, or not above the one before in {name!r}"
        )
    unit = SECONDS if rate is not None else STAMPS if clock in CLOCKS else FRAMES
    return times / (rate or 1), unit


UNASSIGNED = "default"
"""Group of every recording in a new index.csv of keypoint-MoSeq."""


def groups(index: Any, folder: Path, names: set[str], notes: list[str], faults: Faults) -> Labels:
    """Read group (and subject) by recording."""
    if isinstance(index, Mapping):
        file, listed = "index", {str(name): {"group": group} for name, group in index.items()}
    else:
        model = folder.resolve().parent if folder.name == "results" else folder.resolve()
        places = [folder, model, model.parent]
        file, listed = _side_table(index, "index.csv", places, read_index, notes, faults)
        if listed is None:
            return {}
    found = found_in(listed, names)
    if names and not found:
        known = f"{some(sorted(listed)) or 'no recording'}; the recordings are {some(sorted(names))}"
        if index is None:
            notes.append(f"did not use {file}: it names {known}")
            return {}
        faults.add(f"{file} names {known}: give it their names")
    elif index is None:
        unset = {listed[own].get("group") for own in found.values()} == {UNASSIGNED}
        said = f": {UNASSIGNED!r} for all, which keypoint-MoSeq writes until groups are assigned" if unset else ""
        notes.append(f"groups are from {file}{said}")
    if lacking := sorted(names - set(found)):
        notes.append(f"{file} names no group for {some(lacking)}")
    return {name: listed[own] for name, own in found.items()}


def labels(syllable_info: Any, folder: Path, notes: list[str], faults: Faults) -> dict[int, str]:
    """Read names by syllable; blank ones are left out."""
    if isinstance(syllable_info, Mapping):
        return dict(syllable_info)
    places = [folder, folder.resolve().parent] if folder.name == "results" else [folder]

    def read(file: Path, doubts: Faults) -> Any:
        return _read_table(file, ("syllable", "label").__contains__, ("syllable", "label"), notes, doubts)

    file, table = _side_table(syllable_info, "syll_info.csv", places, read, notes, faults)
    if file is None or table is None:
        return {}
    before, numbers = len(faults), _numbers(file, table, "syllable", faults)
    if (wrong := np.flatnonzero(~np.isfinite(numbers) | (np.floor(numbers) < numbers))).size and len(faults) == before:
        faults.add(f"{file}, {lines_of(table, wrong)}, column 'syllable': expected whole numbers")
    names = table["label"].astype(object).where(table["label"].notna(), "")
    if not any(str(name).strip() for name in names):
        notes.append(f"{file} has no names yet, so syllables are called by their numbers")
    elif syllable_info is None:
        notes.append(f"names of syllables are from {file}")
    return {int(n): str(name) for n, name in zip(numbers, names, strict=True) if len(faults) == before}


def _side_table(
    given: Any, name: str, places: list[Path], read: Callable[[Path, Faults], Any], notes: list[str], faults: Faults
) -> tuple[Path | None, Any]:
    """The small table that was given, or lies in one of the places: its file and what it holds, None without any.

    One that does not serve is a fault where it was given, and only noted where it was found.
    """
    there = (place / name for place in places if (place / name).is_file())
    file = next(there, None) if given is None else Path(given)
    if file is None:
        return None, None
    doubts, found = Faults(), None
    try:
        found = read(file, doubts)
    except ValueError as error:
        doubts.add(str(error))
    if given is not None:
        faults.messages += doubts.messages
    elif len(doubts):
        notes.append(f"did not use {file}: {doubts.messages[0]}")
    return file, None if len(doubts) else found


def by_number(keep: Any, called: dict[int, str] | None, faults: Faults) -> Any:
    """Syllables to keep by their numbers, where some were given by their names (or by numbers in text).

    >>> by_number(["walk", "7", 2], {4: "walk"}, Faults())
    [4, 7, 2]
    """
    if keep is None or isinstance(keep, str) or not any(isinstance(label, str) for label in keep):
        return keep
    numbers: dict[str, int] = {}
    for number, name in (called or {}).items():  # syllables that share a name are told apart by their number
        alone = list(called.values()).count(name) == 1 if called else True
        if name.strip():
            numbers[name.strip() if alone else f"{name.strip()} ({number})"] = number
    found = [int(x) if isinstance(x, str) and x.isdecimal() and x not in numbers else numbers.get(x, x) for x in keep]
    unknown = [repr(label) for label in found if isinstance(label, str)]
    if unknown:
        names = f"the names are {some(list(numbers), 10)}; name the others with"
        if not numbers:
            names = "syllables have numbers only, and no names: name them with"
        faults.add(
            f"there is no syllable {some(unknown)} to keep: {names} syllable_info (--syllable-info syll_info.csv)"
        )
    return [label for label in found if not isinstance(label, str)]


WHOLE = ("results.h5", "moseq_df.csv", "moseq_df.parquet")
NOT_RECORDINGS = ("index.csv", "syll_info.csv", "stats_df.csv", "moseq_df_stats.csv", *WHOLE)


@renamed(least_usage="min_usage", shortest_run="min_run")
def read_moseq(
    path: str | PathLike[str],
    *,
    fps: float | int | None = None,
    index: Any = None,
    syllable_info: Any = None,
    keep: Any = None,
    min_usage: float | int = 0.005,
    min_run: int = 1,
    latents: bool = False,
    callback: Callable[[Path], Any] | None = None,
) -> Trajectories:
    """Read what MoSeq wrote: state = syllable, action = the next one (see `syllable_sessions`).

    Centroid, heading (averaged on the circle) and velocities become signals.  Times are seconds where the frame rate
    is known, else the file's own time stamps, else frame numbers.  The column `onset` of moseq_df.csv is not used:
    it runs on from one recording to the next.

    Parameters
    ----------
    path
        `results.h5`; `moseq_df.csv`; MoSeq2's table of scalars (Parquet or CSV); a CSV with a column `syllable` (one
        recording); or a folder with one of these, or with one CSV per recording.
    fps
        Frames per second of the video; it goes before what the file or the project's config.yml says (since
        keypoint-MoSeq 0.8). There 30 stands unless somebody has changed it, so that 30 is taken with a warning.
    index
        A CSV with columns `name`, and `group` or `subject` or both, or a dict, name → group. None: the project's
        `index.csv` is looked for beside the file and one folder up.
    syllable_info
        A CSV with columns `syllable` and `label`, or a dict, syllable → name. None: `syll_info.csv` is looked for
        beside the file.
    keep, min_usage, min_run
        Which syllables and runs become steps, as in `syllable_sessions`; `keep` takes names of syllables too.
    latents
        Read the latent state too, as the signal "latent_state".
    callback
        Called with each CSV file before it is read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "m1.csv").write_text("syllable,heading\\n3,0\\n3,0\\n5,1\\n3,2\\n", encoding="utf-8")
    ...     sessions = read_moseq(folder, fps=2)
    >>> sessions.names, sessions.states[0], sessions.times[0]
    (('m1',), array([0, 1, 0]), array([0. , 1. , 1.5]))
    """
    faults, notes = Faults(), []
    if fps is not None and not (np.isfinite(fps) and fps > 0):
        faults.add(f"fps={fps}: give frames per second, a number above 0")
    files = files_of(Path(path), notes, faults)
    if files and (kind := without_syllables(files[0])) is not None:
        faults.add(f"{files[0]} is {kind}")
    faults.raise_if_any(CANNOT)
    project = project_rate(files[0].parent) if fps is None else None
    recordings: Iterable[Recording]
    if _is_hdf5(files[0], faults):
        rate = fps if project is None else rate_of([project], notes)
        layout, names = "results of keypoint-MoSeq (HDF5)", checked_groups(files[0], latents, faults)
        units = dict.fromkeys(names.values(), FRAMES if rate is None else SECONDS)
        recordings = from_hdf5(files[0], names, rate, latents)
    else:
        layout, recordings, units = from_tables(files, fps, project, latents, notes, faults, callback)
    told = groups(index, files[0].parent, set(units), notes, faults)
    called = labels(syllable_info, files[0].parent, notes, faults)
    keep = by_number(keep, called, faults)
    where = files[0] if len(files) == 1 else f"{len(files)} files in {files[0].parent}"
    if len(kinds := dict.fromkeys(units.values())) > 1:
        which = ", ".join(f"{kind} in {some([name for name in units if units[name] == kind])}" for kind in kinds)
        faults.add(f"{where}: times are {which}: give fps (--fps), so that all are seconds")
    faults.raise_if_any(CANNOT)

    sessions = syllable_sessions(
        (replace(recording, **told.get(recording.name, {})) for recording in recordings),
        keep=keep,
        min_usage=min_usage,
        names=called,
        min_run=min_run,
    )
    if len(set(sessions.groups) - {None}) > 1 and set(sessions.subjects) == {None}:
        notes.append(
            "which animal each recording is of is not known, and groups are compared by animal: give it in the column "
            "subject of index.csv"
        )
    if FRAMES in kinds:
        notes.append("BEWARE: times and durations are in frames, as the frame rate is not known: give fps (--fps)")
    elif STAMPS in kinds:
        notes.append(
            "times and durations are in the unit of the file's time stamps (of MoSeq2: milliseconds): give fps (--fps) "
            "to have seconds"
        )
    return sessions.with_labels(notes=[f"read {where} as {layout}", *notes, *sessions.notes])


UNCHANGED = 30.0
"""Frames per second that keypoint-MoSeq writes unless it is told another rate."""


class Rate(NamedTuple):
    """Frames per second, the file that says so, and whether keypoint-MoSeq writes 30 there of itself."""

    fps: float
    file: Path
    by_default: bool

    @property
    def doubtful(self) -> bool:
        """Whether nobody may have looked at it."""
        return self.by_default and self.fps == UNCHANGED


def project_rate(folder: Path) -> Rate | None:
    """The frame rate in the config.yml of a keypoint-MoSeq project (since 0.8), in the folder or up to two above it."""
    places = [folder.resolve(), *folder.resolve().parents][:3]
    for file in (place / "config.yml" for place in places):
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        told = re.search(r"(?m)^fps:[ \t]*([0-9.]+)[ \t]*(#.*)?$", text)
        if told and number_in(told[1]) > 0:
            return Rate(number_in(told[1]), file, True)
    return None


def rate_of(rates: list[Rate], notes: list[str]) -> float | None:
    """The frame rate, by the files that tell one: the first that somebody has set; and a note on where it is from.

    >>> notes = []
    >>> rate_of([Rate(30, Path("moseq_df.csv"), True), Rate(60, Path("config.yml"), True)], notes)
    60
    >>> notes[0][:67]
    'BEWARE: the frame rate is 30 in moseq_df.csv and 60 in config.yml: '
    """
    if not rates:
        return None
    taken = next((rate for rate in rates if not rate.doubtful), rates[0])
    if len({rate.fps for rate in rates}) > 1:
        told = " and ".join(f"{rate.fps:g} in {rate.file}" for rate in rates)
        why = ", as 30 is what keypoint-MoSeq writes unless it is told" if any(rate.doubtful for rate in rates) else ""
        note = f"BEWARE: the frame rate is {told}: took {taken.fps:g}{why}. Give the one of the video with fps (--fps)"
    elif taken.doubtful:
        note = (
            f"BEWARE: took {taken.fps:g} frames per second, from {taken.file}. keypoint-MoSeq writes 30 unless it is "
            "told another rate: if the video has another, all times and durations here are wrong. Give the rate of "
            "the video with fps (--fps), also where it is 30"
        )
    else:
        note = f"frames per second: {taken.fps:g}, from {taken.file}"
    notes += [note] * (note not in notes)
    return taken.fps


def files_of(path: Path, notes: list[str], faults: Faults) -> list[Path]:
    """Find the file, or the files of recordings, that a path stands for."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        faults.add(f"{path}: there is no such file or folder; give results.h5, moseq_df.csv or a folder of CSV files")
        return []
    whole = [path / name for name in WHOLE if (path / name).is_file()]
    if len(whole) > 1:
        notes.append(f"{whole[1]} is there as well and was not read; give its path to read it instead")
    if whole:
        return whole[:1]
    for folder in (path, path / "results"):
        found = folder.iterdir() if folder.is_dir() else ()
        tables = [x for x in found if x.suffix.lower() == ".csv" and not x.name.startswith(".")]
        if ours := sorted(x for x in tables if x.name not in NOT_RECORDINGS):
            return ours
    models = sorted({x.parent.name for name in WHOLE for x in path.glob(f"*/{name}")})
    if len(models) == 1:  # a project with one model
        return files_of(path / models[0], notes, faults)
    if models:
        faults.add(f"{path} is a project with the results of {some(models, 8)}: give one of these folders")
        return []
    faults.add(f"{path} holds no results.h5, no moseq_df.csv and no CSV files of recordings: give another folder")
    return []


def _is_hdf5(file: Path, faults: Faults) -> bool:
    """Tell by the signature, not by the name."""
    import h5py

    is_one = bool(h5py.is_hdf5(file))
    if not is_one and file.suffix.lower() in (".h5", ".hdf5"):
        faults.add(f"{file} is not an HDF5 file, whatever its name says; it may be damaged: copy it again")
        faults.raise_if_any(CANNOT)
    return is_one
