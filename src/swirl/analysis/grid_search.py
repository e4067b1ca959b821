"""Choosing on training folds: the test sessions are never looked at (design.md#choices).

The rule: the simplest candidate whose paired held-out difference from the best is within one standard error.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float, Int

from swirl.analysis.fit_tasks import Fits, fitted_without, varied
from swirl.analysis.tasks import Outcome, Task, as_done, results
from swirl.compiling import ON_HOST, on_cpu, pinned
from swirl.data.folds import animals, folds
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import HiddenModeEstimator, Scored, as_trajectories, quietly
from swirl.estimators.digest import digest
from swirl.estimators.fit_warnings import NOTHING
from swirl.rewards.forms import RewardForm
from swirl.system import cores
from swirl.text import InNotebooks, counted

__all__ = ["Choice", "choose"]

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
class Choice(InNotebooks):
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
    by_repeat: Float[np.ndarray, "candidate repeat session"] | None = None
    """Held-out log-likelihood of each session, each time that folds were cut otherwise and fits had another seed."""

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

        Simpler is: fewer modes, then a shorter history, then switching that does not depend on the state, then rewards
        of states alone. Among candidates that are equally simple the highest mean wins.
        """
        return self.candidates[self.best_index]

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
            if self.by_repeat is not None and self.by_repeat.shape[1] > 1:  # what seeds and cuts change comes on top
                error = float(np.hypot(error, self.scatter(candidate, reference) / np.sqrt(self.by_repeat.shape[1])))
        return gain, error

    def scatter(self, candidate: int, reference: int) -> float:
        """Standard deviation of a difference per step between repeats: what other seeds and other folds change.

        0 where there is one repeat: then nothing is known of it.
        """
        if self.by_repeat is None or self.by_repeat.shape[1] < 2:
            return 0.0
        apart = (self.by_repeat[candidate] - self.by_repeat[reference]).sum(axis=1) / self._parts[1].sum()
        return float(np.std(apart, ddof=1))

    def resampled(self, rng: np.random.Generator) -> "Choice":
        """The same candidates with other sessions (animals, where they are the units) and other repeats, drawn anew."""
        rows, steps, units = self._parts
        n_units = int(units.max()) + 1
        drawn = rng.integers(n_units, size=n_units)

        def summed(table: Float[np.ndarray, "*row part"]) -> Float[np.ndarray, "*row unit"]:
            flat = table.reshape(-1, len(units))
            each = [np.bincount(units, weights=row, minlength=n_units) for row in flat]
            return np.reshape(each, (*table.shape[:-1], n_units))

        per_unit = np.bincount(units, weights=steps, minlength=n_units).astype(np.int64)[drawn]
        repeats = None
        if self.by_repeat is not None:
            n_repeats = self.by_repeat.shape[1]
            repeats = summed(self.by_repeat)[:, rng.integers(n_repeats, size=n_repeats)][:, :, drawn]
            own = repeats.mean(axis=1)
        else:
            own = summed(rows)[:, drawn]
        return Choice(self.candidates, own / per_unit.sum(), own, per_unit, (), repeats)

    def chosen_again(self, n_draws: int = 500, random_state: int = 0) -> Int[np.ndarray, "candidate"]:
        """How often the rule takes each candidate when sessions (or animals) and repeats are drawn anew.

        >>> rng = np.random.default_rng(0)
        >>> ahead = np.array([np.zeros(40), rng.normal(0.5, 0.3, 40)])
        >>> tried = Choice([{"n_modes": 1}, {"n_modes": 2}], ahead, ahead, np.ones(40, int))
        >>> tried.chosen_again(100).tolist()
        [0, 100]
        """
        rng = np.random.default_rng(random_state)
        return np.bincount([self.resampled(rng).best_index for _ in range(n_draws)], minlength=len(self.candidates))

    def only(self, **settings: Any) -> "Choice":
        """The same for those candidates that have these settings.

        >>> tried = Choice([{"n_modes": 1, "history": 1}, {"n_modes": 2, "history": 1}], np.zeros((2, 3)))
        >>> tried.only(n_modes=2).best
        {'n_modes': 2, 'history': 1}
        """
        kept = [i for i, own in enumerate(self.candidates) if all(own.get(k) == v for k, v in settings.items())]
        if not kept:
            raise ValueError(f"{worded(settings)}: no candidate has that; there are {_listed(self.candidates)}")
        return self.rows(kept)

    def rows(self, kept: Sequence[int]) -> "Choice":
        """The same for the candidates at these places."""
        own = None if self.log_likelihoods is None else self.log_likelihoods[list(kept)]
        repeats = None if self.by_repeat is None else self.by_repeat[list(kept)]
        candidates = [self.candidates[i] for i in kept]
        return Choice(candidates, self.scores[list(kept)], own, self.steps, self.subjects, repeats)

    def table(self) -> list[dict[str, Any]]:
        """One row per candidate, highest mean first: its settings, its score, and the paired difference to the highest.

        ``standard_error`` is that of the difference (``behind_highest``), not of the score.
        """
        means, top, taken = self.means, self._highest, self.best_index
        rows = []
        for i in np.argsort(-means, kind="stable").tolist():
            behind, error = self.difference(i, top)
            own = {"score": float(means[i]), "behind_highest": behind, "standard_error": error, "chosen": i == taken}
            rows.append({**self.candidates[i], **own})
        return rows

    def why(self) -> str:
        """Say in words what is taken, and why."""
        taken, top = self.best_index, self._highest
        words = worded(self.best)
        if len(self.candidates) == 1:
            return f"{words}: nothing else was tried."
        if taken == top:
            sizes = [complexity(settings) for settings in self.candidates]
            rest = "no simpler one is within one standard error of it"
            if sizes[taken] == min(sizes):
                rest = "all candidates are equally simple" if len(set(sizes)) == 1 else "none is simpler"
            return f"{words}: the highest score on the folds; {rest}."
        gain, error = self.difference(top, taken)
        units = counted(len(set(self._parts[2].tolist())), self.unit)
        return (
            f"{words}: the simplest within one standard error of the highest. {worded(self.highest)} is ahead by only "
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
    def best_index(self) -> int:
        """The place of `best` among the candidates."""
        means, top = np.nan_to_num(self.means, nan=-np.inf, neginf=-np.inf), self._highest
        leaders: dict[tuple[int, ...], int] = {}  # of each complexity: the highest
        for i, settings in enumerate(self.candidates):
            leader = leaders.setdefault(complexity(settings), i)
            if means[i] > means[leader]:
                leaders[complexity(settings)] = i
        for _, leader in sorted(leaders.items()):
            gain, error = self.difference(leader, top)
            if gain >= -max(error, NOTHING):
                return leader
        return top


def complexity(settings: Mapping[str, Any]) -> tuple[int, ...]:
    """Number of modes, length of the history, form of switching, of rewards: what does not vary is the same for all.

    >>> complexity({"n_modes": 2, "history": 1, "switching": "state"}) > complexity({"n_modes": 2, "history": 1})
    False
    >>> complexity({"n_modes": 2, "switching": "state"}) > complexity({"n_modes": 2, "switching": "independent"})
    True
    """
    history = settings.get("history", settings.get("order"))
    switching = SWITCHING.get(str(settings.get("switching")), 2)
    n_modes = settings.get("n_modes") or 0
    size = np.iinfo(int).max if n_modes == "auto" else int(n_modes)
    per_action = int(settings.get("reward") == "state-action")
    return size, -1 if history is None else int(history), switching, per_action


def worded(settings: Mapping[str, Any]) -> str:
    """Settings in words.

    >>> worded({"n_modes": 2, "history": 1})
    'n_modes=2, history=1'
    """
    return ", ".join(f"{key}={value}" for key, value in settings.items())


def _listed(candidates: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(map(worded, candidates))


def choose(
    model: Any,
    data: Any,
    grid: Any,
    *,
    n_folds: int = 3,
    of: Scored | None = None,
    callback: Callable[[str], Any] | None = None,
    on_fit: Callable[[dict[str, Any], Any], Any] | None = None,
    on_end: Callable[[HiddenModeEstimator], Any] | None = None,
    fits: Fits | None = None,
) -> Choice:
    """Try every combination of settings on folds of the training data; take the simplest that is as good as the best.

    As good: the difference from the best, paired by session (by animal where five or more are known), is within one
    standard error. Simpler: fewer modes, then a shorter history, then switching that does not depend on the state, then
    rewards of states alone. Among equally simple settings, such as priors, the best score wins.

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
        Called with the settings and the fitted model, once for each combination and fold, in their order.
    on_end
        Called with the fitted model as soon as a fit ends, in whatever order; not where others make the `fits`.
    fits
        Who makes the fits (`fits_on_tasks`); by default this process.

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
    candidates = combinations(model, grid)
    asked = {"callback": callback, "on_fit": on_fit, "on_end": on_end, "fits": fits}
    return score_on_folds(model, data, candidates, n_folds=n_folds, of=of, **asked)


def combinations(model: Any, grid: Any) -> list[dict[str, Any]]:
    """All combinations of settings of a model; a fault where it has no such setting.

    >>> from swirl.baselines import BackoffMarkov
    >>> from swirl.datasets import gridworld_env
    >>> combinations(BackoffMarkov(gridworld_env()), {"order": [0, 1]})
    [{'order': 0}, {'order': 1}]
    """
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
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def score_on_folds(
    model: HiddenModeEstimator,
    data: Trajectories,
    candidates: list[dict[str, Any]],
    *,
    n_folds: int = 3,
    of: Scored | None = None,
    callback: Callable[[str], Any] | None = None,
    on_fit: Callable[[dict[str, Any], Any], Any] | None = None,
    on_end: Callable[[HiddenModeEstimator], Any] | None = None,
    fits: Fits | None = None,
) -> Choice:
    """Fit the model with each candidate's settings to all folds but one, and score the sessions of that one.

    `on_fit` is called with the settings and the fitted model, once for each candidate and fold.
    """
    parts = folds(data, n_folds)
    log_likelihoods = np.empty((len(candidates), len(data)))
    steps = np.empty((len(candidates), len(data)), np.int64)
    models = [varied(model, settings) for settings in candidates]
    # Fold by fold: those that begin at the same time are of different models, and compile what no other does.
    jobs = [(i, j) for j in range(len(parts)) for i in range(len(candidates))]

    def fitted(job: tuple[int, int], told: Callable[[Any], None] | None) -> tuple[Any, np.ndarray]:
        i, held_out = job[0], parts[job[1]]
        fresh = fitted_without(held_out, models[i], data, None if callback is None and told is None else False, told)
        return fresh, fresh.session_scores(data[held_out], of=of)

    with quietly():  # the same for every candidate; the final score will tell
        if fits is None:
            found = _in_order(_told(as_done(jobs, fitted, _at_once(models, data)), on_end))
        else:
            made = fits([(models[i], parts[j]) for i, j in jobs])
            held = [data[parts[j]] for _, j in jobs]
            found = ((fresh, fresh.session_scores(own, of=of)) for (fresh, _), own in zip(made, held, strict=True))
        for i, j in jobs:
            if callback is not None and fits is None:
                callback(", ".join(filter(None, [worded(candidates[i]), f"fold {j + 1} of {n_folds}"])))
            held_out = parts[j]
            fresh, log_likelihoods[i, held_out] = next(found)
            if on_fit is not None:
                on_fit(candidates[i], fresh)
            steps[i, held_out] = [int(own.sum()) for own in fresh.scored_steps(data[held_out], of=of)]
            if steps[i, held_out].sum() == 0:
                raise ValueError(f"fold {j + 1} of {n_folds}: nothing was observed in it, so there is nothing to score")
    _check_alike(candidates, steps)
    by_fold = [log_likelihoods[:, part].sum(axis=1) / steps[0, part].sum() for part in parts]
    return Choice(candidates, np.stack(by_fold, axis=1), log_likelihoods, steps[0], data.subjects)


def _check_alike(candidates: Sequence[Mapping[str, Any]], steps: Int[np.ndarray, "candidate session"]) -> None:
    for settings, own in zip(candidates, steps, strict=True):
        if not np.array_equal(own, steps[0]):
            raise ValueError(
                f"{worded(settings)} scores {own.sum():,} steps, {worded(candidates[0])} {steps[0].sum():,}, so "
                "these are not scores of the same thing; choose among settings that score the same steps"
            )


def choice_of(tasks: Sequence[Task], outcomes: Sequence[Outcome]) -> Choice:
    """What `fold_tasks` came to, as a choice; candidates of which a fit failed are left out, unless all did."""
    data = tasks[0].shared.values["data"]
    rows: dict[str, tuple[dict[str, Any], list[tuple[Task, dict[str, Any] | None]]]] = {}
    for task, outcome in zip(tasks, outcomes, strict=True):
        settings = {key: value for key, value in task.label.items() if key not in ("repeat", "fold")}
        rows.setdefault(digest(settings), (settings, []))[1].append((task, outcome.result))
    whole = [(settings, own) for settings, own in rows.values() if all(result is not None for _, result in own)]
    if not whole:
        results(tasks, outcomes)  # which says why
    n_repeats = 1 + max(int(task.label["repeat"]) for task in tasks)
    scores = np.empty((len(whole), n_repeats, len(data)))
    steps = np.empty((len(whole), len(data)), np.int64)
    for i, (_, own) in enumerate(whole):
        for task, result in own:
            held_out = list(task.arguments["held_out"])
            scores[i, int(task.label["repeat"]), held_out] = (result or {})["log_likelihoods"]
            steps[i, held_out] = (result or {})["scored_steps"]
    candidates = [settings for settings, _ in whole]
    _check_alike(candidates, steps)
    first = [list(task.arguments["held_out"]) for task, _ in whole[0][1] if task.label["repeat"] == 0]
    means = scores.mean(axis=1)
    by_fold = np.stack([means[:, part].sum(axis=1) / steps[0, part].sum() for part in first], axis=1)
    return Choice(candidates, by_fold, means, steps[0], data.subjects, scores if n_repeats > 1 else None)


def _at_once(models: Sequence[HiddenModeEstimator], data: Trajectories) -> int:
    """How many fits of them to make at the same time: as many as there are cores, where one alone leaves cores idle."""
    most = SIDE_BY_SIDE if on_cpu() else ON_HOST
    sizes = [model.messages_size(data) for model in models]
    return 1 if pinned() or any(size is None or size > most for size in sizes) else cores()


def _told(
    done: Iterator[tuple[int, tuple[Any, np.ndarray]]], on_end: Callable[[HiddenModeEstimator], Any] | None
) -> Iterator[tuple[int, tuple[Any, np.ndarray]]]:
    """The same; each fitted model is told of as it comes."""
    for i, found in done:
        if on_end is not None:
            on_end(found[0])
        yield i, found


def _in_order(done: Iterator[tuple[int, T]]) -> Iterator[T]:
    """What jobs come to, in the order of the jobs; what ends too early waits."""
    waiting: dict[int, T] = {}
    place = 0
    for i, found in done:
        waiting[i] = found
        while place in waiting:
            yield waiting.pop(place)
            place += 1


def joined(rows: Sequence[tuple[dict[str, Any], Choice]]) -> Choice:
    """Models that were scored on the same folds, as one choice: the settings to show for each, and its own choice."""
    each = [scored for _, scored in rows]
    together = [scored.log_likelihoods for scored in each if scored.log_likelihoods is not None]
    repeats = [scored.by_repeat for scored in each if scored.by_repeat is not None]
    alike = len(repeats) == len(each) and len({own.shape[1] for own in repeats}) == 1
    return Choice(
        [settings for settings, _ in rows],
        np.concatenate([scored.scores for scored in each]),
        np.concatenate(together),
        each[0].steps,
        each[0].subjects,
        np.concatenate(repeats) if alike else None,
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
