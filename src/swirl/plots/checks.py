"""What the arguments of figures must be: each check names the argument, what was got and what was expected.

A check that is given `faults` adds to them, so that one error can name all; without them it raises by itself.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from swirl.data.mdp import MDP
from swirl.errors import Faults

Marks = Mapping[str, int]  # name → state


def check_states(argument: str, n_got: int, env: MDP) -> None:
    """Raise unless there is one entry per state.

    >>> check_states("values", 2, MDP.deterministic([[1, 0], [0, 1]]))
    """
    if n_got != env.n_states:
        raise ValueError(f"{argument}: got {n_got} states, but env has {env.n_states}; give one entry per state of env")


def check_marks(marks: Marks | None, n_states: int, faults: Faults | None = None) -> None:
    """Refuse a marked state that does not exist.

    >>> check_marks({"home": 0}, 127)
    """
    outside = {name: state for name, state in (marks or {}).items() if not 0 <= state < n_states}
    if outside:
        _tell(f"marks: got {outside}, expected states from 0 to {n_states - 1}", faults)


def check_shape(argument: str, n_states: int, shape: tuple[int, int]) -> tuple[int, int]:
    """Return `shape` when its cells are as many as the states of `argument`.

    >>> check_shape("values", 6, (2, 3))
    (2, 3)
    """
    rows, columns = shape
    if rows < 1 or columns < 1 or rows * columns != n_states:
        raise ValueError(
            f"shape: got {shape} = {rows * columns} cells, but {argument} has {n_states} states; "
            "give (rows, columns) with one cell per state"
        )
    return shape


def check_above_zero(argument: str, got: float | int, why: str) -> None:
    """Refuse a number that is not above 0.

    >>> check_above_zero("vmax", 3.0, "the scale runs from −vmax to vmax")
    """
    if not got > 0:
        raise ValueError(f"{argument}: got {got}, expected a number above 0; {why}")


def check_level(level: float, faults: Faults | None = None) -> None:
    """Refuse a level, such as that of an interval, that is no share.

    >>> check_level(0.95)
    """
    if not 0 < level < 1:
        _tell(f"level: got {level}, expected a share between 0 and 1", faults)


def check_policy(argument: str, policy: np.ndarray, env: MDP) -> None:
    """Raise unless a policy has a row of probabilities per state; rows of NaN say that nothing is known.

    >>> check_policy("policy", np.array([[0.9, 0.1], [0.5, 0.5]]), MDP.deterministic([[1, 0], [0, 1]]))
    """
    if policy.shape != (env.n_states, env.n_actions):
        check_states(argument, policy.shape[0], env)
        raise ValueError(
            f"{argument}: got shape {policy.shape}, expected [state, action] = {(env.n_states, env.n_actions)}"
        )
    chosen = np.where(env.available, policy, 0.0)
    bad = np.flatnonzero(np.isfinite(chosen.sum(axis=1)) & (not_distributions(chosen, 1e-5) | (policy < -1e-9).any(1)))
    if bad.size:
        raise ValueError(
            f"{argument}: state {bad[0]} is {policy[bad[0]].tolist()} ({bad.size} such states); expected "
            "probabilities of the available actions that sum to one"
        )


def check_probabilities(argument: str, probabilities: np.ndarray) -> None:
    """Raise unless every step has a distribution over the modes.

    >>> check_probabilities("posterior", np.full((3, 2), 0.5))
    """
    bad = np.flatnonzero(not_distributions(probabilities, 1e-6))
    if bad.size:
        raise ValueError(
            f"{argument}: step {bad[0]} is {probabilities[bad[0]].tolist()}, which is not a distribution "
            f"({bad.size} such steps); expected rows that are not negative and sum to one"
        )


def not_distributions(rows: np.ndarray, tolerance: float) -> np.ndarray:
    """Say of each row whether it has a negative number or NaN, or does not sum to one.

    >>> not_distributions(np.array([[0.5, 0.5], [0.5, 0.6], [np.nan, 1.0]]), 1e-6).tolist()
    [False, True, True]
    """
    return ~(np.abs(rows.sum(axis=1) - 1) < tolerance) | (rows < -1e-9).any(axis=1)


def check_modes(
    sessions: Mapping[str, np.ndarray], mode_names: Sequence[str] | None, faults: Faults | None = None
) -> int:
    """Return how many modes there are, seen or named; −1, unknown, is none.  `sessions`: how each is told, its modes.

    >>> check_modes({"session 0": np.array([0, 2, -1])}, ["water", "home"])
    3
    """
    for told, path in sessions.items():
        if len(path) and path.min() < -1:
            _tell(f"{told} holds {path.min()}; expected modes 0, 1, … or −1 for unknown", faults)
    seen = 1 + max((int(path.max()) for path in sessions.values() if len(path)), default=0)
    return max(1, seen, len(mode_names) if mode_names is not None else 0)


def check_paths(env: MDP, states: Sequence[np.ndarray], modes: Sequence[np.ndarray], mode: int) -> None:
    """Raise unless every step has a state of the environment and a mode.

    >>> check_paths(MDP.deterministic([[1, 0], [0, 1]]), [np.array([0, 1])], [np.array([0, 0])], 0)
    """
    faults = Faults()
    if len(states) != len(modes):
        faults.add(f"states, modes: got {len(states)} and {len(modes)} sessions, expected equal numbers")
    for session, (path, labels) in enumerate(zip(states, modes, strict=False)):
        if path.shape != labels.shape or path.ndim != 1:
            faults.add(f"session {session}: states {path.shape}, modes {labels.shape}; expected a mode per state")
        elif path.size and not (path.min() >= 0 and path.max() < env.n_states):
            step = int(np.flatnonzero((path < 0) | (path >= env.n_states))[0])
            faults.add(f"states: session {session}, step {step} is {path[step]}, expected 0 to {env.n_states - 1}")
    if mode < 0:
        faults.add(f"mode: got {mode}, expected 0, 1, …")
    faults.raise_if_any()


def _tell(fault: str, faults: Faults | None) -> None:
    if faults is None:
        raise ValueError(fault)
    faults.add(fault)
