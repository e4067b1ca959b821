import json

import numpy as np
import pytest

from swirl import MDP, Trajectories
from swirl.analysis.grid_search import Choice
from swirl.text import cell, html_of, number, percent, plain, some, table_of

NAN = float("nan")


@pytest.mark.parametrize(("items", "text"), [([1, 2], "1, 2"), ([1, 2, 3], "1, 2 and 1 more"), ([], "")])
def test_some_shows_the_first_and_counts_the_rest(items, text):
    assert some(items, limit=2) == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "—"),
        (NAN, "—"),
        (np.float64("nan"), "—"),
        (True, "yes"),
        (np.bool_(False), "no"),
        (0, "0"),
        (-1234, "−1,234"),
        (np.int64(1234), "1,234"),
        (np.float32(0.5), "0.50"),
        (-0.126, "−0.13"),
        (float("-inf"), "−inf"),
        ("n-gram", "n-gram"),
        ("", ""),
    ],
)
def test_cells(value, expected):
    assert cell(value, 2) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(np.int64(-1200), "−1,200"), (np.float32(0.5), "0.5"), (np.inf, "—"), (-0.0, "0"), (1234.56, "1,235")],
)
def test_numbers_of_numpy(value, expected):
    assert number(value) == expected


def test_shares_that_are_none():
    assert percent(NAN) == percent(NAN, ".0f") == "—"


def test_json_of_everything():
    given = {
        "words": np.str_("a"),
        "flags": np.array([True, False]),
        "nested": (np.float32(0.5), [np.int8(3)], {"deep": np.array(2)}),
        "long": np.longdouble(0.25),
        "mixed": np.array([1, None, np.float64(2)], dtype=object),
        "gap": np.array([[1.0, np.nan], [-np.inf, 2.0]]),
        3: None,
    }
    expected = {
        "words": "a",
        "flags": [True, False],
        "nested": [0.5, [3], {"deep": 2}],
        "long": 0.25,
        "mixed": [1, None, 2.0],
        "gap": [[1.0, None], [None, 2.0]],
        "3": None,
    }
    assert plain(given, nan=False) == expected
    assert json.loads(json.dumps(plain(given), allow_nan=True))["gap"][1] == [-np.inf, 2.0]
    kinds = {type(item) for item in (plain(np.float64(1)), plain(np.bool_(True)), plain(np.str_("a")), plain([])[:0])}
    assert kinds == {float, bool, str, list}


def test_what_is_no_number_is_left_or_worded():
    thing = {1, 2}
    assert plain([thing]) == [thing]
    assert plain({"a": [thing, np.int64(1)]}, other=repr) == {"a": ["{1, 2}", 1]}


def test_what_a_notebook_shows():
    """Names are escaped; long lists are cut; what nobody has is no column."""
    names = ["<b>", "x & y", *"abcdef"]
    data = Trajectories([[0, 1]] * 8, names=names, subjects=["m1"] + [None] * 7, notes=["2 rows were dropped."])
    shown = data._repr_html_()
    assert "<td>&lt;b&gt;</td>" in shown
    assert "<b>" not in shown
    assert "… and 3 sessions more" in shown
    assert "<th>subject</th>" in shown
    assert "<th>group</th>" not in shown
    assert "<li>2 rows were dropped.</li>" in shown
    env = MDP.deterministic([[1, -1], [0, 1]], state_names=["home", "water"], action_names=["go", "stay"])
    shown = env._repr_html_()
    assert "<tr><td>home</td><td>water</td><td>not available</td></tr>" in shown
    assert "more" not in shown
    choice = Choice([{"n_modes": 1}, {"n_modes": 2}], np.array([[-1.0, -1.1], [-0.5, -0.6]]))
    assert choice._repr_html_().count("<tr>") == 3
    assert html_of("a\n\n- b\n- c\nd") == "<div><p>a</p><ul><li>b</li><li>c</li></ul><p>d</p></div>"


def test_cells_of_a_table_may_hold_what_parts_cells():
    made = table_of([{"a|b": "x|y\nz", "n": 1}, {"a|b": "|", "n": 2}])
    assert made.splitlines()[2:] == [r"| x\|y z | 1 |", r"| \| | 2 |"]
    shown = "<tr><td>x|y z</td><td>1</td></tr><tr><td>|</td><td>2</td></tr>"
    assert html_of(made) == f"<div><table><tr><th>a|b</th><th>n</th></tr>{shown}</table></div>"
