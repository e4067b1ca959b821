"""Figures: what is drawn is what was given."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure

from swirl import plots
from swirl.plots import style
from swirl.plots.grid_maps import PARTS
from swirl.plots.segments import runs

ROWS, COLUMNS = 3, 4
STATES = ROWS * COLUMNS
SHAPE = (ROWS, COLUMNS)


def grid_table():
    """Return a table whose value says which pair it belongs to, 100 · state + previous state."""
    table = np.full((STATES, STATES), np.nan)
    for state in range(STATES):
        row, column = divmod(state, COLUMNS)
        for other in range(STATES):
            if abs(row - other // COLUMNS) + abs(column - other % COLUMNS) <= 1:
                table[state, other] = 100.0 * state + other
    return table


def blank_ax():
    return Figure().add_subplot()


def collection(ax, label):
    (found,) = [c for c in ax.collections if c.get_label() == label]
    return found


def faces(drawn):
    """Return centre (rounded) → face colour of every polygon of a collection."""
    drawn.update_scalarmappable()
    colours = drawn.get_facecolor()
    centres = [tuple(np.round(path.vertices[:4].mean(axis=0), 6)) for path in drawn.get_paths()]
    return {centre: colours[i % len(colours)] for i, centre in enumerate(centres)}


def centre_of(part, state):
    corners = np.asarray(PARTS[part][1]) + (state % COLUMNS, state // COLUMNS)  # noqa: RUF005
    return tuple(np.round(corners.mean(axis=0), 6))


PATHS = {"truth": np.array([0, 0, 1, 1, 1]), "S-2": np.array([0, 1, 1, 1, 0])}
DRAWERS = {
    "reward_map": lambda ax: plots.reward_map(np.arange(12.0), SHAPE, ax=ax),
    "mode_transition_map": lambda ax: plots.mode_transition_map(np.full(12, 0.2), SHAPE, ax=ax),
    "split_reward_map": lambda ax: plots.split_reward_map(grid_table(), SHAPE, ax=ax),
    "split_key": lambda ax: plots.split_key(ax=ax),
    "segmentation_strip": lambda ax: plots.segmentation_strip(PATHS, ax=ax, events={"water": [1]}),
    "score_boxes": lambda ax: plots.score_boxes({"S-2": [1.0, 2.0]}, ax=ax, reference=1.5),
    "objective_traces": lambda ax: plots.objective_traces([[-2.0, -1.0]], ax=ax),
}


@pytest.mark.parametrize("name", DRAWERS)
def test_returns_the_ax_it_was_given_and_can_be_drawn(name):
    ax = blank_ax()
    assert DRAWERS[name](ax) is ax
    ax.figure.canvas.draw()


@pytest.mark.parametrize("name", DRAWERS)
def test_makes_its_own_ax_on_its_own_figure(name):
    first, second = DRAWERS[name](None), DRAWERS[name](None)
    assert isinstance(first.figure, Figure)
    assert first.figure is not second.figure
    first.figure.canvas.draw()


@pytest.mark.slow
def test_leaves_no_figure_setting_or_pyplot_behind():
    code = """
import sys
import matplotlib as mpl, numpy as np
before = mpl.rcParams.copy()
from swirl import plots
ax = plots.reward_map(np.arange(4.0), (2, 2))
plots.score_boxes({"S-2": [1.0, 2.0]})
plots.objective_traces([[1.0, 2.0]])
plots.segmentation_strip({"S-2": np.array([0, 1])}, events={"water": [0]})
plots.reward_panels({"S-2": np.ones((1, 1, 1))}, (1, 1))
plots.save(ax.figure, sys.argv[1] + "/map", formats=("png", "pdf", "svg"))
pyplot = "matplotlib.pyplot" in sys.modules  # before the next line, which resolves the backend
changed = [k for k in before if k != "backend" and before[k] != mpl.rcParams[k]]
print(pyplot, changed)
"""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True)
    assert done.stdout.strip() == "False []", done.stderr


# ---- style


def test_one_colour_per_mode_in_every_figure():
    assert plots.mode_colours(3) == plots.mode_colours(8)[:3]
    many = plots.mode_colours(20)
    assert len(set(many)) == 20
    assert style.WATER_MARK not in plots.mode_colours(5)


def test_mode_names_must_be_enough():
    with pytest.raises(ValueError, match=r"mode_names: got 1 names \('home'\).*2 modes"):
        plots.segmentation_strip(PATHS, mode_names=["home"])


# ---- plain maps


def test_reward_map_puts_cells_in_rows_from_the_top():
    ax = plots.reward_map(np.arange(12.0), SHAPE, colour_bar=False)
    image = ax.images[0]
    np.testing.assert_array_equal(image.get_array(), np.arange(12.0).reshape(3, 4))
    assert list(image.get_extent()) == [0, COLUMNS, ROWS, 0]
    assert ax.get_ylim() == (ROWS, 0)
    assert image.get_clim() == (0.0, 11.0)


def test_reward_map_greys_what_is_missing():
    values = np.arange(12.0)
    values[5] = np.nan
    image = plots.reward_map(values, SHAPE).images[0]
    shown = image.to_rgba(image.get_array())
    np.testing.assert_allclose(shown[1, 1], to_rgba(style.IMPOSSIBLE), atol=1e-12)
    np.testing.assert_allclose(shown[2, 3], mpl.colormaps[style.REWARD_COLOURS](1.0), atol=1e-12)


def test_reward_map_of_equal_values_draws():
    ax = plots.reward_map(np.zeros(12), SHAPE)
    ax.figure.canvas.draw()
    assert ax.images[0].get_clim() == (0.0, 1.0)


def test_marks_outline_and_name_their_cells():
    ax = plots.reward_map(np.arange(12.0), SHAPE, marks={"home": 0, "water": 10, "post": 5})
    assert [text.get_text() for text in ax.texts] == ["home", "water", "post"]
    boxes = [p.get_xy() for p in ax.patches if (p.get_width(), p.get_height()) == (1, 1)]
    assert boxes == [(0, 0), (2, 2), (1, 1)]
    x, y = ax.texts[1].get_position()
    assert (x, y > ROWS) == (2.5, True)


def test_maps_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match=r"shape: got \(5, 5\) = 25 cells, but values has 12 states"):
        plots.reward_map(np.arange(12.0), (5, 5))
    with pytest.raises(ValueError, match=r"marks: got \{'water': 12\}, expected states from 0 to 11"):
        plots.reward_map(np.arange(12.0), SHAPE, marks={"home": 0, "water": 12})
    with pytest.raises(ValueError, match="vmin, vmax"):
        plots.reward_map(np.arange(12.0), SHAPE, vmin=2.0, vmax=1.0)


# ---- split maps


def test_split_map_colours_each_part_by_its_own_value():
    table = grid_table()
    ax = plots.split_reward_map(table, SHAPE, vmin=-50.0, vmax=1500.0)
    shown = faces(collection(ax, "possible"))
    cmap = mpl.colormaps[style.REWARD_COLOURS]
    steps = {"above": -COLUMNS, "left": -1, "below": COLUMNS, "right": 1, "stayed": 0}
    for part, step in steps.items():  # state 5 is inside the grid: all five parts exist
        expected = cmap((table[5, 5 + step] + 50.0) / 1550.0)
        np.testing.assert_allclose(shown[centre_of(part, 5)], expected, atol=1e-12, err_msg=part)


def test_split_map_part_at_the_right_side_is_the_neighbour_to_the_right():
    """The right part lies at larger x, the lower part at larger y, and y grows downwards."""
    table = np.full((STATES, STATES), np.nan)
    table[5, 6] = 1.0
    ax = plots.split_reward_map(table, SHAPE)
    ((x, y),) = faces(collection(ax, "possible"))
    assert 1.75 < x < 2.0
    assert y == pytest.approx(1.5)
    table = np.full((STATES, STATES), np.nan)
    table[5, 9] = 1.0  # from below
    ((x, y),) = faces(collection(plots.split_reward_map(table, SHAPE), "possible"))
    assert x == pytest.approx(1.5)
    assert 1.75 < y < 2.0


def test_split_map_is_grey_where_there_is_no_such_transition():
    table = grid_table()
    table[5, 6] = np.nan
    ax = plots.split_reward_map(table, SHAPE)
    grey = faces(collection(ax, "impossible"))
    # the border has no neighbour outside: 2 · (rows + columns) sides, and one more made impossible above
    assert len(grey) == 2 * (ROWS + COLUMNS) + 1
    assert centre_of("right", 5) in grey
    assert centre_of("above", 0) in grey
    assert centre_of("right", COLUMNS - 1) in grey  # not state 4, which only follows it in the numbering
    assert all(to_hex(face).upper() == style.IMPOSSIBLE for face in grey.values())
    assert len(grey) + len(faces(collection(ax, "possible"))) == 5 * STATES


def test_split_map_hatches_what_the_data_do_not_inform():
    informed = np.ones((STATES, STATES), dtype=bool)
    informed[5, 6] = False
    table = grid_table()
    table[5, 6] = 1e9  # must not stretch the colours either
    ax = plots.split_reward_map(table, SHAPE, informed=informed)
    assert list(faces(collection(ax, "uninformed"))) == [centre_of("right", 5)]
    assert collection(ax, "uninformed").get_hatch()
    assert collection(ax, "possible").get_clim()[1] < 1e9


def test_split_map_refuses_jumps_it_cannot_show():
    table = grid_table()
    table[0, 11] = 1.0
    with pytest.raises(ValueError, match=r"table: 1 values belong to jumps.*\[0, 11\]"):
        plots.split_reward_map(table, SHAPE)


def test_split_map_does_not_wrap_round_the_edge_of_the_grid():
    table = grid_table()
    table[COLUMNS, COLUMNS - 1] = 1.0  # first cell of row 1 from last cell of row 0: not neighbours
    with pytest.raises(ValueError, match=r"\[4, 3\]"):
        plots.split_reward_map(table, SHAPE)


def test_split_parts_tile_the_cell():
    def area(corners):
        x, y = np.transpose(corners)
        return 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))

    assert sum(area(corners) for _, corners in PARTS.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("rows", [["true"], ["true", "S-2"]])
@pytest.mark.parametrize("n_modes", [1, 3])
def test_panels_draw_a_map_per_row_and_mode(rows, n_modes):
    tables = {row: np.stack([grid_table() * (k + 1) for k in range(n_modes)]) for row in rows}
    figure = plots.reward_panels(tables, SHAPE, mode_names=["a", "b", "c"])
    figure.canvas.draw()
    maps = [ax for ax in figure.axes if any(c.get_label() == "possible" for c in ax.collections)]
    assert len(maps) == len(rows) * n_modes
    assert [ax.get_title() for ax in maps[:n_modes]] == ["a", "b", "c"][:n_modes]
    for ax in maps:
        values = collection(ax, "possible").get_array()
        assert (values.min(), values.max()) == (0.0, 1.0)


def test_panels_on_one_scale_keep_the_numbers():
    tables = {"true": grid_table()[None], "S-2": 2 * grid_table()[None]}
    figure = plots.reward_panels(tables, SHAPE, scale="shared")
    drawn = [collection(ax, "possible") for ax in figure.axes if ax.get_ylim() == (ROWS, 0)]
    top = 2 * np.nanmax(grid_table())
    assert [d.get_clim() for d in drawn] == [(0.0, top), (0.0, top)]
    assert drawn[0].get_array().max() == top / 2


def test_panels_refuse_unequal_numbers_of_modes():
    with pytest.raises(ValueError, match=r"tables: got \{'true': 1, 'S-2': 2\}"):
        plots.reward_panels({"true": np.zeros((1, 1, 1)), "S-2": np.zeros((2, 1, 1))}, (1, 1))


# ---- segments


def test_runs_give_the_path_back():
    path = np.random.default_rng(0).integers(0, 3, size=200)
    back = np.concatenate([np.full(stop - start, mode) for start, stop, mode in runs(path)])
    np.testing.assert_array_equal(back, path)


def test_strip_draws_each_run_in_the_colour_of_its_mode():
    ax = plots.segmentation_strip(PATHS)
    blue, green = plots.mode_colours(2)
    strip = collection(ax, "S-2")
    assert [to_hex(face).upper() for face in strip.get_facecolor()] == [blue, green, blue]
    spans = [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in strip.get_paths()]
    assert spans == [(0, 1), (1, 4), (4, 5)]
    # the first label is on top; the axis points downwards
    assert collection(ax, "truth").get_paths()[0].vertices[:, 1].max() < strip.get_paths()[0].vertices[:, 1].min()
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["mode 0", "mode 1"]


def test_strip_greys_unknown_modes_and_shows_all_named_modes():
    ax = plots.segmentation_strip({"S-2": np.array([-1, 0, 0])}, mode_names=["water", "home", "explore"])
    strip = collection(ax, "S-2")
    assert to_hex(strip.get_facecolor()[0]).upper() == style.IMPOSSIBLE
    assert len(ax.get_legend().get_texts()) == 3


def test_strip_marks_events_at_the_middle_of_their_step():
    ax = plots.segmentation_strip(PATHS, events={"water visits": [1, 3], "home visits": np.array([4])})
    water, home = collection(ax, "water visits"), collection(ax, "home visits")
    np.testing.assert_array_equal(water.get_offsets()[:, 0], [1.5, 3.5])
    np.testing.assert_array_equal(home.get_offsets()[:, 0], [4.5])
    assert to_hex(water.get_facecolor()[0]).upper() == style.WATER_MARK
    assert to_hex(home.get_edgecolor()[0]).upper() == style.HOME_MARK
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "water visits",
        "home visits",
        "truth",
        "S-2",
    ]


def test_strip_with_posterior_adds_a_row():
    ax = plots.segmentation_strip(PATHS, posterior=np.full((5, 3), 1 / 3))
    assert ax.get_yticklabels()[-1].get_text() == "p(mode)"
    assert len(ax.get_legend().get_texts()) == 3


def test_strip_works_with_one_mode():
    one = {"MaxEnt": np.zeros(7, dtype=int)}
    plots.segmentation_strip(one).figure.canvas.draw()
    plots.segmentation_strip(one, posterior=np.ones((7, 1))).figure.canvas.draw()
    plots.segmentation_strip({"one step": np.zeros(1, dtype=int)}).figure.canvas.draw()


def test_strip_names_all_faults_at_once():
    paths = {"truth": np.zeros(5, dtype=int), "S-2": np.array([0, 0, -2, 0])}
    with pytest.raises(ValueError) as fault:
        plots.segmentation_strip(paths, events={"water": [5]})
    for part in ("'truth': 5, 'S-2': 4", "events['water']: step 5", "paths['S-2'] holds -2"):
        assert part in str(fault.value)
    with pytest.raises(ValueError, match="paths: got none"):
        plots.segmentation_strip({})


def test_probability_areas_are_cumulative():
    probability = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
    ax = plots.segmentation_strip({"S-3": np.array([2, 0])}, posterior=probability)
    areas = ax.collections[1:]  # after the strip
    by_colour = {to_hex(area.get_facecolor()[0]).upper(): area for area in areas}
    ends = [by_colour[colour].get_paths()[0].vertices[:, 1] for colour in plots.mode_colours(3)]
    heights = [(end.max() - end.min()) / 1.4 for end in ends]  # the y axis points down; the row is 1.4 high
    np.testing.assert_allclose(heights, np.cumsum(probability, axis=1).max(axis=0))
    # the first mode lies in front of the others
    assert to_hex(areas[-1].get_facecolor()[0]).upper() == plots.mode_colours(1)[0]


def test_probability_refuses_what_does_not_sum_to_one():
    bad = np.full((4, 2), 0.5)
    bad[2] = [0.5, 0.6]
    path = {"S-2": np.zeros(4, dtype=int)}
    with pytest.raises(ValueError, match="posterior: step 2"):
        plots.segmentation_strip(path, posterior=bad)
    bad[2] = np.nan
    with pytest.raises(ValueError, match="posterior: step 2"):
        plots.segmentation_strip(path, posterior=bad)


# ---- scores


def test_boxes_have_the_right_quartiles_and_whiskers():
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 9.0])
    ax = plots.score_boxes({"S-2": values}, reference=2.5, reference_label="truth")
    box = ax.patches[0].get_bbox()
    low, high = np.percentile(values, [25, 75])
    assert (box.y0, box.y1) == (low, high)
    whiskers = [list(part[:, 1]) for part in collection(ax, "whiskers").get_segments()]
    assert whiskers == [[0.0, low], [high, 4.0]]  # 9 lies beyond 1.5 interquartile ranges
    assert collection(ax, "median").get_segments()[0][0, 1] == np.median(values)
    np.testing.assert_array_equal(np.sort(ax.collections[-1].get_offsets()[:, 1]), values)
    (dashed,) = ax.get_lines()
    assert list(dashed.get_ydata()) == [2.5, 2.5]
    assert dashed.get_linestyle() == "--"
    assert ax.texts[0].get_text() == "truth"


def test_boxes_are_the_same_every_time_and_take_one_value():
    ax = plots.score_boxes({"a": [1.0], "b": [2.0, 3.0, 3.0]})
    again = plots.score_boxes({"a": [1.0], "b": [2.0, 3.0, 3.0]})
    for first, second in zip(ax.collections, again.collections, strict=True):
        np.testing.assert_array_equal(first.get_offsets(), second.get_offsets())
    ax.figure.canvas.draw()


def test_boxes_name_all_faults_at_once():
    with pytest.raises(ValueError) as fault:
        plots.score_boxes({"I-1": [], "S-2": [1.0, np.nan]})
    assert "values['I-1']: got shape (0,)" in str(fault.value)
    assert "values['S-2']: number 1 is nan" in str(fault.value)
    with pytest.raises(ValueError, match="values: got no models"):
        plots.score_boxes({})


def test_traces_colour_the_best_by_its_last_value():
    traces = [[-5.0, -1.5], [-9.0, -1.0, -1.2], [-3.0, -2.0]]
    ax = plots.objective_traces(traces)
    lines = ax.get_lines()
    assert [list(line.get_ydata()) for line in lines] == traces
    coloured = [line.get_label() for line in lines if line.get_color() == style.OKABE_ITO[0]]
    assert coloured == ["restart 1 (best)"]


def test_traces_as_gap_below_the_best():
    ax = plots.objective_traces([[-5.0, -1.5], [-9.0, -1.0]], gap=True)
    assert ax.get_yscale() == "log"
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), [4.0, 0.5])
    np.testing.assert_array_equal(ax.get_lines()[1].get_ydata(), [8.0, np.nan])


@pytest.mark.parametrize("traces", [[], [[1.0], [np.nan]], [[]]])
def test_traces_refuse_what_has_no_number(traces):
    with pytest.raises(ValueError, match="traces: got no finite value"):
        plots.objective_traces(traces)


# ---- files


@pytest.mark.slow
def test_save_writes_the_same_bytes_every_time(tmp_path):
    for folder in ("a", "b"):
        ax = plots.reward_map(np.arange(12.0), SHAPE, title="Home mode")
        files = plots.save(ax.figure, tmp_path / folder / "map", formats=("png", "pdf", "svg"), dpi=60)
        assert files == [tmp_path / folder / f"map.{name}" for name in ("png", "pdf", "svg")]
    for name in ("png", "pdf", "svg"):
        first, second = ((tmp_path / folder / f"map.{name}").read_bytes() for folder in ("a", "b"))
        assert first == second, name
        assert b"Date" not in first


def test_save_overwrites_only_when_told(tmp_path):
    figure = blank_ax().figure
    (tmp_path / "map.pdf").write_text("precious")
    with pytest.raises(FileExistsError, match=r"map\.pdf.*overwrite=True"):
        plots.save(figure, tmp_path / "map")
    assert not (tmp_path / "map.png").exists()  # nothing is written when anything is in the way
    assert (tmp_path / "map.pdf").read_text() == "precious"
    plots.save(figure, tmp_path / "map", overwrite=True)
    assert (tmp_path / "map.pdf").read_bytes().startswith(b"%PDF")


def test_save_keeps_dots_in_a_name_and_refuses_a_suffix(tmp_path):
    figure = blank_ax().figure
    assert plots.save(figure, tmp_path / "S-2.best", formats=("png",))[0].name == "S-2.best.png"
    with pytest.raises(ValueError, match=r"without \.png"):
        plots.save(figure, tmp_path / "map.png")
    with pytest.raises(ValueError, match=r"formats: got \['gif'\]"):
        plots.save(figure, tmp_path / "map", formats=("gif",))
