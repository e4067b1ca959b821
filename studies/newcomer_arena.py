"""Does the README's recipe find what is there? An arena with two goals, and the README's own commands.

    python studies/newcomer_arena.py           # three draws; says what it will cost, then starts
    python studies/newcomer_arena.py --quick   # a small draw, fit and signal only; 90 seconds; nothing is written

Ten mice in two groups live in an arena of 6 × 6 cells, with food in A6 and a nest in F1. Each was recorded in five
sessions of 300 steps: which cell it was in, and a dF/F signal that rises where it sets out for food. No action was
noted. The mice are simulated: two modes, one for each goal, and a mouse
changes its mind more readily where it has arrived. It stays there for about twenty steps; which mode that time belongs
to is the hard part. Some thirty settings of such an arena were tried before, on other draws: in most of them the old
recipe was as good as the true model's own decoding, or a few points below it; in some it missed both goals.

What a laboratory would have is written to a folder: a table `visits.csv` and the environment. Then every command of
the README's section "Your own recordings" is run as it stands there. Asked for are both goals, two modes, 88 % of
the steps in the right mode, and a dF/F peak at the onsets of "food" within 15 % of the peak at the true onsets.

Beside it stand the true model's own decoding, and the recipe that the README had before (rewards of state and action).

Writes studies/results/newcomer_arena.json and .md. Stopped and started again, it goes on where it was.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from swirl.analysis.comparison_json import read_comparison
from swirl.analysis.triggered_average import mode_triggered_average
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.save_load import versions
from swirl.estimators.swirl import SWIRL
from swirl.io.environment_files import write_environment

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parent.parent / "README.md"
COMMAND = "python studies/newcomer_arena.py"
SEEDS = (3, 4, 5)  # 0 to 2 were looked at while the arena was made
MINUTES = 15  # of one core, for one draw: for the notice
MIN_SHARE, MAX_OFF = 0.88, 0.15  # steps in the right mode; dF/F peak, as a share of the true one
ROWS, COLUMNS = "ABCDEF", range(1, 7)
CELLS = [f"{row}{column}" for row in ROWS for column in COLUMNS]
GOALS = {"food": "A6", "nest": "F1"}  # one mode for each, in this order
MOVES = {"stay": (0, 0), "up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
RISE = 5.0  # steps from an onset to the peak of the signal
BEFORE, AFTER = 10, 20  # steps around an onset, as in the figure signal_around_starts
OLD = "swirl fit sessions.csv --env arena.csv --modes 2 --history 1 --reward state-action -o old.nc"


def arena() -> MDP:
    """The cells, row A on top, and the moves from each."""
    edges = []
    for cell in CELLS:
        row, column = ROWS.index(cell[0]), int(cell[1])
        for action, (down, right) in enumerate(MOVES.values()):
            if 0 <= row + down < len(ROWS) and column + right in COLUMNS:
                there = CELLS.index(f"{ROWS[row + down]}{column + right}")
                edges.append((CELLS.index(cell), action, there))
    places = [(float(cell[1]), -float(ROWS.index(cell[0]))) for cell in CELLS]
    return MDP.from_edges(edges, state_names=CELLS, action_names=tuple(MOVES), coordinates=np.array(places))


def true_model(group: str) -> SWIRL:
    """Rewards at the goals; a switch is likelier where the goal is reached, in the nest less so under the drug."""
    goals = [CELLS.index(cell) for cell in GOALS.values()]
    rewards = np.zeros((2, len(CELLS)))
    rewards[[0, 1], goals] = 1.9
    switching = np.tile([[0.99, 0.01], [0.01, 0.99]], (len(CELLS), 1, 1))
    leave = 0.06 if group == "control" else 0.045
    switching[goals[0], 0], switching[goals[1], 1] = [0.94, 0.06], [leave, 1 - leave]
    return SWIRL.from_parameters(
        arena(), history=1, rewards=rewards, mode_transitions=switching, initial_modes=[0.5, 0.5]
    )


def signal(modes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """dF/F: from each onset of the mode "food" it rises for five steps to 2, then decays; noise is added."""
    onsets = np.flatnonzero((modes[1:] == 0) & (modes[:-1] != 0)) + 1
    since = np.arange(len(modes)) - onsets[:, None]
    course = np.where(since >= 0, 2.0 * (since / RISE) * np.exp(1 - since / RISE), 0.0).sum(axis=0)
    return course + rng.normal(scale=0.5, size=len(modes))


def simulate(seed: int, n_mice: int = 10, n_sessions: int = 5, n_steps: int = 300) -> pd.DataFrame:
    """The table that a laboratory would have, and in the columns `mode` and `decoded` what it does not know.

    `decoded` is what the true model makes of the cells: nobody could do better.
    """
    rng, parts = np.random.default_rng(seed), []
    for mouse in range(n_mice):
        group = "drug" if mouse % 2 else "control"
        model = true_model(group)
        drawn = model.sample(n_sessions, n_steps, random_state=int(rng.integers(2**31)))
        bare = Trajectories(drawn.states, n_states=len(CELLS), n_actions=len(MOVES))
        decoded = model.predict(bare)
        for day, (states, modes) in enumerate(zip(drawn.states, drawn.modes or [], strict=True)):
            columns = {"session": f"m{mouse + 1} day{day + 1}", "animal": f"m{mouse + 1}", "group": group}
            numbers = {"t": np.arange(n_steps), "cell": [CELLS[s] for s in states], "dff": signal(modes, rng).round(3)}
            parts.append(pd.DataFrame({**columns, **numbers, "mode": modes, "decoded": decoded[day]}))
    return pd.concat(parts, ignore_index=True)


def write_recordings(table: pd.DataFrame, folder: Path) -> None:
    """Lay the files down as a laboratory has them; `new_sessions.csv` are some of the sessions once more."""
    seen = table.drop(columns=["mode", "decoded"])
    seen.to_csv(folder / "visits.csv", index=False)
    names = {"cell": "state", "animal": "subject"}
    seen[seen["animal"] == "m1"].rename(columns=names).to_csv(folder / "new_sessions.csv", index=False)
    write_environment(arena(), folder / "arena.csv")


def readme_commands() -> list[list[str]]:
    """The commands of the README's section for users' own recordings, in order, as lists of words."""
    section = README.read_text(encoding="utf-8").split("## Your own recordings")[1].split("\n## ")[0]
    block = section.split("```sh\n")[1].split("```")[0]
    return [shlex.split(line, comments=True) for line in block.splitlines() if line.startswith("swirl ")]


def run(words: list[str], folder: Path) -> tuple[str, float]:
    """Run a command of ours in a folder; what it said, and the seconds it took."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "swirl", *words[1:]], cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise RuntimeError(f"{shlex.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout, time.perf_counter() - began


def matched(true: np.ndarray, found: np.ndarray) -> np.ndarray:
    """For each mode that was found, the true one that it shares most steps with (one to one)."""
    shared = np.zeros((max(2, found.max() + 1),) * 2)
    np.add.at(shared, (found, true), 1)
    return linear_sum_assignment(-shared)[1]


def peak(table: pd.DataFrame, modes: np.ndarray, mode: int) -> float:
    """Highest mean of the signal around the onsets of a mode, each mouse counting once, as `swirl plot` draws it."""
    cuts = np.flatnonzero(table["session"].to_numpy()[1:] != table["session"].to_numpy()[:-1]) + 1
    first = np.append(0, cuts)
    data = Trajectories(
        np.split(table["cell"].map(CELLS.index).to_numpy(), cuts),
        subjects=table["animal"].to_numpy()[first].tolist(),
        signals={"dff": np.split(table["dff"].to_numpy(), cuts)},
    )
    average = mode_triggered_average(
        data, np.split(modes, cuts), "dff", before=BEFORE, after=AFTER, mode=mode, n_modes=2, n_shifts=0
    )
    return float(np.nanmax(average.mean))


def judged(table: pd.DataFrame, found: pd.DataFrame, rewards: pd.DataFrame, names: list[str]) -> dict[str, Any]:
    """Set the exported modes beside the true ones."""
    steps = table.merge(found[["session", "t", "mode"]], on=["session", "t"], suffixes=("", "_found"))
    if len(steps) < len(table):
        raise RuntimeError(f"{len(table) - len(steps)} steps are not in the exported table")
    true = steps["mode"].to_numpy()
    modes = steps["mode_found"].map(lambda mode: names.index(mode) if mode in names else int(mode)).to_numpy()
    order = matched(true, modes)
    food, nest = (int(np.flatnonzero(order == goal)[0]) for goal in range(2))
    best = rewards.loc[rewards.groupby("mode")["reward"].idxmax()].set_index("mode")["state"]
    return {
        "right": float((order[modes] == true).mean()),
        "goals": [str(best[food]), str(best[nest])],
        "peak": peak(steps, modes, food),
        "food": food,
    }


def exported(folder: Path, fit: str, what: str) -> pd.DataFrame:
    """A table of `swirl export`."""
    run(["swirl", "export", fit, "--what", what, "--force", "-o", f"{what}.csv"], folder)
    return pd.read_csv(folder / f"{what}.csv")


def one_draw(seed: int, folder: Path) -> dict[str, Any]:
    """Lay down the recordings of a draw, run the README's commands on them, and judge what came of it."""
    table = simulate(seed)
    write_recordings(table, folder)
    commands, said, seconds = readme_commands(), {}, {}
    for words in commands:
        said[words[1]], seconds[words[1]] = run(words, folder)
    names = next(words for words in commands if words[1] == "name")[3:]
    result = read_comparison(folder / "comparison.json")
    picked = result.picked()
    ours = judged(table, pd.read_csv(folder / "modes.csv"), exported(folder, "fit.nc", "rewards"), names)
    drawn = pd.read_csv(folder / "figures" / "signal_around_starts.csv")
    run(shlex.split(OLD), folder)
    old = judged(table, exported(folder, "old.nc", "steps"), exported(folder, "old.nc", "rewards"), names)
    return {
        "seed": seed,
        "verdict": result.verdict(),
        "model": picked,
        "modes": result.n_modes(picked),
        "next": next(line for line in said["compare"].splitlines() if line.startswith("Next: ")),
        "fit": next(line for line in said["fit"].splitlines() if line.startswith("fit ")),
        "cards": cards((folder / "report.html").read_text(encoding="utf-8")),
        "readme": {**ours, "peak drawn": float(drawn.loc[drawn["mode"] == names[ours["food"]], "mean"].max())},
        "old": old,
        "truth": truth(table),
        "seconds": seconds,
    }


def truth(table: pd.DataFrame) -> dict[str, Any]:
    """What the true model decodes, and the signal's peak at the true onsets."""
    true, decoded = table["mode"].to_numpy(), table["decoded"].to_numpy()
    return {
        "right": float((true == decoded).mean()),
        "goals": list(GOALS.values()),
        "peak": peak(table, true, 0),
        "peak decoded": peak(table, decoded, 0),
    }


def cards(page: str) -> list[str]:
    """The first place that the report's card of each mode names."""
    plain = page.replace("\N{NO-BREAK SPACE}", " ").replace("&nbsp;", " ")
    return re.findall(r"Where it goes more: [\d.,]+ × to ([A-F][1-6])", plain)


def quick_draw(seed: int, folder: Path) -> dict[str, Any]:
    """The README's import and fit (with three restarts) on a small draw, and what came of them."""
    table = simulate(seed, n_mice=4, n_sessions=3, n_steps=300)
    write_recordings(table, folder)
    wanted = {words[1]: words for words in readme_commands()}
    run(wanted["import"], folder)
    run([*wanted["fit"], "--restarts", "3"], folder)
    found = judged(table, exported(folder, "fit.nc", "steps"), exported(folder, "fit.nc", "rewards"), [])
    return {"seed": seed, "readme": found, "truth": truth(table)}


def faults(draw: dict[str, Any]) -> list[str]:
    """What the README's recipe misses in a draw."""
    found, true = draw["readme"], draw["truth"]
    told = []
    if found["goals"] != true["goals"]:
        told.append(f"goals {', '.join(found['goals'])}")
    if found["right"] < MIN_SHARE:
        told.append(f"{found['right']:.1%} of the steps")
    if abs(found["peak"] / true["peak"] - 1) > MAX_OFF:
        told.append(f"peak {found['peak']:.2f} for {true['peak']:.2f}")
    if draw.get("modes", len(GOALS)) != len(GOALS):
        told.append(f"{draw['modes']} modes")
    return told


def table_of(draws: list[dict[str, Any]]) -> str:
    """One row per draw and way."""
    lines = ["| draw | way | modes chosen | best cell of each mode | steps in the right mode | dF/F peak |"]
    lines.append("|--:|:--|:--|:--|--:|--:|")
    for draw in draws:
        chosen = f"{draw['modes']} ({draw['model']})" if "modes" in draw else ""
        for way, shown in (("readme", "README"), ("old", "state and action (before)"), ("truth", "true model")):
            if way in draw:
                own = draw[way]
                line = f"| {draw['seed']} | {shown} | {chosen if way == 'readme' else ''} | {', '.join(own['goals'])} "
                lines.append(f"{line}| {own['right']:.1%} | {own['peak']:.2f} |")
    return "\n".join(lines)


def page(record: dict[str, Any]) -> str:
    """The results in words."""
    draws = record["draws"]
    made = ", ".join(f"{k} {v}" for k, v in record["versions"].items())
    good = sum(not faults(draw) for draw in draws)
    missed = [f"- Draw {draw['seed']}: {'; '.join(faults(draw))}." for draw in draws if faults(draw)]
    said = [f"- Draw {draw['seed']}: {draw['verdict']} `{draw['next']}`" for draw in draws]
    total = [sum(draw["seconds"].values()) / 60 for draw in draws]
    verdict = f"In {good} of {len(draws)} draws the README's commands find all that was asked for."
    time_taken = f"All commands of a draw took {min(total):.0f} to {max(total):.0f} minutes on a busy machine."
    head = f"# Does the README's recipe find what is there?\n\n`{record['command']}` ({made})"
    parts = [head, READING, " ".join([verdict, time_taken]), *(["\n".join(missed)] if missed else [])]
    parts += [table_of(draws), "What `swirl compare` said, and the command that it named:", "\n".join(said)]
    return "\n\n".join(parts) + "\n"


READING = f"""\
An arena of 6 × 6 cells, food in A6, a nest in F1; ten mice in two groups, five sessions of 300 steps each; cells and a
dF/F signal, no actions. The signal rises at the onsets of the mode "food". Every command of the README's section "Your
own recordings" was run as it stands there. Asked for: both goals, two modes, {MIN_SHARE:.0%} of the steps, and a dF/F
peak within {MAX_OFF:.0%} of the one at the true onsets. "True model" decodes with the true rewards and switching; its
peak is the one at the true onsets."""


def write(draws: list[dict[str, Any]], folder: Path) -> None:
    """Write what is known so far."""
    record = {"command": COMMAND, "versions": versions(), "draws": sorted(draws, key=lambda draw: draw["seed"])}
    (folder / "newcomer_arena.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (folder / "newcomer_arena.md").write_text(page(record), encoding="utf-8")


def main() -> None:
    """Run the study and write its results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            draw = quick_draw(0, Path(folder))
        print(table_of([draw]), *faults(draw), sep="\n")
        return
    path = options.output / "newcomer_arena.json"
    draws = json.loads(path.read_text(encoding="utf-8"))["draws"] if path.exists() else []
    left = [seed for seed in SEEDS if seed not in {draw["seed"] for draw in draws}]
    print(f"{len(left)} draws to make, {len(draws)} known; about {len(left) * MINUTES} minutes on one core")
    for seed in left:
        with tempfile.TemporaryDirectory() as folder:
            draws.append(one_draw(seed, Path(folder)))
        write(draws, options.output)
        print(table_of(draws[-1:]), *faults(draws[-1]), sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
