"""Animals as one imagines them before there are any: goals, how long a mode lasts, how noisy choices are."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from swirl.data.geometry import possible_moves
from swirl.data.mdp import MDP
from swirl.errors import Faults
from swirl.estimators.swirl import SWIRL
from swirl.text import counted

Ends = Literal["goal", "anywhere"]
TRIES = 60  # halvings of an interval of length 1: beyond double precision


def sketched(
    env: MDP,
    goals: Sequence[Any],
    *,
    dwell: float | int | Sequence[float | int] = 30,
    ends: Ends | str = "goal",
    explore: bool = False,
    temperature: float | int | Sequence[float | int] = 0.5,
    discount: float | int = 0.95,
) -> SWIRL:
    """A model with one mode for each goal, to simulate from before there are recordings (`swirl power`).

    The reward of a mode is 1 for each step at its goal and 0 elsewhere.  A mode is followed by any other, all alike.

    Parameters
    ----------
    goals
        For each mode the state that it walks to, or several states.
    dwell
        Steps that a bout of each mode lasts on average, one number or one for each mode. With ``ends="goal"`` from the
        goals of the other modes on.
    ends
        ``"goal"``: a mode ends only at its goal, as often as `dwell` asks for. ``"anywhere"``: with probability
        1 / dwell at every step.
    explore
        True: one mode more, which wants nothing and ends anywhere.
    temperature
        How noisy choices are, one number or one for each mode: at a low one the animal walks straight to its goal, at a
        high one it strays. What that means in an environment, `ways` tells.

    Examples
    --------
    >>> from swirl.datasets import gridworld_env
    >>> truth = sketched(gridworld_env(), [4, 20], dwell=20, temperature=1.0)
    >>> truth.mode_transitions_[4].round(2).tolist(), truth.mode_transitions_[0].tolist()
    ([[0.79, 0.21], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
    """
    faults = Faults()
    places = [_states(goal, env, faults) for goal in goals]
    n_modes = len(places) + bool(explore)
    if n_modes < 2:
        faults.add(f"goals: got {counted(len(places), 'goal')}, expected two or more, or one with explore=True")
    noise, lasting = (_each(value, n_modes) for value in (temperature, dwell))
    if len(noise) != n_modes or not all(_above(value, 0) for value in noise):
        faults.add(f"temperature={temperature!r}: expected a number above 0, or one for each of {n_modes} modes")
    if len(lasting) != n_modes or not all(_above(steps, 1) for steps in lasting):
        faults.add(f"dwell={dwell!r}: expected a number of steps above 1, or one for each of {n_modes} modes")
    if ends not in ("goal", "anywhere"):
        faults.add(f'ends={ends!r}: expected "goal" or "anywhere"')
    faults.raise_if_any("The sketch cannot be used")

    rewards = np.zeros((n_modes, env.n_states))
    for mode, states in enumerate(places):
        rewards[mode, states] = 1.0

    def made(leave: np.ndarray) -> SWIRL:
        other = (1 - np.eye(n_modes)) / (n_modes - 1)
        return SWIRL.from_parameters(
            env,
            history=1,
            rewards=rewards,
            mode_transitions=leave[:, :, None] * other + (1 - leave)[:, :, None] * np.eye(n_modes),
            initial_modes=np.full(n_modes, 1 / n_modes),
            temperature=float(noise[0]) if len(set(noise)) == 1 else [float(value) for value in noise],
            discount=float(discount),
        )

    leave = np.tile(1 / np.array(lasting, dtype=float), (env.n_states, 1))
    if ends == "goal":
        moves, starts = _moves(made(leave)), _starts(places, env.n_states)
        for mode, states in enumerate(places):
            leave[:, mode] = 0.0
            leave[states, mode] = _leaving(moves[mode], starts[mode], states, float(lasting[mode]), mode)
    return made(leave)


def ways(truth: SWIRL, goals: Sequence[Sequence[int]]) -> list[tuple[float, float]]:
    """Steps of a bout that ends as soon as it is at its goal: on average, and the fewest there could be.

    A bout starts at the goals of the other modes, and the step at the goal counts.

    >>> from swirl.datasets import gridworld_env
    >>> [(round(mean, 1), fewest) for mean, fewest in ways(sketched(gridworld_env(), [4, 20]), [[4], [20]])]
    [(10.7, 9.0), (10.7, 9.0)]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    n_states, pairs = truth.env.n_states, possible_moves(truth.env).T
    steps = shortest_path(
        csr_array((np.ones(len(pairs[0])), tuple(pairs)), shape=(n_states, n_states)), unweighted=True
    )
    found = []
    for moves, start, states in zip(_moves(truth), _starts(goals, n_states), goals, strict=False):
        leave = np.isin(np.arange(n_states), list(states)).astype(float)
        found.append((bout_length(moves, leave, start), 1 + float(start @ steps[:, list(states)].min(axis=1))))
    return found


def _moves(model: SWIRL) -> Float[np.ndarray, "mode state next_state"]:
    return np.einsum("zsa,sat->zst", model.policies_, model.env.dense())


def _starts(goals: Sequence[Sequence[int]], n_states: int) -> Float[np.ndarray, "goal state"]:
    """Where the bouts of each mode begin: at the goals of the others; anywhere, where there are none."""
    starts = np.zeros((len(goals), n_states))
    for mode, start in enumerate(starts):
        others = [state for k, own in enumerate(goals) if k != mode for state in own]
        start[others or slice(None)] = 1 / (len(set(others)) or n_states)
    return starts


def _each(value: Any, n_modes: int) -> list[Any]:
    """One value for each mode."""
    return list(value) if isinstance(value, Sequence | np.ndarray) else [value] * n_modes


def _above(value: Any, least: float | int) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and least < float(value) < float("inf")


def _states(goal: Any, env: MDP, faults: Faults) -> list[int]:
    """The states of a goal."""
    states = list(goal) if isinstance(goal, Sequence | np.ndarray) else [goal]
    whole = all(isinstance(state, Integral) and not isinstance(state, bool) for state in states)
    if not states or not whole or not all(0 <= int(state) < env.n_states for state in states):
        faults.add(f"goals: got {goal!r}, expected a state from 0 to {env.n_states - 1}, or several")
        return []
    return [int(state) for state in states]


def bout_length(
    moves: Float[np.ndarray, "state next_state"], leave: Float[np.ndarray, "state"], start: Float[np.ndarray, "state"]
) -> float:
    """Mean steps of a bout: T(s) = 1 + (1 − leave(s)) Σ_s' P(s'|s) T(s'), averaged over where it starts.

    >>> bout_length(np.eye(1), np.array([0.25]), np.ones(1))
    4.0
    """
    lasting = np.linalg.solve(np.eye(len(moves)) - (1 - leave)[:, None] * moves, np.ones(len(moves)))
    return float(start @ lasting)


def _leaving(moves: np.ndarray, start: np.ndarray, states: list[int], dwell: float, mode: int) -> float:
    """How likely a mode must end at its goal for its bouts to last `dwell` steps."""

    def lasting(often: float) -> float:
        leave = np.zeros(len(moves))
        leave[states] = often
        return bout_length(moves, leave, start)

    if (least := lasting(1.0)) > dwell:
        raise ValueError(
            f"dwell={dwell:g}: the way to the goal of mode {mode} takes {least:.1f} steps on average; expected at "
            'least that, or a lower temperature, or ends="anywhere"'
        )
    low, high = 0.0, 1.0
    for _ in range(TRIES):
        middle = (low + high) / 2
        low, high = (middle, high) if middle == 0 or lasting(middle) > dwell else (low, middle)
    return high
