"""The whole question at once: how many modes, how long a history, which switching; how sure, and what each is worth.

A grid of settings is tried on folds of the training sessions, which choose (`grid_search`).  Drawing sessions and
repeats anew says how often others would have chosen otherwise.  The chosen model and its neighbours, which differ from
it in one setting each, are then fitted to all training sessions and scored once on the test: the difference is what
that setting is worth.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from jaxtyping import Int

from swirl.analysis.comparison import scored_once
from swirl.analysis.comparison_result import Z95, Comparison
from swirl.analysis.fit_tasks import Fits, fits_on_tasks, fold_tasks, learnt_from, varied, whole_task
from swirl.analysis.grid_search import (
    Choice,
    choice_of,
    combinations,
    complexity,
    joined,
    score_on_folds,
    worded,
)
from swirl.analysis.tasks import Engine, Folder, Progress, Shared, carried_out, some_folder
from swirl.data.folds import check_apart
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import HiddenModeEstimator, Scored, as_trajectories
from swirl.estimators.digest import digest
from swirl.estimators.registry import known_arguments, make
from swirl.text import InNotebooks, counted

__all__ = ["Effect", "ModelChoice", "choose_model"]

OF_MODES = ("switching", "switching_prior")  # what one mode has no use for
DRAWS = 500
MARKOV = "Markov"
FORMS = {
    "state": "State-dependent switching",
    "independent": "Switching that depends on the mode alone",
    "state-table": "Switching with a separate table for each state",
    "state-net": "Switching computed from the state by a network",
}
SWITCHING, HISTORY, MODES = "switching", "history", "n_modes"


@dataclass(frozen=True)
class Effect:
    """What one setting is worth on the test sessions, all others being equal."""

    setting: str
    value: Any
    """Of the two, the one that makes the model richer."""
    instead_of: Any
    gain: float
    """Nats per step."""
    half_width: float
    """Of its 95 % interval: what other test sessions, other seeds and other folds would change."""

    @property
    def helps(self) -> bool | None:
        """Whether it does; None where the interval holds zero, or is not known."""
        if not abs(self.gain) > self.half_width:
            return None
        return self.gain > 0

    def sentence(self) -> str:
        """In words.

        >>> print(Effect("switching", "state", "independent", 0.031, 0.009).sentence())
        State-dependent switching helps: +0.0310 nats/step, 95 % interval +0.0220 to +0.0400 (instead of: independent).
        """
        many = False
        if self.setting == SWITCHING:
            what = FORMS.get(str(self.value), f"Switching {self.value}")
        elif self.setting == HISTORY:
            what = f"A history of {counted(int(self.value), 'state')}"
        elif self.setting == MODES:
            what, many = counted(int(self.value), "mode"), int(self.value) > 1
        else:
            what = f"{self.setting}={self.value}"
        does = ("help" if self.gain > 0 else "hurt") + ("" if many else "s")
        if self.helps is None:
            does = f"{'make' if many else 'makes'} no difference beyond noise"
        interval = f", 95 % interval {self.gain - self.half_width:+.4f} to {self.gain + self.half_width:+.4f}"
        sure = interval if np.isfinite(self.half_width) else "; one test session does not say how sure that is"
        return f"{what} {does}: {self.gain:+.4f} nats/step{sure} (instead of: {self.instead_of})."


@dataclass(frozen=True)
class ModelChoice(InNotebooks):
    """Which model, how sure, and what each setting is worth; print it."""

    choice: Choice
    """Every candidate on the training folds."""
    again: Int[np.ndarray, "candidate"]
    """How often each would be chosen with other sessions (`Choice.chosen_again`)."""
    comparison: Comparison
    """The chosen model, its neighbours and `Markov` on the test sessions."""
    effects: list[Effect]
    criteria: list[dict[str, Any]] = field(default_factory=list)
    """Of each candidate, fitted to all training sessions: log_likelihood, free_parameters, aic, bic."""

    @property
    def best(self) -> dict[str, Any]:
        """The settings to take."""
        return self.choice.best

    @property
    def name(self) -> str:
        """What the chosen model is called in the comparison."""
        return named(self.best)

    def share(self, setting: str) -> dict[Any, float]:
        """How often each value of a setting would be chosen with other sessions, the most frequent first."""
        found: dict[Any, float] = {}
        for own, n in zip(self.choice.candidates, self.again.tolist(), strict=True):
            if own.get(MODES) == 1 and setting in OF_MODES:
                continue
            found[own.get(setting)] = found.get(own.get(setting), 0) + n
        total = sum(found.values())
        return {value: n / total for value, n in sorted(found.items(), key=lambda each: -each[1])} if total else {}

    def verdict(self) -> str:
        """Say whether there is a case for modes, as the comparison on the test does."""
        return self.comparison.verdict()

    def how_sure(self) -> str:
        """Say how often other sessions would have chosen otherwise."""
        varied = [name for name in self.choice.candidates[0] if len({str(c[name]) for c in self.choice.candidates}) > 1]
        said = []
        for name in varied:
            shares = {value: share for value, share in self.share(name).items() if share > 0}
            if shares:
                said.append(f"{name} {', '.join(f'{value} in {share:.0%}' for value, share in shares.items())}")
        if not said:
            return "Nothing was varied."
        others = f"With other {self.choice.unit}s ({int(self.again.sum())} resamplings)"
        return f"{others} the choice would be: {'; '.join(said)}."

    def table(self) -> list[dict[str, Any]]:
        """One row per candidate, highest mean on the folds first, with AIC and BIC above the lowest."""
        rows = self.choice.table()
        if not self.criteria:
            return rows
        own = {worded(c): found for c, found in zip(self.choice.candidates, self.criteria, strict=True)}
        least = {k: min((f[k] for f in self.criteria if f.get(k) is not None), default=None) for k in ("aic", "bic")}
        for row in rows:
            found = own[worded({name: row[name] for name in self.choice.candidates[0]})]
            row["free_parameters"] = found.get("free_parameters")
            row |= {k: None if found.get(k) is None else found[k] - low for k, low in least.items() if low is not None}
        return rows

    def __str__(self) -> str:
        lines = [self.verdict(), "", f"Chosen on training folds: {self.choice.why()}", self.how_sure(), ""]
        lines += [f"- {effect.sentence()}" for effect in self.effects]
        names, rows = list(self.choice.candidates[0]), self.table()
        with_criteria = any(row.get("aic") is not None for row in rows)
        titles = [
            *names,
            "nats/step",
            "to the highest (± 1 SE)",
            *(["parameters", "AIC", "BIC"] if with_criteria else []),
        ]
        lines += ["", f"| {' | '.join([*titles, ''])} |", f"|{'--:|' * len(titles)}:--|"]
        for row in rows:
            cells = [str(row.get(name, "")) for name in names]
            cells += [f"{row['score']:.4f}", f"{row['behind_highest']:+.4f} ± {row['standard_error']:.4f}"]
            if with_criteria:
                cells += [_number(row.get("free_parameters")), _number(row.get("aic")), _number(row.get("bic"))]
            lines.append(f"| {' | '.join([*cells, 'chosen' if row['chosen'] else ''])} |")
        if with_criteria:
            lines.append(
                "AIC and BIC: above the lowest; parameters without gauge. Not used to choose: they ignore the prior."
            )
        return "\n".join(
            [
                *lines,
                "",
                "The chosen model and its neighbours on the test sessions:",
                "",
                *str(self.comparison).split("\n")[2:],
            ]
        )

    def facts(self) -> dict[str, Any]:
        """All of it as plain values, beside the comparison."""
        effects = [{**vars(effect), "sentence": effect.sentence()} for effect in self.effects]
        return {
            "best": self.best,
            "verdict": self.verdict(),
            "why": self.choice.why(),
            "how_sure": self.how_sure(),
            "chosen_again": self.again.tolist(),
            "effects": effects,
            "candidates": self.table(),
        }


def _number(value: float | int | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def named(settings: Mapping[str, Any]) -> str:
    """What a model with such settings is called.

    >>> named({"n_modes": 2, "history": 1, "switching": "state"})
    'modes 2, history 1, switching state'
    """
    words = {"n_modes": "modes"}
    own = {k: v for k, v in settings.items() if not (settings.get(MODES) == 1 and k in OF_MODES)}
    return ", ".join(f"{words.get(key, key)} {value}" for key, value in own.items())


def neighbours(choice: Choice) -> list[tuple[str, int]]:
    """Candidates that differ from the chosen one in one setting: of numbers the next ones, else all others."""
    best, found = choice.best, []
    for setting, value in best.items():
        if best.get(MODES) == 1 and setting in OF_MODES:
            continue
        others = [own[setting] for own in choice.candidates if own[setting] != value]
        if others and all(isinstance(each, int | float) and not isinstance(each, bool) for each in [*others, value]):
            below, above = [o for o in others if o < value], [o for o in others if o > value]
            others = [*([max(below)] if below else []), *([min(above)] if above else [])]
        for other in dict.fromkeys(map(str, others)):
            at = _place(choice, {**best, setting: other}, setting)
            if at is not None:
                found.append((setting, at))
    return found


def _place(choice: Choice, wanted: Mapping[str, Any], setting: str) -> int | None:
    """Where a candidate stands; of one mode how it switches makes no difference."""
    for i, own in enumerate(choice.candidates):
        free = OF_MODES if own.get(MODES) == 1 else ()
        if all(str(own[k]) == str(v) for k, v in wanted.items() if k not in free or k == setting):
            return i
    return None


def choose_model(
    model: Any,
    train: Any,
    test: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
    *,
    n_folds: int = 3,
    n_repeats: int = 2,
    of: Scored | None = None,
    folder: Folder | None = None,
    engine: Engine | None = None,
    callback: Callable[[Progress], Any] | None = None,
    tell: Callable[[str], Any] | None = None,
    about: Mapping[str, Any] | None = None,
) -> ModelChoice:
    """Choose settings on training folds, say how sure that is, and on the test what each setting is worth.

    Parameters
    ----------
    model
        The model to vary, one that EM fits; it is not fitted or changed.
    train, test
        `Trajectories` that share no session; better, no animal.  The test is scored once.
    grid
        For each constructor argument the values to try; or the combinations to try, as a list of settings.
    n_folds, n_repeats
        Folds of the training sessions, and how often they are cut anew, each time with another seed.
    of
        What is scored, one of the model's `score_types`; by default its own.
    folder, engine
        Where results are kept and where the work is done (`swirl.analysis.tasks`).
    callback, tell
        Called with a `Progress` after each fit; with words on what is fitted at the end.
    about
        What to write into the folder of the run.

    Examples
    --------
    >>> from swirl import SWIRL, datasets, priors  # takes some seconds
    >>> world = datasets.gridworld(n_sessions=30, n_steps=60)
    >>> train, test = world.trajectories.split(every=3)
    >>> model = SWIRL(world.env, history=1, n_restarts=2, reward_prior=priors.Cauchy())
    >>> found = choose_model(model, train, test, {"n_modes": [1, 2]}, n_folds=2)
    >>> found.best, [effect.setting for effect in found.effects]
    ({'n_modes': 2}, ['n_modes'])
    """
    train, test = as_trajectories(train), as_trajectories(test)
    if not isinstance(model, HiddenModeEstimator) or not model.fitted_by_em:
        raise ValueError(f"model is {type(model).__name__}: expected one that EM fits, such as swirl.SWIRL(env)")
    check_apart(train, test)
    model = varied(model, learnt_from(train, model))
    tried = combinations(model, grid) if isinstance(grid, Mapping) else [dict(own) for own in grid]
    scored = model.score_type_of(train) if of is None else of
    on_folds = fold_tasks(model, train, tried, n_folds=n_folds, n_repeats=n_repeats, of=scored)
    seed = model.get_params().get("random_state")
    shared = Shared({"data": train})
    to_all = [whole_task(varied(model, own), shared, own) for own in tried]
    tasks = [*on_folds, *to_all]
    with some_folder(folder) as kept:
        kept.ask(tasks, about or {})
        outcomes = carried_out(tasks, folder=kept, engine=engine, callback=callback)
        choice = choice_of(on_folds, outcomes[: len(on_folds)])
        found = {digest(own): outcome.result for own, outcome in zip(tried, outcomes[len(on_folds) :], strict=True)}
        criteria = [found.get(digest(own)) or {} for own in choice.candidates]
        again = choice.chosen_again(DRAWS, int(seed) if isinstance(seed, Integral) else 0)
        fits = fits_on_tasks(shared, kept, engine, whole=whole_task)  # most are there already
        comparison, effects = _on_test(model, choice, train, test, scored, n_folds, tell, fits)
    return ModelChoice(choice, again, comparison, effects, criteria)


def _on_test(
    model: HiddenModeEstimator,
    choice: Choice,
    train: Trajectories,
    test: Trajectories,
    of: Scored,
    n_folds: int,
    tell: Callable[[str], Any] | None,
    fits: Fits,
) -> tuple[Comparison, list[Effect]]:
    """Fit the chosen model, its neighbours and counts to all training sessions, and score each on the test once."""
    around = neighbours(choice)
    kept = list(dict.fromkeys([choice.best_index, *(place for _, place in around)]))
    fresh = {named(choice.candidates[i]): varied(model, choice.candidates[i]) for i in kept}
    rows = [({"model": named(choice.candidates[i]), **choice.candidates[i]}, choice.rows([i])) for i in kept]
    params, known = model.get_params(), known_arguments(MARKOV)
    if params.get("env") is not None and of in make(MARKOV, params["env"]).score_types:
        own = {"target": of, "impossible": params.get("impossible")}
        given = {key: value for key, value in own.items() if key in known and value is not None}
        fresh[MARKOV] = make(MARKOV, params["env"], **given)
        rows.append(({"model": MARKOV, MODES: 1}, score_on_folds(fresh[MARKOV], train, [{}], n_folds=n_folds, of=of)))
    chosen = named(choice.best)
    found = scored_once(
        fresh,
        train,
        test,
        of=of,
        about=chosen,
        on_folds=joined(rows),
        chosen={chosen: choice.best},
        choices={chosen: choice},
        callback=tell,
        fits=fits,
    )
    return found, [_effect(choice, found, setting, place) for setting, place in around]


def _effect(choice: Choice, found: Comparison, setting: str, place: int) -> Effect:
    """What the setting that tells a neighbour from the chosen model is worth, the richer of the two first."""
    rich, plain = sorted((choice.best_index, place), key=lambda i: complexity(choice.candidates[i]), reverse=True)
    one, two = choice.candidates[rich], choice.candidates[plain]
    gain, half = found.difference(named(one), named(two))
    half = float(np.hypot(half, Z95 * choice.scatter(rich, plain)))
    return Effect(setting, one[setting], two[setting], gain, half)
