"""The problems that are timed, taken apart into what EM reads exactly as `SWIRL.fit` does."""

import os
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from report import once
from swirl.data.histories import Histories
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld
from swirl.estimators.swirl import SWIRL
from swirl.inference import em
from swirl.inference.engines import HostIterations, choose, improve_restarts, tables_and_prior
from swirl.inference.estep import numba_loop
from swirl.inference.estep.counts import Chains
from swirl.inference.mstep import Components, Parameters
from swirl.precision import float64, numpy_tree

LEVELS = 7  # 2⁷ − 1 = 127 nodes
N_SYMBOLS = 20


class Problem(NamedTuple):
    """Model parts and data, ready for EM."""

    components: Components
    chains: Chains
    histories: Histories
    n_observed: int


def prepare(model: SWIRL, data: Trajectories) -> Problem:
    """Do what `SWIRL.fit` does before its first iteration."""
    problem = model.em_problem(data)
    histories, _ = problem.context
    return Problem(problem.components, problem.chains, histories, problem.n_observed)


def random_start(problem: Problem, n_restarts: int = 1, seed: int = 0) -> Parameters:
    """Draw starting points as `em.run` does."""
    generators = np.random.default_rng(seed).spawn(n_restarts)
    return em.stack([problem.components.random_parameters(rng, 1.0) for rng in generators])


class SplitTimes(NamedTuple):
    """Median seconds of the parts of one EM iteration in the steady state."""

    e_step: float
    m_step: float
    iteration: float
    engine: str


def split_times(problem: Problem, n_iterations: int, n_restarts: int = 1) -> SplitTimes:
    """Time E-step and M-step of EM iterations 2, 3, …; the first one compiles."""
    times = []
    active = np.ones(n_restarts, dtype=bool)
    with float64():
        parameters = random_start(problem, n_restarts)
        tables = numpy_tree(tables_and_prior(problem.components, parameters)[0])
        if not isinstance(choose("auto", problem.chains, tables), HostIterations):
            raise RuntimeError("the split is timed on the host loop: install numba and run on the CPU")
        counts = numba_loop.expected_counts(tables, problem.chains)

        def improve():
            return jax.block_until_ready(improve_restarts(problem.components, parameters, counts, active))

        def count():
            return numba_loop.expected_counts(numpy_tree(tables), problem.chains, active=active)

        for _ in range(n_iterations + 1):
            m_time, (parameters, tables, _) = once(improve)
            e_time, counts = once(count)
            times.append((e_time, m_time))
    e_step, m_step = np.median(times[1:], axis=0)
    return SplitTimes(float(e_step), float(m_step), float(np.median(np.sum(times[1:], axis=1))), "compiled")


def gridworld_training(n_sessions: int = 200, n_steps: int = 500) -> tuple[MDP, Trajectories, float]:
    """Return the gridworld, its training sessions (four of five, as in the paper) and the truth's log-likelihood."""
    dataset = gridworld(n_sessions, n_steps)
    train = dataset.trajectories.split(every=5)[0]
    return dataset.env, train, float(np.sum(dataset.true_model().log_likelihood(train)))


# ---- a hidden chain alone -----------------------------------------------------------------------------------


def sampled_problem(n_modes: int, n_chains: int, n_steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Initial [K], transitions [K, K], emissions [K, Y] of a random sticky chain, and symbols [N, T] drawn from it."""
    rng = np.random.default_rng(n_modes)
    initial = rng.dirichlet(np.full(n_modes, 5.0))
    transitions = 0.9 * np.eye(n_modes) + 0.1 * rng.dirichlet(np.full(n_modes, 5.0), size=n_modes)
    emissions = rng.dirichlet(np.full(N_SYMBOLS, 1.0), size=n_modes) * 0.98 + 0.02 / N_SYMBOLS

    def draw(probability: np.ndarray) -> np.ndarray:
        above = rng.random((n_chains, 1)) > probability.cumsum(axis=-1)
        return np.minimum(above.sum(axis=-1), probability.shape[-1] - 1)

    symbols = np.empty((n_chains, n_steps), dtype=np.int64)
    mode = draw(np.tile(initial, (n_chains, 1)))
    for t in range(n_steps):
        symbols[:, t] = draw(emissions[mode])
        mode = draw(transitions[mode])
    return initial, transitions, emissions, symbols


# ---- the labyrinth -----------------------------------------------------------------------------------------


def labyrinth(*, real: bool = True, n_sessions: int = 238) -> tuple[MDP, Trajectories, str]:
    """Return the labyrinth, training sessions in it, and a sentence that says where they come from."""
    folder = _labyrinth_folder() if real else None
    if folder is not None:
        env = MDP(np.load(folder / "trans_probs.npy"))
        recorded = np.load(folder / "emissions500new.npy").astype(int)[:n_sessions]
        data = Trajectories(list(recorded[..., 0]), list(recorded[..., 1]), n_states=127, n_actions=4)
        source = f"real: {folder}"
    else:
        env = binary_maze()
        data = wander(env, n_sessions, 500)
        source = "simulated: random walks in a binary-tree maze of 127 nodes (no labyrinth data found)"
    return env, data.split(every=5)[0], source


def _labyrinth_folder() -> Path | None:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    for root in (os.environ.get("SWIRL_DATA_DIR"), beside):
        if root and (Path(root) / "labyrinth" / "trans_probs.npy").exists():
            return Path(root) / "labyrinth"
    return None


def binary_maze() -> MDP:
    """Make a maze like the labyrinth: a binary tree with actions in-left, in-right, out-left, out-right.

    Illegal actions stay: inwards at the end of a corridor, outwards on the wrong side, outwards at the entrance.
    """
    node = np.arange(2**LEVELS - 1)
    left, right, parent = 2 * node + 1, 2 * node + 2, (node - 1) // 2
    inside = right < len(node)
    is_left = node % 2 == 1
    is_right = (node % 2 == 0) & (node > 0)
    following = np.stack(
        [
            np.where(inside, left, node),
            np.where(inside, right, node),
            np.where(is_right, parent, node),
            np.where(is_left, parent, node),
        ],
        axis=1,
    )
    return MDP.deterministic(following)


def wander(env: MDP, n_sessions: int, n_steps: int, seed: int = 0) -> Trajectories:
    """Sample walks that choose among the actions at random."""
    rng = np.random.default_rng(seed)
    actions = rng.integers(env.n_actions, size=(n_sessions, n_steps))
    following = np.asarray(env.successors.next)[..., 0]
    states = np.zeros((n_sessions, n_steps), dtype=int)
    for t in range(1, n_steps):
        states[:, t] = following[states[:, t - 1], actions[:, t - 1]]
    return Trajectories(list(states), list(actions), n_states=env.n_states, n_actions=env.n_actions)
