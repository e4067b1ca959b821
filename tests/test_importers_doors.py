"""`Trajectories.from_…`: what they take, what they say on the way, and what of it stays with the data."""

import re

import pandas as pd
import pytest

from swirl import Trajectories
from swirl.importers.tables import Columns

ARMS = pd.DataFrame({"arm": ["left", "right", "left"], "sec": [0.0, 1.0, 2.0]})


@pytest.fixture(params=["from_dataframe", "from_csv", "from_parquet"])
def door(request, tmp_path):
    """Each way in for a table."""

    def enter(frame, columns, **options):
        if request.param == "from_dataframe":
            return Trajectories.from_dataframe(frame, columns, **options)
        if request.param == "from_csv":
            frame.to_csv(tmp_path / "arms.csv", index=False)
            return Trajectories.from_csv(tmp_path / "arms.csv", columns, **options)
        frame.to_parquet(tmp_path / "arms.parquet")
        return Trajectories.from_parquet(tmp_path / "arms.parquet", columns, **options)

    return enter


# ---------------------------------------------------------------------- columns


@pytest.mark.parametrize("columns", [{"state": "arm", "time": "sec"}, Columns(state="arm", time="sec")])
def test_columns_are_named_by_a_dict_or_by_columns(door, columns):
    data = door(ARMS, columns)
    assert data.state_names == ("left", "right")
    assert data.times[0].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (
            {"stat": "arm"},
            "columns has 'stat', which swirl does not know: expected session, subject, group, time, state",
        ),
        ({"stat": "arm"}, "did you mean 'state'?"),
        ({"t": "sec", "state": "arm"}, "columns has 't'"),
        ({"state": 3}, "columns['state'] is 3: give the name of the column as text, such as '3'"),
        ({"state": None}, "columns['state'] is None: give the name of the column as text"),
        ({"state": ["arm"]}, "columns['state'] is ['arm']: give the name of the column as text"),
        ("arm", "columns is 'arm': give a dict, such as {'state': 'arm'}"),
        (["arm"], "columns is a list: give a dict"),
        (Columns(state="ar"), "there is no column 'ar': the columns are arm, sec; did you mean 'arm'?"),
    ],
)
def test_wrong_columns_are_told_in_words(door, columns, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        door(ARMS, columns)


@pytest.mark.parametrize("options", [{"signals": 3}, {"signals": "sec"}, {"signals": [3]}, {"state_names": 3}])
def test_other_wrong_arguments_are_value_errors_too(door, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        door(ARMS, {"state": "arm"}, **options)


@pytest.mark.parametrize("frame", [None, {"state": [0]}, [[0, 1]], ARMS["arm"]])
def test_what_is_no_frame_is_told(frame):
    with pytest.raises(ValueError, match="give a pandas DataFrame"):
        Trajectories.from_dataframe(frame, {"state": "arm"})


# ---------------------------------------------------------------------- two rows for each bout


def boris(marks="Behavior type", values=("START", "STOP", "POINT", "START", "STOP")):
    """BORIS' tabular export of two bouts and an instant."""
    return pd.DataFrame(
        {
            "Observation id": "obs1",
            "Subject": "m1",
            "Behavior": ["rear", "rear", "sneeze", "groom", "groom"],
            marks: list(values),
            "Time": [0.5, 1.5, 2.0, 3.0, 4.5],
            "Comment": None,
        }
    )


COLUMNS = {"state": "Behavior", "time": "Time", "session": "Observation id"}


@pytest.mark.parametrize("marks", ["Behavior type", "Status", "BEHAVIOUR TYPE"])
def test_boris_tabular_export_is_refused_with_advice(door, marks):
    values = ("Start", "stop ", "POINT", "START", "STOP") if marks == "Status" else boris().iloc[:, 3]
    with pytest.raises(ValueError, match=f"{marks} is START in 2 rows and STOP in 2") as told:
        door(boris(marks, values), COLUMNS)
    assert "each would become a step" in str(told.value)
    assert "Aggregated events" in str(told.value)
    assert f"delete the rows whose {marks} is STOP" in str(told.value)


def test_the_advice_about_boris_leads_somewhere(door):
    table = boris()
    data = door(table[table["Behavior type"] != "STOP"].reset_index(drop=True), COLUMNS)
    assert [data.state_names[s] for s in data.states[0]] == ["rear", "sneeze", "groom"]
    bouts = {"Observation id": "obs1", "Behavior": ["rear", "groom"], "Start (s)": [0.5, 3.0], "Stop (s)": [1.5, 4.5]}
    data = door(pd.DataFrame(bouts), {**COLUMNS, "time": "Start (s)"})
    assert data.times[0].tolist() == [0.5, 3.0]


def test_other_columns_called_status_are_no_matter(door):
    table = boris("Status", ["on", "off", "on", "off", "on"])
    assert door(table, COLUMNS).n_steps == 5
    assert door(boris("Status").rename(columns={"Behavior": "room"}), {**COLUMNS, "state": "room"}).n_steps == 5


def test_the_older_export_with_lines_before_its_table(tmp_path):
    lines = [
        "Observation id,video1,,",
        ",,,",
        "Media file(s),,,",
        "Player #1,C:/v.mp4,,",
        "Time,Subject,Behavior,Status",
    ]
    lines += ["0.5,m1,rear,START", "1.5,m1,rear,STOP"]
    (tmp_path / "old.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=r"its table begins in line 5, after lines about the observation") as told:
        Trajectories.from_csv(tmp_path / "old.csv", {"state": "Behavior", "time": "Time"})
    assert "Aggregated events" in str(told.value)
