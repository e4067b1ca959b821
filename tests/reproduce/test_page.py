"""The folder of an experiment: the page opens offline, the tables hold what was given, nothing is lost on the way."""

import base64
import csv
import json
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure

from swirl.reproduce.page import Experiment, to_markdown, write, write_contents
from swirl.workflows.html import Drawing, Numbers, Section, Text

NAN = float("nan")
ROWS = [
    {"model": "S-2", "score": -0.63961, "steps": 24000, "kept": True, "note": None},
    {"model": "<b>I-1</b> & co | rest", "score": NAN, "steps": np.int64(7), "kept": False, "note": "x" * 30 + "<"},
]
CURVE = [{"x": 0.1, "y": 1 / 3}, {"x": 0.2, "y": 1e-20}]


def drawing(name="curve", caption='Rise & fall of "r" < 1.'):
    figure = Figure(figsize=(1, 1))
    figure.add_subplot().plot([0, 1])
    return Drawing(name, caption, figure, CURVE)


def experiment(*blocks, **options):
    blocks = blocks or (
        Text("Where r < 0 & **bold <i>** words."),
        Numbers("scores", "Held-out scores, p < 0.1.", ROWS, decimals=3),
        drawing(),
        Numbers("nothing", "An empty table.", []),
    )
    sections = [Section("What & why", blocks[:1]), Section("Scores", blocks[1:])]
    told = {"title": "A <toy> & its page", "first": "S-2 > I-1 & all is well."}
    return Experiment("toy", sections=sections, about={"command": "swirl <x>", "seconds": 1.5}, **{**told, **options})


class Page(HTMLParser):
    """Tags with their attributes, cells of tables, and all text; complains of tags that do not match."""

    VOID = ("meta", "img", "br", "link")

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.tables, self.words = [], [], [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page") / "toy"
    assert write(experiment(), folder) == folder / "index.html"
    return folder


@pytest.fixture(scope="module")
def page(folder):
    return Page((folder / "index.html").read_text(encoding="utf-8"))


def test_the_folder(folder):
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    figures = {f"figures/curve.{suffix}" for suffix in ("png", "svg", "pdf")}
    tables = {f"tables/{name}.csv" for name in ("scores", "curve", "nothing")}
    assert files == {"index.html", "results.json", "results.md", *figures, *tables}


def test_the_page_asks_for_nothing_outside_itself(folder, page):
    addresses = [value for _, attrs in page.tags for name, value in attrs.items() if name in ("src", "href", "srcset")]
    assert len(addresses) == 3
    assert all(address.startswith(("#", "data:image/png;base64,")) for address in addresses)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "iframe", "object"}
    assert "@import" not in page.words
    assert "url(" not in page.words
    ids = {f"#{attrs['id']}" for _, attrs in page.tags if "id" in attrs}
    assert {address for address in addresses if address.startswith("#")} == ids
    [image] = [attrs for tag, attrs in page.tags if tag == "img"]
    assert base64.b64decode(image["src"].partition(",")[2]) == (folder / "figures" / "curve.png").read_bytes()
    assert image["alt"] == 'Rise & fall of "r" < 1.'


def test_what_is_written_is_read_as_written(page):
    """Text with < and & is text and never mark-up."""
    assert page.open == []
    assert {"toy", "i", "b", "x"}.isdisjoint(tag for tag, _ in page.tags)
    for words in (
        "A <toy> & its page",
        "S-2 > I-1 & all is well.",
        "What & why",
        "Where r < 0 & bold <i> words.",
        "Held-out scores, p < 0.1.",
        "Made by: command: swirl <x>; seconds: 1.5",
        "tables/curve.csv",
    ):
        assert words in page.words
    assert page.words.count("**") == 0


def test_cells_of_the_page(page):
    scores, nothing = page.tables
    assert scores[0] == ["model", "score", "steps", "kept", "note"]
    assert scores[1] == ["S-2", "−0.640", "24,000", "yes", "—"]
    assert scores[2] == ["<b>I-1</b> & co | rest", "—", "7", "no", "x" * 30 + "<"]
    assert nothing == [[]]


def test_the_table_in_markdown(folder):
    text = (folder / "results.md").read_text(encoding="utf-8")
    assert text == to_markdown(experiment())
    lines = text.splitlines()
    first = lines.index("| model | score | steps | kept | note |")
    assert lines[first + 1] == "|:---|---:|---:|---:|---:|"
    assert lines[first + 2] == "| S-2 | −0.640 | 24,000 | yes | — |"
    assert lines[first + 3] == rf"| <b>I-1</b> & co \| rest | — | 7 | no | {'x' * 30}< |"
    assert lines[first + 5] == "*Held-out scores, p < 0.1.*"
    assert lines[:3] == ["# A <toy> & its page", "", "**S-2 > I-1 & all is well.**"]
    assert '![Rise & fall of "r" < 1.](figures/curve.png)' in lines
    assert "(no rows)" in lines


def test_markdown_inside_another_page():
    text = to_markdown(experiment(), figures="../pictures", level=2)
    assert text.startswith("## A <toy>")
    assert "### Scores" in text
    assert "(../pictures/curve.png)" in text


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_csv_holds_the_rows_in_full(folder):
    assert [{k: float(v) for k, v in row.items()} for row in read_csv(folder / "tables" / "curve.csv")] == CURVE
    rows = read_csv(folder / "tables" / "scores.csv")
    assert [row["model"] for row in rows] == [row["model"] for row in ROWS]
    assert float(rows[0]["score"]) == ROWS[0]["score"]
    assert [row["score"] for row in rows][1] == ""
    assert [row["steps"] for row in rows] == ["24000", "7"]
    assert read_csv(folder / "tables" / "nothing.csv") == []


def test_results_are_json_that_every_language_reads(folder):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    results = json.loads((folder / "results.json").read_text(encoding="utf-8"), parse_constant=refuse)
    assert results["experiment"] == "toy"
    assert results["first"] == "S-2 > I-1 & all is well."
    assert results["about"] == {"command": "swirl <x>", "seconds": 1.5}
    assert results["tables"]["scores"][0] == ROWS[0]
    assert results["tables"]["scores"][1] == {**ROWS[1], "score": None}
    assert results["tables"]["nothing"] == []


def test_a_second_writing_takes_the_place_of_the_first(tmp_path):
    for score in (1.0, 2.0):
        rows = [{"score": score}]
        page = write(experiment(Text("words"), Numbers("scores", "Scores.", rows)), tmp_path, formats=("png",))
    assert read_csv(tmp_path / "tables" / "scores.csv") == [{"score": "2.0"}]
    assert Page(page.read_text(encoding="utf-8")).tables == [[["score"], ["2.0000"]]]


def test_the_contents_lead_to_each_experiment(tmp_path):
    for name, first in (("maze", "Water < home & so on"), ("grid", "Found")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(json.dumps({"first": first}), encoding="utf-8")
    page = write_contents(tmp_path, ["grid", "maze", "absent"]).read_text(encoding="utf-8")
    assert page.index('href="grid/index.html"') < page.index('href="maze/index.html"')
    assert "Water &lt; home &amp; so on" in page
    assert "absent" not in page
