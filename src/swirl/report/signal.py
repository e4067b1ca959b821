"""A user's signal by mode: its mean in each, and its course around the start of each mode."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from swirl.behaviour import find_segments
from swirl.report.case import Case
from swirl.report.plain import rounded

BEFORE, AFTER = 10, 20  # steps around the onset of a mode


def check_signal(case: Case, signal: str | None) -> None:
    """Refuse a signal that the data do not have, or that has several channels."""
    if signal is None:
        return
    known = case.data.signals or {}
    if signal not in known:
        there = f"the data have {', '.join(map(repr, known))}" if known else "the data have none"
        raise ValueError(f"signal={signal!r}: no such signal; {there}")
    widest = max(np.asarray(part).reshape(len(part), -1).shape[1] for part in known[signal])
    if widest > 1:
        raise ValueError(
            f"signal={signal!r} has {widest} channels: the report draws one; put the one you mean into a signal of its "
            "own, Trajectories(..., signals={'name': [one array per session]})"
        )


def signal_facts(case: Case, signal: str) -> dict[str, Any]:
    """Mean and onset average of the signal in each mode."""
    values = [np.asarray(part, float).reshape(-1) for part in (case.data.signals or {})[signal]]
    mean, sem, n_sessions, n_steps = mean_by_mode(values, case.modes, case.n_modes)
    lags, course, spread, onsets = onset_average(values, case.modes, case.data.gaps, case.n_modes)
    return {
        "name": signal,
        "mean": rounded(mean),
        "sem": rounded(sem),
        "sessions": n_sessions.tolist(),
        "steps": n_steps.tolist(),
        "lags": lags.tolist(),
        "course": rounded(course),
        "spread": rounded(spread),
        "onsets": onsets.tolist(),
    }


def mean_by_mode(
    values: Sequence[Any], modes: Sequence[Any], n_modes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean of the sessions' means in each mode, its standard error over sessions, and numbers of sessions and steps.

    Steps follow one another too closely to be counted as independent; sessions are. Steps without a finite signal,
    or without a mode, do not count. The standard error of a single session is not known.

    >>> mean, sem, sessions, steps = mean_by_mode([[1.0, 3.0, 5.0], [4.0, np.nan, 9.0]], [[0, 0, 1], [0, 0, 1]], 2)
    >>> mean.tolist(), sem.tolist(), sessions.tolist(), steps.tolist()
    ([3.0, 7.0], [1.0, 2.0], [2, 2], [3, 2])
    """
    per_session = np.full((len(values), n_modes), np.nan)
    steps = np.zeros(n_modes, np.int64)
    for row, signal, path in zip(per_session, values, modes, strict=True):
        signal, path = np.asarray(signal, float), np.asarray(path)
        for mode in range(n_modes):
            own = signal[(path == mode) & np.isfinite(signal)]
            steps[mode] += len(own)
            if len(own):
                row[mode] = own.mean()
    known = np.isfinite(per_session)
    n = known.sum(axis=0)
    mean = np.where(n > 0, np.where(known, per_session, 0.0).sum(axis=0) / np.maximum(n, 1), np.nan)
    square = np.where(known, (per_session - mean) ** 2, 0.0).sum(axis=0)
    sem = np.where(n > 1, np.sqrt(square / np.maximum(n - 1, 1) / np.maximum(n, 1)), np.nan)
    return mean, sem, n, steps


def onset_average(
    values: Sequence[Any],
    modes: Sequence[Any],
    gaps: Sequence[Any] | None,
    n_modes: int,
    before: int = BEFORE,
    after: int = AFTER,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean signal from `before` steps ahead of a mode's onset to `after` steps behind it, and its standard error.

    An onset is the first step of a bout that follows another mode; nothing is read across gaps or sessions.

    Returns
    -------
    lags, mean [mode, lag], standard error over onsets [mode, lag], number of onsets [mode]

    >>> lags, mean, _, onsets = onset_average([[0.0, 1.0, 2.0, 3.0]], [[0, 0, 1, 1]], None, 2, 1, 1)
    >>> lags.tolist(), mean[1].tolist(), onsets.tolist()
    ([-1, 0, 1], [1.0, 2.0, 3.0], [0, 1])
    """
    lags = np.arange(-before, after + 1)
    found = find_segments(modes, gaps)
    windows: list[list[np.ndarray]] = [[] for _ in range(n_modes)]
    edges = [np.concatenate([[0], np.asarray([] if gaps is None else gaps[i], int), [len(path)]])
             for i, path in enumerate(modes)]  # fmt: skip
    for session, start, mode, cut in zip(found.session, found.start, found.mode, found.cut_start, strict=True):
        if cut:
            continue
        own = edges[session]
        low, high = own[own <= start].max(), own[own > start].min()
        steps = start + lags
        inside = (steps >= low) & (steps < high)
        signal = np.asarray(values[session], float)
        windows[mode].append(np.where(inside, signal[np.clip(steps, 0, len(signal) - 1)], np.nan))
    mean, sem = np.full((2, n_modes, len(lags)), np.nan)
    for mode, rows in enumerate(windows):
        if not rows:
            continue
        stack = np.stack(rows)
        known = np.isfinite(stack)
        n = known.sum(axis=0)
        middle = np.where(known, stack, 0.0).sum(axis=0) / np.maximum(n, 1)
        square = np.where(known, (stack - middle) ** 2, 0.0).sum(axis=0)
        mean[mode] = np.where(n > 0, middle, np.nan)
        sem[mode] = np.where(n > 1, np.sqrt(square / np.maximum(n - 1, 1) / np.maximum(n, 1)), np.nan)
    return lags, mean, sem, np.array([len(rows) for rows in windows])
