"""Goals by the names or numbers of states, and what follows from them."""

import pytest

from swirl.data.mdp import MDP
from swirl.rewards import Goals
from swirl.workflows.config import checked
from swirl.workflows.fit import build
from swirl.workflows.goals import places_of, with_goals, with_what_follows

MAZE = MDP.deterministic([[1, 0], [2, 0], [0, 1]], state_names=["home", "den+exit", "water"])
BARE = MDP.deterministic([[1, 0], [2, 0], [0, 1]])
NUMERALS = MDP.deterministic([[1, 0], [2, 0], [0, 1]], state_names=["2", "7", "30"])


@pytest.mark.parametrize(
    ("goals", "env", "expected"),
    [
        (["water", "home"], MAZE, ((2,), (0,))),
        (["water+home"], MAZE, ((2, 0),)),
        (["den+exit", "home+home"], MAZE, ((1,), (0,))),  # a name is a name, and a state counts once
        ([["home", 1], 2], MAZE, ((0, 1), (2,))),
        (["2", "0+1"], BARE, ((2,), (0, 1))),
        (["2", "30"], NUMERALS, ((0,), (2,))),  # numbers are names where a name is a number
    ],
)
def test_goals_are_states_by_name_or_by_number(goals, env, expected):
    assert places_of(goals, env) == expected


@pytest.mark.parametrize(
    ("goals", "env", "told"),
    [
        ([], MAZE, "goals: the list is empty; give one or more, as in --goals water,home"),
        (["bed", "water+sofa"], MAZE, r"no state 'bed'; there are home, den\+exit, water\n.*no state 'sofa'"),
        (["3"], BARE, "no state '3'; there are 3 states, from 0"),
        (["1"], NUMERALS, "no state '1'; there are 2, 7, 30"),
        (["0+"], BARE, "no state ''"),
    ],
)
def test_what_is_no_state_is_told(goals, env, told):
    with pytest.raises(ValueError, match=told):
        places_of(goals, env)


def settled(model, names=None, env=MAZE):
    return with_what_follows(with_goals(checked({"data": "x.csv", "model": model}), env, names))


def test_goals_make_their_modes_and_switching():
    run = settled({"reward": "goals", "goals": ["water", 0]})
    assert run.model.reward == Goals((2, 0))
    assert (run.model.modes, run.model.history, run.model.switching) == (3, None, "until-reached")
    again = checked(run.model_dump(mode="json", exclude_none=True))
    assert again == run
    assert with_what_follows(with_goals(again, MAZE)) == run  # the echo is the same run
    model = build(run, MAZE)
    assert (model.n_modes, model.history, model.switching, model.reward) == (3, 2, "until-reached", Goals((2, 0)))


def test_the_name_is_another_way_to_ask_for_them():
    model = build(settled({"name": "Goals", "goals": ["water"]}), MAZE)
    assert (model.n_modes, model.history, model.switching, model.reward) == (2, 2, "until-reached", Goals((2,)))
    assert build(settled({"name": "Goals-3", "goals": ["water"]}), MAZE).history == 3


def test_goals_may_have_names_of_their_own():
    form = settled({"reward": "goals", "goals": ["drink=water", "home"]}).model.reward
    assert form.mode_names(MAZE.state_names) == ("explore", "to drink", "to home")
    assert settled({"reward": "goals", "goals": ["water", "home"]}).model.reward.names == ()
    before = {"kind": "Goals", "places": [0, 1], "names": ["here", "there"]}
    assert settled({"reward": before, "goals": ["water"]}).model.reward == Goals((2,))


def test_what_the_user_says_goes_before_what_follows():
    model = build(settled({"reward": "goals", "goals": ["water"], "switching": "state", "history": 3}), MAZE)
    assert (model.n_modes, model.history, model.switching) == (2, 3, "state")
    form = {"kind": "Goals", "places": [0], "kinds": 2}
    assert build(settled({"reward": form}), MAZE).n_modes == 2
    assert settled({"reward": form, "goals": ["water"]}).model.reward == Goals((2,), kinds=2)
    assert build(settled({"reward": "goals", "goals": ["water"], "modes": 4}), MAZE).n_modes == 4  # `fit` refuses it


def test_a_run_without_goals_stays_as_it_was():
    run = checked({"data": "x.csv", "model": {"modes": 3}})
    assert with_what_follows(with_goals(run, MAZE)) is run


@pytest.mark.parametrize(
    ("model", "names", "told"),
    [
        (
            {"goals": ["water"]},
            None,
            "goals=\\['water'\\]: there is no model that has goals; ask for one, as in --reward",
        ),
        ({"reward": "goal", "goals": ["water"]}, None, "reward='goal': there is no such reward; did you mean 'goals'"),
        ({"reward": "State"}, None, "reward='State': there is no such reward; did you mean 'state'"),
        ({"reward": "cheese"}, None, "reward='cheese': there is no such reward; there are state, state-action, goals"),
        ({"goals": ["water"], "name": "S-2"}, None, "there is no model that has goals"),
        ({"goals": ["water"]}, ["S-2"], "there is no model that has goals; ask for one, as in --models Goals"),
        ({"reward": "goals"}, None, "reward=goals: say where the goals are, as in --reward goals --goals water,home"),
        ({"name": "Goals"}, None, "Goals: say where the goals are"),
        ({}, ["S-2", "Goals-2"], "Goals-2: say where the goals are, as in --models"),
        ({"reward": "goals"}, ["Goals"], "reward=goals: goals are compared by name, as in --models Goals"),
        ({"reward": "state", "goals": ["water"], "name": "Goals"}, None, "reward='state': goals are a reward of their"),
        ({"reward": {"kind": "Goals", "places": [0]}}, ["S-2"], "no model that is compared has goals; name one"),
        (
            {"goals": ["discover"]},
            ["Goals"],
            "goals=discover: `swirl fit --reward goals --goals discover` finds places",
        ),
        ({"reward": "goals", "goals": ["discover"], "modes": 3}, None, "modes=3: how many there are is what --goals"),
    ],
)
def test_goals_and_models_that_do_not_go_together(model, names, told):
    with pytest.raises(ValueError, match=told):
        settled(model, names)


def test_in_a_comparison_only_the_form_is_settled():
    run = with_goals(checked({"data": "x.csv", "model": {"goals": ["water"]}}), MAZE, ["S-2", "Goals"])
    assert run.model.reward == Goals((2,))
    assert run.model.model_fields_set == {"reward"}
