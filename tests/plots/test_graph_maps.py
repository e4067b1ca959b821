"""Figures on graphs of places: the labyrinth, grids, and any environment with coordinates."""

import io

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from print_size import faults_of_texts
from swirl import plots
from swirl.data.arenas import grid
from swirl.data.geometry import layout, possible_moves
from swirl.data.mdp import MDP
from swirl.datasets.labyrinth import LABYRINTH_HOME, LABYRINTH_WATER, labyrinth_env
from swirl.plots import style
from swirl.plots.move_maps import segment_traffic, state_transitions, typical_segments
from swirl.plots.shapes import arrows, bars
from swirl.plots.style import mixed

MAZE = labyrinth_env()
MARKS = {"water port": LABYRINTH_WATER, "home": LABYRINTH_HOME}
# A corridor of three places, one unit and two units long; actions: left, right; staying at the ends.
LINE = MDP.deterministic([[0, 1], [0, 2], [1, 2]], coordinates=[[0, 0], [1, 0], [3, 0]])
POLICY = np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])


def collection(ax, label):
    (found,) = [c for c in ax.collections if c.get_label() == label]
    return found


def vertices(drawn):
    return [path.vertices for path in drawn.get_paths()]


def picture(ax):
    buffer = io.BytesIO()
    ax.figure.savefig(buffer, format="rgba", dpi=50)
    return buffer.getvalue()


def uniform(env):
    return np.where(env.available, 1.0, 0.0) / env.available.sum(axis=1, keepdims=True)


STATES, MODES = [np.array([0, 1, 2, 1, 0, 1])], [np.array([1, 0, 0, 0, 1, 0])]
DRAWERS = {
    "graph_map": lambda ax: plots.graph_map(np.arange(3.0), LINE, marks={"home": 0}, ax=ax),
    "policy_map": lambda ax: plots.policy_map(POLICY, LINE, marks={"home": 0}, ax=ax),
    "preference_map": lambda ax: plots.preference_map(POLICY, np.stack([POLICY, uniform(LINE)]), LINE, ax=ax),
    "example_paths": lambda ax: plots.example_paths(LINE, STATES, MODES, 0, marks={"home": 0}, ax=ax),
    "paths_by_mode": lambda ax: plots.paths_by_mode(LINE, STATES, MODES, 0, marks={"home": 0}, ax=ax),
}


@pytest.mark.parametrize("name", DRAWERS)
def test_returns_the_ax_it_was_given_and_draws_the_same_every_time(name):
    ax = Figure().add_subplot()
    assert DRAWERS[name](ax) is ax
    assert ax.get_aspect() == 1.0
    assert not ax.axison
    assert picture(DRAWERS[name](None)) == picture(DRAWERS[name](None))


@pytest.mark.parametrize("name", DRAWERS)
def test_all_places_lie_within_the_limits(name):
    ax = DRAWERS[name](None)
    assert ax.get_xlim() == (-0.5, 3.5)
    assert ax.get_ylim() == (-0.5, 0.5)


def test_a_subfigure_can_hold_the_maps():
    part = Figure(figsize=(6, 3), layout="constrained").subfigures(1, 2)[0]
    DRAWERS["graph_map"](part.add_subplot())


# ---- layout


def test_the_maze_has_126_corridors_and_252_moves():
    drawn = layout(MAZE)
    assert len(drawn.corridors) == 126
    assert len(drawn.moves) == 252  # staying is no move
    assert drawn.unit == 1.0


def test_moves_are_those_with_probability_by_an_available_action():
    env = MDP(
        [[[0.5, 0.5, 0.0]], [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]]],
        coordinates=[[0, 0], [1, 0], [0, 1]],
    )
    assert layout(env).moves.tolist() == [[0, 1], [1, 2], [2, 0]]
    barred = MDP.deterministic([[1, 0], [0, -1]], coordinates=[[0, 0], [1, 0]])
    assert layout(barred).moves.tolist() == [[0, 1], [1, 0]]


def test_bars_and_arrows_point_from_start_to_end():
    start, end = np.array([[0.0, 0.0]]), np.array([[0.0, 2.0]])  # northwards: left is west
    (corners,) = bars(start, end, 0.5, 0.0)
    assert corners[:, 0].min() == -0.5
    assert corners[:, 0].max() == 0.0
    (arrow,) = arrows(start, end, 0.1, 0.5)
    assert arrow[3].tolist() == [0.0, 2.0]
    assert np.ptp(arrow[:, 0]) == pytest.approx(0.4)


def test_an_environment_without_coordinates_is_refused():
    bare = MDP.deterministic([[1, 0], [0, 1]])
    with pytest.raises(ValueError, match=r"env: it has no coordinates.*coordinates="):
        plots.graph_map(np.zeros(2), bare)


# ---- values


def test_graph_map_colours_states_by_value_and_corridors_between():
    ax = plots.graph_map(np.array([0.0, 1.0, 3.0]), LINE, vmin=0, vmax=4, colours="viridis")
    states = collection(ax, "states")
    np.testing.assert_array_equal(states.get_array(), [0.0, 1.0, 3.0])
    np.testing.assert_array_equal(states.get_offsets(), LINE.coordinates)
    assert states.get_clim() == (0.0, 4.0)
    assert states.get_cmap().name == "viridis"
    slices = collection(ax, "slices")
    x = np.array([corners[:4, 0].min() for corners in vertices(slices)])
    value = slices.get_array()
    assert slices.get_clim() == (0.0, 4.0)
    np.testing.assert_allclose(value, value[np.argsort(x)])  # rises from left to right
    step = np.diff(x).min()
    np.testing.assert_allclose(value[x < 1 - 1e-9], x[x < 1 - 1e-9] + step / 2, atol=1e-9)  # value = x there


def test_graph_map_hatches_what_is_not_known():
    ax = plots.graph_map(np.array([0.0, np.nan, 3.0]), LINE)
    np.testing.assert_array_equal(collection(ax, "states").get_array(), [0.0, 3.0])
    unknown = collection(ax, "uninformed")
    np.testing.assert_array_equal(unknown.get_offsets(), [[1.0, 0.0]])
    assert unknown.get_hatch()
    assert set(collection(ax, "slices").get_array().tolist()) == {0.0, 3.0}
    # the unknown halves are left to the grey floor
    middles = [corners[:4, 0].min() for corners in vertices(collection(ax, "slices"))]
    assert not [x for x in middles if 0.51 < x < 1.99]
    assert to_hex(collection(ax, "corridors").get_facecolor()[0]).upper() == style.IMPOSSIBLE


def test_graph_map_of_unknown_values_only_draws():
    plots.graph_map(np.full(3, np.nan), LINE).figure.canvas.draw()
    single = MDP.deterministic([[0]], coordinates=[[0, 0]])
    plots.graph_map(np.ones(1), single).figure.canvas.draw()


def test_marks_are_ringed_and_named_within_the_maze():
    ax = plots.graph_map(np.arange(127.0), MAZE, marks=MARKS, title="Reward", label="log visits")
    np.testing.assert_array_equal(collection(ax, "marks").get_offsets(), [[14.0, 6.0], [7.0, 7.0]])
    assert [text.get_text() for text in ax.texts] == ["water port", "home"]
    ax.figure.canvas.draw()
    frame = ax.get_window_extent()
    boxes = [text.get_window_extent() for text in ax.texts]
    for box in boxes:  # there is room in the wide corridor-free row
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1 + 1
    assert not boxes[0].overlaps(boxes[1])
    assert ax.figure.axes[1].get_ylabel() == "log visits"


def test_names_do_not_cover_corridors_of_the_maze():
    ax = plots.graph_map(np.arange(127.0), MAZE, marks=MARKS)
    ax.figure.canvas.draw()
    places = ax.transData.transform(MAZE.coordinates)
    for text in ax.texts:
        box = text.get_window_extent()
        assert not [p for p in places if box.contains(*p)]


def test_graph_map_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="values: got 4 states, but env has 3"):
        plots.graph_map(np.zeros(4), LINE)
    with pytest.raises(ValueError, match=r"marks: got \{'water': 3\}, expected states from 0 to 2"):
        plots.graph_map(np.zeros(3), LINE, marks={"home": 0, "water": 3})
    with pytest.raises(ValueError, match="vmin, vmax"):
        plots.graph_map(np.zeros(3), LINE, vmin=2.0, vmax=1.0)


# ---- policies


def test_state_transitions_follow_policy_and_environment():
    rng = np.random.default_rng(0)
    dense = rng.dirichlet(np.ones(4), size=(4, 3))
    env = MDP(dense, coordinates=rng.random((4, 2)))
    policy = rng.dirichlet(np.ones(3), size=4)
    np.testing.assert_allclose(state_transitions(policy, env), np.einsum("sa,sat->st", policy, dense))


def test_arrows_are_as_wide_and_dark_as_the_move_is_probable():
    ax = plots.policy_map(POLICY, LINE, colour="#D55E00")
    moves = collection(ax, "moves")
    assert layout(LINE).moves.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]
    probability = np.array([0.8, 0.5, 0.5, 0.9])
    widths = np.array([np.ptp(corners[:, 1]) for corners in vertices(moves)])
    np.testing.assert_allclose(widths / probability, widths[0] / 0.8)
    alpha = moves.get_facecolor()[:, 3]
    np.testing.assert_array_equal(np.argsort(alpha, kind="stable"), np.argsort(probability, kind="stable"))
    assert {to_hex(face).upper() for face in moves.get_facecolor()} == {"#D55E00"}
    # each arrow begins at its state and ends before the middle of the corridor
    tips = [corners[3, 0] for corners in vertices(moves)]
    assert 0 < tips[0] < 0.5 < tips[1] < 1 < tips[2] < 2 < tips[3] < 3


def test_staying_is_a_disc_of_that_area():
    ax = plots.policy_map(POLICY, LINE)
    stay = collection(ax, "stay")
    np.testing.assert_array_equal(stay.get_offsets(), [[0, 0], [3, 0]])  # the place in the middle is always left
    np.testing.assert_allclose(stay.get_widths()[0] / stay.get_widths()[1], np.sqrt(2.0))


def test_policy_map_hatches_uninformed_states():
    policy = POLICY.copy()
    policy[1] = np.nan
    ax = plots.policy_map(policy, LINE)
    assert len(collection(ax, "moves").get_paths()) == 2
    np.testing.assert_array_equal(collection(ax, "uninformed").get_offsets(), [[1, 0]])


def test_preference_is_the_log_odds_against_the_mean_over_modes():
    other = np.array([[0.6, 0.4], [0.1, 0.9], [0.9, 0.1]])
    ax = plots.preference_map(POLICY, np.stack([POLICY, other]), LINE, vmax=2)

    def log_odds(p):
        return np.log(p / (1 - p))

    p, q = np.array([0.8, 0.5, 0.5, 0.9]), np.array([0.6, 0.3, 0.7, 0.9])
    moves = collection(ax, "moves")
    np.testing.assert_allclose(moves.get_array(), log_odds(p) - log_odds(q), atol=1e-12)
    assert moves.get_clim() == (-2.0, 2.0)
    assert "log-odds" in ax.figure.axes[1].get_ylabel()


def test_preference_lanes_keep_to_the_right():
    lanes = vertices(collection(plots.preference_map(POLICY, uniform(LINE), LINE), "moves"))
    assert (lanes[0][:, 1] < 0).all()  # eastwards: the right is south
    assert (lanes[1][:, 1] > 0).all()  # westwards: north


def test_forced_and_unknown_moves_are_grey_and_certain_ones_saturate():
    barred = MDP.deterministic([[-1, 1], [0, 2], [1, -1]], coordinates=[[0, 0], [1, 0], [3, 0]])
    policy = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    ax = plots.preference_map(policy, uniform(barred), barred)
    assert len(collection(ax, "forced").get_paths()) == 2  # the ends have one way only
    moves = collection(ax, "moves")
    assert moves.get_array().tolist() == [1000.0, -1000.0]
    shown = moves.to_rgba(moves.get_array())
    np.testing.assert_allclose(shown[0], mpl.colormaps[style.PREFERENCE_COLOURS](1.0), atol=1e-12)
    ax.figure.canvas.draw()


def test_policies_are_refused_with_reasons():
    with pytest.raises(ValueError, match="policy: got 2 states, but env has 3"):
        plots.policy_map(POLICY[:2], LINE)
    with pytest.raises(ValueError, match=r"policy: got shape \(3, 1\), expected \[state, action\] = \(3, 2\)"):
        plots.policy_map(POLICY[:, :1], LINE)
    with pytest.raises(ValueError, match=r"policy: state 1 is \[1\.0, 1\.0\]"):
        plots.policy_map(np.array([[0.2, 0.8], [1.0, 1.0], [0.9, 0.1]]), LINE)
    with pytest.raises(ValueError, match=r"reference\[0\]: got 2 states"):
        plots.preference_map(POLICY, np.ones((2, 2, 2)) / 2, LINE)
    with pytest.raises(ValueError, match="vmax: got 0"):
        plots.preference_map(POLICY, POLICY, LINE, vmax=0)


# ---- paths


def test_traffic_counts_moves_within_segments():
    rng = np.random.default_rng(1)
    states = [rng.integers(0, 3, size=n) for n in (40, 1, 25)]
    modes = [np.repeat(rng.integers(0, 2, size=20), 2)[: len(s)] for s in states]
    traffic, starts, ends = segment_traffic(3, states, modes, 1)
    expected, first, last = np.zeros((3, 3), int), np.zeros(3, int), np.zeros(3, int)
    for path, labels in zip(states, modes, strict=True):
        for t in range(len(path)):
            if labels[t] != 1:
                continue
            if t + 1 < len(path):
                if labels[t + 1] == 1:
                    expected[path[t], path[t + 1]] += 1
                else:
                    last[path[t]] += 1
            if t > 0 and labels[t - 1] != 1:
                first[path[t]] += 1
    np.testing.assert_array_equal(traffic, expected)
    np.testing.assert_array_equal(starts, first)
    np.testing.assert_array_equal(ends, last)


def feet(ax):
    """How wide the arrows are: from the foot on the line between the places to the one farthest from it."""
    return [float(np.linalg.norm(corners[4] - corners[0])) for corners in vertices(collection(ax, "moves"))]


def test_paths_draw_lanes_starts_and_ends():
    ax = plots.paths_by_mode(LINE, STATES, MODES, 0, colours=["#CC79A7", "#0072B2"], title="explore")
    moves = collection(ax, "moves")  # 1 → 2 and 2 → 1, once each
    assert len(moves.get_paths()) == 2
    assert to_hex(moves.get_facecolor()[0]).upper() == "#CC79A7"
    widths = feet(ax)
    assert widths[0] == pytest.approx(widths[1])
    assert widths[0] > 0
    # starts at 1 twice; the segment at the end of the session has no end of its own
    halves = [vertices(collection(ax, label))[0] for label in ("starts", "ends")]
    assert [np.ptp(half[:, 1]) > 0 for half in halves] == [True, True]
    np.testing.assert_allclose(np.ptp(halves[0], axis=0) / np.ptp(halves[1], axis=0), np.sqrt(2.0))
    assert halves[0][:, 0].max() == pytest.approx(1)  # the white one is the left half of the disc at (1, 0)
    assert halves[1][:, 0].min() == pytest.approx(1)
    assert ax.texts[-1].get_text() == (
        "widest arrow: 1 of 2 moves (50 %)\nwhite half-discs: 2 starts\nblack half-discs: 1 end"
    )


def test_arrows_are_as_wide_as_they_are_busy_and_dark_the_frequent_way():
    states = [np.array([0, 1, 0, 1, 2, 1])]
    ax = plots.paths_by_mode(LINE, states, [np.zeros(6, dtype=int)], 0, colours=["#0072B2"], key=False)
    widths = feet(ax)  # 0→1 ×2, then ×1
    np.testing.assert_allclose(np.array(widths) / widths[0], [1.0, 0.5, 0.5, 0.5])
    assert not ax.texts
    shades = [to_hex(face).upper() for face in collection(ax, "moves").get_facecolor()]
    assert shades.count("#0072B2") == 3  # 0 → 1, and both of 1 ↔ 2, which are as frequent
    assert to_hex(mixed("#0072B2", "white", 0.6)).upper() in shades


def test_arrows_point_where_the_moves_go_and_keep_to_their_side():
    env = grid(4, 4)
    walk = env_walk(env, 3000)
    ax = plots.paths_by_mode(env, [walk], [np.zeros(len(walk), int)], 0)
    polygons = np.array([corners[:5] for corners in vertices(collection(ax, "moves"))])
    places = env.coordinates
    assert len(polygons) == 48
    for foot, point, wing, neck, outer in polygons:
        along = point - foot
        near = [int(np.argmin(np.linalg.norm(places - end, axis=1))) for end in (foot, point)]
        assert near[0] != near[1]  # from a place towards its neighbour
        right = np.array([along[1], -along[0]])
        assert min((part - foot) @ right for part in (wing, neck, outer)) > 0
        assert np.linalg.norm(places[near[1]] - point) < np.linalg.norm(places[near[0]] - point)
    # No arrow covers another: their boxes of shafts do not overlap.
    boxes = [(p[[0, 1, 3, 4]].min(axis=0), p[[0, 1, 3, 4]].max(axis=0)) for p in polygons]
    for i, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:i]:
            assert (np.minimum(high, other_high) - np.maximum(low, other_low)).min() <= 1e-9


def env_walk(env, n_steps):
    rng, path = np.random.default_rng(0), [0]
    joined = possible_moves(env)
    for _ in range(n_steps):
        path.append(int(rng.choice(joined[joined[:, 0] == path[-1], 1])))
    return np.array(path)


def test_an_open_arena_is_drawn_as_cells_and_walls_as_corridors():
    walk = env_walk(grid(3, 3), 50)
    labels = [np.zeros(len(walk), int)]
    shapes = {shape.get_label() for shape in plots.paths_by_mode(grid(3, 3), [walk], labels, 0).collections}
    assert "cells" in shapes
    assert "corridors" not in shapes
    walled = grid(3, 3, walls=[("A1", "A2")])
    shapes = {shape.get_label() for shape in plots.paths_by_mode(walled, [walk], labels, 0).collections}
    assert "corridors" in shapes


def test_examples_are_whole_segments_of_a_typical_length():
    labels = np.array([0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0])
    path = np.arange(16) % 3
    # Whole are 4 steps and 5 steps; a segment at either end of the session is cut.
    assert typical_segments([path], [labels], 0, 1) == [(0, 8, 13)]
    assert typical_segments([path], [labels], 0, 5) == [(0, 3, 7), (0, 8, 13)]
    assert typical_segments([path, path], [labels, labels], 0, 2) == [(0, 8, 13), (1, 8, 13)]  # other sessions first
    still = np.zeros(16, int)
    assert typical_segments([still], [labels], 0, 3) == []
    assert typical_segments([path], [np.zeros(16, int)], 0, 3) == [(0, 0, 16)]  # where all are cut, those
    ax = plots.example_paths(LINE, [np.array([0, 1, 2, 1, 1, 0])], [np.array([1, 0, 0, 0, 0, 1])], 0)
    assert ax.get_title(loc="left") == "1 example of 4 steps"
    [line] = ax.lines
    drawn = line.get_xydata()
    np.testing.assert_allclose(drawn[[0, -1], 0], LINE.coordinates[[1, 1], 0], atol=0.2)
    assert drawn[:, 0].max() == pytest.approx(LINE.coordinates[2, 0], abs=0.2)
    for label, place in (("start", drawn[0]), ("end", drawn[-1])):
        np.testing.assert_allclose(collection(ax, label).get_offsets(), [place])
    empty = plots.example_paths(LINE, STATES, MODES, 2)
    assert (empty.get_title(loc="left"), len(empty.lines)) == ("no segment with a move", 0)


def test_panels_of_paths_are_evenly_spaced_and_their_texts_fit():
    walk = env_walk(MAZE, 4000)
    path = np.tile(np.append(walk, walk[-2:0:-1]), 10)  # there and back, ten times
    modes = 1 + np.arange(len(path)) // 7 % 2
    for visit in np.flatnonzero(path == LABYRINTH_WATER):
        modes[max(0, visit - 5) : visit + 1] = 0  # its segments all end at the port
    figure = style.sheet(7.09, 4.6)
    axes = figure.subplots(2, 3)
    for mode, (above, below) in enumerate(axes.T):
        plots.paths_by_mode(MAZE, [path], [modes], mode, marks=MARKS, title=f"mode {mode}", ax=above)
        plots.example_paths(MAZE, [path], [modes], mode, marks=MARKS, ax=below)
    assert faults_of_texts(figure) == []
    for line in axes:
        places = [ax.get_window_extent().x0 for ax in line]
        assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=1.0)
    for ax in axes[0]:
        caption = ax.texts[-1].get_window_extent()
        assert caption.width < figure.bbox.width / 3 - 10
        assert "widest arrow: " in ax.texts[-1].get_text()


def test_a_title_too_long_for_its_panel_has_two_lines():
    figure = style.sheet(7.09, 2.0)
    axes = figure.subplots(1, 3)
    labels = np.array([1, *[0] * 24, 1, *[0] * 25, 1])
    path = env_walk(grid(5, 5), 51)
    for ax in axes:
        plots.example_paths(grid(5, 5), [path], [labels], 0, ax=ax)
        assert ax.get_title(loc="left") == "2 examples\nof 24 to 25 steps"
    assert faults_of_texts(figure) == []
    assert plots.example_paths(grid(5, 5), [path], [labels], 0).get_title(loc="left") == "2 examples of 24 to 25 steps"


def test_a_mode_without_steps_draws_an_empty_maze():
    plots.paths_by_mode(LINE, STATES, MODES, 2).figure.canvas.draw()
    plots.paths_by_mode(LINE, [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)], 0).figure.canvas.draw()
    plots.paths_by_mode(LINE, [], [], 0).figure.canvas.draw()
    plots.example_paths(LINE, [], [], 0).figure.canvas.draw()


def test_paths_name_all_faults_at_once():
    with pytest.raises(ValueError) as fault:
        plots.paths_by_mode(LINE, [np.array([0, 3]), np.array([0])], [np.array([0, 0]), np.array([0, 0])], -1)
    for part in ("states: session 0, step 1 is 3", "session 1: states (1,), modes (2,)", "mode: got -1"):
        assert part in str(fault.value)
    with pytest.raises(ValueError, match="got 1 and 2 sessions"):
        plots.paths_by_mode(LINE, STATES, MODES * 2, 0)
    with pytest.raises(ValueError, match=r"colours: got .*each of the 2 modes"):
        plots.paths_by_mode(LINE, STATES, MODES, 0, colours=["#CC79A7"])


# ---- colours of modes


def test_purposes_keep_their_colours_whatever_the_order():
    water, home, explore, more = plots.mode_colours(4)
    assert plots.named_mode_colours(["water", "home", "explore", "explore 2"]) == [water, home, explore, more]
    assert plots.named_mode_colours(["Explore", "home mode"]) == [explore, home]
    assert plots.named_mode_colours(["explore 2", "explore 1"]) == [more, explore]


def test_other_names_never_wear_the_colour_of_a_purpose():
    found = plots.named_mode_colours(["rest", "water", "groom", "explore 2", "water 2"])
    assert len(set(found)) == 5
    assert found[1] == plots.mode_colours(1)[0]
    assert found[3] == plots.mode_colours(4)[3]
    assert not {found[0], found[2]} & set(plots.mode_colours(4))
    assert plots.named_mode_colours(["h1", "h2", "h3"]) == plots.mode_colours(3)
    many = plots.named_mode_colours(["water", *(f"m{k}" for k in range(20))])
    assert len(set(many)) == 21


def test_names_that_mean_the_same_are_refused():
    with pytest.raises(ValueError, match=r"names: got .*mean the same"):
        plots.named_mode_colours(["water", "Water mode"])


def test_strips_take_colours():
    names = ["explore", "water"]
    colours = plots.named_mode_colours(names)
    ax = plots.segmentation_strip({"S-2": np.array([0, 1])}, mode_names=names, colours=colours)
    shown = [to_hex(face).upper() for face in collection(ax, "S-2").get_facecolor()]
    assert shown == colours
    assert [to_hex(patch.get_facecolor()).upper() for patch in ax.get_legend().get_patches()] == colours
    ax = plots.segmentation_strip({"S-2": np.array([0, 1])}, posterior=np.full((2, 2), 0.5), colours=colours)
    assert {to_hex(area.get_facecolor()[0]).upper() for area in ax.collections[1:]} == set(colours)
    with pytest.raises(ValueError, match="colours: got"):
        plots.segmentation_strip({"S-2": np.array([0, 1])}, colours=colours[:1])
