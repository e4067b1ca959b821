"""What the parts of an examination share: the data end to end, names for what is in them, and the findings so far."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from swirl.checkup.findings import ADVICE, Finding, Place
from swirl.faults import some
from swirl.mdp import MDP
from swirl.trajectories import Trajectories

SHOWN = 20  # places that a finding names
LISTED = 1000  # labels that are listed in full for machines

Where = Callable[[int, int, str], str | None]


class Notes:
    """What the parts of the examination share: the data end to end, and the findings so far.

    Examples
    --------
    >>> notes = Notes(Trajectories([[0, 1, 0]], state_names=("nest", "food")))
    >>> notes.add("note", "one-session", f"There is only {notes.sessions([0])}.")
    >>> notes.findings[0].says, notes.state(1)
    ('There is only session 0.', '1 (food)')
    """

    def __init__(self, data: Trajectories, env: MDP | None = None, where: Where | None = None) -> None:
        self.data, self.flat, self.where = data, data.flat(), where
        self.findings: list[Finding] = []
        self.misnamed = False
        self.env = env if env is None or self._same_names(env) else None
        self.n_states = max(data.n_states, 0 if self.env is None else self.env.n_states)
        self.n_actions = max(data.n_actions, 0 if self.env is None else self.env.n_actions)

    def _same_names(self, env: MDP) -> bool:
        """Whether the labels that both have mean the same; any difference is a fault."""
        for noun, own, theirs in (
            ("state", env.state_names, self.data.state_names),
            ("action", env.action_names, self.data.action_names),
        ):
            if own and theirs and own[: len(theirs)] != theirs:
                label = next(i for i, name in enumerate(theirs) if own[i : i + 1] != (name,))
                further = label >= len(own)
                here = "nothing" if further else repr(own[label])
                says = f"{noun.capitalize()} {label} is {theirs[label]!r} in the data and {here} in the environment"
                self.add("fault", f"{noun}-names-differ", says + ("." if further else ", so moves were not checked."))
                self.misnamed |= not further
        return not self.misnamed

    def add(self, level: str, name: str, says: str, places: Sequence[Place] = (), advice: str | None = None) -> None:
        """Note a finding; what to do is that of `advice`, where it is not that of `name`."""
        self.findings.append(Finding(level, name, says, ADVICE[advice or name], tuple(places)))

    def at(self, positions: np.ndarray, column: str, what: Callable[[int], str]) -> list[Place]:
        """Name the first few of some steps, given by their positions in `flat`."""
        found = []
        for t in positions[:SHOWN].tolist():
            session, step = int(self.flat.sessions[t]), int(self.flat.steps[t])
            time = None if self.data.times is None else float(self.data.times[session][step])
            place = None if self.where is None else self.where(session, step, column)
            name = self.data.names[session]
            found.append(
                {"session": session, "name": name, "step": step, "time": time, "place": place, "what": what(t)}
            )
        return found

    def state(self, label: Any) -> str:
        """Name a state by its label and, where it has one, its name."""
        return _named(int(label), self.data.state_names, None if self.env is None else self.env.state_names)

    def action(self, label: Any) -> str:
        """Name an action by its label and, where it has one, its name."""
        return _named(int(label), self.data.action_names, None if self.env is None else self.env.action_names)

    def states(self, labels: np.ndarray) -> str:
        """Name the first ten of some states."""
        return first_ten(labels, self.state)

    def sessions(self, chosen: Sequence[int]) -> str:
        """Name the first few of some sessions."""
        names = [str(i) if self.data.names[i] == str(i) else f"{i} ({self.data.names[i]!r})" for i in chosen]
        return f"session{'' if len(names) == 1 else 's'} {some(names)}"


def _named(label: int, *names: tuple[str, ...] | None) -> str:
    known = next((given[label] for given in names if given is not None and label < len(given)), None)
    return str(label) if known is None else f"{label} ({known})"


def first_ten(labels: np.ndarray, name: Callable[[Any], str]) -> str:
    """Name the first ten labels, and say how many more there are.

    >>> first_ten(np.arange(12), str)
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more'
    """
    shown = ", ".join(map(name, labels[:10].tolist()))
    return f"{shown} and {len(labels) - 10:,} more" if len(labels) > 10 else shown
