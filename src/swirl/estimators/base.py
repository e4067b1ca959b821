"""What every model shares: parameters as scikit-learn keeps them, the honest score, decoding, saving.

A subclass says what it gives probabilities to (`score_types`), how likely each step of some data is in each mode
(`_read`), and sets `initial_modes_` and `mode_transitions_` when fitted.
"""

import inspect
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64

from swirl.data.encoding import Encoded
from swirl.data.folds import ENOUGH_ANIMALS, animals
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.streamed import StreamedTrajectories
from swirl.data.trajectories import Trajectories
from swirl.errors import NotFittedError, UnseenStatesWarning
from swirl.estimators.fit_warnings import SAME_ARI, SAME_POLICIES, RestartAgreement, Verdict
from swirl.inference.likelihood import Evidence
from swirl.inference.messages import filter_sessions, smooth_sessions, viterbi_sessions
from swirl.inference.mode_matching import adjusted_rand_index, match_by_overlap
from swirl.rewards.forms import Goal
from swirl.text import counted, html_of, percent, some, table_of

Scored = Literal["action", "next_state", "density"]
E = TypeVar("E", bound="Estimator")
H = TypeVar("H", bound="HiddenModeEstimator")
WORDS = {
    "action": "probabilities of actions",
    "next_state": "probabilities of the next state",
    "density": "densities of continuous observations",
}

PER = {"action": "action", "next_state": "next state", "density": "observation"}
"""What a score is a mean over, in words: nats per action, …"""


@contextmanager
def quietly() -> Iterator[None]:
    """Say nothing of states that training never visited.

    >>> with quietly():
    ...     warnings.warn("state 3 was never seen", UnseenStatesWarning)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenStatesWarning)
        yield


def as_trajectories(data: Any) -> Trajectories:
    """Accept `Trajectories`, or a list of them (what scikit-learn's splitters make of one).

    >>> as_trajectories([Trajectories([[0, 1]]), Trajectories([[1, 1]])]).n_steps
    4
    """
    if isinstance(data, Trajectories):
        return data
    if isinstance(data, StreamedTrajectories):
        raise ValueError(
            "data: StreamedTrajectories are never all in memory; give one part after the other, such as "
            "[model.predict(part) for part in data], or some sessions, data.sample()"
        )
    if isinstance(data, Sequence) and data and all(isinstance(part, Trajectories) for part in data):
        return Trajectories.concatenate(list(data))
    raise ValueError(
        f"data is {type(data).__name__}: expected swirl.Trajectories; build it as "
        "swirl.Trajectories(states, actions) from lists of integer arrays, one per session"
    )


def parts_of(data: Any) -> Iterable[Trajectories]:
    """The parts of `StreamedTrajectories`, or the data themselves.

    >>> [part.n_steps for part in parts_of(Trajectories([[0, 1]]))]
    [2]
    """
    return data if isinstance(data, StreamedTrajectories) else (as_trajectories(data),)


class Estimator:
    """Constructor arguments kept verbatim and resolved in `fit`, so that `sklearn.base.clone` works."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor arguments."""
        del deep  # no parameter is itself an estimator
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self: E, **parameters: Any) -> E:
        """Change constructor arguments; they take effect at the next `fit` (`impossible` at once)."""
        known = self._parameter_names()
        unknown = [name for name in parameters if name not in known]
        if unknown:
            raise ValueError(f"{', '.join(unknown)}: no such parameter; there are {', '.join(known)}")
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False),
        )

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        shown = []
        for name, value in self.get_params().items():
            default = defaults[name].default
            if default is inspect.Parameter.empty:
                shown.append(repr(value))
            elif value is not default and repr(value) != repr(default):
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


class HiddenModeEstimator(Estimator, ABC):
    """A model whose hidden mode emits what is seen: scoring and decoding from the messages."""

    initial_modes_: Float[np.ndarray, "mode"]
    mode_transitions_: Float[np.ndarray, "state mode next_mode"]

    def __repr__(self) -> str:
        if not hasattr(self, "initial_modes_"):
            return super().__repr__()
        steps = getattr(self, "n_steps_", None)
        told = f", {counted(int(steps), 'training step')}" if steps else ""
        return f"{super().__repr__()}: fitted, {counted(len(self.initial_modes_), 'mode')}{told}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the settings and, of a fit, how it ended and how much each mode takes."""
        settings = super().__repr__()
        if not hasattr(self, "initial_modes_"):
            return html_of(f"{settings}\nNot fitted yet: fit(data).")
        names, shares = self.mode_names_ or range(len(self.initial_modes_)), self.mode_shares
        rows = [
            {"mode": str(name), "expected share of steps": "not known" if np.isnan(share) else percent(share)}
            for name, share in zip(names, shares, strict=True)
        ]
        return html_of("\n".join([settings, str(self.fit_report_ or ""), table_of(rows)]))

    # What a fit may know besides; these are the values of a model that knows nothing of it.
    env: Any = None  # an MDP, where the model was given one
    mode_names_: tuple[str, ...] | None = None  # where the user has named the modes
    occupancy_: Any = None  # [mode], expected share of the training steps
    seen_states_: Bool[np.ndarray, "state"] | None = None  # those that training visited
    uninformed_: Bool[np.ndarray, "history"] | None = None  # those whose reward training says nothing about
    prior_scores_: Float[np.ndarray, "candidate"] | None = None  # where the prior was chosen on folds
    fit_report_: Any = None  # how the fit ended, in words
    converged_: bool | None = None
    n_observed_: Any = None  # steps that said something
    restarts_: Any = ()  # of a fit by EM; `best_restart_` is the one that was kept
    best_restart_: int
    restart_agreement_: RestartAgreement | None = None  # where restarts were compared
    verdict_: Verdict | None = None  # of `verdicts.verdict`
    data_fingerprint_: str | None = None
    training_sessions_: UInt64[np.ndarray, "session"] | None = None  # `Trajectories.session_fingerprints`
    run_: dict[str, Any] | None = None  # where a fit came from, when it came from the command line

    refit_fault: ClassVar[str] = "it has no modes that EM fits"
    """Why the model cannot be refitted to resampled sessions; empty where it can."""
    streams: ClassVar[bool] = False
    """Whether it can be fitted to `StreamedTrajectories`."""
    fitted_by_em: ClassVar[bool] = False
    """Whether EM fits the model, from several starting points (`restarts_`)."""
    family: ClassVar[str] = ""
    """What such models are called in a sentence, with an article; empty: only by their name."""
    stored: ClassVar[dict[str, tuple[str, ...]]]
    """Fitted arrays that a file keeps (without the trailing underscore), with their axes."""
    needed: ClassVar[tuple[str, ...]] = ()
    """Those without which a file is damaged; ``"env"`` where the model cannot be without an environment."""
    retired: ClassVar[tuple[str, ...]] = ()
    """Arguments that older versions had: a file may say them."""
    retired_leaves: ClassVar[slice] = slice(0, 0)
    """Which parts of a restart in such a file are no longer used."""

    @property
    @abstractmethod
    def score_types(self) -> tuple[Scored, ...]:
        """What the model gives a likelihood of, its own first; scores compare only in the same one."""

    @property
    def currencies(self) -> tuple[Scored, ...]:
        """Former name of `score_types`."""
        told = "currencies is called score_types now; the old name will go in a later version"
        warnings.warn(told, DeprecationWarning, stacklevel=2)
        return self.score_types

    # ------------------------------------------------------------------ what a model says of itself

    @property
    def label(self) -> str:
        """Short name of the model, as `swirl.make` knows it.

        >>> from swirl.datasets import gridworld
        >>> gridworld(n_sessions=2, n_steps=20).true_model().label
        'S-2'
        """
        return type(self).__name__

    @property
    def description(self) -> str:
        """What the model is, in a sentence.

        >>> from swirl.datasets import gridworld
        >>> gridworld(n_sessions=2, n_steps=20).true_model().description[:65]
        'S-2: switching inverse reinforcement learning with 2 modes. Each '
        """
        self.check_fitted()
        kind = f": {self.family} with" if self.family else ", with"
        return f"{self.label}{kind} {counted(len(self.initial_modes_), 'mode')}{self._switching_words()}."

    def _switching_words(self) -> str:
        if len(self.initial_modes_) == 1:
            return ""
        if self.get_params().get("switching") == "fixed":
            return "; a session keeps to one mode"
        return f"; switching {'depends on' if self.switches_by_state else 'does not depend on'} the state"

    @property
    def switches_by_state(self) -> bool:
        """Whether the probability of switching depends on the state."""
        self.check_fitted()
        table = np.asarray(self.mode_transitions_)
        return bool(len(table) > 1 and np.ptp(table, axis=0).max() > 1e-9)

    @property
    def mode_shares(self) -> list[float]:
        """Expected share of the training steps in each mode (summed probabilities); NaN where nothing was fitted."""
        if self.occupancy_ is None:
            n_modes = len(self.initial_modes_)
            return [1.0 if n_modes == 1 else np.nan] * n_modes
        return [float(share) for share in self.occupancy_]

    @property
    def world(self) -> MDP | None:
        """The environment in which states and actions are read: `env`, or what training saw; None without states."""
        return self.env if isinstance(self.env, MDP) else None

    @property
    def histories(self) -> Histories | None:
        """The histories that the model tells apart; None where there are no labelled states."""
        return None

    def choice_table(self) -> Float[np.ndarray, "mode history option"] | None:
        """Probability of each option (action, or next state: `target`) in each mode; None where there is no such table.

        >>> from swirl.datasets import gridworld
        >>> gridworld(n_sessions=2, n_steps=20).true_model().choice_table().shape
        (2, 130, 5)
        """
        return None

    @property
    def goals(self) -> tuple[Goal, ...]:
        """What modes walk to, where the model knows it (`rewards.Goals`); elsewhere there are none."""
        return ()

    @property
    def gauges(self) -> tuple[str, ...]:
        """In which gauges `reward_tables` has the rewards of each mode; none where there are no rewards."""
        return ()

    def reward_tables(self, gauge: str) -> Float[np.ndarray, "mode history *action"]:
        """Reward of each history (and action) in each mode, in one of `gauges`.

        >>> from swirl.datasets import gridworld
        >>> model = gridworld(n_sessions=2, n_steps=20).true_model()
        >>> [model.reward_tables(gauge).shape for gauge in model.gauges]
        [(2, 130), (2, 130)]
        """
        raise ValueError(f"gauge={gauge!r}: {type(self).__name__} has no rewards")

    def known_reward_map(self) -> Float[np.ndarray, "mode state"]:
        """Reward of each state as maps show it; NaN where the training data say nothing about it."""
        raise ValueError(f"{type(self).__name__} has no rewards")

    @property
    def map_gauge(self) -> str:
        """The gauge of `known_reward_map`."""
        return "fitted"

    @property
    def reward_symbol(self) -> str:
        """The reward that each mode follows, with its arguments, as the paper writes it; empty where there is none."""
        return ""

    @property
    def own_signals(self) -> tuple[str, ...]:
        """Names of the signals that a fit reads besides states and actions."""
        return ()

    @property
    def prior_choices(self) -> dict[str, Any]:
        """Priors on rewards and switching that were given, or chosen by the fit; without those left to the default."""
        given = self.get_params()
        names = [name for name in ("reward_prior", "switching_prior") if name in given]
        found = {name: getattr(self, f"{name}_", given[name]) for name in names}
        return {name: prior for name, prior in found.items() if prior is not None}

    @property
    def chosen_(self) -> dict[str, Any]:
        """Arguments that the fit has chosen on training folds."""
        return {}

    @abstractmethod
    def fit(self: E, data: Any, y: None = None) -> E:
        """Fit to `Trajectories`."""

    @abstractmethod
    def _read(self, data: Trajectories, of: Scored) -> tuple[Encoded, Evidence]:
        """Number the data as the model reads them, and say what each step tells of the mode."""

    def check_fitted(self) -> None:
        """Refuse a model that is not fitted yet."""
        if not hasattr(self, "mode_transitions_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet: call fit(train) or swirl.load(path) first"
            )

    def _score_type(self, of: Scored | None) -> Scored:
        """What to score: `of`, or the model's own."""
        own = self.score_types
        if of is None:
            return own[0]
        if of not in WORDS:
            expected = " or ".join(f'"{name}"' for name in own)
            raise ValueError(f"of={of!r}: expected {expected}")
        if of not in own:
            raise ValueError(
                f"of={of!r}: {type(self).__name__} gives {WORDS[own[0]]}, not {WORDS[of]}; use of={own[0]!r}, and "
                "compare it only with scores of the same"
            )
        return of

    def score_type_of(self, data: Any) -> Scored:
        """What a score of these data is best of: the model's own, but next states where some action is missing.

        Scores of actions count only those that were seen, which are not all there is to predict.
        """
        own = self.score_types
        if own[0] == "action" and "next_state" in own and as_trajectories(data).n_missing_actions:
            return "next_state"
        return own[0]

    def _chain(self, encoded: Encoded) -> tuple[np.ndarray, np.ndarray]:
        del encoded  # the same tables for all data, unless a model says otherwise
        with np.errstate(divide="ignore"):
            return np.log(self.initial_modes_), np.log(self.mode_transitions_)

    def _ready(self, data: Any, of: Scored | None = None, warn: bool = True) -> tuple[Encoded, Evidence]:
        self.check_fitted()
        of = self._score_type(of)
        encoded, evidence = self._read(as_trajectories(data), of)
        if warn:
            self._warn_of_unseen(encoded)
        return encoded, evidence

    def _warn_of_unseen(self, encoded: Encoded) -> None:
        seen = self.seen_states_
        if seen is None:
            return
        steps = ~seen[encoded.states]
        if steps.any():
            states = [str(state) for state in np.unique(encoded.states[steps])]
            warnings.warn(
                f"never visited in training: {counted(len(states), 'state')} ({some(states)}), at "
                f"{int(steps.sum()):,} of {encoded.n_steps:,} steps; there the prior alone decides",
                UnseenStatesWarning,
                stacklevel=5,
            )

    def _run(self, messages: Any, encoded: Encoded, evidence: Evidence) -> Any:
        """Run one of the message functions over the chains of the data."""
        log_likelihoods = encoded.split_chains(evidence.log_likelihoods)
        return messages(*self._chain(encoded), encoded.split_chains(encoded.states), log_likelihoods)

    def _increments(self, data: Any, of: Scored | None) -> tuple[Encoded, np.ndarray, np.ndarray]:
        encoded, evidence = self._ready(data, of)
        _, increments, _ = self._run(filter_sessions, encoded, evidence)
        return encoded, np.concatenate(increments), evidence.scored

    def log_likelihood(self, data: Any, *, of: Scored | None = None) -> Float[np.ndarray, "session"]:
        """Log-likelihood of what was observed in each session, Σ_t log p(a_t | s_1:t, a_1:t−1), by the forward filter.

        A step whose action is missing counts by the state that it led to, log p(s_{t+1} | s_1:t, a_1:t−1), and not at
        all where that is not known either. Compare such sums only between models, on the same data.

        Parameters
        ----------
        data
            `Trajectories`, a list of them, or `StreamedTrajectories`.
        of
            What the likelihood is of, one of `score_types`; by default the model's own. ``"next_state"`` merges
            actions with the same successor: the currency for comparing with models that emit states.
        """
        return np.concatenate([self._session_sums(part, of, scored_only=False) for part in parts_of(data)])

    def _session_sums(
        self, data: Trajectories, of: Scored | None, *, scored_only: bool
    ) -> Float[np.ndarray, "session"]:
        encoded, increments, scored = self._increments(data, of)
        counted = np.where(scored, increments, 0.0) if scored_only else increments
        return np.array([part.sum() for part in encoded.split_sessions(counted)])

    def score(self, data: Any, y: None = None, *, of: Scored | None = None) -> float:
        """Log-likelihood per observed step, in nats: higher is better.

        The number of steps it is an average over is `n_scored(data)`. Scores of actions (``of="action"``) count the
        actions that were seen, scores of next states every step whose successor is known.
        """
        del y  # scikit-learn's signature
        total, n = 0.0, 0
        for part in parts_of(data):
            _, increments, scored = self._increments(part, of)
            total, n = total + float(increments[scored].sum()), n + int(scored.sum())
        self._check_scored(n, of)
        return total / n

    def _check_scored(self, n_scored: int, of: Scored | None) -> None:
        """Refuse data in which nothing can be scored."""
        if n_scored:
            return
        other = "next_state" in self.score_types and self._score_type(of) != "next_state"
        advice = '; score the states that followed instead: of="next_state"' if other else ""
        raise ValueError(
            f"data: no {self._missing(of)} was observed in any session, so there is nothing to score{advice}"
        )

    def session_scores(self, data: Any, *, of: Scored | None = None) -> Float[np.ndarray, "session"]:
        """Sum of what `score` averages, for each session."""
        return np.concatenate([self._session_sums(part, of, scored_only=True) for part in parts_of(data)])

    def _missing(self, of: Scored | None) -> str:
        return {"action": "action", "next_state": "next state", "density": "pair of neighbouring observations"}[
            self._score_type(of)
        ]

    def scored_steps(self, data: Any, *, of: Scored | None = None) -> list[Bool[np.ndarray, "time"]]:
        """Which steps of each session `score` averages over."""
        encoded, evidence = self._ready(data, of, warn=False)
        return encoded.split_sessions(evidence.scored)

    def n_scored(self, data: Any, *, of: Scored | None = None) -> int:
        """Number of steps that `score` averages over."""
        return int(sum(steps.sum() for part in parts_of(data) for steps in self.scored_steps(part, of=of)))

    def predict(self, data: Any) -> list[Int[np.ndarray, "time"]]:
        """Most likely mode path of each session (Viterbi)."""
        encoded, evidence = self._ready(data)
        return encoded.split_sessions(np.concatenate(self._run(viterbi_sessions, encoded, evidence)))

    def completed_score(self, data: Any, *, of: Scored | None = None) -> float:
        """Log-likelihood per observed step of what was observed *and* of its segmentation, log p(x, ẑ) / steps.

        ẑ is the most likely path. It is `score` less what is not known about the modes, −log p(ẑ | x) / steps: of two
        models that predict alike, the one whose modes are the clearer has more (the completed likelihood of Biernacki,
        Celeux and Govaert, 2000). With one mode it is `score`.

        >>> from swirl.datasets import gridworld
        >>> data = gridworld(n_sessions=4, n_steps=100)
        >>> model = data.true_model()
        >>> model.completed_score(data.trajectories) < model.score(data.trajectories)
        True
        """
        encoded, evidence = self._ready(data, of)
        self._check_scored(int(evidence.scored.sum()), of)
        paths = self._run(viterbi_sessions, encoded, evidence)
        _, increments, _ = self._run(filter_sessions, encoded, evidence)
        log_initial, log_transitions = self._chain(encoded)
        states, seen = encoded.split_chains(encoded.states), encoded.split_chains(evidence.log_likelihoods)
        total = sum(
            log_initial[path[0]]
            + log_transitions[s[:-1], path[:-1], path[1:]].sum()
            + log_likelihood[np.arange(len(path)), path].sum()
            for path, s, log_likelihood in zip(paths, states, seen, strict=True)
        )
        told = np.concatenate(increments)[~evidence.scored].sum()  # what tells of the modes, but is not scored
        return float((total - told) / evidence.scored.sum())

    def predict_proba(self, data: Any) -> list[Float[np.ndarray, "time mode"]]:
        """p(z_t | whole session) for each step: smoothed, so it has seen the future."""
        encoded, evidence = self._ready(data)
        return encoded.split_sessions(np.concatenate(self._run(smooth_sessions, encoded, evidence)))

    def filter_proba(self, data: Any) -> list[Float[np.ndarray, "time mode"]]:
        """p(z_t | s_1:t, a_1:t) for each step: causal.

        Where a_t is missing, what s_{t+1} says of it enters at t + 1.
        """
        encoded, evidence = self._ready(data)
        filtered, _, predicted = map(np.concatenate, self._run(filter_sessions, encoded, evidence))
        return encoded.split_sessions(np.where(evidence.later[:, None], predicted, filtered))

    def messages_size(self, data: Any) -> int | None:
        """How many numbers the messages of a fit to such data hold; None where it has none, or makes many fits."""
        del data
        return None

    def fit_to_score(
        self: H, data: Any, progress: bool | None = None, *, callback: Callable[[Any], Any] | None = None
    ) -> H:
        """Fit for the score alone, leaving out what nobody will read; EM calls `callback` in each iteration."""
        del progress, callback  # for models that take long enough
        return self.fit(data)

    def _policy_distance(
        self, other: Any, data: Trajectories, modes: Int[np.ndarray, "step"], counterparts: Int[np.ndarray, "mode"]
    ) -> float:
        """Mean distance, 0 to 1, of what two fits of this model expect at the steps of some data.

        Here it is read from what was observed, |p − p'| / (p + p'): its mean is the total-variation distance where
        that is drawn from both alike. A model of choices compares all that could have been chosen.

        Parameters
        ----------
        modes, counterparts
            The mode of each step here, and the other's mode that each mode is matched to.
        """
        (_, mine), (_, theirs) = self._ready(data, warn=False), other._ready(data, warn=False)
        now = np.flatnonzero(mine.scored)
        apart = mine.log_likelihoods[now, modes[now]] - theirs.log_likelihoods[now, counterparts[modes[now]]]
        return float(np.tanh(np.abs(apart) / 2).mean())

    def _compared(
        self, kept: int, objectives: Float[np.ndarray, "restart"], restart: Callable[[int], Any], data: Any
    ) -> RestartAgreement:
        """Compare the restarts of a fit with this one, the `kept` of them, on some sessions; `restart` gives others."""
        n, n_modes = len(objectives), len(self.initial_modes_)
        ari, distance, error = np.full((3, n), np.nan)
        ari[kept], distance[kept] = 1.0, 0.0
        solution = np.full(n, -1)
        solution[kept] = 0
        finite = np.where(np.isfinite(objectives), objectives, np.nan)
        others = [int(r) for r in np.argsort(-finite) if r != kept and np.isfinite(objectives[r])]
        with quietly():  # the same for every restart, and said elsewhere
            data = as_trajectories(data)
            firsts = [(self, self.predict(data), np.nan)] if others else []  # of each solution, what it decodes, error
            for r in others:
                other = restart(r)
                theirs = other.predict(data)
                for number, (first, paths, _) in enumerate(firsts):
                    alike, apart = adjusted_rand_index(paths, theirs), np.nan
                    if number == 0 or alike >= SAME_ARI:
                        counterparts = np.argsort(match_by_overlap(paths, theirs, n_modes, n_modes))
                        apart = first._policy_distance(other, data, np.concatenate(paths), counterparts)
                    if number == 0:
                        ari[r], distance[r] = alike, apart
                    if alike >= SAME_ARI and apart <= SAME_POLICIES:
                        solution[r] = number
                        break
                else:
                    solution[r] = len(firsts)
                    firsts.append((other, theirs, self._difference_error(other, data)))
                error[r] = firsts[solution[r]][2]
        return RestartAgreement(kept, n_modes, ari, distance, finite[kept] - finite, solution, error)

    def _difference_error(self, other: Any, data: Trajectories) -> float:
        """Standard error of how far another fit's log-likelihood of the whole data is from this one's, in nats.

        Paired by animal, or by session where fewer than five animals are known; NaN where there are fewer than five
        sessions. Every step counts the same: √(n/(n−1) Σ (d_i − d̄ T_i)²), d_i the difference of animal i, T_i its steps
        and d̄ the difference per step.
        """
        units = animals(data.subjects)
        units = np.arange(len(data)) if units is None else units
        n = int(units.max()) + 1
        if n < ENOUGH_ANIMALS:
            return float("nan")
        with np.errstate(invalid="ignore"):  # what a fit holds impossible has −∞
            ahead = self.log_likelihood(data) - other.log_likelihood(data)
        each = np.bincount(units, weights=ahead)
        steps = np.bincount(units, weights=data.lengths)
        return float(np.sqrt(n / (n - 1) * np.sum((each - each.sum() / steps.sum() * steps) ** 2)))

    def bout_lengths(self, data: Any) -> Float[np.ndarray, "mode"]:
        """Mean length in steps that the fitted switching gives bouts of each mode, at the states of `data`.

        A mode z is left at a step with probability 1 − P_z(z|z, s_t); its mean over the steps, weighted by how
        probably each is in the mode, is one over the length. This is what `priors.Bouts(steps)` is a belief about;
        `swirl.data.segments.bouts_of` has the lengths of decoded bouts. Infinite for a mode that is never left.

        >>> from swirl import datasets
        >>> data = datasets.gridworld(n_sessions=4, n_steps=100)
        >>> data.true_model().bout_lengths(data.trajectories).round(1)
        array([17.3, 21.7])
        """
        encoded, evidence = self._ready(data)
        weights = np.concatenate(self._run(smooth_sessions, encoded, evidence))
        table = np.exp(self._chain(encoded)[1])
        leave = np.sum(np.where(np.eye(table.shape[1], dtype=bool), 0.0, table), axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return weights.sum(axis=0) / np.sum(weights * leave[encoded.states], axis=0)

    @abstractmethod
    def sample(self, n_sessions: int, n_steps: int, random_state: int = 0) -> Trajectories:
        """Simulate sessions from the fitted model; the result has `.modes`."""

    def _record_fingerprint(self, data: Trajectories | StreamedTrajectories) -> None:
        """Keep what tells the training data again."""
        signals = self.own_signals
        self.data_fingerprint_ = data.fingerprint(*signals)
        self.training_sessions_ = data.session_fingerprints(*signals)

    def fitted_to(self, data: Any) -> Bool[np.ndarray, "session"] | None:
        """Which sessions of `data` the model was fitted to; None where that is not known.

        Of sessions that are alike, as many as were fitted.
        """
        known = self.training_sessions_
        data = as_trajectories(data)
        if known is None or any(name not in (data.signals or {}) for name in self.own_signals):
            return None
        left = Counter(known.tolist())
        found = []
        for mark in data.session_fingerprints(*self.own_signals).tolist():
            found.append(left[mark] > 0)
            left[mark] -= 1
        return np.array(found, dtype=bool)

    def name_modes(self: H, names: Sequence[str]) -> H:
        """Name the modes, in their order, once you know them: figures, tables, the report and the file keep the names.

        A new fit forgets the names, as its modes may be others.

        >>> from swirl import SWIRL, datasets
        >>> model = datasets.gridworld(n_sessions=2, n_steps=20).true_model()
        >>> model.name_modes(["water", "home"]).mode_names_
        ('water', 'home')
        """
        self.check_fitted()
        n_modes = len(self.initial_modes_)
        given = [names] if isinstance(names, str) else list(names)
        if len(given) != n_modes or not all(isinstance(name, str) and name.strip() for name in given):
            raise ValueError(f"names={names!r}: expected {counted(n_modes, 'name')}, one for each mode, in their order")
        twice = sorted({name for name in given if given.count(name) > 1})
        if twice:
            raise ValueError(f"names={names!r}: {', '.join(map(repr, twice))} is there twice; give each mode its own")
        self.mode_names_ = tuple(given)
        return self

    def save(self, path: Any, *, overwrite: bool = False) -> Path:
        """Write the fitted model to one netCDF-4 file; `swirl.load(path)` reads it back."""
        from swirl.estimators.save_load import save_model

        return save_model(self, path, overwrite=overwrite)

    def _restore(self) -> None:
        """Rebuild what a file does not keep, once the stored arrays are back."""
