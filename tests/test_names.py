"""The front door: every public name leads to its home, and names from before the packages still do, with a warning."""

import importlib
import inspect
import sys
import warnings

import pytest

import swirl


def test_every_public_name_is_there():
    assert all(getattr(swirl, name) is not None for name in swirl.__all__)
    assert dir(swirl) == sorted(swirl.__all__)


@pytest.mark.parametrize("name", sorted(swirl._SHORT))
def test_a_short_name_is_a_module(name):
    short = importlib.import_module(f"swirl.{name}")
    assert getattr(swirl, name) is short is sys.modules[f"swirl.{name}"]
    public = [each for each in dir(short) if not each.startswith("_")]
    homes = [importlib.import_module(home) for home in swirl._SHORT[name]]
    assert public
    assert all(any(getattr(home, each, None) is getattr(short, each) for home in homes) for each in public)


@pytest.mark.parametrize("name", sorted(swirl._SHORT))
def test_a_short_name_has_nothing_that_its_homes_only_use(name):
    short = importlib.import_module(f"swirl.{name}")
    homes = [importlib.import_module(home) for home in swirl._SHORT[name]]
    assert all("__all__" in vars(home) for home in homes)
    things = {each: getattr(short, each) for each in dir(short)}
    for each, thing in things.items():
        assert inspect.isclass(thing) or inspect.isfunction(thing), f"swirl.{name}.{each} is no function and no class"
        assert thing.__module__.startswith("swirl."), f"swirl.{name}.{each} is of {thing.__module__}"
    reached = {each for home in homes for each in vars(home) if not each.startswith("__") and hasattr(short, each)}
    assert reached <= set(things)


def test_a_name_can_be_imported_out_of_a_short_one():
    from swirl.metrics import segmentation_accuracy

    from swirl.analysis import metrics

    assert segmentation_accuracy is metrics.segmentation_accuracy
    for module, nothing in (("metrics", "nothing"), ("selection", "np"), ("selection", "Any"), ("selection", "cast")):
        with pytest.raises(AttributeError, match=rf"module 'swirl\.{module}' has no attribute '{nothing}'"):
            getattr(getattr(swirl, module), nothing)


@pytest.mark.parametrize("name", sorted(swirl._MOVED))
def test_a_former_name_still_works_and_says_where_it_is_now(name):
    home = importlib.import_module(swirl._MOVED[name][0])
    first = next(each for each in dir(importlib.import_module(f"swirl.{name}")) if callable(vars(home).get(each)))
    with pytest.warns(DeprecationWarning, match=rf"swirl\.{name}\.{first} is now swirl\."):
        assert getattr(importlib.import_module(f"swirl.{name}"), first) is getattr(home, first)


def test_short_names_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert swirl.metrics.segmentation_accuracy([[0, 1]], [[1, 0]]) == 1.0


def test_a_reader_takes_its_arguments_by_former_names_and_says_so():
    import numpy as np

    from swirl.io.label_runs import Recording, syllable_sessions

    recording = Recording("m1", np.array([3, 3, 5, 9, 5, 5]))
    with pytest.warns(DeprecationWarning, match="syllable_sessions: least_usage is called min_usage now"):
        former = syllable_sessions([recording], least_usage=0.3)
    assert former.state_names == syllable_sessions([recording], min_usage=0.3).state_names


@pytest.mark.parametrize(
    ("former", "now"), [("any_may_follow_any", "fully_connected"), ("moves_seen", "observed_moves")]
)
def test_a_function_by_its_former_name_says_what_it_is_called_now(former, now):
    from swirl.data import environments

    with pytest.warns(DeprecationWarning, match=f"{former} is called {now} now"):
        assert getattr(swirl.environments, former) is getattr(environments, now)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = environments.nothing
