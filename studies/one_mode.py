"""Are modes claimed where there are none? Worlds of one mode, compared as `swirl compare` does by default.

    python studies/one_mode.py --jobs 8                    # 4 worlds × 100 draws; says what it will cost, then starts
    python studies/one_mode.py --only "maze, dense" --draws 20   # a part; draws that are known are not made again
    python studies/one_mode.py --quick                        # one small draw of each; nothing is written

Each draw is 36 sessions of 100 steps, half for training, half for the test. One model of the right form chooses its
number of modes among 1, 2 and 3 on training folds, is compared with itself with one mode, and, in a second verdict,
with tuned counts (`Markov`) as well. Counted are draws whose verdict begins with "Modes are ahead".

Writes studies/results/one_mode.json (every draw) and .md. Stopped and started again, it goes on where it was.
"""

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from swirl import comparing, datasets
from swirl.archive import versions
from swirl.history import Histories
from swirl.mdp import MDP
from swirl.model import SWIRL

RESULTS = Path(__file__).parent / "results"
COMMAND = "python studies/one_mode.py"
CLAIM = "Modes are ahead"
MOST, MOST_OF_ALL = 6, 16  # claims in 100 draws of a world, and in 400 of all
SECONDS = {"gridworld, sparse": 15, "maze, dense": 40, "stochastic grid": 15, "maze walk with memory": 200}  # a draw
MODES = (1, 2, 3)
DRAWS = 100  # of each world


def one_mode(env: MDP, history: int, reward: Any, start: int | None = None) -> SWIRL:
    """A model with one mode; `reward` gives r of each history from the newest and the previous states."""
    histories = Histories.reachable(env.successors, history)
    rewards = np.asarray(reward(*histories.table.T), dtype=float)[None]
    model = SWIRL.from_parameters(
        env,
        history=history,
        rewards=rewards,
        histories=histories.table,
        mode_transitions=np.ones((1, 1)),
        initial_modes=[1.0],
    )
    if start is not None:
        model.initial_states_ = np.eye(env.n_states)[start]
    return model


def slipping(env: MDP, share: float) -> MDP:
    """The same world, but a share of the moves goes wherever any action could lead."""
    following = np.asarray(env.successors.next)[:, :, 0]
    table = np.zeros((env.n_states, env.n_actions, env.n_states))
    for state, action in np.ndindex(*following.shape):
        table[state, action, following[state, action]] += 1 - share
        np.add.at(table[state, action], following[state], share / env.n_actions)
    return MDP(table)


def worlds() -> dict[str, tuple[str, SWIRL]]:
    """Each world: the name of the model that has its form, and the truth."""
    grid, maze, port = datasets.gridworld_env(), datasets.labyrinth_env(), 116

    def dense(new: np.ndarray, old: np.ndarray) -> np.ndarray:
        return 1.0 * ((new == port) != (old == port)) - 2.0 * (new == old)

    def memory(new: np.ndarray, old: np.ndarray, older: np.ndarray) -> np.ndarray:
        return -1.5 * (new == older) - 2.0 * (new == old)  # it does not like to turn back, nor to stay

    return {
        "gridworld, sparse": ("S-2", one_mode(grid, 2, lambda new, old: 0.4 * ((new == 14) & (old != 14)))),
        "maze, dense": ("S-2", one_mode(maze, 2, dense, start=0)),
        "stochastic grid": ("S-1", one_mode(slipping(grid, 0.2), 1, lambda new: 1.0 * (new == 14))),
        "maze walk with memory": ("S-3", one_mode(maze, 3, memory, start=0)),
    }


def one_draw(world: str, seed: int, n_sessions: int = 36, n_steps: int = 100, **settings: Any) -> dict[str, Any]:
    """Simulate, compare, and keep the verdict without and with counts in the list."""
    began = time.perf_counter()
    name, truth = worlds()[world]
    train, test = truth.sample(n_sessions, n_steps, random_state=seed).split(every=2)
    result = comparing.compare(
        [name, "Markov"],
        train,
        test,
        env=truth.env,
        of="next_state",
        tune={name: {"n_modes": list(MODES)}},
        random_state=seed,
        **settings,
    )
    contest = result.contest()
    gain, half = (0.0, 0.0) if contest is None else result.difference(name, contest.alike or name)
    return {
        "world": world,
        "seed": seed,
        "modes": result.n_modes(name),
        "claim": gain - half > 0,
        "claim with counts": result.verdict().startswith(CLAIM),
        "gain": gain,
        "half width": half,
        "verdict": result.verdict(),
        "scores": {**result.scores, "truth": truth.score(test, of="next_state")},
        "seconds": time.perf_counter() - began,
    }


def table(found: list[dict[str, Any]]) -> str:
    """Claims in each world."""
    lines = [
        "| world | draws | one mode chosen | modes claimed | with counts in the list | allowed of 100 |",
        "|:--|--:|--:|--:|--:|--:|",
    ]
    for world in worlds():
        own = [row for row in found if row["world"] == world]
        if own:
            one = sum(row["modes"] == 1 for row in own)
            claims, counted = (sum(row[key] for row in own) for key in ("claim", "claim with counts"))
            lines.append(f"| {world} | {len(own)} | {one} | {claims} | {counted} | {MOST} |")
    claims = sum(row["claim"] for row in found)
    return "\n".join([*lines, "", f"All: {claims} of {len(found)} ({MOST_OF_ALL} of 400 are allowed)."])


def page(found: list[dict[str, Any]], made: str) -> str:
    """The results in words."""
    about = (
        "Worlds with one mode, 36 sessions of 100 steps, half for training; a model of the right form by default "
        "settings, modes 1, 2 or 3 chosen on training folds. A claim is a verdict that modes are ahead, where there "
        "are none."
    )
    left = [world for world in worlds() if sum(row["world"] == world for row in found) < DRAWS]
    if left:
        about += f" Not all draws have been made yet ({DRAWS} of each world are planned): {'; '.join(left)}."
    return f"# Are modes claimed where there are none?\n\n`{COMMAND}` ({made})\n\n{about}\n\n{table(found)}\n"


def write(found: list[dict[str, Any]], folder: Path) -> None:
    """Write what is known so far."""
    found = sorted(found, key=lambda row: (list(worlds()).index(row["world"]), row["seed"]))
    record = {"command": COMMAND, "versions": versions(), "draws": found}
    half = folder / "half-one_mode.json"
    half.write_text(json.dumps(record) + "\n", encoding="utf-8")
    half.replace(folder / "one_mode.json")
    made = ", ".join(f"{key} {value}" for key, value in versions().items())
    (folder / "one_mode.md").write_text(page(found, made), encoding="utf-8")


def main() -> None:
    """Make the draws that are not known yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=list(worlds()))
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.quick:
        small = {"n_sessions": 12, "n_steps": 40, "n_restarts": 2, "max_iter": 20, "n_folds": 2}
        print(table([one_draw(world, 0, **small) for world in options.only or worlds()]))
        return
    path = options.output / "one_mode.json"
    found = json.loads(path.read_text(encoding="utf-8"))["draws"] if path.exists() else []
    known = {(row["world"], row["seed"]) for row in found}
    wanted = [(world, seed) for seed in range(options.draws) for world in options.only or worlds()]
    left = [case for case in wanted if case not in known]
    hours = sum(SECONDS[world] for world, _ in left) / 3600 / options.jobs
    print(
        f"{len(left)} draws to make, {len(wanted) - len(left)} known; about {hours:.1f} hours on {options.jobs} cores"
    )
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(one_draw, *case) for case in left]):
            found.append(done.result())
            write(found, options.output)
            row = found[-1]
            print(row["world"], row["seed"], row["modes"], f"{row['gain']:+.4f}", f"{row['seconds']:.0f} s", flush=True)
    print(table(found))


if __name__ == "__main__":
    sys.exit(main())
