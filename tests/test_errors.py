import ast
import importlib
from pathlib import Path

import pytest

import swirl
from swirl.errors import Faults, checked_names

FORMER_HOMES = {
    "NotFittedError": "swirl.estimators.base",
    "UnseenStatesWarning": "swirl.estimators.base",
    "GaugeWarning": "swirl.estimators.transfer",
    "GaugeTooLargeError": "swirl.rewards.gauge",
    "SameAnimalsWarning": "swirl.data.folds",
    "TooFewRefitsError": "swirl.analysis.bootstrap",
    "NoInformationError": "swirl.analysis.information",
    "TasksFailedError": "swirl.analysis.tasks",
    "DoesNotApply": "swirl.analysis.state_summaries",
    "Notice": "swirl",
    "ImportNotice": "swirl",
}


@pytest.mark.parametrize("name", FORMER_HOMES)
def test_a_class_can_be_imported_from_where_it_stood(name):
    ours = getattr(swirl.errors, name)
    assert getattr(importlib.import_module(FORMER_HOMES[name]), name) is ours
    assert ours.__module__ == "swirl.errors"


def kinds_of_errors(tree):
    """Public classes in a syntax tree whose names, or whose bases, are those of errors or warnings."""
    ends = ("Error", "Warning", "Exception", "Notice")
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            names = [node.name, *(ast.unparse(base).rpartition(".")[2] for base in node.bases)]
            if any(name.endswith(ends) for name in names):
                yield node.name


def test_all_classes_of_errors_and_warnings_stand_in_one_place_and_in_the_docs():
    root = Path(swirl.__file__).parent
    elsewhere = {
        f"{path.relative_to(root)}: {name}"
        for path in root.rglob("*.py")
        if path.name != "errors.py"
        for name in kinds_of_errors(ast.parse(path.read_text()))
    }
    assert elsewhere == set()
    here = set(kinds_of_errors(ast.parse((root / "errors.py").read_text())))
    assert here == set(FORMER_HOMES)
    page = (root.parent.parent / "docs" / "api" / "errors.md").read_text()
    assert all(f".. autoclass:: {name}\n" in page for name in here)


def test_the_search_for_kinds_of_errors_sees_them():
    tree = ast.parse(
        "class AError(X): pass\nclass B(errors.Notice): pass\nclass C(D): pass\nclass _E(ValueError): pass"
    )
    assert set(kinds_of_errors(tree)) == {"AError", "B"}


def test_nothing_is_raised_without_faults():
    Faults().raise_if_any("Nothing")


def test_all_faults_are_told_at_once_and_numbered():
    faults = Faults()
    faults.add("first thing")
    faults.add("second thing")
    with pytest.raises(ValueError) as caught:
        faults.raise_if_any("It cannot be built")
    assert str(caught.value) == "It cannot be built: 2 faults.\n  1. first thing\n  2. second thing"


def test_a_flood_of_faults_is_counted():
    faults = Faults()
    for i in range(33):
        faults.add(f"fault {i}")
    with pytest.raises(ValueError, match="33 faults") as caught:
        faults.raise_if_any("No")
    message = str(caught.value)
    assert "  20. fault 19" in message
    assert "fault 20" not in message
    assert message.endswith("and 13 more.")


@pytest.mark.parametrize(
    ("names", "message"), [("abc", "single string"), (3, "is a int"), (["a", "b", "a"], "repeats a")]
)
def test_bad_names_are_faults(names, message):
    faults = Faults()
    assert checked_names("state_names", names, faults) is None
    assert message in faults.messages[0]


def test_names_become_a_tuple():
    assert checked_names("state_names", ["x", 3], Faults()) == ("x", "3")


@pytest.mark.parametrize("names", [{"home": 0, "water": 1}, {"home", "water"}])
def test_names_without_an_order_are_refused(names):
    faults = Faults()
    assert checked_names("state_names", names, faults) is None
    with pytest.raises(ValueError, match="has no order"):
        faults.raise_if_any("x")
