"""Does the grid choose the right model?  Twelve worlds whose separations were fixed before the choice was run.

    python studies/choice.py --separations --jobs 16   # how far each world's truth is ahead of wrong models
    python studies/choice.py --jobs 16                 # the choice in each world; says its cost, then starts
    python studies/choice.py --quick                   # one small world; nothing is written

The default grid of `swirl compare --grid default`: modes 1 to 3, history 1 and 2, switching independent or of the
state, on 3 folds, twice, with the default prior.  A world is taken in only if its true model is ahead of every wrong
one (fewer modes, a shorter history, switching that does not see the state) by at least 0.005 nats per step and three
paired standard errors, on the sessions that the choice will see.  Wrong models are given every advantage: they are
fitted to 400 other sessions of the same world.  Models that contain the truth are not wrong by this measure, only
larger than need be.

Writes studies/results/choice_separations.json, then choice.json (every candidate of every world) and choice.md.
Stopped and started again, it goes on where it was.
"""

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import draws
import numpy as np
from draws import RESULTS
from modes_claimed import PORT, agent, being_there, slipping, visit

from swirl import datasets
from swirl.analysis.fit_tasks import fold_tasks
from swirl.analysis.grid_search import Choice, choice_of, complexity, joined, paired
from swirl.analysis.tasks import carried_out
from swirl.estimators.base import quietly
from swirl.estimators.swirl import SWIRL
from swirl.workflows.config import Grid
from swirl.workflows.model_choice import DEFAULT
from swirl.workflows.sweep import candidates

COMMAND = "python studies/choice.py"
N_SESSIONS, N_STEPS, N_OTHERS = 60, 100, 400
LEAST, ERRORS = 0.005, 3.0
RESTARTS = 4
GRID = candidates(Grid.model_validate(DEFAULT), None)


class World(NamedTuple):
    """A world: what is true of it, the seed of its sessions, and how they are made."""

    n_modes: int
    history: int
    switching: str
    seed: int
    truth: Callable[[], SWIRL]
    seconds: int
    """Of one core, for one candidate."""

    @property
    def right(self) -> dict[str, Any]:
        """The settings to choose; of one mode, how it switches is nothing."""
        return {"n_modes": self.n_modes, "history": self.history, "switching": self.switching}


GOALS = (14, 20, 4)


def grid() -> Any:
    """The gridworld's moves."""
    return datasets.gridworld_env()


def ends(env: Any, goals: Any, at_goal: float, elsewhere: float) -> list[np.ndarray]:
    """How likely each mode ends, in each state: more likely at its own goal."""
    return [np.where(np.arange(env.n_states) == goal, at_goal, elsewhere) for goal in goals]


def anywhere(n_modes: int, share: float) -> list[float]:
    """How likely each mode ends, the same everywhere."""
    return [share] * n_modes


def places(n: int, worth: float) -> list[Any]:
    """Rewards for being at each of the first goals."""
    return [being_there(goal, worth) for goal in GOALS[:n]]


def visits(n: int, worth: float) -> list[Any]:
    """Rewards for coming to and leaving each of the first goals."""
    return [visit(goal, worth) for goal in GOALS[:n]]


def tastes(env: Any, spread: float, seed: int) -> Any:
    """A reward of its own for every move between two states: no reward of places is like it."""
    table = np.random.default_rng(seed).normal(0.0, spread, (env.n_states, env.n_states))
    return lambda new, old: table[new, old]


def maze(*goals: int, worth: float, leave: Any = (0.0,)) -> SWIRL:
    """Mice of the labyrinth that come to places and go."""
    return agent(datasets.labyrinth_env(), 2, [visit(goal, worth) for goal in goals], leave, start=0)


NONE = "independent"
WORLDS: dict[str, World] = {
    "grid, one goal": World(1, 1, NONE, 1, lambda: agent(grid(), 1, places(1, 1.0)), 15),
    "grid, a taste for moves": World(1, 2, NONE, 2, lambda: agent(grid(), 2, [tastes(grid(), 1.0, 0)]), 15),
    "stochastic grid, one goal": World(1, 1, NONE, 3, lambda: agent(slipping(grid(), 0.2), 1, places(1, 1.0)), 15),
    "maze, one goal": World(
        1, 1, NONE, 4, lambda: agent(datasets.labyrinth_env(), 1, [being_there(PORT, 1.5)], start=0), 60
    ),
    "grid, two goals left when reached": World(
        2, 1, "state", 5, lambda: agent(grid(), 1, places(2, 1.5), ends(grid(), GOALS[:2], 0.4, 0.005)), 25
    ),
    "grid, two goals left anywhere": World(
        2, 1, NONE, 6, lambda: agent(grid(), 1, places(2, 1.5), anywhere(2, 0.03)), 25
    ),
    "grid, two places to visit, left when reached": World(
        2, 2, "state", 7, lambda: agent(grid(), 2, visits(2, 2.0), ends(grid(), GOALS[:2], 0.4, 0.005)), 25
    ),
    "grid, two places to visit, left anywhere": World(
        2, 2, NONE, 8, lambda: agent(grid(), 2, visits(2, 2.0), anywhere(2, 0.02)), 25
    ),
    "stochastic grid, two goals left when reached": World(
        2, 1, "state", 9,
        lambda: agent(slipping(grid(), 0.2), 1, places(2, 1.5), ends(grid(), GOALS[:2], 0.4, 0.005)), 25,
    ),
    "grid, three goals left anywhere": World(
        3, 1, NONE, 10, lambda: agent(grid(), 1, places(3, 2.5), anywhere(3, 0.01)), 25
    ),
    "stochastic grid, three goals left when reached": World(
        3, 1, "state", 11,
        lambda: agent(slipping(grid(), 0.1), 1, places(3, 1.5), ends(grid(), GOALS, 0.4, 0.005)), 25,
    ),
    "maze, two places to visit, left when reached": World(
        2, 2, "state", 12,
        lambda: maze(PORT, 70, worth=2.5, leave=ends(datasets.labyrinth_env(), (PORT, 70), 0.5, 0.005)), 100,
    ),
}  # fmt: skip


def sessions(world: World, n: int = N_SESSIONS, n_steps: int = N_STEPS) -> Any:
    """The sessions that the choice sees."""
    return world.truth().sample(n, n_steps, random_state=world.seed)


def contains(settings: dict[str, Any], world: World) -> bool:
    """Whether a model with such settings can be the truth."""
    states = settings["n_modes"] == 1 or settings["switching"] == "state" or world.switching == NONE
    return settings["n_modes"] >= world.n_modes and settings["history"] >= world.history and states


def one_separation(name: str, place: int) -> dict[str, Any]:
    """How far the truth of a world is ahead of one wrong model that has seen much more."""
    began, world, settings = time.perf_counter(), WORLDS[name], GRID[place]
    truth = world.truth()
    data, many = sessions(world), truth.sample(N_OTHERS, N_STEPS, random_state=1000 + world.seed)
    wrong = SWIRL(truth.env, n_restarts=RESTARTS, **settings).fit(many, progress=False, compare_restarts=False)
    with quietly():
        gains = truth.session_scores(data) - wrong.session_scores(data)
    steps = np.array([int(own.sum()) for own in truth.scored_steps(data)])
    gain, error, _ = paired(gains, steps, np.arange(len(data)))
    seconds = time.perf_counter() - began
    return {"world": name, "place": place, "wrong": settings, "gain": gain, "error": error, "seconds": seconds}


def one_candidate(
    name: str, place: int, n_sessions: int = N_SESSIONS, n_steps: int = N_STEPS, **settings: Any
) -> dict[str, Any]:
    """All fits of one candidate to the folds of a world."""
    began, world = time.perf_counter(), WORLDS[name]
    data = sessions(world, n_sessions, n_steps)
    model = SWIRL(world.truth().env, **{"n_restarts": RESTARTS, **settings})
    tasks = fold_tasks(model, data, [GRID[place]], n_folds=3, n_repeats=2)
    found = choice_of(tasks, carried_out(tasks))
    repeats = np.array(found.by_repeat)[0]
    facts = {"scores": found.scores[0].tolist(), "by_repeat": np.round(repeats, 6).tolist()}
    steps = [] if found.steps is None else found.steps.tolist()
    return {"world": name, "place": place, **facts, "steps": steps, "seconds": time.perf_counter() - began}


def as_choice(found: list[dict[str, Any]], name: str) -> Choice | None:
    """The choice in a world; None where not all candidates have been fitted."""
    own = sorted((row for row in found if row["world"] == name), key=lambda row: row["place"])
    if len(own) < len(GRID):
        return None
    rows = []
    for row in own:
        repeats, steps = np.array([row["by_repeat"]]), np.array(row["steps"])
        subjects = (None,) * len(steps)
        one = Choice([GRID[row["place"]]], np.array([row["scores"]]), repeats.mean(axis=1), steps, subjects, repeats)
        rows.append((GRID[row["place"]], one))
    return joined(rows)


def separations() -> list[dict[str, Any]]:
    """What was found before the choice was run."""
    return draws.known(RESULTS, "choice_separations")


def least(found: list[dict[str, Any]], name: str) -> tuple[float, float]:
    """Of the wrong models of a world: the least gain of the truth, and the least number of standard errors."""
    own = [row for row in found if row["world"] == name]
    return min((row["gain"] for row in own), default=np.inf), min(
        (row["gain"] / row["error"] for row in own), default=np.inf
    )


def judged(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Of each world: what was chosen, what of it is right, and how often other sessions would choose so."""
    rows = {}
    for name, world in WORLDS.items():
        choice = as_choice(found, name)
        if choice is None:
            continue
        best, again = choice.best, choice.chosen_again(500)
        share = sum(int(n) for own, n in zip(GRID, again, strict=True) if own["n_modes"] == best["n_modes"]) / 500
        switching = best["switching"] == world.switching or best["n_modes"] == world.n_modes == 1
        form = bool(switching and best["history"] == world.history)
        rows[name] = {"best": best, "modes": best["n_modes"] == world.n_modes, "form": form, "same_modes": share}
    return rows


def page(found: list[dict[str, Any]], made: str) -> str:
    """The results in words."""
    rows, apart = judged(found), separations()
    none = [name for name in rows if WORLDS[name].n_modes == 1]
    n = len(rows)
    told = [
        f"Of {n} worlds the right number of modes is chosen in {sum(row['modes'] for row in rows.values())}, the right "
        f"switching and history in {sum(row['form'] for row in rows.values())}. Of {len(none)} worlds without modes, "
        f"none are claimed in {sum(rows[name]['modes'] for name in none)}.",
        f"{N_SESSIONS} sessions of {N_STEPS} steps, 3 folds, twice, {RESTARTS} restarts, the default prior. "
        "Separation: by how much the truth is ahead of the best wrong model, which was fitted to 400 other sessions.",
    ]
    lines = ["| world | truth (K, L, switching) | separation (nats/step; SEs) | chosen | K chosen again |"]
    lines.append("|:--|:--|--:|:--|--:|")
    for name, row in rows.items():
        world, (gain, errors) = WORLDS[name], least(apart, name)
        gap = "" if np.isinf(gain) else f"{gain:.4f}; {errors:.1f}"
        lines.append(f"| {name} | {_short(world.right)} | {gap} | {_short(row['best'])} | {row['same_modes']:.0%} |")
    return (
        "\n\n".join(["# Does the grid choose the right model?", f"`{COMMAND}` ({made})", *told, "\n".join(lines)])
        + "\n"
    )


def _short(settings: dict[str, Any]) -> str:
    own = [str(settings["n_modes"]), str(settings["history"])]
    return ", ".join([*own, *([settings["switching"]] if settings["n_modes"] > 1 else [])])


def main() -> None:
    """Find separations, or make the choices."""
    apart = "--separations" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--separations"]
    options = draws.options(__doc__.splitlines()[0], list(WORLDS))
    if options.quick:
        small = {"n_sessions": 12, "n_steps": 40, "n_restarts": 1, "max_iter": 20}
        name = next(iter(WORLDS))
        found = [one_candidate(name, place, **small) for place in range(len(GRID))]
        print(page(found, "quick"))
        return
    file = "choice_separations" if apart else "choice"
    found = draws.known(options.output, file)
    known = {(row["world"], row["place"]) for row in found}
    cases = [(name, place) for place in range(len(GRID)) for name in options.only or WORLDS]
    if apart:
        cases = [(name, place) for name, place in cases if not contains(GRID[place], WORLDS[name])]
    cases.sort(key=lambda case: -WORLDS[case[0]].seconds * complexity(GRID[case[1]])[0])  # the longest first

    def keep(row: dict[str, Any]) -> None:
        found.append(row)
        found.sort(key=lambda row: (list(WORLDS).index(row["world"]), row["place"]))
        draws.write(found, options.output, file, COMMAND, separations_page if apart else page)

    left = [case for case in cases if case not in known]
    cost = lambda case: WORLDS[case[0]].seconds  # noqa: E731
    make = one_separation if apart else one_candidate
    draws.make(make, left, seconds=cost, jobs=options.jobs, limit=options.limit, keep=keep)
    print((separations_page if apart else page)(found, ""))


def separations_page(found: list[dict[str, Any]], made: str) -> str:
    """The separations in a table."""
    lines = ["| world | least gain (nats/step) | least number of standard errors | taken in |", "|:--|--:|--:|:--|"]
    for name in WORLDS:
        gain, errors = least(found, name)
        taken = "yes" if gain >= LEAST and errors >= ERRORS else "no"
        lines.append(f"| {name} | {gain:.4f} | {errors:.1f} | {taken} |")
    title = "# How far is the truth of each world ahead of wrong models?"
    return "\n\n".join([title, f"`{COMMAND} --separations` ({made})", "\n".join(lines)]) + "\n"


if __name__ == "__main__":
    main()
