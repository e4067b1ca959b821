"""Are goals invented where there is only a habit?  The longer the habit remembers, the more it looks like goals.

    python studies/goal_nulls.py --jobs 16       # all draws; says what they will cost, then starts
    python studies/goal_nulls.py --only "2 moves" --draws 20   # a part; known draws are not made again
    python studies/goal_nulls.py --quick         # one small draw; nothing is written

Worlds without goals: a binary tree maze of 31 places, 45 sessions of 150 steps.  The animal only has a habit: logits of
its moves, drawn anew for each draw (normal, SD 1), for each kind of place (root, fork, end) and the last 1, 2 or 3
moves.  `discover_goals(data, env)` looks for goals with its defaults, and so with a habit of one move; the walks of a
habit of two moves are searched once more with ``history=3``.

Writes studies/results/goal_nulls.json (every draw) and .md. Stopped and started again, it goes on where it was.
"""

import time
from pathlib import Path
from typing import Any

import draws
import numpy as np
from scipy.special import softmax
from scipy.stats import binomtest

from swirl import MDP, Trajectories
from swirl.analysis.goal_discovery import discover_goals
from swirl.data.local_shape import place_kinds

COMMAND = "python studies/goal_nulls.py"
N_PLACES, N_SESSIONS, N_STEPS = 31, 45, 150
DRAWS = 100
SECONDS = 12.0  # of one core for a draw, once its programs are compiled
WORLDS: dict[str, tuple[int, dict[str, int]]] = {  # moves that the habit remembers, and what is asked of the search
    "1 move": (1, {}),
    "2 moves": (2, {}),
    "2 moves, history=3": (2, {"history": 3}),
    "3 moves": (3, {}),
}


def tree(n_places: int = N_PLACES) -> MDP:
    """A binary tree: out, first child, second child, each where it is there."""
    place = np.arange(n_places)
    following = np.stack([(place - 1) // 2, 2 * place + 1, 2 * place + 2], axis=1)
    available = (following >= 0) & (following < n_places)
    return MDP.deterministic(
        np.where(available, following, place[:, None]), available=available,
        action_names=["out", "first", "second"],
    )  # fmt: skip


def walked(env: MDP, n_moves: int, rng: np.random.Generator, n_sessions: int, n_steps: int) -> Trajectories:
    """Sessions of a habit that remembers so many moves."""
    kinds, following = place_kinds(env), np.asarray(env.successors.next)[:, :, 0]
    none = env.n_actions  # before the first move
    logits = rng.standard_normal((int(kinds.max()) + 1, *[env.n_actions + 1] * n_moves, env.n_actions))
    sessions, actions = [], []
    for _ in range(n_sessions):
        place, last, states, done = int(rng.integers(env.n_states)), (none,) * n_moves, [], []
        for _ in range(n_steps):
            own = softmax(np.where(env.available[place], logits[(int(kinds[place]), *last)], -np.inf))
            move = int(rng.choice(env.n_actions, p=own))
            states.append(place)
            done.append(move)
            place, last = int(following[place, move]), (move, *last[:-1])
        sessions.append(np.array(states))
        actions.append(np.array(done))
    return Trajectories(sessions, actions, n_states=env.n_states, n_actions=env.n_actions)


def one_draw(
    world: str, seed: int, n_places: int = N_PLACES, n_sessions: int = N_SESSIONS, n_steps: int = N_STEPS, **more: Any
) -> draws.Draw:
    """Walk, and search: the same seed, the same walks, whatever is asked of the search."""
    began = time.perf_counter()
    n_moves, asked = WORLDS[world]
    env = tree(n_places)
    data = walked(env, n_moves, np.random.default_rng([seed, n_moves]), n_sessions, n_steps)
    found = discover_goals(data, env, **{**asked, **more})
    goals = [{"place": list(g.place), "gain": g.gain, "error": g.error, "share": g.share} for g in found.goals]
    return {"world": world, "seed": seed, "goals": goals, "seconds": time.perf_counter() - began}


def summary(found: list[draws.Draw]) -> list[dict[str, Any]]:
    """How often each world gives goals, with the exact 95 % interval, and what they seem worth."""
    rows = []
    for world in WORLDS:
        own = [row["goals"] for row in found if row["world"] == world]
        if not own:
            continue
        wrong = sum(bool(goals) for goals in own)
        interval = binomtest(wrong, len(own)).proportion_ci()
        goals = [goal for each in own for goal in each]
        rows.append(
            {
                "world": world,
                "draws": len(own),
                "invented": wrong,
                "interval": (float(interval.low), float(interval.high)),
                "goals": len(goals),
                "gains": sorted(goal["gain"] for goal in goals),
                "errors": sorted(goal["gain"] / goal["error"] for goal in goals),
                "shares": sorted(goal["share"] for goal in goals),
            }
        )
    return rows


def _range(values: list[float], form: str) -> str:
    return f"{values[0]:{form}} to {values[-1]:{form}}" if values else "–"


def table(found: list[draws.Draw]) -> str:
    """The summary as a table."""
    lines = [
        "| the habit remembers | draws | with invented goals | 95 % | goals | gain, nats/step | in standard errors "
        "| share of the steps |",
        "|:--|--:|--:|:--|--:|:--|:--|:--|",
    ]
    for row in summary(found):
        low, high = row["interval"]
        lines.append(
            f"| {row['world']} | {row['draws']} | {row['invented']} | {low:.0%} to {high:.0%} | {row['goals']} "
            f"| {_range(row['gains'], '.4f')} | {_range(row['errors'], '.1f')} | {_range(row['shares'], '.0%')} |"
        )
    return "\n".join(lines)


def page(found: list[draws.Draw], made: str) -> str:
    """The results in words."""
    number = {world: sum(row["world"] == world for row in found) for world in WORLDS}
    left = [f"{world}: {n} of {DRAWS}" for world, n in number.items() if n < DRAWS]
    parts = ["# Are goals invented where there is only a habit?", f"`{COMMAND}` ({made})"]
    if left:
        parts.append(f"Not all draws have been made yet: {'; '.join(left)}.")
    told = {row["world"]: f"in {row['invented']} of {row['draws']}" for row in summary(found)}
    if "2 moves" in told:
        parts.append(
            f"**A habit that is longer than the fitted one can pass for goals.** Of walks without any goal whose habit "
            f"remembers two moves, the search, whose own habit remembers one by default, finds goals {told['2 moves']}"
            + (f", and with `history=3` {told['2 moves, history=3']}" if "2 moves, history=3" in told else "")
            + ". So before you believe in goals that were found, search again with `history=3`: what stays is no habit "
            "of two moves. The search does not do this by itself yet."
        )
    parts += [
        f"A binary tree maze of {N_PLACES} places, {N_SESSIONS} sessions of {N_STEPS} steps a draw, no goals; the "
        "habit has random logits (SD 1) for each kind of place and the last moves. `discover_goals(data, env)` with "
        "its defaults, or as said. Right: no goals.",
        table(found),
        "Gains are what the search says of each goal, on held-out sessions. In "
        "[goals that were not told](goal_discovery.md) none was invented: one remembered move describes the habits of "
        "those walkers.",
    ]
    return "\n\n".join(parts) + "\n"


def write(found: list[draws.Draw], folder: Path) -> None:
    """Write what is known so far."""
    found = sorted(found, key=lambda row: (list(WORLDS).index(row["world"]), row["seed"]))
    draws.write(found, folder, "goal_nulls", COMMAND, page)


def main() -> None:
    """Make the draws that are not known yet."""
    options = draws.options(__doc__.splitlines()[0], list(WORLDS))
    if options.quick:
        small = {"n_places": 7, "n_sessions": 9, "n_steps": 60, "max_goals": 1}
        print(table([one_draw(world, 0, **small) for world in options.only or ["2 moves"]]))
        return
    found = draws.known(options.output, "goal_nulls")

    def keep(row: draws.Draw) -> None:
        found.append(row)
        write(found, options.output)

    left = draws.left(found, dict.fromkeys(WORLDS, DRAWS), options)
    draws.make(one_draw, left, seconds=lambda _: SECONDS, jobs=options.jobs, limit=options.limit, keep=keep)
    print(table(found))


if __name__ == "__main__":
    main()
