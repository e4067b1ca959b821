"""What is the position of a body?  The mean of the keypoints that are seen, and one point carried on by the others.

    git clone --bare https://github.com/talmolab/sleap clones/talmolab+sleap/repo     # and so on: see FILES
    python studies/position.py clones       # half a minute; nothing of the clones is kept
    python studies/position.py clones --quick    # the first two files, nothing written

A *jump* is what a step of the position has beyond the median step of the keypoints that are seen in both frames: a
step that the animal did not make.  Writes position.json and .md to studies/results (or --output).
"""

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from swirl.errors import Faults
from swirl.estimators.save_load import versions
from swirl.io.body_point import followed, seen_points
from swirl.io.places import Grid
from swirl.io.poses import CUTOFF, Poses
from swirl.io.tracks import Track, follow, poses_of
from swirl.io.visits import visits

RESULTS = Path(__file__).parent / "results"
DEEPOF, MOVED = "tests/test_examples", "tests/testthat/data/sleap"
NETWORK = "DLC_resnet50_OpenFieldHighResApr8shuffle1_1030000"
PLUS_MAZE = "DeepCut_resnet50_epmMay17shuffle1_1030000"
FILES = (
    ("mouse in a plus maze, DLC", "ETHZ-INS+DLCAnalyzer", f"data/EPM/Output_DLC/EPM_15{PLUS_MAZE}.csv"),
    ("mouse in a plus maze, SLEAP", "roaldarbol+animovement", f"{MOVED}/SLEAP_single-mouse_EPM.analysis.h5"),
    ("mouse from below, DLC", "YttriLab+B-SOID", f"yttri-bottomup_dlc-model/examples/raw_clip1{NETWORK}.csv"),
    ("two flies, SLEAP without scores", "talmolab+sleap", "docs/predictions.analysis.h5"),
    ("the same, with scores", "talmolab+sleap", "docs/notebooks/analysis_example/predictions.slp"),
    ("pair of flies, SLEAP", "talmolab+sleap", "tests/data/hdf5_format_v1/centered_pair_predictions.slp"),
    ("mouse, DLC", "mlfpm+deepof", f"{DEEPOF}/test_single_topview/Tables/testDLC_csv_table.csv"),
    ("mouse in a square, DLC", "mlfpm+deepof", f"{DEEPOF}/test_square_arena_topview/Tables/testDLC_square_arena.h5"),
    ("mouse, SLEAP", "mlfpm+deepof", f"{DEEPOF}/test_single_topview/Tables/SLEAP/testDLC_sleap.analysis.h5"),
    ("two mice as B_, W_, DLC", "mlfpm+deepof", f"{DEEPOF}/test_multi_topview/Tables/testDLC_csv_table_multi.csv"),
    ("two mice that rest, maDLC", "mlfpm+deepof", f"{DEEPOF}/test_madlc_topview/Tables/testDLC_csv_table_madlc.csv"),
)  # fmt: skip
LONG = 0.1  # of the frames: shorter fragments of tracks are not shown


def analysis_file(labels: Path) -> Path:
    """Write the predictions of SLEAP's .slp, with their scores, as an analysis file beside it."""
    with h5py.File(labels) as file:
        frames, instances, points = (np.asarray(file[name]) for name in ("frames", "instances", "pred_points"))
        about = json.loads(file["metadata"].attrs["json"])
        tracks = [json.loads(text)[1] for text in np.asarray(file["tracks_json"])]
    nodes = [about["nodes"][node["id"]]["name"] for node in about["skeletons"][0]["nodes"]]
    positions = np.full((len(tracks), 2, len(nodes), int(frames["frame_idx"].max()) + 1), np.nan)
    scores = np.full_like(positions[:, 0], np.nan)
    when = dict(zip(frames["frame_id"], frames["frame_idx"], strict=True))
    for one in instances[(instances["instance_type"] == 1) & (instances["track"] >= 0)]:
        own = points[one["point_id_start"] : one["point_id_end"]]
        at = (one["track"], slice(None), when[one["frame_id"]])
        scores[at] = own["score"]
        for axis, name in enumerate("xy"):
            positions[one["track"], axis][at[1:]] = np.where(own["visible"], own[name], np.nan)
    path = labels.with_suffix(".analysis.h5")
    with h5py.File(path, "w") as file:
        file["tracks"], file["point_scores"] = positions, scores
        file["node_names"], file["track_names"] = ([name.encode() for name in names] for names in (nodes, tracks))
    return path


def mean_of_seen(poses: Poses) -> tuple[np.ndarray, np.ndarray]:
    """What was done before: the mean of the keypoints above 0.6; and which those are."""
    seen = seen_points(poses, CUTOFF)
    n = seen.sum(1)
    return np.where(seen[..., None], poses.positions, 0.0).sum(1) / np.where(n, n, np.nan)[:, None], seen


def measured(poses: Poses, path: np.ndarray, changed: np.ndarray, seen: np.ndarray) -> dict[str, Any]:
    """Steps and jumps of a path, and the visits that it makes to a grid of 8 x 8."""
    step = np.diff(path, axis=0)
    points = np.diff(np.where(seen[..., None], poses.positions, np.nan), axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # frames without any point
        jump = np.hypot(*(step - np.nanmedian(points, axis=1)).T)
        length = np.hypot(*step.T)
        medians = [float(np.nanmedian(x)) for x in (length[~changed], length[changed], jump[~changed], jump[changed])]
    track = Track("one", poses.times, path, time_unit="frames")
    made = visits([track], Grid.around([track], (8, 8)))
    keys = ("step_same", "step_changed", "jump_same", "jump_changed")
    lost = int(np.isnan(path[:, 0]).sum())
    return {
        **dict(zip(keys, medians, strict=True)),
        "steps": len(made.states[0]),
        "gaps": len(made.gaps[0]),
        "lost": lost,
    }


def one_file(title: str, repository: str, name: str, clones: Path, folder: Path) -> list[dict[str, Any]]:
    """Both positions of every animal in a file."""
    clone = clones / repository / "repo"
    commit = subprocess.run(["git", "-C", clone, "rev-parse", "HEAD"], capture_output=True, check=True, text=True)
    blob = subprocess.run(["git", "-C", clone, "show", f"HEAD:{name}"], capture_output=True, check=True)
    path = folder / Path(name).name
    path.write_bytes(blob.stdout)
    about = {"recording": title, "source": f"{repository.replace('+', '/')}@{commit.stdout.strip()[:12]}:{name}"}
    _, _, poses = poses_of(analysis_file(path) if path.suffix == ".slp" else path)
    faults = Faults()
    points = followed(poses, None, None, title, faults)
    rows = []
    for one in poses:
        mean, above = mean_of_seen(one)
        if np.isfinite(mean[:, 0]).mean() < LONG:
            continue
        changed = (above[1:] != above[:-1]).any(1)
        body = np.isin(one.keypoints, points.others) if points is not None else np.ones(len(one.keypoints), bool)
        row: dict[str, Any] = {**about, "animal": one.individual, "frames": len(mean), "keypoints": len(one.keypoints)}
        row |= {"changed": float(changed.mean()), "before": measured(one, mean, changed, above & body), "after": None}
        track = None if points is None else follow(one, points, title, None, None, (), faults)
        if track is not None:
            own = seen_points(one, None)[:, one.keypoints.index(track.keypoint)]
            row |= {"after": measured(one, track.positions, changed, above & body)}
            row |= {"point": track.keypoint, "point_seen": float(own.mean())}
        row["told"] = list(faults.messages if track is None else track.notes)
        rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """One line per animal, as Markdown."""
    lines = [
        "| recording | frames | the set changes in | jump then, before | after | "
        "median step, set same → changed, before | after | steps of the path, before | after | point taken | seen in |",
        "|:--|--:|--:|--:|--:|--:|--:|--:|--:|:--|--:|",
    ]
    for row in rows:
        before, after = row["before"], row["after"]
        cells = [row["recording"], f"{row['frames']:,}", f"{row['changed']:.1%}"]
        pairs = [["{:.2f}".format(x["jump_changed"]) if x else "asked" for x in (before, after)]]
        pairs += [["{step_same:.2f} → {step_changed:.2f}".format(**x) if x else "" for x in (before, after)]]
        pairs += [[f"{x['steps']:,}" if x else "" for x in (before, after)]]
        cells += [cell for pair in pairs for cell in pair] + [row.get("point", "")]
        cells += [f"{row['point_seen']:.1%}" if after else ""]
        lines.append(f"| {' | '.join(cells)} |".replace("nan", "–"))
    return "\n".join(lines)


def main() -> None:
    """Run the study and write its results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clones", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = FILES[:2] if options.quick else FILES
        rows = [row for file in files for row in one_file(*file, options.clones, Path(folder))]
    note = (
        "Before: the mean of the keypoints with a confidence of 0.6 or more. After: one point in the middle of the "
        "body, filled in by the steps of the others. *The set* is what has 0.6 or more. A *jump* (median, in pixels, "
        "where the set changes) is what a step has beyond the median step of the body's keypoints. Points are lost "
        "when animals move fast, so steps are longer where the set changes even for a point that is never lost (the "
        "thorax of the flies). Steps of the path: visits to a grid of 8 x 8 around it; a paw, where no point is in the "
        "middle, makes more of them than a mean does. *Asked*: the import stops and asks for a keypoint. "
        "The thresholds of the rule were chosen while looking at these files: this is no test on fresh ones."
    )
    print(table(rows), note, sep="\n\n")
    if options.quick:
        return
    record = {"command": "python studies/position.py clones", "versions": versions()}
    options.output.mkdir(exist_ok=True)
    text = json.dumps({**record, "rows": rows}, indent=2)
    (options.output / "position.json").write_text(text.replace("NaN", "null") + "\n", encoding="utf-8")
    made = ", ".join(f"{k} {v}" for k, v in versions().items())
    sources = "\n".join(
        f"- {title}: `{source}`" for title, source in {r["recording"]: r["source"] for r in rows}.items()
    )
    page = f"# The position of a body\n\n`{record['command']}` ({made})\n\n{table(rows)}\n\n{note}\n\n{sources}\n"
    (options.output / "position.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
