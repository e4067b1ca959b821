"""The same figures on a grid, in a maze and for syllables: what is drawn is what was given; all figures of a fit."""

import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from print_size import check_for_print, faults_of_texts
from small_worlds import with_goals
from swirl.analysis.mode_signal import signal_by_mode
from swirl.analysis.reward_signal import SignalTest
from swirl.analysis.triggered_average import mode_triggered_average
from swirl.data.environments import fully_connected
from swirl.data.geometry import kind_of
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.segments import Bouts
from swirl.data.trajectories import Trajectories
from swirl.datasets.gridworld import gridworld_env
from swirl.estimators.swirl import SWIRL
from swirl.plots import durations, goals, move_maps, scores, signals, state_maps
from swirl.plots.fit import catalogue
from swirl.plots.move_maps import state_transitions
from swirl.plots.state_maps import state_map, transitions_by_state
from swirl.rewards import Goals
from swirl.switching import Fixed

NAN = np.nan


def grid_env(cells, *, width=1.0, height=1.0, shuffle=None):
    """States at (row, column); up, down, left, right, staying at walls."""
    number = {cell: i for i, cell in enumerate(cells)}
    steps = ((-1, 0), (1, 0), (0, -1), (0, 1))
    following = [[number.get((r + dr, c + dc), i) for dr, dc in steps] for i, (r, c) in enumerate(cells)]
    return MDP.deterministic(following, coordinates=[[width * c, -height * r] for r, c in cells])


CELLS = [(r, c) for r in range(2) for c in range(3)]
GRID = grid_env(CELLS)
# A corridor that forks: moves of length 1 and 2, which no grid has.
MAZE = MDP.deterministic([[1, 0, 0], [0, 2, 3], [1, 2, 2], [1, 3, 3]], coordinates=[[0, 0], [2, 0], [2, 1], [2, -1]])
SYLLABLES = fully_connected(4, ["Walk", "Run", "Rear", "Groom"])
WORLDS = {"grid": GRID, "maze": MAZE, "syllables": SYLLABLES}


def collection(ax, label):
    (found,) = [c for c in ax.collections if c.get_label() == label]
    return found


def ready(ax):
    """Draw to a small PNG; return the axes."""
    ax.get_figure().savefig(buffer := io.BytesIO(), format="png", dpi=25)
    assert buffer.getvalue().startswith(b"\x89PNG")
    return ax


def policy_of(env, seed=0):
    weights = np.random.default_rng(seed).uniform(0.1, 1.0, env.available.shape) * env.available
    return weights / weights.sum(axis=1, keepdims=True)


def arrivals(env):
    """A table whose value says which pair it belongs to, 10 · state + previous."""
    table = np.full((env.n_states, env.n_states), NAN)
    for state, action in np.argwhere(env.available):
        following = env.successors.next[state, action, 0]
        table[following, state] = 10 * following + state
    return table


# ---- what an environment is drawn as


def test_each_environment_has_its_kind():
    assert [kind_of(env) for env in WORLDS.values()] == [
        "grid",
        "graph",
        "names",
    ]  # tests/data/test_geometry.py has more


# ---- one value per state


def test_cells_stand_where_the_coordinates_say():
    shuffled = [CELLS[i] for i in (4, 0, 5, 2, 1, 3)]
    ax = ready(state_map(grid_env(shuffled), np.arange(6.0), marks={"home": 1}, title="Home mode", label="value"))
    states = collection(ax, "states")
    corners = [tuple(path.vertices[0]) for path in states.get_paths()]
    assert corners == [(c, r) for r, c in shuffled]
    assert states.get_array().tolist() == list(range(6))
    assert ax.get_ylim() == (2.0, 0.0)  # the row with the highest y is at the top
    assert ax.get_title(loc="left") == "Home mode"
    assert ax.texts[0].get_text() == "home"
    assert ax.get_figure().axes[1].get_ylabel() == "value"


def test_an_unknown_cell_is_hatched_and_the_outline_follows_the_arena():
    missing = grid_env([cell for cell in CELLS if cell != (0, 1)])
    ax = ready(state_map(missing, np.array([1.0, NAN, 2.0, 3.0, 4.0])))
    assert len(collection(ax, "states").get_paths()) == 4
    assert collection(ax, "uninformed").get_hatch()
    assert len(collection(ax, "outline").get_paths()) == 12  # of a full 2 × 3 there would be 10


def test_a_maze_is_a_graph():
    ax = ready(state_map(MAZE, np.array([0.0, 1.0, 2.0, NAN]), vmin=-1, vmax=3))
    assert collection(ax, "states").get_array().tolist() == [0.0, 1.0, 2.0]
    assert collection(ax, "states").get_clim() == (-1.0, 3.0)


def test_syllables_are_bars():
    ax = ready(state_map(SYLLABLES, np.array([0.5, -1.0, NAN, 2.0]), marks={"rest": 3}, label="value"))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["Walk", "Run", "Rear", "Groom"]
    assert [float(bar.get_width()) for bar in ax.patches] == [0.5, -1.0, 2.0]
    assert [text.get_text() for text in ax.texts] == ["n/a"]
    assert ax.get_yticklabels()[3].get_fontweight() == "bold"
    assert ax.get_xlabel() == "value"
    some = state_map(SYLLABLES, np.arange(4.0), shown=[3, 1], vmin=0, vmax=5)
    assert [tick.get_text() for tick in some.get_yticklabels()] == ["Groom", "Run"]
    assert some.get_xlim()[1] > 5
    many = fully_connected(200, [f"syllable {i}" for i in range(200)])
    assert 20 < len(state_map(many, np.arange(200.0)).get_yticks()) < 120  # names that would overlap are left out


@pytest.mark.parametrize("name", WORLDS)
def test_transitions_by_state(name):
    env = WORLDS[name]
    table = np.random.default_rng(0).dirichlet(np.ones(3), size=(env.n_states, 3))
    ax = transitions_by_state(env, table, 2, 0, mode_names=["water", "home", "explore"])
    drawn = (
        np.array([bar.get_width() for bar in ax.patches])
        if name == "syllables"
        else collection(ax, "states").get_array()
    )
    np.testing.assert_allclose(drawn, table[:, 2, 0])
    assert ax.get_title(loc="left") == "explore → water"
    leaving = transitions_by_state(env, table[:1], 2)
    assert leaving.get_title(loc="left") == "leaving mode 2"
    if name != "syllables":
        np.testing.assert_allclose(collection(leaving, "states").get_array(), 1 - table[0, 2, 2])
    with pytest.raises(ValueError, match="next_mode: got 3"):
        transitions_by_state(env, table, 0, 3)


@pytest.mark.parametrize("name", WORLDS)
def test_the_axes_that_are_given_are_used_and_wrong_sizes_are_refused(name):
    env = WORLDS[name]
    before = "matplotlib.pyplot" in sys.modules
    states, path = [np.array([0, 1, 0])], [np.array([0, 0, 1])]
    for draw in (
        lambda ax: state_map(env, np.arange(float(env.n_states)), ax=ax),
        lambda ax: move_maps.arrival_map(env, arrivals(env), ax=ax),
        lambda ax: move_maps.moves_map(env, policy_of(env), ax=ax),
        lambda ax: move_maps.preferences(env, policy_of(env), np.stack([policy_of(env), policy_of(env, 1)]), ax=ax),
        lambda ax: move_maps.traffic(env, states, path, 0, ax=ax),
    ):
        ax = Figure(figsize=(3, 3)).add_subplot()
        assert draw(ax) is ax
    assert ("matplotlib.pyplot" in sys.modules) == before
    with pytest.raises(ValueError, match=f"values: got 2 states, but env has {env.n_states}"):
        state_map(env, np.zeros(2))
    with pytest.raises(ValueError, match=r"marks: got \{'far': 99\}"):
        state_map(env, np.zeros(env.n_states), marks={"far": 99})


# ---- moves


def test_arrivals_split_the_cells_of_a_grid():
    ax = ready(move_maps.arrival_map(GRID, arrivals(GRID)))
    possible = collection(ax, "possible")
    assert len(possible.get_paths()) == int(np.isfinite(arrivals(GRID)).sum())
    # Cell (0, 0), reached from the cell to its right, which is state 1: its right part holds 10 · 0 + 1.
    centres = np.array([path.vertices[:4].mean(axis=0) for path in possible.get_paths()])
    right = int(np.argmin(np.linalg.norm(centres - (0.9, 0.5), axis=1)))
    assert possible.get_array()[right] == 1.0
    assert move_maps.is_split(GRID, arrivals(GRID))
    assert not move_maps.is_split(MAZE, arrivals(MAZE))


def test_arrivals_in_a_maze_are_lanes_on_the_right():
    ax = ready(move_maps.arrival_map(MAZE, arrivals(MAZE), marks={"home": 0}))
    lanes = collection(ax, "arrivals")
    found = {
        float(v): path.vertices[:4].mean(axis=0) for v, path in zip(lanes.get_array(), lanes.get_paths(), strict=True)
    }
    assert sorted(found) == [1.0, 10.0, 12.0, 13.0, 21.0, 31.0]
    assert found[10.0][1] < 0 < found[1.0][1]  # from 0 to 1, eastwards, the right side is south
    assert sorted(collection(ax, "stayed").get_array()) == [0.0, 22.0, 33.0]


def test_arrivals_of_syllables_are_a_table_previous_by_current():
    ax = ready(move_maps.arrival_map(SYLLABLES, arrivals(SYLLABLES), shown=[0, 2]))
    assert ax.images[0].get_array().tolist() == [[None, 20.0], [2.0, None]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("current", "previous")


def test_moves_and_preferences_of_syllables():
    policies = np.stack([policy_of(SYLLABLES, seed) for seed in range(2)])
    ax = move_maps.moves_map(SYLLABLES, policies[0])
    shown = ax.images[0].get_array()
    np.testing.assert_allclose(shown.filled(0.0), state_transitions(policies[0], SYLLABLES))
    assert shown.mask.diagonal().all()  # a syllable never follows itself
    odds = move_maps.preferences(SYLLABLES, policies[0], policies, vmax=5).images[0].get_array()
    p, q = policies[0, 0, 1], policies[:, 0, 1].mean()
    assert odds[0, 1] == pytest.approx(np.log(p / (1 - p)) - np.log(q / (1 - q)))


def test_tables_of_moves_refuse_what_maps_refuse():
    policies = np.stack([policy_of(SYLLABLES, seed) for seed in range(2)])
    with pytest.raises(ValueError, match=r"vmax: got 0, expected a number above 0"):
        move_maps.preferences(SYLLABLES, policies[0], policies, vmax=0)
    with pytest.raises(ValueError, match=r"reference\[1\]: state 0 is"):
        move_maps.preferences(SYLLABLES, policies[0], np.stack([policies[0], 2 * policies[1]]))
    with pytest.raises(ValueError, match=r"policy: got shape \(4, 3\), expected \[state, action\] = \(4, 4\)"):
        move_maps.moves_map(SYLLABLES, policies[0][:, :3])
    with pytest.raises(ValueError, match="states: session 0, step 1 is 7, expected 0 to 3"):
        move_maps.traffic(SYLLABLES, [np.array([0, 7])], [np.array([0, 0])], 0)


def test_traffic_of_syllables_counts_moves_within_bouts():
    ax = move_maps.traffic(SYLLABLES, [np.array([0, 1, 0, 1, 2])], [np.array([1, 1, 1, 0, 0])], 1)
    counts = ax.images[0].get_array().filled(-1)
    assert counts[0, 1] == 1.0
    assert counts[1, 0] == 1.0
    assert counts[1, 2] == 0.0
    assert counts[0, 0] == -1


# ---- durations


def lasting(length, cut=()):
    at_risk = sum(length) + sum(cut) - len(cut)
    return Bouts(np.array(length, int), np.array(cut, int), len(length), at_risk)


def test_bout_durations():
    bouts = [lasting([1, 1, 2, 8]), lasting([3, 3], [5]), lasting([])]
    ax = ready(durations.bout_durations(bouts, expected=[3.0, lasting([3, 4]), 2], mode_names=["a", "b", "c"]))
    assert ax.get_xscale() == "log"
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert told == ["a (n = 4)", "b (n = 3, 1 cut)", "c (n = 0)"]
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert lines["a"].get_ydata().tolist() == [1.0, 1.0, 0.5, 0.25, 0.0]
    np.testing.assert_allclose(lines["b"].get_ydata(), [1, 1, 1 / 3])  # up to 5, where the one that was cut ends it
    dashed = [line for line in ax.get_lines() if line.get_label() == "_expected"]
    at = dashed[0].get_xdata() == 4
    assert dashed[0].get_ydata()[at] == pytest.approx((2 / 3) ** 3)
    assert dashed[1].get_ydata().tolist() == [1.0, 1.0, 0.5, 0.0]
    assert "2" in [tick.get_text() for tick in ax.get_xticklabels()]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"bouts": [lasting([]), lasting([])]}, "the start of none was seen"),
        ({"bouts": [lasting([1])], "expected": [1, 2]}, "expected: got 2 entries"),
    ],
)
def test_durations_that_cannot_be_drawn(arguments, told):
    with pytest.raises(ValueError, match=told):
        durations.bout_durations(**arguments)


# ---- goals


def test_goals_are_where_they_are():
    ax = ready(goals.goal_map(MAZE, {"water": [3], "home": [0, 1]}, colours=["#ff0000", "#00ff00"]))
    red, green = [shape for shape in ax.collections if shape.get_label() == "goals"]
    assert (to_hex(red.get_facecolor()[0]), to_hex(green.get_facecolor()[0])) == ("#ff0000", "#00ff00")
    assert (red.get_offsets().tolist(), green.get_offsets().tolist()) == ([[2, -1]], [[0, 0], [2, 0]])
    assert sorted(text.get_text() for text in ax.texts) == ["home", "water"]
    ax = ready(goals.goal_map(GRID, {"water": [5], "home": [0, 1]}, colours=["#ff0000", "#00ff00"]))
    (cells,) = [shape for shape in ax.collections if shape.get_label() == "states"]
    found = [to_hex(colour) for colour in cells.get_facecolor()]
    assert [found[s] for s in (0, 1, 5)] == ["#00ff00", "#00ff00", "#ff0000"]
    assert len({found[s] for s in (2, 3, 4)}) == 1


def test_time_to_goal_against_the_shortest_way():
    ax = ready(goals.time_to_goal([np.array([2.0, 2, 4]), np.array([4.0])], [np.array([2, 4, 4]), np.array([9])],
                                  mode_names=["water", "home"]))  # fmt: skip
    water, home = [shape for shape in ax.collections if shape.get_label() in ("water", "home")]
    aside = 0.08
    np.testing.assert_allclose(water.get_offsets(), [[2 - aside, 3], [4 - aside, 4]])
    np.testing.assert_allclose(home.get_offsets(), [[4 + aside, 9]])
    assert water.get_sizes()[0] > water.get_sizes()[1] == home.get_sizes()[0]
    bars = next(shape for shape in ax.collections if shape.get_label().startswith("_"))
    np.testing.assert_allclose(bars.get_segments()[0][:, 1], [2.5, 3.5])
    assert ax.get_lines()[0].get_xydata().tolist() == [[0, 0], [4, 4]]


@pytest.mark.parametrize(
    ("draw", "told"),
    [
        (lambda: goals.goal_map(SYLLABLES, {"rest": [0]}), "env: its states have no places"),
        (lambda: goals.goal_map(MAZE, {"water": [9]}), r"goals\['water'\]: got \[9\], expected states from 0 to 3"),
        (lambda: goals.time_to_goal([np.zeros(0)], [np.zeros(0)]), "got no pursuit of any goal"),
        (lambda: goals.time_to_goal([np.ones(2)], [np.ones(1)]), r"distances\[0\]: expected a finite number"),
        (lambda: goals.time_to_goal([np.ones(1)], []), "got 1 and 0 goals"),
    ],
)
def test_goals_that_cannot_be_drawn(draw, told):
    with pytest.raises(ValueError, match=told):
        draw()


@pytest.mark.parametrize("env", [MAZE, GRID, SYLLABLES])
def test_figures_of_a_fit_with_goals(env, monkeypatch):
    model = with_goals(env, Goals((2,), kinds=0, moves="action"), {1: (2,)}, cost=3.0)
    data, modes = recording(env=env)
    decoded(model, modes, monkeypatch)
    model.name_modes(["explore", "to 2"])
    wanted = ["time_to_goal"] if env is SYLLABLES else ["goals", "time_to_goal"]
    drawn, _ = catalogue.draw(model, data, only=wanted)
    table = drawn["time_to_goal"].table
    assert set(table["mode"]) == {"to 2"}
    assert set(table["session"]) <= set(data.names)
    if env is SYLLABLES:
        with pytest.raises(ValueError, match="goals: states have no places"):
            catalogue.draw(model, data, only=["goals"])
    else:
        assert drawn["goals"].table["state"].tolist() == ["2"]


# ---- by mode


def recording(n_sessions=3, length=60, env=SYLLABLES, seed=0, **more):
    """Sessions with modes in runs and a signal that rises where mode 1 starts."""
    rng = np.random.default_rng(seed)
    modes = [np.repeat(rng.integers(0, 2, length), rng.integers(2, 9, length))[:length] for _ in range(n_sessions)]
    states, actions = [], []
    for _ in modes:
        state = [int(rng.integers(env.n_states))]
        action = []
        for _ in range(length - 1):
            action.append(int(rng.choice(np.flatnonzero(env.available[state[-1]]))))
            state.append(int(env.successors.next[state[-1], action[-1], 0]))
        states.append(state)
        actions.append(action)
    signal = [rng.normal(size=length) + (path == 1) for path in modes]
    data = Trajectories(
        states, actions, signals={"dopamine": signal}, n_states=env.n_states, n_actions=env.n_actions,
        state_names=env.state_names, action_names=env.action_names, **more,
    )  # fmt: skip
    return data, modes


def test_signal_by_mode_draws_every_session_and_the_mean():
    data, modes = recording()
    means = signal_by_mode(data, modes, "dopamine")
    ax = ready(signals.signal_by_mode(means, mode_names=["rest", "run"]))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["rest", "run"]
    points = [part for part in ax.collections if part.get_label() == "_units"]
    np.testing.assert_allclose(points[1].get_offsets()[:, 1], means.unit_means[:, 1, 0])
    assert ax.containers[1].lines[0].get_ydata().tolist() == [means.mean[1, 0]]
    assert ax.get_xlabel() == "mean ± SEM over 3 sessions"
    with pytest.raises(ValueError, match="channel: got 1, but the signal has 1 channel"):
        signals.signal_by_mode(means, channel=1)


def test_triggered_average_draws_mean_and_bands():
    data, modes = recording()
    average = mode_triggered_average(data, modes, "dopamine", before=4, after=6, n_shifts=19)
    ax = ready(signals.triggered_average(average, mode=1, mode_names=["rest", "run"]))
    (line,) = [line for line in ax.get_lines() if line.get_label() == "run"]
    np.testing.assert_allclose(line.get_ydata(), average.mean[1, :, 0])
    grey = collection(ax, "95 % of shifted signals").get_paths()[0].vertices
    assert grey[:, 1].max() == pytest.approx(average.band()[1][1].max())
    assert ax.get_xlabel() == "steps from the start of run"
    p, corrected = average.p_value[1, 0], average.corrected_p_value[1, 0]
    first = f"{average.n_events[1]} events, p = {p:.2g} ({corrected:.2g} for 2 tests)"
    p, corrected = average.place_p_value[1, 0], average.corrected_place_p_value[1, 0]
    assert ax.texts[0].get_text() == f"{first}\nsame places: p = {p:.2g} ({corrected:.2g} for 2 tests)"
    both = signals.triggered_average(average)
    assert [text.get_text() for text in both.get_legend().get_texts()] == ["mode 0", "mode 1"]
    with pytest.raises(ValueError, match="mode: got 5, but the average is of mode 0, 1"):
        signals.triggered_average(average, mode=5)


def test_signal_correlation_draws_the_null_behind():
    null = np.linspace(-0.2, 0.2, 201)[:, None] * [1.0, 2.0]
    ax = ready(signals.signal_correlation(SignalTest(np.array([0.5, NAN]), null, np.array([0.005, NAN]))))
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], [0.38, 0.76])
    assert [text.get_text() for text in ax.texts] == ["p = 0.005", "n/a"]
    both = ready(signals.signal_correlation(SignalTest(np.array([0.5, 0.3]), null, np.array([0.005, 0.02]))))
    assert [text.get_text() for text in both.texts] == ["p = 0.005\n(0.01 for 2 tests)", "p = 0.02\n(0.02 for 2 tests)"]
    assert both.get_xlabel().endswith("in brackets: corrected (Holm)")


def fitted(objectives, paths):
    """What `restart_agreement` needs of a fitted model."""
    return SimpleNamespace(
        restarts_=[SimpleNamespace(objective=value) for value in objectives],
        use_restart=lambda i: SimpleNamespace(predict=lambda data: paths[i]),
        n_observed_=100,
    )


def test_restart_agreement_compares_the_best():
    paths = [[np.array([0, 0, 1, 1])], [np.array([0, 1, 0, 1])], [np.array([1, 1, 0, 0])], [np.array([0, 0, 0, 1])]]
    model = fitted([-10.0, NAN, -9.0, -30.0], paths)
    ax = ready(scores.restart_agreement(model, None, n_best=2))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["2 (best)", "0 (1.0)"]
    assert [text.get_text() for text in ax.texts] == ["1.00", "1.00", "1.00", "1.00"]  # the same but for names
    values, order, behind = scores.restart_agreements(model, None)
    assert order == [2, 0, 3]
    np.testing.assert_allclose(behind, [0.0, 1.0, 21.0])
    assert values[0, 2] < 0.5
    with pytest.raises(ValueError, match="it has 1 restart to compare"):
        scores.restart_agreement(fitted([-1.0, NAN], paths), None)


# ---- rows and columns at the edge


def edge_words(ax):
    """Where the words at the left and at the bottom of the axes stand, as they are drawn: word → pixel."""
    ax.get_figure().draw_without_rendering()
    found = {"left": {}, "bottom": {}}
    frame = ax.get_window_extent()
    for text in ax.texts:
        box = text.get_window_extent()
        side = "left" if box.x1 < frame.x0 else "bottom"
        assert box.x1 < frame.x0 or box.y1 < frame.y0, text.get_text()
        found[side][text.get_text()] = (box.y0 + box.y1) / 2 if side == "left" else (box.x0 + box.x1) / 2
    return found["left"], found["bottom"]


@pytest.mark.parametrize("draw", ["state_map", "arrival_map", "policy_map", "preference_map"])
def test_the_edge_of_a_grid_says_what_its_cells_are_called(draw):
    env = gridworld_env()
    policy = np.where(env.available, 0.2, 0.0)
    moves = np.where(state_transitions(policy, env) > 0, 1.0, np.nan)
    ax = {
        "state_map": lambda: state_map(env, np.arange(25.0)),
        "arrival_map": lambda: move_maps.arrival_map(env, moves),
        "policy_map": lambda: move_maps.policy_map(policy, env),
        "preference_map": lambda: move_maps.preference_map(policy, policy, env),
    }[draw]()
    left, bottom = edge_words(ax)
    assert set(left) == {*"01234", "row"}
    assert set(bottom) == {*"01234", "column"}
    # Cell "(4, 3)" is at x = 3, y = −4: row 4 is the lowest, column 3 the last but one.
    assert left["4"] == min(left[row] for row in "01234")
    assert sorted("01234", key=bottom.get) == list("01234")


def test_marked_places_are_named_instead():
    ax = state_map(gridworld_env(), np.arange(25.0), marks={"home": 0})
    assert [text.get_text() for text in ax.texts] == ["home"]


# ---- all figures of a fit


def made(env, history, n_modes=2, *, per_action=False, same=False, seed=0):
    """A SWIRL model of random parameters, without a fit or a plan: nothing is compiled."""
    rng = np.random.default_rng(seed)
    histories = Histories.reachable(env.successors, history)
    available = np.asarray(histories.successors.available)
    weights = rng.uniform(0.1, 1.0, (n_modes, *available.shape)) * available
    shape = (n_modes, *available.shape) if per_action else (n_modes, histories.n_histories)
    switching = rng.dirichlet(np.ones(n_modes), size=(1 if same else env.n_states, n_modes))
    switching = np.broadcast_to(switching, (env.n_states, n_modes, n_modes)).copy()
    model = SWIRL(env, n_modes=n_modes, history=history, switching=Fixed(switching))
    with np.errstate(divide="ignore"):
        log_policies = np.log(weights / weights.sum(axis=2, keepdims=True))
    model._set_rewards(histories, rng.normal(size=shape), log_policies)
    model._set_chain(switching, np.full(n_modes, 1 / n_modes))
    model.initial_states_ = np.full(env.n_states, 1 / env.n_states)
    model.mode_temperatures_ = np.ones(n_modes)
    return model


def decoded(model, modes, monkeypatch):
    """Give the model these modes for its answer, and runs of five to sessions that it simulates."""

    def predict(data):
        return modes if len(data) == len(modes) else [np.arange(n) // 5 % 2 for n in data.lengths]

    monkeypatch.setattr(model, "predict", predict)
    monkeypatch.setattr(model, "predict_proba", lambda data: [np.eye(2)[path] * 0.8 + 0.1 for path in modes])


ALWAYS = [
    "policies",
    "preferences",
    "paths",
    "usage",
    "transitions",
    "segmentation",
    "raster",
    "mode_shares",
    "durations",
]
SIGNAL = ["signal_by_mode", "signal_around_starts", "signal_and_reward"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "history", "per_action", "extra"),
    [
        ("grid", 2, False, ["rewards", "rewards_by_previous", "reward_at_one_place"]),
        ("maze", 2, False, ["rewards", "rewards_by_previous", "reward_at_one_place"]),
        ("syllables", 1, True, ["rewards_by_action"]),
    ],
)
def test_every_figure_that_applies(name, history, per_action, extra, monkeypatch, tmp_path):
    env = WORLDS[name]
    data, modes = recording(env=env, gaps=[[20], [], []])
    model = made(env, history, per_action=per_action)
    decoded(model, modes, monkeypatch)
    monkeypatch.setattr(catalogue.segmentation, "SIMULATED", 80)
    wanted = [figure for figure in catalogue.FIGURES if figure in (*extra, *ALWAYS, *SIGNAL)]
    drawn, left_out = catalogue.draw(
        model, data, signal="dopamine", mode_names=["water", "home"], only=wanted if per_action else None
    )  # fmt: skip
    assert list(drawn) == wanted
    for drawing in drawn.values():
        check_for_print(drawing.figure, tmp_path)
    if "paths" in drawn:
        assert faults_of_texts(drawn["paths"].figure) == []
        titles = [ax.get_title(loc="left") for ax in drawn["paths"].figure.axes]
        assert [" % of steps)" in title for title in titles] == [True, True, *([False] * (len(titles) - 2))]
        # Under the moves of each mode single segments, where places are known.
        assert [title.endswith(" steps") for title in titles[2:] if title] == ([] if per_action else [True, True])
    beside = {"model_scores", "model_scores_by_modes", "goals", "time_to_goal"}  # no comparison given, no goals
    assert set(left_out) <= {"rewards_by_action", "objective", "restart_agreement"} | beside
    tables = {figure: drawing.table for figure, drawing in drawn.items()}
    np.testing.assert_allclose(tables["usage"].groupby("mode")["share"].sum(), 1.0)
    assert tables["usage"]["steps"].sum() == 180
    np.testing.assert_allclose(tables["policies"].groupby(["mode", "state"])["probability"].sum(), 1.0)
    np.testing.assert_allclose(tables["transitions"].groupby(["state", "mode"])["probability"].sum(), 1.0)
    assert tables["raster"]["n_steps"].sum() == 180
    # Moves over the gap are no moves.
    inside = sum(int((path[1:] == path[:-1]).sum()) for path in modes) - (modes[0][19] == modes[0][20])
    assert tables["paths"]["moves"].sum() == inside
    assert set(tables["durations"]["of"]) == {"data", "model"}
    assert set(tables["signal_around_starts"]["mode"]) == {"water", "home"}
    assert len(drawn["policies"].figure.axes) >= 2
    policy = state_transitions(model.state_policies()[1], env)
    row = tables["policies"].query("mode == 'home'").iloc[-1]
    names = state_maps.state_names(env)
    assert row["probability"] == pytest.approx(policy[names.index(row["state"]), names.index(row["next_state"])])
    if "rewards_by_previous" in tables:
        table = model.reward_table(gauge="canonical")
        least = model.reward_map(gauge="canonical")  # which `swirl plot` shows, as the report and the docs do
        np.testing.assert_allclose(tables["rewards"]["reward"], least.ravel())
        assert not np.allclose(least, model.reward_map("fitted"))
        labels = {ax.get_ylabel() for ax in drawn["rewards"].figure.axes}
        assert "reward (least norm)" in labels
        row = tables["rewards_by_previous"].query("mode == 'home' and state != previous").iloc[-1]
        assert row["reward"] == pytest.approx(table[1, int(row["state"]), int(row["previous"])])
    if name == "grid":
        assert "Previous location" in [ax.get_title(loc="left") for ax in drawn["rewards_by_previous"].figure.axes]


def test_switching_that_is_the_same_everywhere_is_one_table(monkeypatch):
    data, modes = recording()
    model = made(SYLLABLES, 1, same=True)
    decoded(model, modes, monkeypatch)
    drawn, _ = catalogue.draw(model, data, only=["transitions"])
    ax, bar = drawn["transitions"].figure.axes
    assert bar.get_ylabel() == "probability"
    assert ax.get_xlabel() == "next mode"


def test_uninformed_states_have_no_reward(monkeypatch):
    data, modes = recording(env=MAZE)
    model = made(MAZE, 2)
    model.uninformed_ = model.histories_[:, 0] == 3
    decoded(model, modes, monkeypatch)
    drawn, _ = catalogue.draw(model, data, only=["rewards", "rewards_by_previous"])
    tables = {name: drawing.table for name, drawing in drawn.items()}
    assert sorted(set(tables["rewards"]["state"])) == ["0", "1", "2"]
    assert "3" not in set(tables["rewards_by_previous"]["state"])


def test_one_mode_leaves_out_what_is_between_modes(monkeypatch):
    data, modes = recording(env=GRID)
    model = made(GRID, 1, n_modes=1)
    monkeypatch.setattr(model, "predict", lambda data: [0 * path for path in modes])
    drawn, left_out = catalogue.draw(model, data)
    assert list(drawn) == ["rewards", "policies", "paths", "usage"]
    assert left_out["transitions"] == "the model has one mode"
    assert left_out["rewards_by_previous"] == "the reward sees one state only"
    with pytest.raises(
        ValueError, match=r"only: some figures do not apply to this fit \(raster: the model has one mode"
    ):
        catalogue.draw(model, data, only=["raster"])
    with pytest.raises(ValueError, match=r"no figure is called 'rastr'; did you mean 'raster'\?"):
        catalogue.draw(model, data, only=["rastr"])
    with pytest.raises(ValueError, match="signal='serotonin': no such signal; the data have 'dopamine'"):
        catalogue.draw(model, data, signal="serotonin")
    with pytest.raises(ValueError, match="mode_names: got 2 names for 1 mode"):
        catalogue.draw(model, data, mode_names=["a", "b"])
