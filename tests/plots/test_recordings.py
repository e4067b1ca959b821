"""Figures of many sessions, many models, and of data against simulations."""

import io
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from print_size import faults_of_texts
from swirl import plots
from swirl.data.segments import bouts_of, find_segments
from swirl.plots.labels import spread
from swirl.plots.segments import prevalence
from swirl.plots.style import on_white
from swirl.reproduce.spontaneous.figures import agreement_figure

SESSIONS = [np.array([0, 0, 1, 1, 2]), np.array([1, -1, 0]), np.array([2])]
SCORES = {"MaxEnt": np.array([[-0.9, -0.8], [np.nan] * 2]), "S-2": np.array([[-0.8, -0.6], [-0.5, -0.4]])}
NAMES = ["Walk", "Run", "↑"]


def simulated_sets(seed=0, n=20):
    rng = np.random.default_rng(seed)
    return [rng.geometric(0.3, size=50).astype(float) for _ in range(n)]


DRAWERS = {
    "mode_raster": lambda ax: plots.mode_raster(SESSIONS, ax=ax),
    "mode_prevalence": lambda ax: plots.mode_prevalence(SESSIONS, ax=ax),
    "score_bands": lambda ax: plots.score_bands(SCORES, [1, 2], references={"counts": -0.7}, ax=ax),
    "transition_map": lambda ax: plots.transition_map(np.arange(9.0).reshape(3, 3), NAMES, note="r 0.3", ax=ax),
    "agreement_matrix": lambda ax: plots.agreement_matrix(np.eye(2), ["S-2", "S-3"], ax=ax),
    "history_dependence": lambda ax: plots.history_dependence(np.eye(2), ["home", "port"], note="gauge", ax=ax),
    "distribution_check": lambda ax: plots.distribution_check(simulated_sets(1)[0], simulated_sets(), ax=ax),
    "occupancy_check": lambda ax: plots.occupancy_check(np.ones(3), np.ones((2, 3)), marks={"home": 0}, ax=ax),
}


def collection(ax, label):
    (found,) = [c for c in ax.collections if c.get_label() == label]
    return found


def line(ax, label):
    (found,) = [shown for shown in ax.get_lines() if shown.get_label() == label]
    return found


def texts(ax):
    return [text.get_text() for text in ax.texts]


def picture(ax):
    buffer = io.BytesIO()
    ax.figure.savefig(buffer, format="rgba", dpi=50)
    return buffer.getvalue()


@pytest.mark.parametrize("name", DRAWERS)
def test_returns_the_ax_it_was_given_and_draws_the_same_every_time(name):
    ax = Figure().add_subplot()
    assert DRAWERS[name](ax) is ax
    first, second = DRAWERS[name](None), DRAWERS[name](None)
    assert first.figure is not second.figure
    assert picture(first) == picture(second)


@pytest.mark.slow
def test_none_of_them_imports_pyplot_or_changes_a_setting():
    code = """
import sys
import matplotlib as mpl, numpy as np
before = mpl.rcParams.copy()
from swirl import MDP, plots
env = MDP.deterministic([[1, 0], [0, 1]], coordinates=[[0, 0], [2, 0]])
half = np.full((2, 2), 0.5)
z = [np.array([0, 1])]
drawn = [
    plots.graph_map(np.arange(2.0), env, marks={"home": 0}), plots.policy_map(half, env),
    plots.preference_map(half, half, env), plots.paths_by_mode(env, z, z, 0), plots.mode_raster(z),
    plots.mode_prevalence(z), plots.score_bands({"S-2": half}, [1, 2]), plots.transition_map(half, ["a", "b"]),
    plots.history_dependence(half, ["a", "b"], spread=half), plots.distribution_check(half, [half]),
    plots.occupancy_check(half[0], half), plots.agreement_matrix(half, ["a", "b"]),
]
for ax in drawn:
    ax.figure.canvas.draw()
pyplot = "matplotlib.pyplot" in sys.modules
print(pyplot, [k for k in before if k != "backend" and before[k] != mpl.rcParams[k]])
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False []", done.stderr


# ---- rasters


def test_raster_has_a_row_per_session_and_white_where_nothing_is_known():
    names = ["explore", "water", "home"]
    colours = plots.named_mode_colours(names)
    ax = plots.mode_raster(SESSIONS, mode_names=names, colours=colours)
    (image,) = ax.images
    assert image.get_array().filled(-1).tolist() == [[0, 0, 1, 1, 2], [1, -1, 0, -1, -1], [2, -1, -1, -1, -1]]
    shown = image.to_rgba(image.get_array())
    assert to_hex(shown[0, 0]).upper() == colours[0]
    assert to_hex(shown[0, 2]).upper() == colours[1]
    assert to_hex(shown[2, 0]).upper() == colours[2]
    assert to_hex(shown[1, 1]) == to_hex(shown[2, 4]) == "#ffffff"
    assert list(image.get_extent()) == [0, 5, 3, 0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == names


def test_raster_keeps_its_colours_when_a_mode_is_absent():
    image = plots.mode_raster([np.array([2, 2])], mode_names=["a", "b", "c"]).images[0]
    assert to_hex(image.to_rgba(image.get_array())[0, 0]).upper() == plots.mode_colours(3)[2]


def test_raster_takes_an_order():
    (image,) = plots.mode_raster(SESSIONS, order=np.array([2, 0])).images
    assert image.get_array().filled(-1).tolist() == [[2, -1, -1, -1, -1], [0, 0, 1, 1, 2]]
    with pytest.raises(ValueError, match="order: got 0 … 3, expected sessions from 0 to 2"):
        plots.mode_raster(SESSIONS, order=[0, 3])


@pytest.mark.parametrize("draw", [plots.mode_raster, plots.mode_prevalence])
def test_rasters_refuse_what_is_no_mode(draw):
    with pytest.raises(ValueError, match="modes: got no steps"):
        draw([])
    with pytest.raises(ValueError, match="modes: session 1 holds -2"):
        draw([np.array([0]), np.array([0, -2])])
    with pytest.raises(ValueError, match="mode_names: got 1 names"):
        draw(SESSIONS, mode_names=["water"])
    with pytest.raises(ValueError, match="colours: got"):
        draw(SESSIONS, colours=["red", "blue"])


@pytest.mark.parametrize("window", [1, 2, 3, 4, 50])
def test_prevalence_equals_the_plain_loop(window):
    rng = np.random.default_rng(2)
    rows = rng.integers(-1, 3, size=(6, 11))
    rows[:2, 8:] = -1
    mean, error = prevalence(rows, 3, window)
    for t in range(rows.shape[1]):
        low, high = max(0, t - (window - 1) // 2), min(rows.shape[1], t + window // 2 + 1)
        parts = [row[low:high] for row in rows if row[t] >= 0]
        shares = np.array([[np.mean(part[part >= 0] == mode) for part in parts] for mode in range(3)])
        np.testing.assert_allclose(mean[:, t], shares.mean(axis=1))
        np.testing.assert_allclose(error[:, t], shares.std(axis=1, ddof=1) / np.sqrt(len(parts)), atol=1e-12)


def test_prevalence_draws_a_line_with_a_band_per_mode():
    ax = plots.mode_prevalence(SESSIONS, mode_names=["water", "home", "explore"], window=1)
    np.testing.assert_allclose(line(ax, "water").get_ydata(), [1 / 3, 1.0, 0.5, 0.0, 0.0])
    assert to_hex(line(ax, "home").get_color()).upper() == plots.mode_colours(2)[1]
    assert collection(ax, "water band")
    assert texts(ax) == ["water", "home", "explore"]
    with pytest.raises(ValueError, match="window: got 0"):
        plots.mode_prevalence(SESSIONS, window=0)


# ---- labels


def test_labels_keep_their_order_and_distance_and_move_least():
    rng = np.random.default_rng(3)
    wanted = rng.random(12)
    placed = spread(wanted, 0.1)
    order = np.argsort(wanted)
    assert (np.diff(placed[order]) >= 0.1 - 1e-12).all()
    assert placed.mean() == pytest.approx(wanted.mean())
    far = np.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(spread(far, 0.5), far)


def test_labels_do_not_overlap_in_the_figure():
    scores = {f"model {k}": np.array([[0.0, 0.1], [0.001 * k, 0.001 * k]]) for k in range(7)}
    ax = plots.score_bands(scores, [1, 2], references={"counts": 0.0, "published": 0.003})
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 9
    assert not [1 for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]


# ---- scores


def test_bands_are_mean_and_one_standard_deviation():
    table = np.array([[-0.8, -0.6, np.nan], [-0.5, -0.4, -0.3]])
    ax = plots.score_bands({"S-2": table}, [2, 3], xlabel="modes", references={"counts": -0.64})
    np.testing.assert_allclose(line(ax, "S-2").get_ydata(), [-0.7, -0.4])
    corners = collection(ax, "S-2 band").get_paths()[0].vertices
    at_two = corners[corners[:, 0] == 2, 1]
    assert (at_two.min(), at_two.max()) == pytest.approx((-0.7 - np.sqrt(0.02), -0.7 + np.sqrt(0.02)))
    assert list(line(ax, "counts").get_ydata()) == [-0.64, -0.64]
    assert texts(ax) == ["S-2", "counts"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["2", "3"]


def test_seven_models_differ_in_colour_marker_and_together_in_line():
    scores = {f"m{k}": np.array([[k + 0.0], [k + 1.0]]) for k in range(7)}
    ax = plots.score_bands(scores, [1, 2], colours={"m3": "#123456"})
    lines = [line(ax, name) for name in scores]
    assert len({shown.get_color() for shown in lines}) == 7
    assert len({shown.get_marker() for shown in lines}) == 7
    assert len({shown.get_linestyle() for shown in lines}) > 1
    assert line(ax, "m3").get_color() == "#123456"


def test_a_model_without_later_scores_is_carried_on():
    ax = plots.score_bands(SCORES, [1, 2])
    assert line(ax, "MaxEnt").get_xdata().tolist() == [1.0]
    (dotted,) = [shown for shown in ax.get_lines() if shown.get_linestyle() == ":"]
    assert list(dotted.get_xdata()) == [1.0, 2.0]
    np.testing.assert_allclose(dotted.get_ydata(), [-0.85, -0.85])


def test_limits_are_kept_and_what_lies_outside_is_labelled_at_the_edge():
    ax = plots.score_bands(
        {"S-1": np.array([[-6.7], [-6.7]]), "S-2": np.array([[-0.7], [-0.7]])}, [2, 3], ylim=(-1, -0.5)
    )
    assert ax.get_ylim() == (-1, -0.5)
    assert ax.texts[0].get_position()[1] == -1


def test_bands_name_all_faults_at_once():
    with pytest.raises(ValueError) as fault:
        plots.score_bands({"I-1": np.zeros((3, 2)), "S-2": np.full((2, 2), np.nan)}, [2, 1])
    for part in ("x: got [2.0, 1.0]", "scores['I-1']: got shape (3, 2)", "scores['S-2']: got no finite"):
        assert part in str(fault.value)
    with pytest.raises(ValueError, match="scores: got no models"):
        plots.score_bands({}, [1])


# ---- tables


def test_transition_map_names_rows_and_columns_and_greys_the_diagonal():
    values = np.arange(9.0).reshape(3, 3)
    values[0, 2] = np.nan
    ax = plots.transition_map(values, NAMES, diagonal=False, title="h1", note="DA corr 0.31")
    (image,) = ax.images
    np.testing.assert_array_equal(
        image.get_array().mask, [[True, False, True], [False, True, False], [False, False, True]]
    )
    assert image.get_clim() == (1.0, 7.0)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == NAMES
    assert [tick.get_text() for tick in ax.get_xticklabels()] == NAMES
    assert texts(ax) == ["DA corr 0.31"]
    assert values[1, 1] == 4.0  # what was given is not changed


def test_arrows_in_turned_names_point_the_right_way():
    names = ["Pause", "Walk", "↑", "←", "Sniff↑"]
    ax = plots.transition_map(np.zeros((5, 5)), names)
    shown = {tick.get_text(): tick.get_rotation() for tick in ax.get_xticklabels()}
    # a quarter turn to the left makes → point upwards; what is short is not turned
    assert shown == {"Pause": 90.0, "Walk": 90.0, "↑": 0.0, "←": 0.0, "Sniff→": 90.0}


def test_transition_map_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match=r"values: got shape \(3, 3\), but there are names for 2 rows and 3 columns"):
        plots.transition_map(np.zeros((3, 3)), ["a", "b"], action_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="diagonal: got False"):
        plots.transition_map(np.zeros((2, 3)), ["a", "b"], action_names=["x", "y", "z"], diagonal=False)


def test_agreement_is_written_in_ink_that_can_be_read():
    ax = plots.agreement_matrix(np.array([[1.0, -0.04], [np.nan, 1.0]]), ["S-2", "S-3"])
    assert texts(ax) == ["1.00", "−0.04", "1.00"]
    assert [text.get_color() for text in ax.texts] == ["white", "#262626", "white"]
    assert ax.images[0].get_clim() == (0.0, 1.0)
    with pytest.raises(ValueError, match=r"values: got shape \(2, 2\)"):
        plots.agreement_matrix(np.eye(2), ["S-2"])


# ---- dependence on history


def test_history_bars_stand_in_groups_by_previous_place():
    values = np.array([[0.9, 1.0], [np.nan, -0.4]])
    ax = plots.history_dependence(
        values, ["elsewhere", "water port"], mode_names=["water", "explore"], spread=np.full((2, 2), 0.1),
        colours=plots.named_mode_colours(["water", "explore"]), note="in the fitted gauge",
    )  # fmt: skip
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == [0.9, 1.0, -0.4]
    centres = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
    assert [round(x) for x in centres] == [0, 1, 1]
    assert centres[1] < 1 < centres[2]
    assert [to_hex(bar.get_facecolor()).upper() for bar in ax.patches] == ["#0072B2", "#0072B2", "#CC79A7"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["elsewhere", "water port"]
    assert texts(ax) == ["n/a", "in the fitted gauge"]


def test_history_dependence_names_all_faults_at_once():
    with pytest.raises(ValueError) as fault:
        plots.history_dependence(np.zeros((1, 2)), ["home"], spread=np.zeros((2, 1)))
    assert "previous_names: got 1, expected one for each of 2 columns" in str(fault.value)
    assert "spread: got shape (2, 1)" in str(fault.value)
    with pytest.raises(ValueError, match="mode_names"):
        plots.history_dependence(np.zeros((2, 1)), ["home"], mode_names=["water"])


# ---- checks against simulations


def test_distribution_check_draws_shares_and_bands():
    real, sets = np.array([1.0, 2.0, 2.0, 4.0]), [np.array([1.0, 1.0]), np.array([4.0, 4.0])]
    ax = plots.distribution_check(real, {"S-2": sets}, level=0.5, xlabel="dwell")
    data = line(ax, "data")
    assert data.get_xdata().tolist() == [1.0, 2.0, 4.0]
    assert data.get_ydata().tolist() == [0.25, 0.75, 1.0]
    assert line(ax, "S-2").get_ydata().tolist() == [0.5, 0.5, 1.0]
    band = collection(ax, "S-2 band").get_paths()[0].vertices
    first = band[band[:, 0] == 1.0, 1]
    assert (first.min(), first.max()) == (0.25, 0.75)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["data", "S-2"]


def test_distribution_check_as_histogram_keeps_shares_of_all_values():
    ax = plots.distribution_check(
        np.array([0.0, 1.0, 9.0, 99.0]), [np.array([1.0])], kind="histogram", bins=np.array([0, 5, 10])
    )
    assert line(ax, "data").get_ydata().tolist() == [0.5, 0.25, 0.25]
    assert ax.get_xlim() == (0, 10)


def test_distribution_check_on_a_log_scale_leaves_zeros_out_of_the_picture_only():
    ax = plots.distribution_check(np.array([0.0, 1.0, 10.0, 10.0]), [np.array([1.0])], log=True)
    assert ax.get_xscale() == "log"
    assert line(ax, "data").get_xdata().tolist() == [1.0, 10.0]
    assert line(ax, "data").get_ydata().tolist() == [0.5, 1.0]
    with pytest.raises(ValueError, match="no value above 0"):
        plots.distribution_check(np.zeros(2), [np.zeros(2)], log=True)


def test_distribution_check_thins_what_no_figure_shows():
    rng = np.random.default_rng(4)
    ax = plots.distribution_check(rng.normal(size=5000), [rng.normal(size=5000)])
    assert len(line(ax, "data").get_xdata()) <= 2000
    assert line(ax, "data").get_ydata()[-1] == 1.0


def test_distribution_check_names_all_faults_at_once():
    with pytest.raises(ValueError) as fault:
        plots.distribution_check(np.zeros(0), {"S-2": [np.zeros(0)], "I-1": []}, level=1.5)
    for part in (
        "real: got no values",
        "simulated['S-2']: data sets [0]",
        "simulated['I-1']: got no",
        "level: got 1.5",
    ):
        assert part in str(fault.value)


def test_occupancy_check_compares_shares_and_counts_the_misses():
    real = np.array([50.0, 30.0, 20.0, 0.0])
    spread = np.array([1.0, 1.0, 1.0, 0.0]) * np.random.default_rng(0).normal(size=(39, 4))
    ax = plots.occupancy_check(real, np.array([50.0, 10.0, 40.0, 0.0]) + spread, marks={"home": 1})
    inside, outside = collection(ax, "inside"), collection(ax, "outside")
    np.testing.assert_allclose(inside.get_offsets(), [[0.5, 0.5]], atol=0.01)
    np.testing.assert_allclose(outside.get_offsets(), [[0.3, 0.1], [0.2, 0.4]], atol=0.01)
    # the place where nobody goes does not count
    assert texts(ax) == ["2 of 3 states differ\n(p ≤ 0.05, corrected for all)", "home"]
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert ax.get_xlim() == ax.get_ylim()


def test_occupancy_check_corrects_for_the_number_of_states():
    alarms = []
    for seed in range(40):
        shares = np.random.default_rng(seed).dirichlet(np.full(100, 50.0), size=40)
        alarms.append(len(collection(plots.occupancy_check(shares[0], shares[1:]), "outside").get_offsets()))
    assert np.mean(np.array(alarms) > 0) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 40)  # each by itself: nearly always some
    few = plots.occupancy_check(np.array([9.0, 1.0]), np.array([[1.0, 9.0]] * 18))
    assert texts(few) == ["18 data sets: too few to tell"]
    assert not len(collection(few, "outside").get_offsets())


def test_what_occupancy_check_counts_is_written_above_the_axes_where_no_point_is():
    shares = np.random.default_rng(0).dirichlet(np.full(100, 0.5), size=40)
    ax = plots.occupancy_check(shares[0], shares[1:], title="S-2: occupancy")
    assert faults_of_texts(ax.figure) == []
    assert ax.texts[0].get_window_extent().y0 > ax.get_window_extent().y1


def test_occupancy_check_opens_points_of_zero():
    ax = plots.occupancy_check(np.array([1.0, 1.0, 0.0]), np.array([[1.0, 0.0, 1.0]] * 19))
    outside = collection(ax, "outside")
    assert [to_hex(face) for face in outside.get_facecolor()] == ["#ffffff", "#ffffff"]
    assert to_hex(collection(ax, "inside").get_facecolor()[0]) != "#ffffff"
    low = ax.get_xlim()[0]
    np.testing.assert_allclose(outside.get_offsets(), [[0.5, low], [low, 0.5]])


def test_occupancy_check_names_all_faults_at_once():
    with pytest.raises(ValueError) as fault:
        plots.occupancy_check(np.array([1.0, -1.0]), np.ones((2, 3)), level=0.0, marks={"home": 2})
    for part in ("simulated: got shape (2, 3)", "real: expected finite", "marks: got {'home': 2}", "level: got 0.0"):
        assert part in str(fault.value)


def test_no_cell_says_minus_nothing():
    drawn = plots.agreement_matrix(np.array([[1.0, -0.001], [-0.001, 1.0]]), ["one", "two"])
    assert texts(drawn) == ["1.00", "0.00", "0.00", "1.00"]
    restarts = agreement_figure(np.eye(2), ["3", "0"], [0.0, 0.00123]).figure.axes[0]
    assert [name.get_text() for name in restarts.get_yticklabels()] == ["3 (0.0000)", "0 (−0.0012)"]


# ---- colours on white


def contrast(colour):
    channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 1.05 / (np.dot([0.2126, 0.7152, 0.0722], channels) + 0.05)


def test_lines_and_words_of_every_mode_can_be_seen_on_white():
    # The fourth colour is yellow: strips keep it, lines and labels are a darker tone.
    paths = [np.repeat(np.arange(9), 4)] * 3
    names = [f"h{k}" for k in range(9)]
    drawn = [
        plots.mode_prevalence(paths, mode_names=names),
        plots.bout_durations(bouts_of(find_segments(paths)), mode_names=names),
    ]
    for ax in drawn:
        assert min(contrast(line.get_color()) for line in ax.lines) >= 2
    assert min(contrast(text.get_color()) for text in drawn[0].texts) >= 2
    assert plots.mode_colours(4)[3] == "#F0E442"
    assert on_white("#0072B2") == "#0072B2"
