"""Models by name."""

import pytest

from small_worlds import world
from swirl.registry import load, make, models


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MaxEnt", (1, 1, "independent")),
        ("I-1", (2, 1, "independent")),
        ("I-2", (2, 2, "independent")),
        ("S-1", (2, 1, "state")),
        ("S-2", (2, 2, "state")),
        ("S-12", (2, 12, "state")),
    ],
)
def test_a_name_is_a_set_of_options(name, expected):
    model = make(name, world())
    assert (model.n_modes, model.history, model.switching) == expected
    assert model.env is world()


def test_further_arguments_are_the_models():
    model = make("S-2", world(), n_modes=3, tol=1e-3, switching="state-table")
    assert (model.n_modes, model.tol, model.switching) == (3, 1e-3, "state-table")
    assert make("MaxEnt", world(), n_modes=1).n_modes == 1  # saying it again is no clash


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("MaxEnt", {"n_modes": 2}, "n_modes=2: MaxEnt has n_modes=1; use swirl.SWIRL"),
        ("S-2", {"history": 3}, "history=3: S-2 has history=2"),
        ("I-1", {"switching": "state"}, "switching='state': I-1 has switching='independent'"),
        ("S-2", {"switching": "independent"}, "switching='independent': S-2 has switching='state'"),
        ("S2", {}, "name='S2': no such model; there are MaxEnt, I-1"),
        ("S-0", {}, "no such model"),
        ("s-2", {}, "no such model"),
    ],
)
def test_what_contradicts_the_name_is_refused(name, options, told):
    with pytest.raises(ValueError, match=told):
        make(name, world(), **options)


def test_models_are_listed_with_one_line_each():
    listed = models()
    assert {"MaxEnt", "I-1", "I-2", "S-1", "S-2"} <= set(listed)
    for name in listed:
        make(name, world())
    assert all(line and "\n" not in line for line in listed.values())
    listed.clear()
    assert models()  # a copy


def test_load_of_nothing_says_so():
    with pytest.raises(ValueError, match="does not exist"):
        load("nowhere.nc")
