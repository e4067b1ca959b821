"""The words of the pages: every paragraph is used, every one that is used is there, and gets what it asks for."""

import ast
import re
from pathlib import Path
from string import Formatter

import pytest

import swirl
from swirl.workflows.html import Prose, tidy_rows

SOURCE = Path(swirl.__file__).parent
FOLDERS = [file.parent for file in sorted(SOURCE.rglob("text.md"))]
METHODS = ("TEXT", "TEXT.text", "TEXT.numbers", "TEXT.drawing")


def calls(folder):
    """Every call of TEXT in a folder's modules: the paragraph's name and the values it is given (None: a mapping)."""
    for file in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in METHODS:
                name = node.args[0]
                assert isinstance(name, ast.Constant), f"{file.name}:{node.lineno}: a name that is computed"
                yield name.value, {keyword.arg for keyword in node.keywords}


def asked(words):
    """Values that a paragraph asks for."""
    fields = [field for _, field, _, _ in Formatter().parse(words) if field is not None]
    return {re.split(r"[.\[]", field)[0] for field in fields}


def test_every_experiment_has_its_words():
    assert {folder.name for folder in FOLDERS} >= {"gridworld", "labyrinth", "spontaneous"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_paragraphs_are_those_that_are_used_and_get_what_they_ask_for(folder):
    paragraphs = Prose(folder / "text.md").paragraphs
    used = list(calls(folder))
    assert {name for name, _ in used} == set(paragraphs)
    for name, given in used:
        wanted = asked(paragraphs[name])
        assert given - {None} <= wanted, name
        assert None in given or given == wanted, name


@pytest.fixture
def prose(tmp_path):
    file = tmp_path / "text.md"
    file.write_text("# A page\n\nNot a paragraph.\n\n## gain\nIt gains\n{gain:+.1f} nats.\n\n## row\n{row[a b]:,}\n")
    return Prose(file)


def test_lines_are_joined_and_numbers_have_a_minus_sign(prose):
    assert prose("gain", gain=-0.5) == "It gains −0.5 nats."
    assert prose.text("row", row={"a b": 1200}).words == "1,200"
    assert prose.numbers("gain", [{"x": 1}], 2, gain=1).decimals == 2
    assert prose.drawing("gain", None, [{"x": 1}], gain=1).caption == "It gains +1.0 nats."


def test_a_missing_paragraph_and_a_missing_value_are_told(prose):
    with pytest.raises(ValueError, match=r"no paragraph 'loss'; there are gain, row"):
        prose("loss")
    with pytest.raises(ValueError, match=r"paragraph 'gain' asks for 'gain', got loss"):
        prose("gain", loss=1)
    with pytest.raises(ValueError, match=r"paragraph 'row' asks for 'a b'"):
        prose("row", row={})


def test_a_name_that_stands_twice_is_told(tmp_path):
    file = tmp_path / "text.md"
    file.write_text("## gain\nOne.\n## gain\nTwo.\n")
    with pytest.raises(ValueError, match="named twice: gain"):
        Prose(file)("gain")


def test_tidy_rows_keep_the_cells_that_are_asked_for():
    where = [[True, False], [False, True]]
    rows = tidy_rows({"mode": "ab", "state": (5, 6)}, {"x": [[1, 2], [3, 4]]}, where, model="m")
    assert rows == [{"model": "m", "mode": "a", "state": 5, "x": 1}, {"model": "m", "mode": "b", "state": 6, "x": 4}]
