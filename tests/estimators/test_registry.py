"""Models by name."""

import numpy as np
import pytest

from small_worlds import N_ACTIONS, N_STATES, world
from swirl.data.trajectories import Trajectories
from swirl.estimators.arhmm import ARHMM
from swirl.estimators.base import HiddenModeEstimator
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.registry import fixed_arguments, load, make, models
from swirl.estimators.swirl import SWIRL
from swirl.rewards import Goals
from swirl.rewards.forms import Tabular


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MaxEnt", (1, 1, "independent")),
        ("I-1", (2, 1, "independent")),
        ("I-2", (2, 2, "independent")),
        ("S-1", (2, 1, "state")),
        ("S-2", (2, 2, "state")),
        ("S-12", (2, 12, "state")),
        ("F-1", (2, 1, "fixed")),
        ("F-3", (2, 3, "fixed")),
        ("ARHMM", (2, 1, "independent")),
        ("rARHMM", (2, 1, "state")),
    ],
)
def test_a_name_is_a_set_of_options(name, expected):
    model = make(name, world())
    assert isinstance(model, ARHMM if name.endswith("ARHMM") else SWIRL)
    assert (model.n_modes, model.history, model.switching) == expected
    assert model.env is world()


def test_goals_say_how_many_modes_there_are():
    model = make("Goals", world(), places=(4, (0, 2)), kinds=2, n_restarts=1)
    assert model.get_params() == SWIRL(
        world(), n_modes=3, reward=Goals((4, (0, 2)), kinds=2), switching="until-reached", n_restarts=1
    ).get_params()  # fmt: skip
    assert make("Goals", world(), places=(4,), history=3).history == make("Goals-3", world(), places=(4,)).history == 3
    assert make("Goals", world(), reward=Goals((4,))).n_modes == make("Goals", world(), places=(4,), n_modes=2).n_modes
    wrong = make("Goals", world(), places=(4, 0), n_modes=2)
    with pytest.raises(ValueError, match="n_modes=2: 2 goals and the exploring mode make 3; give that number"):
        wrong.fit(Trajectories([[0, 1, 2]], [[0, 0, 0]], n_states=N_STATES, n_actions=N_ACTIONS))


@pytest.mark.slow
def test_a_model_with_goals_is_called_after_them():
    data = Trajectories([[0, 1, 2, 3, 4, 0]], [[0] * 6], n_states=N_STATES, n_actions=N_ACTIONS)
    model = make("Goals-2", world(), places=(4,), n_restarts=1, max_iter=1).fit(data)
    assert model.label == "Goals-2"
    assert model.description.startswith(
        "Goals-2: switching inverse reinforcement learning with 2 modes. Each mode walks"
    )
    assert "the last 1 move; switching depends" in model.description
    assert model.reward_symbol == "r(sₜ)"


@pytest.mark.parametrize(("name", "order"), [("Markov", "auto"), ("Markov-0", 0), ("Markov-1", 1), ("Markov-10", 10)])
def test_a_number_is_the_order_of_a_count_model(name, order):
    model = make(name, world())
    assert isinstance(model, BackoffMarkov)
    assert (model.order, model.strength, model.target) == (order, "auto", "action")


def test_further_arguments_are_the_models():
    model = make("S-2", world(), n_modes=3, tol=1e-3, switching="state-table")
    assert (model.n_modes, model.tol, model.switching) == (3, 1e-3, "state-table")
    assert make("MaxEnt", world(), n_modes=1).n_modes == 1  # saying it again is no clash
    assert make("rARHMM", world(), switching="state-net", history=2).history == 2
    assert make("Markov-2", world(), target="next_state", strength=1.0).target == "next_state"


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("MaxEnt", {"n_modes": 2}, "n_modes=2: MaxEnt has n_modes=1; use swirl.SWIRL"),
        ("S-2", {"history": 3}, "history=3: S-2 has history=2"),
        ("I-1", {"switching": "state"}, "switching='state': I-1 has switching='independent'"),
        ("S-2", {"switching": "independent"}, "switching='independent': S-2 has switching='state'"),
        ("F-2", {"switching": "state"}, "switching='state': F-2 has switching='fixed'; use swirl.SWIRL"),
        ("ARHMM", {"switching": "state"}, "has switching='independent'; use swirl.baselines.ARHMM"),
        ("rARHMM", {"switching": "independent"}, "has switching='state'; use swirl.baselines.ARHMM"),
        ("Markov-2", {"order": 3}, "order=3: Markov-2 has order=2; use swirl.baselines.BackoffMarkov"),
        ("Markov", {"n_modes": 2}, "n_modes: Markov has no such argument; it has env, order, strength"),
        ("ARHMM", {"reward": "state"}, "reward: ARHMM has no such argument"),
        ("S2", {}, "name='S2': no such model; did you mean 'S-2'\\?$"),
        ("S 1", {}, "did you mean 'S-1'"),
        ("s12", {}, "did you mean 'S-12'"),
        ("goals2", {}, "did you mean 'Goals-2'"),
        ("rarhmm", {}, "did you mean 'rARHMM'"),
        ("maxent", {}, "did you mean 'MaxEnt'"),
        ("S-0", {}, "no such model"),
        ("s-2", {}, "no such model; did you mean 'S-2'"),
        ("F-0", {}, "no such model"),
        ("Goals-0", {}, "no such model"),
        ("Goals", {"switching": "state"}, "Goals has switching='until-reached'; use swirl.SWIRL"),
        ("Goals-2", {"history": 3}, "history=3: Goals-2 has history=2"),
        ("Goals", {"reward": "state"}, "reward='state': Goals makes its own reward; give goals="),
        ("Goals", {"reward": Goals((1,)), "places": (2,)}, "with places: Goals makes its own reward"),
        (
            "Goals",
            {"colour": 1},
            "colour: Goals has no such argument; it has n_modes, env, history, .* goals, places, kinds",
        ),
        ("my own", {}, "no such model; there are MaxEnt, I-1, .* I-3, S-3, F-2, Markov-3 and the like"),
    ],
)
def test_what_contradicts_the_name_is_refused(name, options, told):
    with pytest.raises(ValueError, match=told):
        make(name, world(), **options)


def test_models_are_listed_with_one_line_each():
    listed = models()
    assert {"MaxEnt", "I-1", "I-2", "S-1", "S-2", "F-1", "Markov", "ARHMM", "rARHMM"} <= set(listed)
    for name in listed:
        model = make(name, world())
        assert isinstance(model, HiddenModeEstimator)
        assert all(getattr(model, key) == value for key, value in fixed_arguments(name).items())
    assert all(line and "\n" not in line for line in listed.values())
    assert len(set(listed.values())) == len(listed)
    listed.clear()
    assert models()  # a copy


def test_every_model_says_what_it_scores():
    """Next states are what all models of labelled states share."""
    for name in models():
        model = make(name, world())
        assert model.score_types
        assert set(model.score_types) <= {"action", "next_state", "density"}
        assert "next_state" in model.score_types or model.env is None, name


def test_what_a_name_stands_for():
    assert fixed_arguments("MaxEnt") == {"history": 1, "switching": "independent", "n_modes": 1}
    assert fixed_arguments("Markov-4") == {"order": 4}
    assert fixed_arguments("Markov") == {}
    fixed_arguments("S-2").clear()
    assert fixed_arguments("S-2") == {"history": 2, "switching": "state"}  # a copy


def test_load_finds_the_class_of_a_file(tmp_path):
    states = np.array([[0, 1, 2, 3, 4, 0], [3, 4, 0, 1, 2, 3]])
    data = Trajectories(states, np.zeros_like(states), n_states=N_STATES, n_actions=N_ACTIONS)
    for name, options in (("Markov-1", {"strength": 1.0}), ("ARHMM", {"n_restarts": 1, "max_iter": 2})):
        model = make(name, world(), **options).fit(data)
        again = load(model.save(tmp_path / f"{name}.nc"))
        assert type(again) is type(model)
        np.testing.assert_array_equal(again.log_likelihood(data), model.log_likelihood(data))


def test_load_of_nothing_says_so():
    with pytest.raises(ValueError, match="does not exist"):
        load("nowhere.nc")


def test_the_former_names_still_work():
    model = make("S-1", world())
    with pytest.warns(DeprecationWarning, match="currencies is called score_types now"):
        assert model.currencies == model.score_types
    with pytest.warns(DeprecationWarning, match="Tabular: road is called solver now"):
        assert Tabular(road="soft-q") == Tabular(solver="soft-q")
