"""What a report is about: a fitted model, the data, and the modes that the model reads in them.

A state is called a syllable where any may follow any and the action is the next one, and a state elsewhere.
"""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import HiddenModeEstimator, as_trajectories, quietly


@dataclass(frozen=True)
class Case:
    """A model, data, and what the one says about the other."""

    model: Any
    data: Trajectories
    env: MDP | None
    """None for models of continuous recordings."""
    modes: list[np.ndarray]
    """Most likely mode of each step (Viterbi)."""
    posterior: list[np.ndarray]
    """p(mode | whole session) of each step."""
    mode_names: list[str]
    colours: list[str]
    """One per mode, the same in every figure."""
    state_names: list[str]
    action_names: list[str]

    @property
    def n_modes(self) -> int:
        """Number of modes."""
        return len(self.mode_names)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.state_names)


def read_case(model: Any, data: Any) -> Case:
    """Decode the data, once for all sections.

    >>> import swirl
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> case = read_case(world.true_model(), world.trajectories)
    >>> case.n_modes, case.mode_names, case.state_names[3], case.posterior[0].shape
    (2, ['mode 0', 'mode 1'], '(0, 3)', (80, 2))
    """
    from swirl.plots.style import mode_colours, mode_labels, named_mode_colours

    if not isinstance(model, HiddenModeEstimator):
        raise ValueError(
            f"model is {type(model).__name__}: expected a fitted model, such as swirl.SWIRL(env).fit(data) or "
            'swirl.load("fit.nc")'
        )
    data = as_trajectories(data)
    with quietly():  # the report says it in words
        modes = [np.asarray(path) for path in model.predict(data)]
        posterior = [np.asarray(share) for share in model.predict_proba(data)]
    env, n_modes, named = model.world, len(model.initial_modes_), model.mode_names_
    n_states = data.n_states if env is None else env.n_states
    n_actions = data.n_actions if env is None else env.n_actions
    return Case(
        model,
        data,
        env,
        modes,
        posterior,
        mode_labels(named, n_modes),
        mode_colours(n_modes) if named is None else named_mode_colours(named),
        _names("state", n_states, env and env.state_names, data.state_names),
        _names("action", n_actions, env and env.action_names, data.action_names),
    )


def _names(noun: str, n: int, *given: Any) -> list[str]:
    """The first names that are given and suffice; "state 0", "state 1", … where there are none."""
    for names in given:
        if names is not None and len(names) >= n:
            # "17" alone would not be read as a place in a sentence.
            return [f"{noun} {name}" if str(name).isdecimal() else str(name) for name in names[:n]]
    return [f"{noun} {i}" for i in range(n)]


OF_STATES = {"state": "state", "next": "next state", "previous": "previous state", "action": "action"}
OF_SYLLABLES = {
    "state": "syllable",
    "next": "next syllable",
    "previous": "previous syllable",
    "action": "next syllable",
}


def of_syllables(case: Case) -> bool:
    """Whether the states are syllables: they have no places, any may follow any other, and the action is the next one.

    >>> import swirl
    >>> from swirl.report.decoded import read_case
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> of_syllables(read_case(world.true_model(), world.trajectories))
    False
    """
    return _following(case) is not None


def _following(case: Case) -> list[int] | None:
    """The syllable that each action is, in whatever order a table had them; None where states are no syllables."""
    env = case.env
    if env is None or env.n_states < 3 or env.n_states != env.n_actions:
        return None
    if env.coordinates is not None or not env.is_deterministic:
        return None
    leads, available = np.asarray(env.successors.next)[:, :, 0], np.asarray(env.available)
    following = [np.unique(leads[available[:, action], action]).tolist() for action in range(env.n_actions)]
    if sorted(following) != [[state] for state in range(env.n_states)]:
        return None
    targets = np.array(following)[:, 0]
    anywhere = (available | (targets == np.arange(env.n_states)[:, None])).all()  # but itself: it goes on instead
    return targets.tolist() if anywhere else None


def nouns(case: Case) -> dict[str, str]:
    """Words for a state, the next, the previous and an action.

    >>> import swirl
    >>> from swirl.report.decoded import read_case
    >>> world = swirl.datasets.gridworld(n_sessions=3, n_steps=80)
    >>> nouns(read_case(world.true_model(), world.trajectories))["next"]
    'next state'
    """
    return OF_SYLLABLES if of_syllables(case) else OF_STATES


def worded(case: Case) -> Case:
    """The case with "syllable 7" for "state 7" where states are syllables, and the same names for the actions."""
    following = _following(case)
    if following is None:
        return case
    names = [re.sub(r"^state (?=\d+$)", "syllable ", name) for name in case.state_names]
    return replace(case, state_names=names, action_names=[names[s] for s in following])
