"""Tables of bouts and of labels per frame: what they hold, step by step, and what is refused."""

import numpy as np
import pytest

from swirl import ImportNotice
from swirl.io.bout_tables import read_bout_tables
from swirl.io.bouts import Bouts, bout_sessions, cut
from swirl.workflows.import_recordings import of_syllables, save

BORIS = """Observation id,Observation date,Subject,Behavior,Behavioral category,Behavior type,Time,Comment
obs1,2023-05-09,m1,rear,,START,0.5,
obs1,2023-05-09,m1,rear,,STOP,2.0,
obs1,2023-05-09,m2,groom,,START,1.0,
obs1,2023-05-09,m1,sneeze,,POINT,2.5,
obs1,2023-05-09,m1,groom,,START,3.0,
obs1,2023-05-09,m2,groom,,STOP,2.0,
obs1,2023-05-09,m1,groom,,STOP,4.5,
obs2,2023-05-10,m1,rear,,START,0.0,
obs2,2023-05-10,m1,rear,,STOP,1.0,
obs2,2023-05-10,m1,rear,,START,4.0,
obs2,2023-05-10,m1,rear,,STOP,5.0,
"""
PREAMBLE = """Observation id,video 7,,,
,,,,
Media file(s),,,,
Player #1,"C:/a, b.mp4",,,
,,,,
independent variables,,,,
variable,value,,,
,,,,
Time,Subject,Behavior,Comment,Status
3.3,No focal subject,rear,,START
7.75,No focal subject,rear,,STOP
9.9,No focal subject,groom,,START
16.2,No focal subject,groom,,STOP
"""
AGGREGATED = """Observation id\tSubject\tBehavior\tBehavior type\tStart (s)\tStop (s)\tDuration (s)
obs1\tm1\trear\tSTATE\t0.5\t2.0\t1.5
obs1\tm1\tsneeze\tPOINT\t2.5\tNA\tNA
obs1\tm1\tgroom\tSTATE\t3.0\t4.5\t1.5
"""


def written(folder, text, name="bouts.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def named(sessions):
    """Steps of each session by the names of their states."""
    return {
        name: [sessions.state_names[state] for state in states]
        for name, states in zip(sessions.names, sessions.states, strict=True)
    }


def bouts(*rows, **more):
    """Bouts of one session from (start, stop, label)."""
    start, stop, labels = zip(*rows, strict=True)
    return Bouts("m1", np.array(start, float), np.array(stop, float), list(labels), **more)


def told(sessions, words):
    return any(words in note for note in sessions.notes)


def refused(path, *parts, **options):
    """The error that a table gives, which holds these parts."""
    with pytest.raises(ValueError, match=r"cannot") as error:
        read_bout_tables(path, **options)
    for part in parts:
        assert part in str(error.value), str(error.value)


# ---------------------------------------------------------------------- rows of START and STOP


def test_a_bout_of_two_rows_is_one_step(tmp_path):
    sessions = read_bout_tables(written(tmp_path, BORIS))
    assert named(sessions) == {"m1 obs1": ["rear", "groom"], "m2 obs1": ["groom"], "m1 obs2": ["rear", "rear"]}
    assert sessions.subjects == ("m1", "m2", "m1")
    assert [times.tolist() for times in sessions.times] == [[0.5, 3.0], [1.0], [0.0, 4.0]]
    assert [lasted.tolist() for lasted in sessions.signals["duration"]] == [[1.5, 1.5], [1.0], [1.0, 1.0]]
    assert told(sessions, "left out 1 point event (they have no duration): sneeze (1); --points takes them too")
    assert told(sessions, "2 pauses (median 2 s, longest 3 s) ignored")
    assert told(sessions, "status = 'Behavior type'")


def test_point_events_may_be_steps_too(tmp_path):
    sessions = read_bout_tables(written(tmp_path, BORIS), points=True)
    assert named(sessions)["m1 obs1"] == ["rear", "sneeze", "groom"]
    np.testing.assert_allclose(sessions.signals["duration"][0], [1.5, 0.001, 1.5])


def test_lines_about_the_observation_are_above_the_table(tmp_path):
    sessions = read_bout_tables(written(tmp_path, PREAMBLE))
    assert named(sessions) == {"video 7": ["rear", "groom"]}
    assert sessions.subjects == (None,)
    path = written(tmp_path, PREAMBLE.replace("7.75", "soon"))
    refused(path, f"{path}, line 11: Time is 'soon'; expected seconds")


def test_the_observer_writes_state_start(tmp_path):
    text = "Time_Relative_sf;Subject;Behavior;Event_Type\n10,04;m1;groom;State start\n12;m1;groom;State stop\n"
    sessions = read_bout_tables(written(tmp_path, text))
    assert sessions.times[0].tolist() == [10.04]
    np.testing.assert_allclose(sessions.signals["duration"][0], [1.96])


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ("rear,STOP,2\n", "line 2: 'rear' of bouts stops at 2 s, but has not started: add its START"),
        (
            "rear,START,1\nrear,START,2\nrear,STOP,3\n",
            "line 2: 'rear' of bouts starts at 1 s and never stops (and starts again at 2 s): add its STOP",
        ),
        ("rear,START,1\n", "line 2: 'rear' of bouts starts at 1 s and never stops: add its STOP"),
        ("rear,START,nan\nrear,STOP,2\n", "line 2: Time is blank or NaN; expected seconds, or h:mm:ss"),
        ("rear,START,inf\nrear,STOP,2\n", "line 2: Time is 'inf'"),
        ("rear,START,1\nrear,HALT,2\n", "line 3: Status is 'HALT'; expected START, STOP or POINT"),
    ],
)
def test_rows_that_do_not_make_bouts(tmp_path, rows, part):
    refused(written(tmp_path, f"Behavior,Status,Time\n{rows}"), part)


def test_all_faults_are_told_at_once(tmp_path):
    first = written(tmp_path, "Behavior,Status,Time\nrear,STOP,2\ngroom,START,3\n", "a.csv")
    second = written(tmp_path, "start,stop,label\n2,1,rear\n", "b.csv")
    refused([first, second], "3 faults", "a.csv, line 2", "a.csv, line 3", "b.csv, line 2: 'rear' starts at 2 s, but")


# ---------------------------------------------------------------------- a row for each bout


def test_aggregated_events(tmp_path):
    sessions = read_bout_tables(written(tmp_path, AGGREGATED, "a.tsv"))
    assert named(sessions) == {"obs1": ["rear", "groom"]}
    assert sessions.subjects == ("m1",)
    assert told(sessions, "left out 1 point event")


def test_the_times_of_the_observation_are_not_those_of_its_bouts(tmp_path):
    names = ["Observation id", "Start time", "Stop time", "Duration", "Test status", "Subject", "Behavior"]
    names += ["Behavior type", "Start (s)", "Stop (s)", "Duration (s)"]
    observed = ["o1", "2000-01-01T00:00:00", "2000-01-01T00:00:00", "", "", "No focal subject"]
    rows = [names, [*observed, "rear", "STATE", "0.5", "2", "1.5"], [*observed, "groom", "STATE", "2", "3", "1"]]
    sessions = read_bout_tables(written(tmp_path, "\n".join(map(",".join, rows))))
    assert named(sessions) == {"o1": ["rear", "groom"]}
    assert sessions.times[0].tolist() == [0.5, 2]


def test_a_table_of_bouts_is_shown_the_way(tmp_path):
    from swirl.io.session_table import read_csv

    with pytest.raises(ValueError, match="use `swirl import bouts`"):
        read_csv(written(tmp_path, "onset_s,offset_s,label\n0,1,a\n"))
    with pytest.raises(ValueError, match=r"no column 'state'(?!.*import bouts)"):
        read_csv(written(tmp_path, "onset_s,label\n0,a\n"))


@pytest.mark.parametrize(
    "header",
    [
        "from;to;type;ID;file",  # DLCAnalyzer
        "Start_time;End Time;Event;Animal;Video",  # SimBA
        "Begin Time (s);End Time (s);Species;Bird;File",  # Raven
        "onset_s;offset_s;label;subject;notated_path",  # crowsetta
    ],
)
def test_columns_of_many_programs_are_known(tmp_path, header):
    sessions = read_bout_tables(written(tmp_path, f"{header}\n0;1,5;rear;m1;v1\n1,5;2;groom;m1;v1\n0;1;rear;m2;v2\n"))
    assert named(sessions) == {"v1": ["rear", "groom"], "v2": ["rear"]}
    assert sessions.subjects == ("m1", "m2")
    assert sessions.times[0].tolist() == [0, 1.5]


def test_columns_may_be_named(tmp_path):
    path = written(tmp_path, "a,b,c,d\n0,1,rear,m1\n1,2.5,groom,m1\n2.5,3,rear,m1\n")
    sessions = read_bout_tables(path, {"start": "a", "stop": "B", "label": "c", "session": "d", "subject": None})
    assert named(sessions) == {"m1": ["rear", "groom", "rear"]}
    refused(path, "no column 'aa' (--start) among a, b, c, d", columns={"start": "aa"})
    refused(path, "'a' is when a bout starts, but no column is known to say when it stops", columns={"start": "a"})
    refused(path, "no column is known to hold the labels: name it with --label", columns={"start": "a", "stop": "b"})
    refused(path, "columns names 'state': expected start, stop", columns={"state": "a"})
    refused(path, "the columns are a, b, c, d; expected the columns start, stop and label")


def test_times_in_other_units(tmp_path):
    sessions = read_bout_tables(written(tmp_path, "onset_ms,offset_ms,label\n500,1500,a\n1500,2000,b\n"))
    assert sessions.times[0].tolist() == [0.5, 1.5]
    sessions = read_bout_tables(written(tmp_path, "start,stop,label\n0:00:59.5,0:01:01,a\n1:01,1:00:02,b\n"))
    assert sessions.times[0].tolist() == [59.5, 61.0]
    sessions = read_bout_tables(written(tmp_path, "Start_frame,End_frame,Event\n0,29,a\n30,59,b\n"), fps=30)
    assert sessions.times[0].tolist() == [0.0, 1.0]
    assert not told(sessions, "pause")
    refused(written(tmp_path, "Start_frame,End_frame,Event\n0,29,a\n"), "bouts are given in frames", "--fps 30")
    refused(written(tmp_path, "start,stop,label\n0.5,2,a\n"), "line 2: start is 0.5, but with --fps", fps=30)
    sessions = read_bout_tables(written(tmp_path, "start,duration,label\n1,2,a\n3,1,b\n"))
    assert sessions.signals["duration"][0].tolist() == [2.0, 1.0]


def test_a_millisecond_between_two_bouts_is_no_pause(tmp_path):
    path = written(tmp_path, "start,stop,label\n0,1,a\n1.001,2,a\n1.999,3,b\n3.01,4,a\n")
    sessions = read_bout_tables(path, pauses="gap")
    assert named(sessions) == {"bouts": ["a", "b", "a"]}
    assert sessions.gaps[0].tolist() == [2]


def test_a_column_that_is_there_twice(tmp_path):
    path = written(tmp_path, "start,stop,label,label\n0,1,a,a\n")
    refused(path, f"{path}: columns occur more than once: label")


def test_audacity_has_no_header(tmp_path):
    path = written(tmp_path, "0.0\t0.75\tSIL\n0.75\t1.5\tcall\n1.5\t2.0\tsong\n", "labels.txt")
    assert named(read_bout_tables(path, drop=["SIL"])) == {"labels": ["call", "song"]}
    refused(written(tmp_path, "0.0\t0.7\tSIL\n0.9\t0.8\tcall\n"), "line 2: 'call' starts at 0.9 s")


def test_rows_without_a_label_are_left_out(tmp_path):
    sessions = read_bout_tables(written(tmp_path, "start,stop,label\n0,1,a\n1,2,\n2,3,b\n,,\n"))
    assert named(sessions) == {"bouts": ["a", "b"]}
    assert told(sessions, "left out 2 rows without a label in bouts.csv")


def test_sessions_of_several_files_are_told_apart(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        written(tmp_path / folder, "session,start,stop,label\nday 1,0,1,rear\n")
    paths = [tmp_path / "a" / "bouts.csv", tmp_path / "b" / "bouts.csv"]
    assert read_bout_tables(paths).names == ("a/bouts bouts day 1", "b/bouts bouts day 1")
    refused([paths[0], paths[0]], "is given more than once")


# ---------------------------------------------------------------------- overlaps and pauses


def test_overlaps_are_refused_with_a_way_out(tmp_path):
    text = "subject,start,stop,behavior\nm1,0,5,walk\nm1,1,2,rear\nm1,6,8,groom\nm1,7,9,walk\n"
    path = written(tmp_path, text)
    refused(
        path,
        "2 overlaps in 1 session, but an animal is in one state at a time",
        "bouts.csv, bouts, subject m1: 'walk' from 0 to 5 s (line 2) and 'rear' from 1 to 2 s (line 3)",
        "as in --priority 'rear,groom,walk'",
    )
    sessions = read_bout_tables(path, priority=["rear", "groom", "walk"])
    assert named(sessions) == {"bouts": ["walk", "rear", "walk", "groom", "walk"]}
    assert sessions.times[0].tolist() == [0, 1, 2, 6, 8]
    assert sessions.signals["duration"][0].tolist() == [1, 1, 3, 2, 1]
    assert told(sessions, "cut or left out where a bout of higher priority overlaps: 2 bouts")
    refused(path, "1 overlap in 1 session", "'groom' from 6 to 8 s (line 4)", priority=["rear"])
    refused(path, "--priority names 'hop', which does not occur: the labels are groom, rear, walk", priority=["hop"])
    assert named(read_bout_tables(path, priority=["walk"])) == {"bouts": ["walk", "groom", "walk"]}


def test_a_behaviour_that_overlaps_itself(tmp_path):
    path = written(tmp_path, "start,stop,behavior\n0,5,walk\n1,6,walk\n6,7,rear\n")
    refused(path, "1 overlap of a behaviour with itself in 1 session", "channels in one session, name the", "--subject")
    sessions = read_bout_tables(path, priority=["walk"])
    assert named(sessions) == {"bouts": ["walk", "rear"]}
    assert sessions.signals["duration"][0].tolist() == [6, 1]


def test_cutting_agrees_with_a_clock():
    """A plain loop over instants: of the bouts that are on, the one of lowest rank counts."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        start = rng.integers(0, 40, 8).astype(float)
        stop, rank = start + rng.integers(1, 15, 8), rng.permutation(8)
        owner, begins, ends = cut(start, stop, rank)
        assert (begins[1:] >= ends[:-1]).all()
        for instant in np.arange(0.5, 60):
            on = [i for i in range(8) if start[i] < instant < stop[i]]
            of_piece = owner[(begins < instant) & (instant < ends)].tolist()
            assert of_piece == ([min(on, key=lambda i: rank[i])] if on else [])


def test_a_point_event_within_a_bout():
    both = bouts((0, 4, "walk"), (2, 2, "sneeze"), (4, 5, "rear"), (4, 4, "sneeze"))
    with pytest.raises(ValueError, match="2 overlaps"):
        bout_sessions([both], points=True)
    sessions = bout_sessions([both], points=True, priority=["sneeze"])
    assert named(sessions)["m1"] == ["walk", "sneeze", "walk", "sneeze", "rear"]
    assert (np.diff(sessions.times[0]) > 0).all()


def test_pauses():
    one = bouts((0, 1, "a"), (1, 2, "a"), (3, 4, "a"), (4, 5, "b"), (15, 16, "b"))
    ignored = bout_sessions([one])
    assert named(ignored)["m1"] == ["a", "a", "b", "b"]
    assert ignored.gaps[0].tolist() == []
    assert told(ignored, "2 bouts came after one of the same label")
    states = bout_sessions([one], pauses="state")
    assert named(states)["m1"] == ["a", "none", "a", "b", "none", "b"]
    assert states.signals["duration"][0].tolist() == [2, 1, 1, 1, 10, 1]
    assert told(states, "2 pauses (median 5.5 s, longest 10 s) became the state 'none'")
    gaps = bout_sessions([one], pauses="gap")
    assert named(gaps)["m1"] == ["a", "a", "b", "b"]
    assert gaps.gaps[0].tolist() == [1, 3]
    assert gaps.actions[0].tolist() == [-1, 1, -1, -1]
    long = bout_sessions([one], pauses="state", max_pause=5)
    assert named(long)["m1"] == ["a", "none", "a", "b", "b"]
    assert long.gaps[0].tolist() == [4]
    assert bout_sessions([bouts((0, 1, "a"), (1, 2, "b"))], pauses="state").state_names == ("a", "b")
    for wrong in ({"pauses": "skip"}, {"max_pause": -1}, {"drop": ["a", "a"]}, {"drop": ["c"]}, {"priority": "a"}):
        with pytest.raises(ValueError, match=r"pauses='skip'|max_pause=-1|more than once|does not occur|give a list"):
            bout_sessions([one], **wrong)
    with pytest.raises(ValueError, match="no bout is left"):
        bout_sessions([one], drop=["a", "b"])


# ---------------------------------------------------------------------- a row for each frame


def test_labels_per_frame(tmp_path):
    path = written(tmp_path, "frame,motif\n0,3\n1,3\n2,5\n3,5\n4,-1\n5,-1\n6,3.0\n")
    sessions = read_bout_tables(path, fps=2)
    assert sessions.state_names == ("3", "5")
    assert named(sessions) == {"bouts": ["3", "5", "3"]}
    assert sessions.times[0].tolist() == [0, 1, 3]
    assert sessions.signals["duration"][0].tolist() == [1, 1, 0.5]
    assert told(sessions, "1 pause")
    refused(path, "seems to have a row for each frame (labels: 'motif')", "give frames per second, as in --fps 30")
    refused(path, "fps=0 (--fps)", fps=0)


def test_labels_with_their_times_and_lost_frames(tmp_path):
    times = [*np.arange(30) / 10, *np.arange(50, 80) / 10]
    rows = [f"{time},{'walk' if time < 1 or time > 5.5 else 'rear'}\n" for time in times]
    sessions = read_bout_tables(written(tmp_path, "Time,Behaviour\n" + "".join(rows)))
    assert named(sessions) == {"bouts": ["walk", "rear", "rear", "walk"]}
    assert sessions.gaps[0].tolist() == [2]
    np.testing.assert_allclose(sessions.signals["duration"][0], [1, 2, 0.6, 2.4])
    refused(written(tmp_path, "Time,Behaviour\n0,a\n1,b\n1,a\n"), "line 4: Time is not above that of the frame before")
    refused(written(tmp_path, "Time,Behaviour\n0,a\n1,b\n9,a\n11,b\n"), "does not grow at a steady rate", "--stop")


def test_a_clock_that_is_not_steady_is_told_once_and_not_for_each_session(tmp_path):
    times = np.cumsum(np.random.default_rng(0).uniform(0.8, 1.2, size=20)).round(2)
    rows = [f"m{day},{day},{t},{'walk' if t < 9 else 'rear'}\n" for day in (1, 2, 3) for t in times]
    path = written(tmp_path, "mouse,day,time_s,zone\n" + "".join(rows))
    with pytest.raises(ValueError, match=r"1 fault\.\n.*does not grow at a steady rate in 3 of 3 sessions") as error:
        read_bout_tables(path, {"label": "zone", "session": "mouse,day"})
    assert f"import table {path} --columns session=mouse+day,subject=mouse,state=zone,time=time_s --merge" in str(
        error.value
    )
    path = written(tmp_path, "time_s,zone\n" + "".join(row.split(",", 2)[2] for row in rows))
    with pytest.raises(ValueError, match=r"1 fault\.\n.*lines 22, 42: .*--session"):
        read_bout_tables(path, {"label": "zone"})


ONE_HOT = ",background,attack,sniff,x\n0,1,0,0,.5\n1,0,1,0,.5\n2,0,1,{},.5\n3,0,0,1,.5\n4,1,0,0,.5\n"


def test_a_column_of_0_and_1_for_each_behaviour(tmp_path):
    path = written(tmp_path, ONE_HOT.format(0))
    sessions = read_bout_tables(path, fps=1)
    assert named(sessions) == {"bouts": ["background", "attack", "sniff", "background"]}
    assert sessions.signals["duration"][0].tolist() == [1, 2, 1, 1]
    assert told(sessions, "a column of 0 and 1 for each of background, attack, sniff")
    assert named(read_bout_tables(path, fps=1, drop=["background"])) == {"bouts": ["attack", "sniff"]}
    assert named(read_bout_tables(path, {"label": ["sniff", "attack"]}, fps=1)) == {"bouts": ["attack", "sniff"]}
    assert named(read_bout_tables(path, {"label": "attack"}, fps=1)) == {"bouts": ["attack"]}
    refused(path, "line 2: x is '.5': expected 1 where the animal does it", columns={"label": ["attack", "x"]}, fps=1)
    refused(path, "no column 'snif' (--label)", "did you mean 'sniff'?", columns={"label": ["snif", "x"]}, fps=1)
    both = written(tmp_path, ONE_HOT.format(1))
    refused(both, "'attack' from 1 to 3 s (line 3) and 'sniff' from 2 to 4 s (line 4)", fps=1)
    sessions = read_bout_tables(both, fps=1, priority=["sniff", "attack"])
    assert sessions.signals["duration"][0].tolist() == [1, 1, 2, 1]


def test_an_array_of_labels(tmp_path):
    np.save(tmp_path / "m1.npy", np.array([3, 3, -1, 5, 5, 3]))
    sessions = read_bout_tables(tmp_path / "m1.npy", fps=2)
    assert named(sessions) == {"m1": ["3", "5", "3"]}
    assert sessions.times[0].tolist() == [0, 1.5, 2.5]
    refused(tmp_path / "m1.npy", "give frames per second")
    np.save(tmp_path / "m2.npy", np.zeros((3, 2)))
    refused(tmp_path / "m2.npy", "has shape (3, 2) of float64: expected a whole number for each frame", fps=2)
    np.save(tmp_path / "m3.npy", np.array([{}], object), allow_pickle=True)
    refused(tmp_path / "m3.npy", "cannot be read as a NumPy array", fps=2)
    refused(tmp_path / "nowhere.npy", "cannot be read as a NumPy array", fps=2)


# ---------------------------------------------------------------------- what is written can be read


@pytest.mark.filterwarnings("error", category=ImportNotice)
@pytest.mark.parametrize("pauses", ["ignore", "state", "gap"])
@pytest.mark.parametrize("seed", range(4))
def test_the_environment_allows_what_was_seen(tmp_path, pauses, seed):
    from swirl.io.environment_files import read_environment
    from swirl.io.session_table import read_data

    rng = np.random.default_rng(seed)
    labels = [["a", "b", "none", "12", "-1", "1.5"][i] for i in rng.integers(0, 6, 30)]
    start = np.cumsum(rng.integers(0, 3, 30) + 1.0)
    stop = start + rng.choice([0, 0.5, 1], 30)
    sessions = bout_sessions([Bouts("m1", start, stop, labels)], pauses=pauses, points=bool(seed % 2))
    table, beside, _ = save(of_syllables(sessions), tmp_path / "sessions.csv")
    env = read_environment(beside)
    data = read_data(table, env=env)
    env.check(data)
    assert [states.tolist() for states in data.states] == [states.tolist() for states in sessions.states]
    assert [gaps.tolist() for gaps in data.gaps] == [gaps.tolist() for gaps in sessions.gaps]


def test_sessions_of_bouts_told_by_several_columns(tmp_path):
    lines = [f"{mouse},{day},0,1,rear\n{mouse},{day},1,3,groom" for mouse in ("m1", "m2") for day in (1, 2)]
    path = tmp_path / "bouts.csv"
    path.write_text("\n".join(["mouse,session,start,stop,label", *lines]))
    for key in ("mouse,session", ["mouse", "session"]):
        read = read_bout_tables(path, {"session": key})
        assert read.names == ("m1 1", "m1 2", "m2 1", "m2 2")
        assert read.subjects == ("m1", "m1", "m2", "m2")
    assert "session = 'mouse' and 'session'" in " ".join(read.notes)
    with pytest.raises(ValueError, match=r"no column 'day' \(--session\) among mouse, session"):
        read_bout_tables(path, {"session": "mouse,day"})


# What files of other laboratories taught (studies/real_files.py, held out)


def test_state_points_of_the_observer_are_points(tmp_path):
    text = "Time_Relative_sf,Behavior,Event_Type\n0,look,State point\n1,rear,State start\n2,rear,State stop\n"
    text += "3,rest,State start\n4,rest,State stop\n"
    assert named(read_bout_tables(written(tmp_path, text))) == {"bouts": ["rear", "rest"]}
    with pytest.raises(ValueError, match="Event_Type is 'State middle'"):
        read_bout_tables(written(tmp_path, text.replace("State point", "State middle")))


def test_times_of_homecagescan_and_bouts_that_they_round_away(tmp_path):
    text = 'From Time,To Time,Length(seconds),Behavior\n1",59",58,rest\n59",1\'02",3,rear\n1\'02",1:00\'00",3538,rest\n'
    data = read_bout_tables(written(tmp_path, text))
    assert data.times[0].tolist() == [1, 59, 62]
    assert data.signals["duration"][0].tolist() == [58, 3, 3538]
    with pytest.raises(ValueError, match=r"the same in 1 row of 4, although .* is above 0: the times are rounded"):
        read_bout_tables(written(tmp_path, text + "1:00'00\",1:00'00\",0.7,rear\n"))


@pytest.mark.parametrize("length", [600, 0.5])
def test_another_length_beside_events_is_no_rounded_one(tmp_path, length):
    rows = [(0, 2, "rear"), (3, 3, "sneeze"), (4, 6, "groom"), (7, 7, "sneeze"), (8, 9.5, "rear")]
    text = "start,stop,label,length\n" + "".join(f"{a},{b},{label},{length}\n" for a, b, label in rows)
    data = read_bout_tables(written(tmp_path, text), drop=["sneeze"])
    assert named(data) == {"bouts": ["rear", "groom", "rear"]}


def bouts_with_lengths(length, n=30):
    """Bouts in whole seconds, of which each third lasts none; `length` is made of the row and of how long it lasts."""
    rows = [(10 * i, 10 * i + (0 if i % 3 == 2 else 1 + i % 4), "ab"[i % 2], i) for i in range(n)]
    return "start,stop,label,length\n" + "".join(f"{a},{b},{name},{length(i, b - a)}\n" for a, b, name, i in rows)


@pytest.mark.parametrize(
    "length",
    [
        lambda i, s: 1000 * s + 7 * i if s else 400,  # ms
        lambda i, s: 25 * s + i % 5 if s else 9,  # frames
        lambda i, s: 25 * s - 8 + i % 17 if s else 3 + i % 7,
        lambda i, s: s + 0.3 if s else 0.4,
        lambda i, s: 40 + i if s else 10 + i % 5,  # not near, but the shorter ones are those of no length
    ],
)
def test_rounded_times_are_refused_whatever_the_unit_of_the_lengths(tmp_path, length):
    path = written(tmp_path, bouts_with_lengths(length))
    refused(path, "the same in 10 rows of 30, although length is above 0: the times are rounded", "another name")


@pytest.mark.parametrize(
    "length",
    [
        lambda i, s: 600,
        lambda i, s: 80 + 7 * i % 11,  # of the animal
        lambda i, s: 25 * s,  # 0 where a bout lasts none
        lambda i, s: 25 * s or "",
        lambda i, s: 5 if s else 50 + i,
    ],
)
def test_lengths_of_something_else_are_no_rounded_bouts(tmp_path, length):
    sessions = read_bout_tables(written(tmp_path, bouts_with_lengths(length)))
    assert told(sessions, "left out 10 point events")
    assert sum(map(len, sessions.states)) == 20


@pytest.mark.parametrize("few", [2, 3])
def test_a_few_rounded_times_are_refused(tmp_path, few):
    rows = "".join(f"{10 * i},{10 * i + 2 + i},b,{40 + 20 * i}\n" for i in range(few))
    refused(written(tmp_path, f"start,stop,label,length\n{rows}90,90,a,9\n"), "in 1 row of", "the times are rounded")


def test_bouts_whose_stop_is_their_start_are_not_called_rounded(tmp_path):
    rows = "".join(f"{2.5 * i},{2.5 * i},{'ab'[i % 2]},{{}}\n" for i in range(1, 13))
    top = "start,stop,label,duration\n"
    path = written(tmp_path, top + rows.replace("{}", "0.5"))
    refused(path, "the same in 12 rows of 12, although duration is above 0: delete the column stop, and duration says")
    with pytest.raises(ValueError) as caught:
        read_bout_tables(path)
    assert "rounded" not in str(caught.value)
    lines = [line.split(",") for line in path.read_text().splitlines()]
    path = written(tmp_path, "".join(f"{a},{c},{d}\n" for a, _, c, d in lines), "b.csv")
    assert set(read_bout_tables(path).signals["duration"][0]) == {0.5}
    # A length of the video does not fit in between: these are point events.
    sessions = read_bout_tables(written(tmp_path, top + rows.replace("{}", "600")), points=True)
    assert len(sessions.states[0]) == 12


@pytest.mark.parametrize(("more", "also"), [("", False), ("4,4,sneeze\n", True)])
def test_bouts_of_one_label_alone_are_told(tmp_path, more, also):
    path = written(tmp_path, f"start,stop,behavior\n0,1,rear\n2,3,rear\n5,6,rear\n{more}")
    found = read_bout_tables(path)
    assert told(found, "BEWARE: every bout is 'rear', and of one label alone nothing can be learned")
    assert told(found, "--points takes the point events too") == also
    assert not told(read_bout_tables(path, pauses="state"), "every bout is")


@pytest.mark.parametrize(
    ("top", "length", "said"),
    [
        ("onset,offset,label", "2700", True),
        ("onset_s,offset_s,label", "2700", False),  # the unit is said
        ("onset,offset,label", "2700.5", False),
        ("onset,offset,label", "3", False),  # seconds that somebody wrote down
    ],
)
def test_whole_numbers_may_be_frames_or_samples(tmp_path, top, length, said):
    step = float(length)
    rows = [f"{2 * i * step:g},{(2 * i + 1) * step:g},{'ab'[i % 2]}" for i in range(30)]
    path = written(tmp_path, "\n".join([top, *rows]) + "\n")
    assert told(read_bout_tables(path), "are whole numbers, and the median bout lasts 2,700 s if they are") == said
    if said:
        assert read_bout_tables(path, fps=1000).signals["duration"][0][0] == pytest.approx(2.701)


@pytest.mark.parametrize(
    ("epoch", "shift", "said"),
    [(60, 0, False), (4, 0, False), (10, 0, False), (30, 0, False), (2, 0, False), (30, 1, True), (64, 0, True)],
)
def test_whole_epochs_are_no_frames(tmp_path, epoch, shift, said):
    """Sleep is scored by epochs of some seconds; frames and samples have no common divisor, or a power of two."""
    lasts = [epoch * max(1, round(60 / epoch) + i % 3) for i in range(30)]
    ends = np.cumsum(lasts)
    for form in ("{}", "{}.0"):
        rows = [
            f"{form.format(end - n + shift * (i == 7))},{form.format(end)},{'ab'[i % 2]}\n"
            for i, (end, n) in enumerate(zip(ends, lasts, strict=True))
        ]
        path = written(tmp_path, "start,stop,label\n" + "".join(rows))
        assert told(read_bout_tables(path), "are whole numbers, and the median bout lasts") == said
