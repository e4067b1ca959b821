"""Model-free SWIRL where states are feature vectors: IQ-Learn with a small network in each mode (paper Appendix C)."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import log_softmax, logsumexp

from swirl.data.encoding import Encoded
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.estimators.base import Scored, as_trajectories
from swirl.estimators.continuous import check_switching, read_signal
from swirl.estimators.em_estimator import (
    EMEstimator,
    Problem,
    note_discount,
    note_temperature,
    temperatures,
    whole_number,
)
from swirl.inference.estep.counts import Chains, Tables
from swirl.inference.likelihood import Evidence
from swirl.inference.mstep import Components
from swirl.priors import Bouts, Dirichlet
from swirl.rewards.iq_network import InverseQNetwork
from swirl.switching import Fixed, build_switching


class IQNetwork(EMEstimator):
    """IQ-Learn's Q(x, a) from a network of one hidden layer in each mode; x are the last feature vectors.

    It tells modes apart, and what each prefers to do where (`policies`, `step_log_preferences`); it has no reward.

    Parameters
    ----------
    signal
        Which of the data's signals holds the features, an array (T, d) per session. Actions are labels, as ever.
    n_modes, discount, temperature, n_restarts, max_iter, tol, random_state
        As for `SWIRL`.
    history
        Number of feature vectors seen: x_t, x_{t−1}, …; before the start they are zero, and a flag says so.
    switching
        ``"independent"``, ``"fixed"`` (one mode per session) or ``switching.Fixed(table)``: there is no labelled state
        for it to depend on.
    strength
        λ of the penalty ½ λ r² on each visited step, r its log-preference; ½ is IQ-Learn's χ².
    hidden, decay
        Units of the hidden layer; precision of the normal prior on the weights. With a weak one the networks learn the
        noise of single steps.

    Attributes
    ----------
    weights_ : dict of arrays with a leading axis for the mode
    mode_transitions_ : [1, mode, next_mode];  initial_modes_, occupancy_, objective_trace_, … : as for `SWIRL`

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> places = [rng.normal(size=(50, 2)) for _ in range(3)]
    >>> data = Trajectories.from_signals({"place": places}, [(x[:, 0] > 0).astype(int) for x in places])
    >>> data.n_actions
    2
    >>> IQNetwork("place", n_modes=3, hidden=4)  # .fit(data).policies(data): per session [step, mode, action]
    IQNetwork(signal='place', n_modes=3, hidden=4)
    """

    refit_fault: ClassVar[str] = "refits of its networks have not been tried"
    stored: ClassVar[dict[str, tuple[str, ...]]] = {
        "input_weights": ("mode", "feature", "hidden"),
        "input_bias": ("mode", "hidden"),
        "output_weights": ("mode", "hidden", "action"),
        "output_level": ("mode", "action"),
        "feature_mean": ("channel",),
        "feature_scale": ("channel",),
        "mode_temperatures": ("mode",),
        "mode_transitions": ("state", "mode", "next_mode"),
        "initial_modes": ("mode",),
        "occupancy": ("mode",),
        "objective_trace": ("iteration",),
        "log_likelihoods": ("iteration",),
    }
    needed: ClassVar[tuple[str, ...]] = ("input_weights", "input_bias", "output_weights", "output_level")
    retired: ClassVar[tuple[str, ...]] = ("batch_size", "n_batches")
    retired_leaves: ClassVar[slice] = slice(-12, -1)  # what minibatches remembered

    def __init__(
        self,
        signal: str = "signal",
        *,
        n_modes: int = 2,
        history: int = 1,
        switching: str | Fixed = "independent",
        discount: float = 0.95,
        temperature: float | Sequence[float] | Float[np.ndarray, "mode"] = 1.0,
        strength: float = 0.01,
        hidden: int = 32,
        decay: float = 1.0,
        switching_prior: Dirichlet | Bouts | None = None,
        n_restarts: int = 4,
        max_iter: int = 2000,
        tol: float = 0.01,
        random_state: Any = 0,
    ):
        self.signal = signal
        self.n_modes = n_modes
        self.history = history
        self.switching = switching
        self.discount = discount
        self.temperature = temperature
        self.strength = strength
        self.hidden = hidden
        self.decay = decay
        self.switching_prior = switching_prior
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @property
    def score_types(self) -> tuple[Scored, ...]:
        """What the model gives a likelihood of: actions."""
        return ("action",)

    def _argument_faults(self, faults: Faults) -> None:
        if not isinstance(self.signal, str):
            faults.add(f"signal={self.signal!r}: expected the name of one of the data's signals")
        for name in ("history", "hidden"):
            whole_number(name, getattr(self, name), 1, faults)
        note_discount(self.discount, faults)
        note_temperature(self.temperature, self.n_modes, faults)
        for name in ("strength", "decay"):
            value = getattr(self, name)
            if not (isinstance(value, Real) and 0 <= float(value) < np.inf):
                faults.add(f"{name}={value!r}: expected a number ≥ 0")

    @property
    def own_signals(self) -> tuple[str, ...]:
        """The signal that is fitted."""
        return (self.signal,)

    # ------------------------------------------------------------------ fitting

    def _problem(self, data: Trajectories) -> Problem:
        check_switching(self.switching)
        encoded, values = read_signal(data, self.signal)
        known = ~np.isnan(values)
        count = np.maximum(known.sum(axis=0), 1)
        self.feature_mean_ = np.where(known, values, 0.0).sum(axis=0) / count
        spread = np.sqrt(np.sum(np.where(known, values - self.feature_mean_, 0.0) ** 2, axis=0) / count)
        self.feature_scale_ = np.where(spread > 0, spread, 1.0)
        inputs, observed = self._inputs(encoded, values, int(self.history))
        rows = np.flatnonzero(observed)
        if len(rows) == 0:
            raise ValueError("data: no action was observed at a step with features in any session; pass actions=")
        has_next = _followed(encoded, values)
        symbols = np.full(encoded.n_steps, len(rows), dtype=np.int32)
        symbols[rows] = np.arange(len(rows))
        chains = Chains(symbols, encoded.states, encoded.chains, len(rows), 1)
        component = self._component(inputs, rows, encoded.actions[rows], has_next[rows], data.n_actions)
        return Problem(encoded, chains, self._components_of(component))

    def _inputs(
        self, encoded: Encoded, values: Float[np.ndarray, "step channel"], history: int
    ) -> tuple[Float[np.ndarray, "step feature"], Bool[np.ndarray, "step"]]:
        """Scaled features of the last `history` steps of the chain with a flag each, and which steps can be scored."""
        missing = _missing(values)
        scaled = np.where(missing[:, None], 0.0, (values - self.feature_mean_) / self.feature_scale_)
        lengths = np.diff(encoded.chains)
        age = np.arange(encoded.n_steps) - np.repeat(encoded.chains[:-1], lengths)
        parts = []
        for back in range(history):
            place = np.maximum(np.arange(encoded.n_steps) - back, 0)
            there = (age >= back) & ~missing[place]
            parts += [np.where(there[:, None], scaled[place], 0.0), there[:, None].astype(float)]
        # With one step of history the flag is always on where a step is scored, so it would say nothing.
        inputs = np.concatenate(parts if history > 1 else parts[:1], axis=1)
        return inputs, (encoded.actions >= 0) & ~missing

    def _component(
        self, inputs: np.ndarray, rows: np.ndarray, actions: np.ndarray, has_next: np.ndarray, n_actions: int
    ) -> InverseQNetwork:
        return InverseQNetwork(
            inputs=inputs,
            rows=rows.astype(np.int32),
            actions=actions.astype(np.int32),
            has_next=has_next,
            discount=np.asarray(float(self.discount)),
            temperature=temperatures(self.temperature, int(self.n_modes)),
            strength=np.asarray(float(self.strength)),
            decay=np.asarray(float(self.decay)),
            n_actions=n_actions,
            hidden=int(self.hidden),
        )

    def _components_of(self, component: InverseQNetwork) -> Components:
        switching = build_switching(self.switching, 1, int(self.n_modes), self.switching_prior)
        return Components(component, switching, initial_pseudocount=np.asarray(1.0))

    def _record_training(self, data: Trajectories, problem: Problem) -> None:
        """Nothing else."""

    def _set_fitted(self, tables: Tables, fitted: Any, order: np.ndarray) -> None:
        del tables
        self.input_weights_, self.input_bias_ = fitted["input"][order], fitted["bias"][order]
        self.output_weights_, self.output_level_ = fitted["output"][order], fitted["level"][order]
        self.mode_temperatures_ = temperatures(self._params_at_fit["temperature"], len(order))[order]

    @property
    def weights_(self) -> dict[str, np.ndarray]:
        """The networks, with a leading axis for the mode."""
        return {
            "input": self.input_weights_,
            "bias": self.input_bias_,
            "output": self.output_weights_,
            "level": self.output_level_,
        }

    def _restored_context(self) -> tuple[Components, Any]:
        """Components without data: enough to read restarts."""
        none = np.zeros(0, dtype=np.int32)
        inputs = np.zeros((1, self.input_weights_.shape[1]))
        component = self._component(inputs, none, none, none.astype(bool), self.output_weights_.shape[2])
        return self._components_of(component), None

    # ------------------------------------------------------------------ after the fit

    def _q(
        self, data: Trajectories
    ) -> tuple[Encoded, Float[np.ndarray, "mode step action"], Bool[np.ndarray, "step"], Bool[np.ndarray, "step"]]:
        """Q of each step, which steps can be scored, and which of all steps have a successor."""
        encoded, values = read_signal(data, self._params_at_fit["signal"], len(self.feature_mean_))
        inputs, observed = self._inputs(encoded, values, int(self._params_at_fit["history"]))
        units = np.tanh(np.einsum("tf,zfh->zth", inputs, self.input_weights_) + self.input_bias_[:, None])
        q = np.einsum("zth,zha->zta", units, self.output_weights_) + self.output_level_[:, None]
        if data.n_actions > q.shape[2]:
            raise ValueError(
                f"data has {data.n_actions} actions: the model was fitted to {q.shape[2]}; fit it to data with all of "
                "them, or give n_actions= when building the training data"
            )
        return encoded, q, observed, _followed(encoded, values)

    def _read(self, data: Trajectories, of: Scored) -> tuple[Encoded, Evidence]:
        del of  # there is one currency
        encoded, q, observed, _ = self._q(data)
        log_pi = log_softmax(q / self.mode_temperatures_[:, None, None], axis=-1)
        log_likelihoods = np.zeros((encoded.n_steps, len(q)))
        now = np.flatnonzero(observed)
        log_likelihoods[now] = log_pi[:, now, encoded.actions[now]].T
        return encoded, Evidence(log_likelihoods, observed, np.zeros_like(observed))

    def policies(self, data: Any) -> list[Float[np.ndarray, "time mode action"]]:
        """π_z(a|x_t) at each step."""
        self.check_fitted()
        encoded, q, *_ = self._q(as_trajectories(data))
        pi = np.exp(log_softmax(q / self.mode_temperatures_[:, None, None], axis=-1))
        return encoded.split_sessions(pi.swapaxes(0, 1))

    def _policy_distance(
        self, other: Any, data: Trajectories, modes: Int[np.ndarray, "step"], counterparts: Int[np.ndarray, "mode"]
    ) -> float:
        steps = np.arange(len(modes))
        mine, theirs = (np.concatenate(model.policies(data)) for model in (self, other))
        return float(0.5 * np.abs(mine[steps, modes] - theirs[steps, counterparts[modes]]).sum(axis=-1).mean())

    def step_log_preferences(self, data: Any) -> list[Float[np.ndarray, "time mode"]]:
        """Log-preference of each mode for what was done, Q_z(x_t, a_t) − γ V_z(x_{t+1}).

        It is not what the mode wants.  Of all Q that have the same policy IQ-Learn's penalty takes the one that makes
        this smallest, near α log π_z(a_t|x_t): it is lowest where the mode is undecided, which it may be at its goal.
        NaN where action or successor is missing.
        """
        self.check_fitted()
        encoded, q, observed, followed = self._q(as_trajectories(data))
        temperature = self.mode_temperatures_[:, None]
        values = temperature * np.asarray(logsumexp(q / temperature[..., None], axis=-1))
        now = np.flatnonzero(observed & followed)
        r = np.full((encoded.n_steps, len(q)), np.nan)
        r[now] = (q[:, now, encoded.actions[now]] - self._params_at_fit["discount"] * values[:, now + 1]).T
        return encoded.split_sessions(r)

    def sample(self, n_sessions: int, n_steps: int, random_state: int = 0) -> Trajectories:
        """Not possible: nothing here says where an action leads."""
        del n_sessions, n_steps, random_state
        raise ValueError(
            "IQNetwork cannot sample: it knows what the animal does, not where that leads in feature space; draw "
            "actions from policies(data) in your own simulator"
        )


def _missing(values: Float[np.ndarray, "step channel"]) -> Bool[np.ndarray, "step"]:
    """Steps at which some feature was not seen."""
    return np.asarray(np.isnan(values).any(axis=1))


def _followed(encoded: Encoded, values: Float[np.ndarray, "step channel"]) -> Bool[np.ndarray, "step"]:
    """Steps after which the same chain goes on with features that were seen."""
    inside = np.ones(encoded.n_steps, dtype=bool)
    inside[encoded.chains[1:] - 1] = False
    return inside & np.append(~_missing(values)[1:], False)
