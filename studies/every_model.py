"""Every model on three datasets: the gridworld, a slippery gridworld, and a walk that has no modes to find.

    python studies/every_model.py                      # the parts that studies/results does not hold yet
    python studies/every_model.py --again gridworld    # one of them once more; half an hour on two cores
    python studies/every_model.py --quick              # some minutes: small data, nothing written

Scores are of the next state, the currency that models of actions and models of states share; the action score stands
beside it where a model has one.  Order and smoothing of the count model, and the smoothing of ARHMM and rARHMM, are
chosen on training folds; SWIRL has its defaults.  Test sessions are scored once.  Each part is written to
every_model.json and .md in studies/results (or --output) as soon as it is made.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np

from swirl import datasets
from swirl.analysis import comparison as comparing
from swirl.analysis import comparison_result, metrics
from swirl.data.trajectories import Trajectories
from swirl.estimators.gaussian_arhmm import GaussianARHMM
from swirl.estimators.iq_network import IQNetwork
from swirl.estimators.registry import make
from swirl.estimators.save_load import versions
from swirl.priors import Cauchy, Dirichlet

RESULTS = Path(__file__).parent / "results"
COMMAND = "python studies/every_model.py"
SLIPS = {"gridworld": 0.0, "slippery gridworld (slip 0.2)": 0.2}
NULL = "null: a memoryless walk through the labyrinth, 10 draws of 60 × 300 steps"
MINUTES = {**dict.fromkeys(SLIPS, 30), NULL: 20}
NAMES = (
    "Markov", "MaxEnt", "Dynamic-IRL", "I-1", "I-2", "S-1", "S-2", "F-1", "ARHMM", "rARHMM", "IQ-Learn",
)  # fmt: skip
PAIRED = ("I-1", "I-2", "S-1", "S-2", "F-1", "ARHMM", "rARHMM", "IQ-Learn")
SMOOTHING = {"emission_prior": [Dirichlet(0.3), Dirichlet(1.0), Dirichlet(3.0), Dirichlet(10.0)]}


def state_rewards(model: Any) -> np.ndarray | None:
    """Dense table of r(h), where the model has one reward for each mode."""
    if hasattr(model, "state_reward_table"):
        return model.state_reward_table()
    return model.reward_table() if hasattr(model, "reward_table") and model.rewards_.ndim == 2 else None


def fitted_rows(
    result: comparison_result.Comparison, test: Trajectories, data: datasets.Dataset
) -> list[dict[str, Any]]:
    """One row for each model: scores, and how much of the truth was found where it is known."""
    rows = []
    for row in result.table():
        model = result.models[row["model"]]
        if "action" in model.score_types:
            row["action"] = model.score(test, of="action")
        if data.truth is not None:
            row["accuracy"] = metrics.segmentation_accuracy(test.modes, model.predict(test))
            table = state_rewards(model)
            if table is not None:
                truth = data.truth.rewards
                row["canonical"] = metrics.reward_correlation(truth, table, env=data.env)
                row["paper"] = metrics.reward_correlation(truth, table, "paper", env=data.env)
        row["chosen"] = {key: repr(value) for key, value in row["chosen"].items()}
        rows.append(row)
    return rows


def known_truth(
    slip: float, n_sessions: int, n_restarts: int, names: tuple[str, ...] = NAMES, signals: bool = True
) -> dict[str, Any]:
    """The models, and those that read signals, on one draw of the gridworld."""
    data = datasets.gridworld(n_sessions=n_sessions, slip=slip)
    train, test = data.trajectories.split(every=5)
    result = comparing.compare(
        names,
        train,
        test,
        env=data.env,
        of="next_state",
        tune={name: SMOOTHING for name in ("ARHMM", "rARHMM") if name in names},
        n_modes=2,
        n_restarts=n_restarts,
    )
    truth = data.true_model()
    rows = fitted_rows(result, test, data)
    rows += continuous_rows(data, train, test, n_restarts) if signals else []
    return {
        "n_scored": result.n_scored,
        "verdict": result.verdict(),
        "truth": {
            "score": truth.score(test, of="next_state"),
            "action": truth.score(test),
            "accuracy": metrics.segmentation_accuracy(test.modes, truth.predict(test)),
        },
        "rows": rows,
    }


def continuous_rows(
    data: datasets.Dataset, train: Trajectories, test: Trajectories, n_restarts: int
) -> list[dict[str, Any]]:
    """The two models that read a signal: the cell's place, seen with some noise (for densities) or as it is."""
    rng = np.random.default_rng(0)
    place = np.asarray(data.env.coordinates)

    def signals(part: Trajectories) -> Trajectories:
        exact = [place[states] for states in part.states]
        noisy = [x + 0.2 * rng.standard_normal(x.shape) for x in exact]
        one_hot = [np.eye(data.env.n_states)[states] for states in part.states]
        return Trajectories.from_signals(
            {"place": noisy, "cell": one_hot}, part.actions, modes=part.modes, n_actions=data.env.n_actions
        )

    train, test = signals(train), signals(test)
    network = IQNetwork("cell", n_modes=2, n_restarts=min(n_restarts, 2)).fit(train)
    walker = GaussianARHMM("place", n_modes=2, n_restarts=n_restarts).fit(train)
    alone = GaussianARHMM("place", n_modes=1, n_restarts=1).fit(train)
    found = {"IQ-Network": network, "GaussianARHMM": walker, "GaussianARHMM, one mode": alone}
    return [
        {
            "model": name,
            "modes": len(model.initial_modes_),
            ("action" if name == "IQ-Network" else "density"): model.score(test),
            "accuracy": metrics.segmentation_accuracy(test.modes, model.predict(test)),
        }
        for name, model in found.items()
    ]


def null_draw(
    seed: int, n_sessions: int, n_steps: int, n_restarts: int, names: tuple[str, ...] = PAIRED
) -> dict[str, Any]:
    """Models with two modes against themselves with one, on a memoryless walk through the labyrinth."""
    data = datasets.random_walk(
        datasets.labyrinth_env(legal_only=True), n_sessions=n_sessions, n_steps=n_steps, random_state=seed
    )
    train, test = data.trajectories.split(every=3)
    settings = {"n_restarts": n_restarts, "max_iter": 100, "random_state": seed}
    pairs = {}
    for name in names:
        for n_modes in (1, 2):
            prior = {} if name.endswith(("HMM", "Learn")) else {"reward_prior": Cauchy()}  # as when this was run
            pairs[f"{name}, K={n_modes}"] = make(name, data.env, n_modes=n_modes, **settings, **prior)
    pairs["Markov"] = make("Markov", data.env, max_order=3, target="next_state")
    result = comparing.compare(pairs, train, test, of="next_state")
    uniform = -np.mean(np.log([np.sum(data.env.available[s]) for s in np.concatenate(test.states)]))
    return {
        "verdict": result.verdict(),
        "n_scored": result.n_scored,
        "uniform": float(uniform),
        "scores": result.scores,
        "gains": {name: result.difference(f"{name}, K=2", f"{name}, K=1") for name in names},
    }


def truth_table(found: dict[str, Any]) -> str:
    """The rows of one gridworld as Markdown."""

    def number(row: dict[str, Any], key: str, form: str = ".4f") -> str:
        return format(row[key], form) if key in row else ""

    lines = [
        "| model | modes | next state, nats/step | to the best (95 %) | action | accuracy | canonical | paper |",
        "|:--|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in [{"model": "*truth*", "modes": 2, **found["truth"]}, *found["rows"]]:
        gap = f"{row['behind_best']:+.4f} ± {row['half_width']:.4f}" if row.get("behind_best") else ""
        score = number(row, "score") or (f"(density {row['density']:.3f})" if "density" in row else "")
        lines.append(
            f"| {row['model']} | {row['modes']} | {score} | {gap} | {number(row, 'action')} | "
            f"{number(row, 'accuracy', '.1%')} | {number(row, 'canonical', '.3f')} | {number(row, 'paper', '.3f')} |"
        )
    return "\n".join(lines)


def null_table(draws: list[dict[str, Any]]) -> str:
    """Gain of two modes over one, over all draws."""
    lines = [
        "| model | gain of a second mode (nats/step, mean over draws) | largest | draws with a gain beyond noise |",
        "|:--|--:|--:|--:|",
    ]
    for name in draws[0]["gains"]:
        gains = np.array([draw["gains"][name] for draw in draws])
        beyond = int(np.sum(gains[:, 0] - gains[:, 1] > 0))
        lines.append(f"| {name} | {gains[:, 0].mean():+.5f} | {gains[:, 0].max():+.5f} | {beyond} of {len(draws)} |")
    best = [max(draw["scores"].values()) - draw["uniform"] for draw in draws]
    lines += ["", f"Best score of any model minus that of the uniform walk itself: at most {max(best):+.5f} nats/step."]
    return "\n".join(lines)


def page(record: dict[str, Any]) -> str:
    """The study's results as Markdown, each part with what made it."""
    parts = [f"# Every model\n\n`{COMMAND}`"]
    for title, part in record.items():
        made = ", ".join(f"{k} {v}" for k, v in part["versions"].items()) + f"; {part['device']}"
        if title in SLIPS:
            body = f"{part['verdict']} {part['n_scored']:,} test steps.\n\n{truth_table(part)}"
        else:
            body = null_table(part["draws"])
        parts.append(f"## {title}\n\n{body}\n\n({made})")
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Make the parts that are not known yet, and write each as soon as it is made."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--again", nargs="+", choices=[*SLIPS, NULL], default=[], help="parts to make anew")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    n_sessions, n_restarts, n_null, size = (20, 2, 2, (12, 100)) if options.quick else (200, 8, 10, (60, 300))
    path = options.output / "every_model.json"
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() and not options.quick else {}
    left = [title for title in (*SLIPS, NULL) if title not in record or title in options.again]
    if not options.quick:
        print(f"to make: {', '.join(left) or 'nothing'}; about {sum(MINUTES[title] for title in left)} minutes")
    for title in left:
        if title in SLIPS:
            part = known_truth(SLIPS[title], n_sessions, n_restarts)
            print(f"\n## {title}\n\n{part['verdict']}\n\n{truth_table(part)}", flush=True)
        else:
            part = {"draws": [null_draw(seed, *size, n_restarts=min(n_restarts, 4)) for seed in range(n_null)]}
            print(f"\n## {title}\n\n{null_table(part['draws'])}", flush=True)
        if not options.quick:
            record[title] = {"versions": versions(), "device": str(jax.devices()[0]), **part}
            record = {title: record[title] for title in (*SLIPS, NULL) if title in record}
            options.output.mkdir(exist_ok=True)
            path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
            path.with_suffix(".md").write_text(page(record), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
