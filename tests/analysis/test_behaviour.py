"""What the animal did: segments and visits counted by hand, runs against a plain search, agreement against sklearn."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score, normalized_mutual_info_score

from swirl.analysis import behaviour
from swirl.analysis.behaviour import segment_summary, segments
from swirl.data.mdp import MDP
from swirl.data.segments import Bouts, bouts_of, find_segments
from swirl.datasets import labyrinth_env

#         t = 0  1  2  3  4  5  6  7  8  9
MODES = [[0, 0, 0, 0, 1, 1, 1, 0, 0, 2], [1, 1, 2, 2]]
STATES = [[5, 4, 3, 9, 3, 2, 0, 1, 2, 3], [9, 9, 4, 0]]
GOALS = {"water": 9, "home": [0]}
LINE = MDP.deterministic([[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]])  # 0 … 4; action 0 goes down, 1 up


def random_walks(n_sessions=8, n_steps=200, seed=0):
    rng, following = np.random.default_rng(seed), np.asarray(labyrinth_env().successors.next)[:, :, 0]
    walks = []
    for _ in range(n_sessions):
        walk = [int(rng.integers(127))]
        for _ in range(n_steps - 1):
            walk.append(int(rng.choice(np.setdiff1d(following[walk[-1]], walk[-1]))))
        walks.append(np.array(walk))
    return walks


# ---------------------------------------------------------------------- segments


def test_segments_by_hand():
    table = segments(MODES, STATES)
    assert table.columns.tolist() == [
        *("session", "start", "stop", "mode", "length", "first_state", "last_state", "cut_start", "cut_end")
    ]
    assert table.iloc[:, :7].to_numpy().tolist() == [
        [0, 0, 4, 0, 4, 5, 9],
        [0, 4, 7, 1, 3, 3, 0],
        [0, 7, 9, 0, 2, 1, 2],
        [0, 9, 10, 2, 1, 3, 3],
        [1, 0, 2, 1, 2, 9, 9],
        [1, 2, 4, 2, 2, 4, 0],
    ]
    assert table["cut_start"].tolist() == [True, False, False, False, True, False]
    assert table["cut_end"].tolist() == [False, False, False, True, False, True]
    assert "first_state" not in segments(MODES).columns


def test_gaps_and_unlabelled_steps_cut_segments():
    table = segments([[0, 0, 0, -1, 0, 1]], gaps=[[1]])
    assert table[["start", "stop", "mode"]].to_numpy().tolist() == [[0, 1, 0], [1, 3, 0], [4, 5, 0], [5, 6, 1]]
    assert table["cut_start"].tolist() == [True, True, True, False]
    assert table["cut_end"].tolist() == [True, True, False, True]


def test_segments_tile_the_labelled_steps():
    rng = np.random.default_rng(1)
    modes = [np.repeat(rng.integers(-1, 3, 12), rng.integers(1, 5, 12)) for _ in range(5)]
    rebuilt = [np.full(len(path), -1) for path in modes]
    for row in segments(modes, gaps=[[3]] * 5).itertuples():
        assert row.length > 0
        rebuilt[row.session][row.start : row.stop] = row.mode
    for path, again in zip(modes, rebuilt, strict=True):
        np.testing.assert_array_equal(path, again)


def test_summary_by_hand():
    table = segment_summary(MODES, STATES, GOALS)
    assert table["segments"].to_dict() == {0: 2, 1: 2, 2: 0, "all": 4}
    assert table["whole_segments"].to_dict() == {0: 1, 1: 1, 2: 0, "all": 2}
    assert table.loc[0, "median_length"] == 2
    # Times left over steps at risk: modes 0, 1 and 2 are left 2, 2 and 0 times, at 6, 5 and 1 steps.
    assert table["mean_length"].tolist() == pytest.approx([3, 2.5, np.nan, 3], nan_ok=True)
    assert table["share_of_steps"].tolist() == pytest.approx([6 / 14, 5 / 14, 3 / 14, 1])
    assert table["switches_per_100_steps"].tolist() == pytest.approx([200 / 6, 200 / 5, 0, 400 / 14])
    # mode 0: [5 4 3 9] ends at the water, [1 2] does not; mode 1: [3 2 0] ends at home, [9 9] at the water
    assert table.loc[[0, 1], "ends_at_water"].tolist() == [0.5, 0.5]
    assert table.loc[[0, 1], "ends_at_home"].tolist() == [0.0, 0.5]
    assert table.loc[[0, 1], "visits_water"].tolist() == [0.5, 0.5]
    assert table.loc["all", "visits_home"] == 0.25


def test_the_recordings_cuts_can_be_counted():
    table = segment_summary(MODES, STATES, GOALS, include_cut=True)
    assert table["segments"].tolist() == [2, 2, 2, 6]
    assert table.loc[2, "ends_at_home"] == 0.5


@pytest.mark.parametrize(
    ("place", "within", "ends"), [(3, 0, 0), (4, 0, 1), (3, 1, 1), (2, 1, 0), (2, 2, 1), (1, 2, 0)]
)
def test_the_end_of_a_segment_is_its_last_steps_and_the_next(place, within, ends):
    modes, states = [[0, 0, 0, 1, 1]], [[1, 2, 3, 4, 0]]
    table = segment_summary(modes, states, {"goal": place}, within=within)
    assert table.loc[0, "ends_at_goal"] == ends


def test_the_end_of_a_segment_reaches_over_no_gap_and_into_no_other_segment():
    modes, states, goal = [[0, 1, 2, 2]], [[9, 5, 5, 5]], {"goal": 9}
    assert segment_summary(modes, states, goal, within=3).loc[1, "ends_at_goal"] == 0
    over = segment_summary([[0, 0, 1]], [[1, 1, 9]], goal, gaps=[[2]], include_cut=True)
    assert over.loc[0, "ends_at_goal"] == 0
    assert segment_summary([[0, 0, 1]], [[1, 1, 9]], goal).loc[0, "ends_at_goal"] == 1


def test_summary_does_not_care_for_the_names_of_modes_or_the_order_of_sessions():
    renamed = [np.array([2, 0, 1])[path] for path in MODES]
    table, again = (segment_summary(modes, STATES, GOALS) for modes in (MODES, renamed))
    np.testing.assert_array_equal(again.loc[[2, 0, 1, "all"]].to_numpy(), table.loc[[0, 1, 2, "all"]].to_numpy())
    turned = segment_summary(MODES[::-1], STATES[::-1], GOALS)
    np.testing.assert_array_equal(turned.to_numpy(), table.to_numpy())


def test_summary_refuses_what_does_not_match():
    with pytest.raises(ValueError, match=r"states\[1\] has 3 steps, modes\[1\] 4"):
        segment_summary(MODES, [STATES[0], [1, 2, 3]], GOALS)
    with pytest.raises(ValueError, match="n_modes=2: modes go up to 2"):
        segment_summary(MODES, STATES, GOALS, n_modes=2)
    with pytest.raises(ValueError, match="within=-1"):
        segment_summary(MODES, STATES, GOALS, within=-1)
    with pytest.raises(ValueError, match="modes holds no session"):
        segments([])


def test_switches_by_hand():
    assert behaviour.switch_rate(MODES) == pytest.approx(400 / 14)
    assert behaviour.switch_rate(MODES, gaps=[[4], []]) == pytest.approx(300 / 14)


# ---------------------------------------------------------------------- durations


def bouts(modes, gaps=None, n_modes=None):
    return bouts_of(find_segments(modes, gaps), n_modes)


def test_bouts_by_hand():
    told = [(own.length.tolist(), own.cut.tolist(), own.exits, own.at_risk) for own in bouts(MODES, n_modes=4)]
    assert told == [([2], [], 2, 6), ([3], [], 2, 5), ([], [1, 2], 0, 1), ([], [], 0, 0)]
    # A gap after the fifth step: the bout that goes on there is cut, and has no known start after it.
    told = [(own.length.tolist(), own.cut.tolist(), own.exits, own.at_risk) for own in bouts(MODES, gaps=[[5], []])]
    assert told[1] == ([], [1], 2, 4)
    # Nor is it known what comes after an unlabelled step.
    told = [(own.length.tolist(), own.cut.tolist(), own.exits, own.at_risk) for own in bouts([[0, 1, 1, -1, 1, 0]])]
    assert told == [([], [1], 1, 1), ([], [2], 1, 2)]


def lasting(length, cut=()):
    at_risk = sum(length) + sum(cut) - len(cut)
    return Bouts(np.array(length, int), np.array(cut, int), len(length), at_risk)


def test_survival_by_hand():
    x, y = lasting([2, 2, 5]).survival()
    assert x.tolist() == [1.0, 2.0, 5.0, 5.0]
    np.testing.assert_allclose(y, [1, 1, 1 / 3, 0])
    # Of five at risk of ending at 2 two do; one is cut at 3, one at 5 (it may have ended there, or gone on).
    x, y = lasting([2, 2, 5], [3, 5]).survival()
    np.testing.assert_allclose(y, [1, 1, 3 / 5, 0])
    x, y = lasting([2], [4, 1]).survival()
    np.testing.assert_allclose((x, y), ([1, 2, 4], [1, 1, 0.5]))
    np.testing.assert_array_equal(lasting([], [4]).survival(), [[1, 4], [1, 1]])
    assert lasting([]).survival()[0].tolist() == []


def test_the_median_is_the_usual_one_where_nothing_is_cut():
    rng = np.random.default_rng(0)
    for n in range(1, 30):
        lengths = rng.integers(1, 9, n)
        assert lasting(lengths.tolist()).median == np.median(lengths)


@pytest.mark.parametrize(
    ("own", "median", "mean"),
    [
        (lasting([3, 5], [9]), "5 steps", "8 steps"),
        (lasting([3], [9, 10]), "longer than 9 steps", "20 steps"),
        (lasting([1]), "1 step", "1 step"),
        (lasting([], [1]), "", ""),
        (lasting([]), "", ""),
        # Never left in 16 steps: at a rate of 1 − 0.025^(1/16) it would not have been in one of 40 recordings.
        (lasting([], [9, 9]), "longer than 8 steps", f"longer than {1 / (1 - 0.025 ** (1 / 16)):.2f} steps"),
    ],
)
def test_durations_in_words(own, median, mean):
    assert (own.median_words, own.mean_words) == (median, mean)
    low, high = own.mean_interval()
    if own.exits:
        assert low <= own.mean <= high
    else:
        assert np.isnan(own.mean)
        assert high == np.inf or np.isnan(high)


def chains(rng, mean, n_sessions, n_steps):
    """Modes of sessions: two, each left with the same probability at every step."""
    leave = rng.random((n_sessions, n_steps)) < 1 / mean
    return list((rng.integers(2, size=(n_sessions, 1)) + np.cumsum(leave, axis=1)) % 2)


def clocks(rng, n_sessions, n_steps):
    """Modes of sessions that begin anywhere in a bout; a bout lasts 30 to 90 steps, each length alike."""
    paths = []
    for _ in range(n_sessions):
        lengths = rng.integers(30, 91, n_steps // 30 + 8)
        start = rng.integers(300)  # long after the first: in the middle of some bout
        paths.append((np.repeat(np.arange(len(lengths)) % 2, lengths))[start : start + n_steps])
    return paths


def test_cut_bouts_do_not_shorten_modes():
    own, _ = bouts(chains(np.random.default_rng(0), 100, 2000, 200))
    x, y = own.survival()
    truth = 0.99 ** (x - 1)
    assert np.abs(y - truth).max() < 0.03
    assert own.mean == pytest.approx(100, rel=0.03)
    assert own.median == pytest.approx(69, abs=6)
    whole = own.length
    assert (whole >= 100).mean() < 0.2  # of 0.37: without those that were cut
    assert np.median(whole) < 45


def test_modes_with_a_clock_come_out_as_they_are():
    own, _ = bouts(clocks(np.random.default_rng(0), 2000, 150))
    x, y = own.survival()
    truth = np.clip((91 - x) / 61, 0, 1)
    assert np.abs(y - truth).max() < 0.04
    assert own.mean == pytest.approx(60, rel=0.03)


# ---------------------------------------------------------------------- places


def test_visits_returns_and_occupancy_by_hand():
    states = [[9, 9, 1, 9, 1, 2, 9, 9], [9, 1], [1, 9]]
    np.testing.assert_allclose(behaviour.visit_rate(states, 9), [100 * 3 / 8, 50, 50])
    assert behaviour.return_intervals(states, 9).tolist() == [2, 3]  # none across sessions
    assert behaviour.return_intervals(states, [9, 2]).tolist() == [2, 2]
    assert behaviour.return_intervals(states, 4).tolist() == []
    np.testing.assert_allclose(behaviour.occupancy(states, 10)[[1, 2, 9]], [4 / 12, 1 / 12, 7 / 12])
    with pytest.raises(ValueError, match="n_states=9: states go up to 9"):
        behaviour.occupancy(states, 9)


def test_backtracking_by_hand():
    assert behaviour.backtracking_rate([[0, 1, 0, 1, 2], [3, 3, 3], [0, 1]]) == 2 / 4
    assert np.isnan(behaviour.backtracking_rate([[0, 1]]))


# ---------------------------------------------------------------------- runs


def test_distances_in_the_maze():
    away = behaviour.distances(labyrinth_env(), 0)
    assert away.tolist() == [int(np.log2(node + 1)) for node in range(127)]  # the levels of the tree
    both = behaviour.distances(labyrinth_env(), [0, 116])
    np.testing.assert_array_equal(both, np.minimum(away, behaviour.distances(labyrinth_env(), 116)))


def test_distances_go_with_the_arrows_and_say_where_there_is_no_way():
    one_way = MDP.deterministic([[1, 2], [1, -1], [0, -1]])  # 2 → 0 → 1, 0 → 2; from 1 there is no way out
    assert behaviour.distances(one_way, 2).tolist() == [1, -1, 0]
    with pytest.raises(ValueError, match="place=3: expected states from 0 to 2"):
        behaviour.distances(one_way, 3)


def test_runs_by_hand():
    path = [[4, 3, 2, 3, 2, 1, 0, 0, 1, 0, 1, 2]]
    expected = [0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    assert behaviour.runs_to(path, LINE, 0)[0].astype(int).tolist() == expected
    expected[8:10] = [1, 1]
    assert behaviour.runs_to(path, LINE, 0, least=1)[0].astype(int).tolist() == expected
    assert not behaviour.runs_to(path, LINE, 0, least=4)[0].any()
    without = behaviour.runs_to(path, LINE, 0, arrival=False)[0]
    assert without.astype(int).tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    cut = behaviour.runs_to(path, LINE, 0, least=2, gaps=[[4]])[0]
    assert cut.astype(int).tolist() == [0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0]


def test_a_jump_that_the_environment_rules_out_is_no_run():
    assert not behaviour.runs_to([[4, 2, 0]], LINE, 0, least=1)[0].any()
    assert behaviour.runs_to([[4, 2, 1, 0]], LINE, 0, least=1)[0].tolist() == [False, True, True, True]


def test_runs_against_a_plain_search_in_the_maze():
    env, walks = labyrinth_env(), random_walks()
    away = behaviour.distances(env, [3, 5])
    found = behaviour.runs_to(walks, env, [3, 5], least=2)
    assert np.concatenate(found).sum() > 20
    for path, flags in zip(walks, found, strict=True):
        expected = np.zeros(len(path), dtype=bool)
        for start in range(len(path)):
            for stop in range(start + 2, len(path)):
                if away[path[stop]] == 0 and all(np.diff(away[path[start : stop + 1]]) < 0):
                    expected[start : stop + 1] = True
        np.testing.assert_array_equal(flags, expected)


def test_a_step_of_two_runs_belongs_to_the_one_that_ends_first():
    # up to the water at 4 and home again: the arrival at 4 is the water's
    path = [[1, 2, 3, 4, 3, 2, 1, 0, 0]]
    labels = behaviour.run_labels(path, LINE, {"water": 4, "home": 0})
    assert labels[0].tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2]
    swapped = behaviour.run_labels(path, LINE, {"home": 0, "water": 4})
    assert swapped[0].tolist() == [1, 1, 1, 1, 0, 0, 0, 0, 2]
    without = behaviour.run_labels(path, LINE, {"water": 4, "home": 0}, arrival=False)
    assert without[0].tolist() == [0, 0, 0, 1, 1, 1, 1, 2, 2]
    # to 0 through 2: what leads to 2 is the run to 2, the rest the run to 0
    through = behaviour.run_labels([[4, 3, 2, 1, 0]], LINE, {"home": 0, "middle": 2}, least=2)
    assert through[0].tolist() == [1, 1, 1, 0, 0]


def test_agreement_with_runs_by_hand():
    runs = [[True, True, False, False], [True, False]]
    found = behaviour.agreement_with_runs([[0, 1, 0, 1], [0, -1]], runs, 0)
    assert found == pytest.approx({"precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3})
    never = behaviour.agreement_with_runs([[1, 1, 1, 1], [1, 1]], runs, 0)
    assert (never["recall"], never["f1"]) == (0, 0)
    assert np.isnan(never["precision"])


def test_agreement_with_labels_is_scikit_learns_and_blind_to_names():
    rng = np.random.default_rng(3)
    labels = [rng.integers(0, 3, 40), rng.integers(0, 3, 10)]
    modes = [np.where(rng.random(len(x)) < 0.6, x, rng.integers(0, 5, len(x))) for x in labels]
    told = behaviour.agreement_with_labels(modes, labels)
    flat = np.concatenate(labels), np.concatenate(modes)
    assert told["mutual_information"] == pytest.approx(mutual_info_score(*flat))
    assert told["normalised_mutual_information"] == pytest.approx(normalized_mutual_info_score(*flat))
    renamed = behaviour.agreement_with_labels([np.array([3, 1, 4, 0, 2])[path] for path in modes], labels)
    assert renamed == pytest.approx(told)
    same = behaviour.agreement_with_labels(labels, labels)
    assert (same["normalised_mutual_information"], same["adjusted_rand_index"]) == pytest.approx((1, 1))
    one = behaviour.agreement_with_labels([np.zeros_like(x) for x in labels], labels)
    assert list(one.values()) == pytest.approx([0, 0, 0])


def test_without_goals_the_summary_tells_of_segments_alone():
    told = segment_summary(MODES, STATES)
    assert not [name for name in told.columns if name.startswith(("ends_at", "visits"))]
    np.testing.assert_array_equal(told, segment_summary(MODES, STATES, GOALS)[told.columns])
