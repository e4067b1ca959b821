"""What a dataset is: an environment, recordings in it and, where known, the truth behind them."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from jaxtyping import Float, Int

from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.errors import Faults
from swirl.estimators.swirl import SWIRL


@dataclass(frozen=True)
class Truth:
    """What generated a simulated dataset.

    >>> from swirl.datasets import gridworld
    >>> truth = gridworld(n_sessions=3, n_steps=20).truth
    >>> truth.mode_names, truth.rewards.shape, [len(path) for path in truth.modes]
    (('water', 'home'), (2, 25, 25), [20, 20, 20])
    """

    rewards: Float[np.ndarray, "mode state previous"]
    """NaN where no move leads from `previous` to `state`."""
    mode_transitions: Float[np.ndarray, "state mode next_mode"]
    initial_modes: Float[np.ndarray, "mode"]
    modes: list[Int[np.ndarray, "time"]]
    discount: float
    temperature: float
    mode_names: tuple[str, ...]


@dataclass(frozen=True)
class Dataset:
    """An environment, recordings in it and, where known, the truth behind them.

    >>> ring = MDP.deterministic([[0, 1], [1, 0]])
    >>> Dataset(ring, Trajectories([[0, 1, 1]], [[1, 0]])).truth is None
    True
    """

    env: MDP
    trajectories: Trajectories
    truth: Truth | None = None

    def true_model(self) -> SWIRL:
        """The model that generated the data, ready to score, predict and sample: what a fit is measured against.

        >>> from swirl.datasets import gridworld
        >>> data = gridworld(n_sessions=4, n_steps=50)
        >>> round(data.true_model().score(data.trajectories), 1)
        -1.5
        """
        if self.truth is None:
            raise ValueError(
                "the truth behind these recordings is not known: fit a model to them, or ask for the true one of "
                "data that a model made, such as swirl.datasets.gridworld()"
            )
        return SWIRL.from_parameters(
            self.env,
            history=self.truth.rewards.ndim - 1,
            rewards=self.truth.rewards,
            mode_transitions=self.truth.mode_transitions,
            initial_modes=self.truth.initial_modes,
            temperature=self.truth.temperature,
            discount=self.truth.discount,
        )


def note_sizes(n_sessions: int, n_steps: int, faults: Faults) -> None:
    """Note a number of sessions or steps that nothing can be simulated with.

    >>> faults = Faults()
    >>> note_sizes(3, 0, faults)
    >>> faults.messages
    ['n_steps=0: expected a whole number, at least 1']
    """
    for argument, n in (("n_sessions", n_sessions), ("n_steps", n_steps)):
        if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
            faults.add(f"{argument}={n!r}: expected a whole number, at least 1")
