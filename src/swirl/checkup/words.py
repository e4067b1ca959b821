"""The counts in words, a line each."""

from typing import Any

from swirl.checkup.figures import number_words, percent, range_words
from swirl.faults import counted

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
        each = f"{lengths['min']:,} to {lengths['max']:,} each, median {number_words(lengths['median'])}"
    within = f", {actions['missing_within_segments']:,} of them within segments"
    missing = f"; {actions['missing']:,} missing{within}" if actions["missing"] else ""
    short = f", {segments['short']:,} of one step" if segments["short"] else ""
    return [
        ("sessions", f"{sessions['sessions']:,}" + (f" of {', '.join(of)}" if of else "")),
        ("steps", f"{sessions['steps']:,} ({each})"),
        ("actions", f"{actions['actions']:,}, observed at {counted(actions['observed'], 'step')}{missing}"),
        ("gaps", f"{segments['gaps']:,}, so {counted(segments['segments'], 'segment')}{short}"),
    ]


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
    scale = "" if signal["sd"] is None else f"; standard deviation {range_words(signal['sd'])}"
    return f"{counted(signal['channels'], 'channel')}, {percent(signal['nan_share'])} NaN{scale}"
