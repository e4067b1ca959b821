"""What a state is called: a syllable, where any may follow any and the action is the next one; a state elsewhere."""

import re
from dataclasses import replace

import numpy as np

from swirl.report.case import Case

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
    >>> from swirl.report.case import read_case
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
    >>> from swirl.report.case import read_case
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
