"""Goals in a run, by the names or numbers of states, and what follows from them.

    [model]
    reward = "goals"
    goals = ["water", ["home", "den"]]

The same on the command line: `--reward goals --goals water,home+den`; home and den are one goal.  A goal may be given a
name of its own, `drink=water`.  `swirl compare --goals` asks the same of the panel and of every model that has goals.
`--goals discover` has them found (`analysis.goal_discovery`).
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from swirl.analysis.goal_discovery import GoalSearch, discover_goals
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.estimators.registry import arguments_for, has_goals
from swirl.rewards.forms import Goals
from swirl.text import counted, did_you_mean, some
from swirl.workflows.config import Run

DISCOVER = "discover"
REWARDS = ("state", "state-action", "goals")
WRITTEN = "--goals water,home (names or numbers of states; home+den is one goal of two)"


def split_goals(given: str) -> list[str]:
    """The goals of "A,B+C,…", each as it was written; a comma within brackets belongs to a name.

    >>> split_goals("water, home+den,(0, 4)")
    ['water', 'home+den', '(0, 4)']
    """
    return [part.strip() for part in re.split(r",(?![^(]*\))", given) if part.strip()]


def read_goals(given: str | dict[str, Any] | None, env: MDP) -> dict[str, list[int]] | None:
    """The states of each goal by its name, from "water=116,home=0+1" or a table of names; None where none were given.

    A goal without a name is called after its first place.

    >>> read_goals("water=2,0+1", MDP.deterministic([[1], [2], [0]]))
    {'water': [2], '0': [0, 1]}
    >>> read_goals({"water": "W"}, MDP.deterministic([[1], [0]], state_names=["H", "W"]))
    {'water': [1]}
    """
    if given is None:
        return None
    if isinstance(given, str):
        words = split_goals(given)
        names = [_own_name(part, env) or part.split("+")[0].strip() for part in words]
    else:
        names, words = list(given), list(given.values())
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"goals: {twice[0]!r} is there twice; join its places with +, as in {twice[0]}=0+1")
    return {name: list(states) for name, states in zip(names, places_of(words, env), strict=True)}


def places_of(goals: list[Any], env: MDP) -> tuple[tuple[int, ...], ...]:
    """The states of each goal: by name where states have names, else by number; "home+den" is one goal of two states.

    Where the name of any state is itself a number, numbers are names.

    >>> env = MDP.deterministic([[0, 1], [1, 2], [2, 0]], state_names=["home", "den", "water"])
    >>> places_of(["water", "home+den"], env), places_of([2, ["0", 1]], env)
    (((2,), (0, 1)), ((2,), (0, 1)))
    """
    if not goals:
        raise ValueError(f"goals: the list is empty; give one or more, as in {WRITTEN}")
    names = {} if env.state_names is None else {name: state for state, name in enumerate(env.state_names)}
    numbered = not any(name.isdecimal() for name in names)
    faults = Faults()

    def state(part: Any) -> int:
        name = str(part).strip()
        if name in names:
            return names[name]
        if numbered and name.isdecimal() and int(name) < env.n_states:
            return int(name)
        there = f"there are {some(list(names))}" if names else f"there are {counted(env.n_states, 'state')}, from 0"
        faults.add(f"goals: no state {name!r}; {there}")
        return 0

    def region(goal: Any) -> tuple[int, ...]:
        whole = str(goal).strip()
        whole = whole if whole in names else whole.rpartition("=")[2].strip()
        parts = goal if isinstance(goal, list | tuple) else [whole] if whole in names else whole.split("+")
        return tuple(dict.fromkeys(state(part) for part in parts))

    found = tuple(region(goal) for goal in goals)
    faults.raise_if_any()
    return found


def _own_name(goal: Any, env: MDP) -> str:
    """The name in "drink=water"; nothing where there is none, or where all of it is the name of a state."""
    word = str(goal).strip()
    return "" if word in (env.state_names or ()) else word.rpartition("=")[0].strip()


def names_of(goals: list[Any], env: MDP) -> tuple[str, ...]:
    """What goals are called: their own names, else their first places; nothing where none has a name of its own.

    >>> env = MDP.deterministic([[1], [2], [0]])
    >>> names_of(["drink=2", "0+1"], env), names_of([2], env)
    (('drink', '0'), ())
    """
    own = [_own_name(goal, env) for goal in goals]
    if not any(own):
        return ()
    return tuple(name or str(goal).split("+")[0].strip() for name, goal in zip(own, goals, strict=True))


def with_goals(run: Run, env: MDP, names: list[str] | None = None) -> Run:
    """The run with its goals as states of the environment: ``reward`` is then a `rewards.Goals`.

    Goals that are given replace those of a `rewards.Goals` in the file; its other settings stay.

    Parameters
    ----------
    names
        The models that are compared; None: the run is of one model, its own.
    """
    asked = run.model
    how = f"as in --reward goals {WRITTEN}" if names is None else f"as in --models Goals,S-2,Markov {WRITTEN}"
    _check_reward(asked.reward)
    named = [name for name in ([asked.name] if names is None else names) if name is not None and has_goals(name)]
    formed = isinstance(asked.reward, Goals)
    if asked.reward == "goals" and names is not None:
        raise ValueError(f"reward=goals: goals are compared by name, {how}")
    if asked.goals is None:
        if not formed and (named or asked.reward == "goals"):
            raise ValueError(f"{named[0] if named else 'reward=goals'}: say where the goals are, {how}")
        if formed and names is not None and not named:
            raise ValueError(f"reward={asked.reward!r}: no model that is compared has goals; name one, {how}")
        return run
    if not (named or (names is None and (formed or asked.reward == "goals"))):
        raise ValueError(f"goals={asked.goals!r}: there is no model that has goals; ask for one, {how}")
    if not formed and asked.reward not in (None, "goals"):
        raise ValueError(f"reward={asked.reward!r}: goals are a reward of their own; leave one of the two out")
    base = cast(Goals, asked.reward) if formed else Goals()
    if [str(goal).strip() for goal in asked.goals] == [DISCOVER] and DISCOVER not in (env.state_names or ()):
        if names is not None:
            raise ValueError("goals=discover: `swirl fit --reward goals --goals discover` finds places; name them here")
        if "modes" in asked.model_fields_set:
            raise ValueError(f"modes={asked.modes}: how many there are is what --goals discover finds; leave it out")
        return run.model_copy(update={"model": _changed(asked, reward=replace(base, places=(), names=()))})
    form = replace(base, places=places_of(asked.goals, env), names=names_of(asked.goals, env))
    return run.model_copy(update={"model": _changed(asked, reward=form, goals=None)})


def _check_reward(reward: Any) -> None:
    """Refuse the name of a reward that there is not, with the one that was probably meant."""
    if isinstance(reward, str) and reward not in REWARDS:
        hint = did_you_mean(reward, REWARDS, f"there are {', '.join(REWARDS)}")
        raise ValueError(f"reward={reward!r}: there is no such reward{hint}")


def discovered(
    run: Run, env: MDP, train: Trajectories, callback: Callable[[str], Any] | None = None
) -> tuple[Run, GoalSearch]:
    """The run with the goals that the training sessions have, where it asks for them, and what the search found."""
    form = cast(Goals, run.model.reward)
    found = discover_goals(train, env, form=form, callback=callback, **search_settings(run))
    return with_found(run, found.model), found


def search_settings(run: Run) -> dict[str, Any]:
    """What a run says of the models of a search, beside their form."""
    named = ("history", "discount", "temperature", "switching_prior", "impossible", "reward_prior")
    return {name: value for name in named if (value := getattr(run.model, name)) is not None}


def with_found(run: Run, model: Any, **settings: Any) -> Run:
    """The run with the goals and the habit of a model that a search found, and other settings of it."""
    return run.model_copy(update={"model": _changed(run.model, reward=model.reward, goals=None, **settings)})


def for_goal_models(run: Run) -> Run:
    """The run of a comparison, its goals also those of the models that walk to goals, unless these have their own."""
    given, asked = run.compare.goals, run.model
    if given is None or asked.goals is not None or isinstance(asked.reward, Goals):
        return run
    if not any(has_goals(name) for name in run.compare.models):
        return run
    words = split_goals(given) if isinstance(given, str) else list(given.values())
    return run.model_copy(update={"model": _changed(asked, goals=words)})


def with_what_follows(run: Run) -> Run:
    """The run with what its goals make of the modes and the switching, unless the user said otherwise."""
    asked = run.model
    if not isinstance(asked.reward, Goals):
        return run
    follows = {("modes" if key == "n_modes" else key): value for key, value in arguments_for(asked.reward).items()}
    if asked.name is not None:  # then the name says the rest
        follows = {"modes": follows["modes"]}
    given = {key: value for key, value in follows.items() if key not in asked.model_fields_set}
    return run.model_copy(update={"model": _changed(asked, **given)})


def _changed(section: Any, **values: Any) -> Any:
    """A section with other values; what is None counts as not given."""
    copied = section.model_copy(update=values)
    copied.__pydantic_fields_set__.update(key for key, value in values.items() if value is not None)
    copied.__pydantic_fields_set__.difference_update(key for key, value in values.items() if value is None)
    return copied
