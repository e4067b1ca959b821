from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from swirl.data.environments import environment_of_places
from swirl.data.trajectories import Trajectories
from swirl.datasets.labyrinth import labyrinth_env
from swirl.errors import ImportNotice
from swirl.io.places import Grid, Nodes, Polygons
from swirl.io.tracks import Track
from swirl.io.visits import visits

FPS = 30
ROW = Grid(x=(0, 5), y=(0, 1), shape=(1, 5))


def walker(coordinates, path, speed, noise, random_state):
    """Positions at 30 frames a second of an animal that goes straight from each place of the path to the next."""
    stops = coordinates[path]
    reached = np.append(0, np.cumsum(np.hypot(*np.diff(stops, axis=0).T))) / speed
    times = np.arange(0, reached[-1] + 0.2, 1 / FPS)
    positions = np.stack([np.interp(times, reached, stops[:, i]) for i in range(2)], axis=1)
    return times, positions + np.random.default_rng(random_state).normal(scale=noise, size=positions.shape), reached


def random_path(edges, n, random_state):
    rng, path = np.random.default_rng(random_state), [0]
    ways = {}
    for s, _, t in edges:
        ways.setdefault(s, []).append(t)
    for _ in range(n - 1):
        path.append(int(rng.choice(ways[path[-1]])))
    return path


def line(*cells, period=0.1, **options):
    """A track through the cells 0 to 4 of a row, one frame each; None: no position."""
    positions = [[np.nan, 0] if cell is None else [cell + 0.5, 0.5] for cell in cells]
    return Track("a", np.arange(len(cells)) * period, positions, **options)


def expect_moves(found, places):
    """Each action leads where the next state is."""
    lead = {(s, a): t for s, a, t in places.edges()}
    for states, actions in zip(found.states, found.actions, strict=True):
        assert [lead[s, a] for s, a in zip(states[:-1], actions, strict=False)] == states[1:].tolist()


# Known paths come back


@pytest.fixture(scope="module")
def maze():
    env = labyrinth_env()
    edges = [(node, (node - 1) // 2) for node in range(1, 127)]
    path = random_path(Nodes(env.coordinates, edges).edges(), 300, 2)
    times, positions, reached = walker(env.coordinates, path, speed=4.0, noise=0.06, random_state=2)
    return env, edges, path, Track("m1", times, positions, subject="B1"), reached


@pytest.mark.parametrize(
    ("options", "max_break"),
    [({"corridors": True}, None), ({"corridors": True, "reach": 0.45}, None), ({"reach": 0.4}, 2.0)],
)
def test_path_through_the_labyrinth(maze, options, max_break):
    env, edges, path, track, reached = maze
    places = Nodes(env.coordinates, edges, names=env.state_names, **options)
    found = visits([track], places, min_dwell=0.1, max_break=max_break, on_skip="error")
    assert found.states[0].tolist() == path
    expect_moves(found, places)
    assert found.gaps[0].size == 0
    # Half of the longest corridor (4) takes 0.5 s.
    assert np.abs(found.times[0] - reached).max() < 0.6
    assert (
        np.abs(found.times[0] + found.signals["dwell"][0] - np.append(found.times[0][1:], track.times[-1])).max() < 0.05
    )
    assert (found.names, found.subjects) == (("m1",), ("B1",))
    assert found.n_states == 127


def test_the_nearest_node_alone_loses_the_way(maze):
    """The long corridors pass nodes behind walls: why there is `corridors`."""
    env, edges, path, track, _ = maze
    found = visits([track], Nodes(env.coordinates, edges), min_dwell=0.1)
    assert found.states[0].tolist() != path
    assert any("Those are many" in note for note in found.notes)


def test_path_through_a_grid():
    grid = Grid(x=(0, 60), y=(0, 40), shape=(4, 6)).without([(1, 1), (2, 3)])
    path = random_path(grid.edges(), 200, 3)
    times, positions, _ = walker(grid.coordinates, path, speed=30.0, noise=0.4, random_state=4)
    positions[np.arange(7, len(times), 50)] = np.nan
    found = visits(Track("g", times, positions), grid, min_dwell=0.1, on_skip="error")
    assert found.states[0].tolist() == path
    expect_moves(found, grid)
    assert found.actions[0][-1] == -1
    assert found.subjects == (None,)
    assert found.action_names == ("up", "down", "left", "right")
    assert "in no place" in found.notes[0]


# One rule at a time


def test_steps_times_and_dwell():
    found = visits(line(0, 0, 1, 1, 1, 2), ROW)
    np.testing.assert_array_equal(found.states[0], [0, 1, 2])
    np.testing.assert_allclose(found.times[0], [0, 0.2, 0.5])
    np.testing.assert_allclose(found.signals["dwell"][0], [0.2, 0.3, 0.1])
    np.testing.assert_array_equal(found.actions[0], [3, 3, -1])
    assert found.notes == ()


def test_breaks_are_bridged_or_gaps():
    cells = (0, None, None, 1, 1, None, None, None, 1, 2)
    found = visits(line(*cells), ROW, max_break=0.2)
    np.testing.assert_array_equal(found.states[0], [0, 1, 1, 2])
    np.testing.assert_array_equal(found.gaps[0], [2])
    np.testing.assert_array_equal(found.actions[0], [3, -1, 3, -1])
    np.testing.assert_allclose(found.signals["dwell"][0], [0.3, 0.2, 0.1, 0.1])
    assert found.notes == ("5 of 10 frames (50.0 %) are in no place: 1 break bridged, 1 gap longer than 0.2 s.",)
    np.testing.assert_array_equal(visits(line(*cells), ROW, max_break=0.3).states[0], [0, 1, 2])


def test_default_breaks():
    def n_gaps(missing, **options):
        return len(visits(line(0, 1, *[None] * missing, 1, 2, **options), ROW).gaps[0])

    assert [n_gaps(n) for n in (5, 6)] == [0, 1]  # 0.5 s
    assert [n_gaps(n, period=1.0, time_unit="frames") for n in (5, 6)] == [0, 1]


def test_jumps_in_the_times_are_breaks_but_unpunctual_frames_are_not():
    cells = [[0.5, 0.5], [0.5, 0.5], [1.5, 0.5], [1.5, 0.5], [2.5, 0.5]]
    jump = Track("a", [0, 0.1, 0.2, 5.0, 5.1], cells)
    np.testing.assert_array_equal(visits(jump, ROW).states[0], [0, 1, 1, 2])
    np.testing.assert_array_equal(visits(jump, ROW).gaps[0], [2])
    late = Track("a", [0, 0.1, 0.23, 0.3, 0.44], cells)
    assert visits(late, ROW, max_break=0).gaps[0].size == 0


def test_flicker_is_taken_out():
    found = visits(line(0, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 2, 2), ROW, min_dwell=0.2)
    np.testing.assert_array_equal(found.states[0], [0, 1, 2])
    np.testing.assert_allclose(found.times[0], [0, 0.5, 1.1])
    np.testing.assert_allclose(found.signals["dwell"][0], [0.5, 0.6, 0.2])
    assert found.notes == ("Took out 3 visits shorter than 0.2 s.",)
    # What is left of the last segment starts it.
    found = visits(line(0, 0, 1, 1, 0, 1, 1, *[None] * 9, 3, 2, 2), ROW, min_dwell=0.2)
    np.testing.assert_array_equal(found.states[0], [0, 1, 2])
    np.testing.assert_array_equal(found.gaps[0], [2])
    np.testing.assert_allclose(found.signals["dwell"][0], [0.2, 0.5, 0.2])


def test_skipped_places():
    track = line(0, 1, 1, 4, 4, 3)
    gap = visits(track, ROW)
    np.testing.assert_array_equal(gap.states[0], [0, 1, 4, 3])
    np.testing.assert_array_equal(gap.gaps[0], [2])
    np.testing.assert_array_equal(gap.actions[0], [3, -1, 2, -1])
    assert gap.notes[0].endswith("the first in session 'a', 0.3 seconds: from 'r0c1' to 'r0c4'.")
    filled = visits(track, ROW, on_skip="shortest")
    np.testing.assert_array_equal(filled.states[0], [0, 1, 2, 3, 4, 3])
    np.testing.assert_allclose(filled.times[0], [0, 0.1, 0.2 + 0.1 / 3, 0.2 + 0.2 / 3, 0.3, 0.5])
    assert filled.gaps[0].size == 0
    assert "Filled in 2 places on the shortest way of 1 move" in filled.notes[0]
    expect_moves(filled, ROW)
    with pytest.raises(ValueError, match=r"session 'a', 0\.3 seconds: from 'r0c1' to 'r0c4', which are not neighbours"):
        visits(track, ROW, on_skip="error")


def test_only_a_single_shortest_way_is_filled_in():
    square = Grid(x=(0, 2), y=(0, 2), shape=(2, 2))
    track = Track("a", [0.0, 1.0, 2.0], [[0.5, 0.5], [1.5, 1.5], [1.5, 0.5]])
    found = visits(track, square, on_skip="shortest")
    np.testing.assert_array_equal(found.states[0], [2, 1, 3])
    np.testing.assert_array_equal(found.gaps[0], [1])
    assert "without a single shortest way" in found.notes[0]
    open_corner = square.without([(1, 1)])
    found = visits(Track("a", [0.0, 1.0], [[0.5, 0.5], [1.5, 1.5]]), open_corner, on_skip="shortest")
    np.testing.assert_array_equal(found.states[0], [2, 0, 1])


def brute_force_ways(edges, a, b, length):
    """All ways of this many moves from a to b."""
    ways = [[a]]
    for _ in range(length):
        ways = [[*way, t] for way in ways for s, _, t in edges if s == way[-1]]
    return [way for way in ways if way[-1] == b]


def test_shortest_ways_agree_with_enumeration():
    rng = np.random.default_rng(5)
    places = Nodes(rng.random((9, 2)), [(i, i + 1) for i in range(8)] + [(0, 4), (2, 7), (3, 8)])
    for a, b in [(a, b) for a in range(9) for b in range(9) if a != b]:
        ways = next(ways for n in range(1, 9) if (ways := brute_force_ways(places.edges(), a, b, n)))
        found = visits(Track("a", [0.0, 1.0], places.coordinates[[a, b]]), places, on_skip="shortest")
        assert found.states[0].tolist() == (ways[0] if len(ways) == 1 else [a, b])
        assert found.gaps[0].size == (len(ways) > 1)


def test_two_actions_for_one_move_leave_it_unknown():
    class TwoDoors:
        state_names, action_names, coordinates = ("in", "out"), ("front", "back"), ROW.coordinates[:2]

        def assign(self, positions):
            return ROW.assign(positions)

        def edges(self):
            return [(0, 0, 1), (0, 1, 1), (1, 1, 0)]

    found = visits(line(0, 1, 0), TwoDoors())
    np.testing.assert_array_equal(found.actions[0], [-1, 1, -1])
    assert found.notes == ("The action of 1 move is missing: several actions make it.",)


def test_signals_are_averaged_over_visits():
    speed = np.array([1.0, 3, 5, np.nan, np.nan, 8, 9])
    cells = (0, 0, 1, 1, 2, 3, 3)
    tracks = [
        line(*cells, signals={"speed": speed, "two": np.stack([speed, -speed], 1)}),
        line(*cells, signals={"speed": speed}),
    ]
    found = visits(tracks, ROW)
    np.testing.assert_array_equal(found.signals["speed"][0], [2, 5, np.nan, 8.5])
    assert found.notes == ("Left out the signals that not every track has: two.",)
    found = visits(tracks[:1], ROW)
    np.testing.assert_array_equal(found.signals["two"][0][:, 1], [-2, -5, np.nan, -8.5])
    assert set(found.signals) == {"dwell", "speed", "two"}


def test_sessions_without_moves_are_left_out():
    still = Track("still", [0.0, 0.1], [[0.5, 0.5], [0.5, 0.5]], notes=("From a file.",))
    lost = Track("lost", [0.0, 0.1], [[np.nan, 0.5], [np.nan, 0.5]], notes=("From a file.",))
    one = Track("one", [0.0], [[0.5, 0.5]])
    found = visits([still, line(0, 1, subject="m1"), lost, one], ROW)
    assert (found.names, found.subjects) == (("a",), ("m1",))
    assert found.notes[0] == "From a file."
    assert found.notes[-1] == "Left out 3 sessions with fewer than two steps: still, lost, one."
    with pytest.raises(ValueError, match="no frame has a position"):
        visits(lost, ROW)
    far = Track("far", [0.0, 0.1], [[300.0, 400], [500, 600]])
    with pytest.raises(
        ValueError, match=r"0 of 2 positions(.|\n)*x 300 to 500, y 400 to 600, the places(.|\n)*same unit"
    ):
        visits(far, ROW)


def test_two_clocks_are_told():
    """A file in milliseconds among others in seconds."""
    slow, fast = replace(line(0, 1, 2, period=33.0), name="ms"), replace(line(0, 1, 2, period=0.033), name="s")
    [told] = [note for note in visits([slow, fast], ROW).notes if note.startswith("BEWARE")]
    assert "'ms' has a frame every 33 s, 's' every 0.033 s" in told
    near = line(0, 1, 2, period=0.04)
    assert not any("BEWARE" in note for note in visits([near, fast], ROW).notes)


def test_wrong_arguments_are_told_together():
    with pytest.raises(ValueError) as caught:
        visits([line(0, 1), line(0, 1, time_unit="frames"), 3], "grid", min_dwell=-1, max_break=-1, on_skip="no")
    told = str(caught.value)
    assert "6 faults" in told
    for part in ("holds int", "frames and in seconds", "a str without assign", "min_dwell=-1", "on_skip='no'"):
        assert part in told
    with pytest.raises(ValueError, match="tracks is empty"):
        visits([], ROW)


def test_the_walkers_paths_are_what_they_claim(maze):
    """The oracle itself: neighbours follow one another, at the times that the walker was told."""
    env, edges, path, track, reached = maze
    joined = {frozenset(edge) for edge in edges}
    assert all(frozenset(pair) in joined for pair in pairwise(path))
    where = np.stack([np.interp(reached, track.times, track.positions[:, i]) for i in range(2)], axis=1)
    assert np.abs(where - env.coordinates[path]).max() < 0.3


@pytest.mark.parametrize("y_down", [False, True])
def test_moves_are_named_as_in_the_environment(y_down):
    grid = Grid(x=(0, 2), y=(0, 2), shape=(2, 2), y_down=y_down)
    track = Track("m1", np.arange(4.0), [[0.5, 0.5], [0.5, 1.5], [1.5, 1.5], [1.5, 0.5]])
    data = Trajectories.from_tracks([track], grid)
    env = environment_of_places(grid)
    env.check(data)  # names that differ would be a fault
    assert [data.action_names[a] for a in data.actions[0][:-1]] == (
        ["down", "right", "up"] if y_down else ["up", "right", "down"]
    )
    assert env.state_names[env.coordinates[:, 1].argmax()] == "r0c0"
    # The grid says it, and what is said otherwise elsewhere would number cells from the other side.
    assert Trajectories.from_tracks([track], grid, y_down=y_down).states[0].tolist() == data.states[0].tolist()
    for otherwise in (
        environment_of_places,
        lambda grid, y_down: Trajectories.from_tracks([track], grid, y_down=y_down),
    ):
        with pytest.raises(ValueError, match=r"counted for a y that grows .*: give Grid\(…, y_down="):
            otherwise(grid, y_down=not y_down)


def test_poses_of_a_video_on_a_grid_for_maps_are_upside_down():
    """What import_tracks turns by itself is told here, where the grid stays the user's own."""
    down = Track("m1", np.arange(4.0), [[0.5, 0.5], [0.5, 1.5], [1.5, 1.5], [1.5, 0.5]], y_down=True)
    up, grid = replace(down, y_down=False), Grid(x=(0, 2), y=(0, 2), shape=(2, 2))
    with pytest.warns(ImportNotice, match=r"upside down so: give Grid\(…, y_down=True\)"):
        data = Trajectories.from_tracks([down], grid)
    assert [data.action_names[a] for a in data.actions[0][:-1]] == ["up", "right", "down"]
    turned, squares = (
        replace(grid, y_down=True),
        Polygons({"a": [[0, 0], [0, 2], [1, 2], [1, 0]], "b": [[1, 0], [1, 2], [2, 2], [2, 0]]}),
    )
    for track, places, y_down in ((down, turned, None), (up, grid, None), (down, grid, False), (down, squares, None)):
        Trajectories.from_tracks([track], places, y_down=y_down)  # no warning, which would be an error


def test_gaps_of_a_slow_clock_are_told_with_what_to_type():
    cells = [0, 1, 2, 3, 4, 3, 2, 1, 0, 1]
    hours = 3600.0 * np.array([0, 1, 3, 4, 6, 7, 9, 10, 12, 13])
    fixes = Track("a", hours, [[cell + 0.5, 0.5] for cell in cells])
    found = visits([fixes], ROW)
    [note] = [note for note in found.notes if "BEWARE" in note]
    assert note.startswith("BEWARE: 4 gaps beside 9 moves. Positions are 3600 s apart (median)")
    assert "--max-break 1.08e+04" in note
    again = visits([fixes], ROW, max_break=10800)
    assert again.gaps[0].tolist() == []
    assert not any("BEWARE" in note for note in again.notes)
    fast = visits([line(0, None, None, None, None, None, None, None, 1, 2, *[None] * 9, 3, *[None] * 9, 4, 3)], ROW)
    assert not any("apart (median)" in note for note in fast.notes)  # positions were lost, the clock is fast


def test_places_that_most_positions_miss_are_pointed_out():
    inside = [[0.5, 0.5], [1.5, 0.5], [0.5, 0.5]]
    for n_outside, n_lost, told in ((4, 0, True), (3, 0, False), (0, 9, False)):  # lost positions are not elsewhere
        path = inside + [[80.0, 80.0]] * n_outside + [[np.nan, np.nan]] * n_lost
        found = visits([Track("a", 0.1 * np.arange(len(path)), path)], ROW)
        assert any("BEWARE" in note and "lie in no place" in note for note in found.notes) == told
        assert not told or any("57 % of the frames" in note for note in found.notes)


def box(left, bottom, right, top):
    return [(left, bottom), (right, bottom), (right, top), (left, top)]


def test_places_whose_x_and_y_are_swapped_are_pointed_out():
    rng = np.random.default_rng(0)
    path = rng.uniform([0, 0], [4, 2], size=(400, 2))
    for second, told in ((box(2, 0, 4, 2), False), (box(0, 2, 2, 4), True)):  # beside the first; above it
        found = visits([Track("m1", 0.1 * np.arange(400), path)], Polygons({"a": box(0, 0, 2, 2), "b": second}))
        notes = [note for note in found.notes if "swapped" in note]
        assert len(notes) == told
        assert not told or "if x and y of the places were swapped, it would be 0 %" in notes[0]


@pytest.mark.parametrize("seen", [True, False])
def test_never_counted_is_said_of_all_positions(monkeypatch, seen):
    monkeypatch.setattr("swirl.io.visits._SAMPLE", 20)  # every fourth position is looked at
    door = [1.05 if seen else 0.95, 0.5]
    path = np.tile([[0.95, 0.5], door, door, [2.5, 0.5]], (20, 1))
    zones = Polygons({"big": box(0, 0, 1, 1), "door": box(0.9, 0, 1.1, 1), "far": box(2, 0, 3, 1)})
    notes = visits([Track("m1", 0.1 * np.arange(80), path)], zones).notes
    assert any("'door' is never counted" in note for note in notes) == (not seen)


def test_places_that_overlap_are_told_and_those_that_never_count():
    path = np.tile([[0.5, 0.5], [2.5, 0.5], [2.5, 2.5], [0.5, 2.5]], (20, 1))
    track = Track("m1", 0.1 * np.arange(len(path)), path)
    nest, arena, far = box(0, 0, 1, 1), box(0, 0, 3, 3), box(2, 2, 3, 3)
    good = visits([track], Polygons({"nest": nest, "far": far, "arena": arena}))
    assert not any("BEWARE" in note for note in good.notes)
    assert "50 % of the positions are in several places at once (nest, far, arena)" in " ".join(good.notes)
    hidden = visits([track], Polygons({"far": far, "arena": arena, "nest": nest}))
    assert any(note.startswith("BEWARE: 'nest' is never counted, as 'arena' comes before it") for note in hidden.notes)
    both = visits([track], Polygons({"edge": box(2, 0, 3, 1), "arena": arena, "nest": nest, "far": far}))
    assert any("'nest', 'far' are never counted, as 'arena' comes before them" in note for note in both.notes)
    apart = visits([track], Polygons({"west": box(0, 0, 2, 3), "east": box(2, 0, 3, 3)}))
    assert not any("several places" in note for note in apart.notes)
    with pytest.raises(ValueError, match=r"All of these are in 'arena'.*list the small ones before"):
        visits([track], Polygons({"arena": arena, "nest": nest}))
