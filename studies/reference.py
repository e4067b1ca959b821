"""Has anything moved? A fixed panel of fits, and every number that they lead to.

    python studies/reference.py            # makes the panel (about three minutes on two cores) and says what moved
    python studies/reference.py --write    # the same, and keeps it: studies/results/reference.json
    python studies/reference.py --quick    # the first row alone, from fewer sessions; nothing is compared

Rows: the gridworld (S-2), the same with actions missing, animals in the gridworld (state-action, with animals known),
the labyrinth (S-2), syllables (S-1) and goals (told, and found). Of each: scores, modes, rewards, policies and
switching of the fit, intervals of it, and of every figure that `swirl plot` draws the numbers of its table. A number
has moved where it differs by more than a part in a million (`CLOSE`) of itself. Rows of published recordings are left
out where these are not at hand.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import swirl
from swirl import SWIRL, Trajectories, datasets
from swirl.estimators.save_load import versions
from swirl.plots.fit.catalogue import draw

COMMAND = "python studies/reference.py --write"
RESULTS = Path(__file__).parent / "results"
CLOSE = 1e-6
Numbers = dict[str, Any]


def table_of(values: Any) -> Numbers:
    """Size, sum, and a weighted sum of numbers, which tells their order: what a table comes to."""
    flat = np.asarray(values, dtype=float).ravel()
    kept = flat[np.isfinite(flat)]
    weights = np.cos(np.arange(len(kept)))
    return {"n": len(flat), "finite": len(kept), "sum": float(kept.sum()), "weighted": float(kept @ weights)}


def figures(model: Any, data: Trajectories, signal: str | None = None) -> Numbers:
    """Of every figure that applies: rows of its table, and each column of numbers."""
    mpl.use("Agg")
    drawn, left_out = draw(model, data, signal=signal)
    found: Numbers = {"left out": sorted(left_out)}
    for name, drawing in drawn.items():
        columns = drawing.table.select_dtypes("number")
        found[name] = {"rows": len(drawing.table)} | {str(own): table_of(columns[own]) for own in columns}
        drawing.figure.clear()
    return found


def intervals(model: Any, data: Trajectories) -> Numbers:
    """Both ends of the intervals of everything, from the observed information."""
    found = swirl.uncertainty.information(model, data, n_draws=40)
    ends = {name: found.interval(name) for name in found.names}
    return {name: {"low": table_of(low), "high": table_of(high)} for name, (low, high) in ends.items()}


def said(model: Any, data: Trajectories, test: Trajectories, signal: str | None = None) -> Numbers:
    """Every number of one fit."""
    env = model.env
    return {
        "log_likelihood": float(np.sum(model.log_likelihood(data))),
        "test": {of: model.score(test, of=of) for of in ("next_state",)},
        "objective": float(model.objective_trace_[-1]),
        "iterations": len(model.objective_trace_),
        "modes": table_of(np.concatenate(model.predict(data))),
        "rewards": table_of(model.rewards_),
        "policies": table_of(model.policies_),
        "switching": table_of(model.mode_transitions_),
        "initial_modes": [float(p) for p in model.initial_modes_],
        "bout_lengths": table_of(model.bout_lengths(data)),
        "states": env.n_states,
        "figures": figures(model, data, signal),
    }


def grid(n_sessions: int = 40) -> Numbers:
    """The gridworld, S-2, with intervals."""
    world = datasets.gridworld(n_sessions=n_sessions, n_steps=200)
    train, test = world.trajectories.split(every=5)
    model = SWIRL(world.env, n_restarts=3, max_iter=1000).fit(train)
    accuracy = swirl.metrics.segmentation_accuracy(train.modes, model.predict(train))
    return {"accuracy": accuracy} | said(model, train, test) | {"intervals": intervals(model, train)}


def missing() -> Numbers:
    """The gridworld, S-1, three actions in ten missing."""
    world = datasets.gridworld(n_sessions=24, n_steps=150, random_state=1)
    rng = np.random.default_rng(0)
    actions = [np.where(rng.random(len(own)) < 0.3, -1, own) for own in world.trajectories.actions]
    data = Trajectories(world.trajectories.states, actions, n_states=25, n_actions=5)
    train, test = data.split(every=4)
    return said(SWIRL(world.env, history=1, n_restarts=3, max_iter=1000).fit(train), train, test)


def animals() -> Numbers:
    """Free policies in the gridworld, eight animals in two groups, with a signal; intervals, and the groups."""
    world = datasets.gridworld(n_sessions=24, n_steps=150, random_state=2)
    own, rng = world.trajectories, np.random.default_rng(0)
    data = Trajectories(
        own.states, own.actions, n_states=25, n_actions=5, subjects=[f"m{i // 3}" for i in range(24)],
        groups=["ab"[i // 12] for i in range(24)],
        signals={"dff": [rng.normal(size=len(path)) + path for path in world.truth.modes]},
    )  # fmt: skip
    model = SWIRL(world.env, history=1, reward="state-action", n_restarts=3, max_iter=1000).fit(data)
    shares = swirl.groups.by_animal(data, model.predict(data), "share")
    found = {"share": table_of(shares.to_numpy()), "p": table_of(swirl.groups.compare_groups(shares).p_value)}
    return said(model, data, data, "dff") | {"intervals": intervals(model, data), "groups": found}


def maze() -> Numbers:
    """The labyrinth, S-2, three modes, 48 windows."""
    world = datasets.labyrinth()
    train, test = world.trajectories[:60].split(every=5)
    return said(SWIRL(world.env, n_modes=3, n_restarts=2, max_iter=200).fit(train), train, test)


def syllables() -> Numbers:
    """Syllables, S-1, three modes, 48 sessions, with dopamine."""
    world = datasets.spontaneous()
    train, test = world.trajectories[:60].split(every=5)
    how = {"history": 1, "reward": "state-action", "impossible": "forget", "n_restarts": 3, "max_iter": 500}
    return said(SWIRL(world.env, n_modes=3, **how).fit(train), train, test, "dopamine")


def goals() -> Numbers:
    """Goals, told and found, with a habit of one remembered move, in an arena of 5 × 5."""
    data = datasets.gridworld(n_sessions=30, n_steps=150, random_state=3)
    train, test = data.trajectories.split(every=5)
    told = swirl.make("Goals", data.env, n_modes=3, goals={"water": 23, "home": 0}, history=2, n_restarts=2).fit(train)
    found = swirl.selection.discover_goals(train, data.env, max_goals=3)
    gains = [own.gain for own in found.goals]
    return said(told, train, test) | {"found": [list(own.place) for own in found.goals], "gains": gains}


ROWS: dict[str, Callable[[], Numbers]] = {
    "gridworld": grid, "missing actions": missing, "animals": animals, "labyrinth": maze, "syllables": syllables,
    "goals": goals,
}  # fmt: skip
NEEDED = {"labyrinth": "emissions500new.npy", "syllables": "seqs.npy"}


def flat(found: Any, name: str = "") -> dict[str, Any]:
    """One entry for each number, named by the way to it."""
    if isinstance(found, dict):
        return {key: value for part, own in found.items() for key, value in flat(own, f"{name} · {part}").items()}
    return {name.removeprefix(" · "): found}


def same(old: Any, new: Any) -> bool:
    """Whether two entries are alike, numbers to a part in a million."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(same, old, new))
    if isinstance(old, int | float) and isinstance(new, int | float):
        return bool(np.isclose(new, old, rtol=CLOSE, atol=1e-9))
    return old == new


def moved(old: Numbers, new: Numbers) -> list[str]:
    """What differs, a line each: gone, new, or another number."""
    before, after = flat(old), flat(new)
    lines = [f"{name}: gone" for name in before if name not in after]
    lines += [f"{name}: new, {after[name]}" for name in after if name not in before]
    both = [name for name in before if name in after and not same(before[name], after[name])]
    return lines + [f"{name}: {before[name]} → {after[name]}" for name in both]


def main() -> None:
    """Make the panel, say what moved, and keep it where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=list(ROWS))
    wanted = parser.parse_args()
    if wanted.quick:
        print(json.dumps(grid(10), indent=1))
        return
    path = RESULTS / "reference.json"
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": {}}
    known = record["rows"]
    made: dict[str, Numbers] = {}
    for name, row in ROWS.items():
        if wanted.only and name not in wanted.only:
            continue
        began = time.perf_counter()
        try:
            made[name] = row()
        except FileNotFoundError as fault:
            print(f"{name}: left out; {fault}")
            continue
        lines = moved(known[name], made[name]) if name in known else ["not known before"]
        print(f"{name} ({time.perf_counter() - began:.0f} s): {f'{len(lines)} moved' if lines else 'as before'}")
        print("".join(f"  {line}\n" for line in lines), end="", flush=True)
    if wanted.write:
        rows = {name: made.get(name, known.get(name)) for name in ROWS if name in made or name in known}
        text = json.dumps({"command": COMMAND, "versions": versions(), "rows": rows}, indent=1)
        path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
