"""One session, step by step: a timeline and a replay.

The steps of the sessions are packed for the page, and only the session that is looked at is unpacked and drawn.
"""

import json
from typing import Any

import numpy as np

from swirl.analysis.decoded import DecodedFit, clock
from swirl.report.formatting import squeezed
from swirl.report.maps import map_facts
from swirl.report.section import ReportedFit, Section
from swirl.text import rounded

MAX_LETTERS = 2_500_000  # of packed sessions in one page
MAX_STEPS = 200_000  # of one session
MAX_ON_RING = 60  # states that a replay shows on a ring, where they have no places


def session_section(fit: ReportedFit) -> Section:
    """The sessions to choose from, and whether one can be replayed."""
    sessions, replay = session_facts(fit), _replay(fit)
    values = {"sessions": sessions, "replay": replay}
    return Section("session", "One session", values, facts={"timeline": sessions, "replay": replay})


def _replay(fit: ReportedFit) -> str | None:
    """How a session is replayed: on the map, on a ring of states, or not at all."""
    maps = fit.once(map_facts)
    if maps is None or fit.n_states < 2:
        return None
    if maps["kind"] != "table":
        return "map"
    return "ring" if fit.n_states <= MAX_ON_RING else None


def session_facts(fit: DecodedFit) -> dict[str, Any]:
    """Pack the first sessions, as many as fit, and say how many were left out.

    Each session: names, and as packed JSON its states, modes, posterior (‰), gaps, and where there are some times,
    signal, events and true modes. A signal of zeros and ones is an event; the `signal` asked for is drawn as a line.
    """
    events = [name for name in event_names(fit) if name != fit.signal]
    packed, letters, cut = [], 0, []
    for i in range(len(fit.data)):
        text = squeezed(json.dumps(_session(fit, i, events), separators=(",", ":"), allow_nan=False))
        if packed and letters + len(text) > MAX_LETTERS:
            break
        letters += len(text)
        subject = fit.data.subjects[i]
        name = fit.data.names[i]
        shown = f"session {name}" if name.isdecimal() else name
        packed.append(
            {
                "name": shown if subject is None else f"{shown} ({subject})",
                "steps": min(len(fit.data.states[i]), MAX_STEPS),
                "packed": text,
            }
        )
        if len(fit.data.states[i]) > MAX_STEPS:
            cut.append(shown)
    return {
        "sessions": packed,
        "left_out": len(fit.data) - len(packed),
        "cut": cut,
        "max_steps": MAX_STEPS,
        "signal": fit.signal,
        "events": events,
        "has_times": fit.data.times is not None,
        "clock": clock(fit.data.times),
        "has_truth": fit.data.modes is not None,
    }


def event_names(fit: DecodedFit) -> list[str]:
    """Signals that are zeros and ones (or missing) in all sessions, with at least one of each."""
    found = []
    for name, arrays in (fit.data.signals or {}).items():
        if all(np.ndim(array) == 1 for array in arrays):
            values = np.concatenate(arrays)
            finite = np.unique(values[np.isfinite(values)])
            if np.array_equal(finite, [0.0, 1.0]):
                found.append(name)
    return found


def _session(fit: DecodedFit, i: int, events: list[str]) -> dict[str, Any]:
    data, steps = fit.data, slice(0, MAX_STEPS)
    posterior = np.round(1000 * fit.posterior[i][steps]).astype(int)
    session: dict[str, Any] = {
        "states": data.states[i][steps].tolist(),
        "actions": data.actions[i][steps].tolist(),
        "modes": fit.modes[i][steps].tolist(),
        "posterior": posterior.T.tolist() if fit.n_modes > 1 else None,
        "gaps": [int(t) for t in data.gaps[i] if t < MAX_STEPS],
        "times": None if data.times is None else np.round(data.times[i][steps], 4).tolist(),
        "truth": None if data.modes is None else data.modes[i][steps].tolist(),
        "signal": None,
        "events": [],
    }
    signals = data.signals or {}
    if fit.signal is not None:
        drawn = np.asarray(signals[fit.signal][i], float).reshape(len(data.states[i]), -1)[steps, 0]
        session["signal"] = rounded(drawn, 5)
    session["events"] = [np.flatnonzero(np.asarray(signals[name][i])[steps] == 1).tolist() for name in events]
    return session
