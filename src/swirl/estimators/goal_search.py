"""Goals that were not told: forward selection over all places, each step paid for on held-out sessions.

Start from the habit alone.  Then, again and again: *screen* every place as one more goal (its mode is planned, the
habit stays as it is, only how often the goal is taken up is fitted: a few E-steps each, all candidates side by side),
take the best, and fit the whole model with it.  A goal is kept if it raises the likelihood of sessions that took no
part in choosing it: the search runs by itself on each fold's training sessions, and the gains of its own choices are
added up over the folds' held-out sessions.  It stops where the mean gain of a session is not above its standard error
times `strictness`; then goals that no longer pay beside those found after them are dropped.  Nothing is drawn at
random, so it comes out the same twice.

What a move is called decides what the habit can explain, and what it cannot is taken for goals: an animal that likes
to turn left has no goal, but looks as if it had some to a habit that knows only the compass; so does one that bumps
into the eastern wall again and again, to a habit that takes all walls for one.  So the names of moves and the kinds of
places are chosen first, on the same folds, by the habit alone.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import jax
import numpy as np
from jaxtyping import Array, Float
from scipy.special import log_softmax

from swirl.data.folds import folds
from swirl.data.geometry import has_places
from swirl.data.local_shape import has_bumps, wall_kinds
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.errors import Notice
from swirl.estimators.base import as_trajectories, quietly
from swirl.inference import em
from swirl.inference.engines import choose
from swirl.inference.estep.counts import Chains, Tables
from swirl.inference.mstep import Parameters
from swirl.precision import float64
from swirl.priors import GoalDirected
from swirl.rewards.forms import Goals
from swirl.rewards.goals import GoalsParameters
from swirl.switching import Leaving, UntilReached, build_switching, log_normalise

Model = Any  # a `swirl.SWIRL`, whose fit may call for this search
AT_ONCE = 2**25  # numbers that the tables of the candidates of one batch may hold
ROUNDS = (2, 8)  # EM steps of a screening: of all candidates, then of the best
KEPT = 16  # of them, at least, and one in four
MOST_HABITS = 5
BUMPS = 0.05  # share of steps in place from which on bumping into walls may be a habit
QUICK = {"n_restarts": 1, "max_iter": 40, "tol": 1e-4}  # how the models of a search are fitted
TAKEN_UP = 0.1  # share of new pursuits that a candidate starts with


@dataclass(frozen=True)
class FoundGoal:
    """A goal and what it is worth.

    Attributes
    ----------
    place
        Its states.
    gain, error
        Held-out nats per step that it adds to the goals before it, and the standard error over sessions.
    share
        Of the steps in which it is pursued, in the final model; NaN for one that was refused.
    """

    place: tuple[int, ...]
    gain: float
    error: float
    share: float = np.nan


@dataclass(frozen=True)
class GoalSearch:
    """What `discover_goals` found.

    Attributes
    ----------
    goals
        In the order in which they were found.
    refused
        The goal that came next and did not pay; None where the search ended at `max_goals`.
    alone
        [candidate]: nats per step of the data that each candidate would add as the only goal (not held out): the map.
    candidates
        The places that were tried.
    model
        Fitted to all sessions with the goals that were found; without any, the habit alone.
    by_fold
        For each fold (`data.folds`), the model with goals that were found in, and fitted to, the other folds alone.
    """

    goals: tuple[FoundGoal, ...]
    refused: FoundGoal | None
    alone: Float[np.ndarray, "candidate"]
    candidates: tuple[tuple[int, ...], ...]
    model: Model
    by_fold: tuple[Model, ...] = ()

    @property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """The goals, as `rewards.Goals` takes them (`metrics.panel` takes several states of one goal as a list)."""
        return tuple(goal.place for goal in self.goals)

    def __str__(self) -> str:
        names = self.model.env.state_names
        lines = ["No goal pays: the habit alone predicts held-out sessions as well."] if not self.goals else []
        for rank, goal in enumerate((*self.goals, *((self.refused,) if self.refused else ())), start=1):
            place = " + ".join(names[s] if names else str(s) for s in goal.place)
            worth = f"{goal.gain:+.4f} ± {goal.error:.4f} nats/step held out"
            kept = rank <= len(self.goals)
            lines.append(f"{rank}. {place}: {worth}" + (f", {goal.share:.1%} of steps" if kept else ": does not pay"))
        return "\n".join(lines)


def search_goals(
    like: Model,
    data: Any,
    *,
    candidates: Sequence[Any] | None = None,
    max_goals: int = 6,
    n_folds: int = 3,
    strictness: float = 1.0,
    callback: Callable[[str], Any] | None = None,
    on_fit: Callable[[], Any] | None = None,
) -> GoalSearch:
    """Find the places that an animal walks to: `selection.discover_goals`, for models like one that is given.

    Parameters
    ----------
    like
        Not fitted; its form is `rewards.Goals`, of which places are not read.
    on_fit
        Called after each fit; there are at most `most_fits` of them.
    """
    data, env = as_trajectories(data), like.env
    base = replace(like.reward, places=(), names=())
    if len(data) < n_folds:
        raise ValueError(f"n_folds={n_folds}: the data have {len(data)} sessions; give at most that number")
    listed = range(env.n_states) if candidates is None else candidates
    tried = replace(base, places=tuple(listed)).places
    parts = folds(data, n_folds)
    split = [(data[np.setdiff1d(np.arange(len(data)), part)], data[part]) for part in parts]
    searches = []
    for habit in [base] if base.moves else _habits(env, base, data):
        make = partial(_make, like, habit)
        paths = [_Path(make, tried, *each, on_fit) for each in split]
        searches.append((sum(path.score() for path in paths), make, paths))
    _, make, paths = max(searches, key=lambda search: search[0])
    whole = _Path(make, tried, data, None, on_fit)
    alone: np.ndarray | None = None
    found: list[FoundGoal] = []
    refused = None
    n_steps = sum(len(states) for states in data.states)
    while len(found) < min(max_goals, len(tried)):
        if callback is not None:
            callback(f"goal {len(found) + 1}: {len(tried)} places are tried")
        best, gains = whole.propose()
        alone = gains / n_steps if alone is None else alone
        paid = np.concatenate([path.gain_of_next() for path in paths])
        mean, error = paid.mean(), paid.std(ddof=1) / np.sqrt(len(paid))
        goal = FoundGoal(tried[best], len(data) * mean / n_steps, len(data) * error / n_steps)
        if mean <= strictness * error:
            refused = goal
            break
        found.append(goal)
        whole.add(best)
        for path in paths:
            path.accept()
    for goal in found[:-1] if np.isfinite(strictness) else ():  # one that was found early may pay no more
        if len(found) == 1:
            break
        index = tried.index(goal.place)
        lost = np.concatenate([path.loss_without(index) for path in paths])
        if lost.mean() <= strictness * lost.std(ddof=1) / np.sqrt(len(lost)):
            found.remove(goal)
            for path in (whole, *paths):
                path.drop(index)
    model = whole.finished()
    steps = np.concatenate(model.predict(data))
    shares = {goal.states: float(np.mean(steps == goal.mode)) for goal in model.goals}
    found = [replace(goal, share=shares[tuple(sorted(goal.place))]) for goal in found]
    alone = np.zeros(len(tried)) if alone is None else alone
    return GoalSearch(tuple(found), refused, alone, tried, model, tuple(path.model for path in paths))


def most_fits(n_places: int, max_goals: int, n_folds: int) -> int:
    """How many fits a search makes at most: of its habits, each round, goals that may be dropped, and the last.

    >>> most_fits(36, 6, 3)
    61
    """
    rounds = min(max_goals, n_places)
    dropping = max(0, rounds - 1) * (n_folds + 1)
    return MOST_HABITS * n_folds + 1 + rounds * (n_folds + 1) + dropping + 1


def _habits(env: MDP, base: Goals, data: Trajectories) -> list[Goals]:
    """The habits among which folds choose: what moves are called, and what makes two places alike."""
    codings = ["action", "next", *(["compass"] if has_places(env) else [])]
    found = [replace(base, moves=coding) for coding in codings]
    in_place = np.mean(np.concatenate([path[1:] == path[:-1] for path in data.states]))
    if base.kinds == Goals().kinds and has_bumps(env) and in_place > BUMPS:  # only the walls tell what it bumps into
        walls = {coding: tuple(wall_kinds(env, coding).tolist()) for coding in codings if coding != "next"}
        found += [replace(base, moves=coding, kinds=kinds) for coding, kinds in walls.items()]
    return found


def _make(like: Model, base: Goals, places: Any) -> Model:
    form = replace(base, places=places)
    own = {"n_modes": form.n_modes, "reward": form, "switching": "until-reached"}
    return type(like)(**{**like.get_params(deep=False), **own})


class _Path:
    """One forward selection: on all sessions, or on the training sessions of a fold."""

    def __init__(
        self,
        make: Any,
        tried: tuple,
        train: Trajectories,
        held_out: Trajectories | None,
        on_fit: Callable[[], Any] | None = None,
    ):
        self.make, self.tried, self.train, self.held_out = make, tried, train, held_out
        self.on_fit = on_fit or (lambda: None)
        prior = make(()).reward_prior or GoalDirected()
        self.expected_cost = prior.expected_cost
        self.chosen: list[int] = []
        self.model = self._fitted(())
        self.next = self.fewer = -1, self.model

    def _fitted(self, chosen: Sequence[int]) -> Model:
        """Fit, from where the model without the last goal ended."""
        model = self.make(tuple(self.tried[i] for i in chosen))
        start = None
        if chosen:
            before = self.model.restarts_[0].parameters
            width = np.shape(before.emissions.goals)[1]
            cost = np.full((1, width), np.log(self.expected_cost))
            goals = np.concatenate([np.asarray(before.emissions.goals), cost])
            start = Parameters(_one_more(before.log_initial), _extended(before), before.emissions._replace(goals=goals))
        return self._quiet_fit(model, start)

    def _quiet_fit(self, model: Model, start: Parameters | None) -> Model:
        with warnings.catch_warnings():  # of a search; the model that is kept says its own
            warnings.simplefilter("ignore", Notice)
            fitted = model.fit_to_score(self.train, progress=False, start=start)
        self.on_fit()
        return fitted

    def _held_out(self, model: Model) -> Float[np.ndarray, "session"]:
        with quietly():
            return model.log_likelihood(self.held_out)

    def propose(self) -> tuple[int, Float[np.ndarray, "candidate"]]:
        """The best candidate, and what each would add to the log-likelihood of the training sessions."""
        gains = screen(self.model, self.train, self.tried)
        gains[self.chosen] = -np.inf
        return int(np.argmax(gains)), gains

    def add(self, best: int) -> None:
        """Fit with one more goal."""
        self.chosen.append(best)
        self.model = self._fitted(self.chosen)

    def gain_of_next(self) -> Float[np.ndarray, "session"]:
        """Propose, fit, and score the held-out sessions: what each gains."""
        best, _ = self.propose()
        model = self._fitted([*self.chosen, best])
        self.next = best, model
        return self._held_out(model) - self._held_out(self.model)

    def _without(self, dropped: int) -> Model:
        """Fit without a goal, from where the model with it ended."""
        at = self.chosen.index(dropped)
        model = self.make(tuple(self.tried[i] for i in self.chosen if i != dropped))
        before = self.model.restarts_[0].parameters
        mode = at + 1  # the first explores
        left = [np.delete(np.asarray(x), mode, axis=0) for x in (before.log_initial, *before.switching)]
        emissions = before.emissions._replace(goals=np.delete(np.asarray(before.emissions.goals), mode, axis=0))
        switching = Leaving(left[1], log_softmax(left[2]))
        return self._quiet_fit(model, Parameters(log_softmax(left[0]), switching, emissions))

    def loss_without(self, dropped: int) -> Float[np.ndarray, "session"]:
        """What each held-out session loses without a goal; nothing where this fold did not choose it."""
        now = self._held_out(self.model)
        if dropped not in self.chosen:
            return np.zeros_like(now)
        self.fewer = dropped, self._without(dropped)
        return now - self._held_out(self.fewer[1])

    def drop(self, dropped: int) -> None:
        """Go on without a goal."""
        if dropped in self.chosen:
            self.model = self.fewer[1] if self.fewer[0] == dropped else self._without(dropped)
            self.chosen.remove(dropped)

    def score(self) -> float:
        """Log-likelihood of the held-out sessions."""
        return float(self._held_out(self.model).sum())

    def finished(self) -> Model:
        """The model, taken on to convergence."""
        start = self.model.restarts_[0].parameters
        return self._quiet_fit(self.model.set_params(max_iter=200, tol=1e-6), start)

    def accept(self) -> None:
        """Keep the goal that was proposed."""
        best, self.model = self.next
        self.chosen.append(best)


def screen(model: Model, data: Trajectories, candidates: Sequence[tuple[int, ...]]) -> Float[np.ndarray, "candidate"]:
    """What each place would add to the log-likelihood of the data, as one more goal beside those of a fitted model.

    The habit stays as it is, and a step costs what is expected; how often each goal is taken up and dropped is fitted.
    """
    problem = model.em_problem(data)
    parameters = model.restarts_[model.best_restart_].parameters
    tables = em.hidden_chain(problem.components, parameters)
    now = _evidence(problem.chains, jax.tree.map(lambda leaf: leaf[None], tables))[1][0]
    columns = np.asarray(tables.log_emissions)
    size = max(1, int(AT_ONCE // (columns.size + tables.log_transitions.size + columns.shape[0])))
    gains = np.zeros(len(candidates))
    which = np.arange(len(candidates))
    for rounds in ROUNDS:
        for first in range(0, len(which), size):
            batch = which[first : first + size]
            own = [candidates[i] for i in batch]
            gains[batch] = _screened(model, problem, parameters, columns, own, rounds) - now
        which = np.argsort(-gains, kind="stable")[: max(KEPT, len(candidates) // 4)]
    return gains


def _screened(
    model: Model, problem: Any, parameters: Parameters, columns: np.ndarray, candidates: Sequence[Any], rounds: int
) -> Float[np.ndarray, "candidate"]:
    """Log-likelihood with each candidate of a batch, after a few EM steps of the switching alone."""
    form = replace(cast(Goals, model.reward), places=tuple(candidates), explores=True)
    side_by_side = type(model)(**{**model.get_params(deep=False), "n_modes": form.n_modes, "reward": form})
    component: Any = side_by_side.build_components(problem.context[0])[0].emissions
    cost = np.full(component.features.shape[:2], float(component.expected))
    with float64():
        own = _log_emissions(component, GoalsParameters(parameters.emissions.habit, cost))
        own = np.asarray(own if problem.components.latent is None else problem.components.latent.extend(own))
    n, n_modes = len(candidates), columns.shape[1]
    emissions = np.concatenate([np.broadcast_to(columns, (n, *columns.shape)), own[:, 1:].T[..., None]], axis=-1)
    reached = np.zeros((n, problem.components.switching.reached.shape[0], n_modes + 1), dtype=bool)
    reached[:, :, :n_modes] = problem.components.switching.reached
    for i, place in enumerate(candidates):
        reached[i, list(place), n_modes] = True
    switching = build_switching(
        "until-reached", reached.shape[1], n_modes + 1, model.switching_prior, None, reached[0].T
    )
    leaving = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (n, *np.shape(leaf))), _extended(parameters))
    log_initial = np.broadcast_to(_one_more(parameters.log_initial), (n, n_modes + 1))
    likelihood = np.zeros(n)
    with float64():
        for _ in range(rounds):
            tables = Tables(np.asarray(log_initial), np.asarray(_transitions(reached, leaving, switching)), emissions)
            counts, likelihood = _evidence(problem.chains, tables)
            log_initial, leaving = _improved(reached, leaving, switching, counts.initial, counts.transitions)
    return likelihood


def _extended(parameters: Parameters) -> Leaving:
    """Leaving with one more mode, which lasts until its goal is reached."""
    leave = np.concatenate([np.asarray(parameters.switching.leave), np.log([[[1 - 1e-4, 1e-4], [0.1, 0.9]]])])
    return Leaving(leave, _one_more(parameters.switching.following))


def _one_more(log_shares: Any) -> Float[np.ndarray, "mode"]:
    """Shares with one more mode."""
    return np.append(np.log1p(-TAKEN_UP) + np.asarray(log_shares), np.log(TAKEN_UP))


@jax.jit
def _log_emissions(component: Any, parameters: GoalsParameters) -> Array:
    return component.log_emissions(parameters)


@jax.jit
def _transitions(reached: Array, parameters: Leaving, form: UntilReached) -> Array:
    return jax.vmap(lambda where, p: replace(form, reached=where).log_transitions(p))(reached, parameters)


@jax.jit
def _improved(reached: Array, parameters: Leaving, form: UntilReached, initial: Array, transitions: Array) -> Any:
    better = jax.vmap(lambda where, p, c: replace(form, reached=where).improve(p, c))(reached, parameters, transitions)
    return log_normalise(initial + 1.0), better


def _evidence(chains: Chains, tables: Tables) -> Any:
    """Expected counts and log-likelihood of each row of the tables."""
    counts = choose("auto", chains, tables).counts(tables)
    return counts, np.asarray(counts.log_likelihood)
