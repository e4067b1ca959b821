"""How likely each step is in each mode: of the action taken, or of the state it led to (DESIGN §3)."""

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.encoding import Encoded
from swirl.mdp import MDP

Policies = Float[np.ndarray, "mode history option"]
Steps = tuple[Float[np.ndarray, "step mode"], Bool[np.ndarray, "step"]]


def _log(probabilities: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def next_states(encoded: Encoded, env: MDP) -> Int[np.ndarray, "step"]:
    """The state that each step led to, −1 where it is not known.

    In a deterministic environment the observed action says it, so the last step of a segment counts too, a
    recording whose states do not join up is read by its actions, and the steps are those of the action score.
    Elsewhere, and in sessions without any action, it is the state of the next step in the same chain.
    """
    following = np.full(encoded.n_steps, -1, dtype=np.int64)
    inside = np.ones(encoded.n_steps, dtype=bool)
    inside[encoded.chains[1:] - 1] = False
    now = np.flatnonzero(inside)
    following[now] = encoded.states[now + 1]
    if env.is_deterministic:
        known = encoded.actions >= 0
        of_session = np.add.reduceat(known, encoded.sessions[:-1]) > 0
        following[np.repeat(of_session, np.diff(encoded.sessions))] = -1
        following[known] = np.asarray(env.successors.next)[encoded.states[known], encoded.actions[known], 0]
    return following


def option_likelihoods(table: Policies, encoded: Encoded, options: Int[np.ndarray, "step"]) -> Steps:
    """Log-probability in each mode of the option chosen at each step, 0 where it is not known (−1); and where it is."""
    scored = options >= 0
    log_likelihoods = np.zeros((encoded.n_steps, table.shape[0]))
    log_likelihoods[scored] = _log(table[:, encoded.histories[scored], options[scored]].T)
    return log_likelihoods, scored


def action_likelihoods(policies: Policies, encoded: Encoded) -> Steps:
    """Log π_z(a_t|h_t) for each step, 0 where the action is missing; and where it was observed."""
    return option_likelihoods(policies, encoded, encoded.actions)


def next_state_likelihoods(policies: Policies, encoded: Encoded, env: MDP) -> Steps:
    """Log Σ_a π_z(a|h_t) P(s_{t+1}|s_t, a): of where each step led, by whichever action."""
    following = next_states(encoded, env)
    log_likelihoods = np.zeros((encoded.n_steps, policies.shape[0]))
    scored = following >= 0
    now = np.flatnonzero(scored)
    states = encoded.states[now]
    branches = np.asarray(env.successors.next)[states] == following[now][:, None, None]
    reach = np.sum(branches * np.asarray(env.successors.probability)[states], axis=2) * env.available[states]
    possible = reach.sum(axis=1) > 0  # an impossible move (impossible="forget") says nothing
    scored[now[~possible]] = False
    now, reach = now[possible], reach[possible]
    log_likelihoods[now] = _log(np.einsum("zta,ta->tz", policies[:, encoded.histories[now]], reach))
    return log_likelihoods, scored
