"""When steps end, and that a table and an NWB file say the same of it; how long they last, and what says so."""

import numpy as np
import pytest

from swirl.data.segments import step_durations, step_ends
from swirl.data.trajectories import Trajectories
from swirl.io.export_tables import segments_frame
from swirl.io.nwb.reading import read_nwb_bouts
from swirl.io.nwb.writing import write_nwb


def ends(times, gaps):
    return [end.tolist() for end in step_ends([np.array(t) for t in times], [np.array(g, int) for g in gaps])]


def test_the_pauses_at_gaps_do_not_count_as_steps_and_a_lone_step_lasts_as_long_as_others():
    assert ends([[0.0, 1.0, 50.0, 99.0], [7.0]], [[2, 3], []]) == [[1.0, 2.0, 51.0, 100.0], [8.0]]


def test_each_session_has_its_own_median():
    assert ends([[0.0, 1.0, 2.0, 9.0], [0.0, 0.5]], [[], []]) == [[1.0, 2.0, 9.0, 10.0], [0.5, 1.0]]


def test_a_segment_does_not_reach_into_the_next():
    assert ends([[0.0, 1.0, 1.25, 2.25]], [[2]]) == [[1.0, 1.25, 2.25, 3.25]]


def test_nothing_is_known_of_steps_that_all_stand_alone():
    assert ends([[3.0, 5.0], [7.0]], [[1], []]) == [[3.0, 5.0], [7.0]]


def test_a_table_and_an_nwb_file_agree(tmp_path):
    modes, times = [[0, 0, 1, 1, 0, -1]], [[0.0, 0.5, 1.5, 2.0, 9.0, 9.25]]
    data = Trajectories([[0, 1, 0, 1, 0, 1]], times=times, gaps=[[4]])
    frame = segments_frame(data, modes)
    [path] = write_nwb(tmp_path / "modes.nwb", data, modes)
    read = read_nwb_bouts(path)
    assert frame.start_time.tolist() == read.times[0].tolist() == [0.0, 1.5, 9.0]
    assert (frame.stop_time - frame.start_time).tolist() == read.signals["duration"][0].tolist() == [1.5, 1.0, 0.25]


def test_the_last_stay_of_a_segment_ends_as_its_dwell_says(tmp_path):
    modes, times = [[0, 0, 1, 1, 0]], [[0.0, 0.5, 1.5, 20.0, 21.0]]
    given = {"times": times, "gaps": [[3]], "signals": {"dwell": [[0.5, 1.0, 8.0, 1.0, 6.0]]}}
    data = Trajectories([[0, 1, 0, 1, 0]], **given)
    frame = segments_frame(data, modes)
    assert frame.stop_time.tolist() == [1.5, 9.5, 21.0, 27.0]
    [path] = write_nwb(tmp_path / "modes.nwb", data, modes)
    assert read_nwb_bouts(path).signals["duration"][0].tolist() == [1.5, 8.0, 1.0, 6.0]
    guessed = segments_frame(Trajectories([[0, 1, 0, 1, 0]], times=times, gaps=[[3]]), modes)
    assert guessed.stop_time.tolist() == [1.5, 2.5, 21.0, 22.0]


# ---------------------------------------------------------------------- how long steps last

NAN = np.nan


def lasted(data):
    found = step_durations(data)
    return found.source, [own.tolist() for own in found.lasted]


def test_from_each_step_to_the_next_of_its_segment_by_a_plain_loop():
    rng = np.random.default_rng(0)
    times = [np.cumsum(rng.exponential(size=n)) for n in (9, 1, 14)]
    gaps = [np.array([3, 4]), np.zeros(0, int), np.array([13])]
    data = Trajectories([np.zeros(len(clock), int) for clock in times], times=times, gaps=gaps)
    source, found = lasted(data)
    assert source == "times"
    for clock, cuts, own in zip(times, gaps, found, strict=True):
        for step, took in enumerate(own):
            if step + 1 == len(clock) or step + 1 in cuts:
                assert np.isnan(took)
            else:
                assert took == clock[step + 1] - clock[step]


def test_where_all_steps_last_equally_long_the_last_ones_do_too():
    ticks = Trajectories([[0] * 5, [0] * 3], times=[np.arange(5) / 30, 100 + np.arange(3) / 30], gaps=[[4], []])
    source, found = lasted(ticks)
    assert source == "times"
    assert len({took for own in found for took in own}) == 1
    assert found[0][4] == pytest.approx(1 / 30)
    jitter = Trajectories([[0] * 5], times=[[0, 1, 2.01, 3, 4]])
    assert np.isnan(lasted(jitter)[1][0][4])


def test_a_jump_of_a_ticking_clock_is_no_long_step_but_a_long_step_among_unequal_ones_is():
    clock = np.append(np.arange(30.0), [500.0, 501.0])
    assert step_durations(Trajectories([[0] * 32], times=[clock])).lasted[0].tolist() == [1.0] * 32
    visits = [0.0, 1.0, 9.0, 10.0, 60.0, 61.0]
    np.testing.assert_array_equal(lasted(Trajectories([[0] * 6], times=[visits]))[1], [[1, 8, 1, 50, 1, NAN]])


def test_a_signal_that_says_how_long_goes_before_the_times():
    times, states = [[0.0, 2.0, 5.0]], [[0, 1, 0]]
    bouts = Trajectories(states, times=times, signals={"duration": [[1.5, 3.0, 0.5]], "x": [[9.0, 9.0, 9.0]]})
    assert lasted(bouts) == ("duration", [[1.5, 3.0, 0.5]])  # half a second between the bouts is no one's
    both = Trajectories(states, signals={"duration": [[1.5, 3.0, 0.5]], "dwell": [[4.0, 4.0, 7.0]]})
    assert lasted(both) == ("dwell", [[4.0, 4.0, 7.0]])
    part = Trajectories(states, times=times, signals={"dwell": [[2.0, NAN, 3.0]]})
    np.testing.assert_array_equal(lasted(part)[1], [[2, NAN, 3]])


@pytest.mark.parametrize(
    "signal",
    [[2000.0, 3000.0, 1.0], [30.0, 30.0, 30.0], [-1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [[1.0, 1.0]] * 3],
    ids=["milliseconds", "of the session", "negative", "nothing", "two channels"],
)
def test_a_signal_of_that_name_that_is_something_else_is_passed_over(signal):
    data = Trajectories([[0, 1, 0]], times=[[0.0, 2.0, 5.0]], signals={"duration": [signal]})
    np.testing.assert_array_equal(lasted(data)[1], [[2, 3, NAN]])


@pytest.mark.parametrize("clock", ["steady", "uneven"])
def test_how_long_a_lick_lasted_is_not_how_long_the_row_did(clock):
    rng = np.random.default_rng(0)
    times = np.arange(100.0) if clock == "steady" else np.cumsum(rng.uniform(0.5, 3.0, size=100))
    licks = np.where(rng.random(100) < (0.9 if clock == "steady" else 0.2), rng.uniform(0, 0.5, 100), 0.0)
    found = step_durations(Trajectories([[0] * 100], times=[times], signals={"duration": [licks]}))
    assert found.source == "times"
    visits = np.append(np.diff(times), 1.0)  # a signal that fills the time, on either clock
    assert step_durations(Trajectories([[0] * 100], times=[times], signals={"duration": [visits]})).source == "duration"
    bouts = rng.uniform(0.1, 1.0, size=100) * visits  # bouts with pauses between them have no steady clock
    found = step_durations(Trajectories([[0] * 100], times=[times], signals={"duration": [bouts]}))
    assert found.source == ("times" if clock == "steady" else "duration")


def test_nothing_says_how_long():
    assert step_durations(Trajectories([[0, 1, 0]])) is None
    assert step_durations(Trajectories([[0], [1]], times=[[0.0], [7.0]])) is None
    assert step_durations(Trajectories([[0, 1]], signals={"duration": [[NAN, NAN]]})) is None
