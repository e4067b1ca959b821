"""Every model by its name: `models()`, `make()` and `load()`."""

import inspect
import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from swirl.data.mdp import MDP
from swirl.text import nearest_name, plain_name


class _Entry(NamedTuple):
    """How a name is made: its class, the arguments that it stands for, and one line of description."""

    home: str
    cls: str
    defaults: dict[str, Any]
    description: str
    also: tuple[str, ...] = ()
    """Switching forms that keep the name."""
    form: str = ""
    """The reward form (`rewards.forms`) whose fields are arguments of the name, and say how many modes there are."""


_RECURRENT = ("state", "state-table", "state-net")


def _swirl(description: str, history: int, switching: str, **more: Any) -> _Entry:
    also = _RECURRENT if switching == "state" else ()
    return _Entry(
        "swirl.estimators.swirl", "SWIRL", {"history": history, "switching": switching, **more}, description, also
    )


def _baseline(home: str, cls: str, description: str, also: tuple[str, ...] = (), **defaults: Any) -> _Entry:
    return _Entry(f"swirl.estimators.{home}", cls, defaults, description, also)


ENTRIES = {
    "MaxEnt": _swirl(
        "maximum-entropy inverse reinforcement learning: one mode, one reward r(s)", 1, "independent", n_modes=1
    ),
    "I-1": _swirl(
        "reward r(s_t), switching independent of the state: multi-intention inverse Q-learning's model",
        1,
        "independent",
    ),
    "I-2": _swirl(
        "reward r(s_t, s_{t−1}), switching independent of the state; I-3, I-4, … see more states", 2, "independent"
    ),
    "S-1": _swirl("reward r(s_t), switching depends on the state: locally consistent IRL's model", 1, "state"),
    "S-2": _swirl(
        "reward r(s_t, s_{t−1}), switching depends on the state: SWIRL; S-3, S-4, … see more states", 2, "state"
    ),
    "F-1": _swirl(
        "reward r(s_t), one mode for the whole of a segment: clusters of sessions (Babes-Vroman et al. 2011); F-2, …",
        1,
        "fixed",
    ),
    "Goals": _Entry(
        "swirl.estimators.swirl",
        "SWIRL",
        {"switching": "until-reached"},
        "goal-directed: each mode walks to a goal, given or found, one mode explores, one habit for all, of the last "
        "move; Goals-3, … remember more moves",
        form="Goals",
    ),
    "Markov": _baseline(
        "markov",
        "BackoffMarkov",
        "smoothed counts of actions after the last n states, no mode; order and smoothing chosen on training folds; "
        "Markov-0, Markov-1, … fix the order",
    ),
    "ARHMM": _baseline(
        "arhmm",
        "ARHMM",
        "a table of next states for each mode, switching independent of the state",
        switching="independent",
    ),
    "rARHMM": _baseline(
        "arhmm", "ARHMM", "a table of next states for each mode, switching depends on the state", _RECURRENT,
        switching="state",
    ),
    "Dynamic-IRL": _baseline(
        "drifting_reward", "DriftingReward", "one reward that drifts over aligned sessions, a mixture of a few maps, "
        "no modes (after Ashwood et al. 2022)",
    ),
    "GaussianARHMM": _baseline(
        "gaussian_arhmm", "GaussianARHMM", "linear dynamics with Gaussian noise for each mode, of a continuous signal: "
        "the ARHMM of MoSeq",
    ),
    "IQ-Learn": _baseline(
        "iq_learn", "IQLearn", "model-free SWIRL: Q(h, a) for each mode by IQ-Learn, no transition model; history and "
        "switching as for S-2",
    ),
    "IQ-Network": _baseline(
        "iq_network", "IQNetwork", "model-free SWIRL where states are feature vectors: a small network for each mode",
    ),
}  # fmt: skip
PATTERNS = {
    r"([IS])-([1-9][0-9]*)": lambda m: ENTRIES[f"{m[1]}-2"]._replace(
        defaults={**ENTRIES[f"{m[1]}-2"].defaults, "history": int(m[2])}
    ),
    r"(F)-([1-9][0-9]*)": lambda m: ENTRIES["F-1"]._replace(defaults={**ENTRIES["F-1"].defaults, "history": int(m[2])}),
    r"(Goals)-([1-9][0-9]*)": lambda m: ENTRIES["Goals"]._replace(
        defaults={**ENTRIES["Goals"].defaults, "history": int(m[2])}
    ),
    r"(Markov)-([0-9]+)": lambda m: ENTRIES["Markov"]._replace(defaults={"order": int(m[2])}),
}


def models() -> dict[str, str]:
    """List the names that `make` knows, each with one line; I, S and F take any history length.

    >>> list(models())[:6]
    ['MaxEnt', 'I-1', 'I-2', 'S-1', 'S-2', 'F-1']
    """
    return {name: entry.description for name, entry in ENTRIES.items()}


def _find(name: str) -> _Entry:
    if name in ENTRIES:
        return ENTRIES[name]
    for pattern, entry in PATTERNS.items():
        if match := re.fullmatch(pattern, str(name)):
            return entry(match)
    meant = _meant(name)
    hint = f"there are {', '.join(ENTRIES)}, and I-3, S-3, F-2, Markov-3 and the like"
    raise ValueError(f"name={name!r}: no such model; {hint if meant is None else f'did you mean {meant!r}?'}")


def _meant(name: str) -> str | None:
    """The name that was probably meant: with other capitals or marks, else a near one.

    >>> _meant("S1"), _meant("s 12"), _meant("rarhmm"), _meant("Tarkov"), _meant("HMM of mine")
    ('S-1', 'S-12', 'rARHMM', 'Markov', None)
    """
    if found := re.fullmatch(r"([a-z]+)0*([0-9]+)", plain_name(name)):
        letters = {plain_name(own): own for own in ("I", "S", "F", "Goals", "Markov")}
        numbered = f"{letters.get(found[1])}-{found[2]}"
        if any(re.fullmatch(pattern, numbered) for pattern in PATTERNS):
            return numbered
    return nearest_name(name, ENTRIES)


def fixed_arguments(name: str) -> dict[str, Any]:
    """Arguments that a name stands for.

    >>> fixed_arguments("I-3")
    {'history': 3, 'switching': 'independent'}
    """
    return dict(_find(name).defaults)


def keeps(name: str, argument: str, value: Any) -> bool:
    """Whether a model has its name still with another value of an argument that the name stands for.

    >>> keeps("S-2", "switching", "state-net"), keeps("S-2", "switching", "fixed")
    (True, False)
    """
    return argument == "switching" and value in _find(name).also


def known_arguments(name: str) -> tuple[str, ...]:
    """Arguments that the model of a name has.

    Those of its reward form are among them where the name has one; the form itself, and the number of modes, are not:
    they follow.

    >>> "discount" in known_arguments("S-2"), "discount" in known_arguments("Markov")
    (True, False)
    >>> "places" in known_arguments("Goals"), "n_modes" in known_arguments("Goals")
    (True, False)
    """
    entry = _find(name)
    own = tuple(inspect.signature(getattr(import_module(entry.home), entry.cls)).parameters)
    if not entry.form:
        return own
    return (*(argument for argument in own if argument not in ("n_modes", "reward")), "goals", *_form_fields(entry))


def has_goals(name: str) -> bool:
    """Whether a name is of goal-directed modes, whose places are given, or found when they are fitted.

    >>> has_goals("Goals-2"), has_goals("S-2")
    (True, False)
    """
    return _find(name).form == "Goals"


def arguments_for(form: Any) -> dict[str, Any]:
    """Arguments that go with goals (`rewards.Goals`), where no others are given: those of the name Goals.

    >>> from swirl.rewards import Goals
    >>> arguments_for(Goals((116, 0)))
    {'n_modes': 3, 'switching': 'until-reached'}
    """
    return {"n_modes": form.n_modes, **ENTRIES["Goals"].defaults}


def _form_fields(entry: _Entry) -> tuple[str, ...]:
    form = getattr(import_module("swirl.rewards.forms"), entry.form)
    return tuple(field.name for field in fields(form))


def _with_form(name: str, entry: _Entry, parameters: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the class from those of a name with a reward form: the form is made of its own, or is given."""
    form = getattr(import_module("swirl.rewards.forms"), entry.form)
    parameters = dict(parameters)
    goals = parameters.pop("goals", None)
    if goals is not None and "places" in parameters:
        raise ValueError(f"goals={goals!r} and places={parameters['places']!r}: they mean the same; give one of them")
    own = {key: parameters[key] for key in _form_fields(entry) if key in parameters}
    rest = {key: value for key, value in parameters.items() if key not in own}
    given = rest.pop("reward", None)
    if given is not None and (own or goals is not None or not isinstance(given, form)):
        beside = f" with {', '.join(own) or 'goals'}" if own or goals is not None else ""
        raise ValueError(
            f"reward={given!r}{beside}: {name} makes its own reward; give goals=…, or reward=rewards.{entry.form}(…)"
        )
    reward = form(**{"places": goals, **own}) if given is None else given
    n_modes = "auto" if reward.to_be_found else reward.n_modes
    return {"n_modes": n_modes, **rest, "reward": reward}


def make(name: str, env: MDP | None = None, **parameters: Any) -> Any:
    """Build a model by name; further arguments are those of the model.

    Parameters
    ----------
    name
        One of `models()`, or I-3, S-3, F-2, Goals-2, Markov-3 and the like.
    env
        Where each action leads; models of continuous observations do not use it.

    Examples
    --------
    >>> env = MDP.deterministic([[0, 1], [1, 0]])
    >>> make("S-2", env, n_modes=3)
    SWIRL(MDP(...), n_modes=3)
    >>> make("MaxEnt", env)
    SWIRL(MDP(...), n_modes=1, history=1, switching='independent')
    >>> make("rARHMM", env)
    ARHMM(MDP(...), switching='state')

    Goals are given by their places, with names or without; the number of modes follows, as one explores. Where none are
    given the fit finds them: n_modes − 1 of them, or all that pay (at most six).

    >>> goals = make("Goals", env, goals={"water": 1})
    >>> goals.n_modes, goals.history, goals.switching
    (2, 2, 'until-reached')
    >>> make("Goals", env, n_modes=3).reward.places, make("Goals", env).n_modes
    (None, 'auto')
    """
    entry = _find(name)
    defaults = entry.defaults
    if entry.form:
        parameters = _with_form(name, entry, parameters)
    clash = [key for key in defaults if key in parameters and parameters[key] != defaults[key]]
    # A richer switching form keeps the name: "S" says only that it depends on the state.
    if "switching" in clash and parameters["switching"] in entry.also:
        clash.remove("switching")
    if clash:
        asked, fixed = (", ".join(f"{key}={values[key]!r}" for key in clash) for values in (parameters, defaults))
        place = "swirl" if entry.cls == "SWIRL" else "swirl.baselines"
        raise ValueError(f"{asked}: {name} has {fixed}; use {place}.{entry.cls} for other combinations")
    cls = getattr(import_module(entry.home), entry.cls)
    known = inspect.signature(cls).parameters
    unknown = [key for key in parameters if key not in known]
    if unknown:
        has = ("n_modes", *known_arguments(name)) if entry.form else tuple(known)
        raise ValueError(f"{', '.join(unknown)}: {name} has no such argument; it has {', '.join(has)}")
    takes_env = {"env": env} if "env" in known else {}
    return cls(**takes_env, **{**defaults, **parameters})


def _class(name: str) -> Any:
    """The class of a saved model, None where there is none of that name."""
    homes = {entry.cls: entry.home for entry in ENTRIES.values()}
    return getattr(import_module(homes[name]), name) if name in homes else None


def load(path: str | Path) -> Any:
    """Read a model that `save` wrote: identical predictions, nothing unpickled."""
    from swirl.estimators.save_load import load_model

    return load_model(_class, Path(path))
