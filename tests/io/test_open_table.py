"""One opener for all commands: the same table gives the same sessions, however it is written down."""

import csv
import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest

from swirl.io.bout_tables import read_bout_tables
from swirl.io.environment_files import read_environment
from swirl.io.moseq import read_moseq
from swirl.io.open_table import open_table
from swirl.io.session_table import read_data, read_table
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
        ("t,state\n0,1,5\n1,2,5\n2,1,5\n", "line 2 has 3 values for 2 columns"),  # no preamble: the header is short
        ("a note\n1,2,3\n4,5,6\n7,8,9\n", "line 2 has 3 values for 1 columns"),  # and no header at all
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
    with pytest.raises(ValueError, match="no sheet 'day 3' with data"):
        read_table(tmp_path / "book.xlsx", sheet="day 3")
    (tmp_path / "a.csv").write_text(text(STEPS))
    with pytest.raises(ValueError, match="is of an Excel file"):
        read_table(tmp_path / "a.csv", sheet="day 2")


def test_a_blank_line_in_one_column_is_a_frame_without_a_label(tmp_path):
    (tmp_path / "m1.csv").write_text("syllable\n3\n3\n\n3\n5\n\n\n")
    data = read_moseq(tmp_path / "m1.csv", fps=1)
    assert data.times[0].tolist() == [0.0, 3.0, 4.0]


# ---------------------------------------------------------------------- BORIS' projects


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
