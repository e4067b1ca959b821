"""Files for the how-to pages: simulated animals, laid out as EthoVision, DeepLabCut, SLEAP, NWB and BORIS lay them out.

The layouts were taken from files that these programs wrote, or are written by the formats' own library (NWB).
"""

import csv
import os
import zipfile
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
import pandas as pd

SIDE, CELLS, FPS = 60.0, 5, 25  # of the box: cm, cells along a side; frames per second
N_SESSIONS, N_VISITS = 6, 200
GOALS = {"water": (4, 4), "nest": (0, 0)}  # cells, counted from the lower left corner


def walk(rng: np.random.Generator) -> np.ndarray:
    """Cells that an animal visits in turn: it wants water, then its nest, then water again."""
    steps = np.array([(1, 0), (-1, 0), (0, 1), (0, -1)])
    goals = np.array(list(GOALS.values()))
    cells, goal = [np.array([2, 2])], 0
    while len(cells) < N_VISITS:
        ways = [cell for cell in cells[-1] + steps if ((cell >= 0) & (cell < CELLS)).all()]
        liking = np.exp([-1.2 * np.abs(cell - goals[goal]).sum() for cell in ways])
        cells.append(ways[rng.choice(len(ways), p=liking / liking.sum())])
        if (cells[-1] == goals[goal]).all() and rng.random() < 0.6:
            goal = 1 - goal
    return np.array(cells)


def track(rng: np.random.Generator) -> np.ndarray:
    """Where the middle of an animal is at each frame, in cm from the lower left corner of the box."""
    centres = (walk(rng) + 0.5) * SIDE / CELLS
    parts = []
    for here, there in pairwise(centres):
        parts += [np.repeat(here[None], rng.integers(2, 6), axis=0), np.linspace(here, there, 8)[1:]]
    path = np.concatenate(parts)
    return path + rng.normal(scale=0.3, size=path.shape)


def body(path: np.ndarray, length: float = 3.0) -> dict[str, np.ndarray]:
    """Nose, middle and tail base of an animal that looks where it goes."""
    ahead = np.gradient(pd.DataFrame(path).rolling(9, center=True, min_periods=1).mean().to_numpy(), axis=0)
    ahead /= np.maximum(np.hypot(*ahead.T), 1e-9)[:, None]
    return {"nose": path + length * ahead, "bodycentre": path, "tailbase": path - length * ahead}


def in_pixels(xy: np.ndarray) -> np.ndarray:
    """Centimetres of the box in pixels of a video: y grows downwards, and the box has a margin."""
    return np.stack([100 + 8 * xy[:, 0], 60 + 8 * (SIDE - xy[:, 1])], axis=1)


def poses(seed: int = 0) -> list[dict[str, np.ndarray]]:
    """x, y (pixels) and how sure, of each point of the body in each session; in some stretches a point is lost."""
    rng, sessions = np.random.default_rng(seed), []
    for _ in range(N_SESSIONS):
        points = {}
        for name, xy in body(track(rng)).items():
            sure = rng.uniform(0.9, 1.0, len(xy))
            for start in rng.integers(0, len(xy), 12):
                lost = slice(start, start + rng.integers(2, 9))
                sure[lost] = rng.uniform(0.02, 0.3, len(sure[lost]))
            points[name] = np.column_stack([in_pixels(xy), sure])
        sessions.append(points)
    return sessions


def write_ethovision() -> None:
    """Raw data as Unicode text, a file per trial: lines about the trial, names, units, a row per sample."""
    rng = np.random.default_rng(0)
    for trial in range(1, N_SESSIONS + 1):
        path = track(rng) - SIDE / 2  # EthoVision's origin is where the user put it: here the middle of the box
        lost = rng.random(len(path)) < 0.005
        name = f"Raw data-Open Field-Trial{trial:6}"
        above = [("Experiment", "Open Field"), ("Trial name", f"Trial{trial:6}"), ("Arena name", "Arena 1")]
        above += [("Subject name", "Subject 1"), ("Start time", f"03/{trial:02}/2026 10:15:00.000")]
        above += [("Subject not found", f"{lost.mean():.1%}"), ("Animal ID", f"m{(trial + 1) // 2}")]
        names = ["Trial time", "Recording time", "X center", "Y center", "Area", "Velocity"]
        units = ["s", "s", "cm", "cm", "cm²", "cm/s"]
        lines = [("Number of header lines:", str(len(above) + 4)), *above, (" ",), names, units]
        text = [";".join(f'"{cell}"' for cell in line) + ";" for line in lines]
        area = rng.normal(24, 2, len(path))
        speed = np.append(np.nan, np.hypot(*np.diff(path, axis=0).T) * FPS)
        for i, ((x, y), one) in enumerate(zip(path, speed, strict=True)):
            values = (x, y, area[i], one) if not lost[i] else (np.nan,) * 4
            cells = ["-" if np.isnan(value) else f"{value:.6g}" for value in values]
            text.append(";".join([f"{i / FPS:.3f}", f"{i / FPS:.3f}", *cells]) + ";")
        Path(f"{name}-Arena 1-Subject 1.txt").write_text("\r\n".join(text) + "\r\n", encoding="utf-16")


def write_deeplabcut() -> None:
    """The CSV that DeepLabCut saves beside each video."""
    network = "DLC_resnet50_openfieldMar1shuffle1_100000"
    for number, points in enumerate(poses(), start=1):
        columns = pd.MultiIndex.from_product(
            [[network], list(points), ["x", "y", "likelihood"]], names=["scorer", "bodyparts", "coords"]
        )
        table = pd.DataFrame(np.column_stack(list(points.values())), columns=columns).round(4)
        table.to_csv(f"m{(number + 1) // 2}-day{(number + 1) % 2 + 1}{network}.csv")


def write_sleap() -> None:
    """Analysis files: axes in the order that SLEAP writes, and two animals in one video."""
    animals = poses()
    for day in range(N_SESSIONS // 2):
        pair = animals[2 * day : 2 * day + 2]
        n = max(len(points["nose"]) for points in pair)
        values = np.full((2, n, 3, 3), np.nan)  # track, frame, node, (x, y, score)
        for i, points in enumerate(pair):
            stacked = np.stack(list(points.values()), axis=1)
            values[i, : len(stacked)] = stacked
        values[values[..., 2] < 0.35] = np.nan  # what SLEAP does not find has no position
        occupied = np.isfinite(values[..., 0]).any(axis=2)
        with h5py.File(f"day{day + 1}.analysis.h5", "w") as file:
            packed = {"compression": "gzip", "compression_opts": 9}
            file.create_dataset("tracks", data=values[..., :2].transpose(0, 3, 2, 1), **packed)
            file.create_dataset("point_scores", data=values[..., 2].transpose(0, 2, 1), **packed)
            file.create_dataset("instance_scores", data=np.nan_to_num(values[..., 2]).mean(2), **packed)
            file.create_dataset("tracking_scores", data=np.where(occupied, 0.9, np.nan), **packed)
            file.create_dataset("track_occupancy", data=occupied.T.astype(np.uint8), **packed)
            file["track_names"] = [b"black", b"white"]
            file["node_names"] = [name.encode() for name in pair[0]]
            file["edge_names"] = [[b"nose", b"bodycentre"], [b"bodycentre", b"tailbase"]]
            file["edge_inds"] = [[0, 1], [1, 2]]
            file["labels_path"] = f"day{day + 1}.predictions.slp"
            file["video_path"], file["video_ind"] = f"day{day + 1}.mp4", 0
            file["provenance"] = '{"sleap_version": "1.4.1"}'


def write_nwb() -> None:
    """NWB files, by pynwb: a position in metres, and when the animal drank, was in its nest, or neither."""
    from pynwb import NWBHDF5IO, NWBFile
    from pynwb.behavior import Position, SpatialSeries
    from pynwb.file import Subject

    rng = np.random.default_rng(0)
    for day in range(1, N_SESSIONS + 1):
        start = datetime(2026, 3, day, 10, tzinfo=UTC)
        file = NWBFile("Open field", f"open-field-{day}", start, session_id=f"day {day}")
        file.subject = Subject(subject_id=f"m{(day + 1) // 2}", species="Mus musculus", sex="F", age="P90D")
        path = track(rng) / 100
        position = Position(name="Position")
        position.add_spatial_series(
            SpatialSeries(
                name="SpatialSeries", data=path, rate=float(FPS), unit="meters",
                reference_frame="(0, 0) is the lower left corner of the box",
            )
        )  # fmt: skip
        file.create_processing_module("behavior", "Where the animal is").add(position)
        with NWBHDF5IO(f"open-field-{day}.nwb", "w") as io:
            io.write(file)


def write_boris() -> None:
    """Tabular events: a row where a behaviour starts and another where it stops."""
    rng = np.random.default_rng(1)
    behaviours = ["walk", "rear", "sniff", "groom", "rest"]
    active, calm = np.array([6, 4, 5, 0.5, 0.5]), np.array([1, 0.5, 1, 5, 6])
    rows = []
    for mouse in range(1, 5):
        for day in (1, 2):
            clock, mode, last, bouts = 0.0, 0, 0, []
            for _ in range(150):
                liking = np.where(np.arange(5) == last, 0, (active, calm)[mode])
                last = rng.choice(5, p=liking / liking.sum())
                start, clock = clock, clock + rng.exponential(2) + 0.3
                bouts.append((behaviours[last], start, clock - 0.001))
                clock += (rng.random() < 0.2) * rng.exponential(3)
                mode = 1 - mode if rng.random() < 0.05 else mode
            video = f"videos/m{mouse} day{day}.mp4"
            about = (f"m{mouse} day{day}", f"2026-03-0{day} 10:15:00", "", f"{clock:.3f}", "Media file(s)")
            about = (*about, f"player #1:{video}", "0.0", f"{clock:.3f}", "25.0", f"m{mouse}")
            for name, *times in bouts:
                for kind, time in zip(("START", "STOP"), times, strict=True):
                    rows.append((*about, name, "", kind, f"{time:.3f}", video, str(int(25 * time)), "NA", ""))
    columns = ["Observation id", "Observation date", "Description", "Observation duration", "Observation type"]
    columns += ["Source", "Time offset (s)", "Media duration (s)", "FPS", "Subject", "Behavior"]
    columns += ["Behavioral category", "Behavior type", "Time", "Media file name", "Image index", "Image file path"]
    columns += ["Comment"]
    with open("events.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])


def offer(name: str, *patterns: str) -> None:
    """Put files of a page into the site, packed, for readers who have none of their own."""
    target = Path(os.environ["DOCS_OUTPUT"]) / "_static" / "examples" / f"{name}.zip"
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(found for pattern in patterns for found in Path().glob(pattern)):
            packed.write(path)
