"""Model-free SWIRL on ten draws of the gridworld: how much of the reward does IQ-Learn find? (paper Appendix C)

    python studies/model_free.py            # about five minutes on two cores
    python studies/model_free.py --quick    # two draws of a quarter of the data, nothing written

The penalty ½ λ r² per visit is at the package's default λ and at IQ-Learn's own, ½; the reward without an action is
read out in two ways.  Writes model_free.json and .md to studies/results (or --output).
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

from swirl import datasets
from swirl.analysis import metrics
from swirl.estimators.iq_learn import IQLearn
from swirl.estimators.save_load import versions

RESULTS = Path(__file__).parent / "results"
STRENGTHS = (0.01, 0.5)
PUBLISHED = 0.737  # the paper's Pearson correlation, Appendix C


def one_draw(seed: int, n_sessions: int, n_restarts: int) -> list[dict[str, Any]]:
    """Fit with each penalty, score once on the test sessions."""
    data = datasets.gridworld(n_sessions=n_sessions, random_state=seed)
    train, test = data.trajectories.split(every=5)
    truth = data.true_model()
    rows = []
    for strength in STRENGTHS:
        model = IQLearn(data.env, n_modes=2, strength=strength, n_restarts=n_restarts, random_state=seed).fit(train)
        row: dict[str, Any] = {
            "draw": seed,
            "strength": strength,
            "score_minus_truth": model.score(test) - truth.score(test),
            "accuracy": metrics.segmentation_accuracy(test.modes, model.predict(test)),
            "accuracy_of_truth": metrics.segmentation_accuracy(test.modes, truth.predict(test)),
            "n_scored": model.n_scored(test),
        }
        for kind in ("projected", "marginal"):
            table = model.state_reward_table(kind)
            for measure in ("canonical", "paper"):
                row[f"{kind}_{measure}"] = metrics.reward_correlation(data.truth.rewards, table, measure, env=data.env)
        rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Mean (worst) over draws, as Markdown."""
    lines = [
        "| λ | LL − truth's | accuracy − truth's (pt) | projected: canonical | paper | marginal: canonical | paper |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for strength in STRENGTHS:
        own = [row for row in rows if row["strength"] == strength]

        def cell(values: list[float], form: str) -> str:
            return f"{np.mean(values):{form}} ({np.min(values):{form}})"

        cells = [
            cell([row["score_minus_truth"] for row in own], "+.4f"),
            cell([100 * (row["accuracy"] - row["accuracy_of_truth"]) for row in own], "+.2f"),
        ]
        for key in ("projected_canonical", "projected_paper", "marginal_canonical", "marginal_paper"):
            cells.append(cell([row[key] for row in own], ".3f"))
        lines.append(f"| {strength:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run the study and write its results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    n_draws, n_sessions = (2, 50) if options.quick else (10, 200)
    rows = [row for seed in range(n_draws) for row in one_draw(seed, n_sessions, n_restarts=8)]
    note = f"Mean (worst) over {n_draws} draws; the paper reports {PUBLISHED} for the measure `paper`."
    print(table(rows), note, sep="\n\n")
    if options.quick:
        return
    record = {"command": "python studies/model_free.py", "versions": versions(), "device": str(jax.devices()[0])}
    options.output.mkdir(exist_ok=True)
    text = json.dumps({**record, "rows": rows}, indent=2)
    (options.output / "model_free.json").write_text(text + "\n", encoding="utf-8")
    made = ", ".join(f"{k} {v}" for k, v in versions().items()) + f"; {jax.devices()[0]}"
    page = f"# Model-free SWIRL on the gridworld\n\n`{record['command']}` ({made})\n\n{table(rows)}\n\n{note}\n"
    (options.output / "model_free.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
