"""The examination as a whole, and the page that it gives: the counts in words, a line each."""

import textwrap
from dataclasses import dataclass
from typing import Any

from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.text import between, counted, one_decimal, some
from swirl.workflows.check.checks import (
    ask_for_walls,
    check_clock,
    check_signal,
    count_actions,
    count_histories,
    count_segments,
    count_sessions,
    count_states,
    count_transitions,
    find_moves,
)
from swirl.workflows.check.findings import LEVELS, Finding, Notes, Where, percent, place_words

NO_BREAK = "\N{NO-BREAK SPACE}"


def facts_on_sessions(
    sessions: dict[str, Any], actions: dict[str, Any], segments: dict[str, Any]
) -> list[tuple[str, str]]:
    """Return (name, words) of sessions, steps, actions and gaps.

    >>> lengths = {"min": 4, "median": 4.0, "max": 4}
    >>> sessions = {"sessions": 2, "steps": 8, "lengths": lengths, "subjects": [], "groups": []}
    >>> actions = {"actions": 2, "observed": 6, "missing": 0, "missing_within_segments": 0}
    >>> facts_on_sessions(sessions, actions, {"gaps": 0, "segments": 2, "short": 0})[1:3]
    [('steps', '8 (4 each)'), ('actions', '2, observed at 6 steps')]
    """
    of = [counted(len(sessions[what]), what[:-1]) for what in ("subjects", "groups") if sessions[what]]
    lengths = sessions["lengths"]
    each = f"{lengths['min']:,} each"
    if lengths["min"] != lengths["max"]:
        each = f"{lengths['min']:,} to {lengths['max']:,} each, median {one_decimal(lengths['median'])}"
    short = f", {segments['short']:,} of one step" if segments["short"] else ""
    groups = [
        f"{group['name']}: {counted(group['subjects'], 'subject') + ', ' if group['subjects'] else ''}"
        f"{counted(group['sessions'], 'session')}".replace(" ", NO_BREAK)
        for group in sessions["groups"]
    ]
    return [
        ("sessions", f"{sessions['sessions']:,}" + (f" of {', '.join(of)}" if of else "")),
        *[("groups", some(groups, 10, separator="; "))] * bool(groups),
        ("steps", f"{sessions['steps']:,} ({each})"),
        ("actions", words_on_actions(actions)),
        ("gaps", f"{segments['gaps']:,}, so {counted(segments['segments'], 'segment')}{short}"),
    ]


def words_on_actions(actions: dict[str, Any]) -> str:
    """Say how many actions there are, and at how many steps one was recorded.

    >>> words_on_actions({"actions": 0, "observed": 0, "missing": 8, "missing_within_segments": 6})
    'none recorded'
    >>> words_on_actions({"actions": 4, "observed": 0, "missing": 8, "missing_within_segments": 6})
    'none recorded; the environment has 4'
    >>> words_on_actions({"actions": 4, "observed": 5, "missing": 3, "missing_within_segments": 1})
    '4, observed at 5 steps; 3 missing, 1 of them within segments'
    """
    if not actions["observed"]:
        return "none recorded" + (f"; the environment has {actions['actions']:,}" if actions["actions"] else "")
    within = f", {actions['missing_within_segments']:,} of them within segments"
    missing = f"; {actions['missing']:,} missing{within}" if actions["missing"] else ""
    return f"{actions['actions']:,}, observed at {counted(actions['observed'], 'step')}{missing}"


def facts_on_states(states: dict[str, Any], transitions: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (name, words) of states and moves.

    >>> states = {"states": 2, "visited": 1, "top": [{"name": "0", "share": 1.0}]}
    >>> transitions = {"moves": 3, "kinds": 1, "staying": 1.0, "checked": True, "impossible": 0}
    >>> facts_on_states(states, transitions)[1]
    ('moves', '3 of 1 kind; 100 % stay; 0 impossible')
    """
    each = [f"{entry['name']}: {percent(entry['share'])}".replace(" ", NO_BREAK) for entry in states["top"][:5]]
    verdict = f"; {transitions['impossible']:,} impossible" if transitions["checked"] else ""
    kinds = counted(transitions["kinds"], "kind")
    return [
        ("states", f"{states['states']:,}, {states['visited']:,} of them visited; most of all {', '.join(each)}"),
        ("moves", f"{transitions['moves']:,} of {kinds}; {percent(transitions['staying'])} stay{verdict}"),
    ]


def words_on_time(time: dict[str, Any]) -> str:
    """Say how the clock goes.

    >>> words_on_time({"median_step": 0.04, "regular": True, "jumps": 2})
    'median step 0.04, steady; 2 jumps'
    """
    if time["median_step"] is None:
        return "no two steps in one segment"
    beat = "steady" if time["regular"] else "not steady"
    return f"median step {time['median_step']:.4g}, {beat}; {counted(time['jumps'], 'jump')}"


def words_on_signal(signal: dict[str, Any]) -> str:
    """Say how much there is of a signal, and of what scale.

    >>> words_on_signal({"channels": 2, "nan_share": 0.25, "sd": [0.5, 2.0]})
    '2 channels, 25 % NaN; standard deviation 0.5 to 2'
    """
    scale = "" if signal["sd"] is None else f"; standard deviation {between(*signal['sd'])}"
    return f"{counted(signal['channels'], 'channel')}, {percent(signal['nan_share'])} NaN{scale}"


@dataclass(frozen=True)
class Checkup:
    """What `examine` found: counts by theme, ready for JSON, and findings in order of weight.

    Examples
    --------
    >>> found = examine(Trajectories([[0, 1, 0, 1], [1, 0, 1, 1]], [[1, 1, 1], [1, 1, 0]]))
    >>> found.sessions["steps"], found.transitions["moves"], found.n_faults
    (8, 6, 0)
    """

    sessions: dict[str, Any]
    actions: dict[str, Any]
    time: dict[str, Any] | None
    segments: dict[str, Any]
    states: dict[str, Any]
    transitions: dict[str, Any]
    histories: list[dict[str, Any]]
    signals: dict[str, Any]
    findings: tuple[Finding, ...]

    def _count(self, level: str) -> int:
        return sum(finding.level == level for finding in self.findings)

    @property
    def n_faults(self) -> int:
        """Number of kinds of things that a fit would refuse."""
        return self._count("fault")

    @property
    def n_warnings(self) -> int:
        """Number of kinds of things that would mislead a fit."""
        return self._count("warning")

    @property
    def verdict(self) -> str:
        """The whole in one sentence."""
        if not self.findings:
            return "All is well."
        tally = ", ".join(counted(self._count(level), level) for level in LEVELS if self._count(level))
        if self.n_faults:
            return f"{tally}: a fit would refuse these data."
        return f"{tally}: a fit would run{'; read the warnings first.' if self.n_warnings else '.'}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values.

        >>> examine(Trajectories([[0, 1, 0]])).to_dict()["segments"]
        {'gaps': 0, 'segments': 1, 'short': 0}
        """
        themes = ("sessions", "actions", "time", "segments", "states", "transitions", "histories", "signals")
        return {
            "verdict": self.verdict,
            "faults": self.n_faults,
            "warnings": self.n_warnings,
            "findings": [finding.to_dict() for finding in self.findings],
            **{theme: getattr(self, theme) for theme in themes},
        }

    def facts(self) -> list[tuple[str, str]]:
        """Return the counts as (name, words), a line each."""
        lines = facts_on_sessions(self.sessions, self.actions, self.segments)
        if self.time is not None:
            lines.append(("time", words_on_time(self.time)))
        lines += facts_on_states(self.states, self.transitions)
        for entry in self.histories:
            unseen = f", {entry['unseen']:,} never seen" if entry["unseen"] else ""
            words = f"{entry['reachable']:,} reachable{unseen}; median {one_decimal(entry['median'])} steps each"
            lines.append((f"histories of {entry['length']}", words))
        for name, signal in self.signals.items():
            lines.append((f"signal {name}", words_on_signal(signal)))
        return lines

    def to_text(self, width: int = 100) -> str:
        """Return the page as plain text for a terminal.

        >>> print(examine(Trajectories([[0, 1, 0, 1]], [[0, 0, 0]])).to_text().splitlines()[0])
        sessions          1
        """
        text = []
        for name, words in self.facts():
            lines = textwrap.wrap(f"{name:<17} {words}", width, subsequent_indent=" " * 18)
            text += [line.replace(NO_BREAK, " ") for line in lines]
        for finding in self.findings:
            text += ["", finding.to_text(width)]
        return "\n".join([*text, "", self.verdict])

    def markdown(self) -> str:
        """Return the page in Markdown.

        >>> print(examine(Trajectories([[0, 1, 0, 1]], [[0, 0, 0]])).markdown().splitlines()[0])
        # Check of the data
        """

        def cell(text: str) -> str:
            return " ".join(text.split()).replace("|", "\\|")

        lines = ["# Check of the data", "", self.verdict, "", "| what | found |", "|---|---|"]
        lines += [f"| {cell(name)} | {cell(words)} |" for name, words in self.facts()]
        for finding in self.findings:
            lines += ["", f"- **{finding.level}**: {finding.says} *{finding.do}*"]
            lines += [f"    - {place_words(place)}" for place in finding.places]
        return "\n".join(lines) + "\n"


def examine(data: Trajectories, env: MDP | None = None, *, places: Where | None = None) -> Checkup:
    """Look at recordings before a fit.

    Parameters
    ----------
    env
        The environment; None: what is possible is not known, and every move that was seen is taken to be.
    places
        (session, step, "state" | "action" | "time") → where that stands in the user's file, in words, or None where
        that is not known. Asked only for what is shown.

    Examples
    --------
    >>> ring = MDP.deterministic([[1], [2], [0]])
    >>> found = examine(Trajectories([[0, 1, 2, 0, 2]], [[0, 0, 0, 0]]), ring)
    >>> found.findings[0].name, found.transitions["impossible"]
    ('impossible-transitions', 1)
    >>> place_words(found.findings[0].places[0])
    'session 0, step 3: state 0, action 0 → state 2; it leads to 1'
    """
    notes = Notes(data, env, places)
    moves = find_moves(notes)
    transitions = count_transitions(notes, moves)
    ask_for_walls(notes)
    sessions, segments, states = count_sessions(notes), count_segments(notes), count_states(notes)
    actions, histories, time = count_actions(notes, moves), count_histories(notes, moves), check_clock(notes)
    signals = {name: check_signal(notes, name, arrays) for name, arrays in (data.signals or {}).items()}
    findings = tuple(sorted(notes.findings, key=lambda finding: LEVELS.index(finding.level)))
    return Checkup(sessions, actions, time, segments, states, transitions, histories, signals, findings)
