"""Section 3: one EM iteration at L = 1 … 6 in the labyrinth."""

from problems import labyrinth, prepare, split_times

from report import Options, Section, Table, once
from swirl.estimators.swirl import SWIRL
from swirl.priors import Gaussian

PRIOR = Gaussian(0.02, backoff=3.0, of="value")


def measure(options: Options) -> Section:
    """Milliseconds of E-step and M-step against the number of histories."""
    env, train, source = labyrinth(n_sessions=40 if options.quick else 238)
    n_steps = int(sum(train.lengths))
    rows, values = [], {}
    for length in range(1, 4 if options.quick else 7):
        model = SWIRL(env, n_modes=3, history=length, impossible="forget", reward_prior=PRIOR)
        seconds, problem = once(lambda model=model: prepare(model, train))
        split = split_times(problem, n_iterations=3 if options.quick else 10)
        full = int(problem.histories.full_length.sum())
        rows.append(
            [
                length,
                full,
                problem.histories.n_histories,
                1e3 * split.e_step,
                1e3 * split.m_step,
                1e3 * split.iteration,
                1e3 * seconds,
            ]
        )
        values[f"L={length}"] = {
            "full_length_histories": full,
            "histories": problem.histories.n_histories,
            "e_step_s": split.e_step,
            "m_step_s": split.m_step,
            "iteration_s": split.iteration,
            "prepare_s": seconds,
        }
    table = Table(
        f"S-L in the labyrinth, prior on values, 3 modes, one restart, {len(train)} sessions = {n_steps:,} steps: "
        "ms per EM iteration",
        ["L", "full-length histories", "with short ones", "E-step", "M-step", "iteration", "set-up (once)"],
        rows,
        [source],
    )
    return Section([table], {"source": source, "n_steps": n_steps, **values})
