"""How likely each step is in each mode: of the action taken, or of the state that it led to (docs/equations.md)."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from swirl.data.encoding import Encoded
from swirl.data.mdp import MDP

LogPolicies = Float[np.ndarray, "mode history option"]


class Evidence(NamedTuple):
    """What each step says of the hidden mode."""

    log_likelihoods: Float[np.ndarray, "step mode"]
    """0 in every mode where nothing was observed."""
    scored: Bool[np.ndarray, "step"]
    """Which steps a score counts."""
    later: Bool[np.ndarray, "step"]
    """Where the evidence is the next state: a causal filter has it one step later."""


def next_states(encoded: Encoded, env: MDP) -> Int[np.ndarray, "step"]:
    """The state that each step led to, −1 where it is not known.

    It is the state of the next step in the same chain.  In a deterministic environment an observed action says it
    too: so the last step of a segment counts, and a recording whose states do not join up is read by its actions.
    """
    following = encoded.following.astype(np.int64)
    if env.is_deterministic:
        known = encoded.actions >= 0
        following[known] = np.asarray(env.successors.next)[encoded.states[known], encoded.actions[known], 0]
    return following


def reach(
    env: MDP,
    states: Int[np.ndarray, "move"],
    following: Int[np.ndarray, "move"],
    possible: Bool[np.ndarray, "state action"] | None = None,
) -> Float[np.ndarray, "move action"]:
    """P(s'|s, a) of every action, 0 where it is not `possible` (by default: available).

    >>> env = MDP.deterministic([[0, 0, 1], [0, 1, 1]])
    >>> reach(env, np.array([0, 1]), np.array([0, 1])).tolist()
    [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    """
    possible = env.available if possible is None else possible
    branches = np.asarray(env.successors.next)[states] == following[:, None, None]
    return np.sum(branches * np.asarray(env.successors.probability)[states], axis=2) * possible[states]


def move_log_likelihoods(
    log_policies: LogPolicies,
    encoded: Encoded,
    env: MDP,
    steps: Int[np.ndarray, "move"],
    to: Int[np.ndarray, "move"],
    possible: Bool[np.ndarray, "state action"] | None = None,
) -> Float[np.ndarray, "move mode"]:
    """Log Σ_a π_z(a|h_t) P(to|s_t, a) of some steps: of where they led, by whichever action."""
    numbers = encoded.histories[steps].astype(np.int64) * env.n_states + to
    _, first, which = np.unique(numbers, return_index=True, return_inverse=True)  # few moves are made many times
    with np.errstate(divide="ignore"):
        log_reach = np.log(reach(env, encoded.states[steps[first]], to[first], possible))
    joint = log_policies[:, encoded.histories[steps[first]]] + log_reach
    return np.logaddexp.reduce(joint, axis=-1).T[which.reshape(-1)]


def option_evidence(
    log_table: LogPolicies, encoded: Encoded, options: Int[np.ndarray, "step"]
) -> Float[np.ndarray, "step mode"]:
    """Log-probability in each mode of the option chosen at each step, 0 where it is not known (−1)."""
    known = options >= 0
    log_likelihoods = np.zeros((encoded.n_steps, log_table.shape[0]))
    log_likelihoods[known] = log_table[:, encoded.histories[known], options[known]].T
    return log_likelihoods


def action_evidence(
    log_policies: LogPolicies, encoded: Encoded, env: MDP, possible: Bool[np.ndarray, "state action"] | None = None
) -> Evidence:
    """Log π_z(a_t|h_t) for each step; where the action is missing, that of the next state, Σ_a π_z(a|h_t) P(s'|s_t,a).

    Only the steps whose action was seen are scored.  Where neither is known the step says nothing; nor does it where no
    action that is `possible` (by default: available) makes the move.
    """
    log_likelihoods = option_evidence(log_policies, encoded, encoded.actions)
    latent = np.flatnonzero(encoded.latent)
    latent = latent[reach(env, encoded.states[latent], encoded.following[latent], possible).any(axis=1)]
    moves = (latent, encoded.following[latent])
    log_likelihoods[latent] = move_log_likelihoods(log_policies, encoded, env, *moves, possible)
    later = np.zeros(encoded.n_steps, dtype=bool)
    later[latent] = True
    return Evidence(log_likelihoods, encoded.actions >= 0, later)


def next_state_evidence(log_policies: LogPolicies, encoded: Encoded, env: MDP) -> Evidence:
    """Log Σ_a π_z(a|h_t) P(s_{t+1}|s_t, a) of every step whose successor is known, its action seen or not."""
    following = next_states(encoded, env)
    scored = following >= 0
    now = np.flatnonzero(scored)
    log_likelihoods = np.zeros((encoded.n_steps, log_policies.shape[0]))
    log_likelihoods[now] = move_log_likelihoods(log_policies, encoded, env, now, following[now])
    return Evidence(log_likelihoods, scored, scored & ~said_by_action(encoded, env))


def said_by_action(encoded: Encoded, env: MDP) -> Bool[np.ndarray, "step"]:
    """Where the observed action says which state follows, so that a causal filter need not wait for it."""
    return (encoded.actions >= 0) & env.is_deterministic
