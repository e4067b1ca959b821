import pytest

from swirl.errors import Faults, checked_names


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
