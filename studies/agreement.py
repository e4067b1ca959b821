"""Does "came to the same result" mean it? Worlds of one answer and of two, and recordings, judged on other sessions.

    python studies/agreement.py           # all problems; some 3 minutes on one core; SWIRL_DATA_DIR has the recordings
    python studies/agreement.py --quick   # two small worlds; nothing is written

The rule (`swirl.estimators.fit_warnings`): restarts came to the same result where, on the training sessions, their
segmentations have an adjusted Rand index of 0.9 or more and their policies are at most 0.05 apart. Here it is held to
sessions that no restart has seen: one that counts as the same must cut them like the kept one (0.9 or more), any
other must not. Beside it stands what two rules on the objective alone would have counted (within 0.001, 0.0001 nats
per step).

The problems: a gridworld with two modes, fitted with two (one answer) and with three (one too many); choices that are
two independent bits, each of which switches slowly, fitted with two modes, which can follow either bit (two answers,
equally good), and with four (one answer); parts of the labyrinth (S-2) and of spontaneous behaviour (S-1).

Writes studies/results/agreement.json and .md.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from swirl import datasets
from swirl.data.mdp import MDP
from swirl.data.trajectories import Trajectories
from swirl.estimators.fit_warnings import SAME_ARI
from swirl.estimators.save_load import versions
from swirl.estimators.swirl import SWIRL
from swirl.priors import Cauchy, Dirichlet, Gaussian

RESULTS = Path(__file__).parent / "results"
COMMAND = "python studies/agreement.py"
OLD_RULES = (1e-3, 1e-4)  # nats per step
BITS = {"history": 1, "reward": "state-action", "switching": "independent"}
PROBLEMS: dict[str, dict[str, Any]] = {
    "gridworld, 2 modes": {"n_modes": 2, "history": 2, "reward_prior": Cauchy()},
    "gridworld, 3 modes": {"n_modes": 3, "history": 2, "reward_prior": Cauchy()},
    "two bits, 2 modes": {"n_modes": 2, **BITS},
    "two bits, 4 modes": {"n_modes": 4, **BITS},
    "labyrinth S-2, 3 modes": {
        "n_modes": 3,
        "history": 2,
        "reward_prior": Gaussian(0.05, backoff=3.0, of="value"),
        "max_iter": 500,
    },
    "spontaneous S-1, 5 modes": {
        "n_modes": 5,
        "history": 1,
        "reward": "state-action",
        "impossible": "forget",
        "reward_prior": Dirichlet(0.1),
        "max_iter": 1000,
    },
}
N_RESTARTS = 8
N_TRAIN = 60  # sessions of a recording that are fitted


def two_bits(n_sessions: int, n_steps: int, seed: int = 0) -> tuple[MDP, Trajectories]:
    """One place and four choices, which are two bits; each follows a hidden one that flips now and then by itself.

    Every second session is the one before it with its bits exchanged, so that neither bit is worth more.
    """
    rng = np.random.default_rng(seed)
    flips = rng.random((n_sessions // 2, n_steps, 2)) < 0.05
    hidden = (np.cumsum(flips, axis=1) + rng.integers(2, size=(len(flips), 1, 2))) % 2
    bits = np.where(rng.random(hidden.shape) < 0.95, hidden, 1 - hidden)
    bits = np.stack([bits, bits[..., ::-1]], axis=1).reshape(-1, n_steps, 2)
    states = [np.zeros(n_steps, dtype=int)] * len(bits)
    actions = list(2 * bits[..., 0] + bits[..., 1])
    return MDP.deterministic(np.zeros((1, 4), dtype=int)), Trajectories(states, actions, n_states=1, n_actions=4)


def problem(name: str, n_sessions: int | None = None) -> tuple[MDP, Trajectories, Trajectories]:
    """Environment, training and other sessions."""
    if name.startswith("two bits"):
        env, train = two_bits(n_sessions or 80, 100)
        return env, train, two_bits(20, 100, seed=1)[1]
    if name.startswith("gridworld"):
        world: Any = datasets.gridworld(n_sessions=n_sessions or 100, n_steps=200)
        return world.env, *world.trajectories.split(every=5)
    world = datasets.labyrinth() if name.startswith("labyrinth") else datasets.spontaneous()
    train, test = world.trajectories.split(every=5)
    return world.env, train[:N_TRAIN], test


def one_problem(name: str, *, n_sessions: int | None = None, n_restarts: int = N_RESTARTS) -> dict[str, Any]:
    """Fit, and hold what is said of the restarts to sessions that they have not seen."""
    env, train, test = problem(name, n_sessions)
    model = SWIRL(env, n_restarts=n_restarts, random_state=0, **PROBLEMS[name])
    began = time.perf_counter()
    model.fit(train, compare_restarts=False)
    fitted = time.perf_counter()
    said = model.compare_restarts(train)
    compared = time.perf_counter()
    model.compare_restarts(train)  # once more, compiled
    again = time.perf_counter()
    held_out = model.compare_restarts(test)
    order = np.argsort(said.nats_behind, kind="stable")
    return {
        "sentence": said.sentence(),
        "steps": int(model.n_observed_),
        "converged": sum(r.converged for r in model.restarts_),
        "restarts": [
            {
                "restart": int(r),
                "nats behind": float(said.nats_behind[r]),
                "ARI": float(said.ari[r]),
                "policies apart": float(said.policy_distance[r]),
                "same": bool(said.same[r]),
                "held-out ARI": float(held_out.ari[r]),
                "held-out policies apart": float(held_out.policy_distance[r]),
            }
            for r in order
        ],
        "seconds of fitting": fitted - began,
        "seconds of comparing": compared - fitted,
        "seconds of comparing, compiled": again - compared,
    }


def near(found: dict[str, Any], per_step: float) -> int:
    """What a rule on the objective alone counts as the same result."""
    return sum(row["nats behind"] <= per_step * found["steps"] for row in found["restarts"])


def wrong(found: dict[str, Any]) -> list[int]:
    """Restarts of which the verdict does not hold on other sessions."""
    return [row["restart"] for row in found["restarts"] if row["same"] != (row["held-out ARI"] >= SAME_ARI)]


def false_by_objective(found: dict[str, Any], per_step: float) -> int:
    """Restarts that a rule on the objective alone counts as the same, and that cut other sessions otherwise."""
    rows = [row for row in found["restarts"] if row["nats behind"] <= per_step * found["steps"]]
    return sum(row["held-out ARI"] < SAME_ARI for row in rows)


def summarise(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """All problems together."""
    share, compiled = (
        [each[what] / each["seconds of fitting"] for each in found.values()]
        for what in ("seconds of comparing", "seconds of comparing, compiled")
    )
    return {
        "restarts beside the kept ones": sum(len(each["restarts"]) - 1 for each in found.values()),
        "verdicts that do not hold on other sessions": sum(len(wrong(each)) for each in found.values()),
        **{
            f"false agreements within {rule:g} nats per step": sum(false_by_objective(x, rule) for x in found.values())
            for rule in OLD_RULES
        },
        "time of comparing as a share of the fit, compiling included: median": float(np.median(share)),
        "time of comparing as a share of the fit, compiling left out: most": max(compiled),
    }


def table(found: dict[str, dict[str, Any]]) -> str:
    """One row per problem."""
    lines = [
        "| problem | converged | same result | within 0.0001, 0.001 nats per step | ARI, by objective | nats behind "
        "| held-out ARI | verdicts that fail there |",
        "|:--|--:|--:|--:|:--|:--|:--|--:|",
    ]
    for name, each in found.items():
        rows = each["restarts"]
        n, same = len(rows), sum(row["same"] for row in rows)
        numbers = [
            ", ".join(form.format(row[what]) for row in rows)
            for what, form in (("ARI", "{:.2f}"), ("nats behind", "{:,.1f}"), ("held-out ARI", "{:.2f}"))
        ]
        lines.append(
            f"| {name} | {each['converged']} of {n} | {same} of {n} | {near(each, 1e-4)}, {near(each, 1e-3)} "
            f"| {' | '.join(numbers)} | {len(wrong(each))} |"
        )
    return "\n".join(lines)


def page(record: dict[str, Any]) -> str:
    """The results in words."""
    found, summary = record["found"], record["summary"]
    made = ", ".join(f"{k} {v}" for k, v in record["versions"].items())
    said = "\n".join(f"- {name}: {each['sentence']}." for name, each in found.items())
    numbers = "\n".join(f"- {k}: {f'{v:.2g}' if isinstance(v, float) else v}" for k, v in summary.items())
    head = f"# Does “came to the same result” mean it?\n\n`{record['command']}` ({made})"
    return f"{head}\n\n{READING}\n\n{said}\n\n{table(found)}\n\n{numbers}\n"


READING = """\
Restarts came to the same result where, on the training sessions, their segmentations have an adjusted Rand index of 0.9
or more with the kept one's and their policies are at most 0.05 apart. The table holds that to sessions that no restart
has seen: a restart that counts as the same must cut them as the kept one does (0.9 or more), any other must not. Two
rules on the objective alone stand beside it. "Two bits" are choices that two independent hidden bits make: two modes
can follow the one or the other, so there are two answers, equally good, and four modes one. Recordings are parts of the
labyrinth's and the spontaneous sessions. What each fit says of itself:"""


def main() -> None:
    """Run the study and write its results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.quick:
        few: dict[str, Any] = {"n_sessions": 20, "n_restarts": 3}
        found = {name: one_problem(name, **few) for name in ("gridworld, 2 modes", "two bits, 2 modes")}
        print(table(found), summarise(found), sep="\n\n")
        return
    found = {}
    for name in PROBLEMS:
        found[name] = one_problem(name)
        print(f"{name}: {found[name]['sentence']}", flush=True)
    record = {"command": COMMAND, "versions": versions(), "found": found, "summary": summarise(found)}
    (options.output / "agreement.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (options.output / "agreement.md").write_text(page(record), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
