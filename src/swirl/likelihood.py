"""How likely each step is in each mode: of the action taken, or of the state it led to (DESIGN §3)."""

import numpy as np
from jaxtyping import Bool, Float

from swirl.encoding import Encoded
from swirl.mdp import MDP

Policies = Float[np.ndarray, "mode history action"]
Steps = tuple[Float[np.ndarray, "step mode"], Bool[np.ndarray, "step"]]


def _log(probabilities: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def action_likelihoods(policies: Policies, encoded: Encoded) -> Steps:
    """Log π_z(a_t|h_t) for each step, 0 where the action is missing; and where it was observed."""
    scored = encoded.actions >= 0
    log_likelihoods = np.zeros((encoded.n_steps, policies.shape[0]))
    log_likelihoods[scored] = _log(policies[:, encoded.histories[scored], encoded.actions[scored]].T)
    return log_likelihoods, scored


def next_state_likelihoods(policies: Policies, encoded: Encoded, env: MDP) -> Steps:
    """Log-likelihood of where each step led.

    In a deterministic environment actions with the same successor are merged, so every step with an observed
    action counts, the last of a segment too.  In a stochastic one it is log Σ_a π_z(a|h_t) P(s_{t+1}|s_t, a), and
    the steps that have a next state in the same chain count.
    """
    log_likelihoods = np.zeros((encoded.n_steps, policies.shape[0]))
    if env.is_deterministic:
        scored = encoded.actions >= 0
        classes = env.action_classes()
        states, actions = encoded.states[scored], encoded.actions[scored]
        same = (classes[states] == classes[states, actions][:, None]) & env.available[states]
        log_likelihoods[scored] = _log(np.sum(policies[:, encoded.histories[scored]] * same, axis=2).T)
        return log_likelihoods, scored
    scored = np.ones(encoded.n_steps, dtype=bool)
    scored[encoded.chains[1:] - 1] = False
    now = np.flatnonzero(scored)
    states, following = encoded.states[now], encoded.states[now + 1]
    branches = np.asarray(env.successors.next)[states] == following[:, None, None]
    reach = np.sum(branches * np.asarray(env.successors.probability)[states], axis=2) * env.available[states]
    possible = reach.sum(axis=1) > 0  # an impossible move (impossible="forget") says nothing
    scored[now[~possible]] = False
    now, reach = now[possible], reach[possible]
    log_likelihoods[now] = _log(np.einsum("zta,ta->tz", policies[:, encoded.histories[now]], reach))
    return log_likelihoods, scored
