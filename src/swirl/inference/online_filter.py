"""The causal filter one step at a time, for closed-loop experiments: plain numpy, about 20 µs a call.

Equals `filter_proba` of the same model, step by step (a test says so)::

    p(z_t | s_1:t, a_1:t) ∝ p(z_t | s_1:t, a_1:t−1) π_z(a_t | h_t)
    p(z_{t+1} | s_1:t, a_1:t) = Σ_z p(z_t = z | s_1:t, a_1:t) P_z(z_{t+1} | z, s_t)

Where a_t was not seen, s_{t+1} still says something of it: when it arrives, and before the switch, p(z_t) is multiplied
by Σ_a π_z(a | h_t) P(s_{t+1} | s_t, a).

It works in logarithms: among modes that never, or hardly ever, switch a share can fall far below 1e−308, and later
steps must still be able to call it back.  Only what is returned is rounded to a plain probability.
"""

from operator import index
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from swirl.data.mdp import MDP
from swirl.errors import renamed


class OnlineFilter:
    """Mode probabilities from one (state, action) at a time.

    Parameters
    ----------
    initial_modes
        p(z_1), used after construction and after each `reset`.
    mode_transitions
        P_z(z' | z, s).
    policies
        π_z(a | h), with the rows of `histories` as h.
    histories
        The known histories (s_t, s_{t−1}, …), newest first; −1 = before the start.
    env
        Where each action leads: what the next state says of an action that was not seen, and which moves cannot be.
    log_policies
        Logarithms of `policies`, where you have them: exact where a probability is below 1e−308.
    impossible
        What to do when a move cannot be (by its action, or by any where none was seen), or an action
        has probability zero in every mode: "error" raises and leaves the filter as it was; "forget" restarts
        the history at (s_t, −1, …) while the mode chain continues, and passes over such an action; "gap" also
        restarts the mode chain at p(z_1).

    Examples
    --------
    Two states, two modes that like to go to state 0 (by action 0) and to state 1 (by action 1):

    >>> import numpy as np
    >>> online = OnlineFilter(
    ...     initial_modes=np.array([0.5, 0.5]),
    ...     mode_transitions=np.broadcast_to([[0.9, 0.1], [0.1, 0.9]], (2, 2, 2)),
    ...     policies=np.array([[[0.8, 0.2]] * 2, [[0.2, 0.8]] * 2]),
    ...     histories=np.array([[0], [1]]),
    ...     env=MDP.deterministic([[0, 1], [0, 1]]),
    ... )
    >>> online.update(state=1, action=0).round(3).tolist()
    [0.8, 0.2]
    >>> online.predict().round(3).tolist()
    [0.74, 0.26]
    >>> online.update(state=0).round(3).tolist()  # the action was not seen
    [0.74, 0.26]
    >>> online.update(state=1).round(3).tolist()  # now one knows that it was action 1
    [0.433, 0.567]
    """

    @renamed(unknown="impossible")
    def __init__(
        self,
        initial_modes: Float[np.ndarray, "mode"],
        mode_transitions: Float[np.ndarray, "state mode mode"],
        policies: Float[np.ndarray, "mode history action"],
        histories: Int[np.ndarray, "history lag"],
        env: MDP,
        *,
        log_policies: Float[np.ndarray, "mode history action"] | None = None,
        impossible: Literal["error", "forget", "gap"] = "error",
    ):
        _check(initial_modes, mode_transitions, policies, histories, env, impossible)
        self.impossible = impossible
        with np.errstate(divide="ignore"):  # what is impossible has the logarithm −∞
            self._log_initial = np.log(np.asarray(initial_modes, dtype=float))
            self._log_transitions = np.log(np.asarray(mode_transitions, dtype=float))
            log_policies = np.log(np.asarray(policies, dtype=float)) if log_policies is None else log_policies
        # Modes last and contiguous: one lookup per step.
        self._log_policies = np.ascontiguousarray(np.moveaxis(log_policies, 0, -1), dtype=float)
        self._rows = {tuple(history): i for i, history in enumerate(histories.tolist())}
        self._before_start = (-1,) * histories.shape[1]
        self._ways = _ways(env)
        self.reset()

    def reset(self) -> None:
        """Start a new segment: at a session's start and after every gap."""
        self._history = self._before_start
        self._last: tuple[int, int, int] | None = None  # state, row and action of the last step
        self._log_modes = self._log_initial
        self.step = 0

    def update(self, state: int | np.integer, action: int | np.integer = -1) -> Float[np.ndarray, "mode"]:
        """Take one step and return p(z_t | s_1:t, a_1:t); −1: the action was not seen.

        Raises ValueError, and leaves the filter as it was, for a state or action out of range and, with
        `impossible="error"`, for an impossible transition or action.
        """
        state, action = index(state), index(action)  # a float label is a TypeError
        n_states, n_actions = len(self._log_transitions), self._log_policies.shape[1]
        if not 0 <= state < n_states:
            raise ValueError(f"step {self.step}: state={state!r}, expected 0 to {n_states - 1}")
        if not -1 <= action < n_actions:
            raise ValueError(f"step {self.step}: action={action!r}, expected 0 to {n_actions - 1}, or -1 (not seen)")
        history, log_modes = (state, *self._history[:-1]), self._log_modes
        if self._last is not None:
            history, log_modes = self._arrived(state, history)
        row = self._rows.get(history)
        if row is None:
            raise ValueError(
                f"step {self.step}: history {history} (newest first) is not known; add it to histories when building "
                "the filter"
            )
        if action >= 0:
            log_joint = log_modes + self._log_policies[row, action]
            log_total = np.logaddexp.reduce(log_joint)
            if log_total > -np.inf:
                log_modes = log_joint - log_total
            elif self.impossible == "error":
                raise ValueError(
                    f"step {self.step}: action={action} is impossible in every mode at history {history}; "
                    'check the action, pass action=-1, or build the filter with impossible="forget"'
                )
        self._history, self._last, self._log_modes = history, (state, row, action), log_modes
        self.step += 1
        return np.exp(log_modes)

    def predict(self) -> Float[np.ndarray, "mode"]:
        """Return p(z_{t+1} | s_1:t, a_1:t): the modes at the next step, before anything of it is seen."""
        if self._last is None:
            return np.exp(self._log_initial)
        return np.exp(self._switched(self._log_modes))

    def _switched(self, log_modes: Float[np.ndarray, "mode"]) -> Float[np.ndarray, "mode"]:
        """The modes after the last step's switch."""
        state, _, _ = self._last or (0, 0, 0)
        return np.logaddexp.reduce(log_modes[:, None] + self._log_transitions[state], axis=0)

    def _arrived(self, state: int, history: tuple[int, ...]) -> tuple[tuple[int, ...], Float[np.ndarray, "mode"]]:
        """The history and the modes at `state`, before its own action: what it says of the last step, the switch."""
        before, row, action = self._last or (0, 0, 0)
        log_modes = self._log_modes
        ways = self._ways.get((before, state))
        if ways is not None and action < 0:
            actions, log_reach = ways
            log_joint = log_modes + np.logaddexp.reduce(self._log_policies[row, actions] + log_reach, axis=0)
            log_total = np.logaddexp.reduce(log_joint)
            log_modes = log_joint - log_total if log_total > -np.inf else log_modes
        elif ways is None or action not in ways[0]:
            if self.impossible == "error":
                by = "no action leads" if action < 0 else f"action={action}, which was taken, does not lead"
                raise ValueError(
                    f"step {self.step}: state={state} cannot follow state={before}: {by} there; check the state, "
                    'call reset() where recording was interrupted, or build the filter with impossible="forget"'
                )
            history = (state, *self._before_start[1:])
            if self.impossible == "gap":
                return history, self._log_initial
        return history, self._switched(log_modes)


def _ways(env: MDP) -> dict[tuple[int, int], tuple[Int[np.ndarray, "way"], Float[np.ndarray, "way one"]]]:
    """For each move from state to state the actions that can make it, and log P(s'|s, a) of each."""
    chances: dict[tuple[int, int], dict[int, float]] = {}
    for state, action, following, p in zip(*(column.tolist() for column in env.successors.moves()), strict=True):
        own = chances.setdefault((state, following), {})
        own[action] = own.get(action, 0.0) + p
    return {move: (np.array(list(own)), np.log(list(own.values()))[:, None]) for move, own in chances.items()}


def _check(
    initial_modes: np.ndarray,
    mode_transitions: np.ndarray,
    policies: np.ndarray,
    histories: np.ndarray,
    env: MDP,
    impossible: str,
) -> None:
    """Raise one ValueError with every fault of the arguments."""
    faults = []
    n_modes = len(initial_modes)
    if mode_transitions.ndim != 3 or mode_transitions.shape[1:] != (n_modes, n_modes):
        faults.append(f"mode_transitions has shape {mode_transitions.shape}, expected (state, {n_modes}, {n_modes})")
    if policies.ndim != 3 or policies.shape[:2] != (n_modes, len(histories)):
        faults.append(f"policies has shape {policies.shape}, expected ({n_modes}, {len(histories)}, action)")
    if histories.ndim != 2 or histories.shape[1] < 1:
        faults.append(f"histories has shape {histories.shape}, expected (history, lag) with at least one lag")
    elif histories.size and not -1 <= histories.min() <= histories.max() < len(mode_transitions):
        faults.append(
            f"histories holds {histories.min()} to {histories.max()}, expected states 0 to "
            f"{len(mode_transitions) - 1}, or -1 before the start"
        )
    for name, array in (
        ("initial_modes", initial_modes),
        ("mode_transitions", mode_transitions),
        ("policies", policies),
    ):
        # Written so that NaN is a fault too.
        if not (np.all(array >= 0) and np.all(np.abs(array.sum(axis=-1) - 1.0) < 1e-6)):
            faults.append(f"{name} must hold probabilities that sum to one over the last axis")
    if not isinstance(env, MDP):
        faults.append(f"env is {type(env).__name__}, expected swirl.MDP: it says where each action leads")
    elif (env.n_states, env.n_actions) != (len(mode_transitions), policies.shape[-1]):
        faults.append(
            f"env has {env.n_states} states and {env.n_actions} actions, expected {len(mode_transitions)} and "
            f"{policies.shape[-1]}"
        )
    if impossible not in ("error", "forget", "gap"):
        faults.append(f'impossible={impossible!r}, expected "error", "forget" or "gap"')
    if faults:
        raise ValueError("; ".join(faults))
