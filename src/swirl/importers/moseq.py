"""keypoint-MoSeq and MoSeq results: `results.h5`, `moseq_df.csv`, or one CSV with a column `syllable` per recording.

The layout is known by what a file holds, not by its name.  HDF5 is checked (links, types, shapes) before anything is
read, and nothing is unpickled.
"""

from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from swirl.faults import Faults, some
from swirl.importers.moseq_hdf5 import CANNOT, checked_groups, from_hdf5
from swirl.importers.moseq_labels import by_number, groups, labels
from swirl.importers.moseq_tables import FRAMES, SECONDS, STAMPS, from_tables
from swirl.importers.sessions import Sessions
from swirl.importers.syllables import Recording, syllable_sessions

NOT_RECORDINGS = ("index.csv", "syll_info.csv", "stats_df.csv", "moseq_df.csv")


def read_moseq(
    path: str | PathLike[str],
    *,
    fps: float | int | None = None,
    index: Any = None,
    syllable_info: Any = None,
    keep: Any = None,
    least_usage: float | int = 0.005,
    shortest_run: int = 1,
    latents: bool = False,
) -> Sessions:
    """Read what MoSeq wrote: state = syllable, action = the next one (see `syllable_sessions`).

    Centroid, heading (averaged on the circle) and velocities become signals.  Times are seconds where the frame rate
    is known, else the file's own time stamps, else frame numbers.  The column `onset` of moseq_df.csv is not used:
    it runs on from one recording to the next.

    Parameters
    ----------
    path
        `results.h5`; `moseq_df.csv`; a CSV with a column `syllable` (one recording); or a folder with one of these, or
        with one CSV per recording.
    fps
        Frames per second; it goes before what the file says (moseq_df.csv says it since keypoint-MoSeq 0.8).
    index
        A CSV with columns `name` and `group` (and `subject`, if there is one), or a dict, name → group. None: the
        project's `index.csv` is looked for beside the file and one folder up.
    syllable_info
        A CSV with columns `syllable` and `label`, or a dict, syllable → name. None: `syll_info.csv` is looked for
        beside the file.
    keep, least_usage, shortest_run
        Which syllables and runs become steps, as in `syllable_sessions`; `keep` takes names of syllables too.
    latents
        Read the latent state too, as the signal "latent_state".

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
    files = _files(Path(path), notes, faults)
    faults.raise_if_any(CANNOT)
    recordings: Iterable[Recording]
    if _is_hdf5(files[0], faults):
        layout, names = "results of keypoint-MoSeq (HDF5)", checked_groups(files[0], latents, faults)
        units = dict.fromkeys(names.values(), FRAMES if fps is None else SECONDS)
        recordings = from_hdf5(files[0], names, fps, latents)
    else:
        layout, recordings, units = from_tables(files, fps, latents, notes, faults)
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
        least_usage=least_usage,
        names=called,
        shortest_run=shortest_run,
    )
    if FRAMES in kinds:
        notes.append("BEWARE: times and durations are in frames, as the frame rate is not known: give fps (--fps)")
    elif STAMPS in kinds:
        notes.append("times and durations are in the unit of the file's time stamps")
    return replace(sessions, notes=(f"read {where} as {layout}", *notes, *sessions.notes))


def _files(path: Path, notes: list[str], faults: Faults) -> list[Path]:
    """Find the file, or the files of recordings, that a path stands for."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        faults.add(f"{path}: there is no such file or folder; give results.h5, moseq_df.csv or a folder of CSV files")
        return []
    whole = [path / name for name in ("results.h5", "moseq_df.csv") if (path / name).is_file()]
    if len(whole) > 1:
        notes.append(f"{whole[1]} is there as well and was not read; give its path to read it instead")
    if whole:
        return whole[:1]
    for folder in (path, path / "results"):
        found = folder.iterdir() if folder.is_dir() else ()
        tables = [x for x in found if x.suffix.lower() == ".csv" and not x.name.startswith(".")]
        if ours := sorted(x for x in tables if x.name not in NOT_RECORDINGS):
            return ours
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
