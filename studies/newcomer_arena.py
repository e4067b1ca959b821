"""Does the README's recipe find what is there? An arena with two goals, and the README's own commands.

    python studies/newcomer_arena.py           # three draws; says what it will cost, then starts
    python studies/newcomer_arena.py --quick   # a small draw: import, arena and fit only; a minute; nothing is written

Ten mice in two groups live in an arena of 6 × 6 cells, with food in A6 and a nest in F1. Each was recorded in five
sessions of ten minutes, numbered from 1 for each mouse: each second the cell it was in, and a dF/F signal that rises
where it sets out for food. The mice are simulated: two modes, one for each goal, and a mouse changes its mind mostly
where it has arrived. There it rests for 5 to 10 s; in any other cell it spends 1 s. The drug makes it want the nest for
longer. No two mice are alike.

What a laboratory would have is written to a folder: a table `visits.csv`, a row per second. Then every command of the
README's section "Your own recordings" is run as it stands there, and the fit that `swirl compare` names too, where that
is another one. Asked for are both goals, two modes, 88 % of the steps
and of the time in the right mode, a dF/F peak at the onsets of "food" within 15 % of the reference, and the sign of the
drug's effect on the share of time in the mode "nest", where the true modes themselves show one.

The reference for the peak is the one at the *true* onsets on the *same merged steps*, each mouse counting once, as
`swirl plot` draws it. A step is a visit to a cell, and its dF/F is the mean over the visit. The peak in seconds, before
any rows are merged, is told beside it.

Beside it stand the true model's own decoding, the recipe that the README had before (rewards of state and action), and
the README's recipe without `--merge`: a row per second, and an arena with the action "stay".

The arena was made on draws 0 to 2: five settings of reward and switching were looked at with the true model alone, and
with the one that was kept everything asked for was found in all three. In draw 0 `swirl compare` named S-2 instead of
S-1, by 0.0001 nats per step on the folds; its fit was as good.

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
from swirl.analysis.group_test import compare_groups
from swirl.analysis.triggered_average import mode_triggered_average
from swirl.data import arenas
from swirl.data.trajectories import Trajectories
from swirl.estimators.save_load import versions
from swirl.estimators.swirl import SWIRL

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parent.parent / "README.md"
COMMAND = "python studies/newcomer_arena.py"
SEEDS = (3, 4, 5)  # 0 to 2 were looked at while the arena was made
MINUTES = 15  # of one core, for one draw: for the notice
MIN_SHARE, MAX_OFF = 0.88, 0.15  # steps, and time, in the right mode; dF/F peak, as a share of the true one
ARENA = arenas.grid(6, 6)
CELLS = list(ARENA.state_names or ())
GOALS = {"food": "A6", "nest": "F1"}  # one mode for each, in this order
GROUPS = ("saline", "drug")
WANTED = 2.5  # reward of a goal
LEAVE_FOOD, LEAVE_NEST = 0.25, {"saline": 0.3, "drug": 0.1}  # how likely a mouse changes its mind at a visit there
NEXT = "Next: "  # what `swirl compare` says before the command to go on with
RISE = 5.0  # seconds from an onset to the peak of the signal
BEFORE, AFTER = 10, 20  # steps around an onset, as in the figure signal_around_starts
OLD = "swirl fit sessions.csv --env arena.csv --modes 2 --history 1 --reward state-action -o old.nc"
TICKS = {"sessions.csv": "ticks.csv", "arena.csv": "ticks_arena.csv", "fit.nc": "ticks.nc"}  # files without --merge


def true_model(group: str, own: float) -> SWIRL:
    """Rewards at the goals; a switch is likelier at the goal, in the nest less so under the drug; `own`: this mouse."""
    goals = [CELLS.index(cell) for cell in GOALS.values()]
    rewards = np.zeros((2, len(CELLS)))
    rewards[[0, 1], goals] = WANTED
    switching = np.tile([[0.99, 0.01], [0.01, 0.99]], (len(CELLS), 1, 1))
    leave = LEAVE_NEST[group] * own
    switching[goals[0], 0] = [1 - LEAVE_FOOD, LEAVE_FOOD]
    switching[goals[1], 1] = [leave, 1 - leave]
    return SWIRL.from_parameters(
        ARENA, history=1, rewards=rewards, mode_transitions=switching, initial_modes=[0.5, 0.5]
    )


def signal(modes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """dF/F: from each onset of the mode "food" it rises for five seconds to 2, then decays; noise is added."""
    onsets = np.flatnonzero((modes[1:] == 0) & (modes[:-1] != 0)) + 1
    since = np.arange(len(modes)) - onsets[:, None]
    course = np.where(since >= 0, 2.0 * (since / RISE) * np.exp(1 - since / RISE), 0.0).sum(axis=0)
    return course + rng.normal(scale=0.5, size=len(modes))


def simulate(seed: int, n_mice: int = 10, n_sessions: int = 5, n_seconds: int = 600) -> pd.DataFrame:
    """A row per second: the table that a laboratory would have, and in `mode`, `decoded`, `visit` what it has not.

    `decoded` is what the true model makes of the visits: nobody could do better.
    """
    rng, parts = np.random.default_rng(seed), []
    for mouse in range(n_mice):
        group = GROUPS[mouse % 2]
        model = true_model(group, rng.uniform(0.8, 1.25))
        drawn = model.sample(n_sessions, n_seconds, random_state=int(rng.integers(2**31)))
        for day, (cells, modes) in enumerate(zip(drawn.states, drawn.modes or [], strict=True)):
            rests = np.isin(cells, [CELLS.index(cell) for cell in GOALS.values()])
            seconds = np.where(rests, rng.integers(5, 11, size=len(cells)), 1)
            visit = np.repeat(np.arange(len(cells)), seconds)[:n_seconds]
            [decoded] = model.predict(Trajectories([cells[: visit[-1] + 1]], n_states=len(CELLS), n_actions=4))
            columns = {"mouse": f"m{mouse + 1}", "group": group, "day": day + 1, "time_s": np.arange(n_seconds)}
            seen = {"cell": np.array(CELLS)[cells[visit]], "dff": signal(modes[visit], rng).round(3)}
            hidden = {"mode": modes[visit], "decoded": decoded[visit], "visit": visit}
            parts.append(pd.DataFrame({**columns, **seen, **hidden}))
    return pd.concat(parts, ignore_index=True)


def merged(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each visit, in the order of the table: its arrival, the mean of its signal, and how long it lasted."""
    visits = table.groupby(["mouse", "day", "visit"], sort=False)
    return visits.first().assign(dff=visits["dff"].mean(), dwell=visits.size()).reset_index()


def write_recordings(table: pd.DataFrame, folder: Path) -> None:
    """Lay the table down as a laboratory has it; `new_visits.csv` are some of the sessions once more."""
    seen = table.drop(columns=["mode", "decoded", "visit"])
    seen.to_csv(folder / "visits.csv", index=False)
    seen[seen["mouse"] == "m1"].to_csv(folder / "new_visits.csv", index=False)


def readme_commands() -> list[list[str]]:
    """The commands of the README's section for users' own recordings, in order, as lists of words."""
    section = README.read_text(encoding="utf-8").split("## Your own recordings")[1].split("\n## ")[0]
    block = section.split("```sh\n")[1].split("```")[0].replace("\\\n", " ")
    return [shlex.split(line, comments=True) for line in block.splitlines() if line.startswith("swirl ")]


def other_files(words: list[str], names: dict[str, str]) -> list[str]:
    """A command about files of other names."""
    return [names.get(word, word) for word in words]


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
    """For each mode that was found, the true one that it shares most rows with (one to one)."""
    shared = np.zeros((max(2, found.max() + 1),) * 2)
    np.add.at(shared, (found, true), 1)
    return linear_sum_assignment(-shared)[1]


def peak(rows: pd.DataFrame, modes: np.ndarray, mode: int) -> float:
    """Highest mean of the signal around the onsets of a mode, each mouse counting once, as `swirl plot` draws it."""
    first = np.flatnonzero(rows[["mouse", "day"]].ne(rows[["mouse", "day"]].shift()).any(axis=1))
    data = Trajectories(
        np.split(rows["cell"].map(CELLS.index).to_numpy(), first[1:]),
        subjects=rows["mouse"].to_numpy()[first].tolist(),
        signals={"dff": np.split(rows["dff"].to_numpy(), first[1:])},
    )
    average = mode_triggered_average(
        data, np.split(modes, first[1:]), "dff", before=BEFORE, after=AFTER, mode=mode, n_modes=2, n_shifts=0
    )
    return float(np.nanmax(average.mean))


def drug_effect(table: pd.DataFrame, in_nest: np.ndarray) -> dict[str, float]:
    """Share of time in the mode "nest", drug minus saline, with its 95 % interval; the unit is the mouse."""
    of_mouse = table.assign(nest=in_nest).groupby(["group", "mouse"])["nest"].mean()  # each row is a second
    found = compare_groups(of_mouse.rename_axis(["group", "subject"]), GROUPS)
    return {"difference": float(found.difference[0]), "low": float(found.low[0]), "high": float(found.high[0])}


def judged(table: pd.DataFrame, rows: pd.DataFrame, modes: np.ndarray) -> dict[str, Any]:
    """Set the mode of each row beside the true ones; rows are the merged steps, or the table's own seconds."""
    order = matched(rows["mode"].to_numpy(), modes)
    food, nest = (int(np.flatnonzero(order == goal)[0]) for goal in range(2))
    keys = ["mouse", "day", "visit" if len(rows) < len(table) else "time_s"]
    seconds = table.merge(rows[keys].assign(found=modes), on=keys, how="left")["found"].to_numpy()
    right = pd.Series(order[seconds] == table["mode"].to_numpy())
    return {
        "right": float(right.groupby([table["mouse"], table["day"], table["visit"]]).mean().mean()),  # of each visit
        "right time": float(right.mean()),
        "peak": peak(rows, modes, food),
        "effect": drug_effect(table, seconds == nest),
        "food": food,
        "nest": nest,
    }


def fitted(
    table: pd.DataFrame, rows: pd.DataFrame, found: pd.DataFrame, rewards: pd.DataFrame, names: list[str]
) -> dict[str, Any]:
    """Set exported modes beside the true ones, and the best cell of each beside the goals."""
    steps = rows.assign(session=rows["mouse"] + " " + rows["day"].astype(str), t=rows["time_s"])
    steps = steps[["session", "t"]].merge(found[["session", "t", "mode"]], on=["session", "t"])
    if not len(steps) == len(rows) == len(found):
        raise RuntimeError(
            f"{len(found)} steps were exported, {len(steps)} of them are among the {len(rows)} true ones"
        )
    modes = steps["mode"].map(lambda mode: names.index(mode) if mode in names else int(mode)).to_numpy()
    told = judged(table, rows, modes)
    best = rewards.loc[rewards.groupby("mode")["reward"].idxmax()].set_index("mode")["state"]
    return {**told, "goals": [str(best[told["food"]]), str(best[told["nest"]])]}


def exported(folder: Path, fit: str, what: str) -> pd.DataFrame:
    """A table of `swirl export`."""
    run(["swirl", "export", fit, "--what", what, "--force", "-o", f"{what}.csv"], folder)
    return pd.read_csv(folder / f"{what}.csv")


def of_file(table: pd.DataFrame, rows: pd.DataFrame, fit: str, folder: Path) -> dict[str, Any]:
    """Judge a saved fit whose modes have no names."""
    return fitted(table, rows, exported(folder, fit, "steps"), exported(folder, fit, "rewards"), [])


def as_named(
    table: pd.DataFrame, steps: pd.DataFrame, following: str, fit: list[str], folder: Path
) -> dict[str, dict[str, Any]]:
    """Make and judge the fit that `swirl compare` names, where the README's own line is another one."""
    words = shlex.split(following.removeprefix(NEXT).split("&&")[0])
    if words == fit:
        return {}
    run(other_files(words, {"fit.nc": "named.nc"}), folder)
    return {"named": of_file(table, steps, "named.nc", folder)}


def one_draw(seed: int, folder: Path) -> dict[str, Any]:
    """Lay down the recordings of a draw, run the README's commands on them, and judge what came of it."""
    table = simulate(seed)
    steps = merged(table)
    write_recordings(table, folder)
    commands, said, seconds = readme_commands(), {}, {}
    wanted = {words[1]: words for words in commands}
    new = other_files(wanted["import"], {"visits.csv": "new_visits.csv", "sessions.csv": "new_sessions.csv"})
    run(new, folder)
    for words in commands:
        said[words[1]], seconds[words[1]] = run(words, folder)
    names = wanted["name"][3:]
    result = read_comparison(folder / "comparison.json")
    picked = result.picked()
    ours = fitted(table, steps, pd.read_csv(folder / "modes.csv"), exported(folder, "fit.nc", "rewards"), names)
    drawn = pd.read_csv(folder / "figures" / "signal_around_starts.csv")
    following = next(line for line in said["compare"].splitlines() if line.startswith(NEXT))
    run(shlex.split(OLD), folder)
    return {
        "seed": seed,
        "verdict": result.verdict(),
        "model": picked,
        "modes": result.n_modes(picked),
        "next": following,
        "fit": next(line for line in said["fit"].splitlines() if line.startswith("fit ")),
        "cards": cards((folder / "report.html").read_text(encoding="utf-8")),
        "readme": {**ours, "peak drawn": float(drawn.loc[drawn["mode"] == names[ours["food"]], "mean"].max())},
        **as_named(table, steps, following, wanted["fit"], folder),
        "old": of_file(table, steps, "old.nc", folder),
        "ticks": without_merge(table, wanted, folder),
        "truth": truth(table, steps),
        "seconds": seconds,
    }


def without_merge(table: pd.DataFrame, wanted: dict[str, list[str]], folder: Path) -> dict[str, Any]:
    """The README's import, arena and fit, but every row is a step, and the arena has an action that stays."""
    run(other_files([word for word in wanted["import"] if word != "--merge"], TICKS), folder)
    run([*other_files(wanted["env"], TICKS), "--stay"], folder)
    run(other_files(wanted["fit"], TICKS), folder)
    return of_file(table, table, "ticks.nc", folder)


def truth(table: pd.DataFrame, steps: pd.DataFrame) -> dict[str, Any]:
    """What the true model decodes; the signal's peak at the true onsets, and the drug's true effect."""
    true, decoded = table["mode"].to_numpy(), judged(table, steps, steps["decoded"].to_numpy())
    return {
        "right": decoded["right"],
        "right time": decoded["right time"],
        "goals": list(GOALS.values()),
        "peak": peak(steps, steps["mode"].to_numpy(), 0),
        "peak in seconds": peak(table, true, 0),
        "peak decoded": decoded["peak"],
        "effect": drug_effect(table, true == 1),
    }


def cards(page: str) -> list[str]:
    """The first place that the report's card of each mode names."""
    plain = page.replace("\N{NO-BREAK SPACE}", " ").replace("&nbsp;", " ")
    return re.findall(r"Where it goes more: [\d.,]+ × to ([A-F][1-6])", plain)


def quick_draw(seed: int, folder: Path) -> dict[str, Any]:
    """The README's import, arena and fit (with three restarts) on a small draw, and what came of them."""
    table = simulate(seed, n_mice=6, n_sessions=2)
    steps = merged(table)
    write_recordings(table, folder)
    wanted = {words[1]: words for words in readme_commands()}
    run(wanted["import"], folder)
    run(wanted["env"], folder)
    run([*wanted["fit"], "--restarts", "3"], folder)
    return {"seed": seed, "readme": of_file(table, steps, "fit.nc", folder), "truth": truth(table, steps)}


def shown(effect: dict[str, float]) -> bool:
    """Whether an effect is told from none by its interval."""
    return effect["low"] > 0 or effect["high"] < 0


def faults(draw: dict[str, Any]) -> list[str]:
    """What the README's recipe misses in a draw: its own fit, and the one that `swirl compare` named instead."""
    true, told = draw["truth"], []
    for way in (way for way in ("readme", "named") if way in draw):
        found, whose = draw[way], "" if way == "readme" else f"{WAYS[way]}: "
        if found["goals"] != true["goals"]:
            told.append(f"{whose}goals {', '.join(found['goals'])}")
        if found["right"] < MIN_SHARE:
            told.append(f"{whose}{found['right']:.1%} of the steps")
        if found["right time"] < MIN_SHARE:
            told.append(f"{whose}{found['right time']:.1%} of the time")
        if abs(found["peak"] / true["peak"] - 1) > MAX_OFF:
            told.append(f"{whose}peak {found['peak']:.2f} for {true['peak']:.2f}")
        if shown(true["effect"]) and found["effect"]["difference"] * true["effect"]["difference"] <= 0:
            told.append(f"{whose}effect {found['effect']['difference']:+.2f} for {true['effect']['difference']:+.2f}")
    if draw.get("modes", len(GOALS)) != len(GOALS):
        told.append(f"{draw['modes']} modes")
    return told


WAYS = {
    "readme": "README",
    "named": "model that compare named",
    "old": "state and action (before)",
    "ticks": "README without `--merge`",
    "truth": "true model",
}


def table_of(draws: list[dict[str, Any]]) -> str:
    """One row per draw and way."""
    lines = ["| draw | way | modes chosen | best cell of each mode | steps | time | dF/F peak | nest, drug − saline |"]
    lines.append("|--:|:--|:--|:--|--:|--:|--:|--:|")
    for draw in draws:
        chosen = f"{draw['modes']} ({draw['model']})" if "modes" in draw else ""
        for way in (way for way in WAYS if way in draw):
            own, effect = draw[way], draw[way]["effect"]
            heights = f"{own['peak']:.2f}" + (f" ({own['peak in seconds']:.2f})" if "peak in seconds" in own else "")
            lines.append(
                f"| {draw['seed']} | {WAYS[way]} | {chosen if way == 'readme' else ''} | {', '.join(own['goals'])} "
                f"| {own['right']:.1%} | {own['right time']:.1%} | {heights} "
                f"| {effect['difference']:+.2f} ({effect['low']:.2f} to {effect['high']:.2f}) |"
            )
    return "\n".join(lines)


def page(record: dict[str, Any]) -> str:
    """The results in words: first what came out, draw by draw where something was missed."""
    draws = record["draws"]
    made = ", ".join(f"{k} {v}" for k, v in record["versions"].items())
    good = sum(not faults(draw) for draw in draws)
    missed = [f"- Draw {draw['seed']}: {'; '.join(faults(draw))}." for draw in draws if faults(draw)]
    unclear = [
        f"- Draw {draw['seed']}: the true modes show no clear effect of the drug, so its sign was not judged."
        for draw in draws
        if not shown(draw["truth"]["effect"])
    ]
    said = [f"- Draw {draw['seed']}: {draw['verdict']} `{draw['next']}`" for draw in draws]
    total = [sum(draw["seconds"].values()) / 60 for draw in draws]
    verdict = f"In {good} of {len(draws)} draws the README's commands find all that was asked for."
    time_taken = f"All commands of a draw took {min(total):.0f} to {max(total):.0f} minutes on a busy machine."
    head = f"# Does the README's recipe find what is there?\n\n`{record['command']}` ({made})"
    parts = [head, " ".join([verdict, without(draws), time_taken])]
    parts += ["\n".join(lines) for lines in (missed, unclear) if lines]
    parts += [READING, table_of(draws), "What `swirl compare` said, and the command that it named:", "\n".join(said)]
    return "\n\n".join(parts) + "\n"


def without(draws: list[dict[str, Any]]) -> str:
    """What becomes of the same recordings without `--merge`, in a sentence."""
    right = [draw["ticks"]["right time"] for draw in draws]
    goals = sum(draw["ticks"]["goals"] == draw["truth"]["goals"] for draw in draws)
    times = [draw["ticks"]["effect"]["difference"] / draw["truth"]["effect"]["difference"] for draw in draws]
    return (
        f"Without `--merge` {min(right):.0%} to {max(right):.0%} of the time is in the right mode, both goals are "
        f"found in {goals} of {len(draws)} draws, and the drug's effect comes out at {min(times):.1f} to "
        f"{max(times):.1f} times the true one."
    )


READING = f"""\
An arena of 6 × 6 cells, food in A6, a nest in F1; ten mice in two groups, five sessions of ten minutes each, numbered
from 1 for each mouse; a row per second with the cell and dF/F, no actions. A mouse rests at its goals for 5 to 10 s and
spends 1 s in any other cell. dF/F rises at the onsets of the mode "food". The drug makes mice want the nest for longer.
Every command of the README's section "Your own recordings" was run as it stands there; where `swirl compare` named
another model than the README's S-1, that was fitted too, and judged in the same way. Asked for: both goals, two modes,
{MIN_SHARE:.0%} of the steps and of the time in the right mode, a dF/F peak within {MAX_OFF:.0%} of the reference, and
the sign of the drug's effect on the share of time in the mode "nest" (95 % intervals over mice), where the interval of
the true effect leaves out 0.

A step is a visit to a cell. The reference for the peak is the true model's row: the peak at the *true* onsets on the
same merged steps, where dF/F is a mean over each visit; in brackets the peak at the true onsets by the second. "True
model" decodes with the true rewards and switching; its effect is that of the true modes. "State and action (before)" is
an earlier recipe, a reward of state and action, on the merged steps. "README without `--merge`" takes every second for
a step, in an arena with the action "stay"; its peak is by the second."""


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
