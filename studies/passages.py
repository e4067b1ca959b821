"""Are walls that an environment lacks named, and is nothing said where it is right?

    python studies/passages.py --jobs 16         # all draws: minutes; says what they will cost, then starts
    python studies/passages.py --draws 5         # a part; known draws are not made again
    python studies/passages.py --quick           # one draw of a few worlds; nothing is written

`swirl check`, `swirl fit` and `swirl goals` ask for a wall where a passage is never walked although that is no chance,
and for a door where one is walked one way only (`environments.check_passages`).  Animals of six kinds walk in open
grids with none, three to five walls that the environment lacks, or with one to three doors of which it does not know
that they let through one way only; and in mazes that are as the environment says.  Sessions have 150 steps.

Writes studies/results/passages.json (every draw) and .md. Stopped and started again, it goes on where it was.
"""

import time
from pathlib import Path
from typing import Any

import draws
import goal_discovery
import numpy as np
from goal_nulls import tree, walked
from scipy.stats import binomtest

from swirl import MDP, Trajectories, datasets
from swirl.analysis.behaviour import distances
from swirl.data.arenas import grid
from swirl.data.geometry import possible_moves
from swirl.data.passages import check_passages

COMMAND = "python studies/passages.py"
N_STEPS, DRAWS, SECONDS = 150, 50, 1.5
ARENAS = {"5 × 5": lambda: grid(5, 5), "8 × 8": lambda: grid(8, 8)}
MAZES = {"tree of 31": tree, "labyrinth": lambda: datasets.labyrinth_env(legal_only=True)}
WALKERS = ("random", "biased", "habit of two moves", "goals", "strong goals", "straight ways")
COST = {"goals": 2.0, "strong goals": 8.0}
RIGHT, WALLS, DOORS = "right", "walls missing", "one-way doors"
WORLDS = {
    f"{arena}, {walker}, {n} sessions, {what}": (arena, walker, n, what)
    for what in (RIGHT, WALLS, DOORS)
    for n in (12, 40)
    for arena in (*ARENAS, *(MAZES if what == RIGHT else ()))
    for walker in WALKERS
}


def changed(env: MDP, n: int, one_way: bool, rng: np.random.Generator) -> tuple[MDP, set[tuple[int, int]]]:
    """The environment with so many more walls, or passages closed in one direction; every place stays within reach."""
    moves = possible_moves(env)
    passages, following = moves[moves[:, 0] < moves[:, 1]], np.asarray(env.successors.next)[:, :, 0]
    while True:
        chosen = rng.permutation(passages[rng.choice(len(passages), n, replace=False)], axis=1)
        available = env.available.copy()
        for one, two in chosen if one_way else [*chosen, *chosen[:, ::-1]]:
            available[one] &= following[one] != two
        if not available.any(axis=1).all():
            continue
        made = MDP.deterministic(
            following, available=available, state_names=env.state_names, action_names=env.action_names
        )
        if all((distances(made, place) >= 0).all() for place in range(env.n_states)):
            return made, {(int(min(pair)), int(max(pair))) for pair in chosen}


def straight_ways(env: MDP, goals: list[int], n_sessions: int, rng: np.random.Generator) -> Trajectories:
    """Always the same shortest way from goal to goal, but for one step in twenty."""
    following = np.asarray(env.successors.next)[:, :, 0]
    away = {goal: distances(env, goal) for goal in goals}
    sessions, actions = [], []
    for _ in range(n_sessions):
        place, goal, states, done = int(rng.integers(env.n_states)), goals[0], [], []
        for _ in range(N_STEPS):
            while place == goal:
                goal = goals[int(rng.integers(len(goals)))]
            can = np.flatnonzero(env.available[place])
            nearer = can[away[goal][following[place, can]] < away[goal][place]]
            move = int(nearer[0]) if rng.random() > 0.05 else int(rng.choice(can))
            states.append(place)
            done.append(move)
            place = int(following[place, move])
        sessions.append(np.array(states))
        actions.append(np.array(done))
    return Trajectories(sessions, actions, n_states=env.n_states, n_actions=env.n_actions)


def walks(env: MDP, walker: str, n_sessions: int, seed: int, rng: np.random.Generator) -> Trajectories:
    """Sessions of an animal of some kind."""
    if walker in ("random", "biased"):
        return goal_discovery.walked(env, walker == "biased", rng, n_sessions, N_STEPS)
    if walker == "habit of two moves":
        return walked(env, 2, rng, n_sessions, N_STEPS)
    goals = sorted(rng.choice(env.n_states, int(rng.integers(2, 5)), replace=False).tolist())
    if walker == "straight ways":
        return straight_ways(env, goals, n_sessions, rng)
    return goal_discovery.pursuing(env, goals, COST[walker]).sample(n_sessions, N_STEPS, random_state=seed)


def one_draw(world: str, seed: int) -> draws.Draw:
    """Walk, and ask the environment that does not know."""
    began = time.perf_counter()
    arena, walker, n_sessions, what = WORLDS[world]
    rng = np.random.default_rng([seed, *world.encode()])
    env = {**ARENAS, **MAZES}[arena]()
    real, hidden = env, set()
    if what != RIGHT:
        n = int(rng.integers(3, 6)) if what == WALLS else int(rng.integers(1, 4))
        real, hidden = changed(env, n, what == DOORS, rng)
    found = check_passages(walks(real, walker, n_sessions, seed, rng), env)
    never, one_way = ({(min(p[:2]), max(p[:2])) for p in own} for own in (found.never, found.one_way))
    right, wrong = (never, one_way) if what == WALLS else (one_way, never)
    named = {"named": len(right & hidden), "hidden": len(hidden), "false": len(right - hidden) + len(wrong - hidden)}
    return {"world": world, "seed": seed, **named, "seconds": time.perf_counter() - began}


def _interval(part: int, whole: int) -> str:
    low, high = binomtest(part, whole).proportion_ci()
    return f"{part} of {whole} ({low:.0%} to {high:.0%})"


def table(found: list[draws.Draw]) -> str:
    """Named of those hidden, and draws in which something else was named, for each kind of animal."""
    lines = [
        "| where, sessions | animal | draws with something said where all is right | walls named | doors named "
        "| draws that name something else, walls or doors hidden |",
        "|:--|:--|--:|--:|--:|--:|",
    ]
    by_world: dict[str, list[draws.Draw]] = {}
    for row in found:
        by_world.setdefault(row["world"], []).append(row)
    for arena, walker, n in dict.fromkeys((a, w, n) for a, w, n, _ in WORLDS.values()):
        own = {what: by_world.get(f"{arena}, {walker}, {n} sessions, {what}", []) for what in (RIGHT, WALLS, DOORS)}
        if not any(own.values()):
            continue
        named = [f"{sum(r['named'] for r in own[w])} of {sum(r['hidden'] for r in own[w])}" for w in (WALLS, DOORS)]
        named = [told if own[w] else "–" for told, w in zip(named, (WALLS, DOORS), strict=True)]
        false = [sum(r["false"] > 0 for r in rows) for rows in (own[RIGHT], own[WALLS] + own[DOORS])]
        sizes = [len(own[RIGHT]), len(own[WALLS] + own[DOORS])]
        said = [f"{part} of {whole}" if whole else "–" for part, whole in zip(false, sizes, strict=True)]
        lines.append(f"| {arena}, {n} | {walker} | {said[0]} | {named[0]} | {named[1]} | {said[1]} |")
    return "\n".join(lines)


def totals(found: list[draws.Draw]) -> dict[str, tuple[int, int]]:
    """Draws with a false word where all is right, and walls and doors that were named of all that were hidden."""
    of = {what: [row for row in found if WORLDS[row["world"]][3] == what] for what in (RIGHT, WALLS, DOORS)}
    hidden = {what: (sum(r["named"] for r in of[what]), sum(r["hidden"] for r in of[what])) for what in (WALLS, DOORS)}
    return {RIGHT: (sum(row["false"] > 0 for row in of[RIGHT]), len(of[RIGHT])), **hidden}


def page(found: list[draws.Draw], made: str) -> str:
    """The results in words."""
    parts = ["# Walls that an environment lacks", f"`{COMMAND}` ({made})"]
    told = {what: _interval(*pair) for what, pair in totals(found).items() if pair[1]}
    if RIGHT in told:
        parts.append(f"Where the environment is right, something is said in {told[RIGHT]} draws.")
    parts += [f"{what.capitalize()}: named are {told[what]}." for what in (WALLS, DOORS) if what in told]
    parts += [
        f"Sessions of {N_STEPS} steps. Walls: three to five passages of the environment that cannot be walked; doors: "
        "one to three that can be walked one way only. *Goals*, *strong goals*: the animal explores at random, then "
        "walks to one of two to four places, at a cost of 2 and 8 a step. *Straight ways*: always the same shortest "
        "way from one goal to another, but for one step in twenty. In few sessions, and where an animal keeps to a "
        "few ways or to one direction, many walls are not named: that nothing is said does not mean that the "
        "environment is right.",
        table(found),
    ]
    return "\n\n".join(parts) + "\n"


def write(found: list[draws.Draw], folder: Path) -> None:
    """Write what is known so far."""
    found = sorted(found, key=lambda row: (list(WORLDS).index(row["world"]), row["seed"]))
    draws.write(found, folder, "passages", COMMAND, page)


def main() -> None:
    """Make the draws that are not known yet."""
    options = draws.options(__doc__.splitlines()[0], list(WORLDS))
    if options.quick:
        print(table([one_draw(world, 0) for world in options.only or list(WORLDS)[::12]]))
        return
    found = draws.known(options.output, "passages")
    last: list[Any] = [time.monotonic()]

    def keep(row: draws.Draw) -> None:
        found.append(row)
        if time.monotonic() - last[0] > 10:
            write(found, options.output)
            last[0] = time.monotonic()

    left = draws.left(found, dict.fromkeys(WORLDS, DRAWS), options)
    draws.make(one_draw, left, seconds=lambda _: SECONDS, jobs=options.jobs, limit=options.limit, keep=keep)
    write(found, options.output)
    print(table(found))


if __name__ == "__main__":
    main()
