"""A signal beside the modes: averages by hand and by a plain loop, windows that stop at gaps, a null that holds."""

import numpy as np
import pytest

from swirl.analysis import triggered_average as windows
from swirl.analysis.mode_signal import Window, check_window, read_window, signal_by_mode
from swirl.analysis.triggered_average import (
    BLOCK,
    Visits,
    exchanged_means,
    mode_triggered_average,
    without_places,
)
from swirl.data.trajectories import Trajectories

NAN = np.nan


def sessions(modes, signal, **more):
    return Trajectories([np.zeros(len(path), int) for path in modes], signals={"dopamine": signal}, **more)


def random_sessions(seed, n=6, length=80, channels=None, **more):
    """Modes in runs, a smooth signal that knows nothing of them, and gaps."""
    rng = np.random.default_rng(seed)
    modes = [np.repeat(rng.integers(0, 3, length), rng.integers(1, 9, length))[:length] for _ in range(n)]
    noise = rng.normal(size=(n, length + 4, channels or 1))
    smooth = list(sum(noise[:, i : length + i] for i in range(5)))
    signal = smooth if channels else [part[:, 0] for part in smooth]
    gaps = [np.sort(rng.choice(np.arange(1, length), 2, replace=False)) for _ in range(n)]
    return modes, sessions(modes, signal, gaps=gaps, **more)


# ---- means in each mode


def test_means_by_hand():
    modes = [[0, 0, 1, -1], [0, 1, 1]]
    data = sessions(modes, [[1.0, 3.0, 7.0, 100.0], [4.0, NAN, 9.0]])
    found = signal_by_mode(data, modes, "dopamine", n_modes=3)
    np.testing.assert_allclose(found.unit_means[:, :, 0], [[2, 7, NAN], [4, 9, NAN]])
    np.testing.assert_allclose(found.mean[:, 0], [3, 8, NAN])
    np.testing.assert_allclose(found.sem[:, 0], [1, 1, NAN])
    assert found.n_steps[:, 0].tolist() == [3, 2, 0]
    assert found.n_units[:, 0].tolist() == [2, 2, 0]
    assert found.over == "session"
    assert found.table().columns.tolist() == ["mode", "mean", "sem", "n_sessions", "n_steps"]


def test_subjects_are_the_unit_where_several_are_known():
    modes = [[0, 0], [0], [0]]
    data = sessions(modes, [[1.0, 1.0], [4.0], [8.0]], subjects=["m1", "m1", "m2"])
    found = signal_by_mode(data, modes, "dopamine")
    assert found.units == ("m1", "m2")
    np.testing.assert_allclose(found.unit_means[:, 0, 0], [2.0, 8.0])  # the steps of both of m1's sessions together
    assert found.table()["n_subjects"].tolist() == [2]
    assert signal_by_mode(data, modes, "dopamine", over="session").mean[0, 0] == pytest.approx((1 + 4 + 8) / 3)
    alone = sessions(modes, [[1.0, 1.0], [4.0], [8.0]], subjects=["m1"] * 3)
    assert signal_by_mode(alone, modes, "dopamine").over == "session"


def test_channels_keep_apart():
    modes, data = random_sessions(0, channels=3)
    found = signal_by_mode(data, modes, "dopamine")
    average = mode_triggered_average(data, modes, "dopamine", n_shifts=3)
    for channel in range(3):
        one = [part[:, channel] for part in data.signals["dopamine"]]
        np.testing.assert_allclose(found.mean[:, channel], signal_by_mode(data, modes, one).mean[:, 0])
        alone = mode_triggered_average(data, modes, one, n_shifts=3)
        np.testing.assert_allclose(average.mean[..., channel], alone.mean[..., 0])
        np.testing.assert_allclose(average.null[..., channel], alone.null[..., 0])
    assert sorted(set(average.table()["channel"])) == [0, 1, 2]
    assert "channel" in found.table()


# ---- averages around starts and ends


def test_a_signal_of_ones_at_the_starts_averages_to_one_at_lag_zero():
    modes = [np.repeat([0, 1, 0, 1], 10), np.repeat([1, 0], 20)]
    signal = [np.zeros(40), np.zeros(40)]
    for path, values in zip(modes, signal, strict=True):
        values[1 + np.flatnonzero(np.diff(path))] = 1.0
    data = sessions(modes, signal)
    found = mode_triggered_average(data, modes, "dopamine", before=5, after=5, n_shifts=0)
    assert found.lags.tolist() == list(range(-5, 6))
    np.testing.assert_array_equal(found.mean[:, :, 0], np.tile(np.arange(-5, 6) == 0, (2, 1)).astype(float))
    assert found.n_events.tolist() == [2, 2]
    np.testing.assert_array_equal(found.sem[0, :, 0], 0.0)  # mode 0 starts in both sessions
    assert np.isnan(found.sem[1]).all()  # mode 1 starts in one
    ends = mode_triggered_average(data, modes, "dopamine", before=5, after=5, onset=False, n_shifts=0)
    np.testing.assert_array_equal(ends.mean[:, 5, 0], 1.0)  # a mode ends where the next one starts
    assert ends.n_events.tolist() == [2, 2]
    assert np.isnan(found.p_value).all()
    assert np.isnan(found.table()["null_low"]).all()


def by_loop(data, modes, mode, before, after, onset=True):
    """The plain loop: mean over sessions of the mean over events."""
    means = []
    for i, path in enumerate(modes):
        windows = []
        for low, high in data.segments(i):
            for t in range(low + 1, high):
                this, other = (path[t], path[t - 1]) if onset else (path[t - 1], path[t])
                if this == mode and other != mode and other >= 0:
                    steps = range(t - before, t + after + 1)
                    windows.append([data.signals["dopamine"][i][s] if low <= s < high else NAN for s in steps])
        if windows:
            stack = np.array(windows)
            n = np.isfinite(stack).sum(axis=0)
            means.append(np.where(n > 0, np.nansum(stack, axis=0) / np.maximum(n, 1), NAN))
    stack = np.array(means)
    n = np.isfinite(stack).sum(axis=0)
    return np.where(n > 0, np.nansum(stack, axis=0) / np.maximum(n, 1), NAN), n


@pytest.mark.parametrize("onset", [True, False])
def test_the_average_is_the_plain_loop_and_windows_stop_at_gaps(onset):
    modes, data = random_sessions(1)
    modes[0] = np.where(np.arange(80) % 17 == 0, -1, modes[0])
    signal = [np.where(np.arange(80) % 13 == 5, NAN, part) for part in data.signals["dopamine"]]
    data = sessions(modes, signal, gaps=data.gaps)
    found = mode_triggered_average(data, modes, "dopamine", before=7, after=9, onset=onset, n_shifts=0)
    for mode in range(3):
        expected, n = by_loop(data, modes, mode, 7, 9, onset)
        np.testing.assert_allclose(found.mean[mode, :, 0], expected)
        np.testing.assert_array_equal(found.n_units[mode, :, 0], n)
        one = mode_triggered_average(data, modes, "dopamine", before=7, after=9, onset=onset, mode=mode, n_shifts=0)
        np.testing.assert_array_equal(one.mean[0], found.mean[mode])
        assert one.modes == (mode,)


def test_a_start_that_was_not_seen_is_no_start():
    modes = [[0, 0, 0, 0, -1, 0, 1, 1]]
    data = sessions(modes, [np.arange(8.0)], gaps=[[2]])
    found = mode_triggered_average(data, modes, "dopamine", before=3, after=3, n_shifts=0)
    assert found.n_events.tolist() == [0, 1]
    np.testing.assert_array_equal(found.mean[1, :, 0], [3, 4, 5, 6, 7, NAN, NAN])
    assert np.isnan(found.mean[0]).all()


def test_bins_of_time():
    modes = [[0, 0, 1, 1, 1]]
    data = sessions(modes, [[1.0, 2.0, 4.0, 8.0, 16.0]], times=[[0.0, 1.9, 2.0, 2.3, 3.4]])
    found = mode_triggered_average(data, modes, "dopamine", before=2, after=1, bin=1.0, mode=1, n_shifts=0)
    assert found.lags.tolist() == [-2.0, -1.0, 0.0, 1.0]
    # Bin 0 reaches from 1.5 to 2.5: the steps at 1.9, 2.0 and 2.3.
    np.testing.assert_allclose(found.mean[0, :, 0], [1.0, NAN, 14 / 3, 16.0])
    assert found.seconds


def test_regular_bins_are_steps():
    modes, data = random_sessions(2)
    timed = sessions(modes, data.signals["dopamine"], gaps=data.gaps, times=[100 + 0.1 * np.arange(80)] * 6)
    steps = mode_triggered_average(data, modes, "dopamine", before=4, after=6, n_shifts=4)
    times = mode_triggered_average(timed, modes, "dopamine", before=0.4, after=0.6, bin=0.1, n_shifts=4)
    np.testing.assert_allclose(times.mean, steps.mean)
    np.testing.assert_allclose(times.null, steps.null)
    np.testing.assert_allclose(times.lags, 0.1 * steps.lags)


def stays(seed, n=6):
    """Sessions in ticks of a second, and the same with each stay of 1 to 9 s as one step, its signal the mean of it."""
    rng = np.random.default_rng(seed)
    lasted = [rng.integers(1, 10, size=30) for _ in range(n)]
    modes = [rng.integers(0, 3, size=30) for _ in range(n)]
    signal = [rng.normal(size=30) + path for path in modes]
    merged = {"dopamine": signal, "dwell": [own.astype(float) for own in lasted]}
    data = Trajectories(
        [np.arange(30) % 2 for _ in range(n)], gaps=[[12], *[[]] * (n - 1)], signals=merged,
        times=[np.cumsum(own) - own + 0.0 for own in lasted],
    )  # fmt: skip
    ticks = Trajectories(
        [np.repeat(path, own) for path, own in zip(data.states, lasted, strict=True)],
        gaps=[[int(lasted[0][:12].sum())], *[[]] * (n - 1)],
        signals={"dopamine": [np.repeat(values, own) for values, own in zip(signal, lasted, strict=True)]},
    )
    return data, modes, ticks, [np.repeat(path, own) for path, own in zip(modes, lasted, strict=True)]


@pytest.mark.parametrize("onset", [True, False])
def test_a_stay_counts_for_as_long_as_it_lasts(onset):
    data, modes, ticks, of_ticks = stays(7)
    options = {"before": 12, "after": 15, "onset": onset, "n_shifts": 0}
    by_time = mode_triggered_average(data, modes, "dopamine", bin=1.0, **options)
    by_tick = mode_triggered_average(ticks, of_ticks, "dopamine", **options)
    np.testing.assert_allclose(by_time.mean, by_tick.mean)
    np.testing.assert_array_equal(by_time.n_events, by_tick.n_events)
    # Where no signal says how long steps lasted, a step counts when it begins only.
    began = Trajectories(data.states, gaps=data.gaps, times=data.times, signals={"dopamine": data.signals["dopamine"]})
    assert not np.allclose(mode_triggered_average(began, modes, "dopamine", bin=1.0, **options).mean, by_tick.mean)


def test_stays_of_one_length_in_seconds_are_steps_and_have_the_same_p_value():
    modes, data = random_sessions(2)
    given = {"dopamine": data.signals["dopamine"], "dwell": [np.full(80, 0.1)] * 6}
    timed = Trajectories(data.states, gaps=data.gaps, times=[100 + 0.1 * np.arange(80)] * 6, signals=given)
    steps = mode_triggered_average(data, modes, "dopamine", before=4, after=6, n_shifts=19)
    times = mode_triggered_average(timed, modes, "dopamine", before=0.4, after=0.6, bin=0.1, n_shifts=19)
    np.testing.assert_allclose(times.mean, steps.mean)
    np.testing.assert_allclose(times.null, steps.null)
    np.testing.assert_array_equal(times.p_value, steps.p_value)


@pytest.mark.slow
@pytest.mark.parametrize("rest", [0.0, -2.0])
def test_p_values_of_lags_in_time_hold_their_level(rest):
    """Also where the signal is lower in long stays: these fill more bins, so its course is not flat around any step."""
    small = []
    for seed in range(150):
        data, modes, _, _ = stays(seed, n=4)
        rng = np.random.default_rng(1000 + seed)
        noise = [
            rng.normal(size=30) + rest * (own > 4) for own in data.signals["dwell"]
        ]  # nothing to do with the modes
        small.append(
            mode_triggered_average(data, modes, noise, before=10, after=10, bin=1.0, mode=1, n_shifts=39).p_value[0, 0]
        )
    assert 0.0 < np.mean(np.array(small) <= 0.05) <= 0.105  # 5 % and three standard errors


def test_the_null_of_lags_in_time_shifts_how_long_steps_last_with_the_signal():
    data, modes, _, _ = stays(3)
    low = [-1.0 * own for own in data.signals["dwell"]]  # the longer, the lower
    found = mode_triggered_average(data, modes, low, before=0, after=8, bin=1.0, n_shifts=19)
    course = found.null.mean(axis=(0, 1))[:, 0]
    assert course[0] - course[8] > 0.5  # at lag 0 each start counts once, later the long stays count more often
    assert np.abs(course - found.mean.mean(axis=0)[:, 0]).max() < 1.0
    rng = np.random.default_rng(0)  # a plain loop: values, stays and the times between steps in a circle
    for null in found.null[:3]:
        by = [rng.integers(1, 30) for _ in modes]
        taken = [np.roll(np.append(np.diff(clock), own[-1]), r) for clock, own, r in
                 zip(data.times, data.signals["dwell"], by, strict=True)]  # fmt: skip
        taken[0] = np.roll(data.signals["dwell"][0], by[0])  # the session with a gap: a stay ends when it does
        rolled = Trajectories(
            data.states, gaps=data.gaps, times=[np.cumsum(own) - own for own in taken],
            signals={"dwell": [np.roll(own, r) for own, r in zip(data.signals["dwell"], by, strict=True)]},
        )  # fmt: skip
        signal = [np.roll(own, r) for own, r in zip(low, by, strict=True)]
        again = mode_triggered_average(rolled, modes, signal, before=0, after=8, bin=1.0, n_shifts=0)
        np.testing.assert_allclose(null, again.mean)


def test_the_window_of_figures_is_read_and_what_is_wrong_with_it_told():
    data = sessions([[0, 1, 1]], [[1.0, 2.0, 3.0]], times=[[0.0, 1.0, 2.0]])
    assert read_window(data, None) == read_window(data, "dopamine") == Window(10, 20, None)
    assert read_window(data, "dopamine", [2, 3]) == Window(2, 3, None)
    assert read_window(data, "dopamine", (0.5, 3), 0.25) == Window(0.5, 3, 0.25)
    assert read_window(data, "dopamine", bin=0.5) == Window(5.0, 10.0, 0.5)
    assert read_window(data, "dopamine", (0.3, 0.7), 0.1) == Window(0.3, 0.7, 0.1)  # 0.3 / 0.1 is 2.9999999999999996
    assert read_window(data, "dopamine", (1 / 3, 1), 1 / 30).after == 1
    untimed = sessions([[0, 1, 1]], [[1.0, 2.0, 3.0]])
    for where, arguments, told in (
        (data, (None, None, 0.5), r"go with signal \(--signal NAME\)"),
        (data, ("dopamine", 5), r"signal_window=5 \(--signal-window\): expected two numbers"),
        (data, ("dopamine", (5, -1)), "expected two numbers, at least 0"),
        (data, ("dopamine", (5, 1.5)), "expected whole numbers of steps; for time give"),
        (data, ("dopamine", (None, 5)), r"signal_window=\(None, 5\) \(--signal-window\): expected two numbers"),
        (data, ("dopamine", ("a", "b"), 0.5), "expected two numbers, at least 0"),
        (data, ("dopamine", None, "a"), r"signal_bin='a' \(--signal-bin\): expected a width above 0"),
        # Rounded to bins it would be 0 before, and 40 after.
        (data, ("dopamine", (5, 30), 20), "expected whole numbers of bins of 20; 20 and 40 would do"),
        (data, ("dopamine", (0.5, 3.1), 0.25), "expected whole numbers of bins of 0.25; 0.5 and 3.25 would do"),
        (data, ("dopamine", None, -0.5), r"signal_bin=-0.5 \(--signal-bin\): expected a width above 0"),
        (untimed, ("dopamine", None, 0.5), "the data have no times, so lags can only be steps"),
    ):
        with pytest.raises(ValueError, match=told):
            read_window(where, *arguments)
    with pytest.raises(ValueError, match="before=None: expected a time") as fault:
        check_window(data, None, "a", "b", 0)
    for argument in ("after='a': expected a time", "bin='b': expected a width above 0"):
        assert argument in str(fault.value)


# ---- the null


def test_shifts_stay_within_sessions():
    modes, data = random_sessions(3)
    flat = sessions(modes, [np.full(80, float(i)) for i in range(6)], gaps=data.gaps)
    found = mode_triggered_average(flat, modes, "dopamine", n_shifts=5)
    for null in found.null:
        np.testing.assert_allclose(null, found.mean)
    assert (found.p_value == 1).all()


def test_the_null_is_the_average_of_rolled_signals():
    modes, data = random_sessions(4)
    found = mode_triggered_average(data, modes, "dopamine", n_shifts=2, random_state=5)
    rng = np.random.default_rng(5)
    for null in found.null:
        rolled = [np.roll(part, rng.integers(1, 80)) for part in data.signals["dopamine"]]
        np.testing.assert_allclose(null, mode_triggered_average(data, modes, rolled, n_shifts=0).mean)


def test_the_null_does_not_depend_on_how_many_shifts_are_made_at_once(monkeypatch):
    modes, data = random_sessions(5)
    found = mode_triggered_average(data, modes, "dopamine", n_shifts=7)
    monkeypatch.setattr(windows, "AT_ONCE", 1)
    np.testing.assert_allclose(mode_triggered_average(data, modes, "dopamine", n_shifts=7).null, found.null)


def test_the_band_covers_noise_and_p_values_hold_their_level():
    outside, p_values = [], []
    for seed in range(12):
        modes, data = random_sessions(seed, n=8, length=200)
        found = mode_triggered_average(data, modes, "dopamine", n_shifts=99)
        low, high = found.band(0.9)
        outside.append((found.mean < low) | (found.mean > high))
        p_values.append(found.p_value.ravel())
    assert 0.03 < np.mean(outside) < 0.2
    assert np.mean(np.array(p_values) <= 0.1) < 0.25
    assert np.min(p_values) >= 0.01


def test_a_signal_at_the_starts_stands_out():
    modes, data = random_sessions(6, n=8, length=200)
    signal = [part + 3.0 * ((path == 1) & (np.roll(path, 1) != 1)) for part, path in
              zip(data.signals["dopamine"], modes, strict=True)]  # fmt: skip
    found = mode_triggered_average(data, modes, signal, n_shifts=99)
    low, high = found.band()
    assert found.mean[1, 10, 0] > high[1, 10, 0]
    assert (low <= high).all()
    assert found.p_value[1, 0] == 0.01
    table = found.table()
    assert len(table) == 3 * 31
    assert table.columns.tolist() == [
        "mode", "lag", "mean", "sem", "n_sessions", "n_events", "null_low", "null_high", "p_value", "corrected_p_value",
        "place_p_value", "corrected_place_p_value", "n_exchanged", "tests", "meaning",
    ]  # fmt: skip
    assert found.corrected_p_value[1, 0] == 0.01
    assert (found.corrected_p_value >= found.p_value).all()
    assert (table["tests"] == 3).all()
    np.testing.assert_array_equal(table["corrected_p_value"], np.repeat(found.corrected_p_value[:, 0], 31))


def test_corrected_p_values_are_of_all_modes_and_channels_together():
    alarms = []
    for seed in range(40):
        modes, data = random_sessions(seed, n=6, length=80)
        rng = np.random.default_rng(seed)
        signal = [rng.normal(size=(80, 4)) for _ in modes]
        found = mode_triggered_average(data, modes, signal, before=3, after=3, n_shifts=39, random_state=seed)
        assert found.n_tests == 12
        assert (found.corrected_p_value >= found.p_value).all()
        alarms.append([(p <= 0.05).any() for p in (found.p_value, found.corrected_p_value)])
    single, corrected = np.mean(alarms, axis=0)
    assert single > 0.25
    assert corrected <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 40)
    without = mode_triggered_average(data, modes, signal, n_shifts=0)
    assert np.isnan(without.corrected_p_value).all()


# ---- the place, or the mode?


def walks(seed, *, place=0.0, mode=0.0, n=6, length=600):
    """An animal among eight places; mode 1 begins at place 3 alone, at four visits in ten; and a noisy signal."""
    rng = np.random.default_rng(seed)
    states, modes, signal = [], [], []
    for _ in range(n):
        path = np.cumsum(rng.choice([-1, 0, 1], size=length)) % 8
        on = np.zeros(length, dtype=int)
        for t in range(1, length):
            on[t] = rng.random() > 0.1 if on[t - 1] else path[t] == 3 and rng.random() < 0.4
        states, modes = [*states, path], [*modes, on]
        signal.append(rng.normal(size=length) + place * (path == 3) + mode * on)
    return Trajectories(states, signals={"dff": signal}), modes


@pytest.mark.parametrize(
    ("place", "mode", "small", "meaning"),
    [
        (0, 0, (False, False), "No tie to the starts of the mode was found"),
        (1, 0, (True, False), "Differs where the mode starts, but not from other visits to the same places: it may be "
                              "the place"),
        (0, 1, (True, True), "Differs where the mode starts, beyond other visits to the same places"),
        (1, 1, (True, True), "Differs where the mode starts, beyond other visits to the same places"),
    ],
)  # fmt: skip
def test_a_place_and_a_mode_are_told_apart(place, mode, small, meaning):
    data, modes = walks(1, place=place, mode=mode)
    found = mode_triggered_average(data, modes, "dff", mode=1, n_shifts=99)
    assert (found.p_value[0, 0] <= 0.05, found.place_p_value[0, 0] <= 0.05) == small
    assert found.meaning(1) == meaning
    assert set(found.table()["meaning"]) == {meaning}
    assert 0.8 * found.n_events[0] < found.n_exchanged[0] <= found.n_events[0]


def test_the_place_does_not_count_as_the_mode_whatever_the_seed():
    small = np.zeros(2)
    for seed in range(20):
        data, modes = walks(100 + seed, place=1.0, n=3, length=400)
        found = mode_triggered_average(data, modes, "dff", mode=1, n_shifts=39, before=3, after=3)
        small += [found.p_value[0, 0] <= 0.05, found.place_p_value[0, 0] <= 0.05]
    assert small[0] >= 18
    assert small[1] <= 4  # 5 %: so many or more with probability 0.016


@pytest.mark.parametrize("onset", [True, False])
def test_visits_that_may_start_the_mode_are_those_of_the_plain_loop(onset):
    rng = np.random.default_rng(3)
    states = [rng.integers(0, 3, size=200) for _ in range(2)]
    modes = [rng.integers(-1, 2, size=200) for _ in range(2)]
    data = Trajectories(states, gaps=[[20], []])
    found = Visits.of(data, np.concatenate(modes), 1, onset)
    alike = {}
    for i, (path, on) in enumerate(zip(states, modes, strict=True)):
        for low, high in data.segments(i):
            came = low
            for t in range(low, high):
                came = t if t > low and path[t] != path[t - 1] else came
                if t > low and on[t] >= 0 and on[t - 1] >= 0 and (on[t - 1] != 1) == onset:
                    alike.setdefault((i, path[t], t - came), []).append((200 * i + t, (on[t] == 1) == onset))
    expected = []
    for visits in alike.values():
        for part in np.array_split(np.array(visits), max(1, round(len(visits) / BLOCK))):
            if 0 < part[:, 1].sum() < len(part):
                expected += map(tuple, part.tolist())
    assert len(expected) > 20
    assert sorted(zip(found.at.tolist(), found.starts.tolist(), strict=True)) == sorted(expected)
    assert np.bincount(found.block).max() <= 1.5 * BLOCK
    assert (np.diff(found.block) >= 0).all()


def test_a_draw_moves_starts_within_their_blocks_only():
    data, modes = walks(2, n=2, length=200)
    visits = Visits.of(data, np.concatenate(modes), 1, True)
    n = len(visits.at)
    one = np.zeros((400, n))
    one[visits.at, np.arange(n)] = 1.0  # a channel for each visit: the mean says which were taken
    windows = (np.arange(n), np.zeros(n, dtype=int), visits.at)
    means = exchanged_means(visits, windows, one, np.zeros(n, dtype=int), 1, 500, np.random.default_rng(0))[:, 0]
    taken = means > 0
    np.testing.assert_array_equal(taken[0], visits.starts)
    of_block = (visits.block[:, None] == np.unique(visits.block)).astype(int)
    np.testing.assert_array_equal(taken @ of_block, np.tile(visits.starts @ of_block, (501, 1)))
    share = (visits.starts @ of_block / of_block.sum(axis=0)) @ of_block.T  # each visit as often as any of its block
    np.testing.assert_allclose(taken[1:].mean(axis=0), share, atol=4 * 0.5 / np.sqrt(500))


def test_both_tests_are_the_same_in_steps_and_in_regular_times():
    data, modes = walks(5, mode=1.0, n=3, length=200)
    timed = Trajectories(data.states, signals=data.signals, times=[0.1 * np.arange(200)] * 3)
    steps = mode_triggered_average(data, modes, "dff", before=4, after=6, n_shifts=9)
    times = mode_triggered_average(timed, modes, "dff", before=0.4, after=0.6, bin=0.1, n_shifts=9)
    assert np.isfinite(steps.exchanged).all()
    np.testing.assert_allclose(times.exchanged, steps.exchanged)
    np.testing.assert_array_equal(times.corrected_place_p_value, steps.corrected_place_p_value)


def test_what_places_and_slow_drifts_explain_is_taken_out():
    rng = np.random.default_rng(0)
    states = [rng.integers(0, 5, size=400) for _ in range(2)]
    field, data = rng.normal(size=5), Trajectories(states)
    drift = 3 * np.exp(-np.arange(400) / 300)
    signal = np.concatenate([i + field[path] + drift for i, path in enumerate(states)])[:, None]
    signal[7] = NAN
    left = without_places(data, signal, np.array([0, 0]))
    assert np.isnan(left[7, 0])
    assert np.nanstd(left) < 0.1 * np.nanstd(signal)
    one = rng.normal(size=(800, 1))
    assert np.corrcoef(without_places(data, one, np.array([0, 1]))[:, 0], one[:, 0])[0, 1] > 0.95


def test_where_all_visits_start_the_mode_nothing_is_said_of_the_place():
    rng = np.random.default_rng(0)
    path = np.cumsum(rng.choice([-1, 1], size=200)) % 6
    data = Trajectories([path], signals={"dff": [3.0 * (path == 2) + rng.normal(size=200)]})
    found = mode_triggered_average(data, [(path == 2).astype(int)], "dff", mode=1, before=1, after=1, n_shifts=99)
    assert found.n_events[0] > 20
    assert found.n_exchanged[0] == 0
    assert found.p_value[0, 0] <= 0.05
    assert np.isnan(found.place_p_value).all()
    assert found.meaning(1).endswith("no other visits to the same places to compare with: it may be the place")
    none = mode_triggered_average(data, [np.zeros(200, dtype=int)], "dff", n_modes=2, n_shifts=9)
    assert none.meaning(1) == "Not tested: the mode has no starts"
    untested = mode_triggered_average(data, [(path == 2).astype(int)], "dff", n_shifts=0)
    assert untested.meaning(1) == "Not tested"


def test_a_signal_is_found_whatever_its_capitals():
    data = Trajectories([[0, 1, 1]], signals={"dFF": [[1.0, 2.0, 3.0]], "speed": [[0.0, 0.0, 1.0]]})
    found = signal_by_mode(data, [[0, 1, 1]], "dff")
    assert found.name == "dFF"
    np.testing.assert_allclose(found.mean.ravel(), [1.0, 2.5])
    both = Trajectories([[0, 1]], signals={"dFF": [[1.0, 2.0]], "DFF": [[3.0, 4.0]]})
    assert signal_by_mode(both, [[0, 1]], "DFF").mean.ravel().tolist() == [3.0, 4.0]
    with pytest.raises(ValueError, match="signal='dff': no such signal; the data have 'dFF', 'DFF'"):
        signal_by_mode(both, [[0, 1]], "dff")


# ---- faults


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"signal": "serotonin"}, "no such signal; the data have 'dopamine'"),
        ({"signal": [[1.0]]}, r"signal\[0\] has shape \(1,\), session 0 has 3 steps"),
        ({"signal": [[1.0]] * 2}, "signal has 2 sessions, the data 1"),
        ({"modes": [[0, 1]]}, r"modes\[0\] has shape \(2,\)"),
        ({"modes": [[0.0, 1.0, 0.5]]}, r"modes\[0\] is float64"),
        ({"n_modes": 1}, "n_modes=1: modes go up to 1"),
        ({"over": "subject"}, "the subject of session 0 is not known"),
        ({"before": -1}, "before=-1: expected a whole number of steps"),
        ({"after": 1.5}, "after=1.5"),
        ({"bin": 20, "before": 5}, "before=5, after=20: expected whole numbers of bins of 20; 20 and 20 would do"),
        ({"bin": 0.5}, "bin=0.5: the data have no times"),
        ({"mode": 2}, "mode=2: expected a mode from 0 to 1"),
        ({"n_shifts": -1}, "n_shifts=-1"),
    ],
)
def test_what_is_wrong_is_told(arguments, told):
    data = sessions([[0, 1, 1]], [[1.0, 2.0, 3.0]])
    given = {"modes": [[0, 1, 1]], "signal": "dopamine", **arguments}
    with pytest.raises(ValueError, match=told):
        mode_triggered_average(data, given.pop("modes"), given.pop("signal"), **given)
