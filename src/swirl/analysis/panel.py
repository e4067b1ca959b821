"""Four questions about a fit, side by side: nobody should read the next-step likelihood alone.

1. What comes next?  `score`, in nats per step.
2. Where is it going?  Log-losses of which goal is reached next, and of the place 1, 5 and 20 steps ahead
   (`analysis.forecasts`).
3. Do the modes say what was done?  F1 of a mode as a detector of direct runs to a goal, and the adjusted Rand index
   of the whole segmentation with the runs (`analysis.behaviour`): no model has made these labels.
4. Is it the same twice?  The adjusted Rand index of segmentations by further fits of the same model.

The first two are sums over the steps of each session, so that a difference has an interval: the paired bootstrap over
sessions (over animals, where five or more are known).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, cast

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import t as student

from swirl.analysis.behaviour import agreement_with_labels, agreement_with_runs, run_labels, runs_to
from swirl.analysis.forecasts import (
    MAX_MOVES,
    Forecast,
    check_places,
    goal_forecast,
    is_choice,
    n_moves,
    place_forecast,
)
from swirl.analysis.intervals import spread_of
from swirl.data.folds import animals
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import WORDS, HiddenModeEstimator, Scored, as_trajectories, quietly
from swirl.estimators.discrete import DiscreteEstimator
from swirl.inference.mode_matching import adjusted_rand_index
from swirl.rewards.forms import Goals
from swirl.text import counted

__all__ = ["Panel", "panel", "same_twice"]

AHEAD = (1, 5, 20)
"""Steps ahead of which the place is forecast."""
SCORE, NEXT_GOAL, RUNS, TWICE = "score", "next_goal", "runs_ari", "same_twice"
N_DRAWS, SEED = 2000, 0
TITLES = {SCORE: "score", NEXT_GOAL: "which goal next", RUNS: "ARI with runs", TWICE: "same twice"}
TITLES |= {f"place_{k}": f"place +{k}" for k in AHEAD}


@dataclass(frozen=True)
class Panel:
    """What `panel` found; print it for tables.

    Attributes
    ----------
    of
        What `score` is a likelihood of.
    names, modes
        The models, and the number of modes of each.
    sums, steps
        For each measure of steps (``score``, ``next_goal``, ``place_1``, …) [model, session]: its sum in nats, and the
        number of steps that it is over; 0 steps where the measure does not apply.
    base_rates
        For each forecast, the log-loss of always forecasting how often each outcome came.
    agreement
        For each measure of modes (``f1_<goal>``, ``runs_ari``, ``same_twice``) [model], NaN where it does not apply.
    subjects
        The animal of each session.
    goals
        The states of each goal.

    Examples
    --------
    >>> sums, steps = {"score": np.array([[-4.0, -6.0], [-3.0, -5.5]])}, {"score": np.full((2, 2), 10)}
    >>> found = Panel("action", ("counts", "modes"), (1, 2), sums, steps)
    >>> found.value("modes", "score"), found.difference("modes", "score")[0]
    (-0.425, 0.075)
    """

    of: Scored
    names: tuple[str, ...]
    modes: tuple[int, ...]
    sums: dict[str, Float[np.ndarray, "model session"]]
    steps: dict[str, Int[np.ndarray, "model session"]]
    base_rates: dict[str, float] = field(default_factory=dict)
    agreement: dict[str, Float[np.ndarray, "model"]] = field(default_factory=dict)
    subjects: tuple[Any, ...] = ()
    goals: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def value(self, name: str, measure: str) -> float:
        """One number: nats per step for measures of steps, 0 to 1 for those of modes; NaN where it does not apply."""
        i = self._place(name)
        if measure in self.agreement:
            return float(self.agreement[measure][i])
        self._check(measure)
        steps = self.steps[measure][i].sum()
        return float(self.sums[measure][i].sum() / steps) if steps else np.nan

    def reference(self, measure: str) -> str | None:
        """The best model without modes by a measure of steps; None where there is none."""
        self._check(measure)
        sign = 1 if measure == SCORE else -1
        without = [name for name, n in zip(self.names, self.modes, strict=True) if n == 1]
        known = [name for name in without if not np.isnan(self.value(name, measure))]
        return max(known, key=lambda name: sign * self.value(name, measure)) if known else None

    def difference(self, name: str, measure: str, reference: str | None = None) -> tuple[float, float, float]:
        """How much larger a measure of steps is than for `reference`, and its 95 % interval: nats per step.

        A larger score is better, a larger log-loss is worse. The interval is that of the paired bootstrap over sessions
        (over animals where five or more are known), always with the same draws, widened where there are few of them as
        those of `uncertainty.bootstrap` are (Student's t).

        Parameters
        ----------
        reference
            Another of the models; by default the best without modes by this measure. It is picked on the same
            sessions, so that the difference is, if anything, too much in its favour.
        """
        reference = self.reference(measure) if reference is None else reference
        nothing = (np.nan, np.nan, np.nan)
        if reference is None or name == reference:
            return nothing
        i, j = self._place(name), self._place(reference)
        self._check(measure)
        steps = self.steps[measure][i]
        if not steps.sum() or not np.array_equal(steps, self.steps[measure][j]):
            return nothing
        units = animals(self.subjects)
        units = np.arange(len(steps)) if units is None else units
        with np.errstate(invalid="ignore"):  # a score may be −inf
            gains = np.bincount(units, weights=self.sums[measure][i] - self.sums[measure][j])
        per = np.bincount(units, weights=steps)
        gains, per = gains[per > 0], per[per > 0]
        found = float(gains.sum() / per.sum())
        if len(per) < 2 or not np.isfinite(gains).all():
            return found, np.nan, np.nan
        drawn = np.random.default_rng(SEED).integers(len(per), size=(N_DRAWS, len(per)))
        spread = float(spread_of(gains[drawn].sum(axis=1) / per[drawn].sum(axis=1), len(per)))
        reach = spread * float(student.ppf(0.975, 1 / (1 / (len(per) - 1) + 1 / (N_DRAWS - 1))))
        return found, found - reach, found + reach

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per model: every measure, and of those of steps the difference to `reference` with its interval."""
        found = []
        for name, n_modes in zip(self.names, self.modes, strict=True):
            row: dict[str, Any] = {"model": name, "modes": n_modes}
            row |= {measure: self.value(name, measure) for measure in (*self.sums, *self.agreement)}
            for measure in self.sums:
                parts = self.difference(name, measure)
                row |= {f"{measure}_{part}": x for part, x in zip(("difference", "low", "high"), parts, strict=True)}
            found.append(row)
        return found

    def without_forecasts(self) -> "Panel":
        """The same with the score and the measures of modes only."""
        kept = {"sums": {SCORE: self.sums[SCORE]}, "steps": {SCORE: self.steps[SCORE]}, "base_rates": {}}
        return replace(self, **kept)

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame, one per model."""
        import pandas as pd

        return pd.DataFrame(self.rows).set_index("model")

    def tables(
        self, labels: Mapping[str, str] | None = None, leave_out: Sequence[str] = ()
    ) -> list[tuple[list[str], list[list[str]]]]:
        """What people read: header and rows of text, first of the measures of steps, then of modes if there are any.

        "+" stands behind what is better than for the best model without modes, "−" behind what is worse: the 95 %
        interval of the paired difference excludes 0.

        Parameters
        ----------
        labels
            What to call models instead of their names.
        leave_out
            Measures that stand elsewhere.
        """
        called = {name: (labels or {}).get(name, name) for name in self.names}
        shown = [measure for measure in self.sums if self.steps[measure].any() and measure not in leave_out]
        rows = [
            [called[name], str(n), *(self._cell(name, measure) for measure in shown)]
            for name, n in zip(self.names, self.modes, strict=True)
        ]
        if any(measure in self.base_rates for measure in shown):
            rates = [f"{self.base_rates[m]:.4f}" if m in self.base_rates else "" for m in shown]
            rows.append(["base rate", "", *rates])
        found = [(["model", "modes", *(title(measure) for measure in shown)], rows)] if shown else []
        told = [measure for measure, values in self.agreement.items() if np.isfinite(values).any()]
        if told:
            several = [name for name, n in zip(self.names, self.modes, strict=True) if n > 1]
            rows = [[called[name], *(_rounded(self.value(name, measure)) for measure in told)] for name in several]
            found.append((["model", *(title(measure) for measure in told)], rows))
        return found

    def notes(self, leave_out: Sequence[str] = ()) -> list[str]:
        """How to read the tables, in sentences."""
        said = ["Log-losses in nats: lower is better."] if any(m not in leave_out for m in self.sums) else []
        if SCORE not in leave_out:
            said = ["Score: higher is better; the others of the first table are log-losses, in nats: lower is better."]
        if said and any(n == 1 for n in self.modes) and any(n > 1 for n in self.modes):
            unit = "session" if animals(self.subjects) is None else "animal"
            said.append(f"+ better, − worse than the best model without modes (95 % interval, paired by {unit}).")
        if any(np.isfinite(self.agreement.get(name, np.nan)).any() for name in (RUNS, TWICE)):
            said.append("F1 and ARI: 1 is full agreement; ARI 0 is chance.")
        if np.isfinite(self.agreement.get(TWICE, np.nan)).any():
            said.append("Same twice: ARI between further fits of the model (in a comparison: to training folds).")
        return said

    @property
    def heading(self) -> str:
        """What the tables are about, beside the score."""
        return "Where is it going" + (", and do modes agree with runs" if self.goals else "")

    def __str__(self) -> str:
        return self.text()

    def text(self, labels: Mapping[str, str] | None = None, leave_out: Sequence[str] = ()) -> str:
        """The tables as text (arguments as in `tables`)."""
        lines: list[str] = []
        for header, rows in self.tables(labels, leave_out):
            lines += [_line(header), f"|:--|{'--:|' * (len(header) - 1)}", *map(_line, rows), ""]
        return "\n".join([*lines, *self.notes(leave_out)])

    def _cell(self, name: str, measure: str) -> str:
        value = self.value(name, measure)
        if np.isnan(value):
            return ""
        _, low, high = self.difference(name, measure)
        sign = "+" if low > 0 else "−" if high < 0 else ""
        if measure != SCORE:
            sign = {"+": "−", "−": "+", "": ""}[sign]
        return f"{value:.4f}{' ' if sign else ''}{sign}"

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise ValueError(f"{name!r}: no such model here; there are {', '.join(self.names)}")
        return self.names.index(name)

    def _check(self, measure: str) -> None:
        if measure not in self.sums:
            raise ValueError(f"measure={measure!r}: expected one of {', '.join(self.sums)}")


def title(measure: str) -> str:
    """What a measure is called in tables.

    >>> title("next_goal"), title("f1_water"), title("place_5")
    ('which goal next', 'F1 water', 'place +5')
    """
    return f"F1 {measure.removeprefix('f1_')}" if measure.startswith("f1_") else TITLES.get(measure, measure)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rounded(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.2f}"


def panel(
    models: Any,
    data: Any,
    goals: Mapping[str, Any] | Sequence[Any] | None = None,
    others: Mapping[str, Sequence[Any]] | None = None,
    *,
    of: Scored | None = None,
) -> Panel:
    """Lay what fitted models say of some sessions side by side: next step, where to, runs, and the same twice.

    Parameters
    ----------
    models
        Fitted models: name → model, or a list of them, which are then called by their labels.
    data
        Sessions that none of them was fitted to.
    goals
        Places that the animal may be going to, by name or in order: each a state, a list of several, or the tuple
        ``(state, action)``, an action that is chosen there (as for `next_goal_log_loss`; runs are then those to the
        state). With two or more, which is reached next is forecast, from the states alone, so that all models know the
        same; with any, modes are compared with direct runs.
        None: only what needs no goals.
    others
        name → further fits of the same model (to two halves of the sessions, to single animals, other restarts), or
        their segmentations of `data`, lists with one array per session. Of several every two are compared; one alone
        is compared with the model itself.
    of
        What `score` is a likelihood of; by default next states where all models have that, else the first that they
        share.

    Returns
    -------
    Panel
        NaN where a measure does not apply: of modes, for a model with one; of goals, without any; of labelled states,
        for models of continuous observations, whose choices change along a session, or with too many histories to be
        forecast from (`forecasts.MAX_MOVES`). F1 is that of the mode which is
        named after the goal (as those of `rewards.Goals` are), else of the mode with the highest.

    Examples
    --------
    >>> from swirl import baselines, datasets
    >>> world = datasets.gridworld(n_sessions=20, n_steps=60)
    >>> train, test = world.trajectories.split(every=4)
    >>> counts = baselines.BackoffMarkov(world.env, order=1).fit(train)
    >>> found = panel({"counts": counts, "truth": world.true_model()}, test, {"corner": 0, "far": 24})
    >>> list(found.sums), list(found.agreement)
    (['score', 'next_goal', 'place_1', 'place_5', 'place_20'], ['f1_corner', 'f1_far', 'runs_ari', 'same_twice'])
    >>> found.value("truth", "place_5") < found.base_rates["place_5"]
    True
    """
    named = _named(models)
    data = as_trajectories(data)
    of = _shared_score(named) if of is None else of
    unknown = [name for name in others or {} if name not in named]
    if unknown:
        raise ValueError(f"others: {', '.join(map(repr, unknown))} is not among the models, {', '.join(named)}")
    places = check_goals(goals, named)
    given = list(goals.values()) if isinstance(goals, Mapping) else list(goals or ())
    aims = [aim if is_choice(aim) else list(place) for aim, place in zip(given, places.values(), strict=True)]
    asked = (SCORE, *([NEXT_GOAL] if len(places) > 1 else []), *(f"place_{k}" for k in AHEAD))
    sums = {measure: np.zeros((len(named), len(data))) for measure in asked}
    steps = {measure: np.zeros((len(named), len(data)), dtype=np.int64) for measure in asked}
    agreement = {measure: np.full(len(named), np.nan) for measure in (*(f"f1_{n}" for n in places), RUNS, TWICE)}
    if not places:
        agreement.pop(RUNS)
    base_rates: dict[str, float] = {}
    with quietly():  # the same for all, and said elsewhere
        for i, (name, model) in enumerate(named.items()):
            sums[SCORE][i] = model.session_scores(data, of=of)
            steps[SCORE][i] = [int(own.sum()) for own in model.scored_steps(data, of=of)]
            for measure, forecast in _forecasts(model, data, aims):
                sums[measure][i], steps[measure][i] = forecast.losses, forecast.steps
                base_rates.setdefault(measure, forecast.base_rate)
            if len(model.initial_modes_) > 1:
                paths = model.predict(data)
                for measure, value in _with_runs(model, data, places, paths):
                    agreement[measure][i] = value
                agreement[TWICE][i] = _alike(paths, (others or {}).get(name, ()), data)
    n_modes = tuple(len(model.initial_modes_) for model in named.values())
    return Panel(of, tuple(named), n_modes, sums, steps, base_rates, agreement, tuple(data.subjects), places)


def same_twice(make_or_model: Any, data: Any, held_out: Any) -> float:
    """Fit a model to each half of the sessions, the even and the odd, and see whether both cut other sessions alike.

    Parameters
    ----------
    make_or_model
        A function that makes an unfitted model, or a model, of which unfitted copies are made.
    data
        Sessions to fit to, two or more.
    held_out
        Sessions that both fits segment.

    Returns
    -------
    float
        Adjusted Rand index of the two segmentations: 1 for the same, 0 on average for unrelated ones. NaN where there
        is nothing to agree on, because each has a single mode throughout.

    Examples
    --------
    >>> from swirl import baselines, datasets
    >>> world = datasets.gridworld(n_sessions=20, n_steps=60)
    >>> train, test = world.trajectories.split(every=4)
    >>> same_twice(baselines.BackoffMarkov(world.env, order=1), train, test)  # it has no modes
    nan
    """
    data = as_trajectories(data)
    if len(data) < 2:
        raise ValueError(f"data have {counted(len(data), 'session')}: two or more are needed to make two halves")
    model = make_or_model
    make: Callable[[], HiddenModeEstimator] = make_or_model
    if isinstance(model, HiddenModeEstimator):
        make = lambda: type(model)(**model.get_params())  # noqa: E731
    with quietly():
        halves = [make().fit(data[i::2]) for i in range(2)]
        return _alike([], halves, as_trajectories(held_out))


# ---------------------------------------------------------------------- what goes into a row


def _named(models: Any) -> dict[str, HiddenModeEstimator]:
    """Fitted models by their names."""
    if isinstance(models, HiddenModeEstimator):
        models = [models]
    given = list(models.items()) if isinstance(models, Mapping) else [(model.label, model) for model in models]
    names = [name for name, _ in given]
    if not given or len(set(names)) < len(names):
        raise ValueError(f"models: expected some with names of their own, got {names}; give a dict of name → model")
    for _, model in given:
        model.check_fitted()
    return dict(given)


def _shared_score(models: Mapping[str, HiddenModeEstimator]) -> Scored:
    """Next states where all models score them, else the first that all share."""
    for of in ("next_state", *WORDS):
        if all(of in model.score_types for model in models.values()):
            return cast(Scored, of)
    raise ValueError("models: they share no score, so that they do not compare; lay those that share one side by side")


def check_goals(
    goals: Mapping[str, Any] | Sequence[Any] | None, models: Mapping[str, HiddenModeEstimator]
) -> dict[str, tuple[int, ...]]:
    """The states of each goal by its name, the given one or that of its first state; models need not be fitted yet.

    >>> from swirl import baselines, datasets
    >>> check_goals([0, [23, 24]], {"counts": baselines.BackoffMarkov(datasets.gridworld_env())})
    {'(0, 0)': (0,), '(4, 3)': (23, 24)}
    """
    if not goals:
        return {}
    env = next((model.world for model in models.values() if isinstance(model.world, MDP)), None)
    if env is None:
        raise ValueError(f"goals={goals!r}: none of the models is of labelled states; leave them out")
    given = list(goals.values()) if isinstance(goals, Mapping) else list(goals)
    check_places(goals, np.asarray(env.available))
    each = [place[0] if is_choice(place) else place for place in given]
    found = [tuple(int(s) for s in np.atleast_1d(np.asarray(place))) for place in each]
    names = (
        list(goals)
        if isinstance(goals, Mapping)
        else [env.state_names[p[0]] if env.state_names else str(p[0]) for p in found]
    )
    return dict(zip(map(str, names), found, strict=True))


def _forecasts(model: HiddenModeEstimator, data: Trajectories, aims: Sequence[Any]) -> Iterator[tuple[str, Forecast]]:
    """The forecasts of a model, where its choices are one table over labelled states."""
    if model.histories is None or model.choice_table() is None:
        return
    discrete = cast(DiscreteEstimator, model)
    if n_moves(discrete) > MAX_MOVES:
        return
    if len(aims) > 1 and (discrete.target == "action" or not any(map(is_choice, aims))):
        yield NEXT_GOAL, goal_forecast(discrete, data, aims)
    for k, forecast in place_forecast(discrete, data, AHEAD).items():
        yield f"place_{k}", forecast


def _with_runs(
    model: HiddenModeEstimator, data: Trajectories, places: Mapping[str, Any], paths: Sequence[Any]
) -> Iterator[tuple[str, float]]:
    """Agreement of a segmentation with direct runs to each place, and with all of them at once."""
    env = model.world
    if not places or env is None or model.histories is None:
        return
    names = list(model.mode_names_ or ())
    for name, place in places.items():
        runs = runs_to(data.states, env, place, gaps=data.gaps)
        if not any(flags.any() for flags in runs):
            continue
        called = {name, f"to {name}", Goals((place,), explores=False).mode_names(env.state_names)[0]}
        own = [mode for mode, mode_name in enumerate(names) if mode_name in called]
        tried = own or range(len(model.initial_modes_))
        yield f"f1_{name}", max(agreement_with_runs(paths, runs, mode)["f1"] for mode in tried)
    labels = run_labels(data.states, env, places, gaps=data.gaps)
    if all(np.all(path == len(places)) for path in labels):  # nothing to agree with
        return
    yield RUNS, agreement_with_labels(paths, labels)["adjusted_rand_index"]


def _alike(paths: Sequence[Any], others: Sequence[Any], data: Trajectories) -> float:
    """Mean adjusted Rand index between every two of the others, or between one and `paths`."""
    found = [other.predict(data) if isinstance(other, HiddenModeEstimator) else other for other in others]
    if len(found) == 1:
        found.append(paths)
    pairs = [
        adjusted_rand_index(one, two)
        for one, two in combinations(found, 2)
        if max(len(np.unique(np.concatenate(segmented))) for segmented in (one, two)) > 1
    ]
    return float(np.mean(pairs)) if pairs else np.nan
