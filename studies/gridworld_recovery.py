"""Ten draws of the paper's gridworld: how near do the models come to the truth's own scores on the same draw?

    python studies/gridworld_recovery.py            # ten draws, about two minutes on two cores
    python studies/gridworld_recovery.py --quick    # two draws of a quarter of the data

Writes studies/results/gridworld_recovery.json and .md (command, versions and every draw inside).
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from swirl import datasets
from swirl.analysis import metrics
from swirl.estimators.registry import make
from swirl.estimators.save_load import versions
from swirl.priors import Cauchy

MODELS = ("MaxEnt", "I-1", "I-2", "S-1", "S-2")
RESULTS = Path(__file__).parent / "results"


def one_draw(seed: int, n_sessions: int, n_restarts: int) -> dict[str, dict[str, float]]:
    """Simulate, fit every model on four fifths, score once on the rest."""
    data = datasets.gridworld(n_sessions=n_sessions, random_state=seed)
    train, test = data.trajectories.split(every=5)
    given = data.truth
    fits = {"truth": data.true_model()}
    seconds = {"truth": 0.0}
    for name in MODELS:
        settings = {"reward_prior": Cauchy(), **({} if name == "MaxEnt" else {"n_modes": 2})}
        began = time.perf_counter()
        fits[name] = make(name, data.env, n_restarts=n_restarts, random_state=seed, **settings).fit(train)
        seconds[name] = time.perf_counter() - began
    rows = {}
    for name, model in fits.items():
        table = model.reward_table()
        rows[name] = {
            "test_log_likelihood": model.score(test),
            "accuracy": metrics.segmentation_accuracy(test.modes, model.predict(test)),
            "reward_canonical": metrics.reward_correlation(given.rewards, table, env=data.env),
            "reward_paper": metrics.reward_correlation(given.rewards, table, "paper", env=data.env),
            "seconds": seconds[name],
        }
    return rows


def summarise(draws: list[dict[str, dict[str, float]]]) -> dict[str, object]:
    """Put the claims to the test, draw by draw."""
    score = {name: np.array([d[name]["test_log_likelihood"] for d in draws]) for name in draws[0]}
    accuracy = {name: np.array([d[name]["accuracy"] for d in draws]) for name in draws[0]}
    canonical = np.array([d["S-2"]["reward_canonical"] for d in draws])
    paper = np.array([d["S-2"]["reward_paper"] for d in draws])
    ordered = (
        (score["S-2"] > score["S-1"])
        & (score["S-1"] > np.maximum(score["I-2"], score["I-1"]))
        & (np.minimum(score["I-2"], score["I-1"]) > score["MaxEnt"])
    )
    return {
        "S-2 minus truth, test LL: mean, worst": [
            float(np.mean(score["S-2"] - score["truth"])),
            float(np.min(score["S-2"] - score["truth"])),
        ],
        "draws within 0.002 of the truth's LL": int(np.sum(np.abs(score["S-2"] - score["truth"]) <= 0.002)),
        "S-2 minus truth, accuracy: mean, worst": [
            float(np.mean(accuracy["S-2"] - accuracy["truth"])),
            float(np.min(accuracy["S-2"] - accuracy["truth"])),
        ],
        "draws within 1 point of the truth's accuracy": int(
            np.sum(np.abs(accuracy["S-2"] - accuracy["truth"]) <= 0.01)
        ),
        "draws with S-2 > S-1 > I-2, I-1 > MaxEnt": int(np.sum(ordered)),
        "S-2 reward, canonical: mean, worst": [float(canonical.mean()), float(canonical.min())],
        "S-2 reward, paper: mean, worst": [float(paper.mean()), float(paper.min())],
        "draws": len(draws),
    }


def table(draws: list[dict[str, dict[str, float]]]) -> str:
    """Mean ± standard deviation over draws, as Markdown."""
    lines = [
        "| model | test LL − truth's | accuracy − truth's (points) | reward, canonical | reward, paper | seconds |",
        "|:--|--:|--:|--:|--:|--:|",
    ]
    for name in MODELS:

        def column(key: str, minus: bool = False, name: str = name) -> np.ndarray:
            return np.array([d[name][key] - (d["truth"][key] if minus else 0.0) for d in draws])

        score, accuracy = column("test_log_likelihood", True), 100 * column("accuracy", True)
        canonical, paper, seconds = column("reward_canonical"), column("reward_paper"), column("seconds")
        lines.append(
            f"| {name} | {score.mean():+.4f} ± {score.std():.4f} | {accuracy.mean():+.2f} ± {accuracy.std():.2f} | "
            f"{canonical.mean():.3f} ± {canonical.std():.3f} | {paper.mean():.3f} ± {paper.std():.3f} | "
            f"{seconds.mean():.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run the study and write its results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    n_draws, n_sessions = (2, 50) if options.quick else (options.draws, 200)
    draws = []
    for seed in range(n_draws):
        draws.append(one_draw(seed, n_sessions, n_restarts=8))
        print(f"draw {seed}:", {k: round(v["test_log_likelihood"], 4) for k, v in draws[-1].items()}, flush=True)
    summary = summarise(draws)
    command = "python studies/gridworld_recovery.py" + (" --quick" if options.quick else "")
    print(table(draws))
    print(json.dumps(summary, indent=2))
    if options.quick:
        return
    RESULTS.mkdir(exist_ok=True)
    record = {"command": command, "versions": versions(), "summary": summary, "draws": draws}
    (RESULTS / "gridworld_recovery.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    claims = "\n".join(f"- {k}: {v}" for k, v in summary.items())
    made = ", ".join(f"{k} {v}" for k, v in versions().items())
    page = f"# Gridworld, {n_draws} draws\n\n`{command}` ({made})\n\n{table(draws)}\n\n{claims}\n"
    (RESULTS / "gridworld_recovery.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
