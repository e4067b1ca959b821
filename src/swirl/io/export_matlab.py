"""Sessions, modes and a model as one MATLAB file (version 5: opens in every MATLAB since 1997, in Octave and scipy)."""

import io
import os
import re
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl._version import __version__
from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import float_array, mode_paths, per_session
from swirl.errors import Faults, checked_names
from swirl.io.atomic_write import whole_file
from swirl.text import some

NOTE = (
    "Labels of states, actions and modes, and the steps in gaps (at which a new segment starts), count from 0, as in "
    "swirl's tables: add 1 to use them as an index, as in state_names{sessions(1).states(1) + 1}. NaN is missing: an "
    "action that was not seen, a step before the start in histories."
)
MODEL = ("rewards", "policies", "mode_transitions", "initial_modes", "histories", "mode_temperatures", "occupancy")
"""Fitted arrays of a model that are written, where it has them."""

MAX_NAME = 63
LARGEST = 2**31 - 1
"""Bytes that one variable may have in this format."""

_CANNOT = "The MATLAB file cannot be written"
_KEYWORDS = re.compile(
    "break|case|catch|classdef|continue|else|elseif|end|for|function|global|if|otherwise|parfor|persistent|return|"
    "spmd|switch|try|while"
)


def write_matlab(
    path: str | os.PathLike[str],
    data: Trajectories,
    modes: Sequence[Any] | None = None,
    *,
    probabilities: Sequence[Any] | None = None,
    model: Any = None,
    mode_names: Any = None,
    overwrite: bool = False,
) -> Path:
    """Write sessions, and what a model says of them, to a .mat file, whole or not at all, and return its path.

    The file holds `sessions`, a struct array with name, subject, group, states, actions, gaps and, where they are
    known, times, modes, probabilities and signals; the cell arrays `state_names`, `action_names` and `mode_names`; and
    with a model its `rewards` [mode, history(, action)], `policies` [mode, history, action], `mode_transitions` [state,
    mode, next mode], `initial_modes` and `histories` [history, lag].  Labels count from 0, as everywhere in swirl;
    `note` says so.  What is missing is NaN.

    Parameters
    ----------
    modes
        One array per session, as `predict` gives; −1 where the mode is not known.
    probabilities
        One array [step, mode] per session, as `predict_proba` gives.
    model
        A fitted model.
    mode_names
        One name per mode.
    overwrite
        Replace an existing file.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import loadmat
    >>> data = Trajectories([[0, 1, 0]], state_names=["home", "water"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_matlab(f"{folder}/modes.mat", data, [[0, 0, 1]])
    ...     found = loadmat(path, simplify_cells=True)
    >>> found["sessions"]["modes"], found["state_names"].tolist()
    (array([0., 0., 1.]), ['home', 'water'])
    """
    path = Path(path)
    if path.suffix.lower() != ".mat":
        raise ValueError(f"path={str(path)!r}: MATLAB loads files that end in .mat; give such a name")
    variables = _variables(data, modes, probabilities, model, mode_names)
    with whole_file(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(_packed(variables))
    return path


def _packed(variables: dict[str, Any]) -> bytes:
    """Put all variables into the bytes of a file."""
    from scipy.io import savemat

    sizes = {name: _size(value) for name, value in variables.items()}
    if large := [f"{name} ({size / 2**30:.1f} GB)" for name, size in sizes.items() if size > LARGEST]:
        raise ValueError(
            f"{_CANNOT}: {some(large)} is too large for this format (2 GB); write fewer sessions at a time"
        )
    buffer = io.BytesIO()
    savemat(buffer, variables, format="5", long_field_names=True, do_compression=True, oned_as="column")
    return buffer.getvalue()


def _size(value: Any) -> int:
    """Bytes of all the arrays in a value."""
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if isinstance(value, np.ndarray) and value.dtype.names:
        return sum(_size(entry) for name in value.dtype.names for entry in value[name].ravel())
    return value.nbytes if isinstance(value, np.ndarray) else 0


def _variables(data: Trajectories, modes: Any, probabilities: Any, model: Any, mode_names: Any) -> dict[str, Any]:
    """Everything that the file holds, by name."""
    faults, lengths = Faults(), data.lengths.tolist()
    given = None if modes is None else per_session("modes", modes, faults, len(data)) or []
    paths = None if given is None else mode_paths(given, lengths, faults)
    rows = None if probabilities is None else per_session("probabilities", probabilities, faults, len(data), 3) or []
    chances = [float_array(f"probabilities[{i}]", x, lengths[i], faults, (2,)) for i, x in enumerate(rows or [])]
    held = {name: np.asarray(x) for name in MODEL if (x := getattr(model, f"{name}_", None)) is not None}
    fitted = {name: _numbers(x) if name == "histories" else x.astype(float) for name, x in held.items()}
    if model is not None and not fitted:
        faults.add(f"model is a {type(model).__name__} without fitted arrays: call fit(train), or leave it out")
    counts = {x.shape[1] for x in chances if x.ndim == 2}
    counts |= {len(fitted["initial_modes"])} if "initial_modes" in fitted else set()
    counts |= {0} if not (counts or paths) else set()
    seen = max((int(p.max(initial=-1)) for p in paths or []), default=-1) + 1
    names = checked_names("mode_names", mode_names, faults)
    n_modes = len(names) if names is not None else max(counts | {seen})
    if counts - {0, n_modes} or seen > n_modes:
        got = {"modes": seen, "probabilities and model": some(sorted(counts)), "mode_names": len(names or ())}
        faults.add(f"the numbers of modes differ: {', '.join(f'{count} in {what}' for what, count in got.items())}")
    faults.raise_if_any(_CANNOT)

    fields = _field_names(list(data.signals or {}))
    columns: dict[str, list[Any]] = {
        "name": list(data.names),
        "subject": ["" if subject is None else str(subject) for subject in data.subjects],
        "group": ["" if group is None else str(group) for group in data.groups],
        "states": [_numbers(x) for x in data.states],
        "actions": [_numbers(x) for x in data.actions],
        "gaps": [_numbers(x) for x in data.gaps],
    }
    if data.times is not None:
        columns["times"] = [x.astype(float) for x in data.times]
    if paths is not None:
        columns["modes"] = [_numbers(x) for x in paths]
    if rows is not None:
        columns["probabilities"] = [x.astype(float) for x in chances]
    if data.signals:
        values = data.signals
        columns["signals"] = [{fields[name]: values[name][i] for name in fields} for i in range(len(data))]
    sessions = np.empty((1, len(data)), dtype=[(name, object) for name in columns])
    for name, entries in columns.items():
        for i, entry in enumerate(entries):
            sessions[name][0, i] = entry
    return {
        "sessions": sessions,
        "state_names": _cell(data.state_names or map(str, range(data.n_states))),
        "action_names": _cell(data.action_names or map(str, range(data.n_actions))),
        **({"mode_names": _cell(names or [f"mode {k}" for k in range(n_modes)])} if n_modes else {}),
        **({"signal_names": {field: name for name, field in fields.items()}} if fields else {}),
        **fitted,
        "note": NOTE,
        "written_by": f"swirl {__version__}",
    }


def _numbers(labels: np.ndarray) -> Float[np.ndarray, "..."]:
    """Labels as MATLAB's usual numbers, NaN where they are missing."""
    return np.where(labels < 0, np.nan, labels).astype(float)


def _cell(names: Any) -> np.ndarray:
    """Texts as a cell array."""
    listed = list(names)
    cell = np.empty(len(listed), object)
    cell[:] = listed
    return cell


def _field_names(names: list[str]) -> dict[str, str]:
    """Names that MATLAB takes for fields: letters, digits and _, a letter first, at most 63, each different."""
    fields: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^0-9A-Za-z_]", "_", name) or "signal"
        plain = plain if plain[0].isalpha() and not _KEYWORDS.fullmatch(plain) else f"x{plain}"
        versions = chain([plain[:MAX_NAME]], (f"{plain[: MAX_NAME - 6]}_{n}" for n in count(2)))
        fields[name] = next(version for version in versions if version not in fields.values())
    return fields
