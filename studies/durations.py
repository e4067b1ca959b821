"""How long bouts last, and whether groups differ in that, where recordings cut bouts: modes given, truth known."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from draws import Draw, known, left, make, options, write
from scipy.stats import binomtest

from swirl.analysis.group_test import by_animal, compare_groups
from swirl.data.segments import bouts_of, find_segments
from swirl.data.trajectories import Trajectories

NAME, COMMAND = "durations", "python studies/durations.py --jobs 8"
CURVES = {"30 steps, sessions of 200": (30, 200), "100 steps, sessions of 200": (100, 200), "100, 500": (100, 500)}
CURVES["100 steps, sessions of 500"] = CURVES.pop("100, 500")
N_SESSIONS, N_SETS = 400, 20  # sessions in a data set; data sets in a draw
N_EXPERIMENTS = 50  # in a draw
# Of two groups of six animals: mean bouts, steps of a session, sessions of an animal, SD of animals' log rate.
LEVEL = {
    "30 steps; sessions of 240 against 60": ((30, 30), (240, 60), 4, 0.0),
    "the same, animals differ": ((30, 30), (240, 60), 4, 0.7),
    "the same, one session of each animal": ((30, 30), (240, 60), 1, 0.0),
    "100 steps; sessions of 240 against 60": ((100, 100), (240, 60), 4, 0.0),
    "5 steps; sessions of 400 against 100": ((5, 5), (400, 100), 4, 0.0),
    "60 steps; sessions of 200 each": ((60, 60), (200, 200), 4, 0.0),
}
POWER = {
    "60 against 120 steps, 4 sessions of 200": ((60, 120), (200, 200), 4, 0.0),
    "60 against 120 steps, 8 sessions of 200": ((60, 120), (200, 200), 8, 0.0),
}
PLANNED = dict.fromkeys((*LEVEL, *POWER), 8) | dict.fromkeys(CURVES, 1)
ESTIMATES = ("before", "now", "uncut")


def chain(rng: np.random.Generator, leave: float, n_steps: int) -> tuple[np.ndarray, int]:
    """Modes of a session, two, either left with one probability at every step; and where its last bout truly ends."""
    left_at = np.flatnonzero(rng.random(n_steps) < leave) + 1
    path = (rng.integers(2) + np.searchsorted(left_at, np.arange(n_steps), side="right")) % 2
    return path, n_steps - 1 + int(rng.geometric(leave))


def followed(path: np.ndarray, stop: int) -> np.ndarray:
    """The session with its last bout seen to its end, and the first step after it."""
    return np.append(path, [path[-1]] * (stop - len(path)) + [1 - path[-1]])


def curve_draw(world: str, seed: int) -> Draw:
    """Share of bouts as long as the true mean, and their median and mean, by whole bouts alone and by all."""
    mean, n_steps = CURVES[world]
    rng, rows = np.random.default_rng(seed), []
    for _ in range(N_SETS):
        paths = [chain(rng, 1 / mean, n_steps)[0] for _ in range(N_SESSIONS)]
        own = bouts_of(find_segments(paths), 2)[0]
        length, share = own.survival()
        rows.append([np.mean(own.length >= mean), np.median(own.length), np.mean(own.length)])
        rows[-1] += [share[np.searchsorted(length, mean)], own.median, own.mean]
    return {"world": world, "seed": seed, "values": np.mean(rows, axis=0).tolist()}


def experiment(rng: np.random.Generator, world: str) -> dict[str, float]:
    """P-value of the first mode in one experiment, by each estimate; NaN where animals have no number."""
    means, steps, n_sessions, spread = (LEVEL | POWER)[world]
    cut, whole, who = [], [], []
    for group, (mean, n_steps) in enumerate(zip(means, steps, strict=True)):
        for animal in range(6):
            leave = min(1.0, float(np.exp(spread * rng.normal())) / mean)
            for _ in range(n_sessions):
                path, stop = chain(rng, leave, n_steps)
                cut.append(path)
                whole.append(followed(path, stop))
                who.append((f"{group} {animal}", f"group {group}"))
    subjects, groups = zip(*who, strict=True)
    p_values = {}
    for estimate in ESTIMATES if world in POWER else ESTIMATES[:2]:
        paths = whole if estimate == "uncut" else cut
        data = Trajectories([np.zeros_like(path) for path in paths], subjects=subjects, groups=groups)
        table = by_animal(data, paths, "leaving", n_modes=2)[["mode 0"]]
        if estimate == "before":
            table["mode 0"] = whole_bouts(paths, table.index, list(zip(groups, subjects, strict=True)))
        try:
            p_values[estimate] = float(compare_groups(table).p_value[0])
        except ValueError:
            p_values[estimate] = float("nan")
    return p_values


def whole_bouts(paths: Sequence[np.ndarray], animals: Sequence[tuple], of: Sequence[tuple]) -> list[float]:
    """Mean length of the whole bouts of each animal: the estimate of earlier versions."""
    own = [[path for path, who in zip(paths, of, strict=True) if who == animal] for animal in animals]
    lengths = [bouts_of(find_segments(part), 2)[0].length for part in own]
    return [float(np.mean(one)) if len(one) else np.nan for one in lengths]


def one_draw(world: str, seed: int, n: int = N_EXPERIMENTS) -> Draw:
    """How many of `n` experiments find a difference, by each estimate."""
    if world in CURVES:
        return curve_draw(world, seed)
    rng = np.random.default_rng([list(PLANNED).index(world), seed])
    found = [experiment(rng, world) for _ in range(n)]
    hits = {estimate: int(sum(one[estimate] <= 0.05 for one in found)) for estimate in found[0]}
    return {"world": world, "seed": seed, "n": n, "found": hits}


def counts(found: Sequence[Draw], world: str) -> tuple[dict[str, int], int]:
    """In how many experiments of a world a difference was found, by each estimate; and how many there are."""
    own = [row for row in found if row["world"] == world]
    return {key: sum(row["found"].get(key, 0) for row in own) for key in ESTIMATES}, sum(row["n"] for row in own)


def _share(hits: int, n: int) -> str:
    ends = binomtest(hits, n).proportion_ci()
    return f"{100 * hits / n:.1f} % ({100 * ends.low:.1f} to {100 * ends.high:.1f})"


def page(found: list[Draw], versions: str) -> str:
    """What the draws say, as a page."""
    lines = [
        "# How long bouts last", "",
        "Recordings cut bouts, and long ones sooner. *Before*: from bouts that were seen from start to end alone. "
        "*Now*: curves and medians with the bouts that were cut (Kaplan and Meier), means from exits over steps at "
        f"risk. Modes are known here. `{COMMAND}`, {versions}.", "",
        "## The curve", "",
        f"Two modes that are left with the same probability at every step; {N_SESSIONS} sessions, mean of {N_SETS} "
        "data sets.", "",
        "| true mean | bouts that last as long as the true mean: truth | before | now | median: truth | before | now "
        "| mean: before | now |",
        "|:--|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]  # fmt: skip
    for world, (mean, _) in CURVES.items():
        for row in (row for row in found if row["world"] == world):
            was, median, average, now, median_now, average_now = row["values"]
            stay = 1 - 1 / mean
            truth = int(np.ceil(np.log(0.5) / np.log(stay)))
            lines.append(
                f"| {world} | {stay ** (mean - 1):.2f} | {was:.2f} | {now:.2f} | {truth} | {median:.0f} | "
                f"{median_now:.0f} | {average:.1f} | {average_now:.1f} |"
            )
    lines += [
        "", "## Groups that do not differ", "",
        'Two groups of six animals, `compare_groups(by_animal(data, modes, "leaving"))`: share of experiments with '
        "p ≤ 0.05 (95 % interval). It should be 5 %.", "",
        "| mean bout | experiments | before | now |", "|:--|--:|--:|--:|",
    ]  # fmt: skip
    for world in LEVEL:
        hits, n = counts(found, world)
        if n:
            lines.append(f"| {world} | {n} | {_share(hits['before'], n)} | {_share(hits['now'], n)} |")
    lines += [
        "", "## Groups that differ", "",
        "The same, of animals that stay twice as long. *Uncut*: the same test on the same sessions, the last bout of "
        "each followed to its end.", "",
        "| mean bout | experiments | before | now | uncut | now / uncut |", "|:--|--:|--:|--:|--:|--:|",
    ]  # fmt: skip
    for world in POWER:
        hits, n = counts(found, world)
        if n:
            told = " | ".join(_share(hits[key], n) for key in ESTIMATES)
            lines.append(f"| {world} | {n} | {told} | {hits['now'] / max(hits['uncut'], 1):.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Make the draws that are wanted and not there yet, and write the page after each."""
    wanted = options(str(__doc__), list(PLANNED))
    folder: Path = wanted.output
    planned = dict.fromkeys(PLANNED, 1) if wanted.quick else PLANNED
    found = known(folder, NAME)

    def keep(row: Draw) -> None:
        found.append(row)
        found.sort(key=lambda one: (list(PLANNED).index(one["world"]), one["seed"]))
        write(found, folder, NAME, COMMAND, page)

    settings = {"n": 5} if wanted.quick else {}
    cases = left(found, planned, wanted)
    make(one_draw, cases, seconds=lambda _: 10.0, jobs=wanted.jobs, limit=wanted.limit, keep=keep, **settings)


if __name__ == "__main__":
    main()
