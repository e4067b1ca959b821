"""The demonstration: simulate the paper's gridworld, fit five models, and show what they found.

`make demo` and `swirl demo` end here.  The simulated sessions are written as a table and read back, so that the fits
are those of `swirl compare` and everything that it leaves works with the other commands.  Nothing is hard-coded: every
figure printed is computed, and the truth's own score on the same draw stands beside the models'.
"""

import json
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from swirl import datasets, report
from swirl.analysis.comparison_json import write_comparison
from swirl.data.trajectories import Trajectories
from swirl.datasets import Dataset
from swirl.io.environment_files import write_environment
from swirl.io.export_tables import to_frame, write_table
from swirl.workflows.compare import run_comparison
from swirl.workflows.config import Run, checked
from swirl.workflows.demo.figures import matched_modes, measures, write_figures
from swirl.workflows.demo.page import TEXT, write_page

MODELS = {
    "MaxEnt": "one goal throughout, a reward for each place: maximum-entropy inverse reinforcement learning",
    "I-1": "two goals, and switching does not depend on the place (I: independent)",
    "I-2": "the same, and a reward depends on 2 places: this one and the one before",
    "S-1": "two goals, and switching depends on the place; a reward depends on 1 place",
    "S-2": "the same, and a reward depends on 2 places: SWIRL",
}
HOLD_OUT = 5  # every fifth session is for testing
N_DRAWS = 5  # simulated datasets of the report's checks, as `swirl report` has it


def run_demo(
    output: Path, *, seed: int = 0, n_restarts: int = 8, force: bool = False, as_json: bool = False, quick: bool = False
) -> list[dict[str, Any]]:
    """Run the demonstration and write its table, figures and reports into the folder `output`.

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
    n_sessions = 50 if quick else 200

    say(f"Simulating {n_sessions} sessions of 500 steps in the paper's 5 × 5 gridworld (seed {seed}) …")
    data = datasets.gridworld(n_sessions=n_sessions, random_state=seed)
    if data.truth is None:
        raise ValueError("the gridworld is simulated, so its truth is known")
    run = _write_data(output, data, seed, n_restarts)

    say("Fitting …")
    asked = ["demo", "--output", str(output), "--seed", str(seed), "--restarts", str(n_restarts)]
    command = shlex.join(["swirl", *asked, *(["--quick"] if quick else [])])
    result, ready = run_comparison(run, command=command, callback=lambda words: say(_fitted_next(words)))
    fits: dict[str, Any] = {name: result.models[name] for name in MODELS}
    _, test = data.trajectories.split(every=HOLD_OUT)  # the sessions of the table, with their true modes
    truth = data.true_model()
    rows = [{"model": "truth", **measures(truth, test, data.truth.rewards), "seconds": None}]
    for name, seconds in zip(MODELS, result.seconds, strict=False):
        rows.append({"model": name, **measures(fits[name], test, data.truth.rewards), "seconds": float(seconds)})

    say("Drawing …")
    s2 = fits["S-2"]
    pictures = write_figures(output / "figures", data, test, truth.reward_table("canonical"), rows[0], fits)
    model_path = s2.save(output / "S-2.nc", overwrite=True)
    write_comparison(output / "comparison.json", result, run=s2.run_, overwrite=True)
    with_report = _can_report()
    if with_report:
        report.write(
            output / "report.html",
            s2,
            ready.data,
            comparison=result,
            title="What does the agent want?",
            run=s2.run_,
            n_draws=N_DRAWS,
            overwrite=True,
        )
    own_names = [data.truth.mode_names[mode] for mode in np.argsort(matched_modes(s2, test))]
    found = f"Mode 0 of S-2 is the agent's {own_names[0]} mode, mode 1 its {own_names[1]} mode."
    commands = _commands(output, model_path, own_names)
    write_page(
        output / "truth.html",
        rows,
        result.n_scored,
        fits,
        MODELS,
        pictures,
        commands,
        seed=seed,
        found=found,
        with_report=with_report,
    )
    if as_json:
        sys.stdout.write(json.dumps({"n_scored_steps": result.n_scored, "models": rows}, indent=2) + "\n")
        return rows
    say("\n" + format_table(rows, result.n_scored))
    for name, model in fits.items():
        if not model.converged_:
            say(f"\n{name}: {model.fit_report_}")
    say("\n" + _ending(output, with_report, commands))
    return rows


def _write_data(output: Path, data: Dataset, seed: int, n_restarts: int) -> Run:
    """Write the sessions and the grid as a laboratory would have them; return the run that reads them."""
    env, sessions = data.env, data.trajectories
    named = Trajectories(
        sessions.states, sessions.actions, state_names=env.state_names, action_names=env.action_names
    )  # fmt: skip
    table = write_table(to_frame(named), output / "sessions.csv", overwrite=True)
    grid, *_ = write_environment(env, output / "grid.csv", overwrite=True)
    return checked(
        {
            "data": str(table),
            "env": str(grid),
            "hold_out": HOLD_OUT,
            "fit": {"restarts": n_restarts, "seed": seed},
            "compare": {"models": list(MODELS), "modes": [2], "score": "action", "folds": 0},
        }
    )


def _fitted_next(words: str) -> str:
    name = words.partition(":")[0]
    if name not in MODELS:  # for the verdict of the report, which compares like with like
        return f"  {name}: the same model with one goal"
    return f"  {name:8s}{MODELS[name]}"


def _can_report() -> bool:
    """Whether the libraries of the HTML report are installed: they are an extra."""
    return all(find_spec(name) is not None for name in ("jinja2", "plotly"))


def _commands(output: Path, model: Path, names: list[str]) -> dict[str, str]:
    """Three things to try next: words → command."""
    program, fit = _program(), str(model)
    plots, data, grid, goals = (str(output / name) for name in ("plots", "sessions.csv", "grid.csv", "goals.nc"))
    anew = ["fit", data, "--env", grid, "--reward", "goals", "--goals", "home=(0, 0),water=(4, 3)", "-o", goals]
    tries = {
        "Name the modes of S-2, for all later reports, figures and tables:": ["name", fit, *names],
        "Draw every figure of the fit, for a paper or a talk, each with its numbers:": ["plot", fit, "-o", plots],
        "Fit the same sessions with goals that you name, and one mode that explores (two minutes); your own recordings "
        "are fitted in the same way:": anew,
    }
    return {words: shlex.join([*program, *arguments]) for words, arguments in tries.items()}


def _program() -> list[str]:
    """How this program was called, so that commands can be copied: `make demo` calls one that is not on the path."""
    called = Path(sys.argv[0])
    if called.stem == "__main__" and called.parent.name == "swirl":
        return [sys.executable, "-m", "swirl"]
    if called.stem != "swirl":  # from Python
        return ["swirl"]
    known = shutil.which("swirl")
    return ["swirl"] if known is not None and Path(known).resolve() == called.resolve() else [str(called)]


def _ending(output: Path, with_report: bool, commands: dict[str, str]) -> str:
    """Which files there are, and what to try next."""
    files = {
        "report.html": "the report on S-2: open it in a web browser",
        "truth.html": "the truth compared with the fit, and what to try next",
        "figures/": "the figures of that page",
        "sessions.csv, grid.csv": "the data, as swirl check, fit and compare read them",
        "S-2.nc, comparison.json": "the fit and the scores, as swirl report, plot and export read them",
    }
    if not with_report:
        del files["report.html"]
    lines = [f"In {output}/:", *(f"  {name:<25}{words}" for name, words in files.items())]
    if not with_report:
        again = [*_program(), "report", str(output / "S-2.nc"), "-o", str(output / "report.html")]
        again += ["--comparison", str(output / "comparison.json")]
        lines += ["", f"For the report on S-2: pip install 'swirl-irl[report]', then\n  {shlex.join(again)}"]
    return "\n".join([*lines, "", f"Try next:\n  {list(commands.values())[1]}"])


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _quiet(text: str) -> None:
    del text


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
    return "\n".join([*lines, "", TEXT("printed notes", n_scored=n_scored)])
