"""One reward that drifts with time, in the spirit of dynamic IRL (Ashwood et al. 2022): no modes, no switches.

    r_t(h) = Σ_k w_k(t) u_k(h)            π_t = the soft-optimal policy of r_t, as if it were to last

Sessions are aligned at their start and share the weights w(t), which are constant within bins of time.  The prior is
on the rewards that come of them, so that the split into weights and maps is nobody's business until the end:

    ½ λ mean_b ‖r_b‖² + ½ δ Σ_b ‖r_{b+1} − r_b‖²,      r = w u  of rank K

With one bin, or δ → ∞, it is MaxEnt (a test says so).  Planning in all bins at once is the soft-Q road's, with its
implicit gradient.
"""

from copy import copy
from functools import partial
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from swirl.data.encoding import Encoded, Impossible, Survey, encode
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.successors import Successors
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.estimators.base import Scored, as_trajectories
from swirl.estimators.discrete import DiscreteEstimator, check_env
from swirl.estimators.em_estimator import note_discount, note_temperature, temperatures, whole_number
from swirl.inference.likelihood import Evidence, reach
from swirl.inference.sampling import draw
from swirl.optimise import HIDDEN, lbfgs
from swirl.precision import float64
from swirl.rewards.soft_q import log_policy_from_rewards, soft_optimal_log_policies

STEPS_PER_CALL = 50


class _Problem(NamedTuple):
    """What the objective needs."""

    successors: Successors
    counts: Any
    """[bin, history, action]"""
    latent: Any
    """Bin, history, log P(s'|s, a) [action] and number of the moves whose action was not seen."""
    discount: Any
    temperature: Any
    strength: Any
    drift: Any


class DriftingReward(DiscreteEstimator):
    """Inverse reinforcement learning with one reward that changes smoothly over a session.

    Parameters
    ----------
    env, history, discount, temperature, impossible
        As for `SWIRL`; one temperature.
    n_maps
        Number K of maps that the rewards of all times are mixtures of.
    bin_steps
        Steps of a bin of time, counted from the session's start; what lasts longer than any training session stays in
        the last bin.
    strength, drift_strength
        λ, of the size of the rewards, and δ, of their change from bin to bin.
    n_restarts, max_iter, tol, random_state
        Random starting points, the best is kept; steps of L-BFGS; relative rise of the objective that counts as none.

    Attributes
    ----------
    maps_ : [map, history], of norm one, the most important first;  weights_ : [bin, map]
    rewards_ : [bin, history];  policies_ : [bin, history, action]
    objective_trace_, objectives_ : of the restart kept, in strides of 50 steps; of all of them at the end
    restart_agreement_ : which restarts came to the same result (`RestartAgreement`)

    Examples
    --------
    >>> from swirl.datasets import gridworld  # takes some seconds
    >>> data = gridworld(n_sessions=6, n_steps=60)
    >>> model = DriftingReward(data.env, n_maps=1, bin_steps=30, n_restarts=1, max_iter=20).fit(data.trajectories)
    >>> model.weights_.shape, model.maps_.shape
    ((2, 1), (1, 25))
    """

    stored: ClassVar[dict[str, tuple[str, ...]]] = {
        "histories": ("history", "lag"),
        "maps": ("map", "history"),
        "weights": ("bin", "map"),
        "rewards": ("bin", "history"),
        "policies": ("bin", "history", "action"),
        "log_policies": ("bin", "history", "action"),
        "mode_transitions": ("state", "mode", "next_mode"),
        "initial_modes": ("mode",),
        "initial_states": ("state",),
        "seen_states": ("state",),
        "objective_trace": ("iteration",),
        "objectives": ("restart",),
    }
    needed: ClassVar[tuple[str, ...]] = ("env", "policies", "rewards")

    def __init__(
        self,
        env: MDP,
        *,
        n_maps: int = 2,
        bin_steps: int = 50,
        history: int = 1,
        discount: float = 0.95,
        temperature: float = 1.0,
        strength: float = 1.0,
        drift_strength: float = 10.0,
        impossible: Impossible | None = None,
        n_restarts: int = 4,
        max_iter: int = 500,
        tol: float = 1e-7,
        random_state: int = 0,
    ):
        self.env = env
        self.n_maps = n_maps
        self.bin_steps = bin_steps
        self.history = history
        self.discount = discount
        self.temperature = temperature
        self.strength = strength
        self.drift_strength = drift_strength
        self.impossible: Impossible | None = impossible
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_arguments(self) -> None:
        faults = Faults()
        check_env(self.env, faults)
        for name in ("n_maps", "bin_steps", "history", "n_restarts", "max_iter"):
            whole_number(name, getattr(self, name), 1, faults)
        note_discount(self.discount, faults)
        note_temperature(self.temperature, 1, faults)
        for name in ("strength", "drift_strength", "tol"):
            value = getattr(self, name)
            if not (isinstance(value, Real) and 0 < float(value) < np.inf):
                faults.add(f"{name}={value!r}: expected a number > 0")
        whole_number("random_state", self.random_state, 0, faults)
        faults.raise_if_any(f"{type(self).__name__} cannot be fitted")

    # ------------------------------------------------------------------ fitting

    def fit(self, data: Any, y: None = None) -> "DriftingReward":
        """Maximise log-likelihood plus log-prior over weights and maps by L-BFGS, from several starting points."""
        del y  # scikit-learn's signature
        data = as_trajectories(data)
        self._check_arguments()
        histories = Histories.reachable(self.env.successors, int(self.history))
        encoded = encode(data, self.env, histories, impossible=self.impossible)
        if not encoded.telling.any():
            raise ValueError("data: no session holds an action, or two states in a row, so there is nothing to fit")
        n_bins = int(-(-data.lengths.max() // int(self.bin_steps)))
        problem = self._problem(encoded, histories, n_bins)
        rank = min(int(self.n_maps), n_bins, histories.n_histories)
        rng = np.random.default_rng(int(self.random_state))
        runs = [self._climb(problem, rng, rank) for _ in range(int(self.n_restarts))]
        self.objectives_ = np.array([trace[-1] for _, trace, _ in runs])
        best = int(np.argmax(np.where(np.isfinite(self.objectives_), self.objectives_, -np.inf)))
        rewards, trace, self.converged_ = runs[best]
        self._keep(histories, encoded, rewards, trace)
        self._record_fingerprint(data)
        self._params_at_fit = self.get_params()
        self.n_steps_, self.n_observed_ = encoded.n_steps, int(encoded.telling.sum())
        self.restart_agreement_ = self._compared(
            best, self.objectives_, lambda r: copy(self)._keep(histories, encoded, *runs[r][:2]), data
        )
        ending = "converged" if self.converged_ else "not converged: the iterations ran out; raise max_iter"
        self.fit_report_ = (
            f"{ending}. Objective {self.objective_trace_[-1]:,.3f} over {self.n_observed_:,} observed steps in "
            f"{n_bins} bins of time; {self.restart_agreement_.sentence()}."
        )
        return self

    def _problem(self, encoded: Encoded, histories: Histories, n_bins: int) -> _Problem:
        counts = np.zeros((n_bins, histories.n_histories, self.env.n_actions))
        known = encoded.actions >= 0
        bins = _bins(encoded, int(self.bin_steps), n_bins)
        np.add.at(counts, (bins[known], encoded.histories[known], encoded.actions[known]), 1.0)
        temperature = temperatures(self.temperature, 1)[0]
        numbers = (self.discount, temperature, self.strength, self.drift_strength)
        return _Problem(
            histories.successors, counts, self._latent(encoded, bins), *(np.asarray(float(x)) for x in numbers)
        )

    def _latent(self, encoded: Encoded, bins: Int[np.ndarray, "step"]) -> tuple[np.ndarray, ...] | None:
        """The distinct moves whose action was not seen, in the bins where they were made."""
        steps = np.flatnonzero(encoded.latent)
        if not len(steps):
            return None
        moves = np.column_stack([bins[steps], encoded.histories[steps], encoded.following[steps]])
        _, first, count = np.unique(moves, axis=0, return_index=True, return_counts=True)
        one = steps[first]
        with np.errstate(divide="ignore"):
            log_reach = np.log(reach(self.env, encoded.states[one], encoded.following[one]))
        return bins[one], encoded.histories[one], log_reach, count.astype(float)

    def _climb(self, problem: _Problem, rng: np.random.Generator, rank: int) -> tuple[np.ndarray, np.ndarray, bool]:
        """Rewards [bin, history], the objective's trace, and whether it stopped rising, of one starting point."""
        n_bins, n_histories, _ = problem.counts.shape
        point = {
            "weights": 1.0 + 0.3 * rng.standard_normal((n_bins, rank)),
            "maps": 0.1 * rng.standard_normal((rank, n_histories)),
        }
        trace, left, converged = [-np.inf], int(self.max_iter), False
        with float64():
            while left > 0 and not converged:
                point, objective = _improve(problem, point, min(left, STEPS_PER_CALL))
                left -= STEPS_PER_CALL
                trace.append(float(objective))
                converged = trace[-1] - trace[-2] <= float(self.tol) * abs(trace[-1])
            rewards = np.asarray(point["weights"] @ point["maps"])
        return rewards, np.array(trace[1:]), bool(converged)

    def _keep(self, histories: Histories, encoded: Encoded, rewards: np.ndarray, trace: np.ndarray) -> "DriftingReward":
        self._histories, self.histories_ = histories, histories.table
        self.rewards_, self.objective_trace_ = rewards, trace
        rank = min(int(self.n_maps), *rewards.shape)
        left, size, right = np.linalg.svd(rewards, full_matrices=False)
        sign = np.where(left[:, :rank].sum(axis=0) < 0, -1.0, 1.0)  # weights are positive on the whole
        self.maps_ = sign[:, None] * right[:rank]
        self.weights_ = left[:, :rank] * size[:rank] * sign
        self.log_policies_ = soft_optimal_log_policies(
            histories.successors,
            rewards,
            discount=float(self.discount),
            temperature=float(temperatures(self.temperature, 1)[0]),
            per_action=False,
        )
        self.policies_ = np.exp(self.log_policies_)
        survey = Survey.of(encoded, histories)
        self.initial_states_, self.seen_states_ = survey.initial_states, survey.seen_states
        self.initial_modes_ = np.ones(1)
        self.mode_transitions_ = np.ones((self.env.n_states, 1, 1))
        return self

    def _restore(self) -> None:
        self._histories = Histories.reachable(self.env.successors, int(self.history))

    # ------------------------------------------------------------------ after the fit

    def _log_table(self) -> Float[np.ndarray, "mode history option"]:
        return self._log_of("policies")

    def _policy_distance(
        self, other: Any, data: Trajectories, modes: Int[np.ndarray, "step"], counterparts: Int[np.ndarray, "mode"]
    ) -> float:
        del modes, counterparts  # there is one
        encoded = self._encode(data)
        apart = 0.5 * np.abs(self._table() - other._table()).sum(axis=-1)
        own = _bins(encoded, int(self._params_at_fit["bin_steps"]), len(apart))
        return float(apart[own, encoded.histories].mean())

    def _evidence(self, encoded: Encoded, of: Scored) -> Evidence:
        by_bin = super()._evidence(encoded, of)  # every bin's policy at every step
        own = _bins(encoded, int(self._params_at_fit["bin_steps"]), len(self.policies_))
        return by_bin._replace(log_likelihoods=np.take_along_axis(by_bin.log_likelihoods, own[:, None], axis=1))

    def sample(self, n_sessions: int, n_steps: int, random_state: int = 0) -> Trajectories:
        """Simulate sessions from the fitted model; `.modes` are all 0."""
        self.check_fitted()
        rng = np.random.default_rng(random_state)
        tables = self._histories.successors
        following, probability = np.asarray(tables.next), np.asarray(tables.probability)
        h = draw(np.broadcast_to(self.initial_states_, (n_sessions, self.env.n_states)), rng)
        states, actions = np.empty((2, n_sessions, n_steps), dtype=np.int64)
        for t in range(n_steps):
            now = min(t // int(self._params_at_fit["bin_steps"]), len(self.policies_) - 1)
            a = draw(self.policies_[now, h], rng)
            states[:, t], actions[:, t] = self._histories.states[h], a
            h = following[h, a, draw(probability[h, a], rng)]
        return Trajectories(
            list(states),
            list(actions),
            modes=list(np.zeros_like(states)),
            n_states=self.env.n_states,
            n_actions=self.env.n_actions,
            state_names=self.env.state_names,
            action_names=self.env.action_names,
        )


def _bins(encoded: Encoded, bin_steps: int, n_bins: int) -> Int[np.ndarray, "step"]:
    """Bin of time of each step, from the start of its session."""
    lengths = np.diff(encoded.sessions)
    since = np.arange(encoded.n_steps) - np.repeat(encoded.sessions[:-1], lengths)
    return np.minimum(since // bin_steps, n_bins - 1)


def _objective(problem: _Problem, point: dict[str, Array]) -> Float[Array, ""]:
    """Log-likelihood plus log-prior."""
    rewards = point["weights"] @ point["maps"]
    log_pi = log_policy_from_rewards(
        problem.successors,
        rewards,
        discount=problem.discount,
        temperature=problem.temperature,
        per_action=False,
    )
    available = jnp.asarray(problem.successors.available)
    fit = jnp.sum(jnp.where(available, problem.counts * jnp.where(available, log_pi, 0.0), 0.0))
    if problem.latent is not None:
        bins, histories, log_reach, number = problem.latent
        fit += jnp.sum(number * jax.nn.logsumexp(jnp.where(log_reach > -jnp.inf, log_pi[bins, histories] + log_reach,
                                                           HIDDEN), axis=-1))  # fmt: skip
    size = jnp.sum(rewards**2) / rewards.shape[0]
    change = jnp.sum(jnp.diff(rewards, axis=0) ** 2)
    return fit - 0.5 * problem.strength * size - 0.5 * problem.drift * change


@partial(jax.jit, static_argnames="steps")
def _improve(problem: _Problem, point: dict[str, Any], steps: int) -> tuple[dict[str, Array], Float[Array, ""]]:
    solution = lbfgs(lambda x: -_objective(problem, x), point, tol=1e-6, max_steps=steps)
    return solution.x, -solution.value
