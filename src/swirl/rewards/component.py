"""The contract between EM and what it fits: how likely each observed choice is in each mode.

A *symbol* is a row of the table that a component hands to the E-step, such as (history, action); the E-step hands back
how often each symbol is expected in each mode.  A component is a frozen dataclass and a pytree of arrays, made
once per fit; what EM moves are its *parameters*, a pytree whose form is the component's own business.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Array, Float, Int

from swirl.data.histories import Histories
from swirl.precision import FloatArray
from swirl.system import cores

WORTH_A_CORE = 5_000  # counts for which a linear M-step takes longer than to send it to a core


class EmissionComponent(ABC):
    """What EM asks of emissions: rewards with their policies, or the emissions of an autoregressive HMM."""

    n_modes: int
    """Number of modes."""
    objective_may_decrease: ClassVar[bool] = False
    """Whether the objective may fall from one iteration to the next without anything being wrong."""
    extrapolates: ClassVar[bool] = True
    """Whether a point between and beyond other parameters means something, so that EM may be accelerated."""
    sequential_restarts: ClassVar[bool] = False
    """Whether restarts go one at a time on a CPU: side by side each would take as many steps as the slowest."""

    @property
    def worth_a_core(self) -> bool:
        """Whether the M-step of one restart takes long enough, on a CPU, to be sent to a core of its own (some ms)."""
        return False

    @abstractmethod
    def random_parameters(self, rng: np.random.Generator, scale: float) -> Any:
        """Draw the starting point of one restart.

        Parameters
        ----------
        scale
            Standard deviation of the logits that the parameters stand for, roughly; 0 where they are to be blank.
        """

    def warm_up(self) -> "EmissionComponent | None":
        """The same component under a prior with fewer local optima, for the first steps; None: no need of one."""
        return None

    def free(self, parameters: Any) -> Any:
        """Return those of the parameters that quasi-Newton steps move; the others are EM's own (`with_free`)."""
        return parameters

    def with_free(self, parameters: Any, free: Any) -> Any:
        """Return the parameters with what `free` gives replaced."""
        del parameters
        return free

    def settled(self) -> "EmissionComponent":
        """The same component with the M-steps that quasi-Newton steps want; of the same shapes."""
        return self

    @abstractmethod
    def log_emissions(self, parameters: Any, /) -> Float[Array, "symbol mode"]:
        """Logarithm of the probability (or density) of every symbol in every mode: what the E-step reads."""

    @abstractmethod
    def log_prior(self, parameters: Any, /) -> Float[Array, ""]:
        """Log-density of the prior, up to a constant: what joins the log-likelihood in the objective."""

    @abstractmethod
    def improve(self, parameters: Any, counts: Float[Array, "symbol mode"], /) -> Any:
        """Raise Σ counts · log emissions + log prior: the M-step, from `parameters` to no worse ones.

        Parameters
        ----------
        counts
            Expected number of times that each symbol was seen in each mode, from the E-step at `parameters`.
        """

    @abstractmethod
    def fitted(self, parameters: Any, /) -> Any:
        """What a user asks of the parameters, such as the rewards, with the mode first: the estimator takes it."""


class RewardComponent(EmissionComponent):
    """Emissions that are the soft-optimal policies of rewards, one temperature for each mode."""

    temperature: Float[FloatArray, "mode"]

    @property
    def n_modes(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of modes."""
        return self.temperature.shape[0]

    @property
    def gauge_is_free(self) -> bool:
        """Whether the prior leaves it open which of the rewards with the same policies is shown (design.md#gauge)."""
        return False

    def read(
        self,
        histories: Histories,
        rows: Int[np.ndarray, "history"],
        log_emissions: Float[np.ndarray, "symbol mode"],
        fitted: Any,
    ) -> tuple[Float[np.ndarray, "mode history *action"], Float[np.ndarray, "mode history action"]]:
        """Rewards and log-policies of every history.

        Parameters
        ----------
        rows
            The row of the table of choices that each history uses.
        log_emissions, fitted
            That table, and what `fitted` gave.
        """
        by_row = np.asarray(log_emissions).T.reshape(self.n_modes, -1, histories.successors.n_actions)
        return fitted, by_row[:, rows]


@dataclass(frozen=True)
class ProblemSizes:
    """What the memory that a component needs depends on."""

    n_states: int
    n_actions: int
    n_branches: int
    paths: tuple[int, ...]
    """Number of paths of 1, 2, …, L states through the environment."""
    n_modes: int
    n_restarts: int
    n_steps: int
    on_gpu: bool

    @property
    def at_once(self) -> int:
        """Restarts whose M-steps are made at the same time: all on a GPU, one on each core."""
        return self.n_restarts if self.on_gpu else min(self.n_restarts, cores())

    @property
    def n_histories(self) -> int:
        """Number of histories of up to L states."""
        return sum(self.paths)

    @property
    def n_contexts(self) -> int:
        """Number of histories that a policy made by r(h) can tell apart (`Histories.n_contexts`)."""
        return self.paths[0] if len(self.paths) == 1 else sum(self.paths[:-1])

    @property
    def branches(self) -> int:
        """Successors of one history, over all actions."""
        return self.n_actions * self.n_branches


class Footprint(NamedTuple):
    """What a form of rewards adds to the memory of a fit, for the bound made before it (`workflows.memory_bound`)."""

    rows: int
    """Rows of the table of choices: histories that the policies tell apart."""
    numbers: float
    """Numbers that the M-step works with, or the gauge afterwards, whichever is more."""
    compiling: float = 0.0
    """Bytes that compiling it takes beyond what every fit takes."""
