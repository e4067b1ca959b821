"""Does `swirl power` predict what fresh simulations then give?

    python studies/power.py --jobs 16            # all predictions; says what they will cost, then starts
    python studies/power.py --only "grid" --draws 4   # a part; known predictions are not made again
    python studies/power.py --quick              # one small prediction; nothing is written

Each draw is one prediction as a user would make it: 20 simulated data sets of each of four sizes, each fitted anew.
What the same size then gives is known from the data sets of all the *other* predictions of the same world, which have
other seeds: 220 of them, where there are twelve predictions. Two questions:

- Does the 95 % interval of a predicted share hold the share of the fresh data sets?
- Does the size that is recommended give back what was asked for in 80 % of the fresh data sets?

In the last world the two modes want the same: nothing may be recommended there.

Writes studies/results/power.json (every prediction) and .md. Stopped and started again, it goes on where it was.
"""

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("JAX_PLATFORMS", "cpu")  # many small fits: each has a core of its own

import draws
from modes_claimed import slipping

from swirl import datasets
from swirl.analysis.power import Design, power_analysis, share_interval
from swirl.estimators.swirl import SWIRL

COMMAND = "python studies/power.py"
POWER = 0.8
N_SIMULATIONS, N_STEPS = 20, 60
COVERED = 0.93  # share of the intervals that must hold the fresh share, which is itself known to some ± 3 %


def grid() -> Any:
    """The gridworld's moves."""
    return datasets.gridworld_env()


MODES_AND_GOALS = ["modes", "goals"]  # switching would need many more sessions where modes are hard to tell
World = tuple[Callable[[], SWIRL], dict[str, Any], int, int]
# The truth, what is asked for which sizes, predictions, seconds of one core for each.
WORLDS: dict[str, World] = {
    "grid": (
        lambda: datasets.sketched(grid(), [4, 20], dwell=20, temperature=0.7),
        {"n_sessions": [4, 8, 16, 32]}, 12, 75,
    ),
    "stochastic grid": (
        lambda: datasets.sketched(slipping(grid(), 0.2), [4, 20], dwell=25, temperature=0.7),
        {"n_sessions": [4, 8, 16, 32]}, 12, 90,
    ),
    "grid, modes that overlap": (
        lambda: datasets.sketched(grid(), [4, 8], dwell=20, temperature=0.8),
        {"n_sessions": [8, 16, 32, 64], "questions": MODES_AND_GOALS}, 12, 105,
    ),
    "grid, animals that differ": (
        lambda: datasets.sketched(grid(), [4, 20], dwell=20, temperature=0.7),
        {"n_animals": [1, 4], "n_sessions": [3, 12], "between_animals": 0.2, "questions": MODES_AND_GOALS}, 12, 65,
    ),
    "grid, modes that want the same": (
        lambda: datasets.sketched(grid(), [4, 4], dwell=20, temperature=0.7, ends="anywhere"),
        {"n_sessions": [4, 8, 16, 32]}, 8, 95,
    ),
}  # fmt: skip


def one_draw(world: str, seed: int, **changes: Any) -> dict[str, Any]:
    """Make one prediction."""
    began = time.perf_counter()
    truth, sizes = WORLDS[world][0](), dict(WORLDS[world][1])
    fit = {"n_restarts": 4, **{name: changes.pop(name) for name in ("n_restarts", "max_iter") if name in changes}}
    asked = {"n_simulations": N_SIMULATIONS, "n_steps": N_STEPS, **sizes, **changes}
    model = SWIRL(truth.env, n_modes=2, history=1, temperature=truth.temperature, **fit)
    found = power_analysis(truth, model=model, power=POWER, random_state=1 + seed, **asked)
    best = found.smallest()
    return {
        "world": world,
        "seed": seed,
        "n": found.n_simulations,
        "designs": [list(vars(design).values()) for design in found.designs],
        "counts": {name or "all": found.counts(name).tolist() for name in (None, *found.questions)},
        "answer": None if best is None else list(vars(best).values()),
        "right": found.measures["right"].mean(axis=1).round(4).tolist(),
        "ceiling": found.measures["ceiling"].mean(axis=1).round(4).tolist(),
        "converged": float(found.measures["converged"].mean()),
        "seconds": time.perf_counter() - began,
    }


def fresh(row: dict[str, Any], found: list[dict[str, Any]], question: str = "all") -> np.ndarray:
    """Shares of each size in the data sets of all other predictions of the same world; NaN where there are none."""
    others = [other for other in found if other["world"] == row["world"] and other["seed"] != row["seed"]]
    sets = sum(other["n"] for other in others)
    counts = (
        np.sum([other["counts"][question] for other in others], axis=0) if others else np.zeros(len(row["designs"]))
    )
    return counts / sets if sets else np.full(len(row["designs"]), np.nan)


def covered(row: dict[str, Any], found: list[dict[str, Any]]) -> list[bool]:
    """Whether each interval of a prediction holds the share in fresh data sets: all sizes, all questions."""
    held = []
    for question, counts in row["counts"].items():
        for n, share in zip(counts, fresh(row, found, question), strict=True):
            low, high = share_interval(int(n), row["n"])
            held.append(bool(low <= share <= high))
    return held


def recommended(row: dict[str, Any], found: list[dict[str, Any]]) -> float | None:
    """Share of fresh data sets of the recommended size that give all of it back; None where none is recommended."""
    return None if row["answer"] is None else float(fresh(row, found)[row["designs"].index(row["answer"])])


def pooled(own: list[dict[str, Any]]) -> tuple[np.ndarray, Design | None]:
    """Shares of each size in all data sets of a world, and the smallest size that suffices by them."""
    shares = np.sum([row["counts"]["all"] for row in own], axis=0) / sum(row["n"] for row in own)
    designs = [Design(*design) for design in own[0]["designs"]]
    fine = [
        design
        for design in designs
        if all(share >= POWER for other, share in zip(designs, shares, strict=True) if design.within(other))
    ]
    return shares, min(fine, key=lambda design: (design.total, design), default=None)


def words(design: list[int] | None) -> str:
    """A size in few words."""
    if design is None:
        return "none"
    n_animals, n_sessions, _ = design
    return f"{n_sessions}" if n_animals == 1 else f"{n_animals} × {n_sessions}"


def table(found: list[dict[str, Any]]) -> str:
    """What was predicted in each world, and what came."""
    lines = [
        "| world | predictions | share of all data sets, by sessions | intervals that hold | recommended (times) | "
        "suffices by all | fresh share at the recommended: mean, least |",
        "|:--|--:|:--|--:|:--|:--|:--|",
    ]
    for world in WORLDS:
        own = [row for row in found if row["world"] == world]
        if not own:
            continue
        shares, best = pooled(own)
        by = ", ".join(f"{words(d)}: {share:.2f}" for d, share in zip(own[0]["designs"], shares, strict=True))
        held = [x for row in own for x in covered(row, found)]
        answers = Counter(words(row["answer"]) for row in own)
        given = ", ".join(f"{answer} ({times})" for answer, times in answers.most_common())
        came = [share for row in own if (share := recommended(row, found)) is not None]
        fresh_share = f"{np.mean(came):.2f}, {min(came):.2f}" if came else "–"
        right = "none" if best is None else words(list(vars(best).values()))
        lines.append(
            f"| {world} | {len(own)} | {by} | {sum(held)} of {len(held)} | {given} | {right} | {fresh_share} |"
        )
    return "\n".join(lines)


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The numbers that the page and the documentation rest on."""
    held = [x for row in found for x in covered(row, found)]
    came = [share for row in found if (share := recommended(row, found)) is not None]
    null = [row for row in found if "want the same" in row["world"]]
    return {
        "held": sum(held),
        "intervals": len(held),
        "recommended": len(came),
        "reach": sum(share >= POWER for share in came),
        "near": sum(share >= POWER - 0.1 for share in came),
        "least": min(came, default=float("nan")),
        "null": len(null),
        "promised": sum(row["answer"] is not None for row in null),
    }


def page(found: list[dict[str, Any]], made: str) -> str:
    """The results in words."""
    left = [world for world, own in WORLDS.items() if sum(row["world"] == world for row in found) < own[2]]
    parts = ["# Does `swirl power` predict what fresh simulations then give?", f"`{COMMAND}` ({made})"]
    if left:
        parts.append(f"Not all predictions have been made yet: {'; '.join(left)}.")
    told = summary(found)
    sizes = (
        f" Of {told['recommended']} sizes that were recommended, {told['reach']} give back what was asked for in "
        f"{100 * POWER:.0f} % of fresh data sets or more, and {told['near']} in {100 * POWER - 10:.0f} % or more; the "
        f"least is {100 * told['least']:.0f} %."
    )
    parts.append(
        f"**{told['held']} of {told['intervals']} intervals (95 %) hold the share that fresh data sets give."
        f"{sizes if told['recommended'] else ''} Where both modes want the same, {told['promised']} of {told['null']} "
        "predictions recommend anything.**"
    )
    parts.append(
        f"A prediction is {N_SIMULATIONS} simulated data sets of each of four sizes, sessions of {N_STEPS} steps, S-1 "
        "with its default prior, four restarts. Fresh data sets are those of all other predictions of the same world, "
        "which have other seeds. A recommended size is the smallest whose share is at least 80 % there and in all "
        f"larger sizes: with {N_SIMULATIONS} data sets a share is known to some ± 20 %, so that a size may be "
        "recommended whose true share is somewhat less. Asked for were modes, goals and switching; modes and goals "
        "where modes overlap and where animals differ. Sessions in the table are of each animal; 4 × 3 are four "
        "animals with three."
    )
    parts.append(table(found))
    return "\n\n".join(parts) + "\n"


def write(found: list[dict[str, Any]], folder: Path) -> None:
    """Write what is known so far."""
    found = sorted(found, key=lambda row: (list(WORLDS).index(row["world"]), row["seed"]))
    draws.write(found, folder, "power", COMMAND, page)


def main() -> None:
    """Make the predictions that are not known yet."""
    options = draws.options(__doc__.splitlines()[0], list(WORLDS))
    if options.quick:
        small = {"n_simulations": 2, "n_restarts": 1, "max_iter": 60}
        rows = [one_draw(world, seed, **small) for world in options.only or list(WORLDS)[:1] for seed in range(2)]
        print(table(rows))
        return
    found = draws.known(options.output, "power")

    def keep(row: dict[str, Any]) -> None:
        found.append(row)
        write(found, options.output)

    cost = lambda case: WORLDS[case[0]][3]  # noqa: E731
    left = sorted(draws.left(found, {world: own[2] for world, own in WORLDS.items()}, options), key=cost, reverse=True)
    draws.make(one_draw, left, seconds=cost, jobs=options.jobs, limit=options.limit, keep=keep)
    print(table(found))


if __name__ == "__main__":
    main()
