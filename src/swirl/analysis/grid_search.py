"""Choosing on training folds: the test sessions are never looked at (design.md#choices).

The rule: the simplest candidate whose paired held-out difference from the best is within one standard error.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from threading import Event
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float, Int

from swirl.compiling import ON_HOST, on_cpu, pinned
from swirl.data.folds import animals, folds
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import HiddenModeEstimator, Scored, as_trajectories, quietly
from swirl.rewards.forms import RewardForm
from swirl.system import cores
from swirl.text import counted

T = TypeVar("T")
SIDE_BY_SIDE = 10_000_000  # numbers in the messages of all restarts up to which fits are made at the same time
SWITCHING = {"fixed": 0, "independent": 1}  # simpler than any that depends on the state


def paired(
    gains: Float[np.ndarray, "session"], steps: Int[np.ndarray, "session"], units: Int[np.ndarray, "session"]
) -> tuple[float, float, int]:
    """Gain per step, its standard error (of a ratio of sums over units), and the number of units.

    Every step counts the same, so long sessions count more. With one unit the error is not known (NaN).

    >>> gain, error, n = paired(np.array([1.0, 3.0]), np.array([10, 10]), np.array([0, 1]))
    >>> round(gain, 6), round(error, 6), n
    (0.2, 0.1, 2)
    """
    each = np.bincount(units, weights=gains)
    per = np.bincount(units, weights=steps)
    n = len(each)
    with np.errstate(invalid="ignore", divide="ignore"):  # a score may be −inf
        mean = each.sum() / per.sum()
        if n < 2:
            return float(mean), float("nan"), n
        residuals = each - mean * per
        return float(mean), float(np.sqrt(n / (n - 1) * np.sum(residuals**2)) / per.sum()), n


@dataclass(frozen=True)
class Choice:
    """What was tried, how each did on the held-out folds, and what is taken; print it for a table."""

    candidates: list[dict[str, Any]]
    scores: Float[np.ndarray, "candidate fold"]
    """Held-out log-likelihood per step of each candidate in each fold."""
    log_likelihoods: Float[np.ndarray, "candidate session"] | None = None
    """Held-out log-likelihood of each session, by the fit to the other folds; None where only folds are known."""
    steps: Int[np.ndarray, "session"] | None = None
    """Scored steps of each session."""
    subjects: tuple[Any, ...] = ()
    """The animal of each session."""

    @property
    def means(self) -> Float[np.ndarray, "candidate"]:
        """Held-out log-likelihood per step over all folds: every step counts the same, whatever its fold."""
        gains, steps, _ = self._parts
        return gains.sum(axis=1) / steps.sum()

    @property
    def highest(self) -> dict[str, Any]:
        """The candidate with the highest mean."""
        return self.candidates[self._highest]

    @property
    def best(self) -> dict[str, Any]:
        """The candidate to take: the simplest within one standard error of the highest.

        Simpler is: fewer modes, then a shorter history, then switching that does not depend on the state. Among
        candidates that are equally simple the highest mean wins.
        """
        return self.candidates[self._best]

    @property
    def unit(self) -> str:
        """What differences are paired by: animal (five or more known), session, or fold (no sessions known)."""
        if self.log_likelihoods is None:
            return "fold"
        return "session" if animals(self.subjects) is None else "animal"

    def difference(self, candidate: int, reference: int) -> tuple[float, float]:
        """How much better one candidate (by its place) is than another per step, and the standard error of that."""
        rows, steps, units = self._parts
        with np.errstate(invalid="ignore"):
            gain, error, _ = paired(rows[candidate] - rows[reference], steps, units)
        return gain, error

    def only(self, **settings: Any) -> "Choice":
        """The same for those candidates that have these settings.

        >>> tried = Choice([{"n_modes": 1, "history": 1}, {"n_modes": 2, "history": 1}], np.zeros((2, 3)))
        >>> tried.only(n_modes=2).best
        {'n_modes': 2, 'history': 1}
        """
        kept = [i for i, own in enumerate(self.candidates) if all(own.get(k) == v for k, v in settings.items())]
        if not kept:
            raise ValueError(f"{_worded(settings)}: no candidate has that; there are {_listed(self.candidates)}")
        return self.rows(kept)

    def rows(self, kept: Sequence[int]) -> "Choice":
        """The same for the candidates at these places."""
        own = None if self.log_likelihoods is None else self.log_likelihoods[list(kept)]
        return Choice([self.candidates[i] for i in kept], self.scores[list(kept)], own, self.steps, self.subjects)

    def table(self) -> list[dict[str, Any]]:
        """One row per candidate, highest mean first: its settings, its score, and the paired difference to the highest.

        ``standard_error`` is that of the difference (``behind_highest``), not of the score.
        """
        means, top, taken = self.means, self._highest, self._best
        rows = []
        for i in np.argsort(-means, kind="stable").tolist():
            behind, error = self.difference(i, top)
            own = {"score": float(means[i]), "behind_highest": behind, "standard_error": error, "chosen": i == taken}
            rows.append({**self.candidates[i], **own})
        return rows

    def why(self) -> str:
        """Say in words what is taken, and why."""
        taken, top = self._best, self._highest
        words = _worded(self.best)
        if len(self.candidates) == 1:
            return f"{words}: nothing else was tried."
        if taken == top:
            sizes = [_complexity(settings) for settings in self.candidates]
            rest = "no simpler one is within one standard error of it"
            if sizes[taken] == min(sizes):
                rest = "all candidates are equally simple" if len(set(sizes)) == 1 else "none is simpler"
            return f"{words}: the highest score on the folds; {rest}."
        gain, error = self.difference(top, taken)
        units = counted(len(set(self._parts[2].tolist())), self.unit)
        return (
            f"{words}: the simplest within one standard error of the highest. {_worded(self.highest)} is ahead by only "
            f"{gain:.4f} nats per step, standard error {error:.4f} (paired, {units})."
        )

    def __str__(self) -> str:
        names = list(dict.fromkeys(name for settings in self.candidates for name in settings))
        titles = [*names, "nats/step", "to the highest (± 1 standard error)", ""]
        lines = [self.why(), "", f"| {' | '.join(titles)} |", f"|{'--:|' * (len(titles) - 1)}:--|"]
        for row in self.table():
            cells = [str(row.get(name, "")) for name in names]
            cells += [f"{row['score']:.4f}", f"{row['behind_highest']:+.4f} ± {row['standard_error']:.4f}"]
            lines.append(f"| {' | '.join([*cells, 'chosen' if row['chosen'] else ''])} |")
        return "\n".join(lines)

    @property
    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log-likelihoods [candidate, part], scored steps of each part, and the unit that each part belongs to."""
        if self.log_likelihoods is None or self.steps is None:
            n_folds = self.scores.shape[1]
            return self.scores, np.ones(n_folds, np.int64), np.arange(n_folds)
        units = animals(self.subjects)
        return self.log_likelihoods, self.steps, np.arange(len(self.steps)) if units is None else units

    @property
    def _highest(self) -> int:
        return int(np.argmax(np.nan_to_num(self.means, nan=-np.inf, neginf=-np.inf)))

    @property
    def _best(self) -> int:
        means, top = np.nan_to_num(self.means, nan=-np.inf, neginf=-np.inf), self._highest
        leaders: dict[tuple[int, int, int], int] = {}  # of each complexity: the highest
        for i, settings in enumerate(self.candidates):
            leader = leaders.setdefault(_complexity(settings), i)
            if means[i] > means[leader]:
                leaders[_complexity(settings)] = i
        for _, leader in sorted(leaders.items()):
            gain, error = self.difference(leader, top)
            if gain >= -error:
                return leader
        return top


def _complexity(settings: Mapping[str, Any]) -> tuple[int, int, int]:
    """Number of modes, length of the history, form of switching: what does not vary is the same for all."""
    history = settings.get("history", settings.get("order"))
    switching = SWITCHING.get(str(settings.get("switching")), 2)
    n_modes = settings.get("n_modes") or 0
    return np.iinfo(int).max if n_modes == "auto" else int(n_modes), -1 if history is None else int(history), switching


def _worded(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in settings.items())


def _listed(candidates: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(map(_worded, candidates))


def choose(
    model: Any,
    data: Any,
    grid: Any,
    *,
    n_folds: int = 3,
    of: Scored | None = None,
    callback: Callable[[str], Any] | None = None,
    on_fit: Callable[[dict[str, Any], Any], Any] | None = None,
) -> Choice:
    """Try every combination of settings on folds of the training data; take the simplest that is as good as the best.

    As good: the difference from the best, paired by session (by animal where five or more are known), is within one
    standard error. Simpler: fewer modes, then a shorter history, then switching that does not depend on the state.
    Among equally simple settings, such as priors, the best score wins.

    Parameters
    ----------
    model
        The model to vary; it is not fitted or changed.
    data
        Training sessions only.
    grid
        For each constructor argument, the values to try.
    n_folds
        Folds are made of whole subjects where several are known, else of whole sessions.
    of
        What the score is of, one of the model's `score_types`; by default its own.
    callback
        Called with a few words on what is fitted next.
    on_fit
        Called with the settings and the fitted model, once for each combination and fold.

    Returns
    -------
    Choice
        ``choice.best`` goes into ``model.set_params(**choice.best).fit(data)``; ``choice.why()`` says why.

    Examples
    --------
    >>> from swirl.baselines import BackoffMarkov
    >>> from swirl.datasets import gridworld
    >>> data = gridworld(n_sessions=12, n_steps=100)
    >>> choose(BackoffMarkov(data.env), data.trajectories, {"order": [0, 1]}, n_folds=2).best
    {'order': 1}
    """
    data = as_trajectories(data)
    if not isinstance(model, HiddenModeEstimator) or not isinstance(grid, Mapping):
        raise ValueError(
            f"model is {type(model).__name__} and grid {type(grid).__name__}: expected a model, such as "
            'swirl.make("S-2", env), and a dict of lists, such as {"n_modes": [1, 2, 3]}'
        )
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise ValueError(f"grid[{name!r}]={values!r}: expected a list of values to try, such as [{values!r}]")
    unknown = [name for name in grid if name not in model.get_params()]
    if unknown or not grid or any(len(values) == 0 for values in grid.values()):
        raise ValueError(
            f"grid: expected at least one value for each of some of {', '.join(model.get_params())}"
            + (f"; got {', '.join(unknown)}" if unknown else "")
        )
    candidates = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    return score_on_folds(model, data, candidates, n_folds=n_folds, of=of, callback=callback, on_fit=on_fit)


def score_on_folds(
    model: HiddenModeEstimator,
    data: Trajectories,
    candidates: list[dict[str, Any]],
    *,
    n_folds: int = 3,
    of: Scored | None = None,
    callback: Callable[[str], Any] | None = None,
    on_fit: Callable[[dict[str, Any], Any], Any] | None = None,
) -> Choice:
    """Fit the model with each candidate's settings to all folds but one, and score the sessions of that one.

    `on_fit` is called with the settings and the fitted model, once for each candidate and fold.
    """
    parts = folds(data, n_folds)
    log_likelihoods = np.empty((len(candidates), len(data)))
    steps = np.empty((len(candidates), len(data)), np.int64)
    models = [type(model)(**{**model.get_params(), **settings}) for settings in candidates]
    # Fold by fold: those that begin at the same time are of different models, and compile what no other does.
    jobs = [(i, j) for j in range(len(parts)) for i in range(len(candidates))]

    def fitted(job: tuple[int, int], told: Callable[[Any], None] | None) -> tuple[Any, np.ndarray]:
        i, held_out = job[0], parts[job[1]]
        fresh = type(model)(**models[i].get_params())
        rest = data[np.setdiff1d(np.arange(len(data)), held_out)]
        fresh.fit_to_score(rest, progress=None if callback is None and told is None else False, callback=told)
        return fresh, fresh.session_scores(data[held_out], of=of)

    with quietly():  # the same for every candidate; the final score will tell
        found = _in_order(jobs, fitted, _at_once(models, data))
        for i, j in jobs:
            if callback is not None:
                callback(", ".join(filter(None, [_worded(candidates[i]), f"fold {j + 1} of {n_folds}"])))
            held_out = parts[j]
            fresh, log_likelihoods[i, held_out] = next(found)
            if on_fit is not None:
                on_fit(candidates[i], fresh)
            steps[i, held_out] = [int(own.sum()) for own in fresh.scored_steps(data[held_out], of=of)]
            if steps[i, held_out].sum() == 0:
                raise ValueError(f"fold {j + 1} of {n_folds}: nothing was observed in it, so there is nothing to score")
    for settings, own in zip(candidates, steps, strict=True):
        if not np.array_equal(own, steps[0]):
            raise ValueError(
                f"{_worded(settings)} scores {own.sum():,} steps, {_worded(candidates[0])} {steps[0].sum():,}, so "
                "these are not scores of the same thing; choose among settings that score the same steps"
            )
    by_fold = [log_likelihoods[:, part].sum(axis=1) / steps[0, part].sum() for part in parts]
    return Choice(candidates, np.stack(by_fold, axis=1), log_likelihoods, steps[0], data.subjects)


def _at_once(models: Sequence[HiddenModeEstimator], data: Trajectories) -> int:
    """How many fits of them to make at the same time: as many as there are cores, where one alone leaves cores idle."""
    most = SIDE_BY_SIDE if on_cpu() else ON_HOST
    sizes = [model.messages_size(data) for model in models]
    return 1 if pinned() or any(size is None or size > most for size in sizes) else cores()


def _in_order(jobs: Iterable[Any], call: Callable[[Any, Callable[[Any], None] | None], T], at_once: int) -> Iterator[T]:
    """What each job comes to, in their order; where one fails, or Ctrl-C is pressed, those under way are stopped.

    `call` gets a job and a function to be called in each iteration, or None where jobs are done one at a time.
    """
    if at_once == 1:
        yield from (call(job, None) for job in jobs)
        return
    stop = Event()

    def told(_: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt

    with ThreadPoolExecutor(at_once) as pool:
        waiting = [pool.submit(call, job, told) for job in jobs]
        try:
            for each in waiting:
                yield each.result()
        finally:
            stop.set()
            for each in waiting:
                each.cancel()


def joined(rows: Sequence[tuple[dict[str, Any], Choice]]) -> Choice:
    """Models that were scored on the same folds, as one choice: the settings to show for each, and its own choice."""
    each = [scored for _, scored in rows]
    together = [scored.log_likelihoods for scored in each if scored.log_likelihoods is not None]
    return Choice(
        [settings for settings, _ in rows],
        np.concatenate([scored.scores for scored in each]),
        np.concatenate(together),
        each[0].steps,
        each[0].subjects,
    )


def with_modes(model: HiddenModeEstimator, n_modes: int) -> dict[str, Any] | None:
    """Settings that make such a model with another number of modes; None where some of its own are for each mode.

    With goals there is one such: without any, the habit alone.

    >>> from swirl import SWIRL, datasets, rewards
    >>> env = datasets.gridworld_env()
    >>> with_modes(SWIRL(env), 3), with_modes(SWIRL(env, temperature=[1.0, 0.5]), 3)
    ({'n_modes': 3}, None)
    >>> with_modes(SWIRL(env, reward=rewards.Goals((4,))), 1)["reward"].places
    ()
    """
    params = model.get_params()
    given = getattr(params.get("switching"), "table", None) is not None
    if "n_modes" not in params or np.ndim(params.get("temperature", 1.0)) > 0 or given:
        return None
    form = params.get("reward")
    other = form.with_modes(n_modes) if isinstance(form, RewardForm) else form
    if other is form:
        return {"n_modes": n_modes}
    return None if other is None else {"n_modes": n_modes, "reward": other}
