"""The demonstration: simulate the paper's gridworld, fit five models, and show what they found.

`make demo` and `swirl demo` end here.  Nothing is hard-coded: every figure printed is computed, and the truth's
own score on the same draw stands beside the models'.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from swirl import datasets, metrics
from swirl.demo.figures import write_figures
from swirl.demo.report import NOTES, write_report
from swirl.model import SWIRL
from swirl.registry import make

MODELS = ("MaxEnt", "I-1", "I-2", "S-1", "S-2")


def run_demo(
    output: Path, *, seed: int = 0, n_restarts: int = 8, force: bool = False, as_json: bool = False, quick: bool = False
) -> list[dict[str, Any]]:
    """Run the demonstration and write its table, figures and report into the folder `output`.

    Parameters
    ----------
    output
        Folder for the results; must be new or empty unless `force`.
    seed
        Of the simulated data and of the fits.
    n_restarts
        Random starting points per model; the box plots show all of them.
    force
        Write into a folder that already holds files, replacing those of an earlier demo.
    as_json
        Print the table as JSON.
    quick
        A quarter of the data.
    """
    if output.exists() and not output.is_dir():
        raise FileExistsError(f"{output} is a file; choose another --output")
    if output.exists() and any(output.iterdir()) and not force:
        raise FileExistsError(f"{output} is not empty: choose another --output, or --force to replace an earlier demo")
    output.mkdir(parents=True, exist_ok=True)
    say = _quiet if as_json else _say

    say(f"Simulating {50 if quick else 200} sessions of 500 steps in the paper's 5 × 5 gridworld (seed {seed}) …")
    data = datasets.gridworld(n_sessions=50 if quick else 200, random_state=seed)
    if data.truth is None:
        raise ValueError("the gridworld is simulated, so its truth is known")
    train, test = data.trajectories.split(every=5)
    truth = data.true_model()
    rows = [_row("truth", truth, test, data.truth.rewards, seconds=None)]
    fits: dict[str, SWIRL] = {}
    for name in MODELS:
        settings = {} if name == "MaxEnt" else {"n_modes": 2}
        began = time.perf_counter()
        fits[name] = make(name, data.env, n_restarts=n_restarts, random_state=seed, **settings).fit(train)
        seconds = time.perf_counter() - began
        rows.append(_row(name, fits[name], test, data.truth.rewards, seconds=seconds))
        say(f"  {name:7s}{seconds:5.1f} s   {fits[name].fit_report_}")

    say("Drawing …")
    figures = write_figures(output, data, test, truth.reward_table("canonical"), rows[0], fits)
    n_scored = truth.n_scored(test)
    write_report(output / "report.html", rows, n_scored, fits, figures, seed)
    model_path = fits["S-2"].save(output / "S-2.nc", overwrite=True)
    if as_json:
        sys.stdout.write(json.dumps({"n_scored_steps": n_scored, "models": rows}, indent=2) + "\n")
    else:
        say("\n" + format_table(rows, n_scored))
        say(f"\nThe report (report.html), the figures and the fitted S-2 ({model_path.name}) are in {output}/")
    return rows


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _quiet(text: str) -> None:
    del text


def _row(name: str, model: SWIRL, test: Any, true_rewards: np.ndarray, *, seconds: float | None) -> dict[str, Any]:
    table = model.reward_table()
    return {
        "model": name,
        "test_log_likelihood": model.score(test),
        "accuracy": metrics.segmentation_accuracy(test.modes, model.predict(test)),
        "reward_canonical": metrics.reward_correlation(true_rewards, table, env=model.env),
        "reward_paper": metrics.reward_correlation(true_rewards, table, "paper", env=model.env),
        "seconds": seconds,
    }


def format_table(rows: list[dict[str, Any]], n_scored: int) -> str:
    """Lay the rows out as a Markdown table.

    >>> row = {"model": "S-2", "test_log_likelihood": -1.5, "accuracy": 0.9, "reward_canonical": 0.99,
    ...        "reward_paper": 0.9, "seconds": None}
    >>> print(format_table([row], 100).splitlines()[2])
    | S-2    |            -1.5000 |   90.0 % |             0.990 |         0.900 |       — |
    """
    lines = [
        "| model  | test LL (nats/step) | accuracy | reward, canonical | reward, paper | seconds |",
        "|:-------|-------------------:|---------:|------------------:|--------------:|--------:|",
    ]
    for row in rows:
        seconds = "—" if row["seconds"] is None else f"{row['seconds']:.1f}"
        lines.append(
            f"| {row['model']:6s} | {row['test_log_likelihood']:18.4f} | {100 * row['accuracy']:6.1f} % |"
            f" {row['reward_canonical']:17.3f} | {row['reward_paper']:13.3f} | {seconds:>7s} |"
        )
    lines += ["", f"{n_scored:,} test steps scored. {NOTES}"]
    return "\n".join(lines)
