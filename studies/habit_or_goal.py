"""Habit or goal: how often the verdict is right where the truth is known, and what is left after a door is closed.

    python studies/habit_or_goal.py               # some minutes on 16 cores
    python studies/habit_or_goal.py --quick       # two minutes on two: one draw of two worlds
    python studies/habit_or_goal.py labyrinth     # the verdict on the labyrinth's training sessions

Four worlds, ten draws each in two rooms with two doors between them and in the labyrinth's maze:

- *habit*: what is done next depends on the last two states, by random preferences; nothing is wanted;
- *habit grown from goals*: counts of the last three states of an animal that has habits and goals, then let run.  It
  still runs to its goals, and wants nothing: the hardest case;
- *goals*: explores at random, takes up one of two or three goals, walks there, drops it;
- *both*: the same, with preferences of its own at every place and a tendency to go on.

Right: *evidence for goals* in the last two, anything else in the first two.  In the rooms the door that is used more is
then closed: the truth is planned anew, new sessions are drawn, and what was fitted before is scored on them
(`model.transfer`; counts as they are).  Writes habit_or_goal.json and .md to studies/results (or --output).
"""

import argparse
import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from goal_discovery import planned
from scipy.special import log_softmax

from swirl import MDP, SWIRL, Trajectories, datasets
from swirl.analysis.habit_or_goal import DESCRIPTION, EVIDENCE, NONE, WITH, WITHOUT, HabitOrGoal, habit_or_goal, judge
from swirl.data.histories import Histories
from swirl.estimators.markov import BackoffMarkov
from swirl.estimators.save_load import versions

RESULTS = Path(__file__).parent / "results"
N_SESSIONS, N_STEPS = 100, 200
NEAR = 0.02  # nats per step
WORLDS = ("habit", "habit grown from goals", "goals", "both")
PLACES = ("rooms", "maze")
COLUMNS, ROWS, WALL = 7, 5, 3  # the wall stands left of that column
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0))


def rooms(doors: tuple[int, ...]) -> MDP:
    """Two rooms side by side, with doors in some rows of the wall between them; what is not open stays."""
    following = np.empty((ROWS * COLUMNS, len(MOVES)), dtype=np.int64)
    for s in range(ROWS * COLUMNS):
        row, column = divmod(s, COLUMNS)
        for action, (down, right) in enumerate(MOVES):
            r, c = row + down, column + right
            inside = 0 <= r < ROWS and 0 <= c < COLUMNS
            shut = right and {column, c} == {WALL - 1, WALL} and row not in doors
            following[s, action] = r * COLUMNS + c if inside and not shut else s
    row, column = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    return MDP.deterministic(
        following,
        action_names=["up", "down", "left", "right", "stay"],
        state_names=[f"({r}, {c})" for r, c in zip(row, column, strict=True)],
        coordinates=np.column_stack([column, -row]).astype(float),
    )


def table_model(env: MDP, histories: Histories, log_policies: np.ndarray, switching: np.ndarray) -> SWIRL:
    """A model whose modes choose by given tables, [mode, history, action]."""
    return SWIRL.from_parameters(
        env, history=histories.length, histories=histories.table, rewards=np.maximum(log_policies, -700.0),
        mode_transitions=switching, initial_modes=np.eye(switching.shape[1])[0], discount=1e-9,
    )  # fmt: skip


def liked(env: MDP, rng: np.random.Generator, of_place: float, of_way: float, goes_on: float) -> dict[str, Any]:
    """Preferences at every (place, place before), and how much it tends to do the same again; drawn once."""
    return {
        "place": of_place * rng.standard_normal((env.n_states, env.n_actions)),
        "way": of_way * rng.standard_normal((env.n_states, env.n_states + 1, env.n_actions)),
        "goes_on": goes_on,
        "led": np.asarray(env.successors.next)[:, :, 0],
    }


def habit_of(histories: Histories, likes: dict[str, Any]) -> np.ndarray:
    """Logits of the habit, [history, action]."""
    now, before = histories.table[:, 0], histories.table[:, 1]
    again = (likes["led"][before] == now[:, None]) & (before != now)[:, None] & (before >= 0)[:, None]
    return likes["place"][now] + likes["way"][now, before] + likes["goes_on"] * again


def walker(env: MDP, likes: dict[str, Any], goals: list[int], cost: float) -> SWIRL:
    """The truth of a world: its habit, and walking to one of the goals until it is reached."""
    histories = Histories.reachable(env.successors, 2)
    habit, available = habit_of(histories, likes), env.available[histories.table[:, 0]]
    modes = [habit]
    for goal in goals:
        ahead = planned(env, goal, cost)[histories.table[:, 0]]
        modes.append(habit + np.where(available, ahead, 0.0))
    log_policies = log_softmax(np.where(available, np.stack(modes), -np.inf), axis=2)
    n = len(modes)
    switching = np.tile(np.eye(n), (env.n_states, 1, 1))
    for mode, goal in enumerate(goals, start=1):
        switching[:, 0, mode] = 0.08 / len(goals)
        switching[goal, mode] = [0.7, *[0.3 / len(goals)] * len(goals)]
    switching[:, 0, 0] = 1.0 - switching[:, 0, 1:].sum(axis=1)
    return table_model(env, histories, log_policies, switching)


def grown(env: MDP, truth: SWIRL, seed: int) -> SWIRL:
    """A habit of the last three states that does on average what the truth does there."""
    data = truth.sample(2000, N_STEPS, random_state=10_000 + seed)
    histories = Histories.reachable(env.successors, 3)
    numbers = {tuple(row): i for i, row in enumerate(histories.table.tolist())}
    counts = np.where(env.available[histories.table[:, 0]], 0.5, 0.0)
    steps = []
    for states, actions in zip(data.states, data.actions, strict=True):
        before = np.concatenate([[-1, -1], states])
        steps.append(np.column_stack([before[2:], before[1:-1], before[:-2], actions]))
    for (*history, action), n in zip(*np.unique(np.concatenate(steps), axis=0, return_counts=True), strict=True):
        counts[numbers[tuple(int(s) for s in history)], action] += n
    with np.errstate(divide="ignore"):
        log_policies = np.log(counts / counts.sum(axis=1, keepdims=True))
    return table_model(env, histories, log_policies[None], np.ones((env.n_states, 1, 1)))


def draw(world: str, place: str, seed: int) -> tuple[MDP, dict[str, Any], list[int], float, SWIRL, tuple[int, ...]]:
    """The environment and the truth of one draw."""
    rng = np.random.default_rng([seed, *f"{world} {place}".encode()])
    doors = tuple(sorted(rng.choice(ROWS, 2, replace=False).tolist()))
    env = rooms(doors) if place == "rooms" else datasets.labyrinth_env(legal_only=True)
    goals = sorted(rng.choice(env.n_states, int(rng.integers(2, 4)), replace=False).tolist())
    cost = float(rng.choice([2.0, 4.0]))
    scales = {"habit": (1.0, 0.7, 0.5), "goals": (0.0, 0.0, 0.0)}.get(world, (0.5, 0.0, 0.5))
    likes = liked(env, rng, *scales)
    truth = walker(env, likes, [] if world == "habit" else goals, cost)
    if world == "habit grown from goals":
        truth = grown(env, truth, seed)
    return env, likes, goals if world in WORLDS[2:] else [], cost, truth, doors


def drawn(world: str, place: str, seed: int) -> dict[str, Any]:
    """One draw, judged; in the rooms a door is closed afterwards."""
    began = time.perf_counter()
    env, likes, goals, cost, truth, doors = draw(world, place, seed)
    data = truth.sample(N_SESSIONS, N_STEPS, random_state=seed)
    data = Trajectories(data.states, data.actions, n_states=env.n_states, n_actions=env.n_actions)
    found = habit_or_goal(data, env)
    row = {"world": world, "place": place, "seed": seed, "goals": goals, "says": str(found)}
    row |= {"found": [list(p) for p in found.search.places], **measures(found)}
    if place == "rooms" and goals:
        row["door"] = after_a_door(env, likes, goals, cost, doors, data, found, seed)
    return row | {"seconds": time.perf_counter() - began}


def measures(found: HabitOrGoal) -> dict[str, Any]:
    """What goals gain by each measure, and how many places are come to otherwise than simulated."""
    told: dict[str, Any] = {}
    if found.panel is not None:
        told["gains"] = {name: found.gain(name) for name in found.panel.sums}
    told["otherwise"] = {name: [len(check.strays), len(check.places)] for name, check in found.runs.items()}
    return told


def after_a_door(
    env: MDP, likes: dict[str, Any], goals: list[int], cost: float, doors: tuple[int, ...], data: Trajectories,
    found: HabitOrGoal, seed: int,
) -> dict[str, float]:  # fmt: skip
    """Scores on sessions after the door that was used more is closed, of what was fitted before."""
    crossed = []
    for row in doors:
        sides = {row * COLUMNS + WALL - 1, row * COLUMNS + WALL}
        crossed.append(sum(int(np.sum(np.isin(p[:-1], list(sides)) & np.isin(p[1:], list(sides)) & (p[1:] != p[:-1])))
                           for p in data.states))  # fmt: skip
    after = rooms(tuple(row for row in doors if row != doors[int(np.argmax(crossed))]))
    truth = walker(after, likes, goals, cost)
    new = truth.sample(N_SESSIONS, N_STEPS, random_state=1000 + seed)
    scores = {"truth": truth.score(new)}
    if isinstance(with_goals := found.models.get(WITH), SWIRL):
        scores["goals"] = with_goals.transfer(after).score(new)
    either = MDP((env.dense() + after.dense()) / 2)  # in which all sessions can be read
    return scores | {"counts": BackoffMarkov(either).fit(data).score(new)}


def labyrinth() -> dict[str, Any]:
    """The verdict on the labyrinth's training sessions of the paper's split, with every place tried."""
    world = datasets.labyrinth()
    train, _ = world.trajectories.split(every=5)
    found = habit_or_goal(train, world.env)
    places = [list(place) for place in found.search.places]
    return {"versions": versions(), "says": str(found), "found": places, **measures(found)}


def verdict(row: dict[str, Any]) -> str:
    """The verdict on a draw, by its gains."""
    return judge(row["gains"]) if "gains" in row else NONE


def next_step_alone(row: dict[str, Any]) -> bool:
    """Whether a habit that grew from goals would be taken for goals by the next step alone."""
    if row["world"] != WORLDS[1] or "gains" not in row:
        return False
    gains = row["gains"]
    return gains["score"][1] > 0 and not gains.get("next_goal", (0, 0, 0))[2] < 0


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each world and place."""
    table = []
    for place in PLACES:
        for world in WORLDS:
            own = [row for row in rows if (row["world"], row["place"]) == (world, place)]
            if own:
                verdicts = [verdict(row) for row in own]
                right = sum((said == EVIDENCE) == (world in WORLDS[2:]) for said in verdicts)
                table.append({"world": world, "place": place, "draws": len(own), "right": right, "verdicts": verdicts})
    return table


def page(record: dict[str, Any]) -> str:
    """The results page."""
    table, rows = summary(record["draws"]), record["draws"]
    doors = [row["door"] for row in rows if "door" in row and "goals" in row["door"]]
    lines = [
        "# Habit or goal?",
        "",
        "; ".join(f"{row['world']} ({row['place']}): right in {row['right']} of {row['draws']}" for row in table) + ".",
        "",
        f"Command: `{record['command']}`; versions {json.dumps(record['versions'])}. {N_SESSIONS} sessions of "
        f"{N_STEPS} steps a draw, `habit_or_goal(data, env)` with its defaults. Right: *evidence for goals* where "
        "there are some, one of the other two verdicts where there are none. Gain: of the next-step score, nats. "
        "Otherwise: places that the model without modes, let run, comes to more or less straight than the data do.",
        "",
        "| place | world | draws | right | evidence / description / no sign | gain of goals: least, median, most | "
        "otherwise: median |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in table:
        own = [r for r in rows if (r["world"], r["place"]) == (row["world"], row["place"])]
        gains = [r["gains"]["score"][0] for r in own if "gains" in r]
        told = f"{min(gains):+.4f}, {np.median(gains):+.4f}, {max(gains):+.4f}" if gains else "–"
        counts = " / ".join(str(row["verdicts"].count(said)) for said in (EVIDENCE, DESCRIPTION, NONE))
        otherwise = np.median([r["otherwise"][WITHOUT][0] for r in own])
        lines.append(
            f"| {row['place']} | {row['world']} | {row['draws']} | {row['right']} | {counts} | {told} | {otherwise:g} |"
        )
    if doors:
        near = sum(door["truth"] - door["goals"] <= NEAR for door in doors)
        lines += [
            "",
            "## After a door is closed",
            "",
            f"Goals, planned anew, are within {NEAR} nats per step of the truth's own score in {near} of {len(doors)} "
            "draws. Score of new sessions less the truth's own:",
            "",
            "| world | seed | truth | goals | counts |",
            "|---|---|---|---|---|",
        ]
        for row in rows:
            if "door" in row:
                door = row["door"]
                cells = [f"{door[n] - door['truth']:+.4f}" if n in door else "–" for n in ("goals", "counts")]
                lines.append(f"| {row['world']} | {row['seed']} | {door['truth']:.4f} | {' | '.join(cells)} |")
    near = [row["gains"]["place_5"] for row in rows if row["world"] == WORLDS[1] and "gains" in row]
    if near:
        lines += [
            "",
            "## How the rule came about",
            "",
            "At first the next step alone was to be ahead, and where it is going not behind. With that rule "
            f"{sum(map(next_step_alone, rows))} of {len(near)} habits that grew from goals were called evidence: goals "
            "are the shorter description, and predict a habit's next step better than a table that has seen few "
            "sessions. So the place five steps ahead has to be predicted better too. That was decided on the draws in "
            "the rooms; those in the maze were made afterwards. Of these habits the gain at five steps is at most "
            f"{max(gain for gain, _, _ in near):+.4f}, and its interval starts at "
            f"{max(low for _, low, _ in near):+.4f} at most: not far below zero, so that with fewer sessions, or other "
            "habits, some would be called evidence.",
        ]
    lines += ["", "## Draws that came out otherwise", ""]
    for row in rows:
        if (verdict(row) == EVIDENCE) != (row["world"] in WORLDS[2:]):
            said = "; ".join(line for line in row["says"].split("\n")[1:-2] if line)
            lines.append(f"- {row['place']}, {row['world']}, seed {row['seed']}: true {row['goals'] or 'none'}; {said}")
    if "labyrinth" in record:
        own = record["labyrinth"]
        lines += ["", "## The labyrinth's training sessions", "", f"Versions {json.dumps(own['versions'])}."]
        lines += ["", "```text", own["says"], "```"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Draw, judge, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["all", *PLACES, "labyrinth"], default="all")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    name = "habit_or_goal_quick" if options.quick else "habit_or_goal"
    where = options.output / f"{name}.json"
    record: dict[str, Any] = {"draws": []}
    if where.exists() and not options.quick:
        record = json.loads(where.read_text())
    record |= {"command": "python studies/habit_or_goal.py", "versions": versions()}

    def write() -> None:
        order = {name: i for i, name in enumerate((*PLACES, *WORLDS))}
        record["draws"].sort(key=lambda row: (order[row["place"]], order[row["world"]], row["seed"]))
        where.write_text(json.dumps(record, indent=1))
        where.with_suffix(".md").write_text(page(record))

    if options.what in ("all", "labyrinth") and not options.quick:
        record["labyrinth"] = labyrinth()
        write()
    places = PLACES if options.what == "all" else (options.what,)
    tasks = [(world, place, seed) for place in places[::-1] for seed in range(10) for world in WORLDS]
    tasks = [("habit", "rooms", 0), ("both", "rooms", 0)] if options.quick else tasks
    if options.what == "labyrinth":
        return
    record["draws"] = [row for row in record["draws"] if (row["world"], row["place"], row["seed"]) not in tasks]
    with ProcessPoolExecutor(options.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(drawn, *task) for task in tasks]):
            record["draws"].append(done.result())
            write()


if __name__ == "__main__":
    main()
