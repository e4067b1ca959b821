"""Long tables as people have them: frames, CSV in its dialects, Parquet; and each fault named by line and column."""

import gzip
import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.io.columns import Columns
from swirl.io.session_table import from_frame, place_of, read_csv, read_data, read_parquet, read_table

TABLE = pd.DataFrame(
    {
        "session": ["b", "b", "b", "a", "a"],
        "subject": ["m2", "m2", "m2", "m1", "m1"],
        "group": ["saline", "saline", "saline", "drug", "drug"],
        "t": [0.0, 0.5, 1.25, 0.0, 0.1],
        "state": ["water", "home", "home", "maze", "water"],
        "action": ["go", "stay", None, "go", None],
        "gap": [0, 0, 1, 0, 0],
        "speed": [1.5, np.nan, 2.0, 0.0, -1.0],
        "remark": ["x", "", "y", "", ""],
    }
)


def lists(arrays):
    return [array.tolist() for array in arrays]


def check_table(read, notes=("left out remark: not numbers that were recorded",)):
    assert lists(read.states) == [[2, 0, 0], [1, 2]]
    assert lists(read.actions) == [[0, 1, -1], [0, -1]]
    assert (read.state_names, read.action_names) == (("home", "maze", "water"), ("go", "stay"))
    assert (read.names, read.subjects, read.groups) == (("b", "a"), ("m2", "m1"), ("saline", "drug"))
    assert lists(read.times) == [[0.0, 0.5, 1.25], [0.0, 0.1]]
    assert lists(read.gaps) == [[2], []]
    assert list(read.signals) == ["speed"]
    np.testing.assert_array_equal(read.signals["speed"][0], [1.5, np.nan, 2.0])
    assert read.notes == notes
    assert read.n_states == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda frame: frame,
        lambda frame: frame.iloc[[3, 0, 1, 4, 2]].set_index(["session", "t"]).iloc[[1, 0, 2, 3, 4]],
        lambda frame: frame.rename(columns={"state": " State", "t": "T"}),
        pa.Table.from_pandas,
        lambda frame: frame.astype({"session": "category", "subject": "category", "state": "category"}),
        lambda frame: frame.astype(object),
    ],
    ids=["plain", "scattered, indexed", "header in capitals", "arrow", "categorical", "objects"],
)
def test_a_frame_in_any_form(make):
    check_table(from_frame(make(TABLE), signals=["speed"]), notes=())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("plain.csv", {}),
        ("with mark.csv", {"encoding": "utf-8-sig"}),
        ("sixteen.csv", {"encoding": "utf-16"}),
        ("Mäuse und Ratten 鼠.csv.gz", {}),
        ("semicolons.csv", {"sep": ";", "decimal": ","}),
        ("tabs.tsv", {"sep": "\t", "lineterminator": "\r\n"}),
        ("quoted.csv", {"quoting": 1}),
        ("quoted decimals.csv", {"decimal": ","}),
        ("old mac.txt", {"lineterminator": "\r"}),
    ],
)
def test_csv_in_its_dialects(tmp_path, name, options):
    folder = tmp_path / "Daten für später"
    folder.mkdir()
    TABLE.to_csv(folder / name, index=False, **options)
    semicolons = ("read with ; between the columns and decimal commas",) if ";" in options.values() else ()
    notes = (*semicolons, "left out remark: not numbers that were recorded")
    check_table(read_csv(folder / name), notes)
    # Written with its index, a frame has one column more, without a name.
    TABLE.to_csv(folder / name, index=True, **options)
    check_table(read_csv(str(folder / name)), notes)


@pytest.mark.parametrize("indexed", [False, True])
def test_parquet(tmp_path, indexed):
    path = tmp_path / "Mäuse 鼠.parquet"
    frame = TABLE.set_index("session") if indexed else TABLE
    frame.to_parquet(path, row_group_size=2)
    check_table(read_parquet(path))


def test_parquet_reads_only_what_it_needs(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    path, asked = tmp_path / "steps.parquet", []
    TABLE.to_parquet(path)
    read = pq.ParquetFile.read
    monkeypatch.setattr(pq.ParquetFile, "read", lambda self, columns: asked.extend(columns) or read(self, columns))
    from_few = read_parquet(path, Columns(subject=None, group=None, gap=None), signals=[])
    assert sorted(asked) == ["action", "session", "state", "t"]
    assert (from_few.subjects, from_few.signals) == ((None, None), None)


def test_only_states(tmp_path):
    assert from_frame(pd.DataFrame({"state": [3, 1]})).names == ("0",)
    (tmp_path / "mouse 7.csv").write_text("state\n3\n\n1\n")
    read = read_csv(tmp_path / "mouse 7.csv")
    assert (lists(read.states), read.names) == ([[3, 1]], ("mouse 7",))
    assert (lists(read.actions), lists(read.gaps)) == ([[-1, -1]], [[]])
    pd.DataFrame({"state": [3, 1]}).to_parquet(tmp_path / "mouse 8.parquet")
    assert read_parquet(tmp_path / "mouse 8.parquet").names == ("mouse 8",)


def test_identifiers_stay_as_they_are_written(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("session,subject,group,state\n007,1,NA,0\n8,,02,1\n")
    read = read_csv(path)
    assert (read.names, read.subjects, read.groups) == (("007", "8"), (1, None), ("NA", "02"))
    floats = from_frame(pd.DataFrame({"session": [1.0, 2.0], "subject": [3.0, np.nan], "state": [0, 0]}))
    assert (floats.names, floats.subjects) == (("1", "2"), (3, None))
    mixed = from_frame(pd.DataFrame({"session": [1, "1", "x"], "state": [0, 1, 2]}))
    assert (mixed.names, lists(mixed.states)) == (("1", "x"), [[0, 1], [2]])


def test_steps_without_a_state_leave_gaps(tmp_path):
    path = tmp_path / "holes.csv"
    path.write_text(
        "session,t,state,action,speed\na,0,,1,9\na,1,3,1,1\na,2,,0,9\na,3,,0,9\na,4,0,,2\nb,0,2,,3\nb,1,,,9\n"
        "c,0,,,9\n,,,,\n,,,,\n"
    )
    read = read_csv(path)
    assert (lists(read.states), lists(read.actions)) == ([[3, 0], [2]], [[1, -1], [-1]])
    assert (lists(read.times), lists(read.gaps)) == ([[1.0, 4.0], [0.0]], [[1], []])
    assert lists(read.signals["speed"]) == [[1.0, 2.0], [3.0]]
    assert read.names == ("a", "b")
    assert read.notes == (
        "left out 2 empty rows",
        "dropped 5 steps without a state, and marked gaps in their place",
        "left out 1 session without a single state: c",
    )


def test_a_missing_state_without_times_is_a_missed_step():
    read = from_frame(pd.DataFrame({"state": [0, None, 1]}))
    assert (lists(read.states), lists(read.gaps)) == ([[0, 1]], [[1]])


def test_rows_are_sorted_by_time():
    frame = TABLE.iloc[[1, 4, 2, 3, 0]]
    assert from_frame(frame, signals=[]).notes == ("sorted 2 sessions by t: the rows were not in order of time",)
    read = from_frame(frame)
    order = [read.names.index(name) for name in ("b", "a")]
    assert [read.states[i].tolist() for i in order] == [[2, 0, 0], [1, 2]]
    assert [read.gaps[i].tolist() for i in order] == [[2], []]


def test_rows_without_times_keep_their_order():
    frame = pd.DataFrame({"session": np.arange(300) % 7, "state": np.arange(300)})
    assert lists(from_frame(frame).states) == [list(range(i, 300, 7)) for i in range(7)]


def test_dates_become_seconds(tmp_path):
    path = tmp_path / "dates.csv"
    path.write_text(
        "session,t,state\na,2025-03-01T09:30:00.25,0\na,2025-03-01T09:30:01,1\nb,2025-03-01 10:00:02+01:00,2\n"
        "b,2025-03-01T09:00:00Z,3\n"
    )
    read = read_csv(path)
    assert lists(read.times) == [[0.0, 0.75], [0.0, 2.0]]
    assert lists(read.states) == [[0, 1], [3, 2]]
    assert read.notes[-1] == "t holds dates: times are seconds since the first step of each session"
    frame = pd.DataFrame({"state": [0, 1], "t": pd.to_datetime(["2025-01-01 00:00:00", "2025-01-01 00:01:00"])})
    assert lists(from_frame(frame).times) == [[0.0, 60.0]]
    assert lists(from_frame(frame.assign(t=pd.to_timedelta([1, 3], "s"))).times) == [[1.0, 3.0]]


@pytest.mark.parametrize(
    ("column", "labels", "names"),
    [
        ([3.0, np.nan, 0.0], [3, 0], None),
        (pd.array([3, None, 0], dtype="Int64"), [3, 0], None),
        (["10", "", "9"], [10, 9], None),
        (["b", None, "a"], [1, 0], ("a", "b")),
        ([True, None, False], [1, 0], ("False", "True")),
        (pd.Categorical(["b", None, "a"], ["c", "b", "a"]), [1, 2], ("c", "b", "a")),
        (pd.Categorical(["1", None, "0"], ["1", "0"]), [0, 1], ("1", "0")),
        (pd.Categorical([7, None, 5]), [7, 5], None),
    ],
)
def test_labels(column, labels, names):
    read = from_frame(pd.DataFrame({"state": column}))
    assert (lists(read.states), read.state_names) == ([labels], names)


def test_text_and_numbers_are_all_names():
    read = from_frame(pd.DataFrame({"state": ["home", 3.0, 12, "3"]}))
    assert (lists(read.states), read.state_names) == ([[2, 1, 0, 1]], ("12", "3", "home"))
    assert read.notes == ("state mixes text with numbers, such as 3: all were read as names",)


@pytest.mark.parametrize(
    ("column", "given", "labels"),
    [
        (["b", "a"], ["b", "a", "c"], [0, 1]),
        ([2, 0], ["b", "a", "c"], [2, 0]),
        ([20, 10], ["10", "20"], [1, 0]),
        (["20", "10"], ["10", "20"], [1, 0]),
        ([2, 1], ["1", "2", "nest"], [1, 0]),  # the nest was never visited: still names, not a count
        ([0, 1], ["1", "2", "nest"], [0, 1]),
    ],
)
def test_given_names(column, given, labels):
    read = from_frame(pd.DataFrame({"state": column, "action": column}), state_names=given, action_names=given)
    assert (lists(read.states), lists(read.actions)) == ([labels], [labels])
    assert (read.state_names, read.action_names) == (tuple(given), tuple(given))


def test_channels_of_one_signal():
    frame = pd.DataFrame({"state": [0, 1], "x_1": [3.0, 4.0], "x_0": [1, 2], "y_0": [5, 6], "z_1": [7, 8], "step": 0})
    read = from_frame(frame)
    assert {name: lists(arrays) for name, arrays in read.signals.items()} == {
        "x": [[[1.0, 3.0], [2.0, 4.0]]],
        "y_0": [[5.0, 6.0]],
        "z_1": [[7.0, 8.0]],
    }
    assert read.notes == (
        "read x_0, x_1 as the 2 channels of one signal, x",
        "left out step: not numbers that were recorded",
    )
    assert list(from_frame(frame.assign(x=0)).signals) == ["x_1", "x_0", "y_0", "z_1", "x"]
    assert list(from_frame(frame, signals=["x", "X_0", "step"]).signals) == ["x", "X_0", "step"]


def test_columns_by_other_names_are_hinted_at():
    read = from_frame(pd.DataFrame({"recording": ["a", "b"], "time": [0, 0], "state": [0, 1]}))
    assert read.notes[:2] == (
        "BEWARE: no column is called 'session', so all rows are one session: if 'recording' is it, say so: "
        "session='recording' (--columns session=recording)",
        "no column is called 't': if 'time' is it, say so: time='time' (--columns time=time)",
    )
    named = from_frame(
        pd.DataFrame({"recording": ["a", "b"], "time": [0, 0], "state": [0, 1]}),
        Columns(session="recording", time="time"),
    )
    assert (named.names, named.notes) == (("a", "b"), ())


FRAME_FAULTS = {
    "no state": ({"States": [0]}, {}, "no column 'state': the columns are States; did you mean 'States'?"),
    "named but absent": ({"state": [0], "subj": ["a"]}, {"columns": Columns(subject="subjct")}, "did you mean 'subj'"),
    "negative": ({"state": [0, -1, -2]}, {}, "state is -1 in rows 1, 2: not a label; leave it blank"),
    "fraction": ({"state": [0, 1.5]}, {}, "state is 1.5 in row 1: not a label; give whole numbers"),
    "infinite": ({"state": [0, np.inf]}, {}, "state is inf in row 1"),
    "a time stamp": ({"state": [0, 1.7e12]}, {}, "state is 1.7e+12 in row 1: not a label"),
    "fraction as text": ({"state": ["0", "-0.5"]}, {}, "state is -0.5 in row 1"),
    "action": ({"state": [0, 1], "action": [-1, -3]}, {}, "action is -3 in row 1"),
    "dates": ({"state": pd.to_datetime(["2025-01-01"])}, {}, "state holds Timestamp"),
    "unknown name": ({"state": ["a", "b"]}, {"state_names": ["a"]}, "state is 'b' in row 1: not among state_names"),
    "beyond names": ({"state": [0, 2]}, {"state_names": ["a", "b"]}, "state is 2 in row 1: not among the 2 names"),
    "digit names": ({"state": [1, 3]}, {"state_names": ["1", "2"]}, "state is 3 in row 1: not among the 2 names"),
    "repeated names": ({"state": ["a"]}, {"state_names": ["a", "a"]}, "state_names repeats a"),
    "gap": ({"state": [0, 1], "gap": ["", "maybe"]}, {}, "gap is 'maybe' in row 1: give 1 (or true)"),
    "blank session": ({"session": ["a", None], "state": [0, 1]}, {}, "session is blank in row 1"),
    "blank time": ({"t": [0, np.nan, np.inf], "state": [0, 1, 1]}, {}, "t is blank or not finite in rows 1, 2"),
    "no time": ({"t": ["0", "soon"], "state": [0, 1]}, {}, "t is 'soon' in row 1: give seconds, or dates"),
    "same time": (
        {"session": list("aba"), "t": [1, 1, 1], "state": [0, 1, 2]},
        {},
        "t is 1.0 in both rows 0, 2 of session 'a'",
    ),
    "same times": ({"t": [1] * 9, "state": [0] * 9}, {}, "t repeats 5 more times in this way"),
    "two subjects": (
        {"session": ["a", "a", "a"], "subject": [None, "m1", "m2"], "state": [0, 1, 2]},
        {},
        "subject is 'm2' in row 2 of session 'a' but 'm1' before: a session has one subject",
    ),
    "two groups": ({"group": [1, 2], "state": [0, 1]}, {}, "group is 2 in row 1 but 1 before"),
    "signal absent": ({"state": [0], "speed": [1]}, {"signals": ["sped"]}, "no column 'sped'; did you mean 'speed'"),
    "signal is text": ({"state": [0, 0], "v": ["1", "fast"]}, {"signals": ["v"]}, "v is 'fast' in row 1: a signal"),
    "signals no list": ({"state": [0]}, {"signals": "v"}, "signals='v': give a list"),
    "no rows": ({"state": []}, {}, "no rows"),
    "all blank": ({"state": [None, ""]}, {}, "state is blank in every row"),
    "two of a kind": ({"STATE": [0], "State": [0]}, {}, "columns STATE, State could all be 'state'"),
}


@pytest.mark.parametrize("case", FRAME_FAULTS)
def test_faults_of_a_frame(case):
    columns, options, words = FRAME_FAULTS[case]
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        from_frame(pd.DataFrame(columns), source="my table", **options)
    assert str(caught.value).startswith("my table cannot be read")


def test_faults_are_told_together_and_other_things_are_no_table():
    frame = pd.DataFrame({"session": ["a", None, "a"], "subject": ["x", "x", "y"], "state": [0, 1, -1], "gap": 7})
    with pytest.raises(ValueError, match=r"cannot be read .*: 4 faults"):
        from_frame(frame)
    with pytest.raises(ValueError, match="it is a list: give a pandas DataFrame"):
        from_frame([1, 2])
    with pytest.raises(ValueError, match="2 levels"):
        from_frame(pd.DataFrame([[0]], columns=pd.MultiIndex.from_tuples([("state", "x")])))
    with pytest.raises(ValueError, match="occur more than once: state"):
        from_frame(pd.DataFrame([[0, 1]], columns=["state", "state"]))


CSV_FAULTS = {
    "empty": (b"", "it is empty"),
    "blank lines": (b"\n \n\n", "only blank lines"),
    "header only": (b"session,state\n", "column names and nothing else"),
    "long row": (b"t,state\n0,1\n\n1,2,3\n", "line 4 has 3 values for 2 columns"),
    "cut short": (b"session,t,state\na,0,1\na,1", "line 3 has 2 values for 3 columns: the file ends there: was it cut"),
    "many ragged": (b"t,state\n" + b"1,2,3\n" * 9, "line 1 has 2 values, but the 9 lines below have 3"),
    "ragged, quoted": (b't,state\n0,"a\nb"\n1,"c",3\n', "line 4 has 3 values"),
    "open quote": (b't,state\n0,1\n1,"c\n2,3\n', "line 3: unexpected end of data"),
    "no known alphabet": (b"session,state\nm\x81use,1\n", "line 2 holds the byte 0x81, which is not UTF-8"),
    "mixed encodings": ("state\nMäuse\n".encode() + "Mäuse\n".encode("cp1252"), "line 3 holds the byte 0xE4"),
    "half a utf-16": ("t,state\n0,1\n".encode("utf-16")[:-1], "not UTF-16"),
    "zero bytes": (b"state\n1\n\x00\n", "line 3 holds a zero byte"),
    "picture": (b"\x89PNG\r\n\x1a\n\x00\x00\xff\xff", "it is not text"),
    "parquet": (b"PAR1\x00\x00", "it is not a Parquet file, or is damaged"),
    "workbook": (b"PK\x03\x04\x00\x00", "Excel workbook: unpack it, or save the sheet as “CSV UTF-8”"),
    "gzip, cut": (gzip.compress(b"state\n" + b"1\n" * 500)[:-12], "its compression is damaged or cut short"),
    "no gzip": (b"\x1f\x8bstate\n", "its compression is damaged"),
    "no state": (b"session,stat\na,1\n", "no column 'state': the columns are session, stat; did you mean 'stat'?"),
    "other separator": (b"session|state\na|1\n", "no column 'state': the columns are session|state"),
    "twice": (b"state, state\n1,2\n", "occur more than once: state"),
    "negative, after blanks": (b"\n\nt,state\n\n0,1\n\n1,-4\n", "state is -4 in line 7"),
    "after quoted lines": (b't,state,note\n0,1,"a\n\nb"\n1,-4,c\n', "state is -4 in line 5"),
    "same time": (b"t;state\n0,5;1\n1,5;2\n0,5;3\n", "t is 0.5 in both lines 2, 4"),
}


@pytest.mark.parametrize("case", CSV_FAULTS)
def test_faults_of_a_csv(tmp_path, case):
    content, words = CSV_FAULTS[case]
    path = tmp_path / "Sitzung 1 (neu).csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        read_csv(path)
    assert str(caught.value).startswith(f"{path} cannot be read")


MIXED = {
    "numbers, then text": ["0", "1", "2", "home", "007"],
    "text, then numbers": ["home", "007", "0", "1", "2"],
    "blanks, then text": ["", "", "NA", "home", ""],
    "numbers with blanks": ["1", "", "2", "3", "NaN"],
    "true and false, then numbers": ["True", "False", "True", "0", "1"],
    "spaces": ["a", " a", "a ", "b", "b "],
    "decimal commas, then none": ["1,5", "2,5", "3", "4", "x"],
}


@pytest.mark.parametrize("values", MIXED.values(), ids=MIXED)
@pytest.mark.parametrize("cells", [1, 12])
def test_a_table_read_in_parts_is_the_same(tmp_path, monkeypatch, values, cells):
    """In parts of one row and of two; the whole is one part by default."""
    rows = "".join(f"{x};{i},5;{x};{x};{x};{x}\n" for i, x in enumerate(values))
    path = tmp_path / "a.csv"
    path.write_text("session;t;state;action;speed;note\n" + rows)

    def outcome():
        try:
            return repr(read_csv(path))
        except ValueError as error:
            return str(error)

    whole = outcome()
    monkeypatch.setattr("swirl.io.text_table.CELLS", cells)
    assert outcome() == whole


def test_a_session_in_two_places_without_times_is_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("session,state\na,0\na,1\nb,0\nb,1\na,0\na,2\n")
    with pytest.raises(ValueError, match="session 'a' starts in lines 2, 6, and there is no time to say"):
        read_csv(path)
    path.write_text("session,t,state\na,0,0\na,1,1\nb,0,0\nb,1,1\na,2,0\na,3,2\n")
    assert [x.tolist() for x in read_csv(path).states] == [[0, 1, 0, 2], [0, 1]]
    path.write_text("session,state\na,0\nb,0\na,1\nb,1\n")  # by turns
    assert [x.tolist() for x in read_csv(path).states] == [[0, 1], [0, 1]]


def test_one_wrong_time_among_decimal_commas_is_the_one_that_is_told(tmp_path):
    (tmp_path / "a.csv").write_text("t;state\n0,5;1\nsoon;2\n1,5;1\n")
    with pytest.raises(ValueError, match="t is 'soon' in line 3: give seconds"):
        read_csv(tmp_path / "a.csv")


@pytest.mark.parametrize("read", [read_csv, read_parquet])
def test_files_that_are_not_there(tmp_path, read):
    with pytest.raises(ValueError, match="it is a folder"):
        read(tmp_path)
    with pytest.raises(ValueError, match=r"nowhere\.csv cannot be read: 1 fault.\n .*does not exist"):
        read(tmp_path / "nowhere.csv")


def test_a_file_that_unfolds_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("swirl.io.open_table.MAX_TEXT", 1000)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"state\n" + b"1\n" * 10000))
    with pytest.raises(ValueError, match="store it as Parquet"):
        read_csv(tmp_path / "bomb.csv.gz")


def test_faults_of_a_parquet_file(tmp_path):
    path = tmp_path / "steps.parquet"
    TABLE.to_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(ValueError, match="it is not a Parquet file, or is cut short"):
        read_parquet(path)
    path.write_bytes(whole[:10] + bytes(400) + whole[410:])
    with pytest.raises(ValueError, match="it is damaged or cut short"):
        read_parquet(path)
    TABLE[:0].to_parquet(path)
    with pytest.raises(ValueError, match="no rows"):
        read_parquet(path)
    TABLE.assign(state=[0, 1, 2, 3, -5]).to_parquet(path)
    with pytest.raises(ValueError, match=r"rows are counted from 0\).*\n.*state is -5 in row 4"):
        read_parquet(path)


def test_without_pyarrow_parquet_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ValueError, match=re.escape("pip install 'swirl-irl[parquet]'")):
        read_parquet(tmp_path / "x.parquet")


def test_steps_know_their_place_in_the_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("session,t,state\nb,1,0\n\nb,0,1\na,0,\na,1,2\n")
    data = read_csv(path)
    assert [place_of(data, *at) for at in ((0, 0), (0, 1), (1, 0))] == ["line 4", "line 2", "line 6"]
    assert place_of(data[1:], 0, 0) == "line 6"
    assert place_of(Trajectories([[0]]), 0, 0) is None


@pytest.mark.parametrize("ending", [".parquet", ".pq", ".pqt", ".PQT"])
def test_parquet_by_any_of_its_endings(tmp_path, ending):
    path = tmp_path / f"sessions{ending}"
    pd.DataFrame({"session": ["a", "a"], "state": ["home", "water"]}).to_parquet(path)
    assert read_data(path).state_names == ("home", "water")


def numbered_by_mouse(mice=("m1", "m2"), n_sessions=2, n_steps=4):
    """A tidy table in which every mouse has the sessions 1, 2, …."""
    rows = [
        (mouse, "drug" if mouse == "m2" else "control", session, 0.5 * t, "AB"[t * session % 2])
        for mouse in mice
        for session in range(1, n_sessions + 1)
        for t in range(n_steps)
    ]
    return pd.DataFrame(rows, columns=["mouse", "group", "session", "t", "state"])


@pytest.mark.parametrize("key", [("mouse", "session"), ["mouse", "session"], "mouse,session", " Mouse , SESSION"])
def test_sessions_told_by_several_columns(tmp_path, key):
    table = numbered_by_mouse()
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet", index=False)
    columns = {"session": key, "subject": "mouse"}
    every = [from_frame(table, columns), *(read_data(tmp_path / name, columns) for name in ("a.csv", "a.parquet"))]
    every.append(from_frame(table.sample(frac=1, random_state=0), columns))
    for read in every:
        assert sorted(read.names) == ["m1 1", "m1 2", "m2 1", "m2 2"]
        assert [(name[:2], name[:2] == "m2") for name in read.names] == [
            (subject, group == "drug") for subject, group in zip(read.subjects, read.groups, strict=True)
        ]
        assert {name: states.tolist() for name, states in zip(read.names, read.states, strict=True)} == {
            "m1 1": [0, 1, 0, 1], "m2 1": [0, 1, 0, 1], "m1 2": [0, 0, 0, 0], "m2 2": [0, 0, 0, 0],
        }  # fmt: skip


def test_names_of_sessions_told_by_several_columns_are_unambiguous():
    table = pd.DataFrame({"a": ["a b", "a", "a b", "m1"], "b": ["c", "b c", "c", 1], "state": [0, 1, 2, 3]})
    read = from_frame(table, {"session": ("a", "b")})
    assert dict(zip(read.names, lists(read.states), strict=True)) == {"a b / c": [0, 2], "a / b c": [1], "m1 1": [3]}
    table = pd.DataFrame({"a": ["a / b", "a"], "b": ["c", "b / c"], "state": [0, 1]})
    with pytest.raises(ValueError, match=r"a and b would give two different sessions the name 'a / b / c' \(rows 0, 1"):
        from_frame(table, {"session": ("a", "b")})
    table = pd.DataFrame({"cage": [1, 1, 2], "mouse": [1, 1, 1], "day": [1, 2, 1], "state": [0, 0, 0]})
    read = from_frame(table, {"session": "cage,mouse,day", "subject": ("cage", "mouse")})
    assert (read.names, read.subjects) == (("1 1 1", "1 1 2", "2 1 1"), ("1 1", "1 1", "2 1"))


def test_a_column_with_a_comma_in_its_name_is_one_column():
    table = pd.DataFrame({"mouse,session": ["a", "b"], "state": [0, 1]})
    assert from_frame(table, {"session": "mouse,session"}).names == ("a", "b")


def test_a_key_with_a_blank_or_unknown_part_is_told():
    table = numbered_by_mouse()
    with pytest.raises(ValueError, match="there is no column 'day'"):
        from_frame(table, {"session": ("mouse", "day")})
    table.loc[3, "mouse"] = None
    with pytest.raises(ValueError, match="mouse or session is blank in row 3: say which session it is"):
        from_frame(table, {"session": ("mouse", "session")})
    with pytest.raises(ValueError, match=r"columns\['session'\] is \('mouse', 3\): give the names of its columns"):
        from_frame(table, {"session": ("mouse", 3)})
    with pytest.raises(ValueError, match=r"columns\['group'\] is \('mouse', 'session'\): give the name of the column"):
        from_frame(table, {"group": ("mouse", "session")})


def test_one_session_of_several_subjects_is_a_session_of_each():
    table = numbered_by_mouse()
    by_turns = table.sort_values(["t", "mouse"])  # several animals at once, rows in the order of time
    for each in (table, by_turns, by_turns.drop(columns="t")):
        read = from_frame(each, {"subject": "mouse"})
        assert sorted(read.names) == ["m1 1", "m1 2", "m2 1", "m2 2"]
        assert [name[:2] for name in read.names] == list(read.subjects)
        assert any("session '1' is there for 2 subjects (m1, m2)" in note for note in read.notes)
        wanted = dict(zip(read.names, lists(read.states), strict=True))
        assert wanted == {"m1 1": [0, 1, 0, 1], "m2 1": [0, 1, 0, 1], "m1 2": [0, 0, 0, 0], "m2 2": [0, 0, 0, 0]}
    told = from_frame(numbered_by_mouse(["m1"]), {"subject": "mouse"})
    assert (told.names, told.notes) == (("1", "2"), ())  # where nothing is shared, names stay


@pytest.mark.parametrize("slip", ["M1", "m2 ", "", "m3"], ids=["capital", "other mouse", "blank", "one row"])
def test_a_slip_in_the_column_of_subjects_is_a_fault_and_no_session(slip):
    table = numbered_by_mouse(n_steps=6)
    table.loc[[2, 3] if slip == "M1" else [2], "mouse"] = slip
    # Where session 1 is of one mouse only, the slip would cut it in two; a blank one is filled in as ever.
    alone = table[(table["mouse"] != "m2") | (table["session"] != 1)]
    if slip == "":
        with pytest.raises(ValueError, match="of session"):
            from_frame(table, {"subject": "mouse"})
        assert from_frame(alone[alone["mouse"] != "m2"], {"subject": "mouse"}).names == ("1", "2")
        return
    with pytest.raises(ValueError, match=r"mouse is .* before: a session has one subject; correct it, or give each"):
        from_frame(alone, {"subject": "mouse"})


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_sessions_numbered_by_a_mouse_that_nobody_named(tmp_path, suffix):
    table, path = numbered_by_mouse(), tmp_path / f"a.{suffix}"
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path, index=False)
    with pytest.raises(
        ValueError, match=r"1 fault\.\n.*--columns session=mouse\+session,subject=mouse\).*and 5 more faults"
    ):
        read_data(path)
    # Without times nothing is wrong, but rows of several mice would be one session: that is said.
    bare = table.drop(columns=["t", "group"]).sort_values("session", kind="stable")
    assert "BEWARE: mouse changes within a session" in " ".join(from_frame(bare).notes)
    # No session is told at all: rows of all mice would be one.
    one = bare.drop(columns="session")
    assert "BEWARE: all rows are one session, but mouse changes within it" in " ".join(from_frame(one).notes)
    of_one = one.assign(mouse="m1")
    assert not any("BEWARE" in note for note in from_frame(of_one).notes)
    told = from_frame(one.sort_values("mouse", kind="stable"), {"session": "mouse", "subject": "mouse"})
    assert (len(told), told.notes) == (one["mouse"].nunique(), ())


def lab_table():
    """Two mice, two days each, numbered for each mouse; a group, and a signal."""
    rows = [
        {
            "Mouse": mouse,
            "Treatment": drug,
            "Day": day,
            "time_s": t * 1.0,
            "zone": "ab"[t % 2],
            "dff": 0.1 * t,
            "trial": t,
        }
        for mouse, drug in (("M1", "saline"), ("M2", "drug"), ("M3", "drug"))
        for day in (1, 2)
        for t in range(8)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "frame"])
def test_days_of_one_mouse_that_would_be_one_session(tmp_path, suffix):
    def read(table, **columns):
        if suffix == "frame":
            return from_frame(table, {"state": "zone", **columns})
        path = tmp_path / f"a.{suffix}"
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path, index=False)
        return read_table(path, {"state": "zone", **columns})

    table, mouse = lab_table(), {"session": "Mouse", "subject": "Mouse"}
    hint = "Day changes within session M1: if each Day is a session of its own, say so: session=('Mouse', 'Day') "
    typed = "(--columns session=Mouse+Day)"
    for days in (table, table.assign(Day="2026-03-0" + table["Day"].astype(str))):
        assert f"BEWARE: {hint}{typed}" in read(days, **mouse).notes
        with pytest.raises(
            ValueError, match=r"1 fault\.\n  1\. " + re.escape(f"{hint}{typed} (else, time_s is 0.0 in both ")
        ):
            read(days, **mouse, time="time_s")
    # A subject that changes: what to type, with the day.
    with pytest.raises(ValueError, match=r"or give each its own session \(--columns session=Mouse\+Day\)"):
        read(table, subject="Mouse")
    with pytest.raises(ValueError, match=r"or give each its own session \(--columns session=Mouse\)"):
        read(table.drop(columns="Day"), subject="Mouse")
    told = read(table.drop(columns="Day"), session="Mouse", subject="Mouse").notes
    assert not any("changes within" in note for note in told)  # of "trial" each row has its own
    both = read(table, session=("Mouse", "Day"), subject="Mouse", time="time_s", group="Treatment")
    assert (len(both), [note for note in both.notes if "changes" in note or "group" in note]) == (6, [])


def test_trials_within_a_session_are_a_quiet_hint():
    table = pd.DataFrame({"session": ["a"] * 20, "state": [0, 1] * 10, "trial": np.repeat([1, 2], 10)})
    (note,) = from_frame(table).notes
    assert note.startswith("trial changes within session a: if each trial is a session of its own, say so: ")
    assert from_frame(table.assign(trial=np.tile([1, 2], 10))).notes == ()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "frame"])
@pytest.mark.parametrize(
    ("words", "loud"),
    [(["yes", "no"], True), (["hit", "miss", "none"], True), ([*"uvwxyz"], False), (["yes", *[""] * 23], False)],
)
def test_a_column_of_outcomes_is_not_left_out_in_passing(tmp_path, suffix, words, loud):
    """One word of two or three in each trial: what the animal got.  It had been "not numbers" and no more."""
    table, columns = lab_table(), {"state": "zone", "session": ("Mouse", "Day"), "subject": "Mouse"}
    table["Rewarded"] = words * (48 // len(words))
    path = tmp_path / f"a.{suffix}"
    if suffix == "frame":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            notes = from_frame(table, columns).notes
    else:
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path, index=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            notes = read_data(path, columns).notes
    told = [note for note in notes if "left out Rewarded" in note]
    assert [note.startswith("BEWARE") for note in told] == [loud]
    assert all(repr(word) in told[0] for word in words if loud)
    assert ("write 1 and 0 in the table to keep it as a signal" in told[0]) is loud


@pytest.mark.parametrize("suffix", ["csv", "parquet", "frame"])
def test_a_group_that_nobody_named(tmp_path, suffix):
    table, columns = lab_table(), {"state": "zone", "session": ("Mouse", "Day"), "subject": "Mouse"}
    table["note"] = [*"uvwxyz"] * 8  # changes within a session
    path = tmp_path / f"a.{suffix}"
    if suffix == "frame":
        notes = from_frame(table.assign(lists=[[1]] * 48), columns).notes
    else:
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path, index=False)
        notes = read_data(path, columns).notes
    assert [note for note in notes if "left out" in note or "group" in note] == [
        "left out Treatment (drug, saline), which has one value for each session, as a group has; to use it as the "
        "group: group='Treatment' (--columns group=Treatment)",
        f"left out {'note, lists' if suffix == 'frame' else 'note'}: not numbers that were recorded",
    ]
    named = from_frame(table, {**columns, "group": "Treatment"})
    assert not any("group" in note or "Treatment" in note for note in named.notes)
    # What is asked about is not in the list of what was left out.
    asked = from_frame(table.assign(Day="d" + table["Day"].astype(str)), {"state": "zone", "session": "Mouse"}).notes
    assert [[word in note for note in asked].count(True) for word in ("Treatment", "Day", "Mouse", "note")] == [
        1, 1, 2, 1,
    ]  # fmt: skip


def two_recordings(n_rows=30, later=1000.0, first=0.25, **more):
    """Two recordings of one mouse whose rows alternate."""
    rows = [
        {"mouse": mouse, "Day": day, "t": later * (day - 1) + first * day + t, "zone": "abc"[(t * day) % 3], **more}
        for mouse in ("m1", "m2")
        for t in range(n_rows)
        for day in (1, 2)
    ]
    return pd.DataFrame(rows)


MOUSE = {"state": "zone", "session": "mouse", "subject": "mouse"}


@pytest.mark.parametrize("suffix", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("later", [0.0, 1000.0])
def test_days_of_one_mouse_that_alternate(tmp_path, suffix, later):
    def read(table, **columns):
        if suffix == "frame":
            return from_frame(table, {**MOUSE, **columns})
        path = tmp_path / f"a.{suffix}"
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path, index=False)
        return read_table(path, {**MOUSE, **columns})

    table = two_recordings(later=later)
    told = "Day changes within session m1: if each Day is a session of its own, say so: session=('mouse', 'Day') "
    for each in (table, table.drop(columns="t"), table.assign(Day="2026-03-0" + table["Day"].astype(str))):
        assert [note for note in read(each).notes if "BEWARE" in note] == [
            f"BEWARE: {told}(--columns session=mouse+Day)"
        ]
    # A clock that begins anew each day: what to type stands before what is wrong with the times.
    with pytest.raises(ValueError, match=r"1 fault\.\n  1\. " + re.escape(told)):
        read(two_recordings(later=0.0, first=0.0))
    numbered = table.rename(columns={"Day": "session_no"}).assign(session_no=table["Day"] - 1)  # 0 and 1
    assert any("session_no changes within session m1" in note for note in read(numbered).notes)
    both = read(table, session=("mouse", "Day"))
    assert (len(both), [note for note in both.notes if "BEWARE" in note]) == (4, [])


@pytest.mark.parametrize("dates", [False, True])
def test_clocks_that_alternate_without_a_day(dates):
    def of(table):
        return table.assign(t=pd.Timestamp("2026-03-01") + pd.to_timedelta(table["t"], "s")) if dates else table

    table = of(two_recordings().drop(columns="Day"))
    told = (
        "if rows of 2 recordings alternate, add a column that says which recording each row is of, and name it: "
        "session=('mouse', 'recording') (--columns session=mouse+recording)"
    )
    assert f"BEWARE: t goes like 2 clocks by turns within session m1: {told}" in from_frame(table, MOUSE).notes
    told_apart = from_frame(table.assign(recording=[1, 2] * 60), {**MOUSE, "session": ("mouse", "recording")})
    assert (len(told_apart), [note for note in told_apart.notes if "BEWARE" in note]) == (4, [])
    coarse = (  # two recordings of one clock, or a clock that is too coarse: the times cannot tell
        "t is the same in 2 rows each time within session m1: where the clock is too coarse, leave the times away "
        f"(rows are then taken in their order); {told} (else, t is "
    )
    with pytest.raises(ValueError, match=r"1 fault\.\n  1\. " + re.escape(coarse)):
        from_frame(of(two_recordings(later=0.0, first=0.0)).drop(columns="Day"), MOUSE)
    after = of(two_recordings(later=30.0, first=0.0).drop(columns="Day"))  # the second begins where the first ends
    assert f"BEWARE: t goes like 2 clocks by turns within session m1: {told}" in from_frame(after, MOUSE).notes
    three = of(pd.DataFrame({"t": [c * 500.0 + t for t in range(9) for c in range(3)], "state": [0, 1, 2] * 9}))
    assert "t goes like 3 clocks by turns: if rows of 3 recordings alternate" in " ".join(from_frame(three).notes)


def test_an_ordinary_table_has_no_clocks_by_turns():
    rng = np.random.default_rng(0)
    walk = pd.DataFrame({"t": np.arange(200) * 0.5, "state": rng.integers(8, size=200), "mouse": "m1"})
    late = walk.iloc[np.argsort(walk["t"] + rng.uniform(0, 0.9, 200))]  # written a little late
    later = {f"later by {n}": walk.iloc[np.argsort(np.arange(200) + n * (rng.random(200) < 0.4))] for n in (3.2, 6.2)}
    writers = walk.iloc[np.arange(200).reshape(20, 2, 5).transpose(0, 2, 1).ravel()]  # two, in blocks of 10
    swapped = walk.iloc[np.arange(200).reshape(-1, 2)[:, ::-1].ravel()]
    again = pd.concat([walk, walk.assign(t=walk["t"] + 7)]).iloc[:300]  # one after the other: a fault, or sorted
    signals = walk.assign(visit=walk["state"] % 2, date=walk["t"] + 1e9)
    lights = walk.assign(day=walk["state"] % 2, rec=rng.integers(2, size=200) * 1.0, video=rng.random(200) < 0.5)
    worlds = {
        "in order": walk,
        "backwards": walk.iloc[::-1],
        "shuffled": walk.sample(frac=1, random_state=0),
        "few, shuffled": walk.iloc[:16].sample(frac=1, random_state=0),
        "by state": walk.sort_values("state", kind="stable"),
        "late": late,
        "two writers": writers,
        **later,
        "swapped": swapped,
        "a signal": signals,
        "signals that are off or on": lights,
        "mice by turns": pd.concat([walk, walk.assign(mouse="m2")]).sort_values("t", kind="stable"),
    }
    for name, table in worlds.items():
        columns = {"session": "mouse", "subject": "mouse"}
        assert [note for note in from_frame(table, columns).notes if "BEWARE" in note] == [], name
    with pytest.raises(ValueError) as told:  # rows that are there twice are no second recording
        from_frame(walk.iloc[np.repeat(np.arange(200), 2)], {"session": "mouse"})
    assert "remove the repeated row" in str(told.value)
    assert "recording" not in str(told.value)
    with pytest.raises(ValueError, match=r"t is 7\.0 in both"):
        from_frame(again, {"session": "mouse"})


# What files of other laboratories taught (studies/real_files.py, held out)


@pytest.mark.parametrize(
    ("name", "first", "second", "apart"),
    [
        ("t", "11/19/2019 17:35:49", "11/20/2019 17:35:49", 86400),
        ("t", "19.11.2019 17:35", "20.11.2019 17:36", 86460),
        ("t", "2/7/2022 19:31:39", "2/7/2022 19:33:45", 126),  # of one day: the order does not matter
        ("MM:DD:YYYY hh:mm:ss", "1/2/2022 10:00:00", "2/2/2022 10:00:00", 31 * 86400),
        ("dd/mm/yyyy", "1/2/2022 10:00:00", "2/2/2022 10:00:00", 86400),
        ("t", "13/2/2022 9:00:00 AM", "13/2/2022 1:00:00 PM", 4 * 3600),
        ("t", "13/2/2022 10:00:00", "13/2/2022 10:00:01.5", 1.5),  # a whole second has no fraction
    ],
)
def test_dates_with_slashes(tmp_path, name, first, second, apart):
    path = tmp_path / "a.csv"
    path.write_text(f"{name},state\n{first},a\n{second},b\n")
    assert read_csv(path, {"time": name}).times[0].tolist() == [0, apart]


@pytest.mark.parametrize(
    ("dates", "blamed"),
    [
        (["13/02/2022 23:59", "13/02/2022 24:00", "14/02/2022 00:01"], "'13/02/2022 24:00' in line 3"),
        (["13/13/2022 10:00:00", "13/02/2022 11:00:00", "14/02/2022 11:00:00"], "'13/13/2022 10:00:00' in line 2"),
        (["11/19/2019 17:35:49", "11/20/2019 17:35:49", "soon"], "'soon' in line 4"),
        (["1/2/2022 10:00:00 x", "1/2/2022 10:00:01 x"], "'1/2/2022 10:00:00 x' in lines 2, 3"),
    ],
)
def test_of_dates_the_one_that_is_none_is_blamed(tmp_path, dates, blamed):
    path = tmp_path / "a.csv"
    path.write_text("t,state\n" + "".join(f"{date},a\n" for date in dates))
    with pytest.raises(ValueError, match="give seconds, or dates") as told:
        read_csv(path)
    assert f"t is {blamed}: give seconds" in str(told.value)
    assert "do not tell" not in str(told.value)


def test_of_dates_of_one_day_no_order_is_claimed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,state\n2/7/2022 19:31:39,a\n2/7/2022 19:33:45,b\n")
    assert "t was read as dates, all of one day" in read_csv(path).notes
    path.write_text("t,state\n2/17/2022 19:31:39,a\n2/17/2022 19:33:45,b\n")
    assert "t was read as dates, with the month first" in read_csv(path).notes


def test_dates_whose_month_is_not_known_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,state\n1/2/2022 10:00:00,a\n2/2/2022 10:00:00,b\n")
    with pytest.raises(ValueError, match="which of the numbers are the month these dates do not tell"):
        read_csv(path)
    path.write_text("t,state\n11/19/2019 17:35:49,a\nsoon,b\n")
    with pytest.raises(ValueError, match="give seconds, or dates"):
        read_csv(path)


def test_labels_that_count_from_one_are_told(tmp_path):
    told = "state counts from 1 to 3, and swirl from 0: there is a 0, too, that never occurs."
    for labels, seen in (([1, 2, 3], True), ([0, 1, 2], False), ([1, 3, 5], False)):
        path = tmp_path / "a.csv"
        path.write_text("state\n" + "".join(f"{label}\n" for label in labels))
        assert any(note.startswith(told) for note in read_csv(path).notes) == seen
        ring, line = ([[(s + 1) % 4] for s in range(4)], [[3], [2], [3], [0]])
        # In a ring of four the moves would be possible one lower, too; from 0 to 1 there is no way in the other.
        for ways, n_told in (([*ring[:2], [0]], 1), (ring, 1), (line, 0)):
            notes = read_data(path, env=MDP.deterministic(ways)).notes
            assert sum(note.startswith(told) for note in notes) == (seen and n_told)


def test_a_clock_that_is_too_coarse_is_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,state\n1,a\n1,b\n2,a\n")
    with pytest.raises(ValueError, match="where the clock is too coarse, leave the times away"):
        read_csv(path)
    assert read_csv(path, {"time": None}).states[0].tolist() == [0, 1, 0]


def test_times_with_am_and_pm(tmp_path):
    path = tmp_path / "a.csv"
    clocks = ("2019-01-23 11:59:58am", "2019-01-23 12:00:01PM", "2019-01-23 1:00:00 p.m.", "2019-01-24 12:30 am")
    path.write_text("\n".join(["state,t", *(f"{i % 2},{clock}" for i, clock in enumerate(clocks))]) + "\n")
    assert lists(read_csv(path).times) == [[0, 3, 3602, 45_002]]


def test_a_choice_of_minus_one_and_one(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("state\n-1\n1\n\n-1\n")
    read = read_csv(path)
    assert (read.state_names, lists(read.states)) == (("state -1", "state 1"), [[0, 1, 0]])
    assert from_frame(pd.DataFrame({"state": [1.0, np.nan, -1.0]})).state_names == ("state -1", "state 1")
    path.write_text("state\n-1\n1\n0\n")  # −1 may be "not known" here
    with pytest.raises(ValueError, match="leave it blank where it is not known; where it is a label of its own, write"):
        read_csv(path)
    path.write_text("state,action\n0,1\n1,-1\n")  # of an action it is
    assert lists(read_csv(path).actions) == [[1, -1]]
