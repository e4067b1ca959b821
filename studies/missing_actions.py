"""Do missing actions bias a fit? The paper's gridworld with actions taken away at random, and with states alone.

    python studies/missing_actions.py            # 20 draws; some minutes on an H200, an hour or more on two cores
    python studies/missing_actions.py --quick    # one small draw; nothing is written

Each draw is 100 sessions of 500 steps. S-2, Cauchy prior, three starting points, is fitted with 0, 10, 30, 60 and
100 % of the actions missing and to the states alone. Controls are complete sessions with as many observed actions: 90,
70 and 40 of the 100; where no action is left all steps are still seen to lead somewhere, so the control is the complete
data. Shown are the probabilities of leaving a mode at its goal (truth 0.36 and 0.15), the correlation of canonical
rewards with the truth, and how much larger the error is than the control's, paired by draw.

Writes studies/results/missing_actions.json and .md.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from swirl.analysis.metrics import reward_correlation
from swirl.data.trajectories import Trajectories
from swirl.datasets import gridworld
from swirl.estimators.save_load import versions
from swirl.estimators.swirl import SWIRL
from swirl.inference.mode_matching import match_by_distance
from swirl.priors import Cauchy

RESULTS = Path(__file__).parent / "results"
SHARES = (0.0, 0.1, 0.3, 0.6, 1.0)
WATER, HOME = 23, 0
MEASURES = ("leave water", "leave home", "reward")
CONTROLS = {"10 %": "90 sessions", "30 %": "70 sessions", "60 %": "40 sessions", "100 %": "0 %", "states alone": "0 %"}


def patterns(data: Trajectories, seed: int) -> dict[str, Trajectories]:
    """The same sessions with ever fewer actions, and complete controls."""
    rng = np.random.default_rng([seed, 1])
    order = [rng.random(len(actions)) for actions in data.actions]
    found = {}
    for share in SHARES:
        actions = [np.where(u < share, -1, a) for u, a in zip(order, data.actions, strict=True)]
        found[f"{share:.0%}".replace("%", " %")] = data.with_actions(
            actions, n_actions=data.n_actions, action_names=data.action_names
        )
    found["states alone"] = Trajectories(data.states, n_states=data.n_states, n_actions=data.n_actions)
    for share in (0.9, 0.7, 0.4):
        n = round(share * len(data))
        found[f"{n} sessions"] = data[:n]
    return found


def measured(model: SWIRL, truth: SWIRL, rewards: np.ndarray) -> dict[str, float]:
    """What the study is about, modes matched to the true ones (0: water, 1: home) by their policies."""
    order = np.argsort(match_by_distance(truth.state_policies(), model.state_policies()))
    switching = model.mode_transitions_[:, order][:, :, order]
    fitted = model.reward_table()[order]
    return {
        "leave water": float(switching[WATER, 0, 1]),
        "leave home": float(switching[HOME, 1, 0]),
        "reward": float(reward_correlation(rewards, fitted, measure="canonical", env=model.env)),
        "objective": float(model.objective_trace_[-1]),
        "iterations": float(len(model.objective_trace_) - 1),
        "converged": float(model.converged_),
    }


def one_draw(
    seed: int, *, n_sessions: int = 100, n_steps: int = 500, n_restarts: int = 3
) -> dict[str, dict[str, float]]:
    """Fit every pattern of one draw."""
    world = gridworld(n_sessions=n_sessions, n_steps=n_steps, random_state=seed)
    truth = world.true_model()
    found = {}
    for name, data in patterns(world.trajectories, seed).items():
        began = time.perf_counter()
        model = SWIRL(
            world.env, n_modes=2, history=2, reward_prior=Cauchy(), n_restarts=n_restarts, random_state=seed
        ).fit(data)
        found[name] = {**measured(model, truth, world.truth.rewards), "seconds": time.perf_counter() - began}
    found["truth"] = {
        "leave water": float(world.truth.mode_transitions[WATER, 0, 1]),
        "leave home": float(world.truth.mode_transitions[HOME, 1, 0]),
        "reward": 1.0,
    }
    return found


def summarise(draws: list[dict[str, dict[str, float]]]) -> dict[str, Any]:
    """Mean and standard error over draws, and the error less the control's."""
    truth = draws[0]["truth"]
    rows: dict[str, Any] = {}
    for name in (key for key in draws[0] if key != "truth"):
        row: dict[str, Any] = {}
        for what in MEASURES:
            values = np.array([draw[name][what] for draw in draws])
            errors = np.abs(values - truth[what])
            row[what] = {"mean": float(values.mean()), "se": _se(values), "error": float(errors.mean())}
            if name in CONTROLS:
                control = np.abs(np.array([draw[CONTROLS[name]][what] for draw in draws]) - truth[what])
                row[what] |= {"more": float((errors - control).mean()), "more_se": _se(errors - control)}
        rows[name] = row
    return rows


def _se(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def table(rows: dict[str, Any], truth: dict[str, float]) -> str:
    """One row per pattern."""
    heads = (f"{what} (truth {truth[what]:.2f})" for what in MEASURES)
    lines = [
        f"| actions missing | {' | '.join(heads)} | control | error less the control's: {', '.join(MEASURES)} |",
        "|:--|--:|--:|--:|:--|:--|",
    ]
    for name, row in rows.items():
        cells = [f"{row[what]['mean']:.3f} ± {row[what]['se']:.3f}" for what in MEASURES]
        more = "–"
        if name in CONTROLS:
            more = ", ".join(f"{row[what]['more']:+.4f} ± {row[what]['more_se']:.4f}" for what in MEASURES)
        lines.append(f"| {name} | {' | '.join(cells)} | {CONTROLS.get(name, '–')} | {more} |")
    return "\n".join(lines)


def main() -> None:
    """Run the study and write its results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.quick:
        draws = [one_draw(0, n_sessions=20, n_steps=100, n_restarts=1)]
        print(table(summarise(draws), draws[0]["truth"]))
        return
    draws = []
    for seed in range(options.draws):
        began = time.perf_counter()
        draws.append(one_draw(seed))
        print(seed, f"{time.perf_counter() - began:.0f} s", draws[-1]["60 %"], draws[-1]["states alone"], flush=True)
        rows = summarise(draws)
        record = {"command": "python studies/missing_actions.py", "versions": versions(), "draws": draws, "rows": rows}
        (options.output / "missing_actions.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
        made = ", ".join(f"{k} {v}" for k, v in versions().items())
        page = f"# Do missing actions bias a fit?\n\n`python studies/missing_actions.py` ({made})\n\n{ABOUT}\n\n"
        page = page.format(draws=len(draws)) + table(rows, draws[0]["truth"]) + "\n"
        (options.output / "missing_actions.md").write_text(page, encoding="utf-8")
    print(table(rows, draws[0]["truth"]))


ABOUT = """\
The paper's gridworld, 100 sessions of 500 steps, {draws} draws, S-2, Cauchy prior, three starting points. Mean
± standard error over draws. The control is complete data with as many observed actions (where none is left: the
complete data, as every step is still seen to lead somewhere); differences are paired by draw."""


if __name__ == "__main__":
    sys.exit(main())
