"""From frames to steps: tracks through places become sessions with one step per change of place."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.segments import DWELL
from swirl.data.trajectories import Trajectories
from swirl.data.trajectory_checks import MISSING
from swirl.errors import Faults, renamed
from swirl.io.label_runs import runs
from swirl.io.notes import two_clocks
from swirl.io.tracks import Track
from swirl.text import counted, percent, some

MAX_BREAK = {"seconds": 0.5, "frames": 5.0}
SKIPPED = ("gap", "shortest", "error")
_CLOSE = 1e-6  # of a duration: three frames of 1/30 s are 0.1 s, whatever the last bit says
_MOST = 0.5
_OUTSIDE = 0.1  # of the positions, from which it is asked why
_FEW = 0.01  # of the positions: hand-drawn zones overlap a little at their borders
_SAMPLE = 50_000  # positions that are looked at once more
_MANY = 0.05  # of the moves: then something is wrong with the places
_CANNOT = "No sessions can be made of the tracks"


@renamed(least_dwell="min_dwell", longest_break="max_break", skipped="on_skip")
def visits(
    tracks: Any,
    places: Any,
    *,
    min_dwell: float | int = 0.0,
    max_break: float | int | None = None,
    on_skip: str = "gap",
) -> Trajectories:
    """Make one step of each visit to a place; its time is the arrival.

    1. A stretch of frames without a place (no position, or nowhere) up to `max_break` belongs to the place before
       it; a longer one is a gap, and so is a jump in the times.
    2. Visits with frames worth less than `min_dwell` are taken out (at a border, positions flicker between two
       places), and what then follows itself is merged: the visit before goes on in their stead.
    3. A move between places that are not neighbours is treated as `on_skip` says.
    4. A move that only one action makes has that action; −1 stands where several do, and at ends of segments.

    Parameters
    ----------
    tracks
        One `Track` per session (or a single one).
    places
        `Grid`, `Polygons`, `Nodes`, or anything with their `assign`, `edges`, `state_names` and `action_names`.
    min_dwell
        Shortest visit, in the unit of the times.
    max_break
        Longest stretch without a place that is no gap, in the unit of the times; None: 0.5 s, or 5 frames.
    on_skip
        "gap": a new segment starts after the move. "shortest": the places between are filled in where there is just
        one shortest way, at times between the last frame before and the first frame after. "error".

    Returns
    -------
    Trajectories
        With the signal "dwell" (from arrival to leaving) and the mean over each visit of the tracks' signals.
        Sessions of fewer than two steps are left out. `notes` tell how often each rule was used.

    Examples
    --------
    >>> from swirl.io.places import Grid
    >>> walk = Track("a", np.arange(6) / 10, [[0.5, 0.5], [0.6, 0.5], [1.5, 0.5], [np.nan, 0], [1.6, 0.4], [2.5, 0.5]])
    >>> found = visits([walk], Grid(x=(0, 3), y=(0, 1), shape=(1, 3)))
    >>> found.states, found.times, [found.action_names[a] for a in found.actions[0][:-1]]
    ([array([0, 1, 2])], [array([0. , 0.2, 0.5])], ['right', 'right'])
    >>> found.signals["dwell"][0].round(3)
    array([0.2, 0.3, 0.1])
    """
    tracks = [tracks] if isinstance(tracks, Track) else list(tracks)
    max_break = _checked(tracks, places, min_dwell, max_break, on_skip)
    moves, tally, faults = _Moves(places), _Tally(), Faults()
    paths: list[tuple[Track, _Path]] = []
    for track in tracks:
        path = _seen(track, places.assign(track.positions), max_break, tally)
        path = _settled(path, min_dwell, tally)
        path = _joined(path, track, moves, on_skip, tally, faults)
        if len(path.place) > 1:
            paths.append((track, path))
        else:
            tally.dropped.append(track.name)
    faults.raise_if_any(_CANNOT)
    if not paths:
        raise ValueError(f"{_CANNOT}: {_why_none(tracks, places, min_dwell, tally.short)}")
    kept = [track for track, _ in paths]
    groups = [track.group for track in kept]
    actions = [moves.actions(path) for _, path in paths]
    for action, (_, path) in zip(actions, paths, strict=True):
        tally.moves += len(action) - 1
        tally.ambiguous += int(((action[:-1] == MISSING) & ~path.starts[1:]).sum())
    signals = {DWELL: [path.leave - path.arrival for _, path in paths]}
    shared = set.intersection(*(set(track.signals or {}) for track in kept)) - {DWELL}
    for name in sorted(shared):
        signals[name] = [_means(np.asarray((t.signals or {})[name], float), t.times, path) for t, path in paths]
    tally.unshared = sorted({name for track in kept for name in track.signals or {}} - shared)
    return Trajectories(
        states=[path.place for _, path in paths],
        actions=actions,
        names=[track.name for track in kept],
        subjects=[track.subject for track in kept],
        groups=groups if any(group is not None for group in groups) else None,
        times=[path.arrival for _, path in paths],
        gaps=[np.flatnonzero(path.starts)[1:] for _, path in paths],
        signals=signals,
        state_names=places.state_names,
        action_names=places.action_names,
        notes=(*_notes(tracks, tally, min_dwell, max_break, on_skip), *_place_notes(tracks, places)),
    )


def _checked(tracks: list[Any], places: Any, min_dwell: Any, max_break: Any, on_skip: str) -> float:
    """Check the arguments; the longest break in the tracks' own unit."""
    faults = Faults()
    if not tracks:
        faults.add("tracks is empty: give at least one Track")
    wrong = [type(track).__name__ for track in tracks if not isinstance(track, Track)]
    if wrong:
        faults.add(f"tracks holds {some(sorted(set(wrong)))}: give Track objects, as read_tracks returns them")
    units = sorted({track.time_unit for track in tracks if isinstance(track, Track)})
    if len(units) > 1:
        faults.add(f"tracks have times in {' and in '.join(units)}: give fps when reading those that count frames")
    lacking = [name for name in ("assign", "edges", "state_names", "action_names") if not hasattr(places, name)]
    if lacking:
        faults.add(f"places is a {type(places).__name__} without {some(lacking)}: give Grid, Polygons or Nodes")
    if not 0 <= min_dwell < np.inf:
        faults.add(f"min_dwell={min_dwell}: give a duration ≥ 0")
    if max_break is not None and not max_break >= 0:
        faults.add(f"max_break={max_break}: give a duration ≥ 0")
    if on_skip not in SKIPPED:
        faults.add(f"on_skip={on_skip!r}: expected {', '.join(map(repr, SKIPPED))}")
    faults.raise_if_any(_CANNOT)
    return float(MAX_BREAK[units[0]] if max_break is None else max_break)


@dataclass
class _Tally:
    """How often each rule was used."""

    frames: int = 0
    nowhere: int = 0
    outside: int = 0
    breaks: int = 0
    gaps: int = 0
    paused: int = 0
    short: int = 0
    skips: list[str] = field(default_factory=list)
    filled: list[int] = field(default_factory=list)
    moves: int = 0
    ambiguous: int = 0
    dropped: list[str] = field(default_factory=list)
    unshared: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Path:
    """Visits in order of time: `last` is the last frame seen there, `leave` when the visit ends."""

    place: Int[np.ndarray, " visit"]
    arrival: Float[np.ndarray, " visit"]
    last: Float[np.ndarray, " visit"]
    starts: Bool[np.ndarray, " visit"]  # whether a segment starts here
    period: float

    @property
    def leave(self) -> Float[np.ndarray, " visit"]:
        """The next arrival; before a gap and at the end, one frame after the last."""
        following = np.append(self.arrival[1:], np.inf)
        return np.where(np.append(self.starts[1:], True), self.last + self.period, following)


def _seen(track: Track, place: Int[np.ndarray, " frame"], max_break: float, tally: _Tally) -> _Path:
    """Runs of the same place; breaks that are too long start a segment."""
    times = track.times
    period = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    there = np.flatnonzero(place >= 0)
    t, p = times[there], place[there].astype(np.int64)
    missing = np.diff(t) - period
    broken = missing > max_break + period / 2  # cameras are not punctual
    paused = np.diff(np.searchsorted(np.asarray(track.resumed, int), there, side="right")) > 0
    tally.paused += int((paused & ~broken).sum())
    broken |= paused
    starts = np.append(True, broken)[: len(p)]
    first, last = runs(p, starts)
    tally.frames += len(times)
    tally.nowhere += len(times) - len(there)
    tally.outside += int((np.isfinite(track.positions).all(axis=1) & (place < 0)).sum())
    tally.gaps += int(broken.sum())
    tally.breaks += int(((np.diff(there) > 1) & ~broken).sum())
    return _Path(p[first], t[first], t[last], starts[first], period)


def _settled(path: _Path, min_dwell: float | int, tally: _Tally) -> _Path:
    """Without visits of too few frames; what then follows itself within a segment is one visit."""
    long = path.last - path.arrival + path.period >= min_dwell * (1 - _CLOSE)
    tally.short += int((~long).sum())
    # A segment goes on starting with its first visit that is left.
    segment = np.cumsum(path.starts)[long]
    place, arrival, last = path.place[long], path.arrival[long], path.last[long]
    starts = np.append(True, np.diff(segment) > 0)[: len(place)]
    first, ends = runs(place, starts)
    return _Path(place[first], arrival[first], last[ends], starts[first], path.period)


def _joined(path: _Path, track: Track, moves: "_Moves", on_skip: str, tally: _Tally, faults: Faults) -> _Path:
    """Treat the moves between places that are not neighbours."""
    pairs = zip(path.place[:-1].tolist(), path.place[1:].tolist(), strict=True)
    known = [path.starts[i + 1] or pair in moves.action for i, pair in enumerate(pairs)]
    wrong = np.flatnonzero(~np.array(known, bool)) + 1
    if not wrong.size:
        return path
    starts, insert = path.starts.copy(), []
    for i in wrong.tolist():
        a, b = int(path.place[i - 1]), int(path.place[i])
        when = f"{path.arrival[i]:.6g} {track.time_unit}"
        told = f"session {track.name!r}, {when}: from {moves.names[a]!r} to {moves.names[b]!r}"
        way = moves.shortest(a, b) if on_skip == "shortest" else None
        if way is not None:
            tally.filled.append(len(way))
            between = np.linspace(path.last[i - 1], path.arrival[i], len(way) + 2)[1:-1]
            insert += [(i, place, time) for place, time in zip(way, between, strict=True)]
            continue
        if on_skip == "error":
            faults.add(f"{told}, which are not neighbours: mend the track or the places, or take on_skip='gap'")
        starts[i] = True
        tally.skips.append(told)
    at = np.array([i for i, _, _ in insert], int)
    arrival = np.array([time for _, _, time in insert])
    return _Path(
        np.insert(path.place, at, np.array([place for _, place, _ in insert], np.int64)),
        np.insert(path.arrival, at, arrival),
        np.insert(path.last, at, arrival),
        np.insert(starts, at, False),
        path.period,
    )


class _Moves:
    """What the places' edges say: the action of each move, and ways through the graph."""

    def __init__(self, places: Any) -> None:
        self.names = tuple(places.state_names)
        self.action: dict[tuple[int, int], int] = {}
        self.neighbours: dict[int, list[int]] = {}
        for s, a, t in places.edges():
            if (s, t) in self.action:
                # Two actions make the same move: which one it was is not known.
                self.action[s, t] = MISSING if self.action[s, t] != a else a
            else:
                self.action[s, t] = a
                self.neighbours.setdefault(s, []).append(t)
        self.shortest = cache(self._shortest)

    def actions(self, path: _Path) -> Int[np.ndarray, " visit"]:
        """Action of each step; −1 where it is not known, and before gaps."""
        moves = zip(path.place[:-1].tolist(), path.place[1:].tolist(), strict=True)
        found = [MISSING if start else self.action[move] for start, move in zip(path.starts[1:], moves, strict=True)]
        return np.array([*found, MISSING], np.int64)

    def _shortest(self, a: int, b: int) -> list[int] | None:
        """Places between a and b on the one shortest way; None where there is none, or several.

        Breadth-first, counting the shortest ways to each place.
        """
        distance, ways, before = {a: 0}, {a: 1}, {}
        waiting = deque([a])
        while waiting:
            here = waiting.popleft()
            if here == b:
                break
            for there in self.neighbours.get(here, ()):
                if there not in distance:
                    distance[there], ways[there], before[there] = distance[here] + 1, 0, here
                    waiting.append(there)
                if distance[there] == distance[here] + 1:
                    ways[there] += ways[here]
        if ways.get(b) != 1:
            return None
        way = [before[b]]
        while way[-1] != a:
            way.append(before[way[-1]])
        return way[-2::-1]


def _means(signal: np.ndarray, times: np.ndarray, path: _Path) -> np.ndarray:
    """Mean of a signal over the frames of each visit; NaN where it has no value."""
    known = np.isfinite(signal)
    zero = np.zeros((1, *signal.shape[1:]))
    total, n = (np.concatenate([zero, np.cumsum(x, axis=0)]) for x in (np.where(known, signal, 0.0), known))
    first = np.searchsorted(times, path.arrival - _CLOSE * path.period)
    stop = np.searchsorted(times, path.leave - _CLOSE * path.period)
    count = n[stop] - n[first]
    return (total[stop] - total[first]) / np.where(count > 0, count, np.nan)


def _why_none(tracks: Iterable[Track], places: Any, min_dwell: float, short: int) -> str:
    """Why nothing is left: most often positions and places are in different units, or visits were all too short."""
    flat = _known(tracks)
    if not len(flat):
        return "no frame has a position; lower min_confidence when reading them"

    def extent(points: np.ndarray) -> str:
        (left, bottom), (right, top) = points.min(0), points.max(0)
        return f"x {left:g} to {right:g}, y {bottom:g} to {top:g}"

    place = places.assign(flat)
    inside = int(np.count_nonzero(place >= 0))
    told = f"no animal moved from a place to another; {inside:,} of {counted(len(flat), 'position')} are in a place. "
    if short:
        unit = "frames" if next(iter(tracks)).time_unit == "frames" else "s"
        return (
            f"{told}{counted(short, 'visit')} shorter than min_dwell={min_dwell:g} {unit} (--min-dwell) were taken "
            "out: is the frame rate right (fps, --fps)? Else give a shorter min_dwell"
        )
    there = np.unique(place[place >= 0])
    if len(there) == 1 and inside > _MOST * len(flat):
        name = places.state_names[there[0]]
        return (
            f"{told}All of these are in {name!r}. Where places overlap, the first one in the file counts: list the "
            "small ones before those around them; else give smaller places"
        )
    return (
        f"{told}Positions have {extent(flat)}, the places lie at {extent(np.asarray(places.coordinates))}: "
        "are both in the same unit (pixels, cm)?"
    )


def _known(tracks: Iterable[Track]) -> np.ndarray:
    """All positions that are known."""
    flat = np.concatenate([track.positions for track in tracks])
    return flat[np.isfinite(flat).all(1)]


def _place_notes(tracks: list[Track], places: Any) -> list[str]:
    """What positions say of the places: x and y that are swapped, places that overlap, and those that never count."""
    known, notes = _known(tracks), []
    flat = known[:: max(1, len(known) // _SAMPLE)]
    outside, swapped = (float(np.mean(places.assign(xy) < 0)) for xy in (flat, flat[:, ::-1]))
    if outside > _OUTSIDE and swapped < outside / 4:
        notes.append(
            f"BEWARE: {percent(outside, space=' ')} of the positions lie in no place; if x and y of the places were "
            f"swapped, it would be {percent(swapped, space=' ')}. Do they have x first, then y, as positions have?"
        )
    if hasattr(places, "overlaps"):
        several, names, under = places.overlaps(flat)
        if under and len(flat) < len(known):  # "never" is said of all positions
            under = places.overlaps(known)[2]
        for large in dict.fromkeys(under.values()):
            small = [repr(name) for name, over in under.items() if over == large]
            is_, it = ("is", "it") if len(small) == 1 else ("are", "them")
            notes.append(
                f"BEWARE: {some(small)} {is_} never counted, as {large!r} comes before {it} in the file and covers "
                f"{it}: list small places before those around them"
            )
        if several >= _FEW:
            share = percent(several, space=" ")
            notes.append(
                f"{share} of the positions are in several places at once ({some(names)}): each counts for the first of "
                "them in the file"
            )
    return notes


def _notes(tracks: list[Track], tally: _Tally, min_dwell: Any, max_break: float, on_skip: str) -> tuple[str, ...]:
    """What was done, in sentences."""
    unit = "frames" if tracks[0].time_unit == "frames" else "s"
    notes = list(dict.fromkeys(note for track in tracks for note in track.notes))
    notes += two_clocks(
        ((track.name, float(np.median(np.diff(track.times)))) for track in tracks if len(track.times) > 1), unit
    )
    points = {track.keypoint: track.name for track in tracks if track.keypoint}
    if len(points) > 1:
        taken = some([f"{point!r} in {name}" for point, name in points.items()])
        notes.append(
            f"BEWARE: not the same keypoint everywhere ({taken}): take one for all with keypoint (--keypoint)."
        )
    if tally.paused:
        notes.append(f"{counted(tally.paused, 'gap')} where the recording was interrupted (its time support).")
    if tally.nowhere or tally.gaps > tally.paused:
        share = 100 * tally.nowhere / max(tally.frames, 1)
        notes.append(
            f"{tally.nowhere:,} of {counted(tally.frames, 'frame')} ({share:.1f} %) are in no place: "
            f"{counted(tally.breaks, 'break')} bridged, {counted(tally.gaps - tally.paused, 'gap')} longer than "
            f"{max_break:g} {unit}."
        )
        if tally.outside > _MOST * tally.frames:
            share = 100 * tally.outside / tally.frames
            notes.append(
                f"BEWARE: {share:.0f} % of the frames have a position, but lie in no place. Do the places cover the "
                "arena, in the unit and with the origin of the positions (--bounds, --polygons, --nodes)?"
            )
    if tally.short:
        notes.append(f"Took out {counted(tally.short, 'visit')} shorter than {min_dwell:g} {unit}.")
    apart = "between places that are not neighbours"
    if tally.filled:
        notes.append(
            f"Filled in {counted(sum(tally.filled), 'place')} on the shortest way of "
            f"{counted(len(tally.filled), 'move')} {apart} (at most {max(tally.filled)} in a row)."
        )
    if tally.skips:
        why = ", without a single shortest way" if on_skip == "shortest" else ""
        notes.append(f"Made gaps of {counted(len(tally.skips), 'move')} {apart}{why}, the first in {tally.skips[0]}.")
        if len(tally.skips) > _MOST * tally.moves > 2:
            notes.append(
                f"BEWARE: that is {len(tally.skips):,} of all {counted(tally.moves, 'move')}, so hardly anything "
                "can be learned from them. Are x and y positions (no steps or speeds), of one animal, in the order of "
                "time? If they are, larger places or more frames a second are needed."
            )
        elif len(tally.skips) > _MANY * tally.moves:
            notes.append(
                "Those are many: a longer min_dwell (--min-dwell) takes out flicker, on_skip='shortest' (--on-skip "
                "shortest) fills in places passed in a hurry, diagonal=True (--diagonal) opens a grid's corners, and "
                "corridors=True (--nodes without --reach) keeps to the corridors of a maze."
            )
    period = float(np.median([np.median(np.diff(track.times)) for track in tracks if len(track.times) > 1] or [0.0]))
    cut = tally.gaps - tally.paused
    if period > max_break and cut > max(2, _MANY * tally.moves):
        wider = f"{3 * period:.4g}"
        notes.append(
            f"BEWARE: {counted(cut, 'gap')} beside {counted(tally.moves, 'move')}. Positions are {period:.4g} {unit} "
            f"apart (median), and a longer break than {max_break:g} {unit} is a gap: with max_break={wider} "
            f"(--max-break {wider}) the animal is taken to stay where it was while up to three are lost."
        )
    if tally.ambiguous:
        notes.append(f"The action of {counted(tally.ambiguous, 'move')} is missing: several actions make it.")
    if tally.dropped:
        sessions = counted(len(tally.dropped), "session")
        notes.append(f"Left out {sessions} with fewer than two steps: {some(tally.dropped)}.")
    if tally.unshared:
        notes.append(f"Left out the signals that not every track has: {some(tally.unshared)}.")
    return tuple(notes)
