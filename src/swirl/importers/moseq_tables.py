"""MoSeq's tables: `moseq_df.csv`, or one CSV with a column `syllable` per recording."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from swirl.faults import Faults, some
from swirl.importers.moseq_hdf5 import AXES
from swirl.importers.syllables import Recording

SIGNALS = (*AXES, "angular_velocity", "velocity_px_s", "velocity_mm_s")
CLOCKS = ("timestamp", "timestamps", "time")
NUMBERS = ("syllable", "frame_index", "fps", "heading", *SIGNALS, *CLOCKS)
TEXTS = ("name", "group", "subject", "label")
BLANK = ["", "nan", "NaN", "NAN", "NA", "N/A", "null", "None"]


SECONDS, STAMPS, FRAMES = "seconds", "time stamps", "frames"


def from_tables(
    files: list[Path], fps: float | int | None, latents: bool, notes: list[str], faults: Faults
) -> tuple[str, list[Recording], dict[str, str]]:
    """Read CSV files: the layout, the recordings, and the unit of each one's times."""
    layout, recordings, units = "one CSV per recording", [], {}
    for file in files:

        def wanted(column: str) -> bool:
            return column in (*NUMBERS, "frequency", "name", "group") or (latents and column.startswith("latent_state"))

        table = read_columns(file, wanted, ("syllable",), faults)
        if table is None:
            continue
        if "frequency" in table:
            faults.add(f"{file} has a row per syllable, not per frame, as stats_df.csv has: give moseq_df.csv")
            continue
        columns = {name: numbers_of(file, table, name, faults) for name in table if name not in TEXTS}
        fractional = np.flatnonzero(np.floor(columns["syllable"]) < columns["syllable"])
        if fractional.size:
            got = f"{file}, {lines_of(fractional)}, column 'syllable': {columns['syllable'][fractional[0]]}"
            faults.add(f"{got}: expected whole numbers, negative or blank where there is no syllable")
        parts = [(file.name.removesuffix(file.suffix), np.arange(len(table)))]
        if "name" in table:
            layout, parts = "a table of recordings (moseq_df.csv)", _by_name(file, table, faults)
        for name, rows in parts:
            mine = {column: values[rows] for column, values in columns.items()}
            times, units[name] = _times(file, name, rows, mine, fps, notes, faults)
            groups = table["group"].iloc[rows].dropna().unique().tolist() if "group" in table else []
            if len(groups) > 1:
                faults.add(f"{file}: recording {name!r} is in several groups ({some(groups)}): give it one")
            signals = {column: mine[column] for column in SIGNALS if column in mine}
            if deep := [column for column in mine if column.startswith("latent_state")]:
                signals["latent_state"] = np.stack([mine[column] for column in deep], axis=1)
            angles = {"heading": mine["heading"]} if "heading" in mine else None
            group = groups[0] if groups else None
            found = Recording(name, mine["syllable"], times, None, group, signals, angles, f"{file}: {name!r}")
            recordings.append(found)
    return layout, recordings, units


def read_columns(file: Path, wanted: Callable[[str], bool], required: tuple[str, ...], faults: Faults) -> Any:
    """Read the wanted columns (spaces in their names become "_"); None after a fault."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header: not to be cut
            # Blank lines are rows, so that lines are counted as an editor counts them.
            as_text: dict[str, Any] = {"encoding": "utf-8-sig", "compression": None, "skip_blank_lines": False}
            header = list(pd.read_csv(file, nrows=0, **as_text).columns)
            plain = {"_".join(column.split()): column for column in reversed(header)}
            if lacking := [column for column in required if column not in plain]:
                hint = "; set the values apart by commas" if len(header) == 1 and {*header[0]} & {*";\t"} else ""
                faults.add(f"{file} has the columns {some(header)}: expected a column {some(lacking)}{hint}")
                return None
            chosen = {column: name for name, column in plain.items() if wanted(name)}
            table = pd.read_csv(  # all columns: with usecols, rows that are too long are cut without a word
                file,
                dtype={column: str for column, name in chosen.items() if name in TEXTS},  # "007" is not 7
                na_values={column: [""] if name in TEXTS else BLANK for column, name in chosen.items()},
                keep_default_na=False,  # a group may be called "None"
                low_memory=False,
                index_col=False,
                **as_text,
            )
    except UnicodeDecodeError:
        faults.add(f"{file} is neither HDF5 nor text in UTF-8: give results.h5, or save the table as CSV in UTF-8")
        return None
    except (OSError, ValueError, Warning) as error:
        faults.add(f"{file} cannot be read as CSV ({' '.join(str(error).split())}): write it again")
        return None
    table = table[[*chosen]].rename(columns=chosen)
    filled = np.flatnonzero(table.notna().any(axis=1).to_numpy())
    return table.iloc[: filled[-1] + 1 if filled.size else 0]  # without the blank lines at the end


def numbers_of(file: Path, table: Any, column: str, faults: Faults) -> np.ndarray:
    """Read a column as floats; NaN where it is blank."""
    import pandas as pd

    read: Any = pd.to_numeric(table[column], errors="coerce")
    values = read.to_numpy(float)
    wrong = np.flatnonzero(np.isnan(values) & table[column].notna().to_numpy())
    if wrong.size:
        got = f"{file}, {lines_of(wrong)}, column {column!r}: {table[column].iloc[wrong[0]]!r}"
        faults.add(f"{got} is not a number; correct it, or leave it blank")
    return values


def lines_of(rows: np.ndarray) -> str:
    """Name lines as an editor or a spreadsheet counts them: the header is line 1."""
    return f"line{'s' if len(rows) > 1 else ''} {some((rows + 2).tolist())}"


def _by_name(file: Path, table: Any, faults: Faults) -> list[tuple[str, np.ndarray]]:
    """Find the rows of each recording, in the order in which they first appear."""
    codes, names = table["name"].factorize()
    blank = np.flatnonzero((codes < 0) & table["syllable"].notna().to_numpy())
    if blank.size:
        faults.add(f"{file}, {lines_of(blank)}, column 'name': blank; give the name of the recording")
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(len(names) + 1))
    return [(str(name), order[edges[i] : edges[i + 1]]) for i, name in enumerate(names)]


def _times(
    file: Path,
    name: str,
    rows: np.ndarray,
    columns: dict[str, np.ndarray],
    fps: float | int | None,
    notes: list[str],
    faults: Faults,
) -> tuple[np.ndarray, str]:
    """Find the times of one recording's frames, and their unit."""
    said = np.unique(columns["fps"][~np.isnan(columns["fps"])]) if "fps" in columns else np.zeros(0)
    if fps is None and (len(said) > 1 or (said <= 0).any()):
        faults.add(f"{file}: recording {name!r} has the frame rates {some(said.tolist())}: give fps (--fps)")
    if fps is not None and len(said) and (said != fps).any():
        note = f"used fps={fps}, although {file} says {some(said.tolist())}"
        notes += [note] * (note not in notes)
    rate = fps if fps is not None else said[0] if len(said) else None
    clock = next((column for column in CLOCKS if column in columns), None) if rate is None else None
    clock = clock or ("frame_index" if "frame_index" in columns else None)
    times = np.arange(len(rows), dtype=float) if clock is None else columns[clock]
    with np.errstate(invalid="ignore"):  # ∞ − ∞ is caught as not finite
        late = np.flatnonzero(~np.isfinite(times) | (np.diff(times, prepend=-np.inf) <= 0))
    if late.size:
        faults.add(f"{file}, {lines_of(rows[late])}, column {clock!r}: blank, or not above the one before in {name!r}")
    unit = SECONDS if rate is not None else STAMPS if clock in CLOCKS else FRAMES
    return times / (rate or 1), unit
