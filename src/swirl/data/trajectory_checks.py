"""Reading what a user hands to `Trajectories`: one argument at a time, every fault named by session and step."""

from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np

from swirl.errors import Faults
from swirl.text import numbered, some

MISSING = -1
"""The action (or mode) at a step where none was observed."""


def per_session(argument: str, value: Any, faults: Faults, n: int | None = None, deepest: int = 2) -> list[Any] | None:
    """Take `value` apart into one entry per session; None after a fault (or without a value)."""
    if value is None and n is not None:
        return None
    wrap = f"give a list with one 1-D array per session; a single session is wrapped in a list: [{argument}]"
    if (
        value is None
        or isinstance(value, str | bytes | Mapping)
        or hasattr(value, "segments")
        or not np.iterable(value)
    ):
        faults.add(f"{argument} is a {type(value).__name__}: {wrap}")
        return None
    if isinstance(value, np.ndarray) and value.ndim > deepest:
        side_by_side = "; of states and actions side by side give states=x[..., 0], actions=x[..., 1]"
        faults.add(f"{argument} has shape {value.shape}: {wrap}{side_by_side if n is None else ''}")
        return None
    entries = list(value)
    if any(isinstance(entry, Number | np.generic | str) for entry in entries):
        faults.add(f"{argument} is a single sequence: {wrap}")
        return None
    if n is not None and len(entries) != n:
        faults.add(f"{argument} has {len(entries)} entries, but there are {n} sessions: give one per session")
        return None
    return entries


def entry_array(argument: str, value: Any, faults: Faults, dimensions: tuple[int, ...] = (1,)) -> np.ndarray | None:
    """Read one session's entry as an array with the right number of dimensions."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = None
    if array is None or array.ndim not in dimensions:
        got = "ragged" if array is None else f"of shape {array.shape}"
        faults.add(f"{argument} is {got}: give a {' or '.join(map(str, dimensions))}-D array")
        return None
    return array


def labels(
    argument: str, value: Any, names: tuple[str, ...] | None, may_miss: bool, faults: Faults
) -> np.ndarray | None:
    """Read one session's labels as int64 (a copy); None after a fault."""
    array = entry_array(argument, value, faults)
    if array is None:
        return None
    if array.size == 0 or array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        missing = np.flatnonzero(np.isnan(array))
        instead = "write −1 where it is missing" if may_miss else "drop the step, and mark a gap there"
        if missing.size:
            faults.add(f"{argument} is NaN at {step_list(missing)}: {instead} (and convert to integers)")
        else:
            got = f"{argument} holds float labels ({array[0]} at step 0)"
            faults.add(f"{got}: labels are integers; convert them, e.g. with .astype(int)")
        return None
    listed = array.tolist()
    absent = np.array([x is None or x == "" for x in listed])
    present = [x for x in listed if not (x is None or x == "")]
    if not all(isinstance(x, str) for x in present):
        faults.add(f"{argument} holds labels of type {array.dtype}: convert them to integers 0, 1, 2, …")
        return None
    if names is None:
        kind = argument.split("[")[0].removesuffix("s")
        faults.add(
            f"{argument} holds strings ({some(sorted(set(present)))}): convert them to integers"
            + ("" if kind == "mode" else f", or give {kind}_names=[…] in the order of the labels")
        )
        return None
    unnamed = MISSING - 1
    number = {name: i for i, name in enumerate(names)}
    read = np.array([number.get(x, unnamed) for x in listed], np.int64)
    if may_miss:
        read[absent & (read == unnamed)] = MISSING
    unknown = np.flatnonzero(read == unnamed)
    if unknown.size:
        got = f"{argument} is {listed[unknown[0]]!r} at {step_list(unknown)}"
        faults.add(f"{got}: the names are {some(names, 20)}")
        return None
    return read


def step_list(steps: np.ndarray) -> str:
    """Name a few steps, as in "steps 3 and 7"."""
    return numbered("step", steps.tolist())


def label_count(
    noun: str, sessions: list[np.ndarray], n: Any, names: tuple[str, ...] | None, lowest: int, faults: Faults
) -> int:
    """Find the number of labels and check every label against it."""
    flat = np.concatenate(sessions)
    seen = int(flat.max(initial=-1)) + 1
    if n is not None and (isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1):
        faults.add(f"n_{noun}s={n!r}: give a whole number ≥ 1")
        n = None
    if n is not None and names is not None and n != len(names):
        faults.add(f"n_{noun}s={n}, but {noun}_names has {len(names)} names: give one name per {noun}")
    number = int(n) if n is not None else len(names) if names is not None else max(seen, 1)
    wrong = (flat < lowest) | (flat >= number)
    if wrong.any():
        edges = np.cumsum([len(session) for session in sessions])
        for i in np.unique(np.searchsorted(edges, np.flatnonzero(wrong), side="right")).tolist():
            session = sessions[i]
            steps = np.flatnonzero((session < lowest) | (session >= number))
            got = f"{noun}s[{i}] is {session[steps[0]]} at {step_list(steps)}"
            faults.add(
                f"{got}: expected {lowest} to {number - 1}; correct the labels (they count from 0)"
                + f", or give a larger n_{noun}s" * bool(session.max() >= number)
            )
    return number


def gap_steps(argument: str, value: Any, length: int | None, faults: Faults) -> np.ndarray:
    """Read one session's gaps: sorted steps inside it."""
    none = np.zeros(0, np.int64)
    array = entry_array(argument, [] if value is None else value, faults)
    if array is None or array.size == 0 or length is None:
        return none
    if array.dtype.kind not in "iu":
        faults.add(f"{argument} holds {array.dtype}: give the steps at which new segments start, as integers")
        return none
    array = array.astype(np.int64)
    wrong = array[(array < 1) | (array >= length)]
    if wrong.size:
        faults.add(f"{argument} holds {some(wrong.tolist())}: a gap is a step t with 0 < t < {length}, the length")
    return np.unique(array)


def increasing_times(i: int, value: Any, length: int | None, faults: Faults) -> np.ndarray:
    """Read one session's times: finite and increasing."""
    array = float_array(f"times[{i}]", value, length, faults)
    if array.size and not np.isfinite(array).all():
        faults.add(f"times[{i}] is not finite at {step_list(np.flatnonzero(~np.isfinite(array)))}")
    elif (late := np.flatnonzero(np.diff(array) <= 0) + 1).size:
        faults.add(f"times[{i}] does not increase at {step_list(late)}: sort the steps, drop repeated ones")
    return array


def float_array(
    argument: str, value: Any, length: int | None, faults: Faults, dimensions: tuple[int, ...] = (1,)
) -> np.ndarray:
    """Read one session's measurements, one (row) per step."""
    none = np.zeros(0)
    array = entry_array(argument, value, faults, dimensions)
    if array is None or length is None:
        return none
    if array.dtype.kind not in "iufb":
        faults.add(f"{argument} holds {array.dtype}: give numbers")
        return none
    if len(array) != length:
        faults.add(f"{argument} has length {len(array)}, but its session has {length} steps")
        return none
    return array.astype(array.dtype if array.dtype.kind == "f" else float)


def signals_by_name(value: Any, lengths: list[int | None], faults: Faults) -> dict[str, list[np.ndarray]] | None:
    """Read every signal of every session."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        faults.add(f"signals is a {type(value).__name__}: give a dict, name → list of one array per session")
        return None
    signals = {}
    for name, entries in value.items():
        label = f"signals[{name!r}]"
        listed = per_session(label, entries, faults, len(lengths), deepest=3)
        if listed is None:
            if entries is None:
                faults.add(f"{label} is None: give one array per session, or leave it out")
            continue
        arrays = [float_array(f"{label}[{i}]", x, lengths[i], faults, (1, 2)) for i, x in enumerate(listed)]
        widths = {array.shape[1:] for array in arrays if array.size}
        if len(widths) > 1:
            faults.add(f"{label} has different numbers of channels in different sessions: {sorted(widths)}")
        signals[str(name)] = arrays
    return signals


def mode_paths(entries: list[Any], lengths: list[int | None], faults: Faults) -> list[np.ndarray]:
    """Read every session's modes; −1 where unknown."""
    modes = []
    for i, entry in enumerate(entries):
        read, length = labels(f"modes[{i}]", entry, None, True, faults), lengths[i]
        if read is not None and length is not None and len(read) != length:
            faults.add(f"modes[{i}] has length {len(read)}, but session {i} has {length} steps")
        elif read is not None and (wrong := np.flatnonzero(read < MISSING)).size:
            faults.add(f"modes[{i}] is {read[wrong[0]]} at {step_list(wrong)}: modes are 0, 1, …, or −1 if unknown")
        modes.append(np.zeros(0, np.int64) if read is None else read)
    return modes


def one_each(argument: str, value: Any, n: int, faults: Faults) -> tuple[Any, ...] | None:
    """One label (any hashable) per session."""
    if value is None:
        return None
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        faults.add(f"{argument} is {value!r}: give a list with one label per session")
        return None
    listed = tuple(x.item() if isinstance(x, np.generic) else x for x in value)
    if len(listed) != n:
        faults.add(f"{argument} has {len(listed)} labels, but there are {n} sessions: give one per session")
        return None
    for i, label in enumerate(listed):
        if getattr(type(label), "__hash__", None) is None:
            faults.add(f"{argument}[{i}] is a {type(label).__name__}: give a string or a number")
            return None
    return listed


def sentences(notes: Any, faults: Faults) -> tuple[str, ...]:
    """Notes, which are not one string."""
    if isinstance(notes, str):
        faults.add(f"notes is {notes!r}: give a list of sentences")
    return tuple(map(str, notes))
