"""Is SWIRL really better on my data?  Fit every model on the same sessions, score each once on the same others.

Scores compare only in one currency (actions, next states, densities) and over the same steps; whatever would mix
them is refused.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from swirl.analysis.comparison_result import Comparison
from swirl.analysis.fit_tasks import Fits, varied
from swirl.analysis.grid_search import Choice, choose, combinations, joined, score_on_folds, with_modes
from swirl.analysis.panel import check_goals, panel
from swirl.analysis.tasks import Pace, Progress
from swirl.data.environments import estimated_again, unseen_words
from swirl.data.folds import animals, check_apart, folds, max_folds, shared_animals
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.errors import SameAnimalsWarning
from swirl.estimators.base import WORDS, HiddenModeEstimator, Scored, as_trajectories
from swirl.estimators.registry import fixed_arguments, has_goals, keeps, known_arguments, make, models

# Of the time left: how long fits take for one another. How fast they are is measured.
COST = 500_000  # numbers in the messages of all restarts that take about as long as compiling what a fit runs
COUNTING = 0.05  # what any fit takes besides
ONE_MODE = "{}, one mode"  # the name of a model's twin


def common_score_type(candidates: Mapping[str, HiddenModeEstimator], of: Scored | None = None) -> Scored:
    """What all the models can be scored on: `of` if they all can, else the first that they share.

    >>> from swirl.data.mdp import MDP
    >>> env = MDP.deterministic([[0, 1, 1], [0, 1, 1]])
    >>> common_score_type({name: make(name, env) for name in ("S-1", "rARHMM")})
    'next_state'
    """
    each = {name: model.score_types for name, model in candidates.items()}
    shared = [x for x in WORDS if all(x in own for own in each.values())]
    if of is None and shared:
        return shared[0]  # type: ignore[return-value]
    if of in shared:
        return of  # type: ignore[return-value]
    said = "; ".join(f"{name}: {', '.join(own)}" for name, own in each.items())
    raise ValueError(
        f"of={of!r}: the models do not all have such a score, and scores of different things do not compare ({said}); "
        "compare those that share one"
    )


def compare(
    candidates: Any,
    train: Any,
    test: Any,
    *,
    env: Any = None,
    of: Scored | None = None,
    tune: Mapping[str, Mapping[str, Sequence[Any]]] | None = None,
    n_folds: int = 3,
    goals: Mapping[str, Any] | Sequence[Any] | None = None,
    callback: Callable[[str], Any] | None = None,
    progress: Callable[[Progress], Any] | None = None,
    fits: Fits | None = None,
    **parameters: Any,
) -> Comparison:
    """Fit models on `train`, score each once on `test`, and lay them side by side.

    The best model with modes, picked on training folds, is also fitted with one mode: the verdict is of like with like.

    Parameters
    ----------
    candidates
        Names of models (None: all that have the score `of`, by default that of next states, and Goals where `places`
        says where they are), or a dict of name → model; a model that is fitted already is fitted again.
    train, test
        `Trajectories` that share no session; better, no animal.
    env
        Needed when models are given by name. One that was estimated from sessions (`MDP.estimate`) is estimated anew,
        from `train` alone, and on folds from the sessions that are fitted there.
    of
        ``"action"``, ``"next_state"`` or ``"density"``; by default the first that all the models share, and next
        states where any action is missing.
    tune
        name → settings to try on folds of `train` (`grid_search.choose`) before that model is fitted. Where several
        numbers of modes are tried, one mode is tried too. Count models choose their order and smoothing themselves,
        for what is scored.
    n_folds
        Folds of `train`: for `tune`, and to pick which model with modes and which without the verdict is about, where
        there are several. 0: no folds (quicker; the test scores pick, and the verdict says so).
    goals
        Places that the animal may be going to, each a state or several, by name or in order: what else is asked of the
        models (`metrics.panel`, in `Comparison.panel`) then is also which is reached next, and whether modes agree with
        direct runs. Fits to training folds say whether modes are the same twice.
    callback
        Called with a few words on what is fitted next.
    progress
        Called with a `tasks.Progress` at the start and after each fit: how many are done, and about how long the others
        will take. Where others make the `fits`, these are asked.
    fits
        Who makes the fits, such as ``fits_on_tasks(Shared({"data": train}), folder, engine)``; by default this process.
    **parameters
        Further arguments, such as ``n_modes=3``, for those of the named models that take them and do not fix them.

    Examples
    --------
    >>> from swirl.datasets import gridworld
    >>> data = gridworld(n_sessions=10, n_steps=100)
    >>> train, test = data.trajectories.split(every=5)
    >>> result = compare(["Markov-0", "Markov-1"], train, test, env=data.env)
    >>> result.best, result.of, result.n_scored
    ('Markov-1', 'action', 200)
    """
    train, test = as_trajectories(train), as_trajectories(test)
    check_apart(train, test)
    fresh = _candidates(candidates, None if env is None else estimated_again(env, train), parameters)
    if isinstance(candidates, Mapping):
        _learn_environments(fresh, train)
    if candidates is None:  # next states are what all models of labelled states share
        fresh = {name: model for name, model in fresh.items() if (of or "next_state") in model.score_types}
    if known := {name: model for name, model in fresh.items() if model.env is not None}:
        check_goals(goals, known)  # before any work
    if of is None and train.n_missing_actions + test.n_missing_actions:
        next_states = all("next_state" in model.score_types for model in fresh.values())
        of = "next_state" if next_states else None  # the actions that were seen are not all there is to predict
    of = common_score_type(fresh, of)
    for model in fresh.values() if not isinstance(candidates, Mapping) else ():
        if "target" in model.get_params() and "target" not in parameters:
            model.set_params(target=of)  # a count model is fitted and tuned for what it is scored on
    grids = {name: dict(grid) for name, grid in (tune or {}).items()}
    unknown = [name for name in grids if name not in fresh]
    if unknown:
        raise ValueError(f"tune: {', '.join(unknown)} is not among the models compared, {', '.join(fresh)}")
    if grids and n_folds == 0:
        raise ValueError("n_folds=0: settings are chosen on folds; give n_folds=3, or no tune=")
    notes = _of_animals(train, test)
    if n_folds != 0 and n_folds < 2:
        raise ValueError(f"n_folds={n_folds}: expected 2 or more, or 0 for none")
    added = [name for name, grid in grids.items() if _with_one_mode(grid)]
    if added:
        notes += ("One mode was added to the numbers of modes that are tried: like is compared with like.",)
    work = _Work(train, test, of, n_folds, callback or (lambda _: None), notes, fits)
    if fits is None and progress is not None:
        work.begin(fresh, grids, progress)
    work.ahead(fresh, grids)
    for name, model in fresh.items():
        work.tune(name, model, grids.get(name))
    work.score_on_folds()
    work.fit(*fresh)
    if not isinstance(candidates, Mapping):
        work.labels.update({name: with_reward(name, model) for name, model in fresh.items()})
    work.add_one_mode(grids)
    return work.with_panel(goals)


def scored_once(
    models: Mapping[str, HiddenModeEstimator],
    train: Trajectories,
    test: Trajectories,
    *,
    of: Scored,
    about: str,
    on_folds: Choice,
    chosen: Mapping[str, dict[str, Any]],
    choices: Mapping[str, Choice],
    callback: Callable[[str], Any] | None = None,
    fits: Fits | None = None,
) -> Comparison:
    """Fit models that training folds have chosen (`on_folds`: how each did there), and score each on the test once.

    The verdict is `about` one of them, where it has modes; it is compared with itself with one mode, as by `compare`.
    `fits`: who makes the fits.
    """
    check_apart(train, test)
    work = _Work(train, test, of, 0, callback or (lambda _: None), _of_animals(train, test), fits)
    work.models, work.seconds = dict(models), dict.fromkeys(models, 0.0)
    work.chosen, work.choices, work.on_folds, work.about = dict(chosen), dict(choices), on_folds, about
    work.fit(*models)
    work.add_one_mode({})
    return work.with_panel(None)


def _of_animals(train: Trajectories, test: Trajectories) -> tuple[str, ...]:
    """Whether animals are on both sides, in a line; a warning too where there are enough to hold whole ones out."""
    line = shared_animals(train, test)
    if line is None:
        return ()
    if animals((*train.subjects, *test.subjects)) is not None:
        warnings.warn(f"{line} Split by animal: data.split(subjects=[…]).", SameAnimalsWarning, stacklevel=3)
    return (line,)


def _learn_environments(models: Mapping[str, HiddenModeEstimator], train: Trajectories) -> None:
    """Estimate environments that were estimated from `train` alone; models that shared one still do."""
    own = {name: model.env for name, model in models.items() if isinstance(model.env, MDP)}
    anew = {id(env): estimated_again(env, train) for env in own.values()}
    for name, env in own.items():
        models[name].set_params(env=anew[id(env)])


def _with_one_mode(grid: dict[str, Any]) -> bool:
    """Add one mode to the numbers that are tried, where several are and it is not among them."""
    tried = grid.get("n_modes")
    if not isinstance(tried, Sequence) or isinstance(tried, str) or len(tried) < 2 or 1 in tried:
        return False
    grid["n_modes"] = [1, *tried]
    return True


def with_reward(name: str, model: HiddenModeEstimator) -> str:
    """The name, with the form of the reward where it is not that of states alone."""
    reward = model.get_params().get("reward", "state")
    if reward == "state" or has_goals(name):
        return name
    return f"{name} ({reward if isinstance(reward, str) else type(reward).__name__})"


@dataclass
class _Work:
    """Models on their way into a comparison."""

    train: Trajectories
    test: Trajectories
    of: Scored
    n_folds: int
    tell: Callable[[str], Any]
    notes: tuple[str, ...]
    fits: Fits | None = None
    models: dict[str, HiddenModeEstimator] = field(default_factory=dict)
    asked: dict[str, HiddenModeEstimator] = field(default_factory=dict)
    """The models as they were before others fitted them: a fit that was kept has the prior that it chose as its own."""
    seconds: dict[str, float] = field(default_factory=dict)
    chosen: dict[str, dict[str, Any]] = field(default_factory=dict)
    choices: dict[str, Choice] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    one_mode: dict[str, str] = field(default_factory=dict)
    on_folds: Choice | None = None
    about: str | None = None
    tested: dict[str, tuple[list[np.ndarray], np.ndarray]] = field(default_factory=dict)
    """Of each fitted model: which test steps it scores, and its score of each test session."""
    cuts: dict[str, list[tuple[dict[str, Any], list[np.ndarray]]]] = field(default_factory=dict)
    """Of each model with modes: settings of fits to training folds, and how each of them segments the test."""
    pace: Pace | None = None
    progress: Callable[[Progress], Any] | None = None
    begun: set[Any] = field(default_factory=set)
    """Kinds of fits that have been made, or counted: what is compiled for them is there."""
    perhaps: dict[str, list[float]] = field(default_factory=dict)
    """What fits to training folds cost that are made only where the model's kind turns out to have several."""

    def begin(self, fresh: Mapping[str, Any], grids: Mapping[str, Any], progress: Callable[[Progress], Any]) -> None:
        """Count the fits that are to be made, each by what it costs."""
        planned = []
        for name, model, _ in self.on_folds_asked(fresh, grids):
            planned.append(self.cost(model, False))
            if name not in grids:
                self.perhaps.setdefault(name, []).append(planned[-1])
        for name, own in fresh.items():
            tried = combinations(own, grids[name]) if name in grids else [{}]
            planned.append(max(self.cost(varied(own, settings), True) for settings in tried))
        self.begun.clear()
        self.pace, self.progress = Pace(planned), progress
        progress(self.pace.progress)

    def cost(self, model: HiddenModeEstimator, to_all: bool) -> float:
        """What the next fit of such a model costs compared with others, about; the first one compiles."""
        size = model.messages_size(self.train) if model.fitted_by_em else None
        if size is None:
            return COUNTING
        plain = {name: own for name, own in model.get_params().items() if isinstance(own, int | float | str)}
        kind = (to_all, type(model).__name__, *sorted((name, str(own)) for name, own in plain.items()))
        first = kind not in self.begun
        self.begun.add(kind)
        return first + COUNTING + size / COST

    def did(self, model: HiddenModeEstimator, to_all: bool = False) -> None:
        """Say that a fit has ended."""
        if self.pace is not None and self.progress is not None:
            self.progress(self.pace.did(self.cost(model, to_all)))

    def on_folds_asked(
        self, fresh: Mapping[str, HiddenModeEstimator], grids: Mapping[str, dict[str, Any]]
    ) -> list[tuple[str, HiddenModeEstimator, Any]]:
        """All fits to training folds that will be made, or may be: the settings chosen say of what kind a model is."""
        n_folds = max_folds(self.train, self.n_folds)
        if n_folds < 2:
            return []
        modes = {
            name: {True, False} if name in grids else {_has_modes(own.get_params())} for name, own in fresh.items()
        }
        asked: list[tuple[str, HiddenModeEstimator, Any]] = []
        for name, model in fresh.items():
            alone = not any(modes[name] & modes[other] for other in modes if other != name)
            if name in grids or not alone:
                tried = combinations(model, grids[name]) if name in grids else [{}]
                parts = folds(self.train, self.n_folds if name in grids else n_folds)
                asked += [(name, varied(model, settings), part) for settings in tried for part in parts]
        return asked

    def ahead(self, fresh: Mapping[str, HiddenModeEstimator], grids: Mapping[str, dict[str, Any]]) -> None:
        """Where others make the fits, let them make all those to folds at once; each model then finds its own."""
        asked = self.on_folds_asked(fresh, grids)
        if self.fits is None or max_folds(self.train, self.n_folds) < 2:
            return
        self.tell(f"{', '.join(fresh)}: training folds")
        for (name, *_), (_, seconds) in zip(asked, self.fits([(model, part) for _, model, part in asked]), strict=True):
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def tune(self, name: str, model: HiddenModeEstimator, grid: dict[str, Any] | None) -> None:
        """Take a model in, with the settings that training folds choose."""
        began = time.perf_counter()
        if grid is not None:
            self.choices[name] = choose(
                model,
                self.train,
                grid,
                n_folds=self.n_folds,
                of=self.of,
                callback=lambda words: self.tell(f"{name}: {words}"),
                on_fit=lambda settings, fitted: self.cut(name, settings, fitted),
                on_end=self.did,
                fits=self.fits,
            )
            self.chosen[name] = self.choices[name].best
            model = model.set_params(**self.chosen[name])
        self.models[name] = model
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began

    def score_on_folds(self) -> None:
        """Score on folds, as they are now, the models of a kind (with modes, without) that has several."""
        n_folds = max_folds(self.train, self.n_folds)
        if n_folds < 2:
            return
        own = {name: model.get_params() for name, model in self.models.items()}
        kinds = [[name for name in own if _has_modes(own[name]) is several] for several in (True, False)]
        scored = [name for name in own if any(name in kind and len(kind) > 1 for kind in kinds)]
        for cost in (cost for name, costs in self.perhaps.items() if name not in scored for cost in costs):
            if self.pace is not None:
                self.pace.more(-1, cost)
        rows = []
        for name in scored:
            began = time.perf_counter()
            if name in self.choices:
                choice = self.choices[name].only(**self.chosen[name])
            else:
                choice = score_on_folds(
                    self.models[name],
                    self.train,
                    [{}],
                    n_folds=n_folds,
                    of=self.of,
                    callback=lambda words, name=name: self.tell(f"{name}: {words}"),
                    on_fit=lambda settings, fitted, name=name: self.cut(name, settings, fitted),
                    on_end=self.did,
                    fits=self.fits,
                )
            rows.append(({"model": name, **_complexity(own[name])}, choice))
            self.seconds[name] += time.perf_counter() - began
        if rows:
            self.on_folds = joined(rows)

    def cut(self, name: str, settings: dict[str, Any], fitted: HiddenModeEstimator) -> None:
        """Keep how a fit to training folds segments the test: not to choose by, but to see whether others do so too."""
        if len(fitted.initial_modes_) > 1:
            self.cuts.setdefault(name, []).append((settings, fitted.predict(self.test)))

    def fit(self, *names: str) -> None:
        """Fit models to all training sessions, and score each on the test."""
        self.asked.update({name: self.models[name] for name in names})
        if self.fits is not None:
            self.tell(f"{', '.join(names)}: all training sessions")
            for name, (model, seconds) in zip(names, self.fits([(self.models[n], None) for n in names]), strict=True):
                self.models[name], self.seconds[name] = model, self.seconds[name] + seconds
        for name in names:
            began = time.perf_counter()
            if self.fits is None:
                self.tell(f"{name}: all training sessions")
                self.models[name].fit(self.train)
                self.did(self.models[name], to_all=True)
            model = self.models[name]
            if own_choice := model.chosen_:
                self.chosen[name] = {**own_choice, **self.chosen.get(name, {})}
            self.seconds[name] += time.perf_counter() - began
            self.tested[name] = model.scored_steps(self.test, of=self.of), model.session_scores(self.test, of=self.of)

    def add_one_mode(self, grids: Mapping[str, dict[str, Any]]) -> None:
        """Find, or fit, the twin with one mode of the model with modes that the verdict is about."""
        contest = self.scored().contest()
        if contest is None:
            return
        name = contest.with_modes
        params = self.asked[name].get_params()
        one = with_modes(self.asked[name], 1)
        if one is None:
            self.notes += (f"{name} has settings for each mode, so there is no such model with one mode.",)
            return
        rest = {key: values for key, values in grids.get(name, {}).items() if key != "n_modes"}
        twin, settings = type(self.models[name])(**{**params, **one}), {}
        if name in self.choices and any(own.get("n_modes") == 1 for own in self.choices[name].candidates):
            settings = self.choices[name].only(n_modes=1).best
            twin.set_params(**settings)
            rest = {}
        there = [] if rest else [other for other in self.models if _same(self.asked[other], twin)]
        if there:
            self.one_mode[name] = there[0]
            return
        added = ONE_MODE.format(name)
        if added in self.models:
            raise ValueError(f"{added!r}: this name is kept for {name} with one mode; call yours something else")
        if self.pace is not None:
            n_folds = max_folds(self.train, self.n_folds) if rest else 0
            self.pace.more(1 + n_folds * (len(combinations(twin, rest)) if rest else 0), 1.0)
        self.tune(added, twin, rest or None)
        shown = {key: value for key, value in settings.items() if key != "n_modes"}
        self.chosen.update({added: shown} if shown else {})
        self.labels[added] = ONE_MODE.format(self.labels.get(name, name))
        self.one_mode[name] = added
        self.fit(added)

    def with_panel(self, goals: Any) -> Comparison:
        """The comparison, with what else the models say of the test."""
        found = self.scored()
        self.tell("forecasts")
        others = {}
        for name, cuts in self.cuts.items():
            own = self.choices[name].best if name in self.choices else {}
            others[name] = [paths for settings, paths in cuts if _equal(settings, own)]
        ranked = {row["model"]: self.models[row["model"]] for row in found.table()}
        return replace(found, panel=panel(ranked, self.test, goals, others, of=self.of))

    def unseen(self, model: HiddenModeEstimator) -> str:
        """How much of the test the environment of a model does not know."""
        if not isinstance(model.env, MDP):
            return ""
        return unseen_words(model.env, self.test, "the test sessions", model.get_params().get("impossible"))

    def scored(self) -> Comparison:
        """The comparison of the models that are fitted."""
        first = next(iter(self.models))
        steps = self.tested[first][0]
        for name, (own, _) in self.tested.items():
            for session, (a, b) in enumerate(zip(own, steps, strict=True)):
                if not np.array_equal(a, b):
                    raise ValueError(
                        f"{name} scores {int(a.sum())} steps of test session {session}, {first} {int(b.sum())}, so "
                        "these are not scores of the same thing; compare models that score the same steps (for "
                        "autoregressions: the same number of lags)"
                    )
        per_session = np.array([int(own.sum()) for own in steps])
        if per_session.sum() == 0:
            raise ValueError("test: nothing was observed in any session, so there is nothing to score")
        return Comparison(
            self.of,
            int(per_session.sum()),
            tuple(self.models),
            self.models,
            np.stack([self.tested[name][1] for name in self.models]),
            per_session,
            self.test.subjects,
            np.array([self.seconds[name] for name in self.models]),
            self.chosen,
            self.choices,
            self.test.names,
            on_folds=self.on_folds,
            one_mode=self.one_mode,
            labels={name: label for name, label in self.labels.items() if label != name},
            notes=(*self.notes, *dict.fromkeys(filter(None, map(self.unseen, self.models.values())))),
            about=self.about,
        )


def _has_modes(params: Mapping[str, Any]) -> bool:
    return params.get("n_modes", 1) != 1


def _complexity(params: Mapping[str, Any]) -> dict[str, Any]:
    """What `grid_search.choose` tells simple from less simple by, as plain values."""
    kinds = {"n_modes": int, "history": int, "switching": str}
    told = {key: params[key] for key in kinds if params.get(key) is not None}
    return {key: value if value == "auto" else kinds[key](value) for key, value in told.items()}


def _same(model: HiddenModeEstimator, other: HiddenModeEstimator) -> bool:
    """Whether two models are built alike; how one mode switches makes no difference."""
    if type(model) is not type(other):
        return False
    one, two = (
        {key: value for key, value in m.get_params().items() if not key.startswith("switching")} for m in (model, other)
    )
    return all(_equal(one[key], two[key]) for key in one)


def _equal(one: Any, two: Any) -> bool:
    if one is two:
        return True
    try:
        return bool(one == two)
    except ValueError:  # of options that hold arrays
        return False


def _candidates(candidates: Any, env: Any, parameters: dict[str, Any]) -> dict[str, HiddenModeEstimator]:
    """Unfitted models by name."""
    if isinstance(candidates, Mapping):
        if parameters:
            raise ValueError(f"{', '.join(parameters)}: give further arguments to the models themselves")
        if not candidates or not all(isinstance(model, HiddenModeEstimator) for model in candidates.values()):
            raise ValueError(f"candidates={candidates!r}: expected a dict of name → model, with at least one")
        return {name: type(model)(**model.get_params()) for name, model in candidates.items()}
    if candidates is None:  # goals are named by the user, or there are none
        candidates = [name for name in models() if not has_goals(name) or "places" in parameters]
    listed = isinstance(candidates, Sequence) and not isinstance(candidates, str) and len(candidates) > 0
    if not listed or not all(isinstance(name, str) for name in candidates):
        raise ValueError(
            f"candidates={candidates!r}: expected a list of names, such as ['Markov', 'S-2'], or a dict of name → model"
        )
    if env is None:
        raise ValueError("env: models given by name need the environment; pass env=")
    made, taken = {}, {}
    for name in candidates:
        if has_goals(name) and "places" not in parameters:
            raise ValueError(f"{name}: say where the goals are, as in places=(116, 0)")
        own, fixed = known_arguments(name), fixed_arguments(name)
        taken[name] = {k: v for k, v in parameters.items() if k in own and (k not in fixed or keeps(name, k, v))}
        made[name] = make(name, env, **taken[name])
    unused = [k for k in parameters if not any(k in own for own in taken.values())]
    if unused:
        raise ValueError(f"{', '.join(unused)}: none of the models has such an argument, or its name fixes it")
    return made
