"""Model-free SWIRL in an arena: are modes right, does the fit settle, and is its log-preference a reward?

    python studies/model_free_arena.py --jobs 5      # five draws, each some minutes of one core
    python studies/model_free_arena.py --quick       # one draw of a fifth of the data, nothing written

An animal walks in a square, in five moves with noise, to one of two goals; it is soft-optimal for a reward of 2 within
0.13 of the goal of its mode (discount 0.95), and modes switch at their goals.  `IQNetwork` with its defaults is fitted
to 45 sessions of 150 steps; 15 others are scored.  Beside it: the true policies with the true switching.  Writes
model_free_arena.json and .md to studies/results (or --output), and resumes from what is there.
"""

import sys
import time
from functools import cache, partial
from typing import Any

import draws
import numpy as np
from scipy.ndimage import map_coordinates
from scipy.special import log_softmax, logsumexp

from swirl.analysis.metrics import segmentation_accuracy
from swirl.data.trajectories import Trajectories
from swirl.estimators.iq_network import IQNetwork

NAME = "model_free_arena"
GOALS, RADIUS, REWARD = np.array([[0.2, 0.2], [0.8, 0.8]]), 0.13, 2.0
MOVES, NOISE, DISCOUNT = 0.1 * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]]), 0.03, 0.95
LEAVES = {"at its goal": 0.1, "elsewhere": 0.005}
GRID = 41  # points of each axis that V is computed at
PLANNED, SECONDS = {"arena": 5}, 150.0


def rewards(places: np.ndarray) -> np.ndarray:
    """The true reward [place, mode]."""
    return REWARD * (np.linalg.norm(places[:, None] - GOALS, axis=-1) < RADIUS)


def leaving(places: np.ndarray) -> np.ndarray:
    """The true probability of a switch at each place in each mode."""
    return np.where(rewards(places) > 0, LEAVES["at its goal"], LEAVES["elsewhere"])


def log_policies(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The true log π [place, mode, action], of V [mode, x, y] on the grid."""
    return log_softmax(_q(values, places), axis=-1)


def _q(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Q [place, mode, action]; where a noisy move leads is averaged by Gauss–Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    off = NOISE * np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    share = np.outer(weights, weights).ravel() / np.sum(weights) ** 2
    ends = np.clip(places[:, None, None] + MOVES[:, None] + off, 0, 1) * (GRID - 1)
    onward = [map_coordinates(v, np.moveaxis(ends, -1, 0), order=1) @ share for v in values]
    return rewards(places)[..., None] + DISCOUNT * np.stack(onward, axis=1)


@cache
def true_values() -> np.ndarray:
    """V [mode, x, y] of the soft-optimal animal."""
    axis = np.linspace(0, 1, GRID)
    places = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    values, moved = np.zeros((len(GOALS), GRID, GRID)), np.inf
    while moved > 1e-4:
        new = logsumexp(_q(values, places), axis=-1).T.reshape(values.shape)
        values, moved = new, np.abs(new - values).max()
    return values


def simulate(n_sessions: int, n_steps: int, seed: int) -> Trajectories:
    """Sessions with the signal "place" and the true modes."""
    rng, every = np.random.default_rng(seed), np.arange(n_sessions)
    place, mode = rng.uniform(size=(n_sessions, 2)), rng.integers(len(GOALS), size=n_sessions)
    places, actions, modes = [], [], []
    for _ in range(n_steps):
        p = np.exp(log_policies(true_values(), place)[every, mode])
        action = (p.cumsum(axis=1) > rng.uniform(size=(n_sessions, 1))).argmax(axis=1)
        places.append(place)
        actions.append(action)
        modes.append(mode)
        mode = np.where(rng.uniform(size=n_sessions) < leaving(place)[every, mode], 1 - mode, mode)
        place = np.clip(place + MOVES[action] + NOISE * rng.standard_normal((n_sessions, 2)), 0, 1)
    together = [list(np.stack(each, axis=1)) for each in (places, actions, modes)]
    return Trajectories.from_signals({"place": together[0]}, together[1], modes=together[2], n_actions=len(MOVES))


def oracle(data: Trajectories) -> tuple[list[np.ndarray], float]:
    """Most probable mode of each step by the true policies and switching, and the score per step."""
    paths, score = [], 0.0
    for places, actions in zip((data.signals or {})["place"], data.actions, strict=True):
        log_pi = log_policies(true_values(), places)[np.arange(len(places)), :, actions]
        leave = leaving(places)
        table = np.log([[[1 - a, a], [b, 1 - b]] for a, b in leave])
        ahead = [np.log([0.5, 0.5]) + log_pi[0]]
        for t in range(1, len(places)):
            ahead.append(logsumexp(ahead[-1][:, None] + table[t - 1], axis=0) + log_pi[t])
        behind, path = np.zeros(2), [int(np.argmax(ahead[-1]))]
        for t in range(len(places) - 2, -1, -1):
            behind = logsumexp(table[t] + log_pi[t + 1] + behind, axis=1)
            path.append(int(np.argmax(ahead[t] + behind)))
        paths.append(np.array(path[::-1]))
        score += float(logsumexp(ahead[-1]))
    return paths, score / data.n_steps


def one_draw(world: str, seed: int, n_train: int = 45, n_test: int = 15, **arguments: Any) -> draws.Draw:
    """Fit to some sessions, score others, and lay log-preferences beside the true reward along their paths."""
    data = simulate(n_train + n_test, 150, seed)
    train, test = data[:n_train], data[n_train:]
    began = time.perf_counter()
    model = IQNetwork("place", random_state=seed, **arguments).fit(train)
    seconds = time.perf_counter() - began
    best, score = oracle(test)
    paths, truth = np.concatenate(model.predict(test)), np.concatenate(test.modes or [])
    own = [0, 1] if np.mean(paths == truth) >= 0.5 else [1, 0]
    places = np.concatenate((test.signals or {})["place"])
    wanted, preferred = rewards(places), np.concatenate(model.step_log_preferences(test))[:, own]
    known = np.isfinite(preferred[:, 0])
    at = [wanted[known, z] > 0 for z in range(2)]
    return {
        "world": world,
        "seed": seed,
        "accuracy": segmentation_accuracy(test.modes, model.predict(test)),
        "accuracy_of_truth": segmentation_accuracy(test.modes, best),
        "score": model.score(test),
        "score_of_truth": score,
        "correlation": [float(np.corrcoef(preferred[known, z], wanted[known, z])[0, 1]) for z in range(2)],
        "at_goal": [float(preferred[known, z][at[z]].mean()) for z in range(2)],
        "elsewhere": [float(preferred[known, z][~at[z]].mean()) for z in range(2)],
        "converged": bool(model.converged_),
        "iterations": max(restart.n_iterations for restart in model.restarts_),
        "left": float(model.remaining_gain_),
        "seconds": seconds,
    }


def page(found: list[draws.Draw], made: str) -> str:
    """The results as Markdown."""
    lines = [
        "# Model-free SWIRL in an arena",
        "",
        f"`python studies/{NAME}.py` ({made})",
        "",
        f"{len(found)} draws: 45 sessions of 150 steps fitted, 15 scored. *Correlation*: of the log-preference "
        "(`IQNetwork.step_log_preferences`) of each mode with its true reward, along the scored paths; for a reward it "
        f"were near 1. *At its goal*, *elsewhere*: the mean log-preference; the true reward is {REWARD:g} and 0.",
        "",
        "| draw | accuracy | of the truth | nats/step | of the truth | correlation with reward | at its goal "
        "| elsewhere | converged | iterations | seconds |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|:--|--:|--:|",
    ]
    for row in sorted(found, key=lambda row: row["seed"]):
        pairs = (", ".join(f"{value:+.2f}" for value in row[key]) for key in ("correlation", "at_goal", "elsewhere"))
        ends = "yes" if row["converged"] else f"no, {row['left']:.2g} nats left"
        numbers = (f"{row[k]:.3f}" for k in ("accuracy", "accuracy_of_truth", "score", "score_of_truth"))
        cells = [str(row["seed"]), *numbers, *pairs, ends, str(row["iterations"]), f"{row['seconds']:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the study and write its results."""
    wanted = draws.options(__doc__.splitlines()[0], list(PLANNED))
    if wanted.quick:
        print(page([one_draw("arena", 0, n_train=9, n_test=3)], "quick"))
        return
    wanted.output.mkdir(exist_ok=True)
    found = draws.known(wanted.output, NAME)

    def keep(row: draws.Draw) -> None:
        found.append(row)
        draws.write(found, wanted.output, NAME, f"python studies/{NAME}.py", page)

    left = draws.left(found, PLANNED, wanted)
    draws.make(partial(one_draw), left, seconds=lambda _: SECONDS, jobs=wanted.jobs, limit=wanted.limit, keep=keep)


if __name__ == "__main__":
    sys.exit(main())
