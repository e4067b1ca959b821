"""Sampling from the model: modes, actions and states, forward in time (paper §3.3).

z_1 ~ p(z_1),  s_1 ~ p(s_1);    a_t ~ π_{z_t}(·|h_t),  s_{t+1} ~ P(·|s_t, a_t),  z_{t+1} ~ P_z(·|z_t, s_t)
"""

import numpy as np
from jaxtyping import Float, Int

from swirl.data.histories import Histories
from swirl.data.successors import Successors


def draw(probabilities: Float[np.ndarray, "*n option"], rng: np.random.Generator) -> Int[np.ndarray, "*n"]:
    """Draw one option from each row of `probabilities`.

    >>> draw(np.array([[0.0, 1.0], [1.0, 0.0]]), np.random.default_rng(0)).tolist()
    [1, 0]
    """
    cumulative = np.cumsum(probabilities, axis=-1)
    uniform = rng.random((*probabilities.shape[:-1], 1)) * cumulative[..., -1:]
    return np.sum(cumulative <= uniform, axis=-1)


def simulate(
    histories: Histories,
    *,
    initial_states: Float[np.ndarray, "state"],
    initial_modes: Float[np.ndarray, "mode"],
    mode_transitions: Float[np.ndarray, "state mode next_mode"],
    policies: Float[np.ndarray, "mode history action"],
    n_sessions: int,
    n_steps: int,
    rng: np.random.Generator,
    successors: Successors | None = None,
) -> tuple[Int[np.ndarray, "session time"], Int[np.ndarray, "session time"], Int[np.ndarray, "session time"]]:
    """Draw states, actions and modes of `n_sessions` sessions of `n_steps` steps.

    Equals, for each session, the plain loop::

        z, s = draw(initial_modes), draw(initial_states); h = (s,)
        for t in range(n_steps):
            a = draw(policies[z, h])
            s, z, h = draw(P[s, a]), draw(mode_transitions[s, z]), (s', *h)

    `successors` says where each option of `policies` leads, where the options are not the environment's actions.
    """
    successors = histories.successors if successors is None else successors
    following = np.asarray(successors.next)
    probability = np.asarray(successors.probability)
    z = draw(np.broadcast_to(initial_modes, (n_sessions, len(initial_modes))), rng)
    h = draw(np.broadcast_to(initial_states, (n_sessions, len(initial_states))), rng)  # a lone state is a history
    states = np.empty((n_sessions, n_steps), dtype=np.int64)
    actions, modes = np.empty_like(states), np.empty_like(states)
    for t in range(n_steps):
        a = draw(policies[z, h], rng)
        s = histories.states[h]
        states[:, t], actions[:, t], modes[:, t] = s, a, z
        z = draw(mode_transitions[s, z], rng)
        h = following[h, a, draw(probability[h, a], rng)]
    return states, actions, modes
