"""Model-free SWIRL: hidden modes, with policies by IQ-Learn from steps alone (paper Appendix C; design.md#iq-learn)."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Literal, cast

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.special import logsumexp

from swirl.data.encoding import Encoded, Impossible, Survey, encode
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.estimators.base import Scored
from swirl.estimators.discrete import (
    DiscreteEstimator,
    check_env,
    latent_choices,
    with_latent,
)
from swirl.estimators.em_estimator import (
    EMEstimator,
    Problem,
    note_discount,
    note_temperature,
    temperatures,
    whole_number,
)
from swirl.inference.engines import emission_counts
from swirl.inference.estep.counts import Chains, LatentChoices, Tables
from swirl.inference.first_steps import WARM_UP
from swirl.inference.likelihood import reach
from swirl.inference.mstep import Components
from swirl.precision import float64, numpy_tree
from swirl.priors import Cauchy, Gaussian
from swirl.rewards.backoff import BackoffPenalty
from swirl.rewards.gauge import canonical
from swirl.rewards.iq_learn import InverseQ
from swirl.rewards.state import StateReward
from swirl.rewards.tables import group_mean, to_dense
from swirl.switching import Fixed, build_switching

StateRewardKind = Literal["projected", "marginal"]
PROJECTION_STEPS = 300


class IQLearn(EMEstimator, DiscreteEstimator):
    """Model-free S-2: IQ-Learn's Q(h, a) in each mode, with the switching of SWIRL.

    Fitting uses only which states followed which actions in the data; where an action is missing, also how likely each
    action leads to the next state.  The environment, where it is given, numbers the histories and turns Q into rewards
    afterwards.

    Parameters
    ----------
    env
        None: not known. Histories are then those seen in the data, rewards are read along the successors seen, and
        only actions can be scored.
    n_modes, history, switching, discount, temperature, switching_prior, impossible
        As for `SWIRL`.
    strength
        λ of the penalty ½ λ r² on the reward of each visited step. ½ is IQ-Learn's χ², φ(x) = x − x²/4, which biases
        the policy: folds of the gridworld's training sessions prefer 0.005 to 0.05.
    q_prior
        ``priors.Gaussian`` on the advantages (in units of logits), where longer histories can back off to shorter ones.
    n_restarts, max_iter, tol, random_state
        As for `SWIRL`.

    Attributes
    ----------
    q_ : [mode, history, action];  policies_ : [mode, history, action], its softmax
    rewards_ : [mode, history, action], r = Q − γ E[V(h')]; NaN where no successor is known
    visits_ : [mode, history, action], expected in training
    histories_, mode_transitions_, initial_modes_, initial_states_, occupancy_, objective_trace_, … : as for `SWIRL`

    Examples
    --------
    >>> from swirl.datasets import gridworld
    >>> data = gridworld(n_sessions=8, n_steps=100)
    >>> IQLearn(data.env, n_modes=3, n_restarts=2)  # .fit(data.trajectories).state_rewards(): [mode, history]
    IQLearn(env=MDP(25 states, 5 actions, deterministic), n_modes=3, n_restarts=2)
    """

    stored: ClassVar[dict[str, tuple[str, ...]]] = {
        "histories": ("history", "lag"),
        "q": ("mode", "history", "action"),
        "policies": ("mode", "history", "action"),
        "log_policies": ("mode", "history", "action"),
        "rewards": ("mode", "history", "action"),
        "visits": ("mode", "history", "action"),
        "seen_next": ("seen_state", "seen_action", "seen_branch"),
        "seen_probability": ("seen_state", "seen_action", "seen_branch"),
        "seen_known": ("seen_state", "seen_action"),
        "mode_temperatures": ("mode",),
        "mode_transitions": ("state", "mode", "next_mode"),
        "initial_modes": ("mode",),
        "initial_states": ("state",),
        "occupancy": ("mode",),
        "seen_states": ("state",),
        "objective_trace": ("iteration",),
        "log_likelihoods": ("iteration",),
    }
    needed: ClassVar[tuple[str, ...]] = ("q", "policies", "seen_next", "seen_probability", "seen_known")

    def __init__(
        self,
        env: MDP | None = None,
        *,
        n_modes: int = 2,
        history: int = 2,
        switching: str | Fixed = "state",
        discount: float = 0.95,
        temperature: float | Sequence[float] | Float[np.ndarray, "mode"] = 1.0,
        strength: float = 0.01,
        q_prior: Gaussian | None = None,
        switching_prior: Any = None,
        impossible: Impossible | None = None,
        n_restarts: int = 8,
        max_iter: int = 2000,
        tol: float = 0.01,
        random_state: Any = 0,
    ):
        self.env: Any = env
        self.n_modes = n_modes
        self.history = history
        self.switching = switching
        self.discount = discount
        self.temperature = temperature
        self.strength = strength
        self.q_prior = q_prior
        self.switching_prior = switching_prior
        self.impossible: Impossible | None = impossible
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    # ------------------------------------------------------------------ fitting

    @property
    def world(self) -> MDP:
        """The environment, or what training saw of it."""
        if self.env is not None:
            return self.env
        return MDP.from_successors(self.seen_next_, self.seen_probability_)

    @property
    def score_types(self) -> tuple[Scored, ...]:
        """What the model gives a likelihood of; where an action leads is known only with an environment."""
        return ("action",) if self.env is None else ("action", "next_state")

    def _argument_faults(self, faults: Faults) -> None:
        if self.env is not None:
            check_env(self.env, faults)
        whole_number("history", self.history, 1, faults)
        note_discount(self.discount, faults)
        note_temperature(self.temperature, self.n_modes, faults)
        if not (isinstance(self.strength, Real) and 0 <= self.strength < np.inf):
            faults.add(f"strength={self.strength!r}: expected a number ≥ 0; 0.5 is IQ-Learn's")
        if not isinstance(self.q_prior, Gaussian | None):
            faults.add(f"q_prior={self.q_prior!r}: expected priors.Gaussian")

    def _encode(self, data: Trajectories) -> Encoded:
        # Without an environment, a move that training never saw only ends the history: nothing says it is a fault.
        impossible = self.impossible if self.env is not None else "forget"
        return encode(data, self.world, self._histories, impossible=impossible)

    def _problem(self, data: Trajectories) -> Problem:
        self.seen_next_, self.seen_probability_, self.seen_known_ = _seen(data, self.env)
        self._histories = Histories.reachable(self.world.successors, int(self.history))
        encoded = self._encode(data)
        if not encoded.telling.any():
            raise ValueError("data: no session holds an action, or two states in a row, so there is nothing to fit")
        if self.env is None and encoded.n_observed == 0:
            raise ValueError(
                "data: no action was observed in any session; pass actions=, one list per session, or env=, which says "
                "what action leads from state to state"
            )
        triples, chains, latent = _triples(encoded, self._histories, self.world, self._possible_actions())
        survey = Survey.of(encoded, self._histories)
        components = self.build_components(self._histories, triples, survey.visits.astype(float))
        return Problem(encoded, chains, replace(components, latent=latent), (self._histories, chains), survey)

    def _possible_actions(self) -> Bool[np.ndarray, "state action"]:
        """Actions that a missing one may have been: without an environment, those that were seen to lead somewhere."""
        return self.world.available if self.env is not None else self.seen_known_

    def build_components(
        self,
        histories: Histories,
        triples: Int[np.ndarray, "symbol part"],
        visits: Float[np.ndarray, "state"] | None = None,
    ) -> Components:
        """Make what EM moves; `triples` are the distinct (h, a, h') of the data, h' = −1 where there is none.

        `visits` are the data's steps in each state.
        """
        n_modes, world = int(self.n_modes), self.world
        prior = self.q_prior or DEFAULT_Q_PRIOR
        component = InverseQ(
            histories=triples[:, 0],
            actions=triples[:, 1],
            following=np.maximum(triples[:, 2], 0),
            has_next=triples[:, 2] >= 0,
            available=np.asarray(histories.successors.available),
            penalty=BackoffPenalty.build(histories, prior),
            discount=np.asarray(float(self.discount)),
            temperature=temperatures(self.temperature, n_modes),
            strength=np.asarray(float(self.strength)),
        )
        switching = build_switching(self.switching, world.n_states, n_modes, self.switching_prior, visits)
        return Components(component, switching, initial_pseudocount=np.asarray(1.0))

    def _record_training(self, data: Trajectories, problem: Problem) -> None:
        del data
        self.initial_states_, self.seen_states_ = problem.survey.initial_states, problem.survey.seen_states

    def _restored_context(self) -> tuple[Components, Any]:
        nothing = np.zeros((0, 3), dtype=np.int32)
        return self.build_components(self._histories, nothing), (self._histories, None)

    def _restore(self) -> None:
        self._histories = Histories.reachable(self.world.successors, int(self.history))

    def _set_fitted(self, tables: Tables, fitted: np.ndarray, order: np.ndarray) -> None:
        histories, chains = self._context
        self._histories, self.histories_ = histories, histories.table
        self.q_ = np.where(np.asarray(histories.successors.available), fitted, -np.inf)[order]
        self.mode_temperatures_ = temperatures(self._params_at_fit["temperature"], len(order))[order]
        scaled = self.q_ / self.mode_temperatures_[:, None, None]
        values = np.asarray(logsumexp(scaled, axis=-1))
        self.log_policies_ = scaled - values[..., None]
        self.policies_ = np.exp(self.log_policies_)
        self.rewards_ = self._read_rewards(self.mode_temperatures_[:, None] * values)
        if chains is None:
            vars(self).pop("visits_", None)  # a file keeps those of the restart that was saved
            return
        counts = expected_visits(tables, chains, self._components, self.policies_.shape)
        self.visits_ = counts[order]

    def _read_rewards(self, values: Float[np.ndarray, "mode history"]) -> Float[np.ndarray, "mode history action"]:
        """r(h, a) = Q(h, a) − γ E[V(h')|h, a]: by the environment, or along the successors seen where there is none."""
        tables = self._histories.successors
        expected = np.sum(np.asarray(tables.probability) * values[:, np.asarray(tables.next)], axis=-1)
        known = np.asarray(tables.available)
        if self.env is None:
            known = known & self.seen_known_[self._histories.states]
        return np.where(known, self.q_ - self._params_at_fit["discount"] * expected, np.nan)

    # ------------------------------------------------------------------ after the fit

    def _log_table(self) -> Float[np.ndarray, "mode history option"]:
        return self._log_of("policies")

    def reward_table(self, gauge: str = "fitted") -> Float[np.ndarray, "mode *dense"]:
        """Rewards r(h, a) as a dense table [mode, s_t, s_{t−1}, …, action]; NaN where none is known.

        Parameters
        ----------
        gauge
            ``"fitted"``: as IQ-Learn's penalty left it. ``"canonical"``: the least-norm member of the rewards that
            have the same policies; it needs an environment.
        """
        return to_dense(self.reward_tables(gauge), self._histories)

    @property
    def gauges(self) -> tuple[str, ...]:
        """Gauges of `reward_tables`; without an environment only the fitted one."""
        return ("fitted",) if self.env is None else ("fitted", "canonical")

    def reward_tables(self, gauge: str) -> Float[np.ndarray, "mode history action"]:
        """Rewards [mode, history, action] in one of `gauges`, as `reward_table` has them in dense form."""
        self.check_fitted()
        if gauge == "fitted":
            return self.rewards_
        if gauge != "canonical":
            raise ValueError(f'gauge={gauge!r}: expected "fitted" or "canonical"')
        self._check_env("gauge='canonical'")
        return self._canonical(self.rewards_)

    def known_reward_map(self) -> Float[np.ndarray, "mode state"]:
        """Reward of each state as maps show it: `reward_map("marginal")`."""
        return self.reward_map("marginal")

    def _check_env(self, what: str) -> None:
        if self.env is None:
            raise ValueError(f"{what}: needs to know where each action leads; give env= when building the model")

    def _canonical(self, rewards: np.ndarray) -> np.ndarray:
        histories = self._histories
        discount = self._params_at_fit["discount"]
        return canonical(rewards, histories.successors, discount=discount, full_length=histories.full_length)

    def state_rewards(self, kind: StateRewardKind = "projected") -> Float[np.ndarray, "mode history"]:
        """A reward r(h) without an action argument, read from the fitted policies.

        Parameters
        ----------
        kind
            ``"marginal"``: Σ_a π(a|h) r(h, a), as in the paper; it depends on the gauge that the penalty picked.
            ``"projected"``: the r(h) whose soft-optimal policy is nearest to the fitted one where the mode goes
            (Kullback–Leibler, under the default prior of `SWIRL`), in the least-norm gauge; it needs an environment.
        """
        self.check_fitted()
        if kind == "marginal":
            weights = np.where(np.isnan(self.rewards_), 0.0, self.policies_)
            total = weights.sum(axis=-1)
            sums = np.sum(weights * np.nan_to_num(self.rewards_), axis=-1)
            return np.divide(sums, total, out=np.full_like(sums, np.nan), where=total > 0)
        if kind != "projected":
            raise ValueError(f'kind={kind!r}: expected "projected" or "marginal"')
        self._check_env("kind='projected'")
        if not hasattr(self, "visits_"):
            raise ValueError("kind='projected': a file keeps the visits of the saved restart only; fit the model again")
        return self._project()

    def _project(self) -> Float[np.ndarray, "mode history"]:
        histories = self._histories
        n_modes, n_actions = len(self.initial_modes_), self.policies_.shape[2]
        expected = self.visits_.sum(axis=-1, keepdims=True) * self.policies_
        counts = np.zeros((n_modes, histories.n_contexts, n_actions))
        np.add.at(counts.swapaxes(0, 1), histories.contexts, expected.swapaxes(0, 1))
        exact = StateReward.build(
            histories,
            Cauchy(),
            discount=float(self._params_at_fit["discount"]),
            temperature=self.mode_temperatures_,
        )
        counts = counts.reshape(n_modes, -1).T
        values = jax.tree.map(np.zeros_like, exact.random_parameters(np.random.default_rng(0), 1.0))
        with float64():  # first under the milder prior, as EM does
            values, _ = numpy_tree(_climbed(exact.warm_up() or exact, values, counts, np.asarray(WARM_UP)))
            _, rewards = numpy_tree(_climbed(exact, values, counts, np.asarray(PROJECTION_STEPS)))
        return self._canonical(rewards)

    def state_reward_table(self, kind: StateRewardKind = "projected") -> Float[np.ndarray, "mode *dense"]:
        """`state_rewards` as a dense table [mode, s_t, s_{t−1}, …], to compare with other rewards r(h)."""
        return to_dense(self.state_rewards(kind), self._histories)

    def reward_map(self, kind: StateRewardKind = "projected") -> Float[np.ndarray, "mode state"]:
        """Reward of each state: the unweighted mean of `state_rewards` over reachable earlier states; NaN where no
        full-length history has a known one."""
        full = self._histories.full_length
        return group_mean(self.state_rewards(kind)[:, full], self._histories.states[full], self._histories.n_states)


DEFAULT_Q_PRIOR = Gaussian(3.0, backoff=100.0)


@jax.jit
def _climbed(
    exact: StateReward, start: Any, counts: Float[Array, "symbol mode"], steps: Int[Array, ""]
) -> tuple[Any, Float[Array, "mode history"]]:
    """Raise Σ W log π + log prior over r(h): the values after some steps, and their rewards."""
    values = jax.lax.fori_loop(0, steps, lambda _, p: exact.improve(p, counts), start)
    return values, exact.fitted(values)


def expected_visits(
    tables: Tables, chains: Chains, components: Components, shape: tuple[int, ...]
) -> Float[np.ndarray, "mode history action"]:
    """Expected visits to each (history, action) in each mode, from one more E-step."""
    visits, latent = np.zeros(shape), components.latent
    with float64():
        log_emissions = tables.log_emissions if latent is None else np.asarray(latent.extend(tables.log_emissions))
        counts = emission_counts(replace(tables, log_emissions=log_emissions), chains)
        counts = counts if latent is None else np.asarray(latent.resolve(tables.log_emissions, counts))
    symbols = cast(InverseQ, components.emissions)
    np.add.at(visits.transpose(1, 2, 0), (np.asarray(symbols.histories), np.asarray(symbols.actions)), counts)
    return visits


def _triples(
    encoded: Encoded, histories: Histories, world: MDP, possible: Bool[np.ndarray, "state action"]
) -> tuple[Int[np.ndarray, "symbol part"], Chains, LatentChoices | None]:
    """Distinct (h, a, h') of the data, which of them each step is, and which a step without an action may have been.

    h' = −1 at the end of a chain and where the move that follows is impossible: it is not where the action led.
    """
    n_actions, n_after = world.n_actions, histories.n_histories + 1
    after = np.zeros(encoded.n_steps, dtype=np.int64)  # h' + 1
    now = np.flatnonzero(encoded.following >= 0)
    after[now] = encoded.histories[now + 1] + 1
    here = encoded.histories.astype(np.int64)
    observed = np.flatnonzero(encoded.actions >= 0)
    seen = (here[observed] * n_actions + encoded.actions[observed]) * n_after + after[observed]

    latent = np.flatnonzero(encoded.latent)
    chances = reach(world, encoded.states[latent], encoded.following[latent], possible)
    latent = latent[chances.any(axis=1)]
    _, first, which = np.unique(here[latent] * n_after + after[latent], return_index=True, return_inverse=True)
    chances = chances[chances.any(axis=1)][first]
    one = latent[first]
    ways = (here[one, None] * n_actions + np.arange(n_actions)) * n_after + after[one, None]

    numbers = np.unique(np.concatenate([seen, ways[chances > 0]]))
    pairs, onward = np.divmod(numbers, n_after)
    triples = np.column_stack([pairs // n_actions, pairs % n_actions, onward - 1]).astype(np.int32)
    symbols = np.full(encoded.n_steps, len(triples), dtype=np.int32)
    symbols[observed] = np.searchsorted(numbers, seen)
    chains = Chains(symbols, encoded.states, encoded.chains, len(triples), world.n_states)
    places = np.minimum(np.searchsorted(numbers, ways), len(numbers) - 1)
    choices = latent_choices(places, chances)
    return triples, with_latent(chains, choices, latent, which.reshape(-1)), choices


def _seen(data: Trajectories, env: MDP | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where each action led in the data: successors, their shares, and which (state, action) were seen to lead
    anywhere; one that was not may lead to any state that followed.  Nothing of it is used where `env` is known."""
    if env is not None:
        return np.zeros((1, 1, 1), np.int32), np.ones((1, 1, 1)), np.ones((1, 1), bool)
    n_states, n_actions = data.n_states, data.n_actions
    flat = data.flat()
    now = np.flatnonzero(~flat.starts[1:])
    states, actions, following = flat.states[now], flat.actions[now], flat.states[now + 1]
    counts = np.zeros((n_states, n_actions, n_states))
    np.add.at(counts, (states[actions >= 0], actions[actions >= 0], following[actions >= 0]), 1.0)
    by_any = np.zeros((n_states, n_states))
    np.add.at(by_any, (states, following), 1.0)
    left = by_any.sum(axis=1) > 0
    by_any[~left] = np.eye(n_states)[~left]
    known = counts.sum(axis=-1) > 0
    table = np.where(known[..., None], counts, by_any[:, None])
    table = table / table.sum(axis=-1, keepdims=True)
    order = np.argsort(-table, axis=-1, kind="stable")[..., : int((table > 0).sum(axis=-1).max())]
    return order.astype(np.int32), np.take_along_axis(table, order, axis=-1), known
