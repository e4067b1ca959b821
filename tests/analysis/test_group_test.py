"""Groups of animals: no more false alarms than asked for where nothing differs, and the animal is the unit."""

from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind, ttest_rel

from swirl.analysis.group_test import by_animal, compare_groups, group_test
from swirl.data.trajectories import Trajectories


def table_of(one, other, columns=("rest",), subjects=None):
    n = len(one), len(other)
    subjects = range(sum(n)) if subjects is None else subjects
    index = pd.MultiIndex.from_arrays([["a"] * n[0] + ["b"] * n[1], [f"m{i}" for i in subjects]])
    index.names = ["group", "subject"]
    return pd.DataFrame(np.concatenate([one, other]).reshape(sum(n), -1), index=index, columns=list(columns))


def simulated(rng, n_animals=5, n_sessions=5, n_steps=60, between=0.8, effect=0.0):
    """Sessions of animals that differ: a mouse is likelier to be in mode 1 the higher its own logit is."""
    modes, subjects, groups = [], [], []
    for group in range(2):
        for animal in range(n_animals):
            logit = rng.normal(scale=between) + effect * group
            share = 1 / (1 + np.exp(-logit - rng.normal(scale=0.3, size=n_sessions)))
            modes += [(rng.random(n_steps) < p).astype(int) for p in share]
            subjects += [f"{'ab'[group]}{animal}"] * n_sessions
            groups += [f"group {group}"] * n_sessions
    return Trajectories([np.zeros(n_steps, int)] * len(modes), subjects=subjects, groups=groups), modes


# ---- the numbers of animals


def test_numbers_of_animals_by_hand():
    data = Trajectories(
        [[0] * 4, [0] * 6, [0] * 4], subjects=["m1", "m1", "m2"], groups=["x", "x", "y"], gaps=[[], [4], []],
        signals={"dff": [[1.0, 1, 3, 3], [5, 5, 0, 0, 0, 0], [2.0, 2, 2, np.nan]]},
    )  # fmt: skip
    modes = [np.array([0, 1, 1, 0]), np.array([1, 1, 0, 0, 0, 0]), np.array([0, 0, 0, 1])]
    shares = by_animal(data, modes)
    assert shares.index.tolist() == [("x", "m1"), ("y", "m2")]
    np.testing.assert_allclose(shares.to_numpy(), [[0.6, 0.4], [0.75, 0.25]])
    # Starts that were seen: of mode 0 at steps 3 and (after 1, 1) 2; of mode 1 at step 1. A gap's far side is none.
    np.testing.assert_allclose(by_animal(data, modes, "bouts").to_numpy(), [[200, 100], [0, 250]])
    # Mode 0 is left at 1 of 3 steps by m1 and at 1 of 3 by m2, mode 1 at 2 of 4 by m1; to each half an exit is
    # added, at the rate of both. In mode 1 no step of m2 is followed by another.
    np.testing.assert_allclose(by_animal(data, modes, "leaving").to_numpy(), [[1 / 3, 2 / 4], [1 / 3, np.nan]])
    signal = by_animal(data, modes, "signal", signal="dff", mode_names=["home", "food"])
    assert signal.columns.tolist() == ["home", "food"]
    np.testing.assert_allclose(signal.to_numpy(), [[(1 + 3) / 6, (1 + 3 + 10) / 4], [2, np.nan]])


def test_an_animal_in_two_groups_has_two_rows():
    data = Trajectories([[0, 0]] * 2, subjects=["m1", "m1"], groups=["saline", "drug"])
    assert by_animal(data, [[0, 0], [0, 1]]).index.tolist() == [("drug", "m1"), ("saline", "m1")]


def test_faults_of_numbers_of_animals():
    data = Trajectories([[0, 0]] * 2, subjects=["m1", None])
    with pytest.raises(
        ValueError, match=r"(?s)measure='shares'.*groups: some.*subjects: some sessions have none, so it"
    ):
        by_animal(data, [[0, 0], [0, 1]], "shares")
    data = Trajectories([[0, 0]], subjects=["m1"], groups=["a"])
    with pytest.raises(ValueError, match="goes with measure='signal'"):
        by_animal(data, [[0, 0]], "share", signal="dff")
    with pytest.raises(ValueError, match="mode_names has 1 names, but there are 2 modes"):
        by_animal(data, [[0, 1]], mode_names=["one"])


# ---- how often a mode is left


def chains(rng, means, lengths, n_animals=6, n_sessions=4):
    """Two groups of animals; either mode of theirs is left with one probability at every step."""
    modes, who = [], []
    for group, (mean, n_steps) in enumerate(zip(means, lengths, strict=True)):
        for animal in range(n_animals):
            leave = rng.random((n_sessions, n_steps)) < 1 / mean
            modes += list((rng.integers(2, size=(n_sessions, 1)) + np.cumsum(leave, axis=1)) % 2)
            who += [(f"{group} {animal}", f"group {group}")] * n_sessions
    subjects, groups = zip(*who, strict=True)
    return Trajectories([np.zeros_like(path) for path in modes], subjects=subjects, groups=groups), modes


def test_short_sessions_do_not_make_modes_short():
    data, modes = chains(np.random.default_rng(0), (30, 30), (240, 60), n_animals=100, n_sessions=8)
    rates = by_animal(data, modes, "leaving").groupby("group").mean().to_numpy()
    np.testing.assert_allclose(rates, 1 / 30, rtol=0.08)


def test_animals_that_stay_longer_are_told_although_their_bouts_are_cut():
    found = compare_groups(
        by_animal(*chains(np.random.default_rng(0), (60, 120), (200, 200), n_sessions=20), "leaving")
    )
    assert (found.corrected_p_value <= 0.05).all()
    np.testing.assert_allclose(1 / found.means, [[60, 60], [120, 120]], rtol=0.2)


def test_an_animal_that_never_leaves_counts():
    subjects, groups = ["a", "b", "c", "d"], ["x", "x", "y", "y"]
    data = Trajectories([np.zeros(6, int)] * 4, subjects=subjects, groups=groups)
    modes = [[0, 0, 1, 1, 0, 0], [0, 1, 0, 1, 0, 1], [0] * 6, [0, 0, 0, 0, 0, 1]]
    rates = by_animal(data, modes, "leaving")
    # Left at 1 of 3, 3 of 3, 0 of 5 and 1 of 5 steps; all together at 5 of 16, so half an exit in 1.6.
    exits, at_risk = np.array([1, 3, 0, 1]), np.array([3, 3, 5, 5])
    np.testing.assert_allclose(rates["mode 0"], (exits + 0.5) / (at_risk + 1.6))
    found = compare_groups(rates[["mode 0"]])
    assert found.n_animals.tolist() == [[2], [2]]
    assert np.isfinite(found.difference).all()
    # In the other mode no step of c or d is followed by another: nothing is known, and that is said.
    with pytest.raises(ValueError, match="mode 1: x has 2 animals with a number, y 0"):
        compare_groups(rates)


def test_equal_steps_are_left_as_often_by_time_as_by_steps():
    data, modes = chains(np.random.default_rng(3), (10, 20), (60, 60))
    timed = Trajectories(data.states, subjects=data.subjects, groups=data.groups, times=[np.arange(60) / 4] * len(data))
    per_second = by_animal(timed, modes, "leaving_per_time")
    pd.testing.assert_frame_equal(per_second, 4 * by_animal(data, modes, "leaving"))


# ---- shares of the time


def visits(rng, n=12, timed=True):
    """Sessions of unequal steps with gaps, unlabelled steps and durations that are not known."""
    lengths = rng.integers(5, 40, size=n)
    gaps = [np.unique(rng.integers(1, length, size=2)) for length in lengths]
    dwell = [rng.exponential(size=length) for length in lengths]
    modes = [rng.integers(-1, 3, size=length) for length in lengths]
    known = [np.where(rng.random(len(own)) < 0.1, np.nan, own) for own in dwell]
    given = {"times": [np.cumsum(own) for own in dwell]} if timed else {"signals": {"dwell": known}}
    data = Trajectories(
        [np.zeros(length, int) for length in lengths], gaps=gaps, subjects=[f"m{i % 4}" for i in range(n)],
        groups=[f"g{i % 2}" for i in range(n)], **given,
    )  # fmt: skip
    return data, modes


def lasted_in_plain_words(data, session, step):
    """Seconds of a step, or None."""
    if data.signals is not None:
        took = data.signals["dwell"][session][step]
        return None if np.isnan(took) else took
    clock, cuts = data.times[session], data.gaps[session].tolist()
    return None if step + 1 in (len(clock), *cuts) else clock[step + 1] - clock[step]


@pytest.mark.parametrize("timed", [True, False])
def test_shares_of_the_time_by_a_plain_loop(timed):
    data, modes = visits(np.random.default_rng(6), timed=timed)
    found = by_animal(data, modes, "time")
    rates = by_animal(data, modes, "leaving_per_time")
    counted = {}
    for group, subject in found.index:
        seconds, left, at_risk = np.zeros(3), np.zeros(3), np.zeros(3)
        for i in range(len(data)):
            if (data.groups[i], data.subjects[i]) != (group, subject):
                continue
            for step, mode in enumerate(modes[i]):
                took = lasted_in_plain_words(data, i, step)
                if mode >= 0 and took is not None:
                    seconds[mode] += took
            for start, stop in data.segments(i):
                for step in range(start, stop - 1):
                    mode, following = modes[i][step : step + 2]
                    took = lasted_in_plain_words(data, i, step)
                    if mode >= 0 and took is not None and following >= 0:
                        at_risk[mode] += took
                        left[mode] += following != mode
        np.testing.assert_allclose(found.loc[group, subject], seconds / seconds.sum())
        counted[group, subject] = left, at_risk
    exits, time = (sum(one[i] for one in counted.values()) for i in (0, 1))
    for key, (left, at_risk) in counted.items():
        np.testing.assert_allclose(rates.loc[key], (left + 0.5) / (at_risk + 0.5 * time / exits))


def test_where_steps_last_equally_long_shares_of_time_and_of_steps_are_the_same():
    rng = np.random.default_rng(7)
    modes, animals = (
        [rng.integers(0, 2, size=25) for _ in range(6)],
        {"subjects": list("aabbcd"), "groups": list("xxxxyy")},
    )
    states = [np.zeros(25, int)] * 6
    for given in ({"times": [7 + np.arange(25) / 30] * 6}, {"signals": {"dwell": [np.full(25, 0.3)] * 6}}):
        data = Trajectories(states, gaps=[[9], [], [3, 4], [], [], []], **animals, **given)
        pd.testing.assert_frame_equal(by_animal(data, modes, "time"), by_animal(data, modes, "share"), check_exact=True)


def test_shares_of_the_time_need_durations():
    data = Trajectories([[0, 0]] * 2, subjects=["m1", "m2"], groups=["a", "b"])
    for measure in ("time", "leaving_per_time"):
        with pytest.raises(
            ValueError, match=rf"measure='{measure}': how long the steps lasted is not known; give times"
        ):
            by_animal(data, [[0, 0], [0, 1]], measure)
    # An animal without a known time has no share; the others have.
    data = Trajectories([[0, 0, 0], [0]], times=[[0.0, 1.0, 4.0], [0.0]], subjects=["m1", "m2"], groups=["a", "b"])
    np.testing.assert_allclose(by_animal(data, [[0, 1, 1], [0]], "time"), [[0.25, 0.75], [np.nan, np.nan]])


def resting(rng, rest, effect=0.0, n_animals=5, n_sessions=4, n_steps=60):
    """Sessions whose steps last 1 s, but in mode 1 `rest` times that in the second group; `effect` is of modes."""
    data, modes = simulated(rng, n_animals, n_sessions, n_steps, between=0.3, effect=effect)
    second = [group == "group 1" for group in data.groups]
    dwell = [
        rng.uniform(0.5, 1.5, size=n_steps) * np.where((path == 1) & late, rest, 1.0)
        for path, late in zip(modes, second, strict=True)
    ]
    timed = Trajectories(data.states, subjects=data.subjects, groups=data.groups, signals={"dwell": dwell})
    return timed, modes


def p_values(data, modes):
    return [float(compare_groups(by_animal(data, modes, measure)).p_value[1]) for measure in ("share", "time")]


def test_time_differs_where_steps_do_not_and_the_other_way_round():
    # Mode 1 is as frequent in both groups; its steps last four times as long in the second.
    steps, time = p_values(*resting(np.random.default_rng(8), rest=4.0))
    assert time < 0.05 < steps
    # Mode 1 is more frequent in the second group, and its steps shorter by as much: half of the time in both.
    share = {"group 0": 1 / 2, "group 1": 3 / 4}
    data, _ = simulated(rng := np.random.default_rng(9))
    modes = [(rng.random(60) < share[group]).astype(int) for group in data.groups]
    dwell = [
        np.where((path == 1) & (group == "group 1"), 1 / 3, 1.0) for path, group in zip(modes, data.groups, strict=True)
    ]
    data = Trajectories(data.states, subjects=data.subjects, groups=data.groups, signals={"dwell": dwell})
    steps, time = p_values(data, modes)
    assert steps < 0.05 < time


@pytest.mark.slow
def test_false_alarms_of_shares_of_the_time_are_as_rare_as_asked_for():
    rng, n = np.random.default_rng(10), 300
    nothing = np.array([p_values(*resting(rng, rest=1.0)) for _ in range(n)]) <= 0.05
    assert (nothing.mean(axis=0) <= 0.085).all()  # 5 % and three standard errors
    assert (nothing.mean(axis=0) >= 0.015).all()
    # Groups that differ in how long they rest, not in their modes: no alarm of steps beyond 5 %, but of the time.
    rested = np.array([p_values(*resting(rng, rest=3.0)) for _ in range(60)]) <= 0.05
    assert rested[:, 0].mean() <= 0.14
    assert rested[:, 1].mean() >= 0.9
    # Rests of both groups that are alike are none of an effect, however long they are.
    both = 0
    for _ in range(n):
        data, modes = simulated(rng, between=0.3)
        dwell = [np.where(path == 1, rng.exponential(8.0, size=len(path)), 1.0) for path in modes]
        data = Trajectories(data.states, subjects=data.subjects, groups=data.groups, signals={"dwell": dwell})
        both += compare_groups(by_animal(data, modes, "time")).p_value[1] <= 0.05
    assert 0.015 <= both / n <= 0.085


# ---- the test


def test_every_way_to_deal_the_labels_by_a_plain_loop():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(9, 2)) + np.array([[0.0, 1.0]]) * (np.arange(9) >= 4)[:, None]
    found = compare_groups(table_of(values[:4], values[4:], columns=("x", "y")))
    t = []
    for own in combinations(range(9), 5):
        rest = [i for i in range(9) if i not in own]
        t.append(np.abs(ttest_ind(values[list(own)], values[rest], equal_var=False).statistic))
    real = np.abs(ttest_ind(values[4:], values[:4], equal_var=False).statistic)
    np.testing.assert_allclose(found.p_value, (np.array(t) >= real - 1e-9).mean(axis=0))
    assert (found.exact, found.n_ways, found.least_p_value) == (True, 126, 1 / 126)
    welch = ttest_ind(values[4:], values[:4], equal_var=False).confidence_interval()
    np.testing.assert_allclose([found.low, found.high], welch)
    # The test that strays most: how often any strays as far.
    most = int(np.argmax(real))
    assert found.corrected_p_value[most] == pytest.approx((np.max(t, axis=1) >= real[most] - 1e-9).mean())
    assert (found.corrected_p_value >= found.p_value - 1e-12).all()
    np.testing.assert_allclose(found.means, [values[:4].mean(axis=0), values[4:].mean(axis=0)])


def test_animals_in_both_groups_are_compared_with_themselves():
    rng = np.random.default_rng(1)
    one = rng.normal(scale=3, size=7)
    other = one + rng.normal(0.8, 0.5, size=7)
    shuffled = rng.permutation(7)
    index = pd.MultiIndex.from_arrays([["a"] * 7 + ["b"] * 7, [*range(7), *shuffled]], names=["group", "subject"])
    found = compare_groups(pd.Series([*one, *other[shuffled]], index=index, name="rest"))
    assert (found.paired, found.exact, found.n_ways, found.least_p_value) == (True, True, 128, 2 / 128)
    t = []
    apart = other - one
    for swap in product([1, -1], repeat=7):
        d = apart * swap
        t.append(abs(d.mean() / (d.std(ddof=1) / np.sqrt(7))))
    real = abs(ttest_rel(other, one).statistic)
    assert found.p_value[0] == pytest.approx((np.array(t) >= real - 1e-9).mean())
    np.testing.assert_allclose([found.low[0], found.high[0]], ttest_rel(other, one).confidence_interval())
    with pytest.raises(ValueError, match="animals m0 are in both groups, m1, m2 in one only"):
        compare_groups(table_of([1.0, 2.0], [1.0, 2.0], subjects=[0, 1, 0, 2]))


def test_many_animals_are_sampled_and_agree_with_students_test():
    rng = np.random.default_rng(2)
    one, other = rng.normal(size=25), rng.normal(0.6, 1, size=20)
    found = compare_groups(table_of(one, other), n_permutations=4999)
    assert (found.exact, found.n_ways) == (False, 5000)
    assert found.p_value[0] == pytest.approx(ttest_ind(one, other, equal_var=False).pvalue, abs=0.012)
    assert compare_groups(table_of(one, other), n_permutations=4999).p_value == found.p_value  # the seed is fixed


@pytest.mark.slow
def test_without_an_effect_false_alarms_are_as_rare_as_asked_for_and_sessions_as_units_are_not():
    rng, n, animals, sessions = np.random.default_rng(3), 400, 0, 0
    covered = 0
    for _ in range(n):
        data, modes = simulated(rng)
        found = compare_groups(by_animal(data, modes))
        animals += found.p_value[1] <= 0.05
        covered += found.low[1] <= 0 <= found.high[1]
        share, groups = np.array([path.mean() for path in modes]), np.array(data.groups)
        sessions += ttest_ind(share[groups == "group 0"], share[groups == "group 1"]).pvalue <= 0.05
    # 5 % of 400 is 20, ± 4.4; 12 of 252 ways (4.8 %) can be below.
    assert 7 <= animals <= 33
    assert 0.92 <= covered / n <= 0.985
    assert sessions > 2.5 * 0.05 * n  # pseudoreplication


@pytest.mark.slow
def test_an_effect_is_found():
    rng = np.random.default_rng(4)
    found = [compare_groups(by_animal(*simulated(rng, between=0.3, effect=1.2))) for _ in range(60)]
    assert np.mean([each.p_value[1] <= 0.05 for each in found]) > 0.8
    assert all(each.difference[1] > 0 for each in found if each.p_value[1] <= 0.05)


@pytest.mark.slow
def test_false_alarms_of_several_tests_are_corrected_together():
    rng, n = np.random.default_rng(5), 300
    family = [compare_groups(table_of(rng.normal(size=(5, 6)), rng.normal(size=(5, 6)), "abcdef")) for _ in range(n)]
    assert np.mean([(each.p_value <= 0.05).any() for each in family]) > 0.15
    assert np.mean([(each.corrected_p_value <= 0.05).any() for each in family]) <= 0.085
    # Shares of two modes are one number told twice: nothing is lost by testing both.
    share = rng.normal(size=10)
    twice = compare_groups(table_of(np.c_[share, -share][:5], np.c_[share, -share][5:], "xy"))
    np.testing.assert_allclose(twice.corrected_p_value, twice.p_value)


def test_missing_numbers_and_numbers_without_spread():
    one, other = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 4.0]]), np.array([[4.0, 7.0], [5.0, 8.0], [6.0, 9.0]])
    found = compare_groups(table_of(one, other, "xy"))
    assert found.n_animals.tolist() == [[3, 2], [3, 3]]
    assert found.means[0].tolist() == [2.0, 4.5]
    same = compare_groups(table_of([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]))
    assert (same.p_value[0], same.difference[0]) == (1.0, 0.0)
    apart = compare_groups(table_of([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]))
    assert apart.p_value[0] == pytest.approx(0.1)
    assert "So few animals cannot give a p-value below 0.1" in str(apart)


@pytest.mark.parametrize(
    ("table", "options", "told"),
    [
        (pd.DataFrame({"x": [1.0]}), {}, "expected a DataFrame indexed by group and subject"),
        (table_of([1.0, 2.0], [3.0], subjects=[0, 0, 1]), {}, r"several rows of m0 \(a\): the unit is the animal"),
        (table_of([1.0], [3.0, 4.0]), {}, "a has 1 animals with a number, b 2: at least 2 in each"),
        (table_of([1.0, 2.0], [3.0, 4.0]), {"groups": ("a", "c")}, r"groups=\('a', 'c'\): expected two of a, b"),
        (table_of([1.0, 2.0], [3.0, 4.0]), {"level": 95}, "level=95: expected a share"),
        (table_of([1.0, 2.0], [3.0, 4.0]), {"n_permutations": 5}, "expected 19 or more"),
        (table_of(["u", "v"], ["w", "z"]), {}, "do not hold numbers"),
    ],
)
def test_faults_of_a_comparison(table, options, told):
    with pytest.raises(ValueError, match=told):
        compare_groups(table, **options)


def test_of_three_groups_two_are_named():
    table = pd.concat([table_of([1.0, 2.0], [3.0, 4.0]), table_of([5.0, 6.0], [], subjects=[7, 8]).rename({"a": "c"})])
    with pytest.raises(ValueError, match="the table has a, b, c: say which two to compare"):
        compare_groups(table)
    found = compare_groups(table, ("c", "a"))
    assert (found.groups, found.difference[0]) == (("c", "a"), -4.0)
    assert found.table().columns.tolist()[:3] == ["mean c", "mean a", "difference"]


# ---------------------------------------------------------------------- several groups


def explained(values, labels):
    """Explained variance of one measure, the plain way."""
    total = sum((value - values.mean()) ** 2 for value in values)
    between = sum((labels == g).sum() * (values[labels == g].mean() - values.mean()) ** 2 for g in np.unique(labels))
    return between / total


def test_all_ways_to_divide_the_animals_are_counted():
    rng = np.random.default_rng(0)
    values, labels = rng.normal(size=(6, 2)), np.array([0, 1, 0, 1, 1, 0])
    found = group_test(values, labels.tolist())
    assert (found.exact, found.n_shuffles, found.counts.tolist()) == (True, 20, [3, 3])
    for measure, p in enumerate(found.p_value):
        ways = [explained(values[:, measure], np.array(way)) for way in permutations(labels)]
        assert p == pytest.approx(np.mean(np.array(ways) >= explained(values[:, measure], labels) - 1e-9))
    assert (found.corrected >= found.p_value - 1e-12).all()
    np.testing.assert_allclose(found.mean[1], values[labels == 1].mean(axis=0))


def test_several_groups_are_shuffled_at_random_and_repeatably():
    values = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2], [2.0], [2.1], [2.2]])
    found = group_test(values, list("aaabbbccc"))
    assert not found.exact
    # 9! / 3!³ = 1,680 ways, of which six (the names of the groups) lie as far apart.
    assert found.p_value[0] == pytest.approx(6 / 1680, abs=2e-3)
    assert found.p_value[0] == group_test(values, list("aaabbbccc")).p_value[0]


def test_where_nothing_differs_five_in_a_hundred_are_called_different():
    rng = np.random.default_rng(1)
    small = [group_test(rng.normal(size=(10, 3)), list("aaaaabbbbb")).corrected.min() <= 0.05 for _ in range(300)]
    assert 0.01 < np.mean(small) < 0.085  # of 300: three standard errors


def test_few_animals_and_a_measure_that_is_the_same_for_all():
    found = group_test(np.array([[0.0, 1.0], [0.1, 1.0], [1.0, 1.0], [1.1, 1.0]]), list("aabb"))
    assert found.least == pytest.approx(2 / 6)
    assert found.p_value.tolist() == [pytest.approx(2 / 6), 1.0]


@pytest.mark.parametrize(
    ("values", "groups", "words"),
    [
        (np.zeros(4), list("aabb"), "expected \\(animals, measures\\)"),
        (np.zeros((4, 1)), list("aaaa"), "expected two groups or more"),
        (np.zeros((2, 1)), list("ab"), "three animals or more"),
        (np.full((4, 1), np.nan), list("aabb"), "some are not finite"),
    ],
)
def test_what_cannot_be_tested_is_refused(values, groups, words):
    with pytest.raises(ValueError, match=words):
        group_test(values, groups)
