"""One opener for all commands: the same table gives the same sessions, however it is written down."""

import csv
import gzip
import io
import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

from swirl.io.bout_tables import read_bout_tables
from swirl.io.environment_files import read_environment
from swirl.io.moseq import read_moseq
from swirl.io.open_table import open_table
from swirl.io.session_table import read_data, read_table
from swirl.io.text_table import read_columns
from swirl.io.tracks import read_tracks

STEPS = [["session", "t", "state", "dff"], ["a", 0, "home", 0.5], ["a", 1.5, "water", -1.25], ["b", 0, "home", 2.0]]
POSITIONS = [["frame", "x", "y"], [0, 1.5, 2], [1, 2.5, 2], [2, 3.25, 4]]
BOUTS = [["start", "stop", "label"], [0, 1.5, "rear"], [1.5, 2, "groom"], [2.25, 4, "rear"]]
SYLLABLES = [["name", "syllable", "frame_index"], ["m1", 3, 0], ["m1", 3, 1], ["m1", 5, 2], ["m1", 3, 3]]


def of_sessions(data):
    signals = {name: [values.tolist() for values in data.signals[name]] for name in data.signals or {}}
    states = [[data.state_names[s] for s in x] for x in data.states]
    return states, [x.tolist() for x in data.times], signals, data.names


def of_tracks(tracks):
    return [(track.times.tolist(), track.positions.tolist()) for track in tracks]


READERS = {
    "steps": (STEPS, lambda path: of_sessions(read_table(path))),
    "tracks": (POSITIONS, lambda path: of_tracks(read_tracks(path, fps=2))),
    "bouts": (BOUTS, lambda path: of_sessions(read_bout_tables(path))),
    "syllables": (SYLLABLES, lambda path: of_sessions(read_moseq(path, fps=2))),
}


def text(rows, separator=",", decimal="."):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\r\n")
    writer.writerows([[str(x).replace(".", decimal) if isinstance(x, float) else x for x in row] for row in rows])
    return out.getvalue()


def excel(path, rows):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(row)
    book.create_sheet("an empty one")
    book.save(path)


def parquet(path, rows):
    pytest.importorskip("pyarrow")
    pd.DataFrame(rows[1:], columns=rows[0]).to_parquet(path)


ABOVE = "Experiment: maze 7\r\nObserver,Ann\r\n\r\n"
WRITERS = {
    "m.tsv": lambda path, rows: path.write_text(text(rows, "\t")),
    "m.txt": lambda path, rows: path.write_text(text(rows, ";", ",")),
    "m.csv.gz": lambda path, rows: path.write_bytes(gzip.compress(text(rows).encode())),
    "m.16.csv": lambda path, rows: path.write_bytes(text(rows).encode("utf-16")),
    "m.mark.csv": lambda path, rows: path.write_bytes(text(rows).encode("utf-8-sig")),
    "m.above.csv": lambda path, rows: path.write_text(ABOVE + text(rows)),
    "m.comment.csv": lambda path, rows: path.write_text("# recorded in March, by Ann, in the dark\n" + text(rows)),
    "m.numpy.csv": lambda path, rows: path.write_text("# " + text(rows)),
    "m.xlsx": excel,
    "m.parquet": parquet,
    "m.pqt": parquet,
    "m.parquet.csv": parquet,
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("name", WRITERS)
def test_all_commands_open_all_tables(tmp_path, kind, name):
    rows, read = READERS[kind]
    (tmp_path / "plain").mkdir()
    plain, path = tmp_path / "plain" / f"{name.split('.gz')[0].rpartition('.')[0]}.csv", tmp_path / name
    plain.write_text(text(rows))
    WRITERS[name](path, rows)
    assert read(path) == read(plain)


def test_environments_and_lists_are_opened_too(tmp_path):
    rows = [["state", "action", "next_state"], ["home", "go", "water"], ["water", "go", "home"]]
    (tmp_path / "env.csv").write_text(text(rows))
    excel(tmp_path / "env.xlsx", rows)
    (tmp_path / "env16.csv").write_bytes(text(rows, "\t").encode("utf-16"))
    expected = read_environment(tmp_path / "env.csv")
    for name in ("env.xlsx", "env16.csv"):
        found = read_environment(tmp_path / name)
        assert found.state_names == expected.state_names
        np.testing.assert_array_equal(found.dense(), expected.dense())


def test_faults_name_the_line_of_the_users_file(tmp_path):
    """Also below lines about the recording and a row of units, and the row of a sheet."""
    rows = [["t", "x", "y"], ["s", "cm", "cm"], [0, 1, 1], [1, "oops", 1]]
    (tmp_path / "a.csv").write_text(ABOVE + text(rows))
    with pytest.raises(ValueError, match=r"a\.csv, line 7, column x: 'oops' is not a number"):
        read_tracks(tmp_path / "a.csv")
    excel(tmp_path / "a.xlsx", [["Experiment", "maze"], [], *rows])
    with pytest.raises(ValueError, match=r"a\.xlsx, row 6, column x: 'oops' is not a number"):
        read_tracks(tmp_path / "a.xlsx")


def test_what_stands_above_is_told_and_units_are_kept(tmp_path):
    rows = [["t", "x", "y"], ["(ms)", "[cm]", ""], [0, 1, 1], [40, 2, 1]]
    (tmp_path / "a.csv").write_text(ABOVE + text(rows))
    table = open_table(tmp_path / "a.csv")
    assert table.above == {"Observer": "Ann"}
    assert table.units == {"t": "ms", "x": "cm"}
    assert table.notes == ("left out 2 lines above the table in a.csv",)
    [track] = read_tracks(tmp_path / "a.csv")
    assert track.times.tolist() == [0.0, 0.04]
    assert "x and y are in cm" in track.notes


@pytest.mark.parametrize(
    "content",
    [
        "state\nm\ns\nm\n",  # one column: m and s are states
        "t,state\n0,m\n1,s\n",
        "t,state,key\n0,1,s\n1,2,cm\n",
        "state,next\ns,m\nm,s\ns,m\n",  # letters that are units, above letters
    ],
)
def test_labels_that_look_like_units_are_data(tmp_path, content):
    (tmp_path / "a.csv").write_text(content)
    assert len(open_table(tmp_path / "a.csv").lines) == content.count("\n") - 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            "t,state\n0,1,5\n1,2,5\n2,1,5\n",
            "line 1 has 2 values, but the 3 lines below have 3: give each",
        ),  # a short header
        ("a note\n1,2,3\n4,5,6\n7,8,9\n", "is the line of column names missing"),  # and no header at all
        ("t,state\n0,home\n1,home,x,y\n2,water,x,y\n3,home,x,y\n", "line 3 has 4 values for 2 columns"),
    ],
)
def test_a_broken_table_is_not_taken_for_one_with_a_preamble(tmp_path, content, told):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(ValueError, match=told):
        open_table(tmp_path / "a.csv")


def test_sheets_must_be_chosen_where_there_are_several(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in STEPS:
        book.worksheets[0].append(row)
    other = book.create_sheet("day 2")
    for row in [["session", "t", "state"], ["c", 0, "water"]]:
        other.append(row)
    book.save(tmp_path / "book.xlsx")
    with pytest.raises(ValueError, match=r"2 sheets \('Sheet', 'day 2'\): say which with --sheet"):
        read_data(tmp_path / "book.xlsx")
    assert read_table(tmp_path / "book.xlsx", sheet="day 2").names == ("c",)
    assert read_table(tmp_path / "book.xlsx", sheet="day 2").notes[0] == "read sheet 'day 2'"
    with pytest.raises(ValueError, match="no sheet 'day 3' with data"):
        read_table(tmp_path / "book.xlsx", sheet="day 3")
    (tmp_path / "a.csv").write_text(text(STEPS))
    with pytest.raises(ValueError, match="is of an Excel file"):
        read_table(tmp_path / "a.csv", sheet="day 2")


def test_a_blank_line_in_one_column_is_a_frame_without_a_label(tmp_path):
    (tmp_path / "m1.csv").write_text("syllable\n3\n3\n\n3\n5\n\n\n")
    data = read_moseq(tmp_path / "m1.csv", fps=1)
    assert data.times[0].tolist() == [0.0, 3.0, 4.0]


# ---------------------------------------------------------------------- what real files hold


def test_windows_1252_is_read_and_said_so(tmp_path):
    """Excel and older programs write it; what cannot be it is refused, and a path of places is never guessed."""
    steps = "session;t;state\r\na;0;Käfig\r\na;1;home\r\n"
    (tmp_path / "a.csv").write_bytes(steps.encode("cp1252"))
    data = read_table(tmp_path / "a.csv")
    assert data.state_names == ("Käfig", "home")
    [note] = [note for note in data.notes if "BEWARE" in note]
    assert "a.csv is not UTF-8 and was taken for Windows-1252: line 2 has 'a;0;Käfig'" in note
    (tmp_path / "b.csv").write_bytes("t;Richtung °;x;y\n0;1;2;3\n1;1;2;4\n".encode("cp1252"))
    [track] = read_tracks(tmp_path / "b.csv")
    assert any("Windows-1252: line 1" in note for note in track.notes)
    (tmp_path / "c.csv").write_bytes("name,syllable\ncafé,1\ncafé,2\n".encode("cp1252"))
    assert any("Windows-1252" in note for note in read_moseq(tmp_path / "c.csv", fps=1).notes)
    for wrong in (b"state\n\x81\x8d\n1\n", b"state\n\xe9\x01\n1\n"):  # not in that alphabet; no text
        (tmp_path / "d.csv").write_bytes(wrong)
        with pytest.raises(ValueError, match=r"line 2 holds the byte 0x.., which is not UTF-8"):
            read_table(tmp_path / "d.csv")


def test_a_header_that_is_missing_is_guessed_at(tmp_path):
    """As one of BORIS' own files has it: the first line is the first bout."""
    (tmp_path / "a.tsv").write_text("obs 1\t25.0\ts\tSTATE\t1.8\t8.125\nobs 1\t25.0\ts\tSTATE\t10.25\t23.35\n")
    with pytest.raises(ValueError, match=r"Line 1 holds 25\.0, 1\.8, 8\.125: is the line of column names missing\?"):
        read_bout_tables(tmp_path / "a.tsv")
    (tmp_path / "b.csv").write_text("0,1,2\n0,1,0\n1,0,0\n")  # pandas calls columns so
    with pytest.raises(ValueError, match="give frames per second") as told:
        read_bout_tables(tmp_path / "b.csv")
    assert "missing?" not in str(told.value)


def test_a_remark_below_the_header_is_quoted(tmp_path):
    """EthoVision's sheet of a trial in which nothing was tracked."""
    excel(tmp_path / "a.xlsx", [["t", "x", "y"], ["No samples logged for this track!"]])
    with pytest.raises(ValueError, match=r"row 2, column t: 'No samples logged for this track!' is no time"):
        read_tracks(tmp_path / "a.xlsx")
    (tmp_path / "a.csv").write_text("t,x,y\n0,1,1\nNo samples logged!\n1,1,1\n")
    with pytest.raises(
        ValueError, match=r"line 3 has 1 value \('No samples logged!'\) for 3 columns: correct or delete"
    ):
        read_tracks(tmp_path / "a.csv")


def test_simba_with_a_header_of_three_lines(tmp_path):
    """SimBA's own: the same name in every column of two lines, x, y and p of each keypoint in the third."""
    names = [f"{animal}_{axis}" for animal in ("nose_1", "tail_1") for axis in "xyp"]
    rows = [["scorer", *(f"DLC_multi.{i}" for i in range(6))], ["bodyparts", *["DLC_multi"] * 6], ["coords", *names]]
    walk = [[i, i, 2.0, 0.9, i + 3, 2.0, 0.8] for i in range(5)]
    (tmp_path / "a.csv").write_text(text([*rows, *walk]))
    [track] = read_tracks(tmp_path / "a.csv", keypoint="tail_1")
    assert track.positions.tolist() == [[i + 3, 2.0] for i in range(5)]
    assert track.times.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    (tmp_path / "b.csv").write_text(text([*rows, *walk, [5, "oops", 2.0, 0.9, 8, 2.0, 0.8]]))
    with pytest.raises(ValueError, match=r"line 9, column nose_1_x: 'oops' is not a number"):
        read_tracks(tmp_path / "b.csv", keypoint="nose_1")


def test_an_empty_column_of_tracks_is_no_column(tmp_path):
    """SLEAP's CSV without tracking; half an empty one is still a fault."""
    rows = [["track", "frame_idx", "A.x", "A.y", "A.score"], ["", 0, 1.0, 2.0, 0.5], ["", 1, 2.0, 2.0, 0.5]]
    (tmp_path / "a.csv").write_text(text(rows))
    [track] = read_tracks(tmp_path / "a.csv")
    assert (track.positions.tolist(), track.subject) == ([[1.0, 2.0], [2.0, 2.0]], None)
    rows[1][0] = "m1"
    (tmp_path / "a.csv").write_text(text(rows))
    with pytest.raises(ValueError, match=r"line 3, column track: empty"):
        read_tracks(tmp_path / "a.csv")


def test_a_dash_is_a_lost_position_and_z_is_left_out(tmp_path):
    (tmp_path / "a.csv").write_text("t,x,y\n0,1,1\n1,-,-\n2,3,1\n")
    [track] = read_tracks(tmp_path / "a.csv")
    np.testing.assert_array_equal(track.positions[1], [np.nan, np.nan])
    (tmp_path / "b.csv").write_text("frame,nose_x,nose_y,nose_z\n0,1,1,7\n1,2,1,8\n")
    [track] = read_tracks(tmp_path / "b.csv")
    assert "left out z: places are laid over x and y" in track.notes
    assert not track.signals


def test_a_word_among_times_is_no_date(tmp_path):
    """Kinovea writes several tables into one sheet, each with its own header."""
    (tmp_path / "a.csv").write_text("Time (s),x,y\n0,1,1\n0.5,2,1\nTime (s),x,y\n0.5,2,1\n1,2,2\n")
    with pytest.raises(ValueError, match=r"line 4, column Time \(s\): 'Time \(s\)' is not a number, as the others are"):
        read_tracks(tmp_path / "a.csv")


def test_a_behaviour_that_is_on_twice_overlaps_itself(tmp_path):
    """As in The Observer: which STOP belongs to which START is the same to the whole; nothing is missing."""
    rows = [["time", "behavior", "status"], [1, "sniff", "START"], [2, "sniff", "START"], [3, "sniff", "STOP"]]
    rows += [[5, "sniff", "STOP"], [6, "groom", "START"], [7, "groom", "STOP"]]
    (tmp_path / "a.csv").write_text(text(rows))
    with pytest.raises(
        ValueError, match=r"'sniff' from 1 to 5 s \(line 2\) and 'sniff' from 2 to 3 s \(line 3\)"
    ) as told:
        read_bout_tables(tmp_path / "a.csv")
    assert "1 overlap of a behaviour with itself" in str(told.value)
    data = read_bout_tables(tmp_path / "a.csv", priority=["sniff", "groom"])
    assert [data.state_names[s] for s in data.states[0]][-1] == "groom"
    assert sum(data.signals["duration"][0][:-1]) == 4.0
    (tmp_path / "a.csv").write_text(text(rows[:4]))
    with pytest.raises(
        ValueError, match=r"line 2: 'sniff' of a starts at 1 s and never stops \(and starts again at 2 s\)"
    ):
        read_bout_tables(tmp_path / "a.csv")


# ---------------------------------------------------------------------- BORIS' projects


def test_the_table_of_a_textgrid(tmp_path):
    """What Praat's “Down to Table” saves, as the refusal of a TextGrid says to."""
    (tmp_path / "song.csv").write_text("tmin,tier,text,tmax\n0.1,syllable,a,0.5\n0.5,syllable,b,0.9\n")
    data = read_bout_tables(tmp_path / "song.csv")
    assert [data.state_names[s] for s in data.states[0]] == ["a", "b"]
    assert data.times[0].tolist() == [0.1, 0.5]
    assert data.signals["duration"][0].tolist() == [0.4, 0.4]


def project(events, kinds=None):
    kinds = kinds or {"rear": "State event", "groom": "State event", "sneeze": "Point event"}
    behaviours = {str(i): {"code": code, "type": kind} for i, (code, kind) in enumerate(kinds.items())}
    return {"behaviors_conf": behaviours, "observations": {"day 1": {"events": events}}, "subjects_conf": {}}


def test_boris_project(tmp_path):
    """State events have no mark in a project: every second one stops what the one before started."""
    events = [[0.5, "m1", "rear", "", ""], [2.0, "m1", "rear", "", ""], [2.0, "m1", "groom", "", ""]]
    events += [[3.0, "m1", "sneeze", "", ""], [4.5, "m1", "groom", "", ""]]
    (tmp_path / "p.boris").write_text(json.dumps(project(events)))
    data = read_bout_tables(tmp_path / "p.boris")
    assert [data.state_names[s] for s in data.states[0]] == ["rear", "groom"]
    assert data.times[0].tolist() == [0.5, 2.0]
    assert data.signals["duration"][0].tolist() == [1.5, 2.5]
    assert (data.names, data.subjects) == (("day 1",), ("m1",))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            project([[0.5, "m1", "rear", "", ""]]),
            r"event 1: 'rear' of day 1 starts at 0\.5 s and never stops",
        ),
        (project([]), "no observation of this BORIS project has events"),
        ({"events": []}, "it is JSON, but no BORIS project"),
        (["a"], "it is JSON"),
    ],
)
def test_boris_projects_that_cannot_be_read(tmp_path, content, told):
    (tmp_path / "p.boris").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=told):
        read_bout_tables(tmp_path / "p.boris")


# What files of other laboratories taught (studies/real_files.py, held out)


def test_names_that_no_row_reaches(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("X1\tY1\tp\t\n1\t2\t3\n2\t2\t3\n")  # idTracker: a tab at the end of the header
    table = open_table(path)
    assert table.header == ["X1", "Y1", "p"]
    assert not table.notes
    path.write_text("start\tstop\tSpecies\ttype\tdistance\n0\t1\ta\n2\t3\tb\n")  # an editor took the tabs away
    table = open_table(path)
    assert table.header == ["start", "stop", "Species"]
    assert table.notes[-1] == "no line has a value for 'type', 'distance': left out"
    for text in ("a,b,c\n1,2\n3,4\n", "a\tb\tc\n1\t2\n3\t4\t5\n"):  # not between commas, and not of some rows
        path.write_text(text)
        with pytest.raises(ValueError, match="line 2 has 2 values for 3 columns"):
            open_table(path)


def test_remarks_below_the_header(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('"Frame","Time","x"\n#4728.mp4\n# --fps 240 --unit m\n58,0.24,1\n#59,0.25,2\n')
    table = open_table(path)
    assert table.lines.tolist() == [4, 5]  # the last is a row: a name may begin with #
    assert "left out 2 remarks (#) in a.csv" in table.notes


@pytest.mark.parametrize(
    ("text", "n_rows"),
    [
        ('id,state,note\n#1,0,a\n#2,1,"b, c"\n#3,0,a\n#4,1,d\n', 4),
        ('"id","state","note, free"\n#1,0,a\n#2,1,b\n#3,0,a\n', 3),
        ('"t","state","a,b"\n0,0,1\n#1,1,2\n2,0,3\n', 3),
        ('t,state,note\n0,0,"first\n# second"\n1,1,x\n', 2),
    ],
    ids=["a comma in a cell", "a comma in the header", "one row of them", "within a cell"],
)
def test_rows_that_begin_with_a_hash_are_no_remarks(tmp_path, text, n_rows):
    (tmp_path / "a.csv").write_text(text)
    table = open_table(tmp_path / "a.csv")
    assert len(table.lines) == n_rows
    assert not table.notes
    if "second" in text:
        assert table.columns({2: "names"})[2].tolist() == ["first\n# second", "x"]


@pytest.mark.parametrize("text", ["id,state,t\n#1,0\n#2,1,1\n#3,0,2\n", "id,state,t\na,0,0\n#1,0\n#2,1,1\n"])
def test_a_row_that_begins_with_a_hash_and_is_cut_is_a_fault(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match="has 2 values for 3 columns"):
        open_table(tmp_path / "a.csv")


def test_cells_of_a_sheet_are_no_remarks(tmp_path):
    rows = [["id", "state", "note"], ["a", 0, "x"], ["#2", 1, "b, c"], ["#3", 0, "a"]]
    excel(tmp_path / "a.xlsx", rows)
    table = open_table(tmp_path / "a.xlsx")
    assert table.lines.tolist() == [2, 3, 4]
    assert not any("remark" in note for note in table.notes)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("File: C:\\\\MED-PC\\\\R1\n\n\n\nStart Date: 05/02/22\nEnd Date: 05/02/22\n", "a print-out of MED-PC"),
        ("File:,C:\\\\MED-PC,x\nStart,Date:,05/02/22\n", "a print-out of MED-PC"),
        ("FirstLineOfData=4\n#---\n\n390, g\n597, f\n", "focal data of JWatcher"),
    ],
)
def test_other_programs_files_are_called_what_they_are(tmp_path, text, told):
    path = tmp_path / "a.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=told):
        open_table(path)
    for blank in ("", 99 * "\n"):  # each blank line more once doubled the time that it took
        path.write_text(f"File:,state\n{blank}Start,home\nStop,water\n")
        assert open_table(path).header == ["File:", "state"]


def test_lines_above_a_table_may_begin_with_blank_cells(tmp_path):
    path = tmp_path / "a.csv"
    rows = [
        [None, None, None, "Strain:", None],
        [None, None, None, "Distance", 5],
        ["From", "To", "s", "State", "Note"],
    ]
    path.write_text(
        "\n".join(",".join("" if x is None else str(x) for x in row) for row in rows) + "\n0,1,1,a,\n1,2,1,b,\n"
    )
    assert open_table(path).header == ["From", "To", "s", "State", "Note"]


@pytest.mark.parametrize(
    ("text", "read", "n_read"),
    [
        ("time,x,y,speed,note\n0,0,0,1,a\n0.5,1,1,2,b\n1,1,2,3,c\n", read_tracks, 5),
        ("frame,behavior,note,zone\n0,rear,a,b\n1,rear,c,d\n2,groom,e,f\n", partial(read_bout_tables, fps=30), 2),
        ("start,stop,label,note\n0,1,rear,a\n1,2,groom,b\n", read_bout_tables, 3),
        ("t,state,12,15\n0,a,1,2\n1,b,2,3\n", read_data, 4),
    ],
    ids=["tracks", "frames", "bouts", "steps"],
)
def test_a_plain_table_is_parsed_once(tmp_path, monkeypatch, text, read, n_read):
    """A doubt about its header is no reason to read its columns."""
    parsed = []

    def counting(data, separator, n_columns, skip, kinds, lost=()):
        parsed.extend(kinds)
        return read_columns(data, separator, n_columns, skip, kinds, lost)

    monkeypatch.setattr("swirl.io.open_table.read_columns", counting)
    (tmp_path / "a.csv").write_text(text)
    read(tmp_path / "a.csv")
    assert len(parsed) == len({*parsed}) == n_read


def test_a_header_of_numbers_is_doubted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("46,2023.05.24,13:00:07,8,A1\n47,2023.05.24,13:00:08,7,A2\n")
    with pytest.raises(
        ValueError, match=r"is the line of column names missing\? Add that line, as in: t,subject,state"
    ):
        read_data(path)
    for text in (  # tags of animals; an event of another kind
        "1,8,E5ED\n2,7,85ED\n",
        "6419\t30 Jun 17\t51\tCt\n6420\t30 Jun 17\t51\tCt\n",
        "obs 1,25.0,s,LONG,1.8,8.125\nobs 1,25.0,p,POINT,10.25,23.35\n",
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match="column names missing"):
            read_data(path)
    for text in (
        "0,1,2\n5,6,7\n8,9,9\n",
        "zone,1,2,3\n5,6,7,1\n8,9,9,1\n",
        "time_s,zone_id,12,15\n0,1,0.5,1\n1,2,0.7,2\n",  # neurons by their numbers
        "t (ms),12,15\n0,1,2\n1,1,2\n",
    ):  # as pandas calls columns; a word is a name
        path.write_text(text)
        with pytest.raises(ValueError, match="there is no column 'state'"):
            read_data(path)
    path.write_text("time_s,stat,12,15\n0,1,0.5,1\n1,2,0.7,2\n")
    with pytest.raises(ValueError, match="did you mean 'stat'"):
        read_data(path)


def test_several_lines_of_names_are_told_with_the_line_where_the_numbers_begin(tmp_path):
    path = tmp_path / "a.csv"
    top = ["Take,maze 1,rate,100", "", ",Name,tag1,tag1,tag1,tag1", ",,Rotation,Position,Position,Position"]
    path.write_text("\n".join([*top, "Frame,Time,X,X,Y,Z", *(f"{i},{i}.5,1,2,3,4" for i in range(30))]) + "\n")
    with pytest.raises(ValueError, match="several lines of names stand above them") as error:
        open_table(path)
    assert "line 1 has 4 values, but the 33 lines below have 6, and the numbers begin in line 6" in str(error.value)


@pytest.mark.parametrize(("cell", "doubted"), [("0413A 01/18/16 13:46:06", True), ("head dip", False)])
def test_lines_of_one_value_that_holds_several_are_doubted(tmp_path, cell, doubted):
    path = tmp_path / "a.txt"
    path.write_text(f"READER10\n{cell}\n{cell}\n")
    with pytest.raises(ValueError, match="cannot be read") as error:
        read_data(path)
    assert ("is the line of column names missing? Columns are set apart by" in str(error.value)) == doubted
    path.write_text("t state\n0 1\n1 0\n")
    with pytest.raises(ValueError, match="Each line is one value, such as '0 1': set columns apart by commas") as error:
        read_data(path)
    assert "names missing" not in str(error.value)
