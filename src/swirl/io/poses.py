"""Poses: keypoints of one animal, frame by frame; and those of `movement` datasets in memory.

Tables are read by `pose_tables`, binary files by `pose_hdf5`.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from swirl.text import some

FRAMES, SECONDS = "frames", "seconds"
WITHOUT_Z = "left out z: places are laid over x and y"
CUTOFF = 0.6
"""Below this likelihood DeepLabCut takes a keypoint for not seen (its `pcutoff`)."""


def cutoff(program: str) -> float:
    """The confidence below which a keypoint counts as not seen; SLEAP's scores are heights of peaks: none is too low.

    >>> cutoff("SLEAP v1.3.4"), cutoff("DeepLabCut")
    (0.0, 0.6)
    """
    return 0.0 if "sleap" in program.lower() else CUTOFF


EXPECTED = (
    "expected tracks of DeepLabCut (.csv, .h5), SLEAP (analysis .h5), movement (.nc) or EthoVision (text, .xlsx), "
    "or a table with the columns x, y and perhaps t or frame, session, subject, confidence (or name them: --x, --y, "
    "--time, --frame, --session, --subject, --group)"
)


@dataclass(frozen=True)
class Poses:
    """One animal in one recording, as its file tells it.

    `min_confidence` is the program's own cutoff, and `y_down` says that y grows downwards, as in the pixels of a video.
    `resumed` are the frames (their positions in the arrays) at which the recording goes on after a break.

    Examples
    --------
    >>> Poses(None, ("nose",), np.zeros((3, 1, 2)), None, np.arange(3.0)).unit
    'frames'
    """

    individual: str | None
    keypoints: tuple[str, ...]
    positions: Float[np.ndarray, "frame keypoint 2"]
    confidence: Float[np.ndarray, "frame keypoint"] | None
    times: Float[np.ndarray, " frame"]
    unit: str = FRAMES
    session: str | None = None
    signals: dict[str, np.ndarray] | None = None
    min_confidence: float = CUTOFF
    y_down: bool = False
    notes: tuple[str, ...] = ()
    resumed: tuple[int, ...] = ()
    group: str | None = None
    of_day: bool = False
    """Times were h:mm:ss or dates: seconds, also where they are just 1 apart."""


def unseen_at_zero(poses: Poses) -> Poses:
    """Frames in which all keypoints lie on 0, 0 are frames in which nothing was found: without positions, with a note.

    >>> positions = np.array([[[3.0, 4], [5, 4]], [[0, 0], [0, 0]]])
    >>> lost = unseen_at_zero(Poses(None, ("nose", "tail"), positions, None, np.arange(2.0)))
    >>> lost.positions[1, 0], lost.notes
    (array([nan, nan]), ('1 of 2 frames has all keypoints on 0, 0: nothing was found there.',))
    """
    positions = np.asarray(poses.positions, float)
    nothing = (positions == 0).all(axis=(1, 2)) if len(poses.keypoints) > 1 else np.zeros(len(positions), bool)
    if not nothing.any() or nothing.all():
        return poses
    n = int(nothing.sum())
    have = "has" if n == 1 else "have"
    told = f"{n:,} of {len(nothing):,} frames {have} all keypoints on 0, 0: nothing was found there."
    told = told if poses.individual is None else f"{poses.individual}: {told}"
    return replace(poses, positions=np.where(nothing[:, None, None], np.nan, positions), notes=(*poses.notes, told))


def from_movement(dataset: Any, where: str = "the dataset") -> list[Poses]:
    """Take poses (or bounding boxes) from a dataset with the names that `movement` gives.

    Dimensions are time, space, keypoint and individual, the last two singular or plural (before movement 0.17), or
    absent; variables are position and, if there is one, confidence.  Attributes are fps and time_unit (times that count
    frames are divided by fps) and space_unit, as movement's `scale` writes it, which becomes a note.

    Examples
    --------
    >>> import xarray
    >>> dataset = xarray.Dataset({"position": (("time", "space"), np.ones((3, 2)))}, attrs={"fps": 30})
    >>> from_movement(dataset)[0].positions.shape
    (3, 1, 2)
    """
    position = dataset.get("position")
    if position is None or not {"time", "space"} <= set(position.dims):
        got = f"the variables {some(list(dataset), 8)}" if position is None else f"position with {some(position.dims)}"
        raise ValueError(f"{where} holds {got}: expected the variable position with dimensions time and space")
    found = [(name if name in position.dims else f"{name}s") for name in ("individual", "keypoint")]
    axes = [name for name in found if name in position.dims]
    other = set(position.dims) - {"time", "space", *axes}
    if other:
        raise ValueError(f"{where}: position has the dimension {some(sorted(other))}: select one, e.g. with .isel")

    def labelled(name: str, n: int) -> list[str]:
        return [str(x) for x in dataset.coords[name].values] if name in dataset.coords else [str(i) for i in range(n)]

    def in_order(variable: Any, *last: str) -> np.ndarray:
        here = [name for name in axes if name in variable.dims]
        values = np.asarray(variable.transpose("time", *here, *last).values, float)
        absent = [1 + i for i, name in enumerate(found) if name not in here]
        return np.expand_dims(values, tuple(absent))

    space = labelled("space", position.sizes["space"])
    xy = [space.index("x"), space.index("y")] if {"x", "y"} <= set(space) else [0, 1]
    positions = in_order(position, "space")[..., xy]
    confidence = in_order(dataset["confidence"]) if "confidence" in dataset else None
    individuals = labelled(found[0], positions.shape[1]) if found[0] in axes else [None]
    keypoints = tuple(labelled(found[1], positions.shape[2])) if found[1] in axes else ("position",)
    times: Any = np.asarray(dataset.coords["time"].values) if "time" in dataset.coords else np.arange(len(positions))
    fps = dataset.attrs.get("fps")
    unit = str(dataset.attrs.get("time_unit") or (SECONDS if fps else FRAMES))
    if times.dtype.kind in "mM":
        times, unit = (times - times[:1]) / np.timedelta64(1, "s"), SECONDS
    elif fps and (unit.startswith("frame") or "time" not in dataset.coords):
        times, unit = times / float(fps), SECONDS
    length = position.attrs.get("space_unit") or dataset.attrs.get("space_unit")
    notes = (f"x and y are in {length}",) if length else ()
    return [
        Poses(
            name,
            keypoints,
            positions[:, i],
            None if confidence is None else confidence[:, i],
            times.astype(float),
            FRAMES if unit.startswith("frame") else SECONDS,
            min_confidence=cutoff(str(dataset.attrs.get("source_software", ""))),
            y_down=True,
            notes=notes,
        )
        for i, name in enumerate(individuals)
    ]


def from_sleap(labels: Any) -> list[Poses]:
    """Take poses from the labels of sleap-io, one for each video and track; a video is a session."""
    nodes, poses = tuple(labels.skeletons[0].node_names), []
    for video in labels.videos:
        if not labels.find(video):
            continue
        values = np.asarray(labels.numpy(video=video, return_confidence=True), float)  # [frame, track, node, xyp]
        names = [track.name for track in labels.tracks] or [None] * values.shape[1]
        session = Path(str(video.filename)).stem if len(labels.videos) > 1 else None
        times = np.arange(len(values), dtype=float)
        for i, name in enumerate(names):
            if np.isfinite(values[:, i, :, :2]).any():
                one = Poses(name, nodes, values[:, i, :, :2], values[:, i, :, 2], times, session=session, y_down=True)
                poses.append(replace(one, min_confidence=cutoff("SLEAP")))
    return poses


def hand_labelled(labels: Any) -> str | None:
    """Why labels of SLEAP are no tracks: frames here and there were labelled by hand, or none was; None if they are."""
    frames = [frame for frame in labels.labeled_frames if len(frame.instances)]
    if not frames:
        return "no frame has an animal, so there are no tracks"
    if labels.tracks or any(len(frame.predicted_instances) for frame in frames):
        return None
    videos: dict[int, list[int]] = {}
    for frame in frames:
        videos.setdefault(id(frame.video), []).append(frame.frame_idx)
    apart = np.concatenate([np.diff(sorted(numbers)) for numbers in videos.values()])
    follow = np.median(apart) <= 1 if len(apart) else len(frames) == 1
    if follow and max(len(frame.instances) for frame in frames) == 1:
        return None
    return (
        f"{len(frames):,} frames were labelled by hand, and nothing was tracked: hand-labelled frames are no tracks, "
        "give the file that SLEAP made of a video"
    )


def from_columns(columns: list[tuple[str, ...]], frames: np.ndarray, values: np.ndarray, where: str) -> list[Poses]:
    """Make poses of DeepLabCut's columns: (scorer, [individual,] bodypart, coordinate) each.

    Examples
    --------
    >>> columns = [("net", "nose", "x"), ("net", "nose", "y"), ("net", "nose", "likelihood")]
    >>> from_columns(columns, np.arange(2.0), np.array([[1.0, 2, 0.9], [3, 4, 0.8]]), "file").pop().positions[:, 0]
    array([[1., 2.],
           [3., 4.]])
    """
    if not columns or {len(column) for column in columns} not in ({3}, {4}):
        raise ValueError(f"{where}: expected columns named by scorer, (individual,) bodypart and x, y or likelihood")
    parts: dict[str | None, dict[str, dict[str, int]]] = {}
    for i, column in enumerate(columns):
        owner = column[1] if len(column) == 4 else None
        parts.setdefault(owner, {}).setdefault(column[-2], {})[column[-1]] = i
    bare = [name for group in parts.values() for name, at in group.items() if not {"x", "y"} <= set(at)]
    if bare:
        raise ValueError(f"{where}: bodypart {some(bare)} has no x or no y column: export the tracks again")
    poses = []
    for owner, group in parts.items():
        positions = np.stack([values[:, [at["x"], at["y"]]] for at in group.values()], axis=1)
        scored = all("likelihood" in at for at in group.values())
        confidence = values[:, [at["likelihood"] for at in group.values()]] if scored else None
        notes = (WITHOUT_Z,) if any("z" in at for at in group.values()) else ()
        poses.append(Poses(owner, tuple(group), positions, confidence, frames, y_down=True, notes=notes))
    return poses


def recording(path: Path, appended: str) -> str:
    """Name the video: DeepLabCut appends the network's name to it (before 2020 "DeepCut…"), SLEAP ".analysis".

    >>> recording(Path("EPM_15DeepCut_resnet50_epm.csv"), "DeepCut_resnet50_epm")
    'EPM_15'
    """
    return (path.stem.split(appended)[0] if appended.startswith(("DLC", "DeepCut", ".")) else "") or path.stem
