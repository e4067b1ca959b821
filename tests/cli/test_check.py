"""`swirl check`: exit codes for scripts, rows of the user's file, and a page that opens offline."""

import gzip
import json
import re

import pytest
from typer.testing import CliRunner

from swirl.cli.app import app

EDGES = "state,action,next_state\n" + "".join(
    f"{here},{action},{there}\n"
    for here, on, back in (("a", "b", "d"), ("b", "c", "a"), ("c", "d", "b"), ("d", "a", "c"))
    for action, there in (("on", on), ("back", back))
)
ON = {"a": "b", "b": "c", "c": "d", "d": "a"}
BACK = {there: here for here, there in ON.items()}


def rows():
    """Two sound sessions of 40 steps on a ring of four places."""
    lines = []
    for session in range(2):
        state = "a"
        for step in range(40):
            action = "back" if (step * (session + 2)) % 7 in (1, 4, 6) else "on"
            lines.append([f"day {session}", f"m{session}", f"{0.5 * step}", state, action])
            state = (ON if action == "on" else BACK)[state]
    return lines


def text(lines, header=("session", "subject", "t", "state", "action"), separator=","):
    return "".join(separator.join(line) + "\n" for line in [list(header), *lines])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring.csv").write_text(EDGES)
    (tmp_path / "good.csv").write_text(text(rows()))
    bad = rows()
    bad[50][3] = BACK[BACK[bad[50][3]]]  # across the ring, at step 10 of day 1
    (tmp_path / "bad.csv").write_text(text(bad))
    return tmp_path


def run(*arguments):
    environment = {"SWIRL_DEBUG": None, "TERM": "dumb", "COLUMNS": "100"}
    return CliRunner().invoke(app, ["check", *arguments], env=environment)


def test_sound_data_exit_with_0(folder):
    result = run("good.csv", "--env", "ring.csv")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("data              good.csv\nenvironment       4 states, 2 actions; where")
    assert result.stdout.endswith("All is well.\n")


def test_faults_exit_with_1_and_name_the_line(folder):
    result = run("bad.csv", "--env", "ring.csv")
    assert result.exit_code == 1
    assert "FAULT    2 impossible transitions in 1 of 2 sessions." in result.stdout
    # A line of column names and 40 steps of day 0 come before; step 9 goes astray, step 10 comes back.
    assert "session 1 ('day 1'), step 9, t = 4.5, line 51, column state: " in result.stdout
    assert "session 1 ('day 1'), step 10, t = 5, line 52, column state: " in result.stdout
    assert result.stdout.endswith("1 fault: a fit would refuse these data.\n")


def test_what_cannot_be_read_exits_with_2(folder):
    (folder / "words.csv").write_text("hello\nyou\n")
    for arguments, words in (
        (("missing.csv",), "missing.csv"),
        (("words.csv",), "no column 'state'"),
        (("good.csv", "--env", "no.csv"), "no.csv"),
        (("good.csv", "--column-state", "nod"), "no column 'nod'"),
        (("good.csv", "--states", "ring.csv"), "--states goes with an edge list"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert words in result.stderr
        assert "Traceback" not in result.output
        assert result.stdout == ""


def test_warnings_count_only_when_strict(folder):
    lines = rows()
    for line in lines[60:]:
        line[2] = str(float(line[2]) + 30)
    (folder / "late.csv").write_text(text(lines))
    assert run("late.csv", "--env", "ring.csv").exit_code == 0
    strict = run("late.csv", "--env", "ring.csv", "--strict")
    assert strict.exit_code == 1
    assert "WARNING  1 jump in time within segments" in strict.stdout
    assert "line 62, column t: 30.5 after the step before" in strict.stdout


def test_quiet_prints_only_what_counts(folder):
    assert run("good.csv", "--env", "ring.csv", "--quiet").stdout == ""
    assert run("good.csv", "-q", "--column-subject", "t").exit_code == 2  # faults of reading are told all the same
    result = run("bad.csv", "--env", "ring.csv", "--quiet")
    assert result.exit_code == 1
    assert result.stdout.startswith("FAULT")
    assert "sessions   " not in result.stdout


def test_json_holds_everything(folder):
    result = run("bad.csv", "--env", "ring.csv", "--json", "--quiet")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert (found["data"], found["exit_code"], found["faults"]) == ("bad.csv", 1, 1)
    assert found["sessions"]["steps"] == 80
    assert found["findings"][0]["name"] == "impossible-transitions"
    place = found["findings"][0]["places"][0]
    assert (place["session"], place["name"], place["step"], place["time"]) == (1, "day 1", 9, 4.5)
    assert place["place"] == "line 51, column state"


def lines_named(result):
    return re.findall(r"(?:line|row) (\d+), column (\w+)", result.stdout)


def test_lines_are_found_in_files_of_other_shapes(folder):
    bad = rows()
    bad[50][3] = BACK[BACK[bad[50][3]]]
    header = ("Day", "subject", "seconds", "node", "action")
    columns = ("--column-session", "day", "--column-time", "seconds", "--column-state", "node")
    # Sorted by time only, so that sessions alternate; with semicolons and decimal commas; gzipped.
    order = sorted(range(80), key=lambda i: float(bad[i][2]))
    place = [str(order.index(49) + 2), str(order.index(50) + 2)]
    mixed = [[session, who, t.replace(".", ","), s, a] for session, who, t, s, a in (bad[i] for i in order)]
    (folder / "mixed.csv.gz").write_bytes(gzip.compress(text(mixed, header, ";").encode()))
    result = run("mixed.csv.gz", "--env", "ring.csv", *columns)
    assert lines_named(result) == [(line, "node") for line in place]
    # A blank line counts as a line; a step without a state is left out, and a gap.
    bad[45][3] = ""
    (folder / "holes.csv").write_text(text(bad[:30]) + "\n" + text(bad[31:], bad[30]))
    assert lines_named(run("holes.csv", "--env", "ring.csv")) == [("52", "state"), ("53", "state")]
    # Where a value runs over lines, rows are not lines: each of the 40 rows of day 0 takes two.
    (folder / "long.csv").write_text(text(bad).replace("m0", '"m\n0"'))
    result = run("long.csv", "--env", "ring.csv")
    assert "2 impossible transitions" in result.stdout
    assert lines_named(result) == [("91", "state"), ("92", "state")]


def test_parquet_rows_are_counted_from_0(folder):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = pandas.read_csv(folder / "bad.csv")
    table.to_parquet(folder / "bad.parquet")
    result = run("bad.parquet", "--env", "ring.csv")
    assert lines_named(result) == [("49", "state"), ("50", "state")]


@pytest.mark.parametrize("env", ["syllables", "observed", None])
def test_shorthands_for_the_environment(folder, env):
    (folder / "runs.csv").write_text("state\n" + "".join(f"{i // 2 % 3}\n" for i in range(90)))
    result = run("runs.csv", *(["--env", env] if env else []))
    assert result.exit_code == 0, result.output  # with "syllables" a state may follow itself, as it does here
    assert "WARNING  50.6 % of steps stay in the same state" in result.stdout


def test_the_page_stands_alone_and_overwrites_nothing(folder):
    lines = rows()
    lines[50][3] = BACK[BACK[lines[50][3]]]
    lines = [["<b>&" + line[0], *line[1:]] for line in lines]
    (folder / "a & b.csv").write_text(text(lines))
    arguments = ("a & b.csv", "--env", "ring.csv", "--html", "page.html")
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.stdout.endswith("Saved to page.html\n")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<title>Check of a &amp; b.csv</title>" in page
    assert "&lt;b&gt;&amp;day 1" in page
    assert "<b>" not in page
    assert page.count("<rect ") == 1 + 4  # sessions of one length, four states
    assert not re.search(r"https?://|<script|<link|src=", page)
    assert sorted(path.name for path in folder.iterdir() if "html" in path.name) == ["page.html"]

    (folder / "page.html").write_text("mine")
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert (folder / "page.html").read_text() == "mine"
    assert run(*arguments, "--force").exit_code == 1
    assert (folder / "page.html").read_text(encoding="utf-8") == page
    assert run(*arguments[:-1], "no folder/page.html").exit_code == 2


def test_sessions_numbered_for_each_mouse(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{mouse},{day},{t},{'AB'[t % 2]}" for mouse in ("m1", "m2") for day in (1, 2) for t in range(4)]
    (tmp_path / "tidy.csv").write_text("\n".join(["mouse,session,t,cell", *rows]))
    named = ("--columns", "session=mouse+session, subject=mouse, state=cell")
    former = ("--column-session", "mouse,session", "--column-subject", "mouse", "--column-state", "cell")
    for options in (named, former):
        result = run("tidy.csv", *options)
        assert result.exit_code == 0
        assert "sessions          4 of 2 subjects" in result.stdout
    asked = ["import", "table", "tidy.csv", "--session", "mouse,session", "--subject", "mouse", "--state", "cell", "-q"]
    assert CliRunner().invoke(app, [*asked, "-o", "ours.csv"]).exit_code == 0
    assert (tmp_path / "ours.csv").read_text().splitlines()[1].startswith("m1 1,m1,")
    record = json.loads((tmp_path / "ours.import.json").read_text())
    assert record["options"]["session"] == "mouse,session"
    again = ["import", "table", "tidy.csv", *named, "-q", "-o", "again.csv"]  # as check and fit are told
    assert CliRunner().invoke(app, again).exit_code == 0
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "ours.csv").read_bytes()
    result = run("tidy.csv", "--columns", "state=cell")  # nobody said that sessions are numbered for each mouse
    assert result.exit_code == 2
    assert "1 fault" in result.stderr
    assert "--columns session=mouse+session,subject=mouse" in result.stderr
