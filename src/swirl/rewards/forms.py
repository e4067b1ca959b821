"""The reward forms that a user can ask for, as values: each knows its component, its priors and its size.

A new form is a component (`component.RewardComponent`) in a file of its own, and a class here that stands in `FORMS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, cast

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.histories import Histories
from swirl.data.local_shape import name_moves, place_kinds
from swirl.data.mdp import MDP
from swirl.errors import renamed
from swirl.priors import Adaptive, Cauchy, Dirichlet, Gaussian, GoalDirected, HabitGoals
from swirl.rewards.component import Footprint, ProblemSizes, RewardComponent
from swirl.rewards.goals import GoalsReward, contexts
from swirl.rewards.habit_goals import HabitGoalsReward
from swirl.rewards.parametric import LinearMap, NetworkMap, PlannedRewards, TabularMap, linear_map, network_map
from swirl.rewards.state import StateReward
from swirl.rewards.state_action import StateActionReward
from swirl.text import counted, some

Built = tuple[RewardComponent, Int[np.ndarray, "history"]]
FEW_CONTEXTS = 2_000  # up to here all have a row: then folds of the same data have the same shapes, and compile once


class PolicySettings(NamedTuple):
    """What a policy depends on besides its reward, and where the data have been."""

    discount: float
    temperature: Float[np.ndarray, "mode"]
    visited: Int[np.ndarray, "context"] | None = None
    """Contexts that the data visit, for components that need rows for those only; None: all."""
    env: MDP | None = None
    """For forms that plan on states, or see how places lie (`Goals`)."""


class Priors(NamedTuple):
    """Which priors a form takes."""

    default: Any
    """Where none is given; `priors.Adaptive` where each fit is to choose one."""
    allowed: str
    """In words."""
    allows: Callable[[Any], bool]


class RewardForm(ABC):
    """What an estimator asks of a form."""

    in_config: ClassVar[bool] = True
    """Whether a configuration file can hold it: numbers and words can be written there, arrays cannot."""
    gauges: ClassVar[tuple[str, ...]] = ("fitted", "canonical")
    """Gauges in which its rewards can be told; one only where the policy is not the soft-optimal one of the reward."""
    family: ClassVar[str] = ""
    """What models with this form are called, before their history; empty: as the paper has it (S-2, I-1, …)."""

    @property
    def n_modes(self) -> int | None:
        """The number of modes that a model with this form must have; None: any."""
        return None

    @property
    def to_be_found(self) -> bool:
        """Whether it has goals that the fit has to find."""
        return False

    def with_modes(self, n_modes: int) -> "RewardForm | None":
        """The same form for another number of modes; None where there is none."""
        del n_modes
        return self

    @property
    @abstractmethod
    def priors(self) -> Priors:
        """Which priors it takes, and which where none is given."""

    @abstractmethod
    def build(self, histories: Histories, prior: Any, settings: PolicySettings) -> Built:
        """Make the component, and say which row of its table of choices each history uses.

        Parameters
        ----------
        prior
            One that `priors` allows.
        """

    @abstractmethod
    def footprint(self, sizes: ProblemSizes, /) -> Footprint:
        """The memory that the component adds."""

    def wanted(self, n_states: int, n_modes: int) -> Bool[np.ndarray, "mode state"]:
        """The places where a mode has what it wants, for switching that depends on it: none are known."""
        return np.zeros((n_modes, n_states), dtype=bool)

    def mode_names(self, state_names: tuple[str, ...] | None) -> tuple[str, ...]:
        """What the modes are called, where the form says what each of them is."""
        del state_names
        return ()


def _sums_of_parts(
    histories: Histories, goal_history: int, habit: Gaussian | None, goal: Gaussian, settings: PolicySettings
) -> Built:
    """Values that are sums of parts, with rows for the visited contexts only."""
    visited = settings.visited
    if visited is None or histories.n_contexts <= FEW_CONTEXTS:
        visited = np.arange(histories.n_contexts)
    rows = np.zeros(histories.n_contexts, dtype=np.int64)  # of contexts that are not visited: any, never read
    rows[visited] = np.arange(len(visited))
    component = HabitGoalsReward.build(
        histories,
        min(goal_history, histories.length),
        habit=habit,
        goal=goal,
        discount=settings.discount,
        temperature=settings.temperature,
        rows=visited,
    )
    return component, rows[histories.contexts]


def _planned(
    histories: Histories, rewards: LinearMap | NetworkMap | TabularMap, prior: Gaussian, settings: PolicySettings
) -> Built:
    """Rewards that need planning, a row for each history."""
    planned = PlannedRewards.build(
        histories, rewards, prior, discount=settings.discount, temperature=settings.temperature
    )
    return planned, np.arange(histories.n_histories)


PLANNED = Priors(
    Gaussian(1.0),
    'priors.Gaussian of "reward" or "linearised"',
    lambda prior: isinstance(prior, Gaussian) and prior.of != "value",
)


@dataclass(frozen=True)
class Tabular(RewardForm):
    """A free reward for every history, or for every history and action.

    Parameters
    ----------
    on
        ``"state"``: r(h), as in the paper's experiments. ``"state-action"``: r(h, a), as in its definition.
    solver
        ``"exact"``: through values or policies, no planning. ``"soft-q"``: the paper's own, for ``on="state"``.
    """

    on: Literal["state", "state-action"] = "state"
    solver: Literal["exact", "soft-q"] = "exact"

    def __post_init__(self) -> None:
        if self.on not in ("state", "state-action"):
            raise ValueError(f'on={self.on!r}: expected "state" or "state-action"')
        if self.solver not in ("exact", "soft-q"):
            raise ValueError(f'solver={self.solver!r}: expected "exact" or "soft-q"')
        if self.on == "state-action" and self.solver == "soft-q":
            raise ValueError('solver="soft-q": for on="state-action" the closed form is the same optimum; use "exact"')

    @property
    def priors(self) -> Priors:
        """Dirichlet or normal for r(h, a); for r(h) each fit chooses one, unless it is planned."""
        if self.solver == "soft-q":
            return PLANNED
        kinds = (Dirichlet, Gaussian) if self.on == "state-action" else (Cauchy, Gaussian)
        default = Dirichlet(1.0) if self.on == "state-action" else Adaptive()
        words = " or ".join(f"priors.{kind.__name__}" for kind in kinds)
        return Priors(default, words, lambda prior: isinstance(prior, kinds))

    def build(self, histories: Histories, prior: Any, settings: PolicySettings) -> Built:
        """Make the component of r(h, a), or of r(h) by either solver."""
        if self.on == "state-action":
            free = StateActionReward.build(histories, prior, temperature=settings.temperature)
            return free, np.arange(histories.n_histories)
        if self.solver == "soft-q":
            return _planned(histories, TabularMap(histories.n_histories), prior, settings)
        if isinstance(prior, Gaussian) and prior.of == "value":
            return _sums_of_parts(histories, histories.length, None, prior, settings)
        exact = StateReward.build(histories, prior, discount=settings.discount, temperature=settings.temperature)
        return exact, histories.contexts

    def footprint(self, sizes: ProblemSizes) -> Footprint:
        """The memory that the component adds."""
        if self.solver == "soft-q":
            return PlannedRewards.footprint(sizes, 0)
        return (StateActionReward if self.on == "state-action" else StateReward).footprint(sizes)


Tabular.__init__ = renamed(road="solver")(Tabular.__init__)


@dataclass(frozen=True, eq=False)
class Linear(RewardForm):
    """r = Σ_f w_f · features_f, a weight vector w for each mode.

    Parameters
    ----------
    features
        [state, feature], or [state, action, feature] with ``on="state-action"``, or [history, feature] in the
        order of `histories_` with ``on="history"``.

    Examples
    --------
    >>> Linear(np.eye(3)).on
    'state'
    """

    in_config: ClassVar[bool] = False
    features: Any
    on: Literal["state", "state-action", "history"] = "state"

    def __post_init__(self) -> None:
        features = np.asarray(self.features, dtype=float)
        wanted = 3 if self.on == "state-action" else 2
        if self.on not in ("state", "state-action", "history"):
            raise ValueError(f'on={self.on!r}: expected "state", "state-action" or "history"')
        if features.ndim != wanted or not np.isfinite(features).all():
            raise ValueError(
                f"features has shape {features.shape}: expected {wanted} axes for on={self.on!r}, all entries finite"
            )
        object.__setattr__(self, "features", features)

    @property
    def priors(self) -> Priors:
        """A normal prior on the weights."""
        return PLANNED

    def build(self, histories: Histories, prior: Any, settings: PolicySettings) -> Built:
        """Make the component that plans."""
        return _planned(histories, linear_map(histories, self.features, self.on), prior, settings)

    def footprint(self, sizes: ProblemSizes) -> Footprint:
        """The memory that the component adds."""
        return PlannedRewards.footprint(sizes, self.features[0].size)


@dataclass(frozen=True, eq=False)
class Network(RewardForm):
    """r(h) from one hidden layer of tanh units that see the states of the history.

    The prior is on the weights, ½ λ (‖output‖² + α² ‖input‖²): those inside tanh have no unit, so that only r/α counts.

    Parameters
    ----------
    hidden
        Number of hidden units.
    features
        [state, feature] that the units see of each state; by default each state is a feature of its own.
    """

    hidden: int = 16
    features: Any = None

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise ValueError(f"hidden={self.hidden}: expected at least 1")
        if self.features is not None:
            features = np.asarray(self.features, dtype=float)
            if features.ndim != 2 or not np.isfinite(features).all():
                raise ValueError(f"features has shape {features.shape}: expected [state, feature], all entries finite")
            object.__setattr__(self, "features", features)

    @property
    def priors(self) -> Priors:
        """A normal prior on the weights."""
        return PLANNED

    def build(self, histories: Histories, prior: Any, settings: PolicySettings) -> Built:
        """Make the component that plans."""
        return _planned(histories, network_map(histories, self.features, self.hidden), prior, settings)

    def footprint(self, sizes: ProblemSizes) -> Footprint:
        """The memory that the component adds."""
        return PlannedRewards.footprint(sizes, 9 * self.hidden)


@dataclass(frozen=True)
class Habit(RewardForm):
    """A habit that all modes share, on the whole history, and goals of each mode on a short one; they add in V.

    V_z(h) = habit(h) + goal_z(newest states of h). Where long histories say much about the next step whatever the
    animal wants, the habit learns that from all data together, and a mode has only its goals to learn.

    Parameters
    ----------
    goal_history
        Number of states that a goal sees; 1: a value for each place, 2: for each way into it.
    """

    goal_history: int = 2

    def __post_init__(self) -> None:
        if isinstance(self.goal_history, bool) or not isinstance(self.goal_history, int) or self.goal_history < 1:
            raise ValueError(f"goal_history={self.goal_history!r}: expected a whole number, at least 1")

    @property
    def priors(self) -> Priors:
        """Normal priors on the parts."""
        return Priors(HabitGoals(), "priors.HabitGoals", lambda prior: isinstance(prior, HabitGoals))

    def build(self, histories: Histories, prior: Any, settings: PolicySettings) -> Built:
        """Make the component whose values are sums of parts."""
        return _sums_of_parts(histories, self.goal_history, prior.habit, prior.goal, settings)

    def footprint(self, sizes: ProblemSizes) -> Footprint:
        """The memory that the component adds."""
        return HabitGoalsReward.footprint(sizes)


class Goal(NamedTuple):
    """What a fitted mode walks to."""

    mode: int
    states: tuple[int, ...]
    """A place, or the places of a region."""
    cost: float | None
    """Of a step on the way, in units of the temperature: the higher, the straighter; None where goals do not absorb."""
    expected_cost: float | None
    """What the prior expected it to be."""


@dataclass(frozen=True)
class Goals(RewardForm):
    """Goal-directed modes: each walks, by soft planning, to places that it wants; one mode explores.

    All modes share one habit, which does not know the place: it sees the kind of place and the last L − 1 moves
    (``history=L``). So what depends on the place has to be explained by goals. The number of modes is that of the
    goals, and one for exploring: without goals there is the habit alone. With ``switching="until-reached"`` a goal is
    pursued until it is reached.

    Parameters
    ----------
    places
        The goal of each mode: a state, or several that are one goal (a region); with names, ``{"water": 116}``. None:
        the fit finds them (`selection.discover_goals`), so many as there are modes for, or as pay (``n_modes="auto"``).
    kinds
        [state]: the kind of each place, as the habit sees it. A number instead: how far around it two places must
        look alike to be of one kind (`data.local_shape.place_kinds`).
    moves
        What a move is called: ``"next"`` by the kind of place it leads to, ``"compass"`` by its direction, ``"action"``
        by the action's number (`data.local_shape.name_moves`). None: compass where places have coordinates, else
        action.
    place_history
        Newest states that the habit does know, under the strong prior `GoalDirected.place`; 0: none. At most the
        model's `history`.
    absorbing
        Whether a goal ends the walk that is planned. False: a free reward in each place, got each time.
    explores
        Whether there is a mode without goal.
    names
        What the goals are called, in their order; by default after their first state.

    Examples
    --------
    >>> Goals((116, 0)).n_modes
    3
    >>> Goals({"water": 116, "home": [0, 1]}).mode_names(None)
    ('explore', 'to water', 'to home')
    """

    gauges: ClassVar[tuple[str, ...]] = ("fitted",)
    family: ClassVar[str] = "Goals"
    places: Any = ()
    kinds: Any = 1
    moves: str | None = None
    place_history: int = 0
    absorbing: bool = True
    explores: bool = True
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.places, Mapping):
            pair = next((p for p in self.places.values() if isinstance(p, tuple) and len(p) == 2), None)
            if pair is not None:
                raise ValueError(
                    f"places={self.places!r}: {pair} would be an action in a state, and a goal is a place; for several "
                    f"states of one goal give a list, {list(pair)}"
                )
            object.__setattr__(self, "names", tuple(map(str, self.places)))
            object.__setattr__(self, "places", tuple(self.places.values()))
        self._check_habit()
        if self.places is None:
            if not (self.explores and self.absorbing) or self.names:
                raise ValueError(
                    "places=None: goals that the fit finds have no names, end the walk (absorbing=True), and "
                    "one mode explores (explores=True)"
                )
            return
        # Files hold numbers as floats.
        listed: list[tuple[Any, ...]] = [(p,) if isinstance(p, Real) else tuple(p) for p in self.places]
        if not all(listed) or any(s < 0 or s != int(s) for place in listed for s in place):
            raise ValueError(f"places={self.places!r}: expected for each goal a state, or one or more states")
        found = tuple(tuple(int(s) for s in place) for place in listed)
        object.__setattr__(self, "places", found)
        object.__setattr__(self, "names", tuple(map(str, self.names)))
        if self.names and len(self.names) != len(found):
            raise ValueError(f"names={self.names!r}: expected {counted(len(found), 'name')}, one for each goal")
        if self.n_modes < 1:
            raise ValueError("explores=False: without a goal and without exploring there is no mode; give places")

    def _check_habit(self) -> None:
        if not isinstance(self.kinds, Real):
            object.__setattr__(self, "kinds", tuple(int(kind) for kind in self.kinds))
        elif self.kinds < 0:
            raise ValueError(f"kinds={self.kinds!r}: expected a distance of at least 0, or the kind of each state")
        known = self.place_history
        if isinstance(known, bool) or not isinstance(known, Integral) or known < 0:
            raise ValueError(f"place_history={known!r}: expected a whole number, at least 0 (0: no place is known)")

    @property
    def n_modes(self) -> int:
        """One for each goal, and one for exploring; of goals that are not found yet, that one alone."""
        return len(self.places or ()) + self.explores

    @property
    def to_be_found(self) -> bool:
        """Whether places are not given."""
        return self.places is None

    def with_modes(self, n_modes: int) -> "Goals | None":
        """The habit alone, for one mode; for other numbers nothing says which goals, unless they are to be found.

        >>> Goals((116, 0), kinds=2).with_modes(1), Goals((116, 0)).with_modes(2)
        (Goals(places=(), kinds=2, moves=None, place_history=0, absorbing=True, explores=True, names=()), None)
        """
        if n_modes == self.n_modes and self.places is not None:
            return self
        if n_modes == 1:
            return replace(self, places=(), names=(), explores=True)
        return self if self.places is None else None

    @property
    def priors(self) -> Priors:
        """Normal priors on the habit and the goals."""
        return Priors(GoalDirected(), "priors.GoalDirected", lambda prior: isinstance(prior, GoalDirected))

    def wanted(self, n_states: int, n_modes: int) -> Bool[np.ndarray, "mode state"]:
        """The places that each mode wants; the exploring mode is the first."""
        if self.places is None:
            raise ValueError("rewards.Goals: places are not found yet: fit the model, or give them")
        if n_modes != self.n_modes:
            explore = " and the exploring mode" if self.explores else ""
            raise ValueError(
                f"n_modes={n_modes}: {counted(len(self.places), 'goal')}{explore} make {self.n_modes}; give that number"
            )
        beyond = sorted({s for place in self.places for s in place if s >= n_states})
        if beyond:
            raise ValueError(f"rewards.Goals: places hold {some(beyond)}, but the environment has {n_states} states")
        wanted = np.zeros((n_modes, n_states), dtype=bool)
        for mode, place in enumerate(self.places, start=int(self.explores)):
            wanted[mode, list(place)] = True
        return wanted

    def mode_names(self, state_names: tuple[str, ...] | None) -> tuple[str, ...]:
        """The goal of each mode by its name, else "to 116"; of a region, its first place.

        >>> Goals((116, (0, 3))).mode_names(None)
        ('explore', 'to 116', 'to 0 …')
        """
        named = [f"to {name}" for name in self.names] or [
            f"to {state_names[place[0]] if state_names else place[0]}{' …' if len(place) > 1 else ''}"
            for place in self.places or ()
        ]
        return (*(["explore"] if self.explores else []), *named)

    def build(self, histories: Histories, prior: Any, settings: PolicySettings) -> Built:
        """Make the component that plans on states and adds the habit."""
        env = cast(MDP, settings.env)
        if self.place_history > histories.length:
            raise ValueError(
                f"rewards.Goals: place_history={self.place_history}: expected at most history={histories.length}, the "
                "states that the model sees; give a smaller one, or a longer history"
            )
        if isinstance(self.kinds, tuple) and len(self.kinds) != env.n_states:
            raise ValueError(
                f"rewards.Goals: kinds has {len(self.kinds)} entries, but the environment has {env.n_states} states"
            )
        kinds = np.asarray(self.kinds) if isinstance(self.kinds, tuple) else place_kinds(env, int(self.kinds))
        known = contexts(histories, kinds, name_moves(env, kinds, self.moves), self.place_history)
        component = GoalsReward.build(
            histories,
            env.successors,
            known,
            self.wanted(env.n_states, len(settings.temperature)),
            prior,
            absorbing=self.absorbing,
            discount=settings.discount,
            temperature=settings.temperature,
        )
        return component, known.rows

    def footprint(self, sizes: ProblemSizes) -> Footprint:
        """The memory that the component adds."""
        return GoalsReward.footprint(sizes)


FORMS: tuple[type[RewardForm], ...] = (Habit, Goals, Tabular, Linear, Network)
"""Every form, for files and configurations."""


def resolve_form(reward: str | RewardForm) -> RewardForm:
    """Turn a shorthand into a form.

    >>> resolve_form("state-action")
    Tabular(on='state-action', solver='exact')
    """
    if isinstance(reward, RewardForm):
        return reward
    if isinstance(reward, str) and reward in ("state", "state-action"):
        return Tabular(reward)
    raise ValueError(
        f'reward={reward!r}: expected "state", "state-action", rewards.Linear(features), rewards.Network(hidden), '
        "rewards.Habit(goal_history) or rewards.Goals(places)"
    )
