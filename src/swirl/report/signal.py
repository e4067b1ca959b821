"""A user's signal by mode, as `triggered` gives it: its mean in each, and its course around the start of each."""

from typing import Any

import numpy as np

from swirl.report.case import Case
from swirl.report.plain import rounded
from swirl.triggered import mode_triggered_average, signal_by_mode
from swirl.triggered.given import signal_called

BEFORE, AFTER = 10, 20  # steps around the onset of a mode


def check_signal(case: Case, signal: str | None) -> None:
    """Refuse a signal that the data do not have, or that has several channels."""
    if signal is None:
        return
    widest = max(np.asarray(part).reshape(len(part), -1).shape[1] for part in signal_called(case.data, signal))
    if widest > 1:
        raise ValueError(
            f"signal={signal!r} has {widest} channels: the report draws one; put the one you mean into a signal of its "
            "own, Trajectories(..., signals={'name': [one array per session]})"
        )


def signal_facts(case: Case, signal: str) -> dict[str, Any]:
    """Mean and onset average of the signal in each mode, with standard errors over sessions (or subjects).

    Keys: name; over ("session" or "subject"); of each mode mean, sem, units (sessions or subjects with such steps)
    and steps; lags; of each mode and lag course and spread; of each mode onsets.
    """
    means = signal_by_mode(case.data, case.modes, signal, n_modes=case.n_modes)
    average = mode_triggered_average(
        case.data, case.modes, signal, before=BEFORE, after=AFTER, n_modes=case.n_modes, n_shifts=0
    )
    return {
        "name": signal,
        "over": means.over,
        "mean": rounded(means.mean[:, 0]),
        "sem": rounded(means.sem[:, 0]),
        "units": means.n_units[:, 0].tolist(),
        "steps": means.n_steps[:, 0].tolist(),
        "lags": average.lags.astype(int).tolist(),
        "course": rounded(average.mean[:, :, 0]),
        "spread": rounded(average.sem[:, :, 0]),
        "onsets": average.n_events.tolist(),
    }
