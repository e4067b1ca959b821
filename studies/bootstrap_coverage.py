"""Do the intervals of `swirl.uncertainty.bootstrap` hold what they promise? Many simulated worlds whose truth is known.

    python studies/bootstrap_coverage.py            # 80 worlds of each size, about 12 minutes on one core
    python studies/bootstrap_coverage.py --jobs 8   # the same on eight
    python studies/bootstrap_coverage.py --quick    # two small worlds; nothing is written
    python studies/bootstrap_coverage.py --switching-prior 0.01 --worlds 12   # ten times weaker; nothing is written

The world is the paper's gridworld with its switching made additive, as S-2 has it (probabilities differ by 0.004 at
most), so that the truth is one that the model can reach; what is left is noise and the priors. Each world is fitted
with S-2 under the Cauchy prior, sessions are drawn 20 times, and the 95 % intervals are held against the truth.

Writes studies/results/bootstrap_coverage.json and .md (command, versions and every world inside).
"""

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import starmap
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from swirl.analysis.bootstrap import bootstrap
from swirl.analysis.intervals import PROBABILITIES, log_odds, logit, spread_of
from swirl.datasets import gridworld_env, gridworld_rewards, gridworld_switching
from swirl.estimators.save_load import versions
from swirl.estimators.swirl import SWIRL
from swirl.inference.mode_matching import match_by_distance
from swirl.priors import Cauchy, Gaussian

RESULTS = Path(__file__).parent / "results"
SIZES = (8, 20, 100)  # sessions
STEPS = 250
DRAWS = 20
FEW, MANY = 5, 20  # switches out of a mode at a place that the data hold
ANYWHERE = 12  # the middle of the grid, where nothing happens


def true_model() -> SWIRL:
    """The paper's gridworld with additive switching: logit P(leave z | s) = A_z ± b_s."""
    table = gridworld_switching()
    away = np.log(table[:, [0, 1], [1, 0]] / table[:, [0, 1], [0, 1]])
    usual = away[ANYWHERE]
    push = (away - usual) @ np.array([1.0, -1.0])  # toward home at the water, toward water at home
    leave = 1 / (1 + np.exp(-(usual + push[:, None] * np.array([1.0, -1.0]))))
    switching = np.stack([np.stack([1 - leave[:, 0], leave[:, 0]], 1), np.stack([leave[:, 1], 1 - leave[:, 1]], 1)], 1)
    return SWIRL.from_parameters(
        gridworld_env(), history=2, rewards=gridworld_rewards(), mode_transitions=switching, initial_modes=[0.5, 0.5]
    )


def true_values(model: SWIRL, n_steps: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """What the intervals should cover, and how often a session is in each state and mode; exact, by going forward."""
    policies, switching = model.state_policies(), model.mode_transitions_
    following = np.asarray(model.env.successors.next)[:, :, 0]
    moves = np.zeros((2, *(model.env.n_states,) * 2))
    for state, action in np.ndindex(*following.shape):
        moves[:, state, following[state, action]] += policies[:, state, action]
    now = np.full((model.env.n_states, 2), 0.5 / model.env.n_states)
    visits, left = np.zeros_like(now), np.zeros_like(now)
    for step in range(n_steps):
        visits += now
        if step < n_steps - 1:
            left += now
        now = np.einsum("sz,szy,zsx->xy", now, switching, moves)
    leaving = np.array([np.sum(left[:, z] * switching[:, z, 1 - z]) / left[:, z].sum() for z in range(2)])
    rewards = model.reward_map("canonical")
    values = {
        "occupancy": visits.sum(axis=0) / n_steps,
        "leaving": leaving,
        "mode_transitions": switching,
        "initial_modes": np.array([0.5, 0.5]),
        "policies": policies,
        "preferences": log_odds(policies),
        "rewards": rewards - rewards.mean(axis=1, keepdims=True),
    }
    return values, visits


def one_world(
    seed: int, n_sessions: int, n_steps: int, n_draws: int, switching_prior: Gaussian | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Simulate, fit, bootstrap: how many intervals of each quantity hold the truth, and how far off each entry is, in
    standard errors."""
    truth = true_model()
    values, visits = true_values(truth, n_steps)
    data = truth.sample(n_sessions, n_steps, random_state=seed)
    settings = {"n_modes": 2, "history": 2, "switching_prior": switching_prior, "n_restarts": 3, "random_state": seed}
    model = SWIRL(truth.env, reward_prior=Cauchy(), **settings).fit(data)
    began = time.perf_counter()
    found = replace(bootstrap(model, data, n_draws=n_draws, random_state=seed), switches=None)  # whatever was counted
    seconds = time.perf_counter() - began
    order = np.argsort(match_by_distance(values["policies"], found.fitted["policies"]))
    covered: dict[str, list[int]] = {}
    off: dict[str, np.ndarray] = {}
    signs = {"certain": 0, "wrong": 0, "all": 0}
    for name, true in values.items():
        draws, scale = getattr(found, name), logit if name in PROBABILITIES else np.asarray
        percentiles = np.quantile(draws, [0.025, 0.975], axis=0)  # the usual interval, for comparison
        tables = (*found.interval(name), *percentiles, found.estimate(name), spread_of(scale(draws), n_sessions))
        low, high, first, last, centre, spread = (_in_order(table, name, order) for table in tables)
        error = (scale(centre) - scale(true)) / spread
        inside, percentile = (low <= true) & (true <= high), (first <= true) & (true <= last)
        for group, entries in groups(name, true, visits * n_sessions).items():
            covered[group] = [int(inside[entries].sum()), int(entries.sum()), int(percentile[entries].sum())]
            off[group] = error[entries]
        if name == "preferences":
            certain = (low > 0) | (high < 0)
            signs = {"certain": certain.sum(), "wrong": (certain & (low * true < 0)).sum(), "all": certain.size}
    world = {"covered": covered, "signs": {key: int(n) for key, n in signs.items()}}
    return {**world, "drift": round(found.drift, 3), "seconds": round(seconds, 2)}, off


def _in_order(table: np.ndarray, name: str, order: np.ndarray) -> np.ndarray:
    """A table of the fit with its modes in the order of the truth's."""
    return table[:, order][:, :, order] if name == "mode_transitions" else table[order]


def groups(name: str, true: np.ndarray, visits: np.ndarray) -> dict[str, np.ndarray]:
    """Which entries of a quantity are counted together."""
    everything = np.ones(true.shape, dtype=bool)
    names = {"occupancy": "share of steps", "leaving": "leaving a mode", "initial_modes": "first mode"}
    if name != "mode_transitions":
        return {names.get(name, name): everything}
    switches = visits * np.stack([true[:, 0, 1], true[:, 1, 0]], axis=1)  # expected in the data
    out = ~np.eye(2, dtype=bool)[None]  # staying is the same interval from the other end
    rows = {
        f"switching, {MANY} switches or more": switches >= MANY,
        f"switching, {FEW} to {MANY}": (switches >= FEW) & (switches < MANY),
        f"switching, fewer than {FEW}": switches < FEW,
    }
    return {group: keep[:, :, None] & out for group, keep in rows.items() if keep.any()}


def summarise(worlds: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Coverage of each quantity with its standard error over worlds, and what the signs are worth."""
    summary: dict[str, dict[str, Any]] = {}
    for size, found in worlds.items():
        rows: dict[str, Any] = {}
        for group in found[0]["covered"]:
            inside, n, percentile = np.array([world["covered"][group] for world in found]).T
            error = np.std(inside / n, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else float("nan")
            rows[group] = {
                "coverage": round(float(inside.sum() / n.sum()), 3),
                "standard error": round(float(error), 3),
                "percentile interval": round(float(percentile.sum() / n.sum()), 3),
                "entries": int(n[0]),
            }
        signs = {key: sum(world["signs"][key] for world in found) for key in ("certain", "wrong", "all")}
        summary[size] = {
            "coverage": rows,
            "preferences called certain": round(signs["certain"] / signs["all"], 3),
            "of these with the wrong sign": round(signs["wrong"] / max(signs["certain"], 1), 4),
            "fit short of its top, in standard errors: median, worst": [
                round(float(reach([world["drift"] for world in found])), 2) for reach in (np.median, np.max)
            ],
            "seconds of a bootstrap, median": round(float(np.median([world["seconds"] for world in found])), 1),
        }
    return summary


def bias(off: dict[str, list[dict[str, np.ndarray]]]) -> dict[str, dict[str, float]]:
    """How far the mean estimate over worlds is from the truth, in standard errors: the mean size over entries."""
    return {
        size: {
            group: round(float(np.nanmean(np.abs(np.mean([one[group] for one in found], axis=0)))), 2)
            for group in found[0]
        }
        for size, found in off.items()
    }


def table(summary: dict[str, dict[str, Any]], biases: dict[str, dict[str, float]]) -> str:
    """Coverage by quantity and number of sessions, as Markdown."""
    head = "| 95 % intervals of | " + " | ".join(f"{size} sessions" for size in summary) + " |"
    lines = [head, "|:--|" + "--:|" * len(summary)]
    names = [f"switching, {kind}" for kind in (f"{MANY} switches or more", f"{FEW} to {MANY}", f"fewer than {FEW}")]
    found = dict.fromkeys(name for rows in summary.values() for name in rows["coverage"])
    for name in [*(name for name in found if name not in names), *(name for name in names if name in found)]:
        cells = []
        for size, rows in summary.items():
            row = rows["coverage"].get(name)
            told = "—" if row is None else f"{100 * row['coverage']:.0f} ± {100 * row['standard error']:.0f} %"
            cells.append(told if row is None else f"{told} (bias {biases[size][name]:.1f}; {percentile(row)})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def percentile(row: dict[str, float]) -> str:
    """Coverage of the interval that was not chosen."""
    return f"percentiles {100 * row['percentile interval']:.0f} %"


def reading(summary: dict[str, dict[str, Any]], biases: dict[str, dict[str, float]]) -> str:
    """What the figures say and what to do about it, with the numbers of this run."""
    sizes, rare = list(summary), f"switching, fewer than {FEW}"
    others = [
        (row["coverage"], row["standard error"], f"{name} ({size} sessions)")
        for size, rows in summary.items()
        for name, row in rows["coverage"].items()
        if not name.startswith("switching")
    ]
    short = [name for coverage, error, name in others if coverage + 2 * error < 0.95]
    lowest = min(others)
    behind = summary[sizes[-1]]["fit short of its top, in standard errors: median, worst"]
    return READING.format(
        draws=DRAWS,
        many=MANY,
        short="; ".join(short) or "none",
        lowest=f"{lowest[2]}, {100 * lowest[0]:.1f} ± {100 * lowest[1]:.1f} %",
        rare=", ".join(f"{100 * summary[size]['coverage'][rare]['coverage']:.0f} %" for size in sizes),
        bias=biases[sizes[-1]][rare],
        most=sizes[-1],
        signs=", ".join(f"{100 * rows['of these with the wrong sign']:.2f} %" for rows in summary.values()),
        called=", ".join(f"{100 * rows['preferences called certain']:.0f} %" for rows in summary.values()),
        median=behind[0],
        worst=behind[1],
    )


READING = """\
Coverage ± its standard error over worlds. Bias: how far the mean estimate over worlds lies from the truth, in standard
errors of one fit (mean size over entries). Percentiles: what the usual 2.5 to 97.5 % interval of the same {draws} draws
covers. It is too short with so few, which is why the intervals are estimate ± t × spread.

- **Below 95 % beyond chance** (two standard errors), single switching probabilities apart: {short}. The lowest:
  {lowest}. From 20 sessions on policies, preferences and rewards lie above: the bootstrap overstates their spread, on
  the safe side.
- **A switching probability at one place** holds where the data have {many} switches there or more. Where they have
  fewer it does not (fewer than five: {rare}, from few sessions to many). What the data hold twice or never, no draw
  holds often, so estimate and interval are too low together (bias {bias:.1f} standard errors with {most} sessions); a
  weaker prior makes it worse (`--switching-prior 0.01`). Do not quote such a probability, nor its interval: quote the
  mean duration of the mode (`durations`), or the places where it ends, and see in the report how many switches were
  decoded there.
- **Signs of preferences** are called certain in {called} of the cases, from few sessions to many; of these, {signs} are
  wrong.
- **Where fits stop**: with 0.01 nats left to gain, fits to {most} sessions are {median} standard errors (median; worst
  {worst}) from their top, around which intervals lie.
- **Not tested here**: worlds that the model cannot reach (an interval is then about the nearest model), and other local
  optima, at which no refit looks."""


def main() -> None:
    """Run the study and write its results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--worlds", type=int, default=80)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--switching-prior", type=float, help="strength, where not the default; nothing is written")
    options = parser.parse_args()
    prior = None if options.switching_prior is None else Gaussian(options.switching_prior)
    n_worlds, sizes, n_steps = (2, (8,), 80) if options.quick else (options.worlds, SIZES, STEPS)
    worlds: dict[str, list[dict[str, Any]]] = {str(size): [] for size in sizes}
    off: dict[str, list[dict[str, np.ndarray]]] = {str(size): [] for size in sizes}
    cases = [(seed, size, n_steps, DRAWS, prior) for size in sizes for seed in range(n_worlds)]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        found = pool.map(one_world, *zip(*cases, strict=True)) if options.jobs > 1 else starmap(one_world, cases)
        for (seed, size, *_), (world, errors) in zip(cases, found, strict=True):
            worlds[str(size)].append(world)
            off[str(size)].append(errors)
            print(size, seed, world, flush=True)
    summary, biases = summarise(worlds), bias(off)
    print(table(summary, biases), reading(summary, biases), sep="\n\n")
    if options.quick or prior is not None:
        return
    command = "python studies/bootstrap_coverage.py"
    record = {"command": command, "versions": versions(), "summary": summary, "bias": biases, "worlds": worlds}
    (RESULTS / "bootstrap_coverage.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
    made = ", ".join(f"{k} {v}" for k, v in versions().items())
    about = f"{n_worlds} worlds of each size, sessions of {n_steps} steps, S-2 under the Cauchy prior, {DRAWS} draws."
    page = f"# Do the bootstrap's intervals hold?\n\n`{command}` ({made})\n\n{about}\n\n"
    page += f"{table(summary, biases)}\n\n{reading(summary, biases)}\n"
    (RESULTS / "bootstrap_coverage.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
