"""docs/equations.md is true: its functions exist, and no equation of the paper is left out."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "equations.md").read_text()
PAPER = ROOT.parent / "shared" / "paper" / "swirl-icml2025.tex.txt"
NAMES = sorted(set(re.findall(r"`(swirl(?:\.\w+)+)`", PAGE)))


def found(name):
    """The object that a dotted name stands for: the longest part that is a module, then attributes."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(name)


def paper():
    if not PAPER.exists():
        pytest.skip(f"the paper's source is not at {PAPER}")
    return PAPER.read_text()


def numbered_lines(text):
    """Each numbered line of the paper's equations, in order, with its label if it has one."""
    lines = []
    for kind, body in re.findall(r"\\begin\{(align|equation|gather|eqnarray)\}(.*?)\\end\{\1\}", text, flags=re.DOTALL):
        parts = [body] if kind == "equation" else re.split(r"\\\\", body)
        for line in parts:
            if line.strip() and not re.search(r"\\no(number|tag)\b", line):
                label = re.search(r"\\label\{([^}]*)\}", line)
                lines.append(label[1] if label else None)
    return lines


def test_there_are_names_to_check():
    assert len(NAMES) > 40


def exists(name):
    try:
        return found(name) is not None
    except (AttributeError, AssertionError):
        return False


def test_every_name_on_the_page_exists():
    assert [name for name in NAMES if not exists(name)] == []


def test_a_name_that_does_not_exist_is_noticed():
    with pytest.raises(AttributeError):
        found("swirl.inference.mstep.Components.descend")
    assert not exists("swirl.inference.mstep.Components.descend")


def test_every_numbered_equation_has_a_row_with_its_number_and_label():
    rows = re.findall(r"^\| Eq\. (\d+) \| (\(none\)|`[^`]+`) \|", PAGE, flags=re.MULTILINE)
    labels = [None if label == "(none)" else label.strip("`") for _, label in rows]
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    assert labels == numbered_lines(paper())


def test_every_equation_label_of_the_paper_is_on_the_page():
    labels = re.findall(r"\\label\{(eq:[^}]*)\}", paper())
    assert labels
    assert [label for label in labels if f"`{label}`" not in PAGE] == []


def test_docstrings_name_equations_that_exist():
    numbers = {int(n) for n in re.findall(r"^\| Eq\. (\d+) \|", PAGE, flags=re.MULTILINE)}
    for path in (ROOT / "src").rglob("*.py"):
        for first, last in re.findall(r"paper[^\n]{0,12}Eqs?\. (\d+)(?:–(\d+))?", path.read_text()):
            assert {int(first), int(last or first)} <= numbers, path
