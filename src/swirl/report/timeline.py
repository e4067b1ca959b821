"""The steps of the sessions, packed for the page: only the session that is looked at is unpacked and drawn."""

import json
from typing import Any

import numpy as np

from swirl.analysis.decoded import DecodedFit
from swirl.report.formatting import squeezed
from swirl.text import rounded

MAX_LETTERS = 2_500_000  # of packed sessions in one page
MAX_STEPS = 200_000  # of one session


def session_facts(case: DecodedFit, signal: str | None = None) -> dict[str, Any]:
    """Pack the first sessions, as many as fit, and say how many were left out.

    Each session: names, and as packed JSON its states, modes, posterior (‰), gaps, and where there are some times,
    signal, events and true modes. A signal of zeros and ones is an event; the `signal` asked for is drawn as a line.
    """
    events = [name for name in event_names(case) if name != signal]
    packed, letters, cut = [], 0, []
    for i in range(len(case.data)):
        text = squeezed(json.dumps(_session(case, i, signal, events), separators=(",", ":"), allow_nan=False))
        if packed and letters + len(text) > MAX_LETTERS:
            break
        letters += len(text)
        subject = case.data.subjects[i]
        name = case.data.names[i]
        shown = f"session {name}" if name.isdecimal() else name
        packed.append(
            {
                "name": shown if subject is None else f"{shown} ({subject})",
                "steps": min(len(case.data.states[i]), MAX_STEPS),
                "packed": text,
            }
        )
        if len(case.data.states[i]) > MAX_STEPS:
            cut.append(shown)
    return {
        "sessions": packed,
        "left_out": len(case.data) - len(packed),
        "cut": cut,
        "max_steps": MAX_STEPS,
        "signal": signal,
        "events": events,
        "has_times": case.data.times is not None,
        "clock": clock(case.data.times),
        "has_truth": case.data.modes is not None,
    }


def clock(times: Any) -> str:
    """What the axis of time is called: recordings without a frame rate count frames, which are whole numbers.

    >>> clock(None), clock([np.array([0.0, 0.4])]), clock([np.array([0.0, 30.0])])
    ('step', 'time (s)', 'time (s, or frames)')
    """
    if times is None:
        return "step"
    whole = all(np.array_equal(part, np.round(part)) for part in times)
    return "time (s, or frames)" if whole else "time (s)"


def event_names(case: DecodedFit) -> list[str]:
    """Signals that are zeros and ones (or missing) in all sessions, with at least one of each."""
    found = []
    for name, arrays in (case.data.signals or {}).items():
        if all(np.ndim(array) == 1 for array in arrays):
            values = np.concatenate(arrays)
            finite = np.unique(values[np.isfinite(values)])
            if np.array_equal(finite, [0.0, 1.0]):
                found.append(name)
    return found


def _session(case: DecodedFit, i: int, signal: str | None, events: list[str]) -> dict[str, Any]:
    data, steps = case.data, slice(0, MAX_STEPS)
    posterior = np.round(1000 * case.posterior[i][steps]).astype(int)
    session: dict[str, Any] = {
        "states": data.states[i][steps].tolist(),
        "actions": data.actions[i][steps].tolist(),
        "modes": case.modes[i][steps].tolist(),
        "posterior": posterior.T.tolist() if case.n_modes > 1 else None,
        "gaps": [int(t) for t in data.gaps[i] if t < MAX_STEPS],
        "times": None if data.times is None else np.round(data.times[i][steps], 4).tolist(),
        "truth": None if data.modes is None else data.modes[i][steps].tolist(),
        "signal": None,
        "events": [],
    }
    signals = data.signals or {}
    if signal is not None:
        session["signal"] = rounded(np.asarray(signals[signal][i], float).reshape(len(data.states[i]), -1)[steps, 0], 5)
    session["events"] = [np.flatnonzero(np.asarray(signals[name][i])[steps] == 1).tolist() for name in events]
    return session
