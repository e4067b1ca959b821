"""Habit or goal: does anything in a recording speak for goals, beyond what a habit does as well?

A habit that knows the places can run to the water: whatever an animal does from here, a table of (last states → next
move) may say too.  What it cannot say is *which* of several goals is being pursued, where the last states do not tell.
So two families of models are compared on held-out sessions, tuned alike:

- *without modes*: counts of what followed the last states (`BackoffMarkov`, its memory chosen on folds), and the habit
  of `rewards.Goals` with whatever it may know of moves and places (`SETTINGS`);
- *with goals*: the same habit, with the same settings, and the goals that `discover_goals` found (or was given).

Goals are found by each fold's own training sessions, and settings are chosen by the other folds, so no session has a
part in what it is scored with.  The verdict (`HabitOrGoal.verdict`):

- *evidence for goals*: with goals the next step is predicted better, and so is the place five steps ahead (95 %
  intervals, paired by session), and which goal is reached next no worse;
- *a description only*: goals pay beside a habit that does not know the place, but not beside one that does;
- *no sign of goals*: none pays even beside the plain habit.

The next step alone would mislead: where sessions are few, goals are the shorter description of a habit that once grew
from goals, and predict its next step better than a table can.  But they say no more than it about where it will be.

Beside it stands a check that needs no goals: how often the animals come *straight* to each place, from four or more and
from eight or more steps away, in the recording and in sessions that either family makes up (`RunChecks`).

`studies/habit_or_goal.py` has how often the verdict is right where the truth is known.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Float, Int

from swirl.analysis.behaviour import distances, straight_steps
from swirl.analysis.goal_discovery import GoalSearch, discover_goals
from swirl.analysis.panel import NEXT_GOAL, SCORE, Panel, panel, title
from swirl.analysis.predictive_checks import simulated_like
from swirl.analysis.significance import LEVEL, max_corrected, strays
from swirl.analysis.tasks import Pace, Progress
from swirl.data.folds import folds
from swirl.data.mdp import MDP
from swirl.data.passages import check_passages
from swirl.data.segments import split_at_gaps
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import as_trajectories, quietly
from swirl.estimators.discrete import DiscreteEstimator
from swirl.estimators.goal_search import most_fits
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.swirl import SWIRL
from swirl.priors import Gaussian, GoalDirected
from swirl.rewards.forms import Goals
from swirl.text import counted, some

__all__ = ["HabitOrGoal", "RunChecks", "Setting", "habit_or_goal"]

EVIDENCE, DESCRIPTION, NONE = "evidence for goals", "a description only", "no sign of goals"
WITHOUT, WITH = "without modes", "with goals"
AHEAD = "place_5"  # where it is going, whatever it may want
LENGTHS = (4, 8)  # steps from which an animal may come straight to a place
ARRIVALS = 20  # at a place, fewer of which say nothing of how it is come to
N_DRAWS = 39  # simulated recordings: the fewest that can give p = 0.05


class Setting(NamedTuple):
    """What a habit may know: of moves, and of places."""

    history: int
    place_history: int
    strength: float
    """Of the prior on what it knows of places; the weaker, the more like counts."""


SETTINGS = (
    Setting(2, 0, 300.0),
    Setting(3, 0, 300.0),
    Setting(2, 1, 3.0),
    Setting(2, 2, 10.0),
    Setting(2, 2, 1.0),
    Setting(3, 3, 3.0),
)


def judge(gains: Mapping[str, Sequence[float]]) -> str:
    """The verdict, where there are goals: from what they gain by each measure, and its interval.

    >>> judge({"score": (0.02, 0.01, 0.03), "place_5": (0.05, 0.03, 0.07)})
    'evidence for goals'
    >>> judge({"score": (0.02, 0.01, 0.03), "place_5": (0.01, -0.01, 0.03)})
    'a description only'
    """
    ahead = gains[SCORE][1] > 0 and gains[AHEAD][1] > 0
    behind = NEXT_GOAL in gains and gains[NEXT_GOAL][2] < 0
    return EVIDENCE if ahead and not behind else DESCRIPTION


@dataclass(frozen=True)
class RunChecks:
    """How often a place is come to straight, in a recording and in simulated ones.

    Attributes
    ----------
    places
        Those with twenty arrivals or more.
    real
        [place, length]: share of its arrivals that came straight from 4 or more, 8 or more steps away.
    simulated
        [draw, place, length]: the same in sessions that a model made up.
    p_values
        [place, length], corrected for all places and lengths together.
    """

    places: Int[np.ndarray, "place"]
    real: Float[np.ndarray, "place length"]
    simulated: Float[np.ndarray, "draw place length"]
    p_values: Float[np.ndarray, "place length"]

    @property
    def strays(self) -> Int[np.ndarray, "_"]:
        """The places that the animals come to more, or less, straight than the model does (corrected p ≤ 0.05)."""
        return self.places[(self.p_values <= LEVEL).any(axis=1)]

    @property
    def overall(self) -> tuple[tuple[float, float, float, float], ...]:
        """For each length, the mean over places: in the recording, and the simulations' 2.5 %, 50 %, 97.5 %."""
        drawn = np.nanmean(self.simulated, axis=1)
        return tuple(
            (float(np.mean(self.real[:, i])), *np.quantile(drawn[:, i], [0.025, 0.5, 0.975]).tolist())
            for i in range(len(LENGTHS))
        )


@dataclass(frozen=True)
class HabitOrGoal:
    """What `habit_or_goal` found; print it.

    Attributes
    ----------
    search
        The goals, and what each is worth beside the plain habit.
    panel
        Held-out measures of the best model without modes and of the best with goals, side by side; None where no goal
        was found.
    chosen
        For each family, the setting of each fold; None stands for counts.
    models
        For each family, the model of the setting that does best over all folds, fitted to all sessions.
    runs
        For each family, `RunChecks`; empty where they were not asked for.
    env
        Where it happened.
    blocked
        For each goal, the corridor whose closing would tell, as (from, to): the most walked of those on a shortest way
        to it that can be walked around; None where there is none.
    still_learns
        What the model without modes gains in the next step when it is fitted to all training sessions of a fold instead
        of half of them, in nats: about what it would gain from twice as many.
    remarks
        What speaks against the environment (`environments.check_passages`): with a wrong one the verdict is void.
    """

    search: GoalSearch
    panel: Panel | None
    chosen: dict[str, tuple[Setting | None, ...]]
    models: dict[str, DiscreteEstimator]
    runs: dict[str, RunChecks]
    env: MDP
    blocked: tuple[tuple[int, int] | None, ...] = ()
    still_learns: float = 0.0
    remarks: tuple[str, ...] = ()

    def gain(self, measure: str) -> tuple[float, float, float]:
        """What goals gain over the best model without modes, in nats per step, and its 95 % interval: more is better.

        NaN where there is no goal.
        """
        if self.panel is None:
            return np.nan, np.nan, np.nan
        gain, low, high = self.panel.difference(WITH, measure, WITHOUT)
        return (gain, low, high) if measure == SCORE else (-gain, -high, -low)

    @property
    def verdict(self) -> str:
        """*evidence for goals*, *a description only* or *no sign of goals* (see the top of this module)."""
        if self.panel is None:
            return NONE
        return judge({measure: self.gain(measure) for measure in self.panel.sums})

    @property
    def few(self) -> bool:
        """Whether the evidence may be one of too few sessions: goals gain less than twice `still_learns`."""
        return self.verdict == EVIDENCE and not self.gain(SCORE)[0] > 2 * self.still_learns

    @property
    def model(self) -> SWIRL | None:
        """The model with goals that does best over the folds, fitted to all sessions; None where no goal was found."""
        return cast(Any, self.models.get(WITH))

    def facts(self) -> dict[str, Any]:
        """Everything that is said, as plain numbers and words."""
        goals = [
            {"states": list(g.place), "gain": g.gain, "standard_error": g.error, "share": g.share}
            for g in self.search.goals
        ]
        told = {} if self.panel is None else {name: self.gain(name) for name in self.panel.sums}
        measures = {name: dict(zip(("gain", "low", "high"), gain, strict=True)) for name, gain in told.items()}
        runs = {
            name: {"places": len(check.places), "otherwise": check.strays.tolist()} for name, check in self.runs.items()
        }
        settings = {name: list(map(_worded, own)) for name, own in self.chosen.items()}
        found = {
            "verdict": self.verdict,
            "few_sessions": self.few,
            "goals": goals,
            "gains": measures,
            "settings": settings,
            "runs": runs,
        }
        return found | {"experiment": self.experiment, "remarks": list(self.remarks)}

    @property
    def experiment(self) -> str:
        """What would tell a habit from goals."""
        if not self.search.goals:
            return (
                "What would decide: put something that the animal wants at a place, and see if it is then found as "
                "a goal."
            )
        ways = []
        for place, way in zip(self.search.places, self.blocked, strict=True):
            if way is not None:
                ways.append(
                    f"close the way from {self._name(way[0])} to {self._name(way[1])} (towards {self._of(place)})"
                )
        said = [*ways[:2], f"move what is at {self._of(self.search.places[0])}", "let the animal have its fill of it"]
        return (
            f"What would decide: {'; or '.join(said)}. A habit continues as before; a goal is reached by the new way. "
            "Score sessions after the change with model.transfer(env2), and compare with the counts from before."
        )

    def _name(self, state: int) -> str:
        return self.env.state_names[state] if self.env.state_names else str(state)

    def _of(self, place: Sequence[int]) -> str:
        return " + ".join(map(self._name, place))

    def __str__(self) -> str:
        lines = [f"Beware: {remark}\n" for remark in self.remarks]
        lines += [f"Habit or goal? {self.verdict[0].upper()}{self.verdict[1:]}.", "", str(self.search), ""]
        if self.panel is not None:
            for measure in (SCORE, AHEAD, *([NEXT_GOAL] if NEXT_GOAL in self.panel.sums else [])):
                gain, low, high = self.gain(measure)
                values = [f"{name} {self.panel.value(name, measure):.4f}" for name in (WITHOUT, WITH)]
                interval = f"{gain:+.4f} ({low:+.4f} to {high:+.4f}) nats"
                lines.append(f"{title(measure)}: {', '.join(values)}; goals gain {interval}")
            if self.few:
                lines.append(
                    f"but the sessions are few: from half of them to all, the model without modes gains "
                    f"{self.still_learns:+.4f} nats; a lead of less than twice that may vanish with more of them"
                )
            for name, settings in self.chosen.items():
                lines.append(f"best {name}: {' / '.join(dict.fromkeys(map(_worded, settings)))}")
        for name, check in self.runs.items():
            told = [
                f"{real:.1%} from {n} steps or more (simulated {low:.1%} to {high:.1%})"
                for n, (real, low, _, high) in zip(LENGTHS, check.overall, strict=True)
            ]
            apart = [self._name(int(s)) for s in check.strays]
            otherwise = f"{len(apart)} of {counted(len(check.places), 'place')} otherwise than simulated"
            lines.append(f"straight arrivals, {name}: {', '.join(told)}; {otherwise}{': ' * bool(apart)}{some(apart)}")
        return "\n".join([*lines, "", self.experiment])


def habit_or_goal(
    data: Any,
    env: MDP,
    goals: Sequence[Any] | None = None,
    *,
    n_folds: int = 3,
    form: Goals | None = None,
    settings: Sequence[Setting] = SETTINGS,
    max_goals: int = 6,
    runs: bool = True,
    random_state: int = 0,
    callback: Callable[[str], Any] | None = None,
    progress: Callable[[Progress], Any] | None = None,
    **options: Any,
) -> HabitOrGoal:
    """Say whether a recording speaks for goals, or whether a habit does as well.

    Parameters
    ----------
    data
        Training sessions: everything is chosen and scored on folds of them.
    goals
        Places that may be goals, each a state or several; None: every place.
    n_folds
        Folds of whole animals where several are known, else of whole sessions.
    form
        `rewards.Goals` without places, as for `discover_goals`.
    settings
        What the habit may know; those of both families.
    max_goals
        Most goals that are looked for.
    runs
        Whether to check, by simulation, how straight each place is come to.
    random_state
        Of those simulations; nothing else is drawn at random.
    callback
        Called with a few words on what is fitted next.
    progress
        Called with a `tasks.Progress` at the start and after each fit: how many are made, and how long the rest will
        take at most. A search ends when a goal no longer pays, mostly long before all fits that it may make.
    options
        Of `swirl.SWIRL`, such as ``discount=0.9``.

    Examples
    --------
    >>> from swirl import datasets
    >>> walks = datasets.random_walk(datasets.gridworld_env(), n_sessions=6, n_steps=60)
    >>> print(habit_or_goal(walks.trajectories, walks.env, [0, 24], runs=False).verdict)  # takes some seconds
    no sign of goals
    """
    data = as_trajectories(data)
    if len(data) >= n_folds and min(len(data) - len(part) for part in folds(data, n_folds)) < 2:
        raise ValueError(  # said now, not after minutes: the model without modes chooses its order on folds of its own
            f"data have {counted(len(data), 'session')}, of which a fold leaves one to fit to: two or more are needed "
            "there, as the model without modes is tuned on sessions held out of them; give more sessions"
        )
    n_places = env.n_states if goals is None else len(goals)
    in_search, later = most_fits(n_places, max_goals, n_folds), (1 + 2 * len(settings)) * n_folds + 2
    pace = Pace(in_search + later, at_most=True)

    def fitted_one() -> None:
        told = pace.did()
        if progress is not None:
            progress(told)

    if progress is not None:
        progress(pace.progress)
    search = discover_goals(
        data, env, candidates=goals, max_goals=max_goals, n_folds=n_folds, form=form, callback=callback,
        on_fit=fitted_one, **options,
    )  # fmt: skip
    pace.more(pace.ended - in_search)  # those that the search did not need
    of = search.model.score_type_of(data)
    split = [(data[np.setdiff1d(np.arange(len(data)), part)], data[part]) for part in folds(data, n_folds)]
    tried: dict[str, list[Setting | None]] = {WITHOUT: [None, *settings]}
    if search.goals:
        tried[WITH] = [*settings]
    else:
        pace.more(-len(settings) * n_folds - 1)
    pace.at_most = False
    best: dict[str, list[DiscreteEstimator]] = {}
    chosen: dict[str, tuple[Setting | None, ...]] = {}
    models: dict[str, DiscreteEstimator] = {}
    for family, listed in tried.items():
        fitted: list[list[DiscreteEstimator]] = []
        for number, (train, _) in enumerate(split):
            fitted.append([])
            for setting in listed:
                if callback is not None:
                    callback(f"{family}, fold {number + 1} of {n_folds}: {_worded(setting)}")
                fitted[-1].append(_fitted(search.by_fold[number], family == WITH, setting, train, options))
                fitted_one()
        with quietly():
            scores = np.array(
                [
                    [model.session_scores(held, of=of).sum() for model in row]
                    for row, (_, held) in zip(fitted, split, strict=True)
                ]
            )  # [fold, candidate]
        picked = (scores.sum(axis=0) - scores).argmax(axis=1)  # by the other folds
        best[family] = [row[i] for row, i in zip(fitted, picked, strict=True)]
        chosen[family] = tuple(listed[i] for i in picked)
        taken, ends = listed[scores.sum(axis=0).argmax()], {"max_iter": 200, "tol": 1e-6, **options}
        models[family] = _fitted(search.model, family == WITH, taken, data, ends)
        fitted_one()
    found, still_learns = None, 0.0
    if search.goals:
        with quietly():
            gained = 0.0
            for setting, model, like, (train, held) in zip(
                chosen[WITHOUT], best[WITHOUT], search.by_fold, split, strict=True
            ):
                half = _fitted(like, False, setting, train[::2], options)
                gained += float((model.session_scores(held, of=of) - half.session_scores(held, of=of)).sum())
        parts = []
        for number, (_, held) in enumerate(split):
            pair = {name: best[name][number] for name in (WITHOUT, WITH)}
            places = [list(goal.states) for goal in cast(SWIRL, pair[WITH]).goals]
            parts.append(panel(pair, held, places if len(places) > 1 else None, of=of))
        found = _joined(parts)
        still_learns = gained / float(found.steps[SCORE][0].sum())
    checks = {}
    if runs:
        if callback is not None:
            callback("sessions are made up, for how straight places are come to")
        checks = {name: _run_checks(data, env, split, own, random_state) for name, own in best.items()}
    ways = tuple(corridor(data, env, place) for place in search.places)
    odd = check_passages(data, env).remarks
    return HabitOrGoal(search, found, chosen, models, checks, env, ways, still_learns, odd)


def _worded(setting: Setting | None) -> str:
    if setting is None:
        return "counts"
    moves = counted(setting.history - 1, "move")
    if not setting.place_history:
        return f"habit of {moves}"
    return f"habit of {moves} and {counted(setting.place_history, 'place')} (prior {setting.strength:g})"


def _model(like: SWIRL, with_goals: bool, setting: Setting | None, options: dict[str, Any]) -> Any:
    """Counts, or the habit of a setting, with the goals of a model of the search or without; not fitted."""
    if setting is None:
        given = {name: options[name] for name in ("target", "impossible") if name in options}
        return BackoffMarkov(like.env, **given)
    form = replace(cast(Goals, like.reward), place_history=setting.place_history)
    form = form if with_goals else replace(form, places=())
    prior = cast(GoalDirected, like.reward_prior or GoalDirected())
    prior = replace(prior, place=Gaussian(setting.strength, backoff=prior.place.backoff))
    general = {**like.get_params(deep=False), "max_iter": 40, "tol": 1e-4, **options}
    own = {"n_modes": form.n_modes, "reward": form, "reward_prior": prior, "history": setting.history}
    return SWIRL(**{**general, **own})


def _fitted(
    like: SWIRL, with_goals: bool, setting: Setting | None, train: Trajectories, options: dict[str, Any]
) -> DiscreteEstimator:
    """`_model`, fitted."""
    model = _model(like, with_goals, setting, options)
    with quietly():
        return model.fit(train) if setting is None else model.fit(train, progress=False, compare_restarts=False)


def _joined(parts: Sequence[Panel]) -> Panel:
    """The panels of the folds as one, session by session; F1 and so on are of single folds, and are left out."""
    measures = list(dict.fromkeys(measure for part in parts for measure in part.sums))
    sums, steps = {}, {}
    for measure in measures:
        nothing = [np.zeros((2, len(part.subjects)), dtype=np.int64) for part in parts]
        pairs = list(zip(parts, nothing, strict=True))
        sums[measure] = np.concatenate([part.sums.get(measure, zero.astype(float)) for part, zero in pairs], axis=1)
        steps[measure] = np.concatenate([part.steps.get(measure, zero) for part, zero in pairs], axis=1)
    n_modes = max(part.modes[1] for part in parts)
    subjects = tuple(subject for part in parts for subject in part.subjects)
    return Panel(parts[0].of, (WITHOUT, WITH), (1, n_modes), sums, steps, subjects=subjects)


def _straight(
    states: Sequence[Any], gaps: Sequence[Any] | None, apart: Int[np.ndarray, "state state"]
) -> tuple[Int[np.ndarray, "state"], Int[np.ndarray, "state length"]]:
    """Arrivals at each place, and how many of them came straight from so many steps away."""
    n = len(apart)
    arrivals, straight = np.zeros(n, dtype=np.int64), np.zeros((n, len(LENGTHS)), dtype=np.int64)
    for path in split_at_gaps(states, gaps):
        path = np.asarray(path)
        came = np.append(False, path[1:] != path[:-1])
        steps = straight_steps(path, apart, max(LENGTHS))
        arrivals += np.bincount(path[came], minlength=n)
        for i, length in enumerate(LENGTHS):
            straight[:, i] += np.bincount(path[came & (steps >= length)], minlength=n)
    return arrivals, straight


def _run_checks(
    data: Trajectories, env: MDP, split: Sequence[Any], models: Sequence[DiscreteEstimator], random_state: int
) -> RunChecks:
    """Each fold's model makes up the sessions that it was not fitted to."""
    apart = np.stack([distances(env, place) for place in range(env.n_states)], axis=1)
    arrivals, straight = _straight(data.states, data.gaps, apart)
    places = np.flatnonzero(arrivals >= ARRIVALS)
    real = straight[places] / arrivals[places, None]
    drawn = []
    for seed in np.random.SeedSequence(random_state).generate_state(N_DRAWS):
        total = np.zeros(env.n_states, dtype=np.int64), np.zeros((env.n_states, len(LENGTHS)), dtype=np.int64)
        for (_, held), model in zip(split, models, strict=True):
            made_up = simulated_like(model, held, int(seed))
            own = _straight(made_up.states, made_up.gaps, apart)
            total = total[0] + own[0], total[1] + own[1]
        with np.errstate(invalid="ignore"):
            drawn.append(total[1][places] / total[0][places, None])
    simulated = np.array(drawn)
    values = np.concatenate([real[None], simulated]).reshape(1 + N_DRAWS, -1)
    p_values = max_corrected(strays(values)).reshape(real.shape) if len(places) else np.zeros(real.shape)
    return RunChecks(places, real, simulated, p_values)


def corridor(data: Trajectories, env: MDP, place: Sequence[int]) -> tuple[int, int] | None:
    """The most walked move on a shortest way to a place that can be walked around, if it is closed in both directions.

    >>> ring = MDP.deterministic([[1, 3], [2, 0], [3, 1], [0, 2]])
    >>> corridor(Trajectories([[2, 1, 0, 1, 2, 1, 0]]), ring, [0])
    (2, 1)
    """
    away = distances(env, np.asarray(place))
    start, _, stop, _ = env.successors.moves()
    steps = np.concatenate([np.column_stack([p[:-1], p[1:]]) for p in split_at_gaps(data.states, data.gaps)])
    ways, walked = np.unique(steps, axis=0, return_counts=True)
    for i in np.argsort(-walked, kind="stable"):
        one, two = (int(s) for s in ways[i])
        if away[two] != away[one] - 1 or away[two] == 0:
            continue
        left = ~(((start == one) & (stop == two)) | ((start == two) & (stop == one)))
        reached = np.isin(np.arange(env.n_states), place)
        while True:
            more = reached.copy()
            more[start[left & reached[stop]]] = True
            if np.array_equal(more, reached):
                break
            reached = more
        if reached[one]:
            return one, two
    return None
