"""Reading parameters that a user hands over: shapes, sums and missing entries, all faults at once."""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.errors import Faults
from swirl.rewards.tables import from_dense, to_dense


class Given(NamedTuple):
    """Checked parameters in the numbering of `histories`."""

    histories: Histories
    rewards: Float[np.ndarray, "mode history *action"]
    mode_transitions: Float[np.ndarray, "state mode next_mode"]
    initial_modes: Float[np.ndarray, "mode"]


def _distribution(argument: str, values: np.ndarray, faults: Faults) -> None:
    if not np.isfinite(values).all() or (values < 0).any():
        faults.add(f"{argument}: expected probabilities, got NaN, infinite or negative entries")
    elif not np.allclose(values.sum(axis=-1), 1, atol=1e-6):
        worst = np.unravel_index(np.argmax(np.abs(values.sum(axis=-1) - 1)), values.shape[:-1])
        where = f"[{', '.join(map(str, worst))}]" if worst else ""
        faults.add(f"{argument}{where} sums to {values[worst].sum():.6g}: expected 1")


def read_parameters(
    env: MDP, history: int, rewards: Any, mode_transitions: Any, initial_modes: Any, histories: Any = None
) -> Given:
    """Check parameters against the environment and number rewards by reachable histories."""
    faults = Faults()
    if not isinstance(env, MDP):
        raise ValueError(f"env is {type(env).__name__}: expected swirl.MDP; build it as swirl.MDP(transitions)")
    if isinstance(history, bool) or not isinstance(history, Integral):
        raise ValueError(f"history={history!r}: expected a whole number, at least 1")
    history = int(history)
    lifted = Histories.reachable(env.successors, history)
    rewards = np.asarray(rewards, dtype=float)
    initial_modes = np.asarray(initial_modes, dtype=float)
    mode_transitions = np.asarray(mode_transitions, dtype=float)
    if rewards.ndim < 2:
        raise ValueError(f"rewards has shape {rewards.shape}: expected [mode, state, …]")
    n_modes = rewards.shape[0]
    if mode_transitions.ndim == 2:
        mode_transitions = np.broadcast_to(mode_transitions, (env.n_states, *mode_transitions.shape))
    if mode_transitions.shape != (env.n_states, n_modes, n_modes):
        faults.add(
            f"mode_transitions has shape {mode_transitions.shape}: expected [state, mode, next_mode] = "
            f"{(env.n_states, n_modes, n_modes)}"
        )
    else:
        _distribution("mode_transitions", mode_transitions, faults)
    if initial_modes.shape != (n_modes,):
        faults.add(f"initial_modes has shape {initial_modes.shape}: expected ({n_modes},)")
    else:
        _distribution("initial_modes", initial_modes, faults)
    faults.raise_if_any("the parameters cannot be used")
    if histories is None:
        long = from_dense(rewards, lifted, per_action=rewards.ndim == history + 2)
    else:
        long = _from_long(rewards, np.asarray(histories), lifted)
    _check_finite(long, lifted)
    return Given(lifted, long, mode_transitions.copy(), initial_modes.copy())


def _check_finite(long: np.ndarray, lifted: Histories) -> None:
    """Only what cannot be done may be without a number."""
    available = np.asarray(lifted.successors.available)
    bad = ~np.isfinite(long) & (available if long.shape[2:] == available.shape[1:] else True)
    if bad.any():
        mode, row, *action = np.argwhere(bad)[0].tolist()
        raise ValueError(
            f"rewards[{mode}] is {long[(mode, row, *action)]} at history {lifted.table[row].tolist()} (newest first)"
            + (f", action {action[0]}" if action else "")
            + f", {int(bad.sum())} such entries in all: give every reachable history a finite number"
        )


def _from_long(rewards: np.ndarray, table: np.ndarray, lifted: Histories) -> np.ndarray:
    """Renumber rewards given over `table`; short histories that are not in it take their mean."""
    if table.ndim != 2 or table.shape[1] != lifted.length or rewards.shape[1] != len(table):
        raise ValueError(
            f"histories has shape {table.shape} and rewards {rewards.shape}: expected [history, {lifted.length}] and "
            "[mode, history(, action)] with as many histories"
        )
    places = {tuple(row): i for i, row in enumerate(table.tolist())}
    index = np.array([places.get(tuple(row), -1) for row in lifted.table.tolist()])
    absent = np.flatnonzero((index < 0) & lifted.full_length)
    if len(absent):
        raise ValueError(
            f"histories lacks the reachable history {lifted.table[absent[0]].tolist()} (newest first), "
            f"{len(absent)} in all: give every full-length one"
        )
    long = rewards[:, np.maximum(index, 0)]
    if (index < 0).any():
        means = from_dense(to_dense(long, lifted), lifted, per_action=rewards.ndim == 3)
        long[:, index < 0] = means[:, index < 0]
    return long
