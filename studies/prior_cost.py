"""What does the adaptive prior cost?  Every candidate fitted and scored on the test, beside the one that folds chose.

    python studies/prior_cost.py                          # says what it will cost, then starts
    python studies/prior_cost.py --only gridworld         # a part; what is known is not made again

The default prior on rewards (`priors.Adaptive`) chooses among five on folds of the training sessions. Here the same
model is fitted under each of the five and scored once on the same test sessions, as it is under some priors that are
not among them. The cost is how far the chosen one is behind the best of all.

Writes studies/results/prior_cost.json (every fit) and .md. Stopped and started again, it goes on where it was.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from swirl import datasets
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.base import UnseenStatesWarning
from swirl.estimators.prior_choice import prior_scores
from swirl.estimators.registry import make
from swirl.estimators.save_load import versions
from swirl.priors import Adaptive, Cauchy, Gaussian

RESULTS = Path(__file__).parent / "results"
COMMAND = "python studies/prior_cost.py"
ALLOWED = 0.003  # nats per step behind the best
CANDIDATES = Adaptive().candidates
OTHERS = (Cauchy(0.2), Gaussian(0.004, backoff=3.0, of="value"), Gaussian(2.5, backoff=3.0, of="value"))
SETTINGS = {"n_restarts": 3, "max_iter": 300, "random_state": 0}
CASES = {  # data: model, numbers of modes, minutes of one core
    "gridworld": ("S-2", (1, 2), 1),
    "gridworld, 1,800 steps": ("S-2", (1, 2), 1),
    "labyrinth": ("S-2", (1, 3), 5),
    "spontaneous": ("S-1", (1, 3), 1),
}


def sessions(case: str) -> tuple[MDP, Trajectories, Trajectories]:
    """The environment, training and test sessions."""
    if case == "labyrinth":
        data = datasets.labyrinth()
    elif case == "spontaneous":
        data = datasets.spontaneous()
    elif case == "gridworld":
        data = datasets.gridworld()
    else:
        data = datasets.gridworld(n_sessions=36, n_steps=100, random_state=1)
        return data.env, *data.trajectories.split(every=2)
    return data.env, *data.trajectories.split(every=5)


def one_case(case: str, n_modes: int) -> dict[str, Any]:
    """Choose on folds; fit under every prior; score on the test."""
    began = time.perf_counter()
    env, train, test = sessions(case)
    name = CASES[case][0]
    priors = (*CANDIDATES, *OTHERS)
    more = {"impossible": "forget"} if case == "spontaneous" else {}  # as `swirl reproduce spontaneous` reads them
    models = [make(name, env, n_modes=n_modes, reward_prior=prior, **SETTINGS, **more) for prior in priors]
    pilot = next(i for i, prior in enumerate(CANDIDATES) if prior.of == "value")  # as SWIRL.fit takes it
    on_folds = np.asarray(prior_scores(models[: len(CANDIDATES)], train, n_folds=Adaptive().n_folds, pilot=pilot))
    chosen = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenStatesWarning)
        scores = [model.fit(train, progress=False, compare_restarts=False).score(test) for model in models]
    return {
        "data": case,
        "model": name,
        "modes": n_modes,
        "priors": [short(prior) for prior in priors],
        "on folds": on_folds.tolist(),
        "on the test": scores,
        "chosen": int(np.argmax(on_folds)),
        "seconds": [chosen - began, time.perf_counter() - chosen],
    }


def short(prior: Cauchy | Gaussian) -> str:
    """A name for a table."""
    return f"Cauchy({prior.width:g})" if isinstance(prior, Cauchy) else f"value {prior.strength:g}"


def cost(row: dict[str, Any]) -> float:
    """How far the chosen prior is behind the best on the test."""
    return max(row["on the test"]) - row["on the test"][row["chosen"]]


def table(found: list[dict[str, Any]]) -> str:
    """Test scores under every prior, and what the choice costs."""
    names = found[0]["priors"]
    lines = [f"| data | K | chosen | cost | {' | '.join(names)} |", "|:--|--:|:--|--:|" + "--:|" * len(names)]
    for row in found:
        cells = [f"{score:.4f}" for score in row["on the test"]]
        cells[row["chosen"]] = f"**{cells[row['chosen']]}**"
        head = f"| {row['data']} | {row['modes']} | {names[row['chosen']]} | {cost(row):.4f} "
        lines.append(head + f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page(found: list[dict[str, Any]], made: str) -> str:
    """The results in words."""
    worst = max(found, key=cost)
    return (
        f"# What does the adaptive prior cost?\n\n`{COMMAND}` ({made})\n\nNats per step on the test sessions, of the "
        "same model under each prior; in bold the one that folds of the training sessions chose. The first five are "
        "those that the default chooses among. Cost: how far the chosen one is behind the best of all; "
        f"{ALLOWED} are allowed. The largest is {cost(worst):.4f} ({worst['data']}, K = {worst['modes']}). "
        '"value" is `Gaussian(strength, backoff=3, of="value")`.\n\n'
        f"{table(found)}\n"
    )


def write(found: list[dict[str, Any]], folder: Path) -> None:
    """Write what is known so far."""
    found = sorted(found, key=lambda row: (list(CASES).index(row["data"]), row["modes"]))
    record = {"command": COMMAND, "versions": versions(), "settings": SETTINGS, "rows": found}
    half = folder / "half-prior_cost.json"
    half.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    half.replace(folder / "prior_cost.json")
    made = ", ".join(f"{key} {value}" for key, value in versions().items())
    (folder / "prior_cost.md").write_text(page(found, made), encoding="utf-8")


def main() -> None:
    """Make what is not known yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(CASES))
    options = parser.parse_args()
    path = RESULTS / "prior_cost.json"
    found = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    known = {(row["data"], row["modes"]) for row in found}
    left = [(case, k) for case in options.only or CASES for k in CASES[case][1] if (case, k) not in known]
    minutes = sum(CASES[case][2] / len(CASES[case][1]) for case, _ in left)
    print(f"{len(left)} to make, {len(found)} known; about {minutes:.0f} minutes of one core")
    for case, n_modes in left:
        found.append(one_case(case, n_modes))
        write(found, RESULTS)
        print(case, n_modes, found[-1]["priors"][found[-1]["chosen"]], f"{cost(found[-1]):.4f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
