"""What an NWB file of modes holds: an Ethogram, EthogramBouts, the spans observed, and probabilities."""

import hashlib
import shutil
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from swirl._version import __version__
from swirl.behaviour import find_segments
from swirl.exporters.nwb_asked import UNKNOWN_START, Modes
from swirl.exporters.nwb_targets import stems
from swirl.trajectories import Trajectories


class Bouts(NamedTuple):
    """Bouts of one session and the spans in which modes are known, in seconds."""

    start: Float[np.ndarray, " bout"]
    stop: Float[np.ndarray, " bout"]
    mode: Int[np.ndarray, " bout"]
    observed: Float[np.ndarray, "span 2"]


def bouts_of(times: np.ndarray, ends: np.ndarray, path: np.ndarray, gaps: np.ndarray) -> Bouts:
    """When each bout of a session starts and stops."""
    found = find_segments([path], [gaps])
    start, stop = times[found.start].astype(float), ends[found.stop - 1]
    fresh = np.append(True, (found.start[1:] != found.stop[:-1]) | np.isin(found.start[1:], gaps))
    last = np.append(np.flatnonzero(fresh)[1:], len(fresh)) - 1
    return Bouts(start, stop, found.mode, np.column_stack([start[fresh], stop[last]]))


def new_file(pynwb: Any, data: Trajectories, path: np.ndarray, i: int, start: datetime) -> Any:
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
