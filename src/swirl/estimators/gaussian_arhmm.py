"""Continuous ARHMM: in each mode the next observation is a linear function of the last few, plus noise.

What MoSeq users mean by the word (paper §2, §3.5): tracked positions, or principal components of pose.
"""

from typing import Any, ClassVar

import numpy as np

from swirl.data.encoding import Encoded
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.estimators.autoregression import Autoregression, MatrixNormal, Units, log_densities, usable_steps
from swirl.estimators.base import Scored
from swirl.estimators.continuous import check_switching, read_signal
from swirl.estimators.em_estimator import EMEstimator, Problem, whole_number
from swirl.inference.estep.counts import Chains, Tables
from swirl.inference.likelihood import Evidence
from swirl.inference.mstep import Components
from swirl.inference.sampling import draw
from swirl.priors import Bouts, Dirichlet
from swirl.switching import Fixed, build_switching


class GaussianARHMM(EMEstimator):
    """Autoregressive hidden Markov model of a continuous signal.

    Parameters
    ----------
    signal
        Which of the data's signals, an array (T, d) per session; NaN where nothing was seen.
    n_modes
        Number of hidden modes.
    lags
        Number of past observations that the next one depends on; 0 is a Gaussian HMM.
    switching
        ``"independent"``, ``"fixed"`` (one mode per session) or ``switching.Fixed(table)``.
    prior
        `autoregression.MatrixNormal`: on coefficients and covariances, in units of the data's own spread.
    switching_prior, n_restarts, max_iter, tol, random_state
        As for `SWIRL`.

    Attributes
    ----------
    coefficients_ : [mode, channel, input]; inputs are x_t, x_{t−1}, …, and 1
    covariances_ : [mode, channel, channel]
    mode_transitions_ : [1, mode, next_mode];  initial_modes_, occupancy_, objective_trace_, … : as for `SWIRL`

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> walk = [np.cumsum(rng.normal(size=(60, 2)), axis=0) for _ in range(3)]
    >>> data = Trajectories.from_signals({"position": walk})
    >>> model = GaussianARHMM("position", n_modes=2, n_restarts=2, max_iter=10).fit(data)
    >>> model.coefficients_.shape, model.n_scored(data)
    ((2, 2, 3), 177)
    """

    family: ClassVar[str] = "an autoregressive hidden Markov model"
    stored: ClassVar[dict[str, tuple[str, ...]]] = {
        "coefficients": ("mode", "channel", "input"),
        "covariances": ("mode", "channel", "other_channel"),
        "start_mean": ("channel",),
        "start_covariance": ("channel", "other_channel"),
        "mode_transitions": ("state", "mode", "next_mode"),
        "initial_modes": ("mode",),
        "occupancy": ("mode",),
        "objective_trace": ("iteration",),
        "log_likelihoods": ("iteration",),
    }
    needed: ClassVar[tuple[str, ...]] = ("coefficients", "covariances")

    def __init__(
        self,
        signal: str = "signal",
        *,
        n_modes: int = 2,
        lags: int = 1,
        switching: str | Fixed = "independent",
        prior: MatrixNormal | None = None,
        switching_prior: Dirichlet | Bouts | None = None,
        n_restarts: int = 8,
        max_iter: int = 2000,
        tol: float = 0.01,
        random_state: Any = 0,
    ):
        self.signal = signal
        self.n_modes = n_modes
        self.lags = lags
        self.switching = switching
        self.prior = prior
        self.switching_prior = switching_prior
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @property
    def score_types(self) -> tuple[Scored, ...]:
        """What the model gives a likelihood of: densities, in the units of the signal."""
        return ("density",)

    def _argument_faults(self, faults: Faults) -> None:
        if not isinstance(self.signal, str):
            faults.add(f"signal={self.signal!r}: expected the name of one of the data's signals")
        whole_number("lags", self.lags, 0, faults)
        if not isinstance(self.prior, MatrixNormal | None):
            faults.add(f"prior={self.prior!r}: expected autoregression.MatrixNormal")

    def _problem(self, data: Trajectories) -> Problem:
        check_switching(self.switching)
        encoded, values = read_signal(data, self.signal)
        steps = usable_steps(encoded.split_chains(values), int(self.lags))
        emissions = Autoregression.build(steps.inputs, steps.targets, int(self.n_modes), self.prior)
        chains = Chains(steps.symbols.astype(np.int32), encoded.states, encoded.chains, len(steps.targets), 1)
        return Problem(encoded, chains, self._components_of(emissions), values)

    def _components_of(self, emissions: Autoregression) -> Components:
        switching = build_switching(self.switching, 1, int(self.n_modes), self.switching_prior)
        return Components(emissions, switching, initial_pseudocount=np.asarray(1.0))

    def _record_training(self, data: Trajectories, problem: Problem) -> None:
        del data
        seen = problem.context[~np.isnan(problem.context).any(axis=1)]
        self.start_mean_ = seen.mean(axis=0)
        self.start_covariance_ = np.atleast_2d(np.cov(seen.T))

    @property
    def own_signals(self) -> tuple[str, ...]:
        """The signal that is fitted."""
        return (self.signal,)

    def _set_fitted(self, tables: Tables, fitted: np.ndarray, order: np.ndarray) -> None:
        del tables
        emissions = self.restarts_[self.best_restart_].parameters.emissions
        self.coefficients_ = fitted[order]
        self.covariances_ = Autoregression.covariances(emissions)[order]

    def _restored_context(self) -> tuple[Components, Any]:
        """Components without data: enough to read restarts."""
        n_channels, n_inputs = self.coefficients_.shape[1:]
        inputs, channels = np.eye(n_inputs), np.eye(n_channels)
        units = Units(np.zeros((n_channels, n_inputs)), inputs, channels, inputs, channels)
        one = np.asarray(1.0)
        nothing = (np.zeros((0, n_inputs)), np.zeros((0, n_channels)))
        return self._components_of(Autoregression(*nothing, units, one, one, one, int(self.n_modes))), None

    def _read(self, data: Trajectories, of: Scored) -> tuple[Encoded, Evidence]:
        del of  # there is one currency
        encoded, values = read_signal(data, self._params_at_fit["signal"], self.coefficients_.shape[1])
        steps = usable_steps(encoded.split_chains(values), int(self._params_at_fit["lags"]))
        scored = steps.symbols < len(steps.targets)
        log_likelihoods = np.zeros((encoded.n_steps, len(self.initial_modes_)))
        log_likelihoods[scored] = log_densities(self.coefficients_, self.covariances_, steps.inputs, steps.targets)
        return encoded, Evidence(log_likelihoods, scored, np.zeros_like(scored))

    def sample(self, n_sessions: int, n_steps: int, random_state: int = 0) -> Trajectories:
        """Simulate sessions from the fitted model; the result has `.modes` and the signal.

        The first observations are drawn from the overall distribution of the training data.
        """
        self.check_fitted()
        rng = np.random.default_rng(random_state)
        lags, n_channels = int(self.lags), self.coefficients_.shape[1]
        factors = np.linalg.cholesky(self.covariances_)
        start = rng.multivariate_normal(
            self.start_mean_, self.start_covariance_, size=(n_sessions, max(lags, 1)), method="eigh"
        )
        past = [start[:, i] for i in range(max(lags, 1))]  # newest first
        modes = np.empty((n_sessions, n_steps), dtype=np.int64)
        values = np.empty((n_sessions, n_steps, n_channels))
        z = draw(np.broadcast_to(self.initial_modes_, (n_sessions, len(self.initial_modes_))), rng)
        for t in range(n_steps):
            modes[:, t], values[:, t] = z, past[0]
            inputs = np.concatenate([*past[:lags], np.ones((n_sessions, 1))], axis=1)
            mean = np.einsum("nci,ni->nc", self.coefficients_[z], inputs)
            following = mean + np.einsum("ncd,nd->nc", factors[z], rng.standard_normal((n_sessions, n_channels)))
            past = [following, *past[:-1]]
            z = draw(self.mode_transitions_[0, z], rng)
        return Trajectories.from_signals({self.signal: list(values)}, modes=list(modes))
