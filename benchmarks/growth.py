"""Section 4: how one EM iteration grows with steps, modes, states and restarts (histories have a section of their own).

One thing grows at a time.  The E-step should be linear in the steps, the M-step flat in them: it sees only counts.
"""

from typing import Any

import numpy as np
from problems import gridworld_training, prepare, split_times, wander

from report import Options, Section, Table
from swirl.data.mdp import MDP
from swirl.estimators.swirl import SWIRL
from swirl.priors import Gaussian

PRIOR = Gaussian(0.02, backoff=3.0, of="value")


def measure(options: Options) -> Section:
    """Time E-step and M-step while one size grows, and the slope of their logarithms."""
    n_sessions, n_steps = (20, 100) if options.quick else (160, 500)
    n_iterations = 4 if options.quick else 15

    def timed(env: MDP, data: Any, n_modes: int = 2, n_restarts: int = 1) -> tuple[float, float]:
        model = SWIRL(env, n_modes=n_modes, history=2, reward_prior=PRIOR, impossible="forget")
        split = split_times(prepare(model, data), n_iterations, n_restarts)
        return split.e_step, split.m_step

    grid, base, _ = gridworld_training(n_sessions, n_steps)
    walks = {n: ring_of_rooms(n) for n in ((25, 50) if options.quick else (25, 100, 400, 1600))}
    grown = {
        "steps": {f * base.n_steps: timed(grid, gridworld_training(f * n_sessions, n_steps)[1]) for f in (1, 2, 4, 8)},
        "modes": {k: timed(grid, base, n_modes=k) for k in ((2, 4) if options.quick else (2, 4, 8, 12))},
        "states": {n: timed(env, wander(env, n_sessions, n_steps)) for n, env in walks.items()},
        "restarts": {r: timed(grid, base, n_restarts=r) for r in ((1, 2) if options.quick else (1, 2, 4, 8))},
    }
    rows, slopes = [], {}
    for what, times in grown.items():
        sizes, (e_steps, m_steps) = list(times), zip(*times.values(), strict=True)
        slopes[what] = [float(np.polyfit(np.log(sizes), np.log(each), 1)[0]) for each in (e_steps, m_steps)]
        for size, e_step, m_step in zip(sizes, e_steps, m_steps, strict=True):
            rows.append([what, size, 1e3 * e_step, e_step / e_steps[0], 1e3 * m_step, m_step / m_steps[0]])
    notes = [f"slope over {what}: E-step {e:.2f}, M-step {m:.2f} (1 = linear)" for what, (e, m) in slopes.items()]
    table = Table(
        f"S-2, prior on values, {base.n_steps:,} steps, K = 2, 25 states, one restart; one grows: ms per EM iteration",
        ["growing", "to", "E-step", "× first", "M-step", "× first "],
        rows,
        notes,
    )
    values = {what: {str(size): list(pair) for size, pair in times.items()} for what, times in grown.items()}
    return Section([table], {"seconds": values, "slopes": slopes})


def ring_of_rooms(n_states: int) -> MDP:
    """A ring on which one goes one or five places on or back, or stays: as many ways from each state at any size."""
    node = np.arange(n_states)[:, None]
    return MDP.deterministic((node + np.array([-5, -1, 0, 1, 5])) % n_states)
