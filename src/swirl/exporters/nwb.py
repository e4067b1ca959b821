"""Modes as NWB: each session a file with an Ethogram and EthogramBouts (ndx-ethogram) that other tools can read.

What is not known is said to be not known: the animal's sex is "U" and its age "P0D/" (zero days or more).  A file of
the user's is never changed: it is copied, and the copy is added to.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from swirl.exporters.nwb_asked import checked, chosen_sessions, session_starts, source_file
from swirl.exporters.nwb_contents import add_modes, add_to_copy, new_file
from swirl.exporters.nwb_targets import targets, whole_files
from swirl.trajectories import Trajectories


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
    session: str | int | None = None,
    append_to: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write the modes of sessions to NWB files, whole or not at all, and return their paths.

    In ``processing/behavior`` a file holds ModeEthogram (the modes: name, definition, number), ModeBouts (start, stop
    and label of each bout), ModeObservationIntervals (the segments; outside them nothing is known) and, with
    `probabilities`, ModeProbabilities (a TimeSeries for each mode).  A bout stops when the step after it starts;
    before a gap and at the end of a session its last step is taken to last as long as the median step.

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
    session
        Name or position of the one session to write; by default all.
    append_to
        An NWB file of this session: a copy of it is made at `path`, and the modes are added to the copy. The times of
        the data must be seconds since the start of that file's session.
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
    chosen = chosen_sessions(data, session)
    found = checked(data, modes, mode_names, probabilities, definitions, parameters, chosen)
    starts = session_starts(session_start, len(data), append_to)
    source = None if append_to is None else source_file(append_to, chosen)
    files = targets(Path(path), [data.names[i] for i in chosen], source)
    pynwb = _pynwb()
    folder = None if files == [Path(path)] else files[0].parent
    with whole_files(files, folder, overwrite) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of hdmf, about older files; what matters is an error
        for i, target in zip(chosen, temporary, strict=True):
            if source is None:
                file = new_file(pynwb, data, found.paths[i], i, starts[i])
                add_modes(pynwb, file, data, found, i)
                with pynwb.NWBHDF5IO(target, "w") as io:
                    io.write(file)
            else:
                add_to_copy(pynwb, source, target, data, found, i)
    return files


def _pynwb() -> Any:
    """Import what writes NWB."""
    try:
        import ndx_ethogram
        import pynwb
    except ImportError:
        raise ValueError("writing NWB needs pynwb and ndx-ethogram: pip install 'swirl-irl[nwb]'") from None
    del ndx_ethogram  # importing it makes its types known to pynwb
    return pynwb
