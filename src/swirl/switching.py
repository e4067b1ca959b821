"""How modes begin and switch: p(z_1) and P_z(z'|z, s) in its forms (paper §3.3, Eq. 4).

`independent`  one table for all states: the paper's "I" models
`state`        additive, log P = A[z, z'] + b[s, z'] − normaliser: convex, few parameters
`state-table`  a table for each state: what the paper writes; smoothed counts
`state-net`    a network with one hidden layer on the state: the authors' labyrinth
`until-reached`  a mode is left with one probability where it has what it wants, and another elsewhere; whichever it
               was, the next mode is drawn from one distribution (rank one)
`fixed`        given, never changed

Each form holds its prior; its parameters are a pytree that `improve` moves given the expected counts
X[s, z, z'].  A belief about bouts (`priors.Bouts`) is pseudo-counts that join them, the same in every form.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from swirl.optimise import lbfgs, maximise_logit, squared
from swirl.precision import FloatArray
from swirl.priors import Bouts, Dirichlet, Gaussian


@dataclass(frozen=True, eq=False)
class Fixed:
    """Switching that is given and never fitted.

    Parameters
    ----------
    table
        P_z as [state, mode, next_mode], or [mode, next_mode] for all states. None: modes never switch, so each
        segment has one mode (multi-intention inverse reinforcement learning).
    """

    table: Any = None

    def __post_init__(self) -> None:
        if self.table is None:
            return
        expected = "expected probabilities [state, mode, next_mode] or [mode, next_mode] that sum to one over next_mode"
        try:
            table = np.asarray(self.table, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"table is not an array of numbers: {expected}") from error
        if table.ndim not in (2, 3) or table.shape[-1] != table.shape[-2]:
            raise ValueError(f"table has shape {table.shape}: {expected}")
        wrong = np.argwhere((table < 0).any(axis=-1) | ~(np.abs(table.sum(axis=-1) - 1) < 1e-6))
        if len(wrong):
            row = wrong[0].tolist()
            raise ValueError(f"table{row} is {table[tuple(row)].tolist()}: {expected}")
        object.__setattr__(self, "table", table)

    def log_table(self, n_states: int, n_modes: int) -> Float[np.ndarray, "state mode next_mode"]:
        """The table for every state, as logarithms."""
        table = np.eye(n_modes) if self.table is None else self.table
        if table.shape[-1] != n_modes or (table.ndim == 3 and table.shape[0] != n_states):
            raise ValueError(
                f"switching.Fixed: table has shape {table.shape}, but there are {n_states} states and {n_modes} modes"
            )
        with np.errstate(divide="ignore"):
            return np.log(np.broadcast_to(table, (n_states, n_modes, n_modes)))


Transitions = Float[Array, "state mode next_mode"]


def log_normalise(counts: Array) -> Array:
    """Logarithm of `counts` divided by their sum over the last axis."""
    return jnp.log(counts) - jnp.log(jnp.sum(counts, axis=-1, keepdims=True))


def bout_pseudocounts(
    bouts: Bouts, n_modes: int, visits: Float[np.ndarray, "state"]
) -> Float[np.ndarray, "state mode next_mode"]:
    """Steps of the bouts that were believed before the data: c[s, z, z'], in each mode strength · steps of them.

    Parameters
    ----------
    visits
        Steps of the data in each state. A state counts once more than it was visited, so that none is without prior.

    Examples
    --------
    >>> bout_pseudocounts(Bouts(5.0, strength=10.0), 3, visits=np.array([3.0, 0.0]))[:, 0]
    array([[32.,  4.,  4.],
           [ 8.,  1.,  1.]])
    """
    leave = (1 - np.eye(n_modes)) * (1 - bouts.stay) / max(n_modes - 1, 1)
    share = (visits + 1) / np.sum(visits + 1)
    return bouts.strength * bouts.steps * share[:, None, None] * (leave + bouts.stay * np.eye(n_modes))


def _log_shares(odds: Float[np.ndarray, "*batch mode"]) -> Float[np.ndarray, "*batch mode"]:
    """Logarithm of the softmax, in numpy."""
    lower = odds - np.max(odds, axis=-1, keepdims=True)
    return lower - np.log(np.sum(np.exp(lower), axis=-1, keepdims=True))


STAY = 0.95  # of a random start, where nothing is believed about bouts


def sticky_start(rng: np.random.Generator, n_modes: int, stay: Any = STAY) -> Float[np.ndarray, "mode next_mode"]:
    """Log-probabilities of a random table that keeps the mode with probability about `stay`."""
    spread = 0.3 * rng.standard_normal((n_modes, n_modes))
    bonus = np.log(stay / (1 - stay)) + np.log(max(n_modes - 1, 1))
    return _log_shares(spread + bonus * np.eye(n_modes))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TableSwitching:
    """One table for all states (`pooled`), or one for each: smoothed counts."""

    pseudocounts: Float[FloatArray, "*state mode next_mode"]
    """The same for all states, or for each state its own."""
    n_states: int = field(metadata={"static": True})
    pooled: bool = field(metadata={"static": True})
    stay: Float[FloatArray, ""] | float = STAY
    """Probability of the same mode again at the start."""

    @classmethod
    def build(cls, n_states: int, n_modes: int, prior: Dirichlet, *, pooled: bool) -> "TableSwitching":
        """Pseudo-counts from `prior`."""
        return cls(prior.pseudocount + prior.stay * np.eye(n_modes), n_states, pooled)

    def with_bouts(self, pseudocounts: Float[np.ndarray, "state mode next_mode"], stay: float) -> "TableSwitching":
        """The same form with the pseudo-counts of `priors.Bouts` besides its own."""
        own = np.sum(pseudocounts, axis=0) if self.pooled else pseudocounts
        return replace(self, pseudocounts=self.pseudocounts + own, stay=stay)

    def random_parameters(self, rng: np.random.Generator) -> Float[np.ndarray, "*state mode next_mode"]:
        """Log-probabilities of a sticky random table."""
        table = sticky_start(rng, self.pseudocounts.shape[-1], self.stay)
        return table if self.pooled else np.broadcast_to(table, (self.n_states, *table.shape))

    def log_transitions(self, parameters: Float[Array, "*state mode next_mode"]) -> Transitions:
        """Log P_z(z'|z, s)."""
        return jnp.broadcast_to(parameters, (self.n_states, *self.pseudocounts.shape[-2:]))

    def normalised(self, parameters: Float[Array, "*state mode next_mode"]) -> Float[Array, "*state mode next_mode"]:
        """Make probabilities sum to one again."""
        return jax.nn.log_softmax(parameters, axis=-1)

    def log_prior(self, parameters: Float[Array, "*state mode next_mode"]) -> Float[Array, ""]:
        """Dirichlet log-density, up to a constant."""
        return jnp.sum(self.pseudocounts * parameters)

    def improve(
        self, parameters: Float[Array, "*state mode next_mode"], counts: Transitions
    ) -> Float[Array, "*state mode next_mode"]:
        """Normalised smoothed counts: the exact M-step, wherever `parameters` were."""
        del parameters
        counts = jnp.sum(counts, axis=0) if self.pooled else counts
        return log_normalise(counts + self.pseudocounts)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AdditiveSwitching:
    """log P_z(z'|z, s) = A[z, z'] + b[s, z'] − normaliser; parameters [A; b] stacked by rows."""

    precision: Float[FloatArray, "row"]
    """Of the Gaussian prior: weak on A, stronger on b."""
    n_modes: int = field(metadata={"static": True})
    pseudocounts: Float[FloatArray, "state mode next_mode"] | None = None
    """Of `priors.Bouts`; None: nothing is believed about bouts."""
    stay: Float[FloatArray, ""] | float = STAY
    """Probability of the same mode again at the start."""

    @classmethod
    def build(cls, n_states: int, n_modes: int, prior: Gaussian) -> "AdditiveSwitching":
        """`prior.strength` is the precision of b; A's is a hundredth of it."""
        precision = np.concatenate([np.full(n_modes, 0.01 * prior.strength), np.full(n_states, prior.strength)])
        return cls(precision, n_modes)

    def with_bouts(self, pseudocounts: Float[np.ndarray, "state mode next_mode"], stay: float) -> "AdditiveSwitching":
        """The same form with the pseudo-counts of `priors.Bouts` besides its Gaussian prior."""
        return replace(self, pseudocounts=pseudocounts, stay=stay)

    def random_parameters(self, rng: np.random.Generator) -> Float[np.ndarray, "row next_mode"]:
        """A sticky random A, and b = 0."""
        n_states = self.precision.shape[0] - self.n_modes
        return np.concatenate([sticky_start(rng, self.n_modes, self.stay), np.zeros((n_states, self.n_modes))])

    def logits(self, parameters: Float[Array, "row next_mode"]) -> Transitions:
        """A[z, z'] + b[s, z']."""
        return parameters[: self.n_modes] + parameters[self.n_modes :, None]

    def log_transitions(self, parameters: Float[Array, "row next_mode"]) -> Transitions:
        """Log P_z(z'|z, s)."""
        return jax.nn.log_softmax(self.logits(parameters), axis=-1)

    def normalised(self, parameters: Float[Array, "row next_mode"]) -> Float[Array, "row next_mode"]:
        """Any parameters are allowed."""
        return parameters

    def log_prior(self, parameters: Float[Array, "row next_mode"]) -> Float[Array, ""]:
        """Gaussian log-density, and that of the bouts believed; up to a constant."""
        penalty = 0.5 * jnp.sum(jnp.asarray(self.precision)[:, None] * parameters**2)
        return _log_density(self.pseudocounts, self.log_transitions(parameters)) - penalty

    def improve(self, parameters: Float[Array, "row next_mode"], counts: Transitions) -> Float[Array, "row next_mode"]:
        """Maximise Σ X log P + log prior: a convex multinomial logit; pseudo-counts are more of X."""
        counts = counts if self.pseudocounts is None else counts + self.pseudocounts
        precision = jnp.asarray(self.precision)[:, None]
        _, transpose = jax.vjp(self.logits, parameters)
        return maximise_logit(
            self.logits,
            counts,
            parameters,
            penalty=squared(precision),
            diagonal=lambda spread: transpose(spread)[0] + precision,
            max_steps=2,
            max_cg_steps=50,
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NetworkSwitching:
    """Logits of z' from one hidden layer of tanh units that see the state, plus A[z, z']."""

    precision: Float[FloatArray, ""]
    n_states: int = field(metadata={"static": True})
    n_modes: int = field(metadata={"static": True})
    hidden: int = field(default=8, metadata={"static": True})
    pseudocounts: Float[FloatArray, "state mode next_mode"] | None = None
    """Of `priors.Bouts`; None: nothing is believed about bouts."""
    stay: Float[FloatArray, ""] | float = STAY
    """Probability of the same mode again at the start."""

    def with_bouts(self, pseudocounts: Float[np.ndarray, "state mode next_mode"], stay: float) -> "NetworkSwitching":
        """The same form with the pseudo-counts of `priors.Bouts` besides its Gaussian prior."""
        return replace(self, pseudocounts=pseudocounts, stay=stay)

    def random_parameters(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Small random weights: no two hidden units alike."""
        return {
            "table": sticky_start(rng, self.n_modes, self.stay),
            "input": 0.1 * rng.standard_normal((self.n_states, self.hidden)),
            "output": 0.1 * rng.standard_normal((self.hidden, self.n_modes, self.n_modes)),
        }

    def log_transitions(self, parameters: dict[str, Array]) -> Transitions:
        """Log P_z(z'|z, s)."""
        units = jnp.tanh(parameters["input"])
        return jax.nn.log_softmax(parameters["table"] + jnp.einsum("sh,hzy->szy", units, parameters["output"]), axis=-1)

    def normalised(self, parameters: dict[str, Array]) -> dict[str, Array]:
        """Any parameters are allowed."""
        return parameters

    def log_prior(self, parameters: dict[str, Array]) -> Float[Array, ""]:
        """Gaussian log-density of the weights (the table's precision: a hundredth), and of the bouts believed."""
        weights = jnp.sum(parameters["input"] ** 2) + jnp.sum(parameters["output"] ** 2)
        penalty = 0.5 * jnp.asarray(self.precision) * (weights + 0.01 * jnp.sum(parameters["table"] ** 2))
        return _log_density(self.pseudocounts, self.log_transitions(parameters)) - penalty

    def improve(self, parameters: dict[str, Array], counts: Transitions) -> dict[str, Array]:
        """Raise Σ X log P + log prior by a few steps of L-BFGS."""

        def loss(x: dict[str, Array]) -> Array:
            return -jnp.sum(counts * self.log_transitions(x)) - self.log_prior(x)

        return lbfgs(loss, parameters, tol=1e-4, max_steps=20).x


def _log_density(pseudocounts: FloatArray | None, log_transitions: Transitions) -> Float[Array, ""]:
    """Σ c log P of pseudo-counts c, where there are any."""
    return jnp.zeros(()) if pseudocounts is None else jnp.sum(pseudocounts * log_transitions)


class Leaving(NamedTuple):
    """What `UntilReached` fits, as logarithms."""

    leave: Any
    """[mode, elsewhere or reached, stay or leave]."""
    following: Any
    """[mode]: which mode comes next, itself among them."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class UntilReached:
    """P_z(z'|z, s) = stay[z, b] 1[z' = z] + leave[z, b] following[z'], with b whether mode z has reached its goal in s.

    A mode that is left may be drawn again, so the same mode twice is of two kinds; `improve` shares them out, which
    is an EM step of its own: nothing gets worse.
    """

    reached: Bool[FloatArray, "state mode"]
    prior: Float[FloatArray, "mode outcome stay_or_leave"]
    """Pseudo-counts of staying and leaving."""
    pseudocount: Float[FloatArray, ""]
    """Of each next mode."""

    @classmethod
    def build(cls, reached: Bool[np.ndarray, "mode state"], prior: Dirichlet) -> "UntilReached":
        """Pseudo-counts from `prior`; its `stay` is of staying in a mode that has a goal, while it is not reached."""
        counts = np.full((len(reached), 2, 2), prior.pseudocount)
        counts[reached.any(axis=1), 0, 0] += prior.stay
        return cls(np.ascontiguousarray(reached.T), counts, np.asarray(prior.pseudocount))

    def with_bouts(self, pseudocounts: Float[np.ndarray, "state mode next_mode"], stay: float) -> "UntilReached":
        """The same form with the pseudo-counts of `priors.Bouts` besides its own."""
        del stay
        kept = np.einsum("szz->sz", pseudocounts)
        both = np.stack([kept, pseudocounts.sum(axis=-1) - kept], axis=-1)
        reached = np.stack([~self.reached, self.reached], axis=-1)
        return replace(self, prior=self.prior + np.einsum("szb,szl->zbl", reached, both))

    def random_parameters(self, rng: np.random.Generator) -> Leaving:
        """Modes that last, and are left more easily at their goal."""
        n_modes = self.prior.shape[0]
        odds = np.zeros((n_modes, 2, 2))
        odds[..., 1] = np.array([-3.0, -1.0]) + 0.3 * rng.standard_normal((n_modes, 2))
        return Leaving(_log_shares(odds), _log_shares(0.1 * rng.standard_normal(n_modes)))

    def log_transitions(self, parameters: Leaving) -> Transitions:
        """Log P_z(z'|z, s)."""
        by_outcome = self._by_outcome(parameters)  # [mode, outcome, next_mode]
        n_modes = self.prior.shape[0]
        return by_outcome[jnp.arange(n_modes), jnp.asarray(self.reached).astype(int)]

    def _by_outcome(self, parameters: Leaving) -> Float[Array, "mode outcome next_mode"]:
        leave, following = jnp.asarray(parameters.leave), jnp.asarray(parameters.following)
        same = jnp.where(jnp.eye(following.shape[0], dtype=bool)[:, None], leave[..., :1], -jnp.inf)
        return jnp.logaddexp(same, leave[..., 1:] + following)

    def normalised(self, parameters: Leaving) -> Leaving:
        """Make probabilities sum to one again."""
        return Leaving(jax.nn.log_softmax(parameters.leave, axis=-1), jax.nn.log_softmax(parameters.following))

    def log_prior(self, parameters: Leaving) -> Float[Array, ""]:
        """Dirichlet log-densities, up to a constant."""
        return jnp.sum(self.prior * parameters.leave) + self.pseudocount * jnp.sum(parameters.following)

    def improve(self, parameters: Leaving, counts: Transitions) -> Leaving:
        """Normalised smoothed counts, the same mode twice shared between staying and coming back."""
        leave, following = jnp.asarray(parameters.leave), jnp.asarray(parameters.following)
        reached = jnp.asarray(self.reached)
        outcome = jnp.stack([~reached, reached], axis=-1).astype(counts.dtype)
        totals = jnp.einsum("szb,szy->zby", outcome, counts)
        n_modes = following.shape[0]
        same = jnp.eye(n_modes, dtype=bool)[:, None]
        back = jnp.exp(
            leave[..., 1] + following[:, None] - jnp.logaddexp(leave[..., 0], leave[..., 1] + following[:, None])
        )
        left = totals * jnp.where(same, back[..., None], 1.0)
        stayed = jnp.sum(jnp.where(same, totals - left, 0.0), axis=-1)
        return Leaving(
            log_normalise(jnp.stack([stayed, jnp.sum(left, axis=-1)], axis=-1) + self.prior),
            log_normalise(jnp.sum(left, axis=(0, 1)) + self.pseudocount),
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FixedSwitching:
    """A given table; nothing to fit."""

    log_table: Float[FloatArray, "state mode next_mode"]

    def random_parameters(self, rng: np.random.Generator) -> tuple[()]:
        """No parameters."""
        del rng
        return ()

    def log_transitions(self, parameters: tuple[()]) -> Transitions:
        """Log P_z(z'|z, s), as given."""
        del parameters
        return jnp.asarray(self.log_table)

    def normalised(self, parameters: tuple[()]) -> tuple[()]:
        """Nothing to change."""
        return parameters

    def log_prior(self, parameters: tuple[()]) -> Float[Array, ""]:
        """Nothing is uncertain."""
        del parameters
        return jnp.zeros(())

    def improve(self, parameters: tuple[()], counts: Transitions) -> tuple[()]:
        """Stay as given."""
        del counts
        return parameters


Switching = TableSwitching | AdditiveSwitching | NetworkSwitching | UntilReached | FixedSwitching


def build_switching(
    form: str | Fixed,
    n_states: int,
    n_modes: int,
    prior: Any,
    visits: Float[np.ndarray, "state"] | None = None,
    reached: Bool[np.ndarray, "mode state"] | None = None,
) -> Switching:
    """Make the switching component that `form` names, with `prior` or the form's own default.

    Parameters
    ----------
    visits
        Steps of the data in each state, over which `priors.Bouts` spreads its bouts; None: evenly.
    reached
        Where each mode has what it wants, for ``"until-reached"``; None: nowhere.

    Examples
    --------
    >>> type(build_switching("independent", 4, 2, None)).__name__
    'TableSwitching'
    >>> sticky = build_switching("independent", 4, 2, Bouts(5.0, strength=10.0))
    >>> sticky.pseudocounts.round(9)
    array([[40., 10.],
           [10., 40.]])
    """
    if isinstance(form, Fixed) or (isinstance(form, str) and form == "fixed"):
        if isinstance(prior, Bouts):
            raise ValueError(
                f"switching_prior={prior!r}: switching={form!r} is given, so nothing is believed about it; leave the "
                "prior out, or take a form that is fitted"
            )
        fixed = form if isinstance(form, Fixed) else Fixed()
        return FixedSwitching(fixed.log_table(n_states, n_modes))
    if not isinstance(form, str) or form not in DEFAULT_PRIORS:
        raise ValueError(
            f"switching={form!r}: expected 'independent', 'state', 'state-table', 'state-net', 'until-reached', "
            "'fixed' or switching.Fixed(table)"
        )
    own = prior.besides if isinstance(prior, Bouts) else prior
    default = DEFAULT_PRIORS[form]
    if own is not None and not isinstance(own, type(default)):
        allowed = f"a priors.{type(default).__name__}{' besides' if isinstance(prior, Bouts) else ' or a priors.Bouts'}"
        raise ValueError(f"switching_prior={prior!r}: switching={form!r} takes {allowed}")
    reached = np.zeros((n_modes, n_states), dtype=bool) if reached is None else reached
    component = _without_bouts(form, n_states, n_modes, default if own is None else own, reached)
    if not isinstance(prior, Bouts):
        return component
    if isinstance(component, TableSwitching) and own is None:  # its default would have another length of bouts
        component = replace(component, pseudocounts=np.zeros((n_modes, n_modes)))
    visits = np.zeros(n_states) if visits is None else visits
    return component.with_bouts(bout_pseudocounts(prior, n_modes, visits), prior.stay)


def _without_bouts(
    form: str, n_states: int, n_modes: int, prior: Any, reached: Bool[np.ndarray, "mode state"]
) -> TableSwitching | AdditiveSwitching | NetworkSwitching | UntilReached:
    """The component of a form with a prior of its own kind."""
    if form == "until-reached":
        return UntilReached.build(reached, prior)
    if isinstance(prior, Dirichlet):
        return TableSwitching.build(n_states, n_modes, prior, pooled=form == "independent")
    if form == "state":
        return AdditiveSwitching.build(n_states, n_modes, prior)
    return NetworkSwitching(np.asarray(prior.strength), n_states, n_modes)


DEFAULT_PRIORS = {
    "independent": Dirichlet(1.0),
    "state-table": Dirichlet(0.1, stay=1.0),
    "until-reached": Dirichlet(1.0, stay=1e4),
    "state": Gaussian(0.1),
    "state-net": Gaussian(0.1),
}
