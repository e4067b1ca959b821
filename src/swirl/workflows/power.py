"""How many sessions do I need?  Power by simulation, from a fit or from a sketch (`swirl power`).

A sketch is a small TOML file; every field but the place and the goals has a default:

    env = "maze.csv"                      # or: arena = "6x6", and labels = "A1" for cells A1, A2, …
    goals = { water = 116, home = 0 }     # one mode for each
    dwell = 30                            # steps that a mode lasts; [30, 60]: one number for each mode
    temperature = 0.5                     # how noisy choices are; the answer says how straight it walks
    ends = "goal"                         # or: "anywhere"
    explore = false                       # true: one mode more, which wants nothing

    [model]                               # what is fitted, as `swirl fit` has it
    [fit]
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from swirl.analysis.cluster import LOCAL, engine_for
from swirl.analysis.power import SESSIONS, Design, Power, Target, designs_of, model_of, power_analysis, truth_faults
from swirl.analysis.tasks import Folder, Progress
from swirl.data import arenas
from swirl.data.mdp import MDP
from swirl.datasets.sketch import sketched, ways
from swirl.estimators.swirl import SWIRL
from swirl.io.environment_files import read_environment
from swirl.text import counted
from swirl.workflows.config import Fit, Model, Run, Section, checked, merged, read_config
from swirl.workflows.fit import build, check_memory
from swirl.workflows.goals import read_goals
from swirl.workflows.load import open_fit, sessions_of

STEPS = 200  # of a session, where nothing says otherwise
OF_THE_FIT = (0.25, 0.5, 1.0, 2.0)  # designs beside that of a fit: shares of its sessions


class Sketch(Section):
    """What one expects of the animals, before there are recordings."""

    env: str | None = None
    states: str | None = None
    arena: str | None = None
    labels: str | None = None
    goals: str | dict[str, str | int | list[str | int]] | None = None
    dwell: float | list[float] = 30.0
    ends: Literal["goal", "anywhere"] = "goal"
    explore: bool = False
    temperature: float | list[float] = 0.5
    model: Model = Field(default_factory=Model)
    fit: Fit = Field(default_factory=Fit)


@dataclass(frozen=True)
class Question:
    """What is simulated from, what is fitted, and how large."""

    truth: Any
    model: Any
    designs: tuple[Design, ...]
    sizes: dict[str, list[int]]
    missing_actions: float
    source: str
    """Where the truth comes from, in words."""
    settings: dict[str, Any] = field(default_factory=dict)
    """The sketch, where it is one."""


def arena_of(given: str, labels: str | None = None) -> MDP:
    """An open arena of so many rows and columns of cells, as of `swirl env grid`; the first cell is at the top left.

    >>> arena_of("2x3").state_names
    ('r0c0', 'r0c1', 'r0c2', 'r1c0', 'r1c1', 'r1c2')
    >>> arena_of("2x3", "A1").state_names
    ('A1', 'A2', 'A3', 'B1', 'B2', 'B3')
    """
    found = re.fullmatch(r"\s*(\d{1,3})\s*[x×]\s*(\d{1,3})\s*", given)
    if found is None or "0" in found.groups():
        raise ValueError(f"arena={given!r}: expected rows x columns, as in 6x6")
    rows, columns = map(int, found.groups())
    return arenas.grid(rows, columns, labels=arenas.FIRST_CELL if labels is None else labels)


def sketch_of(source: Any, options: dict[str, Any]) -> Sketch:
    """The sketch of a TOML file, where one is given, with the options laid over it."""
    values = {} if source is None else read_config(source)
    found = checked(merged(values, options), "the sketch" if source is None else str(source), Sketch)
    if (found.env is None) == (found.arena is None):
        raise ValueError(
            "env, arena: give one of them, an edge list as in --env maze.csv, or the cells of an open arena"
        )
    if found.labels is not None and found.arena is None:
        raise ValueError(f"labels={found.labels!r}: cells are named with an arena; the places of env have their names")
    if found.goals is None:
        raise ValueError("goals: give the places that modes walk to, as in --goals water=116,home=0 (names or numbers)")
    return found


def truth_of(sketch: Sketch) -> tuple[SWIRL, Any, list[list[int]]]:
    """The true model of a sketch, the model that is fitted to what it simulates, and the states of each goal."""
    env = read_environment(sketch.env, sketch.states) if sketch.arena is None else arena_of(sketch.arena, sketch.labels)
    try:
        goals = read_goals(sketch.goals, env) or {}
    except ValueError as fault:
        raise ValueError(f"{fault}{'' if sketch.arena is None else _how_cells_are_called(env)}") from None
    asked = sketch.model
    settings = {"ends": sketch.ends, "explore": sketch.explore, "temperature": sketch.temperature}
    truth = sketched(env, list(goals.values()), dwell=sketch.dwell, **settings)
    truth.name_modes([*goals, *(["explore"] if sketch.explore else [])])
    n_modes = len(truth.initial_modes_)
    if "modes" in asked.model_fields_set and asked.modes != n_modes:
        raise ValueError(f"model.modes={asked.modes}: the sketch has {counted(n_modes, 'mode')}; leave it out")
    alone = {"history": 1} if asked.name is None and asked.history is None else {}
    model = asked.model_copy(update={"modes": n_modes, **alone})
    return truth, build(Run(data="sketch", model=model, fit=sketch.fit), env), list(goals.values())


def _how_cells_are_called(env: MDP) -> str:
    """End of an error about cells of an arena.

    >>> _how_cells_are_called(arena_of("2x3"))
    '. Its cells are called r0c0 to r1c2 (row, column); --labels says otherwise, as in --labels A1 (A1, A2, …, B1, …)'
    """
    names = list(env.state_names or [arenas.FIRST_CELL])
    other = "A1 (A1, A2, …, B1, …)" if names[0] == arenas.FIRST_CELL else "r0c0 (r0c0, r0c1, …, r1c0, …)"
    how = f"{names[0]} to {names[-1]}{' (row, column)' if names[0] == arenas.FIRST_CELL else ''}"
    return f". Its cells are called {how}; --labels says otherwise, as in --labels {other}"


def ask(
    source: Any,
    options: dict[str, Any],
    *,
    n_sessions: Sequence[int] | None = None,
    n_steps: Sequence[int] | None = None,
    n_animals: Sequence[int] | None = None,
    missing_actions: float | None = None,
) -> Question:
    """Read the fit or the sketch, and choose sizes where none are given: about those of the fit.

    Parameters
    ----------
    source
        A fit (.nc), a sketch (.toml), or None: the options are the sketch.
    options
        Fields of a sketch; of a fit, only those under `fit`.
    """
    given = merged({}, options)  # without what was not given
    if source is None or Path(source).suffix.lower() == ".toml":
        sketch = sketch_of(source, given)
        truth, model, goals = truth_of(sketch)
        words = f"a sketch: {counted(len(truth.initial_modes_), 'mode')} ({', '.join(truth.mode_names_ or ())})"
        long, fewest = np.mean(ways(truth, goals), axis=0)
        words += f"; it takes {long:.0f} steps to a goal, of which {fewest:.0f} are needed"
        known, steps, missing = None, None, None
        settings = sketch.model_dump(mode="json", exclude_none=True)
    else:
        others = [name for name in given if name != "fit"]
        if others:
            raise ValueError(
                f"{', '.join(others)}: given for a sketch, but {source} is a fit, which says them; leave out"
            )
        truth = open_fit(source)
        truth_faults(truth)
        model = model_of(truth)
        changes = {"restarts": "n_restarts", "max_iter": "max_iter", "seed": "random_state"}
        asked = {changes[name]: value for name, value in given.get("fit", {}).items()}
        model.set_params(**asked)
        words = f"{source}: {truth.description}"
        known, steps, missing = _sizes_of(truth)
        settings = {}
    sizes = {
        "n_animals": [1] if n_animals is None else list(n_animals),
        "n_sessions": _sessions(known) if n_sessions is None else list(n_sessions),
        "n_steps": [steps or STEPS] if n_steps is None else list(n_steps),
    }
    share = missing if missing_actions is None else missing_actions
    return Question(truth, model, designs_of(**sizes), sizes, share or 0.0, words, settings)


def _sessions(known: int | None) -> list[int]:
    """Sessions to try, about those of a fit."""
    return list(SESSIONS) if known is None else sorted({max(1, round(share * known)) for share in OF_THE_FIT})


def _sizes_of(truth: Any) -> tuple[int | None, int | None, float | None]:
    """Sessions of a fit, steps of a session, and the share of actions that are missing, where they can be known."""
    sessions, steps = truth.training_sessions_, vars(truth).get("n_steps_")
    known = None if sessions is None else len(sessions)
    long = None if known is None or steps is None else max(2, round(steps / known))
    with suppress(ValueError, OSError):  # the table may be elsewhere now
        data = sessions_of(truth, some=True)
        inner = np.concatenate([actions[:-1] for actions in data.actions])
        return known, long, float(np.mean(inner < 0)) if len(inner) else None
    return known, long, None


def run_power(
    question: Question,
    *,
    between_animals: float = 0.0,
    questions: Sequence[str] | None = None,
    target: Target | None = None,
    power: float = 0.8,
    n_simulations: int = 20,
    folder: Any = None,
    scheduler: str | None = LOCAL,
    n_workers: int | None = None,
    callback: Callable[[Progress], Any] | None = None,
    tell: Callable[[str], Any] | None = None,
) -> Power:
    """Simulate, fit and measure (`analysis.power`)."""
    need = 0
    if isinstance(question.model, SWIRL):
        largest = max(question.designs, key=lambda design: design.total)
        need = check_memory(
            question.model, question.truth.sample(largest.n_animals * largest.n_sessions, largest.n_steps)
        ).total
    kept = None if folder is None else Folder(folder)
    with engine_for(scheduler, n_workers, need, tell) as engine:
        return power_analysis(
            question.truth,
            model=question.model,
            **question.sizes,
            between_animals=between_animals,
            missing_actions=question.missing_actions,
            questions=questions,
            target=target,
            power=power,
            n_simulations=n_simulations,
            random_state=int(question.model.get_params()["random_state"]),
            folder=kept,
            engine=engine,
            callback=callback,
        )
