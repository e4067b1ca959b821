"""When steps end, and that a table and an NWB file say the same of it."""

import numpy as np

from swirl.data.segments import step_ends
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
