"""SWIRL: hidden modes, each with a reward and the soft-optimal policy of that reward (paper §3)."""

from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, cast

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.encoding import Impossible, encode
from swirl.data.folds import max_folds
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.streamed import StreamedTrajectories
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults, renamed
from swirl.estimators.discrete import (
    DiscreteEstimator,
    action_chains,
    chains_of,
    check_env,
    surveyed,
)
from swirl.estimators.em_estimator import (
    EMEstimator,
    Problem,
    note_discount,
    note_temperature,
    temperatures,
    whole_number,
)
from swirl.estimators.prior_choice import prior_scores
from swirl.inference.checkpoint import Checkpoint
from swirl.inference.estep.counts import Tables
from swirl.inference.mode_matching import match_by_distance
from swirl.inference.mstep import Components
from swirl.inference.online_filter import OnlineFilter
from swirl.priors import Adaptive, Bouts, Cauchy, Dirichlet, Gaussian, GoalDirected, HabitGoals, in_units
from swirl.rewards.component import RewardComponent
from swirl.rewards.forms import Goal, Goals, PolicySettings, RewardForm, resolve_form
from swirl.rewards.gauge import GaugeTooLargeError, canonical
from swirl.rewards.soft_q import soft_optimal_log_policies
from swirl.rewards.tables import group_mean, to_dense
from swirl.switching import Fixed, build_switching
from swirl.text import counted


def to_xarray(model: Any) -> Any:
    """Label what was fitted: ``model.to_xarray().policies.sel(mode=0, action="stay")``.

    Dimensions are mode, history, action, state, next_mode and lag; `histories` gives the states of each history,
    newest first (−1 before the start).

    Examples
    --------
    >>> from swirl import SWIRL
    >>> from swirl.datasets import gridworld
    >>> data = gridworld(n_sessions=4, n_steps=30)
    >>> t = data.truth
    >>> truth = SWIRL.from_parameters(data.env, history=2, rewards=t.rewards,
    ...     mode_transitions=t.mode_transitions, initial_modes=t.initial_modes)
    >>> dict(to_xarray(truth).policies.sel(action="stay").sizes)
    {'mode': 2, 'history': 130}
    """
    import xarray

    model.check_fitted()
    env = model.env
    arrays: dict[str, tuple[tuple[str, ...], Any]] = {
        "rewards": (("mode", "history", "action")[: model.rewards_.ndim], model.rewards_),
        "reward_map": (("mode", "state"), model.reward_map()),
        "policies": (("mode", "history", "action"), model.policies_),
        "mode_transitions": (("state", "mode", "next_mode"), model.mode_transitions_),
        "initial_modes": (("mode",), model.initial_modes_),
        "initial_states": (("state",), model.initial_states_),
        "histories": (("history", "lag"), model.histories_),
    }
    optional = {"occupancy": "mode", "uninformed": "history", "objective_trace": "iteration"}
    for name, dimension in optional.items():
        if (value := getattr(model, f"{name}_", None)) is not None:
            arrays[name] = ((dimension,), value)
    modes = np.arange(len(model.initial_modes_))
    coordinates: dict[str, Any] = {"mode": modes, "next_mode": modes, "lag": np.arange(model.histories_.shape[1])}
    coordinates["state"] = list(env.state_names) if env.state_names else np.arange(env.n_states)
    coordinates["action"] = list(env.action_names) if env.action_names else np.arange(env.n_actions)
    attributes = {"model": repr(model), "fit_report": model.fit_report_ or "given parameters"}
    return xarray.Dataset(arrays, coords=coordinates, attrs=attributes)


class SWIRL(EMEstimator, DiscreteEstimator):
    """Switching inverse reinforcement learning with any number of modes and any history length.

    Parameters
    ----------
    env
        Where each action leads.
    n_modes
        Number of hidden modes K; 1 is maximum-entropy inverse reinforcement learning. ``"auto"`` where goals are found
        (``rewards.Goals(None)``): one for each that pays, at most six, and one that explores.
    history
        Number of states L that the reward sees: s_t, s_{t−1}, …; 1 is the Markov model.
    switching
        ``"independent"`` of the state, ``"state"`` (additive), ``"state-table"``, ``"state-net"``, ``"until-reached"``
        (a mode lasts until its goal is reached, `rewards.Goals`), ``"fixed"`` (one mode per session), or
        ``switching.Fixed(table)``.
    reward
        ``"state"``: r(h). ``"state-action"``: r(h, a). Or ``rewards.Linear(features)``,
        ``rewards.Network()``, ``rewards.Habit(goal_history)``, ``rewards.Goals(places)``.
    discount, temperature
        γ and α of the soft-optimal policy; the temperature may be one number per mode.
    reward_prior, switching_prior
        ``priors.Adaptive``, ``Cauchy``, ``Gaussian`` or ``Dirichlet``, as the form allows; None takes its default:
        for r(h) ``Adaptive()``, which chooses among priors on folds of the training sessions (`reward_prior_`),
        Dirichlet for r(h, a) and switching tables, Gaussian elsewhere (docs/priors.md). Any form of switching takes
        ``priors.Bouts(steps)``: modes that last.
    impossible
        What a transition that `env` rules out means: ``"error"``; ``"gap"``, a new segment; ``"forget"``, the
        history restarts and the mode chain goes on. None: a gap where `env` was estimated, an error where it was given.
    n_restarts, max_iter, tol, random_state
        Random starting points, of which those in `restarts_` went to their end: all up to eight, the best eight where
        more race (``fit(race=False)``: all); M-steps at most; nats that may remain to be gained when a fit counts as
        converged (`remaining_gain_`); seed. ``random_state=None`` takes another each time, which `fitted_params` has;
        numpy's `RandomState` and `Generator` are taken too.

    Attributes
    ----------
    histories_ : [history, L], −1 = before the start
    rewards_ : [mode, history] or [mode, history, action], in the fitted gauge
    policies_ : [mode, history, action];  log_policies_ : their logarithms, exact where they are below 1e−308
    mode_transitions_ : [state, mode, next_mode]
    initial_modes_ : [mode];  initial_states_ : [state]
    occupancy_ : [mode], expected share of the training steps; modes are ordered by it, largest first
    reward_prior_, prior_scores_ : what an adaptive prior chose, and how each candidate did on folds (nats per
        choice); None where the prior was given
    uninformed_ : [history], True where the training data say nothing about the reward
    objective_trace_, log_likelihoods_ : [iteration], of the restart that was kept
    converged_, fit_report_ : whether and, in words, how the fit ended
    remaining_gain_ : nats of the objective that going on would gain, as predicted from its last iterations
    restarts_ : every restart, with its parameters, traces and status
    restart_agreement_ : which of them came to the same result (`RestartAgreement`)
    goals_ : for each mode the states that it walks to, () for one that explores; only of ``rewards.Goals``
    goal_search_ : what the search for goals found (`selection.GoalSearch`), where the fit had to find them

    Examples
    --------
    >>> from swirl.datasets import gridworld  # takes some seconds
    >>> data = gridworld(n_sessions=8, n_steps=100)
    >>> train, test = data.trajectories.split(every=4)
    >>> model = SWIRL(data.env, n_modes=2, history=2, n_restarts=2, max_iter=20).fit(train)
    >>> model.rewards_.shape, model.mode_transitions_.shape
    ((2, 130), (25, 2, 2))
    """

    def __init__(
        self,
        env: MDP,
        *,
        n_modes: int | Literal["auto"] = 2,
        history: int = 2,
        switching: str | Fixed = "state",
        reward: str | RewardForm = "state",
        discount: float = 0.95,
        temperature: float | Sequence[float] | Float[np.ndarray, "mode"] = 1.0,
        reward_prior: Adaptive | Gaussian | Cauchy | Dirichlet | HabitGoals | GoalDirected | None = None,
        switching_prior: Gaussian | Dirichlet | Bouts | None = None,
        impossible: Impossible | None = None,
        n_restarts: int = 8,
        max_iter: int = 2000,
        tol: float = 0.01,
        random_state: Any = 0,
    ):
        self.env = env
        self.n_modes = n_modes
        self.history = history
        self.switching = switching
        self.reward = reward
        self.discount = discount
        self.temperature = temperature
        self.reward_prior = reward_prior
        self.switching_prior = switching_prior
        self.impossible: Impossible | None = impossible
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    # ------------------------------------------------------------------ fitting

    stored: ClassVar[dict[str, tuple[str, ...]]] = {
        "histories": ("history", "lag"),
        "rewards": ("mode", "history", "action"),
        "policies": ("mode", "history", "action"),
        "log_policies": ("mode", "history", "action"),
        "mode_transitions": ("state", "mode", "next_mode"),
        "initial_modes": ("mode",),
        "initial_states": ("state",),
        "mode_temperatures": ("mode",),
        "occupancy": ("mode",),
        "uninformed": ("history",),
        "prior_scores": ("candidate",),
        "seen_states": ("state",),
        "objective_trace": ("iteration",),
        "log_likelihoods": ("iteration",),
    }

    needed: ClassVar[tuple[str, ...]] = ("env", "rewards", "policies")
    streams: ClassVar[bool] = True

    @property
    def _search(self) -> Any:
        """What the search for goals found, where the arguments ask for one; None: nothing (yet)."""
        search = vars(self).get("goal_search_") if resolve_form(self.reward).to_be_found else None
        return search if search and self.n_modes in ("auto", search.model.reward.n_modes) else None

    @property
    def _form(self) -> RewardForm:
        """The form of the reward, with the goals that the fit has found where it had to."""
        return resolve_form(self.reward) if self._search is None else self._search.model.reward

    @property
    def _n_modes_given(self) -> bool:
        return not (resolve_form(self.reward).to_be_found and self.n_modes == "auto")

    def messages_size(self, data: Any) -> int | None:
        """How many numbers the messages of a fit to such data hold; None where goals are to be found, by many fits."""
        return None if resolve_form(self.reward).to_be_found else super().messages_size(data)

    @property
    def _n_modes(self) -> int:
        return int(self.n_modes) if self._search is None else int(self._form.n_modes or 1)

    def _find_goals(self, data: Trajectories, seed: int) -> None:
        if not resolve_form(self.reward).to_be_found:
            vars(self).pop("goal_search_", None)  # of another fit
            return
        from swirl.estimators.goal_search import QUICK, search_goals

        n_folds = max_folds(data, 3)
        if n_folds < 2:
            raise ValueError(
                f"data have {counted(len(data), 'session')}: goals are found on folds, which needs two or more; give "
                "more sessions, or the goals"
            )
        like = type(self)(**{**self.get_params(deep=False), **QUICK, "random_state": seed})
        # So many as were asked for, whether they pay or not; else those that pay.
        asked = {} if self.n_modes == "auto" else {"max_goals": int(self.n_modes) - 1, "strictness": -np.inf}
        self.goal_search_ = search_goals(like, data, n_folds=n_folds, **asked)

    def _choose_prior(self, data: Trajectories, seed: int, kept: Checkpoint | None) -> None:
        self._find_goals(data, seed)
        for name in ("reward_prior_", "prior_scores_"):  # of another fit
            vars(self).pop(name, None)
        if (adaptive := self._adaptive) is None:
            return
        unit = float(np.exp(np.mean(np.log(self._temperatures()))))
        candidates = [in_units(prior, unit) for prior in adaptive.candidates]
        given = {**self.get_params(), "random_state": seed}
        models = [type(self)(**{**given, "reward_prior": prior}) for prior in candidates]
        pilot = next((i for i, prior in enumerate(candidates) if prior.of == "value"), 0)
        several = len(models) > 1
        scores = prior_scores(models, data, n_folds=adaptive.n_folds, pilot=pilot, kept=kept) if several else None
        self.prior_scores_ = scores
        self.reward_prior_ = candidates[0 if scores is None else int(np.argmax(scores))]

    @property
    def _adaptive(self) -> Adaptive | None:
        """The prior that each fit chooses, where it does."""
        default = self._form.priors.default
        if not isinstance(default, Adaptive):
            return None
        prior = default if self.reward_prior is None else self.reward_prior
        return prior if isinstance(prior, Adaptive) else None

    @property
    def chosen_(self) -> dict[str, Any]:
        """The prior, where the fit has chosen it on training folds."""
        return {} if self.prior_scores_ is None else {"reward_prior": self.reward_prior_}

    @property
    def _prior_in_use(self) -> Any:
        if (adaptive := self._adaptive) is None:
            return self.reward_prior
        return getattr(self, "reward_prior_", adaptive.candidates[0])

    def _params_in_use(self) -> dict[str, Any]:
        chosen = {} if self._adaptive is None else {"reward_prior": self.reward_prior_}
        found = {} if self._search is None else {"reward": self._form, "n_modes": self._n_modes}
        return {**self.get_params(), **chosen, **found}

    def _problem(self, data: Trajectories | StreamedTrajectories) -> Problem:
        histories, env = Histories.reachable(self.env.successors, int(self.history)), self.env
        read = partial(encode, env=env, histories=histories, impossible=self.impossible)
        encoded, survey = surveyed(data, read, histories)
        if not survey.telling.any():
            raise ValueError(
                "data: no session holds an action, or two states in a row, so there is nothing to fit; pass sessions "
                "of two steps or more"
            )
        visited = np.unique(histories.contexts[survey.telling > 0])
        components, rows = self.build_components(histories, visited, survey.visits.astype(float))
        make, latent = action_chains(histories, rows, env, survey)
        chains = chains_of(data, encoded, read, make)
        return Problem(encoded, chains, replace(components, latent=latent), (histories, rows), survey)

    def _record_training(self, data: Trajectories, problem: Problem) -> None:
        del data
        survey, (histories, _) = problem.survey, problem.context
        self.initial_states_, self.seen_states_ = survey.initial_states, survey.seen_states
        self.uninformed_ = _uninformed(survey.telling > 0, histories)

    def _restored_context(self) -> tuple[Components, Any]:
        components, rows = self.build_components(self._histories)
        return components, (self._histories, rows)

    def _argument_faults(self, faults: Faults) -> None:
        check_env(self.env, faults)
        whole_number("history", self.history, 1, faults)
        note_discount(self.discount, faults)
        note_temperature(self.temperature, self.n_modes, faults)
        if resolve_form(self.reward).to_be_found:
            if self.n_modes == 1:
                faults.add('n_modes=1: goals are to be found, and one mode explores; give 2 or more, or "auto"')
            elif self.n_modes != "auto" and isinstance(self.n_modes, int) and self.n_modes > self.env.n_states + 1:
                n_states = self.env.n_states
                faults.add(f"n_modes={self.n_modes}: there are {n_states} states, so at most {n_states + 1} modes")
            if np.ndim(self.temperature):
                faults.add("temperature: expected one number where goals are to be found")

    def _temperatures(self) -> Float[np.ndarray, "mode"]:
        return temperatures(self.temperature, self._n_modes)

    def build_components(
        self,
        histories: Histories,
        visited: Int[np.ndarray, "context"] | None = None,
        visits: Float[np.ndarray, "state"] | None = None,
    ) -> tuple[Components, Int[np.ndarray, "history"]]:
        """Make what EM moves from the constructor's arguments, and say which policy row each history uses.

        `visited` are the contexts that the data visit, for forms that need rows for those only; `visits` the steps in
        each state.
        """
        form = self._form
        prior = self._prior_in_use or form.priors.default
        if not form.priors.allows(prior):
            raise ValueError(f"reward_prior={self.reward_prior!r}: reward={self.reward!r} takes {form.priors.allowed}")
        settings = PolicySettings(self.discount, self._temperatures(), visited, self.env)
        rewards, rows = form.build(histories, prior, settings)
        n_states, n_modes = self.env.n_states, self._n_modes
        reached = form.wanted(n_states, n_modes)
        switching = build_switching(self.switching, n_states, n_modes, self.switching_prior, visits, reached)
        return Components(rewards, switching, initial_pseudocount=np.asarray(1.0)), rows

    def _set_fitted(self, tables: Tables, fitted: Any, order: np.ndarray) -> None:
        histories, rows = self._context
        component = cast(RewardComponent, self._components.emissions)
        rewards, log_policies = component.read(histories, rows, np.asarray(tables.log_emissions), fitted)
        if component.gauge_is_free:
            with suppress(GaugeTooLargeError):  # then the gauge stays as the optimiser left it
                rewards = self._canonical(histories, rewards)
        self._set_rewards(histories, rewards[order], log_policies[order])
        self.mode_temperatures_ = temperatures(self._params_at_fit["temperature"], len(order))[order]
        if names := resolve_form(self._params_at_fit["reward"]).mode_names(self.env.state_names):
            self.mode_names_ = tuple(names[mode] for mode in order)

    def _set_rewards(self, histories: Histories, rewards: np.ndarray, log_policies: np.ndarray) -> None:
        self._histories = histories
        self._params_at_fit = getattr(self, "_params_at_fit", None) or self.get_params()
        self.histories_ = histories.table
        self.rewards_ = rewards
        self.log_policies_, self.policies_ = log_policies, np.exp(log_policies)

    # ------------------------------------------------------------------ given parameters

    @classmethod
    def from_parameters(
        cls,
        env: MDP,
        *,
        history: int,
        rewards: Any,
        mode_transitions: Any,
        initial_modes: Any,
        temperature: float | Sequence[float] | Float[np.ndarray, "mode"] = 1.0,
        discount: float = 0.95,
        histories: Any = None,
        impossible: Impossible | None = None,
    ) -> "SWIRL":
        """Make a fitted model from given rewards and switching, used as they are.

        Parameters
        ----------
        rewards
            Dense [mode, s_t, s_{t−1}, …(, action)] as `reward_table()` gives, or long [mode, history(, action)]
            with `histories`. A short history that is not given takes the mean over its completions.
        mode_transitions
            [state, mode, next_mode], or [mode, next_mode] for all states.

        Examples
        --------
        >>> from swirl.datasets import gridworld
        >>> data = gridworld(n_sessions=4, n_steps=50)
        >>> t = data.truth
        >>> truth = SWIRL.from_parameters(
        ...     data.env, history=2, rewards=t.rewards, mode_transitions=t.mode_transitions,
        ...     initial_modes=t.initial_modes)
        >>> round(truth.score(data.trajectories), 1)
        -1.5
        """
        from swirl.estimators.given_parameters import read_parameters

        given = read_parameters(env, history, rewards, mode_transitions, initial_modes, histories)
        model = cls(
            env,
            n_modes=len(given.initial_modes),
            history=history,
            switching=Fixed(given.mode_transitions),
            reward="state-action" if given.rewards.ndim == 3 else "state",
            discount=discount,
            temperature=temperature,
            impossible=impossible,
        )
        model._check_arguments(model.random_state)
        filled = np.nan_to_num(given.rewards) if given.rewards.ndim == 3 else given.rewards
        log_policies = soft_optimal_log_policies(
            given.histories.successors,
            filled,
            discount=discount,
            temperature=model._temperatures(),
            per_action=given.rewards.ndim == 3,
        )
        model._set_rewards(given.histories, given.rewards, log_policies)
        model._set_chain(given.mode_transitions, given.initial_modes)
        model.mode_temperatures_ = model._temperatures()
        model.initial_states_ = np.full(env.n_states, 1 / env.n_states)
        return model

    # ------------------------------------------------------------------ after the fit

    def _log_table(self) -> Float[np.ndarray, "mode history option"]:
        return self._log_of("policies")

    def _restore(self) -> None:
        self._histories = Histories.reachable(self.env.successors, int(self.history))
        if self.prior_scores_ is not None:
            self.reward_prior_ = self.reward_prior  # what the fit had chosen is the model's own now

    @renamed(unknown="impossible")
    def online_filter(self, impossible: Impossible | None = None) -> OnlineFilter:
        """Make a filter that takes one (state, action) at a time, for closed-loop experiments.

        `impossible` says what an impossible transition means, by default what the model's own says.
        """
        self.check_fitted()
        return OnlineFilter(
            self.initial_modes_,
            self.mode_transitions_,
            self.policies_,
            self.histories_,
            self.env,
            log_policies=self._log_table(),
            impossible=impossible or self.impossible or self.env.default_impossible,
        )

    def _canonical(self, histories: Histories, rewards: np.ndarray) -> np.ndarray:
        discount = self._params_at_fit["discount"]
        return canonical(rewards, histories.successors, discount=discount, full_length=histories.full_length)

    @property
    def label(self) -> str:
        """Short name, as the paper has it: F- for one mode per session, S- where switching sees the state, else I-.

        A form of reward that makes a model of its own kind (`rewards.Goals`) gives its own.
        """
        if family := resolve_form(self.reward).family:
            return f"{family}-{self.history}"
        if self.switching == "fixed":
            return f"F-{self.history}"
        by_state = self.switches_by_state
        if len(self.initial_modes_) == 1 and self.history == 1:
            return "MaxEnt"
        return f"{'S' if by_state else 'I'}-{self.history}"

    @property
    def description(self) -> str:
        """What the model is, in a sentence."""
        n_modes, irl = len(self.initial_modes_), "inverse reinforcement learning"
        kind = f"{irl} without modes" if n_modes == 1 else f"switching {irl} with {counted(n_modes, 'mode')}"
        follows = f"follows a reward {self.reward_symbol}"
        if isinstance(self.reward, Goals):
            moves = "no moves" if self.history == 1 else f"the last {counted(int(self.history) - 1, 'move')}"
            follows = f"walks to its own goal, if it has one; all share one habit, of the kind of place and {moves}"
        return f"{self.label}: {kind}. Each mode {follows}{self._switching_words()}."

    @property
    def reward_symbol(self) -> str:
        """The reward with its arguments, as the paper writes it."""
        length = 1 if isinstance(self.reward, Goals) else int(self.history)
        subscript = str(length - 1).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
        past = {1: "sₜ", 2: "sₜ, sₜ₋₁", 3: "sₜ, sₜ₋₁, sₜ₋₂"}.get(length, f"sₜ, …, sₜ₋{subscript}")
        return f"r({past}{', aₜ' if self.rewards_.ndim == 3 else ''})"

    @property
    def goals(self) -> tuple[Goal, ...]:
        """What each mode walks to, in the order of modes; none unless the reward is `rewards.Goals`."""
        settings = self.fitted_params
        form = resolve_form(settings["reward"])
        if not isinstance(form, Goals):
            return ()
        worth = self.reward_map()  # 0 but in goals; modes may have been put in another order than that of `places`
        prior = settings["reward_prior"] or form.priors.default
        found = []
        for mode in np.flatnonzero((worth != 0).any(axis=1)).tolist():
            cost = float(worth[mode].max() / self.mode_temperatures_[mode]) if form.absorbing else None
            states = tuple(np.flatnonzero(worth[mode]).tolist())
            found.append(Goal(mode, states, cost, float(prior.expected_cost) if form.absorbing else None))
        return tuple(found)

    @property
    def goals_(self) -> tuple[tuple[int, ...], ...]:
        """For each mode the states that it walks to, the most rewarding first; () for a mode that explores."""
        if not isinstance(resolve_form(self.fitted_params["reward"]), Goals):
            raise AttributeError("goals_: this model has no goals; make it with rewards.Goals, or make('Goals', env)")
        worth, found = self.reward_map(), {goal.mode: goal.states for goal in self.goals}
        return tuple(
            tuple(sorted(found.get(mode, ()), key=lambda state: -worth[mode, state])) for mode in range(len(worth))
        )

    @property
    def gauges(self) -> tuple[str, ...]:
        """Gauges of `reward_tables`."""
        return resolve_form(self.fitted_params["reward"]).gauges

    def reward_tables(self, gauge: str) -> Float[np.ndarray, "mode history *action"]:
        """Rewards [mode, history(, action)] in one of `gauges`, as `reward_table` has them in dense form."""
        self.check_fitted()
        if gauge == "fitted":
            return self.rewards_
        if gauge in self.gauges:
            return self._canonical(self._histories, self.rewards_)
        expected = " or ".join(f'"{known}"' for known in self.gauges)
        raise ValueError(f"gauge={gauge!r}: expected {expected}")

    def reward_table(self, gauge: str = "fitted") -> Float[np.ndarray, "mode *dense"]:
        """Rewards as a dense table [mode, s_t, s_{t−1}, …(, action)]; NaN where no full-length history exists.

        Parameters
        ----------
        gauge
            ``"fitted"``: as the prior left it. ``"canonical"``: the least-norm member of the rewards that have the
            same policies (design.md#gauge); compare rewards in this one.
        """
        return to_dense(self.reward_tables(gauge), self._histories)

    def reward_map(self, gauge: str | None = None) -> Float[np.ndarray, "mode state"]:
        """Reward of each state: the unweighted mean over reachable earlier states (and available actions).

        Parameters
        ----------
        gauge
            ``"fitted"`` or ``"canonical"``, as for `reward_table`. By default the fitted gauge for r(h), and the
            canonical one for r(h, a), whose fitted gauge is the log-policy: its mean would count a state's choices.
        """
        self.check_fitted()
        full = self._histories.full_length
        rewards = self.reward_tables(gauge or self.map_gauge)[:, full]
        if rewards.ndim == 3:
            rewards = np.nanmean(rewards, axis=2)
        return group_mean(rewards, self._histories.states[full], self.env.n_states)

    @property
    def map_gauge(self) -> str:
        """The gauge of `reward_map` where none is asked for."""
        return "fitted" if self.rewards_.ndim == 2 else "canonical"

    def known_reward_map(self) -> Float[np.ndarray, "mode state"]:
        """`reward_map()`, NaN where the training data say nothing about any history that ends in a state."""
        values, full = self.reward_map(), self._histories.full_length
        if self.uninformed_ is None:
            return values
        known = ~np.asarray(self.uninformed_, bool)[full]
        informed = np.bincount(self._histories.states[full], weights=known, minlength=values.shape[1]) > 0
        return np.where(informed, values, np.nan)

    def align_to(self, reference: "SWIRL") -> "SWIRL":
        """Return a copy whose modes are numbered as in `reference`: Hungarian matching of the policies."""
        self.check_fitted()
        reference.check_fitted()
        if self.initial_modes_.shape != reference.initial_modes_.shape or self.env.n_states != reference.env.n_states:
            raise ValueError("reference: expected a model with the same number of modes and states")
        order = np.argsort(match_by_distance(reference.state_policies(), self.state_policies()))
        aligned = copy(self)
        aligned._set_rewards(self._histories, self.rewards_[order], self._log_table()[order])
        aligned._set_chain(self.mode_transitions_[:, order][:, :, order], self.initial_modes_[order])
        aligned.mode_temperatures_ = self.mode_temperatures_[order]
        if self.occupancy_ is not None:
            aligned.occupancy_ = self.occupancy_[order]
        if names := reference.mode_names_:
            aligned.mode_names_ = names
        else:
            vars(aligned).pop("mode_names_", None)
        return aligned

    def transfer(self, env: MDP) -> "SWIRL":
        """Return this model in a changed environment: the same rewards, or goals, with policies that are planned anew.

        A way is blocked, another opened, an action leads elsewhere: the states, and how many actions there are, are the
        same.  Switching is as it was fitted; of goals (`rewards.Goals`) the habit goes along, with the kinds of places
        and the names of moves that it was fitted with.  The result can score, decode and sample there.

        Rewards are known up to a gauge (design.md#gauge): where others that are as good here have other policies
        there, a warning says how far apart they are (`errors.GaugeWarning`).

        Parameters
        ----------
        env
            The changed environment.

        Examples
        --------
        >>> from swirl.datasets import gridworld, gridworld_env
        >>> model = gridworld(n_sessions=2, n_steps=20).true_model()
        >>> model.transfer(gridworld_env(slip=0.2)).sample(2, 10).n_steps
        20
        """
        from swirl.estimators.transfer import transfer

        return transfer(self, env)

    def state_policies(self) -> Float[np.ndarray, "mode state action"]:
        """π_z(a|s): the mean of the policies over the full-length histories that end in each state."""
        self.check_fitted()
        full = self._histories.full_length
        return np.nan_to_num(group_mean(self.policies_[:, full], self._histories.states[full], self.env.n_states))

    def to_xarray(self) -> Any:
        """Return what was fitted as a labelled `xarray.Dataset`."""
        return to_xarray(self)


def _uninformed(visited: Bool[np.ndarray, "history"], histories: Histories) -> Bool[np.ndarray, "history"]:
    """True for a history that is neither visited nor the successor of a visited one (design.md#gauge)."""
    informed = visited.copy()
    informed[np.asarray(histories.successors.next)[visited][histories.successors.possible[visited]]] = True
    return ~informed
