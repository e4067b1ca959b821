"""How far a fit would move with other sessions of the same kind: intervals by the bootstrap over whole sessions.

Sessions (or subjects) are drawn with replacement, as many as there are, and the same model is fitted to each draw, EM
going on from the fit.  Steps within a session depend on one another; sessions are what is repeated, so they are what is
drawn.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from swirl.analysis.intervals import MIN_UNITS, Intervals, ended, logit, mark_of, spread_of
from swirl.analysis.state_summaries import MAX_HISTORIES, by_state
from swirl.analysis.tasks import Engine, Folder, Shared, Task, carried_out, results
from swirl.data.encoding import Encoded
from swirl.data.trajectories import Trajectories
from swirl.errors import TooFewRefitsError
from swirl.estimators.base import HiddenModeEstimator, as_trajectories, quietly
from swirl.estimators.em_estimator import EMEstimator, Problem
from swirl.inference import em
from swirl.inference.engines import choose, tables_and_prior
from swirl.inference.mode_matching import match_by_distance, match_by_overlap
from swirl.precision import float64, numpy_tree
from swirl.rewards.gauge import GaugeTooLargeError
from swirl.text import counted

__all__ = ["bootstrap"]

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
        by = "subject" if None not in names and known >= MIN_UNITS else "session"
    if by == "subject" and known < MIN_UNITS:
        raise ValueError(
            f"there are {counted(known, 'subject')}: fewer than {MIN_UNITS} say next to nothing of how subjects "
            'differ; use by="session", whose intervals are about these animals only'
        )
    if len(data) < MIN_UNITS:
        raise ValueError(
            f"data have {counted(len(data), 'session')}: a bootstrap draws whole sessions, and fewer than "
            f"{MIN_UNITS} say next to nothing of how sessions differ; divide long recordings into sessions where the "
            "animal started again, or use swirl.uncertainty.information, which takes the model as true"
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


def with_half_the_priors(
    model: EMEstimator, top: EMEstimator, problem: Problem, data: Trajectories, paths: Sequence[Any]
) -> dict[str, np.ndarray] | None:
    """What a fit to every session counted twice says, modes named as the model's: its priors weigh half as much.

    None where it fails: nothing is then known of how far the priors pull.
    """
    times = np.full(problem.chains.n_chains, 2)
    half = top.refitted(problem, times, tol=TOLERANCE, max_iter=HALF_ITERATIONS)
    if half.restarts_[0].status == "interrupted":
        raise KeyboardInterrupt
    if half.restarts_[0].status == "not finite":
        return None
    return renumbered(quantities(half, problem), matched(model, half, paths, decoded_paths(half, data)))


def chain_times(encoded: Encoded, times: Int[np.ndarray, "session"]) -> Int[np.ndarray, "chain"]:
    """How often each chain (a stretch between gaps) counts: as often as its session."""
    return times[encoded.chain_sessions]


def expected_pairs(
    model: EMEstimator, problem: Problem, times: Int[np.ndarray, "chain"] | None = None
) -> tuple[Float[np.ndarray, "mode"], Float[np.ndarray, "state mode next_mode"]]:
    """Expected steps in each mode, and pairs of neighbouring modes by state; modes in the order of the fit."""
    best = model.restarts_[model.best_restart_]
    chains = replace(problem.chains, times=times)
    with float64():
        tables, _ = numpy_tree(tables_and_prior(problem.components, em.stack([best.parameters])))
        counts = choose("auto", chains, tables).counts(tables)
        steps = np.asarray(counts.emissions)[0].sum(axis=0)
        pairs = np.asarray(counts.transitions)[0]
    order = np.argsort(-best.occupancy, kind="stable")
    return steps[order], pairs[:, order][:, :, order]


def quantities(
    model: EMEstimator, problem: Problem, times: Int[np.ndarray, "chain"] | None = None
) -> dict[str, np.ndarray]:
    """What a fit says of these sessions, and of any: all that there are intervals of; see `Intervals`."""
    steps, pairs = expected_pairs(model, problem, times)
    stays, all_pairs = np.einsum("szz->z", pairs), pairs.sum(axis=(0, 2))
    own = {
        "occupancy": steps / steps.sum(),
        # Rounding must not make a mode that never ends end.
        "leaving": np.maximum(1 - stays / np.maximum(all_pairs, 1e-300), 0.0) * (all_pairs - stays > 1e-9),
    }
    return own | lasting_quantities(model)


def lasting_quantities(model: EMEstimator) -> dict[str, np.ndarray]:
    """What the parameters alone say, whatever the sessions."""
    found = {"mode_transitions": model.mode_transitions_, "initial_modes": model.initial_modes_}
    if (choices := choices_by_state(model)) is not None:
        found["policies"] = choices
    if (rewards := place_rewards(model)) is not None:
        found["rewards"] = rewards
    return found


def choices_by_state(model: Any) -> Float[np.ndarray, "mode state option"] | None:
    """Probability of each option: the mean over full-length histories that end in each state; None without states."""
    table, histories = model.choice_table(), model.histories
    return None if table is None or histories is None else np.nan_to_num(by_state(histories).mean(table))


def place_rewards(model: Any) -> Float[np.ndarray, "mode state"] | None:
    """Least-norm reward of each place less the mode's mean over places; None where there is none, or it is too dear.

    The reward of a goal has no gauge: it is as it was fitted, and 0 elsewhere.
    """
    if not model.reward_symbol or model.histories.n_histories > MAX_HISTORIES:
        return None
    if "canonical" not in model.gauges:
        return model.reward_map()
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
    one, other = choices_by_state(fit), choices_by_state(draw)
    if one is not None and other is not None:
        return match_by_distance(one, other)
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


HALF_ITERATIONS = 200
"""EM iterations, at most, of the fit whose priors weigh half as much: on its way it says most of what there is."""
TOLERANCE = 0.01
"""Nats that may remain to be gained when a refit ends. It starts near its end, and must be taken all the way."""


def bootstrap(
    model: Any,
    data: Any,
    *,
    n_draws: int = 20,
    by: str | None = None,
    max_iter: int = 2000,
    random_state: int = 0,
    progress: Callable[[int, int], Any] | None = None,
    folder: Folder | None = None,
    engine: Engine | None = None,
) -> Intervals:
    """Refit a model to resampled sessions and keep what moves; read in `Intervals` what that does not cover.

    Parameters
    ----------
    model
        A fitted model that EM fits: those of `swirl.models()` without Markov, Dynamic-IRL and IQ-Network.
    data
        The sessions that it was fitted to. Others among them are not drawn, only decoded (`Intervals.stability`).
    n_draws
        Number of refits; 20 give intervals that are within a sixth of their width, 100 within a fourteenth.
    by
        ``"session"`` or ``"subject"``: what is drawn. None: subjects where five or more are known, else sessions.
    max_iter
        EM iterations of a refit, at most; it ends sooner when no more than 0.01 nats remain to be gained. A refit that
        runs out of them is no result: it is left out, and `Intervals.how` says how many were.
    progress
        Called with the number of refits done, and of all.
    folder, engine
        Where refits are kept and where the work is done (`swirl.analysis.tasks`); the result is the same.

    Examples
    --------
    >>> from swirl.datasets import gridworld  # takes some seconds
    >>> from swirl.estimators.swirl import SWIRL
    >>> world = gridworld(n_sessions=8, n_steps=100)
    >>> model = SWIRL(world.env, history=1, reward="state-action", n_restarts=2, max_iter=20).fit(world.trajectories)
    >>> boot = bootstrap(model, world.trajectories, n_draws=3)
    >>> boot.by, boot.n_draws, boot.policies.shape, boot.stability[0].shape
    ('session', 3, (3, 2, 25, 5), (100,))
    """
    data = as_trajectories(data)
    check_question(model, n_draws=(n_draws, 2), max_iter=(max_iter, 1))
    model.check_restarts()
    train = fitted_part(model, data)
    by, units = units_of(train, by)
    begun = model.use_restart(model.best_restart_).set_params(**model.fitted_params)  # whatever was set since
    problem = begun.em_problem(train)
    settings = {"tol": TOLERANCE, "max_iter": int(max_iter)}
    top = begun.refitted(problem, None, **settings)  # the fit may have stopped before its end; draws begin there
    if top.restarts_[0].status == "interrupted":  # EM ends politely; half a sample is no use
        raise KeyboardInterrupt
    paths = decoded_paths(model, data)
    rng = np.random.default_rng(random_state)
    drawn = [chain_times(problem.encoded, draw_times(units, rng)) for _ in range(int(n_draws))]
    refits: Iterable[dict[str, Any]]
    if folder is None and engine is None:
        refits = (_refit(top, problem, times, model, data, paths, int(max_iter)) for times in drawn)
    else:
        shared, most = Shared({"model": model, "top": top, "train": train, "data": data}), int(max_iter)
        given = [{"times": times.tolist(), "max_iter": most} for times in drawn]
        tasks = [Task(refit_of, own, shared, {"draw": i}) for i, own in enumerate(given)]
        if folder is not None:
            folder.ask(tasks, {"bootstrap": int(n_draws)})
        say = progress
        tell = None if say is None else lambda state: say(state.done + state.failed, state.total)
        refits, progress = results(tasks, carried_out(tasks, folder=folder, engine=engine, callback=tell)), None
    found: list[dict[str, np.ndarray]] = []
    statuses: list[str] = []
    same = [np.zeros(len(path)) for path in paths]
    for refit in refits:
        statuses.append(refit["status"])
        if statuses[-1] == "converged":
            found.append({name: np.asarray(values) for name, values in refit["found"].items()})
            for count, own in zip(same, refit["same"], strict=True):
                count += np.asarray(own)
        if progress is not None:
            progress(len(statuses), int(n_draws))
    if len(found) < 2:
        raise TooFewRefitsError(
            f"{ended(statuses)} (max_iter={int(max_iter)}): too few for intervals; raise max_iter, or use a "
            "prior under which the fit converges sooner, such as priors.Gaussian"
        )
    stacked: dict[str, Any] = {name: np.stack([one[name] for one in found]) for name in found[0]}
    before, fitted = (
        renumbered(quantities(one, problem), matched(model, one, paths, decoded_paths(one, data)))
        for one in (begun, top)
    )
    n_units = int(units.max()) + 1
    _, switches = expected_pairs(top, problem)
    named = renumbered({"mode_transitions": switches}, matched(model, top, paths, decoded_paths(top, data)))
    return Intervals(
        by=by,
        n_units=n_units,
        fitted=fitted,
        drift=drift_of(before, fitted, stacked, n_units),
        policies=stacked.pop("policies", None),
        rewards=stacked.pop("rewards", None),
        stability=tuple(count / len(found) for count in same),
        statuses=tuple(statuses),
        seed=int(random_state),
        model=mark_of(model),
        switches=named["mode_transitions"],
        twice=with_half_the_priors(model, top, problem, data, paths),
        smoothed=bool(getattr(problem.components.emissions, "pseudocount", 0.0) > 0),
        **stacked,
    )


def _refit(
    top: EMEstimator,
    problem: Problem,
    times: Int[np.ndarray, "chain"],
    model: Any,
    data: Trajectories,
    paths: Any,
    max_iter: int,
) -> dict[str, Any]:
    """One refit: how it ended, what it says with its modes named as the fit's, and which steps it decodes alike."""
    draw = top.refitted(problem, times, tol=TOLERANCE, max_iter=max_iter)
    status = draw.restarts_[0].status
    if status == "interrupted":
        raise KeyboardInterrupt
    if status != "converged":
        return {"status": status}
    decoded = decoded_paths(draw, data)
    match = matched(model, draw, paths, decoded)
    same = [match[other] == path for path, other in zip(paths, decoded, strict=True)]
    return {"status": status, "found": renumbered(quantities(draw, problem, times), match), "same": same}


def refit_of(
    model: Any,
    top: Any,
    train: Trajectories,
    data: Trajectories,
    times: Sequence[int],
    max_iter: int,
    told: Callable[[Any], None] | None = None,
) -> dict[str, Any]:
    """One refit to chains that count so many `times` (a task of `bootstrap`)."""
    del told  # a refit is short
    return _refit(top, top.em_problem(train), np.asarray(times), model, data, decoded_paths(model, data), max_iter)


def decoded_paths(model: Any, data: Trajectories) -> list[Any]:
    """The most likely mode of every step, without a word."""
    with quietly():  # of states that only held-out sessions visit
        return model.predict(data)


def fitted_part(model: Any, data: Trajectories) -> Trajectories:
    """The sessions of `data` that the model was fitted to, if they are all there."""
    fitted, signals = model.fitted_to(data), model.own_signals
    if fitted is not None:
        if fitted.sum() == len(model.training_sessions_):  # all of them, in whatever order
            return data[fitted]
    elif set(signals) <= set(data.signals or {}) and data.fingerprint(*signals) == model.data_fingerprint_:
        return data
    raise ValueError(
        "data: these are not the sessions that the model was fitted to; a bootstrap asks how the fit would move with "
        "other draws of those, so give them all"
    )


def check_question(model: Any, **numbers: tuple[Any, int]) -> None:
    """Refuse a model that has no intervals, and numbers (given, least) that are none, in words."""
    name = type(model).__name__
    if not isinstance(model, HiddenModeEstimator):
        raise ValueError(f"model is {name}: expected a fitted model, such as swirl.SWIRL(env).fit(data)")
    if model.refit_fault:
        why = model.refit_fault
        raise ValueError(f"model is {name}: {why}; intervals are for SWIRL, ARHMM, GaussianARHMM and IQLearn")
    for argument, (value, least) in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{argument}={value!r}: expected a whole number, at least {least}")


def drift_of(own: dict[str, Any], fitted: dict[str, Any], draws: dict[str, Any], n_units: int) -> float:
    """How far the fit is from where it was heading, in standard errors of the shares and of the rates of leaving."""
    found = [0.0]
    for name in ("occupancy", "leaving"):
        spread = spread_of(logit(draws[name]), n_units)
        moves = spread > 1e-9
        found += (np.abs(logit(own[name]) - logit(fitted[name]))[moves] / spread[moves]).tolist()
    return float(max(found))
