"""What a bootstrap keeps of one fit, and which sessions it draws: the parts of `uncertainty`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from swirl import em
from swirl.alignment import match_by_distance, match_by_overlap
from swirl.discrete import DiscreteEstimator
from swirl.encoding import Encoded
from swirl.faults import counted
from swirl.fitting import EMEstimator, Problem
from swirl.iteration import choose, tables_and_prior
from swirl.model import SWIRL
from swirl.precision import float64, numpy_tree
from swirl.rewards.gauge import GaugeTooLargeError
from swirl.state_tables import by_state
from swirl.trajectories import Trajectories

LEAST_UNITS = 5
MOST_HISTORIES = 60_000  # for the least-norm reward, which is a linear problem of that size
MODES_FIRST = ("occupancy", "leaving", "initial_modes", "policies", "rewards")  # quantities with axes [mode, …]


def units_of(data: Trajectories, by: str | None) -> tuple[str, Int[np.ndarray, "session"]]:
    """What is drawn, sessions or subjects, and to which of them each session belongs; refuses fewer than five.

    >>> data = Trajectories([[0, 1]] * 6, subjects=["a", "a", "b", "c", "d", "e"])
    >>> units_of(data, None)
    ('subject', array([0, 0, 1, 2, 3, 4]))
    """
    if by not in (None, "session", "subject"):
        raise ValueError(f'by={by!r}: expected "session", "subject", or None to let the data decide')
    names = list(dict.fromkeys(data.subjects))
    known = len(set(names) - {None})
    if by == "subject" and None in names:
        raise ValueError('by="subject": some sessions name no subject; name them all, or use by="session"')
    if by is None:
        by = "subject" if None not in names and known >= LEAST_UNITS else "session"
    if by == "subject" and known < LEAST_UNITS:
        raise ValueError(
            f"there are {counted(known, 'subject')}: fewer than {LEAST_UNITS} say next to nothing of how subjects "
            'differ; use by="session", whose intervals are about these animals only'
        )
    if len(data) < LEAST_UNITS:
        raise ValueError(
            f"data have {counted(len(data), 'session')}: a bootstrap draws whole sessions, and fewer than "
            f"{LEAST_UNITS} say next to nothing of how sessions differ; cut long recordings into sessions where the "
            "animal began anew, or report no intervals"
        )
    if by == "session":
        return by, np.arange(len(data))
    place = {name: i for i, name in enumerate(names)}
    return by, np.array([place[name] for name in data.subjects])


def draw_times(units: Int[np.ndarray, "session"], rng: np.random.Generator) -> Int[np.ndarray, "session"]:
    """Draw as many units as there are, with replacement: how often each session is in the resample.

    >>> draw_times(np.array([0, 0, 1, 2, 3, 4]), np.random.default_rng(0))
    array([0, 0, 2, 1, 1, 1])
    """
    n = int(units.max()) + 1
    return np.bincount(rng.integers(n, size=n), minlength=n)[units]


def chain_times(encoded: Encoded, times: Int[np.ndarray, "session"]) -> Int[np.ndarray, "chain"]:
    """How often each chain (a stretch between gaps) counts: as often as its session."""
    return times[encoded.chain_sessions]


def _expected(
    model: EMEstimator, problem: Problem, times: Int[np.ndarray, "chain"] | None
) -> tuple[Float[np.ndarray, "mode"], Float[np.ndarray, "mode next_mode"]]:
    """Expected steps in each mode and pairs of neighbouring modes under the fit, modes in the order of the fit."""
    best = model.restarts_[model.best_restart_]
    chains = replace(problem.chains, times=times)
    with float64():
        tables, _ = numpy_tree(tables_and_prior(problem.components, em.stack([best.parameters])))
        counts = choose("auto", chains, tables).counts(tables)
        steps = np.asarray(counts.emissions)[0].sum(axis=0)
        pairs = np.asarray(counts.transitions)[0].sum(axis=0)
    order = np.argsort(-best.occupancy, kind="stable")
    return steps[order], pairs[order][:, order]


def quantities(
    model: EMEstimator, problem: Problem, times: Int[np.ndarray, "chain"] | None = None
) -> dict[str, np.ndarray]:
    """What the bootstrap keeps of one fit; see `uncertainty.Bootstrap`."""
    steps, pairs = _expected(model, problem, times)
    stays, all_pairs = np.diagonal(pairs), pairs.sum(axis=1)
    found = {
        "occupancy": steps / steps.sum(),
        # Rounding must not make a mode that never ends end.
        "leaving": np.maximum(1 - stays / np.maximum(all_pairs, 1e-300), 0.0) * (all_pairs - stays > 1e-9),
        "mode_transitions": model.mode_transitions_,
        "initial_modes": model.initial_modes_,
    }
    if isinstance(model, DiscreteEstimator):
        found["policies"] = choices_by_state(model)
    if (rewards := _rewards(model)) is not None:
        found["rewards"] = rewards
    return found


def choices_by_state(model: DiscreteEstimator) -> Float[np.ndarray, "mode state option"]:
    """Probability of each option: the mean over the full-length histories that end in each state."""
    return np.nan_to_num(by_state(model._histories).mean(model._table()))


def _rewards(model: Any) -> Float[np.ndarray, "mode state"] | None:
    """Least-norm reward of each place less the mode's mean over places; None where there is none, or it is too dear."""
    if not isinstance(model, SWIRL) or model._histories.n_histories > MOST_HISTORIES:
        return None
    try:
        table = model.reward_map("canonical")
    except GaugeTooLargeError:
        return None
    return table - np.nanmean(table, axis=1, keepdims=True)


def matched(
    fit: EMEstimator, draw: EMEstimator, paths: Sequence[Any], drawn_paths: Sequence[Any]
) -> Int[np.ndarray, "mode"]:
    """What each mode of the draw is called in the fit: by their choices, as `SWIRL.align_to`, else by shared steps."""
    n_modes = len(fit.initial_modes_)
    if isinstance(fit, DiscreteEstimator) and isinstance(draw, DiscreteEstimator):
        return match_by_distance(choices_by_state(fit), choices_by_state(draw))
    return match_by_overlap(paths, drawn_paths, n_modes, n_modes)


def renumbered(found: dict[str, np.ndarray], match: Int[np.ndarray, "mode"]) -> dict[str, np.ndarray]:
    """The quantities of a draw with its modes in the order of the fit's.

    >>> renumbered({"occupancy": np.array([0.7, 0.3])}, np.array([1, 0]))["occupancy"].tolist()
    [0.3, 0.7]
    """
    order = np.argsort(match)
    moved = {name: found[name][order] for name in MODES_FIRST if name in found}
    if "mode_transitions" in found:
        moved["mode_transitions"] = found["mode_transitions"][:, order][:, :, order]
    return moved


def log_odds(policies: Float[np.ndarray, "*draw mode state option"]) -> Float[np.ndarray, "*draw mode state option"]:
    """Log-odds of each option less those in the average mode; NaN where it is certain or impossible in both.

    >>> log_odds(np.array([[[0.5, 0.5, 0.0]], [[0.75, 0.25, 0.0]]])).round(2).tolist()
    [[[-0.51, 0.51, nan]], [[0.59, -0.59, nan]]]
    """
    here = np.clip(policies, 0.0, 1.0)
    there = here.mean(axis=-3, keepdims=True)
    # What sums leave of 0 or 1 is rounding, not odds.
    here, there = (np.where(p > 1 - 1e-12, 1.0, np.where(p < 1e-12, 0.0, p)) for p in (here, there))
    with np.errstate(divide="ignore", invalid="ignore"):
        return (np.log(here) - np.log1p(-here)) - (np.log(there) - np.log1p(-there))


def ended(statuses: Sequence[str]) -> str:
    """Say how the refits ended.

    >>> ended(["converged", "converged", "iterations ran out"])
    '2 of 3 refits converged, 1 ran out of iterations'
    """
    found = Counter(statuses)
    words = {"iterations ran out": "ran out of iterations", "not finite": "failed", "objective fell": "were cut short"}
    lead = f"{found.pop('converged', 0)} of {counted(len(statuses), 'refit')} converged"
    return ", ".join([lead, *(f"{n} {words.get(status, status)}" for status, n in found.items())])
