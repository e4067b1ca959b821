"""Which point of a body is its position, and how it goes on in frames where that point is lost.

The mean of the keypoints that happen to be seen is no position: it jumps whenever one is lost or found.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.errors import Faults
from swirl.io.poses import Poses
from swirl.text import some


def wanted_keypoints(keypoint: Any, known: Sequence[str], where: str, faults: Faults) -> list[str] | None:
    """The keypoints that were asked for, by default all; None after a fault.

    >>> wanted_keypoints("nose", ("nose", "tail"), "m1", Faults())
    ['nose']
    """
    wanted = list(known) if keypoint is None else [keypoint] if isinstance(keypoint, str) else list(keypoint)
    unknown = [repr(part) for part in wanted if part not in known]
    if not known:
        faults.add(f"{where} holds no keypoints: its series of positions are missing; write the file again")
        return None
    if unknown or not wanted:
        there = some([repr(part) for part in known], 30)
        faults.add(f"keypoint={keypoint!r}: {where} has no {some(unknown) or 'such keypoint'}; it has {there}")
        return None
    return wanted


def seen_points(poses: Poses, min_confidence: float | int | None) -> Bool[np.ndarray, "frame keypoint"]:
    """Which keypoints count as seen; a confidence that is not known is no objection.

    >>> sure = np.array([[0.9], [0.1], [np.nan]])
    >>> seen_points(Poses("m1", ("nose",), np.zeros((3, 1, 2)), sure, np.arange(3.0)), None).ravel().tolist()
    [True, False, True]
    """
    seen = np.asarray(np.isfinite(poses.positions).all(2))
    least = poses.min_confidence if min_confidence is None else min_confidence
    return seen if poses.confidence is None else seen & ~(poses.confidence < least)


@dataclass(frozen=True)
class Followed:
    """Which keypoints make the position: the mean of `points`; where one is lost, it moves as those of `others` do.

    >>> Followed(("nose",)).others  # what a user names is taken as it is
    ()
    """

    points: tuple[str, ...]
    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def followed(poses: Sequence[Poses], keypoint: Any, min_confidence: Any, where: str, faults: Faults) -> Followed | None:
    """What to follow in all animals of a recording: what was asked for, else a point of the body; None after a fault.

    >>> still = Poses("m1", ("nose", "corner"), np.array([[[0.0, 0], [9, 9]], [[5, 0], [9, 9]]]), None, np.arange(2.0))
    >>> followed([still], None, None, "m1", Faults()).notes
    ("The position is that of 'nose'. Left out 'corner', which does not move.",)
    """
    known = poses[0].keypoints
    wanted = wanted_keypoints(keypoint, known, where, faults)
    if wanted is None:
        return None
    seen = np.concatenate([seen_points(one, min_confidence) for one in poses])
    asked = keypoint is not None or len(known) == 1
    if not (seen[:, [known.index(part) for part in wanted]].all(1) if asked else seen).any():
        sure = [one.confidence for one in poses if one.confidence is not None and np.isfinite(one.confidence).any()]
        least = poses[0].min_confidence if min_confidence is None else min_confidence
        got = f"; the highest confidence is {max(map(np.nanmax, sure)):.2g}" if sure else ""
        faults.add(f"{where}: no frame has a position with a confidence of min_confidence={least} or more{got}")
        return None
    if asked:
        return Followed(tuple(wanted), tuple(wanted[1:] and wanted))
    point, others, apart = body_point(np.concatenate([one.positions for one in poses]), seen)
    named = {kind: [repr(known[i]) for i in which] for kind, which in apart.items()}
    if point is None:
        groups = some([some([known[i] for i in group], 3) for group in others], 4, "; ")
        first = known[others[0][0]]
        faults.add(
            f"the keypoints of {where} do not move as one body, but apart, as two animals do: {groups}. "
            f"Say which one is the position: keypoint={first!r} (--keypoint {shlex.quote(first)}), or "
            f"another of {some([repr(part) for part in known], 40)}"
        )
        return None
    told = f"The position is that of {known[point]!r}"
    if others[0]:
        where_it_is = "in the middle of the body and " if len(others[0]) > 1 else ""  # two points have no middle
        told += f", {where_it_is}well seen; --keypoint NAME takes another"
    left = {"still": "does not move", "loose": "does not move with the body", "lost": "is never seen"}
    told += "".join(
        f". Left out {some(named[kind], 30)}, which {why if len(named[kind]) == 1 else _plural(why)}"
        for kind, why in left.items()
        if named[kind]
    )
    notes = (f"{told}.", *_of_arena(known), *_of_confidence(poses, min_confidence))
    return Followed((known[point],), tuple(known[i] for i in (point, *others[0])), notes)


_THINGS = "arena beam box corner door edge feeder floor lever maze object platform port rod spout wall"
_ARENA = frozenset(_THINGS.split())
"""Words of things that stand in an arena, in names of keypoints."""


def _of_arena(names: Sequence[str]) -> tuple[str, ...]:
    """A warning where all keypoints are called like parts of the arena: their file is not that of the animal.

    >>> _of_arena(("BeamLeft", "beam_right"))[0][:67], _of_arena(("nose", "corner1"))
    ("BEWARE: all keypoints ('BeamLeft', 'beam_right') are called like th", ())
    """
    if not all(_ARENA & {word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+", name)} for name in names):
        return ()
    return (
        f"BEWARE: all keypoints ({some([repr(name) for name in names])}) are called like things of the arena. If they "
        "are, nothing here is where the animal is: give the file with the animal's keypoints",
    )


def _of_confidence(poses: Sequence[Poses], min_confidence: Any) -> tuple[str, ...]:
    """A note on the cutoff that nobody asked for."""
    sure = [one.confidence for one in poses if one.confidence is not None and np.isfinite(one.confidence).any()]
    if min_confidence is not None or not sure:
        return ()
    if not (least := poses[0].min_confidence):
        return ("SLEAP's scores are no probabilities: none is too low, unless you say so (--min-confidence).",)
    told = f"Keypoints with a confidence below {least:g} count as not seen (--min-confidence)."
    return (told,) if any((one < least).any() for one in sure) else ()


def _plural(verb: str) -> str:
    return verb.replace("does", "do").replace("is ", "are ")


_FRAMES = 10_000  # enough to tell which points go together
_STILL = 0.1  # of the range of the point that moves most
_TOGETHER = 0.5  # of their range: two points whose difference ranges over less belong to one body
_AS_WELL_SEEN = 0.05  # of the frames
_ONE_BODY = 2 / 3  # of the points that move: more than these are one body


def body_point(
    positions: Float[np.ndarray, "frame keypoint 2"], seen: Bool[np.ndarray, "frame keypoint"]
) -> tuple[int | None, list[list[int]], dict[str, list[int]]]:
    """Choose the keypoint that stands for the body: of those that move together and are seen most often, the middle.

    A range is the diagonal of the box that holds the middle 90 % of values in x and in y.  A point is *still* (a corner
    of the maze) where its range is below a tenth of the largest.  Two points *go together* where the range of their
    difference is below half the larger of their own ranges, or below the usual distance between neighbouring points (an
    animal that rests); a body is what is joined so, and has to have more than two thirds of the points that move.  Of
    its points that are seen within 5 % of the frames of the best seen one, that with the least sum of median distances
    to all that move is taken.

    Returns
    -------
    point, others, apart
        The point, [the others of the body] and what was left out: "still", "loose" (is not of the body) and "lost" (is
        never seen).  Where there is no such body the point is None, and others are what is joined, each with its
        own middle first.

    Examples
    --------
    >>> x = np.linspace(0.0, 90.0, 50)[:, None]
    >>> body = np.stack([x + [0, 0, 8, -5], np.full((50, 4), 3.0)], axis=-1)  # an animal that walks along a line
    >>> body[:, 0] = 7  # a corner
    >>> body_point(body, np.ones((50, 4), bool))
    (1, [[2, 3]], {'still': [0], 'loose': [], 'lost': []})
    """
    share, xy = seen.mean(0), np.where(seen[..., None], positions, np.nan)[_sample(len(seen))]
    there = np.flatnonzero(np.isfinite(xy[..., 0]).any(0))
    reach = dict(zip(there.tolist(), _ranges(xy[:, there]), strict=True))
    moving = [i for i in reach if reach[i] > _STILL * max(reach.values())] or list(reach)
    n = len(share)
    near, width = np.full((n, n), np.nan), np.full((n, n), np.inf)  # distance of two points, and how far it varies
    for i in moving:
        apart = xy - xy[:, [i]]
        both = [j for j in moving if j != i and np.isfinite(apart[:, j, 0]).any()]
        if not both:
            continue
        width[i, both] = _ranges(apart[:, both])
        near[i, both] = quantiles(np.hypot(apart[:, both, 0], apart[:, both, 1]), [0.5])[0]
    known = [i for i in moving if np.isfinite(near[i]).any()]
    neighbours = float(np.median(np.nanmin(near[known], axis=1))) if len(moving) > 2 and known else 0.0

    def goes_with(i: int, j: int) -> bool:
        return bool(width[i, j] < max(_TOGETHER * max(reach[i], reach[j]), neighbours))

    bodies: list[list[int]] = []
    for i in moving:
        joined = [body for body in bodies if any(goes_with(i, j) for j in body)]
        bodies = [body for body in bodies if body not in joined] + [sorted(sum(joined, [i]))]

    def middle_first(body: list[int], among: list[int]) -> list[int]:
        enough = [i for i in body if share[i] >= share[body].max() - _AS_WELL_SEEN]
        first = min(enough, key=lambda i: np.nansum(near[i, among]))
        return [first, *(i for i in body if i != first)]

    body = max(bodies, key=len)
    lost, still = (sorted(whole - set(part)) for whole, part in ((set(range(n)), reach), (set(reach), moving)))
    left = {"still": still, "loose": sorted(set(moving) - set(body)), "lost": lost}
    if len(moving) > 1 and len(body) <= _ONE_BODY * len(moving):
        return None, sorted((middle_first(one, one) for one in bodies), key=len, reverse=True), left
    point, *others = middle_first(body, moving)
    return point, [others], left


def _ranges(xy: Float[np.ndarray, "frame keypoint 2"]) -> Float[np.ndarray, " keypoint"]:
    """The diagonal of the box of the middle 90 % of values, for each keypoint."""
    low, high = quantiles(xy, [0.05, 0.95])
    return np.hypot(*(high - low).T)


def quantiles(values: Float[np.ndarray, "frame ..."], q: Sequence[float]) -> Float[np.ndarray, "q ..."]:
    """`np.nanquantile` along the first axis, for all columns at once: NumPy's own takes them one by one.

    >>> quantiles(np.array([[3.0, 1], [1, np.nan], [2, np.nan]]), [0.5]).tolist()
    [[2.0, 1.0]]
    """
    ordered = np.sort(values, axis=0)  # NaN comes last
    last = np.maximum(np.isfinite(ordered).sum(0) - 1, 0)
    found = []
    for share in q:
        at = share * last
        below = np.floor(at).astype(int)
        low, high = (np.take_along_axis(ordered, i[None], axis=0)[0] for i in (below, np.minimum(below + 1, last)))
        found.append(low + (at - below) * (high - low))
    return np.stack(found)


def bridged(
    position: Float[np.ndarray, "frame 2"],
    others: Float[np.ndarray, "frame keypoint 2"],
    longest_error: float | int = np.inf,
) -> Float[np.ndarray, "frame 2"]:
    """Fill the frames where a position is lost between two where it is not, by the steps of other points.

    Within a gap the position takes the median step of the points that are seen in both frames.  What is missing at its
    end is spread evenly over the gap, so that nothing jumps when a point is lost or found.  A gap stays where no point
    tells a step, or where more than `longest_error` is missing.

    Examples
    --------
    >>> nan, nose = np.nan, np.array([[0.0, 5], [1, 5], [3, 5], [6, 5]])
    >>> bridged(np.array([[0.0, 0], [nan, nan], [nan, nan], [6, 3]]), nose[:, None])
    array([[0., 0.],
           [1., 1.],
           [3., 2.],
           [6., 3.]])
    """
    known = np.flatnonzero(np.isfinite(position).all(1))
    lost = np.setdiff1d(np.arange(len(position)), known)
    lost = lost[(lost > known[0]) & (lost < known[-1])] if known.size else lost[:0]
    if not lost.size:
        return position
    after = np.searchsorted(known, lost)
    first, last = known[after - 1], known[after]
    needed = np.unique(np.concatenate([lost, last]))  # frames that are stepped into
    steps, silent = np.zeros_like(position), np.zeros(len(position), int)
    step = others[needed] - others[needed - 1]
    told = np.isfinite(step).all(2).any(axis=-1)
    steps[needed[told]] = np.nanmedian(step[told], axis=1)
    silent[needed[~told]] = 1
    path, silence = np.cumsum(steps, axis=0), np.cumsum(silent)
    missing = position[last] - position[first] - (path[last] - path[first])
    good = (silence[last] == silence[first]) & (np.hypot(*missing.T) <= longest_error)
    filled = position.copy()
    spread = ((lost - first) / (last - first))[:, None]
    filled[lost[good]] = (position[first] + path[lost] - path[first] + spread * missing)[good]
    return filled


def body_length(xy: Float[np.ndarray, "frame keypoint 2"]) -> float:
    """How long a body is: the largest median distance between two of its points.

    >>> body_length(np.array([[[0.0, 0], [3, 4]], [[1, 0], [4, 4]]]))
    5.0
    """
    xy, longest = xy[_sample(len(xy))], 0.0
    for i in range(1, xy.shape[1]):
        apart = np.hypot(*np.moveaxis(xy[:, :i] - xy[:, [i]], 2, 0))
        longest = max([longest, *(float(np.median(d[np.isfinite(d)])) for d in apart.T if np.isfinite(d).any())])
    return longest


def _sample(n: int) -> Int[np.ndarray, " frame"]:
    """Frames that are enough to tell how points lie and move."""
    return np.unique(np.linspace(0, n - 1, min(n, _FRAMES)).astype(int))
