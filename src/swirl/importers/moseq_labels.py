"""What lies beside MoSeq's results: groups of recordings (`index.csv`) and names of syllables (`syll_info.csv`)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from swirl.faults import Faults, some
from swirl.importers.moseq_tables import lines_of, numbers_of, read_columns


def groups(
    index: Any, folder: Path, names: set[str], notes: list[str], faults: Faults
) -> dict[str, dict[str, str | None]]:
    """Read group (and subject) by recording."""
    if isinstance(index, Mapping):
        told = {str(name): {"group": group} for name, group in index.items()}
        file = "index"
    else:
        model = folder.resolve().parent if folder.name == "results" else folder.resolve()
        table, file = _side_table(index, "index.csv", [folder, model, model.parent], ("name", "group"), notes, faults)
        if table is None:
            return {}
        told = {}
        entries = table.astype(object).where(table.notna(), None).to_dict("records")
        for row, entry in enumerate(entries):
            if told.setdefault(name := entry.pop("name"), entry) != entry:
                faults.add(
                    f"{file}, {lines_of(np.array([row]))}: {name!r} is there before, with another group or subject"
                )
        told.pop(None, None)
    if names and not names & set(told):
        known = f"{some(sorted(told)) or 'no recording'}; the recordings are {some(sorted(names))}"
        if index is None:
            notes.append(f"did not use {file}: it names {known}")
            return {}
        faults.add(f"{file} names {known}: give it their names")
    elif index is None:
        notes.append(f"groups are from {file}")
    if lacking := sorted(names - set(told)):
        notes.append(f"{file} names no group for {some(lacking)}")
    return told


def labels(syllable_info: Any, folder: Path, notes: list[str], faults: Faults) -> dict[int, str]:
    """Read names by syllable; blank ones are left out."""
    if isinstance(syllable_info, Mapping):
        return dict(syllable_info)
    places = [folder, folder.resolve().parent] if folder.name == "results" else [folder]
    table, file = _side_table(syllable_info, "syll_info.csv", places, ("syllable", "label"), notes, faults)
    if table is None or file is None:
        return {}
    doubts = Faults()
    numbers = numbers_of(file, table, "syllable", doubts)
    if (wrong := np.flatnonzero(~np.isfinite(numbers) | (np.floor(numbers) < numbers))).size and not len(doubts):
        doubts.add(f"{file}, {lines_of(wrong)}, column 'syllable': expected whole numbers")
    faults.messages += doubts.messages
    if syllable_info is None:
        notes.append(f"names of syllables are from {file}")
    labels = table["label"].astype(object).where(table["label"].notna(), "")
    return {int(n): str(label) for n, label in zip(numbers, labels, strict=True) if not len(doubts)}


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
        there = some(list(numbers), 10) if numbers else "no names are known (syll_info.csv)"
        faults.add(f"keep: there is no syllable {some(unknown)}: give numbers, or names; {there}")
    return [label for label in found if not isinstance(label, str)]


def _side_table(
    given: Any, name: str, places: list[Path], columns: tuple[str, ...], notes: list[str], faults: Faults
) -> tuple[Any, Path | None]:
    """Read a small table that was given, or found; one that was found and does not serve is only noted."""
    found = next((place / name for place in places if (place / name).is_file()), None)
    file = found if given is None else Path(given)
    if file is None:
        return None, None
    doubts = Faults()
    table = read_columns(file, lambda column: column in (*columns, "subject"), columns, doubts)
    if given is not None:
        faults.messages += doubts.messages
    elif len(doubts):
        notes.append(f"did not use {file}: {doubts.messages[0]}")
    return table, file
