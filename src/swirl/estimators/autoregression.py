"""Gaussian autoregressive emissions: what makes EM fit a continuous ARHMM (the model behind MoSeq).

In mode z the next observation is a linear function of the last P ones, plus noise::

    y_t = x_{t+1} ~ N(C_z u_t, Σ_z),      u_t = [x_t; x_{t−1}; …; x_{t−P+1}; 1]      (P = 0: a Gaussian HMM)

The mode of step t emits the *next* observation, as a_t leads to s_{t+1} in the paper.  The engine counts symbols;
here every usable step is a symbol of its own, so the table of emissions is log N(y_t; C_z u_t, Σ_z) and the counts
are the weights γ_t(z).

The prior is conjugate (Λ, Ψ, m: see `MatrixNormal`), so that the M-step is exact.  With A_z = Σ_t γ_t u uᵀ + Λ ::

    C_z = (Σ_t γ_t y uᵀ + M Λ) A_z⁻¹
    Σ_z = (Ψ + Σ_t γ_t (y − C_z u)(y − C_z u)ᵀ + (C_z − M) Λ (C_z − M)ᵀ) / (Σ_t γ_t + m)

The component holds the data whitened, so that Λ and Ψ are multiples of the identity, the equations are well
conditioned, and a fit is the same in any units (`Units`).  Its parameters are in the units of the data.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.linalg import solve_triangular

from swirl.errors import Faults
from swirl.precision import FloatArray
from swirl.rewards.component import EmissionComponent
from swirl.text import counted, some

LOG_2PI = math.log(2 * math.pi)
WINDOW = 50  # steps from which one mode of a starting point is fitted
N_WINDOWS = 200
ALIKE = 1e-9  # relative jitter on variances: coordinates that copy each other leave Σ invertible
EXACT = 1e-12  # share of a coordinate's variance below which nothing is left to model


class UsableSteps(NamedTuple):
    """The steps that say something about the mode, and the place of every step among them."""

    inputs: Float[np.ndarray, "usable input"]
    """[x_t; x_{t−1}; …; x_{t−P+1}; 1]."""
    targets: Float[np.ndarray, "usable coordinate"]
    """x_{t+1}."""
    symbols: Int[np.ndarray, "step"]
    """Index into `inputs` and `targets` for each step of all chains, end to end; their number where not usable."""


def usable_steps(values: Sequence[Float[np.ndarray, "_ coordinate"]], lags: int) -> UsableSteps:
    """Lay out the regression of each observation on the `lags` before it, never across the ends of a chain.

    A step is usable if it has a successor and `lags` − 1 predecessors in its chain, and none of them has a NaN.

    >>> steps = usable_steps([np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[9.0]])], lags=2)
    >>> steps.inputs
    array([[1., 0., 1.],
           [2., 1., 1.]])
    >>> steps.targets.ravel(), steps.symbols
    (array([2., 3.]), array([2, 0, 1, 2, 2]))
    """
    if lags < 0:
        raise ValueError(f"lags={lags}: expected 0 (no memory) or a positive number of steps")
    faults = Faults()
    for i, part in enumerate(values):
        if len(where := np.flatnonzero(np.isinf(part).any(axis=1))):
            faults.add(f"values[{i}] is infinite at step {some(where.tolist())}: write NaN where nothing was observed")
    faults.raise_if_any("values cannot be read")
    flat = np.concatenate(values).astype(float)
    lengths = np.array([len(part) for part in values])
    ends, step = np.cumsum(lengths), np.arange(len(flat))
    usable = (step + 1 < np.repeat(ends, lengths)) & (step - lags + 1 >= np.repeat(ends - lengths, lengths))
    observed = np.all(~np.isnan(flat), axis=1)
    for back in range(-1, lags):
        usable &= np.take(observed, step - back, mode="clip")
    at = np.flatnonzero(usable)
    inputs = np.concatenate([*(flat[at - back] for back in range(lags)), np.ones((len(at), 1))], axis=1)
    return UsableSteps(inputs, flat[at + 1], np.where(usable, np.cumsum(usable) - 1, len(at)))


@dataclass(frozen=True)
class MatrixNormal:
    """Conjugate prior on coefficients and covariance: matrix-normal and inverse-Wishart.

    C | Σ ~ MN(M, Σ, Λ⁻¹) and Σ ~ IW(degrees, Ψ).  M says that nothing moves, x_{t+1} = x_t, the best guess for
    behaviour filmed many times a second (with no lags: the mean).  Λ = strength · mean of u uᵀ over all steps, and
    Ψ = m · scale · Σ_0 with Σ_0 the covariance of the errors of one regression for all modes, m = degrees + D + 1 +
    P D + 1.  A mode without data thus has C = M, Σ = scale · Σ_0; and since M, Λ and Ψ follow the data through any
    change of units, x → B x + c, so does the fit.

    Parameters
    ----------
    strength
        How many typical steps the belief that nothing moves is worth.
    degrees
        Of the inverse-Wishart, more than D − 1; None: D + 2, the fewest for which Σ has a mean.
    scale
        Noise expected within a mode, as a share of the noise without modes.

    Examples
    --------
    >>> MatrixNormal(scale=0.05)
    MatrixNormal(strength=0.01, degrees=None, scale=0.05)
    """

    # Held-out likelihood on simulated systems is flat below 0.01 and falls above 0.1; scale is best near 0.03.
    strength: float = 0.01
    degrees: float | None = None
    scale: float = 0.03

    def __post_init__(self) -> None:
        for name in ("strength", "scale"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name}={value!r}: expected a finite number > 0")


class Dynamics(NamedTuple):
    """Parameters of the emissions, in the units of the data; leading axes appear under vmap."""

    coefficients: Float[FloatArray, "*restart mode coordinate input"]
    """C_z: newest lag first, the constant last."""
    factors: Float[FloatArray, "*restart mode coordinate coordinate"]
    """Lower Cholesky factors of Σ_z."""


def log_densities(
    coefficients: Float[np.ndarray, "mode coordinate input"],
    covariances: Float[np.ndarray, "mode coordinate coordinate"],
    inputs: Float[np.ndarray, "usable input"],
    targets: Float[np.ndarray, "usable coordinate"],
) -> Float[np.ndarray, "usable mode"]:
    """Log N(y; C_z u, Σ_z) of each usable step in each mode, for data that were not fitted.

    >>> steps = usable_steps([np.array([[0.0], [1.0]])], lags=1)
    >>> log_densities(np.array([[[1.0, 0.0]]]), np.array([[[1.0]]]), steps.inputs, steps.targets).round(4)
    array([[-1.4189]])
    """
    densities = np.empty((len(targets), len(coefficients)))
    for z, (coefficient, covariance) in enumerate(zip(coefficients, covariances, strict=True)):
        factor = np.linalg.cholesky(covariance)
        whitened = solve_triangular(factor, (targets - inputs @ coefficient.T).T, lower=True)
        densities[:, z] = -0.5 * np.sum(whitened**2, axis=0) - np.sum(np.log(np.diagonal(factor)))
    return densities - 0.5 * targets.shape[1] * LOG_2PI


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Units:
    """Whitened units: u = L ũ, of which the mean of ũ ũᵀ is the identity, and y = M u + K ỹ with K Kᵀ = Σ_0."""

    unmoved: Float[FloatArray, "coordinate input"]
    """M."""
    inputs: Float[FloatArray, "input input"]
    """L."""
    targets: Float[FloatArray, "coordinate coordinate"]
    """K."""
    inverse_inputs: Float[FloatArray, "input input"]
    inverse_targets: Float[FloatArray, "coordinate coordinate"]

    @classmethod
    def of(cls, inputs: Float[np.ndarray, "usable input"], targets: Float[np.ndarray, "usable coordinate"]) -> "Units":
        """Measure the units of the data; data that leave nothing to model are a fault."""
        (n_steps, n_inputs), n_coordinates = inputs.shape, targets.shape[1]
        if n_steps <= n_inputs + n_coordinates:
            raise ValueError(
                f"values have {counted(n_steps, 'usable step')}: expected more than {n_inputs + n_coordinates}, for "
                f"{counted(n_coordinates, 'coordinate')} and {n_inputs - 1} lagged values; give more data or fewer lags"
            )
        faults, variances = Faults(), targets.var(axis=0)
        for i in np.flatnonzero(variances <= EXACT * np.mean(targets**2, axis=0)):
            faults.add(f"coordinate {i} never changes: leave it out")
        faults.raise_if_any("values cannot be modelled")
        unmoved = np.zeros((n_coordinates, n_inputs))
        unmoved[:, :n_coordinates] = np.eye(n_coordinates) if n_inputs > 1 else targets.mean(axis=0)[:, None]
        centre = inputs[:, :-1].mean(axis=0)
        factor = np.eye(n_inputs)
        factor[:-1, :-1] = _factor((inputs[:, :-1] - centre).T)
        factor[:-1, -1] = centre
        features, moves = _whiten(factor, inputs), targets - inputs @ unmoved.T
        errors = moves - features @ np.linalg.solve(features.T @ features, features.T @ moves)
        for i in np.flatnonzero(errors.var(axis=0) <= EXACT * variances):
            faults.add(f"coordinate {i} follows from its past without any error: leave it out, or use fewer lags")
        faults.raise_if_any("values cannot be modelled")
        noise = _factor(errors.T)
        return cls(unmoved, factor, noise, np.linalg.inv(factor), np.linalg.inv(noise))

    def whiten(self, inputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ũ and ỹ."""
        factor, unmoved = np.asarray(self.targets), np.asarray(self.unmoved)
        moves = solve_triangular(factor, (targets - inputs @ unmoved.T).T, lower=True).T
        return _whiten(np.asarray(self.inputs), inputs), np.ascontiguousarray(moves)

    def enter(self, parameters: Dynamics) -> Dynamics:
        """Parameters in whitened units."""
        to_white = jnp.asarray(self.inverse_targets)
        moved = jnp.asarray(parameters.coefficients) - jnp.asarray(self.unmoved)
        return Dynamics(to_white @ moved @ jnp.asarray(self.inputs), to_white @ jnp.asarray(parameters.factors))

    def leave(self, parameters: Dynamics, xp: Any) -> Dynamics:
        """Parameters in the units of the data; a product of lower factors is the lower factor of the product."""
        factor = xp.asarray(self.targets)
        moved = factor @ parameters.coefficients @ xp.asarray(self.inverse_inputs)
        return Dynamics(xp.asarray(self.unmoved) + moved, factor @ parameters.factors)


def _factor(deviations: Float[np.ndarray, "row step"]) -> Float[np.ndarray, "row row"]:
    """Cholesky factor of the mean outer product."""
    covariance = deviations @ deviations.T / deviations.shape[1]
    return np.linalg.cholesky(covariance + ALIKE * np.diag(np.diagonal(covariance)))


def _whiten(factor: Float[np.ndarray, "input input"], inputs: Float[np.ndarray, "usable input"]) -> np.ndarray:
    """L⁻¹ u; the mean is subtracted first, so that values far from 0 lose no digits."""
    whitened = np.ones_like(inputs)
    centred = inputs[:, :-1] - factor[:-1, -1]
    whitened[:, :-1] = solve_triangular(factor[:-1, :-1], centred.T, lower=True).T
    return whitened


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Autoregression(EmissionComponent):
    """The component of the model for autoregressive emissions; its parameters are `Dynamics`.

    Examples
    --------
    >>> from swirl.precision import float64
    >>> steps = usable_steps([np.random.default_rng(0).normal(size=(200, 2))], lags=1)
    >>> emissions = Autoregression.build(steps.inputs, steps.targets, n_modes=3)
    >>> start = emissions.random_parameters(np.random.default_rng(1), 1.0)
    >>> start.coefficients.shape, start.factors.shape
    ((3, 2, 3), (3, 2, 2))
    >>> with float64():
    ...     emissions.log_emissions(start).shape
    (199, 3)
    """

    inputs: Float[FloatArray, "usable input"]
    """ũ: whitened."""
    targets: Float[FloatArray, "usable coordinate"]
    """ỹ: whitened."""
    units: Units
    strength: Float[FloatArray, ""]
    """Λ, a multiple of the identity."""
    weight: Float[FloatArray, ""]
    """m: what the prior adds to the number of steps in the covariance."""
    scale: Float[FloatArray, ""]
    """Ψ / m, a multiple of the identity."""
    n_modes: int = field(metadata={"static": True})
    extrapolates: ClassVar[bool] = False  # factors of covariances

    @classmethod
    def build(
        cls,
        inputs: Float[np.ndarray, "usable input"],
        targets: Float[np.ndarray, "usable coordinate"],
        n_modes: int,
        prior: MatrixNormal | None = None,
    ) -> "Autoregression":
        """Collect what the M-step needs from `usable_steps` and the prior."""
        prior = MatrixNormal() if prior is None else prior
        n_coordinates = targets.shape[1]
        degrees = n_coordinates + 2 if prior.degrees is None else prior.degrees
        if not (math.isfinite(degrees) and degrees > n_coordinates - 1):
            raise ValueError(
                f"degrees={degrees!r}: expected more than {n_coordinates - 1}, one less than the number of coordinates"
            )
        units = Units.of(inputs, targets)
        weight = float(degrees + n_coordinates + 1 + inputs.shape[1])
        strength, scale = np.asarray(float(prior.strength)), np.asarray(float(prior.scale))
        return cls(*units.whiten(inputs, targets), units, strength, np.asarray(weight), scale, n_modes)

    def random_parameters(self, rng: np.random.Generator, scale: float) -> Dynamics:
        """Fit each mode to a short window of the data, chosen as k-means++ chooses: unlike those chosen before.

        A window is drawn in proportion to the log-likelihood that it would gain from a mode of its own.
        """
        del scale  # the data say how far apart modes are
        inputs, targets = np.asarray(self.inputs), np.asarray(self.targets)
        length = min(max(WINDOW, 2 * inputs.shape[1]), len(targets))
        starts = rng.integers(len(targets) - length + 1, size=max(N_WINDOWS, 10 * self.n_modes))
        window = starts[:, None] + np.arange(length)
        fits = self._fit(inputs[window], targets[window], np.ones(window.shape), np)
        alone = _log_normal(fits, inputs[window], targets[window], np).sum(axis=-1)
        best = np.full(len(window), -np.inf)
        chosen: list[int] = []
        gain = np.ones(len(window))
        for _ in range(self.n_modes):
            share = gain / gain.sum() if gain.sum() > 0 else None
            chosen.append(int(rng.choice(len(window), p=share)))
            newest = Dynamics(*(part[chosen[-1]] for part in fits))
            densities = _log_normal(newest, inputs[window], targets[window], np)
            best = np.maximum(best, densities.sum(axis=-1))
            gain = np.maximum(alone - best, 0.0)
        return self.units.leave(Dynamics(*(part[chosen] for part in fits)), np)

    def log_emissions(self, parameters: Dynamics) -> Float[Array, "symbol mode"]:
        """Log N(y; C_z u, Σ_z) as a table of symbols (usable steps), in the units of the data."""
        inputs, targets = jnp.asarray(self.inputs), jnp.asarray(self.targets)
        # One mode at a time: all at once would hold a [mode, step, coordinate] array.
        densities = jax.lax.map(lambda mode: _log_normal(mode, inputs, targets, jnp), self.units.enter(parameters))
        return densities.T - _log_determinant(jnp.asarray(self.units.targets), jnp)

    def fitted(self, parameters: Dynamics) -> Float[Array, "mode coordinate input"]:
        """C_z."""
        return jnp.asarray(parameters.coefficients)

    @staticmethod
    def covariances(parameters: Dynamics) -> Float[np.ndarray, "mode coordinate coordinate"]:
        """Σ_z."""
        factors = np.asarray(parameters.factors)
        return factors @ np.swapaxes(factors, -1, -2)

    def log_prior(self, parameters: Dynamics) -> Float[Array, ""]:
        """Log-density of the prior, up to a constant: −½ Σ_z [m log|Σ| + tr Σ⁻¹ (Ψ + (C − M) Λ (C − M)ᵀ)]."""
        coefficients, factors = self.units.enter(parameters)
        inverse = _inverse(factors, jnp)
        weight, strength = jnp.asarray(self.weight), jnp.asarray(self.strength)
        spread = weight * self.scale * jnp.sum(inverse**2) + strength * jnp.sum((inverse @ coefficients) ** 2)
        return -0.5 * spread - weight * jnp.sum(_log_determinant(factors, jnp))

    def improve(self, parameters: Dynamics, counts: Float[Array, "symbol mode"]) -> Dynamics:
        """Maximise Σ_t γ_t log N + log prior: the exact M-step, wherever `parameters` were."""
        del parameters
        inputs, targets = jnp.asarray(self.inputs), jnp.asarray(self.targets)
        return self.units.leave(jax.lax.map(lambda weights: self._fit(inputs, targets, weights, jnp), counts.T), jnp)

    def _fit(self, inputs: Any, targets: Any, weights: Any, xp: Any) -> Dynamics:
        """The equations of the module's docstring in whitened units, where M = 0; any leading axes."""
        weighted = xp.swapaxes(weights[..., None] * inputs, -1, -2)
        precision = weighted @ inputs + self.strength * xp.eye(inputs.shape[-1])
        inverse = _inverse(xp.linalg.cholesky(precision), xp)
        transposed = xp.swapaxes(inverse, -1, -2) @ (inverse @ (weighted @ targets))
        coefficients = xp.swapaxes(transposed, -1, -2)
        errors = targets - inputs @ transposed
        # A sum of squares, not a difference of sums: positive definite however small the errors are.
        scatter = xp.swapaxes(weights[..., None] * errors, -1, -2) @ errors
        scatter = scatter + self.strength * coefficients @ transposed
        scatter = scatter + self.weight * self.scale * xp.eye(targets.shape[-1])
        total = xp.sum(weights, axis=-1)[..., None, None] + self.weight
        return Dynamics(coefficients, xp.linalg.cholesky(scatter / total))


def _inverse(factor: Any, xp: Any) -> Any:
    """Inverse of lower triangular matrices: XLA compiles it in a fraction of the time of a general inverse."""
    if xp is np:
        return np.linalg.inv(factor)
    identity = jnp.broadcast_to(jnp.eye(factor.shape[-1]), factor.shape)
    return jax.scipy.linalg.solve_triangular(factor, identity, lower=True)


def _log_determinant(factor: Any, xp: Any) -> Any:
    return xp.sum(xp.log(xp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)


def _log_normal(parameters: Dynamics, inputs: Any, targets: Any, xp: Any) -> Any:
    """Log-density of each step; any leading axes."""
    coefficients, factors = parameters
    errors = targets - inputs @ xp.swapaxes(coefficients, -1, -2)
    errors = errors @ xp.swapaxes(_inverse(factors, xp), -1, -2)
    normaliser = _log_determinant(factors, xp) + 0.5 * targets.shape[-1] * LOG_2PI
    return -0.5 * xp.sum(errors**2, axis=-1) - normaliser[..., None]
