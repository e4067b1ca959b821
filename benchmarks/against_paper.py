"""Section 1: S-2 on the gridworld against the paper's recipe, both from the same starting point."""

import time

import numpy as np
import paper_recipe
from problems import Problem, gridworld_training, prepare, random_start

from report import Options, Section, Table
from swirl.data.mdp import MDP
from swirl.estimators.swirl import SWIRL
from swirl.inference import em
from swirl.inference.mstep import Parameters

TOL = 1e-5  # the default of SWIRL
MAX_ITERATIONS = 200
SEED = 0


def dense(env: MDP) -> np.ndarray:
    """P[s, a, s'] as the rival wants it."""
    table = np.zeros((env.n_states, env.n_actions, env.n_states))
    node, action, branch = np.indices(np.shape(env.successors.next))
    np.add.at(table, (node, action, np.asarray(env.successors.next)), np.asarray(env.successors.probability))
    del branch
    return table


def same_start(rival: paper_recipe.Parameters, data: paper_recipe.OneHot, problem: Problem, sweeps: int) -> Parameters:
    """Translate the rival's starting point: its values V(s_t, s_{t−1}) on our histories; the policies are the same."""
    q = np.asarray(paper_recipe.soft_q(paper_recipe.pair_rewards(rival), data.lifted, sweeps - 1), dtype=float)
    highest = q.max(axis=-1)
    values = highest + np.log(np.exp(q - highest[..., None]).sum(axis=-1))
    state, previous = problem.histories.table.T
    n_states = data.states.shape[-1]
    pair = state * n_states + np.where(previous < 0, state, previous)
    switching = np.concatenate([rival.mode_logits, rival.state_logits]).astype(float)
    drawn = random_start(problem)
    rewards = drawn.emissions._replace(values=values[:, pair][None])
    return Parameters(np.log(np.asarray(rival.initial, dtype=float))[None], switching[None], rewards)


class Climb:
    """Repeated runs of our EM from one start: the same log-likelihoods each time, several timings of each."""

    def __init__(self, problem: Problem, begin: Parameters):
        self.problem, self.begin = problem, begin
        self.stamps: list[np.ndarray] = []
        self.compile_seconds = time.perf_counter()
        self._run(2)
        self.compile_seconds = time.perf_counter() - self.compile_seconds
        self.compile_seconds -= float(self._run(2)[0][-1])

    def _run(self, n_iterations: int) -> tuple[np.ndarray, np.ndarray]:
        stamps: list[float] = []
        began = time.perf_counter()
        restarts = em.run(
            self.problem.components,
            self.problem.chains,
            n_restarts=1,
            seed=0,
            max_iter=n_iterations,
            tol=TOL,
            start=self.begin,
            callback=lambda _: stamps.append(time.perf_counter() - began),
        )
        length = 1 + len(stamps)
        padded = [np.pad(r.log_likelihood_trace, (0, length - len(r.log_likelihood_trace)), "edge") for r in restarts]
        return np.array([0.0, *stamps]), np.max(padded, axis=0)

    def repeat(self, times: int) -> None:
        """Run from the start until every restart has ended, `times` times."""
        for _ in range(times):
            stamps, self.log_likelihoods = self._run(MAX_ITERATIONS)
            self.stamps.append(stamps)

    @property
    def seconds(self) -> np.ndarray:
        """Median time of each iteration, summed from the start."""
        return np.concatenate([[0.0], np.cumsum(np.median(np.diff(self.stamps), axis=0))])

    @property
    def per_iteration(self) -> float:
        """Mean over all iterations, the slow first ones included."""
        return float(self.seconds[-1] / self.n_iterations)

    @property
    def n_iterations(self) -> int:
        """Iterations until the last restart ended."""
        return len(self.log_likelihoods) - 1


def time_to(target: float, seconds: np.ndarray, log_likelihoods: np.ndarray) -> tuple[float, int]:
    """Seconds and iterations until the log-likelihood first reaches `target`; NaN when it never does."""
    reached = np.flatnonzero(log_likelihoods >= target)
    return (float(seconds[reached[0]]), int(reached[0])) if len(reached) else (float("nan"), -1)


def measure(options: Options) -> Section:
    """Time per EM iteration, and time to equal training log-likelihood."""
    env, train, truth = gridworld_training(*((40, 100) if options.quick else (200, 500)))
    budget = paper_recipe.Budget(40, 10) if options.quick else paper_recipe.Budget()
    model = SWIRL(env, n_modes=2, history=2)
    problem = prepare(model, train)
    n = problem.n_observed

    data = paper_recipe.one_hot(np.stack(train.states), np.stack(train.actions), dense(env))
    first = paper_recipe.start(data, 2, SEED)
    begin = same_start(first, data, problem, budget.sweeps)
    alone, eight = Climb(problem, begin), Climb(problem, random_start(problem, 8))

    def show(trace: paper_recipe.Trace) -> None:
        print(f"  paper's recipe: iteration {len(trace.seconds) - 1}, {trace.seconds[-1]:.1f} s", flush=True)

    # Before and after the rival, so that a busy spell of the machine does not fall on one side only.
    for climb in (alone, eight):
        climb.repeat(3)
    trace = paper_recipe.run(data, options.rival_iterations, SEED, n_modes=2, budget=budget, on_iteration=show)
    for climb in (alone, eight):
        climb.repeat(3)
    seconds, likelihoods = alone.seconds, alone.log_likelihoods
    theirs = float(np.mean(np.diff(trace.seconds)))
    ours, ours_8 = alone.per_iteration, eight.per_iteration / 8
    gap = abs(trace.log_likelihoods[0] - likelihoods[0]) / abs(likelihoods[0])
    if gap > 1e-4:
        raise RuntimeError(f"the starting points differ: {trace.log_likelihoods[0]} and {likelihoods[0]}")

    per_iteration = Table(
        f"S-2 on the gridworld, {len(train)} training sessions × {len(train.states[0])} steps: one EM iteration",
        ["", "s / iteration", "compile s", "ratio"],
        [
            ["paper's recipe (float32)", theirs, trace.compile_seconds, 1.0],
            ["swirl, one restart (float64)", ours, alone.compile_seconds, theirs / ours],
            ["swirl, 8 restarts together, per restart", ours_8, eight.compile_seconds, theirs / ours_8],
        ],
        [
            f"recipe: {budget.state_steps} + {budget.pair_steps} Adam steps, {budget.sweeps} soft-Q sweeps, "
            f"{options.rival_iterations} iterations run",
            f"swirl: mean of the {alone.n_iterations} iterations to convergence (tol {TOL:g}); "
            f"its first {options.rival_iterations} take {seconds[options.rival_iterations]:.4f} s together",
            *(["QUICK: small data and few Adam steps; these ratios are not the claim"] if options.quick else []),
        ],
    )
    rows, equal = [], []
    for i, (spent, reached) in enumerate(zip(trace.seconds[1:], trace.log_likelihoods[1:], strict=True), start=1):
        one, iterations = time_to(reached, seconds, likelihoods)
        all_8, iterations_8 = time_to(reached, eight.seconds, eight.log_likelihoods)
        rows.append([i, reached / n, spent, one, iterations, spent / one, all_8, iterations_8, spent / all_8])
        equal.append({"log_likelihood": reached, "theirs_s": spent, "ours_s": one, "ours_8_restarts_s": all_8})
    to_equal = Table(
        "time to equal training log-likelihood (compilation excluded on both sides)",
        [
            "recipe's iteration",
            "nats / step",
            "its s",
            "swirl s",
            "iterations",
            "ratio",
            "swirl × 8, s",
            "iterations ",
            "ratio ",
        ],
        rows,
        [
            "swirl: from the recipe's own starting point; swirl × 8: eight random restarts at once, until one is there",
            f"swirl at convergence: {likelihoods[-1] / n:.5f} nats / step after {seconds[-1]:.3f} s; the truth has "
            f"{truth / n:.5f}",
        ],
    )
    last = max(alone.n_iterations, eight.n_iterations)
    shown = sorted({*range(11), *range(20, last, 20), alone.n_iterations, eight.n_iterations})

    def entry(i: int, seconds, log_likelihoods) -> list:
        return [float(seconds[i]), f"{log_likelihoods[i] / n:.5f}"] if i < len(seconds) else ["", ""]

    traces = Table(
        "both traces: seconds and training log-likelihood (nats / step) after each iteration",
        ["iteration", "recipe s", "recipe", "swirl s", "swirl", "swirl × 8, s", "swirl × 8, best"],
        [
            [
                i,
                *entry(i, trace.seconds, trace.log_likelihoods),
                *entry(i, seconds, likelihoods),
                *entry(i, eight.seconds, eight.log_likelihoods),
            ]
            for i in shown
        ],
    )
    return Section(
        [per_iteration, to_equal, traces],
        {
            "n_observed": n,
            "budget": budget._asdict(),
            "rival_iterations": options.rival_iterations,
            "theirs_s_per_iteration": theirs,
            "ours_s_per_iteration": ours,
            "ours_s_per_iteration_and_restart_of_8": ours_8,
            "ratio_per_iteration": theirs / ours,
            "to_equal": equal,
            "ratio_to_equal": equal[-1]["theirs_s"] / equal[-1]["ours_s"],
            "compile_s": {"theirs": trace.compile_seconds, "ours": alone.compile_seconds},
            "traces": {
                "theirs": {"seconds": trace.seconds, "log_likelihoods": trace.log_likelihoods},
                "ours": {"seconds": seconds.tolist(), "log_likelihoods": likelihoods.tolist()},
                "ours_8_restarts": {
                    "seconds": eight.seconds.tolist(),
                    "log_likelihoods": eight.log_likelihoods.tolist(),
                },
            },
        },
    )
