"""What can be found in recordings, how much it weighs, and what to do about it.

`Notes` is what the checks share: the data end to end, names for what is in them, and the findings so far.
"""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from swirl import text
from swirl.data import passages
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories


def fraction(part: Any, whole: Any) -> float:
    """Return part / whole; of nothing, 0.

    >>> fraction(1, 4), fraction(0, 0)
    (0.25, 0.0)
    """
    return float(part) / float(whole) if whole else 0.0


def percent(share: float) -> str:
    """Say a share in per cent, as the terminal has it.

    >>> percent(0.41234)
    '41.2 %'
    """
    return text.percent(share, ".3g", space=" ")


LEVELS = ("fault", "warning", "note")

# What to do about each finding, by its name, which stays the same for scripts.
ADVICE = {
    "state-names-differ": "Use the environment's names, in its order, or correct the environment.",
    "action-names-differ": "Use the environment's names, in its order, or correct the environment.",
    "states-outside": "Relabel the data, or add the states to the environment.",
    "actions-outside": "Relabel the actions, or add them to the environment.",
    "actions-not-available": "Correct the data, leave the action blank (missing), or add its edge to the environment.",
    "impossible-transitions": "Correct the data or the environment; or fit with --impossible gap (a new segment starts "
    "there) or forget (the history restarts, the mode continues).",
    "impossible-stays": "If a row is a trial or another choice, add an action that stays to the environment (of a "
    "grid: swirl env grid … --stay). If it is a tick of a clock, make one step of the rows in which the animal stays "
    "(swirl import table FILE --merge; import bouts, moseq, tracks and nwb do it anyway). For what is left, correct "
    "the data, or fit with --impossible gap or forget.",
    "unlikely-transitions": "Check whether p of these edges should be so small.",
    "staying": "Is a row a trial, or another choice of the animal? Then nothing: to take the same again is a choice. "
    "Is it a tick of a clock? Then make one step of the rows in which the animal stays: swirl import table FILE "
    "--merge, and swirl env without --stay (import bouts, moseq, tracks and nwb merge anyway). Whether a rest at a "
    "goal belongs to the mode before it or to the mode after it is not in the data, so modes can come out wrong there.",
    "staying-recorded": "Nothing, if a row is a trial, or to stay is a choice that the animal makes at each step. If "
    "a row is a tick of a clock, make one step of the rows in which it stays: swirl import table FILE --merge.",
    "no-choice": "Such moves say nothing of what the animal wants, and modes mean nothing. If it may choose the "
    "same place again, as in a T-maze, each row is a choice: import the table without --merge. Else give finer places.",
    "names-alike": "If they are one, write them alike in the table, and import it again.",
    "never-stays": "If the rows of a stay were merged, write the environment without an action that stays (swirl env "
    "without --stay): else the model has to explain why the animal never stays, and modes come out wrong.",
    "actions-inferred": "Nothing: such a step is scored by the state that it led to, which determines the action.",
    "actions-next-states": "Nothing, if that is meant; else give a column of actions, or the environment.",
    "actions-missing": "Nothing, if they are missing by chance: such a step is scored by the state that it led to. "
    "With rewards of actions (--reward state-action), actions that lead to the same state cannot be distinguished.",
    "actions-never-chosen": "Fine where the animal did not choose to; otherwise check the labels.",
    "one-session": "Whole sessions are held out: with a single one there is no score on unseen data.",
    "names-repeated": "Give each session a different name: results are listed by it.",
    "constant-sessions": "See whether tracking was lost there; leave such sessions out.",
    "sessions-duplicated": "Leave the copies out: a held-out session must not be in the training set too.",
    "sessions-alike": "Most likely the animal took the same way twice; else leave the copies out.",
    "subjects-unknown": "Fill them in, if sessions are to be compared or held out by subject.",
    "subjects-uneven": "Every step has the same weight in a fit: look at the subjects one by one, or take fewer "
    "sessions of the first.",
    "short-segments": "Leave them out; many of them mean that too many gaps were set.",
    **passages.ADVICE,
    "states-never-visited": "Their rewards come from the prior; fine where the animal avoided some places.",
    "states-visited-once": "Their rewards depend on the prior. See whether the name is a slip of the pen; leave rare "
    "ones out (of syllables: swirl import moseq --min-usage).",
    "few-steps": "Record more, or use fewer states: rewards depend on the prior here.",
    "few-steps-per-history": "Fit with --history 1, or with a prior on rewards that backs off to shorter histories.",
    "time-jumps": "Mark a gap where the recording paused (column gap): history and modes then restart.",
    "time-irregular": "Fine for events, such as merged runs; but modes last for steps then, not for seconds.",
    "time-bases-differ": "Resample them to one rate: otherwise a step means different things in different sessions.",
    "signal-infinite": "Leave blank (NaN) what was not seen: models of signals refuse infinite values.",
    "signal-missing": "Those steps are left out of averages; check that they are not all of one kind.",
    "signal-constant": "Leave it out: it contains no information, and a variance of 0 breaks Gaussian models.",
    "signal-constant-in-sessions": "See whether the sensor was off there; leave it blank (NaN) if it was.",
    "signal-scale": "Bring it to a scale of about 1 (z-scores) before fitting a model of signals.",
}

Place = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Parameters
    ----------
    level
        "fault": a fit would refuse; "warning": a fit would run but mislead; "note": good to know.
    name
        A short name that stays the same, for scripts: a key of `ADVICE`.
    says, do
        What was found, and what to do about it.
    places
        The first few: session, name, step, time, place (in the file, where that is known) and what is there.

    Examples
    --------
    >>> Finding("note", "one-session", "There is only one session.", "Record more.").to_dict()["places"]
    []
    """

    level: str
    name: str
    says: str
    do: str
    places: tuple[Place, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding ready for JSON."""
        fields = {name: getattr(self, name) for name in ("level", "name", "says", "do")}
        return {**fields, "places": [dict(place) for place in self.places]}

    def to_text(self, width: int = 100) -> str:
        """Return what was found, where, and what to do, as plain text.

        >>> print(Finding("warning", "staying", "41 % of steps stay.", "Merge runs.").to_text())
        WARNING  41 % of steps stay.
                 → Merge runs.
        """
        label, margin = self.level if self.level == "note" else self.level.upper(), " " * 9
        lines = textwrap.wrap(f"{label:<9}{self.says}", width, subsequent_indent=margin)
        lines += [margin + place_words(place) for place in self.places]
        lines += textwrap.wrap(f"→ {self.do}", width, initial_indent=margin, subsequent_indent=margin + "  ")
        return "\n".join(lines)


def place_words(place: Place) -> str:
    """Say where and what in one line.

    >>> place_words({"session": 0, "name": "m1", "step": 3, "time": 0.5, "place": "row 5", "what": "state 2"})
    "session 0 ('m1'), step 3, t = 0.5, row 5: state 2"
    """
    name = "" if place["name"] == str(place["session"]) else f" ({place['name']!r})"
    words = [f"session {place['session']}{name}", f"step {place['step']}"]
    words += [] if place["time"] is None else [f"t = {place['time']:.10g}"]
    words += [] if place["place"] is None else [place["place"]]
    return f"{', '.join(words)}: {place['what']}"


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
        return text.some(labels.tolist(), 10, name=self.state)

    def sessions(self, chosen: Sequence[int]) -> str:
        """Name the first few of some sessions."""
        names = [str(i) if self.data.names[i] == str(i) else f"{i} ({self.data.names[i]!r})" for i in chosen]
        return f"session{'' if len(names) == 1 else 's'} {text.some(names)}"


def _named(label: int, *names: tuple[str, ...] | None) -> str:
    known = next((given[label] for given in names if given is not None and label < len(given)), None)
    return str(label) if known is None else f"{label} ({known})"
