"""Section 4: time against the amount of data; the E-step should be linear and the M-step flat."""

import numpy as np
from problems import gridworld_training, prepare, split_times

from report import Options, Section, Table
from swirl.estimators.swirl import SWIRL


def measure(options: Options) -> Section:
    """Time EM iterations of S-2 on 1, 2, 4 and 8 times the gridworld's sessions."""
    n_sessions, n_steps = (40, 100) if options.quick else (200, 500)
    factors = (1, 2, 4, 8)
    splits, steps = [], []
    for factor in factors:
        env, train, _ = gridworld_training(factor * n_sessions, n_steps)
        problem = prepare(SWIRL(env, n_modes=2, history=2), train)
        splits.append(split_times(problem, n_iterations=5 if options.quick else 20))
        steps.append(problem.n_observed)

    def slope(times: list[float]) -> float:
        return float(np.polyfit(np.log(steps), np.log(times), 1)[0])

    slopes = {"e_step": slope([s.e_step for s in splits]), "m_step": slope([s.m_step for s in splits])}
    base = splits[0]
    table = Table(
        "S-2 on the gridworld against the amount of data: ms per EM iteration, one restart",
        ["data", "steps", "E-step", "× first", "M-step", "× first ", "E-step, M steps/s"],
        [
            [
                f"{factor} ×",
                n,
                1e3 * s.e_step,
                s.e_step / base.e_step,
                1e3 * s.m_step,
                s.m_step / base.m_step,
                n / s.e_step / 1e6,
            ]
            for factor, n, s in zip(factors, steps, splits, strict=True)
        ],
        [f"log-log slope: E-step {slopes['e_step']:.2f} (1 = linear), M-step {slopes['m_step']:.2f} (0 = flat)"],
    )
    return Section(
        [table],
        {
            "steps": steps,
            "e_step_s": [s.e_step for s in splits],
            "m_step_s": [s.m_step for s in splits],
            "slopes": slopes,
        },
    )
